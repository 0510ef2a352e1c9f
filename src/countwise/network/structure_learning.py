"""How a network comes to its structure: given, searched, or searched in turn with EM over gaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from countwise.base.term import Term, blank_tallies, derive_checked
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions import Binned, Categorical, Gaussian, Poisson, default_for
from countwise.errors import OptionError, check_number, did_you_mean
from countwise.network.base import has_gaps, is_empty
from countwise.network.em import completed
from countwise.network.families import Dirichlet
from countwise.network.family_scores import MixedFamilies, allowed
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.network.persistence import Keeping
from countwise.network.search.dispatch import StructureSearch, arcs_of, given_graph
from countwise.network.search.trees import Constraints, FoundStructure
from countwise.tallies import fill_all

__all__ = ["Searching"]


class Searching(Keeping):
    """Networks that find their structure, or are given it."""

    def _prepare(self, schema: Schema, target: Nominal, table: Table) -> Net | None:
        """Choose the structure, and where numbers are cut; the network if EM has come to one on the way."""
        own = self._class_node(target)
        names = [*([own.name] if own is not None else []), *schema, *self._latent()]
        arcs = [*(arcs_of(self.structure) or []), *self._hand_arcs()]
        graph = given_graph(names, arcs)
        self.found_, self.cuts_ = None, {}
        self._laws = self._first_laws(graph, schema)
        self._cut(schema, target, table)
        self.graph_ = graph
        self._check_arcs(graph)
        if not isinstance(self.structure, str) or self.structure == "given":
            return None
        self.found_, net = self._search(schema, target, table, arcs)
        self.graph_ = self.found_.graph
        return net

    def _first_laws(self, graph: Graph, schema: Schema) -> dict[str, Any]:
        """The law of each column that is a number; those that names depend on are held by their ranges."""
        laws: dict[str, Any] = {}
        learned = isinstance(self.structure, str) and self.structure != "given"
        for a in schema.attributes:
            if isinstance(a, Nominal):
                continue
            law = self._law_named(a)
            if law is None or (not isinstance(self.distributions, Mapping) and not isinstance(a, Numeric)):
                law = default_for(a)
            if isinstance(law, Categorical):
                law = default_for(a)
            if learned and isinstance(a, Numeric) and self.criterion in ("bdeu", "k2"):
                law = law if isinstance(law, Binned) else self._cutting()
            # imagined rows for a whole table say nothing of words and counts: they have Laplace's
            plain = self.smoothing if not (self.smoothing == "bdeu" or isinstance(self.smoothing, Dirichlet)) else 1.0
            laws[a.name] = law.with_defaults(plain, "ignore")
        while True:  # a number that is cut may itself depend on a number
            cut = [
                parent
                for parent, child in graph.arcs
                if parent in laws and not isinstance(laws[parent], Binned) and not self._may(laws, parent, child)
            ]
            if not cut:
                return laws
            for name in cut:
                if isinstance(self.distributions, Mapping) and name in self.distributions:
                    child = next(c for p, c in graph.arcs if p == name and not self._may(laws, p, c))
                    raise OptionError(
                        f"{child!r} cannot depend on the number {name!r} by a {laws[name].kind} law.",
                        hint=f"distributions={{{name!r}: 'ranges'}} cuts it into ranges.",
                    )
                laws[name] = self._cutting()

    @staticmethod
    def _may(laws: Mapping[str, Any], parent: str, child: str) -> bool:
        kinds = {name: None if isinstance(law, Binned) else law for name, law in laws.items()}
        return allowed(kinds.get(parent), kinds.get(child))

    def _check_arcs(self, graph: Graph) -> None:
        for parent, child in graph.arcs:
            if not self._may(self._laws, parent, child):
                raise OptionError(f"{child!r} cannot depend on the number {parent!r}.")

    def _cut(self, schema: Schema, target: Nominal, table: Table) -> None:
        for name, law in self._laws.items():
            if isinstance(law, Binned):
                cuts = law.how.cut(law.blank(target, schema[name]).fill(table))
                self.cuts_[name] = tuple(cuts.edges.tolist())

    def _search(
        self, schema: Schema, target: Nominal, table: Table, arcs: Sequence[tuple[str, str]]
    ) -> tuple[FoundStructure, Net | None]:
        """The structure, from rows with or without gaps."""
        nodes = self._nodes(schema, target)
        free = [a for a in nodes.values() if isinstance(a, Nominal | Numeric) and not is_empty(a)]
        names = [a.name for a in free]
        self.graph_ = given_graph(list(nodes), arcs)
        parts = self._parts_over(schema, target)
        derived = derive_checked(table, parts)
        search = self._how(names, arcs)
        laws = {name: law for name, law in self._laws.items() if not isinstance(law, Binned)}
        gaps = has_gaps(derived, parts)

        def families(rows: Table) -> MixedFamilies:
            return MixedFamilies(free, rows, laws, self.criterion, float(self.ess), even=gaps)

        def find(rows: Table, start: Graph | None = None) -> tuple[MixedFamilies, FoundStructure]:
            scored = families(rows)
            return scored, self._with_others(search.find(scored, names, start=start), nodes)

        found, net = find(derived)[1], None
        if gaps and self.missing == "em":
            found, net = self._structural_em(schema, target, derived, found, names, find)
        self._check_kept(found.graph, names, arcs)
        return found, net

    def _check_kept(self, graph: Graph, names: Sequence[str], arcs: Sequence[tuple[str, str]]) -> None:
        """Trees and structures around a class are what they are: what they cannot keep is told, not dropped."""
        lost = sorted({*arcs, *self._pairs("required", names)} - set(graph.arcs))
        forbidden, tiers = set(self._pairs("forbidden", names)), self._tiers(names)
        odd = [
            (p, c) for p, c in graph.arcs if (p, c) in forbidden or (p in tiers and tiers[p] > tiers.get(c, tiers[p]))
        ]
        if lost or odd:
            arc, what = (lost[0], "leaves out a required") if lost else (odd[0], "has a forbidden")
            raise OptionError(
                f"structure={self.structure!r} {what} arc: {' → '.join(arc)}.",
                hint="'hill_climb', 'ordering', 'orders' and 'annealing' keep to what is required and forbidden.",
            )

    def _with_others(self, found: FoundStructure, nodes: Mapping[str, Attribute]) -> FoundStructure:
        """The structure with the nodes that no search can place, as they were given."""
        others = {name: self.graph_.parents[name] for name in nodes if name not in found.graph}
        parents = {name: found.graph.parents.get(name, others.get(name, ())) for name in nodes}
        return replace(found, graph=Graph(parents))

    def _how(self, names: Sequence[str], arcs: Sequence[tuple[str, str]]) -> StructureSearch:
        kinds = {name: None if isinstance(law, Binned) else law for name, law in self._laws.items()}
        odd = {(p, c) for p in names for c in names if p != c and not allowed(kinds.get(p), kinds.get(c))}
        required = {*arcs, *self._pairs("required", names)}
        odd |= {
            (p, c)
            for c, law in kinds.items()
            for p in names
            if law is not None and not isinstance(law, Gaussian | Poisson) and (p, c) not in required
        }
        clash = sorted(required & odd)
        if clash:
            raise OptionError(f"The arc {' → '.join(clash[0])} is required, but a name cannot depend on a number.")
        constraints = Constraints(
            frozenset(required),
            frozenset(odd | set(self._pairs("forbidden", names))),
            self._tiers(names),
            int(self.max_parents),
        )
        return StructureSearch(
            self.structure,
            constraints,
            self.order,
            self.root,
            self._search_target(),
            int(self.k),
            int(self.restarts),
            seed=0 if self.random_state is None else int(self.random_state),
            numbers=frozenset(name for name, law in kinds.items() if law is not None),
        )

    def _search_target(self) -> str | None:
        return getattr(self, "target", None)

    def _pairs(self, setting: str, names: Sequence[str]) -> list[tuple[str, str]]:
        given = getattr(self, setting)
        if isinstance(given, str):
            raise OptionError(
                f"{setting}={given!r} are no arcs.", hint="arcs are pairs (parent, child), or {child: [parents]}."
            )
        pairs = arcs_of(given) or []
        for name in {name for pair in pairs for name in pair}:
            if name not in names:
                raise OptionError(f"{setting} names {name!r}, which is no node.", hint=did_you_mean(name, names))
        return pairs

    def _tiers(self, names: Sequence[str]) -> dict[str, int]:
        """Tiers as they are given: a mapping of node to number, or lists of nodes, the earliest first."""
        if self.tiers is None:
            return {}
        tiers = self.tiers
        if isinstance(tiers, Iterable) and not isinstance(tiers, Mapping | str):
            tiers = {name: i for i, tier in enumerate(tiers) for name in ([tier] if isinstance(tier, str) else tier)}
        if not isinstance(tiers, Mapping):
            raise OptionError(f"tiers={tiers!r} are no tiers.", hint="give lists of nodes, the earliest first.")
        for name, tier in tiers.items():
            if name not in names:
                raise OptionError(f"tiers names {name!r}, which is no node.", hint=did_you_mean(name, names))
            check_number(f"the tier of {name!r}", tier, -math.inf, whole=True)
        return {str(name): int(tier) for name, tier in tiers.items()}

    def _carried(self, net: Net, parts: list[Term], target: Nominal, derived: Table) -> Net:
        """A network of another structure that keeps the laws of the families that are the same."""
        fresh = self._net_of(parts, fill_all(blank_tallies(parts, target), derived))
        same = [node for node in fresh.graph if fresh.graph.parents[node] == net.graph.parents.get(node)]
        return replace(
            fresh,
            tables={node: net.tables[node] if node in same else table for node, table in fresh.tables.items()},
            densities={node: net.densities[node] if node in same else law for node, law in fresh.densities.items()},
        )

    def _structural_em(
        self,
        schema: Schema,
        target: Nominal,
        derived: Table,
        found: FoundStructure,
        names: Sequence[str],
        find: Callable[..., tuple[MixedFamilies, FoundStructure]],
    ) -> tuple[FoundStructure, Net | None]:
        """Parameters by EM, structure from the rows as the network fills them, and again, as long as it helps."""
        seen: list[Graph] = []
        net: Net | None = None
        for _ in range(20):
            self.graph_ = found.graph
            seen.append(found.graph)
            parts = self._parts_over(schema, target)
            start = None if net is None else self._carried(net, parts, target, derived)
            net = self._net_of(parts, self._learned_by_em(parts, target, derived, start, rough=True).tallies)
            rows = completed(net, derived)
            families, after = find(rows, found.graph.within(names))
            now = float(sum(families.of(n, found.graph.parents[n]) for n in names))
            if after.score <= now + 1e-6 or after.graph in seen:
                return replace(found, score=now), net
            found = after
        return found, None
