"""Displays of learning curves, validation curves and feature-selection searches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, TableError, listed
from countwise.plots.displays import Display, line
from countwise.plots.style import INK, MARK, QUIET, SOFT, axes, literal
from countwise.registry import public
from countwise.working.numbers import number

__all__ = [
    "LearningCurveDisplay",
    "ValidationCurveDisplay",
    "plot_bandwidth",
    "plot_search",
    "plot_threshold_gains",
]

_MOST_MARKERS = 60  # points of a line that have a marker


class LearningCurveDisplay(Display):
    """Learning curve: test scores (solid) and training scores (dashed) by the number of training rows.

    For accuracy and balanced accuracy the error rates 1 - score are drawn. Bands show one standard deviation over the
    repeats on either side of the mean.

    Parameters
    ----------
    train_sizes : array-like of int
        Numbers of training rows.
    train_scores : array-like of shape (n_sizes, n_repeats), or mapping of learner to such arrays
        Scores on the training rows.
    test_scores : array-like of shape (n_sizes, n_repeats), or mapping of learner to such arrays
        Scores on the held-out rows.
    score_name : str, default='score'
        Name of the score.
    error : bool, optional
        Whether to draw 1 - score. By default True for accuracy and balanced accuracy.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.
    lines_ : list of matplotlib Line2D
        For each learner the line of test scores and the line of training scores.
    fill_between_ : list of matplotlib PolyCollection
        The bands.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, learning_curve, samples
    >>> from countwise.plots import LearningCurveDisplay
    >>> birds = samples.load("penguins")
    >>> curve = learning_curve(NaiveBayesClassifier(), birds.X, birds.y, train_sizes=[20, 60, 200], repeats=3)
    >>> shown = LearningCurveDisplay.from_curve(curve)  # or curve.plot()
    >>> shown.ax_.get_xlabel(), shown.ax_.get_ylabel(), len(shown.lines_)
    ('training rows', 'error', 2)
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
            raise TableError("train_scores and test_scores must have the same learners in the same order.")

    def _named(self, scores: Any) -> dict[str, Floats]:
        given = scores if isinstance(scores, Mapping) else {"": scores}
        found = {str(name): np.asarray(values, dtype=np.float64) for name, values in given.items()}
        for name, values in found.items():
            if values.ndim != 2 or len(values) != len(self.train_sizes):
                raise TableError(
                    f"The scores {f'of {name} ' if name else ''}have the shape {values.shape}; they need a row for "
                    f"each of the {len(self.train_sizes)} sizes and a column for each repeat."
                )
        return found

    @classmethod
    def from_curve(cls, curve: Any, *, ax: Any = None) -> Self:
        """Draw the result of `learning_curve`.

        Parameters
        ----------
        curve : LearningCurve
            The learning curve.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        LearningCurveDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, learning_curve, samples
        >>> from countwise.plots import LearningCurveDisplay
        >>> birds = samples.load("penguins")
        >>> curve = learning_curve(NaiveBayesClassifier(), birds.X, birds.y, train_sizes=[20, 200], repeats=2)
        >>> LearningCurveDisplay.from_curve(curve).ax_.get_ylabel()
        'error'
        """
        return cls(
            train_sizes=curve.train_sizes, train_scores=curve.train, test_scores=curve.test, score_name=curve.scoring
        ).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any) -> Self:
        """Compute a learning curve and draw it.

        Parameters
        ----------
        estimator : estimator, list of estimators, or mapping of name to estimator
            The learners.
        X : any table
            The rows.
        y : array-like or str
            The class of each row, or the name of its column in X.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.
        **options
            Further arguments of `learning_curve`, such as `train_sizes`, `cv` and `scoring`.

        Returns
        -------
        LearningCurveDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.plots import LearningCurveDisplay
        >>> birds = samples.load("penguins")
        >>> shown = LearningCurveDisplay.from_estimator(NaiveBayesClassifier(), birds.X, birds.y, repeats=2)
        >>> len(shown.train_sizes)
        5
        """
        return cls.from_curve(public("learning_curve")(estimator, X, y, **options), ax=ax)

    def plot(self, ax: Any = None, *, band: bool = True) -> Self:
        """Draw the learning curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.
        band : bool, default=True
            Whether to draw the standard deviation over the repeats. With several learners, only that of the test
            scores is drawn.

        Returns
        -------
        self
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise.plots import LearningCurveDisplay
        >>> shown = LearningCurveDisplay(train_sizes=[10, 100], train_scores=[[0.9, 1.0], [0.8, 0.9]],
        ...                              test_scores=[[0.6, 0.5], [0.7, 0.8]], score_name="roc_auc")
        >>> shown.plot(band=False).ax_.get_ylabel()
        'roc auc'
        """
        ax = self._place(ax)
        self.lines_, self.fill_between_ = [], []
        several = len(self.test_scores) > 1
        words = ("test error", "training error") if self.error else ("test score", "training score")
        for i, name in enumerate(self.test_scores):
            style = line(i, len(self.train_sizes), most=20)
            for scores, dashes, wide, word in zip(
                (self.test_scores[name], self.train_scores[name]), ("-", "--"), (1.8, 1.2), words, strict=True
            ):
                mean, sd = _over_repeats(1 - scores if self.error else scores)
                look = {**style, "linestyle": dashes, "linewidth": wide}
                if dashes == "--":
                    look["markerfacecolor"] = "white"
                label = (name if dashes == "-" else None) if several else word
                self.lines_ += ax.plot(self.train_sizes, mean, label=label, **look)
                if band and scores.shape[1] > 1 and (dashes == "-" or not several):
                    ends = (mean - sd, mean + sd)
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
            ax.set_yscale("log")  # the log loss of a confident wrong prediction is unbounded
        label = self.score_name.replace("_", " ")
        error = "error" if self.score_name == "accuracy" else f"1 - {label}"
        return self._labeled("training rows", error if self.error else label)


