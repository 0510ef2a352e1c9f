"""Arguments of the distance kernels: rows, and the metric between two rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


class PairRows(NamedTuple):
    """Rows in the layout of the distance kernels.

    numbers : float64 array (rows, numeric attributes), C-contiguous
    codes : list of code arrays (rows,), one for each nominal attribute
    """

    numbers: Floats
    codes: Sequence[Array]


class PairMetric(NamedTuple):
    """Contribution of each attribute to the distance between two rows.

    factors : float64 array (numeric attributes,)
        Factors that differences are multiplied by.
    missing_costs : float64 array (numeric attributes,)
        Contributions of a missing number.
    tables : list of float, or float64 array (codes of queries, codes of rows)
        Contributions of a pair of codes; a float is the contribution of two codes that differ.
    known : int64 array (nominal attributes, 2)
        Number of known codes of queries, and of rows; higher codes are missing values. Only used with `weights`.
    weights : float64 array (attributes,) or None
        If given, attributes that are missing in either row are ignored, and the sum is divided by the proportion of
        the total weight that the other attributes have.
    no_overlap : float
        Sum for two rows without a common non-missing attribute. Only used with `weights`.
    p : float
        Power of the Minkowski distance; may be infinity.
    """

    factors: Floats
    missing_costs: Floats
    tables: Sequence[Any]
    known: Array
    weights: Floats | None
    no_overlap: float
    p: float
