"""The result of a cross-validation, and the paired test of two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._cached import lazy
from countwise._typing import Floats, Indices
from countwise.base.predictions import COVERAGE, NAMED_SCORES, Predictions, bounds, greater
from countwise.errors import OptionError, did_you_mean, listed
from countwise.evaluation.costs import costs_of
from countwise.evaluation.dataset import EvaluationData
from countwise.evaluation.fold_models import Fitted
from countwise.working import Account, Formula, Grid, Section
from countwise.working.numbers import number

__all__ = ["Fold", "PairedTest", "Validation", "mean_of", "paired_test", "scores_by"]


@dataclass(frozen=True, eq=False)
class Fold:
    """The result of one fold."""

    train: Indices  # training rows
    test: Indices  # held-out rows
    fitted: Fitted  # the model, or the error of fitting it
    predictions: Predictions | None  # predictions of the held-out rows
    baseline: Predictions  # predictions of the majority class
    seconds: float  # prediction time
    others: dict[str, float] = field(default_factory=dict)  # scores of scikit-learn scorers
    error: Exception | None = None  # the error of fitting or predicting

    def score(self, name: str) -> float:
        """Return a score by its name; NaN if the fold failed."""
        if name in self.others:
            return self.others[name]
        return float("nan") if self.predictions is None else self.predictions.score(name)


@dataclass(frozen=True, eq=False)
class Validation:
    """Predictions and scores of a learner on held-out rows; the result of `cross_validate` and `leave_one_out`.

    Parameters
    ----------
    name : str
        Name of the learner.
    folds : tuple of Fold
        The result of each fold.
    scoring : tuple of str
        Names of the scores.
    data : EvaluationData
        The rows and classes.
    X : any table, optional
        The table as the user passed it.
    groups : str or array-like, optional
        Column, or label of each row, by which `by` and the printed result break down the scores.

    Attributes
    ----------
    scores : Grid
        One row for each score: mean, 95 % confidence interval, mean of the majority class.
    frame : Grid
        One row for each fold: numbers of rows, scores, fitting and prediction times.
    predictions : Predictions
        The predictions of all held-out rows, in the order of the table.
    baseline : Predictions
        The predictions of the majority class of each training set.
    rows : ndarray of int
        The index of each predicted row in the table.
    done : list of Fold
        The folds that did not fail.
    errors : list of (int, Exception)
        The index and the exception of each fold in which the learner failed.

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
    data: EvaluationData
    X: Any = field(repr=False, default=None)
    groups: Any = field(repr=False, default=None)

    @property
    def done(self) -> list[Fold]:
        """The folds that did not fail."""
        return [fold for fold in self.folds if fold.predictions is not None]

    @property
    def errors(self) -> list[tuple[int, Exception]]:
        """The index and the exception of each fold in which the learner failed."""
        return [(i, fold.error) for i, fold in enumerate(self.folds) if fold.error is not None]

    @lazy
    def predictions(self) -> Predictions:
        """The predictions of all held-out rows, in the order of the table."""
        return self._in_order([fold.predictions for fold in self.done if fold.predictions is not None])

    @lazy
    def baseline(self) -> Predictions:
        """The predictions of the majority class of each training set."""
        return self._in_order([fold.baseline for fold in self.done])

    @property
    def _places(self) -> Indices:
        """The index of each predicted row among the evaluated rows."""
        return np.sort(np.concatenate([fold.test for fold in self.done]), kind="stable")

    @property
    def rows(self) -> Indices:
        """The index of each predicted row in the user's table."""
        kept = self.data.rows.kept
        return self._places if kept is None else np.asarray(kept[self._places], dtype=np.int64)

    @property
    def _shown(self) -> tuple[str, ...]:
        """The names of the scores, and the coverage if the learner abstains."""
        silent = COVERAGE not in self.scoring and bool(self.done) and self.predictions.coverage < 1
        return (*self.scoring, COVERAGE) if silent else self.scoring

    def _in_order(self, parts: Sequence[Predictions]) -> Predictions:
        order = np.argsort(np.concatenate([fold.test for fold in self.done]), kind="stable")
        return Predictions.joined(parts).take(order)

    def values(self, score: str) -> Floats:
        """Return a score in each fold.

        Parameters
        ----------
        score : str
            Name of the score.

        Returns
        -------
        ndarray of shape (n_folds,)
            The scores; NaN where the learner failed.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> tennis = samples.load("tennis")
        >>> cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=2).values("accuracy").shape
        (2,)
        """
        return np.array([fold.score(score) for fold in self.folds])

    def mean(self, score: str) -> float:
        """Return the mean of a score over the folds; NaN values are ignored.

        Parameters
        ----------
        score : str
            Name of the score.

        Returns
        -------
        float
            The mean; NaN if no fold has the score.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> tennis = samples.load("tennis")
        >>> round(cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7).mean("accuracy"), 4)
        0.6429
        """
        return mean_of(self.values(score))

    def interval(self, score: str, confidence: float = 0.95) -> tuple[float, float]:
        """Return a confidence interval of the mean score.

        It is a t interval over the folds. The variance is corrected for the overlap of the training sets (Nadeau &
        Bengio, 2003): s² · (1/k + n_test/n_train) for k folds. The interval is clipped to the range of the score.

        Parameters
        ----------
        score : str
            Name of the score.
        confidence : float, default=0.95
            Confidence level, between 0 and 1.

        Returns
        -------
        low, high : float
            The limits; NaN if fewer than two folds have the score, or one of the scores is infinite.

        References
        ----------
        C. Nadeau and Y. Bengio (2003). Inference for the generalization error. Machine Learning, 52, 239-281.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> birds = samples.load("penguins")
        >>> low, high = cross_validate(NaiveBayesClassifier(), birds.X, birds.y).interval("accuracy")
        >>> bool(0.9 < low < high <= 1)
        True
        """
        from scipy.special import stdtrit

        values = self.values(score)
        values = values[~np.isnan(values)]
        if len(values) < 2 or not np.isfinite(values).all():
            return float("nan"), float("nan")
        margin = float(stdtrit(len(values) - 1, 0.5 + confidence / 2)) * _standard_error(values, self.done)
        least, most = bounds(score, len(self.data.classes))
        return max(float(values.mean() - margin), least), min(float(values.mean() + margin), most)

    @property
    def frame(self) -> Grid:
        """One row for each fold: numbers of training and test rows, scores, fitting and prediction times."""
        columns: dict[str, list[Any]] = {
            "fold": list(range(1, len(self.folds) + 1)),
            "train_rows": [len(fold.train) for fold in self.folds],
            "test_rows": [len(fold.test) for fold in self.folds],
            **{score: self.values(score).tolist() for score in self._shown},
            "fit_seconds": [fold.fitted.seconds for fold in self.folds],
            "predict_seconds": [fold.seconds for fold in self.folds],
        }
        if self.errors:
            columns["error"] = ["" if fold.error is None else str(fold.error) for fold in self.folds]
        return Grid(columns)

    @property
    def scores(self) -> Grid:
        """One row for each score: mean, 95 % confidence interval (`from`, `to`), mean of the majority class.

        If the learner abstains, the scores of the majority class are those of the same rows.
        """
        ends = [self.interval(score) for score in self._shown]
        base = [
            fold.baseline.take(fold.predictions.answered >= 0) for fold in self.done if fold.predictions is not None
        ]
        known = [[one.score(s) for one in base] if s in NAMED_SCORES else [] for s in self._shown]
        return Grid(
            {
                "score": list(self._shown),
                "mean": [self.mean(score) for score in self._shown],
                "from": [low for low, _ in ends],
                "to": [high for _, high in ends],
                "majority_class": [mean_of(values) for values in known],
            }
        )

    def by(self, column: Any = None) -> Grid:
        """Return the scores of the held-out rows of each group.

        Parameters
        ----------
        column : str or array-like, optional
            Column of the table, or label of each row. By default the argument `by` of `cross_validate`.

        Returns
        -------
        Grid
            One row for each group; a score that is undefined for a group is NaN.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> tennis = samples.load("tennis")
        >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7, scoring="accuracy")
        >>> found.by("wind")["rows"]
        [6, 8]
        """
        column = self.groups if column is None else column
        if column is None:
            raise OptionError(
                "There are no groups to break down the scores by.", hint="pass a column name or labels."
            )
        labels = self.data.labels(column, self.X)[self._places]
        name = column if isinstance(column, str) else "group"
        return scores_by(self.predictions, labels, name, [s for s in self._shown if s in NAMED_SCORES])

    def cost(self, costs: Any) -> float:
        """Return the mean cost of the predictions.

        Parameters
        ----------
        costs : mapping or array-like of shape (n_classes, n_classes)
            {"fn": 5, "fp": 1}, {(true class, predicted class): cost}, or a cost matrix; see
            `countwise.evaluation.decide`.

        Returns
        -------
        float
            The mean cost of a row.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> tennis = samples.load("tennis")
        >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7)
        >>> round(found.cost({"fn": 5, "fp": 1}), 4)
        0.6429
        """
        return self.predictions.cost(costs_of(costs, self.data.classes))

    def plot(self, kind: str = "roc", ax: Any = None, *, pos_label: Any = None) -> Any:
        """Draw the predictions of the held-out rows.

        Parameters
        ----------
        kind : {'roc', 'precision_recall', 'calibration', 'confusion'}, default='roc'
            ROC curves, precision-recall curves, a calibration curve, or the confusion matrix.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.
        pos_label : class, optional
            Draw only this class. By default the second of two classes, and all of more than two. Ignored by the
            confusion matrix.

        Returns
        -------
        Display
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> tennis = samples.load("tennis")
        >>> cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7).plot("confusion").ax_.get_xlabel()
        'predicted class'
        """
        from countwise import plots

        displays: dict[str, Any] = {
            "roc": plots.ROCDisplay,
            "precision_recall": plots.PrecisionRecallDisplay,
            "calibration": plots.CalibrationDisplay,
            "confusion": plots.ConfusionDisplay,
        }
        if kind not in displays:
            raise OptionError(
                f"kind must be one of {listed(displays)}, not {kind!r}.", hint=did_you_mean(kind, displays)
            )
        options = {} if kind == "confusion" else {"name": self.name, "pos_label": pos_label}
        return displays[kind].from_answers(self.predictions, ax=ax, **options)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self._description}", "", str(self.scores)]
        zeros = self.predictions.zeros if self.done else 0
        if zeros and "log_loss" in self.scoring:
            rows = f"{zeros} row{'s' * (zeros != 1)}"
            lines += ["", f"log_loss is infinite: the true class of {rows} got probability 0."]
        silent = len(self.predictions) - len(self.predictions.decided) if self.done else 0
        if silent:
            rows = f"{silent} row{'s' * (silent != 1)}"
            lines += ["", f"The learner abstains for {rows}; the scores are those of the other rows."]
        lines += [f"Fold {i + 1} failed: {error}" for i, error in self.errors]
        lines += [] if self.groups is None else ["", str(self.by())]
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _description(self) -> str:
        n, k = f"{len(self.data):,} rows", len(self.folds)
        if k == 1 and len(self.folds[0].train) == len(self.data):
            failed = len(self.data) - len(self.folds[0].test)
            return f"leave-one-out over {n}{f'; {failed:,} failed' * (failed > 0)}"
        how = "by merging tallies" if self.folds[0].fitted.how == "adding" else "by refitting"
        return f"{k}-fold cross-validation of {n} ({how})" if k > 1 else f"one held-out fold of {n} ({how})"


