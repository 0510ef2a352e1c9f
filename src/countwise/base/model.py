"""What everything that is fitted has in common, whatever it learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.base.protocol import Estimator, refuse_unfitted
from countwise.data.attributes import Nominal
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.errors import listed, warn

__all__ = ["Fitting", "Noting"]


class Fitting(Estimator):
    """Settings by name, the columns met in training, and a refusal to answer before that."""

    def _check_fitted(self, *, answers: bool = True) -> None:
        """Refuse to answer before there is anything to answer from."""
        refuse_unfitted(self)

    @staticmethod
    def _names(frame: Frame) -> dict[str, Any]:
        """The columns as scikit-learn counts and names them."""
        sizes = [c.shape[1] if getattr(c, "ndim", 1) == 2 else 1 for c in frame.columns.values()]
        found: dict[str, Any] = {"n_features_in_": int(sum(sizes))}
        if frame.named:
            found["feature_names_in_"] = np.array(frame.names, dtype=object)
        return found

    def _take_over(self, found: dict[str, Any], left_out: int, name: str) -> None:
        """Forget what was learned before, and keep what was found instead."""
        for old in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, old)
        vars(self).update(found)
        self._note_left_out(left_out, left_out + found["n_rows_"], name)

    @staticmethod
    def _note_left_out(left_out: int, of: int, name: str) -> None:
        if left_out:
            warn(f"{left_out} of {of} rows were left out: their target {name!r} is missing.")


class Noting(Fitting):
    """Notes about columns that look like something else than they were taken for."""

    schema_: Schema
    target_: Nominal
    n_rows_: int

    def _note_identifiers(self) -> None:
        looks = [
            a.name
            for a in self.schema_.attributes
            if isinstance(a, Nominal) and a.grows and not a.fixed
            if self.n_rows_ >= 100 and len(a.values) > 0.9 * self.n_rows_
        ]
        if looks:
            warn(
                f"{listed(looks)} look{'s' * (len(looks) == 1)} like an identifier: "
                "nearly every row has its own value. Hint: leave the column out, or declare it as text."
            )

    def _note_many_classes(self) -> None:
        values = self.target_.values
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        if numbers and self.n_rows_ >= 100 and len(values) > max(20, 0.1 * self.n_rows_):
            warn(
                f"The target {self.target_.name!r} has {len(values)} different numbers in {self.n_rows_} rows, "
                "and each is taken for a class. Hint: cut a number into ranges first, or use what takes numbers."
            )
