"""Tallies: what is counted, wherever the rows are.

A tally is a commutative monoid with subtraction: a blank one is zero, `+`
merges, `-` takes back, and a blank one is also the request for a filled one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countwise.data.table import Table
from countwise.tallies._base import BLOCK, Progress, Tally, shortfall
from countwise.tallies.counts import Counts
from countwise.tallies.moments import Moments
from countwise.tallies.request import BuildRequests, Counted, Request, derived_table
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
