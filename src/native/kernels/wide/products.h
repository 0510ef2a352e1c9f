// Product kernels over several columns: factors of a leaf of points, and their upper bounds over boxes.
#pragma once
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

// In processing order: first the factors that are added as logarithms.
enum Factor : uint8_t { gaussian, ordinal, nominal, epanechnikov, uniform, factor_count };

// The factor of a column. A Gaussian has a = sqrt(1/2) / h and is exp(-z * z) with z = a * distance.
struct ColumnFactor {
    Factor factor;
    size_t column;
    double a, b;
};

// The factors of the kernel, in the order of their types.
class ProductKernel {
public:
    explicit ProductKernel(const Products& points) : count(points.columns), parts_(count) {
        size_t to = 0;
        for (int f = 0; f < factor_count; ++f)
            for (size_t j = 0; j < count; ++j) {
                const ColumnFactor part = part_of(points, j);
                if (part.factor == f) parts_[to++] = part;
                compact |= part.factor >= epanechnikov;
            }
    }
    const ColumnFactor& operator[](size_t i) const { return parts_[i]; }

    size_t count;
    bool compact = false;  // some factor can be 0 near the point, and is multiplied

private:
    static ColumnFactor part_of(const Products& points, size_t j) {
        const double a = points.scales[2 * j], b = points.scales[2 * j + 1];
        switch (points.kinds[j]) {
            case 0: return {gaussian, j, 0.70710678118654752440 / a, 0.0};
            case 1: return {epanechnikov, j, a, 0.0};
            case 2: return {uniform, j, a, 0.0};
            case 3: return {nominal, j, a, b};
            default: break;
        }
        // Infinity times 0 is NaN: infinitely steep or flat ordinal factors are treated as nominal.
        if (!(a < 0 && a > -HUGE_VAL)) return {nominal, j, 0.0, a < 0 ? a : 0.0};
        return {ordinal, j, a, 0.0};
    }

    Scratch<ColumnFactor> parts_;
};

// An upper bound of a factor's log at distances of at least `distance`; a distance that is not above 0, or NaN, gives
// no bound. Values that may be missing may have a factor of 1.
COUNTWISE_INLINE vd log_bound(const ColumnFactor& part, vd distance, vi sure) {
    const vd zero = splat(0.0), never = splat(-HUGE_VAL);
    const vi apart = distance > zero;
    const vd d = only(apart, distance);
    switch (part.factor) {
        case gaussian: return zero - (d * splat(part.a)) * (d * splat(part.a));
        case ordinal: return d * splat(part.a);
        case nominal: return select(apart, splat(part.b), only(sure, splat(larger(part.a, part.b))));
        case epanechnikov: {
            const vd z = d / splat(part.a);
            return select(z < splat(1.0), zero - z * z, never);  // log(1 - z z) is even smaller
        }
        default: return select(d > splat(part.a), never, zero);
    }
}

// A factor at one query: the position of the column in the leaf, the query's value, and the log factor of a missing
// value.
struct Term {
    size_t offset;
    double q, a, b, absent;
};

// The terms of one query, without its missing columns; those of factor f end at end[f].
struct Query {
    const Term* terms;
    size_t end[factor_count];
};

constexpr size_t unrolled = 4 * lanes <= product_leaf ? 4 : product_leaf / lanes;  // vectors at a time
constexpr size_t stride = unrolled * lanes;

// Loops over the terms of one factor, and for each over the vectors of the leaf.
template <class Use>
COUNTWISE_INLINE void each_cell(const double* leaf, const Query& query, Factor factor, const Use& use) {
    for (size_t t = factor ? query.end[factor - 1] : 0; t < query.end[factor]; ++t) {
        const Term& term = query.terms[t];
        for (size_t u = 0; u < unrolled; ++u) use(term, u, load(leaf + term.offset + u * lanes));
    }
}

// Adds the logs of factors to e, and multiplies f by the factors that are not logs. With `has_missing`, values may be
// missing.
template <bool has_missing, bool compact>
COUNTWISE_INLINE void add_factors(const double* leaf, const Query& query, vd* e, vd* f) {
    const auto put = [&](const Term& term, size_t u, vd x, vd with) {
        e[u] = has_missing ? select(not_nan(x), with, e[u] + splat(term.absent)) : with;
    };
    each_cell(leaf, query, gaussian, [&](const Term& term, size_t u, vd x) {
        const vd z = (x - splat(term.q)) * splat(term.a);
        put(term, u, x, e[u] - z * z);
    });
    each_cell(leaf, query, ordinal, [&](const Term& term, size_t u, vd x) {
        put(term, u, x, e[u] + abs_of(x - splat(term.q)) * splat(term.a));
    });
    each_cell(leaf, query, nominal, [&](const Term& term, size_t u, vd x) {
        put(term, u, x, e[u] + select(x == splat(term.q), splat(term.a), splat(term.b)));
    });
    if (!compact) return;
    const auto times = [&](const Term& term, size_t u, vd x, vd factor) {
        f[u] = f[u] * (has_missing ? select(not_nan(x), factor, splat(1.0)) : factor);
        if (has_missing) put(term, u, x, e[u]);
    };
    each_cell(leaf, query, epanechnikov, [&](const Term& term, size_t u, vd x) {
        const vd one = splat(1.0), z = abs_of(x - splat(term.q)) / splat(term.a);
        times(term, u, x, only(z < one, (one - z) * (one + z)));
    });
    each_cell(leaf, query, uniform, [&](const Term& term, size_t u, vd x) {
        times(term, u, x, only(~(abs_of(x - splat(term.q)) > splat(term.a)), splat(1.0)));
    });
}

// Calls use(e, f) with the logs and factors of some points at a time. The last column of the leaf has the log weights.
template <bool has_missing, bool compact, class Use>
COUNTWISE_INLINE void each_point(const double* leaf, size_t columns, const Query& query, const Use& use) {
    for (size_t i = 0; i < product_leaf; i += stride) {
        vd e[unrolled], f[unrolled];
        for (size_t u = 0; u < unrolled; ++u) {
            e[u] = load(leaf + columns * product_leaf + i + u * lanes);
            f[u] = splat(1.0);
        }
        add_factors<has_missing, compact>(leaf + i, query, e, f);
        for (size_t u = 0; u < unrolled; ++u) use(e[u], f[u]);
    }
}

// The sum of a leaf, times exp(-shift).
template <bool has_missing, bool compact>
double leaf_sum(const double* leaf, size_t columns, const Query& query, double shift) {
    vd sum = splat(0.0);
    each_point<has_missing, compact>(leaf, columns, query, [&](vd e, vd f) {
        // If a factor is 0, the log may be far above the shift, and its exponential would overflow.
        const vd above = compact ? select(f > splat(0.0), e - splat(shift), splat(-HUGE_VAL)) : e - splat(shift);
        sum += compact ? exp_or_0(above) * f : exp_or_0(above);
    });
    return sum_of(sum);
}

// The largest log among the points whose multiplied factors are not 0.
template <bool has_missing, bool compact>
double leaf_top(const double* leaf, size_t columns, const Query& query, double) {
    vd top = splat(-HUGE_VAL);
    each_point<has_missing, compact>(leaf, columns, query,
                                     [&](vd e, vd f) { top = select((e > top) & (f > splat(0.0)), e, top); });
    double best = top[0];
    for (size_t k = 1; k < lanes; ++k) best = larger(best, static_cast<double>(top[k]));
    return best;
}

}  // namespace countwise::COUNTWISE_LEVEL
