// One history: stores and their contents, the actions of processes, and the invariants; all drawn from a
// seed.
#ifndef COLONNADE_SIMULATE_HISTORY_H
#define COLONNADE_SIMULATE_HISTORY_H

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rules.h"

namespace colonnade::simulate {

enum class StorageKind { s3, rados, daos, folder, root_file, bare_file, cache };
inline constexpr std::size_t storage_kind_count = 7;
inline constexpr std::size_t written_kind_count = 6;  // the first ones: data sets are written there
const char* name_of(StorageKind place) noexcept;

struct HistoryOptions {
  std::uint64_t seed = 0;
  std::optional<StorageKind> place;  // else drawn
  Rule broken = Rule::none;
  bool prints = false;
  std::set<unsigned> without_faults = {};  // numbers of faults that do not happen
  std::set<unsigned> without_tasks = {};   // and of tasks that are left out
  // Attribute sets, merges, file systems that lack something: what came to be drawn later.
  bool has_habits = true;
};

struct HistoryResult {
  StorageKind place = StorageKind::s3;
  std::string violation;  // empty: everything held
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
  std::vector<unsigned> faults;
  unsigned tasks = 0;  // that were drawn
};

// Once in each process, before any history.
void prepare_histories();
HistoryResult run_history(const HistoryOptions& options);

}  // namespace colonnade::simulate

#endif
