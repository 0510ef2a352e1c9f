"""Prototypes by hand and at the edges: middles, distances, scales, posteriors."""

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

from countwise import Nominal, Ordinal, PrototypeClassifier, load, save
from countwise.errors import CountwiseError, OptionError, TableError, UnseenValueError
from countwise.neighbors import DistanceMetric

NAN = np.nan
X = {"x": np.array([1.0, 2.0, 6.0, 7.0, 9.0])}
Y = np.array(list("aaabb"), dtype=object)
ORDER = ("low", "middle", "high")
WAYS = [(center, metric) for center in ("mean", "median") for metric in ("euclidean", "manhattan")]
ways = pytest.mark.parametrize(("center", "metric"), WAYS)


def refused(call: Callable[[], Any], *words: str, cure: str = "Hint: ", kind: type = CountwiseError) -> str:
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


# -- by hand -----------------------------------------------------------------------------------------------------


def test_the_middle_of_numbers_is_their_mean_or_their_median():
    assert PrototypeClassifier().fit(X, Y).prototypes_["x"] == [3.0, 8.0]
    assert PrototypeClassifier("median").fit(X, Y).prototypes_["x"] == [2.0, 8.0]  # of two: midway
    weights = [1, 1, 3, 1, 1]
    assert PrototypeClassifier().fit(X, Y, sample_weight=weights).prototypes_["x"] == [21 / 5, 8.0]
    assert PrototypeClassifier("median").fit(X, Y, sample_weight=weights).prototypes_["x"] == [6.0, 8.0]


def test_the_middle_of_names_is_the_commonest_and_of_orders_the_middle_one():
    frame = {"w": objects("u", "v", "v", "w", "u"), "o": objects("low", "high", "high", "low", "middle")}
    model = PrototypeClassifier(types={"o": Ordinal("o", ORDER)}).fit(frame, Y)
    assert model.prototypes_["w"] == ["v", "u"]  # as often: the first of the domain
    assert model.prototypes_["o"] == ["high", "low"]  # of an even number the lower of the two in the middle


@ways
def test_posteriors_of_one_column_by_hand(center, metric):
    model = PrototypeClassifier(center, metric=metric).fit(X, Y)
    middles = np.array([3.0, 8.0] if center == "mean" else [2.0, 8.0])
    own = np.abs(X["x"] - middles[[0, 0, 0, 1, 1]])
    asked = np.array([0.0, 5.0, 5.5, 20.0])
    d = np.abs(asked[:, None] - middles)
    assert_allclose(model.distances({"x": asked}), d, rtol=1e-12)
    logs = -(d**2) / (2 * np.mean(own**2)) if metric == "euclidean" else -d / np.mean(own)
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba({"x": asked}), expected, rtol=0, atol=1e-12)


@ways
@pytest.mark.parametrize("scale", ["auto", "deviation", None])
def test_mixed_columns_by_hand(scale, center, metric):
    frame = {**X, "w": objects("u", "u", "v", "v", "v"), "o": objects("low", "low", "high", "high", "high")}
    types = {"o": Ordinal("o", ORDER)}
    model = PrototypeClassifier(center, metric=metric, scale=scale, types=types).fit(frame, Y)
    asked = {"x": [4.0, NAN, 8.0], "w": objects("v", "u", None), "o": objects("middle", "high", None)}
    unit = 1.0 if scale is None else X["x"].std()
    step = 1.0 if scale is None else 0.5
    middles = [3.0, 8.0] if center == "mean" else [2.0, 8.0]
    power = 2 if metric == "euclidean" else 1

    def gaps(c: int, x: Any, w: Any, o: Any) -> list[float]:
        found = [] if x is None else [abs(x - middles[c]) / unit]
        found += [] if w is None else [float(w != "uv"[c])]
        found += [] if o is None else [abs(ORDER.index(o) - [0, 2][c]) * step]
        return [g**power for g in found]

    rows = [(4.0, "v", "middle"), (None, "u", "high"), (8.0, None, None)]
    total = np.array([[sum(gaps(c, *row)) for c in (0, 1)] for row in rows])
    distances = np.sqrt(total) if power == 2 else total
    assert_allclose(model.distances(asked), distances, rtol=1e-12)
    away = [g for i, c in enumerate([0, 0, 0, 1, 1]) for g in gaps(c, frame["x"][i], frame["w"][i], frame["o"][i])]
    logs = -total / (power * np.mean(away))
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(asked), expected, rtol=0, atol=1e-12)


