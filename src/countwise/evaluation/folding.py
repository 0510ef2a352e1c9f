"""Cross-validation: every row answered by a model that did not learn from it."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise.errors import OptionError, TableError, TooFewRows, did_you_mean, listed, warn
from countwise.evaluation.answers import SCORES, Answers, majority
from countwise.evaluation.fitting import Fitted, adds_up, answers_of, deals_all, fitted
from countwise.evaluation.ground import Ground, ground_of
from countwise.evaluation.leaving import answers_without, baseline_without
from countwise.evaluation.processes import elsewhere, over_processes, processes_of
from countwise.evaluation.validation import Fold, Validation
from countwise.folds import splits_of

__all__ = ["Trial", "cross_validate", "judged", "leave_one_out", "scoring_of", "splits_for"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trial:
    """What learners are put to; it travels to other processes.

    Parameters
    ----------
    ground : Ground
        The table.
    splits : list of (train, test)
        The rows of each fold.
    others : dict of str to scorer
        Scores of scikit-learn's.
    fast : bool, default=True
        Whether models that add up are added up.
    """

    ground: Ground
    splits: list[tuple[Rows, Rows]]
    others: dict[str, Callable[..., float]]
    fast: bool = True

    def parts(self, estimator: Any) -> list[Sequence[int]]:
        """The folds that are judged in one go: all, if what was counted of one serves the others."""
        every = range(len(self.splits))
        if self.fast and adds_up(estimator) and deals_all(self.splits, len(self.ground)):
            return [every]
        return [[f] for f in every]

    def folds(self, estimator: Any, which: Sequence[int]) -> Iterator[Fold]:
        """What came of some folds."""
        splits = [self.splits[f] for f in which]
        models = fitted(estimator, self.ground, splits, fast=self.fast)
        for model, (train, test) in zip(models, splits, strict=True):
            fold = judged(model, self.ground, train, test, self.others)
            yield _portable(fold) if elsewhere() else fold


def _judged_part(shared: tuple[Any, Trial], which: Sequence[int], tell: Callable[[], None]) -> list[Fold]:
    estimator, trial = shared
    found = []
    for fold in trial.folds(estimator, which):
        found.append(fold)
        tell()
    return found


def _portable(fold: Fold) -> Fold:
    """An error that does not travel goes as words."""
    try:
        pickle.loads(pickle.dumps(fold.error))  # noqa: S301 - what was written just here
    except Exception:
        told = RuntimeError(f"{type(fold.error).__name__}: {fold.error}")
        return replace(fold, error=told, fitted=replace(fold.fitted, error=None))
    return fold


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    by: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    fast: bool = True,
    name: str | None = None,
) -> Validation:
    """Judge a learner on rows that it did not learn from.

    Models that learn by counting count each row once: what is learned without a fold is the sum of the others, which
    is the model that fitting anew would give. Others are fitted anew for every fold.

    Parameters
    ----------
    estimator : estimator
        Of this package, or any classifier of scikit-learn's kind; it gets the table as it is.
    X : any table
        Names, numbers, texts, gaps.
    y : array-like or str
        The class of each row, or the name of its column. Rows without one are left out.
    cv : int, splitter or splits, default=10
        Into how many folds the rows are dealt, each with its share of every class.
    scoring : str, callable or list, optional
        Of "accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "calibration_error"; also a scorer of
        scikit-learn. By default all of the former.
    groups : array-like, optional
        Rows of one group are held out together.
    by : str or array-like, optional
        A column, or a label for each row: scores are told for the rows of each of its values too.
    sample_weight : array-like, optional
        A weight for each row, in learning and in scores.
    random_state : int, default=0
        Deals differently.
    n_jobs : int, optional
        Folds are fitted anew in so many processes, which share the processors; -1 is one for each. By default in
        this one; so are models that add up.
    fast : bool, default=True
        Whether models that add up are added up.
    name : str, optional
        What the learner is called.

    Returns
    -------
    Validation
        `scores`, `frame` (a row for each fold), `answers` to all rows, `by(column)`, `errors`.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, cross_validate, samples
    >>> tennis = samples.load("tennis")
    >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7, scoring=["accuracy", "brier"])
    >>> print(found.answers.confusion())
    class  answered No  answered Yes  right
    No     1            4             0.2
    Yes    1            8             0.888889
    """
    ground = ground_of(X, y, sample_weight)
    wanted, others = scoring_of(scoring)
    if by is not None:
        ground.labels(by, X)  # what is no column is told before the work
    trial = Trial(ground, splits_for(cv, ground, groups, random_state), others, fast)
    tasks = [(which, len(which)) for which in trial.parts(estimator)]
    found: dict[int, Fold] = {}
    for which, part in over_processes(
        _judged_part, (estimator, trial), tasks, processes_of(n_jobs), progress.counter()
    ):
        found.update(zip(which, part, strict=True))
    folds = [found[f] for f in sorted(found)]
    if all(fold.answers is None for fold in folds):
        raise folds[0].error or TableError("There is no fold.")
    told = name or type(estimator).__name__
    failed = [i for i, fold in enumerate(folds) if fold.error is not None]
    if failed:
        more = f" and in {len(failed) - 1:,} more" * (len(failed) > 1)
        warn(f"{told} failed in fold {failed[0] + 1:,} of {len(folds):,}{more}: {folds[failed[0]].error}")
    return Validation(told, tuple(folds), wanted, ground, X, by)


def leave_one_out(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    scoring: Any = None,
    by: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    name: str | None = None,
) -> Validation:
    """Judge a learner on each row in turn, learned from all others.

    Of a naive Bayes of categorical, Bernoulli, multinomial, Gaussian, Poisson and kernel laws (of widths given or by
    rule of thumb), and of discriminants of rows without gaps, all rows are answered at once: it is written out what
    a tally becomes without one row. Other models that learn by counting take the row back; others are fitted anew.

    Parameters
    ----------
    estimator, X, y, scoring, by, sample_weight, n_jobs, name
        See `cross_validate`. A row of weight n is left out as a whole.

    Returns
    -------
    Validation
        With one fold, in which every row was held out.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, leave_one_out, samples
    >>> tennis = samples.load("tennis")
    >>> found = leave_one_out(NaiveBayesClassifier(), tennis.X, tennis.y)
    >>> round(found.answers.accuracy, 4), round(found.answers.log_loss, 4)
    (0.5, 0.7459)
    """
    ground = ground_of(X, y, sample_weight)
    wanted, others = scoring_of(scoring)
    if len(ground) < 2:
        raise TooFewRows("Leaving a row out needs at least two rows.")
    if others:
        raise OptionError(f"{listed(others)} would be of single rows.", hint=f"give scores among {listed(SCORES)}.")
    if by is not None:
        ground.labels(by, X)
    every, start = np.arange(len(ground)), time.perf_counter()
    if not adds_up(estimator):
        splits = [(np.delete(every, i), every[i : i + 1]) for i in every]
        anew = cross_validate(
            estimator, X, y, cv=splits, scoring=scoring, sample_weight=sample_weight, n_jobs=n_jobs, name=name
        )
        whole = Fitted(None, sum(f.fitted.seconds for f in anew.folds), "fitting")
        fold = Fold(every, anew.rows, whole, anew.answers, anew.baseline, 0.0)  # without rows at which it failed
        return Validation(anew.name, (fold,), wanted, ground, X, by)
    with progress.quiet():
        model = estimator._counted(ground.piece(every).source)
        model._settle_or_wait(patient=False)
    found, told = answers_without(model, ground), name or type(estimator).__name__
    if found.errors:
        first, error = next(iter(found.errors.items()))
        if not len(found.rows):
            raise error
        more = f" and without {len(found.errors) - 1:,} more" * (len(found.errors) > 1)
        warn(f"{told} failed without row {first:,}{more}: {error}")
    whole = Fitted(model, time.perf_counter() - start, "leaving out")
    fold = Fold(every, found.rows, whole, found.answers, baseline_without(ground).take(found.rows), 0.0)
    return Validation(told, (fold,), wanted, ground, X, by)


def scoring_of(scoring: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The names of the scores, and those of them that are scikit-learn's."""
    given = SCORES if scoring is None else (scoring,) if isinstance(scoring, str) or callable(scoring) else scoring
    names, others = [], {}
    for one in given:
        name = one if isinstance(one, str) else getattr(one, "__name__", type(one).__name__)
        if name not in SCORES or callable(one):
            others[name] = _scorer(one)
        names.append(name)
    return tuple(names), others


