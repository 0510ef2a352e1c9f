// Splits rows in halves along the column in which they differ most, until few are left.
#include "row_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cells.h"
#include "interrupt.h"

namespace countwise {

namespace {

constexpr int32_t deepest = 64;    // maximum depth, reached only by rows that are nearly identical
constexpr size_t looked_at = 512;  // rows of a node that are sampled to choose the split column

// With few columns, distances vary much and small leaves are faster; with many columns, it is faster to scan a leaf.
size_t leaf_for(size_t columns) { return columns <= 4 ? 64 : columns <= 8 ? 128 : 1024; }

}  // namespace

// Splits rows until few are left; refers to the rows and the metric only while it runs.
class RowTreeBuilder {
public:
    RowTreeBuilder(const PairRows& rows, const PairMetric& metric)
        : from_(rows), metric_(metric), n_(rows.rows), m_(metric.numbers), c_(metric.codes), order_(n_) {}

    std::unique_ptr<RowTree> build() {
        tree_->n_rows_ = n_;
        tree_->factors_.assign(metric_.factors, metric_.factors + m_);
        for (size_t j = 0; j < c_; ++j) tree_->known_.push_back(metric_.known[2 * j + 1]);
        tree_->has_missing_.assign(m_ + c_, 0);
        tree_->children_.assign(2, -1), tree_->groups_.assign(2, 0);
        for (size_t i = 0; i < n_; ++i) order_[i] = static_cast<uint32_t>(i);
        lay_out(halve());
        return std::move(tree_);
    }

private:
    struct Span {
        size_t start, stop;
        int32_t node, depth;
    };
    std::vector<Span> halve();
    int choose(const Span& span) const;
    size_t part(const Span& span, int column);
    void describe(const Span& span);
    void lay_out(std::vector<Span> leaves);
    uint32_t code(size_t row, size_t j) const { return code_at(from_.codes[j], row); }

