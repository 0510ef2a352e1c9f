// Bindings of the kernels that apply the tests of trees. The arrays of a tree are checked here, once for all rows.
#include <algorithm>
#include <cmath>

#include "module.h"

namespace countwise {

// The next two require checked tests.
KERNEL(Routed, route_entries, const Column* columns, const Instances& instances, const int64_t* starts,
       const Tests& tests);
// Rows and start nodes may be null pointers. Returns -1, or a node that has no group for a code.
KERNEL(int64_t, apply_tests, const Column* columns, size_t n_columns, const uint32_t* rows, const int32_t* start,
       size_t n, const Tests& tests, const int32_t* children, int32_t* out);

namespace {

std::string node_name(size_t k) { return "node " + std::to_string(k); }

// Checked tests of nodes on columns of equal length. Children may be a null pointer; every branch is below
// `most_branches`.
class TestArrays {
public:
    TestArrays(nb::handle object, const Columns& columns, size_t nodes, const int32_t* children, int64_t most_branches)
        : columns_(columns), arrays_(arrays_of(object)), tests_(tests_of(nodes)) {
        const size_t lengths[6] = {nodes, 0, nodes + 1, 0, nodes + 1, nodes};
        for (size_t i = 0; i < 6; ++i)
            if (i != 1 && i != 3) check_rows(names[i], arrays_[i].size(), lengths[i]);
        check_starts(tests_.limit_starts, names[2], arrays_[1].size());
        check_starts(tests_.group_starts, names[4], arrays_[3].size());
        for (size_t k = 0; k < nodes; ++k)
            if (tests_.attribute[k] >= 0 && !is_plain(k, children, most_branches))
                check_node(k, children, most_branches);
    }

    const Tests& tests() const { return tests_; }

    [[noreturn]] void refuse_code(size_t k) const {
        refuse_value("columns[" + std::to_string(tests_.attribute[k]) + "] contains a code that is too high; " +
                     node_name(k) + " has " + std::to_string(tests_.group_starts[k + 1] - tests_.group_starts[k]) +
                     " groups.");
    }

private:
    static constexpr const char* names[6] = {"attribute", "limits",       "limit_starts",
                                             "groups",    "group_starts", "missing"};

    static std::vector<Array> arrays_of(nb::handle object) {
        constexpr Type types[6] = {Type::i32, Type::f64, Type::i64, Type::i32, Type::i64, Type::i32};
        std::vector<Array> arrays;
        for (nb::handle part : object) {
            const size_t i = arrays.size();
            if (i == 6) refuse_value("tests must be 6 arrays, not more.");
            arrays.push_back(require(part, names[i], types[i], {any}));
        }
        if (arrays.size() != 6) refuse_value("tests must be 6 arrays, not " + std::to_string(arrays.size()) + ".");
        return arrays;
    }

    Tests tests_of(size_t nodes) const {
        return {arrays_[0].data<const int32_t>(),
                arrays_[1].data<const double>(),
                arrays_[2].data<const int64_t>(),
                arrays_[3].data<const int32_t>(),
                arrays_[4].data<const int64_t>(),
                arrays_[5].data<const int32_t>(),
                nodes};
    }

    int64_t limits(size_t k) const { return tests_.limit_starts[k + 1] - tests_.limit_starts[k]; }

    // The highest branch of an inner node; negative if it has none.
    int64_t highest_branch(size_t k) const {
        if (limits(k)) return std::max<int64_t>(limits(k), tests_.missing[k]);
        int64_t highest = -1;
        for (int64_t g = tests_.group_starts[k]; g < tests_.group_starts[k + 1]; ++g)
            highest = std::max<int64_t>(highest, tests_.groups[g]);
        return highest;
    }

    // A quick check that suffices for most nodes: one limit and two children.
    bool is_plain(size_t k, const int32_t* children, int64_t most_branches) const {
        const double limit = limits(k) == 1 ? tests_.limits[tests_.limit_starts[k]] : NAN;
        return limit == limit && tests_.missing[k] <= 1 && most_branches > 1 &&
               static_cast<size_t>(tests_.attribute[k]) < columns_.count() &&
               (!children ||
                (children[k] > static_cast<int64_t>(k) && static_cast<size_t>(children[k]) + 1 < tests_.nodes));
    }

    void check_starts(const int64_t* starts, const char* name, size_t length) const {
        bool good = starts[0] >= 0 && starts[tests_.nodes] <= static_cast<int64_t>(length);
        for (size_t k = 0; k < tests_.nodes; ++k) good &= starts[k] <= starts[k + 1];
        if (!good)
            refuse_value(std::string(name) + " must ascend and lie between 0 and " + std::to_string(length) + ".");
    }

