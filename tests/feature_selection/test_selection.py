"""Scores and selectors from every bad table: a result with a note, or one clear error."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import countwise
from countwise import (
    Binned,
    EmbeddedSelector,
    FilterSelector,
    NaiveBayesClassifier,
    Ordinal,
    WrapperSelector,
    samples,
)
from countwise.errors import CountwiseError, DataWarning, OptionError, TableError
from countwise.feature_selection import attribute_scores, pmi


def refused(call: Callable[[], Any], *words: str, kind: type[Exception] = CountwiseError) -> str:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    for word in words:
        assert word in text, text
    return text


def table(n: int = 60, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = np.where(x + rng.normal(size=n) > 0, "p", "q")
    w = np.array(["u", "v", "w"], dtype=object)[rng.integers(0, 3, n)]
    return {"x": x, "z": rng.normal(size=n), "w": w}, y


X, Y = table()
FRAME = pd.DataFrame(X)
BOTH_WAYS = [NaiveBayesClassifier(), make_pipeline(NaiveBayesClassifier())]
SELECTORS = [FilterSelector(k=1), WrapperSelector(cv=2), EmbeddedSelector(k=1)]


def records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    return pd.DataFrame(columns).to_dict("records")


def names(search: Any) -> list[str]:
    return search.get_feature_names_out().tolist()


# -- scores --------------------------------------------------------------------------------------------------


def test_columns_that_tell_nothing_have_a_row_and_a_note():
    frame = {
        "constant": np.array(["k"] * 4, dtype=object),
        "gaps": np.full(4, np.nan),
        "names gone": np.array([None] * 4, dtype=object),
        "one number": np.ones(4),
        "x": np.array([1.0, 2.0, 3.0, 4.0]),
    }
    found = attribute_scores(frame, list("abab"), adjust="permutation")
    assert found["attribute"] == list(frame)
    assert found["information_gain"] == [0, 0, 0, 0, 0]
    assert found["missing"] == [0, 4, 4, 0, 0]
    notes = dict(zip(found["attribute"], found["note"], strict=True))
    assert notes["constant"] == notes["one number"] == "only one value"
    assert notes["gaps"] == notes["names gone"] == "all values missing"
    assert notes["x"].startswith("no cut point is accepted")
    assert all(math.isnan(p) for p in found["p_value"])


def test_one_class_only_tells_nothing():
    found = attribute_scores(X, ["a"] * 60)
    assert found["information_gain"] == [0, 0, 0]
    notes = dict(zip(found["attribute"], found["note"], strict=True))
    assert all("same class" in notes[name] for name in ("x", "z"))


def test_a_number_for_a_class_is_refused_with_the_way_round_it():
    refused(lambda: attribute_scores(X, X["z"]), "continuous", "Hint: ")
    refused(lambda: pmi(X, X["z"]), "continuous", "Hint: ")
    refused(lambda: FilterSelector().fit(X, X["z"]), "continuous", "Hint: ")


def test_names_for_a_number_are_refused():
    refused(lambda: attribute_scores(X, Y, target="numeric target"), "number")
    refused(lambda: attribute_scores(X, Y, target="regression"), "'regression'", "'number'")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"numeric": "mld"}, ("did you mean 'mdl'?",)),
        ({"numeric": {"xx": "mdl"}}, ("'xx'", "did you mean 'x'?")),
        ({"numeric": [1.0, 1.0]}, ("distinct",)),
        ({"nominal": "bin"}, ("'bin'", "'binary'")),
        ({"ordinal": "bin"}, ("'bin'", "'binary'")),
        ({"adjust": "perm"}, ("'perm'", "'permutation'")),
        ({"sample_weight": -np.ones(60)}, ("Negative",)),
        ({"sample_weight": np.zeros(60)}, ("zero",)),
        ({"sample_weight": np.full(60, np.nan)}, ("nan",)),
    ],
    ids=str,
)
def test_an_option_of_the_scores_without_meaning_is_refused(settings, words):
    refused(lambda: attribute_scores(X, Y, **settings), *words)


def test_tables_of_the_wrong_shape_are_not_scored():
    refused(lambda: attribute_scores({"x": []}, []), "empty", kind=TableError)
    refused(lambda: attribute_scores(X["x"], Y), "1D", kind=TableError)
    refused(lambda: attribute_scores(X), "y", "None", kind=TableError)
    refused(lambda: attribute_scores(X, Y[:5]), "60", "5")
    refused(lambda: attribute_scores(X, "play"), "'play'")
    refused(lambda: attribute_scores({"x": [1.0, np.inf]}, ["a", "b"]), "'x'", "infinity", "row 1")
    refused(
        lambda: attribute_scores({"x": [1.0, np.inf]}, ["a", "b"], numeric="gaussian"), "'x'", "infinity", "row 1"
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_is_scored_into_a_frame_of_its_library(make):
    frame = make({"x": X["x"], "w": X["w"].tolist()})
    for found in (attribute_scores(frame, Y), pmi(frame, Y), countwise.feature_selection.pairwise_scores(frame)):
        assert type(found) is type(frame)


def test_the_class_may_be_a_column_by_name_and_is_not_scored():
    assert attribute_scores({**X, "y": Y}, "y")["attribute"] == ["x", "z", "w"]
    assert FilterSelector(k=1).fit({**X, "y": Y}, "y").get_feature_names_out().tolist() == ["x"]
    assert names(WrapperSelector(cv=2).fit(FRAME.assign(y=Y), "y")) == ["x"]


def test_weights_that_are_not_whole_take_the_formula_for_chance():
    weights = np.random.default_rng(0).random(60)
    found = attribute_scores(X, Y, sample_weight=weights, adjust="permutation")
    by_formula = attribute_scores(X, Y, sample_weight=weights, adjust="analytic")
    assert found["adjusted_gain"] == by_formula["adjusted_gain"]


def test_ordinal_attributes_are_read_in_three_ways():
    order = {"w": Ordinal("w", ("u", "v", "w"))}
    frame = {"w": X["w"]}
    assert attribute_scores(frame, Y, types=order)["attribute"] == ["w"]
    assert attribute_scores(frame, Y, types=order, ordinal="binary")["attribute"] == ["w>u", "w>v"]
    found = attribute_scores(frame, Y, types=order, ordinal="number", numeric=[0.5])
    assert found["read_as"] == ["number, 2 bins (hand)"]
    steps = attribute_scores(frame, Y, types=order, ordinal="binary")["information_gain"]
    assert found["information_gain"][0] == pytest.approx(steps[0], rel=1e-12)
    assert attribute_scores(frame, Y, types=order, ordinal="number", numeric="gaussian")["read_as"] == [
        "Gaussian in each class"
    ]


def test_a_text_gets_a_row_for_each_word():
    mail = samples.load("mail")
    found = attribute_scores(mail.X, mail.y, types={"text": "text"})
    assert found["attribute"] == [f"text: {word}" for word in ("account", "password", "review", "send", "us", "your")]
    assert set(found["read_as"]) == {"word present or absent"}


def test_a_text_without_words_does_not_vanish():
    frame = {"t": np.array(["", ""], dtype=object), "w": ["a", "b"]}
    found = attribute_scores(frame, ["p", "q"], types={"t": "text"})
    assert any(name.startswith("t") for name in found["attribute"]), found


def test_a_sparse_matrix_gets_a_row_for_each_column():
    found = attribute_scores(csr_array(np.eye(4)), list("abab"))
    assert found["attribute"] == ["x0", "x1", "x2", "x3"]
    assert FilterSelector(k=2).fit(csr_array(np.eye(4)), list("abab")).transform(csr_array(np.eye(4))).shape == (4, 2)


def test_an_identifier_is_named():
    rows = np.array([f"id{i}" for i in range(200)], dtype=object)
    with pytest.warns(DataWarning, match="identifier"):
        found = attribute_scores({"id": rows}, np.where(np.arange(200) % 2, "a", "b"), adjust="permutation")
    assert found["note"] == ["looks like an identifier"]
    assert found["information_gain"] == [1.0]
    assert found["adjusted_gain"][0] == pytest.approx(0, abs=1e-9)


def test_scores_of_a_number_use_the_rule_that_is_named_for_a_column():
    found = attribute_scores(X, X["z"], target="number", numeric={"x": [0.0]})
    assert found["values"][0] == 2
    refused(lambda: attribute_scores(X, X["z"], target="number", numeric="min_n"), "'min_n'", "classes")


def test_rows_without_a_number_are_left_out_and_the_warning_points_at_the_line_that_asked():
    y = X["z"].copy()
    y[:3] = np.nan
    with pytest.warns(DataWarning, match="3 of 60 rows were skipped") as caught:
        found = attribute_scores({"x": X["x"]}, y, target="number")
    assert found["mean"][0] == pytest.approx(y[3:].mean(), rel=1e-12)
    assert caught[0].filename == __file__


# -- pairs ---------------------------------------------------------------------------------------------------


def test_options_of_pairs_without_meaning_are_refused():
    refused(
        lambda: countwise.feature_selection.pairwise_scores(X, measure="mutual_info"),
        "did you mean 'mutual_information'?",
    )
    refused(lambda: countwise.feature_selection.pairwise_scores(X, numeric="mdl"), "'mdl'", "class")
    refused(lambda: countwise.feature_selection.pairwise_scores({"t": X["w"]}, types={"t": "text"}), "'t'", "text")
    refused(lambda: countwise.feature_selection.pairwise_scores({"x": []}), "empty", kind=TableError)
    refused(lambda: countwise.feature_selection.pairwise_scores({"x": [1.0, np.inf]}), "'x'", "infinity")
    refused(lambda: countwise.feature_selection.pairwise_scores(X, sample_weight=-np.ones(60)), "Negative")
    refused(lambda: countwise.feature_selection.pairwise_scores(X["x"]), "1D", kind=TableError)


def test_one_column_tells_its_entropy():
    found = countwise.feature_selection.pairwise_scores({"w": np.array(list("aabb"), dtype=object)})
    assert found["w"] == [1.0]


# -- filters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"measure": "information_gian"}, ("did you mean 'information_gain'?",)),
        ({"measure": "zzz"}, ("measure must be one of",)),
        ({"k": 0}, ("k must be",)),
        ({"k": 2.5}, ("k must be",)),
        ({"k": True}, ("k must be",)),
        ({"k": 1, "threshold": 0.5}, ("cannot be combined",)),
        ({"threshold": "mean"}, ("threshold",)),
        ({"threshold": np.nan}, ("threshold",)),
        ({"measure": "adjusted_gain", "adjust": "perm"}, ("'perm'",)),
    ],
    ids=str,
)
def test_an_option_of_the_filter_without_meaning_is_refused(settings, words):
    refused(lambda: FilterSelector(**settings).fit(X, Y), *words, kind=OptionError)


def test_more_than_there_are_is_all():
    assert names(FilterSelector(k=99).fit(X, Y)) == ["x", "z", "w"]


def test_a_threshold_that_nothing_reaches_keeps_nothing():
    with pytest.warns(DataWarning, match="No attribute has a score above 99"):
        search = FilterSelector(threshold=99).fit(FRAME, Y)
    assert names(search) == []
    assert search.transform(FRAME).shape == (60, 0)


def test_the_filter_of_a_column_read_as_several_takes_the_best_of_them():
    search = FilterSelector(k=1, nominal="binary").fit({"w": X["w"]}, Y)
    assert search.scores_[0] == max(attribute_scores({"w": X["w"]}, Y, nominal="binary")["information_gain"])


# -- what every selector does --------------------------------------------------------------------------------


@pytest.mark.parametrize("selector", SELECTORS, ids=["filter", "wrapper", "embedded"])
def test_tables_of_the_wrong_shape_are_refused(selector):
    refused(lambda: clone(selector).fit(X), "y", "None", kind=ValueError)
    refused(lambda: clone(selector).fit({"x": []}, []), "0 sample", kind=CountwiseError)
    refused(lambda: clone(selector).fit(X, Y[:5]), "60", "5")
    refused(lambda: clone(selector).fit(X["x"], Y), "1D", kind=TableError)
    refused(lambda: clone(selector).fit(X, "plya"), "'plya'", kind=TableError)
    refused(lambda: clone(selector).fit(X, Y, sample_weight=-np.ones(60)), "Negative", kind=TableError)
    refused(lambda: clone(selector).transform(X), "not fitted", kind=NotFittedError)
    fitted = clone(selector).fit(FRAME, Y)
    refused(lambda: fitted.transform(FRAME.drop(columns="x")), "'x'", kind=TableError)
    refused(lambda: fitted.transform(FRAME.to_numpy()[:, :2]), "2 features", "3 features", kind=TableError)
    refused(lambda: fitted.transform(FRAME.iloc[:0]), "empty", kind=TableError)
    refused(lambda: fitted.inverse_transform(FRAME), "dense table of the")


@pytest.mark.parametrize("selector", SELECTORS, ids=["filter", "wrapper", "embedded"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict, records])
def test_selectors_take_and_give_every_kind_of_table(selector, make):
    given = make({"x": X["x"], "z": X["z"], "w": X["w"].tolist()})
    search = clone(selector).fit(given, Y)
    out = search.transform(given)
    assert type(out) is type(given)
    kept = list(out[0] if isinstance(out, list) else getattr(out, "column_names", getattr(out, "columns", out)))
    assert kept == names(search)
    assert "x" in kept
    assert search.get_support().tolist() == [name in kept for name in ("x", "z", "w")]


@pytest.mark.parametrize("selector", SELECTORS, ids=["filter", "wrapper", "embedded"])
def test_a_fitted_selector_survives_pickling_and_a_clone_is_blank(selector):
    search = clone(selector).fit(FRAME, Y)
    again = pickle.loads(pickle.dumps(search))
    assert again.transform(FRAME).equals(search.transform(FRAME))
    assert not hasattr(clone(search), "support_")
    assert search.inverse_transform(search.transform(FRAME)).shape == FRAME.shape
    for asked, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        assert isinstance(clone(selector).set_output(transform=asked).fit(FRAME, Y).transform(FRAME), kind)


@pytest.mark.parametrize("selector", SELECTORS, ids=["filter", "wrapper", "embedded"])
def test_rows_without_a_class_are_left_out_and_counted(selector):
    y = Y.astype(object)
    y[:2] = None
    with pytest.warns(DataWarning, match="2 of 60 rows were skipped"):
        ours = clone(selector).fit(FRAME, y)
    theirs = clone(selector).fit(FRAME.iloc[2:], y[2:])
    assert names(ours) == names(theirs)


@pytest.mark.parametrize("selector", SELECTORS, ids=["filter", "wrapper", "embedded"])
def test_the_index_and_the_types_of_a_pandas_frame_stay(selector):
    frame = FRAME.set_index(pd.Index(np.arange(60) * 2, name="row")).astype({"x": np.float32, "w": "category"})
    search = clone(selector).fit(frame, Y)
    out = search.transform(frame)
    assert out.index.equals(frame.index)
    assert out.dtypes.to_dict() == frame.dtypes[names(search)].to_dict()


# -- wrappers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"direction": "foward"}, ("did you mean 'forward'?",)),
        ({"direction": "up"}, ("'exhaustive'", "'backward'")),
        ({"tol": "a"}, ("tol",)),
        ({"tol": np.nan}, ("tol",)),
        ({"cv": "loo"}, ("'loo'", "'leave_one_out'")),
        ({"n_features_to_select": 0}, ("from 1 to 3",)),
        ({"n_features_to_select": 9}, ("from 1 to 3",)),
        ({"n_features_to_select": 2.0}, ("from 1 to 3",)),
        ({"direction": "exhaustive", "max_subsets": 6}, ("7 subsets", "limit is 6", "Hint: ")),
        ({"estimator": "nb"}, ("estimator",)),
    ],
    ids=str,
)
def test_an_option_of_the_wrapper_without_meaning_is_refused(settings, words):
    refused(lambda: WrapperSelector(**settings).fit(X, Y), *words, kind=OptionError)


@pytest.mark.parametrize("settings", [{"cv": 1}, {"cv": 100}, {"scoring": "accurcy"}], ids=str)
def test_what_scikit_learn_refuses_is_refused_in_its_words(settings):
    refused(lambda: WrapperSelector(**settings).fit(X, Y), kind=ValueError)


def test_an_exhaustive_search_over_the_limit_is_refused_before_anything_is_fitted():
    rows = np.random.default_rng(0).normal(size=(20, 40))
    search = WrapperSelector(_Counting(), direction="exhaustive")
    text = refused(lambda: search.fit(rows, Y[:20]), "65536", kind=OptionError)
    assert f"40 attributes has {2**40 - 1} subsets" in text
    assert _Counting.fits == 0


class _Counting(ClassifierMixin, BaseEstimator):
    fits = 0

    def fit(self, X: Any, y: Any) -> _Counting:
        type(self).fits += 1
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("scoring", ["neg_log_loss", "balanced_accuracy", "roc_auc", "accuracy", None])
def test_scorings_by_name(scoring):
    search = WrapperSelector(scoring=scoring, cv=StratifiedKFold(3)).fit(X, Y)
    assert search.how_ == "adding terms"
    assert names(search)[0] == "x"
    wanted = make_pipeline(NaiveBayesClassifier())
    kept = FRAME[names(search)]
    assert search.score_ == pytest.approx(
        cross_val_score(wanted, kept, Y, scoring=scoring, cv=StratifiedKFold(3)).mean(), rel=1e-10
    )


def test_a_scoring_may_be_a_function():
    search = WrapperSelector(scoring=lambda model, X, y: float((model.predict(X) == y).mean()), cv=3).fit(X, Y)
    assert search.scores_ == pytest.approx(WrapperSelector(cv=3).fit(X, Y).scores_, rel=1e-12)


@pytest.mark.parametrize("model", BOTH_WAYS, ids=["terms", "refits"])
def test_a_function_of_the_rows_sees_the_rows(model):
    """A scorer is called with the table as the user holds it, whichever way the subset is scored."""
    seen = []

    def scoring(model: Any, X: Any, y: Any) -> float:
        seen.append(sorted(X.columns) if hasattr(X, "columns") else type(X).__name__)
        return float((model.predict(X) == y).mean())

    WrapperSelector(model, scoring=scoring, cv=2, n_features_to_select=1).fit(FRAME, Y)
    assert set(map(str, seen)) == {"['x']", "['z']", "['w']"}


@pytest.mark.parametrize("model", BOTH_WAYS, ids=["terms", "refits"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_refused(model, value):
    search = WrapperSelector(model, scoring=lambda m, X, y: value, cv=2)
    refused(lambda: search.fit(X, Y), str(value), kind=TableError)
    assert not hasattr(search, "support_")


@pytest.mark.parametrize("model", BOTH_WAYS, ids=["terms", "refits"])
def test_an_interrupt_leaves_no_half_fitted_state(model):
    def stop(model: Any, X: Any, y: Any) -> float:
        raise KeyboardInterrupt

    search = WrapperSelector(model, scoring=stop, cv=2)
    before = dict(vars(search))
    with pytest.raises(KeyboardInterrupt):
        search.fit(FRAME, Y)
    assert vars(search) == before
    refused(lambda: search.transform(FRAME), "not fitted", kind=NotFittedError)
    search = WrapperSelector(model, cv=2).fit(FRAME, Y)
    kept, before = names(search), dict(vars(search))
    search.set_params(scoring=stop)
    with pytest.raises(KeyboardInterrupt):
        search.fit(FRAME.iloc[:, ::-1], Y)
    assert {**vars(search), "scoring": None} == {**before, "scoring": None}
    assert names(search) == kept


@pytest.mark.parametrize("selector", [FilterSelector(k=1), EmbeddedSelector(k=1)], ids=["filter", "embedded"])
def test_a_fit_that_fails_leaves_the_selector_as_it_was(selector):
    search = clone(selector).fit(FRAME, Y)
    before = names(search)
    refused(lambda: search.fit({"other": [1.0, np.inf]}, ["a", "b"]), "infinity")
    assert names(search) == before
    assert search.transform(FRAME).columns.tolist() == before


def test_an_error_of_the_model_says_which_attributes_it_had():
    class Sour(_Counting):
        def fit(self, X: Any, y: Any) -> Sour:
            raise RuntimeError("sour grapes")

    with pytest.raises(RuntimeError, match="sour grapes") as caught:
        WrapperSelector(Sour(), cv=2).fit(FRAME, Y)
    assert caught.value.__notes__ == ["(while scoring the attributes x)"]


def test_laws_named_for_columns_do_not_stop_a_search():
    """Both ways: a subset is a model of fewer columns, and laws of the others do not matter to it."""
    model = NaiveBayesClassifier({"x": "gaussian", "z": Binned("mdl"), "w": "categorical"})
    ours = WrapperSelector(model, cv=StratifiedKFold(3), direction="exhaustive").fit(FRAME, Y)
    theirs = WrapperSelector(make_pipeline(model), cv=StratifiedKFold(3), direction="exhaustive").fit(FRAME, Y)
    assert ours.scores_ == pytest.approx(theirs.scores_, rel=1e-12)


def test_regressions_are_searched_too():
    numbers = FRAME[["x", "z"]]
    search = WrapperSelector(LinearRegression(), "exhaustive", cv=3, allow_empty=True).fit(numbers, 2 * X["x"])
    assert names(search) == ["x"]
    assert search.how_ == "refitting"
    assert search.scores_[("x",)] == pytest.approx(1)
    assert search.scores_[()] < 0.1


def test_a_number_of_attributes_may_be_asked_for():
    for direction in ("forward", "backward", "exhaustive"):
        search = WrapperSelector(direction=direction, n_features_to_select=2, cv=3).fit(X, Y)
        assert len(names(search)) == 2
    why = WrapperSelector(n_features_to_select=2, cv=3).fit(X, Y).why_
    assert why == "the requested number of 2 attributes was reached"


def test_a_loss_that_is_allowed_drops_more():
    strict = WrapperSelector(direction="backward", cv=3).fit(X, Y)
    loose = WrapperSelector(direction="backward", cv=3, tol=1.0).fit(X, Y)
    assert len(names(loose)) == 1 <= len(names(strict))
    assert loose.why_ == "no attribute is left to remove"


def test_groups_and_folds_of_any_kind():
    groups = np.arange(60) % 4
    assert WrapperSelector(cv=GroupKFold(2)).fit(X, Y, groups=groups).score_ > 0.5
    once = [(np.arange(30), np.arange(30, 60))]
    assert WrapperSelector(cv=once).fit(X, Y).score_ == WrapperSelector(cv=iter(once)).fit(X, Y).score_


def test_several_at_a_time_find_the_same():
    one, two = (WrapperSelector(BOTH_WAYS[1], cv=2, n_jobs=jobs).fit(FRAME, Y) for jobs in (1, 2))
    assert one.scores_ == two.scores_


def test_ties_are_named_and_go_to_the_first_column():
    twins = {"a": X["w"], "b": X["w"], "x": X["x"]}
    search = WrapperSelector(cv=3, n_features_to_select=3).fit({"u": X["x"], **twins}, Y)
    assert search.path_["changed"][0] == "+ u"
    assert search.path_["ties"][0] == "x"
    every = WrapperSelector(cv=3, direction="exhaustive", n_features_to_select=1).fit({"u": X["x"], **twins}, Y)
    assert names(every) == ["u"]
    assert every.why_ == "all 4 subsets were scored; 1 other subset has the same score"


def test_the_best_number_of_the_path_is_the_score():
    search = WrapperSelector(cv=3).fit(X, Y)
    assert search.score_ == search.scores_[tuple(names(search))] == max(search.path_["score"])


# -- embedded ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        None,
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(5, random_state=0),
        LogisticRegression(),
        LinearSVC(),
        make_pipeline(LogisticRegression()),
    ],
    ids=["default", "tree", "forest", "logistic", "svc", "pipeline"],
)
def test_what_a_fitted_model_makes_of_its_attributes(model):
    gaps = FRAME.mask(np.random.default_rng(1).random(FRAME.shape) < 0.1)
    search = EmbeddedSelector(model).fit(gaps, np.where(X["x"] > 0, "p", "q"))
    assert search.importances_.shape == (3,)
    assert search.importances_.sum() == pytest.approx(1)
    assert (search.importances_ >= 0).all()
    assert search.ranks_["attribute"][0] == "x"
    assert search.ranks_["importance"] == sorted(search.importances_.tolist(), reverse=True)
    assert "x" in names(search)
    if model is not None:
        assert not hasattr(model, "tree_")
        assert not hasattr(model, "coef_")


def test_a_regression_tree_ranks_for_a_number():
    search = EmbeddedSelector(DecisionTreeRegressor(random_state=0), k=1).fit(FRAME, 3 * X["z"])
    assert names(search) == ["z"]


def test_a_model_without_importances_is_refused_with_the_way_round_it():
    search = EmbeddedSelector(KNeighborsClassifier())
    text = refused(lambda: search.fit(FRAME, Y), "KNeighborsClassifier", kind=OptionError)
    assert "WrapperSelector" in text


@pytest.mark.parametrize(
    "settings",
    [{"k": 0}, {"k": -1}, {"k": "a"}, {"k": 1.5}, {"threshold": "median"}, {"k": 1, "threshold": 0.1}],
    ids=str,
)
def test_an_option_of_embedded_selection_without_meaning_is_refused(settings):
    refused(lambda: EmbeddedSelector(**settings).fit(FRAME, Y), kind=OptionError)


def test_columns_without_spread_or_of_nothing_but_gaps_matter_not_at_all():
    frame = {"x": X["x"], "g": np.full(60, np.nan), "c": np.ones(60), "k": np.array(["k"] * 60, dtype=object)}
    for model in (DecisionTreeClassifier(random_state=0), LogisticRegression()):
        assert EmbeddedSelector(model).fit(frame, Y).importances_.tolist() == [1, 0, 0, 0]


def test_the_importance_of_an_attribute_is_that_of_all_that_comes_of_it():
    tree = DecisionTreeClassifier(random_state=0)
    search = EmbeddedSelector(tree).fit({"w": X["w"], "x": X["x"]}, Y)
    hot = np.column_stack([*(X["w"] == v for v in "uvw"), X["x"]]).astype(float)
    told = clone(tree).fit((hot - hot.mean(axis=0)) / hot.std(axis=0), Y).feature_importances_
    np.testing.assert_allclose(search.importances_, [told[:3].sum(), told[3]], rtol=1e-10)


def test_a_sparse_matrix_and_a_table_as_it_is_go_to_the_model_unchanged():
    counts = csr_array((np.random.default_rng(0).random((60, 5)) < 0.3).astype(float))
    search = EmbeddedSelector(LogisticRegression(), k=2).fit(counts, Y)
    assert search.transform(counts).shape == (60, 2)
    tree = EmbeddedSelector(DecisionTreeClassifier(random_state=0), k=1, as_it_is=True)
    assert names(tree.fit(FRAME[["x", "z"]], Y)) == ["x"]


def test_groups_stay_with_their_rows_where_rows_are_left_out():
    rng = np.random.default_rng(0)
    frame = {"a": rng.normal(size=30), "b": rng.normal(size=30)}
    target = np.where(frame["a"] > 0, "x", "z").astype(object)
    target[3] = None
    groups, known = np.arange(30) // 3, np.arange(30) != 3
    with pytest.warns(DataWarning, match="1 of 30 rows were skipped"):
        ours = WrapperSelector(cv=GroupKFold(3)).fit(frame, target, groups=groups)
    rest = {name: column[known] for name, column in frame.items()}
    theirs = WrapperSelector(cv=GroupKFold(3)).fit(rest, target[known], groups=groups[known])
    assert ours.scores_ == theirs.scores_


def test_rows_as_lists_keep_the_kinds_of_their_cells():
    rows = FRAME[["x", "w", "z"]].values.tolist()
    out = FilterSelector(k=2).fit(rows, Y).transform(rows)
    assert all(isinstance(cell, float | str) for cell in out[0])
    assert {type(cell) for cell in out[0]} != {str}


def test_classes_of_a_category_are_those_of_their_values():
    plain = pd.Series([0, 1] * 30)
    for target in (plain.astype("category"), plain.astype(object)):
        search = WrapperSelector(cv=3).fit(FRAME, target)
        assert search.scores_ == WrapperSelector(cv=3).fit(FRAME, plain).scores_


@pytest.mark.parametrize("direction", ["forward", "backward", "exhaustive"])
def test_no_attribute_at_all_has_one_score_in_every_search(direction):
    model = NaiveBayesClassifier(prior="uniform")
    settings = {"cv": StratifiedKFold(3), "scoring": "neg_log_loss", "allow_empty": True, "tol": 99.0}
    search = WrapperSelector(model, direction, **settings).fit(FRAME, Y)
    other = WrapperSelector(make_pipeline(model), "exhaustive", **settings).fit(FRAME, Y)
    assert search.scores_[()] == pytest.approx(other.scores_[()], rel=1e-12)


def test_a_fold_without_any_weight_is_refused():
    weights = np.r_[np.zeros(20), np.ones(40)]
    with pytest.raises(TableError, match="weight 0"):
        WrapperSelector(cv=KFold(3)).fit(FRAME, Y, sample_weight=weights)


def test_weights_reach_the_last_step_of_a_pipeline_or_are_refused():
    weights = np.arange(1.0, 61.0)
    numbers = FRAME[["x", "z"]].fillna(0.0)
    inside = WrapperSelector(make_pipeline(LogisticRegression()), cv=StratifiedKFold(3))
    alone = WrapperSelector(LogisticRegression(), cv=StratifiedKFold(3))
    assert inside.fit(numbers, Y, weights).scores_ == alone.fit(numbers, Y, weights).scores_
    with pytest.raises(OptionError, match="KNeighborsClassifier does not support sample_weight"):
        WrapperSelector(KNeighborsClassifier(), cv=3).fit(numbers, Y, weights)


def test_weights_of_an_embedded_selection_are_copies():
    weights = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weights)
    ours = EmbeddedSelector(LogisticRegression(C=0.5)).fit(FRAME, Y, weights)
    theirs = EmbeddedSelector(LogisticRegression(C=0.5)).fit(FRAME.iloc[copies], Y[copies])
    assert ours.importances_ == pytest.approx(theirs.importances_, rel=1e-4)  # what the solver leaves
