"""A level: the open nodes of one depth, what their attributes offer, and the splits that are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats, Indices
from countwise.measures import entropy
from countwise.tree.active_rows import ActiveRows
from countwise.tree.growth.criteria import Criterion, moments_of

__all__ = ["Level", "Ragged", "RowLevel", "SplitCandidates", "Splits", "Tests", "heaviest", "ragged"]

Tests = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


class Countable(Protocol):
    """A column whose cells can be counted."""

    place: int
    codes: NDArray[Any]

    @property
    def n_cells(self) -> int:
        """How many cells it has."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The open nodes of one depth.

    Parameters
    ----------
    cells : ndarray, shape (nodes, classes) or (nodes, 3)
        What is in each node; of numbers the weight, and sum and sum of squares about its center.
    centers : ndarray or None
        Of numbers, the mean of each node.
    criterion : Criterion
        What makes a split a good one.
    least : float
        The weight that a branch must have.
    missing : {"fractions", "branch", "majority"}
        Where rows go whose cell is missing.
    cost : bool
        Whether a gain must pay for the choice of its threshold.
    """

    cells: Floats
    centers: Floats | None
    criterion: Criterion
    least: float
    missing: str
    cost: bool

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def n_entries(self) -> int:
        """How many rows there are to work on."""
        raise NotImplementedError

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """What is in each cell of a column at some nodes: (nodes, cells, classes or 3)."""
        raise NotImplementedError

    @property
    def weights(self) -> Floats:
        """The weight of each node."""
        return np.asarray(self.criterion.weight(self.cells))

    def centers_of(self, nodes: Any) -> Floats | None:
        """The centers of some nodes, if numbers are told."""
        return None if self.centers is None else self.centers[nodes]

    def offers(
        self,
        known_gain: Floats,
        nodes: Any,
        branches: Any,
        absent: Floats | None,
        cut: Floats,
        tried: NDArray[Any] | None = None,
    ) -> SplitCandidates:
        """Offers of an attribute, with what rows without a value take from them.

        Parameters
        ----------
        known_gain : ndarray, shape (n,)
            The gain among rows that have a value; NaN where there is nothing to split.
        nodes : ndarray or slice
            Which nodes.
        branches : callable
            Gives the cells of the branches (n, branches, classes), without rows that lack the value.
        absent : ndarray, shape (n, classes), or None
            The cells of the rows that lack it; None if none does.
        cut : ndarray, shape (n,)
            Where a number is cut, if it is.
        tried : ndarray, shape (n,), or None
            Of how many thresholds the cut is the best, if a gain is to pay for that choice.
        """
        criterion, cells = self.criterion, self.cells[nodes]
        gain = known_gain
        if absent is not None and (criterion.weight(absent) > 0).any():
            gain = self._with_absent(known_gain, cells, branches, absent)
        if tried is not None:
            gain = gain - np.log2(np.maximum(tried, 1)) / np.maximum(criterion.weight(cells), 1e-300)
            gain = np.where(gain > 0, gain, np.nan)
        if not criterion.ratio:
            return SplitCandidates(gain, None, cut)
        sides = criterion.weight(branches())
        if absent is not None and self.missing == "majority":
            sides = _joined(sides, criterion.weight(absent), sides)
        elif absent is not None:
            sides = np.concatenate([sides, criterion.weight(absent)[:, None]], axis=1)
        return SplitCandidates(gain, np.asarray(entropy(sides, axis=-1)), cut)

    def _with_absent(self, known: Floats, cells: Floats, branches: Any, absent: Floats) -> Floats:
        n, lost = self.criterion.weight(cells), self.criterion.weight(absent)
        share = np.divide(n - lost, n, out=np.zeros_like(n), where=n > 0)
        if self.missing == "fractions":
            # where the rows that have a value are of one kind, no split of them tells anything
            alike = (lost > 0) & self._alike(cells - absent, cells)
            return np.where(alike, np.nan, np.where(lost > 0, share * known, known))
        if self.missing == "branch":
            apart = self.criterion.gain(np.stack([cells - absent, absent], axis=1))
            return np.where(lost > 0, apart + share * known, known)
        sides = branches()
        joined = _joined(sides, absent, self.criterion.weight(sides))
        return np.where(np.isnan(known) | (lost <= 0), known, self.criterion.gain(joined))

    def _alike(self, known: Floats, cells: Floats) -> Flags:
        if not self.criterion.numbers:
            return np.asarray(self.criterion.pure(known))
        return np.asarray(moments_of(known)[2] <= 1e-12 * moments_of(cells)[2])


@dataclass(frozen=True, slots=True, eq=False)
class RowLevel(Level):
    """A level whose rows are in memory.

    Parameters
    ----------
    members, starts : ndarray
        The instances of each node, as entries in segments.
    crowd : ActiveRows
        The instances.
    larger, smaller, parents : ndarray
        Nodes that are the larger of two siblings, their siblings, and the node of the level before from which
        both come: what is in the one is what was in the parent less what is in the other.
    """

    members: NDArray[np.uint32]
    starts: Indices
    crowd: ActiveRows
    larger: Indices
    smaller: Indices
    parents: Indices

    @property
    def n_entries(self) -> int:
        """How many instances there are."""
        return len(self.members)

    def table(self, column: Countable, nodes: Indices) -> NDArray[Any]:
        """The cells of a column counted at some nodes."""
        segments = np.stack([self.starts[nodes], self.starts[nodes + 1]], axis=1)
        return self.crowd.table(column.codes, self.members, segments, column.n_cells, self.centers_of(nodes))


def _joined(sides: NDArray[Any], absent: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Branches with what lacks a value in the heaviest of them."""
    together = sides.astype(np.float64, copy=True)
    together[np.arange(len(sides)), heaviest(weights)] += absent
    return together


