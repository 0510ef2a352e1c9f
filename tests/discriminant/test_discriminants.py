"""Discriminants at the edge: a right answer, or one clear error or warning that names the column and the cure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal

from countwise import DiscriminantClassifier
from countwise.errors import CountwiseError, DataWarning, OptionError, TableError

NAN = float("nan")
KINDS = ["shared", "own", "diagonal", "spherical"]
every_kind = pytest.mark.parametrize("covariance", KINDS)
joint_kinds = pytest.mark.parametrize("covariance", ["shared", "own"])

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1]]) + np.repeat([[0.0], [0.7]], 20, axis=0)
Y = np.repeat(np.array(["no", "yes"], dtype=object), 20)
GAPS = np.where(RNG.random(X.shape) < 0.25, NAN, X)
GAPS[[0, 20]] = X[[0, 20]]


def named(cells: np.ndarray = X, names: str = "abcdefgh") -> pd.DataFrame:
    return pd.DataFrame(cells, columns=list(names[: cells.shape[1]]))


def refused(call: Callable[[], Any], *words: str, cure: str = "Hint: ", kind: Any = TableError) -> str:
    with pytest.raises(CountwiseError) as caught:
        call()
    text = str(caught.value)
    assert isinstance(caught.value, kind)
    for word in words:
        assert word in text, text
    assert re.search(cure, text), f"no cure ({cure!r}) in: {text}"
    assert not re.search(r"LinAlg|numpy|np\.|LAPACK|nan\b|Traceback", text), text
    return text


def warned(call: Callable[[], Any], *words: str) -> Any:
    """The answer of a call that warns once, in our own words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = call()
    assert [w.category for w in caught] == [DataWarning], [str(w.message) for w in caught]
    for word in words:
        assert word in str(caught[0].message), str(caught[0].message)
    return answer


def assert_sound(model: Any, asked: Any) -> None:
    """Nothing in any output is NaN, and nothing warns."""
    proba = model.predict_proba(asked)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert not np.isnan(model.predict_joint_log_proba(asked)).any()
    assert not np.isnan(model.predict_log_proba(asked)).any()
    assert set(model.predict(asked)) <= set(model.classes_)
    for part in (model.means_, model.covariance_, model.shrinkage_, model.class_prior_):
        assert np.isfinite(part).all()
    assert "nan" not in str(model.table(model.terms_[0].key))
    assert "nan" not in str(model.explain(asked))


# -- too few rows -------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("shrinkage", [None, "auto", 0.5])
def test_one_row_a_class_or_one_row_at_all_has_no_spread(covariance, shrinkage):
    settings = {} if covariance in ("diagonal", "spherical") else {"shrinkage": shrinkage}
    for rows, y, n in (([[1.0, 2], [3, 4]], ["a", "b"], "n_samples=2, 2 classes"), ([[1.0, 2]], ["a"], "1 class)")):
        model = DiscriminantClassifier(covariance, **settings)
        refused(lambda model=model, rows=rows, y=y: model.fit(rows, y), "two different rows", n, cure="Prototype")
    twice = np.repeat([[1.0, 2], [3, 4]], 5, axis=0)
    model = DiscriminantClassifier(covariance, **settings)
    refused(lambda: model.fit(twice, list("aaaaabbbbb")), "two different rows", "n_samples=10", cure="Prototype")


def test_a_class_with_one_row_has_no_covariance_of_its_own():
    cells, y = np.vstack([X[:8], [[9, 9, 9]]]), ["a"] * 8 + ["b"]
    model = DiscriminantClassifier("own")
    refused(lambda: model.fit(cells, y), "Class 'b'", "no two different rows", cure="covariance='shared'.*shrinkage")
    for covariance in ("shared", "diagonal", "spherical"):
        assert_sound(DiscriminantClassifier(covariance).fit(cells, y), cells)
    for shrinkage in ("auto", "oas", 0.3):
        shrunk = DiscriminantClassifier("own", shrinkage=shrinkage)
        model = warned(
            lambda shrunk=shrunk: shrunk.fit(cells, y), "Class 'b'", "the pooled covariance of all classes is used"
        )
        assert_sound(model, cells)


