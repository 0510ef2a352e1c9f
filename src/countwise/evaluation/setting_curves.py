"""Curves over a setting: the width of a kernel, the number of neighbors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise.data.frames import frame_of
from countwise.data.output import rows_of
from countwise.errors import OptionError, listed, warn
from countwise.evaluation.cross_validation import splits_for
from countwise.evaluation.dataset import EvaluationData, EvaluationRows, ground_of
from countwise.evaluation.fold_models import answers_of, refitted
from countwise.splits import splits_of
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
    best : value or None
        With the best score on rows held out; of equals the one that is simpler: wider, or of more neighbors. None if
        no value has a score that is finite.

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
    def bandwidth_curve_(self) -> Grid:
        """The same as `plots.plot_width` takes it."""
        return Grid({"bandwidth": self.values, "train": self.train, "held_out": self.held_out})

    @property
    def best_bandwidth_(self) -> Any:
        """The best value, as `plots.plot_width` takes it."""
        return self.best

    @property
    def edge(self) -> str:
        """A word of warning where the best of what was tried is the last in its direction."""
        if self.best is None or len(self.values) < 3 or self.best not in (self.values[0], self.values[-1]):
            return ""
        if self.best == self.values[0] and self.best == 1 and self.setting in _NEIGHBORS:
            return ""  # there are no fewer
        return f", the {'smallest' if self.best == self.values[0] else 'largest'} that was tried"

    def plot(self, ax: Any = None) -> Any:
        """Draw it, on the given axes or on new ones: a `SettingCurveDisplay`."""
        from countwise.plots import SettingCurveDisplay

        return SettingCurveDisplay.from_curve(self, ax=ax)

    def __str__(self) -> str:
        if self.best is None:
            return f"{self.frame}\nNo {self.setting} is best: none has a finite {self.score} on rows held out."
        return f"{self.frame}\nbest {self.setting}: {self.best:g} by {self.score}{self.edge}"

    __repr__ = __str__


def _made(
    setting: str, score: str, values: Sequence[Any], train: Sequence[float], held: Sequence[float]
) -> SettingCurve:
    scores = np.array(held, dtype=np.float64)
    known, best = np.flatnonzero(np.isfinite(scores)), None
    if len(known):
        top = float(scores[known].max())
        best = list(values)[int(known[scores[known] >= top - 1e-12 * max(1.0, abs(top))][-1])]
    return SettingCurve(setting, score, list(values), list(train), list(held), best)


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
    from countwise.parzen.model import ParzenDensity

    if isinstance(estimator, ParzenDensity) and setting is None and y is None:
        from sklearn.base import clone

        tried = None if widths is None else _numbers(widths, "widths")
        found = clone(estimator).fit(X).bandwidth_curve(tried, cv=cv)
        return _made("width", "log_likelihood", found["bandwidth"], found["train"], found["held_out"])
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
        A `NeighborsClassifier` (each row left out in turn, all k from one search, unless its metric is learned from
        the classes), or any classifier with a setting "n_neighbors" or "k".
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
    from countwise.neighbors.knn import NeighborsClassifier

    tried = _numbers(k, "k")
    if any(v != int(v) for v in tried):
        raise OptionError(f"k must be whole numbers, not {listed(tried)}.")
    tried = [int(v) for v in tried]
    if min(tried) < 1:
        raise OptionError(f"k must be 1 or more, not {min(tried)}.")
    loo = isinstance(estimator, NeighborsClassifier) and "max_neighbors" in estimator.get_params(deep=False)
    if loo and cv is None and setting is None and estimator.radius is None and not _learns(estimator.metric):
        return _by_leaving_out(estimator, X, y, tried)
    name = setting or _setting(estimator, _NEIGHBORS, "a number of neighbors")
    return _swept(estimator, name, tried, X, y, 10 if cv is None else cv, "accuracy")


def setting_curve(estimator: Any, X: Any, y: Any, *, values: Any, cv: Any, setting: str | None) -> SettingCurve:
    """The curve over k of what has neighbors, else over a width."""
    have = estimator.get_params(deep=False)
    if (setting or next((name for name in (*_NEIGHBORS, *_WIDTHS) if name in have), None)) in _NEIGHBORS:
        return k_curve(estimator, X, y, k=range(1, 31) if values is None else values, cv=cv, setting=setting)
    return width_curve(estimator, X, y, widths=values, cv=cv, setting=setting)


def _learns(metric: Any) -> bool:
    """Whether distances are made from the classes, so that a row cannot be left out of them afterwards."""
    if metric is None or not hasattr(metric, "nominal"):
        return False
    return metric.nominal == "mvdm" or isinstance(metric.weights, str) or metric.attributes is not None


def _by_leaving_out(estimator: Any, X: Any, y: Any, tried: list[int]) -> SettingCurve:
    from sklearn.base import clone

    model = clone(estimator).set_params(n_neighbors="loo", max_neighbors=max(tried)).fit(X, y)
    scores = dict(zip(model.choice_["k"], model.choice_["score"], strict=True))
    kept = [v for v in tried if v in scores]
    if not kept:
        raise OptionError(f"There are too few rows for {listed(tried)} neighbors.")
    if len(kept) < len(tried):
        warn(f"There are too few rows for {listed([v for v in tried if v not in kept])} neighbors: left out.")
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
            hint="name it: setting='name', or 'step__name' of a step in a pipeline.",
        )
    return found


def _numbers(values: Any, what: str) -> list[Any]:
    """Each once, ascending: of equally good ones the last is the simplest."""
    tried: list[Any] = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if None in tried:
        tried = []
    if not tried or any(isinstance(v, str | bool) or not np.isfinite(v) or v <= 0 for v in tried):
        raise OptionError(f"{what} must be numbers above 0, not {values!r}.")
    return sorted({v.item() if isinstance(v, np.generic) else v for v in tried})


def _swept(estimator: Any, name: str, tried: list[Any], X: Any, y: Any, cv: Any, score: str) -> SettingCurve:
    """Fit and score anew for each value and fold."""
    from sklearn.base import clone, is_classifier

    if y is not None or is_classifier(estimator):
        ground = ground_of(X, y)
        splits: list[Any] = splits_for(cv, ground)
        work: Callable[..., tuple[float, float]] = partial(_of_classifier, ground, score)
        told = "mean log P" if score == "log_loss" else score
    else:
        n = frame_of(X).n_rows
        splits, work, told = splits_of(cv, n, lambda: np.arange(n)), partial(_of_density, X), "log_likelihood"
    listener, train, held = progress.current(), [], []
    errors: dict[Any, list[Exception]] = {}
    for done, value in enumerate(tried):
        on_train, on_held, failed = _over_folds(clone(estimator).set_params(**{name: value}), work, splits)
        train.append(on_train)
        held.append(on_held)
        if failed:
            errors[value] = failed
        if listener is not None:
            listener(done + 1)
    if errors and np.isnan(held).all():
        raise next(iter(errors.values()))[0]
    for value, failed in errors.items():
        told_why = f"{type(failed[0]).__name__}: {failed[0]}"
        warn(f"{name}={value:g} failed in {len(failed)} of {len(splits)} folds, which are left out: {told_why}")
    return _made(name, told, tried, train, held)


def _over_folds(
    model: Any, work: Callable[..., tuple[float, float]], splits: Sequence[Any]
) -> tuple[float, float, list[Exception]]:
    """The mean scores over the folds in which the model does not fail, and its failures."""
    found, failed = [], []
    for a, b in splits:
        try:
            with progress.quiet():
                found.append(work(model, a, b))
        except Exception as error:  # the other folds go on
            failed.append(error)
    if not found:
        return float("nan"), float("nan"), failed
    train, held = np.mean(found, axis=0)
    return float(train), float(held), failed


def _of_classifier(
    ground: EvaluationData, score: str, model: Any, a: NDArray[Any], b: NDArray[Any]
) -> tuple[float, float]:
    found = refitted(model, ground.piece(a))
    if found.error is not None:
        raise found.error
    sign = -1.0 if score == "log_loss" else 1.0

    def at(rows: EvaluationRows) -> float:
        return sign * answers_of(found.model, rows).score(score)

    return at(ground.piece(a)), at(ground.piece(b))


def _of_density(X: Any, model: Any, a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
    from sklearn.base import clone

    fitted, n = clone(model).fit(rows_of(X, a)), len(a) + len(b)

    def at(rows: NDArray[Any]) -> float:
        """Of as many rows as there are, so that the two can be compared."""
        logs = getattr(fitted, "score_samples", None)
        if logs is not None:
            return n * float(np.mean(logs(rows_of(X, rows))))
        return n / len(rows) * float(fitted.score(rows_of(X, rows)))

    return at(a), at(b)
