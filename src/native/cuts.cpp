// The best place to cut a sequence of classes in two.
#include "levels.h"
#include "tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part_entries = 1024;

// Some entries' classes and weights, in one type whatever type they have.
template <class Weight>
struct Part {
    uint32_t code[part_entries];
    Weight weight[part_entries];

    explicit Part(const Entries& entries) : entries_(entries) {
        for (size_t i = 0; i < part_entries; ++i) weight[i] = 1;
    }
    void read(size_t start, size_t n) {
        convert_codes(entries_.codes, start, n, code);
        if (entries_.weights.data) convert(entries_.weights, start, n, weight);
    }

private:
    const Entries& entries_;
};

// A sum of weights. That of fractions keeps its rounding errors: cuts that are equally good must look so.
struct Whole {
    int64_t sum = 0;
    COUNTWISE_INLINE void add(int64_t w) { sum += w; }
    COUNTWISE_INLINE int64_t value() const { return sum; }
};

struct Fractions {
    double sum = 0, error = 0;
    COUNTWISE_INLINE void add(double w) {
        const double next = sum + w, added = next - sum;
        error += (sum - (next - added)) + (w - added);
        sum = next;
    }
    COUNTWISE_INLINE double value() const { return sum + error; }
};

// The sum of x log x over both sides: of one class, and of all.
struct Table {
    using Number = int64_t;
    using Weight = Whole;
    const double* x_log_x;
    COUNTWISE_INLINE void pairs(int64_t a, int64_t b, int64_t left, int64_t right, double& of_class,
                                double& of_all) const {
        of_class = x_log_x[a] + x_log_x[b];
        of_all = x_log_x[left] + x_log_x[right];
    }
};

struct Logarithm {
    using Number = double;
    using Weight = Fractions;
    // Four logarithms cost what one does. What rounding leaves of nothing may be negative.
    COUNTWISE_INLINE void pairs(double a, double b, double left, double right, double& of_class,
                                double& of_all) const {
        constexpr size_t n = lanes < 4 ? 4 : lanes;
        constexpr double least = 1e-300;
        double x[n] = {a, b, left, right}, f[n];
        for (size_t i = 4; i < n; ++i) x[i] = 1.0;
        for (size_t i = 0; i < n; i += lanes) {
            const vd v = load(x + i);
            store(f + i, v * log_of(select(v > splat(least), v, splat(1.0))));
        }
        of_class = f[0] + f[1];
        of_all = f[2] + f[3];
    }
};

// The sum over classes of a number that changes for one class at a time. It is added up anew at every change:
// differences would gather rounding errors.
template <size_t Classes>
class FewClasses {
public:
    explicit FewClasses(size_t) {}
    COUNTWISE_INLINE double change(size_t c, double x) {
        part_[c] = x;
        double sum = part_[0];
        for (size_t k = 1; k < Classes; ++k) sum += part_[k];
        return sum;
    }

private:
    double part_[Classes] = {};
};

// A tree of sums, so that a change adds only along one path.
class ManyClasses {
public:
    explicit ManyClasses(size_t classes) : leaves_(leaves_for(classes)), node_(2 * leaves_) {
        for (size_t i = 0; i < 2 * leaves_; ++i) node_[i] = 0.0;
    }
    COUNTWISE_INLINE double change(size_t c, double x) {
        size_t i = leaves_ + c;
        node_[i] = x;
        while (i > 1) {
            x += node_[i ^ 1];
            i /= 2;
            node_[i] = x;
        }
        return x;
    }

private:
    static size_t leaves_for(size_t classes) {
        size_t leaves = 1;
        while (leaves < classes) leaves *= 2;
        return leaves;
    }
    size_t leaves_;
    Scratch<double> node_;
};

// Whether entries p - 1 and p differ, and a cut between them is not inside a run of one class.
COUNTWISE_INLINE bool is_boundary(const double* v, size_t p, size_t start, size_t stop, bool same_class) {
    if (v[p - 1] == v[p]) return false;
    return !same_class || (p - 1 > start && v[p - 2] == v[p - 1]) || (p + 1 < stop && v[p + 1] == v[p]);
}

