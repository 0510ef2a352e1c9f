// Bindings of the kernels that ask the tests of trees. All that a tree says is checked here, once for all rows.
#include <algorithm>

#include "module.h"

namespace countwise {

namespace {

// A 1-D array of one type: copied only if it is not contiguous.
Array plain_array(nb::handle object, const std::string& name, Type type, const char* type_name) {
    Array array(object, name);
    if (array.is_objects() || array.type() != type || array.dimensions() != 1)
        refuse_type(name + " must be 1-D " + type_name);
    if (array.contiguous()) return array;
    return Array(nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C"), name);
}

std::string node_name(std::size_t k) { return "node " + std::to_string(k); }

// What nodes ask of columns whose numbers of rows agree. Children may be a null pointer; no branch is as high as
// `most_branches`.
class TestArrays {
public:
    TestArrays(nb::handle object, const Columns& columns, std::size_t nodes, const std::int32_t* children,
               std::int64_t most_branches)
        : columns_(columns), arrays_(arrays_of(object)), tests_(tests_of(nodes)) {
        const std::size_t lengths[6] = {nodes, 0, nodes + 1, 0, nodes + 1, nodes};
        for (std::size_t i = 0; i < 6; ++i)
            if (i != 1 && i != 3) check_rows(names[i], arrays_[i].size(), lengths[i]);
        if (!kernels().good_tests(columns.data(), columns.count(), tests_, arrays_[1].size(), arrays_[3].size(),
                                  children, most_branches))
            refuse(children, most_branches);
    }

    const Tests& tests() const { return tests_; }

    [[noreturn]] void refuse_code(std::size_t k) const {
        refuse_value("column " + std::to_string(tests_.attribute[k]) + " holds a code too high; " + node_name(k) +
                     " has " + std::to_string(tests_.group_starts[k + 1] - tests_.group_starts[k]) + " groups");
    }

private:
    static constexpr const char* names[6] = {"attribute", "limits",       "limit_starts",
                                             "groups",    "group_starts", "missing"};

    static std::vector<Array> arrays_of(nb::handle object) {
        constexpr Type types[6] = {Type::i32, Type::f64, Type::i64, Type::i32, Type::i64, Type::i32};
        std::vector<Array> arrays;
        for (nb::handle part : object) {
            const std::size_t i = arrays.size();
            if (i == 6) refuse_value("tests are 6 arrays, not more");
            arrays.push_back(plain_array(part, names[i], types[i],
                                         types[i] == Type::i32   ? "int32"
                                         : types[i] == Type::i64 ? "int64"
                                                                 : "float64"));
        }
        if (arrays.size() != 6) refuse_value("tests are 6 arrays, not " + std::to_string(arrays.size()));
        return arrays;
    }

    Tests tests_of(std::size_t nodes) const {
        return {arrays_[0].data<const std::int32_t>(), arrays_[1].data<const double>(),
                arrays_[2].data<const std::int64_t>(), arrays_[3].data<const std::int32_t>(),
                arrays_[4].data<const std::int64_t>(), arrays_[5].data<const std::int32_t>(), nodes};
    }

    std::int64_t limits(std::size_t k) const { return tests_.limit_starts[k + 1] - tests_.limit_starts[k]; }

    // The highest branch of an inner node; below 0 if there is none.
    std::int64_t highest_branch(std::size_t k) const {
        if (limits(k)) return std::max<std::int64_t>(limits(k), tests_.missing[k]);
        std::int64_t highest = -1;
        for (std::int64_t g = tests_.group_starts[k]; g < tests_.group_starts[k + 1]; ++g)
            highest = std::max<std::int64_t>(highest, tests_.groups[g]);
        return highest;
    }

    // Says what is wrong.
    [[noreturn]] void refuse(const std::int32_t* children, std::int64_t most_branches) const {
        check_starts(tests_.limit_starts, names[2], arrays_[1].size());
        check_starts(tests_.group_starts, names[4], arrays_[3].size());
        for (std::size_t k = 0; k < tests_.nodes; ++k) {
            if (tests_.attribute[k] < 0) continue;
            check_node(k);
            const std::int64_t highest = highest_branch(k);
            if (highest >= most_branches)
                refuse_value("branch " + std::to_string(highest) + " of " + node_name(k) +
                             " is too high for the type of branch");
            // Children come after their parents, so that every path has an end.
            if (children && highest >= 0 &&
                (children[k] <= static_cast<std::int64_t>(k) ||
                 children[k] + highest >= static_cast<std::int64_t>(tests_.nodes)))
                refuse_value("the children of " + node_name(k) + " are not among the nodes after it");
        }
        refuse_value("the tests changed while they were looked at");
    }

    void check_starts(const std::int64_t* starts, const char* name, std::size_t length) const {
        bool good = starts[0] >= 0 && starts[tests_.nodes] <= static_cast<std::int64_t>(length);
        for (std::size_t k = 0; k < tests_.nodes; ++k) good &= starts[k] <= starts[k + 1];
        if (!good) refuse_value(std::string(name) + " must ascend from 0 to at most " + std::to_string(length));
    }

    void check_node(std::size_t k) const {
        const std::size_t column = static_cast<std::size_t>(tests_.attribute[k]);
        if (column >= columns_.count())
            refuse_value(node_name(k) + " asks column " + std::to_string(column) + " of " +
                         std::to_string(columns_.count()));
        const Type type = columns_.data()[column].type;
        if (limits(k) == 0 && type != Type::u8 && type != Type::u16 && type != Type::u32)
            refuse_type("column " + std::to_string(column) + ": codes are 1-D uint8, uint16 or uint32; " +
                        node_name(k) + " groups them");
        for (std::int64_t i = tests_.limit_starts[k]; i < tests_.limit_starts[k + 1]; ++i)
            if (!(tests_.limits[i] >= tests_.limits[std::max(i - 1, tests_.limit_starts[k])]))
                refuse_value("the limits of " + node_name(k) + " do not ascend");
    }

    const Columns& columns_;
    std::vector<Array> arrays_;
    Tests tests_;
};

std::size_t rows_of(const Columns& columns) { return columns.count() ? columns.rows() : 0; }

Array branch_array(nb::handle object) {
    codes_array(object, "branch");
    return Array(object, "branch", true);
}

std::int64_t highest_number(Type type) {
    return type == Type::u8 ? UINT8_MAX : type == Type::u16 ? UINT16_MAX : UINT32_MAX;
}

std::int64_t route_entries(nb::handle columns, nb::handle entries, nb::handle starts, nb::handle tests,
                           nb::handle rows, nb::handle branch) {
    const Columns column(columns, false);
    const Array entry = plain_array(entries, "entries", Type::u32, "uint32"),
                start = plain_array(starts, "starts", Type::i64, "int64"), to = branch_array(branch);
    const std::size_t n_rows = rows_of(column);
    if (start.size() == 0) refuse_value("starts is empty; it needs one more than there are nodes");
    const std::size_t nodes = start.size() - 1;
    const std::int64_t* first = start.data<const std::int64_t>();
    if (first[0] < 0 || first[nodes] > static_cast<std::int64_t>(entry.size()) ||
        !std::is_sorted(first, first + nodes + 1))
        refuse_value("starts must ascend from 0 to at most " + std::to_string(entry.size()));
    const TestArrays test(tests, column, nodes, nullptr, highest_number(to.type()));
    std::vector<Array> row;
    if (!rows.is_none()) row.push_back(plain_array(rows, "rows", Type::u32, "uint32"));
    const Column written = to.column();
    const Instances instances{entry.data<const std::uint32_t>(),
                              row.empty() ? nullptr : row[0].data<const std::uint32_t>(),
                              row.empty() ? to.size() : std::min(to.size(), row[0].size()),
                              n_rows,
                              to.data<char>(),
                              written.stride,
                              written.type};
    const Routed routed =
        unlocked([&] { return kernels().route_entries(column.data(), instances, first, test.tests()); });
    if (routed.problem == 1) test.refuse_code(routed.node);
    if (routed.problem == 2) refuse_value("entries of " + node_name(routed.node) + " are beyond the rows or branches");
    return routed.gaps;
}

nb::object apply_tests(nb::handle columns, nb::handle rows, nb::handle nodes, std::size_t n, nb::handle tests,
                       nb::handle children) {
    const Columns column(columns, false);
    const Array child = plain_array(children, "children", Type::i32, "int32");
    const std::size_t n_rows = rows_of(column), n_nodes = child.size();
    if (n_nodes > INT32_MAX) refuse_value("a tree has at most 2**31 - 1 nodes");
    const TestArrays test(tests, column, n_nodes, child.data<const std::int32_t>(), INT64_MAX);
    std::vector<Array> row, start;
    if (!rows.is_none()) {
        row.push_back(plain_array(rows, "rows", Type::u32, "uint32"));
        check_rows("rows", row[0].size(), n);
        const std::uint32_t* first = row[0].data<const std::uint32_t>();
        std::uint32_t highest = 0;
        for (std::size_t i = 0; i < n; ++i) highest = std::max(highest, first[i]);
        if (n && column.count() && highest >= n_rows)
            refuse_value("row " + std::to_string(highest) + " is beyond the " + std::to_string(n_rows) + " rows");
    } else if (column.count() && n > n_rows) {
        refuse_value("row " + std::to_string(n - 1) + " is beyond the " + std::to_string(n_rows) + " rows");
    }
    if (!nodes.is_none()) {
        start.push_back(plain_array(nodes, "nodes", Type::i32, "int32"));
        check_rows("nodes", start[0].size(), n);
    }
    const std::int32_t* at = start.empty() ? nullptr : start[0].data<const std::int32_t>();
    // A negative number is a large one without its sign.
    std::uint32_t highest = 0;
    for (std::size_t i = 0; at && i < n; ++i) highest = std::max(highest, static_cast<std::uint32_t>(at[i]));
    if (n && highest >= n_nodes) refuse_value("rows start at nodes that are not among the " + std::to_string(n_nodes));
    const nb::object out = new_array("empty", nb::int_(n), "int32");
    const Array to(out, "out");
    const std::int64_t stray = unlocked([&] {
        return kernels().apply_tests(column.data(), column.count(),
                                     row.empty() ? nullptr : row[0].data<const std::uint32_t>(), at, n, test.tests(),
                                     child.data<const std::int32_t>(), to.data<std::int32_t>());
    });
    if (stray >= 0) test.refuse_code(static_cast<std::size_t>(stray));
    return out;
}

}  // namespace

void define_paths(nb::module_& m) {
    using namespace nb::literals;
    m.def("route_entries", &route_entries, "columns"_a, "entries"_a, "starts"_a, "tests"_a, "rows"_a.none(),
          "branch"_a);
    m.def("apply_tests", &apply_tests, "columns"_a, "rows"_a.none(), "nodes"_a.none(), "n"_a, "tests"_a,
          "children"_a);
}

}  // namespace countwise
