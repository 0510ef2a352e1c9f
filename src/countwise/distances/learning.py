"""Local distances learned from a table: scales, tables of value differences, and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise import measures
from countwise.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.bags import Block, Text
from countwise.cuts import How
from countwise.distances.local import Difference, Edits, Local, Lookup, Overlap, Words
from countwise.distances.texts import HOW
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.frames import Frame
from countwise.schema import Schema
from countwise.table import Table
from countwise.tallies import Counts, Values

__all__ = ["MEASURES", "RULES", "Told", "learned_locals"]

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


class Settings(Protocol):
    """What a metric says of its attributes."""

    numeric: str
    nominal: str
    ordinal: str
    text: str
    divisor: str
    n_bins: int
    weights: Any
    attributes: Any


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """The class of each row."""

    target: Nominal
    codes: NDArray[Any]


def learned_locals(
    settings: Settings, schema: Schema, table: Table, frame: Frame, told: Told | None
) -> tuple[Local, ...]:
    """A local distance for each attribute, learned from the rows of a table."""
    given = _by_name(settings.attributes, schema, "attributes")
    weights = _weights(settings, schema, table, told)
    found = []
    for a in schema.attributes:
        rule = _rule(settings, a, given.get(a.name))
        found.append(_learned(settings, a, rule, table, frame, told, weights[a.name]))
    return tuple(found)


def _by_name(given: Any, schema: Schema, what: str) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"{what} must map columns to what is wanted of them, not {given!r}.")
    for name in given:
        if name not in schema:
            raise OptionError(
                f"{what} names {name!r}, which the table does not have.",
                hint=did_you_mean(name, schema) or f"it has {listed(schema)}.",
            )
    return dict(given)


def _kind(a: Attribute) -> str:
    if isinstance(a, Text | Block):
        return "text"
    return "numeric" if isinstance(a, Numeric) else "ordinal" if isinstance(a, Ordinal) else "nominal"


def _rule(settings: Settings, a: Attribute, given: Any) -> str:
    kind = _kind(a)
    rule = getattr(settings, kind) if given is None else given
    known = (*RULES[kind], "levenshtein") if kind == "ordinal" else RULES[kind]
    if rule not in known:
        raise OptionError(
            f"{rule!r} is no distance for {a.name!r}, which is {a.kind}.",
            hint=did_you_mean(rule, known) or f"give one of {listed(known)}.",
        )
    return str(rule)


def _learned(
    settings: Settings, a: Attribute, rule: str, table: Table, frame: Frame, told: Told | None, weight: float
) -> Local:
    if rule == "overlap":
        return Overlap(a, weight, 1.0)
    if rule == "mvdm":
        return _value_difference(settings, a, table, told, weight)
    if rule == "levenshtein":
        return _edits(settings, a, frame, weight)
    if rule in HOW:
        return Words(a, weight, 1.0, rule)
    return _difference(settings, a, rule, table, weight)


def _difference(settings: Settings, a: Attribute, rule: str, table: Table, weight: float) -> Difference:
    """Numbers by their range or deviation; steps of an order by the number of steps there are."""
    cells = Difference(a, 1.0, 0.0, 1.0, "none").lay(table[a.name], table[a.name]).column
    there = ~np.isnan(cells)
    if isinstance(a, Ordinal):
        low, high = 0.0, float(max(len(a.values) - 1, 0))
        rule = "none" if settings.numeric == "none" else "range"
    elif there.any():
        low, high = float(cells[there].min()), float(cells[there].max())
    else:
        low = high = 0.0
    if not np.isfinite(high - low):
        raise TableError(f"{a.name!r} reaches from {low:g} to {high:g}: the difference is no number any more.")
    if rule == "none":
        return Difference(a, weight, high - low, 1.0, rule)
    origin, unit = low, high - low
    if rule == "sd":
        weights = None if table.weights is None else table.weights[there]
        origin, unit = _mean_and_deviation(cells[there], weights, settings.divisor)
    scale = 1.0 / unit if unit > 0 else 0.0
    if not np.isfinite(scale):
        scale = 0.0  # a range that is nothing but rounding
    return Difference(a, weight, (high - low) * scale, scale, rule, origin)


def _mean_and_deviation(cells: NDArray[Any], weights: NDArray[Any] | None, divisor: str) -> tuple[float, float]:
    w = np.ones(len(cells)) if weights is None else weights.astype(np.float64)
    if len(cells) == 0:
        return 0.0, 0.0
    origin = float(cells[0])
    size = float(np.abs(cells - origin).max())  # so that squares neither overflow nor vanish
    if size == 0:
        return origin, 0.0
    gaps = (cells - origin) / size
    mean = float(np.average(gaps, weights=w))
    n = float(w.sum()) - (divisor == "n-1")
    deviation = float(np.sqrt(float((w * (gaps - mean) ** 2).sum()) / n)) if n > 0 else 0.0
    return origin + size * mean, size * deviation


def _value_difference(settings: Settings, a: Attribute, table: Table, told: Told | None, weight: float) -> Lookup:
    if told is None:
        raise OptionError(
            f"The value difference of {a.name!r} needs the classes of rows.",
            hint="give y to fit: a class for each row.",
        )
    counts, edges = _counted(settings, a, table, told)
    seen = counts.sum(axis=1) > 0
    shares = np.zeros(counts.shape)
    shares[seen] = counts[seen] / counts[seen].sum(axis=1, keepdims=True)
    kinds, which = np.unique(shares[seen], axis=0, return_inverse=True)
    if len(kinds) > _PLACES:
        raise OptionError(
            f"{a.name!r} has {len(kinds)} values that tell different things of the class; a table of their "
            "differences would be too large.",
            hint=f"attributes={{{a.name!r}: 'overlap'}}, or join rare values.",
        )
    place = np.full(len(counts), len(kinds), dtype=np.int64)
    place[seen] = which.ravel()
    apart = measures.mvdm(kinds)
    most = float(apart.max(initial=0.0))
    return Lookup(a, weight, most, apart, place, kinds, tuple(told.target.values), edges)


def _counted(settings: Settings, a: Attribute, table: Table, told: Told) -> tuple[NDArray[Any], Any]:
    """How often each value, or range of numbers, meets each class: (values, classes); and the edges of the ranges."""
    rows = table.with_column(told.target.name, told.codes)
    if isinstance(a, Nominal):
        return Counts((told.target, a)).fill(rows).table.T, None
    assert isinstance(a, Numeric)  # noqa: S101 - texts are not counted so
    tally = Values(told.target, a).fill(rows)
    edges = How("equal_frequency", n_bins=int(settings.n_bins)).cut(tally).edges
    return tally.counts_in(edges).T, edges


def _edits(settings: Settings, a: Attribute, frame: Frame, weight: float) -> Edits:
    strings = Edits(a, 1.0, 1.0, 1.0).lay(None, frame.columns[a.name]).values
    longest = max(map(len, strings), default=0)
    scale = 1.0 if settings.numeric == "none" else 1.0 / max(longest, 1)
    return Edits(a, weight, longest * scale, scale)


def _weights(settings: Settings, schema: Schema, table: Table, told: Told | None) -> dict[str, float]:
    """The weight of each attribute: 1, by hand, or by what it tells of the class."""
    if settings.weights is None:
        return dict.fromkeys(schema, 1.0)
    if isinstance(settings.weights, str):
        return _told_weights(settings, schema, table, told)
    given = _by_name(settings.weights, schema, "weights")
    for name, w in given.items():
        if not (isinstance(w, int | float | np.number) and np.isfinite(w) and w >= 0):
            raise OptionError(f"The weight of {name!r} is {w!r}; it must be a number, 0 or more.")
    return {name: float(given.get(name, 1.0)) for name in schema}


def _told_weights(settings: Settings, schema: Schema, table: Table, told: Told | None) -> dict[str, float]:
    if settings.weights not in MEASURES:
        raise OptionError(
            f"weights={settings.weights!r} is unknown.",
            hint=did_you_mean(settings.weights, MEASURES) or f"give numbers by name, or one of {listed(MEASURES)}.",
        )
    if told is None:
        raise OptionError(
            f"weights={settings.weights!r} needs the classes of rows.", hint="give y to fit: a class for each row."
        )
    found = {}
    for a in schema.attributes:
        if isinstance(a, Text | Block):
            raise OptionError(
                f"{a.name!r} is {a.kind}: it has no table of counts to weigh it by.", hint="give weights by name."
            )
        counts = _counted(settings, a, table, told)[0]
        value = float(MEASURES[settings.weights](counts[counts.sum(axis=1) > 0])) if counts.sum() > 0 else 0.0
        found[a.name] = value if np.isfinite(value) else 0.0
    return found
