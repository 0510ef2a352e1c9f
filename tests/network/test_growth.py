"""Networks of many columns, levels and classes: the work grows with their number, not with its square."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from countwise import BayesNetworkClassifier
from countwise.errors import CountwiseWarning
from countwise.network.graph import Graph
from countwise.network.search.class_structures import chow_liu


def calls(work: Any) -> int:
    """The number of calls of Python functions, which no other process disturbs."""
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", ["numbers", "names"])
def test_a_naive_network_of_twice_the_columns_is_twice_the_work(kind):
    rng = np.random.default_rng(0)

    def work(n: int) -> int:
        X = rng.normal(size=(20, n)) if kind == "numbers" else rng.integers(0, 2, (20, n)).astype(str).astype(object)
        y = np.arange(20) % 2
        model = BayesNetworkClassifier("naive")
        return calls(lambda: (model.fit(X, y), model.predict_proba(X), model.explain(X[:1])))

    work(10)
    one, two = work(300), work(600)  # more than 20 000 pairs, so that no pair is compared
    assert two < 2.5 * one


def test_an_explanation_of_twice_the_classes_is_twice_the_work():
    rng = np.random.default_rng(0)

    def work(k: int) -> int:
        y = np.repeat([f"c{i}" for i in range(k)], 3)
        X = {"b": np.array(list("xyz"), dtype=object)[rng.integers(0, 3, 3 * k)], "a": rng.normal(size=3 * k)}
        model = BayesNetworkClassifier("naive").fit(X, y)
        return calls(lambda: model.explain({"b": ["x"], "a": [0.0]}))

    work(10)
    one, two = work(100), work(200)
    assert two < 2.5 * one


def test_columns_of_thousands_of_values_are_learned_though_their_pairs_are_too_many():
    b, d = (np.array([f"{name}{i}" for i in range(6000)], dtype=object) for name in "bd")
    with pytest.warns(CountwiseWarning, match="identifier"):
        model = BayesNetworkClassifier("naive").fit({"b": b, "d": d}, np.arange(6000) % 2)
    assert len(model.conditional_mi_["bits"]) == 0
    assert model.predict_proba({"b": ["b0"], "d": ["d0"]}).sum() == pytest.approx(1.0)


def by_rounds(parents: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Round after round over the nodes as given, a node as soon as its parents are there."""
    done: list[str] = []
    while len(done) < len(parents):
        for node in parents:
            if node not in done and all(p in done for p in parents[node]):
                done.append(node)
    return tuple(done)


@pytest.mark.parametrize("seed", range(30))
def test_the_order_of_a_graph_has_parents_first_and_is_otherwise_as_given(seed):
    rng = np.random.default_rng(seed)
    n = 12
    names = [f"v{i}" for i in range(n)]
    rank = rng.permutation(n)
    parents = {
        names[i]: tuple(names[j] for j in range(n) if rank[j] < rank[i] and rng.random() < 0.25) for i in range(n)
    }
    graph = Graph(parents)
    order = graph.order()
    assert order == by_rounds(parents)
    assert all(order.index(p) < order.index(c) for p, c in graph.arcs)
    assert {n: graph.children(n) for n in graph} == {n: tuple(c for c in parents if n in parents[c]) for n in parents}


def test_a_long_chain_is_sorted_in_one_pass():
    n = 5000
    graph = Graph({f"v{i}": (f"v{i + 1}",) if i + 1 < n else () for i in range(n)})
    assert graph.order()[0] == f"v{n - 1}"
    assert graph.cycle() == []


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_of_information_has_the_largest_sum(seed):
    from scipy.sparse.csgraph import minimum_spanning_tree

    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    information = rng.random((n, n))
    information = information + information.T
    names = [f"v{i}" for i in range(n)]
    parent = chow_liu(names, information, root=names[int(rng.integers(n))])
    total = sum(information[i, names.index(p)] for i, p in enumerate(parent.values()) if p is not None)
    assert total == pytest.approx(-minimum_spanning_tree(-information - np.diag(np.diag(-information))).sum())
    assert sum(p is None for p in parent.values()) == 1
