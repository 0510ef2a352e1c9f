// Bindings of the kernels of distances between rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "module.h"
#include "support/row_tree.h"

namespace countwise {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One side: (numbers, codes).
class Side {
public:
    Side(nb::handle rows, const std::string& name)
        : numbers_(rows[nb::int_(0)], "the numbers of " + name) {
        if (numbers_.is_objects() || numbers_.type() != Type::f64 || numbers_.dimensions() != 2 || !numbers_.contiguous())
            refuse_type("the numbers of " + name + " must be C-contiguous float64 (rows, numbers)");
        for (nb::handle codes : nb::iter(rows[nb::int_(1)])) {
            arrays_.push_back(codes_array(codes, "codes of " + name, numbers_.size(0)));
            columns_.push_back(arrays_.back().column());
        }
    }
    std::size_t rows() const { return numbers_.size(0); }
    std::size_t numbers() const { return numbers_.size(1); }
    std::size_t codes() const { return columns_.size(); }
    PairRows data() const { return {numbers_.data<const double>(), columns_.data(), rows()}; }
    std::uint32_t code(std::size_t j, std::size_t i) const {
        const Column& column = columns_[j];
        const char* at = column.data + static_cast<std::ptrdiff_t>(i) * column.stride;
        if (column.type == Type::u8) return *reinterpret_cast<const std::uint8_t*>(at);
        if (column.type == Type::u16) {
            std::uint16_t x;
            std::memcpy(&x, at, sizeof x);
            return x;
        }
        std::uint32_t x;
        std::memcpy(&x, at, sizeof x);
        return x;
    }
    std::uint32_t largest(std::size_t j) const {
        std::uint32_t most = 0;
        for (std::size_t i = 0; i < rows(); ++i) most = std::max(most, code(j, i));
        return most;
    }

private:
    Array numbers_;
    std::vector<Array> arrays_;
    std::vector<Column> columns_;
};

// (factors, absent, tables, known, shares, nothing, p).
class Law {
public:
    explicit Law(nb::handle law)
        : factors_(float_array(law[nb::int_(0)], "factors", 1)), absent_(float_array(law[nb::int_(1)], "absent", 1)),
          known_(law[nb::int_(3)], "known") {
        for (nb::handle table : nb::iter(law[nb::int_(2)])) {
            if (PyFloat_Check(table.ptr()) || PyLong_Check(table.ptr())) {
                tables_.push_back({nullptr, 0, nb::cast<double>(table)});
                sizes_.push_back({0, 0});
                continue;
            }
            arrays_.push_back(float_array(table, "table", 2));
            const Array& cells = arrays_.back();
            tables_.push_back({cells.data<const double>(), cells.size(1), 0.0});
            sizes_.push_back({cells.size(0), cells.size(1)});
        }
        if (known_.is_objects() || known_.type() != Type::i64 || known_.dimensions() != 2 || !known_.contiguous() ||
            known_.size(0) != tables_.size() || known_.size(1) != 2)
            refuse_value("known must be int64 (codes, 2)");
        if (absent_.size() != factors_.size()) refuse_value("absent and factors are not of one length");
        const nb::object shares = law[nb::int_(4)];
        if (!shares.is_none()) {
            shares_.push_back(float_array(shares, "shares", 1));
            check_rows("shares", shares_[0].size(), factors_.size() + tables_.size());
        }
        law_ = {factors_.size(), tables_.size(), factors_.data<const double>(), absent_.data<const double>(),
                tables_.data(), known_.data<const std::int64_t>(),
                shares_.empty() ? nullptr : shares_[0].data<const double>(), nb::cast<double>(law[nb::int_(5)]),
                nb::cast<double>(law[nb::int_(6)])};
    }
    const PairLaw& data() const { return law_; }
    void check(const Side& side, const std::string& name, int axis) const {
        if (side.numbers() != law_.numbers)
            refuse_value(name + " have " + std::to_string(side.numbers()) + " numbers; the law has " +
                         std::to_string(law_.numbers));
        if (side.codes() != law_.codes)
            refuse_value(name + " have " + std::to_string(side.codes()) + " codes; the law has " +
                         std::to_string(law_.codes));
        for (std::size_t j = 0; j < law_.codes; ++j)
            if (tables_[j].cells != nullptr && side.rows() > 0 && side.largest(j) >= sizes_[j][axis])
                refuse_value("a code of " + name + " is outside its table");
    }
    void check(const Tree& tree, std::size_t rows) const {
        bool same = tree.rows() == rows && tree.numbers() == law_.numbers && tree.codes() == law_.codes;
        for (std::size_t j = 0; same && j < law_.codes; ++j)
            same = tables_[j].cells == nullptr || rows == 0 || tree.largest(j) < sizes_[j][1];
        if (!same) refuse_value("the tree is of other rows");
    }

private:
    struct Size {
        std::size_t size[2];
        std::size_t operator[](int axis) const { return size[axis]; }
    };
    Array factors_, absent_, known_;
    std::vector<Array> arrays_, shares_;
    std::vector<PairTable> tables_;
    std::vector<Size> sizes_;
    PairLaw law_{};
};

nb::object pair_sums(nb::handle queries, nb::handle rows, nb::handle law) {
    const Law given(law);
    const Side left(queries, "queries"), right(rows, "rows");
    given.check(left, "queries", 0);
    given.check(right, "rows", 1);
    const nb::object sums = new_array("empty", nb::make_tuple(left.rows(), right.rows()), "float64");
    const Array to(sums, "sums", true);
    unlocked([&] { kernels().pair_sums(left.data(), right.data(), given.data(), to.data<double>()); });
    return sums;
}

struct Near {
    double sum = 0.0;
    std::uint32_t row = 0;
    bool operator<(const Near& other) const { return sum != other.sum ? sum < other.sum : row < other.row; }
};

// The nearest rows so far, until their weights reach k. Weights that are added and taken away again must leave nothing
// behind, so that their sum is carried in twice the precision of a double; a little more than k is kept until the end.
class Nearest {
public:
    Nearest(double k, double limit, const double* weights, const double* penalties, bool ties)
        : k_(k), enough_(weights == nullptr ? k : k * (1.0 + 1e-9)), limit_(limit), weights_(weights),
          penalties_(penalties), ties_(ties) {}
    void clear() { heap_.clear(), total_ = rest_ = 0.0; }
    static double offer(void* to, double sum, std::uint32_t row) {
        Nearest& self = *static_cast<Nearest*>(to);
        return self.take({self.penalties_ == nullptr ? sum : sum * self.penalties_[row], row});
    }
    double bound() const { return full() ? std::min(limit_, heap_.front().sum) : limit_; }
    std::vector<Near>& sorted() {
        std::sort(heap_.begin(), heap_.end());
        if (weights_ == nullptr || std::isinf(k_)) return heap_;
        double before = 0.0;
        std::size_t n = 0;
        for (; n < heap_.size() && before < k_; ++n) before += weight(heap_[n].row);
        while (ties_ && n > 0 && n < heap_.size() && heap_[n].sum == heap_[n - 1].sum) ++n;
        heap_.resize(n);
        return heap_;
    }

private:
    bool full() const { return total_ + rest_ >= enough_; }
    double weight(std::uint32_t row) const { return weights_ == nullptr ? 1.0 : weights_[row]; }
    void add(double x) {
        const double high = total_ + x, part = high - total_;
        rest_ += (total_ - (high - part)) + (x - part);
        total_ = high;
    }
    // Whether the others reach k without the furthest.
    bool spare() const {
        const double x = -weight(heap_.front().row), high = total_ + x, part = high - total_;
        return high + (rest_ + ((total_ - (high - part)) + (x - part))) >= enough_;
    }
    double take(Near near) {
        if (near.sum > limit_ || (full() && !closer(near))) return bound();
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
    // Equally far ones go together, or stay.
    void trim_ties() {
        while (full()) {
            const double sum = heap_.front().sum;
            std::size_t end = heap_.size();
            while (end > 0 && heap_.front().sum == sum) {
                std::pop_heap(heap_.begin(), heap_.begin() + static_cast<std::ptrdiff_t>(end));
                --end;
            }
            double left = 0.0;
            for (std::size_t i = 0; i < end; ++i) left += weight(heap_[i].row);
            if (left < enough_) {
                while (end < heap_.size()) std::push_heap(heap_.begin(), heap_.begin() + static_cast<std::ptrdiff_t>(++end));
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

Tree* plant(nb::handle rows, nb::handle law) {
    const Law given(law);
    const Side side(rows, "rows");
    given.check(side, "rows", 1);
    return unlocked([&] { return new Tree(side.data(), given.data()); });
}

nb::tuple nearest(nb::handle queries, nb::handle rows, nb::handle law, double k, double limit, nb::handle weights,
                  nb::handle skip, nb::object planted, nb::handle penalties, bool ties) {
    if (!(k > 0.0)) refuse_value("k must be above 0");
    if (std::isnan(limit)) refuse_value("the limit is no number");
    const Law given(law);
    const Side left(queries, "queries"), right(rows, "rows");
    given.check(left, "queries", 0);
    given.check(right, "rows", 1);
    const RowWeights weight(weights, right.rows()), penalty(penalties, right.rows());
    for (std::size_t i = 0; penalty.data() != nullptr && i < right.rows(); ++i)
        if (!(penalty.data()[i] >= 1.0)) refuse_value("a penalty is below 1");
    std::vector<Array> skips;
    if (!skip.is_none()) {
        skips.push_back(Array(skip, "skip"));
        if (skips[0].is_objects() || skips[0].type() != Type::i64 || skips[0].dimensions() != 1 || !skips[0].contiguous())
            refuse_type("skip must be 1-D int64");
        check_rows("skip", skips[0].size(), left.rows());
    }
    std::unique_ptr<Tree> own;
    const Tree* tree = nullptr;
    if (planted.is_none()) {
        own.reset(unlocked([&] { return new Tree(right.data(), given.data()); }));
        tree = own.get();
    } else {
        tree = nb::cast<const Tree*>(planted);
        given.check(*tree, right.rows());
    }
    std::vector<std::int64_t> starts(1, 0);
    std::vector<Near> found;
    unlocked([&] {
        const Planted in = tree->planted();
        const PairRows from = left.data();
        std::vector<std::uint32_t> codes(given.data().codes + 1);
        Nearest near(k, limit, weight.data(), penalty.data(), ties);
        for (std::size_t i = 0; i < left.rows(); ++i) {
            for (std::size_t j = 0; j < given.data().codes; ++j) codes[j] = left.code(j, i);
            near.clear();
            const PairQuery query = {from.numbers + i * given.data().numbers, codes.data(),
                                     skips.empty() ? -1 : skips[0].data<const std::int64_t>()[i], near.bound(),
                                     Nearest::offer, &near};
            kernels().search(in, given.data(), query);
            const std::vector<Near>& sorted = near.sorted();
            found.insert(found.end(), sorted.begin(), sorted.end());
            starts.push_back(static_cast<std::int64_t>(found.size()));
        }
    });
    const nb::object to_starts = new_array("empty", nb::int_(starts.size()), "int64"),
                     ids = new_array("empty", nb::int_(found.size()), "int64"),
                     sums = new_array("empty", nb::int_(found.size()), "float64");
    const Array start_memory(to_starts, "starts"), id_memory(ids, "ids"), sum_memory(sums, "sums");
    std::copy(starts.begin(), starts.end(), start_memory.data<std::int64_t>());
    for (std::size_t i = 0; i < found.size(); ++i) {
        id_memory.data<std::int64_t>()[i] = found[i].row;
        sum_memory.data<double>()[i] = found[i].sum;
    }
    return nb::make_tuple(to_starts, ids, sums);
}

// The code points of strings, and where each begins.
class Strings {
public:
    Strings(nb::handle letters, nb::handle starts, const std::string& name)
        : letters_(letters, name), starts_(starts, "starts of " + name) {
        if (letters_.is_objects() || letters_.type() != Type::u32 || starts_.is_objects() || starts_.type() != Type::i64)
            refuse_type(name + " must be uint32, and their starts int64");
        bool good = starts_.size() > 0 && starts_.contiguous() && letters_.contiguous();
        const std::int64_t* at = starts_.data<const std::int64_t>();
        for (std::size_t i = 0; good && i + 1 < starts_.size(); ++i) good = at[i] <= at[i + 1];
        if (!good || at[0] < 0 || static_cast<std::uint64_t>(at[starts_.size() - 1]) > letters_.size())
            refuse_value(name + " must ascend from 0 or more to at most " + std::to_string(letters_.size()));
    }
    std::size_t count() const { return starts_.size() - 1; }
    const std::uint32_t* letters() const { return letters_.data<const std::uint32_t>(); }
    const std::int64_t* starts() const { return starts_.data<const std::int64_t>(); }

private:
    Array letters_, starts_;
};

void edit_distances(nb::handle letters, nb::handle starts, nb::handle other_letters, nb::handle other_starts,
                    nb::handle out) {
    const Strings a(letters, starts, "letters"), b(other_letters, other_starts, "other letters");
    const Array to(out, "out", true);
    if (to.is_objects() || to.type() != Type::u32 || to.dimensions() != 2 || !to.contiguous())
        refuse_type("out must be C-contiguous uint32 (strings, other strings)");
    if (to.size(0) != a.count() || to.size(1) != b.count())
        refuse_value("out has shape " + to.shape() + "; it needs a cell for each two strings");
    unlocked([&] {
        kernels().edit_distances(a.letters(), a.starts(), a.count(), b.letters(), b.starts(), b.count(),
                                 to.data<std::uint32_t>());
    });
}

}  // namespace

void define_neighbors(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Tree>(m, "Planted");
    m.def("pair_sums", &pair_sums, "queries"_a, "rows"_a, "law"_a);
    m.def("plant", &plant, "rows"_a, "law"_a, nb::rv_policy::take_ownership);
    m.def("nearest", &nearest, "queries"_a, "rows"_a, "law"_a, "k"_a, "limit"_a, "weights"_a.none(), "skip"_a.none(),
          "planted"_a.none() = nb::none(), "penalties"_a.none() = nb::none(), "ties"_a = false);
    m.def("edit_distances", &edit_distances, "letters"_a, "starts"_a, "other_letters"_a, "other_starts"_a,
          "out"_a);
}

}  // namespace countwise
