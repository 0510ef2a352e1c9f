"""Graphs: how much two of them have in common."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from countwise._typing import Floats
from countwise.cases.columns import Column
from countwise.cases.matching import Matching, best_matching, graph_tokens
from countwise.cases.similarities import Similarity, counted_tokens
from countwise.cases.values import LabeledGraph, Where, counted
from countwise.errors import OptionError, TableError

__all__ = ["GraphSimilarity"]

_HIGHEST = 12  # nodes that may be searched exactly: the work can grow with the factorial
_LARGEST = 1000  # nodes that are matched at all


@dataclass(frozen=True)
class GraphSimilarity(Similarity):
    """Nodes and edges in common / nodes and edges of the larger graph.

    In common is what the best matching pairs: nodes of equal labels, each at most once, and edges of equal labels
    between them (a maximum common subgraph). Two empty graphs have 1.

    Parameters
    ----------
    limit : int, default=8
        Up to so many nodes, in both graphs, the best matching is found by a search. Beyond, a greedy matching
        stands in for it, which may find less; the explanation says so.

    Examples
    --------
    >>> from countwise import GraphSimilarity, LabeledGraph
    >>> one = LabeledGraph({1: "pump", 2: "valve", 3: "tank"}, [(1, 2), (2, 3)])
    >>> other = LabeledGraph({"a": "valve", "b": "pump"}, [("a", "b")])
    >>> GraphSimilarity().between(one, other)
    0.6
    """

    limit: int = 8
    kinds: ClassVar[tuple[str, ...]] = ("graph",)
    needed: ClassVar[str] = "a LabeledGraph"

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool) or not isinstance(self.limit, int) or not 0 <= self.limit <= _HIGHEST:
            raise OptionError(f"limit={self.limit!r} is no limit.", hint=f"give a whole number up to {_HIGHEST}.")

    def check(self, value: Any, where: Where) -> None:
        """Graphs, not too large."""
        super().check(value, where)
        if len(value.nodes) > _LARGEST:
            raise TableError(f"{where} has {len(value.nodes)} nodes; graphs of at most {_LARGEST} are compared.")

    def matching(self, asked: LabeledGraph, found: LabeledGraph) -> Matching:
        """Which nodes stand for which."""
        return best_matching(asked, found, self.limit)

    def between(self, asked: Any, found: Any) -> float:
        """What is in common, over the larger graph."""
        larger = max(_size(asked), _size(found))
        return self.matching(asked, found).worth / larger if larger else 1.0

    def approximate(self, asked: Any, found: Any) -> bool:
        """Whether the matching is greedy."""
        return max(len(asked.nodes), len(found.nodes)) > self.limit

    def told(self, asked: Any, found: Any) -> str:
        """The parts of the fraction, and whether they are approximate."""
        matching = self.matching(asked, found)
        how = f" (greedy: more than {self.limit} nodes)" if self.approximate(asked, found) else ""
        common = f"{counted(len(matching.pairs), 'node')} and {counted(matching.n_edges, 'edge')}"
        return f"{common} in common of {max(_size(asked), _size(found))}{how}"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """By the labels of nodes and edges, wherever they are."""
        shared, sizes, mine = column.common("graph", _tokens, asked)
        larger = np.maximum(sizes, mine)
        return np.divide(shared, larger, out=np.ones(len(sizes)), where=larger > 0)


def _size(graph: LabeledGraph) -> int:
    return len(graph.nodes) + len(tuple(graph.edges))


def _tokens(graph: Any) -> Iterator[Hashable]:
    return counted_tokens(graph_tokens(graph))
