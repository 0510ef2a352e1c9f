// Helpers for the impurities of nodes.
#pragma once
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

COUNTWISE_INLINE vd larger_of(vd a, vd b) { return select(a > b, a, b); }

constexpr double log2_e = 1.4426950408889634074;

// x log2 x, which is 0 at 0.
COUNTWISE_INLINE vd x_log_x(vd x) {
    const vi some = x > splat(1e-300);
    return only(some, x * log_of(select(some, x, splat(1.0))) * splat(log2_e));
}
COUNTWISE_INLINE double x_log_x(double x) { return x_log_x(splat(x))[0]; }

// The same for four numbers, at the cost of one. Rounding may turn 0 into a negative number, which counts as 0.
COUNTWISE_INLINE void x_log_x_of_four(double* x) {
    constexpr size_t n = lanes < 4 ? 4 : lanes;
    double padded[n] = {x[0], x[1], x[2], x[3]};
    for (size_t i = 0; i < n; i += lanes) store(padded + i, x_log_x(load(padded + i)));
    for (size_t i = 0; i < 4; ++i) x[i] = padded[i];
}

// Table of x log2 x for integers.
class LogTable {
public:
    LogTable() = default;
    ~LogTable() { delete cells_; }
    LogTable(const LogTable&) = delete;
    LogTable& operator=(const LogTable&) = delete;

    const double* up_to(size_t most) {
        if (most < size_) return cells_->get();
        const size_t size = larger(most, smaller<size_t>(2 * size_, size_t{1} << 16)) / lanes * lanes + lanes;
        delete cells_;
        cells_ = nullptr;
        cells_ = new Scratch<double>(size);
        size_ = size;
        for (size_t i = 0; i < size; i += lanes) {
            double x[lanes];
            for (size_t j = 0; j < lanes; ++j) x[j] = static_cast<double>(i + j);
            store(cells_->get() + i, x_log_x(load(x)));
        }
        return cells_->get();
    }

private:
    Scratch<double>* cells_ = nullptr;
    size_t size_ = 0;
};

// For many nodes at once, integers up to a limit are looked up in a table. It costs about as much as the cells of a few
// nodes. The pointer is null if there is no table.
struct Logarithms {
    LogTable table;
    const size_t n;
    const double* const cells;

    explicit Logarithms(size_t wanted) : n(smaller<size_t>(wanted, 4096)), cells(n ? table.up_to(n) : nullptr) {}
    bool has(double x) const { return x < static_cast<double>(n); }
};

COUNTWISE_INLINE vd root_of(vd x) {
    for (size_t i = 0; i < lanes; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

// The impurity of a weight, a sum and a sum of squares.
COUNTWISE_INLINE vd deviation_of(vd n, vd sum, vd squares, bool root) {
    n = larger_of(n, splat(1e-300));
    const vd mean = sum / n, variance = larger_of(squares / n - mean * mean, splat(0.0));
    return root ? root_of(variance) : variance;
}

}  // namespace countwise::COUNTWISE_LEVEL
