"""The EM algorithm: parameters from rows with missing values, through expected counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.base.term import Term, blank_tallies
from countwise.data.attributes import Nominal
from countwise.data.columns import narrowest
from countwise.data.table import Table
from countwise.data.text import Bag
from countwise.errors import TableError, warn
from countwise.network.blueprint import Blueprint, GivenTable
from countwise.network.families import FamilyTally
from countwise.network.inference.batch_inference import EvidenceBatch, EvidenceRows, Posterior, batches
from countwise.network.inference.gaussian_nodes import BlockTerm
from countwise.network.net import Net
from countwise.tallies import fill_all
from countwise.tallies._cells import PatternMoments, merged

# Keys beside the names of columns, which are strings.
_CODES, _WEIGHTS = 0, 1

__all__ = ["Iteration", "Learned", "ParameterLearner", "completed", "em"]


@dataclass(frozen=True, eq=False)
class Learned:
    """The result of EM."""

    tallies: dict[str, Any]  # expected counts of each family
    log_likelihoods: list[float]  # of the observed values, before each iteration
    moved: float  # the largest parameter change of the last iteration


@dataclass(frozen=True, eq=False)
class Iteration:
    """One iteration of EM."""

    before: Net
    counted: Mapping[str, Any]  # the tallies of the observed values
    tallies: dict[str, Any]  # with the expected counts; the same object if a family has no missing values
    log_likelihood: float  # of the observed values, before the iteration
    after: Net


@dataclass(frozen=True, eq=False)
class ParameterLearner:
    """Estimates the CPTs and densities of a blueprint."""

    given: GivenTable
    fixed: Collection[str]  # nodes whose CPTs were specified by hand
    max_iter: int
    tol: float
    seed: int | None  # of the initial CPTs of latent nodes

    def regularized_net(self, plan: Blueprint, terms: Sequence[Term], tallies: Mapping[str, Any]) -> Net:
        """Return the network for given tallies, with the regularized densities that EM uses."""
        return plan.net(plan.densities(terms, tallies, regularized=True), tallies, self.given)

    def by_em(
        self,
        plan: Blueprint,
        terms: list[Term],
        target: Nominal,
        derived: Table,
        start: Net | None = None,
        *,
        rough: bool = False,
        watch: Callable[[Iteration], None] | None = None,
    ) -> Learned:
        """Compute expected counts by EM; `rough` stops early, for a candidate structure of structural EM.

        `watch` gets each iteration; EM that is watched does not warn if it stops before it has converged.
        """
        tallies = fill_all(blank_tallies(terms, target), derived)
        rest = {name: tally for name, tally in tallies.items() if name not in plan.graph}
        nodes = {name: tally for name, tally in tallies.items() if name in plan.graph}

        def estimate(found: Mapping[str, Any]) -> Net:
            return self.regularized_net(plan, terms, found)

        if start is None and plan.latent:
            start = self._started(plan, estimate(nodes))
        steps, tol = (min(self.max_iter, 10), max(self.tol, 1e-4)) if rough else (self.max_iter, self.tol)
        quiet = rough or watch is not None
        learned = em(estimate, nodes, derived, start=start, max_iter=steps, tol=tol, quiet=quiet, watch=watch)
        return replace(learned, tallies={**rest, **learned.tallies})

    def _started(self, plan: Blueprint, net: Net) -> Net:
        """Randomize the CPTs of latent nodes and their children: EM cannot leave a symmetric start."""
        rng = np.random.default_rng(self.seed)
        tables = dict(net.tables)
        for name in plan.latent:
            for node in (name, *plan.graph.children(name)):
                if node in tables and node not in self.fixed:
                    noise = rng.dirichlet(np.full(tables[node].shape[-1], 5.0), size=tables[node].shape[:-1])
                    tables[node] = 0.5 * tables[node] + 0.5 * noise
        return replace(net, tables=tables)

    def carried(self, net: Net, plan: Blueprint, terms: list[Term], target: Nominal, derived: Table) -> Net:
        """Return a network of another structure that keeps the parameters of unchanged families."""
        fresh = self.regularized_net(plan, terms, fill_all(blank_tallies(terms, target), derived))
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
    watch: Callable[[Iteration], None] | None = None,
) -> Learned:
    """Iterate EM until the parameters converge, and return the expected counts.

    EM starts from `start`, or from the parameters of the complete rows. A missing value without observed descendants
    has no information and is ignored, which gives the same result in fewer iterations. EM stops when no parameter
    changes by more than `tol`. It also stops after three successive iterations in which the relative change of the
    log-likelihood is below a hundredth of `tol`: parameters that the rows hardly identify may drift for long.
    """
    net = estimate(tallies) if start is None else start
    work = _IncompleteRows(net, tallies, table)
    logs: list[float] = []
    moved, still = np.inf, 0
    found = dict(tallies)
    for _ in range(max_iter):
        found, log = work.step(net)
        if log == -np.inf and not logs:  # the complete rows make some incomplete row impossible
            net = _loosened(net)
            found, log = work.step(net)
        logs.append(log)
        after = estimate(found)
        moved = _moved(net, after)
        if watch is not None:
            watch(Iteration(net, work.base, found, log, after))
        net = after
        flat = len(logs) > 1 and abs(logs[-1] - logs[-2]) <= 0.01 * tol * abs(logs[-1])
        still = still + 1 if flat and 0.01 * tol > 1e-12 else 0  # a smaller threshold is below rounding error
        if moved <= tol or still >= 3:
            break
    else:
        if not quiet:
            warn(
                f"EM did not converge in {max_iter} iterations; the last one changed a parameter by {moved:.1g}. "
                "Hint: increase max_iter or tol, or use missing='available', which does not need EM."
            )
    return Learned(found, logs, moved)


def _loosened(net: Net) -> Net:
    """Return the network with 1 % of each CPT row spread evenly over the values."""
    return replace(net, tables={n: 0.99 * t + 0.01 / t.shape[-1] for n, t in net.tables.items()})


def _moved(a: Net, b: Net) -> float:
    """Return the largest change of a probability, or of a mean or standard deviation in units of the latter."""
    moved = max((float(np.abs(a.tables[n] - b.tables[n]).max(initial=0.0)) for n in a.tables), default=0.0)
    for name, line in a.numbers.lines.items():
        other = b.numbers.lines[name]
        if line.constant or other.constant:
            continue
        for one, two in ((line.intercept, other.intercept), (line.sd, other.sd)):
            moved = max(moved, float((np.abs(one - two) / np.maximum(other.sd, 1e-300)).max(initial=0.0)))
        for j, parent in enumerate(line.numbers):  # a slope in units of sd(child) / sd(parent)
            reach = float(b.numbers.lines[parent].sd.max(initial=0.0)) / np.maximum(other.sd, 1e-300)
            moved = max(moved, float((np.abs(line.slope[:, j] - other.slope[:, j]) * reach).max(initial=0.0)))
    return moved


class _IncompleteRows:
    """Rows grouped for repeated E-steps; complete rows are counted only once."""

    def __init__(self, net: Net, tallies: Mapping[str, Any], table: Table) -> None:
        self.base = dict(tallies)
        sizes = net.sizes()
        complete = np.ones(table.n_rows, dtype=bool)
        for name in net.tables:
            complete &= table[name] < sizes[name]
        for name in net.numbers.linked:
            complete &= ~np.isnan(np.asarray(table[name], dtype=np.float64))
        weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
        whole = EvidenceRows.of(net, table)
        self.batches = []  # with the row weights, and whether the rows are incomplete
        for incomplete, places in ((False, np.flatnonzero(complete)), (True, np.flatnonzero(~complete))):
            rows, mine = whole.take(places), weights[places]
            if not net.densities and rows.n_rows:  # identical rows are counted together
                matrix = np.stack([np.minimum(rows.codes[n], sizes[n]) for n in net.tables], axis=1)
                _, first, which = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
                rows, mine = rows.take(first), np.asarray(np.bincount(which.ravel(), weights=mine), dtype=np.float64)
            self.batches += [(b, mine, incomplete) for b in batches(net, rows)]

    def step(self, net: Net) -> tuple[dict[str, Any], float]:
        """Return the expected tallies of all rows and the log-likelihood of the observed values."""
        expected = _Expected(net, self.base)
        log = 0.0
        for batch, weights, incomplete in self.batches:
            found = batch.posterior(net)
            with np.errstate(invalid="ignore"):
                log += float((weights[found.rows] * found.log).sum())
            if incomplete:
                expected.add(found, batch, weights[found.rows])
        return expected.together(), log


@dataclass(eq=False)
class _Expected:
    """Expected tallies of families with missing values."""

    net: Net
    base: Mapping[str, Any]
    counts: dict[str, Floats] = field(default_factory=dict)
    pieces: dict[str, list[dict[Any, Any]]] = field(default_factory=dict)
    cells: dict[str, list[PatternMoments]] = field(default_factory=dict)

    def add(self, found: Posterior, batch: EvidenceBatch, weights: Floats) -> None:
        net, rows = self.net, batch.rows
        sizes = net.sizes()
        missing = {name: rows.codes[name] >= sizes[name] for name in net.tables}
        for name in net.tables:
            family = (*net.graph.parents[name], name)
            mine = found.relevant[name] & np.logical_or.reduce([missing[v] for v in family])
            if mine.any():
                key, weight = self._weighted_cells(family, found, batch, weights * mine)
                size = net.tables[name].size
                counted = np.bincount(key.ravel(), weights=weight.ravel(), minlength=size)
                self.counts[name] = self.counts.get(name, np.zeros(size)) + counted
        hidden = {name for block in found.blocks for name in block.names if not self._is_whole(name, rows)}
        for name in net.densities:
            family = net.numbers.nominal_parents(name)
            column = rows.numbers[name]
            if name in hidden or not isinstance(column, np.ndarray) or not family:
                continue
            mine = np.logical_or.reduce([missing[v] for v in family])
            mine &= ~np.isnan(np.asarray(column, dtype=np.float64))
            if mine.any() and self._is_whole(name, rows):
                self._spread(name, family, found, batch, weights * mine)
        for block in found.blocks:
            self._fill_block(block, hidden, found, batch, weights)

    def _is_whole(self, name: str, rows: EvidenceRows) -> bool:
        """Return whether a linked numeric node and its numeric parents are observed, in all rows of a batch."""
        if name not in self.net.numbers.linked:
            return True
        family = (name, *self.net.numbers.lines[name].numbers)
        return not any(np.isnan(np.asarray(rows.numbers[n], dtype=np.float64)).any() for n in family)

    @staticmethod
    def _weighted_cells(
        family: tuple[str, ...], found: Posterior, batch: EvidenceBatch, weights: Floats
    ) -> tuple[Indices, Floats]:
        """Return, for each row and combination of a family's missing values, the cell of its table and the weight."""
        left, key = batch.places_in(family)
        posterior = found.of(left) if left else np.ones(len(weights))
        return key, posterior * weights.reshape(-1, *[1] * len(left))

    def _spread(
        self, name: str, family: tuple[str, ...], found: Posterior, batch: EvidenceBatch, weights: Floats
    ) -> None:
        """Add each row once for every combination of a numeric node's missing parents, with its weight."""
        key, weight = self._weighted_cells(family, found, batch, weights)
        flat, weight = key.reshape(len(weights), -1), weight.reshape(len(weights), -1)
        row, cell = np.nonzero(weight > 0)
        numbers = self.net.numbers.lines[name].numbers if name in self.net.numbers.lines else ()
        piece = {n: np.asarray(batch.rows.numbers[n], dtype=np.float64)[row] for n in (*numbers, name)}
        self.pieces.setdefault(name, []).append({_CODES: flat[row, cell], _WEIGHTS: weight[row, cell], **piece})

    def _fill_block(
        self, block: BlockTerm, hidden: set[str], found: Posterior, batch: EvidenceBatch, weights: Floats
    ) -> None:
        """Add the expected moments of linked numeric nodes with missing values among them or their parents."""
        key, weight = self._weighted_cells(block.scope, found, batch, weights)
        width = block.logs.shape[1]
        at = np.zeros((len(weights), width))
        np.add.at(at, (np.arange(len(weights)).repeat(key[0].size), key.ravel()), weight.ravel())
        for name in (n for n in block.names if n in hidden):
            line = self.net.numbers.lines[name]
            places = [block.names.index(n) for n in (*line.numbers, name)]
            self.cells.setdefault(name, []).append(
                _expected_cells(block, places, block.own[name], at, line.n_classes)
            )

    def together(self) -> dict[str, Any]:
        """Return the tallies of all rows: the complete ones and the expected ones."""
        found = dict(self.base)
        for name, counted in self.counts.items():
            tally = found[name]
            cells = tally.filled.astype(np.float64)
            cells[tuple(slice(0, -1) for _ in tally.axes)] += counted.reshape(tally.table.shape)
            found[name] = replace(tally, cells=cells)
        for name, pieces in self.pieces.items():
            found[name] = found[name] + self._filled(found[name], pieces)
        for name, many in self.cells.items():
            found[name] = found[name] + _as_tally(found[name], reduce(merged, many))
        return found

    def _filled(self, tally: FamilyTally, pieces: Sequence[Mapping[Any, Any]]) -> FamilyTally:
        joined = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
        codes = joined.pop(_CODES)
        columns: dict[str, Any] = {}
        for parent in reversed(tally.parents):
            codes, columns[parent.name] = np.divmod(codes, len(parent.values))
        weights = joined.pop(_WEIGHTS)
        return replace(tally, inner=None).fill(Table({**columns, **joined}, len(weights), weights))


