"""What holds for every model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from countwise.errors import CountwiseError
from countwise.modelfile import _content

from .guard import Guard

__all__ = [
    "check_answers",
    "check_explanation",
    "check_interval",
    "check_proba",
    "same_answers",
    "same_numbers",
    "snapshot",
]

ENGINES = ("duckdb", "_duckdb", "polars.lazyframe")


def snapshot(model: Any) -> str:
    """All that a model has learned, as text."""
    try:
        return json.dumps(_content(model), default=repr, sort_keys=True)
    except (CountwiseError, TypeError, ValueError, AttributeError):
        return repr(sorted(vars(model)))


def same_numbers(one: Any, other: Any, tolerance: float = 1e-9) -> bool:
    """Whether two arrays are equal up to rounding; NaN is equal to NaN."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc" or other.dtype.kind not in "fc":
        return repr(one.tolist()) == repr(other.tolist())
    with np.errstate(all="ignore"):
        return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))


def check_proba(guard: Guard, model: Any, proba: Any, what: str) -> bool:
    """Probabilities are finite, between 0 and 1, and sum to 1."""
    name = type(model).__name__
    shape = proba.ndim == 2 and proba.shape[1] == len(model.classes_)
    fine = guard.holds(shape, f"{name}: shape of probabilities", f"{what} {proba.shape} {model.classes_}")
    if _abstains(model):
        proba = proba[~np.isnan(proba).all(axis=1)]
    fine = fine and guard.holds(
        np.isfinite(proba).all(), f"{name}: probabilities not finite", f"{what} {proba.tolist()}"
    )
    fine = fine and guard.holds(
        proba.size == 0 or (proba.min() >= 0 and proba.max() <= 1),
        f"{name}: probabilities outside [0, 1]",
        f"{what} {proba.tolist()}",
    )
    sums = proba.sum(axis=1)
    return fine and guard.holds(
        (np.abs(sums - 1) < 1e-9).all(),
        f"{name}: probabilities do not sum to 1",
        f"{what} {proba.tolist()}",
    )


def check_answers(guard: Guard, model: Any, X: Any, shown: str) -> None:
    """Predictions are classes, and the most probable ones."""
    name = type(model).__name__
    if hasattr(model, "score_samples"):
        scores = guard(f"model.score_samples({shown})", lambda: model.score_samples(X))
        if scores.ok:
            guard.holds(not np.isnan(scores.value).any(), f"{name}: score_samples is NaN", str(scores.value))
    if not hasattr(model, "predict"):
        return
    answer = guard(f"model.predict({shown})", lambda: model.predict(X))
    if not hasattr(model, "predict_proba"):
        if answer.ok:
            guard.holds(np.isfinite(answer.value).all(), f"{name}: predict is not finite", str(answer.value))
        return
    found = guard(f"model.predict_proba({shown})", lambda: model.predict_proba(X))
    if not found.ok or not check_proba(guard, model, found.value, shown) or not answer.ok:
        return
    proba = found.value
    codes = [_place(label, model.classes_.tolist()) for label in np.asarray(answer.value, dtype=object).tolist()]
    known = _abstains(model) or min(codes, default=0) >= 0
    guard.holds(known, f"{name}: predict is not a class", f"{answer.value} {model.classes_}")
    best = all(c < 0 or row[c] >= row.max() - 1e-9 for c, row in zip(codes, proba, strict=True))
    guard.holds(best, f"{name}: predict is not the most probable class", f"{answer.value} {proba.tolist()}")
    logs = guard(f"model.predict_log_proba({shown})", lambda: model.predict_log_proba(X))
    if logs.ok:
        with np.errstate(divide="ignore"):
            expected = np.log(np.maximum(proba, 1e-290))
        agrees = same_numbers(np.maximum(logs.value, np.log(1e-290)), expected, 1e-7)
        guard.holds(
            agrees, f"{name}: predict_log_proba is not the logarithm", f"{logs.value.tolist()} {proba.tolist()}"
        )


def _abstains(model: Any) -> bool:
    """Whether a model may have no answer for a row: None, with probabilities NaN."""
    return "abstain" in (str(getattr(model, "default", "")), str(getattr(model, "otherwise", "")))


def _place(label: Any, classes: list[Any]) -> int:
    """The position of a class, -1 if it is none."""
    found = (i for i, one in enumerate(classes) if one is label or (type(one) is type(label) and one == label))
    return next(found, -1)


def check_interval(guard: Guard, model: Any, X: Any, shown: str) -> None:
    """Intervals are within [0, 1] and contain the probability, unless that is 0 or 1."""
    name = type(model).__name__
    found = guard(f"model.predict_interval({shown})", lambda: model.predict_interval(X, draws=200))
    proba = guard(f"model.predict_proba({shown})", lambda: model.predict_proba(X))
    if found.ok and proba.ok:
        low, high = found.value[..., 0], found.value[..., 1]
        right = (low >= 0).all() and (high <= 1).all() and (low <= high).all()
        guard.holds(right, f"{name}: interval outside [0, 1]", f"{found.value.tolist()}")
        # the level is 90 %, and the estimate need not be the median of its distribution
        wide = (low <= proba.value + 0.35).all() and (high >= proba.value - 0.35).all()
        guard.holds(
            wide, f"{name}: interval far from the probability", f"{found.value.tolist()} {proba.value.tolist()}"
        )


def check_explanation(guard: Guard, model: Any, X: Any, shown: str, row: Any) -> None:
    """An explanation has the probabilities of the prediction, and can be written in every format."""
    found = guard(f"model.explain({shown}, row={row!r})", lambda: model.explain(X, row=row))
    if not found.ok:
        return
    working = found.value
    guard("text", lambda: (str(working), repr(working)))
    for form in ("html", "latex", "to_dict"):
        if hasattr(working, form):
            guard(form, lambda f=form: getattr(working, f)())
    if getattr(working, "posterior", None) is not None and hasattr(model, "predict_proba"):
        proba = guard("model.predict_proba", lambda: model.predict_proba(X))
        if proba.ok:
            name, expected = type(model).__name__, proba.value[row]
            shown_by = working.posterior
            by_class = (
                [shown_by[c] for c in model.classes_.tolist()] if isinstance(shown_by, dict) else list(shown_by)
            )
            agrees = same_numbers(np.array(by_class), expected, 1e-8)
            guard.holds(
                agrees, f"{name}: explain differs from predict_proba", f"{by_class} {expected.tolist()} {shown}"
            )


def same_answers(guard: Guard, model: Any, other: Any, X: Any, when: str) -> None:
    """Two models answer the same."""
    for method in ("predict_proba", "predict", "score_samples", "transform"):
        if hasattr(model, method):
            one = guard(f"model.{method}", lambda m=method: getattr(model, m)(X))
            two = guard(f"copy.{method} {when}", lambda m=method: getattr(other, m)(X))
            same = one.ok == two.ok and (not one.ok or _same(one.value, two.value))
            guard.holds(same, f"{type(model).__name__}.{method} differs {when}", f"{one} {two}"[:800])
            return


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray):
        return same_numbers(one, two, 1e-12)
    return str(one) == str(two)
