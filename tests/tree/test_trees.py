"""Trees at the edges: bad input, gaps, wide and deep tables, every kind of frame, and small cases by hand."""

from __future__ import annotations

import pickle
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import countwise
from countwise import MEstimate, Nominal, Ordinal, RuleClassifier, TreeClassifier, TreeRegressor, load, samples, save
from countwise.errors import CountwiseError, CountwiseWarning, OptionError, TableError, UnseenValueError
from countwise.plots import draw_tree
from countwise.progress import reporting

NAN = np.nan
MISSING = ("fractions", "branch", "majority")
NOMINAL = ("multiway", "one_vs_rest", "subset")
FILES = Path(countwise.samples.__file__).parent
every_model = pytest.mark.parametrize("kind", [TreeClassifier, TreeRegressor, RuleClassifier])


def objects(*cells: Any) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def refused(call: Callable[[], Any], *words: str, kind: type = CountwiseError) -> str:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    for word in words:
        assert word in text, text
    return text


def target_of(kind: type, n: int) -> Any:
    return np.arange(n) % 2 * 1.0 if kind is TreeRegressor else objects(*("ab"[i % 2] for i in range(n)))


# -- shape and cells ---------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize(
    "table",
    [{"x": []}, pd.DataFrame({"x": []}), pl.DataFrame({"x": []}), np.empty((0, 2)), []],
    ids=["dict", "pandas", "polars", "numpy", "list"],
)
def test_an_empty_table_is_refused(kind, table):
    refused(lambda: kind().fit(table, []), "empty", kind=TableError)


@every_model
def test_an_empty_table_is_refused_in_prediction(kind):
    model = kind().fit({"x": [1.0, 2.0]}, target_of(kind, 2))
    refused(lambda: model.predict({"x": []}), "empty", kind=TableError)


@every_model
def test_a_model_that_is_not_fitted_says_so(kind):
    with pytest.raises(NotFittedError):
        kind().predict({"x": [1.0]})


@every_model
def test_one_row_is_a_leaf(kind):
    model = kind().fit({"x": [1.0], "w": objects("u")}, target_of(kind, 1))
    asked = {"x": [NAN, 5.0, 1.0], "w": objects("u", None, "new")}
    assert model.predict(asked).tolist() == [target_of(kind, 1)[0]] * 3


@pytest.mark.parametrize("missing", MISSING)
def test_one_class_is_a_leaf(missing):
    model = TreeClassifier(missing=missing).fit({"x": [1.0, 2.0, NAN], "w": objects("u", None, "v")}, list("aaa"))
    assert model.get_n_leaves() == 1
    assert model.classes_.tolist() == ["a"]
    assert model.predict_proba({"x": [NAN], "w": objects("new")}).tolist() == [[1.0]]
    assert model.draw() == "a (3)"
    assert RuleClassifier().fit({"x": [1.0, 2.0]}, ["a", "a"]).predict({"x": [0.0]}).tolist() == ["a"]


