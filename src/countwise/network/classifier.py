"""A class told by a network: naive Bayes, trees beside it, k parents beside it, or any structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.term import derive_checked
from countwise.data.attributes import Nominal, Numeric
from countwise.data.frames import Frame
from countwise.data.output import library_of
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Block, Text
from countwise.engines.gather import EnginePart
from countwise.errors import OptionError
from countwise.network.classifier_terms import FamilyLookups
from countwise.network.classifier_working import ClassWorking
from countwise.network.editing import Extending
from countwise.network.family_scores import MixedFamilies
from countwise.network.inference.batch_inference import EvidenceRows, posteriors
from countwise.network.net import Net
from countwise.network.queries import NetworkAnswers
from countwise.network.search.class_structures import conditional_information
from countwise.network.search.dispatch import StructureSearch
from countwise.scoring.plan import Scoring
from countwise.working import Grid

__all__ = ["BayesNetworkClassifier"]

_MOST_PAIRS = 20_000  # of attributes, beyond which they are compared only if the structure asks for it


class BayesNetworkClassifier(ClassWorking, NetworkAnswers, Extending, GenerativeClassifier):
    """A class told by a Bayesian network: naive Bayes, a tree beside it (TAN), and on to any structure.

    .. math:: P(c | x) ∝ P(c | parents) ∏_a P(x_a | c, parents of a)

    Naive Bayes takes attributes for independent within a class. `conditional_mi_` shows which pairs are not; "tan"
    gives every attribute one parent beside the class, "k_dependence" up to k, "hill_climb" whatever pays.
    A missing cell is no evidence: what depends on it is summed over its values.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default="tan"
        "naive", "tan", "k_dependence", "hill_climb", "ordering", "orders", "annealing", or the arcs themselves. See
        `BayesNetwork`; the class is a node by its column's name, or "class".
    prior : {"raw", "smoothed", "uniform"}, mapping or array-like, default="raw"
        P(class), where it depends on nothing.
    ranges : int, str, list of edges or Ranges, default="mdl"
        How numbers are cut that names depend on.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is taken for missing, or is an error.
    order, criterion, ess, max_parents, required, forbidden, tiers, root, k
        As for `BayesNetwork`.
    smoothing, distributions, types, categorical_features, missing, restarts, max_iter, tol, random_state
        As for `BayesNetwork`. Texts and sparse blocks depend on the class alone.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    graph_ : Graph
        The structure, the class among the nodes.
    conditional_mi_ : Grid
        What each two attributes tell of each other within the classes, in bits.
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

    _smooths = True
    lookups_: FamilyLookups
    _pairs_told: list[tuple[str, str, float]]

    def __init__(
        self,
        structure: Any = "tan",
        *,
        order: Any = None,
        criterion: str = "bic",
        ess: float = 1.0,
        max_parents: int = 3,
        required: Any = (),
        forbidden: Any = (),
        tiers: Any = None,
        root: str | None = None,
        k: int = 2,
        smoothing: Any = 1.0,
        prior: Any = "raw",
        distributions: Any = None,
        ranges: Any = "mdl",
        types: Any = None,
        categorical_features: Any = None,
        missing: str = "em",
        unseen: str = "ignore",
        restarts: int = 3,
        max_iter: int = 500,
        tol: float = 1e-8,
        random_state: int | None = 0,
    ) -> None:
        self.structure = structure
        self.order = order
        self.criterion = criterion
        self.ess = ess
        self.max_parents = max_parents
        self.required = required
        self.forbidden = forbidden
        self.tiers = tiers
        self.root = root
        self.k = k
        self.smoothing = smoothing
        self.prior = prior
        self.distributions = distributions
        self.ranges = ranges
        self.types = types
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.restarts = restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return X

    def _class_node(self, target: Nominal) -> Nominal | None:
        return target

    def _hand_arcs(self) -> list[tuple[str, str]]:
        return [] if not hasattr(self, "_texts") else [(c, t) for c, t in self._texts]

    def _prepare(self, schema: Schema, target: Nominal, table: Table) -> Net | None:
        # texts and blocks depend on the class alone: no other structure has a law for them
        self._texts = [(target.name, a.name) for a in schema.attributes if isinstance(a, Text | Block)]
        self._told = target.name
        if isinstance(self.structure, str) and self.structure == "given":
            raise OptionError("structure='given' needs arcs.", hint="structure=[(parent, child), ...], or 'tan'.")
        net = super()._prepare(schema, target, table)
        self._compare(schema, target, table)
        return net

    def _learn_relation(self, part: EnginePart) -> None:
        self._texts, self._told, self._pairs_told = [], part.name, []
        super()._learn_relation(part)
        if self.found_ is not None and self.structure in ("tan", "k_dependence"):
            self._pairs_told = sorted(((a, b, bits) for a, b, bits, _ in self.found_.tried), key=_most_first)

    def _search_target(self) -> str | None:
        return self._told

    def _how(self, names: Sequence[str], arcs: Sequence[tuple[str, str]]) -> StructureSearch:
        return super()._how(names, [arc for arc in arcs if arc[1] in names])

    def _compare(self, schema: Schema, target: Nominal, table: Table) -> None:
        """What each two attributes tell of each other within the classes."""
        nodes = self._nodes(schema, target)
        free = [a for a in nodes.values() if isinstance(a, Numeric) or (isinstance(a, Nominal) and a.values)]
        names = [a.name for a in free if a.name != target.name]
        self._pairs_told = []
        if self.found_ is not None and self.structure in ("tan", "k_dependence"):  # they were compared just before
            self._pairs_told = sorted(((a, b, bits) for a, b, bits, _ in self.found_.tried), key=_most_first)
            return
        if len(names) * (len(names) - 1) // 2 > _MOST_PAIRS:
            return
        parts = self._parts_over(schema, target)
        laws = {name: law for name, law in self._laws.items() if name not in self.cuts_}
        families = MixedFamilies(free, derive_checked(table, parts), laws, "log_likelihood")
        bits = conditional_information(families, names, target.name)
        pairs = [(names[j], names[i], float(bits[i, j])) for i in range(len(names)) for j in range(i)]
        self._pairs_told = sorted((p for p in pairs if np.isfinite(p[2])), key=_most_first)

    @property
    def conditional_mi_(self) -> Grid:
        """What each two attributes tell of each other within the classes, in bits, the most first.

        Naive Bayes takes all of it for 0; `add_arc` puts the pair into the network.
        """
        self._check_fitted()
        arcs = {frozenset(arc) for arc in self.graph_.arcs}
        pairs = self._pairs_told
        return Grid(
            {
                "one": [a for a, _, _ in pairs],
                "other": [b for _, b, _ in pairs],
                "bits": [bits for *_, bits in pairs],
                "arc": ["yes" if frozenset((a, b)) in arcs else "" for a, b, _ in pairs],
            }
        )

    # -- what follows ------------------------------------------------------------------------

    def _adds_up(self) -> bool:
        return False  # arcs and cuts are found in the first piece: pieces would be networks of different shape

    def _table_of(self, name: str, tally: Any, density: Any) -> Floats:
        if name == tally.axes[-1].name == self._told and not self.graph_.parents[name] and tally.table.any():
            return self._prior_of(tally.table.astype(np.float64))
        return super()._table_of(name, tally, density)

    @property
    def class_count_(self) -> NDArray[Any]:
        """Rows (or weight) of each class."""
        counts: NDArray[Any] = self.tallies_[self.target_.name].of_last
        return counts

    def _estimate(self) -> None:
        name = self.target_.name
        if self.graph_.parents[name] and not (isinstance(self.prior, str) and self.prior == "raw"):
            raise OptionError(f"prior={self.prior!r} has no meaning where the class depends on others.")
        Extending._estimate(self)
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
        gaps = self.lookups_.open_rows(table)
        if not len(gaps):
            return
        net, name = self.net_, self.target_.name
        codes = {n: table[n][gaps] for n in net.tables if n != name}
        codes[name] = np.full(len(gaps), len(self.classes_))
        numbers = {n: c.take(gaps) if hasattr(c := table[n], "words") else c[gaps] for n in net.densities}
        rows = EvidenceRows(codes, numbers, len(gaps))
        for found in posteriors(net.graph, net.tables, net.numbers, rows, asked=[name]):
            out[gaps[found.rows]] = found.log_of([name]) + found.log[:, None]

    def _add_term(self, part: Any, table: Table, out: Floats) -> None:
        self.lookups_.add(table, out, whole=True, only=part.key)

    def scoring(self) -> Scoring:
        """The terms of an answer as plain data: of a naive structure, where each depends on the class alone."""
        self._check_fitted()
        odd = [f"{p} → {c}" for p, c in self.graph_.arcs if p != self._told]
        if odd:
            raise OptionError(
                f"The arc {odd[0]} makes terms that no lookup of one column gives.",
                hint="structure='naive' can be answered in an engine or by SQL; predict takes rows.",
            )
        return super().scoring()

    def _rows_of(self, X: Any) -> Table:
        table = super()._rows_of(X)
        return table.with_column(self._told, np.full(table.n_rows, self.target_.missing))

    def _showing(self) -> set[str]:
        return set()

    def _infer_schema(self, frame: Frame) -> Schema:
        if self.unseen not in ("ignore", "error"):
            raise OptionError(f"unseen={self.unseen!r} is unknown.", hint="give 'ignore' or 'error'.")
        return super()._infer_schema(frame)

    def _zeros(self) -> tuple[str, str]:
        return "a value was never counted there, or a number lies beyond all densities", "smoothing=1 avoids it"

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "pairs": [[a, b, bits] for a, b, bits in self._pairs_told]}

    def _revive(self, state: Any) -> None:
        self._told = self.target_.name
        self._pairs_told = [(str(a), str(b), float(bits)) for a, b, bits in state["pairs"]]
        super()._revive(state)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        self._pairs_told, self._told = other._pairs_told, other._told


def _most_first(pair: tuple[str, str, float]) -> tuple[float, str, str]:
    return -pair[2], *pair[:2]
