"""All learners that suit a table, judged on the same folds."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise._kernels.threads import thread_count
from countwise.errors import OptionError, TableError
from countwise.evaluation.answers import SCORES
from countwise.evaluation.comparison import MAJORITY, Comparison, cause, ordered
from countwise.evaluation.dependence import broken_pairs
from countwise.evaluation.fitting import fitted
from countwise.evaluation.folding import judged, scoring_of, splits_for
from countwise.evaluation.ground import Ground, ground_of
from countwise.evaluation.learning_curves import LearningCurve, learning_curve
from countwise.evaluation.suiting import Kinds, suited
from countwise.evaluation.validation import Fold, Validation

__all__ = ["compare"]

Rows = NDArray[np.int64]
Done = tuple[str, list[Fold], list[str]]

_SIZES, _REPEATS = (0.1, 0.25, 0.5, 1.0), 5
_THREADS = ("COUNTWISE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_LEAST_ROWS = 60  # below them the points of a learning curve are of a handful of rows


@dataclass(frozen=True, eq=False)
class _Trial:
    """What every learner is put to; it travels to other processes."""

    ground: Ground
    splits: list[tuple[Rows, Rows]]
    others: dict[str, Callable[..., float]]


@dataclass(slots=True)
class _SoFar:
    """What is done, which is all that Ctrl-C leaves."""

    left_out: dict[str, str]
    notes: list[tuple[str, str]]
    validations: dict[str, Validation] = field(default_factory=dict)
    curve: Any = None
    pairs: Any = None
    stopped: bool = False

    def add(self, made: Validation, told: Iterable[str]) -> None:
        """What came of a learner."""
        self.notes += [(made.name, note) for note in told]
        if made.done:
            self.validations[made.name] = made
        else:
            self.left_out[made.name] = f"it failed: {cause(made.errors[0][1])}"

    def of(self, learners: Iterable[str]) -> dict[str, Validation]:
        """Those that are done, in the order of the learners and not as they came."""
        return {name: self.validations[name] for name in learners if name in self.validations}

    def missed(self, learners: Iterable[str]) -> dict[str, str]:
        """Why others were not judged."""
        waiting = [name for name in learners if name not in self.validations and name not in self.left_out]
        return {**self.left_out, **dict.fromkeys(waiting, "stopped before it was done")}


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

    Those of the package are "naive Bayes" with its usual laws, with laws chosen column by column ("auto") and with
    kernels; "TAN"; discriminants with a shared ("LDA") and an own covariance, shrunken ("QDA"); a "C4.5 tree" and a
    "CART tree", pruned; "rules" and "one rule"; "neighbors" (their number by leave-one-out) and "PEBLS"; "Parzen",
    "prototype" and "rote". The majority class is always among them.

    What does not suit the table is named with the reason: texts where a learner takes none; more than 20,000 rows
    where it compares all of them; names that would become more than 500 numbers; texts of more than 500 rows for
    trees and rules. The limits do not hold for learners that `only` names.

    Parameters
    ----------
    X : any table
        Names, numbers, texts, gaps.
    y : array-like or str
        The class of each row, or the name of its column.
    learners : estimator, list of them, or mapping of name to estimator, optional
        Those of scikit-learn's kind to be judged too. One that takes no names or gaps is put behind a
        `NumericEncoder` and a SimpleImputer, and `notes` says so; a pipeline gets the table as it is.
    only, without : str or sequence of str, optional
        The learners to judge, or to leave out, by name.
    score : str or callable, default="accuracy"
        Who is best is told by it; see `cross_validate`.
    cv, groups, sample_weight, random_state
        See `cross_validate`.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell: {"message": "text"}.
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
    (chosen,), others = scoring_of(score if isinstance(score, str) or callable(score) else [*score][:1])
    wanted = tuple(dict.fromkeys((chosen, *SCORES)))
    trial = _Trial(ground, splits_for(cv, ground, groups, random_state), others)
    kinds = Kinds(ground, types)
    found = suited(kinds, learners, only, without)
    so_far = _SoFar(dict(found.left_out), list(found.notes.items()))
    fits = len(found.learners) * len(trial.splits) + (0 if curve is False else 2 * len(_SIZES) * _REPEATS)
    with progress.bar("Comparing", fits, unit="fits") if verbose else nullcontext():
        try:
            for name, folds, told in _judged(found.learners, trial, _processes(n_jobs)):
                so_far.add(Validation(name, tuple(folds), wanted, ground, X), told)
            names = ordered(so_far.of(found.learners), chosen)
            curved = [] if curve is False else names if curve else _worth_a_curve(names)
            with _noted():
                so_far.pairs = broken_pairs(kinds)
                so_far.curve = _curve({n: found.learners[n] for n in curved}, ground, score, random_state)
        except KeyboardInterrupt:
            so_far.stopped = True
    validations = {**so_far.of(found.learners), MAJORITY: _majority(trial, wanted, X)}
    validations = {name: validations[name] for name in ordered(validations, chosen)}
    return Comparison(
        score=chosen,
        validations=validations,
        learners={name: found.learners[name] for name in validations if name != MAJORITY},
        left_out=so_far.missed(found.learners),
        notes=[*_rare(ground, trial.splits), *_alone(kinds), *_told(so_far.notes)],
        curve=so_far.curve,
        pairs=so_far.pairs,
        partial=so_far.stopped,
    )


# -- the trial -----------------------------------------------------------------------------


def _judged(learners: Mapping[str, Any], trial: _Trial, processes: int) -> Iterator[Done]:
    """What came of each learner, as they come."""
    listener, done = progress.current(), 0

    def tell() -> None:
        nonlocal done
        done += 1
        if listener is not None:
            listener(done)

    if processes == 1 or len(learners) < 2:
        for name, learner in learners.items():
            yield _put_to(name, learner, trial, tell)
        return
    for one in _elsewhere(learners, trial, processes):
        for _ in one[1]:
            tell()
        yield one


def _put_to(name: str, learner: Any, trial: _Trial, tell: Callable[[], None]) -> Done:
    folds = []
    with _noted() as notes:
        models = fitted(learner, trial.ground, trial.splits)
        for model, (train, test) in zip(models, trial.splits, strict=True):
            fold = judged(model, trial.ground, train, test, trial.others)
            folds.append(replace(fold, fitted=replace(fold.fitted, model=None)))  # a forest a fold is a lot to keep
            tell()
    return name, folds, notes


@contextmanager
def _noted() -> Iterator[list[str]]:
    """What is warned of, once each and not once a fold."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    seen: dict[str, str] = {}
    for one in caught:
        if not issubclass(one.category, DeprecationWarning | FutureWarning | ResourceWarning):
            message = str(one.message)  # numbers differ from fold to fold: a note is the same without them
            seen.setdefault("".join(letter for letter in message if not letter.isdigit()), shorten(message, 300))
    notes += seen.values()