def test_numbers_alone_are_taken_as_they_are_unless_asked():
    frame = {"x": X["x"], "z": X["x"] * 100}
    asked = {"x": [0.0], "z": [0.0]}
    as_they_are = PrototypeClassifier().fit(frame, Y).distances(asked)
    assert_allclose(as_they_are, np.hypot([3.0, 8.0], [300.0, 800.0])[None], rtol=1e-12)
    deviations = PrototypeClassifier(scale="deviation").fit(frame, Y).distances(asked)
    assert_allclose(deviations, np.sqrt(2) * np.array([[3.0, 8.0]]) / X["x"].std(), rtol=1e-12)


def test_ties_go_to_the_first_class():
    model = PrototypeClassifier().fit({"x": [0.0, 2.0, 8.0, 10.0]}, list("bbaa"))
    assert model.predict({"x": [5.0]}).tolist() == ["a"]
    assert model.predict_proba({"x": [5.0]}).tolist() == [[0.5, 0.5]]
    assert model.predict_proba({"x": [NAN]}).tolist() == [[0.5, 0.5]]


def test_the_prior_moves_the_border():
    asked = {"x": [5.4, NAN]}
    assert PrototypeClassifier().fit(X, Y).predict(asked).tolist() == ["a", "a"]
    assert_allclose(PrototypeClassifier(prior="raw").fit(X, Y).predict_proba(asked)[1], [0.6, 0.4], rtol=1e-12)
    given = PrototypeClassifier(prior={"a": 0.01, "b": 0.99}).fit(X, Y)
    assert given.predict(asked).tolist() == ["b", "b"]
    assert_allclose(given.predict_proba(asked)[1], [0.01, 0.99], rtol=1e-12)
    refused(lambda: PrototypeClassifier(prior=[0.5, 0.6]).fit(X, Y), "prior", cure="sum to 1", kind=OptionError)
    refused(
        lambda: PrototypeClassifier(prior="equal").fit(X, Y),
        "prior",
        "'equal'",
        cure="'raw', 'uniform' or",
        kind=OptionError,
    )


# -- edges -------------------------------------------------------------------------------------------------------


@ways
def test_one_row_a_class_gives_no_training_error(center, metric):
    frame = {"x": np.array([1.0, 1.5, 7.0]), "w": objects("u", "v", "u")}
    for columns in (["x"], ["x", "w"]):
        own = {name: frame[name] for name in columns}
        model = PrototypeClassifier(center, metric=metric).fit(own, list("abc"))
        assert model.predict(own).tolist() == list("abc")
        posterior = model.predict_proba(own)
        assert_allclose(posterior.max(axis=1), 1.0, atol=1e-6)
        assert np.isfinite(posterior).all()


@ways
def test_a_constant_column_one_row_and_one_class_say_nothing(center, metric):
    model = PrototypeClassifier(center, metric=metric).fit({"x": [3.0] * 4}, list("abab"))
    assert_allclose(model.predict_proba({"x": [3.0, 4.0, NAN]}), 0.5, rtol=1e-12)
    model = PrototypeClassifier(center, metric=metric, scale="deviation").fit({"x": [3.0] * 4}, list("abab"))
    assert_allclose(model.predict_proba({"x": [3.0, 4.0, NAN]}), 0.5, rtol=1e-12)
    for y in (["yes"], ["yes"] * 3):
        model = PrototypeClassifier(center, metric=metric).fit({"x": [3.0, 1.0, 2.0][: len(y)]}, y)
        assert model.predict_proba({"x": [3.0, 1e9, NAN]}).tolist() == [[1.0]] * 3
        assert model.explain({"x": [3.0]}).answer == "yes"


@ways
def test_missing_cells_in_training_and_in_questions(center, metric):
    frame = {"x": np.array([1.0, 3.0, NAN, NAN]), "gone": np.full(4, NAN), "w": objects(None, "u", "v", None)}
    model = PrototypeClassifier(center, metric=metric).fit(frame, list("aabb"))
    assert model.prototypes_["x"] == [2.0, 2.0]  # a class without any value takes the column of all
    asked = {"x": [5.0, NAN], "gone": [1.0, NAN], "w": objects(None, None)}
    assert_allclose(model.predict_proba(asked), 0.5, rtol=1e-12)
    assert_array_equal(model.distances(asked)[1], 0.0)
    assert np.isfinite(model.distances(asked)).all()
    assert "nan" not in model.explain(asked).text()
    nothing = PrototypeClassifier(center, metric=metric, types={"x": "numeric"}).fit({"x": [NAN] * 4}, list("abab"))
    assert_allclose(nothing.predict_proba({"x": [1.0, NAN]}), 0.5, rtol=1e-12)


