"""The kernels of a product: their shapes, what they add up to, and numbers drawn from them."""

from __future__ import annotations

import numpy as np

from countwise._typing import Floats, Indices
from countwise.attributes import Attribute, Nominal, Ordinal

__all__ = ["CANONICAL", "KERNELS", "NOMINAL", "ORDINAL", "geometric", "log_kernel", "moved"]


KERNELS = {"gaussian": 0, "epanechnikov": 1, "uniform": 2}
NOMINAL, ORDINAL = 3, 4
# widths at which the kernels smooth alike, in units of the Gaussian's
CANONICAL = {"gaussian": 1.0, "epanechnikov": 2.2138, "uniform": 1.7400}


def log_kernel(kind: int, scale: Floats, away: Floats) -> Floats:
    """Log of a kernel at a distance, without the constants that are the same for all rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == NOMINAL:
            return np.where(away == 0, scale[0], scale[1])
        if kind == ORDINAL:
            return np.where(away == 0, 0.0, scale[0] * np.abs(away))
        z = away / scale[0]
        if kind == 0:
            return np.asarray(-0.5 * z * z)
        inside = np.maximum(1 - z * z, 0.0) if kind == 1 else (np.abs(z) <= 1).astype(np.float64)
        return np.log(inside)


def moved(a: Attribute, kernel: str, h: float, column: Floats, rng: np.random.Generator) -> Floats:
    """Cells moved by the kernel."""
    size = len(column)
    if isinstance(a, Nominal):
        return _other_value(a, h, column.astype(np.int64), rng).astype(np.float64)
    if kernel == "gaussian":
        return column + rng.normal(0, h, size)
    if kernel == "uniform":
        return column + rng.uniform(-h, h, size)
    steps = [rng.uniform(-1, 1, size) for _ in range(3)]  # the one of three nearest the middle
    far = (np.abs(steps[2]) >= np.abs(steps[1])) & (np.abs(steps[2]) >= np.abs(steps[0]))
    return column + h * np.where(far, steps[1], steps[2])


def geometric(share: float, k: int) -> Floats:
    """What share^|steps| adds up to over k values, from each of them."""
    if share == 1:
        return np.full(k, float(k))
    codes = np.arange(k)
    return np.asarray((1 + share - share ** (codes + 1.0) - share ** (k - codes + 0.0)) / (1 - share))


def _other_value(a: Nominal, share: float, codes: Indices, rng: np.random.Generator) -> Indices:
    """Values moved by the kernel of names, or of orders."""
    k, out = len(a.values), codes.copy()
    if not isinstance(a, Ordinal):
        moved = (rng.random(len(codes)) < share) & (k > 1)
        other = rng.integers(0, max(k - 1, 1), int(moved.sum()))
        out[moved] = other + (other >= codes[moved])
        return out
    for code in np.unique(codes).tolist():
        mine = np.flatnonzero(codes == code)
        shares = share ** np.abs(np.arange(k) - code).astype(np.float64)
        out[mine] = rng.choice(k, len(mine), p=shares / shares.sum())
    return out
