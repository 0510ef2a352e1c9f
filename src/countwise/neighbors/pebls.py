"""PEBLS: nearest neighbors with the value difference metric and exemplar weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.data.table import Table
from countwise.data.text import Bag
from countwise.errors import NumberIn, OptionError, check_settings
from countwise.neighbors.knn import NeighborsClassifier
from countwise.neighbors.layout import FoundNeighbors
from countwise.neighbors.metric import DistanceMetric
from countwise.working import Formula, Grid
from countwise.working.numbers import Worked, decimal, number

__all__ = ["PEBLSClassifier"]

_MOST_PASSES = 1000  # the weights hardly change after a few passes
_BLOCK = 128  # rows whose distances are computed together
_TIE = 1e-12  # relative difference of distances that are equal


@dataclass(eq=False, repr=False)
class PEBLSClassifier(NeighborsClassifier):
    """PEBLS (Cost and Salzberg, 1993): nearest neighbors with the value difference metric and exemplar weights.

    .. math:: Δ(X, Y) = w_X w_Y Σ_j d_j(x_j, y_j)², with w = used / right

    where d_j is the modified value difference metric ``Σ_c |P(c | v) - P(c | w)|`` of nominal and ordinal values, or
    the scaled difference of numbers. An exemplar that was used often but was seldom right has a large weight w and
    appears farther away. The weight of a new row is 1.

    Parameters
    ----------
    n_neighbors : int, default=1
        Number of exemplars that vote.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them; see `NaiveBayesClassifier`.
    categorical_features : array-like, optional
        Columns that are nominal, by name or index or as a mask; see `NaiveBayesClassifier`.
    numeric : {'range', 'sd', 'mvdm'}, default='range'
        Local distance of numeric columns. 'range': the difference divided by the range. 'sd': the difference divided
        by the standard deviation. 'mvdm': the value difference metric of equal-frequency bins.
    n_bins : int, default=10
        Number of bins for ``numeric='mvdm'``.
    missing : {'maximal', 'ignore'}, default='maximal'
        Distance of a missing value. 'maximal': the largest distance between two values of the training rows.
        'ignore': the attribute is skipped; see `DistanceMetric`.
    weighting : {'batch', 'incremental'}, default='batch'
        How the exemplar weights are learned. 'batch': each row is predicted from all other rows, with the weights of
        the previous pass. 'incremental': each row, in the order of the table, is predicted from the rows before it,
        and the weights of the exemplars that it used change at once. The result then depends on the order of the
        rows, and `weight_history_` has each change.
    passes : int, default=1
        Number of passes over the training rows in which the exemplar weights are learned, at most 1000. 0 leaves
        all weights at 1. In further passes of 'incremental', a row is predicted from all other rows.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    exemplars_ : Grid
        For each training row: how often it was used to predict another row, how often it was right, and its weight.
    exemplar_weights_ : ndarray
        The weights, in the order of the training rows.
    weight_history_ : Grid
        For each row that was predicted, the exemplars that it used, and their weights before and after. Only set if
        ``weighting='incremental'``.
    n_neighbors_ : int
        Number of exemplars that vote.
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

    Notes
    -----
    A pass of 'batch' predicts each row from all other rows, with the weights of the previous pass; rows are stored in
    the order of their content. Predictions therefore do not depend on the order of the rows, not even in the last
    bit. Cost and Salzberg update the weights after each row, as 'incremental' does. In both, P(class | value) is the
    proportion among all training rows. Exemplars at equal distance divide a use, and a vote, among themselves. Each
    exemplar starts with one correct use, so its weight is finite. A row of weight n uses its neighbors n times.

    References
    ----------
    Cost, S. and Salzberg, S. (1993). A weighted nearest neighbor algorithm for learning with symbolic features.
    Machine Learning 10, 57-78.

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

    Row by row, the first rows are predicted from few exemplars:

    >>> model = PEBLSClassifier(weighting="incremental").fit(cheat.columns("refund", "marital"), cheat.y)
    >>> print(model.weight_history_)
    row  class  neighbor  its class       Σd²  weight         Δ       use  right  new weight
      1  No            0  No         1.73469      1    1.73469   1         True   2/2 = 1
      2  No            0  No         0.734694     1    0.734694  1         True   3/3 = 1
      3  No            1  No         0.734694     1    0.734694  1         True   2/2 = 1
      4  Yes           2  No         0            1    0         1         False  2/1 = 2
      5  No            1  No         0            1    0         1         True   3/3 = 1
      6  No            0  No         0            1    0         1         True   4/4 = 1
      7  Yes           2  No         0            2    0         0.5       False  2.5/1 = 2.5
      7  Yes           4  Yes        0            1    0         0.5       True   1.5/1.5 = 1
      8  No            1  No         0            1    0         0.5       True   3.5/3.5 = 1
      8  No            5  No         0            1    0         0.5       True   1.5/1.5 = 1
      9  Yes           2  No         0            2.5  0         0.333333  False  2.83333/1 = 2.83333
      9  Yes           4  Yes        0            1    0         0.333333  True   1.83333/1.83333 = 1
      9  Yes           7  Yes        0            1    0         0.333333  True   1.33333/1.33333 = 1
    """

    n_neighbors: Any = 1
    _: KW_ONLY
    numeric: str = "range"
    n_bins: int = 10
    missing: str = "maximal"
    weighting: str = "batch"
    passes: int = 1

    # parameters of NeighborsClassifier that are fixed here
    weights: Any = field(default="uniform", init=False)
    metric: Any = field(default=None, init=False)
    radius: float | None = field(default=None, init=False)
    max_neighbors: int = field(default=1, init=False)
    _ties = True
    exemplar_weights_: Floats = field(init=False)
    weight_history_: Grid = field(init=False)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_settings(
            self,
            numeric=("range", "sd", "mvdm"),
            weighting=("batch", "incremental"),
            passes=NumberIn(0, _MOST_PASSES, whole=True),
        )
        if self.n_neighbors == "loo":
            raise OptionError(
                "n_neighbors must be an integer >= 1: PEBLSClassifier does not choose it by leave-one-out.",
                hint="pass a number, such as n_neighbors=1.",
            )

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

    def _order_keys(self, table: Table) -> list[NDArray[Any]]:
        """Order rows by content, so that weights are summed in the same order for every order of the rows."""
        return [_content(table)]

    def _derive(self) -> None:
        super()._derive()
        n = len(self._search)
        used, right = np.ones(n), np.ones(n)
        self._penalties = None
        if self.weighting == "incremental":
            used, right = self._row_by_row()
            self._penalties = used / right
        for _ in range(int(self.passes) if self.weighting == "batch" else 0):
            used, right = self._reliability()
            self._penalties = np.round(used / right, 12)  # equal rows keep equal weights, in any order of summation
        self._used, self._right = used, right
        self.exemplar_weights_ = (used / right)[self._in_given_order()]

    def _reliability(self) -> tuple[Floats, Floats]:
        """Return how often each exemplar is used, and is right, when every row is predicted from the others.

        Both counts start at 1. Exemplars at equal distance divide the remaining number of neighbors among themselves.
        """
        n = len(self._search)
        used, right = np.ones(n), np.ones(n)
        copies = self._search.weights_of(np.arange(n))
        for start, stop in self._training_blocks():
            found, own = self._other_neighbors(float(self.n_neighbors_), start, stop, self._penalties, ties=True)
            fraction = _shared(found, own, float(self.n_neighbors_))
            query = found.owner + start
            times = np.where(found.ids == query, copies[query] - 1.0, copies[query])
            np.add.at(used, found.ids, times * fraction)
            same = self._targets[found.ids] == self._targets[query]
            np.add.at(right, found.ids[same], (times * fraction)[same])
        return used, right

    def _row_by_row(self) -> tuple[Floats, Floats]:
        """Return how often each exemplar is used, and is right, when rows are predicted in the order of the table."""
        places, combined = self._in_given_order(), self.metric_.distance_
        rows, n = self._search.rows.take(places), len(self._search)
        targets, own, unknown = self._targets[places], self._search.weights_of(places), rows.unknown(combined)
        used, right, history = np.ones(n), np.ones(n), _History()
        for number_of_pass in range(1, int(self.passes) + 1):
            for start in range(0, n, _BLOCK):
                stop = min(start + _BLOCK, n)
                among = rows if number_of_pass > 1 else rows.slice(0, stop)
                sums = _kernels.pair_sums(*combined.between(rows.slice(start, stop), among))
                for i in np.flatnonzero(~unknown[start:stop]).tolist():
                    query, distances = start + i, sums[i]
                    deltas = distances * (used / right)[: len(distances)]
                    deltas[query : query + 1 if number_of_pass > 1 else None] = np.inf
                    for group, fraction in _nearest_groups(deltas, own, float(self.n_neighbors_)):
                        before = used[group] / right[group]
                        same = targets[group] == targets[query]
                        used[group] += own[query] * fraction
                        right[group[same]] += own[query] * fraction
                        history.add(number_of_pass, query, group, distances[group], before, fraction * own[query])
                        history.after(same, used[group], right[group])
        self.weight_history_ = history.grid(self._order[places], self.classes_[targets], self.target_.name)
        back = np.empty((2, n))
        back[:, places] = used, right
        return back[0], back[1]

    @property
    def exemplars_(self) -> Grid:
        """The class of each training row, how often it was used and was right, and its weight."""
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
        """Return the fitted metric and the exemplars as tables.

        Returns
        -------
        dict of str to Grid
            'metric': how each attribute is compared. 'exemplars': the weight of each training row. 'history': each
            change of a weight, only if ``weighting='incremental'``.

        Examples
        --------
        >>> from countwise import PEBLSClassifier, samples
        >>> list(PEBLSClassifier().fit(samples.load("cheat").frame, "cheat").tables())
        ['metric', 'exemplars']
        """
        history = {"history": self.weight_history_} if hasattr(self, "weight_history_") else {}
        return {**super().tables(), "exemplars": self.exemplars_, **history}

    def _vote_weights(self, found: FoundNeighbors) -> Floats:
        """Return the votes; exemplars at equal distance divide the remaining number of neighbors among themselves."""
        own = self._search.weights_of(found.ids)
        return own * _shared(found, own, float(self.n_neighbors_))

    def _measures(self, found: FoundNeighbors) -> dict[str, list[Any]]:
        used, right = self._used[found.ids], self._right[found.ids]
        weight = [
            w if w == 1 else Worked(w, f"{number(u)}/{number(r)}")
            for w, u, r in zip((used / right).tolist(), used.tolist(), right.tolist(), strict=True)
        ]
        return {"Σd²": (found.sums * right / used).tolist(), "weight": weight, "Δ": found.sums.tolist()}

    def _reason(self, found: FoundNeighbors, row: int, lines: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        delta, i = float(found.sums[0]), found.ids[0]
        used, right = float(self._used[i]), float(self._right[i])
        total = delta * right / used
        last = [
            Formula(f"Σd² = {decimal(total)}"),
            Formula(f"weight of the exemplar = used/right = {number(used)}/{number(right)} = {number(used / right)}"),
            Formula(f"Δ = {number(used / right)}·{decimal(total)} = {decimal(delta)}"),
        ]
        return f"Δ of the nearest exemplar (row {row}): {decimal(delta)}", (*lines[:-1], *last)


def _nearest_groups(deltas: Floats, own: Floats, k: float) -> Iterator[tuple[NDArray[np.intp], float]]:
    """Yield the nearest rows, those of equal distance together, and the fraction of each that is used."""
    left = k
    while left > 0:
        nearest = float(deltas.min(initial=np.inf))
        if not np.isfinite(nearest):
            return
        group = np.flatnonzero(deltas <= nearest * (1 + _TIE))
        weight = float(own[group].sum())
        yield group, min(left / weight, 1.0)
        deltas[group] = np.inf
        left -= weight


class _History:
    """Changes of the weights of exemplars, in the order in which they occur."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {
            name: [] for name in ("pass", "row", "neighbor", "Σd²", "weight", "use", "right", "used", "times right")
        }

    def add(self, number_of_pass: int, query: int, group: Any, sums: Any, weights: Any, use: float) -> None:
        """Record the exemplars that a row uses."""
        self.columns["pass"] += [number_of_pass] * len(group)
        self.columns["row"] += [query] * len(group)
        self.columns["neighbor"] += group.tolist()
        self.columns["Σd²"] += sums.tolist()
        self.columns["weight"] += weights.tolist()
        self.columns["use"] += [float(use)] * len(group)

    def after(self, same: Any, used: Any, right: Any) -> None:
        """Record whether the exemplars are right, and their counts after the use."""
        self.columns["right"] += same.tolist()
        self.columns["used"] += used.tolist()
        self.columns["times right"] += right.tolist()

    def grid(self, rows: Any, classes: Any, target: str) -> Grid:
        """Return the table, with the numbers and classes of the rows as in the training table."""
        columns = {name: list(cells) for name, cells in self.columns.items()}
        used, right = columns.pop("used"), columns.pop("times right")
        numbers_of_passes = columns.pop("pass")
        query, neighbor = columns["row"], columns["neighbor"]
        found: dict[str, list[Any]] = {"pass": numbers_of_passes} if max(numbers_of_passes, default=1) > 1 else {}
        return Grid(
            found
            | {
                "row": rows[query].tolist(),
                target: classes[query].tolist(),
                "neighbor": rows[neighbor].tolist(),
                "its class": classes[neighbor].tolist(),
                "Σd²": columns["Σd²"],
                "weight": columns["weight"],
                "Δ": [s * w for s, w in zip(columns["Σd²"], columns["weight"], strict=True)],
                "use": columns["use"],
                "right": columns["right"],
                "new weight": [Worked(u / r, f"{number(u)}/{number(r)}") for u, r in zip(used, right, strict=True)],
            }
        )


def _shared(found: FoundNeighbors, own: Floats, k: float) -> Floats:
    """Return the fraction of each row that is used: 1, until rows at equal distance divide what remains of k."""
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


def _content(table: Table) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the cells of each row, to sort by: sorting by every column takes much longer."""
    found = np.zeros(table.n_rows, dtype=np.uint64)
    for column in table.columns.values():
        found = (found ^ (found >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15) + _bits(column)
    return found


def _bits(column: Any) -> NDArray[np.uint64]:
    """Return a column as integers that are equal for equal cells; texts by their words."""
    if isinstance(column, Bag):
        contents = [tuple(part.tobytes() for part in column.row(i)) for i in range(len(column))]
        ranks = {content: rank for rank, content in enumerate(sorted(set(contents)))}
        return np.array([ranks[content] for content in contents], dtype=np.uint64)
    if column.dtype.kind == "f":  # one zero and one NaN
        return np.where(np.isnan(column), np.nan, column + 0.0).astype(np.float64).view(np.uint64)
    return np.asarray(column).astype(np.uint64)
