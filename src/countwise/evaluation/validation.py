"""What came of judging a learner: its answers to rows that it did not learn from, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Floats, Indices
from countwise.base.predictions import SCORES, Predictions, bounds
from countwise.errors import OptionError, did_you_mean, listed
from countwise.evaluation.costs import costs_of
from countwise.evaluation.dataset import EvaluationData
from countwise.evaluation.fold_models import Fitted
from countwise.working import Grid

__all__ = ["Fold", "Validation", "scores_by", "standard_error"]


@dataclass(frozen=True, eq=False)
class Fold:
    """What came of one fold.

    Parameters
    ----------
    train, test : ndarray of int
        The rows learned from and held out.
    fitted : Fitted
        The model, or why there is none.
    answers : Predictions or None
        To the rows held out.
    baseline : Predictions
        Those of the majority class.
    seconds : float
        What answering took.
    others : dict of str to float
        Scores by scikit-learn's scorers.
    error : Exception or None
        What was raised while fitting or answering.
    """

    train: Indices
    test: Indices
    fitted: Fitted
    answers: Predictions | None
    baseline: Predictions
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
        values = self.values(score)
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else float("nan")

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
        reach = float(t.ppf(0.5 + confidence / 2, len(values) - 1)) * standard_error(values, self.done)
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
        }
        if kind == "confusion":
            return plots.ConfusionDisplay.from_answers(self.answers, ax=ax)
        if kind not in displays:
            known = [*displays, "confusion"]
            raise OptionError(
                f"kind={kind!r} is unknown.", hint=did_you_mean(kind, known) or f"give {listed(known)}."
            )
        return displays[kind].from_answers(self.answers, name=self.name, pos_label=pos_label, ax=ax)

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


def _mean(values: Sequence[float]) -> float:
    kept = [v for v in values if not np.isnan(v)]
    return float(np.mean(kept)) if kept else float("nan")


def standard_error(values: Floats, folds: Sequence[Fold]) -> float:
    """The standard error of the mean over folds whose training sets overlap."""
    share = float(np.mean([len(fold.test) / max(len(fold.train), 1) for fold in folds]))
    return float(np.sqrt((1 / len(values) + share) * values.var(ddof=1)))
