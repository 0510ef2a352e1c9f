"""Every bad table: a right answer, or one clear error that names the column, the row and the cure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

import countwise
from countwise import Binned, Count, Kernel, NaiveBayesClassifier, Nominal
from countwise.errors import CountwiseError, DataWarning, OptionError, SchemaError, TableError, UnseenValueError

Y = np.array(["no", "yes", "no", "yes"], dtype=object)
X = {"temp": np.array([1.0, 2.0, 3.0, 5.0]), "wind": np.array(["n", "s", "s", "n"], dtype=object)}
DISTRIBUTIONS = ["gaussian", "kernel", "ranges", "poisson", "auto", "bernoulli", "multinomial"]


def refused(
    call: Callable[[], Any], *words: str, cure: str = "Hint: ", kind: type[CountwiseError] = CountwiseError
) -> str:
    """The one error of a call: of our own kind, with these words, and with what would be right."""
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    for word in words:
        assert word in text, text
    assert re.search(cure, text), f"no cure ({cure!r}) in: {text}"
    return text


def objects(*cells: Any) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def fitted(**settings: Any) -> NaiveBayesClassifier:
    return NaiveBayesClassifier(**settings).fit(X, Y)


# -- shape --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [{"x": []}, pd.DataFrame({"x": []}), pl.DataFrame({"x": []}), np.empty((0, 2)), [], {"x": np.empty(0)}],
    ids=["dict", "pandas", "polars", "numpy", "list", "dict of arrays"],
)
def test_an_empty_table_is_refused(table):
    refused(lambda: NaiveBayesClassifier().fit(table, []), "empty", cure="[Aa]t least one row", kind=TableError)


@pytest.mark.parametrize(
    "table",
    [{}, np.empty((4, 0)), pd.DataFrame(index=range(4)), [{}, {}, {}, {}]],
    ids=["dict", "numpy", "pandas", "list of dicts"],
)
def test_a_table_without_columns_is_refused(table):
    refused(
        lambda: NaiveBayesClassifier().fit(table, Y),
        "0 feature",
        cure="minimum of 1|at least one column",
        kind=TableError,
    )


def test_a_table_with_nothing_but_its_target_is_refused():
    refused(
        lambda: NaiveBayesClassifier().fit({"play": Y}, "play"), "0 feature", cure="minimum of 1|at least one column"
    )


@pytest.mark.parametrize("law", DISTRIBUTIONS)
def test_one_row_is_enough(law):
    model = NaiveBayesClassifier(law).fit({"x": [3.0]}, ["yes"])
    assert model.predict_proba({"x": [3.0]}).tolist() == [[1.0]]
    assert model.predict({"x": [7.0]}).tolist() == ["yes"]
    assert model.explain({"x": [3.0]}).posterior == (1.0,)


@pytest.mark.parametrize("law", DISTRIBUTIONS)
def test_one_class_has_probability_1(law):
    model = NaiveBayesClassifier(law).fit({"x": [3.0, 1.0, 2.0]}, ["yes"] * 3)
    assert model.predict_proba({"x": [3.0, 0.0, np.nan]}).tolist() == [[1.0]] * 3
    working = model.explain({"x": [2.0]})
    assert working.answer == "yes"
    assert working.text()
    assert working.changes == ()


@pytest.mark.parametrize("law", DISTRIBUTIONS)
@pytest.mark.parametrize("value", [0.0, 3.0, 1e9 + 0.1])
def test_a_constant_column_says_nothing(law, value):
    model = NaiveBayesClassifier(law).fit({"x": [value] * 4}, ["a", "b", "a", "b"])
    np.testing.assert_allclose(model.predict_proba({"x": [value, value + 1, np.nan]}), 0.5, rtol=1e-12)
    assert model.explain({"x": [value]}).text()
    if law != "multinomial" or value < 1e6:  # it draws a text of as many words as the counts say
        assert len(next(iter(model.sample(3, 0, cls="a").values()))) == 3


@pytest.mark.parametrize("law", [*DISTRIBUTIONS, "categorical"])
def test_a_column_that_is_all_missing_says_nothing(law):
    cells = objects(None, None, None, None) if law == "categorical" else np.full(4, np.nan)
    kind = {"x": "nominal"} if law == "categorical" else {"x": "numeric"}
    model = NaiveBayesClassifier(law, types=kind).fit({"x": cells}, ["a", "b", "a", "a"])
    asked = {"x": objects("u") if law == "categorical" else np.array([2.0])}
    np.testing.assert_allclose(model.predict_proba(asked), [[0.75, 0.25]], rtol=1e-15)
    assert model.explain(asked).posterior == pytest.approx((0.75, 0.25), rel=1e-15)
    assert model.table(next(iter(model.densities_))).n_rows >= 0
    assert model.portrait("a")["attribute"]
    assert len(model.sample(2, 0, cls="a")["class"]) == 2
    assert model.predict_interval(asked).shape == (1, 2, 2)
    assert model.missing_report().n_rows >= 0


def test_a_text_column_that_is_all_missing_says_nothing():
    for law in ("multinomial", "bernoulli"):
        model = NaiveBayesClassifier(law, types={"x": "text"}).fit({"x": objects(None, None)}, ["a", "b"])
        np.testing.assert_allclose(model.predict_proba({"x": objects("some words")}), [[0.5, 0.5]], rtol=1e-15)
        assert model.explain({"x": objects("some words")}).text()
        assert model.sample(2, 0, cls="a")["x"].tolist() == ["", ""]


def test_a_row_that_is_all_missing_gets_the_prior_exactly():
    model = NaiveBayesClassifier().fit(X, ["a", "b", "a", "a"])
    blank = {"temp": [np.nan], "wind": [None]}
    assert model.predict_joint_log_proba(blank).tolist() == [model.log_prior_.tolist()]
    np.testing.assert_allclose(model.predict_proba(blank), [[0.75, 0.25]], rtol=1e-15)
    assert model.explain(blank).exact_posterior[0] == countwise.working.working.Fraction(3, 4)


def test_a_row_that_is_all_missing_counts_for_the_prior_in_training():
    frame = {"temp": [1.0, 2.0, np.nan], "wind": ["n", "s", None]}
    model = NaiveBayesClassifier().fit(frame, ["a", "b", "a"])
    np.testing.assert_allclose(model.class_prior_, [2 / 3, 1 / 3], rtol=1e-15)
    assert model.densities_["temp"].n.tolist() == [1, 1]


# -- infinity -----------------------------------------------------------------------------------------------

INFINITE = [
    ("gaussian", "numeric"),
    ("kernel", "numeric"),
    (Binned("equal_width", 3), "numeric"),
    ("ranges", "numeric"),
    (Binned("naive"), "numeric"),
    ("auto", "numeric"),
    ("bernoulli", "numeric"),
    ("multinomial", "numeric"),
    ("poisson", "count"),
    ("auto", "count"),
    ("gaussian", "count"),
    (Kernel(1.0), "numeric"),
    ("categorical", "nominal"),
]


@pytest.mark.parametrize(("law", "kind"), INFINITE, ids=str)
@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_in_training_names_the_column_and_the_row(law, kind, infinity):
    cells = np.array([1.0, 2.0, infinity, 5.0])
    model = NaiveBayesClassifier({"x": law}, types={"x": kind})
    refused(lambda: model.fit({"x": cells}, Y), "'x'", "row 2")


@pytest.mark.parametrize("law", DISTRIBUTIONS)
def test_both_infinities_in_one_column_are_one_clear_error(law):
    refused(lambda: NaiveBayesClassifier(law).fit({"x": np.array([1.0, -np.inf, np.inf, 5.0])}, Y), "'x'", "row 1")


@pytest.mark.parametrize(("law", "kind"), INFINITE[:-1], ids=str)  # to a nominal column it is a value never seen
@pytest.mark.parametrize(
    "question",
    ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "explain", "predict_interval"],
)
def test_infinity_in_a_question_names_the_column_and_the_row(law, kind, question):
    model = NaiveBayesClassifier({"x": law}, types={"x": kind}).fit({"x": np.array([1.0, 2.0, 3.0, 5.0])}, Y)
    asked = {"x": np.array([1.0, np.inf])}
    settings = {"row": 1} if question == "explain" else {}
    refused(lambda: getattr(model, question)(asked, **settings), "'x'", "row 1" if question != "explain" else "row")


def test_infinity_in_a_constant_column_is_an_error_too():
    for law in ("gaussian", "kernel", "poisson"):
        model = NaiveBayesClassifier(law).fit({"x": [3.0] * 4}, Y)
        refused(lambda model=model: model.predict({"x": np.array([np.inf])}), "'x'", "row 0")


def test_infinity_beside_other_columns_names_the_right_one():
    frame = {"a": np.arange(4.0), "b": np.array([1.0, 2.0, np.inf, 0.0])}
    refused(lambda: NaiveBayesClassifier().fit(frame, Y), "'b'", "row 2")
    model = NaiveBayesClassifier().fit({"a": np.arange(4.0), "b": np.arange(4.0)}, Y)
    refused(lambda: model.predict(frame), "'b'", "row 2")


def test_infinity_deep_in_a_long_table_names_its_row():
    x = np.zeros(40_000)
    x[::3], x[33_333] = 1.0, np.inf
    y = np.arange(40_000) % 2
    refused(lambda: NaiveBayesClassifier().fit({"x": x}, y), "'x'", "row 33333")
    model = NaiveBayesClassifier().fit({"x": x[:1000]}, y[:1000])
    refused(lambda: model.predict({"x": x}), "'x'", "row 33333")


def test_rows_are_named_as_the_user_counts_them_after_others_were_left_out():
    y, x = objects(None, "no", "yes", "no"), np.array([1.0, 2.0, np.inf, 5.0])
    refused(lambda: NaiveBayesClassifier().fit({"x": x}, y), "'x'", "row 2")
    refused(lambda: NaiveBayesClassifier().fit({"x": x}, Y, sample_weight=[0, 1, 1, 1]), "'x'", "row 2")
    domain = {"s": Nominal("s", ("u", "v"))}
    cells = objects("u", "v", "w", "u")
    refused(
        lambda: NaiveBayesClassifier(types=domain).fit({"s": cells}, Y, sample_weight=[0, 1, 1, 1]), "'s'", "row 2"
    )
    refused(
        lambda: NaiveBayesClassifier(types={"n": "count"}).fit({"n": [1, 2, -1, 3]}, Y, sample_weight=[0, 1, 1, 1]),
        "'n'",
        "row 2",
    )


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the text of the error of our own kind."""
    try:
        return call()
    except CountwiseError as error:
        return str(error)


