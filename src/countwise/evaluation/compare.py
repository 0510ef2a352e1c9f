"""Comparison of all suitable learners on the same cross-validation folds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np
import scipy.special  # noqa: F401 - before the work that Ctrl-C may stop: an import that was stopped fails when repeated

from countwise import progress
from countwise.base.predictions import SCORES
from countwise.data.attributes import Nominal
from countwise.distributions.bandwidths import rows_behind
from countwise.errors import CountwiseError, NumberIn, TableError, check_flag, check_value
from countwise.evaluation.comparison import MAJORITY, Comparison, cause, grouped, ordered
from countwise.evaluation.cross_validation import Trial, evaluate_fold, groups_of, one_score, splits_for
from countwise.evaluation.dataset import EvaluationData, evaluation_data
from countwise.evaluation.fold_models import Fitted
from countwise.evaluation.learners import ColumnTypes, suited
from countwise.evaluation.learning_curve import LearningCurve, learning_curve
from countwise.evaluation.parallel import over_processes, processes_of
from countwise.evaluation.validation import Fold, Validation
from countwise.measures import chi_square_tail
from countwise.working import Grid

__all__ = ["compare"]

_SIZES, _REPEATS = (0.1, 0.25, 0.5, 1.0), 5
_ALPHA = 0.01  # familywise significance level of the independence tests (Bonferroni)
_LEAST_ROWS = 60  # with fewer rows the points of a learning curve rest on a handful of rows each


def compare(
    X: Any,
    y: Any = None,
    *,
    learners: Any = None,
    only: Any = None,
    without: Any = None,
    score: Any = "accuracy",
    cv: Any = 10,
    groups: Any = None,
    sample_weight: Any = None,
    types: Any = None,
    curve: bool | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: bool = False,
) -> Comparison:
    """Cross-validate all suitable learners on the same folds, and summarize the result in words.

    The learners of the package are "naive Bayes", "naive Bayes (auto)" (a distribution selected for each column) and
    "naive Bayes (kernel)"; "TAN"; discriminants with a pooled covariance ("LDA") and with a shrunken covariance for
    each class ("QDA"); a pruned "C4.5 tree" and "CART tree"; "rules" and "one rule"; "neighbors" (k selected by
    leave-one-out) and "PEBLS"; "Parzen", "prototype" and "rote". The majority class is always included as a baseline.

    A learner that does not suit the table is skipped, and `skipped` gives the reason:

    - LDA, QDA, "one rule", Parzen and prototype do not support text columns.
    - "naive Bayes (auto)" and "naive Bayes (kernel)" need a numeric column, TAN needs two columns that are not text.
    - Neighbors, PEBLS, Parzen, rules and the CART tree are skipped if there are more than 20,000 rows.
    - LDA and QDA are skipped if the encoded table has more than 500 columns.
    - Trees and rules are skipped if there are text columns and more than 500 rows.
    - "rote" is skipped if there are numeric or text columns, because such rows are rarely identical.

    The last four do not apply to learners requested with `only`.

    Parameters
    ----------
    X : any table
        Nominal, numeric and text columns; missing values are allowed.
    y : array-like or str
        The class of each row, or the name of its column in X.
    learners : estimator, list of estimators, or mapping of name to estimator, optional
        Additional scikit-learn compatible classifiers. A classifier that does not accept nominal columns or missing
        values is placed in a pipeline behind a `CategoricalEncoder` and a SimpleImputer, and `notes` says so. A
        pipeline receives the table unchanged.
    only : str or sequence of str, optional
        Names of the package's learners to compare. By default all of them. Those in `learners` are always compared.
    without : str or sequence of str, optional
        Names of learners to skip.
    score : str or callable, default='accuracy'
        Metric that ranks the learners; see `cross_validate`.
    cv : int, splitter or iterable of splits, default=10
        The folds, the same for all learners; see `cross_validate`.
    groups : str or array-like, optional
        Column, or label of each row. Rows of one group are held out together.
    sample_weight : array-like, optional
        Weight of each row, used for fitting and for scoring.
    types : mapping of column to type, str or Schema, optional
        Column types where the dtypes are not enough, such as {"message": "text"}.
    curve : bool or None, default=None
        True computes learning curves of all learners, False none, and None those of the best learner and of naive
        Bayes. Tables of fewer than 60 rows get none.
    n_jobs : int or None, default=None
        Number of processes. -1 uses one for each processor; None uses the current process only. The numbers are the
        same for any value.
    random_state : int, default=0
        Seed for assigning rows to folds.
    verbose : bool, default=False
        Whether to show a progress bar with the remaining time on standard error.

    Returns
    -------
    Comparison
        Result with `table`, `verdict`, `validations`, `curve`, `pairs` and `skipped`. After Ctrl-C it contains the
        learners finished so far, and `partial` is True.

    Notes
    -----
    The score of the best of many learners is optimistic: among equally good learners, one ranks first by chance. The
    paired test against the best shows which of the other learners may be equally good.

    Examples
    --------
    >>> from countwise import compare, samples
    >>> penguins = samples.load("penguins")
    >>> found = compare(penguins.X, penguins.y, only=["naive Bayes", "LDA", "one rule"], curve=False)
    >>> found.table["learner"]
    ['LDA', 'naive Bayes', 'one rule', 'majority class']
    >>> found.validations["LDA"].mean("accuracy") == found.table["accuracy"][0]
    True
    """
    check_value("random_state", random_state, NumberIn(0, whole=True))
    verbose = check_flag("verbose", verbose)
    data = evaluation_data(X, y, sample_weight, groups=groups)
    if len(data.classes) < 2:
        raise TableError(
            f"All rows belong to one class, {data.classes[0]!r}; a comparison needs at least two classes."
        )
    chosen, others = one_score(score, "score")
    wanted = tuple(dict.fromkeys((chosen, *SCORES)))
    together = groups_of(groups, data, X)
    trial = Trial(data, splits_for(cv, data, together, random_state), others)
    columns = ColumnTypes(data, types)
    found = suited(columns, learners, only, without)
    skipped, notes = dict(found.skipped), list(found.notes.items())
    # the results so far are kept when Ctrl-C interrupts the work
    done: dict[str, Validation] = {}
    curves: LearningCurve | None = None
    pairs: Grid | None = None
    stopped, few = False, len(data) < _LEAST_ROWS
    n_curves = 0 if curve is False or few else len(found.learners) if curve else 2
    fits = len(found.learners) * len(trial.splits) + n_curves * len(_SIZES) * _REPEATS
    processes = processes_of(n_jobs)
    with progress.bar("Comparing", fits, unit="fits") if verbose else nullcontext():
        try:
            for name, folds, warned in _evaluated(found.learners, trial, processes):
                made = Validation(name, tuple(folds), wanted, data, X)
                notes += [(name, note) for note in warned]
                if made.done:
                    done[name] = made
                else:
                    skipped[name] = f"it failed: {cause(made.errors[0][1])}"
            done = {name: done[name] for name in found.learners if name in done}  # processes finish in any order
            names = [] if curve is False or few else ordered(done, chosen)
            curved = {n: found.learners[n] for i, n in enumerate(names) if curve or i == 0 or n == "naive Bayes"}
            with _caught_warnings():
                pairs = dependent_pairs(columns)
                if curved:
                    curves = learning_curve(
                        curved, data.rows.X, data.rows.y, train_sizes=_SIZES, repeats=_REPEATS, scoring=score,
                        groups=together, sample_weight=data.weights, random_state=random_state, n_jobs=n_jobs,
                    )  # fmt: skip
        except KeyboardInterrupt:
            stopped = True
    waiting = [name for name in found.learners if name not in done and name not in skipped]
    done = {**{name: done[name] for name in found.learners if name in done}, MAJORITY: _majority(trial, wanted, X)}
    validations = {name: done[name] for name in ordered(done, chosen)}
    return Comparison(
        score=chosen,
        validations=validations,
        learners={name: found.learners[name] for name in validations if name != MAJORITY},
        skipped={**skipped, **dict.fromkeys(waiting, "interrupted before it finished")},
        notes=[*_rare(data, trial.splits), *_identifiers(columns), *_by_note(notes)],
        curve=curves,
        pairs=pairs,
        partial=stopped,
    )


# -- cross-validation of all learners ------------------------------------------------------


def _evaluated(
    learners: Mapping[str, Any], trial: Trial, processes: int
) -> Iterator[tuple[str, list[Fold], list[str]]]:
    """Yield the name, the folds and the warnings of each learner, in the order in which they finish."""
    tasks = [((name, which), len(which)) for name, learner in learners.items() for which in trial.parts(learner)]
    folds: dict[str, dict[int, Fold]] = {name: {} for name in learners}
    notes: dict[str, list[str]] = {name: [] for name in learners}
    work = over_processes(_evaluate_task, (learners, trial), tasks, processes, progress.counter())
    for (name, which), (found, warned) in work:
        folds[name].update(zip(which, found, strict=True))
        notes[name] += warned
        if len(folds[name]) == len(trial.splits):
            yield name, [folds[name][f] for f in range(len(trial.splits))], _once(notes[name])


def _evaluate_task(
    shared: tuple[Mapping[str, Any], Trial], task: tuple[str, Sequence[int]], advance: Callable[[], None]
) -> tuple[list[Fold], list[str]]:
    learners, trial = shared
    name, which = task
    with _caught_warnings() as notes:
        folds = trial.folds(learners[name], which, advance)
    # fitted models are dropped: a forest for each fold takes much memory
    return [replace(fold, fitted=replace(fold.fitted, model=None)) for fold in folds], notes


@contextmanager
def _caught_warnings() -> Iterator[list[str]]:
    """Collect warnings, each once instead of once for every fold."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    ignored = (DeprecationWarning, FutureWarning, ResourceWarning)
    notes += _once(str(one.message) for one in caught if not issubclass(one.category, ignored))


