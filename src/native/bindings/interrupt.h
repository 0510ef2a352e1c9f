// Release of the global interpreter lock while a kernel runs, and how a kernel ends early.
#pragma once
#include <nanobind/nanobind.h>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "support/interrupt.h"

namespace countwise {

// Never returns. When the interpreter ends, Python before 3.14 ends its daemon threads by pthread_exit as soon as they
// request the lock. With glibc this unwinds the stack, and C++ aborts the process if that reaches a noexcept function
// (nanobind's are). Such a thread hangs instead, as in later versions of Python, until the process has ended.
[[noreturn]] void hang();

// Runs work that may request the lock.
template <class Work>
auto alive(const Work& work) {
#if defined(__GLIBCXX__)
    try {
        return work();
    } catch (const abi::__forced_unwind&) {
        hang();
    }
#else
    return work();
#endif
}

// Releases the lock.
class Unlocked {
public:
    Unlocked();
    ~Unlocked();
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
};

// Throws the Python exception of a kernel that was interrupted.
[[noreturn]] void raise_interrupted();

// Runs a kernel without the global interpreter lock. Python objects are created after the lock is acquired again.
template <class Work>
auto unlocked(const Work& work) {
    try {
        const Unlocked released;
        return work();
    } catch (const Interrupted&) {
        raise_interrupted();
    }
}

}  // namespace countwise
