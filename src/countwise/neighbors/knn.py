"""Nearest neighbors classifier and regressor for mixed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.protocol import Classifier, Regressor, dirichlet_draws
from countwise.data.attributes import Numeric
from countwise.data.cells import one_row
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.errors import NumberIn, OptionError, check_settings, did_you_mean, printable
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
_SHOWN = 12  # most attributes in a summary
_COLLINEAR = 1e-10  # ratio of singular values below which columns are collinear


@dataclass(eq=False, repr=False)
class NeighborModel(InstanceModel):
    """Common part of the nearest neighbors classifier and regressor."""

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
    _penalties: Floats | None = field(default=None, init=False)  # factor on the distances to each training row
    _ties = False  # whether all rows at the distance of the last neighbor are neighbors too

    def _check_settings(self) -> None:
        check_settings(self, **_NUMBERS)
        names = ("uniform", "distance", "squared")
        known = isinstance(self.weights, str) and self.weights in names
        if not known and not callable(self.weights):
            raise OptionError(
                f"weights must be 'uniform', 'distance', 'squared' or a function, not {self.weights!r}.",
                hint=did_you_mean(self.weights, names),
            )

    def _derive(self) -> None:
        super()._derive()
        if self.n_neighbors == "loo":
            self.choice_ = self._leave_one_out()
            scores = np.array(self.choice_["score"])
            self.n_neighbors_ = int(self.choice_["n_neighbors"][int(np.argmax(scores >= scores.max() - 1e-12))])
        else:
            self.n_neighbors_ = int(self.n_neighbors)

    def _leave_one_out(self) -> Grid:
        """Return the leave-one-out score of each number of neighbors; one search serves all of them."""
        most = int(max(1, min(self.max_neighbors, np.ceil(self._n_total) - 1)))
        total = np.zeros(most)
        weight = self._search.weights_of(np.arange(len(self._search)))
        for start, stop in self._training_blocks():
            found, own = self._other_neighbors(float(most), start, stop)
            near = _nearness(self.weights, found)
            for k in range(1, most + 1):
                scores = self._scores(found, found.counted(own, float(k)) * near, start, stop)
                total[k - 1] += float((weight[start:stop] * scores).sum())
        return Grid({"n_neighbors": list(range(1, most + 1)), "score": (total / weight.sum()).tolist()})

    def _scores(self, found: FoundNeighbors, weights: Floats, start: int, stop: int) -> Floats:
        """Return the score of the prediction for each training row from start to stop."""
        raise NotImplementedError

    def _k(self) -> int:
        return min(self.n_neighbors_, len(self._search))

    def _found(self, frame: Frame, start: int, stop: int) -> FoundNeighbors:
        """Return the neighbors of some rows; a row without any known value has none."""
        laid = self._layout(frame, start, stop)
        k, radius = (float(self.n_neighbors_), np.inf) if self.radius is None else (np.inf, float(self.radius))
        found = self._search.nearest(laid, k, radius, penalties=self._penalties, ties=self._ties)
        return found.only(~laid.unknown(self.metric_.distance_)[found.owner])

    def _predicted(self, X: Any, predict: Callable[[FoundNeighbors], NDArray[Any]]) -> NDArray[Any]:
        """Apply `predict` to the neighbors of each block of rows; the search within a block is parallel."""
        return np.concatenate(self._in_blocks(X, lambda *block: predict(self._found(*block)), parallel=False))

    def _vote_weights(self, found: FoundNeighbors) -> Floats:
        """Return the weight of each neighbor's vote: the weight of the row times the weight of its distance."""
        k = float(self.n_neighbors_) if self.radius is None else np.inf
        return found.counted(self._search.weights_of(found.ids), k) * _nearness(self.weights, found)

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """Explain the prediction of one row.

        The working lists the neighbors with their distances and votes, and the contribution of each attribute to the
        distance of the nearest neighbor.

        Parameters
        ----------
        X : table
            Rows to predict. Columns are matched by name, or by position if X is an array.
        row : int, default=0
            Index of the row to explain. A negative index counts from the end.

        Returns
        -------
        Account
            The working. ``print`` shows it as text.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> weather = samples.load("weather")
        >>> model = NeighborsClassifier(3).fit(weather.frame, "play")
        >>> print(model.explain([{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]))
        play = no with probability 66.7 %.
        <BLANKLINE>
        The 3 nearest rows
          row  play  distance  vote  outlook  temperature  humidity  windy
            1  no    0.666667     1  sunny             80        90  True
           10  yes   0.774536     1  sunny             75        70  True
           13  no    1.02846      1  rainy             71        91  True
          votes: no = 2, yes = 1; total 3
          P(no) = (1 + 1)/3 = 0.666667
          P(yes) = 1/3 = 0.333333
        <BLANKLINE>
        Contribution d² of each attribute to each distance
          row  outlook  temperature    humidity  windy       sum  distance
            1        0    0.444444   0               0  0.444444  0.666667
           10        0    0.183673   0.416233        0  0.599907  0.774536
           13        1    0.0566893  0.00104058      0  1.05773   1.02846
        <BLANKLINE>
        Distance to the nearest row (row 1): 0.666667
          attribute    query  row 1  distance                d        d²
          outlook      sunny  sunny  overlap          0         0
          temperature  66     80     difference / 21  0.666667  0.444444
          humidity     90     90     difference / 31  0         0
          windy        True   True   overlap          0         0
          sum 0.444444; the distance is its square root
        """
        frame = one_row(self._open(X), row)
        return NeighborWorking(self, frame, self._layout(frame, 0, 1), self._found(frame, 0, 1)).account()

    def summary(self) -> str:
        """Return a short text about the fitted model: rows, neighbors, and the distance of each attribute.

        Returns
        -------
        str
            The summary.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> print(NeighborsClassifier(3).fit(samples.load("rain").frame, "rain").summary())
        6 rows, 2 attributes; rain: predicted from 3 neighbors
          attribute  type     distance           weight  if missing
          wind       nominal  overlap                 1           1
          temp       numeric  difference / 13.7       1           1
        """
        self._check_fitted()
        n = self.n_neighbors_
        head = f"{self._training_size}; {self.target_.name}: predicted from "
        lines = str(self.metric_.parts_).split("\n")[: _SHOWN + 1]
        return printable("\n".join([f"{head}{n} neighbor{'s' * (n != 1)}", *(f"  {line}" for line in lines)]))

    def tables(self) -> dict[str, Grid]:
        """Return the fitted metric, and the scores of the numbers of neighbors, as tables.

        Returns
        -------
        dict of str to Grid
            'metric': how each attribute is compared. 'choice': the leave-one-out score of each number of neighbors,
            only if ``n_neighbors='loo'``.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> model = NeighborsClassifier("loo", max_neighbors=3).fit(samples.load("rain").frame, "rain")
        >>> print(model.tables()["choice"])
        n_neighbors     score
                  1  0.166667
                  2  0.166667
                  3  0.333333
        """
        self._check_fitted()
        return {"metric": self.metric_.parts_, **({"choice": self.choice_} if hasattr(self, "choice_") else {})}

    # -- parts of the working ------------------------------------------------------------

    def _prediction(self, found: FoundNeighbors, one: Frame) -> tuple[str, float, dict[Any, float] | None]:
        """Return the prediction for one row as a sentence, its value, and the posterior of all classes."""
        raise NotImplementedError

    def _measures(self, found: FoundNeighbors) -> dict[str, list[Any]]:
        """Return the columns that describe how far the neighbors are."""
        return {"distance": found.distances.tolist()}

    def _reason(self, found: FoundNeighbors, row: int, lines: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """Return the title and the closing lines of the section about the nearest row."""
        return f"Distance to the nearest row (row {row}): {number(float(found.distances[0]))}", lines


@dataclass(eq=False, repr=False)
class NeighborsClassifier(Classifier, NeighborModel):
    """Nearest neighbors classifier for mixed columns with missing values.

    A row is assigned to the class with the most votes among its nearest training rows.

    Parameters
    ----------
    n_neighbors : int or 'loo', default=5
        Number of neighbors that vote. 'loo' chooses the number with the highest leave-one-out accuracy on the
        training rows, from 1 to `max_neighbors`; ties go to the smallest number. The metric is fitted once, to all
        rows.
    weights : {'uniform', 'distance', 'squared'} or callable, default='uniform'
        Weight of the vote of a neighbor at distance d. 'uniform': 1. 'distance': 1/d. 'squared': 1/d². With the last
        two, only the neighbors at distance 0 vote if there are any. A function receives the array of distances and
        returns the array of weights.
    metric : DistanceMetric, float or {'euclidean', 'manhattan', 'chebyshev'}, optional
        Distance between rows. A number is the power p of a `DistanceMetric`; the default is ``DistanceMetric()``.
    radius : float or None, default=None
        If given, all training rows within this distance vote, and `n_neighbors` is ignored.
    max_neighbors : int, default=30
        Largest number of neighbors that 'loo' tries.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them; see `NaiveBayesClassifier`.
    categorical_features : array-like, optional
        Columns that are nominal, by name or index or as a mask; see `NaiveBayesClassifier`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    class_count_ : ndarray
        Number of training rows (or their weight) in each class.
    prior_ : ndarray
        Proportion of the training rows in each class.
    n_neighbors_ : int
        Number of neighbors that vote.
    choice_ : Grid
        Leave-one-out accuracy of each number of neighbors. Only set if ``n_neighbors='loo'``.
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

    See Also
    --------
    NeighborsRegressor : Prediction of a numeric target.
    PEBLSClassifier : Nearest neighbors with the value difference metric and exemplar weights.
    InstanceSelector : Selection of the training rows.

    Notes
    -----
    The search is exact. Neighbors are sorted by distance, then by class, then by row. A row of weight n counts as n
    neighbors. Among classes with equal votes, the class of the nearest row is predicted, then the first class. A row
    without any known value, or without a neighbor within the radius, gets the class frequencies.

    Examples
    --------
    >>> from countwise import NeighborsClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = NeighborsClassifier(3).fit(weather.X, weather.y)
    >>> model.predict([{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]).tolist()
    ['no']
    """

    def _scores(self, found: FoundNeighbors, weights: Floats, start: int, stop: int) -> Floats:
        return np.asarray(self._votes.best(found, weights) == self._targets[start:stop], dtype=np.float64)

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row): the proportion of the votes for each class.

        A row without any known value, or without a neighbor within the radius, gets the class frequencies.

        Parameters
        ----------
        X : table
            Rows to predict. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Posterior of each class, in the order of `classes_`.

        Examples
        --------
        >>> from countwise import NeighborsClassifier
        >>> model = NeighborsClassifier(3).fit({"x": [0.0, 1.0, 2.0, 9.0]}, ["a", "a", "b", "b"])
        >>> model.predict_proba({"x": [1.5]}).round(3).tolist()
        [[0.667, 0.333]]
        """
        return self._predicted(X, lambda found: self._votes.proportions(found, self._vote_weights(found)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row: the class with the most votes.

        Ties go to the class of the nearest row, then to the first of `classes_`.

        Parameters
        ----------
        X : table
            Rows to predict. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted classes.

        Examples
        --------
        >>> from countwise import NeighborsClassifier
        >>> model = NeighborsClassifier(3).fit({"x": [0.0, 1.0, 2.0, 9.0]}, ["a", "a", "b", "b"])
        >>> model.predict({"x": [1.5]}).tolist()
        ['a']
        """
        best = self._predicted(X, lambda found: self._votes.best(found, self._vote_weights(found)))
        return self.classes_[best]

    def _labels_and_proba(self, X: Any) -> tuple[NDArray[Any], Floats]:
        def both(found: FoundNeighbors) -> tuple[NDArray[np.intp], Floats]:
            weights = self._vote_weights(found)
            return self._votes.best(found, weights), self._votes.proportions(found, weights)

        best, proba = zip(*self._in_blocks(X, lambda *rows: both(self._found(*rows)), parallel=False), strict=True)
        return self.classes_[np.concatenate(best)], np.concatenate(proba)

    _numbers_to_try = InstanceModel._numbers_to_try

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        return self._portrait_of_rows(np.flatnonzero(self._targets == c))

    def _posterior_draws(self, one: Frame, draws: int, rng: np.random.Generator) -> Floats:
        """Draw the proportions behind the votes; weighted votes count as their effective number."""
        found = self._found(one, 0, 1)
        weights = self._vote_weights(found)
        total, squares = float(weights.sum()), float((weights**2).sum())
        if not total > 0:
            return dirichlet_draws(self.class_count_, draws, rng)
        return dirichlet_draws(self._votes.proportions(found, weights)[0] * total**2 / squares, draws, rng)

    def _prediction(self, found: FoundNeighbors, one: Frame) -> tuple[str, float, dict[Any, float]]:
        weights = self._vote_weights(found)
        p, best = self._votes.proportions(found, weights)[0], int(self._votes.best(found, weights)[0])
        shown = percent(float(p[best]), certain=float(p[best]) == 1.0)
        sentence = f"{self.target_.name} = {self.classes_[best]} with probability {shown}."
        return sentence, float(p[best]), dict(zip(self.classes_.tolist(), p.tolist(), strict=True))


