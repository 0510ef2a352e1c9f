"""Learn local distances from a table: scales, value difference tables and attribute weights."""

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
from countwise.errors import NumberIn, OptionError, TableError, did_you_mean, listed, warn
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
_WEIGHTED_BY = CutRule("mdl")  # as filters do: with many bins, noise would have a higher gain than a real effect
_PLACES = 4096  # most rows of a value difference table; one of this size takes 128 MB


@dataclass(frozen=True, slots=True, eq=False)
class MetricTarget:
    """The class of each row."""

    target: Nominal
    codes: NDArray[Any]


class MetricSource:
    """The source of the statistics that a metric learns: rows in memory, or an engine table."""

    target: Nominal | None  # None if there are no classes

    def bounds(self, a: Attribute) -> tuple[float, float]:
        """Return the minimum and maximum of a column; (0, 0) if all its values are missing."""
        raise NotImplementedError

    def mean_and_deviation(self, a: Attribute, divisor: str) -> tuple[float, float]:
        """Return the mean and the standard deviation of a column; (0, 0) if all its values are missing."""
        raise NotImplementedError

    def strings(self, a: Attribute) -> Any:
        """Return a column, as the user gave it, that contains each distinct value at least once."""
        raise NotImplementedError

    def counted(self, a: Nominal | Numeric) -> Table:
        """Return a table of the attribute's values and the classes, ready for counting."""
        raise NotImplementedError

    def counts(self, how: CutRule, a: Attribute) -> tuple[NDArray[Any], Any]:
        """Return the contingency table of value (or bin) and class, and the cut points of the bins."""
        assert self.target is not None  # noqa: S101 - checked by the caller
        if isinstance(a, Nominal):
            return Counts((self.target, a)).fill(self.counted(a)).table.T, None
        assert isinstance(a, Numeric)  # noqa: S101 - text columns are refused before
        tally = Values(self.target, a).fill(self.counted(a))
        edges = how.cut(tally).edges
        return tally.counts_in(edges).T, edges


class MetricRows(MetricSource):
    """Rows in memory, encoded and as the user gave them, with their classes."""

    def __init__(self, table: Table, frame: Frame, classes: MetricTarget | None) -> None:
        self.table, self.frame, self.classes = table, frame, classes
        self.target = None if classes is None else classes.target

    def _known(self, a: Attribute) -> tuple[Floats, Flags]:
        cells = Difference(a, 1.0, 0.0, 1.0, "none").lay(self.table[a.name], self.table[a.name]).column
        return cells, ~np.isnan(cells)

    def bounds(self, a: Attribute) -> tuple[float, float]:
        """Return the minimum and maximum of the non-missing values."""
        cells, known = self._known(a)
        return (float(cells[known].min()), float(cells[known].max())) if known.any() else (0.0, 0.0)

    def mean_and_deviation(self, a: Attribute, divisor: str) -> tuple[float, float]:
        """Return the weighted mean and standard deviation of the non-missing values."""
        cells, known = self._known(a)
        cells = cells[known]
        w = np.ones(len(cells)) if self.table.weights is None else self.table.weights[known].astype(np.float64)
        if len(cells) == 0:
            return 0.0, 0.0
        origin = float(cells[0])
        size = float(np.abs(cells - origin).max())  # scale first, so that squares neither overflow nor underflow
        if size == 0:
            return origin, 0.0
        away = (cells - origin) / size
        mean = float(np.average(away, weights=w))
        n = float(w.sum()) - (divisor == "n-1")
        deviation = float(np.sqrt(float((w * (away - mean) ** 2).sum()) / n)) if n > 0 else 0.0
        return origin + size * mean, size * deviation

    def strings(self, a: Attribute) -> Any:
        """Return the column as the user gave it."""
        return self.frame.columns[a.name]

    def counted(self, a: Nominal | Numeric) -> Table:
        """Return the table with the classes as one more column."""
        assert self.classes is not None  # noqa: S101 - checked by the caller
        return self.table.with_column(self.classes.target.name, self.classes.codes)


def learned_locals(settings: DistanceMetric, schema: Schema, rows: MetricSource) -> tuple[LocalDistance, ...]:
    """Learn one local distance for each attribute of the schema."""
    rules, weights = _rules(settings, schema), _weights(settings, schema, rows)
    return tuple(_learned(settings, a, rules[a.name], rows, weights[a.name]) for a in schema.attributes)


def needs_classes(settings: DistanceMetric, schema: Schema) -> bool:
    """Return whether any local distance or weight depends on the classes."""
    return "mvdm" in _rules(settings, schema).values() or isinstance(settings.weights, str)


def _by_name(given: Any, schema: Schema, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"{what} must be a mapping of column names, not {given!r}.")
    for name in given:
        if name not in schema:
            raise OptionError(
                f"{what} refers to column {name!r}, but the table has no such column.",
                hint=did_you_mean(name, schema) or f"use one of {listed(schema)}.",
            )
    return dict(given)


