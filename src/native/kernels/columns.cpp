// Kernels on many columns at once, in tiles of rows, so that a row-major matrix is read only once.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr uint64_t nowhere = UINT64_MAX;

// The indices of a tile's values in a table that begins at `low`: `missing` for a missing value, and an index beyond
// any table for a non-integer.
template <class T, class Put>
COUNTWISE_INLINE void each_place(Column column, size_t start, size_t n, int64_t low, uint64_t missing, Put put) {
    const char* at = column.data + static_cast<ptrdiff_t>(start) * column.stride;
    for (size_t i = 0; i < n; ++i, at += column.stride) {
        const T x = cell<T>(at);
        if constexpr (T(0.5) != T(0)) {
            const bool near = std::fabs(x) < T(4503599627370496.0);  // 2**52
            const int64_t whole = near ? static_cast<int64_t>(x) : 0;
            const bool good = near & (static_cast<T>(whole) == x);
            const uint64_t place = static_cast<uint64_t>(whole) - static_cast<uint64_t>(low);
            put(i, x != x ? missing : good & (place != missing) ? place : nowhere);
        } else {
            const bool wraps = sizeof(T) == 8 && T(-1) > T(0) && static_cast<int64_t>(x) < 0;
            const uint64_t place = static_cast<uint64_t>(static_cast<int64_t>(x)) - static_cast<uint64_t>(low);
            put(i, wraps | (place == missing) ? nowhere : place);
        }
    }
}

template <class Put>
COUNTWISE_INLINE void places(Column column, size_t start, size_t n, int64_t low, uint64_t missing, Put put) {
    with_type(column.type, [&](auto zero) { each_place<decltype(zero)>(column, start, n, low, missing, put); });
}

template <class Code>
void encode_cells(Column column, size_t start, size_t n, const CodeTable& table, void* codes) {
    const Code* lookup = static_cast<const Code*>(table.lookup);
    Code* to = static_cast<Code*>(codes) + start;
    const Code other = static_cast<Code>(table.other);
    const uint64_t size = table.n;
    places(column, start, n, table.low, size - 1,
           [=](size_t i, uint64_t place) { to[i] = place < size ? lookup[place] : other; });
}

template <class T>
COUNTWISE_INLINE bool any_infinite(const char* at, size_t n) {
    const T* x = reinterpret_cast<const T*>(at);
    int found = 0;
    for (size_t i = 0; i < n; ++i) found |= std::fabs(x[i]) == static_cast<T>(INFINITY);
    return found;
}

bool tile_infinite(const Column* columns, size_t run, size_t start, size_t n) {
    const Column& first = columns[0];
    const char* at = first.data + static_cast<ptrdiff_t>(start) * first.stride;
    const bool wide = first.type == Type::f64;
    const size_t width = wide ? 8 : 4;
    if (reinterpret_cast<std::uintptr_t>(at) % width == 0 && first.stride % static_cast<ptrdiff_t>(width) == 0) {
        if (run == 1 && first.stride == static_cast<ptrdiff_t>(width))
            return wide ? any_infinite<double>(at, n) : any_infinite<float>(at, n);
        if (run > 1) {
            bool found = false;
            for (size_t r = 0; r < n; ++r, at += first.stride)
                found |= wide ? any_infinite<double>(at, run) : any_infinite<float>(at, run);
            return found;
        }
    }
    double x[tile_rows];
    bool found = false;
    for (size_t j = 0; j < run; ++j) {
        convert(columns[j], start, n, x);
        found |= any_infinite<double>(reinterpret_cast<const char*>(x), n);
    }
    return found;
}

// Prefetches the memory of the next tile: the hardware prefetcher does not follow a stride over many columns.
COUNTWISE_INLINE void fetch_next(const Column* columns, size_t n_columns, size_t start, size_t rows) {
    const size_t run = neighbors(columns, n_columns);
    if (run < 2 || columns[0].stride <= 0 || start >= rows) return;
    const char* at = columns[0].data + static_cast<ptrdiff_t>(start) * columns[0].stride;
    const ptrdiff_t bytes = static_cast<ptrdiff_t>(smaller(tile_rows, rows - start)) * columns[0].stride;
    if (bytes > 1 << 16) return;  // more than fits in the L1 cache
    for (ptrdiff_t b = 0; b < bytes; b += 64) __builtin_prefetch(at + b);
}

}  // namespace

bool find_infinity(const Column* columns, size_t n_columns, size_t rows, size_t* column, size_t* row) {
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * n_columns);
        for (size_t j = 0; j < n_columns;) {
            const size_t run = neighbors(columns + j, n_columns - j);
            if (is_float(columns[j].type) && tile_infinite(columns + j, run, start, n)) {
                double x[tile_rows];
                for (size_t k = j; k < j + run; ++k) {
                    convert(columns[k], start, n, x);
                    for (size_t i = 0; i < n; ++i)
                        if (std::fabs(x[i]) == INFINITY) {
                            *column = k, *row = start + i;
                            return true;
                        }
                }
            }
            j += run;
        }
    }
    return false;
}

void mark_columns(const Column* columns, size_t n_columns, size_t rows, int64_t low, size_t span, uint8_t* marks,
                  uint8_t* outside) {
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * n_columns);
        fetch_next(columns, n_columns, start + n, rows);
        for (size_t j = 0; j < n_columns; ++j) {
            uint8_t* mark = marks + j * (span + 1);  // the last one is for missing values
            uint8_t far = 0;
            places(columns[j], start, n, low, span, [&](size_t, uint64_t place) {
                if (place <= span) mark[place] = 1;
                else far = 1;
            });
            outside[j] |= far;
        }
    }
}

void encode_columns(const Column* columns, size_t n_columns, size_t rows, const CodeTable* tables, void* const* codes) {
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * n_columns);
        fetch_next(columns, n_columns, start + n, rows);
        for (size_t j = 0; j < n_columns; ++j)
            with_code_type(tables[j].type,
                           [&](auto zero) { encode_cells<decltype(zero)>(columns[j], start, n, tables[j], codes[j]); });
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