def scores_by(predictions: Predictions, labels: NDArray[Any], column: str, scoring: Sequence[str]) -> Grid:
    """Return the scores of the rows of each group; a score that is undefined for a group is NaN."""
    places: dict[Any, list[int]] = {}
    for i, label in enumerate(labels.tolist()):
        places.setdefault(label, []).append(i)
    groups = sorted(places, key=lambda label: (label is None, str(type(label)), label if label is not None else 0))
    parts = [predictions.take(np.array(places[label])) for label in groups]
    columns: dict[str, list[Any]] = {
        column: ["?" if g is None else g for g in groups],
        "rows": [len(p) for p in parts],
    }
    for score in scoring:
        columns[score] = [part.score(score) for part in parts]
    return Grid(columns)


def mean_of(values: Any) -> float:
    """Return the mean of the values that are not NaN; NaN if there are none."""
    kept = np.asarray(values, dtype=np.float64)
    kept = kept[~np.isnan(kept)]
    return float(kept.mean()) if len(kept) else float("nan")


def _standard_error(values: Floats, folds: Sequence[Fold]) -> float:
    """Return the standard error of the mean over folds with overlapping training sets (Nadeau & Bengio, 2003)."""
    ratio = float(np.mean([len(fold.test) / max(len(fold.train), 1) for fold in folds]))
    return float(np.sqrt((1 / len(values) + ratio) * values.var(ddof=1)))


