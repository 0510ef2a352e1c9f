"""Learners from instances with scikit-learn's face."""

from __future__ import annotations

from countwise.models.faces import Classifier, Regressor
from countwise.models.neighbors import ClassNeighbors, NumberNeighbors

__all__ = ["NeighborsClassifier", "NeighborsRegressor"]


class NeighborsClassifier(Classifier, ClassNeighbors):
    """Nearest neighbors: the classes of the training rows that are most like a row, over mixed columns with gaps.

    Parameters
    ----------
    n_neighbors : int or "loo", default=5
        How many neighbors vote. "loo" takes the number that tells most training rows right when each in turn is left
        out; all numbers up to `max_neighbors` are tried in one search. The metric is learned from all rows.
    weights : {"uniform", "distance", "squared"} or callable, default="uniform"
        A vote for each neighbor; its weight is 1, 1/d, 1/d², or what the function of the distances says.
        Where rows are at distance 0 only these vote (but for a function).
    metric : Metric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `Metric`. A number is the power of one that is else as usual.
    radius : float, optional
        If given, all rows within this distance vote instead of a number of them.
    max_neighbors : int, default=30
        For "loo".
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
    metric_ : Metric
        The metric, fitted.

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


class NeighborsRegressor(Regressor, NumberNeighbors):
    """Nearest neighbors: the mean of the training rows that are most like a row, over mixed columns with gaps.

    Parameters
    ----------
    n_neighbors : int or "loo", default=5
        Of how many neighbors the mean is taken. "loo" takes the number with the least squared error when each
        training row in turn is left out.
    weights : {"uniform", "distance", "squared"} or callable, default="uniform"
        The weight of each neighbor is 1, 1/d, 1/d², or what the function of the distances says.
    metric : Metric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `Metric`.
    radius : float, optional
        If given, all rows within this distance count instead of a number of them.
    max_neighbors : int, default=30
        For "loo".
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
    metric_ : Metric
        The metric, fitted.

    Examples
    --------
    >>> from countwise import NeighborsRegressor, samples
    >>> hours = samples.load("hours")
    >>> NeighborsRegressor(3).fit(hours.X, hours.y).predict(hours.X)[:3].round(3).tolist()
    [30.667, 28.667, 39.333]
    """
