"""Decision regions, boundaries and contours of densities drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.base.generative import GenerativeClassifier
from countwise.data.columns import plain
from countwise.errors import OptionError, TableError
from countwise.plots.displays import DASHES, Display, line
from countwise.plots.plot_data import plot_data, spread_out
from countwise.plots.regions import Panel, RegionModel, Scene, check_resolution, scene, titled
from countwise.plots.style import DARK, QUIET, literal, look, pyplot, shades, shortened, wrapped

__all__ = ["BoundaryDisplay", "ContourDisplay", "draw"]

_SMALL = 8


def draw(scene: Scene, ax: Any) -> NDArray[Any]:
    """Draw a scene on the given axes, one for each panel, or on a new figure; return the axes."""
    places = _figure(scene) if ax is None else _given(ax, len(scene.panels))
    for i, (place, panel) in enumerate(zip(places, scene.panels, strict=True)):
        _draw_panel(place, panel, scene)
        if ax is None:  # only the lowest and the leftmost panels have axis labels
            lowest = i + scene.columns >= len(places)
            place.set_xlabel(scene.data.pair[0] * lowest)
            place.tick_params(labelbottom=lowest)
            place.set_ylabel(scene.data.pair[1] * (i % scene.columns == 0))
    if ax is None:
        _around_figure(places[0].figure, scene)
    else:
        _around_axes(places, scene)
    for place in places:
        literal(place)
    return places


def _figure(scene: Scene) -> NDArray[Any]:
    panels, columns = len(scene.panels), scene.columns
    rows = -(-panels // columns)
    size = (4.9, 4.4) if panels == 1 else (0.6 + (3.9 if columns == 2 else 3.3) * columns, 0.6 + 3.5 * rows)
    figure, grid = pyplot().subplots(
        rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    for place in grid.ravel()[panels:]:
        place.remove()
    return np.asarray(grid.ravel()[:panels])


def _given(ax: Any, panels: int) -> NDArray[Any]:
    places = np.asarray(ax, dtype=object).ravel()
    for place in places:
        if not hasattr(place, "imshow"):
            raise OptionError(f"ax must be matplotlib Axes, not {place!r}.")
    if len(places) != panels:
        raise OptionError(f"There are {panels} models and {len(places)} axes; each model needs its own axes.")
    return places


def _draw_panel(ax: Any, panel: Panel, scene: Scene) -> None:
    from matplotlib.collections import LineCollection

    limits = scene.data.limits
    ax.imshow(shades(panel.codes, panel.confidence), extent=limits.ravel(), origin="lower", aspect="auto",
              interpolation="nearest")  # fmt: skip
    lines = LineCollection(list(panel.lines), colors=DARK, linewidths=0.9, capstyle="round", label="boundary")
    ax.add_collection(lines, autolim=False)
    small = len(scene.shown) > 300
    for code in range(len(scene.classes)):
        rows = scene.shown[scene.codes[scene.shown] == code]
        if len(rows):
            color, mark = look(code)
            ax.scatter(*scene.data.xy[rows].T, s=12 if small else 26, c=color, marker=mark, edgecolors="white",
                       linewidths=0.5, label=str(scene.classes[code]), zorder=3)  # fmt: skip
    rows = scene.shown[panel.wrong[scene.shown]]
    if len(rows):
        ax.scatter(*scene.data.xy[rows].T, s=36 if small else 80, facecolors="none", edgecolors=DARK,
                   linewidths=0.8 if small else 1.1, alpha=1.0 if len(rows) <= 100 else 0.6, zorder=4,
                   label="misclassified")  # fmt: skip
    x, y = scene.data.pair
    ax.set(xlim=limits[0], ylim=limits[1], xlabel=x, ylabel=y)
    ax.tick_params(labelsize=_SMALL, color=QUIET)
    for spine in ax.spines.values():
        spine.set_color(QUIET)
        spine.set_linewidth(0.8)
    wide = 72 * ax.get_position().width * ax.figure.get_size_inches()[0]
    ax.set_title(shortened(panel.title, wide, 10.5), loc="left", fontsize=10.5, fontweight="bold", pad=19)
    ax.annotate(panel.subtitle, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", fontsize=_SMALL,
                color=QUIET)  # fmt: skip


def _handles(scene: Scene) -> list[Any]:
    from matplotlib.lines import Line2D

    dot = partial(Line2D, [], [], linestyle="none")
    handles = [
        dot(marker=look(code)[1], color=look(code)[0], markeredgecolor="white", markeredgewidth=0.5, markersize=6.5,
            label=str(value))
        for code, value in enumerate(scene.classes)
    ]  # fmt: skip
    if any(panel.wrong[scene.shown].any() for panel in scene.panels):
        handles.append(
            dot(marker="o", markerfacecolor="none", markeredgecolor=DARK, markersize=9, label="misclassified")
        )
    return handles


def _around_figure(figure: Any, scene: Scene) -> None:
    """Add a legend above and a caption below the panels of a new figure."""
    handles = _handles(scene)
    points = 72 * figure.get_size_inches()[0]
    widest = max(len(handle.get_label()) for handle in handles) + 4
    across = max(1, min(len(handles), int(points / 5 / widest)))
    figure.legend(handles=handles, loc="outside upper left", ncols=across, frameon=False,
                  fontsize=9, handletextpad=0.2, columnspacing=1.4, title=scene.data.target,
                  title_fontsize=9, alignment="left")  # fmt: skip
    if scene.caption:
        text = "\n".join(wrapped(scene.caption, points - 20, _SMALL))
        figure.supxlabel(text, x=0.012, ha="left", fontsize=_SMALL, color=QUIET)


def _around_axes(places: NDArray[Any], scene: Scene) -> None:
    """Add a legend and a caption within axes passed by the user."""
    places[-1].legend(handles=_handles(scene), fontsize=_SMALL, title=scene.data.target, title_fontsize=_SMALL)
    if scene.caption:
        first = places[0]
        wide = 72 * first.get_position().width * first.figure.get_size_inches()[0]
        first.annotate("\n".join(wrapped(scene.caption, wide, _SMALL - 1)), (0, 0), (0, -36), va="top", color=QUIET,
                       xycoords="axes fraction", textcoords="offset points", fontsize=_SMALL - 1)  # fmt: skip


class BoundaryDisplay(Display):
    """Decision boundaries of several classifiers over two numeric attributes, in one picture.

    Parameters
    ----------
    pair : tuple of str
        The attributes on the x axis and on the y axis.
    lines : mapping of title to array-like of shape (segments, 2, 2)
        The line segments of each boundary.
    xy : array-like of shape (rows, 2)
        The rows to draw.
    labels : sequence
        The class of each row.
    limits : array-like of shape (2, 2)
        Minimum and maximum of each axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.

    See Also
    --------
    compare_boundaries : One panel for each classifier, with the regions.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from countwise import DiscriminantClassifier, samples
    >>> from countwise.plots import BoundaryDisplay
    >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
    >>> models = {"discriminant": DiscriminantClassifier(), "logistic regression": LogisticRegression()}
    >>> shown = BoundaryDisplay.from_estimator(models, weather, "play", resolution=50)
    >>> list(shown.lines)
    ['discriminant (3 of 14 rows misclassified)', 'logistic regression (3 of 14 rows misclassified)']
    """

    def __init__(self, pair: Any, *, lines: Mapping[str, Any], xy: Any, labels: Any, limits: Any) -> None:
        self.pair = tuple(map(str, pair))
        self.lines = {str(title): np.asarray(parts, dtype=np.float64) for title, parts in lines.items()}
        self.xy, self.limits = np.asarray(xy, dtype=np.float64), np.asarray(limits, dtype=np.float64)
        self.labels = list(labels)
        if len(self.pair) != 2 or self.xy.shape != (len(self.labels), 2) or self.limits.shape != (2, 2):
            raise TableError(
                "The picture needs two attributes, two numbers and a class for each row, and two limits."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, attributes: Any = None, *, at: Any = None, resolution: int = 200,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the boundaries of classifiers, scikit-learn's too.

        Parameters
        ----------
        estimator : mapping of title to classifier, list of classifiers, or classifier
            The classifiers. An unfitted one is cloned and fitted on the two attributes only; a fitted one predicts
            rows in which its other columns are held fixed.
        X : any table
            The rows.
        y : array-like or str
            The class of each row, or the name of its column in X.
        attributes : sequence of two attributes, optional
            The attributes on the x axis and on the y axis. By default the only two numeric attributes.
        at : mapping of column to value, optional
            Fixed values of the other columns; see `compare_boundaries`.
        resolution : int, default=200
            Number of points along each axis, at least 10.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        BoundaryDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier, ParzenClassifier, samples
        >>> from countwise.plots import BoundaryDisplay
        >>> birds = samples.load("penguins")
        >>> shown = BoundaryDisplay.from_estimator([DiscriminantClassifier(), ParzenClassifier()], birds.X, birds.y,
        ...                                        ("bill_length_mm", "bill_depth_mm"), resolution=40)
        >>> len(shown.lines), shown.ax_.get_xlabel()
        (2, 'bill_length_mm')
        """
        check_resolution(resolution)
        made = scene(plot_data(X, y, attributes), titled(estimator), at, resolution, probabilities=False)
        lines = {f"{panel.title} ({panel.subtitle.partition(';')[0]})": panel.lines for panel in made.panels}
        return cls(
            made.data.pair, lines=lines, xy=made.data.xy[made.shown], limits=made.data.limits,
            labels=[made.classes[code] for code in made.codes[made.shown].tolist()],
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw the boundaries.

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
        >>> from countwise.plots import BoundaryDisplay
        >>> lines = {"x = 1": [[[1.0, 0.0], [1.0, 2.0]]]}
        >>> shown = BoundaryDisplay(("x", "y"), lines=lines, xy=[[0.5, 1.0]], labels=["no"], limits=[[0, 2], [0, 2]])
        >>> shown.plot().ax_.get_ylabel()
        'y'
        """
        from matplotlib.collections import LineCollection

        ax = self._place(ax, (6.4, 4.8))
        classes = _points(ax, self.xy, self.labels)
        for i, (title, parts) in enumerate(self.lines.items()):
            style = line(classes + i, 2)
            chains = _chained(parts)
            ax.add_collection(
                LineCollection(chains, colors=style["color"], linestyles=[DASHES[i % len(DASHES)]], linewidths=2.0),
                autolim=False,
            )
            ax.plot([], [], color=style["color"], linestyle=DASHES[i % len(DASHES)], linewidth=2.0, label=title)
        ax.set(xlim=self.limits[0], ylim=self.limits[1])
        self._labeled(*self.pair)
        below = (0.0, -0.13)  # a legend on the axes would cover the boundaries
        ax.legend(loc="upper left", bbox_to_anchor=below, ncols=2, frameon=False, fontsize=8, handlelength=3.2)
        literal(ax)
        return self


class ContourDisplay(Display):
    """Contours of the density p(x | class) of each class over two numeric attributes.

    Parameters
    ----------
    pair : tuple of str
        The attributes on the x axis and on the y axis.
    xs, ys : array-like
        The numbers on the axes.
    densities : mapping of class to array-like of shape (len(ys), len(xs))
        The density of each class.
    xy : array-like of shape (rows, 2), default=()
        The rows to draw.
    labels : sequence, default=()
        The class of each row.
    levels : sequence of float, default=(0.05, 0.2, 0.4, 0.6, 0.8)
        The contours, as fractions of the largest density of the class.
    target : str, default='class'
        Name of the class.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from countwise import DiscriminantClassifier, samples
    >>> from countwise.plots import ContourDisplay
    >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
    >>> shown = ContourDisplay.from_estimator(DiscriminantClassifier("own"), weather, "play", resolution=40)
    >>> list(shown.densities), shown.ax_.get_xlabel()
    (['no', 'yes'], 'temperature')
    """

    def __init__(
        self, pair: Any, *, xs: Any, ys: Any, densities: Mapping[Any, Any], xy: Any = (), labels: Any = (),
        levels: Any = (0.05, 0.2, 0.4, 0.6, 0.8), target: str = "class",
    ) -> None:  # fmt: skip
        self.pair, self.target = tuple(map(str, pair)), target
        self.xs, self.ys = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
        self.densities = {c: np.asarray(field, dtype=np.float64) for c, field in densities.items()}
        self.xy, self.labels = np.asarray(xy, dtype=np.float64).reshape(-1, 2), list(labels)
        try:
            self.levels = sorted({float(level) for level in levels})
        except (TypeError, ValueError):
            self.levels = []
        if not self.levels or not 0 < self.levels[0] <= self.levels[-1] < 1:
            raise OptionError(f"levels must be fractions between 0 and 1, not {levels!r}.")
        if any(field.shape != (len(self.ys), len(self.xs)) for field in self.densities.values()):
            raise TableError(f"Each density must have {len(self.ys)} rows and {len(self.xs)} columns.")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, attributes: Any = None, *, levels: Any = (0.05, 0.2, 0.4, 0.6, 0.8),
        resolution: int = 120, ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw the densities of a discriminant, a Parzen classifier, or naive Bayes.

        Parameters
        ----------
        estimator : DiscriminantClassifier, ParzenClassifier or NaiveBayesClassifier
            The classifier. An unfitted one is fitted on the two attributes; the other columns of a fitted one are
            integrated out.
        X : any table
            The rows.
        y : array-like or str
            The class of each row, or the name of its column in X.
        attributes : sequence of two attributes, optional
            The attributes on the x axis and on the y axis. By default the only two numeric attributes.
        levels : sequence of float, default=(0.05, 0.2, 0.4, 0.6, 0.8)
            The contours, as fractions of the largest density of the class.
        resolution : int, default=120
            Number of points along each axis, at least 10.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        ContourDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import ParzenClassifier, samples
        >>> from countwise.plots import ContourDisplay
        >>> birds = samples.load("penguins")
        >>> model = ParzenClassifier().fit(birds.columns("bill_length_mm", "bill_depth_mm"), birds.y)
        >>> shown = ContourDisplay.from_estimator(model, birds.X, birds.y, ("bill_length_mm", "bill_depth_mm"),
        ...                                       resolution=30)
        >>> [field.shape for field in shown.densities.values()]
        [(30, 30), (30, 30), (30, 30)]
        """
        check_resolution(resolution)
        if not isinstance(estimator, GenerativeClassifier):
            raise OptionError(
                f"{type(estimator).__name__} has no density p(x | class).",
                hint="use a DiscriminantClassifier, ParzenClassifier or NaiveBayesClassifier.",
            )
        data = plot_data(X, y, attributes)
        model = RegionModel.of(type(estimator).__name__, estimator, data).model
        wide = 0.1 * (data.limits[:, 1] - data.limits[:, 0])
        ends = zip(data.limits[:, 0] - wide, data.limits[:, 1] + wide, strict=True)
        xs, ys = (np.linspace(low, high, resolution) for low, high in ends)
        moving = {data.pair[0]: np.tile(xs, resolution), data.pair[1]: np.repeat(ys, resolution)}
        gone = np.full(resolution * resolution, None, dtype=object)
        logs = model.predict_joint_log_proba({name: moving.get(name, gone) for name in model.schema_})
        shown = spread_out(data.xy)
        fields = {
            plain(c): np.exp(logs[:, i] - model.log_prior_[i]).reshape(resolution, resolution)
            for i, c in enumerate(model.classes_)
            if np.isfinite(model.log_prior_[i])
        }
        return cls(
            data.pair, xs=xs, ys=ys, densities=fields, xy=data.xy[shown], levels=levels,
            labels=[plain(c) for c in data.y[shown]], target=data.target or model.target_.name,
        ).plot(ax)  # fmt: skip

    def plot(self, ax: Any = None) -> Self:
        """Draw the contours.

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
        >>> from countwise.plots import ContourDisplay
        >>> shown = ContourDisplay(("x", "y"), xs=[0, 1], ys=[0, 1], densities={"no": [[0.1, 0.2], [0.3, 1.0]]})
        >>> shown.plot().ax_.get_xlabel()
        'x'
        """
        ax = self._place(ax, (6.4, 4.8))
        _points(ax, self.xy, self.labels, list(self.densities))
        for i, (c, field) in enumerate(self.densities.items()):
            peak = float(np.nanmax(field, initial=0.0))
            color = look(i)[0]
            if peak > 0 and np.isfinite(peak):
                heights = [level * peak for level in self.levels]
                ax.contour(self.xs, self.ys, field, levels=heights, colors=color, linewidths=1.3,
                           linestyles=[DASHES[i % len(DASHES)]])  # fmt: skip
            if c not in self.labels:
                ax.plot([], [], color=color, label=str(c))
        ax.set(xlim=(self.xs[0], self.xs[-1]), ylim=(self.ys[0], self.ys[-1]))
        ax.set_title(f"p({self.pair[0]}, {self.pair[1]} | {self.target})", loc="left", fontsize=9)
        return self._labeled(*self.pair)


def _points(ax: Any, xy: Any, labels: list[Any], classes: list[Any] | None = None) -> int:
    """Draw the rows of each class, and return the number of classes."""
    every = list(dict.fromkeys([*(classes or ()), *sorted(set(labels), key=str)]))
    codes = np.array([every.index(label) for label in labels], dtype=np.int64)
    for code, label in enumerate(every):
        if (codes == code).any():
            color, mark = look(code)
            ax.scatter(*xy[codes == code].T, s=12 if len(labels) > 300 else 26, c=color, marker=mark,
                       edgecolors="white", linewidths=0.5, alpha=0.8, label=str(label), zorder=3)  # fmt: skip
    return len(every)


def _chained(parts: NDArray[Any]) -> list[NDArray[Any]]:
    """Join line segments that share an end, so that dashes run along the whole line."""
    if not len(parts):
        return []
    scale = np.where(np.ptp(parts.reshape(-1, 2), axis=0) > 0, np.ptp(parts.reshape(-1, 2), axis=0), 1.0)
    keys = [tuple(map(tuple, ends)) for ends in np.round(parts / scale, 9).tolist()]
    at: dict[Any, list[int]] = {}
    for i, ends in enumerate(keys):
        for end in ends:
            at.setdefault(end, []).append(i)
    left, chains = set(range(len(parts))), []
    while left:
        first = left.pop()
        chain = [parts[first][0], parts[first][1]]
        for side in (1, 0):  # forward from the second end, then backward from the first
            key = keys[first][side]
            while (after := next((i for i in at[key] if i in left), None)) is not None:
                left.remove(after)
                other = 1 if keys[after][0] == key else 0
                chain.insert(len(chain) if side else 0, parts[after][other])
                key = keys[after][other]
        chains.append(np.array(chain))
    return chains