@dataclass(eq=False, repr=False)
class NeighborsRegressor(Regressor, NeighborModel):
    """Nearest neighbors regressor for mixed columns with missing values.

    The prediction is the weighted mean of the targets of the nearest training rows, or the value of the plane that is
    fitted to them.

    Parameters
    ----------
    n_neighbors : int or 'loo', default=5
        Number of neighbors that are averaged. 'loo' chooses the number with the smallest leave-one-out mean squared
        error on the training rows, from 1 to `max_neighbors`; ties go to the smallest number.
    weights : {'uniform', 'distance', 'squared'} or callable, default='uniform'
        Weight of a neighbor at distance d. 'uniform': 1. 'distance': 1/d. 'squared': 1/d². With the last two, only
        the neighbors at distance 0 count if there are any. A function receives the array of distances and returns the
        array of weights.
    metric : DistanceMetric, float or {'euclidean', 'manhattan', 'chebyshev'}, optional
        Distance between rows. A number is the power p of a `DistanceMetric`; the default is ``DistanceMetric()``.
        Distances that need classes, such as 'mvdm', are not available.
    radius : float or None, default=None
        If given, all training rows within this distance are averaged, and `n_neighbors` is ignored.
    max_neighbors : int, default=30
        Largest number of neighbors that 'loo' tries.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them; see `NaiveBayesClassifier`.
    categorical_features : array-like, optional
        Columns that are nominal, by name or index or as a mask; see `NaiveBayesClassifier`.
    local : {'mean', 'linear'}, default='mean'
        What is fitted to the neighbors. 'mean': the weighted mean of their targets. 'linear': local linear
        regression, the plane over the numeric columns with the smallest weighted sum of squared errors, evaluated at
        the row.

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbors that are averaged.
    choice_ : Grid
        Negative leave-one-out mean squared error of each number of neighbors. Only set if ``n_neighbors='loo'``.
    mean_ : float
        Mean target of all training rows, predicted for a row without neighbors.
    metric_ : DistanceMetric
        The fitted metric.
    schema_ : Schema
        The type and the values of each column.
    target_ : Numeric
        The target.
    n_rows_ : int
        Number of training rows.
    n_left_out_ : int
        Number of rows skipped because their target is missing.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.

    See Also
    --------
    NeighborsClassifier : Prediction of a class.

    Notes
    -----
    With ``local="linear"`` only numeric columns whose weight in the metric is above 0 have a slope; the other columns
    decide which rows are neighbors. A numeric column that is missing in the row has no slope either, and a
    neighbor whose value is missing is placed at the mean of the others. If the neighbors do not determine all slopes,
    because there are too few of them or their columns are collinear, the plane with the smallest slopes is used, with
    each column in units of its range. The prediction may lie outside of the range of the targets.

    References
    ----------
    Cleveland, W. S. (1979). Robust locally weighted regression and smoothing scatterplots. Journal of the American
    Statistical Association 74, 829-836.

    Examples
    --------
    >>> from countwise import NeighborsRegressor, samples
    >>> hours = samples.load("hours")
    >>> NeighborsRegressor(3).fit(hours.X, hours.y).predict(hours.X)[:3].round(3).tolist()
    [30.667, 28.667, 39.333]

    At the end of the data, the mean of the neighbors is biased, and a line is not:

    >>> X, y = {"x": [1.0, 2.0, 3.0, 4.0]}, [10.0, 20.0, 30.0, 40.0]
    >>> [NeighborsRegressor(3, local=local).fit(X, y).predict({"x": [4.0]}).round(6).tolist()
    ...  for local in ("mean", "linear")]
    [[30.0], [40.0]]
    """

    _numbers = True
    _: KW_ONLY
    local: str = "mean"
    mean_: float = field(init=False)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_settings(self, local=("mean", "linear"))

    def _describe_target(self) -> None:
        # an exact sum, so that the result does not depend on the order of the rows
        weights = np.ones(len(self._targets)) if self._weights is None else self._weights.astype(np.float64)
        size = float(np.abs(self._targets).max(initial=0.0)) or 1.0  # no sum overflows
        self.mean_ = fsum((weights * (self._targets / size)).tolist()) / fsum(weights.tolist()) * size

    def _scores(self, found: FoundNeighbors, weights: Floats, start: int, stop: int) -> Floats:
        predicted = self._means(found, weights)
        if self._is_linear():
            predicted = self._linear(found, weights, self._numbers_in(self._rows)[start:stop])
        return -((predicted - self._targets[start:stop]) ** 2)

    def _means(self, found: FoundNeighbors, weights: Floats | None = None) -> Floats:
        """Return the weighted mean of the neighbors; the mean of all rows for a query without neighbors."""
        weights = self._vote_weights(found) if weights is None else weights
        owner, n = found.owner, len(found.starts) - 1
        total = np.bincount(owner, weights=weights, minlength=n)
        center = self.mean_  # subtracted first, to avoid cancellation far from 0
        sums = np.bincount(owner, weights=weights * (self._targets[found.ids] - center), minlength=n)
        return np.where(total > 0, center + sums / np.where(total > 0, total, 1.0), center)

    def _is_linear(self) -> bool:
        check_settings(self, local=("mean", "linear"))  # it can be changed after fit
        return bool(self.local == "linear")

    def _columns(self) -> list[str]:
        """Return the numeric columns that have a slope in a local linear regression."""
        parts = self.metric_.distance_.locals
        return [part.of.name for part in parts if isinstance(part.of, Numeric) and part.weight > 0]

    def _numbers_in(self, table: Table) -> Floats:
        """Return the numeric columns of a table as a matrix."""
        columns = [np.asarray(table[name], dtype=np.float64) for name in self._columns()]
        return np.stack(columns, axis=1) if columns else np.empty((table.n_rows, 0))

    def _linear(self, found: FoundNeighbors, weights: Floats, queries: Floats) -> Floats:
        """Return the value of the plane of each query; the mean of all rows for a query without neighbors."""
        planes = self._planes(found, weights, queries)
        return np.array([self.mean_ if plane is None else plane.value for plane in planes])

    def _planes(self, found: FoundNeighbors, weights: Floats, queries: Floats) -> Iterator[LocalPlane | None]:
        """Yield the plane of each query; None for a query without neighbors."""
        x = self._numbers_in(self._rows)
        low, high = np.nanmin(x, axis=0, initial=np.inf), np.nanmax(x, axis=0, initial=-np.inf)
        units = np.where(high > low, high - low, 1.0)
        for i, query in enumerate(queries):
            part = slice(found.starts[i], found.starts[i + 1])
            ids, w = found.ids[part], weights[part]
            yield local_plane(x[ids], self._targets[ids], w, query, units) if w.sum() > 0 else None

    def predict(self, X: Any) -> Floats:
        """Predict the target of each row: the weighted mean of its neighbors, or the value of their plane.

        A row without any known value, or without a neighbor within the radius, gets the mean of all training rows.

        Parameters
        ----------
        X : table
            Rows to predict. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted values.

        Examples
        --------
        >>> from countwise import NeighborsRegressor
        >>> model = NeighborsRegressor(2).fit({"x": [0.0, 1.0, 9.0]}, [10.0, 20.0, 90.0])
        >>> model.predict({"x": [0.4]}).tolist()
        [15.0]
        """
        if not self._is_linear():
            return self._predicted(X, self._means)

        def linear(frame: Frame, start: int, stop: int) -> Floats:
            found = self._found(frame, start, stop)
            return self._linear(found, self._vote_weights(found), self._numbers_in(self._table(frame, start, stop)))

        return np.concatenate(self._in_blocks(X, linear, parallel=False))

    def _plane(self, found: FoundNeighbors, one: Frame) -> LocalPlane | None:
        """Return the plane of one row; None if the mean is predicted."""
        if not self._is_linear():
            return None
        return next(self._planes(found, self._vote_weights(found), self._numbers_in(self._table(one, 0, 1))))

    def _prediction(self, found: FoundNeighbors, one: Frame) -> tuple[str, float, None]:
        plane = self._plane(found, one)
        value = float(self._means(found)[0]) if plane is None else plane.value
        return f"{self.target_.name} = {number(value)}.", value, None


