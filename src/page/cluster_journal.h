// The journal: with checkpoints enabled, a writer puts a record after the pages of each cluster, so that
// repair can find clusters written after the last checkpoint. A record is a separate blob at the end of the
// file at that time:
//
//   "CldJrnl2" 8 | run: begin 8, number 8 | offset of the header 8 | checksum of the header 8 |
//   stored size 8 | size 8 | XXH3 of the stored page list 8 | XXH3 of all that 8 |
//   page list of the one cluster, an envelope as in the specification, compressed as all envelopes are
//
// A run is one writer from opening to closing, identified by the size of the file at its beginning, which
// grows from run to run, and a random number. Offset and checksum of the header identify the data set.
//
// Each footer is followed, in the same blob, by a record of its run, unless the two exceed the maximum size
// of a key:
//
//   "CldComm2" 8 | run: begin 8, number 8 | offset of the header 8 | 1: the run ended with it 8 |
//   XXH3 of the stored footer 8 | XXH3 of all that 8
//
// Readers ignore both: nothing points to them. Version 1 had no runs: its records are
//
//   page list | offset of the header 8 | XXH3 of the 16 bytes before 8
#ifndef COLONNADE_PAGE_CLUSTER_JOURNAL_H
#define COLONNADE_PAGE_CLUSTER_JOURNAL_H

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
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

// The record after a footer.
struct CommitRecord {
  JournalRun run;
  bool is_last = false;
};
// The blob of a footer: with its record, if that leaves it in one key.
Bytes footer_blob(const Descriptor& descriptor, const CommitRecord& record, ByteSpan stored_footer,
                  std::uint64_t max_key_size);
// The commit record of the footer that the anchor points to; empty if there is none.
std::optional<CommitRecord> read_commit_record(const io::RandomAccessFile& file, const Anchor& anchor);

// A record with valid checksums. Its statements about pages are not checked yet.
struct JournalRecord {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;         // of the whole record
  std::optional<JournalRun> run;  // empty: version 1
  ClusterDescriptor cluster;
  std::string problem;  // why `cluster` is invalid; else empty
};

struct JournalScan {
  std::uint64_t bytes = 0;       // searched
  std::vector<JournalRun> torn;  // runs of incomplete records, one for each
  bool given_up = false;         // too many candidates: the file must be hostile
};

// Searches [first, end of the file) for the records of a data set and passes them to `found` in file order.
// Takes memory for one block of the file and the largest record.
JournalScan scan_journal(const io::RandomAccessFile& file, std::uint64_t first, const Descriptor& descriptor,
                         const std::function<void(JournalRecord&&)>& found);

// What tells the data set of a record.
struct JournalTrace {
  std::optional<std::uint64_t> header_offset;    // empty: version 1
  std::optional<std::uint64_t> header_checksum;  // of version 1; else empty
  std::optional<JournalRun> run;                 // empty: version 1
};
// Searches [first, end of the file) once for records of any data set, so that a file with many data sets is
// not searched for each of them. What it passes to `found` may be no record after all. Version 1: only data
// sets with these header checksums.
void trace_journal(const io::RandomAccessFile& file, std::uint64_t first,
                   const std::unordered_set<std::uint64_t>& old_checksums,
                   const std::function<void(const JournalTrace&)>& found);

}  // namespace colonnade::page

#endif
