"""A network with its parameters, and inference on it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise._cached import lazy
from countwise._typing import Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.errors import OptionError, did_you_mean, listed
from countwise.network.graph import Graph
from countwise.network.inference.elimination import Elimination, neighbors
from countwise.network.inference.factors import Potential
from countwise.network.inference.gaussian_nodes import Numbers
from countwise.network.inference.junction_tree import Junction
from countwise.network.inference.sampling import SampledEstimate, gibbs, likelihood_weighting
from countwise.network.linear_gaussian import LinearDensity
from countwise.working.numbers import number

__all__ = ["Net", "code_of", "evidence_text", "is_soft"]


@dataclass(frozen=True, eq=False)
class Net:
    """Network with its parameters: CPTs of nominal nodes and densities of numeric nodes.

    Parameters
    ----------
    graph : Graph
        The structure.
    attributes : mapping of str to Attribute
        The type and the values of each node.
    tables : mapping of str to ndarray
        The CPT of each nominal node: one axis for each parent, the last axis for the node.
    densities : mapping of str to density
        The density of each numeric node for each combination of its nominal parents' values.

    Examples
    --------
    >>> from countwise import BayesNetwork, samples
    >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(samples.load("tennis").frame).net_
    >>> net.query("play", {"wind": "Strong"}).round(6).tolist()
    [0.5, 0.5]
    """

    graph: Graph
    attributes: Mapping[str, Attribute]
    tables: Mapping[str, Floats]
    densities: Mapping[str, Any]

    def values(self, name: str) -> tuple[Any, ...]:
        """Return the values of a nominal node."""
        values: tuple[Any, ...] = self.attributes[name].values  # type: ignore[attr-defined]
        return values

    @lazy
    def _sizes(self) -> dict[str, int]:
        return {name: len(a.values) for name, a in self.attributes.items() if isinstance(a, Nominal)}

    def sizes(self) -> dict[str, int]:
        """Return the number of values of each nominal node."""
        return self._sizes

    def code(self, name: str, value: Any) -> int:
        """Return the code of a value; raise an error if the node has no such value."""
        return code_of(name, self.values(name), value)

    def evidence(self, known: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
        """Convert evidence to codes or weights of nominal values, and to numbers.

        A mapping or an array in place of a value is soft evidence: a weight for each value.
        """
        self.graph.known(known)
        codes: dict[str, Any] = {}
        numbers: dict[str, float] = {}
        for name, value in known.items():
            a = self.attributes[name]
            if not isinstance(a, Nominal):
                if not isinstance(a, Numeric):
                    raise OptionError(f"Node {name!r} is neither nominal nor numeric, so it cannot have evidence.")
                numbers[name] = _number(name, value)
            elif is_soft(value):
                codes[name] = self._weights(name, value)
            else:
                codes[name] = self.code(name, value)
        return codes, numbers

    def intervened(self, actions: Mapping[str, Any]) -> Net:
        """Return the network after graph surgery: some nodes are set to a value, whatever their parents are.

        The arcs into these nodes are cut. A nominal node has its value with probability 1; a numeric node becomes a
        part of the regressions of its children.
        """
        codes, numbers = self.evidence(actions)
        soft = [name for name, code in codes.items() if np.ndim(code)]
        if soft:
            raise OptionError(f"do sets {soft[0]!r} to one value, not to a weight for each value.")
        sizes = self.sizes()
        fixed = {name: np.eye(sizes[name])[code] for name, code in codes.items()}
        graph = Graph(
            {
                name: () if name in fixed else tuple(p for p in above if p not in numbers)
                for name, above in self.graph.parents.items()
                if name not in numbers
            }
        )
        lines = {
            name: line.at(numbers) if isinstance(line, LinearDensity) else line
            for name, line in self.densities.items()
            if name not in numbers
        }
        return replace(
            self,
            graph=graph,
            attributes={name: a for name, a in self.attributes.items() if name not in numbers},
            tables={**self.tables, **fixed},
            densities=lines,
        )

    def _weights(self, name: str, value: Any) -> Floats:
        size = self.sizes()[name]
        given = {self.code(name, one): w for one, w in value.items()} if isinstance(value, Mapping) else value
        try:
            if isinstance(given, Mapping):
                weights = np.array([float(given.get(code, 0.0)) for code in range(size)])
            else:
                weights = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):  # strings, or rows of different lengths
            weights = np.zeros(0)
        if weights.shape != (size,) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise OptionError(
                f"Soft evidence on {name!r} needs a weight >= 0 for each of its {size} values, and one weight > 0."
            )
        return weights

    def factors(
        self, codes: Mapping[str, Any], numbers: Mapping[str, float], among: Iterable[str]
    ) -> list[Potential]:
        """Return the CPTs of some nodes, reduced by the evidence; numeric nodes without evidence are ignored."""
        hard = {name: code for name, code in codes.items() if np.ndim(code) == 0}
        named = [name for name in among if name in self.tables]
        found = [Potential((*self.graph.parents[name], name), self.tables[name]) for name in named]
        found += [factor for factor, _ in self.number_factors(numbers, hard)]
        soft = [Potential((name,), weights) for name, weights in codes.items() if name not in hard]
        return [factor.given(hard) for factor in found] + soft

    def marks(self, codes: Mapping[str, Any]) -> list[Potential]:
        """Return evidence as factors over values: 1 for an observed value, 0 for the others."""
        sizes = self.sizes()
        return [
            Potential((name,), np.eye(sizes[name])[code] if np.ndim(code) == 0 else code)
            for name, code in codes.items()
        ]

    def number_factors(
        self, numbers: Mapping[str, float], codes: Mapping[str, Any] | None = None
    ) -> list[tuple[Potential, float]]:
        """Return the likelihood of numbers by combination of their nominal ancestors, and the log of its scale.

        Nominal nodes with evidence are reduced to their value first: other values may have a likelihood too large for
        a float.
        """
        hard = {name: code for name, code in (codes or {}).items() if np.ndim(code) == 0}
        columns = {name: np.array([value]) for name, value in numbers.items() if name in self.densities}
        if not columns:
            return []
        plain, blocks = self.numbers.terms(columns)
        found = []
        for scope, logs in [*plain, *((block.scope, block.logs) for block in blocks)]:
            part = Potential(scope, logs.reshape([self.sizes()[v] for v in scope])).given(hard)
            most = float(part.table.max())
            likely = np.exp(part.table - most) if np.isfinite(most) else np.zeros_like(part.table)
            found.append((Potential(part.variables, likely), most))
        return found

    @lazy
    def _junction(self) -> Junction:
        """The junction tree of the nominal nodes; used by every query without numeric evidence."""
        near = self.graph.within([name for name in self.graph if name in self.tables]).moral()
        return Junction(near, self.sizes())

    @lazy
    def numbers(self) -> Numbers:
        """The numeric nodes."""
        return Numbers(self.graph, self.sizes(), self.densities)

    def query(self, queried: str | Sequence[str], known: Mapping[str, Any] | None = None) -> Floats:
        """Return P(queried | known) of nominal nodes, one axis for each; see `evidence` for the form of `known`."""
        names = self.graph.known(queried)
        again = [name for i, name in enumerate(names) if name in names[:i]]
        if again:
            raise OptionError(f"The query contains node {again[0]!r} twice.")
        codes, numbers = self.evidence(known or {})
        twice = [name for name in names if name in codes and np.ndim(codes[name]) == 0]
        if twice or any(name not in self.tables for name in names):
            wrong = twice[0] if twice else next(name for name in names if name not in self.tables)
            why = (
                "part of the evidence, so it cannot be queried"
                if twice
                else "numeric; only nominal nodes have probabilities"
            )
            raise OptionError(f"Node {wrong!r} is {why}.")
        relevant = self.graph.ancestors({*names, *codes, *numbers})
        work = Elimination(self.factors(codes, numbers, [n for n in self.graph if n in relevant]), names)
        total = float(work.result.table.sum())
        if not total > 0:
            raise OptionError("The evidence has probability 0 in this network.")
        return work.result.table / total

    def marginals(self, known: Mapping[str, Any] | None = None) -> tuple[dict[str, Floats], float]:
        """Return P(node | known) of every nominal node, and log P(known); impossible evidence is an error."""
        found, log = self.calibrated(known)
        if log == -np.inf:
            raise OptionError("The evidence has probability 0 in this network.")
        return found, log

    def calibrated(self, known: Mapping[str, Any] | None = None) -> tuple[dict[str, Floats], float]:
        """Return the same as `marginals`; impossible evidence gives no marginals, and minus infinity as log P."""
        codes, numbers = self.evidence(known or {})
        sizes = self.sizes()
        nominal = [name for name in self.graph if name in self.tables]
        factors = self.factors({}, {}, self.graph)
        of_numbers = self.number_factors(numbers, codes)
        factors += [factor for factor, _ in of_numbers]
        scale = sum(log for _, log in of_numbers)
        factors += self.marks(codes)
        tree = self._junction
        if of_numbers:  # they may connect nominal nodes that share no CPT
            tree = Junction(neighbors((factor.variables for factor in factors), nominal), sizes)
        found, log = tree.marginals(factors)
        return {name: found[name] for name in nominal if name in found}, log + scale

    def sampled(self, queried: str, known: Mapping[str, Any], method: str, n: int, seed: int) -> SampledEstimate:
        """Estimate P(queried | known) by sampling.

        Numbers and soft evidence enter as additional nodes with one value, whose probability is their likelihood.
        """
        codes, numbers = self.evidence(known)
        parents: dict[str, tuple[str, ...]] = {node: self.graph.parents[node] for node in self.tables}
        tables = dict(self.tables)
        hard: dict[str, int] = {name: int(code) for name, code in codes.items() if np.ndim(code) == 0}
        extra = [Potential((name,), weights / weights.max()) for name, weights in codes.items() if np.ndim(weights)]
        extra += [factor for factor, _ in self.number_factors(numbers, codes)]
        for i, factor in enumerate(extra):
            node = f"\0{i}"
            parents[node], tables[node], hard[node] = factor.variables, factor.table[..., None], 0
        if queried in hard:
            raise OptionError(f"Node {queried!r} is part of the evidence, so it cannot be queried.")
        draw = gibbs if method == "gibbs" else likelihood_weighting
        return draw(Graph(parents), tables, queried, hard, n, seed)

    def most_probable_explanation(self, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the most probable joint assignment of the nominal nodes that have no evidence."""
        codes, numbers = self.evidence(known or {})
        work = Elimination(self.factors(codes, numbers, self.graph), [], largest=True)
        if not float(work.result.table) > 0:
            raise OptionError("The evidence has probability 0 in this network.")
        best = work.explanation()
        return {name: self.values(name)[best[name]] for name in self.graph if name in best}


def code_of(name: str, values: Sequence[Any], value: Any) -> int:
    """Return the position of a value among the values of a node; raise an error if there is no such value."""
    if not isinstance(value, Hashable) or value not in values:
        raise OptionError(
            f"Node {name!r} has no value {value!r}.",
            hint=did_you_mean(value, values) or f"use one of {listed(values)}.",
        )
    return values.index(value)


def is_soft(value: Any) -> bool:
    """Return whether evidence is soft: a weight for each value."""
    return isinstance(value, Mapping | list | np.ndarray)


def evidence_text(known: Mapping[str, Any]) -> str:
    """Format evidence in one line: rain = yes, soft evidence on wet."""
    return ", ".join(
        f"soft evidence on {name}"
        if is_soft(value)
        else f"{name} = {number(value) if isinstance(value, float) else value}"
        for name, value in known.items()
    )


def _number(name: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"Node {name!r} is numeric, but its evidence {value!r} is not a number.") from None
    if np.isinf(found):
        raise OptionError(f"The evidence of node {name!r} must be a finite number, not {value!r}.")
    return found
