"""Cross-validation: every row is predicted by a model that was not fitted on it."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise import progress
from countwise._typing import Indices
from countwise.base.predictions import NAMED_SCORES, SCORES, Predictions
from countwise.errors import (
    NumberIn,
    OptionError,
    TableError,
    TooFewRows,
    check_flag,
    check_value,
    did_you_mean,
    listed,
    warn,
)
from countwise.evaluation.dataset import EvaluationData, evaluation_data
from countwise.evaluation.fold_models import Fitted, adds_up, fitted, is_partition, predict_rows
from countwise.evaluation.leave_one_out import leave_one_out_baseline, leave_one_out_predictions
from countwise.evaluation.parallel import elsewhere, over_processes, processes_of
from countwise.evaluation.validation import Fold, Validation
from countwise.feature_selection.subset_scoring import scored
from countwise.splits import splits_of

__all__ = [
    "Trial",
    "cross_validate",
    "evaluate_fold",
    "groups_of",
    "leave_one_out",
    "one_score",
    "scoring_of",
    "splits_for",
]


@dataclass(frozen=True, eq=False)
class Trial:
    """The data, splits and scorers that are the same for all learners; pickled for worker processes."""

    data: EvaluationData
    splits: list[tuple[Indices, Indices]]
    others: dict[str, Callable[..., float]]  # scikit-learn scorers by name
    fast: bool = True  # whether to merge the tallies of folds instead of refitting

    def parts(self, estimator: Any) -> list[Sequence[int]]:
        """Group the folds into tasks: one task for all folds if they share tallies, else one for each fold."""
        every = range(len(self.splits))
        if self.fast and adds_up(estimator, self.data) and is_partition(self.splits, len(self.data)):
            return [every]
        return [[f] for f in every]

    def folds(self, estimator: Any, which: Sequence[int], advance: Callable[[], None]) -> list[Fold]:
        """Fit and score some of the folds."""
        splits, found = [self.splits[f] for f in which], []
        models = fitted(estimator, self.data, splits, fast=self.fast)
        for model, (train, test) in zip(models, splits, strict=True):
            fold = evaluate_fold(model, self.data, train, test, self.others)
            found.append(_portable(fold) if elsewhere() else fold)
            advance()
        return found


def _evaluate_part(shared: tuple[Any, Trial], which: Sequence[int], advance: Callable[[], None]) -> list[Fold]:
    estimator, trial = shared
    return trial.folds(estimator, which, advance)


def _portable(fold: Fold) -> Fold:
    """Replace an error that cannot be pickled by a RuntimeError with the same message."""
    try:
        pickle.loads(pickle.dumps(fold.error))  # noqa: S301 - pickled in the same line
    except Exception:
        portable = RuntimeError(f"{type(fold.error).__name__}: {fold.error}")
        return replace(fold, error=portable, fitted=replace(fold.fitted, error=None))
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
    """Cross-validate a classifier.

    Models that are fitted by counting, such as naive Bayes, tally each fold once: the model without a fold is the sum
    of the tallies of all other folds, and equals the model that refitting would give. Other models are refitted for
    every fold.

    Parameters
    ----------
    estimator : estimator
        A classifier of this package, or any scikit-learn compatible classifier. It receives the table unchanged.
    X : any table
        Nominal, numeric and text columns; missing values are allowed.
    y : array-like or str
        The class of each row, or the name of its column in X. Rows without a class are ignored.
    cv : int, splitter or iterable of splits, default=10
        An integer is the number of stratified, shuffled folds. A scikit-learn splitter or an iterable of (train,
        test) indices is used as given.
    scoring : str, callable, list or mapping, optional
        One or more of "accuracy", "balanced_accuracy", "log_loss", "brier", "roc_auc", "calibration_error" and
        "coverage", names of scikit-learn scorers, or scorers. A mapping gives them names. By default the first six.
    groups : str or array-like, optional
        Column, or label of each row. Rows of one group are held out together.
    by : str or array-like, optional
        Column, or label of each row. The scores are also reported for the rows of each value.
    sample_weight : array-like, optional
        Weight of each row, used for fitting and for scoring.
    random_state : int, default=0
        Seed for assigning rows to folds.
    n_jobs : int or None, default=None
        Number of processes in which folds are fitted. -1 uses one for each processor; None uses the current process
        only. Models that merge tallies always use the current process.
    fast : bool, default=True
        Whether to merge the tallies of folds where the estimator allows it. False refits for every fold.
    name : str, optional
        Name of the learner in the output. By default the name of its class.

    Returns
    -------
    Validation
        Result with `scores`, `frame` (one row for each fold), `predictions` of all held-out rows, `by(column)` and
        `errors`.

    See Also
    --------
    leave_one_out : Hold out one row at a time.
    compare : Cross-validate many learners on the same folds.

    Notes
    -----
    A learner that abstains, such as ``RoteClassifier("abstain")``, predicts None for some rows. All scores are those
    of the other rows, and "coverage" is the proportion of these rows; it is shown if it is below 1.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, cross_validate, samples
    >>> tennis = samples.load("tennis")
    >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7, scoring=["accuracy", "brier"])
    >>> print(found.predictions.confusion())
    class  predicted No  predicted Yes     right
    No                1              4  0.2
    Yes               1              8  0.888889
    """
    check_estimator(estimator)
    check_value("random_state", random_state, NumberIn(0, whole=True))
    _check_name(name)
    fast = check_flag("fast", fast)
    data = evaluation_data(X, y, sample_weight, groups=groups)
    wanted, others = scoring_of(scoring)
    if by is not None:
        data.labels(by, X)  # an invalid column is reported before the work starts
    splits = splits_for(cv, data, groups_of(groups, data, X), random_state)
    trial = Trial(data, splits, others, fast)
    tasks = [(which, len(which)) for which in trial.parts(estimator)]
    found: dict[int, Fold] = {}
    work = over_processes(_evaluate_part, (estimator, trial), tasks, processes_of(n_jobs), progress.counter())
    for which, part in work:
        found.update(zip(which, part, strict=True))
    folds = [found[f] for f in sorted(found)]
    if all(fold.predictions is None for fold in folds):
        raise folds[0].error or TableError("cv has no folds; at least one is needed.")
    label = name or type(estimator).__name__
    failed = [i for i, fold in enumerate(folds) if fold.error is not None]
    if failed:
        more = f" and in {len(failed) - 1:,} other{'s' * (len(failed) > 2)}" * (len(failed) > 1)
        warn(f"{label} failed in fold {failed[0] + 1:,} of {len(folds):,}{more}: {folds[failed[0]].error}")
    return Validation(label, tuple(folds), wanted, data, X, by)


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
    """Predict each row by a model fitted on all other rows.

    For naive Bayes with distributions that have a closed leave-one-out form, and for discriminants of complete rows,
    the predictions of all rows are computed at once from the tallies of the full table. Other models that are fitted
    by counting forget one row at a time. All remaining models are refitted for every row.

    Parameters
    ----------
    estimator : estimator
        A classifier of this package, or any scikit-learn compatible classifier.
    X : any table
        Nominal, numeric and text columns; missing values are allowed.
    y : array-like or str
        The class of each row, or the name of its column in X. Rows without a class are ignored.
    scoring : str or list of str, optional
        See `cross_validate`. Scikit-learn scorers are not allowed: they cannot score a single row.
    by : str or array-like, optional
        Column, or label of each row. The scores are also reported for the rows of each value.
    sample_weight : array-like, optional
        Weight of each row. A row of weight n is held out as a whole.
    n_jobs : int or None, default=None
        Number of processes for models that are refitted for every row; see `cross_validate`.
    name : str, optional
        Name of the learner in the output. By default the name of its class.

    Returns
    -------
    Validation
        Result with a single fold that contains the leave-one-out prediction of every row.

    See Also
    --------
    cross_validate : Hold out whole folds.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, leave_one_out, samples
    >>> tennis = samples.load("tennis")
    >>> found = leave_one_out(NaiveBayesClassifier(), tennis.X, tennis.y)
    >>> round(found.predictions.accuracy, 4), round(found.predictions.log_loss, 4)
    (0.5, 0.7459)
    """
    check_estimator(estimator)
    _check_name(name)
    data = evaluation_data(X, y, sample_weight)
    wanted, others = scoring_of(scoring)
    if len(data) < 2:
        raise TooFewRows(f"Leave-one-out needs at least two rows with a class; there are {len(data)}.")
    if others:
        raise OptionError(
            f"Leave-one-out cannot use {listed(others)}: a scikit-learn scorer cannot score a single row.",
            hint=f"use one or more of {listed(NAMED_SCORES)}.",
        )
    if by is not None:
        data.labels(by, X)
    every, start = np.arange(len(data)), time.perf_counter()
    if not adds_up(estimator, data):
        rows = every if data.rows.kept is None else data.rows.kept
        splits = [(np.delete(rows, i), rows[i : i + 1]) for i in every]
        refit = cross_validate(
            estimator, X, y, cv=splits, scoring=scoring, sample_weight=sample_weight, n_jobs=n_jobs, name=name
        )
        whole = Fitted(None, sum(f.fitted.seconds for f in refit.folds), "fitting")
        fold = Fold(
            every, refit._places, whole, refit.predictions, refit.baseline, 0.0
        )  # rows that failed are missing
        return Validation(refit.name, (fold,), wanted, data, X, by)
    with progress.quiet():
        model = estimator._tally_rows(data.source)
        model._estimate_or_wait(allow_incomplete=False)
    found, label = leave_one_out_predictions(model, data), name or type(estimator).__name__
    if found.errors:
        first, error = next(iter(found.errors.items()))
        if not len(found.rows):
            raise error
        n_more = len(found.errors) - 1
        more = f" and without each of {n_more:,} other row{'s' * (n_more > 1)}" * (n_more > 0)
        warn(f"{label} failed without row {first:,}{more}: {error}")
    whole = Fitted(model, time.perf_counter() - start, "leaving out")
    fold = Fold(every, found.rows, whole, found.predictions, leave_one_out_baseline(data).take(found.rows), 0.0)
    return Validation(label, (fold,), wanted, data, X, by)


def _check_name(name: Any) -> None:
    if not (name is None or isinstance(name, str)):
        raise OptionError(f"name must be a string, not {name!r}.")


def check_estimator(estimator: Any) -> None:
    """Raise an error unless the estimator can be fitted and cloned."""
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise OptionError(
            f"estimator must have the methods fit and get_params, but {estimator!r} does not.",
            hint="pass an instance of an estimator.",
        )


def scoring_of(scoring: Any, what: str = "scoring") -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the names of the scores, and the scikit-learn scorers among them by name."""
    given: Any = SCORES if scoring is None else scoring
    given = [given] if isinstance(given, str) or callable(given) else given
    if isinstance(given, Mapping):
        pairs: list[tuple[str | None, Any]] = [(str(name), one) for name, one in given.items()]
    elif isinstance(given, Iterable):
        pairs = [(None, one) for one in given]
    else:
        raise OptionError(
            f"{what} must be a score, a list or a mapping of scores, not {given!r}.",
            hint=f"use one or more of {listed(NAMED_SCORES)}.",
        )
    found: dict[str, Any] = {}
    for name, one in pairs:
        label = name or (one if isinstance(one, str) else _name_of(one))
        while label in found and not isinstance(one, str):  # two scorers with the same name
            label = f"{label}_"
        found[label] = None if isinstance(one, str) and one == label and label in NAMED_SCORES else _scorer(one, what)
    if not found:
        raise OptionError(
            f"{what} is empty; at least one score is needed.", hint=f"use one or more of {listed(NAMED_SCORES)}."
        )
    return tuple(found), {name: scorer for name, scorer in found.items() if scorer is not None}


