// Bindings of the distance kernels.
#include <algorithm>
#include <cmath>

#include "module.h"
#include "support/cells.h"
#include "support/row_tree.h"

namespace countwise {

KERNEL(void, pair_sums, const PairRows& queries, const PairRows& rows, const PairMetric& metric, double* sums);
KERNEL(void, search_rows, const RowTreeView& tree, const PairMetric& metric, const PairQuery& query);
// Strings are concatenated code points, with the start of each string.
KERNEL(void, edit_distances, const uint32_t* letters, const int64_t* starts, size_t n, const uint32_t* other_letters,
       const int64_t* other_starts, size_t n_others, uint32_t* out);

namespace {

// Returns the parts of a tuple of n parts.
nb::tuple parts_of(nb::handle object, size_t n, const std::string& name) {
    nb::object parts = nb::steal(PySequence_Tuple(object.ptr()));
    if (!parts.is_valid()) PyErr_Clear();
    if (!parts.is_valid() || nb::len(parts) != n)
        refuse_type(name + " must be a tuple of " + std::to_string(n) + " parts.");
    return nb::borrow<nb::tuple>(parts);
}

// Queries or rows: (numbers, codes).
class Side {
public:
    Side(nb::handle rows, const std::string& name) : Side(parts_of(rows, 2, name), name) {}
    Side(const nb::tuple& parts, const std::string& name)
        : numbers_(require(parts[0], "numbers of " + name, Type::f64, {any, any}, Access::in_place)) {
        for (nb::handle codes : nb::iter(parts[1])) {
            arrays_.push_back(codes_array(codes, "codes of " + name, numbers_.size(0)));
            columns_.push_back(arrays_.back().column());
        }
        check_count("The number of " + name, numbers_.size(0),
                    UINT32_MAX - 1);  // 2^32 - 1 marks an empty slot of a tree
    }
    size_t rows() const { return numbers_.size(0); }
    size_t numbers() const { return numbers_.size(1); }
    size_t codes() const { return columns_.size(); }
    PairRows data() const { return {numbers_.data<const double>(), columns_.data(), rows()}; }
    uint32_t code(size_t j, size_t i) const { return code_at(columns_[j], i); }
    uint32_t largest(size_t j) const {
        uint32_t most = 0;
        for (size_t i = 0; i < rows(); ++i) most = std::max(most, code(j, i));
        return most;
    }

private:
    Array numbers_;
    std::vector<Array> arrays_;
    std::vector<Column> columns_;
};

// (factors, missing_costs, tables, known, weights, no_overlap, p).
class Metric {
public:
    explicit Metric(nb::handle metric) : Metric(parts_of(metric, 7, "metric")) {}
    explicit Metric(const nb::tuple& parts)
        : factors_(require(parts[0], "factors", Type::f64, {any})),
          missing_costs_(require(parts[1], "missing_costs", Type::f64, {factors_.size()})),
          known_(require(parts[3], "known", Type::i64, {nb::len(nb::object(parts[2])), 2})),
          weights_(require_or_none(parts[4], "weights", Type::f64, {factors_.size() + known_.size()})) {
        check_costs(factors_.data<const double>(), factors_.size(), "factors");
        check_costs(missing_costs_.data<const double>(), missing_costs_.size(), "missing_costs");
        for (nb::handle table : nb::iter(parts[2])) {
            if (PyFloat_Check(table.ptr()) || PyLong_Check(table.ptr())) {
                const double cost = number<double>(table, "tables");
                check_costs(&cost, 1, "tables");
                tables_.push_back({nullptr, 0, cost});
                sizes_.push_back({0, 0});
                continue;
            }
            arrays_.push_back(require(table, "table", Type::f64, {any, any}));
            const Array& cells = arrays_.back();
            tables_.push_back({cells.data<const double>(), cells.size(1), 0.0});
            sizes_.push_back({cells.size(0), cells.size(1)});
        }
        metric_ = {factors_.size(),
                   tables_.size(),
                   factors_.data<const double>(),
                   missing_costs_.data<const double>(),
                   tables_.data(),
                   known_.data<const int64_t>(),
                   data_of<double>(weights_),
                   number<double>(parts[5], "no_overlap"),
                   number<double>(parts[6], "p")};
    }
    const PairMetric& data() const { return metric_; }
    void check(const Side& side, const std::string& name, int axis) const {
        check_shape(side, name);
        for (size_t j = 0; j < metric_.codes; ++j)
            if (tables_[j].cells != nullptr && side.rows() > 0 && side.largest(j) >= sizes_[j][axis])
                refuse_value("A code of " + name + " is outside its table.");
    }
    // A tree built from these rows has stored their largest codes, so that the codes are not read again.
    void check(const RowTree& tree, const Side& rows) const {
        check_shape(rows, "rows");
        bool same = tree.rows() == rows.rows() && tree.numbers() == metric_.numbers && tree.codes() == metric_.codes;
        for (size_t j = 0; same && j < metric_.codes; ++j)
            same = tables_[j].cells == nullptr || tree.rows() == 0 || tree.largest(j) < sizes_[j][1];
        if (!same) refuse_value("tree was built from other rows.");
        if (!tree.serves(metric_))
            refuse_value("tree was built for another metric: its factors or known codes differ.");
    }

private:
    static void check_costs(const double* costs, size_t n, const std::string& name) {
        for (size_t j = 0; j < n; ++j)
            if (!(costs[j] >= 0.0)) refuse_value(name + " must not contain a number below 0 or NaN.");
    }
    void check_shape(const Side& side, const std::string& name) const {
        if (side.numbers() != metric_.numbers)
            refuse_value(name + " has " + std::to_string(side.numbers()) + " numeric attributes, but the metric has " +
                         std::to_string(metric_.numbers) + ".");
        if (side.codes() != metric_.codes)
            refuse_value(name + " has " + std::to_string(side.codes()) + " nominal attributes, but the metric has " +
                         std::to_string(metric_.codes) + ".");
    }

