// Strings in Arrow's layout: concatenated letters, and the start of each string.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace countwise {

// Computes the codes of strings and the first row of each code; returns false if there are more than `limit` codes.
// Offsets are int64 if `wide`, else int32: one more than rows, ascending, within the letters.
bool codes_of_strings(const void* offsets, bool wide, size_t rows, const uint8_t* letters, size_t limit, int32_t* codes,
                      std::vector<int64_t>& first);

}  // namespace countwise
