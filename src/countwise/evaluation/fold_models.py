"""One model for each fold: merged from the tallies of the other folds where this is exact, else refitted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise import progress
from countwise._typing import Indices
from countwise.base.predictions import Predictions, predictions_of
from countwise.base.tally_model import TallyModel
from countwise.data.frames import is_sparse
from countwise.evaluation.dataset import EvaluationData
from countwise.feature_selection.subset_scoring import weighted
from countwise.naive_bayes.model import NaiveBayesClassifier

__all__ = ["Fitted", "adds_up", "fitted", "is_partition", "predict_rows", "prefixes", "refitted"]

Split = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted model of a fold, or the error that fitting raised."""

    model: Any
    seconds: float  # fitting time
    how: str  # "adding", "fitting", "leaving out" or "counting"
    error: Exception | None = None


def adds_up(estimator: Any, data: EvaluationData) -> bool:
    """Return whether the merged tallies of subsets give the model of all rows."""
    if is_sparse(data.rows.X) and not isinstance(estimator, NaiveBayesClassifier):
        return False  # the other estimators convert a sparse matrix to a dense one first
    return isinstance(estimator, TallyModel) and hasattr(estimator, "predict_proba") and estimator._adds_up()


def fitted(estimator: Any, data: EvaluationData, splits: Sequence[Split], *, fast: bool = True) -> Iterator[Fitted]:
    """Yield the model of each fold; with `fast`, merge tallies where this gives the same model as refitting."""
    if fast and adds_up(estimator, data) and is_partition(splits, len(data)):
        yield from _added(estimator, data, splits)
    else:
        for train, _ in splits:
            yield refitted(estimator, data.subset(train))


def is_partition(splits: Sequence[Split], n: int) -> bool:
    """Return whether the splits are a partition: each row is held out once, and all others are training rows."""
    if not splits or any(len(train) + len(test) != n for train, test in splits):
        return False
    held = np.concatenate([test for _, test in splits])
    if len(held) != n or not (np.bincount(held, minlength=n) == 1).all():
        return False
    for train, test in splits:
        seen = np.zeros(n, dtype=bool)  # a mask is faster than sorted sets for many rows
        seen[train] = True
        if seen[test].any() or np.count_nonzero(seen) != len(train):
            return False
    return True


def _added(estimator: Any, data: EvaluationData, splits: Sequence[Split]) -> Iterator[Fitted]:
    """Tally each fold once; the model without a fold is the sum of the tallies before and after it."""
    start = time.perf_counter()
    failed: dict[int, Exception] = {}
    with progress.quiet():
        subsets = []
        for f, (_, test) in enumerate(splits):
            try:
                subsets.append(estimator._tally_rows(data.subset(test).source))
            except Exception as reason:  # concerns the models of all other folds, which train on these rows
                failed[f] = reason
                subsets.append(estimator._blank())
        behind = [estimator._blank() for _ in range(len(subsets) + 1)]
        for f in range(len(subsets) - 1, -1, -1):
            behind[f]._add_tallies(behind[f + 1])
            behind[f]._add_tallies(subsets[f])
    before, tally_seconds = estimator._blank(), (time.perf_counter() - start) / len(splits)
    for f, subset in enumerate(subsets):
        start, model = time.perf_counter(), estimator._blank()
        error = next((reason for g, reason in failed.items() if g != f), None)
        try:
            if error is None:
                with progress.quiet():
                    model._add_tallies(before)
                    model._add_tallies(behind[f + 1])
                    model._estimate_or_wait(allow_incomplete=False)
        except Exception as reason:
            error = reason
        before._add_tallies(subset)
        taken = tally_seconds + time.perf_counter() - start
        yield Fitted(None if error else model, taken, "adding", error)


def refitted(estimator: Any, rows: EvaluationData) -> Fitted:
    """Fit a clone of the estimator on some rows; an exception is stored in the result."""
    from sklearn.base import clone

    start = time.perf_counter()
    try:
        with progress.quiet():
            model = clone(estimator)
            model.fit(rows.table, rows.y, **weighted(model, rows.weights))
    except Exception as reason:
        return Fitted(None, time.perf_counter() - start, "fitting", reason)
    return Fitted(model, time.perf_counter() - start, "fitting")


def prefixes(estimator: Any, rows: EvaluationData, sizes: Sequence[int], *, fast: bool = True) -> Iterator[Fitted]:
    """Yield models of the first n rows for increasing n; rows are tallied once where this equals refitting."""
    if not (fast and adds_up(estimator, rows)):
        for size in sizes:
            yield refitted(estimator, rows.between(0, size))
        return
    running, done = estimator._blank(), 0
    for size in sizes:
        start, error, model = time.perf_counter(), None, estimator._blank()
        try:
            with progress.quiet():
                running._add_tallies(estimator._tally_rows(rows.between(done, size).source))
                done = size  # rows that raised an error are tried again with the next size
                model._add_tallies(running)
                model._estimate_or_wait(allow_incomplete=False)
        except Exception as reason:
            error = reason
        yield Fitted(None if error else model, time.perf_counter() - start, "adding", error)


def predict_rows(model: Any, rows: EvaluationData, *, proba: bool = True) -> Predictions:
    """Predict some rows; the result covers all classes of the table."""

    def taken(part: EvaluationData) -> Any:
        """Return the rows as input of the model: models of this package accept the columns read already."""
        return part.source.frame if isinstance(model, TallyModel) else part.table

    return predictions_of(
        model, taken(rows), rows.target, rows.codes, rows.weights, proba=proba,
        some=lambda which: taken(rows.subset(which)),
    )  # fmt: skip
