"""Queries on a network: posteriors, moments, log-likelihoods of rows, and samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.data.attributes import Nominal, Numeric
from countwise.data.series import is_missing
from countwise.data.table import Table
from countwise.errors import OptionError, check_number, listed
from countwise.network.inference.batch_inference import EvidenceRows, batches
from countwise.network.inference.elimination import refuse_wide
from countwise.network.inference.sampling import forward
from countwise.network.net import Net, evidence_text, is_soft
from countwise.working import Grid, Section
from countwise.working.markup import escape
from countwise.working.numbers import number

__all__ = [
    "QueryAnswer",
    "Situation",
    "arcs_text",
    "evidence_of",
    "log_prob_rows",
    "marginals",
    "moments",
    "query",
    "sample_rows",
]

METHODS = ("exact", "likelihood_weighting", "gibbs")


class QueryAnswer(dict[Any, float]):
    """The result of a query: a dict of value to probability that prints as a table.

    For several nodes the keys are tuples of values; for a numeric node they are "mean" and "sd". The attribute
    `query` is the query as text. A result by sampling also has the standard errors (`errors`) and the effective
    sample size (`effective`).

    Parameters
    ----------
    probabilities : mapping of value to float
        The probability of each value, or the mean and the standard deviation.
    query : str
        The query as text, such as "P(rain | wet = yes)".
    errors : mapping of value to float, optional
        The standard errors of a result by sampling.
    effective : float, optional
        The effective sample size of a result by sampling.
    method : str, default='exact'
        The inference method.
    cut : sequence of pairs, default=()
        The arcs (parent, child) that an intervention has cut.

    Examples
    --------
    >>> from countwise.network.queries import QueryAnswer
    >>> print(QueryAnswer({"no": 0.25, "yes": 0.75}, "P(rain)"))
    P(rain)
    no   0.25
    yes  0.75
    """

    def __init__(
        self,
        probabilities: Mapping[Any, float],
        query: str,
        errors: Mapping[Any, float] | None = None,
        effective: float | None = None,
        method: str = "exact",
        cut: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(probabilities)
        self.query, self.errors, self.effective, self.method = query, errors, effective, method
        self.cut = tuple(cut)

    @property
    def best(self) -> Any:
        """The most probable value; the first one in case of a tie."""
        return max(self, key=lambda value: self[value])

    def _rows(self) -> list[tuple[str, str]]:
        def shown(value: Any) -> str:
            return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

        return [
            (shown(v), number(p) if self.errors is None else f"{number(p)} ± {number(self.errors[v])}")
            for v, p in self.items()
        ]

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.effective is not None:
            how = self.method.replace("_", " ")
            notes.append(f"estimated by {how}; effective sample size {self.effective:.0f}")
        if self.cut:
            notes.append(f"arcs cut: {arcs_text(self.cut)}")
        return tuple(notes)

    def __str__(self) -> str:
        rows = self._rows()
        width = max((len(value) for value, _ in rows), default=0)
        return "\n".join([self.query, *(f"{value.ljust(width)}  {p}" for value, p in rows), *self._notes()])

    def _repr_html_(self) -> str:
        body = "".join(f"<tr><td>{escape(v)}</td><td>{escape(p)}</td></tr>" for v, p in self._rows())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return f"<table><caption>{escape(self.query)}</caption><tbody>{body}</tbody></table>{notes}"

    def latex(self, width: int | None = None) -> str:
        r"""Return the answer as LaTeX; the document must load amsmath, and graphicx if a width is given.

        Parameters
        ----------
        width : int or None, default=None
            The table is broken to fit into this many characters; a beamer frame has about 56. If None, it is not
            broken.

        Returns
        -------
        str
            The query and the table of probabilities.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> print(BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2]).query("rain").latex())
        \noindent\textbf{P(rain)}\par\nopagebreak
        \begingroup\centering\renewcommand{\arraystretch}{1.1}\smallskip
        \(\begin{array}[b]{ll}
          \text{value} & \text{probability} \\ \hline
          \text{no} & 0.8 \\
          \text{yes} & 0.2
        \end{array}\)\par\smallskip\endgroup
        """
        values, probabilities = zip(*self._rows(), strict=True)
        return Section(self.query, Grid({"value": values, "probability": probabilities}), self._notes()).latex(width)


def arcs_text(arcs: Iterable[tuple[str, str]]) -> str:
    """Format arcs in one line."""
    return ", ".join(f"{parent} → {child}" for parent, child in arcs)


def evidence_of(
    net: Net, cuts: Mapping[str, Sequence[float]], given: Mapping[str, Any] | None, what: str = "Evidence"
) -> dict[str, Any]:
    """Convert the user's evidence: drop missing values, and replace numbers of discretized nodes by their bins."""
    if not (given is None or isinstance(given, Mapping)):
        raise OptionError(f"{what} must be a mapping {{node: value}}, not {given!r}.")
    net.graph.known(given or {})
    found = {name: value for name, value in (given or {}).items() if is_soft(value) or not is_missing(value)}
    for name, value in found.items():
        if name in cuts and isinstance(value, int | float | np.number) and not isinstance(value, bool):
            found[name] = net.values(name)[int(np.searchsorted(cuts[name], float(value), side="left"))]
    return found


