"""Structure learning: a given structure, a search, or structural EM with missing values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise.base.term import derive_checked
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.columns import missing_cells
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions import Binned, default_for, distribution_from
from countwise.errors import OptionError, check_number, check_settings, did_you_mean, listed, warn
from countwise.network.blueprint import Blueprint, has_missing, is_empty
from countwise.network.em import ParameterLearner, completed
from countwise.network.engine import EngineRows
from countwise.network.families import Dirichlet, table_smoothing
from countwise.network.family_scores import SCORES, Families, may_depend
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.network.search.constraints import Constraints, FoundStructure
from countwise.network.search.dispatch import (
    AROUND_CLASS,
    BY_INFORMATION,
    STRUCTURES,
    StructureSearch,
    arcs_of,
    given_graph,
)
from countwise.sources import Memory

__all__ = [
    "TEST",
    "LearnedStructure",
    "MemoryRows",
    "StructureLearner",
    "TrainingRows",
    "binning_rule",
    "check_network",
    "choose_distributions",
    "column_types",
    "complete_rows",
    "is_searched",
    "score_of",
]

TEST = "chi_square"  # the criterion that is a test, not a score


# -- parameters ------------------------------------------------------------------------


def is_searched(settings: Any) -> bool:
    """Return whether the structure is learned rather than given."""
    return isinstance(settings.structure, str) and settings.structure != "given"


def score_of(settings: Any) -> str:
    """Return the score of a structure; BIC if a test chooses the arcs."""
    return "bic" if settings.criterion in (None, TEST) else str(settings.criterion)


def check_network(settings: Any) -> None:
    """Raise an error for invalid parameters, or for parameters that contradict each other."""
    _check_structure(settings)
    check_settings(settings, missing=("em", "available", "complete"))
    for name, least in (("max_parents", 0), ("max_dependence", 0), ("restarts", 0), ("max_iter", 1)):
        check_number(name, getattr(settings, name), least, whole=True)
    check_number("alpha", settings.alpha, 0, most=1)
    for name in ("equivalent_sample_size", "tol"):
        check_number(name, getattr(settings, name), 0, above=True)
    check_number("random_state", settings.random_state, 0, none=True, whole=True)
    table_smoothing(settings.smoothing, 1)
    binning_rule(settings)


def _check_structure(settings: Any) -> None:
    if isinstance(settings.structure, str):
        check_settings(settings, structure=STRUCTURES)
        if settings.structure == "backward_ordering":  # the only search that can test
            check_settings(settings, criterion=(None, *SCORES, TEST))
            return
    else:
        arcs_of(settings.structure)
    if settings.criterion is None:
        return
    check_settings(settings, criterion=SCORES)
    if isinstance(settings.structure, str) and settings.structure in BY_INFORMATION:
        why = "its arcs are fixed" if settings.structure == "naive" else "its arcs maximize mutual information"
        raise OptionError(
            f"criterion={settings.criterion!r} cannot be used with structure={settings.structure!r}: {why}.",
            hint=f"use criterion=None, or use structure='hill_climb' to maximize {settings.criterion!r}.",
        )


def named_distribution(settings: Any, a: Attribute) -> Any:
    """Return the distribution that the user gave for a column; None if there is none."""
    spec = settings.distributions
    if isinstance(spec, Mapping):
        return distribution_from(spec[a.name]) if a.name in spec else None
    return None if spec is None else distribution_from(spec)


def column_types(settings: Any, frame: Frame) -> Schema:
    """Return the column types; a numeric column with a distribution for nominal values becomes nominal."""
    named = settings.distributions if isinstance(settings.distributions, Mapping) else {}
    for name in named:
        if name not in frame.columns:
            raise OptionError(
                f"distributions refers to column {name!r}, but the table has no such column.",
                hint=did_you_mean(name, frame.columns) or f"use one of {listed(frame.columns)}.",
            )
    return Schema(
        named_distribution(settings, a).implied_attribute(a, named=True)
        if a.name in named and isinstance(a, Numeric)
        else a
        for a in Schema.kinds(frame, settings.types, settings.categorical_features).attributes
    )


def binning_rule(settings: Any) -> Binned:
    """Return the rule that discretizes numeric parents of nominal nodes."""
    if isinstance(settings.ranges, int) and not isinstance(settings.ranges, bool):
        return Binned("equal_frequency", n_bins=settings.ranges)
    rule = distribution_from(settings.ranges)
    if not rule.binned:
        raise OptionError(
            f"ranges={settings.ranges!r} is not a discretization rule.", hint="use a number of bins, or a Binned."
        )
    return rule


def choose_distributions(settings: Any, graph: Graph, schema: Schema) -> dict[str, Any]:
    """Return the distribution of each column that is not nominal; parents of nominal nodes are binned."""
    named = settings.distributions if isinstance(settings.distributions, Mapping) else {}
    by_counts = is_searched(settings) and settings.criterion in ("bdeu", "k2")  # these scores need nominal columns
    # a prior with a total weight for a CPT does not apply to text and count columns: they use Laplace smoothing
    smoothing = (
        1.0 if settings.smoothing == "bdeu" or isinstance(settings.smoothing, Dirichlet) else settings.smoothing
    )
    found: dict[str, Any] = {}
    for a in schema.attributes:
        if isinstance(a, Nominal):
            continue
        rule = named_distribution(settings, a)
        of_nominal = rule is not None and rule.suits(Nominal(a.name)) and not rule.suits(a)
        if rule is None or of_nominal or not (named or isinstance(a, Numeric)):
            rule = default_for(a)
        if by_counts and isinstance(a, Numeric) and not rule.binned:
            rule = binning_rule(settings)
        found[a.name] = rule.with_defaults(smoothing, "ignore")

    def kept(name: str) -> Any:
        """Return the distribution of a node that is not discretized."""
        return None if name not in found or found[name].binned else found[name]

    while wrong := [(parent, child) for parent, child in graph.arcs if not may_depend(kept(parent), kept(child))]:
        for name, child in wrong:  # a column that becomes binned here may have a numeric parent itself
            if name in named:
                raise OptionError(
                    f"{child!r} cannot depend on the numeric node {name!r} with a {found[name].kind} distribution.",
                    hint=f"use distributions={{{name!r}: 'binned'}} to discretize it.",
                )
            found[name] = binning_rule(settings)
    for name, rule in found.items():
        if rule.binned and rule.method == "naive":
            raise OptionError(
                f"{name!r} cannot have the bins of 'naive' in a network: an unseen number has no bin.",
                hint=f"use types={{{name!r}: 'nominal'}}, which makes each value a value of the node.",
            )
    return found


# -- training rows -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Encoded rows in memory; `prepare` adds the discretized and latent columns."""

    table: Table
    missing: bool = False  # whether EM is needed for a missing value

    def edges(self, rule: Binned, target: Nominal, a: Attribute) -> tuple[float, ...]:
        """Return the cut points of a column."""
        return tuple(rule.how.cut(rule.blank(target, a).fill(self.table)).edges.tolist())

    def prepare(self, plan: Blueprint, schema: Schema, target: Nominal) -> MemoryRows:
        """Add the columns that the terms of the network need; these do not depend on the arcs."""
        terms = plan.terms(schema, target)
        derived = derive_checked(self.table, terms)
        return MemoryRows(derived, has_missing(derived, terms))

    def check(self, plan: Blueprint) -> None:
        """Accept every blueprint: rows in memory suffice for EM and latent nodes."""

    def families(self, free: Sequence[Attribute], plan: Blueprint, score: str, size: float) -> Families:
        """Return the family scores of the rows."""
        return Families(free, self.table, score, size, distributions=plan.of_numbers, even=self.missing)


