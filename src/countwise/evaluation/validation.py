"""Cross-validation: every row answered by a model that did not learn from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise.errors import OptionError, TableError, TooFewRows, did_you_mean, listed, warn
from countwise.evaluation.answers import GREATER, SCORES, Answers, majority
from countwise.evaluation.deciding import costs_of
from countwise.evaluation.fitting import Fitted, adds_up, answers_of, fitted
from countwise.evaluation.ground import Ground, ground_of
from countwise.evaluation.leaving import answers_without, baseline_without
from countwise.folds import splits_of
from countwise.lazy import lazy
from countwise.working import Grid

__all__ = [
    "Fold",
    "Paired",
    "Validation",
    "cross_validate",
    "leave_one_out",
    "paired",
    "scores_by",
    "scoring_of",
    "splits_for",
]

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fold:
    """What came of one fold.

    Parameters
    ----------
    train, test : ndarray of int
        The rows learned from and held out.
    fitted : Fitted
        The model, or why there is none.
    answers : Answers or None
        To the rows held out.
    baseline : Answers
        Those of the majority class.
    seconds : float
        What answering took.
    others : dict of str to float
        Scores by scikit-learn's scorers.
    error : Exception or None
        What was raised while fitting or answering.
    """

    train: Rows
    test: Rows
    fitted: Fitted
    answers: Answers | None
    baseline: Answers
    seconds: float
    others: dict[str, float] = field(default_factory=dict)
    error: Exception | None = None

    def score(self, name: str) -> float:
        """A score; NaN if the fold has no answers."""
        if name in self.others:
            return self.others[name]
        return float("nan") if self.answers is None else self.answers.score(name)


@dataclass(frozen=True, eq=False)
class Validation:
    """How good a learner was on rows that it did not learn from.

    Parameters
    ----------
    name : str
        The learner.
    folds : tuple of Fold
    scoring : tuple of str
        The scores.
    ground : Ground
        The table.
    X : any table
        As the user gave it.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, cross_validate, samples
    >>> tennis = samples.load("tennis")
    >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7, scoring="accuracy")
    >>> round(found.mean("accuracy"), 4), found.cost({"fn": 5, "fp": 1}) == (5 + 4) / 14
    (0.6429, True)
    """

    name: str
    folds: tuple[Fold, ...]
    scoring: tuple[str, ...]
    ground: Ground
    X: Any = field(repr=False, default=None)

    @property
    def done(self) -> list[Fold]:
        """The folds that have answers."""
        return [fold for fold in self.folds if fold.answers is not None]

    @property
    def errors(self) -> list[tuple[int, Exception]]:
        """The folds in which the learner failed, and how."""
        return [(i, fold.error) for i, fold in enumerate(self.folds) if fold.error is not None]

    @lazy
    def answers(self) -> Answers:
        """The answers to all rows held out, in the order of the table where each was held out once."""
        return self._in_order([fold.answers for fold in self.done if fold.answers is not None])

    @lazy
    def baseline(self) -> Answers:
        """Those of the majority class."""
        return self._in_order([fold.baseline for fold in self.done])

    @property
    def rows(self) -> Rows:
        """The row of the table that each answer is of."""
        return np.sort(np.concatenate([fold.test for fold in self.done]), kind="stable")

    def _in_order(self, parts: Sequence[Answers]) -> Answers:
        order = np.argsort(np.concatenate([fold.test for fold in self.done]), kind="stable")
        return Answers.joined(parts).take(order)

    def values(self, score: str) -> NDArray[np.float64]:
        """A score in each fold; NaN where the learner failed."""
        return np.array([fold.score(score) for fold in self.folds])

    def mean(self, score: str) -> float:
        """The mean of a score over the folds that have one."""
        values = self.values(score)
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else float("nan")

    def interval(self, score: str, confidence: float = 0.95) -> tuple[float, float]:
        """Where the mean of a score would lie, other rows given.

        The variance is that of the folds, corrected for the rows that their training sets share (Nadeau and Bengio).
        """
        from scipy.stats import t

        values = self.values(score)
        values = values[~np.isnan(values)]
        if len(values) < 2 or not np.isfinite(values).all():
            return float("nan"), float("nan")
        reach = float(t.ppf(0.5 + confidence / 2, len(values) - 1)) * _error(values, self.done)
        return float(values.mean() - reach), float(values.mean() + reach)

    @property
    def frame(self) -> Grid:
        """A row for each fold."""
        columns: dict[str, list[Any]] = {
            "fold": list(range(1, len(self.folds) + 1)),
            "learned_from": [len(fold.train) for fold in self.folds],
            "held_out": [len(fold.test) for fold in self.folds],
            **{score: self.values(score).tolist() for score in self.scoring},
            "fit_seconds": [fold.fitted.seconds for fold in self.folds],
            "answer_seconds": [fold.seconds for fold in self.folds],
        }
        if self.errors:
            columns["error"] = ["" if fold.error is None else str(fold.error) for fold in self.folds]
        return Grid(columns)

    @property
    def scores(self) -> Grid:
        """A row for each score: its mean, where it would lie by other rows, and that of the majority class."""
        ends = [self.interval(score) for score in self.scoring]
        base = [
            _mean([fold.baseline.score(s) for fold in self.done]) if s in SCORES else float("nan")
            for s in self.scoring
        ]
        return Grid(
            {
                "score": list(self.scoring),
                "mean": [self.mean(score) for score in self.scoring],
                "from": [low for low, _ in ends],
                "to": [high for _, high in ends],
                "majority_class": base,
            }
        )

    def by(self, column: str) -> Grid:
        """The scores of the rows of each group.

        Parameters
        ----------
        column : str
            The column whose values are the groups; learners need not have seen it.
        """
        labels = self.ground.column(column, self.X)[self.rows]
        return scores_by(self.answers, labels, column, [s for s in self.scoring if s in SCORES])

    def cost(self, costs: Any) -> float:
        """The mean cost of the answers.

        Parameters
        ----------
        costs : mapping or array
            {"fn": 5, "fp": 1}, {(class, answer): cost}, or a table with a row for each class.
        """
        return self.answers.cost(costs_of(costs, self.ground.classes))

    def plot(self, kind: str = "roc", ax: Any = None) -> Any:
        """Draw the answers to the rows held out.

        Parameters
        ----------
        kind : {"roc", "precision_recall", "calibration", "confusion"}, default="roc"
        ax : matplotlib Axes, optional

        Returns
        -------
        Display
        """
        from countwise import plots

        displays: dict[str, Any] = {
            "roc": plots.ROCDisplay,
            "precision_recall": plots.PrecisionRecallDisplay,
            "calibration": plots.CalibrationDisplay,
        }
        if kind == "confusion":
            return plots.ConfusionDisplay.from_answers(self.answers, ax=ax)
        if kind not in displays:
            known = [*displays, "confusion"]
            raise OptionError(
                f"kind={kind!r} is unknown.", hint=did_you_mean(kind, known) or f"give {listed(known)}."
            )
        return displays[kind].from_answers(self.answers, name=self.name, ax=ax)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self._told}", "", str(self.scores)]
        zeros = self.answers.zeros if self.done else 0
        if zeros and "log_loss" in self.scoring:
            lines += ["", f"log_loss is infinite: the class of {zeros} row{'s' * (zeros != 1)} got probability 0."]
        lines += [f"Fold {i + 1} failed: {error}" for i, error in self.errors]
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _told(self) -> str:
        n, k = f"{len(self.ground):,} rows", len(self.folds)
        if k == 1 and len(self.folds[0].test) == len(self.ground):
            return f"each of {n} left out in turn"
        how = "each counted once" if self.folds[0].fitted.how == "adding" else "fitted anew for each"
        return f"{k} folds of {n}, {how}"


def scores_by(answers: Answers, labels: NDArray[Any], column: str, scoring: Sequence[str]) -> Grid:
    """The scores of the rows of each group; a score that a group cannot have is NaN."""
    places: dict[Any, list[int]] = {}
    for i, label in enumerate(labels.tolist()):
        places.setdefault(label, []).append(i)
    groups = sorted(places, key=lambda label: (label is None, str(type(label)), label if label is not None else 0))
    parts = [answers.take(np.array(places[label])) for label in groups]
    columns: dict[str, list[Any]] = {
        column: ["?" if g is None else g for g in groups],
        "rows": [len(p) for p in parts],
    }
    for score in scoring:
        columns[score] = [part.score(score) for part in parts]
    return Grid(columns)


def _mean(values: Sequence[float]) -> float:
    kept = [v for v in values if not np.isnan(v)]
    return float(np.mean(kept)) if kept else float("nan")


def _error(values: NDArray[np.float64], folds: Sequence[Fold]) -> float:
    """The standard error of the mean over folds whose training sets overlap."""
    share = float(np.mean([len(fold.test) / max(len(fold.train), 1) for fold in folds]))
    return float(np.sqrt((1 / len(values) + share) * values.var(ddof=1)))


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 10,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
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
    sample_weight : array-like, optional
        A weight for each row, in learning and in scores.
    random_state : int, default=0
        Deals differently.
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
    splits = splits_for(cv, ground, groups, random_state)
    listener, folds = progress.current(), []
    for done, (model, (train, test)) in enumerate(
        zip(fitted(estimator, ground, splits, fast=fast), splits, strict=True)
    ):
        folds.append(judged(model, ground, train, test, others))
        if listener is not None:
            listener(done + 1)
    if all(fold.answers is None for fold in folds):
        raise folds[0].error or TableError("There is no fold.")
    told = name or type(estimator).__name__
    for i, fold in enumerate(folds):
        if fold.error is not None:
            warn(f"{told} failed in fold {i + 1} of {len(folds)}: {fold.error}")
    return Validation(told, tuple(folds), wanted, ground, X)


def leave_one_out(
    estimator: Any, X: Any, y: Any = None, *, scoring: Any = None, sample_weight: Any = None, name: str | None = None
) -> Validation:
    """Judge a learner on each row in turn, learned from all others.

    Of a naive Bayes of categorical, Bernoulli, Gaussian and Poisson laws all rows are answered at once: what is left
    out changes one entry of each tally. Other models that learn by counting take the row back; others are fitted
    anew.

    Parameters
    ----------
    estimator, X, y, scoring, sample_weight, name
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
    every, start = np.arange(len(ground)), time.perf_counter()
    if not adds_up(estimator):
        splits = [(np.delete(every, i), every[i : i + 1]) for i in every]
        found = cross_validate(estimator, X, y, cv=splits, scoring=scoring, sample_weight=sample_weight, name=name)
        whole = Fitted(None, sum(f.fitted.seconds for f in found.folds), "fitting")
        return Validation(
            found.name, (Fold(every, every, whole, found.answers, found.baseline, 0.0),), wanted, ground, X
        )
    with progress.quiet():
        model = estimator._counted(ground.piece(every).source)
        model._settle_or_wait(patient=False)
    answers = answers_without(model, ground)
    whole = Fitted(model, time.perf_counter() - start, "leaving out")
    fold = Fold(every, every, whole, answers, baseline_without(ground), 0.0)
    return Validation(name or type(estimator).__name__, (fold,), wanted, ground, X)


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


