"""Criteria: what makes a split a good one.

Cells are weights by class (..., classes), or for a numeric target (..., 3): the weight, and the sum and sum of
squares about the node's center. A table has one more axis before the last, for branches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.measures import entropy, gini, gini_gain, mutual_information, sd_reduction, variance_reduction

__all__ = ["OF_CLASSES", "OF_NUMBERS", "SYNONYMS", "Criterion", "moments_of"]

_KERNELS = {"gain": "entropy", "gain_ratio": "entropy", "gini": "gini", "variance": "variance", "sd": "sd"}
OF_CLASSES = ("gain", "gain_ratio", "gini")
OF_NUMBERS = ("sd", "variance")
SYNONYMS = {"entropy": "gain", "log_loss": "gain", "squared_error": "variance"}
_PURE = 1e-12  # of a node's weight: what rounding may leave of a class that has no rows


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is compared: information gain, gain ratio, or the fall of Gini impurity, deviation or variance.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.tree.growth.criteria import Criterion
    >>> round(Criterion("gain").gain(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.24675
    """

    word: str  # "gain", "gain_ratio", "gini", "sd" or "variance"; or a synonym
    kernel: str = field(init=False, repr=False)  # the kernels' name of the impurity
    numeric: bool = field(init=False, repr=False)  # whether the target is numeric
    ratio: bool = field(init=False, repr=False)  # whether gains are divided by the information of the split itself

    def __post_init__(self) -> None:
        word = SYNONYMS.get(self.word, self.word)
        own = {"word": word, "kernel": _KERNELS[word], "numeric": word in OF_NUMBERS, "ratio": word == "gain_ratio"}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def weight(self, cells: NDArray[Any]) -> Any:
        """The weight in cells."""
        return cells[..., 0] if self.numeric else cells.sum(axis=-1)

    def impurity(self, cells: NDArray[Any]) -> Any:
        """How far cells are from one class, or from one number."""
        if self.numeric:
            n, _, m2 = moments_of(cells)
            return self._deviation(n, m2)
        return gini(cells, axis=-1) if self.word == "gini" else entropy(cells, axis=-1)

    def at_nodes(self, cells: NDArray[Any]) -> Floats:
        """The impurity of a tree's nodes, whose cells hold weight, mean and squared deviations."""
        return self._deviation(cells[..., 0], cells[..., 2]) if self.numeric else np.asarray(self.impurity(cells))

    def _deviation(self, n: Floats, m2: Floats) -> Floats:
        variance = np.divide(m2, n, out=np.zeros_like(m2), where=n > 0)
        return variance if self.word == "variance" else np.sqrt(variance)

    def gain(self, table: NDArray[Any]) -> Any:
        """By how much a split into the branches of a table (..., branches, classes) lowers the impurity."""
        if self.numeric:
            fall = sd_reduction if self.word == "sd" else variance_reduction
            return fall(*moments_of(table))
        return gini_gain(table) if self.word == "gini" else mutual_information(table)

    def tolerance(self, impurity: Any, n: Any) -> Any:
        """Gains that differ by less are equal: rounding must not decide."""
        if self.numeric:
            return (1e-7 if self.word == "sd" else 1e-10) * impurity  # roots of squares keep half of their digits
        return 1e-12 * impurity + 4e-15 * (1 + np.log2(np.maximum(n, 1.0)) if self.kernel == "entropy" else 1.0)

    def pure(self, cells: NDArray[Any], scale: float = 1.0) -> Any:
        """Whether nodes are pure; the scale is the largest absolute value of a numeric target."""
        if self.numeric:
            n, _, m2 = moments_of(cells)
            return m2 <= 1e-26 * scale * scale * n
        return (cells > _PURE * cells.sum(axis=-1, keepdims=True)).sum(axis=-1) <= 1


def moments_of(cells: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Weight, mean and sum of squared deviations, from weight, sum and sum of squares."""
    n, total, squares = (np.asarray(cells[..., i], dtype=np.float64) for i in range(3))
    mean = np.divide(total, n, out=np.zeros_like(n), where=n > 0)
    return n, mean, np.maximum(squares - total * mean, 0.0)
