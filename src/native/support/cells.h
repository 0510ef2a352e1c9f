// Access to one element of a column, which need not be aligned; for code that is compiled once.
#pragma once
#include <cstring>

#include "column.h"

namespace countwise {

template <class T>
T cell_at(const Column& column, size_t i) {
    T value;
    std::memcpy(&value, column.data + static_cast<ptrdiff_t>(i) * column.stride, sizeof value);
    return value;
}

inline uint32_t code_at(const Column& column, size_t i) {
    if (column.type == Type::u8) return cell_at<uint8_t>(column, i);
    if (column.type == Type::u16) return cell_at<uint16_t>(column, i);
    return cell_at<uint32_t>(column, i);
}

}  // namespace countwise
