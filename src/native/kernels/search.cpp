// Finds the nearest rows of a query. Branches of the tree that cannot contain any are skipped. Groups of rows are
// filtered by lower bounds (codes by their low bytes, then numbers in single precision), and the remaining rows are
// summed exactly.
#include "pair_exact.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t deepest = 128;       // capacity of the stack of branches: one per level; trees are less deep
constexpr float most_single = 1e15f;  // squares of larger numbers do not fit single precision safely
constexpr double most_sum = 1e37, least_sum = 1e-37;  // single precision keeps its digits in this range
constexpr double rounding = 1e-12;                    // relative rounding error of a bound

// Eight numbers in single precision at a time, at every level.
typedef float Eight __attribute__((vector_size(32)));
typedef int32_t EightMarks __attribute__((vector_size(32)));
COUNTWISE_INLINE Eight eight(float x) { return x - Eight{}; }
COUNTWISE_INLINE Eight smaller_of(Eight a, Eight b) { return a < b ? a : b; }  // b if a is NaN
COUNTWISE_INLINE Eight size_of(Eight x) {
    const EightMarks bits = load_as<EightMarks>(&x) & INT32_MAX;
    return load_as<Eight>(&bits);
}

// The contribution of numbers to a bound: at most `most`, also if they are missing.
template <bool squares>
COUNTWISE_INLINE Eight added_by(Eight x, Eight query, Eight most) {
    const Eight difference = x - query;
    return smaller_of(squares ? difference * difference : size_of(difference), most);
}

// Which elements are at most a limit, as bits.
COUNTWISE_INLINE uint32_t at_most(Eight x, float limit) {
#if defined(__AVX__)
    const EightMarks good = x <= eight(limit);
    return static_cast<uint32_t>(__builtin_ia32_movmskps256(load_as<Eight>(&good)));
#else
    uint32_t mask = 0;
    for (size_t i = 0; i < 8; ++i) mask |= static_cast<uint32_t>(x[i] <= limit) << i;
    return mask;
#endif
}

// 32 bytes, and which of them are nonzero.
typedef uint8_t Bytes __attribute__((vector_size(pair_group)));
COUNTWISE_INLINE Bytes bytes_of(uint8_t x) { return x - Bytes{}; }

template <class V>
COUNTWISE_INLINE uint32_t mask_of(V marks) {
#if defined(__AVX2__)
    typedef char vc __attribute__((vector_size(32)));
    return static_cast<uint32_t>(__builtin_ia32_pmovmskb256(load_as<vc>(&marks)));
#elif defined(__SSE2__)
    typedef char vc __attribute__((vector_size(16)));
    const char* from = reinterpret_cast<const char*>(&marks);
    return static_cast<uint32_t>(__builtin_ia32_pmovmskb128(load_as<vc>(from))) |
           static_cast<uint32_t>(__builtin_ia32_pmovmskb128(load_as<vc>(from + 16))) << 16;
#else
    uint32_t mask = 0;
    const uint8_t* from = reinterpret_cast<const uint8_t*>(&marks);
    for (size_t i = 0; i < pair_group; ++i) mask |= static_cast<uint32_t>(from[i] != 0) << i;
    return mask;
#endif
}

// A column of codes that contributes to a lower bound.
struct ByteColumn {
    size_t place;
    uint8_t byte, steps;      // for a cost: an equal byte adds 0, any other this number of units
    const uint8_t* steps_of;  // for a table: units of each code
};

struct LaneColumn {
    size_t place;
    float query, most;
};

class NearestSearch {
public:
    NearestSearch(const RowTreeView& tree, const PairMetric& metric, const PairQuery& query)
        : tree_(tree), metric_(metric), query_(query), bound_(query.bound), whole_(sum_of_weights(metric)),
          bytes_(metric.codes + 1), lanes_(metric.numbers + 1), steps_(metric.codes * 256 + 1),
          line_(2 * tree.width + 1) {
        const bool plain = metric.p == 1.0 || metric.p == 2.0;
        screened_ = plain;
        if (screened_) open_bytes();
        if (screened_) open_lanes();
        // The largest possible bound must be finite in single precision.
        if (!(base_ + most_ + 256.0 * unit_ < most_sum)) screened_ = false;
        set_limits();
    }