@pytest.mark.parametrize("law", ["gaussian", "kernel", "ranges", "auto"])
@pytest.mark.parametrize("size", [1e150, 1e300])
def test_the_largest_finite_numbers_are_no_infinity(law, size):
    """Where squares overflow there is an answer, or an error that names the column; never a raw warning."""
    frame = {"x": np.array([size, -size, size / 2, 0.0])}
    result = outcome(lambda: NaiveBayesClassifier(law).fit(frame, Y).predict_proba(frame))
    assert "'x'" in result if isinstance(result, str) else np.isfinite(result).all()


# -- names --------------------------------------------------------------------------------------------------


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame(np.ones((4, 3)), columns=["a", "b", "a"])
    refused(lambda: NaiveBayesClassifier().fit(frame, Y), "'a'", cure="rename")
    refused(
        lambda: fitted().predict(pd.DataFrame(np.ones((1, 3)), columns=["temp", "wind", "temp"])),
        "'temp'",
        cure="rename",
    )


def test_the_target_must_be_in_the_table():
    refused(
        lambda: NaiveBayesClassifier().fit({**X, "target": Y}, "targat"), "'targat'", cure="did you mean 'target'"
    )
    refused(lambda: NaiveBayesClassifier().fit(X, "play"), "'play'", cure="use one of 'temp', 'wind'")


