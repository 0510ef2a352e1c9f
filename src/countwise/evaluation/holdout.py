"""Evaluation of a fitted classifier on held-out rows, which may arrive in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.base.predictions import Predictions, predictions_of
from countwise.data.attributes import Nominal
from countwise.data.columns import factorized, plain
from countwise.data.frames import Coded, Column, frame_of
from countwise.data.output import rows_of
from countwise.data.weights import weights_of
from countwise.errors import OptionError, TableError
from countwise.evaluation.dataset import labels_of
from countwise.sources.labelled_table import column_of

__all__ = ["Holdout"]


class Holdout:
    """Collect the predictions of a fitted classifier for rows with a known class.

    The class is in the column `target`, by default the target of the model. Rows without a class are ignored and
    counted. A class unseen in training has probability 0. `by` is a column of
    groups, `weights` a column of row weights.
    """

    def __init__(self, model: Any, target: str | None = None, *, by: str | None = None, weights: str | None = None):
        if not hasattr(model, "classes_") or not hasattr(model, "predict_proba"):
            raise OptionError(
                f"{type(model).__name__} does not predict class probabilities.", hint="use a fitted classifier."
            )
        self.model, self.by, self.weights = model, by, weights
        self.target = target if target is not None else model.target_.name
        self.n_missing = 0  # ignored rows: without a class
        self.n_abstained = 0  # rows without a prediction
        self.unseen: dict[Any, int] = {}  # number of rows of each class unseen in training
        self._seen = [plain(c) for c in model.classes_]
        self._parts: list[Predictions] = []
        self._labels: list[NDArray[Any]] = []

    def add(self, X: Any) -> None:
        """Predict a chunk of rows."""
        frame = frame_of(X)
        if frame.n_rows == 0:
            return
        column = column_of(frame, self.target, "for the class")
        groups = None if self.by is None else labels_of(column_of(frame, self.by, "for the groups"), self.by)
        weights = None
        if self.weights is not None:
            weights = weights_of(column_of(frame, self.weights, "for weights"), frame.n_rows)
        target, codes = self._encoded(column)
        known = np.flatnonzero(codes < len(target.values))
        self.n_missing += frame.n_rows - len(known)
        if len(known) < frame.n_rows:
            X, codes = rows_of(X, known), codes[known]
        weight = None if weights is None else np.asarray(weights, dtype=np.float64)[known]
        found = predictions_of(self.model, X, target, codes, weight)
        self.n_abstained += int((found.answered < 0).sum())
        counts = np.bincount(codes, minlength=len(target.values))
        for c, n in zip(target.values[len(self._seen) :], counts[len(self._seen) :].tolist(), strict=True):
            if n:
                self.unseen[c] = self.unseen.get(c, 0) + n
        self._parts.append(found.over(self.classes))
        if groups is not None:
            self._labels.append(groups[known])

    def _encoded(self, column: Column) -> tuple[Nominal, NDArray[np.int64]]:
        """Encode the classes of a chunk; those that are new follow the known ones."""
        known = Nominal(self.target, self.classes)
        new = np.flatnonzero(known.encode(column) == known.unseen)
        coded = column[new] if isinstance(column, Coded) else factorized(np.asarray(column)[new], self.target)
        found = dict.fromkeys(plain(coded.categories[code]) for code in np.unique(coded.codes).tolist())
        target = Nominal(self.target, (*self.classes, *sorted(found, key=str)))
        return target, target.encode(column).astype(np.int64)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes of the model, followed by those unseen in training."""
        return (*self._seen, *self.unseen)

    @property
    def labels(self) -> NDArray[Any]:
        """The group of each predicted row."""
        return np.concatenate(self._labels) if self._labels else np.empty(0, dtype=object)

    @property
    def predictions(self) -> Predictions:
        """The predictions of all rows so far."""
        if not any(len(part.decided) for part in self._parts):
            raise TableError(
                f"No row has both a class in {self.target!r} and a prediction; there is nothing to score."
            )
        return Predictions.joined(self._parts)

    @property
    def baseline(self) -> Predictions | None:
        """The majority class in training for the rows with a prediction; None if the model has no `class_count_`."""
        counts = getattr(self.model, "class_count_", None)
        return None if counts is None else self.predictions.decided.majority(np.asarray(counts, dtype=np.float64))
