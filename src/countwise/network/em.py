"""EM: parameters from rows with missing values, counted in the shares that the network itself gives them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.base.term import Term, blank_tallies
from countwise.data.attributes import Nominal
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.errors import TableError, warn
from countwise.network.blueprint import Blueprint, GivenTable
from countwise.network.families import FamilyTally
from countwise.network.inference.batch_inference import EvidenceBatch, EvidenceRows, Posterior, batches
from countwise.network.inference.gaussian_nodes import BlockTerm
from countwise.network.net import Net
from countwise.tallies import fill_all
from countwise.tallies._cells import PatternMoments

__all__ = ["Learned", "ParameterLearner", "completed", "em"]


@dataclass(frozen=True, eq=False)
class Learned:
    """Where EM came to."""

    tallies: dict[str, Any]  # expected counts of each family
    log_likelihoods: list[float]  # of the observed values, before each step
    moved: float  # how far the last step moved any parameter


@dataclass(frozen=True, eq=False)
class ParameterLearner:
    """Estimates the tables and densities of a blueprint."""

    given: GivenTable
    fixed: Collection[str]  # nodes whose tables were given by hand
    max_iter: int
    tol: float
    seed: int | None  # of where latent nodes begin

    def steady_net(self, plan: Blueprint, terms: Sequence[Term], tallies: Mapping[str, Any]) -> Net:
        """The network that tallies give, steady from step to step of EM."""
        return plan.net(plan.densities(terms, tallies, steady=True), tallies, self.given)

    def by_em(
        self,
        plan: Blueprint,
        terms: list[Term],
        target: Nominal,
        derived: Table,
        start: Net | None = None,
        *,
        rough: bool = False,
    ) -> Learned:
        """Expected counts by EM; rough ones, for a structure that may not last."""
        tallies = fill_all(blank_tallies(terms, target), derived)
        rest = {name: tally for name, tally in tallies.items() if name not in plan.graph}
        nodes = {name: tally for name, tally in tallies.items() if name in plan.graph}

        def estimate(found: Mapping[str, Any]) -> Net:
            return self.steady_net(plan, terms, found)

        if start is None and plan.latent:
            start = self._started(plan, estimate(nodes))
        steps, tol = (min(self.max_iter, 25), max(self.tol, 1e-4)) if rough else (self.max_iter, self.tol)
        learned = em(estimate, nodes, derived, start=start, max_iter=steps, tol=tol, quiet=rough)
        return replace(learned, tallies={**rest, **learned.tallies})

    def _started(self, plan: Blueprint, net: Net) -> Net:
        """Random tables of latent nodes and their children: alike, they would stay alike."""
        rng = np.random.default_rng(self.seed)
        tables = dict(net.tables)
        for name in plan.latent:
            for node in (name, *plan.graph.children(name)):
                if node in tables and node not in self.fixed:
                    noise = rng.dirichlet(np.full(tables[node].shape[-1], 5.0), size=tables[node].shape[:-1])
                    tables[node] = 0.5 * tables[node] + 0.5 * noise
        return replace(net, tables=tables)

    def carried(self, net: Net, plan: Blueprint, terms: list[Term], target: Nominal, derived: Table) -> Net:
        """A network of another structure that keeps the parameters of the families that are the same."""
        fresh = self.steady_net(plan, terms, fill_all(blank_tallies(terms, target), derived))
        same = [node for node in fresh.graph if fresh.graph.parents[node] == net.graph.parents.get(node)]
        return replace(
            fresh,
            tables={node: net.tables[node] if node in same else table for node, table in fresh.tables.items()},
            densities={node: net.densities[node] if node in same else one for node, one in fresh.densities.items()},
        )


def em(
    estimate: Callable[[Mapping[str, Any]], Net],
    tallies: Mapping[str, Any],
    table: Table,
    *,
    start: Net | None = None,
    max_iter: int = 500,
    tol: float = 1e-8,
    quiet: bool = False,
) -> Learned:
    """Expected counts at which another step would not move the parameters.

    It begins with `start`, or with what the tallies of complete rows give. A missing value with nothing observed
    below it says nothing, and is left out: that leads to the same end in fewer steps. A step that moves no parameter
    by more than `tol` is the last; so is the third in a row that gains less than a hundredth of that share of the
    likelihood, which parameters that the rows hardly tell apart may drift past for long.
    """
    net = estimate(tallies) if start is None else start
    work = _IncompleteRows(net, tallies, table)
    logs: list[float] = []
    moved, still = np.inf, 0
    found = dict(tallies)
    for _ in range(max_iter):
        found, log = work.step(net)
        if log == -np.inf and not logs:  # a row that the whole rows have no room for: every value gets some
            net = _loosened(net)
            found, log = work.step(net)
        logs.append(log)
        after = estimate(found)
        moved = _moved(net, after)
        net = after
        flat = len(logs) > 1 and abs(logs[-1] - logs[-2]) <= 0.01 * tol * abs(logs[-1])
        still = still + 1 if flat and 0.01 * tol > 1e-12 else 0  # below that, rounding alone would end it
        if moved <= tol or still >= 3:
            break
    else:
        if not quiet:
            warn(
                f"EM still moved by {moved:.1g} after {max_iter} steps. Hint: a larger max_iter goes on, a larger "
                "tol is content with less, and missing='available' does without EM."
            )
    return Learned(found, logs, moved)


def _loosened(net: Net) -> Net:
    """The same tables with a hundredth of every row shared out evenly."""
    return replace(net, tables={n: 0.99 * t + 0.01 / t.shape[-1] for n, t in net.tables.items()})


def _moved(a: Net, b: Net) -> float:
    """The largest change of any probability, or of a mean or deviation in units of deviations."""
    moved = max((float(np.abs(a.tables[n] - b.tables[n]).max(initial=0.0)) for n in a.tables), default=0.0)
    for name, line in a.numbers.lines.items():
        other = b.numbers.lines[name]
        if line.constant or other.constant:
            continue
        for one, two in ((line.intercept, other.intercept), (line.sd, other.sd)):
            moved = max(moved, float((np.abs(one - two) / np.maximum(other.sd, 1e-300)).max(initial=0.0)))
        for j, parent in enumerate(line.numbers):  # a slope by what it moves over a deviation of the parent
            reach = float(b.numbers.lines[parent].sd.max(initial=0.0)) / np.maximum(other.sd, 1e-300)
            moved = max(moved, float((np.abs(line.slope[:, j] - other.slope[:, j]) * reach).max(initial=0.0)))
    return moved


class _IncompleteRows:
    """Rows with missing values, ready to be filled in again and again; the others are counted once."""

    def __init__(self, net: Net, tallies: Mapping[str, Any], table: Table) -> None:
        self.base = dict(tallies)
        sizes = net.sizes()
        there = np.ones(table.n_rows, dtype=bool)
        for name in net.tables:
            there &= table[name] < sizes[name]
        for name in net.numbers.linked:
            there &= ~np.isnan(np.asarray(table[name], dtype=np.float64))
        weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
        whole = EvidenceRows.of(net, table)
        self.laid = []  # batches of rows, their weights, and whether they are incomplete
        for incomplete, places in ((False, np.flatnonzero(there)), (True, np.flatnonzero(~there))):
            rows, mine = whole.take(places), weights[places]
            if not net.densities and rows.n_rows:  # rows alike count together
                matrix = np.stack([np.minimum(rows.codes[n], sizes[n]) for n in net.tables], axis=1)
                _, first, which = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
                rows, mine = rows.take(first), np.asarray(np.bincount(which.ravel(), weights=mine), dtype=np.float64)
            self.laid += [(b, mine, incomplete) for b in batches(net, rows)]

    def step(self, net: Net) -> tuple[dict[str, Any], float]:
        """Expected tallies of all rows, and the log-likelihood of the observed values."""
        expected = _Expected(net, self.base)
        log = 0.0
        for batch, weights, incomplete in self.laid:
            found = batch.posterior(net)
            with np.errstate(invalid="ignore"):
                log += float((weights[found.rows] * found.log).sum())
            if incomplete:
                expected.add(found, batch, weights[found.rows])
        return expected.together(), log


@dataclass(eq=False)
class _Expected:
    """Tallies of families of which something is missing, in the shares that the rows give it."""

    net: Net
    base: Mapping[str, Any]
    counts: dict[str, Floats] = field(default_factory=dict)
    pieces: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    cells: dict[str, list[PatternMoments]] = field(default_factory=dict)

    def add(self, found: Posterior, batch: EvidenceBatch, weights: Floats) -> None:
        net, rows = self.net, batch.rows
        sizes = net.sizes()
        lacks = {name: rows.codes[name] >= sizes[name] for name in net.tables}
        for name in net.tables:
            family = (*net.graph.parents[name], name)
            mine = found.relevant[name] & np.logical_or.reduce([lacks[v] for v in family])
            if mine.any():
                key, share = self._shares(family, found, batch, weights * mine)
                size = net.tables[name].size
                counted = np.bincount(key.ravel(), weights=share.ravel(), minlength=size)
                self.counts[name] = self.counts.get(name, np.zeros(size)) + counted
        hidden = {name for block in found.blocks for name in block.names if not self._is_whole(name, rows)}
        for name in net.densities:
            family = net.numbers.nominal_parents(name)
            column = rows.numbers[name]
            if name in hidden or not isinstance(column, np.ndarray) or not family:
                continue
            mine = np.logical_or.reduce([lacks[v] for v in family])
            mine &= ~np.isnan(np.asarray(column, dtype=np.float64))
            if mine.any() and self._is_whole(name, rows):
                self._spread(name, family, found, batch, weights * mine)
        for block in found.blocks:
            self._fill_block(block, hidden, found, batch, weights)

    def _is_whole(self, name: str, rows: EvidenceRows) -> bool:
        """Whether a number that hangs together with others is there with those above it; a group's rows are alike."""
        if name not in self.net.numbers.linked:
            return True
        family = (name, *self.net.numbers.lines[name].numbers)
        return not any(np.isnan(np.asarray(rows.numbers[n], dtype=np.float64)).any() for n in family)

    @staticmethod
    def _shares(
        family: tuple[str, ...], found: Posterior, batch: EvidenceBatch, weights: Floats
    ) -> tuple[Indices, Floats]:
        """For each row and combination of what is open in a family: the cell of its table, and the weight."""
        left, key = batch.places_in(family)
        share = found.of(left) if left else np.ones(len(weights))
        return key, share * weights.reshape(-1, *[1] * len(left))

    def _spread(
        self, name: str, family: tuple[str, ...], found: Posterior, batch: EvidenceBatch, weights: Floats
    ) -> None:
        """Rows once for each combination of what is open above a number, with a weight each."""
        key, share = self._shares(family, found, batch, weights)
        flat, weight = key.reshape(len(weights), -1), share.reshape(len(weights), -1)
        row, cell = np.nonzero(weight > 0)
        numbers = self.net.numbers.lines[name].numbers if name in self.net.numbers.lines else ()
        piece = {n: np.asarray(batch.rows.numbers[n], dtype=np.float64)[row] for n in (*numbers, name)}
        self.pieces.setdefault(name, []).append({"": flat[row, cell], " ": weight[row, cell], **piece})

    def _fill_block(
        self, block: BlockTerm, hidden: set[str], found: Posterior, batch: EvidenceBatch, weights: Floats
    ) -> None:
        """Expected moments of numbers of which some are missing, or some that they depend on."""
        key, share = self._shares(block.scope, found, batch, weights)
        width = block.logs.shape[1]
        at = np.zeros((len(weights), width))
        np.add.at(at, (np.arange(len(weights)).repeat(key[0].size), key.ravel()), share.ravel())
        for name in (n for n in block.names if n in hidden):
            line = self.net.numbers.lines[name]
            places = [block.names.index(n) for n in (*line.numbers, name)]
            self.cells.setdefault(name, []).append(
                _expected_cells(block, places, block.own[name], at, line.n_classes)
            )

    def together(self) -> dict[str, Any]:
        """All rows: those that were counted once, and these."""
        found = dict(self.base)
        for name, counted in self.counts.items():
            tally = found[name]
            cells = tally.filled.astype(np.float64)
            cells[tuple(slice(0, -1) for _ in tally.axes)] += counted.reshape(tally.table.shape)
            found[name] = replace(tally, cells=cells)
        for name, pieces in self.pieces.items():
            found[name] = found[name] + self._filled(found[name], pieces)
        for name, many in self.cells.items():
            for cells in many:
                found[name] = found[name] + _as_tally(found[name], cells)
        return found

    def _filled(self, tally: FamilyTally, pieces: Sequence[Mapping[str, Any]]) -> FamilyTally:
        joined = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
        codes = joined.pop("")
        columns: dict[str, Any] = {}
        for parent in reversed(tally.parents):
            codes, columns[parent.name] = np.divmod(codes, len(parent.values))
        weights = joined.pop(" ")
        return replace(tally, inner=None).fill(Table({**columns, **joined}, len(weights), weights))


