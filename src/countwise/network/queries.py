"""What can be asked of a network: probabilities, explanations, independence, rows, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.base.term import derive
from countwise.data.attributes import Nominal, Numeric
from countwise.data.series import is_missing
from countwise.data.table import Table
from countwise.errors import OptionError, check_number, listed
from countwise.network.answer import QueryAnswer
from countwise.network.inference.batch_inference import EvidenceRows, posteriors
from countwise.network.inference.elimination import refuse_wide
from countwise.network.inference.sampling import forward
from countwise.network.inspection import NetworkInsight
from countwise.network.net import Net
from countwise.working import Grid
from countwise.working.numbers import number

__all__ = ["NetworkAnswers", "drawn_rows"]


def drawn_rows(net: Net, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Codes of names and numbers, by node.

    Parameters
    ----------
    net : Net
    n : int
        How many rows.
    rng : Generator
    """
    names = net.graph.within([node for node in net.graph if node in net.tables])
    columns: dict[str, NDArray[Any]] = dict(forward(names, net.tables, n, rng)[0])
    for node in net.graph.order():
        if node in net.tables:
            continue
        above = net.numbers.names_above(node)
        combos = np.zeros(n, dtype=np.int64)
        for parent in above:
            combos = combos * net.sizes()[parent] + columns[parent]
        columns[node] = _numbers(net, node, combos, columns, rng)
    return {node: columns[node] for node in net.graph}


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


METHODS = ("exact", "likelihood_weighting", "gibbs")


