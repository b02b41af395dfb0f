// Object stores in the memory of this process, "memory+obj:name", for tests. A store lives until
// remove_memory_store(), even if it is not open; open handles keep their content. Thread-safe. After a fork
// the child has a copy of its own.
#ifndef COLONNADE_IO_MEMORY_MEMORY_STORE_H
#define COLONNADE_IO_MEMORY_MEMORY_STORE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/object_store.h"

namespace colonnade::io {

std::shared_ptr<ObjectStore> open_memory_store(const std::string& uri, const StoreOptions& options = {});

// Below, `uri` may omit "memory+obj:". A missing store is created.

// Sets the traits that the store reports, also to open handles; sizes and numbers of items are
// enforced.
void set_memory_store_traits(const std::string& uri, const StoreTraits& traits);

// Requested operations, whether they failed or not, and the bytes moved by successful ones.
struct StoreCounts {
  std::uint64_t fetches = 0;
  std::uint64_t fetched_items = 0;
  std::uint64_t fetched_bytes = 0;
  std::uint64_t updates = 0;
  std::uint64_t updated_items = 0;
  std::uint64_t updated_bytes = 0;
  std::uint64_t sizes = 0;
  std::uint64_t gets = 0;
  std::uint64_t puts = 0;
  std::uint64_t lists = 0;
  std::uint64_t removals = 0;
  std::uint64_t syncs = 0;
};
StoreCounts memory_store_counts(const std::string& uri);
void reset_memory_store_counts(const std::string& uri);

// All addresses that have a value, in ascending order.
std::vector<ValueAddress> memory_store_addresses(const std::string& uri);

// From now on, opening the store returns the result of `wrap` (see fault_store.h); null: the store
// itself.
void wrap_memory_store(const std::string& uri,
                       std::function<std::shared_ptr<ObjectStore>(std::shared_ptr<ObjectStore>)> wrap);

void remove_memory_store(const std::string& uri) noexcept;

}  // namespace colonnade::io

#endif
