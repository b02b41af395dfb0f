// Lists of equal items: ROOT::RVecF(n, 0.105f).
#ifndef COLONNADE_FRAME_EXPRESSION_FILL_H
#define COLONNADE_FRAME_EXPRESSION_FILL_H

#include "frame/expression/function.h"

namespace colonnade::frame {

// The function of a number of items and their value; `item`, the type of the items, is a scalar.
Bound fill_list(const ValueType& item, const ValueType& count, const ValueType& value);

}  // namespace colonnade::frame

#endif