@dataclass(frozen=True, slots=True)
class Paired:
    """Two learners on the same folds.

    Parameters
    ----------
    one, other : str
        The learners.
    score : str
        By which they are compared.
    difference : float
        The mean of one less that of the other.
    low, high : float
        Where it would lie by other rows, with 95 % confidence.
    p_value : float
        How likely such a difference would be if there were none.
    n : int
        Folds.

    Examples
    --------
    >>> from countwise import Paired
    >>> print(Paired("tree", "rote", "accuracy", 0.1, -0.05, 0.25, 0.15, 10))
    tree is not told apart from rote by accuracy: difference +0.1000, 95 % interval -0.0500 to +0.2500, p = 0.15
    """

    one: str
    other: str
    score: str
    difference: float
    low: float
    high: float
    p_value: float
    n: int

    def __str__(self) -> str:
        better = self.difference > 0 if self.score in GREATER else self.difference < 0
        if not np.isfinite(self.p_value):
            return f"{self.one} and {self.other} cannot be told apart by {self.score}."
        sure = "is better than" if better else "is worse than"
        verb = sure if self.p_value < 0.05 else "is not told apart from"
        return (
            f"{self.one} {verb} {self.other} by {self.score}: difference {self.difference:+.4f}, "
            f"95 % interval {self.low:+.4f} to {self.high:+.4f}, p = {self.p_value:.3g}"
        )


