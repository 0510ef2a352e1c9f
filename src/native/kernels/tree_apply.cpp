// Finds the leaf of each row.
//
// A block of rows goes down the tree together, one node at a time: different rows are independent, so that an
// out-of-order processor reads many values at once. There is one list of rows for each kind of test (column type,
// limits or groups), so that no branch depends on the data of a row.
//
// The data of one step fit in half a cache line per node.
#include "tree_apply.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t block_rows = 128;

// `ended`: a leaf, or a row that goes down all branches. `number`: several limits, or one limit on a non-float column.
enum Kind : uint8_t { ended, f64, f32, number, codes8, codes16, codes32, kinds };

struct Node {
    union {
        double limit;
        const int32_t* groups;
    };
    const char* data;
    ptrdiff_t stride;
    int32_t child;
    union {
        int32_t away;   // node of a NaN, or -1 - k at node k
        uint32_t size;  // number of groups
    };
};

// The data needed to move a row by one step.
struct Tree {
    const Node* nodes;
    const uint8_t* kind;  // of nodes 0, 1, ... and of end markers -1, -2, ...
    const Column* columns;
    const Tests* tests;
};

// Each step finds the next node; it returns false if a code has no group.
template <class T>
struct NumberStep {
    COUNTWISE_INLINE static bool step(const Tree& tree, int32_t k, size_t row, int32_t& next) {
        const Node& node = tree.nodes[k];
        const double x = cell<T>(node.data + static_cast<ptrdiff_t>(row) * node.stride);
        const int32_t target = node.child + (x > node.limit), missing = -static_cast<int32_t>(x != x);
        next = target ^ ((target ^ node.away) & missing);  // no branch, because NaN is unpredictable
        return true;
    }
};

struct AnyNumberStep {
    COUNTWISE_INLINE static bool step(const Tree& tree, int32_t k, size_t row, int32_t& next) {
        const Tests& tests = *tree.tests;
        const Node& node = tree.nodes[k];
        const double x = number_at(tree.columns[tests.attribute[k]], row);
        const int64_t start = tests.limit_starts[k], stop = tests.limit_starts[k + 1];
        const size_t below = limits_below(tests.limits + start, static_cast<size_t>(stop - start), x);
        next = x != x ? node.away : node.child + static_cast<int32_t>(below);
        return true;
    }
};

template <class T>
struct CodeStep {
    COUNTWISE_INLINE static bool step(const Tree& tree, int32_t k, size_t row, int32_t& next) {
        const Node& node = tree.nodes[k];
        const uint32_t code = cell<T>(node.data + static_cast<ptrdiff_t>(row) * node.stride);
        if (code >= node.size) return false;
        const int32_t branch = node.groups[code], end_marker = -static_cast<int32_t>(branch < 0);
        const int32_t target = static_cast<int32_t>(static_cast<uint32_t>(node.child) + static_cast<uint32_t>(branch));
        next = target ^ ((target ^ (-1 - k)) & end_marker);
        return true;
    }
};

// The rows of a block: their current nodes, and which rows are still moving.
struct Block {
    size_t row[block_rows];
    int32_t* at;
    int64_t stray;  // a node without a group for a code
    Ahead ahead;    // for the values of the next block
};

// Lists of rows by the kind of their current node.
struct Lists {
    uint16_t rows[kinds][block_rows];
    size_t count[kinds];

    void clear() {
        for (size_t& n : count) n = 0;
    }
    COUNTWISE_INLINE void add(uint8_t kind, size_t r) { rows[kind][count[kind]++] = static_cast<uint16_t>(r); }
};

// Moves the rows at nodes of one kind by one step. Rows are assigned to lists in a separate loop, which the steps need
// not wait for.
template <class Step>
void step_listed(const Tree& tree, Block& block, Kind kind, const Lists& now, Lists& after) {
    const uint16_t* list = now.rows[kind];
    for (size_t i = 0; i < now.count[kind]; ++i) {
        if (i % 8 == 0) block.ahead.some();
        const size_t r = list[i];
        int32_t next;
        if (!Step::step(tree, block.at[r], block.row[r], next)) {
            block.stray = block.at[r];
            return;
        }
        block.at[r] = next;
    }
    for (size_t i = 0; i < now.count[kind]; ++i) after.add(tree.kind[block.at[list[i]]], list[i]);
}