    const PairRows& from_;
    const PairMetric& metric_;
    const size_t n_, m_, c_;
    std::vector<uint32_t> order_;
    std::unique_ptr<RowTree> tree_{new RowTree};
};

// Fills the leaves.
std::vector<RowTreeBuilder::Span> RowTreeBuilder::halve() {
    const size_t most = leaf_for(m_ + c_);
    std::vector<Span> waiting{{0, n_, 0, 0}}, leaves;
    while (!waiting.empty()) {
        const Span span = waiting.back();
        waiting.pop_back();
        check_interrupt();
        describe(span);
        const int column = span.stop - span.start > most && span.depth < deepest ? choose(span) : -1;
        const size_t middle = column < 0 ? span.start : part(span, column);
        if (middle == span.start || middle == span.stop) {
            leaves.push_back(span);
            continue;
        }
        std::vector<int32_t>& children = tree_->children_;
        const int32_t first = static_cast<int32_t>(children.size() / 2);
        const size_t at = 2 * static_cast<size_t>(span.node);
        children[at] = first, children[at + 1] = first + 1;
        children.insert(children.end(), 4, -1);
        tree_->groups_.insert(tree_->groups_.end(), 4, 0);
        waiting.push_back({middle, span.stop, first + 1, span.depth + 1});
        waiting.push_back({span.start, middle, first, span.depth + 1});
    }
    return leaves;
}

// Returns the column with the largest average difference between two rows of the node, or -1 if there is none.
int RowTreeBuilder::choose(const Span& span) const {
    const size_t size = span.stop - span.start, step = std::max<size_t>(1, size / looked_at);
    int best = -1;
    double most = 0.0;
    for (size_t j = 0; j < m_; ++j) {
        double n = 0.0, mean = 0.0, m2 = 0.0;
        for (size_t i = span.start; i < span.stop; i += step) {
            const double x = from_.numbers[order_[i] * m_ + j] * metric_.factors[j];
            if (x != x) continue;
            n += 1.0;
            const double difference = x - mean;
            mean += difference / n, m2 += difference * (x - mean);
        }
        const double variance = n > 1.0 ? 2.0 * m2 / n : 0.0;
        const double score = metric_.p == 2.0 ? variance : std::sqrt(variance);
        if (score > most) most = score, best = static_cast<int>(j);
    }
    for (size_t j = 0; j < c_; ++j) {
        if (metric_.tables[j].cells != nullptr) continue;
        uint32_t counts[256] = {};
        double n = 0.0, squares = 0.0;
        for (size_t i = span.start; i < span.stop; i += step) ++counts[code(order_[i], j) & 255], n += 1.0;
        for (const uint32_t k : counts) squares += static_cast<double>(k) * k;
        const double score = metric_.tables[j].cost * (1.0 - squares / (n * n));
        if (score > most) most = score, best = static_cast<int>(m_ + j);
    }
    return best;
}

// Moves about half of the rows of a node before the others.
size_t RowTreeBuilder::part(const Span& span, int column) {
    const auto begin = order_.begin() + static_cast<ptrdiff_t>(span.start),
               end = order_.begin() + static_cast<ptrdiff_t>(span.stop);
    if (static_cast<size_t>(column) < m_) {
        const size_t j = static_cast<size_t>(column);
        const auto value = [&](uint32_t row) {
            const double x = from_.numbers[row * m_ + j];
            return x == x ? x : std::numeric_limits<double>::infinity();
        };
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, [&](uint32_t a, uint32_t b) { return value(a) < value(b); });
        return static_cast<size_t>(middle - order_.begin());
    }
    const size_t j = static_cast<size_t>(column) - m_;
    size_t counts[256] = {};
    for (auto at = begin; at != end; ++at) ++counts[code(*at, j) & 255];
    std::vector<size_t> values(256);
    for (size_t v = 0; v < 256; ++v) values[v] = v;
    std::stable_sort(values.begin(), values.end(), [&](size_t a, size_t b) { return counts[a] > counts[b]; });
    // Most frequent codes first, each to the side with fewer rows.
    bool left[256] = {};
    size_t here = 0, there = 0;
    for (const size_t v : values) {
        left[v] = here <= there;
        (left[v] ? here : there) += counts[v];
    }
    const auto middle = std::stable_partition(begin, end, [&](uint32_t row) { return left[code(row, j) & 255]; });
    return static_cast<size_t>(middle - order_.begin());
}

// Computes the bounds of a node.
void RowTreeBuilder::describe(const Span& span) {
    const size_t node = static_cast<size_t>(span.node);
    std::vector<double>& boxes = tree_->boxes_;
    std::vector<uint8_t>&lacking = tree_->lacking_, &has_missing = tree_->has_missing_;
    std::vector<uint64_t>& sets = tree_->sets_;
    if (boxes.size() < (node + 1) * m_ * 2) boxes.resize((node + 1) * m_ * 2);
    if (lacking.size() < (node + 1) * (m_ + c_)) lacking.resize((node + 1) * (m_ + c_));
    if (sets.size() < (node + 1) * c_ * 4) sets.resize((node + 1) * c_ * 4);
    for (size_t j = 0; j < m_; ++j) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        bool lacks = false;
        for (size_t i = span.start; i < span.stop; ++i) {
            const double x = from_.numbers[order_[i] * m_ + j];
            if (x != x) lacks = true;
            else low = std::min(low, x), high = std::max(high, x);
        }
        boxes[(node * m_ + j) * 2] = low, boxes[(node * m_ + j) * 2 + 1] = high;
        lacking[node * (m_ + c_) + j] = lacks;
        if (node == 0) has_missing[j] = lacks;
    }
    for (size_t j = 0; j < c_; ++j) {
        bool lacks = false;
        uint64_t* set = sets.data() + (node * c_ + j) * 4;
        for (size_t i = span.start; i < span.stop; ++i) {
            const uint32_t x = code(order_[i], j);
            set[(x & 255) / 64] |= uint64_t{1} << (x & 63);
            lacks |= static_cast<int64_t>(x) >= metric_.known[2 * j + 1];
        }
        lacking[node * (m_ + c_) + m_ + j] = lacks;
        if (node == 0) has_missing[m_ + j] = lacks;
    }
}

