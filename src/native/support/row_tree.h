// Search tree of rows that owns its memory.
#pragma once
#include <memory>
#include <vector>

#include "abi.h"

namespace countwise {

// Created by build_row_tree(); refers only to its own memory.
class RowTree {
public:
    RowTreeView view() const;
    size_t rows() const { return n_rows_; }
    size_t numbers() const { return centers_.size(); }
    size_t codes() const { return largest_.size(); }
    uint32_t largest(size_t j) const { return largest_[j]; }  // of the j-th column of codes
    // Whether the tree is valid for the metric: it depends on the factors and on which codes are missing.
    bool serves(const PairMetric& metric) const;

private:
    friend class RowTreeBuilder;
    RowTree() = default;

    size_t n_rows_ = 0, width_ = 0;
    std::vector<double> factors_, numbers_, centers_, extents_, boxes_;
    std::vector<uint32_t> rows_, codes_, largest_;
    std::vector<float> lanes_, lines_;
    std::vector<uint8_t> bytes_, has_missing_, lacking_;
    std::vector<int32_t> children_;
    std::vector<int64_t> known_, groups_;
    std::vector<uint64_t> sets_;
};

std::unique_ptr<RowTree> build_row_tree(const PairRows& rows, const PairMetric& metric);

}  // namespace countwise
