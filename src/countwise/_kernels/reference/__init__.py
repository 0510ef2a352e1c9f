"""NumPy kernels: the specification of the compiled kernels, and the fallback if these are not available.

Terms used below
----------------
column
    A 1-D array of any stride: float64, float32, bool, or an integer type. NaN is a missing value.
codes
    A 1-D array of any stride: uint8, uint16 or uint32.
out
    A C-contiguous float64 array (rows, classes) that is updated in place.

Inconsistent shapes raise ValueError, types that are not listed raise TypeError.
"""
# ruff: noqa: F403 -- each module names its kernels in its __all__

from countwise._kernels.reference.bins import *
from countwise._kernels.reference.columns import *
from countwise._kernels.reference.cuts import *
from countwise._kernels.reference.gauss_transform import *
from countwise._kernels.reference.naive_bayes import *
from countwise._kernels.reference.neighbors import *
from countwise._kernels.reference.products import *
from countwise._kernels.reference.scatter import *
from countwise._kernels.reference.selection import *
from countwise._kernels.reference.trees import *
