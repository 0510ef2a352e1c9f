"""Leave-one-out predictions in closed form.

LeftOut a row, only the tally of the row's own class changes in each column, and only by one value. The resulting
log-probabilities are computed for all rows at once. Rows for which this would be numerically inexact, and rows that
are the only one of their class, are predicted by a model from which they are subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise import _kernels, progress
from countwise._typing import Flags, Floats, Indices
from countwise.base.generative import GenerativeClassifier
from countwise.base.predictions import Predictions, small_logs
from countwise.distributions.distribution import LeftOutRows
from countwise.evaluation.dataset import EvaluationData
from countwise.evaluation.fold_models import predict_rows

__all__ = ["LeftOut", "leave_one_out_baseline", "leave_one_out_predictions"]

_LIGHT, _HEAVY = 1e-3, 1e9  # outside these weights, a subtracted row is lost in rounding errors


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The leave-one-out predictions."""

    rows: Indices  # the rows that have a prediction
    predictions: Predictions
    errors: dict[int, Exception]  # the rows without which the model cannot be fitted, and the error


def leave_one_out_predictions(model: Any, data: EvaluationData) -> LeftOut:
    """Return the leave-one-out predictions of a model that was fitted on all rows."""
    n = len(data)
    blank, unknown = np.zeros((n, len(data.classes))), np.zeros(n, dtype=np.int64)
    if data.weights is not None and not _LIGHT <= data.weights.min() <= data.weights.max() <= _HEAVY:
        return _subtracted(model, data, np.arange(n), blank, unknown, again=np.ones(n, dtype=bool))
    if not isinstance(model, GenerativeClassifier):
        return _subtracted(model, data, np.arange(n), blank, unknown)
    weights = np.ones(n) if data.weights is None else data.weights.astype(np.float64)
    left = LeftOutRows(data.codes, weights, len(model.classes_))
    with progress.quiet():
        table = model._table(model._open(data.source.frame), 0, n, every=True)
    prior, odd = _priors(model, left)
    joint, again = prior.copy(), np.zeros(n, dtype=bool)
    for term in model.terms_:
        density = model.densities_[term.key]
        # without the row, "auto" may select another distribution, or other factors for missing values
        found = None
        if density.choice is None and not model._chooses_terms:
            found = density.log_prob_left_out(term.distribution, model.tallies_[term.key], table[term.key], left)
        if found is None:
            return _subtracted(model, data, np.arange(n), blank, unknown)
        logs, inexact, from_scratch = found
        joint += logs
        odd |= inexact
        again |= inexact & from_scratch
    proba = joint.copy()
    if _kernels.normalize(proba, "proba"):
        lost = ~np.isfinite(proba).all(axis=1)
        joint[lost], proba[lost] = prior[lost], np.exp(prior[lost])
    codes = _kernels.argmax_rows(joint).astype(np.int64)
    logs = small_logs(
        left.picked(proba),
        data.codes,
        lambda small: joint[small] - np.logaddexp.reduce(joint[small], axis=1, keepdims=True),
    )
    return _subtracted(model, data, np.flatnonzero(odd), proba, codes, logs, again)


def _subtracted(
    model: Any,
    data: EvaluationData,
    which: Indices,
    proba: Floats,
    codes: Indices,
    logs: Floats | None = None,
    again: Flags | None = None,
) -> LeftOut:
    """Predict the given rows by subtracting them from the model, or by refitting; keep the other predictions."""
    advance, logs, errors = progress.counter(), None if logs is None else logs.copy(), {}
    for i in which.tolist():
        try:
            prediction = _without(model, data, i, again is not None and bool(again[i]))
        except Exception as error:  # the model cannot be fitted without this row; the others are still predicted
            errors[i] = error
            continue
        finally:
            advance()
        proba[i], codes[i] = prediction.proba[0], prediction.answered[0]
        if logs is None and prediction.logs is not None:
            with np.errstate(divide="ignore"):
                logs = np.log(proba[np.arange(len(data)), data.codes])
        if logs is not None:
            logs[i] = prediction.log_own[0]
    weights = None if data.weights is None else data.weights.astype(np.float64)
    rows, predictions = np.arange(len(data)), Predictions(data.classes, data.codes, proba, codes, weights, logs)
    if errors:
        rows = np.delete(rows, list(errors))
        predictions = predictions.take(rows)
    return LeftOut(rows, predictions, errors)


def _without(model: Any, data: EvaluationData, i: int, again: bool) -> Predictions:
    one = data.subset(np.array([i]))
    with progress.quiet():
        rest = model._blank()
        if not again:
            rest._add_tallies(model)
            rest._subtract_rows(one.source)
            again = any(getattr(tally, "worn", False) for tally in rest.tallies_.values())
        if again:  # subtracting the row would lose too many digits
            rest = model._tally_rows(data.subset(np.delete(np.arange(len(data)), i)).source)
        else:
            rest._shrink_domains()
        rest._estimate_or_wait(allow_incomplete=False)
    return predict_rows(rest, one)


def leave_one_out_baseline(data: EvaluationData) -> Predictions:
    """Return the predictions of the majority class of all other rows."""
    k, n = len(data.classes), len(data)
    weights = np.ones(n) if data.weights is None else data.weights.astype(np.float64)
    counts = np.tile(np.bincount(data.codes, weights, k).astype(np.float64), (n, 1))
    counts[np.arange(n), data.codes] -= weights
    # probabilities are the frequencies in all rows: without a row its class is rarer, which would bias the ROC AUC
    frequencies = np.tile(np.bincount(data.codes, weights, k) / weights.sum(), (n, 1))
    return Predictions(
        data.classes, data.codes, frequencies, np.argmax(counts, axis=1), None if data.weights is None else weights
    )


def _priors(model: Any, left: LeftOutRows) -> tuple[Floats, Flags]:
    """Return log P(class) without each row, and a mask of the rows that are the only one of their class."""
    counts = model.class_count_.astype(np.float64)
    pairs, place = np.unique(np.stack([left.codes, left.weights], axis=1), axis=0, return_inverse=True)
    table, last = np.empty((len(pairs), left.k)), np.zeros(len(pairs), dtype=bool)
    for j, (c, w) in enumerate(pairs):
        rest = counts.copy()
        rest[int(c)] -= w
        last[j] = rest[int(c)] <= 1e-9 or not rest.sum() > 0
        with np.errstate(divide="ignore"):
            table[j] = model.log_prior_ if last[j] else np.log(model._prior_of(rest))
    return table[place.ravel()], last[place.ravel()]
