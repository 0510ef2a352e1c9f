"""Nearest neighbors: the classes, or the mean, of the training rows that are most like a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.protocol import Classifier, Regressor
from countwise.data.cells import one_row
from countwise.data.frames import Frame
from countwise.errors import NumberIn, OptionError, check_settings
from countwise.neighbors.base import InstanceModel
from countwise.neighbors.layout import FoundNeighbors
from countwise.neighbors.working import NeighborWorking
from countwise.working import Account, Grid
from countwise.working.numbers import number, percent

__all__ = ["NeighborsClassifier", "NeighborsRegressor"]

_NUMBERS = {
    "n_neighbors": NumberIn(1, whole=True, words=("loo",)),
    "max_neighbors": NumberIn(1, whole=True),
    "radius": NumberIn(0, words=(None,)),
}
_SHOWN = 12  # attributes in a summary


@dataclass(eq=False, repr=False)
class NeighborModel(InstanceModel):
    """The common part of classification and regression by neighbors."""

    n_neighbors: Any = 5
    _: KW_ONLY
    weights: Any = "uniform"
    metric: Any = None
    radius: float | None = None
    max_neighbors: int = 30
    types: Any = None
    categorical_features: Any = None

    n_neighbors_: int = field(init=False)
    choice_: Grid = field(init=False)
    _penalties: Floats | None = field(default=None, init=False)  # by which distances of each row are multiplied
    _ties = False  # whether all rows as near as the last one are neighbors

    def _check_settings(self) -> None:
        check_settings(self, **_NUMBERS)
        known = isinstance(self.weights, str) and self.weights in ("uniform", "distance", "squared")
        if not known and not callable(self.weights):
            raise OptionError(
                f"weights={self.weights!r} is unknown.", hint="give 'uniform', 'distance', 'squared' or a function."
            )

    def _derive(self) -> None:
        super()._derive()
        if self.n_neighbors == "loo":
            self.choice_ = self._leave_one_out()
            scores = np.array(self.choice_["score"])
            self.n_neighbors_ = int(self.choice_["k"][int(np.argmax(scores >= scores.max() - 1e-12))])
        else:
            self.n_neighbors_ = int(self.n_neighbors)

    def _leave_one_out(self) -> Grid:
        """The leave-one-out score of every number of neighbors, from one search; the smallest of equals is chosen."""
        most = int(max(1, min(self.max_neighbors, np.ceil(self._n_total) - 1)))
        total = np.zeros(most)
        weight = self._search.weights_of(np.arange(len(self._search)))
        for start, stop in self._training_blocks():
            found, own = self._left_out(float(most), start, stop)
            near = _nearness(self.weights, found)
            for k in range(1, most + 1):
                scores = self._scores(found, found.counted(own, float(k)) * near, self._targets[start:stop])
                total[k - 1] += float((weight[start:stop] * scores).sum())
        return Grid({"k": list(range(1, most + 1)), "score": (total / weight.sum()).tolist()})

    def _scores(self, found: FoundNeighbors, weights: Floats, targets: NDArray[Any]) -> Floats:
        """How good the predictions for rows with a known target are."""
        raise NotImplementedError

    def _k(self) -> int:
        return min(self.n_neighbors_, len(self._search))

    def _found(self, frame: Frame, start: int, stop: int) -> FoundNeighbors:
        """The neighbors of some rows; none of a row without a known value."""
        laid = self._layout(frame, start, stop)
        k, radius = (float(self.n_neighbors_), np.inf) if self.radius is None else (np.inf, float(self.radius))
        found = self._search.nearest(laid, k, radius, penalties=self._penalties, ties=self._ties)
        return found.only(~laid.unknown(self.metric_.distance_)[found.owner])

    def _predicted(self, X: Any, predict: Callable[[FoundNeighbors], NDArray[Any]]) -> NDArray[Any]:
        """What `predict` makes of the neighbors of each row; the search within a block is parallel."""
        return np.concatenate(self._in_blocks(X, lambda *block: predict(self._found(*block)), parallel=False))

    def _vote_weights(self, found: FoundNeighbors) -> Floats:
        """The weight of each neighbor's vote: its own, times that of its distance."""
        k = float(self.n_neighbors_) if self.radius is None else np.inf
        return found.counted(self._search.weights_of(found.ids), k) * _nearness(self.weights, found)

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """The neighbors of one row, their distances, and what each attribute adds to the distance of the nearest.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> weather = samples.load("weather")
        >>> model = NeighborsClassifier(3).fit(weather.frame, "play")
        >>> print(model.explain([{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]))
        play = no, with probability 66.7 %.
        <BLANKLINE>
        The 3 nearest rows
          row  play  distance  vote  outlook  temperature  humidity  windy
            1  no    0.666667     1  sunny             80        90  True
           10  yes   0.774536     1  sunny             75        70  True
           13  no    1.02846      1  rainy             71        91  True
          votes: no = 2, yes = 1, of 3
        <BLANKLINE>
        Why row 1 is 0.666667 away
          attribute    asked  row 1  distance                d        d²
          outlook      sunny  sunny  equal or not     0         0
          temperature  66     80     difference / 21  0.666667  0.444444
          humidity     90     90     difference / 31  0         0
          windy        True   True   equal or not     0         0
          sum 0.444444; its root is the distance
        """
        frame = one_row(self._open(X), row)
        return NeighborWorking(self, frame, self._layout(frame, 0, 1), self._found(frame, 0, 1)).account()

    def summary(self) -> str:
        """What was learned, in a few lines.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> print(NeighborsClassifier(3).fit(samples.load("rain").frame, "rain").summary())
        6 rows, 2 attributes; rain: predicted from 3 neighbors
          attribute  kind     distance           weight  if missing
          wind       nominal  equal or not            1           1
          temp       numeric  difference / 13.7       1           1
        """
        self._check_fitted()
        n = self.n_neighbors_
        head = f"{self.n_rows_} rows, {len(self.schema_)} attributes; {self.target_.name}: predicted from "
        lines = str(self.metric_.parts_).split("\n")[: _SHOWN + 1]
        return "\n".join([f"{head}{n} neighbor{'s' * (n != 1)}", *(f"  {line}" for line in lines)])

    def tables(self) -> dict[str, Grid]:
        """What was learned, as tables: the metric, and how the number of neighbors was chosen."""
        self._check_fitted()
        return {"metric": self.metric_.parts_, **({"choice": self.choice_} if hasattr(self, "choice_") else {})}

    # -- what the working shows ----------------------------------------------------------

    def _prediction(self, found: FoundNeighbors) -> tuple[str, float, dict[Any, float] | None]:
        """The prediction for a single row in words, its value, and the probabilities of all classes."""
        raise NotImplementedError

    def _measures(self, found: FoundNeighbors) -> dict[str, list[Any]]:
        """How far neighbors are, as it is shown."""
        return {"distance": found.distances.tolist()}

    def _reason(self, found: FoundNeighbors, row: int, lines: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The title and the last lines of the section about the nearest row."""
        return f"Why row {row} is {number(float(found.distances[0]))} away", lines


@dataclass(eq=False, repr=False)
class NeighborsClassifier(Classifier, NeighborModel):
    """Nearest neighbors: the classes of the training rows that are most like a row; mixed columns, missing values.

    Parameters
    ----------
    n_neighbors : int or "loo", default=5
        How many neighbors vote. "loo" takes the number with the best leave-one-out accuracy on the training
        rows; all numbers up to `max_neighbors` are tried in one search. The metric is learned from all rows.
    weights : {"uniform", "distance", "squared"} or callable, default="uniform"
        The weight of a neighbor's vote at distance d: 1, 1/d, 1/d², or a function of the distances. Where rows are at
        distance 0, only these vote, unless a function is given.
    metric : DistanceMetric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `DistanceMetric`. A number is its power.
    radius : float, optional
        If given, all rows within this distance vote, however many.
    max_neighbors : int, default=30
        For "loo".
    types, categorical_features
        What the columns are; see `NaiveBayesClassifier`.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    n_neighbors_ : int
        How many neighbors vote.
    choice_ : Grid
        For "loo": the leave-one-out accuracy of each number of neighbors.
    metric_ : DistanceMetric
        The metric, fitted.

    Notes
    -----
    The search is exact. Neighbors are sorted by distance, then class, then row. A row of weight n counts as n
    neighbors. Of classes with equal votes the one with the nearest row is predicted, then the first. A row without a
    known value, or without a neighbor within the radius, gets the prior.

    Examples
    --------
    >>> from countwise import NeighborsClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = NeighborsClassifier(3).fit(weather.X, weather.y)
    >>> model.predict([{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]).tolist()
    ['no']
    """

    def _scores(self, found: FoundNeighbors, weights: Floats, targets: NDArray[Any]) -> Floats:
        return np.asarray(self._votes.best(found, weights) == targets, dtype=np.float64)

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row): the classes' shares of the votes; the prior where there is no neighbor."""
        return self._predicted(X, lambda found: self._votes.shares(found, self._vote_weights(found)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes; of equals the one with the nearest row, then the first of `classes_`."""
        best = self._predicted(X, lambda found: self._votes.best(found, self._vote_weights(found)))
        return self.classes_[best]

    def _prediction(self, found: FoundNeighbors) -> tuple[str, float, dict[Any, float]]:
        weights = self._vote_weights(found)
        p, best = self._votes.shares(found, weights)[0], int(self._votes.best(found, weights)[0])
        sure = percent(float(p[best]), certain=float(p[best]) == 1.0)
        said = f"{self.target_.name} = {self.classes_[best]}, with probability {sure}."
        return said, float(p[best]), dict(zip(self.classes_.tolist(), p.tolist(), strict=True))


@dataclass(eq=False, repr=False)
class NeighborsRegressor(Regressor, NeighborModel):
    """Nearest neighbors: the mean of the training rows that are most like a row; mixed columns, missing values.

    Parameters
    ----------
    n_neighbors : int or "loo", default=5
        How many neighbors are averaged. "loo" takes the number with the least leave-one-out squared error on the
        training rows.
    weights, metric, radius, max_neighbors, types, categorical_features
        As for `NeighborsClassifier`; neighbors are averaged instead of voting.

    Attributes
    ----------
    choice_ : Grid
        For "loo": the negative leave-one-out mean squared error of each number of neighbors.
    n_neighbors_, metric_
        As for `NeighborsClassifier`.

    Examples
    --------
    >>> from countwise import NeighborsRegressor, samples
    >>> hours = samples.load("hours")
    >>> NeighborsRegressor(3).fit(hours.X, hours.y).predict(hours.X)[:3].round(3).tolist()
    [30.667, 28.667, 39.333]
    """

    _numbers = True
    mean_: float = field(init=False)

    def _describe_target(self) -> None:
        # summed exactly: the order of the rows must not show in the last bit
        weights = np.ones(len(self._targets)) if self._weights is None else self._weights.astype(np.float64)
        self.mean_ = fsum((weights * self._targets).tolist()) / fsum(weights.tolist())

    def _scores(self, found: FoundNeighbors, weights: Floats, targets: NDArray[Any]) -> Floats:
        return -((self._means(found, weights) - targets) ** 2)

    def _means(self, found: FoundNeighbors, weights: Floats | None = None) -> Floats:
        """The mean of the neighbors; that of all rows where there is none."""
        weights = self._vote_weights(found) if weights is None else weights
        owner, n = found.owner, len(found.starts) - 1
        total = np.bincount(owner, weights=weights, minlength=n)
        center = self.mean_  # so that numbers far from 0 keep their digits
        sums = np.bincount(owner, weights=weights * (self._targets[found.ids] - center), minlength=n)
        return np.where(total > 0, center + sums / np.where(total > 0, total, 1.0), center)

    def predict(self, X: Any) -> Floats:
        """The weighted mean of the neighbors; that of all rows where there is none."""
        return self._predicted(X, self._means)

    def _prediction(self, found: FoundNeighbors) -> tuple[str, float, None]:
        value = float(self._means(found)[0])
        return f"{self.target_.name} = {number(value)}.", value, None


def _nearness(weights: str | Callable[[Any], Any], found: FoundNeighbors) -> Floats:
    """The weight of each neighbor's vote for its distance alone."""
    d = found.distances
    if callable(weights):
        given = np.asarray(weights(d), dtype=np.float64)
        if given.shape != d.shape or not (np.isfinite(given).all() and (given >= 0).all()):
            raise OptionError("The function of weights must give a number of 0 or more for each distance.")
        return given
    if weights == "uniform":
        return np.ones(len(d))
    same = np.zeros(len(found.starts) - 1, dtype=bool)
    np.logical_or.at(same, found.owner, d == 0)
    # rows at distance 0 are the same row: only they count where there are any
    with np.errstate(divide="ignore", over="ignore"):
        near = 1.0 / d if weights == "distance" else 1.0 / (d * d)
    near = np.minimum(near, np.finfo(np.float64).max / 1e20)  # so that sums do not overflow
    return np.where(same[found.owner], (d == 0).astype(np.float64), near)
