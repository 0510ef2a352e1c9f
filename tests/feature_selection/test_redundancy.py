"""mRMR, CFS and FCBF: the same attributes as direct implementations of the published formulas."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import mutual_info_score

from countwise import FilterSelector, samples
from countwise.errors import CountwiseWarning, OptionError, RowsRefused
from countwise.feature_selection import attribute_scores, pairs, pairwise_scores
from countwise.working import Account, Formula

MEASURES = ("mrmr", "mrmr_quotient", "cfs", "fcbf")
TENNIS = samples.load("tennis")

# -- direct implementations over lists; None is missing -----------------------------------------------------


def entropy(values: list[Any], weights: list[float]) -> float:
    total: Counter[Any] = Counter()
    for value, w in zip(values, weights, strict=True):
        total[value] += w
    n = sum(total.values())
    return -sum(w / n * math.log2(w / n) for w in total.values() if w) if n else 0.0


def information(a: list[Any], b: list[Any], weights: list[float]) -> tuple[float, float]:
    """Mutual information and symmetrical uncertainty of the rows in which both are known."""
    rows = [(x, y, w) for x, y, w in zip(a, b, weights, strict=True) if x is not None and y is not None]
    x, y, w = ([row[i] for row in rows] for i in range(3))
    one, other = entropy(x, w), entropy(y, w)
    shared = one + other - entropy(list(zip(x, y, strict=True)), w)
    return shared, 2 * shared / (one + other) if one + other > 0 else 0.0


def first_best(scores: dict[int, float]) -> int:
    top = max(scores.values())
    return min(j for j, s in scores.items() if s >= top - 1e-10 * max(1, abs(top)) or s == top)


def mrmr(columns: list[Any], y: Any, w: Any, k: int, quotient: bool) -> list[int]:
    chosen: list[int] = []
    left = set(range(len(columns)))
    while left and len(chosen) < k:
        scores = {}
        for j in left:
            relevance = information(columns[j], y, w)[0]
            redundancy = sum(information(columns[j], columns[i], w)[0] for i in chosen) / max(len(chosen), 1)
            if not chosen:
                scores[j] = relevance
            elif not quotient:
                scores[j] = relevance - redundancy
            elif redundancy > 1e-12:
                scores[j] = relevance / redundancy
            else:
                scores[j] = 1e9 + relevance if relevance > 1e-12 else 0.0
        chosen.append(first_best(scores))
        left.remove(chosen[-1])
    return chosen


def merit(subset: frozenset[int], columns: list[Any], y: Any, w: Any) -> float:
    k = len(subset)
    r_cf = sum(information(columns[j], y, w)[1] for j in subset) / k
    couples = list(itertools.combinations(sorted(subset), 2))
    r_ff = sum(information(columns[i], columns[j], w)[1] for i, j in couples) / len(couples) if couples else 0.0
    return k * r_cf / math.sqrt(k + k * (k - 1) * r_ff)


def cfs(columns: list[Any], y: Any, w: Any) -> set[int]:
    merits = {frozenset[int](): 0.0}
    waiting, best, stale = [frozenset[int]()], frozenset[int](), 0
    while waiting and stale < 5:
        node = waiting.pop(first_best({i: merits[s] for i, s in enumerate(waiting)}))
        stale += 1
        for j in range(len(columns)):
            child = node | {j}
            if child in merits:
                continue
            merits[child] = merit(child, columns, y, w)
            waiting.append(child)
            if merits[child] > merits[best] + 1e-10:
                best, stale = child, 0
    return set(best)


def fcbf(columns: list[Any], y: Any, w: Any) -> list[int]:
    relevance = [information(column, y, w)[1] for column in columns]
    waiting = sorted((j for j, r in enumerate(relevance) if r > 1e-10), key=lambda j: (-round(relevance[j], 10), j))
    chosen = []
    while waiting:
        chosen.append(waiting.pop(0))
        p = chosen[-1]
        waiting = [q for q in waiting if information(columns[p], columns[q], w)[1] < relevance[q] - 1e-10]
    return chosen


# -- the same attributes ------------------------------------------------------------------------------------


@st.composite
def tables(draw: Any) -> tuple[list[list[Any]], list[str], list[float]]:
    n, d = draw(st.integers(4, 30)), draw(st.integers(1, 6))
    cell = st.sampled_from(["u", "v", "w"] + [None] * draw(st.integers(0, 1)))
    columns = [draw(st.lists(cell, min_size=n, max_size=n)) for _ in range(d)]
    if draw(st.booleans()):
        columns.append(list(columns[0]))  # a copy
    y = draw(st.lists(st.sampled_from("ny"), min_size=n, max_size=n))
    weights = draw(st.sampled_from([[1.0] * n, [0.5 + i % 3 for i in range(n)]]))
    return columns, y, weights


def order_of(selector: FilterSelector) -> list[int]:
    places = selector.table_["selected"]
    return sorted((j for j, place in enumerate(places) if place), key=lambda j: places[j])


@settings(deadline=None)
@given(tables(), st.integers(1, 7))
@pytest.mark.filterwarnings("ignore::countwise.errors.CountwiseWarning")
def test_the_selected_attributes_are_those_of_the_published_algorithms(rows, k):
    columns, y, weights = rows
    if len(set(y)) < 2 or any(all(cell is None for cell in column) for column in columns):
        return
    X = pd.DataFrame({f"a{j}": pd.Series(column, dtype=object) for j, column in enumerate(columns)})
    found = {}
    for measure in MEASURES:
        selector = FilterSelector(measure, k=k if measure.startswith("mrmr") else None)
        found[measure] = order_of(selector.fit(X, y, sample_weight=np.array(weights)))
    assert found["mrmr"] == mrmr(columns, y, weights, k, quotient=False)
    assert found["mrmr_quotient"] == mrmr(columns, y, weights, k, quotient=True)
    assert found["fcbf"] == fcbf(columns, y, weights)
    wanted = cfs(columns, y, weights)
    if set(found["cfs"]) != wanted:  # another subset of the same merit
        a, b = (merit(frozenset(s), columns, y, weights) if s else 0.0 for s in (found["cfs"], wanted))
        assert math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def test_the_steps_have_the_scores_of_scikit_learn():
    penguins = samples.load("penguins")
    X = pd.DataFrame(penguins.X)[["island", "bill_length_mm", "bill_depth_mm", "body_mass_g"]].dropna()
    y = np.asarray(penguins.y)[X.index]
    edges = {name: [float(X[name].median())] for name in X.columns[1:]}
    selector = FilterSelector("mrmr", k=4, numeric={**edges}).fit(X, y)
    coded = {name: X[name] if name == "island" else X[name] > edges[name][0] for name in X}
    names = selector.path_["attribute"]
    for step, name in enumerate(names):
        relevance = mutual_info_score(y, coded[name]) / math.log(2)
        shared = [mutual_info_score(coded[other], coded[name]) / math.log(2) for other in names[:step]]
        redundancy = float(np.mean(shared)) if shared else 0.0
        assert math.isclose(selector.path_["relevance"][step], relevance, rel_tol=1e-9)
        assert math.isclose(selector.path_["redundancy"][step], redundancy, rel_tol=1e-9, abs_tol=1e-12)
        assert math.isclose(selector.path_["score"][step], relevance - redundancy, rel_tol=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_copy_is_not_selected_with_its_original(measure):
    penguins = samples.load("penguins")
    X = pd.DataFrame(penguins.X)
    X.insert(0, "copy", X["flipper_length_mm"])
    selector = FilterSelector(measure, k=3 if measure.startswith("mrmr") else None).fit(X, penguins.y)
    assert len({"copy", "flipper_length_mm"} & set(selector.get_feature_names_out())) == 1
    assert selector.get_support()[0]  # of two equal columns the first one


def test_relevance_is_the_score_of_the_attribute_alone():
    penguins = samples.load("penguins")
    scores = attribute_scores(penguins.frame, "species")
    for measure, score in (("mrmr", "information_gain"), ("fcbf", "symmetrical_uncertainty")):
        selector = FilterSelector(measure).fit(penguins.frame, "species")
        np.testing.assert_allclose(selector.scores_, scores[score], rtol=1e-12, atol=1e-12)
        assert selector.table_["missing"] == list(scores["missing"])
        assert selector.table_["read_as"] == list(scores["read_as"])


def test_a_weight_of_two_is_two_rows():
    weights = np.arange(14) % 2 + 1
    twice = {name: np.repeat(column, weights) for name, column in TENNIS.X.items()}
    for measure in MEASURES:
        one = FilterSelector(measure).fit(TENNIS.X, TENNIS.y, sample_weight=weights)
        other = FilterSelector(measure).fit(twice, np.repeat(TENNIS.y, weights))
        assert order_of(one) == order_of(other)
        np.testing.assert_allclose(one.scores_, other.scores_, rtol=1e-12, atol=1e-15)


def test_a_threshold_ends_the_selection():
    twice = {**TENNIS.X, "copy": TENNIS.X["outlook"]}
    selector = FilterSelector("mrmr", threshold=0.0).fit(twice, TENNIS.y)
    assert selector.get_feature_names_out().tolist() == ["outlook", "humidity", "wind"]
    assert all(score > 0 for score in selector.path_["score"])
    few = FilterSelector("fcbf", threshold=0.1).fit(twice, TENNIS.y)
    assert few.get_feature_names_out().tolist() == ["outlook", "humidity"]
    assert FilterSelector("cfs", k=1).fit(twice, TENNIS.y).get_feature_names_out().tolist() == ["outlook"]


def test_ties_go_to_the_first_column_and_are_named():
    twice = {"copy": TENNIS.X["outlook"], **TENNIS.X}
    selector = FilterSelector("mrmr", k=1).fit(twice, TENNIS.y)
    assert selector.get_feature_names_out().tolist() == ["copy"]
    assert selector.ties_ == ("outlook",)
    assert "'outlook'" in str(selector.explain())


@pytest.mark.parametrize("measure", [*MEASURES, "information_gain", "gain_ratio", "chi_square", "gini_gain",
                                     "symmetrical_uncertainty", "adjusted_gain"])  # fmt: skip
def test_every_selection_has_its_computation(measure):
    selector = FilterSelector(measure).fit(TENNIS.X, TENNIS.y)
    shown = pickle.loads(pickle.dumps(clone(selector).fit(TENNIS.X, TENNIS.y))).explain()
    assert isinstance(shown, Account)
    assert shown.value == selector.support_.sum()
    formulas = [line for section in shown.sections for line in section.lines if isinstance(line, Formula)]
    assert bool(formulas) == (measure != "adjusted_gain")
    for formula in formulas:
        if " ≥ " in formula:
            continue
        parts = formula.split(" = ")
        code = (
            parts[-2].replace("·", "*").replace("√", "math.sqrt").replace("²", "**2").replace("log2(", "math.log2(")
        )
        if len(parts) > 2:
            assert math.isclose(eval(code, {"math": math}), float(parts[-1]), rel_tol=1e-4, abs_tol=1e-5), formula
    assert (selector.path_ is None) == (measure not in MEASURES)
    assert shown.latex(56)
    assert shown.html()


def test_a_long_selection_shows_its_first_steps():
    rng = np.random.default_rng(0)
    X = {f"column {j:02}": rng.choice(list("ab"), 200) for j in range(40)}
    selector = FilterSelector("mrmr", k=40).fit(X, rng.choice(list("ny"), 200))
    text = str(selector.explain())
    assert selector.path_.n_rows == 40
    assert "The first 12 of 40 steps." in text
    assert len(text.splitlines()) < 80


def test_nothing_relevant_selects_nothing_with_a_warning():
    X = {"a": ["u"] * 6, "b": [None] * 6}
    for measure in ("cfs", "fcbf"):
        with pytest.warns(CountwiseWarning):
            selector = FilterSelector(measure).fit(X, list("nynyny"))
        assert not selector.support_.any()
        assert "no attribute" in str(selector.explain())


def test_a_column_that_looks_like_an_identifier_is_noted():
    X = {"id": [f"r{i}" for i in range(200)], "a": ["u", "v"] * 100}
    assert FilterSelector("mrmr").fit(X, ["n", "y"] * 100).table_["note"] == ["looks like an identifier", ""]


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"nominal": "binary"}, TENNIS.X, "nominal='binary' does not apply"),
        ({"ordinal": "number"}, TENNIS.X, "ordinal='number' does not apply"),
        ({"threshold": 0.1}, TENNIS.X, "threshold does not apply"),
        ({"numeric": {"winds": "mdl"}}, TENNIS.X, "no such column"),
        ({"numeric": {"wind": "mdl"}}, TENNIS.X, "which is nominal"),
        ({"numeric": "gaussian"}, {"a": np.arange(14.0)}, "no discretization method"),
        ({"types": {"wind": "text"}}, TENNIS.X, "only nominal, ordinal and numeric columns"),
        ({}, scipy.sparse.csr_matrix(np.eye(14)), "sparse matrices"),
    ],
)
def test_what_cannot_be_used_is_refused(options, X, message):
    with pytest.raises(OptionError, match=message):
        FilterSelector("cfs", **options).fit(X, TENNIS.y)


def test_a_table_of_an_engine_is_refused():
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame(TENNIS.frame)
    with pytest.raises(RowsRefused):
        FilterSelector("mrmr").fit(duckdb.from_df(frame), "play")


@pytest.mark.parametrize("measure", ["mutual_information", "symmetrical_uncertainty"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_table_of_two_columns_is_counted_by_its_occurring_pairs(monkeypatch, measure, weighted):
    rng = np.random.default_rng(1)
    X = {name: rng.choice(["u", "v", "w", None], 60) for name in "abc"}
    w = rng.random(60) if weighted else None
    dense = pairwise_scores(X, measure=measure, sample_weight=w)
    monkeypatch.setattr(pairs, "_LARGE", 0)
    sparse = pairwise_scores(X, measure=measure, sample_weight=w)
    for name in "abc":
        np.testing.assert_allclose(sparse[name], dense[name], rtol=1e-12, atol=1e-13)
