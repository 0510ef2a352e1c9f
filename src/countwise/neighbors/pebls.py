"""PEBLS: neighbors by the value difference metric, each with a weight for how reliable it has been."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.errors import NumberIn, OptionError, check_settings
from countwise.neighbors.knn import NeighborsClassifier
from countwise.neighbors.layout import FoundNeighbors
from countwise.neighbors.metric import DistanceMetric
from countwise.working import Grid
from countwise.working.numbers import number

__all__ = ["PEBLSClassifier"]


@dataclass(eq=False, repr=False)
class PEBLSClassifier(NeighborsClassifier):
    """PEBLS (Cost and Salzberg, 1993): neighbors by the value difference metric, weighted by reliability.

    .. math:: Δ(X, Y) = w_X w_Y Σ_j d_j(x_j, y_j)², with w = used / right

    where d is the modified value difference Σ_c |P(c | v) - P(c | w)| of nominal values, or the scaled difference of
    numbers.

    Parameters
    ----------
    n_neighbors : int, default=1
        How many exemplars vote.
    types, categorical_features
        What the columns are; see `NaiveBayesClassifier`.
    numeric : {"range", "sd", "mvdm"}, default="range"
        Numeric columns: the difference over the range, or over the standard deviation; or the value difference of
        bins of equal frequency.
    n_bins : int, default=10
        How many bins, for "mvdm".
    missing : {"maximal", "ignore"}, default="maximal"
        A missing value is as far from all others as any two values are, or it is ignored; see `DistanceMetric`.
    passes : int, default=1
        How often the training rows are predicted from each other to learn the weights; 0 leaves all at 1.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    exemplars_ : Grid
        Every training row: how often it was used to predict another, how often it was right, and its weight.
    exemplar_weights_ : ndarray
        The weights alone, in the order of the training rows.

    Notes
    -----
    A pass predicts every row from the others, all with the weights of the pass before, so the order of rows does not
    matter; Cost and Salzberg change weights after each row. Rows that are equally near share a use, and a vote. An
    exemplar counts as right for itself, so its weight stays finite even if it is never right for others.

    Examples
    --------
    >>> from countwise import PEBLSClassifier, samples
    >>> cheat = samples.load("cheat")
    >>> model = PEBLSClassifier().fit(cheat.frame, "cheat")
    >>> print(model.exemplars_)
    row  cheat  used  right   weight
      0  No      2      2    1
      1  No      2      2    1
      2  No      1      1    1
      3  No      1      1    1
      4  Yes     1.5    1.5  1
      5  No      2      2    1
      6  No      2      2    1
      7  Yes     2.5    1.5  1.66667
      8  No      3      3    1
      9  Yes     3      3    1
    """

    n_neighbors: Any = 1
    _: KW_ONLY
    numeric: str = "range"
    n_bins: int = 10
    missing: str = "maximal"
    passes: int = 1

    # settings of other neighbors that are fixed here
    weights: Any = field(default="uniform", init=False)
    metric: Any = field(default=None, init=False)
    radius: float | None = field(default=None, init=False)
    max_neighbors: int = field(default=1, init=False)
    _ties = True
    exemplar_weights_: Floats = field(init=False)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_settings(self, numeric=("range", "sd", "mvdm"), passes=NumberIn(0, whole=True))
        if self.n_neighbors == "loo":
            raise OptionError("PEBLS does not choose n_neighbors by leave-one-out.", hint="give a number.")

    def _metric(self) -> DistanceMetric:
        return DistanceMetric(
            2,
            numeric=self.numeric,
            nominal="mvdm",
            ordinal="mvdm",
            missing=self.missing,
            n_bins=self.n_bins,
            types=self.types,
        )

    def _derive(self) -> None:
        super()._derive()
        n = len(self._search)
        used, right = np.ones(n), np.ones(n)
        self._penalties = None
        for _ in range(int(self.passes)):
            used, right = self._reliability()
            self._penalties = used / right
        self._used, self._right = used, right
        self.exemplar_weights_ = (used / right)[self._in_given_order()]

    def _reliability(self) -> tuple[Floats, Floats]:
        """How often each exemplar is used when every row is predicted from the others, and how often it is right.

        It is used once for itself, and is right. Rows that are equally near share what is left of the neighbors.
        """
        n = len(self._search)
        used, right = np.ones(n), np.ones(n)
        copies = self._search.weights_of(np.arange(n))
        for start, stop in self._training_blocks():
            found, own = self._left_out(float(self.n_neighbors_), start, stop, self._penalties, ties=True)
            share = _shared(found, own, float(self.n_neighbors_))
            asking = found.owner + start
            times = np.where(found.ids == asking, copies[asking] - 1.0, copies[asking])
            np.add.at(used, found.ids, times * share)
            same = self._targets[found.ids] == self._targets[asking]
            np.add.at(right, found.ids[same], (times * share)[same])
        return used, right

    @property
    def exemplars_(self) -> Grid:
        """Every training row: its class, how often it was used and was right, and its weight."""
        self._check_fitted()
        places = self._in_given_order()
        return Grid(
            {
                "row": self._order[places].tolist(),
                self.target_.name: self.classes_[self._targets[places]].tolist(),
                "used": self._used[places].tolist(),
                "right": self._right[places].tolist(),
                "weight": (self._used / self._right)[places].tolist(),
            }
        )

    def tables(self) -> dict[str, Grid]:
        """What was learned, as tables: the metric, and the exemplars."""
        return {**super().tables(), "exemplars": self.exemplars_}

    def _vote_weights(self, found: FoundNeighbors) -> Floats:
        """Votes; rows that are equally near share what is left of the neighbors."""
        own = self._search.weights_of(found.ids)
        return own * _shared(found, own, float(self.n_neighbors_))

    def _measures(self, found: FoundNeighbors) -> dict[str, list[Any]]:
        weight = (self._used / self._right)[found.ids]
        return {"Σd²": (found.sums / weight).tolist(), "weight": weight.tolist(), "Δ": found.sums.tolist()}

    def _reason(self, found: FoundNeighbors, row: int, lines: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        delta, weight = float(found.sums[0]), float((self._used / self._right)[found.ids[0]])
        last = f"Σd² {number(delta / weight)}, times the weight {number(weight)} of the exemplar: Δ {number(delta)}"
        return f"Why Δ of row {row} is {number(delta)}", (*lines[:-1], last)


def _shared(found: FoundNeighbors, own: Floats, k: float) -> Floats:
    """The share of each row that is used: whole, until the last k is left to rows that are equally near."""
    if len(found.ids) == 0:
        return np.empty(0)
    begins = np.concatenate([[True], (found.sums[1:] != found.sums[:-1]) | (found.owner[1:] != found.owner[:-1])])
    group = np.cumsum(begins) - 1
    weight = np.bincount(group, weights=own)
    total = np.concatenate([[0.0], np.cumsum(weight)])[:-1]
    first = found.owner[begins]  # the query of each group
    start = total[np.searchsorted(first, np.arange(len(found.starts) - 1))[first]]
    left = np.maximum(k - (total - start), 0.0)
    return np.minimum(left / weight, 1.0)[group]
