"""Decision regions: what classifiers predict at every place of a picture, side by side."""

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
from countwise.errors import DataWarning, OptionError, TableError, did_you_mean, listed
from countwise.plots.plot_data import MOST, FixedValue, PlotData, moved, plot_data, spread_out, still

__all__ = ["Panel", "Scene", "boundary", "compare_boundaries"]


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
    """Draw the decision regions of classifiers over two numeric attributes, one panel a model.

    The rows are drawn on top, those that a model gets wrong with a ring. Under its title stands
    the training error.

    Parameters
    ----------
    models : mapping of title to classifier, list of classifiers, or classifier
        Countwise's, scikit-learn's, or anything with `fit` and `predict`; pipelines too. One that
        is not fitted is cloned, and the clone fitted on the two attributes alone. One that is
        fitted is asked about rows in which its other columns stand still.
    X : any table
        pandas, Polars, PyArrow, a mapping of columns, a list of dicts, an array. Fitted models get
        the kind of table that this is; what takes no mappings gets an array.
    y : array-like or str
        The classes, or the name of their column in X.
    attributes : sequence of two names, optional
        Which attributes, x before y; for an array positions, or "x0", "x1", ... By default the
        only two numeric ones.
    at : mapping of column to value, optional
        Where the other columns of fitted models stand still. By default numbers at their median
        (of whole numbers one that is there), names at their commonest value.
    resolution : int, default=200
        So many pixels along each axis.
    probabilities : bool, default=True
        Whether regions are paler where a model is less sure, if it has `predict_proba`.
    kind : {"matplotlib", "svg"}, default="matplotlib"
        Axes of matplotlib, or a string of SVG, for which matplotlib is not needed.
    ax : matplotlib Axes or sequence of them, optional
        Where to draw, one a model; by default a figure of its own.

    Returns
    -------
    ndarray of matplotlib Axes, or str

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.plots import compare_boundaries
    >>> weather = samples.load("weather")
    >>> two = {"Gaussian naive Bayes": NaiveBayesClassifier(), "logistic regression": LogisticRegression()}
    >>> picture = compare_boundaries(two, weather.frame, "play", resolution=60, kind="svg")
    >>> picture[:4], "5 of 14 rows wrong" in picture
    ('<svg', True)
    """
    if kind not in ("matplotlib", "svg"):
        hint = did_you_mean(kind, ("matplotlib", "svg")) or "give 'matplotlib' or 'svg'."
        raise OptionError(f"kind={kind!r} is unknown.", hint=hint)
    if isinstance(resolution, bool) or not isinstance(resolution, int) or resolution < 10:
        raise OptionError(
            f"resolution={resolution!r}: so many pixels along each axis, a whole number of at least 10."
        )
    if kind == "svg" and ax is not None:
        raise OptionError("ax is for matplotlib; an SVG has no axes to draw on.", hint="leave one of the two out.")
    named = by_title(models)
    if not named:
        raise OptionError(
            "There are no models to compare.", hint='for example {"naive Bayes": NaiveBayesClassifier()}.'
        )
    made = scene(plot_data(X, y, attributes), named, at, resolution, probabilities)
    if kind == "svg":
        from countwise.plots.regions_svg import render

        return render(made)
    from countwise.plots.regions_mpl import draw

    return draw(made, ax)


# -- what is drawn ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """What one model says."""

    title: str
    alone: bool  # whether it was fitted for the picture, on the two attributes alone
    codes: Indices  # the class at the center of each pixel, from the lowest row up
    sure: Floats | None  # by how much the probability of that class leads that of the next
    lines: Floats  # the boundary: shape (segments, 2, 2)
    wrong: Flags  # which rows it gets wrong

    @property
    def subtitle(self) -> str:
        """The training error, and what the model was fitted on if that is not the user's doing."""
        error = f"{int(self.wrong.sum())} of {len(self.wrong)} row{'s' * (len(self.wrong) != 1)} wrong"
        return f"{error}; fitted on these two alone" if self.alone else error


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """All that is to be drawn, by whatever draws."""

    ground: PlotData
    classes: tuple[Any, ...]  # those of the rows, then those that only a model knows
    codes: Indices  # the class of each row
    shown: Indices  # the rows that are drawn
    panels: list[Panel]
    caption: str

    @property
    def columns(self) -> int:
        """How many panels stand side by side: all of up to four, else rows of three or four."""
        return 3 if len(self.panels) in (5, 6, 9) else min(len(self.panels), 4)


def by_title(models: Any) -> Mapping[str, Any]:
    """Models by title: a mapping as it is, a list by the names of their classes, one on its own likewise."""
    if isinstance(models, Mapping):
        return {str(title): model for title, model in models.items()}
    several = list(models) if isinstance(models, list | tuple) else [models]
    names = [type(_step(model, -1)).__name__ for model in several]
    titles = [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name for i, name in enumerate(names)
    ]
    return dict(zip(titles, several, strict=True))


def _step(model: Any, which: int) -> Any:
    """The first or the last step of a pipeline; any other model itself."""
    while hasattr(model, "steps"):
        model = model.steps[which][1]
    return model


