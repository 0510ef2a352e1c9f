"""Ranges and codes from every bad table: a result with a note, or one clear error."""

from __future__ import annotations

import pickle
import re
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from countwise import Binned, CategoricalEncoder, Discretizer, FilterSelector, NaiveBayesClassifier, Ordinal, samples
from countwise.errors import CountwiseError, DataWarning, OptionError, SchemaError, TableError, UnseenValueError

X = np.array([1.0, 2.0, 3.0, 5.0])
Y = np.array(["a", "b", "a", "b"], dtype=object)
METHODS = ["naive", "equal_width", "equal_frequency", "kmeans", "class_contiguous", "min_n", "mdl"]
SUPERVISED = ["class_contiguous", "min_n", "mdl"]
PLAIN = [method for method in METHODS if method not in SUPERVISED]


def refused(call: Callable[[], Any], *words: str, kind: type[Exception] = CountwiseError) -> str:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    for word in words:
        assert word in text, text
    return text


def quietly(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return call()


def names_of(table: Any) -> list[str]:
    return list(table if isinstance(table, dict) else getattr(table, "column_names", None) or table.columns)


def notes_of(cells: Any, y: Any = Y, **settings: Any) -> list[str]:
    return quietly(lambda: Discretizer(**settings).fit({"x": np.asarray(cells, dtype=float)}, y)).report("x").notes


# -- columns that cannot be cut ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_column_is_one_range_with_a_warning_and_a_note(method):
    with pytest.warns(DataWarning, match=re.escape("'x' has a single bin, which carries no information")):
        cutter = Discretizer(method).fit({"x": np.full(4, 3.0)}, Y)
    assert cutter.edges_["x"].tolist() == []
    label = "3" if method == "naive" else "any"
    assert cutter.attributes_["x"].values == (label,)
    assert "all values are equal" in cutter.report("x").notes
    assert cutter.transform({"x": [3.0, np.nan]})["x"].tolist() == [label, None]
    assert "Note: all values are equal" in str(cutter.report("x"))


@pytest.mark.parametrize("method", METHODS)
def test_a_column_of_nothing_but_gaps_is_one_range_with_a_warning_and_a_note(method):
    with pytest.warns(DataWarning, match="a single bin"):
        cutter = Discretizer(method).fit({"x": np.full(4, np.nan)}, Y)
    assert cutter.report("x").notes == ["every value is missing", "4 values are missing and stay missing"]
    assert cutter.transform({"x": [np.nan]})["x"].tolist() == [None]
    assert np.isnan(cutter.centers("x")).all()


def test_every_column_that_collapsed_is_named_in_one_warning():
    with pytest.warns(DataWarning, match="'p', 'q' have a single bin") as caught:
        Discretizer("naive").fit({"p": np.ones(4), "x": X, "q": np.ones(4)})
    assert len(caught) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_is_refused_and_named(method, value):
    text = refused(lambda: Discretizer(method).fit({"x": [1.0, 2.0, value, 3.0]}, Y), "'x'", "infinity", "row 2")
    assert "Hint: " in text


@pytest.mark.parametrize("method", METHODS)
def test_infinity_is_refused_in_the_table_to_be_cut(method):
    cutter = quietly(lambda: Discretizer(method).fit({"x": X}, Y))
    refused(lambda: cutter.transform({"x": [np.inf]}), "'x'", "infinity", "row 0", kind=TableError)


def test_one_row_is_one_range():
    with pytest.warns(DataWarning, match="a single bin"):
        cutter = Discretizer("equal_width").fit({"x": [3.0]})
    assert cutter.transform({"x": [3.0]})["x"].tolist() == ["any"]


def test_numbers_too_large_to_be_squared_are_refused():
    refused(lambda: Discretizer("naive").fit({"x": [1e200, 1.0]}), "'x'", "too large", "Hint: ")


# -- fewer values than ranges --------------------------------------------------------------------------------


def test_k_means_of_fewer_values_than_ranges_says_so():
    assert notes_of(X, method="kmeans", n_bins=10) == ["4 bins instead of 10: there are only 4 distinct values"]


def test_equal_frequency_of_fewer_values_than_ranges_says_so():
    notes = notes_of([1, 1, 1, 2], method="equal_frequency", n_bins=4)
    assert any("instead of 4" in note and "equal values are never separated" in note for note in notes), notes


def test_equal_width_of_numbers_too_close_together_says_so():
    notes = notes_of([1.0, np.nextafter(1.0, 2)], y=["a", "b"], method="equal_width", n_bins=5)
    assert notes == ["2 bins instead of 5: the values are too close together for such narrow bins"]


@pytest.mark.parametrize("cells", [[0, 0, 0, 0, 1, 2], [-5, 0, 0, 0, 0, 0, 1, 2, 3]])
def test_equal_frequency_makes_no_range_that_holds_nothing_in_silence(cells):
    cutter = quietly(lambda: Discretizer("equal_frequency", n_bins=3).fit({"x": np.array(cells, dtype=float)}))
    report = cutter.report("x")
    assert (report.counts > 0).all() or report.notes, report


def test_a_number_of_ranges_of_one_is_one_range():
    for method in ("equal_width", "equal_frequency", "kmeans"):
        with pytest.warns(DataWarning, match="a single bin"):
            assert Discretizer(method, n_bins=1).fit({"x": X}).edges_["x"].tolist() == []


def test_the_best_number_of_ranges_says_how_it_was_found():
    (note,) = notes_of(X, method="equal_width", n_bins="leave_one_out")
    assert re.fullmatch(r"\d+ bins?: best number from 1 to 4 by leave-one-out log P\(class \| bin\) \(\S+\)", note)
    cutter = quietly(lambda: Discretizer("equal_width", n_bins="leave_one_out").fit({"x": X}))
    assert "leave-one-out log-likelihood" in cutter.report("x").notes[0]


# -- the class -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", SUPERVISED)
def test_a_number_is_no_class_for_a_rule_that_looks_at_it(method):
    refused(lambda: Discretizer(method).fit({"x": X}, [0.5, 1.5, 2.25, 3.1]), "continuous", "0.5", "Hint: ")


@pytest.mark.parametrize("method", PLAIN)
def test_a_rule_that_looks_at_no_class_does_not_mind_a_target_of_numbers(method):
    """As scikit-learn's own discretizer in a pipeline before a regression."""
    cutter = Discretizer(method, n_bins=2, encode="onehot")
    pipeline = make_pipeline(cutter, LinearRegression()).fit(X[:, None], [0.5, 1.5, 2.25, 3.1])
    wanted = Discretizer(method, n_bins=2).fit(X[:, None]).edges_
    assert pipeline[0].edges_["x0"].tolist() == wanted["x0"].tolist()


@pytest.mark.parametrize("method", PLAIN)
def test_a_rule_that_looks_at_no_class_uses_rows_without_one(method):
    settings = {"method": method, "n_bins": 3}
    ours = quietly(lambda: Discretizer(**settings).fit({"x": X}, ["a", None, "b", "a"]))
    assert ours.edges_["x"].tolist() == Discretizer(**settings).fit({"x": X}).edges_["x"].tolist()


@pytest.mark.parametrize("method", SUPERVISED)
def test_rows_without_a_class_are_left_out_and_counted(method):
    with pytest.warns(DataWarning) as caught:
        Discretizer(method).fit({"x": [1.0, 2.0, 2.5, 3.0]}, ["a", None, None, "b"])
    assert any("2 of 4 rows were skipped" in str(w.message) for w in caught)


@pytest.mark.parametrize("method", SUPERVISED)
def test_one_class_only_leaves_nothing_to_tell_apart(method):
    with pytest.warns(DataWarning, match="a single bin"):
        cutter = Discretizer(method).fit({"x": X}, ["a"] * 4)
    assert cutter.report("x").notes == ["all rows have the same class, so no cut point is informative"]


@pytest.mark.parametrize("method", SUPERVISED)
def test_no_class_at_all_is_refused(method):
    refused(lambda: Discretizer(method).fit({"x": X}), "y", "None", kind=TableError)
    refused(lambda: Discretizer({"x": method}).fit({"x": X}), "y", "None", kind=TableError)


def test_n_larger_than_any_class_says_how_large_they_are():
    notes = notes_of(X, method="min_n", n=50)
    assert notes == ["no class has 50 rows (the largest has 2)"]


def test_the_class_may_be_a_column_by_name():
    frame = {"x": X, "play": Y}
    cutter = Discretizer("class_contiguous").fit(frame, "play")
    assert cutter.edges_["x"].tolist() == [1.5, 2.5, 4.0]
    assert cutter.get_feature_names_out().tolist() == ["x"]
    assert cutter.report("x").target == "play"
    refused(lambda: Discretizer("mdl").fit(frame, "plya"), "'plya'", "did you mean 'play'?")


def test_classes_of_any_kind_are_classes():
    for y in ([True, False, True, False], [1, 2, 1, 2], ["a", "b", "a", "b"], pd.Categorical(list("abab"))):
        assert Discretizer("class_contiguous").fit({"x": X}, y).edges_["x"].tolist() == [1.5, 2.5, 4.0]


# -- weights -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, -1, 1, 1], ("Negative", "row 1")),
        ([0, 0, 0, 0], ("zero",)),
        ([1, np.nan, 1, 1], ("row 1", "nan")),
        ([1, np.inf, 1, 1], ("row 1", "inf")),
        ([1, 1, 1], ("3", "4")),
    ],
    ids=["negative", "all zero", "NaN", "infinite", "too few"],
)
def test_bad_weights_are_refused(method, weights, words):
    refused(lambda: Discretizer(method).fit({"x": X}, Y, sample_weight=weights), *words)


