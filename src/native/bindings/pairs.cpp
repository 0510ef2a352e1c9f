// Bindings of the kernels that choose columns: right answers with a column more, and counts of pairs of columns.
#include "module.h"

namespace countwise {

namespace {

constexpr size_t most_cells = size_t{1} << 31;  // of one table

nb::object count_correct(nb::handle base, nb::list terms, nb::handle target, nb::handle weights, int64_t fallback) {
    const Array scores = require(base, "base", Type::f64, {any, any}), right = column_array(target, "target");
    const size_t rows = scores.size(0), classes = scores.size(1), n = terms.size();
    if (classes == 0) refuse_value("base has no classes to choose from");
    if (is_float(right.type()) || right.type() == Type::boolean) refuse_type("target must be of an integer type");
    check_rows("target", right.size(), rows);
    const RowWeights weight(weights, rows);
    std::vector<Array> kept;
    std::vector<const double*> term;
    for (size_t t = 0; t < n; ++t) {
        kept.push_back(require(terms[t], "term " + std::to_string(t), Type::f64, {rows, classes}));
        term.push_back(kept.back().data<const double>());
    }
    const NewArray<double> sums({n});
    const JudgedRows judged{scores.data<const double>(), right.column(), weight.data(), rows, classes, fallback};
    unlocked([&] { kernels().count_correct(judged, term.data(), n, sums.data()); });
    return sums.object;
}

// The columns of each pair, one after the other.
std::vector<size_t> column_pairs(nb::handle pairs, size_t n_columns) {
    const Array array(pairs, "pairs");
    if (array.is_objects() || is_float(array.type()) || array.type() == Type::boolean)
        refuse_type("pairs must be of an integer type");
    if (array.dimensions() != 2 || array.size(1) != 2)
        refuse_value("pairs has shape " + array.shape() + "; it needs (pairs, 2)");
    const nb::object numbers = nb::handle(pairs).attr("astype")("int64", nb::arg("order") = "C");
    const Array number(numbers, "pairs");
    const int64_t* at = number.data<const int64_t>();
    std::vector<size_t> found(2 * number.size(0));
    for (size_t i = 0; i < found.size(); ++i) {
        if (at[i] < 0 || static_cast<uint64_t>(at[i]) >= n_columns)
            refuse_value("pairs hold column " + std::to_string(at[i]) + "; there are " + std::to_string(n_columns));
        found[i] = static_cast<size_t>(at[i]);
    }
    return found;
}

nb::list pair_counts(nb::handle columns, nb::list sizes, nb::handle pairs) {
    const Columns column(columns, true);
    const size_t rows = column.rows();
    if (sizes.size() != column.count())
        refuse_value("there are " + std::to_string(column.count()) + " columns but " + std::to_string(sizes.size()) +
                     " sizes");
    std::vector<size_t> size;
    for (nb::handle n : sizes) size.push_back(nb::cast<size_t>(n));
    const std::vector<size_t> pair = column_pairs(pairs, column.count());
    // One array for all tables, as there may be thousands of them.
    std::vector<size_t> places{0};
    for (size_t p = 0; p < pair.size(); p += 2) {
        const size_t height = size[pair[p]], width = size[pair[p + 1]];
        if (width > 0 && height > (most_cells - 1) / width)
            refuse_value("a pair has too many cells; it must have fewer than " + std::to_string(most_cells));
        places.push_back(places.back() + height * width);
    }
    const NewArray<int64_t> cells({places.back()}, zeros);
    std::vector<int64_t*> tables;
    for (size_t p = 0; p + 1 < places.size(); ++p) tables.push_back(cells.data() + places[p]);
    unlocked([&] {
        kernels().pair_counts(column.data(), column.count(), rows, size.data(), pair.data(), tables.size(),
                              tables.data());
    });
    nb::list made;
    for (size_t p = 0; p < tables.size(); ++p)
        made.append(cells.object[nb::slice(nb::int_(places[p]), nb::int_(places[p + 1]), nb::none())].attr("reshape")(
            size[pair[2 * p]], size[pair[2 * p + 1]]));
    return made;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("count_correct", &count_correct, "base"_a, "terms"_a, "target"_a, "weights"_a.none(), "fallback"_a);
    m.def("pair_counts", &pair_counts, "columns"_a, "sizes"_a, "pairs"_a);
});

}  // namespace countwise