def test_more_columns_than_rows():
    cells, y = np.random.default_rng(1).normal(size=(6, 10)), list("ababab")
    model = warned(lambda: DiscriminantClassifier().fit(cells, y), "singular", "'x4' =", "and 1 more", "excluded")
    assert model.columns_ == ("x0", "x1", "x2", "x3")
    assert len(model.left_out_) == 6
    assert_sound(model, cells)
    with pytest.warns(DataWarning, match="singular"):
        refused(lambda: DiscriminantClassifier("own").fit(cells, y), "class 'a'", "3 rows for 4 columns")
    for covariance in ("shared", "own"):
        assert_sound(DiscriminantClassifier(covariance, shrinkage=0.5).fit(cells, y), cells)
        assert_sound(DiscriminantClassifier(covariance, shrinkage="auto").fit(cells, y), cells)
    for covariance in ("diagonal", "spherical"):
        assert_sound(DiscriminantClassifier(covariance).fit(cells, y), cells)


@pytest.mark.parametrize("weight", [0.01, 0.3])
@pytest.mark.parametrize("covariance", KINDS)
def test_light_weights_and_a_divisor_of_n_less_classes(covariance, weight):
    """Weights that add up to less than the number of means leave no divisor: the error must say that."""
    model = DiscriminantClassifier(covariance, divisor="n-classes")
    rows = np.r_[0:3, 20:23]
    with pytest.raises(CountwiseError) as caught:
        model.fit(X[rows][:, :1], Y[rows], sample_weight=np.full(6, weight))
    assert "two different rows" not in str(caught.value)
    assert re.search("weight|divisor", str(caught.value))


# -- columns that a covariance cannot do with ---------------------------------------------------------------


@joint_kinds
def test_a_constant_column_is_left_out_with_a_warning(covariance):
    wide = named(np.column_stack([X[:, :1], np.full(40, 7.0), X[:, 1:]]))
    model = warned(lambda: DiscriminantClassifier(covariance).fit(wide, Y), "'b' is constant.", "excluded")
    assert model.left_out_ == {"b": "is constant"}
    assert model.columns_ == ("a", "c", "d")
    plain = DiscriminantClassifier(covariance).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(wide), plain.predict_proba(X))
    assert "Not used" in str(model.explain(wide))
    assert_sound(model, wide)


@joint_kinds
@pytest.mark.parametrize("within", [False, True])
def test_a_constant_column_with_gaps_is_left_out_too(covariance, within):
    """One gap must not make evidence of a column that is none without it."""
    wide = np.column_stack([X[:, :2], np.where(Y == "no", 5.0, 6.0) if within else np.full(40, 5.0)])
    why = "is constant" + (" within each class, and differs between them" if within else "")
    full = warned(lambda: DiscriminantClassifier(covariance).fit(named(wide), Y), f"'c' {why}")
    wide[::4, 2] = NAN
    model = warned(lambda: DiscriminantClassifier(covariance).fit(named(wide), Y), f"'c' {why}")
    assert model.left_out_ == full.left_out_
    np.testing.assert_allclose(model.predict_proba(named(wide)), full.predict_proba(named(wide)), rtol=0, atol=1e-7)