    void run() {
        size_t depth = 0;
        double bounds[deepest];
        int32_t waiting[deepest];
        waiting[depth] = 0, bounds[depth++] = bound_of(0);
        while (depth > 0) {
            --depth;
            if (bounds[depth] > bound_) continue;
            int32_t node = waiting[depth];
            while (tree_.children[2 * node] >= 0) {
                int32_t near = tree_.children[2 * node], far = tree_.children[2 * node + 1];
                double to_near = bound_of(near), to_far = bound_of(far);
                if (to_far < to_near) {
                    const int32_t other = near;
                    const double to_other = to_near;
                    near = far, to_near = to_far, far = other, to_far = to_other;
                }
                if (to_far <= bound_) waiting[depth] = far, bounds[depth++] = to_far;
                node = near;
                if (to_near > bound_) {
                    node = -1;
                    break;
                }
            }
            if (node >= 0) look_at(tree_.groups[2 * node], tree_.groups[2 * node + 1]);
        }
    }

private:
    // Bounds of branches

    double bound_of(int32_t node) const {
        const size_t m = metric_.numbers, c = metric_.codes;
        const double* box = tree_.boxes + static_cast<size_t>(node) * m * 2;
        const uint8_t* lacking = tree_.lacking + static_cast<size_t>(node) * (m + c);
        const uint64_t* sets = tree_.sets + static_cast<size_t>(node) * c * 4;
        const bool largest = std::isinf(metric_.p), ignored = metric_.weights != nullptr;
        double total = 0.0;
        const auto add = [&](double x) { total = largest ? (total < x ? x : total) : total + x; };
        for (size_t j = 0; j < m; ++j) {
            const double x = query_.numbers[j];
            if (x != x) {
                if (!ignored) add(metric_.missing_costs[j]);
                continue;
            }
            const double below = box[2 * j] - x, above = x - box[2 * j + 1];
            const double difference = (below > above ? below : above) * metric_.factors[j];
            double least = difference > 0.0 ? power_of(difference, metric_.p) : 0.0;
            if (lacking[j]) least = smaller(ignored ? 0.0 : metric_.missing_costs[j], least);
            add(least);
        }
        for (size_t j = 0; j < c; ++j) {
            if (metric_.tables[j].cells != nullptr) continue;
            const uint32_t code = query_.codes[j];
            if (ignored && (static_cast<int64_t>(code) >= metric_.known[2 * j] || lacking[m + j])) continue;
            const uint64_t word = sets[4 * j + (code & 255) / 64];
            if (!(word >> (code & 63) & 1)) add(metric_.tables[j].cost);
        }
        return total * (1.0 - rounding);
    }

    // Bounds of rows

    // Expresses the contributions of codes in units, rounded down, so that their sum fits a byte.
    void open_bytes() {
        double total = 0.0, only = 0.0;
        bool equal = true;
        const size_t c = metric_.codes;
        Scratch<double> most(c + 1);
        for (size_t j = 0; j < c; ++j) {
            most[j] = 0.0;
            const PairTable& table = metric_.tables[j];
            const bool missing = static_cast<int64_t>(query_.codes[j]) >= metric_.known[2 * j];
            if (metric_.weights != nullptr && (missing || tree_.has_missing[metric_.numbers + j])) continue;
            if (table.cells != nullptr && table.width > 256) continue;
            most[j] = table.cost;
            if (table.cells != nullptr) {
                const double* line = table.cells + query_.codes[j] * table.width;
                for (size_t v = 0; v < table.width; ++v) most[j] = larger(most[j], line[v]);
                equal = false;
            } else if (only == 0.0) {
                only = most[j];
            } else {
                equal = equal && most[j] == only;
            }
            total += most[j];
        }
        if (!(total > 1e-300) || !std::isfinite(total)) return;  // units would not be finite
        equal = equal && only * 200.0 >= total;
        unit_ = equal ? only : total / 250.0;
        for (size_t j = 0; j < c; ++j) {
            if (!(most[j] > 0.0) || metric_.tables[j].cells != nullptr) continue;
            const uint8_t steps = equal ? 1 : static_cast<uint8_t>(most[j] / unit_ * (1.0 - rounding));
            if (steps > 0) bytes_[n_bytes_++] = {j, static_cast<uint8_t>(query_.codes[j] & 255), steps, nullptr};
        }
        n_costs_ = n_bytes_;
        for (size_t j = 0; j < c; ++j) {
            const PairTable& table = metric_.tables[j];
            if (!(most[j] > 0.0) || table.cells == nullptr) continue;
            const double* line = table.cells + query_.codes[j] * table.width;
            uint8_t* steps = steps_.get() + 256 * j;
            for (size_t v = 0; v < 256; ++v)
                steps[v] = v < table.width && line[v] > 0.0  // NaN gives false
                               ? static_cast<uint8_t>(line[v] / unit_ * (1.0 - rounding))
                               : 0;
            bytes_[n_bytes_++] = {j, 0, 0, steps};
        }
        unit_ *= 1.0 - rounding;
    }

