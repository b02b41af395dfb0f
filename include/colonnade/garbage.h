// Garbage of object stores: what writers left behind that ended without close(), or data sets that were
// replaced. In files nothing of the kind can be.
//
// Every data set of a store has one generation of objects that its anchor names, or none before the first
// commit; one that was continued has several. A writer claims the name and makes a generation of its own.
// Others than these are garbage: nobody can read them.
#ifndef COLONNADE_GARBAGE_H
#define COLONNADE_GARBAGE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade {

struct GarbageOptions {
  bool dry_run = false;  // only report
  // A writer renews its claim while it lives. Where nothing is known of its process, which is so on other
  // machines, the claim is watched for the time of its lease (60 s), or for this many seconds,
  std::optional<double> older_than = {};
  // or every claim is taken away at once. A writer that is still at work fails at its next commit; what it
  // has committed stays. Also removes values in a folder that no record speaks of, which a machine that went
  // down may leave, unless a record cannot be read.
  bool force = false;
};

// A generation that was removed, or with dry_run: would be.
struct RemovedGeneration {
  std::string data_set;  // empty: no record says
  std::uint32_t generation = 0;
  std::uint64_t objects = 0;      // that its writer had reserved: it may have written fewer
  bool uncommitted_part = false;  // only what was written after the last commit of a data set that stays
};

struct GarbageClaim {
  std::string data_set;
  std::string writer;  // process, host, since when
};

struct GarbageReport {
  std::vector<RemovedGeneration> removed;
  std::vector<GarbageClaim> released;  // claims of writers that are gone
  std::vector<GarbageClaim> kept;      // of those at work, or about which nothing is known
  std::uint64_t leftovers = 0;         // files in a folder that writers left that were killed
  std::vector<std::string> problems;   // records that cannot be read: what they speak of is left as it is
};

// Throws ErrorKind::usage for a file. Never removes what a committed data set needs.
GarbageReport collect_garbage(const std::string& uri, const GarbageOptions& options = {});

// Removes a data set from an object store with all that belongs to it. Throws ErrorKind::not_found if there
// is none of this name, ErrorKind::usage while it is being written.
void remove_data_set(const std::string& uri, std::string_view data_set);

}  // namespace colonnade

#endif