@pytest.mark.parametrize("method", METHODS)
def test_a_row_that_weighs_nothing_is_not_there(method):
    ours = quietly(lambda: Discretizer(method, n_bins=2, n=1).fit({"x": X}, Y, sample_weight=[0, 1, 1, 1]))
    theirs = quietly(lambda: Discretizer(method, n_bins=2, n=1).fit({"x": X[1:]}, Y[1:]))
    assert ours.edges_["x"].tolist() == theirs.edges_["x"].tolist()


@pytest.mark.parametrize("method", METHODS)
def test_weights_that_are_not_whole_leave_no_dust_in_the_notes(method):
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    weights = rng.random(40) / 100 + 4  # so much of them that a cut can pay for itself
    cutter = Discretizer(method, n_bins=3, n=1).fit({"x": x}, np.where(x > 0, "a", "b"), weights)
    assert cutter.report("x").to_dict()["notes"] == []


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1.0, 1e3])
def test_the_best_number_of_ranges_takes_weights_that_are_not_whole(scale):
    """A row is left out whole, whatever it weighs: a column that tells all of the class is cut."""
    x = np.arange(40.0)
    y = np.where(x < 20, "a", "b")
    cutter = quietly(lambda: Discretizer("equal_width", n_bins="leave_one_out").fit({"x": x}, y, np.full(40, scale)))
    assert len(cutter.edges_["x"]) >= 1, cutter.report("x")


