// Rows in the leaves of a tree, with the memory that they need.
#pragma once
#include <vector>

#include "abi.h"

namespace countwise {

class Tree {
public:
    Tree(const PairRows& rows, const PairLaw& law);
    Planted planted() const;
    std::size_t rows() const { return n_; }
    std::size_t numbers() const { return m_; }
    std::size_t codes() const { return c_; }
    std::uint32_t largest(std::size_t j) const { return largest_[j]; }  // of the j-th codes

private:
    struct Span {
        std::size_t start, stop;
        std::int32_t node, depth;
    };
    int choose(const Span& span) const;
    std::size_t part(const Span& span, int column);
    void describe(const Span& span);
    void lay_out(std::vector<Span> leaves);
    std::uint32_t code(std::size_t row, std::size_t j) const;

    std::size_t n_, m_, c_, leaf_;
    PairRows from_;
    const PairLaw& law_;
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> rows_, codes_, largest_;
    std::vector<double> numbers_, centers_, extents_, boxes_;
    std::vector<float> lanes_, lines_;
    std::size_t width_;
    std::vector<std::uint8_t> bytes_, gaps_, lacking_;
    std::vector<std::int32_t> children_;
    std::vector<std::int64_t> groups_;
    std::vector<std::uint64_t> sets_;
};

}  // namespace countwise
