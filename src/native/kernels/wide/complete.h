// Finds the rows of a table without missing values.
#pragma once
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

constexpr size_t mark_rows = 256;  // long enough for the hardware prefetcher

// Whether any of n numbers is NaN, as one combined vector; the numbers are tested individually only if it is not 0. n
// is at least the length of a vector; the last vector may overlap the previous one.
template <class T>
COUNTWISE_INLINE vi nan_among(const T* x, size_t n) {
    vi found = splat_bits(0), also = splat_bits(0);  // two, because one would wait for its last result
    size_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
        const vd a = load(x + i), b = load(x + i + lanes);
        found = found | (a != a);
        also = also | (b != b);
    }
    for (; i < n; i += lanes) {
        const vd a = load(x + smaller(i, n - lanes));
        found = found | (a != a);
    }
    return found | also;
}

// Columns that are adjacent in a row-major matrix.
template <class T>
void mark_run(const Column& first, size_t count, size_t start, size_t n, int64_t* missing) {
    const char* at = first.data + static_cast<ptrdiff_t>(start) * first.stride;
    const auto row = [&](size_t r) {
        return reinterpret_cast<const T*>(at + static_cast<ptrdiff_t>(r) * first.stride);
    };
    vi found = splat_bits(0);
    for (size_t r = 0; r < n; ++r) found = found | nan_among(row(r), count);
    if (!any(found)) return;
    for (size_t r = 0; r < n; ++r) missing[r] |= any(nan_among(row(r), count));
}

template <class T>
void mark_column(const Column& column, size_t start, size_t n, int64_t* missing) {
    const char* at = column.data + static_cast<ptrdiff_t>(start) * column.stride;
    const bool vectors = column.stride == sizeof(T) && n >= lanes;
    if (vectors && !any(nan_among(reinterpret_cast<const T*>(at), n))) return;
    for (size_t r = 0; r < n; ++r, at += column.stride) {
        const T x = cell<T>(at);
        missing[r] |= x != x;
    }
}

template <class T>
size_t mark_columns_from(const Column* columns, size_t count, size_t start, size_t n, int64_t* missing) {
    const size_t run = neighbors(columns, count);
    if (run >= lanes) {
        mark_run<T>(*columns, run, start, n, missing);
        return run;
    }
    mark_column<T>(*columns, start, n, missing);
    return 1;
}

// Sets `incomplete` (whose first element is row `start`) to 1 for rows with a NaN and to 0 for others, for rows start
// .. start + n, at most mark_rows. Returns whether there are any incomplete rows.
inline bool mark_incomplete(const Column* columns, size_t count, size_t start, size_t n, uint8_t* incomplete) {
    int64_t missing[mark_rows], some = 0;
    std::memset(missing, 0, n * sizeof *missing);
    for (size_t j = 0; j < count;) {
        if (columns[j].type == Type::f64) j += mark_columns_from<double>(columns + j, count - j, start, n, missing);
        else if (columns[j].type == Type::f32) j += mark_columns_from<float>(columns + j, count - j, start, n, missing);
        else ++j;
    }
    for (size_t r = 0; r < n; ++r) some |= missing[r], incomplete[r] = missing[r] != 0;
    return some != 0;
}

}  // namespace countwise::COUNTWISE_LEVEL
