"""All learners that suit a table, judged on the same folds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from textwrap import shorten
from typing import Any

import numpy as np

from countwise import progress
from countwise.base.predictions import SCORES
from countwise.data.attributes import Nominal
from countwise.distributions.bandwidths import rows_behind
from countwise.errors import CountwiseError, TableError
from countwise.evaluation.comparison import MAJORITY, Comparison, cause, grouped, ordered
from countwise.evaluation.cross_validation import Trial, groups_of, judged, one_score, splits_for
from countwise.evaluation.dataset import EvaluationData, ground_of
from countwise.evaluation.fold_models import Fitted
from countwise.evaluation.learners import Kinds, suited
from countwise.evaluation.learning_curve import LearningCurve, learning_curve
from countwise.evaluation.parallel import over_processes, processes_of
from countwise.evaluation.validation import Fold, Validation
from countwise.working import Grid

__all__ = ["compare"]

_SIZES, _REPEATS = (0.1, 0.25, 0.5, 1.0), 5
_SURE = 0.01  # the chance, over all pairs together, of calling dependent what is not
_LEAST_ROWS = 60  # below them the points of a learning curve are of a handful of rows


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
    """Judge all learners that suit a table on the same folds, and say in words what came of it.

    Those of the package are "naive Bayes" with its usual distributions, with distributions chosen for each column
    ("auto") and with kernels; "TAN"; discriminants with a shared ("LDA") and an own covariance, shrunken ("QDA"); a
    "C4.5 tree" and a "CART tree", pruned; "rules" and "one rule"; "neighbors" (their number by leave-one-out) and
    "PEBLS"; "Parzen", "prototype" and "rote". The majority class is always among them.

    What does not suit the table is named with the reason: texts where a learner takes none; more than 20,000 rows
    where it compares all of them; nominal columns that would become more than 500 numbers; texts of more than 500
    rows for trees and rules. The limits do not hold for learners that `only` names.

    Parameters
    ----------
    X : any table
        Nominal, numeric and text columns, with missing values.
    y : array-like or str
        The class of each row, or the name of its column.
    learners : estimator, list of them, or mapping of name to estimator, optional
        More learners, of scikit-learn's kind. One that takes no nominal columns or missing values is put behind a
        `CategoricalEncoder` and a SimpleImputer, and `notes` says so; a pipeline gets the table as it is.
    only, without : str or sequence of str, optional
        The learners of the package to judge, beside those given, or learners to leave out, by name.
    score : str or callable, default="accuracy"
        Metric used to rank the learners; see `cross_validate`.
    cv, groups, sample_weight, random_state
        See `cross_validate`.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not say: {"message": "text"}.
    curve : bool, optional
        Learning curves of all learners, or of none; by default of the best one and of naive Bayes.
    n_jobs : int, optional
        Learners are judged in so many processes, which share the processors; -1 is one for each. By default in this
        one. The numbers are the same.
    verbose : bool, default=False
        Whether a bar with the time left is shown on the standard error.

    Returns
    -------
    Comparison
        `table`, `verdict`, `validations`, `curve`, `pairs`, `left_out`. After Ctrl-C it holds what was done until
        then, and `partial` is true.

    Notes
    -----
    Of many learners that are equally good one is best by chance: its score is a little better than it will be on
    other rows. The test against the best says which of the others may be as good.

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
    ground = ground_of(X, y, sample_weight)
    if len(ground.classes) < 2:
        raise TableError(f"All rows are of one class, {ground.classes[0]!r}: there is nothing to tell apart.")
    chosen, others = one_score(score, "score")
    wanted = tuple(dict.fromkeys((chosen, *SCORES)))
    together = groups_of(groups, ground, X)
    trial = Trial(ground, splits_for(cv, ground, together, random_state), others)
    kinds = Kinds(ground, types)
    found = suited(kinds, learners, only, without)
    left_out, notes = dict(found.left_out), list(found.notes.items())
    # what is done, which is all that Ctrl-C leaves
    done: dict[str, Validation] = {}
    curves: LearningCurve | None = None
    pairs: Grid | None = None
    stopped, few = False, len(ground) < _LEAST_ROWS
    n_curves = 0 if curve is False or few else len(found.learners) if curve else 2
    fits = len(found.learners) * len(trial.splits) + n_curves * len(_SIZES) * _REPEATS
    processes = processes_of(n_jobs)
    with progress.bar("Comparing", fits, unit="fits") if verbose else nullcontext():
        try:
            for name, folds, told in _judged(found.learners, trial, processes):
                made = Validation(name, tuple(folds), wanted, ground, X)
                notes += [(name, note) for note in told]
                if made.done:
                    done[name] = made
                else:
                    left_out[name] = f"it failed: {cause(made.errors[0][1])}"
            done = {name: done[name] for name in found.learners if name in done}  # not as they came
            names = [] if curve is False or few else ordered(done, chosen)
            curved = {n: found.learners[n] for i, n in enumerate(names) if curve or i == 0 or n == "naive Bayes"}
            with _noted():
                pairs = broken_pairs(kinds)
                if curved:
                    curves = learning_curve(
                        curved, ground.rows.X, ground.rows.y, train_sizes=_SIZES, repeats=_REPEATS, scoring=score,
                        groups=together, sample_weight=ground.weights, random_state=random_state, n_jobs=n_jobs,
                    )  # fmt: skip
        except KeyboardInterrupt:
            stopped = True
    waiting = [name for name in found.learners if name not in done and name not in left_out]
    done = {**{name: done[name] for name in found.learners if name in done}, MAJORITY: _majority(trial, wanted, X)}
    validations = {name: done[name] for name in ordered(done, chosen)}
    return Comparison(
        score=chosen,
        validations=validations,
        learners={name: found.learners[name] for name in validations if name != MAJORITY},
        left_out={**left_out, **dict.fromkeys(waiting, "stopped before it was done")},
        notes=[*_rare(ground, trial.splits), *_alone(kinds), *_told(notes)],
        curve=curves,
        pairs=pairs,
        partial=stopped,
    )


