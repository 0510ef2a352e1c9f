"""The parts of belief networks: graphs, factors, elimination, junction trees, files and scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from countwise import Schema, samples
from countwise.data.frames import frame_of
from countwise.errors import CountwiseError, ReadError
from countwise.network.bif import read_bif, write_bif
from countwise.network.family_scores import Families, family_score
from countwise.network.graph import Graph
from countwise.network.inference.elimination import Elimination, elimination_order
from countwise.network.inference.factors import Potential, product
from countwise.network.inference.junction_tree import Junction
from countwise.network.inference.sampling import gibbs, likelihood_weighting
from countwise.network.search.class_structures import (
    augmented_tree,
    chow_liu,
    conditional_information,
    k_dependence,
    naive,
)
from countwise.network.search.constraints import Constraints
from countwise.network.search.hill_climb import hill_climb
from countwise.network.search.ordering import by_ordering, search_orders

ASIA = """
network asia { property "made up"; }
variable asia { type discrete [2] { yes, no }; }
variable tub { type discrete [2] { yes, no }; }
variable "smoke now" { type discrete [2] { "yes, often", no }; }  // a comment
probability ( asia ) { table 0.01, 0.99; }
probability ( tub | asia, "smoke now" ) {
  (yes, "yes, often") 0.05, 0.95;
  default 0.01 0.99; /* all
  others */
}
probability ( "smoke now" ) { table 0.3333333, 0.6666667; }
"""


def random_network(rng: np.random.Generator) -> tuple[Graph, dict[str, int], list[Potential]]:
    names = [f"v{i}" for i in range(int(rng.integers(1, 8)))]
    parents = {
        v: tuple(rng.choice(names[:i], size=min(i, int(rng.integers(0, 4))), replace=False).tolist())
        for i, v in enumerate(names)
    }
    sizes = {v: int(rng.integers(1, 4)) for v in names}
    factors = []
    for v in names:
        table = rng.random([sizes[p] for p in parents[v]] + [sizes[v]])
        table /= table.sum(axis=-1, keepdims=True)
        if rng.random() < 0.2:
            table[rng.random(table.shape) < 0.3] = 0.0
        factors.append(Potential((*parents[v], v), table))
    return Graph(parents), sizes, factors


@pytest.mark.parametrize("seed", range(60))
def test_elimination_and_the_junction_tree_agree_with_the_whole_joint(seed):
    rng = np.random.default_rng(seed)
    graph, sizes, factors = random_network(rng)
    names = list(graph)
    joint = np.broadcast_to(product(factors).over(names), [sizes[v] for v in names])
    known = {v: int(rng.integers(sizes[v])) for v in names if rng.random() < 0.3}
    part = joint[tuple(known.get(v, slice(None)) for v in names)]
    rest = [v for v in names if v not in known]
    marks = [Potential((v,), np.eye(sizes[v])[code]) for v, code in known.items()]
    found, log = Junction(graph.moral(), sizes).marginals([*factors, *marks])
    if part.sum() == 0:
        assert log == -np.inf
        return
    assert np.exp(log) == pytest.approx(part.sum(), rel=1e-12)
    for v in rest:
        wanted = part.sum(axis=tuple(i for i, w in enumerate(rest) if w != v)) / part.sum()
        np.testing.assert_allclose(found[v], wanted, rtol=0, atol=1e-13)
        queried = Elimination([f.given(known) for f in factors], [v]).result
        np.testing.assert_allclose(queried.table / queried.table.sum(), wanted, rtol=0, atol=1e-13)
    largest = Elimination([f.given(known) for f in factors], [], largest=True)
    best = largest.explanation()
    assert float(largest.result.table) == pytest.approx(part.max(), rel=1e-12)
    assert part[tuple(best[v] for v in rest)] == pytest.approx(part.max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_cliques_hang_together_whatever_is_eliminated_first(seed):
    """Large leaves are eliminated late: the clique that joins them must still stand between them."""
    rng = np.random.default_rng(seed)
    parents = {"a": (), "b": ("a",), "x": ("a", "b"), "y": ("a",), "z": ("b",)}
    sizes = {v: int(rng.integers(2, 8 if v in "yz" else 4)) for v in parents}
    factors = [
        Potential((*above, v), rng.dirichlet(np.ones(sizes[v]), size=[sizes[p] for p in above]))
        for v, above in parents.items()
    ]
    known = {"y": 0, "z": 1}
    marks = [Potential((v,), np.eye(sizes[v])[code]) for v, code in known.items()]
    found, log = Junction(Graph(parents).moral(), sizes).marginals([*factors, *marks])
    for v in (v for v in parents if v not in known):
        wanted = Elimination([f.given(known) for f in factors], [v]).result.table
        assert np.exp(log) == pytest.approx(wanted.sum(), rel=1e-12)
        np.testing.assert_allclose(found[v], wanted / wanted.sum(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(40))
def test_nodes_that_are_separated_are_independent_for_all_tables(seed):
    rng = np.random.default_rng(seed)
    graph, _, _ = random_network(rng)
    names = list(graph)
    if len(names) < 3:
        return
    factors = []
    for v in names:  # tables without a zero and without chance independence
        table = rng.random([2] * len(graph.parents[v]) + [2]) + 0.1
        factors.append(Potential((*graph.parents[v], v), table / table.sum(axis=-1, keepdims=True)))
    joint = product(factors)
    for a, b in itertools.combinations(names, 2):
        given = [v for v in names if v not in (a, b) and rng.random() < 0.4]
        table = joint.without(*(v for v in names if v not in (a, b, *given)))
        cells = table.over((*given, a, b)).reshape(-1, 2, 2)
        ratio = cells[:, 0, 0] * cells[:, 1, 1] / (cells[:, 0, 1] * cells[:, 1, 0])
        assert graph.d_separated(a, b, given) == bool(np.allclose(ratio, 1.0, rtol=0, atol=1e-9))


def test_a_circle_is_named_by_its_nodes():
    with pytest.raises(CountwiseError, match=r"cycle: .* → .* → "):
        Graph({"a": ("c",), "b": ("a",), "c": ("b",), "d": ()})


def test_an_unknown_node_is_told_with_a_hint():
    with pytest.raises(CountwiseError, match="did you mean 'smoking'"):
        Graph({"smoking": (), "cancer": ("smokin",)})


def test_the_blanket_is_parents_children_and_their_other_parents():
    graph = Graph({"a": (), "b": ("a",), "c": (), "d": ("b", "c"), "e": ("d",)})
    assert graph.markov_blanket("b") == ("a", "c", "d")
    assert graph.order() == ("a", "b", "c", "d", "e")


def test_a_grid_is_as_wide_as_it_is_and_too_wide_a_query_is_refused():
    near = {f"{i},{j}": set() for i in range(4) for j in range(4)}
    for i, j in itertools.product(range(4), repeat=2):
        for other in (f"{i + 1},{j}", f"{i},{j + 1}"):
            if other in near:
                near[f"{i},{j}"].add(other)
                near[other].add(f"{i},{j}")
    assert elimination_order(near, dict.fromkeys(near, 2), near)[1] == 2**5
    with pytest.raises(CountwiseError, match="sampling"):
        Elimination([Potential((f"p{i}", f"p{j}"), np.ones((9, 9))) for i in range(9) for j in range(i)], ["p0"])


def test_soft_evidence_weighs_values():
    coin = Potential(("coin",), np.array([0.5, 0.5]))
    told = product([coin, Potential(("coin",), np.array([0.9, 0.3]))]).table
    np.testing.assert_allclose(told / told.sum(), [0.75, 0.25], rtol=1e-15)


# -- files ------------------------------------------------------------------------------


def test_a_file_with_comments_quotes_and_defaults_is_read():
    found = read_bif(ASIA)
    assert found.values["smoke now"] == ("yes, often", "no")
    assert found.parents["tub"] == ("asia", "smoke now")
    np.testing.assert_allclose(found.tables["tub"][1, 1], [0.01, 0.99])
    assert found.tables["smoke now"].sum() == pytest.approx(1.0, abs=1e-16)


def test_what_is_written_is_read_back_bit_for_bit():
    rng = np.random.default_rng(0)
    values = {'odd "name"': ("a b", "c\\d", "//e"), "plain": ("0", "1")}
    parents = {'odd "name"': (), "plain": ('odd "name"',)}
    tables = {}
    for name, shape in (('odd "name"', (3,)), ("plain", (3, 2))):
        table = rng.random(shape)
        tables[name] = table / table.sum(axis=-1, keepdims=True)
    again = read_bif(write_bif("net", values, parents, tables))
    assert again.values == values
    assert again.parents == parents
    for name in tables:
        np.testing.assert_allclose(again.tables[name], tables[name], rtol=4e-16)
    once_more = read_bif(write_bif(again.name, again.values, again.parents, again.tables))
    assert all((once_more.tables[name] == again.tables[name]).all() for name in tables)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("variable a { type discrete [2] { x, y }; }\nprobability (a) { table 0.5, 0.4; }", "line 2.*sums to 0.9"),
        ("variable a { type discrete [3] { x, y }; }", "line 1.*3 values but lists 2"),
        ("variable a { type discrete [2] { x, y }; }", "'a' has no probability table"),
        ("probability (b) { }", "variable 'b' is not declared"),
        ("variable a { type continuous; }", "only 'discrete'"),
        ("variable a { type discrete [2] { x, x }; }", "twice"),
        ("variable a { type discrete [1] { x }; }\nprobability (a) { table one; }", "'one' is not a number"),
        ("variable a { type discrete [1] { x }; }\nprobability (a) { table 1", "ends too early|expected"),
        ("", "no variable"),
        ('variable "a', "unexpected"),
    ],
)
def test_a_malformed_file_is_told_with_its_line(text, told):
    with pytest.raises(ReadError, match=told):
        read_bif(text)


# -- scores -----------------------------------------------------------------------------


def tennis(score: str) -> Families:
    frame = frame_of(samples.load("tennis").frame)
    schema = Schema.infer(frame)
    return Families(schema.attributes, schema.encode(frame), score)


ORDER = ("play", "outlook", "temperature", "humidity", "wind")


def test_g55_bic_along_an_ordering():
    families = tennis("bic")
    found = by_ordering(families, ORDER, Constraints(max_parents=4))
    assert found.graph.arcs == (("temperature", "humidity"),)
    assert found.score == pytest.approx(-67.042626, abs=5e-7)
    naive = families.of("play", []) + sum(families.of(name, ["play"]) for name in ORDER[1:])
    assert naive == pytest.approx(-71.337874, abs=5e-7)


def test_g55_k2_along_an_ordering():
    families = tennis("k2")
    found = by_ordering(families, ORDER, Constraints(max_parents=4))
    assert found.graph.parents == {
        "play": (),
        "outlook": ("play",),
        "temperature": ("play", "outlook"),
        "humidity": ("temperature",),
        "wind": (),
    }
    local = [families.of(name, found.graph.parents[name]) for name in ORDER]
    assert local == pytest.approx([-10.309952, -16.493308, -16.965165, -9.259131, -10.715417], abs=5e-7)
    assert ("play", "outlook", pytest.approx(local[1] - families.of("outlook", [])), True) in found.tried


def test_every_family_is_counted_once():
    families = tennis("bdeu")
    hill_climb(families, ORDER, Constraints())
    assert families.counted == len(families.known)


def test_hill_climbing_finds_the_best_of_all_graphs_of_three_nodes():
    names = ("play", "outlook", "wind")
    families = tennis("aic")
    best = max(sum(families.of(name, graph.parents[name]) for name in names) for graph in all_graphs(names))
    assert hill_climb(families, names, Constraints()).score == pytest.approx(best, abs=1e-9)


def all_graphs(names):
    pairs = list(itertools.permutations(names, 2))
    for taken in itertools.product([False, True], repeat=len(pairs)):
        arcs = [pair for pair, there in zip(pairs, taken, strict=True) if there]
        try:
            yield Graph({name: tuple(a for a, b in arcs if b == name) for name in names})
        except CountwiseError:
            continue


def test_required_and_forbidden_arcs_and_tiers_are_kept():
    families = tennis("k2")
    limits = Constraints(
        required=frozenset({("wind", "play")}),
        forbidden=frozenset({("play", "outlook")}),
        tiers={"humidity": 0, "temperature": 1},
    )
    found = hill_climb(families, ORDER, limits).graph
    assert "wind" in found.parents["play"]
    assert ("play", "outlook") not in found.arcs
    assert ("temperature", "humidity") not in found.arcs
    with pytest.raises(CountwiseError, match="required and forbidden"):
        Constraints(required=frozenset({("a", "b")}), forbidden=frozenset({("a", "b")}))
    with pytest.raises(CountwiseError, match="after it"):
        by_ordering(families, ORDER, Constraints(required=frozenset({("wind", "play")})))


def test_the_tree_of_most_information_is_the_best_of_all_trees():
    rng = np.random.default_rng(0)
    for _ in range(20):
        table = rng.random((5, 5))
        table = table + table.T
        names = tuple("abcde")
        parent = chow_liu(names, table, root="c")
        assert parent["c"] is None
        total = sum(table[names.index(a), names.index(b)] for a, b in parent.items() if b is not None)
        assert total == pytest.approx(best_tree(table), abs=1e-12)


def best_tree(table: np.ndarray) -> float:
    from scipy.sparse.csgraph import minimum_spanning_tree

    return float(-minimum_spanning_tree(-table).sum())


def test_the_marginal_likelihood_is_the_product_of_predictions():
    """Row after row, by the rule of succession that the prior implies."""
    rows = np.array([0, 1, 1, 0, 2, 1])
    for score, cell in (("k2", 1.0), ("bdeu", 2.0 / 3)):
        seen, log = np.full(3, cell), 0.0
        for row in rows:
            log += np.log(seen[row] / seen.sum())
            seen[row] += 1
        assert family_score(np.bincount(rows), score, equivalent_sample_size=2.0) == pytest.approx(log, rel=1e-12)


# -- sampling ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", [likelihood_weighting, gibbs])
def test_samples_lie_within_four_standard_errors(method):
    """A hundred queries of networks without zeros; the seeds are fixed."""
    n_queries = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        graph, sizes, _ = random_network(rng)
        names = list(graph)
        tables = {}
        for v in names:
            table = rng.random([sizes[p] for p in graph.parents[v]] + [sizes[v]]) + 0.2
            tables[v] = table / table.sum(axis=-1, keepdims=True)
        known = {v: int(rng.integers(sizes[v])) for v in names[1:] if rng.random() < 0.3}
        factors = [Potential((*graph.parents[v], v), tables[v]).given(known) for v in names]
        for v in [v for v in names if v not in known][:2]:
            exact = Elimination(factors, [v]).result.table
            exact = exact / exact.sum()
            found = method(graph, tables, v, known, 4000, seed=seed)
            assert (np.abs(found.probabilities - exact) <= 4 * found.errors + 1e-12).all(), (seed, v)
            assert found.effective <= 4000 + 1e-9
            n_queries += 1
    assert n_queries >= 100


@pytest.mark.parametrize("method", [likelihood_weighting, gibbs])
def test_impossible_evidence_is_told(method):
    graph = Graph({"a": (), "b": ("a",)})
    tables = {"a": np.array([1.0, 0.0]), "b": np.array([[1.0, 0.0], [0.0, 1.0]])}
    with pytest.raises(CountwiseError, match="evidence is 0"):
        method(graph, tables, "a", {"b": 1}, 100)


# -- orderings and classes ----------------------------------------------------------------


@pytest.mark.parametrize("anneal", [False, True])
def test_the_search_over_orderings_comes_to_the_best_of_all(anneal):
    families = tennis("k2")
    limits = Constraints(max_parents=2)
    best = max(by_ordering(families, order, limits).score for order in itertools.permutations(ORDER))
    found = search_orders(families, ORDER, limits, anneal=anneal, restarts=5, seed=1)
    assert found.score == pytest.approx(best, abs=1e-9)
    assert search_orders(families, ORDER, limits, anneal=anneal, restarts=5, seed=1).graph == found.graph


def test_orderings_keep_required_arcs_and_tiers():
    families = tennis("k2")
    limits = Constraints(required=frozenset({("wind", "play")}), tiers={"humidity": 0, "temperature": 1})
    found = search_orders(families, ORDER, limits).graph
    assert "wind" in found.parents["play"]
    assert "temperature" not in found.parents["humidity"]


def test_information_within_classes_is_that_of_its_definition():
    families = tennis("bic")
    names = ORDER[1:]
    found = conditional_information(families, names, "play")
    counts = families.counts("humidity", ("play", "temperature")) / 14
    wanted = sum(
        counts[c, i, j] * np.log2(counts[c, i, j] * counts[c].sum() / (counts[c, i].sum() * counts[c, :, j].sum()))
        for c, i, j in itertools.product(range(2), range(3), range(2))
        if counts[c, i, j] > 0
    )
    assert found[names.index("temperature"), names.index("humidity")] == pytest.approx(wanted, rel=1e-12)
    assert (found == found.T).all()


def test_the_ladder_from_naive_bayes_upwards():
    families = tennis("bic")
    names = ORDER[1:]
    information = conditional_information(families, names, "play")
    assert naive(names, "play").arcs == tuple(("play", name) for name in names)
    tan = augmented_tree(names, "play", information)
    assert all(tan.parents[name][0] == "play" for name in names)
    assert sorted(len(tan.parents[name]) for name in names) == [1, 2, 2, 2]
    assert k_dependence(families, names, "play", information, 0).arcs == naive(names, "play").arcs
    two = k_dependence(families, names, "play", information, 2)
    assert max(len(two.parents[name]) for name in names) == 3
