// Log sums of product kernels, over the relevant leaves of points.
//
// Queries are processed in tiles of up to 64. Each leaf of points has an upper bound of its contribution to any query
// of the tile, from the distance of their boxes. Leaves are visited in descending order of these bounds, until the
// bounds of the remaining leaves sum to less than 1/8 of the tolerance times the smallest sum of the tile. Meanwhile
// each query has a tighter bound for each leaf. It skips a leaf if the bound is at most 1/8 of the unused part of the
// other 7/8 of its tolerance times its sum, and records the bound as lost. So no query loses more than the tolerance
// times its current sum, which only grows.
//
// A sum is stored as sum * exp(shift). The shift is the log of the largest kernel of the first leaf. It is raised only
// if a leaf may contain a kernel that is exp(300) times as large. Until then no exponential overflows, and the largest
// kernel need not be known in advance.
#include "products.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t tile_size = 64;
constexpr size_t buckets = 128;
constexpr double bucket_width = 0.5;
constexpr double portion = 1.0 / 8;
constexpr double headroom = 300.0;
constexpr size_t none = SIZE_MAX;

// A lower bound of log(x), from the bits of x: log2(1 + m) >= m. Not valid for denormal numbers.
COUNTWISE_INLINE double log_below(double x) {
    if (!(x > 1e-300)) return -HUGE_VAL;
    int64_t pattern;
    std::memcpy(&pattern, &x, sizeof x);
    return static_cast<double>(pattern - 0x3ff0000000000000) * (0.69314718055994530942 / 4503599627370496.0);
}

COUNTWISE_INLINE vd load_some(const double* from, size_t n) {
    if (n >= lanes) return load(from);
    double cells[lanes];
    for (size_t k = 0; k < lanes; ++k) cells[k] = from[k < n ? k : 0];
    return load(cells);
}

// The points of one leaf by columns, with the log weights as the last column.
class Leaf {
public:
    explicit Leaf(const Products& points) : points_(points), cells_((points.columns + 1) * product_leaf) {}

    const double* cells() const { return cells_.get(); }
    bool has_missing() const { return has_missing_; }

    void read(size_t leaf) {
        if (leaf == here_) return;
        here_ = leaf;
        const size_t start = leaf * product_leaf, d = points_.columns, n = smaller(product_leaf, points_.n - start);
        const double* row = points_.cells + start * d;
        for (size_t i = 0; i < n; ++i, row += d)
            for (size_t j = 0; j < d; ++j) cells_[j * product_leaf + i] = row[j];
        double* weights = &cells_[d * product_leaf];
        for (size_t i = 0; i < n; ++i) weights[i] = points_.log_weights ? points_.log_weights[start + i] : 0.0;
        for (size_t i = n; i < product_leaf; ++i) {
            for (size_t j = 0; j < d; ++j) cells_[j * product_leaf + i] = 0.0;
            weights[i] = -HUGE_VAL;
        }
        has_missing_ = false;
        for (size_t j = 0; j < d; ++j) has_missing_ |= points_.boxes[2 * j * points_.leaves + leaf] == -HUGE_VAL;
    }
    // Sets the log weight of a point of the leaf; returns the previous one.
    double reweigh(size_t i, double log_weight) {
        double& at = cells_[points_.columns * product_leaf + i];
        const double before = at;
        at = log_weight;
        return before;
    }

private:
    const Products& points_;
    Scratch<double> cells_;
    size_t here_ = none;
    bool has_missing_ = false;
};

// The queries of a tile by columns and by query, and their bounding box.
class QueryTile {
public:
    explicit QueryTile(const ProductKernel& kernel)
        : kernel_(kernel), cells_(kernel.count * tile_size), span_(2 * kernel.count), terms_(kernel.count * tile_size) {
    }

    size_t count = 0;
    Query query[tile_size];

