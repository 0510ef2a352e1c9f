// Rows are halved where they differ most, until few are left.
#include "row_tree.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace countwise {

namespace {

constexpr std::int32_t deepest = 64;  // halves of halves: only rows that can hardly be told apart get there
constexpr std::size_t looked_at = 512;  // rows of a node by which a column to split by is chosen

// Few columns tell near from far well, so that small leaves pay; for many a leaf had better be scanned.
std::size_t leaf_for(std::size_t columns) { return columns <= 4 ? 64 : columns <= 8 ? 128 : 1024; }

}  // namespace

std::uint32_t Tree::code(std::size_t row, std::size_t j) const {
    const Column& column = from_.codes[j];
    const char* at = column.data + static_cast<std::ptrdiff_t>(row) * column.stride;
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

Tree::Tree(const PairRows& rows, const PairLaw& law)
    : n_(rows.rows), m_(law.numbers), c_(law.codes), leaf_(leaf_for(m_ + c_)), from_(rows), law_(law), order_(n_),
      gaps_(m_ + c_) {
    for (std::size_t i = 0; i < n_; ++i) order_[i] = static_cast<std::uint32_t>(i);
    std::vector<Span> waiting, leaves;
    children_.assign(2, -1), groups_.assign(2, 0);
    waiting.push_back({0, n_, 0, 0});
    while (!waiting.empty()) {
        const Span span = waiting.back();
        waiting.pop_back();
        describe(span);
        const int column = span.stop - span.start > leaf_ && span.depth < deepest ? choose(span) : -1;
        const std::size_t middle = column < 0 ? span.start : part(span, column);
        if (middle == span.start || middle == span.stop) {
            leaves.push_back(span);
            continue;
        }
        const std::int32_t first = static_cast<std::int32_t>(children_.size() / 2);
        const std::size_t at = 2 * static_cast<std::size_t>(span.node);
        children_[at] = first, children_[at + 1] = first + 1;
        children_.insert(children_.end(), 4, -1);
        groups_.insert(groups_.end(), 4, 0);
        waiting.push_back({middle, span.stop, first + 1, span.depth + 1});
        waiting.push_back({span.start, middle, first, span.depth + 1});
    }
    lay_out(leaves);
}

// The column of which two rows of the node differ most, on average; -1 if they do not.
int Tree::choose(const Span& span) const {
    const std::size_t size = span.stop - span.start, step = std::max<std::size_t>(1, size / looked_at);
    int best = -1;
    double most = 0.0;
    for (std::size_t j = 0; j < m_; ++j) {
        double n = 0.0, mean = 0.0, m2 = 0.0;
        for (std::size_t i = span.start; i < span.stop; i += step) {
            const double x = from_.numbers[order_[i] * m_ + j] * law_.factors[j];
            if (x != x) continue;
            n += 1.0;
            const double gap = x - mean;
            mean += gap / n, m2 += gap * (x - mean);
        }
        const double spread = n > 1.0 ? 2.0 * m2 / n : 0.0;
        const double score = law_.p == 2.0 ? spread : std::sqrt(spread);
        if (score > most) most = score, best = static_cast<int>(j);
    }
    for (std::size_t j = 0; j < c_; ++j) {
        if (law_.tables[j].cells != nullptr) continue;
        std::uint32_t counts[256] = {};
        double n = 0.0, squares = 0.0;
        for (std::size_t i = span.start; i < span.stop; i += step) ++counts[code(order_[i], j) & 255], n += 1.0;
        for (const std::uint32_t k : counts) squares += static_cast<double>(k) * k;
        const double score = law_.tables[j].cost * (1.0 - squares / (n * n));
        if (score > most) most = score, best = static_cast<int>(m_ + j);
    }
    return best;
}

// Puts about half of the rows of a node before the others.
std::size_t Tree::part(const Span& span, int column) {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(span.start),
               end = order_.begin() + static_cast<std::ptrdiff_t>(span.stop);
    if (static_cast<std::size_t>(column) < m_) {
        const std::size_t j = static_cast<std::size_t>(column);
        const auto value = [&](std::uint32_t row) {
            const double x = from_.numbers[row * m_ + j];
            return x == x ? x : std::numeric_limits<double>::infinity();
        };
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, [&](std::uint32_t a, std::uint32_t b) { return value(a) < value(b); });
        return static_cast<std::size_t>(middle - order_.begin());
    }
    const std::size_t j = static_cast<std::size_t>(column) - m_;
    std::size_t counts[256] = {};
    for (auto at = begin; at != end; ++at) ++counts[code(*at, j) & 255];
    std::vector<std::size_t> values(256);
    for (std::size_t v = 0; v < 256; ++v) values[v] = v;
    std::stable_sort(values.begin(), values.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    // The commonest first, each to the side that has fewer rows.
    bool left[256] = {};
    std::size_t here = 0, there = 0;
    for (const std::size_t v : values) {
        left[v] = here <= there;
        (left[v] ? here : there) += counts[v];
    }
    const auto middle = std::stable_partition(begin, end, [&](std::uint32_t row) { return left[code(row, j) & 255]; });
    return static_cast<std::size_t>(middle - order_.begin());
}

// What is in a node.
void Tree::describe(const Span& span) {
    const std::size_t node = static_cast<std::size_t>(span.node);
    if (boxes_.size() < (node + 1) * m_ * 2) boxes_.resize((node + 1) * m_ * 2);
    if (lacking_.size() < (node + 1) * (m_ + c_)) lacking_.resize((node + 1) * (m_ + c_));
    if (sets_.size() < (node + 1) * c_ * 4) sets_.resize((node + 1) * c_ * 4);
    for (std::size_t j = 0; j < m_; ++j) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        bool lacks = false;
        for (std::size_t i = span.start; i < span.stop; ++i) {
            const double x = from_.numbers[order_[i] * m_ + j];
            if (x != x) lacks = true;
            else low = std::min(low, x), high = std::max(high, x);
        }
        boxes_[(node * m_ + j) * 2] = low, boxes_[(node * m_ + j) * 2 + 1] = high;
        lacking_[node * (m_ + c_) + j] = lacks;
        if (node == 0) gaps_[j] = lacks;
    }
    for (std::size_t j = 0; j < c_; ++j) {
        bool lacks = false;
        std::uint64_t* set = sets_.data() + (node * c_ + j) * 4;
        for (std::size_t i = span.start; i < span.stop; ++i) {
            const std::uint32_t x = code(order_[i], j);
            set[(x & 255) / 64] |= std::uint64_t{1} << (x & 63);
            lacks |= static_cast<std::int64_t>(x) >= law_.known[2 * j + 1];
        }
        lacking_[node * (m_ + c_) + m_ + j] = lacks;
        if (node == 0) gaps_[m_ + j] = lacks;
    }
}

