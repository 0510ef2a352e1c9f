"""A tree of a file that is read anew for each level, so that its rows need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._kernels.bin_edges import edges_of
from countwise.attributes import Nominal, Numeric
from countwise.bags import Text
from countwise.columns import refuse_infinity
from countwise.errors import CountwiseError, TableError
from countwise.frames import Frame
from countwise.schema import Schema
from countwise.sources import Memory, open_rows
from countwise.tallies import Counts, Moments, Values, fill_all
from countwise.trees.features import Feature, features_of
from countwise.trees.growth import Settings
from countwise.trees.passes import Passing, grow_in_passes
from countwise.trees.tables import TableColumn
from countwise.trees.tree import Tree
from countwise.trees.ways import Threshold

__all__ = ["FilePasses"]

_ALL = Nominal("(all)", (0,))


@dataclass(slots=True, eq=False)
class FilePasses:
    """What the first pass over a file finds, and the passes after it.

    Parameters
    ----------
    X, y, sample_weight
        The path, and the columns of the target and of the weights.
    numbers : bool
        Whether the target is a number.
    kinds : callable
        Gives the schema of a frame, its domains not yet learned.
    """

    X: Any
    y: Any
    sample_weight: Any
    numbers: bool
    kinds: Any
    schema: Schema = field(default_factory=Schema)
    target: Any = None
    first: Memory | None = None
    n_rows: int = 0
    left_out: int = 0
    values: dict[str, Values] = field(default_factory=dict)
    told: Any = None
    edges: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    gaps: dict[str, bool] = field(default_factory=dict)

    def look(self, n_bins: int, factors_of: Any) -> None:
        """The first pass: domains, classes, and the edges of bins; `factors_of` gives the weights of classes."""
        for rows in open_rows(self.X, self.y, self.sample_weight, numbers=self.numbers):
            self.left_out += rows.left_out
            if rows.frame.n_rows:
                self._look_at(rows)
        if self.first is None:
            raise TableError("The table is empty: at least one row with a target is needed.")
        factors = None if self.numbers else factors_of(self.told.table.astype(np.float64), self.target)
        for name, tally in self.values.items():
            numbers, weights = _pooled(tally, self.target, factors)
            self.edges[name] = edges_of(numbers, np.cumsum(weights, dtype=np.float64), n_bins)
            self.gaps[name] = self.gaps.get(name, False)
        self.values = {}

    def _look_at(self, rows: Memory) -> None:
        if self.first is None:
            self.first = rows
            self.schema = self.kinds(rows.frame)
            self.target = Numeric(rows.name) if self.numbers else Nominal(rows.name, grows=True)
        frame = self.schema.coded(self.schema.match(rows.frame))
        self.schema = self.schema.learn(frame)
        texts = [a.name for a in self.schema.attributes if isinstance(a, Text)]
        if texts:
            raise TableError(
                f"{texts[0]!r} is a text; its words are not counted in passes.", hint="read the file first."
            )
        self.target = self.target if self.numbers else self.target.learn(rows.target)
        table = self._encoded(rows, frame)
        counted = table.with_column(self.target.name, self._told(rows)).with_column(
            _ALL.name, np.zeros(table.n_rows, np.uint8)
        )
        of = _ALL if self.numbers else self.target
        blanks = {a.name: Values(of, a) for a in self.schema.attributes if isinstance(a, Numeric)}
        found = fill_all(blanks, counted)
        for name, tally in found.items():
            self.values[name] = self.values[name] + tally if name in self.values else tally
            self.gaps[name] = self.gaps.get(name, False) or _some_nan(table[name])
        for a in self.schema.attributes:
            if isinstance(a, Nominal):
                self.gaps[a.name] = self.gaps.get(a.name, False) or bool((table[a.name] == a.missing).any())
        blank = Moments(_ALL, self.target) if self.numbers else Counts((self.target,))
        told = fill_all({"told": blank}, counted)["told"]
        self.told = told if self.told is None else self.told + told
        self.n_rows += rows.frame.n_rows

    def _told(self, rows: Memory) -> NDArray[Any]:
        """The class of each row as a code, or its number."""
        if self.numbers:
            return np.asarray(rows.target, dtype=np.float64)
        codes: NDArray[Any] = self.target.encode(rows.target, strict=True)
        return codes

    def _encoded(self, rows: Memory, frame: Frame) -> Any:
        try:
            table = self.schema.encode(frame, rows.weights, strict=True)
            refuse_infinity({a.name: table[a.name] for a in self.schema.attributes if isinstance(a, Numeric)})
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None
        return table

    # -- the passes after it ------------------------------------------------------------

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.told.n.sum() if self.numbers else self.told.table.sum())

    @property
    def features(self) -> list[Feature]:
        """What can be asked."""
        return features_of(self.schema)

    def columns(self, way_of: Any) -> list[TableColumn]:
        """The attributes that are counted."""
        none = np.empty(0, dtype=np.uint8)
        found = []
        for j, f in enumerate(self.features):
            gaps = self.gaps[f.name]
            if isinstance(f.attribute, Nominal):
                if len(f.attribute.values) > 1:
                    found.append(TableColumn(j, none, len(f.attribute.values), way_of(f), gaps=gaps))
            else:
                edges = self.edges[f.name]
                found.append(TableColumn(j, none, len(edges) + 1, Threshold(), edges, gaps))
        return found

    def passes(self, factors: NDArray[np.float64] | None) -> Iterator[Passing]:
        """All rows once more; `factors` are the weights of classes."""
        for rows in open_rows(self.X, self.y, self.sample_weight, numbers=self.numbers):
            if not rows.frame.n_rows:
                continue
            table = self._encoded(rows, self.schema.coded(self.schema.match(rows.frame)))
            told = (
                np.asarray(rows.target, np.float64) if self.numbers else self.target.encode(rows.target, strict=True)
            )
            weights = rows.weights
            if factors is not None:
                weights = factors[told] * (1.0 if weights is None else weights)
            asked = [table[f.column] for f in self.features]
            counted = [
                asked[j] if f.nominal else _binned(asked[j], self.edges[f.name]) for j, f in enumerate(self.features)
            ]
            yield Passing(counted, asked, told, weights)

    def grow(self, way_of: Any, criterion: Any, stopping: dict[str, Any], many: Any, factors: Any) -> Tree:
        """The tree."""
        columns = self.columns(way_of)
        n_classes = 0 if self.numbers else len(self.target.values)
        settings = Settings(**stopping, many=many)
        return grow_in_passes(
            lambda: self.passes(factors), columns, len(self.features), n_classes, criterion, settings
        )


def _pooled(tally: Values, target: Any, factors: NDArray[np.float64] | None) -> tuple[Any, Any]:
    """The numbers of all classes and their weights, which may be weighed by class."""
    if factors is None:
        return tally.pooled
    factor = dict(zip(target.values, factors, strict=True))
    parts = zip(tally.given.values, tally.filled, strict=True)
    weighed = [(numbers, weights * factor[value]) for value, (numbers, weights) in parts]
    numbers, place = np.unique(np.concatenate([part for part, _ in weighed]), return_inverse=True)
    return numbers, np.bincount(place, weights=np.concatenate([part for _, part in weighed]))


def _binned(column: NDArray[Any], edges: NDArray[np.float64]) -> NDArray[np.uint16]:
    codes = np.empty(len(column), dtype=np.uint16)
    _kernels.cut_codes(column, edges, codes)
    return codes


def _some_nan(column: NDArray[Any]) -> bool:
    return bool(column.dtype.kind == "f" and np.isnan(column).any())
