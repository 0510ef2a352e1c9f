// Distances between all queries and all rows, without the p-th root.
#include "pair_exact.h"
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t block = 256;  // rows whose sums stay in cache

// Sums for one query and some rows, column by column.
class RowSums {
public:
    RowSums(const PairMetric& metric, size_t n)
        : metric_(metric), n_(n), largest_(std::isinf(metric.p)), whole_(sum_of_weights(metric)) {
        for (size_t i = 0; i < n; ++i) total_[i] = rest_[i] = present_[i] = more_[i] = 0.0;
    }

    void add_numbers(double a, const double* b, size_t stride, size_t j) {
        const double factor = metric_.factors[j],
                     missing_costs = metric_.weights == nullptr ? metric_.missing_costs[j] : 0.0;
        for (size_t i = 0; i < n_; ++i) added_[i] = std::fabs(a - b[i * stride]) * factor;
        if (metric_.p == 2.0)
            for (size_t i = 0; i < n_; ++i) added_[i] *= added_[i];
        else if (metric_.p != 1.0 && !largest_)
            for (size_t i = 0; i < n_; ++i) added_[i] = power_of(added_[i], metric_.p);
        if (metric_.weights != nullptr) count(j, [&](size_t i) { return added_[i] == added_[i]; });
        for (size_t i = 0; i < n_; ++i) added_[i] = added_[i] == added_[i] ? added_[i] : missing_costs;
        add();
    }

    template <class T>
    void add_codes(uint32_t a, const char* b, ptrdiff_t stride, size_t j) {
        const PairTable& table = metric_.tables[j];
        const auto code = [&](size_t i) {
            return static_cast<uint32_t>(cell<T>(b + static_cast<ptrdiff_t>(i) * stride));
        };
        if (table.cells != nullptr) {
            const double* line = table.cells + a * table.width;
            for (size_t i = 0; i < n_; ++i) added_[i] = line[code(i)];
        } else {
            for (size_t i = 0; i < n_; ++i) added_[i] = code(i) == a ? 0.0 : table.cost;
        }
        if (metric_.weights != nullptr) {
            const bool here = a < metric_.known[2 * j];
            const int64_t known = metric_.known[2 * j + 1];
            count(metric_.numbers + j, [&](size_t i) { return here && code(i) < known; });
            for (size_t i = 0; i < n_; ++i) added_[i] = here && code(i) < known ? added_[i] : 0.0;
        }
        add();
    }

    void write(double* out) const {
        for (size_t i = 0; i < n_; ++i) {
            const double sum = std::isfinite(total_[i]) ? total_[i] + rest_[i] : total_[i];
            if (metric_.weights == nullptr) out[i] = sum;
            else if (!(present_[i] > 0.0)) out[i] = metric_.no_overlap;
            else out[i] = largest_ ? sum : sum * (whole_ / (present_[i] + more_[i]));
        }
    }

private:
    void add() {
        if (largest_)
            for (size_t i = 0; i < n_; ++i) total_[i] = total_[i] < added_[i] ? added_[i] : total_[i];
        else
            for (size_t i = 0; i < n_; ++i) two_sum(total_[i], rest_[i], added_[i]);
    }
    template <class There>
    void count(size_t j, There there) {
        for (size_t i = 0; i < n_; ++i) two_sum(present_[i], more_[i], there(i) ? metric_.weights[j] : 0.0);
    }

    const PairMetric& metric_;
    const size_t n_;
    const bool largest_;
    const double whole_;
    double total_[block], rest_[block], present_[block], more_[block], added_[block];
};

}  // namespace

void pair_sums(const PairRows& queries, const PairRows& rows, const PairMetric& metric, double* sums) {
    const size_t m = metric.numbers;
    Checkpoint checkpoint;
    for (size_t start = 0; start < rows.rows; start += block) {
        const size_t n = smaller(block, rows.rows - start);
        for (size_t q = 0; q < queries.rows; ++q) {
            checkpoint.after(4 * n * (m + metric.codes + 1));
            RowSums of(metric, n);
            for (size_t j = 0; j < m; ++j)
                of.add_numbers(queries.numbers[q * m + j], rows.numbers + start * m + j, m, j);
            for (size_t j = 0; j < metric.codes; ++j) {
                uint32_t a;
                convert_codes(queries.codes[j], q, 1, &a);
                const Column b = rows.codes[j];
                const char* from = b.data + static_cast<ptrdiff_t>(start) * b.stride;
                with_code_type(b.type, [&](auto zero) { of.add_codes<decltype(zero)>(a, from, b.stride, j); });
            }
            of.write(sums + q * rows.rows + start);
        }
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
