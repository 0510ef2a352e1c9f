"""EM over gaps, against EM over the whole joint table, against the EM of Gaussian rows, and by its own law."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

from countwise import BayesNetwork, BayesNetworkClassifier, DiscriminantClassifier, Gaussian, samples
from countwise.errors import DataWarning, OptionError, TableError

SIZES = {"a": 2, "b": 3, "c": 2, "d": 2}
ARCS = {"b": ["a"], "c": ["a", "b"], "d": ["c"]}


def drawn(n, seed, gaps):
    """Rows of a network with random tables, with cells missing by chance."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    b = (a + rng.integers(0, 3, n)) % 3
    c = np.where(rng.random(n) < 0.8, (a * b) % 2, rng.integers(0, 2, n))
    d = np.where(rng.random(n) < 0.7, c, 1 - c)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d}).astype(str).astype(object)
    for name in frame:
        frame.loc[rng.random(n) < gaps, name] = None
    return frame


def brute_em(frame, steps, epsilon):
    """EM that fills every row over all combinations of all nodes; barren cells are left out as ours are."""
    names = list(SIZES)
    parents = {n: ARCS.get(n, []) for n in names}
    counts = {n: np.zeros([*(SIZES[p] for p in parents[n]), SIZES[n]]) for n in names}
    rows = [[None if v is None else int(v) for v in row] for row in frame.itertuples(index=False)]
    for row in rows:
        at = dict(zip(names, row, strict=True))
        for n in names:
            if all(at[v] is not None for v in (*parents[n], n)):
                counts[n][tuple(at[v] for v in (*parents[n], n))] += 1

    def settled(found):
        tables = {}
        for n in names:
            smooth = found[n] + epsilon
            tables[n] = smooth / smooth.sum(axis=-1, keepdims=True)
        return tables

    tables = settled(counts)
    for _ in range(steps):
        expected = {n: np.zeros_like(counts[n]) for n in names}
        for row in rows:
            at = dict(zip(names, row, strict=True))
            cells, weights = [], []
            for cell in itertools.product(*([at[n]] if at[n] is not None else range(SIZES[n]) for n in names)):
                full = dict(zip(names, cell, strict=True))
                p = np.prod([tables[n][tuple(full[v] for v in (*parents[n], n))] for n in names])
                cells.append(full)
                weights.append(p)
            weights = np.array(weights) / np.sum(weights)
            for full, w in zip(cells, weights, strict=True):
                for n in names:
                    expected[n][tuple(full[v] for v in (*parents[n], n))] += w
        tables = settled(expected)
    return tables


@pytest.mark.parametrize(("seed", "smoothing"), [(0, 0.0), (1, 0.0), (2, 1.0)])
def test_em_comes_to_where_em_over_the_joint_table_comes(seed, smoothing):
    frame = drawn(160, seed, 0.15)
    net = BayesNetwork(ARCS, smoothing=smoothing, tol=1e-12, max_iter=5000).fit(frame)
    tables = brute_em(frame, 120, smoothing)
    for name, table in tables.items():
        np.testing.assert_allclose(net.net_.tables[name], table, atol=2e-7)


@pytest.mark.parametrize("seed", range(6))
def test_no_step_of_em_lowers_the_likelihood(seed):
    frame = drawn(200, seed, 0.3)
    net = BayesNetwork(ARCS, smoothing=0).fit(frame)
    logs = np.array(net.em_.log_likelihoods)
    assert len(logs) > 3
    assert (np.diff(logs) > -1e-9).all()
    assert net.score(frame) == pytest.approx(logs[-1], abs=1e-5)


def test_rows_that_the_whole_rows_have_no_room_for_are_made_room_for():
    frame = {"a": ["x", "x", "y", "y", None], "b": ["p", "p", "q", "q", "p"], "c": ["u", "u", "v", "v", "v"]}
    net = BayesNetwork({"b": ["a"], "c": ["a"]}, smoothing=0).fit(frame)
    assert np.isfinite(net.em_.log_likelihoods).all()
    assert np.isfinite(net.score(frame))


def test_numbers_with_gaps_come_to_the_gaussian_of_all_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = 2 * x + rng.normal(size=400)
    z = y - x + 0.5 * rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": y, "z": z})
    for name in frame:
        frame.loc[rng.random(400) < 0.25, name] = np.nan
    arcs = {"y": ["x"], "z": ["x", "y"]}
    rule = {name: Gaussian(divisor="n") for name in "xyz"}
    net = BayesNetwork(arcs, distributions=rule, tol=1e-11, max_iter=5000).fit(frame)
    # a full graph of Gaussians is one Gaussian: that of a discriminant with a single class, by its own EM
    keep = frame[~frame.isna().all(axis=1)]
    law = DiscriminantClassifier("own", divisor="n").fit(keep, np.zeros(len(keep), dtype=int))
    np.testing.assert_allclose(net.score_samples(keep), law.predict_joint_log_proba(keep)[:, 0], atol=1e-6)


