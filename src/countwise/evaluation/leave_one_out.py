"""Leaving one row out in closed form: what a model of all other rows answers to a row.

Of each column only the tally of the row's own class changes, and by one value; what follows from it is written out
for all rows at once. Rows for which that would lose digits, or that are the last of their class, are answered by
taking them back from the model.
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
from countwise.evaluation.fold_models import answers_of

__all__ = ["Without", "answers_without", "baseline_without"]

_LIGHT, _HEAVY = 1e-3, 1e9  # between such weights what is left is told from rounding


@dataclass(frozen=True, eq=False)
class Without:
    """What came of leaving each row out."""

    rows: Indices  # those that have an answer
    answers: Predictions
    errors: dict[int, Exception]  # the rows without which there is no model, and why


def answers_without(model: Any, ground: EvaluationData) -> Without:
    """What a model, fitted on all rows, answers to each row when it has learned from all others."""
    n = len(ground)
    blank = np.zeros((n, len(ground.classes)))
    if ground.weights is not None and not _LIGHT <= ground.weights.min() <= ground.weights.max() <= _HEAVY:
        return _taken_back(model, ground, np.arange(n), blank, again=np.ones(n, dtype=bool))
    if not isinstance(model, GenerativeClassifier):
        return _taken_back(model, ground, np.arange(n), blank)
    weights = np.ones(n) if ground.weights is None else ground.weights.astype(np.float64)
    left = LeftOutRows(ground.codes, weights, len(model.classes_))
    with progress.quiet():
        table = model._table(model._open(ground.source.frame), 0, n, every=True)
    prior, odd = _priors(model, left)
    joint, again = prior.copy(), np.zeros(n, dtype=bool)
    for term in model.terms_:
        density = model.densities_[term.key]
        # without the row "auto" may choose another distribution
        found = None
        if density.choice is None:
            found = density.log_prob_left_out(term.distribution, model.tallies_[term.key], table[term.key], left)
        if found is None:
            return _taken_back(model, ground, np.arange(n), blank)
        logs, inexact, from_scratch = found
        joint += logs
        odd |= inexact
        again |= inexact & from_scratch
    proba = joint.copy()
    if _kernels.normalize(proba, "proba"):
        lost = ~np.isfinite(proba).all(axis=1)
        joint[lost], proba[lost] = prior[lost], np.exp(prior[lost])
    logs = small_logs(
        left.picked(proba),
        ground.codes,
        lambda small: joint[small] - np.logaddexp.reduce(joint[small], axis=1, keepdims=True),
    )
    return _taken_back(model, ground, np.flatnonzero(odd), proba, logs, again)


def _taken_back(
    model: Any,
    ground: EvaluationData,
    which: Indices,
    proba: Floats,
    logs: Floats | None = None,
    again: Flags | None = None,
) -> Without:
    """The rows named answered by a model without them, taken back or fitted again; others as they are known."""
    tell, logs, errors = progress.counter(), None if logs is None else logs.copy(), {}
    for i in which.tolist():
        try:
            answer = _without(model, ground, i, again is not None and bool(again[i]))
        except Exception as error:  # there is no model of the others: the rows after it go on
            errors[i] = error
            continue
        finally:
            tell()
        proba[i] = answer.proba[0]
        if logs is None and answer.logs is not None:
            with np.errstate(divide="ignore"):
                logs = np.log(proba[np.arange(len(ground)), ground.codes])
        if logs is not None:
            logs[i] = answer.log_own[0]
    weights = None if ground.weights is None else ground.weights.astype(np.float64)
    rows, answers = np.arange(len(ground)), Predictions(ground.classes, ground.codes, proba, None, weights, logs)
    if errors:
        rows = np.delete(rows, list(errors))
        answers = answers.take(rows)
    return Without(rows, answers, errors)


def _without(model: Any, ground: EvaluationData, i: int, again: bool) -> Predictions:
    one = ground.piece(np.array([i]))
    with progress.quiet():
        rest = model._blank()
        if not again:
            rest._add_tallies(model)
            rest._subtract_rows(one.source)
            again = any(getattr(tally, "worn", False) for tally in rest.tallies_.values())
        if again:  # what was taken back would leave too few digits
            rest = model._tally_rows(ground.piece(np.delete(np.arange(len(ground)), i)).source)
        else:
            rest._shrink_domains()
        rest._estimate_or_wait(allow_incomplete=False)
    return answers_of(rest, one)


def baseline_without(ground: EvaluationData) -> Predictions:
    """The majority class of all other rows."""
    k, n = len(ground.classes), len(ground)
    weights = np.ones(n) if ground.weights is None else ground.weights.astype(np.float64)
    counts = np.tile(np.bincount(ground.codes, weights, k).astype(np.float64), (n, 1))
    counts[np.arange(n), ground.codes] -= weights
    # the shares of all rows: without a row its class is the rarer, which would rank it last by no fault of its own
    shares = np.tile(np.bincount(ground.codes, weights, k) / weights.sum(), (n, 1))
    return Predictions(
        ground.classes, ground.codes, shares, np.argmax(counts, axis=1), None if ground.weights is None else weights
    )


def _priors(model: Any, left: LeftOutRows) -> tuple[Floats, Flags]:
    """Log P(class) without each row; rows that are the last of their class are told."""
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
