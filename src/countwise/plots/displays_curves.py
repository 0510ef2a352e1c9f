"""Learning curves, and curves over a setting, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, TableError
from countwise.plots.displays import Display, legend, line
from countwise.plots.style import INK, MARK, QUIET
from countwise.plots.widths import plot_width
from countwise.working.numbers import number

__all__ = ["LearningCurveDisplay", "SettingCurveDisplay"]


class LearningCurveDisplay(Display):
    """Scores on the rows learned from (dashed) and on others (solid), by how many were learned from.

    Of shares of right answers the errors are drawn: the apparent error and the true error. Bands reach one deviation
    of the repeats to either side.

    Parameters
    ----------
    train_sizes : array-like of int
        How many rows were learned from.
    train_scores, test_scores : array of shape (sizes, repeats), or mapping of learner to such
    score_name : str, default="score"
    error : bool, optional
        Whether 1 - score is drawn; by default for accuracy and balanced accuracy.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib lines
        For each learner that of others, and that of the rows learned from.
    fill_between_ : list of matplotlib bands

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, learning_curve, samples
    >>> from countwise.plots import LearningCurveDisplay
    >>> birds = samples.load("penguins")
    >>> curve = learning_curve(NaiveBayesClassifier(), birds.X, birds.y, train_sizes=[20, 60, 200], repeats=3)
    >>> shown = LearningCurveDisplay.from_curve(curve)  # or curve.plot(), or from_estimator for both steps
    >>> shown.ax_.get_xlabel(), shown.ax_.get_ylabel(), len(shown.lines_)
    ('rows learned from', 'error', 2)
    """

    def __init__(
        self, *, train_sizes: Any, train_scores: Any, test_scores: Any, score_name: str = "score",
        error: bool | None = None,
    ) -> None:  # fmt: skip
        self.train_sizes = np.asarray(train_sizes, dtype=np.float64)
        self.train_scores, self.test_scores = self._named(train_scores), self._named(test_scores)
        self.score_name = score_name
        self.error = score_name in ("accuracy", "balanced_accuracy") if error is None else error
        if list(self.train_scores) != list(self.test_scores):
            raise TableError("The learners of the scores on rows learned from and on others differ.")

    def _named(self, scores: Any) -> dict[str, Floats]:
        given = scores if isinstance(scores, Mapping) else {"": scores}
        found = {str(name): np.asarray(values, dtype=np.float64) for name, values in given.items()}
        for name, values in found.items():
            if values.ndim != 2 or len(values) != len(self.train_sizes):
                raise TableError(
                    f"The scores {f'of {name} ' if name else ''}have the shape {values.shape}; "
                    f"there are {len(self.train_sizes)} sizes."
                )
        return found

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any) -> Self:
        """Find the curve and draw it.

        Parameters
        ----------
        estimator : estimator, list of them, or mapping of name to estimator
        X : any table
        y : array-like or str
            The class of each row, or the name of its column.
        ax : matplotlib Axes, optional
        **options
            As of `learning_curve`: train_sizes, cv, repeats, scoring and so on.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.plots import LearningCurveDisplay
        >>> birds = samples.load("penguins")
        >>> shown = LearningCurveDisplay.from_estimator(NaiveBayesClassifier(), birds.X, birds.y, repeats=2)
        >>> shown.test_scores["NaiveBayesClassifier"].shape
        (5, 2)
        """
        from countwise.evaluation.learning_curve import learning_curve

        return cls.from_curve(learning_curve(estimator, X, y, **options), ax=ax)

    @classmethod
    def from_curve(cls, curve: Any, *, ax: Any = None) -> Self:
        """Draw what `learning_curve` found."""
        return cls(
            train_sizes=curve.train_sizes, train_scores=curve.train, test_scores=curve.test, score_name=curve.scoring
        ).plot(ax)

    def plot(self, ax: Any = None, *, band: bool = True) -> Self:
        """Draw it, on the given axes or on new ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        band : bool, default=True
            Whether the deviation of the repeats is drawn; of several learners only that on other rows.
        """
        ax = self._place(ax)
        self.lines_, self.fill_between_ = [], []
        several = len(self.test_scores) > 1
        words = ("true error", "apparent error") if self.error else ("other rows", "rows learned from")
        for i, name in enumerate(self.test_scores):
            style = line(i, len(self.train_sizes), most=20)
            for scores, dashes, word in zip(
                (self.test_scores[name], self.train_scores[name]), ("-", "--"), words, strict=True
            ):
                mean, deviation = _over_repeats(1 - scores if self.error else scores)
                look = {**style, "linestyle": dashes, "linewidth": 1.8 if dashes == "-" else 1.2}
                if dashes == "--":
                    look["markerfacecolor"] = "white"
                told = (name if dashes == "-" else None) if several else word
                self.lines_ += ax.plot(self.train_sizes, mean, label=told, **look)
                if band and scores.shape[1] > 1 and (dashes == "-" or not several):
                    ends = (mean - deviation, mean + deviation)
                    self.fill_between_.append(
                        ax.fill_between(self.train_sizes, *ends, color=style["color"], alpha=0.13, linewidth=0)
                    )
        if several:
            for dashes, word in zip(("-", "--"), words, strict=True):
                ax.plot([], [], dashes, color=QUIET, label=word)
        self._scale(ax)
        legend(ax)
        return self

    def _scale(self, ax: Any) -> None:
        if self.train_sizes.max() > 20 * self.train_sizes.min():
            ax.set_xscale("log")
            if self.train_sizes.max() < 300 * self.train_sizes.min():  # few powers of ten: some numbers between them
                from matplotlib.ticker import LogLocator

                ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_major_formatter(lambda value, _: number(value))
        every = [*self.test_scores.values(), *self.train_scores.values()]
        means = np.concatenate([_over_repeats(scores)[0] for scores in every])
        means = means[np.isfinite(means)]
        if self.score_name == "log_loss" and len(means) and 0 < 50 * means.min() < means.max():
            ax.set_yscale("log")  # who is sure and wrong pays any price
        ax.set_xlabel("rows learned from")
        told = self.score_name.replace("_", " ")
        ax.set_ylabel(("error" if self.score_name == "accuracy" else f"1 - {told}") if self.error else told)


def _over_repeats(scores: Floats) -> tuple[Floats, Floats]:
    """Means and deviations over the repeats that have a score."""
    known = ~np.isnan(scores)  # what is infinite in one repeat is infinite on average
    n = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    mean = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
    with np.errstate(invalid="ignore"):
        gaps = np.where(known, scores - mean[:, None], 0.0)
    deviation = np.sqrt((gaps**2).sum(axis=1) / np.maximum(n - 1, 1))
    return mean, deviation


class SettingCurveDisplay(Display):
    """A score on the rows learned from (dashed) and on rows held out (solid), against a setting; the best is marked.

    Parameters
    ----------
    setting : str
        Which one.
    values : sequence of float
        What was tried.
    train, held_out : sequence of float
        The scores; more is better.
    best : float, optional
        The value to mark.
    score_name : str, default="score"

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from countwise.plots import SettingCurveDisplay
    >>> shown = SettingCurveDisplay(setting="k", values=[1, 3, 5], train=[1.0, 0.9, 0.8], held_out=[0.6, 0.8, 0.7],
    ...                             best=3, score_name="accuracy").plot()
    >>> shown.ax_.get_xlabel(), shown.ax_.get_ylabel()
    ('k', 'accuracy')
    """

    def __init__(
        self, *, setting: str, values: Any, train: Any, held_out: Any, best: Any = None, score_name: str = "score"
    ) -> None:
        self.setting, self.best, self.score_name = setting, best, score_name
        self.values, self.train, self.held_out = (np.asarray(v, dtype=np.float64) for v in (values, train, held_out))
        if not len(self.values) == len(self.train) == len(self.held_out) or not len(self.values):
            raise TableError("The values and the scores are none, or differ in number.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, values: Any = None, cv: Any = None, setting: str | None = None,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Find the curve and draw it: over k of a classifier by neighbors, else over the width of a kernel.

        Parameters
        ----------
        estimator : estimator
        X : any table
        y : array-like or str, optional
            The class of each row, for classifiers.
        values : sequence of float, optional
            What is tried.
        cv, setting
            As of `k_curve` and `width_curve`.
        ax : matplotlib Axes, optional

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> from countwise.plots import SettingCurveDisplay
        >>> birds = samples.load("penguins")
        >>> SettingCurveDisplay.from_estimator(NeighborsClassifier(), birds.X, birds.y, values=[1, 5, 25]).best
        5
        """
        from countwise.evaluation.setting_curves import setting_curve

        return cls.from_curve(setting_curve(estimator, X, y, values=values, cv=cv, setting=setting), ax=ax)

    @classmethod
    def from_curve(cls, curve: Any, *, ax: Any = None) -> Self:
        """Draw what `width_curve` or `k_curve` found."""
        return cls(setting=curve.setting, values=curve.values, train=curve.train, held_out=curve.held_out,
                   best=curve.best, score_name=curve.score).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw it, on the given axes or on new ones."""
        ax = self._place(ax)
        if "log" in self.score_name:  # a likelihood falls without end where a kernel is narrow
            if not (self.values > 0).all():
                raise OptionError(f"{self.setting} must be above 0 to be drawn.")
            found = {"bandwidth": self.values, "train": self.train, "held_out": self.held_out}
            best = {} if self.best is None else {"best_bandwidth_": float(self.best)}
            plot_width(SimpleNamespace(bandwidth_curve_=found, **best), ax)
            ax.set_xlabel({"width": "width of the kernel"}.get(self.setting, self.setting.replace("_", " ")))
            ax.set_ylabel(self.score_name.replace("_", "-" if "likelihood" in self.score_name else " "))
            legend(ax)
            return self
        few = len(self.values) <= 40
        ax.plot(self.values, self.train, "--", color=QUIET, marker="s" if few else None, markersize=3.5,
                markerfacecolor="white", linewidth=1.2, label="training rows")  # fmt: skip
        ax.plot(self.values, self.held_out, "-", color=INK, marker="o" if few else None, markersize=4, linewidth=1.8,
                label="rows held out")  # fmt: skip
        self._mark(ax)
        ax.margins(y=0.12)
        ax.xaxis.get_major_locator().set_params(integer=bool((self.values % 1 == 0).all()))
        ax.set_xlabel("number of neighbors k" if self.setting == "n_neighbors" else self.setting.replace("_", " "))
        ax.set_ylabel(self.score_name.replace("_", " "))
        legend(ax)
        return self

    def _mark(self, ax: Any) -> None:
        at = np.flatnonzero(self.values == (np.nan if self.best is None else self.best))
        if not len(at):
            return
        place = (float(self.best), float(self.held_out[at[0]]))
        ax.scatter(*place, s=120, facecolors="none", edgecolors=MARK, linewidths=1.8, zorder=3,
                   label=f"best {self.setting}: {number(float(self.best))}")  # fmt: skip