def paired(one: Validation, other: Validation, score: str = "accuracy", confidence: float = 0.95) -> Paired:
    """Compare two learners by a resampled t-test, corrected for rows that the training sets share.

    Parameters
    ----------
    one, other : Validation
        Of the same folds.
    score : str, default="accuracy"
        By which they are compared.
    confidence : float, default=0.95
        Of the interval.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, TreeClassifier, cross_validate, paired, samples
    >>> credit = samples.load("credit")
    >>> bayes, tree = (cross_validate(m, credit.X, credit.y, scoring="accuracy")
    ...                for m in (NaiveBayesClassifier(), TreeClassifier(max_depth=2)))
    >>> paired(bayes, tree).p_value < 0.05
    True
    """
    from scipy.stats import t

    same = len(one.folds) == len(other.folds) and all(
        np.array_equal(a.test, b.test) for a, b in zip(one.folds, other.folds, strict=True)
    )
    if not same:
        raise OptionError("The learners were judged on different folds.", hint="give both the same cv.")
    gaps = one.values(score) - other.values(score)
    both = np.isfinite(gaps)
    gaps, n = gaps[both], int(both.sum())
    if n < 2:
        return Paired(one.name, other.name, score, float(gaps.mean()) if n else np.nan, np.nan, np.nan, np.nan, n)
    mean, spread = float(gaps.mean()), _error(gaps, [f for f, ok in zip(one.folds, both, strict=True) if ok])
    reach = float(t.ppf(0.5 + confidence / 2, n - 1)) * spread
    p = float(2 * t.sf(abs(mean) / spread, n - 1)) if spread > 0 else (1.0 if mean == 0 else 0.0)
    return Paired(one.name, other.name, score, mean, mean - reach, mean + reach, p, n)
