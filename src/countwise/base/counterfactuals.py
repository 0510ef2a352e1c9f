"""Counterfactuals: the fewest attributes whose change alters the prediction, with the smallest last change.

`changes_of` uses that the terms of naive Bayes are added; `searched_changes` asks any classifier.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.attributes import Count, Date, Nominal, Numeric
from countwise.data.cells import cell_of
from countwise.data.derived import Absent
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.working import Change
from countwise.working.numbers import cell

__all__ = ["changes_of", "searched_changes", "values_around"]

_MOST = 3  # number of counterfactuals to report
_MOST_ATTRIBUTES = 5  # a change of more attributes would describe a different row
_MARGIN = 1e-9  # another class must lead by more than rounding errors
_MOST_VALUES, _FEW_VALUES = 60, 12  # of a number, tried alone and together with another attribute
_MOST_PAIRS = 5_000  # pairs of changes to try
_ZERO = -1e6  # replaces log 0 where differences are compared


@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """An attribute that can be changed: the values to try, nearest first, and their log-likelihoods."""

    name: str
    density: Any
    grid: Any
    order: NDArray[Any]
    logs: Floats  # (values, classes): the log-likelihoods, with that of the indicator for an observed value
    gains: Floats  # (values, classes): the change of the log-joint, with log 0 replaced
    partner: str | None  # the missing-value indicator of the attribute, which changes with it
    low: float  # a number is changed to one between observed values
    high: float
    whole: bool  # only integers were observed

    @property
    def continuous(self) -> bool:
        """Whether the value is a number, not a nominal value or a bin."""
        return self.grid.dtype.kind == "f" and not hasattr(self.density, "edges")

    def number(self, value: float, suits: Callable[[float], bool]) -> float:
        """Return the number with the fewest digits near a value that suits and lies in the observed range."""
        for figures in range(3, 18):
            short = float(f"{value:.{figures}g}")
            if self.low <= short <= self.high and (not self.whole or short.is_integer()) and suits(short):
                return short
        return value


def changes_of(model: Any, table: Table, chosen: int) -> list[Change]:
    """Return counterfactuals of a row, one for each rival class at most, those with the fewest changes first.

    Log-probabilities are additive. So against one rival class the fewest changes are found by changing attributes in
    the order of their largest gain. The number is exact over the values tried: all values of a nominal attribute, and
    a grid of values of a numeric attribute within the range that was observed in training.
    """
    terms = {key: density.log_prob_of_row(table[key]) for key, density in model.densities_.items()}
    options = _options(model, table, terms)
    found: dict[tuple[Any, ...], Change] = {}
    for rival in range(len(model.classes_)):
        change = _away(model, table, options, terms, chosen, rival) if rival != chosen else None
        if change is not None:
            found.setdefault((change.to, *change.values.items()), change)
    ranked = sorted(found.values(), key=lambda change: (len(change.values), -change.posterior))
    return ranked[:_MOST]


def _options(model: Any, table: Table, terms: dict[str, Floats]) -> list[_Option]:
    """Return the attributes that can be changed."""
    options = []
    partners = {part.columns[0]: part.key for part in model.terms_ if isinstance(part.derived, Absent)}
    for part in model.terms_:
        density = model.densities_[part.key]
        grid = density.grid() if part.as_given and not getattr(density, "constant", False) else None
        if grid is None or len(grid) == 0:
            continue
        low, high, whole = -np.inf, np.inf, False
        if grid.dtype.kind == "f":
            seen = getattr(model.tallies_[part.key], "observed", None)
            if seen is None:
                continue
            low, high, whole = seen.low, seen.high, seen.whole or isinstance(part.of, Count)
            grid = _within(density, grid, low, high, whole)
        logs = np.zeros((len(grid), len(model.classes_)))
        density.add_log_prob(grid, logs)
        now, partner = np.maximum(terms[part.key], _ZERO), partners.get(part.key)
        if partner is not None:
            now = now + np.maximum(terms[partner], _ZERO)
            logs = logs + model.densities_[partner].log_prob_of_row(np.zeros(1, dtype=np.uint8))
        order = _nearest_first(grid, table[part.key])
        gains = np.maximum(logs, _ZERO) - now
        options.append(_Option(part.key, density, grid, order, logs, gains, partner, low, high, whole))
    return [option for option in options if len(option.grid)]


def _within(density: Any, grid: Floats, low: float, high: float, whole: bool) -> Floats:
    """Return the values of a grid that lie between observed values; bins only if they contain some."""
    if hasattr(density, "edges"):
        return np.clip(grid, low, high)[density.counts.sum(axis=0) > 0]
    inside = np.concatenate([[low], grid[(grid > low) & (grid < high)], [high]])
    if not whole:
        return np.unique(inside)
    rounded = np.unique(np.round(inside))
    return rounded[(rounded >= low) & (rounded <= high)]


def _nearest_first(grid: Any, column: Any) -> NDArray[Any]:
    if grid.dtype.kind == "f" and len(grid):
        here = float(column[0])
        middle = float(grid[len(grid) // 2])  # for a missing value, central values are tried first
        return np.argsort(np.abs(grid - (middle if np.isnan(here) else here)), kind="stable")
    return np.arange(len(grid))


def _away(
    model: Any, table: Table, options: list[_Option], terms: dict[str, Floats], chosen: int, rival: int
) -> Change | None:
    """Return the fewest changes after which the rival class or another one overtakes the predicted class."""
    ranked = sorted(options, key=lambda o: (-float((o.gains[:, rival] - o.gains[:, chosen]).max()), o.name))
    terms, values, columns = dict(terms), {}, dict(table.columns)
    for option in ranked[:_MOST_ATTRIBUTES]:
        lead = option.gains[:, rival] - option.gains[:, chosen]
        if not lead.max() > _MARGIN:
            return None
        others = [log for key, log in terms.items() if key not in (option.name, option.partner)]
        rest = np.sum([model.log_prior_, *others], axis=0)
        enough = option.order[_flips(rest + option.logs, chosen)[option.order]]
        pick = int(enough[0]) if len(enough) else int(np.argmax(lead))
        cell, values[option.name] = _value(model, option, pick, rest if len(enough) else None, chosen)
        terms |= _changed(model, option, cell)
        columns[option.name] = cell
        if option.partner is not None:
            columns[option.partner] = np.zeros(1, dtype=np.uint8)
        if len(enough):
            return _predicted(model, Table(columns, 1), values, chosen)
    return None


def _value(model: Any, option: _Option, pick: int, rest: Floats | None, chosen: int) -> tuple[NDArray[Any], str]:
    """Return the new value as a one-row column and as text.

    A number has as few digits as possible. If `rest` is given, the log-joint without the attribute, the number must
    change the prediction; otherwise it must be nearer to its grid value than the next one is.
    """
    if not option.continuous:
        return option.grid[pick : pick + 1], option.density.label(option.grid, pick)
    value = float(option.grid[pick])
    if rest is None:
        step = float(np.diff(option.grid).min()) if len(option.grid) > 1 else np.inf
        number = option.number(value, lambda x: abs(x - value) < step / 2)
    else:
        number = option.number(value, lambda x: _changes(model, option, np.array([x]), rest, chosen))
    return np.array([number]), f"{number:.0f}" if option.whole else repr(number).removesuffix(".0")


def _changed(model: Any, option: _Option, cell: NDArray[Any]) -> dict[str, Floats]:
    """Return the log-likelihoods that an attribute and its indicator have with another value."""
    logs = {option.name: option.density.log_prob_of_row(cell)}
    if option.partner is not None:
        logs[option.partner] = model.densities_[option.partner].log_prob_of_row(np.zeros(1, dtype=np.uint8))
    return logs


def _changes(model: Any, option: _Option, cell: NDArray[Any], rest: Floats, chosen: int) -> bool:
    """Return whether the prediction is another one with this value."""
    joint = np.sum([rest, *_changed(model, option, cell).values()], axis=0)
    return bool(_flips(joint[None, :], chosen)[0])


def _predicted(model: Any, changed: Table, values: dict[str, str], chosen: int) -> Change | None:
    """Return the change with the prediction of the model itself; None if its class is the same."""
    posterior, codes = np.empty((1, len(model.classes_))), np.empty(1, dtype=np.intp)
    impossible = model._posterior(changed, posterior, "proba", model._priors(1), codes)
    if impossible or codes[0] == chosen:
        return None
    return Change(model.classes_.tolist()[codes[0]], values, float(posterior[0, codes[0]]))


def _flips(joint: Floats, chosen: int) -> Flags:
    """Return whether another class leads by more than rounding errors."""
    return np.delete(joint, chosen, axis=1).max(axis=1) > joint[:, chosen] + _MARGIN


# -- any classifier ----------------------------------------------------------------------


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
    >>> from countwise.base.counterfactuals import values_around
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
