// The parts of the Python module.
#pragma once
#include "arrays.h"

namespace countwise {

// The kernels of the level in use.
const Kernels& kernels();

// Runs a kernel without the interpreter's lock; whatever is returned to Python is made after it is held again.
template <class Work>
auto unlocked(Work work) {
    nb::gil_scoped_release release;
    return work();
}

// The functions of one file, which are defined when the module is imported.
struct Bindings {
    explicit Bindings(void (*define)(nb::module_& m));
};

}  // namespace countwise