def _told(notes: Sequence[tuple[str, str]]) -> list[str]:
    """Each note once, with the learners that it is of."""
    names: dict[str, list[str]] = {}
    for name, message in notes:
        names.setdefault(message, []).append(name)
    return [f"{', '.join(of[:3])}{f' and {len(of) - 3} more' * (len(of) > 3)}: {m}" for m, of in names.items()]


def _elsewhere(learners: Mapping[str, Any], trial: _Trial, processes: int) -> Iterator[Done]:
    """The same in other processes, of which each has its share of the processors."""
    from concurrent.futures import as_completed

    from joblib.externals.loky import ProcessPoolExecutor  # type: ignore[import-untyped]

    processes = min(processes, len(learners))
    threads = str(max(1, thread_count() // processes))
    pool = ProcessPoolExecutor(processes, initializer=_leave_stopping, env=dict.fromkeys(_THREADS, threads))
    try:
        tasks = [pool.submit(_there, name, learner, trial) for name, learner in learners.items()]
        for task in as_completed(tasks):
            yield task.result()
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _leave_stopping() -> None:
    """Ctrl-C goes to all processes of a terminal; the one that started the others stops them."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _there(name: str, learner: Any, trial: _Trial) -> Done:
    name, folds, notes = _put_to(name, learner, trial, lambda: None)
    return name, [_portable(fold) for fold in folds], notes


def _portable(fold: Fold) -> Fold:
    """An error that does not travel goes as words."""
    try:
        pickle.loads(pickle.dumps(fold.error))  # noqa: S301 - what was written just here
    except Exception:
        told = RuntimeError(f"{type(fold.error).__name__}: {fold.error}")
        return replace(fold, error=told, fitted=replace(fold.fitted, error=None))
    return fold


def _processes(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0 or n_jobs < -1:
        raise OptionError(f"n_jobs must be a whole number of at least 1, or -1, not {n_jobs!r}.")
    return thread_count() if n_jobs == -1 else int(n_jobs)


# -- beside it -----------------------------------------------------------------------------


def _majority(trial: _Trial, wanted: tuple[str, ...], X: Any) -> Validation:
    """Whoever only knows how frequent the classes are, as if it were a learner."""
    from countwise.evaluation.fitting import Fitted

    nothing = Fitted(None, 0.0, "counting")
    folds = [judged(nothing, trial.ground, train, test, {}) for train, test in trial.splits]
    unscored = dict.fromkeys(trial.others, float("nan"))
    told = tuple(replace(fold, answers=fold.baseline, error=None, others=unscored) for fold in folds)
    return Validation(MAJORITY, told, wanted, trial.ground, X)


def _rare(ground: Ground, splits: Sequence[Any]) -> list[str]:
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


def _worth_a_curve(names: Sequence[str]) -> list[str]:
    return [name for i, name in enumerate(names) if i == 0 or name == "naive Bayes"]


def _curve(learners: Mapping[str, Any], ground: Ground, score: Any, seed: int) -> LearningCurve | None:
    if not learners or len(ground) < _LEAST_ROWS:
        return None
    return learning_curve(
        dict(learners),
        ground.rows.X,
        ground.rows.y,
        train_sizes=_SIZES,
        repeats=_REPEATS,
        scoring=score,
        sample_weight=ground.weights,
        random_state=seed,
    )
