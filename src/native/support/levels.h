// The kernels of the level that is being compiled.
#pragma once
#include "abi.h"

namespace countwise::COUNTWISE_LEVEL {

#define KERNEL(result, name, ...) result name(__VA_ARGS__);
#define WIDE_KERNEL KERNEL
#include "kernel_list.inc"
#undef WIDE_KERNEL
#undef KERNEL

}  // namespace countwise::COUNTWISE_LEVEL
