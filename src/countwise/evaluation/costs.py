"""Decisions by what they cost: the class whose expected cost, given the probabilities, is least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.errors import OptionError, TableError, did_you_mean, listed

__all__ = ["cheapest", "cost_threshold", "costs_of", "decide"]

_PLACES = {"tn": (0, 0), "fp": (0, 1), "fn": (1, 0), "tp": (1, 1)}


def decide(estimator: Any, X: Any = None, *, cost: Any = None, classes: Any = None, pos_label: Any = None) -> Any:
    """The class whose expected cost, given the probabilities, is least; of equals the first.

    Parameters
    ----------
    estimator : classifier, or array of shape (rows, classes)
        Fitted, with `predict_proba`; or the probabilities themselves. A list of one number a row is the probability
        of the second of two classes.
    X : any table, optional
        The rows, for a classifier.
    cost : mapping or array, optional
        {"fn": 5, "fp": 1} where there are two classes; {(class, answer): cost}, in which a wrong answer that is not
        named costs 1 and a right one 0; or a table with a row for each class and a column for each answer. Negative
        costs are gains. By default every wrong answer costs the same.
    classes : sequence, optional
        What the columns of probabilities stand for; without it the answers are places.
    pos_label : class, optional
        The one that "fn" and "fp" call positive; the second by default.

    Returns
    -------
    ndarray, shape (rows,)

    See Also
    --------
    cost_threshold : The probability from which on one of two classes is the cheaper answer.

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
            raise TableError(f"{type(estimator).__name__} needs rows to decide on.", hint="give X.")
        if classes is not None:
            raise OptionError("A classifier knows its classes.", hint="leave `classes` out.")
        proba, labels = np.asarray(estimator.predict_proba(X), dtype=np.float64), np.asarray(estimator.classes_)
    else:
        if X is not None or hasattr(estimator, "predict"):
            raise OptionError(
                f"{type(estimator).__name__} has no predict_proba: there is nothing to weigh costs by.",
                hint="give a classifier with it, or probabilities.",
            )
        proba = _probabilities(estimator)
        labels = np.arange(proba.shape[1]) if classes is None else np.asarray(list(classes))
        if len(labels) != proba.shape[1]:
            raise OptionError(f"There are {len(labels)} classes for {proba.shape[1]} columns of probabilities.")
    plain = 1.0 - np.eye(len(labels))
    costs = plain if cost is None else costs_of(cost, labels.tolist(), pos_label)
    return labels[cheapest(proba, costs)]


def _probabilities(given: Any) -> Floats:
    try:
        proba = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"{type(given).__name__} is neither a classifier nor probabilities.") from None
    if proba.ndim == 1:
        proba = np.column_stack([1 - proba, proba])
    if proba.ndim != 2 or not ((proba >= 0) & (proba <= 1)).all():
        raise OptionError("Probabilities lie between 0 and 1: a row for each row, a column for each class.")
    return proba


def cheapest(proba: Floats, costs: Floats) -> Indices:
    """The answers that cost least on average, by the probabilities; of equals the first."""
    if np.array_equal(costs, 1.0 - np.eye(len(costs))):  # every error costs the same: rounding must not break a tie
        return np.argmax(proba, axis=1)
    expected = np.einsum("rc,ca->ra", proba, costs)  # in one order for each row: no row depends on its neighbors
    least = expected.min(axis=1, keepdims=True)
    return np.argmax(expected <= least + 1e-12 * float(np.abs(costs).max(initial=0.0)), axis=1)