class NetworkAnswers(NetworkInsight):
    """Answers of a network that is fitted or drawn; mixed into `BayesNetwork` and `BayesNetworkClassifier`."""

    net_: Net
    _check_fitted: Any

    def _net(self) -> Net:
        self._check_fitted()
        return self.net_

    def _known(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """What is known, numbers that are held by their ranges as these."""
        net = self._net()
        if not (given is None or isinstance(given, Mapping)):
            raise OptionError(f"What is known is given as {{node: value}}, not {given!r}.")
        net.graph.known(given or {})
        known = {name: value for name, value in (given or {}).items() if not _is_gap(value)}
        for name, value in known.items():
            edges = getattr(self, "cuts_", {}).get(name)
            if edges is not None and isinstance(value, int | float | np.number) and not isinstance(value, bool):
                at = int(np.searchsorted(np.array(edges), float(value), side="left"))
                known[name] = net.attributes[name].values[at]  # type: ignore[attr-defined]
        return known

    # -- inference -----------------------------------------------------------------------

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
            What is known: a value, a number, or ``{value: weight}`` for soft evidence. None and NaN are not known.
        method : {"exact", "likelihood_weighting", "gibbs"}, default="exact"
            By variable elimination, or from rows that are drawn, with standard errors.
        n : int, default=10000
            How many rows to draw.
        random_state : int, default=0
            The seed of the draw.

        Returns
        -------
        QueryAnswer
            A dict of value (of several nodes: tuple of values) to probability. Of a number: "mean" and "deviation".

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().arc("rain", "wet")
        >>> net.node("rain", ["no", "yes"], [0.8, 0.2]).node("wet", ["no", "yes"])
        BayesNetwork(...)
        >>> net.table("wet", {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        BayesNetwork(...)
        >>> print(net.query("rain", {"wet": "yes"}))
        P(rain | wet = yes)
        no   0.333333
        yes  0.666667
        """
        net, known = self._net(), self._known(given)
        names = net.graph.known(asked)
        if not names:
            raise OptionError("Nothing was asked.", hint="name a node, or several.")
        if method not in METHODS:
            raise OptionError(f"method={method!r} is unknown.", hint=f"give one of {listed(METHODS)}.")
        told = _told(names, {name: value for name, value in (given or {}).items() if name in known})
        numbers = [name for name in names if name not in net.tables]
        if numbers:
            if len(names) > 1 or method != "exact":
                raise OptionError(f"{numbers[0]!r} is a number; it is asked on its own, and exactly.")
            mean, sd = self._moments(names[0], known)
            return QueryAnswer({"mean": mean, "deviation": sd}, told.replace("P(", "(", 1))
        values = [net.attributes[name].values for name in names]  # type: ignore[attr-defined]
        if method != "exact":
            return self._drawn(names, values, known, told, method, n, random_state)
        table = net.query(names, known)
        if len(names) == 1:
            return QueryAnswer(dict(zip(values[0], table.tolist(), strict=True)), told)
        keys = [tuple(v[i] for v, i in zip(values, at, strict=True)) for at in np.ndindex(*table.shape)]
        return QueryAnswer(dict(zip(keys, table.ravel().tolist(), strict=True)), told)

    def _drawn(
        self, names: list[str], values: list[Any], known: Any, told: str, method: str, n: int, seed: int
    ) -> QueryAnswer:
        if len(names) > 1:
            raise OptionError("Only one node at a time is asked by sampling.")
        check_number("n", n, 1, whole=True)
        found = self._net().sampled(names[0], known, method, int(n), seed)
        pairs = zip(values[0], found.shares.tolist(), found.errors.tolist(), strict=True)
        shares, errors = {}, {}
        for value, share, error in pairs:
            shares[value], errors[value] = share, error
        return QueryAnswer(shares, told, errors, found.effective, method)

    def _moments(self, name: str, known: Mapping[str, Any]) -> tuple[float, float]:
        """Mean and deviation of a number, over all that is not known."""
        net = self._net()
        if name in known:
            raise OptionError(f"{name!r} is known; it cannot be asked.")
        numbers = {k: float(v) for k, v in known.items() if k not in net.tables}
        scope, mean, variance = net.numbers.moments(name, numbers)
        weights = np.ones(1)
        if scope:
            shape = [net.sizes()[v] for v in scope]
            refuse_wide(int(np.prod(shape)))
            free = [v for v in scope if v not in known or isinstance(known[v], Mapping | list | np.ndarray)]
            table = net.query(free, known) if free else np.ones(())
            index = tuple(slice(None) if v in free else net.code(v, known[v]) for v in scope)
            whole = np.zeros(shape)
            whole[index] = table
            weights = whole.ravel()
        center = float(weights @ mean)
        spread = float(weights @ (variance + (mean - center) ** 2))
        return center, float(np.sqrt(max(spread, 0.0)))

    def marginals(self, given: Mapping[str, Any] | None = None) -> dict[str, QueryAnswer]:
        """P(node | given) of every node of names, in one pass over the junction tree.

        Parameters
        ----------
        given : mapping of str to value, optional
            What is known.

        Returns
        -------
        dict of str to QueryAnswer
        """
        net, known = self._net(), self._known(given)
        found, _ = net.marginals(known)
        return {
            name: QueryAnswer(
                dict(zip(net.attributes[name].values, table.tolist(), strict=True)),  # type: ignore[attr-defined]
                _told([name], known),
            )
            for name, table in found.items()
        }

    def most_probable(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The most probable values of all nodes of names that are not known, together (MPE).

        Parameters
        ----------
        given : mapping of str to value, optional
            What is known.

        Returns
        -------
        dict of str to value
        """
        return self._net().most_probable(self._known(given))

    def log_evidence(self, given: Mapping[str, Any]) -> float:
        """Log P(given), minus infinity if it cannot be; of numbers, log of their density."""
        return self._net().weighed(self._known(given))[1]

    # -- rows -----------------------------------------------------------------------------------

    def _rows_of(self, X: Any) -> Table:
        """A table encoded by node."""
        self._check_fitted()
        frame = self.schema_.opened(X)  # type: ignore[attr-defined]
        return derive(self.schema_.encode(frame), self.terms_)  # type: ignore[attr-defined]

    def score_samples(self, X: Any) -> Floats:
        """Log P(row), with what is missing summed out.

        Parameters
        ----------
        X : any table

        Returns
        -------
        ndarray, shape (rows,)
        """
        net, table = self._net(), self._rows_of(X)
        rows = EvidenceRows({n: table[n] for n in net.tables}, {n: table[n] for n in net.densities}, table.n_rows)
        found = np.zeros(table.n_rows)
        for part in posteriors(net.graph, net.tables, net.numbers, rows):
            found[part.rows] = part.log
        return found

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Rows drawn from the network.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, Generator or None
            The seed.

        Returns
        -------
        table
            Of the kind that the network learned from; a mapping of columns if there was none.
        """
        net = self._net()
        check_number("n_samples", n_samples, 1, whole=True)
        columns = drawn_rows(net, int(n_samples), np.random.default_rng(random_state))
        cells = {
            name: a.decode(columns[name]) if isinstance(a := net.attributes[name], Nominal) else columns[name]
            for name in net.graph
        }
        library = getattr(self, "_library", None)
        return Grid({n: c.tolist() for n, c in cells.items()}).to_frame(library) if library in _FRAMES else cells


_FRAMES = ("pandas", "polars", "pyarrow")


def _is_gap(value: Any) -> bool:
    return not isinstance(value, Mapping | list | np.ndarray) and is_missing(value)


def _told(names: Sequence[str], known: Mapping[str, Any]) -> str:
    def one(name: str, value: Any) -> str:
        if isinstance(value, Mapping | list | np.ndarray):
            return f"{name} ~ soft"
        return f"{name} = {number(value) if isinstance(value, float) else value}"

    given = ", ".join(one(name, value) for name, value in known.items())
    return f"P({', '.join(names)}{' | ' + given if given else ''})"
