"""Validation curves: scores as a function of one parameter, such as n_neighbors or the bandwidth of a kernel."""

from __future__ import annotations

import sys
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
from countwise.errors import NumberIn, OptionError, did_you_mean, listed, warn
from countwise.evaluation.cross_validation import check_estimator, one_score, splits_for
from countwise.evaluation.dataset import EvaluationData, evaluation_data
from countwise.evaluation.fold_models import predict_rows, refitted
from countwise.feature_selection.subset_scoring import scored
from countwise.splits import row_means, splits_of
from countwise.working import Grid

__all__ = ["ValidationCurve", "validation_curve"]

_NEIGHBORS, _BANDWIDTHS = ("n_neighbors", "k"), ("bandwidth", "width", "reg_param")
_LOG_P = "mean log P"  # mean log-probability of the true class, the negative log loss


@dataclass(frozen=True, eq=False)
class ValidationCurve:
    """Training and held-out scores for each value of a parameter; the result of `validation_curve`.

    Parameters
    ----------
    param_name : str
        Name of the parameter.
    scoring : str
        Name of the score.
    param_range : list
        The parameter values.
    train : list of float
        Mean score on the training rows for each value.
    held_out : list of float
        Mean score on the held-out rows for each value.
    best : value or None
        The value with the best held-out score. Ties go to the last value, which for numbers of neighbors and
        bandwidths is the smoothest model. None if no score is finite.

    Examples
    --------
    >>> from countwise.evaluation import ValidationCurve
    >>> print(ValidationCurve("n_neighbors", "accuracy", [1, 3], [1.0, 0.9], [0.7, 0.8], 3))
    n_neighbors  train  held_out
              1    1         0.7
              3    0.9       0.8
    The best n_neighbors is 3 (by accuracy).
    """

    param_name: str
    scoring: str
    param_range: list[Any]
    train: list[float]
    held_out: list[float]
    best: Any

    @property
    def frame(self) -> Grid:
        """One row for each parameter value, with the training score and the held-out score."""
        return Grid({self.param_name: self.param_range, "train": self.train, "held_out": self.held_out})

    @property
    def edge(self) -> str:
        """A remark if the best value is the first or the last of a numeric range, else an empty string."""
        tried = self.param_range
        if self.best is None or len(tried) < 3 or not _are_numbers(tried) or self.best not in (tried[0], tried[-1]):
            return ""
        if self.best == tried[0] == 1 and _last_part(self.param_name) in _NEIGHBORS:
            return ""  # 1 neighbor is the minimum
        return f", the {'smallest' if self.best == tried[0] else 'largest'} value of the range"

    def plot(self, ax: Any = None) -> Any:
        """Draw the validation curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        ValidationCurveDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise.evaluation import ValidationCurve
        >>> curve = ValidationCurve("n_neighbors", "accuracy", [1, 3], [1.0, 0.9], [0.7, 0.8], 3)
        >>> curve.plot().ax_.get_ylabel()
        'accuracy'
        """
        from countwise.plots import ValidationCurveDisplay

        return ValidationCurveDisplay.from_curve(self, ax=ax)

    def __str__(self) -> str:
        if self.best is None:
            return f"{self.frame}\nThere is no best {self.param_name}: no held-out {self.scoring} is finite."
        return f"{self.frame}\nThe best {self.param_name} is {_shown(self.best)} (by {self.scoring}){self.edge}."

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
    """Compute training and held-out scores for each value of one parameter.

    Parameters
    ----------
    estimator : estimator
        A classifier, or a density estimator such as `ParzenDensity` or scikit-learn's KernelDensity.
    X : any table
        The columns that the estimator accepts.
    y : array-like or str, optional
        The class of each row, or the name of its column in X. None for density estimators.
    param_name : str, optional
        Name of the parameter, or "step__parameter" in a pipeline. By default the number of neighbors or the
        bandwidth, whichever the estimator has.
    param_range : sequence, optional
        The parameter values; numbers are sorted. By default 1 to 30 for the number of neighbors, and 21 values from
        0.05 to 5 for a bandwidth; required for other parameters. A `ParzenDensity` with ``param_name=None`` uses 41
        values from 0.1 to 10 times its bandwidth; with several columns the values are factors of its bandwidths.
    cv : int, splitter or iterable of splits, optional
        The folds; see `cross_validate`. By default leave-one-out for the number of neighbors of a
        `NeighborsClassifier` and for a `ParzenDensity`, which need no refitting, and 10 folds otherwise. For a
        density estimator a row that is in several folds counts once, with the mean of its log densities.
    scoring : str or callable, optional
        Score; see `cross_validate`. By default the accuracy of classifiers, their mean log P(class | row) if the
        parameter is a bandwidth, and the log-likelihood of density estimators.

    Returns
    -------
    ValidationCurve
        Result with `frame`, `best` and `plot()`.

    See Also
    --------
    learning_curve : Scores as a function of the number of training rows.

    Examples
    --------
    >>> from countwise import NeighborsClassifier, ParzenDensity, samples, validation_curve
    >>> birds = samples.load("penguins")
    >>> curve = validation_curve(NeighborsClassifier(), birds.X, birds.y, param_range=[1, 3, 5, 25])
    >>> curve.best, [round(accuracy, 3) for accuracy in curve.held_out]
    (5, [0.983, 0.983, 0.988, 0.956])
    >>> print(validation_curve(ParzenDensity(), {"temp": samples.load("rain").X["temp"]}, param_range=[1, 5, 10]))
    bandwidth     train  held_out
            1  -12.1345  -54.8041
            5  -17.9886  -19.3842
           10  -20.4364  -20.7127
    The best bandwidth is 5 (by log_likelihood).
    """
    from countwise.parzen.model import ParzenDensity

    name = _setting(estimator, param_name)
    kind = _last_part(name)
    if isinstance(estimator, ParzenDensity) and param_name is None and y is None and scoring is None:
        tried = None if param_range is None else _values(param_range, kind)
        density = _clone(estimator).fit(X)
        found = density.bandwidth_curve(tried, cv=cv)
        name = name if len(density.bandwidths_) == 1 else "bandwidth factor"  # as `plot_bandwidth` names it
        return _made(name, "log_likelihood", found["bandwidth"], found["train"], found["held_out"])
    tried = _values(_usual(name, kind) if param_range is None else param_range, kind)
    if cv is None and name == "n_neighbors" and scoring in (None, "accuracy") and _leaves_out(estimator):
        return _by_leaving_out(estimator, X, y, tried)
    if scoring is None and kind in _BANDWIDTHS:
        scoring = _LOG_P
    return _swept(estimator, name, tried, X, y, 10 if cv is None else cv, scoring)


