"""Folds: which rows are held out, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError, TooFewRows

__all__ = ["by_content", "dealt", "splits_of"]

Rows = NDArray[Any]


def splits_of(
    cv: Any, n_rows: int, groups: Callable[[], Rows], strata: Rows | None = None, seed: Any = 0
) -> list[tuple[Rows, Rows]]:
    """The rows to learn from and those to hold out, fold by fold.

    Parameters
    ----------
    cv : int, splitter or its splits
        Into how many folds the rows are dealt, at random and always alike; or a splitter.
    n_rows : int
        How many rows there are.
    groups : callable
        Gives the group of each row, numbered from 0; rows of a group are held out together.
    strata : ndarray, optional
        The class of each row: every fold gets its share of each.
    seed : int
        Deals differently.
    """
    if hasattr(cv, "split") and not isinstance(cv, str):
        cv = cv.split(np.empty((n_rows, 1)), strata)
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        splits = [(np.asarray(rest), np.asarray(test)) for rest, test in cv]
        if not splits:
            raise OptionError(
                "cv has no splits (left).", hint="a generator gives them only once; list(...) keeps them."
            )
        if any(len(part) and not 0 <= part.min() <= part.max() < n_rows for split in splits for part in split):
            raise OptionError(f"cv names rows that there are not: {n_rows} rows have a weight.")
        return splits
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise OptionError(f"cv must be a whole number of at least 2, a splitter, or its splits, not {cv!r}.")
    own = dealt(groups(), int(cv), n_rows, strata, seed)
    return [(np.flatnonzero(own != k), np.flatnonzero(own == k)) for k in range(int(cv))]


def dealt(groups: Rows, hands: int, n_rows: int, strata: Rows | None = None, seed: Any = 0) -> Rows:
    """The fold of each row, when groups are dealt at random; tables are often sorted."""
    n_groups = int(groups.max(initial=-1)) + 1
    if n_groups < hands:
        raise TooFewRows(
            f"{n_groups} different rows cannot be split into {hands} folds (n_samples={n_rows}).",
            hint="give a smaller cv.",
        )
    turn = np.empty(n_groups, dtype=np.intp)
    turn[np.random.default_rng(seed).permutation(n_groups)] = np.arange(n_groups)
    if strata is None:
        fold = np.repeat(np.arange(hands), [len(part) for part in np.array_split(turn, hands)])
        return fold[turn[groups]]
    of_group = np.zeros(n_groups, dtype=np.intp)
    of_group[groups] = strata
    order = np.lexsort((turn, of_group))
    fold = np.empty(n_groups, dtype=np.intp)
    fold[order] = np.arange(n_groups) % hands
    return fold[groups]


def by_content(columns: Sequence[Rows], *, together: bool = False) -> Rows:
    """A number for each row, from 0 on, that depends on its cells alone: rows in another order are dealt alike.

    Equal rows have one number if they are to be taken together, else numbers in a row.
    """
    key = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        numbers = column.astype(np.float64) + 0.0  # no negative zero
        numbers[np.isnan(numbers)] = np.nan  # one kind of missing
        key = _mixed(key ^ numbers.view(np.uint64))
    if together:
        return np.unique(key, return_inverse=True)[1].ravel()
    place = np.empty(len(key), dtype=np.intp)
    place[np.argsort(key, kind="stable")] = np.arange(len(key))
    return place


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits stirred, so that different cells end up far apart."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    return key ^ (key >> np.uint64(31)) ^ np.uint64(0x9E3779B97F4A7C15)
