"""What many rows tell of what they lack, against the joint table written out and against SciPy's Gaussians."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from countwise.data.attributes import Nominal, Numeric
from countwise.data.table import Table
from countwise.network.em import completed
from countwise.network.graph import Graph
from countwise.network.inference.batch_inference import EvidenceRows, batches
from countwise.network.linear_gaussian import LinearDensity
from countwise.network.net import Net

SIZES = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}


def random_net(rng):
    names = list(SIZES)
    parents = {n: tuple(p for p in names[:i] if rng.random() < 0.5) for i, n in enumerate(names)}
    tables = {
        n: rng.dirichlet(np.ones(SIZES[n]), size=tuple(SIZES[p] for p in parents[n])).reshape(
            [*(SIZES[p] for p in parents[n]), SIZES[n]]
        )
        for n in names
    }
    attributes = {n: Nominal(n, tuple(range(s)), grows=False) for n, s in SIZES.items()}
    return Net(Graph(parents), attributes, tables, {})


def joint(net):
    """P of every combination, by multiplication."""
    table = np.ones(tuple(SIZES.values()))
    names = list(SIZES)
    for cell in itertools.product(*(range(s) for s in SIZES.values())):
        at = dict(zip(names, cell, strict=True))
        for n in names:
            table[cell] *= net.tables[n][(*(at[p] for p in net.graph.parents[n]), at[n])]
    return table


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("n_rows", [5, 300])
def test_posteriors_of_rows_with_gaps_are_those_of_the_joint(seed, n_rows):
    rng = np.random.default_rng(seed)
    net = random_net(rng)
    whole = joint(net)
    codes = {n: rng.integers(0, s, n_rows) for n, s in SIZES.items()}
    for n, s in SIZES.items():
        codes[n][rng.random(n_rows) < 0.35] = s
    seen = np.zeros(n_rows, dtype=int)
    for batch in batches(net, EvidenceRows(codes, {}, n_rows), queried=["c"]):
        found = batch.posterior(net)
        for i, row in enumerate(found.rows.tolist()):
            seen[row] += 1
            at = tuple(slice(None) if codes[n][row] == s else codes[n][row] for n, s in SIZES.items())
            left = whole[at]
            assert found.log[i] == pytest.approx(np.log(left.sum()), abs=1e-12)
            if codes["c"][row] == 2:
                axes = [n for n in SIZES if codes[n][row] == SIZES[n]]
                share = left.sum(axis=tuple(j for j, n in enumerate(axes) if n != "c"))
                np.testing.assert_allclose(found.of(["c"])[i], share / share.sum(), atol=1e-12)
    assert (seen == 1).all()


def test_completed_rows_have_the_expected_counts_of_any_family():
    rng = np.random.default_rng(3)
    net = random_net(rng)
    whole = joint(net)
    n_rows = 60
    codes = {n: rng.integers(0, s, n_rows).astype(np.uint8) for n, s in SIZES.items()}
    for n, s in SIZES.items():
        codes[n][rng.random(n_rows) < 0.3] = s
    expected = np.zeros(tuple(SIZES.values()))
    for row in range(n_rows):
        at = tuple(slice(None) if codes[n][row] == s else codes[n][row] for n, s in SIZES.items())
        expected[at] += whole[at] / whole[at].sum()
    filled = completed(net, Table(codes, n_rows))
    counted = np.zeros_like(expected)
    np.add.at(counted, tuple(filled[n] for n in SIZES), filled.weights)
    np.testing.assert_allclose(counted, expected, atol=1e-12)


def linear_net():
    """A name, a chain of three numbers that depend on it and on each other, and another name below."""
    rng = np.random.default_rng(0)
    attributes = {"k": Nominal("k", (0, 1), grows=False), "j": Nominal("j", (0, 1, 2), grows=False)}
    attributes |= {n: Numeric(n) for n in "xyz"}
    graph = Graph({"k": (), "j": ("k",), "x": ("k",), "y": ("x", "j"), "z": ("y", "x", "k")})

    def law(name, numbers, size):
        return LinearDensity(
            name,
            numbers,
            rng.normal(size=size),
            rng.normal(size=(size, len(numbers))),
            rng.uniform(0.5, 2.0, size),
            np.full(size, 9.0),
            np.zeros(size, dtype=bool),
        )

    tables = {"k": np.array([0.3, 0.7]), "j": np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])}
    laws = {"x": law("x", (), 2), "y": law("y", ("x",), 3), "z": law("z", ("y", "x"), 2)}
    return Net(graph, attributes, tables, laws)


def gaussian_of(net, k, j):
    """Mean and covariance of (x, y, z) by the rules of linear maps, written out."""
    x, y, z = (net.densities[n] for n in "xyz")
    a, b = y.slope[j, 0], z.slope[k]
    mx = x.intercept[k]
    my = y.intercept[j] + a * mx
    mz = z.intercept[k] + b[0] * my + b[1] * mx
    vx, vy, vz = x.sd[k] ** 2, y.sd[j] ** 2, z.sd[k] ** 2
    cxx, cxy, cyy = vx, a * vx, a * a * vx + vy
    cxz, cyz = b[0] * cxy + b[1] * cxx, b[0] * cyy + b[1] * cxy
    czz = b[0] * cyz + b[1] * cxz + vz
    return np.array([mx, my, mz]), np.array([[cxx, cxy, cxz], [cxy, cyy, cyz], [cxz, cyz, czz]])


@pytest.mark.parametrize("known", ["", "x", "y", "z", "xz", "yz", "xyz"])
@pytest.mark.parametrize("gap", [(), ("k",), ("j",), ("k", "j")])
def test_numbers_with_gaps_tell_what_scipy_says(known, gap):
    net = linear_net()
    numbers = {"x": 0.3, "y": -1.1, "z": 2.0}
    codes = {"k": 1, "j": 2}
    weights = np.zeros((2, 3))
    places = ["xyz".index(n) for n in known]
    for k in range(2):
        for j in range(3):
            if ("k" in gap or k == codes["k"]) and ("j" in gap or j == codes["j"]):
                mean, covariance = gaussian_of(net, k, j)
                p = net.tables["k"][k] * net.tables["j"][k, j]
                if known:
                    part = covariance[np.ix_(places, places)]
                    p *= multivariate_normal(mean[places], part).pdf([numbers[n] for n in known])
                weights[k, j] = p
    rows = EvidenceRows(
        {n: np.array([2 + (n == "j") if n in gap else codes[n]]) for n in "kj"},
        {n: np.array([numbers[n] if n in known else np.nan]) for n in "xyz"},
        1,
    )
    (batch,) = batches(net, rows, queried=["k", "j"])
    found = batch.posterior(net)
    assert found.log[0] == pytest.approx(np.log(weights.sum()), abs=1e-10)
    share = weights / weights.sum()
    for name, axis in (("k", 1), ("j", 0)):
        if name in gap:
            np.testing.assert_allclose(found.of([name])[0], share.sum(axis=axis), atol=1e-10)
    evidence = {n: codes[n] for n in "kj" if n not in gap} | {n: numbers[n] for n in known}
    if gap == ("k", "j"):
        np.testing.assert_allclose(net.query(["k", "j"], evidence), share, atol=1e-10)
        assert net.marginals(evidence)[1] == pytest.approx(np.log(weights.sum()), abs=1e-10)
