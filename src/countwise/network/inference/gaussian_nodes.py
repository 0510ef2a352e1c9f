"""Numeric nodes as evidence on their nominal ancestors: a log-likelihood for each combination of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.network.graph import Graph
from countwise.network.inference.elimination import refuse_wide
from countwise.network.linear_gaussian import LinearDensity, block_log_likelihood, block_moments

__all__ = ["BlockTerm", "Numbers", "as_linear"]


def as_linear(density: Any) -> LinearDensity | None:
    """Return a Gaussian as a regression without slopes; None for other densities."""
    if not density.linear:
        return None
    if isinstance(density, LinearDensity):
        return density
    slope = np.empty((density.n_classes, 0))
    return LinearDensity(density.name, (), density.mean, slope, density.sd, density.n, density.borrowed)


@dataclass(frozen=True, eq=False)
class BlockTerm:
    """The likelihood of linked Gaussian nodes of which some are missing."""

    names: tuple[str, ...]  # the nodes, parents first
    scope: tuple[str, ...]  # the nominal nodes that they depend on
    logs: Floats  # log density of the observed nodes, (rows, combinations of the scope)
    after: Floats  # conditional means of all nodes given the observed ones, (rows, combinations, nodes)
    left: Floats  # their conditional covariance, (combinations, nodes, nodes)
    own: Mapping[str, Indices]  # for each node: the combination of its nominal parents, by combination of the scope


class Numbers:
    """The numeric nodes of a network, with densities for the combinations of their nominal parents' values."""

    def __init__(self, graph: Graph, sizes: Mapping[str, int], densities: Mapping[str, Any]) -> None:
        self.graph, self.sizes, self.densities = graph, sizes, densities
        self.lines = {name: line for name, d in densities.items() if (line := as_linear(d)) is not None}
        self._nominal_parents: dict[str, tuple[str, ...]] = {}
        self.blocks = self._blocks()
        self.linked = tuple(name for block in self.blocks if len(block) > 1 for name in block)

    def nominal_parents(self, name: str) -> tuple[str, ...]:
        """Return the nominal parents of a node."""
        found = self._nominal_parents.get(name)
        if found is None:
            found = self._nominal_parents[name] = tuple(p for p in self.graph.parents[name] if p in self.sizes)
        return found

    def _blocks(self) -> list[tuple[str, ...]]:
        """Return the groups of Gaussian nodes that are connected by arcs between them, parents first."""
        order = [name for name in self.graph.order() if name in self.lines]
        block = {name: [name] for name in order}
        for name in order:
            for parent in self.lines[name].numbers:
                if block[name] is not block[parent]:
                    both = block[parent] + block[name]
                    for one in both:
                        block[one] = both
        place = {name: i for i, name in enumerate(order)}
        found = {id(block[name]): block[name] for name in order}
        return [tuple(sorted(one, key=place.__getitem__)) for one in found.values()]

    def terms(
        self, columns: Mapping[str, Floats], known: set[str] | None = None
    ) -> tuple[list[tuple[tuple[str, ...], Floats]], list[BlockTerm]]:
        """Return the log-likelihoods of numeric nodes, each (rows, combinations of a scope), and incomplete blocks.

        NaN means missing, as does a node without a column; `known` are the linked nodes that are observed in every
        row.
        """
        known = set(columns) if known is None else known
        plain: list[tuple[tuple[str, ...], Floats]] = []
        hidden: list[BlockTerm] = []
        for name, density in self.densities.items():
            if name in columns and name not in self.linked:
                logs = np.zeros((len(columns[name]), density.n_classes))
                density.add_log_prob(columns[name], logs)
                plain.append((self.nominal_parents(name), logs))
        for block in self.blocks:
            observed = [name for name in block if name in known]
            if len(block) == 1 or not observed:
                continue
            relevant = [name for name in block if name in self.graph.ancestors(observed)]
            if len(relevant) == len(observed):
                lines = [(self.lines[n], self.nominal_parents(n), columns[n]) for n in observed]
                plain += [(above, line.log_prob(y, [columns[p] for p in line.numbers])) for line, above, y in lines]
            else:
                hidden.append(self._of_block(relevant, observed, columns))
        return plain, hidden

    def _of_block(self, names: Sequence[str], observed: Sequence[str], columns: Mapping[str, Floats]) -> BlockTerm:
        scope = tuple(node for node in self.graph if any(node in self.nominal_parents(name) for name in names))
        cells = int(np.prod([self.sizes[v] for v in scope], dtype=np.float64))
        what = "A group of Gaussian nodes with missing values"
        refuse_wide(cells * len(names) ** 2, what, "use fewer nominal parents of these nodes.")
        own = {name: self.combinations(scope, self.nominal_parents(name)) for name in names}
        mean, covariance = block_moments(names, self.lines, own, cells)
        varying = [n for n in observed if not self.lines[n].constant]
        places = np.array([names.index(n) for n in varying], dtype=np.intp)
        values = np.empty((len(next(iter(columns.values()))), len(varying)))
        for j, n in enumerate(varying):
            values[:, j] = columns[n]
        logs, after, left = block_log_likelihood(places, values, mean, covariance)
        return BlockTerm(tuple(names), scope, logs, after, left, own)

    def combinations(self, scope: Sequence[str], parents: Sequence[str]) -> Indices:
        """Return, for each combination of a scope's values, the combination of some nodes within it."""
        shape = [self.sizes[v] for v in scope]
        grid = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.int64)
        key = np.zeros(grid.shape[1], dtype=np.int64)
        for parent in parents:
            key = key * self.sizes[parent] + grid[list(scope).index(parent)]
        return key

    def moments(self, name: str, known: Mapping[str, float]) -> tuple[tuple[str, ...], Floats, Floats]:
        """Return the nominal nodes that a node depends on, and its mean and variance for each combination of them."""
        if name in self.lines:
            block = next(b for b in self.blocks if name in b)
            observed = [n for n in block if n in known and n != name]
            relevant = [n for n in block if n in self.graph.ancestors([name, *observed])]
            term = self._of_block(relevant, observed, {n: np.array([known.get(n, np.nan)]) for n in relevant})
            at = relevant.index(name)
            return term.scope, term.after[0, :, at], np.maximum(term.left[:, at, at], 0.0)
        return self.nominal_parents(name), *self.densities[name].mean_and_variance()
