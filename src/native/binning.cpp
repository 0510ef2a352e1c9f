// What it takes to part columns into bins: counts of narrow buckets, the cells of some of them, and codes.
#include "bins.h"
#include "levels.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

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
    each_tile(columns, n_columns, rows, maps,
              [&](size_t j, const double*, const std::uint16_t* bucket, size_t start, size_t n) {
                  uint32_t* to = counts + j * (bin_buckets + 1);
                  for (size_t r = 0; r < n; ++r) ++to[bucket[r]];
                  if (!weights) return;
                  double* sum = sums + j * (bin_buckets + 1);
                  for (size_t r = 0; r < n; ++r) sum[bucket[r]] += weights[start + r];
              });
}

namespace {

// Copies cells of a tile that are in looked-into buckets, at `met`. Plain: no slot has a common number, no weights.
template <bool Plain>
COUNTWISE_INLINE void copy_cells(const BinSlots& slots, const double* x, const std::uint16_t* bucket,
                                 const std::uint8_t* met, size_t count, const double* weights, size_t start) {
    size_t k = *slots.count;
    if (k + count > slots.room) {
        *slots.count = slots.room + 1;  // and so for all that follow
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        const size_t r = met[i], s = slots.slot[bucket[r]];
        const double v = x[r];
        slots.least[s] = v < slots.least[s] ? v : slots.least[s];
        slots.values[k] = v;
        slots.rows[k] = static_cast<uint32_t>(start + r);
        if (Plain) {
            k += slots.wanted[s];
            continue;
        }
        const bool common = v == slots.common[s];
        const double w = weights ? weights[start + r] : 1.0;
        if (weights) slots.weights[k] = w;
        if (common) slots.same[s] += w;
        k += slots.wanted[s] & !common;
    }
    *slots.count = k;
}

}  // namespace

void bin_collect(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const double* weights,
                 const BinSlots* slots) {
    each_tile(columns, n_columns, rows, maps,
              [&](size_t j, const double* x, const std::uint16_t* bucket, size_t start, size_t n) {
                  const BinSlots& mine = slots[j];
                  std::uint8_t met[tile_rows];
                  size_t count = 0;
                  for (size_t r = 0; r < n; ++r) {
                      const std::uint16_t word = mine.words[bucket[r]];
                      mine.codes[start + r] = static_cast<std::uint8_t>(word);
                      met[count] = static_cast<std::uint8_t>(r);
                      count += word >> 8;
                  }
                  if (weights || mine.any_common) copy_cells<false>(mine, x, bucket, met, count, weights, start);
                  else copy_cells<true>(mine, x, bucket, met, count, weights, start);
              });
}

namespace {

// One step for each power of 2 up to the most edges in a bucket. The edges end in infinities.
COUNTWISE_INLINE size_t count_on(size_t k, double x, const double* edges, size_t steps) {
    for (size_t left = steps; left > 0; --left) {
        const size_t half = size_t{1} << (left - 1);
        k += half & (size_t{0} - size_t{edges[k + half - 1] < x});
    }
    return k;
}

template <size_t Steps>
COUNTWISE_INLINE void write_codes(const double* x, const std::uint16_t* bucket, size_t n, const BinEdges& edges,
                                  std::uint8_t* to) {
    for (size_t r = 0; r < n; ++r)
        to[r] = static_cast<std::uint8_t>(
            count_on(edges.first[bucket[r]], x[r], edges.edges, Steps ? Steps : edges.steps));
}

}  // namespace

void bin_codes(const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const BinEdges* edges,
               std::uint8_t* const* codes) {
    each_tile(columns, n_columns, rows, maps,
              [&](size_t j, const double* x, const std::uint16_t* bucket, size_t start, size_t n) {
                  switch (edges[j].steps) {
                      case 1: return write_codes<1>(x, bucket, n, edges[j], codes[j] + start);
                      case 2: return write_codes<2>(x, bucket, n, edges[j], codes[j] + start);
                      default: return write_codes<0>(x, bucket, n, edges[j], codes[j] + start);
                  }
              });
}

void bin_amend(const double* values, const uint32_t* rows, size_t n, const double* edges, size_t steps,
               std::uint8_t* codes) {
    if (steps == 1)
        for (size_t i = 0; i < n; ++i)
            codes[rows[i]] = static_cast<std::uint8_t>(count_on(codes[rows[i]], values[i], edges, 1));
    else
        for (size_t i = 0; i < n; ++i)
            codes[rows[i]] = static_cast<std::uint8_t>(count_on(codes[rows[i]], values[i], edges, steps));
}

}  // namespace countwise::COUNTWISE_LEVEL
