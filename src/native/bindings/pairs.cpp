// Bindings of the kernels that choose columns: right answers with a column more, and counts of pairs of columns.
#include "module.h"

namespace countwise {

namespace {

bool is_float(Type type) { return type == Type::f64 || type == Type::f32; }

// Float64, C-contiguous, of a given number of rows and classes.
void check_scores(const Array& array, const std::string& name, std::size_t rows, std::size_t classes) {
    if (array.size(0) != rows || array.size(1) != classes)
        refuse_value(name + " has shape " + array.shape() + "; it needs (" + std::to_string(rows) + ", " +
                     std::to_string(classes) + ")");
}

nb::object count_right(nb::handle base, nb::list terms, nb::handle target, nb::handle weights,
                       std::int64_t fallback) {
    const Array scores = float_array(base, "base", 2), right = column_array(target, "target");
    const std::size_t rows = scores.size(0), classes = scores.size(1), n = terms.size();
    if (classes == 0) refuse_value("base has no classes to choose from");
    if (is_float(right.type()) || right.type() == Type::boolean) refuse_type("target must be of an integer type");
    check_rows("target", right.size(), rows);
    const RowWeights weight(weights, rows);
    std::vector<Array> kept;
    std::vector<const double*> term;
    for (std::size_t t = 0; t < n; ++t) {
        const std::string name = "term " + std::to_string(t);
        kept.push_back(float_array(terms[t], name, 2));
        check_scores(kept.back(), name, rows, classes);
        term.push_back(kept.back().data<const double>());
    }
    const nb::object sums = new_array("empty", nb::int_(n), "d");
    const Array to(sums, "sums");
    const Right judged{scores.data<const double>(), right.column(), weight.data(), rows, classes, fallback};
    unlocked([&] { kernels().count_right(judged, term.data(), n, to.data<double>()); });
    return sums;
}

// The columns of each pair, one after the other.
std::vector<std::size_t> column_pairs(nb::handle pairs, std::size_t n_columns) {
    const Array array(pairs, "pairs");
    if (array.is_objects() || is_float(array.type()) || array.type() == Type::boolean)
        refuse_type("pairs must be of an integer type");
    if (array.dimensions() != 2 || array.size(1) != 2)
        refuse_value("pairs has shape " + array.shape() + "; it needs (pairs, 2)");
    const nb::object numbers = nb::handle(pairs).attr("astype")("int64", nb::arg("order") = "C");
    const Array number(numbers, "pairs");
    const std::int64_t* at = number.data<const std::int64_t>();
    std::vector<std::size_t> found(2 * number.size(0));
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (at[i] < 0 || static_cast<std::uint64_t>(at[i]) >= n_columns)
            refuse_value("pairs hold column " + std::to_string(at[i]) + "; there are " + std::to_string(n_columns));
        found[i] = static_cast<std::size_t>(at[i]);
    }
    return found;
}

nb::list pair_counts(nb::handle columns, nb::list sizes, nb::handle pairs) {
    const Columns column(columns, true);
    const std::size_t rows = column.count() ? column.rows() : 0;
    if (sizes.size() != column.count())
        refuse_value("there are " + std::to_string(column.count()) + " columns but " +
                     std::to_string(sizes.size()) + " sizes");
    std::vector<std::size_t> size;
    for (nb::handle n : sizes) size.push_back(nb::cast<std::size_t>(n));
    const std::vector<std::size_t> pair = column_pairs(pairs, column.count());
    // One array for all tables, as there may be thousands of them.
    std::vector<std::size_t> places{0};
    for (std::size_t p = 0; p < pair.size(); p += 2)
        places.push_back(places.back() + size[pair[p]] * size[pair[p + 1]]);
    const nb::object cells = new_array("zeros", nb::int_(places.back()), "int64");
    const Array to(cells, "cells");
    std::vector<std::int64_t*> tables;
    for (std::size_t p = 0; p + 1 < places.size(); ++p) tables.push_back(to.data<std::int64_t>() + places[p]);
    unlocked([&] {
        kernels().pair_counts(column.data(), column.count(), rows, size.data(), pair.data(), tables.size(),
                              tables.data());
    });
    nb::list made;
    for (std::size_t p = 0; p < tables.size(); ++p)
        made.append(cells[nb::slice(nb::int_(places[p]), nb::int_(places[p + 1]), nb::none())].attr("reshape")(
            size[pair[2 * p]], size[pair[2 * p + 1]]));
    return made;
}

}  // namespace

void define_pairs(nb::module_& m) {
    using namespace nb::literals;
    m.def("count_right", &count_right, "base"_a, "terms"_a, "target"_a, "weights"_a.none(), "fallback"_a);
    m.def("pair_counts", &pair_counts, "columns"_a, "sizes"_a, "pairs"_a);
}

}  // namespace countwise