# -- many values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_million_different_values_are_cut(method):
    rng = np.random.default_rng(0)
    x = rng.permutation(1_000_000) / 8
    y = np.array(["p", "q", "r"])[np.minimum((x // 50_000).astype(int), 2)]
    y[rng.random(len(y)) < 0.05] = "q"
    start = time.perf_counter()
    cutter = Discretizer(method, n_bins=8, n=1000).fit({"x": x}, y)
    assert cutter.report("x").counts.sum() == len(x)
    assert cutter.cuts_["x"].why(0)
    assert time.perf_counter() - start < 60
    if method in ("equal_width", "equal_frequency", "kmeans"):
        assert cutter.n_bins_ == {"x": 8}
        np.testing.assert_allclose(cutter.edges_["x"], np.arange(1, 8) * 125_000 / 8, atol=1)
    if method == "mdl":
        assert {50_000, 100_000} == set(np.rint(cutter.edges_["x"] / 1000).astype(int) * 1000)


def test_exact_k_means_of_too_many_cells_is_refused_before_it_begins():
    x = np.arange(3_000_000.0)
    text = refused(lambda: Discretizer("kmeans", n_bins=200).fit({"x": x}), "3000000", "200", kind=TableError)
    assert "Hint: " in text


# -- options -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "mdll"}, ("'mdll'", "did you mean 'mdl'?")),
        ({"method": "equal_widht"}, ("did you mean 'equal_width'?",)),
        ({"method": "zzz"}, ("use one of",)),
        ({"method": 3}, ("3",)),
        ({"method": None}, ("None",)),
        ({"method": {}}, ()),
        ({"method": [1, 1]}, ("distinct",)),
        ({"method": [np.nan, 1]}, ("finite",)),
        ({"method": [np.inf]}, ("finite", "unbounded")),
        ({"method": ["u"]}, ("not numbers",)),
        ({"method": [[1, 2]]}, ("list of finite numbers",)),
        ({"method": {"x": "mdll"}}, ("did you mean 'mdl'?",)),
        ({"method": {"temp": "mdl"}}, ("'temp'",)),
        ({"method": {"x": {"method": "mdl", "bins": 3}}}, ("'bins'", "n_bins")),
        ({"method": {"x": "naive"}, "columns": ["z"]}, ("'z'",)),
        ({"n_bins": 0}, ("n_bins", ">= 1")),
        ({"n_bins": -3}, ("n_bins",)),
        ({"n_bins": 2.5}, ("n_bins", "2.5")),
        ({"n_bins": True}, ("n_bins", "True")),
        ({"n_bins": "auto"}, ("n_bins", "'auto'")),
        ({"n": 0, "method": "min_n"}, ("n must be a number > 0",)),
        ({"n": np.nan, "method": "min_n"}, ("n must be a number > 0",)),
        ({"n": "3", "method": "min_n"}, ("n must be a number > 0",)),
        ({"merge": "lst", "method": "min_n"}, ("'lst'", "'last'")),
        ({"encode": "onehott"}, ("'onehott'", "'onehot'")),
        ({"encode": "ordinal"}, ("'codes'",)),
        ({"columns": ["xx"]}, ("'xx'", "did you mean 'x'?")),
        ({"columns": ["wind"]}, ("'wind'",)),
        ({"method": {"wind": "mdl"}}, ("'wind'",)),
    ],
    ids=str,
)
def test_an_option_without_meaning_is_refused(settings, words):
    frame = {"x": X, "z": X, "wind": np.array(list("nsns"), dtype=object)}
    refused(lambda: quietly(lambda: Discretizer(**settings).fit(frame, Y)), *words)


def test_edges_by_hand_may_come_in_any_order():
    assert Discretizer([4.0, 1.5]).fit({"x": X}).edges_["x"].tolist() == [1.5, 4.0]
    assert Discretizer(np.array([4, 1])).fit({"x": X}).edges_["x"].tolist() == [1.0, 4.0]
    assert Discretizer((1.5,)).fit({"x": X}).report("x").how == "hand"


def test_edges_by_hand_that_hold_nothing_say_so():
    (note,) = notes_of(X, method=[-7.0, 2.0, 100.0])
    assert note == "2 of the 4 bins contain no training value"


def test_a_column_may_be_named_by_a_single_word():
    assert list(Discretizer("naive", columns="temp").fit({"temp": X, "t": X}).edges_) == ["temp"]


def test_a_mapping_names_the_columns_to_cut_and_the_others_stay():
    frame = pd.DataFrame({"x": X, "z": X * 2, "w": list("abab")}, index=[5, 6, 7, 8])
    cutter = Discretizer({"z": {"method": "equal_width", "n_bins": 2}}).fit(frame)
    out = cutter.transform(frame)
    assert out["x"].equals(frame["x"])
    assert out["w"].equals(frame["w"])
    assert out.index.tolist() == [5, 6, 7, 8]
    assert out["z"].tolist() == ["<= 6", "<= 6", "<= 6", "> 6"]
    assert out["z"].cat.ordered


def test_settings_of_a_column_without_a_method_take_the_rule_of_the_discretizer_by_default():
    """The default is MDL; a mapping that changes only n_bins must not mean another rule in silence."""
    x = np.repeat([1.0, 2.0], 20)
    y = np.repeat(["a", "b"], 20)
    ours = quietly(lambda: Discretizer({"x": {"n": 3}}).fit({"x": x}, y))
    assert ours.report("x").how == Discretizer().fit({"x": x}, y).report("x").how == "mdl"


def test_a_rule_may_be_the_law_of_a_naive_bayes():
    law = Binned("min_n", n=2)
    assert Discretizer({"x": law}, n=99).fit({"x": X}, ["a", "a", "b", "b"]).edges_["x"].tolist() == [2.5]


# -- tables --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [Discretizer("naive"), CategoricalEncoder()], ids=["discretizer", "encoder"])
def test_tables_of_the_wrong_shape_are_refused(learner):
    refused(lambda: clone(learner).fit({"x": []}), "empty", kind=TableError)
    refused(lambda: clone(learner).fit(X), "1D", "reshape", kind=TableError)
    huge = csr_array((1 << 14, 1 << 14))
    refused(lambda: clone(learner).fit(huge), "sparse", "too many for a dense array", kind=TableError)
    refused(lambda: clone(learner).fit({"x": X}, Y[:3]), "4", "3")
    refused(lambda: clone(learner).fit({"x": X}).transform({"x": []}), "empty", kind=TableError)
    refused(lambda: clone(learner).fit({"x": X, "z": X}).transform({"x": X}), "'z'", kind=TableError)
    refused(lambda: clone(learner).transform({"x": X}), "not fitted", kind=NotFittedError)


def test_a_table_without_numbers_stays_as_it_is():
    frame = {"w": np.array(list("abab"), dtype=object)}
    assert Discretizer("naive").fit_transform(frame)["w"].tolist() == list("abab")


def test_names_in_a_column_of_numbers_are_refused():
    cutter = Discretizer("naive", columns=["x"])
    refused(lambda: cutter.fit({"x": np.array([1, "a", 3], dtype=object)}), "'x'", "'a'", "row 1", kind=SchemaError)


def test_columns_are_found_by_name_in_any_order_and_more_may_come():
    cutter = Discretizer("naive").fit(pd.DataFrame({"x": X, "z": X * 2}))
    out = cutter.transform(pd.DataFrame({"more": X, "z": X * 2, "x": X}))
    assert list(out.columns) == ["x", "z"]
    assert out["z"].tolist() == ["2", "4", "6", "10"]


def test_whole_numbers_and_truth_values():
    assert Discretizer("naive").fit({"x": np.array([1, 2, 3])}).edges_["x"].tolist() == [1.5, 2.5]
    assert Discretizer("naive").fit({"x": pd.array([1, None, 3], dtype="Int64")}).edges_["x"].tolist() == [2.0]


# -- the table cut -------------------------------------------------------------------------------------------


def test_cells_outside_are_counted_and_fall_in_the_end_ranges():
    cutter = Discretizer("equal_frequency", n_bins=4).fit({"x": X, "z": X})
    with pytest.warns(DataWarning, match=r"first or the last bin: 2 of 'x', 1 of 'z'\.") as caught:
        out = cutter.transform({"x": [0.0, 9.0, 2.0, np.nan], "z": [1.0, 2.0, 77.0, 5.0]})
    assert len(caught) == 1
    assert out["x"].tolist() == ["<= 1.5", "> 4", "(1.5, 2.5]", None]
    assert out["z"].tolist() == ["<= 1.5", "(1.5, 2.5]", "> 4", "> 4"]


def test_the_warning_points_at_the_line_that_asked():
    cutter = Discretizer("naive").fit({"x": X})
    with pytest.warns(DataWarning) as caught:
        cutter.transform({"x": [99.0]})
    assert caught[0].filename == __file__
    with pytest.warns(DataWarning) as caught:
        Discretizer("naive").fit({"x": np.ones(3)})
    assert caught[0].filename == __file__


def test_a_number_on_an_edge_is_in_the_range_below():
    cutter = Discretizer([2.0, 3.0]).fit({"x": X})
    assert cutter.transform({"x": [2.0, np.nextafter(2.0, 3), 3.0]})["x"].tolist() == ["<= 2", "(2, 3]", "(2, 3]"]


@pytest.mark.parametrize("encode", [None, "labels", "codes", "onehot"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "mapping", "array"])
def test_the_names_that_come_out_are_those_of_the_columns(encode, kind):
    columns = {"x": X, "z": X * 2}
    table: Any = {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "mapping": columns,
        "array": np.column_stack(list(columns.values())),
    }[kind]
    cutter = Discretizer("equal_width", n_bins=2, encode=encode).fit(table)
    out = cutter.transform(table)
    names = cutter.get_feature_names_out().tolist()
    assert len(names) == (4 if encode == "onehot" else 2)
    if kind == "array":
        assert out.shape == (4, len(names))
        assert out.dtype == (object if encode == "labels" else np.float64)
    else:
        assert names_of(out) == names
    if encode == "onehot" and kind != "array":
        assert names == ["x <= 3", "x > 3", "z <= 6", "z > 6"]


def test_one_hot_columns_never_take_the_name_of_another_column():
    frame = {"x": np.array([1.0, 2.0]), "x > 1.5": np.array(["u", "v"], dtype=object)}
    cutter = Discretizer([1.5], columns=["x"], encode="onehot")
    refused(lambda: cutter.fit(frame), "'x > 1.5'", kind=SchemaError)


def test_a_sparse_matrix_is_cut_with_its_zeros():
    cells = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    cutter = Discretizer("naive").fit(csr_array(cells))
    assert [edges.tolist() for edges in cutter.edges_.values()] == [[1.0], [0.5, 2.0]]
    assert cutter.transform(csr_array(cells)).tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0]]


