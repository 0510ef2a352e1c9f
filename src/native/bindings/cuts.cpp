// Bindings of the kernels that discretize a numeric column.
#include <algorithm>
#include <cmath>
#include <memory>

#include "module.h"

namespace countwise {

// Merges the values of several classes into one order, with codes of the given type.
KERNEL(void, merge_sets, const double* const* values, const size_t* sizes, size_t n_classes, Type type, double* merged,
       void* codes);
// Merges the weights in the order of the merged codes; a stride may be 0. The result is int64 if `whole`, else float64.
KERNEL(void, merge_weights, Column codes, size_t n, const Column* weights, const size_t* sizes, size_t n_classes,
       bool whole, void* merged);
// The weight of each class; returns 1 for a code out of range, 2 for a negative or infinite weight.
KERNEL(int, class_totals, const Entries& entries, size_t start, size_t stop, size_t n_classes, double* totals);
// Fills the counts of the marks: (stop - first) / step + 1 times n_classes counts.
KERNEL(void, class_marks, const Entries& entries, size_t first, size_t stop, size_t n_classes, size_t step,
       uint32_t* counts);
// Computes the weight of each class from the first mark to before a position.
KERNEL(void, counts_before, const Entries& entries, const Marks& marks, size_t place, size_t n_classes, double* counts);
// Returns the best position or -1, given the totals.
KERNEL(int64_t, best_cut, const Entries& entries, size_t start, size_t stop, size_t n_classes, const double* totals,
       double tolerance, const Marks& marks);
KERNEL(void, cut_codes, Column column, size_t rows, const double* edges, size_t n_edges, Type type, void* out);
WIDE_KERNEL(void, kmeans_1d, const double* values, const double* weights, size_t n, size_t k, int64_t* starts);

namespace {

using Counts = std::vector<double>;

double x_log_x(double x) { return x > 0 ? x * std::log(x) : 0.0; }

constexpr size_t most_table = 1 << 22;
constexpr size_t mark_step = 64;

// Table of x log x for 0, 1, 2 ..., and the shorter table that it replaced, which other threads may still use.
struct LogTable {
    Counts cells;
    const LogTable* before;
};

// Table up to at least `most`, kept for later calls in any thread. There is no lock, which would be locked forever in a
// process that was forked while another thread held it.
const Counts& x_log_x_table(size_t most) {
    static std::atomic<const LogTable*> kept{nullptr};
    const LogTable* now = kept.load(std::memory_order_acquire);
    while (!now || now->cells.size() <= most) {
        const size_t known = now ? now->cells.size() : 0;
        const size_t size = std::max(most, std::min(2 * known, most_table)) + 1;
        auto grown = std::make_unique<LogTable>();
        grown->before = now;
        grown->cells.reserve(size);
        if (now) grown->cells = now->cells;
        while (grown->cells.size() < size) grown->cells.push_back(x_log_x(static_cast<double>(grown->cells.size())));
        if (kept.compare_exchange_strong(now, grown.get(), std::memory_order_acq_rel)) now = grown.release();
    }
    return now->cells;
}

// n times the entropy of the class in nats: n log n - sum of n_c log n_c.
double information(const Counts& counts) {
    double n = 0, sum = 0;
    for (const double count : counts) n += count, sum += x_log_x(count);
    return std::max(0.0, x_log_x(n) - sum);
}

double sum_of(const Counts& counts) {
    double n = 0;
    for (const double count : counts) n += count;
    return n;
}

struct Cut {
    int64_t place = -1;
    Counts left, right;
};

// Values in ascending order with their classes and weights.
class Sequence {
public:
    Sequence(nb::handle values, nb::handle codes, nb::handle weights, size_t n_classes)
        : values_(require(values, "values", Type::f64, {any})), codes_(codes_array(codes, "codes", values_.size())),
          weights_(weight_column(weights, values_.size())), n_classes_(n_classes),
          whole_(!weights_ || !is_float(weights_->type())) {
        check_count("n_classes", n_classes);
        entries_ = {values_.data<const double>(), codes_.column(), column_of(weights_)};
    }
    size_t size() const { return values_.size(); }
    size_t classes() const { return n_classes_; }

