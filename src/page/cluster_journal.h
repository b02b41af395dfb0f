// The journal: with checkpoints on, a writer puts a record behind the pages of each cluster, so that repair
// can find clusters that were written after the last checkpoint. A record is a blob of its own at the end of
// the file as it was then:
//
//   "CldJrnl2" 8 | run: begin 8, number 8 | offset of the header 8 | checksum of the header 8 |
//   stored size 8 | size 8 | XXH3 of the stored page list 8 | XXH3 of all that 8 |
//   page list of the one cluster, an envelope as in the specification, compressed as all envelopes are
//
// A run is one writer from its opening to its end: the size that the file had when it began, which grows from
// run to run, and a random number. Offset and checksum of the header tell data sets apart.
//
// Behind each footer, in the same blob, stands which run it is of:
//
//   "CldComm2" 8 | run: begin 8, number 8 | offset of the header 8 | 1: the run ended with it 8 |
//   XXH3 of the stored footer 8 | XXH3 of all that 8
//
// Readers never look at either: nothing points to them. Version 1 had no runs: its records are
//
//   page list | offset of the header 8 | XXH3 of the 16 bytes before 8
#ifndef COLONNADE_PAGE_CLUSTER_JOURNAL_H
#define COLONNADE_PAGE_CLUSTER_JOURNAL_H

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codec/compression.h"
#include "colonnade/descriptor.h"
#include "io/random_access_file.h"

namespace colonnade::page {

// Later runs are greater.
struct JournalRun {
  std::uint64_t begin = 0;
  std::uint64_t number = 0;
  auto operator<=>(const JournalRun&) const = default;
};

// The record of descriptor.clusters[cluster].
Bytes journal_record(const Descriptor& descriptor, std::size_t cluster, const JournalRun& run,
                     const codec::CompressionSettings& compression);

// What stands behind a footer.
struct CommitRecord {
  JournalRun run;
  bool is_last = false;
};
Bytes commit_record(const Descriptor& descriptor, const CommitRecord& record, ByteSpan stored_footer);
// That of the footer to which the anchor points; nothing if there is none.
std::optional<CommitRecord> read_commit_record(const io::RandomAccessFile& file, const Anchor& anchor);

// A record as it was found, with sums that agree. What it says of pages is not checked yet.
struct JournalRecord {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;         // of the whole record
  std::optional<JournalRun> run;  // nothing: version 1
  ClusterDescriptor cluster;
  std::string problem;  // why `cluster` could not be taken from the record; else empty
};

struct JournalScan {
  std::uint64_t bytes = 0;       // looked at
  std::vector<JournalRun> torn;  // runs of records that begin and do not end, one for each
  bool given_up = false;         // there are so many of these that the file must be made to waste time
};

// Looks for the records of a data set anywhere in [first, end of the file) and gives them to `found`, in
// the order of the file. Memory is bounded by a block of the file and the largest record.
JournalScan scan_journal(const io::RandomAccessFile& file, std::uint64_t first, const Descriptor& descriptor,
                         const std::function<void(JournalRecord&&)>& found);

}  // namespace colonnade::page

#endif
