// Many columns at once: tiles of rows, so that a row-major matrix is read once and not once a column.
#include "levels.h"
#include "tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// The cells of a tile as whole numbers below `missing`, which stands for a missing cell; a number that is not
// whole, or as large as that, becomes `missing` + 1.
void read_whole(Column column, size_t start, size_t n, int64_t missing, int64_t* to) {
    const int64_t odd = missing + 1;
    if (!is_float(column.type)) {
        convert(column, start, n, to);
        const bool wraps = column.type == Type::u64;  // beyond int64: further than any table reaches
        for (size_t i = 0; i < n; ++i) to[i] = (to[i] >= missing) | (wraps & (to[i] < 0)) ? odd : to[i];
        return;
    }
    double x[tile_rows];
    convert(column, start, n, x);
    for (size_t i = 0; i < n; ++i) {
        const bool near = std::fabs(x[i]) < 4503599627370496.0;  // 2**52
        const int64_t whole = near ? static_cast<int64_t>(x[i]) : odd;
        const bool good = (static_cast<double>(whole) == x[i]) & (whole < missing);
        to[i] = x[i] != x[i] ? missing : good ? whole : odd;
    }
}

template <class Code>
void put_codes(const int64_t* values, size_t n, const CodeTable& table, void* codes, size_t start) {
    const Code* lookup = static_cast<const Code*>(table.lookup);
    Code* to = static_cast<Code*>(codes) + start;
    const Code other = static_cast<Code>(table.other);
    for (size_t i = 0; i < n; ++i) {
        const uint64_t index = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(table.low);
        to[i] = index < table.n ? lookup[index] : other;
    }
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

}  // namespace

bool find_infinity(const Column* columns, size_t n_columns, size_t rows, size_t* column, size_t* row) {
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
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

void mark_columns(const Column* columns, size_t n_columns, size_t rows, int64_t low, size_t span,
                  std::uint8_t* marks, std::uint8_t* outside) {
    const int64_t beyond = low + static_cast<int64_t>(span);
    int64_t values[tile_rows];
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        for (size_t j = 0; j < n_columns; ++j) {
            std::uint8_t* mark = marks + j * (span + 1);
            // The last mark is that of missing cells.
            read_whole(columns[j], start, n, beyond, values);
            std::uint8_t far = 0;
            for (size_t i = 0; i < n; ++i) {
                const uint64_t index = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(low);
                if (index <= span) mark[index] = 1;
                else far = 1;
            }
            outside[j] |= far;
        }
    }
}

void encode_columns(const Column* columns, size_t n_columns, size_t rows, const CodeTable* tables, void* const* codes) {
    int64_t values[tile_rows];
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        for (size_t j = 0; j < n_columns; ++j) {
            const CodeTable& table = tables[j];
            const int64_t missing = table.low + static_cast<int64_t>(table.n) - 1;  // the table's last entry
            read_whole(columns[j], start, n, missing, values);
            if (table.type == Type::u8) put_codes<std::uint8_t>(values, n, table, codes[j], start);
            else if (table.type == Type::u16) put_codes<std::uint16_t>(values, n, table, codes[j], start);
            else put_codes<uint32_t>(values, n, table, codes[j], start);
        }
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
