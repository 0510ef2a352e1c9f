"""A network with its parameters, and the queries that it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from countwise.working.numbers import number

__all__ = ["Net", "code_of", "evidence_text", "is_soft"]


@dataclass(frozen=True, eq=False)
class Net:
    """Nominal nodes with tables, and numeric nodes with densities.

    Examples
    --------
    >>> from countwise import BayesNetwork, samples
    >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(samples.load("tennis").frame).net_
    >>> net.query("play", {"wind": "Strong"}).round(6).tolist()
    [0.5, 0.5]
    """

    graph: Graph
    attributes: Mapping[str, Attribute]
    tables: Mapping[str, Floats]  # of nominal nodes: P(node | parents), the last axis for the node
    densities: Mapping[str, Any]  # of numeric nodes, over the combinations of their nominal parents' values

    def values(self, name: str) -> tuple[Any, ...]:
        """The values of a nominal node."""
        values: tuple[Any, ...] = self.attributes[name].values  # type: ignore[attr-defined]
        return values

    def sizes(self) -> dict[str, int]:
        """How many values each nominal node has."""
        return {name: len(a.values) for name, a in self.attributes.items() if isinstance(a, Nominal)}

    def code(self, name: str, value: Any) -> int:
        """The code of a value; one that the node does not have is an error."""
        return code_of(name, self.values(name), value)

    def evidence(self, known: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
        """Evidence as codes or weights of values, and numbers.

        A mapping or an array in place of a value is soft evidence: a weight for each value.
        """
        self.graph.known(known)
        codes: dict[str, Any] = {}
        numbers: dict[str, float] = {}
        for name, value in known.items():
            a = self.attributes[name]
            if not isinstance(a, Nominal):
                if not isinstance(a, Numeric):
                    raise OptionError(f"{name!r} is neither nominal nor numeric; it takes no evidence.")
                numbers[name] = _number(name, value)
            elif is_soft(value):
                codes[name] = self._weights(name, value)
            else:
                codes[name] = self.code(name, value)
        return codes, numbers

    def _weights(self, name: str, value: Any) -> Floats:
        size = self.sizes()[name]
        given = {self.code(name, one): w for one, w in value.items()} if isinstance(value, Mapping) else value
        try:
            if isinstance(given, Mapping):
                weights = np.array([float(given.get(code, 0.0)) for code in range(size)])
            else:
                weights = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):  # words, or rows of unlike lengths
            weights = np.zeros(0)
        if weights.shape != (size,) or not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise OptionError(f"Soft evidence on {name!r} needs a weight of 0 or more for each of {size} values.")
        return weights

    def factors(
        self, codes: Mapping[str, Any], numbers: Mapping[str, float], among: Iterable[str]
    ) -> list[Potential]:
        """The tables of some nodes reduced by the evidence; numeric nodes without evidence have no say."""
        hard = {name: code for name, code in codes.items() if np.ndim(code) == 0}
        named = [name for name in among if name in self.tables]
        found = [Potential((*self.graph.parents[name], name), self.tables[name]) for name in named]
        found += [factor for factor, _ in self.number_factors(numbers, hard)]
        soft = [Potential((name,), weights) for name, weights in codes.items() if name not in hard]
        return [factor.given(hard) for factor in found] + soft

    def marks(self, codes: Mapping[str, Any]) -> list[Potential]:
        """Evidence as weights of values: 1 for a value that is known."""
        sizes = self.sizes()
        return [
            Potential((name,), np.eye(sizes[name])[code] if np.ndim(code) == 0 else code)
            for name, code in codes.items()
        ]

    def number_factors(
        self, numbers: Mapping[str, float], codes: Mapping[str, Any] | None = None
    ) -> list[tuple[Potential, float]]:
        """The likelihood of numbers for each combination of their nominal ancestors, with the log of the scale.

        Names that are known have their value alone: others may be likelier by more than numbers can say.
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
        """The junction tree without numeric nodes; it serves every query without numeric evidence."""
        near = self.graph.within([name for name in self.graph if name in self.tables]).moral()
        return Junction(near, self.sizes())

    @lazy
    def numbers(self) -> Numbers:
        """The numeric nodes."""
        return Numbers(self.graph, self.sizes(), self.densities)

    def query(self, asked: str | Sequence[str], known: Mapping[str, Any] | None = None) -> Floats:
        """P(asked | known) of nominal nodes, an axis for each; evidence is values, numbers, or weights of values."""
        names = self.graph.known(asked)
        again = [name for i, name in enumerate(names) if name in names[:i]]
        if again:
            raise OptionError(f"{again[0]!r} is asked for twice.")
        codes, numbers = self.evidence(known or {})
        twice = [name for name in names if name in codes and np.ndim(codes[name]) == 0]
        if twice or any(name not in self.tables for name in names):
            odd = twice[0] if twice else next(name for name in names if name not in self.tables)
            raise OptionError(f"{odd!r} is {'known' if twice else 'a number'}; its probability cannot be asked.")
        relevant = self.graph.ancestors({*names, *codes, *numbers})
        work = Elimination(self.factors(codes, numbers, [n for n in self.graph if n in relevant]), names)
        total = float(work.result.table.sum())
        if not total > 0:
            raise OptionError("The evidence has probability 0 in this network.")
        return work.result.table / total

    def marginals(self, known: Mapping[str, Any] | None = None) -> tuple[dict[str, Floats], float]:
        """P(node | known) of every nominal node, and log P(known); impossible evidence is an error."""
        found, log = self.weighed(known)
        if log == -np.inf:
            raise OptionError("The evidence has probability 0 in this network.")
        return found, log

    def weighed(self, known: Mapping[str, Any] | None = None) -> tuple[dict[str, Floats], float]:
        """The same; impossible evidence has no marginals, and minus infinity."""
        codes, numbers = self.evidence(known or {})
        sizes = self.sizes()
        nominal = [name for name in self.graph if name in self.tables]
        factors = self.factors({}, {}, self.graph)
        of_numbers = self.number_factors(numbers, codes)
        factors += [factor for factor, _ in of_numbers]
        scale = sum(log for _, log in of_numbers)
        factors += self.marks(codes)
        tree = self._junction
        if of_numbers:  # which may join nominal nodes that no table does
            tree = Junction(neighbors((factor.variables for factor in factors), nominal), sizes)
        found, log = tree.marginals(factors)
        return {name: found[name] for name in nominal if name in found}, log + scale

    def sampled(self, asked: str, known: Mapping[str, Any], method: str, n: int, seed: int) -> SampledEstimate:
        """P(asked | known) by sampling.

        Numbers and soft evidence enter as nodes of one value each, whose probability is how well they agree.
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
        if asked in hard:
            raise OptionError(f"{asked!r} is known; its probability cannot be asked.")
        draw = gibbs if method == "gibbs" else likelihood_weighting
        return draw(Graph(parents), tables, asked, hard, n, seed)

    def most_probable_explanation(self, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The most probable values of all nominal nodes without evidence, together."""
        codes, numbers = self.evidence(known or {})
        work = Elimination(self.factors(codes, numbers, self.graph), [], largest=True)
        if not float(work.result.table) > 0:
            raise OptionError("The evidence has probability 0 in this network.")
        best = work.explanation()
        return {name: self.values(name)[best[name]] for name in self.graph if name in best}


def code_of(name: str, values: Sequence[Any], value: Any) -> int:
    """The place of a value among those of a node; one that it does not have is an error."""
    if value not in values:
        raise OptionError(
            f"{name!r} has no value {value!r}.",
            hint=did_you_mean(value, values) or f"its values are {listed(values)}.",
        )
    return values.index(value)


def is_soft(value: Any) -> bool:
    """Whether evidence is soft: a weight for each value."""
    return isinstance(value, Mapping | list | np.ndarray)


def evidence_text(known: Mapping[str, Any], soft: str = " by weights") -> str:
    """Evidence in a line: rain = yes, wet by weights."""
    return ", ".join(
        name + (soft if is_soft(value) else f" = {number(value) if isinstance(value, float) else value}")
        for name, value in known.items()
    )


def _number(name: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name!r} is numeric; {value!r} is no number.") from None
    if np.isinf(found):
        raise OptionError(f"{name!r} is {value!r}; a number must be finite.")
    return found