def test_labels_tell_edges_apart_that_six_figures_cannot():
    cutter = Discretizer([1.00000001, 1.00000002]).fit({"x": X})
    assert cutter.attributes_["x"].values == ("<= 1.00000001", "(1.00000001, 1.00000002]", "> 1.00000002")


# -- and back ------------------------------------------------------------------------------------------------


def test_the_middle_of_each_range_comes_back():
    cutter = Discretizer([2.0, 4.0]).fit({"x": X})
    assert cutter.centers("x").tolist() == [1.5, 3.0, 4.5]
    out = cutter.inverse_transform(cutter.transform({"x": [1.0, 3.0, 5.0, np.nan]}))
    np.testing.assert_array_equal(out["x"], [1.5, 3.0, 4.5, np.nan])


@pytest.mark.parametrize("encode", ["labels", "codes", "onehot"])
def test_a_column_of_one_range_comes_back_as_its_middle(encode):
    cutter = quietly(lambda: Discretizer("naive", encode=encode).fit({"x": [3.0, 3.0]}))
    assert cutter.inverse_transform(cutter.transform({"x": [3.0, 3.0]}))["x"].tolist() == [3.0, 3.0]


def test_a_number_beyond_edges_by_hand_comes_back_in_its_range():
    cutter = Discretizer([-10.0, 10.0]).fit({"x": X})
    for value in (-12.0, 0.0, 12.0):
        out = quietly(lambda value=value: cutter.transform({"x": [value]}))
        back = cutter.inverse_transform(out)
        assert quietly(lambda back=back: cutter.transform(back))["x"].tolist() == out["x"].tolist()


