"""Random schemas with tables and models: columns of all types and hostile names, classes of all types."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from countwise import (
    BayesNetworkClassifier,
    Binned,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    RuleClassifier,
    TreeClassifier,
    TreeRegressor,
)

from .names import OWN, TEXTS, hostile

_DAY, _TIME = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)
_BIG = 2**53
MISSING = 0.12


@dataclass
class Column:
    """A column as memory has it, and as a database may store it; `far` are cells that training does not have."""

    kind: str  # "nominal" or "numeric"
    type: pa.DataType
    cell: Callable[[np.random.Generator, int], Any]  # a cell of a row of a class
    far: tuple[Any, ...] = ()
    stored: Callable[[Any], Any] | None = None  # as text
    types: str | None = None  # what the model is told


def _of(values: tuple[Any, ...]) -> Callable[[np.random.Generator, int], Any]:
    return lambda rng, c: values[(rng.integers(0, len(values)) + c * rng.integers(0, 2)) % len(values)]


def _days(rng: np.random.Generator, c: int) -> Any:
    return _DAY + datetime.timedelta(days=int(rng.integers(-300, 300)) + 90 * c)


def _times(rng: np.random.Generator, c: int) -> Any:
    return _TIME + datetime.timedelta(
        seconds=float(rng.normal(c, 1.0)) * 1e6, microseconds=int(rng.integers(0, 10**6))
    )


def _utc(rng: np.random.Generator, c: int) -> Any:
    return _times(rng, c).replace(tzinfo=datetime.UTC)


def _some(rng: np.random.Generator, values: tuple[Any, ...], low: int = 1, high: int = 9) -> tuple[Any, ...]:
    return tuple(values[i] for i in rng.permutation(len(values))[: rng.integers(low, min(high, len(values)) + 1)])


def column(rng: np.random.Generator) -> Column:
    """Return a random column."""
    f, i, t = pa.float64(), pa.int64(), pa.string()
    scale, shift = 10.0 ** int(rng.integers(-6, 7)), float(rng.choice([0.0, 0.0, -3.0, 1e6]))
    makers: list[Callable[[], Column]] = [
        lambda: Column("numeric", f, lambda r, c: shift + scale * float(r.normal(c, 1 + c)), (shift + 9 * scale,)),
        lambda: Column("numeric", f, lambda r, c: scale * float(r.normal(c)), (0.0,), stored=repr),
        lambda: Column("numeric", i, lambda r, c: int(r.integers(-50, 50)) + 10 * c, (10**6,), types="numeric"),
        lambda: Column("numeric", i, lambda r, c: int(r.poisson(2 + c)), (40,), types="count"),
        lambda: Column("numeric", pa.decimal128(12, 2), lambda r, c: decimal.Decimal(int(r.integers(999)) + c) / 100),
        lambda: Column("numeric", pa.date32(), _days),
        lambda: Column("numeric", pa.date32(), _days, stored=str),
        lambda: Column("numeric", pa.timestamp("us"), _times),
        lambda: Column("numeric", pa.timestamp("us", "UTC"), _utc),
        lambda: Column("nominal", t, _of(_some(rng, TEXTS)), ("never seen", "B")),
        lambda: Column("nominal", t, _of(_some(rng, TEXTS)), ("never seen", *TEXTS)),
        lambda: Column("nominal", t, _of(("007", "7.5", "12", "1e3")), ("7", "never")),
        lambda: Column("nominal", pa.bool_(), _of((False, True))),
        lambda: Column("nominal", pa.bool_(), _of((False, True)), stored=lambda v: str(v)),
        lambda: Column("nominal", i, _of((-3, 0, 7, 1000)), (5,), types="nominal"),
        lambda: Column("nominal", i, _of((-3, 0, 7, 1000)), (5,), stored=str, types="nominal"),
        lambda: Column("nominal", i, _of((_BIG + 1, _BIG + 3, 2**60)), (_BIG + 2,), types="nominal"),
        lambda: Column("nominal", f, _of((0.0, 0.1, 1.5)), (2.5,), types="nominal"),
        lambda: Column("nominal", pa.date32(), _of((_DAY, datetime.date(1969, 12, 31), datetime.date(2020, 2, 29))),
                       (datetime.date(2021, 1, 1),), types="nominal"),
        lambda: Column("nominal", pa.timestamp("us"), _of((_TIME, _TIME + datetime.timedelta(microseconds=1500000))),
                       (datetime.datetime(1970, 1, 1),), types="nominal"),
    ]  # fmt: skip
    return makers[rng.integers(0, len(makers))]()


_CLASSES: tuple[tuple[Any, ...], ...] = (
    ("no", "yes"), ("it's", 'say "no"', "é"), (0, 1), (-2, 7, 10), (False, True), ("1", "2", "10"),
    ("x\\", "%s", "a b"),
)  # fmt: skip


@dataclass
class Case:
    """A fitted model, rows to predict as memory has them, and the same rows as a database stores them."""

    seed: int
    model: Any
    memory: pa.Table
    stored: pa.Table
    target: str
    settings: dict[str, Any] = field(default_factory=dict)


def case(seed: int) -> Case:
    """Return the case of a seed; raise the error of `fit`, if the rows do not suffice for the model."""
    rng = np.random.default_rng(seed)
    numeric = rng.random() < 0.25  # for discriminants
    columns = [column(rng) for _ in range(rng.integers(1, 8))]
    columns = [c for c in columns if c.kind == "numeric" or not numeric] or [
        Column("numeric", pa.float64(), lambda r, c: float(r.normal(c)))
    ]
    *names, target = hostile(rng, len(columns) + 1)
    classes = _CLASSES[rng.integers(0, len(_CLASSES))]
    if rng.random() < 0.04:
        names[0], columns[1:] = "P(no)" if rng.random() < 0.5 else f"predicted {target}", columns[1:]
    if len(names) > 1 and rng.random() < 0.06:
        names[1] = names[0].swapcase()
    if len(names) > 1 and rng.random() < 0.04:
        names[:2] = ["n" * 63 + "1", "n" * 63 + "2"]
    names = list(dict.fromkeys(names))
    columns = columns[: len(names)]
    y = rng.integers(0, len(classes), 50)
    y[: len(classes)] = range(len(classes))
    train = {n: _cells(rng, c, y, rng.random() < 0.7, new=False) for n, c in zip(names, columns, strict=True)}
    model = _model(rng, dict(zip(names, columns, strict=True)), numeric)
    regression = isinstance(model, TreeRegressor)
    goal = rng.normal(y).tolist() if regression else [classes[i] for i in y]
    table = pa.table({n: pa.array(v, c.type) for (n, v), c in zip(train.items(), columns, strict=True)})
    model.fit(table.append_column(target, pa.array(goal)), target)
    asked = rng.integers(0, len(classes), 24)
    cells = {n: _cells(rng, c, asked, True, new=True) for n, c in zip(names, columns, strict=True)}
    for values in cells.values():
        values[3] = None
    memory = pa.table({n: pa.array(v, c.type) for (n, v), c in zip(cells.items(), columns, strict=True)})
    stored = {n: _stored(rng, c, v) for (n, v), c in zip(cells.items(), columns, strict=True)}
    return Case(seed, model, memory, _with_others(rng, stored, target, classes, regression), target)


def _cells(rng: np.random.Generator, c: Column, y: Any, gaps: bool, *, new: bool) -> list[Any]:
    found = []
    for k in y:
        value = c.far[rng.integers(0, len(c.far))] if new and c.far and rng.random() < 0.15 else c.cell(rng, int(k))
        found.append(None if gaps and rng.random() < MISSING else value)
    return found


def _stored(rng: np.random.Generator, c: Column, values: list[Any]) -> pa.Array:
    """Return a column as a database has it: some as text, where no number is missing; NaN and infinity in doubles."""
    if c.stored is None:
        if c.type == pa.float64():
            values = [
                rng.choice([np.nan, np.inf, -np.inf]) if v is None and rng.random() < 0.6 else v for v in values
            ]
        return pa.array(values, c.type)
    empty = ("", "abc", "5 apples", None) if c.kind == "numeric" else (None,)
    return pa.array([empty[rng.integers(0, len(empty))] if v is None else c.stored(v) for v in values], pa.string())


def _with_others(
    rng: np.random.Generator, stored: dict[str, Any], target: str, classes: Any, regression: bool
) -> pa.Table:
    """Add a key and columns that the model does not know, such as those of an earlier query."""
    n = len(next(iter(stored.values())))
    others = list(_some(rng, OWN, 0, 6))
    if {"rowid", "oid", "_rowid_"} <= set(others):
        others.remove("oid")  # SQLite could not identify the rows
    if rng.random() < 0.3:
        others += [f"predicted {target}", *([] if regression else [f"P({c})" for c in classes])]
    taken = {name.lower() for name in stored} | {"no"}
    found = {name: pa.array([5.0] * n) for name in others if name.lower() not in taken}
    before = rng.random() < 0.5
    return pa.table(
        {"no": pa.array(range(n), pa.int64()), **(found if before else {}), **stored, **({} if before else found)}
    )


def _model(rng: np.random.Generator, columns: dict[str, Column], numeric: bool) -> Any:
    types = {n: c.types for n, c in columns.items() if c.types}
    if numeric:
        return DiscriminantClassifier(str(rng.choice(["shared", "own", "diagonal", "spherical"])), types=types)
    laws: dict[str, Any] = {}
    for name, c in columns.items():
        if c.kind == "numeric":
            laws[name] = (
                "poisson"
                if c.types == "count"
                else ("gaussian", Binned("equal_frequency", 4), "mdl")[rng.integers(0, 3)]
            )
    bayes = {
        "smoothing": float(rng.choice([0.0, 1.0, 0.5])), "unseen": str(rng.choice(["ignore", "share"])),
        "missing": str(rng.choice(["ignore", "value"])),
    }  # fmt: skip
    if bayes["smoothing"] == 0.0:
        bayes["unseen"] = "ignore"
    missing = str(rng.choice(["fractions", "branch", "majority"]))
    nominal = str(rng.choice(["multiway", "subset", "one_vs_rest"]))
    makers: list[Callable[[], Any]] = [
        lambda: NaiveBayesClassifier(laws, types=types, **bayes),
        lambda: NaiveBayesClassifier(laws, types=types, **bayes),
        lambda: TreeClassifier(types=types, max_depth=5, missing=missing, nominal=nominal, smoothing="laplace"),
        lambda: TreeRegressor(types=types, max_depth=4, missing=missing),
        lambda: RuleClassifier(types=types, default=str(rng.choice(["majority", "abstain"])), simplify=None),
        lambda: RuleClassifier("one_r", types=types),
        lambda: BayesNetworkClassifier("naive", types=types),
    ]  # fmt: skip
    return makers[rng.integers(0, len(makers))]()