def _once(messages: Iterable[str]) -> list[str]:
    """Drop repeated messages; two messages that differ only in their digits count as one."""
    seen: dict[str, str] = {}
    for message in messages:
        seen.setdefault("".join(letter for letter in message if not letter.isdigit()), shorten(message, 300))
    return list(seen.values())


def _by_note(notes: Sequence[tuple[str, str]]) -> list[str]:
    """List each note once, preceded by the learners that it applies to."""
    by_message = grouped(notes)
    return [f"{', '.join(of[:3])}{f' and {len(of) - 3} more' * (len(of) > 3)}: {m}" for m, of in by_message.items()]


# -- baseline and notes --------------------------------------------------------------------


def _majority(trial: Trial, wanted: tuple[str, ...], X: Any) -> Validation:
    """Evaluate the majority class, which predicts the class frequencies, as if it were a learner."""
    nothing = Fitted(None, 0.0, "counting")
    folds = [evaluate_fold(nothing, trial.data, train, test, {}) for train, test in trial.splits]
    unscored = dict.fromkeys(trial.others, float("nan"))
    predicted = tuple(replace(fold, predictions=fold.baseline, error=None, others=unscored) for fold in folds)
    return Validation(MAJORITY, predicted, wanted, trial.data, X)


def _rare(data: EvaluationData, splits: Sequence[Any]) -> list[str]:
    counts = np.bincount(data.codes, minlength=len(data.classes)).tolist()
    few = [f"{c!r} ({n})" for c, n in zip(data.classes, counts, strict=True) if n < len(splits)]
    if not few:
        return []
    rare = f"{', '.join(few[:5])}{f' and {len(few) - 5} more' * (len(few) > 5)}"
    return [f"classes with fewer rows than the {len(splits)} folds: {rare}; some folds hold out none of their rows"]


