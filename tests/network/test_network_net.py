"""Networks queried: exact answers against the whole joint, and what cannot be queried."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from countwise import Nominal, Numeric, samples
from countwise.data.attributes import Attribute
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions import Gaussian
from countwise.errors import CountwiseError
from countwise.network.families import codes_of_parents, joined_parents
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.tallies import Counts

YES = ("yes", "no")
ASIA = Net(
    Graph(
        {
            "asia": (), "tub": ("asia",), "smoke": (), "lung": ("smoke",), "bronc": ("smoke",),
            "either": ("lung", "tub"), "xray": ("either",), "dysp": ("bronc", "either"),
        }
    ),
    {name: Nominal(name, YES) for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")},
    {
        "asia": np.array([0.01, 0.99]),
        "tub": np.array([[0.05, 0.95], [0.01, 0.99]]),
        "smoke": np.array([0.5, 0.5]),
        "lung": np.array([[0.1, 0.9], [0.01, 0.99]]),
        "bronc": np.array([[0.6, 0.4], [0.3, 0.7]]),
        "either": np.array([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]),
        "xray": np.array([[0.98, 0.02], [0.05, 0.95]]),
        "dysp": np.array([[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]]),
    },
    {},
)  # fmt: skip
NAMES = list(ASIA.graph)


def joint() -> np.ndarray:
    """P of every combination of values, by the chain rule."""
    table = np.ones([2] * len(NAMES))
    for cell in itertools.product(range(2), repeat=len(NAMES)):
        at = dict(zip(NAMES, cell, strict=True))
        for name in NAMES:
            table[cell] *= ASIA.tables[name][(*(at[p] for p in ASIA.graph.parents[name]), at[name])]
    return table


JOINT = joint()


@pytest.mark.parametrize("seed", range(20))
def test_asia_by_evidence_is_the_joint_s_answer(seed):
    rng = np.random.default_rng(seed)
    known = {name: int(rng.integers(2)) for name in NAMES if rng.random() < 0.35}
    part = JOINT[tuple(known.get(name, slice(None)) for name in NAMES)]
    told = {name: YES[code] for name, code in known.items()}
    if part.sum() == 0:
        for ask in (ASIA.marginals, ASIA.most_probable_explanation):
            with pytest.raises(CountwiseError, match="probability 0"):
                ask(told)
        return
    rest = [name for name in NAMES if name not in known]
    every, log = ASIA.marginals(told)
    assert np.exp(log) == pytest.approx(part.sum(), rel=1e-12)
    for i, name in enumerate(rest):
        wanted = part.sum(axis=tuple(j for j in range(len(rest)) if j != i)) / part.sum()
        np.testing.assert_allclose(every[name], wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ASIA.query(name, told), wanted, rtol=0, atol=1e-12)
    best = ASIA.most_probable_explanation(told)
    assert part[tuple(YES.index(best[name]) for name in rest)] == pytest.approx(part.max(), rel=1e-12)


def test_joint_queries_have_an_axis_for_each_node_in_the_order_asked():
    found = ASIA.query(["lung", "asia"], {"xray": "yes"})
    part = JOINT[..., 0, :].sum(
        axis=tuple(i for i, n in enumerate([n for n in NAMES if n != "xray"]) if n not in ("asia", "lung"))
    )
    np.testing.assert_allclose(found, part.T / part.sum(), rtol=0, atol=1e-12)


def test_soft_evidence_is_a_likelihood():
    weights = {"yes": 0.7, "no": 0.2}
    axis = NAMES.index("xray")
    weighed = JOINT * np.moveaxis(np.array([0.7, 0.2]).reshape([2] + [1] * 7), 0, axis)
    wanted = weighed.sum(axis=tuple(i for i, n in enumerate(NAMES) if n != "lung"))
    np.testing.assert_allclose(ASIA.query("lung", {"xray": weights}), wanted / wanted.sum(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ASIA.marginals({"xray": [0.7, 0.2]})[0]["lung"], wanted / wanted.sum(), atol=1e-12)


def test_naive_bayes_as_a_network_gives_the_lecture_s_posterior():
    """G54: G7 and G8 by exact inference."""
    tennis = samples.load("tennis")
    schema = Schema.infer(tennis.frame)
    table = schema.encode(tennis.frame)
    graph = Graph({"play": (), **dict.fromkeys(tennis.X, ("play",))})
    tables = {}
    for name in graph:
        axes: tuple[Attribute, ...] = tuple(schema[n] for n in (*graph.parents[name], name))
        counts = Counts(axes).fill(table).table.astype(float)
        tables[name] = counts / counts.sum(axis=-1, keepdims=True)
    net = Net(graph, dict(schema), tables, {})
    day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    assert net.query("play", day)[1] == pytest.approx(125 / 611, rel=1e-12)
    del day["outlook"]
    assert net.query("play", day)[1] == pytest.approx(0.409836, abs=5e-7)


def test_a_number_with_nominal_parents_is_evidence_like_any_other():
    rain = samples.load("rain")
    schema = Schema.infer(rain.frame)
    table = schema.encode(rain.frame)
    given = joined_parents([schema["rain"]])
    rows = Table({**table.columns, given.name: codes_of_parents([schema["rain"]], table)}, table.n_rows)
    law = Gaussian()
    density = law.estimate(law.blank(given, Numeric("temp")).fill(rows))
    counts = Counts((schema["rain"],)).fill(table).table.astype(float)
    net = Net(
        Graph({"rain": (), "temp": ("rain",)}),
        {"rain": schema["rain"], "temp": Numeric("temp")},
        {"rain": counts / counts.sum()},
        {"temp": density},
    )
    logs = np.zeros((1, 2))
    density.add_log_prob(np.array([22.8]), logs)
    wanted = net.tables["rain"] * np.exp(logs[0])
    np.testing.assert_allclose(net.query("rain", {"temp": 22.8}), wanted / wanted.sum(), rtol=1e-12)
    np.testing.assert_allclose(net.marginals({"temp": 22.8})[0]["rain"], wanted / wanted.sum(), rtol=1e-12)
    np.testing.assert_allclose(net.query("rain"), net.tables["rain"], rtol=1e-12)


@pytest.mark.parametrize(
    ("queried", "known", "told"),
    [
        ("lungs", {}, "did you mean 'lung'"),
        ("lung", {"xrai": "yes"}, "did you mean 'xray'"),
        ("lung", {"xray": "yess"}, "did you mean 'yes'"),
        ("lung", {"lung": "yes"}, "'lung' is part of the evidence"),
        ("xray", {"tub": "yes", "either": "no"}, "probability 0"),
        ("lung", {"xray": [0.0, 0.0]}, "Soft evidence"),
        ("lung", {"xray": [1.0]}, "Soft evidence"),
    ],
)
def test_what_cannot_be_queried_is_told(queried, known, told):
    with pytest.raises(CountwiseError, match=told):
        ASIA.query(queried, known)
