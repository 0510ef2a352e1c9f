// The Python module: arguments are checked here, with the interpreter's lock held; the kernels run without it.
#include <algorithm>

#include "arrays.h"
#include "module.h"

namespace countwise {

#ifdef COUNTWISE_X86_LEVELS
namespace v2 { extern const Kernels kernels; }
namespace v3 { extern const Kernels kernels; }
namespace v4 { extern const Kernels kernels; }
#else
namespace baseline { extern const Kernels kernels; }
#endif

namespace {

const Kernels* active = nullptr;

// The levels that this processor can run, lowest first.
std::vector<const Kernels*> supported_levels() {
    std::vector<const Kernels*> levels;
#ifdef COUNTWISE_X86_LEVELS
    __builtin_cpu_init();
    const bool has_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool has_v3 = has_v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    if (has_v2) levels.push_back(&v2::kernels);
    if (has_v3) levels.push_back(&v3::kernels);
    if (has_v4) levels.push_back(&v4::kernels);
#else
    levels.push_back(&baseline::kernels);
#endif
    return levels;
}

std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (const Kernels* level : supported_levels()) names.emplace_back(level->name);
    return names;
}

// A level by the end of its name; the highest that there is if the processor lacks it.
void set_level(const std::string& wanted) {
    if (wanted != "v2" && wanted != "v3" && wanted != "v4")
        refuse_value("the level is '" + wanted + "'; it must be 'v2', 'v3' or 'v4'");
    const auto levels = supported_levels();
    const std::size_t place = static_cast<std::size_t>(wanted[1] - '2');
    active = levels[std::min(place, levels.size() - 1)];
}

nb::tuple class_moments(nb::handle columns, nb::handle codes, nb::handle weights, std::size_t n_classes) {
    const Array code = codes_array(codes, "codes");
    const Columns column(columns, false);
    const std::size_t rows = code.size();
    column.check(rows);
    const RowWeights weight(weights, rows);
    const nb::object shape = nb::make_tuple(column.count(), n_classes);
    const nb::object n = new_array("zeros", shape, "d"), mean = new_array("zeros", shape, "d"),
                     m2 = new_array("zeros", shape, "d");
    const Array to_n(n, "n"), to_mean(mean, "mean"), to_m2(m2, "m2");
    unlocked([&] {
        kernels().class_moments(column.data(), column.count(), code.column(), weight.data(), rows, n_classes,
                                to_n.data<double>(), to_mean.data<double>(), to_m2.data<double>());
    });
    return nb::make_tuple(n, mean, m2);
}

nb::object count_codes(nb::handle column, nb::handle given, nb::handle weights, std::size_t n_values,
                       std::size_t n_given) {
    const Array value = codes_array(column, "column");
    const std::size_t rows = value.size();
    const Array row = codes_array(given, "given", rows);
    const nb::object shape = nb::make_tuple(n_given, n_values);
    if (weights.is_none()) {
        const nb::object counts = new_array("zeros", shape, "int64");
        const Array to(counts, "counts");
        unlocked([&] {
            kernels().count_codes(value.column(), row.column(), rows, n_values, n_given, to.data<std::int64_t>());
        });
        return counts;
    }
    const Array weight = column_array(weights, "weights");
    check_rows("weights", weight.size(), rows);
    const bool floats = weight.type() == Type::f64 || weight.type() == Type::f32;
    const nb::object counts = new_array("zeros", shape, floats ? "d" : "int64");
    const Array to(counts, "counts");
    unlocked([&] {
        if (floats)
            kernels().count_codes_float(value.column(), row.column(), weight.column(), rows, n_values, n_given,
                                        to.data<double>());
        else
            kernels().count_codes_integer(value.column(), row.column(), weight.column(), rows, n_values, n_given,
                                          to.data<std::int64_t>());
    });
    return counts;
}

void add_lookup(nb::handle columns, nb::handle tables, nb::handle out) {
    const Array to = out_array(out);
    const Columns column(columns, true);
    column.check(to.size(0));
    std::vector<Array> table;
    std::vector<const double*> cells;
    std::vector<std::size_t> n_values;
    for (nb::handle object : tables) {
        const std::string name = "table " + std::to_string(table.size());
        table.push_back(float_array(object, name, 2));
        if (table.back().size(1) != to.size(1))
            refuse_value(name + " has shape " + table.back().shape() + "; it needs " + std::to_string(to.size(1)) +
                         " classes");
        cells.push_back(table.back().data<const double>());
        n_values.push_back(table.back().size(0));
    }
    if (table.size() != column.count())
        refuse_value("there are " + std::to_string(column.count()) + " columns but " +
                     std::to_string(table.size()) + " tables");
    const int bad = unlocked([&] {
        return kernels().add_lookup(column.data(), column.count(), cells.data(), n_values.data(), to.size(0),
                                    to.size(1), to.data<double>());
    });
    if (bad)
        refuse_value("column " + std::to_string(bad - 1) + " holds a code beyond the " +
                     std::to_string(n_values[static_cast<std::size_t>(bad - 1)]) + " values of its table");
}

Array parameters(nb::handle object, const char* name, std::size_t columns, std::size_t classes) {
    Array table = float_array(object, name, 2);
    if (table.size(0) != columns || table.size(1) != classes)
        refuse_value(std::string(name) + " has shape " + table.shape() + "; it needs (" + std::to_string(columns) +
                     ", " + std::to_string(classes) + ")");
    return table;
}

void add_gaussian(nb::handle columns, nb::handle mean, nb::handle inverse_sd, nb::handle log_norm,
                  nb::handle out) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    const std::size_t rows = to.size(0), classes = to.size(1), count = column.count();
    column.check(rows);
    const Array mu = parameters(mean, "mean", count, classes), s = parameters(inverse_sd, "inverse_sd", count, classes),
                norm = parameters(log_norm, "log_norm", count, classes);
    unlocked([&] {
        kernels().add_gaussian(column.data(), count, mu.data<const double>(), s.data<const double>(),
                               norm.data<const double>(), rows, classes, to.data<double>());
    });
}

