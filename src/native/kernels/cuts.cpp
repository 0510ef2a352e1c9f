// The best position to split a sequence of classes in two.
#include "impurity.h"
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part_entries = 1024;

// Classes and weights of some entries, converted to one type.
struct EntryChunk {
    uint32_t code[part_entries];
    double weight[part_entries];

    explicit EntryChunk(const Entries& entries) : entries_(entries) {
        for (size_t i = 0; i < part_entries; ++i) weight[i] = 1;
    }
    void read(size_t start, size_t n) {
        convert_codes(entries_.codes, start, n, code);
        if (entries_.weights.data) convert(entries_.weights, start, n, weight);
    }

private:
    const Entries& entries_;
};

// The sum of x log x over both sides, for one class and for all.
COUNTWISE_INLINE void x_log_x_of_sides(double a, double b, double left, double right, double& of_class,
                                       double& of_all) {
    double x[4] = {a, b, left, right};
    x_log_x_of_four(x);
    of_class = x[0] + x[1];
    of_all = x[2] + x[3];
}

// The sum over classes of a number that changes for one class at a time. It is recomputed at every change, because
// differences would accumulate rounding errors.
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

// A tree of sums, so that a change updates only one path.
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

// Whether entries p - 1 and p differ, and the cut between them is not inside a run of one class.
COUNTWISE_INLINE bool is_boundary(const double* v, size_t p, size_t start, size_t stop, bool same_class) {
    if (v[p - 1] == v[p]) return false;
    return !same_class || (p - 1 > start && v[p - 2] == v[p - 1]) || (p + 1 < stop && v[p + 1] == v[p]);
}

// The best cut of entries with any weights.
template <class Sum>
int64_t scan(const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
             double tolerance) {
    struct Class {
        Precise left;
        double total;
    };
    Scratch<Class> sides(n_classes);
    Sum sum(n_classes);
    Precise left, all;
    for (size_t c = 0; c < n_classes; ++c) {
        sides[c] = {Precise{}, totals[c]};
        all.add(totals[c]);
        double of_class, of_all;
        x_log_x_of_sides(0, totals[c], 0, 0, of_class, of_all);
        sum.change(c, of_class);
    }
    const double total = all.value();
    EntryChunk part(entries);
    int64_t best = -1;
    double limit = INFINITY, information = INFINITY;
    uint32_t before = 0;
    Checkpoint checkpoint;
    for (size_t from = start; from < stop; from += part_entries) {
        const size_t n = smaller(part_entries, stop - from);
        checkpoint.after(4 * n);
        part.read(from, n);
        for (size_t i = 0; i < n; ++i) {
            const uint32_t c = part.code[i];
            // A cut before this entry. The limit is tested first because that branch is easy to predict.
            if (information < limit && from + i > start &&
                is_boundary(entries.values, from + i, start, stop, c == before)) {
                limit = information - tolerance;
                best = static_cast<int64_t>(from + i);
            }
            before = c;
            Class& now = sides[c];
            now.left.add(part.weight[i]), left.add(part.weight[i]);
            const double of_left = now.left.value(), so_far = left.value();
            double of_class, of_all;
            x_log_x_of_sides(of_left, now.total - of_left, so_far, total - so_far, of_class, of_all);
            information = of_all - sum.change(c, of_class);
        }
    }
    return best;
}

// Adds the weights of entries start .. start + n, at most part_entries, to the sums of their classes.
void add_weights(const Entries& entries, size_t start, size_t n, size_t n_classes, uint32_t* sums) {
    uint32_t code[part_entries], weight[part_entries];
    convert_codes(entries.codes, start, n, code);
    if (entries.weights.data) convert(entries.weights, start, n, weight);
    if (n_classes > 4) {
        for (size_t i = 0; i < n; ++i) sums[code[i]] += entries.weights.data ? weight[i] : 1;
        return;
    }
    for (uint32_t c = 0; c < n_classes; ++c) {
        uint32_t sum = 0;
        if (entries.weights.data)
            for (size_t i = 0; i < n; ++i) sum += code[i] == c ? weight[i] : 0;
        else
            for (size_t i = 0; i < n; ++i) sum += code[i] == c;
        sums[c] += sum;
    }
}

void add_before(const Entries& entries, const Marks& marks, size_t place, size_t n_classes, uint32_t* sums) {
    const size_t mark = (place - marks.first) / marks.step;
    for (size_t c = 0; c < n_classes; ++c) sums[c] = marks.counts[mark * n_classes + c];
    for (size_t from = marks.first + mark * marks.step; from < place; from += part_entries)
        add_weights(entries, from, smaller(part_entries, place - from), n_classes, sums);
}

