// One step down a tree, for any column; shared by the kernels that apply tests.
#pragma once
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

COUNTWISE_INLINE const char* place_of(const Column& column, size_t row) {
    return column.data + static_cast<ptrdiff_t>(row) * column.stride;
}

COUNTWISE_INLINE double number_at(const Column& column, size_t row) {
    const char* at = place_of(column, row);
    return with_type(column.type, [&](auto zero) { return static_cast<double>(cell<decltype(zero)>(at)); });
}

// Counts how many of n >= 1 ascending limits are below x.
COUNTWISE_INLINE size_t limits_below(const double* limits, size_t n, double x) {
    const double* at = limits;
    if (n <= 8) {
        size_t below = 0;
        for (size_t i = 0; i < n; ++i) below += limits[i] < x;
        return below;
    }
    while (n > 1) {
        const size_t half = n / 2;
        at += half & (size_t{0} - (at[half - 1] < x));  // no branch, which would be mispredicted half of the time
        n -= half;
    }
    return static_cast<size_t>(at - limits) + (*at < x);
}

COUNTWISE_INLINE void fetch(const char* at) { __builtin_prefetch(at); }

// Rows and the nodes at which they start; the pointers may be null.
struct RowStarts {
    const uint32_t* rows;
    const int32_t* start;
    size_t n;

    COUNTWISE_INLINE size_t row(size_t i) const { return rows ? rows[i] : i; }
    COUNTWISE_INLINE int32_t start_of(size_t i) const { return start ? start[i] : 0; }
};

// Finds the columns that the tests use, or none if these are too many (over group_columns) to be prefetched. Returns
// their number.
size_t used_columns(const Column* columns, size_t n_columns, const Tests& tests, Column* used);
// Returns one of the columns if all inner nodes have one limit and use float columns of one type and one stride.
const Column* one_kind_of_float(const Column* columns, const Tests& tests);
// apply_tests for such a tree, given that column.
void walk_floats(const Column* columns, size_t n_columns, const Column& first, const RowStarts& rows,
                 const Tests& tests, const int32_t* children, int32_t* out);

}  // namespace countwise::COUNTWISE_LEVEL
