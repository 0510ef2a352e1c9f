"""Row weights as users pass them: one real number for each row."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.data.values import unmasked
from countwise.errors import TableError

__all__ = ["HEAVIEST", "LIGHTEST", "MOST_EXACT", "weights_of"]

# Within these limits the cubes of weights, and their sums over any table, are ordinary floats.
LIGHTEST, HEAVIEST = 1e-100, 1e100
MOST_EXACT = 2.0**53  # larger sums of integers are not exact as floats


def weights_of(sample_weight: Any, n_rows: int, *, whole: bool = True) -> NDArray[Any] | None:
    """Validate weights: one real number for each row, 0 or from 1e-100 to 1e100, and not all zero.

    Integral weights become integers, unless their sum is greater than 2**53.
    """
    if sample_weight is None:
        return None
    weights = _numbers(_array(sample_weight, n_rows))
    least, most = (float(weights.min()), float(weights.max())) if len(weights) else (1.0, 1.0)
    if not (np.isfinite(least) and np.isfinite(most)):
        row = int(np.argmin(np.isfinite(weights)))
        raise TableError(
            f"The weight of row {row} is {weights[row]}, but weights must be finite (no NaN or infinity).",
            hint="use weight 0 to ignore a row.",
        )
    if least < 0:
        row = int(np.argmax(weights < 0))
        raise TableError(
            f"Negative values in data passed to `sample_weight`: row {row} has {weights[row]:g}.",
            hint="use weight 0 to ignore a row, or `forget` to remove rows from a model.",
        )
    if whole and n_rows and most == 0:
        raise TableError(
            "All sample weights are zero, so that no row would be used.",
            hint="give at least one row a weight greater than 0.",
        )
    outside = most > HEAVIEST or least < LIGHTEST
    extreme = (weights > HEAVIEST) | ((weights < LIGHTEST) & (weights > 0)) if outside else np.zeros(1, dtype=bool)
    if extreme.any():
        row = int(np.argmax(extreme))
        raise TableError(
            f"The weight of row {row} is {weights[row]:g}, but weights must be 0 or from {LIGHTEST:g} to "
            f"{HEAVIEST:g}.",
            hint="divide all weights by their maximum.",
        )
    exact = float(weights.sum()) <= MOST_EXACT and _kernels.float_is_integral(weights)
    return weights.astype(np.int64) if exact else weights


def _array(sample_weight: Any, n_rows: int) -> NDArray[Any]:
    """Return weights as an array with one element for each row."""
    try:
        weights = unmasked(np.asanyarray(sample_weight))
    except (TypeError, ValueError):
        raise TableError("sample_weight is not an array of numbers.", hint="pass one number for each row.") from None
    if weights.ndim == 0:
        if weights.dtype.kind not in "iufb":
            raise TableError(
                f"sample_weight must have one number for each row, not {sample_weight!r}.",
                hint="pass an array, or a column such as sample_weight=table['name'].",
            )
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise TableError(f"Sample weights must be 1D array or scalar, not an array of shape {weights.shape}.")
    if len(weights) != n_rows:
        raise TableError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: each row needs one weight.")
    return weights


def _numbers(weights: NDArray[Any]) -> Floats:
    """Convert weights to floats; a value that is not a real number is an error."""
    if weights.dtype.kind not in "iufb":
        for row, weight in enumerate(weights.tolist()):
            if not _is_number(weight):
                raise TableError(
                    f"The weight of row {row} is {weight!r}, which is not a real number.",
                    hint="pass one number for each row.",
                )
    with np.errstate(over="ignore"):  # an infinite weight is reported
        return np.array([_float(w) for w in weights]) if weights.dtype == object else weights.astype(np.float64)


def _is_number(value: Any) -> bool:
    from decimal import Decimal

    return isinstance(value, Real | Decimal)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return float("inf")
