"""Base class of both Bayesian network estimators: learning, queries, and the views of a network."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import class_prior
from countwise.base.protocol import write_tables
from countwise.base.row_model import encode_finite
from countwise.base.tally_model import TallyModel, check_tallies, rows_as_given
from countwise.base.term import Term, blank_tallies, derive, derive_checked
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import joined_dtype
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.engines.gather import target_of
from countwise.errors import (
    SEED,
    OptionError,
    TableError,
    TooFewRows,
    check_number,
    check_settings,
    check_value,
    printable,
)
from countwise.jsonfile import numbers
from countwise.network import inspection, queries
from countwise.network.blueprint import Blueprint, GivenTable, has_missing, is_empty
from countwise.network.editing import Editor
from countwise.network.em import Iteration, Learned, ParameterLearner
from countwise.network.em_working import EMWorking
from countwise.network.engine import EngineRows
from countwise.network.families import FamilyTally, table_smoothing
from countwise.network.graph import Graph
from countwise.network.layered_layout import tikz_picture
from countwise.network.net import Net
from countwise.network.queries import QueryAnswer, Situation
from countwise.network.search.constraints import FoundStructure
from countwise.network.search.dispatch import BY_INFORMATION, graph_of
from countwise.network.structure_learning import (
    TEST,
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
    score_of,
)
from countwise.sources import EnginePart, Memory, in_one
from countwise.tallies import Counts, fill_all, tally_from
from countwise.working import Account, Grid

__all__ = ["MOST_ROWS", "NetworkModel"]

FRAMES = ("pandas", "polars", "pyarrow")
MOST_ROWS = 100_000_000  # of a drawn sample
_SCORE_NAMES = {"bic": "BIC", "aic": "AIC", "bdeu": "BDeu", "k2": "K2", "log_likelihood": "log-likelihood"}


@dataclass(eq=False, repr=False)
class NetworkModel(TallyModel):
    """Base class of Bayesian networks over the columns of a table; subclasses implement `_structure_learner`."""

    structure: Any = "given"
    _: KW_ONLY
    order: Any = None
    criterion: str | None = None
    equivalent_sample_size: float = 1.0
    alpha: float = 0.05
    max_parents: int = 3
    required: Any = ()
    forbidden: Any = ()
    tiers: Any = None
    root: str | None = None
    max_dependence: int = 2
    smoothing: Any = 1.0
    prior: Any = "raw"
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
    terms_: list[Term] = field(init=False)
    found_: FoundStructure | None = field(init=False)
    em_: Learned | None = field(init=False)
    _blueprint: Blueprint = field(init=False)

    _class_is_node = False  # whether the target is a node
    cpts = None  # CPTs that were specified by hand
    write_tables = write_tables

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
        """The structure; available before `fit` if it is given."""
        graph = None if "_blueprint" in vars(self) else graph_of(self.structure)
        return self._plan().graph if graph is None else graph

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

    def _class_name(self) -> str | None:
        """Return the name of the class node, if there is one."""
        return self.target_.name

    def _prior_table(self, name: str, tally: Counts) -> Floats | None:
        """Return P(class) by the parameter `prior`, if the class has no parents."""
        if name != self._class_name() or len(tally.axes) > 1 or not tally.table.any():
            return None
        smoothing = partial(table_smoothing, self.smoothing, 1)
        return class_prior(self.prior, tally.table.astype(np.float64), tally.axes[0].values, smoothing)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        return self._blueprint.terms(schema, self.target_)

    def _estimate(self) -> None:
        plan = self._blueprint
        self._check_prior(plan.graph)
        for a in self.schema_.attributes:  # a search leaves such a node without children
            given = plan.graph.children(a.name) or (plan.graph.parents[a.name] and not is_searched(self))
            if given and is_empty(a):
                raise TooFewRows(f"Every value of {a.name!r} is missing, so this node cannot have arcs.")
        self.terms_ = plan.terms(self.schema_, self.target_)
        self.densities_ = self._densities()
        self.net_ = plan.net(self.densities_, self.tallies_, self._given_tables())
        self._release()

    def _check_prior(self, graph: Graph) -> None:
        """Raise an error if `prior` is set, but there is no class node without parents."""
        if isinstance(self.prior, str) and self.prior == "raw":
            return
        name = self._class_name()
        if name is None or name not in graph:
            raise OptionError(
                f"prior={self.prior!r} is that of a class node, but target names none.", hint="pass target=."
            )
        if graph.parents[name]:
            raise OptionError(
                f"prior={self.prior!r} cannot be used because the class has parents.", hint="use prior='raw'."
            )

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
            **({"score": None, "tried": []} if found is None else found.to_state()),
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
        distributions |= {name: binning_rule(self) for name in cuts if not distributions[name].binned}
        self._blueprint = Blueprint(graph, cuts, distributions, self._latent(), self.smoothing, self._class_is_node)
        self.found_ = FoundStructure.from_state(graph, state)
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
        """Remove an arc from a fitted network. The network is changed in place.

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

    # -- queries ------------------------------------------------------------------------------------

    def _net(self) -> Net:
        self._check_fitted()
        return self.net_

    def _evidence(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Convert the user's evidence; the number of a discretized node becomes its bin."""
        return queries.evidence_of(self._net(), self._blueprint.cuts, given)

    def _situation(self, given: Mapping[str, Any] | None, do: Mapping[str, Any] | None = None) -> Situation:
        return Situation.of(self._net(), self._blueprint.cuts, given, do)

    def query(
        self,
        nodes: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        *,
        do: Mapping[str, Any] | None = None,
        method: str = "exact",
        n: int = 10_000,
        random_state: int = 0,
    ) -> QueryAnswer:
        """Compute the posterior distribution P(nodes | given), or P(nodes | do, given) after an intervention.

        Parameters
        ----------
        nodes : str or sequence of str
            A node, or several nominal nodes for their joint distribution.
        given : mapping of str to value, optional
            The evidence: the observed value of each observed node. A number observed for a discretized node is
            replaced by its bin. ``{value: weight}`` or an array is soft evidence on a nominal node: the likelihood of
            each value, up to a constant. None and NaN mean no evidence.
        do : mapping of str to value, optional
            An intervention: nodes that are set to a value, whatever their parents are. The arcs into these nodes are
            cut (graph surgery). The result is causal only if the arcs are.
        method : {'exact', 'likelihood_weighting', 'gibbs'}, default='exact'
            'exact' uses variable elimination. 'likelihood_weighting' and 'gibbs' draw samples and also estimate
            standard errors. They support one nominal query node; use them if the exact computation needs too much
            memory.
        n : int, default=10000
            The number of samples; ignored by 'exact'.
        random_state : int, default=0
            The seed of the sampler; ignored by 'exact'.

        Returns
        -------
        QueryAnswer
            A dict that maps each value to its probability; for several nodes the keys are tuples of values. For a
            numeric node the keys are "mean" and "sd" (standard deviation).

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(samples.load("tennis").frame)
        >>> print(net.query("play", {"wind": "Weak"}))
        P(play | wind = Weak)
        No   0.25
        Yes  0.75

        Observing wet grass makes rain more probable; wetting the grass does not:

        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.query("rain", do={"wet": "yes"}))
        P(rain | do(wet = yes))
        no   0.8
        yes  0.2
        arcs cut: rain → wet
        """
        return queries.query(self._situation(given, do), nodes, method=method, n=n, seed=random_state)

    def marginals(
        self, given: Mapping[str, Any] | None = None, *, do: Mapping[str, Any] | None = None
    ) -> dict[str, QueryAnswer]:
        """Compute P(node | given) of every nominal node at once, by a junction tree.

        Parameters
        ----------
        given : mapping of str to value, optional
            The evidence, in the form that `query` accepts.
        do : mapping of str to value, optional
            An intervention, in the form that `query` accepts.

        Returns
        -------
        dict of str to QueryAnswer
            The posterior of each nominal node, including the nodes with evidence.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.marginals()["wet"])
        P(wet)
        no   0.76
        yes  0.24
        """
        return queries.marginals(self._situation(given, do))

    def most_probable_explanation(
        self, given: Mapping[str, Any] | None = None, *, do: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the most probable joint assignment of the nominal nodes that have no evidence (MPE).

        Parameters
        ----------
        given : mapping of str to value, optional
            The evidence, in the form that `query` accepts.
        do : mapping of str to value, optional
            An intervention, in the form that `query` accepts.

        Returns
        -------
        dict of str to value
            The value of each nominal node that has no evidence and is not set.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> net.most_probable_explanation({"wet": "yes"})
        {'rain': 'yes'}
        """
        here = self._situation(given, do)
        return here.net.most_probable_explanation(here.evidence)

    def log_evidence(self, given: Mapping[str, Any], *, do: Mapping[str, Any] | None = None) -> float:
        """Compute the logarithm of the probability of the evidence, log P(given) or log P(given | do).

        Parameters
        ----------
        given : mapping of str to value
            The evidence, in the form that `query` accepts.
        do : mapping of str to value, optional
            An intervention, in the form that `query` accepts.

        Returns
        -------
        float
            The natural logarithm of the probability; minus infinity if the evidence is impossible. Numeric nodes
            contribute the density of their value.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> round(net.log_evidence({"rain": "yes"}), 6)
        -1.609438
        """
        here = self._situation(given, do)
        return here.net.calibrated(here.evidence)[1]

    def _rows_of(self, X: Any) -> Table:
        """Encode a table with one column for each node."""
        self._check_fitted()
        return derive(encode_finite(self.schema_, self.schema_.opened(X)), self.terms_)

    def score_samples(self, X: Any) -> Floats:
        """Compute log P(row) of each row. Missing values are summed out.

        Parameters
        ----------
        X : any table
            The rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The natural logarithm of the probability of the observed values of each row. Numeric nodes contribute the
            density of their value.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.75, 0.25])
        >>> net.score_samples({"rain": ["yes", "no", None]}).round(4).tolist()
        [-1.3863, -0.2877, 0.0]
        """
        return queries.log_prob_rows(self._net(), self._rows_of(X))

    def sample(self, n_samples: int = 1, random_state: Any = None, *, do: Mapping[str, Any] | None = None) -> Any:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed; None gives different rows at each call.
        do : mapping of str to value, optional
            An intervention, in the form that `query` accepts.

        Returns
        -------
        table
            A data frame of the same library as the training data; a dict of columns if the network was not fitted on
            a pandas, Polars or PyArrow table.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.5, 0.5])
        >>> len(net.sample(5, random_state=0)["rain"])
        5
        """
        here = self._situation(None, do)
        check_number("n_samples", n_samples, 1, most=MOST_ROWS, whole=True)
        check_value("random_state", random_state, SEED)
        cells = queries.sample_rows(here, int(n_samples), np.random.default_rng(random_state))
        return self._as_table(cells)

    def _as_table(self, cells: dict[str, Any]) -> Any:
        """Return columns as a data frame of the library of the training table, or as they are."""
        library = getattr(self, "_library", None)
        return Grid({n: c.tolist() for n, c in cells.items()}).to_frame(library) if library in FRAMES else cells

    def explaining_away(
        self, cause: str | Mapping[str, Any], effect: Mapping[str, Any], other: str | Mapping[str, Any]
    ) -> Account:
        """Show whether a second cause explains an effect away, that is, makes the first cause less probable.

        Parameters
        ----------
        cause : str or mapping of str to value
            The first cause: a nominal node with its value, such as ``{"rain": "yes"}``. For a name alone, the value
            is used whose probability the effect raises by the largest factor.
        effect : mapping of str to value
            The observed effect.
        other : str or mapping of str to value
            The other cause, in the same form as `cause`.

        Returns
        -------
        Account
            P(cause) without evidence, given the other cause, given the effect, and given both; and whether the two
            causes are d-separated.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("hose", ["no", "yes"], [0.9, 0.1])
        >>> net = net.add_arc("rain", "wet").add_arc("hose", "wet").add_node("wet", ["no", "yes"])
        >>> net = net.set_cpt("wet", [[[1, 0], [0.1, 0.9]], [[0.2, 0.8], [0.1, 0.9]]])
        >>> print(net.explaining_away("rain", {"wet": "yes"}, "hose").answer)
        hose = yes explains wet = yes away: P(rain = yes) falls from 69.2 % to 20.0 %.
        """
        return inspection.explaining_away(self._net(), cause, self._evidence(effect), other)

    def sensitivity(self, node: str, value: Any, given: Mapping[str, Any] | None = None) -> Grid:
        """Compute the derivative of P(node = value | given) with respect to each CPT entry.

        When one entry changes, the other entries of its row change in proportion, so that the row still sums to 1.

        Parameters
        ----------
        node : str
            A nominal node.
        value : object
            A value of this node.
        given : mapping of str to value, optional
            The evidence, in the form that `query` accepts.

        Returns
        -------
        Grid
            The node of the CPT, the entry, its probability P and the derivative, with the largest absolute derivative
            first. Entries with derivative 0 are omitted.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.sensitivity("wet", "yes"))
        node  entry                        P  derivative
        wet   P(wet = no | rain = no)    0.9        -0.8
        wet   P(wet = yes | rain = no)   0.1         0.8
        rain  P(rain = no)               0.8        -0.7
        rain  P(rain = yes)              0.2         0.7
        wet   P(wet = no | rain = yes)   0.2        -0.2
        wet   P(wet = yes | rain = yes)  0.8         0.2
        """
        return inspection.sensitivity_grid(self._net(), node, value, self._evidence(given))

    # -- tables and graph ----------------------------------------------------------------------------

    def summary(self) -> str:
        """Summarize the network: number of training rows, arcs, score of the learned structure.

        Returns
        -------
        str
            One line for the network and one line for each of the first 40 nodes with its parents.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork({"wet": ["rain"]}).fit({"rain": ["no", "yes"], "wet": ["no", "yes"]})
        >>> print(net.summary())
        2 rows, 2 attributes: network with 1 arc
          rain
          wet ← rain
        """
        self._check_fitted()
        target = f"; {self.target_.name}" if self._class_is_node else ""
        n_arcs = len(self.graph_.arcs)
        arcs = f"network with {n_arcs} arc{'s' * (n_arcs != 1)}"
        head = f"{self._training_size}{target}: {arcs}"
        if self.found_ is not None:
            head += f", {_SCORE_NAMES[score_of(self)]} {self.found_.score:.6g}"
        lines = [head, "  missing values estimated by EM"] if self.em_ is not None else [head]
        return printable("\n".join([*lines, *(f"  {line}" for line in inspection.arc_lines(self.graph_)[:40])]))

    def tables(self) -> dict[str, Grid]:
        """Return the CPT or the parameters of every node; see `cpt`.

        Returns
        -------
        dict of str to Grid
            The table of each node.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> print(net.tables()["rain"])
        rain = no  rain = yes
              0.8         0.2
        """
        return {name: self.cpt(name) for name in self._net().graph}

    def table_titles(self) -> dict[str, str]:
        """Return the titles of the `tables`, such as P(node | parents).

        Returns
        -------
        dict of str to str
            The title for each node.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).table_titles()
        {'rain': 'P(rain)'}
        """
        parents = self._net().graph.parents
        return {name: f"P({name}{' | ' + ', '.join(above) if above else ''})" for name, above in parents.items()}

    def cpt(self, name: str) -> Grid:
        """Return the conditional probability table (CPT) of a nominal node, or the parameters of a numeric node.

        Parameters
        ----------
        name : str
            The node.

        Returns
        -------
        Grid
            One row for each combination of the nominal parents' values. A CPT has one column for each value of the
            node. A numeric node has its parameters, such as mean and standard deviation, the slope of each numeric
            parent ("× parent"), and the number of rows n. Numbers are rounded only when printed.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> print(net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]}).cpt("wet"))
        rain  wet = no  wet = yes
        no         0.9        0.1
        yes        0.2        0.8
        """
        net = self._net()
        given = not isinstance(name, str) or name in (self.cpts or ())
        return inspection.cpt_grid(net, name, None if given else getattr(self, "tallies_", {}).get(name))

    def explain_arc(self, parent: str, child: str) -> Grid:
        """Explain why the structure search included an arc between two nodes or not.

        Parameters
        ----------
        parent : str
            A node.
        child : str
            Another node. Both directions of the arc are reported.

        Returns
        -------
        Grid
            The arc, its gain, whether it was taken, and the reason. For 'ordering', 'orders' and 'annealing' the gain
            is the increase of the score, with one row for each step of the K2 algorithm that considered the arc. For
            'hill_climb' it is the increase of the score by the arc in the learned structure. For 'chow_liu', 'tan'
            and 'k_dependence' it is the mutual information in bits (given the class, if there is one). An arc that
            the search did not consider has no row: a forbidden arc, or an arc from the class in 'naive', 'tan' and
            'k_dependence'.

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> net = BayesNetwork("chow_liu").fit(samples.load("tennis").frame)
        >>> print(net.explain_arc("outlook", "play"))
        arc                gain  taken  because
        outlook → play  0.24675  yes    it is in the tree with the largest mutual information
        """
        structure = self.structure if isinstance(self.structure, str) else ""
        return inspection.arc_reasons(self._net().graph, self.found_, parent, child, structure)

    def explain_em(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, iterations: int = 2, rows: int = 20
    ) -> Account:
        """Show the first iterations of EM: completions, expected counts, and the tables estimated from them.

        EM runs again from its start, with the structure and the cut points of the fitted network.

        Parameters
        ----------
        X : any table
            The training rows.
        y : array-like or str, optional
            The target of each row, for a `BayesNetworkClassifier` only.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column that holds it.
        iterations : int, default=2
            The number of iterations to show.
        rows : int, default=20
            The largest number of incomplete rows to show; identical rows are shown together.

        Returns
        -------
        Account
            For each iteration the E step: each incomplete row with its completions, their probabilities and their
            weights; and the M step: the counts of each table, observed and expected, and the probabilities. Then the
            log-likelihoods.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> days = {"rain": ["no", "no", "yes", None], "wet": ["no", "yes", "yes", "yes"]}
        >>> net = BayesNetwork({"wet": ["rain"]}, smoothing=0).fit(days)
        >>> print(net.explain_em(days, iterations=1).sections[3])
        Iteration 1, E step: completions
          row  observed   completion     joint    P  weight
            3  wet = yes  rain = no   0.333333  0.5     0.5
                          rain = yes  0.333333  0.5     0.5
          Log-likelihood of the observed values of all rows: -3.7013.
        """
        self._check_fitted()
        check_number("iterations", iterations, 1, whole=True)
        check_number("rows", rows, 1, whole=True)
        if self.missing != "em":
            raise OptionError(f"missing={self.missing!r} does not use EM.", hint="fit with missing='em'.")
        if not self.terms_:
            raise OptionError("The CPTs were specified by hand, without rows.", hint="fit the network on data.")
        plan, schema, target = self._blueprint, self.schema_, self.target_
        (part,) = in_one(super()._open_parts(X, y, sample_weight))
        if isinstance(part, EnginePart):
            raise TableError("EM needs all rows in memory.", hint="pass a table in memory, such as a data frame.")
        if not part.n_rows:
            raise TableError("The table is empty; at least one row is needed.")
        terms = plan.terms(schema, target)
        with rows_as_given(part):
            counted = self._counted_rows(part, schema)
            table = derive_checked(counted.table(schema, Nominal(target.name, target.values, grows=False)), terms)
        seen: list[Iteration] = []
        learner = replace(self._parameters(), max_iter=int(iterations))
        learner.by_em(plan, terms, target, table, watch=seen.append)
        logs = [one.log_likelihood for one in seen]
        known = [] if self.em_ is None else self.em_.log_likelihoods
        same = len(known) >= len(logs) and np.allclose(known[: len(logs)], logs, rtol=1e-12, atol=0)
        return EMWorking(
            seen,
            table,
            np.arange(table.n_rows) if part.places is None else part.places,
            [plan.densities(terms, {**self.tallies_, **one.tallies}, regularized=True) for one in seen],
            list(plan.latent),
            known if same else logs,
            known[-1] if known and not same else None,
            int(rows),
        ).account()

    def explain_structure(self) -> Account:
        """Show each step of the structure search: the candidates, their scores or tests, and what was chosen.

        Returns
        -------
        Account
            For a search by an ordering ('ordering', 'backward_ordering', 'orders', 'all_orders', 'annealing'), a
            section for each step in which a parent was added to a node or removed. 'all_orders' also has the
            score of each ordering. For the other searches, the candidate arcs with their gains; see `explain_arc`.

        Examples
        --------
        Neither A nor B says anything about their exclusive or C, but both together do:

        >>> from countwise import BayesNetwork
        >>> xor = {"A": ["no", "no", "yes", "yes"], "B": ["no", "yes", "no", "yes"], "C": ["no", "yes", "yes", "no"]}
        >>> print(BayesNetwork("backward_ordering").fit(xor).explain_structure().sections[-1])
        C, step 1: parents A, B; BIC -2.77259
          without  log-likelihood  parameters       BIC    change
          A              -2.77259           2  -4.15888  -1.38629
          B              -2.77259           2  -4.15888  -1.38629
          BIC = log-likelihood - (ln n)/2·parameters = 0 - 0.693147·4 = -2.77259
          Every removal lowers the score. C ← A, B.
        """
        self._check_fitted()
        structure = self.structure if isinstance(self.structure, str) else ""
        test = float(self.alpha) if self.criterion == TEST else None
        counts = {n: t.table for n, t in self.tallies_.items() if isinstance(t, Counts) and n in self.graph_}
        totals = [float(table.sum()) for table in counts.values()]
        if self.em_ is not None or (totals and not np.allclose(totals, totals[0], rtol=1e-12, atol=0)):
            counts = {}  # some values are missing
        return inspection.search_account(
            self._net(), self.found_, structure, _SCORE_NAMES[score_of(self)], test, counts
        )

    def _known_graph(self) -> Graph:
        """Return the structure, which may be known before the parameters are."""
        if not hasattr(self, "graph_"):
            self._check_fitted()
        return self.graph_

    def latex(self, width: int | None = None) -> str:
        r"""Return the graph as a LaTeX picture; the document must load tikz.

        Parameters
        ----------
        width : int or None, default=None
            The picture is scaled down to fit a frame with lines of this many characters; a beamer frame has about
            56. If None, it is not scaled.

        Returns
        -------
        str
            A ``tikzpicture`` with the nodes in layers and arcs that point down.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> print(BayesNetwork({"rain": [], "grass": ["rain"]}).latex())
        \begin{tikzpicture}[x=1cm, y=1cm, every node/.style={font=\small, align=center}]
          \node[draw, rounded corners=4pt, minimum width=1.26cm] (n0) at (0.72,-0.3) {rain};
          \node[draw, rounded corners=4pt, minimum width=1.45cm] (n1) at (0.72,-1.82) {grass};
          \draw[->] (n0) -- (n1);
        \end{tikzpicture}
        """
        check_number("width", width, 1, none=True)
        return tikz_picture(self._known_graph(), width)

    @property
    def _has_parameters(self) -> bool:
        """Whether the network is fitted, or every node has its CPT."""
        return hasattr(self, "schema_")

    def d_separated(
        self, one: str | Iterable[str], other: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Return whether two sets of nodes are d-separated by a third set.

        Nodes that are d-separated are conditionally independent, whatever the parameters are. So the structure
        suffices: the nodes need no CPTs.

        Parameters
        ----------
        one : str or iterable of str
            The first set.
        other : str or iterable of str
            The second set.
        given : str or iterable of str, default=()
            The nodes to condition on.

        Returns
        -------
        bool
            Whether the graph implies the independence.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork({"wet": ["rain", "hose"]})
        >>> net.d_separated("rain", "hose"), net.d_separated("rain", "hose", given="wet")
        (True, False)
        """
        return self._known_graph().d_separated(one, other, given)

    def explain_d_separated(
        self, one: str | Iterable[str], other: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> Account:
        """Show why two sets of nodes are d-separated by a third set or not; the nodes need no CPTs.

        Parameters
        ----------
        one : str or iterable of str
            The first set.
        other : str or iterable of str
            The second set.
        given : str or iterable of str, default=()
            The nodes to condition on.

        Returns
        -------
        Account
            The paths between the two sets, the shortest first, and for each of them whether it is open or which node
            blocks it: a node that is given, or a node at which two arcs meet (a collider) if neither it nor a
            descendant is given.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> print(BayesNetwork({"wet": ["rain", "hose"]}).explain_d_separated("rain", "hose"))
        rain and hose are d-separated: every path is blocked.
        <BLANKLINE>
        Paths
          path               state    because
          rain → wet ← hose  blocked  arcs meet at wet, and neither it nor a descendant is given
        """
        return inspection.separation_account(self._known_graph(), one, other, given)

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Return the Markov blanket of a node: its parents, its children and the other parents of its children.

        Given its Markov blanket, a node is independent of all other nodes. The nodes need no CPTs.

        Parameters
        ----------
        node : str
            The node.

        Returns
        -------
        tuple of str
            The nodes of the Markov blanket, in the order of the network.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> BayesNetwork({"wet": ["rain", "hose"]}).markov_blanket("rain")
        ('wet', 'hose')
        """
        return self._known_graph().markov_blanket(node)

    def independence(self, X: Any, one: str, other: str, given: str | Sequence[str] = ()) -> Grid:
        """Test whether two nominal nodes are conditionally independent, by Pearson's chi-square test.

        Parameters
        ----------
        X : any table
            The rows to test on. Rows in which one of these nodes is missing are ignored.
        one : str
            A nominal node.
        other : str
            Another nominal node.
        given : str or sequence of str, default=()
            Nominal nodes to condition on. The statistic is summed over the combinations of their values.

        Returns
        -------
        Grid
            The statistic, the degrees of freedom (df), the p-value, and whether the nodes are d-separated, so that
            the graph implies independence.

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> tennis = samples.load("tennis").frame
        >>> net = BayesNetwork("naive", target="play").fit(tennis)
        >>> print(net.independence(tennis, "outlook", "wind", given="play"))
        pair                         chi-square  df   p-value  d-separated
        outlook and wind given play     4.47222   3  0.214781  yes
        """
        return inspection.independence_test(self._net(), self._rows_of(X), one, other, given)
