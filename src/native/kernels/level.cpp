// The table of one level's kernels.
#include "support/levels.h"

#ifndef COUNTWISE_NARROW_LEVEL
#define COUNTWISE_NARROW_LEVEL COUNTWISE_LEVEL
#endif

// The level that has the kernels which do not gain by wide vectors.
namespace countwise::COUNTWISE_NARROW_LEVEL {

#define KERNEL(result, name, ...) result name(__VA_ARGS__);
#define WIDE_KERNEL(...)
#include "support/kernel_list.inc"
#undef WIDE_KERNEL
#undef KERNEL

}  // namespace countwise::COUNTWISE_NARROW_LEVEL

namespace countwise::COUNTWISE_LEVEL {

extern const Kernels kernels;
const Kernels kernels = {
    COUNTWISE_LEVEL_NAME,
#define KERNEL(result, name, ...) COUNTWISE_NARROW_LEVEL::name,
#define WIDE_KERNEL(result, name, ...) COUNTWISE_LEVEL::name,
#include "support/kernel_list.inc"
#undef WIDE_KERNEL
#undef KERNEL
};

}  // namespace countwise::COUNTWISE_LEVEL
