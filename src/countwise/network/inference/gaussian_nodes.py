"""Numeric nodes as evidence on their nominal ancestors: a log-likelihood for each combination of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.distributions.gaussian import GaussianDensity
from countwise.errors import OptionError
from countwise.network.graph import Graph
from countwise.network.inference.elimination import refuse_wide
from countwise.network.linear_gaussian import LinearDensity, block_log_likelihood, block_moments

__all__ = ["BlockTerm", "Numbers", "as_linear"]


def as_linear(density: Any) -> LinearDensity | None:
    """A Gaussian as a line without slopes; None for other densities."""
    if isinstance(density, LinearDensity):
        return density
    if isinstance(density, GaussianDensity):
        slope = np.empty((density.n_classes, 0))
        return LinearDensity(density.name, (), density.mean, slope, density.sd, density.n, density.borrowed)
    return None


@dataclass(frozen=True, eq=False)
class BlockTerm:
    """Numbers that hang together, some of them missing.

    Parameters
    ----------
    names : tuple of str
        The numbers, parents first.
    scope : tuple of str
        The names that they depend on.
    logs : ndarray, shape (rows, combinations of the scope)
        Of the numbers that are known.
    after : ndarray, shape (rows, combinations, numbers)
        Means of all, given those that are known.
    left : ndarray, shape (combinations, numbers, numbers)
        The covariance that remains.
    own : mapping of str to ndarray
        The combination of each number's own nominal parents, for each combination of the scope.
    """

    names: tuple[str, ...]
    scope: tuple[str, ...]
    logs: Floats
    after: Floats
    left: Floats
    own: Mapping[str, Indices]


class Numbers:
    """The nodes of a network that are numbers.

    Parameters
    ----------
    graph : Graph
    sizes : mapping of str to int
        How many values each nominal node has.
    densities : mapping of str to density
        Of each number, over the combinations of its nominal parents' values.
    """

    def __init__(self, graph: Graph, sizes: Mapping[str, int], densities: Mapping[str, Any]) -> None:
        self.graph, self.sizes, self.densities = graph, sizes, densities
        self.lines = {name: line for name, d in densities.items() if (line := as_linear(d)) is not None}
        self.blocks = self._blocks()
        self.linked = tuple(name for block in self.blocks if len(block) > 1 for name in block)

    def names_above(self, name: str) -> tuple[str, ...]:
        """The nominal parents."""
        return tuple(p for p in self.graph.parents[name] if p in self.sizes)

    def _blocks(self) -> list[tuple[str, ...]]:
        """Gaussians that hang together by arcs between them, parents first."""
        order = [name for name in self.graph.order() if name in self.lines]
        block = {name: {name} for name in order}
        for name in order:
            for parent in self.lines[name].numbers:
                both = block[name] | block[parent]
                for one in both:
                    block[one] = both
        found: dict[frozenset[str], None] = dict.fromkeys(frozenset(block[name]) for name in order)
        return [tuple(name for name in order if name in one) for one in found]

    def terms(
        self, columns: Mapping[str, Floats], known: set[str] | None = None
    ) -> tuple[list[tuple[tuple[str, ...], Floats]], list[BlockTerm]]:
        """The log-likelihoods of the numbers of some rows.

        Parameters
        ----------
        columns : mapping of str to ndarray, shape (rows,)
            NaN is missing; a number without a column is missing too.
        known : set of str, optional
            Of the Gaussians that hang together, those that are there, in every row.

        Returns
        -------
        terms : list of (scope, logs)
            Log-likelihoods, (rows, combinations of the scope).
        blocks : list of BlockTerm
            The same of blocks with missing numbers, with the moments of these.
        """
        known = set(columns) if known is None else known
        plain: list[tuple[tuple[str, ...], Floats]] = []
        hidden: list[BlockTerm] = []
        linked = set(self.linked)
        for name, density in self.densities.items():
            if name in columns and name not in linked:
                plain.append((self.names_above(name), self._of_one(name, density, columns[name])))
        for block in self.blocks:
            there = [name for name in block if name in known]
            if len(block) == 1 or not there:
                continue
            relevant = [name for name in block if name in self.graph.ancestors(there)]
            if len(relevant) == len(there):
                plain += [(self.names_above(n), self._of_line(n, columns)) for n in there]
            else:
                hidden.append(self._of_block(relevant, there, columns))
        return plain, hidden

    def _of_one(self, name: str, density: Any, column: Any) -> Floats:
        logs = np.zeros((len(column), density.n_classes))
        density.add_log_prob(column, logs)
        return logs

    def _of_line(self, name: str, columns: Mapping[str, Floats]) -> Floats:
        line = self.lines[name]
        return line.log_prob(columns[name], [columns[p] for p in line.numbers])

    def _of_block(self, names: Sequence[str], there: Sequence[str], columns: Mapping[str, Floats]) -> BlockTerm:
        scope = tuple(node for node in self.graph if any(node in self.names_above(name) for name in names))
        cells = int(np.prod([self.sizes[v] for v in scope], dtype=np.float64))
        refuse_wide(cells * len(names) ** 2, "Gaussians with missing values")
        own = {name: self.combinations(scope, self.names_above(name)) for name in names}
        mean, covariance = block_moments(names, self.lines, own, cells)
        told = [n for n in there if not self.lines[n].constant]
        places = np.array([names.index(n) for n in told], dtype=np.intp)
        values = np.stack([np.asarray(columns[n], dtype=np.float64) for n in told], axis=1) if told else None
        rows = len(next(iter(columns.values())))
        logs, after, left = block_log_likelihood(
            places, np.empty((rows, 0)) if values is None else values, mean, covariance
        )
        return BlockTerm(tuple(names), scope, logs, after, left, own)

    def combinations(self, scope: Sequence[str], parents: Sequence[str]) -> Indices:
        """For each combination of a scope's values, that of some nodes within it."""
        shape = [self.sizes[v] for v in scope]
        grid = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.int64)
        key = np.zeros(grid.shape[1], dtype=np.int64)
        for parent in parents:
            key = key * self.sizes[parent] + grid[list(scope).index(parent)]
        return key

    def moments(self, name: str, known: Mapping[str, float]) -> tuple[tuple[str, ...], Floats, Floats]:
        """The names that a number depends on, and its mean and variance for each combination of their values."""
        if name in self.lines:
            block = next(b for b in self.blocks if name in b)
            there = [n for n in block if n in known and n != name]
            relevant = [n for n in block if n in self.graph.ancestors([name, *there])]
            term = self._of_block(relevant, there, {n: np.array([known.get(n, np.nan)]) for n in relevant})
            at = relevant.index(name)
            return term.scope, term.after[0, :, at], np.maximum(term.left[:, at, at], 0.0)
        density = self.densities[name]
        pairs = [_mean_and_variance(density, c) for c in range(density.n_classes)]
        return self.names_above(name), np.array([m for m, _ in pairs]), np.array([v for _, v in pairs])


def _mean_and_variance(density: Any, c: int) -> tuple[float, float]:
    if hasattr(density, "rate"):
        return float(density.rate[c]), float(density.rate[c])
    if not hasattr(density, "sets"):
        raise OptionError("Of texts and of blocks of counts no mean is asked.")
    values, weights = density.sets[c]
    if not len(values):
        return float("nan"), float("nan")
    mean = float(np.average(values, weights=weights))
    return mean, float(np.average((values - mean) ** 2, weights=weights)) + float(density.widths[c]) ** 2
