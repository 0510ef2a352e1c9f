// Bindings of the kernel density sums.
#include <cmath>

#include "module.h"

namespace countwise {

namespace {

class SortedPoints {
public:
    SortedPoints(nb::handle points, nb::handle weights, double h)
        : x_(float_array(points, "points", 1)), w_(weights, x_.size()) {
        if (!(h > 0 && std::isfinite(h)))
            refuse_value("h is " + std::to_string(h) + "; a width is finite and above 0");
        points_ = {x_.data<const double>(), w_.data(), x_.size(), h};
        check_points();
        check_weights();
    }
    const Points& points() const { return points_; }

private:
    void check_points() const {
        const double* x = points_.x;
        bool good = points_.n == 0 || (std::isfinite(x[0]) && std::isfinite(x[points_.n - 1]));
        for (std::size_t i = 1; i < points_.n; ++i) good &= x[i - 1] <= x[i];
        if (!good) refuse_value("points must be finite and ascending");
    }
    void check_weights() const {
        bool good = true;
        for (std::size_t i = 0; points_.w && i < points_.n; ++i) good &= points_.w[i] >= 0 && points_.w[i] < HUGE_VAL;
        if (!good) refuse_value("weights must be finite and not negative");
    }

    Array x_;
    RowWeights w_;
    Points points_{};
};

class Expansion {
public:
    Expansion(nb::handle boxes, nb::handle taylor)
        : number_(boxes, "boxes"), taylor_(float_array(taylor, "taylor", 2)) {
        if (number_.type() != Type::i64 || number_.is_objects()) refuse_type("boxes must be int64");
        if (number_.dimensions() != 1 || !number_.contiguous()) refuse_value("boxes must be 1-D and contiguous");
        if (taylor_.size(0) != number_.size() || taylor_.size(1) != gauss_row)
            refuse_value("taylor has shape " + taylor_.shape() + "; it needs (" +
                         std::to_string(number_.size()) + ", " + std::to_string(gauss_row) + ")");
        boxes_ = {number_.data<const std::int64_t>(), taylor_.data<const double>(), number_.size()};
    }
    const Boxes& boxes() const { return boxes_; }

private:
    Array number_, taylor_;
    Boxes boxes_{};
};

nb::object gauss_log_sums_exact(nb::handle points, nb::handle weights, double h, nb::handle queries) {
    const SortedPoints sorted(points, weights, h);
    const Array query = float_array(queries, "queries", 1);
    const nb::object sums = new_array("empty", nb::int_(query.size()), "d");
    const Array to(sums, "sums");
    unlocked([&] {
        kernels().gauss_log_sums_exact(sorted.points(), query.data<const double>(), query.size(), to.data<double>());
    });
    return sums;
}

nb::tuple gauss_expand(nb::handle points, nb::handle weights, double h, double tolerance) {
    const SortedPoints sorted(points, weights, h);
    const std::size_t count =
        unlocked([&] { return kernels().gauss_expand(sorted.points(), tolerance, nullptr, nullptr); });
    const nb::object boxes = new_array("empty", nb::int_(count), "int64");
    const nb::object taylor = new_array("empty", nb::make_tuple(count, gauss_row), "d");
    const Array to_boxes(boxes, "boxes"), to_taylor(taylor, "taylor");
    if (count)
        unlocked([&] {
            return kernels().gauss_expand(sorted.points(), tolerance, to_boxes.data<std::int64_t>(),
                                          to_taylor.data<double>());
        });
    return nb::make_tuple(boxes, taylor);
}

nb::object gauss_log_sums(nb::handle points, nb::handle weights, double h, nb::handle boxes, nb::handle taylor,
                          double, nb::handle queries) {
    const SortedPoints sorted(points, weights, h);
    const Expansion expansion(boxes, taylor);
    const Array query = float_array(queries, "queries", 1);
    const nb::object sums = new_array("empty", nb::int_(query.size()), "d");
    const Array to(sums, "sums");
    unlocked([&] {
        kernels().gauss_log_sums(sorted.points(), expansion.boxes(), query.data<const double>(), query.size(),
                                 to.data<double>());
    });
    return sums;
}

nb::object gauss_loo_log_sums(nb::handle points, nb::handle weights, double h, nb::handle boxes, nb::handle taylor,
                              double) {
    const SortedPoints sorted(points, weights, h);
    const Expansion expansion(boxes, taylor);
    const nb::object sums = new_array("empty", nb::int_(sorted.points().n), "d");
    const Array to(sums, "sums");
    unlocked([&] { kernels().gauss_loo_log_sums(sorted.points(), expansion.boxes(), to.data<double>()); });
    return sums;
}

}  // namespace

void define_gauss(nb::module_& m) {
    using namespace nb::literals;
    m.def("gauss_log_sums_exact", &gauss_log_sums_exact, "points"_a, "weights"_a.none(), "h"_a, "queries"_a);
    m.def("gauss_expand", &gauss_expand, "points"_a, "weights"_a.none(), "h"_a, "tolerance"_a);
    m.def("gauss_log_sums", &gauss_log_sums, "points"_a, "weights"_a.none(), "h"_a, "boxes"_a, "taylor"_a,
          "tolerance"_a, "queries"_a);
    m.def("gauss_loo_log_sums", &gauss_loo_log_sums, "points"_a, "weights"_a.none(), "h"_a, "boxes"_a, "taylor"_a,
          "tolerance"_a);
}

}  // namespace countwise
