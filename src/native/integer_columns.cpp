// Many columns of whole numbers at once: tiles of rows, so that a row-major matrix is read once and not once a column.
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

}  // namespace

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