def test_two_neighboring_numbers_come_back_in_their_ranges():
    x = np.array([1.0, np.nextafter(1.0, 2)])
    cutter = Discretizer("naive", encode="codes").fit({"x": x})
    assert cutter.transform(cutter.inverse_transform(cutter.transform({"x": x})))["x"].tolist() == [0.0, 1.0]


def test_what_transform_never_gives_does_not_come_back():
    cutter = Discretizer("naive").fit({"x": X})
    refused(lambda: cutter.inverse_transform({"x": ["foggy"]}), "'foggy'", "'1', '2', '3', '5'")
    refused(lambda: cutter.inverse_transform({"x": [9]}), "9", "0 to 3")
    refused(lambda: cutter.inverse_transform({"x": [4]}), "4", "0 to 3")
    refused(lambda: cutter.inverse_transform({"x": [-1]}), "-1", "0 to 3")
    refused(lambda: cutter.inverse_transform({"x": [0.5]}), "0.5", "0 to 3")
    refused(lambda: cutter.inverse_transform({"x": [1], "z": [1]}), "2 columns")


# -- the report ----------------------------------------------------------------------------------------------


def test_the_report_is_plain_data_and_a_page():
    penguins = samples.load("penguins")
    cutter = Discretizer("mdl", columns=["bill_depth_mm"]).fit(penguins.frame, "species")
    report = cutter.report("bill_depth_mm")
    told = report.to_dict()
    assert told["ranges"] == ["<= 15.45", "(15.45, 16.35]", "(16.35, 17.35]", "> 17.35"]
    assert told["missing"] == 2
    assert told["notes"] == ["2 values are missing and stay missing"]
    assert sum(sum(row) for row in told["counts"].values()) == 342
    assert 0 < told["information_bits"]["after"] < told["information_bits"]["before"]
    assert all(re.fullmatch(r"information gain \S+ bits > \S+ required", cut["why"]) for cut in told["cuts"])
    assert "bill_depth_mm: 4 bins by mdl" in str(report)
    assert "Mutual information with species" in str(report)


def test_the_report_of_a_column_that_was_not_cut_is_refused():
    cutter = Discretizer("naive", columns=["temp"]).fit({"temp": X, "x": X})
    refused(lambda: cutter.report("tmp"), "'tmp'", "did you mean 'temp'?", kind=OptionError)
    refused(lambda: cutter.centers("x"), "'x'", kind=OptionError)


def test_without_a_class_the_report_counts_rows():
    report = Discretizer("naive").fit({"x": X}).report("x")
    assert report.classes == ("rows",)
    assert report.to_dict()["information_bits"] is None
    assert "Information" not in str(report)