def complete_rows(rows: Memory, schema: Schema) -> Memory:
    """Return the rows without a missing value, so that neither counts nor domains depend on other rows."""
    complete = np.ones(rows.n_rows, dtype=bool)
    columns = dict(rows.frame.columns)
    for a in schema.attributes:
        if isinstance(a, Nominal):
            complete &= ~missing_cells(columns[a.name])
        elif isinstance(a, Numeric):
            columns[a.name] = a.encode(columns[a.name])
            complete &= ~missing_cells(columns[a.name])
    if complete.all():
        return rows
    kept = np.flatnonzero(complete)
    n, gone = rows.n_rows, rows.n_rows - len(kept)
    warn(f"{gone} of {n} rows were excluded because they have a missing value. Hint: use missing='em'.")
    weights = None if rows.weights is None else rows.weights[kept]
    frame = Frame(columns, n, rows.frame.named).take(kept)
    return replace(rows, frame=frame, target=rows.target[kept], weights=weights, places=kept)


TrainingRows = MemoryRows | EngineRows


# -- the search ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearnedStructure:
    """The result of structure learning."""

    plan: Blueprint
    found: FoundStructure | None  # score and candidates of a search; None if the structure was given
    rows: Any  # with the columns of the blueprint
    start: Net | None  # the result of structural EM, if it ran


