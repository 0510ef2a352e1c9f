"""Base class of learners that need the training rows themselves, not only tallies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise.base.model import Model, note_skipped, restore_on_error, rows_counted_from
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import refuse_infinity
from countwise.data.frames import Frame
from countwise.data.output import dense
from countwise.data.schema import Schema, field_types
from countwise.data.table import Table
from countwise.errors import CountwiseError
from countwise.sources import Memory, open_whole

__all__ = ["RowModel", "encode_finite"]

Result = TypeVar("Result")


def encode_finite(schema: Schema, frame: Frame, weights: Any = None, *, strict: bool = False) -> Table:
    """Encode the rows of a frame; an infinite number is an error."""
    table = schema.encode(frame, weights, strict=strict)
    refuse_infinity({a.name: table[a.name] for a in schema.attributes if isinstance(a, Numeric)})
    return table


class RowModel(Model):
    """Model that learns from rows.

    A learner implements `_check_settings`, `_learn` (returns all learned attributes), `_derive` (computes what
    depends on them) and, for model files, `_state` and `_revive`. A learner that can also learn from rows outside
    memory extends `_learn_from`.
    """

    target_: Any
    n_rows_: int
    n_left_out_: int
    n_features_in_: int
    _label_type: np.dtype[Any] | None
    _numbers: bool = False  # whether the target is numeric
    _block: int = 1 << 12  # rows predicted at a time

    # -- implemented by each learner ----------------------------------------------------

    def _check_settings(self) -> None:
        """Raise an error if a setting is invalid."""

    def _learn(self, rows: Memory) -> dict[str, Any]:
        """Return the learned attributes, including `schema_` and `target_`."""
        raise NotImplementedError

    def _derive(self) -> None:
        """Set the attributes that depend on the learned ones."""
        raise NotImplementedError

    def _state(self) -> dict[str, Any]:
        """Return the learned attributes as plain data, for the model file."""
        raise NotImplementedError

    def _revive(self, state: Mapping[str, Any]) -> None:
        """Restore the learned attributes from the data of `_state`."""
        raise NotImplementedError

    # -- learning -----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to training rows.

        A previous fit is discarded. Rows with a missing target are skipped, with a warning.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> weather = samples.load("weather")
        >>> model = NeighborsClassifier(3).fit(weather.frame, "play")
        >>> model.n_rows_, model.classes_.tolist()
        (14, ['no', 'yes'])
        """
        self._check_settings()
        with restore_on_error(self):
            found = self._learn_from(X, y, sample_weight)
            self._forget_all()
            vars(self).update(found)
            note_skipped(self.n_left_out_, self.n_left_out_ + self.n_rows_, self.target_.name)
            self._derive()
        return self

    def _learn_from(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Open the rows and return all learned attributes; an error names the row of the user's table."""
        rows = open_whole(
            dense(X), y, sample_weight, numbers=self._numbers, types=field_types(getattr(self, "types", None))
        )
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
        """Return the target attribute and its value in each row: a code, or a number."""
        if self._numbers:
            return Numeric(rows.name), np.asarray(rows.target, dtype=np.float64)
        target = Nominal(rows.name, grows=True).learn(rows.target, occurring=True)
        return target, target.encode(rows.target, strict=True)

    # -- predicting -----------------------------------------------------------------------

    def _open(self, X: Any) -> Frame:
        self._check_settings()  # some are used in predictions, and can be changed after fit
        return super()._open(dense(X))

    def _table(self, frame: Frame, start: int, stop: int) -> Table:
        """Encode the rows from `start` to `stop`; an error names the row of the whole frame."""
        with rows_counted_from(start):
            strict = getattr(self, "unseen", "ignore") == "error"
            return encode_finite(self.schema_, frame.slice(start, stop), strict=strict)

    def _in_blocks(self, X: Any, work: Callable[[Frame, int, int], Result], *, parallel: bool = True) -> list[Result]:
        """Return `work(frame, start, stop)` of each block of rows, in order.

        Set `parallel` to false if the work itself uses threads.
        """
        frame = self._open(X)
        if parallel:
            shown = progress.current()
            return _kernels.over_blocks(frame.n_rows, self._block, lambda a, b: work(frame, a, b), progress=shown)
        starts = range(0, frame.n_rows, self._block)
        return [work(frame, start, min(start + self._block, frame.n_rows)) for start in starts]
