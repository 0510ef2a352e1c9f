// What the Python binding and the per-level kernels share: plain data and a table of functions.
//
// The kernels are compiled once per instruction-set level. Nothing in their files may be an inline function or
// a template of the standard library: the linker would keep one copy of it, perhaps the one with instructions
// that this processor lacks. Hence pointers and sizes here, and the kernels' own small helpers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "column.h"
#include "pair_abi.h"

namespace countwise {

// The sparse rows of one matrix, as scipy.sparse's CSR has them.
struct Csr {
    Column indptr, indices, data;
    size_t rows, columns;
    bool present;  // 1 for an entry above 0 instead of its value
};

// Codes of whole numbers: that of low + i is lookup[i]; the last entry is the code of a missing cell.
struct CodeTable {
    const void* lookup;
    size_t n;
    int64_t low;
    uint32_t other;
    Type type;
};

// Sorted points with weights (or a null pointer), and the kernel's width.
struct Points {
    const double* x;
    const double* w;
    size_t n;
    double h;
};

// Local expansions in boxes of the axis. A row of taylor has `gauss_order` coefficients and the trust limit.
struct Boxes {
    const int64_t* number;
    const double* taylor;
    size_t count;
};
constexpr size_t gauss_order = 16;
constexpr size_t gauss_row = gauss_order + 1;

// Points with a product kernel over their columns, and what their leaves of consecutive ones span: for each column the
// smallest and the largest cell of each leaf (infinite if a cell is missing), then the log weight of each leaf.
struct Products {
    const double* cells;        // (n, columns)
    const double* log_weights;  // or a null pointer
    const double* boxes;        // (2 * columns + 1, leaves)
    const uint8_t* kinds;
    const double* scales;  // (columns, 2)
    size_t n, columns, leaves;
};
constexpr size_t product_leaf = 64;

// Queries: any pointer but that of the cells may be null, `own` and `rest` together.
struct ProductQueries {
    const double* cells;   // (n, columns)
    const double* absent;  // (n, columns)
    const int64_t* own;
    const double* rest;
    size_t n;
};

// Values in ascending order, of which each has a class and a weight: all 1 if weights.data is null.
struct Entries {
    const double* values;
    Column codes, weights;
};

// Of entries with whole weights: the weight of each class before every step-th of them from `first` on, and a table of
// x log x up to the weight of all. Null pointers if the weights are not whole, or too large for a table.
struct Marks {
    const uint32_t* counts;
    const double* x_log_x;
    size_t first, step;
};

// Log joint probabilities (rows x classes), the class that is right and the weight (or a null pointer) of each row;
// the fallback is the answer for rows of minus infinity.
struct JudgedRows {
    const double* base;
    Column target;
    const double* weights;
    size_t rows, classes;
    int64_t fallback;
};

// Columns whose values are counted together, and room for the counts: a cell for each combination, the last column's
// values running fastest. `shared` columns at the beginning are those of the family before.
struct Family {
    const size_t* columns;
    size_t n, shared;
    void* cells;
};

// The moments of one class, and the variance and mean of all classes together.
struct LeftOut {
    double n, mean, m2, spread, middle;
};

// What the nodes of a tree ask, as six arrays; their words are those of countwise/_kernels/reference/trees.py.
struct Tests {
    const int32_t* attribute;
    const double* limits;
    const int64_t* limit_starts;
    const int32_t* groups;
    const int64_t* group_starts;
    const int32_t* missing;
    size_t nodes;
};

// Entries of instances 0 .. n - 1 on rows below n_rows, and where their branches are to be written.
struct Instances {
    const uint32_t* entries;
    const uint32_t* rows;  // or a null pointer: instance i is row i
    size_t n, n_rows;
    char* branch;
    ptrdiff_t stride;
    Type type;
};

// The problem is 0 if all went well, 1 for a code without a group, 2 for an instance or row that is not there.
struct Routed {
    int64_t gaps;
    int problem;
    size_t node;  // where the problem was met
};

// Entries (instances in an order, times 2, plus 1 if their value is new) in segments: one for each node of a level.
struct Segments {
    const uint32_t* entries;
    const int64_t* starts;  // count + 1
    size_t count;
};

// Where instances go from their nodes: contiguous branches, and the next segment of each branch of each node.
struct Parting {
    Column branch;
    size_t instances;
    const int32_t* slots;
    const int64_t* first;
    size_t n_next;
    const uint32_t* copies;  // or a null pointer
};

// The contiguous classes of instances, or their numbers; weights may be a null pointer.
struct Labels {
    Column codes;
    const double* weights;
    size_t instances, n_classes;
};
struct Answers {
    const double *values, *weights;
    size_t instances;
};

// From a number to one of `bin_buckets` narrow buckets: (x - low) * scale, held within 0 and bin_cells * 2**16, has a
// cell in its upper bits; in the cell, its lower 16 bits are spread evenly over the cell's buckets. The lower half of
// a cell's word is its first bucket and the upper half how many there are. The last cell is that of NaN.
constexpr size_t bin_cells = 256, bin_buckets = 4096;
struct BinMap {
    double low, scale;
    const uint32_t* cells;  // bin_cells + 1
};

// Buckets of a column that are looked into: slot s is that of all buckets b with slot[b] == s, and 0 is none. The cells
// of a wanted slot are copied, but not those equal to its common number, which are only counted (or weighed). On the
// way codes are written: they are right but for cells that are copied.
struct BinSlots {
    const uint16_t* words;  // of each bucket its code, and 256 more if it is looked into
    const uint16_t* slot;   // bin_buckets + 1, as the words
    const uint8_t* wanted;  // 0 or 1; this and the three below: one a slot
    const double* common;
    double *least, *same;
    bool any_common;
    size_t room;
    double *values, *weights;  // of `room` cells; weights only if there are any
    uint32_t* rows;
    size_t* count;  // of cells copied; beyond the room if that was too small
    uint8_t* codes;
};

// The edges of a column's bins, and of each bucket how many lie in those before it, and 256 more if it has edges
// itself.
constexpr size_t bin_edges = 512;
struct BinEdges {
    const uint16_t* words;  // bin_buckets + 1
    const double* edges;    // bin_edges of them: infinite from the last on
    size_t steps;           // no bucket has more than 2**steps - 1; at most 8
};

// The impurity of a node's classes or numbers.
enum class Criterion : uint8_t { gini, entropy, variance, sd };

// Instances in nodes: those of node k are entries[i] / 2 for i from segments[2 * k] up to segments[2 * k + 1].
struct NodeEntries {
    const uint32_t* entries;
    const int64_t* segments;
    size_t nodes;
    const uint32_t* rows;  // of each instance, or a null pointer
    size_t instances;
};

}  // namespace countwise
