// A column of any type, as passed to the kernels.
#pragma once
#include <cstddef>
#include <cstdint>

namespace countwise {

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;
using std::ptrdiff_t;
using std::size_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;

enum class Type : std::uint8_t { f64, f32, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

// A 1-D array: element i is at data + i * stride bytes.
struct Column {
    const char* data;
    std::ptrdiff_t stride;
    Type type;
};

}  // namespace countwise
