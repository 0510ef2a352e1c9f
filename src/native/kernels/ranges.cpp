// The bin of each number, given the edges.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part_rows = 512;
constexpr size_t few_edges = 32;  // counting the edges below is faster than a search up to this number

// Counts the edges below each value; rows up to a multiple of the step are read and written too.
void count_below(const double* x, size_t n, const double* edges, size_t n_edges, int64_t* place) {
    constexpr size_t vectors = 4;
    const vi missing = splat_bits(static_cast<int64_t>(n_edges) + 1);
    for (size_t r = 0; r < n; r += vectors * lanes) {
        vd v[vectors];
        vi below[vectors];
        for (size_t k = 0; k < vectors; ++k) v[k] = load(x + r + k * lanes), below[k] = splat_bits(0);
        for (size_t e = 0; e < n_edges; ++e) {
            const vd edge = splat(edges[e]);
            for (size_t k = 0; k < vectors; ++k) below[k] = below[k] - (v[k] > edge);
        }
        for (size_t k = 0; k < vectors; ++k) {
            const vi good = not_nan(v[k]);
            store(place + r + k * lanes, (below[k] & good) | (missing & ~good));
        }
    }
}

// The same by binary search, without branches and for several values at a time, because each step waits for the
// previous one.
void search_below(const double* x, size_t n, const double* edges, size_t n_edges, int64_t* place) {
    constexpr size_t cells = 16;
    for (size_t r = 0; r < n; r += cells) {
        const double* from[cells];
        for (size_t k = 0; k < cells; ++k) from[k] = edges;
        for (size_t left = n_edges; left > 1;) {
            const size_t half = left / 2;
            for (size_t k = 0; k < cells; ++k) from[k] += half & (size_t{0} - size_t{from[k][half - 1] < x[r + k]});
            left -= half;
        }
        for (size_t k = 0; k < cells; ++k) {
            const int64_t found = (from[k] - edges) + (*from[k] < x[r + k]);
            place[r + k] = x[r + k] == x[r + k] ? found : static_cast<int64_t>(n_edges) + 1;
        }
    }
}

template <class Code>
void cut_column(Column column, size_t rows, const double* edges, size_t n_edges, Code* out) {
    Scratch<double> cells(part_rows);
    Scratch<int64_t> place(part_rows);
    const bool readable =
        column.type == Type::f64 && column.stride == 8 && reinterpret_cast<std::uintptr_t>(column.data) % 8 == 0;
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows - start);
        checkpoint.after(n * smaller(n_edges + 1, few_edges));
        const double* x = cells.get();
        if (readable && n == part_rows) {
            x = reinterpret_cast<const double*>(column.data) + start;
        } else {
            convert(column, start, n, cells.get());
            for (size_t i = n; i < part_rows; ++i) cells[i] = 0.0;
        }
        if (n_edges <= few_edges) count_below(x, n, edges, n_edges, place.get());
        else search_below(x, n, edges, n_edges, place.get());
        for (size_t i = 0; i < n; ++i) out[start + i] = static_cast<Code>(place[i]);
    }
}

}  // namespace

void cut_codes(Column column, size_t rows, const double* edges, size_t n_edges, Type type, void* out) {
    with_code_type(type,
                   [&](auto zero) { cut_column(column, rows, edges, n_edges, static_cast<decltype(zero)*>(out)); });
}

}  // namespace countwise::COUNTWISE_LEVEL
