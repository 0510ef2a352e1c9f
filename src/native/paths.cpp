// The leaves that rows come to.
//
// A block of rows goes down the tree together, one node at a time: the cells of different rows do not wait for each
// other, and a processor that looks ahead reads many of them at once. Rows that have come to their end drop out of
// the list without a branch that could be guessed wrong. If the tests of the tree are of several kinds (types of
// columns, limits or groups) there is a list for each, so that the kind of the next row is never a guess either.
//
// What a step needs is gathered in one half of a cache line for each node.
#include "levels.h"
#include "paths.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

using std::int32_t;
using std::uint16_t;
using std::uint8_t;

constexpr size_t block_rows = 256;

// `ended`: a leaf, or a gap. `number`: several limits, or one with a column that is not of floats.
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
        int32_t away;  // where a NaN goes: a node, or -1 - k at node k
        uint32_t size;  // of the groups
    };
};

// All that is needed to take a row one step further.
struct Tree {
    const Node* nodes;
    const uint8_t* kind;  // of nodes 0, 1, ... and of gaps -1, -2, ...
    const Column* columns;
    const Tests* tests;
};

// Each step finds the next node; false if a code has no group.
template <class T>
struct NumberStep {
    COUNTWISE_INLINE static bool step(const Tree& tree, int32_t k, size_t row, int32_t& next) {
        const Node& node = tree.nodes[k];
        const double x = cell<T>(node.data + static_cast<ptrdiff_t>(row) * node.stride);
        const int32_t there = node.child + (x > node.limit), missing = -static_cast<int32_t>(x != x);
        next = there ^ ((there ^ node.away) & missing);  // no branch: NaNs are hard to guess
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
        const int32_t branch = node.groups[code], gap = -static_cast<int32_t>(branch < 0);
        const int32_t there = static_cast<int32_t>(static_cast<uint32_t>(node.child) + static_cast<uint32_t>(branch));
        next = there ^ ((there ^ (-1 - k)) & gap);
        return true;
    }
};

// The rows of a block: where each is, and which are on their way.
struct Block {
    size_t row[block_rows];
    int32_t* at;
    int64_t stray;  // the node at which a code had no group
};

// One step of the rows in the list; those that have not ended remain in it. Returns how many.
template <class Step>
size_t step_alike(const Tree& tree, Block& block, uint16_t* list, size_t n) {
    size_t left = 0;
    for (size_t i = 0; i < n; ++i) {
        const size_t r = list[i];
        int32_t next;
        if (!Step::step(tree, block.at[r], block.row[r], next)) {
            block.stray = block.at[r];
            return 0;
        }
        block.at[r] = next;
        list[left] = static_cast<uint16_t>(r);
        left += tree.kind[next] != ended;
    }
    return left;
}

// Lists of rows by the kind of the node that they are at.
struct Lists {
    uint16_t rows[kinds][block_rows];
    size_t count[kinds];

    void clear() {
        for (size_t& n : count) n = 0;
    }
    COUNTWISE_INLINE void add(uint8_t kind, size_t r) { rows[kind][count[kind]++] = static_cast<uint16_t>(r); }
};

template <class Step>
void step_mixed(const Tree& tree, Block& block, Kind kind, const Lists& now, Lists& after) {
    const uint16_t* list = now.rows[kind];
    for (size_t i = 0; i < now.count[kind]; ++i) {
        const size_t r = list[i];
        int32_t next;
        if (!Step::step(tree, block.at[r], block.row[r], next)) {
            block.stray = block.at[r];
            return;
        }
        block.at[r] = next;
        after.add(tree.kind[next], r);
    }
}

size_t step_all(const Tree& tree, Block& block, Kind kind, uint16_t* list, size_t n) {
    switch (kind) {
        case f64: return step_alike<NumberStep<double>>(tree, block, list, n);
        case f32: return step_alike<NumberStep<float>>(tree, block, list, n);
        case codes8: return step_alike<CodeStep<uint8_t>>(tree, block, list, n);
        case codes16: return step_alike<CodeStep<uint16_t>>(tree, block, list, n);
        case codes32: return step_alike<CodeStep<uint32_t>>(tree, block, list, n);
        default: return step_alike<AnyNumberStep>(tree, block, list, n);
    }
}

