"""Structure from an ordering by removing parents, every ordering of few nodes, and the report of each step."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from countwise import BayesNetwork, BayesNetworkClassifier, load, samples, save
from countwise.errors import OptionError, TableError
from countwise.network.family_scores import family_score

XOR = {"A": ["n", "n", "y", "y"], "B": ["n", "y", "n", "y"], "C": ["n", "y", "y", "n"]}


def rows_of(seed, n=200, d=4):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 2, n)]
    for j in range(1, d):
        depends = (codes[rng.integers(0, j)] + (rng.random(n) < rng.choice([0.1, 0.3, 0.5]))) % 2
        codes.append(np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), depends))
    return {f"n{j}": np.array(list("pqr"), dtype=object)[code] for j, code in enumerate(codes)}


def counts_of(rows, names):
    values = [sorted(set(rows[name])) for name in names]
    found = np.zeros([len(v) for v in values])
    for row in zip(*(rows[name] for name in names), strict=True):
        found[tuple(v.index(cell) for v, cell in zip(values, row, strict=True))] += 1
    return found


def removed_by_hand(rows, order, score):
    """The loop of the lecture, with every score from a new count."""

    def of(child, parents):
        return family_score(counts_of(rows, [*parents, child]), score)

    parents = {}
    for i, child in enumerate(order):
        above = list(order[:i])
        while above:
            scores = {p: of(child, [q for q in above if q != p]) for p in above}
            best = max(above, key=lambda p: scores[p])
            if scores[best] < of(child, above) - 1e-9:
                break
            above.remove(best)
        parents[child] = tuple(above)
    return parents


def test_an_exclusive_or_is_found_by_removing_and_not_by_adding():
    assert BayesNetwork("ordering").fit(XOR).graph_.arcs == ()
    for criterion in (None, "bic", "aic", "log_likelihood"):
        net = BayesNetwork("backward_ordering", criterion=criterion).fit(XOR)
        assert set(net.graph_.arcs) == {("A", "C"), ("B", "C")}
    many = {name: column * 10 for name, column in XOR.items()}
    for criterion in ("k2", "bdeu", "chi_square"):
        assert set(BayesNetwork("backward_ordering", criterion=criterion).fit(many).graph_.arcs) == {
            ("A", "C"),
            ("B", "C"),
        }
    model = BayesNetworkClassifier("backward_ordering", order=["A", "B", "C"]).fit(many, "C")
    assert model.predict(many).tolist() == many["C"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("score", ["bic", "k2", "aic"])
def test_removal_is_that_of_the_loop_by_hand(seed, score):
    rows = rows_of(seed)
    order = np.random.default_rng(seed).permutation(list(rows)).tolist()
    net = BayesNetwork("backward_ordering", order=order, criterion=score).fit(rows)
    assert dict(net.graph_.parents) == {name: removed_by_hand(rows, order, score)[name] for name in net.graph_}
    total = sum(family_score(counts_of(rows, [*above, child]), score) for child, above in net.graph_.parents.items())
    assert net.found_.score == pytest.approx(total)


@pytest.mark.parametrize("seed", range(4))
def test_the_test_is_that_of_scipy_and_of_independence(seed):
    rows = rows_of(seed)
    net = BayesNetwork("backward_ordering", criterion="chi_square", alpha=0.01).fit(rows)
    for step in net.found_.steps:
        for one in step.candidates:
            given = [p for p in step.parents if p != one.parent]
            counts = counts_of(rows, [*given, one.parent, step.child])
            statistic, freedom = 0.0, 0
            for stratum in counts.reshape(-1, *counts.shape[-2:]):
                stratum = stratum[stratum.sum(axis=1) > 0][:, stratum.sum(axis=0) > 0]
                if min(stratum.shape, default=0) > 1:
                    found = chi2_contingency(stratum, correction=False)
                    statistic, freedom = statistic + found.statistic, freedom + found.dof
            assert one.statistic == pytest.approx(statistic)
            assert one.freedom == freedom
            assert one.p == pytest.approx(chi2.sf(statistic, freedom), abs=1e-15)
            grid = net.independence(rows, one.parent, step.child, given)
            assert grid["chi-square"] == [pytest.approx(one.statistic)]
        least = max(step.candidates, key=lambda one: one.p)
        assert (step.chosen is not None) == (least.p > 0.01)


def test_every_ordering_has_its_score():
    rows = rows_of(1)
    net = BayesNetwork("all_orders", criterion="k2").fit(rows)
    orders = dict(net.found_.orders)
    assert set(orders) == set(itertools.permutations(rows))
    for order, score in orders.items():
        assert BayesNetwork("ordering", order=order, criterion="k2").fit(rows).found_.score == pytest.approx(score)
    assert net.found_.score == pytest.approx(max(orders.values()))
    assert "24 orderings of 4 nodes" in str(net.explain_structure())


def test_orderings_that_violate_the_constraints_are_left_out():
    rows = rows_of(2)
    net = BayesNetwork("all_orders", required=[("n3", "n0")], tiers=[["n1"], ["n0"]]).fit(rows)
    assert ("n3", "n0") in net.graph_.arcs
    for order, score in net.found_.orders:
        assert order.index("n3") < order.index("n0")
        assert order.index("n1") < order.index("n0")
        assert math.isfinite(score)
    assert len(net.found_.orders) == 8


def test_many_nodes_have_too_many_orderings():
    rows = {f"n{j}": ["a", "b"] for j in range(8)}
    with pytest.raises(OptionError, match=r"8 nodes have 40,320 orderings; at most 7 .* structure='orders'"):
        BayesNetwork("all_orders").fit(rows)


def test_removal_respects_constraints_and_the_largest_number_of_parents():
    rows = rows_of(3)
    net = BayesNetwork("backward_ordering", required=[("n0", "n3")], forbidden=[("n1", "n2")]).fit(rows)
    assert ("n0", "n3") in net.graph_.arcs
    assert ("n1", "n2") not in net.graph_.arcs
    everything = BayesNetwork("backward_ordering", criterion="log_likelihood", max_parents=4).fit(rows)
    assert len(everything.graph_.arcs) == 6
    few = BayesNetwork("backward_ordering", criterion="log_likelihood", max_parents=1).fit(rows)
    assert max(map(len, few.graph_.parents.values())) == 1
    assert "there are more parents than max_parents" in str(few.explain_structure())
    with pytest.raises(OptionError, match="required parent"):
        BayesNetwork("backward_ordering", required=[("n3", "n0")]).fit(rows)


def test_too_many_predecessors_are_refused_with_the_way_round():
    rows = {f"n{j:02}": ["a", "b", "c"] for j in range(18)}
    with pytest.raises(TableError, match=r"43,046,721 cells.*structure='ordering'"):
        BayesNetwork("backward_ordering").fit(rows)


def test_numbers_weights_and_missing_values():
    rng = np.random.default_rng(0)
    a, b = rng.choice(["u", "v"], 300), rng.choice(["p", "q"], 300)
    x = np.where((a == "u") ^ (b == "p"), 0.0, 3.0) + rng.normal(size=300)
    for criterion in (None, "chi_square"):
        net = BayesNetwork("backward_ordering", criterion=criterion).fit({"a": a, "b": b, "x": x})
        assert net.graph_.parents["x"] == ("a", "b")
    columns = {"a": a.tolist(), "b": b.tolist()}
    c = ["y" if (one == "u") ^ (other == "p") else "n" for one, other in zip(a, b, strict=True)]
    gone = {**columns, "c": [None if i % 7 == 0 else cell for i, cell in enumerate(c)]}
    for missing in ("em", "available"):
        for criterion in (None, "chi_square"):
            net = BayesNetwork("backward_ordering", criterion=criterion, missing=missing).fit(gone)
            assert set(net.graph_.parents["c"]) == {"a", "b"}
    weights = np.array([1, 1, 1, 1, 3])
    five = {name: [*column, column[0]] for name, column in XOR.items()}
    copies = {
        name: [cell for cell, w in zip(column, weights, strict=True) for _ in range(w)]
        for name, column in five.items()
    }
    one = BayesNetwork("backward_ordering").fit(five, sample_weight=weights).found_
    assert one == BayesNetwork("backward_ordering").fit(copies).found_


def test_an_engine_gives_the_same_steps():
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows_of(4))
    for settings in ({}, {"criterion": "chi_square"}):
        memory = BayesNetwork("backward_ordering", **settings).fit(frame)
        engine = BayesNetwork("backward_ordering", **settings).fit(duckdb.from_df(frame))
        assert [s.chosen for s in engine.found_.steps] == [s.chosen for s in memory.found_.steps]
        assert engine.found_.score == pytest.approx(memory.found_.score)


@pytest.mark.parametrize(
    "settings",
    [
        {"structure": "backward_ordering"},
        {"structure": "backward_ordering", "criterion": "chi_square"},
        {"structure": "ordering"},
        {"structure": "all_orders"},
        {"structure": "hill_climb"},
        {"structure": "chow_liu"},
    ],
)
def test_the_report_is_kept_in_model_files_and_fits_a_terminal(settings, tmp_path):
    net = BayesNetwork(**settings).fit(samples.load("tennis").frame)
    save(net, tmp_path / "net.json")
    again = load(tmp_path / "net.json")
    assert again.found_ == net.found_
    report = net.explain_structure()
    assert str(again.explain_structure()) == str(report)
    assert max(map(len, report.text(80).splitlines())) <= 80
    assert json.loads(json.dumps(report.to_dict()))
    assert "step 1" in str(report) or "Candidate arcs" in str(report)
    for parent, child in net.graph_.arcs:
        assert net.explain_arc(parent, child).n_rows


def test_a_structure_that_was_given_has_no_steps():
    with pytest.raises(OptionError, match="no search has steps"):
        BayesNetwork({"C": ["A"]}).fit(XOR).explain_structure()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"structure": "ordering", "criterion": "chi_square"}, "criterion must be"),
        ({"structure": "backward_ordering", "criterion": "chi"}, "criterion must be .*'chi_square'"),
        ({"structure": "backward_ordering", "alpha": 2}, "alpha must be"),
        ({"structure": "backward_ordering", "alpha": "low"}, "alpha must be"),
        ({"structure": "backward_ordering", "order": ["A", "B"]}, "missing: 'C'"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        BayesNetwork(**settings).fit(XOR)


@pytest.mark.parametrize("score", ["bic", "aic"])
@pytest.mark.parametrize("structure", ["ordering", "backward_ordering"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_log_likelihood_and_the_parameters_of_each_score_are_shown(score, structure, weighted):
    rows = rows_of(5)
    weights = np.arange(200) % 4 + 1 if weighted else None
    net = BayesNetwork(structure, criterion=score, max_parents=2).fit(rows, sample_weight=weights)
    copies = rows if weights is None else {name: np.repeat(column, weights) for name, column in rows.items()}
    n = len(copies["n0"])
    each = 0.5 * math.log(n) if score == "bic" else 1.0
    sections = [s for s in net.explain_structure().sections if ", step" in s.title]
    assert len(sections) == len(net.found_.steps)
    for section, step in zip(sections, net.found_.steps, strict=True):
        assert section.lines[0].startswith(f"{score.upper()} = log-likelihood - ")
        for k, parent in enumerate(section.table["with" if step.adds else "without"]):
            above = [*step.parents, parent] if step.adds else [p for p in step.parents if p != parent]
            counts = counts_of(copies, [*above, step.child])
            expected = family_score(counts, "log_likelihood")
            assert section.table["log-likelihood"][k] == pytest.approx(expected)
            free = int(np.prod(counts.shape[:-1])) * (counts.shape[-1] - 1)
            assert section.table["parameters"][k] == free
            assert section.table[score.upper()][k] == pytest.approx(expected - each * free)


def test_a_score_of_other_rows_is_not_written_out():
    rows = {name: list(column) for name, column in rows_of(5).items()}
    rows["n1"][3] = None
    for missing in ("em", "available"):
        net = BayesNetwork("ordering", missing=missing).fit(rows)
        assert "log-likelihood" not in str(net.explain_structure())
    whole = rows_of(5)
    net = BayesNetwork("ordering").fit(whole).partial_fit({name: column[:20] for name, column in whole.items()})
    assert "log-likelihood" not in str(net.explain_structure())
    assert "log-likelihood" not in str(BayesNetwork("ordering", criterion="k2").fit(whole).explain_structure())