def test_a_name_never_met_is_left_out_or_an_error():
    frame = {**X, "w": objects(*"uvuvu")}
    asked, gap = {"x": [4.0], "w": objects("east")}, {"x": [4.0], "w": objects(None)}
    model = PrototypeClassifier().fit(frame, Y)
    assert_array_equal(model.predict_proba(asked), model.predict_proba(gap))
    assert_array_equal(model.distances(asked), model.distances(gap))
    strict = PrototypeClassifier(unseen="error").fit(frame, Y)
    refused(lambda: strict.predict(asked), "east", "w", kind=UnseenValueError)
    refused(lambda: strict.distances(asked), "east", "w", kind=UnseenValueError)


@ways
@pytest.mark.parametrize("scale", [1e-200, 1e-120, 1e120])
def test_units_do_not_matter_however_large_or_small(scale, center, metric):
    plain = PrototypeClassifier(center, metric=metric).fit(X, Y)
    model = PrototypeClassifier(center, metric=metric).fit({"x": X["x"] * scale}, Y)
    asked = np.array([0.0, 4.0, 6.0, 11.0])
    assert_allclose(model.distances({"x": asked * scale}) / scale, plain.distances({"x": asked}), rtol=1e-9)
    assert_array_equal(model.predict({"x": asked * scale}), plain.predict({"x": asked}))
    if scale < 1e-150 and metric == "euclidean":  # the squares of the rows' distances are 0: the nearest takes all
        assert_array_equal(model.predict_proba({"x": asked * scale}).max(axis=1), 1.0)
        return
    assert_allclose(model.predict_proba({"x": asked * scale}), plain.predict_proba({"x": asked}), rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_names_beside_huge_or_tiny_numbers_count_as_one_if_nothing_is_scaled(scale):
    frame = {"x": X["x"] * scale, "w": objects(*"uuuvv")}
    model = PrototypeClassifier(scale=None).fit(frame, Y)
    found = model.distances({"x": np.array([3.0]) * scale, "w": objects("v")})
    assert_allclose(found, [[1.0, max(5 * scale, 0.0)]], rtol=1e-9)


@ways
def test_numbers_too_large_to_be_squared_are_refused_by_name(center, metric):
    huge = {"x": X["x"] * 1e200}
    refused(lambda: PrototypeClassifier(center, metric=metric).fit(huge, Y), "'x'", "too large", cure="rescale")


@ways
def test_a_question_far_beyond_all_rows_has_an_answer(center, metric):
    model = PrototypeClassifier(center, metric=metric).fit(X, Y)
    asked = {"x": [1e100, -1e100]}  # farther than the difference of two prototypes can be told
    assert_allclose(model.predict_proba(asked), 0.5, rtol=1e-12)
    assert_allclose(model.distances(asked), 1e100, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Every class has probability 0 in 1 row")
@pytest.mark.parametrize("center", ["mean", "median"])
def test_a_question_whose_square_is_no_number_gets_the_prior(center):
    model = PrototypeClassifier(center, prior={"a": 0.75, "b": 0.25}).fit(X, Y)
    assert_allclose(model.predict_proba({"x": [1e160]}), [[0.75, 0.25]], rtol=1e-12)
    assert not np.isnan(model.distances({"x": [1e160]})).any()


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_refused_with_its_row(bad):
    frame = {"x": np.append(X["x"][:4], bad)}
    refused(lambda: PrototypeClassifier().fit(frame, Y), "'x'", "row 4")
    refused(lambda: PrototypeClassifier().fit(X, Y).predict(frame), "'x'", "row 4")
    refused(lambda: PrototypeClassifier().fit(X, Y).distances(frame), "'x'", "row 4")


# -- options and tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("center", "mode", "'mean' or 'median'"),
        ("metric", "cosine", "'euclidean', 'manhattan' or a DistanceMetric"),
        ("scale", "range", "None, 'auto' or 'deviation'"),
        ("unseen", "share", "'ignore' or 'error'"),
        ("scale", 1, "None, 'auto' or 'deviation'"),
    ],
)
def test_unknown_options_are_refused_with_those_there_are(name, value, allowed):
    model = PrototypeClassifier(**{name: value})
    refused(lambda: model.fit(X, Y), f"{name} must be {allowed}", cure=f"not {value!r}", kind=OptionError)


