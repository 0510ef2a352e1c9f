"""How an answer moves with each number of each table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError
from countwise.network.inference.elimination import Elimination
from countwise.network.inference.factors import Potential
from countwise.network.net import Net

__all__ = ["sensitivities"]


def sensitivities(net: Net, asked: str, code: int, known: Mapping[str, Any]) -> dict[str, Floats]:
    """The derivative of P(asked = value | known) by each entry of each table.

    The other entries of the row give way in proportion, so that it still sums to 1. Nodes that cannot matter have 0.

    Parameters
    ----------
    net : Net
    asked : str
        A nominal node.
    code : int
        The code of its value.
    known : mapping of str to value
    """
    codes, numbers = net.evidence(known)
    if asked in codes and np.ndim(codes[asked]) == 0:
        raise OptionError(f"{asked!r} is known; its probability cannot be asked.")
    hit = np.zeros(net.sizes()[asked])
    hit[code] = 1.0
    relevant = net.graph.ancestors({asked, *codes, *numbers})
    among = [node for node in net.graph if node in relevant]
    both = _Weights(net, codes, numbers, among, Potential((asked,), hit))
    alone = _Weights(net, codes, numbers, among, None)
    log_known = alone.total()
    if log_known == -np.inf:
        raise OptionError("What is known has probability 0 in this network.")
    p = float(np.exp(both.total() - log_known))
    found = {}
    for node, table in net.tables.items():
        if node not in relevant:
            found[node] = np.zeros_like(table)
            continue
        gains = both.of(node, log_known), alone.of(node, log_known)
        parts = _with_others(table, gains[0]), p * _with_others(table, gains[1])
        size = max(float(np.abs(gain).max(initial=0.0)) for gain in (gains[0], p * gains[1]))
        found[node] = np.where(np.abs(parts[0] - parts[1]) > 1e-14 * size, parts[0] - parts[1], 0.0)  # not rounding
    return found


class _Weights:
    """Sums over all rows that agree with what is known, as they depend on the entries of one table."""

    def __init__(
        self,
        net: Net,
        codes: Mapping[str, Any],
        numbers: Mapping[str, float],
        among: list[str],
        extra: Potential | None,
    ) -> None:
        self.net, self.codes, self.among = net, codes, among
        self.rest = [factor for factor, _ in net.number_factors(numbers, codes)]
        sizes = net.sizes()
        for name, known in codes.items():
            self.rest.append(Potential((name,), np.eye(sizes[name])[known] if np.ndim(known) == 0 else known))
        if extra is not None:
            self.rest.append(extra)

    def _factors(self, but: str | None) -> list[Potential]:
        tables = [node for node in self.among if node in self.net.tables and node != but]
        own = [Potential((*self.net.graph.parents[node], node), self.net.tables[node]) for node in tables]
        return own + self.rest

    def total(self) -> float:
        """Log P(known), and what is asked."""
        work = Elimination(self._factors(None), [])
        with np.errstate(divide="ignore"):
            return float(np.log(work.result.table)) + work.log

    def of(self, node: str, log: float) -> Floats:
        """What the sum gains for each entry of the node's table, as a share of a number whose log is given."""
        family = (*self.net.graph.parents[node], node)
        sizes = self.net.sizes()
        ones = [Potential((v,), np.ones(sizes[v])) for v in family]
        work = Elimination([*self._factors(node), *ones], family)
        return np.asarray(work.result.table) * np.exp(work.log - log)


def _with_others(table: Floats, gain: Floats) -> Floats:
    """The gain of an entry when the others of its row give way in proportion."""
    rest = 1.0 - table
    size = table.shape[-1]
    weighed = (table * gain).sum(axis=-1, keepdims=True) - table * gain
    even = (gain.sum(axis=-1, keepdims=True) - gain) / max(size - 1, 1)  # a certain entry gives way to all alike
    others = np.where(rest > 1e-12, weighed / np.where(rest > 1e-12, rest, 1.0), even)
    return gain - others if size > 1 else np.zeros_like(gain)
