"""The kernels that score laws by leaving rows out, in NumPy; a part of :mod:`countwise._kernels.reference`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from countwise._kernels.checks import check_columns, check_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


def gaussian_left_out(
    values: Floats, n: float, mean: float, m2: float, spread: float, middle: float, out: Floats
) -> None:
    """At each value of a class, the log density of the Gaussian made from the other values of the class.

    Its variance is over their number less 1, and at least 1e-9 of `spread`. With less than two others it is
    `spread`; without any the mean is `middle`. If `spread` is 0, the column says nothing: all densities are 1.

    Parameters
    ----------
    values : float64 array
    n, mean, m2 : float
        How many values the class has, at least 1; their mean, and the sum of their squared deviations from it.
    spread, middle : float
        The variance and the mean of all classes together.
    out : float64 array (values,)
        Of any stride; it is written to.
    """
    for name, x in (("values", values), ("out", out)):
        if x.dtype != np.float64:
            raise TypeError(f"{name} is {x.dtype}; it must be float64")
        if x.ndim != 1:
            raise ValueError(f"{name} has shape {x.shape}; it needs 1 dimension")
    check_rows("out", len(out), len(values))
    if not n >= 1:
        raise ValueError(f"n is {n}; the class has at least 1 value")
    if spread <= 0:
        out[:] = 0.0
        return
    rest = n - 1
    with np.errstate(over="ignore", invalid="ignore"):
        # To leave x out moves the mean away from x: by 1 / rest of their distance.
        away = (values - mean) * (n / rest) if rest > 0 else values - middle
        left = m2 - (values - mean) * away
        variance = np.maximum(left / (rest - 1) if rest > 1 else spread, 1e-9 * spread)
        out[:] = -0.5 * away**2 / variance - 0.5 * np.log(2 * np.pi * variance)


def sum_log_share(joint: Floats, c: int, weights: Array | None, least: float) -> float:
    """The sum over rows of weight times log P(class c), which is at least `least`.

    Parameters
    ----------
    joint : float64 array (rows, classes)
        Log joint probabilities. A row that is minus infinity everywhere, or has a plus infinity or a NaN, counts
        as `least`.
    c : int
        The class.
    weights : column or None
        Of the rows; None is 1 for all.
    least : float
        Finite.

    Returns
    -------
    float
    """
    if joint.dtype != np.float64:
        raise TypeError(f"joint is {joint.dtype}; it must be float64")
    if joint.ndim != 2:
        raise ValueError(f"joint has shape {joint.shape}; it needs 2 dimensions")
    rows, classes = joint.shape
    if not 0 <= c < classes:
        raise ValueError(f"c is {c}; there are {classes} classes")
    if weights is not None:
        check_columns([weights], len(weights))
        check_rows("weights", len(weights), rows)
    places = np.arange(rows), joint.argmax(axis=1)
    top = joint[places]
    with np.errstate(invalid="ignore"):
        part = np.exp(joint - top[:, None])
        part[places] = 0.0  # the greatest is 1, which log1p adds without loss
        share = (joint[:, c] - top) - np.log1p(part.sum(axis=1))
    share = np.where(np.isfinite(top), np.maximum(share, least), least)
    return float(share.sum() if weights is None else (share * weights).sum())
