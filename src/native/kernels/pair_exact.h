// The sum of what the cells of two rows add, carried in twice the precision of a double.
#pragma once
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

COUNTWISE_INLINE double power_of(double gap, double p) {
    if (p == 2.0) return gap * gap;
    if (p == 1.0 || std::isinf(p)) return gap;
    return std::pow(gap, p);
}

COUNTWISE_INLINE double smaller_gap(double a, double b) { return a < b ? a : b; }

// Adds a number to a sum, and what that loses to the rest.
COUNTWISE_INLINE void two_sum(double& total, double& rest, double x) {
    const double high = total + x, part = high - total;
    rest += (total - (high - part)) + (x - part);
    total = high;
}

// Adds one number after the other, with what each addition loses; or keeps the largest.
class PairSum {
public:
    explicit PairSum(const PairLaw& law) : law_(law), largest_(std::isinf(law.p)) {}
    void add(double x) {
        if (largest_) {
            total_ = total_ < x ? x : total_;
            return;
        }
        two_sum(total_, rest_, x);
    }
    void there(size_t j) { two_sum(present_, more_, law_.shares[j]); }
    double value(double whole) const {
        const double sum = std::isfinite(total_) ? total_ + rest_ : total_;
        if (law_.shares == nullptr) return sum;
        if (!(present_ > 0.0)) return law_.nothing;
        return largest_ ? sum : sum * (whole / (present_ + more_));
    }

private:
    const PairLaw& law_;
    const bool largest_;
    double total_ = 0.0, rest_ = 0.0, present_ = 0.0, more_ = 0.0;
};

inline double sum_of_shares(const PairLaw& law) {
    double whole = 0.0, more = 0.0;
    if (law.shares != nullptr)
        for (size_t j = 0; j < law.numbers + law.codes; ++j) two_sum(whole, more, law.shares[j]);
    return whole + more;
}

}  // namespace countwise::COUNTWISE_LEVEL