class StructureLearner:
    """Chooses the distribution and the cut points of each numeric node, and the arcs, from the parameters of a model.

    `arcs` are specified by hand, in addition to those of the parameter `structure`; nodes in `fixed` get no other
    parents. `around` is the class of "naive", "tan" and "k_dependence".
    """

    def __init__(
        self,
        settings: Any,
        schema: Schema,
        target: Nominal,
        *,
        latent: Mapping[str, Nominal],
        arcs: Sequence[tuple[str, str]],
        fixed: Collection[str] = (),
        class_is_node: bool,
        around: str | None,
    ) -> None:
        self.settings, self.schema, self.target, self.fixed, self.around = settings, schema, target, fixed, around
        self.arcs = [*(arcs_of(settings.structure) or []), *arcs]
        names = [*([target.name] if class_is_node else []), *schema, *latent]
        graph = given_graph(names, self.arcs)
        distributions = choose_distributions(settings, graph, schema)
        self.plan = Blueprint(graph, {}, distributions, latent, settings.smoothing, class_is_node)

    def learn(self, rows: TrainingRows, parameters: ParameterLearner) -> LearnedStructure:
        """Return the learned blueprint, from rows in memory or in an engine."""
        rules = self.plan.distributions.items()
        cuts = {name: rows.edges(rule, self.target, self.schema[name]) for name, rule in rules if rule.binned}
        plan = self.plan = replace(self.plan, cuts=cuts)
        plan.check_arcs()
        rows = rows.prepare(plan, self.schema, self.target)
        rows.check(plan)
        if not is_searched(self.settings):
            return LearnedStructure(plan, None, rows, None)
        nodes = plan.nodes(self.schema, self.target)
        free = [a for a in nodes.values() if isinstance(a, Nominal | Numeric) and not is_empty(a)]
        names = [a.name for a in free]
        search = self._search(names)

        def find(rows: TrainingRows, start: Graph | None = None) -> tuple[Families, FoundStructure]:
            score, size = score_of(self.settings), float(self.settings.equivalent_sample_size)
            families = rows.families(free, plan, score, size)
            return families, self._with_others(search.find(families, names, start=start))

        found, net = find(rows)[1], None
        if self.settings.missing == "em" and isinstance(rows, MemoryRows) and rows.missing:
            found, net = self._structural_em(rows, found, names, find, parameters)
        self._check_kept(found.graph, names)
        plan = replace(plan, graph=found.graph)
        rows.check(plan)
        return LearnedStructure(plan, found, rows, net)

    def _with_others(self, found: FoundStructure) -> FoundStructure:
        """Add the nodes that no search can handle, with their given parents.

        In a structure around a class, a column without any value depends on the class, too: values may come later.
        """
        given = self.plan.graph.parents
        around = (self.around,) if self.settings.structure in AROUND_CLASS and self.around is not None else ()
        parents = {name: found.graph.parents.get(name, given[name] or around) for name in given}
        return replace(found, graph=Graph(parents))

    def _check_kept(self, graph: Graph, names: Sequence[str]) -> None:
        """Raise an error if a tree or a structure around a class violates a required or forbidden arc."""
        omitted = sorted({*self.arcs, *self._pairs("required", names)} - set(graph.arcs))
        forbidden, tiers = set(self._pairs("forbidden", names)), self._tiers(names)
        excluded = [
            (p, c) for p, c in graph.arcs if (p, c) in forbidden or (p in tiers and tiers[p] > tiers.get(c, tiers[p]))
        ]
        if omitted or excluded:
            arc, what = (omitted[0], "omits a required") if omitted else (excluded[0], "contains a forbidden")
            raise OptionError(
                f"structure={self.settings.structure!r} {what} arc: {' → '.join(arc)}.",
                hint="use 'hill_climb', 'ordering', 'orders' or 'annealing', which respect these constraints.",
            )

    def _search(self, names: Sequence[str]) -> StructureSearch:
        settings, kept = self.settings, self.plan.of_numbers
        known, arcs = set(names), set(self.arcs)
        required = {arc for arc in arcs if arc[1] in known} | set(self._pairs("required", names))

        def excluded(p: str, c: str) -> bool:
            unscored = c in kept and not kept[c].scored and (p, c) not in required
            return not may_depend(kept.get(p), kept.get(c)) or unscored or (c in self.fixed and (p, c) not in arcs)

        forbidden, most = frozenset(self._pairs("forbidden", names)), int(settings.max_parents)
        return StructureSearch(
            settings.structure,
            Constraints(frozenset(required), forbidden, self._tiers(names), most, excluded),
            settings.order,
            settings.root,
            self.around,
            int(settings.max_dependence),
            int(settings.restarts),
            0 if settings.random_state is None else int(settings.random_state),
            frozenset(kept),
            float(settings.alpha) if settings.criterion == TEST else None,
        )

    def _pairs(self, setting: str, names: Sequence[str]) -> list[tuple[str, str]]:
        given = getattr(self.settings, setting)
        if isinstance(given, str):
            raise OptionError(
                f"{setting} must be a list of arcs, not {given!r}.",
                hint="use pairs (parent, child), or {child: [parents]}.",
            )
        pairs = arcs_of(given) or []
        for name in {name for pair in pairs for name in pair}:
            if name not in names:
                raise OptionError(
                    f"{setting} refers to node {name!r}, but the network has no such node.",
                    hint=did_you_mean(name, names),
                )
        return pairs

    def _tiers(self, names: Sequence[str]) -> dict[str, int]:
        """Return the tier of each node; the user gives a mapping, or lists of nodes with the earliest tier first."""
        tiers = self.settings.tiers
        if tiers is None:
            return {}
        if isinstance(tiers, Iterable) and not isinstance(tiers, Mapping | str):
            lists = [[tier] if isinstance(tier, str) else tier for tier in tiers]
            if all(isinstance(tier, Iterable) for tier in lists):
                tiers = {name: i for i, tier in enumerate(lists) for name in tier}
        if not isinstance(tiers, Mapping):
            raise OptionError(
                f"tiers must be a list of lists of nodes, or a mapping of node to number, not {tiers!r}.",
                hint="put the earliest tier first.",
            )
        for name, tier in tiers.items():
            if name not in names:
                raise OptionError(
                    f"tiers refers to node {name!r}, but the network has no such node.",
                    hint=did_you_mean(name, names),
                )
            check_number(f"The tier of {name!r}", tier, -math.inf, whole=True)
        return {str(name): int(tier) for name, tier in tiers.items()}

    def _structural_em(
        self,
        rows: MemoryRows,
        found: FoundStructure,
        names: Sequence[str],
        find: Any,
        parameters: ParameterLearner,
    ) -> tuple[FoundStructure, Net | None]:
        """Alternate EM and structure search on the completed rows (Friedman, 1998) while the score improves."""
        seen: list[Graph] = []
        net: Net | None = None
        for _ in range(20):
            seen.append(found.graph)
            plan = replace(self.plan, graph=found.graph)
            terms = plan.terms(self.schema, self.target)
            here = (plan, terms, self.target, rows.table)
            start = None if net is None else parameters.carried(net, *here)
            net = parameters.regularized_net(plan, terms, parameters.by_em(*here, start, rough=True).tallies)
            families, after = find(replace(rows, table=completed(net, rows.table)), found.graph.within(names))
            now = float(sum(families.of(n, found.graph.parents[n]) for n in names))
            if after.score <= now + 1e-6 or after.graph in seen:
                return replace(found, score=now), net
            found = after
        return found, None
