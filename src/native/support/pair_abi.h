// Plain data types of the distance kernels, shared by the bindings and the kernels of each level.
#pragma once
#include <cstddef>
#include <cstdint>

#include "column.h"

namespace countwise {

// Rows: numbers (rows, numbers), and one column of codes for each nominal attribute; see
// countwise/_kernels/reference/neighbors.py for the terms.
struct PairRows {
    const double* numbers;
    const Column* codes;
    size_t rows;
};

// Contribution of two codes: a cost if they differ, or the entry of a table.
struct PairTable {
    const double* cells;  // or a null pointer
    size_t width;
    double cost;
};

struct PairMetric {
    size_t numbers, codes;
    const double* factors;
    const double* missing_costs;
    const PairTable* tables;
    const int64_t* known;   // (codes, 2)
    const double* weights;  // or a null pointer
    double no_overlap, p;
};

// Rows in the leaves of a tree. Slots are rows in the order of the leaves; each leaf is padded to a multiple of the
// group size. A group stores its numbers column by column, centered and scaled, and likewise the low bytes of its
// codes.
constexpr size_t pair_group = 32;
struct RowTreeView {
    const uint32_t* rows;        // row of each slot; 2^32 - 1 if empty
    const double* numbers;       // (slots, numbers)
    const uint32_t* codes;       // (slots, codes)
    const float* lanes;          // (groups, numbers, 32)
    const float* lines;          // (slots, width): the same row by row, padded with zeros
    size_t width;                // a multiple of 8
    const uint8_t* bytes;        // (groups, codes, 32)
    const double* centers;       // (numbers,)
    const double* extents;       // (numbers,): largest absolute value in `lanes`
    const uint8_t* has_missing;  // (numbers + codes,): whether any row has a missing value
    size_t numbers_count, codes_count;
    // Nodes: children (-1 for a leaf), groups of a leaf, and bounds of the contents.
    const int32_t* children;  // (nodes, 2)
    const int64_t* groups;    // (nodes, 2)
    const double* boxes;      // (nodes, numbers, 2)
    const uint8_t* lacking;   // (nodes, numbers + codes)
    const uint64_t* sets;     // (nodes, codes, 4): set of the low bytes that occur
};

// A query, and a callback for rows that may be near. It returns the sum that further rows must not exceed.
struct PairQuery {
    const double* numbers;
    const uint32_t* codes;
    int64_t skip;
    double bound;
    double (*offer)(void* to, double sum, uint32_t row);
    void* to;
};

}  // namespace countwise
