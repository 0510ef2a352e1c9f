// The best split position between the bins of a node.
//
// Three steps for each node: cumulative sums over the bins, without empty bins; the gain of every position, in vectors;
// and a scan of the gains in which a later position wins only if it is better by more than rounding.
#include "kernels/impurity.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// The split positions of one node, and the sums to the left of each.
class Places {
public:
    Places(size_t n_bins, size_t width, Criterion criterion, double least, size_t tabled)
        : bins_(n_bins), width_(width), stride_((n_bins + lanes - 1) / lanes * lanes), criterion_(criterion),
          least_(least * (1 - 1e-9)), left_(stride_ * (width + 1)), gain_(stride_), total_(width), place_(stride_),
          counts_(2 * stride_), logs_(tabled) {
        for (size_t i = 0; i < stride_ * (width + 1); ++i) left_[i] = 0.0;
    }

    template <class T>
    void choose(const T* cells, int64_t* place, double* gain) {
        *place = -1, *gain = 0.0;
        if (bins_ < 2) return;
        width_ == 2 && sizeof(T) == 4 ? sum_pairs(cells) : sum_any(cells);
        if (count_ == 0) return;
        switch (criterion_) {
            case Criterion::gini: width_ == 2 ? gini_of_two() : gini(); break;
            case Criterion::entropy: entropy(sizeof(T) == 4); break;
            default: deviations(criterion_ == Criterion::sd);
        }
        pick(place, gain);
    }

private:
    template <class T>
    void sum_pairs(const T* cells) {
        double *first = left_.get(), *second = first + stride_;
        int64_t a = 0, b = 0;
        size_t m = 0;
        for (size_t i = 0; i + 1 < bins_; ++i) {
            const int64_t x = static_cast<int64_t>(cells[2 * i]), y = static_cast<int64_t>(cells[2 * i + 1]);
            a += x, b += y;
            first[m] = static_cast<double>(a), second[m] = static_cast<double>(b);
            counts_[2 * m] = static_cast<uint32_t>(a), counts_[2 * m + 1] = static_cast<uint32_t>(b);
            place_[m] = i + 1;
            m += (x | y) != 0;
        }
        total_[0] = static_cast<double>(a + static_cast<int64_t>(cells[2 * bins_ - 2]));
        total_[1] = static_cast<double>(b + static_cast<int64_t>(cells[2 * bins_ - 1]));
        end_at(m);
    }

    template <class T>
    void sum_any(const T* cells) {
        for (size_t c = 0; c < width_; ++c) total_[c] = 0.0;
        size_t m = 0;
        for (size_t i = 0; i < bins_; ++i, cells += width_) {
            bool some = false;
            for (size_t c = 0; c < width_; ++c) {
                const double x = static_cast<double>(cells[c]);
                some |= x != 0.0;
                total_[c] += x;
            }
            if (!some || i + 1 == bins_) continue;
            for (size_t c = 0; c < width_; ++c) left_[c * stride_ + m] = total_[c];
            place_[m++] = i + 1;
        }
        end_at(m);
    }

    // Values of an earlier node in the last vector could exceed the table.
    void end_at(size_t m) {
        count_ = m;
        for (size_t i = m; i % lanes != 0; ++i)
            for (size_t c = 0; c < width_; ++c) left_[c * stride_ + i] = 0.0;
    }

    // Writes a gain, or -1 if the weight of a side is too small.
    COUNTWISE_INLINE void put(size_t i, vd gain, vd n_left, vd n_right) {
        const vd least = splat(least_), zero = splat(0.0);
        const vi good = (n_left >= least) & (n_right >= least) & (n_left > zero) & (n_right > zero);
        store(gain_.get() + i, select(good, larger_of(gain, zero), splat(-1.0)));
    }

    void gini_of_two() {
        const double *first = left_.get(), *second = first + stride_;
        const double n = total_[0] + total_[1];
        const double p = total_[0] / n, q = total_[1] / n;
        whole_ = n > 0.0 ? 1.0 - (p * p + q * q) : 0.0;
        tolerance_ = 1e-12 * whole_ + 4e-15;
        const vd all = splat(n), one = splat(1.0), whole = splat(whole_), zero = splat(0.0);
        const vd t0 = splat(total_[0]), t1 = splat(total_[1]);
        for (size_t i = 0; i < count_; i += lanes) {
            const vd a = load(first + i), b = load(second + i), c = t0 - a, d = t1 - b;
            const vd e = larger_of(c, zero), f = larger_of(d, zero);
            const vd n_left = a + b, n_right = c + d;
            // If a side is empty, the gain is NaN and is not used.
            const vd left = n_left - (a * a + b * b) / n_left, right = n_right - (e * e + f * f) / n_right;
            put(i, whole - (left + right) * (one / all), n_left, n_right);
        }
    }

    void gini() {
        double n = 0.0, squares = 0.0;
        for (size_t c = 0; c < width_; ++c) n += total_[c];
        for (size_t c = 0; c < width_; ++c) squares += (total_[c] / n) * (total_[c] / n);
        whole_ = n > 0.0 ? 1.0 - squares : 0.0;
        tolerance_ = 1e-12 * whole_ + 4e-15;
        for (size_t i = 0; i < count_; i += lanes) {
            vd n_left = splat(0.0), n_right = n_left, left = n_left, right = n_left;
            for (size_t c = 0; c < width_; ++c) {
                const vd a = load(left_.get() + c * stride_ + i), b = splat(total_[c]) - a;
                const vd d = larger_of(b, splat(0.0));
                n_left += a, n_right += b, left += a * a, right += d * d;
            }
            put(i, splat(whole_) - ((n_left - left / n_left) + (n_right - right / n_right)) / splat(n), n_left,
                n_right);
        }
    }

