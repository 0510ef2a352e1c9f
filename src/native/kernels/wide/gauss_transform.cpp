// Sums of Gaussian kernels in one dimension: exact sums over the relevant points, or local expansions (the fast Gauss
// transform). Distances are in units of sqrt(2) h, in which a kernel is exp(-z * z).
//
// The axis is divided into boxes of width about h/2. With z = (q - x) / (sqrt(2) h) and g(z) = exp(-z z), a source at
// distance v from the center of its box and a query at distance u from the center of another box, D apart, the kernel
// is
//
//     g(D + u - v) = sum over a, b of  (-v)^a / a!  u^b / b!  g^(a+b)(D).
//
// The sums of w (-v)^a / a! over the points of a box are its moments. All boxes within reach of a box contribute to the
// coefficients of one polynomial in u, of degree 15. Only boxes with enough points nearby have a polynomial, and they
// are indexed by number, so that a distant outlier costs nothing. Other queries are summed exactly, over few points.
//
// Error. |g^(m)(D)| <= 1.09 sqrt(2^m m!) exp(-D D / 2) (Cramér) and (a+b)! <= 2^(a+b) a! b!, so the truncation to a, b
// < 16 omits at most 1.09 * 2 * S * (2 r)^16 / sqrt(16!) * exp(-D D / 2) per unit of weight, where r <= sqrt(1/2) / 4
// is half a box and S = sum of (2 r)^b / sqrt(b!) < 1.5: below 4.5e-14 exp(-D D / 2). Rounding errors have the same
// form, as the terms sum to at most 1.09 S S exp(-D D / 2) in magnitude. `doubt` covers both. Boxes out of reach would
// add at most their weight times exp(-R R). So the bound is
//
//     E = doubt * sum of W_box exp(-D D / 2)  +  W_outside exp(-R R)
//
// for every query of the box. Near the peak f of the sum, E is below 8 doubt f < 1e-12 f, since the weight of a box is
// at most 1.13 f and the sum of exp(-D D / 2) over all boxes is about 7.1. In the tails exp(-D D / 2) exceeds f =
// exp(-D D): an expansion is used only if f >= E / 1e-9, which bounds the error of log f by 1e-9. This limit is the
// last number of a box's row.
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr double sqrt_half = 0.70710678118654752440;
constexpr size_t nobody = SIZE_MAX;

// The first of n ascending numbers for which `before` is false.
template <class Before>
COUNTWISE_INLINE size_t first_not(const double* x, size_t n, const Before& before) {
    size_t low = 0;
    while (n > 0) {
        const size_t half = n / 2;
        const bool right = before(x[low + half]);
        low = right ? low + half + 1 : low;
        n = right ? n - half - 1 : half;
    }
    return low;
}

inline size_t first_from(const double* x, size_t n, double q) {
    return first_not(x, n, [q](double at) { return at < q; });
}

inline size_t first_above(const double* x, size_t n, double q) {
    return first_not(x, n, [q](double at) { return at <= q; });
}

// Points of weight 0 are excluded, because the nearest point is used to estimate the size of the sum.
size_t count_kept(const Points& points) {
    if (!points.w) return points.n;
    size_t kept = 0;
    for (size_t i = 0; i < points.n; ++i) kept += points.w[i] > 0;
    return kept;
}

// Points of positive weight, and their totals for the exact sum.
class Sources {
public:
    explicit Sources(const Points& points)
        : x(points.x), w(points.w), n(count_kept(points)), scale(sqrt_half / points.h), weight(static_cast<double>(n)),
          kept_(n < points.n ? 2 * n : 0) {
        if (n < points.n) {
            size_t to = 0;
            for (size_t i = 0; i < points.n; ++i)
                if (points.w[i] > 0) kept_[to] = points.x[i], kept_[n + to++] = points.w[i];
            x = kept_.get(), w = kept_.get() + n;
        }
        if (!w) return;
        weight = 0.0;
        for (size_t i = 0; i < n; ++i) weight += w[i];
    }

    const double* x;
    const double* w;  // null if every weight is 1
    size_t n;
    double scale;   // 1 / (sqrt(2) h)
    double weight;  // of all points

    double weight_of(size_t i) const { return w ? w[i] : 1.0; }

