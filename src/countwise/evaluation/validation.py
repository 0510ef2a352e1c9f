"""What came of judging a learner: its answers to rows that it did not learn from, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Floats, Indices
from countwise.base.predictions import SCORES, Predictions, bounds, greater
from countwise.errors import OptionError, did_you_mean, listed
from countwise.evaluation.costs import costs_of
from countwise.evaluation.dataset import EvaluationData
from countwise.evaluation.fold_models import Fitted
from countwise.working import Grid

__all__ = ["Fold", "PairedTest", "Validation", "mean_of", "paired_test", "scores_by"]


@dataclass(frozen=True, eq=False)
class Fold:
    """What came of one fold."""

    train: Indices  # rows learned from
    test: Indices  # rows held out
    fitted: Fitted  # the model, or why there is none
    answers: Predictions | None  # to the rows held out
    baseline: Predictions  # those of the majority class
    seconds: float  # what answering took
    others: dict[str, float] = field(default_factory=dict)  # scores by scikit-learn's scorers
    error: Exception | None = None  # what was raised while fitting or answering

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
    ground : EvaluationData
        The table.
    X : any table
        As the user gave it.
    groups : str or array-like, optional
        By which groups scores are told.

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
    ground: EvaluationData
    X: Any = field(repr=False, default=None)
    groups: Any = field(repr=False, default=None)

    @property
    def done(self) -> list[Fold]:
        """The folds that have answers."""
        return [fold for fold in self.folds if fold.answers is not None]

    @property
    def errors(self) -> list[tuple[int, Exception]]:
        """The folds in which the learner failed, and how."""
        return [(i, fold.error) for i, fold in enumerate(self.folds) if fold.error is not None]

    @lazy
    def answers(self) -> Predictions:
        """The answers to all rows held out, in the order of the table where each was held out once."""
        return self._in_order([fold.answers for fold in self.done if fold.answers is not None])

    @lazy
    def baseline(self) -> Predictions:
        """Those of the majority class."""
        return self._in_order([fold.baseline for fold in self.done])

    @property
    def _places(self) -> Indices:
        """Which of the rows judged each answer is of."""
        return np.sort(np.concatenate([fold.test for fold in self.done]), kind="stable")

    @property
    def rows(self) -> Indices:
        """The row of the user's table that each answer is of."""
        kept = self.ground.rows.kept
        return self._places if kept is None else np.asarray(kept[self._places], dtype=np.int64)

    def _in_order(self, parts: Sequence[Predictions]) -> Predictions:
        order = np.argsort(np.concatenate([fold.test for fold in self.done]), kind="stable")
        return Predictions.joined(parts).take(order)

    def values(self, score: str) -> Floats:
        """A score in each fold; NaN where the learner failed."""
        return np.array([fold.score(score) for fold in self.folds])

    def mean(self, score: str) -> float:
        """The mean of a score over the folds that have one."""
        return mean_of(self.values(score))

    def interval(self, score: str, confidence: float = 0.95) -> tuple[float, float]:
        """Where the mean of a score would lie, other rows given.

        The variance is that of the folds, corrected for the rows that their training sets share (Nadeau and Bengio);
        what no score can be is cut off.
        """
        from scipy.stats import t

        values = self.values(score)
        values = values[~np.isnan(values)]
        if len(values) < 2 or not np.isfinite(values).all():
            return float("nan"), float("nan")
        reach = float(t.ppf(0.5 + confidence / 2, len(values) - 1)) * _standard_error(values, self.done)
        least, most = bounds(score, len(self.ground.classes))
        return max(float(values.mean() - reach), least), min(float(values.mean() + reach), most)

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
        known = [[fold.baseline.score(s) for fold in self.done] if s in SCORES else [] for s in self.scoring]
        return Grid(
            {
                "score": list(self.scoring),
                "mean": [self.mean(score) for score in self.scoring],
                "from": [low for low, _ in ends],
                "to": [high for _, high in ends],
                "majority_class": [mean_of(values) for values in known],
            }
        )

    def by(self, column: Any = None) -> Grid:
        """The scores of the rows of each group.

        Parameters
        ----------
        column : str or array-like, optional
            The column whose values are the groups, which learners need not have seen, or the group of each row; by
            default what `cross_validate` was given.
        """
        column = self.groups if column is None else column
        if column is None:
            raise OptionError("There are no groups.", hint="name a column.")
        labels = self.ground.labels(column, self.X)[self._places]
        name = column if isinstance(column, str) else "group"
        return scores_by(self.answers, labels, name, [s for s in self.scoring if s in SCORES])

    def cost(self, costs: Any) -> float:
        """The mean cost of the answers.

        Parameters
        ----------
        costs : mapping or array
            {"fn": 5, "fp": 1}, {(class, answer): cost}, or a table with a row for each class.
        """
        return self.answers.cost(costs_of(costs, self.ground.classes))

    def plot(self, kind: str = "roc", ax: Any = None, *, pos_label: Any = None) -> Any:
        """Draw the answers to the rows held out.

        Parameters
        ----------
        kind : {"roc", "precision_recall", "calibration", "confusion"}, default="roc"
        ax : matplotlib Axes, optional
        pos_label : class, optional
            Draw this class alone; of two classes the second by default.

        Returns
        -------
        Display
        """
        from countwise import plots

        displays: dict[str, Any] = {
            "roc": plots.ROCDisplay,
            "precision_recall": plots.PrecisionRecallDisplay,
            "calibration": plots.CalibrationDisplay,
            "confusion": plots.ConfusionDisplay,
        }
        if kind not in displays:
            hint = did_you_mean(kind, displays) or f"give {listed(displays)}."
            raise OptionError(f"kind={kind!r} is unknown.", hint=hint)
        options = {} if kind == "confusion" else {"name": self.name, "pos_label": pos_label}
        return displays[kind].from_answers(self.answers, ax=ax, **options)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self._told}", "", str(self.scores)]
        zeros = self.answers.zeros if self.done else 0
        if zeros and "log_loss" in self.scoring:
            lines += ["", f"log_loss is infinite: the class of {zeros} row{'s' * (zeros != 1)} got probability 0."]
        lines += [f"Fold {i + 1} failed: {error}" for i, error in self.errors]
        lines += [] if self.groups is None else ["", str(self.by())]
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _told(self) -> str:
        n, k = f"{len(self.ground):,} rows", len(self.folds)
        if k == 1 and len(self.folds[0].train) == len(self.ground):
            failed = len(self.ground) - len(self.folds[0].test)
            return f"each of {n} left out in turn{f'; it failed at {failed:,}' * (failed > 0)}"
        how = "each counted once" if self.folds[0].fitted.how == "adding" else "fitted anew for each"
        return f"{k} fold{'s' * (k != 1)} of {n}, {how}"