def test_what_is_not_fitted_says_so():
    for call in ("predict", "predict_proba", "distances", "explain"):
        with pytest.raises(NotFittedError):
            getattr(PrototypeClassifier(), call)(X)


def test_sparse_matrices_are_written_out_and_texts_and_empty_tables_refused():
    nearest = PrototypeClassifier().fit(csr_array(np.eye(5)), Y)
    assert_array_equal(
        nearest.distances(csr_array(np.eye(5))), PrototypeClassifier().fit(np.eye(5), Y).distances(np.eye(5))
    )
    texts = {"t": objects("a b", "b c", "c", "d", "e")}
    refused(
        lambda: PrototypeClassifier(types={"t": "text"}).fit(texts, Y), "'t' has type text", cure="drop the column"
    )
    refused(lambda: PrototypeClassifier().fit({"x": []}, []), cure="[Aa]t least one row", kind=TableError)
    refused(lambda: PrototypeClassifier().fit(X, Y).distances({"x": []}), cure="[Aa]t least one row", kind=TableError)


def test_every_kind_of_table_gives_the_same():
    frame = {**X, "w": objects(*"uvuvu")}
    rows = [{"x": x, "w": w} for x, w in zip(X["x"].tolist(), "uvuvu", strict=True)]
    arrow = pa.table({"x": X["x"], "w": list("uvuvu")})
    expected = PrototypeClassifier().fit(frame, Y)
    for table in (rows, pd.DataFrame(frame), pl.DataFrame(rows), arrow):
        model = PrototypeClassifier().fit(table, Y)
        assert_array_equal(model.predict_proba(table), expected.predict_proba(frame))
        assert_array_equal(model.distances(table), expected.distances(frame))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64])
def test_numbers_of_any_type_are_numbers(dtype):
    whole = X["x"][:, None]
    model = PrototypeClassifier().fit(whole.astype(dtype), Y)
    assert_array_equal(model.distances(whole.astype(dtype)), PrototypeClassifier().fit(whole, Y).distances(whole))


def test_orders_come_by_types_or_from_pandas_and_names_by_types():
    values = objects("low", "high", "high", "low", "middle")
    by_types = PrototypeClassifier(types={"o": Ordinal("o", ORDER)}).fit({"o": values}, Y)
    frame = pd.DataFrame({"o": pd.Categorical(values, list(ORDER), ordered=True)})
    by_dtype = PrototypeClassifier().fit(frame, Y)
    assert_array_equal(by_types.distances({"o": values}), by_dtype.distances(frame))
    assert_array_equal(by_types.distances({"o": objects("middle")}), [[0.5, 0.5]])
    names = PrototypeClassifier(types={"o": Nominal("o", ORDER)}).fit({"o": values}, Y)
    assert_array_equal(names.distances({"o": objects("middle")}), [[1.0, 1.0]])


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("numeric", ["range", "sd", "none"])
def test_a_metric_says_how_prototypes_are_compared(p, numeric):
    frame = {**X, "w": objects("u", "u", "v", "v", "v"), "o": objects("low", "low", "high", "high", "high")}
    types = {"o": Ordinal("o", ORDER)}
    metric = DistanceMetric(p, numeric=numeric, nominal="mvdm", weights={"w": 3.0, "x": 0.5}, types=types)
    model = PrototypeClassifier(metric=metric, types=types).fit(frame, Y)
    middles = model.prototypes_
    rows = {name: objects(*middles[name]) if name != "x" else middles[name] for name in frame}
    whole = DistanceMetric(**{**metric.get_params(), "ordinal": "steps"}).fit(frame, Y)
    asked = {"x": [4.0, 20.0], "w": objects("v", "u"), "o": objects("middle", "high")}
    assert_allclose(model.distances(asked), whole.pairwise(asked, rows), rtol=1e-12)


