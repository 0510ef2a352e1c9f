"""What displays have in common: rows whose class is known, lines and bars that are told apart without color."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal
from countwise.data.frames import Coded, frame_of, series_of
from countwise.data.output import chosen
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.plots.style import axes, bare, look
from countwise.sources.memory import weights_of

__all__ = ["DASHES", "HATCHES", "Display", "LabelledPredictions", "column_of", "legend", "line", "told_by", "told_of"]

DASHES = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (6, 2, 1, 2, 1, 2)))
HATCHES = ("", "////", "....", "\\\\\\\\", "xxx", "++", "oo", "--", "**", "||")


class Display:
    """A picture that is made once and drawn where it is wanted, as scikit-learn has them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last.
    figure_ : matplotlib Figure
        The figure around them.
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw it, on the given axes or on new ones."""
        raise NotImplementedError

    def _place(self, ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
        ax = axes(ax, size)
        bare(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def line(i: int, points: int, most: int = 8) -> dict[str, Any]:
    """The look of the i-th line: color, dashes and a mark at some of its points."""
    color, mark = look(i)
    every = max(1, -(-points // most))
    # lines of many points have their marks at different places, so that they do not cover each other
    start = (i * every // 3) % every if points > 2 * most else 0
    return {
        "color": color,
        "linestyle": DASHES[i % len(DASHES)],
        "marker": mark,
        "markevery": (start, every),
        "markersize": 5,
        "linewidth": 1.7,
    }


def legend(ax: Any, place: str = "best") -> None:
    """A legend on the axes; beside them if it has many entries. None if there is nothing to tell."""
    handles, names = ax.get_legend_handles_labels()
    if not handles:
        return
    if len(names) > 6:
        ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.2)
    else:
        ax.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8, loc=place, handlelength=3.2)


# -- rows whose class is known ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelledPredictions:
    """Rows whose class is known, and what was told of them.

    Parameters
    ----------
    classes : tuple
        In the order of the columns of `proba`.
    codes : ndarray of int
        The class of each row, as its place among the classes.
    proba : ndarray, shape (rows, classes)
        P(class | row).
    answered : ndarray of int
        What was answered.
    weight : ndarray
        Of the rows.
    """

    classes: tuple[Any, ...]
    codes: Indices
    proba: Floats
    answered: Indices
    weight: Floats


def told_by(estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, proba: bool = True) -> LabelledPredictions:
    """What a fitted classifier tells of rows; `y` is the class of each, or the name of its column."""
    if not hasattr(estimator, "classes_"):
        raise OptionError(f"This {type(estimator).__name__} is not fitted, or tells no classes.", hint="fit it.")
    if proba and not hasattr(estimator, "predict_proba"):
        raise OptionError(f"{type(estimator).__name__} tells no probabilities.")
    column = y
    if isinstance(y, str):
        column, frame = column_of(X, y), frame_of(X)
        if y not in getattr(estimator, "feature_names_in_", ()):  # to others it is a column that they never met
            X = chosen(X, frame, [place for place, name in enumerate(frame.names) if name != y])
    classes = [_plain(c) for c in estimator.classes_]
    shares = np.asarray(estimator.predict_proba(X), dtype=np.float64) if proba else None
    predicted = None if proba else [_plain(c) for c in estimator.predict(X)]
    return told_of(column, shares, predicted, classes, sample_weight)


def told_of_probabilities(answers: Any, name: str | None) -> None:
    """Refuse to draw probabilities that were never told."""
    if np.isnan(answers.proba).any():
        raise OptionError(f"{name or 'The learner'} tells no probabilities: there is nothing to draw.")


def told_of(
    y: Any,
    proba: Any,
    predicted: Any,
    classes: Sequence[Any] | None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> LabelledPredictions:
    """The same from arrays; rows without a class are left out, a class that was never met has probability 0."""
    own, codes = _coded(y)
    known = codes < len(own)
    names = list(own) if classes is None else [_plain(c) for c in classes]
    if classes is None and predicted is not None:
        names = sorted({*own, *(_plain(c) for c in predicted)}, key=lambda c: (str(type(c)), c))
    places = {c: i for i, c in enumerate(names)}
    for c in own:  # a class that the classifier never met
        places.setdefault(c, len(places))
    given = weights_of(sample_weight, len(codes))
    weight = np.ones(len(codes)) if given is None else np.asarray(given, dtype=np.float64)
    found = np.array([places[c] for c in own], dtype=np.int64)
    at = found[codes[known]] if len(own) else np.empty(0, dtype=np.int64)
    if not len(at):
        raise TableError("No row has a class.")
    if proba is not None and np.ndim(proba) == 1 and len(names) == 2 and pos_label == names[0]:
        proba = 1.0 - np.asarray(proba, dtype=np.float64)  # told of the first class
    shares = _shares(proba, len(codes), len(names), len(places))[known] if proba is not None else None
    if predicted is not None:
        answered = np.array([places.get(_plain(c), -1) for c in predicted], dtype=np.int64)
        if len(answered) != len(codes) or (answered < 0).any():
            raise TableError(f"There must be an answer among {listed(places)} to each of the {len(codes)} rows.")
        answered = answered[known]
    else:
        answered = np.argmax(shares, axis=1)  # type: ignore[arg-type]
    if shares is None:
        shares = np.full((len(at), len(places)), np.nan)
    return LabelledPredictions(tuple(places), at, shares, answered, weight[known])


def _coded(y: Any) -> tuple[tuple[Any, ...], Indices]:
    column = y if isinstance(y, Coded) else series_of(y)[0]  # of a table it may have been read already
    own = Nominal("y", grows=True).learn(column)
    return tuple(own.values), own.encode(column).astype(np.int64)


def _shares(proba: Any, rows: int, given: int, all_classes: int) -> Floats:
    shares = np.asarray(proba, dtype=np.float64)
    if shares.ndim == 1 and given == 2:
        shares = np.column_stack([1 - shares, shares])
    if shares.shape != (rows, given):
        raise TableError(f"Probabilities have the shape {shares.shape}; there are {rows} rows and {given} classes.",
                         hint="give `classes` in the order of the columns.")  # fmt: skip
    if not ((shares >= 0) & (shares <= 1 + 1e-9)).all():
        raise TableError("Probabilities lie between 0 and 1.")
    return np.column_stack([shares, np.zeros((rows, all_classes - given))])


def column_of(X: Any, name: str) -> Any:
    """A column of a table by its name."""
    frame = frame_of(X)
    if name not in frame.columns:
        raise TableError(
            f"The table has no column {name!r}.",
            hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
        )
    return frame.columns[name]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