def test_a_constant_number_is_a_leaf():
    model = TreeRegressor().fit({"x": [1.0, 2.0, 3.0]}, [0.1, 0.1, 0.1])
    assert model.get_n_leaves() == 1
    assert model.predict({"x": [9.0]}).tolist() == [0.1]


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("nominal", NOMINAL)
def test_an_attribute_that_is_all_missing_is_never_asked(missing, nominal):
    X = {"gone": [NAN] * 6, "lost": objects(*[None] * 6), "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    y = list("aaabbb")
    types = {"lost": "nominal"}
    model = TreeClassifier(missing=missing, nominal=nominal, types=types).fit(X, y)
    assert model.draw() == "x?\n├─ <= 3.5: a (3)\n└─ > 3.5: b (3)"
    assert model.predict({**X, "gone": [5.0] * 6, "lost": objects(*["u"] * 6)}).tolist() == y
    nothing = {name: X[name] for name in ("gone", "lost")}
    empty = TreeClassifier(missing=missing, nominal=nominal, types=types).fit(nothing, list("aaaabb"))
    assert empty.get_n_leaves() == 1
    assert_allclose(empty.predict_proba(nothing), [[2 / 3, 1 / 3]] * 6)
    numbers = TreeRegressor(missing=missing, nominal=nominal, types=types).fit(nothing, [1.0, 2, 3, 4, 5, 6])
    assert numbers.predict(nothing).tolist() == [3.5] * 6


@pytest.mark.parametrize("y", [[1.0, NAN, 3.0, NAN], objects(1.0, None, 3.0, NAN)], ids=["NaN", "None"])
def test_rows_without_a_number_to_tell_are_left_out_and_counted(y):
    with pytest.warns(CountwiseWarning, match="2 of 4 rows were skipped"):
        model = TreeRegressor().fit({"x": [1.0, 2.0, 3.0, 4.0]}, y)
    assert model.n_left_out_ == 2
    assert model.n_rows_ == 2
    assert model.predict({"x": [0.0, 9.0]}).tolist() == [1.0, 3.0]
    assert model.tree_.limits.tolist() == [2.0]  # midway between the rows that are left


def test_rows_without_a_class_are_left_out_and_counted():
    with pytest.warns(CountwiseWarning, match="1 of 3 rows"):
        model = TreeClassifier().fit({"x": [1.0, 2.0, 3.0]}, objects("a", None, "b"))
    assert model.n_left_out_ == 1
    assert model.classes_.tolist() == ["a", "b"]


@every_model
@pytest.mark.parametrize("y", [[NAN, NAN], [None, None]])
def test_a_target_that_is_all_missing_is_refused(kind, y):
    refused(lambda: kind().fit({"x": [1.0, 2.0]}, np.array(y, dtype=object)), "missing")


@every_model
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinity_is_refused_where_it_stands(kind, infinite):
    y = target_of(kind, 3)
    refused(lambda: kind().fit({"x": [1.0, 2.0, infinite]}, y), "'x'", "row 2", "infin")
    model = kind().fit({"x": [1.0, 2.0, 3.0]}, y)
    refused(lambda: model.predict({"x": [1.0, infinite]}), "'x'", "row 1", "infin")


def test_infinity_in_the_target_is_refused():
    refused(lambda: TreeRegressor().fit({"x": [1.0, 2.0]}, [1.0, np.inf]), "infin")
    refused(lambda: TreeRegressor().fit({"x": [1.0, 2.0]}, ["a", "b"]))


def test_contradictory_rows_share_a_leaf():
    X = {"x": [1.0, 1.0, 1.0, 2.0], "w": objects("u", "u", "u", "u")}
    model = TreeClassifier().fit(X, list("abba"))
    assert model.get_n_leaves() == 2
    assert_allclose(model.predict_proba(X), [[1 / 3, 2 / 3]] * 3 + [[1, 0]])
    assert model.draw() == "x?\n├─ <= 1.5: b (3, 1 wrong)\n└─ > 1.5: a (1)"
    tie = TreeClassifier().fit({"x": [1.0, 1.0]}, ["b", "a"])
    assert tie.predict({"x": [1.0]}).tolist() == ["a"]  # the first of the classes
    numbers = TreeRegressor().fit({"x": [1.0, 1.0, 2.0]}, [0.0, 1.0, 7.0])
    assert numbers.predict({"x": [1.0, 2.0]}).tolist() == [0.5, 7.0]


# -- values never seen, branches without rows, gaps --------------------------------------------------------------


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("nominal", NOMINAL)
def test_a_value_never_seen_takes_the_way_of_a_missing_one_or_is_an_error(missing, nominal):
    X = {"w": objects("u", "u", "v", "w", None), "x": [1.0, 2.0, 3.0, 4.0, 5.0]}
    y = list("aabba")
    asked = {"w": objects("never", "u"), "x": [3.0, 3.0]}
    gap = {"w": objects(None, "u"), "x": [3.0, 3.0]}
    model = TreeClassifier(missing=missing, nominal=nominal).fit(X, y)
    assert_array_equal(model.predict_proba(asked), model.predict_proba(gap))
    numbers = TreeRegressor(missing=missing, nominal=nominal).fit(X, [1.0, 2, 8, 9, 0])
    assert_array_equal(numbers.predict(asked), numbers.predict(gap))
    strict = TreeClassifier(missing=missing, nominal=nominal, unseen="error").fit(X, y)
    assert_array_equal(strict.predict_proba(gap), model.predict_proba(gap))
    refused(lambda: strict.predict(asked), "'w'", "never", "row 0", kind=UnseenValueError)


@pytest.mark.parametrize("missing", MISSING)
def test_a_value_that_no_row_brought_to_a_node_takes_the_way_of_a_missing_one(missing):
    # below x > 0 names are parted once more, and there "w" has no rows
    X = {"x": np.array([0.0] * 6 + [1.0] * 7), "n": objects(*"wwuvuv", *"uuuvvv", None)}
    y = list("aaaaaa" + "bbbcccc")
    model = TreeClassifier("gini", nominal="subset", missing=missing).fit(X, y)
    below = [k for k in range(len(model.tree_)) if model.tree_.attribute[k] == 1]
    assert len(below) == 1
    asked = {"x": [1.0, 1.0], "n": objects("w", None)}
    shares = model.predict_proba(asked)
    assert_array_equal(shares[0], shares[1])
    # half of the gap in training; a branch of its own; or the first of two that have as many rows
    expected = {"fractions": [0, 3 / 7, 4 / 7], "branch": [0, 0, 1], "majority": [0, 3 / 4, 1 / 4]}[missing]
    assert_allclose(shares[0], expected, rtol=1e-12)


def test_a_branch_that_no_row_took_answers_as_its_parent_does():
    types = {"w": Nominal("w", ("u", "v", "nobody"))}
    model = TreeClassifier(types=types).fit({"w": objects("u", "v", "v")}, list("abb"))
    assert model.draw() == "w?\n├─ u: a (1)\n├─ v: b (2)\n└─ nobody: b (0)"
    assert_allclose(model.predict_proba({"w": objects("nobody")}), [[1 / 3, 2 / 3]])
    assert [str(rule.conditions[0]) for rule in model.rules()] == ["w = u", "w = v"]
    numbers = TreeRegressor(types=types).fit({"w": objects("u", "v", "v")}, [0.0, 3.0, 6.0])
    assert numbers.predict({"w": objects("nobody")}).tolist() == [3.0]


GAPS = {"w": objects("u", "u", "u", "v", "v", None)}
TOLD = list("aabbbb")
ASKED = {"w": objects("u", "v", None)}


@pytest.mark.parametrize(
    ("missing", "cells", "shares"),
    [
        # the row with the gap: 3/5 of it go to u, 2/5 to v; a gap in prediction: 3.6/6 to u, 2.4/6 to v
        ("fractions", [[2, 1.6], [0, 2.4]], [[2 / 3.6, 1.6 / 3.6], [0, 1], [1 / 3, 2 / 3]]),
        ("branch", [[2, 1], [0, 2], [0, 1]], [[2 / 3, 1 / 3], [0, 1], [0, 1]]),
        ("majority", [[2, 2], [0, 2]], [[0.5, 0.5], [0, 1], [0.5, 0.5]]),
    ],
)
def test_gaps_by_hand(missing, cells, shares):
    model = TreeClassifier(missing=missing).fit(GAPS, TOLD)
    assert_allclose(model.tree_.cells, [[2, 4], *cells], rtol=1e-12)
    assert_allclose(model.predict_proba(ASKED), shares, rtol=1e-12)


@pytest.mark.parametrize(
    ("missing", "means"),
    [
        # u: 1, 2, 3 and 3/5 of 10; v: 4, 5 and 2/5 of 10; the gap 3.6/6 of u and 2.4/6 of v
        ("fractions", [12 / 3.6, 13 / 2.4, 25 / 6]),
        ("branch", [2.0, 4.5, 10.0]),
        ("majority", [4.0, 4.5, 4.0]),
    ],
)
def test_gaps_by_hand_in_regression(missing, means):
    model = TreeRegressor(missing=missing, criterion="variance").fit(GAPS, [1.0, 2.0, 3.0, 4.0, 5.0, 10.0])
    assert_allclose(model.predict(ASKED), means, rtol=1e-12)


def test_gaps_in_numbers_by_hand():
    X = {"x": [1.0, 2.0, 3.0, 4.0, 5.0, NAN]}
    y = list("aabbbb")
    parts = TreeClassifier(max_depth=1).fit(X, y)  # cut at 2.5: 2/5 and 3/5 of the gap
    assert_allclose(parts.tree_.cells, [[2, 4], [2, 0.4], [0, 3.6]], rtol=1e-12)
    assert_allclose(parts.predict_proba({"x": [NAN]}), [[1 / 3, 2 / 3]], rtol=1e-12)
    apart = TreeClassifier(missing="branch").fit(X, y)
    assert_allclose(apart.tree_.cells, [[2, 4], [2, 0], [0, 3], [0, 1]])
    assert apart.draw() == "x?\n├─ <= 2.5: a (2)\n├─ > 2.5: b (3)\n└─ missing: b (1)"
    most = TreeClassifier(missing="majority").fit(X, y)
    assert_allclose(most.tree_.cells, [[2, 4], [2, 0], [0, 4]])
    assert most.predict({"x": [NAN]}).tolist() == ["b"]


@pytest.mark.parametrize("missing", ["fractions", "branch"])
def test_a_gap_where_training_had_none_goes_down_every_branch(missing):
    model = TreeClassifier(missing=missing).fit({"x": [1.0, 2.0, 3.0]}, list("abb"))
    assert_allclose(model.predict_proba({"x": [NAN]}), [[1 / 3, 2 / 3]], rtol=1e-12)


def test_the_answer_to_a_row_does_not_depend_on_the_rows_beside_it():
    # parts of rows add up to a tie in a leaf, but for the last digit
    X = {"x": [0.0, 1, 2, 2, 1, 0, 2, 1], "z": [1.0, NAN, 0, 1, 2, 0, NAN, 1]}
    model = TreeClassifier(max_depth=2).fit(X, [0, 0, 0, 0, 1, 1, 1, 0])
    asked = {"x": [0.0, 1.0, 2.0], "z": [0.0, 0.0, 0.0]}
    assert_allclose(model.predict_proba(asked), 0.5, rtol=1e-12)
    with_gap = {name: [*column, NAN] for name, column in asked.items()}
    assert model.predict(asked).tolist() == model.predict(with_gap).tolist()[:-1] == [0, 0, 0]
    assert str(model.explain(asked)).startswith("class = 0")
    assert model.rules()[0].answer == 0
    assert "<= 0.5: 0 (" in model.draw()


# -- weights and smoothing ---------------------------------------------------------------------------------------


def test_classes_are_weighed():
    X, y = {"x": [1.0, 1.0, 1.0, 1.0]}, list("aaab")
    assert_allclose(TreeClassifier(class_weight="balanced").fit(X, y).predict_proba(X), 0.5)
    mapping = TreeClassifier(class_weight={"b": 6}).fit(X, y)
    assert_allclose(mapping.predict_proba(X)[0], [3 / 9, 6 / 9])
    assert mapping.class_count_.tolist() == [3, 6]
    both = TreeClassifier(class_weight={"b": 6}).fit(X, y, sample_weight=[2, 1, 1, 1])
    assert_allclose(both.predict_proba(X)[0], [4 / 10, 6 / 10])
    weighed = TreeClassifier(class_weight="balanced").fit(X, y, sample_weight=[1, 1, 1, 3])
    assert_allclose(weighed.class_count_, [3, 3])


def test_weights_of_classes_are_weights_of_rows():
    sample = samples.load("penguins")
    given = {"Adelie": 1, "Chinstrap": 4, "Gentoo": 2}
    by_class = TreeClassifier("gini", class_weight=given).fit(sample.X, sample.y)
    by_row = TreeClassifier("gini").fit(sample.X, sample.y, sample_weight=[given[c] for c in sample.y])
    assert by_class.draw() == by_row.draw()


@pytest.mark.parametrize(
    ("smoothing", "shares"),
    [
        (None, [3 / 4, 1 / 4, 0]),
        (0, [3 / 4, 1 / 4, 0]),
        ("laplace", [4 / 7, 2 / 7, 1 / 7]),
        (0.5, [3.5 / 5.5, 1.5 / 5.5, 0.5 / 5.5]),
        (MEstimate(3), [4 / 7, 2 / 7, 1 / 7]),
        (MEstimate(6, "global"), [(3 + 6 * 3 / 6) / 10, (1 + 6 * 1 / 6) / 10, (6 * 2 / 6) / 10]),
        (MEstimate(2, {"a": 0.5, "b": 0.25, "c": 0.25}), [4 / 6, 1.5 / 6, 0.5 / 6]),
    ],
)
def test_shares_of_a_leaf_are_smoothed(smoothing, shares):
    model = TreeClassifier(smoothing=smoothing).fit({"x": [0.0, 0, 0, 0, 1, 1]}, list("aaabcc"))
    assert_allclose(model.predict_proba({"x": [0.0]}), [shares], rtol=1e-12)
    assert model.predict({"x": [0.0, 1.0]}).tolist() == ["a", "c"]


# -- settings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"criterion": "ginni"},
        {"criterion": "variance"},
        {"nominal": "multi"},
        {"numeric": "tertiary"},
        {"ranges": "mld"},
        {"thresholds": "some"},
        {"max_bins": 1},
        {"max_bins": 256},
        {"max_bins": 2.5},
        {"missing": "drop"},
        {"unseen": "warn"},
        {"max_depth": -1},
        {"max_depth": 2.5},
        {"max_depth": "3"},
        {"max_depth": True},
        {"min_samples_split": 0},
        {"min_samples_leaf": 0},
        {"min_samples_leaf": NAN},
        {"min_gain": -0.1},
        {"max_branches": 1},
        {"pruning": "all"},
        {"class_weight": "equal"},
        {"class_weight": 3},
        {"class_weight": {"a": 0}},
        {"class_weight": {"z": 1}},
        {"smoothing": "lapace"},
        {"smoothing": -1},
    ],
    ids=lambda wrong: "{}={}".format(*next(iter(wrong.items()))),
)
def test_a_wrong_setting_is_named(wrong):
    name = next(iter(wrong))
    text = refused(lambda: TreeClassifier(**wrong).fit({"x": [1.0, 2.0]}, ["a", "b"]), kind=OptionError)
    assert re.search(name if wrong != {"class_weight": {"a": 0}} else "weight in class_weight", text), text


