"""The laws of distances and neighbors: what a metric is, and what must not matter does not."""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise
from countwise import NeighborsClassifier, NeighborsRegressor, Ordinal
from countwise.neighbors import DistanceMetric

from .strategies import examples

NAN = float("nan")
NAMES = ("u", "v", "w", "ü")
ORDER = ("low", "middle", "high", "top")
CLASSES = ("maybe", "no", "so", "yes")
STRINGS = ("", "anna", "anne", "hannah", "bob")
WORDS = ("send", "us", "review", "password", "über")
TYPES = {"grade": Ordinal("grade", ORDER), "mail": "text"}
RULES = {"person": "levenshtein"}
POWERS = (1, 2, 3, np.inf)
several = examples(10)
every_power = pytest.mark.parametrize("p", POWERS)
every_missing = pytest.mark.parametrize("missing", ["maximal", "ignore"])
every_kind = pytest.mark.parametrize("kind", [NeighborsClassifier, NeighborsRegressor])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the laws themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


@dataclass(frozen=True)
class Rows:
    """Columns, classes, numbers to be told, and weights."""

    frame: dict[str, np.ndarray]
    classes: np.ndarray
    numbers: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.classes)

    def take(self, which: Any) -> Rows:
        frame = {name: column[which] for name, column in self.frame.items()}
        return Rows(frame, self.classes[which], self.numbers[which], self.weights[which])

    def told(self, kind: type) -> np.ndarray:
        return self.classes if kind is NeighborsClassifier else self.numbers


