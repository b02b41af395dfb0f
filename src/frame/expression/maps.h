// std::map and std::set: a record of one list, of pairs or keys in rising order of the keys, each once.
#ifndef COLONNADE_FRAME_EXPRESSION_MAPS_H
#define COLONNADE_FRAME_EXPRESSION_MAPS_H

#include "colonnade/block.h"

namespace colonnade::frame {

bool is_map(const ValueType& type);  // or a set
bool is_set(const ValueType& type);
// The list of pairs or keys.
const ValueType& items_of_map(const ValueType& map);
const ValueType& key_of_map(const ValueType& map);

enum class KeyPlace : std::uint8_t {
  of_key,    // or behind the last one, if there is none
  needed,    // an error that names the entry, if there is none
  not_less,  // the first key that is not less
  first_greater
};
// Of (list of pairs or keys, key): a place, std::int64_t.
KernelPtr key_place(const ValueType& map, KeyPlace kind);
// Of (list of pairs or keys): in order, without those whose key was there before.
KernelPtr in_order_of_keys(const ValueType& map);

}  // namespace colonnade::frame

#endif
