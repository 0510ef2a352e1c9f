// Bindings of the kernel that counts families of columns.
#include <algorithm>

#include "module.h"

namespace countwise {

namespace {

using Numbers = std::vector<std::size_t>;

constexpr std::size_t most_cells = std::size_t{1} << 31;

Numbers sorted(Numbers numbers) {
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

// The one column of a family that others lack; as many as there are columns if they lack none or more than one.
std::size_t odd_one(const Numbers& family, const Numbers& others) {
    const Numbers mine = sorted(family), theirs = sorted(others);
    Numbers odd;
    std::set_difference(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(odd));
    if (odd.size() != 1) return family.size();
    return static_cast<std::size_t>(std::find(family.begin(), family.end(), odd[0]) - family.begin());
}

struct Plan {
    std::vector<Numbers> families;  // as they are given
    std::vector<Numbers> axes;      // in which order the columns of each are counted
    std::vector<Numbers> columns;   // the columns in this order
    Numbers sizes, shared, places;  // where the cells of each begin

    // All columns but one in the order of their numbers, so that families with the same can share them; the last is
    // the one that a neighbor lacks, else one of most values.
    void arrange() {
        for (std::size_t f = 0; f < families.size(); ++f) {
            const Numbers& family = families[f];
            std::size_t last = family.size();
            if (f > 0 && columns[f - 1].size() == family.size())
                last = odd_one(family, {columns[f - 1].begin(), columns[f - 1].end() - 1});
            if (last == family.size() && f + 1 < families.size()) last = odd_one(family, families[f + 1]);
            if (last == family.size()) last = widest(family);
            add(family, last);
        }
    }

private:
    std::size_t widest(const Numbers& family) const {
        std::size_t best = 0;
        for (std::size_t k = 1; k < family.size(); ++k)
            if (sizes[family[k]] > sizes[family[best]]) best = k;
        return best;
    }

    void add(const Numbers& family, std::size_t last) {
        Numbers order;
        for (std::size_t k = 0; k < family.size(); ++k)
            if (k != last) order.push_back(k);
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return family[a] < family[b]; });
        order.push_back(last);
        Numbers column;
        for (std::size_t k : order) column.push_back(family[k]);
        std::size_t same = 0;
        if (!columns.empty()) {
            const std::size_t most = std::min(columns.back().size(), column.size()) - 1;
            while (same < most && columns.back()[same] == column[same]) ++same;
        }
        axes.push_back(order);
        columns.push_back(column);
        shared.push_back(same);
    }
};

std::size_t cells_of(const Numbers& family, const Numbers& sizes) {
    std::size_t cells = 1;
    bool empty = false;
    for (std::size_t j : family) empty = empty || sizes[j] == 0;
    if (empty) return 0;
    for (std::size_t j : family) {
        if (sizes[j] >= most_cells || cells * sizes[j] >= most_cells)
            refuse_value("a family has too many cells; it must have fewer than " + std::to_string(most_cells));
        cells *= sizes[j];
    }
    return cells;
}

Plan plan_of(nb::handle families, nb::list sizes, std::size_t n_columns) {
    Plan plan;
    if (sizes.size() != n_columns)
        refuse_value("there are " + std::to_string(n_columns) + " columns but " + std::to_string(sizes.size()) +
                     " sizes");
    for (nb::handle n : sizes) plan.sizes.push_back(nb::cast<std::size_t>(n));
    plan.places.push_back(0);
    for (nb::handle object : families) {
        Numbers family;
        for (nb::handle number : object) {
            const std::int64_t j = nb::cast<std::int64_t>(number);
            if (j < 0 || static_cast<std::uint64_t>(j) >= n_columns)
                refuse_value("families hold column " + std::to_string(j) + "; there are " + std::to_string(n_columns));
            family.push_back(static_cast<std::size_t>(j));
        }
        if (family.empty()) refuse_value("a family has no columns");
        plan.places.push_back(plan.places.back() + cells_of(family, plan.sizes));
        plan.families.push_back(family);
    }
    plan.arrange();
    return plan;
}

// The part of all cells that is a family's, with its axes in the order that was asked for.
nb::object table_of(const nb::object& cells, const Plan& plan, std::size_t f) {
    const Numbers &order = plan.axes[f], &column = plan.columns[f];
    nb::list shape, back;
    for (std::size_t j : column) shape.append(plan.sizes[j]);
    for (std::size_t k = 0; k < order.size(); ++k)
        back.append(static_cast<std::size_t>(std::find(order.begin(), order.end(), k) - order.begin()));
    return cells[nb::slice(nb::int_(plan.places[f]), nb::int_(plan.places[f + 1]), nb::none())]
        .attr("reshape")(shape)
        .attr("transpose")(back);
}

nb::list count_families(nb::handle columns, nb::list sizes, nb::handle families, nb::handle weights) {
    const Columns column(columns, true);
    const std::size_t rows = column.count() ? column.rows() : 0;
    const Plan plan = plan_of(families, sizes, column.count());
    std::vector<Array> weight;
    if (!weights.is_none()) {
        weight.push_back(column_array(weights, "weights"));
        check_rows("weights", weight[0].size(), rows);
    }
    const bool floats = !weight.empty() && (weight[0].type() == Type::f64 || weight[0].type() == Type::f32);
    const nb::object cells = new_array("zeros", nb::int_(plan.places.back()), floats ? "d" : "int64");
    const Array to(cells, "cells");
    std::vector<Family> asked;
    bool after = false;  // whether the family before has cells; one without any is not counted
    for (std::size_t f = 0; f < plan.families.size(); ++f) {
        const bool any = plan.places[f] < plan.places[f + 1];
        if (any)
            asked.push_back({plan.columns[f].data(), plan.columns[f].size(), after ? plan.shared[f] : 0,
                             to.data<char>() + 8 * plan.places[f]});
        after = any;
    }
    const Column weighed = weight.empty() ? Column{nullptr, 0, Type::f64} : weight[0].column();
    unlocked([&] {
        kernels().count_families(column.data(), column.count(), rows, plan.sizes.data(), asked.data(), asked.size(),
                                 weighed);
    });
    nb::list made;
    for (std::size_t f = 0; f < plan.families.size(); ++f) made.append(table_of(cells, plan, f));
    return made;
}

}  // namespace

void define_families(nb::module_& m) {
    using namespace nb::literals;
    m.def("count_families", &count_families, "columns"_a, "sizes"_a, "families"_a, "weights"_a.none());
}

}  // namespace countwise
