// Bindings of the kernels of naive Bayes.
#include "module.h"

namespace countwise {

WIDE_KERNEL(void, class_moments, const Column* columns, size_t n_columns, Column codes, const double* weights,
            size_t rows, size_t n_classes, double* n, double* mean, double* m2);
// Counts are float64 if the weights are floats, else int64. All weights are 1 if weights.data is null.
WIDE_KERNEL(void, count_codes, Column column, Column given, Column weights, size_t rows, size_t n_values,
            size_t n_given, void* counts);
WIDE_KERNEL(int, add_lookup, const Column* columns, size_t n_columns, const double* const* tables,
            const size_t* n_values, size_t rows, size_t classes, double* out);
WIDE_KERNEL(void, add_gaussian, const Column* columns, size_t n_columns, const double* mean, const double* inverse_sd,
            const double* log_norm, size_t rows, size_t classes, double* out);
WIDE_KERNEL(void, add_poisson, const Column* columns, size_t n_columns, const double* rate, size_t rows, size_t classes,
            double* out);
WIDE_KERNEL(size_t, normalize, double* out, size_t rows, size_t classes, bool proba);
WIDE_KERNEL(void, argmax_rows, const double* out, size_t rows, size_t classes, ptrdiff_t* best);

namespace {

nb::tuple class_moments(nb::handle columns, nb::handle codes, nb::handle weights, size_t n_classes) {
    const Array code = codes_array(codes, "codes");
    const Columns column(columns, false);
    const size_t rows = code.size();
    column.check(rows);
    const RowWeights weight(weights, rows);
    check_count("n_classes", n_classes);
    const std::vector<size_t> shape{column.count(), n_classes};
    const NewArray<double> n(shape, zeros), mean(shape, zeros), m2(shape, zeros);
    unlocked([&] {
        kernels::class_moments(column.data(), column.count(), code.column(), weight.data(), rows, n_classes, n.data(),
                               mean.data(), m2.data());
    });
    return nb::make_tuple(n.object, mean.object, m2.object);
}

nb::object count_codes(nb::handle column, nb::handle given, nb::handle weights, size_t n_values, size_t n_given) {
    const Array value = codes_array(column, "column");
    const size_t rows = value.size();
    const Array row = codes_array(given, "given", rows);
    const MaybeArray weight = weight_column(weights, rows);
    check_count("n_values", n_values);
    check_count("n_given", n_given);
    const NewArray<void> counts({n_given, n_values}, zeros, count_type(weight));
    unlocked([&] {
        kernels::count_codes(value.column(), row.column(), column_of(weight), rows, n_values, n_given, counts.data());
    });
    return counts.object;
}

void add_lookup(nb::handle columns, nb::handle tables, nb::handle out) {
    const Array to = out_array(out);
    const Columns column(columns, true);
    column.check(to.size(0));
    std::vector<Array> table;
    std::vector<const double*> cells;
    std::vector<size_t> n_values;
    for (nb::handle object : tables) {
        const std::string name = "tables[" + std::to_string(table.size()) + "]";
        table.push_back(require(object, name, Type::f64, {any, to.size(1)}));
        cells.push_back(table.back().data<const double>());
        n_values.push_back(table.back().size(0));
    }
    if (table.size() != column.count())
        refuse_value("There are " + std::to_string(column.count()) + " columns but " + std::to_string(table.size()) +
                     " tables.");
    const int bad = unlocked([&] {
        return kernels::add_lookup(column.data(), column.count(), cells.data(), n_values.data(), to.size(0), to.size(1),
                                   to.data<double>());
    });
    if (bad)
        refuse_value("columns[" + std::to_string(bad - 1) + "] contains a code beyond the " +
                     std::to_string(n_values[static_cast<size_t>(bad - 1)]) + " values of its table.");
}

void add_gaussian(nb::handle columns, nb::handle mean, nb::handle inverse_sd, nb::handle log_norm, nb::handle out) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    const size_t rows = to.size(0), classes = to.size(1), count = column.count();
    column.check(rows);
    const Array mu = require(mean, "mean", Type::f64, {count, classes}),
                s = require(inverse_sd, "inverse_sd", Type::f64, {count, classes}),
                norm = require(log_norm, "log_norm", Type::f64, {count, classes});
    unlocked([&] {
        kernels::add_gaussian(column.data(), count, mu.data<const double>(), s.data<const double>(),
                              norm.data<const double>(), rows, classes, to.data<double>());
    });
}

void add_poisson(nb::handle columns, nb::handle rate, nb::handle out) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    column.check(to.size(0));
    const Array rates = require(rate, "rate", Type::f64, {column.count(), to.size(1)});
    unlocked([&] {
        kernels::add_poisson(column.data(), column.count(), rates.data<const double>(), to.size(0), to.size(1),
                             to.data<double>());
    });
}

size_t normalize(nb::handle out, const std::string& kind) {
    const Array to = out_array(out);
    if (kind != "log" && kind != "proba") refuse_value("kind must be 'log' or 'proba', not '" + kind + "'.");
    return unlocked([&] { return kernels::normalize(to.data<double>(), to.size(0), to.size(1), kind == "proba"); });
}

nb::object argmax_rows(nb::handle out) {
    const Array from = out_array(out, false);
    if (from.size(1) == 0) refuse_value("out has no classes.");
    const NewArray<ptrdiff_t> best({from.size(0)}, false, "intp");
    unlocked([&] { kernels::argmax_rows(from.data<const double>(), from.size(0), from.size(1), best.data()); });
    return best.object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("class_moments", &class_moments, "columns"_a, "codes"_a, "weights"_a.none(), "n_classes"_a);
    m.def("count_codes", &count_codes, "column"_a, "given"_a, "weights"_a.none(), "n_values"_a, "n_given"_a);
    m.def("add_lookup", &add_lookup, "columns"_a, "tables"_a, "out"_a);
    m.def("add_gaussian", &add_gaussian, "columns"_a, "mean"_a, "inverse_sd"_a, "log_norm"_a, "out"_a);
    m.def("add_poisson", &add_poisson, "columns"_a, "rate"_a, "out"_a);
    m.def("normalize", &normalize, "out"_a, "kind"_a);
    m.def("argmax_rows", &argmax_rows, "out"_a);
});

}  // namespace countwise
