"""What everything that is fitted has in common, whatever it learns."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from countwise.errors import warn
from countwise.frames import Frame

__all__ = ["Fitting"]


class Fitting:
    """Settings by name, the columns met in training, and a refusal to answer before that."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in list(signature(type(self).__init__).parameters)[1:]}

    def _check_fitted(self, *, answers: bool = True) -> None:
        """Refuse to answer before there is anything to answer from."""
        if not hasattr(self, "schema_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
            )

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
