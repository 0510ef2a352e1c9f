// Bindings of the kernels on whole rows: scatter matrices, quadratic and linear forms.
#include "module.h"

namespace countwise {

namespace {

// The marks of rows that lack a cell: uint8, contiguous, one a row.
Array marks_array(nb::handle object, std::size_t rows) {
    Array array(object, "incomplete", true);
    if (array.is_objects() || array.type() != Type::u8) refuse_type("incomplete must be uint8");
    if (array.dimensions() != 1 || !array.contiguous())
        refuse_value("incomplete must be contiguous (rows,), not of shape " + array.shape());
    check_rows("incomplete", array.size(), rows);
    return array;
}

Array parameters(nb::handle object, const char* name, const std::vector<std::size_t>& shape) {
    Array table = float_array(object, name, static_cast<int>(shape.size()));
    std::string wanted;
    bool good = true;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        good &= table.size(static_cast<int>(i)) == shape[i];
        wanted += (i ? ", " : "(") + std::to_string(shape[i]);
    }
    wanted += shape.size() == 1 ? ",)" : ")";
    if (!good) refuse_value(std::string(name) + " has shape " + table.shape() + "; it needs " + wanted);
    return table;
}

nb::tuple class_scatter(nb::handle columns, nb::handle codes, nb::handle weights, std::size_t n_classes,
                        nb::handle incomplete) {
    const Array code = codes_array(codes, "codes");
    const Columns column(columns, false);
    const std::size_t rows = code.size(), count = column.count();
    column.check(rows);
    const RowWeights weight(weights, rows);
    const Array marks = marks_array(incomplete, rows);
    const nb::object n = new_array("zeros", nb::make_tuple(n_classes), "d"),
                     mean = new_array("zeros", nb::make_tuple(n_classes, count), "d"),
                     scatter = new_array("zeros", nb::make_tuple(n_classes, count, count), "d");
    const Array to_n(n, "n"), to_mean(mean, "mean"), to_scatter(scatter, "scatter");
    unlocked([&] {
        kernels().class_scatter(column.data(), count, code.column(), weight.data(), rows, n_classes,
                                marks.data<std::uint8_t>(), to_n.data<double>(), to_mean.data<double>(),
                                to_scatter.data<double>());
    });
    return nb::make_tuple(n, mean, scatter);
}

void add_quadratic(nb::handle columns, nb::handle centers, nb::handle factors, nb::handle out,
                   nb::handle incomplete) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    const std::size_t rows = to.size(0), classes = to.size(1), count = column.count();
    column.check(rows);
    const Array marks = marks_array(incomplete, rows), middle = parameters(centers, "centers", {classes, count});
    const std::size_t height = float_array(factors, "factors", 3).size(1);
    const Array factor = parameters(factors, "factors", {classes, height, count});
    unlocked([&] {
        kernels().add_quadratic(column.data(), count, middle.data<const double>(), factor.data<const double>(), height,
                                rows, classes, to.data<double>(), marks.data<std::uint8_t>());
    });
}

void add_linear(nb::handle columns, nb::handle center, nb::handle slopes, nb::handle out, nb::handle incomplete) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    const std::size_t rows = to.size(0), classes = to.size(1), count = column.count();
    column.check(rows);
    const Array marks = marks_array(incomplete, rows), middle = parameters(center, "center", {count}),
                slope = parameters(slopes, "slopes", {classes, count});
    unlocked([&] {
        kernels().add_linear(column.data(), count, middle.data<const double>(), slope.data<const double>(), rows,
                             classes, to.data<double>(), marks.data<std::uint8_t>());
    });
}

}  // namespace

void define_scatter(nb::module_& m) {
    using namespace nb::literals;
    m.def("class_scatter", &class_scatter, "columns"_a, "codes"_a, "weights"_a.none(), "n_classes"_a, "incomplete"_a);
    m.def("add_quadratic", &add_quadratic, "columns"_a, "centers"_a, "factors"_a, "out"_a, "incomplete"_a);
    m.def("add_linear", &add_linear, "columns"_a, "center"_a, "slopes"_a, "out"_a, "incomplete"_a);
}

}  // namespace countwise