@dataclass(frozen=True, slots=True, eq=False)
class LocalPlane:
    """Plane through the neighbors of a row: target = level + Σ slope_j (x_j - center_j)."""

    level: float  # weighted mean of the targets
    centers: Floats  # weighted mean of each column; NaN for a column that is missing in the row
    slopes: Floats  # 0 for a column that is missing in the row
    value: float  # at the row
    fitted: Floats  # at each neighbor
    n_determined: int  # number of slopes that the neighbors determine


def local_plane(x: Floats, y: Floats, weights: Floats, query: Floats, units: Floats) -> LocalPlane:
    """Fit a plane to rows by weighted least squares; of several such planes, return that with the smallest slopes."""
    w = weights / weights.max()
    level = float(y[0] + (w * (y - y[0])).sum() / w.sum())
    known = ~np.isnan(query)
    away = (x - np.where(known, query, 0.0)) / units  # differences from the row, so that no digits are lost
    there = ~np.isnan(away) & known
    total = np.where(there, w[:, None], 0.0)
    centers = (total * np.where(there, away, 0.0)).sum(axis=0) / np.where(total.any(axis=0), total.sum(axis=0), 1.0)
    design = np.where(there, away - centers, 0.0)
    root = np.sqrt(w)
    slopes, _, rank, _ = np.linalg.lstsq(root[:, None] * design, root * (y - level), rcond=_COLLINEAR)
    return LocalPlane(
        level,
        np.where(known, query + centers * units, np.nan),
        slopes / units,
        float(level - (slopes * centers).sum()),
        level + (design * slopes).sum(axis=1),
        int(rank),
    )


def _nearness(weights: str | Callable[[Any], Any], found: FoundNeighbors) -> Floats:
    """Return the weight of each neighbor's vote that follows from its distance alone."""
    d = found.distances
    if callable(weights):
        try:
            given = np.asarray(weights(d), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OptionError(f"The weights function failed for an array of distances: {error}") from None
        if given.shape != d.shape or not (np.isfinite(given).all() and (given >= 0).all()):
            raise OptionError("The weights function must return a finite number >= 0 for each distance.")
        return given
    if weights == "uniform":
        return np.ones(len(d))
    same = np.zeros(len(found.starts) - 1, dtype=bool)
    np.logical_or.at(same, found.owner, d == 0)
    # if a query has neighbors at distance 0, only they vote
    with np.errstate(divide="ignore", over="ignore"):
        near = 1.0 / d if weights == "distance" else 1.0 / (d * d)
    near = np.minimum(near, np.finfo(np.float64).max / 1e20)  # sums of weights must not overflow
    return np.where(same[found.owner], (d == 0).astype(np.float64), near)
