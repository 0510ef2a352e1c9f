// Strings as Arrow keeps them: letters one after the other, and where each string begins.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace countwise {

// Codes of strings, and the row in which each code is first met; false if there are more than `limit` of them. Offsets
// are int64 if wide, else int32: one more than rows, ascending, within the letters.
bool codes_of_strings(const void* offsets, bool wide, size_t rows, const uint8_t* letters, size_t limit, int32_t* codes,
                      std::vector<int64_t>& first);

}  // namespace countwise