def _expected_cells(block: BlockTerm, places: list[int], own: Indices, at: Floats, size: int) -> PatternMoments:
    """Return the moments of a numeric node and its numeric parents for each combination of its nominal parents."""
    after = block.after[:, :, places]  # (rows, combinations, numbers)
    weight = at.sum(axis=0)
    n = np.bincount(own, weights=weight, minlength=size)
    total = np.zeros((size, len(places)))
    np.add.at(total, own, np.einsum("rc,rcp->cp", at, after))
    mean = total / np.maximum(n, 1e-300)[:, None]
    away = after - mean[own][None]
    by_case = away.swapaxes(0, 1)  # (combinations, rows, numbers)
    products = (by_case * at.T[:, :, None]).swapaxes(1, 2) @ by_case
    products += weight[:, None, None] * block.left[:, places][:, :, places]
    scatter = np.zeros((size, len(places), len(places)))
    np.add.at(scatter, own, products)
    return PatternMoments(n.astype(np.float64), mean, scatter)


def _as_tally(tally: FamilyTally, cells: PatternMoments) -> FamilyTally:
    blank = tally.blank(tally.parents)
    if tally.numbers:
        return replace(tally, inner=replace(blank, cells={blank._full: cells}))
    assert cells.scatter is not None  # noqa: S101 - expected moments always have a scatter
    return replace(tally, inner=replace(blank, n=cells.n, mean=cells.mean[:, 0], m2=cells.scatter[:, 0, 0]))


