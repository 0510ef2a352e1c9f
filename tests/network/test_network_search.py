"""Families counted together, and searches that climb: what they keep to, and that they come to the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from countwise import Nominal
from countwise.data.table import Table
from countwise.errors import CountwiseError
from countwise.network.family_scores import SCORES, Families, family_score, family_scores
from countwise.network.graph import Graph
from countwise.network.inference.factors import Potential
from countwise.network.inference.junction_tree import Junction
from countwise.network.search.constraints import Constraints
from countwise.network.search.hill_climb import _Climb, _shake, hill_climb
from countwise.network.search.ordering import by_ordering
from countwise.tallies import Counts

NAMES = tuple("abcdefg")
SIZES = (2, 3, 4, 2, 3, 2, 70)


def drawn(rows: int = 400, gaps: float = 0.1, weights: str | None = None, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    columns = {}
    first = rng.integers(0, 2, rows)
    for name, size in zip(NAMES, SIZES, strict=True):
        codes = np.where(rng.random(rows) < 0.6, first % size, rng.integers(0, size, rows))
        codes[rng.random(rows) < gaps] = size
        columns[name] = codes.astype(np.uint8)
    shares = None if weights is None else (3 * rng.random(rows)).astype(weights)
    return Table(columns, rows, shares)


def families(table: Table, score: str = "bic") -> Families:
    return Families([Nominal(n, tuple(range(k))) for n, k in zip(NAMES, SIZES, strict=True)], table, score)


@pytest.mark.parametrize("weights", [None, "i8", "f8"])
def test_families_counted_together_are_those_counted_alone(weights):
    table = drawn(weights=weights)
    together = families(table)
    queried = [("a", ()), ("b", ("a",)), ("c", ("b", "a")), ("c", ("b", "e")), ("g", ("c", "b", "a")), ("g", ("f",))]
    for (child, parents), found in zip(queried, together.tables(queried), strict=True):
        axes = tuple(together.attributes[name] for name in (*parents, child))
        np.testing.assert_allclose(found, Counts(axes).fill(table).table, rtol=0 if weights != "f8" else 1e-14)
    assert together.counted == len(queried)


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_many_are_those_of_each(score):
    queried = [("a", ("b",)), ("a", ("c",)), ("b", ("c", "a")), ("a", ()), ("d", ("g",)), ("a", ("b",))]
    together, alone = families(drawn(), score), families(drawn(), score)
    found = together.many(queried)
    assert found == pytest.approx([alone.of(*one) for one in queried], rel=1e-13)
    assert found == pytest.approx([family_score(alone.counts(*one), score) for one in queried], rel=1e-13)
    assert together.counted == len(together.known) == 5


def test_a_table_without_cells_or_rows_scores_nothing():
    assert family_scores([np.zeros((0, 2)), np.zeros((2, 0)), np.zeros((3, 2))], "log_likelihood") == [0.0] * 3
    assert family_score(np.zeros((3, 2)), "bic") == 0.0
    assert family_score(np.zeros((3, 2)), "aic") == -3.0


def test_parts_that_do_not_fit_into_memory_at_once_are_counted_one_after_the_other(monkeypatch):
    queried = [("g", (a, b)) for a in "abc" for b in "def"]
    whole = families(drawn()).many(queried)
    monkeypatch.setattr("countwise.network.family_scores._AT_ONCE", 1000)
    assert families(drawn()).many(queried) == whole


def test_too_large_a_table_is_refused():
    wide = [Nominal(name, tuple(range(70))) for name in "abcd"] + [Nominal("e", tuple(range(700)))]
    scores = Families(wide, Table({name: np.zeros(1, np.uint16) for name in "abcde"}, 1))
    with pytest.raises(CountwiseError, match="would have 16,807,000,000"):
        scores.of("a", "bcde")


# -- climbing ---------------------------------------------------------------------------


class Told(Families):
    """Scores that are told instead of counted; of nodes that are not told, 0."""

    def __init__(self, scores: dict[str, dict[str, float]]) -> None:
        self.scores = scores

    def many(self, wanted: Sequence[tuple[str, Sequence[str]]]) -> list[float]:
        return [
            self.scores.get(child, {}).get("".join(sorted(parents)), -9.0 * len(parents)) for child, parents in wanted
        ]


def test_a_node_with_all_parents_it_may_have_exchanges_one():
    scores = {"": 0.0, "a": 3.0, "b": 2.0, "c": 2.0, "ab": 3.5, "ac": 3.4, "bc": 6.0}
    told = Told({"d": scores})
    found = hill_climb(told, "abcd", Constraints(max_parents=2), tabu=0, patience=1)
    assert set(found.graph.parents["d"]) == {"b", "c"}
    into = [arc for arc in found.tried if arc[1] == "d"]
    assert into == [("a", "d", -2.5, False), ("b", "d", 4.0, True), ("c", "d", 4.0, True)]
    held = Constraints(max_parents=2, required=frozenset({("a", "d")}))
    assert set(hill_climb(told, "abcd", held).graph.parents["d"]) == {"a", "b"}


@pytest.mark.parametrize("score", ["bic", "k2"])
def test_restarts_are_never_worse_and_come_to_the_same_again(score):
    scores = families(drawn(gaps=0.0), score)
    plain = hill_climb(scores, NAMES, Constraints(max_parents=2))
    longer = hill_climb(scores, NAMES, Constraints(max_parents=2), restarts=6, seed=3)
    again = hill_climb(scores, NAMES, Constraints(max_parents=2), restarts=6, seed=3)
    assert longer.score >= plain.score
    assert (again.graph, again.score, again.tried) == (longer.graph, longer.score, longer.tried)
    assert longer.score == pytest.approx(sum(scores.of(v, longer.graph.parents[v]) for v in NAMES), rel=1e-13)
    with pytest.raises(CountwiseError, match="restarts"):
        hill_climb(scores, NAMES, Constraints(), restarts=-1)


@pytest.mark.parametrize("seed", range(5))
def test_moves_by_chance_make_no_circle_and_keep_to_what_is_asked(seed):
    rng = np.random.default_rng(seed)
    limits = Constraints(
        required=frozenset({("a", "b")}), forbidden=frozenset({("c", "d")}), tiers={"e": 0, "f": 1}, max_parents=2
    )
    climb = _Climb(families(drawn()), {name: limits.parents(name) for name in NAMES}, limits)
    for _ in range(40):
        _shake(climb, 1, rng)
        graph = Graph({name: tuple(NAMES[p] for p in climb.parents[i]) for i, name in enumerate(NAMES)})
        above = [graph.ancestors([name]) for name in NAMES]
        assert [[one in found for found in above] for one in NAMES] == climb.below.tolist()
        assert ("a", "b") in graph.arcs
        assert not {("c", "d"), ("f", "e")} & set(graph.arcs)
        assert max(map(len, graph.parents.values())) <= 2


def test_an_ordering_lists_what_it_tried_node_by_node():
    found = by_ordering(families(drawn()), NAMES[:4], Constraints(max_parents=2))
    children = [child for _, child, _, _ in found.tried]
    assert children == sorted(children)
    taken = {(parent, child) for parent, child, _, was in found.tried if was}
    assert taken == set(found.graph.arcs)


def test_a_junction_tree_serves_any_evidence():
    rng = np.random.default_rng(0)
    parents = {"a": (), "b": ("a",), "c": ("a",), "d": ("c", "b"), "e": ("d",)}
    sizes = dict.fromkeys(parents, 3)
    factors = [Potential((*above, v), rng.dirichlet(np.ones(3), [3] * len(above))) for v, above in parents.items()]
    tree = Junction(Graph(parents).moral(), sizes)
    for known in ({}, {"e": 0}, {"e": 2}, {"b": 1, "e": 1}, {}):
        told = [*factors, *(Potential((v,), np.eye(3)[code]) for v, code in known.items())]
        ours, log = tree.marginals(told)
        fresh, other = Junction(Graph(parents).moral(), sizes).marginals(told)
        assert log == other
        for v in parents:
            np.testing.assert_array_equal(ours[v], fresh[v])
