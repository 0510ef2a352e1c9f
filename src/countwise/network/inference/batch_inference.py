"""Exact inference for many rows at once: the posterior of the missing values of each.

Rows with the same missing values are worked on together: the row is one more axis of every factor. Patterns that few
rows have are put together, and an observed value counts as certain evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.network.graph import Graph
from countwise.network.inference.elimination import elimination_order, refuse_wide
from countwise.network.inference.gaussian_nodes import BlockTerm, Numbers
from countwise.network.inference.junction_tree import joined_cliques

__all__ = ["EvidenceBatch", "EvidenceRows", "Posterior", "batches", "posteriors"]

_FEW = 64  # rows of one pattern below which patterns are thrown together
_CELLS = 1 << 21  # of the largest table that is worked on at a time


@dataclass(frozen=True, eq=False)
class EvidenceRows:
    """Encoded rows.

    Parameters
    ----------
    codes : mapping of str to ndarray
        Of nominal nodes; the number of values or more is missing.
    numbers : mapping of str to ndarray
        Of the others; NaN is missing.
    n_rows : int
    """

    codes: Mapping[str, NDArray[Any]]
    numbers: Mapping[str, Any]
    n_rows: int

    def take(self, rows: NDArray[np.intp]) -> EvidenceRows:
        """Some of them."""
        codes = {name: column[rows] for name, column in self.codes.items()}
        numbers = {n: c.take(rows) if hasattr(c, "take") else c[rows] for n, c in self.numbers.items()}
        return EvidenceRows(codes, numbers, len(rows))


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of the missing values of some rows.

    Parameters
    ----------
    rows : ndarray
        Which rows.
    log : ndarray, shape (rows,)
        Log P(observed values).
    open : tuple of str
        The nodes that are missing in some of them and matter.
    cliques : list of (variables, ndarray)
        P(variables | observed values), the first axis the row.
    logs : bool
        Whether the cliques hold the logs of these.
    blocks : list of BlockTerm
        Numeric nodes of which some are missing.
    relevant : dict of str to ndarray of bool
        Of each node, in which rows it or something below it is observed.
    """

    rows: NDArray[np.intp]
    log: Floats
    open: tuple[str, ...]
    cliques: list[tuple[tuple[str, ...], Floats]]
    logs: bool
    blocks: list[BlockTerm]
    relevant: Mapping[str, Flags]

    def of(self, names: Sequence[str]) -> Floats:
        """P(names | observed values) of open nodes that stand in one clique, the first axis the row."""
        found = self._of(names)
        return np.exp(found) if self.logs else found

    def log_of(self, names: Sequence[str]) -> Floats:
        """The logs of these."""
        found = self._of(names)
        if self.logs:
            return found
        with np.errstate(divide="ignore"):
            return np.log(found)

    def _of(self, names: Sequence[str]) -> Floats:
        for variables, table in self.cliques:
            if set(names) <= set(variables):
                gone = tuple(i + 1 for i, v in enumerate(variables) if v not in names)
                left = [v for v in variables if v in names]
                summed = _log_sum(table, gone) if self.logs else table.sum(axis=gone)
                return summed.transpose([0, *(left.index(v) + 1 for v in names)])
        raise KeyError(names)


class _Network:
    """What of a network does not change with its numbers: who depends on whom, and how many values there are."""

    def __init__(self, graph: Graph, sizes: Mapping[str, int], numbers: Numbers, asked: Sequence[str]) -> None:
        self.graph, self.sizes, self.numbers, self.asked = graph, sizes, numbers, tuple(asked)
        self.children = {name: graph.children(name) for name in graph}
        self.backwards = tuple(reversed(graph.order()))

    def there(self, rows: EvidenceRows) -> dict[str, Flags]:
        """In which rows each node is there; bags of words count as there."""
        found = {name: rows.codes[name] < size for name, size in self.sizes.items()}
        for name in self.numbers.densities:
            column = rows.numbers.get(name)
            known = isinstance(column, np.ndarray)
            found[name] = ~np.isnan(np.asarray(column, dtype=np.float64)) if known else np.ones(rows.n_rows, bool)
        return found

    def relevant(self, there: Mapping[str, Flags]) -> dict[str, Flags]:
        """In which rows each node, or something below it, is there or asked for."""
        found: dict[str, Flags] = {}
        for name in self.backwards:
            own = there[name].copy()
            if name in self.asked:
                own[:] = True
            for child in self.children[name]:
                own |= found[child]
            found[name] = own
        return found


