"""Displays of ROC curves, precision-recall curves and calibration curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.predictions import Predictions
from countwise.errors import NumberIn, OptionError, check_value, did_you_mean, listed
from countwise.measures import area, average_precision, by_range, precision_recall_points, roc_points
from countwise.plots.displays import PredictionDisplay, line
from countwise.plots.style import QUIET, SOFT

__all__ = ["CalibrationDisplay", "PrecisionRecallDisplay", "ROCDisplay"]

_MOST = 10  # lines in one plot


class _ByClass(PredictionDisplay):
    """One-vs-rest curves of all classes; with two classes, the curve of the positive class."""

    summary: ClassVar[str]  # name of the number in the legend
    _axes: ClassVar[tuple[str, str]]
    _legend: ClassVar[str]  # its location
    _chance: ClassVar[bool] = False  # whether to draw the diagonal
    _style: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, curves: Mapping[Any, tuple[Floats, Floats]], numbers: Mapping[Any, float], *, name: Any = None
    ):
        self.curves, self.numbers, self.name = dict(curves), dict(numbers), name

    @staticmethod
    def _work(score: Floats, positive: NDArray[Any], weight: Floats) -> tuple[tuple[Floats, Floats], float]:
        raise NotImplementedError

    @classmethod
    def from_answers(
        cls, answers: Predictions, *, pos_label: Any = None, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw a `Predictions` object, such as the attribute `predictions` of the result of `cross_validate`.

        Parameters
        ----------
        answers : Predictions
            The predictions, with the true classes.
        pos_label : class, optional
            Draw only this class. By default the second of two classes, and all of more than two.
        name : str, optional
            Name of the learner in the legend.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        Display
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> from countwise.plots import ROCDisplay
        >>> tennis = samples.load("tennis")
        >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7)
        >>> ROCDisplay.from_answers(found.predictions).ax_.get_xlabel()
        'false positive rate'
        """
        answers = answers.decided
        cls._refuse_without_proba(answers, name)
        classes = list(answers.classes)
        which = [_class(classes, pos_label)] if pos_label is not None or len(classes) == 2 else range(len(classes))
        curves, numbers = {}, {}
        for c in which:
            curves[classes[c]], numbers[classes[c]] = cls._work(
                answers.proba[:, c], answers.codes == c, answers.weight
            )
        return cls(curves, numbers, name=name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones. Curves of several learners can share axes.

        Returns
        -------
        self
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise.plots import ROCDisplay
        >>> one = ROCDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5], name="one")
        >>> other = ROCDisplay.from_predictions([0, 1, 1, 0], [0.3, 0.8, 0.6, 0.2], name="other", ax=one.ax_)
        >>> one.plot(other.ax_).ax_.get_ylabel()
        'true positive rate'
        """
        ax = self._place(ax, (5.2, 4.8))
        if self._chance and not any(one.get_gid() == "chance" for one in ax.lines):
            ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1, zorder=0, gid="chance")
        kept = sorted(self.curves, key=lambda c: np.isnan(self.numbers[c]))[:_MOST]
        before = _curves_on(ax)
        for i, c in enumerate(kept):
            x, y = self.curves[c]
            ax.plot(x, y, label=self._label(c), gid="curve", **line(before + i, len(x)), **self._style)
        if len(self.curves) > len(kept):
            ax.plot([], [], " ", label=f"and {len(self.curves) - len(kept)} more classes")
        return self._labeled(*self._axes, self._legend, square=True)

    def _label(self, c: Any) -> str:
        number = self.numbers[c]
        value = f"{self.summary} {number:.3f}" if not np.isnan(number) else f"{self.summary} undefined"
        label = f"{self.name}: {c}" if len(self.curves) == 1 and self.name else str(c)
        return f"{label} ({value})"


class ROCDisplay(_ByClass):
    """ROC curve of the positive class, or one-vs-rest ROC curves of more than two classes.

    Parameters
    ----------
    curves : mapping of class to (false positive rates, true positive rates)
        The points of each curve.
    numbers : mapping of class to float
        The area under each curve; NaN where it is undefined.
    name : str, optional
        Name of the learner in the legend.

    Attributes
    ----------
    roc_auc : dict of class to float
        The area under the curve of each class.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.plots import ROCDisplay
    >>> birds = samples.load("penguins")
    >>> shown = ROCDisplay.from_estimator(NaiveBayesClassifier().fit(birds.X, birds.y), birds.X, birds.y)
    >>> {c: round(value, 3) for c, value in shown.roc_auc.items()}
    {'Adelie': 0.998, 'Chinstrap': 0.997, 'Gentoo': 1.0}
    """

    summary, _legend, _chance = "AUC", "lower right", True
    _axes = ("false positive rate", "true positive rate")

    @property
    def roc_auc(self) -> dict[Any, float]:
        """The area under the curve of each class."""
        return self.numbers

    @staticmethod
    def _work(score: Floats, positive: NDArray[Any], weight: Floats) -> tuple[tuple[Floats, Floats], float]:
        return roc_points(score, positive, weight)[:2], area(score, positive, weight)


class PrecisionRecallDisplay(_ByClass):
    """Precision-recall curve of the positive class, or one-vs-rest curves of more than two classes.

    Parameters
    ----------
    curves : mapping of class to (recalls, precisions)
        The points of each curve.
    numbers : mapping of class to float
        The average precision of each class; NaN where it is undefined.
    name : str, optional
        Name of the learner in the legend.

    Attributes
    ----------
    average_precision : dict of class to float
        The average precision of each class.
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from countwise.plots import PrecisionRecallDisplay
    >>> PrecisionRecallDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5]).average_precision
    {1: 0.8333333333333333}
    """

    summary, _legend = "AP", "lower left"
    _axes = ("recall", "precision")
    _style: ClassVar[dict[str, Any]] = {"drawstyle": "steps-pre"}  # points are in descending order of recall

    @property
    def average_precision(self) -> dict[Any, float]:
        """The average precision of each class."""
        return self.numbers

    @staticmethod
    def _work(score: Floats, positive: NDArray[Any], weight: Floats) -> tuple[tuple[Floats, Floats], float]:
        precision, recall, _ = precision_recall_points(score, positive, weight)
        return (recall, precision), average_precision(score, positive, weight)


class CalibrationDisplay(PredictionDisplay):
    """Calibration curve (reliability diagram): observed proportion of a class against its predicted probability.

    Bars at the bottom show the number of rows in each bin.

    Parameters
    ----------
    prob_true : ndarray
        Observed proportion in each bin that has rows.
    prob_pred : ndarray
        Mean predicted probability in each of these bins.
    counts : ndarray
        Number of rows in each of these bins.
    n_bins : int, default=10
        Number of bins of equal width, including empty ones.
    name : str, optional
        Name of the learner in the legend.
    of : str, default='the predicted class'
        The class of the probability, for the label of the x axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from countwise.plots import CalibrationDisplay
    >>> shown = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.15, 0.7, 0.9], n_bins=2)
    >>> shown.prob_true.tolist(), shown.prob_pred.tolist(), shown.counts.tolist()
    ([0.0, 1.0], [0.125, 0.8], [2.0, 2.0])
    """

    def __init__(
        self, prob_true: Floats, prob_pred: Floats, counts: Floats, *, n_bins: int = 10, name: Any = None,
        of: str = "the predicted class",
    ) -> None:  # fmt: skip
        self.prob_true, self.prob_pred, self.counts = prob_true, prob_pred, counts
        self.n_bins, self.name, self.of = n_bins, name, of

    @classmethod
    def from_answers(
        cls, answers: Predictions, *, n_bins: int = 10, pos_label: Any = None, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw a `Predictions` object, such as the attribute `predictions` of the result of `cross_validate`.

        Parameters
        ----------
        answers : Predictions
            The predictions, with the true classes.
        n_bins : int, default=10
            Number of bins of equal width.
        pos_label : class, optional
            The class whose probability is drawn. By default the second of two classes; with more than two, the
            predicted class of each row.
        name : str, optional
            Name of the learner in the legend.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        CalibrationDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> from countwise.plots import CalibrationDisplay
        >>> tennis = samples.load("tennis")
        >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7)
        >>> CalibrationDisplay.from_answers(found.predictions).ax_.get_xlabel()
        'probability of Yes'
        """
        check_value("n_bins", n_bins, NumberIn(1, whole=True))
        answers = answers.decided
        cls._refuse_without_proba(answers, name)
        classes = list(answers.classes)
        if pos_label is None and len(classes) != 2:
            p = answers.proba[np.arange(len(answers.codes)), answers.answered]
            right, of = answers.answered == answers.codes, "the predicted class"
        else:
            c = _class(classes, pos_label)
            p, right, of = answers.proba[:, c], answers.codes == c, str(classes[c])
        rows, predicted, true = by_range(p, right, answers.weight, n_bins)
        kept = rows > 0
        return cls(true[kept], predicted[kept], rows[kept], n_bins=n_bins, name=name, of=of).plot(ax)

    def plot(self, ax: Any = None, *, counts: bool = True) -> Self:
        """Draw the calibration curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones. Curves of several learners can share axes.
        counts : bool, default=True
            Whether to draw bars with the number of rows in each bin. On shared axes only the first curve has bars.

        Returns
        -------
        self
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise.plots import CalibrationDisplay
        >>> shown = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.15, 0.7, 0.9], n_bins=2)
        >>> shown.plot(counts=False).ax_.get_ylabel()
        'observed proportion'
        """
        ax = self._place(ax, (5.2, 4.8))
        before = _curves_on(ax)
        if not before:
            ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1, zorder=0)
            if counts:
                self._bars(ax)
        ax.plot(self.prob_pred, self.prob_true, label=self.name or "probabilities", gid="curve", clip_on=False,
                zorder=3, **line(before, len(self.counts), most=20))  # fmt: skip
        x = f"probability of {self.of}"
        return self._labeled(x, "observed proportion", "upper left", square=True)

    def _bars(self, ax: Any) -> None:
        """Draw the number of rows in each bin as small labeled bars."""
        at = (np.ceil(self.prob_pred * self.n_bins).clip(1, self.n_bins) - 0.5) / self.n_bins
        high = 0.14 * self.counts / max(float(self.counts.max()), 1e-300)
        ax.bar(at, high, 0.85 / self.n_bins, color="#e4e8ee", edgecolor=SOFT, linewidth=0.6, zorder=0)
        for x, top, n in zip(at, high, self.counts, strict=True) if self.n_bins <= 20 else ():
            ax.annotate(f"{n:.12g}" if n < 1e5 else f"{n:.2g}", (x, top), (0, 1.5), textcoords="offset points",
                        ha="center", fontsize=6.5, color=QUIET, zorder=1)  # fmt: skip


def _class(classes: list[Any], label: Any) -> int:
    if label is None:
        return 1
    names = [str(c) for c in classes]
    if str(label) not in names:
        raise OptionError(
            f"There is no class {label!r}.", hint=did_you_mean(label, names) or f"choose one of {listed(names)}."
        )
    return names.index(str(label))


def _curves_on(ax: Any) -> int:
    """Return the number of curves already on the axes."""
    return sum(one.get_gid() == "curve" for one in ax.lines)
