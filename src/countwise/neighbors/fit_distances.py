"""Local distances learned from a table: scales, tables of value differences, and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countwise import measures
from countwise._typing import Flags, Floats
from countwise.cuts import CutRule
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Block, Text
from countwise.errors import NumberIn, OptionError, TableError, did_you_mean, listed
from countwise.neighbors.local_distances import (
    HOW,
    Difference,
    Edits,
    LocalDistance,
    LookupDistance,
    Overlap,
    WordDistance,
)
from countwise.tallies import Counts, Values

if TYPE_CHECKING:
    from countwise.neighbors.metric import DistanceMetric

__all__ = ["MEASURES", "RULES", "MetricRows", "MetricSource", "MetricTarget", "learned_locals", "needs_classes"]

RULES = {
    "numeric": ("range", "sd", "none", "mvdm"),
    "ordinal": ("steps", "overlap", "mvdm"),
    "nominal": ("overlap", "mvdm", "levenshtein"),
    "text": HOW,
}
MEASURES: dict[str, Any] = {
    "gain": measures.mutual_information,
    "mutual_information": measures.mutual_information,
    "gain_ratio": measures.gain_ratio,
    "chi_square": lambda counts: measures.chi_square(counts)[0],
}
_PLACES = 4096  # of a table of value differences: 128 MB


@dataclass(frozen=True, slots=True, eq=False)
class MetricTarget:
    """The class of each row."""

    target: Nominal
    codes: NDArray[Any]


class MetricSource:
    """What a metric learns from, wherever the rows are."""

    target: Nominal | None  # None if the classes of rows are not known

    def bounds(self, a: Attribute) -> tuple[float, float]:
        """The least and the greatest number; 0 and 0 if there is none."""
        raise NotImplementedError

    def mean_and_deviation(self, a: Attribute, divisor: str) -> tuple[float, float]:
        """The mean and the standard deviation; 0 and 0 if there is no number."""
        raise NotImplementedError

    def strings(self, a: Attribute) -> Any:
        """A column that holds each value at least once, as it was given."""
        raise NotImplementedError

    def counted(self, a: Nominal | Numeric) -> Table:
        """The values of an attribute and the classes, to be counted."""
        raise NotImplementedError

    def counts(self, settings: DistanceMetric, a: Attribute) -> tuple[NDArray[Any], Any]:
        """The counts of value, or bin, and class: (values, classes); and the edges of the bins."""
        assert self.target is not None  # noqa: S101 - asked before
        if isinstance(a, Nominal):
            return Counts((self.target, a)).fill(self.counted(a)).table.T, None
        assert isinstance(a, Numeric)  # noqa: S101 - texts are not counted so
        tally = Values(self.target, a).fill(self.counted(a))
        edges = CutRule("equal_frequency", n_bins=int(settings.n_bins)).cut(tally).edges
        return tally.counts_in(edges).T, edges


class MetricRows(MetricSource):
    """Rows in memory: encoded, as they were given, and their classes."""

    def __init__(self, table: Table, frame: Frame, classes: MetricTarget | None) -> None:
        self.table, self.frame, self.classes = table, frame, classes
        self.target = None if classes is None else classes.target

    def _there(self, a: Attribute) -> tuple[Floats, Flags]:
        cells = Difference(a, 1.0, 0.0, 1.0, "none").lay(self.table[a.name], self.table[a.name]).column
        return cells, ~np.isnan(cells)

    def bounds(self, a: Attribute) -> tuple[float, float]:
        """The least and the greatest number."""
        cells, there = self._there(a)
        return (float(cells[there].min()), float(cells[there].max())) if there.any() else (0.0, 0.0)

    def mean_and_deviation(self, a: Attribute, divisor: str) -> tuple[float, float]:
        """The mean and the standard deviation."""
        cells, there = self._there(a)
        cells = cells[there]
        w = np.ones(len(cells)) if self.table.weights is None else self.table.weights[there].astype(np.float64)
        if len(cells) == 0:
            return 0.0, 0.0
        origin = float(cells[0])
        size = float(np.abs(cells - origin).max())  # so that squares neither overflow nor vanish
        if size == 0:
            return origin, 0.0
        away = (cells - origin) / size
        mean = float(np.average(away, weights=w))
        n = float(w.sum()) - (divisor == "n-1")
        deviation = float(np.sqrt(float((w * (away - mean) ** 2).sum()) / n)) if n > 0 else 0.0
        return origin + size * mean, size * deviation

    def strings(self, a: Attribute) -> Any:
        """The column as it was given."""
        return self.frame.columns[a.name]

    def counted(self, a: Nominal | Numeric) -> Table:
        """All columns and the classes."""
        assert self.classes is not None  # noqa: S101 - asked before
        return self.table.with_column(self.classes.target.name, self.classes.codes)


def learned_locals(settings: DistanceMetric, schema: Schema, rows: MetricSource) -> tuple[LocalDistance, ...]:
    """A local distance for each attribute, learned from rows."""
    rules, weights = _rules(settings, schema), _weights(settings, schema, rows)
    return tuple(_learned(settings, a, rules[a.name], rows, weights[a.name]) for a in schema.attributes)


def needs_classes(settings: DistanceMetric, schema: Schema) -> bool:
    """Whether the classes of rows are used."""
    return "mvdm" in _rules(settings, schema).values() or isinstance(settings.weights, str)


def _by_name(given: Any, schema: Schema, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"{what} must be a mapping of columns, not {given!r}.")
    for name in given:
        if name not in schema:
            raise OptionError(
                f"{what} names {name!r}, which the table does not have.",
                hint=did_you_mean(name, schema) or f"it has {listed(schema)}.",
            )
    return dict(given)


def _rules(settings: DistanceMetric, schema: Schema) -> dict[str, str]:
    """The rule for each attribute: its own, or that of its kind."""
    given, found = _by_name(settings.attributes, schema, "attributes"), {}
    for a in schema.attributes:
        kinds = {"text": Text | Block, "numeric": Numeric, "ordinal": Ordinal, "nominal": Nominal}
        kind = next(word for word, classes in kinds.items() if isinstance(a, classes))
        rule = getattr(settings, kind) if given.get(a.name) is None else given[a.name]
        known = (*RULES[kind], "levenshtein") if kind == "ordinal" else RULES[kind]
        if rule not in known:
            raise OptionError(
                f"{rule!r} is no distance for {a.name!r}, which is {a.kind}.",
                hint=did_you_mean(rule, known) or f"give one of {listed(known)}.",
            )
        found[a.name] = str(rule)
    return found


def _learned(settings: DistanceMetric, a: Attribute, rule: str, rows: MetricSource, weight: float) -> LocalDistance:
    if rule == "overlap":
        return Overlap(a, weight, 1.0)
    if rule == "mvdm":
        return _value_difference(settings, a, rows, weight)
    if rule == "levenshtein":
        return _edits(settings, a, rows, weight)
    if rule in HOW:
        return WordDistance(a, weight, 1.0, rule)
    return _difference(settings, a, rule, rows, weight)


def _difference(settings: DistanceMetric, a: Attribute, rule: str, rows: MetricSource, weight: float) -> Difference:
    """Numbers by their range or standard deviation; steps of an order by the number of all steps."""
    if isinstance(a, Ordinal):
        low, high = 0.0, float(max(len(a.values) - 1, 0))
        rule = "none" if settings.numeric == "none" else "range"
    else:
        low, high = rows.bounds(a)
    if not np.isfinite(high - low):
        raise TableError(f"{a.name!r} reaches from {low:g} to {high:g}: the difference is not finite.")
    if rule == "none":
        return Difference(a, weight, high - low, 1.0, rule)
    origin, unit = low, high - low
    if rule == "sd":
        origin, unit = rows.mean_and_deviation(a, settings.divisor)
    scale = 1.0 / unit if unit > 0 else 0.0
    if not np.isfinite(scale):
        scale = 0.0  # the range is mere rounding
    return Difference(a, weight, (high - low) * scale, scale, rule, origin)


def _value_difference(settings: DistanceMetric, a: Attribute, rows: MetricSource, weight: float) -> LookupDistance:
    if rows.target is None:
        raise OptionError(
            f"The value difference of {a.name!r} needs the classes of rows.",
            hint="give y to fit: a class for each row.",
        )
    counts, edges = rows.counts(settings, a)
    seen = counts.sum(axis=1) > 0
    shares = np.zeros(counts.shape)
    shares[seen] = counts[seen] / counts[seen].sum(axis=1, keepdims=True)
    kinds, which = np.unique(shares[seen], axis=0, return_inverse=True)
    if len(kinds) > _PLACES:
        raise OptionError(
            f"{a.name!r} has {len(kinds)} values with different class probabilities; a table of their "
            "differences would be too large.",
            hint=f"attributes={{{a.name!r}: 'overlap'}}, or join rare values.",
        )
    place = np.full(len(counts), len(kinds), dtype=np.int64)
    place[seen] = which.ravel()
    apart = measures.mvdm(kinds)
    most = float(apart.max(initial=0.0))
    return LookupDistance(a, weight, most, apart, place, kinds, tuple(rows.target.values), edges)


def _edits(settings: DistanceMetric, a: Attribute, rows: MetricSource, weight: float) -> Edits:
    strings = Edits(a, 1.0, 1.0, 1.0).lay(None, rows.strings(a)).values
    longest = max(map(len, strings), default=0)
    scale = 1.0 if settings.numeric == "none" else 1.0 / max(longest, 1)
    return Edits(a, weight, longest * scale, scale)


def _weights(settings: DistanceMetric, schema: Schema, rows: MetricSource) -> dict[str, float]:
    """The weight of each attribute: 1, given, or by its association with the class."""
    if settings.weights is None:
        return dict.fromkeys(schema, 1.0)
    if isinstance(settings.weights, str):
        return _measured_weights(settings, schema, rows)
    given = _by_name(settings.weights, schema, "weights")
    for name, w in given.items():
        if w not in NumberIn(0) or not np.isfinite(w):
            raise OptionError(f"The weight of {name!r} is {w!r}; it must be a number, 0 or more.")
    return {name: float(given.get(name, 1.0)) for name in schema}


def _measured_weights(settings: DistanceMetric, schema: Schema, rows: MetricSource) -> dict[str, float]:
    if settings.weights not in MEASURES:
        raise OptionError(
            f"weights={settings.weights!r} is unknown.",
            hint=did_you_mean(settings.weights, MEASURES) or f"give numbers by name, or one of {listed(MEASURES)}.",
        )
    if rows.target is None:
        raise OptionError(
            f"weights={settings.weights!r} needs the classes of rows.", hint="give y to fit: a class for each row."
        )
    found = {}
    for a in schema.attributes:
        if isinstance(a, Text | Block):
            raise OptionError(
                f"{a.name!r} is {a.kind}: it has no table of counts to weigh it by.", hint="give weights by name."
            )
        counts = rows.counts(settings, a)[0]
        value = float(MEASURES[settings.weights](counts[counts.sum(axis=1) > 0])) if counts.sum() > 0 else 0.0
        found[a.name] = value if np.isfinite(value) else 0.0
    return found
