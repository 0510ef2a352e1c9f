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

from countwise._kernels.reference.bins import (
    best_bins,
    bin_columns,
    branch_gains,
    count_entries,
    count_matrix,
    sum_entries,
)
from countwise._kernels.reference.columns import (
    encode_columns,
    factorize_objects,
    factorize_strings,
    find_infinity,
    float_is_integral,
    integer_domain,
    mark_columns,
)
from countwise._kernels.reference.cuts import cut_codes, kmeans_1d, mdl_cuts, merge_sets
from countwise._kernels.reference.gauss_transform import (
    gauss_expand,
    gauss_log_sums,
    gauss_loo_log_sums,
)
from countwise._kernels.reference.naive_bayes import (
    add_gaussian,
    add_lookup,
    add_poisson,
    argmax_rows,
    class_moments,
    count_codes,
    csr_add,
    csr_class_sums,
    gaussian_left_out,
    normalize,
    sum_log_share,
)
from countwise._kernels.reference.neighbors import edit_distances, nearest, pair_sums, row_tree
from countwise._kernels.reference.products import product_boxes, product_log_sums, product_order
from countwise._kernels.reference.scatter import add_linear, add_quadratic, class_scatter
from countwise._kernels.reference.selection import count_correct, count_families
from countwise._kernels.reference.tree_apply import apply_tests, route_entries
from countwise._kernels.reference.trees import best_thresholds, best_thresholds_of_numbers, partition_entries, presort

__all__ = [
    "add_gaussian",
    "add_linear",
    "add_lookup",
    "add_poisson",
    "add_quadratic",
    "apply_tests",
    "argmax_rows",
    "best_bins",
    "best_thresholds",
    "best_thresholds_of_numbers",
    "bin_columns",
    "branch_gains",
    "class_moments",
    "class_scatter",
    "count_codes",
    "count_correct",
    "count_entries",
    "count_families",
    "count_matrix",
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
    "gauss_loo_log_sums",
    "gaussian_left_out",
    "integer_domain",
    "kmeans_1d",
    "mark_columns",
    "mdl_cuts",
    "merge_sets",
    "nearest",
    "normalize",
    "pair_sums",
    "partition_entries",
    "presort",
    "product_boxes",
    "product_log_sums",
    "product_order",
    "route_entries",
    "row_tree",
    "sum_entries",
    "sum_log_share",
]
