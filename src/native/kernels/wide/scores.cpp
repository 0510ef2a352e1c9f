// Leave-one-out scores of distributions: normal densities without the evaluated value, and sums of log posteriors.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// A power of 2 whose square scales x to about 1; 1 if x is not a positive number.
double scale_for(double x) {
    int exponent = 0;
    if (!(x > 0) || !(x < INFINITY)) return 1.0;
    std::frexp(x, &exponent);
    return std::ldexp(1.0, -exponent / 2);
}

// Distances are scaled, so that no denormal variance is passed to log_of.
class LooGaussian {
public:
    explicit LooGaussian(const LooMoments& moments)
        : no_variance_(moments.overall_variance <= 0), few_(!(moments.n > 2)),
          mean_(moments.n > 1 ? moments.mean : moments.overall_mean), scale_(scale_for(moments.overall_variance)),
          factor_(moments.n > 1 ? moments.n / (moments.n - 1) : 1.0), m2_(moments.m2 * scale_ * scale_),
          inverse_(1.0 / (moments.n - 2)), overall_variance_(moments.overall_variance * scale_ * scale_),
          least_(1e-9 * overall_variance_), norm_(std::log(scale_) - 0.91893853320467274178) {}

    // Writes the log densities at n values, as contiguous doubles.
    void write(const double* values, size_t n, char* out) const {
        size_t i = 0;
        Checkpoint checkpoint;
        for (; !no_variance_ && i + lanes <= n; i += lanes) {
            checkpoint.after(lanes);
            store(out + i * sizeof(double), at(load(values + i)));
        }
        for (; i < n; ++i) store(out + i * sizeof(double), no_variance_ ? 0.0 : at(splat(values[i]))[0]);
    }

private:
    COUNTWISE_INLINE vd at(vd x) const {
        const vd distance = (x - splat(mean_)) * splat(scale_), away = distance * splat(factor_);
        vd variance = few_ ? splat(overall_variance_) : (splat(m2_) - distance * away) * splat(inverse_);
        variance = select(variance < splat(least_), splat(least_), variance);
        const vd log = select(variance < splat(INFINITY), log_of(variance), variance);
        return splat(norm_) - splat(0.5) * (away * away / variance + log);
    }

    const bool no_variance_, few_;  // variance of 0; fewer than two other values, so that the overall variance is used
    const double mean_, scale_, factor_, m2_, inverse_, overall_variance_, least_, norm_;
};

// The log posterior, at least `least`; `bad` rows contain NaN.
COUNTWISE_INLINE vd limited(vd log_posterior, vd top, vi bad, double least) {
    const vd zero = top - top;  // NaN for an infinite maximum
    return select((log_posterior > splat(least)) & (zero == zero) & ~bad, log_posterior, splat(least));
}

COUNTWISE_INLINE vd log_share_of_2(vd own, vd other, double least) {
    const vd top = select(other > own, other, own);
    const vd log_posterior = (own - top) - log_1_plus(exp_or_0(splat(0.0) - abs_of(own - other)));
    return limited(log_posterior, top, (own != own) | (other != other), least);
}

// The log posterior of class c for a vector of rows of the tile.
COUNTWISE_INLINE vd log_posterior_of(const double* tile, size_t classes, size_t c, size_t r, double least) {
    const vd own = load(tile + c * tile_rows + r);
    if (classes == 2) return log_share_of_2(own, load(tile + (1 - c) * tile_rows + r), least);
    vd top = own;
    vi bad = own != own;
    for (size_t k = 0; k < classes; ++k) {
        const vd x = load(tile + k * tile_rows + r);
        top = select(x > top, x, top);
        bad = bad | (x != x);
    }
    // The sum without the first maximum, whose term is 1: adding small terms to 1 would round them.
    vi seen = splat_bits(0);
    vd others = splat(0.0);
    for (size_t k = 0; k < classes; ++k) {
        const vd x = load(tile + k * tile_rows + r);
        const vi first = (x == top) & ~seen;
        seen = seen | first;
        others += only(~first, exp_or_0(x - top));
    }
    // The rounding error of the sum, where it matters, equals its contribution to the logarithm.
    const vd one = splat(1.0), sum = one + others;
    return limited((own - top) - (log_of(sum) + (others - (sum - one))), top, bad, least);
}

}  // namespace

void gaussian_loo(const LooMoments& moments, const double* values, size_t n, char* out, ptrdiff_t stride) {
    const LooGaussian gaussian(moments);
    if (stride == sizeof(double)) return gaussian.write(values, n, out);
    double tile[tile_rows];
    Checkpoint checkpoint;
    for (size_t start = 0; start < n; start += tile_rows) {
        const size_t count = smaller(tile_rows, n - start);
        checkpoint.after(count);
        gaussian.write(values + start, count, reinterpret_cast<char*>(tile));
        for (size_t r = 0; r < count; ++r, out += stride) store(out, tile[r]);
    }
}

double sum_log_posterior(const double* joint, size_t rows, size_t classes, size_t c, Column weights, double least) {
    Scratch<double> tile(classes * tile_rows);
    double weight[tile_rows], total = 0;
    for (size_t r = 0; r < tile_rows; ++r) weight[r] = 1.0;
    const bool equal = weights.stride == 0;
    if (weights.data && equal && rows) convert(weights, 0, tile_rows, weight);
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        checkpoint.after(n * classes);
        rows_to_tile(joint + start * classes, classes, n, tile.get());
        if (weights.data && !equal) convert(weights, start, n, weight);
        for (size_t r = n; r < tile_rows; ++r) weight[r] = 0.0;
        vd sum = splat(0.0);
        for (size_t r = 0; r < n; r += lanes)
            sum += load(weight + r) * log_posterior_of(tile.get(), classes, c, r, least);
        total += sum_of(sum);
    }
    return total;
}

}  // namespace countwise::COUNTWISE_LEVEL