    // The log sum at q over all points. If `self` is given, that point has the weight `rest` instead of its own.
    //
    // The nearest point, at z0 with weight w0, contributes w0 exp(-z0 z0). Points beyond z1 contribute at most `weight`
    // * exp(-z1 z1) together, which is below 1e-17 of that if z1 z1 >= z0 z0 + log(weight / w0) + log(1e17).
    double log_sum(double q, size_t self = nobody, double rest = 0.0) const {
        if (q != q) return q;
        size_t near = self;
        double d0 = 0.0, w0 = rest;
        if (self == nobody || rest <= 0) {
            if (!nearest(q, self, &near)) return -HUGE_VAL;
            d0 = std::fabs(q - x[near]);
            w0 = weight_of(near);
        }
        const double z0 = d0 * scale;
        if (!(z0 * z0 < HUGE_VAL)) return -HUGE_VAL;
        const double margin = larger(std::log(weight / w0), 0.0) + 39.2;
        const double reach = std::sqrt(z0 * z0 + margin) / scale * (1 + 1e-12);  // the last factor covers rounding
        const size_t low = smaller(first_from(x, n, q - reach), near);
        const size_t high = larger(first_above(x, n, q + reach), near + 1);
        double sum = self == nobody
                         ? part(q, d0, low, high)
                         : part(q, d0, smaller(low, self), self) + part(q, d0, self + 1, larger(high, self + 1));
        if (self != nobody && rest > 0) sum += rest;
        return std::log(sum) - z0 * z0;
    }

private:
    bool nearest(double q, size_t self, size_t* which) const {
        size_t left, right;  // left - 1 and right are the nearest points
        if (self == nobody) left = right = first_from(x, n, q);
        else left = self, right = self + 1;
        if (left == 0 && right >= n) return false;
        if (left == 0) *which = right;
        else if (right >= n) *which = left - 1;
        else *which = q - x[left - 1] <= x[right] - q ? left - 1 : right;
        return true;
    }

    // Sum of w exp(z0 * z0 - z * z) over some points, where z0, at the distance d0, is the smallest z.
    double part(double q, double d0, size_t from, size_t to) const {
        const vd center = splat(q), factor = splat(scale), least = splat(d0);
        vd sum = splat(0.0);
        const auto term = [&](vd at, vd weights) {
            const vd d = abs_of(at - center);
            // A product instead of a difference of squares, which would cancel at large distances. Differences are
            // taken before scaling, so that the exponent is exactly 0 at equal distances, even with fused operations.
            sum += exp_or_0(((least - d) * factor) * ((d + least) * factor)) * weights;
        };
        size_t i = from;
        for (; i + lanes <= to; i += lanes) term(load(x + i), w ? load(w + i) : splat(1.0));
        if (i < to) {
            double last[lanes], weights[lanes];
            for (size_t k = 0; k < lanes; ++k) {
                last[k] = i + k < to ? x[i + k] : HUGE_VAL;  // the kernel is 0 there
                weights[k] = i + k < to ? weight_of(i + k) : 0.0;
            }
            term(load(last), load(weights));
        }
        return sum_of(sum);
    }

    Scratch<double> kept_;
};

constexpr size_t order = gauss_order;
constexpr double doubt = 1e-13;
constexpr double log_error = 1e-9;
constexpr double least_tolerance = 1e-12;
constexpr int64_t reach = 19;                 // boxes on each side; R is about 6.7, exp(-R R) about 5e-20
constexpr double farthest = 8796093022208.0;  // 2**43 boxes: up to here centers are exact doubles

// Boxes whose width has 8 significant bits: the centers (k + 1/2) * width are then exact, distances from them are
// nearly so, and the distance of two centers is an integer number of widths even for a column of 1e9 + noise.
struct Grid {
    double width, per_width, origin, scale;

    Grid(const Points& points) : width(0), per_width(0), origin(0), scale(sqrt_half / points.h) {
        int exponent;
        const double fraction = std::frexp(points.h / 2, &exponent);
        width = std::ldexp(std::floor(fraction * 256), exponent - 8);
        per_width = 1 / width;
        // If 0 is too far away, boxes are numbered from the middle point.
        const double middle = points.n ? points.x[points.n / 2] : 0.0;
        if (!(std::fabs(middle) * per_width < farthest)) origin = middle;
    }
    bool usable() const { return width > 1e-290 && width < 1e290; }
    // The box of x, as a double; compare with `farthest` before converting it to an integer.
    double box(double x) const { return std::floor((x - origin) * per_width); }
    static bool near(double box) { return std::fabs(box) < farthest; }
    // The distance of x from the center of its box.
    double offset(double x, double box) const { return ((x - origin) - (box + 0.5) * width) * scale; }
};

