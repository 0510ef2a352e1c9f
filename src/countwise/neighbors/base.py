"""Base classes of instance-based learners, which store the training rows and search them for neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.base.portraits import distinct, typical
from countwise.base.row_model import RowModel
from countwise.data.attributes import Nominal, Numeric
from countwise.data.frames import Coded, Frame, is_missing
from countwise.data.table import Table
from countwise.data.text import Bag, Text
from countwise.errors import NumberIn, OptionError, check_flag, check_value
from countwise.jsonfile import numbers
from countwise.neighbors.fit_distances import MetricTarget
from countwise.neighbors.layout import FoundNeighbors, NeighborSearch, RowLayout, lay
from countwise.neighbors.metric import DistanceMetric, metric_of
from countwise.sources import Memory

__all__ = ["ClassVotes", "InstanceModel"]


@dataclass(frozen=True, slots=True, eq=False)
class ClassVotes:
    """Class votes of stored rows; a query without any vote gets the prior."""

    codes: NDArray[Any]
    prior: Floats

    def count(self, found: FoundNeighbors, weights: Floats) -> Floats:
        """Return the weighted votes for each class, shape (queries, classes)."""
        n, k = len(found.starts) - 1, len(self.prior)
        cells = found.owner * k + self.codes[found.ids]
        return np.asarray(np.bincount(cells, weights=weights, minlength=n * k).reshape(n, k), dtype=np.float64)

    def proportions(self, found: FoundNeighbors, weights: Floats) -> Floats:
        """Return the proportion of the votes for each class, shape (queries, classes)."""
        votes = self.count(found, weights)
        total = votes.sum(axis=1, keepdims=True)
        return np.where(total > 0, votes / np.where(total > 0, total, 1.0), self.prior)

    def best(self, found: FoundNeighbors, weights: Floats) -> NDArray[np.intp]:
        """Return the class with the most votes; ties go to the class of the nearest row, then to the first class."""
        proportions = self.proportions(found, weights).round(12)
        tied = proportions >= proportions.max(axis=1, keepdims=True)
        best = np.argmax(tied, axis=1)
        for i in np.flatnonzero(tied.sum(axis=1) > 1).tolist():
            # neighbors are sorted by distance, then by class
            near = self.codes[found.ids[found.starts[i] : found.starts[i + 1]]]
            among = tied[i][near]
            if among.any():
                best[i] = near[int(np.argmax(among))]
        return np.asarray(best)


class InstanceModel(RowModel):
    """A model that stores its training rows.

    The rows are sorted by target, then by weight, then by their position in the training table. Among equally distant
    rows, the search returns those of the first class first. Predictions therefore do not depend on the order of the
    training rows, not even in the last bit.
    """

    metric: Any
    types: Any
    categorical_features: Any

    metric_: DistanceMetric
    classes_: NDArray[Any]
    class_count_: Floats
    prior_: Floats
    _votes: ClassVotes
    _order: Indices  # the index of each stored row in the training table
    _targets: NDArray[Any]  # the class code or numeric target of each stored row
    _weights: NDArray[Any] | None
    _frame: Frame
    _rows: Table
    _search: NeighborSearch
    _n_total: float  # total weight of the stored rows

    # -- fitting -----------------------------------------------------------------

    def _metric(self) -> DistanceMetric:
        """Return an unfitted copy of the metric, with the model's column types."""
        settings = metric_of(self.metric).get_params()
        return DistanceMetric(**settings if self.types is None else settings | {"types": self.types})

    def _learn(self, rows: Memory) -> dict[str, Any]:
        metric = self._metric()
        metric._check_settings()
        target, targets = self._encode_target(rows)
        schema, frame, table = metric.encoded(rows.frame, rows.weights, self.categorical_features)
        order = np.lexsort((*self._order_keys(table), *([] if rows.weights is None else [rows.weights]), targets))
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

    def _order_keys(self, table: Table) -> list[NDArray[Any]]:
        """Return columns that order rows of the same target and weight, the most important one last."""
        return []

    def _derive(self) -> None:
        """Build the neighbor search and describe the target."""
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

    def _portrait_of_rows(self, mine: Indices) -> list[tuple[str, Any, str]]:
        """Return the mean or the most frequent value of each attribute in some training rows."""
        weights = None if self._weights is None else self._weights[mine].astype(np.float64)
        kinds = [a for a in self.schema_.attributes if isinstance(a, Nominal | Numeric)]
        return [(a.name, *typical(a, self._rows[a.name][mine], weights)) for a in kinds]

    def _numbers_to_try(self, name: str) -> Any:
        return distinct(self._rows[name])

    # -- neighbors ---------------------------------------------------------------------

    def _layout(self, frame: Frame, start: int, stop: int) -> RowLayout:
        """Return rows start to stop in the layout that the search uses."""
        return lay(self.metric_.distance_, self._table(frame, start, stop), frame.slice(start, stop))

    def _in_given_order(self) -> Indices:
        """Return the indices that put the stored rows into the order of the training table."""
        return np.argsort(self._order, kind="stable")

    def _training_blocks(self) -> list[tuple[int, int]]:
        """Return (start, stop) of each block of stored rows."""
        n = len(self._search)
        return [(start, min(start + self._block, n)) for start in range(0, n, self._block)]

    def _other_neighbors(
        self, k: float, start: int, stop: int, penalties: Floats | None = None, *, ties: bool = False
    ) -> tuple[FoundNeighbors, Floats]:
        """Return the neighbors of training rows start to stop among all other rows, and the weight of each neighbor.

        A row of weight n represents n copies: one copy is the query, the other n - 1 are neighbors.
        """
        queries = self._search.rows.slice(start, stop)
        found = self._search.nearest(queries, k + 1.0, penalties=penalties, ties=ties)
        found = found.only(~queries.unknown(self.metric_.distance_)[found.owner])
        weights = self._search.weights_of(found.ids)
        itself = found.ids == found.owner + start
        weights[itself] = np.maximum(weights[itself] - 1.0, 0.0)
        return found.only(weights > 0), weights[weights > 0]

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest training rows of each row.

        Parameters
        ----------
        X : table, optional
            Rows to find neighbors for. Columns are matched by name, or by position if X is an array. If omitted, the
            neighbors of each training row are returned, and no row is its own neighbor.
        n_neighbors : int, optional
            Number of neighbors of each row. If omitted, the number that the model uses.
        return_distance : bool, default=True
            If True, return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_rows, n_neighbors)
            Distances in ascending order. Only returned if `return_distance` is True.
        rows : ndarray of shape (n_rows, n_neighbors)
            Indices of the neighbors in the training table.

        Examples
        --------
        >>> from countwise import NeighborsClassifier
        >>> model = NeighborsClassifier(1).fit({"x": [0.0, 1.0, 4.0]}, ["a", "a", "b"])
        >>> distances, rows = model.kneighbors({"x": [3.0]}, n_neighbors=2)
        >>> distances.tolist(), rows.tolist()
        ([[0.25, 0.5]], [[2, 1]])
        """
        self._check_fitted()
        wanted, k = check_flag("return_distance", return_distance), self._k() if n_neighbors is None else n_neighbors
        most = len(self._search) - (X is None)
        check_value("n_neighbors", k, NumberIn(1, whole=True))
        if k > most:
            raise OptionError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {len(self._search)}"
                f"{'' if X is not None else ', and no row is its own neighbor'}."
            )
        found = self._neighbors(X, float(k), np.inf)
        rows = self._order[found.ids].reshape(-1, int(k))
        return (found.distances.reshape(rows.shape), rows) if wanted else rows

    def radius_neighbors(self, X: Any = None, radius: float | None = None, return_distance: bool = True) -> Any:
        """Find all training rows within a distance of each row, nearest first.

        Parameters
        ----------
        X : table, optional
            Rows to find neighbors for. Columns are matched by name, or by position if X is an array. If omitted, the
            neighbors of each training row are returned, and no row is its own neighbor.
        radius : float, optional
            The largest distance of a neighbor. By default the parameter `radius` of the model; required if the model
            has no radius.
        return_distance : bool, default=True
            If True, return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_rows,) of ndarray
            Distances in ascending order, one array for each row. Only returned if `return_distance` is True.
        rows : ndarray of shape (n_rows,) of ndarray
            Indices of the neighbors in the training table, one array for each row.

        Examples
        --------
        >>> from countwise import NeighborsClassifier
        >>> model = NeighborsClassifier(1).fit({"x": [0.0, 1.0, 4.0]}, ["a", "a", "b"])
        >>> model.radius_neighbors({"x": [3.0, 9.0]}, radius=0.5, return_distance=False).tolist()
        [array([2, 1]), array([], dtype=int64)]
        """
        self._check_fitted()
        wanted = check_flag("return_distance", return_distance)
        radius = getattr(self, "radius", None) if radius is None else radius
        check_value("radius", radius, NumberIn(0))
        found = self._neighbors(X, np.inf, float(radius))  # type: ignore[arg-type]  # checked above
        rows = _ragged(self._order[found.ids], found.starts)
        return (_ragged(found.distances, found.starts), rows) if wanted else rows

    def _neighbors(self, X: Any, k: float, radius: float) -> FoundNeighbors:
        """Return the neighbors of the rows of X, or of the training rows in the order of the training table."""
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
        """Return the default number of neighbors."""
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
        targets = self._stored_targets(state["told"])
        n = len(targets)
        if n == 0:
            raise ValueError("there is no row")
        self._targets = targets if self._numbers else targets.astype(np.uint32)
        self._order = numbers(state["order"], "the order of the rows", (n,), least=0, whole=True)
        self._weights = None if state["weights"] is None else numbers(state["weights"], "the weights", (n,), least=0)
        if (self._weights is not None and not (self._weights > 0).all()) or len(np.unique(self._order)) < n:
            raise ValueError("a row has no weight, or is stored twice")
        columns = {a.name: _revived(a, state["instances"][a.name], n) for a in self.schema_.attributes}
        self._rows = Table(columns, n, self._weights)
        given = {a.name: _given(a, columns[a.name], state["texts"]) for a in self.schema_.attributes}
        self._frame = Frame(given, n, named=True)
        self.metric_ = self._metric()
        self.metric_._check_settings()
        classes = None if self._numbers else MetricTarget(self.target_, self._targets)
        self.metric_.adopt(self.schema_, self._frame, self._rows, classes)
        self._derive()

    def _stored_targets(self, data: Any) -> NDArray[Any]:
        """Return the targets of the rows of a file: codes, or numbers."""
        if self._numbers:
            return numbers(data, "the targets", (None,)).astype(np.float64)
        return numbers(data, "the classes", (None,), least=0, most=len(self.target_.values) - 1, whole=True)


def _ragged(flat: NDArray[Any], starts: Indices) -> NDArray[Any]:
    out = np.empty(len(starts) - 1, dtype=object)
    for i in range(len(out)):
        out[i] = flat[starts[i] : starts[i + 1]]
    return out


def _plain(column: Any) -> Any:
    if isinstance(column, Bag):
        missing = None if column.missing is None else column.missing.tolist()
        part = slice(int(column.indptr[0]), int(column.indptr[-1]))
        return {
            "starts": (column.indptr - column.indptr[0]).tolist(),
            "words": column.indices[part].tolist(),
            "counts": column.data[part].tolist(),
            "missing": missing,
        }
    if column.dtype.kind == "f":
        return [None if x != x else x for x in column.astype(np.float64).tolist()]
    return column.tolist()


def _revived(a: Any, data: Any, n: int) -> Any:
    if isinstance(data, Mapping):
        what, words = f"the documents of {a.name!r}", len(a.words)
        indices = numbers(data["words"], what, (None,), least=0, most=words - 1, whole=True).astype(np.int32)
        missing = data["missing"]
        bag = Bag(
            numbers(data["starts"], what, (n + 1,), least=0, most=len(indices), whole=True),
            indices,
            numbers(data["counts"], what, (len(indices),), least=0),
            words,
            None if missing is None else np.array([flag is True for flag in missing], dtype=bool),
        )
        sound = (
            bag.indptr[0] == 0
            and bag.indptr[-1] == len(bag.indices)
            and (np.diff(bag.indptr) >= 0).all()
            and (bag.data > 0).all()
            and (bag.missing is None or bag.missing.shape == (n,))
        )
        if not sound:
            raise ValueError(f"the documents of {a.name!r} are damaged")
        return bag
    if isinstance(a, Nominal):
        codes = numbers(data, f"the values of {a.name!r}", (n,), least=0, most=a.missing, whole=True)
        return codes.astype(np.uint32 if a.unseen > 65535 else np.uint16 if a.unseen > 255 else np.uint8)
    return numbers(data, f"the values of {a.name!r}", (n,), missing=True).astype(float)


def _texts(column: Any) -> list[str | None]:
    """Return the original documents, which workings show."""
    cells = column.tolist() if isinstance(column, np.ndarray) else [*column.categories, None]
    if not isinstance(column, np.ndarray):
        cells = [cells[code] for code in column.codes]
    return [None if is_missing(cell) else str(cell) for cell in cells]


def _given(a: Any, column: Any, texts: Mapping[str, Any]) -> Any:
    """Return a decoded column as it would be in a frame."""
    if isinstance(a, Nominal):
        return Coded(np.where(column >= a.missing, -1, column.astype(np.int64)), a.values, declared=True)
    if not isinstance(a, Text):
        return column
    written = np.empty(len(column), dtype=object)
    written[:] = texts[a.name]
    if not all(cell is None or isinstance(cell, str) for cell in written):
        raise ValueError(f"a document of {a.name!r} is not a string")
    return written
