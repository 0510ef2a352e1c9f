"""Parzen densities at the edges: a right answer, or one clear error that names the column and the cure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from countwise import Nominal, Ordinal, ParzenClassifier, ParzenDensity
from countwise.errors import CountwiseError, DataWarning, OptionError, TableError, UnseenValueError

NAN = np.nan
TEMP = {"temp": np.array([18.4, 19.5, 19.7, 20.3, 23.5, 32.1])}
Y = np.array(list("ababab"), dtype=object)
RULES = ["silverman", "scott", "sheather_jones", "leave_one_out"]


def refused(call: Callable[[], Any], *words: str, cure: str = "Hint: ", kind: type = CountwiseError) -> str:
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


def normal(x: Any, mean: float, h: float) -> np.ndarray:
    return np.exp(-0.5 * ((np.asarray(x) - mean) / h) ** 2) / (h * np.sqrt(2 * np.pi))


def both(bandwidth: Any = "silverman", **settings: Any) -> list[Callable[[Any], Any]]:
    """The density and the classifier, ready for a table of six rows."""
    return [
        lambda X: ParzenDensity(bandwidth, **settings).fit(X),
        lambda X: ParzenClassifier(bandwidth, **settings).fit(X, Y[: len(next(iter(X.values())))]),
    ]


# -- options -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bandwidth", [0, 0.0, -1, NAN, np.inf, None, True, [1.0], {"temp": -1}, {"temp": NAN}, {"temp": 0}]
)
def test_a_width_is_a_number_above_0(bandwidth):
    for fit in both(bandwidth):
        refused(lambda fit=fit: fit(TEMP), "bandwidth", cure="above 0", kind=OptionError)


@pytest.mark.parametrize("bandwidth", ["silvermann", "botev", {"temp": "scot"}])
def test_an_unknown_rule_is_refused_with_those_there_are(bandwidth):
    for fit in both(bandwidth):
        refused(
            lambda fit=fit: fit(TEMP), "must be", cure="Hint: .*('sheather_jones'|did you mean)", kind=OptionError
        )


def test_a_width_or_kernel_of_a_column_that_is_not_there_is_refused():
    for fit in both({"tmep": 1.0}):
        refused(lambda fit=fit: fit(TEMP), "'tmep'", cure="did you mean 'temp'", kind=OptionError)
    for fit in both(kernel={"tmep": "gaussian"}):
        refused(lambda fit=fit: fit(TEMP), "'tmep'", cure="did you mean 'temp'", kind=OptionError)


@pytest.mark.parametrize("kernel", ["gausian", "triangle", 3, None, {"temp": "cosine"}])
def test_an_unknown_kernel_is_refused_with_those_there_are(kernel):
    for fit in both(kernel=kernel):
        refused(lambda fit=fit: fit(TEMP), "kernel must be one of", cure="Hint: .*gaussian", kind=OptionError)


def test_a_kernel_that_is_a_list_is_refused_like_any_other():
    for fit in both(kernel=["gaussian"]):
        refused(lambda fit=fit: fit(TEMP), "kernel", kind=OptionError)


@pytest.mark.parametrize("share", [-0.1, 0.7, 1.0, 2])
def test_a_share_of_other_names_is_at_most_what_makes_all_alike(share):
    frame = {"wind": objects("n", "s", "e", "n", "s", "e")[[0, 1, 0, 1, 0, 1]]}
    for fit in both({"wind": share}):
        refused(
            lambda fit=fit: fit(frame),
            "wind" if share > 0 else "bandwidth",
            cure="0 to 0.5|above 0",
            kind=OptionError,
        )


def test_a_share_may_be_anything_in_between_and_λ_0_keeps_to_what_was_met():
    frame = {"wind": objects("n", "s", "s", "s")}
    asked = {"wind": objects("n", "s")}
    for share, n in [(0.0, 0.25), (0.2, 0.25 * 0.8 + 0.75 * 0.2), (0.5, 0.5)]:
        density = ParzenDensity({"wind": share}).fit(frame)
        assert_allclose(np.exp(density.score_samples(asked)), [n, 1 - n], rtol=1e-12)
    assert_allclose(np.exp(ParzenDensity().fit(frame).score_samples(asked)), [2 / 6, 4 / 6], rtol=1e-12)  # Laplace


def test_a_number_is_the_width_of_numbers_and_names_keep_their_own():
    frame = {**TEMP, "wind": objects(*"nsnsns")}
    for bandwidth in (0.3, 2.0):
        density = ParzenDensity(bandwidth).fit(frame)
        assert density.bandwidths_ == {"temp": bandwidth, "wind": 1 / 8}
        assert ParzenClassifier(bandwidth).fit(frame, Y).bandwidths_["temp"] == {"a": bandwidth, "b": bandwidth}


def test_k_fold_is_refused_where_it_cannot_be():
    refused(lambda: ParzenClassifier("k_fold").fit(TEMP, Y), "k_fold", kind=OptionError)
    refused(
        lambda: ParzenDensity("k_fold").fit(TEMP), "6 distinct rows", "10 folds", cure="smaller cv", kind=TableError
    )
    for cv in (1, 0, -3, 2.5, None, True):
        refused(lambda cv=cv: ParzenDensity("k_fold", cv=cv).fit(TEMP), "cv", cure=">= 2", kind=OptionError)
    assert ParzenDensity("k_fold", cv=6).fit(TEMP).best_bandwidth_ > 0
    assert ParzenDensity("k_fold", cv=KFold(2)).fit(TEMP).best_bandwidth_ > 0


def test_folds_by_a_word_are_refused():
    refused(lambda: ParzenDensity("k_fold", cv="five").fit(TEMP), "cv", cure=">= 2", kind=OptionError)


def test_splits_that_can_be_read_only_once_are_read_only_once():
    plain = ParzenDensity("k_fold", cv=KFold(3)).fit(TEMP)
    density = ParzenDensity("k_fold", cv=KFold(3).split(TEMP["temp"])).fit(TEMP)
    assert density.best_bandwidth_ == plain.best_bandwidth_
    assert density.bandwidth_curve_["held_out"] == plain.bandwidth_curve_["held_out"]


@pytest.mark.parametrize("bandwidths", [[0.0], [-1.0, 2], [NAN], [], [[1.0, 2.0]], [np.inf]])
def test_a_curve_is_of_widths_above_0(bandwidths):
    refused(lambda: ParzenDensity().fit(TEMP).bandwidth_curve(bandwidths), "widths", cure="above 0", kind=OptionError)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_a_sample_has_at_least_one_row(n):
    refused(lambda: ParzenDensity().fit(TEMP).sample(n), "n_samples", cure="at least 1", kind=OptionError)


def test_what_is_not_fitted_says_so():
    for call in ("score_samples", "score", "explain", "forget"):
        with pytest.raises(NotFittedError):
            getattr(ParzenDensity(), call)(TEMP)
    for call in ("sample", "bandwidth_curve"):
        with pytest.raises(NotFittedError):
            getattr(ParzenDensity(), call)()


# -- too little to learn from ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [*RULES, "k_fold"])
@pytest.mark.parametrize("cells", [[20.0] * 4, [20.0], [20.0, NAN]])
def test_a_density_without_spread_asks_for_a_width(cells, rule):
    settings = {"cv": 2} if rule == "k_fold" else {}
    hint = r"bandwidth=\{'temp'|smaller cv"
    refused(lambda: ParzenDensity(rule, **settings).fit({"temp": cells}), cure=hint, kind=TableError)
    density = ParzenDensity({"temp": 2.0}).fit({"temp": cells})
    assert_allclose(
        np.exp(density.score_samples({"temp": [20.0, 23.0]})), normal([20.0, 23.0], 20.0, 2.0), rtol=1e-12
    )


def test_a_constant_column_beside_others_is_left_out_by_the_classifier_alone():
    frame = {"temp": TEMP["temp"], "same": np.full(6, 3.0)}
    refused(lambda: ParzenDensity().fit(frame), "'same'", "3 in every row", cure="drop the column")
    model = ParzenClassifier().fit(frame, Y)
    assert model.left_out_ == {"same": "constant"}
    alone = ParzenClassifier().fit(TEMP, Y)
    assert_array_equal(model.predict_proba({**frame, "same": np.arange(6.0)}), alone.predict_proba(TEMP))


@pytest.mark.parametrize("bandwidth", [1.0, *RULES])
def test_one_row_a_class_gives_no_training_error(bandwidth):
    frame = {"temp": TEMP["temp"], "wind": objects(*"nsnsns")}
    model = ParzenClassifier(bandwidth if isinstance(bandwidth, str) else {"temp": bandwidth}).fit(
        frame, np.arange(6)
    )
    assert model.predict(frame).tolist() == list(range(6))
    whole = ParzenDensity("silverman" if bandwidth == "leave_one_out" else bandwidth).fit(TEMP).bandwidths_["temp"]
    assert set(model.bandwidths_["temp"].values()) == {whole}  # a class without spread takes the width of all rows


def test_weights_that_add_up_to_1_are_not_told_that_all_rows_are_alike():
    said = ""
    try:
        ParzenDensity().fit(TEMP, sample_weight=np.full(6, 1 / 6))
    except TableError as error:
        said = str(error)
    assert "in every row" not in said


def test_a_weight_however_small_is_taken_back():
    frame = {"temp": [1.0, 2.0, 3.0]}
    density = ParzenDensity(1.0).fit(frame, sample_weight=[1e-7, 1e-7, 1e-7])
    density.forget({"temp": [1.0]}, sample_weight=[1e-7])
    expected = np.mean([normal(1.0, m, 1.0) for m in (2.0, 3.0)])
    assert_allclose(np.exp(density.score_samples({"temp": [1.0]})), expected, rtol=1e-9)


def test_a_class_that_was_announced_and_never_came_has_probability_0():
    model = ParzenClassifier().partial_fit(TEMP, Y, classes=["a", "b", "z"])
    posterior = model.predict_proba({"temp": [20.0, NAN, 1e3]})
    assert_array_equal(posterior[:, 2], 0.0)
    assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)


def test_a_single_class_has_probability_1():
    model = ParzenClassifier().fit(TEMP, ["yes"] * 6)
    assert model.predict_proba({"temp": [20.0, 1e6, NAN]}).tolist() == [[1.0]] * 3


def test_a_name_with_one_value_says_nothing():
    frame = {**TEMP, "wind": objects(*["n"] * 6)}
    for rule in RULES:
        ours, alone = ParzenDensity(rule).fit(frame), ParzenDensity(rule).fit(TEMP)
        assert_allclose(
            ours.bandwidths_["temp"], alone.bandwidths_["temp"], rtol=1e-2
        )  # two searches, of 1e-3 and 1e-7
        same = ParzenDensity({"temp": ours.bandwidths_["temp"]}).fit(TEMP)
        assert_allclose(ours.score_samples(frame), same.score_samples(TEMP), rtol=1e-9)
    assert np.isfinite(ParzenDensity().fit({"wind": objects("n", "n")}).score_samples({"wind": objects("n")})).all()


# -- missing cells -----------------------------------------------------------------------------------------------


def test_a_column_never_seen_is_left_out_and_a_row_of_nothing_counts_as_the_whole():
    frame = {**TEMP, "gone": np.full(6, NAN)}
    density = ParzenDensity().fit(frame)
    assert_allclose(density.score_samples(frame), ParzenDensity().fit(TEMP).score_samples(TEMP), rtol=1e-12)
    assert density.density_.left_out == {"gone": "never seen"}
    assert "Not used: gone" in str(density.explain(frame))
    assert np.isnan(density.sample(3)["gone"]).all()
    model = ParzenClassifier().fit(frame, Y)
    assert model.left_out_ == {"gone": "never seen"}
    with_row = ParzenDensity(2.0).fit({"temp": np.append(TEMP["temp"], NAN)})
    asked = {"temp": [15.0, 20.0, 30.0]}
    assert_allclose(with_row.score_samples(asked), ParzenDensity(2.0).fit(TEMP).score_samples(asked), rtol=1e-12)
    assert ParzenDensity(2.0).fit(TEMP).score_samples({"temp": [NAN]}).tolist() == [0.0]


def test_nothing_but_gaps_is_refused():
    for fit in both():
        refused(lambda fit=fit: fit({"x": np.full(6, NAN)}), cure="Every value of every column is missing")


@pytest.mark.parametrize("bandwidth", [1.0, *RULES])
@pytest.mark.parametrize("beside", [{}, {"z": np.array([1.0, 2.0, 3.0, 4.0, 6.0])}], ids=["alone", "beside another"])
def test_a_class_without_any_value_in_a_column_takes_the_column_of_all(beside, bandwidth):
    frame = {"x": np.array([1.0, 2.0, 3.5, NAN, NAN]), **beside}
    model = ParzenClassifier(bandwidth).fit(frame, list("aaabb"))
    asked = {"x": [2.0, 50.0, NAN], **({"z": [NAN] * 3} if beside else {})}
    posterior = model.predict_proba(asked)
    assert np.isfinite(posterior).all()
    assert_allclose(posterior[2], [0.6, 0.4], rtol=1e-12)
    assert np.isfinite(model.predict_joint_log_proba(asked)).all()


@pytest.mark.parametrize("beside", [{}, {"z": np.array([1.0, 2, 5, 3, 2.5, 9])}], ids=["alone", "beside another"])
def test_folds_of_which_one_has_all_cells_of_a_column_are_no_warning(beside):
    frame = {"x": np.array([1.0, 2.0, 3.0, NAN, NAN, NAN]), **beside}
    try:
        density = ParzenDensity("k_fold", cv=2).fit(frame)
    except CountwiseError:
        return
    assert all(np.isfinite(h) and h > 0 for h in density.bandwidths_.values())


def test_a_query_may_lack_an_ordinal_cell_that_training_rows_lack_too():
    density = ParzenDensity({"x": 1.0, "o": 0.3}, types={"o": Ordinal("o", ("low", "high"))})
    density.fit({"x": [1.0, 2.0], "o": objects("low", None)})
    expected = (normal(0.0, 1.0, 1.0) + normal(0.0, 2.0, 1.0)) / 2
    assert_allclose(np.exp(density.score_samples({"x": [0.0], "o": objects(None)})), expected, rtol=1e-12)


def test_a_gap_in_a_training_row_has_the_density_of_its_column():
    density = ParzenDensity(1.0).fit({"x": [0.0, 2.0, NAN], "z": [0.0, 1.0, 5.0]})
    column = (normal(0.5, 0.0, 1.0) + normal(0.5, 2.0, 1.0)) / 2
    z = [normal(4.0, m, 1.0) for m in (0.0, 1.0, 5.0)]
    expected = (normal(0.5, 0.0, 1.0) * z[0] + normal(0.5, 2.0, 1.0) * z[1] + column * z[2]) / 3
    assert_allclose(np.exp(density.score_samples({"x": [0.5], "z": [4.0]})), expected, rtol=1e-12)


# -- values ------------------------------------------------------------------------------------------------------


def test_a_name_never_met_is_left_out_or_an_error():
    frame = {**TEMP, "wind": objects(*"nsnsns")}
    asked = {"temp": [20.0], "wind": objects("east")}
    gap = {"temp": [20.0], "wind": objects(None)}
    assert_array_equal(ParzenDensity().fit(frame).score_samples(asked), ParzenDensity().fit(frame).score_samples(gap))
    model = ParzenClassifier().fit(frame, Y)
    assert_array_equal(model.predict_proba(asked), model.predict_proba(gap))
    for strict in (ParzenDensity(unseen="error").fit(frame), ParzenClassifier(unseen="error").fit(frame, Y)):
        call = strict.score_samples if isinstance(strict, ParzenDensity) else strict.predict
        refused(lambda call=call: call(asked), "east", "wind", kind=UnseenValueError)
    for fit in both(unseen="share"):
        refused(lambda fit=fit: fit(frame), "unseen must be", cure="'ignore' or 'error'", kind=OptionError)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_refused_with_its_row(bad):
    frame = {"temp": np.append(TEMP["temp"][:5], bad)}
    for fit in both():
        refused(lambda fit=fit: fit(frame), "'temp'", "row 5")
        model = fit(TEMP)
        call = getattr(model, "score_samples", None) or model.predict
        refused(lambda call=call: call(frame), "'temp'", "row 5")


def test_sparse_matrices_are_written_out_and_texts_refused():
    cells = np.eye(4) + np.arange(4.0)
    found = ParzenDensity(1.0).fit(csr_array(cells)).score_samples(csr_array(cells))
    assert_array_equal(found, ParzenDensity(1.0).fit(cells).score_samples(cells))
    refused(
        lambda: ParzenDensity(types={"t": "text"}).fit({"t": ["a b", "b c"]}),
        "'t' has type text",
        cure="drop the column",
    )


@pytest.mark.parametrize("bandwidth", RULES)
@pytest.mark.parametrize("scale", [1e-200, 1e-120, 1e120, 1e200])
def test_units_do_not_matter_however_large_or_small(scale, bandwidth):
    plain, scaled = ParzenDensity(bandwidth).fit(TEMP), {"temp": TEMP["temp"] * scale}
    density = ParzenDensity(bandwidth).fit(scaled)
    assert_allclose(density.bandwidths_["temp"] / scale, plain.bandwidths_["temp"], rtol=1e-5)
    fixed = ParzenDensity(plain.bandwidths_["temp"] * scale).fit(scaled)
    assert_allclose(fixed.score_samples(scaled), plain.score_samples(TEMP) - np.log(scale), rtol=1e-9)
    ours, theirs = ParzenClassifier("scott").fit(scaled, Y), ParzenClassifier("scott").fit(TEMP, Y)
    assert_allclose(ours.predict_proba(scaled), theirs.predict_proba(TEMP), rtol=0, atol=1e-9)


def test_kernels_that_end_give_nothing_far_away_and_the_classifier_its_prior_with_a_warning():
    for kernel in ("epanechnikov", "uniform"):
        density = ParzenDensity(1.0, kernel=kernel).fit(TEMP)
        assert np.isneginf(density.score_samples({"temp": [1000.0]})).all()
        assert "no kernel reaches" in str(density.explain({"temp": [1000.0]}))
        assert density.score({"temp": [1000.0, 20.0]}) == -np.inf
        model = ParzenClassifier(1.0, kernel=kernel).fit(TEMP, list("aaaabb"))
        with pytest.warns(DataWarning, match="prior") as caught:
            assert_allclose(model.predict_proba({"temp": [1000.0, 20.0]})[0], [4 / 6, 2 / 6], rtol=1e-12)
        assert "smoothing" not in str(caught[0].message)


# -- tables ------------------------------------------------------------------------------------------------------


def test_every_kind_of_table_gives_the_same():
    frame = {"temp": TEMP["temp"], "wind": objects(*"nsnsns")}
    rows = [{"temp": t, "wind": w} for t, w in zip(frame["temp"].tolist(), "nsnsns", strict=True)]
    arrow = pa.table({"temp": frame["temp"], "wind": list("nsnsns")})
    logs = ParzenDensity().fit(frame).score_samples(frame)
    posterior = ParzenClassifier().fit(frame, Y).predict_proba(frame)
    for table in (rows, pd.DataFrame(frame), pl.DataFrame(rows), arrow):
        assert_array_equal(ParzenDensity().fit(table).score_samples(table), logs)
        assert_array_equal(ParzenClassifier().fit(table, Y).predict_proba(table), posterior)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, np.uint16, bool])
def test_numbers_of_any_type_are_numbers(dtype):
    X = np.array([[0], [1], [3], [7], [1]]).astype(dtype)
    types = {"x0": "numeric"}
    ours = ParzenDensity(2.0, types=types).fit(X).score_samples(X)
    assert_allclose(ours, ParzenDensity(2.0).fit(X.astype(float)).score_samples(X.astype(float)), rtol=1e-12)


def test_an_empty_table_is_refused():
    refused(lambda: ParzenDensity().fit({"x": []}), "empty", cure="[Aa]t least one row", kind=TableError)
    refused(
        lambda: ParzenDensity().fit(TEMP).score_samples({"temp": []}), cure="[Aa]t least one row", kind=TableError
    )


def test_orders_come_by_types_or_from_pandas():
    values = ["low", "middle", "high", "high", "middle", "high"]
    by_types = ParzenDensity(types={"o": Ordinal("o", ("low", "middle", "high"))}).fit({"o": objects(*values)})
    frame = pd.DataFrame({"o": pd.Categorical(values, ["low", "middle", "high"], ordered=True)})
    by_dtype = ParzenDensity().fit(frame)
    assert_array_equal(by_types.score_samples({"o": objects(*values)}), by_dtype.score_samples(frame))
    nominal = ParzenDensity(types={"o": Nominal("o", ("low", "middle", "high"))}).fit({"o": objects(*values)})
    assert (nominal.score_samples({"o": objects(*values)}) != by_dtype.score_samples(frame)).any()
    drawn = by_dtype.sample(5, random_state=0)
    assert drawn["o"].cat.ordered
    assert list(drawn["o"].cat.categories) == ["low", "middle", "high"]


def test_many_columns_neither_underflow_nor_overflow():
    X = np.random.default_rng(0).normal(size=(40, 300))
    density = ParzenDensity().fit(X)
    assert np.isfinite(density.score_samples(X)).all()
    assert np.isfinite(density.score_samples(X + 1e3)).all()
    posterior = ParzenClassifier().fit(X, np.arange(40) % 2).predict_proba(X)
    assert np.isfinite(posterior).all()
    assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)
    assert density.explain(X).value == density.score_samples(X[:1])[0]
