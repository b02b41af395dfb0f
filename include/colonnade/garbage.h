// Garbage collection in object stores: removes what writers that ended without close() left behind, and
// replaced data sets. Files hold no such garbage.
//
// The anchor of a data set names one generation of objects, or several if the data set was continued; before
// the first commit it names none. A writer claims the name and makes a generation of its own. All other
// generations are garbage: no reader can reach them.
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
  // A writer renews its claim while it lives. If the state of its process is unknown, as for other machines,
  // the claim is watched for the time of its lease (60 s), or for this many seconds,
  std::optional<double> older_than = {};
  // or every claim is revoked at once. A writer that is still at work fails at its next commit; what it has
  // committed stays. Also removes values in a folder that no record mentions, which a crash of the machine
  // may leave, unless a record cannot be read.
  bool force = false;
};

// A generation that was removed or, with dry_run, would be.
struct RemovedGeneration {
  std::string data_set;  // empty: no record names it
  std::uint32_t generation = 0;
  std::uint64_t objects = 0;      // that its writer had reserved; it may have written fewer
  bool uncommitted_part = false;  // only data written after the last commit of a data set that stays
};

struct GarbageClaim {
  std::string data_set;
  std::string writer;  // process, host, since when
};

struct GarbageReport {
  std::vector<RemovedGeneration> removed;
  std::vector<GarbageClaim> released;  // claims of writers that have ended
  std::vector<GarbageClaim> kept;      // claims of writers that run, or whose state is unknown
  std::uint64_t leftovers = 0;         // files in a folder, left by writers that were killed
  std::vector<std::string> problems;   // records that cannot be read; the objects that they name stay
};

// Throws ErrorKind::usage for a file. Never removes data that a committed data set needs.
GarbageReport collect_garbage(const std::string& uri, const GarbageOptions& options = {});

// Removes a data set and everything that belongs to it from an object store. Throws ErrorKind::not_found if
// there is no data set of this name, ErrorKind::usage while it is being written.
void remove_data_set(const std::string& uri, std::string_view data_set);

}  // namespace colonnade

#endif
