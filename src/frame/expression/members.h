// Members of records, and of records within lists.
#ifndef COLONNADE_FRAME_EXPRESSION_MEMBERS_H
#define COLONNADE_FRAME_EXPRESSION_MEMBERS_H

#include <optional>
#include <string_view>

#include "colonnade/block.h"

namespace colonnade::frame {

// The kernel that makes a record of this type of its members, in their order.
KernelPtr record_kernel(const ValueType& type);
// The kernel that extracts member `index` from records of this type, or from the records in lists of this
// type.
KernelPtr member_kernel(const ValueType& type, std::size_t index);
// The index of the member that a kernel extracts; none for other kernels.
std::optional<std::size_t> member_index(const Kernel& kernel);

// One row of a list without items.
ValuesPtr empty_list(const ValueType& item);
// One row of 0, "", an empty list, or a record of them.
ValuesPtr zero_of(const ValueType& type);

}  // namespace colonnade::frame

#endif
