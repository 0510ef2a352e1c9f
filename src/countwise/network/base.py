"""What networks have in common, whether they tell a class or whatever is asked: nodes, laws, structure, gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.tally_model import TallyModel
from countwise.base.term import Term, blank_tallies, derive_checked
from countwise.cuts import labels
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.derived import AsGiven, InRanges, Latent
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions import (
    Binned,
    Categorical,
    distribution_from,
)
from countwise.errors import (
    OptionError,
    TableError,
    TooFewRows,
    check_number,
    check_settings,
    did_you_mean,
    listed,
    warn,
)
from countwise.network.em import Learned, em
from countwise.network.families import FamilyRule, table_smoothing
from countwise.network.family_scores import SCORES
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.network.search.dispatch import STRUCTURES, arcs_of
from countwise.network.search.trees import FoundStructure
from countwise.sources import EnginePart, Memory, in_one
from countwise.tallies import Counts, fill_all

__all__ = ["Networking", "has_gaps", "is_empty"]


class Networking(TallyModel):
    """A network over the columns of a table, and over nodes that no column shows."""

    structure: Any
    order: Any
    criterion: Any
    ess: Any
    max_parents: Any
    k: Any
    root: Any
    required: Any
    forbidden: Any
    tiers: Any
    smoothing: Any
    distributions: Any
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
    found_: FoundStructure | None
    em_: Learned | None
    _laws: dict[str, Any]

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

    def _hand_table(self, name: str) -> tuple[Floats, float | None] | None:
        """A table that was given by hand, and how many rows it is worth (None: it stands)."""
        return None

    # -- what the columns are ------------------------------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        self._check_settings()
        if isinstance(self.distributions, Mapping):
            for name in self.distributions:
                if name not in frame.columns:
                    raise OptionError(
                        f"distributions names {name!r}, which the table does not have.",
                        hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
                    )
        schema = Schema.kinds(frame, self.types, self.categorical_features)
        return Schema(self._implied(a) for a in schema.attributes)

    def _implied(self, a: Attribute) -> Attribute:
        """A law of names says that a column of numbers is one of names."""
        named = isinstance(self.distributions, Mapping) and a.name in self.distributions
        if named and isinstance(a, Numeric) and isinstance(self._law_named(a), Categorical):
            return Nominal(a.name)
        return a

    def _law_named(self, a: Attribute) -> Any:
        """The law that the user gave a column; None if none."""
        spec = self.distributions
        if isinstance(spec, Mapping):
            return distribution_from(spec[a.name]) if a.name in spec else None
        return None if spec is None else distribution_from(spec)

    def _check_settings(self) -> None:
        if isinstance(self.structure, str):
            check_settings(self, structure=STRUCTURES)
        else:
            arcs_of(self.structure)
        check_settings(self, criterion=SCORES, missing=("em", "available", "complete"))
        check_number("max_parents", self.max_parents, 0, whole=True)
        check_number("ess", self.ess, 0, above=True)
        check_number("k", self.k, 0, whole=True)
        check_number("restarts", self.restarts, 0, whole=True)
        check_number("max_iter", self.max_iter, 1, whole=True)
        check_number("tol", self.tol, 0, above=True)
        check_number("random_state", self.random_state, 0, none=True, whole=True)
        table_smoothing(self.smoothing, 1)
        self._cutting()

    def _cutting(self) -> Binned:
        """How numbers are cut that names depend on."""
        if isinstance(self.ranges, int) and not isinstance(self.ranges, bool):
            return Binned("equal_frequency", n_bins=self.ranges)
        rule = distribution_from(self.ranges)
        if not isinstance(rule, Binned):
            raise OptionError(f"ranges={self.ranges!r} is no rule for ranges.", hint="give how many, or a Ranges.")
        return rule

    # -- learning --------------------------------------------------------------------------

    def _needs_rows(self) -> bool:
        """Whether all rows must be seen at once."""
        return self.missing == "em" or (isinstance(self.structure, str) and self.structure != "given")

    def _open_parts(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Memory | EnginePart]:
        parts = super()._open_parts(X, y, sample_weight)
        return parts if hasattr(self, "tallies_") or not self._needs_rows() else in_one(parts)

    def _count_in(self, part: Memory | EnginePart) -> None:
        if isinstance(part, EnginePart):
            self._learn_relation(part)
        else:
            self._tally(part)

    def _learn_relation(self, part: EnginePart) -> None:
        raise NotImplementedError

    def _tally(self, rows: Memory) -> None:
        first, start = not hasattr(self, "tallies_"), None
        schema = self._infer_schema(rows.frame) if first else self.schema_
        frame = schema.coded(rows.frame if first else schema.match(rows.frame))
        schema = schema.learn(frame)
        target = self._first_target(rows.name) if first else self._same_kind_of_target(rows.known)
        target = target.learn(rows.target)
        table = replace(rows, frame=frame).table(schema, target)
        if first:
            table = self._complete_rows(table, schema) if self.missing == "complete" else table
            start = self._prepare(schema, target, table)
        elif self.missing == "complete":
            table = self._complete_rows(table, schema)
        parts = self._parts_over(schema, target)
        derived = derive_checked(table, parts)
        if first:
            vars(self).update(self._names(rows.frame))
            self._label_type, self._known_target = rows.label_type, rows.known
            self.schema_, self.target_ = schema, target
            self.n_rows_, self.n_left_out_ = 0, 0
            self.tallies_ = self._first_tallies(parts, target, derived, start)
        else:
            self._refuse_gaps(derived, parts)
            self._join(schema, target, fill_all(blank_tallies(parts, target), derived))
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

    def _refuse_gaps(self, derived: Table, parts: Sequence[Term]) -> None:
        """EM must see all rows at once; more rows can only be added if they lack nothing."""
        if self.missing == "em" and has_gaps(derived, parts):
            raise TableError(
                "Rows with missing cells cannot be added to a network that fills gaps by EM.",
                hint="fit on all rows at once, or missing='available'.",
            )

    def _prepare(self, schema: Schema, target: Nominal, table: Table) -> Net | None:
        """Choose the structure, the law of each number, and where numbers are cut; the network if it is at hand."""
        raise NotImplementedError

    def _first_laws(self, graph: Graph, schema: Schema) -> dict[str, Any]:
        """The law of each column that is a number."""
        raise NotImplementedError

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

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        return self._parts_over(schema, self.target_)

    def _parts_over(self, schema: Schema, target: Nominal) -> list[Term]:
        nodes = self._nodes(schema, target)
        own = self._class_node(target)
        return [
            self._part(name, nodes) for name in nodes if own is None or name != own.name or self.graph_.parents[name]
        ]

    def _part(self, name: str, nodes: Mapping[str, Attribute]) -> Term:
        above = [nodes[p] for p in self.graph_.parents[name]]
        names = tuple(a for a in above if isinstance(a, Nominal))
        numbers = tuple(a for a in above if isinstance(a, Numeric))
        cut = self.cuts_.get(name)
        law = None if isinstance(nodes[name], Nominal) else self._laws[name]
        rule = FamilyRule(names, numbers, law, self.smoothing, cut)
        if cut is not None:
            return Term(InRanges(nodes[name], (name,), rule.codes), rule)
        return Term(Latent(nodes[name], ()) if name in self._latent() else AsGiven(nodes[name]), rule)

    def _first_tallies(self, parts: list[Term], target: Nominal, derived: Table, start: Net | None) -> dict[str, Any]:
        self.em_ = None
        if self.missing == "em" and has_gaps(derived, parts):
            self.em_ = self._learned_by_em(parts, target, derived, start)
            return self.em_.tallies
        return fill_all(blank_tallies(parts, target), derived)

    def _learned_by_em(
        self,
        parts: list[Term],
        target: Nominal,
        derived: Table,
        start: Net | None = None,
        *,
        rough: bool = False,
    ) -> Learned:
        """Expected counts by EM; rough ones, for a structure that may not last."""
        tallies = fill_all(blank_tallies(parts, target), derived)
        rest = {name: tally for name, tally in tallies.items() if name not in self.graph_}

        def estimate(found: Mapping[str, Any]) -> Net:
            return self._net_of(parts, found)

        nodes = {name: tally for name, tally in tallies.items() if name in self.graph_}
        if start is None and self._latent():
            start = self._started(estimate(nodes))
        steps, tol = int(self.max_iter), float(self.tol)
        if rough:
            steps, tol = min(steps, 25), max(tol, 1e-4)
        learned = em(estimate, nodes, derived, start=start, max_iter=steps, tol=tol, quiet=rough)
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

    def _net_of(self, parts: Sequence[Term], tallies: Mapping[str, Any]) -> Net:
        """The network that tallies give, steady from step to step of EM."""
        return self._net_from(self._densities_of(parts, tallies, steady=True), tallies)

    def _densities_of(
        self, parts: Sequence[Term], tallies: Mapping[str, Any], *, steady: bool = False
    ) -> dict[str, Any]:
        """The law of every node."""
        rules = {part.key: part.distribution for part in parts}
        plain = FamilyRule((), (), None, self.smoothing)  # of a class that depends on nothing
        return {name: rules.get(name, plain).estimate(tallies[name], steady=steady) for name in self.graph_}

    def _net_from(self, densities: Mapping[str, Any], tallies: Mapping[str, Any]) -> Net:
        named = {name for name in self.graph_ if isinstance(tallies[name], Counts)}
        attributes = {name: tallies[name].axes[-1] if name in named else tallies[name].of for name in self.graph_}
        some = [name for name in self.graph_ if not is_empty(attributes[name])]
        return Net(
            self.graph_ if len(some) == len(self.graph_) else self.graph_.within(some),
            {name: attributes[name] for name in some},
            {name: self._table_of(name, tallies[name], densities[name]) for name in some if name in named},
            {name: densities[name] for name in some if name not in named},
        )

    def _table_of(self, name: str, tally: Counts, density: Any) -> Floats:
        shape = tally.table.shape
        hand = self._hand_table(name)
        if hand is None:
            prob: Floats = density.prob.reshape(shape)
            if not tally.table.any() and not density.pseudo.any():
                return np.full(shape, 1.0 / max(shape[-1], 1))  # nothing was counted: every value alike
            return prob
        table, rows = hand
        if rows is None:
            return table
        counts = tally.table + rows / max(int(np.prod(shape[:-1])), 1) * table
        totals = counts.sum(axis=-1, keepdims=True)
        return np.where(totals > 0, counts / np.maximum(totals, 1e-300), table)

    def _estimate(self) -> None:
        for a in self.schema_.attributes:
            if is_empty(a) and (self.graph_.parents[a.name] or self.graph_.children(a.name)):
                raise TooFewRows(f"{a.name!r} has nothing but missing cells: no arc can lead to it or from it.")
        self.terms_ = self._parts_over(self.schema_, self.target_)
        self.densities_ = self._densities_of(self.terms_, self.tallies_)
        self.net_ = self._net_from(self.densities_, self.tallies_)
        self._release()

    @property
    def n_iter_(self) -> int:
        """How many steps EM took; 1 where there was nothing to fill."""
        return 1 if self.em_ is None else len(self.em_.log_likelihoods)


def is_empty(a: Attribute) -> bool:
    """Whether nothing but missing cells was met of a node: it then has no say."""
    return isinstance(a, Nominal) and not a.values


def has_gaps(table: Table, parts: Sequence[Term]) -> bool:
    """Whether a cell that EM would fill is missing: of a name, or of a number that numbers depend on."""
    linked = {n.name for part in parts for n in part.distribution.numbers}
    linked |= {part.key for part in parts if part.distribution.numbers}
    for part in parts:
        column = table[part.key]
        if isinstance(part.of, Nominal):
            if part.of.values and len(column) and int(column.max()) >= part.of.missing:
                return True
        elif part.key in linked and np.isnan(np.asarray(column, dtype=np.float64)).any():
            return True
    return False