def posteriors(
    graph: Graph,
    tables: Mapping[str, Floats],
    numbers: Numbers,
    rows: EvidenceRows,
    *,
    asked: Sequence[str] = (),
    apart: bool = False,
) -> Iterator[Posterior]:
    """The posteriors of missing values, pattern by pattern.

    Parameters
    ----------
    graph : Graph
    tables : mapping of str to ndarray
        P(node | parents) of nominal nodes, the last axis for the node.
    numbers : Numbers
        The other nodes.
    rows : EvidenceRows
    asked : sequence of str
        Nominal nodes that are asked for, even where nothing below them is observed.
    apart : bool, default=False
        Whether each pattern is on its own, and all open nodes of it stand in one clique.
    """
    for batch in batches(graph, tables, numbers, rows, asked=asked, apart=apart):
        yield batch.posterior(tables, numbers)


def batches(
    graph: Graph,
    tables: Mapping[str, Floats],
    numbers: Numbers,
    rows: EvidenceRows,
    *,
    asked: Sequence[str] = (),
    apart: bool = False,
) -> Iterator[EvidenceBatch]:
    """The same rows laid out, to be asked again and again under other tables of the same shapes."""
    sizes = {name: table.shape[-1] for name, table in tables.items()}
    net = _Network(graph, sizes, numbers, asked)
    for group, known in _grouped(net, rows, 1 if apart else _FEW):
        whole = EvidenceBatch(net, rows.take(group), group, known, apart=apart)
        refuse_wide(whole.cells, "A row with missing values")
        step = max(1, _CELLS // max(whole.cells, 1))
        if step >= len(group):
            yield whole
            continue
        for start in range(0, len(group), step):
            some = group[start : start + step]
            yield EvidenceBatch(net, rows.take(some), some, known, apart=apart)


def _grouped(net: _Network, rows: EvidenceRows, few: int) -> Iterator[tuple[NDArray[np.intp], set[str]]]:
    """Rows with the same missing values, and which linked numbers they have."""
    there = net.there(rows)
    linked = [name for name in net.numbers.linked if name in there]
    names = [*linked, *net.sizes]
    if not rows.n_rows:
        return
    if not names:
        yield np.arange(rows.n_rows), set()
        return
    bits = np.packbits(np.stack([there[name] for name in names], axis=1), axis=1)
    keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    many = np.bincount(which)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(many)
    rest: dict[tuple[bool, ...], list[NDArray[np.intp]]] = {}
    for i, (stop, size) in enumerate(zip(ends.tolist(), many.tolist(), strict=True)):
        group = order[stop - size : stop]
        pattern = tuple(bool(there[name][first[i]]) for name in linked)
        if size >= few:
            yield group, {name for name, known in zip(linked, pattern, strict=True) if known}
        else:
            rest.setdefault(pattern, []).append(group)
    for pattern, groups in rest.items():
        yield np.sort(np.concatenate(groups)), {n for n, known in zip(linked, pattern, strict=True) if known}


class EvidenceBatch:
    """Rows that are worked on together."""

    def __init__(
        self, net: _Network, rows: EvidenceRows, places: NDArray[np.intp], known: set[str], *, apart: bool
    ) -> None:
        self.net, self.rows, self.places = net, rows, places
        self._laid: dict[tuple[str, ...], NDArray[np.intp]] = {}
        self.there = net.there(rows)
        self.relevant = net.relevant(self.there)
        self.open = tuple(
            name for name in net.graph if name in net.sizes and (~self.there[name] & self.relevant[name]).any()
        )
        self.known = known
        scopes = [self._open_of((*net.graph.parents[n], n)) for n in net.sizes if self.relevant[n].any()]
        scopes += [self._open_of(net.numbers.names_above(name)) for name in net.numbers.densities]
        scopes += self._block_scopes() + ([self.open] if apart else [])
        near: dict[str, set[str]] = {name: set() for name in self.open}
        for scope in scopes:
            for v in scope:
                near[v].update(w for w in scope if w != v)
        order, self.cells = elimination_order(near, net.sizes, list(near))
        self.cliques, self.parent = joined_cliques(near, order)

    def _open_of(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in self.open)

    def _block_scopes(self) -> list[tuple[str, ...]]:
        """Names above numbers that hang together and of which some are missing."""
        found = []
        for block in self.net.numbers.blocks:
            if len(block) > 1 and not set(block) <= self.known:
                above = {p for name in block for p in self.net.numbers.names_above(name)}
                found.append(self._open_of([v for v in self.net.graph if v in above]))
        return found

    def posterior(self, tables: Mapping[str, Floats], numbers: Numbers) -> Posterior:
        """The posterior under some tables and densities."""
        n = self.rows.n_rows
        log = np.zeros(n)
        factors: list[tuple[tuple[str, ...], Floats]] = []
        for name, table in tables.items():
            if self.relevant[name].any():
                scope, found = self._gathered((*self.net.graph.parents[name], name), table)
                if name not in self.open and not self.there[name].all():
                    # where it is missing, nothing below it is there: its row sums to 1
                    found = np.where(_as_rows(self.there[name], found.ndim), found, 1.0)
                factors.append((scope, found))
        columns = {name: c for name, c in self.rows.numbers.items() if name in numbers.densities}
        plain, blocks = numbers.terms(columns, self.known)
        marks = self._marks()
        factors += [((name,), weights) for name, weights in marks.items()]
        logged = []
        for scope, logs in [*plain, *((b.scope, b.logs) for b in blocks)]:
            left, own = self._gathered_by_row(scope, logs)
            for name in left:
                if name in marks:  # a combination that a row does not have may be likelier by far
                    own = np.where(_over((name,), marks[name], left) > 0, own, -np.inf)
            logged.append((left, own))
        with np.errstate(divide="ignore"):
            for scope, table in factors:
                if not scope:
                    log += np.log(table)
        for scope, own in logged:
            if not scope:
                log += own
        named, told = [(s, t) for s, t in factors if s], [(s, t) for s, t in logged if s]
        algebra: Any = _Products
        if told:
            with np.errstate(divide="ignore"):
                algebra, named = _Logs, [*((scope, np.log(table)) for scope, table in named), *told]
        shares = _calibrated(algebra, self.cliques, self.parent, self.net.sizes, named, log)
        cliques = list(zip(self.cliques, shares, strict=True))
        return Posterior(self.places, log, self.open, cliques, bool(told), blocks, self.relevant)

    def _marks(self) -> dict[str, Floats]:
        """Observed values of nodes that are open because other rows of the batch lack them."""
        found = {}
        for name in self.open:
            known = self.there[name]
            if known.any():
                found[name] = np.ones((self.rows.n_rows, self.net.sizes[name]))
                found[name][known] = np.eye(self.net.sizes[name])[self.rows.codes[name][known]]
        return found

    def _gathered(self, variables: Sequence[str], table: Floats) -> tuple[tuple[str, ...], Floats]:
        """A table at the codes of the rows, open variables left as axes."""
        left, place = self._places_in(tuple(variables))
        return left, table.ravel()[place]

    def _gathered_by_row(self, variables: Sequence[str], tables: Floats) -> tuple[tuple[str, ...], Floats]:
        """The same of a table for each row, flat (rows, cells)."""
        left, place = self._places_in(tuple(variables))
        start = np.arange(len(tables)) * tables.shape[1]
        return left, tables.ravel()[place + _as_rows(start, place.ndim)]

    def _places_in(self, variables: tuple[str, ...]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
        """Where in a flat table over some variables the rows look, (rows, open variables)."""
        left = self._open_of(variables)
        if variables not in self._laid:
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
            self._laid[variables] = place
        return left, self._laid[variables]


# -- messages between cliques ------------------------------------------------------------
#
# By products where nominal nodes alone speak, in logs where numeric ones do: these may speak for and against by
# thousands of nats, and in logs, what one clique takes for impossible another can still outvote.

Scoped = tuple[tuple[str, ...], Floats]  # variables, and a table whose first axis is the row
Cliques = Sequence[tuple[str, ...]]


def _as_rows(column: NDArray[Any], ndim: int) -> NDArray[Any]:
    """A number a row, to be laid beside a table with more axes."""
    return column.reshape(-1, *[1] * (ndim - 1))


def _over(scope: Sequence[str], table: Floats, clique: Sequence[str]) -> Floats:
    """A table (rows, scope) with the axes of a clique."""
    moved = table.transpose([0, *(scope.index(v) + 1 for v in clique if v in scope)])
    sizes = iter(moved.shape[1:])
    return moved.reshape([len(table), *(next(sizes) if v in scope else 1 for v in clique)])


def _gone(clique: Sequence[str], kept: Sequence[str]) -> tuple[int, ...]:
    return tuple(i + 1 for i, v in enumerate(clique) if v not in kept)


def _placed(cliques: Cliques, factors: Sequence[Scoped]) -> list[list[Scoped]]:
    """Each factor with the first clique that has all its variables."""
    own: list[list[Scoped]] = [[] for _ in cliques]
    for scope, table in factors:
        own[next(i for i, clique in enumerate(cliques) if set(scope) <= set(clique))].append((scope, table))
    return own


def _shared(cliques: Cliques, parent: Sequence[int], i: int) -> tuple[str, ...]:
    return tuple(v for v in cliques[i] if v in cliques[parent[i]])


def _log_sum(logs: Floats, axis: tuple[int, ...]) -> Floats:
    """The log of a sum, from logs."""
    if not axis:
        return logs
    most = logs.max(axis=axis, keepdims=True)
    safe = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - safe).sum(axis=axis)) + safe.squeeze(axis=axis)


class _Products:
    """Tables multiplied as they are."""

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
    """Tables as logs: products are sums."""

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
    """P(clique | row) of each clique, or its log; adds the log of what was divided out to `log`, (rows,)."""
    own, n = _placed(cliques, factors), len(log)
    tables: list[Floats] = [np.empty(0)] * len(cliques)
    for i in reversed(range(len(cliques))):
        whole = np.full((n, *(sizes[v] for v in cliques[i])), algebra.one)
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
