"""What displays have in common: ways to labelled predictions, lines and bars that differ not by color alone."""

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
from countwise.errors import OptionError, TableError, listed
from countwise.plots.style import axes, look
from countwise.sources.labelled_table import apart, column_of
from countwise.sources.memory import weights_of

__all__ = ["HATCHES", "Display", "PredictionDisplay", "line", "predicted_by", "predictions_from"]

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
        self.ax_ = axes(ax, size)
        self.figure_ = self.ax_.figure
        return self.ax_

    def _labeled(self, x: str, y: str, legend: str = "best", *, square: bool = False) -> Self:
        """Name the axes, and add a legend: beside them if it has many entries, none without entries."""
        self.ax_.set(xlabel=x, ylabel=y)
        if square:  # two shares
            self.ax_.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))
            self.ax_.set_aspect("equal", adjustable="box")
        handles, names = self.ax_.get_legend_handles_labels()
        if len(names) > 6:
            self.ax_.legend(
                frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.2
            )
        elif handles:
            self.ax_.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8, loc=legend, handlelength=3.2)
        return self


def line(i: int, points: int, most: int = 8) -> dict[str, Any]:
    """The look of the i-th line: color, dashes and a mark at some of its points."""
    color, mark = look(i)
    every = max(1, -(-points // most))
    # lines of many points have their marks at different places, so that they do not cover each other
    start = (i * every // 3) % every if points > 2 * most else 0
    return {"color": color, "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.7, "marker": mark, "markersize": 5,
            "markevery": (start, every)}  # fmt: skip


class PredictionDisplay(Display):
    """A picture of what was predicted for rows whose class is known."""

    _needs_proba: ClassVar[bool] = True

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw what a fitted classifier predicts.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : any table
        y : array-like or str
            The class of each row, or the name of its column.
        sample_weight : array-like, optional
        ax : matplotlib Axes, optional
        **options
            See `from_answers`.
        """
        told = predicted_by(estimator, X, y, sample_weight, proba=cls._needs_proba)
        if cls._needs_proba and options.get("name") is None:
            options["name"] = type(estimator).__name__
        return cls.from_answers(told, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_proba: Any, *, classes: Any = None, sample_weight: Any = None, pos_label: Any = None,
        ax: Any = None, **options: Any,
    ) -> Self:  # fmt: skip
        """Draw given probabilities.

        Parameters
        ----------
        y_true : array-like
            The class of each row.
        y_proba : array-like, shape (rows, classes) or (rows,)
            P(class | row); one number a row is the probability of the second of two classes, or of `pos_label`.
        classes : sequence, optional
            What the columns stand for; by default the classes in `y_true`, ascending.
        sample_weight : array-like, optional
        pos_label, ax, **options
            See `from_answers`.
        """
        told = predictions_from(y_true, y_proba, None, classes, sample_weight, pos_label)
        return cls.from_answers(told, ax=ax, **{"pos_label": pos_label, **options})

    @classmethod
    def from_answers(cls, answers: Predictions, *, ax: Any = None) -> Self:
        """Draw predictions such as those of `cross_validate`."""
        raise NotImplementedError

    @staticmethod
    def _refuse_without_proba(answers: Predictions, name: str | None) -> None:
        if np.isnan(answers.proba).any():
            raise OptionError(f"{name or 'The learner'} has no probabilities: there is nothing to draw.")


# -- rows whose class is known ----------------------------------------------------------------------


def predicted_by(estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, proba: bool = True) -> Predictions:
    """What a fitted classifier predicts for rows; `y` is the class of each, or the name of its column."""
    if not hasattr(estimator, "classes_"):
        raise OptionError(f"This {type(estimator).__name__} is not fitted, or is no classifier.", hint="fit it.")
    if proba and not hasattr(estimator, "predict_proba"):
        raise OptionError(f"{type(estimator).__name__} has no predict_proba.")
    frame = frame_of(X)
    if isinstance(y, str) and y in getattr(estimator, "feature_names_in_", ()):  # to others it is a column unmet
        column: Any = column_of(frame, y)
    else:
        X, frame, column, _ = apart(X, frame, y)
    target, codes, known = _coded(column, [plain(c) for c in estimator.classes_])
    weights = weights_of(sample_weight, len(codes))
    if len(known) < len(codes):
        X, codes, weights = rows_of(X, known), codes[known], None if weights is None else weights[known]
    return predictions_of(estimator, X, target, codes, weights, proba=proba)


def _coded(column: Any, names: Sequence[Any]) -> tuple[Nominal, Indices, Indices]:
    """All classes, those named before those that only the rows have; their codes, and the rows that have one."""
    own = Nominal("y", grows=True).learn(column).values
    target = Nominal("y", tuple(dict.fromkeys((*names, *own))))
    codes = target.encode(column).astype(np.int64)
    known = np.flatnonzero(codes < len(target.values))
    if not len(known):
        raise TableError("No row has a class.")
    return target, codes, known


def predictions_from(
    y: Any,
    proba: Any,
    predicted: Any,
    classes: Sequence[Any] | None,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> Predictions:
    """The same from arrays; rows without a class are left out, a class that is new has probability 0."""
    column = series_of(y)[0]
    if classes is None:
        own = Nominal("y", grows=True).learn(column).values
        mixed = {*own, *(() if predicted is None else map(plain, predicted))}
        names = list(own) if predicted is None else sorted(mixed, key=lambda c: (str(type(c)), c))
    else:
        names = [plain(c) for c in classes]
    target, codes, known = _coded(column, names)
    weights = weights_of(sample_weight, len(codes))
    if proba is not None and np.ndim(proba) == 1 and len(names) == 2 and pos_label == names[0]:
        proba = 1.0 - np.asarray(proba, dtype=np.float64)  # given of the first class
    shares = np.full((len(codes), len(target.values)), np.nan)
    if proba is not None:
        shares = _shares(proba, len(codes), len(names), len(target.values))
    answered = None
    if predicted is not None:
        places = {c: i for i, c in enumerate(target.values)}
        answered = np.array([places.get(plain(c), -1) for c in predicted], dtype=np.int64)
        if len(answered) != len(codes) or (answered < 0).any():
            raise TableError(f"Each of the {len(codes)} rows needs a prediction among {listed(places)}.")
    codes = np.minimum(codes, len(target.values) - 1)  # of rows that are left out now
    return Predictions(tuple(target.values), codes, shares, answered, weights).take(known)


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
