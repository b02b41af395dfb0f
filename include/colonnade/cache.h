// The cache: what a home has, and what is done with it on purpose. Reading through a cache takes no more than
// ReadOptions::cache; see docs/cache.md.
//
// `home` in what follows is what ReadOptions::cache takes; empty: COLONNADE_CACHE or the configuration, else
// the folder of this user. Any number of processes may do any of this at the same time.
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
  std::uint64_t clusters = 0;  // of which there is something
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;  // at most; up to an eighth less
  bool pinned = false;
  std::int64_t last_use = 0;  // seconds of 1970; 0: nobody has said
};

struct CachedDataSet {
  std::uint64_t number = 0;
  std::string uri;  // empty: what the home says of it is damaged
  std::string name;
  std::string version;  // of the origin
  std::uint64_t bytes = 0;
  bool pinned = false;             // any of it
  std::vector<std::string> users;  // "name@host"
  std::int64_t last_use = 0;
  std::vector<CachedColumn> columns;
};

// Where a cache is: the place without its options, and how many bytes it may have. Empty: there is none for
// these data, which are on this machine or not (`is_remote`). Throws ErrorKind::usage.
struct CacheHome {
  std::string uri;
  std::uint64_t budget = 0;
};
CacheHome cache_home(const std::string& home, bool is_remote);

// What there is, the data sets used last first. Throws ErrorKind::not_found if there is no such home, io.
std::vector<CachedDataSet> cached_data_sets(const std::string& home = {});

// Reads the fields (all without names) of a data set through the cache, so that it has all of them.
// `progress` is called now and then with what is done of all, 0 to 1. Returns the bytes that it did not have
// before. Throws ErrorKind::io if the home takes nothing.
std::uint64_t warm_cache(std::string_view name, const std::string& uri,
                         const std::vector<std::string>& fields = {}, const std::string& home = {},
                         const std::function<void(double)>& progress = {});

struct CacheCheck {
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t damaged = 0;  // values, which were removed
  std::uint64_t unknown = 0;  // values of data sets whose metadata are missing: nothing is known of them
};
CacheCheck verify_cache(const std::string& home = {});

// Columns of the data sets at `uri`, below the fields (all without names), stay when room is made, or no
// longer. Returns the number of data sets that this was about; several states of a file are several.
std::uint64_t pin_cached(const std::string& uri, const std::vector<std::string>& fields = {},
                         const std::string& home = {});
std::uint64_t unpin_cached(const std::string& uri, const std::string& home = {});

// Bytes that were removed. Pins do not keep from that.
std::uint64_t remove_cached(const std::string& uri, const std::vector<std::string>& fields = {},
                            const std::string& home = {});

struct CacheGarbage {
  std::uint64_t leftovers = 0;  // unfinished values of processes that ended
  std::uint64_t outdated = 0;   // bytes of states of data sets that a later one has replaced
  std::uint64_t evicted = 0;    // bytes above the budget
  std::uint64_t bytes = 0;      // that are left
};
CacheGarbage collect_cache_garbage(const std::string& home = {});

// Waits until what was read has been added to the homes, as long as that goes on and `seconds` at most. It is
// not needed: a process does so when it ends. False: something is left.
bool flush_cache(double seconds = 60);

}  // namespace colonnade

#endif
