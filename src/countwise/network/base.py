"""Base class of both Bayesian network estimators: learning, queries and inspection."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

from countwise.base.tally_model import check_tallies, rows_as_given
from countwise.base.term import Term, blank_tallies, derive_checked
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import joined_dtype
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.engines.gather import target_of
from countwise.errors import TableError, TooFewRows, check_settings
from countwise.jsonfile import numbers
from countwise.network.answers import FRAMES
from countwise.network.blueprint import Blueprint, GivenTable, has_missing, is_empty
from countwise.network.editing import Editor
from countwise.network.em import Learned, ParameterLearner
from countwise.network.engine import EngineRows
from countwise.network.families import FamilyTally
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.network.search.constraints import FoundStructure
from countwise.network.search.dispatch import BY_INFORMATION
from countwise.network.structure_learning import (
    LearnedStructure,
    MemoryRows,
    StructureLearner,
    TrainingRows,
    binning_rule,
    check_network,
    choose_distributions,
    column_types,
    complete_rows,
    is_searched,
)
from countwise.network.views import NetworkViews
from countwise.sources import EnginePart, Memory, in_one
from countwise.tallies import fill_all, tally_from

__all__ = ["NetworkModel"]


@dataclass(eq=False, repr=False)
class NetworkModel(NetworkViews):
    """Base class of Bayesian networks over the columns of a table; subclasses implement `_structure_learner`."""

    structure: Any = "given"
    _: KW_ONLY
    order: Any = None
    criterion: str | None = None
    equivalent_sample_size: float = 1.0
    max_parents: int = 3
    required: Any = ()
    forbidden: Any = ()
    tiers: Any = None
    root: str | None = None
    max_dependence: int = 2
    smoothing: Any = 1.0
    distributions: Any = None
    ranges: Any = 4
    types: Any = None
    categorical_features: Any = None
    missing: str = "em"
    restarts: int = 3
    max_iter: int = 500
    tol: float = 1e-8
    random_state: int | None = 0

    net_: Net = field(init=False)
    found_: FoundStructure | None = field(init=False)
    em_: Learned | None = field(init=False)
    _blueprint: Blueprint = field(init=False)

    _class_is_node = False  # whether the target is a node
    cpts = None  # CPTs that were specified by hand

    # -- implemented by subclasses -------------------------------------------------------

    def _structure_learner(self, schema: Schema, target: Nominal) -> StructureLearner:
        """Return the object that learns the structure."""
        raise NotImplementedError

    def _latent(self) -> dict[str, Nominal]:
        """Return the nodes that are never observed."""
        return {}

    def _given_tables(self) -> GivenTable:
        """Return a function that gives the CPT of a node if it does not follow from its counts alone."""
        raise NotImplementedError

    @property
    def graph_(self) -> Graph:
        """The structure."""
        return self._plan().graph

    @property
    def cuts_(self) -> dict[str, tuple[float, ...]]:
        """The cut points of each discretized column."""
        return dict(self._plan().cuts)

    def _plan(self) -> Blueprint:
        if "_blueprint" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no structure because it is not fitted yet.")
        return self._blueprint

    @property
    def n_iter_(self) -> int:
        """The number of EM iterations; 1 if EM was not needed."""
        return 1 if self.em_ is None else len(self.em_.log_likelihoods)

    # -- learning --------------------------------------------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        check_network(self)
        return column_types(self, frame)

    def _open_parts(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Memory | EnginePart]:
        parts = super()._open_parts(X, y, sample_weight)
        check_settings(self, missing=("em", "available", "complete"))
        needs_all = self.missing == "em" or is_searched(self)  # EM and searches need all rows at once
        return in_one(parts) if needs_all and not hasattr(self, "tallies_") else parts

    def _count_in(self, part: Memory | EnginePart) -> None:
        if isinstance(part, EnginePart):
            self._count_in_engine(part)
            return
        first = not hasattr(self, "tallies_")
        if not first:
            self._retype_by(part)
        schema = self._infer_schema(part.frame) if first else self.schema_
        rows = self._counted_rows(part, schema)
        if rows.n_rows:
            with rows_as_given(rows):
                (self._begin_with if first else self._add_rows)(rows, schema)

    def _counted_rows(self, part: Memory, schema: Schema) -> Memory:
        """Return the rows of a part that are counted, with encoded columns and positions in the part."""
        frame = part.frame if tuple(schema) == part.frame.names else schema.match(part.frame)
        rows = replace(part, frame=schema.coded(frame), places=None)
        return complete_rows(rows, schema) if self.missing == "complete" else rows

    def _begin_with(self, rows: Memory, schema: Schema) -> None:
        """Learn the structure and the distributions from the first rows."""
        schema = schema.learn(rows.frame)
        target = self._first_target(rows.name).learn(rows.target, occurring=True)
        self._label_type, self._known_target = rows.label_type, rows.known
        learned = self._begin(schema, target, MemoryRows(rows.table(schema, target)), rows.frame)
        terms, derived = self._blueprint.terms(schema, target), learned.rows.table
        known = learned.found is None  # `learned.rows.missing` holds for these arcs
        if self.missing == "em" and (learned.rows.missing if known else has_missing(derived, terms)):
            self.em_ = self._parameters().by_em(self._blueprint, terms, target, derived, learned.start)
        self.tallies_ = self.em_.tallies if self.em_ else fill_all(blank_tallies(terms, target), derived)
        self.n_rows_ += rows.n_rows

    def _add_rows(self, rows: Memory, schema: Schema) -> None:
        """Add the tallies of later rows."""
        schema = schema.learn(rows.frame)
        target = self._matching_target(rows.known).learn(rows.target, occurring=True)
        terms = self._blueprint.terms(schema, target)
        derived = derive_checked(rows.table(schema, target), terms)
        if self.missing == "em" and has_missing(derived, terms):
            raise TableError(
                "Rows with missing values cannot be added to a network with missing='em': EM needs all rows.",
                hint="fit on all rows at once, or use missing='available'.",
            )
        self._label_type = joined_dtype(self._label_type, rows.label_type)
        self._join(schema, target, fill_all(blank_tallies(terms, target), derived))
        self.n_rows_ += rows.n_rows

    def _set_schema(self, schema: Schema) -> None:
        """Replace the schema; a column that has become numeric gets its default distribution."""
        super()._set_schema(schema)
        plan = self._blueprint
        cuts = {name: edges for name, edges in plan.cuts.items() if isinstance(schema[name], Numeric)}
        distributions = choose_distributions(self, plan.graph, schema)
        for name, rule in distributions.items():
            if rule.binned and name not in cuts:
                raise TableError(
                    f"Every value of {name!r} was missing in the rows from which the structure and the cut points "
                    "were learned, so its numbers cannot be discretized.",
                    hint="fit on all rows at once.",
                )
        self._blueprint = replace(plan, cuts=cuts, distributions=distributions)

    def _count_in_engine(self, part: EnginePart) -> None:
        if hasattr(self, "tallies_"):
            raise TableError(
                "A fitted network cannot learn from another engine table.",
                hint="fit a second network on it and merge the two with +.",
            )
        engine, schema = EngineRows.open(part, self._infer_schema(part.frame), self.missing)
        if not engine.classes.rows:  # no row is complete
            return
        target, self._label_type = target_of(engine.relation, self._first_target(part.name), engine.classes)
        self._known_target = part.known
        learned = self._begin(schema, target, engine, part.frame)
        self.tallies_ = learned.rows.tallies(blank_tallies(self._blueprint.terms(schema, target), target), target)
        self.n_rows_ = engine.classes.rows

    def _tallies_of(self, part: Memory | EnginePart, only: Collection[str] = ()) -> tuple[dict[str, Any], int]:
        """Count a part over the domains of the model, and return its number of rows; an unseen value is an error."""
        schema, target = self.schema_, self._matching_target(part.known)
        terms = self._blueprint.terms(schema, target)
        blanks = {name: blank for name, blank in blank_tallies(terms, target).items() if not only or name in only}
        if isinstance(part, EnginePart):
            engine, _ = EngineRows.open(part, schema, self.missing)
            if not engine.classes.rows:  # no row is complete
                return blanks, 0
            return engine.prepare(self._blueprint, schema, target).tallies(blanks, target), engine.classes.rows
        rows = self._counted_rows(part, schema)
        with rows_as_given(rows):
            table = rows.table(schema, Nominal(target.name, target.values, grows=False))
            return fill_all(blanks, derive_checked(table, terms)), rows.n_rows

    def _begin(self, schema: Schema, target: Nominal, rows: TrainingRows, frame: Frame) -> LearnedStructure:
        """Learn the structure and store it together with the column types."""
        self.schema_, self.target_ = schema, target
        learned = self._structure_learner(schema, target).learn(rows, self._parameters())
        vars(self).update(self._names(frame))
        self._blueprint, self.found_, self.em_ = learned.plan, learned.found, None
        self.n_rows_ = self.n_left_out_ = 0
        return learned

    def _parameters(self) -> ParameterLearner:
        fixed: set[str] = set(self.cpts or ())
        return ParameterLearner(self._given_tables(), fixed, int(self.max_iter), float(self.tol), self.random_state)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        return self._blueprint.terms(schema, self.target_)

    def _estimate(self) -> None:
        plan = self._blueprint
        for a in self.schema_.attributes:  # a search leaves such a node without children
            given = plan.graph.children(a.name) or (plan.graph.parents[a.name] and not is_searched(self))
            if given and is_empty(a):
                raise TooFewRows(f"Every value of {a.name!r} is missing, so this node cannot have arcs.")
        self.terms_ = plan.terms(self.schema_, self.target_)
        self.densities_ = self._densities()
        self.net_ = plan.net(self.densities_, self.tallies_, self._given_tables())
        self._release()

    def _densities(self) -> dict[str, Any]:
        """Return the density of every node."""
        return self._blueprint.densities(self.terms_, self.tallies_)

    def _forget_all(self) -> None:
        super()._forget_all()
        vars(self).pop("_blueprint", None)

    # -- merging, forgetting, files ----------------------------------------------------------

    def __add__(self, other: object) -> Self:
        if type(other) is type(self):
            for model in (self, other):
                model._check_fitted(answers=False)
                if model.em_ is not None:
                    raise TableError(
                        "Networks fitted by EM on missing values cannot be merged: EM needs all rows at once.",
                        hint="use missing='available', which counts the observed values.",
                    )
            if self.graph_ != other.graph_ or self.cuts_ != other.cuts_:
                raise TableError(
                    "The networks have different structures, or different cut points of their numeric columns.",
                    hint="fit both with the structure of one of them: structure=other.graph_.",
                )
        return super().__add__(other)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        self._blueprint, self.found_, self.em_ = other._blueprint, other.found_, other.em_

    def _subtract_rows(self, part: Memory | EnginePart) -> None:
        if self.em_ is not None:
            raise TableError(
                "A network fitted by EM on missing values cannot forget rows.",
                hint="fit again without these rows, or use missing='available'.",
            )
        tallies, n_rows = self._tallies_of(part)
        self.tallies_ = {name: tally - tallies[name] for name, tally in self.tallies_.items()}
        self.n_rows_ -= n_rows

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
        if isinstance(self.structure, str) and self.structure in BY_INFORMATION:
            self.criterion = None  # files of earlier versions hold a default here that no search uses
        check_network(self)
        self._known_target = bool(state.get("known", True))
        if state.get("library") in (*FRAMES, "mapping"):
            self._library = state["library"]
        graph = Graph({str(n): tuple(map(str, above)) for n, above in state["parents"].items()})
        cuts = {str(n): tuple(map(float, edges)) for n, edges in state["cuts"].items()}
        distributions = choose_distributions(self, graph, self.schema_)
        distributions |= dict.fromkeys(cuts, binning_rule(self))
        self._blueprint = Blueprint(graph, cuts, distributions, self._latent(), self.smoothing, self._class_is_node)
        gains = numbers([g for _, _, g, _ in state["tried"]], "the gains of the arcs", (None,)).tolist()
        tried = [(str(p), str(c), float(g), bool(t)) for (p, c, _, t), g in zip(state["tried"], gains, strict=True)]
        self.found_ = (
            None
            if state["score"] is None
            else FoundStructure(graph, float(numbers([state["score"]], "the score", (1,))[0]), tried)
        )
        terms = self._blueprint.terms(self.schema_, self.target_)
        attributes = {self.target_.name: self.target_, **{term.key: term.of for term in terms}}
        data = state["tallies"]
        self.tallies_ = {
            name: blank.read(data[name]) if isinstance(blank, FamilyTally) else tally_from(data[name], attributes)
            for name, blank in blank_tallies(terms, self.target_).items()
        }
        check_tallies(self.tallies_, blank_tallies(terms, self.target_))
        em = state["em"]
        if em is not None:
            likelihoods, moved = numbers(em[0], "the log-likelihoods", (None,)), numbers([em[1]], "the change", (1,))
            self.em_ = Learned(self.tallies_, likelihoods.tolist(), float(moved[0]))
        else:
            self.em_ = None
        self._estimate()

    def remove_arc(self, parent: str, child: str, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove an arc from a fitted network.

        The child's distribution is estimated from the given rows; all other distributions are kept.

        Parameters
        ----------
        parent : str
            The node where the arc starts.
        child : str
            The node where the arc ends.
        X : any table
            Rows, as for `fit`. Rows in which the child or one of its remaining parents is missing are ignored.
        y : array-like or str, optional
            The target of each row, for a `BayesNetworkClassifier` only.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column that holds it.

        Returns
        -------
        self
            The network itself.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> rows = {"rain": ["no", "yes", "yes"], "wet": ["no", "yes", "no"]}
        >>> net = BayesNetwork({"wet": ["rain"]}).fit(rows)
        >>> net.remove_arc("rain", "wet", rows).graph_.arcs
        ()
        """
        return Editor(self).remove_arc(parent, child, X, y, sample_weight)