// Takes a block of n rows to their ends, in a tree whose tests are all of one kind.
void walk_alike(const Tree& tree, Block& block, Kind kind, size_t n) {
    uint16_t list[block_rows];
    size_t left = 0;
    for (size_t r = 0; r < n; ++r) {
        list[left] = static_cast<uint16_t>(r);
        left += tree.kind[block.at[r]] != ended;
    }
    while (left > 0) left = step_all(tree, block, kind, list, left);
}

// The same in any tree.
void walk_mixed(const Tree& tree, Block& block, size_t n) {
    Lists lists[2];
    lists[0].clear();
    for (size_t r = 0; r < n; ++r) lists[0].add(tree.kind[block.at[r]], r);
    for (size_t ends = lists[0].count[ended], turn = 0; ends < n && block.stray < 0; turn ^= 1) {
        const Lists& now = lists[turn];
        Lists& after = lists[turn ^ 1];
        after.clear();
        step_mixed<NumberStep<double>>(tree, block, f64, now, after);
        step_mixed<NumberStep<float>>(tree, block, f32, now, after);
        step_mixed<AnyNumberStep>(tree, block, number, now, after);
        step_mixed<CodeStep<uint8_t>>(tree, block, codes8, now, after);
        step_mixed<CodeStep<uint16_t>>(tree, block, codes16, now, after);
        step_mixed<CodeStep<uint32_t>>(tree, block, codes32, now, after);
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
    const int32_t gap = -1 - static_cast<int32_t>(k);
    node.data = column.data, node.stride = column.stride, node.child = children[k];
    if (tests.limit_starts[k + 1] > tests.limit_starts[k]) {
        node.limit = tests.limits[tests.limit_starts[k]];
        node.away = tests.missing[k] < 0 ? gap : children[k] + tests.missing[k];
    } else {
        node.groups = tests.groups + tests.group_starts[k];
        const int64_t size = tests.group_starts[k + 1] - tests.group_starts[k];
        node.size = static_cast<uint32_t>(smaller<int64_t>(size, UINT32_MAX));
    }
    return node;
}

// Fills in the nodes and kinds; returns the kind of all inner nodes, or `kinds` if there are several.
Kind prepare(const Column* columns, const Tests& tests, const int32_t* children, Node* nodes, uint8_t* kind) {
    Kind all = ended;
    for (size_t k = 0; k < tests.nodes; ++k) {
        kind[k] = kind[-1 - static_cast<ptrdiff_t>(k)] = ended;
        if (tests.attribute[k] < 0) continue;
        const Column& column = columns[tests.attribute[k]];
        const Kind mine = kind_of(tests, k, column.type);
        kind[k] = mine;
        nodes[k] = node_of(tests, children, k, column);
        all = all == ended || all == mine ? mine : kinds;
    }
    return all;
}

}  // namespace

int64_t apply_tests(const Column* columns, const uint32_t* rows, const int32_t* start, size_t n, const Tests& tests,
                    const int32_t* children, int32_t* out) {
    Scratch<Node> nodes(tests.nodes);
    Scratch<uint8_t> kind(2 * tests.nodes);
    const Kind all = prepare(columns, tests, children, nodes.get(), kind.get() + tests.nodes);
    const Tree tree{nodes.get(), kind.get() + tests.nodes, columns, &tests};
    Block block;
    block.stray = -1;
    for (size_t from = 0; from < n && block.stray < 0; from += block_rows) {
        const size_t count = smaller(block_rows, n - from);
        block.at = out + from;
        for (size_t r = 0; r < count; ++r) {
            block.row[r] = rows ? rows[from + r] : from + r;
            block.at[r] = start ? start[from + r] : 0;
        }
        if (all == kinds) walk_mixed(tree, block, count);
        else walk_alike(tree, block, all, count);
    }
    return block.stray;
}

}  // namespace countwise::COUNTWISE_LEVEL
