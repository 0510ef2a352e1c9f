"""Curves over a setting: the width of a kernel, the number of neighbors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise.errors import OptionError, listed
from countwise.evaluation.fitting import answers_of, refitted
from countwise.evaluation.folding import splits_for
from countwise.evaluation.ground import Ground, Piece, ground_of
from countwise.folds import splits_of
from countwise.frames import frame_of
from countwise.outputs import rows_of
from countwise.working import Grid

__all__ = ["SettingCurve", "k_curve", "width_curve"]

_WIDTHS, _NEIGHBORS = ("width", "bandwidth", "reg_param"), ("n_neighbors", "k")


@dataclass(frozen=True, eq=False)
class SettingCurve:
    """A score on the rows learned from and on rows held out, for each value of a setting.

    Parameters
    ----------
    setting : str
        Which one.
    score : str
        The score; more is better.
    values : list
        What was tried.
    train, held_out : list of float
        Means over the folds.
    best : value
        With the best score on rows held out; of equals the one that is simpler: wider, or of more neighbors.

    Examples
    --------
    >>> from countwise import SettingCurve
    >>> print(SettingCurve("k", "accuracy", [1, 3], [1.0, 0.9], [0.7, 0.8], 3))
    k  train  held_out
    1  1      0.7
    3  0.9    0.8
    best k: 3 by accuracy
    """

    setting: str
    score: str
    values: list[Any]
    train: list[float]
    held_out: list[float]
    best: Any

    @property
    def frame(self) -> Grid:
        """A row for each value."""
        return Grid({self.setting: self.values, "train": self.train, "held_out": self.held_out})

    @property
    def width_curve_(self) -> Grid:
        """The same as `plots.plot_width` takes it."""
        return Grid({"width": self.values, "train": self.train, "held_out": self.held_out})

    @property
    def best_width_(self) -> Any:
        """The best value, as `plots.plot_width` takes it."""
        return self.best

    def plot(self, ax: Any = None) -> Any:
        """Draw it, on the given axes or on new ones: a `SettingCurveDisplay`."""
        from countwise.plots import SettingCurveDisplay

        return SettingCurveDisplay.from_curve(self, ax=ax)

    def __str__(self) -> str:
        return f"{self.frame}\nbest {self.setting}: {self.best:g} by {self.score}"

    __repr__ = __str__


def _made(
    setting: str, score: str, values: Sequence[Any], train: Sequence[float], held: Sequence[float]
) -> SettingCurve:
    scores = np.nan_to_num(np.array(held, dtype=np.float64), nan=-np.inf)
    near = np.flatnonzero(scores >= scores.max() - 1e-12 * max(1.0, abs(float(scores.max()))))
    return SettingCurve(setting, score, list(values), list(train), list(held), list(values)[int(near[-1])])


def width_curve(
    estimator: Any, X: Any, y: Any = None, *, widths: Any = None, cv: Any = None, setting: str | None = None
) -> SettingCurve:
    """The log-likelihood of rows learned from and of rows held out, against the width of a kernel (003).

    Parameters
    ----------
    estimator : estimator
        A `ParzenDensity` (leave-one-out in closed form), a `ParzenClassifier`, or any estimator with a setting
        "width" or "bandwidth", such as scikit-learn's KernelDensity. Densities are scored by the log-likelihood,
        classifiers by the mean log P(class | row).
    X : any table
    y : array-like or str, optional
        The class of each row, for classifiers.
    widths : sequence of float, optional
        Which; for several columns of a ParzenDensity factors on the widths in use.
    cv : int, splitter or splits, optional
        Folds (10); a ParzenDensity leaves out row by row.
    setting : str, optional
        The name of the setting, if it is another.

    Examples
    --------
    >>> from countwise import ParzenDensity, samples, width_curve
    >>> print(width_curve(ParzenDensity(), {"temp": samples.load("rain").X["temp"]}, widths=[1, 5, 10]))
    width  train     held_out
    1      -12.1345  -54.8041
    5      -17.9886  -19.3842
    10     -20.4364  -20.7127
    best width: 5 by log_likelihood
    """
    from countwise.models.parzen import ParzenEstimate

    if isinstance(estimator, ParzenEstimate) and setting is None and y is None:
        from sklearn.base import clone

        found = clone(estimator).fit(X).width_curve(widths, cv=cv)
        return _made("width", "log_likelihood", found["width"], found["train"], found["held_out"])
    name = setting or _setting(estimator, _WIDTHS, "a width")
    tried = np.geomspace(0.05, 5, 21).round(6).tolist() if widths is None else _numbers(widths, "widths")
    return _swept(estimator, name, tried, X, y, 10 if cv is None else cv, "log_loss")


def k_curve(
    estimator: Any, X: Any, y: Any = None, *, k: Any = range(1, 31), cv: Any = None, setting: str | None = None
) -> SettingCurve:
    """The share of right answers, on rows learned from and on rows held out, against the number of neighbors (004).

    Parameters
    ----------
    estimator : estimator
        A `NeighborsClassifier` (each row left out in turn, all k from one search), or any classifier with a setting
        "n_neighbors" or "k".
    X : any table
    y : array-like or str
        The class of each row, or the name of its column.
    k : sequence of int
        Which.
    cv : int, splitter or splits, optional
        Folds (10); by default a NeighborsClassifier leaves out row by row.
    setting : str, optional
        The name of the setting, if it is another.

    Examples
    --------
    >>> from countwise import NeighborsClassifier, k_curve, samples
    >>> birds = samples.load("penguins")
    >>> curve = k_curve(NeighborsClassifier(), birds.X, birds.y, k=[1, 3, 5, 25])
    >>> curve.best, [round(share, 3) for share in curve.held_out]
    (5, [0.983, 0.983, 0.988, 0.956])
    """
    from countwise.models.neighbors import ClassNeighbors

    tried = [int(v) for v in _numbers(k, "k")]
    if min(tried) < 1:
        raise OptionError(f"k must be 1 or more, not {min(tried)}.")
    if isinstance(estimator, ClassNeighbors) and cv is None and setting is None and estimator.radius is None:
        return _by_leaving_out(estimator, X, y, tried)
    name = setting or _setting(estimator, _NEIGHBORS, "a number of neighbors")
    return _swept(estimator, name, tried, X, y, 10 if cv is None else cv, "accuracy")


def _by_leaving_out(estimator: Any, X: Any, y: Any, tried: list[int]) -> SettingCurve:
    from sklearn.base import clone

    model = clone(estimator).set_params(n_neighbors="loo", max_neighbors=max(tried)).fit(X, y)
    scores = dict(zip(model.choice_["k"], model.choice_["score"], strict=True))
    kept = [v for v in tried if v in scores]
    if not kept:
        raise OptionError(f"There are too few rows for {listed(tried)} neighbors.")
    ground = ground_of(X, y)
    everything = ground.piece(np.arange(len(ground)))
    train = []
    for v in kept:
        model.set_params(n_neighbors=v)
        model.n_neighbors_ = v
        train.append(answers_of(model, everything).accuracy)
    return _made("k", "accuracy", kept, train, [scores[v] for v in kept])


def _setting(estimator: Any, names: Sequence[str], what: str) -> str:
    have = estimator.get_params(deep=False)
    found = next((name for name in names if name in have), None)
    if found is None:
        raise OptionError(
            f"{type(estimator).__name__} has no setting for {what}.",
            hint=f"name it: setting={next(iter(have), 'name')!r}.",
        )
    return found


def _numbers(values: Any, what: str) -> list[Any]:
    tried: list[Any] = [values] if np.isscalar(values) else list(values)
    if not tried or any(isinstance(v, str | bool) or not np.isfinite(v) or v <= 0 for v in tried):
        raise OptionError(f"{what} must be numbers above 0, not {values!r}.")
    return [v.item() if isinstance(v, np.generic) else v for v in tried]


def _swept(estimator: Any, name: str, tried: list[Any], X: Any, y: Any, cv: Any, score: str) -> SettingCurve:
    """Fit and score anew for each value and fold."""
    from sklearn.base import clone, is_classifier

    if is_classifier(estimator):
        ground = ground_of(X, y)
        splits: list[Any] = splits_for(cv, ground)
        work: Callable[..., tuple[float, float]] = partial(_of_classifier, ground, score)
        told = "mean log P" if score == "log_loss" else score
    else:
        n = frame_of(X).n_rows
        splits, work, told = splits_of(cv, n, lambda: np.arange(n)), partial(_of_density, X), "log_likelihood"
    listener, train, held = progress.current(), [], []
    for done, value in enumerate(tried):
        model = clone(estimator).set_params(**{name: value})
        with progress.quiet():
            found = np.array([work(model, a, b) for a, b in splits])
        train.append(float(found[:, 0].mean()))
        held.append(float(found[:, 1].mean()))
        if listener is not None:
            listener(done + 1)
    return _made(name, told, tried, train, held)


def _of_classifier(ground: Ground, score: str, model: Any, a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
    found = refitted(model, ground.piece(a))
    if found.error is not None:
        raise found.error
    sign = -1.0 if score == "log_loss" else 1.0

    def at(rows: Piece) -> float:
        return sign * answers_of(found.model, rows).score(score)

    return at(ground.piece(a)), at(ground.piece(b))


def _of_density(X: Any, model: Any, a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
    from sklearn.base import clone

    fitted = clone(model).fit(rows_of(X, a))
    return float(fitted.score(rows_of(X, a))), float(fitted.score(rows_of(X, b)))
