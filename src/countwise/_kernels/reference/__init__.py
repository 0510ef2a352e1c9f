"""The kernels in NumPy: their specification, and what runs where no compiler was found.

Words used below
----------------
column
    A 1-D array of any stride: float64, float32, bool, or an integer of any width. NaN is a missing cell.
codes
    A 1-D array of any stride: uint8, uint16 or uint32.
out
    A C-contiguous float64 array (rows, classes) that is added to in place.

Shapes that disagree raise ValueError, types that are not listed TypeError.
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