@joint_kinds
def test_a_column_that_alone_tells_the_classes_is_left_out_and_the_warning_says_so(covariance):
    wide = named(np.column_stack([X, (Y == "no") * 2.0]))
    model = warned(
        lambda: DiscriminantClassifier(covariance).fit(wide, Y),
        "'d' is constant within each class, and differs between them",
        "would distinguish the classes with certainty",
    )
    assert model.columns_ == ("a", "b", "c")
    kept = DiscriminantClassifier(covariance, shrinkage="auto").fit(wide, Y)
    assert kept.columns_ == ("a", "b", "c", "d")
    assert kept.predict(wide).tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("slopes", "constant", "written"),
    [
        ((2, -1, 0), 3, "= 2·a - b + 3"),
        ((1, 0, 0), 0, "= a"),
        ((-1, 0, 0.5), -12.5, "= -a + 0.5·c - 12.5"),
        ((0.1, 100, -3), 1e4, "= 0.1·a + 100·b - 3·c + 10000"),
        ((1.75, 2.5, 1), 0, "= 1.75·a + 2.5·b + c"),
    ],
)
@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_an_exactly_collinear_column_is_named_with_its_combination(slopes, constant, written, covariance, offset):
    table = named(X + offset)
    table["z"] = table[["a", "b", "c"]].to_numpy() @ np.array(slopes) + constant
    model = warned(lambda: DiscriminantClassifier(covariance).fit(table, Y), "singular", "'z' = ")
    plain = DiscriminantClassifier(covariance).fit(table[["a", "b", "c"]], Y)
    np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(table), rtol=0, atol=1e-12)
    if offset == 0 or written == "= a":
        assert model.left_out_ == {"z": written}
    terms = re.findall(r"(-)? ?([\d.]+·)?([abc])", model.left_out_["z"])
    found = {name: float(factor[:-1] or 1) * (-1 if sign else 1) for sign, factor, name in terms}
    assert found == pytest.approx({n: s for n, s in zip("abc", slopes, strict=True) if s}, rel=1e-5)


def test_a_column_that_is_collinear_in_one_class_alone_is_an_error_for_its_own_covariance():
    table = named(X.copy())
    table.loc[Y == "yes", "c"] = 2 * table["a"] - table["b"]
    refused(
        lambda: DiscriminantClassifier("own").fit(table, Y),
        "class 'yes' is singular",
        "'c' = 2·a - b",
        cure="shared.*shrinkage",
    )
    for settings in ({"covariance": "shared"}, {"covariance": "own", "shrinkage": 0.1}, {"covariance": "diagonal"}):
        assert_sound(DiscriminantClassifier(**settings).fit(table, Y), table)


# -- numbers ------------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("size", [1e-140, 1e-100, 1e100, 1e140])
def test_tiny_and_huge_numbers_change_no_posterior(covariance, size):
    plain, scaled = (DiscriminantClassifier(covariance).fit(cells, Y) for cells in (X, X * size))
    np.testing.assert_allclose(scaled.predict_proba(X * size), plain.predict_proba(X), rtol=0, atol=1e-11)
    if covariance in ("shared", "own"):
        gappy = DiscriminantClassifier(covariance).fit(GAPS * size, Y)
        wanted = DiscriminantClassifier(covariance).fit(GAPS, Y).predict_proba(X)
        np.testing.assert_allclose(gappy.predict_proba(X * size), wanted, rtol=0, atol=1e-7)


@every_kind
@pytest.mark.parametrize("size", [1e160, 1e200, 1e300])
def test_numbers_too_large_to_be_squared_name_their_column(covariance, size):
    table = named(X * [1, size, 1])
    refused(lambda: DiscriminantClassifier(covariance).fit(table, Y), "'b'", "too large", cure="rescale")


