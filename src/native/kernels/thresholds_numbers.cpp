// The split position in each segment that reduces the variance or standard deviation of a numeric target most.
//
// Numbers are taken relative to the first number of their segment and then to the mean, so that equal numbers are
// exactly 0, and scaled so that no square overflows. Variances need only the sums of both sides. For standard
// deviations, a difference of squares would lose half of the digits; the squared deviations of each side are therefore
// accumulated from its own mean.
#include "impurity.h"
#include "segments.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

// The gain is base - (sqrt(n_left left) + sqrt(n_right right)) / n.
struct Deviations {
    double n, base;

    COUNTWISE_INLINE double gain(const Sides& s, size_t i) const {
        const double a = s.n_left[i];
        return base - (std::sqrt(a * s.left[i]) + std::sqrt((n - a) * s.right[i])) / n;
    }
    COUNTWISE_INLINE vd gains_from(const Sides& s, size_t i) const {
        const vd a = load(s.n_left + i), b = splat(n) - a;
        return splat(base) - (root_of(a * load(s.left + i)) + root_of(b * load(s.right + i))) / splat(n);
    }
    COUNTWISE_INLINE bool any_above(const Sides& s, size_t m, double limit) const {
        vi found = splat_bits(0);
        for (size_t i = 0; i < m; i += lanes) found = found | (gains_from(s, i) > splat(limit));
        return any(found);
    }
    COUNTWISE_INLINE void gains(Sides& s, size_t m) const {
        for (size_t i = 0; i < m; i += lanes) store(s.gains + i, gains_from(s, i));
    }
};

// Two or more entries with their numbers, and their weights unless all are 1. Both arrays are modified.
struct Numbered {
    const uint32_t* entries;
    double *values, *weights;
    size_t n;
    int64_t start;

    COUNTWISE_INLINE double weight(size_t i) const { return weights ? weights[i] : 1.0; }
};

// The weight, and the factors by which numbers and weights were multiplied.
struct Centered {
    double n, scale, weight_scale, sum, squares;
};

double farthest_from(double origin, const double* x, size_t n) {
    vd farthest = splat(0.0);
    double most = 0.0;
    size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const vd distance = abs_of(load(x + i) - splat(origin));
        farthest = select(distance > farthest, distance, farthest);
    }
    for (; i < n; ++i) most = larger(most, std::fabs(x[i] - origin));
    for (size_t k = 0; k < lanes; ++k) most = larger(most, farthest[k]);
    return most;
}

Centered center(const Numbered& from) {
    const double origin = from.values[0];
    const size_t n = from.n;
    Centered c{static_cast<double>(n), scale_for(farthest_from(origin, from.values, n)), 1.0, 0.0, 0.0};
    for (size_t i = 0; i < n; ++i) from.values[i] = (from.values[i] - origin) * c.scale;
    double sum = 0.0;
    if (from.weights) {
        c.weight_scale = scale_for(total_of(from.weights, n));
        for (size_t i = 0; i < n; ++i) from.weights[i] *= c.weight_scale;
        c.n = total_of(from.weights, n);
        for (size_t i = 0; i < n; ++i) sum += from.weights[i] * from.values[i];
    } else {
        sum = total_of(from.values, n);
    }
    const double mean = sum / c.n;
    for (size_t i = 0; i < n; ++i) from.values[i] -= mean;
    for (size_t i = 0; i < n; ++i) {
        const double y = from.values[i], wy = from.weight(i) * y;
        c.sum += wy, c.squares += wy * y;
    }
    return c;
}

// Accumulates the squared deviations of numbers from their mean.
struct SquaredDeviations {
    double n = 0.0, sum = 0.0, squares = 0.0;
    COUNTWISE_INLINE void add(double y, double w) {
        const double all = n + w, off = n * y - sum;
        if (n > 0.0) squares += w * (off * off / (n * all));
        n = all, sum += w * y;
    }
};

class Numbers {
public:
    Numbers(size_t capacity, bool deviations, double least)
        : right_(deviations ? capacity : 0), deviations_(deviations), least_(least) {}

    BestPlace best(const Numbered& from) {
        const Centered c = center(from);
        BestPlace found = deviations_ ? of_deviations(from, c) : of_variance(from, c);
        found.gain /= deviations_ ? c.scale : c.scale * c.scale;
        return found;
    }

private:
    BestPlace of_variance(const Numbered& from, const Centered& c) {
        const Ratios score{c.n, c.sum * c.sum / c.n};
        const double whole = larger((c.squares - score.base) / c.n, 0.0);
        double sum = 0.0, weight = 0.0;
        return over_chunks(from, score, BestPlace(1e-10 * whole, least_ * c.weight_scale), [&](size_t i, size_t to) {
            const double w = from.weight(i);
            sum += w * from.values[i], weight += w;
            const double rest = c.sum - sum;
            sides_.n_left[to] = weight, sides_.left[to] = sum * sum, sides_.right[to] = rest * rest;
        });
    }

    BestPlace of_deviations(const Numbered& from, const Centered& c) {
        SquaredDeviations right, left;
        for (size_t i = from.n; i-- > 0;) {
            right.add(from.values[i], from.weight(i));
            right_[i] = right.squares;
        }
        const double whole = std::sqrt(right.squares / c.n);
        return over_chunks(from, Deviations{c.n, whole}, BestPlace(1e-7 * whole, least_ * c.weight_scale),
                           [&](size_t i, size_t to) {
                               left.add(from.values[i], from.weight(i));
                               sides_.n_left[to] = left.n;
                               sides_.left[to] = left.squares, sides_.right[to] = right_[i + 1];
                           });
    }

    // count(i, to) writes the sides of the position after entry i.
    template <class Score, class Count>
    COUNTWISE_INLINE BestPlace over_chunks(const Numbered& from, const Score& score, BestPlace best, Count count) {
        const size_t places = from.n - 1;
        Checkpoint checkpoint;
        for (size_t first = 0; first < places; first += chunk) {
            const size_t m = smaller(chunk, places - first);
            checkpoint.after(4 * chunk);
            for (size_t i = 0; i < m; ++i) count(first + i, i);
            best.look(score, sides_, from.entries + first + 1, from.start + static_cast<int64_t>(first) + 1, m);
        }
        return best;
    }

    Scratch<double> right_;
    Sides sides_;
    const bool deviations_;
    const double least_;
};

}  // namespace

int best_thresholds_of_numbers(const Segments& segments, const NumericTargets& targets, bool deviations, double least,
                               int64_t* places, double* gains) {
    const size_t capacity = largest_batch(segments);
    Scratch<double> value(capacity), weight(targets.weights ? capacity : 0);
    Numbers numbers(capacity, deviations, least);
    const auto read = [&](const uint32_t* entries, size_t n) {
        gather(targets.values, entries, n, value.get());
        if (targets.weights) gather(targets.weights, entries, n, weight.get());
        return true;
    };
    return each_segment(segments, targets.instances, places, gains, read,
                        [&](const uint32_t* entries, size_t at, size_t n, int64_t start) {
                            double* weights = targets.weights ? weight.get() + at : nullptr;
                            return numbers.best({entries, value.get() + at, weights, n, start});
                        });
}

}  // namespace countwise::COUNTWISE_LEVEL
