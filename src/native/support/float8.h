// Eight numbers in single precision at a time, whatever the level.
#pragma once
#include "simd.h"

namespace countwise::COUNTWISE_LEVEL {

typedef float Eight __attribute__((vector_size(32)));
typedef int32_t EightMarks __attribute__((vector_size(32)));
COUNTWISE_INLINE Eight eight(float x) { return x - Eight{}; }
COUNTWISE_INLINE Eight smaller_of(Eight a, Eight b) { return a < b ? a : b; }  // b, if a is not a number
COUNTWISE_INLINE Eight size_of(Eight x) {
    const EightMarks bits = load_as<EightMarks>(&x) & INT32_MAX;
    return load_as<Eight>(&bits);
}

// What numbers add to a bound: no more than `most`, also if they are missing.
template <bool squares>
COUNTWISE_INLINE Eight added_by(Eight x, Eight query, Eight most) {
    const Eight gap = x - query;
    return smaller_of(squares ? gap * gap : size_of(gap), most);
}

// Which of them are at most a limit, as bits.
COUNTWISE_INLINE uint32_t at_most(Eight x, float limit) {
#if defined(__AVX__)
    const EightMarks good = x <= eight(limit);
    return static_cast<uint32_t>(__builtin_ia32_movmskps256(load_as<Eight>(&good)));
#else
    uint32_t mask = 0;
    for (size_t i = 0; i < 8; ++i) mask |= static_cast<uint32_t>(x[i] <= limit) << i;
    return mask;
#endif
}

}  // namespace countwise::COUNTWISE_LEVEL
