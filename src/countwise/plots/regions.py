"""Decision regions and decision boundaries of classifiers over two attributes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats, Indices
from countwise.data.columns import plain
from countwise.data.frames import Frame
from countwise.data.output import chosen, library_of, rebuilt, rows_of
from countwise.errors import (
    DataWarning,
    NumberIn,
    OptionError,
    TableError,
    check_flag,
    check_value,
    did_you_mean,
    listed,
)
from countwise.plots.plot_data import MOST, FixedValue, PlotData, moved, plot_data, spread_out, still

__all__ = ["Panel", "RegionModel", "Scene", "boundary", "check_resolution", "compare_boundaries", "scene", "titled"]

_MOST_PIXELS = 10_000  # of each side


def compare_boundaries(
    models: Any,
    X: Any,
    y: Any,
    attributes: Any = None,
    *,
    at: Any = None,
    resolution: int = 200,
    probabilities: bool = True,
    kind: str = "matplotlib",
    ax: Any = None,
) -> Any:
    """Draw the decision regions of classifiers over two numeric attributes, with one panel for each model.

    The rows of the table are drawn on top; misclassified rows have a ring. The number of misclassified rows is below
    the title of each panel.

    Parameters
    ----------
    models : mapping of title to classifier, list of classifiers, or classifier
        Classifiers with `fit` and `predict`, including pipelines. An unfitted classifier is cloned and fitted on the
        two attributes only. A fitted classifier predicts rows in which its other columns are held fixed.
    X : any table
        A pandas, Polars or PyArrow table, a mapping of columns, a list of dicts, or an array. Models receive this
        type of table; models that do not accept a mapping receive an array.
    y : array-like or str
        The class of each row, or the name of its column in X.
    attributes : sequence of two attributes, optional
        The attributes on the x axis and on the y axis: names, or positions in an array. By default the only two
        numeric attributes.
    at : mapping of column to value, optional
        Fixed values of the other columns of fitted models. By default the median of numeric columns (an observed
        value for integers) and the most frequent value of other columns.
    resolution : int, default=200
        Number of pixels along each axis, at least 10.
    probabilities : bool, default=True
        Whether regions are paler where the model is less confident, if it has `predict_proba`.
    kind : {'matplotlib', 'svg'}, default='matplotlib'
        'matplotlib' draws on axes; 'svg' returns an SVG document and does not need matplotlib.
    ax : matplotlib Axes or sequence of Axes, optional
        Axes to draw on, one for each model. By default those of a new figure.

    Returns
    -------
    ndarray of matplotlib Axes, or str
        The axes of the panels, or the SVG document.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.plots import compare_boundaries
    >>> weather = samples.load("weather")
    >>> two = {"Gaussian naive Bayes": NaiveBayesClassifier(), "logistic regression": LogisticRegression()}
    >>> picture = compare_boundaries(two, weather.frame, "play", resolution=60, kind="svg")
    >>> picture[:4], "5 of 14 rows misclassified" in picture
    ('<svg', True)
    """
    check_value("kind", kind, ("matplotlib", "svg"))
    check_resolution(resolution)
    probabilities = check_flag("probabilities", probabilities)
    if kind == "svg" and ax is not None:
        raise OptionError(
            "ax cannot be combined with kind='svg'; only matplotlib draws on axes.", hint="drop ax or kind."
        )
    made = scene(plot_data(X, y, attributes), titled(models), at, resolution, probabilities)
    if kind == "svg":
        from countwise.plots.regions_svg import render

        return render(made)
    from countwise.plots.regions_mpl import draw

    return draw(made, ax)


def check_resolution(resolution: Any) -> None:
    """Check the number of points along each axis."""
    if resolution not in NumberIn(10, _MOST_PIXELS, whole=True):
        raise OptionError(f"resolution must be an integer >= 10, not {resolution!r}.", hint="use 100 to 1000.")


def titled(models: Any) -> Mapping[str, Any]:
    """Return the models by title; raise an error if there are none."""
    named = by_title(models)
    if not named:
        raise OptionError(
            "models is empty; at least one model is needed.",
            hint='pass a dict such as {"naive Bayes": NaiveBayesClassifier()}.',
        )
    return named


# -- content of the panels ----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The predictions of one model."""

    title: str
    alone: bool  # whether it was fitted for the plot, on the two attributes only
    codes: Indices  # the class at the center of each pixel, from the bottom row up
    confidence: Floats | None  # probability of the predicted class minus that of the next one
    lines: Floats  # the decision boundary, of shape (segments, 2, 2)
    wrong: Flags  # mask of the misclassified rows

    @property
    def subtitle(self) -> str:
        """The number of misclassified rows, and a remark if the model was fitted for the plot."""
        error = f"{int(self.wrong.sum())} of {len(self.wrong)} row{'s' * (len(self.wrong) != 1)} misclassified"
        return f"{error}; fitted on these two" if self.alone else error


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The content of a plot, independent of the backend."""

    data: PlotData
    classes: tuple[Any, ...]  # the classes of the rows, followed by those that only a model has
    codes: Indices  # the class code of each row
    shown: Indices  # the rows that are drawn
    panels: list[Panel]
    caption: str

    @property
    def columns(self) -> int:
        """The number of panels side by side: up to four."""
        return 3 if len(self.panels) in (5, 6, 9) else min(len(self.panels), 4)


def by_title(models: Any) -> Mapping[str, Any]:
    """Return models by title; models of a list, or a single model, get the names of their classes."""
    if isinstance(models, Mapping):
        return {str(title): model for title, model in models.items()}
    several = list(models) if isinstance(models, list | tuple) else [models]
    names = [type(_step(model, -1)).__name__ for model in several]
    titles = [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name for i, name in enumerate(names)
    ]
    return dict(zip(titles, several, strict=True))


def _step(model: Any, which: int) -> Any:
    """Return the first or the last step of a pipeline, or the model itself."""
    while hasattr(model, "steps"):
        model = model.steps[which][1]
    return model


def scene(data: PlotData, models: Mapping[str, Any], at: Any, resolution: int, probabilities: bool) -> Scene:
    """Predict every pixel and every row by every model."""
    fixed_values = still(data.frame, at, data.pair)
    fitted = {title: RegionModel.of(title, model, data) for title, model in models.items()}
    known = (plain(c) for one in fitted.values() for c in np.asarray(getattr(one.model, "classes_", ())).tolist())
    classes = tuple(dict.fromkeys((*data.classes, *known)))
    codes = _codes(data.y, classes, "y")
    panels = [_panel(title, one, data, fixed_values, classes, codes, resolution) for title, one in fitted.items()]
    if not probabilities:
        panels = [replace(panel, confidence=None) for panel in panels]
    shown = spread_out(data.xy)
    others = dict.fromkeys(name for one in fitted.values() for name in one.frame.names if name not in data.pair)
    caption = _caption(data, {name: fixed_values[name] for name in others}, panels, len(shown))
    return Scene(data, classes, codes, shown, panels, caption)


def _caption(data: PlotData, others: Mapping[str, FixedValue], panels: list[Panel], shown: int) -> str:
    sentences = list(data.notes)
    if shown < len(data.rows):
        sentences.append(f"{MOST} of {len(data.rows)} rows are drawn.")
    if any(panel.confidence is not None for panel in panels):
        sentences.append("Paler colors: less confident predictions.")
    if others:
        parts = [f"{name} = {value.text}" for name, value in list(others.items())[:6]]
        rest = len(others) - len(parts)
        words = ", ".join(parts) + (f" and {rest} more" if rest else "")
        sentences.append(f"Regions hold {words} fixed; the rows have their own values.")
    return " ".join(sentences)


# -- one model ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RegionModel:
    """A fitted model with the columns that it uses, in a container that it accepts."""

    model: Any
    X: Any
    frame: Frame
    alone: bool

    @classmethod
    def of(cls, title: str, model: Any, data: PlotData) -> RegionModel:
        """Return a fitted model as it is, and an unfitted one fitted on the two attributes."""
        if isinstance(model, type) or not hasattr(model, "predict"):
            made = f"an instance, {model.__name__}()" if isinstance(model, type) else "an object with fit and predict"
            raise OptionError(f"The model {title!r} is not a classifier: {model!r}.", hint=f"pass {made}.")
        fitted = _is_fitted(model)
        names = _taken(title, model, data) if fitted else list(data.pair)
        X, frame = data.X, data.frame
        if names != list(frame.names):
            places = [frame.names.index(name) for name in names]
            X = chosen(X, frame, places)
            frame = Frame({name: frame.columns[name] for name in names}, frame.n_rows, frame.named)
        # models of this package accept a mapping of columns
        if library_of(X) == "mapping" and type(_step(model, 0)).__module__.partition(".")[0] != "countwise":
            X = rebuilt(X, frame, dict.fromkeys(frame.names), "array")
        if not fitted:
            from sklearn.base import clone

            model = clone(model, safe=False).fit(rows_of(X, data.rows), data.y)
        return cls(model, X, frame, not fitted)


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(model, "fit"):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _taken(title: str, model: Any, data: PlotData) -> list[str]:
    """Return the columns that a fitted model was trained on, or all columns if it does not record them."""
    own = getattr(model, "feature_names_in_", None)
    if own is None or not data.frame.named:
        return list(data.frame.names)
    names = [str(name) for name in own]
    for name in data.pair:
        if name not in names:
            raise OptionError(
                f"The model {title!r} was not fitted on {name!r}, which is one of the two attributes.",
                hint=f"use two of {listed(names)}, or pass an unfitted model.",
            )
    for name in names:
        if name not in data.frame.columns:
            hint = did_you_mean(name, data.frame.columns) or f"add the column {name!r} to X."
            raise TableError(f"The model {title!r} was fitted on {name!r}, but X has no such column.", hint=hint)
    return names


def _panel(
    title: str, fitted: RegionModel, data: PlotData, fixed_values: Mapping[str, FixedValue],
    classes: tuple[Any, ...], truth: Indices, resolution: int,
) -> Panel:  # fmt: skip
    # the centers of the pixels
    xs, ys = (low + (np.arange(resolution) + 0.5) * (high - low) / resolution for low, high in data.limits)
    moving = {data.pair[0]: np.tile(xs, resolution), data.pair[1]: np.repeat(ys, resolution)}
    places = moved(fitted.X, fitted.frame, moving, fixed_values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the rows are pixels, not the user's data
        codes = _codes(fitted.model.predict(places), classes, title)
        scores, probabilities = _scores(fitted.model, places, classes)
    shape = resolution, resolution
    confidence = _confidence(scores, codes).reshape(shape) if scores is not None and probabilities else None
    field = None if scores is None else scores.reshape(*shape, -1)
    lines = _to_the_edge(codes.reshape(shape), field, xs, ys, data.limits)
    wrong = _codes(fitted.model.predict(rows_of(fitted.X, data.rows)), classes, title) != truth
    return Panel(title, fitted.alone, codes.reshape(shape), confidence, lines, wrong)


def _codes(labels: Any, classes: tuple[Any, ...], who: str) -> Indices:
    """Return the codes of class labels."""
    places = {value: code for code, value in enumerate(classes)}
    values = np.asarray(labels).ravel().tolist()
    odd = next((value for value in values if value not in places), None)
    if odd is not None:
        raise OptionError(
            f"The model {who!r} predicts {odd!r}, which is not a class of y; y has {listed(classes)}.",
            hint="use a model that was fitted on the same classes.",
        )
    return np.array([places[value] for value in values], dtype=np.int64)


def _scores(model: Any, X: Any, classes: tuple[Any, ...]) -> tuple[Floats | None, bool]:
    """Return the class scores of a model for a smooth boundary, and whether they are probabilities."""
    probabilities = hasattr(model, "predict_proba")
    if not hasattr(model, "classes_") or not (probabilities or hasattr(model, "decision_function")):
        return None, False
    found = np.asarray(model.predict_proba(X) if probabilities else model.decision_function(X), dtype=np.float64)
    if found.ndim == 1:
        found = np.stack([-found, found], axis=1)
    if not probabilities and found.shape[1] != len(model.classes_):
        return None, False
    out = np.full((len(found), len(classes)), 0.0 if probabilities else -np.inf)
    out[:, _codes(model.classes_, classes, "the model")] = found
    return out, probabilities


def _confidence(probabilities: Floats, codes: Indices) -> Floats:
    """Return the probability of the predicted class minus that of the next one: 0 at the decision boundary."""
    if probabilities.shape[1] < 2:
        return np.ones(len(codes))
    row = np.arange(len(codes))
    others = probabilities.copy()
    others[row, codes] = -1.0
    return np.nan_to_num(np.clip(probabilities[row, codes] - others.max(axis=1), 0.0, 1.0))


def _to_the_edge(
    codes: NDArray[Any], scores: NDArray[Any] | None, xs: NDArray[Any], ys: NDArray[Any], limits: NDArray[Any]
) -> Floats:
    """Return the boundary, extended from the centers of the outermost pixels to the limits of the plot."""
    wider = [np.array([low, *places, high]) for places, (low, high) in zip((xs, ys), limits, strict=True)]
    field = None
    if scores is not None:
        sides = ((1, 1), (1, 1), (0, 0))
        with np.errstate(invalid="ignore"):  # linear extrapolation by half a pixel
            field = (np.pad(scores, sides, "edge") + np.pad(scores, sides, "reflect", reflect_type="odd")) / 2
    return boundary(np.pad(codes, 1, mode="edge"), field, *wider)


# -- lines between regions: marching squares ----------------------------------------


def boundary(codes: NDArray[Any], scores: NDArray[Any] | None, xs: NDArray[Any], ys: NDArray[Any]) -> NDArray[Any]:
    """Return the line segments between the regions of a grid, of shape (segments, 2, 2), by marching squares.

    Rows of the grid correspond to `ys`. The lines interpolate the points where two classes have equal scores; without
    scores they are halfway between pixels.
    """
    corners = _corners(codes)
    least, most = corners.min(axis=0), corners.max(axis=0)
    many = ((corners != least) & (corners != most)).any(axis=0)
    found = [np.empty((0, 2, 2))]
    for code in np.unique(codes):
        inside = codes == code
        mine = ((least == code) & (most > code)) | many  # each line once, except where three regions meet
        found.append(_segments(inside, _lead(scores, inside, int(code)), xs, ys, mine))
    return np.concatenate(found)


def _corners(values: NDArray[Any]) -> NDArray[Any]:
    """Return the four corners of each grid cell, counterclockwise from the lower left."""
    return np.stack([values[:-1, :-1], values[:-1, 1:], values[1:, 1:], values[1:, :-1]])


def _lead(scores: NDArray[Any] | None, inside: NDArray[Any], code: int) -> NDArray[Any]:
    """Return the score of a class minus the best score of the others."""
    if scores is None or scores.shape[2] < 2:
        return np.where(inside, 1.0, -1.0)
    return np.asarray(scores[..., code] - np.delete(scores, code, axis=2).max(axis=2))


def _segments(
    inside: NDArray[Any], lead: NDArray[Any], xs: NDArray[Any], ys: NDArray[Any], mine: NDArray[Any]
) -> NDArray[Any]:
    """Return the segments that join the crossings on the edges of each grid cell."""
    places = np.stack(np.broadcast_arrays(xs[None, :], ys[:, None]), axis=-1).astype(np.float64)
    x, y = (_corners(places[..., axis]) for axis in (0, 1))
    at, sign = _corners(lead), _corners(inside)
    after = [1, 2, 3, 0]
    crossed = (sign != sign[after]) & mine
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = at / (at - at[after])
    fraction = np.where(np.isfinite(fraction) & (fraction >= 0) & (fraction <= 1), fraction, 0.5)
    points = np.stack([x + fraction * (x[after] - x), y + fraction * (y[after] - y)], axis=-1)
    number = crossed.sum(axis=0)
    order = np.argsort(~crossed, axis=0, kind="stable")[:2]
    pairs = np.take_along_axis(points, order[..., None], axis=0)[:, number == 2]
    saddle = points[:, number == 4]  # two diagonal corners are connected; the other two are cut off
    return np.concatenate([pairs.swapaxes(0, 1), saddle[:2].swapaxes(0, 1), saddle[2:].swapaxes(0, 1)])
