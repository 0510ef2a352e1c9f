"""Split criteria.

Cells are class weights (..., classes). For a numeric target they are (..., 3): the weight, the sum and the sum of
squares, both about the center of the node. A table has one more axis for branches, before the last.
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
_PURE = 1e-12  # a class with at most this fraction of a node's weight is a rounding error


@dataclass(frozen=True, slots=True)
class Criterion:
    """Split criterion: information gain, gain ratio, or decrease in Gini impurity, standard deviation or variance.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.tree.growth.criteria import Criterion
    >>> round(Criterion("gain").gain(np.array([[2, 3], [4, 0], [3, 2]])), 6)
    0.24675
    """

    name: str  # "gain", "gain_ratio", "gini", "sd" or "variance"; or a synonym
    kernel: str = field(init=False, repr=False)  # name of the impurity in the kernels
    numeric: bool = field(init=False, repr=False)  # whether the target is numeric
    ratio: bool = field(init=False, repr=False)  # whether gains are divided by the split information

    def __post_init__(self) -> None:
        name = SYNONYMS.get(self.name, self.name)
        own = {"name": name, "kernel": _KERNELS[name], "numeric": name in OF_NUMBERS, "ratio": name == "gain_ratio"}
        for field_name, value in own.items():
            object.__setattr__(self, field_name, value)

    def weight(self, cells: NDArray[Any]) -> Any:
        """Return the total weight of cells."""
        return cells[..., 0] if self.numeric else cells.sum(axis=-1)

    def impurity(self, cells: NDArray[Any]) -> Any:
        """Return the impurity of cells: entropy, Gini impurity, standard deviation or variance."""
        if self.numeric:
            n, _, m2 = moments_of(cells)
            return self._dispersion(n, m2)
        return gini(cells, axis=-1) if self.name == "gini" else entropy(cells, axis=-1)

    def at_nodes(self, cells: NDArray[Any]) -> Floats:
        """Return the impurity of the nodes of a tree, whose cells hold weight, mean and squared deviations."""
        return self._dispersion(cells[..., 0], cells[..., 2]) if self.numeric else np.asarray(self.impurity(cells))

    def _dispersion(self, n: Floats, m2: Floats) -> Floats:
        variance = np.divide(m2, n, out=np.zeros_like(m2), where=n > 0)
        return variance if self.name == "variance" else np.sqrt(variance)

    def gain(self, table: NDArray[Any]) -> Any:
        """Return the decrease in impurity by a split into the branches of a table (..., branches, classes)."""
        if self.numeric:
            reduction = sd_reduction if self.name == "sd" else variance_reduction
            return reduction(*moments_of(table))
        return gini_gain(table) if self.name == "gini" else mutual_information(table)

    def tolerance(self, impurity: Any, n: Any) -> Any:
        """Return the difference below which two gains are tied, so that rounding does not decide."""
        if self.numeric:
            return (1e-7 if self.name == "sd" else 1e-10) * impurity  # square roots keep half of the digits
        return 1e-12 * impurity + 4e-15 * (1 + np.log2(np.maximum(n, 1.0)) if self.kernel == "entropy" else 1.0)

    def pure(self, cells: NDArray[Any], scale: float = 1.0) -> Any:
        """Return whether nodes are pure; `scale` is the largest absolute value of a numeric target."""
        if self.numeric:
            n, _, m2 = moments_of(cells)
            return m2 <= 1e-26 * scale * scale * n
        return (cells > _PURE * cells.sum(axis=-1, keepdims=True)).sum(axis=-1) <= 1


def moments_of(cells: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """Return weight, mean and sum of squared deviations, given weight, sum and sum of squares."""
    n, total, squares = (np.asarray(cells[..., i], dtype=np.float64) for i in range(3))
    mean = np.divide(total, n, out=np.zeros_like(n), where=n > 0)
    return n, mean, np.maximum(squares - total * mean, 0.0)