    // Returns an error number for `refuse`, which requires the global interpreter lock.
    int totals(size_t start, size_t stop, Counts* counts) const {
        counts->assign(n_classes_, 0.0);
        return kernels::class_totals(entries_, start, stop, n_classes_, counts->data());
    }
    void refuse(int wrong) const {
        if (wrong == 1) refuse_value("codes contains a class beyond the " + std::to_string(n_classes_) + " classes.");
        if (wrong == 2) refuse_value("weights must be finite and not negative.");
    }
    // Creates marks for the entries from `start` to before `stop`, given their totals. The time is proportional to the
    // size of the table, which pays off only if the total weight is not much larger than the number of entries.
    void mark(size_t start, size_t stop, const Counts& counts) {
        const double n = sum_of(counts);
        const double most =
            std::min(static_cast<double>(most_table), 16.0 * static_cast<double>(stop - start) + 4096.0);
        if (!whole_ || n > most) return;
        const Counts& table = x_log_x_table(static_cast<size_t>(n));
        const size_t step = std::max<size_t>(mark_step, n_classes_);  // at most as many counts as entries
        marked_.resize(((stop - start) / step + 1) * n_classes_);
        kernels::class_marks(entries_, start, stop, n_classes_, step, marked_.data());
        marks_ = {marked_.data(), table.data(), start, step};
    }
    Cut best(size_t start, size_t stop, const Counts& counts) const {
        const double n = sum_of(counts);
        const double size = n > 0 ? n * (1 + std::fabs(std::log(n))) : 0.0;
        const double tolerance = 1e-12 * information(counts) + 4e-15 * size;
        Cut cut;
        cut.place = kernels::best_cut(entries_, start, stop, n_classes_, counts.data(), tolerance, marks_);
        sides(start, stop, counts, &cut);
        return cut;
    }

private:
    void sides(size_t start, size_t stop, const Counts& counts, Cut* cut) const {
        const size_t place = cut->place < 0 ? start : static_cast<size_t>(cut->place);
        if (marks_.counts) {
            Counts before(n_classes_);
            cut->left.assign(n_classes_, 0.0);
            kernels::counts_before(entries_, marks_, start, n_classes_, before.data());
            kernels::counts_before(entries_, marks_, place, n_classes_, cut->left.data());
            for (size_t c = 0; c < n_classes_; ++c) cut->left[c] -= before[c];
        } else {
            totals(start, place, &cut->left);
        }
        if (whole_) {
            cut->right = counts;
            for (size_t c = 0; c < n_classes_; ++c) cut->right[c] -= cut->left[c];
        } else {
            totals(place, stop, &cut->right);  // a difference would not be exactly 0 for a class that does not occur
        }
    }

