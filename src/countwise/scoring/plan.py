"""The terms of an answer as plain data: what an engine, or a query without Python, asks of a row and adds up."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats

__all__ = [
    "Choices",
    "Cut",
    "Joint",
    "LookupTerm",
    "Node",
    "NormalTerm",
    "Number",
    "Presence",
    "RangeTerm",
    "Rate",
    "Rules",
    "Scoring",
    "Test",
    "kind_of",
    "time_of",
]

_TIME = re.compile(r"-?\d{4,}-\d\d-\d\dT\d\d(:\d\d(:\d\d(\.\d+)?)?)?")


def kind_of(values: Sequence[Any]) -> str:
    """What values are compared as: "truth", "whole", "number", "time" or "text".

    Examples
    --------
    >>> from countwise.scoring.plan import kind_of
    >>> kind_of(("1", "2")), kind_of((1, 2)), kind_of((1, 2.5)), kind_of((False, True))
    ('text', 'whole', 'number', 'truth')
    >>> kind_of(("2020-01-01T00:00:00.000000", "2020-01-02T00:00:00.000000"))
    'time'
    """
    kinds = {type(v) for v in values}
    if not kinds:
        return "text"
    if kinds == {bool}:
        return "truth"
    if kinds <= {int, float}:
        return "whole" if kinds == {int} else "number"
    if all(issubclass(kind, datetime.date) for kind in kinds):
        return "time"
    return "time" if kinds == {str} and all(_TIME.fullmatch(v) for v in values) else "text"


def time_of(value: Any) -> datetime.datetime | None:
    """A point in time as a date and an hour; None if it is none."""
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    try:
        found = np.datetime64(value, "us").item()
    except ValueError:
        return None
    return found if isinstance(found, datetime.datetime) else None


# -- what is added up -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LookupTerm:
    """A name: log P(value | class), shape (values, classes).

    A value that is not listed adds `other`, shape (classes,), or nothing; a missing cell adds nothing.
    """

    column: str
    values: tuple[Any, ...]
    logs: Floats
    other: Floats | None = None


@dataclass(frozen=True, eq=False)
class Cut:
    """A number by its range (lo, hi]: log P(range | class), shape (ranges, classes)."""

    column: str
    edges: Floats
    logs: Floats


@dataclass(frozen=True, eq=False)
class NormalTerm:
    """A number by a normal distribution: log_norm - ((x - mean) · inverse_sd)² / 2, each of shape (classes,)."""

    column: str
    mean: Floats
    inverse_sd: Floats
    log_norm: Floats

    @property
    def middle(self) -> float:
        """A point among the means; differences from it keep digits."""
        return float(self.mean.mean())


@dataclass(frozen=True, eq=False)
class Rate:
    """A count with a rate in each class: x · log rate - rate, of shape (classes,), less what all classes share.

    What is below 0 cannot be; nor can anything but 0 where the rate is 0.
    """

    column: str
    rate: Floats


@dataclass(frozen=True, eq=False)
class Presence:
    """Whether a cell is there: log P(there | class) and log P(missing | class)."""

    column: str
    there: Floats
    missing: Floats
    values: tuple[Any, ...] | None = None  # of names; None of numbers


@dataclass(frozen=True)
class Number:
    """A number of a row: a column's own, or 1 where a column has a value and 0 where it has another of its values."""

    column: str
    value: Any = None
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """Several numbers by one normal distribution a class, for each pattern of cells that are there.

    With one covariance for all classes a class adds Σ slope · (x - center - away / 2) over the numbers; with one each
    it adds log_norm - |factor (x - center - away)|² / 2. What a pattern lacks has zeros. The first one lacks nothing.
    """

    numbers: tuple[Number, ...]
    center: Floats  # (numbers,)
    away: Floats  # (classes, numbers): the means less the center
    groups: NDArray[np.intp]  # (numbers,): which are of one column, and missing together
    there: Flags  # (patterns, groups)
    slopes: Floats | None = None  # (patterns, classes, numbers)
    factors: Floats | None = None  # (patterns, classes, numbers, numbers), lower triangular
    log_norm: Floats | None = None  # (patterns, classes)

    @property
    def column(self) -> str:
        """The first column."""
        return self.numbers[0].column

    @property
    def whole(self) -> bool:
        """Whether every pattern that can be is listed."""
        return len(self.there) == 2 ** self.there.shape[1]

    @property
    def marks(self) -> list[int]:
        """What each missing group adds to the key of a pattern; keys of different patterns differ."""
        n = self.there.shape[1]
        return [1 << g for g in range(n)] if n <= 50 else [(1 << 20) + g for g in range(n)]

    @property
    def keys(self) -> list[int]:
        """The key of each pattern; 0 for rows that lack nothing."""
        return [sum(m for m, there in zip(self.marks, row, strict=True) if not there) for row in self.there.tolist()]

    @property
    def firsts(self) -> list[int]:
        """A number of each group."""
        return [int(np.flatnonzero(self.groups == g)[0]) for g in range(self.there.shape[1])]


