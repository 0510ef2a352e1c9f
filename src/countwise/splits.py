"""Cross-validation folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError, TooFewRows

__all__ = ["assign_folds", "by_content", "row_means", "splits_of"]

Rows = NDArray[Any]


def splits_of(
    cv: Any, n_rows: int, groups: Callable[[], Rows], strata: Rows | None = None, seed: Any = 0
) -> list[tuple[Rows, Rows]]:
    """Return the training rows and the held-out rows of each fold.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        Number of folds, a scikit-learn splitter, or the splits themselves.
    n_rows : int
        Number of rows.
    groups : callable
        Returns the group of each row, numbered from 0. Rows of one group are held out together.
    strata : ndarray or None, default=None
        Class of each row. The class proportions are about the same in all folds.
    seed : int, default=0
        Seed of the random assignment to folds.

    Returns
    -------
    list of (ndarray, ndarray)
        Positions of training rows and of held-out rows.
    """
    if isinstance(cv, bytes):
        raise OptionError(f"cv must be an integer, a splitter or pairs (train, test), not {cv!r}.")
    if hasattr(cv, "split") and not isinstance(cv, str):
        cv = cv.split(np.empty((n_rows, 1)), strata)
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        return checked_splits(cv, n_rows)
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise OptionError(f"cv must be an integer >= 2, a splitter, or an iterable of splits, not {cv!r}.")
    own = assign_folds(groups(), int(cv), n_rows, strata, seed)
    return [(np.flatnonzero(own != k), np.flatnonzero(own == k)) for k in range(int(cv))]


def checked_splits(pairs: Iterable[Any], n_rows: int) -> list[tuple[Rows, Rows]]:
    """Return pairs (train, test) as arrays of row positions, after checking them."""
    try:
        splits = [(np.asarray(rest, dtype=np.intp), np.asarray(test, dtype=np.intp)) for rest, test in pairs]
    except (TypeError, ValueError) as error:
        raise OptionError(f"cv must consist of pairs (train, test) of row positions: {error}.") from None
    if not splits:
        raise OptionError("cv contains no splits.", hint="pass a list; a generator can be used only once.")
    if any(part.ndim != 1 for split in splits for part in split):
        raise OptionError("cv must consist of pairs (train, test) of lists of row positions.")
    if any(len(part) and not 0 <= part.min() <= part.max() < n_rows for split in splits for part in split):
        raise OptionError(
            f"cv contains row numbers outside 0 to {n_rows - 1}; there are {n_rows} rows with positive weight."
        )
    return splits


def assign_folds(groups: Rows, n_folds: int, n_rows: int, strata: Rows | None = None, seed: Any = 0) -> Rows:
    """Return the fold of each row; groups are assigned to folds at random, because tables are often sorted."""
    n_groups = int(groups.max(initial=-1)) + 1
    if n_groups < n_folds:
        raise TooFewRows(
            f"{n_groups} distinct rows cannot be split into {n_folds} folds (n_samples={n_rows}).",
            hint="use a smaller cv.",
        )
    rank = np.empty(n_groups, dtype=np.intp)
    rank[np.random.default_rng(seed).permutation(n_groups)] = np.arange(n_groups)
    if strata is None:
        fold = np.repeat(np.arange(n_folds), [len(part) for part in np.array_split(rank, n_folds)])
        return fold[rank[groups]]
    of_group = np.zeros(n_groups, dtype=np.intp)
    of_group[groups] = strata
    order = np.lexsort((rank, of_group))
    fold = np.empty(n_groups, dtype=np.intp)
    fold[order] = np.arange(n_groups) % n_folds
    return fold[groups]


def row_means(n_rows: int, parts: Iterable[tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    """Return the rows that occur in any part, and the mean of the values that each of them has in the parts.

    A row that is in several folds, as with repeated cross-validation, thus counts once.

    Examples
    --------
    >>> from countwise.splits import row_means
    >>> folds = [(np.array([0, 1]), np.array([1.0, 2.0])), (np.array([1, 3]), np.array([4.0, 5.0]))]
    >>> rows, means = row_means(4, folds)
    >>> rows.tolist(), means.tolist()
    ([0, 1, 3], [1.0, 3.0, 5.0])
    """
    total, times = np.zeros(n_rows), np.zeros(n_rows)
    for rows, values in parts:
        np.add.at(total, rows, values)
        np.add.at(times, rows, 1)
    found = np.flatnonzero(times)
    return found, total[found] / times[found]


def by_content(columns: Sequence[Rows], *, together: bool = False) -> Rows:
    """Return a number for each row that depends only on its values, so that folds do not depend on the row order.

    Numbers start at 0. Equal rows have the same number if `together`, otherwise consecutive numbers.
    """
    key = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        numbers = column.astype(np.float64) + 0.0  # no negative zero
        numbers[np.isnan(numbers)] = np.nan  # one bit pattern for all NaN
        key = _mixed(key ^ numbers.view(np.uint64))
    if together:
        return np.unique(key, return_inverse=True)[1].ravel()
    place = np.empty(len(key), dtype=np.intp)
    place[np.argsort(key, kind="stable")] = np.arange(len(key))
    return place


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits, so that similar values get very different keys."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    return key ^ (key >> np.uint64(31)) ^ np.uint64(0x9E3779B97F4A7C15)
