"""Learning curves and validation curves, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, TableError
from countwise.plots.displays import Display, line
from countwise.plots.style import INK, MARK, QUIET, SOFT, axes
from countwise.working.numbers import number

__all__ = ["LearningCurveDisplay", "ValidationCurveDisplay", "plot_bandwidth", "plot_search"]


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
    >>> shown = LearningCurveDisplay.from_curve(curve)  # or curve.plot()
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
    def from_curve(cls, curve: Any, *, ax: Any = None) -> Self:
        """Draw a `LearningCurve`."""
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
            for scores, dashes, wide, word in zip(
                (self.test_scores[name], self.train_scores[name]), ("-", "--"), (1.8, 1.2), words, strict=True
            ):
                mean, deviation = _over_repeats(1 - scores if self.error else scores)
                look = {**style, "linestyle": dashes, "linewidth": wide}
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
        if self.train_sizes.max() > 20 * self.train_sizes.min():
            _logarithmic(ax, self.train_sizes.min(), self.train_sizes.max())
        ax.xaxis.set_major_formatter(lambda value, _: number(value))
        every = [*self.test_scores.values(), *self.train_scores.values()]
        means = np.concatenate([_over_repeats(scores)[0] for scores in every])
        means = means[np.isfinite(means)]
        if self.score_name == "log_loss" and len(means) and 0 < 50 * means.min() < means.max():
            ax.set_yscale("log")  # who is sure and wrong pays any price
        told = self.score_name.replace("_", " ")
        error = "error" if self.score_name == "accuracy" else f"1 - {told}"
        return self._labeled("rows learned from", error if self.error else told)


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


class ValidationCurveDisplay(Display):
    """A score on training rows (dashed) and on held-out rows (solid), against a setting; the best value is marked.

    Parameters
    ----------
    param_name : str
        The setting.
    param_range : sequence
        The values tried.
    train, held_out : sequence of float
        The scores.
    best : value, optional
        The value to mark.
    score_name : str, default="score"
        Log-likelihoods and mean log probabilities are drawn over a logarithmic axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from countwise.plots import ValidationCurveDisplay
    >>> shown = ValidationCurveDisplay(param_name="k", param_range=[1, 3, 5], train=[1.0, 0.9, 0.8],
    ...                                held_out=[0.6, 0.8, 0.7], best=3, score_name="accuracy").plot()
    >>> shown.ax_.get_xlabel(), shown.ax_.get_ylabel()
    ('k', 'accuracy')
    """

    def __init__(
        self, *, param_name: str, param_range: Any, train: Any, held_out: Any, best: Any = None,
        score_name: str = "score",
    ) -> None:  # fmt: skip
        self.param_name, self.best, self.score_name = param_name, best, score_name
        self.param_range = list(param_range)
        self.train, self.held_out = (np.asarray(v, dtype=np.float64) for v in (train, held_out))
        if not len(self.param_range) == len(self.train) == len(self.held_out) or not self.param_range:
            raise TableError(f"The values of {param_name} and the scores are empty, or differ in length.")

    @classmethod
    def from_curve(cls, curve: Any, *, ax: Any = None) -> Self:
        """Draw a `ValidationCurve`."""
        return cls(param_name=curve.param_name, param_range=curve.param_range, train=curve.train,
                   held_out=curve.held_out, best=curve.best, score_name=curve.scoring).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw it, on the given axes or on new ones."""
        ax = self._place(ax)
        if self.score_name == "log_likelihood" or self.score_name.startswith("mean log"):
            name = self._over_bandwidths(ax)
        else:
            name = self._over_values(ax)
        return self._labeled(name, self.score_name.replace("_", "-" if "likelihood" in self.score_name else " "))

    def _over_values(self, ax: Any) -> str:
        numeric = all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in self.param_range)
        places = np.asarray(self.param_range if numeric else range(len(self.param_range)), dtype=np.float64)
        few = len(places) <= 40
        ax.plot(places, self.train, "--", color=QUIET, marker="s" if few else None, markersize=3.5,
                markerfacecolor="white", linewidth=1.2, label="training rows")  # fmt: skip
        ax.plot(places, self.held_out, "-", color=INK, marker="o" if few else None, markersize=4, linewidth=1.8,
                label="rows held out")  # fmt: skip
        if self.best is not None and self.best in self.param_range:
            at = self.param_range.index(self.best)
            told = number(float(self.best)) if numeric else str(self.best)
            _ring(ax, float(places[at]), float(self.held_out[at]), f"best {self.param_name}: {told}")
        ax.margins(y=0.12)
        if numeric:
            ax.xaxis.get_major_locator().set_params(integer=bool((places % 1 == 0).all()))
        else:
            ax.set_xticks(places, [str(v) for v in self.param_range])
        return "number of neighbors k" if self.param_name == "n_neighbors" else self.param_name.replace("_", " ")

    def _over_bandwidths(self, ax: Any) -> str:
        """A likelihood falls without end where a kernel is narrow: that part is cut off."""
        values = np.asarray(self.param_range, dtype=np.float64)
        if not (values > 0).all():
            raise TableError(f"{self.param_name} must be above 0 to be drawn, not {number(float(values.min()))}.")
        order = np.argsort(values, kind="stable")
        values, train, held_out = values[order], self.train[order], self.held_out[order]
        low, high = _heights(train, held_out)
        _logarithmic(ax, values[0], values[-1])
        both = ((train, "--", QUIET, "training rows"), (held_out, "-", INK, "rows held out"))
        for scores, style, color, name in both:
            drawn = ~np.isnan(scores)
            shown = np.clip(scores[drawn], low - 9 * (high - low), high + 9 * (high - low))  # infinity is far away
            ax.plot(values[drawn], shown, style, color=color, linewidth=1.8, label=name)
        fine = np.isfinite(held_out)
        if self.best is not None and fine.any():  # it may lie between two of the values tried
            best = float(self.best)
            peak = float(np.interp(np.log(best), np.log(values[fine]), held_out[fine]))
            _ring(ax, best, peak, f"best {self.param_name}")
            ax.annotate(f"{best:.3g}", (best, peak), (0, -20), textcoords="offset points", ha="center", color=MARK,
                        fontsize=9)  # fmt: skip
        ax.xaxis.set_major_formatter(lambda value, _: number(value))
        ax.set_ylim(low, high)
        return self.param_name.replace("_", " ")


