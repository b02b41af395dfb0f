// Budget: keeps a home within its size. Before something that does not fit is written, the least recently
// used columns and clusters are removed, except pinned ones. Used by the threads of a home.
#ifndef COLONNADE_CACHE_BUDGET_H
#define COLONNADE_CACHE_BUDGET_H

#include <cstdint>
#include <mutex>
#include <optional>

#include "io/object_store.h"

namespace colonnade::cache {

class Home;

class Budget {
 public:
  explicit Budget(Home& home) : home_(&home) {}

  // Whether so many bytes may be written. If so, written() must be called when they are, or were not.
  // Throws what the store throws.
  bool make_room(io::ObjectStore& store, std::uint64_t bytes);
  void written(std::uint64_t bytes);
  // Called when this process has written everything: checks whether that and what others have written
  // meanwhile exceed the budget. Throws what the store throws.
  void settle(io::ObjectStore& store);

 private:
  Home* home_;
  mutable std::mutex mutex_;
  std::optional<std::uint64_t> used_;  // as last listed
  std::uint64_t added_ = 0;            // since then
  std::uint64_t pending_ = 0;          // being written by this process
};

// Removes the least recently used data until at most `most` bytes are left. Returns the number of bytes
// before and after.
struct Usage {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};
Usage evict(io::ObjectStore& store, std::uint64_t above, std::uint64_t most, const Home* home);

}  // namespace colonnade::cache

#endif
