// Common declarations of the Python module.
#pragma once
#include <atomic>

#include "arrays.h"
#include "interrupt.h"

namespace countwise {

// The level in use.
extern std::atomic<size_t> level;

#ifdef COUNTWISE_X86_LEVELS
constexpr size_t level_count = 3;
#else
constexpr size_t level_count = 1;
#endif

// A kernel has one function for each level and calls that of the level in use.
template <class Function>
struct Kernel;
template <class Result, class... Arguments>
struct Kernel<Result(Arguments...)> {
    Result (*levels[level_count])(Arguments...);
    Result operator()(Arguments... arguments) const {
        return levels[level.load(std::memory_order_relaxed)](arguments...);
    }
};

// KERNEL(result, name, arguments...) declares a kernel as kernels::name, next to the binding that calls it. A
// WIDE_KERNEL benefits from 64-byte vectors: it is in kernels/wide, which is also compiled for x86-64-v4. For any other
// kernel, v4 uses the function of v3. countwise/_kernels/reference documents the kernels. Unless stated otherwise, an
// int result is 0 for success, or 1 + the number of a column with a code out of range.
#ifdef COUNTWISE_X86_LEVELS
#define KERNEL(...) KERNEL_UP_TO(v3, __VA_ARGS__)
#define WIDE_KERNEL(...) KERNEL_UP_TO(v4, __VA_ARGS__)
#define KERNEL_UP_TO(highest, result, name, ...)                                     \
    namespace v2 {                                                                   \
    result name(__VA_ARGS__);                                                        \
    }                                                                                \
    namespace v3 {                                                                   \
    result name(__VA_ARGS__);                                                        \
    }                                                                                \
    namespace v4 {                                                                   \
    result name(__VA_ARGS__);                                                        \
    }                                                                                \
    namespace kernels {                                                              \
    constexpr Kernel<result(__VA_ARGS__)> name{{v2::name, v3::name, highest::name}}; \
    }
#else
#define WIDE_KERNEL KERNEL
#define KERNEL(result, name, ...)                                 \
    namespace baseline {                                          \
    result name(__VA_ARGS__);                                     \
    }                                                             \
    namespace kernels {                                           \
    constexpr Kernel<result(__VA_ARGS__)> name{{baseline::name}}; \
    }
#endif

// Functions of one file that are defined when the module is imported.
struct Bindings {
    explicit Bindings(void (*define)(nb::module_& m));
};

}  // namespace countwise
