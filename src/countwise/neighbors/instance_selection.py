"""Which rows to keep (004): those that their neighbors agree with, or those that tell all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.data.output import rows_of
from countwise.errors import OptionError, TableError, check_settings
from countwise.neighbors.base import InstanceModel
from countwise.neighbors.choose_k import left_out
from countwise.neighbors.ib3 import AcceptanceRecords
from countwise.neighbors.voting import Voting
from countwise.working import Grid

__all__ = ["InstanceSelector"]

_BLOCK = 256  # rows whose distances from all others are kept at a time
METHODS = ("edited", "condensed", "ib2", "ib3")


class InstanceSelector(Voting, InstanceModel):
    """A choice of training rows, against noise and for speed (004).

    Parameters
    ----------
    method : {"edited", "condensed", "ib2", "ib3"}, default="edited"
        "edited" removes rows whose neighbors, all others asked, are of another class (Wilson). "ib2" goes through the
        rows in their order and keeps those that the kept ones do not tell right; "condensed" goes through them again
        until all are told (Hart). "ib3" keeps records, and in the end those rows that tell others better than chance.
    n_neighbors : int, optional
        How many neighbors are asked: 3 for "edited", else 1. "ib3" always asks one.
    metric : DistanceMetric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `DistanceMetric`.
    accept, drop : float, default=0.9 and 0.75
        For "ib3": the confidence with which a record must be better than the share of its class to be accepted, and
        worse to be dropped.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    kept_ : ndarray
        The numbers of the rows that stay.
    removed_ : Grid
        Those that go, and why.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    _numbers = False
    n_neighbors_: int
    kept_: Indices
    removed_: Grid

    def __init__(
        self,
        method: str = "edited",
        *,
        n_neighbors: int | None = None,
        metric: Any = None,
        accept: float = 0.9,
        drop: float = 0.75,
        types: Any = None,
        categorical_features: Any = None,
    ) -> None:
        self.method = method
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.accept = accept
        self.drop = drop
        self.types = types
        self.categorical_features = categorical_features

    def _check_settings(self) -> None:
        check_settings(self, method=METHODS)
        self._metric()._check_settings()
        k = self.n_neighbors
        whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if k is not None and not (whole and k >= 1):
            raise OptionError(f"n_neighbors must be a whole number, 1 or more, or None, not {k!r}.")
        for name in ("accept", "drop"):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and 0 < value < 1):
                raise OptionError(f"{name} must lie between 0 and 1, not {value!r}.")

    def _derive(self) -> None:
        self._open_search()
        self._describe()
        self.n_neighbors_ = (3 if self.method == "edited" else 1) if self.n_neighbors is None else self.n_neighbors
        if self.method == "edited":
            why = self._edited()
        elif self.method == "ib3":
            why = self._accepted()
        else:
            why = self._condensed(again=self.method == "condensed")
        removed = np.array([reason is not None for reason in why], dtype=bool)
        places = np.argsort(self._order, kind="stable")
        gone = [i for i in places.tolist() if removed[i]]
        self.kept_ = np.sort(self._order[~removed])
        self.removed_ = Grid(
            {
                "row": self._order[gone].tolist(),
                self.target_.name: self.classes_[self._told[gone]].tolist(),
                "why": [why[i] for i in gone],
            }
        )

    def fit_resample(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Choose rows, and give the table and the classes with these rows only.

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
            Of the kinds that were given.
        """
        if isinstance(y, str):
            raise TableError("fit_resample gives back y: it must be an array.", hint="fit takes a name; see kept_.")
        self.fit(X, y, sample_weight)
        classes = [y[i] for i in self.kept_.tolist()] if isinstance(y, list) else rows_of(y, self.kept_)
        return rows_of(X, self.kept_), classes

    # -- edited ------------------------------------------------------------------------

    def _edited(self) -> list[str | None]:
        """Rows go whose neighbors, all others asked, tell another class (Wilson)."""
        n, why = len(self._search), list[str | None]()
        for start in range(0, n, 1 << 12):
            stop = min(start + (1 << 12), n)
            found, own = left_out(self, float(self.n_neighbors_), start, stop)
            counted = found.counted(own, float(self.n_neighbors_))
            best = self._best(found, counted)
            votes = self.votes(found, counted)
            for i, b in enumerate(best.tolist()):
                mine = int(self._told[start + i])
                for_it, all_votes = votes[i, b], votes[i].sum()
                agrees = b == mine or not all_votes > 0
                said = f"{for_it:g} of {all_votes:g} neighbors are {self.classes_[b]}"
                why.append(None if agrees else said)
        return why

    # -- condensed -----------------------------------------------------------------------

    def _in_turn(self) -> Indices:
        """The rows in the order in which they were given."""
        return np.argsort(self._order, kind="stable")

    def _distances(self, rows: Indices) -> Floats:
        """Of some rows from all, without roots."""
        queries = self._search.rows.take(rows)
        left, right, law = self._search.law.between(queries, self._search.rows)
        return _kernels.pair_sums(left, right, law)

    def _condensed(self, *, again: bool) -> list[str | None]:
        """Rows stay that those before them do not tell right (IB2); asked again until all are told (Hart)."""
        turn = self._in_turn()
        kept = np.zeros(len(turn), dtype=bool)
        kept[turn[0]] = True
        teller = np.full(len(turn), -1)
        while True:
            before = int(kept.sum())
            self._pass(turn, kept, teller)
            if not again or int(kept.sum()) == before:
                break
        return [None if kept[i] else f"row {self._order[teller[i]]} tells it" for i in range(len(turn))]

    def _pass(self, turn: Indices, kept: Flags, teller: Indices) -> None:
        for start in range(0, len(turn), _BLOCK):
            some = turn[start : start + _BLOCK]
            for i, sums in zip(some.tolist(), self._distances(some), strict=True):
                if kept[i]:
                    continue
                best = self._nearest(np.flatnonzero(kept), sums)
                if self._told[best] == self._told[i]:
                    teller[i] = best
                else:
                    kept[i] = True

    def _nearest(self, here: Indices, sums: Floats) -> int:
        """Of some rows the nearest of the class that most of the neighbors have."""
        if self.n_neighbors_ == 1:
            return int(here[int(np.argmin(sums[here]))])
        order = here[np.argsort(sums[here], kind="stable")[: self.n_neighbors_]]
        votes = np.bincount(self._told[order], minlength=len(self.classes_))
        tied = votes[self._told[order]] == votes.max()
        return int(order[int(np.argmax(tied))])

    # -- IB3 -----------------------------------------------------------------------------

    def _accepted(self) -> list[str | None]:
        """Rows stay whose record at telling others is good, beyond chance (Aha, Kibler and Albert)."""
        turn = self._in_turn()
        records = AcceptanceRecords(len(turn), self._told, len(self.classes_), float(self.accept), float(self.drop))
        for start in range(0, len(turn), _BLOCK):
            some = turn[start : start + _BLOCK]
            for i, sums in zip(some.tolist(), self._distances(some), strict=True):
                records.meet(int(i), sums)
        return records.reasons(self.classes_, self._order)