def one_score(scoring: Any, what: str = "scoring") -> tuple[str, dict[str, Any]]:
    """Return the name of a single score, and its scorer if it is one of scikit-learn."""
    names, others = scoring_of("accuracy" if scoring is None else scoring, what)
    if len(names) > 1:
        raise OptionError(f"{what} takes one score, not {len(names)}: {listed(names)}.")
    return names[0], others


def _name_of(scorer: Any) -> str:
    """Return the name of the function that a scorer calls."""
    called = getattr(scorer, "_score_func", scorer)
    return str(getattr(called, "__name__", type(called).__name__))


def _scorer(one: Any, what: str) -> Any:
    from sklearn.metrics import get_scorer, get_scorer_names

    if callable(one):
        return one
    if not isinstance(one, str) or one not in get_scorer_names():
        raise OptionError(
            f"{what} must be the name of a score or a scorer, not {one!r}.",
            hint=did_you_mean(one, [*NAMED_SCORES, *get_scorer_names()]) or f"use one of {listed(NAMED_SCORES)}.",
        )
    return get_scorer(one)


def splits_for(cv: Any, data: EvaluationData, groups: Any = None, seed: Any = 0) -> list[tuple[Indices, Indices]]:
    """Return the indices of the training rows and of the test rows of each fold."""
    n, kept = len(data), data.rows.kept
    if hasattr(cv, "split") and not isinstance(cv, str):
        try:
            splits = splits_of(list(cv.split(np.empty((n, 1)), data.rows.y, groups)), n, lambda: np.arange(n))
        except TypeError as error:
            raise OptionError(f"The splitter {type(cv).__name__} cannot split the table: {error}") from None
        except ValueError as error:
            if groups is None and "groups" in str(error):
                message = f"{type(cv).__name__} needs groups."
                raise OptionError(message, hint="pass a column or labels: groups='name'.") from None
            raise
    elif kept is not None and isinstance(cv, Iterable) and not isinstance(cv, str):
        given = int(data.n_given)
        where = np.full(given, -1, dtype=np.int64)  # the indices refer to rows of the user's table
        where[kept] = np.arange(n)
        splits = [
            (where[a][where[a] >= 0], where[b][where[b] >= 0]) for a, b in splits_of(cv, given, lambda: np.arange(n))
        ]
    else:
        n_groups = n if groups is None else int(groups.max(initial=-1)) + 1
        if groups is not None and isinstance(cv, int | np.integer) and n_groups < cv:
            raise TooFewRows(f"{n_groups} groups cannot be split into {cv} folds.", hint=f"use cv <= {n_groups}.")
        splits = splits_of(cv, n, lambda: np.arange(n) if groups is None else groups, data.codes, seed)
    return [(np.asarray(train, dtype=np.int64), np.asarray(test, dtype=np.int64)) for train, test in splits]


