"""Requests: blank tallies with the columns that they are about; and what a source has counted."""

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

__all__ = ["BuildRequests", "Counted", "Request", "derived_table"]


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