# -- two learners on the same folds ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Comparison of two learners on the same folds; the result of `paired_test`.

    Parameters
    ----------
    one : str
        Name of the first learner, followed by (1) if both have the same name.
    other : str
        Name of the second learner, followed by (2) if both have the same name.
    score : str
        Name of the score by which they are compared.
    difference : float
        Mean score of `one` minus mean score of `other`.
    low : float
        Lower limit of the confidence interval of the difference.
    high : float
        Upper limit of the confidence interval of the difference.
    p_value : float
        Two-sided p-value of the hypothesis that the difference is 0; NaN if no test is possible.
    n : int
        Number of folds in which both learners have a finite score.
    confidence : float, default=0.95
        Confidence level of the interval. A p-value below 1 - confidence is significant.
    folds : sequence of (int, float, float, int, int), default=()
        For each of the n folds its number, the score of each learner, and the numbers of training and test rows.

    Examples
    --------
    >>> from countwise.evaluation import PairedTest
    >>> test = PairedTest("tree", "rote", "accuracy", 0.1, -0.05, 0.25, 0.15, 10)
    >>> test.significant
    False
    >>> print(test)
    tree does not differ significantly from rote in accuracy: difference +0.1000, 95 % CI [-0.0500, +0.2500], p = 0.15
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
    folds: Sequence[tuple[int, float, float, int, int]] = field(default=(), repr=False)

    @property
    def _better(self) -> bool:
        return self.difference > 0 if greater(self.score) else self.difference < 0

    @property
    def significant(self) -> bool:
        """Whether the p-value is below 1 - confidence, or the difference is infinite."""
        return bool(np.isinf(self.difference) or self.p_value < 1 - self.confidence)

    def __str__(self) -> str:
        if np.isinf(self.difference):
            worse, best = (self.other, self.one) if self._better else (self.one, self.other)
            return f"{worse} is worse than {best} in {self.score}: its score is infinite in some folds."
        if self.n < 2:
            few = "one fold" if self.n else "no fold"
            return f"{self.one} and {self.other} have {few} in common; a test of {self.score} needs two."
        if not np.isfinite(self.p_value):
            return f"{self.one} and {self.other} cannot be compared in {self.score}."
        verb = "does not differ significantly from"
        if self.significant:
            verb = f"is significantly {'better' if self._better else 'worse'} than"
        return (
            f"{self.one} {verb} {self.other} in {self.score}: difference {self.difference:+.4f}, "
            f"{100 * self.confidence:g} % CI [{self.low:+.4f}, {self.high:+.4f}], p = {self.p_value:.3g}"
        )

    def explain(self) -> Account:
        """Return the computation of the test: the differences, their corrected standard error, t and the p-value.

        Returns
        -------
        Account
            The result as a sentence, with the computation in sections. `value` is the p-value.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, TreeClassifier, cross_validate, samples
        >>> from countwise.evaluation import paired_test
        >>> tennis = samples.load("tennis")
        >>> bayes, tree = (cross_validate(model, tennis.X, tennis.y, cv=3, scoring="accuracy")
        ...                for model in (NaiveBayesClassifier(), TreeClassifier()))
        >>> print(paired_test(bayes, tree).explain().sections[2].text(80))
        corrected standard error
          The training sets overlap, so the mean ratio of test rows to training rows is
            added to 1/k.
          Σ (test rows/training rows) = 2·(5/9) + 4/10 = 1.51111
          correction c = 1/3 + 1.51111/3 = 0.837037
          standard error = √(0.837037·0.0608333) = 0.225654
        """
        tested = len(self.folds) > 1 and np.isfinite(self.p_value)
        return Account(str(self), self.p_value, (self._of_folds(), *self._working()) if tested else ())

    def _of_folds(self) -> Section:
        """Return the scores of the first folds."""
        few = self.folds[:_MOST_FOLDS]
        number_of, one, other, train, test = (list(part) for part in zip(*few, strict=True))
        columns = {
            "fold": number_of,
            self.one: one,
            self.other: other,
            "difference d": [a - b for a, b in zip(one, other, strict=True)],
            "train": train,
            "test": test,
        }
        lines = (f"The first {len(few)} of {self.n} folds.",) if len(few) < self.n else ()
        return Section(f"{self.score} in each fold", Grid(columns), lines)

    def _working(self) -> tuple[Section, ...]:
        from scipy.special import stdtrit

        k, differences = self.n, np.array([a - b for _, a, b, _, _ in self.folds])
        mean, variance = float(differences.mean()), float(differences.var(ddof=1))
        center, squares = number(mean + 0.0), float(((differences - mean) ** 2).sum())
        terms = [number(float(d) + 0.0) for d in differences]
        deviations = [f"({term} - {center})²".replace("- -", "+ ") for term in terms]
        shares = Counter(f"{test}/{max(train, 1)}" for *_, train, test in self.folds)
        ratio = float(np.mean([test / max(train, 1) for *_, train, test in self.folds]))
        every = [share if times == 1 else f"{times}·({share})" for share, times in shares.items()]
        error = float(np.sqrt((1 / k + ratio) * variance))
        spread = (
            Formula(f"Σ d = {_sum_of(terms)} = {number(float(differences.sum()) + 0.0)}"),
            Formula(f"mean of d = {number(float(differences.sum()) + 0.0)}/{k} = {center}"),
            Formula(f"Σ (d - mean of d)² = {_sum_of(deviations)} = {number(squares)}"),
            Formula(f"variance s² = {number(squares)}/({k} - 1) = {number(variance)}"),
        )
        corrected = (
            "The training sets overlap, so the mean ratio of test rows to training rows is added to 1/k.",
            Formula(f"Σ (test rows/training rows) = {_sum_of(every)} = {number(k * ratio)}"),
            Formula(f"correction c = 1/{k} + {number(k * ratio)}/{k} = {number(1 / k + ratio)}"),
            Formula(f"standard error = √({number(1 / k + ratio)}·{number(variance)}) = {number(error)}"),
        )
        if not error > 0:
            test: tuple[str, ...] = (f"All differences are equal: p = {number(self.p_value)}.",)
        else:
            t, quantile = mean / error, float(stdtrit(k - 1, 0.5 + self.confidence / 2))
            margin = f"{number(quantile)}·{number(error)}"
            test = (
                Formula(f"t = mean of d/standard error = {center}/{number(error)} = {number(t + 0.0)}"),
                Formula(f"degrees of freedom = {k} - 1 = {k - 1}"),
                Formula(f"p = 2·P(T > {number(abs(t))}) = {number(self.p_value)}"),
                Formula(f"lower limit = {center} - {margin} = {number(self.low)}"),
                Formula(f"upper limit = {center} + {margin} = {number(self.high)}"),
            )
        level = f"{100 * self.confidence:g} %"
        return (
            Section("mean and variance of the differences d", Grid({}), spread),
            Section("corrected standard error", Grid({}), corrected),
            Section(f"t-test, and {level} confidence interval", Grid({}), test),
        )