def _expected_cells(block: BlockTerm, places: list[int], own: Indices, at: Floats, size: int) -> PatternMoments:
    """Moments of a number and its numeric parents, in each combination of its nominal parents' values."""
    after = block.after[:, :, places]  # (rows, combinations, numbers)
    weight = at.sum(axis=0)
    n = np.bincount(own, weights=weight, minlength=size)
    total = np.zeros((size, len(places)))
    np.add.at(total, own, np.einsum("rc,rcp->cp", at, after))
    mean = total / np.maximum(n, 1e-300)[:, None]
    away = after - mean[own][None]
    by_case = away.swapaxes(0, 1)  # (combinations, rows, numbers)
    spread = (by_case * at.T[:, :, None]).swapaxes(1, 2) @ by_case
    spread += weight[:, None, None] * block.left[:, places][:, :, places]
    scatter = np.zeros((size, len(places), len(places)))
    np.add.at(scatter, own, spread)
    return PatternMoments(n.astype(np.float64), mean, scatter)


def _as_tally(tally: FamilyTally, cells: PatternMoments) -> FamilyTally:
    blank = tally.blank(tally.parents)
    if tally.numbers:
        return replace(tally, inner=replace(blank, cells={blank._full: cells}))
    assert cells.scatter is not None  # noqa: S101 - expected moments have one
    return replace(tally, inner=replace(blank, n=cells.n, mean=cells.mean[:, 0], m2=cells.scatter[:, 0, 0]))


