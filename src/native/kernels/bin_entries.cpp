// Tables of nodes: counts of each combination of code and class, or the sums of a number for each code.
#include "entries.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t long_segment = 1024;  // segments from this length on use separate tables
constexpr size_t most_classes = 8;     // for separate tables

template <class Weight>
COUNTWISE_INLINE void add_weights(const uint32_t* at, const uint32_t* ids, size_t n, Column weights, Weight* table) {
    for (size_t i = 0; i < n; ++i)
        table[at[i]] += cell<Weight>(weights.data + static_cast<ptrdiff_t>(ids[i]) * weights.stride);
}

// Counts the table of a node, for any types.
class Counter {
public:
    Counter(Column column, size_t rows, const NodeEntries& nodes, Column codes, Column weights, size_t n_cells,
            size_t n_classes)
        : column_(column), codes_(codes), weights_(weights), n_cells_(n_cells), n_classes_(n_classes),
          part_(nodes, rows) {}

    template <class Weight>
    int count(size_t start, size_t stop, Weight* table) {
        uint32_t code[part_size], at[part_size];
        for (; start < stop; start += part_size) {
            const size_t n = smaller(part_size, stop - start);
            checkpoint_.after(n);
            if (!part_.read(start, n)) return bad_place;
            const uint32_t* ids = part_.instances();
            if (!gather(column_, part_.rows(), n, n_cells_, at) || !gather(codes_, ids, n, n_classes_, code))
                return bad_code;
            for (size_t i = 0; i < n; ++i) at[i] = at[i] * static_cast<uint32_t>(n_classes_) + code[i];
            if (weights_.data) add_weights(at, ids, n, weights_, table);
            else
                for (size_t i = 0; i < n; ++i) ++table[at[i]];
        }
        return none;
    }

private:
    const Column column_, codes_, weights_;
    const size_t n_cells_, n_classes_;
    EntryRows part_;
    Checkpoint checkpoint_;
};

// Long segments of narrow codes without weights. The tables cover every code of the types, so that no check is needed
// in the loop. Two tables are used in turn, because consecutive increments of the same cell would wait for each other.
class NarrowCounter {
public:
    NarrowCounter(Column column, size_t rows, const NodeEntries& nodes, Column codes, size_t n_cells, size_t n_classes)
        : cells_(reinterpret_cast<const uint8_t*>(column.data)), codes_(reinterpret_cast<const uint8_t*>(codes.data)),
          n_cells_(n_cells), n_classes_(n_classes), part_(nodes, rows) {}

    static bool fits(Column column, Column codes, Column weights, size_t n_classes) {
        return column.type == Type::u8 && column.stride == 1 && codes.type == Type::u8 && codes.stride == 1 &&
               !weights.data && n_classes <= most_classes;
    }

    int count(size_t start, size_t stop, uint32_t* table) {
        const size_t used = 256 * n_classes_ + 256;
        std::memset(tables_[0], 0, used * sizeof(uint32_t));
        std::memset(tables_[1], 0, used * sizeof(uint32_t));
        for (; start < stop; start += part_size) {
            const size_t n = smaller(part_size, stop - start);
            checkpoint_.after(n);
            if (!part_.read(start, n)) return bad_place;
            const bool good = n_classes_ == 2 ? add<2>(n) : add<0>(n);
            if (!good) return bad_code;
        }
        const size_t known = smaller(used, n_cells_ * n_classes_);
        uint32_t beyond = 0;
        for (size_t i = known; i < used; ++i) beyond |= tables_[0][i] | tables_[1][i];
        for (size_t i = 0; i < known; ++i) table[i] += tables_[0][i] + tables_[1][i];
        return beyond ? bad_code : none;
    }

private:
    template <size_t Classes>
    COUNTWISE_INLINE bool add(size_t n) {
        return part_.rows() == part_.instances() ? add<Classes>(n, part_.rows(), part_.rows())
                                                 : add<Classes>(n, part_.instances(), part_.rows());
    }

