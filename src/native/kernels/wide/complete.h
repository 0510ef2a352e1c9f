// Which rows of a table have every cell.
#pragma once
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

constexpr size_t mark_rows = 256;  // enough of a column at a time for the processor to fetch ahead in it

// Which of n numbers are NaN, all in one: the numbers themselves are looked at only if this is not 0. There are at
// least as many of them as a vector has; the last vector may overlap the one before it.
template <class T>
COUNTWISE_INLINE vi nan_among(const T* x, size_t n) {
    vi found = splat_bits(0), also = splat_bits(0);  // two, because one would wait for itself
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

// Columns that are neighbors in a row-major matrix.
template <class T>
void mark_run(const Column& first, size_t count, size_t start, size_t n, int64_t* gap) {
    const char* at = first.data + static_cast<ptrdiff_t>(start) * first.stride;
    const auto row = [&](size_t r) {
        return reinterpret_cast<const T*>(at + static_cast<ptrdiff_t>(r) * first.stride);
    };
    vi found = splat_bits(0);
    for (size_t r = 0; r < n; ++r) found = found | nan_among(row(r), count);
    if (!any(found)) return;
    for (size_t r = 0; r < n; ++r) gap[r] |= any(nan_among(row(r), count));
}

template <class T>
void mark_column(const Column& column, size_t start, size_t n, int64_t* gap) {
    const char* at = column.data + static_cast<ptrdiff_t>(start) * column.stride;
    const bool vectors = column.stride == sizeof(T) && n >= lanes;
    if (vectors && !any(nan_among(reinterpret_cast<const T*>(at), n))) return;
    for (size_t r = 0; r < n; ++r, at += column.stride) {
        const T x = cell<T>(at);
        gap[r] |= x != x;
    }
}

template <class T>
size_t mark_columns_from(const Column* columns, size_t count, size_t start, size_t n, int64_t* gap) {
    const size_t run = neighbors(columns, count);
    if (run >= lanes) {
        mark_run<T>(*columns, run, start, n, gap);
        return run;
    }
    mark_column<T>(*columns, start, n, gap);
    return 1;
}

// Rows start .. start + n, at most mark_rows: 1 in `incomplete` (its first is row `start`) where a cell is NaN, else 0.
// Whether there are any such rows.
inline bool mark_incomplete(const Column* columns, size_t count, size_t start, size_t n, uint8_t* incomplete) {
    int64_t gap[mark_rows], some = 0;
    std::memset(gap, 0, n * sizeof *gap);
    for (size_t j = 0; j < count;) {
        if (columns[j].type == Type::f64) j += mark_columns_from<double>(columns + j, count - j, start, n, gap);
        else if (columns[j].type == Type::f32) j += mark_columns_from<float>(columns + j, count - j, start, n, gap);
        else ++j;
    }
    for (size_t r = 0; r < n; ++r) some |= gap[r], incomplete[r] = gap[r] != 0;
    return some != 0;
}

}  // namespace countwise::COUNTWISE_LEVEL
