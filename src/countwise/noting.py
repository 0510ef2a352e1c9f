"""What a user will want to know of what was learned."""

from __future__ import annotations

from countwise.attributes import Nominal
from countwise.errors import listed, warn
from countwise.fitting import Fitting
from countwise.schema import Schema

__all__ = ["Noting"]


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
