"""Rows with gaps as weighted rows without: each is there once for every way to fill it."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.columns import narrowest
from countwise.errors import TableError
from countwise.network.net import Net
from countwise.network.rows import Rows, posteriors
from countwise.table import Table

__all__ = ["completed"]

_MOST_ROWS = 1 << 24


def completed(net: Net, table: Table) -> Table:
    """The table with each row once for every way to fill its missing names, weighed by how probable that is.

    Counts of such a table are expected counts, of any family. Numbers that are missing stay so.

    Parameters
    ----------
    net : Net
        Which tells what is probable.
    table : Table
        Codes and numbers by node.
    """
    sizes = net.sizes()
    rows = Rows({n: table[n] for n in net.tables}, {n: table[n] for n in net.densities}, table.n_rows)
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
    pieces: dict[str, list[Any]] = {name: [] for name in (*net.tables, *net.densities)}
    found_weights: list[Any] = []
    total = 0
    every = tuple(net.tables)
    for found in posteriors(net.graph, net.tables, net.numbers, rows, asked=every, apart=True):
        share = found.of(found.open) if found.open else np.ones(len(found.rows))
        flat = share.reshape(len(found.rows), -1)
        row, cell = np.nonzero(flat > 0)
        total += len(row)
        if total > _MOST_ROWS:
            raise TableError(
                f"The gaps can be filled in more than {_MOST_ROWS:,} ways in all.",
                hint="missing='complete' or 'available' does without; or leave out columns with many gaps.",
            )
        at = found.rows[row]
        codes = np.unravel_index(cell, share.shape[1:]) if found.open else ()
        open_codes = dict(zip(found.open, codes, strict=True))
        for name in net.tables:
            column = open_codes[name] if name in open_codes else table[name][at]
            pieces[name].append(np.asarray(column).astype(narrowest(sizes[name] + 2)))
        for name in net.densities:
            pieces[name].append(np.asarray(table[name], dtype=np.float64)[at])
        found_weights.append(weights[at] * flat[row, cell])
    columns = {name: np.concatenate(parts) for name, parts in pieces.items()}
    return Table(columns, total, np.concatenate(found_weights))
