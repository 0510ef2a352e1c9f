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
    std::size_t rows, columns;
    bool present;  // 1 for an entry above 0 instead of its value
};

// Codes of whole numbers: that of low + i is lookup[i]; the last entry is the code of a missing cell.
struct CodeTable {
    const void* lookup;
    std::size_t n;
    std::int64_t low;
    std::uint32_t other;
    Type type;
};

// Sorted points with weights (or a null pointer), and the kernel's width.
struct Points {
    const double* x;
    const double* w;
    std::size_t n;
    double h;
};

// Local expansions in boxes of the axis. A row of taylor has `gauss_order` coefficients and the trust limit.
struct Boxes {
    const std::int64_t* number;
    const double* taylor;
    std::size_t count;
};
constexpr std::size_t gauss_order = 16;
constexpr std::size_t gauss_row = gauss_order + 1;

// Points with a product kernel over their columns, and what their leaves of consecutive ones span: for each column the
// smallest and the largest cell of each leaf (infinite if a cell is missing), then the log weight of each leaf.
struct Products {
    const double* cells;        // (n, columns)
    const double* log_weights;  // or a null pointer
    const double* boxes;        // (2 * columns + 1, leaves)
    const std::uint8_t* kinds;
    const double* scales;  // (columns, 2)
    std::size_t n, columns, leaves;
};
constexpr std::size_t product_leaf = 64;

// Queries: any pointer but that of the cells may be null, `own` and `rest` together.
struct ProductQueries {
    const double* cells;   // (n, columns)
    const double* absent;  // (n, columns)
    const std::int64_t* own;
    const double* rest;
    std::size_t n;
};

// Values in ascending order, of which each has a class and a weight: all 1 if weights.data is null.
struct Entries {
    const double* values;
    Column codes, weights;
};

// Of entries with whole weights: the weight of each class before every step-th of them from `first` on, and a table of
// x log x up to the weight of all. Null pointers if the weights are not whole, or too large for a table.
struct Marks {
    const std::uint32_t* counts;
    const double* x_log_x;
    std::size_t first, step;
};

// Log joint probabilities (rows x classes), the class that is right and the weight (or a null pointer) of each row;
// the fallback is the answer for rows of minus infinity.
struct Right {
    const double* base;
    Column target;
    const double* weights;
    std::size_t rows, classes;
    std::int64_t fallback;
};

// Columns whose values are counted together, and room for the counts: a cell for each combination, the last column's
// values running fastest. `shared` columns at the beginning are those of the family before.
struct Family {
    const std::size_t* columns;
    std::size_t n, shared;
    void* cells;
};

// The moments of one class, and the variance and mean of all classes together.
struct LeftOut {
    double n, mean, m2, spread, middle;
};

// What the nodes of a tree ask, as six arrays; their words are those of countwise/_kernels/reference_trees.py.
struct Tests {
    const std::int32_t* attribute;
    const double* limits;
    const std::int64_t* limit_starts;
    const std::int32_t* groups;
    const std::int64_t* group_starts;
    const std::int32_t* missing;
    std::size_t nodes;
};

// Entries of instances 0 .. n - 1 on rows below n_rows, and where their branches are to be written.
struct Instances {
    const std::uint32_t* entries;
    const std::uint32_t* rows;  // or a null pointer: instance i is row i
    std::size_t n, n_rows;
    char* branch;
    std::ptrdiff_t stride;
    Type type;
};

// The problem is 0 if all went well, 1 for a code without a group, 2 for an instance or row that is not there.
struct Routed {
    std::int64_t gaps;
    int problem;
    std::size_t node;  // where the problem was met
};

// Entries (instances in an order, times 2, plus 1 if their value is new) in segments: one for each node of a level.
struct Segments {
    const std::uint32_t* entries;
    const std::int64_t* starts;  // count + 1
    std::size_t count;
};

// Where instances go from their nodes: contiguous branches, and the next segment of each branch of each node.
struct Parting {
    Column branch;
    std::size_t instances;
    const std::int32_t* slots;
    const std::int64_t* first;
    std::size_t n_next;
    const std::uint32_t* copies;  // or a null pointer
};

// The contiguous classes of instances, or their numbers; weights may be a null pointer.
struct Labels {
    Column codes;
    const double* weights;
    std::size_t instances, n_classes;
};
struct Answers {
    const double *values, *weights;
    std::size_t instances;
};

