"""Validation curves: how a score depends on one setting, such as n_neighbors or the bandwidth of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise.base.predictions import greater
from countwise.data.frames import frame_of
from countwise.data.output import rows_of
from countwise.errors import OptionError, did_you_mean, listed, warn
from countwise.evaluation.cross_validation import one_score, splits_for
from countwise.evaluation.dataset import EvaluationData, ground_of
from countwise.evaluation.fold_models import answers_of, refitted
from countwise.feature_selection.subset_scoring import scored
from countwise.splits import splits_of
from countwise.working import Grid

__all__ = ["ValidationCurve", "validation_curve"]

_NEIGHBORS, _BANDWIDTHS = ("n_neighbors", "k"), ("bandwidth", "width", "reg_param")
_LOG_P = "mean log P"  # of the true class: less the log loss


@dataclass(frozen=True, eq=False)
class ValidationCurve:
    """A score on training rows and on held-out rows, for each value of a setting.

    Parameters
    ----------
    param_name : str
        The setting.
    scoring : str
        The score.
    param_range : list
        The values tried.
    train, held_out : list of float
        Mean scores over the folds.
    best : value or None
        The value with the best held-out score. Of equals it is the last, which for neighbors and bandwidths is the
        smoothest model. None if no score is finite.

    Examples
    --------
    >>> from countwise.evaluation import ValidationCurve
    >>> print(ValidationCurve("n_neighbors", "accuracy", [1, 3], [1.0, 0.9], [0.7, 0.8], 3))
    n_neighbors  train  held_out
              1    1         0.7
              3    0.9       0.8
    best n_neighbors: 3 by accuracy
    """

    param_name: str
    scoring: str
    param_range: list[Any]
    train: list[float]
    held_out: list[float]
    best: Any

    @property
    def frame(self) -> Grid:
        """A row for each value."""
        return Grid({self.param_name: self.param_range, "train": self.train, "held_out": self.held_out})

    @property
    def edge(self) -> str:
        """A warning where the best value is the first or the last of an ascending range."""
        tried = self.param_range
        if self.best is None or len(tried) < 3 or not _are_numbers(tried) or self.best not in (tried[0], tried[-1]):
            return ""
        if self.best == tried[0] == 1 and _last_part(self.param_name) in _NEIGHBORS:
            return ""  # there are no fewer
        return f", the {'smallest' if self.best == tried[0] else 'largest'} that was tried"

    def plot(self, ax: Any = None) -> Any:
        """Draw it, on the given axes or on new ones: a `ValidationCurveDisplay`."""
        from countwise.plots import ValidationCurveDisplay

        return ValidationCurveDisplay.from_curve(self, ax=ax)

    def __str__(self) -> str:
        if self.best is None:
            return f"{self.frame}\nNo {self.param_name} is best: none has a finite held-out {self.scoring}."
        return f"{self.frame}\nbest {self.param_name}: {_shown(self.best)} by {self.scoring}{self.edge}"

    __repr__ = __str__


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    param_name: str | None = None,
    param_range: Any = None,
    cv: Any = None,
    scoring: Any = None,
) -> ValidationCurve:
    """Score an estimator on training rows and on held-out rows, for each value of one setting.

    Parameters
    ----------
    estimator : estimator
        A classifier, or a density such as `ParzenDensity` or scikit-learn's KernelDensity.
    X : any table
    y : array-like or str, optional
        The class of each row, or the name of its column; none for densities.
    param_name : str, optional
        The setting, or "step__setting" in a pipeline. By default the number of neighbors or the bandwidth, whichever
        the estimator has.
    param_range : sequence, optional
        The values. By default 1 to 30 neighbors, and bandwidths from 0.05 to 5. Where `param_name` is not given, a
        `ParzenDensity` of several columns takes them as factors on the bandwidths in use.
    cv : int, splitter or splits, optional
        The folds (10). By default a `NeighborsClassifier` and a `ParzenDensity` leave out each row in turn, which
        takes one search for all numbers of neighbors and a closed form for bandwidths.
    scoring : str or callable, optional
        See `cross_validate`. By default the accuracy of classifiers, their mean log P(class | row) where the setting
        is a bandwidth, and the log-likelihood of densities.

    Returns
    -------
    ValidationCurve
        `frame`, `best`, `plot()`.

    Examples
    --------
    >>> from countwise import NeighborsClassifier, ParzenDensity, samples, validation_curve
    >>> birds = samples.load("penguins")
    >>> curve = validation_curve(NeighborsClassifier(), birds.X, birds.y, param_range=[1, 3, 5, 25])
    >>> curve.best, [round(share, 3) for share in curve.held_out]
    (5, [0.983, 0.983, 0.988, 0.956])
    >>> print(validation_curve(ParzenDensity(), {"temp": samples.load("rain").X["temp"]}, param_range=[1, 5, 10]))
    bandwidth     train  held_out
            1  -12.1345  -54.8041
            5  -17.9886  -19.3842
           10  -20.4364  -20.7127
    best bandwidth: 5 by log_likelihood
    """
    from countwise.parzen.model import ParzenDensity

    name = _setting(estimator, param_name)
    kind = _last_part(name)
    if isinstance(estimator, ParzenDensity) and param_name is None and y is None and scoring is None:
        tried = None if param_range is None else _values(param_range, kind)
        found = _clone(estimator).fit(X).bandwidth_curve(tried, cv=cv)
        return _made(name, "log_likelihood", found["bandwidth"], found["train"], found["held_out"])
    tried = _values(_usual(name, kind) if param_range is None else param_range, kind)
    if cv is None and name == "n_neighbors" and scoring in (None, "accuracy") and _leaves_out(estimator):
        return _by_leaving_out(estimator, X, y, tried)
    if scoring is None and kind in _BANDWIDTHS:
        scoring = _LOG_P
    return _swept(estimator, name, tried, X, y, 10 if cv is None else cv, scoring)


# -- the setting and its values ----------------------------------------------------------


def _setting(estimator: Any, param_name: str | None) -> str:
    have = estimator.get_params(deep=True)
    if param_name is None:
        found = next((name for name in (*_NEIGHBORS, *_BANDWIDTHS) if name in have), None)
        if found is None:
            raise OptionError(
                f"{type(estimator).__name__} has no setting for a number of neighbors or a bandwidth.",
                hint="name one: param_name='name', or 'step__name' of a step in a pipeline.",
            )
        return found
    if param_name not in have:
        hint = did_you_mean(param_name, have) or f"it has {listed(have)}."
        raise OptionError(f"{type(estimator).__name__} has no setting {param_name!r}.", hint=hint)
    return param_name


def _last_part(name: str) -> str:
    """The setting itself, without the steps of a pipeline."""
    return name.rpartition("__")[2]


def _usual(name: str, kind: str) -> Any:
    if kind in _NEIGHBORS:
        return range(1, 31)
    if kind in _BANDWIDTHS:
        return np.geomspace(0.05, 5, 21).round(6).tolist()
    raise OptionError(f"param_range is needed for {name!r}.", hint="give the values to try.")


def _values(given: Any, kind: str) -> list[Any]:
    """Numbers ascending and each once, so that of equal ones the last is the smoothest; others as they are."""
    several: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    tried = [v.item() if isinstance(v, np.generic) else v for v in several]
    if kind in (*_NEIGHBORS, *_BANDWIDTHS):
        if not tried or not _are_numbers(tried) or any(v <= 0 for v in tried):
            raise OptionError(f"{kind} must be numbers above 0, not {given!r}.")
        if kind in _NEIGHBORS and any(v != int(v) for v in tried):
            raise OptionError(f"{kind} must be whole numbers, not {listed(tried)}.")
        return sorted({int(v) if kind in _NEIGHBORS else v for v in tried})
    if not tried:
        raise OptionError("param_range has no values.")
    return sorted(set(tried)) if _are_numbers(tried) else tried


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) and np.isfinite(v) for v in values)


def _shown(value: Any) -> str:
    return f"{value:g}" if _are_numbers([value]) else str(value)


def _clone(estimator: Any) -> Any:
    from sklearn.base import clone

    return clone(estimator)


def _made(
    name: str, scoring: str, tried: Sequence[Any], train: Sequence[float], held_out: Sequence[float]
) -> ValidationCurve:
    scores = np.array(held_out, dtype=np.float64) * (1.0 if greater(scoring) else -1.0)
    known, best = np.flatnonzero(np.isfinite(scores)), None
    if len(known):
        top = float(scores[known].max())
        best = list(tried)[int(known[scores[known] >= top - 1e-12 * max(1.0, abs(top))][-1])]
    return ValidationCurve(name, scoring, list(tried), list(train), list(held_out), best)


# -- leaving each row out ----------------------------------------------------------------


def _leaves_out(estimator: Any) -> bool:
    """Whether one search answers all k: not where distances depend on the classes, which rows cannot leave."""
    from countwise.neighbors.knn import NeighborsClassifier

    if not isinstance(estimator, NeighborsClassifier) or "max_neighbors" not in estimator.get_params(deep=False):
        return False
    metric = estimator.metric
    learns = hasattr(metric, "nominal") and (
        metric.nominal == "mvdm" or isinstance(metric.weights, str) or metric.attributes is not None
    )
    return estimator.radius is None and not learns


def _by_leaving_out(estimator: Any, X: Any, y: Any, tried: list[int]) -> ValidationCurve:
    model = _clone(estimator).set_params(n_neighbors="loo", max_neighbors=max(tried)).fit(X, y)
    scores = dict(zip(model.choice_["k"], model.choice_["score"], strict=True))
    kept = [v for v in tried if v in scores]
    if not kept:
        raise OptionError(f"There are too few rows for {listed(tried)} neighbors.")
    if len(kept) < len(tried):
        warn(f"There are too few rows for {listed([v for v in tried if v not in kept])} neighbors: left out.")
    everything, train = ground_of(X, y), []
    for v in kept:
        model.set_params(n_neighbors=v)
        model.n_neighbors_ = v
        train.append(answers_of(model, everything).accuracy)
    return _made("n_neighbors", "accuracy", kept, train, [scores[v] for v in kept])


# -- fitting anew for each value and fold --------------------------------------------------


def _swept(estimator: Any, name: str, tried: list[Any], X: Any, y: Any, cv: Any, scoring: Any) -> ValidationCurve:
    from sklearn.base import is_classifier

    if y is not None or is_classifier(estimator):
        ground = ground_of(X, y)
        told, others = (_LOG_P, {}) if scoring == _LOG_P else one_score(scoring)
        splits: list[Any] = splits_for(cv, ground)
        work: Callable[..., tuple[float, float]] = partial(_of_classifier, ground, told, others.get(told))
    else:
        if scoring not in (None, _LOG_P):
            raise OptionError("Densities are scored by their log-likelihood.", hint="leave scoring out.")
        n = frame_of(X).n_rows
        splits, work, told = splits_of(cv, n, lambda: np.arange(n)), partial(_of_density, X), "log_likelihood"
    tell, scores = progress.counter(), []
    errors: dict[int, list[Exception]] = {}
    for i, value in enumerate(tried):
        model, found, failed = _clone(estimator).set_params(**{name: value}), [], []
        for a, b in splits:
            try:
                with progress.quiet():
                    found.append(work(model, a, b))
            except Exception as error:  # the other folds go on
                failed.append(error)
        scores.append(np.mean(found, axis=0) if found else (np.nan, np.nan))
        if failed:
            errors[i] = failed
        tell()
    train, held = np.array(scores).T.tolist()
    if errors and np.isnan(held).all():
        raise next(iter(errors.values()))[0]
    for i, failed in errors.items():
        why = f"{type(failed[0]).__name__}: {failed[0]}"
        at = f"{name}={_shown(tried[i])}"
        warn(f"{at} failed in {len(failed)} of {len(splits)} folds, which are left out: {why}")
    return _made(name, told, tried, train, held)


def _of_classifier(
    ground: EvaluationData, score: str, scorer: Any, model: Any, a: NDArray[Any], b: NDArray[Any]
) -> tuple[float, float]:
    found = refitted(model, ground.piece(a))
    if found.error is not None:
        raise found.error

    def at(rows: EvaluationData) -> float:
        if scorer is not None:
            return scored(scorer, found.model, rows.table, rows.y, rows.weights)
        answers = answers_of(found.model, rows)
        return -answers.log_loss if score == _LOG_P else answers.score(score)

    return at(ground.piece(a)), at(ground.piece(b))


def _of_density(X: Any, model: Any, a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float]:
    fitted, n = _clone(model).fit(rows_of(X, a)), len(a) + len(b)

    def at(rows: NDArray[Any]) -> float:
        """Scaled to the number of all rows, so that the two can be compared."""
        logs = getattr(fitted, "score_samples", None)
        if logs is not None:
            return n * float(np.mean(logs(rows_of(X, rows))))
        return n / len(rows) * float(fitted.score(rows_of(X, rows)))

    return at(a), at(b)
