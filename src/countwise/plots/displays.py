"""Base classes of displays, and line styles that can be distinguished without color."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from countwise._typing import Floats, Indices
from countwise.base.predictions import Predictions, predictions_of
from countwise.data.attributes import Nominal
from countwise.data.columns import plain
from countwise.data.frames import frame_of, series_of
from countwise.data.output import rows_of
from countwise.data.weights import weights_of
from countwise.errors import OptionError, TableError, listed
from countwise.plots.style import axes, literal, look
from countwise.sources.labelled_table import apart, column_of

__all__ = ["HATCHES", "Display", "PredictionDisplay", "line", "predicted_by", "predictions_from"]

DASHES = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (6, 2, 1, 2, 1, 2)))
HATCHES = ("", "////", "....", "\\\\\\\\", "xxx", "++", "oo", "--", "**", "||")


class Display:
    """Base class of displays in the style of scikit-learn: the data are computed once and can be drawn repeatedly.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        self
            The display, with the axes in `ax_`.
        """
        raise NotImplementedError

    def _place(self, ax: Any, size: tuple[float, float] = (6.4, 4.2)) -> Any:
        self.ax_ = axes(ax, size)
        self.figure_ = self.ax_.figure
        return self.ax_

    def _labeled(self, x: str, y: str, legend: str = "best", *, square: bool = False) -> Self:
        """Label the axes and add a legend, outside the axes if it has more than six entries."""
        self.ax_.set(xlabel=x, ylabel=y)
        if square:  # both axes are proportions
            self.ax_.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))
            self.ax_.set_aspect("equal", adjustable="box")
        handles, names = self.ax_.get_legend_handles_labels()
        if len(names) > 6:
            self.ax_.legend(
                frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.2
            )
        elif handles:
            self.ax_.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8, loc=legend, handlelength=3.2)
        literal(self.ax_)
        return self


def line(i: int, points: int, most: int = 8) -> dict[str, Any]:
    """Return the style of the i-th line: color, dashes, and markers at some of its points."""
    color, mark = look(i)
    every = max(1, -(-points // most))
    # the markers of long lines are shifted, so that they do not cover each other
    start = (i * every // 3) % every if points > 2 * most else 0
    return {"color": color, "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.7, "marker": mark, "markersize": 5,
            "markevery": (start, every)}  # fmt: skip


class PredictionDisplay(Display):
    """Base class of displays of predictions for rows with a known class."""

    _needs_proba: ClassVar[bool] = True

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the predictions of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier.
        X : any table
            The rows to predict.
        y : array-like or str
            The true class of each row, or the name of its column in X. Rows without a class are ignored.
        sample_weight : array-like, optional
            Weight of each row.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.
        **options
            Further options of `from_answers`.

        Returns
        -------
        Display
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> from countwise.plots import ConfusionDisplay
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier().fit(tennis.X, tennis.y)
        >>> ConfusionDisplay.from_estimator(model, tennis.X, tennis.y).table.tolist()
        [[4.0, 1.0], [0.0, 9.0]]
        """
        predictions = predicted_by(estimator, X, y, sample_weight, proba=cls._needs_proba)
        if cls._needs_proba and options.get("name") is None:
            options["name"] = type(estimator).__name__
        return cls.from_answers(predictions, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_proba: Any, *, classes: Any = None, sample_weight: Any = None, pos_label: Any = None,
        ax: Any = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw given class probabilities.

        Parameters
        ----------
        y_true : array-like
            The true class of each row. Rows without a class are ignored.
        y_proba : array-like of shape (n_rows, n_classes) or (n_rows,)
            P(class | row). A one-dimensional array contains the probability of `pos_label`, by default the second of
            two classes.
        classes : sequence, optional
            The classes of the columns of `y_proba`. By default the classes in `y_true`, in ascending order.
        sample_weight : array-like, optional
            Weight of each row.
        pos_label : class, optional
            Draw only this class. By default the second of two classes.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.
        **options
            Further options of `from_answers`.

        Returns
        -------
        Display
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise.plots import ROCDisplay
        >>> ROCDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.5]).roc_auc
        {1: 0.75}
        """
        predictions = predictions_from(y_true, y_proba, None, classes, sample_weight, pos_label)
        return cls.from_answers(predictions, ax=ax, **{"pos_label": pos_label, **options})

    @classmethod
    def from_answers(cls, answers: Predictions, *, ax: Any = None) -> Self:
        """Draw a `Predictions` object, such as the attribute `predictions` of the result of `cross_validate`.

        Parameters
        ----------
        answers : Predictions
            The predictions, with the true classes.
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        Display
            The display, with the axes in `ax_`.
        """
        raise NotImplementedError

    @staticmethod
    def _refuse_without_proba(answers: Predictions, name: str | None) -> None:
        if np.isnan(answers.proba).any():
            raise OptionError(f"{name or 'The learner'} has no probabilities; this plot needs them.")


# -- predictions of rows with a known class ---------------------------------------------------------


def predicted_by(estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, proba: bool = True) -> Predictions:
    """Predict rows by a fitted classifier; `y` contains the true classes, or is the name of their column."""
    if not hasattr(estimator, "classes_"):
        raise OptionError(
            f"This {type(estimator).__name__} is not fitted, or is not a classifier.", hint="use a fitted classifier."
        )
    if proba and not hasattr(estimator, "predict_proba"):
        raise OptionError(f"{type(estimator).__name__} has no predict_proba; this plot needs probabilities.")
    frame = frame_of(X)
    if isinstance(y, str) and y in getattr(estimator, "feature_names_in_", ()):  # the model also uses it as input
        column: Any = column_of(frame, y)
    else:
        X, frame, column, _ = apart(X, frame, y)
    target, codes, known = _coded(column, [plain(c) for c in estimator.classes_])
    weights = weights_of(sample_weight, len(codes))
    if len(known) < len(codes):
        X, codes, weights = rows_of(X, known), codes[known], None if weights is None else weights[known]
    return predictions_of(estimator, X, target, codes, weights, proba=proba)


def _coded(column: Any, names: Sequence[Any]) -> tuple[Nominal, Indices, Indices]:
    """Return the known classes followed by new ones, the class codes of the rows, and the rows with a class."""
    own = Nominal("y", grows=True).learn(column, occurring=True).values
    target = Nominal("y", tuple(dict.fromkeys((*names, *own))))
    codes = target.encode(column).astype(np.int64)
    known = np.flatnonzero(codes < len(target.values))
    if not len(known):
        raise TableError("The class of every row is missing; there is nothing to draw.")
    return target, codes, known


def predictions_from(
    y: Any,
    proba: Any,
    predicted: Any,
    classes: Sequence[Any] | None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Predictions:
    """Return predictions from arrays; rows without a class are ignored, and a new class has probability 0."""
    column = series_of(y)[0]
    if classes is None:
        own = Nominal("y", grows=True).learn(column, occurring=True).values
        mixed = {*own, *(() if predicted is None else map(plain, predicted))}
        names = list(own) if predicted is None else sorted(mixed, key=lambda c: (str(type(c)), c))
    else:
        names = [plain(c) for c in classes]
    target, codes, known = _coded(column, names)
    weights = weights_of(sample_weight, len(codes))
    if proba is not None and np.ndim(proba) == 1 and len(names) == 2 and pos_label == names[0]:
        proba = 1.0 - np.asarray(proba, dtype=np.float64)  # they are of the first class
    probabilities = np.full((len(codes), len(target.values)), np.nan)
    if proba is not None:
        probabilities = _probabilities(proba, len(codes), len(names), len(target.values))
    predicted_codes = None
    if predicted is not None:
        places = {c: i for i, c in enumerate(target.values)}
        predicted_codes = np.array([places.get(plain(c), -1) for c in predicted], dtype=np.int64)
        if len(predicted_codes) != len(codes) or (predicted_codes < 0).any():
            raise TableError(f"Each of the {len(codes)} rows needs one predicted class among {listed(places)}.")
    codes = np.minimum(codes, len(target.values) - 1)  # rows without a class are dropped in the next line
    return Predictions(tuple(target.values), codes, probabilities, predicted_codes, weights).take(known)


def _probabilities(proba: Any, rows: int, given: int, all_classes: int) -> Floats:
    probabilities = np.asarray(proba, dtype=np.float64)
    if probabilities.ndim == 1 and given == 2:
        probabilities = np.column_stack([1 - probabilities, probabilities])
    if probabilities.shape != (rows, given):
        raise TableError(
            f"Probabilities have the shape {probabilities.shape}; {rows} rows and {given} classes need the shape "
            f"({rows}, {given}).",
            hint="pass `classes` in the order of the columns.",
        )
    if not ((probabilities >= 0) & (probabilities <= 1 + 1e-9)).all():
        raise TableError("Probabilities must be between 0 and 1.")
    return np.column_stack([probabilities, np.zeros((rows, all_classes - given))])
