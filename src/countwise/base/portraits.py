"""The typical value of an attribute in some rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.working.numbers import number

__all__ = ["distinct", "typical"]


def typical(a: Any, column: Any, weights: Floats | None = None) -> tuple[Any, str]:
    """Return the most frequent value, or the mean, of an encoded column, and a remark on how much it varies.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal, Numeric
    >>> from countwise.base.portraits import typical
    >>> typical(Nominal("wind", ("east", "north")), np.array([0, 1, 1, 2]))
    ('north', '67% of the class')
    >>> typical(Numeric("temp"), np.array([20.0, 24.0, np.nan]))
    (22.0, '± 2.82843')
    """
    weights = np.ones(len(column)) if weights is None else weights
    cells = np.asarray(column, dtype=np.float64)
    known = cells < len(a.values) if isinstance(a, Nominal) else ~np.isnan(cells)
    if not known.any():
        return "", "every value is missing"
    cells, weights = cells[known], weights[known]
    total = float(weights.sum())
    if isinstance(a, Nominal):
        counts = np.bincount(cells.astype(np.int64), weights=weights, minlength=len(a.values))
        best = int(np.argmax(counts))
        return str(a.values[best]), f"{counts[best] / total:.0%} of the class"
    mean = float(np.average(cells, weights=weights))
    squares = float((weights * (cells - mean) ** 2).sum())
    return mean, f"± {number(np.sqrt(squares / (total - 1)))}" if total > 1 else "one row"


def distinct(numbers: Any) -> list[float]:
    """Return the known numbers in order, each once."""
    cells = np.asarray(numbers, dtype=np.float64)
    return np.unique(cells[np.isfinite(cells)]).tolist()
