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

void bin_counts(nb::handle columns, nb::handle weights, nb::handle ranges, nb::handle cells, nb::handle counts,
                nb::handle sums) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = rows_of(column);
    const Maps maps(ranges, cells, n);
    const RowWeights weight(weights, rows);
    const Array to_counts = shaped(counts, "counts", Type::u32, {n, bin_buckets + 1}, true),
                to_sums = shaped(sums, "sums", Type::f64, {weight.data() ? n : 0, bin_buckets + 1}, true);
    unlocked([&] {
        kernels().bin_counts(column.data(), n, rows, maps.data(), weight.data(), to_counts.data<std::uint32_t>(),
                             to_sums.data<double>());
    });
}

// Without branches, as there are many.
std::uint16_t most_of(const std::uint16_t* x, std::size_t n) {
    std::uint16_t most = 0;
    for (std::size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

// The words of columns' buckets.
Array words_array(nb::handle object, std::size_t columns) {
    Array words = shaped(object, "words", Type::u16, {columns, bin_buckets + 1});
    if (most_of(words.data<const std::uint16_t>(), columns * (bin_buckets + 1)) >= 512)
        refuse_value("a word is out of range");
    return words;
}

// What bin_collect looks for in one column, and where it puts it.
struct Collected {
    nb::object values, rows, weights;
    std::size_t count = 0;
};

// Of each column the cells of its wanted slots, their rows and weights, or None if there was not room for them; of each
// slot its least cell and the weight of cells equal to its common number.
nb::tuple bin_collect(nb::handle columns, nb::handle weights, nb::handle ranges, nb::handle cells, nb::handle words,
                      nb::handle slots, nb::handle wanted, nb::handle common, nb::list rooms, nb::list codes) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = rows_of(column);
    const Maps maps(ranges, cells, n);
    const RowWeights weight(weights, rows);
    const Array usual = float_array(common, "common", 2);
    const std::size_t n_slots = usual.size(1);
    const Array word = words_array(words, n),
                slot = shaped(slots, "slots", Type::u16, {n, bin_buckets + 1}),
                want = shaped(wanted, "wanted", Type::u8, {n, n_slots});
    const std::uint16_t *at = slot.data<const std::uint16_t>(), *to = word.data<const std::uint16_t>();
    if (most_of(at, n * (bin_buckets + 1)) >= n_slots) refuse_value("a slot is out of range");
    for (std::size_t i = 0; i < n * n_slots; ++i)
        if (want.data<const std::uint8_t>()[i] > 1) refuse_value("wanted is 0 or 1");
    if (rooms.size() != n || codes.size() != n || usual.size(0) != n || rows > UINT32_MAX)
        refuse_value("common, rooms and codes must have an entry for each column");
    const nb::object least = new_array("empty", nb::make_tuple(n, n_slots), "float64"),
                     same = new_array("zeros", nb::make_tuple(n, n_slots), "float64");
    const Array to_least(least, "least"), to_same(same, "same");
    std::fill_n(to_least.data<double>(), n * n_slots, HUGE_VAL);
    std::vector<Array> held;
    std::vector<BinSlots> mine(n);
    std::vector<Collected> found(n);
    for (std::size_t j = 0; j < n; ++j) {
        BinSlots& s = mine[j];
        s.room = nb::cast<std::size_t>(rooms[j]);
        found[j].values = new_array("empty", nb::int_(s.room), "float64");
        found[j].rows = new_array("empty", nb::int_(s.room), "uint32");
        found[j].weights = new_array("empty", nb::int_(weight.data() ? s.room : 0), "float64");
        s.values = held.emplace_back(found[j].values, "values").data<double>();
        s.rows = held.emplace_back(found[j].rows, "rows").data<std::uint32_t>();
        s.weights = held.emplace_back(found[j].weights, "weights").data<double>();
        s.codes = held.emplace_back(shaped(codes[j], "codes", Type::u8, {rows}, true)).data<std::uint8_t>();
        s.words = to + j * (bin_buckets + 1);
        s.slot = at + j * (bin_buckets + 1);
        s.wanted = want.data<const std::uint8_t>() + j * n_slots;
        s.common = usual.data<const double>() + j * n_slots;
        s.any_common = std::any_of(s.common, s.common + n_slots, [](double x) { return x == x; });
        s.least = to_least.data<double>() + j * n_slots;
        s.same = to_same.data<double>() + j * n_slots;
        s.count = &found[j].count;
    }
    unlocked([&] { kernels().bin_collect(column.data(), n, rows, maps.data(), weight.data(), mine.data()); });
    nb::list copies;
    for (std::size_t j = 0; j < n; ++j) {
        const nb::slice cut(static_cast<Py_ssize_t>(found[j].count));
        if (found[j].count > mine[j].room) copies.append(nb::none());
        else copies.append(nb::make_tuple(found[j].values[cut], found[j].rows[cut], found[j].weights[cut]));
    }
    return nb::make_tuple(copies, least, same);
}

void bin_amend(nb::handle values, nb::handle rows, nb::handle edges, std::size_t steps, nb::handle codes) {
    const Array value = float_array(values, "values", 1);
    const Array row = shaped(rows, "rows", Type::u32, {value.size()}),
                edge = shaped(edges, "edges", Type::f64, {bin_edges});
    const Array code(codes, "codes", true);
    if (code.is_objects() || code.type() != Type::u8 || code.dimensions() != 1 || !code.contiguous())
        refuse_type("codes must be contiguous uint8");
    if (steps > 8) refuse_value("there are at most 8 steps");
    const std::uint32_t* at = row.data<const std::uint32_t>();
    for (std::size_t i = 0; i < row.size(); ++i)
        if (at[i] >= code.size()) refuse_value("a row is out of range");
    unlocked([&] {
        kernels().bin_amend(value.data<const double>(), at, value.size(), edge.data<const double>(), steps,
                            code.data<std::uint8_t>());
    });
}

void bin_codes(nb::handle columns, nb::handle ranges, nb::handle cells, nb::handle words, nb::handle edges,
               nb::list steps, nb::list codes) {
    const Columns column(columns, false);
    const std::size_t n = column.count(), rows = rows_of(column);
    const Maps maps(ranges, cells, n);
    const Array word = words_array(words, n),
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
        mine.push_back({word.data<const std::uint16_t>() + j * (bin_buckets + 1),
                        edge.data<const double>() + j * bin_edges, step});
    }
    unlocked([&] { kernels().bin_codes(column.data(), n, rows, maps.data(), mine.data(), to.data()); });
}

}  // namespace

void define_binning(nb::module_& m) {
    using namespace nb::literals;
    m.def("few_values", &few_values, "columns"_a, "limit"_a);
    m.def("bin_counts", &bin_counts, "columns"_a, "weights"_a.none(), "ranges"_a, "cells"_a, "counts"_a,
          "sums"_a);
    m.def("bin_collect", &bin_collect, "columns"_a, "weights"_a.none(), "ranges"_a, "cells"_a, "words"_a, "slots"_a,
          "wanted"_a, "common"_a, "rooms"_a, "codes"_a);
    m.def("bin_amend", &bin_amend, "values"_a, "rows"_a, "edges"_a, "steps"_a, "codes"_a);
    m.def("bin_codes", &bin_codes, "columns"_a, "ranges"_a, "cells"_a, "words"_a, "edges"_a, "steps"_a, "codes"_a);
}

}  // namespace countwise
