// Bindings of sums of Gaussian kernels.
#include <cmath>

#include "module.h"

namespace countwise {

// Called twice: with null pointers it returns the number of boxes.
WIDE_KERNEL(size_t, gauss_expand, const Points& points, double tolerance, int64_t* boxes, double* taylor);
// Without queries it computes the leave-one-out sum at each point.
WIDE_KERNEL(void, gauss_log_sums, const Points& points, const Boxes& boxes, const double* queries, size_t n,
            double* sums);

namespace {

class SortedPoints {
public:
    SortedPoints(nb::handle points, nb::handle weights, double h)
        : x_(require(points, "points", Type::f64, {any})), w_(weights, x_.size()) {
        if (!(h > 0 && std::isfinite(h)))
            refuse_value("h is " + std::to_string(h) + "; a bandwidth must be finite and above 0.");
        points_ = {x_.data<const double>(), w_.data(), x_.size(), h};
        check_points();
        check_weights();
    }
    const Points& points() const { return points_; }

private:
    void check_points() const {
        const double* x = points_.x;
        bool good = points_.n == 0 || (std::isfinite(x[0]) && std::isfinite(x[points_.n - 1]));
        for (size_t i = 1; i < points_.n; ++i) good &= x[i - 1] <= x[i];
        if (!good) refuse_value("points must be finite and ascending.");
    }
    void check_weights() const {
        bool good = true;
        for (size_t i = 0; points_.w && i < points_.n; ++i) good &= points_.w[i] >= 0 && points_.w[i] < HUGE_VAL;
        if (!good) refuse_value("weights must be finite and not negative.");
    }

    Array x_;
    RowWeights w_;
    Points points_{};
};

class Expansion {
public:
    Expansion(nb::handle boxes, nb::handle taylor)
        : number_(require(boxes, "boxes", Type::i64, {any})),
          taylor_(require(taylor, "taylor", Type::f64, {number_.size(), gauss_row})) {
        boxes_ = {number_.data<const int64_t>(), taylor_.data<const double>(), number_.size()};
    }
    const Boxes& boxes() const { return boxes_; }

private:
    Array number_, taylor_;
    Boxes boxes_{};
};

nb::tuple gauss_expand(nb::handle points, nb::handle weights, double h, double tolerance) {
    const SortedPoints sorted(points, weights, h);
    const size_t count = unlocked([&] { return kernels::gauss_expand(sorted.points(), tolerance, nullptr, nullptr); });
    const NewArray<int64_t> boxes({count});
    const NewArray<double> taylor({count, gauss_row});
    if (count) unlocked([&] { return kernels::gauss_expand(sorted.points(), tolerance, boxes.data(), taylor.data()); });
    return nb::make_tuple(boxes.object, taylor.object);
}

nb::object gauss_log_sums(nb::handle points, nb::handle weights, double h, nb::handle boxes, nb::handle taylor, double,
                          nb::handle queries) {
    const SortedPoints sorted(points, weights, h);
    const Expansion expansion(boxes, taylor);
    const Array query = require(queries, "queries", Type::f64, {any});
    const NewArray<double> sums({query.size()});
    unlocked([&] {
        kernels::gauss_log_sums(sorted.points(), expansion.boxes(), query.data<const double>(), query.size(),
                                sums.data());
    });
    return sums.object;
}

nb::object gauss_loo_log_sums(nb::handle points, nb::handle weights, double h, nb::handle boxes, nb::handle taylor,
                              double) {
    const SortedPoints sorted(points, weights, h);
    const Expansion expansion(boxes, taylor);
    const NewArray<double> sums({sorted.points().n});
    unlocked([&] { kernels::gauss_log_sums(sorted.points(), expansion.boxes(), nullptr, 0, sums.data()); });
    return sums.object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("gauss_expand", &gauss_expand, "points"_a, "weights"_a.none(), "h"_a, "tolerance"_a);
    m.def("gauss_log_sums", &gauss_log_sums, "points"_a, "weights"_a.none(), "h"_a, "boxes"_a, "taylor"_a,
          "tolerance"_a, "queries"_a);
    m.def("gauss_loo_log_sums", &gauss_loo_log_sums, "points"_a, "weights"_a.none(), "h"_a, "boxes"_a, "taylor"_a,
          "tolerance"_a);
});

}  // namespace countwise
