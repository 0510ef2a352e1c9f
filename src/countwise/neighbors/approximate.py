"""Approximate search by usearch, for those who ask for it by name: candidates from a graph, distances exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.errors import OptionError
from countwise.neighbors.layout import CombinedDistance, RowLayout
from countwise.neighbors.local_distances import LookupDistance, Overlap
from countwise.neighbors.search import FoundNeighbors, NeighborSearch

__all__ = ["ApproximateSearch"]

_WIDEST = 64  # numbers that stand for a name
_ASKED, _SAMPLE, _JUDGED = 4, 200, 10  # candidates a neighbor; rows and neighbors by which the recall is measured


class ApproximateSearch(NeighborSearch):
    """Rows in the graph of usearch.

    Each row is a point: numbers scaled, names as a point for each value. The nearest points are candidates, whose
    distances are then worked out exactly; a near row that is no candidate is missed. How often, is measured.

    Parameters
    ----------
    law, rows, weights
        As for `NeighborSearch`.
    """

    recall: float

    def __init__(self, law: CombinedDistance, rows: RowLayout, weights: Floats | None = None) -> None:
        super().__init__(law, rows, weights)
        if law.p == np.inf or any(not isinstance(x, Overlap | LookupDistance) for x in law.others):
            raise OptionError("usearch takes numbers and names only, and a finite power.", hint="search='exact'.")
        self._graph: Any = None
        self.recall = self._measured()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_graph": None}

    def _index(self) -> Any:
        if self._graph is None:
            try:
                from usearch.index import Index
            except ImportError:
                raise OptionError(
                    "search='usearch' needs the package usearch.", hint="pip install usearch, or search='exact'."
                ) from None
            points = self._points(self.rows)
            self._graph = Index(ndim=points.shape[1], metric="l2sq")
            self._graph.add(np.arange(len(points)), points, threads=1)  # so that it is always the same
        return self._graph

    def _points(self, laid: RowLayout) -> NDArray[np.float32]:
        parts = [np.zeros((len(laid), 1), dtype=np.float32)]
        for j, d in enumerate(self.law.differences):
            column = laid.numbers[:, j : j + 1]
            middle = np.nanmean(self.rows.numbers[:, j]) if not np.isnan(self.rows.numbers[:, j]).all() else 0.0
            parts.append(np.nan_to_num((column - middle) * (d.scale * np.sqrt(d.weight)), nan=0.0))
        for local, cells in zip(self.law.others, laid.cells, strict=True):
            codes = cells.column.astype(np.int64)
            if isinstance(local, LookupDistance):
                table = local.between()[:, :_WIDEST] * np.sqrt(local.weight / 2)
                parts.append(table[codes])
            else:
                assert isinstance(local, Overlap)  # noqa: S101 - others are refused
                width = min(local.n_values + 2, _WIDEST)
                parts.append(np.eye(width)[codes % width] * np.sqrt(local.weight / 2))
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _measured(self) -> float:
        """The share of the truly nearest rows that are found, for some of the rows."""
        n = len(self)
        some = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))
        queries = self.rows.take(some)
        k = float(min(_JUDGED, n))
        mine = self.nearest(queries, k, weighted=False)
        exact = NeighborSearch.nearest(self, queries, k, weighted=False)
        last = exact.distances[exact.starts[1:] - 1]
        good = mine.distances <= last[mine.owner]  # another row that is as near is as good
        return float(good.sum() / len(exact.ids))

    def nearest(
        self,
        queries: RowLayout,
        k: float,
        radius: float = np.inf,
        *,
        weighted: bool = True,
        skip: Indices | None = None,
        penalties: Floats | None = None,
        ties: bool = False,
    ) -> FoundNeighbors:
        """The nearest of the candidates."""
        if k == np.inf or penalties is not None or ties:
            raise OptionError("usearch finds a number of neighbors, not all within a radius.", hint="search='exact'.")
        weights = self.weights if weighted else None
        least = 1.0 if weights is None else float(min(1.0, weights.min()))
        many = int(min(len(self), np.ceil(_ASKED * k / least) + 32))
        ids = self._index().search(self._points(queries), many).keys.astype(np.int64).reshape(len(queries), -1)
        parts = []
        for i in range(len(queries)):
            mine = np.sort(ids[i])
            left, right, law = self.law.between(queries.slice(i, i + 1), self.rows.take(mine))
            limit = np.inf if radius == np.inf else self.law.power(radius) * (1 + 4e-16)
            no = None if skip is None else np.searchsorted(mine, skip[i : i + 1])
            if no is not None and (no[0] >= len(mine) or mine[no[0]] != skip[i]):  # type: ignore[index]
                no = None
            own = None if weights is None else weights[mine]
            _, places, sums = _kernels.nearest(left, right, law, k, limit, own, no)
            parts.append((mine[places], sums))
        sizes = np.array([0, *(len(part[0]) for part in parts)])
        sums = np.concatenate([np.empty(0), *(part[1] for part in parts)])
        found = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
        return FoundNeighbors(np.cumsum(sizes), found, sums, self.law.root(sums))