def scene(ground: PlotData, models: Mapping[str, Any], at: Any, resolution: int, probabilities: bool) -> Scene:
    """Ask every model about every place and every row."""
    stands = still(ground.frame, at, ground.pair)
    asked = {title: _RegionModel.of(title, model, ground) for title, model in models.items()}
    known = (plain(c) for one in asked.values() for c in np.asarray(getattr(one.model, "classes_", ())).tolist())
    classes = tuple(dict.fromkeys((*ground.classes, *known)))
    codes = _codes(ground.y, classes, "y")
    panels = [_panel(title, one, ground, stands, classes, codes, resolution) for title, one in asked.items()]
    if not probabilities:
        panels = [replace(panel, sure=None) for panel in panels]
    shown = spread_out(ground.xy)
    others = dict.fromkeys(name for one in asked.values() for name in one.frame.names if name not in ground.pair)
    caption = _caption(ground, {name: stands[name] for name in others}, panels, len(shown))
    return Scene(ground, classes, codes, shown, panels, caption)


def _caption(ground: PlotData, others: Mapping[str, FixedValue], panels: list[Panel], shown: int) -> str:
    said = list(ground.notes)
    if shown < len(ground.rows):
        said.append(f"{MOST} of {len(ground.rows)} rows are drawn, a spread-out sample.")
    if any(panel.sure is not None for panel in panels):
        said.append("Paler where a model is less sure.")
    if others:
        parts = [f"{name} = {stand.text}" for name, stand in list(others.items())[:6]]
        rest = len(others) - len(parts)
        words = ", ".join(parts) + (f" and {rest} more" if rest else "")
        said.append(f"Regions are for {words}; rows have values of their own.")
    return " ".join(said)


# -- one model ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _RegionModel:
    """A fitted model with the columns that it takes, in a kind of table that it takes."""

    model: Any
    X: Any
    frame: Frame
    alone: bool

    @classmethod
    def of(cls, title: str, model: Any, ground: PlotData) -> _RegionModel:
        if isinstance(model, type) or not hasattr(model, "predict"):
            made = f"{model.__name__}()" if isinstance(model, type) else "an object with fit and predict"
            raise OptionError(f"{title!r} is no classifier.", hint=f"give {made}.")
        fitted = _is_fitted(model)
        names = _taken(title, model, ground) if fitted else list(ground.pair)
        X, frame = ground.X, ground.frame
        if names != list(frame.names):
            places = [frame.names.index(name) for name in names]
            X = chosen(X, frame, places)
            frame = Frame({name: frame.columns[name] for name in names}, frame.n_rows, frame.named)
        # ours take mappings of columns as they are
        if library_of(X) == "mapping" and type(_step(model, 0)).__module__.partition(".")[0] != "countwise":
            X = rebuilt(X, frame, dict.fromkeys(frame.names), "array")
        if not fitted:
            from sklearn.base import clone

            model = clone(model, safe=False).fit(rows_of(X, ground.rows), ground.y)
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


def _taken(title: str, model: Any, ground: PlotData) -> list[str]:
    """The columns that a fitted model takes, by its own account if it has one."""
    own = getattr(model, "feature_names_in_", None)
    if own is None or not ground.frame.named:
        return list(ground.frame.names)
    names = [str(name) for name in own]
    for name in ground.pair:
        if name not in names:
            raise OptionError(
                f"{title!r} was not fitted on {name!r}.",
                hint=f"it was on {listed(names)}; or give it not yet fitted.",
            )
    for name in names:
        if name not in ground.frame.columns:
            hint = did_you_mean(name, ground.frame.columns) or f"X has {listed(ground.frame.columns)}."
            raise TableError(f"{title!r} was fitted on {name!r}, which X lacks.", hint=hint)
    return names


def _panel(
    title: str, asked: _RegionModel, ground: PlotData, stands: Mapping[str, FixedValue], classes: tuple[Any, ...],
    truth: Indices, resolution: int,
) -> Panel:  # fmt: skip
    # the centers of the pixels
    xs, ys = (low + (np.arange(resolution) + 0.5) * (high - low) / resolution for low, high in ground.limits)
    moving = {ground.pair[0]: np.tile(xs, resolution), ground.pair[1]: np.repeat(ys, resolution)}
    places = moved(asked.X, asked.frame, moving, stands)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the rows are places of the picture, and nobody's data
        codes = _codes(asked.model.predict(places), classes, title)
        scores, chances = _scores(asked.model, places, classes)
    shape = resolution, resolution
    sure = _sure(scores, codes).reshape(shape) if scores is not None and chances else None
    field = None if scores is None else scores.reshape(*shape, -1)
    lines = _to_the_edge(codes.reshape(shape), field, xs, ys, ground.limits)
    wrong = _codes(asked.model.predict(rows_of(asked.X, ground.rows)), classes, title) != truth
    return Panel(title, asked.alone, codes.reshape(shape), sure, lines, wrong)