_MOST_ROWS = 1 << 24


def completed(net: Net, table: Table) -> Table:
    """The table with each row once for every way to fill its missing nominal values, weighted by the probability.

    Counts of such a table are expected counts, of any family. Missing numbers stay missing.
    """
    sizes = net.sizes()
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
    pieces: dict[str, list[Any]] = {name: [] for name in (*net.tables, *net.densities)}
    found_weights: list[Any] = []
    total = 0
    for batch in batches(net, EvidenceRows.of(net, table), asked=tuple(net.tables), apart=True):
        found = batch.posterior(net)
        share = found.of(found.open) if found.open else np.ones(len(found.rows))
        flat = share.reshape(len(found.rows), -1)
        row, cell = np.nonzero(flat > 0)
        total += len(row)
        if total > _MOST_ROWS:
            raise TableError(
                f"The missing values can be filled in more than {_MOST_ROWS:,} ways in all.",
                hint="missing='complete' or 'available' does without; or leave out columns with many missing values.",
            )
        at = found.rows[row]
        codes = np.unravel_index(cell, share.shape[1:]) if found.open else ()
        open_codes = dict(zip(found.open, codes, strict=True))
        for name in net.tables:
            column = open_codes[name] if name in open_codes else table[name][at]
            pieces[name].append(np.asarray(column).astype(narrowest(sizes[name] + 2)))
        for name in net.densities:
            pieces[name].append(np.asarray(table[name], dtype=np.float64)[at])
        found_weights.append(weights[at] * flat[row, cell])
    columns = {name: np.concatenate(parts) for name, parts in pieces.items()}
    return Table(columns, total, np.concatenate(found_weights))
