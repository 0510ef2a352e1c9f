// Bindings of the kernels that score distributions and columns.
#include "module.h"

namespace countwise {

// Results are written to doubles that are `stride` bytes apart.
WIDE_KERNEL(void, gaussian_loo, const LooMoments& moments, const double* values, size_t n, char* out, ptrdiff_t stride);
// weights.data may be null.
WIDE_KERNEL(double, sum_log_posterior, const double* joint, size_t rows, size_t classes, size_t c, Column weights,
            double least);

KERNEL(void, count_correct, const LabeledRows& rows, const double* const* terms, size_t n_terms, double* sums);

namespace {

void gaussian_loo(nb::handle values, double n, double mean, double m2, double overall_variance, double overall_mean,
                  nb::handle out) {
    const Array from = require(values, "values", Type::f64, {any});
    const Array to(out, "out", true);
    if (to.is_objects() || to.type() != Type::f64) refuse_type("out must be float64.");
    if (to.dimensions() != 1) refuse_value("out has shape " + to.shape() + "; it needs 1 dimension.");
    check_rows("out", to.size(), from.size());
    if (!(n >= 1)) refuse_value("n must be at least 1, not " + std::to_string(n) + ".");
    const LooMoments moments{n, mean, m2, overall_variance, overall_mean};
    unlocked([&] {
        kernels::gaussian_loo(moments, from.data<const double>(), from.size(), to.data<char>(), to.column().stride);
    });
}

double sum_log_posterior(nb::handle joint, int64_t c, nb::handle weights, double least) {
    const Array from = require(joint, "joint", Type::f64, {any, any});
    const size_t rows = from.size(0), classes = from.size(1);
    if (c < 0 || static_cast<uint64_t>(c) >= classes)
        refuse_value("c is " + std::to_string(c) + ", but there are " + std::to_string(classes) + " classes.");
    const MaybeArray weight = weight_column(weights, rows);
    return unlocked([&] {
        return kernels::sum_log_posterior(from.data<const double>(), rows, classes, static_cast<size_t>(c),
                                          column_of(weight), least);
    });
}

nb::object count_correct(nb::handle base, nb::list terms, nb::handle target, nb::handle weights, int64_t fallback) {
    const Array scores = require(base, "base", Type::f64, {any, any}), right = column_array(target, "target");
    const size_t rows = scores.size(0), classes = scores.size(1), n = terms.size();
    if (classes == 0) refuse_value("base has no classes.");
    if (is_float(right.type()) || right.type() == Type::boolean) refuse_type("target must have an integer type.");
    check_rows("target", right.size(), rows);
    const RowWeights weight(weights, rows);
    std::vector<Array> kept;
    std::vector<const double*> term;
    for (size_t t = 0; t < n; ++t) {
        kept.push_back(require(terms[t], "terms[" + std::to_string(t) + "]", Type::f64, {rows, classes}));
        term.push_back(kept.back().data<const double>());
    }
    const NewArray<double> sums({n});
    const LabeledRows labeled{scores.data<const double>(), right.column(), weight.data(), rows, classes, fallback};
    unlocked([&] { kernels::count_correct(labeled, term.data(), n, sums.data()); });
    return sums.object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("gaussian_loo", &gaussian_loo, "values"_a, "n"_a, "mean"_a, "m2"_a, "overall_variance"_a, "overall_mean"_a,
          "out"_a);
    m.def("count_correct", &count_correct, "base"_a, "terms"_a, "target"_a, "weights"_a.none(), "fallback"_a);
    m.def("sum_log_posterior", &sum_log_posterior, "joint"_a, "c"_a, "weights"_a.none(), "least"_a);
});

}  // namespace countwise
