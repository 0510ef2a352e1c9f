"""The working of EM: completions of incomplete rows, expected counts, and the tables estimated from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.data.table import Table
from countwise.errors import TableError
from countwise.network.em import Iteration
from countwise.network.inference.batch_inference import EvidenceRows, batches
from countwise.network.inference.gaussian_nodes import BlockTerm
from countwise.network.inspection import cpt_grid
from countwise.network.net import Net
from countwise.tallies import Counts
from countwise.working import Account, Grid, Section
from countwise.working.numbers import RowNumbers, Worked, number

__all__ = ["EMWorking"]

_MOST_CELLS = 64  # of a table that is shown
_MOST_COMPLETIONS = 16  # of a row that are shown
_MOST_LIKELIHOODS = 12


@dataclass(frozen=True, eq=False)
class EMWorking:
    """The first iterations of EM on some rows."""

    iterations: Sequence[Iteration]
    table: Table  # the encoded rows
    places: Indices  # the number of each row
    densities: Sequence[Mapping[str, Any]]  # of all nodes, after each iteration
    latent: Sequence[str]
    likelihoods: Sequence[float]  # log-likelihoods of all iterations
    reached: float | None  # the last log-likelihood of fit, if it started elsewhere
    most_rows: int

    def account(self) -> Account:
        """Return the complete working."""
        first = self.iterations[0]
        names = [name for name in first.before.graph if first.tallies[name] is not first.counted[name]]
        if not names:
            raise TableError(
                "No value is missing that EM could complete, so the counts of the rows are the expected counts.",
                hint="cpt(node) and table_titles() show the tables.",
            )
        sections = [self._rows(first.before, names)]
        sections += [
            Section(f"Start: {_title(first.before, name)}", cpt_grid(first.before, name))
            for name in names
            if _size(first.before, name) <= _MOST_CELLS
        ]
        for i, one in enumerate(self.iterations, 1):
            sections.append(self._completions(i, one))
            sections += [self._estimates(i, one, name) for name in names]
        sections.append(self._likelihoods())
        log = self.likelihoods[-1]
        n = len(self.likelihoods)
        answer = f"EM: log-likelihood {number(log)} of the observed values before iteration {n}."
        return Account(answer, float(log), tuple(sections), tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        yield (
            "E step: joint is P(completion, observed values), P is its share among the completions of the row, and "
            "weight is P times the weight of the rows; a missing number has its mean ± standard deviation. M step: "
            "observed counts the rows in which a node and its parents are observed, expected adds the weights of the "
            "completions of the other rows."
        )
        yield "A missing value without an observed descendant is left out: it changes no estimate."

    def _rows(self, net: Net, names: Sequence[str]) -> Section:
        """Return the section on the rows, and on the start of EM."""
        n, incomplete = self.table.n_rows, int(self._incomplete(net).sum())
        others = [name for name in net.graph if name not in names]
        lines = [f"{n} rows; {incomplete} of them lack{'s' * (incomplete == 1)} a value that EM completes."]
        if self.latent:
            lines.append(f"{', '.join(self.latent)} is never observed; EM starts from random tables.")
        else:
            lines.append("EM starts from the rows in which a node and its parents are observed.")
        if others:
            lines.append(f"EM does not change the tables of {', '.join(others)}.")
        return Section("The rows", Grid({}), tuple(lines))

    def _incomplete(self, net: Net) -> Any:
        """Return which rows lack a value that has an observed descendant, so that EM completes it."""
        sizes, graph = net.sizes(), net.graph
        gone = {name: self.table[name] >= sizes[name] for name in net.tables}
        gone |= {name: np.isnan(np.asarray(self.table[name], dtype=np.float64)) for name in net.numbers.linked}
        below = {name: ~gone[name] if name in gone else np.ones(self.table.n_rows, dtype=bool) for name in graph}
        for name in reversed(graph.order()):
            for parent in graph.parents[name]:
                below[parent] = below[parent] | below[name]
        found = np.zeros(self.table.n_rows, dtype=bool)
        for name, flags in gone.items():
            found |= flags & below[name]
        return found

    # -- E step --------------------------------------------------------------------------

    def _groups(self, net: Net) -> list[Indices]:
        """Return the incomplete rows; identical rows together."""
        places = np.flatnonzero(self._incomplete(net))
        if net.densities:
            return [np.array([place]) for place in places]
        sizes = net.sizes()
        matrix = np.stack([np.minimum(self.table[name][places], sizes[name]) for name in net.tables], axis=1)
        groups: dict[bytes, list[int]] = {}
        for place, row in zip(places.tolist(), matrix, strict=True):
            groups.setdefault(row.tobytes(), []).append(place)
        return [np.array(group) for group in groups.values()]

    def _completions(self, i: int, one: Iteration) -> Section:
        """Return the section on the completions of the incomplete rows, with their probabilities."""
        net, groups = one.before, self._groups(one.before)
        shown, sizes = groups[: self.most_rows], net.sizes()
        weights = np.ones(self.table.n_rows) if self.table.weights is None else self.table.weights
        rows = EvidenceRows.of(net, self.table).take(np.array([group[0] for group in shown]))
        found: list[list[tuple[Any, ...]]] = [[] for _ in shown]
        cut = False
        for batch in batches(net, rows, apart=True):
            posterior = batch.posterior(net)
            cells = posterior.of(posterior.open) if posterior.open else np.ones(len(posterior.rows))
            for j, (place, table, log) in enumerate(zip(posterior.rows.tolist(), cells, posterior.log, strict=True)):
                gone = [v for v in posterior.open if int(rows.codes[v][place]) >= sizes[v]]
                flat, weight = np.ravel(table), float(weights[shown[place]].sum())
                order = (
                    np.flatnonzero(flat > 0) if flat.size <= _MOST_COMPLETIONS else np.argsort(-flat, kind="stable")
                )
                cut = cut or len(order) > _MOST_COMPLETIONS
                for cell in order[:_MOST_COMPLETIONS].tolist():
                    at = dict(zip(posterior.open, map(int, np.unravel_index(cell, np.shape(table))), strict=True))
                    parts = [f"{v} = {net.values(v)[at[v]]}" for v in gone]
                    parts += self._numbers(net, posterior.blocks, rows, place, j, at)
                    p = float(flat[cell])
                    found[place].append((", ".join(parts), float(np.exp(log)) * p, p, weight * p))
        columns: dict[str, list[Any]] = {
            head: [] for head in ("row", "observed", "completion", "joint", "P", "weight")
        }
        for place, completions in enumerate(found):
            for j, cells_of in enumerate(completions):
                numbers = RowNumbers(self.places[shown[place]].tolist())
                columns["row"].append("" if j else str(numbers))
                columns["observed"].append("" if j else self._observed(net, int(shown[place][0])))
                for head, cell in zip(("completion", "joint", "P", "weight"), cells_of, strict=True):
                    columns[head].append(cell)
        lines = [f"Log-likelihood of the observed values of all rows: {number(one.log_likelihood)}."]
        if len(groups) > len(shown):
            lines.insert(0, f"{len(groups) - len(shown)} more rows, or groups of equal rows, are not shown.")
        if cut:
            lines.insert(0, f"The {_MOST_COMPLETIONS} most probable completions of a row are shown.")
        return Section(f"Iteration {i}, E step: completions", Grid(columns), tuple(lines))

    @staticmethod
    def _numbers(
        net: Net, blocks: Sequence[BlockTerm], rows: EvidenceRows, place: int, j: int, at: Mapping[str, int]
    ) -> list[str]:
        """Return the conditional mean and standard deviation of the missing numbers of a row, for one completion."""
        found = []
        for block in blocks:
            combination = 0
            for v in block.scope:
                code = at[v] if v in at else int(rows.codes[v][place])
                combination = combination * net.sizes()[v] + code
            for k, name in enumerate(block.names):
                if np.isnan(float(rows.numbers[name][place])):
                    mean, variance = block.after[j, combination, k], block.left[combination, k, k]
                    found.append(f"{name} = {number(float(mean))} ± {number(float(np.sqrt(max(variance, 0.0))))}")
        return found

    def _observed(self, net: Net, place: int) -> str:
        """Return the observed values of a row in one line."""
        found = []
        for name in net.graph:
            cell: Any = self.table[name][place] if name in net.tables or name in net.numbers.lines else None
            if name in net.tables and int(cell) < net.sizes()[name]:
                found.append(f"{name} = {net.values(name)[int(cell)]}")
            elif name in net.numbers.lines and not np.isnan(float(cell)):
                found.append(f"{name} = {number(float(cell))}")
        return ", ".join(found) or "nothing"

    # -- M step --------------------------------------------------------------------------

    def _estimates(self, i: int, one: Iteration, name: str) -> Section:
        """Return the section on one node: what was counted, what is expected, and the estimate from both."""
        net, tally = one.after, one.tallies[name]
        title = f"Iteration {i}, M step: {_title(net, name)}"
        if not isinstance(tally, Counts):
            return Section(title, cpt_grid(net, name), ("n is the observed number of rows, plus the expected one.",))
        if _size(net, name) > _MOST_CELLS:
            return Section(title, Grid({}), (f"The table has {_size(net, name):,} cells; it is not shown.",))
        above = net.graph.parents[name]
        cells = list(itertools.product(*(map(str, net.values(v)) for v in (*above, name))))
        columns: dict[str, list[Any]] = {v: [cell[k] for cell in cells] for k, v in enumerate((*above, name))}
        counted, total = one.counted[name].table.astype(np.float64), tally.table.astype(np.float64)
        columns["observed"] = counted.ravel().tolist()
        columns["expected"] = (total - counted).ravel().tolist()
        head, p = _title(net, name), _quotients(net.tables[name], total, self.densities[i - 1][name])
        if not isinstance(p[0], Worked):  # P does not show the sum
            columns["n"] = total.ravel().tolist()
        return Section(title, Grid({**columns, head if head not in columns else head + "'": p}))

    def _likelihoods(self) -> Section:
        """Return the section with the log-likelihood of each iteration."""
        logs = list(self.likelihoods)
        places = list(range(len(logs)))
        if len(logs) > _MOST_LIKELIHOODS:
            places = [*places[: _MOST_LIKELIHOODS - 1], places[-1]]
        columns: dict[str, list[Any]] = {
            "before iteration": [k + 1 for k in places],
            "log-likelihood": [logs[k] for k in places],
            "change": [logs[k] - logs[k - 1] if k else None for k in places],
        }
        lines = (
            (f"{len(logs) - len(places)} iterations between them are not shown.",) if len(places) < len(logs) else ()
        )
        return Section("Log-likelihood of the observed values", Grid(columns), lines)


def _title(net: Net, name: str) -> str:
    above = net.graph.parents[name]
    return f"{'P' if name in net.tables else 'p'}({name}{' | ' + ', '.join(above) if above else ''})"


def _size(net: Net, name: str) -> int:
    return int(net.tables[name].size) if name in net.tables else 0


def _quotients(table: Floats, counts: Floats, density: Any) -> list[Any]:
    """Return the probabilities of a CPT, as (n + pseudocount)/(sum) where they are such quotients."""
    size = counts.shape[-1]
    rows, p = counts.reshape(-1, size), table.reshape(-1, size)
    smoothed = np.broadcast_to(np.asarray(density.pseudo, dtype=np.float64), rows.shape)
    for pseudo in (np.zeros_like(rows), smoothed):
        above, below = rows + pseudo, (rows + pseudo).sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            same = np.allclose(above / below, p, rtol=1e-10, atol=1e-14)
        if same:
            return [
                Worked(float(p[c, v]), _quotient(float(rows[c, v]), float(rows[c].sum()), pseudo[c], v))
                for c in range(len(rows))
                for v in range(size)
            ]
    return [float(one) for one in p.ravel()]


def _quotient(n: float, total: float, pseudo: Floats, v: int) -> str:
    if not pseudo.any():
        return f"{number(n)}/{number(total)}"
    return f"({number(n)} + {number(float(pseudo[v]))})/({number(total)} + {number(float(pseudo.sum()))})"
