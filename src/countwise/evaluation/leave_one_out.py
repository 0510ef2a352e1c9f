"""Leaving one row out in closed form: what a model of all other rows answers to a row.

Of each column only the tally of the row's own class changes, and by one value; what follows from it is written out
for all rows at once. Rows for which that would lose digits, or that are the last of their class, are answered by
taking them back from the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from countwise import _kernels, progress
from countwise._typing import Flags, Floats, Indices
from countwise.base.generative import GenerativeClassifier
from countwise.base.term import Term
from countwise.discriminant.density import MultivariateNormal
from countwise.distributions import Gaussian, Poisson, smoothing_of
from countwise.distributions.bernoulli import BernoulliDensity
from countwise.distributions.categorical import CategoricalDensity
from countwise.distributions.gaussian import GaussianDensity
from countwise.distributions.kernel import KernelDensity
from countwise.distributions.multinomial import MultinomialDensity
from countwise.distributions.poisson import PoissonDensity
from countwise.distributions.word_density import WordsDensity
from countwise.evaluation.dataset import EvaluationData
from countwise.evaluation.fold_models import answers_of
from countwise.evaluation.leave_rows_out import normal, rows_are_closed
from countwise.evaluation.leave_values_out import kernel, values_are_closed
from countwise.evaluation.leave_words_out import bernoulli, multinomial, words_are_closed
from countwise.evaluation.left_out_rows import LeftOutRows
from countwise.evaluation.predictions import Predictions, small_logs

__all__ = ["Without", "answers_without", "baseline_without"]

_HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))
_WORN = 1e-4  # of a sum of squares: if less is left, digits are lost
_LIGHT, _HEAVY = 1e-3, 1e9  # between such weights what is left is told from rounding


@dataclass(frozen=True, eq=False)
class Without:
    """What came of leaving each row out.

    Parameters
    ----------
    rows : ndarray of int
        Those that have an answer.
    answers : Predictions
        To them.
    errors : dict of int to Exception
        The rows without which there is no model, and why.
    """

    rows: Indices
    answers: Predictions
    errors: dict[int, Exception]


def answers_without(model: Any, ground: EvaluationData) -> Without:
    """What a model answers to each row when it has learned from all others.

    Parameters
    ----------
    model : Tallying
        Fitted on all rows.
    ground : EvaluationData
        The rows.
    """
    n = len(ground)
    blank = np.zeros((n, len(ground.classes)))
    if ground.weights is not None and not _LIGHT <= ground.weights.min() <= ground.weights.max() <= _HEAVY:
        return _taken_back(model, ground, np.arange(n), blank, again=np.ones(n, dtype=bool))
    if not isinstance(model, GenerativeClassifier) or any(
        type(law) not in _WAYS for law in model.densities_.values()
    ):
        return _taken_back(model, ground, np.arange(n), blank)
    weights = np.ones(n) if ground.weights is None else ground.weights.astype(np.float64)
    left = LeftOutRows(model, ground.codes, weights)
    with progress.quiet():
        table = model._table(model._open(ground.source.frame), 0, n, every=True)
    if not all(_is_closed(model, part, table[part.key]) for part in model.terms_):
        return _taken_back(model, ground, np.arange(n), blank)
    prior, odd = _priors(left)
    joint, again = prior.copy(), np.zeros(n, dtype=bool)
    for part in model.terms_:
        law = type(model.densities_[part.key])
        terms, not_told = _WAYS[law](left, part, table[part.key])
        joint += terms
        odd |= not_told
        again |= not_told & (law in (GaussianDensity, MultivariateNormal))  # taking back would lose the same digits
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


# -- what follows from a tally less one value ------------------------------------------------


def _is_closed(model: Any, part: Term, column: Any) -> bool:
    density = model.densities_[part.key]
    if hasattr(density, "choice"):  # without the row another law may be chosen
        return False
    if isinstance(density, WordsDensity):
        return words_are_closed(density)
    if isinstance(density, KernelDensity):
        return values_are_closed(density, part)
    if isinstance(density, MultivariateNormal):
        return rows_are_closed(density, part, column)
    return not isinstance(density, CategoricalDensity) or density.unseen != "error"


def _priors(left: LeftOutRows) -> tuple[Floats, Flags]:
    """Log P(class) without each row; rows that are the last of their class are told."""
    counts = left.model.class_count_.astype(np.float64)
    pairs, place = np.unique(np.stack([left.codes, left.weights], axis=1), axis=0, return_inverse=True)
    table, last = np.empty((len(pairs), left.k)), np.zeros(len(pairs), dtype=bool)
    for j, (c, w) in enumerate(pairs):
        rest = counts.copy()
        rest[int(c)] -= w
        last[j] = rest[int(c)] <= 1e-9 or not rest.sum() > 0
        with np.errstate(divide="ignore"):
            table[j] = left.model.log_prior_ if last[j] else np.log(left.model._prior_of(rest))
    return table[place.ravel()], last[place.ravel()]


def _gaussian(left: LeftOutRows, part: Term, column: Any) -> tuple[Floats, Flags]:
    rule: Gaussian = part.rule
    tally, w = left.model.tallies_[part.key], left.weights
    x = np.asarray(column, dtype=np.float64)
    there = ~np.isnan(x)
    n, mean, m2 = tally.triple
    total, center, square = tally.overall
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        own_n, own_mean, own_m2, worn = _less(left.own(n), left.own(mean), left.own(m2), x, w)
        all_n, all_mean, all_m2, blurred = _less(np.full(len(x), total), center, square, x, w)
        fewer = 1.0 if rule.divisor == "n-1" else 0.0
        spread = all_m2 / np.maximum(all_n - fewer, 1.0)
        spread = np.where(spread <= (8 * np.finfo(float).eps * all_mean) ** 2, 0.0, spread)
        every = np.where(n - fewer > 0, m2 / (n - fewer), np.nan)
        variance = left.with_own(every, np.where(own_n - fewer > 0, own_m2 / (own_n - fewer), np.nan))
        variance = np.where(variance >= 0, np.maximum(variance, rule.floor * spread[:, None]), spread[:, None])
        means = np.where(n > 0, mean, all_mean[:, None])
        means = left.with_own(means, np.where(own_n > 0, own_mean, all_mean))
        sd = np.sqrt(np.where(spread[:, None] > 0, variance, 0.0))
        sd = np.where(sd > 0, sd, 1.0)
        logs = -0.5 * ((x[:, None] - means) / sd) ** 2 - np.log(sd) - _HALF_LOG_2PI
    silent = ~there | ~(spread > 0)
    return np.where(silent[:, None], 0.0, logs), there & (worn | blurred)


def _less(n: Floats, mean: Any, m2: Any, x: Floats, w: Floats) -> tuple[Floats, Floats, Floats, Flags]:
    """(n, mean, M2) without a value, and where too little is left for the digits to be trusted."""
    rest = n - w
    rest = np.where(rest < 1e-9, 0.0, rest)
    after = np.where(rest > 0, mean + (mean - x) * (w / rest), 0.0)
    square = m2 - w * (x - mean) ** 2 * (n / rest)
    worn = (rest > 0) & (m2 > 0) & (square < _WORN * m2)
    return rest, after, np.where(rest > 0, np.maximum(square, 0.0), 0.0), worn


def _poisson(left: LeftOutRows, part: Term, column: Any) -> tuple[Floats, Flags]:
    rule: Poisson = part.rule
    tally, w = left.model.tallies_[part.key], left.weights
    x = np.asarray(column, dtype=np.float64)
    there = ~np.isnan(x)
    n, mean, _ = tally.triple
    total, center, _ = tally.overall
    smoothing = smoothing_of(rule.smoothing)
    rows = smoothing.estimate.m if smoothing.estimate else float(smoothing.epsilon or 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        overall = np.maximum((total * center - w * x) / np.maximum(total - w, 1e-300), 0.0)
        sums = left.with_own(n * mean, np.maximum(left.own(n * mean) - w * x, 0.0))
        counts = left.with_own(n, np.maximum(left.own(n) - w, 0.0))
        rate = np.where(counts + rows > 0, (sums + rows * overall[:, None]) / (counts + rows), overall[:, None])
        rate = np.where(rate < 1e-13 * max(float(np.max(mean, initial=0.0)), 1.0), 0.0, rate)
        logs = xlogy(x[:, None], rate) - rate
    silent = ~there | ~(rate > 0).any(axis=1)
    return np.where(silent[:, None], 0.0, logs), there & ~(total - w > 1e-9)


def _categorical(left: LeftOutRows, part: Term, column: Any) -> tuple[Floats, Flags]:
    density: CategoricalDensity = left.model.densities_[part.key]
    v, size = np.asarray(column, dtype=np.int64), len(density.of.values)
    there = v < size
    if not size:
        return np.zeros((len(v), left.k)), np.zeros(len(v), dtype=bool)
    at, w = np.where(there, v, 0), left.weights
    counts = density.counts.astype(np.float64)
    totals, of_value = counts.sum(axis=1), counts.sum(axis=0)
    rest = counts[left.codes, at] - w
    mine = left.with_own(counts.T[at], np.where(rest < 1e-9, 0.0, rest))
    whole = left.with_own(totals, left.own(totals) - w)
    everyone, everything = of_value[at] - w, of_value.sum() - w
    estimate = density.smoothing.estimate
    if estimate is not None and isinstance(estimate.p, str) and estimate.p == "global":
        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.where(everything > 1e-9, estimate.m * everyone / everything, estimate.m / size)
        mass = float(estimate.m)
    else:
        added, mass = density.pseudo[at], float(density.pseudo.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(
            whole + mass > 1e-12, (mine + added[:, None]) / (whole + mass), (everyone / everything)[:, None]
        )
        logs = np.log(share)
    of = density.of
    kept = np.array([not of.grows or value in of.fixed or part.how != "same" for value in of.values])
    gone = there & (everyone <= 1e-9) & ~kept[at]  # the only row of this value: the others never met it
    odd = gone & (density.unseen == "share")
    nothing = there & (everything <= 1e-9)
    return np.where((~there | gone | nothing)[:, None], 0.0, logs), odd


_WAYS: dict[type, Callable[[LeftOutRows, Term, Any], tuple[Floats, Flags]]] = {
    CategoricalDensity: _categorical,
    GaussianDensity: _gaussian,
    PoissonDensity: _poisson,
    MultinomialDensity: multinomial,
    BernoulliDensity: bernoulli,
    KernelDensity: kernel,
    MultivariateNormal: normal,
}
