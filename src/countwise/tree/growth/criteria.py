"""Criteria: what makes a split a good one.

Cells are weights by class (..., classes), or for numbers (..., 3): the weight, and the sum and sum of
squares about the node's center. A table has one more axis before the last, for branches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.measures import entropy, gini, gini_gain, mutual_information, sd_reduction, variance_reduction

__all__ = ["OF_CLASSES", "OF_NUMBERS", "Criterion", "moments_of"]

_KERNELS = {"gain": "entropy", "gain_ratio": "entropy", "gini": "gini", "variance": "variance", "sd": "sd"}
OF_CLASSES = ("gain", "gain_ratio", "gini")
OF_NUMBERS = ("sd", "variance")
_PURE = 1e-12  # of a node's weight: all that rounding leaves of a class that is not there


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is compared: information gain, gain ratio, the fall of Gini impurity, of deviation or of variance.

    Parameters
    ----------
    word : {"gain", "gain_ratio", "gini", "sd", "variance"}
        Its name.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.tree.growth.criteria import Criterion
    >>> round(Criterion("gain").gain(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.24675
    """

    word: str

    @property
    def kernel(self) -> str:
        """The kernels' name of the impurity that falls."""
        return _KERNELS[self.word]

    @property
    def numbers(self) -> bool:
        """Whether a number is to be told, not a class."""
        return self.word in OF_NUMBERS

    @property
    def ratio(self) -> bool:
        """Whether gains are divided by what the split itself tells."""
        return self.word == "gain_ratio"

    def weight(self, cells: NDArray[Any]) -> Any:
        """The weight in cells."""
        return cells[..., 0] if self.numbers else cells.sum(axis=-1)

    def impurity(self, cells: NDArray[Any]) -> Any:
        """How far cells are from one class, or from one number."""
        if self.numbers:
            n, _, m2 = moments_of(cells)
            variance = np.divide(m2, n, out=np.zeros_like(m2), where=n > 0)
            return variance if self.word == "variance" else np.sqrt(variance)
        return gini(cells, axis=-1) if self.word == "gini" else entropy(cells, axis=-1)

    def at_nodes(self, cells: NDArray[Any]) -> Floats:
        """The same of a tree's nodes, in which numbers are kept as weight, mean and squared deviations."""
        if not self.numbers:
            return np.asarray(self.impurity(cells))
        n, m2 = cells[..., 0], cells[..., 2]
        variance = np.divide(m2, n, out=np.zeros_like(m2), where=n > 0)
        return variance if self.word == "variance" else np.sqrt(variance)

    def gain(self, table: NDArray[Any]) -> Any:
        """By how much the impurity falls when the branches of a table (..., branches, classes) are told apart."""
        if self.numbers:
            fall = sd_reduction if self.word == "sd" else variance_reduction
            return fall(*moments_of(table))
        return gini_gain(table) if self.word == "gini" else mutual_information(table)

    def tolerance(self, impurity: Any, n: Any) -> Any:
        """Gains that differ by less are equal: rounding must not decide."""
        if self.numbers:
            return (1e-7 if self.word == "sd" else 1e-10) * impurity  # roots of squares keep half of their digits
        return 1e-12 * impurity + 4e-15 * (1 + np.log2(np.maximum(n, 1.0)) if self.kernel == "entropy" else 1.0)

    def pure(self, cells: NDArray[Any], scale: float = 1.0) -> Any:
        """Whether there is nothing left to tell; the scale is the largest number there is."""
        if self.numbers:
            n, _, m2 = moments_of(cells)
            return m2 <= 1e-26 * scale * scale * n
        return (cells > _PURE * cells.sum(axis=-1, keepdims=True)).sum(axis=-1) <= 1


def moments_of(cells: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and sum of squared deviations, from weight, sum and sum of squares."""
    n, total, squares = (np.asarray(cells[..., i], dtype=np.float64) for i in range(3))
    mean = np.divide(total, n, out=np.zeros_like(n), where=n > 0)
    return n, mean, np.maximum(squares - total * mean, 0.0)
