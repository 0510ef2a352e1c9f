"""The base of learners from instances: they keep the rows, search them, and count the votes of those found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.base.row_model import RowModel
from countwise.data.attributes import Nominal
from countwise.data.frames import Coded, Frame, is_missing
from countwise.data.table import Table
from countwise.data.text import Bag, Text
from countwise.errors import NumberIn, OptionError, check_value
from countwise.neighbors.fit_distances import MetricTarget
from countwise.neighbors.layout import FoundNeighbors, NeighborSearch, RowLayout, lay
from countwise.neighbors.metric import DistanceMetric, metric_of
from countwise.sources import Memory

__all__ = ["ClassVotes", "InstanceModel"]


@dataclass(frozen=True, slots=True, eq=False)
class ClassVotes:
    """Kept rows that vote for their classes, given by code; the prior stands where nobody votes."""

    codes: NDArray[Any]
    prior: Floats

    def count(self, found: FoundNeighbors, weights: Floats) -> Floats:
        """The votes for each class, (queries, classes)."""
        n, k = len(found.starts) - 1, len(self.prior)
        cells = found.owner * k + self.codes[found.ids]
        return np.asarray(np.bincount(cells, weights=weights, minlength=n * k).reshape(n, k), dtype=np.float64)

    def shares(self, found: FoundNeighbors, weights: Floats) -> Floats:
        """The share of the votes of each class, (queries, classes)."""
        votes = self.count(found, weights)
        total = votes.sum(axis=1, keepdims=True)
        return np.where(total > 0, votes / np.where(total > 0, total, 1.0), self.prior)

    def best(self, found: FoundNeighbors, weights: Floats) -> NDArray[np.intp]:
        """The class with most votes; of equals the one that has the nearest row, then the first."""
        shares = self.shares(found, weights).round(12)
        tied = shares >= shares.max(axis=1, keepdims=True)
        best = np.argmax(tied, axis=1)
        for i in np.flatnonzero(tied.sum(axis=1) > 1).tolist():
            # in the order of distance, then class
            near = self.codes[found.ids[found.starts[i] : found.starts[i + 1]]]
            among = tied[i][near]
            if among.any():
                best[i] = near[int(np.argmax(among))]
        return np.asarray(best)


class InstanceModel(RowModel):
    """A model that keeps its rows.

    They are sorted by target, then weight, then as they were given. Of equally near rows those of the first class are
    found first, so the order of the training rows does not change the last bit.
    """

    metric: Any
    types: Any
    categorical_features: Any

    metric_: DistanceMetric
    classes_: NDArray[Any]
    class_count_: Floats
    prior_: Floats
    _votes: ClassVotes
    _order: Indices  # the number of each kept row in the training table
    _targets: NDArray[Any]  # its class code, or its numeric target
    _weights: NDArray[Any] | None
    _frame: Frame
    _rows: Table
    _search: NeighborSearch
    _n_total: float  # kept rows, by weight

    # -- learning ----------------------------------------------------------------

    def _metric(self) -> DistanceMetric:
        """The metric to be fitted, with the model's types."""
        settings = metric_of(self.metric).get_params()
        return DistanceMetric(**settings if self.types is None else settings | {"types": self.types})

    def _learn(self, rows: Memory) -> dict[str, Any]:
        metric = self._metric()
        metric._check_settings()
        target, targets = self._encode_target(rows)
        schema, frame, table = metric.encoded(rows.frame, rows.weights, self.categorical_features)
        order = np.lexsort((targets,) if rows.weights is None else (rows.weights, targets))
        frame, table, targets = frame.take(order), table.take(order), targets[order]
        metric.adopt(schema, frame, table, None if self._numbers else MetricTarget(target, targets))
        places = np.arange(len(order)) if rows.places is None else rows.places
        return {
            "metric_": metric,
            "schema_": metric.schema_,
            "target_": target,
            "_order": np.asarray(places[order], dtype=np.int64),
            "_targets": targets,
            "_weights": None if rows.weights is None else rows.weights[order],
            "_frame": frame,
            "_rows": table,
        }

    def _derive(self) -> None:
        """Open the search, and describe the target."""
        laid = lay(self.metric_.distance_, self._rows, self._frame)
        weights = None if self._weights is None else self._weights.astype(np.float64)
        self._search = NeighborSearch(self.metric_.distance_, laid, weights)
        self._n_total = float(len(laid) if weights is None else weights.sum())
        self._describe_target()

    def _describe_target(self) -> None:
        self.classes_ = self.target_.labels(self._label_type)
        counts = np.bincount(self._targets, weights=self._weights, minlength=len(self.classes_)).astype(np.float64)
        self.class_count_, self.prior_ = counts, counts / counts.sum()
        self._votes = ClassVotes(self._targets, self.prior_)

    # -- asking ------------------------------------------------------------------------

    def _layout(self, frame: Frame, start: int, stop: int) -> RowLayout:
        """Rows start to stop laid out for the search."""
        return lay(self.metric_.distance_, self._table(frame, start, stop), frame.slice(start, stop))

    def _in_given_order(self) -> Indices:
        """The kept rows in the order of the training table."""
        return np.argsort(self._order, kind="stable")

    def _training_blocks(self) -> list[tuple[int, int]]:
        """Blocks of the kept rows, start to stop."""
        n = len(self._search)
        return [(start, min(start + self._block, n)) for start in range(0, n, self._block)]

    def _left_out(
        self, k: float, start: int, stop: int, penalties: Floats | None = None, *, ties: bool = False
    ) -> tuple[FoundNeighbors, Floats]:
        """The neighbors of some training rows among the others, and the weight of each.

        A weight of n is n copies: one of them is left out, the others are neighbors.
        """
        asked = self._search.rows.slice(start, stop)
        found = self._search.nearest(asked, k + 1.0, penalties=penalties, ties=ties)
        found = found.only(~asked.unknown(self.metric_.distance_)[found.owner])
        weights = self._search.weights_of(found.ids)
        itself = found.ids == found.owner + start
        weights[itself] = np.maximum(weights[itself] - 1.0, 0.0)
        return found.only(weights > 0), weights[weights > 0]

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest training rows.

        Parameters
        ----------
        X : any table, optional
            Columns are found by name, or by place in an array. Without it the training rows, of which none is its own
            neighbor.
        n_neighbors : int, optional
            How many; by default as many as the model uses.
        return_distance : bool, default=True
            Whether distances are given too.

        Returns
        -------
        distances : ndarray, shape (rows, n_neighbors)
        rows : ndarray, shape (rows, n_neighbors)
            Numbers of rows of the training table.
        """
        self._check_fitted()
        k = self._k() if n_neighbors is None else n_neighbors
        most = len(self._search) - (X is None)
        check_value("n_neighbors", k, NumberIn(1, whole=True))
        if k > most:
            raise OptionError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {len(self._search)}"
                f"{'' if X is not None else ', and no row is its own neighbor'}."
            )
        found = self._neighbors(X, float(k), np.inf)
        rows = self._order[found.ids].reshape(-1, int(k))
        return (found.distances.reshape(rows.shape), rows) if return_distance else rows

    def radius_neighbors(self, X: Any = None, radius: float | None = None, return_distance: bool = True) -> Any:
        """All training rows within a distance, the nearest first.

        Parameters
        ----------
        X, return_distance
            As for `kneighbors`.
        radius : float, optional
            The distance; by default the one that the model uses.

        Returns
        -------
        distances, rows : ndarray of ndarray
            As `kneighbors` gives them, an array for each row.
        """
        self._check_fitted()
        radius = getattr(self, "radius", None) if radius is None else radius
        check_value("radius", radius, NumberIn(0))
        found = self._neighbors(X, np.inf, float(radius))  # type: ignore[arg-type]  # it was checked
        rows = _ragged(self._order[found.ids], found.starts)
        return (_ragged(found.distances, found.starts), rows) if return_distance else rows

    def _neighbors(self, X: Any, k: float, radius: float) -> FoundNeighbors:
        """Rows found for a table, or for the training rows in the order in which they were given."""
        if X is not None:
            frame = self._open(X)
            return self._search.nearest(self._layout(frame, 0, frame.n_rows), k, radius, weighted=False)
        queries = self._search.rows
        found = self._search.nearest(queries, k, radius, weighted=False, skip=np.arange(len(queries)))
        back = self._in_given_order()
        pieces = [slice(found.starts[i], found.starts[i + 1]) for i in back]
        starts = np.concatenate([[0], np.cumsum(found.sizes[back])])
        places = np.concatenate([np.arange(p.start, p.stop) for p in pieces]) if pieces else np.empty(0, np.int64)
        return FoundNeighbors(starts, found.ids[places], found.sums[places], found.distances[places])

    def _k(self) -> Any:
        """The number of neighbors used by default."""
        return 1

    # -- the model file --------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        texts = [a for a in self.schema_.attributes if isinstance(a, Text)]
        return {
            "instances": {name: _plain(self._rows[name]) for name in self.schema_},
            "told": self._targets.tolist(),
            "order": self._order.tolist(),
            "weights": None if self._weights is None else self._weights.tolist(),
            "texts": {a.name: _texts(self._frame.columns[a.name]) for a in texts},
        }

    def _revive(self, state: Mapping[str, Any]) -> None:
        self._check_settings()
        targets = np.array(state["told"], dtype=np.float64 if self._numbers else np.int64)
        n = len(targets)
        if not self._numbers and n and not (targets.min() >= 0 and targets.max() < len(self.target_.values)):
            raise ValueError("a class is outside its domain")
        if not np.isfinite(targets).all():
            raise ValueError("the target of a row is not a number")
        self._targets = targets if self._numbers else targets.astype(np.uint32)
        self._order = np.array(state["order"], dtype=np.int64)
        self._weights = None if state["weights"] is None else np.array(state["weights"])
        columns = {a.name: _revived(a, state["instances"][a.name], n) for a in self.schema_.attributes}
        if len(self._order) != n or (self._weights is not None and len(self._weights) != n) or n == 0:
            raise ValueError("the rows are not of one length")
        if self._weights is not None and not (np.isfinite(self._weights).all() and (self._weights > 0).all()):
            raise ValueError("a weight is not above 0")
        self._rows = Table(columns, n, self._weights)
        given = {a.name: _given(a, columns[a.name], state["texts"]) for a in self.schema_.attributes}
        self._frame = Frame(given, n, named=True)
        self.metric_ = self._metric()
        self.metric_._check_settings()
        classes = None if self._numbers else MetricTarget(self.target_, self._targets)
        self.metric_.adopt(self.schema_, self._frame, self._rows, classes)
        self._derive()


def _ragged(flat: NDArray[Any], starts: Indices) -> NDArray[Any]:
    out = np.empty(len(starts) - 1, dtype=object)
    for i in range(len(out)):
        out[i] = flat[starts[i] : starts[i + 1]]
    return out


def _plain(column: Any) -> Any:
    if isinstance(column, Bag):
        lost = None if column.missing is None else column.missing.tolist()
        part = slice(int(column.indptr[0]), int(column.indptr[-1]))
        return {
            "starts": (column.indptr - column.indptr[0]).tolist(),
            "words": column.indices[part].tolist(),
            "counts": column.data[part].tolist(),
            "missing": lost,
        }
    if column.dtype.kind == "f":
        return [None if x != x else x for x in column.astype(np.float64).tolist()]
    return column.tolist()


def _revived(a: Any, data: Any, n: int) -> Any:
    if isinstance(data, Mapping):
        bag = Bag(
            np.array(data["starts"], dtype=np.int64),
            np.array(data["words"], dtype=np.int32),
            np.array(data["counts"]),
            len(a.words),
            None if data["missing"] is None else np.array(data["missing"], dtype=bool),
        )
        sound = (
            len(bag) == n
            and bag.indptr[0] == 0
            and bag.indptr[-1] == len(bag.indices) == len(bag.data)
            and (np.diff(bag.indptr) >= 0).all()
            and (len(bag.indices) == 0 or (bag.indices.min() >= 0 and bag.indices.max() < bag.n_words))
            and bool(np.isfinite(bag.data).all() and (bag.data > 0).all())
            and (bag.missing is None or bag.missing.shape == (n,))
        )
        if not sound:
            raise ValueError(f"the texts of {a.name!r} are not sound")
        return bag
    if isinstance(a, Nominal):
        codes = np.array(data, dtype=np.int64)
        if codes.shape != (n,) or (n and not (codes.min() >= 0 and codes.max() <= a.missing)):
            raise ValueError(f"the codes of {a.name!r} do not fit their domain")
        return codes.astype(np.uint32 if a.unseen > 65535 else np.uint16 if a.unseen > 255 else np.uint8)
    numbers = np.array(data, dtype=np.float64)
    if numbers.shape != (n,) or np.isinf(numbers).any():
        raise ValueError(f"the numbers of {a.name!r} are not sound")
    return numbers


def _texts(column: Any) -> list[str | None]:
    """The texts themselves, to be shown."""
    cells = column.tolist() if isinstance(column, np.ndarray) else [*column.categories, None]
    if not isinstance(column, np.ndarray):
        cells = [cells[code] for code in column.codes]
    return [None if is_missing(cell) else str(cell) for cell in cells]


def _given(a: Any, column: Any, texts: Mapping[str, Any]) -> Any:
    """A column as a frame has it."""
    if isinstance(a, Nominal):
        return Coded(np.where(column >= a.missing, -1, column.astype(np.int64)), a.values, declared=True)
    if not isinstance(a, Text):
        return column
    written = np.empty(len(column), dtype=object)
    written[:] = texts[a.name]
    if not all(cell is None or isinstance(cell, str) for cell in written):
        raise ValueError(f"the texts of {a.name!r} are not sound")
    return written