    void read(const ProductQueries& queries, size_t start) {
        count = smaller(tile_size, queries.n - start);
        const size_t d = kernel_.count;
        for (size_t i = 0; i < tile_size; ++i) {
            const double* row = queries.cells + (start + smaller(i, count - 1)) * d;
            for (size_t j = 0; j < d; ++j) cells_[j * tile_size + i] = row[j];
        }
        for (size_t j = 0; j < d; ++j) span(j);
        for (size_t i = 0; i < count; ++i) list(queries, start, i);
    }
    const double* column(size_t j) const { return &cells_[j * tile_size]; }
    // Minus and plus infinity if a value is missing.
    double low(size_t j) const { return span_[2 * j]; }
    double high(size_t j) const { return span_[2 * j + 1]; }

private:
    void span(size_t j) {
        const double* cells = column(j);
        double low = HUGE_VAL, high = -HUGE_VAL;
        bool has_missing = false;
        for (size_t i = 0; i < count; ++i) {
            low = smaller(low, cells[i]), high = larger(high, cells[i]);
            has_missing |= cells[i] != cells[i];
        }
        span_[2 * j] = has_missing ? -HUGE_VAL : low;
        span_[2 * j + 1] = has_missing ? HUGE_VAL : high;
    }
    void list(const ProductQueries& queries, size_t start, size_t i) {
        const size_t d = kernel_.count;
        const double* row = queries.cells + (start + i) * d;
        const double* absent = queries.absent ? queries.absent + (start + i) * d : nullptr;
        Term* const terms = &terms_[i * d];
        size_t to = 0, p = 0;
        for (int f = 0; f < factor_count; ++f) {
            for (; p < d && kernel_[p].factor == f; ++p) {
                const ColumnFactor& part = kernel_[p];
                const double q = row[part.column];
                if (q != q) continue;
                terms[to++] = {part.column * product_leaf, q, part.a, part.b, absent ? absent[part.column] : 0.0};
            }
            query[i].end[f] = to;
        }
        query[i].terms = terms;
    }

    const ProductKernel& kernel_;
    Scratch<double> cells_, span_;
    Scratch<Term> terms_;
};

// The leaves in descending order of their bounds for the queries of a tile.
class Ranking {
public:
    Ranking(const Products& points, const ProductKernel& kernel)
        : points_(points), kernel_(kernel), keys_(points.leaves + lanes), order_(points.leaves) {}

    // Calls visit(leaf) for each leaf. Before the leaves of a bucket, go_on(log of the sum of all remaining bounds)
    // decides whether to continue.
    template <class GoOn, class Visit>
    void each(const QueryTile& tile, const GoOn& go_on, const Visit& visit) {
        bound_all(tile);
        sort();
        double remain[buckets], sum = 0.0;  // sum from each bucket on
        for (size_t b = buckets; b-- > 0;) {
            sum += static_cast<double>(begin_[b + 1] - begin_[b]) * std::exp(-bucket_width * static_cast<double>(b));
            remain[b] = top_ + std::log(sum);
        }
        for (size_t b = 0; b < buckets && go_on(remain[b]); ++b)
            for (size_t k = begin_[b]; k < begin_[b + 1]; ++k) visit(order_[k]);
    }

private:
    void bound_all(const QueryTile& tile) {
        const size_t n = points_.leaves;
        const double* weights = points_.boxes + 2 * kernel_.count * n;
        for (size_t k = 0; k < n; k += lanes) {
            vd key = load_some(weights + k, n - k);
            for (size_t p = 0; p < kernel_.count; ++p) {
                const size_t j = kernel_[p].column;
                const vd low = load_some(points_.boxes + 2 * j * n + k, n - k);
                const vd high = load_some(points_.boxes + (2 * j + 1) * n + k, n - k);
                const vd left = low - splat(tile.high(j)), right = splat(tile.low(j)) - high;
                const vi sure = (low > splat(-HUGE_VAL)) & (splat(tile.low(j)) > splat(-HUGE_VAL));
                key += log_bound(kernel_[p], select(left > right, left, right), sure);
            }
            store(keys_.get() + k, key);
        }
    }
    // Sorts into buckets by the log relative to the best; leaves that add nothing are skipped.
    void sort() {
        const size_t n = points_.leaves;
        top_ = -HUGE_VAL;
        for (size_t k = 0; k < n; ++k) top_ = larger(top_, keys_[k]);
        for (size_t b = 0; b <= buckets; ++b) begin_[b] = 0;
        for (size_t k = 0; k < n; ++k)
            if (keys_[k] > -HUGE_VAL) ++begin_[bucket(keys_[k]) + 1];
        for (size_t b = 0; b < buckets; ++b) begin_[b + 1] += begin_[b];
        size_t next[buckets];
        for (size_t b = 0; b < buckets; ++b) next[b] = begin_[b];
        for (size_t k = 0; k < n; ++k)
            if (keys_[k] > -HUGE_VAL) order_[next[bucket(keys_[k])]++] = k;
    }
    size_t bucket(double key) const {
        const double steps = (top_ - key) / bucket_width;
        return steps < static_cast<double>(buckets - 1) ? static_cast<size_t>(steps) : buckets - 1;  // the last for NaN
    }