// The nonempty boxes: their numbers, and the start of their points.
struct Runs {
    size_t count = 0;
    Scratch<int64_t> number;
    Scratch<size_t> begin;

    Runs(const Sources& sources, const Grid& grid) : number(sources.n + 1), begin(sources.n + 2) {
        size_t i = 0;
        while (i < sources.n && !Grid::near(grid.box(sources.x[i]))) ++i;
        begin[0] = i;
        while (i < sources.n) {
            const double box = grid.box(sources.x[i]);
            if (!Grid::near(box)) break;
            number[count] = static_cast<int64_t>(box);
            i = end_of(sources, grid, i, box);
            begin[++count] = i;
        }
    }

private:
    // The first point of another box, by exponential search and bisection.
    static size_t end_of(const Sources& sources, const Grid& grid, size_t i, double box) {
        size_t step = 1, low = i, high;
        while (low + step < sources.n && grid.box(sources.x[low + step]) == box) low += step, step *= 2;
        high = smaller(low + step, sources.n);
        while (low + 1 < high) {
            const size_t middle = low + (high - low) / 2;
            if (grid.box(sources.x[middle]) == box) low = middle;
            else high = middle;
        }
        return low + 1;
    }
};

// Iterates over the boxes for which an expansion pays off.
class Targets {
public:
    explicit Targets(const Runs& runs) : runs_(runs) {}

    int64_t number = 0;
    size_t low = 0, high = 0;  // runs within reach

    // Calls use() with this object at every such box.
    template <class Use>
    void each(const Use& use) {
        Checkpoint checkpoint;
        for (size_t r = 0; r < runs_.count; ++r) {
            const int64_t here = runs_.number[r];
            checkpoint.after(1024);
            for (int64_t k = larger(here - margin, next_); k < here; ++k) consider(k, 0, use);
            consider(here, runs_.begin[r + 1] - runs_.begin[r], use);
            const int64_t after = r + 1 < runs_.count ? runs_.number[r + 1] : INT64_MAX;
            for (int64_t k = here + 1; k <= here + margin && k < after; ++k) consider(k, 0, use);
        }
    }

private:
    static constexpr int64_t margin = 8;

    template <class Use>
    void consider(int64_t k, size_t points, const Use& use) {
        next_ = k + 1;
        while (runs_.number[low] < k - reach) ++low;
        while (high < runs_.count && runs_.number[high] <= k + reach) ++high;
        const size_t around = runs_.begin[high] - runs_.begin[low];
        // An expansion costs about as much as 600 exact kernels; about as many queries as points are expected.
        const bool worth = points ? around >= 32 && points * around >= 512 : around >= 1024;
        if (worth) number = k, use();
    }

    const Runs& runs_;
    int64_t next_ = INT64_MIN;
};

// Derivatives of g at multiples of the box width: row d + reach has g^(0..31)(-d * width).
struct Derivatives {
    static constexpr size_t terms = 2 * order;
    double at[2 * reach + 1][terms];
    double half_power[2 * reach + 1];  // exp(-D D / 2), for the error bound

    explicit Derivatives(const Grid& grid) {
        for (int64_t d = -reach; d <= reach; ++d) {
            const double z = -static_cast<double>(d) * grid.width * grid.scale;
            double* g = at[d + reach];
            g[0] = std::exp(-z * z);
            g[1] = -2 * z * g[0];
            for (size_t m = 1; m + 1 < terms; ++m) g[m + 1] = -2 * (z * g[m] + static_cast<double>(m) * g[m - 1]);
            half_power[d + reach] = std::exp(-z * z / 2);
        }
    }
};

