// Repair: recovers what a writer wrote after its last checkpoint, if it could not close the file.
//
// A writer with WriteOptions::checkpoint_every leaves a file that opens with everything up to its last
// checkpoint, whatever happens to the process. Whole clusters written after that are in the file, too, each
// with a record of where its pages are. repair() finds these records, checks every page, adds complete
// clusters to the data set and replaces the anchor as a checkpoint does: a crash at any moment leaves a file
// that is as good as before. See docs/crash-safety.md.
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

// A cluster found after the last checkpoint that could not be recovered.
struct DroppedCluster {
  std::uint64_t offset = 0;       // of its record in the file
  std::uint64_t first_entry = 0;  // as its writer counted
  std::uint64_t entries = 0;
  std::string reason;
};

struct RepairReport {
  std::string data_set;
  // Entries of the last checkpoint.
  std::uint64_t entries = 0;
  std::uint64_t clusters = 0;
  // Entries recovered or, with dry_run, recoverable.
  std::uint64_t recovered_entries = 0;
  std::uint64_t recovered_clusters = 0;
  // How many of these clusters have other entry numbers than their writer gave them, because an earlier
  // cluster of another thread is lost.
  std::uint64_t renumbered_clusters = 0;
  std::vector<DroppedCluster> dropped;
  std::uint64_t torn_records = 0;  // of clusters that were being written when the writer ended
  std::uint64_t scanned_bytes = 0;
  bool written = false;  // the file was changed
};

// Repairs the data set at the path `data_set`; with an empty path the one that was being written, or the
// first one if the file needs no repair. An intact file is not changed. Throws ErrorKind::io if a writer has
// the file open.
RepairReport repair(const std::string& uri, std::string_view data_set = {},
                    const RepairOptions& options = {});

}  // namespace colonnade

#endif