@pytest.mark.parametrize("wrong", [{"criterion": "gini"}, {"numeric": "range"}, {"missing": 1}, {"min_gain": None}])
def test_a_wrong_setting_of_a_regression_tree_is_refused(wrong):
    refused(lambda: TreeRegressor(**wrong).fit({"x": [1.0, 2.0]}, [1.0, 2.0]), kind=OptionError)


def test_ranges_cannot_be_binned():
    refused(
        lambda: TreeClassifier(numeric="ranges", thresholds="binned").fit({"x": [1.0, 2.0]}, ["a", "b"]),
        "binned",
        "Hint",
        kind=OptionError,
    )


def test_a_wrong_setting_leaves_a_fitted_model_as_it_was():
    model = TreeClassifier().fit({"x": [1.0, 2.0]}, ["a", "b"])
    before = model.draw()
    model.set_params(nominal="multi")
    refused(lambda: model.fit({"x": [1.0, 2.0, 3.0]}, list("cde")), kind=OptionError)
    assert model.draw() == before


# -- very many names ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def identified() -> tuple[dict[str, Any], np.ndarray]:
    """100 000 rows, each with a name of its own, and a column that tells the class nearly always."""
    n = 100_000
    rng = np.random.default_rng(0)
    place = rng.integers(0, 3, n)
    y = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), place)
    return {
        "id": objects(*(f"id{i}" for i in rng.permutation(n))),
        "w": np.array(list("pqr"), dtype=object)[place],
    }, y