def test_a_target_is_needed():
    refused(lambda: NaiveBayesClassifier().fit(X), "y", cure="requires y")


def test_unicode_names_and_values_are_kept():
    frame = {"température °C": [1.0, 2.0, 3.0, 5.0], "風": ["北", "南", "🌬", "北"]}
    model = NaiveBayesClassifier().fit(frame, objects("nein", "ja", "nein", "ja"))
    assert model.classes_.tolist() == ["ja", "nein"]
    assert set(model.schema_["風"].values) == {"北", "南", "🌬"}
    working = model.explain({"température °C": [2.0], "風": ["🌬"]})
    assert "風 = 🌬" in working.text()
    assert "température" in working.text()
    refused(lambda: model.predict({"風": ["北"]}), "température °C")


def test_a_csv_with_a_byte_order_mark_and_umlauts_is_read_as_it_is(tmp_path):
    path = tmp_path / "wetter.csv"
    path.write_bytes('größe,wind,play\n1.5,süd,ja\n2.5,nord,nein\n,süd,ja\n4,"n, ö",nein\n'.encode("utf-8-sig"))
    model = NaiveBayesClassifier().fit(path, "play")
    assert list(model.schema_) == ["größe", "wind"]
    assert model.schema_["wind"].values == ("n, ö", "nord", "süd")
    assert model.densities_["größe"].n.tolist() == [1, 2]


def test_ragged_rows_of_a_csv_name_the_line(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("a,b,play\n1,2,yes\n3,4\n5,6,no\n")
    refused(lambda: countwise.read(path), "ragged.csv", cure="Line 3 ")
    path.write_text("a,b,play\n1,2,yes\n3,4,no,maybe\n")
    refused(lambda: NaiveBayesClassifier().fit(path, "play"), "ragged.csv", cure="Line 3 ")


# -- the target ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        objects("a", None, "b", "a"),
        objects("a", float("nan"), "b", "a"),
        pd.Series(["a", None, "b", "a"]),
        pl.Series("y", ["a", None, "b", "a"]),
        pd.Series(["a", None, "b", "a"], dtype="category"),
    ],
    ids=["None", "NaN", "pandas", "polars", "category"],
)
def test_rows_without_a_target_are_left_out_and_counted(target):
    with pytest.warns(DataWarning, match="1 of 4 rows were skipped: their target .* is missing"):
        model = NaiveBayesClassifier().fit(X, target)
    assert model.n_left_out_ == 1
    kept = [0, 2, 3]
    without = NaiveBayesClassifier().fit({k: v[kept] for k, v in X.items()}, ["a", "b", "a"])
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
    assert model.classes_.tolist() == ["a", "b"]