// The best cut of entries with integer weights; most entries need not be read.
//
// With g(x) = x log x + (X - x) log(X - x), where X is the total of x, the information of a cut with weight l on the
// left, of which l_c is of class c, is g(l) - sum of g(l_c). All g are convex: the first is not below a tangent, and
// the others are not above their chords. For a range of entries this gives a lower bound that is linear in the l_c and
// smallest at one end of each. A range is skipped if its bound is not below the best cut so far, or clearly above the
// best of the cuts at the ends of ranges.
template <size_t Classes, class Sum>
class BoundedSearch {
public:
    BoundedSearch(const Entries& entries, const Marks& marks, size_t start, size_t stop, size_t n_classes,
                  const double* totals, double tolerance, const double* x_log_x)
        : entries_(entries), marks_(marks), start_(start), stop_(stop), n_classes_(n_classes), tolerance_(tolerance),
          f_(x_log_x), mark_((start - marks.first) / marks.step),
          stretches_((stop - marks.first - 1) / marks.step - mark_ + 1), base_(n_classes), total_(n_classes),
          lower_(stretches_) {
        for (size_t c = 0; c < classes(); ++c) {
            total_[c] = static_cast<int64_t>(totals[c]);
            all_ += total_[c];
        }
        add_before(entries, marks, start, n_classes, base_.get());
    }

    int64_t best() {
        bound();
        const double slack = static_cast<double>(16 + classes()) * tolerance_;  // allows for the rounding of bounds
        // A cut that is not the best can still decide which of several nearly equal cuts is better than the earlier
        // ones, but only if it is within a few tolerances of the best.
        const double highest = least_ + 4096 * tolerance_ + slack;
        Sum sum(classes());
        for (size_t i = 0; i < stretches_; ++i)
            if (lower_[i] - slack < limit_ && lower_[i] <= highest) look(i, sum);
        return best_;
    }

private:
    COUNTWISE_INLINE size_t classes() const { return Classes ? Classes : n_classes_; }
    COUNTWISE_INLINE size_t end_of(size_t i) const {
        return i + 1 == stretches_ ? stop_ : marks_.first + (mark_ + i + 1) * marks_.step;
    }
    COUNTWISE_INLINE size_t start_of(size_t i) const { return i == 0 ? start_ : end_of(i - 1); }
    // The weight of class c to the left of range i.
    COUNTWISE_INLINE int64_t left_of(size_t i, size_t c) const {
        if (i == 0) return 0;
        return i == stretches_ ? total_[c] : marks_.counts[(mark_ + i) * classes() + c] - base_[c];
    }
    COUNTWISE_INLINE double g(int64_t x, int64_t whole) const { return f_[x] + f_[whole - x]; }

    // Computes the bounds of all ranges, and the smallest information of the cuts at their ends.
    void bound() {
        int64_t left = 0;
        for (size_t i = 0; i < stretches_; ++i) {
            checkpoint_.after(classes());
            int64_t next = 0;
            for (size_t c = 0; c < classes(); ++c) next += left_of(i + 1, c);
            // The tangent in the middle; its slope is log(x) - log(X - x).
            const int64_t x = larger<int64_t>(smaller((left + next) / 2, all_ - 1), 1), rest = all_ - x;
            if (all_ < 2) {
                lower_[i] = -INFINITY;
                continue;
            }
            const double slope = f_[x] / static_cast<double>(x) - f_[rest] / static_cast<double>(rest);
            double lower = g(x, all_) + slope * static_cast<double>(left - x);
            double information = g(next, all_);
            for (size_t c = 0; c < classes(); ++c) {
                const int64_t before = left_of(i, c), after = left_of(i + 1, c);
                const double from = g(before, total_[c]), to = g(after, total_[c]);
                const double change = slope * static_cast<double>(after - before) - (to - from);
                lower += (change < 0 ? change : 0.0) - from;
                information -= to;
            }
            lower_[i] = lower;
            const size_t end = end_of(i);
            if (information < least_ && end < stop_ && entries_.values[end - 1] != entries_.values[end])
                least_ = information;
            left = next;
        }
    }