def cost_threshold(cost: Any, classes: Sequence[Any] = (0, 1), *, pos_label: Any = None) -> float:
    """The probability of the positive class above which it is the cheaper answer.

    It is what scikit-learn's `FixedThresholdClassifier` takes as `threshold`. Below 0 or above 1, one answer is the
    cheaper one whatever the probability; -inf and inf where no probability makes a difference.

    Parameters
    ----------
    cost : mapping or array
        See `decide`.
    classes : sequence of two
        The classes.
    pos_label : class, optional
        The positive one; the second by default.

    Examples
    --------
    >>> from countwise.evaluation import cost_threshold
    >>> cost_threshold({"fn": 4, "fp": 1}), cost_threshold({"fn": 1, "fp": 1})
    (0.2, 0.5)
    """
    if len(classes) != 2:
        raise OptionError(f"A threshold has a meaning where there are two classes; there are {len(classes)}.")
    costs = costs_of(cost, classes, pos_label)
    no, yes = (0, 1) if _positive(classes, pos_label) == 1 else (1, 0)
    missed, alarm = costs[yes, no] - costs[yes, yes], costs[no, yes] - costs[no, no]
    if missed + alarm < 0:
        raise OptionError(
            "Right answers cost more than wrong ones: the likelier a class is, the dearer it is to answer it.",
            hint="a table of costs has a row for each class and a column for each answer.",
        )
    if missed + alarm == 0:
        return -np.inf if alarm < 0 else np.inf
    return float(alarm / (missed + alarm))


def costs_of(cost: Any, classes: Sequence[Any], pos_label: Any = None) -> Floats:
    """A table of costs from what the user gave: a row for each class, a column for each answer.

    In {(class, answer): cost} a wrong answer that is not named costs 1; in {"fn": 5, "fp": 1} it costs nothing.
    """
    k, positive = len(classes), _positive(classes, pos_label)
    if hasattr(cost, "index") and hasattr(cost, "columns"):  # a frame says itself which class and answer a cost is of
        table = _table(_aligned(cost, classes), k)
    elif not isinstance(cost, Mapping):
        table = _table(cost, k)
    else:
        table = np.zeros((k, k)) if any(key in _PLACES for key in cost) else 1.0 - np.eye(k)
        for key, value in cost.items():
            table[_place(key, classes, positive)] = _number(key, value)
    if not np.isfinite(table).all():
        raise OptionError("Costs must be finite numbers.")
    return table


def _aligned(cost: Any, classes: Sequence[Any]) -> Any:
    """A frame of costs with its rows and columns in the order of the classes."""
    rows, columns = ({_label(c): i for i, c in enumerate(axis)} for axis in (cost.index, cost.columns))
    wanted = [_label(c) for c in classes]
    if set(rows) != set(wanted) or set(columns) != set(wanted):
        raise OptionError(f"The rows and columns of a frame of costs are the classes: {listed(wanted)}.")
    return np.asarray(cost)[np.ix_([rows[c] for c in wanted], [columns[c] for c in wanted])]


def _label(c: Any) -> str:
    """A class as it is named: 1 and 1.0 are one class."""
    return str(int(c)) if isinstance(c, float | np.floating) and float(c).is_integer() else str(c)


def _table(cost: Any, k: int) -> Floats:
    try:
        table = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"Costs must be numbers, not {cost!r}.", hint='give {"fn": 5, "fp": 1}.') from None
    if table.shape != (k, k):
        raise OptionError(f"A table of costs has a row and a column a class: {k} x {k}, not {table.shape}.")
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
            hint=did_you_mean(pos_label, names) or f"classes are {listed(names)}.",
        )
    return names.index(_label(pos_label))


def _place(key: Any, classes: Sequence[Any], positive: int) -> tuple[int, int]:
    """Which class and answer a cost is of."""
    if isinstance(key, str) and key in _PLACES:
        if len(classes) != 2:
            raise OptionError(
                f"{key!r} has a meaning where there are two classes; there are {len(classes)}.",
                hint="name the class and the answer.",
            )
        row, column = _PLACES[key]
        return (row, column) if positive == 1 else (1 - row, 1 - column)
    places = {_label(c): i for i, c in enumerate(classes)}
    pair = tuple(_label(c) for c in key) if isinstance(key, tuple | list) else ()
    odd = next((c for c in pair if c not in places), None if len(pair) == 2 else str(key))
    if odd is not None:
        known = [*places] if pair else [*_PLACES]
        raise OptionError(
            f"The cost of {key!r} is of no class and answer.",
            hint=did_you_mean(odd, known)
            or f"classes are {listed(places)}; of two, fn, fp, tp and tn have costs too.",
        )
    return places[pair[0]], places[pair[1]]
