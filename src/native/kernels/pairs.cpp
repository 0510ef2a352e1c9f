// Counts of pairs of columns, by bit planes.
#include "planes.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// (values - 1) x (values - 1) beyond which counting row by row is faster: measured for v2 and v3, guessed for v4.
constexpr size_t most_cells = lanes > 4 ? 180 : 110;

void add_counts(const Planes& a, const Planes& b, size_t n_values, int64_t* table) {
    uint32_t rest[most_values];  // of b's rows, those that have not been counted yet
    for (size_t j = 0; j < b.n; ++j) rest[j] = b.rows[j];
    for (size_t i = 0; i < a.counted; ++i) {
        int64_t* to = table + a.value[i] * n_values;
        uint32_t left = a.rows[i];
        for (size_t j = 0; j < b.counted; ++j) {
            const uint32_t rows = common(a.plane(i), b.plane(j));
            to[b.value[j]] += rows;
            rest[j] -= rows, left -= rows;
        }
        if (b.counted < b.n) to[b.value[b.counted]] += left, rest[b.counted] -= left;
    }
    if (a.counted < a.n)
        for (size_t j = 0; j < b.n; ++j) table[a.value[a.counted] * n_values + b.value[j]] += rest[j];
}

}  // namespace

void pair_counts(const Column* columns, size_t n_columns, size_t rows, const size_t* sizes, const size_t* pairs,
                 size_t n_pairs, int64_t* const* tables) {
    Scratch<bool> wanted(n_columns), by_planes(n_pairs);
    for (size_t j = 0; j < n_columns; ++j) wanted[j] = false;
    for (size_t p = 0; p < n_pairs; ++p) {
        const size_t i = pairs[2 * p], j = pairs[2 * p + 1];
        const bool few = sizes[i] > 0 && sizes[j] > 0 && sizes[i] <= most_values && sizes[j] <= most_values;
        by_planes[p] = few && (sizes[i] - 1) * (sizes[j] - 1) <= most_cells;
        if (by_planes[p]) wanted[i] = wanted[j] = true;
        else if (sizes[i] && sizes[j]) count_codes(columns[j], columns[i], rows, sizes[j], sizes[i], tables[p]);
    }
    size_t total = 0;
    for (size_t j = 0; j < n_columns; ++j) total += wanted[j] ? sizes[j] : 0;
    Scratch<uint64_t> words(total * plane_words);
    Scratch<uint8_t> cells(plane_rows);
    Scratch<Planes> planes(n_columns);
    uint64_t* next = words.get();
    for (size_t j = 0; j < n_columns; ++j)
        if (wanted[j]) planes[j].words = next, next += sizes[j] * plane_words;
    for (size_t start = 0; start < rows; start += plane_rows) {
        const size_t n = smaller(plane_rows, rows - start);
        for (size_t j = 0; j < n_columns; ++j)
            if (wanted[j]) make_planes(columns[j], start, n, sizes[j], cells.get(), planes[j]);
        for (size_t p = 0; p < n_pairs; ++p) {
            const size_t i = pairs[2 * p], j = pairs[2 * p + 1];
            if (by_planes[p]) add_counts(planes[i], planes[j], sizes[j], tables[p]);
        }
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
