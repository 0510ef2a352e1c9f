// From a number to one of many narrow buckets, by whole-number arithmetic that never falls as the number rises.
#pragma once
#include "tiles.h"

namespace countwise::COUNTWISE_LEVEL {

// The bucket of each cell of a full tile; that of a NaN is `bin_buckets`.
COUNTWISE_INLINE void buckets_of(const double* x, const BinMap& map, std::uint16_t* to) {
    constexpr double past = static_cast<double>(bin_cells << 16), top = past - 1.0;
    const double low = map.low, scale = map.scale;
    std::int32_t place[tile_rows];
    for (size_t r = 0; r < tile_rows; ++r) {
        double t = (x[r] - low) * scale;
        t = t > 0.0 ? t : 0.0;
        t = t < top ? t : top;
        place[r] = static_cast<std::int32_t>(x[r] == x[r] ? t : past);
    }
    for (size_t r = 0; r < tile_rows; ++r) {
        const uint32_t p = static_cast<uint32_t>(place[r]), cell = map.cells[p >> 16];
        to[r] = static_cast<std::uint16_t>((cell & 0xffff) + (((p & 0xffff) * (cell >> 16)) >> 16));
    }
}

// Calls work(j, x, start, n) for every column and every tile of rows; x has a full tile, of which n rows count.
template <class Work>
void each_tile(const Column* columns, size_t n_columns, size_t rows, Work work) {
    alignas(64) double tile[group_columns * tile_rows];
    const double* x[group_columns];
    for (size_t from = 0; from < n_columns; from += group_columns) {
        const size_t count = smaller(group_columns, n_columns - from);
        for (size_t start = 0; start < rows; start += tile_rows) {
            const size_t n = smaller(tile_rows, rows - start);
            tile_by_columns(columns + from, count, start, n, tile, x);
            for (size_t j = 0; j < count; ++j) work(from + j, x[j], start, n);
        }
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
