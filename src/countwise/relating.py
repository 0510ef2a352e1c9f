"""Tallies of a relation: each is asked of the engine in the form of a group-by, and filled from its answer.

Names are answered by every combination of values that there is and how often: a small table with weights, which is
counted as any other. Numbers are answered by sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.attributes import Nominal, Numeric
from countwise.cells import cell_of
from countwise.errors import RowsRefused, TableError, did_you_mean, listed
from countwise.frames import is_missing, taken
from countwise.parts import Part, checked
from countwise.schema import Schema
from countwise.sources.memory import memory
from countwise.sources.relation import MOST_GROUPS, Look, Relation
from countwise.tallies import Counts, Moments, Scatter, Values
from countwise.tallies._cells import Cells

__all__ = ["Gathered", "gathered", "rows_of"]


@dataclass(frozen=True, eq=False)
class Gathered:
    """What a relation was found to hold.

    Parameters
    ----------
    schema : Schema
    target : Nominal
    tallies : dict of str to tally
    n_rows, left_out : int
        Rows with a target, and without.
    label_type : dtype or None
        In which dtype the classes are kept.
    """

    schema: Schema
    target: Nominal
    tallies: dict[str, Any]
    n_rows: int
    left_out: int
    label_type: np.dtype[Any] | None


def gathered(
    relation: Relation,
    schema: Schema,
    target: Nominal,
    parts_of: Callable[[Schema, Nominal], list[Part]],
    blanks_of: Callable[[list[Part], Nominal], dict[str, Any]],
    what: str,
) -> Gathered:
    """Fill the tallies that a model asks for.

    Parameters
    ----------
    relation : Relation
    schema : Schema
        What the columns are; domains that grow are learned from the answers.
    target : Nominal
        The class.
    parts_of, blanks_of : callable
        What is to be tallied once the domains are known, and the requests.
    what : str
        What asks, for errors.
    """
    if relation.target is None:
        raise TableError("A relation is learned from by a target.", hint="name the column of the class: y='...'.")
    if relation.target != target.name:
        raise TableError(f"The model tells {target.name!r}, not {relation.target!r}.")
    lost = [name for name in schema if name not in relation.dtypes]
    if lost:
        raise TableError(
            f"The relation lacks the column{'s' * (len(lost) > 1)} {listed(lost)}.",
            hint=did_you_mean(lost[0], relation.dtypes) or f"it has {listed(relation.dtypes)}.",
        )
    names = [a.name for a in schema.attributes if isinstance(a, Nominal)]
    numbers = [a.name for a in schema.attributes if isinstance(a, Numeric)]
    rows, left_out = rows_of(relation)
    if rows == 0:
        raise TableError("The relation is empty: at least one row with a target is needed.")
    look = relation.look(numbers, names)
    _refuse_identifiers(look, schema, rows)
    classes, weights = relation.groups([str(relation.target)])
    told = memory(_with_a_column(classes), relation.target, weights)
    target = target.learn(told.target)
    frames = {name: relation.groups([str(relation.target), name]) for name in names}
    schema = Schema(
        a.learn(frames[a.name][0].columns[a.name]) if isinstance(a, Nominal) else a for a in schema.attributes
    )
    parts = parts_of(schema, target)
    blanks = blanks_of(parts, target)
    tallies: dict[str, Any] = {}
    by_key = {part.key: part for part in parts}
    moments = [key for key, blank in blanks.items() if isinstance(blank, Moments)]
    columns = [by_key[key].columns[0] for key in moments]
    relation.refuse_infinity([name for name in schema if name not in columns])
    if moments:
        tallies.update(_moments(relation, look, target, [blanks[key] for key in moments], columns))
    for key, blank in blanks.items():
        if key in tallies:
            continue
        part = by_key.get(key)
        if isinstance(blank, Scatter) and not blank.higher:
            tallies[key] = _scattered(relation, look, target, blank)
            continue
        if not isinstance(blank, Counts | Values):
            raise RowsRefused(
                f"{what} needs the rows of {key!r}; the relation has {rows:,}.",
                hint="fetch them into memory, or give the column another law.",
            )
        tallies[key] = _counted(relation, look, schema, target, part, blank, frames, (classes, weights))
    return Gathered(schema, target, {key: tallies[key] for key in blanks}, rows, left_out, told.label_type)


def rows_of(relation: Relation) -> tuple[int, int]:
    """How many rows have a target, and how many have none."""
    if relation.target is None:
        return relation.size(), 0
    target = relation.target
    frame, counts = replace(relation, weights=None).groups([target], known=False)
    column = frame.columns[target]
    gone = np.array([is_missing(cell_of(taken(column, np.array([i])))) for i in range(frame.n_rows)], dtype=bool)
    return int(counts[~gone].sum()), int(counts[gone].sum())


def _refuse_identifiers(look: Look, schema: Schema, rows: int) -> None:
    """A column with a value of its own in nearly every row would bring the whole column here."""
    for name, n in look.distinct.items():
        a = schema[name]
        assert isinstance(a, Nominal)  # noqa: S101 - asked of names alone
        if n > MOST_GROUPS or (a.grows and n > 10_000 and n > 0.5 * rows):
            raise TableError(
                f"{name!r} looks like an identifier: {n:,} different values in {rows:,} rows.",
                hint="leave the column out.",
            )


def _with_a_column(frame: Any) -> Any:
    """A frame of the target alone is no table; it gets a column that is not looked at."""
    columns = {**frame.columns, "cw_any": np.zeros(frame.n_rows)}
    return replace(frame, columns=columns)


def _counted(
    relation: Relation,
    look: Look,
    schema: Schema,
    target: Nominal,
    part: Part | None,
    blank: Any,
    frames: dict[str, Any],
    classes: tuple[Any, NDArray[Any]],
) -> Any:
    """Counts, or the values themselves, from the combinations that are there."""
    if part is None:
        frame, weights = classes
        return blank.fill(_encoded(frame, weights, Schema([]), target, []))
    wanted = list(part.columns)
    if len(wanted) == 1 and wanted[0] in frames:
        frame, weights = frames[wanted[0]]
    else:
        frame, weights = relation.groups([target.name, *wanted])
    own = Schema(schema[name] for name in wanted)
    return blank.fill(_encoded(frame, weights, own, target, [part]))


def _encoded(frame: Any, weights: NDArray[Any], schema: Schema, target: Nominal, parts: Sequence[Part]) -> Any:
    codes = target.encode(frame.columns[target.name], strict=True)
    table = schema.encode(frame, weights) if len(schema) else None
    if table is None:
        from countwise.table import Table

        return Table({target.name: codes}, frame.n_rows, weights)
    return checked(table.with_column(target.name, codes), parts)


def _scattered(relation: Relation, look: Look, target: Nominal, blank: Scatter) -> Scatter:
    """Means and products of whole rows, for each pattern of what is there."""
    flags = [a.name for a in blank.of.attributes]
    numbers: list[tuple[str, Any]] = []
    for a in blank.of.attributes:
        numbers += [(a.name, value) for value in a.values] if isinstance(a, Nominal) else [(a.name, None)]
    frame = relation.products(numbers, look.means, flags)
    codes = target.encode(frame.columns[target.name], strict=True)
    shift = np.array([look.means[name] if value is None else 0.0 for name, value in numbers])

    def column(name: str) -> NDArray[np.float64]:
        return np.nan_to_num(np.asarray(frame.columns[name], dtype=np.float64))

    n, size, k = column("cw_w"), len(numbers), len(target.values)
    sums = np.stack([column(f"cw_s{j}") for j in range(size)], axis=1)
    products = np.empty((frame.n_rows, size, size))
    for j in range(size):
        for i in range(j + 1):
            products[:, j, i] = products[:, i, j] = column(f"cw_q{j}_{i}")
    present = np.stack([column(f"cw_f{i}") > 0 for i in range(len(flags))], axis=1)
    found: dict[bytes, Cells] = {}
    for row in range(frame.n_rows):
        there = present[row][blank.of.owners]
        if not there.any() or not n[row] > 0:
            continue
        width = int(there.sum())
        key = np.packbits(present[row]).tobytes()
        if key not in found:
            found[key] = Cells(np.zeros(k), np.zeros((k, width)), np.zeros((k, width, width)))
        cells, c = found[key], int(codes[row])
        s = sums[row][there]
        assert cells.scatter is not None  # noqa: S101 - just made
        cells.n[c], cells.mean[c] = n[row], s / n[row] + shift[there]
        cells.scatter[c] = products[row][np.ix_(there, there)] - np.outer(s, s) / n[row]
    return replace(blank, cells=found)


def _moments(
    relation: Relation, look: Look, target: Nominal, blanks: Sequence[Moments], columns: Sequence[str]
) -> dict[str, Moments]:
    """n, mean and M2 of numbers from sums of differences from a pilot mean."""
    frame = relation.sums(columns, look.means)
    codes = target.encode(frame.columns[target.name], strict=True)
    k = len(target.values)
    found = {}
    for j, (blank, name) in enumerate(zip(blanks, columns, strict=True)):
        n, s, q = (np.zeros(k) for _ in range(3))
        for to, word in ((n, "c"), (s, "s"), (q, "q")):
            np.add.at(to, codes, np.nan_to_num(np.asarray(frame.columns[f"cw_{word}{j}"], dtype=np.float64)))
        safe = np.maximum(n, 1e-300)
        mean = np.where(n > 0, look.means[name] + s / safe, 0.0)
        m2 = np.where(n > 1, np.maximum(q - s * s / safe, 0.0), 0.0)
        found[blank.of.name] = replace(blank, n=n, mean=mean, m2=m2)
    return found