def test_a_prototype_by_metric_is_saved_and_streamed(tmp_path):
    frame = {**X, "w": objects("u", "u", "v", "v", "v")}
    metric = DistanceMetric(nominal="mvdm")
    whole = PrototypeClassifier(metric=metric).fit(frame, Y)
    save(whole, tmp_path / "m.json")
    assert_allclose(load(tmp_path / "m.json").predict_proba(frame), whole.predict_proba(frame), rtol=0)
    parts = PrototypeClassifier(metric=metric)
    for some in (slice(0, 2), slice(2, 5)):
        parts.partial_fit({k: v[some] for k, v in frame.items()}, Y[some], classes=sorted(set(Y)))
    assert_allclose(parts.predict_proba(frame), whole.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        (DistanceMetric(3), "p=3"),
        (DistanceMetric(unit_length=True), "unit length"),
        (DistanceMetric(weights="gain"), "weights"),
    ],
)
def test_a_metric_that_has_no_middle_is_refused(metric, told):
    with pytest.raises(CountwiseError, match=told):
        PrototypeClassifier(metric=metric).fit({**X, "w": objects("u", "u", "v", "v", "v")}, Y)


def test_the_summary_and_the_tables_show_the_prototypes():
    frame = pd.DataFrame({"x": [1.0, 2.0, 6.0, 10.0], "w": ["a", "a", "b", "b"]})
    model = PrototypeClassifier(scale=None).fit(frame, ["no", "no", "yes", "yes"])
    assert model.summary().split("\n") == [
        "4 rows, 2 attributes; class: no 2 (50.0%), yes 2 (50.0%)",
        "  distance from the mean of the class: x",
        "  distance from the most frequent value of the class: w",
    ]
    tables = model.tables()
    assert list(tables) == ["class", "x", "w"]
    assert dict(tables["x"]) == {"x": ["no", "yes"], "prototype": [1.5, 8.0], "n": [2.0, 2.0]}
    assert tables["w"]["prototype"] == ["a", "b"]


def test_an_attribute_of_weight_0_is_reported_as_not_used():
    table = {"x": [1.0, 2.0, 6.0, 7.0], "z": [1.0, 5.0, 2.0, 6.0]}
    model = PrototypeClassifier(metric=DistanceMetric(weights={"z": 0})).fit(table, list("aabb"))
    assert "Not used: z = 1 (weight 0)." in str(model.explain(table))


# -- strings with edit distances ---------------------------------------------------------------------------------


NAMES = ["Meier", "Mayer", "Maier", "Meier", "Schmidt", "Schmitt", "Schmid", "Smith", "Smyth"]
OF = list("mmmmsssss")


