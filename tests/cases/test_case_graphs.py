"""Labeled graphs: the best matching against all matchings, one by one."""

from __future__ import annotations

import itertools
import random

import pytest

from countwise import CaseBase
from countwise.cases import GraphSimilarity, LabeledGraph
from countwise.cases.columns import Column
from countwise.cases.graphs import best_matching
from countwise.cases.values import Where
from countwise.errors import OptionError, TableError


def drawn(rng: random.Random, n: int, labels: str, kinds: str, directed: bool, loops: bool) -> LabeledGraph:
    nodes = {f"n{i}": rng.choice(labels) for i in range(n)}
    pairs = itertools.permutations(nodes, 2) if directed else itertools.combinations(nodes, 2)
    ends = [*pairs, *((node, node) for node in nodes if loops)]
    return LabeledGraph(nodes, [(a, b, rng.choice(kinds)) for a, b in ends if rng.random() < 0.5], directed)


def edges_of(graph: LabeledGraph) -> dict:
    """Each edge by its ends; those without a direction both ways."""
    out = {(a, b): label for a, b, label in graph.edges}
    return out if graph.directed else out | {(b, a): label for a, b, label in graph.edges}


def worth_of(a: LabeledGraph, b: LabeledGraph, pairs: dict) -> int:
    """Nodes and edges that lie upon each other, counted edge by edge."""
    if a.directed != b.directed:
        return len(pairs)
    there = edges_of(b)
    on = [there.get((pairs.get(u), pairs.get(v)), "none of them") == label for u, v, label in a.edges]
    return len(pairs) + sum(on)


def all_matchings(a: LabeledGraph, b: LabeledGraph):
    """Every injective mapping of some nodes to nodes of equal labels."""
    names = list(a.nodes)
    choices = [[None, *(x for x in b.nodes if b.nodes[x] == a.nodes[u])] for u in names]
    for chosen in itertools.product(*choices):
        used = [x for x in chosen if x is not None]
        if len(set(used)) == len(used):
            yield {u: x for u, x in zip(names, chosen, strict=True) if x is not None}


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize(("labels", "kinds"), [("a", "x"), ("ab", "x"), ("ab", "xy"), ("abc", "xy")])
def test_the_best_matching_is_the_best_of_all(directed, labels, kinds):
    rng = random.Random(f"{directed} {labels} {kinds}")
    for turn in range(25):
        a = drawn(rng, rng.randint(0, 5), labels, kinds, directed, loops=turn % 3 == 0)
        b = drawn(rng, rng.randint(0, 5), labels, kinds, directed, loops=turn % 3 == 0)
        best = max(worth_of(a, b, pairs) for pairs in all_matchings(a, b))
        found = best_matching(a, b, 8)
        assert found.exact
        assert found.size == best
        assert worth_of(a, b, dict(found.pairs)) == best
        sizes = [len(g.nodes) + len(g.edges) for g in (a, b)]
        assert GraphSimilarity().between(a, b) == (best / max(sizes) if max(sizes) else 1)


@pytest.mark.parametrize("directed", [False, True])
def test_the_greedy_matching_is_a_matching_and_the_bound_exceeds_every_similarity(directed):
    rng = random.Random(5)
    for _ in range(60):
        a, b = (drawn(rng, rng.randint(1, 7), "ab", "xy", directed, loops=True) for _ in range(2))
        greedy, best = best_matching(a, b, -1), best_matching(a, b, 8)
        pairs = dict(greedy.pairs)
        assert len(set(pairs.values())) == len(pairs)
        assert all(a.nodes[u] == b.nodes[x] for u, x in pairs.items())
        assert worth_of(a, b, pairs) == greedy.size <= best.size
        column = Column()
        column.add(b)
        assert GraphSimilarity().bounds(a, column)[0] >= GraphSimilarity().between(a, b) - 1e-12


def test_the_greedy_matching_finds_a_large_graph_in_itself():
    rng = random.Random(2)
    graph = drawn(rng, 60, "abcdefgh", "xy", False, loops=False)
    shuffled = list(graph.nodes)
    rng.shuffle(shuffled)
    twin = LabeledGraph({node: graph.nodes[node] for node in shuffled}, graph.edges)
    found = best_matching(graph, twin, 8)
    assert not found.exact
    assert GraphSimilarity().between(graph, twin) > 0.9


def test_edges_of_another_direction_or_label_are_not_in_common():
    one = LabeledGraph({1: "a", 2: "b"}, [(1, 2, "x")], directed=True)
    assert GraphSimilarity().between(one, LabeledGraph({1: "a", 2: "b"}, [(2, 1, "x")], directed=True)) == 2 / 3
    assert GraphSimilarity().between(one, LabeledGraph({1: "a", 2: "b"}, [(1, 2, "y")], directed=True)) == 2 / 3
    assert GraphSimilarity().between(one, LabeledGraph({1: "a", 2: "b"}, [(1, 2, "x")])) == 2 / 3
    assert GraphSimilarity().between(one, one) == 1


def test_a_graph_is_equal_whatever_the_order_of_its_nodes_and_edges():
    one = LabeledGraph({1: "a", 2: "b", 3: "c"}, [(1, 2, "x"), (2, 3)])
    assert one == LabeledGraph({3: "c", 2: "b", 1: "a"}, [(3, 2), (2, 1, "x")])
    assert one != LabeledGraph({1: "a", 2: "b", 3: "c"}, [(1, 2, "x"), (2, 3)], directed=True)


def test_a_graph_cannot_be_changed():
    with pytest.raises(TypeError):
        LabeledGraph({1: "a"}).nodes[2] = "b"


def test_an_approximation_is_named_in_the_account():
    ring = [(i, (i + 1) % 9) for i in range(9)]
    large = LabeledGraph(dict.fromkeys(range(9), "a"), ring)
    small = LabeledGraph({1: "a"})
    base = CaseBase([({"net": large}, "large"), ({"net": small}, "small")])
    text = str(base.solve({"net": large}))
    assert "(greedy: more than 8 nodes)" in text
    assert "Note: 'net' is compared by a greedy matching; the true similarity may be higher." in text
    exact = CaseBase([({"net": large}, "large")], similarities={"net": GraphSimilarity(limit=9)})
    assert "9 nodes and 9 edges in common of 18" in str(exact.solve({"net": large}))
    assert "greedy" not in str(exact.solve({"net": large}))
    assert "greedy" not in str(base.solve({"net": small}))


def test_limits_are_kept():
    for limit in (13, -1, True, 2.5):
        with pytest.raises(OptionError, match="limit"):
            GraphSimilarity(limit)
    with pytest.raises(TableError, match="1001 nodes"):
        GraphSimilarity().check(LabeledGraph(dict.fromkeys(range(1001), "a")), Where("the query", "net"))
