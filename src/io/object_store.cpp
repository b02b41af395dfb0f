// Common to all object stores: addresses in messages, and the queue of stores without one of their
// own.
#include "io/object_store.h"

#include <fmt/format.h>

#include "io/thread_queue.h"

namespace colonnade::io {

std::string to_text(const ObjectId& object) {
  return fmt::format("object {}:{}", object.group, object.number);
}

std::string to_text(const ValueAddress& address) {
  return fmt::format("{}, distribution key {}, attribute key {}", to_text(address.object), address.dkey,
                     address.akey);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> ObjectStore::list_values(const ObjectId& object) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keys;
  for (const std::uint64_t dkey : list_dkeys(object))
    for (const std::uint64_t akey : list_akeys(object, dkey)) keys.emplace_back(dkey, akey);
  return keys;
}

std::unique_ptr<ObjectQueue> ObjectStore::open_queue(unsigned depth) {
  return make_thread_queue(*this, depth);
}

}  // namespace colonnade::io