    template <size_t Classes>
    COUNTWISE_INLINE bool add(size_t n, const uint32_t* ids, const uint32_t* rows) {
        const size_t classes = Classes ? Classes : n_classes_;
        const uint8_t *cells = cells_, *codes = codes_;
        uint32_t *even = tables_[0], *odd = tables_[1], most = 0;
        size_t i = 0;
        for (; i + 2 <= n; i += 2) {
            const uint32_t a = codes[ids[i]], b = codes[ids[i + 1]];
            ++even[cells[rows[i]] * classes + a];
            ++odd[cells[rows[i + 1]] * classes + b];
            most = Classes == 2 ? most | a | b : larger(most, larger(a, b));
        }
        for (; i < n; ++i) {
            const uint32_t a = codes[ids[i]];
            ++even[cells[rows[i]] * classes + a];
            most = larger(most, a);
        }
        return most < classes;
    }

    const uint8_t *cells_, *codes_;
    const size_t n_cells_, n_classes_;
    EntryRows part_;
    Checkpoint checkpoint_;
    uint32_t tables_[2][256 * most_classes + 256];
};

template <class Weight>
int count_nodes(Counter& counter, const NodeEntries& nodes, size_t cells, Weight* table) {
    for (size_t k = 0; k < nodes.nodes; ++k) {
        const size_t start = static_cast<size_t>(nodes.segments[2 * k]),
                     stop = static_cast<size_t>(nodes.segments[2 * k + 1]);
        if (const int fault = counter.count(start, stop, table + k * cells)) return fault;
    }
    return none;
}

}  // namespace

int count_entries(Column column, size_t rows, const NodeEntries& nodes, Column codes, Column weights, size_t n_cells,
                  size_t n_classes, void* table) {
    const size_t cells = n_cells * n_classes;
    Counter counter(column, rows, nodes, codes, weights, n_cells, n_classes);
    if (weights.data && weights.type == Type::f64)
        return count_nodes(counter, nodes, cells, static_cast<double*>(table));
    if (weights.data)  // unsigned: a sum beyond the range wraps around
        return count_nodes(counter, nodes, cells, static_cast<uint64_t*>(table));
    if (!NarrowCounter::fits(column, codes, weights, n_classes))
        return count_nodes(counter, nodes, cells, static_cast<uint32_t*>(table));
    NarrowCounter narrow(column, rows, nodes, codes, n_cells, n_classes);
    for (size_t k = 0; k < nodes.nodes; ++k) {
        const size_t start = static_cast<size_t>(nodes.segments[2 * k]),
                     stop = static_cast<size_t>(nodes.segments[2 * k + 1]);
        uint32_t* to = static_cast<uint32_t*>(table) + k * cells;
        const int fault = stop - start >= long_segment ? narrow.count(start, stop, to) : counter.count(start, stop, to);
        if (fault) return fault;
    }
    return none;
}

int sum_entries(Column column, size_t rows, const NodeEntries& nodes, const double* values, const double* weights,
                size_t n_cells, const double* centers, double* table) {
    EntryRows part(nodes, rows);
    Checkpoint checkpoint;
    uint32_t at[part_size];
    for (size_t k = 0; k < nodes.nodes; ++k, table += 3 * n_cells) {
        const size_t stop = static_cast<size_t>(nodes.segments[2 * k + 1]);
        const double center = centers[k];
        for (size_t start = static_cast<size_t>(nodes.segments[2 * k]); start < stop; start += part_size) {
            const size_t n = smaller(part_size, stop - start);
            checkpoint.after(n);
            if (!part.read(start, n)) return bad_place;
            if (!gather(column, part.rows(), n, n_cells, at)) return bad_code;
            const uint32_t* ids = part.instances();
            for (size_t i = 0; i < n; ++i) {
                const double w = weights ? weights[ids[i]] : 1.0, y = values[ids[i]] - center;
                double* to = table + 3 * size_t{at[i]};
                to[0] += w, to[1] += w * y, to[2] += w * y * y;
            }
        }
    }
    return none;
}

}  // namespace countwise::COUNTWISE_LEVEL
