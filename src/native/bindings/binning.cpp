// Bindings of the steps of countwise/_kernels/binning.py.
#include <algorithm>

#include "module.h"

namespace countwise {

// Finds the distinct numbers of each column, up to `limit`; the count is -1 if there are more.
KERNEL(void, few_values, const Column* columns, size_t n_columns, size_t rows, size_t limit, double* values,
       int64_t* counts);
// In the next three there is one map for each column, and weights may be null. Counts and sums are added to.
KERNEL(void, bin_counts, const Column* columns, size_t n_columns, size_t rows, const BinMap* maps,
       const double* weights, uint32_t* counts, double* sums);
KERNEL(void, bin_collect, const Column* columns, size_t n_columns, size_t rows, const BinMap* maps,
       const double* weights, const BinSlots* slots);
KERNEL(void, bin_codes, const Column* columns, size_t n_columns, size_t rows, const BinMap* maps, const BinEdges* edges,
       uint8_t* const* codes);
// Completes the codes of some rows, given their values; edges and steps are as in BinEdges.
KERNEL(void, bin_amend, const double* values, const uint32_t* rows, size_t n, const double* edges, size_t steps,
       uint8_t* codes);

namespace {

// Maps of columns, checked so that no word refers to a bucket beyond the last.
class Maps {
public:
    Maps(nb::handle ranges, nb::handle cells, size_t columns)
        : ranges_(require(ranges, "ranges", Type::f64, {columns, 2})),
          cells_(require(cells, "cells", Type::u32, {columns, bin_cells + 1})) {
        const uint32_t* word = cells_.data<const uint32_t>();
        for (size_t i = 0; i < columns * (bin_cells + 1); ++i) {
            const uint32_t first = word[i] & 0xffff, size = word[i] >> 16;
            if (size > bin_buckets || first + (size ? size - 1 : 0) > bin_buckets)
                refuse_value("A cell of a map refers to buckets beyond the last one.");
        }
        const double* range = ranges_.data<const double>();
        for (size_t j = 0; j < columns; ++j)
            maps_.push_back({range[2 * j], range[2 * j + 1], word + j * (bin_cells + 1)});
    }
    const BinMap* data() const { return maps_.data(); }

private:
    Array ranges_, cells_;
    std::vector<BinMap> maps_;
};

nb::list few_values(nb::handle columns, size_t limit) {
    const Columns column(columns, false);
    const size_t n = column.count(), rows = column.rows();
    if (limit > 255) refuse_value("limit is " + std::to_string(limit) + "; it must be at most 255.");
    std::vector<double> values(n * limit + 1);
    std::vector<int64_t> counts(n);
    unlocked([&] { kernels::few_values(column.data(), n, rows, limit, values.data(), counts.data()); });
    nb::list found;
    for (size_t j = 0; j < n; ++j) {
        if (counts[j] < 0) {
            found.append(nb::none());
            continue;
        }
        const double* mine = values.data() + j * limit;
        found.append(NewArray<double>::of({mine, mine + counts[j]}).object);
    }
    return found;
}

void bin_counts(nb::handle columns, nb::handle weights, nb::handle ranges, nb::handle cells, nb::handle counts,
                nb::handle sums) {
    const Columns column(columns, false);
    const size_t n = column.count(), rows = column.rows();
    const Maps maps(ranges, cells, n);
    const RowWeights weight(weights, rows);
    const Array to_counts = require(counts, "counts", Type::u32, {n, bin_buckets + 1}, Access::write),
                to_sums = require(sums, "sums", Type::f64, {weight.data() ? n : 0, bin_buckets + 1}, Access::write);
    unlocked([&] {
        kernels::bin_counts(column.data(), n, rows, maps.data(), weight.data(), to_counts.data<uint32_t>(),
                            to_sums.data<double>());
    });
}

// Without branches, because the arrays are long.
uint16_t most_of(const uint16_t* x, size_t n) {
    uint16_t most = 0;
    for (size_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

// Returns the words of the buckets of all columns.
Array words_array(nb::handle object, size_t columns) {
    Array words = require(object, "words", Type::u16, {columns, bin_buckets + 1});
    if (most_of(words.data<const uint16_t>(), columns * (bin_buckets + 1)) >= 512)
        refuse_value("A word is out of range.");
    return words;
}

// Values that bin_collect copies from one column.
struct Collected {
    Collected(size_t capacity, bool weighted)
        : values({capacity}), rows({capacity}), weights({weighted ? capacity : 0}) {}
    NewArray<double> values;
    NewArray<uint32_t> rows;
    NewArray<double> weights;
    size_t count = 0;
};

// Returns for each column the values of its wanted slots with rows and weights, or None if they exceeded the capacity;
// and for each slot the smallest value and the weight of its common value.
nb::tuple bin_collect(nb::handle columns, nb::handle weights, nb::handle ranges, nb::handle cells, nb::handle words,
                      nb::handle slots, nb::handle wanted, nb::handle common, nb::list capacities, nb::list codes) {
    const Columns column(columns, false);
    const size_t n = column.count(), rows = column.rows();
    const Maps maps(ranges, cells, n);
    const RowWeights weight(weights, rows);
    const Array usual = require(common, "common", Type::f64, {any, any});
    const size_t n_slots = usual.size(1);
    const Array word = words_array(words, n), slot = require(slots, "slots", Type::u16, {n, bin_buckets + 1}),
                want = require(wanted, "wanted", Type::u8, {n, n_slots});
    const uint16_t *at = slot.data<const uint16_t>(), *to = word.data<const uint16_t>();
    if (most_of(at, n * (bin_buckets + 1)) >= n_slots) refuse_value("A slot is out of range.");
    for (size_t i = 0; i < n * n_slots; ++i)
        if (want.data<const uint8_t>()[i] > 1) refuse_value("wanted must be 0 or 1.");
    if (capacities.size() != n || codes.size() != n || usual.size(0) != n || rows > UINT32_MAX)
        refuse_value("common, capacities and codes must have one entry for each column.");
    const NewArray<double> least({n, n_slots}), same({n, n_slots}, zeros);
    std::fill_n(least.data(), n * n_slots, HUGE_VAL);
    std::vector<Array> held;
    std::vector<BinSlots> mine(n);
    std::vector<Collected> found;
    found.reserve(n);
    for (size_t j = 0; j < n; ++j) {
        BinSlots& s = mine[j];
        s.capacity = number<size_t>(capacities[j], "capacities");
        found.emplace_back(s.capacity, weight.data() != nullptr);
        s.values = found[j].values.data();
        s.rows = found[j].rows.data();
        s.weights = found[j].weights.data();
        s.codes = held.emplace_back(require(codes[j], "codes", Type::u8, {rows}, Access::write)).data<uint8_t>();
        s.words = to + j * (bin_buckets + 1);
        s.slot = at + j * (bin_buckets + 1);
        s.wanted = want.data<const uint8_t>() + j * n_slots;
        s.common = usual.data<const double>() + j * n_slots;
        s.any_common = std::any_of(s.common, s.common + n_slots, [](double x) { return x == x; });
        s.least = least.data() + j * n_slots;
        s.same = same.data() + j * n_slots;
        s.count = &found[j].count;
    }
    unlocked([&] { kernels::bin_collect(column.data(), n, rows, maps.data(), weight.data(), mine.data()); });
    nb::list copies;
    for (size_t j = 0; j < n; ++j) {
        const nb::slice cut(static_cast<Py_ssize_t>(found[j].count));
        if (found[j].count > mine[j].capacity) copies.append(nb::none());
        else
            copies.append(
                nb::make_tuple(found[j].values.object[cut], found[j].rows.object[cut], found[j].weights.object[cut]));
    }
    return nb::make_tuple(copies, least.object, same.object);
}

void bin_amend(nb::handle values, nb::handle rows, nb::handle edges, size_t steps, nb::handle codes) {
    const Array value = require(values, "values", Type::f64, {any});
    const Array row = require(rows, "rows", Type::u32, {value.size()}),
                edge = require(edges, "edges", Type::f64, {bin_edges});
    const Array code = require(codes, "codes", Type::u8, {any}, Access::write);
    if (steps > 8) refuse_value("There must be at most 8 steps.");
    const uint32_t* at = row.data<const uint32_t>();
    for (size_t i = 0; i < row.size(); ++i)
        if (at[i] >= code.size()) refuse_value("A row is out of range.");
    unlocked([&] {
        kernels::bin_amend(value.data<const double>(), at, value.size(), edge.data<const double>(), steps,
                           code.data<uint8_t>());
    });
}

void bin_codes(nb::handle columns, nb::handle ranges, nb::handle cells, nb::handle words, nb::handle edges,
               nb::list steps, nb::list codes) {
    const Columns column(columns, false);
    const size_t n = column.count(), rows = column.rows();
    const Maps maps(ranges, cells, n);
    const Array word = words_array(words, n), edge = require(edges, "edges", Type::f64, {n, bin_edges});
    if (steps.size() != n || codes.size() != n) refuse_value("steps and codes must have one entry for each column.");
    std::vector<Array> held;
    std::vector<BinEdges> mine;
    std::vector<uint8_t*> to;
    for (size_t j = 0; j < n; ++j) {
        const size_t step = number<size_t>(steps[j], "steps");
        if (step > 8) refuse_value("There must be at most 8 steps.");
        held.push_back(require(codes[j], "codes", Type::u8, {rows}, Access::write));
        to.push_back(held.back().data<uint8_t>());
        mine.push_back(
            {word.data<const uint16_t>() + j * (bin_buckets + 1), edge.data<const double>() + j * bin_edges, step});
    }
    unlocked([&] { kernels::bin_codes(column.data(), n, rows, maps.data(), mine.data(), to.data()); });
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("few_values", &few_values, "columns"_a, "limit"_a);
    m.def("bin_counts", &bin_counts, "columns"_a, "weights"_a.none(), "ranges"_a, "cells"_a, "counts"_a, "sums"_a);
    m.def("bin_collect", &bin_collect, "columns"_a, "weights"_a.none(), "ranges"_a, "cells"_a, "words"_a, "slots"_a,
          "wanted"_a, "common"_a, "capacities"_a, "codes"_a);
    m.def("bin_amend", &bin_amend, "values"_a, "rows"_a, "edges"_a, "steps"_a, "codes"_a);
    m.def("bin_codes", &bin_codes, "columns"_a, "ranges"_a, "cells"_a, "words"_a, "edges"_a, "steps"_a, "codes"_a);
});

}  // namespace countwise
