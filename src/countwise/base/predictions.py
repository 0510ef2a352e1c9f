"""What a classifier predicts for rows whose class is known, and how good that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._cached import lazy
from countwise._typing import Floats, Indices
from countwise.base.classifier import AdditiveClassifier
from countwise.base.tally_model import TallyModel
from countwise.data.attributes import Nominal
from countwise.data.frames import series_of
from countwise.data.output import rows_of
from countwise.errors import OptionError, did_you_mean, listed
from countwise.measures import area, by_range
from countwise.working import Grid

__all__ = ["SCORES", "Predictions", "bounds", "greater", "predictions_of", "small_logs"]

SCORES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "calibration_error")
_LESS = frozenset({"log_loss", "brier", "calibration_error"})
_SMALL = 1e-300  # a probability below it has lost digits, or is 0 because a double holds no smaller one


def greater(score: str) -> bool:
    """Whether more of a score is better, as of all of scikit-learn's scorers."""
    return score not in _LESS


def bounds(score: str, n_classes: int) -> tuple[float, float]:
    """The least and the greatest value of a score; unknown for scikit-learn's."""
    if score not in SCORES:
        return -np.inf, np.inf
    return 0.0, {"log_loss": np.inf, "brier": 1.0 if n_classes == 2 else 2.0}.get(score, 1.0)


