"""Messages between cliques for many rows at once: by products where names alone speak, in logs where numbers do.

Numbers may speak for and against by thousands of nats; in logs, what one clique takes for impossible another can
still outvote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats

__all__ = ["as_rows", "calibrated", "calibrated_logs", "log_sum", "over"]

Scoped = tuple[tuple[str, ...], Floats]  # variables, and a table whose first axis is the row
Cliques = Sequence[tuple[str, ...]]


def as_rows(column: NDArray[Any], ndim: int) -> NDArray[Any]:
    """A number a row, to be laid beside a table with more axes."""
    return column.reshape(-1, *[1] * (ndim - 1))


def over(scope: Sequence[str], table: Floats, clique: Sequence[str]) -> Floats:
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


def calibrated(
    cliques: Cliques,
    parent: Sequence[int],
    sizes: Mapping[str, int],
    factors: Sequence[Scoped],
    log: Floats,
) -> list[Floats]:
    """P(clique | row) of each clique; adds the log of what was divided out to `log`, (rows,)."""
    own, n = _placed(cliques, factors), len(log)
    tables: list[Floats] = [np.empty(0)] * len(cliques)
    for i in reversed(range(len(cliques))):
        whole = np.ones((n, *(sizes[v] for v in cliques[i])))
        for scope, table in own[i]:
            whole *= over(scope, table, cliques[i])
        total = whole.reshape(n, -1).sum(axis=1)
        with np.errstate(divide="ignore"):
            log += np.log(total)
        tables[i] = whole / as_rows(np.where(total > 0, total, 1.0), whole.ndim)
        if parent[i] >= 0:
            shared = _shared(cliques, parent, i)
            own[parent[i]].append((shared, tables[i].sum(axis=_gone(cliques[i], shared))))
    for i, clique in enumerate(cliques):
        if parent[i] < 0:
            continue
        shared, up = _shared(cliques, parent, i), parent[i]
        before = tables[i].sum(axis=_gone(clique, shared))
        after = tables[up].sum(axis=_gone(cliques[up], shared))
        after = after.transpose([0, *(_order(cliques[up], shared).index(v) + 1 for v in shared)])
        ratio = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
        tables[i] = tables[i] * over(shared, ratio, clique)
    return tables


def _order(clique: Sequence[str], shared: Sequence[str]) -> list[str]:
    """Shared variables as they stand in a clique."""
    return [v for v in clique if v in shared]


def log_sum(logs: Floats, axis: tuple[int, ...]) -> Floats:
    """The log of a sum, from logs."""
    if not axis:
        return logs
    most = logs.max(axis=axis, keepdims=True)
    safe = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - safe).sum(axis=axis)) + safe.squeeze(axis=axis)


def calibrated_logs(
    cliques: Cliques,
    parent: Sequence[int],
    sizes: Mapping[str, int],
    factors: Sequence[Scoped],
    logged: Sequence[Scoped],
    log: Floats,
) -> list[Floats]:
    """Log P(clique | row) of each clique, from factors and logs of factors; adds to `log` as `calibrated` does."""
    with np.errstate(divide="ignore"):
        own = _placed(cliques, [*((scope, np.log(table)) for scope, table in factors), *logged])
    n = len(log)
    tables: list[Floats] = [np.empty(0)] * len(cliques)
    for i in reversed(range(len(cliques))):
        whole = np.zeros((n, *(sizes[v] for v in cliques[i])))
        for scope, table in own[i]:
            whole += over(scope, table, cliques[i])
        total = log_sum(whole, tuple(range(1, whole.ndim)))
        log += total
        tables[i] = whole - as_rows(np.where(np.isfinite(total), total, 0.0), whole.ndim)
        if parent[i] >= 0:
            shared = _shared(cliques, parent, i)
            own[parent[i]].append((shared, log_sum(tables[i], _gone(cliques[i], shared))))
    for i, clique in enumerate(cliques):
        if parent[i] < 0:
            continue
        shared, up = _shared(cliques, parent, i), parent[i]
        before = log_sum(tables[i], _gone(clique, shared))
        after = log_sum(tables[up], _gone(cliques[up], shared))
        after = after.transpose([0, *(_order(cliques[up], shared).index(v) + 1 for v in shared)])
        with np.errstate(invalid="ignore"):
            ratio = np.where(np.isfinite(before), after - before, -np.inf)
        tables[i] = tables[i] + over(shared, ratio, clique)
    return tables