def scores_by(answers: Predictions, labels: NDArray[Any], column: str, scoring: Sequence[str]) -> Grid:
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


def mean_of(values: Any) -> float:
    """The mean of those that are there; NaN if none is."""
    kept = np.asarray(values, dtype=np.float64)
    kept = kept[~np.isnan(kept)]
    return float(kept.mean()) if len(kept) else float("nan")


def _standard_error(values: Floats, folds: Sequence[Fold]) -> float:
    """The standard error of the mean over folds whose training sets overlap."""
    share = float(np.mean([len(fold.test) / max(len(fold.train), 1) for fold in folds]))
    return float(np.sqrt((1 / len(values) + share) * values.var(ddof=1)))


# -- two learners on the same folds ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairedTest:
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
        Where it would lie by other rows, with that confidence.
    p_value : float
        How likely such a difference would be if there were none.
    n : int
        Folds.
    confidence : float, default=0.95
        Of the interval.

    Examples
    --------
    >>> from countwise.evaluation import PairedTest
    >>> print(PairedTest("tree", "rote", "accuracy", 0.1, -0.05, 0.25, 0.15, 10))
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
    confidence: float = 0.95

    @property
    def _better(self) -> bool:
        return self.difference > 0 if greater(self.score) else self.difference < 0

    @property
    def told_apart(self) -> bool:
        """Whether the difference is more than chance, or beyond all measure."""
        return bool(np.isinf(self.difference) or self.p_value < 1 - self.confidence)

    def __str__(self) -> str:
        if np.isinf(self.difference):
            worse, best = (self.other, self.one) if self._better else (self.one, self.other)
            return f"{worse} is infinitely worse than {best} by {self.score}: in some folds it is infinite."
        if self.n < 2:
            few = "one fold" if self.n else "no fold"
            return f"{self.one} and {self.other} have {few} in common: there is no test by {self.score}."
        if not np.isfinite(self.p_value):
            return f"{self.one} and {self.other} cannot be told apart by {self.score}."
        sure = "better than" if self._better else "worse than"
        verb = f"is {sure if self.told_apart else 'not told apart from'}"
        return (
            f"{self.one} {verb} {self.other} by {self.score}: difference {self.difference:+.4f}, "
            f"{100 * self.confidence:g} % interval {self.low:+.4f} to {self.high:+.4f}, p = {self.p_value:.3g}"
        )


def paired_test(one: Validation, other: Validation, score: str = "accuracy", confidence: float = 0.95) -> PairedTest:
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
    >>> from countwise import NaiveBayesClassifier, TreeClassifier, cross_validate, samples
    >>> from countwise.evaluation import paired_test
    >>> credit = samples.load("credit")
    >>> bayes, tree = (cross_validate(m, credit.X, credit.y, scoring="accuracy")
    ...                for m in (NaiveBayesClassifier(), TreeClassifier(max_depth=2)))
    >>> paired_test(bayes, tree).p_value < 0.05
    True
    """
    from scipy.stats import t

    for validation in (one, other):
        if not isinstance(validation, Validation):
            raise OptionError(f"{type(validation).__name__} was not judged.", hint="give what cross_validate found.")
    same = len(one.folds) == len(other.folds) and all(
        np.array_equal(a.test, b.test) for a, b in zip(one.folds, other.folds, strict=True)
    )
    if not same:
        raise OptionError("The learners were judged on different folds.", hint="give both the same cv.")
    if not 0 < confidence < 1:
        raise OptionError(f"confidence must lie between 0 and 1, not {confidence!r}.")
    made = partial(PairedTest, one.name, other.name, score)
    mine, theirs = one.values(score), other.values(score)
    if np.isinf(mine).any() != np.isinf(theirs).any():  # one mean is infinite: no number of other folds outweighs it
        far = np.inf if np.isinf(mine).any() else -np.inf
        return made(far, np.nan, np.nan, np.nan, len(mine), confidence)
    with np.errstate(invalid="ignore"):
        gaps = mine - theirs
    both = np.isfinite(gaps)
    gaps, n = gaps[both], int(both.sum())
    if n < 2:
        mean = float(gaps.mean()) if n else np.nan
        return made(mean, np.nan, np.nan, np.nan, n, confidence)
    mean, spread = float(gaps.mean()), _standard_error(gaps, [f for f, ok in zip(one.folds, both, strict=True) if ok])
    reach = float(t.ppf(0.5 + confidence / 2, n - 1)) * spread
    p = float(2 * t.sf(abs(mean) / spread, n - 1)) if spread > 0 else (1.0 if mean == 0 else 0.0)
    return made(mean, mean - reach, mean + reach, p, n, confidence)
