// Bindings of the kernels that grow trees from sorted entries.
#include "module.h"

namespace countwise {

namespace {

// A contiguous 1-D array of one type; copied only if it is not contiguous.
Array typed_array(nb::handle object, const std::string& name, Type type, const char* type_name) {
    Array array(object, name);
    if (array.is_objects() || array.type() != type || array.dimensions() != 1)
        refuse_type(name + " must be 1-D " + type_name);
    if (array.contiguous()) return array;
    return Array(nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C"), name);
}

// Codes that are contiguous.
Array solid_codes(nb::handle object, const std::string& name) {
    Array array = codes_array(object, name);
    if (array.contiguous()) return array;
    return Array(nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C"), name);
}

void check_ascending(const Array& starts, const std::string& name, std::size_t most) {
    const std::int64_t* at = starts.data<const std::int64_t>();
    const std::size_t n = starts.size();
    bool good = n > 0 && at[0] >= 0 && static_cast<std::size_t>(at[n - 1]) <= most;
    for (std::size_t i = 1; i < n; ++i) good &= at[i - 1] <= at[i];
    if (!good) refuse_value(name + " must ascend from 0 or more to at most " + std::to_string(most));
}

// Entries in segments.
class Level {
public:
    Level(nb::handle entries, nb::handle starts)
        : entries_(typed_array(entries, "entries", Type::u32, "uint32")),
          starts_(typed_array(starts, "starts", Type::i64, "int64")) {
        check_ascending(starts_, "starts", entries_.size());
    }
    Segments segments() const {
        return {entries_.data<const std::uint32_t>(), starts_.data<const std::int64_t>(), starts_.size() - 1};
    }

private:
    Array entries_, starts_;
};

nb::object first_of(const nb::object& array, std::size_t n) {
    return nb::steal(PyObject_GetItem(array.ptr(), nb::slice(nb::int_(0), nb::int_(n), nb::int_(1)).ptr()));
}

nb::object presort(nb::handle column) {
    const Array from = column_array(column, "column 0");
    const std::size_t rows = from.size();
    if (rows >= std::size_t{1} << 31)
        refuse_value(std::to_string(rows) + " rows are more than entries can number");
    const nb::object entries = new_array("empty", nb::int_(rows), "uint32");
    const Array to(entries, "entries");
    const std::size_t n =
        unlocked([&] { return kernels().presort(from.column(), rows, to.data<std::uint32_t>()); });
    return n == rows ? entries : first_of(entries, n);
}

void check_slots(const Array& slots, std::size_t n_next) {
    std::int64_t before = -1;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::int64_t slot = slots.data<const std::int32_t>()[i];
        if (slot == -1) continue;
        if (slot <= before || static_cast<std::size_t>(slot) >= n_next)
            refuse_value("slots must be -1 or ascend from 0 to below " + std::to_string(n_next));
        before = slot;
    }
}

[[noreturn]] void refuse_parting(std::int64_t reason) {
    switch (reason) {
        case -1: refuse_value("entries hold an instance that is not there");
        case -2: refuse_value("a branch is beyond those of its node");
        case -3: refuse_value("an instance goes down all branches but has no copies");
        default: refuse_value("copies are more than entries can number");
    }
}

nb::tuple part_entries(nb::handle entries, nb::handle starts, nb::handle branch, nb::handle slots, nb::handle first,
                       std::size_t n_next, nb::handle copies) {
    const Array branches = solid_codes(branch, "branch");
    const Level level(entries, starts);
    const Segments segments = level.segments();
    const Array slot = typed_array(slots, "slots", Type::i32, "int32"),
                firsts = typed_array(first, "first", Type::i64, "int64");
    check_rows("first", firsts.size(), segments.count + 1);
    check_ascending(firsts, "first", slot.size());
    check_slots(slot, n_next);
    Parting parting{branches.column(), branches.size(), slot.data<const std::int32_t>(),
                    firsts.data<const std::int64_t>(), n_next, nullptr};
    std::vector<Array> copy;
    if (!copies.is_none()) {
        copy.push_back(typed_array(copies, "copies", Type::u32, "uint32"));
        check_rows("copies", copy[0].size(), branches.size());
        parting.copies = copy[0].data<const std::uint32_t>();
    }
    const std::int64_t room = unlocked([&] { return kernels().part_room(segments, parting); });
    if (room < 0) refuse_parting(room);
    const nb::object moved = new_array("empty", nb::int_(room), "uint32"),
                     begins = new_array("empty", nb::int_(n_next + 1), "int64");
    const Array to(moved, "entries"), to_starts(begins, "starts");
    const std::int64_t n = unlocked([&] {
        return kernels().part_segments(segments, parting, to.data<std::uint32_t>(), to_starts.data<std::int64_t>());
    });
    if (n < 0) refuse_parting(n);
    return nb::make_tuple(n == room ? moved : first_of(moved, static_cast<std::size_t>(n)), begins);
}

// Whether the criterion is the second of two.
bool is_second(const std::string& criterion, const char* first, const char* second) {
    if (criterion != first && criterion != second)
        refuse_value("criterion is '" + criterion + "'; it must be one of " + first + ", " + second);
    return criterion == second;
}

[[noreturn]] void refuse_labels(int reason) {
    if (reason == 1) refuse_value("entries hold an instance that is not there");
    refuse_value("codes hold a class that is not there");
}

nb::tuple best_thresholds(nb::handle entries, nb::handle starts, nb::handle codes, nb::handle weights,
                          std::size_t n_classes, const std::string& criterion, double least) {
    const bool entropy = is_second(criterion, "gini", "entropy");
    const Array code = solid_codes(codes, "codes");
    const Level level(entries, starts);
    const RowWeights weight(weights, code.size());
    const std::size_t count = level.segments().count;
    const nb::object places = new_array("empty", nb::int_(count), "int64"),
                     gains = new_array("empty", nb::int_(count), "d");
    const Array to_places(places, "places"), to_gains(gains, "gains");
    const int bad = unlocked([&] {
        return kernels().best_thresholds(level.segments(), {code.column(), weight.data(), code.size(), n_classes},
                                         entropy, least, to_places.data<std::int64_t>(), to_gains.data<double>());
    });
    if (bad) refuse_labels(bad);
    return nb::make_tuple(places, gains);
}

nb::tuple best_thresholds_of_numbers(nb::handle entries, nb::handle starts, nb::handle values, nb::handle weights,
                                     const std::string& criterion, double least) {
    const bool deviations = is_second(criterion, "variance", "sd");
    const Array value = float_array(values, "values", 1);
    const Level level(entries, starts);
    const RowWeights weight(weights, value.size());
    const std::size_t count = level.segments().count;
    const nb::object places = new_array("empty", nb::int_(count), "int64"),
                     gains = new_array("empty", nb::int_(count), "d");
    const Array to_places(places, "places"), to_gains(gains, "gains");
    const int bad = unlocked([&] {
        return kernels().best_thresholds_of_numbers(
            level.segments(), {value.data<const double>(), weight.data(), value.size()}, deviations, least,
            to_places.data<std::int64_t>(), to_gains.data<double>());
    });
    if (bad) refuse_labels(bad);
    return nb::make_tuple(places, gains);
}

}  // namespace

void define_thresholds(nb::module_& m) {
    using namespace nb::literals;
    m.def("presort", &presort, "column"_a);
    m.def("part_entries", &part_entries, "entries"_a, "starts"_a, "branch"_a, "slots"_a, "first"_a, "n_next"_a,
          "copies"_a.none());
    m.def("best_thresholds", &best_thresholds, "entries"_a, "starts"_a, "codes"_a, "weights"_a.none(), "n_classes"_a,
          "criterion"_a, "least"_a);
    m.def("best_thresholds_of_numbers", &best_thresholds_of_numbers, "entries"_a, "starts"_a, "values"_a,
          "weights"_a.none(), "criterion"_a, "least"_a);
}

}  // namespace countwise
