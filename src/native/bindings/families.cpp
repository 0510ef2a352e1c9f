// Binding of the kernel that counts families of columns.
#include <algorithm>

#include "module.h"

namespace countwise {

// Counts are float64 if the weights are floats, else int64. All weights are 1 if weights.data is null.
WIDE_KERNEL(void, count_families, const Column* columns, size_t n_columns, size_t rows, const size_t* sizes,
            const Family* families, size_t n, Column weights);

namespace {

using Numbers = std::vector<size_t>;

constexpr size_t most_cells = size_t{1} << 31;

// Returns the position of the only column of a family that `others` lacks; the number of columns if there is no such
// column or more than one.
size_t odd_one(const Numbers& family, const size_t* others, size_t n) {
    size_t odd = family.size(), count = 0;
    for (size_t k = 0; k < family.size(); ++k)
        if (std::find(others, others + n, family[k]) == others + n) odd = k, ++count;
    return count == 1 ? odd : family.size();
}

struct Plan {
    std::vector<Numbers> families;  // as given by the caller
    std::vector<Numbers> axes;      // the order in which the columns of each family are counted
    std::vector<Numbers> columns;   // the columns in this order
    Numbers sizes, shared, places;  // start of each family's cells

    // Sorts all columns but the last by number, so that adjacent families can share them. The last column is the one
    // that an adjacent family lacks, else one with the most values.
    void arrange() {
        for (size_t f = 0; f < families.size(); ++f) {
            const Numbers& family = families[f];
            size_t last = family.size();
            if (f > 0 && columns[f - 1].size() == family.size())
                last = odd_one(family, columns[f - 1].data(), family.size() - 1);
            if (last == family.size() && f + 1 < families.size())
                last = odd_one(family, families[f + 1].data(), families[f + 1].size());
            if (last == family.size()) last = widest(family);
            add(family, last);
        }
    }

private:
    size_t widest(const Numbers& family) const {
        size_t best = 0;
        for (size_t k = 1; k < family.size(); ++k)
            if (sizes[family[k]] > sizes[family[best]]) best = k;
        return best;
    }

    void add(const Numbers& family, size_t last) {
        Numbers order, column;
        for (size_t k = 0; k < family.size(); ++k)
            if (k != last) order.push_back(k);
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return family[a] < family[b]; });
        order.push_back(last);
        for (size_t k : order) column.push_back(family[k]);
        size_t same = 0;
        if (!columns.empty()) {
            const size_t most = std::min(columns.back().size(), column.size()) - 1;
            while (same < most && columns.back()[same] == column[same]) ++same;
        }
        axes.push_back(std::move(order));
        columns.push_back(std::move(column));
        shared.push_back(same);
    }
};

size_t cells_of(const Numbers& family, const Numbers& sizes) {
    size_t cells = 1;
    bool empty = false;
    for (size_t j : family) empty = empty || sizes[j] == 0;
    if (empty) return 0;
    for (size_t j : family) {
        if (sizes[j] >= most_cells || cells * sizes[j] >= most_cells)
            refuse_value("A family has too many cells; it must have fewer than " + std::to_string(most_cells) + ".");
        cells *= sizes[j];
    }
    return cells;
}

Plan plan_of(nb::handle families, nb::list sizes, size_t n_columns) {
    Plan plan;
    if (sizes.size() != n_columns)
        refuse_value("There are " + std::to_string(n_columns) + " columns but " + std::to_string(sizes.size()) +
                     " sizes.");
    for (nb::handle n : sizes) plan.sizes.push_back(number<size_t>(n, "sizes"));
    plan.places.push_back(0);
    for (nb::handle object : families) {
        Numbers family;
        for (nb::handle item : object) {
            const int64_t j = number<int64_t>(item, "families");
            if (j < 0 || static_cast<uint64_t>(j) >= n_columns)
                refuse_value("families contains column " + std::to_string(j) + ", but there are " +
                             std::to_string(n_columns) + " columns.");
            family.push_back(static_cast<size_t>(j));
        }
        if (family.empty()) refuse_value("A family has no columns.");
        plan.places.push_back(plan.places.back() + cells_of(family, plan.sizes));
        plan.families.push_back(std::move(family));
    }
    plan.arrange();
    return plan;
}

// Returns the cells of a family, with the axes in the requested order.
nb::object table_of(const nb::object& cells, const Plan& plan, size_t f) {
    const Numbers &order = plan.axes[f], &column = plan.columns[f];
    nb::list shape, back;
    for (size_t j : column) shape.append(plan.sizes[j]);
    const nb::object table =
        cells[nb::slice(nb::int_(plan.places[f]), nb::int_(plan.places[f + 1]), nb::none())].attr("reshape")(shape);
    if (std::is_sorted(order.begin(), order.end())) return table;
    for (size_t k = 0; k < order.size(); ++k)
        back.append(static_cast<size_t>(std::find(order.begin(), order.end(), k) - order.begin()));
    return table.attr("transpose")(back);
}

nb::list count_families(nb::handle columns, nb::list sizes, nb::handle families, nb::handle weights) {
    const Columns column(columns, true);
    const size_t rows = column.rows();
    const Plan plan = plan_of(families, sizes, column.count());
    const MaybeArray weight = weight_column(weights, rows);
    const NewArray<char> cells({plan.places.back()}, zeros, count_type(weight));
    std::vector<Family> requested;
    bool after = false;  // whether the previous family has cells; families without cells are skipped
    for (size_t f = 0; f < plan.families.size(); ++f) {
        const bool some = plan.places[f] < plan.places[f + 1];
        if (some)
            requested.push_back({plan.columns[f].data(), plan.columns[f].size(), after ? plan.shared[f] : 0,
                                 cells.data() + 8 * plan.places[f]});
        after = some;
    }
    unlocked([&] {
        kernels::count_families(column.data(), column.count(), rows, plan.sizes.data(), requested.data(),
                                requested.size(), column_of(weight));
    });
    nb::list made;
    for (size_t f = 0; f < plan.families.size(); ++f) made.append(table_of(cells.object, plan, f));
    return made;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("count_families", &count_families, "columns"_a, "sizes"_a, "families"_a, "weights"_a.none());
});

}  // namespace countwise
