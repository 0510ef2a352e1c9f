// From a number to one of many narrow buckets, by whole-number arithmetic that never falls as the number rises.
#pragma once
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

// Where each cell of a full tile lies in its map's range.
COUNTWISE_INLINE void places_of(const double* x, const BinMap& map, int32_t* to) {
    constexpr double past = static_cast<double>(bin_cells << 16);
    const vd low = splat(map.low), scale = splat(map.scale), zero = splat(0.0), top = splat(past - 1.0);
    for (size_t r = 0; r < tile_rows; r += lanes) {
        const vd v = load(x + r);
        vd t = (v - low) * scale;
        t = select(t > zero, t, zero);
        t = select(t < top, t, top);
        t = select(not_nan(v), t, splat(past));
        typedef int32_t narrow __attribute__((vector_size(lanes * 4)));
        store(to + r, __builtin_convertvector(t, narrow));
    }
}

// The bucket of each cell of a full tile; that of a NaN is `bin_buckets`.
COUNTWISE_INLINE void buckets_of(const double* x, const BinMap& map, uint16_t* to) {
    int32_t place[tile_rows];
    places_of(x, map, place);
    for (size_t r = 0; r < tile_rows; ++r) {
        const uint32_t p = static_cast<uint32_t>(place[r]), cell = map.cells[p >> 16];
        to[r] = static_cast<uint16_t>((cell & 0xffff) + (((p & 0xffff) * (cell >> 16)) >> 16));
    }
}

constexpr size_t chunk_rows = 32 * tile_rows;

// Calls work(j, buckets, start, n) for every column and some rows at a time. Buckets are found for all columns of a
// tile, as they may lie in one line of memory; what is done with them is done column by column and for many rows, so
// that a column's tables stay in the first-level cache meanwhile.
template <class Work>
void each_chunk(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, Work work) {
    Scratch<uint16_t> buckets(group_columns * chunk_rows);
    alignas(64) double tile[group_columns * tile_rows];
    const double* x[group_columns];
    for (size_t from = 0; from < n_columns; from += group_columns) {
        const size_t count = smaller(group_columns, n_columns - from);
        for (size_t start = 0; start < rows; start += chunk_rows) {
            const size_t stop = smaller(rows, start + chunk_rows);
            for (size_t at = start; at < stop; at += tile_rows) {
                const size_t n = smaller(tile_rows, stop - at), next = at + n;
                tile_by_columns(columns + from, count, at, n, tile, x);
                Ahead ahead;
                ahead.add(columns + from, count, next, smaller(tile_rows, rows - next));
                ahead.spread(count);
                for (size_t j = 0; j < count; ++j) {
                    ahead.some();
                    buckets_of(x[j], maps[from + j], buckets.get() + j * chunk_rows + (at - start));
                }
            }
            for (size_t j = 0; j < count; ++j) work(from + j, buckets.get() + j * chunk_rows, start, stop - start);
        }
    }
}

// The rows of a chunk that a closer look is needed at, and their cells.
struct Met {
    uint16_t rows[chunk_rows];
    double x[chunk_rows];
    size_t count;

    // Writes the codes of all rows. A bucket's word is its code, and 256 more if it is to be looked into.
    COUNTWISE_APART void find(const uint16_t* words, const uint16_t* buckets, size_t n, uint8_t* codes) {
        // Several rows are read before any is written: a load that follows a store to the same place in another page
        // would wait for it.
        constexpr size_t step = 8;
        size_t k = 0, r = 0;
        for (; r + step <= n; r += step) {
            uint16_t word[step];
            uint8_t code[step];
            for (size_t i = 0; i < step; ++i) word[i] = words[buckets[r + i]];
            for (size_t i = 0; i < step; ++i) code[i] = static_cast<uint8_t>(word[i]);
            std::memcpy(codes + r, code, step);
            for (size_t i = 0; i < step; ++i) {
                rows[k] = static_cast<uint16_t>(r + i);
                k += word[i] >> 8;
            }
        }
        for (; r < n; ++r) {
            const uint32_t word = words[buckets[r]];
            codes[r] = static_cast<uint8_t>(word);
            rows[k] = static_cast<uint16_t>(r);
            k += word >> 8;
        }
        count = k;
    }

    template <class T>
    void gather(Column column, size_t start) {
        const char* from = column.data + static_cast<ptrdiff_t>(start) * column.stride;
        for (size_t i = 0; i < count; ++i)
            x[i] = static_cast<double>(cell<T>(from + static_cast<ptrdiff_t>(rows[i]) * column.stride));
    }
    void read(Column column, size_t start) {
        with_type(column.type, [&](auto zero) { gather<decltype(zero)>(column, start); });
    }
};

}  // namespace countwise::COUNTWISE_LEVEL
