// Bindings of the kernels on whole rows: scatter matrices, quadratic and linear forms.
#include "module.h"

namespace countwise {

// The next three set `incomplete` to 1 for every row with a NaN, which is ignored, and to 0 for all others. Sums must
// be zero before the call.
WIDE_KERNEL(void, class_scatter, const Column* columns, size_t n_columns, Column codes, const double* weights,
            size_t rows, size_t n_classes, uint8_t* incomplete, double* n, double* mean, double* scatter);
// The factors are (classes, height, columns).
WIDE_KERNEL(void, add_quadratic, const Column* columns, size_t n_columns, const double* centers, const double* factors,
            size_t height, size_t rows, size_t classes, double* out, uint8_t* incomplete);
WIDE_KERNEL(void, add_linear, const Column* columns, size_t n_columns, const double* center, const double* slopes,
            size_t rows, size_t classes, double* out, uint8_t* incomplete);

namespace {

// Marks of rows with a missing value.
Array marks_array(nb::handle object, size_t rows) {
    return require(object, "incomplete", Type::u8, {rows}, Access::write);
}

nb::tuple class_scatter(nb::handle columns, nb::handle codes, nb::handle weights, size_t n_classes,
                        nb::handle incomplete) {
    const Array code = codes_array(codes, "codes");
    const Columns column(columns, false);
    const size_t rows = code.size(), count = column.count();
    column.check(rows);
    const RowWeights weight(weights, rows);
    const Array marks = marks_array(incomplete, rows);
    check_count("n_classes", n_classes);
    const NewArray<double> n({n_classes}, zeros), mean({n_classes, count}, zeros),
        scatter({n_classes, count, count}, zeros);
    unlocked([&] {
        kernels::class_scatter(column.data(), count, code.column(), weight.data(), rows, n_classes,
                               marks.data<uint8_t>(), n.data(), mean.data(), scatter.data());
    });
    return nb::make_tuple(n.object, mean.object, scatter.object);
}

void add_quadratic(nb::handle columns, nb::handle centers, nb::handle factors, nb::handle out, nb::handle incomplete) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    const size_t rows = to.size(0), classes = to.size(1), count = column.count();
    column.check(rows);
    const Array marks = marks_array(incomplete, rows),
                middle = require(centers, "centers", Type::f64, {classes, count}),
                factor = require(factors, "factors", Type::f64, {classes, any, count});
    unlocked([&] {
        kernels::add_quadratic(column.data(), count, middle.data<const double>(), factor.data<const double>(),
                               factor.size(1), rows, classes, to.data<double>(), marks.data<uint8_t>());
    });
}

void add_linear(nb::handle columns, nb::handle center, nb::handle slopes, nb::handle out, nb::handle incomplete) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    const size_t rows = to.size(0), classes = to.size(1), count = column.count();
    column.check(rows);
    const Array marks = marks_array(incomplete, rows), middle = require(center, "center", Type::f64, {count}),
                slope = require(slopes, "slopes", Type::f64, {classes, count});
    unlocked([&] {
        kernels::add_linear(column.data(), count, middle.data<const double>(), slope.data<const double>(), rows,
                            classes, to.data<double>(), marks.data<uint8_t>());
    });
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("class_scatter", &class_scatter, "columns"_a, "codes"_a, "weights"_a.none(), "n_classes"_a, "incomplete"_a);
    m.def("add_quadratic", &add_quadratic, "columns"_a, "centers"_a, "factors"_a, "out"_a, "incomplete"_a);
    m.def("add_linear", &add_linear, "columns"_a, "center"_a, "slopes"_a, "out"_a, "incomplete"_a);
});

}  // namespace countwise