# -- as an estimator -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*METHODS, [1.5, 4.0], {"x": "naive"}], ids=str)
def test_a_fitted_discretizer_survives_pickling_and_a_clone_is_blank(method):
    cutter = quietly(lambda: Discretizer(method, n_bins=2, n=1).fit({"x": X}, Y))
    again = pickle.loads(pickle.dumps(cutter))
    assert again.edges_["x"].tolist() == cutter.edges_["x"].tolist()
    assert again.report("x").to_dict() == cutter.report("x").to_dict()
    assert again.transform({"x": X})["x"].tolist() == cutter.transform({"x": X})["x"].tolist()
    blank = clone(cutter)
    assert not hasattr(blank, "edges_")
    assert blank.get_params() == cutter.get_params()


def test_a_fit_that_fails_leaves_the_discretizer_as_it_was():
    cutter = Discretizer("naive").fit({"x": X})
    refused(lambda: cutter.fit({"x": [1.0, np.inf]}), "infinity")
    assert cutter.edges_["x"].tolist() == [1.5, 2.5, 4.0]
    refused(lambda: cutter.partial_fit({"x": [1.0, np.inf]}), "infinity")
    assert cutter.edges_["x"].tolist() == [1.5, 2.5, 4.0]


def test_fitting_again_forgets_what_was():
    cutter = Discretizer("naive").fit({"x": X})
    cutter.fit({"z": X * 2})
    assert list(cutter.edges_) == ["z"]


def test_changing_the_encoding_after_the_fit_is_seen():
    cutter = Discretizer([2.0]).fit({"x": X})
    cutter.set_params(encode="onehot")
    assert list(cutter.transform({"x": X})) == cutter.get_feature_names_out().tolist() == ["x <= 2", "x > 2"]


def test_input_features_must_be_those_of_training():
    cutter = Discretizer("naive").fit(pd.DataFrame({"x": X}))
    assert cutter.get_feature_names_out(["x"]).tolist() == ["x"]
    refused(lambda: cutter.get_feature_names_out(["q"]), "input_features")
    nameless = Discretizer([2.0], encode="onehot").fit(X[:, None])
    assert nameless.get_feature_names_out(["age"]).tolist() == ["age <= 2", "age > 2"]
    refused(lambda: nameless.get_feature_names_out(["a", "b"]), "length")


@pytest.mark.parametrize("rule", METHODS)
def test_every_rule_is_a_law_of_naive_bayes(rule):
    model = NaiveBayesClassifier({"x": Binned(rule, 2, n=1)}).fit({"x": X}, Y)
    cutter = quietly(lambda: Discretizer(rule, n_bins=2, n=1).fit({"x": X}, Y))
    assert model.densities_["x"].edges.tolist() == cutter.edges_["x"].tolist()
    np.testing.assert_allclose(model.predict_proba({"x": [2.0, np.nan, 77.0]}).sum(axis=1), 1)
    assert model.explain({"x": [2.0]}).text()


def test_a_column_of_nothing_but_gaps_is_cut_once_numbers_come():
    """In pieces as at once."""
    pieces = np.array([None, None], dtype=object), np.array([1.0, 2.0])
    at_once = Discretizer("naive").fit({"x": np.array([None, None, 1.0, 2.0], dtype=object)})
    assert at_once.edges_["x"].tolist() == [1.5]
    cutter = Discretizer("naive")
    for piece in pieces:
        quietly(lambda piece=piece: cutter.partial_fit({"x": piece}))
    assert {name: edges.tolist() for name, edges in cutter.edges_.items()} == {"x": [1.5]}


# -- names into numbers --------------------------------------------------------------------------------------

W = np.array(["n", "s", "e", "n"], dtype=object)
ORDER = {"t": Ordinal("t", ("cool", "mild", "hot"))}
T = np.array(["mild", "cool", "hot", None], dtype=object)


def test_codes_of_three_values_come_with_the_warning_of_the_lecture():
    with pytest.warns(DataWarning, match="an order and distances that the values do not have") as caught:
        coder = CategoricalEncoder("codes").fit({"w": W})
    assert "w: 0 e, 1 n, 2 s" in str(caught[0].message)
    assert "onehot" in str(caught[0].message)
    assert coder.transform({"w": W})["w"].tolist() == [1.0, 2.0, 0.0, 1.0]
    assert coder.inverse_transform(coder.transform({"w": W}))["w"].tolist() == W.tolist()


def test_codes_of_two_values_or_of_an_order_need_no_warning():
    assert CategoricalEncoder("codes").fit_transform({"w": ["a", "b"]})["w"].tolist() == [0.0, 1.0]
    coder = CategoricalEncoder("codes", ordinal="number", types=ORDER).fit({"t": T})
    np.testing.assert_array_equal(coder.transform({"t": T})["t"], [1, 0, 2, np.nan])


def test_thresholds_are_a_column_a_step():
    coder = CategoricalEncoder(types=ORDER).fit({"t": T})
    out = coder.transform({"t": T})
    assert list(out) == coder.get_feature_names_out().tolist() == ["t>cool", "t>mild"]
    np.testing.assert_array_equal(out["t>cool"], [1, 0, 1, np.nan])
    np.testing.assert_array_equal(out["t>mild"], [0, 0, 1, np.nan])
    assert coder.inverse_transform(out)["t"].tolist() == T.tolist()


