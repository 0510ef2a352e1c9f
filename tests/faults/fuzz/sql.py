"""Scoring queries in SQLite and DuckDB, compared with predict_proba."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np

import countwise as cw

from ...strategies.cells import cells
from ...strategies.containers import mapping_of_lists
from ...strategies.draw import Draw
from ...strategies.settings import settings
from .guard import Guard
from .invariants import same_numbers

__all__ = ["case"]

_MODELS = [cw.NaiveBayesClassifier, cw.TreeClassifier, cw.DiscriminantClassifier, cw.RuleClassifier]
_NAMES = [
    "a",
    "b",
    "A",
    "ü",
    "a b",
    '"',
    "'",
    "select",
    "cw_l0",
    "p_p",
    "prediction",
    "x.y",
    "1",
    "a;--",
    "%",
    "\\",
    "ROWID",
    "t",
]
_TYPES = {"number": ("REAL", "DOUBLE"), "whole": ("INTEGER", "BIGINT"), "nominal": ("TEXT", "VARCHAR"),
          "bool": ("INTEGER", "BOOLEAN"), "odd_strings": ("TEXT", "VARCHAR"), "far": ("REAL", "DOUBLE"),
          "date": ("TEXT", "DATE")}  # fmt: skip


def case(draw: Draw, guard: Guard) -> None:
    rows, width = draw.integer(6, 25), draw.integer(1, 4)
    names = list(dict.fromkeys(draw.pick(_NAMES) if draw.chance(30) else f"c{j}" for j in range(width)))
    kinds = [draw.often(15, ["number", "nominal", "whole"], list(_TYPES)) for _ in names]
    columns = [_storable(cells(draw, kind, rows, draw.pick([0, 15]))) for kind in kinds]
    y = ["p", "q", *(draw.pick(["p", "q"]) for _ in range(rows - 2))]
    cls = draw.pick(_MODELS)
    chosen = settings(draw, cls, names, 6)
    X = mapping_of_lists(draw, names, columns)
    model = guard(f"{cls.__name__}(**{chosen!r}).fit({X!r}, {y})", lambda: cls(**chosen).fit(X, y))
    if not model.ok:
        return
    expected = guard("predict_proba", lambda: model.value.predict_proba(X))
    engine, dialect = draw.pick([(_sqlite, "sqlite"), (_duckdb, "duckdb")])
    form = (
        {"form": draw.pick(["join", "case"])} if cls in (cw.NaiveBayesClassifier, cw.DiscriminantClassifier) else {}
    )
    query = guard(f"to_sql({dialect}, **{form})", lambda: model.value.to_sql("t", dialect, **form))
    if not expected.ok or not query.ok:
        return
    table = _created(engine, names, kinds, columns)
    if table is None:
        return
    try:
        answers = sorted(table.execute(query.value).fetchall(), key=lambda row: row[0])  # a join has no order
        found = np.array([row[-2:] for row in answers], dtype=float)
    except Exception as error:
        guard.holds(
            False, f"{dialect} refuses a query of {cls.__name__}", f"{type(error).__name__}: {error} {names} {kinds}"
        )
        return
    agrees = same_numbers(found, expected.value, 1e-6)
    guard.holds(
        agrees, f"{dialect} differs: {cls.__name__}", f"{names} {kinds} {found.tolist()} {expected.value.tolist()}"
    )


def _storable(values: list[Any]) -> list[Any]:
    """Databases take no lone surrogates and no NUL."""
    return [None if isinstance(v, str) and ("\x00" in v or "\ud800" in v) else v for v in values]


def _sqlite() -> tuple[Any, int]:
    return sqlite3.connect(":memory:"), 0


def _duckdb() -> tuple[Any, int]:
    import duckdb

    return duckdb.connect(), 1


def _created(engine: Any, names: list[str], kinds: list[str], columns: list[list[Any]]) -> Any:
    """A connection with the table t, or None if it cannot have such columns; the first column numbers the rows."""
    connection, which = engine()
    quoted = ['"' + name.replace('"', '""') + '"' for name in ("row of t", *names)]
    types = ["INTEGER", *(_TYPES[kind][which] for kind in kinds)]
    try:
        connection.execute(f"create table t ({', '.join(f'{q} {t}' for q, t in zip(quoted, types, strict=True))})")
    except Exception:  # names that differ only by case, for example
        return None
    cells = zip(*columns, strict=True)
    rows = [[i, *(str(v) if which == 0 and hasattr(v, "year") else v for v in row)] for i, row in enumerate(cells)]
    connection.executemany(f"insert into t values ({', '.join('?' * len(quoted))})", rows)
    return connection