def plot_bandwidth(density: Any, ax: Any = None) -> Any:
    """The log-likelihood of training rows and of held-out rows, against the bandwidth of a kernel.

    The narrower the kernel, the better it fits the rows that it was made from; held-out rows fit best somewhere
    between. That bandwidth is marked with a ring.

    Parameters
    ----------
    density : estimator
        Fitted, with `bandwidth_curve_` (columns "bandwidth", "train" and "held_out") and `best_bandwidth_`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from countwise.plots import plot_bandwidth
    >>> curve = {"bandwidth": [0.1, 1.0, 10.0], "train": [-1.0, -2.0, -4.0], "held_out": [-9.0, -2.5, -4.2]}
    >>> ax = plot_bandwidth(SimpleNamespace(bandwidth_curve_=curve, best_bandwidth_=1.0))
    >>> ax.get_xscale(), ax.get_xlabel()
    ('log', 'bandwidth')
    """
    curve = getattr(density, "bandwidth_curve_", None)
    if curve is None and hasattr(density, "bandwidth_curve"):  # of a bandwidth that was given, or set by a rule
        curve = density.bandwidth_curve()
    if curve is None:
        raise OptionError(
            f"This {type(density).__name__} has no bandwidth curve: its bandwidth was given, or it is not fitted.",
            hint='fit it with bandwidth="leave_one_out" or bandwidth="k_fold".',
        )
    lost = [name for name in ("bandwidth", "train", "held_out") if name not in curve]
    if lost:
        raise TableError(f"The bandwidth curve has no column {lost[0]!r}.")
    several = len(getattr(density, "bandwidths_", ())) > 1
    shown = ValidationCurveDisplay(param_name="factor on the bandwidths" if several else "bandwidth",
                                   param_range=curve["bandwidth"], train=curve["train"], held_out=curve["held_out"],
                                   score_name="log_likelihood")  # fmt: skip
    held_out = np.nan_to_num(shown.held_out, nan=-np.inf)
    shown.best = getattr(density, "best_bandwidth_", shown.param_range[int(np.argmax(held_out))])
    return shown.plot(ax).ax_


def plot_search(search: Any, ax: Any = None) -> Any:
    """The score of a `WrapperSelector` against the number of attributes.

    Each subset that was scored is a dot; the line is the path taken (for an exhaustive search the
    best of each size), and the ring is the choice.

    Parameters
    ----------
    search : WrapperSelector
        Fitted.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    sizes = [len(subset) for subset in search.scores_]
    ax.scatter(sizes, list(search.scores_.values()), s=12, color=SOFT, label="subsets scored", zorder=1)
    label = "best of each size" if search.direction == "exhaustive" else "path taken"
    ax.plot(search.path_["attributes"], search.path_["score"], "o-", color=INK, markersize=4, label=label, zorder=2)
    chosen = int(search.support_.sum())
    _ring(ax, chosen, search.score_, f"chosen: {chosen}")
    names = search.get_feature_names_out().tolist()
    if len(names) <= 4:
        ax.annotate(", ".join(names), (chosen, search.score_), (0, 10), textcoords="offset points", ha="center",
                    color=MARK, fontsize=9)  # fmt: skip
    ax.margins(x=0.08, y=0.15)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("number of attributes")
    scoring = search.scoring if isinstance(search.scoring, str) else "score"
    ax.set_ylabel(f"cross-validated {scoring.replace('_', ' ')}")
    backwards = " (from right to left)" if search.direction == "backward" else ""
    ax.set_title(f"{search.direction} search{backwards}", loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=8)
    return ax


def _heights(train: Floats, held_out: Floats) -> tuple[float, float]:
    """What to show: the curves about the best value; the fall at tiny values leaves the picture below."""
    fine = held_out[np.isfinite(held_out)]
    known = np.concatenate([train[np.isfinite(train)], fine])
    if not len(known):
        return -1.0, 0.0
    top = float(known.max())
    peak = float(fine.max()) if len(fine) else top
    end = float(fine[-1]) if len(fine) else float(known.min())
    reach = max(top - peak, peak - end, 1e-3 * max(1.0, abs(peak)))
    low = max(float(known.min()), peak - 2.0 * reach)
    margin = 0.08 * max(top - low, 1e-9)
    return low - margin, top + 1.6 * margin


def _ring(ax: Any, x: float, y: float, label: str) -> None:
    ax.scatter([x], [y], s=120, facecolors="none", edgecolors=MARK, linewidths=1.8, zorder=3, label=label)


def _logarithmic(ax: Any, low: float, high: float) -> None:
    """A logarithmic x; of few powers of ten some numbers between them too."""
    from matplotlib.ticker import LogLocator

    ax.set_xscale("log")
    if high < 300 * low:
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
