"""Fitted models as plain data: the terms, tests and nodes from which engines and SQL queries compute predictions."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.attributes import Date

__all__ = [
    "Choices",
    "Cut",
    "Joint",
    "LookupTerm",
    "Node",
    "NormalTerm",
    "Number",
    "NumberLookup",
    "Presence",
    "RangeTerm",
    "Rate",
    "Rules",
    "Scoring",
    "Test",
    "exact_bins",
    "inputs_of",
    "micros_of",
    "time_of",
    "value_type",
]

_TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?)?", re.ASCII)  # as `data.values.iso_text` writes it


def value_type(values: Sequence[Any]) -> str:
    """Return the type as which values are compared: "boolean", "integer", "number", "date" or "text".

    Examples
    --------
    >>> from countwise.scoring.plan import value_type
    >>> value_type(("1", "2")), value_type((1, 2)), value_type((1, 2.5)), value_type((False, True))
    ('text', 'integer', 'number', 'boolean')
    >>> value_type(("2020-01-01", "2020-01-02 06:30:00"))
    'date'
    """
    types = {type(v) for v in values}
    if not types:
        return "text"
    if types == {bool}:
        return "boolean"
    if types <= {int, float}:
        return "integer" if types == {int} else "number"
    if all(issubclass(t, datetime.date) for t in types):
        return "date"
    return "date" if types == {str} and all(_TIME.fullmatch(v) for v in values) else "text"


def time_of(value: Any) -> datetime.datetime | None:
    """Convert a date or its text to a datetime; return None for any other value."""
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    try:
        found = np.datetime64(value, "us").item()
    except ValueError:
        return None
    return found if isinstance(found, datetime.datetime) else None


def micros_of(value: Any) -> int | None:
    """Convert a date or its text to microseconds since 1970-01-01 UTC; return None for any other value."""
    found = time_of(value)
    if found is None:
        return None
    naive = found.astimezone(datetime.UTC).replace(tzinfo=None) if found.tzinfo else found
    return (naive - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


def exact_bins(values: Floats) -> tuple[Floats, list[int]]:
    """Return edges of bins (low, high] that hold one of some ascending values or none, and the value of each or -1.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.scoring.plan import exact_bins
    >>> edges, places = exact_bins(np.array([1.0, 2.0]))
    >>> edges.round(6).tolist(), places
    ([1.0, 1.0, 2.0, 2.0], [-1, 0, -1, 1, -1])
    """
    edges = np.unique(np.concatenate([np.nextafter(values, -np.inf), values]))
    place = np.minimum(np.searchsorted(values, edges), len(values) - 1)
    return edges, [*np.where(values[place] == edges, place, -1).tolist(), -1]


def inputs_of(schema: Mapping[str, Any]) -> dict[str, bool]:
    """Return the names of all columns, and whether they have dates, which are read as seconds."""
    return {name: isinstance(attribute, Date) for name, attribute in schema.items()}


# -- additive models ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LookupTerm:
    """Term of a nominal column: log P(value | class), shape (values, classes).

    Any other value adds `other`, shape (classes,), or 0 if it is None. A missing value adds 0.
    """

    column: str
    values: tuple[Any, ...]
    logs: Floats
    other: Floats | None = None


@dataclass(frozen=True, eq=False)
class NumberLookup(LookupTerm):
    """Term of a numeric column of which every value is looked up, like those of a nominal column."""


@dataclass(frozen=True, eq=False)
class Cut:
    """Term of a discretized column: log P(bin | class), shape (bins, classes); a bin is (low, high]."""

    column: str
    edges: Floats
    logs: Floats


@dataclass(frozen=True, eq=False)
class NormalTerm:
    """Term of a Gaussian column: log_norm - ((x - mean) · inverse_sd)² / 2; each array has shape (classes,)."""

    column: str
    mean: Floats
    inverse_sd: Floats
    log_norm: Floats

    @property
    def middle(self) -> float:
        """Average of the means of the classes; differences from it lose fewer digits."""
        return float(self.mean.mean())


@dataclass(frozen=True, eq=False)
class Rate:
    """Term of a count column: x · log rate - rate, shape (classes,); log x! is equal for all classes and omitted.

    Negative values are impossible. If the rate is 0, all values but 0 are impossible.
    """

    column: str
    rate: Floats


@dataclass(frozen=True, eq=False)
class Presence:
    """Term of informative missingness: log P(present | class) and log P(missing | class)."""

    column: str
    there: Floats
    missing: Floats
    values: tuple[Any, ...] | None = None  # domain of a nominal column; None for a numeric column


@dataclass(frozen=True)
class Number:
    """A number of a row: that of a numeric column, or the 0/1 indicator of one value of a nominal column."""

    column: str
    value: Any = None
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """Term of a multivariate Gaussian in each class, for each pattern of missing values.

    With a shared covariance, a class adds Σ slope · (x - center - away / 2) over the numbers. With separate
    covariances, it adds log_norm - |factor (x - center - away)|² / 2. Missing numbers have zeros. The first pattern
    is that of complete rows.
    """

    numbers: tuple[Number, ...]
    center: Floats  # (numbers,)
    away: Floats  # (classes, numbers): means minus center
    groups: NDArray[np.intp]  # (numbers,): numbers of one column are in one group, and missing together
    there: Flags  # (patterns, groups): whether the numbers of a group are present
    slopes: Floats | None = None  # (patterns, classes, numbers)
    factors: Floats | None = None  # (patterns, classes, numbers, numbers), lower triangular
    log_norm: Floats | None = None  # (patterns, classes)

    @property
    def column(self) -> str:
        """Name of the first column."""
        return self.numbers[0].column

    @property
    def whole(self) -> bool:
        """Whether all possible patterns are included."""
        return len(self.there) == 2 ** self.there.shape[1]

    @property
    def marks(self) -> list[int]:
        """Summand of each missing group in the key of a pattern; different patterns have different keys."""
        n = self.there.shape[1]
        return [1 << g for g in range(n)] if n <= 50 else [(1 << 20) + g for g in range(n)]

    @property
    def keys(self) -> list[int]:
        """Key of each pattern; 0 for complete rows."""
        return [sum(m for m, here in zip(self.marks, row, strict=True) if not here) for row in self.there.tolist()]

    @property
    def firsts(self) -> list[int]:
        """Position of the first number of each group."""
        return [int(np.flatnonzero(self.groups == g)[0]) for g in range(self.there.shape[1])]


@dataclass(frozen=True, eq=False)
class Scoring:
    """Additive model: log prior plus terms. If all classes are impossible (-inf), the prior decides."""

    target: str
    classes: tuple[Any, ...]
    prior: Floats  # log P(class)
    terms: tuple[Any, ...]
    inputs: Mapping[str, bool] = field(default_factory=dict)  # columns of the training data; True for dates

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the model needs."""
        names = [n.column for t in self.terms for n in (t.numbers if isinstance(t, Joint) else (t,))]
        return list(dict.fromkeys(names))

    @property
    def whole(self) -> bool:
        """Whether each row has a prediction; rows with a pattern that a `Joint` term does not include have none."""
        return all(t.whole for t in self.terms if isinstance(t, Joint))

    @property
    def likeliest(self) -> Any:
        """Class with the largest prior, the first at a tie."""
        return self.classes[int(_kernels.argmax_rows(self.prior[None])[0])]


