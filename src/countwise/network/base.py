"""What the two networks have in common: how they learn, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.base.tally_model import TallyModel
from countwise.base.term import Term, blank_tallies, derive, derive_checked
from countwise.data.attributes import Nominal
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.engines.gather import target_of
from countwise.errors import TableError, TooFewRows, check_number
from countwise.network import inspection, queries
from countwise.network.blueprint import Blueprint, GivenTable, has_missing, is_empty
from countwise.network.editing import Editor
from countwise.network.em import Learned, ParameterLearner
from countwise.network.engine import EngineRows
from countwise.network.families import FamilyTally
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.network.queries import QueryAnswer
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
    complete_rows,
    is_searched,
    kinds_of_columns,
)
from countwise.sources import EnginePart, Memory, in_one
from countwise.tallies import fill_all, tally_from
from countwise.working import Account, Grid

__all__ = ["NetworkModel"]

_FRAMES = ("pandas", "polars", "pyarrow")


@dataclass(eq=False, repr=False)
class NetworkModel(TallyModel):
    """A network over the columns of a table; a model writes `_structure_learner` and what it adds."""

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
    cpts = None  # tables that were given by hand

    # -- to be written by each model ---------------------------------------------------

    def _structure_learner(self, schema: Schema, target: Nominal) -> StructureLearner:
        """The object that finds the structure."""
        raise NotImplementedError

    def _latent(self) -> dict[str, Nominal]:
        """Nodes that are never observed."""
        return {}

    def _given_tables(self) -> GivenTable:
        """What gives the table of a node that does not follow from its counts alone."""
        raise NotImplementedError

    @property
    def graph_(self) -> Graph:
        """The structure."""
        return self._plan().graph

    @property
    def cuts_(self) -> dict[str, tuple[float, ...]]:
        """Where numeric columns are cut that nominal nodes depend on."""
        return dict(self._plan().cuts)

    def _plan(self) -> Blueprint:
        if "_blueprint" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no structure yet: it is not fitted.")
        return self._blueprint

    @property
    def n_iter_(self) -> int:
        """How many steps EM took; 1 where nothing had to be filled."""
        return 1 if self.em_ is None else len(self.em_.log_likelihoods)

    # -- learning --------------------------------------------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        check_network(self)
        return kinds_of_columns(self, frame)

    def _open_parts(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Memory | EnginePart]:
        parts = super()._open_parts(X, y, sample_weight)
        needs_all = self.missing == "em" or is_searched(self)  # of the rows at once
        return in_one(parts) if needs_all and not hasattr(self, "tallies_") else parts

    def _count_in(self, part: Memory | EnginePart) -> None:
        if isinstance(part, EnginePart):
            self._count_in_engine(part)
            return
        first = not hasattr(self, "tallies_")
        schema = self._infer_schema(part.frame) if first else self.schema_
        frame = schema.coded(part.frame if first else schema.match(part.frame))
        schema = schema.learn(frame)
        target = self._first_target(part.name) if first else self._same_kind_of_target(part.known)
        target = target.learn(part.target)
        table = replace(part, frame=frame).table(schema, target)
        if self.missing == "complete":
            table = complete_rows(table, schema)
        if first:
            self._label_type, self._known_target = part.label_type, part.known
            learned = self._begin(schema, target, MemoryRows(table), part.frame)
            terms, derived = self._blueprint.terms(schema, target), learned.rows.table
            known = learned.found is None  # the arcs are those that the rows were laid out for
            if self.missing == "em" and (learned.rows.missing if known else has_missing(derived, terms)):
                self.em_ = self._parameters().by_em(self._blueprint, terms, target, derived, learned.start)
            self.tallies_ = self.em_.tallies if self.em_ else fill_all(blank_tallies(terms, target), derived)
        else:
            terms = self._blueprint.terms(schema, target)
            derived = derive_checked(table, terms)
            if self.missing == "em" and has_missing(derived, terms):
                raise TableError(
                    "Rows with missing values cannot be added to a network that fills them by EM.",
                    hint="fit on all rows at once, or missing='available'.",
                )
            self._join(schema, target, fill_all(blank_tallies(terms, target), derived))
        self.n_rows_ += table.n_rows

    def _count_in_engine(self, part: EnginePart) -> None:
        if hasattr(self, "tallies_"):
            raise TableError("A network learns from one relation at a time.", hint="merge two by +.")
        engine, schema = EngineRows.open(part, self._infer_schema(part.frame), self.missing)
        target, self._label_type = target_of(engine.relation, self._first_target(part.name), engine.classes)
        self._known_target = part.known
        learned = self._begin(schema, target, engine, part.frame)
        self.tallies_ = learned.rows.tallies(blank_tallies(self._blueprint.terms(schema, target), target), target)
        self.n_rows_ = engine.classes.rows

    def _tallies_of(self, part: Memory | EnginePart, only: Collection[str] = ()) -> tuple[dict[str, Any], int]:
        """What a part counts in the domains of the model, and its rows; a value never seen is an error."""
        schema, target = self.schema_, self._same_kind_of_target(part.known)
        terms = self._blueprint.terms(schema, target)
        asked = {name: blank for name, blank in blank_tallies(terms, target).items() if not only or name in only}
        if isinstance(part, EnginePart):
            engine, _ = EngineRows.open(part, schema, self.missing)
            return engine.laid_out(self._blueprint, schema, target).tallies(asked, target), engine.classes.rows
        codes = Nominal(target.name, target.values, grows=False).encode(part.target, strict=True)
        table = schema.encode(schema.match(part.frame), part.weights, strict=True).with_column(target.name, codes)
        if self.missing == "complete":
            table = complete_rows(table, schema)
        return fill_all(asked, derive_checked(table, terms)), table.n_rows

    def _begin(self, schema: Schema, target: Nominal, rows: TrainingRows, frame: Frame) -> LearnedStructure:
        """Learn the structure, and keep it with what the columns are."""
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
        for a in self.schema_.attributes:
            if is_empty(a) and (plan.graph.parents[a.name] or plan.graph.children(a.name)):
                raise TooFewRows(f"Every value of {a.name!r} is missing: it can have no arc.")
        self.terms_ = plan.terms(self.schema_, self.target_)
        self.densities_ = plan.densities(self.terms_, self.tallies_)
        self.net_ = plan.net(self.densities_, self.tallies_, self._given_tables())
        self._release()

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
                        "Networks whose missing values were filled by EM cannot be merged: EM must see all rows.",
                        hint="missing='available' counts what is present.",
                    )
            if self.graph_ != other.graph_ or self.cuts_ != other.cuts_:
                raise TableError(
                    "The networks differ in structure, or in the ranges of their numeric columns.",
                    hint="give both the structure of one: structure=other.graph_.",
                )
        return super().__add__(other)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        self._blueprint, self.found_, self.em_ = other._blueprint, other.found_, other.em_

    def _subtract_rows(self, part: Memory | EnginePart) -> None:
        if self.em_ is not None:
            raise TableError(
                "A network whose missing values were filled by EM cannot forget rows.",
                hint="fit again, or missing='available'.",
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
            self.criterion = None  # older files hold a default here that no search used
        self._known_target = bool(state.get("known", True))
        if state.get("library") in (*_FRAMES, "mapping"):
            self._library = state["library"]
        graph = Graph({str(n): tuple(map(str, above)) for n, above in state["parents"].items()})
        cuts = {str(n): tuple(map(float, edges)) for n, edges in state["cuts"].items()}
        distributions = choose_distributions(self, graph, self.schema_)
        distributions |= dict.fromkeys(cuts, binning_rule(self))
        self._blueprint = Blueprint(graph, cuts, distributions, self._latent(), self.smoothing, self._class_is_node)
        tried = [(str(p), str(c), float(g), bool(t)) for p, c, g, t in state["tried"]]
        self.found_ = None if state["score"] is None else FoundStructure(graph, float(state["score"]), tried)
        terms = self._blueprint.terms(self.schema_, self.target_)
        attributes = {self.target_.name: self.target_, **{term.key: term.of for term in terms}}
        data = state["tallies"]
        self.tallies_ = {
            name: blank.read(data[name]) if isinstance(blank, FamilyTally) else tally_from(data[name], attributes)
            for name, blank in blank_tallies(terms, self.target_).items()
        }
        em = state["em"]
        self.em_ = None if em is None else Learned(self.tallies_, [float(v) for v in em[0]], float(em[1]))
        self._estimate()

    def remove_arc(self, parent: str, child: str, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove an arc from a fitted network; the child's distribution is estimated anew from rows, all else stays.

        Parameters
        ----------
        parent, child : str
        X, y, sample_weight
            Rows, as for `fit`. Those in which the child and all its parents are present count.

        Returns
        -------
        self
        """
        return Editor(self).remove_arc(parent, child, X, y, sample_weight)

    # -- inference -----------------------------------------------------------------------

    def _net(self) -> Net:
        self._check_fitted()
        return self.net_

    def _evidence(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """The evidence; numbers of binned nodes by their range."""
        return queries.evidence_of(self._net(), self._blueprint.cuts, given)

    def query(
        self,
        asked: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        *,
        method: str = "exact",
        n: int = 10_000,
        random_state: int = 0,
    ) -> QueryAnswer:
        """P(asked | given).

        Parameters
        ----------
        asked : str or sequence of str
            A node, or several for their joint probabilities.
        given : mapping of str to value, optional
            The evidence: a value, a number, or ``{value: weight}`` for soft evidence. None and NaN are no evidence.
        method : {"exact", "likelihood_weighting", "gibbs"}, default="exact"
            By variable elimination, or by sampling, with standard errors.
        n, random_state : int
            Of sampling: how many rows to draw, and the seed.

        Returns
        -------
        QueryAnswer
            A dict of value (of several nodes: tuple of values) to probability. Of a numeric node: "mean" and
            "deviation".

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(samples.load("tennis").frame)
        >>> print(net.query("play", {"wind": "Weak"}))
        P(play | wind = Weak)
        No   0.25
        Yes  0.75
        """
        net, evidence = self._net(), self._evidence(given)
        return queries.query(net, asked, evidence, shown=given or {}, method=method, n=n, seed=random_state)

    def marginals(self, given: Mapping[str, Any] | None = None) -> dict[str, QueryAnswer]:
        """P(node | given) of every nominal node, in one pass over the junction tree.

        Parameters
        ----------
        given : mapping of str to value, optional

        Returns
        -------
        dict of str to QueryAnswer
        """
        return queries.marginals(self._net(), self._evidence(given))

    def most_probable_explanation(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The most probable values of all nominal nodes without evidence, together (MPE).

        Parameters
        ----------
        given : mapping of str to value, optional

        Returns
        -------
        dict of str to value
        """
        return self._net().most_probable_explanation(self._evidence(given))

    def log_evidence(self, given: Mapping[str, Any]) -> float:
        """Log P(given), minus infinity if it is impossible; of numbers, the log of their density.

        Parameters
        ----------
        given : mapping of str to value

        Returns
        -------
        float
        """
        return self._net().weighed(self._evidence(given))[1]

    def _rows_of(self, X: Any) -> Table:
        """A table encoded by node."""
        self._check_fitted()
        return derive(self.schema_.encode(self.schema_.opened(X)), self.terms_)

    def score_samples(self, X: Any) -> Floats:
        """Log P(row), with missing values summed out."""
        return queries.log_prob_rows(self._net(), self._rows_of(X))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Rows drawn from the network.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, Generator or None

        Returns
        -------
        table
            Of the kind that the network learned from; a mapping of columns if there was none.
        """
        net = self._net()
        check_number("n_samples", n_samples, 1, whole=True)
        cells = queries.sample_rows(net, int(n_samples), np.random.default_rng(random_state))
        library = getattr(self, "_library", None)
        return Grid({n: c.tolist() for n, c in cells.items()}).to_frame(library) if library in _FRAMES else cells

    # -- inspection ------------------------------------------------------------------------

    def summary(self) -> str:
        """Rows, arcs and score in a few lines."""
        self._check_fitted()
        target = f"; {self.target_.name}" if self._class_is_node else ""
        arcs = f"a network of {len(self.graph_.arcs)} arcs"
        head = f"{self.n_rows_} rows, {len(self.schema_)} attributes{target}: {arcs}"
        if self.found_ is not None:
            head += f", {self.criterion or 'bic'} {self.found_.score:.6g}"
        lines = [head, "  missing values filled by EM"] if self.em_ is not None else [head]
        return "\n".join([*lines, *(f"  {line}" for line in inspection.arc_lines(self.graph_)[:40])])

    def tables(self) -> dict[str, Grid]:
        """The conditional probability table, or the parameters, of every node; see `cpt`."""
        return {name: self.cpt(name) for name in self._net().graph}

    def table_titles(self) -> dict[str, str]:
        """What each of `tables` holds: P(node | parents)."""
        parents = self._net().graph.parents
        return {name: f"P({name}{' | ' + ', '.join(above) if above else ''})" for name, above in parents.items()}

    def cpt(self, name: str) -> Grid:
        """The conditional probability table of a node; of a numeric node, its parameters.

        Parameters
        ----------
        name : str

        Returns
        -------
        Grid
            A row for each combination of the parents' values. Numbers are not rounded until they are printed.
        """
        return inspection.cpt_grid(self._net(), name)

    def explain_arc(self, parent: str, child: str) -> Grid:
        """Why an arc is there or not: what it was found to gain, each time that the search weighed it.

        Parameters
        ----------
        parent, child : str

        Returns
        -------
        Grid
            The arc in both directions, what it adds to the score (of "chow_liu", "tan" and "k_dependence": mutual
            information in bits), whether it was taken, and why.
        """
        by_score = self.structure not in BY_INFORMATION
        return inspection.arc_reasons(self._net().graph, self.found_, parent, child, by_score=by_score)

    def explaining_away(
        self, cause: str | Mapping[str, Any], effect: Mapping[str, Any], other: str | Mapping[str, Any]
    ) -> Account:
        """Whether one cause explains an effect away, so that another becomes less probable.

        Parameters
        ----------
        cause, other : str or mapping of str to value
            Two nodes, each with its value, as ``{"rain": "yes"}``; of a name alone, the value for which the effect is
            the strongest evidence.
        effect : mapping of str to value

        Returns
        -------
        Account
        """
        return inspection.explaining_away(self._net(), cause, self._evidence(effect), other)

    def sensitivity(self, asked: str, value: Any, given: Mapping[str, Any] | None = None) -> Grid:
        """The derivative of P(asked = value | given) by each entry of each table, the largest first.

        The other entries of a row change in proportion, so that it still sums to 1.

        Parameters
        ----------
        asked : str
        value : object
        given : mapping of str to value, optional

        Returns
        -------
        Grid
        """
        return inspection.sensitivity_grid(self._net(), asked, value, self._evidence(given))

    def d_separated(
        self, one: str | Iterable[str], other: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Whether nodes are d-separated: independent given others, whatever the tables are.

        Parameters
        ----------
        one, other, given : str or iterable of str

        Returns
        -------
        bool
        """
        return self._net().graph.d_separated(one, other, given)

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """The Markov blanket: given these nodes, a node is independent of all others.

        Parameters
        ----------
        node : str

        Returns
        -------
        tuple of str
        """
        return self._net().graph.markov_blanket(node)

    def independence(self, X: Any, one: str, other: str, given: str | Sequence[str] = ()) -> Grid:
        """Pearson's test whether two nodes are independent given others, on the rows of a table.

        Parameters
        ----------
        X : any table
        one, other : str
            Nominal nodes.
        given : str or sequence of str
            The two are compared within each combination of their values.

        Returns
        -------
        Grid
            χ², degrees of freedom, p-value, and whether the graph says that they are independent.
        """
        return inspection.independence_test(self._net(), self._rows_of(X), one, other, given)
