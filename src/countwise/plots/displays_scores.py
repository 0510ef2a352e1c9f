"""ROC, precision and recall, and calibration, drawn."""

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

_MOST = 10  # lines in one picture


class _ByClass(PredictionDisplay):
    """A curve for each class against all others; of two classes that of the positive one."""

    summary: ClassVar[str]  # what the number in the legend is called
    _axes: ClassVar[tuple[str, str]]
    _legend: ClassVar[str]  # where it stands
    _chance: ClassVar[bool] = False  # whether the diagonal is drawn
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
        """Draw predictions such as those of `cross_validate`.

        Parameters
        ----------
        answers : Predictions
        pos_label : class, optional
            Draw this class alone; of two classes the second by default.
        name : str, optional
            For the legend; the estimator's by default.
        ax : matplotlib Axes, optional
        """
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
        """Draw it, on the given axes or on new ones."""
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
        told = f"{self.summary} {number:.3f}" if not np.isnan(number) else f"{self.summary} undefined"
        who = f"{self.name}: {c}" if len(self.curves) == 1 and self.name else str(c)
        return f"{who} ({told})"


class ROCDisplay(_ByClass):
    """ROC curves: of two classes that of the positive one, of more each against all others.

    Parameters
    ----------
    curves : mapping of class to (false positive rates, true positive rates)
    numbers : mapping of class to float
        The area under each; NaN where it is undefined.
    name : str, optional
        The learner.

    Attributes
    ----------
    roc_auc : dict of class to float
    ax_, figure_ : matplotlib Axes and Figure

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
    """Precision against recall: of two classes that of the positive one, of more each against all others.

    Parameters
    ----------
    curves : mapping of class to (recalls, precisions)
    numbers : mapping of class to float
        The average precision of each; NaN where it is undefined.
    name : str, optional
        The learner.

    Attributes
    ----------
    average_precision : dict of class to float
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from countwise.plots import PrecisionRecallDisplay
    >>> PrecisionRecallDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5]).average_precision
    {1: 0.8333333333333333}
    """

    summary, _legend = "AP", "lower left"
    _axes = ("recall", "precision")
    _style: ClassVar[dict[str, Any]] = {"drawstyle": "steps-pre"}  # points run from full recall down to none

    @property
    def average_precision(self) -> dict[Any, float]:
        """The average precision of each class."""
        return self.numbers

    @staticmethod
    def _work(score: Floats, positive: NDArray[Any], weight: Floats) -> tuple[tuple[Floats, Floats], float]:
        precision, recall, _ = precision_recall_points(score, positive, weight)
        return (recall, precision), average_precision(score, positive, weight)


class CalibrationDisplay(PredictionDisplay):
    """Calibration curve: the share of rows of a class against its predicted probability, and how many rows there are.

    Parameters
    ----------
    prob_true, prob_pred, counts : ndarray
        By range of the probability: the share of rows that came true, the mean probability, how many rows.
    n_bins : int
        How many ranges there are, also those without rows.
    name : str, optional
        The learner.
    of : str
        What the probability is of.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from countwise.plots import CalibrationDisplay
    >>> shown = CalibrationDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.15, 0.7, 0.9], n_bins=2)
    >>> shown.prob_true.tolist(), shown.prob_pred.tolist(), shown.counts.tolist()
    ([0.0, 1.0], [0.125, 0.8], [2.0, 2.0])
    """

    def __init__(
        self, prob_true: Floats, prob_pred: Floats, counts: Floats, *, n_bins: int = 10, name: Any = None,
        of: str = "the answer",
    ) -> None:  # fmt: skip
        self.prob_true, self.prob_pred, self.counts = prob_true, prob_pred, counts
        self.n_bins, self.name, self.of = n_bins, name, of

    @classmethod
    def from_answers(
        cls, answers: Predictions, *, n_bins: int = 10, pos_label: Any = None, name: str | None = None, ax: Any = None
    ) -> Self:
        """Draw predictions such as those of `cross_validate`.

        Parameters
        ----------
        answers : Predictions
        n_bins : int, default=10
            Ranges of equal width.
        pos_label : class, optional
            Whose probability; by default that of the second of two classes, of more that of the predicted class.
        name : str, optional
            For the legend; the estimator's by default.
        ax : matplotlib Axes, optional
        """
        check_value("n_bins", n_bins, NumberIn(1, whole=True))
        cls._refuse_without_proba(answers, name)
        classes = list(answers.classes)
        if pos_label is None and len(classes) != 2:
            p = answers.proba[np.arange(len(answers.codes)), answers.answered]
            right, of = answers.answered == answers.codes, "the answer"
        else:
            c = _class(classes, pos_label)
            p, right, of = answers.proba[:, c], answers.codes == c, str(classes[c])
        rows, told, true = by_range(p, right, answers.weight, n_bins)
        kept = rows > 0
        return cls(true[kept], told[kept], rows[kept], n_bins=n_bins, name=name, of=of).plot(ax)

    def plot(self, ax: Any = None, *, counts: bool = True) -> Self:
        """Draw it, on the given axes or on new ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        counts : bool, default=True
            Whether bars at the foot say how many rows there are in each range; on shared axes those of the first.
        """
        ax = self._place(ax, (5.2, 4.8))
        before = _curves_on(ax)
        if not before:
            ax.plot([0, 1], [0, 1], color=SOFT, linewidth=1, zorder=0)
            if counts:
                self._bars(ax)
        ax.plot(self.prob_pred, self.prob_true, label=self.name or "probabilities", gid="curve", clip_on=False,
                zorder=3, **line(before, len(self.counts), most=20))  # fmt: skip
        return self._labeled(f"probability of {self.of}", "share that came true", "upper left", square=True)

    def _bars(self, ax: Any) -> None:
        """How many rows there are in each range, as small bars with a number each."""
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
            f"There is no class {label!r}.", hint=did_you_mean(label, names) or f"classes are {listed(names)}."
        )
    return names.index(str(label))


def _curves_on(ax: Any) -> int:
    """How many curves there are on axes that several learners share."""
    return sum(one.get_gid() == "curve" for one in ax.lines)