void Tree::lay_out(std::vector<Span> leaves) {
    std::sort(leaves.begin(), leaves.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
    std::size_t groups = 0;
    for (const Span& leaf : leaves) groups += (leaf.stop - leaf.start + pair_group - 1) / pair_group;
    const std::size_t slots = groups * pair_group;
    rows_.assign(slots, std::numeric_limits<std::uint32_t>::max());
    numbers_.assign(slots * m_, 0.0), codes_.assign(slots * c_, 0);
    width_ = (m_ + 7) / 8 * 8;
    lines_.assign(slots * width_, 0.0f);
    lanes_.assign(slots * m_, 0.0f), bytes_.assign(slots * c_, 0);
    centers_.assign(m_, 0.0), extents_.assign(m_, 0.0), largest_.assign(c_, 0);
    for (std::size_t j = 0; j < m_; ++j) {
        const double low = boxes_[2 * j], high = boxes_[2 * j + 1];
        if (low <= high) centers_[j] = low + (high - low) / 2;
        if (low <= high) extents_[j] = std::max(high - centers_[j], centers_[j] - low) * law_.factors[j];
    }
    std::size_t group = 0;
    for (const Span& leaf : leaves) {
        groups_[2 * static_cast<std::size_t>(leaf.node)] = static_cast<std::int64_t>(group);
        for (std::size_t i = leaf.start; i < leaf.stop; ++i) {
            const std::size_t slot = group * pair_group + (i - leaf.start), lane = slot % pair_group,
                              at = slot / pair_group;
            const std::uint32_t row = order_[i];
            rows_[slot] = row;
            for (std::size_t j = 0; j < m_; ++j) {
                const double x = from_.numbers[row * m_ + j];
                numbers_[slot * m_ + j] = x;
                const float scaled = static_cast<float>((x - centers_[j]) * law_.factors[j]);
                lanes_[(at * m_ + j) * pair_group + lane] = lines_[slot * width_ + j] = scaled;
            }
            for (std::size_t j = 0; j < c_; ++j) {
                const std::uint32_t x = code(row, j);
                codes_[slot * c_ + j] = x;
                largest_[j] = std::max(largest_[j], x);
                bytes_[(at * c_ + j) * pair_group + lane] = static_cast<std::uint8_t>(x & 255);
            }
        }
        group += (leaf.stop - leaf.start + pair_group - 1) / pair_group;
        groups_[2 * static_cast<std::size_t>(leaf.node) + 1] = static_cast<std::int64_t>(group);
    }
    order_ = {};
}

Planted Tree::planted() const {
    return {rows_.data(), numbers_.data(), codes_.data(), lanes_.data(), lines_.data(), width_,
            bytes_.data(), centers_.data(), extents_.data(), gaps_.data(), m_, c_, children_.data(), groups_.data(), boxes_.data(), lacking_.data(),
            sets_.data()};
}

}  // namespace countwise
