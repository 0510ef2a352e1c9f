"""Rows in memory: a frame, its target and the row weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise._typing import Flags, Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import factorized, missing_classes, of_objects
from countwise.data.frames import Column, Frame, frame_of, is_sparse, series_of, unused_name
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.weights import weights_of
from countwise.errors import CountwiseError, SchemaError, TableError, did_you_mean, listed, warn
from countwise.tallies import BuildRequests, Counted, derived_table, fill_all

__all__ = ["Memory", "check_shape", "column_of", "memory", "target_of"]

_LARGEST_TARGET = 1e150


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A frame with a target for each row."""

    frame: Frame
    target: Column  # the class or the number of each row; no value is missing
    name: str  # name of the target
    weights: NDArray[Any] | None  # no weight is zero
    left_out: int = 0  # number of skipped rows, whose target is missing
    label_type: np.dtype[Any] | None = None  # dtype of the user's target
    places: NDArray[Any] | None = None  # positions of the rows in the user's table; None if no row was skipped
    known: bool = True  # whether the user gave classes; if not, all rows belong to one class
    n_given: int = 0  # number of rows of the user's table

    @property
    def n_rows(self) -> int:
        """Number of rows with a target."""
        return self.frame.n_rows

    def counted_as_given(self, error: CountwiseError) -> CountwiseError:
        """Return an error about one of these rows with the row number of the user's table."""
        if error.row is None or self.places is None:
            return error
        return error.at(int(self.places[error.row]))

    def table(self, schema: Schema, target: Nominal) -> Table:
        """Encode the rows, including the target."""
        codes = target.encode(self.target, strict=True)
        return schema.encode(self.frame, self.weights, strict=True).with_column(target.name, codes)

    def matched(self, schema: Schema) -> Frame:
        """Return the columns of a schema, in its order."""
        return schema.match(self.frame)

    def count(
        self, schema: Schema, target: Nominal, build: BuildRequests, what: str = "", *, learn: bool = True
    ) -> Counted:
        """Fill the tallies that a model requests; unless `learn`, a value outside its domain is an error."""
        frame = self.frame if tuple(schema) == self.frame.names else schema.match(self.frame)
        if learn:
            frame = schema.coded(frame)
            schema, target = schema.learn(frame), target.learn(self.target, occurring=True)
        requests = build(schema, target)
        report = progress.current()
        table = derived_table(replace(self, frame=frame).table(schema, target), requests)
        tallies = fill_all({key: request.blank for key, request in requests.items()}, table, report)
        if report is not None:
            report(frame.n_rows)
        return Counted(schema, target, tallies, frame.n_rows, self.label_type)


def memory(
    X: Any, y: Any, sample_weight: Any = None, needs_target: bool = True, *, whole: bool = True, numbers: bool = False
) -> Memory:
    """Separate a table and its target, classes or `numbers`; rows without a target or with weight 0 are skipped.

    A `whole` table must have at least one row left; a chunk may have none. If no target is needed, a target with
    continuous or missing values is ignored.
    """
    frame = frame_of(X)
    if y is None and needs_target:
        raise TableError("This estimator requires y to be passed, but the target y is None.")
    if isinstance(y, str):
        target, name, frame = column_of(frame, y, "for the target"), y, frame.without(y)
    elif y is None:
        target, name = np.zeros(frame.n_rows, dtype=np.uint8), unused_name("class", frame)
    else:
        target, own_name = target_of(y)
        generated = unused_name("target" if numbers else "class", frame)
        name = own_name if own_name and own_name not in frame.columns else generated
    check_shape(len(frame.columns), frame.n_rows, target, whole)
    if numbers:
        target = _numbers(target, name)
        weights = weights_of(sample_weight, frame.n_rows, whole=whole)
        return _keep(frame, target, name, weights, whole, np.isnan(target))
    known = y is not None and (needs_target or _is_class(target, name))
    target = target if known else np.zeros(frame.n_rows, dtype=np.uint8)
    label_type = target.dtype if isinstance(target, np.ndarray) else None
    if of_objects(target):
        target = factorized(target, name)  # encoded once for all later uses
    weights = weights_of(sample_weight, frame.n_rows, whole=whole)
    kept = _keep(frame, target, name, weights, whole, missing_classes(target, name))
    return replace(kept, label_type=label_type, known=known)


