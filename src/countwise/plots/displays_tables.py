"""Displays of confusion matrices, of distributions of an attribute by class, and of histograms with cut points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.base.predictions import Predictions
from countwise.data.attributes import Nominal
from countwise.data.columns import plain
from countwise.data.derived import Absent
from countwise.discriminant.density import JointDensity
from countwise.errors import OptionError, TableError, check_number, did_you_mean, listed
from countwise.parzen.model import ParzenDensity
from countwise.plots.displays import HATCHES, Display, PredictionDisplay, line, predictions_from
from countwise.plots.style import DARK, MARK, QUIET, literal, look, shortened, text_width
from countwise.working.numbers import number

__all__ = ["ConfusionDisplay", "DensityDisplay", "HistogramDisplay"]

_LIKELIHOODS = "Kernel densities; legend: log-likelihood of training rows and of held-out rows"
_MOST_BARS = 30  # values of a nominal attribute that are drawn
_MOST_CUTS = 25  # cut points that are labeled
_MOST_DEFAULT, _MOST_CELLS = 60, 10_000  # bars of a histogram, by default and on request


class ConfusionDisplay(PredictionDisplay):
    """Confusion matrix: the darker a cell, the larger its proportion of the rows of its true class.

    Parameters
    ----------
    table : array-like of shape (n_classes, n_classes)
        Numbers of rows; rows are true classes, columns are predicted classes.
    classes : sequence
        The classes, in the order of the rows and columns.
    costs : array-like of shape (n_classes, n_classes), optional
        Cost matrix with a row for each true class and a column for each predicted class. Costs are written below the
        counts, and the mean cost above the matrix.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.
    text_ : ndarray of matplotlib Text
        The text of each cell.

    Examples
    --------
    >>> from countwise.plots import ConfusionDisplay
    >>> shown = ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> shown.table.tolist(), [text.get_text() for text in shown.text_.ravel()]
    ([[1.0, 1.0], [0.0, 1.0]], ['1', '1', '0', '1'])
    """

    _needs_proba = False

    def __init__(self, table: Any, *, classes: Sequence[Any], costs: Any = None) -> None:
        self.table, self.classes = np.asarray(table, dtype=np.float64), list(classes)
        try:
            self.costs = None if costs is None else np.asarray(costs, dtype=np.float64)
        except (TypeError, ValueError):
            message = "costs must be a matrix with a row for each true class and a column for each predicted class."
            raise OptionError(message, hint="use countwise.evaluation.costs.costs_of to convert a mapping.") from None
        k = len(self.classes)
        for what, values in (("predictions", self.table), ("costs", self.costs)):
            if values is not None and values.shape != (k, k):
                raise TableError(
                    f"The matrix of {what} has the shape {values.shape}; {k} classes need the shape ({k}, {k})."
                )

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls, y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None, costs: Any = None,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the confusion matrix of given predictions.

        Parameters
        ----------
        y_true : array-like
            The true class of each row. Rows without a class are ignored.
        y_pred : array-like
            The predicted class of each row.
        classes : sequence, optional
            All classes, in the order in which they are drawn. By default those in `y_true` and `y_pred`, in ascending
            order.
        sample_weight : array-like, optional
            Weight of each row.
        costs : array-like of shape (n_classes, n_classes), optional
            Cost matrix.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        ConfusionDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise.plots import ConfusionDisplay
        >>> ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"]).table.tolist()
        [[1.0, 1.0], [0.0, 1.0]]
        """
        predictions = predictions_from(y_true, None, np.asarray(y_pred), classes, sample_weight)
        return cls.from_answers(predictions, costs=costs, ax=ax)

    @classmethod
    def from_answers(cls, answers: Predictions, *, costs: Any = None, ax: Any = None) -> Self:
        """Draw a `Predictions` object, such as the attribute `predictions` of the result of `cross_validate`.

        Parameters
        ----------
        answers : Predictions
            The predictions, with the true classes.
        costs : array-like of shape (n_classes, n_classes), optional
            Cost matrix.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        ConfusionDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, cross_validate, samples
        >>> from countwise.plots import ConfusionDisplay
        >>> tennis = samples.load("tennis")
        >>> found = cross_validate(NaiveBayesClassifier(), tennis.X, tennis.y, cv=7)
        >>> ConfusionDisplay.from_answers(found.predictions).ax_.get_xlabel()
        'predicted class'
        """
        return cls(answers.table, classes=answers.classes, costs=costs).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the confusion matrix.

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
        >>> from countwise.plots import ConfusionDisplay
        >>> ConfusionDisplay([[8, 2], [1, 9]], classes=["no", "yes"]).plot().ax_.get_ylabel()
        'true class'
        """
        k = len(self.classes)
        side = min(max(3.2, 0.55 * k + 1.8), 12.0)
        ax = self._place(ax, (side + 0.6, side))
        rows = self.table.sum(axis=1, keepdims=True)
        proportion = np.divide(self.table, rows, out=np.zeros_like(self.table), where=rows > 0)
        ax.imshow(proportion, cmap="Blues", vmin=0, vmax=1.15, aspect="equal")
        small = 10 if k <= 6 else 8 if k <= 12 else 6
        self.text_ = np.empty((k, k), dtype=object)
        for i in range(k):
            for j in range(k):
                n, cost = self.table[i, j], 0.0 if self.costs is None else self.costs[i, j]
                text = (number(n) if n < 1e6 else f"{n:.3g}") + (f"\n× {number(cost)}" if cost else "")
                ink = "white" if proportion[i, j] > 0.62 else DARK
                self.text_[i, j] = ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=small)
        names = [shortened(str(c), 90, 10) for c in self.classes]
        if len(set(names)) < len(names):  # shorten at the start if the ends distinguish the names
            names = [shortened(str(c)[::-1], 90, 10)[::-1] for c in self.classes]
        ax.set_xticks(range(k), names, fontsize=min(small + 1, 9))
        ax.set_yticks(range(k), names, fontsize=min(small + 1, 9))
        if k > 4 or max(map(len, names)) > 8:
            _tilt(ax)
        ax.tick_params(length=0)
        for edge in np.arange(k + 1) - 0.5:  # grid lines separate light cells
            ax.axhline(edge, color="#c9d2dd", linewidth=0.6)
            ax.axvline(edge, color="#c9d2dd", linewidth=0.6)
        ax.set(xlabel="predicted class", ylabel="true class")
        if self.costs is not None:
            mean = float((self.table * self.costs).sum() / max(float(self.table.sum()), 1e-300))
            ax.set_title(f"mean cost {mean:.4g}", loc="left", fontsize=10)
        literal(ax)
        return self


class DensityDisplay(Display):
    """Distribution of an attribute in each class: densities of numbers, probabilities of values, counts and bins.

    Parameters
    ----------
    attribute : str
        Name of the attribute.
    values : sequence
        The numbers at which densities are given, or the labels of the bars.
    curves : mapping of class to array-like
        The density or the probability at each value.
    kind : {'density', 'counts', 'bars'}, default='density'
        Draw lines of densities, lines of probabilities of counts, or bars of probabilities.
    rule : str, default=''
        Description of the distribution, for the title.
    prior : bool, default=False
        Whether the curves are already multiplied by the class frequencies, for the label of the y axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.plots import DensityDisplay
    >>> birds = samples.load("penguins")
    >>> model = NaiveBayesClassifier().fit(birds.X, birds.y)
    >>> shown = DensityDisplay.from_estimator(model, "bill_length_mm")
    >>> shown.kind, list(shown.curves), len(shown.ax_.lines)
    ('density', ['Adelie', 'Chinstrap', 'Gentoo'], 3)
    >>> DensityDisplay.from_estimator(model, "sex").values
    ['female', 'male']
    """

    _whose = " in each class"

    def __init__(
        self, attribute: str, *, values: Any, curves: Mapping[Any, Any], kind: str = "density", rule: str = "",
        prior: bool = False,
    ) -> None:  # fmt: skip
        if kind not in ("density", "counts", "bars"):
            raise OptionError(f"kind must be 'density', 'counts' or 'bars', not {kind!r}.")
        self.attribute, self.kind, self.rule, self.prior = attribute, kind, rule, prior
        self.values = list(values) if kind == "bars" else np.asarray(values, dtype=np.float64)
        self.curves = {c: np.asarray(heights, dtype=np.float64) for c, heights in curves.items()}
        if not self.curves or any(len(heights) != len(self.values) for heights in self.curves.values()):
            raise TableError("curves needs at least one class, with a density or probability for each value.")

    @classmethod
    def from_estimator(cls, estimator: Any, attribute: str, *, prior: bool = False, ax: Any = None) -> Self:
        """Draw the distribution of an attribute in a fitted model.

        Parameters
        ----------
        estimator : NaiveBayesClassifier, DiscriminantClassifier, ParzenClassifier or ParzenDensity
            A fitted model. For a model of whole rows the marginal distribution of the attribute is drawn.
        attribute : str
            Name of the column.
        prior : bool, default=False
            Whether to multiply each distribution by the frequency of its class. The lines then cross where the
            prediction from this attribute alone changes.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        DensityDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.plots import DensityDisplay
        >>> tennis = samples.load("tennis")
        >>> DensityDisplay.from_estimator(NaiveBayesClassifier().fit(tennis.X, tennis.y), "wind").kind
        'bars'
        """
        density = _density(estimator, attribute)
        grid = density.grid()
        if grid is None or not len(grid):
            raise OptionError(f"The distribution of {attribute!r} cannot be drawn: {density.rule}.")
        if getattr(density, "constant", False) or (not hasattr(density, "of") and not np.ptp(grid) > 0):
            raise OptionError(f"{attribute!r} is constant; there is no distribution to draw.")
        logs = np.zeros((len(grid), density.n_classes))
        density.add_log_prob(grid, logs)
        heights = np.exp(logs)
        classes = [plain(c) for c in getattr(estimator, "classes_", ["all rows"])]
        if prior and len(classes) > 1:
            heights = heights * (estimator.class_count_ / estimator.class_count_.sum())
        nominal = hasattr(density, "prob") and hasattr(density, "of")
        kind = "bars" if nominal else "counts" if hasattr(density, "rate") else "density"
        values = [density.label(grid, i) for i in range(len(grid))] if nominal else grid
        curves = {c: heights[:, i] for i, c in enumerate(classes)}
        shown = cls(attribute, values=values, curves=curves, kind=kind, rule=str(density.rule), prior=prior)
        shown._whose = " in each class" if hasattr(estimator, "classes_") else ""
        return shown.plot(ax)

    @classmethod
    def from_bandwidths(cls, density: Any, bandwidths: Any, *, cv: Any = None, ax: Any = None) -> Self:
        """Draw kernel densities of one column for several bandwidths.

        Parameters
        ----------
        density : ParzenDensity
            A fitted density of one numeric column; its own bandwidth is not used.
        bandwidths : array-like
            The bandwidths.
        cv : int, splitter, iterable of splits or None, default=None
            Folds to hold out for the log-likelihoods in the legend; None leaves out one row at a time. See
            `ParzenDensity.bandwidth_curve`.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        DensityDisplay
            The display. The legend has the log-likelihood of the training rows and of the held-out rows for each
            bandwidth.

        Examples
        --------
        >>> from countwise import ParzenDensity, samples
        >>> from countwise.plots import DensityDisplay
        >>> density = ParzenDensity().fit({"temp": samples.load("rain").X["temp"]})
        >>> shown = DensityDisplay.from_bandwidths(density, [1, 5])
        >>> list(shown.curves)
        ['h = 1: -12.13, held out -54.8', 'h = 5: -17.99, held out -19.38']
        """
        if not isinstance(density, ParzenDensity):
            raise OptionError(
                f"from_bandwidths draws a ParzenDensity, not a {type(density).__name__}.",
                hint="pass a fitted ParzenDensity of one numeric column.",
            )
        density._check_fitted()
        if not density._one_bandwidth:
            raise OptionError(
                f"Bandwidths are drawn for one numeric column; the density has {listed(density.bandwidths_)}.",
                hint="fit the density on one numeric column.",
            )
        curve = density.bandwidth_curve(bandwidths, cv=cv)
        kernels = density._kernels
        widest = max(curve["bandwidth"])
        values = _line(kernels.cells[:, 0], widest)
        curves = {
            f"h = {number(h)}: {train:.4g}, held out {held_out:.4g}": np.exp(
                kernels.with_bandwidths(np.array([h])).log_density(values[:, None])
            )
            for h, train, held_out in zip(*curve.values(), strict=True)
        }
        shown = cls(next(iter(density.bandwidths_)), values=values, curves=curves, rule=_LIKELIHOODS)
        shown._whose = ""
        return shown.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the distributions.

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
        >>> from countwise.plots import DensityDisplay
        >>> curves = {"no": [0.4, 0.6], "yes": [0.7, 0.3]}
        >>> DensityDisplay("wind", values=["Strong", "Weak"], curves=curves, kind="bars").plot().ax_.get_xlabel()
        'wind'
        """
        wide = min(len(self.values), _MOST_BARS) * len(self.curves) > 24 and self.kind == "bars"
        ax = self._place(ax, (9.0 if wide else 6.4, 4.0))
        if self.kind == "bars":
            self._bars(ax)
        else:
            for i, (c, heights) in enumerate(self.curves.items()):
                ax.plot(
                    self.values, heights, label=str(c), **line(i, len(heights), most=40 if len(heights) < 41 else 8)
                )
        ax.set_ylim(bottom=0)
        if self.rule:
            ax.set_title(self.rule, loc="left", fontsize=9)
        quantity = "density" if self.kind == "density" else "probability"
        return self._labeled(self.attribute, f"{quantity} × P(class)" if self.prior else f"{quantity}{self._whose}")

    def _bars(self, ax: Any) -> None:
        every = np.stack(list(self.curves.values()))
        # draw the most probable values only, in their original order
        kept = np.sort(np.argsort(-every.max(axis=0), kind="stable")[:_MOST_BARS])
        k, at = len(self.curves), np.arange(len(kept))
        width = 0.8 / k
        for i, (c, heights) in enumerate(self.curves.items()):
            ax.bar(at + (i - (k - 1) / 2) * width, heights[kept], width, label=str(c), color=look(i)[0], alpha=0.75,
                   hatch=HATCHES[i % len(HATCHES)], edgecolor="white", linewidth=0.5)  # fmt: skip
        if len(kept) < len(self.values):
            ax.bar([0], [0], label=f"and {len(self.values) - len(kept):,} more values", color="none")
        names = [shortened(str(self.values[j]), 110, 9) for j in kept.tolist()]
        ax.set_xticks(at, names, fontsize=9)
        if sum(map(len, names)) > 60 or max(map(len, names)) > 70 // max(len(names), 1):
            _tilt(ax)


