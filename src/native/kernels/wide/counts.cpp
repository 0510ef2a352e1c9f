// Counts of codes, and sums of table entries by codes.
#include <type_traits>

#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t replicas = 4;  // consecutive equal codes would wait for each other's counter
constexpr size_t replicated_cells = 4096;
constexpr size_t key_rows = 512;

// Computes given * (n_values + 1) + code; codes out of range go to an extra value that is never read.
void tile_keys(Column column, Column given, size_t start, size_t n, uint32_t n_values, uint32_t n_given,
               uint32_t* keys) {
    uint32_t row[key_rows];
    convert_codes(column, start, n, keys);
    convert_codes(given, start, n, row);
    for (size_t i = 0; i < n; ++i) keys[i] = smaller(row[i], n_given) * (n_values + 1) + smaller(keys[i], n_values);
}

struct One {
    COUNTWISE_INLINE void tile(size_t, size_t) {}
    COUNTWISE_INLINE uint32_t operator[](size_t) const { return 1; }
};

template <class T>
struct Weights {
    Column column;
    T values[key_rows];
    void tile(size_t start, size_t n) { convert(column, start, n, values); }
    COUNTWISE_INLINE T operator[](size_t i) const { return values[i]; }
};

template <class Counter, class Total, class Weight>
void count_small(Column column, Column given, Weight& weight, size_t rows, size_t n_values, size_t n_given,
                 Total* counts) {
    const size_t cells = (n_values + 1) * (n_given + 1);
    Scratch<Counter> table(replicas * cells);
    std::memset(static_cast<void*>(table.get()), 0, replicas * cells * sizeof(Counter));
    Counter *a = table.get(), *b = a + cells, *c = b + cells, *d = c + cells;
    uint32_t keys[key_rows];
    for (size_t start = 0; start < rows; start += key_rows) {
        const size_t n = smaller(key_rows, rows - start);
        tile_keys(column, given, start, n, static_cast<uint32_t>(n_values), static_cast<uint32_t>(n_given), keys);
        weight.tile(start, n);
        size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            a[keys[i]] += weight[i];
            b[keys[i + 1]] += weight[i + 1];
            c[keys[i + 2]] += weight[i + 2];
            d[keys[i + 3]] += weight[i + 3];
        }
        for (; i < n; ++i) a[keys[i]] += weight[i];
    }
    for (size_t g = 0; g < n_given; ++g)
        for (size_t v = 0; v < n_values; ++v) {
            const size_t at = g * (n_values + 1) + v;
            counts[g * n_values + v] += static_cast<Total>(a[at]) + static_cast<Total>(b[at]) +
                                        static_cast<Total>(c[at]) + static_cast<Total>(d[at]);
        }
}

// Tables too large to be replicated: consecutive equal codes are rare, and a branch tests the range.
template <class Total, class Weight>
void count_large(Column column, Column given, Weight& weight, size_t rows, size_t n_values, size_t n_given,
                 Total* counts) {
    uint32_t value[key_rows], row[key_rows];
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += key_rows) {
        const size_t n = smaller(key_rows, rows - start);
        checkpoint.after(n);
        convert_codes(column, start, n, value);
        convert_codes(given, start, n, row);
        weight.tile(start, n);
        for (size_t i = 0; i < n; ++i)
            if (value[i] < n_values && row[i] < n_given)
                counts[row[i] * n_values + value[i]] += static_cast<Total>(weight[i]);
    }
}

template <class Counter, class Total, class Weight>
void count_any(Column column, Column given, Weight& weight, size_t rows, size_t n_values, size_t n_given,
               Total* counts) {
    const bool small = n_values < replicated_cells && n_given < replicated_cells &&
                       (n_values + 1) * (n_given + 1) <= smaller(replicated_cells, rows);
    if (!small) return count_large(column, given, weight, rows, n_values, n_given, counts);
    constexpr size_t most = size_t{1} << 24;  // far below the limit of a 32-bit counter, so that it can be interrupted
    for (size_t start = 0; start < rows; start += most) {
        if (start) check_interrupt();
        const ptrdiff_t from = static_cast<ptrdiff_t>(start);
        const Column part{column.data + from * column.stride, column.stride, column.type};
        const Column part_given{given.data + from * given.stride, given.stride, given.type};
        Weight part_weight = weight;
        if constexpr (!std::is_same_v<Weight, One>) part_weight.column.data += from * part_weight.column.stride;
        count_small<Counter>(part, part_given, part_weight, smaller(most, rows - start), n_values, n_given, counts);
    }
}

}  // namespace

void count_codes(Column column, Column given, Column weights, size_t rows, size_t n_values, size_t n_given,
                 void* counts) {
    uint64_t* const whole = static_cast<uint64_t*>(counts);  // unsigned: a sum beyond the range wraps around
    if (!weights.data) {
        One one;
        count_any<uint32_t>(column, given, one, rows, n_values, n_given, whole);
    } else if (is_float(weights.type)) {
        Weights<double> w{weights, {}};
        count_any<double>(column, given, w, rows, n_values, n_given, static_cast<double*>(counts));
    } else {
        Weights<uint64_t> w{weights, {}};
        count_any<uint64_t>(column, given, w, rows, n_values, n_given, whole);
    }
}