def _rules(settings: DistanceMetric, schema: Schema) -> dict[str, str]:
    """Return the distance rule of each attribute: the one given for its column, or that of its type."""
    given, found = _by_name(settings.attributes, schema, "attributes"), {}
    for a in schema.attributes:
        types = {"text": Text | Block, "numeric": Numeric, "ordinal": Ordinal, "nominal": Nominal}
        column_type = next(name for name, classes in types.items() if isinstance(a, classes))
        rule = getattr(settings, column_type) if given.get(a.name) is None else given[a.name]
        known = (*RULES[column_type], "levenshtein") if column_type == "ordinal" else RULES[column_type]
        if rule not in known:
            raise OptionError(
                f"{rule!r} is not a distance for {a.kind} column {a.name!r}.",
                hint=did_you_mean(rule, known) or f"use one of {listed(known)}.",
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
    """Return a difference scaled by range or standard deviation; ordinal steps are scaled by the number of steps."""
    if isinstance(a, Ordinal):
        low, high = 0.0, float(max(len(a.values) - 1, 0))
        rule = "none" if settings.numeric == "none" else "range"
    else:
        low, high = rows.bounds(a)
    if not np.isfinite(high - low):
        raise TableError(
            f"{a.name!r} ranges from {low:g} to {high:g}; the difference is too large for a floating-point number.",
            hint="rescale the column.",
        )
    if rule == "none":
        return Difference(a, weight, high - low, 1.0, rule)
    origin, unit = low, high - low
    if rule == "sd":
        origin, unit = rows.mean_and_deviation(a, settings.divisor)
    scale = 1.0 / unit if unit > 0 else 0.0
    if not np.isfinite(scale):
        scale = 0.0  # the range is only rounding error
    return Difference(a, weight, (high - low) * scale, scale, rule, origin)


def _value_difference(settings: DistanceMetric, a: Attribute, rows: MetricSource, weight: float) -> LookupDistance:
    if rows.target is None:
        raise OptionError(
            f"The value difference metric of {a.name!r} needs the class of each row.",
            hint="pass y to fit, with a class for each row. For a numeric target, use another local distance: "
            "'overlap' for nominal and 'range' for numeric columns.",
        )
    counts, edges = rows.counts(CutRule("equal_frequency", int(settings.n_bins)), a)
    seen = counts.sum(axis=1) > 0
    shares = np.zeros(counts.shape)
    shares[seen] = counts[seen] / counts[seen].sum(axis=1, keepdims=True)
    profiles, which = np.unique(shares[seen], axis=0, return_inverse=True)
    if len(profiles) > _PLACES:
        raise OptionError(
            f"{a.name!r} has {len(profiles)} values with different class probabilities; a table of their "
            "differences would be too large.",
            hint=f"use attributes={{{a.name!r}: 'overlap'}}, or merge rare values.",
        )
    place = np.full(len(counts), len(profiles), dtype=np.int64)
    place[seen] = which.ravel()
    apart = measures.mvdm(profiles)
    most = float(apart.max(initial=0.0))
    return LookupDistance(a, weight, most, apart, place, counts, tuple(rows.target.values), edges)


def _edits(settings: DistanceMetric, a: Attribute, rows: MetricSource, weight: float) -> Edits:
    strings = Edits(a, 1.0, 1.0, 1.0).lay(None, rows.strings(a)).values
    longest = max(map(len, strings), default=0)
    scale = 1.0 if settings.numeric == "none" else 1.0 / max(longest, 1)
    return Edits(a, weight, longest * scale, scale)


def _weights(settings: DistanceMetric, schema: Schema, rows: MetricSource) -> dict[str, float]:
    """Return the weight of each attribute: 1, given by the user, or its association with the class."""
    if settings.weights is None:
        return dict.fromkeys(schema, 1.0)
    if isinstance(settings.weights, str):
        return _measured_weights(settings, schema, rows)
    given = _by_name(settings.weights, schema, "weights")
    for name, w in given.items():
        if w not in NumberIn(0) or not np.isfinite(w):
            raise OptionError(f"The weight of {name!r} must be a finite number >= 0, not {w!r}.")
    return {name: float(given.get(name, 1.0)) for name in schema}


def _measured_weights(settings: DistanceMetric, schema: Schema, rows: MetricSource) -> dict[str, float]:
    if settings.weights not in MEASURES:
        raise OptionError(
            f"weights must be a mapping of column to number or one of {listed(MEASURES)}, not {settings.weights!r}.",
            hint=did_you_mean(settings.weights, MEASURES) or "pass weights={column: number}.",
        )
    if rows.target is None:
        raise OptionError(
            f"weights={settings.weights!r} needs the class of each row.",
            hint="pass y to fit, with a class for each row. For a numeric target, pass weights={column: number}.",
        )
    found = {}
    for a in schema.attributes:
        if isinstance(a, Text | Block):
            raise OptionError(
                f"weights={settings.weights!r} is not defined for {a.kind} column {a.name!r}, "
                "because it has no contingency table.",
                hint="pass weights={column: number}, or drop the column.",
            )
        counts = rows.counts(_WEIGHTED_BY, a)[0]
        value = float(MEASURES[settings.weights](counts[counts.sum(axis=1) > 0])) if counts.sum() > 0 else 0.0
        found[a.name] = value if np.isfinite(value) else 0.0
    if found and not any(found.values()):
        warn(
            f"No attribute has a {settings.weights} above 0, so all weights and all distances are 0. Use "
            "weights=None for equal weights."
        )
    return found
