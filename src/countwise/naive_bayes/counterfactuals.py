"""Counterfactuals: the fewest attributes whose change alters the prediction, with the smallest last change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.attributes import Count
from countwise.data.derived import Absent
from countwise.data.table import Table
from countwise.working import Change

__all__ = ["changes_of"]

_MOST = 3  # number of counterfactuals to report
_MOST_ATTRIBUTES = 5  # a change of more attributes would describe a different row
_MARGIN = 1e-9  # another class must lead by more than rounding errors
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
