// Leaves of points that are near each other, and what they span; compiled once, for any processor.
#pragma once
#include "abi.h"

namespace countwise {

// The order of countwise._kernels.reference.product_order.
void product_order(const Products& points, int64_t* order);
// Boxes by column, (2 * columns + 1, leaves). False if a cell is infinite or a weight is not below infinity.
bool product_boxes(const Products& points, double* boxes);

}  // namespace countwise