def column_of(frame: Frame, name: str, what: str = "") -> Column:
    """Return a column by name; `what`, such as "for the target", says in an error message what it is needed for."""
    if name not in frame.columns:
        raise TableError(
            f"The table has no column {name!r}{' ' * bool(what)}{what}.",
            hint=did_you_mean(name, frame.columns) or f"use one of {listed(frame.columns)}.",
        )
    return frame.columns[name]


def _is_class(target: Column, name: str) -> bool:
    """Return whether a column has a class in each row."""
    try:
        missing = missing_classes(factorized(target, name) if of_objects(target) else target, name)
    except TableError:
        return False
    return missing is None or not missing.any()


def target_of(y: Any) -> tuple[Column, str | None]:
    """Return the target as a column, and its name if it has one."""
    if is_sparse(y):
        raise TableError(
            "y must be a 1d array with one class for each row, not a sparse matrix.",
            hint="pass y.toarray().ravel().",
        )
    target, name = series_of(y)
    if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn("A column-vector y was passed when a 1d array was expected; y.ravel() is used.", DataConversionWarning)
        target = target.ravel()
    if isinstance(target, np.ndarray) and target.ndim != 1:
        raise TableError(f"y should be a 1d array, got an array of shape {target.shape} instead.")
    return target, name


def check_shape(n_columns: int, n_rows: int, target: Column, whole: bool = True) -> None:
    """Raise an error unless the table has columns, a target for each row and, if it is a whole table, rows."""
    if not n_columns:
        raise TableError(
            f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required.",
            hint="pass a table with at least one column besides the target.",
        )
    if n_rows == 0 and whole:
        raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
    if isinstance(target, np.ndarray) and target.ndim == 0:
        raise TableError(f"y must have the target of each of the {n_rows} rows; it is a single value.")
    if len(target) != n_rows:
        raise TableError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(target)}."
        )


def _numbers(target: Column, name: str) -> Floats:
    """Convert a numeric target, NaN where it is missing."""
    try:
        numbers = Numeric(name).encode(target).astype(np.float64)
    except SchemaError as error:
        hint = "use a classifier for a nominal target; use None or NaN for missing values."
        message = error.message.replace(" is numeric,", " must be numeric,")
        raise TableError(f"The target {message}", hint=hint, row=error.row) from None
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise TableError(
            f"Input y contains infinity: the target {name!r} is {numbers[row]} in row {row}.",
            hint="use a finite number, or NaN to skip the row.",
        )
    if len(numbers) and (largest := np.nanmax(np.abs(numbers), initial=0.0)) > _LARGEST_TARGET:
        row = int(np.nanargmax(np.abs(numbers)))
        raise TableError(
            f"The target {name!r} is {numbers[row]:g} in row {row}; the squares of numbers above {_LARGEST_TARGET:g} "
            "are not finite.",
            hint=f"divide the target by a constant, such as {largest:.0e}.",
        )
    return numbers


def _keep(
    frame: Frame, target: Column, name: str, weights: NDArray[Any] | None, whole: bool, missing: Flags | None
) -> Memory:
    """Keep the rows that have a target and a weight greater than 0."""
    left_out = 0 if missing is None else int(np.count_nonzero(missing))
    keep = ~missing if missing is not None and left_out else None
    if weights is not None and not weights.all():
        keep = weights != 0 if keep is None else keep & (weights != 0)
    if keep is None:
        return Memory(frame, target, name, weights, n_given=frame.n_rows)
    if whole and not keep.any():
        raise TableError(
            f"The target {name!r} is missing in every row"
            f"{'' if weights is None else ' with a weight greater than 0'}; there is nothing to learn from."
        )
    kept = None if weights is None else weights[keep]
    rows = np.flatnonzero(keep)
    return Memory(frame.take(keep), target[keep], name, kept, left_out, places=rows, n_given=frame.n_rows)