// Sums w (-v)^a / a! over the points of a box.
void add_moments(const Sources& sources, const Grid& grid, double box, size_t from, size_t to, double* moments) {
    vd sum[order];
    for (size_t a = 0; a < order; ++a) sum[a] = splat(0.0);
    const vd center = splat((box + 0.5) * grid.width), origin = splat(grid.origin), scale = splat(-grid.scale);
    const auto add = [&](vd x, vd w) {
        const vd v = ((x - origin) - center) * scale;
        for (size_t a = 0; a < order; ++a) sum[a] += w, w = w * v;
    };
    size_t i = from;
    for (; i + lanes <= to; i += lanes) add(load(sources.x + i), sources.w ? load(sources.w + i) : splat(1.0));
    if (i < to) {
        double x[lanes], w[lanes];
        for (size_t k = 0; k < lanes; ++k) {
            x[k] = sources.x[i + k < to ? i + k : i];
            w[k] = i + k < to ? sources.weight_of(i + k) : 0.0;
        }
        add(load(x), load(w));
    }
    double factorial = 1.0;
    for (size_t a = 0; a < order; ++a) {
        if (a > 1) factorial *= static_cast<double>(a);
        moments[a] = sum_of(sum[a]) / factorial;
    }
}

// Adds sum over a of moments[a] * g[a + b] to coefficient b.
COUNTWISE_INLINE void add_box(const double* moments, const double* g, vd* coefficients) {
    for (size_t a = 0; a < order; ++a)
        for (size_t b = 0; b < order / lanes; ++b) coefficients[b] += splat(moments[a]) * load(g + a + b * lanes);
}

// The expansions of one set of points.
struct Expander {
    const Sources& sources;
    const Grid& grid;
    const Runs& runs;
    Derivatives derivatives;
    Scratch<double> moments;  // (runs, order)
    Scratch<uint8_t> has_moments;
    double outside;

    Expander(const Sources& s, const Grid& g, const Runs& r)
        : sources(s), grid(g), runs(r), derivatives(g), moments(r.count * order), has_moments(r.count) {
        std::memset(has_moments.get(), 0, r.count);
        const double distance = static_cast<double>(reach) * grid.width * grid.scale;
        outside = std::exp(-distance * distance);
    }

    const double* moments_of(size_t run) {
        double* to = &moments[run * order];
        if (!has_moments[run])
            add_moments(sources, grid, static_cast<double>(runs.number[run]), runs.begin[run], runs.begin[run + 1], to);
        has_moments[run] = 1;
        return to;
    }

    void expand(const Targets& target, double* row) {
        vd sum[order / lanes];
        for (vd& part : sum) part = splat(0.0);
        double inside = 0.0, error = 0.0;
        for (size_t run = target.low; run < target.high; ++run) {
            const double* m = moments_of(run);
            const int64_t d = runs.number[run] - target.number + reach;
            add_box(m, derivatives.at[d], sum);
            inside += m[0];
            error += m[0] * derivatives.half_power[d];
        }
        std::memcpy(row, sum, sizeof sum);
        double factorial = 1.0;
        for (size_t b = 2; b < order; ++b) row[b] /= factorial *= static_cast<double>(b);
        // Treat the rest as 0 if it is only rounding error.
        const double rest = sources.weight - inside;
        const double dropped = rest > 1e-10 * sources.weight ? rest : 1e-10 * sources.weight;
        row[order] = (doubt * error + dropped * outside) / log_error;
    }
};

// Finds the row of a box's number.
class Index {
public:
    explicit Index(const Boxes& boxes)
        : boxes_(boxes), first_(boxes.count ? static_cast<uint64_t>(boxes.number[0]) : 0),
          mask_(size_for(boxes.count) - 1), slot_(mask_ + 1) {
        for (size_t i = 0; i <= mask_; ++i) slot_[i] = nobody;
        for (size_t row = 0; row < boxes.count; ++row) {
            size_t at = hash(boxes.number[row]);
            while (slot_[at] != nobody) at = (at + 1) & mask_;
            slot_[at] = row;
        }
    }
    COUNTWISE_INLINE size_t row_of(int64_t number) const {
        size_t at = hash(number);
        while (slot_[at] != nobody && boxes_.number[slot_[at]] != number) at = (at + 1) & mask_;
        return slot_[at];
    }

private:
    static size_t size_for(size_t count) {
        size_t size = 8;
        while (size < 2 * count + 2) size *= 2;
        return size;
    }
    // Adjacent numbers stay adjacent, so that consecutive numbers do not collide.
    COUNTWISE_INLINE size_t hash(int64_t number) const {
        const uint64_t k = static_cast<uint64_t>(number) - first_;
        return static_cast<size_t>(k + (k >> 20) * 0x9e3779b1u) & mask_;
    }

