// Bindings of the kernels that grow trees from bins.
#include "module.h"

namespace countwise {

// The next three return 1 for a code out of range, 2 for an instance or row that does not exist. Tables must be zero
// before the call. Tables of counts are uint32 without weights, int64 with integer weights, else float64.
KERNEL(int, count_entries, Column column, size_t rows, const NodeEntries& nodes, Column codes, Column weights,
       size_t n_cells, size_t n_classes, void* table);
// The matrix is (rows, columns), the table (columns, nodes, n_cells, n_classes).
KERNEL(int, count_matrix, const uint8_t* matrix, size_t rows, size_t columns, const NodeEntries& nodes, Column codes,
       Column weights, size_t n_cells, size_t n_classes, void* table);
KERNEL(int, sum_entries, Column column, size_t rows, const NodeEntries& nodes, const double* values,
       const double* weights, size_t n_cells, const double* centers, double* table);
// The table is (nodes, n_cells, width) of u32, i64 or f64.
WIDE_KERNEL(void, best_bins, const void* table, Type type, size_t nodes, size_t n_cells, size_t width, size_t n_bins,
            Criterion criterion, double least, int64_t* places, double* gains);
KERNEL(void, branch_gains, const void* table, Type type, size_t nodes, size_t n_cells, size_t width, size_t n_values,
       Criterion criterion, double least, double* gains);

namespace {

// Entries of nodes, with segments that lie within them.
class Nodes {
public:
    Nodes(nb::handle entries, nb::handle segments, nb::handle rows, size_t instances)
        : entries_(require(entries, "entries", Type::u32, {any})),
          segments_(require(segments, "segments", Type::i64, {any, 2})),
          rows_(require_or_none(rows, "rows", Type::u32, {instances})) {
        const int64_t* at = segments_.data<const int64_t>();
        bool good = true;
        for (size_t k = 0; k < count(); ++k)
            good &=
                0 <= at[2 * k] && at[2 * k] <= at[2 * k + 1] && static_cast<uint64_t>(at[2 * k + 1]) <= entries_.size();
        if (!good) refuse_value("A segment lies outside the " + std::to_string(entries_.size()) + " entries.");
        nodes_ = {entries_.data<const uint32_t>(), at, count(), data_of<uint32_t>(rows_), instances};
    }
    size_t count() const { return segments_.size(0); }
    const NodeEntries& data() const { return nodes_; }

private:
    Array entries_, segments_;
    MaybeArray rows_;
    NodeEntries nodes_{};
};

void check_fault(int fault) {
    if (fault == 1) refuse_value("A code is out of range.");
    if (fault == 2) refuse_value("An entry refers to an instance or a row that does not exist.");
}

// Weights of counts, and the type of the resulting tables.
class CountWeights {
public:
    CountWeights(nb::handle weights, size_t instances) : array_(weight_column(weights, instances)) {
        if (array_ && array_->type() != Type::f64 && array_->type() != Type::i64)
            refuse_type("weights must be int64 or float64.");
    }
    Column column() const { return column_of(array_); }
    const char* kind() const { return !array_ ? "uint32" : array_->type() == Type::f64 ? "float64" : "int64"; }

private:
    MaybeArray array_;
};

void check_sizes(size_t n_cells, size_t n_classes) {
    if (n_classes && n_cells > UINT32_MAX / n_classes)
        refuse_value("n_cells * n_classes is too large; it must be at most " + std::to_string(UINT32_MAX) + ".");
}

nb::object count_entries(nb::handle column, nb::handle entries, nb::handle segments, nb::handle codes,
                         nb::handle weights, nb::handle rows, size_t n_cells, size_t n_classes) {
    const Array cells = codes_array(column, "column"), code = codes_array(codes, "codes");
    const Nodes nodes(entries, segments, rows, code.size());
    check_sizes(n_cells, n_classes);
    const CountWeights weight(weights, code.size());
    const NewArray<void> table({nodes.count(), n_cells, n_classes}, zeros, weight.kind());
    check_fault(unlocked([&] {
        return kernels::count_entries(cells.column(), cells.size(), nodes.data(), code.column(), weight.column(),
                                      n_cells, n_classes, table.data());
    }));
    return table.object;
}

nb::object count_matrix(nb::handle matrix, nb::handle entries, nb::handle segments, nb::handle codes,
                        nb::handle weights, nb::handle rows, size_t n_cells, size_t n_classes) {
    const Array cells = require(matrix, "matrix", Type::u8, {any, any}, Access::in_place),
                code = codes_array(codes, "codes");
    const Nodes nodes(entries, segments, rows, code.size());
    check_sizes(n_cells, n_classes);
    const CountWeights weight(weights, code.size());
    const NewArray<void> table({cells.size(1), nodes.count(), n_cells, n_classes}, zeros, weight.kind());
    check_fault(unlocked([&] {
        return kernels::count_matrix(cells.data<const uint8_t>(), cells.size(0), cells.size(1), nodes.data(),
                                     code.column(), weight.column(), n_cells, n_classes, table.data());
    }));
    return table.object;
}

nb::object sum_entries(nb::handle column, nb::handle entries, nb::handle segments, nb::handle values,
                       nb::handle weights, nb::handle rows, size_t n_cells, nb::handle centers) {
    const Array cells = codes_array(column, "column"), value = require(values, "values", Type::f64, {any});
    const Nodes nodes(entries, segments, rows, value.size());
    const RowWeights weight(weights, value.size());
    const Array center = require(centers, "centers", Type::f64, {nodes.count()});
    if (n_cells > UINT32_MAX)
        refuse_value("n_cells is too large; it must be at most " + std::to_string(UINT32_MAX) + ".");
    const NewArray<double> table({nodes.count(), n_cells, 3}, zeros);
    check_fault(unlocked([&] {
        return kernels::sum_entries(cells.column(), cells.size(), nodes.data(), value.data<const double>(),
                                    weight.data(), n_cells, center.data<const double>(), table.data());
    }));
    return table.object;
}

Criterion criterion_of(const std::string& word) {
    if (word == "gini") return Criterion::gini;
    if (word == "entropy") return Criterion::entropy;
    if (word == "variance") return Criterion::variance;
    if (word == "sd") return Criterion::sd;
    refuse_value("criterion must be one of 'gini', 'entropy', 'variance', 'sd', not '" + word + "'.");
}

// A table (nodes, cells, classes), or of sums (nodes, cells, 3).
struct Table {
    Table(nb::handle table, const std::string& criterion, size_t wanted)
        : array(table, "table"), by(criterion_of(criterion)) {
        const Type type = array.type();
        if (array.is_objects() || (type != Type::u32 && type != Type::i64 && type != Type::f64))
            refuse_type("table must be uint32, int64 or float64.");
        if (array.dimensions() != 3 || !array.contiguous())
            refuse_value("table must be C-contiguous (nodes, cells, classes), but has shape " + array.shape() + ".");
        nodes = array.size(0), cells = array.size(1), width = array.size(2);
        if ((by == Criterion::variance || by == Criterion::sd) && width != 3)
            refuse_value("A table of sums must have 3 numbers per cell, not " + std::to_string(width) + ".");
        used = wanted < cells ? wanted : cells;
    }
    const Array array;
    const Criterion by;
    size_t nodes, cells, width, used;
};

nb::tuple best_bins(nb::handle table, size_t n_bins, const std::string& criterion, double least) {
    const Table from(table, criterion, n_bins);
    const NewArray<int64_t> places({from.nodes});
    const NewArray<double> gains({from.nodes});
    unlocked([&] {
        kernels::best_bins(from.array.data<const void>(), from.array.type(), from.nodes, from.cells, from.width,
                           from.used, from.by, least, places.data(), gains.data());
    });
    return nb::make_tuple(places.object, gains.object);
}

nb::object branch_gains(nb::handle table, size_t n_values, const std::string& criterion, double least) {
    const Table from(table, criterion, n_values);
    const NewArray<double> gains({from.nodes});
    unlocked([&] {
        kernels::branch_gains(from.array.data<const void>(), from.array.type(), from.nodes, from.cells, from.width,
                              from.used, from.by, least, gains.data());
    });
    return gains.object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("count_entries", &count_entries, "column"_a, "entries"_a, "segments"_a, "codes"_a, "weights"_a.none(),
          "rows"_a.none(), "n_cells"_a, "n_classes"_a);
    m.def("count_matrix", &count_matrix, "matrix"_a, "entries"_a, "segments"_a, "codes"_a, "weights"_a.none(),
          "rows"_a.none(), "n_cells"_a, "n_classes"_a);
    m.def("sum_entries", &sum_entries, "column"_a, "entries"_a, "segments"_a, "values"_a, "weights"_a.none(),
          "rows"_a.none(), "n_cells"_a, "centers"_a);
    m.def("best_bins", &best_bins, "table"_a, "n_bins"_a, "criterion"_a, "least"_a);
    m.def("branch_gains", &branch_gains, "table"_a, "n_values"_a, "criterion"_a, "least"_a);
});

}  // namespace countwise
