"""Learners from instances with scikit-learn's face."""

from __future__ import annotations

from typing import Any

from countwise.base.faces import Classifier, Estimator, Regressor
from countwise.neighbors.instance_selection import Selection
from countwise.neighbors.knn import ClassNeighbors, NumberNeighbors
from countwise.neighbors.pebls import Exemplars
from countwise.neighbors.rote import Rote

__all__ = [
    "InstanceSelector",
    "NeighborsClassifier",
    "NeighborsRegressor",
    "PEBLSClassifier",
    "RoteClassifier",
]


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
    metric_ : Metric
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
    metric_ : Metric
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


class PEBLSClassifier(Classifier, Exemplars):
    """PEBLS (Cost and Salzberg, 004): neighbors by what values tell of the class, weighed by how reliable each is.

    .. math:: Δ(X, Y) = w_X w_Y Σ_j d_j(x_j, y_j)², with w = used / right

    where d is the modified value difference Σ_c |P(c | v) - P(c | w)| of names, or the scaled difference of numbers.

    Parameters
    ----------
    n_neighbors : int, default=1
        How many exemplars tell a row.
    numeric : {"range", "sd", "mvdm"}, default="range"
        Numbers: their difference over the range, or over the standard deviation; or in ranges of equal frequency by
        what these tell of the class.
    n_bins : int, default=10
        How many ranges, for "mvdm".
    missing : {"maximal", "ignore"}, default="maximal"
        A missing cell is as far from all others as any two values are, or it is ignored; see `Metric`.
    passes : int, default=1
        How often the training rows are told by each other to learn the weights; 0 leaves all at 1.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    exemplars_ : Grid
        Every training row: how often it was used to tell another, how often it was right, and its weight.
    exemplar_weights_ : ndarray
        The weights alone, in the order of the training rows.

    Notes
    -----
    In a pass every row is told by the others, all of them with the weights of the pass before, so that their order
    does not matter; Cost and Salzberg change weights after each row. Rows that are equally near share a use, and a
    vote. An exemplar tells itself, rightly: one that is never right for others is used little, but its weight stays a
    number.

    Examples
    --------
    >>> from countwise import PEBLSClassifier, samples
    >>> cheat = samples.load("cheat")
    >>> model = PEBLSClassifier().fit(cheat.frame, "cheat")
    >>> print(model.exemplars_)
    row  cheat  used  right  weight
    0    No     2     2      1
    1    No     2     2      1
    2    No     1     1      1
    3    No     1     1      1
    4    Yes    1.5   1.5    1
    5    No     2     2      1
    6    No     2     2      1
    7    Yes    2.5   1.5    1.66667
    8    No     3     3      1
    9    Yes    3     3      1
    """


class RoteClassifier(Classifier, Rote):
    """Rote learning (004): a row is told if the very same row was met in training.

    Parameters
    ----------
    otherwise : {"majority", "abstain"} or classifier, default="majority"
        What is told of a row that was not met: the commonest class, nothing (None), or what another classifier says,
        which is fitted to the same rows.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    n_different_ : int
        How many different rows were learned.
    otherwise_ : classifier
        The other classifier, fitted, if there is one.

    Notes
    -----
    Rows are the same if all their cells are; a missing cell is the same as a missing one. A text is the same if every
    letter is.

    Examples
    --------
    >>> from countwise import RoteClassifier, samples
    >>> tennis = samples.load("tennis")
    >>> model = RoteClassifier("abstain").fit(tennis.X, tennis.y)
    >>> rows = [{"outlook": "Sunny", "temperature": "Hot", "humidity": "High", "wind": "Weak"},
    ...         {"outlook": "Sunny", "temperature": "Hot", "humidity": "Normal", "wind": "Weak"}]
    >>> model.predict(rows).tolist(), model.coverage(rows)
    (['No', None], 0.5)
    """


class InstanceSelector(Estimator, Selection):
    """A choice of training rows, against noise and for speed (004).

    Parameters
    ----------
    method : {"edited", "condensed", "ib2", "ib3"}, default="edited"
        "edited" removes rows whose neighbors, all others asked, are of another class (Wilson). "ib2" goes through the
        rows in their order and keeps those that the kept ones do not tell right; "condensed" goes through them again
        until all are told (Hart). "ib3" keeps records, and in the end those rows that tell others better than chance.
    n_neighbors : int, optional
        How many neighbors are asked: 3 for "edited", else 1. "ib3" always asks one.
    metric : Metric, float or {"euclidean", "manhattan", "chebyshev"}, optional
        How rows are compared; see `Metric`.
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
