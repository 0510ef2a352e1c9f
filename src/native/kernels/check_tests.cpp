// Whether the tests of a tree can be asked: the quick check of all nodes. What is wrong is found out elsewhere.
#include "support/simd.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

bool ascend_within(const int64_t* starts, size_t n, size_t length) {
    bool good = starts[0] >= 0 && starts[n] <= static_cast<int64_t>(length);
    for (size_t k = 0; k < n; ++k) good &= starts[k] <= starts[k + 1];
    return good;
}

// The highest branch of an inner node, -1 if there is none; -2 if the node is bad.
COUNTWISE_INLINE int64_t branch_or_bad(const Tests& tests, size_t k, Type type) {
    const int64_t limit = tests.limit_starts[k], end = tests.limit_starts[k + 1];
    if (limit < end) {
        bool good = tests.limits[limit] == tests.limits[limit];
        for (int64_t i = limit + 1; i < end; ++i) good &= tests.limits[i - 1] <= tests.limits[i];
        return good ? larger<int64_t>(end - limit, tests.missing[k]) : -2;
    }
    if (type != Type::u8 && type != Type::u16 && type != Type::u32) return -2;
    int32_t highest = -1;
    for (int64_t i = tests.group_starts[k]; i < tests.group_starts[k + 1]; ++i)
        highest = larger(highest, tests.groups[i]);
    return highest;
}

}  // namespace

bool good_tests(const Column* columns, size_t n_columns, const Tests& tests, size_t n_limits, size_t n_groups,
                const int32_t* children, int64_t most_branches) {
    if (!ascend_within(tests.limit_starts, tests.nodes, n_limits)) return false;
    if (!ascend_within(tests.group_starts, tests.nodes, n_groups)) return false;
    const int64_t nodes = static_cast<int64_t>(tests.nodes);
    for (int64_t k = 0; k < nodes; ++k) {
        if (tests.attribute[k] < 0) continue;
        const size_t column = static_cast<size_t>(tests.attribute[k]);
        if (column >= n_columns) return false;
        const int64_t highest = branch_or_bad(tests, static_cast<size_t>(k), columns[column].type);
        if (highest < -1 || highest >= most_branches) return false;
        if (children && highest >= 0 && (children[k] <= k || children[k] + highest >= nodes)) return false;
    }
    return true;
}

}  // namespace countwise::COUNTWISE_LEVEL
