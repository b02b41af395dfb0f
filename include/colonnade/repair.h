// Repair: bringing back what a writer wrote after its last checkpoint, when it could not close the file.
//
// A writer with WriteOptions::checkpoint_every leaves a file that opens with everything up to its last
// checkpoint, whatever happens to it. Whole clusters that it wrote after that are in the file, too, each with
// a record of where its pages are. repair() finds these, checks every page, adds what is whole to the data
// set and replaces the anchor as a checkpoint does: at any moment of it, and after a crash, the file is as
// good as before. docs/crash-safety.md explains it.
#ifndef COLONNADE_REPAIR_H
#define COLONNADE_REPAIR_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colonnade {

struct RepairOptions {
  bool dry_run = false;  // only report
};

// A cluster that was found behind the last checkpoint and could not be brought back.
struct DroppedCluster {
  std::uint64_t offset = 0;       // of its record in the file
  std::uint64_t first_entry = 0;  // as its writer counted
  std::uint64_t entries = 0;
  std::string reason;
};

struct RepairReport {
  std::string data_set;
  // As of the last checkpoint.
  std::uint64_t entries = 0;
  std::uint64_t clusters = 0;
  // Brought back, or with dry_run: what would be.
  std::uint64_t recovered_entries = 0;
  std::uint64_t recovered_clusters = 0;
  // How many of these have other entry numbers than their writer gave them, since a cluster before them,
  // which another thread wrote, is lost.
  std::uint64_t renumbered_clusters = 0;
  std::vector<DroppedCluster> dropped;
  std::uint64_t torn_records = 0;  // of clusters that were being written
  std::uint64_t scanned_bytes = 0;
  bool written = false;  // the file was changed
};

// Repairs the data set at the path `data_set`; with an empty path the one that was being written, or the
// first one if the file needs nothing. A file that needs nothing is left as it is. Throws ErrorKind::io if a
// writer has the file open.
RepairReport repair(const std::string& uri, std::string_view data_set = {},
                    const RepairOptions& options = {});

}  // namespace colonnade

#endif
