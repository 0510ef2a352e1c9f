// Classes on both sides of each place of a segment.
//
// With f(x) = x^2 (Gini) or x log2 x (entropy), L and R the sums of f over the classes of both sides, and n_L and n_R
// their weights, a place is the better the larger L / n_L + R / n_R, or L + R - f(n_L) - f(n_R). An entry changes one
// term of L and one of R. Whole weights make sums of squares exact, and f a table.
#pragma once
#include "impurity.h"
#include "segments.h"

namespace countwise::COUNTWISE_LEVEL {

// Two or more entries with their classes, and the weights if they are not all 1.
template <class Code>
struct Classed {
    const uint32_t* entries;
    const Code* codes;
    const double* weights;
    size_t n;
    int64_t start;
};

// Two classes without weights: only how many are of the second is counted.
template <bool Entropy, class Code>
class TwoClasses {
public:
    TwoClasses(const Classed<Code>& from, const double* table)
        : codes_(from.codes), f_(table), n_(static_cast<int32_t>(from.n)) {
        for (size_t i = 0; i < from.n; ++i) second_ += codes_[i];
    }
    double weight() const { return static_cast<double>(n_); }
    double sum() const {
        if (Entropy) return f_[second_] + f_[n_ - second_];
        const double a = static_cast<double>(n_ - second_), b = static_cast<double>(second_);
        return a * a + b * b;
    }

    COUNTWISE_INLINE void count(Sides& s, size_t first, size_t m) {
        int32_t second[chunk];
        for (size_t i = 0; i < m; ++i) second[i] = left_ += codes_[first + i];
        const int32_t before = static_cast<int32_t>(first + 1);
        for (size_t i = 0; i < m; ++i) s.n_left[i] = before + static_cast<int32_t>(i);
        if (Entropy) {
            for (size_t i = 0; i < m; ++i) {
                const int32_t a = before + static_cast<int32_t>(i), b = n_ - a;
                const int32_t x = second[i], y = second_ - x;
                s.left[i] = ((f_[x] + f_[y]) + (f_[a - x] + f_[b - y])) - (f_[a] + f_[b]);
            }
            return;
        }
        const double n = n_, all = second_;
        for (size_t i = 0; i < m; ++i) {
            const double x = second[i], y = s.n_left[i] - x, u = all - x, v = (n - s.n_left[i]) - u;
            s.left[i] = x * x + y * y, s.right[i] = u * u + v * v;
        }
    }
    void clear() {}

private:
    const Code* const codes_;
    const double* const f_;
    const int32_t n_;
    int32_t second_ = 0, left_ = 0;
};

// Does something once with each class that has entries. `mark` tells whether that was done, and is false before and
// after.
template <class Code, class Cell, class Work>
COUNTWISE_INLINE void over_classes(const Classed<Code>& from, Cell* cells, size_t n_classes, Work work) {
    if (n_classes <= from.n) {
        for (size_t c = 0; c < n_classes; ++c) work(cells[c]);
        return;
    }
    for (size_t i = 0; i < from.n; ++i) {
        Cell& cell = cells[from.codes[i]];
        if (!cell.mark) work(cell);
        cell.mark = true;
    }
    for (size_t i = 0; i < from.n; ++i) cells[from.codes[i]].mark = false;
}

struct WholeClass {
    int64_t left, right;
    bool mark;
};

// Any number of classes, and whole weights. Its cells are 0 before and after.
template <bool Entropy, class Code, bool Weighted>
class WholeClasses {
public:
    WholeClasses(const Classed<Code>& from, WholeClass* cells, size_t n_classes, const double* table)
        : from_(from), cells_(cells), classes_(n_classes), f_(table) {
        for (size_t i = 0; i < from.n; ++i) {
            cells[from.codes[i]].right += weight_of(i);
            n_ += weight_of(i);
        }
    }
    double weight() const { return static_cast<double>(n_); }
    double sum() {
        over_classes(from_, cells_, classes_, [this](const WholeClass& c) {
            if (Entropy) logs_.add(f_[c.right]);
            else right_ += c.right * c.right;
        });
        return Entropy ? logs_.value() : static_cast<double>(right_);
    }

