// Bindings of the kernels that grow trees from bins.
#include "module.h"

namespace countwise {

namespace {

// An array of one type that is contiguous: copied only if it is not.
Array exact_array(nb::handle object, const std::string& name, Type type, const char* type_name, int dimensions) {
    Array array(object, name);
    if (array.is_objects() || array.type() != type) refuse_type(name + " must be " + type_name);
    if (array.dimensions() != dimensions)
        refuse_value(name + " has shape " + array.shape() + "; it needs " + std::to_string(dimensions) +
                     (dimensions == 1 ? " dimension" : " dimensions"));
    if (array.contiguous()) return array;
    return Array(nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C"), name);
}

// The entries of nodes, with segments that lie within them.
class Nodes {
public:
    Nodes(nb::handle entries, nb::handle segments, nb::handle rows, std::size_t instances)
        : entries_(exact_array(entries, "entries", Type::u32, "uint32", 1)),
          segments_(exact_array(segments, "segments", Type::i64, "int64", 2)) {
        if (segments_.size(1) != 2) refuse_value("segments has shape " + segments_.shape() + "; it needs (nodes, 2)");
        const std::int64_t* at = segments_.data<const std::int64_t>();
        bool good = true;
        for (std::size_t k = 0; k < count(); ++k)
            good &= 0 <= at[2 * k] && at[2 * k] <= at[2 * k + 1] &&
                    static_cast<std::uint64_t>(at[2 * k + 1]) <= entries_.size();
        if (!good) refuse_value("a segment does not lie within the " + std::to_string(entries_.size()) + " entries");
        if (!rows.is_none()) {
            rows_.push_back(exact_array(rows, "rows", Type::u32, "uint32", 1));
            check_rows("rows", rows_[0].size(), instances);
        }
        nodes_ = {entries_.data<const std::uint32_t>(), at, count(),
                  rows_.empty() ? nullptr : rows_[0].data<const std::uint32_t>(), instances};
    }
    std::size_t count() const { return segments_.size(0); }
    const NodeEntries& data() const { return nodes_; }

private:
    Array entries_, segments_;
    std::vector<Array> rows_;
    NodeEntries nodes_{};
};

void check_fault(int fault) {
    if (fault == 1) refuse_value("a code is out of range");
    if (fault == 2) refuse_value("an entry is of an instance or a row that there is not");
}

// The weights of counts, and the type of tables with them.
class CountWeights {
public:
    CountWeights(nb::handle weights, std::size_t instances) {
        if (weights.is_none()) return;
        array_.push_back(column_array(weights, "weights"));
        if (array_[0].type() != Type::f64 && array_[0].type() != Type::i64)
            refuse_type("weights must be int64 or float64");
        check_rows("weights", array_[0].size(), instances);
    }
    Column column() const { return array_.empty() ? Column{nullptr, 0, Type::f64} : array_[0].column(); }
    const char* kind() const {
        return array_.empty() ? "uint32" : array_[0].type() == Type::f64 ? "float64" : "int64";
    }

private:
    std::vector<Array> array_;
};

void check_sizes(std::size_t n_cells, std::size_t n_classes) {
    if (n_classes && n_cells > UINT32_MAX / n_classes) refuse_value("there are too many cells and classes");
}

nb::object count_entries(nb::handle column, nb::handle entries, nb::handle segments, nb::handle codes,
                         nb::handle weights, nb::handle rows, std::size_t n_cells, std::size_t n_classes) {
    const Array cells = codes_array(column, "column"), code = codes_array(codes, "codes");
    const Nodes nodes(entries, segments, rows, code.size());
    check_sizes(n_cells, n_classes);
    const CountWeights weight(weights, code.size());
    const nb::object table = new_array("zeros", nb::make_tuple(nodes.count(), n_cells, n_classes), weight.kind());
    const Array to(table, "table");
    check_fault(unlocked([&] {
        return kernels().count_entries(cells.column(), cells.size(), nodes.data(), code.column(), weight.column(),
                                       n_cells, n_classes, to.data<void>());
    }));
    return table;
}

nb::object count_matrix(nb::handle matrix, nb::handle entries, nb::handle segments, nb::handle codes,
                        nb::handle weights, nb::handle rows, std::size_t n_cells, std::size_t n_classes) {
    const Array cells(matrix, "matrix"), code = codes_array(codes, "codes");
    if (cells.is_objects() || cells.type() != Type::u8 || cells.dimensions() != 2 || !cells.contiguous())
        refuse_type("matrix must be C-contiguous uint8 (rows, columns), not of shape " + cells.shape());
    const Nodes nodes(entries, segments, rows, code.size());
    check_sizes(n_cells, n_classes);
    const CountWeights weight(weights, code.size());
    const nb::object table =
        new_array("zeros", nb::make_tuple(cells.size(1), nodes.count(), n_cells, n_classes), weight.kind());
    const Array to(table, "table");
    check_fault(unlocked([&] {
        return kernels().count_matrix(cells.data<const std::uint8_t>(), cells.size(0), cells.size(1), nodes.data(),
                                      code.column(), weight.column(), n_cells, n_classes, to.data<void>());
    }));
    return table;
}

nb::object sum_entries(nb::handle column, nb::handle entries, nb::handle segments, nb::handle values,
                       nb::handle weights, nb::handle rows, std::size_t n_cells, nb::handle centers) {
    const Array cells = codes_array(column, "column"), value = float_array(values, "values", 1);
    const Nodes nodes(entries, segments, rows, value.size());
    const RowWeights weight(weights, value.size());
    const Array center = float_array(centers, "centers", 1);
    check_rows("centers", center.size(), nodes.count());
    if (n_cells > UINT32_MAX) refuse_value("there are too many cells");
    const nb::object table = new_array("zeros", nb::make_tuple(nodes.count(), n_cells, 3), "float64");
    const Array to(table, "table");
    check_fault(unlocked([&] {
        return kernels().sum_entries(cells.column(), cells.size(), nodes.data(), value.data<const double>(),
                                     weight.data(), n_cells, center.data<const double>(), to.data<double>());
    }));
    return table;
}

Criterion criterion_of(const std::string& word) {
    if (word == "gini") return Criterion::gini;
    if (word == "entropy") return Criterion::entropy;
    if (word == "variance") return Criterion::variance;
    if (word == "sd") return Criterion::sd;
    refuse_value("criterion is '" + word + "'; it must be one of gini, entropy, variance, sd");
}

// A table (nodes, cells, classes), or of sums (nodes, cells, 3).
struct Table {
    Table(nb::handle table, const std::string& criterion, std::size_t wanted)
        : array(table, "table"), by(criterion_of(criterion)) {
        const Type type = array.type();
        if (array.is_objects() || (type != Type::u32 && type != Type::i64 && type != Type::f64))
            refuse_type("table must be uint32, int64 or float64");
        if (array.dimensions() != 3 || !array.contiguous())
            refuse_value("table must be C-contiguous (nodes, cells, classes), not of shape " + array.shape());
        nodes = array.size(0), cells = array.size(1), width = array.size(2);
        if ((by == Criterion::variance || by == Criterion::sd) && width != 3)
            refuse_value("a table of sums has 3 numbers a cell, not " + std::to_string(width));
        used = wanted < cells ? wanted : cells;
    }
    const Array array;
    const Criterion by;
    std::size_t nodes, cells, width, used;
};

nb::tuple best_bins(nb::handle table, std::size_t n_bins, const std::string& criterion, double least) {
    const Table from(table, criterion, n_bins);
    const nb::object places = new_array("empty", nb::int_(from.nodes), "int64"),
                     gains = new_array("empty", nb::int_(from.nodes), "float64");
    const Array to_place(places, "places"), to_gain(gains, "gains");
    unlocked([&] {
        kernels().best_bins(from.array.data<const void>(), from.array.type(), from.nodes, from.cells, from.width,
                            from.used, from.by, least, to_place.data<std::int64_t>(), to_gain.data<double>());
    });
    return nb::make_tuple(places, gains);
}

nb::object branch_gains(nb::handle table, std::size_t n_values, const std::string& criterion, double least) {
    const Table from(table, criterion, n_values);
    const nb::object gains = new_array("empty", nb::int_(from.nodes), "float64");
    const Array to_gain(gains, "gains");
    unlocked([&] {
        kernels().branch_gains(from.array.data<const void>(), from.array.type(), from.nodes, from.cells, from.width,
                               from.used, from.by, least, to_gain.data<double>());
    });
    return gains;
}

}  // namespace

void define_bins(nb::module_& m) {
    using namespace nb::literals;
    m.def("count_entries", &count_entries, "column"_a, "entries"_a, "segments"_a, "codes"_a, "weights"_a.none(),
          "rows"_a.none(), "n_cells"_a, "n_classes"_a);
    m.def("count_matrix", &count_matrix, "matrix"_a, "entries"_a, "segments"_a, "codes"_a, "weights"_a.none(),
          "rows"_a.none(), "n_cells"_a, "n_classes"_a);
    m.def("sum_entries", &sum_entries, "column"_a, "entries"_a, "segments"_a, "values"_a, "weights"_a.none(),
          "rows"_a.none(), "n_cells"_a, "centers"_a);
    m.def("best_bins", &best_bins, "table"_a, "n_bins"_a, "criterion"_a, "least"_a);
    m.def("branch_gains", &branch_gains, "table"_a, "n_values"_a, "criterion"_a, "least"_a);
}

}  // namespace countwise