def _tilt(ax: Any) -> None:
    """Rotate the labels of the x axis."""
    ax.tick_params(axis="x", labelrotation=35)
    for label in ax.get_xticklabels():
        label.set_ha("right")
        label.set_rotation_mode("anchor")


class _Marginal:
    """Marginal density of one attribute of a model of whole rows, in each class."""

    def __init__(self, density: Any, attribute: str) -> None:
        self.j, self.density, self.rule = density.names.index(attribute), density, density.rule
        self.n_classes = density.n_classes
        if hasattr(density, "by_class"):
            self.margins = [one.margin(self.j) for one in density.by_class]
            self.attribute = density.attributes[self.j]
            if isinstance(self.attribute, Nominal):  # drawn as bars
                self.prob, self.of = self.margins, self.attribute

    def grid(self) -> Floats:
        if not hasattr(self, "margins"):
            mean, sd = self.density.mean[:, self.j], self._sd()
            return np.linspace((mean - 4 * sd).min(), (mean + 4 * sd).max(), 801)
        if isinstance(self.attribute, Nominal):
            return np.arange(len(self.attribute.values), dtype=np.float64)
        cells = np.concatenate([one.cells[:, 0] for one in self.margins])
        return _line(cells, max(float(one.bandwidths[0]) for one in self.margins))

    def label(self, grid: Floats, i: int) -> str:
        return str(self.attribute.values[i])

    def add_log_prob(self, grid: Floats, out: Floats) -> None:
        if not hasattr(self, "margins"):
            z = (grid[:, None] - self.density.mean[:, self.j]) / self._sd()
            out += -0.5 * z * z - np.log(self._sd() * np.sqrt(2 * np.pi))
            return
        for c, one in enumerate(self.margins):
            out[:, c] += one.log_density(grid[:, None])

    def _sd(self) -> Floats:
        covariance = np.asarray(self.density.covariance)
        variance = np.broadcast_to(covariance[..., self.j, self.j], self.n_classes)
        return np.sqrt(variance)


