"""Cross-validation: every row answered by a model that did not learn from it."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise import progress
from countwise._typing import Indices
from countwise.base.predictions import SCORES, Predictions
from countwise.errors import OptionError, TableError, TooFewRows, did_you_mean, listed, warn
from countwise.evaluation.dataset import EvaluationData, ground_of
from countwise.evaluation.fold_models import Fitted, adds_up, answers_of, deals_all, fitted
from countwise.evaluation.leave_one_out import answers_without, baseline_without
from countwise.evaluation.parallel import elsewhere, over_processes, processes_of
from countwise.evaluation.validation import Fold, Validation
from countwise.feature_selection.subset_scoring import scored
from countwise.splits import splits_of

__all__ = ["Trial", "cross_validate", "groups_of", "judged", "leave_one_out", "one_score", "scoring_of", "splits_for"]


@dataclass(frozen=True, eq=False)
class Trial:
    """What learners are put to; it travels to other processes."""

    ground: EvaluationData
    splits: list[tuple[Indices, Indices]]
    others: dict[str, Callable[..., float]]  # scores of scikit-learn's
    fast: bool = True  # whether models that add up are added up

    def parts(self, estimator: Any) -> list[Sequence[int]]:
        """The folds that are judged in one go: all, if what was counted of one serves the others."""
        every = range(len(self.splits))
        if self.fast and adds_up(estimator, self.ground) and deals_all(self.splits, len(self.ground)):
            return [every]
        return [[f] for f in every]

    def folds(self, estimator: Any, which: Sequence[int], tell: Callable[[], None]) -> list[Fold]:
        """What came of some folds."""
        splits, found = [self.splits[f] for f in which], []
        models = fitted(estimator, self.ground, splits, fast=self.fast)
        for model, (train, test) in zip(models, splits, strict=True):
            fold = judged(model, self.ground, train, test, self.others)
            found.append(_portable(fold) if elsewhere() else fold)
            tell()
        return found


def _judged_part(shared: tuple[Any, Trial], which: Sequence[int], tell: Callable[[], None]) -> list[Fold]:
    estimator, trial = shared
    return trial.folds(estimator, which, tell)


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
        Nominal, numeric and text columns, with missing values.
    y : array-like or str
        The class of each row, or the name of its column. Indices without one are left out.
    cv : int, splitter or splits, default=10
        Into how many folds the rows are dealt, each with its share of every class.
    scoring : str, callable or list, optional
        Of "accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "calibration_error"; also a scorer of
        scikit-learn. By default all of the former.
    groups : str or array-like, optional
        A column, or a label for each row: rows of one group are held out together.
    by : str or array-like, optional
        A column, or a label for each row: the rows of each of its values are scored too.
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
    class  answered No  answered Yes     right
    No               1             4  0.2
    Yes              1             8  0.888889
    """
    ground = ground_of(X, y, sample_weight)
    wanted, others = scoring_of(scoring)
    if by is not None:
        ground.labels(by, X)  # what is no column is told before the work
    splits = splits_for(cv, ground, groups_of(groups, ground, X), random_state)
    trial = Trial(ground, splits, others, fast)
    tasks = [(which, len(which)) for which in trial.parts(estimator)]
    found: dict[int, Fold] = {}
    work = over_processes(_judged_part, (estimator, trial), tasks, processes_of(n_jobs), progress.counter())
    for which, part in work:
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

    Naive Bayes whose distributions leave a row out in closed form, and discriminants of complete rows, answer all
    rows at once: it is written out what a tally becomes without one row. Of other models that learn by counting the
    row is forgotten; the rest are fitted anew.

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
    if not adds_up(estimator, ground):
        rows = every if ground.rows.kept is None else ground.rows.kept
        splits = [(np.delete(rows, i), rows[i : i + 1]) for i in every]
        anew = cross_validate(
            estimator, X, y, cv=splits, scoring=scoring, sample_weight=sample_weight, n_jobs=n_jobs, name=name
        )
        whole = Fitted(None, sum(f.fitted.seconds for f in anew.folds), "fitting")
        fold = Fold(every, anew._places, whole, anew.answers, anew.baseline, 0.0)  # without rows at which it failed
        return Validation(anew.name, (fold,), wanted, ground, X, by)
    with progress.quiet():
        model = estimator._tally_rows(ground.source)
        model._estimate_or_wait(allow_incomplete=False)
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
    given: Any = SCORES if scoring is None else scoring
    given = [given] if isinstance(given, str) or callable(given) else given
    if isinstance(given, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(name), one) for name, one in given.items()]
    elif isinstance(given, Iterable):
        pairs = [(None, one) for one in given]
    else:
        raise OptionError(f"scoring must name scores, not {given!r}.", hint=f"give some of {listed(SCORES)}.")
    found: dict[str, Any] = {}
    for name, one in pairs:
        told = name or (one if isinstance(one, str) else _name_of(one))
        while told in found and not isinstance(one, str):  # two of one name
            told = f"{told}_"
        found[told] = None if isinstance(one, str) and one == told and told in SCORES else _scorer(one)
    if not found:
        raise OptionError("There is no score.", hint=f"give some of {listed(SCORES)}.")
    return tuple(found), {name: scorer for name, scorer in found.items() if scorer is not None}