def objects(values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


@st.composite
def tables(draw: Any, *, gaps: bool = True, min_rows: int = 3, max_rows: int = 18, text: bool = True) -> Rows:
    """A table of every kind of column, drawn as bytes."""
    n = draw(st.integers(min_rows, max_rows))
    raw = np.frombuffer(draw(st.binary(min_size=15 * n, max_size=15 * n)), dtype=np.uint8).reshape(n, 15).astype(int)
    gone = raw[:, :6] % 6 == 5 if gaps else np.zeros((n, 6), dtype=bool)

    def cells(j: int, values: Any) -> np.ndarray:
        return objects([None if lost else value for lost, value in zip(gone[:, j], values, strict=True)])

    frame = {
        "name": cells(0, [NAMES[v % 4] for v in raw[:, 6]]),
        "grade": cells(1, [ORDER[v % 4] for v in raw[:, 7]]),
        "x": np.where(gone[:, 2], NAN, raw[:, 8] % 6 / 8),
        "z": np.where(gone[:, 3], NAN, (raw[:, 9] - 128) / 16),
        "person": cells(4, [STRINGS[v % 5] for v in raw[:, 10]]),
        "mail": cells(5, [" ".join(WORDS[(v + i * (v // 7)) % 5] for i in range(v % 5)) for v in raw[:, 11]]),
    }
    if not text:
        del frame["mail"]
    return Rows(frame, objects([CLASSES[v % 3] for v in raw[:, 12]]), raw[:, 13] % 16 / 8, 1 + raw[:, 14] % 3)


def types_of(rows: Rows) -> dict[str, Any]:
    return {name: kind for name, kind in TYPES.items() if name in rows.frame}


def metric_of(rows: Rows, p: Any = 2, **more: Any) -> DistanceMetric:
    return DistanceMetric(p, **{"attributes": RULES, "types": types_of(rows), **more})


def fitted(rows: Rows, kind: Any, k: Any = 3, *, weighted: bool = False, metric: Any = None, **more: Any) -> Any:
    model = kind(k, metric=metric_of(rows) if metric is None else metric, **more)
    return model.fit(rows.frame, rows.told(kind), sample_weight=rows.weights if weighted else None)


def answers(model: Any, frame: Any) -> np.ndarray:
    return model.predict_proba(frame) if hasattr(model, "predict_proba") else model.predict(frame)


def assert_same(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


# What a metric is


@every_missing
@every_power
@several
@given(rows=tables())
def test_a_distance_is_the_same_either_way_and_never_negative(p: Any, missing: str, rows: Rows):
    for nominal in ("overlap", "mvdm"):
        metric = metric_of(rows, p, missing=missing, nominal=nominal).fit(rows.frame, rows.classes)
        d = metric.pairwise(rows.frame)
        np.testing.assert_array_equal(d, d.T)
        assert (d >= 0).all()


@every_missing
@every_power
@several
@given(rows=tables(gaps=False))
def test_equal_rows_without_gaps_are_at_distance_0(p: Any, missing: str, rows: Rows):
    for text in ("cosine", "jaccard", "bag_jaccard"):
        metric = metric_of(rows, p, missing=missing, text=text).fit(rows.frame)
        np.testing.assert_array_equal(np.diag(metric.pairwise(rows.frame)), 0.0)
        np.testing.assert_array_equal(np.diag(metric.pairwise(rows.frame, rows.take(slice(None)).frame)), 0.0)


@pytest.mark.parametrize("nominal", ["overlap", "mvdm", "levenshtein"])
@pytest.mark.parametrize("text", ["jaccard", "bag_jaccard"])
@several
@given(rows=tables(min_rows=6))
def test_no_way_round_is_shorter_among_the_training_rows(nominal: str, text: str, rows: Rows):
    """Gaps are as far from all as any two rows: no less than half of any distance, if rows are those of training.

    Outside the range of the training rows two numbers may be further apart than twice the most, so that the way round
    by a gap is shorter: see below.
    """
    for p in POWERS:
        for numeric in ("range", "sd", "none"):
            metric = metric_of(rows, p, nominal=nominal, text=text, numeric=numeric).fit(rows.frame, rows.classes)
            d = metric.pairwise(rows.frame)
            assert (d[:, None, :] <= (d[:, :, None] + d[None, :, :]) * (1 + 1e-12)).all()


def test_ways_round_that_are_shorter_than_the_metric_says():
    """By a gap, for numbers outside the training rows; where gaps are ignored; for cosines; for a power below 1."""
    metric = DistanceMetric(numeric="range").fit([[0.0], [1.0]])
    assert metric([-5.0], [5.0]) > metric([-5.0], [NAN]) + metric([NAN], [5.0])
    ignoring = DistanceMetric(1, missing="ignore").fit([[0.0, 0.0], [1.0, 1.0]])
    assert ignoring([0.0, 0.0], [1.0, 1.0]) > ignoring([0.0, 0.0], [0.0, NAN]) + ignoring([NAN, 1.0], [1.0, 1.0])
    cosine = DistanceMetric(1, types="text").fit({"t": ["aa bb", "aa", "bb"]})
    aa, bb, both = ({"t": t} for t in ("aa", "bb", "aa bb"))
    assert cosine(aa, bb) > cosine(aa, both) + cosine(both, bb)
    half = DistanceMetric(0.5).fit([[0.0, 0.0], [1.0, 1.0]])
    assert half([0.0, 0.0], [1.0, 1.0]) > half([0.0, 0.0], [0.0, 1.0]) + half([0.0, 1.0], [1.0, 1.0])


@every_missing
@every_power
@several
@given(rows=tables(), data=st.data())
def test_the_order_of_columns_changes_no_bit_of_a_distance(p: Any, missing: str, rows: Rows, data: Any):
    order = data.draw(st.permutations(list(rows.frame)))
    turned = {name: rows.frame[name] for name in order}
    for weights in (None, {"name": 2, "x": 0.5}, {"name": 0.1, "x": 0.7, "z": 1.1, "grade": 0.3}):
        how = {"missing": missing, "weights": weights, "nominal": "mvdm"}
        ours = metric_of(rows, p, **how).fit(turned, rows.classes).pairwise(turned)
        theirs = metric_of(rows, p, **how).fit(rows.frame, rows.classes).pairwise(rows.frame)
        np.testing.assert_array_equal(ours, theirs)


@several
@given(rows=tables(), factor=st.sampled_from([2.0, 0.25, 3.7, 1e-3, 1e6]), offset=st.sampled_from([0.0, 1.0, -40.0]))
def test_the_unit_of_a_column_changes_nothing_by_range_or_deviation(rows: Rows, factor: float, offset: float):
    other = {**rows.frame, "z": rows.frame["z"] * factor + offset}
    for numeric in ("range", "sd"):
        for missing in ("maximal", "ignore"):
            ours, theirs = (
                metric_of(rows, numeric=numeric, missing=missing).fit(frame).pairwise(frame)
                for frame in (other, rows.frame)
            )
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)  # an offset costs digits
            if offset == 0 and factor in (2.0, 0.25):
                np.testing.assert_array_equal(ours, theirs)


@several
@given(rows=tables())
def test_the_distance_of_two_rows_alone_is_that_of_all_together(rows: Rows):
    asked = {**rows.frame, "mail": objects(["new words here", *rows.frame["mail"][1:]])}
    asked["name"] = objects(["never seen", *rows.frame["name"][1:]])
    metric = metric_of(rows).fit(rows.frame)
    together = metric.pairwise(asked)
    for a in range(min(len(rows), 4)):
        for b in range(min(len(rows), 4)):
            one, other = ({name: column[i] for name, column in asked.items()} for i in (a, b))
            assert metric(one, other) == together[a, b]
            account = metric.explain(asked, row=a, other=b)
            assert account.value == together[a, b]
            label = "d²"
            assert sum(account.sections[0].table[label]) == pytest.approx(together[a, b] ** 2, rel=1e-12)


# What must not matter


@every_kind
@every_missing
@several
@given(rows=tables(), asked=tables(), data=st.data())
def test_the_order_of_rows_changes_no_prediction(kind: Any, missing: str, rows: Rows, asked: Rows, data: Any):
    turned = rows.take(np.array(data.draw(st.permutations(range(len(rows))))))
    for k in (1, 2, 5, "loo"):
        for weights in ("uniform", "distance"):
            metric = metric_of(rows, 1, missing=missing)
            ours, theirs = (fitted(r, kind, k, weighted=True, metric=metric, weights=weights) for r in (turned, rows))
            assert ours.n_neighbors_ == theirs.n_neighbors_
            assert_same(answers(ours, asked.frame), answers(theirs, asked.frame))
            np.testing.assert_array_equal(ours.predict(asked.frame), theirs.predict(asked.frame))


@every_kind
@every_missing
@several
@given(rows=tables(), asked=tables())
def test_a_weight_of_n_is_n_copies(kind: Any, missing: str, rows: Rows, asked: Rows):
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    for k in (1, 4, "loo"):
        for weights in ("uniform", "distance", "squared"):
            for nominal, numeric in (("overlap", "range"), ("mvdm", "sd")):
                if kind is NeighborsRegressor and nominal == "mvdm":
                    continue
                metric = metric_of(rows, 1, missing=missing, nominal=nominal, numeric=numeric)
                ours = fitted(rows, kind, k, weighted=True, metric=metric, weights=weights)
                theirs = fitted(copies, kind, k, metric=metric, weights=weights)
                scales = [[part.scale for part in model.metric_.distance_.differences] for model in (ours, theirs)]
                np.testing.assert_allclose(*scales, rtol=1e-12)
                if numeric == "sd":  # deviations differ by rounding, and so may ties
                    continue
                if k == "loo":
                    np.testing.assert_allclose(ours.choice_["score"], theirs.choice_["score"], rtol=0, atol=1e-12)
                else:
                    assert_same(answers(ours, asked.frame), answers(theirs, asked.frame))


@every_kind
@several
@given(rows=tables(), asked=tables(), data=st.data())
def test_the_names_of_values_do_not_matter(kind: Any, rows: Rows, asked: Rows, data: Any):
    other = dict(zip(NAMES, data.draw(st.permutations(["p", "q", "a long one", "z"])), strict=True))

    def renamed(frame: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {**frame, "name": objects([other.get(v) for v in frame["name"]])}

    for nominal in ("overlap", "mvdm"):
        if kind is NeighborsRegressor and nominal == "mvdm":
            continue
        metric = metric_of(rows, nominal=nominal)
        ours = kind(3, metric=metric).fit(renamed(rows.frame), rows.told(kind))
        theirs = kind(3, metric=metric).fit(rows.frame, rows.told(kind))
        np.testing.assert_array_equal(answers(ours, renamed(asked.frame)), answers(theirs, asked.frame))


@several
@given(rows=tables(), asked=tables())
def test_the_names_of_classes_do_not_matter_as_long_as_their_order_stays(rows: Rows, asked: Rows):
    other = dict(zip(CLASSES, (3, 5, 8, 13), strict=True))
    theirs = fitted(rows, NeighborsClassifier)
    ours = NeighborsClassifier(3, metric=metric_of(rows)).fit(rows.frame, [other[c] for c in rows.classes])
    np.testing.assert_array_equal(ours.predict_proba(asked.frame), theirs.predict_proba(asked.frame))
    assert [other[c] for c in theirs.predict(asked.frame)] == ours.predict(asked.frame).tolist()


@every_missing
@every_power
@several
@given(rows=tables(), asked=tables(max_rows=8))
def test_the_search_finds_what_comparing_all_rows_finds(p: Any, missing: str, rows: Rows, asked: Rows):
    model = fitted(rows, NeighborsClassifier, metric=metric_of(rows, p, missing=missing))
    d = model.metric_.pairwise(asked.frame, rows.frame)
    place = {name: i for i, name in enumerate(model.classes_.tolist())}
    order = [sorted(range(len(rows)), key=lambda i: (line[i], place[rows.classes[i]], i)) for line in d]
    for k in range(1, len(rows) + 1):
        distances, ids = model.kneighbors(asked.frame, k)
        assert ids.tolist() == [line[:k] for line in order]
        np.testing.assert_array_equal(distances, np.take_along_axis(d, ids, axis=1))
    for radius in {0.0, float(np.median(d)), float(d.max())}:
        distances, ids = model.radius_neighbors(asked.frame, radius)
        for i, line in enumerate(order):
            assert ids[i].tolist() == [j for j in line if d[i, j] <= radius]
            np.testing.assert_array_equal(distances[i], d[i, ids[i]])


@every_kind
@several
@given(rows=tables(), asked=tables())
def test_a_model_that_was_saved_or_pickled_gives_the_same_answers(kind: Any, rows: Rows, asked: Rows):
    for given_ in ({}, {"k": "loo", "weights": "distance"}, {"metric": metric_of(rows, np.inf, missing="ignore")}):
        model = fitted(rows, kind, weighted=True, **given_)
        with tempfile.TemporaryDirectory() as folder:
            countwise.save(model, Path(folder) / "model.json")
            loaded = countwise.load(Path(folder) / "model.json")
        for other in (loaded, pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(answers(other, asked.frame), answers(model, asked.frame))
            assert other.n_neighbors_ == model.n_neighbors_
            for mine, theirs in zip(other.kneighbors(n_neighbors=2), model.kneighbors(n_neighbors=2), strict=True):
                np.testing.assert_array_equal(mine, theirs)
            assert repr(other.metric) == repr(model.metric)
            assert other.explain(asked.frame).answer == model.explain(asked.frame).answer


@every_kind
@several
@given(rows=tables(text=False), asked=tables(text=False))
def test_numbers_of_single_precision_are_those_of_double(kind: Any, rows: Rows, asked: Rows):
    def single(frame: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: c.astype(np.float32) if c.dtype == float else c for name, c in frame.items()}

    for numeric in ("range", "sd", "none", "mvdm"):
        if kind is NeighborsRegressor and numeric == "mvdm":
            continue
        metric = metric_of(rows, numeric=numeric, n_bins=3)
        model = kind(3, metric=metric).fit(rows.frame, rows.told(kind))
        other = kind(3, metric=metric).fit(single(rows.frame), rows.told(kind))
        np.testing.assert_array_equal(answers(other, single(asked.frame)), answers(model, asked.frame))
        np.testing.assert_array_equal(answers(other, asked.frame), answers(model, asked.frame))


@every_kind
@examples(4)
@given(rows=tables(min_rows=4), asked=tables())
def test_frames_of_every_kind_give_the_same(kind: Any, rows: Rows, asked: Rows):
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))

    def plain(frame: dict[str, np.ndarray]) -> dict[str, list[Any]]:
        return {name: [None if v is None or v != v else v for v in c.tolist()] for name, c in frame.items()}

    def records(frame: dict[str, np.ndarray]) -> list[dict[str, Any]]:
        columns = plain(frame)
        return [{name: c[i] for name, c in columns.items()} for i in range(len(frame["x"]))]

    strings = ("name", "grade", "person", "mail")
    schema = {name: pl.String if name in strings else pl.Float64 for name in rows.frame}
    arrow = pa.schema([(name, pa.string() if name in strings else pa.float64()) for name in rows.frame])
    makers = {
        "pandas": pd.DataFrame,
        "polars": lambda frame: pl.DataFrame(plain(frame), schema=schema),
        "pyarrow": lambda frame: pa.table(plain(frame), schema=arrow),
        "lists": plain,
        "records": records,
    }
    known = types_of(rows) | dict.fromkeys(("x", "z"), "numeric") | dict.fromkeys(("name", "person"), "nominal")
    metric = metric_of(rows, types=known)
    model = fitted(rows, kind, metric=metric)
    for make in makers.values():
        other = kind(3, metric=metric).fit(make(rows.frame), rows.told(kind))
        np.testing.assert_array_equal(answers(other, make(asked.frame)), answers(model, asked.frame))
        np.testing.assert_array_equal(answers(model, make(asked.frame)), answers(model, asked.frame))


@examples(4)
@given(rows=tables())
def test_an_array_gives_what_its_columns_give(rows: Rows):
    array = np.stack([rows.frame["x"], rows.frame["z"]], axis=1)
    frame = {"x": rows.frame["x"], "z": rows.frame["z"]}
    ours = NeighborsClassifier(2).fit(array, rows.classes).predict_proba(array)
    np.testing.assert_array_equal(ours, NeighborsClassifier(2).fit(frame, rows.classes).predict_proba(frame))
    mixed = np.stack([rows.frame["name"], rows.frame["grade"]], axis=1)
    named = {"a": rows.frame["name"], "b": rows.frame["grade"]}
    np.testing.assert_array_equal(
        NeighborsClassifier(2).fit(mixed, rows.classes).predict_proba(mixed),
        NeighborsClassifier(2).fit(named, rows.classes).predict_proba(named),
    )