def test_numeric_targets_may_be_missing_too():
    with pytest.warns(DataWarning, match="rows were skipped"):
        model = NaiveBayesClassifier().fit(X, np.array([1.0, np.nan, 2.0, 1.0]))
    assert model.classes_.tolist() == [1, 2]
    assert model.n_left_out_ == 1


def test_a_target_that_is_missing_everywhere_is_refused():
    refused(
        lambda: NaiveBayesClassifier().fit({**X, "play": [None] * 4}, "play"), "'play'", cure="missing in every row"
    )


def test_a_target_of_another_length_is_refused():
    refused(
        lambda: NaiveBayesClassifier().fit(X, Y[:3]),
        "X has 4 rows",
        "y has 3",
        cure="inconsistent numbers of samples",
    )


def test_a_continuous_target_is_refused_with_its_first_number():
    frame = {**X, "price": [1.0, 2.5, 3.0, 4.0]}
    refused(
        lambda: NaiveBayesClassifier().fit(frame, "price"),
        "'price'",
        "2.5",
        "row 1",
        "continuous",
        cure="discretize the target",
    )


def test_an_infinite_target_is_refused():
    refused(
        lambda: NaiveBayesClassifier().fit({**X, "price": [1.0, np.inf, 3.0, 4.0]}, "price"),
        "'price'",
        "row 1",
        "infinity",
    )


def test_a_target_of_two_kinds_is_refused():
    refused(
        lambda: NaiveBayesClassifier().fit({**X, "play": objects("a", 1, "b", 2)}, "play"),
        "'play'",
        "rows",
        cure="one type",
    )


def test_a_target_of_two_columns_is_refused():
    refused(lambda: NaiveBayesClassifier().fit(X, np.ones((4, 2))), "(4, 2)", cure="1d array")


def test_a_class_that_was_announced_and_never_came_has_probability_0():
    model = NaiveBayesClassifier().partial_fit(X, Y, classes=["maybe", "no", "yes"])
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1:], fitted().predict_proba(X), rtol=1e-12)
    assert (model.predict_proba(X)[:, 0] == 0).all()
    assert model.explain(X).text()


# -- weights ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "words", "cure"),
    [
        ([1, 1, -2, 1], ["row 2", "-2"], "[Nn]egative"),
        ([1, np.nan, 1, 1], ["row 1"], "NaN"),
        ([1, np.inf, 1, 1], ["row 1"], "infinity"),
        ([0, 0, 0, 0], ["zero"], "no row would be used"),
        ([1, 1, 1], ["(3,)", "(4,)"], "each row needs one weight"),
        (np.ones((4, 1)), ["1D"], "array or scalar"),
        (["a", "b", "c", "d"], ["row 0", "'a'"], "number"),
        ([1, None, 1, 1], ["row 1"], "NaN|missing|None"),
        ("weight", ["'weight'"], "no column"),
    ],
    ids=str,
)
def test_bad_weights_are_refused_with_their_row(weights, words, cure):
    refused(lambda: NaiveBayesClassifier().fit(X, Y, sample_weight=weights), *words, cure=cure)


def test_weights_may_be_a_column():
    whole = NaiveBayesClassifier().fit(X, Y, sample_weight=[1, 2, 3, 4])
    named = NaiveBayesClassifier().fit({**X, "w": [1, 2, 3, 4]}, Y, sample_weight="w")
    assert list(named.schema_) == list(X)
    np.testing.assert_array_equal(named.predict_proba(X), whole.predict_proba(X))


# -- cells --------------------------------------------------------------------------------------------------


def test_a_column_of_200000_names_is_called_an_identifier_and_still_works():
    names = objects(*[f"customer {i}" for i in range(200_000)])
    y = np.arange(200_000) % 2
    with pytest.warns(DataWarning, match="'name' looks like an identifier.*Hint"):
        model = NaiveBayesClassifier().fit({"name": names, "x": y + 0.5 * (np.arange(200_000) % 5)}, y)
    assert len(model.schema_["name"].values) == 200_000
    # two rows of one class, one name each: (1 + 1) / (100000 + 200000) against (0 + 1) / (100000 + 200000)
    proba = model.predict_proba({"name": names[:2], "x": [np.nan, np.nan]})
    np.testing.assert_allclose(proba, [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], rtol=1e-12)