def _identifiers(columns: ColumnTypes) -> list[str]:
    n = len(columns.data)
    looks = [a.name for a in columns.nominal if n >= 100 and len(a.values) > 0.9 * n]
    return [f"nearly every row has a different value of {name!r}: drop it, or declare it as text" for name in looks]


# -- conditional dependence of attributes given the class -----------------------------------


def dependent_pairs(columns: ColumnTypes) -> Grid | None:
    """Return the conditional mutual information of each pair of attributes given the class, in bits, largest first.

    The estimate is positive even for independent attributes: `by_chance` is its expected value under independence,
    and `significant` is the result of a likelihood-ratio (G) test with Bonferroni correction. Return None if there
    are fewer than two attributes, or if no network can be learned.
    """
    from countwise.network.classifier import BayesNetworkClassifier

    data = columns.data
    if len(columns.nominal) + len(columns.numeric) < 2:
        return None
    try:
        model = BayesNetworkClassifier("tan", types=columns.types)
        information = model.fit(data.rows.X, data.rows.y, sample_weight=data.weights).conditional_mi_
    except CountwiseError:
        return None
    pairs = list(zip(information["one"], information["other"], strict=True))
    names = {name for pair in pairs for name in pair}  # each column is encoded once, not once for every pair
    seen, observed = {name: columns.seen(name) for name in names}, {name: columns.observed(name) for name in names}
    free = [_freedom(seen[a], seen[b], len(data.classes)) for a, b in pairs]
    both = [observed[a] & observed[b] for a, b in pairs]
    # weights that are not counts are converted to the effective number of rows
    rows = [float(mask.sum()) if data.weights is None else rows_behind(data.weights[mask]) for mask in both]
    chance = [df / (2 * n * math.log(2)) if n > 0 else math.nan for df, n in zip(free, rows, strict=True)]
    every = zip(information["bits"], free, rows, strict=True)
    significant = [df > 0 and n > 0 and _is_significant(bits, df, n, len(free)) for bits, df, n in every]
    return Grid(
        {
            "one": information["one"],
            "other": information["other"],
            "bits": information["bits"],
            "by_chance": chance,
            "significant": significant,
        }
    )


def _freedom(a: Any, b: Any, n_classes: int) -> int:
    """Return the degrees of freedom of a dependence: slopes, Gaussian parameters, or cells of a table, per class."""
    values = [max(len(x.values) - 1, 0) for x in (a, b) if isinstance(x, Nominal)]
    return n_classes * math.prod(values) * (2 if len(values) == 1 else 1)


def _is_significant(bits: float, df: int, n: float, pairs: int) -> bool:
    return bool(np.isfinite(bits) and chi_square_tail(2 * math.log(2) * n * bits, df) < _ALPHA / max(pairs, 1))
