"""Instance selection: keep the rows that their neighbors agree with, or those that predict all others."""

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

_BLOCK = 256  # rows whose distances from all others are kept at a time
METHODS = ("edited", "condensed", "ib2", "ib3")


@dataclass(eq=False, repr=False)
class InstanceSelector(InstanceModel):
    """A choice of training rows, against noise and for speed.

    Parameters
    ----------
    method : {"edited", "condensed", "ib2", "ib3"}, default="edited"
        "edited" removes rows whose neighbors among all others are of another class (Wilson, 1972). "ib2" goes through
        the rows in their order and keeps those that the kept ones predict wrongly (Aha, Kibler and Albert, 1991);
        "condensed" goes through them again until all are predicted (Hart, 1968). "ib3" keeps records, and in the end
        the rows that predict others better than chance.
    n_neighbors : int, optional
        How many neighbors vote: 3 for "edited", else 1. "ib3" always takes one.
    metric : DistanceMetric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `DistanceMetric`.
    accept, drop : float, default=0.9 and 0.75
        For "ib3": the confidence with which a row's record must be better than the share of its class for the row to
        be accepted, and worse for it to be dropped.
    types, categorical_features
        What the columns are; see `NaiveBayesClassifier`.

    Attributes
    ----------
    kept_ : ndarray
        The numbers of the rows that stay.
    removed_ : Grid
        The rows that go, and why.

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
        """Choose rows, and return only these rows of the table and the classes.

        Parameters
        ----------
        X : any table
            pandas, Polars, PyArrow, NumPy, a mapping of columns, a list of dicts.
        y : array-like
            The class of each row.
        sample_weight : array-like, optional
            A weight for each row.

        Returns
        -------
        X, y
            Of the same types as given.
        """
        if isinstance(y, str):
            raise TableError("fit_resample returns y: it must be an array.", hint="fit takes a name; see kept_.")
        self.fit(X, y, sample_weight)
        classes = [y[i] for i in self.kept_.tolist()] if isinstance(y, list) else rows_of(y, self.kept_)
        return rows_of(X, self.kept_), classes

    # -- edited ------------------------------------------------------------------------

    def _edited(self) -> list[str | None]:
        """Remove rows whose neighbors among all others vote for another class."""
        why, k = list[str | None](), float(self.n_neighbors_)
        for start, stop in self._training_blocks():
            found, own = self._left_out(k, start, stop)
            counted = found.counted(own, k)
            best, votes = self._votes.best(found, counted), self._votes.count(found, counted)
            for i, b in enumerate(best.tolist()):
                mine = int(self._targets[start + i])
                for_it, all_votes = votes[i, b], votes[i].sum()
                agrees = b == mine or not all_votes > 0
                said = f"{for_it:g} of {all_votes:g} neighbors are {self.classes_[b]}"
                why.append(None if agrees else said)
        return why

    # -- condensed -----------------------------------------------------------------------

    def _with_distances(self, turn: Indices) -> Iterator[tuple[int, Floats]]:
        """Rows in turn, each with its distances from all rows, without roots."""
        for start in range(0, len(turn), _BLOCK):
            some = turn[start : start + _BLOCK]
            queries = self._search.rows.take(some)
            sums = _kernels.pair_sums(*self._search.combined.between(queries, self._search.rows))
            yield from zip(some.tolist(), sums, strict=True)

    def _condensed(self, *, again: bool) -> list[str | None]:
        """Keep rows that the kept ones before them predict wrongly (IB2); again until all are predicted (Hart)."""
        turn = self._in_given_order()
        kept = np.zeros(len(turn), dtype=bool)
        kept[turn[0]] = True
        by = np.full(len(turn), -1)  # the row that predicts each row that is not kept
        while True:
            before = int(kept.sum())
            self._pass(turn, kept, by)
            if not again or int(kept.sum()) == before:
                break
        return [None if kept[i] else f"row {self._order[by[i]]} predicts it" for i in range(len(turn))]

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
        """Of some rows the nearest one of the class with most votes."""
        if self.n_neighbors_ == 1:
            return int(here[int(np.argmin(sums[here]))])
        order = here[np.argsort(sums[here], kind="stable")[: self.n_neighbors_]]
        votes = np.bincount(self._targets[order], minlength=len(self.classes_))
        tied = votes[self._targets[order]] == votes.max()
        return int(order[int(np.argmax(tied))])

    # -- IB3 -----------------------------------------------------------------------------

    def _accepted(self) -> list[str | None]:
        """Keep rows whose record of predicting others is good beyond chance."""
        turn = self._in_given_order()
        records = AcceptanceRecords(self._targets, len(self.classes_), float(self.accept), float(self.drop))
        for i, sums in self._with_distances(turn):
            records.meet(i, sums)
        return records.reasons(self.classes_, self._order)


def interval(right: Any, used: Any, confidence: float) -> tuple[Any, Any]:
    """Wilson's confidence interval of a proportion: `right` successes in `used` trials."""
    z = float(ndtri(0.5 + confidence / 2))
    none = np.asarray(used) <= 0
    n = np.where(none, 1.0, used)
    p = np.asarray(right, dtype=np.float64) / n
    middle = p + z * z / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)
    return np.where(none, 0.0, low), np.where(none, 1.0, high)


class AcceptanceRecords:
    """IB3 (Aha, Kibler and Albert, 1991): rows with a record of how well they predict others.

    A row is accepted if its record is better than the share of its class with the confidence `accept`, and dropped if
    it is worse with the confidence `drop`.
    """

    def __init__(self, codes: NDArray[Any], n_classes: int, accept: float, drop: float) -> None:
        n = len(codes)
        self.codes, self.accept, self.drop = codes, accept, drop
        self.kept = np.zeros(n, dtype=bool)
        self.dropped = np.zeros(n, dtype=bool)
        self.by = np.full(n, -1)  # the row that predicted each row that is not kept
        self.used, self.right = np.zeros(n), np.zeros(n)
        self.met = np.zeros(n_classes)

    def meet(self, i: int, sums: Floats) -> None:
        """Predict the next row from the kept ones, and update their records."""
        here = np.flatnonzero(self.kept)
        if len(here) == 0:
            self.kept[i] = True
            self.met[self.codes[i]] += 1
            return
        near = sums[here]
        good = self._acceptable(here)
        # without an acceptable row the nearest predicts, so that nothing is left to chance
        pool = here[good] if good.any() else here
        best = pool[int(np.argmin(sums[pool]))]
        mine = self.codes[i]
        within = here[near <= sums[best]]
        self.used[within] += 1
        self.right[within] += self.codes[within] == mine
        self.met[mine] += 1
        if self.codes[best] == mine:
            self.by[i] = best
        else:
            self.kept[i] = True
        self._drop(within)

    def _class_interval(self, rows: Indices, confidence: float) -> tuple[Any, Any]:
        return interval(self.met[self.codes[rows]], self.met.sum(), confidence)

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
        """Why each row was removed; None for one that stays."""
        here = np.flatnonzero(self.kept)
        good = np.zeros(len(self.kept), dtype=bool)
        good[here] = self._acceptable(here) if len(here) else False
        if not good.any():  # too few rows for any record to be good: all that were kept stay
            good[here] = True
        found: list[str | None] = []
        for i in range(len(good)):
            record = f"{self.right[i]:g} of {self.used[i]:g} rows near it are {classes[self.codes[i]]}"
            if good[i]:
                found.append(None)
            elif self.dropped[i]:
                found.append(f"dropped: {record}")
            elif self.kept[i]:
                found.append(f"not accepted: {record}")
            else:
                found.append(f"row {order[self.by[i]]} predicted it")
        return found