def test_a_declared_domain_is_no_identifier():
    names = [f"v{i}" for i in range(150)]
    frame = pd.DataFrame({"s": pd.Categorical(names[:120], categories=names)})
    model = NaiveBayesClassifier().fit(frame, np.arange(120) % 2)
    assert len(model.schema_["s"].values) == 150


def test_two_kinds_in_one_column_are_refused_with_both_rows():
    refused(
        lambda: NaiveBayesClassifier().fit({"x": objects(1, 2, "three", 4)}, Y),
        "'x'",
        "'three'",
        "rows 0 and 2",
        cure="astype",
    )
    refused(
        lambda: NaiveBayesClassifier().fit(pd.DataFrame({"x": [True, "a", None, False]}), Y),
        "'x'",
        "rows 0 and 1",
        cure="astype",
    )
    refused(
        lambda: NaiveBayesClassifier().fit(np.array([["a", 1], ["b", "c"], ["a", 2], ["b", 3]], dtype=object), Y),
        "'x1'",
        "rows 0 and 1",
        cure="astype",
    )


def test_a_later_piece_of_another_kind_is_refused():
    model = NaiveBayesClassifier().fit({"x": objects("u", "v")}, ["a", "b"])
    refused(lambda: model.partial_fit({"x": objects(1, 2)}, ["a", "b"]), "'x'", cure="one type|astype")


def test_words_in_a_numeric_column_are_refused_with_their_row():
    model = NaiveBayesClassifier(types={"x": "numeric"})
    refused(
        lambda: model.fit({"x": objects(1, 2, "three", 4)}, Y), "'x'", "'three'", "row 2", cure="train with types"
    )
    refused(lambda: model.fit({"x": objects("a", "b", "c", "d")}, Y), "'x'", "'a'", "row 0", cure="train with types")
    refused(lambda: model.fit(pd.DataFrame({"x": ["1", "2", "x3", "4"]}), Y), "'x'", "'x3'", cure="train with types")
    refused(
        lambda: fitted().predict({"temp": ["warm"], "wind": ["n"]}),
        "'temp'",
        "'warm'",
        "row 0",
        cure="train with types",
    )


def test_words_in_a_numeric_column_deep_in_a_question_name_their_row():
    cells = [1.0] * 20_000 + ["warm"]
    refused(
        lambda: fitted().predict({"temp": objects(*cells), "wind": ["n"] * 20_001}), "'temp'", "'warm'", "row 20000"
    )


def test_a_value_outside_a_declared_domain_names_row_value_and_domain():
    domain = {"wind": Nominal("wind", ("n", "s"))}
    frame = {"wind": objects("n", "s", "north", "n")}
    text = refused(
        lambda: NaiveBayesClassifier(types=domain).fit(frame, Y),
        "'wind'",
        "'north'",
        "row 2",
        "'n', 's'",
        kind=UnseenValueError,
    )
    assert "add it to the declared domain" in text or "did you mean" in text
    categories = pd.Series(["n", "s", "n", "s"], dtype=pd.CategoricalDtype(["n", "s"], ordered=True))
    model = NaiveBayesClassifier().fit(pd.DataFrame({"wind": categories}), Y)
    refused(
        lambda: model.partial_fit(pd.DataFrame({"wind": ["n", "north"]}), ["no", "yes"]),
        "'wind'",
        "'north'",
        "row 1",
        "'n', 's'",
    )


def test_an_unseen_value_in_a_question_is_left_out_or_refused_as_asked():
    frame, asked = {"wind": X["wind"]}, {"wind": objects(*["n"] * 20_000, "nn")}
    lenient = NaiveBayesClassifier().fit(frame, Y)
    assert lenient.predict_proba(asked)[-1].tolist() == [0.5, 0.5]
    strict = NaiveBayesClassifier(unseen="error").fit(frame, Y)
    refused(lambda: strict.predict(asked), "'wind'", "'nn'", "row 20000", "'n', 's'", kind=UnseenValueError)


def test_a_count_is_whole_and_not_negative():
    for cell in (-3, 0.5):
        for types in ({"n": "count"}, {"n": Count("n")}):
            model = NaiveBayesClassifier(types=types)
            refused(
                lambda model=model, cell=cell: model.fit({"n": [1, 2, cell, 4]}, Y),
                "'n'",
                str(cell),
                "row 2",
                cure="numeric",
            )
    model = NaiveBayesClassifier(types={"n": "count"}).fit({"n": [1, 2, 3, 4]}, Y)
    refused(lambda: model.predict({"n": [1] * 20_000 + [-1]}), "'n'", "-1", "row 20000", cure="numeric")


