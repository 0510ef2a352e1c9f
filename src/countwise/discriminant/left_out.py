"""Leaving one row out of a Gaussian discriminant in closed form.

Without a row the mean of its class moves, and a scatter matrix loses one outer product: its inverse and determinant
follow by the formulas of Sherman and Morrison.

.. math:: S' = S - g δδᵀ,  S'⁻¹ = S⁻¹ + g S⁻¹δδᵀS⁻¹ / (1 - g δᵀS⁻¹δ),  g = w n / (n - w),  δ = x - μ
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise._typing import Flags, Floats, Indices
from countwise.distributions.distribution import LeftOutRows

__all__ = ["normal_left_out"]

_BLOCK = 1 << 14  # rows at a time
_SINGULAR = 1e-5  # of a scatter matrix: if less is left in the direction of the row, digits are lost


def _is_of_complete_rows(density: Any, rule: Any, column: Sequence[Any]) -> bool:
    """Whether the covariance is that of complete rows, and nothing else."""
    if rule.shrinkage is not None or density.n_iter or not (density.n > 0).all():
        return False
    return not any(np.isnan(np.asarray(c, dtype=np.float64)).any() for c in column)


def normal_left_out(
    density: Any, rule: Any, column: Sequence[Any], left: LeftOutRows
) -> tuple[Floats, Flags, bool] | None:
    """Log f(row | class) by all other rows, up to a constant of the row; None if there is no closed form."""
    if not _is_of_complete_rows(density, rule, column):
        return None
    used = [column[j] for j in density.columns.tolist()]
    n = len(left.codes)
    terms, odd = np.empty((n, left.k)), np.empty(n, dtype=bool)
    work = _shared if density.shared else _own
    for start in range(0, n, _BLOCK):
        rows = slice(start, min(start + _BLOCK, n))
        x = np.stack([np.asarray(c[rows], dtype=np.float64) for c in used], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms[rows], odd[rows] = work(density, rule, x, left.codes[rows], left.weights[rows])
    terms[odd] = 0.0
    return terms, odd, True


def _less(rule: Any) -> int:
    return 0 if rule.divisor == "n" else 1


def _shared(density: Any, rule: Any, x: Floats, own: Indices, w: Floats) -> tuple[Floats, Flags]:
    n, rows = density.n, np.arange(len(x))
    free = float(n.sum()) - _less(rule) * len(n)
    whitener = density.whole.whitener[0] / np.sqrt(free)  # of S, not of Σ
    delta = (x - density.mean[own]) @ whitener.T
    g, moved = w * n[own] / (n[own] - w), n[own] / (n[own] - w)
    length = (delta**2).sum(axis=1)
    rest = 1 - g * length
    forms = np.empty((len(x), len(n)))
    for c, mean in enumerate(density.mean):
        z = (x - mean) @ whitener.T
        forms[:, c] = (z**2).sum(axis=1) + g * (z * delta).sum(axis=1) ** 2 / rest
    forms[rows, own] = moved**2 * length / rest
    return -0.5 * (free - w)[:, None] * forms, ~((rest > _SINGULAR) & (n[own] > w) & (free > w))


def _own(density: Any, rule: Any, x: Floats, own: Indices, w: Floats) -> tuple[Floats, Flags]:
    law, n, less = density.whole, density.n, _less(rule)
    terms, odd = np.empty((len(x), len(n))), np.zeros(len(x), dtype=bool)
    for c, mean in enumerate(density.mean):
        forms = (((x - mean) @ law.whitener[c].T) ** 2).sum(axis=1)
        terms[:, c] = law.log_norm[c] - 0.5 * forms
        mine = np.flatnonzero(own == c)
        before, after = float(n[c]) - less, float(n[c]) - less - w[mine]
        g, moved = w[mine] * n[c] / (n[c] - w[mine]), n[c] / (n[c] - w[mine])
        length = forms[mine] / before
        rest = 1 - g * length
        volume = np.log(rest) + x.shape[1] * np.log(before / after)  # of Σ without the row to Σ
        terms[mine, c] = law.log_norm[c] - 0.5 * volume - 0.5 * after * moved**2 * length / rest
        odd[mine] = ~((rest > _SINGULAR) & (after > 0) & (n[c] > w[mine]))
    return terms, odd
