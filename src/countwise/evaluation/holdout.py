"""A fitted model on rows whose class is known, which may come in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal
from countwise.data.frames import frame_of
from countwise.data.output import rows_of
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.evaluation.predictions import Predictions, small_logs

__all__ = ["Holdout"]


class Holdout:
    """Gathers what a fitted classifier answers to rows whose class is known.

    Rows without a class, and rows on which the model abstains, are left out and counted. A class that the model never
    met is one to which it gives probability 0.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba`.
    target : str, optional
        The column of the class; the one that the model learned by default.
    by : str, optional
        A column whose values are groups.
    weights : str, optional
        A column with the weight of each row.

    Attributes
    ----------
    n_missing, n_abstained : int
        Rows left out: without a class, without an answer.
    unmet : dict of class to int
        Rows of classes that the model never met.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.evaluation.holdout import Holdout
    >>> tennis = samples.load("tennis")
    >>> judge = Holdout(NaiveBayesClassifier().fit(tennis.frame, "play"))
    >>> judge.add(tennis.frame)
    >>> round(judge.answers.accuracy, 4), round(judge.baseline.accuracy, 4)
    (0.9286, 0.6429)
    """

    def __init__(self, model: Any, target: str | None = None, *, by: str | None = None, weights: str | None = None):
        if not hasattr(model, "classes_") or not hasattr(model, "predict_proba"):
            raise OptionError(
                f"{type(model).__name__} tells no classes: there is nothing to be right or wrong about.",
                hint="give a classifier.",
            )
        self.model, self.by, self.weights = model, by, weights
        self.target = target if target is not None else model.target_.name
        self.n_missing = self.n_abstained = 0
        self.unmet: dict[Any, int] = {}
        self._met = {_plain(c): i for i, c in enumerate(model.classes_)}
        self._parts: list[tuple[list[Any], Floats, Indices, Floats, Floats | None]] = []
        self._labels: list[Any] = []

    def add(self, X: Any) -> None:
        """Answer some rows."""
        frame = frame_of(X)
        if frame.n_rows == 0:
            return
        classes = self._column(frame.columns, self.target, "for the class")
        groups = None if self.by is None else self._column(frame.columns, self.by, "to tell groups by")
        proba = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        known = np.array([c is not None for c in classes], dtype=bool)
        told = ~np.isnan(proba).any(axis=1)
        self.n_missing += int((~known).sum())
        self.n_abstained += int((known & ~told).sum())
        kept = np.flatnonzero(known & told)
        for i in kept:
            if classes[i] not in self._met:
                self.unmet[classes[i]] = self.unmet.get(classes[i], 0) + 1
        weight = np.ones(len(kept)) if self.weights is None else self._weights(frame)[kept]
        labels = [classes[i] for i in kept]
        logs = self._small_logs(X, labels, proba[kept], kept)
        self._parts.append((labels, proba[kept], self._answered(X, proba)[kept], weight, logs))
        if groups is not None:
            self._labels += [groups[i] for i in kept]

    def _small_logs(self, X: Any, labels: list[Any], proba: Floats, kept: Indices) -> Floats | None:
        if not hasattr(self.model, "predict_log_proba"):
            return None
        place = np.array([self._met.get(c, -1) for c in labels], dtype=np.int64)
        own = np.where(place >= 0, proba[np.arange(len(labels)), np.maximum(place, 0)], 0.0)
        return small_logs(own, place, lambda which: self.model.predict_log_proba(rows_of(X, kept[which])))

    def _answered(self, X: Any, proba: Floats) -> Indices:
        if not hasattr(self.model, "rules_"):  # of all others the answer is the most probable class
            return np.argmax(np.nan_to_num(proba), axis=1)
        return np.array([self._met.get(_plain(c), 0) for c in self.model.predict(X)], dtype=np.int64)

    def _column(self, columns: Mapping[str, Any], name: str, what: str) -> list[Any]:
        """A column as labels, None where a cell is missing."""
        if name not in columns:
            hint = did_you_mean(name, columns) or f"it has {listed(columns)}."
            raise TableError(f"The table has no column {name!r} {what}.", hint=hint)
        own = Nominal(name, grows=True).learn(columns[name])
        values = [*own.values, None, None]
        return [values[code] for code in own.encode(columns[name]).tolist()]

    def _weights(self, frame: Any) -> Floats:
        from countwise.sources.memory import weights_of

        if self.weights not in frame.columns:
            raise TableError(f"The table has no column {self.weights!r} for weights.")
        found = weights_of(frame.columns[self.weights], frame.n_rows)
        return np.asarray(found, dtype=np.float64)

    @property
    def classes(self) -> tuple[Any, ...]:
        """Those of the model, then those that it never met."""
        return (*self._met, *self.unmet)

    @property
    def labels(self) -> NDArray[Any]:
        """The group of each row that has an answer."""
        found = np.empty(len(self._labels), dtype=object)
        found[:] = self._labels
        return found

    @property
    def answers(self) -> Predictions:
        """To all rows so far."""
        if not any(len(labels) for labels, *_ in self._parts):
            raise TableError(f"No row has a class in {self.target!r} and an answer.")
        places = {c: i for i, c in enumerate(self.classes)}
        codes = np.array([places[c] for labels, *_ in self._parts for c in labels], dtype=np.int64)
        proba = np.concatenate([proba for _, proba, *_ in self._parts])
        proba = np.column_stack([proba, np.zeros((len(proba), len(self.unmet)))])
        answered = np.concatenate([part[2] for part in self._parts])
        weights = None if self.weights is None else np.concatenate([part[3] for part in self._parts])
        told = Predictions(self.classes, codes, proba, answered, weights)
        if all(part[4] is None for part in self._parts):
            return told
        ends = np.cumsum([len(labels) for labels, *_ in self._parts])[:-1]
        parts = zip(np.split(told.log_own, ends), self._parts, strict=True)
        logs = np.concatenate([own if part[4] is None else part[4] for own, part in parts])
        return replace(told, logs=logs)

    @property
    def baseline(self) -> Predictions | None:
        """Those of whoever only knows how frequent the classes were in learning; None if the model does not tell."""
        counts = getattr(self.model, "class_count_", None)
        if counts is None:
            return None
        answers = self.answers
        shares = np.zeros(len(self.classes))
        shares[: len(counts)] = np.asarray(counts, dtype=np.float64) / float(np.sum(counts))
        rows = len(answers)
        answered = np.full(rows, int(np.argmax(shares)), dtype=np.int64)
        return Predictions(answers.classes, answers.codes, np.tile(shares, (rows, 1)), answered, answers.weights)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
