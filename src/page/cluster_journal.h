// The journal: with checkpoints on, a writer puts a record behind the pages of each cluster, so that repair
// can find clusters that were written after the last checkpoint. A record is a blob of its own, never
// compressed:
//
//   page list of the one cluster | offset of the header 8 | XXH3 of the 16 bytes before 8
//
// The page list is an envelope as in the specification: type and length 8, header checksum 8, ..., XXH3 of
// all that 8. The header's offset tells data sets with the same schema in one file apart. Readers never look
// at the journal: nothing points to it.
#ifndef COLONNADE_PAGE_CLUSTER_JOURNAL_H
#define COLONNADE_PAGE_CLUSTER_JOURNAL_H

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "colonnade/descriptor.h"
#include "io/random_access_file.h"

namespace colonnade::page {

// The record of descriptor.clusters[cluster].
Bytes journal_record(const Descriptor& descriptor, std::size_t cluster);

// A record as it was found, with sums that agree. What it says of pages is not checked yet.
struct JournalRecord {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // of the whole record
  ClusterDescriptor cluster;
  std::string problem;  // why `cluster` could not be taken from the record; else empty
};

struct JournalScan {
  std::uint64_t bytes = 0;  // looked at
  std::uint64_t torn = 0;   // places that begin like a record and do not hold one
  bool given_up = false;    // there are so many of these that the file must be made to waste time
};

// Looks for the records of a data set anywhere in [first, end of the file) and gives them to `found`, in
// the order of the file. Memory is bounded by a block of the file and the largest record.
JournalScan scan_journal(const io::RandomAccessFile& file, std::uint64_t first, const Descriptor& descriptor,
                         const std::function<void(JournalRecord&&)>& found);

}  // namespace colonnade::page

#endif
