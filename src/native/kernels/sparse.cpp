// Sums over the stored entries of sparse rows.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t chunk_entries = 512;

COUNTWISE_INLINE int64_t index_at(Column column, size_t i) {
    const char* at = column.data + static_cast<ptrdiff_t>(i) * column.stride;
    return column.type == Type::i64 ? cell<int64_t>(at) : cell<int32_t>(at);
}

// Some entries of one row.
struct RowEntries {
    size_t row;
    const int64_t* column;
    const double* x;
    size_t n;
};

// Calls visit(entries) with the entries that count, row by row. Returns 1 for a column out of range.
template <class Visit>
int each_row(const Csr& matrix, const Visit& visit) {
    Checkpoint checkpoint;
    double x[chunk_entries];
    int64_t column[chunk_entries];
    size_t row = 0, end = matrix.rows ? static_cast<size_t>(index_at(matrix.indptr, 1)) : 0;
    const size_t stop = static_cast<size_t>(index_at(matrix.indptr, matrix.rows));
    for (size_t start = static_cast<size_t>(index_at(matrix.indptr, 0)); start < stop; start += chunk_entries) {
        const size_t n = smaller(chunk_entries, stop - start);
        checkpoint.after(4 * n);
        convert(matrix.data, start, n, x);
        convert(matrix.indices, start, n, column);
        uint64_t most = 0;
        for (size_t i = 0; i < n; ++i) most = larger(most, static_cast<uint64_t>(column[i]));
        if (most >= matrix.columns) return 1;
        for (size_t i = 0; i < n;) {
            while (start + i >= end) end = static_cast<size_t>(index_at(matrix.indptr, ++row + 1));
            const size_t first = i, last = smaller(n, end - start);
            size_t kept = first;
            for (; i < last; ++i) {
                const bool counts = matrix.present ? x[i] > 0 : x[i] < 0 || x[i] > 0;  // both are false for NaN
                x[kept] = matrix.present ? 1.0 : x[i];
                column[kept] = column[i];
                kept += counts;
            }
            visit(RowEntries{row, column + first, x + first, kept - first});
        }
    }
    return 0;
}

// Adds to N classes whose sums stay in registers, as vectors or numbers.
template <class V, size_t N>
COUNTWISE_INLINE void add_classes(const RowEntries& entries, const double* table, size_t classes, double* to) {
    V sum[N];
    for (size_t k = 0; k < N; ++k) sum[k] = load_as<V>(to + k * (sizeof(V) / 8));
    for (size_t i = 0; i < entries.n; ++i) {
        const double* from = table + static_cast<size_t>(entries.column[i]) * classes;
        for (size_t k = 0; k < N; ++k) sum[k] += entries.x[i] * load_as<V>(from + k * (sizeof(V) / 8));
    }
    for (size_t k = 0; k < N; ++k) store(to + k * (sizeof(V) / 8), sum[k]);
}

}  // namespace

int csr_class_sums(const Csr& matrix, Column codes, const double* weights, size_t n_classes, double* sums) {
    return each_row(matrix, [&](const RowEntries& entries) {
        uint32_t code = 0;
        convert_codes(codes, entries.row, 1, &code);
        if (code >= n_classes) return;
        double* to = sums + code * matrix.columns;
        const double weight = weights ? weights[entries.row] : 1.0;
        for (size_t i = 0; i < entries.n; ++i) to[entries.column[i]] += weight * entries.x[i];
    });
}

int csr_add(const Csr& matrix, const double* table, size_t classes, double* out) {
    return each_row(matrix, [&](const RowEntries& entries) {
        double* to = out + entries.row * classes;
        size_t c = 0;
        for (; c + 4 * lanes <= classes; c += 4 * lanes) add_classes<vd, 4>(entries, table + c, classes, to + c);
        for (; c + lanes <= classes; c += lanes) add_classes<vd, 1>(entries, table + c, classes, to + c);
        for (; c + 2 <= classes; c += 2) add_classes<double, 2>(entries, table + c, classes, to + c);
        if (c < classes) add_classes<double, 1>(entries, table + c, classes, to + c);
    });
}

}  // namespace countwise::COUNTWISE_LEVEL
