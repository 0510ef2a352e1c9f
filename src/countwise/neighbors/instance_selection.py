"""Instance selection: edited and condensed nearest neighbors, IB2 and IB3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.data.output import rows_of
from countwise.errors import NumberIn, TableError, check_settings
from countwise.neighbors.base import InstanceModel
from countwise.working import Grid

__all__ = ["InstanceSelector", "interval"]

_BLOCK = 256  # rows whose distances to all others are in memory at a time
METHODS = ("edited", "condensed", "ib2", "ib3")


@dataclass(eq=False, repr=False)
class InstanceSelector(InstanceModel):
    """Instance selection: keep a subset of the training rows, to remove noise or to speed up prediction.

    Parameters
    ----------
    method : {'edited', 'condensed', 'ib2', 'ib3'}, default='edited'
        The algorithm. 'edited' removes each row whose neighbors among all other rows predict another class (edited
        nearest neighbors; Wilson, 1972). 'ib2' goes through the rows in order and keeps each row that the rows kept
        so far misclassify (IB2; Aha, Kibler and Albert, 1991). 'condensed' repeats this until no row is added
        (condensed nearest neighbors; Hart, 1968). 'ib3' also records how often each kept row
        predicts other rows correctly, and finally keeps the rows that do so significantly better than chance (IB3).
    n_neighbors : int or None, default=None
        Number of neighbors that vote. None uses 3 for 'edited' and 1 for the other methods. 'ib3' always uses 1.
    metric : DistanceMetric, float or {'euclidean', 'manhattan', 'chebyshev'}, optional
        Distance between rows. A number is the power p of a `DistanceMetric`; the default is ``DistanceMetric()``.
    accept : float, default=0.9
        For 'ib3': confidence level at which the accuracy of a row must exceed the frequency of its class for the row
        to be accepted.
    drop : float, default=0.75
        For 'ib3': confidence level at which the accuracy of a row must be below the frequency of its class for the
        row to be dropped.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them; see `NaiveBayesClassifier`.
    categorical_features : array-like, optional
        Columns that are nominal, by name or index or as a mask; see `NaiveBayesClassifier`.

    Attributes
    ----------
    kept_ : ndarray of int
        Indices of the rows that are kept, in ascending order.
    removed_ : Grid
        The removed rows, with their class and the reason for removal.
    n_neighbors_ : int
        Number of neighbors that vote, and default of `kneighbors`. 'ib3' ignores it.
    classes_ : ndarray
        The classes, sorted.
    class_count_ : ndarray
        Number of training rows (or their weight) in each class.
    prior_ : ndarray
        Proportion of the training rows in each class.
    metric_ : DistanceMetric
        The fitted metric.
    schema_ : Schema
        The type and the values of each column.
    target_ : Nominal
        The name of the target and its classes.
    n_rows_ : int
        Number of training rows.
    n_left_out_ : int
        Number of rows skipped because their target is missing.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.

    References
    ----------
    Wilson, D. L. (1972). Asymptotic properties of nearest neighbor rules using edited data. IEEE Transactions on
    Systems, Man, and Cybernetics 2, 408-421.

    Hart, P. E. (1968). The condensed nearest neighbor rule. IEEE Transactions on Information Theory 14, 515-516.

    Aha, D. W., Kibler, D. and Albert, M. K. (1991). Instance-based learning algorithms. Machine Learning 6, 37-66.

    Examples
    --------
    >>> from countwise import InstanceSelector, samples
    >>> weather = samples.load("weather")
    >>> chosen = InstanceSelector().fit(weather.frame, "play")
    >>> chosen.kept_.tolist()
    [2, 3, 4, 6, 9, 12]
    >>> chosen.removed_["why"][0]
    '2 of 3 neighbors are yes'
    """

    method: str = "edited"
    _: KW_ONLY
    n_neighbors: int | None = None
    metric: Any = None
    accept: float = 0.9
    drop: float = 0.75
    types: Any = None
    categorical_features: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    n_neighbors_: int = field(init=False)
    kept_: Indices = field(init=False)
    removed_: Grid = field(init=False)

    def _check_settings(self) -> None:
        confidence = NumberIn(0, 1, strict=True)
        k = NumberIn(1, whole=True, words=(None,))
        check_settings(self, method=METHODS, n_neighbors=k, accept=confidence, drop=confidence)

    def _derive(self) -> None:
        super()._derive()
        self.n_neighbors_ = (3 if self.method == "edited" else 1) if self.n_neighbors is None else self.n_neighbors
        if self.method == "edited":
            why = self._edited()
        elif self.method == "ib3":
            why = self._accepted()
        else:
            why = self._condensed(again=self.method == "condensed")
        removed = np.array([reason is not None for reason in why], dtype=bool)
        gone = [i for i in self._in_given_order().tolist() if removed[i]]
        self.kept_ = np.sort(self._order[~removed])
        self.removed_ = Grid(
            {
                "row": self._order[gone].tolist(),
                self.target_.name: self.classes_[self._targets[gone]].tolist(),
                "why": [why[i] for i in gone],
            }
        )

    def fit_resample(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Select rows, and return the selected rows of X and y.

        Parameters
        ----------
        X : table
            The training rows: a pandas or Polars data frame, a PyArrow table, a NumPy array, a mapping of columns or
            a list of dicts.
        y : array-like
            The class of each row.
        sample_weight : array-like, optional
            The weight of each row.

        Returns
        -------
        X : table
            The selected rows, of the same type as the given X.
        y : array-like
            Their classes, of the same type as the given y.

        Examples
        --------
        >>> from countwise import InstanceSelector
        >>> X, y = InstanceSelector("condensed").fit_resample([[0.0], [0.1], [0.9], [1.0]], ["a", "a", "b", "b"])
        >>> X, y
        ([[0.0], [0.9]], ['a', 'b'])
        """
        if isinstance(y, str):
            raise TableError(
                f"y must be an array of classes, not the column name {y!r}, because fit_resample returns y.",
                hint="use fit with a column name, then select the rows in kept_.",
            )
        self.fit(X, y, sample_weight)
        classes = [y[i] for i in self.kept_.tolist()] if isinstance(y, list) else rows_of(y, self.kept_)
        return rows_of(X, self.kept_), classes

    # -- edited ------------------------------------------------------------------------

    def _edited(self) -> list[str | None]:
        """Return why each row is removed: its neighbors among all other rows vote for another class."""
        why, k = list[str | None](), float(self.n_neighbors_)
        for start, stop in self._training_blocks():
            found, own = self._other_neighbors(k, start, stop)
            counted = found.counted(own, k)
            best, votes = self._votes.best(found, counted), self._votes.count(found, counted)
            for i, b in enumerate(best.tolist()):
                mine = int(self._targets[start + i])
                for_it, all_votes = votes[i, b], votes[i].sum()
                agrees = b == mine or not all_votes > 0
                reason = f"{for_it:g} of {all_votes:g} neighbors are {self.classes_[b]}"
                why.append(None if agrees else reason)
        return why

    # -- condensed -----------------------------------------------------------------------

    def _with_distances(self, turn: Indices) -> Iterator[tuple[int, Floats]]:
        """Yield each row in order, with its distances to all rows before the root is taken."""
        for start in range(0, len(turn), _BLOCK):
            some = turn[start : start + _BLOCK]
            queries = self._search.rows.take(some)
            sums = _kernels.pair_sums(*self._search.combined.between(queries, self._search.rows))
            yield from zip(some.tolist(), sums, strict=True)

    def _condensed(self, *, again: bool) -> list[str | None]:
        """Keep the rows that the rows kept before them misclassify; with `again`, repeat until all are classified."""
        turn = self._in_given_order()
        kept = np.zeros(len(turn), dtype=bool)
        kept[turn[0]] = True
        by = np.full(len(turn), -1)  # the kept row that predicts each removed row
        while True:
            before = int(kept.sum())
            self._pass(turn, kept, by)
            if not again or int(kept.sum()) == before:
                break
        return [None if kept[i] else f"predicted by row {self._order[by[i]]}" for i in range(len(turn))]

    def _pass(self, turn: Indices, kept: Flags, by: Indices) -> None:
        for i, sums in self._with_distances(turn):
            if kept[i]:
                continue
            best = self._nearest(np.flatnonzero(kept), sums)
            if self._targets[best] == self._targets[i]:
                by[i] = best
            else:
                kept[i] = True

    def _nearest(self, here: Indices, sums: Floats) -> int:
        """Return the nearest of some rows that belongs to the class with the most votes."""
        if self.n_neighbors_ == 1:
            return int(here[int(np.argmin(sums[here]))])
        order = here[np.argsort(sums[here], kind="stable")[: self.n_neighbors_]]
        votes = np.bincount(self._targets[order], minlength=len(self.classes_))
        tied = votes[self._targets[order]] == votes.max()
        return int(order[int(np.argmax(tied))])

    # -- IB3 -----------------------------------------------------------------------------

    def _accepted(self) -> list[str | None]:
        """Keep the rows whose record of predicting other rows is significantly better than chance."""
        turn = self._in_given_order()
        records = AcceptanceRecords(self._targets, len(self.classes_), float(self.accept), float(self.drop))
        for i, sums in self._with_distances(turn):
            records.add(i, sums)
        return records.reasons(self.classes_, self._order)