def test_numbers_below_missing_names_are_counted_in_shares():
    rng = np.random.default_rng(1)
    k = rng.integers(0, 2, 500)
    x = rng.normal(loc=3.0 * k)
    y = x * (1 + k) + rng.normal(size=500)
    frame = pd.DataFrame({"k": k.astype(str).astype(object), "x": x, "y": y})
    frame.loc[rng.random(500) < 0.4, "k"] = None
    frame.loc[rng.random(500) < 0.2, "x"] = np.nan
    net = BayesNetwork({"x": ["k"], "y": ["x", "k"]}, smoothing=0).fit(frame)
    assert net.em_.log_likelihoods[-1] > net.em_.log_likelihoods[0]
    line = net.net_.densities["y"]
    np.testing.assert_allclose(line.slope[:, 0], [1.0, 2.0], atol=0.25)
    assert net.query("k")["1"] == pytest.approx(k.mean(), abs=0.06)


def test_a_missing_child_adds_nothing_and_a_dropped_row_is_wrong():
    tennis = pd.DataFrame(samples.load("tennis").frame)[["play", "outlook"]]
    tennis.loc[0, "outlook"] = None
    for missing in ("em", "available"):
        net = BayesNetwork({"outlook": ["play"]}, smoothing=0, missing=missing).fit(tennis)
        assert net.query("play")["No"] == 5 / 14
        assert net.query("outlook", {"play": "No"}) == pytest.approx({"Overcast": 0, "Rain": 0.5, "Sunny": 0.5})
    with pytest.warns(DataWarning, match="1 of 14 rows were excluded"):
        net = BayesNetwork({"outlook": ["play"]}, smoothing=0, missing="complete").fit(tennis)
    assert net.query("play")["No"] == pytest.approx(4 / 13)


def test_a_latent_class_is_found():
    rng = np.random.default_rng(5)
    kind = rng.random(3000) < 0.3
    frame = {f"w{j}": np.where(rng.random(3000) < np.where(kind, 0.9, 0.15), "yes", "no") for j in range(5)}
    net = BayesNetwork({name: ["kind"] for name in frame}, latent={"kind": 2}, smoothing=0, tol=1e-6).fit(frame)
    share = net.query("kind")
    rare = min(share, key=lambda v: share[v])
    assert share[rare] == pytest.approx(0.3, abs=0.03)
    for name in frame:
        assert net.query(name, {"kind": rare})["yes"] == pytest.approx(0.9, abs=0.04)
        assert net.query(name, {"kind": 1 - rare})["yes"] == pytest.approx(0.15, abs=0.04)


def test_latent_nodes_need_em_and_a_name_of_their_own():
    with pytest.raises(OptionError, match="by EM"):
        BayesNetwork({"x": ["h"]}, latent={"h": 2}, missing="available").fit({"x": ["a", "b"]})
    with pytest.raises(OptionError, match="is also a column of the table"):
        BayesNetwork({"x": ["h"]}, latent={"h": 2}).fit({"x": ["a", "b"], "h": ["a", "b"]})


def test_rows_with_gaps_cannot_be_added_to_what_em_has_filled():
    frame = drawn(80, 0, 0.2)
    net = BayesNetwork(ARCS).fit(frame)
    with pytest.raises(TableError, match="cannot be added"):
        net.partial_fit(frame)
    with pytest.raises(TableError, match="cannot be merged"):
        net + net
    with pytest.raises(TableError, match="cannot forget rows"):
        net.forget(frame.head(3))


def test_weights_count_as_copies_under_em():
    frame = drawn(60, 4, 0.2)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    many = frame.loc[frame.index.repeat(weights)]
    one = BayesNetwork(ARCS, tol=1e-12).fit(frame, sample_weight=weights)
    other = BayesNetwork(ARCS, tol=1e-12).fit(many)
    for name in SIZES:
        np.testing.assert_allclose(one.net_.tables[name], other.net_.tables[name], atol=1e-9)


def test_a_constant_column_does_not_disturb_em():
    rng = np.random.default_rng(3)
    x = np.where(rng.random(30) < 0.4, np.nan, rng.normal(size=30))
    table = {"x": x, "z": np.where(rng.random(30) < 0.4, np.nan, 2 * rng.normal(size=30)), "d": np.full(30, 3.5)}
    arcs = {"z": ["x", "d", "y"], "x": ["d", "y"], "d": ["y"]}
    y = rng.choice(["p", "q"], 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = BayesNetworkClassifier([(p, c) for c, above in arcs.items() for p in above]).fit(
            {**table, "y": y}, "y"
        )
        proba = model.predict_proba(table)
    assert np.isfinite(proba).all()