_MOST_ROWS = 1 << 24


def completed(net: Net, table: Table) -> Table:
    """Return the table with each row repeated for every completion of its missing nominal values.

    The weight of a completion is its posterior probability, so the counts of the table are expected counts, for any
    family. Missing numbers stay missing.
    """
    texts = [name for name in net.densities if isinstance(table[name], Bag)]
    if texts:
        raise TableError(
            f"{texts[0]!r} is a text column; the arcs of a network with texts cannot be learned from missing values.",
            hint="use missing='available' or 'complete', or drop the column.",
        )
    sizes = net.sizes()
    weights = np.ones(table.n_rows) if table.weights is None else table.weights.astype(np.float64)
    pieces: dict[str, list[Any]] = {name: [] for name in (*net.tables, *net.densities)}
    found_weights: list[Any] = []
    total = 0
    for batch in batches(net, EvidenceRows.of(net, table), queried=tuple(net.tables), apart=True):
        found = batch.posterior(net)
        posterior = found.of(found.open) if found.open else np.ones(len(found.rows))
        flat = posterior.reshape(len(found.rows), -1)
        row, cell = np.nonzero(flat > 0)
        total += len(row)
        if total > _MOST_ROWS:
            raise TableError(
                f"The missing values have more than {_MOST_ROWS:,} possible completions.",
                hint="use missing='available' or 'complete', or drop columns with many missing values.",
            )
        at = found.rows[row]
        codes = np.unravel_index(cell, posterior.shape[1:]) if found.open else ()
        open_codes = dict(zip(found.open, codes, strict=True))
        for name in net.tables:
            column = open_codes[name] if name in open_codes else table[name][at]
            pieces[name].append(np.asarray(column).astype(narrowest(sizes[name] + 2)))
        for name in net.densities:
            pieces[name].append(np.asarray(table[name], dtype=np.float64)[at])
        found_weights.append(weights[at] * flat[row, cell])
    columns = {name: np.concatenate(parts) for name, parts in pieces.items()}
    return Table(columns, total, np.concatenate(found_weights))
