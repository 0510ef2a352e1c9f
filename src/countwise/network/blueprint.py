"""The blueprint of a network: nodes, arcs, cut points and distributions, without parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.base.term import Term
from countwise.cuts import labels
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.columns import narrowest
from countwise.data.derived import AsGiven, InRanges, Latent
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import OptionError
from countwise.network.families import FamilyRule
from countwise.network.family_scores import may_depend
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.tallies import Counts

__all__ = ["Blueprint", "GivenTable", "has_missing", "is_empty"]

GivenTable = Callable[[str, Counts], Floats | None]  # the CPT of a node, unless it follows from the counts alone


@dataclass(frozen=True, eq=False)
class Blueprint:
    """The parts of a network that are fixed before counting."""

    graph: Graph
    cuts: Mapping[str, tuple[float, ...]]  # the cut points of discretized columns
    distributions: Mapping[str, Any]  # of the columns that are not nominal
    latent: Mapping[str, Nominal]  # nodes that are never observed
    smoothing: Any  # of the CPTs
    class_is_node: bool  # whether the target is a node

    @property
    def of_numbers(self) -> dict[str, Any]:
        """The distributions of the nodes that are not discretized."""
        return {name: rule for name, rule in self.distributions.items() if name not in self.cuts}

    def check_arcs(self, hint: str = "") -> None:
        """Raise an error if a node cannot depend on its numeric parent."""
        kept = self.of_numbers
        for parent, child in self.graph.arcs:
            if not may_depend(kept.get(parent), kept.get(child)):
                advice = hint and hint.format(parent=parent)
                raise OptionError(f"{child!r} cannot depend on the numeric node {parent!r}.", hint=advice)

    # -- counting ----------------------------------------------------------------------

    def nodes(self, schema: Schema, target: Nominal) -> dict[str, Attribute]:
        """Return every node as an attribute: the class if it is a node, the columns, the latent nodes."""
        found: dict[str, Attribute] = {target.name: target} if self.class_is_node else {}
        for a in schema.attributes:
            edges = self.cuts.get(a.name)
            if edges is None:
                found[a.name] = a
            else:
                names = self.distributions[a.name].how.labels or labels(np.array(edges))
                found[a.name] = Ordinal(a.name, names, grows=False)
        return {**found, **self.latent}

    def terms(self, schema: Schema, target: Nominal) -> list[Term]:
        """Return a term for each node; a class without parents has none, because its counts are always kept."""
        nodes = self.nodes(schema, target)
        own = target.name if self.class_is_node else None
        return [self._term(name, nodes) for name in nodes if name != own or self.graph.parents[name]]

    def _term(self, name: str, nodes: Mapping[str, Attribute]) -> Term:
        above = [nodes[p] for p in self.graph.parents[name]]
        nominal = tuple(a for a in above if isinstance(a, Nominal))
        numeric = tuple(a for a in above if isinstance(a, Numeric))
        of = nodes[name]
        rule = FamilyRule(
            nominal, numeric, None if isinstance(of, Nominal) else self.distributions[name], self.smoothing
        )
        if name in self.cuts:
            return Term(InRanges(of, (name,), partial(_codes_of_bins, self.cuts[name])), rule)
        return Term(Latent(of, ()) if name in self.latent else AsGiven(of), rule)

    # -- estimation from the counts ------------------------------------------------------

    def densities(
        self, terms: Sequence[Term], tallies: Mapping[str, Any], *, regularized: bool = False
    ) -> dict[str, Any]:
        """Estimate the density of every node for each combination of its parents; EM uses `regularized`."""
        rules = {term.key: term.distribution for term in terms}
        plain = FamilyRule((), (), None, self.smoothing)  # of a class without parents
        return {name: rules.get(name, plain).estimate(tallies[name], regularized=regularized) for name in self.graph}

    def net(self, densities: Mapping[str, Any], tallies: Mapping[str, Any], given: GivenTable) -> Net:
        """Return the network with its CPTs and densities; nodes without any value are excluded."""
        nominal = {name for name in self.graph if isinstance(tallies[name], Counts)}
        attributes = {name: tallies[name].axes[-1] if name in nominal else tallies[name].of for name in self.graph}
        some = [name for name in self.graph if not is_empty(attributes[name])]
        return Net(
            self.graph if len(some) == len(self.graph) else self.graph.within(some),
            {name: attributes[name] for name in some},
            {name: _table(tallies[name], densities[name], given) for name in some if name in nominal},
            {name: densities[name] for name in some if name not in nominal},
        )


def _codes_of_bins(edges: Sequence[float], column: NDArray[Any]) -> NDArray[Any]:
    """Return the bin of each number; missing numbers have a separate code."""
    codes = np.empty(len(column), dtype=narrowest(len(edges) + 3))
    _kernels.cut_codes(column, np.array(edges, dtype=np.float64), codes)
    return codes


def _table(tally: Counts, density: Any, given: GivenTable) -> Floats:
    """Return the CPT of a node."""
    found = given(tally.axes[-1].name, tally)
    if found is not None:
        return found
    shape = tally.table.shape
    if not tally.table.any() and not density.pseudo.any():
        return np.full(shape, 1.0 / max(shape[-1], 1))  # nothing was counted: uniform
    table: Floats = density.prob.reshape(shape)
    return table


def is_empty(a: Attribute) -> bool:
    """Return whether every value of a nominal node is missing; the node is then ignored."""
    return isinstance(a, Nominal) and not a.values


def has_missing(table: Table, terms: Sequence[Term]) -> bool:
    """Return whether EM is needed: a nominal node, or a Gaussian node with a numeric neighbor, has missing values."""
    linked = {n.name for term in terms for n in term.distribution.numbers}
    linked |= {term.key for term in terms if term.distribution.numbers}
    for term in terms:
        column = table[term.key]
        if isinstance(term.of, Nominal):
            if term.of.values and len(column) and int(column.max()) >= term.of.missing:
                return True
        elif term.key in linked and np.isnan(np.asarray(column, dtype=np.float64)).any():
            return True
    return False
