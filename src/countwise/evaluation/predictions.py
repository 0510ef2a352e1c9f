"""Answers to rows whose class is known, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Floats, Indices
from countwise.errors import OptionError, did_you_mean, listed
from countwise.measures.ranks import area, by_range
from countwise.working import Grid

__all__ = ["SCORES", "Predictions", "bounds", "greater", "majority", "small_logs"]

SCORES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "calibration_error")
_LESS = frozenset({"log_loss", "brier", "calibration_error"})
_SMALL = 1e-300  # a probability below it has lost digits, or is 0 because a double holds no smaller one


def greater(score: str) -> bool:
    """Whether more of a score is better; so it is of all of scikit-learn's."""
    return score not in _LESS


def bounds(score: str, n_classes: int) -> tuple[float, float]:
    """What a score is at least and at most; of scikit-learn's that is not known."""
    if score not in SCORES:
        return -np.inf, np.inf
    return 0.0, {"log_loss": np.inf, "brier": 1.0 if n_classes == 2 else 2.0}.get(score, 1.0)


@dataclass(frozen=True, eq=False)  # no slots: what is derived is kept
class Predictions:
    """What a learner answered to rows whose class is known.

    Parameters
    ----------
    classes : tuple
        All classes, in the order of the columns of `proba`.
    codes : ndarray of int
        The class of each row, as its place among the classes.
    proba : ndarray, shape (rows, classes)
        P(class | row).
    predicted : ndarray of int, optional
        The class that was answered; the most probable one, if none is given.
    weights : ndarray, optional
        Of the rows.
    logs : ndarray, optional
        Log P(the class that it is | row), where some probabilities are too small for `proba`; see `small_logs`.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.evaluation.predictions import Predictions
    >>> told = Predictions(("no", "yes"), np.array([0, 1, 1]), np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]]))
    >>> round(told.accuracy, 4), round(told.log_loss, 4), round(told.brier, 4), told.roc_auc
    (0.6667, 0.646, 0.23, 1.0)
    """

    classes: tuple[Any, ...]
    codes: Indices
    proba: Floats
    predicted: Indices | None = None
    weights: Floats | None = None
    logs: Floats | None = None

    # -- parts ---------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.codes)

    @lazy
    def answered(self) -> Indices:
        """The class that was answered."""
        return _kernels.argmax_rows(self.proba) if self.predicted is None else self.predicted

    @lazy
    def weight(self) -> Floats:
        """What each row weighs."""
        return np.ones(len(self)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)

    @lazy
    def own(self) -> Floats:
        """P(the class that it is | row)."""
        return np.asarray(self.proba[np.arange(len(self)), self.codes])

    @lazy
    def log_own(self) -> Floats:
        """Log P(the class that it is | row); -inf where that is 0."""
        if self.logs is not None:
            return self.logs
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.own))

    def take(self, rows: NDArray[Any] | slice) -> Predictions:
        """The answers to some rows."""
        predicted = None if self.predicted is None else self.predicted[rows]
        weights, logs = (None if part is None else part[rows] for part in (self.weights, self.logs))
        return Predictions(self.classes, self.codes[rows], self.proba[rows], predicted, weights, logs)

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """The answers of several folds as those of one table."""
        first = parts[0]
        predicted = None if first.predicted is None else np.concatenate([part.answered for part in parts])
        weights = None if first.weights is None else np.concatenate([part.weight for part in parts])
        small = any(part.logs is not None for part in parts)
        return cls(
            first.classes,
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.proba for part in parts]),
            predicted,
            weights,
            np.concatenate([part.log_own for part in parts]) if small else None,
        )

    # -- scores --------------------------------------------------------------------------

    def _mean(self, values: NDArray[Any]) -> float:
        if self.weights is None:
            return float(values.mean()) if len(values) else float("nan")
        total = float(self.weight.sum())  # sums, not dot products: BLAS would start threads of its own
        return float((self.weight * values).sum()) / total if total > 0 else float("nan")

    @lazy
    def accuracy(self) -> float:
        """The share of right answers."""
        return self._mean(self.answered == self.codes)

    @lazy
    def balanced_accuracy(self) -> float:
        """The mean, over the classes that are there, of the share of right answers."""
        table = self.table
        rows = table.sum(axis=1)
        there = rows > 0
        return float((np.diag(table)[there] / rows[there]).mean()) if there.any() else float("nan")

    @lazy
    def log_loss(self) -> float:
        """The mean of -log P(class | row); infinite if a row had a class of probability 0 (see `zeros`)."""
        counted = self.weight > 0
        if not counted.any():
            return float("nan")
        return -float(np.average(self.log_own[counted], weights=self.weight[counted]))

    @property
    def zeros(self) -> int:
        """How many rows have a class to which probability 0 was given."""
        return int((np.isneginf(self.log_own) & (self.weight > 0)).sum())

    @lazy
    def brier(self) -> float:
        """The mean squared distance of the probabilities from what is; of two classes that of one of them."""
        hit = np.zeros_like(self.proba)
        hit[np.arange(len(self)), self.codes] = 1.0
        return self._mean(((self.proba - hit) ** 2).sum(axis=1)) / (2.0 if len(self.classes) == 2 else 1.0)

    @lazy
    def roc_auc(self) -> float:
        """The chance that a row of a class is ranked before one of another, averaged over the classes.

        NaN where it is undefined: all rows are of one class, one of three or more classes is not there, or the
        learner tells no probabilities.
        """
        if np.isnan(self.proba).any():
            return float("nan")
        there = np.bincount(self.codes, self.weight, len(self.classes)) > 0
        if there.sum() < 2 or (len(self.classes) > 2 and not there.all()):
            return float("nan")
        if len(self.classes) == 2:
            return area(self.proba[:, 1], self.codes == 1, self.weight)
        return float(
            np.mean([area(self.proba[:, c], self.codes == c, self.weight) for c in range(len(self.classes))])
        )

    @lazy
    def calibration_error(self) -> float:
        """By how much the probability of the answer differs from how often it is right, over ten ranges."""
        if np.isnan(self.proba).any():
            return float("nan")  # there were answers, but no probabilities
        rows, predicted, right = self._bins(10)
        total = rows.sum()
        return float((rows * np.abs(predicted - right))[rows > 0].sum() / total) if total > 0 else float("nan")

    def score(self, name: str) -> float:
        """A score by its name.

        Parameters
        ----------
        name : {"accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "calibration_error"}
        """
        if name not in SCORES:
            raise OptionError(
                f"The score {name!r} is unknown.", hint=did_you_mean(name, SCORES) or f"give one of {listed(SCORES)}."
            )
        return float(getattr(self, name))

    def scores(self, names: Sequence[str] = SCORES) -> dict[str, float]:
        """Several scores."""
        return {name: self.score(name) for name in names}

    # -- tables --------------------------------------------------------------------------

    @lazy
    def table(self) -> Floats:
        """What each class was answered as: rows are classes, columns answers."""
        k = len(self.classes)
        return np.asarray(np.bincount(self.codes * k + self.answered, self.weight, k * k), dtype=np.float64).reshape(
            k, k
        )

    def confusion(self) -> Grid:
        """The same, to be read."""
        columns: dict[str, list[Any]] = {"class": list(self.classes)}
        for j, c in enumerate(self.classes):
            columns[f"answered {c}"] = [_whole(n) for n in self.table[:, j]]
        right = np.diag(self.table) / np.maximum(self.table.sum(axis=1), 1e-300)
        columns["right"] = [
            float(r) if n else float("nan") for r, n in zip(right, self.table.sum(axis=1), strict=True)
        ]
        return Grid(columns)

    def cost(self, costs: Floats) -> float:
        """The mean cost of the answers.

        Parameters
        ----------
        costs : ndarray, shape (classes, answers)
            What it costs to answer a class with another.
        """
        return float((self.table * costs).sum() / max(float(self.table.sum()), 1e-300))

    def _bins(self, n_bins: int, c: int | None = None) -> tuple[Floats, Floats, Floats]:
        """By range of the probability: rows, mean probability, share of right answers (or of the class c)."""
        p = self.proba[np.arange(len(self)), self.answered] if c is None else self.proba[:, c]
        right = (self.answered == self.codes) if c is None else (self.codes == c)
        return by_range(p, right, self.weight, n_bins)

    def reliability(self, of: Any = None, n_bins: int = 10) -> Grid:
        """How often answers of a probability are right.

        Parameters
        ----------
        of : class, optional
            The probability of this class, and how often it is the one; by default that of the answer.
        n_bins : int, default=10
            Ranges of equal width; those without rows are left out.
        """
        if of is not None and of not in self.classes:
            raise OptionError(
                f"There is no class {of!r}.", hint=did_you_mean(str(of), [str(c) for c in self.classes])
            )
        rows, predicted, right = self._bins(n_bins, None if of is None else self.classes.index(of))
        kept = np.flatnonzero(rows > 0)
        return Grid(
            {
                "from": (kept / n_bins).tolist(),
                "to": ((kept + 1) / n_bins).tolist(),
                "rows": [_whole(rows[i]) for i in kept],
                "probability": predicted[kept].tolist(),
                "share": right[kept].tolist(),
            }
        )