namespace {

// Computes codes times `width` for a tile of rows and a group of columns, by columns; rows beyond n are 0. Returns 0,
// or 1 + a column with a code out of range.
size_t lookup_places(const Column* columns, size_t count, const size_t* n_values, size_t start, size_t n,
                     uint32_t width, uint32_t* places) {
    for (size_t j = 0; j < count; ++j) {
        uint32_t* to = places + j * tile_rows;
        for (size_t r = n; r < tile_rows; ++r) to[r] = 0;
        convert_codes(columns[j], start, n, to);
        uint32_t most = 0;
        for (size_t r = 0; r < tile_rows; ++r) {
            most = larger(most, to[r]);
            to[r] *= width;
        }
        if (most >= n_values[j]) return j + 1;
    }
    return 0;
}

// Concatenated tables whose rows are padded to whole vectors.
struct Padded {
    size_t classes, vectors, width;
    Scratch<double> cells;
    Scratch<const double*> table;

    Padded(const double* const* tables, const size_t* n_values, size_t n_columns, size_t n_classes, size_t total)
        : classes(n_classes), vectors((n_classes + lanes - 1) / lanes), width(vectors * lanes), cells(total * width),
          table(n_columns) {
        double* to = cells.get();
        for (size_t j = 0; j < n_columns; ++j) {
            table[j] = to;
            for (size_t v = 0; v < n_values[j]; ++v, to += width)
                for (size_t c = 0; c < width; ++c) to[c] = c < classes ? tables[j][v * classes + c] : 0.0;
        }
    }
};

// Adds the entries of `Rows` rows, `Vectors` vectors of classes each; the rows of `sums` are padded to whole vectors.
template <size_t Vectors, size_t Rows>
COUNTWISE_INLINE void add_rows(const double* const* table, const uint32_t* places, size_t count, size_t width,
                               double* sums) {
    vd sum[Rows][Vectors];
    for (size_t r = 0; r < Rows; ++r)
        for (size_t v = 0; v < Vectors; ++v) sum[r][v] = load(sums + r * width + v * lanes);
    for (size_t j = 0; j < count; ++j)
        for (size_t r = 0; r < Rows; ++r) {
            const double* entry = table[j] + places[j * tile_rows + r];
            for (size_t v = 0; v < Vectors; ++v) sum[r][v] += load(entry + v * lanes);
        }
    for (size_t r = 0; r < Rows; ++r)
        for (size_t v = 0; v < Vectors; ++v) store(sums + r * width + v * lanes, sum[r][v]);
}

// Adds all rows of a tile; rows beyond the data have code 0 and are not used.
template <size_t Vectors, size_t Rows>
void add_all_rows(const double* const* table, const uint32_t* places, size_t count, size_t width, size_t n,
                  double* sums) {
    for (size_t r = 0; r < n; r += Rows) add_rows<Vectors, Rows>(table, places + r, count, width, sums + r * width);
}

// Adds up to four vectors of classes at a time.
void add_tile(const Padded& padded, size_t first, const uint32_t* places, size_t count, size_t n, double* sums) {
    const double* table[group_columns];
    for (size_t v = 0; v < padded.vectors;) {
        const size_t now = smaller<size_t>(padded.vectors - v, 4), from = v * lanes, width = padded.width;
        for (size_t j = 0; j < count; ++j) table[j] = padded.table[first + j] + from;
        if (now == 1) add_all_rows<1, 8>(table, places, count, width, n, sums + from);
        else if (now == 2) add_all_rows<2, 4>(table, places, count, width, n, sums + from);
        else if (now == 3) add_all_rows<3, 4>(table, places, count, width, n, sums + from);
        else add_all_rows<4, 2>(table, places, count, width, n, sums + from);
        v += now;
    }
}

// For tables so large that a copy would cost more than the lookups.
int add_lookup_unpadded(const Column* columns, size_t n_columns, const double* const* tables, const size_t* n_values,
                        size_t rows, size_t classes, double* out) {
    uint32_t codes[tile_rows];
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * n_columns * (classes + 1));
        for (size_t j = 0; j < n_columns; ++j) {
            if (lookup_places(columns + j, 1, n_values + j, start, n, 1, codes)) return static_cast<int>(j + 1);
            for (size_t r = 0; r < n; ++r) {
                const double* entry = tables[j] + size_t{codes[r]} * classes;
                double* to = out + (start + r) * classes;
                for (size_t c = 0; c < classes; ++c) to[c] += entry[c];
            }
        }
    }
    return 0;
}

}  // namespace

int add_lookup(const Column* columns, size_t n_columns, const double* const* tables, const size_t* n_values,
               size_t rows, size_t classes, double* out) {
    size_t total = 0;
    for (size_t j = 0; j < n_columns; ++j) total += n_values[j];
    if (total > 256 + rows * n_columns / 4 || total * (classes + lanes) >= UINT32_MAX)
        return add_lookup_unpadded(columns, n_columns, tables, n_values, rows, classes, out);
    const Padded padded(tables, n_values, n_columns, classes, total);
    const size_t width = padded.width;
    Scratch<uint32_t> places(group_columns * tile_rows);
    Scratch<double> sums(tile_rows * width);
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * n_columns * (classes + 1));
        std::memset(sums.get(), 0, tile_rows * width * sizeof(double));
        for (size_t first = 0; first < n_columns; first += group_columns) {
            const size_t count = smaller(group_columns, n_columns - first);
            const size_t bad = lookup_places(columns + first, count, n_values + first, start, n,
                                             static_cast<uint32_t>(width), places.get());
            if (bad) return static_cast<int>(first + bad);
            add_tile(padded, first, places.get(), count, n, sums.get());
        }
        for (size_t r = 0; r < n; ++r)
            for (size_t c = 0; c < classes; ++c) out[(start + r) * classes + c] += sums[r * width + c];
    }
    return 0;
}

}  // namespace countwise::COUNTWISE_LEVEL