def _line(cells: Floats, bandwidth: float) -> Floats:
    """Return numbers from three bandwidths below the smallest value to three above the largest."""
    known = cells[~np.isnan(cells)]
    return np.linspace(known.min() - 3 * bandwidth, known.max() + 3 * bandwidth, 801)


def _density(estimator: Any, attribute: str) -> Any:
    joint = getattr(estimator, "density_", None) or next(iter(getattr(estimator, "densities_", {}).values()), None)
    if isinstance(joint, JointDensity) and attribute in joint.names:
        return _Marginal(joint, attribute)
    if isinstance(joint, JointDensity):
        why = joint.left_out.get(attribute, "")
        raise OptionError(
            f"The model has no density of {attribute!r}{f': {why}' if why else ''}.",
            hint=did_you_mean(attribute, joint.names) or f"choose one of {listed(joint.names)}.",
        )
    parts = getattr(estimator, "terms_", None)
    if parts is None or not hasattr(estimator, "densities_"):
        raise OptionError(
            f"{type(estimator).__name__} has no distributions of single attributes, or is not fitted.",
            hint="use a fitted NaiveBayesClassifier, DiscriminantClassifier or ParzenClassifier.",
        )
    known = {name: part for part in parts for name in part.columns if not isinstance(part.derived, Absent)}
    if attribute not in known:
        hint = did_you_mean(attribute, known) or f"choose one of {listed(known)}."
        raise OptionError(f"The model has no attribute {attribute!r}.", hint=hint)
    part = known[attribute]
    if len(part.columns) > 1:
        raise OptionError(
            f"{attribute!r} has no separate distribution: the model describes {len(part.columns)} columns jointly."
        )
    return estimator.densities_[part.key]


