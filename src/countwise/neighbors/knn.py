"""Nearest neighbors (004): the classes, or the mean, of the training rows that are most like a row."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.protocol import Classifier, Regressor
from countwise.data.cells import one_row
from countwise.data.frames import Frame
from countwise.errors import OptionError, check_settings
from countwise.neighbors.base import InstanceModel
from countwise.neighbors.choose_k import choice_of_k
from countwise.neighbors.search import FoundNeighbors
from countwise.neighbors.voting import WEIGHTS, Voting, nearness
from countwise.neighbors.working import NeighborTelling
from countwise.working import Account, Grid
from countwise.working.numbers import number, percent

__all__ = ["NeighborsClassifier", "NeighborsRegressor"]


class NeighborModel(InstanceModel):
    """What neighbors for classes and for numbers have in common."""

    n_neighbors: Any
    max_neighbors: int
    radius: float | None
    weights: Any
    search: str
    n_neighbors_: int
    choice_: Grid
    _penalties: Floats | None = None  # by what the distances of each row are multiplied
    _ties = False  # whether all rows are asked that are as near as the last

    def __init__(
        self,
        n_neighbors: Any = 5,
        *,
        weights: Any = "uniform",
        metric: Any = None,
        radius: float | None = None,
        max_neighbors: int = 30,
        search: str = "exact",
        types: Any = None,
        categorical_features: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.radius = radius
        self.max_neighbors = max_neighbors
        self.search = search
        self.types = types
        self.categorical_features = categorical_features

    def _check_settings(self) -> None:
        super()._check_settings()
        check_settings(self, search=("exact", "usearch"))
        k = self.n_neighbors
        whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if not (whole and k >= 1) and not (isinstance(k, str) and k == "loo"):
            raise OptionError(f"n_neighbors must be a whole number, 1 or more, or 'loo', not {k!r}.")
        if not isinstance(self.max_neighbors, int | np.integer) or self.max_neighbors < 1:
            raise OptionError(f"max_neighbors must be a whole number, 1 or more, not {self.max_neighbors!r}.")
        if self.radius is not None and not (isinstance(self.radius, int | float | np.number) and self.radius >= 0):
            raise OptionError(f"radius must be 0 or more, or None, not {self.radius!r}.")
        if not callable(self.weights) and not (isinstance(self.weights, str) and self.weights in WEIGHTS):
            raise OptionError(
                f"weights={self.weights!r} is unknown.", hint="give 'uniform', 'distance', 'squared' or a function."
            )

    def _derive(self) -> None:
        self._open_search()
        self._describe()
        if self.n_neighbors == "loo":
            self.choice_ = choice_of_k(self)
            scores = np.array(self.choice_["score"])
            self.n_neighbors_ = int(self.choice_["k"][int(np.argmax(scores >= scores.max() - 1e-12))])
        else:
            self.n_neighbors_ = int(self.n_neighbors)

    def _describe(self) -> None:
        """What is told where there is no neighbor."""
        raise NotImplementedError

    def _k(self) -> int:
        return min(self.n_neighbors_, len(self._search))

    def _found(self, frame: Frame, start: int, stop: int) -> FoundNeighbors:
        """The neighbors of some rows; none of a row of which nothing is known."""
        laid = self._laid(frame, start, stop)
        k, radius = (float(self.n_neighbors_), np.inf) if self.radius is None else (np.inf, float(self.radius))
        found = self._search.nearest(laid, k, radius, penalties=self._penalties, ties=self._ties)
        return found.only(~laid.unknown(self.metric_.law_)[found.owner])

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """The neighbors of one row, how far each is, and what each attribute adds to the distance of the nearest.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.
        row : int, default=0
            Which row.

        Returns
        -------
        Account

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
          1    no    0.666667  1     sunny    80           90        True
          10   yes   0.774536  1     sunny    75           70        True
          13   no    1.02846   1     rainy    71           91        True
          votes: no = 2, yes = 1, of 3
        <BLANKLINE>
        Why row 1 is 0.666667 away
          attribute    asked  row 1  distance         d         d²
          outlook      sunny  sunny  equal or not     0         0
          temperature  66     80     difference / 21  0.666667  0.444444
          humidity     90     90     difference / 31  0         0
          windy        True   True   equal or not     0         0
          sum 0.444444; its root is the distance
        """
        frame = one_row(self._open(X), row)
        return NeighborTelling(self, frame, self._laid(frame, 0, 1), self._found(frame, 0, 1)).account()

    def _counted(self, found: FoundNeighbors) -> Floats:
        """The votes of neighbors: their weights, by their distances."""
        own = self._search.weights
        k = float(self.n_neighbors_) if self.radius is None else np.inf
        return found.counted(np.ones(len(found.ids)) if own is None else own[found.ids], k) * nearness(
            self.weights, found
        )

    def _measures(self, found: FoundNeighbors) -> dict[str, list[Any]]:
        """How far neighbors are, as it is shown."""
        return {"distance": found.distances.tolist()}

    def _reason(self, found: FoundNeighbors, row: int, lines: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The title and the last lines of what is said of the nearest row."""
        return f"Why row {row} is {number(float(found.distances[0]))} away", lines

    def _judged(self, found: FoundNeighbors, counted: Floats, told: NDArray[Any]) -> Floats:
        """How good the answers to rows are of which is known what should be told."""
        raise NotImplementedError


