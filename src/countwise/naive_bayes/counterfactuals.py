"""Counterfactuals: the fewest attributes whose change alters the prediction, with the smallest last change."""

from __future__ import annotations

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
_ZERO = -1e6  # replaces log 0, so that differences are finite


@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """An attribute that can be changed: the values to try, nearest first, and their effect on the log-joint."""

    name: str
    density: Any
    grid: Any
    order: NDArray[Any]
    gains: Floats  # (values, classes): the change of the log-joint
    now: Floats  # (classes,): the log-likelihood of the present value
    partner: str | None  # the missing-value indicator of the attribute, which changes with it
    observed: Floats  # (classes,): the log-likelihood of the indicator for an observed value


def changes_of(model: Any, table: Table, chosen: int) -> list[Change]:
    """Return counterfactuals of a row, one for each rival class at most, those with the fewest changes first.

    Log-probabilities are additive. So against one rival class the fewest changes are found by changing attributes in
    the order of their largest gain. The number is exact over the values tried: all values of a nominal attribute, and
    a grid of values of a numeric attribute.
    """
    start, options = _options(model, table)
    found: dict[tuple[Any, ...], Change] = {}
    for rival in range(len(start)):
        change = _away(model, table, options, start, chosen, rival) if rival != chosen else None
        if change is not None:
            found.setdefault((change.to, *change.values.items()), change)
    ranked = sorted(found.values(), key=lambda change: (len(change.values), -change.posterior))
    return ranked[:_MOST]


def _options(model: Any, table: Table) -> tuple[Floats, list[_Option]]:
    """Return the log-joint of the row, with log 0 replaced, and the attributes that can be changed."""
    start, options = np.maximum(model.log_prior_, _ZERO), []
    partners = {part.columns[0]: part.key for part in model.terms_ if isinstance(part.derived, Absent)}
    for part in model.terms_:
        density = model.densities_[part.key]
        now = _term(model, part.key, table[part.key])
        start = start + now
        grid = density.grid() if part.as_given else None
        if grid is None or getattr(density, "constant", False) or len(grid) == 0:
            continue
        if isinstance(part.of, Count):
            grid = np.unique(np.maximum(np.round(grid), 0.0))
        then = np.zeros((len(grid), len(model.classes_)))
        density.add_log_prob(grid, then)
        partner, observed = partners.get(part.key), np.zeros(len(model.classes_))
        if partner is not None:
            now = now + _term(model, partner, table[partner])
            observed = _term(model, partner, np.zeros(1, dtype=np.uint8))
        gains = np.maximum(then, _ZERO) + observed - now
        order = _nearest_first(grid, table[part.key])
        options.append(_Option(part.key, density, grid, order, gains, now, partner, observed))
    return start, options


def _term(model: Any, key: str, column: Any) -> Floats:
    """Return the log-likelihood of a one-row column in each class, with log 0 replaced."""
    return np.maximum(model.densities_[key].log_prob_of_row(column), _ZERO)


def _nearest_first(grid: Any, column: Any) -> NDArray[Any]:
    if grid.dtype.kind == "f":
        here = float(column[0])
        middle = float(grid[len(grid) // 2])  # for a missing value, central values are tried first
        return np.argsort(np.abs(grid - (middle if np.isnan(here) else here)), kind="stable")
    return np.arange(len(grid))


def _away(model: Any, table: Table, options: list[_Option], start: Any, chosen: int, rival: int) -> Change | None:
    """Return the fewest changes after which the rival class or another one overtakes the predicted class."""
    ranked = sorted(options, key=lambda o: (-float((o.gains[:, rival] - o.gains[:, chosen]).max()), o.name))
    now, values, columns = start, {}, dict(table.columns)
    for option in ranked[:_MOST_ATTRIBUTES]:
        after = now + option.gains
        lead = option.gains[:, rival] - option.gains[:, chosen]
        if not lead.max() > _MARGIN:
            return None
        enough = option.order[_flips(after, chosen)[option.order]]
        pick = int(enough[0]) if len(enough) else int(np.argmax(lead))
        before, now = now, after[pick]
        values[option.name] = option.density.label(option.grid, pick)
        columns[option.name] = option.grid[pick : pick + 1]
        if option.partner is not None:
            columns[option.partner] = np.zeros(1, dtype=np.uint8)
        if len(enough):
            if option.grid.dtype.kind == "f" and not hasattr(option.density, "edges"):
                values[option.name] = _shortest(option, pick, before, chosen)
                columns[option.name] = np.array([float(values[option.name])])
            return _predicted(model, Table(columns, 1), values, chosen)
    return None


def _predicted(model: Any, changed: Table, values: dict[str, str], chosen: int) -> Change | None:
    """Return the change with the prediction of the model itself; None if rounding leaves the class unchanged."""
    joint = model.log_prior_[None, :].copy()
    model._add_terms(changed, joint)
    winner = int(np.argmax(joint[0]))
    if winner == chosen:
        return None
    relative = np.exp(joint[0] - joint[0].max())
    return Change(model.classes_.tolist()[winner], values, float(relative[winner] / relative.sum()))


def _flips(joint: Floats, chosen: int) -> Flags:
    """Return whether another class leads by more than rounding errors."""
    return np.delete(joint, chosen, axis=1).max(axis=1) > joint[:, chosen] + _MARGIN


def _shortest(option: _Option, pick: int, before: Any, chosen: int) -> str:
    """Return the number with the fewest digits that still changes the prediction."""
    value = float(option.grid[pick])
    for figures in range(3, 18):
        number = float(f"{value:.{figures}g}")
        at = np.maximum(option.density.log_prob_of_row(np.array([number])), _ZERO)
        if _flips((before + at + option.observed - option.now)[None, :], chosen)[0]:
            return repr(number).removesuffix(".0")
    return repr(value)