def test_an_order_may_be_read_as_nominal():
    coder = CategoricalEncoder(ordinal="nominal", types=ORDER).fit({"t": T})
    assert coder.get_feature_names_out().tolist() == ["t=cool", "t=mild", "t=hot"]
    assert coder.inverse_transform(coder.transform({"t": T}))["t"].tolist() == T.tolist()


def test_the_order_of_a_pandas_column_is_known():
    cells = pd.Categorical(["mild", "cool", None], categories=["cool", "mild", "hot"], ordered=True)
    coder = CategoricalEncoder().fit(pd.DataFrame({"t": cells}))
    assert coder.get_feature_names_out().tolist() == ["t>cool", "t>mild"]


def test_a_value_never_met_is_none_of_those_known():
    coder = CategoricalEncoder().fit({"w": W})
    out = coder.transform({"w": np.array(["foggy", None], dtype=object)})
    np.testing.assert_array_equal(np.column_stack(list(out.values())), [[0, 0, 0], [np.nan] * 3])
    assert coder.inverse_transform(out)["w"].tolist() == [None, None]
    strict = CategoricalEncoder(unseen="error").fit({"w": W})
    refused(lambda: strict.transform({"w": np.array(["foggy"], dtype=object)}), "'foggy'", kind=UnseenValueError)
    np.testing.assert_array_equal(
        CategoricalEncoder(types=ORDER).fit({"t": T}).transform({"t": np.array([None], dtype=object)})["t>cool"],
        [np.nan],
    )


@pytest.mark.parametrize(
    ("drop", "names"),
    [
        (None, ["w=e", "w=n", "w=s", "b=no", "b=yes"]),
        ("if_binary", ["w=e", "w=n", "w=s", "b=yes"]),
        ("first", ["w=n", "w=s", "b=yes"]),
    ],
)
def test_the_first_value_may_be_left_out(drop, names):
    frame = {"w": W, "b": np.array(["yes", "no", "yes", None], dtype=object)}
    coder = CategoricalEncoder(drop=drop).fit(frame)
    assert coder.get_feature_names_out().tolist() == names
    back = coder.inverse_transform(coder.transform(frame))
    assert back["w"].tolist() == frame["w"].tolist()
    assert back["b"].tolist() == frame["b"].tolist()


def test_numbers_stay_numbers_and_gaps_stay_gaps():
    frame = pd.DataFrame({"x": [1.5, np.nan], "w": ["u", None]}, index=[3, 4])
    out = CategoricalEncoder().fit(frame).transform(frame)
    assert out.index.tolist() == [3, 4]
    np.testing.assert_array_equal(out["x"], [1.5, np.nan])
    np.testing.assert_array_equal(out["w=u"], [1, np.nan])
    refused(lambda: CategoricalEncoder().fit(frame).transform(frame.assign(x=[np.inf, 1])), "'x'", "infinity")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"nominal": "one-hot"}, ("'one-hot'", "'onehot'")),
        ({"ordinal": "steps"}, ("'steps'", "'thresholds'")),
        ({"drop": "last"}, ("'last'", "'first'")),
        ({"unseen": "skip"}, ("'skip'", "'ignore'")),
        ({"types": {"w": "text"}}, ("'w'", "text")),
    ],
    ids=str,
)
def test_an_option_of_the_encoder_without_meaning_is_refused(settings, words):
    refused(lambda: CategoricalEncoder(**settings).fit({"w": W}), *words)


def test_one_hot_columns_of_the_encoder_never_take_the_name_of_another_column():
    frame = {"w": np.array(["a", "b"], dtype=object), "w=a": np.array([5.0, 6.0])}
    refused(lambda: CategoricalEncoder().fit(frame), "'w=a'", kind=SchemaError)


