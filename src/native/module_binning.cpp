// Bindings of the steps of countwise/_kernels/binning.py.
#include <algorithm>

#include "module.h"

namespace countwise {

namespace {

// A C-contiguous array of one type and shape.
Array shaped(nb::handle object, const std::string& name, Type type, const std::vector<std::size_t>& shape,
             bool writable = false) {
    Array array(object, name, writable);
    if (array.is_objects() || array.type() != type) refuse_type(name + " is of a wrong type");
    bool good = array.dimensions() == static_cast<int>(shape.size()) && array.contiguous();
    for (std::size_t i = 0; good && i < shape.size(); ++i) good = array.size(static_cast<int>(i)) == shape[i];
    if (!good) refuse_value(name + " must be C-contiguous and of another shape than " + array.shape());
    return array;
}

// The maps of columns; no word of theirs may lead beyond the last bucket.
class Maps {
public:
    Maps(nb::handle ranges, nb::handle cells, std::size_t columns)
        : ranges_(shaped(ranges, "ranges", Type::f64, {columns, 2})),
          cells_(shaped(cells, "cells", Type::u32, {columns, bin_cells + 1})) {
        const std::uint32_t* word = cells_.data<const std::uint32_t>();
        for (std::size_t i = 0; i < columns * (bin_cells + 1); ++i) {
            const std::uint32_t first = word[i] & 0xffff, size = word[i] >> 16;
            if (size > bin_buckets || first + (size ? size - 1 : 0) > bin_buckets)
                refuse_value("a cell has buckets beyond the last one");
        }
        const double* range = ranges_.data<const double>();
        for (std::size_t j = 0; j < columns; ++j)
            maps_.push_back({range[2 * j], range[2 * j + 1], word + j * (bin_cells + 1)});
    }
    const BinMap* data() const { return maps_.data(); }

private:
    Array ranges_, cells_;
    std::vector<BinMap> maps_;
};

std::size_t rows_of(const Columns& columns) { return columns.count() ? columns.rows() : 0; }

nb::list few_values(nb::handle columns, std::size_t limit) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = rows_of(column);
    if (limit > 255) refuse_value("limit is " + std::to_string(limit) + "; it must be at most 255");
    std::vector<double> values(n * limit + 1);
    std::vector<std::int64_t> counts(n);
    unlocked([&] { kernels().few_values(column.data(), n, rows, limit, values.data(), counts.data()); });
    nb::list found;
    for (std::size_t j = 0; j < n; ++j) {
        if (counts[j] < 0) {
            found.append(nb::none());
            continue;
        }
        const nb::object mine = new_array("empty", nb::int_(counts[j]), "float64");
        std::copy_n(values.data() + j * limit, counts[j], Array(mine, "values").data<double>());
        found.append(mine);
    }
    return found;
}

nb::tuple bin_counts(nb::handle columns, nb::handle weights, nb::handle ranges, nb::handle cells) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = rows_of(column);
    const Maps maps(ranges, cells, n);
    const RowWeights weight(weights, rows);
    const nb::object counts = new_array("zeros", nb::make_tuple(n, bin_buckets + 1), "uint32"),
                     sums = new_array("zeros", nb::make_tuple(weight.data() ? n : 0, bin_buckets + 1), "float64");
    const Array to_counts(counts, "counts"), to_sums(sums, "sums");
    unlocked([&] {
        kernels().bin_counts(column.data(), n, rows, maps.data(), weight.data(), to_counts.data<std::uint32_t>(),
                             to_sums.data<double>());
    });
    return nb::make_tuple(counts, sums);
}

