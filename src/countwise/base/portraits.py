"""Portraits of classes, and counterfactuals of any classifier: the smallest changes that change its prediction."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Date, Nominal, Numeric
from countwise.data.cells import cell_of
from countwise.data.frames import Frame
from countwise.working import Change
from countwise.working.numbers import cell, number

__all__ = ["distinct", "searched_changes", "typical", "values_around"]

_MOST = 3  # number of counterfactuals to report
_MOST_ATTRIBUTES = 5  # a change of more attributes would describe a different row
_MOST_VALUES, _FEW_VALUES = 60, 12  # of a number, tried alone and together with another attribute
_MOST_PAIRS = 5_000  # pairs of changes to try


def typical(a: Any, column: Any, weights: Floats | None = None) -> tuple[Any, str]:
    """Return the most frequent value, or the mean, of an encoded column, and a remark on how much it varies.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal, Numeric
    >>> from countwise.base.portraits import typical
    >>> typical(Nominal("wind", ("east", "north")), np.array([0, 1, 1, 2]))
    ('north', '67% of the class')
    >>> typical(Numeric("temp"), np.array([20.0, 24.0, np.nan]))
    (22.0, '± 2.82843')
    """
    weights = np.ones(len(column)) if weights is None else weights
    cells = np.asarray(column, dtype=np.float64)
    known = cells < len(a.values) if isinstance(a, Nominal) else ~np.isnan(cells)
    if not known.any():
        return "", "every value is missing"
    cells, weights = cells[known], weights[known]
    total = float(weights.sum())
    if isinstance(a, Nominal):
        counts = np.bincount(cells.astype(np.int64), weights=weights, minlength=len(a.values))
        best = int(np.argmax(counts))
        return str(a.values[best]), f"{counts[best] / total:.0%} of the class"
    mean = float(np.average(cells, weights=weights))
    squares = float((weights * (cells - mean) ** 2).sum())
    return mean, f"± {number(np.sqrt(squares / (total - 1)))}" if total > 1 else "one row"


def distinct(numbers: Any) -> list[float]:
    """Return the known numbers in order, each once."""
    cells = np.asarray(numbers, dtype=np.float64)
    return np.unique(cells[np.isfinite(cells)]).tolist()


# -- counterfactuals ----------------------------------------------------------------------


def searched_changes(model: Any, row: Frame) -> list[Change]:
    """Return counterfactuals of a row, one for each other class at most, found by asking the model.

    Every change of one attribute to one of the values to try is tried, then pairs of changes, and then further
    changes one after the other, each with the largest gain of the other class.
    """
    return _Search(model, row).changes()


@dataclass(frozen=True, slots=True)
class _Tried:
    """Changed rows with their predictions: a class code (-1 for none) and the posterior of each class."""

    changes: list[dict[str, Any]]
    codes: NDArray[Any]
    proba: Floats


class _Search:
    def __init__(self, model: Any, row: Frame) -> None:
        self.model = model
        model.predict(row)  # refuses a row that cannot be predicted
        table = model.schema_.encode(row)
        self.cells = {name: cell_of(column) for name, column in row.columns.items()}
        for a in model.schema_.attributes:
            if isinstance(a, Numeric) and not isinstance(a, Date):
                x = float(table[a.name][0])
                self.cells[a.name] = None if np.isnan(x) else x
        self.classes = model.classes_.tolist()
        self.values = {a.name: found for a in model.schema_.attributes if (found := self._values(a))}
        self.chosen = int(self._ask([{}]).codes[0])

    def _values(self, a: Any) -> list[Any]:
        """Return the values to try for an attribute, without its own."""
        if isinstance(a, Nominal):
            found: Sequence[Any] = a.values
        elif isinstance(a, Numeric) and not isinstance(a, Date):
            numbers = self.model._numbers_to_try(a.name)
            # what is tried is what is shown
            found = [] if numbers is None else sorted({float(cell(x)) for x in _thinned(numbers, _MOST_VALUES)})
        else:
            return []
        return [value for value in found if value != self.cells[a.name]]

    def _ask(self, changes: list[dict[str, Any]]) -> _Tried:
        """Return the predictions for the row with each of the changes."""
        table: dict[str, Any] = {}
        for a in self.model.schema_.attributes:
            cells = [change.get(a.name, self.cells[a.name]) for change in changes]
            numeric = isinstance(a, Numeric) and not isinstance(a, Date)
            column = np.empty(len(cells), dtype=object)
            column[:] = cells
            table[a.name] = np.array([np.nan if x is None else x for x in cells], float) if numeric else column
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a changed row may be impossible in every class
            labels, proba = self.model.predict(table), self.model.predict_proba(table)
        place = {label: c for c, label in enumerate(self.classes)}
        codes = np.array([place.get(label, -1) for label in np.asarray(labels).tolist()])
        return _Tried(changes, codes, np.nan_to_num(proba))

    def changes(self) -> list[Change]:
        singles = self._ask([{name: v} for name, values in self.values.items() for v in values])
        rivals = [c for c in range(len(self.classes)) if c != self.chosen]
        pairs: _Tried | None = None
        found = []
        for rival in rivals:
            change = self._nearest(singles, rival)
            if change is None and len(self.values) > 1:
                pairs = self._ask(self._pairs()) if pairs is None else pairs
                change = self._nearest(pairs, rival) or self._greedy(rival)
            if change is not None:
                found.append(change)
        return sorted(found, key=lambda change: (len(change.values), -change.posterior))[:_MOST]

    def _pairs(self) -> list[dict[str, Any]]:
        few = {name: _thinned(values, _FEW_VALUES) for name, values in self.values.items()}
        every = ({one: v, other: w} for one, other in combinations(few, 2) for v, w in product(few[one], few[other]))
        return [change for change, _ in zip(every, range(_MOST_PAIRS), strict=False)]

    def _nearest(self, tried: _Tried, rival: int) -> Change | None:
        """Return the smallest change to a class; of several attributes, that with the largest posterior."""
        best: dict[tuple[str, ...], tuple[float, float, int]] = {}
        for i in np.flatnonzero(tried.codes == rival).tolist():
            change = tried.changes[i]
            key = (self._size(change), -float(tried.proba[i, rival]), i)
            best[tuple(change)] = min(best.get(tuple(change), key), key)
        if not best:
            return None
        i = min(best.values(), key=lambda key: key[1:])[2]
        return self._change(tried.changes[i], rival, float(tried.proba[i, rival]))

    def _size(self, change: dict[str, Any]) -> float:
        """Return how far the numbers move, as a fraction of the range that is tried."""
        total = 0.0
        for name, value in change.items():
            here = self.cells[name]
            if isinstance(self.model.schema_[name], Nominal) or here is None:
                continue
            total += abs(float(value) - float(here)) / (float(np.ptp([*self.values[name], here])) or 1.0)
        return total

    def _greedy(self, rival: int) -> Change | None:
        """Add the change with the largest gain of the rival class until it is predicted."""
        done: dict[str, Any] = {}
        for _ in range(min(_MOST_ATTRIBUTES, len(self.values))):
            tried = self._ask([done | {name: v} for name, vs in self.values.items() if name not in done for v in vs])
            change = self._nearest(tried, rival)
            if change is not None:
                return change
            own = tried.proba[:, self.chosen] if self.chosen >= 0 else 0.0
            done = tried.changes[int(np.argmax(tried.proba[:, rival] - own))]
        return None

    def _change(self, change: dict[str, Any], rival: int, posterior: float) -> Change:
        numeric = {name: not isinstance(self.model.schema_[name], Nominal) for name in change}
        shown = {name: cell(float(v)) if numeric[name] else str(v) for name, v in change.items()}
        return Change(self.classes[rival], shown, posterior)


def _thinned(values: Any, most: int) -> list[Any]:
    """Return at most so many values, evenly spaced in their order."""
    values = list(values)
    if len(values) <= most:
        return values
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, most).round().astype(int)).tolist()]


def values_around(limits: Iterable[float]) -> list[float]:
    """Return numbers on both sides of each threshold: the threshold itself, and a short number just above it.

    Examples
    --------
    >>> from countwise.base.portraits import values_around
    >>> values_around([70.0, 77.5])
    [70.0, 70.1, 77.0, 78.0]
    """
    ordered = sorted({float(limit) for limit in limits if np.isfinite(limit)})
    found: set[float] = set()
    for limit, after in zip(ordered, [*ordered[1:], np.inf], strict=False):
        if limit % 1 == 0.5 and limit + 0.5 <= after:  # halfway between integers
            found |= {limit - 0.5, limit + 0.5}
            continue
        step = 10.0 ** (np.floor(np.log10(abs(limit) or 1.0)) - 2)
        above = float(f"{limit + step:.6g}")
        found |= {limit, above if limit < above <= after else limit + min((after - limit) / 2, step)}
    return sorted(found)
