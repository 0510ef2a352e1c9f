// Exact log sums of Gaussian kernels over the points that matter.
#include "gauss_transform.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// Points without weight would make the nearest point a bad guide to the size of the sum: they are left out.
size_t count_kept(const Points& points) {
    if (!points.w) return points.n;
    size_t kept = 0;
    for (size_t i = 0; i < points.n; ++i) kept += points.w[i] > 0;
    return kept;
}

}  // namespace

Sources::Sources(const Points& points)
    : x(points.x), w(points.w), n(count_kept(points)), scale(sqrt_half / points.h), weight(static_cast<double>(n)),
      kept_(n < points.n ? 2 * n : 0) {
    if (n < points.n) {
        size_t to = 0;
        for (size_t i = 0; i < points.n; ++i)
            if (points.w[i] > 0) kept_[to] = points.x[i], kept_[n + to++] = points.w[i];
        x = kept_.get(), w = kept_.get() + n;
    }
    if (!w) return;
    weight = 0.0;
    for (size_t i = 0; i < n; ++i) weight += w[i];
}

bool Sources::nearest(double q, size_t self, size_t* which) const {
    size_t left, right;  // left - 1 and right are the neighbors
    if (self == nobody) left = right = first_from(x, n, q);
    else left = self, right = self + 1;
    if (left == 0 && right >= n) return false;
    if (left == 0) *which = right;
    else if (right >= n) *which = left - 1;
    else *which = q - x[left - 1] <= x[right] - q ? left - 1 : right;
    return true;
}

// Sum of w exp(z0 * z0 - z * z) over some points, where z0, at the distance d0, is the smallest z.
double Sources::part(double q, double d0, size_t from, size_t to) const {
    const vd center = splat(q), factor = splat(scale), least = splat(d0);
    vd sum = splat(0.0);
    const auto term = [&](vd at, vd weights) {
        const vd d = abs_of(at - center);
        // Not a difference of squares, which would cancel far out; and a difference before it is scaled, so
        // that it is exactly 0 at equal distances even if products and sums are rounded together.
        sum += exp_or_0(((least - d) * factor) * ((d + least) * factor)) * weights;
    };
    size_t i = from;
    for (; i + lanes <= to; i += lanes) term(load(x + i), w ? load(w + i) : splat(1.0));
    if (i < to) {
        double last[lanes], weights[lanes];
        for (size_t k = 0; k < lanes; ++k) {
            last[k] = i + k < to ? x[i + k] : HUGE_VAL;  // the kernel is 0 there
            weights[k] = i + k < to ? weight_of(i + k) : 0.0;
        }
        term(load(last), load(weights));
    }
    return sum_of(sum);
}

// The nearest point, at z0 with weight w0, alone gives w0 exp(-z0 z0). Points beyond z1 give together at most
// `weight` * exp(-z1 z1), which is below 1e-17 of that if z1 z1 >= z0 z0 + log(weight / w0) + log(1e17).
double Sources::log_sum(double q, size_t self, double rest) const {
    if (q != q) return q;
    size_t near = self;
    double d0 = 0.0, w0 = rest;
    if (self == nobody || rest <= 0) {
        if (!nearest(q, self, &near)) return -HUGE_VAL;
        d0 = std::fabs(q - x[near]);
        w0 = weight_of(near);
    }
    const double z0 = d0 * scale;
    if (!(z0 * z0 < HUGE_VAL)) return -HUGE_VAL;
    const double margin = larger(std::log(weight / w0), 0.0) + 39.2;
    const double reach = std::sqrt(z0 * z0 + margin) / scale * (1 + 1e-12);  // more than its rounding
    const size_t low = smaller(first_from(x, n, q - reach), near);
    const size_t high = larger(first_above(x, n, q + reach), near + 1);
    double sum = self == nobody ? part(q, d0, low, high)
                                : part(q, d0, smaller(low, self), self) + part(q, d0, self + 1, larger(high, self + 1));
    if (self != nobody && rest > 0) sum += rest;
    return std::log(sum) - z0 * z0;
}

}  // namespace countwise::COUNTWISE_LEVEL
