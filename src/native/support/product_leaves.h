// Leaves of nearby points and their bounding boxes; compiled once, for any processor.
#pragma once
#include "abi.h"

namespace countwise {

// Computes the order of countwise._kernels.reference.product_order.
void product_order(const Products& points, int64_t* order);
// Computes the boxes by column, (2 * columns + 1, leaves). Returns false if a value is infinite or a log weight is not
// below infinity.
bool product_boxes(const Products& points, double* boxes);

}  // namespace countwise
