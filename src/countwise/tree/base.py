"""What trees for classes and for numbers have in common: learning, and asking rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._typing import Floats, Indices
from countwise.base.model import Model
from countwise.data.attributes import Numeric
from countwise.data.columns import refuse_infinity
from countwise.data.frames import Frame, is_relation
from countwise.data.output import dense
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import CountwiseError, OptionError, check_number, check_settings
from countwise.io.paths import is_paths
from countwise.sources import Memory, open_whole
from countwise.tree.apply import Landing, land
from countwise.tree.growth.criteria import OF_CLASSES, OF_NUMBERS, Criterion
from countwise.tree.features import Feature, columns_of, features_of
from countwise.tree.growth.grow_engine import grown_in_engine
from countwise.tree.growth.grow_pieces import FilePasses
from countwise.tree.nodes import Tree
from countwise.tree.pruning import needs_no_rows, pruned, pruned_by_itself
from countwise.tree.ranges_column import RULES
from countwise.tree.growth.training_set import NOMINAL, Splitting, TrainingSet

__all__ = ["BLOCK", "TreeModel"]

BLOCK = 1 << 15  # rows asked at a time
_WORDS = {"entropy": "gain", "log_loss": "gain", "squared_error": "variance"}


class TreeModel(Model):
    """What trees for classes and for numbers have in common."""

    criterion: str
    nominal: str
    numeric: str
    ranges: str
    thresholds: str
    max_bins: int
    missing: str
    unseen: str
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_gain: float
    threshold_cost: bool
    max_branches: int
    types: Any
    categorical_features: Any

    tree_: Tree
    schema_: Schema
    target_: Any
    n_rows_: int
    n_features_in_: int
    _features: list[Feature]
    _used: list[int]
    _node_weights: Floats
    _label_type: np.dtype[Any] | None
    _numbers: bool
    _learns_in_engines = True

    # -- learning --------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree from a table.

        Parameters
        ----------
        X : any table, path, or iterator of frames
            pandas, Polars, PyArrow, NumPy, SciPy sparse, a mapping of columns, a list of dicts; with
            ``thresholds="binned"`` also a table that an engine holds (DuckDB, Polars lazy, Dask, Spark, Ibis): it
            counts, once for each column and level, and the rows stay there. The tree is the same.
        y : array-like or str
            What is to be told of each row, or the name of its column in X.
        sample_weight : array-like or str, optional
            A weight for each row, or the name of their column; a weight of n equals n copies.

        Returns
        -------
        self
        """
        self._check_settings()
        if is_relation(X) and self._learns_in_engines:
            return self._adopted(*grown_in_engine(self, X, y, sample_weight))
        if self.thresholds == "binned" and is_paths(X) and needs_no_rows(self):
            return self._adopted(*self._grown_in_passes(X, y, sample_weight))
        rows = open_whole(dense(X), y, sample_weight, numbers=self._numbers)
        try:
            found = self._grown(rows)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None
        return self._adopted(found, rows.left_out, rows.name)

    def _adopted(self, found: dict[str, Any], left_out: int, name: str) -> Self:
        """The model with what was learned."""
        self._take_over(found, left_out, name)
        self._derive()
        return self

    def _grown_in_passes(self, X: Any, y: Any, sample_weight: Any) -> tuple[dict[str, Any], int, str]:
        """The same from a file that is read once a level."""
        source = FilePasses(X, y, sample_weight, self._numbers, self._infer_schema)
        source.look(int(self.max_bins), self._factors)
        first = source.first
        assert first is not None  # noqa: S101 - looked at
        splitting, features = self._splitting(), source.features
        factors = None if self._numbers else self._factors(source.told.table.astype(np.float64), source.target)
        many = np.array([splitting.has_many(f, source.weight) for f in features], dtype=bool)

        def grow() -> Tree:
            return source.grow(splitting.way_of, self._criterion(), self._stopping(), many, factors)

        found = {
            "schema_": source.schema,
            "n_rows_": source.n_rows,
            "n_left_out_": source.left_out,
            "_features": features,
            "target_": source.target,
            "_label_type": first.label_type,
            **self._names(first.frame),
        }
        return found | pruned_by_itself(self, grow, self._criterion()), source.left_out, first.name

    def _infer_schema(self, frame: Frame) -> Schema:
        return Schema.kinds(frame, self.types, self.categorical_features)

    def _factors(self, counts: Floats, target: Any) -> Floats | None:
        """The weights of classes."""
        return None

    def _grown(self, rows: Memory) -> dict[str, Any]:
        """All that is learned from rows."""
        schema = self._infer_schema(rows.frame)
        frame = schema.coded(rows.frame)
        schema = schema.learn(frame)
        table = schema.encode(frame, rows.weights, strict=True)
        refuse_infinity({a.name: table[a.name] for a in schema.attributes if isinstance(a, Numeric)})
        features = features_of(schema, table.n_rows)
        found: dict[str, Any] = {
            "schema_": schema,
            "n_rows_": frame.n_rows,
            "n_left_out_": rows.left_out,
            "_features": features,
            **self._names(rows.frame),
        }
        target, told, n_classes = self._target(rows)
        weights = self._weights(rows.weights, told, target)
        ground = TrainingSet(
            features, columns_of(features, table), told, weights, n_classes, rows.places, rows.n_given
        )
        found |= {"target_": target, "_label_type": rows.label_type}
        return found | self._learned(ground, target)

    def _learned(self, ground: TrainingSet, target: Any) -> dict[str, Any]:
        """What is learned beside what the columns are: the tree."""
        return pruned(self, ground, self._criterion(), self._splitting(), self._stopping())

    def _target(self, rows: Memory) -> tuple[Any, NDArray[Any], int]:
        raise NotImplementedError

    def _weights(self, weights: Any, told: NDArray[Any], target: Any) -> Any:
        return weights

    def _derive(self) -> None:
        """What follows from the tree."""
        raise NotImplementedError

    def _criterion(self) -> Criterion:
        return Criterion(_WORDS.get(self.criterion, self.criterion))

    def _splitting(self) -> Splitting:
        bins = int(self.max_bins) if self.thresholds == "binned" else None
        return Splitting(self.nominal, self.numeric, self.ranges, bins, int(self.max_branches))

    def _stopping(self) -> dict[str, Any]:
        return {
            "max_depth": None if self.max_depth is None else int(self.max_depth),
            # what rounding takes from a sum of broken weights is not held against it
            "min_split": float(self.min_samples_split) * (1 - 1e-12),
            "min_leaf": float(self.min_samples_leaf) * (1 - 1e-12),
            "min_gain": float(self.min_gain),
            "missing": self.missing,
            "threshold_cost": bool(self.threshold_cost),
        }

    def _check_settings(self) -> None:
        words = OF_NUMBERS if self._numbers else OF_CLASSES
        synonyms = tuple(w for w, of in _WORDS.items() if of in words)
        check_settings(
            self,
            criterion=(*words, *synonyms),
            nominal=tuple(NOMINAL),
            numeric=("binary", "ranges"),
            ranges=tuple(RULES),
            thresholds=("exact", "binned"),
            missing=("fractions", "branch", "majority"),
            unseen=("ignore", "error"),
            threshold_cost=(True, False),
        )
        check_number("max_depth", self.max_depth, 0, none=True, whole=True)
        check_number("min_samples_split", self.min_samples_split, 1)
        check_number("min_samples_leaf", self.min_samples_leaf, 0, above=True)
        check_number("min_gain", self.min_gain, 0)
        check_number("max_branches", self.max_branches, 2, whole=True)
        check_number("max_bins", self.max_bins, 2, most=255, whole=True)
        if self.numeric == "ranges" and self.thresholds == "binned":
            raise OptionError(
                "Ranges are cut on the node's own rows; they cannot be binned.", hint="thresholds='exact'."
            )
        if self.numeric == "ranges" and self._numbers:
            raise OptionError(
                "Ranges are cut where classes change; numbers have no classes.", hint="numeric='binary'."
            )

    # -- asking ------------------------------------------------------------------

    def _open(self, X: Any) -> Frame:
        self._check_fitted()
        return self.schema_.opened(dense(X))

    def _table(self, frame: Frame, start: int, stop: int) -> Table:
        """Rows start to stop encoded; an error names the row of the whole frame."""
        try:
            table = self.schema_.encode(frame.slice(start, stop), strict=self.unseen == "error")
            refuse_infinity({a.name: table[a.name] for a in self.schema_.attributes if isinstance(a, Numeric)})
        except CountwiseError as error:
            raise error if error.row is None else error.at(error.row + start) from None
        return table

    def _landing(self, table: Table) -> Landing:
        columns = columns_of(self._features, table, self._used)
        return land(self.tree_, columns, table.n_rows, self._node_weights)

    def _answered(self, X: Any, answers: Floats) -> list[Floats]:
        """The answers (nodes, ...) of the leaves that rows come to, block by block."""
        frame = self._open(X)

        def work(start: int, stop: int) -> Floats:
            return self._landing(self._table(frame, start, stop)).blended(answers)

        return _kernels.over_blocks(frame.n_rows, BLOCK, work, progress=progress.current())

    def apply(self, X: Any) -> Indices:
        """The number of the leaf that each row comes to; of several, the one with the largest share.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """
        frame = self._open(X)
        landing = self._landing(self._table(frame, 0, frame.n_rows))
        if landing.rows is None or landing.shares is None:
            return landing.leaves.astype(np.int64)
        order = np.lexsort((landing.leaves, -landing.shares, landing.rows))
        rows = landing.rows[order]
        first = np.concatenate([[True], rows[1:] != rows[:-1]])
        return landing.leaves[order][first].astype(np.int64)

    # -- the model file --------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """All that was learned, as plain data."""
        return {"tree": self.tree_.to_dict()}

    def _revive(self, state: Mapping[str, Any]) -> None:
        """Take over what `_state` wrote."""
        self._features = features_of(self.schema_)
        self.tree_ = Tree.from_dict(state["tree"], len(self._features))
        if self.tree_.cells.shape[1] != (3 if self._numbers else len(self.target_.values)):
            raise ValueError("the tree does not fit its target")
        self._derive()