    // Evaluates the cuts after each entry of range i.
    void look(size_t i, Sum& sum) {
        const size_t start = start_of(i), n = end_of(i) - start;
        checkpoint_.after(n + classes());
        int64_t few[Classes ? Classes : 1], left = 0;
        Scratch<int64_t> many(Classes ? 0 : n_classes_);
        int64_t* const sides = Classes ? few : many.get();
        for (size_t c = 0; c < classes(); ++c) {
            sides[c] = left_of(i, c);
            left += sides[c];
            sum.change(c, g(sides[c], total_[c]));
        }
        uint32_t code[part_entries];
        int64_t weight[part_entries];
        for (size_t from = 0; from < n; from += part_entries) {
            const size_t count = smaller(part_entries, n - from);
            convert_codes(entries_.codes, start + from, count, code);
            if (entries_.weights.data) convert(entries_.weights, start + from, count, weight);
            for (size_t j = 0; j < count; ++j) {
                const uint32_t c = code[j];
                const int64_t w = entries_.weights.data ? weight[j] : 1;
                sides[c] += w, left += w;
                const double information = g(left, all_) - sum.change(c, g(sides[c], total_[c]));
                if (information < limit_) consider(start + from + j + 1, information);
            }
        }
    }

    void consider(size_t place, double information) {
        if (place == stop_) return;
        uint32_t around[2];
        convert_codes(entries_.codes, place - 1, 2, around);
        if (!is_boundary(entries_.values, place, start_, stop_, around[0] == around[1])) return;
        limit_ = information - tolerance_;
        best_ = static_cast<int64_t>(place);
    }

    const Entries& entries_;
    const Marks& marks_;
    const size_t start_, stop_, n_classes_;
    const double tolerance_;
    const double* const f_;  // x log x
    const size_t mark_,
        stretches_;  // last mark not above the start; number of ranges between it, the other marks and the end
    Scratch<uint32_t> base_;
    Scratch<int64_t> total_;
    Scratch<double> lower_;
    int64_t all_ = 0, best_ = -1;
    double least_ = INFINITY, limit_ = INFINITY;
    Checkpoint checkpoint_;
};

template <size_t Classes, class Sum>
int64_t best_of(const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
                double tolerance, const Marks& marks) {
    if (marks.counts)
        return BoundedSearch<Classes, Sum>(entries, marks, start, stop, n_classes, totals, tolerance, marks.x_log_x)
            .best();
    return scan<Sum>(entries, start, stop, n_classes, totals, tolerance * log2_e);  // in bits; the table is in nats
}

}  // namespace

int class_totals(const Entries& entries, size_t start, size_t stop, size_t n_classes, double* totals) {
    constexpr size_t replicas = 4;  // consecutive equal codes would wait for each other's sum
    const size_t cells = replicas * n_classes;
    EntryChunk part(entries);
    Scratch<Precise> sums(cells);
    for (size_t i = 0; i < cells; ++i) sums[i] = {};
    Checkpoint checkpoint;
    for (size_t from = start; from < stop; from += part_entries) {
        const size_t n = smaller(part_entries, stop - from);
        checkpoint.after(n);
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

void class_marks(const Entries& entries, size_t first, size_t stop, size_t n_classes, size_t step, uint32_t* counts) {
    Checkpoint checkpoint;
    for (size_t c = 0; c < n_classes; ++c) counts[c] = 0;
    for (size_t at = first; stop - at >= step; at += step, counts += n_classes) {
        checkpoint.after(step + n_classes);
        for (size_t c = 0; c < n_classes; ++c) counts[n_classes + c] = counts[c];
        for (size_t from = at; from < at + step; from += part_entries)
            add_weights(entries, from, smaller(part_entries, at + step - from), n_classes, counts + n_classes);
    }
}

void counts_before(const Entries& entries, const Marks& marks, size_t place, size_t n_classes, double* counts) {
    Scratch<uint32_t> sums(n_classes);
    add_before(entries, marks, place, n_classes, sums.get());
    for (size_t c = 0; c < n_classes; ++c) counts[c] = sums[c];
}

int64_t best_cut(const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
                 double tolerance, const Marks& marks) {
    if (stop - start < 2) return -1;
    int64_t best;
    switch (n_classes) {
        case 2: best = best_of<2, FewClasses<2>>(entries, start, stop, n_classes, totals, tolerance, marks); break;
        case 3: best = best_of<3, FewClasses<3>>(entries, start, stop, n_classes, totals, tolerance, marks); break;
        case 4: best = best_of<4, FewClasses<4>>(entries, start, stop, n_classes, totals, tolerance, marks); break;
        default: best = best_of<0, ManyClasses>(entries, start, stop, n_classes, totals, tolerance, marks);
    }
    if (best >= 0) return best;
    // With only one class all cuts are equally good.
    for (size_t p = start + 1; p < stop; ++p)
        if (entries.values[p - 1] != entries.values[p]) return static_cast<int64_t>(p);
    return -1;
}

}  // namespace countwise::COUNTWISE_LEVEL
