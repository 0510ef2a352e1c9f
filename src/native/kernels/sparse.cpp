// Sums over the stored entries of sparse rows.
#include "support/levels.h"
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part_entries = 512;

COUNTWISE_INLINE int64_t index_at(Column column, size_t i) {
    const char* at = column.data + static_cast<ptrdiff_t>(i) * column.stride;
    return column.type == Type::i64 ? cell<int64_t>(at) : cell<int32_t>(at);
}

// Calls visit(row, column, x) for the entries that count, row by row. Returns 1 for a column out of range.
template <class Visit>
int each_entry(const Csr& matrix, const Visit& visit) {
    double x[part_entries];
    int64_t column[part_entries];
    size_t row = 0, end = matrix.rows ? static_cast<size_t>(index_at(matrix.indptr, 1)) : 0;
    const size_t stop = static_cast<size_t>(index_at(matrix.indptr, matrix.rows));
    for (size_t start = static_cast<size_t>(index_at(matrix.indptr, 0)); start < stop; start += part_entries) {
        const size_t n = smaller(part_entries, stop - start);
        convert(matrix.data, start, n, x);
        convert(matrix.indices, start, n, column);
        for (size_t i = 0; i < n; ++i) {
            while (start + i >= end) end = static_cast<size_t>(index_at(matrix.indptr, ++row + 1));
            if (static_cast<uint64_t>(column[i]) >= matrix.columns) return 1;
            if (matrix.present ? x[i] > 0 : x[i] < 0 || x[i] > 0)  // neither is true of NaN
                visit(row, static_cast<size_t>(column[i]), matrix.present ? 1.0 : x[i]);
        }
    }
    return 0;
}

}  // namespace

int csr_class_sums(const Csr& matrix, Column codes, const double* weights, size_t n_classes, double* sums) {
    uint32_t code = 0;
    size_t known = SIZE_MAX;
    return each_entry(matrix, [&](size_t row, size_t column, double x) {
        if (row != known) convert_codes(codes, row, 1, &code), known = row;
        if (code < n_classes) sums[code * matrix.columns + column] += weights ? weights[row] * x : x;
    });
}

int csr_add(const Csr& matrix, const double* table, size_t classes, double* out) {
    const size_t whole = classes / lanes * lanes;
    return each_entry(matrix, [&](size_t row, size_t column, double x) {
        const double* entry = table + column * classes;
        double* to = out + row * classes;
        size_t c = 0;
        for (; c < whole; c += lanes) store(to + c, load(to + c) + splat(x) * load(entry + c));
        for (; c < classes; ++c) to[c] += x * entry[c];
    });
}

}  // namespace countwise::COUNTWISE_LEVEL