def test_a_negative_count_under_a_law_of_counts_names_its_column():
    refused(
        lambda: NaiveBayesClassifier("multinomial").fit({"a": [1, 2, 3, 4], "n": [1, 2, -3, 4]}, Y),
        "'n'",
        "row 2",
        cure="Hint|counts >= 0",
    )
    refused(lambda: NaiveBayesClassifier("poisson").fit({"n": [-1, -2, -3, -4]}, Y), "'n'", cure="gaussian")


@pytest.mark.parametrize("law", ["poisson"])
def test_a_fractional_cell_in_a_question_for_a_count_is_refused(law):
    model = NaiveBayesClassifier(law, types={"n": "count"}).fit({"n": [1, 2, 3, 4]}, Y)
    refused(lambda: model.predict({"n": [1.5]}), "'n'", "1.5", "row 0", cure="numeric")


def test_a_number_in_a_text_column_is_refused_with_its_row():
    model = NaiveBayesClassifier(types={"body": "text"})
    refused(lambda: model.fit({"body": objects("send us", "review", 3, "us")}, Y), "'body'", "row 2", "3")


@pytest.mark.parametrize("cell", [[1, 2], {"k": 1}, {1, 2}, np.ones(2)], ids=["list", "dict", "set", "array"])
@pytest.mark.parametrize("form", ["dict", "pandas", "records"])
def test_a_nested_cell_is_refused_with_its_column_and_row(cell, form):
    cells = objects("u", "v", cell, "u")
    table = {"dict": {"x": cells}, "pandas": pd.DataFrame({"x": cells}), "records": [{"x": one} for one in cells]}[
        form
    ]
    refused(lambda: NaiveBayesClassifier().fit(table, Y), "'x'", "row 2")


def test_nested_cells_of_polars_and_arrow_are_refused_with_their_column():
    import pyarrow as pa

    for table in (
        pl.DataFrame({"x": [[1], [2], [1], [2]]}),
        pa.table({"x": [[1], [2], [1], [2]]}),
        pl.DataFrame({"x": [{"k": 1}] * 4}),
        pa.table({"x": [{"k": 1}] * 4}),
    ):
        refused(lambda table=table: NaiveBayesClassifier().fit(table, Y), "'x'")


def test_complex_numbers_are_refused_with_their_column():
    refused(lambda: NaiveBayesClassifier().fit({"z": np.array([1j, 2, 3, 4])}, Y), "'z'", "omplex")
    refused(lambda: NaiveBayesClassifier().fit(pd.DataFrame({"z": np.array([1j, 2, 3, 4])}), Y), "'z'", "omplex")
    refused(lambda: NaiveBayesClassifier().fit(np.array([[1j], [2], [3], [4]]), Y), "omplex")


def test_columns_of_different_lengths_are_refused():
    refused(
        lambda: NaiveBayesClassifier().fit({"a": [1, 2, 3, 4], "b": [1, 2]}, Y),
        "'a' has 4",
        "'b' has 2",
        cure="length",
    )
    refused(lambda: NaiveBayesClassifier().fit([[1, 2], [3], [4, 5], [6, 7]], Y), cure="length")


def test_a_string_or_nothing_is_no_table():
    refused(lambda: fitted().predict("rows.csv"), cure="read")
    refused(lambda: fitted().predict(None), "2D")
    refused(lambda: fitted().predict(np.ones(3)), "1D", cure="[Rr]eshape")


# -- sparse -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cell", "word"), [(-1.0, "egative"), (np.nan, "NaN"), (np.inf, "infinity")])
def test_a_sparse_matrix_holds_counts_only(cell, word):
    dense = np.array([[1.0, 0.0], [0.0, cell], [1.0, 1.0], [0.0, 2.0]])
    refused(lambda: NaiveBayesClassifier().fit(csr_array(dense), Y), word, "row 1")
    model = NaiveBayesClassifier().fit(csr_array(np.abs(np.eye(4)[:, :2])), Y)
    refused(lambda: model.predict(csr_array(dense)), word, "row 1")


def test_a_sparse_matrix_of_another_width_is_refused():
    model = NaiveBayesClassifier().fit(csr_array(np.eye(4)), Y)
    refused(lambda: model.predict(csr_array(np.ones((1, 3)))), "3 features", "4 features", cure="expecting")
    refused(lambda: model.partial_fit(csr_array(np.ones((4, 5))), Y), "5 features", cure="expecting")
    wider = NaiveBayesClassifier().fit(csr_array(np.ones((4, 5))), Y)
    for a, b in ((model, wider), (wider, model)):
        refused(lambda a=a, b=b: a + b, "5", "4", cure="column|feature")


def test_an_empty_sparse_matrix_is_refused_and_one_of_zeros_is_not():
    refused(lambda: NaiveBayesClassifier().fit(csr_array((0, 3)), []), "empty", cure="[Aa]t least one row")
    model = NaiveBayesClassifier().fit(csr_array((4, 3)), Y)
    np.testing.assert_allclose(model.predict_proba(csr_array((2, 3))), 0.5)


