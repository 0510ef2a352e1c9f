"""Tallies: sufficient statistics of a table, such as counts, moments and scatter matrices.

A tally is created blank and filled from the rows of a table. Tallies of two tables can be added (``a + b`` is the
tally of both tables together) and subtracted (``a - b`` removes the rows of `b`). A blank tally is the zero of the
addition.
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
    """Request of a model for a tally of one column.

    Parameters
    ----------
    derived : Derived or None
        Column to be counted. None requests the counts of the classes.
    blank : Tally
        Blank tally to be filled.
    shows_infinity : bool, default=False
        Whether the filled tally reveals an infinite value. If False, the column is checked for infinite values first.

    Examples
    --------
    >>> from countwise import Nominal, Numeric
    >>> from countwise.data.derived import AsGiven
    >>> from countwise.tallies import Moments, Request
    >>> rain, temp = Nominal("rain", ("no", "yes")), Numeric("temp")
    >>> Request(AsGiven(temp), Moments(rain, temp)).derived.columns
    ('temp',)
    """

    derived: Derived | None
    blank: Any
    shows_infinity: bool = False


BuildRequests: TypeAlias = Callable[[Schema, Nominal], Mapping[str, Request]]


@dataclass(frozen=True, eq=False)
class Counted:
    """Filled tallies of a table.

    Parameters
    ----------
    schema : Schema
        Attributes with the domains found in the table.
    target : Nominal
        Target with its classes.
    tallies : dict of str to Tally
        Filled tallies, by the keys of the requests.
    n_rows : int
        Number of rows with a target.
    label_type : dtype or None
        NumPy dtype of the classes in the user's table.

    Examples
    --------
    >>> from countwise import Nominal, Schema
    >>> from countwise.tallies import Counted
    >>> Counted(Schema(), Nominal("rain", ("no", "yes")), {}, 0, None).target.values
    ('no', 'yes')
    """

    schema: Schema
    target: Nominal
    tallies: dict[str, Any]
    n_rows: int
    label_type: np.dtype[Any] | None


def derived_table(table: Table, requests: Mapping[str, Request]) -> Table:
    """Add the derived columns of requests to a table.

    Parameters
    ----------
    table : Table
        Encoded table.
    requests : mapping of str to Request
        Requests by key. The key is the name of the derived column.

    Returns
    -------
    Table
        The table with the derived columns.

    Raises
    ------
    TableError
        If a column has an infinite value that its tally would not reveal.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.data.derived import Positive
    >>> from countwise.data.table import Table
    >>> from countwise.tallies import Counts, Request, derived_table
    >>> positive = Positive.of_column("temp", taken=())
    >>> requests = {"temp > 0": Request(positive, Counts((positive.of,)))}
    >>> derived_table(Table({"temp": np.array([-1.0, 2.0])}, 2), requests)["temp > 0"].tolist()
    [0, 1]
    """
    columns = {key: request.derived for key, request in requests.items() if request.derived is not None}
    names = {name for key, derived in columns.items() if not requests[key].shows_infinity for name in derived.columns}
    arrays = {n: c for n, c in table.columns.items() if n in names and isinstance(c, np.ndarray)}
    if arrays:
        refuse_infinity(arrays)
    fresh = {key: derived.derive(table) for key, derived in columns.items() if type(derived) is not AsGiven}
    return Table({**table.columns, **fresh}, table.n_rows, table.weights) if fresh else table


def add_all(ones: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Add tallies key by key.

    Parameters
    ----------
    ones, others : mapping of str to Tally
        Tallies with the same keys.

    Returns
    -------
    dict of str to Tally
        The sums. All `Moments` are added in one operation.

    Examples
    --------
    >>> from countwise.tallies import Values, add_all
    >>> add_all({"x": Values.from_arrays([1.0])}, {"x": Values.from_arrays([1.0, 2.0])})["x"].n.tolist()
    [3]
    """
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
    """Fill blank tallies from a table; tallies of the same type share a pass over the rows.

    Parameters
    ----------
    blanks : mapping of str to Tally
        Blank tallies by key.
    table : Table
        Encoded table with the columns of the tallies.
    progress : callable or None, default=None
        Function that is called with the number of rows read so far.

    Returns
    -------
    dict of str to Tally
        Filled tallies by key.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.data.table import Table
    >>> from countwise.tallies import Counts, fill_all
    >>> rain = Nominal("rain", ("no", "yes"))
    >>> fill_all({"rain": Counts((rain,))}, Table({"rain": np.array([0, 1, 1], np.uint8)}, 3))["rain"].table.tolist()
    [1, 2]
    """
    filled: dict[str, Any] = {}
    for cls in dict.fromkeys(type(blank) for blank in blanks.values()):
        names = [name for name, blank in blanks.items() if type(blank) is cls]
        tallies = cls.fill_many([blanks[name] for name in names], table, progress)
        filled.update(zip(names, tallies, strict=True))
    return {name: filled[name] for name in blanks}


def tally_from(data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """Return the tally that `to_dict` described.

    Parameters
    ----------
    data : mapping
        Result of the method `to_dict` of a tally.
    attributes : mapping of str to Attribute
        Attributes of the tally by name.

    Returns
    -------
    Tally
        A `Counts`, `Moments`, `Rows`, `Scatter`, `Values` or `Words` tally.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> from countwise.tallies import Counts, tally_from
    >>> rain = Nominal("rain", ("no", "yes"))
    >>> data = Counts((rain,), np.array([1, 2, 0])).to_dict()
    >>> tally_from(data, {"rain": rain}).table.tolist()
    [1, 2]
    """
    return _KNOWN[str(data["tally"])].from_dict(data, attributes)
