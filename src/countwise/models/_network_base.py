"""What networks have in common, whether they tell a class or whatever is asked: nodes, laws, structure, gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.conditionals import Categorical, Gaussian, Poisson, Ranges, conditional_from, default_for
from countwise.cuts import labels
from countwise.errors import OptionError, TableError, check_number, check_settings, did_you_mean, listed, warn
from countwise.frames import Frame
from countwise.learning import Tallying, blanks
from countwise.network.choosing import STRUCTURES, Search, arcs_of, given_graph
from countwise.network.completing import completed
from countwise.network.em import Learned, em
from countwise.network.families import FamilyRule, FamilyTally, table_smoothing
from countwise.network.graph import Graph
from countwise.network.mixed import MixedFamilies, allowed
from countwise.network.net import Net
from countwise.network.scores import SCORES
from countwise.network.structure import Constraints, Found
from countwise.parts import Part, checked
from countwise.schema import Schema
from countwise.sources import Memory, open_whole
from countwise.table import Table
from countwise.tallies import Counts, fill_all, tally_from

__all__ = ["Networking"]


class Networking(Tallying):
    """A network over the columns of a table, and over nodes that no column shows."""

    structure: Any
    order: Any
    score: Any
    ess: Any
    max_parents: Any
    k: Any
    root: Any
    required: Any
    forbidden: Any
    tiers: Any
    smoothing: Any
    conditionals: Any
    ranges: Any
    types: Any
    categorical_features: Any
    missing: Any
    restarts: Any
    max_iter: Any
    tol: Any
    random_state: Any

    graph_: Graph
    net_: Net
    cuts_: dict[str, tuple[float, ...]]
    found_: Found | None
    em_: Learned | None

    # -- to be written by each model ---------------------------------------------------

    def _class_node(self, target: Nominal) -> Nominal | None:
        """The class, if it is a node."""
        raise NotImplementedError

    def _latent(self) -> dict[str, Nominal]:
        """Nodes that no column shows."""
        return {}

    def _hand_arcs(self) -> list[tuple[str, str]]:
        """Arcs that were drawn by hand."""
        return []

    def _hand_table(self, name: str) -> tuple[NDArray[np.float64], float | None] | None:
        """A table that was given by hand, and how many rows it is worth (None: it stands)."""
        return None

    # -- what the columns are ------------------------------------------------------------

    def _kinds(self, frame: Frame) -> Schema:
        self._check_settings()
        if isinstance(self.conditionals, Mapping):
            for name in self.conditionals:
                if name not in frame.columns:
                    raise OptionError(
                        f"conditionals names {name!r}, which the table does not have.",
                        hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
                    )
        schema = Schema.kinds(frame, self.types, self.categorical_features)
        return Schema(self._implied(a) for a in schema.attributes)

    def _implied(self, a: Attribute) -> Attribute:
        """A law of names says that a column of numbers is one of names."""
        named = isinstance(self.conditionals, Mapping) and a.name in self.conditionals
        if named and isinstance(a, Numeric) and isinstance(self._law_named(a), Categorical):
            return Nominal(a.name)
        return a

    def _law_named(self, a: Attribute) -> Any:
        """The law that the user gave a column; None if none."""
        spec = self.conditionals
        if isinstance(spec, Mapping):
            return conditional_from(spec[a.name]) if a.name in spec else None
        return None if spec is None else conditional_from(spec)

    def _check_settings(self) -> None:
        if isinstance(self.structure, str):
            check_settings(self, structure=STRUCTURES)
        else:
            arcs_of(self.structure)
        check_settings(self, score=SCORES, missing=("em", "available", "complete"))
        check_number("max_parents", self.max_parents, 0, whole=True)
        check_number("ess", self.ess, 0, above=True)
        check_number("k", self.k, 0, whole=True)
        check_number("restarts", self.restarts, 0, whole=True)
        check_number("max_iter", self.max_iter, 1, whole=True)
        check_number("tol", self.tol, 0, above=True)
        table_smoothing(self.smoothing, 1)
        self._cutting()

    def _cutting(self) -> Ranges:
        """How numbers are cut that names depend on."""
        if isinstance(self.ranges, int) and not isinstance(self.ranges, bool):
            return Ranges("equal_frequency", n_bins=self.ranges)
        rule = conditional_from(self.ranges)
        if not isinstance(rule, Ranges):
            raise OptionError(f"ranges={self.ranges!r} is no rule for ranges.", hint="give how many, or a Ranges.")
        return rule

    # -- learning --------------------------------------------------------------------------

    def _needs_rows(self) -> bool:
        """Whether all rows must be seen at once."""
        return self.missing == "em" or (isinstance(self.structure, str) and self.structure != "given")

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, patient: bool = False) -> Self:
        if hasattr(self, "tallies_") or not self._needs_rows():
            return super()._learn(X, y, sample_weight, patient=patient)
        rows = open_whole(self._let_in(X), y, sample_weight, needs_target=self._needs_target())
        self._learn_piece(rows)
        self.n_left_out_ += rows.left_out
        self._note_left_out(rows.left_out, rows.frame.n_rows + rows.left_out, rows.name)
        self._note_identifiers()
        self._settle_or_wait(patient=patient)
        return self

    def _tally(self, rows: Memory) -> None:
        first = not hasattr(self, "tallies_")
        schema = self._kinds(rows.frame) if first else self.schema_
        frame = schema.coded(rows.frame if first else schema.match(rows.frame))
        schema = schema.learn(frame)
        target = self._learn_target(rows, first)
        table = replace(rows, frame=frame).table(schema, target)
        if first:
            table = self._complete_rows(table, schema) if self.missing == "complete" else table
            self._prepare(schema, target, table)
        elif self.missing == "complete":
            table = self._complete_rows(table, schema)
        parts = self._parts_over(schema, target)
        derived = checked(table, parts)
        if first:
            vars(self).update(self._names(rows.frame))
            self.schema_, self.target_ = schema, target
            self.n_rows_, self.n_left_out_ = 0, 0
            self.tallies_ = self._first_tallies(parts, target, derived)
        else:
            self._refuse_gaps(derived, parts)
            self._join(schema, target, fill_all(blanks(parts, target), derived))
        self.n_rows_ += table.n_rows

    def _complete_rows(self, table: Table, schema: Schema) -> Table:
        """The rows without a missing cell."""
        there = np.ones(table.n_rows, dtype=bool)
        for a in schema.attributes:
            column = table[a.name]
            if isinstance(a, Nominal):
                there &= column < a.missing
            elif isinstance(a, Numeric):
                there &= ~np.isnan(np.asarray(column, dtype=np.float64))
        if there.all():
            return table
        gone = int((~there).sum())
        if not there.any():
            raise TableError("Every row has a missing cell.", hint="missing='em' or 'available'.")
        warn(f"{gone} of {table.n_rows} rows were left out: they have a missing cell. Hint: missing='em' uses them.")
        return table.take(there)

    def _refuse_gaps(self, derived: Table, parts: Sequence[Part]) -> None:
        """EM must see all rows at once; more rows can only be added if they lack nothing."""
        if self.missing == "em" and _has_gaps(derived, parts):
            raise TableError(
                "Rows with missing cells cannot be added to a network that fills gaps by EM.",
                hint="fit on all rows at once, or missing='available'.",
            )

    def _prepare(self, schema: Schema, target: Nominal, table: Table) -> None:
        """Choose the structure, and where numbers are cut."""
        own = self._class_node(target)
        names = [*([own.name] if own is not None else []), *schema, *self._latent()]
        arcs = [*(arcs_of(self.structure) or []), *self._hand_arcs()]
        graph = given_graph(names, arcs)
        self.found_, self.cuts_ = None, {}
        self._laws = self._first_laws(graph, schema)
        self._cut(schema, target, table)
        self.graph_ = graph
        self._check_arcs(graph)
        if isinstance(self.structure, str) and self.structure != "given":
            self.found_ = self._search(schema, target, table, arcs)
            self.graph_ = self.found_.graph

    def _first_laws(self, graph: Graph, schema: Schema) -> dict[str, Any]:
        """The law of each column that is a number; those that names depend on are held by their ranges."""
        laws: dict[str, Any] = {}
        learned = isinstance(self.structure, str) and self.structure != "given"
        for a in schema.attributes:
            if isinstance(a, Nominal):
                continue
            law = self._law_named(a)
            if law is None or (not isinstance(self.conditionals, Mapping) and not isinstance(a, Numeric)):
                law = default_for(a)
            if isinstance(law, Categorical):
                law = default_for(a)
            if learned and isinstance(a, Numeric) and self.score in ("bdeu", "k2"):
                law = law if isinstance(law, Ranges) else self._cutting()
            laws[a.name] = law
        while True:  # a number that is cut may itself depend on a number
            cut = [
                parent
                for parent, child in graph.arcs
                if parent in laws and not isinstance(laws[parent], Ranges) and not self._may(laws, parent, child)
            ]
            if not cut:
                return laws
            for name in cut:
                if isinstance(self.conditionals, Mapping) and name in self.conditionals:
                    child = next(c for p, c in graph.arcs if p == name and not self._may(laws, p, c))
                    raise OptionError(
                        f"{child!r} cannot depend on the number {name!r} by a {laws[name].law} law.",
                        hint=f"conditionals={{{name!r}: 'ranges'}} cuts it into ranges.",
                    )
                laws[name] = self._cutting()

    @staticmethod
    def _may(laws: Mapping[str, Any], parent: str, child: str) -> bool:
        kinds = {name: None if isinstance(law, Ranges) else law for name, law in laws.items()}
        return allowed(kinds.get(parent), kinds.get(child))

    def _check_arcs(self, graph: Graph) -> None:
        for parent, child in graph.arcs:
            if not self._may(self._laws, parent, child):
                raise OptionError(f"{child!r} cannot depend on the number {parent!r}.")

    def _cut(self, schema: Schema, target: Nominal, table: Table) -> None:
        for name, law in self._laws.items():
            if isinstance(law, Ranges):
                cuts = law.how.cut(law.blank(target, schema[name]).fill(table))
                self.cuts_[name] = tuple(cuts.edges.tolist())

    def _search(self, schema: Schema, target: Nominal, table: Table, arcs: Sequence[tuple[str, str]]) -> Found:
        """The structure, from rows with or without gaps."""
        nodes = self._nodes(schema, target)
        free = [a for a in nodes.values() if isinstance(a, Nominal | Numeric)]
        names = [a.name for a in free]
        self.graph_ = given_graph(list(nodes), arcs)
        parts = self._parts_over(schema, target)
        derived = checked(table, parts)
        search = self._how(names, arcs)
        laws = {name: law for name, law in self._laws.items() if not isinstance(law, Ranges)}
        gaps = _has_gaps(derived, parts)

        def families(rows: Table) -> MixedFamilies:
            return MixedFamilies(free, rows, laws, self.score, float(self.ess), even=gaps)

        found = search.find(families(derived), names)
        found = self._with_others(found, nodes)
        if gaps and self.missing == "em":
            found = self._structural_em(schema, target, derived, search, names, nodes, families, found)
        return found

    def _with_others(self, found: Found, nodes: Mapping[str, Attribute]) -> Found:
        """The structure with the nodes that no search can place, as they were given."""
        others = {name: self.graph_.parents[name] for name in nodes if name not in found.graph}
        parents = {name: found.graph.parents.get(name, others.get(name, ())) for name in nodes}
        return replace(found, graph=Graph(parents))

    def _how(self, names: Sequence[str], arcs: Sequence[tuple[str, str]]) -> Search:
        kinds = {name: None if isinstance(law, Ranges) else law for name, law in self._laws.items()}
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
        return Search(
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
        pairs = arcs_of(getattr(self, setting)) or []
        for name in {name for pair in pairs for name in pair}:
            if name not in names:
                raise OptionError(f"{setting} names {name!r}, which is no node.", hint=did_you_mean(name, names))
        return pairs

    def _tiers(self, names: Sequence[str]) -> dict[str, int]:
        """Tiers as they are given: a mapping of node to number, or lists of nodes, the earliest first."""
        if self.tiers is None:
            return {}
        tiers = self.tiers
        if not isinstance(tiers, Mapping):
            tiers = {name: i for i, tier in enumerate(tiers) for name in ([tier] if isinstance(tier, str) else tier)}
        for name in tiers:
            if name not in names:
                raise OptionError(f"tiers names {name!r}, which is no node.", hint=did_you_mean(name, names))
        return {str(name): int(tier) for name, tier in tiers.items()}

    def _structural_em(
        self,
        schema: Schema,
        target: Nominal,
        derived: Table,
        search: Search,
        names: Sequence[str],
        nodes: Mapping[str, Attribute],
        families: Any,
        found: Found,
    ) -> Found:
        """Parameters by EM, structure from the rows as the network fills them, and again, as long as it helps."""
        seen: list[Graph] = []
        best = found
        for _ in range(20):
            self.graph_ = found.graph
            seen.append(found.graph)
            parts = self._parts_over(schema, target)
            learned = self._learned_by_em(parts, target, derived)
            rows = completed(self._net_of(parts, learned.tallies), derived)
            filled = families(rows)
            now = float(sum(filled.of(n, found.graph.parents[n]) for n in names))
            after = self._with_others(search.find(filled, names, start=found.graph.within(names)), nodes)
            best = replace(found, score=now)
            if after.score <= now + 1e-6 or after.graph in seen:
                break
            found = best = after
        return best

    # -- counting ---------------------------------------------------------------------------

    def _nodes(self, schema: Schema, target: Nominal) -> dict[str, Attribute]:
        """Every node as the network sees it."""
        nodes: dict[str, Attribute] = {}
        own = self._class_node(target)
        if own is not None:
            nodes[own.name] = own
        for a in schema.attributes:
            cut = a.name in self.cuts_
            nodes[a.name] = Ordinal(a.name, labels(np.array(self.cuts_[a.name])), grows=False) if cut else a
        return {**nodes, **self._latent()}

    def _parts(self, schema: Schema, target: str) -> list[Part]:
        return self._parts_over(schema, self.target_)

    def _parts_over(self, schema: Schema, target: Nominal) -> list[Part]:
        nodes = self._nodes(schema, target)
        own = self._class_node(target)
        return [
            self._part(name, nodes)
            for name in nodes
            if own is None or name != own.name or self.graph_.parents[name]
        ]

    def _part(self, name: str, nodes: Mapping[str, Attribute]) -> Part:
        above = [nodes[p] for p in self.graph_.parents[name]]
        names = tuple(a for a in above if isinstance(a, Nominal))
        numbers = tuple(a for a in above if isinstance(a, Numeric))
        cut = self.cuts_.get(name)
        law = None if isinstance(nodes[name], Nominal) else self._laws[name]
        rule = FamilyRule(names, numbers, law, self.smoothing, cut)
        how = "ranges" if cut is not None else "latent" if name in self._latent() else "same"
        return Part(nodes[name], rule, () if how == "latent" else (name,), how)

    def _first_tallies(self, parts: list[Part], target: Nominal, derived: Table) -> dict[str, Any]:
        self.em_ = None
        if self.missing == "em" and _has_gaps(derived, parts):
            self.em_ = self._learned_by_em(parts, target, derived)
            return self.em_.tallies
        return fill_all(blanks(parts, target), derived)

    def _learned_by_em(self, parts: list[Part], target: Nominal, derived: Table) -> Learned:
        tallies = fill_all(blanks(parts, target), derived)
        rest = {name: tally for name, tally in tallies.items() if name not in self.graph_}

        def settle(found: Mapping[str, Any]) -> Net:
            return self._net_of(parts, found)

        nodes = {name: tally for name, tally in tallies.items() if name in self.graph_}
        start = self._started(settle(nodes)) if self._latent() else None
        learned = em(settle, nodes, derived, start=start, max_iter=int(self.max_iter), tol=float(self.tol))
        return replace(learned, tallies={**rest, **learned.tallies})

    def _started(self, net: Net) -> Net:
        """Tables of latent nodes and their children by chance: alike, they would stay alike."""
        rng = np.random.default_rng(self.random_state)
        tables = dict(net.tables)
        for name in self._latent():
            for node in (name, *self.graph_.children(name)):
                if node in tables and self._hand_table(node) is None:
                    noise = rng.dirichlet(np.full(tables[node].shape[-1], 5.0), size=tables[node].shape[:-1])
                    tables[node] = 0.5 * tables[node] + 0.5 * noise
        return replace(net, tables=tables)

    # -- what follows -------------------------------------------------------------------------

    def _net_of(self, parts: Sequence[Part], tallies: Mapping[str, Any]) -> Net:
        """The network that tallies give."""
        attributes: dict[str, Attribute] = {}
        tables: dict[str, NDArray[np.float64]] = {}
        densities: dict[str, Any] = {}
        by_key = {part.key: part for part in parts}
        for name in self.graph_:
            part = by_key.get(name)
            tally = tallies[name]
            rule = part.rule if part is not None else FamilyRule((), (), None, self._class_smoothing())
            density = rule.settle(tally)
            if rule.law is not None:
                densities[name] = density
                attributes[name] = part.of if part is not None else tally.of
            else:
                attributes[name] = tally.axes[-1]
                tables[name] = self._table_of(name, tally, density)
        return Net(self.graph_, attributes, tables, densities)

    def _class_smoothing(self) -> Any:
        return self.smoothing

    def _table_of(self, name: str, tally: Counts, density: Any) -> NDArray[np.float64]:
        shape = tally.table.shape
        hand = self._hand_table(name)
        if hand is None:
            prob: NDArray[np.float64] = density.prob.reshape(shape)
            if not tally.table.any() and not density.pseudo.any():
                return np.full(shape, 1.0 / max(shape[-1], 1))  # nothing was counted: every value alike
            return prob
        table, rows = hand
        if rows is None:
            return table
        counts = tally.table + rows / max(int(np.prod(shape[:-1])), 1) * table
        totals = counts.sum(axis=-1, keepdims=True)
        return np.where(totals > 0, counts / np.maximum(totals, 1e-300), table)

    def _settle(self) -> None:
        self.parts_ = self._parts_over(self.schema_, self.target_)
        self.net_ = self._net_of(self.parts_, self.tallies_)
        self._release()

    # -- merging, taking back, the model file ------------------------------------------------------

    def __add__(self, other: object) -> Self:
        if type(other) is type(self):
            for model in (self, other):
                model._check_fitted(answers=False)
                if model.em_ is not None:
                    raise TableError(
                        "Networks whose gaps were filled by EM cannot be merged: EM must see all rows.",
                        hint="missing='available' counts what is there.",
                    )
            if self.graph_ != other.graph_ or self.cuts_ != other.cuts_:
                raise TableError(
                    "The networks differ in structure, or in the ranges of their numbers.",
                    hint="give both the structure of one: structure=other.graph_.",
                )
        return super().__add__(other)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        for name in ("graph_", "cuts_", "found_", "em_", "_laws"):
            setattr(self, name, getattr(other, name))

    def _take_back(self, rows: Memory) -> None:
        if self.em_ is not None:
            raise TableError(
                "Rows cannot be taken back from what EM has filled.", hint="fit again, or missing='available'."
            )
        super()._take_back(rows)

    def _state(self) -> dict[str, Any]:
        found = self.found_
        return {
            **super()._state(),
            "parents": {name: list(above) for name, above in self.graph_.parents.items()},
            "cuts": {name: list(edges) for name, edges in self.cuts_.items()},
            "score": None if found is None else found.score,
            "tried": [] if found is None else [[p, c, g, bool(t)] for p, c, g, t in found.tried],
            "em": None if self.em_ is None else [self.em_.log_likelihoods, self.em_.moved],
        }

    def _revive(self, state: Mapping[str, Any]) -> None:
        self._known_target = bool(state.get("known", True))
        if state.get("library") in ("pandas", "polars", "pyarrow", "mapping"):
            self._library = state["library"]
        self.graph_ = Graph({str(n): tuple(map(str, above)) for n, above in state["parents"].items()})
        self.cuts_ = {str(n): tuple(map(float, edges)) for n, edges in state["cuts"].items()}
        self._laws = self._first_laws(self.graph_, self.schema_)
        for name in self.cuts_:
            self._laws[name] = self._cutting()
        tried = [(str(p), str(c), float(g), bool(t)) for p, c, g, t in state["tried"]]
        score = state["score"]
        self.found_ = None if score is None else Found(self.graph_, float(score), tried)
        self._revive_tallies(state["tallies"])
        self.em_ = None
        if state["em"] is not None:
            self.em_ = Learned(self.tallies_, [float(v) for v in state["em"][0]], float(state["em"][1]))
        self._settle()

    def _revive_tallies(self, data: Mapping[str, Any]) -> None:
        parts = self._parts_over(self.schema_, self.target_)
        attributes: dict[str, Any] = {self.target_.name: self.target_, **{p.key: p.of for p in parts}}
        fresh = blanks(parts, self.target_)
        self.tallies_ = {
            name: blank.read(data[name]) if isinstance(blank, FamilyTally) else tally_from(data[name], attributes)
            for name, blank in fresh.items()
        }


def _has_gaps(table: Table, parts: Sequence[Part]) -> bool:
    """Whether a cell that EM would fill is missing: of a name, or of a number that numbers depend on."""
    linked = {n.name for part in parts for n in part.rule.numbers}
    linked |= {part.key for part in parts if part.rule.numbers}
    for part in parts:
        column = table[part.key]
        if isinstance(part.of, Nominal):
            if len(column) and int(column.max()) >= part.of.missing:
                return True
        elif part.key in linked and np.isnan(np.asarray(column, dtype=np.float64)).any():
            return True
    return False