# -- questions ----------------------------------------------------------------------------------------------


def test_a_column_missing_in_a_question_is_named():
    refused(lambda: fitted().predict({"temp": [1.0]}), "'wind'", cure="its columns are 'temp'")
    refused(lambda: fitted().predict({"temp": [1.0], "winds": ["n"]}), "'wind'", cure="did you mean 'winds'")
    refused(lambda: fitted().partial_fit({"temp": [1.0]}, ["no"]), "'wind'", cure="its columns are 'temp'")
    model = NaiveBayesClassifier().fit(np.ones((4, 3)) * np.arange(4)[:, None], Y)
    refused(lambda: model.predict(np.ones((1, 2))), "2 features", "3 features", cure="expecting")


def test_columns_in_another_order_and_columns_too_many_give_the_same_answer():
    model = fitted()
    wanted = model.predict_joint_log_proba(X)
    turned = {"wind": X["wind"], "temp": X["temp"]}
    more = {"id": np.arange(4), **turned, "note": objects([1], {}, None, "x")}
    for table in (turned, more, pd.DataFrame(turned), pd.DataFrame(more), pl.DataFrame(turned)):
        np.testing.assert_array_equal(model.predict_joint_log_proba(table), wanted)
    later = fitted().partial_fit(turned, Y)
    np.testing.assert_array_equal(later.predict_proba(X), fitted().partial_fit(X, Y).predict_proba(X))
    with pytest.raises(TableError, match="The model has no columns 'id', 'note'"):  # what they say would be lost
        fitted().partial_fit(more, Y)


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"temp": [], "wind": []}), pl.DataFrame({"temp": [], "wind": []}), {"temp": [], "wind": []}, []],
    ids=["pandas", "polars", "dict", "list"],
)
def test_a_question_without_rows_is_refused(table):
    refused(lambda: fitted().predict(table), "empty", cure="[Aa]t least one row")


@pytest.mark.parametrize(
    "question",
    ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "explain", "predict_interval"],
)
def test_an_unfitted_model_says_so(question):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(NaiveBayesClassifier(), question)(X)


def test_other_methods_of_an_unfitted_model_say_so():
    model = NaiveBayesClassifier()
    for call in (
        lambda: model.forget(X, Y),
        lambda: model.table("x"),
        lambda: model.portrait("a"),
        model.missing_report,
        lambda: model + fitted(),
        lambda: countwise.save(model, "nowhere.json"),
    ):
        with pytest.raises(NotFittedError, match="not fitted"):
            call()


def test_rows_names_and_classes_that_are_not_there_are_named():
    model = fitted()
    refused(lambda: model.explain(X, row=4), "row 4", cure="has 4")
    refused(lambda: model.table("tmep"), "'tmep'", cure="did you mean 'temp'")
    refused(lambda: model.portrait("yess"), "'yess'", cure="did you mean 'yes'")
    refused(lambda: model.predict_interval(X, level=90), "90", cure="between 0 and 1")


def test_forgetting_rows_that_were_never_there_is_refused():
    refused(lambda: fitted().forget({"temp": [1.0] * 3, "wind": ["n"] * 3}, ["no"] * 3), "'", cure="forget only rows")
    refused(lambda: fitted().forget({"temp": [1.0], "wind": ["n"]}, ["maybe"]), "'maybe'", "row 0")


def test_a_refused_forgetting_leaves_the_model_as_it_was():
    model = fitted()
    before = model.predict_proba(X)
    for frame, y in (({"temp": [1.0] * 3, "wind": ["n"] * 3}, ["no"] * 3), (X, Y)):
        with pytest.raises(CountwiseError):
            model.forget(frame, y)
        np.testing.assert_array_equal(model.predict_proba(X), before)
        assert model.n_rows_ == 4
        np.testing.assert_array_equal(model.partial_fit(X, Y).forget(X, Y).class_count_, [2, 2])


def test_a_refused_piece_leaves_the_model_as_it_was():
    model = fitted()
    before = model.predict_proba(X)
    with pytest.raises(CountwiseError):
        model.partial_fit({"temp": np.array([np.inf]), "wind": objects("new")}, ["maybe"])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.schema_["wind"].values == ("n", "s")