# -- the parameter and its values --------------------------------------------------------


def _setting(estimator: Any, param_name: str | None) -> str:
    check_estimator(estimator)
    have = estimator.get_params(deep=True)
    usual = next((name for name in (*_NEIGHBORS, *_BANDWIDTHS) if name in have), None)
    if param_name is None:
        if usual is None:
            raise OptionError(
                f"{type(estimator).__name__} has no parameter for a number of neighbors or a bandwidth.",
                hint=_kernel_hint(have) or f"pass param_name and param_range; the parameters are {listed(have)}.",
            )
        return usual
    if not isinstance(param_name, str):
        raise OptionError(f"param_name must be the name of a parameter, not {param_name!r}.")
    if param_name not in have:
        hint = did_you_mean(param_name, have) or f"choose one of {listed(have)}."
        if _last_part(param_name) in (*_NEIGHBORS, *_BANDWIDTHS):
            learner = "NeighborsClassifier" if _last_part(param_name) in _NEIGHBORS else "ParzenClassifier"
            hint = f"use {usual!r}." if usual else _kernel_hint(have) or f"use {learner}."
        raise OptionError(f"{type(estimator).__name__} has no parameter {param_name!r}.", hint=hint)
    return param_name


def _kernel_hint(have: Any) -> str | None:
    """Return how to vary the bandwidth of a learner with one distribution for each column."""
    name = next((name for name in have if _last_part(name) == "distributions"), None)
    if name is None:
        return None
    return f"pass param_name={name!r}, param_range=[Kernel(bandwidth=1), Kernel(bandwidth=2)]."


def _last_part(name: str) -> str:
    """Return the parameter name without the steps of a pipeline."""
    return name.rpartition("__")[2]


def _usual(name: str, kind: str) -> Any:
    if kind in _NEIGHBORS:
        return range(1, 31)
    if kind in _BANDWIDTHS:
        return np.geomspace(0.05, 5, 21).round(6).tolist()
    raise OptionError(f"param_range is needed for {name!r}.", hint="pass the parameter values.")


def _values(given: Any, kind: str) -> list[Any]:
    """Sort numbers and drop duplicates, so that the last of equally good values is the smoothest model."""
    several: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    tried = [v.item() if isinstance(v, np.generic) else v for v in several]
    if kind in (*_NEIGHBORS, *_BANDWIDTHS):
        if not tried or not _are_numbers(tried) or any(v <= 0 for v in tried):
            raise OptionError(f"The values of {kind} must be numbers > 0, not {given!r}.")
        if kind in _NEIGHBORS and any(v != int(v) for v in tried):
            raise OptionError(f"The values of {kind} must be integers, not {listed(tried)}.")
        return sorted({int(v) if kind in _NEIGHBORS else v for v in tried})
    if not tried:
        raise OptionError("param_range is empty; at least one value is needed.")
    return sorted(set(tried)) if _are_numbers(tried) else tried


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(v in NumberIn(-sys.float_info.max, sys.float_info.max) for v in values)


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