def test_a_branch_for_each_of_very_many_names_is_refused(identified):
    X, y = identified
    for model, told in ((TreeClassifier(), y), (TreeRegressor(), y * 1.0), (RuleClassifier(), y)):
        refused(lambda m=model, t=told: m.fit(X, t), "'id'", "100000", "max_branches", "Hint")


def test_the_gain_ratio_is_not_taken_in_by_an_identifier(identified):
    X, y = identified
    model = TreeClassifier("gain_ratio", max_branches=200_000, max_depth=1).fit(X, y)
    assert model.draw().startswith("w?\n")
    assert TreeClassifier("gain", max_branches=200_000, max_depth=1).fit(X, y).tree_.attribute[0] == 0


@pytest.mark.parametrize("nominal", ["subset", "one_vs_rest"])
@pytest.mark.parametrize("classes", [2, 3, None])
def test_two_branches_of_very_many_names_are_found_told_and_drawn_in_seconds(identified, nominal, classes):
    X, y = identified
    started = time.perf_counter()
    if classes is None:
        model = TreeRegressor("variance", nominal=nominal, max_depth=2).fit(X, y * 1.0)
    else:
        model = TreeClassifier("gini", nominal=nominal, max_depth=2).fit(X, np.minimum(y, classes - 1))
    assert model.tree_.attribute[0] == (0 if nominal == "subset" else 1)
    assert len(model.predict(X)) == len(y)
    model.draw()
    model.rules()
    model.explain(X, row=5)
    draw_tree(model, X, row=5)
    assert time.perf_counter() - started < 30


