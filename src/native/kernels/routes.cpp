// Finds the branches that instances take at their nodes.
//
// The values of a node's instances are scattered over the columns. They are prefetched some time before they are
// needed, also for the next nodes, because the hardware prefetcher cannot predict the addresses.
#include "tree_apply.h"

namespace countwise::COUNTWISE_LEVEL {

namespace {

constexpr size_t part = 8, ahead = 40;  // entries that are routed at once, and that are prefetched ahead

// The test of one node.
struct Test {
    Column column;
    const double* limits;
    const int32_t* groups;
    size_t n_limits, n_groups;
    int32_t missing;
};

// Each finds the branch of a value; negative if the instance goes down all branches. Returns false if a code has no
// group.
template <class T>
struct OneLimit {
    COUNTWISE_INLINE static bool branch(const Test& test, size_t row, int32_t& to) {
        const double x = cell<T>(place_of(test.column, row));
        const int32_t branch = x > test.limits[0], missing = -static_cast<int32_t>(x != x);
        to = branch ^ ((branch ^ test.missing) & missing);
        return true;
    }
};

struct AnyLimits {
    COUNTWISE_INLINE static bool branch(const Test& test, size_t row, int32_t& to) {
        const double x = number_at(test.column, row);
        to = x != x ? test.missing : static_cast<int32_t>(limits_below(test.limits, test.n_limits, x));
        return true;
    }
};

template <class T>
struct Groups {
    COUNTWISE_INLINE static bool branch(const Test& test, size_t row, int32_t& to) {
        const size_t code = cell<T>(place_of(test.column, row));
        if (code >= test.n_groups) return false;
        to = test.groups[code];
        return true;
    }
};

template <class Ask, class Out>
int route(const Test& test, const Instances& all, size_t start, size_t stop, int64_t& in_all) {
    const Test mine = test;  // a copy that cannot alias the branches
    const uint32_t* const entries = all.entries;
    const uint32_t* const rows = all.rows;
    int64_t found = 0;
    for (size_t i = start; i < stop; ++i) {
        const size_t instance = entries[i] >> 1;
        if (instance >= all.n) return 2;
        const size_t row = rows ? rows[instance] : instance;
        if (row >= all.n_rows) return 2;
        int32_t to;
        if (!Ask::branch(mine, row, to)) return 1;
        found += to < 0;
        const Out written = to < 0 ? static_cast<Out>(~Out{0}) : static_cast<Out>(to);
        std::memcpy(all.branch + static_cast<ptrdiff_t>(instance) * all.stride, &written, sizeof written);
    }
    in_all += found;
    return 0;
}

template <class Out>
int route_node(const Test& test, const Instances& all, size_t start, size_t stop, int64_t& in_all) {
    const Type type = test.column.type;
    if (test.n_limits == 1 && type == Type::f64) return route<OneLimit<double>, Out>(test, all, start, stop, in_all);
    if (test.n_limits == 1 && type == Type::f32) return route<OneLimit<float>, Out>(test, all, start, stop, in_all);
    if (test.n_limits > 0) return route<AnyLimits, Out>(test, all, start, stop, in_all);
    return with_code_type(
        type, [&](auto zero) { return route<Groups<decltype(zero)>, Out>(test, all, start, stop, in_all); });
}

// Prefetches the values of all entries once, ahead of their use.
class Fetcher {
public:
    Fetcher(const Column* columns, const Instances& all, const int64_t* starts, const Tests& tests)
        : columns_(columns), all_(all), starts_(starts), tests_(tests), at_(starts[0]) {}

    // Up to but excluding an entry, or to the end.
    void advance(int64_t until) {
        while (at_ < until && node_ < tests_.nodes) {
            const int64_t end = starts_[node_ + 1], stop = smaller(end, until);
            if (tests_.attribute[node_] >= 0) fetch_part(columns_[tests_.attribute[node_]], stop);
            at_ = stop;
            node_ += stop == end;
        }
    }

private:
    // Inlined, because GCC removes calls of a function that only prefetches.
    COUNTWISE_INLINE void fetch_part(const Column& column, int64_t stop) const {
        for (int64_t i = at_; i < stop; ++i) {
            const size_t instance = all_.entries[i] >> 1;
            // Any address may be prefetched, but reading `rows` must stay in range.
            if (!all_.rows) fetch(place_of(column, instance));
            else if (instance < all_.n) fetch(place_of(column, all_.rows[instance]));
        }
    }

    const Column* const columns_;
    const Instances& all_;
    const int64_t* const starts_;
    const Tests& tests_;
    int64_t at_;
    size_t node_ = 0;
};

Test test_of(const Column* columns, const Tests& tests, size_t k) {
    const int64_t limit = tests.limit_starts[k], group = tests.group_starts[k];
    return {columns[tests.attribute[k]],
            tests.limits + limit,
            tests.groups + group,
            static_cast<size_t>(tests.limit_starts[k + 1] - limit),
            static_cast<size_t>(tests.group_starts[k + 1] - group),
            tests.missing[k]};
}

template <class Out>
Routed route_all(const Column* columns, const Instances& all, const int64_t* starts, const Tests& tests) {
    Routed routed{0, 0, 0};
    Fetcher fetcher(columns, all, starts, tests);
    Checkpoint checkpoint;
    for (size_t k = 0; k < tests.nodes; ++k) {
        if (tests.attribute[k] < 0) continue;
        const Test test = test_of(columns, tests, k);
        const size_t end = static_cast<size_t>(starts[k + 1]);
        for (size_t from = static_cast<size_t>(starts[k]); from < end; from += part) {
            const size_t stop = smaller(from + part, end);
            checkpoint.after(4 * part);
            fetcher.advance(static_cast<int64_t>(stop + ahead));
            routed.problem = route_node<Out>(test, all, from, stop, routed.in_all);
            if (routed.problem) {
                routed.node = k;
                return routed;
            }
        }
    }
    return routed;
}

}  // namespace

Routed route_entries(const Column* columns, const Instances& instances, const int64_t* starts, const Tests& tests) {
    return with_code_type(instances.type,
                          [&](auto zero) { return route_all<decltype(zero)>(columns, instances, starts, tests); });
}

}  // namespace countwise::COUNTWISE_LEVEL
