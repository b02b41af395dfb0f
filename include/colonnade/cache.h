// The cache: what a cache home holds, and explicit operations on it. Reading through a cache takes nothing
// but ReadOptions::cache; see docs/cache.md.
//
// `home` below is what ReadOptions::cache takes; if it is empty: COLONNADE_CACHE or the configuration, else
// this user's folder. Any number of processes may call these functions at the same time.
#ifndef COLONNADE_CACHE_H
#define COLONNADE_CACHE_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/options.h"

namespace colonnade {

struct CachedColumn {
  std::string field;
  std::uint32_t column = 0;
  std::uint64_t clusters = 0;  // with at least one page
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;  // upper bound, at most an eighth too high
  bool pinned = false;
  std::int64_t last_use = 0;  // Unix time; 0: unknown
};

struct CachedDataSet {
  std::uint64_t number = 0;
  std::string uri;  // empty: the record in the home is damaged
  std::string name;
  std::string version;  // of the origin
  std::uint64_t bytes = 0;
  bool pinned = false;             // at least one column
  std::vector<std::string> users;  // "name@host"
  std::int64_t last_use = 0;
  std::vector<CachedColumn> columns;
};

// Where a cache is: the place without its options, and its budget in bytes. Empty if no cache applies to such
// data (`is_remote`: they are on another machine). Throws ErrorKind::usage.
struct CacheHome {
  std::string uri;
  std::uint64_t budget = 0;
};
CacheHome cache_home(const std::string& home, bool is_remote);

// The data sets in the home, most recently used first. Throws ErrorKind::not_found if there is no home, io.
std::vector<CachedDataSet> cached_data_sets(const std::string& home = {});

// Reads the fields of a data set (all, if none are named) through the cache, so that it holds all of them.
// Calls `progress` now and then with the fraction done, 0 to 1. Returns the number of bytes added. Throws
// ErrorKind::io if the home accepts no data, or the origin has no version (docs/cache.md).
std::uint64_t warm_cache(std::string_view name, const std::string& uri,
                         const std::vector<std::string>& fields = {}, const std::string& home = {},
                         const std::function<void(double)>& progress = {});

struct CacheCheck {
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;  // damaged values, now removed
  std::uint64_t unknown = 0;  // values of data sets whose metadata are missing; they cannot be checked
};
CacheCheck verify_cache(const std::string& home = {});

// Pins or unpins the columns of these fields (all, if none are named) of the data sets at `uri`: eviction
// skips pinned columns. Returns the number of data sets; each state of a changed file counts.
std::uint64_t pin_cached(const std::string& uri, const std::vector<std::string>& fields = {},
                         const std::string& home = {});
std::uint64_t unpin_cached(const std::string& uri, const std::string& home = {});

// Returns the number of bytes removed. Pinned columns are removed, too.
std::uint64_t remove_cached(const std::string& uri, const std::vector<std::string>& fields = {},
                            const std::string& home = {});

struct CacheGarbage {
  std::uint64_t leftovers = 0;  // unfinished values of processes that have ended
  std::uint64_t outdated = 0;   // bytes of data sets that have changed since
  std::uint64_t evicted = 0;    // bytes above the budget
  std::uint64_t bytes = 0;      // what remains
};
CacheGarbage collect_cache_garbage(const std::string& home = {});

// Waits until all pages read so far are in their homes, at most `seconds`. A process that ends does so by
// itself. Returns false if pages remain.
bool flush_cache(double seconds = 60);

}  // namespace colonnade

#endif