def test_two_classes_and_a_name_for_each_row_are_parted_at_once(identified):
    X, y = identified
    model = TreeClassifier("gini", nominal="subset").fit({"id": X["id"]}, y > 0)
    assert model.get_n_leaves() == 2
    assert_array_equal(model.predict({"id": X["id"]}), y > 0)


# -- very deep trees ---------------------------------------------------------------------------------------------

DEEP = 2500


@pytest.fixture(scope="module")
def chain() -> Any:
    """Classes that take turns: each split takes one row off an end."""
    return TreeClassifier().fit({"x": np.arange(DEEP + 1.0)}, np.arange(DEEP + 1) % 2)


def test_a_very_deep_tree_is_grown_and_asked(chain):
    assert chain.get_depth() == DEEP
    X = {"x": np.arange(DEEP + 1.0)}
    assert_array_equal(chain.predict(X), np.arange(DEEP + 1) % 2)
    assert_allclose(chain.predict_proba({"x": [NAN]}), [[(DEEP // 2 + 1) / (DEEP + 1), (DEEP // 2) / (DEEP + 1)]])
    assert chain.feature_importances_.shape == (1,)


def test_a_very_deep_tree_is_explained_and_drawn(chain):
    row = {"x": [float(DEEP // 2)]}
    told = str(chain.explain(row))
    assert told.startswith("class = 0 with probability 100 %.")
    assert "more nodes further down" in told
    assert str(chain.explain({"x": [NAN]})).startswith("class = 0 with probability 50.0 %.")
    assert len(chain.draw(max_depth=30).split("\n")) == 61
    assert "…" in chain.draw()
    assert len(chain.draw(row)) < 50_000_000
    assert draw_tree(chain, {"x": [NAN]}).startswith("<svg")


def test_a_very_deep_tree_is_written_as_rules_and_as_sql(chain):
    rules = chain.rules()
    assert len(rules) == DEEP + 1
    assert all(len(rule.conditions) == 1 for rule in rules)
    lows = sorted((rule.conditions[0].low, rule.answer) for rule in rules if rule.conditions[0].low is not None)
    assert lows == [(i + 0.5, (i + 1) % 2) for i in range(DEEP)]
    text = chain.to_sql(missing=False)
    assert text.count("CASE") == text.count("END") == DEEP
    refused(chain.to_sql, "leaves", "Hint: use to_sql(missing=False)", kind=OptionError)


def test_a_very_deep_tree_is_kept(chain, tmp_path):
    save(chain, tmp_path / "deep.cw")
    X = {"x": np.arange(-1.0, DEEP + 3.0, 0.25)}
    for back in (load(tmp_path / "deep.cw"), pickle.loads(pickle.dumps(chain))):
        assert back.get_depth() == DEEP
        assert_array_equal(back.predict(X), chain.predict(X))


def test_a_very_deep_tree_is_pruned():
    n = 801
    X, y = {"x": np.arange(float(n))}, np.arange(n) % 2
    for pruning in ("pessimistic", "reduced_error", "cost_complexity"):
        model = TreeClassifier(pruning=pruning, cv=2).fit(X, y)
        assert model.get_depth() < n - 1


# -- frames ------------------------------------------------------------------------------------------------------

LEVELS = ("low", "middle", "high")


def plain_table() -> tuple[dict[str, list[Any]], list[str]]:
    rng = np.random.default_rng(4)
    n = 60
    x = [None if rng.random() < 0.1 else float(v) for v in rng.integers(0, 8, n)]
    w = [None if rng.random() < 0.1 else "uvw"[i] for i in rng.integers(0, 3, n)]
    o = [LEVELS[i] for i in rng.integers(0, 3, n)]
    y = ["yes" if (b == "u") ^ (c != "low") ^ (rng.random() < 0.15) else "no" for b, c in zip(w, o, strict=True)]
    return {"x": x, "w": w, "o": o}, y


PLAIN, PLAIN_Y = plain_table()
ORDER = {"o": Ordinal("o", LEVELS)}
NUMBERS = np.array([NAN if v is None else v for v in PLAIN["x"]])


def _in_codes(cells: list[Any]) -> Any:
    return pa.DictionaryArray.from_arrays(
        pa.array([None if v is None else "uvw".index(v) for v in cells]), list("uvw")
    )


FRAMES = {
    "dict of lists": lambda: PLAIN,
    "dict of arrays": lambda: {"x": NUMBERS, "w": objects(*PLAIN["w"]), "o": objects(*PLAIN["o"])},
    "list of dicts": lambda: [dict(zip(PLAIN, row, strict=True)) for row in zip(*PLAIN.values(), strict=True)],
    "pandas": lambda: pd.DataFrame(PLAIN),
    "pandas categories": lambda: pd.DataFrame(PLAIN).astype({"w": "category"}),
    "pandas strings": lambda: pd.DataFrame(PLAIN).astype({"w": "string", "o": "string"}),
    "pandas nullable": lambda: pd.DataFrame(PLAIN).astype({"x": "Float64"}),
    "polars": lambda: pl.DataFrame(PLAIN),
    "polars categories": lambda: pl.DataFrame(PLAIN).with_columns(pl.col("w").cast(pl.Categorical)),
    "pyarrow": lambda: pa.table(PLAIN),
    "pyarrow dictionary": lambda: pa.table({**PLAIN, "w": _in_codes(PLAIN["w"])}),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("nominal", NOMINAL)
def test_every_frame_gives_the_same_tree(frame, nominal):
    expected = TreeClassifier(nominal=nominal, types=ORDER).fit(PLAIN, PLAIN_Y)
    model = TreeClassifier(nominal=nominal, types=ORDER).fit(frame(), PLAIN_Y)
    assert model.draw() == expected.draw()
    assert_array_equal(model.predict_proba(frame()), expected.predict_proba(PLAIN))
    assert_array_equal(model.predict_proba(PLAIN), expected.predict_proba(PLAIN))


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_an_order_is_taken_from_the_dtype(frame):
    expected = TreeClassifier(types=ORDER).fit(PLAIN, PLAIN_Y).draw()
    assert "<= " in expected
    if frame == "pandas":
        table = pd.DataFrame(PLAIN).astype({"o": pd.CategoricalDtype(LEVELS, ordered=True)})
    else:
        table = pl.DataFrame(PLAIN).with_columns(pl.col("o").cast(pl.Enum(LEVELS)))
    assert TreeClassifier().fit(table, PLAIN_Y).draw() == expected


def test_arrays_of_every_layout_give_the_same_tree():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 6, (80, 4)).astype(np.float64)
    y = (X[:, 0] > 2) ^ (X[:, 3] == 0)
    expected = TreeClassifier().fit(X, y)
    tables = [
        X.astype(np.float32),
        np.asfortranarray(X),
        X.astype(np.int8),
        X[::-1][::-1],
        csr_array(X),
        csc_array(X),
        X.tolist(),
    ]
    for table in tables:
        model = TreeClassifier().fit(table, y)
        assert questions(model) == questions(expected)
        assert_array_equal(model.predict(table), expected.predict(X))
    wide = np.zeros((80, 8))
    wide[:, ::2] = X
    assert questions(TreeClassifier().fit(wide[:, ::2], y)) == questions(expected)


def questions(model: Any) -> Any:
    tree = model.tree_
    return tree.attribute.tolist(), tree.limits.tolist(), tree.groups.tolist(), tree.cells.tolist()


def test_files_and_frames_one_after_another_give_the_same_tree():
    sample = samples.load("penguins")
    expected = TreeClassifier("gini", max_depth=5).fit(sample.frame, "species").draw()
    path = FILES / "penguins.csv"
    assert TreeClassifier("gini", max_depth=5).fit(path, "species").draw() == expected
    assert TreeClassifier("gini", max_depth=5).fit(str(path), "species").draw() == expected
    whole = pd.DataFrame(sample.frame)
    pieces = (whole.iloc[i : i + 50] for i in range(0, len(whole), 50))
    assert TreeClassifier("gini", max_depth=5).fit(pieces, "species").draw() == expected
    hours = TreeRegressor().fit(FILES / "hours.csv", "hours")
    assert hours.draw() == TreeRegressor().fit(samples.load("hours").frame, "hours").draw()


def test_columns_are_found_by_name_in_any_order():
    model = TreeClassifier(types=ORDER).fit(PLAIN, PLAIN_Y)
    turned = {name: PLAIN[name] for name in reversed(PLAIN)}
    assert_array_equal(model.predict(turned), model.predict(PLAIN))
    refused(lambda: model.predict({"x": PLAIN["x"]}), "w")


def test_texts_are_asked_by_words():
    mail = samples.load("mail")
    model = TreeClassifier(types="text").fit(mail.X, mail.y)
    assert model.predict(mail.X).tolist() == mail.y.tolist()
    assert model.draw() == (
        "text: review?\n├─ <= 0.5: spam (3)\n└─ > 0.5: text: password?\n"
        "   ├─ <= 0.5: text: send?\n   │  ├─ <= 0.5: spam (1)\n   │  └─ > 0.5: valid (1)\n   └─ > 0.5: valid (1)"
    )
    sms = samples.load("sms")
    few = {name: column[:400] for name, column in sms.X.items()}
    deep = TreeClassifier(types="text", max_depth=4).fit(few, sms.y[:400])
    most = max(np.mean(sms.y == c) for c in deep.classes_)
    assert deep.score({n: c[800:1800] for n, c in sms.X.items()}, sms.y[800:1800]) > most + 0.02


# -- the life of a model -----------------------------------------------------------------------------------------


class _Stop:
    """Presses Ctrl+C when it has heard enough."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, done: int) -> None:
        self.left -= 1
        if self.left <= 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [TreeClassifier, TreeRegressor])
@pytest.mark.parametrize("after", [1, 3])
def test_an_interrupted_fit_leaves_the_model_as_it_was(kind, after):
    rng = np.random.default_rng(0)
    X = {"x": rng.normal(size=200), "z": rng.normal(size=200)}
    y = rng.integers(0, 2, 200)
    model = kind().fit(X, y)
    before, attributes = model.draw(), set(vars(model))
    other = {"q": rng.normal(size=300)}

    def again() -> None:
        with reporting(_Stop(after)):
            model.fit(other, rng.integers(0, 2, 300))

    with pytest.raises(KeyboardInterrupt):
        again()
    assert model.draw() == before
    assert set(vars(model)) == attributes
    assert len(model.predict(X)) == 200


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = TreeClassifier().fit({"x": [1.0, 2.0]}, ["a", "b"])
    before = model.draw()
    refused(lambda: model.fit({"x": [1.0, np.inf]}, ["a", "b"]))
    assert model.draw() == before
    assert model.predict({"x": [1.0]}).tolist() == ["a"]


@every_model
def test_a_model_fitted_again_knows_nothing_of_before(kind):
    model = kind().fit({"x": [1.0, 2.0, 3.0], "w": objects("u", "v", "u")}, target_of(kind, 3))
    model.fit(np.arange(8.0)[:, None], target_of(kind, 8))
    fresh = kind().fit(np.arange(8.0)[:, None], target_of(kind, 8))
    assert model.n_features_in_ == 1
    assert not hasattr(model, "feature_names_in_")
    assert set(vars(model)) == set(vars(fresh))
    assert_array_equal(model.predict(np.arange(8.0)[:, None]), fresh.predict(np.arange(8.0)[:, None]))


def test_what_an_earlier_pruning_found_is_forgotten():
    sample = samples.load("penguins")
    model = TreeClassifier("gini", pruning="cost_complexity", ccp_alpha=0.01).fit(sample.X, sample.y)
    assert model.alpha_ == 0.01
    model.set_params(pruning=None).fit(sample.X, sample.y)
    assert not hasattr(model, "alpha_")
    assert not hasattr(model, "path_")


@every_model
def test_models_are_pickled_and_cloned(kind):
    settings = {"types": ORDER, "nominal": "subset"}
    told = np.array([y == "yes" for y in PLAIN_Y]) * 1.0 if kind is TreeRegressor else PLAIN_Y
    model = kind(**settings).fit(PLAIN, told)
    back = pickle.loads(pickle.dumps(model))
    assert_array_equal(back.predict(PLAIN), model.predict(PLAIN))
    copy = clone(model)
    assert copy.get_params()["nominal"] == "subset"
    with pytest.raises(NotFittedError):
        copy.predict(PLAIN)
    assert_array_equal(copy.fit(PLAIN, told).predict(PLAIN), model.predict(PLAIN))


@every_model
def test_a_model_keeps_nothing_of_the_users_arrays(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0) * 1.0 if kind is TreeRegressor else (X[:, 0] > 0).astype(int)
    weights = np.ones(60)
    asked = X.copy()
    model = kind().fit(X, y, sample_weight=weights)
    before = model.predict(asked)
    X[:], y[:], weights[:] = 0, 0, 0
    assert_array_equal(model.predict(asked), before)
    assert len(set(before.tolist())) == 2


@every_model
def test_fitting_changes_nothing_of_the_users_arrays(kind):
    X = np.asfortranarray(np.random.default_rng(1).normal(size=(60, 2)))
    X[3, 1] = NAN
    y, weights = target_of(kind, 60), np.full(60, 2.0)
    kept = X.copy(), y.copy(), weights.copy()
    for array in (X, y, weights):
        array.flags.writeable = False
    kind().fit(X, y, sample_weight=weights).predict(X)
    for array, before in zip((X, y, weights), kept, strict=True):
        assert_array_equal(array, before)


@pytest.mark.parametrize("missing", MISSING)
def test_trees_come_back_from_a_file_as_they_were(missing, tmp_path):
    sample = samples.load("penguins")
    for model, told in (
        (TreeClassifier("gain_ratio", nominal="subset", missing=missing, smoothing="laplace"), sample.y),
        (TreeRegressor(missing=missing, max_depth=4), np.arange(344.0) % 7),
    ):
        model.fit(sample.X, told)
        save(model, tmp_path / "tree.cw")
        back = load(tmp_path / "tree.cw")
        assert back.draw() == model.draw()
        assert_array_equal(back.predict(sample.X), model.predict(sample.X))
        assert str(back.explain(sample.X, row=3)) == str(model.explain(sample.X, row=3))
        assert str(back.rules()) == str(model.rules())


@pytest.mark.parametrize(
    "classes",
    [[3, 1], [True, False], [2.0, -1.0], ["b", "a"], [pd.Timestamp("2024-01-02"), pd.Timestamp("2024-01-01")]],
)
def test_classes_of_every_kind_come_back_as_they_are(classes):
    model = TreeClassifier().fit({"x": [1.0, 2.0, 3.0]}, [classes[0], classes[1], classes[1]])
    assert model.predict({"x": [1.0, 9.0]}).tolist() == np.array(classes).tolist()
    assert model.classes_.tolist() == sorted(np.array(classes).tolist())
