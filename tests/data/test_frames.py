"""One small table with gaps in every form that a user may hold: the posteriors are the same."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from countwise import NaiveBayesClassifier, Schema, samples
from countwise.data.frames import frame_of
from countwise.errors import SchemaError, TableError

WIND = ["n", "s", None, "n", "w", "s", "n", "w"]
TEMP = [1.5, 2.25, 3.0, None, -1.0, 0.5, 4.0, 2.0]
YEARS = [3, None, 0, 2, 5, 1, 1, 4]
WINDY = [True, False, True, None, False, True, True, False]
PLAY = ["no", "no", "yes", "yes", "no", "yes", "yes", "no"]
NAN = float("nan")


def objects(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def floats(cells: list[Any], dtype: Any = np.float64) -> np.ndarray:
    return np.array([NAN if c is None else c for c in cells], dtype=dtype)


def plain() -> dict[str, list[Any]]:
    return {"wind": WIND, "temp": TEMP, "years": YEARS, "windy": WINDY}


def pandas_of(**columns: Any) -> pd.DataFrame:
    usual = {"wind": objects(WIND), "temp": floats(TEMP), "years": floats(YEARS), "windy": objects(WINDY)}
    return pd.DataFrame({**usual, **columns})


def polars_of(**columns: Any) -> pl.DataFrame:
    usual = {
        "wind": pl.Series(WIND, dtype=pl.String),
        "temp": pl.Series(TEMP),
        "years": pl.Series(YEARS),
        "windy": pl.Series(WINDY),
    }
    return pl.DataFrame({**usual, **columns})


def arrow_of(**columns: Any) -> pa.Table:
    usual = {"wind": pa.array(WIND), "temp": pa.array(TEMP), "years": pa.array(YEARS), "windy": pa.array(WINDY)}
    return pa.table({**usual, **columns})


def matrix() -> np.ndarray:
    table = np.empty((8, 4), dtype=object)
    for j, cells in enumerate(plain().values()):
        table[:, j] = objects(cells)
    return table


def structured(kinds: list[tuple[str, Any]]) -> np.ndarray:
    table = np.empty(8, dtype=kinds)
    for name, cells in plain().items():
        table[name] = floats(cells) if table.dtype[name].kind == "f" else objects(cells)
    return table


TABLES: dict[str, Any] = {
    "dict of lists": plain,
    "dict of arrays": lambda: {
        "wind": objects(WIND),
        "temp": floats(TEMP),
        "years": floats(YEARS),
        "windy": objects(WINDY),
    },
    "dict of tuples": lambda: {name: tuple(cells) for name, cells in plain().items()},
    "dict of pandas series": lambda: {name: pandas_of()[name] for name in plain()},
    "dict of polars series": lambda: {name: polars_of()[name] for name in plain()},
    "list of dicts": lambda: [dict(zip(plain(), row, strict=True)) for row in zip(*plain().values(), strict=True)],
    "list of dicts with keys left out": lambda: [
        {k: v for k, v in zip(plain(), row, strict=True) if v is not None}
        for row in zip(*plain().values(), strict=True)
    ],
    "numpy objects": matrix,
    "numpy objects, Fortran order": lambda: np.asfortranarray(matrix()),
    "list of lists": lambda: matrix().tolist(),
    "list of tuples": lambda: [tuple(row) for row in matrix()],
    "structured": lambda: structured([("wind", "O"), ("temp", "f8"), ("years", "f8"), ("windy", "O")]),
    "structured of objects": lambda: structured([(name, "O") for name in plain()]),
    "pandas, object": pandas_of,
    "pandas, object of everything": lambda: pd.DataFrame({name: objects(cells) for name, cells in plain().items()}),
    "pandas, NaN in objects": lambda: pandas_of(wind=objects([NAN if c is None else c for c in WIND])),
    "pandas, NA in objects": lambda: pandas_of(
        wind=objects([pd.NA if c is None else c for c in WIND]),
        windy=objects([pd.NA if c is None else c for c in WINDY]),
    ),
    "pandas, str": lambda: pandas_of(wind=pd.Series(WIND, dtype="str")),
    "pandas, string of Python": lambda: pandas_of(wind=pd.Series(WIND, dtype=pd.StringDtype("python"))),
    "pandas, string of Arrow": lambda: pandas_of(wind=pd.Series(WIND, dtype=pd.StringDtype("pyarrow"))),
    "pandas, category": lambda: pandas_of(wind=pd.Categorical(WIND)),
    "pandas, category in another order": lambda: pandas_of(wind=pd.Categorical(WIND, categories=["w", "n", "s"])),
    "pandas, ordered category": lambda: pandas_of(
        wind=pd.Categorical(WIND, categories=["s", "n", "w"], ordered=True)
    ),
    "pandas, Int64": lambda: pandas_of(years=pd.array(YEARS, dtype="Int64")),
    "pandas, UInt8": lambda: pandas_of(years=pd.array(YEARS, dtype="UInt8")),
    "pandas, Float64": lambda: pandas_of(temp=pd.array(TEMP, dtype="Float64")),
    "pandas, boolean": lambda: pandas_of(windy=pd.array(WINDY, dtype="boolean")),
    "pandas, float32": lambda: pandas_of(temp=floats(TEMP, np.float32), years=floats(YEARS, np.float32)),
    "pandas of Arrow": lambda: arrow_of().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, odd index": lambda: pandas_of().set_index(pd.Index([9, 9, 1, 0, 4, 4, 2, 3])),
    "polars": polars_of,
    "polars, Categorical": lambda: polars_of(wind=pl.Series(WIND, dtype=pl.Categorical)),
    "polars, Enum": lambda: polars_of(wind=pl.Series(WIND, dtype=pl.Enum(["w", "n", "s"]))),
    "polars, Int8": lambda: polars_of(years=pl.Series(YEARS, dtype=pl.Int8)),
    "polars, UInt32": lambda: polars_of(years=pl.Series(YEARS, dtype=pl.UInt32)),
    "polars, Float32": lambda: polars_of(temp=pl.Series(TEMP, dtype=pl.Float32)),
    "polars, NaN for null": lambda: polars_of(temp=pl.Series([NAN if c is None else c for c in TEMP])),
    "polars, Decimal": lambda: polars_of(
        temp=pl.Series([None if c is None else str(c) for c in TEMP]).cast(pl.Decimal(10, 4))
    ),
    "polars, in chunks": lambda: pl.concat([polars_of()[:3], polars_of()[3:]], rechunk=False),
    "arrow": arrow_of,
    "arrow, dictionary": lambda: arrow_of(wind=pa.array(WIND).dictionary_encode()),
    "arrow, large string": lambda: arrow_of(wind=pa.array(WIND, type=pa.large_string())),
    "arrow, string view": lambda: arrow_of(wind=pa.array(WIND, type=pa.string_view())),
    "arrow, int8": lambda: arrow_of(years=pa.array(YEARS, type=pa.int8())),
    "arrow, float32": lambda: arrow_of(temp=pa.array(TEMP, type=pa.float32())),
    "arrow, in chunks": lambda: pa.concat_tables([arrow_of().slice(0, 3), arrow_of().slice(3)]),
    "arrow, dictionaries that differ from chunk to chunk": lambda: pa.concat_tables(
        [
            arrow_of(
                wind=pa.chunked_array(
                    [pa.array(WIND[:3]).dictionary_encode(), pa.array(WIND[3:]).dictionary_encode()]
                )
            )
        ]
    ),
    "arrow, record batch": lambda: arrow_of().combine_chunks().to_batches()[0],
}
NAMELESS = {"numpy objects", "numpy objects, Fortran order", "list of lists", "list of tuples"}


def by_hand() -> np.ndarray:
    """The joint that a person would work out: Laplace for the nominal columns, n - 1 for the numbers."""
    joint = np.zeros((8, 2))
    y = np.array(PLAY)
    for c, label in enumerate(["no", "yes"]):
        mine = y == label
        joint[:, c] = np.log(mine.mean())
        for cells in (WIND, WINDY):
            domain = sorted({v for v in cells if v is not None})
            here = [v for v, m in zip(cells, mine, strict=True) if m and v is not None]
            joint[:, c] += [
                0.0 if v is None else np.log((here.count(v) + 1) / (len(here) + len(domain))) for v in cells
            ]
        for cells in (floats(TEMP), floats(YEARS)):
            here = cells[mine & ~np.isnan(cells)]
            mean, sd = here.mean(), here.std(ddof=1)
            logs = -0.5 * ((cells - mean) / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))
            joint[:, c] += np.where(np.isnan(cells), 0.0, logs)
    return joint


@pytest.mark.parametrize("form", list(TABLES))
def test_every_form_of_a_table_gives_the_posteriors_worked_out_by_hand(form):
    table = TABLES[form]()
    model = NaiveBayesClassifier().fit(table, PLAY)
    np.testing.assert_allclose(model.predict_joint_log_proba(table), by_hand(), rtol=1e-12)
    if form in NAMELESS:
        assert list(model.schema_) == ["x0", "x1", "x2", "x3"]
        assert not hasattr(model, "feature_names_in_")
    else:
        assert list(model.schema_) == list(plain())
        assert model.feature_names_in_.tolist() == list(plain())


@pytest.mark.parametrize("form", [form for form in TABLES if form not in NAMELESS])
def test_a_model_of_one_form_answers_every_other(form):
    model = NaiveBayesClassifier().fit(pandas_of(), PLAY)
    np.testing.assert_allclose(model.predict_joint_log_proba(TABLES[form]()), by_hand(), rtol=1e-12)
    working = model.explain(TABLES[form](), row=2, interval=None)
    assert working.log_joint == pytest.approx(tuple(by_hand()[2]), rel=1e-12)
    assert [step.state for step in working.steps] == ["missing", "known", "known", "known"]


@pytest.mark.parametrize("form", [form for form in TABLES if form not in NAMELESS])
def test_a_model_learns_on_from_every_other_form(form):
    both = NaiveBayesClassifier().fit(plain(), PLAY).partial_fit(TABLES[form](), PLAY)
    wanted = NaiveBayesClassifier().fit({name: cells * 2 for name, cells in plain().items()}, PLAY * 2)
    np.testing.assert_allclose(
        both.predict_joint_log_proba(plain()), wanted.predict_joint_log_proba(plain()), rtol=1e-12
    )


@pytest.mark.parametrize(
    "form",
    [
        "dict of lists",
        "pandas, object",
        "pandas, category",
        "polars",
        "polars, Enum",
        "arrow",
        "arrow, dictionary",
        "list of dicts",
    ],
)
def test_the_target_may_be_a_column_of_any_form(form):
    table = TABLES[form]()
    if isinstance(table, pd.DataFrame):
        table = table.assign(play=PLAY)
    elif isinstance(table, pl.DataFrame):
        table = table.with_columns(play=pl.Series(PLAY))
    elif isinstance(table, pa.Table):
        table = table.append_column("play", pa.array(PLAY))
    elif isinstance(table, dict):
        table = {**table, "play": PLAY}
    else:
        table = [{**row, "play": y} for row, y in zip(table, PLAY, strict=True)]
    model = NaiveBayesClassifier().fit(table, "play")
    assert list(model.schema_) == list(plain())
    np.testing.assert_allclose(model.predict_joint_log_proba(table), by_hand(), rtol=1e-12)


@pytest.mark.parametrize(
    "target",
    [
        PLAY,
        tuple(PLAY),
        np.array(PLAY),
        objects(PLAY),
        pd.Series(PLAY),
        pd.Series(PLAY, dtype="category"),
        pd.Series(PLAY, dtype=object),
        pl.Series(PLAY),
        pl.Series(PLAY, dtype=pl.Categorical),
        pl.Series(PLAY, dtype=pl.Enum(["no", "yes"])),
        pa.array(PLAY),
        pa.chunked_array([PLAY[:3], PLAY[3:]]),
        pa.array(PLAY).dictionary_encode(),
    ],
    ids=[
        "list",
        "tuple",
        "str array",
        "object array",
        "pandas str",
        "pandas category",
        "pandas object",
        "polars",
        "polars Categorical",
        "polars Enum",
        "arrow",
        "arrow in chunks",
        "arrow dictionary",
    ],
)
def test_the_target_may_be_a_series_of_any_form(target):
    model = NaiveBayesClassifier().fit(plain(), target)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.predict_joint_log_proba(plain()), by_hand(), rtol=1e-12)
    assert model.predict(plain()).tolist() == ["no" if a > b else "yes" for a, b in by_hand()]


def test_a_series_keeps_its_name_as_the_name_of_the_target():
    for target in (pd.Series(PLAY, name="play"), pl.Series("play", PLAY)):
        assert NaiveBayesClassifier().fit(plain(), target).target_.name == "play"
    assert NaiveBayesClassifier().fit(plain(), pd.Series(PLAY, name="wind")).target_.name != "wind"


# -- dates --------------------------------------------------------------------------------------------------

DATES = [
    dt.datetime(2024, 1, 1),
    dt.datetime(2024, 1, 3, 12),
    None,
    dt.datetime(2024, 2, 1),
    dt.datetime(1969, 12, 31),
    dt.datetime(2024, 1, 9),
    dt.datetime(2024, 5, 1),
    dt.datetime(2023, 1, 1),
]
SECONDS = [None if d is None else d.replace(tzinfo=dt.UTC).timestamp() for d in DATES]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(DATES, dtype="datetime64[ns]"),
        pd.Series(DATES, dtype="datetime64[s]"),
        pd.Series(DATES, dtype="datetime64[ns, UTC]"),
        pd.Series(DATES, dtype="datetime64[ns]").dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
        pl.Series(DATES, dtype=pl.Datetime("us")),
        pl.Series(DATES, dtype=pl.Datetime("ms")),
        pl.Series(DATES, dtype=pl.Datetime("us", "UTC")),
        pa.array(DATES, type=pa.timestamp("us")),
        pa.array(DATES, type=pa.timestamp("s")),
        pa.array(DATES, type=pa.timestamp("ns", "UTC")),
        np.array(DATES, dtype="datetime64[us]"),
        np.array(DATES, dtype="datetime64[ms]"),
        DATES,
        objects(DATES),
    ],
    ids=[
        "pandas ns",
        "pandas s",
        "pandas UTC",
        "pandas Berlin",
        "polars us",
        "polars ms",
        "polars UTC",
        "arrow us",
        "arrow s",
        "arrow UTC",
        "numpy us",
        "numpy ms",
        "list of datetimes",
        "objects",
    ],
)
def test_dates_are_numbers_on_a_scale_in_every_form(column):
    wanted = (
        NaiveBayesClassifier().fit({"when": floats(SECONDS)}, PLAY).predict_joint_log_proba({"when": floats(SECONDS)})
    )
    model = NaiveBayesClassifier().fit({"when": column}, PLAY)
    assert model.schema_["when"].kind == "date"
    np.testing.assert_allclose(model.predict_joint_log_proba({"when": column}), wanted, rtol=1e-9)


DAYS = [None if d is None else d.date() for d in DATES]


@pytest.mark.parametrize(
    "column",
    [pl.Series(DAYS), pa.array(DAYS), np.array(DAYS, dtype="datetime64[D]"), DAYS],
    ids=["polars", "arrow", "numpy", "list of dates"],
)
def test_a_day_is_a_date_too(column):
    midnights = floats(
        [None if d is None else dt.datetime(d.year, d.month, d.day, tzinfo=dt.UTC).timestamp() for d in DAYS]
    )
    wanted = NaiveBayesClassifier().fit({"when": midnights}, PLAY).predict_joint_log_proba({"when": midnights})
    model = NaiveBayesClassifier().fit({"when": column}, PLAY)
    assert model.schema_["when"].kind == "date"
    np.testing.assert_allclose(model.predict_joint_log_proba({"when": column}), wanted, rtol=1e-9)


def test_a_span_of_time_is_a_number_of_seconds():
    spans = [dt.timedelta(seconds=s) for s in (1, 2.5, 4, 8, 3, 9, 1.5, 2)]
    wanted = (
        NaiveBayesClassifier()
        .fit({"x": [s.total_seconds() for s in spans]}, PLAY)
        .predict_joint_log_proba({"x": [s.total_seconds() for s in spans]})
    )
    for column in (pd.Series(spans), pl.Series(spans), pa.array(spans), np.array(spans, dtype="timedelta64[us]")):
        model = NaiveBayesClassifier().fit({"x": column}, PLAY)
        np.testing.assert_allclose(model.predict_joint_log_proba({"x": column}), wanted, rtol=1e-9)


# -- arrays of numbers --------------------------------------------------------------------------------------

NUMBERS = np.array([[1, 5, 2], [2, 3, 7], [3, 3, 1], [4, 9, 2], [7, 1, 8], [1, 2, 3], [2, 8, 8], [6, 4, 4]])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "dtype", ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", ">f8", ">i4", ">f4", "g"]
)
@pytest.mark.parametrize(
    "law", ["gaussian", "kernel", "ranges", "categorical", "poisson", "multinomial", "bernoulli", "auto"]
)
def test_numbers_of_every_dtype_and_layout_give_the_same_joint(law, dtype, order):
    X = NUMBERS.astype(dtype, order=order)
    wanted = NaiveBayesClassifier(law).fit(NUMBERS.astype(float), PLAY).predict_joint_log_proba(NUMBERS.astype(float))
    np.testing.assert_allclose(NaiveBayesClassifier(law).fit(X, PLAY).predict_joint_log_proba(X), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "view", ["every second row", "backwards", "every second column", "read-only", "transposed", "unaligned"]
)
def test_views_of_an_array_are_read_as_they_are(view):
    wide = np.repeat(np.repeat(NUMBERS.astype(float), 2, axis=0), 2, axis=1)
    raw = np.zeros(NUMBERS.size * 8 + 1, dtype=np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(NUMBERS.shape) if view == "unaligned" else None
    if unaligned is not None:
        unaligned[:] = NUMBERS
    X = {
        "every second row": wide[::2, ::2],
        "backwards": NUMBERS.astype(float)[::-1, ::-1][::-1, ::-1],
        "every second column": np.repeat(NUMBERS.astype(float), 2, axis=1)[:, ::2],
        "read-only": np.lib.stride_tricks.as_strided(NUMBERS.astype(float), writeable=False),
        "transposed": np.ascontiguousarray(NUMBERS.astype(float).T).T,
        "unaligned": unaligned,
    }[view]
    wanted = NaiveBayesClassifier().fit(NUMBERS.astype(float), PLAY).predict_joint_log_proba(NUMBERS.astype(float))
    np.testing.assert_allclose(NaiveBayesClassifier().fit(X, PLAY).predict_joint_log_proba(X), wanted, rtol=1e-14)


def test_rows_read_backwards_are_the_rows_backwards():
    X = NUMBERS.astype(float)
    model = NaiveBayesClassifier().fit(X[::-1], PLAY[::-1])
    np.testing.assert_allclose(
        model.predict_joint_log_proba(X[::-1])[::-1],
        NaiveBayesClassifier().fit(X, PLAY).predict_joint_log_proba(X),
        rtol=1e-12,
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_a_numpy_array_of_numbers_is_not_copied(dtype, order):
    X = NUMBERS.astype(dtype, order=order)
    table = Schema.infer(X).encode(X)
    for j in range(3):
        assert np.shares_memory(table[f"x{j}"], X)
        np.testing.assert_array_equal(table[f"x{j}"], X[:, j])


def test_slices_of_a_table_are_not_copied():
    X = NUMBERS.astype(float)
    part = Schema.infer(X).encode(X).slice(2, 5)
    assert np.shares_memory(part["x1"], X)
    assert part["x1"].tolist() == [3, 9, 1]


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "dict"]
)
def test_a_column_of_a_frame_is_not_copied(make):
    frame = make({"x": np.arange(100.0)})
    first, second = (frame_of(frame).columns["x"] for _ in range(2))
    assert np.shares_memory(first, second)
    assert np.shares_memory(Schema.infer(frame).encode(frame)["x"], first)


def test_nothing_given_to_fit_or_predict_is_changed():
    X = NUMBERS.astype(float)
    X[0, 0] = NAN
    frame, records = pandas_of(), TABLES["list of dicts"]()
    before, frame_before, records_before = X.copy(), frame.copy(), [dict(r) for r in records]
    for table in (X, frame, records):
        for law in (None, "kernel", "ranges", "auto", "bernoulli"):
            NaiveBayesClassifier(law).fit(table, PLAY).predict_proba(table)
    np.testing.assert_array_equal(X, before)
    pd.testing.assert_frame_equal(frame, frame_before)
    assert records == records_before


def test_an_array_that_is_read_only_can_be_learned_from():
    X, w = NUMBERS.astype(float), np.ones(8)
    for array in (X, w):
        array.flags.writeable = False
    for law in ("gaussian", "kernel", "ranges", "categorical", "poisson", "multinomial", "bernoulli", "auto"):
        assert NaiveBayesClassifier(law).fit(X, PLAY, sample_weight=w).predict_proba(X).shape == (8, 2)


# -- what a dtype implies -----------------------------------------------------------------------------------


CELLS = ["u", "v", "u", "u"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(CELLS, dtype=pd.CategoricalDtype(["u", "v", "w"])),
        pd.Series(CELLS, dtype=pd.CategoricalDtype(["w", "v", "u"], ordered=True)),
        pd.Categorical(CELLS, categories=["u", "v", "w"]),
        pl.Series(CELLS, dtype=pl.Enum(["u", "v", "w"])),
        pa.DictionaryArray.from_arrays([0, 1, 0, 0], ["u", "v", "w"]),
    ],
    ids=[
        "pandas category",
        "pandas ordered category",
        "pandas Categorical itself",
        "polars Enum",
        "arrow dictionary",
    ],
)
def test_a_domain_that_was_declared_counts_whether_or_not_it_was_met(column):
    """Laplace adds one for each value of the domain; a category that never came is one of them."""
    model = NaiveBayesClassifier().fit({"s": column}, ["a", "b", "a", "b"])
    wanted = [[np.log(0.5) + np.log((2 + 1) / (2 + 3)), np.log(0.5) + np.log((1 + 1) / (2 + 3))]]
    np.testing.assert_allclose(model.predict_joint_log_proba({"s": ["u"]}), wanted, rtol=1e-12)


LEVELS = ["small", "medium", "large"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["small", "large"], dtype=pd.CategoricalDtype(LEVELS, ordered=True)),
        pl.Series(["small", "large"], dtype=pl.Enum(LEVELS)),
        pa.DictionaryArray.from_arrays([0, 2], LEVELS, ordered=True),
    ],
    ids=["pandas", "polars", "arrow"],
)
def test_the_order_of_a_category_is_kept_where_it_means_something(column):
    attribute = Schema.infer({"size": column})["size"]
    assert attribute.kind == "ordinal"
    assert attribute.values == tuple(LEVELS)


def test_kinds_are_told_by_dtype_and_never_by_how_many_values_there_are():
    frame = {
        "a": np.array([0, 1, 0, 1]),
        "b": np.array([0.0, 1.0, 0.0, 1.0]),
        "c": np.array([True, False, True, True]),
        "d": ["0", "1", "0", "1"],
    }
    kinds = {a.name: a.kind for a in Schema.infer(frame).attributes}
    assert kinds == {"a": "numeric", "b": "numeric", "c": "nominal", "d": "nominal"}


def test_column_names_that_are_numbers_are_places():
    frame = pd.DataFrame(NUMBERS)
    model = NaiveBayesClassifier().fit(frame, PLAY)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict_joint_log_proba(frame), model.predict_joint_log_proba(NUMBERS))


DIGITS = ["1", "2", "01", "1"]


@pytest.mark.parametrize(
    "make",
    [dict, pd.DataFrame, pl.DataFrame, pa.table, lambda t: [{"s": c} for c in t["s"]]],
    ids=["dict", "pandas", "polars", "arrow", "records"],
)
def test_strings_that_look_like_numbers_stay_strings(make):
    assert Schema.infer(make({"s": DIGITS}))["s"].values == ("01", "1", "2")


@pytest.mark.parametrize("cell", [None, NAN, np.float32("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT")], ids=str)
def test_every_sign_of_absence_is_a_missing_cell(cell):
    nominal = Schema.infer({"s": objects(["u", cell, "v"])})
    assert nominal["s"].values == ("u", "v")
    assert nominal.encode({"s": objects(["u", cell, "v"])})["s"].tolist() == [0, 2, 1]
    numeric = Schema.infer({"x": objects([1.0, cell, 2.0])}, types={"x": "numeric"}).encode(
        {"x": objects([1.0, cell, 2.0])}
    )["x"]
    assert numeric[[0, 2]].tolist() == [1.0, 2.0]
    assert np.isnan(numeric[1])


def test_an_empty_string_and_a_space_are_values():
    assert Schema.infer({"s": ["", " ", "a"]})["s"].values == ("", " ", "a")


@pytest.mark.parametrize(
    ("dtype", "types", "law"),
    [
        (float, None, "multinomial"),
        (bool, None, "bernoulli"),
        (float, "boolean", "bernoulli"),
        (bool, "count", "multinomial"),
    ],
)
def test_the_columns_of_a_sparse_matrix_are_counts_or_two_valued(dtype, types, law):
    from scipy.sparse import csr_array

    X, y = csr_array(np.eye(4, dtype=dtype)), [0, 1, 0, 1]
    model = NaiveBayesClassifier(types=types).fit(X, y)
    assert model.distributions_["x"].kind == law
    named = NaiveBayesClassifier(law).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), named.predict_proba(X))


def test_a_sparse_matrix_is_not_of_another_kind():
    from scipy.sparse import csr_array

    from countwise.errors import CountwiseError

    with pytest.raises(CountwiseError, match=r"sparse matrix cannot be declared as 'text'.*Hint"):
        NaiveBayesClassifier(types="text").fit(csr_array(np.eye(4)), [0, 1, 0, 1])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "part", [np.s_[:], np.s_[3:], np.s_[::2], np.s_[::-1], np.s_[2:, 1:], np.s_[:, ::-1], np.s_[:, :2]]
)
@pytest.mark.parametrize("mask", [True, False])
def test_rows_are_taken_from_views_of_a_matrix_as_from_columns_of_their_own(order, part, mask) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=(20, 6)), order=order)[part]
    rows = np.arange(len(X)) % 3 == 1 if mask else np.array([5, 1, 1, 7, -1])
    frame = frame_of(X).slice(1, len(X))
    rows = rows[1:] if mask else rows
    taken = frame.take(rows)
    assert taken.n_rows == len(X[1:][rows])
    for j, column in enumerate(taken.columns.values()):
        np.testing.assert_array_equal(column, X[1:][rows][:, j])
        assert not np.shares_memory(column, X)


def test_rows_are_taken_of_a_column_beside_a_matrix() -> None:
    X = np.arange(12.0).reshape(4, 3)
    columns = {"a": X[:, 0], "b": np.array([9, 8, 7, 6]), "c": X[:, 2], "d": X[1, :], "e": X[:, 1]}
    columns["d"] = np.append(columns["d"], 0.0)
    taken = frame_of(columns).take(np.array([3, 0]))
    assert {name: column.tolist() for name, column in taken.columns.items()} == {
        "a": [9, 0], "b": [6, 9], "c": [11, 2], "d": [0, 3], "e": [10, 1]
    }  # fmt: skip


def test_a_sample_is_refused_with_the_way_to_its_table():
    tennis = samples.load("tennis")
    with pytest.raises(TableError, match="pass its frame, or its X and y"):
        NaiveBayesClassifier().fit(tennis, "play")


def test_a_list_of_values_as_a_type_is_refused_with_the_ordinal_it_means():
    with pytest.raises(SchemaError, match=r"Ordinal\('size', \('S', 'M'\)\)"):
        NaiveBayesClassifier(types={"size": ["S", "M"]}).fit({"size": ["S", "M"]}, [0, 1])
