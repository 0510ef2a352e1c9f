// Scores of laws by leaving rows out: densities made without the value they are for, and sums of log posteriors.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// A power of 2 whose square brings x near 1; 1 if x is not a positive number.
double scale_for(double x) {
    int exponent = 0;
    if (!(x > 0) || !(x < INFINITY)) return 1.0;
    std::frexp(x, &exponent);
    return std::ldexp(1.0, -exponent / 2);
}

// Distances are scaled, so that log_of meets no denormal variance.
class LeftOutGaussian {
public:
    explicit LeftOutGaussian(const LeftOut& law)
        : silent_(law.spread <= 0), few_(!(law.n > 2)), mean_(law.n > 1 ? law.mean : law.middle),
          scale_(scale_for(law.spread)), factor_(law.n > 1 ? law.n / (law.n - 1) : 1.0), m2_(law.m2 * scale_ * scale_),
          inverse_(1.0 / (law.n - 2)), spread_(law.spread * scale_ * scale_), least_(1e-9 * spread_),
          norm_(std::log(scale_) - 0.91893853320467274178) {}

    // The log densities at n values, as doubles one after the other.
    void write(const double* values, size_t n, char* out) const {
        size_t i = 0;
        for (; !silent_ && i + lanes <= n; i += lanes) store(out + i * sizeof(double), at(load(values + i)));
        for (; i < n; ++i) store(out + i * sizeof(double), silent_ ? 0.0 : at(splat(values[i]))[0]);
    }

private:
    COUNTWISE_INLINE vd at(vd x) const {
        const vd distance = (x - splat(mean_)) * splat(scale_), away = distance * splat(factor_);
        vd variance = few_ ? splat(spread_) : (splat(m2_) - distance * away) * splat(inverse_);
        variance = select(variance < splat(least_), splat(least_), variance);
        const vd log = select(variance < splat(INFINITY), log_of(variance), variance);
        return splat(norm_) - splat(0.5) * (away * away / variance + log);
    }

    const bool silent_, few_;  // no spread; less than two others, so that the variance is the spread
    const double mean_, scale_, factor_, m2_, inverse_, spread_, least_, norm_;
};

// The log of a share, at least `least`; the row is bad if it holds a NaN.
COUNTWISE_INLINE vd limited(vd share, vd top, vi bad, double least) {
    const vd zero = top - top;  // NaN for an infinite maximum
    return select((share > splat(least)) & (zero == zero) & ~bad, share, splat(least));
}

COUNTWISE_INLINE vd log_share_of_2(vd own, vd other, double least) {
    const vd top = select(other > own, other, own);
    const vd share = (own - top) - log_1_plus(exp_or_0(splat(0.0) - abs_of(own - other)));
    return limited(share, top, (own != own) | (other != other), least);
}

// The log of class c's share in a vector of rows of the tile.
COUNTWISE_INLINE vd log_share(const double* tile, size_t classes, size_t c, size_t r, double least) {
    const vd own = load(tile + c * tile_rows + r);
    if (classes == 2) return log_share_of_2(own, load(tile + (1 - c) * tile_rows + r), least);
    vd top = own;
    vi bad = own != own;
    for (size_t k = 0; k < classes; ++k) {
        const vd x = load(tile + k * tile_rows + r);
        top = select(x > top, x, top);
        bad = bad | (x != x);
    }
    // All but the first of the greatest, which is 1: added to that, a small share of the others would be rounded.
    vi seen = splat_bits(0);
    vd others = splat(0.0);
    for (size_t k = 0; k < classes; ++k) {
        const vd x = load(tile + k * tile_rows + r);
        const vi first = (x == top) & ~seen;
        seen = seen | first;
        others += only(~first, exp_or_0(x - top));
    }
    // What rounding takes from the sum is, where it matters, as good as its part of the logarithm.
    const vd one = splat(1.0), sum = one + others;
    return limited((own - top) - (log_of(sum) + (others - (sum - one))), top, bad, least);
}

}  // namespace

void gaussian_left_out(const LeftOut& law, const double* values, size_t n, char* out, ptrdiff_t stride) {
    const LeftOutGaussian gaussian(law);
    if (stride == sizeof(double)) return gaussian.write(values, n, out);
    double tile[tile_rows];
    for (size_t start = 0; start < n; start += tile_rows) {
        const size_t count = smaller(tile_rows, n - start);
        gaussian.write(values + start, count, reinterpret_cast<char*>(tile));
        for (size_t r = 0; r < count; ++r, out += stride) store(out, tile[r]);
    }
}

double sum_log_share(const double* joint, size_t rows, size_t classes, size_t c, Column weights, double least) {
    Scratch<double> tile(classes * tile_rows);
    double weight[tile_rows], total = 0;
    for (size_t r = 0; r < tile_rows; ++r) weight[r] = 1.0;
    const bool equal = weights.stride == 0;
    if (weights.data && equal && rows) convert(weights, 0, tile_rows, weight);
    for (size_t start = 0; start < rows; start += tile_rows) {
        const size_t n = smaller(tile_rows, rows - start);
        rows_to_tile(joint + start * classes, classes, n, tile.get());
        if (weights.data && !equal) convert(weights, start, n, weight);
        for (size_t r = n; r < tile_rows; ++r) weight[r] = 0.0;
        vd sum = splat(0.0);
        for (size_t r = 0; r < n; r += lanes) sum += load(weight + r) * log_share(tile.get(), classes, c, r, least);
        total += sum_of(sum);
    }
    return total;
}

}  // namespace countwise::COUNTWISE_LEVEL
