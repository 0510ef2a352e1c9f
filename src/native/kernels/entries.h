// Reads the entries of nodes in parts: instances, rows and codes.
#pragma once
#include "support/tiles.h"

namespace countwise::COUNTWISE_LEVEL {

constexpr size_t part_size = 512;

enum Fault { none, bad_code, bad_place };

template <class T>
inline void gather_cells(Column column, const uint32_t* places, size_t n, uint32_t* to) {
    if (column.stride == sizeof(T)) {
        for (size_t i = 0; i < n; ++i) to[i] = cell<T>(column.data + size_t{places[i]} * sizeof(T));
    } else {
        for (size_t i = 0; i < n; ++i) to[i] = cell<T>(column.data + static_cast<ptrdiff_t>(places[i]) * column.stride);
    }
}

// Reads codes at valid positions; returns false if one of them is not below the limit.
inline bool gather(Column column, const uint32_t* places, size_t n, size_t limit, uint32_t* to) {
    with_code_type(column.type, [=](auto zero) { gather_cells<decltype(zero)>(column, places, n, to); });
    uint32_t most = 0;
    for (size_t i = 0; i < n; ++i) most = larger(most, to[i]);
    return most < limit;
}

// Entries of a node as instances and rows.
class EntryRows {
public:
    EntryRows(const NodeEntries& nodes, size_t rows) : nodes_(nodes), rows_(rows) {}

    // Reads at most part_size entries; returns false if an instance or a row does not exist.
    bool read(size_t start, size_t n) {
        uint32_t most = 0;
        for (size_t i = 0; i < n; ++i) {
            ids_[i] = nodes_.entries[start + i] >> 1;
            most = larger(most, ids_[i]);
        }
        if (most >= nodes_.instances) return false;
        if (nodes_.rows) {
            most = 0;
            for (size_t i = 0; i < n; ++i) {
                places_[i] = nodes_.rows[ids_[i]];
                most = larger(most, places_[i]);
            }
        }
        return most < rows_;
    }
    const uint32_t* instances() const { return ids_; }
    const uint32_t* rows() const { return nodes_.rows ? places_ : ids_; }

private:
    const NodeEntries& nodes_;
    const size_t rows_;
    uint32_t ids_[part_size], places_[part_size];
};

}  // namespace countwise::COUNTWISE_LEVEL
