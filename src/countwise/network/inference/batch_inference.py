"""Exact inference for many rows at once: the posterior of the missing values of each row.

Rows with the same missing values are processed together: the row is an additional axis of every factor. Rare patterns
of missing values are merged; an observed value then counts as certain evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.table import Table
from countwise.network.inference.elimination import elimination_order, neighbors, refuse_wide
from countwise.network.inference.gaussian_nodes import BlockTerm
from countwise.network.inference.junction_tree import joined_cliques
from countwise.network.net import Net

__all__ = ["EvidenceBatch", "EvidenceRows", "Posterior", "batches"]

_FEW = 64  # patterns with fewer rows are merged
_CELLS = 1 << 21  # the largest table that is processed at once

Scoped = tuple[tuple[str, ...], Floats]  # variables, and a table whose first axis is the row


@dataclass(frozen=True, eq=False)
class EvidenceRows:
    """Encoded rows."""

    codes: Mapping[str, NDArray[Any]]  # of nominal nodes; a code >= the number of values means missing
    numbers: Mapping[str, Any]  # of the other nodes; NaN means missing
    n_rows: int

    @classmethod
    def of(cls, net: Net, table: Table) -> EvidenceRows:
        """Return the columns of a network's nodes."""
        return cls({n: table[n] for n in net.tables}, {n: table[n] for n in net.densities}, table.n_rows)

    def take(self, rows: NDArray[np.intp]) -> EvidenceRows:
        """Return some of the rows."""
        codes = {name: column[rows] for name, column in self.codes.items()}
        numbers = {n: c[rows] for n, c in self.numbers.items()}
        return EvidenceRows(codes, numbers, len(rows))


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of the missing values of some rows."""

    rows: NDArray[np.intp]  # which rows
    log: Floats  # log P(observed values) of each
    open: tuple[str, ...]  # the relevant nodes that are missing in some of the rows
    cliques: list[Scoped]  # P(variables | observed values)
    logs: bool  # whether the cliques hold logs of probabilities
    blocks: list[BlockTerm]  # numeric nodes of which some are missing
    relevant: Mapping[str, Flags]  # for each node: in which rows it or a descendant is observed

    def of(self, names: Sequence[str], *, log: bool = False) -> Floats:
        """Return P(names | observed values), or its log, of open nodes in one clique; the first axis is the row."""
        variables, table = next((v, t) for v, t in self.cliques if set(names) <= set(v))
        left = [v for v in variables if v in names]
        summed = (_Logs if self.logs else _Products).total(table, _gone(variables, names))
        found = summed.transpose([0, *(left.index(v) + 1 for v in names)])
        if log == self.logs:
            return found
        with np.errstate(divide="ignore"):
            return np.log(found) if log else np.exp(found)


class _Network:
    """The parts of a network that do not depend on its parameters: the graph and the number of values."""

    def __init__(self, net: Net, queried: Sequence[str]) -> None:
        self.graph, self.sizes, self.numbers, self.queried = net.graph, net.sizes(), net.numbers, queried
        self.backwards = tuple(reversed(net.graph.order()))

    def observed(self, rows: EvidenceRows) -> dict[str, Flags]:
        """Return in which rows each node is observed; bags of words count as observed."""
        found = {name: rows.codes[name] < size for name, size in self.sizes.items()}
        for name in self.numbers.densities:
            column = rows.numbers.get(name)
            known = isinstance(column, np.ndarray)
            found[name] = ~np.isnan(np.asarray(column, dtype=np.float64)) if known else np.ones(rows.n_rows, bool)
        return found

    def relevant(self, observed: Mapping[str, Flags]) -> dict[str, Flags]:
        """Return in which rows each node, or one of its descendants, is observed or queried."""
        found = {name: flags | (name in self.queried) for name, flags in observed.items()}
        for name in self.backwards:
            for parent in self.graph.parents[name]:
                found[parent] |= found[name]
        return found


def batches(
    net: Net, rows: EvidenceRows, *, queried: Sequence[str] = (), apart: bool = False
) -> Iterator[EvidenceBatch]:
    """Group rows by their pattern of missing values, for repeated inference with changing parameters.

    Nodes in `queried` are open even if no descendant is observed. If `apart`, patterns are not merged, and all open
    nodes of a pattern are in one clique.
    """
    network = _Network(net, queried)
    for group, known in _grouped(network, rows, 1 if apart else _FEW):
        whole = EvidenceBatch(network, rows.take(group), group, known, apart=apart)
        refuse_wide(whole.cells, "A row with missing values", "use a network with fewer arcs.")
        step = max(1, _CELLS // max(whole.cells, 1))
        if step >= len(group):
            yield whole
            continue
        for start in range(0, len(group), step):
            some = group[start : start + step]
            yield EvidenceBatch(network, rows.take(some), some, known, apart=apart)


def _grouped(net: _Network, rows: EvidenceRows, few: int) -> Iterator[tuple[NDArray[np.intp], set[str]]]:
    """Yield groups of rows with the same missing values, and the linked numeric nodes that they have."""
    observed = net.observed(rows)
    linked = [name for name in net.numbers.linked if name in observed]
    names = [*linked, *net.sizes]
    if not rows.n_rows:
        return
    if not names:
        yield np.arange(rows.n_rows), set()
        return
    bits = np.packbits(np.stack([observed[name] for name in names], axis=1), axis=1)
    keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    many = np.bincount(which)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(many)
    rest: dict[tuple[bool, ...], list[NDArray[np.intp]]] = {}
    for i, (stop, size) in enumerate(zip(ends.tolist(), many.tolist(), strict=True)):
        group = order[stop - size : stop]
        pattern = tuple(bool(observed[name][first[i]]) for name in linked)
        if size >= few:
            yield group, {name for name, known in zip(linked, pattern, strict=True) if known}
        else:
            rest.setdefault(pattern, []).append(group)
    for pattern, groups in rest.items():
        yield np.sort(np.concatenate(groups)), {n for n, known in zip(linked, pattern, strict=True) if known}


class EvidenceBatch:
    """Rows that are processed together."""

    def __init__(
        self, net: _Network, rows: EvidenceRows, places: NDArray[np.intp], known: set[str], *, apart: bool
    ) -> None:
        self.net, self.rows, self.places = net, rows, places
        self._positions: dict[tuple[str, ...], NDArray[np.intp]] = {}
        self.observed = net.observed(rows)
        self.relevant = net.relevant(self.observed)
        self.open = tuple(
            name for name in net.graph if name in net.sizes and (~self.observed[name] & self.relevant[name]).any()
        )
        self.known = known
        scopes = [self._open_of((*net.graph.parents[n], n)) for n in net.sizes if self.relevant[n].any()]
        scopes += [self._open_of(net.numbers.nominal_parents(name)) for name in net.numbers.densities]
        scopes += self._block_scopes() + ([self.open] if apart else [])
        near = neighbors(scopes, self.open)
        order, self.cells = elimination_order(near, net.sizes, list(near))
        self.cliques, self.parent = joined_cliques(near, order)

    def _open_of(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in self.open)

    def _block_scopes(self) -> list[tuple[str, ...]]:
        """Return the nominal parents of linked numeric nodes of which some are missing."""
        found = []
        for block in self.net.numbers.blocks:
            if len(block) > 1 and not set(block) <= self.known:
                above = {p for name in block for p in self.net.numbers.nominal_parents(name)}
                found.append(self._open_of([v for v in self.net.graph if v in above]))
        return found

    def posterior(self, net: Net) -> Posterior:
        """Return the posterior under the CPTs and densities of a network."""
        log = np.zeros(self.rows.n_rows)
        factors: list[Scoped] = []
        for name, table in net.tables.items():
            if self.relevant[name].any():
                scope, place = self.places_in((*net.graph.parents[name], name))
                found = table.ravel()[place]
                if name not in self.open and not self.observed[name].all():
                    # where it is missing, no descendant is observed: it sums out to 1
                    found = np.where(_as_rows(self.observed[name], found.ndim), found, 1.0)
                factors.append((scope, found))
        columns = {name: c for name, c in self.rows.numbers.items() if name in net.densities}
        plain, blocks = net.numbers.terms(columns, self.known)
        marks = self._marks()
        factors += [((name,), weights) for name, weights in marks.items()]
        logged = []
        for scope, logs in [*plain, *((b.scope, b.logs) for b in blocks)]:
            left, place = self.places_in(scope)
            start = np.arange(len(logs)) * logs.shape[1]
            own = logs.ravel()[place + _as_rows(start, place.ndim)]
            for name in left:
                if name in marks:  # a combination that contradicts the row may have a far larger likelihood
                    own = np.where(_over((name,), marks[name], left) > 0, own, -np.inf)
            logged.append((left, own))
        with np.errstate(divide="ignore"):
            for table in (table for scope, table in factors if not scope):
                log += np.log(table)
            for own in (own for scope, own in logged if not scope):
                log += own
            named, numeric = [(s, t) for s, t in factors if s], [(s, t) for s, t in logged if s]
            if numeric:
                named = [*((scope, np.log(table)) for scope, table in named), *numeric]
        algebra = _Logs if numeric else _Products
        tables = _calibrated(algebra, self.cliques, self.parent, self.net.sizes, named, log)
        cliques = list(zip(self.cliques, tables, strict=True))
        return Posterior(self.places, log, self.open, cliques, bool(numeric), blocks, self.relevant)

    def _marks(self) -> dict[str, Floats]:
        """Return the observed values of nodes that are open because other rows of the batch lack them."""
        found = {}
        for name in self.open:
            known = self.observed[name]
            if known.any():
                found[name] = np.ones((self.rows.n_rows, self.net.sizes[name]))
                found[name][known] = np.eye(self.net.sizes[name])[self.rows.codes[name][known]]
        return found

    def places_in(self, variables: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
        """Return the positions of the rows in a flat table over some variables, (rows, open variables)."""
        left = self._open_of(variables)
        if variables not in self._positions:
            place = np.zeros((self.rows.n_rows, *[1] * len(left)), dtype=np.intp)
            for v in variables:
                size = self.net.sizes[v]
                if v in left:
                    shape = [1] * (1 + len(left))
                    shape[1 + left.index(v)] = -1
                    code = np.arange(size).reshape(shape)
                else:
                    code = _as_rows(np.minimum(self.rows.codes[v], size - 1).astype(np.intp), 1 + len(left))
                place = place * size + code
            self._positions[variables] = place
        return left, self._positions[variables]


# -- messages between cliques ------------------------------------------------------------
#
# Products of probabilities if all factors come from nominal nodes, sums of logs otherwise: the likelihoods of numeric
# nodes may differ by thousands of nats, and products of probabilities would underflow.

Cliques = Sequence[tuple[str, ...]]


def _as_rows(column: NDArray[Any], ndim: int) -> NDArray[Any]:
    """Reshape one number for each row to broadcast with a table that has more axes."""
    return column.reshape(-1, *[1] * (ndim - 1))


def _over(scope: Sequence[str], table: Floats, clique: Sequence[str]) -> Floats:
    """Return a table (rows, scope) with the axes of a clique."""
    moved = table.transpose([0, *(scope.index(v) + 1 for v in clique if v in scope)])
    sizes = iter(moved.shape[1:])
    return moved.reshape([len(table), *(next(sizes) if v in scope else 1 for v in clique)])


def _gone(clique: Sequence[str], kept: Sequence[str]) -> tuple[int, ...]:
    return tuple(i + 1 for i, v in enumerate(clique) if v not in kept)


def _shared(cliques: Cliques, parent: Sequence[int], i: int) -> tuple[str, ...]:
    return tuple(v for v in cliques[i] if v in cliques[parent[i]])


def _log_sum(logs: Floats, axis: tuple[int, ...]) -> Floats:
    """Return the log of a sum of exponentials."""
    if not axis:
        return logs
    most = logs.max(axis=axis, keepdims=True)
    safe = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - safe).sum(axis=axis)) + safe.squeeze(axis=axis)


class _Products:
    """Message passing with products of probabilities."""

    one, combine = 1.0, np.multiply

    @staticmethod
    def total(table: Floats, axis: tuple[int, ...]) -> Floats:
        return np.asarray(table.sum(axis=axis))

    @staticmethod
    def log(total: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(total)

    @staticmethod
    def scaled(table: Floats, total: Floats) -> Floats:
        return np.asarray(table / _as_rows(np.where(total > 0, total, 1.0), table.ndim))

    @staticmethod
    def ratio(after: Floats, before: Floats) -> Floats:
        return np.divide(after, before, out=np.zeros_like(after), where=before > 0)


class _Logs:
    """Message passing with sums of logs."""

    one, combine, total = 0.0, np.add, staticmethod(_log_sum)

    @staticmethod
    def log(total: Floats) -> Floats:
        return total

    @staticmethod
    def scaled(table: Floats, total: Floats) -> Floats:
        return np.asarray(table - _as_rows(np.where(np.isfinite(total), total, 0.0), table.ndim))

    @staticmethod
    def ratio(after: Floats, before: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(before), after - before, -np.inf)


def _calibrated(
    algebra: Any,
    cliques: Cliques,
    parent: Sequence[int],
    sizes: Mapping[str, int],
    factors: Sequence[Scoped],
    log: Floats,
) -> list[Floats]:
    """Return P(clique | row) of each clique, or its log; add log P(row) to `log`, (rows,)."""
    own: list[list[Scoped]] = [[] for _ in cliques]  # each factor belongs to the first clique with all its variables
    for scope, table in factors:
        own[next(i for i, clique in enumerate(cliques) if set(scope) <= set(clique))].append((scope, table))
    tables: list[Floats] = [np.empty(0)] * len(cliques)
    for i in reversed(range(len(cliques))):
        whole = np.full((len(log), *(sizes[v] for v in cliques[i])), algebra.one)
        for scope, table in own[i]:
            algebra.combine(whole, _over(scope, table, cliques[i]), out=whole)
        total = algebra.total(whole, tuple(range(1, whole.ndim)))
        log += algebra.log(total)
        tables[i] = algebra.scaled(whole, total)
        if parent[i] >= 0:
            shared = _shared(cliques, parent, i)
            own[parent[i]].append((shared, algebra.total(tables[i], _gone(cliques[i], shared))))
    for i, clique in enumerate(cliques):
        if parent[i] < 0:
            continue
        shared, above = _shared(cliques, parent, i), cliques[parent[i]]
        before = algebra.total(tables[i], _gone(clique, shared))
        after = algebra.total(tables[parent[i]], _gone(above, shared))
        after = after.transpose([0, *([v for v in above if v in shared].index(v) + 1 for v in shared)])
        tables[i] = algebra.combine(tables[i], _over(shared, algebra.ratio(after, before), clique))
    return tables