    // x log x of integers up to a limit is looked up.
    void entropy(bool counts) {
        double n = 0.0, logs = 0.0;
        for (size_t c = 0; c < width_; ++c) n += total_[c], logs += x_log_x(total_[c]);
        if (n > 0.0) whole_ = larger((x_log_x(n) - logs) / n, 0.0);
        else whole_ = 0.0;
        tolerance_ = 1e-12 * whole_ + 4e-15 * (1.0 + (n > 1.0 ? std::log2(n) : 0.0));
        const bool small = counts && logs_.has(n);
        if (small && width_ == 2) return look_up_entropies(n);
        if (small)
            return add_entropies(n, [&](vd x) {
                for (size_t k = 0; k < lanes; ++k) x[k] = logs_.cells[static_cast<size_t>(static_cast<int64_t>(x[k]))];
                return x;
            });
        add_entropies(n, [](vd x) { return x_log_x(x); });
    }

    void look_up_entropies(double n) {
        const double *table = logs_.cells, *first = left_.get(), *second = first + stride_;
        const uint32_t t0 = static_cast<uint32_t>(total_[0]), t1 = static_cast<uint32_t>(total_[1]);
        for (size_t i = 0; i < count_; ++i) {
            const uint32_t a = counts_[2 * i], b = counts_[2 * i + 1], c = t0 - a, d = t1 - b;
            gain_[i] = (table[a + b] + table[c + d]) - ((table[a] + table[c]) + (table[b] + table[d]));
        }
        for (size_t i = 0; i < count_; i += lanes) {
            const vd n_left = load(first + i) + load(second + i);
            put(i, splat(whole_) - load(gain_.get() + i) / splat(n), n_left, splat(n) - n_left);
        }
    }

    template <class Log>
    COUNTWISE_INLINE void add_entropies(double n, Log log) {
        for (size_t i = 0; i < count_; i += lanes) {
            vd n_left = splat(0.0), n_right = n_left, logs = n_left;
            for (size_t c = 0; c < width_; ++c) {
                const vd a = load(left_.get() + c * stride_ + i), b = splat(total_[c]) - a;
                n_left += a, n_right += b;
                logs += log(a) + log(larger_of(b, splat(0.0)));
            }
            const vd sides = (log(n_left) + log(larger_of(n_right, splat(0.0)))) - logs;
            put(i, splat(whole_) - sides / splat(n), n_left, n_right);
        }
    }

    void deviations(bool root) {
        const double n = total_[0];
        whole_ = deviation_of(splat(n), splat(total_[1]), splat(total_[2]), root)[0];
        tolerance_ = (root ? 1e-7 : 1e-10) * whole_;  // square roots keep half of the digits
        const double* w = left_.get();
        for (size_t i = 0; i < count_; i += lanes) {
            const vd a = load(w + i), b = splat(n) - a;
            const vd s = load(w + stride_ + i), q = load(w + 2 * stride_ + i);
            const vd left = deviation_of(a, s, q, root),
                     right = deviation_of(b, splat(total_[1]) - s, splat(total_[2]) - q, root);
            put(i, splat(whole_) - (a * left + b * right) / splat(n), a, b);
        }
    }

    void pick(int64_t* place, double* gain) const {
        double limit = -0.5;
        for (size_t i = 0; i < count_; ++i) {
            if (!(gain_[i] > limit)) continue;
            *place = static_cast<int64_t>(place_[i]);
            *gain = gain_[i];
            limit = gain_[i] + tolerance_;
        }
    }

    const size_t bins_, width_, stride_;
    const Criterion criterion_;
    const double least_;
    Scratch<double> left_, gain_, total_;
    Scratch<size_t> place_;
    Scratch<uint32_t> counts_;  // of two classes, like `left`
    const Logarithms logs_;
    size_t count_ = 0;
    double whole_ = 0.0, tolerance_ = 0.0;
};

template <class T>
void best_of(Places& places, const T* table, size_t nodes, size_t cells, int64_t* place, double* gain) {
    Checkpoint checkpoint;
    for (size_t k = 0; k < nodes; ++k) {
        checkpoint.after(cells);
        places.choose(table + k * cells, place + k, gain + k);
    }
}

}  // namespace

void best_bins(const void* table, Type type, size_t nodes, size_t n_cells, size_t width, size_t n_bins,
               Criterion criterion, double least, int64_t* places, double* gains) {
    const bool tabled = criterion == Criterion::entropy && type == Type::u32;
    Places search(n_bins, width, criterion, least, tabled ? nodes * n_bins : 0);
    const size_t cells = n_cells * width;
    if (type == Type::u32) best_of(search, static_cast<const uint32_t*>(table), nodes, cells, places, gains);
    else if (type == Type::i64) best_of(search, static_cast<const int64_t*>(table), nodes, cells, places, gains);
    else best_of(search, static_cast<const double*>(table), nodes, cells, places, gains);
}

}  // namespace countwise::COUNTWISE_LEVEL