def one_score(scoring: Any, what: str = "scoring") -> tuple[str, dict[str, Any]]:
    """The name of a single score, and its scorer if it is scikit-learn's."""
    names, others = scoring_of("accuracy" if scoring is None else scoring)
    if len(names) > 1:
        raise OptionError(f"{what} takes one score, not {listed(names)}.")
    return names[0], others


def _name_of(scorer: Any) -> str:
    """A scorer is called like the function that it calls."""
    called = getattr(scorer, "_score_func", scorer)
    return str(getattr(called, "__name__", type(called).__name__))


def _scorer(one: Any) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    if callable(one):
        return one
    if not isinstance(one, str) or one not in get_scorer_names():
        raise OptionError(
            f"The score {one!r} is unknown.",
            hint=did_you_mean(one, [*SCORES, *get_scorer_names()]) or f"give one of {listed(SCORES)}.",
        )
    return get_scorer(one)


def splits_for(cv: Any, ground: EvaluationData, groups: Any = None, seed: Any = 0) -> list[tuple[Indices, Indices]]:
    """The rows learned from and those held out, of each fold."""
    n, kept = len(ground), ground.rows.kept
    if hasattr(cv, "split") and not isinstance(cv, str):
        try:
            splits = splits_of(list(cv.split(np.empty((n, 1)), ground.rows.y, groups)), n, lambda: np.arange(n))
        except TypeError as error:
            raise OptionError(f"{type(cv).__name__} gives no splits: {error}") from None
        except ValueError as error:
            if groups is None and "groups" in str(error):
                told = f"{type(cv).__name__} needs groups."
                raise OptionError(told, hint="name a column: groups='name'.") from None
            raise
    elif kept is not None and isinstance(cv, Iterable) and not isinstance(cv, str):
        given = int(ground.n_given)
        where = np.full(given, -1, dtype=np.int64)  # splits number the rows of the user's table
        where[kept] = np.arange(n)
        splits = [
            (where[a][where[a] >= 0], where[b][where[b] >= 0]) for a, b in splits_of(cv, given, lambda: np.arange(n))
        ]
    else:
        many = n if groups is None else int(groups.max(initial=-1)) + 1
        if groups is not None and isinstance(cv, int | np.integer) and many < cv:
            raise TooFewRows(f"{many} groups cannot be split into {cv} folds.", hint="give a smaller cv.")
        splits = splits_of(cv, n, lambda: np.arange(n) if groups is None else groups, ground.codes, seed)
    return [(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64)) for train, test in splits]


def groups_of(groups: Any, ground: EvaluationData, X: Any) -> Indices | None:
    """The group of each row, numbered; rows without one are a group of their own."""
    if groups is None:
        return None
    labels = ground.labels(groups, X, "groups").tolist()
    places = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([places[label] for label in labels], dtype=np.int64)


def judged(
    model: Fitted, ground: EvaluationData, train: Indices, test: Indices, others: dict[str, Callable[..., float]]
) -> Fold:
    """What a model of some rows answers to others."""
    held = ground.piece(test)
    blank = Predictions(ground.classes, held.codes, np.zeros((len(test), len(ground.classes))), None, held.weights)
    weights = None if ground.weights is None else ground.weights[train]
    base = blank.majority(np.bincount(ground.codes[train], weights))
    start, answers, error, extra = time.perf_counter(), None, model.error, {}
    took = 0.0
    if model.model is not None:
        try:
            answers = answers_of(model.model, held)
            took = time.perf_counter() - start
            with progress.quiet():
                extra = {name: scored(scorer, model.model, held.table, held.y, held.weights)
                         for name, scorer in others.items()}  # fmt: skip
        except Exception as reason:
            answers, error = None, reason
    return Fold(train, test, model, answers, base, took, extra, error)
