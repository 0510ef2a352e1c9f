// The gain of one branch for each value.
#include "impurity.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

class Branches {
public:
    Branches(size_t n_values, size_t width, Criterion criterion, double least, size_t tabled)
        : values_(n_values), width_(width), criterion_(criterion), least_(least * (1 - 1e-9)), total_(width),
          logs_(tabled) {}

    template <class T>
    double gain(const T* cells) {
        const double found = criterion_ == Criterion::entropy ? entropy(cells)
                             : criterion_ == Criterion::gini  ? gini(cells)
                                                              : deviations(cells, criterion_ == Criterion::sd);
        return heavy_ > 1 ? larger(found, 0.0) : std::nan("");
    }

private:
    void begin() {
        heavy_ = 0;
        for (size_t c = 0; c < width_; ++c) total_[c] = 0.0;
    }
    void weigh(double n) { heavy_ += n > 0.0 && n >= least_; }

    template <class T>
    double weight_of(const T* cells) {
        double n = 0.0;
        for (size_t c = 0; c < width_; ++c) {
            const double x = static_cast<double>(cells[c]);
            n += x, total_[c] += x;
        }
        weigh(n);
        return n;
    }

    template <class T>
    double entropy(const T* cells) {
        begin();
        double n = 0.0;
        for (size_t v = 0; v < values_; ++v) n += weight_of(cells + v * width_);
        if (heavy_ < 2) return 0.0;
        if (sizeof(T) == 4 && logs_.has(n)) {
            const double* table = logs_.cells;
            return entropy_of(cells, n, [table](double x) { return table[static_cast<size_t>(x)]; });
        }
        return entropy_of(cells, n, [](double x) { return x_log_x(x); });
    }

    // Positive and negative terms are summed separately, so that the order of the values hardly matters.
    template <class T, class Log>
    COUNTWISE_INLINE double entropy_of(const T* cells, double n, Log log) const {
        double ends = log(n), sides = 0.0;
        for (size_t c = 0; c < width_; ++c) sides += log(total_[c]);
        for (size_t v = 0; v < values_; ++v) {
            double inside = 0.0, weight = 0.0;
            for (size_t c = 0; c < width_; ++c) {
                const double x = static_cast<double>(cells[v * width_ + c]);
                weight += x;
                inside += log(x);
            }
            sides += log(weight);
            ends += inside;
        }
        return (ends - sides) / n;
    }

    template <class T>
    double gini(const T* cells) {
        begin();
        double n = 0.0, inside = 0.0;
        for (size_t v = 0; v < values_; ++v) {
            const double weight = weight_of(cells + v * width_);
            if (!(weight > 0.0)) continue;
            double squares = 0.0;
            for (size_t c = 0; c < width_; ++c) {
                const double x = static_cast<double>(cells[v * width_ + c]);
                squares += x * x;
            }
            n += weight, inside += weight - squares / weight;
        }
        double squares = 0.0;
        for (size_t c = 0; c < width_; ++c) squares += (total_[c] / n) * (total_[c] / n);
        return (1.0 - squares) - inside / n;
    }

    template <class T>
    double deviations(const T* cells, bool root) {
        begin();
        double inside = 0.0;
        for (size_t v = 0; v < values_; ++v) {
            const double n = static_cast<double>(cells[3 * v]), sum = static_cast<double>(cells[3 * v + 1]),
                         squares = static_cast<double>(cells[3 * v + 2]);
            weigh(n);
            if (!(n > 0.0)) continue;
            inside += n * deviation_of(splat(n), splat(sum), splat(squares), root)[0];
            total_[0] += n, total_[1] += sum, total_[2] += squares;
        }
        const double whole = deviation_of(splat(total_[0]), splat(total_[1]), splat(total_[2]), root)[0];
        return whole - inside / total_[0];
    }

    const size_t values_, width_;
    const Criterion criterion_;
    const double least_;
    Scratch<double> total_;
    const Logarithms logs_;
    size_t heavy_ = 0;
};

template <class T>
void gains_of(Branches& branches, const T* table, size_t nodes, size_t cells, double* gains) {
    Checkpoint checkpoint;
    for (size_t k = 0; k < nodes; ++k) {
        checkpoint.after(cells);
        gains[k] = branches.gain(table + k * cells);
    }
}

}  // namespace

void branch_gains(const void* table, Type type, size_t nodes, size_t n_cells, size_t width, size_t n_values,
                  Criterion criterion, double least, double* gains) {
    const bool tabled = criterion == Criterion::entropy && type == Type::u32;
    Branches branches(n_values, width, criterion, least, tabled ? nodes * n_values : 0);
    const size_t cells = n_cells * width;
    if (type == Type::u32) gains_of(branches, static_cast<const uint32_t*>(table), nodes, cells, gains);
    else if (type == Type::i64) gains_of(branches, static_cast<const int64_t*>(table), nodes, cells, gains);
    else gains_of(branches, static_cast<const double*>(table), nodes, cells, gains);
}

}  // namespace countwise::COUNTWISE_LEVEL