    COUNTWISE_INLINE void count(Sides& s, size_t first, size_t m) {
        for (size_t i = 0; i < m; ++i) {
            const int64_t w = weight_of(first + i);
            WholeClass& c = cells_[from_.codes[first + i]];
            if (Entropy) logs_.add((f_[c.left + w] - f_[c.left]) - (f_[c.right] - f_[c.right - w]));
            else left_ += w * (2 * c.left + w), right_ -= w * (2 * c.right - w);
            c.left += w, c.right -= w, n_left_ += w;
            s.n_left[i] = static_cast<double>(n_left_);
            if (Entropy) s.left[i] = logs_.value() - (f_[n_left_] + f_[n_ - n_left_]);
            else s.left[i] = static_cast<double>(left_), s.right[i] = static_cast<double>(right_);
        }
    }
    void clear() {
        if (classes_ <= from_.n) std::memset(cells_, 0, classes_ * sizeof *cells_);
        else
            for (size_t i = 0; i < from_.n; ++i) cells_[from_.codes[i]] = {};
    }

private:
    COUNTWISE_INLINE int64_t weight_of(size_t i) const { return Weighted ? static_cast<int64_t>(from_.weights[i]) : 1; }

    const Classed<Code>& from_;
    WholeClass* const cells_;
    const size_t classes_;
    const double* const f_;
    int64_t n_ = 0, n_left_ = 0, left_ = 0, right_ = 0;
    Precise logs_;
};

struct AnyClass {
    Precise total, left;
    double of_left, of_right;  // f
    bool mark;
};

// Any weights, times a power of 2 so that neither squares nor logarithms of them lose their digits.
template <bool Entropy, class Code>
class AnyClasses {
public:
    AnyClasses(const Classed<Code>& from, AnyClass* cells, size_t n_classes, double scale)
        : from_(from), cells_(cells), classes_(n_classes), scale_(scale) {
        Precise n;
        for (size_t i = 0; i < from.n; ++i) {
            cells[from.codes[i]].total.add(from.weights[i] * scale);
            n.add(from.weights[i] * scale);
        }
        n_ = n.value();
    }
    double weight() const { return n_; }
    double sum() {
        over_classes(from_, cells_, classes_, [this](AnyClass& c) {
            const double x = c.total.value();
            c.of_left = 0.0, c.of_right = Entropy ? x_log_x(x) : x * x;
            right_.add(c.of_right);
        });
        return right_.value();
    }

    COUNTWISE_INLINE void count(Sides& s, size_t first, size_t m) {
        for (size_t i = 0; i < m; ++i) {
            const double w = from_.weights[first + i] * scale_;
            AnyClass& c = cells_[from_.codes[first + i]];
            c.left.add(w), n_left_.add(w);
            const double x = c.left.value(), y = larger(c.total.value() - x, 0.0), a = n_left_.value(), b = n_ - a;
            double of[4] = {x, y, a, b};
            if (Entropy) x_log_x_of_four(of);
            else of[0] *= x, of[1] *= y;
            // What is taken away is what was added, to the last bit.
            left_.add(of[0]), left_.add(-c.of_left), right_.add(of[1]), right_.add(-c.of_right);
            c.of_left = of[0], c.of_right = of[1];
            s.n_left[i] = a;
            if (Entropy) s.left[i] = (left_.value() + right_.value()) - (of[2] + of[3]);
            else s.left[i] = left_.value(), s.right[i] = right_.value();
        }
    }
    void clear() {
        if (classes_ <= from_.n) std::memset(static_cast<void*>(cells_), 0, classes_ * sizeof *cells_);
        else
            for (size_t i = 0; i < from_.n; ++i) cells_[from_.codes[i]] = {};
    }

private:
    const Classed<Code>& from_;
    AnyClass* const cells_;
    const size_t classes_;
    const double scale_;
    double n_ = 0;
    Precise n_left_, left_, right_;
};

}  // namespace countwise::COUNTWISE_LEVEL
