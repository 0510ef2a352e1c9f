"""Where classifiers draw the line: decision regions over two attributes, side by side."""

from __future__ import annotations

from typing import Any

from countwise.errors import OptionError, did_you_mean
from countwise.plots.plot_data import ground
from countwise.plots.regions import by_title, scene

__all__ = ["compare_boundaries"]


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
    _check(resolution, kind, ax)
    named = by_title(models)
    if not named:
        raise OptionError(
            "There are no models to compare.", hint='for example {"naive Bayes": NaiveBayesClassifier()}.'
        )
    made = scene(ground(X, y, attributes), named, at, resolution, probabilities)
    if kind == "svg":
        from countwise.plots.regions_svg import render

        return render(made)
    from countwise.plots.regions_mpl import draw

    return draw(made, ax)


def _check(resolution: Any, kind: Any, ax: Any) -> None:
    if kind not in ("matplotlib", "svg"):
        hint = did_you_mean(kind, ("matplotlib", "svg")) or "give 'matplotlib' or 'svg'."
        raise OptionError(f"kind={kind!r} is unknown.", hint=hint)
    if isinstance(resolution, bool) or not isinstance(resolution, int) or resolution < 10:
        raise OptionError(
            f"resolution={resolution!r}: so many pixels along each axis, a whole number of at least 10."
        )
    if kind == "svg" and ax is not None:
        raise OptionError("ax is for matplotlib; an SVG has no axes to draw on.", hint="leave one of the two out.")
