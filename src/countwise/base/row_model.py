"""The base of learners that need the rows themselves: one `fit`, and one door for the rows of a prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise.base.model import Model, note_left_out, restore_on_error, rows_counted_from
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import refuse_infinity
from countwise.data.frames import Frame
from countwise.data.output import dense
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import CountwiseError
from countwise.sources import Memory, open_whole

__all__ = ["RowModel", "encode_finite"]

Result = TypeVar("Result")


def encode_finite(schema: Schema, frame: Frame, weights: Any = None, *, strict: bool = False) -> Table:
    """The rows of a frame encoded; an infinite number is an error."""
    table = schema.encode(frame, weights, strict=strict)
    refuse_infinity({a.name: table[a.name] for a in schema.attributes if isinstance(a, Numeric)})
    return table


class RowModel(Model):
    """A model that needs rows to learn from.

    A learner writes `_check_settings`, `_learn` (all learned attributes from the rows), `_derive` (what follows from
    them) and, for model files, `_state` and `_revive`. One that also learns from rows outside memory extends
    `_learn_from`.
    """

    target_: Any
    n_rows_: int
    n_left_out_: int
    n_features_in_: int
    _label_type: np.dtype[Any] | None
    _numbers: bool = False  # whether the target is numeric
    _block: int = 1 << 12  # rows of a prediction at a time

    # -- to be written by each learner ------------------------------------------------

    def _check_settings(self) -> None:
        """Refuse settings that have no meaning."""

    def _learn(self, rows: Memory) -> dict[str, Any]:
        """The learned attributes, `schema_` and `target_` among them."""
        raise NotImplementedError

    def _derive(self) -> None:
        """Set what follows from the learned attributes."""
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        """The learned attributes as plain data, for the model file."""
        raise NotImplementedError

    def _revive(self, state: Mapping[str, Any]) -> None:
        """Take over what `_state` wrote."""
        raise NotImplementedError

    # -- learning -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows of a table."""
        self._check_settings()
        with restore_on_error(self):
            found = self._learn_from(X, y, sample_weight)
            self._forget_all()
            vars(self).update(found)
            note_left_out(self.n_left_out_, self.n_left_out_ + self.n_rows_, self.target_.name)
            self._derive()
        return self

    def _learn_from(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """All learned attributes, from the rows opened once; an error names the user's own row."""
        rows = open_whole(dense(X), y, sample_weight, numbers=self._numbers)
        try:
            found = self._learn(rows)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None
        return {
            "n_rows_": rows.frame.n_rows,
            "n_left_out_": rows.left_out,
            "_label_type": rows.label_type,
            **self._names(rows.frame),
            **found,
        }

    def _encode_target(self, rows: Memory) -> tuple[Any, NDArray[Any]]:
        """The target attribute and its value in each row: a code, or a number."""
        if self._numbers:
            return Numeric(rows.name), np.asarray(rows.target, dtype=np.float64)
        target = Nominal(rows.name, grows=True).learn(rows.target)
        return target, target.encode(rows.target, strict=True)

    # -- predicting -----------------------------------------------------------------------

    def _open(self, X: Any) -> Frame:
        return super()._open(dense(X))

    def _table(self, frame: Frame, start: int, stop: int) -> Table:
        """Rows start to stop encoded; an error names the row of the whole frame."""
        with rows_counted_from(start):
            strict = getattr(self, "unseen", "ignore") == "error"
            return encode_finite(self.schema_, frame.slice(start, stop), strict=strict)

    def _in_blocks(self, X: Any, work: Callable[[Frame, int, int], Result], *, parallel: bool = True) -> list[Result]:
        """`work(frame, start, stop)` of each block of rows, in order; not in parallel if the work itself is."""
        frame = self._open(X)
        if parallel:
            shown = progress.current()
            return _kernels.over_blocks(frame.n_rows, self._block, lambda a, b: work(frame, a, b), progress=shown)
        starts = range(0, frame.n_rows, self._block)
        return [work(frame, start, min(start + self._block, frame.n_rows)) for start in starts]
