"""The terms of a class told by a network: every family that the class is in, looked up row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.network.linear_gaussian import LinearDensity
from countwise.network.net import Net

__all__ = ["FamilyLookups"]


class FamilyLookups:
    """Log P(class | parents) and log P(node | class, ...) laid out for lookups.

    Parameters
    ----------
    net : Net
    target : str
        The class.
    """

    def __init__(self, net: Net, target: str) -> None:
        self.net, self.target = net, target
        self.sizes = net.sizes()
        self.n_classes = self.sizes[target]
        self.parents = net.graph.parents
        self.of_class = [n for n in net.graph if target in self.parents[n] or (n == target and self.parents[n])]
        self.others = [n for n in net.graph if n not in self.of_class and n != target]
        self.lookups = {n: self._laid(n) for n in net.graph if n in net.tables and (n != target or self.parents[n])}
        children = {n: net.graph.children(n) for n in net.graph}
        self.inner = [n for n in net.tables if n != target and children[n]]  # missing, they must be summed out
        self.linked = list(net.numbers.linked)

    def _known(self, name: str) -> tuple[str, ...]:
        """The names of a family, but for the class; the node last if it is no class."""
        above = tuple(p for p in self.parents[name] if p != self.target and p in self.sizes)
        return above if name == self.target else (*above, name)

    def _laid(self, name: str) -> Floats:
        """Log P by (values of the family, two more of its last for missing and never seen; classes)."""
        family = (*self.parents[name], name)
        known = self._known(name)
        with np.errstate(divide="ignore"):
            logs = np.log(self.net.tables[name])
        if self.target in family:
            logs = logs.transpose([*(family.index(v) for v in known), family.index(self.target)])
        else:
            logs = np.repeat(logs[..., None], self.n_classes, axis=-1)
        pad = [(0, 0)] * logs.ndim
        pad[len(known) - 1] = (0, 2)  # rows of zeros: what is missing or was never seen has no say
        return np.ascontiguousarray(np.pad(logs, pad).reshape(-1, self.n_classes))

    def key(self, name: str, table: Table) -> NDArray[Any]:
        """Which entry of its lookup each row has."""
        *above, last = self._known(name)
        size = self.sizes[last]
        if not above:
            return np.asarray(table[last])
        total = int(np.prod([self.sizes[v] for v in above], dtype=np.int64)) * (size + 2)
        kind = narrowest(total + 1)
        key = np.minimum(table[above[0]], self.sizes[above[0]] - 1).astype(kind)
        for v in above[1:]:
            key *= kind.type(self.sizes[v])
            key += np.minimum(table[v], self.sizes[v] - 1).astype(kind)
        key *= kind.type(size + 2)
        key += table[last].astype(kind)
        return key

    def add(self, table: Table, out: Floats, *, whole: bool = True, only: str | None = None) -> None:
        """Add the terms of rows to out (rows, classes); what is the same for all classes only for the whole."""
        names = [*self.of_class, *(self.others if whole else [])]
        names = names if only is None else [n for n in names if n == only]
        looked = [n for n in names if n in self.lookups]
        if looked:
            _kernels.add_lookup([self.key(n, table) for n in looked], [self.lookups[n] for n in looked], out)
        for name in names:
            if name not in self.lookups:
                self._add_number(name, table, out)

    def _add_number(self, name: str, table: Table, out: Floats) -> None:
        density, above = self.net.densities[name], self.net.numbers.names_above(name)
        line = density if isinstance(density, LinearDensity) else None
        if above == (self.target,) and line is None:
            density.add_log_prob(table[name], out)
            return
        logs = None
        if line is None:
            logs = np.zeros((len(out), density.n_classes))
            density.add_log_prob(table[name], logs)
        for c in range(self.n_classes):
            combos = np.zeros(len(out), dtype=np.int64)
            for parent in above:
                code = c if parent == self.target else np.minimum(table[parent], self.sizes[parent] - 1)
                combos = combos * self.sizes[parent] + code
            if line is not None:
                out[:, c] += line.log_prob(table[name], [table[p] for p in line.numbers], combos)
            elif logs is not None:
                out[:, c] += logs[np.arange(len(out)), combos]

    def open_rows(self, table: Table) -> NDArray[np.intp]:
        """The rows that lack a cell on which one depends that is there."""
        lacks: Flags | None = None
        for name in self.inner:
            column = table[name]
            if len(column) and int(column.max()) >= self.sizes[name]:
                lacks = self._or(lacks, column >= self.sizes[name])
        for name in self.linked:
            gone = np.isnan(np.asarray(table[name], dtype=np.float64))
            lacks = self._or(lacks, gone) if gone.any() else lacks
        return np.empty(0, dtype=np.intp) if lacks is None else np.flatnonzero(lacks)

    @staticmethod
    def _or(a: Flags | None, b: Flags) -> Flags:
        return b if a is None else a | b
