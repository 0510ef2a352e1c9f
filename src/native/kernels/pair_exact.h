// The sum of what the cells of two rows add, carried in twice the precision of a double.
#pragma once
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

COUNTWISE_INLINE double power_of(double gap, double p) {
    if (p == 2.0) return gap * gap;
    if (p == 1.0 || std::isinf(p)) return gap;
    return std::pow(gap, p);
}

// Adds one number after the other, with what each addition loses; or keeps the largest.
class PairSum {
public:
    explicit PairSum(const PairLaw& law) : law_(law), largest_(std::isinf(law.p)) {}
    COUNTWISE_INLINE void add(double x) {
        if (largest_) total_.sum = total_.sum < x ? x : total_.sum;
        else total_.add(x);
    }
    COUNTWISE_INLINE void there(size_t j) { present_.add(law_.shares[j]); }
    double value(double whole) const {
        const double sum = std::isfinite(total_.sum) ? total_.value() : total_.sum;
        if (law_.shares == nullptr) return sum;
        if (!(present_.sum > 0.0)) return law_.nothing;
        return largest_ ? sum : sum * (whole / present_.value());
    }

private:
    const PairLaw& law_;
    const bool largest_;
    Precise total_, present_;
};

inline double sum_of_shares(const PairLaw& law) {
    Precise whole;
    for (size_t j = 0; law.shares != nullptr && j < law.numbers + law.codes; ++j) whole.add(law.shares[j]);
    return whole.value();
}

}  // namespace countwise::COUNTWISE_LEVEL
