"""Array types for annotations."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Flags", "Floats", "Indices", "Multiset"]

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]
Multiset: TypeAlias = tuple[Floats, NDArray[Any]]  # distinct values in ascending order, and their weights
