"""Confusion matrices and the distributions of a model, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from countwise.base.predictions import Predictions
from countwise.data.columns import plain
from countwise.data.derived import Absent
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.plots.displays import HATCHES, Display, PredictionDisplay, line, predictions_from
from countwise.plots.style import DARK, look, shortened
from countwise.working.numbers import number

__all__ = ["ConfusionDisplay", "DensityDisplay"]

_MOST_BARS = 30  # values of a name that are drawn


class ConfusionDisplay(PredictionDisplay):
    """What each class was answered as: a cell is the darker, the larger its share of its class.

    Parameters
    ----------
    table : array-like, shape (classes, classes)
        Rows are classes, columns answers.
    classes : sequence
    costs : array-like, shape (classes, classes), optional
        What each answer costs; it stands below the number, and the mean above the table.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    text_ : ndarray of matplotlib texts

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
            told = "Costs are a table here: a row for each class, a column for each answer."
            raise OptionError(told, hint="countwise.evaluation.costs.costs_of makes one of a mapping.") from None
        k = len(self.classes)
        for what, values in (("answers", self.table), ("costs", self.costs)):
            if values is not None and values.shape != (k, k):
                raise TableError(f"The table of {what} has the shape {values.shape}; there are {k} classes.")

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls, y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None, costs: Any = None,
        ax: Any = None,
    ) -> Self:  # fmt: skip
        """Draw given predictions."""
        told = predictions_from(y_true, None, np.asarray(y_pred), classes, sample_weight)
        return cls.from_answers(told, costs=costs, ax=ax)

    @classmethod
    def from_answers(cls, answers: Predictions, *, costs: Any = None, ax: Any = None) -> Self:
        """Draw predictions such as those of `cross_validate`; `costs` is a table like that of the class."""
        return cls(answers.table, classes=answers.classes, costs=costs).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it, on the given axes or on new ones."""
        k = len(self.classes)
        side = min(max(3.2, 0.55 * k + 1.8), 12.0)
        ax = self._place(ax, (side + 0.6, side))
        rows = self.table.sum(axis=1, keepdims=True)
        share = np.divide(self.table, rows, out=np.zeros_like(self.table), where=rows > 0)
        ax.imshow(share, cmap="Blues", vmin=0, vmax=1.15, aspect="equal")
        small = 10 if k <= 6 else 8 if k <= 12 else 6
        self.text_ = np.empty((k, k), dtype=object)
        for i in range(k):
            for j in range(k):
                n, cost = self.table[i, j], 0.0 if self.costs is None else self.costs[i, j]
                text = (number(n) if n < 1e6 else f"{n:.3g}") + (f"\n× {number(cost)}" if cost else "")
                ink = "white" if share[i, j] > 0.62 else DARK
                self.text_[i, j] = ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=small)
        names = [shortened(str(c), 90, 10) for c in self.classes]
        if len(set(names)) < len(names):  # what tells them apart may stand at the end
            names = [shortened(str(c)[::-1], 90, 10)[::-1] for c in self.classes]
        ax.set_xticks(range(k), names, fontsize=min(small + 1, 9))
        ax.set_yticks(range(k), names, fontsize=min(small + 1, 9))
        if k > 4 or max(map(len, names)) > 8:
            _tilt(ax)
        ax.tick_params(length=0)
        for edge in np.arange(k + 1) - 0.5:  # cells are told apart where they are all light
            ax.axhline(edge, color="#c9d2dd", linewidth=0.6)
            ax.axvline(edge, color="#c9d2dd", linewidth=0.6)
        ax.set(xlabel="answer", ylabel="class")
        if self.costs is not None:
            mean = float((self.table * self.costs).sum() / max(float(self.table.sum()), 1e-300))
            ax.set_title(f"mean cost {mean:.4g}", loc="left", fontsize=10)
        return self


class DensityDisplay(Display):
    """The distribution of an attribute in each class: densities of numbers, probabilities of values and ranges.

    Parameters
    ----------
    attribute : str
    values : sequence
        Numbers, or the names of bars.
    curves : mapping of class to ndarray
        The density, or the share, at each value.
    kind : {"density", "counts", "bars"}
    rule : str, optional
        How it was estimated, for the title.
    prior : bool, default=False
        Whether the curves are multiplied by how frequent their classes are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

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

    def __init__(
        self, attribute: str, *, values: Any, curves: Mapping[Any, Any], kind: str = "density", rule: str = "",
        prior: bool = False,
    ) -> None:  # fmt: skip
        if kind not in ("density", "counts", "bars"):
            raise OptionError(f"kind={kind!r} is unknown.", hint="give 'density', 'counts' or 'bars'.")
        self.attribute, self.kind, self.rule, self.prior = attribute, kind, rule, prior
        self.values = list(values) if kind == "bars" else np.asarray(values, dtype=np.float64)
        self.curves = {c: np.asarray(shares, dtype=np.float64) for c, shares in curves.items()}
        if not self.curves or any(len(shares) != len(self.values) for shares in self.curves.values()):
            raise TableError("Each class needs a share of each value.")

    @classmethod
    def from_estimator(cls, estimator: Any, attribute: str, *, prior: bool = False, ax: Any = None) -> Self:
        """Draw what a fitted naive Bayes has learned of an attribute.

        Parameters
        ----------
        estimator : NaiveBayesClassifier
            Fitted.
        attribute : str
            The name of its column.
        prior : bool, default=False
            Whether each distribution is multiplied by P(class): where the lines cross, the prediction changes.
        ax : matplotlib Axes, optional
        """
        density = _density(estimator, attribute)
        grid = density.grid()
        if grid is None or not len(grid):
            raise OptionError(f"What is learned of {attribute!r} cannot be drawn: {density.rule}.")
        if getattr(density, "constant", False) or (not hasattr(density, "of") and not np.ptp(grid) > 0):
            raise OptionError(f"Nothing was learned of {attribute!r}: it has no two values.")
        logs = np.zeros((len(grid), density.n_classes))
        density.add_log_prob(grid, logs)
        shares = np.exp(logs)
        if prior:
            shares = shares * (estimator.class_count_ / estimator.class_count_.sum())
        names = hasattr(density, "prob") and hasattr(density, "of")
        kind = "bars" if names else "counts" if hasattr(density, "rate") else "density"
        values = [density.label(grid, i) for i in range(len(grid))] if names else grid
        curves = {plain(c): shares[:, i] for i, c in enumerate(estimator.classes_)}
        return cls(attribute, values=values, curves=curves, kind=kind, rule=str(density.rule), prior=prior).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it, on the given axes or on new ones."""
        wide = min(len(self.values), _MOST_BARS) * len(self.curves) > 24 and self.kind == "bars"
        ax = self._place(ax, (9.0 if wide else 6.4, 4.0))
        if self.kind == "bars":
            self._bars(ax)
        else:
            for i, (c, shares) in enumerate(self.curves.items()):
                ax.plot(self.values, shares, label=str(c), **line(i, len(shares), most=40 if len(shares) < 41 else 8))
        ax.set_ylim(bottom=0)
        if self.rule:
            ax.set_title(self.rule, loc="left", fontsize=9)
        told = "density" if self.kind == "density" else "probability"
        return self._labeled(self.attribute, f"{told} × P(class)" if self.prior else f"{told} in each class")

    def _bars(self, ax: Any) -> None:
        every = np.stack(list(self.curves.values()))
        # of very many values those that some class has most often, in their own order
        kept = np.sort(np.argsort(-every.max(axis=0), kind="stable")[:_MOST_BARS])
        k, at = len(self.curves), np.arange(len(kept))
        width = 0.8 / k
        for i, (c, shares) in enumerate(self.curves.items()):
            ax.bar(at + (i - (k - 1) / 2) * width, shares[kept], width, label=str(c), color=look(i)[0], alpha=0.75,
                   hatch=HATCHES[i % len(HATCHES)], edgecolor="white", linewidth=0.5)  # fmt: skip
        if len(kept) < len(self.values):
            ax.bar([0], [0], label=f"and {len(self.values) - len(kept):,} more values", color="none")
        names = [shortened(str(self.values[j]), 110, 9) for j in kept.tolist()]
        ax.set_xticks(at, names, fontsize=9)
        if sum(map(len, names)) > 60 or max(map(len, names)) > 70 // max(len(names), 1):
            _tilt(ax)


def _tilt(ax: Any) -> None:
    """Long names below an axis stand at an angle."""
    ax.tick_params(axis="x", labelrotation=35)
    for label in ax.get_xticklabels():
        label.set_ha("right")
        label.set_rotation_mode("anchor")


def _density(estimator: Any, attribute: str) -> Any:
    parts = getattr(estimator, "terms_", None)
    if parts is None or not hasattr(estimator, "densities_"):
        raise OptionError(
            f"{type(estimator).__name__} has no laws of single attributes, or is not fitted.",
            hint="give a fitted NaiveBayesClassifier.",
        )
    known = {name: part for part in parts for name in part.columns if not isinstance(part.derived, Absent)}
    if attribute not in known:
        hint = did_you_mean(attribute, known) or f"there are {listed(known)}."
        raise OptionError(f"The model has no attribute {attribute!r}.", hint=hint)
    part = known[attribute]
    if len(part.columns) > 1:
        raise OptionError(f"{attribute!r} has no law of its own: it is one of {len(part.columns)} columns with one.")
    return estimator.densities_[part.key]