class NeighborsClassifier(Classifier, Voting, NeighborModel):
    """Nearest neighbors: the classes of the training rows that are most like a row, over mixed columns with gaps.

    Parameters
    ----------
    n_neighbors : int or "loo", default=5
        How many neighbors vote. "loo" takes the number that tells most training rows right when each in turn is left
        out; all numbers up to `max_neighbors` are tried in one search. The metric is learned from all rows.
    weights : {"uniform", "distance", "squared"} or callable, default="uniform"
        A vote for each neighbor; its weight is 1, 1/d, 1/d², or what the function of the distances says.
        Where rows are at distance 0 only these vote (but for a function).
    metric : DistanceMetric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `DistanceMetric`. A number is the power of one that is else as usual.
    radius : float, optional
        If given, all rows within this distance vote instead of a number of them.
    max_neighbors : int, default=30
        For "loo".
    search : {"exact", "usearch"}, default="exact"
        Every near row is found; or candidates are taken from a graph of the package usearch, which may miss some.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    n_neighbors_ : int
        How many neighbors vote.
    choice_ : Grid
        For "loo": the share of rows told right for each number of neighbors.
    metric_ : DistanceMetric
        The metric, fitted.
    recall_ : float
        For "usearch": the share of the ten truly nearest rows that are found, measured on training rows.

    Notes
    -----
    The search is exact. Neighbors come in the order of their distance, then of their class, then of their row. A row
    of weight n counts as n neighbors. Of classes with equal votes the one with the nearest row is told, then the
    first. A row of which nothing is known, or that has no neighbor within the radius, is told by the classes' shares
    of all rows.

    Examples
    --------
    >>> from countwise import NeighborsClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = NeighborsClassifier(3).fit(weather.X, weather.y)
    >>> model.predict([{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]).tolist()
    ['no']
    """

    _numbers = False

    def _judged(self, found: FoundNeighbors, counted: Floats, told: NDArray[Any]) -> Floats:
        return np.asarray(self._best(found, counted) == told, dtype=np.float64)

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row): the classes' shares of the votes; the prior where there is no neighbor.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        return np.concatenate(self._in_blocks(X, lambda *block: self._shares(self._found(*block)), parallel=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes; of equals the one with the nearest row, then the first of `classes_`.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """
        best = self._in_blocks(X, lambda *block: self._best(self._found(*block)), parallel=False)
        return self.classes_[np.concatenate(best)]

    def _answer(self, found: FoundNeighbors) -> tuple[str, float, dict[Any, float]]:
        """The answer to a single row in words, its probability, and all of them."""
        p = self._shares(found)[0]
        best = int(self._best(found)[0])
        sure = percent(float(p[best]), certain=float(p[best]) == 1.0)
        told = f"{self.target_.name} = {self.classes_[best]}, with probability {sure}."
        return told, float(p[best]), dict(zip(self.classes_.tolist(), p.tolist(), strict=True))


class NeighborsRegressor(Regressor, NeighborModel):
    """Nearest neighbors: the mean of the training rows that are most like a row, over mixed columns with gaps.

    Parameters
    ----------
    n_neighbors : int or "loo", default=5
        Of how many neighbors the mean is taken. "loo" takes the number with the least squared error when each
        training row in turn is left out.
    weights : {"uniform", "distance", "squared"} or callable, default="uniform"
        The weight of each neighbor is 1, 1/d, 1/d², or what the function of the distances says.
    metric : DistanceMetric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `DistanceMetric`.
    radius : float, optional
        If given, all rows within this distance count instead of a number of them.
    max_neighbors : int, default=30
        For "loo".
    search : {"exact", "usearch"}, default="exact"
        Every near row is found; or candidates are taken from a graph of the package usearch, which may miss some.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    n_neighbors_ : int
        How many neighbors count.
    choice_ : Grid
        For "loo": less the mean squared error, for each number of neighbors.
    metric_ : DistanceMetric
        The metric, fitted.
    recall_ : float
        For "usearch": the share of the ten truly nearest rows that are found, measured on training rows.

    Examples
    --------
    >>> from countwise import NeighborsRegressor, samples
    >>> hours = samples.load("hours")
    >>> NeighborsRegressor(3).fit(hours.X, hours.y).predict(hours.X)[:3].round(3).tolist()
    [30.667, 28.667, 39.333]
    """

    _numbers = True

    def _describe(self) -> None:
        # summed exactly: the order of the rows must not show in the last bit
        weights = np.ones(len(self._told)) if self._weights is None else self._weights.astype(np.float64)
        self.mean_ = fsum((weights * self._told).tolist()) / fsum(weights.tolist())

    def _judged(self, found: FoundNeighbors, counted: Floats, told: NDArray[Any]) -> Floats:
        return -((self._means(found, counted) - told) ** 2)

    def _means(self, found: FoundNeighbors, counted: Floats | None = None) -> Floats:
        """The mean of the neighbors; that of all rows where there is none."""
        counted = self._counted(found) if counted is None else counted
        owner, n = found.owner, len(found.starts) - 1
        total = np.bincount(owner, weights=counted, minlength=n)
        center = self.mean_  # so that numbers far from 0 keep their digits
        sums = np.bincount(owner, weights=counted * (self._told[found.ids] - center), minlength=n)
        return np.where(total > 0, center + sums / np.where(total > 0, total, 1.0), center)

    def predict(self, X: Any) -> Floats:
        """The mean of the neighbors, weighed by nearness if so set; that of all rows where there is none.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """
        return np.concatenate(self._in_blocks(X, lambda *block: self._means(self._found(*block)), parallel=False))

    def _answer(self, found: FoundNeighbors) -> tuple[str, float, None]:
        value = float(self._means(found)[0])
        return f"{self.target_.name} = {number(value)}.", value, None