# -- trees, rules and bins ------------------------------------------------------------


@dataclass(frozen=True)
class Test:
    """Test of one value: it is one of some values, in the interval (low, high], or missing."""

    column: str
    domain: tuple[Any, ...] | None = None  # values of a nominal column; None for a numeric column
    values: tuple[Any, ...] | None = None  # values that pass the test; None for all values of the domain
    low: float | None = None
    high: float | None = None
    missing: bool = False  # whether the value must be missing or outside the domain
    __test__ = False  # not a test class of pytest


@dataclass(frozen=True, eq=False)
class Rules:
    """Rule list: the first rule whose tests all hold predicts; if none holds, the default rule predicts."""

    target: str
    classes: tuple[Any, ...]
    rules: tuple[tuple[Test, ...], ...]
    answers: tuple[int | None, ...]  # class of each rule and of the default rule; None for no prediction
    shares: Floats  # (rules + 1, classes): probabilities
    inputs: Mapping[str, bool] = field(default_factory=dict)  # columns of the training data; True for dates

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the rules test."""
        return list(dict.fromkeys(test.column for rule in self.rules for test in rule))


@dataclass(frozen=True, eq=False)
class Node:
    """Node of a tree; a leaf has no tests."""

    tests: tuple[Test, ...] = ()  # one for each child; that for missing values accepts rows that fail the others
    children: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()  # fraction of a row without a matching test that goes to each child

    @property
    def lost(self) -> int | None:
        """Child of the rows without a matching test; None if such rows are divided among the children."""
        only = [b for b, fraction in enumerate(self.shares) if fraction == 1.0]
        return only[0] if only else None

    @property
    def placed(self) -> Test:
        """Test that holds for the values that some test of the node matches."""
        first = self.tests[0]
        tests = [test for test in self.tests if not test.missing]
        if first.domain is None:
            return Test(first.column)
        return Test(first.column, first.domain, tuple(v for test in tests for v in test.values or ()))


@dataclass(frozen=True, eq=False)
class Choices:
    """Decision tree: nodes, each after its parent, and the predictions of the leaves."""

    target: str
    classes: tuple[Any, ...]  # empty for a regression tree
    nodes: tuple[Node, ...]  # the first is the root
    answers: Floats  # probabilities of the classes, (nodes, classes), or numbers, (nodes,)
    best: tuple[int, ...] = ()  # the class of each node
    inputs: Mapping[str, bool] = field(default_factory=dict)  # columns of the training data; True for dates

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the tree tests."""
        return list(dict.fromkeys(node.tests[0].column for node in self.nodes if node.children))

    @property
    def parts_rows(self) -> bool:
        """Whether a row may be divided among several leaves."""
        return any(node.children and node.lost is None for node in self.nodes)


@dataclass(frozen=True, eq=False)
class RangeTerm:
    """Discretization of numeric columns into bins (low, high]."""

    columns: tuple[str, ...]  # all columns of the table, in order
    edges: dict[str, Floats]  # cut points of each discretized column
    labels: dict[str, tuple[str, ...]]  # names of its bins
    encode: str = "labels"  # "labels", "codes" or "onehot"
    keep: bool = True  # whether a missing value stays missing in the columns of "onehot"; if not, they are 0
    inputs: Mapping[str, bool] = field(default_factory=dict)  # columns of the training data; True for dates
    values: Mapping[str, Floats] = field(
        default_factory=dict
    )  # where a bin is one value: any other number is in none
