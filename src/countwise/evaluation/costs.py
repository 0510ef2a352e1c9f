"""Cost-sensitive decisions: the class with the lowest expected cost given the predicted probabilities."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from countwise._kernels.ties import TIE
from countwise._typing import Floats, Indices
from countwise.base.predictions import predicted_by
from countwise.data.columns import plain
from countwise.errors import OptionError, TableError, did_you_mean, listed

__all__ = ["cheapest", "cost_threshold", "costs_of", "decide"]

_PLACES = {"tn": (0, 0), "fp": (0, 1), "fn": (1, 0), "tp": (1, 1)}


def decide(estimator: Any, X: Any = None, *, cost: Any = None, classes: Any = None, pos_label: Any = None) -> Any:
    """Predict for each row the class with the lowest expected cost.

    The expected cost of predicting class a for a row x is Σ_c P(c | x) · cost(c, a). Ties go to the class
    that the classifier predicts, or to the first class.

    Parameters
    ----------
    estimator : classifier, or array-like of shape (n_rows, n_classes) or (n_rows,)
        A fitted classifier with `predict_proba`, or the probabilities themselves. A one-dimensional array contains
        the probability of the second of two classes.
    X : any table, optional
        The rows to predict. Required with a classifier, not allowed with probabilities.
    cost : mapping or array-like of shape (n_classes, n_classes), optional
        One of:

        - for two classes, a mapping such as {"fn": 5, "fp": 1} with the costs of "fn", "fp", "tn" and "tp"; those
          not given are 0;
        - a mapping {(true class, predicted class): cost}, in which an error that is not given costs 1 and a correct
          prediction 0;
        - a cost matrix with a row for each true class and a column for each predicted class. The rows and columns of
          a data frame are matched by name.

        Negative costs are gains. By default every error costs the same.
    classes : sequence, optional
        The classes of the columns of an array of probabilities. By default 0, 1, ...
    pos_label : class, optional
        The positive class of "fn" and "fp". By default the second class.

    Returns
    -------
    ndarray of shape (n_rows,)
        The predicted classes.

    See Also
    --------
    cost_threshold : The probability above which one of two classes has the lower expected cost.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> from countwise.evaluation import decide
    >>> tennis = samples.load("tennis")
    >>> model = NaiveBayesClassifier().fit(tennis.X, tennis.y)
    >>> decide(model, [{"outlook": "Sunny"}]).tolist(), decide(model, [{"outlook": "Sunny"}], cost={"fn": 5}).tolist()
    (['No'], ['Yes'])
    >>> decide([[0.8, 0.2], [0.7, 0.3]], cost={"fn": 3, "fp": 1}, classes=["good", "bad"]).tolist()
    ['good', 'bad']
    """
    if hasattr(estimator, "predict_proba"):
        if X is None:
            raise TableError(f"{type(estimator).__name__} needs rows to predict, but X is missing.", hint="pass X.")
        if classes is not None:
            raise OptionError(
                "classes applies to an array of probabilities; a fitted classifier has its own classes.",
                hint="drop classes.",
            )
        if not hasattr(estimator, "classes_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(estimator).__name__} has no classes because it is not fitted yet.")
        labels = np.asarray(estimator.classes_)
        found, proba = predicted_by(estimator, X)
        places = {plain(c): i for i, c in enumerate(labels)}
        predicted = np.array([places.get(plain(c), 0) for c in found], dtype=np.int64)
        proba = np.asarray(proba, dtype=np.float64)
    else:
        if X is not None or hasattr(estimator, "predict"):
            raise OptionError(
                f"{type(estimator).__name__} has no predict_proba; expected costs need probabilities.",
                hint="pass a classifier with predict_proba, or an array of probabilities.",
            )
        proba, predicted = _probabilities(estimator), None
        labels = np.arange(proba.shape[1]) if classes is None else np.asarray(list(classes))
        if len(labels) != proba.shape[1]:
            raise OptionError(
                f"There are {len(labels)} classes for {proba.shape[1]} columns of probabilities; the numbers must "
                "agree."
            )
    costs = 1.0 - np.eye(len(labels)) if cost is None else costs_of(cost, labels.tolist(), pos_label)
    silent = np.isnan(proba).any(axis=1)  # the classifier abstains
    decisions = labels[cheapest(np.where(silent[:, None], 0.0, proba), costs, predicted)]
    if silent.any():
        decisions = decisions.astype(object)
        decisions[silent] = None
    return decisions


def _probabilities(given: Any) -> Floats:
    try:
        proba = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{type(given).__name__} is neither a classifier nor an array of probabilities.") from None
    if proba.ndim == 1:
        proba = np.column_stack([1 - proba, proba])
    if proba.ndim != 2 or not ((proba >= 0) & (proba <= 1)).all():
        raise OptionError(
            "Probabilities must be numbers between 0 and 1, in an array of shape (n_rows, n_classes) or (n_rows,)."
        )
    return proba


def cheapest(proba: Floats, costs: Floats, predicted: Indices | None = None) -> Indices:
    """Return the codes of the classes with the lowest expected cost.

    Ties go to the predicted class if it is one of them, so that equal costs change no prediction; otherwise to the
    first class.
    """
    expected = np.einsum("rc,ca->ra", proba, costs)  # same order of summation for every row, unlike BLAS
    least = expected.min(axis=1, keepdims=True)
    tied = expected <= least + TIE * float(np.abs(costs).max(initial=0.0))
    first = np.argmax(tied, axis=1)
    if predicted is None:
        return first
    return np.where(tied[np.arange(len(tied)), predicted], predicted, first)


def cost_threshold(cost: Any, classes: Sequence[Any] = (0, 1), *, pos_label: Any = None) -> float:
    """Return the probability above which predicting the positive class has the lower expected cost.

    For costs of errors only, the threshold is fp / (fp + fn). It can be passed as `threshold` to scikit-learn's
    `FixedThresholdClassifier`. A threshold below 0 or above 1 means that one class is cheaper for every probability;
    it is -inf or inf if the costs of the two predictions differ by the same amount for both true classes.

    Parameters
    ----------
    cost : mapping or array-like of shape (2, 2)
        The costs; see `decide`.
    classes : sequence of two classes, default=(0, 1)
        The classes, in the order of the rows and columns of a cost matrix.
    pos_label : class, optional
        The positive class. By default the second class.

    Returns
    -------
    float
        The threshold on the probability of the positive class.

    See Also
    --------
    decide : Predict the class with the lowest expected cost.

    Examples
    --------
    >>> from countwise.evaluation import cost_threshold
    >>> cost_threshold({"fn": 4, "fp": 1}), cost_threshold({"fn": 1, "fp": 1})
    (0.2, 0.5)
    """
    if not isinstance(classes, Collection):
        raise OptionError(f"classes must be two classes, not {classes!r}.")
    classes = list(classes)
    if len(classes) != 2:
        raise OptionError(f"A threshold is defined for two classes; there are {len(classes)}.")
    costs = costs_of(cost, classes, pos_label)
    no, yes = (0, 1) if _positive(classes, pos_label) == 1 else (1, 0)
    missed, alarm = costs[yes, no] - costs[yes, yes], costs[no, yes] - costs[no, no]
    if missed + alarm < 0:
        raise OptionError(
            "Correct predictions cost more than errors; no threshold minimizes the expected cost.",
            hint="use a row of the cost matrix for each true class and a column for each predicted class.",
        )
    if missed + alarm == 0:
        return -np.inf if alarm < 0 else np.inf
    return float(alarm / (missed + alarm))


def costs_of(cost: Any, classes: Sequence[Any], pos_label: Any = None) -> Floats:
    """Return the cost matrix, with a row for each true class and a column for each predicted class.

    In {(true class, predicted class): cost}, an error that is not given costs 1; in {"fn": 5, "fp": 1}, it costs 0.
    """
    k, positive = len(classes), _positive(classes, pos_label)
    if hasattr(cost, "index") and hasattr(cost, "columns"):  # the labels of a data frame name the classes
        table = _table(_aligned(cost, classes), k)
    elif not isinstance(cost, Mapping):
        table = _table(cost, k)
    else:
        table = np.zeros((k, k)) if any(key in _PLACES for key in cost) else 1.0 - np.eye(k)
        for key, value in cost.items():
            table[_place(key, classes, positive)] = _number(key, value)
    if not np.isfinite(table).all():
        raise OptionError("Costs must be finite numbers; the cost matrix contains NaN or infinity.")
    return table


def _aligned(cost: Any, classes: Sequence[Any]) -> Any:
    """Return the costs of a data frame with rows and columns in the order of the classes."""
    rows, columns = ({_label(c): i for i, c in enumerate(axis)} for axis in (cost.index, cost.columns))
    wanted = [_label(c) for c in classes]
    if set(rows) != set(wanted) or set(columns) != set(wanted):
        raise OptionError(f"The rows and columns of a data frame of costs must be the classes: {listed(wanted)}.")
    return np.asarray(cost)[np.ix_([rows[c] for c in wanted], [columns[c] for c in wanted])]


def _label(c: Any) -> str:
    """Return a class as a string; 1 and 1.0 are the same class."""
    return str(int(c)) if isinstance(c, float | np.floating) and float(c).is_integer() else str(c)


def _table(cost: Any, k: int) -> Floats:
    try:
        table = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"Costs must be numbers, not {cost!r}.", hint='pass a mapping such as {"fn": 5, "fp": 1}.'
        ) from None
    if table.shape != (k, k):
        raise OptionError(
            f"The cost matrix has the shape {table.shape}; it needs a row and a column for each class, ({k}, {k})."
        )
    return table


def _number(key: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise OptionError(f"The cost of {key!r} must be a number, not {value!r}.") from None


def _positive(classes: Sequence[Any], pos_label: Any) -> int:
    if pos_label is None:
        return 1
    names = [_label(c) for c in classes]
    if _label(pos_label) not in names:
        raise OptionError(
            f"There is no class {pos_label!r}.",
            hint=did_you_mean(pos_label, names) or f"choose one of {listed(names)}.",
        )
    return names.index(_label(pos_label))


def _place(key: Any, classes: Sequence[Any], positive: int) -> tuple[int, int]:
    """Return the row and the column of the cost matrix that a key refers to."""
    if isinstance(key, str) and key in _PLACES:
        if len(classes) != 2:
            raise OptionError(
                f"The cost {key!r} is defined for two classes; there are {len(classes)}.",
                hint="use keys (true class, predicted class).",
            )
        row, column = _PLACES[key]
        return (row, column) if positive == 1 else (1 - row, 1 - column)
    places = {_label(c): i for i, c in enumerate(classes)}
    pair = tuple(_label(c) for c in key) if isinstance(key, tuple | list) else ()
    odd = next((c for c in pair if c not in places), None if len(pair) == 2 else str(key))
    if odd is not None:
        known = [*places] if pair else [*_PLACES]
        raise OptionError(
            f"The cost of {key!r} does not refer to a true class and a predicted class.",
            hint=did_you_mean(odd, known)
            or f"use pairs of the classes {listed(places)}; with two classes also 'fn', 'fp', 'tp' and 'tn'.",
        )
    return places[pair[0]], places[pair[1]]
