// Tables of nodes: counts of each combination of code and class for several columns, whose codes are adjacent in a row.
#include "entries.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t all_cells = 256;              // number of different uint8 codes
constexpr size_t block_size = 32;              // rows are prefetched this many entries ahead
constexpr size_t own_bytes = size_t{1} << 19;  // size of the local tables: fits in the L2 cache
constexpr size_t most_counted = 65535;         // largest count in a local cell
constexpr size_t pair_step = 2 * all_cells;    // distance between columns of a local table, for two classes

// The cell type of a local table. With half the final width, the counts of twenty columns fit in the L1 cache.
template <class Out>
struct Own {
    using Cell = Out;
};
template <>
struct Own<uint32_t> {
    using Cell = uint16_t;
};

template <class Out>
constexpr bool weighed = sizeof(Out) == 8;

// A block of entries of one node.
template <class Out>
struct Block {
    size_t n, node;
    bool last, own;  // whether these are the node's last entries; whether local tables are worthwhile
    const uint8_t* row[block_size];
    uint32_t code[block_size];
    Out weight[weighed<Out> ? block_size : 1];
};

COUNTWISE_INLINE void fetch(const uint8_t* at) { __builtin_prefetch(at); }

// Reads the entries of all nonempty nodes.
template <class Out>
class Reader {
public:
    Reader(const uint8_t* matrix, size_t rows, size_t columns, const NodeEntries& nodes, Column codes, Column weights,
           size_t n_classes, size_t least_own)
        : matrix_(matrix), columns_(columns), nodes_(nodes), codes_(codes), weights_(weights), n_classes_(n_classes),
          least_own_(least_own), part_(nodes, rows) {}

    // n is 0 at the end.
    COUNTWISE_APART int read(Block<Out>& to) {
        to.n = 0;
        while (at_ == stop_)
            if (!step()) return none;
        const size_t n = smaller(block_size, stop_ - at_);
        if (!part_.read(at_, n)) return bad_place;
        const uint32_t *ids = part_.instances(), *rows = part_.rows();
        if (!gather(codes_, ids, n, n_classes_, to.code)) return bad_code;
        for (size_t i = 0; i < n; ++i) to.row[i] = matrix_ + size_t{rows[i]} * columns_;
        if constexpr (weighed<Out>)
            for (size_t i = 0; i < n; ++i)
                to.weight[i] = cell<Out>(weights_.data + static_cast<ptrdiff_t>(ids[i]) * weights_.stride);
        at_ += n;
        to.n = n, to.node = next_ - 1, to.last = at_ == stop_, to.own = own_;
        return none;
    }

private:
    bool step() {
        if (next_ == nodes_.nodes) return false;
        at_ = static_cast<size_t>(nodes_.segments[2 * next_]);
        stop_ = static_cast<size_t>(nodes_.segments[2 * next_ + 1]);
        own_ = stop_ - at_ >= least_own_;
        ++next_;
        return true;
    }

    const uint8_t* matrix_;
    const size_t columns_;
    const NodeEntries& nodes_;
    const Column codes_, weights_;
    const size_t n_classes_, least_own_;
    EntryRows part_;
    size_t next_ = 0, at_ = 0, stop_ = 0;
    bool own_ = false;
};

// Adds to the tables of some columns. Two classes are a compile-time constant, other numbers are not.
template <class Out, size_t Classes>
class Adder {
public:
    using Cell = typename Own<Out>::Cell;

    Adder(size_t first, size_t columns, size_t nodes, size_t n_cells, size_t n_classes, Cell* own, Out* table)
        : first_(first), columns_(columns), n_cells_(n_cells), n_classes_(n_classes),
          used_(smaller(n_cells, all_cells) * n_classes), node_step_(n_cells * n_classes),
          column_step_(nodes * n_cells * n_classes), own_(own), table_(table + first * column_step_) {}

    static size_t own_step(size_t used) { return Classes == 2 ? pair_step : used; }

    // Returns false if a code is out of range. Prefetches the rows of the next block.
    bool add(const Block<Out>& now, const Block<Out>& next) {
        if (n_cells_ < all_cells && !below(now)) return false;
        for (size_t i = now.n; i < next.n; ++i) fetch_row(next.row[i] + first_, columns_);
        Out* table = table_ + now.node * node_step_;
        if (!now.own) {
            count<0>(now, next, table, column_step_);
            return true;
        }
        count<Classes == 2 ? pair_step : 0>(now, next, own_, used_);
        counted_ += now.n;
        if (now.last || (!weighed<Out> && counted_ + block_size > most_counted)) hand_over(table);
        if (now.last) begun_ = false;
        return true;
    }

    void fetch_all(const Block<Out>& block) const {
        for (size_t i = 0; i < block.n; ++i) fetch_row(block.row[i] + first_, columns_);
    }

private:
    static COUNTWISE_INLINE void fetch_row(const uint8_t* row, size_t columns) {
        for (size_t j = 0; j < columns; j += 64) fetch(row + j);
        fetch(row + columns - 1);
    }

