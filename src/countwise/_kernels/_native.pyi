# The compiled kernels have the signatures of the reference, where they are documented.
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._kernels.reference import (
    add_gaussian as add_gaussian,
)
from countwise._kernels.reference import (
    add_linear as add_linear,
)
from countwise._kernels.reference import (
    add_lookup as add_lookup,
)
from countwise._kernels.reference import (
    add_poisson as add_poisson,
)
from countwise._kernels.reference import (
    add_quadratic as add_quadratic,
)
from countwise._kernels.reference import (
    apply_tests as apply_tests,
)
from countwise._kernels.reference import (
    argmax_rows as argmax_rows,
)
from countwise._kernels.reference import (
    best_bins as best_bins,
)
from countwise._kernels.reference import (
    best_cut as best_cut,
)
from countwise._kernels.reference import (
    best_thresholds as best_thresholds,
)
from countwise._kernels.reference import (
    best_thresholds_of_numbers as best_thresholds_of_numbers,
)
from countwise._kernels.reference import (
    branch_gains as branch_gains,
)
from countwise._kernels.reference import (
    class_moments as class_moments,
)
from countwise._kernels.reference import (
    class_scatter as class_scatter,
)
from countwise._kernels.reference import (
    count_codes as count_codes,
)
from countwise._kernels.reference import (
    count_entries as count_entries,
)
from countwise._kernels.reference import (
    count_families as count_families,
)
from countwise._kernels.reference import (
    count_matrix as count_matrix,
)
from countwise._kernels.reference import (
    count_right as count_right,
)
from countwise._kernels.reference import (
    csr_add as csr_add,
)
from countwise._kernels.reference import (
    csr_class_sums as csr_class_sums,
)
from countwise._kernels.reference import (
    cut_codes as cut_codes,
)
from countwise._kernels.reference import (
    edit_distances as edit_distances,
)
from countwise._kernels.reference import (
    encode_columns as encode_columns,
)
from countwise._kernels.reference import (
    factorize_objects as factorize_objects,
)
from countwise._kernels.reference import (
    factorize_strings as factorize_strings,
)
from countwise._kernels.reference import (
    find_infinity as find_infinity,
)
from countwise._kernels.reference import (
    float_is_integral as float_is_integral,
)
from countwise._kernels.reference import (
    gauss_expand as gauss_expand,
)
from countwise._kernels.reference import (
    gauss_log_sums as gauss_log_sums,
)
from countwise._kernels.reference import (
    gauss_log_sums_exact as gauss_log_sums_exact,
)
from countwise._kernels.reference import (
    gauss_loo_log_sums as gauss_loo_log_sums,
)
from countwise._kernels.reference import (
    gaussian_left_out as gaussian_left_out,
)
from countwise._kernels.reference import (
    integer_domain as integer_domain,
)
from countwise._kernels.reference import (
    kmeans_1d as kmeans_1d,
)
from countwise._kernels.reference import (
    mark_columns as mark_columns,
)
from countwise._kernels.reference import (
    mdl_cuts as mdl_cuts,
)
from countwise._kernels.reference import (
    merge_sets as merge_sets,
)
from countwise._kernels.reference import (
    nearest as nearest,
)
from countwise._kernels.reference import (
    normalize as normalize,
)
from countwise._kernels.reference import (
    pair_counts as pair_counts,
)
from countwise._kernels.reference import (
    pair_sums as pair_sums,
)
from countwise._kernels.reference import (
    part_entries as part_entries,
)
from countwise._kernels.reference import (
    plant as plant,
)
from countwise._kernels.reference import (
    presort as presort,
)
from countwise._kernels.reference import (
    product_boxes as product_boxes,
)
from countwise._kernels.reference import (
    product_log_sums as product_log_sums,
)
from countwise._kernels.reference import (
    product_order as product_order,
)
from countwise._kernels.reference import (
    route_entries as route_entries,
)
from countwise._kernels.reference import (
    sum_entries as sum_entries,
)
from countwise._kernels.reference import (
    sum_log_share as sum_log_share,
)

def get_level() -> str: ...
def set_level(wanted: str) -> None: ...
def levels() -> list[str]: ...

# The steps of countwise._kernels.binning.
def few_values(columns: Sequence[NDArray[Any]], limit: int) -> list[NDArray[np.float64] | None]: ...
def bin_counts(
    columns: Sequence[NDArray[Any]],
    weights: NDArray[np.float64] | None,
    ranges: NDArray[np.float64],
    cells: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    sums: NDArray[np.float64],
) -> None: ...
def bin_collect(
    columns: Sequence[NDArray[Any]],
    weights: NDArray[np.float64] | None,
    ranges: NDArray[np.float64],
    cells: NDArray[np.uint32],
    words: NDArray[np.uint16],
    slots: NDArray[np.uint16],
    wanted: NDArray[np.uint8],
    common: NDArray[np.float64],
    rooms: list[int],
    codes: list[NDArray[np.uint8]],
) -> tuple[
    list[tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.float64]] | None],
    NDArray[np.float64],
    NDArray[np.float64],
]: ...
def bin_amend(
    values: NDArray[np.float64],
    rows: NDArray[np.uint32],
    edges: NDArray[np.float64],
    steps: int,
    codes: NDArray[np.uint8],
) -> None: ...
def bin_codes(
    columns: Sequence[NDArray[Any]],
    ranges: NDArray[np.float64],
    cells: NDArray[np.uint32],
    words: NDArray[np.uint16],
    edges: NDArray[np.float64],
    steps: list[int],
    codes: list[NDArray[np.uint8]],
) -> None: ...