// Moves a block of n rows to their leaves.
void walk(const Tree& tree, Block& block, size_t n) {
    Lists lists[2];
    lists[0].clear();
    for (size_t r = 0; r < n; ++r) lists[0].add(tree.kind[block.at[r]], r);
    for (size_t ends = lists[0].count[ended], turn = 0; ends < n && block.stray < 0; turn ^= 1) {
        const Lists& now = lists[turn];
        Lists& after = lists[turn ^ 1];
        after.clear();
        step_listed<NumberStep<double>>(tree, block, f64, now, after);
        step_listed<NumberStep<float>>(tree, block, f32, now, after);
        step_listed<AnyNumberStep>(tree, block, number, now, after);
        step_listed<CodeStep<uint8_t>>(tree, block, codes8, now, after);
        step_listed<CodeStep<uint16_t>>(tree, block, codes16, now, after);
        step_listed<CodeStep<uint32_t>>(tree, block, codes32, now, after);
        ends += after.count[ended];
    }
}

Kind kind_of(const Tests& tests, size_t k, Type type) {
    const int64_t limits = tests.limit_starts[k + 1] - tests.limit_starts[k];
    if (limits > 1) return number;
    if (limits == 1) return type == Type::f64 ? f64 : type == Type::f32 ? f32 : number;
    return type == Type::u8 ? codes8 : type == Type::u16 ? codes16 : codes32;
}

Node node_of(const Tests& tests, const int32_t* children, size_t k, const Column& column) {
    Node node;
    const int32_t end_marker = -1 - static_cast<int32_t>(k);
    node.data = column.data, node.stride = column.stride, node.child = children[k];
    if (tests.limit_starts[k + 1] > tests.limit_starts[k]) {
        node.limit = tests.limits[tests.limit_starts[k]];
        node.away = tests.missing[k] < 0 ? end_marker : children[k] + tests.missing[k];
    } else {
        node.groups = tests.groups + tests.group_starts[k];
        const int64_t size = tests.group_starts[k + 1] - tests.group_starts[k];
        node.size = static_cast<uint32_t>(smaller<int64_t>(size, UINT32_MAX));
    }
    return node;
}

// Fills the nodes and kinds.
void prepare(const Column* columns, const Tests& tests, const int32_t* children, Node* nodes, uint8_t* kind) {
    for (size_t k = 0; k < tests.nodes; ++k) {
        kind[k] = kind[-1 - static_cast<ptrdiff_t>(k)] = ended;
        if (tests.attribute[k] < 0) continue;
        const Column& column = columns[tests.attribute[k]];
        kind[k] = kind_of(tests, k, column.type);
        nodes[k] = node_of(tests, children, k, column);
    }
}

}  // namespace

int64_t apply_tests(const Column* columns, size_t n_columns, const uint32_t* rows, const int32_t* start, size_t n,
                    const Tests& tests, const int32_t* children, int32_t* out) {
    const RowStarts all{rows, start, n};
    if (const Column* first = one_kind_of_float(columns, tests)) {
        walk_floats(columns, n_columns, *first, all, tests, children, out);
        return -1;
    }
    Scratch<Node> nodes(tests.nodes);
    Scratch<uint8_t> kind(2 * tests.nodes);
    prepare(columns, tests, children, nodes.get(), kind.get() + tests.nodes);
    const Tree tree{nodes.get(), kind.get() + tests.nodes, columns, &tests};
    Column used[group_columns];
    const size_t n_used = rows ? 0 : used_columns(columns, n_columns, tests, used);
    Block block;
    block.stray = -1;
    Checkpoint checkpoint;
    for (size_t from = 0; from < n && block.stray < 0; from += block_rows) {
        const size_t count = smaller(block_rows, n - from);
        checkpoint.after(32 * count);
        block.at = out + from;
        for (size_t r = 0; r < count; ++r) {
            block.row[r] = all.row(from + r);
            block.at[r] = all.start_of(from + r);
        }
        const size_t next = from + count;
        block.ahead = Ahead();
        block.ahead.add(used, n_used, next, smaller(block_rows, n - next));
        block.ahead.distribute(block_rows / 8 * 2);
        walk(tree, block, count);
    }
    return block.stray;
}

}  // namespace countwise::COUNTWISE_LEVEL
