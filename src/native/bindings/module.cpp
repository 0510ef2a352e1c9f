// The Python module. Arguments are checked here, with the global interpreter lock held; kernels run without it.
#include <algorithm>

#ifdef COUNTWISE_X86_LEVELS
#include <cpuid.h>
#endif

#include "module.h"

// By this symbol threadpoolctl recognizes the library (countwise/_kernels/threads.py).
extern "C" {
extern NB_EXPORT const int countwise_kernels;
const int countwise_kernels = 1;
}

namespace countwise {

std::atomic<size_t> level{0};

namespace {

#ifdef COUNTWISE_X86_LEVELS
// Features of x86-64-v3 that __builtin_cpu_supports does not know in all compilers.
bool has_rest_of_v3() {
    unsigned a = 0, b = 0, basic = 0, extended = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &basic, &d) || !__get_cpuid(0x80000001, &a, &b, &extended, &d)) return false;
    return (basic & bit_MOVBE) && (basic & bit_F16C) && (extended & bit_LZCNT);
}
#endif

// The levels that the processor supports, lowest first.
std::vector<std::string> supported_levels() {
#ifdef COUNTWISE_X86_LEVELS
    __builtin_cpu_init();
    const bool has_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool has_v3 = has_v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_rest_of_v3();
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
    std::vector<std::string> names{"x86-64-v2", "x86-64-v3", "x86-64-v4"};
    names.resize(size_t{has_v2} + has_v3 + has_v4);
    return names;
#else
    return {COUNTWISE_BASELINE};
#endif
}

// Selects a level by the end of its name, or the highest supported level if the processor lacks it.
void set_level(const std::string& wanted) {
    if (wanted != "v2" && wanted != "v3" && wanted != "v4")
        refuse_value("The level must be 'v2', 'v3' or 'v4', not '" + wanted + "'.");
    level = std::min<size_t>(static_cast<size_t>(wanted[1] - '2'), supported_levels().size() - 1);
}

std::vector<void (*)(nb::module_&)>& definitions() {
    static std::vector<void (*)(nb::module_&)> all;
    return all;
}

}  // namespace

Bindings::Bindings(void (*define)(nb::module_& m)) { definitions().push_back(define); }

}  // namespace countwise

NB_MODULE(_native, m) {
    using namespace countwise;
    using namespace nb::literals;
    const size_t levels = supported_levels().size();
    if (levels == 0) throw nb::import_error("the processor does not support x86-64-v2");
    level = levels - 1;
    nb::set_leak_warnings(false);  // objects that are alive when the interpreter ends are no concern of the user
    m.doc() = "The compiled kernels; countwise._kernels.reference documents them.";
    m.def("get_level", [] { return supported_levels()[level]; });
    m.def("set_level", &set_level, "wanted"_a);
    m.def("levels", [] {
        nb::list names;
        for (const std::string& name : supported_levels()) names.append(name);
        return names;
    });
    for (const auto define : definitions()) define(m);
}
