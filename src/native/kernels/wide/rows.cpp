// Posteriors and the best class of each row. Vectors run over rows, on a transposed tile.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

struct Top {
    vd value;
    vi bad;  // no finite maximum, or a NaN
};

COUNTWISE_INLINE Top top_of(const double* tile, size_t classes, size_t r) {
    vd top = load(tile + r);
    vi bad = top != top;
    for (size_t c = 1; c < classes; ++c) {
        const vd x = load(tile + c * tile_rows + r);
        top = select(x > top, x, top);
        bad = bad | (x != x);
    }
    const vd zero = top - top;  // NaN for an infinite maximum
    return {top, bad | (zero != zero)};
}

// Normalizes one vector of rows of the tile in place by log-sum-exp; returns which rows are NaN.
template <bool Proba>
COUNTWISE_INLINE vi normalize_vector(double* tile, size_t classes, size_t r) {
    const Top top = top_of(tile, classes, r);
    vd total = splat(0.0);
    for (size_t c = 0; c < classes; ++c) {
        double* at = tile + c * tile_rows + r;
        const vd e = exp_of(load(at) - top.value);
        total += e;
        if (Proba) store(at, e);
    }
    const vi good = ~top.bad;
    total = select(good, total, splat(1.0));
    const vd factor = Proba ? splat(1.0) / total : log_of(total);
    const vd nan = splat(NAN);
    for (size_t c = 0; c < classes; ++c) {
        double* at = tile + c * tile_rows + r;
        const vd x = load(at);
        store(at, select(good, Proba ? x * factor : (x - top.value) - factor, nan));
    }
    return top.bad;
}

}  // namespace

size_t normalize(double* out, size_t rows, size_t classes, bool proba) {
    if (classes == 0) return 0;
    Scratch<double> tile(classes * tile_rows);
    int64_t bad_rows = 0;
    in_parts(rows, classes, [&](size_t first, size_t stop) {
        for (size_t start = first; start < stop; start += tile_rows) {
            const size_t n = smaller(tile_rows, stop - start);
            rows_to_tile(out + start * classes, classes, n, tile.get());
            vi bad = splat_bits(0);
            for (size_t r = 0; r < n; r += lanes)
                bad = bad + (proba ? normalize_vector<true>(tile.get(), classes, r)
                                   : normalize_vector<false>(tile.get(), classes, r));
            for (size_t i = 0; i < lanes; ++i) bad_rows -= bad[i];
            tile_to_rows<false>(tile.get(), classes, n, out + start * classes);
        }
    });
    return static_cast<size_t>(bad_rows);
}

void argmax_rows(const double* out, size_t rows, size_t classes, ptrdiff_t* best) {
    Scratch<double> tile(classes * tile_rows);
    int64_t codes[tile_rows];
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * classes);
        rows_to_tile(out + start * classes, classes, n, tile.get());
        for (size_t r = 0; r < n; r += lanes) {
            vd top = load(&tile[r]);
            vi missing = top != top, code = splat_bits(0);
            for (size_t c = 1; c < classes; ++c) {
                const vd x = load(&tile[c * tile_rows + r]);
                const vi above = x > top + tie;
                top = select(above, x, top);
                code = (code & ~above) | (splat_bits(static_cast<int64_t>(c)) & above);
                missing = missing | (x != x);
            }
            store(codes + r, code & ~missing);
        }
        for (size_t r = 0; r < n; ++r) best[start + r] = static_cast<ptrdiff_t>(codes[r]);
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