# -- the trial -----------------------------------------------------------------------------


def _judged(learners: Mapping[str, Any], trial: Trial, processes: int) -> Iterator[tuple[str, list[Fold], list[str]]]:
    """What came of each learner, as they come."""
    tasks = [((name, which), len(which)) for name, learner in learners.items() for which in trial.parts(learner)]
    folds: dict[str, dict[int, Fold]] = {name: {} for name in learners}
    notes: dict[str, list[str]] = {name: [] for name in learners}
    work = over_processes(_put_to, (learners, trial), tasks, processes, progress.counter())
    for (name, which), (found, told) in work:
        folds[name].update(zip(which, found, strict=True))
        notes[name] += told
        if len(folds[name]) == len(trial.splits):
            yield name, [folds[name][f] for f in range(len(trial.splits))], _once(notes[name])


def _put_to(
    shared: tuple[Mapping[str, Any], Trial], task: tuple[str, Sequence[int]], tell: Callable[[], None]
) -> tuple[list[Fold], list[str]]:
    learners, trial = shared
    name, which = task
    with _noted() as notes:
        folds = trial.folds(learners[name], which, tell)
    # a forest a fold is a lot to keep
    return [replace(fold, fitted=replace(fold.fitted, model=None)) for fold in folds], notes


@contextmanager
def _noted() -> Iterator[list[str]]:
    """What is warned of, once each and not once a fold."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    kinds = (DeprecationWarning, FutureWarning, ResourceWarning)
    notes += _once(str(one.message) for one in caught if not issubclass(one.category, kinds))


def _once(messages: Iterable[str]) -> list[str]:
    """Each message once: numbers differ from fold to fold, and it is the same without them."""
    seen: dict[str, str] = {}
    for message in messages:
        seen.setdefault("".join(letter for letter in message if not letter.isdigit()), shorten(message, 300))
    return list(seen.values())


def _told(notes: Sequence[tuple[str, str]]) -> list[str]:
    """Each note once, with the learners that it is of."""
    by_message = grouped(notes)
    return [f"{', '.join(of[:3])}{f' and {len(of) - 3} more' * (len(of) > 3)}: {m}" for m, of in by_message.items()]


# -- beside it -----------------------------------------------------------------------------


def _majority(trial: Trial, wanted: tuple[str, ...], X: Any) -> Validation:
    """Whoever only knows how frequent the classes are, as if it were a learner."""
    nothing = Fitted(None, 0.0, "counting")
    folds = [judged(nothing, trial.ground, train, test, {}) for train, test in trial.splits]
    unscored = dict.fromkeys(trial.others, float("nan"))
    told = tuple(replace(fold, answers=fold.baseline, error=None, others=unscored) for fold in folds)
    return Validation(MAJORITY, told, wanted, trial.ground, X)


def _rare(ground: EvaluationData, splits: Sequence[Any]) -> list[str]:
    counts = np.bincount(ground.codes, minlength=len(ground.classes)).tolist()
    few = [f"{c!r} ({n})" for c, n in zip(ground.classes, counts, strict=True) if n < len(splits)]
    if not few:
        return []
    told = f"{', '.join(few[:5])}{f' and {len(few) - 5} more' * (len(few) > 5)}"
    return [f"classes of fewer rows than the {len(splits)} folds: {told}; some folds hold none of them out"]


def _alone(kinds: Kinds) -> list[str]:
    n = len(kinds.ground)
    looks = [a.name for a in kinds.names if n >= 100 and len(a.values) > 0.9 * n]
    return [f"nearly every row has its own value of {name!r}: leave it out, or declare it as text" for name in looks]


# -- attributes that depend on each other within the classes --------------------------------


def broken_pairs(kinds: Kinds) -> Grid | None:
    """Conditional mutual information of each two attributes given the class, in bits, the most first.

    Bits are never below 0, and chance alone makes them some: `by_chance` says how many they would be on average if
    the two were independent, and `breaks` whether they are more than that explains. None if there are no two
    attributes, or no network can be learned.
    """
    from countwise.network.classifier import BayesNetworkClassifier

    ground = kinds.ground
    if len(kinds.names) + len(kinds.numbers) < 2:
        return None
    try:
        model = BayesNetworkClassifier("tan", types=kinds.types)
        told = model.fit(ground.rows.X, ground.rows.y, sample_weight=ground.weights).conditional_mi_
    except CountwiseError:
        return None
    pairs = list(zip(told["one"], told["other"], strict=True))
    names = {name for pair in pairs for name in pair}  # each column is looked at once, and not with every other
    met, there = {name: kinds.met(name) for name in names}, {name: kinds.there(name) for name in names}
    free = [_freedom(met[a], met[b], len(ground.classes)) for a, b in pairs]
    both = [there[a] & there[b] for a, b in pairs]
    # of weights that are no copies, the number of rows alike
    rows = [float(mask.sum()) if ground.weights is None else rows_behind(ground.weights[mask]) for mask in both]
    chance = [df / (2 * n * math.log(2)) if n > 0 else math.nan for df, n in zip(free, rows, strict=True)]
    every = zip(told["bits"], free, rows, strict=True)
    breaks = [df > 0 and n > 0 and _surprising(bits, df, n, len(free)) for bits, df, n in every]
    return Grid(
        {"one": told["one"], "other": told["other"], "bits": told["bits"], "by_chance": chance, "breaks": breaks}
    )


def _freedom(a: Any, b: Any, n_classes: int) -> int:
    """How many parameters a dependence has: a slope for each class, two of a Gaussian for each value, or a table."""
    values = [max(len(x.values) - 1, 0) for x in (a, b) if isinstance(x, Nominal)]
    return n_classes * math.prod(values) * (2 if len(values) == 1 else 1)


def _surprising(bits: float, df: int, n: float, pairs: int) -> bool:
    from scipy.stats import chi2

    return bool(np.isfinite(bits) and chi2.sf(2 * math.log(2) * n * bits, df) < _SURE / max(pairs, 1))
