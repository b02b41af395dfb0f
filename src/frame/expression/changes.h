// What assignments to items and methods like push_back make of a list: a new one.
#ifndef COLONNADE_FRAME_EXPRESSION_CHANGES_H
#define COLONNADE_FRAME_EXPRESSION_CHANGES_H

#include "colonnade/block.h"

namespace colonnade::frame {

// Of (list, index of std::int64_t, item): the list with this item at the index.
KernelPtr replace_item(const ValueType& list);
// The error for an index that a list of `count` items does not have.
[[noreturn]] void fail_to_replace(const CallContext& context, std::size_t row, std::int64_t index,
                                  std::size_t count);
// Of (list, item)
KernelPtr append_item(const ValueType& list);
// Of (list): without its last item
KernelPtr remove_last(const ValueType& list);
// Of (list, size of std::int64_t, item): cut, or with this item behind the others as often as needed.
KernelPtr resize_list(const ValueType& list);
// Of (list, first, last), of std::int64_t: without the items from the first to before the last.
KernelPtr erase_items(const ValueType& list);
// Of (list, place, from, first, last): with those items of another list of this type before the place.
KernelPtr insert_items(const ValueType& list);

}  // namespace colonnade::frame

#endif
