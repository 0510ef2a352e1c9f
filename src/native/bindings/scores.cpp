// Bindings of the kernels that score laws by leaving rows out.
#include "module.h"

namespace countwise {

namespace {

void gaussian_left_out(nb::handle values, double n, double mean, double m2, double spread, double middle,
                       nb::handle out) {
    const Array from = require(values, "values", Type::f64, {any});
    const Array to(out, "out", true);
    if (to.is_objects() || to.type() != Type::f64) refuse_type("out must be float64");
    if (to.dimensions() != 1) refuse_value("out has shape " + to.shape() + "; it needs 1 dimension");
    check_rows("out", to.size(), from.size());
    if (!(n >= 1)) refuse_value("n is " + std::to_string(n) + "; the class has at least 1 value");
    const LeftOut law{n, mean, m2, spread, middle};
    unlocked([&] {
        kernels().gaussian_left_out(law, from.data<const double>(), from.size(), to.data<char>(), to.column().stride);
    });
}

double sum_log_share(nb::handle joint, int64_t c, nb::handle weights, double least) {
    const Array from = require(joint, "joint", Type::f64, {any, any});
    const size_t rows = from.size(0), classes = from.size(1);
    if (c < 0 || static_cast<uint64_t>(c) >= classes)
        refuse_value("c is " + std::to_string(c) + "; there are " + std::to_string(classes) + " classes");
    const MaybeArray weight = weight_column(weights, rows);
    return unlocked([&] {
        return kernels().sum_log_share(from.data<const double>(), rows, classes, static_cast<size_t>(c),
                                       column_of(weight), least);
    });
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("gaussian_left_out", &gaussian_left_out, "values"_a, "n"_a, "mean"_a, "m2"_a, "spread"_a, "middle"_a,
          "out"_a);
    m.def("sum_log_share", &sum_log_share, "joint"_a, "c"_a, "weights"_a.none(), "least"_a);
});

}  // namespace countwise
