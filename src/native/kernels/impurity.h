// What the impurities of nodes are made of.
#pragma once
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

COUNTWISE_INLINE vd larger_of(vd a, vd b) { return select(a > b, a, b); }

// x log2 x, 0 at 0.
COUNTWISE_INLINE vd x_log_x(vd x) {
    const vi some = x > splat(1e-300);
    return only(some, x * log_of(select(some, x, splat(1.0))) * splat(1.4426950408889634074));
}
COUNTWISE_INLINE double x_log_x(double x) { return x_log_x(splat(x))[0]; }

constexpr size_t most_tabled = 4096;  // 32 KB of x log x

// x log2 x of the whole numbers below a limit.
class Logarithms {
public:
    explicit Logarithms(size_t n) : n_(n), table_(n + 1) {
        for (size_t i = 0; i < n; i += lanes) {
            vd x;
            for (size_t k = 0; k < lanes; ++k) x[k] = static_cast<double>(i + k);
            const vd y = x_log_x(x);
            for (size_t k = 0; k < lanes && i + k < n; ++k) table_[i + k] = y[k];
        }
    }
    bool has(double x) const { return x < static_cast<double>(n_); }
    const double* get() const { return table_.get(); }

private:
    const size_t n_;
    Scratch<double> table_;
};

COUNTWISE_INLINE vd root_of(vd x) {
    for (size_t i = 0; i < lanes; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

// Of a weight, a sum, and a sum of squares.
COUNTWISE_INLINE vd deviation_of(vd n, vd sum, vd squares, bool root) {
    n = larger_of(n, splat(1e-300));
    const vd mean = sum / n, variance = larger_of(squares / n - mean * mean, splat(0.0));
    return root ? root_of(variance) : variance;
}

}  // namespace countwise::COUNTWISE_LEVEL
