// Plain data types shared by the Python bindings and the kernels of each level.
//
// The kernels are compiled once for each instruction-set level. Their files must not use inline functions or templates
// of the standard library: the linker would keep a single copy, which may contain instructions that the processor
// lacks. Therefore the interface consists of pointers and sizes, and the kernels have their own small helpers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "column.h"
#include "pair_abi.h"

namespace countwise {

// Sparse rows of a matrix in the CSR format of scipy.sparse.
struct Csr {
    Column indptr, indices, data;
    size_t rows, columns;
    bool present;  // an entry above 0 counts as 1, any other as 0
};

// Codes of integers: lookup[i] is the code of low + i. The last entry is the code of a missing value.
struct CodeTable {
    const void* lookup;
    size_t n;
    int64_t low;
    uint32_t other;
    Type type;
};

// Sorted points, their weights (or a null pointer), and the bandwidth.
struct Points {
    const double* x;
    const double* w;
    size_t n;
    double h;
};

// Local expansions in boxes of the axis. A row of taylor has `gauss_order` coefficients and the smallest accurate sum.
struct Boxes {
    const int64_t* number;
    const double* taylor;
    size_t count;
};
constexpr size_t gauss_order = 16;
constexpr size_t gauss_row = gauss_order + 1;

// Points with a product kernel over their columns, and the bounding boxes of their leaves of consecutive points: for
// each column the smallest and the largest value of each leaf (infinite if a value is missing), then the log weight of
// each leaf.
struct Products {
    const double* cells;        // (n, columns)
    const double* log_weights;  // or a null pointer
    const double* boxes;        // (2 * columns + 1, leaves)
    const uint8_t* kinds;
    const double* scales;  // (columns, 2)
    size_t n, columns, leaves;
};
constexpr size_t product_leaf = 64;

// Queries. Any pointer but `cells` may be null; `own` and `rest` are null together.
struct ProductQueries {
    const double* cells;   // (n, columns)
    const double* absent;  // (n, columns)
    const int64_t* own;
    const double* rest;
    size_t n;
};

// Values in ascending order, each with a class and a weight; all weights are 1 if weights.data is null.
struct Entries {
    const double* values;
    Column codes, weights;
};

// For entries with integer weights: the weight of each class before every step-th entry, starting at `first`, and a
// table of x log x up to the total weight. Null pointers if a weight is not an integer or the total is too large.
struct Marks {
    const uint32_t* counts;
    const double* x_log_x;
    size_t first, step;
};

// Log joint probabilities (rows x classes), and the true class and the weight (or a null pointer) of each row.
// `fallback` is the prediction for rows that are minus infinity everywhere.
struct LabeledRows {
    const double* base;
    Column target;
    const double* weights;
    size_t rows, classes;
    int64_t fallback;
};

// Columns whose values are counted jointly, and the memory for the counts: one cell for each combination, with the last
// column varying fastest. The first `shared` columns are also those of the previous family.
struct Family {
    const size_t* columns;
    size_t n, shared;
    void* cells;
};

// Moments of one class, and the mean and the variance of all classes together.
struct LooMoments {
    double n, mean, m2, overall_variance, overall_mean;
};

// Tests of the nodes of a tree, as six arrays; see countwise/_kernels/reference/trees.py for the terms.
struct Tests {
    const int32_t* attribute;
    const double* limits;
    const int64_t* limit_starts;
    const int32_t* groups;
    const int64_t* group_starts;
    const int32_t* missing;
    size_t nodes;
};

// Entries of instances 0 .. n - 1 on rows below n_rows, and the memory for their branches.
struct Instances {
    const uint32_t* entries;
    const uint32_t* rows;  // null if instance i is row i
    size_t n, n_rows;
    char* branch;
    ptrdiff_t stride;
    Type type;
};

// problem: 0 for success, 1 for a code without a group, 2 for an instance or row that does not exist.
struct Routed {
    int64_t in_all;
    int problem;
    size_t node;  // of the problem
};

// Entries (2 * instance, plus 1 if the value differs from the previous entry's) in segments, one for each node of a
// level.
struct Segments {
    const uint32_t* entries;
    const int64_t* starts;  // count + 1
    size_t count;
};

// Moves of instances from their nodes: contiguous branches, and the next segment of each branch of each node.
struct Parting {
    Column branch;
    size_t instances;
    const int32_t* slots;
    const int64_t* first;
    size_t n_next;
    const uint32_t* copies;  // or a null pointer
};

// Contiguous classes or numeric targets of instances; weights may be a null pointer.
struct Labels {
    Column codes;
    const double* weights;
    size_t instances, n_classes;
};
struct NumericTargets {
    const double *values, *weights;
    size_t instances;
};

// Map from a number to one of `bin_buckets` narrow buckets. (x - low) * scale, limited to 0 .. bin_cells * 2**16, has
// the cell in its upper bits; its lower 16 bits select one of the cell's buckets. The lower half of a cell's word is
// its first bucket, and the upper half is its number of buckets. The last cell is for NaN.
constexpr size_t bin_cells = 256, bin_buckets = 4096;
struct BinMap {
    double low, scale;
    const uint32_t* cells;  // bin_cells + 1
};

// Buckets of a column that are examined: slot s contains all buckets b with slot[b] == s; slot 0 is for all other
// buckets. The values of a wanted slot are copied, except those equal to its common value, which are only counted (or
// their weights summed). Codes are written in the same pass; they are final except for copied values.
struct BinSlots {
    const uint16_t* words;  // code of each bucket, plus 256 if it is examined
    const uint16_t* slot;   // bin_buckets + 1, like the words
    const uint8_t* wanted;  // 0 or 1; this and the next three have one entry for each slot
    const double* common;
    double *least, *same;
    bool any_common;
    size_t capacity;
    double *values, *weights;  // `capacity` values; weights may be null
    uint32_t* rows;
    size_t* count;  // number of values to copy; more than `capacity` if that was too small
    uint8_t* codes;
};

// Edges of a column's bins, and a word for each bucket: the number of edges in the buckets before it, plus 256 if the
// bucket itself contains edges.
constexpr size_t bin_edges = 512;
struct BinEdges {
    const uint16_t* words;  // bin_buckets + 1
    const double* edges;    // bin_edges entries, padded with infinity
    size_t steps;           // no bucket has more than 2**steps - 1 edges; at most 8
};

// Impurity of a node's classes or numbers.
enum class Criterion : uint8_t { gini, entropy, variance, sd };

// Instances in nodes: those of node k are entries[i] / 2 for i from segments[2 * k] up to segments[2 * k + 1].
struct NodeEntries {
    const uint32_t* entries;
    const int64_t* segments;
    size_t nodes;
    const uint32_t* rows;  // row of each instance, or a null pointer
    size_t instances;
};

}  // namespace countwise