def _scorer(one: Any) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    if callable(one):
        return one
    if one not in get_scorer_names():
        raise OptionError(
            f"The score {one!r} is unknown.",
            hint=did_you_mean(one, [*SCORES, *get_scorer_names()]) or f"give one of {listed(SCORES)}.",
        )
    return get_scorer(one)


def splits_for(cv: Any, ground: Ground, groups: Any = None, seed: Any = 0) -> list[tuple[Rows, Rows]]:
    """The rows learned from and those held out, of each fold."""
    n = len(ground)

    def numbered() -> Rows:
        if groups is None:
            return np.arange(n)
        column = np.asarray(groups)
        if len(column) not in (n, ground.source.n_given) and ground.rows.kept is None:
            raise TableError(f"groups has {len(column)} entries; the table has {n} rows.")
        column = column if len(column) == n or ground.rows.kept is None else column[ground.rows.kept]
        return np.unique(column, return_inverse=True)[1]

    if hasattr(cv, "split") and groups is not None:
        cv = list(cv.split(np.empty((n, 1)), ground.rows.y, numbered()))
    return [
        (np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64))
        for train, test in splits_of(cv, n, numbered, ground.codes, seed)
    ]


def judged(model: Fitted, ground: Ground, train: Rows, test: Rows, others: dict[str, Callable[..., float]]) -> Fold:
    """What a model of some rows answers to others."""
    held = ground.piece(test)
    blank = Answers(ground.classes, held.codes, np.zeros((len(test), len(ground.classes))), None, held.weights)
    weights = None if ground.weights is None else ground.weights[train].astype(np.float64)
    base = majority(ground.codes[train], blank, weights)
    start, answers, error, extra = time.perf_counter(), None, model.error, {}
    took = 0.0
    if model.model is not None:
        try:
            answers = answers_of(model.model, held)
            took = time.perf_counter() - start
            with progress.quiet():
                extra = {name: float(scorer(model.model, held.table, held.y)) for name, scorer in others.items()}
        except Exception as reason:
            answers, error = None, reason
    return Fold(train, test, model, answers, base, took, extra, error)
