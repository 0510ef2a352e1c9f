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

import os
import warnings
from typing import TYPE_CHECKING, Any

from countwise._kernels.pair_rows import PairLaw, PairRows
from countwise._kernels.threads import over_blocks, over_items, thread_count

__all__ = [
    "LEVEL",
    "PairLaw",
    "PairRows",
    "add_gaussian",
    "add_linear",
    "add_lookup",
    "add_poisson",
    "add_quadratic",
    "apply_tests",
    "argmax_rows",
    "best_bins",
    "best_cut",
    "best_thresholds",
    "best_thresholds_of_numbers",
    "bin_columns",
    "branch_gains",
    "class_moments",
    "class_scatter",
    "count_codes",
    "count_entries",
    "count_families",
    "count_matrix",
    "count_right",
    "csr_add",
    "csr_class_sums",
    "cut_codes",
    "edit_distances",
    "encode_columns",
    "factorize_objects",
    "factorize_strings",
    "find_infinity",
    "float_is_integral",
    "gauss_expand",
    "gauss_log_sums",
    "gauss_log_sums_exact",
    "gauss_loo_log_sums",
    "gaussian_left_out",
    "integer_domain",
    "kmeans_1d",
    "mark_columns",
    "mdl_cuts",
    "merge_sets",
    "nearest",
    "normalize",
    "over_blocks",
    "over_items",
    "pair_counts",
    "pair_sums",
    "part_entries",
    "plant",
    "presort",
    "product_boxes",
    "product_log_sums",
    "product_order",
    "route_entries",
    "sum_entries",
    "sum_log_share",
    "thread_count",
]


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
    from countwise._kernels import reference as _chosen

    LEVEL = ""
else:
    _chosen, LEVEL = _choose()

# Assigned one by one, so that type checkers and readers see every name.
add_gaussian = _chosen.add_gaussian
add_linear = _chosen.add_linear
add_lookup = _chosen.add_lookup
add_poisson = _chosen.add_poisson
add_quadratic = _chosen.add_quadratic
apply_tests = _chosen.apply_tests
argmax_rows = _chosen.argmax_rows
best_bins = _chosen.best_bins
best_cut = _chosen.best_cut
best_thresholds = _chosen.best_thresholds
best_thresholds_of_numbers = _chosen.best_thresholds_of_numbers
if LEVEL == "reference":
    bin_columns = _chosen.bin_columns
else:
    from countwise._kernels.binning import bin_columns
branch_gains = _chosen.branch_gains
class_moments = _chosen.class_moments
class_scatter = _chosen.class_scatter
count_codes = _chosen.count_codes
count_entries = _chosen.count_entries
count_families = _chosen.count_families
count_matrix = _chosen.count_matrix
count_right = _chosen.count_right
csr_add = _chosen.csr_add
csr_class_sums = _chosen.csr_class_sums
cut_codes = _chosen.cut_codes
edit_distances = _chosen.edit_distances
encode_columns = _chosen.encode_columns
factorize_objects = _chosen.factorize_objects
factorize_strings = _chosen.factorize_strings
find_infinity = _chosen.find_infinity
float_is_integral = _chosen.float_is_integral
gauss_expand = _chosen.gauss_expand
gauss_log_sums = _chosen.gauss_log_sums
gauss_log_sums_exact = _chosen.gauss_log_sums_exact
gauss_loo_log_sums = _chosen.gauss_loo_log_sums
gaussian_left_out = _chosen.gaussian_left_out
integer_domain = _chosen.integer_domain
kmeans_1d = _chosen.kmeans_1d
mark_columns = _chosen.mark_columns
mdl_cuts = _chosen.mdl_cuts
merge_sets = _chosen.merge_sets
nearest = _chosen.nearest
normalize = _chosen.normalize
pair_counts = _chosen.pair_counts
pair_sums = _chosen.pair_sums
part_entries = _chosen.part_entries
plant = _chosen.plant
presort = _chosen.presort
product_boxes = _chosen.product_boxes
product_log_sums = _chosen.product_log_sums
product_order = _chosen.product_order
route_entries = _chosen.route_entries
sum_entries = _chosen.sum_entries
sum_log_share = _chosen.sum_log_share
