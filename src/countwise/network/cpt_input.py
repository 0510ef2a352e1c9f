"""Tables as a person writes them: lists, or values by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.errors import OptionError, did_you_mean, listed

__all__ = ["table_of", "values_in"]

_OFF = 1e-6  # by how much the numbers of a row may miss 1


def values_in(table: Any, parents: int) -> tuple[Any, ...] | None:
    """The values that a table given by name has numbers for; None if it does not say."""
    if not isinstance(table, Mapping):
        return None
    if not parents:
        return tuple(table)
    rows = [row for row in table.values() if isinstance(row, Mapping)]
    return tuple(dict.fromkeys(value for row in rows for value in row)) or None


def table_of(of: Nominal, parents: Sequence[Nominal], table: Any) -> Floats:
    """P(node | parents) as an array, an axis for each parent and the last for the node.

    Parameters
    ----------
    of : Nominal
        The node.
    parents : sequence of Nominal
        What it depends on.
    table : array-like or mapping
        Numbers with an axis for each parent and the last for the node (or two values, of which one number tells the
        second); or ``{value: p}`` without parents, ``{parent's value: {value: p}}`` with one, and
        ``{(value, value): {value: p}}`` with several.
    """
    shape = tuple(len(a.values) for a in (*parents, of))
    if isinstance(table, Mapping):
        found = np.full(shape, np.nan)
        for key, row in _rows_of(table, len(parents)):
            place = tuple(_code(a, value) for a, value in zip(parents, _key(key, parents), strict=True))
            found[place] = _row(of, row)
        lost = np.argwhere(np.isnan(found).any(axis=-1))
        if len(lost):
            case = [a.values[i] for a, i in zip(parents, lost[0].tolist(), strict=True)]
            raise OptionError(f"The table of {of.name!r} has no numbers for {listed(case)}.")
    else:
        try:
            found = np.array(table, dtype=np.float64)
        except (TypeError, ValueError):
            raise OptionError(f"The table of {of.name!r} is no table of numbers.") from None
        if found.shape != shape:
            raise OptionError(
                f"The table of {of.name!r} has the shape {found.shape}; it must be {shape}.",
                hint=f"an axis for each of {listed([a.name for a in (*parents, of)])}"
                + ("." if parents else "; arcs are drawn before tables."),
            )
    return _sound(of.name, found)


def _rows_of(table: Mapping[Any, Any], parents: int) -> list[tuple[Any, Any]]:
    return list(table.items()) if parents else [((), table)]


def _key(key: Any, parents: Sequence[Nominal]) -> tuple[Any, ...]:
    found = (key,) if len(parents) == 1 and not (isinstance(key, tuple) and len(key) == 1) else tuple(key)
    if len(found) != len(parents):
        raise OptionError(f"{key!r} must name a value of each of {listed([a.name for a in parents])}.")
    return found


def _code(a: Nominal, value: Any) -> int:
    if value not in a.values:
        raise OptionError(
            f"{a.name!r} has no value {value!r}.",
            hint=did_you_mean(value, a.values) or f"its values are {listed(a.values)}.",
        )
    return a.values.index(value)


def _row(of: Nominal, row: Any) -> Floats:
    if isinstance(row, Mapping):
        numbers = np.zeros(len(of.values))
        for value, p in row.items():
            numbers[_code(of, value)] = float(p)
        lost = [v for v in of.values if v not in row]
        rest = 1.0 - float(numbers.sum())
        if len(lost) == 1 and rest > _OFF:  # the last is what the others leave
            numbers[_code(of, lost[0])] = rest
        return numbers
    numbers = np.asarray(row, dtype=np.float64)
    if numbers.shape != (len(of.values),):
        raise OptionError(f"A row of {of.name!r} needs {len(of.values)} numbers, one for each value; not {row!r}.")
    return numbers


def _sound(name: str, table: Floats) -> Floats:
    """The table with rows that sum to 1; those that miss it by more than rounding are an error."""
    if not np.isfinite(table).all() or (table < 0).any():
        raise OptionError(f"The table of {name!r} has numbers that are no probabilities.")
    sums = table.sum(axis=-1, keepdims=True)
    off = np.abs(sums - 1.0)
    if off.size and off.max() > _OFF:
        at = np.unravel_index(int(np.argmax(off)), sums.shape)
        raise OptionError(f"A row of the table of {name!r} sums to {float(sums[at]):.6g}, not to 1.")
    return np.where(off > 1e-15, table / np.where(sums > 0, sums, 1.0), table)