# -- options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words", "cure"),
    [
        ({"distributions": "gausian"}, ["'gausian'"], "did you mean 'gaussian'"),
        ({"distributions": {"temp": "kernle"}}, ["'kernle'"], "did you mean 'kernel'"),
        ({"distributions": {"tmp": "kernel"}}, ["'tmp'"], "did you mean 'temp'"),
        (
            {"distributions": {"temp": {"kind": "kernel", "widht": 2}}},
            ["'widht'"],
            "did you mean 'bandwidth'|use one of 'bandwidth'",
        ),
        ({"distributions": {"temp": {"width": 2}}}, ["distribution"], "use one of"),
        (
            {"distributions": {"temp": {"kind": "ranges", "method": "equal_widht"}}},
            ["'equal_widht'"],
            "did you mean 'equal_width'",
        ),
        ({"distributions": {"temp": {"kind": "ranges", "n_bins": 0}}}, ["n_bins", "0"], ">= 1"),
        ({"distributions": {"temp": {"kind": "ranges", "n_bins": 2.5}}}, ["n_bins", "2.5"], "integer"),
        ({"distributions": {"temp": {"kind": "kernel", "bandwidth": "silvermann"}}}, ["'silvermann'"], "'silverman'"),
        ({"distributions": {"temp": {"kind": "kernel", "bandwidth": -1}}}, ["-1"], "> 0"),
        (
            {"distributions": {"temp": {"kind": "gaussian", "divisor": "n+1"}}},
            ["'n\\+1'".replace("\\", "")],
            "'n' or 'n-1'",
        ),
        ({"distributions": {"wind": "gaussian"}}, ["'wind'", "nominal"], "numeric"),
        ({"distributions": 5}, ["5"], "use one of"),
        ({"types": {"temp": "numerc"}}, ["'numerc'", "'temp'"], "did you mean 'numeric'"),
        ({"types": {"tmp": "numeric"}}, ["'tmp'"], "did you mean 'temp'"),
        ({"types": {"temp": 3}}, ["3", "'temp'"], "must be one of 'nominal'"),
        ({"types": {"temp": Nominal("other")}}, ["'temp'", "'other'"], "named"),
        ({"types": ["numeric"]}, ["types"], "map column names"),
        ({"categorical_features": ["winds"]}, ["'winds'"], "did you mean 'wind'"),
        ({"categorical_features": [7]}, ["7"], "has 2"),
        ({"categorical_features": [True]}, ["1 columns"], "has 2"),
        ({"prior": "unifrom"}, ["'unifrom'"], "'uniform'"),
        ({"prior": [0.1, 0.2]}, ["2 probabilities"], "sum to 1"),
        ({"prior": {"no": 0.5, "yes": 0.4}}, ["2 probabilities"], "sum to 1"),
        ({"prior": {"no": 0.5, "yse": 0.5}}, ["'yse'"], "did you mean 'yes'|use the classes"),
        ({"prior": ["a", "b"]}, ["prior"], "probabilities"),
        ({"missing": "valu"}, ["'valu'"], "'value'"),
        ({"missing": {"tmp": "value"}}, ["'tmp'"], "did you mean 'temp'"),
        ({"unseen": "eror"}, ["'eror'"], "'error'"),
        ({"unseen": "share", "smoothing": "global"}, ["share"], "Laplace|uniform"),
        ({"smoothing": "laplce"}, ["'laplce'"], "did you mean 'laplace'|a number"),
        ({"smoothing": -1}, ["-1"], ">= 0"),
        ({"smoothing": float("nan")}, ["nan"], ">= 0"),
        ({"smoothing": {"mm": 1}}, ["'mm'"], "m"),
        ({"smoothing": {"m": -1}}, ["-1"], ">= 0"),
        ({"smoothing": {"m": 1, "p": "globl"}}, ["'globl'"], "'global'"),
        ({"smoothing": [1]}, ["[1]"], "a number"),
    ],
    ids=str,
)
def test_an_option_without_meaning_is_refused_with_the_nearest_that_has_one(settings, words, cure):
    refused(lambda: NaiveBayesClassifier(**settings).fit(X, Y), *words, cure=cure)


def test_a_bad_law_of_one_column_names_the_column():
    refused(lambda: NaiveBayesClassifier({"temp": "kernle"}).fit(X, Y), "'temp'", "'kernle'", cure="did you mean")


def test_options_that_need_the_counts_are_checked_before_anything_is_learned():
    for settings in ({"prior": "unifrom"}, {"prior": [0.1, 0.2]}, {"unseen": "share", "smoothing": "global"}):
        model = NaiveBayesClassifier(**settings)
        with pytest.raises(OptionError):
            model.fit(X, Y)
        with pytest.raises((NotFittedError, OptionError)):
            model.predict(X)


def test_a_domain_with_a_value_twice_is_refused():
    refused(lambda: Nominal("wind", ("n", "s", "n")), "'wind'", "'n'", cure="duplicates", kind=SchemaError)


def test_a_table_named_by_a_path_that_is_not_there_says_so():
    refused(lambda: NaiveBayesClassifier().fit("nowhere.csv", "play"), "nowhere.csv", cure="check the spelling")