    struct Size {
        size_t size[2];
        size_t operator[](int axis) const { return size[axis]; }
    };
    Array factors_, missing_costs_, known_;
    MaybeArray weights_;
    std::vector<Array> arrays_;
    std::vector<PairTable> tables_;
    std::vector<Size> sizes_;
    PairMetric metric_{};
};

nb::object pair_sums(nb::handle queries, nb::handle rows, nb::handle metric) {
    const Metric given(metric);
    const Side left(queries, "queries"), right(rows, "rows");
    given.check(left, "queries", 0);
    given.check(right, "rows", 1);
    const NewArray<double> sums({left.rows(), right.rows()});
    unlocked([&] { kernels::pair_sums(left.data(), right.data(), given.data(), sums.data()); });
    return sums.object;
}

struct Near {
    double sum = 0.0;
    uint32_t row = 0;
    bool operator<(const Near& other) const { return sum != other.sum ? sum < other.sum : row < other.row; }
};

// The nearest rows so far, until the sum of their weights reaches k. The sum is kept in twice the precision of a
// double, because adding and subtracting weights must leave no rounding error. Slightly more than k is kept until the
// end.
class Nearest {
public:
    Nearest(double k, double limit, const double* weights, const double* penalties, bool ties)
        : k_(k), enough_(weights == nullptr ? k : k * (1.0 + 1e-9)), limit_(limit), weights_(weights),
          penalties_(penalties), ties_(ties) {}
    void clear() { heap_.clear(), total_ = rest_ = 0.0; }
    static double offer(void* to, double sum, uint32_t row) {
        Nearest& self = *static_cast<Nearest*>(to);
        return self.take({self.penalties_ == nullptr ? sum : sum * self.penalties_[row], row});
    }
    double bound() const { return full() ? std::min(limit_, heap_.front().sum) : limit_; }
    std::vector<Near>& sorted() {
        std::sort(heap_.begin(), heap_.end());
        if (weights_ == nullptr || std::isinf(k_)) return heap_;
        double before = 0.0;
        size_t n = 0;
        for (; n < heap_.size() && before < k_; ++n) before += weight(heap_[n].row);
        while (ties_ && n > 0 && n < heap_.size() && heap_[n].sum == heap_[n - 1].sum) ++n;
        heap_.resize(n);
        return heap_;
    }

private:
    bool full() const { return total_ + rest_ >= enough_; }
    double weight(uint32_t row) const { return weights_ == nullptr ? 1.0 : weights_[row]; }
    void add(double x) {
        const double high = total_ + x, part = high - total_;
        rest_ += (total_ - (high - part)) + (x - part);
        total_ = high;
    }
    // Whether the other rows reach k without the farthest row.
    bool spare() const {
        const double x = -weight(heap_.front().row), high = total_ + x, part = high - total_;
        return high + (rest_ + ((total_ - (high - part)) + (x - part))) >= enough_;
    }
    double take(Near near) {
        if (!(near.sum <= limit_) || (full() && !closer(near))) return bound();
        const bool at_the_end = full() && near.sum == heap_.front().sum;
        heap_.push_back(near);
        if (std::isinf(k_)) return limit_;
        std::push_heap(heap_.begin(), heap_.end());
        add(weight(near.row));
        if (!ties_) trim();
        else if (!at_the_end) trim_ties();
        return bound();
    }
    bool closer(const Near& near) const { return ties_ ? near.sum <= heap_.front().sum : near < heap_.front(); }
    void trim() {
        while (spare()) {
            add(-weight(heap_.front().row));
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
    }
    // Removes rows at the same distance together, or none of them.
    void trim_ties() {
        while (full()) {
            const double sum = heap_.front().sum;
            size_t end = heap_.size();
            while (end > 0 && heap_.front().sum == sum) {
                std::pop_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(end));
                --end;
            }
            double left = 0.0;
            for (size_t i = 0; i < end; ++i) left += weight(heap_[i].row);
            if (left < enough_) {
                while (end < heap_.size()) std::push_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(++end));
                return;
            }
            heap_.resize(end), total_ = left, rest_ = 0.0;
        }
    }
    const double k_, enough_, limit_;
    const double *weights_, *penalties_;
    const bool ties_;
    std::vector<Near> heap_;
    double total_ = 0.0, rest_ = 0.0;
};

const RowTree& tree_of(nb::handle object) {
    const RowTree* tree = nullptr;
    if (!nb::try_cast<const RowTree*>(object, tree) || tree == nullptr) refuse_type("tree must be a RowTree.");
    return *tree;
}

RowTree* row_tree(nb::handle rows, nb::handle metric) {
    const Metric given(metric);
    const Side side(rows, "rows");
    given.check(side, "rows", 1);
    return unlocked([&] { return build_row_tree(side.data(), given.data()); }).release();
}

nb::tuple nearest(nb::handle queries, nb::handle rows, nb::handle metric, double k, double limit, nb::handle weights,
                  nb::handle skip, nb::object tree, nb::handle penalties, bool ties) {
    if (!(k > 0.0)) refuse_value("k must be above 0.");
    if (std::isnan(limit)) refuse_value("limit must not be NaN.");
    const Metric given(metric);
    const Side left(queries, "queries"), right(rows, "rows");
    given.check(left, "queries", 0);
    if (tree.is_none()) given.check(right, "rows", 1);
    else given.check(tree_of(tree), right);
    const RowWeights weight(weights, right.rows()), penalty(penalties, right.rows());
    for (size_t i = 0; penalty.data() != nullptr && i < right.rows(); ++i)
        if (!(penalty.data()[i] >= 1.0)) refuse_value("penalties must be at least 1.");
    const MaybeArray skips = require_or_none(skip, "skip", Type::i64, {left.rows()});
    std::unique_ptr<RowTree> own;
    if (tree.is_none()) own = unlocked([&] { return build_row_tree(right.data(), given.data()); });
    const RowTreeView in = own ? own->view() : tree_of(tree).view();
    std::vector<int64_t> starts(1, 0);
    std::vector<Near> found;
    unlocked([&] {
        const PairRows from = left.data();
        std::vector<uint32_t> codes(given.data().codes + 1);
        Nearest near(k, limit, weight.data(), penalty.data(), ties);
        for (size_t i = 0; i < left.rows(); ++i) {
            check_interrupt();
            for (size_t j = 0; j < given.data().codes; ++j) codes[j] = left.code(j, i);
            near.clear();
            const PairQuery query = {from.numbers + i * given.data().numbers,
                                     codes.data(),
                                     skips ? skips->data<const int64_t>()[i] : -1,
                                     near.bound(),
                                     Nearest::offer,
                                     &near};
            kernels::search_rows(in, given.data(), query);
            const std::vector<Near>& sorted = near.sorted();
            found.insert(found.end(), sorted.begin(), sorted.end());
            starts.push_back(static_cast<int64_t>(found.size()));
        }
    });
    const NewArray<int64_t> ids({found.size()});
    const NewArray<double> sums({found.size()});
    for (size_t i = 0; i < found.size(); ++i) ids.data()[i] = found[i].row, sums.data()[i] = found[i].sum;
    return nb::make_tuple(NewArray<int64_t>::of(starts).object, ids.object, sums.object);
}

// Concatenated code points of strings, and the start of each string.
class Strings {
public:
    Strings(nb::handle letters, nb::handle starts, const std::string& name)
        : letters_(require(letters, name, Type::u32, {any})),
          starts_(require(starts, "starts of " + name, Type::i64, {any})) {
        check_ascending(starts_, "starts of " + name, letters_.size());
    }
    size_t count() const { return starts_.size() - 1; }
    const uint32_t* letters() const { return letters_.data<const uint32_t>(); }
    const int64_t* starts() const { return starts_.data<const int64_t>(); }

private:
    Array letters_, starts_;
};

void edit_distances(nb::handle letters, nb::handle starts, nb::handle other_letters, nb::handle other_starts,
                    nb::handle out) {
    const Strings a(letters, starts, "letters"), b(other_letters, other_starts, "other letters");
    const Array to = require(out, "out", Type::u32, {a.count(), b.count()}, Access::write);
    unlocked([&] {
        kernels::edit_distances(a.letters(), a.starts(), a.count(), b.letters(), b.starts(), b.count(),
                                to.data<uint32_t>());
    });
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    nb::class_<RowTree>(m, "RowTree");
    m.def("pair_sums", &pair_sums, "queries"_a, "rows"_a, "metric"_a);
    m.def("row_tree", &row_tree, "rows"_a, "metric"_a, nb::rv_policy::take_ownership);
    m.def("nearest", &nearest, "queries"_a, "rows"_a, "metric"_a, "k"_a, "limit"_a, "weights"_a.none(), "skip"_a.none(),
          "tree"_a.none() = nb::none(), "penalties"_a.none() = nb::none(), "ties"_a = false);
    m.def("edit_distances", &edit_distances, "letters"_a, "starts"_a, "other_letters"_a, "other_starts"_a, "out"_a);
});

}  // namespace countwise