def heaviest(weights: NDArray[Any]) -> Indices:
    """The heaviest branch of each node (n, branches), of equally heavy ones the first: rounding must not decide."""
    return np.argmax(weights >= weights.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class SplitCandidates:
    """What an attribute offers each node: the gain (NaN for nothing), the split's own information, and the cut."""

    gain: Floats
    information: Floats | None
    cut: Floats

    @classmethod
    def none(cls, n: int) -> SplitCandidates:
        """Nothing to offer."""
        return cls(np.full(n, np.nan), np.zeros(n), np.full(n, np.nan))

    def put(self, nodes: Any, some: SplitCandidates) -> None:
        """Write down the offers to some nodes."""
        self.gain[nodes], self.cut[nodes] = some.gain, some.cut
        if self.information is not None and some.information is not None:
            self.information[nodes] = some.information


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """What some nodes ask, and what is in their branches.

    Parameters
    ----------
    nodes, attribute : ndarray, shape (n,)
        Which nodes of the level, and the attribute of each.
    limits, groups : list of ndarray
        The limits of each node, and the branch of each code; one of the two is empty.
    by_code : list of ndarray
        The branch of each code of the column that is used in training.
    missing : ndarray, shape (n,)
        The branch of missing cells; -1 for all.
    cells : list of ndarray, shape (branches, classes)
        What is in each branch.
    """

    nodes: Indices
    attribute: NDArray[np.int32]
    limits: Sequence[NDArray[Any]]
    groups: Sequence[NDArray[Any]]
    by_code: Sequence[NDArray[Any]]
    missing: NDArray[np.int32]
    cells: Sequence[NDArray[Any]]

    @classmethod
    def joined(cls, parts: Sequence[Splits]) -> Splits:
        """The splits of several attributes in the order of the nodes."""
        nodes = np.concatenate([part.nodes for part in parts])
        order = np.argsort(nodes, kind="stable")

        def listed(name: str) -> list[Any]:
            every = [item for part in parts for item in getattr(part, name)]
            return [every[i] for i in order]

        attribute, missing = (np.concatenate([getattr(p, name) for p in parts]) for name in ("attribute", "missing"))
        return cls(
            nodes[order], attribute[order], listed("limits"), listed("groups"), listed("by_code"), missing[order],
            listed("cells"),
        )  # fmt: skip

    @property
    def sizes(self) -> Indices:
        """How many branches each node has."""
        return np.array([len(cells) for cells in self.cells], dtype=np.int64)

    def asked(self, n_nodes: int) -> Tests:
        """The tests of a whole level on the columns that are used in training."""
        attribute = np.full(n_nodes, -1, dtype=np.int32)
        attribute[self.nodes] = self.attribute
        missing = np.full(n_nodes, -1, dtype=np.int32)
        missing[self.nodes] = self.missing
        limits, groups = Ragged(n_nodes, np.float64), Ragged(n_nodes, np.int32)
        by_code = np.array([len(g) > 0 for g in self.by_code], dtype=bool)
        groups.put(self.nodes, self.by_code)
        limits.put(
            self.nodes[~by_code], [part for part, other in zip(self.limits, by_code, strict=True) if not other]
        )
        return (attribute, *limits.flat(), *groups.flat(), missing)


class Ragged:
    """Rows of different lengths, of which most may be empty; they are put in ascending order.

    Parameters
    ----------
    n : int
        How many rows.
    kind : dtype
        Of all.
    """

    def __init__(self, n: int, kind: Any) -> None:
        self.sizes = np.zeros(n, dtype=np.int64)
        self.kind = kind
        self.parts: list[NDArray[Any]] = []

    def put(self, rows: Indices, parts: Sequence[NDArray[Any]]) -> None:
        """Fill some rows, all behind those filled before."""
        self.sizes[rows] = [len(part) for part in parts]
        self.parts.extend(parts)

    def flat(self) -> tuple[NDArray[Any], Indices]:
        """The rows one after the other, and where each begins."""
        flat = np.concatenate(self.parts) if self.parts else np.empty(0)
        return flat.astype(self.kind, copy=False), np.concatenate([[0], np.cumsum(self.sizes)])


def ragged(parts: Sequence[NDArray[Any]], kind: Any) -> tuple[NDArray[Any], Indices]:
    """Arrays one after the other, and where each begins."""
    sizes = np.fromiter((len(part) for part in parts), dtype=np.int64, count=len(parts))
    flat = np.concatenate(parts).astype(kind, copy=False) if len(parts) else np.empty(0, dtype=kind)
    return flat, np.concatenate([[0], np.cumsum(sizes)])
