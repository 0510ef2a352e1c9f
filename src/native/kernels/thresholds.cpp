// The split position in each segment that separates the classes best.
//
// Let f(x) = x^2 (Gini) or x log2 x (entropy), L and R the sums of f over the classes of the two sides, and n_L and n_R
// their weights. The best position maximizes L / n_L + R / n_R, or L + R - f(n_L) - f(n_R). An entry changes one term
// of L and one of R. Integer weights make sums of squares exact and allow a table of f.
#include "impurity.h"
#include "segments.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// Two or more entries with their classes, and their weights unless all are 1.
template <class Code>
struct Classed {
    const uint32_t* entries;
    const Code* codes;
    const double* weights;
    size_t n;
    int64_t start;
};

// Two classes without weights: only the entries of the second class are counted.
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

// Calls `work` once for each class that has entries. `mark` records whether this was done; it is false before and
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

// Any number of classes, integer weights. The cells are 0 before and after.
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

// Any weights, scaled by a power of 2 so that neither squares nor logarithms lose digits.
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
            // The number subtracted is exactly the number added before.
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

// The best position in a segment whose classes have been counted. `bits` is log2 of the weight.
template <bool Entropy, class Code, class Counter>
BestPlace search(const Classed<Code>& from, Counter& counter, double f_of_n, double bits, double least, Sides& sides) {
    using Score = typename Choose<Entropy>::Score;
    const double n = counter.weight(), sum = counter.sum();
    const Score score{n, Entropy ? sum - f_of_n : sum / n};
    const double whole = larger(Entropy ? -score.base / n : 1.0 - score.base / n, 0.0);
    BestPlace best(1e-12 * whole + 4e-15 * (Entropy ? 1.0 + larger(bits, 0.0) : 1.0), least);
    const size_t places = from.n - 1;
    Checkpoint checkpoint;
    for (size_t first = 0; first < places; first += chunk) {
        const size_t m = smaller(chunk, places - first);
        checkpoint.after(4 * chunk);
        counter.count(sides, first, m);
        best.look(score, sides, from.entries + first + 1, from.start + static_cast<int64_t>(first) + 1, m);
    }
    counter.clear();
    return best;
}

// The total weight if it and all weights are integers and not too large, else 0.
size_t whole_weight(const double* weights, size_t n, double most) {
    bool whole = true;
    for (size_t i = 0; i < n; ++i)
        whole &= (weights[i] >= 1.0) & (weights[i] <= most) & (std::floor(weights[i]) == weights[i]);
    if (!whole) return 0;
    const double sum = total_of(weights, n);
    return sum <= most ? static_cast<size_t>(sum) : 0;
}

template <bool Entropy, class Code>
class Thresholds {
public:
    Thresholds(size_t n_classes, bool weighted, double least)
        : classes_(n_classes), whole_(n_classes), any_(weighted ? n_classes : 0), least_(least) {
        std::memset(whole_.get(), 0, n_classes * sizeof(WholeClass));
        if (weighted) std::memset(static_cast<void*>(any_.get()), 0, n_classes * sizeof(AnyClass));
    }

    BestPlace best(const Classed<Code>& from) {
        if (from.weights) return best_weighted(from);
        const double* f = Entropy ? table_.up_to(from.n) : nullptr;
        if (classes_ <= 2 && from.n <= INT32_MAX) {
            TwoClasses<Entropy, Code> counter(from, f);
            return best_whole(from, counter, f, from.n);
        }
        WholeClasses<Entropy, Code, false> counter(from, whole_.get(), classes_, f);
        return best_whole(from, counter, f, from.n);
    }

private:
    template <class Counter>
    BestPlace best_whole(const Classed<Code>& from, Counter& counter, const double* f, size_t weight) {
        const double of_n = Entropy ? f[weight] : 0.0;
        return search<Entropy>(from, counter, of_n, of_n / static_cast<double>(weight), least_, sides_);
    }

    BestPlace best_weighted(const Classed<Code>& from) {
        // A table should not cost more time than it saves.
        const double most = Entropy ? larger(8.0 * static_cast<double>(from.n), 65536.0) : 2147483647.0;
        const size_t weight = whole_weight(from.weights, from.n, smaller(most, 2147483647.0));
        if (weight) {
            const double* f = Entropy ? table_.up_to(weight) : nullptr;
            WholeClasses<Entropy, Code, true> counter(from, whole_.get(), classes_, f);
            return best_whole(from, counter, f, weight);
        }
        const double sum = total_of(from.weights, from.n);
        const double scale = scale_for(sum);
        AnyClasses<Entropy, Code> counter(from, any_.get(), classes_, scale);
        const double of_n = Entropy ? x_log_x(counter.weight()) : 0.0;
        return search<Entropy>(from, counter, of_n, Entropy ? std::log2(sum) : 0.0, least_ * scale, sides_);
    }

    const size_t classes_;
    Scratch<WholeClass> whole_;
    Scratch<AnyClass> any_;
    LogTable table_;
    Sides sides_;
    const double least_;
};

template <bool Entropy, class Code>
int search_all(const Segments& segments, const Labels& labels, double least, int64_t* places, double* gains) {
    const size_t capacity = largest_batch(segments);
    Scratch<Code> code(capacity);
    Scratch<double> weight(labels.weights ? capacity : 0);
    Thresholds<Entropy, Code> thresholds(labels.n_classes, labels.weights, least);
    const auto read = [&](const uint32_t* entries, size_t n) {
        with_code_type(labels.codes.type, [&](auto zero) {
            gather(reinterpret_cast<const decltype(zero)*>(labels.codes.data), entries, n, code.get());
        });
        if (labels.weights) gather(labels.weights, entries, n, weight.get());
        Code most = 0;
        for (size_t i = 0; i < n; ++i) most = larger(most, code[i]);
        return n == 0 || most < labels.n_classes;
    };
    return each_segment(segments, labels.instances, places, gains, read,
                        [&](const uint32_t* entries, size_t at, size_t n, int64_t start) {
                            const double* weights = labels.weights ? weight.get() + at : nullptr;
                            return thresholds.best({entries, code.get() + at, weights, n, start});
                        });
}

}  // namespace

int best_thresholds(const Segments& segments, const Labels& labels, bool entropy, double least, int64_t* places,
                    double* gains) {
    // Codes wider than a byte become 32-bit, to compile fewer variants.
    const auto search = labels.codes.type == Type::u8
                            ? (entropy ? search_all<true, uint8_t> : search_all<false, uint8_t>)
                        : entropy ? search_all<true, uint32_t>
                                  : search_all<false, uint32_t>;
    return search(segments, labels, least, places, gains);
}

}  // namespace countwise::COUNTWISE_LEVEL
