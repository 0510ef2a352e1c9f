// The weight of the correctly predicted rows for each of several terms.
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part_cells = 32768;  // of the base: 256 KB, which stay in the L2 cache while terms are streamed

COUNTWISE_INLINE bool right_row(const double* base, const double* term, size_t classes, int64_t target,
                                int64_t fallback) {
    double top = base[0] + term[0];
    bool numbers = top == top;
    int64_t best = 0;
    for (size_t c = 1; c < classes; ++c) {
        const double x = base[c] + term[c];
        numbers &= x == x;
        if (x > top + tie) top = x, best = static_cast<int64_t>(c);
    }
    if (top == -INFINITY) best = fallback;
    return numbers && best == target;
}

// Rows in groups of four, in the order of `LaneRows`.
struct ScoredRows {
    const double* base;
    const int64_t* target;
    const double* weight;  // or null
    size_t rows, classes;
    int64_t fallback;
};

// Four rows at a time, or two for narrow registers.
constexpr size_t width = lanes < 4 ? lanes : 4;
typedef double vx __attribute__((vector_size(width * 8)));
typedef int64_t vy __attribute__((vector_size(width * 8)));

// The best class so far of each row.
struct BestClass {
    vx top;
    vy code, numbers;

    COUNTWISE_INLINE explicit BestClass(vx x) : top(x), code(vy{}), numbers(x == x) {}
    COUNTWISE_INLINE void add(vx x, size_t c) {
        const vy above = x > top + tie;
        top = above ? x : top;
        code = above ? static_cast<int64_t>(c) - vy{} : code;
        numbers &= x == x;
    }
};

COUNTWISE_INLINE vx sum_at(const double* a, const double* b) { return load_as<vx>(a) + load_as<vx>(b); }

// Classes is 0 if the number is not known at compile time. order[i] is the row in lane i.
template <size_t Classes>
struct LaneRows {
    static constexpr size_t order[4] = {0, 1, 2, 3};
#if defined(__AVX__)
    // Squares of 4 x 4; the last one may overlap the previous one.
    static COUNTWISE_INLINE BestClass best(const double* base, const double* term, size_t classes) {
        if (Classes) classes = Classes;
        vx row[4];
        square(base, term, classes, 0, row);
        BestClass best(row[0]);
        for (size_t k = 1; k < 4; ++k) best.add(row[k], k);
        for (size_t next = 4; next < classes; next += 4) {
            const size_t c = smaller(next, classes - 4);
            square(base, term, classes, c, row);
            // A repeated class does not exceed itself.
            for (size_t k = 0; k < 4; ++k) best.add(row[k], c + k);
        }
        return best;
    }

private:
    static COUNTWISE_INLINE void square(const double* base, const double* term, size_t classes, size_t c, vx* row) {
        for (size_t r = 0; r < 4; ++r) row[r] = sum_at(base + r * classes + c, term + r * classes + c);
        transpose(row[0], row[1], row[2], row[3]);
    }
#else
    static COUNTWISE_INLINE BestClass best(const double* base, const double* term, size_t classes) {
        if (Classes) classes = Classes;
        BestClass best(column(base, classes) + column(term, classes));
        for (size_t c = 1; c < classes; ++c) best.add(column(base + c, classes) + column(term + c, classes), c);
        return best;
    }

private:
    static COUNTWISE_INLINE vx column(const double* cells, size_t classes) {
        vx x;
        for (size_t r = 0; r < width; ++r) x[r] = cells[r * classes];
        return x;
    }
#endif
};

#if defined(__AVX__)

template <>
struct LaneRows<2> {
    static constexpr size_t order[4] = {0, 2, 1, 3};
    static COUNTWISE_INLINE BestClass best(const double* base, const double* term, size_t) {
        const vx a = sum_at(base, term), b = sum_at(base + 4, term + 4);
        BestClass best(shuffle<0, 4, 2, 6>(a, b));
        best.add(shuffle<1, 5, 3, 7>(a, b), 1);
        return best;
    }
};

