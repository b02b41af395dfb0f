// Budget: keeps a home within its bytes. Before something is written that does not fit, what was not used for
// the longest time goes, by column and cluster, but for what is pinned. Used by threads of the home.
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

  // Whether so many bytes may be written; if so, written() says when they are, or that they were not. Throws
  // what the store does.
  bool make_room(io::ObjectStore& store, std::uint64_t bytes);
  void written(std::uint64_t bytes);
  // Looks whether what others have written in the meantime is too much together with what this process has;
  // when it has written all it had. Throws what the store does.
  void settle(io::ObjectStore& store);
  std::uint64_t evicted() const;

 private:
  Home* home_;
  mutable std::mutex mutex_;
  std::optional<std::uint64_t> used_;  // when it was looked at last, and what was added since
  std::uint64_t added_ = 0;            // since then
  std::uint64_t pending_ = 0;          // being written by this process
  std::uint64_t evicted_ = 0;
};

// Removes what was not used for the longest time until at most `most` bytes are left. Returns how many there
// were, and how many are left.
struct Usage {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};
Usage evict(io::ObjectStore& store, std::uint64_t above, std::uint64_t most, const Home* home);

}  // namespace colonnade::cache

#endif
