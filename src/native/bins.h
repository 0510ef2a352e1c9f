// From a number to one of many narrow buckets, by whole-number arithmetic that never falls as the number rises.
#pragma once
#include "tiles.h"

namespace countwise::COUNTWISE_LEVEL {

// Where each cell of a full tile lies in its map's range.
COUNTWISE_INLINE void places_of(const double* x, const BinMap& map, std::int32_t* to) {
    constexpr double past = static_cast<double>(bin_cells << 16);
    const vd low = splat(map.low), scale = splat(map.scale), zero = splat(0.0), top = splat(past - 1.0);
    for (size_t r = 0; r < tile_rows; r += lanes) {
        const vd v = load(x + r);
        vd t = (v - low) * scale;
        t = select(t > zero, t, zero);
        t = select(t < top, t, top);
        t = select(not_nan(v), t, splat(past));
#ifdef COUNTWISE_VECTORS
        typedef std::int32_t narrow __attribute__((vector_size(lanes * 4)));
        store(to + r, __builtin_convertvector(t, narrow));
#else
        for (size_t i = 0; i < lanes; ++i) to[r + i] = static_cast<std::int32_t>(t[i]);
#endif
    }
}

// The bucket of each cell of a full tile; that of a NaN is `bin_buckets`.
COUNTWISE_INLINE void buckets_of(const double* x, const BinMap& map, std::uint16_t* to) {
    std::int32_t place[tile_rows];
    places_of(x, map, place);
    for (size_t r = 0; r < tile_rows; ++r) {
        const uint32_t p = static_cast<uint32_t>(place[r]), cell = map.cells[p >> 16];
        to[r] = static_cast<std::uint16_t>((cell & 0xffff) + (((p & 0xffff) * (cell >> 16)) >> 16));
    }
}

constexpr size_t chunk_tiles = 8, chunk_rows = chunk_tiles * tile_rows;

// Some tiles of some columns with the buckets of their cells. What is to be done with them is done column by column,
// so that a column's tables stay in the first-level cache meanwhile.
class BucketChunk {
public:
    BucketChunk() : cells_(group_columns * chunk_rows), buckets_(group_columns * chunk_rows) {}

    // At most group_columns columns and chunk_rows rows.
    void read(const Column* columns, size_t count, size_t start, size_t n, const BinMap* maps) {
        for (size_t t = 0; t * tile_rows < n; ++t) {
            const size_t left = smaller(tile_rows, n - t * tile_rows);
            tile_by_columns(columns, count, start + t * tile_rows, left, cells_.get() + t * group_columns * tile_rows,
                            x_[t]);
            for (size_t j = 0; j < count; ++j) buckets_of(x_[t][j], maps[j], buckets_.get() + place(t, j));
        }
    }
    const double* x(size_t t, size_t j) const { return x_[t][j]; }
    const std::uint16_t* buckets(size_t t, size_t j) const { return buckets_.get() + place(t, j); }

private:
    static size_t place(size_t t, size_t j) { return j * chunk_rows + t * tile_rows; }

    Scratch<double> cells_;
    Scratch<std::uint16_t> buckets_;
    const double* x_[chunk_tiles][group_columns];
};

// Calls work(j, x, buckets, start, n) for every column and every tile of n rows.
template <class Work>
void each_tile(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, Work work) {
    BucketChunk chunk;
    for (size_t from = 0; from < n_columns; from += group_columns) {
        const size_t count = smaller(group_columns, n_columns - from);
        for (size_t start = 0; start < rows; start += chunk_rows) {
            const size_t n = smaller(chunk_rows, rows - start);
            chunk.read(columns + from, count, start, n, maps + from);
            for (size_t j = 0; j < count; ++j)
                for (size_t t = 0; t * tile_rows < n; ++t)
                    work(from + j, chunk.x(t, j), chunk.buckets(t, j), start + t * tile_rows,
                         smaller(tile_rows, n - t * tile_rows));
        }
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
