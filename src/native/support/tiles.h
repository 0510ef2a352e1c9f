// Tiles: a few rows of some columns as doubles, which fit in the L1 cache.
#pragma once
#include "simd.h"

namespace countwise::COUNTWISE_LEVEL {

constexpr size_t tile_rows = 64;
constexpr double tie = 1e-12;  // scores of a row that differ by less are equal; TIE in countwise/_kernels/ties.py
constexpr size_t group_columns = 32;  // 32 columns x 64 rows x 8 bytes = 16 KB, half of a small L1 cache

template <class T>
COUNTWISE_INLINE T cell(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class From, class To>
COUNTWISE_INLINE void convert_cells(Column column, size_t start, size_t n, To* to) {
    const char* from = column.data + static_cast<ptrdiff_t>(start) * column.stride;
    if (column.stride == sizeof(From)) {
        for (size_t i = 0; i < n; ++i) to[i] = static_cast<To>(cell<From>(from + i * sizeof(From)));
    } else {
        for (size_t i = 0; i < n; ++i, from += column.stride) to[i] = static_cast<To>(cell<From>(from));
    }
}

// Calls use(zero) with a zero of the column's element type.
template <class Use>
COUNTWISE_INLINE auto with_type(Type type, const Use& use) {
    switch (type) {
        case Type::f64: return use(double{});
        case Type::f32: return use(float{});
        case Type::i64: return use(int64_t{});
        case Type::i32: return use(int32_t{});
        case Type::i16: return use(int16_t{});
        case Type::i8: return use(int8_t{});
        case Type::u64: return use(uint64_t{});
        case Type::u32: return use(uint32_t{});
        case Type::u16: return use(uint16_t{});
        default: return use(uint8_t{});
    }
}

// Reads values start .. start + n of a column of any type.
template <class To>
inline void convert(Column column, size_t start, size_t n, To* to) {
    with_type(column.type, [&](auto zero) { convert_cells<decltype(zero)>(column, start, n, to); });
}

// The same for codes, which have only three types.
template <class Use>
COUNTWISE_INLINE auto with_code_type(Type type, const Use& use) {
    switch (type) {
        case Type::u8: return use(uint8_t{});
        case Type::u16: return use(uint16_t{});
        default: return use(uint32_t{});
    }
}
inline void convert_codes(Column column, size_t start, size_t n, uint32_t* to) {
    switch (column.type) {
        case Type::u8: return convert_cells<uint8_t>(column, start, n, to);
        case Type::u16: return convert_cells<uint16_t>(column, start, n, to);
        default: return convert_cells<uint32_t>(column, start, n, to);
    }
}

inline bool is_float(Type type) { return type == Type::f64 || type == Type::f32; }

inline size_t width_of(Type type) {
    switch (type) {
        case Type::f64:
        case Type::i64:
        case Type::u64: return 8;
        case Type::f32:
        case Type::i32:
        case Type::u32: return 4;
        case Type::i16:
        case Type::u16: return 2;
        default: return 1;
    }
}

// The number of columns from here on that are adjacent in one row-major matrix; 1 if this column is on its own.
inline size_t neighbors(const Column* columns, size_t n_columns) {
    const size_t width = width_of(columns[0].type);
    if (columns[0].stride == static_cast<ptrdiff_t>(width)) return 1;
    size_t n = 1;
    while (n < n_columns && columns[n].type == columns[0].type && columns[n].stride == columns[0].stride &&
           columns[n].data == columns[0].data + n * width)
        ++n;
    return n;
}

// Transposes four or more adjacent columns in squares of 4 x 4; the last square may overlap the previous one.
template <class T>
void transpose_rows(const Column* columns, size_t count, size_t start, size_t n, double* tile) {
    const ptrdiff_t stride = columns[0].stride;
    const char* first = columns[0].data + static_cast<ptrdiff_t>(start) * stride;
    size_t r = 0;
    for (; r + 4 <= n; r += 4) {
        const char* row = first + static_cast<ptrdiff_t>(r) * stride;
        for (size_t next = 0; next < count; next += 4) {
            const size_t j = smaller(next, count - 4);
            const T* from = reinterpret_cast<const T*>(row + j * sizeof(T));
            const T* second = reinterpret_cast<const T*>(row + stride + j * sizeof(T));
            const T* third = reinterpret_cast<const T*>(row + 2 * stride + j * sizeof(T));
            const T* fourth = reinterpret_cast<const T*>(row + 3 * stride + j * sizeof(T));
            vd4 a = load4(from), b = load4(second), c = load4(third), d = load4(fourth);
            transpose(a, b, c, d);
            double* to = tile + j * tile_rows + r;
            store(to, a), store(to + tile_rows, b), store(to + 2 * tile_rows, c), store(to + 3 * tile_rows, d);
        }
    }
    for (; r < n; ++r)
        for (size_t j = 0; j < count; ++j)
            tile[j * tile_rows + r] = cell<T>(first + static_cast<ptrdiff_t>(r) * stride + j * sizeof(T));
}

// Reads rows start .. start + n by columns. x[j] points to the values of column j: in `tile`, or in the column itself
// if that is contiguous. In the tile, rows from n on are 0.
inline void tile_by_columns(const Column* columns, size_t count, size_t start, size_t n, double* tile,
                            const double** x) {
    for (size_t j = 0; j < count;) {
        const size_t run = neighbors(columns + j, count - j);
        double* to = tile + j * tile_rows;
        for (size_t k = 0; k < run; ++k) x[j + k] = to + k * tile_rows;
        if (run >= 4 && is_float(columns[j].type)) {
            if (columns[j].type == Type::f64) transpose_rows<double>(columns + j, run, start, n, to);
            else transpose_rows<float>(columns + j, run, start, n, to);
        } else {
            for (size_t k = 0; k < run; ++k) {
                const Column& column = columns[j + k];
                // Columns that are aligned by NumPy's definition can be read in place.
                const bool contiguous = column.type == Type::f64 && column.stride == 8 && n == tile_rows &&
                                        reinterpret_cast<std::uintptr_t>(column.data) % 8 == 0;
                if (contiguous) x[j + k] = reinterpret_cast<const double*>(column.data) + start;
                else convert(column, start, n, to + k * tile_rows);
            }
        }
        if (n < tile_rows)
            for (size_t k = 0; k < run; ++k)
                for (size_t r = n; r < tile_rows; ++r) to[k * tile_rows + r] = 0.0;
        j += run;
    }
}

// Prefetches memory that is needed next, in small steps during other computations: the hardware prefetcher does not
// follow from one tile to the next.
class Ahead {
public:
    // Rows start .. start + n of the columns.
    void add(const Column* columns, size_t count, size_t start, size_t n) {
        for (size_t j = 0; j < count;) {
            const size_t run = neighbors(columns + j, count - j);
            const ptrdiff_t stride = columns[j].stride;
            const ptrdiff_t bytes = static_cast<ptrdiff_t>(run * width_of(columns[j].type));
            const char* at = columns[j].data + static_cast<ptrdiff_t>(start) * stride;
            if (stride >= 0 && stride <= bytes + 2 * line) {
                add(at, line, (static_cast<ptrdiff_t>(n) * stride + line - 1) / line, false);
            } else {
                for (ptrdiff_t b = 0; b < bytes; b += line) add(at + b, stride, static_cast<ptrdiff_t>(n), false);
            }
            j += run;
        }
    }
    // Memory that will be written.
    void add(double* from, size_t n) {
        add(reinterpret_cast<const char*>(from), line, (static_cast<ptrdiff_t>(n * 8) + line - 1) / line, true);
    }
    // Must be called before the first of `calls` calls of some().
    void distribute(size_t calls) { per_call_ = lines_ / larger<size_t>(calls, 1) + 1; }

    COUNTWISE_INLINE void some() {
        for (size_t i = 0; i < per_call_ && now_ < count_; ++i) {
            Region& region = regions_[now_];
            if (region.write) __builtin_prefetch(region.at, 1);
            else __builtin_prefetch(region.at, 0);
            region.at += region.step;
            now_ += --region.left == 0;
        }
    }

private:
    struct Region {
        const char* at;
        ptrdiff_t step, left;
        bool write;
    };
    static constexpr ptrdiff_t line = 64;
    static constexpr size_t most = 2 * group_columns;

    void add(const char* at, ptrdiff_t step, ptrdiff_t lines, bool write) {
        if (count_ == most || lines == 0) return;
        regions_[count_++] = {at, step, lines, write};
        lines_ += static_cast<size_t>(lines);
    }

    Region regions_[most];
    size_t count_ = 0, now_ = 0, lines_ = 0, per_call_ = 1;
};

inline bool any_nan(const double* const* x, size_t count) {
    vi missing = splat_bits(0);
    for (size_t j = 0; j < count; ++j)
        for (size_t r = 0; r < tile_rows; r += lanes) {
            const vd v = load(x[j] + r);
            missing = missing | (v != v);
        }
    return any(missing);
}

// Transposes the tile `by_class` (classes x tile_rows) into n rows of `out`, which are added to or replaced.
template <bool Add>
void tile_to_rows(const double* by_class, size_t classes, size_t n, double* out) {
    for (size_t c = 0; c < classes; c += 4) {
        const size_t rest = smaller<size_t>(classes - c, 4);
        const double* from = by_class + c * tile_rows;
        size_t r = 0;
        for (; rest == 4 && r + 4 <= n; r += 4) {
            vd4 row[4] = {load4(from + r), load4(from + tile_rows + r), load4(from + 2 * tile_rows + r),
                          load4(from + 3 * tile_rows + r)};
            transpose(row[0], row[1], row[2], row[3]);
            for (size_t k = 0; k < 4; ++k) {
                double* to = out + (r + k) * classes + c;
                store(to, Add ? load4(to) + row[k] : row[k]);
            }
        }
        for (; r < n; ++r)
            for (size_t k = 0; k < rest; ++k) {
                double& to = out[r * classes + c + k];
                to = Add ? to + from[k * tile_rows + r] : from[k * tile_rows + r];
            }
    }
}

// Copies n rows of `out` to a tile (classes x tile_rows); the other rows of the tile are 0.
inline void rows_to_tile(const double* out, size_t classes, size_t n, double* by_class) {
    if (classes >= 4) {
        const Column first{reinterpret_cast<const char*>(out), static_cast<ptrdiff_t>(classes * 8), Type::f64};
        transpose_rows<double>(&first, classes, 0, n, by_class);
    } else {
        size_t first = 0;
        for (; classes == 2 && first + 4 <= n; first += 4) {
            vd4 a = load4(out + 2 * first), b = load4(out + 2 * first + 4);
            unzip(a, b);
            store(by_class + first, a), store(by_class + tile_rows + first, b);
        }
        for (size_t c = 0; c < classes; ++c)
            for (size_t r = first; r < n; ++r) by_class[c * tile_rows + r] = out[r * classes + c];
    }
    for (size_t c = 0; c < classes && n < tile_rows; ++c)
        for (size_t r = n; r < tile_rows; ++r) by_class[c * tile_rows + r] = 0.0;
}

}  // namespace countwise::COUNTWISE_LEVEL