    Array values_, codes_;
    MaybeArray weights_;
    size_t n_classes_;
    bool whole_;
    Entries entries_{};
    std::vector<uint32_t> marked_;
    Marks marks_{nullptr, nullptr, 0, 1};
};

// A cut with its gain and its threshold by Fayyad and Irani.
struct Tested {
    int64_t place;
    double gain, threshold;
    bool accepted() const { return gain > threshold; }
};

// Weight, entropy in bits, and number of classes present of one side.
struct Side {
    double n, entropy, present;
    explicit Side(const Counts& counts) : n(sum_of(counts)), entropy(0), present(0) {
        for (const double count : counts) present += count > 0;
        if (n > 0) entropy = information(counts) / n / std::log(2.0);
    }
};

// log2(3**k - 2), also if 3**k exceeds the range of a double.
double log2_of_choices(double k) { return k < 30 ? std::log2(std::pow(3.0, k) - 2) : k * std::log2(3.0); }

Tested test_cut(const Cut& cut, const Counts& counts) {
    const Side all(counts), left(cut.left), right(cut.right);
    if (!(all.n > 0)) return {cut.place, 0.0, HUGE_VAL};
    const double gain = all.entropy - (left.n * left.entropy + right.n * right.entropy) / all.n;
    const double delta = log2_of_choices(all.present) -
                         (all.present * all.entropy - left.present * left.entropy - right.present * right.entropy);
    return {cut.place, gain, (std::log2(std::max(all.n - 1, 1.0)) + delta) / all.n};
}

struct Cuts {
    std::vector<Tested> accepted;
    std::vector<Tested> first;  // best cut of all entries, or empty
};

int find_cuts(Sequence& sequence, Cuts* found) {
    struct Range {
        size_t start, stop;
        Counts counts;
    };
    std::vector<Range> waiting{{0, sequence.size(), {}}};
    const int wrong = sequence.totals(0, sequence.size(), &waiting[0].counts);
    if (wrong) return wrong;
    sequence.mark(0, sequence.size(), waiting[0].counts);
    while (!waiting.empty()) {
        const Range range = std::move(waiting.back());
        waiting.pop_back();
        Cut cut = sequence.best(range.start, range.stop, range.counts);
        if (cut.place < 0) continue;
        const Tested tested = test_cut(cut, range.counts);
        if (found->first.empty()) found->first.push_back(tested);
        if (!tested.accepted()) continue;
        found->accepted.push_back(tested);
        const size_t place = static_cast<size_t>(cut.place);
        waiting.push_back({range.start, place, std::move(cut.left)});
        waiting.push_back({place, range.stop, std::move(cut.right)});
    }
    std::sort(found->accepted.begin(), found->accepted.end(),
              [](const Tested& a, const Tested& b) { return a.place < b.place; });
    return 0;
}

nb::tuple mdl_cuts(nb::handle values, nb::handle codes, nb::handle weights, size_t n_classes) {
    Sequence sequence(values, codes, weights, n_classes);
    Cuts found;
    sequence.refuse(unlocked([&] { return find_cuts(sequence, &found); }));
    std::vector<int64_t> places;
    Counts gains, thresholds;
    for (const Tested& cut : found.accepted) {
        places.push_back(cut.place);
        gains.push_back(cut.gain);
        thresholds.push_back(cut.threshold);
    }
    nb::object first = nb::none();
    if (!found.first.empty())
        first = nb::make_tuple(found.first[0].place, found.first[0].gain, found.first[0].threshold);
    return nb::make_tuple(NewArray<int64_t>::of(places).object, NewArray<double>::of(gains).object,
                          NewArray<double>::of(thresholds).object, first);
}

nb::tuple merge_sets(nb::list values, nb::list weights) {
    const size_t n_classes = values.size();
    if (weights.size() != n_classes)
        refuse_value("There are " + std::to_string(n_classes) + " classes but " + std::to_string(weights.size()) +
                     " weights.");
    static const int64_t one = 1;
    std::vector<Array> kept;
    std::vector<const double*> value;
    std::vector<size_t> sizes;
    std::vector<Column> weight;
    bool weighted = false, whole = true;
    size_t total = 0;
    for (size_t c = 0; c < n_classes; ++c) {
        kept.push_back(require(values[c], "values[" + std::to_string(c) + "]", Type::f64, {any}));
        value.push_back(kept.back().data<const double>());
        sizes.push_back(kept.back().size());
        total += sizes.back();
        weight.push_back({reinterpret_cast<const char*>(&one), 0, Type::i64});
        if (nb::handle(weights[c]).is_none()) continue;
        const std::string name = "weights[" + std::to_string(c) + "]";
        kept.push_back(column_array(weights[c], name));
        check_rows(name, kept.back().size(), sizes.back());
        weight.back() = kept.back().column();
        weighted = true;
        whole &= !is_float(weight.back().type);
    }
    const Type type = n_classes <= 256 ? Type::u8 : n_classes <= 65536 ? Type::u16 : Type::u32;
    const NewArray<double> merged({total});
    const NewArray<void> codes({total}, false,
                               type == Type::u8    ? "uint8"
                               : type == Type::u16 ? "uint16"
                                                   : "uint32"),
        merged_weights({weighted ? total : 0}, false, whole ? "int64" : "float64");
    unlocked([&] {
        kernels::merge_sets(value.data(), sizes.data(), n_classes, type, merged.data(), codes.data());
        if (weighted)
            kernels::merge_weights(codes.column(), total, weight.data(), sizes.data(), n_classes, whole,
                                   merged_weights.data());
    });
    return nb::make_tuple(merged.object, codes.object, weighted ? merged_weights.object : nb::none());
}

void cut_codes(nb::handle column, nb::handle edges, nb::handle out) {
    const Array from = column_array(column, "column"), edge = require(edges, "edges", Type::f64, {any});
    codes_array(out, "out", from.size());
    const Array to(out, "out", true);
    if (!to.contiguous()) refuse_value("out must be contiguous.");
    const double* at = edge.data<const double>();
    const size_t n = edge.size();
    bool good = n == 0 || at[0] == at[0];
    for (size_t i = 1; i < n; ++i) good &= at[i - 1] <= at[i];
    if (!good) refuse_value("edges must be ascending.");
    const size_t most = to.type() == Type::u8 ? UINT8_MAX : to.type() == Type::u16 ? UINT16_MAX : UINT32_MAX;
    if (n + 1 > most) refuse_value("The type of out is too narrow for the codes of " + std::to_string(n) + " edges.");
    unlocked([&] { kernels::cut_codes(from.column(), from.size(), at, n, to.type(), to.data<void>()); });
}

nb::object kmeans_1d(nb::handle values, nb::handle weights, size_t k) {
    const Array value = require(values, "values", Type::f64, {any});
    const size_t n = value.size();
    const double* x = value.data<const double>();
    std::vector<double> w;
    if (!weights.is_none()) {
        const Array weight = column_array(weights, "weights");
        check_rows("weights", weight.size(), n);
        const nb::object floats = alive([&] { return nb::handle(weights).attr("astype")("float64"); });
        const Array cells = require(floats, "weights", Type::f64, {n});
        w.assign(cells.data<const double>(), cells.data<const double>() + n);
    }
    if (k < 1 || k > n || n > INT32_MAX)
        refuse_value("k is " + std::to_string(k) + "; it must be between 1 and the number of values, " +
                     std::to_string(n) + ".");
    bool good = std::isfinite(x[0]) && std::isfinite(x[n - 1]);
    for (size_t i = 1; i < n; ++i) good &= x[i - 1] < x[i];
    if (!good) refuse_value("values must be finite, ascending and distinct.");
    for (const double weight : w) good &= weight > 0 && weight < HUGE_VAL;
    if (!good) refuse_value("weights must be finite and above 0.");
    const NewArray<int64_t> starts({k});
    unlocked([&] { kernels::kmeans_1d(x, w.empty() ? nullptr : w.data(), n, k, starts.data()); });
    return starts.object;
}

}  // namespace

const Bindings bindings([](nb::module_& m) {
    using namespace nb::literals;
    m.def("merge_sets", &merge_sets, "values"_a, "weights"_a);
    m.def("mdl_cuts", &mdl_cuts, "values"_a, "codes"_a, "weights"_a.none(), "n_classes"_a);
    m.def("kmeans_1d", &kmeans_1d, "values"_a, "weights"_a.none(), "k"_a);
    m.def("cut_codes", &cut_codes, "column"_a, "edges"_a, "out"_a);
});

}  // namespace countwise