# -- leave-one-out -----------------------------------------------------------------------


def _leaves_out(estimator: Any) -> bool:
    """Return whether one neighbor search gives the leave-one-out predictions for all k.

    It does not if the distances are learned from the classes, because a held-out row would contribute to them.
    """
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
    scores = dict(zip(model.choice_["n_neighbors"], model.choice_["score"], strict=True))
    kept = [v for v in tried if v in scores]
    if not kept:
        raise OptionError(f"There are too few rows for {listed(tried)} neighbors.")
    if len(kept) < len(tried):
        lost = [v for v in tried if v not in kept]
        warn(f"There are too few rows for {listed(lost)} neighbors; the curve skips these values.")
    everything, train = evaluation_data(X, y), []
    for v in kept:
        model.set_params(n_neighbors=v)
        model.n_neighbors_ = v
        train.append(predict_rows(model, everything).accuracy)
    return _made("n_neighbors", "accuracy", kept, train, [scores[v] for v in kept])


# -- refitting for each value and fold -----------------------------------------------------


def _swept(estimator: Any, name: str, tried: list[Any], X: Any, y: Any, cv: Any, scoring: Any) -> ValidationCurve:
    from sklearn.base import is_classifier

    if y is not None or is_classifier(estimator):
        data = evaluation_data(X, y)
        score, others = (_LOG_P, {}) if isinstance(scoring, str) and scoring == _LOG_P else one_score(scoring)
        splits: list[Any] = splits_for(cv, data)
        work: Callable[..., Any] = partial(_of_classifier, data, score, others.get(score))
        joined: Callable[..., Any] = partial(np.mean, axis=0)
    else:
        if scoring not in (None, _LOG_P):
            raise OptionError(
                f"Density estimators are scored by their log-likelihood, not by {scoring!r}.", hint="drop scoring."
            )
        n = frame_of(X).n_rows
        splits, work, score = splits_of(cv, n, lambda: np.arange(n)), partial(_of_density, X), "log_likelihood"
        joined = partial(
            _log_likelihoods, n, [len(np.unique(np.concatenate(rows))) for rows in zip(*splits, strict=True)]
        )
    advance, scores = progress.counter(), []
    errors: dict[int, list[Exception]] = {}
    for i, value in enumerate(tried):
        model, found, failed = _clone(estimator).set_params(**{name: value}), [], []
        for a, b in splits:
            try:
                with progress.quiet():
                    found.append(work(model, a, b))
            except Exception as error:  # the other folds are still scored
                failed.append(error)
        scores.append(joined(found) if found else (np.nan, np.nan))
        if failed:
            errors[i] = failed
        advance()
    train, held = np.array(scores).T.tolist()
    if errors and np.isnan(held).all():
        raise next(iter(errors.values()))[0]
    for i, failed in errors.items():
        why = f"{type(failed[0]).__name__}: {failed[0]}"
        at = f"{name}={_shown(tried[i])}"
        warn(f"{at} failed in {len(failed)} of {len(splits)} folds, which are ignored: {why}")
    return _made(name, score, tried, train, held)


def _of_classifier(
    data: EvaluationData, score: str, scorer: Any, model: Any, a: NDArray[Any], b: NDArray[Any]
) -> tuple[float, float]:
    found = refitted(model, data.subset(a))
    if found.error is not None:
        raise found.error

    def at(rows: EvaluationData) -> float:
        if scorer is not None:
            return scored(scorer, found.model, rows.table, rows.y, rows.weights)
        predictions = predict_rows(found.model, rows)
        return -predictions.log_loss if score == _LOG_P else predictions.score(score)

    return at(data.subset(a)), at(data.subset(b))


def _of_density(X: Any, model: Any, a: NDArray[Any], b: NDArray[Any]) -> tuple[Any, Any]:
    """Return the training rows and the held-out rows of a fold, each with the log densities."""
    fitted = _clone(model).fit(rows_of(X, a))

    def at(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        logs = getattr(fitted, "score_samples", None)
        if logs is not None:
            return rows, np.asarray(logs(rows_of(X, rows)), dtype=np.float64)
        return rows, np.full(len(rows), float(fitted.score(rows_of(X, rows))) / max(len(rows), 1))

    return at(a), at(b)


def _log_likelihoods(n: int, sizes: list[int], folds: Sequence[tuple[Any, Any]]) -> list[float]:
    """Return the log-likelihood of the training rows and of the held-out rows; each row counts once.

    `sizes` are the numbers of these rows. The rows of failed folds count as much as the mean of the others.
    """
    means = (row_means(n, parts)[1] for parts in zip(*folds, strict=True))
    return [size * float(logs.mean()) if len(logs) else 0.0 for size, logs in zip(sizes, means, strict=True)]
