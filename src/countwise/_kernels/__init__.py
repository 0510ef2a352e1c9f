"""The numeric kernels: compiled code where there is a compiler, NumPy otherwise.

:mod:`countwise._kernels.reference` is the specification: every function is documented there, and the compiled
module has the same functions with the same signatures. Which of the two is in use is said by ``LEVEL``.

Environment variables
---------------------
COUNTWISE_KERNELS
    ``reference`` uses the NumPy functions, without a warning.
COUNTWISE_LEVEL
    ``v2``, ``v3`` or ``v4``: the x86-64 level to use; never above what the processor has.
COUNTWISE_THREADS
    How many threads to use.
"""
# ruff: noqa: F401, F403 -- all names of the reference are those of the kernels

import os
import warnings
from typing import TYPE_CHECKING, Any

from countwise._kernels.pair_rows import PairLaw as PairLaw
from countwise._kernels.pair_rows import PairRows as PairRows
from countwise._kernels.threads import over_blocks as over_blocks
from countwise._kernels.threads import over_items as over_items
from countwise._kernels.threads import thread_count as thread_count


def _choose() -> tuple[Any, str]:
    """The module to take the kernels from, and its level."""
    if os.environ.get("COUNTWISE_KERNELS", "") == "reference":
        from countwise._kernels import reference

        return reference, "reference"
    try:
        import countwise._kernels._native as _native
    except ImportError as reason:
        from countwise._kernels import reference
        from countwise.errors import SlowKernelsWarning

        warnings.warn(
            f"the compiled kernels are absent ({reason}); NumPy versions are used, with the same results "
            "but slower. Hint: install a C++ compiler and reinstall countwise, or set "
            "COUNTWISE_KERNELS=reference to silence this.",
            SlowKernelsWarning,
            stacklevel=2,
        )
        return reference, "reference"
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
    if LEVEL != "reference":  # one that is put together from several compiled steps
        from countwise._kernels.binning import bin_columns
