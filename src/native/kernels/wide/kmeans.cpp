// Optimal clusters on a line, by dynamic programming over the start of the last cluster.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr double equal_within = 1e-13;

// Numbers of twice the precision, so that a few distant values do not hide the differences between close ones.
struct Double {
    double high, low;
};

COUNTWISE_INLINE Double two_sum(double a, double b) {
    const double sum = a + b, added = sum - a;
    return {sum, (a - (sum - added)) + (b - added)};
}

COUNTWISE_INLINE Double two_product(double a, double b) {
    const double product = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return {product, __builtin_fma(a, b, -product)};
#else
    constexpr double split = 134217729.0;  // 2**27 + 1 selects the upper half of the digits
    const double x = split * a, a1 = x - (x - a), a2 = a - a1;
    const double y = split * b, b1 = y - (y - b), b2 = b - b1;
    return {product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
#endif
}

COUNTWISE_INLINE Double add(Double a, Double b) {
    const Double sum = two_sum(a.high, b.high);
    return two_sum(sum.high, sum.low + (a.low + b.low));
}

COUNTWISE_INLINE Double minus(Double a) { return {-a.high, -a.low}; }

COUNTWISE_INLINE Double times(Double a, double b) {
    const Double product = two_product(a.high, b);
    return {product.high, product.low + a.low * b};
}

// Cumulative sums of weights, weighted values and weighted squares.
class Prefix {
public:
    Prefix(const double* values, const double* weights, size_t n) : high_(3 * (n + 1)), low_(3 * (n + 1)), n_(n + 1) {
        double most = 0.0;
        for (size_t i = 0; i < n; ++i) most = larger(most, std::fabs(values[i]));
        int exponent = 0;
        std::frexp(most, &exponent);
        Double sum[3] = {}, first = {0.0, 0.0};
        double all = 0.0;
        // Scaled by a power of 2 so that no square overflows, and centered on the mean, both without rounding.
        for (size_t i = 0; i < n; ++i) {
            const double w = weights ? weights[i] : 1.0;
            first = add(first, two_product(w, std::ldexp(values[i], -exponent)));
            all += w;
        }
        const double mean = n ? first.high / all : 0.0;
        put(0, sum);
        for (size_t i = 0; i < n; ++i) {
            const double w = weights ? weights[i] : 1.0;
            const Double x = two_sum(std::ldexp(values[i], -exponent), -mean);
            const Double wx = times(x, w);
            sum[0] = add(sum[0], {w, 0.0});
            sum[1] = add(sum[1], wx);
            sum[2] = add(sum[2], add(times(wx, x.high), times(wx, x.low)));
            put(i + 1, sum);
        }
    }

    // Computes to[i - first] = before[i] + the squared deviations of values i .. stop - 1 from their mean, first <= i <
    // last.
    void deviations(size_t first, size_t last, size_t stop, const double* before, double* to) const {
        const Double all[3] = {at(0, stop), at(1, stop), at(2, stop)};
        const double *w1 = high_.get(), *w2 = low_.get(), *x1 = w1 + n_, *x2 = w2 + n_, *s1 = x1 + n_, *s2 = x2 + n_;
        for (size_t i = first; i < last; ++i) {
            const Double w = add(all[0], {-w1[i], -w2[i]}), x = add(all[1], {-x1[i], -x2[i]}),
                         s = add(all[2], {-s1[i], -s2[i]});
            // The sum of squared deviations from an m near the mean is wrong only by the square of the difference.
            const double m = x.high / w.high;
            const Double rest = add(add(x, x), minus(times(w, m)));
            const Double squares = add(s, minus(times(rest, m)));
            const double value = squares.high + squares.low;
            to[i - first] = before[i] + (value > 0.0 ? value : 0.0);
        }
    }

private:
    void put(size_t i, const Double* sum) {
        for (size_t k = 0; k < 3; ++k) high_[k * n_ + i] = sum[k].high, low_[k * n_ + i] = sum[k].low;
    }
    COUNTWISE_INLINE Double at(size_t k, size_t i) const { return {high_[k * n_ + i], low_[k * n_ + i]}; }

    Scratch<double> high_, low_;
    size_t n_;
};

// Adds one cluster: for prefixes of each length, the best start of the last cluster.
struct Layer {
    const Prefix& prefix;
    const double* before;  // for each length, with one cluster less
    double* least;
    int32_t* start;
    double* sums;
    Checkpoint& checkpoint;

    size_t solve(size_t length, size_t first, size_t last) const {
        checkpoint.after(8 * (last - first));
        prefix.deviations(first, last, length, before, sums);
        double low = sums[0];
        for (size_t i = 1; i < last - first; ++i) low = smaller(low, sums[i]);
        least[length] = low;
        const double limit = low + low * equal_within;
        size_t best = 0;
        while (!(sums[best] <= limit) && best + 1 < last - first) ++best;
        return first + best;
    }
    // The best start never decreases with the length, so that the start for the middle length bounds those on both
    // sides.
    void solve_all(size_t shortest, size_t longest, size_t first, size_t last) const {
        while (shortest <= longest) {
            const size_t middle = shortest + (longest - shortest) / 2;
            const size_t best = solve(middle, first, smaller(last + 1, middle));
            start[middle] = static_cast<int32_t>(best);
            if (middle > shortest) solve_all(shortest, middle - 1, first, best);
            shortest = middle + 1;
            first = best;
        }
    }
};

}  // namespace

void kmeans_1d(const double* values, const double* weights, size_t n, size_t k, int64_t* starts) {
    const Prefix prefix(values, weights, n);
    Scratch<double> zero(n + 1), one(n + 1), two(n + 1), sums(n + 1);
    Scratch<int32_t> start(k > 2 ? (k - 2) * (n + 1) : 0);
    for (size_t i = 0; i <= n; ++i) zero[i] = 0.0;
    double *before = one.get(), *least = two.get();
    Checkpoint checkpoint;
    for (size_t length = 1; length <= n; ++length) prefix.deviations(0, 1, length, zero.get(), before + length);
    for (size_t q = 2; q < k; ++q) {
        const Layer layer{prefix, before, least, &start[(q - 2) * (n + 1)], sums.get(), checkpoint};
        layer.solve_all(q, n - (k - q), q - 1, n - (k - q) - 1);
        double* other = before;
        before = least, least = other;
    }
    starts[0] = 0;
    if (k < 2) return;
    size_t place = Layer{prefix, before, least, nullptr, sums.get(), checkpoint}.solve(n, k - 1, n);
    starts[k - 1] = static_cast<int64_t>(place);
    for (size_t q = k - 1; q >= 2; --q) {
        place = static_cast<size_t>(start[(q - 2) * (n + 1) + place]);
        starts[q - 1] = static_cast<int64_t>(place);
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
