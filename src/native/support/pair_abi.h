// What the kernels of distances between rows are given: plain data, for the binding and for every level.
#pragma once
#include <cstddef>
#include <cstdint>

#include "column.h"

namespace countwise {

// One side of distances: numbers (rows, numbers), and a column of codes for each name; their words are those of
// countwise/_kernels/reference/neighbors.py.
struct PairRows {
    const double* numbers;
    const Column* codes;
    size_t rows;
};

// What two codes add: a cost if they are not equal, or what a table says.
struct PairTable {
    const double* cells;  // or a null pointer
    size_t width;
    double cost;
};

struct PairLaw {
    size_t numbers, codes;
    const double* factors;
    const double* absent;
    const PairTable* tables;
    const int64_t* known;  // (codes, 2)
    const double* shares;  // or a null pointer
    double nothing, p;
};

// Rows in the leaves of a tree. Slots are rows in the order of the leaves, each leaf filled up to whole groups; a group
// has its numbers side by side, centered and scaled, and so the low bytes of its codes.
constexpr size_t pair_group = 32;
struct RowTreeView {
    const uint32_t* rows;   // the row of each slot; 2^32 - 1 for none
    const double* numbers;  // (slots, numbers)
    const uint32_t* codes;  // (slots, codes)
    const float* lanes;     // (groups, numbers, 32)
    const float* lines;     // (slots, width): the same row by row, filled up with zeros
    size_t width;           // a multiple of 8
    const uint8_t* bytes;   // (groups, codes, 32)
    const double* centers;  // (numbers,)
    const double* extents;  // (numbers,): the largest of `lanes`, without its sign
    const uint8_t* gaps;    // (numbers + codes,): whether any row lacks it
    size_t numbers_count, codes_count;
    // nodes: the children (-1 for a leaf), the groups of a leaf, and what is in them
    const int32_t* children;  // (nodes, 2)
    const int64_t* groups;    // (nodes, 2)
    const double* boxes;      // (nodes, numbers, 2)
    const uint8_t* lacking;   // (nodes, numbers + codes)
    const uint64_t* sets;     // (nodes, codes, 4): which low bytes there are
};

// A query, and who is told of rows that may be near: it answers with the sum that others must not exceed.
struct PairQuery {
    const double* numbers;
    const uint32_t* codes;
    int64_t skip;
    double bound;
    double (*offer)(void* to, double sum, uint32_t row);
    void* to;
};

}  // namespace countwise
