"""The crowd: the rows on their way down the tree, each at one node, or in parts at several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.errors import TableError

__all__ = ["ActiveRows"]

_MOST = (1 << 31) - 1  # instances that entries can number


@dataclass(frozen=True, slots=True, eq=False)
class ActiveRows:
    """Instances: a row, or that part of a row that went down one of several branches.

    Parameters
    ----------
    told : ndarray
        The class of each instance as a code, or its number.
    weights : ndarray of int64 or float64, or None
        Their weights; None is 1 each.
    rows : ndarray of uint32 or None
        Their rows; None if instance i is row i.
    n_classes : int
        0 if numbers are told.
    """

    told: NDArray[Any]
    weights: NDArray[Any] | None
    rows: NDArray[np.uint32] | None
    n_classes: int

    def __len__(self) -> int:
        return len(self.told)

    @property
    def whole(self) -> bool:
        """Whether all counts are whole numbers of classes, so that differences are exact."""
        return self.n_classes > 0 and (self.weights is None or self.weights.dtype.kind == "i")

    @property
    def floats(self) -> Floats | None:
        """The weights as the kernels of thresholds want them."""
        return None if self.weights is None else self.weights.astype(np.float64, copy=False)

    def table(
        self,
        column: NDArray[Any],
        entries: NDArray[Any],
        segments: NDArray[Any],
        n_cells: int,
        centers: Floats | None,
    ) -> NDArray[Any]:
        """What lies in each cell of a column of codes, in some segments: (segments, cells, classes or 3)."""
        if self.n_classes:
            return _kernels.count_entries(
                column, entries, segments, self.told, self.weights, self.rows, n_cells, self.n_classes
            )
        assert centers is not None  # noqa: S101 - numbers are summed about the centers of their nodes
        return _kernels.sum_entries(column, entries, segments, self.told, self.floats, self.rows, n_cells, centers)

    def thresholds(
        self, entries: NDArray[Any], starts: NDArray[Any], criterion: str, least: float
    ) -> tuple[NDArray[Any], Floats]:
        """The best place in each segment of sorted entries, and what it gains."""
        if self.n_classes:
            return _kernels.best_thresholds(entries, starts, self.told, self.floats, self.n_classes, criterion, least)
        return _kernels.best_thresholds_of_numbers(entries, starts, self.told, self.floats, criterion, least)

    def parted(self, who: NDArray[Any], sizes: NDArray[Any], shares: Floats) -> tuple[Any, Any]:
        """A crowd with the parts of some instances behind it, and where the parts of each instance begin.

        Instance who[j] has sizes[j] parts, whose shares of its weight stand in a row.
        """
        n, n_new = len(self), int(sizes.sum())
        if n + n_new > _MOST:
            raise TableError(
                f"Rows with missing cells would be parted into more than {_MOST} parts.",
                hint="give missing='branch' or 'majority', or a smaller max_depth.",
            )
        copies = np.zeros(n, dtype=np.uint32)
        copies[who] = n + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        origin = np.repeat(who, sizes)
        weights = np.ones(n) if self.weights is None else self.weights.astype(np.float64)
        rows = np.arange(n, dtype=np.uint32) if self.rows is None else self.rows
        grown = replace(
            self,
            told=np.concatenate([self.told, self.told[origin]]),
            weights=np.concatenate([weights, weights[origin] * shares]),
            rows=np.concatenate([rows, rows[origin]]),
        )
        return grown, copies
