// Steps of binning columns: counts of narrow buckets, the values of some buckets, and codes. The map from a number to
// its bucket uses integer arithmetic, so that it is monotonic.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// The position of each value of a full tile in the range of its map.
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

// The bucket of each value of a full tile; `bin_buckets` for NaN.
COUNTWISE_INLINE void buckets_of(const double* x, const BinMap& map, uint16_t* to) {
    int32_t place[tile_rows];
    places_of(x, map, place);
    for (size_t r = 0; r < tile_rows; ++r) {
        const uint32_t p = static_cast<uint32_t>(place[r]), cell = map.cells[p >> 16];
        to[r] = static_cast<uint16_t>((cell & 0xffff) + (((p & 0xffff) * (cell >> 16)) >> 16));
    }
}

constexpr size_t chunk_rows = 32 * tile_rows;

// Calls work(j, buckets, start, n) for every column and some rows at a time. Buckets are computed for all columns of a
// tile, because these may be in one cache line. They are used column by column for many rows, so that the tables of a
// column stay in the L1 cache.
template <class Work>
void each_chunk(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, Work work) {
    Scratch<uint16_t> buckets(group_columns * chunk_rows);
    alignas(64) double tile[group_columns * tile_rows];
    const double* x[group_columns];
    Checkpoint checkpoint;
    for (size_t from = 0; from < n_columns; from += group_columns) {
        const size_t count = smaller(group_columns, n_columns - from);
        for (size_t start = 0; start < rows; start += chunk_rows) {
            const size_t stop = smaller(rows, start + chunk_rows);
            checkpoint.after((stop - start) * count);
            for (size_t at = start; at < stop; at += tile_rows) {
                const size_t n = smaller(tile_rows, stop - at), next = at + n;
                tile_by_columns(columns + from, count, at, n, tile, x);
                Ahead ahead;
                ahead.add(columns + from, count, next, smaller(tile_rows, rows - next));
                ahead.distribute(count);
                for (size_t j = 0; j < count; ++j) {
                    ahead.some();
                    buckets_of(x[j], maps[from + j], buckets.get() + j * chunk_rows + (at - start));
                }
            }
            for (size_t j = 0; j < count; ++j) work(from + j, buckets.get() + j * chunk_rows, start, stop - start);
        }
    }
}

// The rows of a chunk that need to be examined, and their values.
struct Met {
    uint16_t rows[chunk_rows];
    double x[chunk_rows];
    size_t count;

    // Writes the codes of all rows. The word of a bucket is its code, plus 256 if it is examined.
    COUNTWISE_APART void find(const uint16_t* words, const uint16_t* buckets, size_t n, uint8_t* codes) {
        // Several rows are read before any is written: a load after a store to the same offset in another page would
        // wait for it.
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

// A set of few numbers, by open addressing. 0 and -0 are equal.
class FewValues {
public:
    FewValues() {
        for (size_t i = 0; i < places; ++i) table_[i] = NAN;
    }
    // Returns false if there are more than `limit` numbers; further numbers are not kept.
    COUNTWISE_INLINE bool add(double x, size_t limit, double* values) {
        x += 0.0;
        uint64_t key;
        std::memcpy(&key, &x, sizeof key);
        size_t i = static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> (64 - place_bits));
        while (table_[i] != x) {
            if (table_[i] != table_[i]) {
                if (count_ == limit) return false;
                values[count_++] = table_[i] = x;
                return true;
            }
            i = (i + 1) % places;
        }
        return true;
    }
    size_t count() const { return count_; }

private:
    static constexpr size_t place_bits = 10,
                            places = size_t{1} << place_bits;  // four times the maximum number of values
    double table_[places];
    size_t count_ = 0;
};

}  // namespace

void few_values(const Column* columns, size_t n_columns, size_t rows, size_t limit, double* values, int64_t* counts) {
    alignas(64) double cells[tile_rows];
    Checkpoint checkpoint;
    for (size_t j = 0; j < n_columns; ++j) {
        FewValues found;
        bool few = true;
        double* to = values + j * limit;
        for (size_t start = 0; few && start < rows; start += tile_rows) {
            const size_t n = smaller(tile_rows, rows - start);
            checkpoint.after(n);
            convert(columns[j], start, n, cells);
            for (size_t r = 0; few && r < n; ++r) few = cells[r] != cells[r] || found.add(cells[r], limit, to);
        }
        counts[j] = few ? static_cast<int64_t>(found.count()) : -1;
    }
}