@dataclass(frozen=True, eq=False)
class Situation:
    """A network with what is observed in it, and what is set by an intervention."""

    net: Net  # after graph surgery
    evidence: Mapping[str, Any]  # the observed values, and the nominal values that were set
    given: Mapping[str, Any]  # the observed values, as shown
    do: Mapping[str, Any]  # the values that were set, as shown
    before: Net  # without the intervention
    observed: Mapping[str, Any]  # the evidence, if the values that were set had been observed

    @classmethod
    def of(
        cls, net: Net, cuts: Mapping[str, Sequence[float]], given: Mapping[str, Any] | None, do: Any = None
    ) -> Situation:
        """Return the situation for the evidence and the intervention that the user gave."""
        evidence = evidence_of(net, cuts, given)
        shown = {name: value for name, value in (given or {}).items() if name in evidence}
        actions = evidence_of(net, cuts, do, "do")
        if not actions and not do:
            return cls(net, evidence, shown, {}, net, evidence)
        for name in do:
            if name not in actions:
                raise OptionError(f"do sets {name!r} to a missing value.", hint="drop it, or pass one of its values.")
            if name in evidence:
                raise OptionError(
                    f"{name!r} is both observed and set.", hint="pass it either as evidence or in do, not in both."
                )
        after = net.intervened(actions)
        known = {name: value for name, value in actions.items() if name in after.graph}
        return cls(after, {**evidence, **known}, shown, dict(do), net, {**evidence, **actions})

    @property
    def cut(self) -> tuple[tuple[str, str], ...]:
        """The arcs into the nodes that were set."""
        return tuple(arc for arc in self.before.graph.arcs if arc[1] in self.do)

    @property
    def doing(self) -> str:
        """The intervention as text: do(rain = yes)."""
        return f"do({evidence_text(self.do)})" if self.do else ""

    @property
    def events(self) -> str:
        """The intervention and the evidence as text."""
        return ", ".join(part for part in (self.doing, evidence_text(self.given)) if part)

    def text(self, names: Sequence[str]) -> str:
        """Format a query: P(rain | do(hose = on), wet = yes)."""
        return f"P({', '.join(names)}{f' | {self.events}' if self.events else ''})"

    def queried(self, nodes: str | Sequence[str]) -> list[str]:
        """Return the nodes of a query; raise an error for a node that was set."""
        names = self.before.graph.known(nodes)
        if not names:
            raise OptionError("The query contains no node.", hint="pass the name of a node, or several names.")
        wrong = [name for name in names if name in self.do]
        if wrong:
            raise OptionError(f"Node {wrong[0]!r} is set by do, so it cannot be queried.")
        return names


