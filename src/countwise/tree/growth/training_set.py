"""What a tree is grown from, wherever the rows are: in memory, in the pieces of a file, or in an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.tree.features import Feature
from countwise.tree.growth.counted_column import CountedColumn
from countwise.tree.growth.settings import GrowthSettings
from countwise.tree.growth.splits import Threshold
from countwise.tree.nodes import Tree

__all__ = ["ClassFactors", "TrainingSet", "counted_columns"]

ClassFactors = Callable[[Floats, Nominal], Floats]  # the weights of classes, from their counts


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingSet:
    """Rows to grow a tree from.

    Parameters
    ----------
    schema : Schema
        The attributes with their domains.
    features : sequence of Feature
        What a node may test.
    target : Nominal or Numeric
        The target.
    frame : Frame
        Columns as the user gave them, possibly without rows.
    n_rows, n_left_out : int
        How many rows there are to learn from, and how many had no target.
    label_type : dtype or None
        The dtype of the user's classes.
    """

    schema: Schema
    features: Sequence[Feature]
    target: Nominal | Numeric
    frame: Frame
    n_rows: int
    n_left_out: int = 0
    label_type: np.dtype[Any] | None = None

    @property
    def n_classes(self) -> int:
        """How many classes there are; 0 for a numeric target."""
        return len(self.target.values) if isinstance(self.target, Nominal) else 0

    def grow(self, settings: GrowthSettings) -> Tree:
        """A tree of all rows."""
        raise NotImplementedError


def counted_columns(
    features: Sequence[Feature],
    settings: GrowthSettings,
    edges: Mapping[str, Floats],
    has_missing: Mapping[str, bool],
) -> list[CountedColumn]:
    """The columns that are counted where the rows are; they hold no codes.

    Parameters
    ----------
    features : sequence of Feature
        All attributes.
    settings : GrowthSettings
        How to grow.
    edges : mapping of str to ndarray
        Of each numeric attribute, the edges of its bins.
    has_missing : mapping of str to bool
        Whether an attribute has missing values.
    """
    none, found = np.empty(0, dtype=np.uint8), []
    for j, f in enumerate(features):
        missing = has_missing[f.column]
        if isinstance(f.attribute, Numeric):
            cuts = edges[f.column]
            found.append(CountedColumn(j, none, len(cuts) + 1, Threshold(), cuts, missing))
        elif len(f.attribute.values) > 1:
            found.append(CountedColumn(j, none, len(f.attribute.values), settings.strategy(f), has_missing=missing))
    return found