    const Products& points_;
    const ProductKernel& kernel_;
    Scratch<double> keys_;
    Scratch<size_t> order_;
    size_t begin_[buckets + 1];
    double top_ = -HUGE_VAL;
};

// The sums of the queries of a tile.
class QueryTileSums {
public:
    QueryTileSums(const Products& points, const ProductKernel& kernel, double tolerance)
        : points_(points), kernel_(kernel), leaf_(points), tile_(kernel), ranking_(points, kernel),
          tolerance_(tolerance), log_portion_(std::log(portion * tolerance)) {}

    void run(const ProductQueries& queries, size_t start, double* logs) {
        checkpoint_.after(points_.leaves);
        tile_.read(queries, start);
        for (size_t i = 0; i < tile_size; ++i) shift_[i] = -HUGE_VAL, sum_[i] = 0.0, lost_[i] = 0.0, done_[i] = none;
        if (queries.own) add_own(queries, start);
        const auto go_on = [&](double remain) { return find_open(remain); };
        ranking_.each(tile_, go_on, [&](size_t leaf) { visit(leaf); });
        for (size_t i = 0; i < tile_.count; ++i)
            logs[start + i] = sum_[i] > 0 ? shift_[i] + std::log(sum_[i]) : -HUGE_VAL;
    }

private:
    // The leaf of a query's own point comes first, regardless of its bound, because the leaf's weight may be wrong for
    // this query.
    void add_own(const ProductQueries& queries, size_t start) {
        for (size_t i = 0; i < tile_.count; ++i) {
            const int64_t own = queries.own[start + i];
            if (own < 0) continue;
            const size_t at = static_cast<size_t>(own);
            done_[i] = at / product_leaf;
            leaf_.read(done_[i]);
            const double before = leaf_.reweigh(at % product_leaf, queries.rest[start + i]);
            add(i, HUGE_VAL);
            leaf_.reweigh(at % product_leaf, before);
        }
    }

    // Finds the vectors of queries of which at least one needs the remaining leaves; returns false if there are none.
    bool find_open(double remain) {
        n_open_ = 0;
        for (size_t i = 0; i < tile_.count; i += lanes) {
            bool needed = false;
            for (size_t k = i; k < smaller(i + lanes, tile_.count); ++k)
                needed |= remain > log_portion_ + shift_[k] + log_below(sum_[k]);
            open_[n_open_] = i;
            n_open_ += needed;
        }
        return n_open_ > 0;
    }