    const Boxes& boxes_;
    uint64_t first_;
    size_t mask_;
    Scratch<size_t> slot_;
};

COUNTWISE_INLINE double polynomial(const double* row, double u) {
    const double u2 = u * u;
    const vd4 u4 = splat_as<vd4>(u2 * u2);
    const vd4 sum = ((load4(row + 12) * u4 + load4(row + 8)) * u4 + load4(row + 4)) * u4 + load4(row);
    return (sum[0] + u * sum[1]) + u2 * (sum[2] + u * sum[3]);
}

// The value of an expansion, and the limit below which it is not accurate enough.
struct Estimate {
    double sum, limit;
};

COUNTWISE_INLINE Estimate estimate(const Grid& grid, const Index& index, const Boxes& boxes, double q) {
    const double box = grid.box(q);
    if (!Grid::near(box)) return {0.0, 1.0};
    const size_t row = index.row_of(static_cast<int64_t>(box));
    if (row == nobody) return {0.0, 1.0};
    const double* taylor = boxes.taylor + row * gauss_row;
    // The limit keeps the argument of log_of a normal number.
    return {polynomial(taylor, grid.offset(q, box)), larger(taylor[order], 1e-290)};
}

constexpr size_t part_size = 64;

// Takes the logs of a part of the sums in place; a 0 marks sums to be computed exactly.
void take_logs(double* sums, size_t n) {
    double part[part_size];
    for (size_t i = 0; i < part_size; ++i) part[i] = i < n && sums[i] > 0 ? sums[i] : 1.0;
    for (size_t i = 0; i < part_size; i += lanes) store(part + i, log_of(load(part + i)));
    std::memcpy(sums, part, n * sizeof(double));
}

}  // namespace

size_t gauss_expand(const Points& points, double tolerance, int64_t* boxes, double* taylor) {
    const Grid grid(points);
    if (points.n < 64 || !(tolerance >= least_tolerance) || !grid.usable()) return 0;
    const Sources sources(points);
    const Runs runs(sources, grid);
    Targets targets(runs);
    size_t count = 0;
    if (!boxes) {
        targets.each([&] { ++count; });
    } else {
        Expander expander(sources, grid, runs);
        targets.each([&] {
            boxes[count] = targets.number;
            expander.expand(targets, taylor + count++ * gauss_row);
        });
    }
    return count;
}

void gauss_log_sums(const Points& points, const Boxes& boxes, const double* queries, size_t n, double* sums) {
    const bool left_out = queries == nullptr;
    if (left_out) queries = points.x, n = points.n;
    const Grid grid(points);
    const Index index(boxes);
    const Sources sources(points);
    const auto weight_of = [&](size_t i) { return points.w ? points.w[i] : 1.0; };
    size_t place = 0;  // index of the point among those of positive weight
    Checkpoint checkpoint;
    for (size_t start = 0; start < n; start += part_size) {
        const size_t count = smaller(part_size, n - start);
        checkpoint.after(32 * count);
        size_t exact[part_size], self[part_size], n_exact = 0;
        for (size_t i = start; i < start + count; ++i) {
            const Estimate e = estimate(grid, index, boxes, queries[i]);
            const double w = left_out ? weight_of(i) : 0.0, others = e.sum - smaller(w, 1.0);
            // If the point itself is nearly all of the sum, the difference would be mostly rounding error.
            const bool trusted = others >= e.limit && others >= 1e-3 * e.sum;
            sums[i] = trusted ? others : 0.0;
            exact[n_exact] = i, self[n_exact] = w > 0 ? place : nobody;
            n_exact += !trusted;
            place += w > 0;
        }
        take_logs(sums + start, count);
        for (size_t k = 0; k < n_exact; ++k) {
            const size_t i = exact[k];
            checkpoint.after(sources.n);
            sums[i] = sources.log_sum(queries[i], self[k], left_out ? larger(weight_of(i) - 1.0, 0.0) : 0.0);
        }
    }
}

}  // namespace countwise::COUNTWISE_LEVEL
