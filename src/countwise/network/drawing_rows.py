"""Rows drawn from a network: names and numbers, parents first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Indices
from countwise.attributes import Numeric
from countwise.network.net import Net
from countwise.network.sampling import forward

__all__ = ["drawn_rows"]


def drawn_rows(net: Net, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Codes of names and numbers, by node.

    Parameters
    ----------
    net : Net
    n : int
        How many rows.
    rng : Generator
    """
    names = net.graph.within([node for node in net.graph if node in net.tables])
    columns: dict[str, NDArray[Any]] = dict(forward(names, net.tables, n, rng)[0])
    for node in net.graph.order():
        if node in net.tables:
            continue
        above = net.numbers.names_above(node)
        combos = np.zeros(n, dtype=np.int64)
        for parent in above:
            combos = combos * net.sizes()[parent] + columns[parent]
        columns[node] = _numbers(net, node, combos, columns, rng)
    return {node: columns[node] for node in net.graph}


def _numbers(net: Net, node: str, combos: Indices, columns: Any, rng: np.random.Generator) -> Any:
    line = net.numbers.lines.get(node)
    if line is not None:
        mean = line.intercept[combos].copy()
        for j, parent in enumerate(line.numbers):
            mean += line.slope[combos, j] * columns[parent]
        return mean + line.sd[combos] * rng.standard_normal(len(combos))
    found = np.empty(len(combos), dtype=np.float64 if isinstance(net.attributes[node], Numeric) else object)
    for c in np.unique(combos).tolist():
        mine = combos == c
        found[mine] = net.densities[node].draw(c, int(mine.sum()), rng)
    return found
