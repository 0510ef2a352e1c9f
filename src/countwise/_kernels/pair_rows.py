"""What the kernels of distances are given: rows, and what two cells of theirs add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


class PairRows(NamedTuple):
    """Rows laid out for distances.

    numbers : float64 array (rows, numbers), C-contiguous
    codes : list of code arrays (rows,)
    """

    numbers: Floats
    codes: Sequence[Array]


class PairLaw(NamedTuple):
    """What two cells add to a distance.

    factors, absent : float64 array (numbers,)
        By what differences are multiplied, and what a missing number adds.
    tables : list of float, or float64 array (codes of queries, codes of rows)
        What codes add.
    known : int64 array (codes, 2)
        Codes of queries, and of rows, from this one on are missing; only looked at if there are shares.
    shares : float64 array (numbers + codes,) or None
        If given, cells that are missing on either side are ignored, and the sum is divided by the others' share.
    nothing : float
        The sum of rows that have no cell in common; only used if there are shares.
    p : float
        The power, or infinity.
    """

    factors: Floats
    absent: Floats
    tables: Sequence[Any]
    known: Array
    shares: Floats | None
    nothing: float
    p: float
