"""Bayesian network classifiers: naive Bayes, TAN, k-dependence, or any structure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.portraits import values_around
from countwise.base.protocol import dirichlet_draws
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import narrowest
from countwise.data.frames import Frame
from countwise.data.output import library_of
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Block, Text
from countwise.distributions import MEstimate, smoothing_of
from countwise.distributions.categorical import CategoricalDensity
from countwise.distributions.gaussian import drawn_log_densities
from countwise.errors import SEED, OptionError, check_flag, check_number, check_settings, check_value
from countwise.network.base import MOST_ROWS, NetworkModel
from countwise.network.blueprint import GivenTable, is_empty
from countwise.network.classifier_working import SUMMED, NetworkWorking
from countwise.network.editing import Editor
from countwise.network.families import table_smoothing
from countwise.network.family_scores import MOST_CELLS
from countwise.network.inference.batch_inference import EvidenceRows, batches
from countwise.network.linear_gaussian import LinearDensity
from countwise.network.net import Net
from countwise.network.queries import sample_rows
from countwise.network.search.class_structures import conditional_information
from countwise.network.structure_learning import LearnedStructure, MemoryRows, StructureLearner, TrainingRows
from countwise.scoring.plan import Scoring
from countwise.working import Factor, Grid, Step, Working
from countwise.working.numbers import number, probability

__all__ = ["BayesNetworkClassifier", "FamilyLookups"]

_MOST_PAIRS = 20_000  # with more pairs of attributes, `conditional_mi_` is computed only if the structure needs it


@dataclass(eq=False, repr=False)
class BayesNetworkClassifier(NetworkModel, GenerativeClassifier):
    """Bayesian network classifier: naive Bayes, tree-augmented naive Bayes (TAN), or any structure.

    .. math:: P(c | x) ∝ P(c | parents) ∏_a P(x_a | c, parents of a)

    Naive Bayes assumes that attributes are independent given the class. `conditional_mi_` shows the pairs that
    violate this assumption. The other structures add arcs between attributes: 'tan' gives each attribute but one an
    attribute as a second parent, 'k_dependence' gives each attribute up to `max_dependence` of them, and 'hill_climb'
    adds the arcs that raise the score. In prediction, a missing value is summed out of the factors that contain it.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default='tan'
        'naive', 'tan', 'k_dependence', 'hill_climb', 'ordering', 'backward_ordering', 'orders', 'all_orders',
        'annealing', 'chow_liu', or the arcs; see `BayesNetwork`. The class is a node with the name of its column, or
        "class" if it has none.
    order : sequence of str, optional
        The node ordering for 'ordering' and 'backward_ordering': parents precede their children. By default the
        class, then the columns.
    criterion : {'bic', 'aic', 'bdeu', 'k2', 'log_likelihood', 'chi_square'} or None, default=None
        The score that the search maximizes; None means 'bic'. With 'bdeu' and 'k2' all numeric columns are
        discretized. 'chi_square' is a test; see `BayesNetwork`. Must be None for 'naive', 'tan', 'k_dependence' and
        'chow_liu', which do not maximize a score.
    equivalent_sample_size : float, default=1
        The weight of the BDeu prior, in rows. Used by ``criterion='bdeu'`` only.
    alpha : float, default=0.05
        The significance level of ``criterion='chi_square'``: a parent is removed if its p-value is larger.
    max_parents : int, default=3
        The largest number of parents of a node; see `BayesNetwork`.
    required : arcs, optional
        Arcs that the learned structure must contain, in any form that `structure` accepts. If a tree, or a structure
        around the class, violates `required`, `forbidden` or `tiers`, an error is raised.
    forbidden : arcs, optional
        Arcs that the learned structure must not contain.
    tiers : list of lists of str, or mapping of str to int, optional
        A partial ordering of the nodes, with the earliest tier first: no learned arc leads from a later tier to an
        earlier one.
    root : str, optional
        The root of the tree for 'tan' and 'chow_liu'. By default the first nominal node of the tree, or the first
        node if all are numeric.
    max_dependence : int, default=2
        For 'k_dependence': the largest number of parents in addition to the class.
    smoothing : float, {'laplace', 'global', 'bdeu', 'none'}, MEstimate, Dirichlet or None, default=1
        The prior of the conditional probability tables (CPTs); see `BayesNetwork`.
    prior : {'raw', 'smoothed', 'uniform'}, mapping or array-like, default='raw'
        P(class): the class frequencies, the frequencies smoothed like the CPTs, uniform, or given probabilities. Must
        be 'raw' if the class has parents, because its CPT is used then. A class without rows has probability 0 in any
        case.
    distributions : str, distribution or mapping of column to either, optional
        The densities of numeric columns: 'gaussian' (the default for numeric columns), 'poisson' (the default for
        count columns), 'kernel' or 'binned'. Text columns and sparse blocks are multinomial and depend on the class
        only.
    ranges : int, str, list of edges or Binned, default='mdl'
        How to discretize a numeric column that is given as a parent of a nominal node: the number of equal-frequency
        bins, the name of a discretization method, or the cut points. 'mdl' uses the entropy criterion of Fayyad and
        Irani (1993). A column with the distribution 'binned' uses the bins of that distribution.
    types : mapping of column to type, str or Schema, optional
        The column types; see `NaiveBayesClassifier`. By default the dtype decides.
    categorical_features : array-like, optional
        The nominal columns in scikit-learn's convention: names, positions or a mask.
    missing : {'em', 'available', 'complete'}, default='em'
        How missing training values are handled: expected counts by EM, all rows in which a node and its parents are
        observed, or only complete rows; see `BayesNetwork`.
    restarts : int, default=3
        The number of restarts of 'hill_climb' (0 or more), or of starting orderings of 'orders' and 'annealing' (1 or
        more).
    max_iter : int, default=500
        The largest number of EM iterations. A warning is issued if EM has not converged by then.
    tol : float, default=1e-8
        EM stops when no parameter changes by more than this; see `BayesNetwork`.
    random_state : int or None, default=0
        The seed of the structure search. None means 0.
    unseen : {'ignore', 'error'}, default='ignore'
        'ignore' treats a value that was never seen in training as missing; 'error' raises an error.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    graph_ : Graph
        The structure, including the class node.
    net_ : Net
        The parameters. ``net_.tables[node]`` is the CPT of a nominal node, an array with one axis for each parent and
        the last axis for the node. ``net_.densities[node]`` holds the parameters of a numeric node.
    densities_ : dict of str to Density
        The distribution of every node for each combination of its nominal parents' values; see `BayesNetwork`.
    conditional_mi_ : Grid
        The conditional mutual information of each pair of attributes given the class, in bits, and whether the
        network has an arc between them. For 'naive' and other structures that do not need it, it is empty if there
        are more than 20,000 pairs, or if the network was fitted on an engine table; columns with thousands of values
        are not compared.
    class_prior_ : ndarray
        P(class); the marginal distribution if the class has parents.
    class_count_ : ndarray
        The number of rows, or the total weight, of each class.
    found_ : FoundStructure or None
        The result of the structure search; see `BayesNetwork`. None if the structure was given.
    em_ : Learned or None
        The result of EM; ``em_.log_likelihoods`` holds the log-likelihood before each iteration. None if EM was not
        needed.
    n_iter_ : int
        The number of EM iterations; 1 if EM was not needed.
    tallies_ : dict of str to tally
        The counts of each node with its parents; expected counts if EM was used.
    cuts_ : dict of str to tuple of float
        The cut points of each discretized column.

    Examples
    --------
    >>> from countwise import BayesNetworkClassifier, samples
    >>> tennis = samples.load("tennis")
    >>> model = BayesNetworkClassifier("tan").fit(tennis.frame, "play")
    >>> [arc for arc in model.graph_.arcs if "play" not in arc]
    [('outlook', 'temperature'), ('temperature', 'humidity'), ('outlook', 'wind')]
    >>> model.predict_proba([{"outlook": "Sunny", "humidity": "High"}]).round(4).tolist()
    [[0.6655, 0.3345]]
    """

    structure: Any = "tan"
    _: KW_ONLY
    ranges: Any = "mdl"
    unseen: str = "ignore"

    _smooths = True
    _class_is_node = True
    lookups_: FamilyLookups = field(init=False)
    _information: list[tuple[str, str, float]] = field(init=False)

    # -- learning ----------------------------------------------------------------------

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return X

    def _infer_schema(self, frame: Frame) -> Schema:
        check_settings(self, unseen=("ignore", "error"))
        return super()._infer_schema(frame)

    def _structure_learner(self, schema: Schema, target: Nominal) -> StructureLearner:
        if isinstance(self.structure, str) and self.structure == "given":
            raise OptionError(
                "structure='given' provides no arcs.", hint="pass structure=[(parent, child), ...], or use 'tan'."
            )
        # text columns and sparse blocks depend on the class only: there is no density for other parents
        arcs = [(target.name, a.name) for a in schema.attributes if isinstance(a, Text | Block)]
        return StructureLearner(self, schema, target, latent={}, arcs=arcs, class_is_node=True, around=target.name)

    def _begin(self, schema: Schema, target: Nominal, rows: TrainingRows, frame: Frame) -> LearnedStructure:
        learned = super()._begin(schema, target, rows, frame)
        pairs: list[tuple[str, str, float]] = []
        if learned.found is not None and self.structure in ("tan", "k_dependence"):  # the search has computed them
            pairs = [(a, b, bits) for a, b, bits, _ in learned.found.tried]
        elif isinstance(learned.rows, MemoryRows):
            pairs = self._compared(schema, target, learned.rows)
        self._information = sorted(pairs, key=lambda pair: (-pair[2], *pair[:2]))
        return learned

    def _compared(self, schema: Schema, target: Nominal, rows: MemoryRows) -> list[tuple[str, str, float]]:
        """Return the conditional mutual information of each pair of attributes given the class."""
        nodes = self._blueprint.nodes(schema, target).values()
        free = [a for a in nodes if isinstance(a, Nominal | Numeric) and not is_empty(a)]
        # attributes with so many values that the table of a pair might not fit are not compared
        names = [
            a.name
            for a in free
            if a.name != target.name
            and not (isinstance(a, Nominal) and (len(a.values) + 2) ** 2 * (len(target.values) + 2) > MOST_CELLS)
        ]
        if len(names) * (len(names) - 1) // 2 > _MOST_PAIRS:
            return []
        families = MemoryRows(rows.table).families(free, self._blueprint, "log_likelihood", 1.0)
        bits = conditional_information(families, names, target.name)
        pairs = [(names[j], names[i], float(bits[i, j])) for i in range(len(names)) for j in range(i)]
        return [pair for pair in pairs if np.isfinite(pair[2])]

    @property
    def conditional_mi_(self) -> Grid:
        """The conditional mutual information of each pair of attributes given the class, in bits, largest first.

        Naive Bayes assumes that it is 0 for every pair. `add_arc` adds an arc between two attributes.
        """
        self._check_fitted()
        arcs = {frozenset(arc) for arc in self.graph_.arcs}
        pairs = self._information
        return Grid(
            {
                "one": [a for a, _, _ in pairs],
                "other": [b for _, b, _ in pairs],
                "bits": [bits for *_, bits in pairs],
                "arc": ["yes" if frozenset((a, b)) in arcs else "" for a, b, _ in pairs],
            }
        )

    def _adds_up(self) -> bool:
        return False  # arcs and cut points come from the first chunk: chunks would have different structures

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "pairs": [[a, b, bits] for a, b, bits in self._information]}

    def _revive(self, state: Any) -> None:
        self._information = [(str(a), str(b), float(bits)) for a, b, bits in state["pairs"]]
        super()._revive(state)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        self._information = other._information

    # -- extending a fitted network ----------------------------------------------------------

    def add_arc(self, parent: str, child: str, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add an arc to the fitted network. The network is changed in place.

        The child's distribution is estimated from the given rows; all other distributions are kept.

        Parameters
        ----------
        parent : str
            The node where the arc starts.
        child : str
            The node where the arc ends.
        X : any table
            Rows, as for `fit`. Rows in which the child or one of its parents is missing are ignored.
        y : array-like or str, optional
            The target of each row, as for `fit`.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column that holds it.

        Returns
        -------
        self
            The classifier itself.

        Examples
        --------
        >>> from countwise import BayesNetworkClassifier, samples
        >>> tennis = samples.load("tennis").frame
        >>> model = BayesNetworkClassifier("naive").fit(tennis, "play")
        >>> model.add_arc("outlook", "temperature", tennis, "play").graph_.parents["temperature"]
        ('play', 'outlook')
        """
        return Editor(self).add_arc(parent, child, X, y, sample_weight)

    def add_node(
        self,
        name: str,
        X: Any,
        y: Any = None,
        *,
        parents: str | Iterable[str] = (),
        children: str | Iterable[str] = (),
        sample_weight: Any = None,
    ) -> Self:
        """Add a column to the fitted network. The network is changed in place.

        The distributions of the new node and of its children are estimated from the given rows; all others are kept.

        Parameters
        ----------
        name : str
            A column of X that is not yet a node.
        X : any table
            Rows with all columns of the network and the new one.
        y : array-like or str, optional
            The target of each row, as for `fit`.
        parents : str or iterable of str, default=()
            The parents of the new node.
        children : str or iterable of str, default=()
            The children of the new node.
        sample_weight : array-like or str, optional
            The weight of each row, or the name of the column that holds it.

        Returns
        -------
        self
            The classifier itself.

        Examples
        --------
        >>> from countwise import BayesNetworkClassifier, samples
        >>> tennis = samples.load("tennis").frame
        >>> known = {name: tennis[name] for name in ("outlook", "wind", "play")}
        >>> model = BayesNetworkClassifier("naive").fit(known, "play")
        >>> model.add_node("humidity", tennis, "play", parents="play").graph_.nodes
        ('play', 'outlook', 'wind', 'humidity')
        """
        return Editor(self).add_node(name, parents, children, X, y, sample_weight)

    # -- estimating and predicting -------------------------------------------------------------

    def _given_tables(self) -> GivenTable:
        return self._prior_table

    def _class_smoothing(self) -> Any:
        return table_smoothing(self.smoothing, 1)

    def _densities(self) -> dict[str, Any]:
        """Return the densities; a class without rows gets no pseudocounts, so that its probability is 0."""
        densities, name = super()._densities(), self.target_.name
        known = self.tallies_[name].of_last > 0
        density = densities[name]
        if known.all() or not density.pseudo.any():
            return densities
        values = tuple(c for c, has_rows in zip(self.target_.values, known, strict=True) if has_rows)
        pseudo = np.zeros(len(known))
        pseudo[known] = density.smoothing.pseudo(density.counts[:, known], values)
        shares = dict(zip(self.target_.values, (pseudo / pseudo.sum()).tolist(), strict=True))
        smoothing = smoothing_of(MEstimate(float(pseudo.sum()), shares))
        return {**densities, name: CategoricalDensity(density.of, density.counts, smoothing)}

    @property
    def class_count_(self) -> NDArray[Any]:
        """The number of rows, or the total weight, of each class."""
        counts: NDArray[Any] = self.tallies_[self.target_.name].of_last
        return counts

    def _estimate(self) -> None:
        name = self.target_.name
        NetworkModel._estimate(self)
        self.classes_ = self.target_.labels(getattr(self, "_label_type", None))
        self.class_prior_ = self.net_.query(name)
        with np.errstate(divide="ignore"):
            self.log_prior_ = np.log(self.class_prior_)
        self.lookups_ = FamilyLookups(self.net_, name)

    def _priors(self, n_rows: int) -> Floats:
        tiled = super()._priors(n_rows)
        return np.zeros_like(tiled) if self.graph_.parents[self.target_.name] else tiled

    def _add_terms(self, table: Table, out: Floats, *, whole: bool = True) -> None:
        self.lookups_.add(table, out, whole=whole)
        incomplete = self.lookups_.open_rows(table)
        if not len(incomplete):
            return
        net, name = self.net_, self.target_.name
        unknown = np.full(table.n_rows, len(self.classes_))
        rows = EvidenceRows.of(net, table.with_column(name, unknown)).take(incomplete)
        for batch in batches(net, rows, queried=[name]):
            found = batch.posterior(net)
            out[incomplete[found.rows]] = found.of([name], log=True) + found.log[:, None]

    def _add_term(self, part: Any, table: Table, out: Floats) -> None:
        self.lookups_.add(table, out, whole=True, only=part.key)

    def scoring(self) -> Scoring:
        """Return the terms of a prediction as plain data, for an engine or a SQL query.

        This needs a naive structure, in which every attribute depends on the class only.

        Returns
        -------
        Scoring
            The prior and the lookup table or density of each column.

        Examples
        --------
        >>> from countwise import BayesNetworkClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> model = BayesNetworkClassifier("naive").fit(tennis.frame, "play")
        >>> type(model.scoring()).__name__
        'Scoring'
        """
        self._check_fitted()
        other_arcs = [f"{p} → {c}" for p, c in self.graph_.arcs if p != self.target_.name]
        if other_arcs:
            raise OptionError(
                f"The arc {other_arcs[0]} makes a term depend on two columns, which a scoring query cannot express.",
                hint="use structure='naive' for scoring in an engine or by SQL, or use predict on rows.",
            )
        return super().scoring()

    def _rows_of(self, X: Any) -> Table:
        table = super()._rows_of(X)
        return table.with_column(self.target_.name, np.full(table.n_rows, self.target_.missing))

    def _showing(self) -> set[str]:
        return set()

    def _zeros(self) -> tuple[str, str]:
        return (
            "a value has a count of 0 in each class, or a number is too far from the training values",
            "use smoothing=1, which keeps counts above 0",
        )

    def table(self, name: str, *, smoothing: bool = False) -> Grid:
        """Return the CPT or the parameters of a node; see `cpt`.

        Parameters
        ----------
        name : str
            The node.
        smoothing : bool, default=False
            Not available for networks.

        Returns
        -------
        Grid
            The table.

        Examples
        --------
        >>> from countwise import BayesNetworkClassifier, samples
        >>> tennis = samples.load("tennis").frame
        >>> print(BayesNetworkClassifier("naive").fit(tennis, "play").table("wind"))
        play  wind = Strong  wind = Weak
        No         0.571429     0.428571
        Yes        0.363636     0.636364
        """
        check_flag("smoothing", smoothing)
        if smoothing:
            raise OptionError(
                "A CPT is not shown before and after smoothing.",
                hint="compare with the CPT of a network that has smoothing=0.",
            )
        return self.cpt(name)

    # -- the working ---------------------------------------------------------------------------

    def _prior_step(self) -> Step:
        if not self.graph_.parents[self.target_.name]:
            return super()._prior_step()
        logs = [float(log) for log in self.log_prior_]
        factors = tuple(Factor(log, probability(log), probability(log)) for log in logs)
        return Step(self.target_.name, "", factors, "known", "prior")

    def _steps(self, table: Table, one: Frame) -> tuple[list[Step], list[str]]:
        return NetworkWorking(self, table, one).steps()

    def _worked(self, table: Table, one: Frame) -> Working:
        return NetworkWorking(self, table, one).finished(super()._worked(table, one))

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        """Return the most probable value, or the mean, of each node given the class."""
        given = {self.target_.name: self.classes_.tolist()[c]}
        found: list[tuple[str, Any, str]] = []
        for name in self.schema_:
            density = self.densities_.get(name)
            if name in self.net_.tables:
                answer = self.query(name, given)
                found.append((name, str(answer.best), f"{answer[answer.best]:.0%} of the class"))
            elif isinstance(density, LinearDensity):
                answer = self.query(name, given)
                found.append((name, float(answer["mean"]), f"± {number(answer['sd'])}"))
            elif density is not None and self.graph_.parents[name] == (self.target_.name,):
                found.append((name, *density.typical(c)))
        return found

    def sample(
        self, n_samples: int = 1, random_state: Any = None, *, do: Mapping[str, Any] | None = None, cls: Any = None
    ) -> Any:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed; None gives different rows at each call.
        do : mapping of str to value, optional
            An intervention, in the form that `query` accepts.
        cls : object, default=None
            Draw rows of this class only.

        Returns
        -------
        table
            A data frame of the same library as the training data; a dict of columns if the network was not fitted on
            a pandas, Polars or PyArrow table.

        Examples
        --------
        >>> from countwise import BayesNetworkClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> drawn = BayesNetworkClassifier("tan").fit(tennis.frame, "play").sample(5, random_state=0, cls="Yes")
        >>> drawn["play"].tolist()
        ['Yes', 'Yes', 'Yes', 'Yes', 'Yes']
        """
        if cls is None:
            return NetworkModel.sample(self, n_samples, random_state, do=do)
        label = self.classes_.tolist()[self._class_code(cls)]
        check_number("n_samples", n_samples, 1, most=MOST_ROWS, whole=True)
        check_value("random_state", random_state, SEED)
        here, rng = self._situation(None, do), np.random.default_rng(random_state)
        kept: list[dict[str, NDArray[Any]]] = []
        found = drawn = 0
        while found < n_samples:  # rows of other classes are drawn too, and dropped
            if drawn > 1000 * max(int(n_samples), 1000):
                raise OptionError(f"The class {cls!r} is too rare to be drawn.", hint="draw rows of all classes.")
            cells = sample_rows(here, max(int(n_samples), 1000), rng)
            rows = np.flatnonzero(np.asarray(cells[self.target_.name]) == label)[: int(n_samples) - found]
            kept.append({name: column[rows] for name, column in cells.items()})
            found, drawn = found + len(rows), drawn + max(int(n_samples), 1000)
        return self._as_table({name: np.concatenate([part[name] for part in kept]) for name in kept[0]})

    def _numbers_to_try(self, name: str) -> Any:
        density = self.densities_.get(name)
        if name in self.cuts_:
            return values_around(self.cuts_[name])
        if isinstance(density, LinearDensity):
            mean, sd = self.query(name).values()
            return np.linspace(mean - 3 * sd, mean + 3 * sd, 61).tolist()
        return super()._numbers_to_try(name)

    def _posterior_draws(self, one: Frame, draws: int, rng: np.random.Generator) -> Floats:
        table, target = self._table(one, 0, 1, every=True), self.target_.name
        working = NetworkWorking(self, table, one)
        if working.hidden:
            raise OptionError(
                "A network has no interval for a row in which a parent of an observed node is missing: the "
                "probability is a sum over its values.",
                hint="pass all attributes of the row, or use NaiveBayesClassifier.",
            )
        counts = self.densities_[target].counts
        prior = dirichlet_draws(counts[working._combos(target)[0]], draws, rng)
        logs = np.log(np.maximum(prior, 1e-300))
        with np.errstate(all="ignore"):  # a value far from the training data may be impossible in every class
            for name in self.graph_:
                if name in working.gone or target not in self.graph_.parents[name]:
                    continue
                density, combos = self.densities_[name], working._combos(name)
                if isinstance(density, LinearDensity):
                    logs += _line_draws(name, density, combos, float(table[name][0]), draws, rng)
                else:
                    logs += density.draw_log_prob(table[name], draws, rng)[:, combos]
            _kernels.normalize(logs, "proba")
        return np.where(np.isnan(logs).any(axis=1, keepdims=True), prior, logs)

    def _rows_of_step(self, step: Step, train: Table, one: Table) -> Flags | None:
        """Return the training rows with the values of the node and of its parents, except for the class."""
        if step.attribute not in self.graph_ or step.rule == SUMMED:
            return None
        target = self.target_.name
        names = [n for n in (*self.graph_.parents[step.attribute], step.attribute) if n != target]
        masks = [
            ~np.isnan(train[n])
            if isinstance(density := self.densities_[n], LinearDensity)
            else density.counted_in(train[n], one[n], step.word if n == step.attribute else "")
            for n in names
        ]
        masks = [m for m in masks if m is not None]
        return np.logical_and.reduce([np.ones(train.n_rows, dtype=bool), *masks])


def _line_draws(
    name: str, line: LinearDensity, combos: list[int], y: float, draws: int, rng: np.random.Generator
) -> Floats:
    """Return the log density of a number with mean and standard deviation from their posterior, in each class."""
    if line.numbers:
        raise OptionError(
            f"{name!r} depends on numbers, and a regression within a network has no intervals.",
            hint="use a structure in which numbers have no numeric parents, or NaiveBayesClassifier.",
        )
    out = np.zeros((draws, len(combos)))
    for c, combo in enumerate(() if line.constant else combos):
        n = float(line.n[combo])
        behind = float(line.n.sum()) if line.borrowed[combo] else n
        mean, sd = float(line.intercept[combo]), float(line.sd[combo])
        out[:, c] = drawn_log_densities(y, mean, sd, n, behind, draws, rng)
    return out


class FamilyLookups:
    """Lookup tables of log P(class | parents) and log P(node | class, ...)."""

    def __init__(self, net: Net, target: str) -> None:
        self.net, self.target = net, target
        self.sizes = net.sizes()
        self.n_classes = self.sizes[target]
        self.parents = net.graph.parents
        self.of_class = [n for n in net.graph if target in self.parents[n] or (n == target and self.parents[n])]
        self.others = [n for n in net.graph if n not in self.of_class and n != target]
        self.lookups = {n: self._lookup(n) for n in net.graph if n in net.tables and (n != target or self.parents[n])}
        children = {n: net.graph.children(n) for n in net.graph}
        self.inner = [n for n in net.tables if n != target and children[n]]  # if missing, they must be summed out
        self.linked = list(net.numbers.linked)

    def _known(self, name: str) -> tuple[str, ...]:
        """Return the nominal nodes of a family without the class; the node is last unless it is the class."""
        above = tuple(p for p in self.parents[name] if p != self.target and p in self.sizes)
        return above if name == self.target else (*above, name)

    def _lookup(self, name: str) -> Floats:
        """Return log P by values of the family (rows for missing and unseen values of the last node) and class."""
        family = (*self.parents[name], name)
        known = self._known(name)
        with np.errstate(divide="ignore"):
            logs = np.log(self.net.tables[name])
        if self.target in family:
            logs = logs.transpose([*(family.index(v) for v in known), family.index(self.target)])
        else:
            logs = np.repeat(logs[..., None], self.n_classes, axis=-1)
        pad = [(0, 0)] * logs.ndim
        pad[len(known) - 1] = (0, 2)  # rows of zeros: a missing or unseen value adds nothing
        return np.ascontiguousarray(np.pad(logs, pad).reshape(-1, self.n_classes))

    def key(self, name: str, table: Table) -> NDArray[Any]:
        """Return the position of each row in the lookup table of a node."""
        *above, last = self._known(name)
        size = self.sizes[last]
        if not above:
            return np.asarray(table[last])
        total = int(np.prod([self.sizes[v] for v in above], dtype=np.int64)) * (size + 2)
        dtype = narrowest(total + 1)
        key = np.minimum(table[above[0]], self.sizes[above[0]] - 1).astype(dtype)
        for v in above[1:]:
            key *= dtype.type(self.sizes[v])
            key += np.minimum(table[v], self.sizes[v] - 1).astype(dtype)
        key *= dtype.type(size + 2)
        key += table[last].astype(dtype)
        return key

    def add(self, table: Table, out: Floats, *, whole: bool = True, only: str | None = None) -> None:
        """Add the log terms of rows to out (rows, classes); `whole` includes terms that are equal for all classes."""
        names = [*self.of_class, *(self.others if whole else [])]
        names = names if only is None else [n for n in names if n == only]
        looked = [n for n in names if n in self.lookups]
        if looked:
            _kernels.add_lookup([self.key(n, table) for n in looked], [self.lookups[n] for n in looked], out)
        for name in names:
            if name not in self.lookups:
                self._add_number(name, table, out)

    def _add_number(self, name: str, table: Table, out: Floats) -> None:
        density, above = self.net.densities[name], self.net.numbers.nominal_parents(name)
        line = density if isinstance(density, LinearDensity) else None
        if above == (self.target,) and line is None:
            density.add_log_prob(table[name], out)
            return
        logs = None
        if line is None:
            logs = np.zeros((len(out), density.n_classes))
            density.add_log_prob(table[name], logs)
        for c in range(self.n_classes):
            combos = np.zeros(len(out), dtype=np.int64)
            for parent in above:
                code = c if parent == self.target else np.minimum(table[parent], self.sizes[parent] - 1)
                combos = combos * self.sizes[parent] + code
            if line is not None:
                out[:, c] += line.log_prob(table[name], [table[p] for p in line.numbers], combos)
            elif logs is not None:
                out[:, c] += logs[np.arange(len(out)), combos]

    def open_rows(self, table: Table) -> NDArray[np.intp]:
        """Return the rows with a missing value that has an observed child."""
        missing: list[Flags] = []
        for name in self.inner:
            column = table[name]
            if len(column) and int(column.max()) >= self.sizes[name]:
                missing.append(column >= self.sizes[name])
        for name in self.linked:
            gone = np.isnan(np.asarray(table[name], dtype=np.float64))
            missing += [gone] if gone.any() else []
        return np.flatnonzero(np.logical_or.reduce(missing)) if missing else np.empty(0, dtype=np.intp)
