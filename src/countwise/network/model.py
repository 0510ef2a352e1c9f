"""Bayesian networks: drawn by hand, learned from tables, or both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from countwise.base.term import numeric_and_nominal
from countwise.data.attributes import Attribute, Nominal
from countwise.data.frames import Frame
from countwise.data.output import dense, library_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, warn
from countwise.network import bif
from countwise.network.base import NetworkModel
from countwise.network.blueprint import Blueprint, GivenTable
from countwise.network.editing import Drawing, Editor
from countwise.network.graph import Graph
from countwise.network.inference.elimination_working import explain_elimination
from countwise.network.structure_learning import LearnedStructure, StructureLearner, TrainingRows
from countwise.working import Account

__all__ = ["BayesNetwork"]


@dataclass(eq=False, repr=False)
class BayesNetwork(NetworkModel):
    """A Bayesian network over nominal and numeric variables: drawn by hand, learned from a table, or both.

    .. math:: P(x_1, ..., x_d) = ∏_i P(x_i | parents of x_i)

    A nominal node has a conditional probability table. A numeric node has a distribution for each combination of its
    nominal parents' values, and a Gaussian may be linear in Gaussian parents. A numeric column that nominal nodes
    depend on is binned.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default="given"
        The arcs: ``{child: [parents]}`` or pairs (parent, child); or "given" (what `add_arc` drew), "ordering" (the
        K2 algorithm: parents are added greedily along `order`), "orders" and "annealing" (a search for the ordering),
        "chow_liu" (the tree of most mutual information), "naive", "tan", "k_dependence" (with the class `target`),
        "hill_climb".
    order : sequence of str, optional
        For "ordering": causes before effects; by default the columns as they stand.
    criterion : {"bic", "aic", "bdeu", "k2", "log_likelihood"} or None, default=None
        The score of a search; None is "bic". "bdeu" and "k2" are scores of nominal columns: numeric ones are then
        binned. "chow_liu", "tan" and "k_dependence" go by mutual information and "naive" is fixed: they take none.
    equivalent_sample_size : float, default=1
        For "bdeu": how many imagined rows the prior is worth.
    max_parents : int, default=3
        The most parents that a search gives a node.
    required, forbidden : arcs, optional
        Arcs that a search must and must not find; those of `add_arc` are required too.
    tiers : list of lists, or mapping of node to number, optional
        No arc that is searched goes from a later tier to an earlier one.
    target : str, optional
        The class, for "naive", "tan" and "k_dependence".
    root : str, optional
        The root of the tree of "chow_liu" and "tan".
    max_dependence : int, default=2
        For "k_dependence": the most parents beside the class.
    smoothing : float, {"laplace", "global", "bdeu", "none"}, MEstimate, Dirichlet or None, default=1
        The prior of the tables: Laplace's with that ε, or imagined rows. Unless it is 0, a Gaussian in a combination
        of several parents' values has one imagined row of the pooled variance.
    distributions : mapping of column to distribution, optional
        Of numeric columns: "gaussian" (the default), "poisson" (that of counts), "kernel" or "binned".
    ranges : int, str, list of edges or Binned, default=4
        How numeric columns are cut that nominal nodes depend on: into how many ranges of equal frequency, or by which
        rule.
    types, categorical_features
        What the columns are; see `NaiveBayesClassifier`.
    missing : {"em", "available", "complete"}, default="em"
        Missing values: expected counts by EM (and structural EM where the structure is searched), each family from
        the rows in which nothing of it is missing, or only complete rows.
    latent : mapping of node to number of values or list of values, optional
        Nodes that are never observed.
    restarts : int, default=3
        From how many starts a search begins.
    max_iter : int, default=500
        The most steps of EM.
    tol : float, default=1e-8
        EM ends when no probability changes by more.
    random_state : int or None, default=0
        The seed of searches, and of the start of latent nodes.
    nodes, arcs, cpts : optional
        What `add_node`, `add_arc` and `set_cpt` wrote.

    Attributes
    ----------
    graph_ : Graph
        The structure.
    net_ : Net
        The parameters: ``net_.tables[node]`` is an array with an axis for each parent and the last for the node;
        ``net_.densities[node]`` has the parameters of a numeric node.
    densities_ : dict of str to Density
        The distribution of every node over the combinations of its nominal parents' values, the last parent running
        fastest: counts and probabilities of a nominal node (``counts``, ``prob``), parameters of a numeric one
        (``mean``, ``sd``, ``rate``; ``intercept``, ``slope``, ``sd`` of a linear Gaussian).
    found_ : FoundStructure or None
        The score of a searched structure, and every arc that was tried.
    em_ : Learned or None
        The log-likelihood before each step of EM.
    tallies_ : dict
        All that was counted; expected counts where EM filled missing values.
    cuts_ : dict
        Where numeric columns are cut that are binned.

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

    # -- by hand -----------------------------------------------------------------------

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
        """Declare a node by hand; or, with rows X, add a column of them to a fitted network.

        Parameters
        ----------
        name : str
            Its name, which is that of its column.
        values : sequence or Attribute, optional
            Its values, in order; if not given, the data says.
        cpt : array-like or mapping, optional
            Its table, if all its arcs are drawn: see `set_cpt`.
        X, sample_weight : optional
            Rows with all columns of the fitted network and the new one.
        parents, children : str or iterable of str
            With X: what the node depends on, and what depends on it. The children's distributions are estimated anew;
            all else stays.

        Returns
        -------
        self
        """
        if X is not None:
            if values is not None or cpt is not None:
                raise OptionError("Values and table of a node come from the rows X.", hint="leave one of them out.")
            return Editor(self).add_node(name, parents, children, X, None, sample_weight)
        if parents or children:
            raise OptionError("parents and children need rows X to learn from.", hint="add_arc draws arcs by hand.")
        self._draw(self._drawing().with_node(str(name), values))
        return self if cpt is None else self.set_cpt(name, cpt)

    def add_arc(self, parent: str, child: str, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw an arc by hand; or, with rows X, add an arc to a fitted network.

        Parameters
        ----------
        parent, child : str
            Nodes: the child depends on the parent. By hand, those that are not there yet are declared.
        X, sample_weight : optional
            Rows, from which the child's distribution is estimated anew; all else stays.
        y : ignored

        Returns
        -------
        self
        """
        if X is not None:
            return Editor(self).add_arc(parent, child, X, None, sample_weight)
        return self._draw(self._drawing().with_arc(str(parent), str(child)))

    def set_cpt(self, name: str, table: Any, rows: float | None = None) -> Self:
        """Give the conditional probability table of a node by hand.

        Parameters
        ----------
        name : str
        table : array-like or mapping
            P(node | parents): an axis for each parent, in the order in which their arcs were drawn, and the last for
            the node; or ``{value: p}``, ``{parent's value: {value: p}}``, ``{(value, value): {value: p}}``.
        rows : float, optional
            How many rows it is worth when there are data too; if not given, the data do not change it.

        Returns
        -------
        self
        """
        return self._draw(self._drawing().with_table(str(name), table, rows))

    def _drawing(self) -> Drawing:
        return Drawing(dict(self.nodes or {}), [(p, c) for p, c in self.arcs or []], dict(self.cpts or {}))

    def _draw(self, drawing: Drawing) -> Self:
        """Keep what was drawn; a network that has learned from data is not drawn by hand any more."""
        if getattr(self, "tallies_", None):
            raise OptionError(
                "The network has learned from data; it is not drawn by hand any more.",
                hint="add_arc and add_node extend it, with rows X to learn from.",
            )
        for name in ("schema_", "net_", "_blueprint"):
            vars(self).pop(name, None)
        self.nodes, self.arcs, self.cpts = drawing.nodes or None, drawing.arcs or None, drawing.tables or None
        return self

    def _given_tables(self) -> GivenTable:
        return self._drawing().table

    @property
    def graph_(self) -> Graph:
        """The structure; of a network drawn by hand as soon as it is drawn."""
        drawn = "_blueprint" not in vars(self) and self.nodes
        return self._drawing().graph() if drawn else super().graph_

    def _check_fitted(self, *, answers: bool = True) -> None:
        if not hasattr(self, "schema_") and self.nodes:
            self._estimate_by_hand()
        super()._check_fitted(answers=answers)

    def _estimate_by_hand(self) -> None:
        """The network of tables that were given, without any data."""
        self.net_ = self._drawing().net()
        self._blueprint = Blueprint(self.net_.graph, {}, {}, {}, self.smoothing, class_is_node=False)
        self.schema_ = Schema(self.net_.attributes.values())
        self.target_ = Nominal("", (0,))
        self.tallies_, self.densities_, self.terms_, self.found_, self.em_ = {}, {}, [], None, None
        self.n_rows_ = self.n_left_out_ = 0
        self.n_features_in_ = len(self.schema_)
        self._label_type = None

    def _revive(self, state: Mapping[str, Any]) -> None:
        if state["tallies"]:
            super()._revive(state)
        else:
            self._estimate_by_hand()

    # -- files -------------------------------------------------------------------------

    @classmethod
    def read_bif(cls, path: str | os.PathLike[str], **settings: Any) -> Self:
        """A network from a file in the interchange format BIF.

        Parameters
        ----------
        path : str or path
        **settings
            Of the network, for a later `fit`.

        Returns
        -------
        BayesNetwork
        """
        read = bif.read_bif_file(Path(path))
        return cls(
            nodes={name: list(values) for name, values in read.values.items()},
            arcs=[(p, c) for c, above in read.parents.items() for p in above],
            cpts={name: {"table": table.tolist(), "rows": None} for name, table in read.tables.items()},
            **settings,
        )

    def write_bif(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write the network to a BIF file, with every digit; all nodes must be nominal.

        Parameters
        ----------
        path : str or path
        name : str, default="network"
            What the network is called in it.
        """
        bif.write_bif_file(Path(path), self._net(), name)

    def to_networkx(self) -> Any:
        """The network as a networkx graph: a node each, with its values and table, and an arc each."""
        return bif.to_networkx(self._net())

    # -- from data -------------------------------------------------------------------------

    def _needs_target(self) -> bool:
        return False

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return dense(X)

    def _infer_schema(self, frame: Frame) -> Schema:
        declared = self._drawing().declared()
        schema = numeric_and_nominal(super()._infer_schema(frame), "a network")
        if self._latent() and self.missing != "em":
            raise OptionError("Latent nodes are learned by EM.", hint="missing='em'.")
        return Schema(declared.get(a.name) or a for a in schema.attributes)

    def _latent(self) -> dict[str, Nominal]:
        found: dict[str, Nominal] = {}
        if self.latent is not None and not isinstance(self.latent, Mapping):
            raise OptionError(f"latent={self.latent!r} must say how many values each node has: {{'kind': 2}}.")
        for name, size in (self.latent or {}).items():
            whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
            if not whole and (isinstance(size, str | bool) or not isinstance(size, Iterable)):
                raise OptionError(
                    f"The latent node {name!r} needs a number of values or a list of them, not {size!r}."
                )
            values = tuple(range(int(size))) if whole else tuple(size)
            if len(values) < 1:
                raise OptionError(f"The latent node {name!r} needs at least one value.")
            found[str(name)] = Nominal(str(name), values, grows=False)
        return found

    def _structure_learner(self, schema: Schema, target: Nominal) -> StructureLearner:
        drawing, latent = self._drawing(), self._latent()
        for name in latent:
            if name in schema:
                raise OptionError(f"The latent node {name!r} is a column of the table.", hint="give it another name.")
        drawing.check_columns(schema, latent)
        return StructureLearner(
            self,
            schema,
            target,
            latent=latent,
            arcs=drawing.arcs,
            fixed=drawing.tables,
            class_is_node=False,
            around=self.target,
        )

    def _begin(self, schema: Schema, target: Nominal, rows: TrainingRows, frame: Frame) -> LearnedStructure:
        learned = super()._begin(schema, target, rows, frame)
        self._drawing().check_graph(learned.plan.graph)
        return learned

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the structure if it is not given, and the distribution of each node; y is ignored."""
        super().fit(X, None, sample_weight)
        given = isinstance(self.structure, str) and self.structure == "given"
        if given and not (self.arcs or self.nodes) and len(self.schema_) > 1:
            warn("No arcs were given: every node stands alone. Hint: structure='hill_climb' looks for arcs.")
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; the structure stays as it is. y and classes are ignored."""
        return super().partial_fit(X, None, None, sample_weight)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget rows, as if they had never been there; the structure stays as it is. y is ignored."""
        return super().forget(X, None, sample_weight)

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of all rows together, with missing values summed out; y is ignored."""
        return float(self.score_samples(X).sum())

    def explain(self, asked: str | Sequence[str], given: Mapping[str, Any] | None = None) -> Account:
        """P(asked | given) by variable elimination, step by step: factors, products, sums.

        Parameters
        ----------
        asked : str or sequence of str
            A nominal node, or several.
        given : mapping of str to value, optional
            The evidence, as for `query`.

        Returns
        -------
        Account
            As text, HTML or LaTeX.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.explain("rain", {"wet": "yes"}).sections[-1])
        What is left: P(rain) · P(wet = yes | rain)
          rain  P(rain)  P(wet = yes | rain)  product  P(rain | wet = yes)
          no        0.8                  0.1     0.08             0.333333
          yes       0.2                  0.8     0.16             0.666667
          The sum of the products is 0.24 = P(wet = yes); each is divided by it.
        """
        return explain_elimination(self._net(), asked, self._evidence(given))
