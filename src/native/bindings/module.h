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

void define_sparse(nb::module_& m);
void define_integers(nb::module_& m);
void define_columns(nb::module_& m);
void define_objects(nb::module_& m);
void define_gauss(nb::module_& m);
void define_cuts(nb::module_& m);
void define_pairs(nb::module_& m);
void define_families(nb::module_& m);
void define_products(nb::module_& m);
void define_scores(nb::module_& m);
void define_scatter(nb::module_& m);
void define_paths(nb::module_& m);
void define_thresholds(nb::module_& m);
void define_bins(nb::module_& m);
void define_binning(nb::module_& m);
void define_neighbors(nb::module_& m);

}  // namespace countwise
