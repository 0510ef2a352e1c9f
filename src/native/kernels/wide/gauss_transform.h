// Sums of Gaussian kernels in one dimension: what the exact sums and the expansions share.
//
// Distances are in units of sqrt(2) h, in which a kernel is exp(-z * z).
#pragma once
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

constexpr double sqrt_half = 0.70710678118654752440;
constexpr size_t nobody = SIZE_MAX;

// Points that weigh something, and what the exact sum needs to know of them all.
class Sources {
public:
    explicit Sources(const Points& points);

    const double* x;
    const double* w;  // null if every weight is 1
    size_t n;
    double scale;   // 1 / (sqrt(2) h)
    double weight;  // of all points

    double weight_of(size_t i) const { return w ? w[i] : 1.0; }

    // The log sum at q, of all points or of all but `self`, which then has the weight `rest` instead.
    double log_sum(double q, size_t self = nobody, double rest = 0.0) const;

private:
    double part(double q, double d0, size_t from, size_t to) const;
    bool nearest(double q, size_t self, size_t* which) const;

    Scratch<double> kept_;
};

// The first of n ascending numbers for which `before` is false.
template <class Before>
COUNTWISE_INLINE size_t first_not(const double* x, size_t n, const Before& before) {
    size_t low = 0;
    while (n > 0) {
        const size_t half = n / 2;
        const bool right = before(x[low + half]);
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

inline size_t first_from(const double* x, size_t n, double q) {
    return first_not(x, n, [q](double at) { return at < q; });
}

inline size_t first_above(const double* x, size_t n, double q) {
    return first_not(x, n, [q](double at) { return at <= q; });
}

}  // namespace countwise::COUNTWISE_LEVEL