    void open_lanes() {
        double off = 0.0;
        for (size_t j = 0; j < 2 * tree_.width; ++j) line_[j] = 0.0f;
        for (size_t j = 0; j < metric_.numbers; ++j) {
            const double x = query_.numbers[j];
            const bool ignored = metric_.weights != nullptr;
            if (x != x) {
                if (!ignored) base_ += metric_.missing_costs[j];
                continue;
            }
            if (ignored && tree_.has_missing[j]) continue;
            const double scaled = (x - tree_.centers[j]) * metric_.factors[j];
            const double extent = larger(std::fabs(scaled), tree_.extents[j]);
            if (!(extent < static_cast<double>(most_single))) {
                screened_ = false;
                return;
            }
            const double e = 1.2e-7 * (std::fabs(scaled) + tree_.extents[j]);  // 2^-23, because both are rounded
            off += metric_.p == 2.0 ? e * e : e;
            float most = static_cast<float>(metric_.missing_costs[j] * (1.0 - 1e-6));
            if (tree_.has_missing[j]) most_ += metric_.missing_costs[j];
            else most = 3e38f;
            lanes_[n_lanes_++] = {j, static_cast<float>(scaled), most};
            line_[j] = static_cast<float>(scaled), line_[tree_.width + j] = most;
        }
        off_ = metric_.p == 2.0 ? std::sqrt(off) : off;
    }

    // Sets the largest bounds of rows that are not skipped.
    void set_limits() {
        if (std::isinf(bound_)) {
            budget_ = 255, limit_ = 3e38f;
            return;
        }
        const double left = bound_ * (1.0 + rounding) - base_ * (1.0 - rounding);
        const double units = unit_ > 0.0 ? left / unit_ : 255.0;
        budget_ = left < 0.0 ? -1 : units < 255.0 ? static_cast<int>(units) : 255;
        // The total error of the rounded numbers is at most `off`.
        const double root = metric_.p == 2.0 ? std::sqrt(larger(bound_, 0.0)) + off_ : bound_ + off_;
        const double reach = least_sum + (metric_.p == 2.0 ? root * root : root) *
                                             (1.0 + 2.4e-7 * (8.0 + static_cast<double>(n_lanes_)));
        limit_ = reach < 3e38 ? static_cast<float>(reach) * (1.0f + 1e-6f) : 3e38f;
    }

    void look_at(int64_t first, int64_t last) {
        for (int64_t g = first; g < last; ++g) {
            const size_t group = static_cast<size_t>(g);
            const uint32_t* rows = tree_.rows + group * pair_group;
            uint32_t mask = ~uint32_t{0};
            if (screened_) {
                if (budget_ < 0) return;
                uint8_t steps[pair_group];
                mask = n_bytes_ > 0 ? of_bytes(group, steps) : mask;
                if (mask == 0) continue;
                if (n_lanes_ > 0 || n_bytes_ > 0)
                    mask = metric_.p == 2.0 ? near<true>(group, steps, mask) : near<false>(group, steps, mask);
            }
            while (mask != 0) {
                const size_t i = static_cast<size_t>(__builtin_ctz(mask));
                mask &= mask - 1;
                if (rows[i] == UINT32_MAX) break;  // padding is at the end of a leaf
                if (static_cast<int64_t>(rows[i]) == query_.skip) continue;
                const double sum = exact(group * pair_group + i);
                if (sum > bound_) continue;
                const double bound = query_.offer(query_.to, sum, rows[i]);
                if (bound != bound_) {
                    bound_ = bound;
                    set_limits();
                }
            }
        }
    }

    uint32_t of_bytes(size_t group, uint8_t* steps) const {
        const uint8_t* codes = tree_.bytes + group * metric_.codes * pair_group;
        Bytes total = bytes_of(0);
        for (size_t k = 0; k < n_costs_; ++k) {
            const ByteColumn& column = bytes_[k];
            total +=
                (load_as<Bytes>(codes + column.place * pair_group) != bytes_of(column.byte)) & bytes_of(column.steps);
        }
        store(steps, total);
        for (size_t k = n_costs_; k < n_bytes_; ++k) {
            const uint8_t* from = codes + bytes_[k].place * pair_group;
            const uint8_t* steps_of = bytes_[k].steps_of;
            for (size_t i = 0; i < pair_group; ++i) steps[i] = static_cast<uint8_t>(steps[i] + steps_of[from[i]]);
        }
        return mask_of(load_as<Bytes>(steps) <= bytes_of(static_cast<uint8_t>(budget_)));
    }

