#include "product_leaves.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "interrupt.h"

namespace countwise {

namespace {

// A point and the value that decides its side of a split.
struct Key {
    double cell;
    int64_t row;
    bool operator<(const Key& other) const { return cell != other.cell ? cell < other.cell : row < other.row; }
};

// Splits points near the median recursively, so that all leaves but the last are full.
class Splitter {
public:
    explicit Splitter(const Products& points)
        : points_(points), d_(points.columns), keys_(points.n), low_(d_), high_(d_) {}

    void split(int64_t* rows, size_t n) {
        check_interrupt();
        const size_t leaves = (n + product_leaf - 1) / product_leaf;
        const size_t column = leaves > 1 ? steepest(rows, n) : d_;
        if (column == d_) {
            std::sort(rows, rows + n);
            return;
        }
        for (size_t i = 0; i < n; ++i) {
            const double x = cell(rows[i], column);
            keys_[i] = {std::isnan(x) ? HUGE_VAL : x, rows[i]};
        }
        const size_t half = leaves / 2 * product_leaf;
        const auto begin = keys_.begin();
        std::nth_element(begin, begin + static_cast<ptrdiff_t>(half), begin + static_cast<ptrdiff_t>(n));
        for (size_t i = 0; i < n; ++i) rows[i] = keys_[i].row;
        split(rows, half);
        split(rows + half, n - half);
    }

private:
    double cell(int64_t row, size_t j) const { return points_.cells[static_cast<size_t>(row) * d_ + j]; }

    // The column along which the log of the kernel decreases most, or the number of columns if it decreases along none.
    size_t steepest(const int64_t* rows, size_t n) {
        std::fill(low_.begin(), low_.end(), HUGE_VAL);
        std::fill(high_.begin(), high_.end(), -HUGE_VAL);
        for (size_t i = 0; i < n; ++i) {
            const double* row = points_.cells + static_cast<size_t>(rows[i]) * d_;
            for (size_t j = 0; j < d_; ++j) {
                low_[j] = row[j] < low_[j] ? row[j] : low_[j];
                high_[j] = row[j] > high_[j] ? row[j] : high_[j];
            }
        }
        size_t best = d_;
        double most = 0.0;
        for (size_t j = 0; j < d_; ++j) {
            const double fall = fall_of(j);
            if (fall > most) most = fall, best = j;
        }
        return best;
    }
    double fall_of(size_t j) const {
        const double a = points_.scales[2 * j], b = points_.scales[2 * j + 1];
        if (!(high_[j] > low_[j])) return 0.0;
        if (points_.kinds[j] == 3) return a != b ? std::fabs(a - b) : 0.0;
        const double width = high_[j] - low_[j];
        if (points_.kinds[j] == 4) return a < 0 ? width * -a : 0.0;
        return (width / a) * (width / a) * 0.5;
    }

    const Products& points_;
    const size_t d_;
    std::vector<Key> keys_;
    std::vector<double> low_, high_;
};

// The log of the sum of n weights; without log weights each weight is 1.
double log_total(const double* logs, size_t n) {
    if (!logs) return std::log(static_cast<double>(n));
    const double top = *std::max_element(logs, logs + n);
    if (top == -HUGE_VAL) return top;
    double sum = 0.0;
    for (size_t i = 0; i < n; ++i) sum += std::exp(logs[i] - top);
    return top + std::log(sum);
}

}  // namespace

void product_order(const Products& points, int64_t* order) {
    for (size_t i = 0; i < points.n; ++i) order[i] = static_cast<int64_t>(i);
    Splitter(points).split(order, points.n);
}

bool product_boxes(const Products& points, double* boxes) {
    const size_t d = points.columns;
    bool good = true;
    for (size_t leaf = 0; leaf < points.leaves; ++leaf) {
        const size_t start = leaf * product_leaf, n = std::min(product_leaf, points.n - start);
        if (leaf % 4096 == 0) check_interrupt();
        for (size_t j = 0; j < d; ++j) {
            double low = HUGE_VAL, high = -HUGE_VAL;
            bool has_missing = false;
            for (size_t i = start; i < start + n; ++i) {
                const double x = points.cells[i * d + j];
                low = std::min(low, x), high = std::max(high, x);
                has_missing |= std::isnan(x);
                good &= !std::isinf(x);
            }
            boxes[2 * j * points.leaves + leaf] = has_missing ? -HUGE_VAL : low;
            boxes[(2 * j + 1) * points.leaves + leaf] = has_missing ? HUGE_VAL : high;
        }
        const double* weights = points.log_weights ? points.log_weights + start : nullptr;
        for (size_t i = 0; weights && i < n; ++i) good &= weights[i] < HUGE_VAL;
        boxes[2 * d * points.leaves + leaf] = log_total(weights, n);
    }
    return good;
}

}  // namespace countwise