template <>
struct LaneRows<3> {
    static constexpr size_t order[4] = {0, 3, 2, 1};
    static COUNTWISE_INLINE BestClass best(const double* base, const double* term, size_t) {
        // Each class has one value in every lane, so that combining them needs no move between lanes.
        const vx a = sum_at(base, term), b = sum_at(base + 4, term + 4), c = sum_at(base + 8, term + 8);
        const vx ab0 = shuffle<0, 1, 6, 3>(a, b), ab1 = shuffle<4, 1, 2, 7>(a, b), ab2 = shuffle<0, 5, 2, 3>(a, b);
        const vx x0 = shuffle<0, 5, 2, 3>(ab0, c), x1 = shuffle<0, 1, 6, 3>(ab1, c), x2 = shuffle<4, 1, 2, 7>(ab2, c);
        BestClass best(x0);
        best.add(shuffle<1, 2, 3, 0>(x1, x1), 1);
        best.add(shuffle<2, 3, 0, 1>(x2, x2), 2);
        return best;
    }
};

#endif

template <class LaneRows>
double count_part(const ScoredRows& part, const double* term) {
    const vy fallback = part.fallback - vy{};
    vy count{};
    vx weight{};
    for (size_t r = 0; r < part.rows; r += width) {
        const BestClass best = LaneRows::best(part.base + r * part.classes, term + r * part.classes, part.classes);
        const vy code = best.top == -INFINITY - vx{} ? fallback : best.code;
        const vy right = (code == load_as<vy>(part.target + r)) & best.numbers;
        if (part.weight) weight += right ? load_as<vx>(part.weight + r) : vx{};
        else count -= right;
    }
    double sum = 0.0;
    for (size_t i = 0; i < width; ++i) sum += weight[i] + static_cast<double>(count[i]);
    return sum;
}

// The same row by row, for any number of classes.
double count_singly(const ScoredRows& part, const double* term) {
    double sum = 0.0;
    for (size_t r = 0; r < part.rows; ++r)
        if (right_row(part.base + r * part.classes, term + r * part.classes, part.classes, part.target[r],
                      part.fallback))
            sum += part.weight ? part.weight[r] : 1.0;
    return sum;
}

// The numbers of n rows: groups of four in lane order, the remainder in row order.
template <class T>
void put_in_order(Column column, size_t start, size_t n, const size_t* order, T* to) {
    convert(column, start, n, to);
    for (size_t r = 0; r + 4 <= n; r += 4) {
        const T four[4] = {to[r], to[r + 1], to[r + 2], to[r + 3]};
        for (size_t i = 0; i < 4; ++i) to[r + i] = four[order[i]];
    }
}

template <class LaneRows>
void count_all(const LabeledRows& rows, const double* const* terms, size_t n_terms, double* sums) {
    const size_t classes = rows.classes, part_rows = larger<size_t>(64, part_cells / classes / 4 * 4);
    Scratch<int64_t> target(part_rows);
    Scratch<double> weight(part_rows);
    Checkpoint checkpoint;
    for (size_t t = 0; t < n_terms; ++t) sums[t] = 0.0;
    for (size_t start = 0; start < rows.rows; start += part_rows) {
        const size_t n = smaller(part_rows, rows.rows - start), even = classes > 1 ? n / 4 * 4 : 0,
                     at = start * classes;
        put_in_order(rows.target, start, n, LaneRows::order, target.get());
        if (rows.weights) {
            const Column weights{reinterpret_cast<const char*>(rows.weights), 8, Type::f64};
            put_in_order(weights, start, n, LaneRows::order, weight.get());
        }
        const double* w = rows.weights ? weight.get() : nullptr;
        const ScoredRows part{rows.base + at, target.get(), w, even, classes, rows.fallback};
        const ScoredRows rest{
            part.base + even * classes, part.target + even, w ? w + even : w, n - even, classes, rows.fallback};
        for (size_t t = 0; t < n_terms; ++t) {
            checkpoint.after(n * classes);
            if (even) sums[t] += count_part<LaneRows>(part, terms[t] + at);
            if (n > even) sums[t] += count_singly(rest, terms[t] + at + even * classes);
        }
    }
}

}  // namespace

void count_correct(const LabeledRows& rows, const double* const* terms, size_t n_terms, double* sums) {
    switch (rows.classes) {
        case 2: return count_all<LaneRows<2>>(rows, terms, n_terms, sums);
        case 3: return count_all<LaneRows<3>>(rows, terms, n_terms, sums);
        case 4: return count_all<LaneRows<4>>(rows, terms, n_terms, sums);
        case 5: return count_all<LaneRows<5>>(rows, terms, n_terms, sums);
        case 6: return count_all<LaneRows<6>>(rows, terms, n_terms, sums);
        case 7: return count_all<LaneRows<7>>(rows, terms, n_terms, sums);
        case 8: return count_all<LaneRows<8>>(rows, terms, n_terms, sums);
        default: return count_all<LaneRows<0>>(rows, terms, n_terms, sums);
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