def _over_repeats(scores: Floats) -> tuple[Floats, Floats]:
    """Return means and standard deviations over the repeats that have a score."""
    known = ~np.isnan(scores)  # an infinite score makes the mean infinite
    n = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    mean = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
    with np.errstate(invalid="ignore"):
        residuals = np.where(known, scores - mean[:, None], 0.0)
    sd = np.sqrt((residuals**2).sum(axis=1) / np.maximum(n - 1, 1))
    return mean, sd


class ValidationCurveDisplay(Display):
    """Validation curve: held-out scores (solid) and training scores (dashed) against a parameter.

    The best value is marked with a ring.

    Parameters
    ----------
    param_name : str
        Name of the parameter.
    param_range : sequence
        The parameter values.
    train : sequence of float
        Score on the training rows for each value.
    held_out : sequence of float
        Score on the held-out rows for each value.
    best : value, optional
        The value to mark.
    score_name : str, default='score'
        Name of the score. For log-likelihoods and mean log probabilities the parameter axis is logarithmic.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.

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
            raise TableError(
                f"The values of {param_name} and the scores are empty or differ in length: {len(self.param_range)} "
                f"values, {len(self.train)} training scores, {len(self.held_out)} held-out scores."
            )

    @classmethod
    def from_curve(cls, curve: Any, *, ax: Any = None) -> Self:
        """Draw the result of `validation_curve`.

        Parameters
        ----------
        curve : ValidationCurve
            The validation curve.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        ValidationCurveDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples, validation_curve
        >>> from countwise.plots import ValidationCurveDisplay
        >>> birds = samples.load("penguins")
        >>> curve = validation_curve(NeighborsClassifier(), birds.X, birds.y, param_range=[1, 5, 25])
        >>> ValidationCurveDisplay.from_curve(curve).ax_.get_xlabel()
        'number of neighbors k'
        """
        return cls(param_name=curve.param_name, param_range=curve.param_range, train=curve.train,
                   held_out=curve.held_out, best=curve.best, score_name=curve.scoring).plot(ax)  # fmt: skip

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, param_name: str | None = None, param_range: Any = None,
        ax: Any = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Compute a validation curve and draw it.

        Parameters
        ----------
        estimator : estimator
            The learner, or a density estimator.
        X : any table
            The rows.
        y : array-like or str
            The class of each row, or the name of its column in X.
        param_name : str, optional
            The parameter; see `validation_curve`.
        param_range : sequence, optional
            The values of the parameter; see `validation_curve`.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.
        **options
            Further arguments of `validation_curve`: `cv` and `scoring`.

        Returns
        -------
        ValidationCurveDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> from countwise.plots import ValidationCurveDisplay
        >>> birds = samples.load("penguins")
        >>> shown = ValidationCurveDisplay.from_estimator(
        ...     TreeClassifier(), birds.X, birds.y, param_name="max_depth", param_range=[1, 2, 3])
        >>> shown.ax_.get_xlabel()
        'max depth'
        """
        options |= {"param_name": param_name, "param_range": param_range}
        return cls.from_curve(public("validation_curve")(estimator, X, y, **options), ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the validation curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        self
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise.plots import ValidationCurveDisplay
        >>> shown = ValidationCurveDisplay(param_name="max_depth", param_range=[1, 2], train=[0.8, 0.9],
        ...                                held_out=[0.7, 0.8])
        >>> shown.plot().ax_.get_xlabel()
        'max depth'
        """
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
                label="held-out rows")  # fmt: skip
        if self.best is not None and self.best in self.param_range:
            at = self.param_range.index(self.best)
            label = number(float(self.best)) if numeric else str(self.best)
            _ring(ax, float(places[at]), float(self.held_out[at]), f"best {self.param_name}: {label}")
        ax.margins(y=0.12)
        if numeric:
            ax.xaxis.get_major_locator().set_params(integer=bool((places % 1 == 0).all()))
        else:
            ax.set_xticks(places, [str(v) for v in self.param_range])
        return "number of neighbors k" if self.param_name == "n_neighbors" else self.param_name.replace("_", " ")

    def _over_bandwidths(self, ax: Any) -> str:
        """Draw log-likelihoods; the steep drop at small bandwidths is cut off."""
        values = np.asarray(self.param_range, dtype=np.float64)
        if not (values > 0).all():
            raise TableError(
                f"The values of {self.param_name} must be > 0 for a logarithmic axis, but the smallest is "
                f"{number(float(values.min()))}."
            )
        order = np.argsort(values, kind="stable")
        values, train, held_out = values[order], self.train[order], self.held_out[order]
        low, high = _heights(train, held_out)
        _logarithmic(ax, values[0], values[-1])
        both = ((train, "--", QUIET, "training rows"), (held_out, "-", INK, "held-out rows"))
        for scores, style, color, name in both:
            drawn = ~np.isnan(scores)
            shown = np.clip(scores[drawn], low - 9 * (high - low), high + 9 * (high - low))  # clips infinity
            ax.plot(values[drawn], shown, style, color=color, linewidth=1.8, label=name)
        fine = np.isfinite(held_out)
        if self.best is not None and fine.any():  # the best value may lie between two of the values
            best = float(self.best)
            peak = float(np.interp(np.log(best), np.log(values[fine]), held_out[fine]))
            _ring(ax, best, peak, f"best {self.param_name}")
            ax.annotate(f"{best:.3g}", (best, peak), (0, -20), textcoords="offset points", ha="center", color=MARK,
                        fontsize=9)  # fmt: skip
        ax.xaxis.set_major_formatter(lambda value, _: number(value))
        ax.set_ylim(low, high)
        return self.param_name.replace("_", " ")


def plot_bandwidth(density: Any, ax: Any = None) -> Any:
    """Draw the log-likelihood of training rows and of held-out rows against the bandwidth of a kernel.

    The log-likelihood of the training rows grows as the bandwidth shrinks, whereas that of held-out rows has a
    maximum. The best bandwidth is marked with a ring.

    Parameters
    ----------
    density : estimator
        A fitted density estimator with `bandwidth_curve_` (columns "bandwidth", "train" and "held_out") and
        `best_bandwidth_`, or with a method `bandwidth_curve`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default new ones.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

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
    if curve is None and hasattr(density, "bandwidth_curve"):  # the bandwidth was not selected by a search
        curve = density.bandwidth_curve()
    if curve is None:
        raise OptionError(
            f"This {type(density).__name__} has no bandwidth curve: it is not fitted, or its bandwidth was given.",
            hint='fit it with bandwidth="leave_one_out" or bandwidth="k_fold".',
        )
    lost = [name for name in ("bandwidth", "train", "held_out") if name not in curve]
    if lost:
        raise TableError(
            f"The bandwidth curve has no column {lost[0]!r}; it needs 'bandwidth', 'train' and 'held_out'."
        )
    several = len(getattr(density, "bandwidths_", ())) > 1
    shown = ValidationCurveDisplay(param_name="bandwidth factor" if several else "bandwidth",
                                   param_range=curve["bandwidth"], train=curve["train"], held_out=curve["held_out"],
                                   score_name="log_likelihood")  # fmt: skip
    held_out = np.nan_to_num(shown.held_out, nan=-np.inf)
    shown.best = getattr(density, "best_bandwidth_", shown.param_range[int(np.argmax(held_out))])
    return shown.plot(ax).ax_


def plot_search(search: Any, ax: Any = None) -> Any:
    """Draw the scores of a `WrapperSelector` against the number of attributes.

    Each dot is an evaluated subset. The line is the path of the search, or the best subset of each size for an
    exhaustive search. A ring marks the selected subset.

    Parameters
    ----------
    search : WrapperSelector
        A fitted selector.
    ax : matplotlib Axes, optional
        Axes to draw on. By default new ones.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> from countwise import WrapperSelector, samples
    >>> from countwise.plots import plot_search
    >>> tennis = samples.load("tennis")
    >>> plot_search(WrapperSelector(cv=2).fit(tennis.X, tennis.y)).get_ylabel()
    'cross-validated score'
    """
    if not isinstance(getattr(search, "scores_", None), Mapping):
        raise OptionError(f"{type(search).__name__} is not a fitted WrapperSelector.", hint="fit it first.")
    ax = axes(ax)
    sizes = [len(subset) for subset in search.scores_]
    ax.scatter(sizes, list(search.scores_.values()), s=12, color=SOFT, label="evaluated subsets", zorder=1)
    label = "best of each size" if search.direction == "exhaustive" else "path of the search"
    ax.plot(search.path_["attributes"], search.path_["score"], "o-", color=INK, markersize=4, label=label, zorder=2)
    chosen = int(search.support_.sum())
    _ring(ax, chosen, search.score_, f"selected: {chosen}")
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
    return literal(ax)


def plot_threshold_gains(gains: Any, ax: Any = None) -> Any:
    """Draw the information gain and the gain ratio of a numeric attribute against the threshold.

    A ring marks the threshold with the highest gain, the first one if there are several.

    Parameters
    ----------
    gains : Grid or mapping
        Result of `countwise.feature_selection.threshold_gains`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default new ones.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> from countwise.feature_selection import threshold_gains
    >>> from countwise.plots import plot_threshold_gains
    >>> plot_threshold_gains(threshold_gains([60, 70, 70, 85], ["no", "yes", "yes", "no"])).get_xlabel()
    'threshold'
    """
    names = ("threshold", "information_gain", "gain_ratio")
    if not isinstance(gains, Mapping) or any(name not in gains for name in names):
        raise OptionError(f"gains must have the columns {listed(names)}.", hint="pass the result of threshold_gains.")
    try:
        cuts, gain, ratio = (np.asarray(gains[name], dtype=np.float64) for name in names)
    except (TypeError, ValueError):
        raise OptionError("gains must be columns of numbers.", hint="pass the result of threshold_gains.") from None
    if not len(cuts):
        raise TableError("There is no threshold: the attribute has fewer than two values.")
    ax = axes(ax)
    marker = "o" if len(cuts) <= _MOST_MARKERS else ""
    ax.plot(cuts, gain, "-", marker=marker, color=INK, markersize=4, linewidth=1.6, label="information gain (bits)")
    ax.plot(cuts, ratio, "--", marker=marker, color=QUIET, markersize=3, linewidth=1.3, label="gain ratio")
    best = int(np.argmax(np.round(gain, 12)))
    _ring(ax, cuts[best], gain[best], f"highest gain: {number(float(gain[best]))} at {number(float(cuts[best]))}")
    ax.set_ylim(bottom=0)
    ax.margins(x=0.04, y=0.12)
    ax.set_xlabel("threshold")
    ax.set_ylabel("gain")
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    return literal(ax)


def _heights(train: Floats, held_out: Floats) -> tuple[float, float]:
    """Return the limits of the y axis: around the best value, without the steep drop at small bandwidths."""
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
    """Make the x axis logarithmic, with additional ticks at 2 and 5 if it covers few powers of ten."""
    from matplotlib.ticker import LogLocator

    ax.set_xscale("log")
    if high < 300 * low:
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
