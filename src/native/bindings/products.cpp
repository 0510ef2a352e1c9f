// Bindings of the sums of product kernels.
#include <cmath>
#include <optional>

#include "support/product_leaves.h"
#include "module.h"

namespace countwise {

namespace {

constexpr double least_width = 1e-300;

void check_columns(const std::string& name, const Array& table, std::size_t columns) {
    if (table.size(1) != columns)
        refuse_value(name + " has " + std::to_string(table.size(1)) + " columns; " + std::to_string(columns) +
                     " are needed");
}

// A 1-D array of one type: copied only if it is not contiguous.
Array vector_array(nb::handle object, const std::string& name, Type type, const char* dtype, std::size_t rows) {
    Array array = column_array(object, name);
    if (array.type() != type) refuse_type(name + " must be 1-D " + dtype);
    check_rows(name, array.size(), rows);
    if (array.contiguous()) return array;
    return Array(nb::module_::import_("numpy").attr("array")(object), name);
}

// A float64 array or none.
std::optional<Array> maybe_floats(nb::handle object, const std::string& name, int dimensions, std::size_t rows) {
    if (object.is_none()) return std::nullopt;
    Array array = float_array(object, name, dimensions);
    check_rows(name, array.size(), rows);
    return array;
}

const double* data_of(const std::optional<Array>& array) { return array ? array->data<const double>() : nullptr; }

// The kernel of each column.
class Kernel {
public:
    Kernel(nb::handle kinds, nb::handle scales) : kinds_(kinds, "kinds"), scales_(float_array(scales, "scales", 2)) {
        if (kinds_.is_objects() || kinds_.type() != Type::u8 || kinds_.dimensions() != 1)
            refuse_type("kinds are 1-D uint8");
        if (!kinds_.contiguous()) refuse_value("kinds must be contiguous");
        check_rows("scales", scales_.size(), columns());
        check_columns("scales", scales_, 2);
        for (std::size_t j = 0; j < columns(); ++j) check(j);
    }
    std::size_t columns() const { return kinds_.size(); }
    void put(Products& points) const {
        points.kinds = kinds_.data<const std::uint8_t>();
        points.scales = scales_.data<const double>();
    }

private:
    void check(std::size_t j) const {
        const std::uint8_t kind = kinds_.data<const std::uint8_t>()[j];
        const double a = scales_.data<const double>()[2 * j], b = scales_.data<const double>()[2 * j + 1];
        const std::string column = "column " + std::to_string(j);
        if (kind > 4) refuse_value("kinds has a " + std::to_string(kind) + "; they go from 0 to 4");
        if (kind < 3 && !(a >= least_width && std::isfinite(a)))
            refuse_value(column + " has a width that is not finite and at least 1e-300");
        if (kind >= 3 && !(a <= 0 && (kind == 4 || b <= 0)))
            refuse_value(column + " has scales that are not logs of at most 0");
    }