template <class Function, class Sum>
int64_t scan(const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
             double tolerance, Function f) {
    using Number = typename Function::Number;
    using Weight = typename Function::Weight;
    struct Class {
        Weight left;
        Number total;
    };
    Scratch<Class> sides(n_classes);
    Sum sum(n_classes);
    Weight left, all;
    for (size_t c = 0; c < n_classes; ++c) {
        sides[c] = {Weight{}, static_cast<Number>(totals[c])};
        all.add(sides[c].total);
        double of_class, of_all;
        f.pairs(0, sides[c].total, 0, 0, of_class, of_all);
        sum.change(c, of_class);
    }
    const Number total = all.value();
    Part<Number> part(entries);
    int64_t best = -1;
    double limit = INFINITY, information = INFINITY;
    uint32_t before = 0;
    for (size_t from = start; from < stop; from += part_entries) {
        const size_t n = smaller(part_entries, stop - from);
        part.read(from, n);
        for (size_t i = 0; i < n; ++i) {
            const uint32_t c = part.code[i];
            // A cut before this entry. The limit comes first because that branch is easy to foresee.
            if (information < limit && from + i > start &&
                is_boundary(entries.values, from + i, start, stop, c == before)) {
                limit = information - tolerance;
                best = static_cast<int64_t>(from + i);
            }
            before = c;
            Class& now = sides[c];
            now.left.add(part.weight[i]), left.add(part.weight[i]);
            const Number of_left = now.left.value(), so_far = left.value();
            double of_class, of_all;
            f.pairs(of_left, now.total - of_left, so_far, total - so_far, of_class, of_all);
            information = of_all - sum.change(c, of_class);
        }
    }
    return best;
}

template <class Function>
int64_t scan_classes(const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
                     double tolerance, Function f) {
    switch (n_classes) {
        case 2: return scan<Function, FewClasses<2>>(entries, start, stop, n_classes, totals, tolerance, f);
        case 3: return scan<Function, FewClasses<3>>(entries, start, stop, n_classes, totals, tolerance, f);
        case 4: return scan<Function, FewClasses<4>>(entries, start, stop, n_classes, totals, tolerance, f);
        default: return scan<Function, ManyClasses>(entries, start, stop, n_classes, totals, tolerance, f);
    }
}

}  // namespace

int class_totals(const Entries& entries, size_t start, size_t stop, size_t n_classes, double* totals) {
    constexpr size_t replicas = 4;  // equal codes in a row would wait for each other's sum
    const size_t cells = replicas * n_classes;
    Part<double> part(entries);
    Scratch<Fractions> sums(cells);
    for (size_t i = 0; i < cells; ++i) sums[i] = {};
    for (size_t from = start; from < stop; from += part_entries) {
        const size_t n = smaller(part_entries, stop - from);
        part.read(from, n);
        uint32_t most = 0;
        int bad = 0;
        for (size_t i = 0; i < n; ++i) most = larger(most, part.code[i]);
        for (size_t i = 0; i < n; ++i) bad |= !(part.weight[i] >= 0.0) | !(part.weight[i] < INFINITY);
        if (most >= n_classes) return 1;
        if (bad) return 2;
        if (entries.weights.data && is_float(entries.weights.type)) {
            for (size_t i = 0; i < n; ++i) sums[part.code[i]].add(part.weight[i]);
            continue;
        }
        size_t i = 0;
        for (; i + replicas <= n; i += replicas)
            for (size_t k = 0; k < replicas; ++k) sums[k * n_classes + part.code[i + k]].sum += part.weight[i + k];
        for (; i < n; ++i) sums[part.code[i]].sum += part.weight[i];
    }
    for (size_t c = 0; c < n_classes; ++c) totals[c] = 0.0;
    for (size_t i = 0; i < cells; ++i) totals[i % n_classes] += sums[i].value();
    return 0;
}

int64_t best_cut(const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
                 double tolerance, const double* x_log_x) {
    if (stop - start < 2) return -1;
    const int64_t best =
        x_log_x ? scan_classes(entries, start, stop, n_classes, totals, tolerance, Table{x_log_x})
                : scan_classes(entries, start, stop, n_classes, totals, tolerance, Logarithm{});
    if (best >= 0) return best;
    // One class only: all cuts are equally good.
    for (size_t p = start + 1; p < stop; ++p)
        if (entries.values[p - 1] != entries.values[p]) return static_cast<int64_t>(p);
    return -1;
}

}  // namespace countwise::COUNTWISE_LEVEL
