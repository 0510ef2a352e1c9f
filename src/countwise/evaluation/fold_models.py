"""A model for each fold: by adding up what pieces were counted to be where that is the same, else by fitting anew."""

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

__all__ = ["Fitted", "adds_up", "answers_of", "deals_all", "fitted", "prefixes", "refitted"]

Split = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model of a fold, or why there is none."""

    model: Any
    seconds: float  # what it took
    how: str  # "adding" or "fitting"
    error: Exception | None = None


def adds_up(estimator: Any, ground: EvaluationData) -> bool:
    """Whether models of pieces, added up, are the model of all rows."""
    if is_sparse(ground.rows.X) and not isinstance(estimator, NaiveBayesClassifier):
        return False  # others write its zeros out before they count
    return isinstance(estimator, TallyModel) and hasattr(estimator, "predict_proba") and estimator._adds_up()


def fitted(estimator: Any, ground: EvaluationData, splits: Sequence[Split], *, fast: bool = True) -> Iterator[Fitted]:
    """A model for each fold, one after the other; `fast`: added up where that is the same as fitting anew."""
    if fast and adds_up(estimator, ground) and deals_all(splits, len(ground)):
        yield from _added(estimator, ground, splits)
    else:
        for train, _ in splits:
            yield refitted(estimator, ground.piece(train))


def deals_all(splits: Sequence[Split], n: int) -> bool:
    """Whether every row is held out once, and all others are learned from."""
    if not splits or any(len(train) + len(test) != n for train, test in splits):
        return False
    held = np.concatenate([test for _, test in splits])
    if len(held) != n or not (np.bincount(held, minlength=n) == 1).all():
        return False
    for train, test in splits:
        seen = np.zeros(n, dtype=bool)  # marks, not sorted sets: tables are long
        seen[train] = True
        if seen[test].any() or np.count_nonzero(seen) != len(train):
            return False
    return True


def _added(estimator: Any, ground: EvaluationData, splits: Sequence[Split]) -> Iterator[Fitted]:
    """Each fold is counted once; what is learned without it is the sum of those before and of those after."""
    start = time.perf_counter()
    failed: dict[int, Exception] = {}
    with progress.quiet():
        pieces = []
        for f, (_, test) in enumerate(splits):
            try:
                pieces.append(estimator._tally_rows(ground.piece(test).source))
            except Exception as reason:  # of all folds but this one
                failed[f] = reason
                pieces.append(estimator._blank())
        behind = [estimator._blank() for _ in range(len(pieces) + 1)]
        for f in range(len(pieces) - 1, -1, -1):
            behind[f]._add_tallies(behind[f + 1])
            behind[f]._add_tallies(pieces[f])
    before, share = estimator._blank(), (time.perf_counter() - start) / len(splits)
    for f, piece in enumerate(pieces):
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
        before._add_tallies(piece)
        taken = share + time.perf_counter() - start
        yield Fitted(None if error else model, taken, "adding", error)


def refitted(estimator: Any, rows: EvaluationData) -> Fitted:
    """A model of some rows, fitted anew; what it raises is kept."""
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
    """Models of the first rows, for growing sizes; each row is counted once if that is the same as fitting anew."""
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
                done = size  # rows that cannot be counted are met again at the next size
                model._add_tallies(running)
                model._estimate_or_wait(allow_incomplete=False)
        except Exception as reason:
            error = reason
        yield Fitted(None if error else model, time.perf_counter() - start, "adding", error)


def answers_of(model: Any, rows: EvaluationData, *, proba: bool = True) -> Predictions:
    """What a model predicts for some rows, over all classes of the table."""

    def taken(part: EvaluationData) -> Any:
        """The rows as a model takes them: ours need not open the user's table again."""
        return part.source.frame if isinstance(model, TallyModel) else part.table

    return predictions_of(
        model, taken(rows), rows.target, rows.codes, rows.weights, proba=proba,
        some=lambda which: taken(rows.piece(which)),
    )  # fmt: skip
