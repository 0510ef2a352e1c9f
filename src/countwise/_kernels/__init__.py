"""Numeric kernels: compiled C++ code if it is available, NumPy otherwise.

:mod:`countwise._kernels.reference` is the specification and documents every function. The compiled module has the
same functions with the same signatures. ``LEVEL`` reports which of the two is in use.

Environment variables
---------------------
COUNTWISE_KERNELS
    ``reference`` selects the NumPy functions, without a warning.
COUNTWISE_LEVEL
    ``v2``, ``v3`` or ``v4`` selects an x86-64 level. If the processor does not support it, the highest supported
    level is used.
COUNTWISE_THREADS
    Number of threads. By default it is the number of CPUs that the process may use (affinity and container quota).
OMP_NUM_THREADS
    Maximum number of threads if ``COUNTWISE_THREADS`` is not set; joblib sets it in its worker processes.
"""
# ruff: noqa: F401, F403 -- all names of the reference are those of the kernels

import os
import warnings
from typing import TYPE_CHECKING, Any

from countwise._kernels.pair_rows import PairMetric as PairMetric
from countwise._kernels.pair_rows import PairRows as PairRows
from countwise._kernels.threads import heed_threadpoolctl, use_kernels
from countwise._kernels.threads import over_blocks as over_blocks
from countwise._kernels.threads import over_items as over_items
from countwise._kernels.threads import thread_count as thread_count


def _choose() -> tuple[Any, str]:
    """Return the module that provides the kernels, and its level."""
    if os.environ.get("COUNTWISE_KERNELS", "") == "reference":
        from countwise._kernels import reference

        return reference, "reference"
    try:
        import countwise._kernels._native as _native
    except ImportError as reason:
        from countwise._kernels import reference
        from countwise.errors import SlowKernelsWarning

        warnings.warn(
            f"The compiled kernels are not available ({reason}). The NumPy versions give the same results but are "
            "slower. Hint: install a C++ compiler and reinstall countwise, or set COUNTWISE_KERNELS=reference "
            "to silence this warning.",
            SlowKernelsWarning,
            stacklevel=2,
        )
        return reference, "reference"
    use_kernels(_native)
    wanted = os.environ.get("COUNTWISE_LEVEL", "")
    if wanted:
        _native.set_level(wanted)
    return _native, _native.get_level()


if TYPE_CHECKING:
    from countwise._kernels.reference import *

    LEVEL = ""
else:
    _chosen, LEVEL = _choose()
    globals().update({name: kernel for name, kernel in vars(_chosen).items() if callable(kernel)})
    heed_threadpoolctl()
    if LEVEL != "reference":  # bin_columns combines several compiled steps
        from countwise._kernels.binning import bin_columns
