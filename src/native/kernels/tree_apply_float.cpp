// Finds the leaf of each row in a tree with one limit per node, on float columns of one type and one stride.
//
// Eight rows at a time go down some nodes together, so that no row waits for the values of another, and without
// unpredictable branches. Leaves and end markers lead to themselves, so that extra steps are harmless. Rows that have
// ended are then removed from the list, and the rest of the block continues.
#include "tree_apply.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t block_rows = 256, together = 8, steps_at_once = 4;

// Half a cache line.
struct FloatNode {
    double limit;
    const char* data;        // of row 0
    const FloatNode* child;  // the next node is the child for numbers above the limit
    const FloatNode* away;   // node of a NaN
};

struct FloatTree {
    const FloatNode* nodes;  // node 0; the end markers -1 - k are before it
    const uint8_t* moves;    // 0 at leaves and end markers
};

// With this test GCC generates a conditional move instead of a jump; NaN is unpredictable.
COUNTWISE_INLINE bool is_nan(double x) { return __builtin_isunordered(x, x); }

template <class T>
COUNTWISE_INLINE const FloatNode* step(const FloatNode* node, ptrdiff_t row) {
    const double x = cell<T>(node->data + row);
    const FloatNode* const away = node->away;  // always read, so that compilers need no branch
    const FloatNode* const child = node->child + (x > node->limit);
    return is_nan(x) ? away : child;
}

// Moves n listed rows by some steps. rows[r] is the distance in bytes of row r from row 0.
template <class T>
void advance(const FloatTree& tree, const ptrdiff_t* rows, int32_t* at, const uint16_t* list, size_t n, Ahead& ahead) {
    size_t i = 0;
    for (; i + together <= n; i += together) {
        ahead.some();
        const FloatNode* node[together];
        ptrdiff_t row[together];
        for (size_t j = 0; j < together; ++j) {
            const size_t r = list[i + j];
            node[j] = tree.nodes + at[r];
            row[j] = rows[r];
        }
        for (size_t s = 0; s < steps_at_once; ++s)
            for (size_t j = 0; j < together; ++j) node[j] = step<T>(node[j], row[j]);
        for (size_t j = 0; j < together; ++j) at[list[i + j]] = static_cast<int32_t>(node[j] - tree.nodes);
    }
    for (; i < n; ++i) {
        const size_t r = list[i];
        const FloatNode* node = tree.nodes + at[r];
        for (size_t s = 0; s < steps_at_once; ++s) node = step<T>(node, rows[r]);
        at[r] = static_cast<int32_t>(node - tree.nodes);
    }
}

// Keeps the rows that are still moving; returns their number. Separate from the steps, because the output position
// depends on all previous rows.
size_t keep_moving(const FloatTree& tree, const int32_t* at, uint16_t* list, size_t n) {
    size_t left = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint16_t r = list[i];
        list[left] = r;
        left += tree.moves[at[r]];
    }
    return left;
}

template <class T>
void walk(const FloatTree& tree, const Column& first, const RowStarts& rows, const Column* used, size_t n_used,
          int32_t* out) {
    ptrdiff_t row[block_rows];
    uint16_t list[block_rows];
    Checkpoint checkpoint;
    for (size_t from = 0; from < rows.n; from += block_rows) {
        const size_t n = smaller(block_rows, rows.n - from), next = from + n;
        checkpoint.after(32 * n);
        for (size_t r = 0; r < n; ++r) {
            row[r] = static_cast<ptrdiff_t>(rows.row(from + r)) * first.stride;
            list[r] = static_cast<uint16_t>(r);
            out[from + r] = rows.start_of(from + r);
        }
        Ahead ahead;
        ahead.add(used, n_used, next, smaller(block_rows, rows.n - next));
        ahead.distribute(block_rows / together * 2);  // most rows take more than 4 steps
        size_t left = keep_moving(tree, out + from, list, n);
        while (left > 0) {
            advance<T>(tree, row, out + from, list, left, ahead);
            left = keep_moving(tree, out + from, list, left);
        }
    }
}

// A leaf or an end marker, for any value of the column.
FloatNode end_at(const FloatNode* self, const Column& column) { return {INFINITY, column.data, self, self}; }

void fill(const Column* columns, const Tests& tests, const int32_t* children, FloatNode* nodes, uint8_t* moves) {
    const Column* some = nullptr;
    for (size_t k = 0; k < tests.nodes; ++k) {
        FloatNode* const node = nodes + k;
        FloatNode* const end_marker = nodes - 1 - k;
        moves[k] = tests.attribute[k] >= 0;
        moves[-1 - static_cast<ptrdiff_t>(k)] = 0;
        if (moves[k]) {
            some = columns + tests.attribute[k];
            const FloatNode* const child = nodes + children[k];
            *end_marker = end_at(end_marker, *some);
            *node = {tests.limits[tests.limit_starts[k]], some->data, child,
                     tests.missing[k] < 0 ? end_marker : child + tests.missing[k]};
        } else if (some) {  // leaves before all inner nodes have no parent
            *node = end_at(node, *some);
        }
    }
}

}  // namespace

size_t used_columns(const Column* columns, size_t n_columns, const Tests& tests, Column* used) {
    Scratch<uint8_t> used_by_test(n_columns);
    for (size_t j = 0; j < n_columns; ++j) used_by_test[j] = 0;
    for (size_t k = 0; k < tests.nodes; ++k)
        if (tests.attribute[k] >= 0) used_by_test[static_cast<size_t>(tests.attribute[k])] = 1;
    size_t n = 0;
    for (size_t j = 0; j < n_columns; ++j) {
        if (!used_by_test[j]) continue;
        if (n == group_columns) return 0;
        used[n++] = columns[j];
    }
    return n;
}

const Column* one_kind_of_float(const Column* columns, const Tests& tests) {
    const Column* first = nullptr;
    for (size_t k = 0; k < tests.nodes; ++k) {
        if (tests.attribute[k] < 0) continue;
        const Column* const mine = columns + tests.attribute[k];
        if (!first) first = mine;
        if (tests.limit_starts[k + 1] - tests.limit_starts[k] != 1 || !is_float(mine->type) ||
            mine->type != first->type || mine->stride != first->stride)
            return nullptr;
    }
    return first;
}

void walk_floats(const Column* columns, size_t n_columns, const Column& first, const RowStarts& rows,
                 const Tests& tests, const int32_t* children, int32_t* out) {
    Scratch<FloatNode> nodes(2 * tests.nodes);
    Scratch<uint8_t> moves(2 * tests.nodes);
    fill(columns, tests, children, nodes.get() + tests.nodes, moves.get() + tests.nodes);
    const FloatTree tree{nodes.get() + tests.nodes, moves.get() + tests.nodes};
    Column used[group_columns];
    const size_t n_used = rows.rows ? 0 : used_columns(columns, n_columns, tests, used);
    if (first.type == Type::f64) walk<double>(tree, first, rows, used, n_used, out);
    else walk<float>(tree, first, rows, used, n_used, out);
}

}  // namespace countwise::COUNTWISE_LEVEL