    Array kinds_, scales_;
};

class PointTable {
public:
    PointTable(nb::handle points, nb::handle log_weights)
        : cells_(float_array(points, "points", 2)),
          weights_(maybe_floats(log_weights, "log_weights", 1, cells_.size())) {
        const std::size_t n = cells_.size();
        points_ = {cells_.data<const double>(), data_of(weights_), nullptr, nullptr, nullptr,
                   n, cells_.size(1), (n + product_leaf - 1) / product_leaf};
    }
    Products& points() { return points_; }
    void use(const Kernel& kernel) {
        check_columns("points", cells_, kernel.columns());
        kernel.put(points_);
    }

private:
    Array cells_;
    std::optional<Array> weights_;
    Products points_{};
};

class QueryTable {
public:
    QueryTable(nb::handle queries, nb::handle absent, nb::handle own, nb::handle rest, const Products& points)
        : cells_(float_array(queries, "queries", 2)), absent_(maybe_floats(absent, "absent", 2, cells_.size())),
          rest_(maybe_floats(rest, "rest", 1, cells_.size())) {
        const std::size_t n = cells_.size();
        check_columns("queries", cells_, points.columns);
        if (absent_) check_columns("absent", *absent_, points.columns);
        if (own.is_none() != rest.is_none()) refuse_value("own and rest are given together or not at all");
        if (!own.is_none()) own_ = vector_array(own, "own", Type::i64, "int64", n);
        queries_ = {cells_.data<const double>(), data_of(absent_),
                    own_ ? own_->data<const std::int64_t>() : nullptr, data_of(rest_), n};
        check_numbers(points);
    }
    const ProductQueries& queries() const { return queries_; }

private:
    void check_numbers(const Products& points) const {
        bool good = true;
        const std::size_t cells = queries_.absent ? queries_.n * points.columns : 0;
        for (std::size_t i = 0; i < cells; ++i) good &= queries_.absent[i] <= 0;
        if (!good) refuse_value("absent must be 0 at most");
        for (std::size_t i = 0; queries_.own && i < queries_.n; ++i)
            good &= queries_.own[i] >= -1 && queries_.own[i] < static_cast<std::int64_t>(points.n);
        if (!good) refuse_value("own must be the number of one of " + std::to_string(points.n) + " points, or -1");
        for (std::size_t i = 0; queries_.rest && i < queries_.n; ++i) good &= queries_.rest[i] < HUGE_VAL;
        if (!good) refuse_value("rest must be numbers below infinity");
    }

    Array cells_;
    std::optional<Array> absent_, rest_, own_;
    ProductQueries queries_{};
};

nb::object order(nb::handle points, nb::handle kinds, nb::handle scales) {
    const Kernel kernel(kinds, scales);
    PointTable table(points, nb::none());
    table.use(kernel);
    const nb::object rows = new_array("empty", nb::int_(table.points().n), "int64");
    const Array to(rows, "order");
    unlocked([&] { product_order(table.points(), to.data<std::int64_t>()); });
    return rows;
}

nb::object boxes(nb::handle points, nb::handle log_weights) {
    PointTable table(points, log_weights);
    const Products& p = table.points();
    const nb::object spans = new_array("empty", nb::make_tuple(2 * p.columns + 1, p.leaves), "d");
    const Array to(spans, "boxes");
    if (!unlocked([&] { return product_boxes(p, to.data<double>()); }))
        refuse_value("points must be finite, or NaN where a cell is missing; log_weights must be below infinity");
    return spans;
}

nb::object log_sums(nb::handle points, nb::handle log_weights, nb::handle boxes, nb::handle kinds, nb::handle scales,
                    nb::handle queries, nb::handle absent, nb::handle own, nb::handle rest, double tolerance) {
    const Kernel kernel(kinds, scales);
    PointTable table(points, log_weights);
    table.use(kernel);
    Products& p = table.points();
    const Array spans = float_array(boxes, "boxes", 2);
    if (spans.size(0) != 2 * p.columns + 1 || spans.size(1) != p.leaves)
        refuse_value("boxes has shape " + spans.shape() + "; it needs (" + std::to_string(2 * p.columns + 1) + ", " +
                     std::to_string(p.leaves) + ")");
    p.boxes = spans.data<const double>();
    const QueryTable query(queries, absent, own, rest, p);
    if (!(tolerance >= 0 && tolerance < 1))
        refuse_value("tolerance is " + std::to_string(tolerance) + "; it is at least 0 and below 1");
    const nb::object logs = new_array("empty", nb::int_(query.queries().n), "d");
    const Array to(logs, "logs");
    unlocked([&] { kernels().product_log_sums(p, query.queries(), tolerance, to.data<double>()); });
    return logs;
}

}  // namespace

void define_products(nb::module_& m) {
    using namespace nb::literals;
    m.def("product_order", &order, "points"_a, "kinds"_a, "scales"_a);
    m.def("product_boxes", &boxes, "points"_a, "log_weights"_a.none());
    m.def("product_log_sums", &log_sums, "points"_a, "log_weights"_a.none(), "boxes"_a, "kinds"_a, "scales"_a,
          "queries"_a, "absent"_a.none(), "own"_a.none(), "rest"_a.none(), "tolerance"_a);
}

}  // namespace countwise