void RowTreeBuilder::lay_out(std::vector<Span> leaves) {
    RowTree& tree = *tree_;
    std::sort(leaves.begin(), leaves.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    size_t groups = 0;
    for (const Span& leaf : leaves) groups += (leaf.stop - leaf.start + pair_group - 1) / pair_group;
    const size_t slots = groups * pair_group;
    tree.rows_.assign(slots, std::numeric_limits<uint32_t>::max());
    tree.numbers_.assign(slots * m_, 0.0), tree.codes_.assign(slots * c_, 0);
    tree.width_ = (m_ + 7) / 8 * 8;
    tree.lines_.assign(slots * tree.width_, 0.0f);
    tree.lanes_.assign(slots * m_, 0.0f), tree.bytes_.assign(slots * c_, 0);
    tree.centers_.assign(m_, 0.0), tree.extents_.assign(m_, 0.0), tree.largest_.assign(c_, 0);
    for (size_t j = 0; j < m_; ++j) {
        const double low = tree.boxes_[2 * j], high = tree.boxes_[2 * j + 1];
        if (low <= high) tree.centers_[j] = low + (high - low) / 2;
        if (low <= high)
            tree.extents_[j] = std::max(high - tree.centers_[j], tree.centers_[j] - low) * metric_.factors[j];
    }
    size_t group = 0;
    for (const Span& leaf : leaves) {
        check_interrupt();
        tree.groups_[2 * static_cast<size_t>(leaf.node)] = static_cast<int64_t>(group);
        for (size_t i = leaf.start; i < leaf.stop; ++i) {
            const size_t slot = group * pair_group + (i - leaf.start), lane = slot % pair_group, at = slot / pair_group;
            const uint32_t row = order_[i];
            tree.rows_[slot] = row;
            for (size_t j = 0; j < m_; ++j) {
                const double x = from_.numbers[row * m_ + j];
                tree.numbers_[slot * m_ + j] = x;
                const float scaled = static_cast<float>((x - tree.centers_[j]) * metric_.factors[j]);
                tree.lanes_[(at * m_ + j) * pair_group + lane] = tree.lines_[slot * tree.width_ + j] = scaled;
            }
            for (size_t j = 0; j < c_; ++j) {
                const uint32_t x = code(row, j);
                tree.codes_[slot * c_ + j] = x;
                tree.largest_[j] = std::max(tree.largest_[j], x);
                tree.bytes_[(at * c_ + j) * pair_group + lane] = static_cast<uint8_t>(x & 255);
            }
        }
        group += (leaf.stop - leaf.start + pair_group - 1) / pair_group;
        tree.groups_[2 * static_cast<size_t>(leaf.node) + 1] = static_cast<int64_t>(group);
    }
}

std::unique_ptr<RowTree> build_row_tree(const PairRows& rows, const PairMetric& metric) {
    return RowTreeBuilder(rows, metric).build();
}

bool RowTree::serves(const PairMetric& metric) const {
    bool same = metric.numbers == numbers() && metric.codes == codes();
    for (size_t j = 0; same && j < numbers(); ++j) same = factors_[j] == metric.factors[j];
    for (size_t j = 0; same && j < codes(); ++j) same = known_[j] == metric.known[2 * j + 1];
    return same;
}

RowTreeView RowTree::view() const {
    return {rows_.data(),     numbers_.data(), codes_.data(),   lanes_.data(),       lines_.data(), width_,
            bytes_.data(),    centers_.data(), extents_.data(), has_missing_.data(), numbers(),     codes(),
            children_.data(), groups_.data(),  boxes_.data(),   lacking_.data(),     sets_.data()};
}

}  // namespace countwise
