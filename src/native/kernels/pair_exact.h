// The sum of the contributions of two rows' attributes, in twice the precision of a double.
#pragma once
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

COUNTWISE_INLINE double power_of(double difference, double p) {
    if (p == 2.0) return difference * difference;
    if (p == 1.0 || std::isinf(p)) return difference;
    return std::pow(difference, p);
}

// Adds numbers and their rounding errors, or keeps the maximum.
class PairSum {
public:
    explicit PairSum(const PairMetric& metric) : metric_(metric), largest_(std::isinf(metric.p)) {}
    COUNTWISE_INLINE void add(double x) {
        if (largest_) total_.sum = total_.sum < x ? x : total_.sum;
        else total_.add(x);
    }
    COUNTWISE_INLINE void observed(size_t j) { present_.add(metric_.weights[j]); }
    double value(double whole) const {
        const double sum = std::isfinite(total_.sum) ? total_.value() : total_.sum;
        if (metric_.weights == nullptr) return sum;
        if (!(present_.sum > 0.0)) return metric_.no_overlap;
        return largest_ ? sum : sum * (whole / present_.value());
    }

private:
    const PairMetric& metric_;
    const bool largest_;
    Precise total_, present_;
};

inline double sum_of_weights(const PairMetric& metric) {
    Precise whole;
    for (size_t j = 0; metric.weights != nullptr && j < metric.numbers + metric.codes; ++j)
        whole.add(metric.weights[j]);
    return whole.value();
}

}  // namespace countwise::COUNTWISE_LEVEL