    template <bool squares>
    uint32_t of_lanes(size_t group, const uint8_t* steps) const {
        const float* numbers = tree_.lanes + group * metric_.numbers * pair_group;
        const float base = static_cast<float>(base_);
        float begin[pair_group];
        if (n_bytes_ > 0) {
            const float unit = static_cast<float>(unit_);
            for (size_t i = 0; i < pair_group; ++i) begin[i] = base + unit * static_cast<float>(steps[i]);
        } else {
            for (size_t i = 0; i < pair_group; ++i) begin[i] = base;
        }
        Eight a = load_as<Eight>(begin), b = load_as<Eight>(begin + 8), c = load_as<Eight>(begin + 16),
              d = load_as<Eight>(begin + 24);
        for (size_t k = 0; k < n_lanes_; ++k) {
            const LaneColumn& column = lanes_[k];
            const float* from = numbers + column.place * pair_group;
            const Eight query = eight(column.query), most = eight(column.most);
            a = a + added_by<squares>(load_as<Eight>(from), query, most);
            b = b + added_by<squares>(load_as<Eight>(from + 8), query, most);
            c = c + added_by<squares>(load_as<Eight>(from + 16), query, most);
            d = d + added_by<squares>(load_as<Eight>(from + 24), query, most);
        }
        return at_most(a, limit_) | at_most(b, limit_) << 8 | at_most(c, limit_) << 16 | at_most(d, limit_) << 24;
    }

    // Whether it is faster to process rows one by one.
    bool few(uint32_t mask) const {
        const size_t rows = static_cast<size_t>(__builtin_popcount(mask));
        return rows * (12 + tree_.width / 2) < 10 * n_lanes_;
    }

    template <bool squares>
    uint32_t of_lines(size_t group, const uint8_t* steps, uint32_t mask) const {
        uint32_t found = 0;
        const float base = static_cast<float>(base_), unit = n_bytes_ > 0 ? static_cast<float>(unit_) : 0.0f;
        const size_t width = tree_.width;
        const float *query = line_.get(), *most = query + width;
        while (mask != 0) {
            const size_t i = static_cast<size_t>(__builtin_ctz(mask));
            mask &= mask - 1;
            const float* from = tree_.lines + (group * pair_group + i) * width;
            Eight part = eight(0.0f);
            for (size_t j = 0; j < width; j += 8)
                part = part +
                       added_by<squares>(load_as<Eight>(from + j), load_as<Eight>(query + j), load_as<Eight>(most + j));
            float sum = base + (n_bytes_ > 0 ? unit * static_cast<float>(steps[i]) : 0.0f);
            sum += ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
            found |= static_cast<uint32_t>(sum <= limit_) << i;
        }
        return found;
    }

    // The rows of a group whose bounds are within the limits.
    template <bool squares>
    uint32_t near(size_t group, const uint8_t* steps, uint32_t mask) const {
        return few(mask) ? of_lines<squares>(group, steps, mask) : mask & of_lanes<squares>(group, steps);
    }

    double exact(size_t slot) const {
        const size_t m = metric_.numbers, c = metric_.codes;
        const bool ignored = metric_.weights != nullptr;
        const double* numbers = tree_.numbers + slot * m;
        const uint32_t* codes = tree_.codes + slot * c;
        PairSum sum(metric_);
        for (size_t j = 0; j < m; ++j) {
            const double difference = std::fabs(query_.numbers[j] - numbers[j]) * metric_.factors[j];
            const bool observed = difference == difference;
            if (ignored && observed) sum.observed(j);
            sum.add(observed ? power_of(difference, metric_.p) : ignored ? 0.0 : metric_.missing_costs[j]);
        }
        for (size_t j = 0; j < c; ++j) {
            const PairTable& table = metric_.tables[j];
            const uint32_t a = query_.codes[j], b = codes[j];
            const bool observed =
                static_cast<int64_t>(a) < metric_.known[2 * j] && static_cast<int64_t>(b) < metric_.known[2 * j + 1];
            if (ignored && observed) sum.observed(m + j);
            if (ignored && !observed) sum.add(0.0);
            else sum.add(table.cells != nullptr ? table.cells[a * table.width + b] : a == b ? 0.0 : table.cost);
        }
        return sum.value(whole_);
    }

    const RowTreeView& tree_;
    const PairMetric& metric_;
    const PairQuery& query_;
    double bound_;
    const double whole_;
    Scratch<ByteColumn> bytes_;
    Scratch<LaneColumn> lanes_;
    Scratch<uint8_t> steps_;
    Scratch<float> line_;  // the query, and the largest contribution of each number
    size_t n_costs_ = 0, n_bytes_ = 0, n_lanes_ = 0;
    double base_ = 0.0, most_ = 0.0, unit_ = 0.0, off_ = 0.0;
    bool screened_ = false;
    int budget_ = 255;
    float limit_ = 3e38f;
};

}  // namespace

void search_rows(const RowTreeView& tree, const PairMetric& metric, const PairQuery& query) {
    NearestSearch(tree, metric, query).run();
}

}  // namespace countwise::COUNTWISE_LEVEL