// From a number to one of `bin_buckets` narrow buckets: (x - low) * scale, held within 0 and bin_cells * 2**16, has a
// cell in its upper bits; in the cell, its lower 16 bits are spread evenly over the cell's buckets. The lower half of
// a cell's word is its first bucket and the upper half how many there are. The last cell is that of NaN.
constexpr std::size_t bin_cells = 256, bin_buckets = 4096;
struct BinMap {
    double low, scale;
    const std::uint32_t* cells;  // bin_cells + 1
};

// Buckets of a column that are looked into: slot s is that of all buckets b with slot[b] == s, and 0 is none. The cells
// of a wanted slot are copied, but not those equal to its common number, which are only counted (or weighed). On the
// way codes are written: they are right but for cells that are copied.
struct BinSlots {
    const std::uint16_t* words;  // of each bucket its code, and 256 more if it is looked into
    const std::uint16_t* slot;   // bin_buckets + 1, as the words
    const std::uint8_t* wanted;  // 0 or 1; this and the three below: one a slot
    const double* common;
    double *least, *same;
    bool any_common;
    std::size_t room;
    double *values, *weights;  // of `room` cells; weights only if there are any
    std::uint32_t* rows;
    std::size_t* count;  // of cells copied; beyond the room if that was too small
    std::uint8_t* codes;
};

// The edges of a column's bins, and of each bucket how many lie in those before it, and 256 more if it has edges itself.
constexpr std::size_t bin_edges = 512;
struct BinEdges {
    const std::uint16_t* words;  // bin_buckets + 1
    const double* edges;         // bin_edges of them: infinite from the last on
    std::size_t steps;           // no bucket has more than 2**steps - 1; at most 8
};

// The impurity of a node's classes or numbers.
enum class Criterion : std::uint8_t { gini, entropy, variance, sd };

// Instances in nodes: those of node k are entries[i] / 2 for i from segments[2 * k] up to segments[2 * k + 1].
struct NodeEntries {
    const std::uint32_t* entries;
    const std::int64_t* segments;
    std::size_t nodes;
    const std::uint32_t* rows;  // of each instance, or a null pointer
    std::size_t instances;
};

// An int return is 0 if all went well, or 1 + the number of the column that holds a code out of range.
struct Kernels {
    const char* name;

