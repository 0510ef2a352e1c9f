"""Classifiers by a Bayesian network: naive Bayes, TAN, k-dependence, or any structure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats
from countwise.base.generative import GenerativeClassifier
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import narrowest
from countwise.data.frames import Frame
from countwise.data.output import library_of
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Block, Text
from countwise.errors import OptionError
from countwise.network.base import NetworkModel
from countwise.network.blueprint import GivenTable, is_empty
from countwise.network.classifier_working import NetworkWorking
from countwise.network.editing import Editor
from countwise.network.inference.batch_inference import EvidenceRows, batches
from countwise.network.linear_gaussian import LinearDensity
from countwise.network.net import Net
from countwise.network.search.class_structures import conditional_information
from countwise.network.structure_learning import LearnedStructure, MemoryRows, StructureLearner, TrainingRows
from countwise.scoring.plan import Scoring
from countwise.tallies import Counts
from countwise.working import Factor, Grid, Step, Working
from countwise.working.numbers import probability

__all__ = ["BayesNetworkClassifier", "FamilyLookups"]

_MOST_PAIRS = 20_000  # of attributes, beyond which they are compared only if the structure asks for it


@dataclass(eq=False, repr=False)
class BayesNetworkClassifier(NetworkModel, GenerativeClassifier):
    """A classifier by a Bayesian network: naive Bayes, tree-augmented naive Bayes (TAN), or any structure.

    .. math:: P(c | x) ∝ P(c | parents) ∏_a P(x_a | c, parents of a)

    Naive Bayes takes attributes for independent within a class. `conditional_mi_` shows which pairs are not; "tan"
    gives every attribute one parent beside the class, "k_dependence" up to `max_dependence`, "hill_climb" those that
    raise the score. A missing value is no evidence: what depends on it is summed over its values.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default="tan"
        "naive", "tan", "k_dependence", "hill_climb", "ordering", "orders", "annealing", or the arcs themselves. See
        `BayesNetwork`; the class is a node by its column's name, or "class".
    prior : {"raw", "smoothed", "uniform"}, mapping or array-like, default="raw"
        P(class), where the class has no parents.
    ranges : int, str, list of edges or Binned, default="mdl"
        How numeric columns are cut that nominal nodes depend on.
    unseen : {"ignore", "error"}, default="ignore"
        A value never seen in training is treated as missing, or is an error.
    order, criterion, equivalent_sample_size, max_parents, required, forbidden, tiers, root, max_dependence
        As for `BayesNetwork`.
    smoothing, distributions, types, categorical_features, missing, restarts, max_iter, tol, random_state
        As for `BayesNetwork`. Text columns and sparse blocks depend on the class alone.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    graph_ : Graph
        The structure, the class among the nodes.
    net_ : Net
        The parameters: ``net_.tables[node]`` is an array with an axis for each parent and the last for the node;
        ``net_.densities[node]`` has the parameters of a numeric node.
    densities_ : dict of str to Density
        The distribution of every node over the combinations of its nominal parents' values; see `BayesNetwork`.
    conditional_mi_ : Grid
        The conditional mutual information of each two attributes given the class, in bits.
    tallies_ : dict
        All that was counted.

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
    prior: Any = "raw"
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
        if self.unseen not in ("ignore", "error"):
            raise OptionError(f"unseen={self.unseen!r} is unknown.", hint="give 'ignore' or 'error'.")
        return super()._infer_schema(frame)

    def _structure_learner(self, schema: Schema, target: Nominal) -> StructureLearner:
        if isinstance(self.structure, str) and self.structure == "given":
            raise OptionError("structure='given' needs arcs.", hint="structure=[(parent, child), ...], or 'tan'.")
        # texts and blocks depend on the class alone: no other structure has a distribution for them
        arcs = [(target.name, a.name) for a in schema.attributes if isinstance(a, Text | Block)]
        return StructureLearner(self, schema, target, latent={}, arcs=arcs, class_is_node=True, around=target.name)

    def _begin(self, schema: Schema, target: Nominal, rows: TrainingRows, frame: Frame) -> LearnedStructure:
        learned = super()._begin(schema, target, rows, frame)
        pairs: list[tuple[str, str, float]] = []
        if learned.found is not None and self.structure in ("tan", "k_dependence"):  # it has compared them
            pairs = [(a, b, bits) for a, b, bits, _ in learned.found.tried]
        elif isinstance(learned.rows, MemoryRows):
            pairs = self._compared(schema, target, learned.rows)
        self._information = sorted(pairs, key=lambda pair: (-pair[2], *pair[:2]))
        return learned

    def _compared(self, schema: Schema, target: Nominal, rows: MemoryRows) -> list[tuple[str, str, float]]:
        """The conditional mutual information of each two attributes given the class."""
        nodes = self._blueprint.nodes(schema, target).values()
        free = [a for a in nodes if isinstance(a, Nominal | Numeric) and not is_empty(a)]
        names = [a.name for a in free if a.name != target.name]
        if len(names) * (len(names) - 1) // 2 > _MOST_PAIRS:
            return []
        families = MemoryRows(rows.table).families(free, self._blueprint, "log_likelihood", 1.0)
        bits = conditional_information(families, names, target.name)
        pairs = [(names[j], names[i], float(bits[i, j])) for i in range(len(names)) for j in range(i)]
        return [pair for pair in pairs if np.isfinite(pair[2])]

    @property
    def conditional_mi_(self) -> Grid:
        """The conditional mutual information of each two attributes given the class in bits, the largest first.

        Naive Bayes takes all of it for 0; `add_arc` puts the pair into the network.
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
        return False  # arcs and cuts are found in the first piece: pieces would be networks of different shape

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "pairs": [[a, b, bits] for a, b, bits in self._information]}

    def _revive(self, state: Any) -> None:
        self._information = [(str(a), str(b), float(bits)) for a, b, bits in state["pairs"]]
        super()._revive(state)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        self._information = other._information

    # -- a fitted network is extended --------------------------------------------------------

    def add_arc(self, parent: str, child: str, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add an arc to the fitted network; the child's distribution is estimated anew from rows, all else stays.

        Parameters
        ----------
        parent, child : str
            The child depends on the parent.
        X, y, sample_weight
            Rows, as for `fit`. Those in which the child and all its parents are present count.

        Returns
        -------
        self
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
        """Add a column to the fitted network; what was learned of the others stays.

        Parameters
        ----------
        name : str
            A column of X that the network does not have yet.
        X, y, sample_weight
            Rows with all columns of the network and the new one.
        parents, children : str or iterable of str
            What it depends on, and what depends on it. The children's distributions are estimated anew.

        Returns
        -------
        self
        """
        return Editor(self).add_node(name, parents, children, X, y, sample_weight)

    # -- estimating and predicting -------------------------------------------------------------

    def _given_tables(self) -> GivenTable:
        return self._prior_table

    def _prior_table(self, name: str, tally: Counts) -> Floats | None:
        """P(class), where the class has no parents."""
        if name != self.target_.name or len(tally.axes) > 1 or not tally.table.any():
            return None
        return self._prior_of(tally.table.astype(np.float64))

    @property
    def class_count_(self) -> NDArray[Any]:
        """Rows (or weight) of each class."""
        counts: NDArray[Any] = self.tallies_[self.target_.name].of_last
        return counts

    def _estimate(self) -> None:
        name = self.target_.name
        if self.graph_.parents[name] and not (isinstance(self.prior, str) and self.prior == "raw"):
            raise OptionError(f"prior={self.prior!r} has no meaning where the class has parents.")
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
        lacking = self.lookups_.open_rows(table)
        if not len(lacking):
            return
        net, name = self.net_, self.target_.name
        unknown = np.full(table.n_rows, len(self.classes_))
        rows = EvidenceRows.of(net, table.with_column(name, unknown)).take(lacking)
        for batch in batches(net, rows, asked=[name]):
            found = batch.posterior(net)
            out[lacking[found.rows]] = found.of([name], log=True) + found.log[:, None]

    def _add_term(self, part: Any, table: Table, out: Floats) -> None:
        self.lookups_.add(table, out, whole=True, only=part.key)

    def scoring(self) -> Scoring:
        """The terms of a prediction as plain data: of a naive structure, where each depends on the class alone."""
        self._check_fitted()
        odd = [f"{p} → {c}" for p, c in self.graph_.arcs if p != self.target_.name]
        if odd:
            raise OptionError(
                f"The arc {odd[0]} makes terms that no lookup of one column gives.",
                hint="structure='naive' can be computed in an engine or by SQL; predict takes rows.",
            )
        return super().scoring()

    def _rows_of(self, X: Any) -> Table:
        table = super()._rows_of(X)
        return table.with_column(self.target_.name, np.full(table.n_rows, self.target_.missing))

    def _showing(self) -> set[str]:
        return set()

    def _zeros(self) -> tuple[str, str]:
        return "a value was never counted there, or a number lies beyond all densities", "smoothing=1 avoids it"

    table = NetworkModel.cpt

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


class FamilyLookups:
    """Log P(class | parents) and log P(node | class, ...) laid out for lookups."""

    def __init__(self, net: Net, target: str) -> None:
        self.net, self.target = net, target
        self.sizes = net.sizes()
        self.n_classes = self.sizes[target]
        self.parents = net.graph.parents
        self.of_class = [n for n in net.graph if target in self.parents[n] or (n == target and self.parents[n])]
        self.others = [n for n in net.graph if n not in self.of_class and n != target]
        self.lookups = {n: self._laid(n) for n in net.graph if n in net.tables and (n != target or self.parents[n])}
        children = {n: net.graph.children(n) for n in net.graph}
        self.inner = [n for n in net.tables if n != target and children[n]]  # missing, they must be summed out
        self.linked = list(net.numbers.linked)

    def _known(self, name: str) -> tuple[str, ...]:
        """The nominal nodes of a family, but for the class; the node last if it is no class."""
        above = tuple(p for p in self.parents[name] if p != self.target and p in self.sizes)
        return above if name == self.target else (*above, name)

    def _laid(self, name: str) -> Floats:
        """Log P by (values of the family, two more of its last for missing and never seen; classes)."""
        family = (*self.parents[name], name)
        known = self._known(name)
        with np.errstate(divide="ignore"):
            logs = np.log(self.net.tables[name])
        if self.target in family:
            logs = logs.transpose([*(family.index(v) for v in known), family.index(self.target)])
        else:
            logs = np.repeat(logs[..., None], self.n_classes, axis=-1)
        pad = [(0, 0)] * logs.ndim
        pad[len(known) - 1] = (0, 2)  # rows of zeros: a missing or unseen value has no say
        return np.ascontiguousarray(np.pad(logs, pad).reshape(-1, self.n_classes))

    def key(self, name: str, table: Table) -> NDArray[Any]:
        """Which entry of its lookup each row has."""
        *above, last = self._known(name)
        size = self.sizes[last]
        if not above:
            return np.asarray(table[last])
        total = int(np.prod([self.sizes[v] for v in above], dtype=np.int64)) * (size + 2)
        kind = narrowest(total + 1)
        key = np.minimum(table[above[0]], self.sizes[above[0]] - 1).astype(kind)
        for v in above[1:]:
            key *= kind.type(self.sizes[v])
            key += np.minimum(table[v], self.sizes[v] - 1).astype(kind)
        key *= kind.type(size + 2)
        key += table[last].astype(kind)
        return key

    def add(self, table: Table, out: Floats, *, whole: bool = True, only: str | None = None) -> None:
        """Add the terms of rows to out (rows, classes); what is the same for all classes only for the whole."""
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
        """The rows with a missing value on which an observed one depends."""
        lacks: list[Flags] = []
        for name in self.inner:
            column = table[name]
            if len(column) and int(column.max()) >= self.sizes[name]:
                lacks.append(column >= self.sizes[name])
        for name in self.linked:
            gone = np.isnan(np.asarray(table[name], dtype=np.float64))
            lacks += [gone] if gone.any() else []
        return np.flatnonzero(np.logical_or.reduce(lacks)) if lacks else np.empty(0, dtype=np.intp)
