"""Bayesian networks that are specified by hand, learned from data, or both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from countwise._typing import Floats
from countwise.base.term import numeric_and_nominal
from countwise.data.attributes import Attribute, Nominal
from countwise.data.frames import Frame
from countwise.data.output import dense, library_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, warn
from countwise.io.paths import path_of
from countwise.network import bif
from countwise.network.base import NetworkModel
from countwise.network.blueprint import Blueprint, GivenTable
from countwise.network.editing import Editor, HandSpecification
from countwise.network.graph import Graph
from countwise.network.inference.elimination_working import explain_elimination
from countwise.network.search.dispatch import arcs_of, graph_of
from countwise.network.structure_learning import LearnedStructure, StructureLearner, TrainingRows
from countwise.tallies import Counts
from countwise.working import Account

__all__ = ["BayesNetwork"]


@dataclass(eq=False, repr=False)
class BayesNetwork(NetworkModel):
    """Bayesian network over nominal and numeric columns, specified by hand or learned from data.

    .. math:: P(x_1, ..., x_d) = ∏_i P(x_i | parents of x_i)

    A nominal node has a conditional probability table (CPT). A numeric node has one density for each combination of
    its nominal parents' values; the mean of a Gaussian node may also be linear in its Gaussian parents. A numeric
    column is discretized if it is given as a parent of a node of another type, such as a nominal node. A structure
    search does not discretize columns: only a column with the distribution 'binned' can become a parent of a nominal
    node.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default='given'
        The arcs, or the name of the algorithm that learns them. Arcs are ``{child: [parents]}``, pairs (parent,
        child), a `Graph` or a networkx graph. The algorithms are:

        - 'given': no structure learning. The arcs are those of `add_arc`.
        - 'ordering': the K2 algorithm (Cooper and Herskovits, 1992). Each node greedily takes parents from the nodes
          that precede it in `order`.
        - 'backward_ordering': all nodes that precede a node in `order` are its parents at first; then those that do
          not matter are removed one by one. It finds parents that matter only together, such as those of an
          exclusive or.
        - 'orders': a hill-climbing search over orderings, with K2 for each ordering.
        - 'all_orders': K2 for every ordering, for up to 7 nodes.
        - 'annealing': the same search by simulated annealing.
        - 'hill_climb': greedy search that adds, removes and reverses arcs, with a tabu list and restarts.
        - 'chow_liu': the tree with the largest total mutual information (Chow and Liu, 1968).
        - 'naive': naive Bayes; every other node has the single parent `target`.
        - 'tan': tree-augmented naive Bayes around `target` (Friedman, Geiger and Goldszmidt, 1997).
        - 'k_dependence': the k-dependence classifier around `target` (Sahami, 1996).
    order : sequence of str, optional
        The node ordering for 'ordering' and 'backward_ordering': parents precede their children. By default the order
        of the columns. Ignored by the other algorithms.
    criterion : {'bic', 'aic', 'bdeu', 'k2', 'log_likelihood', 'chi_square'} or None, default=None
        The score that the search maximizes; None means 'bic'. 'bdeu' and 'k2' are defined for nominal nodes only, so
        all numeric columns are discretized. Must be None for 'chow_liu', 'tan' and 'k_dependence', which use mutual
        information, and for 'naive', whose arcs are fixed. 'chi_square' is a test, for 'backward_ordering' only: a
        parent is removed if the node does not depend on it given the other parents. For a numeric node it is the
        likelihood-ratio test.
    equivalent_sample_size : float, default=1
        The weight of the BDeu prior, in rows. Used by ``criterion='bdeu'`` only.
    alpha : float, default=0.05
        The significance level of ``criterion='chi_square'``: a parent is removed if its p-value is larger.
    max_parents : int, default=3
        The largest number of parents of a node. 'backward_ordering' removes parents until it is reached. Ignored by
        'chow_liu', 'naive', 'tan' and 'k_dependence'.
    required : arcs, optional
        Arcs that the learned structure must contain, in any form that `structure` accepts. Arcs of `add_arc` are
        required too. If a tree or a structure around `target` violates `required`, `forbidden` or `tiers`, an error
        is raised; the other searches respect them.
    forbidden : arcs, optional
        Arcs that the learned structure must not contain.
    tiers : list of lists of str, or mapping of str to int, optional
        A partial ordering of the nodes, with the earliest tier first: no learned arc leads from a later tier to an
        earlier one.
    root : str, optional
        The root of the tree for 'chow_liu' and 'tan'. By default the first nominal node, or the first node if all are
        numeric.
    max_dependence : int, default=2
        For 'k_dependence': the largest number of parents in addition to the class.
    smoothing : float, {'laplace', 'global', 'bdeu', 'none'}, MEstimate, Dirichlet or None, default=1
        The prior of the CPTs. A number is the pseudocount of each cell (Laplace); 'laplace' is 1. 'global' divides
        one pseudocount in proportion to the marginal frequencies of the node (an m-estimate with m = 1). 'bdeu' is
        ``Dirichlet(1)``. 0, 'none' and None give relative frequencies. Unless smoothing is 0, a Gaussian node with a
        nominal parent and at least one more parent also gets one prior row with the pooled covariance for each
        combination of its nominal parents' values.
    prior : {'raw', 'smoothed', 'uniform'}, mapping or array-like, default='raw'
        P(target), as in `NaiveBayesClassifier`: the relative frequencies, the frequencies smoothed like the CPTs,
        uniform, or given probabilities. Must be 'raw' if there is no `target`, or if it has parents, because its CPT
        is smoothed then.
    distributions : str, distribution or mapping of column to either, optional
        The densities of numeric columns: 'gaussian' (the default for numeric columns), 'poisson' (the default for
        count columns), 'kernel' or 'binned'.
    ranges : int, str, list of edges or Binned, default=4
        How to discretize a numeric column: the number of equal-frequency bins, the name of an unsupervised
        discretization method, or the cut points. A supervised method such as 'mdl' finds no cut points, because the
        columns are discretized without a class; use `BayesNetworkClassifier` for it. A column with the distribution
        'binned' uses the bins of that distribution.
    types : mapping of column to type, str or Schema, optional
        The column types; see `NaiveBayesClassifier`. By default the dtype decides.
    categorical_features : array-like, optional
        The nominal columns in scikit-learn's convention: names, positions or a mask.
    missing : {'em', 'available', 'complete'}, default='em'
        How missing training values are handled. 'em' estimates expected counts by EM, and uses structural EM if the
        structure is learned. 'available' estimates each node from the rows in which the node and its parents are all
        observed. 'complete' drops every row with a missing value, also from the domains of the columns.
    restarts : int, default=3
        The number of restarts of 'hill_climb' (0 or more), or of starting orderings of 'orders' and 'annealing' (1 or
        more).
    max_iter : int, default=500
        The largest number of EM iterations. A warning is issued if EM has not converged by then.
    tol : float, default=1e-8
        EM stops when no parameter changes by more than this, or when the log-likelihood is practically constant.
        Means and standard deviations are measured in units of the standard deviation.
    random_state : int or None, default=0
        The seed of the structure search and of the initial CPTs of latent nodes. With None the initial CPTs differ in
        each fit, and the search uses the seed 0.
    target : str, optional
        The class node, which 'naive', 'tan' and 'k_dependence' need. Its frequencies are smoothed only on request
        (`prior`).
    latent : mapping of str to int or list, optional
        Nodes that are never observed, with their number of values or the list of their values. Requires
        ``missing='em'``.
    nodes : mapping, optional
        Declared nodes; `add_node` sets it.
    arcs : list of pairs, optional
        Arcs specified by hand; `add_arc` sets it.
    cpts : mapping, optional
        CPTs specified by hand; `set_cpt` sets it.

    Attributes
    ----------
    graph_ : Graph
        The structure.
    net_ : Net
        The parameters. ``net_.tables[node]`` is the CPT of a nominal node, an array with one axis for each parent and
        the last axis for the node. ``net_.densities[node]`` holds the parameters of a numeric node.
    densities_ : dict of str to Density
        The distribution of every node for each combination of its nominal parents' values; the last parent varies
        fastest. A nominal node has ``counts`` and ``prob``. A numeric node has ``mean`` and ``sd`` (Gaussian),
        ``rate`` (counts), or ``intercept``, ``slope`` and ``sd`` (linear Gaussian). Empty for a network that was not
        fitted.
    found_ : FoundStructure or None
        The result of the structure search: ``score``; ``tried`` with the gain of every candidate arc; ``steps`` of a
        search by an ordering; ``orders`` with the score of each ordering, for 'all_orders'. None if the structure was
        given. `explain_structure` shows it.
    em_ : Learned or None
        The result of EM; ``em_.log_likelihoods`` holds the log-likelihood before each iteration. None if EM was not
        needed.
    n_iter_ : int
        The number of EM iterations; 1 if EM was not needed.
    tallies_ : dict of str to tally
        The counts of each node with its parents; expected counts if EM was used.
    cuts_ : dict of str to tuple of float
        The cut points of each discretized column.
    schema_ : Schema
        The type and the values of each column.

    Examples
    --------
    >>> from countwise import BayesNetwork, samples
    >>> tennis = samples.load("tennis")
    >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(tennis.frame)
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> print(net.query("play", day))
    P(play | outlook = Sunny, temperature = Cool, humidity = High, wind = Strong)
    No   0.795417
    Yes  0.204583
    >>> net.d_separated("outlook", "wind", given="play"), net.d_separated("outlook", "wind")
    (True, False)
    """

    _: KW_ONLY
    target: str | None = None
    latent: Any = None
    nodes: Any = None
    arcs: Any = None
    cpts: Any = None

    _ignored = ("y", "classes")

    # -- specification by hand -----------------------------------------------------------

    def add_node(
        self,
        name: str,
        values: Sequence[Any] | Attribute | None = None,
        cpt: Any = None,
        *,
        X: Any = None,
        sample_weight: Any = None,
        parents: str | Iterable[str] = (),
        children: str | Iterable[str] = (),
    ) -> Self:
        """Declare a node by hand, or add a column to a fitted network. The network is changed in place.

        Without `X` the node is declared by hand. With `X` the network must be fitted: the new column becomes a node,
        its distribution and those of its children are estimated from the rows of `X`, and all other distributions are
        kept.

        Parameters
        ----------
        name : str
            The name of the node, which is the name of its column.
        values : sequence or Attribute, optional
            The values of the node, in order. By default they are learned from the data.
        cpt : array-like or mapping, optional
            The CPT of the node, in the form that `set_cpt` accepts. Add the arcs into the node first.
        X : any table, optional
            Rows with all columns of the fitted network and the new column.
        sample_weight : array-like or str, optional
            The weight of each row of `X`, or the name of the column that holds it.
        parents : str or iterable of str, default=()
            The parents of the new node. Requires `X`.
        children : str or iterable of str, default=()
            The children of the new node. Requires `X`.

        Returns
        -------
        self
            The network itself.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net.graph_.nodes
        ('rain',)
        """
        if X is not None:
            if values is not None or cpt is not None:
                raise OptionError(
                    "add_node takes the values and the CPT from the rows X; do not pass values or cpt with X.",
                    hint="drop values and cpt, or drop X.",
                )
            return Editor(self).add_node(name, parents, children, X, None, sample_weight)
        if any(not isinstance(given, str | Sequence) or len(given) for given in (parents, children)):
            raise OptionError(
                "add_node accepts parents and children only together with rows X.",
                hint="use add_arc to specify arcs by hand.",
            )
        spec = self._drawn().with_node(str(name), values)
        return self._specify(spec if cpt is None else spec.with_table(str(name), cpt, None))

    def add_arc(self, parent: str, child: str, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Specify an arc by hand, or add an arc to a fitted network. The network is changed in place.

        Parameters
        ----------
        parent : str
            The node where the arc starts. Without `X`, a node that does not exist is declared.
        child : str
            The node where the arc ends. Without `X`, a node that does not exist is declared.
        X : any table, optional
            Rows from which the child's distribution is estimated; all other distributions are kept. The network must
            be fitted.
        y : ignored
            Present for API consistency.
        sample_weight : array-like or str, optional
            The weight of each row of `X`, or the name of the column that holds it.

        Returns
        -------
        self
            The network itself.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> BayesNetwork().add_arc("rain", "wet").graph_.arcs
        (('rain', 'wet'),)
        """
        if X is not None:
            return Editor(self).add_arc(parent, child, X, None, sample_weight)
        return self._specify(self._drawn().with_arc(str(parent), str(child)))

    def remove_arc(self, parent: str, child: str, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove an arc that was specified by hand, or an arc of a fitted network. The network is changed in place.

        Parameters
        ----------
        parent : str
            The node where the arc starts.
        child : str
            The node where the arc ends. Without `X`, it loses its CPT, which depends on the parent.
        X : any table, optional
            Rows from which the child's distribution is estimated; all other distributions are kept. The network must
            be fitted.
        y : ignored
            Present for API consistency.
        sample_weight : array-like or str, optional
            The weight of each row of `X`, or the name of the column that holds it.

        Returns
        -------
        self
            The network itself.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> BayesNetwork({"wet": ["rain", "hose"]}).remove_arc("hose", "wet").graph_.arcs
        (('rain', 'wet'),)
        """
        if X is not None:
            return super().remove_arc(parent, child, X, None, sample_weight)
        return self._specify(self._drawn().without_arc(parent, child))

    def set_cpt(self, name: str, table: Any, rows: float | None = None) -> Self:
        """Set the conditional probability table (CPT) of a node by hand. The network is changed in place.

        Parameters
        ----------
        name : str
            The node.
        table : array-like or mapping
            P(node | parents). An array has one axis for each parent, in the order in which their arcs were added, and
            the last axis for the node. A mapping is ``{value: p}`` without parents, ``{parent value: {value: p}}``
            with one parent and ``{(value, value): {value: p}}`` with several.
        rows : float, optional
            The weight of the table as a prior when the network is fitted: the number of prior rows, divided evenly
            among the combinations of the parents' values. They replace the pseudocounts of `smoothing`. By default
            the data do not change the table.

        Returns
        -------
        self
            The network itself.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).add_arc("rain", "wet")
        >>> net = net.set_cpt("wet", {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.2, "yes": 0.8}})
        >>> print(net.cpt("wet"))
        rain  wet = no  wet = yes
        no         0.9        0.1
        yes        0.2        0.8
        """
        return self._specify(self._drawn().with_table(str(name), table, rows))

    def _specification(self) -> HandSpecification:
        for name, given in (("nodes", self.nodes), ("cpts", self.cpts)):
            if not isinstance(given, Mapping | None):
                raise OptionError(f"{name} must be a mapping of nodes, not {given!r}.", hint="use add_node.")
        for name in set(self.cpts or ()) - set(self.nodes or ()):
            raise OptionError(f"cpts refers to node {name!r}, but nodes does not contain it.")
        for name, given in (self.cpts or {}).items():
            if not (isinstance(given, Mapping) and {"table", "rows"} <= set(given)):
                raise OptionError(f"The CPT of node {name!r} is malformed.", hint="use set_cpt(node, table).")
        return HandSpecification(dict(self.nodes or {}), arcs_of(self.arcs) or [], dict(self.cpts or {}))

    def _specify(self, spec: HandSpecification) -> Self:
        """Store the hand-made specification; a network that has learned from data cannot be changed this way."""
        if getattr(self, "tallies_", None):
            raise OptionError(
                "The network has learned from data; nodes, arcs and CPTs cannot be specified by hand.",
                hint="pass rows X to add_arc, add_node or remove_arc.",
            )
        for name in ("schema_", "net_", "_blueprint"):
            vars(self).pop(name, None)
        self.nodes, self.arcs, self.cpts = spec.nodes or None, spec.arcs or None, spec.tables or None
        if graph_of(self.structure) is not None:  # its nodes and arcs are now in `nodes` and `arcs`
            self.structure = "given"
        return self

    def _given_tables(self) -> GivenTable:
        by_hand = self._specification().table

        def given(name: str, tally: Counts) -> Floats | None:
            found = by_hand(name, tally)
            return self._prior_table(name, tally) if found is None else found

        return given

    def _class_name(self) -> str | None:
        return self.target if isinstance(self.target, str) else None

    @property
    def graph_(self) -> Graph:
        """The structure; available before `fit` if it is given."""
        if "_blueprint" not in vars(self) and (self.nodes or self.arcs):
            return self._drawn().graph()
        return super().graph_

    def _drawn(self) -> HandSpecification:
        """Return the specification with the nodes and arcs of a given `structure`."""
        spec, graph = self._specification(), graph_of(self.structure)
        arcs = dict.fromkeys([*(graph.arcs if graph else ()), *spec.arcs])
        names = dict.fromkeys([*(graph or ()), *spec.nodes, *(name for arc in spec.arcs for name in arc)])
        return replace(spec, nodes={name: spec.nodes.get(name) for name in names}, arcs=list(arcs))

    @property
    def _has_parameters(self) -> bool:
        return super()._has_parameters or (bool(self.nodes) and set(self.nodes) == set(self.cpts or ()))

    def _check_fitted(self, *, answers: bool = True) -> None:
        waits = getattr(self, "_waiting", None) is not None  # for complete rows
        if not hasattr(self, "schema_") and not waits and self._drawn().nodes:
            self._estimate_by_hand()
        super()._check_fitted(answers=answers)

    def _estimate_by_hand(self) -> None:
        """Build the network from the given CPTs, without data."""
        self.net_ = self._drawn().net()
        self._blueprint = Blueprint(self.net_.graph, {}, {}, {}, self.smoothing, class_is_node=False)
        self.schema_ = Schema(self.net_.attributes.values())
        self.target_ = Nominal("", (0,))
        self.tallies_, self.densities_, self.terms_, self.found_, self.em_ = {}, {}, [], None, None
        self.n_rows_ = self.n_left_out_ = 0
        self.n_features_in_ = len(self.schema_)
        self._label_type = None

    def _revive(self, state: Mapping[str, Any]) -> None:
        self._specification().check()
        if state["tallies"]:
            super()._revive(state)
        else:
            self._estimate_by_hand()

    # -- files -------------------------------------------------------------------------

    @classmethod
    def read_bif(cls, path: str | os.PathLike[str], **settings: Any) -> Self:
        """Read a network from a file in the Bayesian Interchange Format (BIF).

        Parameters
        ----------
        path : str or path
            The file.
        **settings
            Parameters of the network, such as `smoothing`, for a later `fit`.

        Returns
        -------
        BayesNetwork
            The network with the nodes, arcs and CPTs of the file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from countwise import BayesNetwork
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).write_bif(Path(folder) / "rain.bif")
        ...     BayesNetwork.read_bif(Path(folder) / "rain.bif").query("rain")["yes"]
        0.2
        """
        read = bif.read_bif_file(path_of(path))
        return cls(
            nodes={name: list(values) for name, values in read.values.items()},
            arcs=[(p, c) for c, above in read.parents.items() for p in above],
            cpts={name: {"table": table.tolist(), "rows": None} for name, table in read.tables.items()},
            **settings,
        )

    def write_bif(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write the network to a file in the Bayesian Interchange Format (BIF).

        All nodes must be nominal. Probabilities are written with full precision.

        Parameters
        ----------
        path : str or path
            The file.
        name : str, default='network'
            The name of the network in the file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from countwise import BayesNetwork
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "rain.bif"
        ...     BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).write_bif(file, name="weather")
        ...     print(file.read_text().splitlines()[0])
        network weather {
        """
        bif.write_bif_file(path_of(path), self._net(), name)

    def to_networkx(self) -> Any:
        """Return the network as a networkx graph.

        Returns
        -------
        networkx.DiGraph
            The arcs as edges. A nominal node has the attributes ``values``, ``table`` and ``parents``; a numeric node
            has ``kind`` (its column type) and ``parents``. Before the network has parameters, a node has ``parents``.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net.to_networkx().nodes["rain"]["values"]
        ('no', 'yes')
        """
        net = self._net() if self._has_parameters else None
        return bif.to_networkx(net, self._known_graph() if net is None else net.graph)

    # -- from data -------------------------------------------------------------------------

    def _needs_target(self) -> bool:
        return False

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return dense(X)

    def _infer_schema(self, frame: Frame) -> Schema:
        declared = self._specification().declared()
        schema = numeric_and_nominal(super()._infer_schema(frame), "a network")
        if self._latent() and self.missing != "em":
            raise OptionError(
                f"Latent nodes are learned by EM, which missing={self.missing!r} turns off.", hint="use missing='em'."
            )
        return Schema(declared.get(a.name) or a for a in schema.attributes)

    def _latent(self) -> dict[str, Nominal]:
        found: dict[str, Nominal] = {}
        if self.latent is not None and not isinstance(self.latent, Mapping):
            raise OptionError(
                f"latent must map each latent node to its number of values, not {self.latent!r}.",
                hint="pass for example {'cluster': 2}.",
            )
        for name, size in (self.latent or {}).items():
            whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
            if not whole and (isinstance(size, str | bool) or not isinstance(size, Iterable)):
                raise OptionError(
                    f"The latent node {name!r} needs a number of values or a list of values, not {size!r}."
                )
            values = tuple(range(int(size))) if whole else tuple(size)
            if len(values) < 1:
                raise OptionError(f"The latent node {name!r} needs at least one value.")
            found[str(name)] = Nominal(str(name), values, grows=False)
        return found

    def _structure_learner(self, schema: Schema, target: Nominal) -> StructureLearner:
        spec, latent = self._specification(), self._latent()
        for name in latent:
            if name in schema:
                raise OptionError(
                    f"The latent node {name!r} is also a column of the table.", hint="rename the latent node."
                )
        spec.check_columns(schema, latent)
        return StructureLearner(
            self,
            schema,
            target,
            latent=latent,
            arcs=spec.arcs,
            fixed=spec.tables,
            class_is_node=False,
            around=self.target,
        )

    def _begin(self, schema: Schema, target: Nominal, rows: TrainingRows, frame: Frame) -> LearnedStructure:
        learned = super()._begin(schema, target, rows, frame)
        self._specification().check_graph(learned.plan.graph)
        return learned

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the structure, unless it is given, and the distribution of each node.

        Parameters
        ----------
        X : any table
            The training rows. Each column is a node.
        y : ignored
            Present for API consistency.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column that holds it.

        Returns
        -------
        self
            The fitted network.

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> net = BayesNetwork("hill_climb").fit(samples.load("tennis").frame)
        >>> len(net.graph_.nodes)
        5
        """
        super().fit(X, None, sample_weight)
        given = isinstance(self.structure, str) and self.structure == "given"
        if given and not (arcs_of(self.arcs) or self.nodes) and len(self.schema_) > 1:
            warn("No arcs were given, so all nodes are independent. Hint: use structure='hill_climb' to learn arcs.")
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the distributions with more rows, in place. The structure does not change.

        The first call on a network that is not fitted is the same as `fit`. With ``missing='em'``, later rows must
        not contain missing values for which EM is needed.

        Parameters
        ----------
        X : any table
            More training rows.
        y, classes : ignored
            Present for API consistency.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column that holds it.

        Returns
        -------
        self
            The updated network.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork({"wet": ["rain"]}).fit({"rain": ["no", "yes"], "wet": ["no", "yes"]})
        >>> net.partial_fit({"rain": ["yes"], "wet": ["yes"]}).tallies_["wet"].table.tolist()
        [[1, 0], [0, 2]]
        """
        return super().partial_fit(X, None, None, sample_weight)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Subtract training rows from the counts, as if the network had been fitted without them.

        The network is changed in place; its structure does not change. A network that was fitted by EM cannot forget
        rows.

        Parameters
        ----------
        X : any table
            Rows on which the network was fitted.
        y : ignored
            Present for API consistency.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column that holds it.

        Returns
        -------
        self
            The updated network.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork({"wet": ["rain"]}).fit({"rain": ["no", "yes", "yes"], "wet": ["no", "yes", "yes"]})
        >>> net.forget({"rain": ["yes"], "wet": ["yes"]}).tallies_["wet"].table.tolist()
        [[1, 0], [0, 1]]
        """
        return super().forget(X, None, sample_weight)

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the total log-likelihood of the rows. Missing values are summed out.

        Parameters
        ----------
        X : any table
            The rows, with the columns of `fit`.
        y : ignored
            Present for API consistency.

        Returns
        -------
        float
            The sum of `score_samples`.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.75, 0.25])
        >>> round(net.score({"rain": ["yes", "no"]}), 6)
        -1.673976
        """
        return float(self.score_samples(X).sum())

    def explain(
        self,
        nodes: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        *,
        do: Mapping[str, Any] | None = None,
    ) -> Account:
        """Show the computation of a query by variable elimination, step by step.

        Parameters
        ----------
        nodes : str or sequence of str
            A nominal node, or several nominal nodes for their joint distribution.
        given : mapping of str to value, optional
            The evidence, in the form that `query` accepts.
        do : mapping of str to value, optional
            An intervention, in the form that `query` accepts. The working shows the arcs that it cuts, and compares
            setting a value with observing it.

        Returns
        -------
        Account
            The factors, their products and their sums. It prints as text and has an HTML and a LaTeX form.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.explain("rain", {"wet": "yes"}).sections[-1])
        Remaining factors: P(rain) · P(wet = yes | rain)
          rain  P(rain)  P(wet = yes | rain)  product  P(rain | wet = yes)
          no        0.8                  0.1     0.08             0.333333
          yes       0.2                  0.8     0.16             0.666667
          The products sum to 0.24 = P(wet = yes); each is divided by this sum.
        """
        return explain_elimination(self._situation(given, do), nodes)