    void check_node(size_t k, const int32_t* children, int64_t most_branches) const {
        const size_t column = static_cast<size_t>(tests_.attribute[k]);
        if (column >= columns_.count())
            refuse_value("Node " + std::to_string(k) + " tests column " + std::to_string(column) + ", but there are " +
                         std::to_string(columns_.count()) + " columns.");
        const Type type = columns_.data()[column].type;
        if (limits(k) == 0 && type != Type::u8 && type != Type::u16 && type != Type::u32)
            refuse_type("columns[" + std::to_string(column) +
                        "] must be a 1-D array of uint8, uint16 or uint32, because " + node_name(k) +
                        " groups its codes.");
        for (int64_t i = tests_.limit_starts[k]; i < tests_.limit_starts[k + 1]; ++i)
            if (!(tests_.limits[i] >= tests_.limits[std::max(i - 1, tests_.limit_starts[k])]))
                refuse_value("The limits of " + node_name(k) + " do not ascend.");
        const int64_t highest = highest_branch(k);
        if (highest >= most_branches)
            refuse_value("Branch " + std::to_string(highest) + " of " + node_name(k) +
                         " is too high for the type of branch.");
        // Children come after their parents, so that every path ends.
        if (children && highest >= 0 &&
            (children[k] <= static_cast<int64_t>(k) || children[k] + highest >= static_cast<int64_t>(tests_.nodes)))
            refuse_value("The children of " + node_name(k) + " are not among the nodes after it.");
    }

    const Columns& columns_;
    std::vector<Array> arrays_;
    Tests tests_;
};

Array branch_array(nb::handle object) {
    codes_array(object, "branch");
    return Array(object, "branch", true);
}

int64_t highest_number(Type type) { return type == Type::u8 ? UINT8_MAX : type == Type::u16 ? UINT16_MAX : UINT32_MAX; }

int64_t route_entries(nb::handle columns, nb::handle entries, nb::handle starts, nb::handle tests, nb::handle rows,
                      nb::handle branch) {
    const Columns column(columns, false);
    const Array entry = require(entries, "entries", Type::u32, {any}),
                start = require(starts, "starts", Type::i64, {any}), to = branch_array(branch);
    const size_t n_rows = column.rows();
    check_ascending(start, "starts", entry.size());
    const size_t nodes = start.size() - 1;
    const TestArrays test(tests, column, nodes, nullptr, highest_number(to.type()));
    const MaybeArray row = require_or_none(rows, "rows", Type::u32, {any});
    const Column written = to.column();
    const Instances instances{entry.data<const uint32_t>(),
                              data_of<uint32_t>(row),
                              row ? std::min(to.size(), row->size()) : to.size(),
                              n_rows,
                              to.data<char>(),
                              written.stride,
                              written.type};
    const Routed routed = unlocked(
        [&] { return kernels::route_entries(column.data(), instances, start.data<const int64_t>(), test.tests()); });
    if (routed.problem == 1) test.refuse_code(routed.node);
    if (routed.problem == 2) refuse_value("Entries of " + node_name(routed.node) + " are beyond the rows or branches.");
    return routed.in_all;
}

nb::object apply_tests(nb::handle columns, nb::handle rows, nb::handle nodes, size_t n, nb::handle tests,
                       nb::handle children) {
    const Columns column(columns, false);
    const Array child = require(children, "children", Type::i32, {any});
    const size_t n_rows = column.rows(), n_nodes = child.size();
    if (n_nodes > INT32_MAX) refuse_value("A tree must have at most 2**31 - 1 nodes.");
    const TestArrays test(tests, column, n_nodes, child.data<const int32_t>(), INT64_MAX);
    const MaybeArray row = require_or_none(rows, "rows", Type::u32, {n}),
                     start = require_or_none(nodes, "nodes", Type::i32, {n});
    size_t last = row || n == 0 ? 0 : n - 1;
    for (size_t i = 0; row && i < n; ++i) last = std::max<size_t>(last, row->data<const uint32_t>()[i]);
    if (n && column.count() && last >= n_rows)
        refuse_value("Row " + std::to_string(last) + " is beyond the " + std::to_string(n_rows) + " rows.");
    const int32_t* at = data_of<int32_t>(start);
    // A negative number becomes a large unsigned number.
    uint32_t highest = 0;
    for (size_t i = 0; at && i < n; ++i) highest = std::max(highest, static_cast<uint32_t>(at[i]));
    if (n && highest >= n_nodes)
        refuse_value("Rows start at nodes that are not among the " + std::to_string(n_nodes) + " nodes.");
    const NewArray<int32_t> out({n});
    const int64_t stray = unlocked([&] {
        return kernels::apply_tests(column.data(), column.count(), data_of<uint32_t>(row), at, n, test.tests(),
                                    child.data<const int32_t>(), out.data());
    });
    if (stray >= 0) test.refuse_code(static_cast<size_t>(stray));
    return out.object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("route_entries", &route_entries, "columns"_a, "entries"_a, "starts"_a, "tests"_a, "rows"_a.none(),
          "branch"_a);
    m.def("apply_tests", &apply_tests, "columns"_a, "rows"_a.none(), "nodes"_a.none(), "n"_a, "tests"_a, "children"_a);
});

}  // namespace countwise
