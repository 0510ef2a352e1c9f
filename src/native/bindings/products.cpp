// Bindings of sums of product kernels.
#include <cmath>

#include "support/product_leaves.h"
#include "module.h"

namespace countwise {

WIDE_KERNEL(void, product_log_sums, const Products& points, const ProductQueries& queries, double tolerance,
            double* logs);

namespace {

constexpr double least_bandwidth = 1e-300;

// The kernel function of each column.
class Kernel {
public:
    Kernel(nb::handle kinds, nb::handle scales)
        : kinds_(require(kinds, "kinds", Type::u8, {any})),
          scales_(require(scales, "scales", Type::f64, {kinds_.size(), 2})) {
        for (size_t j = 0; j < columns(); ++j) check(j);
    }
    size_t columns() const { return kinds_.size(); }
    void put(Products& points) const {
        points.kinds = kinds_.data<const uint8_t>();
        points.scales = scales_.data<const double>();
    }

private:
    void check(size_t j) const {
        const uint8_t kind = kinds_.data<const uint8_t>()[j];
        const double a = scales_.data<const double>()[2 * j], b = scales_.data<const double>()[2 * j + 1];
        const std::string column = "Column " + std::to_string(j);
        if (kind > 4) refuse_value("kinds contains " + std::to_string(kind) + "; kinds must be between 0 and 4.");
        if (kind < 3 && !(a >= least_bandwidth && std::isfinite(a)))
            refuse_value(column + " has a bandwidth that is not finite or below 1e-300.");
        if (kind >= 3 && !(a <= 0 && (kind == 4 || b <= 0)))
            refuse_value(column + " has scales above 0; they must be at most 0.");
    }

    Array kinds_, scales_;
};

class PointTable {
public:
    PointTable(nb::handle points, nb::handle log_weights)
        : cells_(require(points, "points", Type::f64, {any, any})),
          weights_(require_or_none(log_weights, "log_weights", Type::f64, {cells_.size()})) {
        const size_t n = cells_.size();
        points_ = {cells_.data<const double>(),
                   data_of<double>(weights_),
                   nullptr,
                   nullptr,
                   nullptr,
                   n,
                   cells_.size(1),
                   (n + product_leaf - 1) / product_leaf};
    }
    Products& points() { return points_; }
    void use(const Kernel& kernel) {
        if (cells_.size(1) != kernel.columns())
            refuse_value("points has " + std::to_string(cells_.size(1)) + " columns; " +
                         std::to_string(kernel.columns()) + " are needed.");
        kernel.put(points_);
    }

private:
    Array cells_;
    MaybeArray weights_;
    Products points_{};
};

class QueryTable {
public:
    QueryTable(nb::handle queries, nb::handle absent, nb::handle own, nb::handle rest, const Products& points)
        : cells_(require(queries, "queries", Type::f64, {any, points.columns})),
          absent_(require_or_none(absent, "absent", Type::f64, {cells_.size(), points.columns})),
          rest_(require_or_none(rest, "rest", Type::f64, {cells_.size()})),
          own_(require_or_none(own, "own", Type::i64, {cells_.size()})) {
        if (own.is_none() != rest.is_none()) refuse_value("own and rest must both be given, or neither.");
        queries_ = {cells_.data<const double>(), data_of<double>(absent_), data_of<int64_t>(own_),
                    data_of<double>(rest_), cells_.size()};
        check_numbers(points);
    }
    const ProductQueries& queries() const { return queries_; }

private:
    void check_numbers(const Products& points) const {
        bool good = true;
        const size_t cells = queries_.absent ? queries_.n * points.columns : 0;
        for (size_t i = 0; i < cells; ++i) good &= queries_.absent[i] <= 0;
        if (!good) refuse_value("absent must be at most 0.");
        for (size_t i = 0; queries_.own && i < queries_.n; ++i)
            good &= queries_.own[i] >= -1 && queries_.own[i] < static_cast<int64_t>(points.n);
        if (!good) refuse_value("own must be the index of one of the " + std::to_string(points.n) + " points, or -1.");
        for (size_t i = 0; queries_.rest && i < queries_.n; ++i) good &= queries_.rest[i] < HUGE_VAL;
        if (!good) refuse_value("rest must be below infinity and not NaN.");
    }

    Array cells_;
    MaybeArray absent_, rest_, own_;
    ProductQueries queries_{};
};

nb::object order(nb::handle points, nb::handle kinds, nb::handle scales) {
    const Kernel kernel(kinds, scales);
    PointTable table(points, nb::none());
    table.use(kernel);
    const NewArray<int64_t> rows({table.points().n});
    unlocked([&] { product_order(table.points(), rows.data()); });
    return rows.object;
}

nb::object boxes(nb::handle points, nb::handle log_weights) {
    PointTable table(points, log_weights);
    const Products& p = table.points();
    const NewArray<double> spans({2 * p.columns + 1, p.leaves});
    if (!unlocked([&] { return product_boxes(p, spans.data()); }))
        refuse_value("points must be finite or NaN (missing); log_weights must be below infinity and not NaN.");
    return spans.object;
}

nb::object log_sums(nb::handle points, nb::handle log_weights, nb::handle boxes, nb::handle kinds, nb::handle scales,
                    nb::handle queries, nb::handle absent, nb::handle own, nb::handle rest, double tolerance) {
    const Kernel kernel(kinds, scales);
    PointTable table(points, log_weights);
    table.use(kernel);
    Products& p = table.points();
    const Array spans = require(boxes, "boxes", Type::f64, {2 * p.columns + 1, p.leaves});
    p.boxes = spans.data<const double>();
    const QueryTable query(queries, absent, own, rest, p);
    if (!(tolerance >= 0 && tolerance < 1))
        refuse_value("tolerance is " + std::to_string(tolerance) + "; it must be at least 0 and below 1.");
    const NewArray<double> logs({query.queries().n});
    unlocked([&] { kernels::product_log_sums(p, query.queries(), tolerance, logs.data()); });
    return logs.object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("product_order", &order, "points"_a, "kinds"_a, "scales"_a);
    m.def("product_boxes", &boxes, "points"_a, "log_weights"_a.none());
    m.def("product_log_sums", &log_sums, "points"_a, "log_weights"_a.none(), "boxes"_a, "kinds"_a, "scales"_a,
          "queries"_a, "absent"_a.none(), "own"_a.none(), "rest"_a.none(), "tolerance"_a);
});

}  // namespace countwise
