"""Tallies: what is counted, wherever the rows are.

A tally is a commutative monoid with subtraction: a blank one is zero, `+`
merges, `-` takes back, and a blank one is also the request for a filled one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from countwise.data.attributes import Nominal
from countwise.data.columns import refuse_infinity
from countwise.data.derived import AsGiven, Derived
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.tallies._base import BLOCK, Progress, Tally, shortfall
from countwise.tallies.counts import Counts
from countwise.tallies.moments import Moments
from countwise.tallies.rows import Rows
from countwise.tallies.scatter import Scatter
from countwise.tallies.values import Values, all_ones
from countwise.tallies.words import Words

__all__ = [
    "BLOCK",
    "BuildRequests",
    "Counted",
    "Counts",
    "Moments",
    "Progress",
    "Request",
    "Rows",
    "Scatter",
    "Tally",
    "Values",
    "Words",
    "add_all",
    "all_ones",
    "derived_table",
    "fill_all",
    "shortfall",
    "tally_from",
]


@dataclass(frozen=True, slots=True)
class Request:
    """A blank tally, and the column that it is about.

    Parameters
    ----------
    derived : Derived or None
        The column; None for the counts of the classes.
    blank : Tally
        To be filled.
    shows_infinity : bool
        Whether an infinite number shows in the tally, so that it need not be looked for.
    """

    derived: Derived | None
    blank: Any
    shows_infinity: bool = False


BuildRequests: TypeAlias = Callable[[Schema, Nominal], Mapping[str, Request]]


@dataclass(frozen=True, eq=False)
class Counted:
    """What a source has counted.

    Parameters
    ----------
    schema : Schema
        The attributes with their domains.
    target : Nominal
        The target with its classes.
    tallies : dict of str to tally
        Filled, by the keys of the requests.
    n_rows : int
        Rows with a target.
    label_type : dtype or None
        In which dtype the user keeps the classes.
    """

    schema: Schema
    target: Nominal
    tallies: dict[str, Any]
    n_rows: int
    label_type: np.dtype[Any] | None


def derived_table(table: Table, requests: Mapping[str, Request]) -> Table:
    """The table with the columns that the requests are about.

    An infinite number is an error; it is looked for where the tally would not show it.
    """
    columns = {key: request.derived for key, request in requests.items() if request.derived is not None}
    names = {name for key, derived in columns.items() if not requests[key].shows_infinity for name in derived.columns}
    arrays = {n: c for n, c in table.columns.items() if n in names and isinstance(c, np.ndarray)}
    if arrays:
        refuse_infinity(arrays)
    fresh = {key: derived.derive(table) for key, derived in columns.items() if type(derived) is not AsGiven}
    return Table({**table.columns, **fresh}, table.n_rows, table.weights) if fresh else table


def add_all(ones: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of tallies of the same names; moments, of which there are many, together."""
    many = [name for name, tally in ones.items() if isinstance(tally, Moments)]
    sums = (
        dict(zip(many, Moments.add_many([ones[n] for n in many], [others[n] for n in many]), strict=True))
        if many
        else {}
    )
    return {name: sums[name] if name in sums else tally + others[name] for name, tally in ones.items()}


_KNOWN: dict[str, Any] = {
    "counts": Counts,
    "moments": Moments,
    "rows": Rows,
    "scatter": Scatter,
    "values": Values,
    "words": Words,
}


def fill_all(blanks: Mapping[str, Any], table: Table, progress: Progress | None = None) -> dict[str, Any]:
    """Fill all requests at once, so that those of one kind share a pass over the rows."""
    filled: dict[str, Any] = {}
    for kind in dict.fromkeys(type(blank) for blank in blanks.values()):
        names = [name for name, blank in blanks.items() if type(blank) is kind]
        tallies = kind.fill_many([blanks[name] for name in names], table, progress)
        filled.update(zip(names, tallies, strict=True))
    return {name: filled[name] for name in blanks}


def tally_from(data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """A tally from plain data; only kinds listed here are ever made."""
    return _KNOWN[str(data["tally"])].from_dict(data, attributes)