def interval(right: Any, used: Any, confidence: float) -> tuple[Any, Any]:
    """Return Wilson's confidence interval of a proportion of `right` successes in `used` trials."""
    z = float(ndtri(0.5 + confidence / 2))
    none = np.asarray(used) <= 0
    n = np.where(none, 1.0, used)
    p = np.asarray(right, dtype=np.float64) / n
    middle = p + z * z / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return np.where(none, 0.0, low), np.where(none, 1.0, high)


class AcceptanceRecords:
    """Records of IB3: how often each kept row predicts other rows correctly (Aha, Kibler and Albert, 1991).

    A row is accepted if the confidence interval of its accuracy lies above that of the frequency of its class, at the
    confidence level `accept`. It is dropped if its interval lies below, at the confidence level `drop`.
    """

    def __init__(self, codes: NDArray[Any], n_classes: int, accept: float, drop: float) -> None:
        n = len(codes)
        self.codes, self.accept, self.drop = codes, accept, drop
        self.kept = np.zeros(n, dtype=bool)
        self.dropped = np.zeros(n, dtype=bool)
        self.by = np.full(n, -1)  # the kept row that predicts each removed row
        self.used, self.right = np.zeros(n), np.zeros(n)
        self.seen = np.zeros(n_classes)

    def add(self, i: int, sums: Floats) -> None:
        """Predict the next row from the kept rows, and update their records."""
        here = np.flatnonzero(self.kept)
        if len(here) == 0:
            self.kept[i] = True
            self.seen[self.codes[i]] += 1
            return
        near = sums[here]
        good = self._acceptable(here)
        # without an accepted row the nearest row predicts, instead of a random one as in the paper
        pool = here[good] if good.any() else here
        best = pool[int(np.argmin(sums[pool]))]
        mine = self.codes[i]
        within = here[near <= sums[best]]
        self.used[within] += 1
        self.right[within] += self.codes[within] == mine
        self.seen[mine] += 1
        if self.codes[best] == mine:
            self.by[i] = best
        else:
            self.kept[i] = True
        self._drop(within)

    def _class_interval(self, rows: Indices, confidence: float) -> tuple[Any, Any]:
        return interval(self.seen[self.codes[rows]], self.seen.sum(), confidence)

    def _acceptable(self, rows: Indices) -> Flags:
        low, _ = interval(self.right[rows], self.used[rows], self.accept)
        _, high = self._class_interval(rows, self.accept)
        return np.asarray(low > high)

    def _drop(self, rows: Indices) -> None:
        _, high = interval(self.right[rows], self.used[rows], self.drop)
        low, _ = self._class_interval(rows, self.drop)
        bad = rows[high < low]
        self.kept[bad] = False
        self.dropped[bad] = True

    def reasons(self, classes: NDArray[Any], order: Indices) -> list[str | None]:
        """Return why each row is removed; None for a row that is kept."""
        here = np.flatnonzero(self.kept)
        good = np.zeros(len(self.kept), dtype=bool)
        good[here] = self._acceptable(here) if len(here) else False
        if not good.any():  # too few rows for any record to be significant: keep all that are left
            good[here] = True
        found: list[str | None] = []
        for i in range(len(good)):
            record = f"{self.right[i]:g} of {self.used[i]:g} nearby rows are {classes[self.codes[i]]}"
            if good[i]:
                found.append(None)
            elif self.dropped[i]:
                found.append(f"dropped: {record}")
            elif self.kept[i]:
                found.append(f"not accepted: {record}")
            else:
                found.append(f"predicted by row {order[self.by[i]]}")
        return found