@every_kind
@pytest.mark.parametrize("size", [1e-160, 1e-200])
def test_numbers_too_small_to_be_squared_are_not_answered_wrongly(covariance, size):
    """The right posterior, or words about the size of the numbers: as for those too large."""
    wanted = DiscriminantClassifier(covariance).fit(X, Y).predict_proba(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = DiscriminantClassifier(covariance).fit(X * size, Y).predict_proba(X * size)
            told = " ".join(str(w.message) for w in caught)
        except CountwiseError as error:
            found, told = None, str(error)
    assert "small" in told or (found is not None and np.abs(found - wanted).max() < 1e-11), told


@every_kind
@pytest.mark.parametrize("sign", [1, -1])
def test_infinity_names_its_column_and_row(covariance, sign):
    cells = X.copy()
    cells[7, 1] = sign * np.inf
    refused(lambda: DiscriminantClassifier(covariance).fit(named(cells), Y), "'b'", "infinity", "row 7")
    model = DiscriminantClassifier(covariance).fit(named(), Y)
    refused(lambda: model.partial_fit(named(cells), Y), "'b'", "infinity", "row 7")
    for question in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        refused(lambda question=question: getattr(model, question)(named(cells)), "'b'", "infinity", "row 7")
    refused(lambda: model.explain(named(cells), row=7), "'b'", "infinity")
    gap = np.where(np.arange(3) == 0, NAN, cells)
    refused(lambda: model.predict_proba(named(gap)), "'b'", "infinity", "row 7")


@every_kind
def test_infinity_in_a_column_that_is_left_out_names_its_column_and_row_too(covariance):
    cells = np.column_stack([X, np.full(40, 7.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = DiscriminantClassifier(covariance).fit(named(cells), Y)
    cells[3, 3] = np.inf
    refused(lambda: model.predict_proba(named(cells)), "'d'", "infinity", "row 3")


@every_kind
def test_a_row_far_from_everything_has_an_answer(covariance):
    model = DiscriminantClassifier(covariance).fit(X, Y)
    assert_sound(model, X * 1e6)
    far = np.array([[1e200, 1, 1], [-1e300, 1e300, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # densities underflow to 0: the prior, with a word
        assert np.isfinite(model.predict_proba(far)).all()


# -- gaps ---------------------------------------------------------------------------------------------------


@every_kind
def test_rows_and_columns_without_any_cell(covariance):
    cells = np.column_stack([GAPS, np.full(40, NAN)])
    cells[5] = NAN
    model = DiscriminantClassifier(covariance).fit(named(cells), Y)
    assert model.left_out_ == {"d": "never seen"}
    assert model.class_count_.tolist() == [20, 20]
    np.testing.assert_array_equal(model.predict_proba(named(cells))[5], [0.5, 0.5])
    assert_sound(model, named(cells))
    assert "never seen in training" in str(model.explain(named(np.ones((1, 4)))))
    nothing = np.full((40, 2), NAN)
    refused(
        lambda: DiscriminantClassifier(covariance).fit(nothing, Y),
        "Every value of every column is missing",
        cure="nothing to learn from",
    )


@every_kind
def test_a_class_without_any_value_in_a_column_learns_the_others(covariance):
    cells = X.copy()
    cells[Y == "no", 1] = NAN
    with pytest.warns(DataWarning, match="Class 'no' has no value of 'x1'; the mean of the other classes is used"):
        model = DiscriminantClassifier(covariance).fit(cells, Y)
    assert_sound(model, X)
    np.testing.assert_allclose(model.means_[0, [0, 2]], X[Y == "no"][:, [0, 2]].mean(axis=0), rtol=1e-7)
    alone = np.column_stack([np.full(4, NAN), [-5.0, 0, 1, 5], np.full(4, NAN)])
    np.testing.assert_allclose(model.means_[:, 1], X[Y == "yes", 1].mean(), rtol=1e-7)
    assert_sound(model, alone)


def test_steps_of_em_and_complete_rows_are_counted():
    complete = (~np.isnan(GAPS)).all(axis=1)
    for covariance in ("shared", "own"):
        model = DiscriminantClassifier(covariance).fit(GAPS, Y)
        assert model.n_iter_ > 0
        assert model.n_complete_ == complete.sum()
        said = f"by EM ({model.n_iter_} iterations); {complete.sum()} rows have no missing values"
        assert said in str(model.explain(X))
        assert DiscriminantClassifier(covariance).fit(X, Y).n_iter_ == 0


@every_kind
def test_complete_rows_alone(covariance):
    complete = (~np.isnan(GAPS)).all(axis=1)
    model = DiscriminantClassifier(covariance, missing="complete").fit(GAPS, Y)
    alone = DiscriminantClassifier(covariance, prior=[0.5, 0.5]).fit(GAPS[complete], Y[complete])
    assert model.n_iter_ == 0
    assert model.n_complete_ == complete.sum()
    np.testing.assert_allclose(model.means_, alone.means_, rtol=1e-12)
    np.testing.assert_allclose(model.covariance_, alone.covariance_, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(GAPS), alone.predict_proba(GAPS), rtol=0, atol=1e-10)
    cells = GAPS.copy()
    cells[Y == "yes", 2] = NAN
    refused(
        lambda: DiscriminantClassifier(covariance, missing="complete").fit(cells, Y),
        "Class 'yes'",
        "no row without missing values",
        cure="missing='em'",
    )


@joint_kinds
def test_where_cells_are_missing_automatic_shrinkage_is_oas(covariance):
    auto, oas = (DiscriminantClassifier(covariance, shrinkage=s).fit(GAPS, Y) for s in ("auto", "oas"))
    np.testing.assert_array_equal(auto.shrinkage_, oas.shrinkage_)
    assert ((auto.shrinkage_ > 0) & (auto.shrinkage_ <= 1)).all()
    np.testing.assert_array_equal(auto.predict_proba(X), oas.predict_proba(X))


def test_forgetting_warns_of_lost_digits_where_digits_are_lost():
    small, big = X * 1e-6, 1e6 * np.eye(3)
    model = DiscriminantClassifier().fit(np.vstack([small, big]), [*Y, *["no"] * 3])
    warned(lambda: model.forget(big, ["no"] * 3), "lost precision", "fit again")


def test_forgetting_does_not_warn_of_lost_digits_where_none_are_lost():
    cells = np.vstack([X, [[1, NAN, 2], [1, NAN, 2], [3, NAN, 5]]])
    y = np.array([*Y, "no", "no", "no"], dtype=object)
    model = DiscriminantClassifier().fit(cells, y).forget(cells[-1:], y[-1:])
    only = DiscriminantClassifier().fit(cells[:-1], y[:-1])
    np.testing.assert_allclose(model.predict_proba(X), only.predict_proba(X), rtol=0, atol=1e-9)


# -- kinds of columns and tables ----------------------------------------------------------------------------


@every_kind
def test_any_table_gives_the_same_answer(covariance):
    table = named(GAPS)
    wanted = DiscriminantClassifier(covariance).fit(GAPS, Y).predict_proba(GAPS)
    arrays = {name: table[name].to_numpy() for name in table}
    for one in (
        table,
        pl.from_pandas(table, nan_to_null=True),
        pa.Table.from_pandas(table),
        arrays,
        table.to_dict("records"),
        GAPS.tolist(),
        table.astype("Float64"),
        np.asfortranarray(GAPS),
        pd.DataFrame(arrays, dtype=object),
    ):
        model = DiscriminantClassifier(covariance).fit(one, Y)
        np.testing.assert_array_equal(model.predict_proba(one), wanted)


@every_kind
def test_whole_numbers_are_numbers(covariance):
    cells = np.round(X * 10)
    wanted = DiscriminantClassifier(covariance).fit(cells, Y).predict_proba(cells)
    for dtype in (np.int64, np.int8, np.int32, np.float32, object):
        found = DiscriminantClassifier(covariance).fit(cells.astype(dtype), Y).predict_proba(cells.astype(dtype))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@every_kind
def test_columns_of_names_are_refused_or_made_numbers(covariance):
    table = named().assign(wind=np.array(["n", "s", "e", "n"] * 10, dtype=object), wet=np.arange(40) % 3 == 0)
    refused(
        lambda: DiscriminantClassifier(covariance).fit(table[["a", "wind"]], Y),
        "'wind' is nominal",
        cure="nominal='onehot'",
    )
    truth = DiscriminantClassifier(covariance).fit(table[["a", "wet"]], Y)  # yes and no are 1 and 0
    assert "wet=True" in truth.columns_
    model = DiscriminantClassifier(covariance, nominal="onehot").fit(table, Y)
    assert_sound(model, table)
    first = () if covariance in ("shared", "own") else ("wind=e",)
    assert model.columns_[:5] == ("a", "b", "c", *first, "wind=n", "wind=s")[:5]
    unseen = table.iloc[:2].assign(wind=["west", None])
    proba = model.predict_proba(unseen)
    rest = table.iloc[:2].assign(wind=[None, None])
    np.testing.assert_array_equal(proba, model.predict_proba(rest))
    assert_sound(model, unseen)


def test_a_sparse_matrix_is_taken_with_its_zeros_written_out():
    cells = np.where(np.abs(X) < 0.5, 0.0, X)
    model, plain = DiscriminantClassifier().fit(csr_array(cells), Y), DiscriminantClassifier().fit(cells, Y)
    np.testing.assert_array_equal(model.predict_proba(csr_array(cells)), plain.predict_proba(cells))


def test_classes_that_were_announced_and_not_met_have_no_chance():
    for covariance in KINDS:
        for cells in (X, GAPS):
            model = DiscriminantClassifier(covariance).partial_fit(cells, Y, classes=["maybe", "no", "yes"])
            plain = DiscriminantClassifier(covariance).fit(cells, Y)
            proba = model.predict_proba(X)
            assert (proba[:, 0] == 0).all()
            np.testing.assert_allclose(proba[:, 1:], plain.predict_proba(X), rtol=0, atol=1e-9)
            assert np.isfinite(model.means_).all()
            assert np.isfinite(model.covariance_).all()
            assert "nan" not in str(model.explain(X))


# -- options, tables, workings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words", "cure"),
    [
        ({"covariance": "tied"}, ["'tied'"], "'shared', 'own', 'diagonal' or 'spherical'"),
        ({"divisor": "n-1"}, ["'n-1'"], "'n' or 'n-classes'"),
        ({"shrinkage": 2}, ["shrinkage must be", "not 2"], "from 0 to 1"),
        ({"shrinkage": True}, ["shrinkage must be", "not True"], "from 0 to 1"),
        ({"shrinkage": "ledoit"}, ["'ledoit'"], "'auto'"),
        ({"covariance": "diagonal", "shrinkage": 0.1}, ["'diagonal'", "not available"], "no correlations"),
        ({"missing": "ignore"}, ["'ignore'"], "'em' or 'complete'"),
        ({"nominal": "dummies"}, ["'dummies'"], "'onehot'"),
        ({"prior": "unifrom"}, ["'unifrom'"], "'uniform'"),
        ({"prior": [0.1, 0.2]}, ["2 probabilities"], "sum to 1"),
        ({"prior": {"no": 0.5, "yse": 0.5}}, ["'yse'"], "did you mean 'yes'"),
    ],
    ids=str,
)
def test_an_option_without_meaning_is_refused(settings, words, cure):
    refused(lambda: DiscriminantClassifier(**settings).fit(X, Y), *words, cure=cure, kind=OptionError)


def test_an_error_about_the_prior_names_classes_as_people_write_them():
    refused(
        lambda: DiscriminantClassifier(prior=[0.1, 0.2]).fit(X, Y.astype(str)),
        "'no', 'yes'",
        cure="",
        kind=OptionError,
    )


@every_kind
def test_the_table_has_means_and_covariances(covariance):
    model = DiscriminantClassifier(covariance).fit(named(), Y)
    frame = pd.DataFrame(dict(model.table("row")))
    heads = frame[""].tolist()
    for c, label in enumerate(model.classes_):
        found = frame.loc[heads.index(f"mean {label}"), list("abc")].astype(float)
        np.testing.assert_allclose(found, model.means_[c])
    if covariance in ("diagonal", "spherical"):
        assert heads == ["mean no", "sd no", "mean yes", "sd yes"]
    else:
        assert len(heads) == 2 + (3 if covariance == "shared" else 6)
    assert str(model.table("a")) == str(model.table("row"))
    refused(lambda: model.table("rwo"), "'rwo'", cure="use one of 'a', 'b', 'c'", kind=OptionError)
    assert "20/40" in str(model.table(model.target_.name))


@joint_kinds
def test_a_working_of_many_columns_and_classes_stays_short(covariance):
    rng = np.random.default_rng(3)
    cells, y = rng.normal(size=(1200, 30)), np.array([f"class {i % 12:02d}" for i in range(1200)], dtype=object)
    model = DiscriminantClassifier(covariance).fit(cells, y)
    working = model.explain(cells, row=-1)
    text = str(working)
    assert "P(x | class)" in text
    assert "18 more" in text
    assert len(text.splitlines()) < 140
    assert [section.title for section in working.sections[::6]] == ["Means", working.sections[-1].title]
    assert "nan" not in text
    assert working.to_dict()
    assert "<table" in working._repr_html_()


def test_the_logistic_form_is_for_one_covariance():
    for covariance in ("own", "diagonal"):
        model = DiscriminantClassifier(covariance).fit(X, Y)
        refused(
            model.logistic_form,
            "their own covariances",
            "quadratic",
            cure="'shared' or 'spherical'",
            kind=OptionError,
        )
    three = DiscriminantClassifier().fit(X, ["a", "b", "c", "a"] * 10).logistic_form()
    refused(lambda: three.w, "two classes", "3", cure="softmax", kind=OptionError)
    form = DiscriminantClassifier().fit(named(), Y).logistic_form()
    assert re.fullmatch(r"P\(class = yes \| x\) = sigmoid\(-?[\d.]+( [+-] [\d.]+·[abc]){3}\)", str(form))


@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize("divisor", ["n", "n-classes"])
def test_the_working_goes_from_the_means_and_covariances_to_the_posterior(covariance, divisor):
    rng = np.random.default_rng(5)
    cells, y = rng.normal(size=(60, 3)) * [1, 10, 100], np.array(list("abc") * 20, dtype=object)
    model = DiscriminantClassifier(covariance, divisor=divisor).fit(cells, y)
    working = model.explain(cells, row=7)
    by_title = {section.title: section for section in working.sections}
    classes = [cells[y == c] for c in "abc"]
    for c, rows in zip("abc", classes, strict=True):
        np.testing.assert_allclose(by_title["Means"].table[f"μ {c}"], [*rows.mean(axis=0), 20], rtol=1e-12)
    scatter = [np.cov(rows.T, ddof=0) * 20 for rows in classes]
    if covariance == "shared":
        below = 57 if divisor == "n-classes" else 60
        sigmas = {", pooled over all classes": sum(scatter) / below}
        assert ("1/(60 - 3)·" if divisor == "n-classes" else "1/60·") in by_title[
            "Covariance, pooled over all classes"
        ].lines[0]
    else:
        below = 19 if divisor == "n-classes" else 20
        sigmas = {f" of class = {c}": s / below for c, s in zip("abc", scatter, strict=True)}
    for whose, sigma in sigmas.items():
        np.testing.assert_allclose(by_title[f"Covariance{whose}"].table.numbers, sigma, rtol=1e-9)
        inverse = by_title[f"Inverse covariance{whose}"]
        np.testing.assert_allclose(inverse.table.numbers @ sigma, np.eye(3), atol=1e-9)
        assert inverse.lines == (f"|Σ| = {np.linalg.det(sigma):.6g}",)
        assert r"\begin{pmatrix}" in inverse.latex()
    all_of = dict(zip("abc", list(sigmas.values()) * (3 if covariance == "shared" else 1), strict=True))
    logs = [
        multivariate_normal.logpdf(cells[7], rows.mean(axis=0), all_of[c])
        for c, rows in zip("abc", classes, strict=True)
    ]
    scores = by_title["Score of each class"].table
    np.testing.assert_allclose(scores["log f"], logs, rtol=1e-9)
    np.testing.assert_allclose(scores["score"], np.array(logs) + np.log(1 / 3), rtol=1e-9)
    np.testing.assert_allclose(scores["posterior"], np.exp(logs) / np.exp(logs).sum(), rtol=1e-9)


def test_a_matrix_too_wide_for_a_frame_is_made_smaller():
    model = DiscriminantClassifier().fit(np.random.default_rng(1).normal(size=(30, 5)) * 1e5, list("ab") * 15)
    sections = model.explain([[0.0] * 5]).sections
    latex = next(s for s in sections if s.title.startswith("Covariance")).latex(56)
    assert latex.count(r"\begin{pmatrix}") == latex.count(r"\resizebox") == 1