// Of each column the cells of its wanted slots (as many as there is room for) and their weights, and how many there
// would be; of each slot its least cell and the weight of cells equal to its common number.
nb::tuple bin_collect(nb::handle columns, nb::handle weights, nb::handle ranges, nb::handle cells, nb::handle slots,
                      nb::handle wanted, nb::handle common, nb::list rooms) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = rows_of(column);
    const Maps maps(ranges, cells, n);
    const RowWeights weight(weights, rows);
    const std::size_t n_slots = Array(wanted, "wanted").dimensions() == 2 ? Array(wanted, "wanted").size(1) : 0;
    const Array slot = shaped(slots, "slots", Type::u16, {n, bin_buckets + 1}),
                want = shaped(wanted, "wanted", Type::u8, {n, n_slots}),
                usual = shaped(common, "common", Type::f64, {n, n_slots});
    const std::uint16_t* at = slot.data<const std::uint16_t>();
    for (std::size_t i = 0; i < n * (bin_buckets + 1); ++i)
        if (at[i] >= n_slots) refuse_value("a slot is out of range");
    if (rooms.size() != n) refuse_value("rooms must have an entry for each column");
    const nb::object least = new_array("empty", nb::make_tuple(n, n_slots), "float64"),
                     same = new_array("zeros", nb::make_tuple(n, n_slots), "float64");
    const Array to_least(least, "least"), to_same(same, "same");
    std::fill_n(to_least.data<double>(), n * n_slots, HUGE_VAL);
    nb::list values, kept_weights;
    std::vector<Array> held;
    std::vector<BinSlots> mine;
    std::vector<std::size_t> counts(n);
    for (std::size_t j = 0; j < n; ++j) {
        const std::size_t room = nb::cast<std::size_t>(rooms[j]);
        values.append(new_array("empty", nb::int_(room), "float64"));
        kept_weights.append(new_array("empty", nb::int_(weight.data() ? room : 0), "float64"));
        held.emplace_back(values[j], "values");
        held.emplace_back(kept_weights[j], "weights");
        mine.push_back({at + j * (bin_buckets + 1), want.data<const std::uint8_t>() + j * n_slots,
                        usual.data<const double>() + j * n_slots, to_least.data<double>() + j * n_slots,
                        to_same.data<double>() + j * n_slots, held[2 * j].data<double>(),
                        held[2 * j + 1].data<double>(), room, &counts[j]});
    }
    unlocked([&] { kernels().bin_collect(column.data(), n, rows, maps.data(), weight.data(), mine.data()); });
    nb::list found;
    for (const std::size_t count : counts) found.append(count);
    return nb::make_tuple(values, kept_weights, found, least, same);
}

void bin_codes(nb::handle columns, nb::handle ranges, nb::handle cells, nb::handle first, nb::handle edges,
               nb::list steps, nb::list codes) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = rows_of(column);
    const Maps maps(ranges, cells, n);
    const Array start = shaped(first, "first", Type::u8, {n, bin_buckets + 1}),
                edge = shaped(edges, "edges", Type::f64, {n, bin_edges});
    if (steps.size() != n || codes.size() != n) refuse_value("steps and codes must have an entry for each column");
    std::vector<Array> held;
    std::vector<BinEdges> mine;
    std::vector<std::uint8_t*> to;
    for (std::size_t j = 0; j < n; ++j) {
        const std::size_t step = nb::cast<std::size_t>(steps[j]);
        if (step > 8) refuse_value("there are at most 8 steps");
        held.push_back(shaped(codes[j], "codes", Type::u8, {rows}, true));
        to.push_back(held.back().data<std::uint8_t>());
        mine.push_back({start.data<const std::uint8_t>() + j * (bin_buckets + 1),
                        edge.data<const double>() + j * bin_edges, step});
    }
    unlocked([&] { kernels().bin_codes(column.data(), n, rows, maps.data(), mine.data(), to.data()); });
}

}  // namespace

void define_binning(nb::module_& m) {
    using namespace nb::literals;
    m.def("few_values", &few_values, "columns"_a, "limit"_a);
    m.def("bin_counts", &bin_counts, "columns"_a, "weights"_a.none(), "ranges"_a, "cells"_a);
    m.def("bin_collect", &bin_collect, "columns"_a, "weights"_a.none(), "ranges"_a, "cells"_a, "slots"_a, "wanted"_a,
          "common"_a, "rooms"_a);
    m.def("bin_codes", &bin_codes, "columns"_a, "ranges"_a, "cells"_a, "first"_a, "edges"_a, "steps"_a, "codes"_a);
}

}  // namespace countwise
