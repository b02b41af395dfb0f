// Members of records, and of records within lists.
#ifndef COLONNADE_FRAME_EXPRESSION_MEMBERS_H
#define COLONNADE_FRAME_EXPRESSION_MEMBERS_H

#include <string_view>

#include "colonnade/block.h"

namespace colonnade::frame {

// The kernel that takes member `index` of a record of this type, or of the records that lists of this type
// hold.
KernelPtr member_kernel(const ValueType& type, std::size_t index);

// One row of a list without items.
ValuesPtr empty_list(const ValueType& item);

}  // namespace colonnade::frame

#endif