def _codes(labels: Any, classes: tuple[Any, ...], who: str) -> Indices:
    """The places of labels among the classes."""
    places = {value: code for code, value in enumerate(classes)}
    values = np.asarray(labels).ravel().tolist()
    odd = next((value for value in values if value not in places), None)
    if odd is not None:
        raise OptionError(f"{who!r} predicts {odd!r}, which is no class of y.", hint=f"y has {listed(classes)}.")
    return np.array([places[value] for value in values], dtype=np.int64)


def _scores(model: Any, X: Any, classes: tuple[Any, ...]) -> tuple[Floats | None, bool]:
    """What a model decides by, a column for each class, so that the boundary is smooth; whether it is P(class)."""
    chances = hasattr(model, "predict_proba")
    if not hasattr(model, "classes_") or not (chances or hasattr(model, "decision_function")):
        return None, False
    found = np.asarray(model.predict_proba(X) if chances else model.decision_function(X), dtype=np.float64)
    if found.ndim == 1:
        found = np.stack([-found, found], axis=1)
    if not chances and found.shape[1] != len(model.classes_):
        return None, False
    out = np.full((len(found), len(classes)), 0.0 if chances else -np.inf)
    out[:, _codes(model.classes_, classes, "the model")] = found
    return out, chances


def _sure(chances: Floats, codes: Indices) -> Floats:
    """By how much the predicted class leads the next: 0 at the boundary, 1 where there is no doubt."""
    if chances.shape[1] < 2:
        return np.ones(len(codes))
    row = np.arange(len(codes))
    others = chances.copy()
    others[row, codes] = -1.0
    return np.nan_to_num(np.clip(chances[row, codes] - others.max(axis=1), 0.0, 1.0))


def _to_the_edge(
    codes: NDArray[Any], scores: NDArray[Any] | None, xs: NDArray[Any], ys: NDArray[Any], limits: NDArray[Any]
) -> Floats:
    """The boundary, drawn out from the centers of the outermost pixels to the frame."""
    wider = [np.array([low, *places, high]) for places, (low, high) in zip((xs, ys), limits, strict=True)]
    field = None
    if scores is not None:
        sides = ((1, 1), (1, 1), (0, 0))
        with np.errstate(invalid="ignore"):  # half a pixel on, in the direction of the last whole one
            field = (np.pad(scores, sides, "edge") + np.pad(scores, sides, "reflect", reflect_type="odd")) / 2
    return boundary(np.pad(codes, 1, mode="edge"), field, *wider)


# -- lines between regions: marching squares ----------------------------------------


def boundary(codes: NDArray[Any], scores: NDArray[Any] | None, xs: NDArray[Any], ys: NDArray[Any]) -> NDArray[Any]:
    """The lines between the regions of a grid, whose rows go with `ys`, as the ends of segments, x before y.

    They run where the scores of two classes are alike; half way without scores.
    """
    corners = _corners(codes)
    least, most = corners.min(axis=0), corners.max(axis=0)
    many = ((corners != least) & (corners != most)).any(axis=0)
    found = [np.empty((0, 2, 2))]
    for code in np.unique(codes):
        inside = codes == code
        mine = ((least == code) & (most > code)) | many  # each line once, save where three regions meet
        found.append(_segments(inside, _lead(scores, inside, int(code)), xs, ys, mine))
    return np.concatenate(found)


def _corners(values: NDArray[Any]) -> NDArray[Any]:
    """The four corners of each cell of a grid, anticlockwise from the lowest."""
    return np.stack([values[:-1, :-1], values[:-1, 1:], values[1:, 1:], values[1:, :-1]])


def _lead(scores: NDArray[Any] | None, inside: NDArray[Any], code: int) -> NDArray[Any]:
    """By how much a class leads the best of the others."""
    if scores is None or scores.shape[2] < 2:
        return np.where(inside, 1.0, -1.0)
    return np.asarray(scores[..., code] - np.delete(scores, code, axis=2).max(axis=2))


def _segments(
    inside: NDArray[Any], lead: NDArray[Any], xs: NDArray[Any], ys: NDArray[Any], mine: NDArray[Any]
) -> NDArray[Any]:
    """Where the edges of each cell are crossed, joined in pairs."""
    places = np.stack(np.broadcast_arrays(xs[None, :], ys[:, None]), axis=-1).astype(np.float64)
    x, y = (_corners(places[..., axis]) for axis in (0, 1))
    at, sign = _corners(lead), _corners(inside)
    after = [1, 2, 3, 0]
    crossed = (sign != sign[after]) & mine
    with np.errstate(divide="ignore", invalid="ignore"):
        share = at / (at - at[after])
    share = np.where(np.isfinite(share) & (share >= 0) & (share <= 1), share, 0.5)
    points = np.stack([x + share * (x[after] - x), y + share * (y[after] - y)], axis=-1)
    number = crossed.sum(axis=0)
    order = np.argsort(~crossed, axis=0, kind="stable")[:2]
    pairs = np.take_along_axis(points, order[..., None], axis=0)[:, number == 2]
    saddle = points[:, number == 4]  # two corners across belong together: cut off the other two
    return np.concatenate([pairs.swapaxes(0, 1), saddle[:2].swapaxes(0, 1), saddle[2:].swapaxes(0, 1)])