void add_poisson(nb::handle columns, nb::handle rate, nb::handle out) {
    const Array to = out_array(out);
    const Columns column(columns, false);
    column.check(to.size(0));
    const Array rates = parameters(rate, "rate", column.count(), to.size(1));
    unlocked([&] {
        kernels().add_poisson(column.data(), column.count(), rates.data<const double>(), to.size(0), to.size(1),
                              to.data<double>());
    });
}

std::size_t normalize(nb::handle out, const std::string& kind) {
    const Array to = out_array(out);
    if (kind != "log" && kind != "proba") refuse_value("kind is '" + kind + "'; it must be 'log' or 'proba'");
    return unlocked([&] { return kernels().normalize(to.data<double>(), to.size(0), to.size(1), kind == "proba"); });
}

nb::object argmax_rows(nb::handle out) {
    const Array from = out_array(out, false);
    if (from.size(1) == 0) refuse_value("out has no classes to choose from");
    const nb::object best = new_array("empty", nb::int_(from.size(0)), "intp");
    const Array to(best, "best");
    unlocked([&] {
        kernels().argmax_rows(from.data<const double>(), from.size(0), from.size(1), to.data<std::ptrdiff_t>());
    });
    return best;
}

}  // namespace

const Kernels& kernels() { return *active; }

}  // namespace countwise

NB_MODULE(_native, m) {
    using namespace countwise;
    using namespace nb::literals;
    const auto levels = supported_levels();
    if (levels.empty()) throw nb::import_error("this processor is older than x86-64-v2");
    active = levels.back();
    m.doc() = "The compiled kernels; countwise._kernels.reference documents them.";
    m.def("get_level", [] { return std::string(kernels().name); });
    m.def("set_level", &set_level, "wanted"_a);
    m.def("levels", [] {
        nb::list names;
        for (const std::string& name : level_names()) names.append(name);
        return names;
    });
    m.def("class_moments", &class_moments, "columns"_a, "codes"_a, "weights"_a.none(), "n_classes"_a);
    m.def("count_codes", &count_codes, "column"_a, "given"_a, "weights"_a.none(), "n_values"_a, "n_given"_a);
    m.def("add_lookup", &add_lookup, "columns"_a, "tables"_a, "out"_a);
    m.def("add_gaussian", &add_gaussian, "columns"_a, "mean"_a, "inverse_sd"_a, "log_norm"_a, "out"_a);
    m.def("add_poisson", &add_poisson, "columns"_a, "rate"_a, "out"_a);
    m.def("normalize", &normalize, "out"_a, "kind"_a);
    m.def("argmax_rows", &argmax_rows, "out"_a);
    define_sparse(m);
    define_integers(m);
    define_columns(m);
    define_objects(m);
    define_gauss(m);
    define_cuts(m);
    define_pairs(m);
    define_families(m);
    define_products(m);
    define_scores(m);
    define_scatter(m);
    define_paths(m);
    define_thresholds(m);
    define_bins(m);
    define_binning(m);
    define_neighbors(m);
}
