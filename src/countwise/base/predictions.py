"""Predictions of a classifier for rows whose class is known, and the scores computed from them."""

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
from countwise.base.protocol import Classifier
from countwise.data.attributes import Nominal
from countwise.data.frames import series_of
from countwise.data.output import rows_of
from countwise.errors import OptionError, did_you_mean, listed
from countwise.measures import area, by_range
from countwise.working import Grid

__all__ = [
    "COVERAGE",
    "NAMED_SCORES",
    "SCORES",
    "Predictions",
    "bounds",
    "greater",
    "predicted_by",
    "predictions_of",
    "small_logs",
]

SCORES = ("accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "calibration_error")
COVERAGE = "coverage"
NAMED_SCORES = (*SCORES, COVERAGE)
_LESS = frozenset({"log_loss", "brier", "calibration_error"})
_SMALL = 1e-300  # a smaller probability has lost digits or has underflowed to 0


def greater(score: str) -> bool:
    """Return whether a higher score is better; this holds for all of scikit-learn's scorers."""
    return score not in _LESS


def bounds(score: str, n_classes: int) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a score; infinite for scikit-learn's scorers."""
    if score not in NAMED_SCORES:
        return -np.inf, np.inf
    return 0.0, {"log_loss": np.inf, "brier": 1.0 if n_classes == 2 else 2.0}.get(score, 1.0)


@dataclass(frozen=True, eq=False)  # no slots: computed properties are cached
class Predictions:
    """Predictions of a classifier for rows whose class is known.

    A classifier may abstain: rule lists and rote learners predict None if no rule holds or no training row is
    identical. All scores are those of the other rows, and `coverage` is their proportion.

    Parameters
    ----------
    classes : tuple
        All classes, in the order of the columns of `proba`.
    codes : ndarray of int of shape (n_rows,)
        The true class of each row, as an index into `classes`.
    proba : ndarray of shape (n_rows, n_classes)
        P(class | row).
    predicted : ndarray of int of shape (n_rows,), default=None
        The predicted class of each row, as an index into `classes`; -1 if the classifier abstains. By default the
        most probable class.
    weights : ndarray of shape (n_rows,), default=None
        The weight of each row. By default every row has weight 1.
    logs : ndarray of shape (n_rows,), default=None
        The logarithm of P(true class | row), if some probabilities are too small for `proba`. By default that of
        `proba` is used.

    Attributes
    ----------
    answered : ndarray of int of shape (n_rows,)
        The predicted class of each row, as an index into `classes`; -1 if the classifier abstains.
    decided : Predictions
        The predictions without the rows for which the classifier abstains.
    coverage : float
        The proportion of rows for which the classifier does not abstain.
    weight : ndarray of shape (n_rows,)
        The weight of each row.
    own : ndarray of shape (n_rows,)
        P(true class | row).
    log_own : ndarray of shape (n_rows,)
        The logarithm of P(true class | row).
    accuracy : float
        The proportion of rows predicted correctly.
    balanced_accuracy : float
        The mean over the classes of the proportion of their rows predicted correctly.
    log_loss : float
        The mean of -log P(true class | row).
    zeros : int
        The number of rows whose true class has probability 0.
    brier : float
        The Brier score: the mean squared difference between the probability of a class and the outcome (0 or 1). For
        more than two classes it is summed over the classes.
    roc_auc : float
        The area under the ROC curve; for more than two classes the mean over the classes, one against the rest.
    calibration_error : float
        The expected calibration error: the mean absolute difference between the probability of the predicted class
        and the accuracy, over ten bins of equal width.
    table : ndarray of shape (n_classes, n_classes)
        The confusion matrix: rows are true classes, columns predicted classes.

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
        """Predicted class of each row, as an index into `classes`; -1 if the classifier abstains."""
        if self.predicted is not None:
            return self.predicted
        return np.where(np.isnan(self.proba).any(axis=1), -1, _kernels.argmax_rows(self.proba))

    @lazy
    def decided(self) -> Predictions:
        """Predictions without the rows for which the classifier abstains."""
        known = self.answered >= 0
        return self if known.all() else self.take(known)

    @lazy
    def coverage(self) -> float:
        """Proportion of rows for which the classifier does not abstain."""
        return self._mean(self.answered >= 0)

    @lazy
    def weight(self) -> Floats:
        """Weight of each row."""
        return np.ones(len(self)) if self.weights is None else np.asarray(self.weights, dtype=np.float64)

    @lazy
    def own(self) -> Floats:
        """P(true class | row)."""
        return np.asarray(self.proba[np.arange(len(self)), self.codes])

    @lazy
    def log_own(self) -> Floats:
        """Logarithm of P(true class | row); -inf where the probability is 0."""
        if self.logs is not None:
            return self.logs
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.own))

    def take(self, rows: NDArray[Any] | slice) -> Predictions:
        """Return the predictions for some of the rows.

        Parameters
        ----------
        rows : ndarray or slice
            The positions of the rows, or a mask.

        Returns
        -------
        Predictions
            The predictions for these rows.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> found = Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]]))
        >>> found.take(slice(0, 1)).accuracy
        1.0
        """
        predicted = None if self.predicted is None else self.predicted[rows]
        weights, logs = (None if part is None else part[rows] for part in (self.weights, self.logs))
        return Predictions(self.classes, self.codes[rows], self.proba[rows], predicted, weights, logs)

    def over(self, classes: tuple[Any, ...]) -> Predictions:
        """Return the same predictions over another list of classes.

        Parameters
        ----------
        classes : tuple
            The new classes, including those of all rows. A class that the model does not know has probability 0.

        Returns
        -------
        Predictions
            The predictions over these classes.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> found = Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]]))
        >>> found.over(("no", "unknown", "yes")).proba.tolist()
        [[0.8, 0.0, 0.2], [0.7, 0.0, 0.3]]
        """
        if classes == self.classes:
            return self
        places = {c: i for i, c in enumerate(classes)}
        moved = np.array([places.get(c, -1) for c in self.classes], dtype=np.int64)
        proba, stay = np.zeros((len(self), len(classes))), moved >= 0
        proba[:, moved[stay]] = self.proba[:, stay]
        predicted = None
        if self.predicted is not None:
            predicted = np.where(self.predicted < 0, -1, moved[self.predicted])
            proba[predicted < 0] = np.nan
        return Predictions(classes, moved[self.codes], proba, predicted, self.weights, self.logs)

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Concatenate predictions.

        Parameters
        ----------
        parts : sequence of Predictions
            The parts, in order. A class that a part lacks has probability 0 in its rows.

        Returns
        -------
        Predictions
            The predictions for all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> part = Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]]))
        >>> len(Predictions.joined([part, part]))
        4
        """
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
        """Return the baseline predictions that use only the class frequencies of the training rows.

        Parameters
        ----------
        counts : ndarray
            The number of training rows of each class. Classes at the end may be omitted if they have none.

        Returns
        -------
        Predictions
            The most frequent class for every row, with the class frequencies as probabilities.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> found = Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]]))
        >>> found.majority(np.array([1, 3])).proba.tolist()
        [[0.25, 0.75], [0.25, 0.75]]
        """
        known = np.zeros(len(self.classes))
        known[: len(counts)] = counts
        frequencies = np.tile(known / max(float(known.sum()), 1e-300), (len(self), 1))
        predicted = np.full(len(self), int(np.argmax(known)), dtype=np.int64)
        return Predictions(self.classes, self.codes, frequencies, predicted, self.weights)

    # -- scores --------------------------------------------------------------------------

    def _mean(self, values: NDArray[Any]) -> float:
        if self.weights is None:
            return float(values.mean()) if len(values) else float("nan")
        total = float(self.weight.sum())  # sums, not dot products, because BLAS would start more threads
        return float((self.weight * values).sum()) / total if total > 0 else float("nan")

    @lazy
    def accuracy(self) -> float:
        """Proportion of rows predicted correctly."""
        known = self.decided
        return known._mean(known.answered == known.codes)

    @lazy
    def balanced_accuracy(self) -> float:
        """Mean over the classes that occur of the proportion of their rows predicted correctly."""
        table = self.table
        rows = table.sum(axis=1)
        occurs = rows > 0
        return float((np.diag(table)[occurs] / rows[occurs]).mean()) if occurs.any() else float("nan")

    @lazy
    def log_loss(self) -> float:
        """Mean of -log P(true class | row); infinite if a true class has probability 0 (see `zeros`)."""
        known = self.decided
        counted = known.weight > 0
        if not counted.any():
            return float("nan")
        return -float(np.average(known.log_own[counted], weights=known.weight[counted]))

    @property
    def zeros(self) -> int:
        """Number of rows whose true class has probability 0."""
        return int((np.isneginf(self.log_own) & (self.weight > 0)).sum())

    @lazy
    def brier(self) -> float:
        """Brier score: the mean squared difference between the probabilities and the outcome (0 or 1).

        For two classes it is that of one class, from 0 to 1; for more it is the sum over the classes, from 0 to 2.
        """
        known = self.decided
        hit = np.zeros_like(known.proba)
        hit[np.arange(len(known)), known.codes] = 1.0
        return known._mean(((known.proba - hit) ** 2).sum(axis=1)) / (2.0 if len(self.classes) == 2 else 1.0)

    @lazy
    def roc_auc(self) -> float:
        """Area under the ROC curve; for more than two classes the mean over the classes, one against the rest.

        NaN if it is undefined: all rows have the same class, one of three or more classes does not occur, or the
        learner predicts no probabilities.
        """
        known = self.decided
        if np.isnan(known.proba).any():
            return float("nan")
        occurs = np.bincount(known.codes, known.weight, len(self.classes)) > 0
        if occurs.sum() < 2 or (len(self.classes) > 2 and not occurs.all()):
            return float("nan")
        positive = [1] if len(self.classes) == 2 else range(len(self.classes))
        return float(np.mean([area(known.proba[:, c], known.codes == c, known.weight) for c in positive]))

    @lazy
    def calibration_error(self) -> float:
        """Expected calibration error over ten bins of equal width.

        The mean difference between the probability of the predicted class and the accuracy in its bin, weighted by
        the rows. NaN if the learner predicts no probabilities.
        """
        if np.isnan(self.decided.proba).any():
            return float("nan")  # the learner predicts no probabilities
        rows, predicted, right = self._bins(10)
        total = rows.sum()
        return float((rows * np.abs(predicted - right))[rows > 0].sum() / total) if total > 0 else float("nan")

    def score(self, name: str) -> float:
        """Return a score by its name.

        Parameters
        ----------
        name : {'accuracy', 'balanced_accuracy', 'log_loss', 'brier', 'roc_auc', 'calibration_error', 'coverage'}
            The score.

        Returns
        -------
        float
            Its value.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]])).score("accuracy")
        0.5
        """
        if name not in NAMED_SCORES:
            raise OptionError(
                f"There is no score {name!r}.",
                hint=did_you_mean(name, NAMED_SCORES) or f"use one of {listed(NAMED_SCORES)}.",
            )
        return float(getattr(self, name))

    def scores(self, names: Sequence[str] = SCORES) -> dict[str, float]:
        """Return several scores.

        Parameters
        ----------
        names : sequence of str, default=SCORES
            The scores; by default all.

        Returns
        -------
        dict of str to float
            The value of each score.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> found = Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]]))
        >>> {name: round(value, 4) for name, value in found.scores(["accuracy", "brier"]).items()}
        {'accuracy': 0.5, 'brier': 0.265}
        """
        return {name: self.score(name) for name in names}

    # -- tables --------------------------------------------------------------------------

    @lazy
    def table(self) -> Floats:
        """Confusion matrix: rows are true classes, columns predicted classes."""
        k, known = len(self.classes), self.decided
        counts = np.bincount(known.codes * k + known.answered, known.weight, k * k)
        return counts.astype(np.float64).reshape(k, k)

    def confusion(self) -> Grid:
        """Return the confusion matrix as a table to print.

        Returns
        -------
        Grid
            A row for each true class: the number of rows by predicted class, the number of rows without a prediction
            if there are any, and the proportion of the others that is predicted correctly.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> print(Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]])).confusion())
        class  predicted no  predicted yes  right
        no                1              0      1
        yes               1              0      0
        """
        columns: dict[str, list[Any]] = {"class": list(self.classes)}
        for c, column in zip(self.classes, self.table.T, strict=True):
            columns[f"predicted {c}"] = [_whole(n) for n in column]
        if self.decided is not self:
            silent = self.answered < 0
            counts = np.bincount(self.codes[silent], self.weight[silent], len(self.classes))
            columns["no prediction"] = [_whole(n) for n in counts]
        rows = self.table.sum(axis=1)
        columns["right"] = np.where(rows > 0, np.diag(self.table) / np.maximum(rows, 1e-300), np.nan).tolist()
        return Grid(columns)

    def cost(self, costs: Floats) -> float:
        """Return the mean cost of the predictions.

        Parameters
        ----------
        costs : ndarray of shape (n_classes, n_classes)
            The cost of each error: rows are true classes, columns predicted classes.

        Returns
        -------
        float
            The mean cost of a row.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> found = Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]]))
        >>> found.cost(np.array([[0.0, 1.0], [5.0, 0.0]]))
        2.5
        """
        return float((self.table * costs).sum() / max(float(self.table.sum()), 1e-300))

    def _bins(self, n_bins: int, c: int | None = None) -> tuple[Floats, Floats, Floats]:
        """Return, by bin of the probability, the rows, the mean probability and the observed proportion."""
        known = self.decided
        p = known.proba[np.arange(len(known)), known.answered] if c is None else known.proba[:, c]
        right = (known.answered == known.codes) if c is None else (known.codes == c)
        return by_range(p, right, known.weight, n_bins)

    def reliability(self, of: Any = None, n_bins: int = 10) -> Grid:
        """Compare predicted probabilities with observed proportions, bin by bin.

        Parameters
        ----------
        of : object, default=None
            The class whose probability is compared with its observed proportion. By default the probability of the
            predicted class is compared with the accuracy.
        n_bins : int, default=10
            The number of bins of equal width. Bins without rows are not shown.

        Returns
        -------
        Grid
            A row for each bin: its limits, the number of rows, the mean probability and the observed proportion
            (`share`).

        Examples
        --------
        >>> import numpy as np
        >>> from countwise.evaluation import Predictions
        >>> found = Predictions(("no", "yes"), np.array([0, 1]), np.array([[0.8, 0.2], [0.7, 0.3]]))
        >>> print(found.reliability("yes", n_bins=2))
        from   to  rows  probability  share
           0  0.5     2         0.25    0.5
        """
        if of is not None and of not in self.classes:
            raise OptionError(
                f"There is no class {of!r}; the classes are {listed(self.classes)}.",
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
    """Return the predictions of a fitted classifier for rows whose class is known.

    The classes are given as codes of the target. A class that the model has never seen has probability 0. If `proba`
    is false or the model has no probabilities, they are NaN. `some` returns some of the rows in the form that the
    model takes.
    """
    if not hasattr(model, "classes_"):
        raise OptionError(f"{type(model).__name__} predicts no classes.", hint="pass a classifier.")
    own, shape = coded(model.classes_, target), (len(codes), len(target.values))
    posterior, predicted, logs = np.broadcast_to(np.nan, shape), None, None
    with progress.quiet():
        if isinstance(model, AdditiveClassifier):
            found, best = model._filled_and_decided(X, "proba", decide=True) if proba else (None, model._codes(X))
            predicted = own[best]
        else:
            labels, found = predicted_by(model, X, proba=proba)
            predicted = coded(labels, target)
        if found is not None:
            posterior = found if shape[1] == len(own) and (own == np.arange(len(own))).all() else np.zeros(shape)
            if posterior is not found:
                posterior[:, own] = found
            if (predicted < 0).any():
                posterior[predicted < 0] = np.nan
        if proba and hasattr(model, "predict_log_proba"):
            place = np.full(shape[1], -1)
            place[own] = np.arange(len(own))
            select = some or (lambda which: rows_of(X, which))
            mine = posterior[np.arange(len(codes)), codes]
            logs = small_logs(mine, place[codes], lambda which: model.predict_log_proba(select(which)))
    return Predictions(tuple(target.values), codes, posterior, predicted, weights, logs)


def predicted_by(model: Any, X: Any, *, proba: bool = True) -> tuple[Any, Any]:
    """Return the class that a classifier predicts for each row and, if it has them, the probabilities of all classes.

    The class is always that of `predict`: at a tie it need not be the first of the most probable classes.
    """
    if not proba or not hasattr(model, "predict_proba"):
        return model.predict(X), None
    if isinstance(model, Classifier):
        return model._labels_and_proba(X)
    return model.predict(X), np.asarray(model.predict_proba(X), dtype=np.float64)


def coded(labels: Any, target: Nominal) -> Indices:
    """Return the index of each label among the classes; -1 if it is missing: the classifier abstains."""
    codes = target.encode(series_of(labels)[0], strict=True).astype(np.int64)
    return np.where(codes < len(target.values), codes, -1)


def small_logs(own: Floats, place: Indices, ask: Callable[[Indices], Any]) -> Floats | None:
    """Return log P(true class | row) if some of the probabilities `own` are too small for a double, otherwise None.

    `place` is the index of the true class among those of the model, -1 if the model does not know it; `ask` returns
    log P(class | row) of some rows.

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