def query(here: Situation, nodes: str | Sequence[str], *, method: str, n: int, seed: int) -> QueryAnswer:
    """Compute the posterior of one node, or of several jointly."""
    net, names, evidence = here.net, here.queried(nodes), here.evidence
    if not isinstance(method, str) or method not in METHODS:
        raise OptionError(f"method must be one of {listed(METHODS)}, not {method!r}.")
    text = here.text(names)
    numeric = [name for name in names if name not in net.tables]
    if numeric:
        if len(names) > 1 or method != "exact":
            raise OptionError(
                f"Node {numeric[0]!r} is numeric; it can only be queried alone and with method='exact'."
            )
        mean, sd = moments(net, names[0], evidence)
        return QueryAnswer({"mean": mean, "sd": sd}, text.replace("P(", "p(", 1), cut=here.cut)
    if method != "exact":
        if len(names) > 1:
            raise OptionError(
                f"method={method!r} supports a single query node, not {len(names)}.", hint="use method='exact'."
            )
        check_number("n", n, 1, whole=True)
        found = net.sampled(names[0], evidence, method, int(n), seed)
        probabilities, errors = (
            dict(zip(net.values(names[0]), each.tolist(), strict=True))
            for each in (found.probabilities, found.errors)
        )
        return QueryAnswer(probabilities, text, errors, found.effective, method, here.cut)
    table = net.query(names, evidence)
    values = [net.values(name) for name in names]
    if len(names) == 1:
        return QueryAnswer(dict(zip(values[0], table.tolist(), strict=True)), text, cut=here.cut)
    keys = [tuple(v[i] for v, i in zip(values, at, strict=True)) for at in np.ndindex(*table.shape)]
    return QueryAnswer(dict(zip(keys, table.ravel().tolist(), strict=True)), text, cut=here.cut)


def moments(net: Net, name: str, evidence: Mapping[str, Any]) -> tuple[float, float]:
    """Return the mean and the standard deviation of a numeric node given evidence."""
    if name in evidence:
        raise OptionError(f"Node {name!r} is part of the evidence, so it cannot be queried.")
    numbers = {k: float(v) for k, v in evidence.items() if k not in net.tables}
    scope, mean, variance = net.numbers.moments(name, numbers)
    weights = np.ones(1)
    if scope:
        shape = [net.sizes()[v] for v in scope]
        refuse_wide(int(np.prod(shape)))
        free = [v for v in scope if v not in evidence or is_soft(evidence[v])]
        table = net.query(free, evidence) if free else np.ones(())
        index = tuple(slice(None) if v in free else net.code(v, evidence[v]) for v in scope)
        whole = np.zeros(shape)
        whole[index] = table
        weights = whole.ravel()
    center = float(weights @ mean)
    total = float(weights @ (variance + (mean - center) ** 2))
    return center, float(np.sqrt(max(total, 0.0)))


def marginals(here: Situation) -> dict[str, QueryAnswer]:
    """Return the posterior of every nominal node."""
    net = here.net
    found, _ = net.marginals(here.evidence)
    return {
        name: QueryAnswer(dict(zip(net.values(name), table.tolist(), strict=True)), here.text([name]), cut=here.cut)
        for name, table in found.items()
    }


def log_prob_rows(net: Net, table: Table) -> Floats:
    """Return log P(row) of encoded rows, with missing values summed out."""
    found = np.zeros(table.n_rows)
    for batch in batches(net, EvidenceRows.of(net, table)):
        found[batch.places] = batch.posterior(net).log
    return found


def sample_rows(here: Situation, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Draw n rows from a network; return one column for each node."""
    net = here.net
    nominal = net.graph.within([node for node in net.graph if node in net.tables])
    columns: dict[str, NDArray[Any]] = dict(forward(nominal, net.tables, n, rng)[0])
    for node in net.graph.order():
        if node not in net.tables:
            combos = np.zeros(n, dtype=np.int64)
            for parent in net.numbers.nominal_parents(node):
                combos = combos * net.sizes()[parent] + columns[parent]
            columns[node] = _numbers(net, node, combos, columns, rng)
    for node in here.before.graph:
        if node not in net.graph:  # a number that was set
            columns[node] = np.full(n, float(here.do[node]))
    return {
        node: a.decode(columns[node]) if isinstance(a := here.before.attributes[node], Nominal) else columns[node]
        for node in here.before.graph
    }


def _numbers(net: Net, node: str, combos: Indices, columns: Any, rng: np.random.Generator) -> Any:
    line = net.numbers.lines.get(node)
    if line is not None:
        mean = line.intercept[combos].copy()
        for j, parent in enumerate(line.numbers):
            mean += line.slope[combos, j] * columns[parent]
        return mean + line.sd[combos] * rng.standard_normal(len(combos))
    found = np.empty(len(combos), dtype=np.float64 if isinstance(net.attributes[node], Numeric) else object)
    for c in np.unique(combos).tolist():
        mine = combos == c
        found[mine] = net.densities[node].draw(c, int(mine.sum()), rng)
    return found
