"""Errors and warnings of other libraries do not reach the user: what the fuzzer found, by class."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score

import countwise as cw
from countwise.data.frames import frame_of
from countwise.errors import CountwiseError, CountwiseWarning, DataWarning, NumberIn, OptionError, TableError

X = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "b": ["u", "v", "u", "v", "u", "v"]}
Y = ["p", "p", "p", "q", "q", "q"]


@pytest.mark.parametrize("y", [["p", "q", 3, None, True, "p"], [1, 2, 3, 4, 5, 6], [b"p"] * 6, pd.Categorical(Y)])
def test_the_accuracy_of_any_labels_is_the_share_that_is_equal(y):
    model = cw.TreeClassifier().fit(X, Y)
    known = [(label, found) for label, found in zip(y, model.predict(X), strict=True) if label is not None]
    assert model.score(X, y) == np.mean([label == found for label, found in known])


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    columns, weights = {"a": rng.normal(size=50)}, rng.uniform(size=50)
    y = rng.choice(["p", "q"], 50)
    model = cw.NaiveBayesClassifier().fit(columns, y)
    expected = accuracy_score(y, model.predict(columns), sample_weight=weights)
    assert model.score(columns, y, weights) == pytest.approx(expected, abs=1e-15)
    numbers = columns["a"] ** 2 + rng.normal(size=50)
    tree = cw.TreeRegressor(max_depth=2).fit(columns, numbers)
    expected = r2_score(numbers, tree.predict(columns), sample_weight=weights)
    assert tree.score(columns, numbers, weights) == pytest.approx(expected, abs=1e-14)


def test_r2_of_a_constant_target_and_of_one_row():
    tree = cw.TreeRegressor().fit({"a": [1.0, 2.0]}, [5.0, 5.0])
    assert tree.score({"a": [1.0, 2.0]}, [5.0, 5.0]) == 1.0
    assert tree.score({"a": [1.0, 2.0]}, [4.0, 4.0]) == 0.0
    with pytest.warns(DataWarning, match="fewer than two rows"):
        assert math.isnan(tree.score({"a": [1.0]}, [5.0]))


def test_a_numeric_target_whose_squares_are_not_finite_is_refused():
    for model in (cw.TreeRegressor(), cw.NeighborsRegressor(1)):
        with pytest.raises(TableError, match=r"1e\+200 in row 1"):
            model.fit({"a": [1.0, 2.0, 3.0]}, [0.0, 1e200, 1.0])


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_an_integer_beyond_floats_is_no_value_of_a_parameter(value):
    assert value not in NumberIn()
    with pytest.raises(OptionError):
        cw.TreeClassifier(min_gain=value).fit(X, Y)


def test_parameters_that_do_not_exist_are_refused():
    with pytest.raises(OptionError, match="Invalid parameter 'depth'"):
        cw.TreeClassifier().set_params(depth=3)
    with pytest.raises(OptionError, match="has no parameters"):
        cw.WrapperSelector().set_params(estimator__smoothing=1)


@pytest.mark.parametrize(
    ("model", "change"),
    [(cw.NeighborsClassifier(2), {"radius": ()}), (cw.RoteClassifier(), {"otherwise": cw.NaiveBayesClassifier()})],
)
def test_a_parameter_that_is_changed_after_fit_is_checked_again(model, change):
    model.fit(X, Y).set_params(**change)
    with pytest.raises(OptionError):
        model.predict({"a": [9.0], "b": ["w"]})


@pytest.mark.parametrize(
    "selector",
    [
        cw.WrapperSelector(cv=0),
        cw.WrapperSelector(cv=100),
        cw.WrapperSelector(cv=2.5),
        cw.WrapperSelector(scoring="x"),
        cw.WrapperSelector(scoring=5),
        cw.WrapperSelector(cw.TreeClassifier(), scoring="x"),
        cw.EmbeddedSelector(as_it_is=True),
        cw.Discretizer(columns=5),
        cw.BayesNetwork(nodes=5),
        cw.BayesNetwork(arcs=["ab", 1]),
        cw.NaiveBayesClassifier(categorical_features=[[0]]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_absurd_parameters_are_refused_by_fit(selector):
    with pytest.raises(CountwiseError):
        selector.fit(X, Y)


def test_a_class_smaller_than_the_folds_is_a_warning_of_ours():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        cw.WrapperSelector(cv=3).fit(X, ["p", "p", "p", "p", "q", "q"])
    assert seen
    assert all(issubclass(note.category, CountwiseWarning) for note in seen)


def test_a_score_that_does_not_suit_the_target_is_refused():
    with pytest.raises(OptionError, match="cannot be computed"):
        cw.cross_validate(cw.TreeClassifier(), X, Y, cv=2, scoring="r2")


@pytest.mark.parametrize(
    "rows",
    [
        {"a": [1.0], "b": ["u"]},
        [[1.0, "u"]],
        np.array([[1.0, 2.0]]),
        pd.DataFrame([[1.0, "u", "v"]], columns=["a", "b", "b"]),
        pd.DataFrame({"a": [datetime.date(2024, 1, 1)], "b": ["u"]}),
    ],
    ids=["mapping", "rows", "array", "names twice", "objects"],
)
@pytest.mark.parametrize("cls", [cw.NaiveBayesClassifier, cw.TreeClassifier, cw.RuleClassifier])
def test_predict_frame_refuses_what_is_no_data_frame_or_cannot_be_computed(cls, rows):
    model = cls().fit(X, Y)
    with pytest.raises(CountwiseError):
        model.predict_frame(rows)


def test_rows_of_arrow_string_views_can_be_selected():
    table = pa.table({"a": X["a"], "b": pa.array(X["b"], pa.string_view())})
    plain = pa.table({"a": X["a"], "b": pa.array(X["b"])})
    scores = [cw.cross_validate(cw.TreeClassifier(), t, Y, cv=3).mean("accuracy") for t in (table, plain)]
    assert scores[0] == scores[1]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_an_array():
    cells = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    model = cw.NaiveBayesClassifier().fit(np.matrix(cells), ["p", "p", "q"])
    np.testing.assert_array_equal(model.predict_proba(np.matrix(cells)), model.predict_proba(cells))


def test_rows_with_cells_of_any_type_are_a_table():
    model = cw.NaiveBayesClassifier().fit([((0, "x"), 1.0), ((1, "x"), 2.0), ((0, "x"), 1.5)], ["p", "q", "p"])
    assert model.predict([((1, "x"), 2.0)]).tolist() == ["q"]


def test_arrow_dictionaries_in_pandas_are_categories():
    b = pd.Series(pa.array(X["b"]).dictionary_encode(), dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    model = cw.NaiveBayesClassifier().fit(pd.DataFrame({"b": b}), Y)
    expected = cw.NaiveBayesClassifier().fit({"b": X["b"]}, Y)
    np.testing.assert_array_equal(model.predict_proba({"b": ["u", "v"]}), expected.predict_proba({"b": ["u", "v"]}))


def test_bins_of_an_array_can_be_turned_back_beside_other_columns():
    cutter = cw.Discretizer({"x0": [2.5]}).fit(np.array([[1.0, "u"], [4.0, "v"]], dtype=object))
    back = cutter.inverse_transform(cutter.transform(np.array([[1.0, "u"]], dtype=object)))
    assert back.tolist() == [[1.75, "u"]]


def test_a_long_name_does_not_fill_an_error_message():
    with pytest.raises(CountwiseError) as refused:
        cw.NaiveBayesClassifier().fit({"n" * 10_000: [1.0, 2.0], "a": [1.0, 2.0]}, "class")
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "options",
    [
        {"pieces": "x"},
        {"pieces": 2.5},
        {"pieces": 0},
        {"encoding": 5},
        {"missing": 5},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["t.csv", "t.arff"])
def test_absurd_arguments_of_read_are_refused(tmp_path, name, options):
    path = tmp_path / name
    path.write_text("@relation r\n@attribute a numeric\n@data\n1\n" if name == "t.arff" else "a,b\n1,u\n")
    with pytest.raises(CountwiseError):
        cw.read(path, **options)


def test_look_counts_the_values_outside_a_declared_domain(tmp_path):
    from countwise.cli import main

    path = tmp_path / "t.csv"
    path.write_text("a,y\n0.5,p\n1,q\n0,q\n")
    with pytest.raises(SystemExit) as left:
        main(["look", str(path), "--types", "a=boolean"])
    assert not left.value.code


@pytest.mark.parametrize(
    "cls", [cw.TreeClassifier, cw.RuleClassifier, cw.NaiveBayesClassifier, cw.NeighborsClassifier]
)
def test_a_model_of_one_class_is_loaded_as_it_was(tmp_path, cls):
    model = cls().fit(X, ["p"] * 6)
    cw.save(model, tmp_path / "m.json")
    np.testing.assert_array_equal(cw.load(tmp_path / "m.json").predict_proba(X), model.predict_proba(X))


def test_a_query_of_a_tree_has_probabilities_unless_they_are_not_wanted():
    tree = cw.TreeClassifier().fit(X, Y)
    assert "P(q)" in tree.to_sql("t")
    assert "P(q)" not in tree.to_sql("t", proba=False)
    assert "P(q)" not in tree.to_sql()


def test_exemplars_of_texts_do_not_depend_on_the_order_of_rows():
    rows = {"a": X["a"], "b": ["us of", "send us", None, "of us", "send", "send us"]}
    model = cw.PEBLSClassifier(types={"b": "text"}, passes=2).fit(rows, Y)
    back = {name: column[::-1] for name, column in rows.items()}
    other = cw.PEBLSClassifier(types={"b": "text"}, passes=2).fit(back, Y[::-1])
    np.testing.assert_array_equal(model.predict_proba(rows), other.predict_proba(rows))


@pytest.mark.parametrize("weights", [np.ma.array(["2"] * 6), np.ma.array([b"x"] * 6)])
def test_masked_weights_that_are_no_numbers_are_refused(weights):
    with pytest.raises(CountwiseError):
        cw.NaiveBayesClassifier().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("settings", [{"smoothing": 1e308}, {"prior": 10**400}])
def test_numbers_whose_sums_are_not_finite_are_no_values_of_a_parameter(settings):
    with pytest.raises(OptionError):
        cw.NaiveBayesClassifier(**settings).fit(X, Y)


@pytest.mark.parametrize("path", ["a\0b.csv", "x" * 5000 + ".csv", 5, None, [5], "\ud800.csv"], ids=repr)
def test_paths_that_no_file_can_have_are_refused(path):
    with pytest.raises(CountwiseError):
        cw.read(path)


def test_a_network_file_whose_name_is_impossible_is_refused():
    with pytest.raises(CountwiseError):
        cw.BayesNetwork.read_bif("a\0b")


def test_names_of_which_some_are_strings_are_refused_as_scikit_learn_does():
    table = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]])
    table.columns = pd.Index(["a", 5], dtype=object)
    for error in (CountwiseError, TypeError):
        with pytest.raises(error, match="string names"):
            cw.NaiveBayesClassifier().fit(table, ["p", "q"])


def test_a_parameter_that_no_file_can_hold_is_refused_when_it_is_saved(tmp_path):
    model = cw.ParzenDensity(cv=10**400).fit(X)
    with pytest.raises(CountwiseError, match="cv"):
        cw.save(model, tmp_path / "m.json")


def test_a_tree_of_texts_without_words_is_a_leaf():
    model = cw.TreeClassifier(types={"b": "text"}).fit({"b": X["b"]}, Y)
    assert model.predict_proba({"b": ["u"]}).tolist() == [[0.5, 0.5]]


def test_a_table_that_a_library_cannot_hold_is_refused():
    coder = cw.CategoricalEncoder().fit(pd.DataFrame({"b": [True, False]})).set_output(transform="polars")
    selector = cw.FilterSelector(k=1).fit({"\ud800": X["b"]}, Y).set_output(transform="pandas")
    found = coder.transform({"b": [True, None]})
    for call in (lambda: coder.inverse_transform(found), lambda: selector.transform({"\ud800": X["b"]})):
        try:
            call()
        except CountwiseError as error:
            assert "cannot be a" in str(error)  # noqa: PT017 - the library may also hold it


def test_scores_that_are_infinite_are_compared_without_a_warning():
    selector = cw.FilterSelector("adjusted_chi_square", k=2)
    table = {"a": X["a"], "b": X["b"], "c": [None, None, None, None, None, 1.0]}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning)
        selector.fit(table, ["p"] * 6)


@pytest.mark.parametrize("names", [["", " ", "a"], ["a", "", "b"]])
def test_em_does_not_mistake_a_column_for_its_own(names):
    rng = np.random.default_rng(0)
    cells = [[None if rng.random() < 0.3 else float(x) for x in rng.normal(size=30)] for _ in names[1:]]
    words = [None if rng.random() < 0.3 else str(x) for x in rng.choice(["u", "v"], 30)]
    y = list(rng.choice(["p", "q"], 30))
    model = cw.BayesNetworkClassifier().fit(dict(zip(names, [words, *cells], strict=True)), y)
    plain = cw.BayesNetworkClassifier().fit(dict(zip("cde", [words, *cells], strict=True)), y)
    rows = [[None, "u"], *[[0.5, None]] * 2]
    ours, theirs = (dict(zip(keys, rows, strict=True)) for keys in (names, "cde"))
    np.testing.assert_array_equal(model.predict_proba(ours), plain.predict_proba(theirs))


def test_classes_that_floats_cannot_distinguish_stay_apart():
    a = cw.ParzenClassifier().fit({"a": [1.0, 2.0]}, np.array([2**60, 2**60 + 1]))
    b = cw.ParzenClassifier().fit({"a": [8.0, 9.0]}, np.array([1.0, 2.0]))
    total = a + b
    assert total.classes_.tolist() == [1, 2, 2**60, 2**60 + 1]
    assert total.predict({"a": [1.0]}).tolist() == [2**60]


def test_tuples_in_a_category_are_classes():
    y = pd.Series([("a", 1), ("b", 2)] * 3, dtype="category")
    for labels in (y, y[y == ("a", 1)].cat.remove_unused_categories()):
        model = cw.TreeClassifier().fit({"a": X["a"][: len(labels)]}, labels)
        assert model.classes_.shape == (len(set(labels)),)
        assert str(model.explain({"a": [1.0]}))


def test_numbers_too_large_to_be_squared_are_refused_in_an_engine_too():
    import duckdb

    table = duckdb.connect().from_arrow(pa.table({"a": [0.0, 1e300, 1.0], "y": ["p", "q", "p"]}))
    for learner in (cw.NaiveBayesClassifier(), cw.DiscriminantClassifier()):
        with pytest.raises(TableError, match="1e150"):
            learner.fit(table, "y")


def test_infinite_values_are_refused_by_a_network():
    net = cw.BayesNetwork(arcs=[("b", "a")]).fit({"a": X["a"], "b": X["b"]})
    with pytest.raises(TableError, match="infin"):
        net.score_samples({"a": [math.inf], "b": ["u"]})


@pytest.mark.parametrize("cls", [cw.TreeClassifier, cw.RuleClassifier])
def test_a_seed_is_an_integer(cls):
    with pytest.raises(OptionError, match="random_state"):
        cls(random_state=1.5).fit(X, Y)


def test_what_parzen_windows_learn_can_be_loaded(tmp_path):
    model = cw.ParzenClassifier().fit({"a": [1e155, 0.0, 1.0, 2.0]}, ["p", "q", "p", "q"])
    cw.save(model, tmp_path / "m.json")
    np.testing.assert_array_equal(
        cw.load(tmp_path / "m.json").predict_proba({"a": [1.0]}), model.predict_proba({"a": [1.0]})
    )


def test_a_tree_without_attributes_is_loaded_as_it_was(tmp_path):
    model = cw.TreeClassifier(types={"b": "text"}).fit({"b": X["b"]}, Y)
    assert model.feature_importances_.tolist() == [0.0]
    cw.save(model, tmp_path / "m.json")
    assert cw.load(tmp_path / "m.json").predict_proba({"b": ["u"]}).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: scipy.sparse.dok_array(np.array([X["a"]] * 2).T),
        lambda: pa.record_batch({"a": X["a"], "b": pa.array(X["b"], pa.string_view())}),
        lambda: [(a, (b, 1)) for a, b in zip(X["a"], X["b"], strict=True)],
    ],
    ids=["dictionary of keys", "record batch", "rows with tuples"],
)
def test_rows_and_columns_of_every_table_can_be_selected(make):
    table = make()
    assert 0 <= cw.cross_validate(cw.NaiveBayesClassifier(), table, Y, cv=2).mean("accuracy") <= 1
    assert len(frame_of(cw.FilterSelector(k=1).fit(table, Y).transform(table)).columns) == 1


@pytest.mark.parametrize("model", [cw.PrototypeClassifier(), cw.NaiveBayesClassifier(), cw.DiscriminantClassifier()])
def test_a_single_number_that_no_file_can_hold_is_refused(model):
    with pytest.raises(TableError, match="1e150"):
        model.fit({"a": [-1e308, -1e308]}, ["p", "q"])


def test_the_order_of_nodes_is_a_list():
    with pytest.raises(OptionError, match="order"):
        cw.BayesNetwork("ordering", order=5).fit(X)


def test_arcs_between_texts_are_not_learned_from_missing_values():
    table = {"a": ["send us", "of us", "us", "send", "of us", "send us"], "b": ["u", None, "u", "v", None, "v"]}
    model = cw.BayesNetworkClassifier("hill_climb", types={"a": "text"})
    try:
        model.fit(table, Y)
    except CountwiseError as error:
        assert "text" in str(error)  # noqa: PT017 - another version may learn it


# -- found by independent checks ---------------------------------------------------------------------------------

AB = {"a": [1.0, 2.0, 4.0, 3.0, 7.0, 9.0, 5.0, 6.0], "b": [2.0, 1.0, 5.0, 3.0, 6.0, 8.0, 4.0, 7.0]}
PQ = list("ppqqpqpq")


@pytest.mark.parametrize(
    "call",
    [
        lambda: cw.read(__file__, types=True),
        lambda: cw.WrapperSelector(cv=["zz"]).fit(AB, PQ),
        lambda: cw.WrapperSelector(cv={"zz": 1}).fit(AB, PQ),
        lambda: cw.RoteClassifier(otherwise=cw.TreeClassifier).fit(AB, PQ),
        lambda: cw.ParzenDensity().fit({"a": AB["a"]}).bandwidth_curve([5e-324]),
        lambda: cw.compare(AB, PQ, cv=np.array([[1, 2]])),
        lambda: cw.plots.compare_boundaries(cw.NaiveBayesClassifier(), AB, PQ, attributes=[["a", "b"], ["b", "a"]]),
        lambda: cw.BayesNetwork("hill_climb").fit({"u": PQ, "v": PQ[::-1]}).sensitivity(pd.DataFrame(), "u"),
    ],
)
def test_a_wrong_argument_is_an_error_of_countwise(call: Callable[[], object]) -> None:
    with pytest.raises(CountwiseError):
        call()


def test_decisions_need_a_fitted_model() -> None:
    with pytest.raises(NotFittedError):
        cw.evaluation.decide(cw.NaiveBayesClassifier(), AB, cost={"fn": 1})


@pytest.mark.parametrize("rule", ["kernel", cw.Kernel("scott"), "auto"])
def test_an_interval_far_from_all_rows_is_an_interval(rule: object) -> None:
    model = cw.NaiveBayesClassifier(rule).fit({"x": np.arange(8.0)}, list("aabbaabb"))
    for x in (54.0, 60.0, 66.0, 1e6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cw.errors.DataWarning)
            ends = model.predict_interval({"x": [x]})
            model.explain({"x": [x]})
        assert np.isfinite(ends).all()
        assert (ends[..., 0] <= ends[..., 1]).all()


def test_many_small_classes_with_kernels_and_automatic_distributions() -> None:
    x = np.random.default_rng(0).normal(size=600)
    kernels = cw.NaiveBayesClassifier("kernel").fit({"x": x}, [f"c{i % 300}" for i in range(600)])
    assert kernels.explain({"x": x[:1]}).text()
    assert len(cw.NaiveBayesClassifier("auto").fit({"x": x}, [f"c{i % 300}" for i in range(600)]).classes_) == 300


@pytest.mark.parametrize(
    "make", [cw.NeighborsClassifier, cw.TreeClassifier, cw.RoteClassifier, cw.ParzenClassifier, cw.PEBLSClassifier]
)
def test_a_missing_duration_is_no_class(make: Callable[[], Any]) -> None:
    day = datetime.timedelta(1)
    y = pd.Series([day, 2 * day, None, day])
    with pytest.warns(DataWarning, match="1 of 4 rows were skipped"):
        model = make().fit({"x": list("uvuv")}, y)
    assert len(model.classes_) == 2
    assert model.n_rows_ == 3


@pytest.mark.parametrize(
    "make",
    [
        cw.TreeClassifier,
        cw.RuleClassifier,
        cw.NeighborsClassifier,
        cw.PEBLSClassifier,
        cw.RoteClassifier,
        cw.NaiveBayesClassifier,
        cw.PrototypeClassifier,
    ],
)
def test_names_and_classes_cannot_command_a_terminal(make: Callable[[], Any]) -> None:
    X = {"a\x1b[31m": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    model = make().fit(X, np.array(["p\x1b]0;x\x07", "q"] * 3))
    shown = [
        model.explain({k: v[:1] for k, v in X.items()}).text(),
        model.summary(),
        repr(model.schema_),
        str(model.schema_),
    ]
    assert not any("\x1b" in text or "\x07" in text for text in shown)


def test_a_selection_of_nothing_and_a_table_that_was_read_are_refused() -> None:
    frame = pl.LazyFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": list("ppqq")})
    selector = cw.EmbeddedSelector(threshold=2).fit({"a": [1.0, 2.0, 3.0, 4.0]}, list("ppqq"))
    with pytest.raises(CountwiseError):
        selector.transform(frame.select("a"))
    rows = iter([[1.0], [2.0]])
    list(rows)
    with pytest.raises(CountwiseError):
        cw.EmbeddedSelector().fit({"a": [1.0, 2.0, 3.0, 4.0]}, list("ppqq")).transform(rows)
