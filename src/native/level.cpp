// The table of one level's kernels.
#include "levels.h"

namespace countwise::COUNTWISE_LEVEL {

extern const Kernels kernels;
const Kernels kernels = {
    COUNTWISE_LEVEL_NAME,
    class_moments,
    count_codes,
    count_codes_integer,
    count_codes_float,
    add_lookup,
    add_gaussian,
    add_poisson,
    normalize,
    argmax_rows,
    csr_class_sums,
    csr_add,
    is_integral,
    integer_range,
    integer_marks,
    integer_values,
    find_infinity,
    mark_columns,
    encode_columns,
    gauss_log_sums_exact,
    gauss_expand,
    gauss_log_sums,
    gauss_loo_log_sums,
    merge_sets,
    merge_weights,
    class_totals,
    class_marks,
    counts_before,
    best_cut,
    cut_codes,
    count_right,
    pair_counts,
    kmeans_1d,
    gaussian_left_out,
    product_log_sums,
    sum_log_share,
    class_scatter,
    add_quadratic,
    add_linear,
    presort,
    part_room,
    part_segments,
    best_thresholds,
    best_thresholds_of_numbers,
};

}  // namespace countwise::COUNTWISE_LEVEL