    void visit(size_t leaf) {
        checkpoint_.after(n_open_ * lanes * product_leaf);
        double bound[tile_size];
        bound_queries(leaf, bound);
        bool read = false;
        for (size_t o = 0; o < n_open_; ++o) {
            pass_over(open_[o], bound);
            for (size_t i = open_[o]; i < smaller(open_[o] + lanes, tile_.count); ++i) {
                if (bound[i] == -HUGE_VAL || done_[i] == leaf) continue;
                if (!read) leaf_.read(leaf);
                read = true;
                add(i, bound[i]);
            }
        }
    }

    // Records the bound of a leaf for queries that can skip it, and sets their bound to minus infinity.
    void pass_over(size_t i, double* bound) {
        const vd at = load(bound + i), above = at - load(shift_ + i), most = splat(headroom);
        const vd sum = load(sum_ + i), lost = load(lost_ + i);
        const vd value = exp_or_0(select(above < most, above, most));
        const vd left = splat((1 - portion) * tolerance_) * sum - lost;
        // A nearly denormal sum may have lost digits.
        const vi passed = (value <= splat(portion) * left) & (sum > splat(1e-280));
        store(lost_ + i, lost + only(passed, value));
        store(bound + i, select(passed, splat(-HUGE_VAL), at));
    }

    void bound_queries(size_t leaf, double* bound) const {
        const size_t n = points_.leaves;
        const double* at = points_.boxes + leaf;
        for (size_t o = 0; o < n_open_; ++o) store(bound + open_[o], splat(at[2 * kernel_.count * n]));
        for (size_t p = 0; p < kernel_.count; ++p) {
            const ColumnFactor& part = kernel_[p];
            const vd low = splat(at[2 * part.column * n]), high = splat(at[(2 * part.column + 1) * n]);
            const vi full = low > splat(-HUGE_VAL);
            const double* cells = tile_.column(part.column);
            for (size_t o = 0; o < n_open_; ++o) {
                double* const to = bound + open_[o];
                const vd q = load(cells + open_[o]), left = low - q, right = q - high;
                const vd distance = select(left > right, left, right);
                store(to, load(to) + log_bound(part, distance, full & not_nan(q)));
            }
        }
    }

    // Adds the current leaf to a query's sum; no kernel is above exp(bound).
    void add(size_t i, double bound) {
        if (!(bound <= shift_[i] + headroom)) {
            const double top = call<true>(i);
            if (top > shift_[i]) {
                const double factor = std::exp(shift_[i] - top);
                sum_[i] *= factor, lost_[i] *= factor;
                shift_[i] = top;
            }
        }
        if (shift_[i] > -HUGE_VAL) sum_[i] += call<false>(i);
    }

    template <bool top>
    double call(size_t i) const {
        const auto run = [&](auto work) { return work(leaf_.cells(), kernel_.count, tile_.query[i], shift_[i]); };
        if (kernel_.compact)
            return leaf_.has_missing() ? run(top ? leaf_top<true, true> : leaf_sum<true, true>)
                                       : run(top ? leaf_top<false, true> : leaf_sum<false, true>);
        return leaf_.has_missing() ? run(top ? leaf_top<true, false> : leaf_sum<true, false>)
                                   : run(top ? leaf_top<false, false> : leaf_sum<false, false>);
    }

    const Products& points_;
    const ProductKernel& kernel_;
    Leaf leaf_;
    QueryTile tile_;
    Ranking ranking_;
    const double tolerance_, log_portion_;
    double shift_[tile_size], sum_[tile_size], lost_[tile_size];
    size_t done_[tile_size];  // leaf that was added first
    size_t open_[tile_size / lanes], n_open_ = 0;
    Checkpoint checkpoint_;
};

}  // namespace

void product_log_sums(const Products& points, const ProductQueries& queries, double tolerance, double* logs) {
    const ProductKernel kernel(points);
    QueryTileSums sums(points, kernel, tolerance);
    for (size_t start = 0; start < queries.n; start += tile_size) sums.run(queries, start, logs);
}

}  // namespace countwise::COUNTWISE_LEVEL