def groups_of(groups: Any, data: EvaluationData, X: Any) -> Indices | None:
    """Return the code of each row's group; rows without a group form one more group."""
    if groups is None:
        return None
    labels = data.labels(groups, X, "groups").tolist()
    places = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([places[label] for label in labels], dtype=np.int64)


def evaluate_fold(
    model: Fitted, data: EvaluationData, train: Indices, test: Indices, others: dict[str, Callable[..., float]]
) -> Fold:
    """Predict and score the test rows by the model of the training rows."""
    held = data.subset(test)
    blank = Predictions(data.classes, held.codes, np.zeros((len(test), len(data.classes))), None, held.weights)
    weights = None if data.weights is None else data.weights[train]
    base = blank.majority(np.bincount(data.codes[train], weights))
    start, predictions, error, extra = time.perf_counter(), None, model.error, {}
    took = 0.0
    if model.model is not None:
        try:
            predictions = predict_rows(model.model, held)
            took = time.perf_counter() - start
            known = (
                held if predictions.decided is predictions else held.subset(np.flatnonzero(predictions.answered >= 0))
            )
            with progress.quiet():
                for name, scorer in others.items():
                    extra[name] = np.nan
                    if len(known):
                        extra[name] = scored(scorer, model.model, known.table, known.y, known.weights)
        except Exception as reason:
            predictions, error = None, reason
    return Fold(train, test, model, predictions, base, took, extra, error)
