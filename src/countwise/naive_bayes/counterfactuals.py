"""What would change the answer: the fewest attributes to change, and the least change of the last of them."""

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

_MOST = 3  # how many changes to report
_MOST_ATTRIBUTES = 5  # a change of more attributes than this is another row, not a change
_MARGIN = 1e-9  # a change must win by more than rounding
_ZERO = -1e6  # stands for log 0, so that differences stay numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """An attribute that can be changed: values to try, nearest first, and what each adds to the joint."""

    name: str
    density: Any
    grid: Any
    order: NDArray[Any]
    gains: Floats  # (values, classes)
    now: Floats  # (classes,): what the present value adds
    partner: str | None  # the term of its absence, which changes with it
    there: Floats  # (classes,): what that term adds once the value is there


def changes_of(model: Any, table: Table, chosen: int) -> list[Change]:
    """For each rival class the fewest changes after which the answer is no longer `chosen`, the fewest first.

    Log-probabilities add up, so against one rival the fewest changes are found by taking
    attributes in the order of what they can gain: no search is needed, and the number is
    exact over the values tried (every value of a nominal attribute, a grid of a numeric one).
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
    """The joint as it is, each log 0 as a number, and what can be changed in it."""
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
        partner, there = partners.get(part.key), np.zeros(len(model.classes_))
        if partner is not None:
            now = now + _term(model, partner, table[partner])
            there = _term(model, partner, np.zeros(1, dtype=np.uint8))
        gains = np.maximum(then, _ZERO) + there - now
        order = _nearest_first(grid, table[part.key])
        options.append(_Option(part.key, density, grid, order, gains, now, partner, there))
    return start, options


def _term(model: Any, key: str, column: Any) -> Floats:
    """What a one-row column adds for each class, log 0 as a number."""
    return np.maximum(model.densities_[key].log_prob_of_row(column), _ZERO)


def _nearest_first(grid: Any, column: Any) -> NDArray[Any]:
    if grid.dtype.kind == "f":
        here = float(column[0])
        middle = float(grid[len(grid) // 2])  # of a missing cell, ordinary values are tried before odd ones
        return np.argsort(np.abs(grid - (middle if np.isnan(here) else here)), kind="stable")
    return np.arange(len(grid))


def _away(model: Any, table: Table, options: list[_Option], start: Any, chosen: int, rival: int) -> Change | None:
    """The fewest changes by which the rival overtakes the answer."""
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
            return _judged(model, Table(columns, 1), values, chosen)
    return None


def _judged(model: Any, changed: Table, values: dict[str, str], chosen: int) -> Change | None:
    """The change as the model itself answers it: rounding may decide between rivals that are level."""
    joint = model.log_prior_[None, :].copy()
    model._add_terms(changed, joint)
    winner = int(np.argmax(joint[0]))
    if winner == chosen:
        return None
    shares = np.exp(joint[0] - joint[0].max())
    return Change(model.classes_.tolist()[winner], values, float(shares[winner] / shares.sum()))


def _flips(joint: Floats, chosen: int) -> Flags:
    """Whether another class leads, by more than rounding."""
    return np.delete(joint, chosen, axis=1).max(axis=1) > joint[:, chosen] + _MARGIN


def _shortest(option: _Option, pick: int, before: Any, chosen: int) -> str:
    """The number with the fewest figures that still changes the answer."""
    value = float(option.grid[pick])
    for figures in range(3, 18):
        number = float(f"{value:.{figures}g}")
        at = np.maximum(option.density.log_prob_of_row(np.array([number])), _ZERO)
        if _flips((before + at + option.there - option.now)[None, :], chosen)[0]:
            return repr(number).removesuffix(".0")
    return repr(value)