class HistogramDisplay(Display):
    """Histogram of a numeric column, the rows of each class on top of each other, with the cut points of its bins.

    Parameters
    ----------
    values : mapping of class to array-like
        The values of the column in each class.
    edges : array-like of float
        The cut points.
    weights : mapping of class to array-like, optional
        The weight of each value. By default 1.
    name : str, default=''
        Name of the column.
    labels : sequence of str, optional
        The names of the bins, which are written above them.
    rule : str, default=''
        The discretization method, for the title.
    bars : int, optional
        The number of bars, of equal width. By default it follows from the number of values.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.
    limits : ndarray of shape (n_bars + 1,)
        The limits of the bars.
    heights : dict of class to ndarray
        The number of rows of each class in each bar.

    Examples
    --------
    >>> from countwise import Discretizer, samples
    >>> from countwise.plots import HistogramDisplay
    >>> birds = samples.load("penguins")
    >>> cutter = Discretizer("mdl").fit(birds.columns("flipper_length_mm"), birds.y)
    >>> shown = HistogramDisplay.from_discretizer(cutter, "flipper_length_mm")
    >>> shown.edges.tolist(), list(shown.heights)
    ([192.5, 206.5], ['Adelie', 'Chinstrap', 'Gentoo'])
    """

    def __init__(
        self, values: Mapping[Any, Any], edges: Any, *, weights: Mapping[Any, Any] | None = None, name: str = "",
        labels: Sequence[str] = (), rule: str = "", bars: int | None = None,
    ) -> None:  # fmt: skip
        check_number("bars", bars, 1, most=_MOST_CELLS, none=True, whole=True)
        if not isinstance(values, Mapping) or not values:
            raise TableError("values must be a mapping of class to the values of the column.")
        if isinstance(labels, str) or not isinstance(labels, Sequence) or not all(isinstance(t, str) for t in labels):
            raise OptionError(f"labels must be a list of names, not {labels!r}.")
        if weights is not None and (not isinstance(weights, Mapping) or set(weights) != set(values)):
            raise TableError("weights must be a mapping of the same classes as values.")
        self.edges = np.sort(_numbers("edges", edges))
        self.name, self.labels, self.rule = str(name), tuple(labels), str(rule)
        given = {c: _numbers(f"The values of {c!r}", x) for c, x in values.items()}
        heavy = {c: np.ones(len(x)) if weights is None else _numbers("weights", weights[c]) for c, x in given.items()}
        if any(len(heavy[c]) != len(x) or not (heavy[c] >= 0).all() for c, x in given.items()):
            raise TableError("weights must have a number >= 0 for each value.")
        heavy = {c: w[np.isfinite(given[c])] for c, w in heavy.items()}
        given = {c: x[np.isfinite(x)] for c, x in given.items()}
        every = np.concatenate(list(given.values()))
        if not len(every):
            raise TableError(f"Every value{f' of {name!r}' if name else ''} is missing; there is nothing to draw.")
        low, high = float(every.min()), float(every.max())
        if not low < high:
            low, high = low - 0.5, high + 0.5
        n = sum(float(w.sum()) for w in heavy.values())
        wanted = int(np.clip(np.ceil(3 * np.cbrt(n)), 12, _MOST_DEFAULT)) if bars is None else int(bars)
        self.limits = np.linspace(low, high, wanted + 1)
        self.heights = {c: np.histogram(x, self.limits, weights=heavy[c])[0] for c, x in given.items()}

    @classmethod
    def from_discretizer(cls, discretizer: Any, column: str, *, bars: int | None = None, ax: Any = None) -> Self:
        """Draw a column with the cut points of a fitted discretizer.

        Parameters
        ----------
        discretizer : Discretizer
            A fitted discretizer.
        column : str
            A column that it discretizes.
        bars : int, optional
            The number of bars. By default it follows from the number of rows.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        HistogramDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import Discretizer, samples
        >>> from countwise.plots import HistogramDisplay
        >>> rain = samples.load("rain")
        >>> cutter = Discretizer("equal_width", n_bins=3).fit(rain.X, rain.y)
        >>> HistogramDisplay.from_discretizer(cutter, "temp").ax_.get_xlabel()
        'temp'
        """
        if not hasattr(discretizer, "report"):
            raise OptionError(f"A discretizer is needed, not {type(discretizer).__name__}.")
        report = discretizer.report(column)
        sets = dict(zip(report.classes, discretizer.tallies_[column].filled, strict=True))
        k = len(report.cuts.edges) + 1
        return cls(
            {plain(c): x for c, (x, _) in sets.items()},
            report.cuts.edges,
            weights={plain(c): w for c, (_, w) in sets.items()},
            name=column,
            labels=report.cuts.names,
            rule=f"{k} bin{'s' * (k > 1)} by {report.how}",
            bars=bars,
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the histogram with its cut points.

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
        >>> from countwise.plots import HistogramDisplay
        >>> HistogramDisplay({"no": [1, 2], "yes": [3, 4]}, [2.5], name="t").plot().ax_.get_ylabel()
        'rows'
        """
        ax = self._place(ax, (6.8, 4.0))
        below, width = np.zeros(len(self.limits) - 1), np.diff(self.limits)
        for i, (c, heights) in enumerate(self.heights.items()):
            ax.bar(self.limits[:-1], heights, width, bottom=below, align="edge", label=str(c), color=look(i)[0],
                   alpha=0.75, hatch=HATCHES[i % len(HATCHES)], edgecolor="white", linewidth=0.4)  # fmt: skip
            below = below + heights
        many = len(self.edges) > _MOST_CUTS
        for edge in self.edges.tolist():
            ax.axvline(edge, color=MARK, linestyle="--", linewidth=1.2, alpha=0.25 if many else 1.0)
        ends = [self.limits[0], *self.edges, self.limits[-1]]
        ax.set_xlim(min(ends) - width[0] / 2, max(ends) + width[0] / 2)
        ax.set_ylim(0, float(below.max()) * (1.18 if len(self.edges) and not many else 1.05))
        ax.yaxis.get_major_locator().set_params(integer=True)
        if not many:
            self._write(ax)
        if self.rule:
            ax.set_title(self.rule, loc="left", fontsize=9)
        if len(self.heights) == 1:
            return self._without_legend(ax)
        return self._labeled(self.name, "rows")

    def _without_legend(self, ax: Any) -> Self:
        ax.set(xlabel=self.name, ylabel="rows")
        literal(ax)
        return self

    def _write(self, ax: Any) -> None:
        """Write the cut points beside their lines, and the names of the bins between them."""
        low, high = ax.get_xlim()
        inside = ax.get_xaxis_transform()  # heights as proportions
        widths = np.diff(self.edges)
        unit = (high - low) / 440  # about one point of the font
        needed = max((text_width(number(e), 8) for e in self.edges.tolist()), default=0.0) * unit
        upright = len(widths) > 0 and float(widths.min()) < needed * 1.1
        for edge in self.edges.tolist():
            ax.annotate(number(edge), (edge, 0.985), xycoords=inside, xytext=(2, 0), textcoords="offset points",
                        va="top", ha="left", fontsize=8, color=MARK, rotation=90 if upright else 0)  # fmt: skip
        ends = np.concatenate([[low], self.edges, [high]])
        for label, a, b in zip(self.labels, ends[:-1], ends[1:], strict=False):
            ax.text((a + b) / 2, 0.9 if not upright else 0.8, shortened(label, (b - a) / unit, 9), transform=inside,
                    va="top", ha="center", fontsize=9, color=QUIET)  # fmt: skip


def _numbers(what: str, x: Any) -> Floats:
    """Return a column of numbers."""
    try:
        found = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.empty((0, 0))
    if found.ndim != 1:
        raise TableError(f"{what} must be a list of numbers, not {x!r}.")
    return found
