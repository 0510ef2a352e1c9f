// Shared code of the threshold searches: data of instances in the order of entries, and the best position so far.
#pragma once
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

// Reading

// Returns the end of a batch of segments that are read together: a few thousand entries.
inline size_t end_of_batch(const Segments& segments, size_t first) {
    constexpr int64_t enough = 4096;
    size_t last = first + 1;
    while (last < segments.count && segments.starts[last + 1] - segments.starts[first] <= enough) ++last;
    return last;
}

inline size_t largest_batch(const Segments& segments) {
    size_t most = 0;
    for (size_t first = 0, last; first < segments.count; first = last) {
        last = end_of_batch(segments, first);
        most = larger(most, static_cast<size_t>(segments.starts[last] - segments.starts[first]));
    }
    return most;
}

inline bool are_known(const uint32_t* entries, size_t n, size_t instances) {
    uint32_t most = 0;
    for (size_t i = 0; i < n; ++i) most = larger(most, entries[i]);
    return n == 0 || most >> 1 < instances;
}

template <class From, class To>
COUNTWISE_INLINE void gather(const From* from, const uint32_t* entries, size_t n, To* to) {
    for (size_t i = 0; i < n; ++i) to[i] = from[entries[i] >> 1];
}

inline double total_of(const double* x, size_t n) {
    vd sums = splat(0.0);
    double sum = 0.0;
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) sums += load(x + i);
    for (; i < n; ++i) sum += x[i];
    return sum + sum_of(sums);
}

// A power of 2 that brings x near 1.
inline double scale_for(double x) {
    int exponent = 0;
    std::frexp(x, &exponent);
    return std::ldexp(1.0, -smaller(larger(exponent, -1000), 1000));
}

constexpr size_t chunk = 32;  // entries whose gains are computed at once

// For the positions after some entries: the weight before each, two numbers whose meaning depends on the score, and the
// gain.
struct Sides {
    double n_left[chunk] = {}, left[chunk] = {}, right[chunk] = {}, gains[chunk] = {};
};

// The gain is (left / n_left + right / n_right - base) / n.
struct Ratios {
    double n, base;

    // Whether any of m gains is above a limit, except for rounding; without divisions.
    COUNTWISE_INLINE bool any_above(const Sides& s, size_t m, double limit) const {
        const vd least = splat(limit * n + base), all = splat(n);
        vi found = splat_bits(0);
        for (size_t i = 0; i < m; i += lanes) {
            const vd a = load(s.n_left + i), b = all - a;
            found = found | (load(s.left + i) * b + load(s.right + i) * a > least * (a * b));
        }
        return any(found);
    }
    COUNTWISE_INLINE void gains(Sides& s, size_t m) const {
        const vd all = splat(n), whole = splat(base);
        for (size_t i = 0; i < m; i += lanes) {
            const vd a = load(s.n_left + i);
            store(s.gains + i, ((load(s.left + i) / a + load(s.right + i) / (all - a)) - whole) / all);
        }
    }
    COUNTWISE_INLINE double gain(const Sides& s, size_t i) const {
        const double a = s.n_left[i];
        return ((s.left[i] / a + s.right[i] / (n - a)) - base) / n;
    }
};

// The gain is (left - base) / n.
struct Differences {
    double n, base;

    COUNTWISE_INLINE bool any_above(const Sides& s, size_t m, double limit) const {
        const vd least = splat(limit * n + base);
        vi found = splat_bits(0);
        for (size_t i = 0; i < m; i += lanes) found = found | (load(s.left + i) > least);
        return any(found);
    }
    COUNTWISE_INLINE void gains(Sides& s, size_t m) const {
        const vd all = splat(n), whole = splat(base);
        for (size_t i = 0; i < m; i += lanes) store(s.gains + i, (load(s.left + i) - whole) / all);
    }
    COUNTWISE_INLINE double gain(const Sides& s, size_t i) const { return (s.left[i] - base) / n; }
};

template <bool Entropy>
struct Choose {
    using Score = Ratios;
};
template <>
struct Choose<true> {
    using Score = Differences;
};

// The best position in a segment. A later one must exceed its gain by more than the tolerance.
struct BestPlace {
    double tolerance, least;
    double gain = 0.0, limit = -INFINITY;
    int64_t place = -1;

    BestPlace(double within, double least_weight) : tolerance(within), least(least_weight * (1 - 1e-9)) {}

    // Evaluates m positions from `first` on; entries[0], the entry at the first, determines whether a split is allowed
    // there.
    template <class Score>
    COUNTWISE_INLINE void look(const Score& score, Sides& s, const uint32_t* entries, int64_t first, size_t m) {
        if (m < lanes) {  // a vector load would wait for the scalar stores just before
            for (size_t i = 0; i < m; ++i)
                consider(score.gain(s, i), s.n_left[i], score.n, entries[i], first + place_of(i));
            return;
        }
        // Half the tolerance exceeds the rounding error of the quick test.
        if (m == chunk && !score.any_above(s, m, limit - 0.5 * tolerance)) return;
        score.gains(s, m);
        for (size_t i = 0; i < m; ++i) consider(s.gains[i], s.n_left[i], score.n, entries[i], first + place_of(i));
    }

private:
    static COUNTWISE_INLINE int64_t place_of(size_t i) { return static_cast<int64_t>(i); }

    COUNTWISE_INLINE void consider(double found, double n_left, double n, uint32_t entry, int64_t at) {
        const double n_right = n - n_left;
        if (!(found > limit) || !(entry & 1)) return;
        if (!(n_left >= least && n_right >= least && n_left > 0.0 && n_right > 0.0)) return;
        gain = larger(found, 0.0), limit = gain + tolerance, place = at;
    }
};

// Finds the best positions in all segments. read(entries, n) reads a batch, and returns false if a code is out of
// range. best(entries, at, n, start) is called for segments of two or more entries that start at `at` in the batch.
// Returns 1 for an instance that does not exist, 2 for a code out of range.
template <class Read, class Best>
int each_segment(const Segments& segments, size_t instances, int64_t* places, double* gains, const Read& read,
                 const Best& best) {
    Checkpoint checkpoint;
    for (size_t first = 0, last; first < segments.count; first = last) {
        last = end_of_batch(segments, first);
        const int64_t start = segments.starts[first];
        const uint32_t* entries = segments.entries + start;
        const size_t n = static_cast<size_t>(segments.starts[last] - start);
        checkpoint.after(4 * n);
        if (!are_known(entries, n, instances)) return 1;
        if (!read(entries, n)) return 2;
        for (size_t k = first; k < last; ++k) {
            const size_t at = static_cast<size_t>(segments.starts[k] - start);
            const size_t size = static_cast<size_t>(segments.starts[k + 1] - segments.starts[k]);
            places[k] = -1, gains[k] = 0.0;
            if (size < 2) continue;
            const BestPlace found = best(entries + at, at, size, segments.starts[k]);
            places[k] = found.place, gains[k] = found.gain;
        }
    }
    return 0;
}

}  // namespace countwise::COUNTWISE_LEVEL