@dataclass(frozen=True, eq=False)
class Scoring:
    """All that is added up; a class that cannot be has minus infinity, and where none can be, the prior answers."""

    target: str
    classes: tuple[Any, ...]
    prior: Floats  # log P(class)
    terms: tuple[Any, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that are asked for."""
        names = [n.column for t in self.terms for n in (t.numbers if isinstance(t, Joint) else (t,))]
        return list(dict.fromkeys(names))

    @property
    def whole(self) -> bool:
        """Whether every row is answered; else rows with gaps of a pattern that is not listed are not."""
        return all(t.whole for t in self.terms if isinstance(t, Joint))


# -- what is asked --------------------------------------------------------------------


@dataclass(frozen=True)
class Test:
    """What must hold of one cell: one of some values, or a number above `low` and at most `high`, or missing."""

    column: str
    domain: tuple[Any, ...] | None = None  # all values that a nominal column is known to have; None for numbers
    values: tuple[Any, ...] | None = None  # those that will do; None for all that are known
    low: float | None = None
    high: float | None = None
    missing: bool = False  # the cell must be missing, or a value that is not known
    __test__ = False  # it is none of pytest's


@dataclass(frozen=True, eq=False)
class Rules:
    """The first rule whose tests all hold answers; where none does, the last answer holds."""

    target: str
    classes: tuple[Any, ...]
    rules: tuple[tuple[Test, ...], ...]
    answers: tuple[int | None, ...]  # the class of each rule, and of what holds else; None where it is left open
    shares: Floats  # (rules + 1, classes)

    @property
    def columns(self) -> list[str]:
        """The columns that are asked for."""
        return list(dict.fromkeys(test.column for rule in self.rules for test in rule))


@dataclass(frozen=True, eq=False)
class Node:
    """A question of a tree; a leaf asks none."""

    tests: tuple[Test, ...] = ()  # what leads to each child; one for missing cells takes rows that no other places
    children: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()  # of a row that no test places, which part goes to each child

    @property
    def lost(self) -> int | None:
        """The one child that rows go to that no test places; None if they are parted."""
        whole = [b for b, share in enumerate(self.shares) if share == 1.0]
        return whole[0] if whole else None

    @property
    def placed(self) -> Test:
        """What holds of cells that some test places."""
        first = self.tests[0]
        named = [test for test in self.tests if not test.missing]
        if first.domain is None:
            return Test(first.column)
        return Test(first.column, first.domain, tuple(v for test in named for v in test.values or ()))


@dataclass(frozen=True, eq=False)
class Choices:
    """A tree: nodes behind their parents, and what the leaves answer."""

    target: str
    classes: tuple[Any, ...]  # empty of a tree for numbers
    nodes: tuple[Node, ...]  # the first is the root
    answers: Floats  # shares of the classes, (nodes, classes), or numbers, (nodes,)
    best: tuple[int, ...] = ()  # the class of each node

    @property
    def columns(self) -> list[str]:
        """The columns that are asked for."""
        return list(dict.fromkeys(node.tests[0].column for node in self.nodes if node.children))

    @property
    def parts_rows(self) -> bool:
        """Whether a row may come to several leaves."""
        return any(node.children and node.lost is None for node in self.nodes)


@dataclass(frozen=True, eq=False)
class RangeTerm:
    """Columns of numbers cut into ranges (lo, hi]."""

    columns: tuple[str, ...]  # all columns of the table, in order
    edges: dict[str, Floats]  # where each column is cut
    labels: dict[str, tuple[str, ...]]  # what its ranges are called
    encode: str = "labels"  # or "codes" or "onehot"
    keep: bool = True  # whether a missing cell is missing in the columns of "onehot" too; else 0