@dataclass(frozen=True, eq=False)  # no slots: what is derived is kept
class Predictions:
    """What a classifier predicted for rows whose class is known.

    Parameters
    ----------
    classes : tuple
        All classes, in the order of the columns of `proba`.
    codes : ndarray of int
        The class of each row, as its place among the classes.
    proba : ndarray, shape (rows, classes)
        P(class | row).
    predicted : ndarray of int, optional
        The predicted class; by default the most probable one.
    weights : ndarray, optional
        The weight of each row.
    logs : ndarray, optional
        Log P(true class | row), where some probabilities are too small for `proba`; see `small_logs`.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.evaluation import Predictions
    >>> found = Predictions(("no", "yes"), np.array([0, 1, 1]), np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]]))
    >>> round(found.accuracy, 4), round(found.log_loss, 4), round(found.brier, 4), found.roc_auc
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
        """The predicted class."""
        return _kernels.argmax_rows(self.proba) if self.predicted is None else self.predicted

    @lazy
    def weight(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)

    @lazy
    def own(self) -> Floats:
        """P(true class | row)."""
        return np.asarray(self.proba[np.arange(len(self)), self.codes])

    @lazy
    def log_own(self) -> Floats:
        """Log P(true class | row); -inf where that is 0."""
        if self.logs is not None:
            return self.logs
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.own))

    def take(self, rows: NDArray[Any] | slice) -> Predictions:
        """The predictions for some rows."""
        predicted = None if self.predicted is None else self.predicted[rows]
        weights, logs = (None if part is None else part[rows] for part in (self.weights, self.logs))
        return Predictions(self.classes, self.codes[rows], self.proba[rows], predicted, weights, logs)

    def over(self, classes: tuple[Any, ...]) -> Predictions:
        """The same over other classes, those of the rows among them; one that is new has probability 0."""
        if classes == self.classes:
            return self
        places = {c: i for i, c in enumerate(classes)}
        moved = np.array([places.get(c, -1) for c in self.classes], dtype=np.int64)
        proba, stay = np.zeros((len(self), len(classes))), moved >= 0
        proba[:, moved[stay]] = self.proba[:, stay]
        predicted = None if self.predicted is None else moved[self.predicted]
        return Predictions(classes, moved[self.codes], proba, predicted, self.weights, self.logs)

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Several parts as one; classes that only later parts have got probability 0 before."""
        first, classes = parts[0], max((part.classes for part in parts), key=len)
        parts = [part.over(classes) for part in parts]
        predicted = None if first.predicted is None else np.concatenate([part.answered for part in parts])
        weights = None if first.weights is None else np.concatenate([part.weight for part in parts])
        small = any(part.logs is not None for part in parts)
        return cls(
            classes,
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.proba for part in parts]),
            predicted,
            weights,
            np.concatenate([part.log_own for part in parts]) if small else None,
        )

    def majority(self, counts: NDArray[Any]) -> Predictions:
        """The baseline that only knows how frequent the classes were in training.

        Parameters
        ----------
        counts : ndarray
            How many training rows each class had; classes at the end may be left out.
        """
        known = np.zeros(len(self.classes))
        known[: len(counts)] = counts
        shares = np.tile(known / max(float(known.sum()), 1e-300), (len(self), 1))
        answered = np.full(len(self), int(np.argmax(known)), dtype=np.int64)
        return Predictions(self.classes, self.codes, shares, answered, self.weights)

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
        learner has no probabilities.
        """
        if np.isnan(self.proba).any():
            return float("nan")
        there = np.bincount(self.codes, self.weight, len(self.classes)) > 0
        if there.sum() < 2 or (len(self.classes) > 2 and not there.all()):
            return float("nan")
        asked = [1] if len(self.classes) == 2 else range(len(self.classes))
        return float(np.mean([area(self.proba[:, c], self.codes == c, self.weight) for c in asked]))

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
        counts = np.bincount(self.codes * k + self.answered, self.weight, k * k)
        return counts.astype(np.float64).reshape(k, k)

    def confusion(self) -> Grid:
        """The same, to be read."""
        columns: dict[str, list[Any]] = {"class": list(self.classes)}
        for c, answers in zip(self.classes, self.table.T, strict=True):
            columns[f"answered {c}"] = [_whole(n) for n in answers]
        rows = self.table.sum(axis=1)
        columns["right"] = np.where(rows > 0, np.diag(self.table) / np.maximum(rows, 1e-300), np.nan).tolist()
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


def predictions_of(
    model: Any,
    X: Any,
    target: Nominal,
    codes: Indices,
    weights: Floats | None = None,
    *,
    proba: bool = True,
    some: Callable[[Indices], Any] | None = None,
) -> Predictions:
    """What a fitted classifier predicts for rows whose class is known, as a code among the values of the target.

    A class that the model never met has probability 0. Where the model is not asked for probabilities, or has none,
    they are NaN. `some` gives some of the rows as the model takes them.
    """
    if not hasattr(model, "classes_"):
        raise OptionError(f"{type(model).__name__} predicts no classes.", hint="give a classifier.")
    own, shape = coded(model.classes_, target), (len(codes), len(target.values))
    shares, predicted, logs = np.broadcast_to(np.nan, shape), None, None
    with progress.quiet():
        if not proba and isinstance(model, AdditiveClassifier):
            predicted = own[model._codes(X)]
        elif not proba or not isinstance(model, TallyModel) or not hasattr(model, "predict_proba"):
            predicted = coded(model.predict(X), target)  # a tally model predicts the most probable class
        if proba and hasattr(model, "predict_proba"):
            found = np.asarray(model.predict_proba(X), dtype=np.float64)
            shares = found if shape[1] == len(own) and (own == np.arange(len(own))).all() else np.zeros(shape)
            if shares is not found:
                shares[:, own] = found
        if proba and hasattr(model, "predict_log_proba"):
            place = np.full(shape[1], -1)
            place[own] = np.arange(len(own))
            asked = some or (lambda which: rows_of(X, which))
            mine = shares[np.arange(len(codes)), codes]
            logs = small_logs(mine, place[codes], lambda which: model.predict_log_proba(asked(which)))
    return Predictions(tuple(target.values), codes, shares, predicted, weights, logs)


def coded(labels: Any, target: Nominal) -> Indices:
    """The place of each label among the classes."""
    return target.encode(series_of(labels)[0], strict=True).astype(np.int64)


def small_logs(own: Floats, place: Indices, ask: Callable[[Indices], Any]) -> Floats | None:
    """Log P(true class | row) where some of these probabilities, `own`, are too small for a double; else None.

    `place` is that of the class among the model's, -1 if it has none; `ask` gives log P(class | row) of some rows.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.base.predictions import small_logs
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