_MOST_FOLDS, _MOST_TERMS = 20, 12


def _sum_of(terms: Sequence[str]) -> str:
    """Return a sum of signed terms; those beyond the first ones are left out."""
    shown = terms if len(terms) <= _MOST_TERMS else [*terms[:_MOST_TERMS], "…"]
    return " + ".join(shown).replace("+ -", "- ")


def paired_test(one: Validation, other: Validation, score: str = "accuracy", confidence: float = 0.95) -> PairedTest:
    """Compare two learners by the corrected resampled t-test of Nadeau and Bengio.

    The paired t-test over the k folds uses the variance s² · (1/k + n_test/n_train) of the mean difference, which
    accounts for the overlap of the training sets.

    Parameters
    ----------
    one : Validation
        Result of `cross_validate` for the first learner.
    other : Validation
        Result of `cross_validate` for the second learner, on the same folds.
    score : str, default='accuracy'
        Name of the score by which they are compared.
    confidence : float, default=0.95
        Confidence level of the interval, between 0 and 1.

    Returns
    -------
    PairedTest
        The mean difference `one` minus `other`, its confidence interval and the two-sided p-value.

    References
    ----------
    C. Nadeau and Y. Bengio (2003). Inference for the generalization error. Machine Learning, 52, 239-281.

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
    from scipy.special import stdtr, stdtrit

    for validation in (one, other):
        if not isinstance(validation, Validation):
            raise OptionError(
                f"paired_test compares two Validation objects, not {type(validation).__name__}.",
                hint="pass the results of cross_validate.",
            )
    same = len(one.folds) == len(other.folds) and all(
        np.array_equal(a.test, b.test) for a, b in zip(one.folds, other.folds, strict=True)
    )
    if not same:
        raise OptionError(
            "The learners were evaluated on different folds; a paired test needs the same ones.",
            hint="use the same cv and random_state for both.",
        )
    if not 0 < confidence < 1:
        raise OptionError(f"confidence must be between 0 and 1, not {confidence!r}.")
    first, second = (f"{one.name} (1)", f"{other.name} (2)") if one.name == other.name else (one.name, other.name)
    mine, theirs = one.values(score), other.values(score)
    finite = np.isfinite(mine) & np.isfinite(theirs)
    folds = tuple(
        (i + 1, float(mine[i]), float(theirs[i]), len(fold.train), len(fold.test))
        for i, fold in enumerate(one.folds)
        if finite[i]
    )
    made = partial(PairedTest, first, second, score, folds=folds)
    if np.isinf(mine).any() != np.isinf(theirs).any():  # one of the two means is infinite
        far = np.inf if np.isinf(mine).any() else -np.inf
        return made(far, np.nan, np.nan, np.nan, len(mine), confidence=confidence)
    with np.errstate(invalid="ignore"):
        differences = mine - theirs
    both = np.isfinite(differences)
    differences, n = differences[both], int(both.sum())
    mean = float(differences.mean()) if n else np.nan
    if n < 2:
        return made(mean, np.nan, np.nan, np.nan, n, confidence=confidence)
    error = _standard_error(differences, [fold for fold, ok in zip(one.folds, both, strict=True) if ok])
    margin = float(stdtrit(n - 1, 0.5 + confidence / 2)) * error
    p = float(2 * stdtr(n - 1, -abs(mean) / error)) if error > 0 else (1.0 if mean == 0 else 0.0)
    return made(mean, mean - margin, mean + margin, p, n, confidence=confidence)