def edits(a: str, b: str) -> int:
    """The edit distance by its recursion, row by row."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, z in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != z))
    return row[-1]


def medoid(strings: list[str], weights: list[float]) -> str:
    sums = {s: sum(w * edits(s, other) for other, w in zip(strings, weights, strict=True)) for s in strings}
    return min(sorted(sums), key=lambda s: sums[s])


def random_strings(seed: int, n: int = 40) -> tuple[dict[str, Any], list[str]]:
    rng = np.random.default_rng(seed)
    strings = ["".join(rng.choice(list("abcä"), rng.integers(1, 7))) for _ in range(n)]
    return {"name": objects(*strings)}, rng.choice(list("uvw"), n).tolist()


def test_the_prototype_of_strings_is_the_medoid():
    metric = DistanceMetric("manhattan", nominal="levenshtein", numeric="none")
    model = PrototypeClassifier(metric=metric).fit({"name": NAMES}, OF)
    middles = [medoid(NAMES[:4], [1] * 4), medoid(NAMES[4:], [1] * 5)]
    assert model.prototypes_["name"] == middles == ["Maier", "Schmitt"]  # of equal sums the first string
    asked = ["Mair", "Smid", "", "Meier"]
    wanted = [[edits(a, p) for p in middles] for a in asked]
    assert model.distances({"name": asked}).tolist() == wanted
    away = sum(edits(s, dict(zip("ms", middles, strict=True))[c]) for s, c in zip(NAMES, OF, strict=True)) / 9
    logs = -np.array(wanted) / away
    assert_allclose(
        model.predict_proba({"name": asked}), np.exp(logs) / np.exp(logs).sum(1, keepdims=True), rtol=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("p", [1, 2])
def test_medoids_and_distances_of_random_strings(seed, p):
    X, y = random_strings(seed)
    weights = np.random.default_rng(seed).integers(1, 4, len(y))
    model = PrototypeClassifier(metric=DistanceMetric(p, nominal="levenshtein")).fit(X, y, sample_weight=weights)
    longest = max(map(len, X["name"]))
    for c, found in zip("uvw", model.prototypes_["name"], strict=True):
        own = [i for i in range(len(y)) if y[i] == c]
        assert found == medoid([X["name"][i] for i in own], [weights[i] for i in own])
    asked = [*random_strings(seed + 100)[0]["name"][:10], None]
    wanted = [[0.0 if a is None else edits(a, m) / longest for m in model.prototypes_["name"]] for a in asked]
    assert_allclose(model.distances({"name": objects(*asked)}), wanted, rtol=1e-12)


def test_strings_beside_numbers_and_names():
    metric = DistanceMetric(2, attributes={"name": "levenshtein"}, weights={"name": 4.0})
    frame = {"name": objects(*NAMES), "x": np.arange(9.0), "k": objects(*"ababababa")}
    model = PrototypeClassifier(metric=metric).fit(frame, OF)
    row = {"name": ["Mayr"], "x": [2.0], "k": ["b"]}
    middles = zip(model.prototypes_["name"], model.prototypes_["x"], model.prototypes_["k"], strict=True)
    wanted = [np.sqrt(4 * (edits("Mayr", n) / 7) ** 2 + ((2.0 - x) / 8) ** 2 + (k != "b")) for n, x, k in middles]
    assert_allclose(model.distances(row), [wanted], rtol=1e-12)
    told = model.explain(row)
    assert told.sections[1].title == "Edit distances of name"
    assert [str(d) for d in told.sections[1].table["d"]] == ["2/7 = 0.285714", "7/7 = 1"]
    assert "divided by the length of the longest training string: 7" in str(told)
    assert_allclose(told.posterior, model.predict_proba(row)[0], rtol=1e-12)


def test_prototypes_of_strings_are_learned_by_pieces_forgotten_and_saved(tmp_path):
    X, y = random_strings(7)
    metric = DistanceMetric(1, nominal="levenshtein")
    whole = PrototypeClassifier(metric=metric).fit(X, y)
    parts = PrototypeClassifier(metric=metric)
    for rows in (slice(0, 15), slice(15, 40)):
        parts.partial_fit({"name": X["name"][rows]}, y[rows], classes=list("uvw"))
    asked = {"name": objects("abc", "never", None)}
    assert_array_equal(parts.predict_proba(asked), whole.predict_proba(asked))
    parts.partial_fit({"name": objects("zzzzzzzzzz")}, ["u"])
    parts.forget({"name": objects("zzzzzzzzzz")}, ["u"])
    assert_array_equal(parts.predict_proba(asked), whole.predict_proba(asked))
    save(whole, tmp_path / "m.json")
    assert_array_equal(load(tmp_path / "m.json").predict_proba(asked), whole.predict_proba(asked))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, lambda X: pd.DataFrame(X).astype("category")])
def test_strings_of_every_kind_of_table(kind):
    model = PrototypeClassifier(metric=DistanceMetric(1, nominal="levenshtein"))
    wanted = model.fit({"name": NAMES}, OF).predict_proba({"name": ["Mair", "Smid"]})
    found = model.fit(kind({"name": NAMES}), OF)
    assert_array_equal(found.predict_proba(kind({"name": ["Mair", "Smid"]})), wanted)


def test_a_string_never_seen_has_a_distance_unless_it_is_an_error():
    metric = DistanceMetric(1, nominal="levenshtein")
    model = PrototypeClassifier(metric=metric).fit({"name": NAMES}, OF)
    assert "never seen" not in str(model.explain({"name": ["Mair"]}))
    assert "missing" in str(model.explain({"name": [None]}))
    strict = PrototypeClassifier(metric=metric, unseen="error").fit({"name": NAMES}, OF)
    with pytest.raises(UnseenValueError, match="Mair"):
        strict.predict({"name": ["Mair"]})


def test_leaving_a_string_out_refits():
    from countwise import leave_one_out

    X, y = random_strings(3, 15)
    model = PrototypeClassifier(metric=DistanceMetric(1, nominal="levenshtein"))
    found = leave_one_out(model, X, y).predictions
    for i in range(15):
        rest = np.delete(np.arange(15), i)
        one = PrototypeClassifier(metric=DistanceMetric(1, nominal="levenshtein"))
        one.fit({"name": X["name"][rest]}, [y[j] for j in rest])
        assert_allclose(found.proba[i], one.predict_proba({"name": X["name"][i : i + 1]})[0], rtol=1e-9)
