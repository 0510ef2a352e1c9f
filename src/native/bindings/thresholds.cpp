// Bindings of the kernels that grow trees from sorted entries.
#include "module.h"

namespace countwise {

// Returns the number of entries.
KERNEL(size_t, presort, Column column, size_t rows, uint32_t* entries);
// Return the maximum and the actual number of entries at the next level. Negative results: an instance out of range, a
// branch out of range, an instance in several branches without copies, copies out of range.
KERNEL(int64_t, partition_capacity, const Segments& from, const Parting& parting);
KERNEL(int64_t, partition_segments, const Segments& from, const Parting& parting, uint32_t* entries, int64_t* starts);
// The next two return 1 for an instance out of range, 2 for a code out of range.
KERNEL(int, best_thresholds, const Segments& segments, const Labels& labels, bool entropy, double least,
       int64_t* places, double* gains);
KERNEL(int, best_thresholds_of_numbers, const Segments& segments, const NumericTargets& targets, bool by_sd,
       double least, int64_t* places, double* gains);

namespace {

// Returns contiguous codes.
Array solid_codes(nb::handle object, const std::string& name) {
    Array array = codes_array(object, name);
    if (array.contiguous()) return array;
    return Array(copied(object), name);
}

// Entries in segments.
class Level {
public:
    Level(nb::handle entries, nb::handle starts)
        : entries_(require(entries, "entries", Type::u32, {any})),
          starts_(require(starts, "starts", Type::i64, {any})) {
        check_ascending(starts_, "starts", entries_.size());
    }
    Segments segments() const {
        return {entries_.data<const uint32_t>(), starts_.data<const int64_t>(), starts_.size() - 1};
    }

private:
    Array entries_, starts_;
};

nb::object first_of(const nb::object& array, size_t n) {
    return nb::steal(PyObject_GetItem(array.ptr(), nb::slice(nb::int_(0), nb::int_(n), nb::int_(1)).ptr()));
}

nb::object presort(nb::handle column) {
    const Array from = column_array(column, "column");
    const size_t rows = from.size();
    if (rows >= size_t{1} << 31) refuse_value(std::to_string(rows) + " rows exceed the maximum of 2147483647.");
    const NewArray<uint32_t> entries({rows});
    const size_t n = unlocked([&] { return kernels::presort(from.column(), rows, entries.data()); });
    return n == rows ? entries.object : first_of(entries.object, n);
}

void check_slots(const Array& slots, size_t n_next) {
    int64_t before = -1;
    for (size_t i = 0; i < slots.size(); ++i) {
        const int64_t slot = slots.data<const int32_t>()[i];
        if (slot == -1) continue;
        if (slot <= before || static_cast<size_t>(slot) >= n_next)
            refuse_value("slots must be -1 or ascend from 0 to below " + std::to_string(n_next) + ".");
        before = slot;
    }
}

[[noreturn]] void refuse_parting(int64_t reason) {
    switch (reason) {
        case -1: refuse_value("entries contains an instance that does not exist.");
        case -2: refuse_value("A branch number exceeds the branches of its node.");
        case -3: refuse_value("An instance goes down all branches but has no copies.");
        default: refuse_value("copies exceeds the maximum instance number, 2147483647.");
    }
}

nb::tuple partition_entries(nb::handle entries, nb::handle starts, nb::handle branch, nb::handle slots,
                            nb::handle first, size_t n_next, nb::handle copies) {
    const Array branches = solid_codes(branch, "branch");
    const Level level(entries, starts);
    const Segments segments = level.segments();
    const Array slot = require(slots, "slots", Type::i32, {any}),
                firsts = require(first, "first", Type::i64, {segments.count + 1});
    const MaybeArray copy = require_or_none(copies, "copies", Type::u32, {branches.size()});
    check_ascending(firsts, "first", slot.size());
    check_count("n_next", n_next, size_t{1} << 31);  // slots are int32
    check_slots(slot, n_next);
    const Parting parting{
        branches.column(),      branches.size(), slot.data<const int32_t>(), firsts.data<const int64_t>(), n_next,
        data_of<uint32_t>(copy)};
    const int64_t capacity = unlocked([&] { return kernels::partition_capacity(segments, parting); });
    if (capacity < 0) refuse_parting(capacity);
    const NewArray<uint32_t> moved({static_cast<size_t>(capacity)});
    const NewArray<int64_t> begins({n_next + 1});
    const int64_t n =
        unlocked([&] { return kernels::partition_segments(segments, parting, moved.data(), begins.data()); });
    if (n < 0) refuse_parting(n);
    return nb::make_tuple(n == capacity ? moved.object : first_of(moved.object, static_cast<size_t>(n)), begins.object);
}

// Returns whether the criterion is the second option.
bool is_second(const std::string& criterion, const char* first, const char* second) {
    if (criterion != first && criterion != second)
        refuse_value("criterion must be one of '" + std::string(first) + "', '" + second + "', not '" + criterion +
                     "'.");
    return criterion == second;
}

[[noreturn]] void refuse_labels(int reason) {
    if (reason == 1) refuse_value("entries contains an instance that does not exist.");
    refuse_value("codes contains a class that does not exist.");
}

nb::tuple best_thresholds(nb::handle entries, nb::handle starts, nb::handle codes, nb::handle weights, size_t n_classes,
                          const std::string& criterion, double least) {
    const bool entropy = is_second(criterion, "gini", "entropy");
    check_count("n_classes", n_classes);
    const Array code = solid_codes(codes, "codes");
    const Level level(entries, starts);
    const RowWeights weight(weights, code.size());
    const NewArray<int64_t> places({level.segments().count});
    const NewArray<double> gains({level.segments().count});
    const int bad = unlocked([&] {
        return kernels::best_thresholds(level.segments(), {code.column(), weight.data(), code.size(), n_classes},
                                        entropy, least, places.data(), gains.data());
    });
    if (bad) refuse_labels(bad);
    return nb::make_tuple(places.object, gains.object);
}

nb::tuple best_thresholds_of_numbers(nb::handle entries, nb::handle starts, nb::handle values, nb::handle weights,
                                     const std::string& criterion, double least) {
    const bool by_sd = is_second(criterion, "variance", "sd");
    const Array value = require(values, "values", Type::f64, {any});
    const Level level(entries, starts);
    const RowWeights weight(weights, value.size());
    const NewArray<int64_t> places({level.segments().count});
    const NewArray<double> gains({level.segments().count});
    const int bad = unlocked([&] {
        return kernels::best_thresholds_of_numbers(level.segments(),
                                                   {value.data<const double>(), weight.data(), value.size()}, by_sd,
                                                   least, places.data(), gains.data());
    });
    if (bad) refuse_labels(bad);
    return nb::make_tuple(places.object, gains.object);
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("presort", &presort, "column"_a);
    m.def("partition_entries", &partition_entries, "entries"_a, "starts"_a, "branch"_a, "slots"_a, "first"_a,
          "n_next"_a, "copies"_a.none());
    m.def("best_thresholds", &best_thresholds, "entries"_a, "starts"_a, "codes"_a, "weights"_a.none(), "n_classes"_a,
          "criterion"_a, "least"_a);
    m.def("best_thresholds_of_numbers", &best_thresholds_of_numbers, "entries"_a, "starts"_a, "values"_a,
          "weights"_a.none(), "criterion"_a, "least"_a);
});

}  // namespace countwise
