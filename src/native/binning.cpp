// What it takes to part columns into bins: counts of narrow buckets, the cells of some of them, and codes.
#include "bins.h"
#include "levels.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t chunk_rows = 16 * tile_rows;

// Buckets of some tiles first, counts then: so the table of one column stays in the first-level cache meanwhile.
void count_chunk(const Column* columns, size_t count, size_t start, size_t n, const BinMap* maps,
                 std::uint16_t* buckets) {
    alignas(64) double tile[group_columns * tile_rows];
    const double* x[group_columns];
    for (size_t r = 0; r < n; r += tile_rows) {
        tile_by_columns(columns, count, start + r, smaller(tile_rows, n - r), tile, x);
        for (size_t j = 0; j < count; ++j) buckets_of(x[j], maps[j], buckets + j * chunk_rows + r);
    }
}

// A set of few numbers, by open addressing. 0 and -0 are one number.
class FewValues {
public:
    FewValues() {
        for (size_t i = 0; i < places; ++i) table_[i] = NAN;
    }
    // False once there are more than `limit`, which are not kept.
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
    static constexpr size_t place_bits = 10, places = size_t{1} << place_bits;  // four times the most values
    double table_[places];
    size_t count_ = 0;
};

}  // namespace

void few_values(const Column* columns, size_t n_columns, size_t rows, size_t limit, double* values, int64_t* counts) {
    alignas(64) double cells[tile_rows];
    for (size_t j = 0; j < n_columns; ++j) {
        FewValues found;
        bool few = true;
        double* to = values + j * limit;
        for (size_t start = 0; few && start < rows; start += tile_rows) {
            const size_t n = smaller(tile_rows, rows - start);
            convert(columns[j], start, n, cells);
            for (size_t r = 0; few && r < n; ++r) few = cells[r] != cells[r] || found.add(cells[r], limit, to);
        }
        counts[j] = few ? static_cast<int64_t>(found.count()) : -1;
    }
}

void bin_counts(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const double* weights,
                uint32_t* counts, double* sums) {
    Scratch<std::uint16_t> buckets(group_columns * chunk_rows);
    for (size_t from = 0; from < n_columns; from += group_columns) {
        const size_t count = smaller(group_columns, n_columns - from);
        for (size_t start = 0; start < rows; start += chunk_rows) {
            const size_t n = smaller(chunk_rows, rows - start);
            count_chunk(columns + from, count, start, n, maps + from, buckets.get());
            for (size_t j = 0; j < count; ++j) {
                const std::uint16_t* b = buckets.get() + j * chunk_rows;
                uint32_t* to = counts + (from + j) * (bin_buckets + 1);
                for (size_t r = 0; r < n; ++r) ++to[b[r]];
                if (!weights) continue;
                double* sum = sums + (from + j) * (bin_buckets + 1);
                for (size_t r = 0; r < n; ++r) sum[b[r]] += weights[start + r];
            }
        }
    }
}

void bin_collect(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const double* weights,
                  const BinSlots* slots) {
    each_tile(columns, n_columns, rows, [&](size_t j, const double* x, size_t start, size_t n) {
        const BinSlots& mine = slots[j];
        std::uint16_t bucket[tile_rows];
        std::uint8_t met[tile_rows];
        buckets_of(x, maps[j], bucket);
        size_t count = 0;
        for (size_t r = 0; r < n; ++r) {
            met[count] = static_cast<std::uint8_t>(r);
            count += mine.slot[bucket[r]] != 0;
        }
        for (size_t i = 0; i < count; ++i) {
            const size_t r = met[i], s = mine.slot[bucket[r]];
            const double v = x[r], w = weights ? weights[start + r] : 1.0;
            const bool common = v == mine.common[s];
            mine.least[s] = v < mine.least[s] ? v : mine.least[s];
            mine.same[s] += common ? w : 0.0;
            if (common || !mine.wanted[s]) continue;
            if (*mine.count < mine.room) {
                mine.values[*mine.count] = v;
                if (weights) mine.weights[*mine.count] = w;
            }
            ++*mine.count;
        }
    });
}

namespace {

// One step for each power of 2 up to the most edges in a bucket. The edges end in infinities.
template <size_t Steps>
COUNTWISE_INLINE void write_codes(const double* x, const std::uint16_t* bucket, size_t n, const BinEdges& edges,
                                  size_t steps, std::uint8_t* to) {
    for (size_t r = 0; r < n; ++r) {
        size_t k = edges.first[bucket[r]];
        for (size_t left = Steps ? Steps : steps; left > 0; --left) {
            const size_t half = size_t{1} << (left - 1);
            k += half & (size_t{0} - size_t{edges.edges[k + half - 1] < x[r]});
        }
        to[r] = static_cast<std::uint8_t>(k);
    }
}

}  // namespace

void bin_codes(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const BinEdges* edges,
               std::uint8_t* const* codes) {
    each_tile(columns, n_columns, rows, [&](size_t j, const double* x, size_t start, size_t n) {
        std::uint16_t bucket[tile_rows];
        buckets_of(x, maps[j], bucket);
        switch (edges[j].steps) {
            case 1: return write_codes<1>(x, bucket, n, edges[j], 1, codes[j] + start);
            case 2: return write_codes<2>(x, bucket, n, edges[j], 2, codes[j] + start);
            default: return write_codes<0>(x, bucket, n, edges[j], edges[j].steps, codes[j] + start);
        }
    });
}

}  // namespace countwise::COUNTWISE_LEVEL