    void (*class_moments)(const Column* columns, std::size_t n_columns, Column codes, const double* weights,
                          std::size_t rows, std::size_t n_classes, double* n, double* mean, double* m2);
    void (*count_codes)(Column column, Column given, std::size_t rows, std::size_t n_values,
                        std::size_t n_given, std::int64_t* counts);
    void (*count_codes_integer)(Column column, Column given, Column weights, std::size_t rows,
                                std::size_t n_values, std::size_t n_given, std::int64_t* counts);
    void (*count_codes_float)(Column column, Column given, Column weights, std::size_t rows,
                              std::size_t n_values, std::size_t n_given, double* counts);
    int (*add_lookup)(const Column* columns, std::size_t n_columns, const double* const* tables,
                      const std::size_t* n_values, std::size_t rows, std::size_t classes, double* out);
    void (*add_gaussian)(const Column* columns, std::size_t n_columns, const double* mean,
                         const double* inverse_sd, const double* log_norm, std::size_t rows,
                         std::size_t classes, double* out);
    void (*add_poisson)(const Column* columns, std::size_t n_columns, const double* rate, std::size_t rows,
                        std::size_t classes, double* out);
    std::size_t (*normalize)(double* out, std::size_t rows, std::size_t classes, bool proba);
    void (*argmax_rows)(const double* out, std::size_t rows, std::size_t classes, std::ptrdiff_t* best);
    int (*csr_class_sums)(const Csr& matrix, Column codes, const double* weights, std::size_t n_classes,
                          double* sums);
    int (*csr_add)(const Csr& matrix, const double* table, std::size_t classes, double* out);
    bool (*is_integral)(Column column, std::size_t rows);
    // False if no cell is there; the extremes as uint64 for u64 columns, as int64 otherwise.
    bool (*integer_range)(Column column, std::size_t rows, std::int64_t* low, std::int64_t* high);
    void (*integer_marks)(Column column, std::size_t rows, std::int64_t low, std::size_t span, std::uint8_t* marks);
    std::size_t (*integer_values)(Column column, std::size_t rows, std::int64_t* values);
    bool (*find_infinity)(const Column* columns, std::size_t n_columns, std::size_t rows, std::size_t* column,
                          std::size_t* row);
    // A mark for each of span numbers from low on and one more for the missing; outside: anything else was met.
    void (*mark_columns)(const Column* columns, std::size_t n_columns, std::size_t rows, std::int64_t low,
                         std::size_t span, std::uint8_t* marks, std::uint8_t* outside);
    void (*encode_columns)(const Column* columns, std::size_t n_columns, std::size_t rows,
                           const CodeTable* tables, void* const* codes);
    void (*gauss_log_sums_exact)(const Points& points, const double* queries, std::size_t n, double* sums);
    // Two calls: without room it returns how many boxes there will be.
    std::size_t (*gauss_expand)(const Points& points, double tolerance, std::int64_t* boxes, double* taylor);
    void (*gauss_log_sums)(const Points& points, const Boxes& boxes, const double* queries, std::size_t n,
                           double* sums);
    void (*gauss_loo_log_sums)(const Points& points, const Boxes& boxes, double* sums);
    // Values of several classes in one order, with codes of the given type.
    void (*merge_sets)(const double* const* values, const std::size_t* sizes, std::size_t n_classes, Type type,
                       double* merged, void* codes);
    // The weights in the order of merged codes; a stride may be 0. As int64 if whole, else as float64.
    void (*merge_weights)(Column codes, std::size_t n, const Column* weights, const std::size_t* sizes,
                          std::size_t n_classes, bool whole, void* merged);
    // The weight of each class; returns 1 for a code out of range, 2 for a negative or infinite weight.
    int (*class_totals)(const Entries& entries, std::size_t start, std::size_t stop, std::size_t n_classes,
                        double* totals);
    // The counts of marks that are to be made, (stop - first) / step + 1 times n_classes of them.
    void (*class_marks)(const Entries& entries, std::size_t first, std::size_t stop, std::size_t n_classes,
                        std::size_t step, std::uint32_t* counts);
    // The weight of each class from the first mark to before a place.
    void (*counts_before)(const Entries& entries, const Marks& marks, std::size_t place, std::size_t n_classes,
                          double* counts);
    // The best place or -1, given the totals.
    std::int64_t (*best_cut)(const Entries& entries, std::size_t start, std::size_t stop, std::size_t n_classes,
                             const double* totals, double tolerance, const Marks& marks);
    void (*cut_codes)(Column column, std::size_t rows, const double* edges, std::size_t n_edges, Type type,
                      void* out);
    void (*count_right)(const Right& rows, const double* const* terms, std::size_t n_terms, double* sums);
    // Added to tables of (sizes[i], sizes[j]) for each pair (i, j).
    void (*pair_counts)(const Column* columns, std::size_t n_columns, std::size_t rows, const std::size_t* sizes,
                        const std::size_t* pairs, std::size_t n_pairs, std::int64_t* const* tables);
    // The cells are float64 if the weights are floats, else int64; weights without data are 1 for all.
    void (*count_families)(const Column* columns, std::size_t n_columns, std::size_t rows, const std::size_t* sizes,
                           const Family* families, std::size_t n, Column weights);
    void (*kmeans_1d)(const double* values, const double* weights, std::size_t n, std::size_t k,
                      std::int64_t* starts);
    // Written to doubles that are `stride` bytes apart.
    void (*gaussian_left_out)(const LeftOut& law, const double* values, std::size_t n, char* out,
                              std::ptrdiff_t stride);
    void (*product_log_sums)(const Products& points, const ProductQueries& queries, double tolerance, double* logs);
    // weights.data may be null.
    double (*sum_log_share)(const double* joint, std::size_t rows, std::size_t classes, std::size_t c, Column weights,
                            double least);
    // Of the three below: a 1 is written to `incomplete` for every row with a NaN, which adds nothing, else a 0. The
    // sums are to be 0 before.
    void (*class_scatter)(const Column* columns, std::size_t n_columns, Column codes, const double* weights,
                          std::size_t rows, std::size_t n_classes, std::uint8_t* incomplete, double* n, double* mean,
                          double* scatter);
    // The factors are (classes, height, columns).
    void (*add_quadratic)(const Column* columns, std::size_t n_columns, const double* centers, const double* factors,
                          std::size_t height, std::size_t rows, std::size_t classes, double* out,
                          std::uint8_t* incomplete);
    void (*add_linear)(const Column* columns, std::size_t n_columns, const double* center, const double* slopes,
                       std::size_t rows, std::size_t classes, double* out, std::uint8_t* incomplete);
    // Whether all nodes can be asked, with branches below `most_branches` and, unless null, children after their node.
    // The lengths of attribute, missing, starts and children are to be right.
    bool (*good_tests)(const Column* columns, std::size_t n_columns, const Tests& tests, std::size_t n_limits,
                       std::size_t n_groups, const std::int32_t* children, std::int64_t most_branches);
    // Both need good tests.
    Routed (*route_entries)(const Column* columns, const Instances& instances, const std::int64_t* starts,
                            const Tests& tests);
    // Rows and first nodes may be null pointers. Returns -1, or the node that had no group for a code.
    std::int64_t (*apply_tests)(const Column* columns, std::size_t n_columns, const std::uint32_t* rows,
                                const std::int32_t* start, std::size_t n, const Tests& tests,
                                const std::int32_t* children, std::int32_t* out);
    // Returns how many entries there are.
    std::size_t (*presort)(Column column, std::size_t rows, std::uint32_t* entries);
    // How many entries there may be at the next level, and how many there are. Below 0: an instance out of range,
    // a branch out of range, an instance in several branches without copies, copies out of range.
    std::int64_t (*part_room)(const Segments& from, const Parting& parting);
    std::int64_t (*part_segments)(const Segments& from, const Parting& parting, std::uint32_t* entries,
                                  std::int64_t* starts);
    // Of the two below: returns 1 for an instance out of range, 2 for a code out of range.
    int (*best_thresholds)(const Segments& segments, const Labels& labels, bool entropy, double least,
                           std::int64_t* places, double* gains);
    int (*best_thresholds_of_numbers)(const Segments& segments, const Answers& answers, bool deviations, double least,
                                      std::int64_t* places, double* gains);
    // The different numbers of each column, up to `limit` of them; a count of -1 if there are more.
    void (*few_values)(const Column* columns, std::size_t n_columns, std::size_t rows, std::size_t limit,
                       double* values, std::int64_t* counts);
    // Of the three below: maps are one a column, weights may be null. Counts and sums are added to.
    void (*bin_counts)(const Column* columns, std::size_t n_columns, std::size_t rows, const BinMap* maps,
                       const double* weights, std::uint32_t* counts, double* sums);
    void (*bin_collect)(const Column* columns, std::size_t n_columns, std::size_t rows, const BinMap* maps,
                        const double* weights, const BinSlots* slots);
    void (*bin_codes)(const Column* columns, std::size_t n_columns, std::size_t rows, const BinMap* maps,
                      const BinEdges* edges, std::uint8_t* const* codes);
    // Counts on from the codes of some rows, given their cells; edges and steps are as in BinEdges.
    void (*bin_amend)(const double* values, const std::uint32_t* rows, std::size_t n, const double* edges,
                      std::size_t steps, std::uint8_t* codes);
    // Of the three below: 1 is returned for a code out of range, 2 for an instance or a row that there is not. Tables
    // are to be 0 before; those of counts are uint32 without weights, int64 with whole ones, else float64.
    int (*count_entries)(Column column, std::size_t rows, const NodeEntries& nodes, Column codes, Column weights,
                         std::size_t n_cells, std::size_t n_classes, void* table);
    // The matrix is (rows, columns), the table (columns, nodes, n_cells, n_classes).
    int (*count_matrix)(const std::uint8_t* matrix, std::size_t rows, std::size_t columns, const NodeEntries& nodes,
                        Column codes, Column weights, std::size_t n_cells, std::size_t n_classes, void* table);
    int (*sum_entries)(Column column, std::size_t rows, const NodeEntries& nodes, const double* values,
                       const double* weights, std::size_t n_cells, const double* centers, double* table);
    // The table is (nodes, n_cells, width) of u32, i64 or f64.
    void (*best_bins)(const void* table, Type type, std::size_t nodes, std::size_t n_cells, std::size_t width,
                      std::size_t n_bins, Criterion criterion, double least, std::int64_t* places, double* gains);
    void (*branch_gains)(const void* table, Type type, std::size_t nodes, std::size_t n_cells, std::size_t width,
                         std::size_t n_values, Criterion criterion, double least, double* gains);
    void (*pair_sums)(const PairRows& queries, const PairRows& rows, const PairLaw& law, double* sums);
    void (*search)(const Planted& planted, const PairLaw& law, const PairQuery& query);
    // Strings as code points one after the other, and where each begins.
    void (*edit_distances)(const std::uint32_t* letters, const std::int64_t* starts, std::size_t n,
                           const std::uint32_t* other_letters, const std::int64_t* other_starts,
                           std::size_t n_others, std::uint32_t* out);
};

}  // namespace countwise