def test_the_encoder_does_not_mind_a_target_of_numbers_or_none():
    """As scikit-learn's own encoders in a pipeline before a regression."""
    pipeline = make_pipeline(CategoricalEncoder(), LinearRegression()).fit(
        pd.DataFrame({"w": W}), [0.5, 1.25, 2.5, 3.5]
    )
    assert pipeline[0].get_feature_names_out().tolist() == ["w=e", "w=n", "w=s"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coder = CategoricalEncoder().fit({"w": W}, ["a", "b", None, "a"])
    assert coder.get_feature_names_out().tolist() == ["w=e", "w=n", "w=s"]


def test_what_the_encoder_forgets_was_never_there():
    coder = CategoricalEncoder().fit({"w": np.array(["a", "b"], dtype=object)})
    try:
        coder.forget({"w": np.array(["b"], dtype=object)})
    except CountwiseError:
        return
    assert coder.get_feature_names_out().tolist() == ["w=a"]


def test_what_the_encoder_never_gives_does_not_come_back():
    codes = CategoricalEncoder("codes").fit({"w": ["a", "b"]})
    refused(lambda: codes.inverse_transform({"w": [7.0]}), "'w'", "0 to 1")
    refused(lambda: codes.inverse_transform({"w": [0.5]}), "'w'")
    refused(lambda: codes.inverse_transform({"w": [1.0], "v": [1.0]}), "2 columns")
    steps = CategoricalEncoder(types=ORDER).fit({"t": T})
    refused(lambda: steps.inverse_transform({"a": [0.0], "b": [1.0]}), "'t'")


def test_a_fitted_encoder_survives_pickling():
    coder = CategoricalEncoder(drop="if_binary", types=ORDER).fit({"t": T, "w": W})
    again = pickle.loads(pickle.dumps(coder))
    assert again.get_feature_names_out().tolist() == coder.get_feature_names_out().tolist()
    assert not hasattr(clone(coder), "schema_")


@pytest.mark.parametrize("asked", ["pandas", "polars"])
def test_the_encoder_gives_the_frame_that_is_asked_for(asked):
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[asked]
    coder = CategoricalEncoder().set_output(transform=asked).fit({"w": W})
    out = coder.transform({"w": W})
    assert isinstance(out, kind)
    assert list(out.columns) == ["w=e", "w=n", "w=s"]


# -- columns are found by name -----------------------------------------------------------------------------------


FOUND = {
    "age": np.array([20.0, 40.0, 60.0]),
    "city": np.array(["a", "b", "c"], dtype=object),
    "rent": np.array([1, 2, 3]),
}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "dict"])
@pytest.mark.parametrize("encode", ["labels", "onehot"])
def test_columns_that_are_not_cut_are_found_by_name_whatever_their_order(library, encode):
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "dict": dict}[library]
    cutter = Discretizer({"age": [30.0, 50.0]}, encode=encode).fit(make(FOUND))
    turned = {"odd": np.array([7, 8, 9]), **dict(reversed(FOUND.items()))}
    ours, theirs = cutter.transform(make(turned)), cutter.transform(make(FOUND))
    names = cutter.get_feature_names_out().tolist()
    for name in names:
        assert list(map(str, ours[name])) == list(map(str, theirs[name])), name
    assert [str(cell) for cell in ours["city"]] == ["a", "b", "c"]
    assert [int(str(cell)) for cell in ours["rent"]] == [1, 2, 3]


def test_strings_stay_strings_in_another_library():
    selector = FilterSelector(k=2).set_output(transform="polars")
    out = selector.fit_transform(pd.DataFrame(FOUND), ["x", "y", "x"])
    assert out.schema["city"] == pl.String


def test_whole_numbers_as_names_of_columns_come_back():
    frame = pd.DataFrame({0: [1.0, 2.0, 3.0], 1: ["a", "b", "c"]})
    assert Discretizer([1.5]).fit_transform(frame).columns.tolist() == [0, 1]


def test_numbers_beyond_edges_by_hand_are_no_surprise():
    cutter = Discretizer([1.5]).fit({"x": X})
    assert cutter.transform({"x": [99.0]})["x"].tolist() == ["> 1.5"]


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ([1250000.0, 1260000.0], ("<= 1250000", "(1250000, 1260000]", "> 1260000")),
        ([1234567.5], ("<= 1234567.5", "> 1234567.5")),
        ([1.0000002, 1.0000004], ("<= 1.0000002", "(1.0000002, 1.0000004]", "> 1.0000004")),
        ([22 + 29 / 30], ("<= 22.9667", "> 22.9667")),
        ([1e-9], ("<= 1e-09", "> 1e-09")),
        ([0.0, 3e20], ("<= 0", "(0, 3e+20]", "> 3e+20")),
    ],
)
def test_labels_are_written_as_people_write_numbers(edges, labels):
    assert quietly(lambda: Discretizer(edges).fit({"x": X})).attributes_["x"].values == labels


def test_a_missing_cell_may_be_zero_in_each_of_its_columns():
    frame = {"x": np.array([1.0, np.nan, 3.0]), "w": np.array(["a", None, "b"], dtype=object)}
    cutter = Discretizer([2.0], encode="onehot", missing="zeros").fit(frame)
    out = cutter.transform(frame)
    assert [out["x <= 2"].tolist(), out["x > 2"].tolist()] == [[1, 0, 0], [0, 0, 1]]
    assert np.isnan(cutter.inverse_transform(out)["x"][1])
    coder = CategoricalEncoder(missing="zeros").fit(frame)
    assert coder.transform(frame)["w=a"].tolist() == [1, 0, 0]
    assert coder.inverse_transform(coder.transform(frame))["w"].tolist() == ["a", None, "b"]
    refused(lambda: CategoricalEncoder(missing="zeros", drop="first").fit(frame), "missing='zeros'")


def test_steps_between_ranges_are_named_by_their_upper_edges():
    cut = Discretizer([2.0, 4.0]).fit_transform(pd.DataFrame({"x": [1.0, 3.0, 5.0]}))
    assert CategoricalEncoder().fit(cut).get_feature_names_out().tolist() == ["x>2", "x>4"]


def test_a_class_that_is_everywhere_leaves_one_range_and_the_report_says_so():
    x, y = np.repeat(np.arange(5.0), 2), np.tile(["a", "b"], 5)
    for method, words in (("class_contiguous", "at every value"), ("min_n", "once the bin holds")):
        cutter = quietly(lambda method=method: Discretizer(method, n=2).fit({"x": x}, y))
        assert words in str(cutter.report("x"))


def test_a_target_of_very_many_numbers_is_pointed_out():
    x = np.arange(200.0)
    with pytest.warns(DataWarning, match="200 distinct numbers in 200 rows"):
        Discretizer("mdl").fit({"x": x}, np.arange(200))
