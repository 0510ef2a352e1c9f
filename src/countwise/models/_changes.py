"""What would change the answer: the fewest attributes to change, and the least change of each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.table import Table
from countwise.working import Change

__all__ = ["changes_of"]

_MOST = 3  # how many changes to report


def changes_of(model: Any, table: Table, joint: NDArray[np.float64], chosen: int) -> list[Change]:
    """For each rival class the fewest changes that make it the answer, the fewest of all first.

    Log-probabilities add up, so the fewest changes for a rival are found by taking the
    attributes in the order of what they can gain for it: no search is needed, and the
    number is exact over the values tried (every value of a nominal attribute, a grid of
    a numeric one).
    """
    options = _options(model, table)
    found = []
    for rival in range(len(joint)):
        if rival != chosen:
            change = _towards(model, options, joint, rival)
            if change is not None:
                found.append(change)
    found.sort(key=lambda change: (len(change.values), -change.posterior))
    return found[:_MOST]


def _options(model: Any, table: Table) -> list[tuple[str, Any, Any, NDArray[np.float64]]]:
    """(name, density, values to try, what each changes in the joint) for every attribute that can be changed."""
    options = []
    for part in model.parts_:
        density = model.densities_[part.key]
        grid = density.grid() if part.how == "same" else None
        if grid is None or getattr(density, "constant", False) or len(grid) == 0:
            continue
        now = np.zeros((1, len(model.classes_)))
        density.add_log_prob(table[part.key], now)
        then = np.zeros((len(grid), len(model.classes_)))
        density.add_log_prob(grid, then)
        with np.errstate(invalid="ignore"):
            options.append((part.key, density, _nearest_first(grid, table[part.key]), then - now))
    return options


def _nearest_first(grid: Any, column: Any) -> Any:
    """The values to try, with the order in which they are near the present one."""
    if grid.dtype.kind == "f" and not np.isnan(float(column[0])):
        return grid, np.argsort(np.abs(grid - float(column[0])), kind="stable")
    return grid, np.arange(len(grid))


def _towards(model: Any, options: list[Any], joint: NDArray[np.float64], rival: int) -> Change | None:
    gains = []
    for name, density, (grid, order), delta in options:
        # a change must make the rival beat every other class, so its gain is over the best of them
        others = np.delete(delta, rival, axis=1).max(axis=1)
        gain = np.nan_to_num(delta[:, rival] - others, nan=-np.inf)
        gains.append((float(gain.max()), name, density, grid, order, delta))
    gains.sort(key=lambda g: (-g[0], g[1]))
    now, values = joint.copy(), {}
    for best, name, density, grid, order, delta in gains:
        if not best > 0 or len(values) >= 5:
            break
        with np.errstate(invalid="ignore"):
            after = now + delta
            wins = np.argmax(np.nan_to_num(after, nan=-np.inf), axis=1) == rival
        enough = [i for i in order if wins[i]]
        pick = enough[0] if enough else int(np.argmax(np.nan_to_num(delta[:, rival] - np.delete(delta, rival, axis=1).max(axis=1), nan=-np.inf)))
        now, values[name] = after[pick], density.label(grid, pick)
        if enough:
            return Change(model.classes_.tolist()[rival], values, _share(now, rival))
    return None


def _share(joint: NDArray[np.float64], c: int) -> float:
    scaled = np.exp(joint - joint.max())
    return float(scaled[c] / scaled.sum())