    // Whether all codes are in range. The maximum over the rows is computed for each column, which needs no reduction
    // over a vector; codes at the end of a row are read twice.
    COUNTWISE_APART bool below(const Block<Out>& block) const {
        typedef uint8_t Codes __attribute__((vector_size(16)));
        constexpr size_t width = sizeof(Codes);
        Codes most{};
        uint8_t all = 0;
        const auto look = [&most](const uint8_t* from) {
            const Codes codes = load_as<Codes>(from);
            most = codes > most ? codes : most;
        };
        for (size_t i = 0; i < block.n; ++i) {
            const uint8_t* row = block.row[i] + first_;
            size_t j = 0;
            for (; j + width <= columns_; j += width) look(row + j);
            if (j < columns_ && columns_ > width) look(row + columns_ - width);
            else
                for (; j < columns_; ++j) all = larger(all, row[j]);
        }
        for (size_t i = 0; i < width; ++i) all = larger<uint8_t>(all, most[i]);
        return all < n_cells_;
    }

    template <size_t Step, class To>
    COUNTWISE_APART void count(const Block<Out>& now, const Block<Out>& next, To* table, size_t any_step) const {
        const size_t step = Step ? Step : any_step, classes = Classes ? Classes : n_classes_;
        const size_t first = first_, columns = columns_, n = now.n;
        for (size_t i = 0; i < n; ++i) {
            fetch_row(next.row[i] + first, columns);
            const uint8_t* row = now.row[i] + first;
            const To more = weighed<Out> ? static_cast<To>(now.weight[weighed<Out> ? i : 0]) : To{1};
            To* to = table + now.code[i];
            size_t j = 0;
            for (; j + 4 <= columns; j += 4, to += 4 * step) {
                const size_t a = row[j], b = row[j + 1], c = row[j + 2], d = row[j + 3];
                to[a * classes] += more;
                to[step + b * classes] += more;
                to[2 * step + c * classes] += more;
                to[3 * step + d * classes] += more;
            }
            for (; j < columns; ++j, to += step) to[row[j] * classes] += more;
        }
    }

    // Adds the local tables to those of a node and clears them. The first time the table is only written, because
    // memory that was never written may not be mapped yet.
    COUNTWISE_APART void hand_over(Out* table) {
        for (size_t j = 0; j < columns_; ++j, table += column_step_) {
            Cell* from = own_ + j * own_step(used_);
            if (begun_)
                for (size_t i = 0; i < used_; ++i) table[i] += from[i];
            else
                for (size_t i = 0; i < used_; ++i) table[i] = from[i];
            std::memset(from, 0, used_ * sizeof(Cell));
        }
        counted_ = 0, begun_ = true;
    }

    const size_t first_, columns_, n_cells_, n_classes_, used_, node_step_, column_step_;
    Cell* const own_;
    Out* const table_;
    size_t counted_ = 0;
    bool begun_ = false;
};

template <class Out, size_t Classes>
int count_columns(Reader<Out> reader, Adder<Out, Classes> adder, const uint8_t* matrix, size_t columns) {
    Block<Out> blocks[2];
    for (Block<Out>& block : blocks)
        for (size_t i = 0; i < block_size; ++i) block.row[i] = matrix;  // harmless prefetch beyond the end of a block
    if (const int fault = reader.read(blocks[0])) return fault;
    adder.fetch_all(blocks[0]);
    Checkpoint checkpoint;
    for (size_t turn = 0; blocks[turn].n; turn ^= 1) {
        const Block<Out>& now = blocks[turn];
        Block<Out>& next = blocks[turn ^ 1];
        checkpoint.after(now.n * columns);
        if (const int fault = reader.read(next)) return fault;
        if (!adder.add(now, next)) return bad_code;
    }
    return none;
}

template <class Out, size_t Classes>
int count_all(const uint8_t* matrix, size_t rows, size_t columns, const NodeEntries& nodes, Column codes,
              Column weights, size_t n_cells, size_t n_classes, Out* table) {
    using Cell = typename Own<Out>::Cell;
    const size_t used = smaller(n_cells, all_cells) * n_classes,
                 step = larger<size_t>(1, Adder<Out, Classes>::own_step(used)),
                 capacity = smaller(columns, own_bytes / (step * sizeof(Cell)));
    // Process as many columns at a time as the local tables can hold; if there are none, count in the final tables.
    const size_t group = capacity ? capacity : columns, least_own = capacity ? used / 8 : SIZE_MAX;
    Scratch<Cell> own(capacity * step);
    std::memset(own.get(), 0, capacity * step * sizeof(Cell));
    for (size_t first = 0; first < columns; first += group) {
        const size_t count = smaller(group, columns - first);
        const Reader<Out> reader(matrix, rows, columns, nodes, codes, weights, n_classes, least_own);
        const Adder<Out, Classes> adder(first, count, nodes.nodes, n_cells, n_classes, own.get(), table);
        if (const int fault = count_columns<Out, Classes>(reader, adder, matrix, count)) return fault;
    }
    return none;
}

template <class Out>
int count_any(const uint8_t* matrix, size_t rows, size_t columns, const NodeEntries& nodes, Column codes,
              Column weights, size_t n_cells, size_t n_classes, void* table) {
    const auto count = n_classes == 2 ? count_all<Out, 2> : count_all<Out, 0>;
    return count(matrix, rows, columns, nodes, codes, weights, n_cells, n_classes, static_cast<Out*>(table));
}

}  // namespace

int count_matrix(const uint8_t* matrix, size_t rows, size_t columns, const NodeEntries& nodes, Column codes,
                 Column weights, size_t n_cells, size_t n_classes, void* table) {
    const auto count = !weights.data               ? count_any<uint32_t>
                       : weights.type == Type::f64 ? count_any<double>
                                                   : count_any<uint64_t>;  // a sum beyond the range wraps around
    return count(matrix, rows, columns, nodes, codes, weights, n_cells, n_classes, table);
}

}  // namespace countwise::COUNTWISE_LEVEL