def _whole(x: float) -> Any:
    return int(x) if float(x).is_integer() else float(x)


def small_logs(own: Floats, place: Indices, ask: Callable[[Indices], Any]) -> Floats | None:
    """Log P(the class that it is | row), where some of these are too small for a double.

    Parameters
    ----------
    own : ndarray
        P(the class that it is | row).
    place : ndarray of int
        The place of that class among the model's; -1 if it has none.
    ask : function of rows
        Log P(class | row) of some rows, over the classes of the model.

    Returns
    -------
    ndarray or None
        None if all are large enough.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.evaluation.predictions import small_logs
    >>> small_logs(np.array([1.0, 0.0]), np.array([0, 0]), lambda rows: np.array([[-2981.0, 0.0]])).tolist()
    [0.0, -2981.0]
    """
    small = np.flatnonzero((own < _SMALL) & (place >= 0))
    if not len(small):
        return None
    with np.errstate(all="ignore"):
        logs = np.log(own)
        found = np.asarray(ask(small), dtype=np.float64)[np.arange(len(small)), place[small]]
    logs[small] = np.where(np.isnan(found), logs[small], found)
    return np.asarray(logs)


def majority(train: Indices, test: Predictions, weights: Floats | None = None) -> Predictions:
    """The answers of whoever only knows how frequent the classes are.

    Parameters
    ----------
    train : ndarray of int
        The classes of the rows that were learned from.
    test : Predictions
        Whose rows are answered.
    weights : ndarray, optional
        Of the rows that were learned from.
    """
    k = len(test.classes)
    counts = np.bincount(train, weights, k).astype(np.float64)
    shares = counts / max(float(counts.sum()), 1e-300)
    answer = np.full(len(test), int(np.argmax(counts)), dtype=np.int64)
    return Predictions(test.classes, test.codes, np.tile(shares, (len(test), 1)), answer, test.weights)