void bin_counts(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const double* weights,
                uint32_t* counts, double* sums) {
    each_chunk(columns, n_columns, rows, maps, [&](size_t j, const uint16_t* bucket, size_t start, size_t n) {
        uint32_t* to = counts + j * (bin_buckets + 1);
        for (size_t r = 0; r < n; ++r) ++to[bucket[r]];
        if (!weights) return;
        double* sum = sums + j * (bin_buckets + 1);
        for (size_t r = 0; r < n; ++r) sum[bucket[r]] += weights[start + r];
    });
}

namespace {

// Copies the examined values. Plain: no slot has a common value, and there are no weights.
template <bool Plain>
COUNTWISE_APART void copy_cells(const BinSlots& slots, Met& met, const uint16_t* bucket, const double* weights,
                                size_t start) {
    const uint16_t* slot = slots.slot;
    const uint8_t* wanted = slots.wanted;
    double* least = slots.least;
    size_t k = 0;
    for (size_t i = 0; i < met.count; ++i) {
        const size_t r = met.rows[i], s = slot[bucket[r]];
        const double v = met.x[i];
        least[s] = v < least[s] ? v : least[s];
        // A value that is not kept is overwritten by the next.
        met.x[k] = v;
        met.rows[k] = static_cast<uint16_t>(r);
        const bool common = !Plain && v == slots.common[s];
        if (common) slots.same[s] += weights ? weights[start + r] : 1.0;
        k += wanted[s] & !common;
    }
    const size_t before = *slots.count;
    *slots.count = k <= slots.capacity && before <= slots.capacity - k ? before + k : slots.capacity + 1;
    if (*slots.count > slots.capacity) return;
    std::memcpy(slots.values + before, met.x, k * sizeof(double));
    for (size_t i = 0; i < k; ++i) slots.rows[before + i] = static_cast<uint32_t>(start) + met.rows[i];
    for (size_t i = 0; weights && i < k; ++i) slots.weights[before + i] = weights[start + met.rows[i]];
}

// Counts the edges below x, with one step for each power of 2 up to the maximum number of edges in a bucket. The edges
// are padded with infinity.
COUNTWISE_INLINE size_t count_on(size_t k, double x, const double* edges, size_t steps) {
    for (size_t left = steps; left > 0; --left) {
        const size_t half = size_t{1} << (left - 1);
        k += half & (size_t{0} - size_t{edges[k + half - 1] < x});
    }
    return k;
}

template <class Row>
void amend(const double* x, const Row* rows, size_t n, const double* edges, size_t steps, uint8_t* codes) {
    if (steps == 1)
        for (size_t i = 0; i < n; ++i) codes[rows[i]] = static_cast<uint8_t>(count_on(codes[rows[i]], x[i], edges, 1));
    else
        for (size_t i = 0; i < n; ++i)
            codes[rows[i]] = static_cast<uint8_t>(count_on(codes[rows[i]], x[i], edges, steps));
}

}  // namespace

void bin_collect(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const double* weights,
                 const BinSlots* slots) {
    Met met;
    each_chunk(columns, n_columns, rows, maps, [&](size_t j, const uint16_t* bucket, size_t start, size_t n) {
        const BinSlots& mine = slots[j];
        met.find(mine.words, bucket, n, mine.codes + start);
        met.read(columns[j], start);
        if (weights || mine.any_common) copy_cells<false>(mine, met, bucket, weights, start);
        else copy_cells<true>(mine, met, bucket, weights, start);
    });
}

void bin_codes(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const BinEdges* edges,
               uint8_t* const* codes) {
    Met met;
    each_chunk(columns, n_columns, rows, maps, [&](size_t j, const uint16_t* bucket, size_t start, size_t n) {
        met.find(edges[j].words, bucket, n, codes[j] + start);
        met.read(columns[j], start);
        amend(met.x, met.rows, met.count, edges[j].edges, edges[j].steps, codes[j] + start);
    });
}

void bin_amend(const double* values, const uint32_t* rows, size_t n, const double* edges, size_t steps,
               uint8_t* codes) {
    amend(values, rows, n, edges, steps, codes);
}

}  // namespace countwise::COUNTWISE_LEVEL
