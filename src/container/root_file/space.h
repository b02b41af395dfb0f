// Free space in a ROOT file. Records go into a gap that fits, else to the end. A gap is marked in the file by
// its negative length, so that a scan from record to record can skip it.
#ifndef COLONNADE_CONTAINER_ROOT_FILE_SPACE_H
#define COLONNADE_CONTAINER_ROOT_FILE_SPACE_H

#include <cstdint>
#include <optional>
#include <vector>

#include "format/tfile_records.h"

namespace colonnade::container {

// The gaps that mark a segment: one, unless it is too long for a marker.
std::vector<format::FreeSegment> gaps_of(const format::FreeSegment& segment);

class RootFileSpace {
 public:
  RootFileSpace() = default;
  explicit RootFileSpace(std::uint64_t end) : end_(end) {}

  std::uint64_t end() const noexcept { return end_; }

  struct Allocation {
    std::uint64_t offset = 0;
    // The remainder of the gap after the record: its marker must be written before the record.
    std::optional<format::FreeSegment> rest;
  };
  enum class Use { index, blob, journal };  // the journal always goes to the end
  Allocation allocate(std::uint64_t size, Use use);
  // The same, but only in a gap.
  std::optional<Allocation> allocate_in_gap(std::uint64_t size, Use use);
  std::uint64_t allocate_at_end(std::uint64_t size);

  // Adds a gap that the file has, with its marker. To be called in ascending order.
  void add(format::FreeSegment gap) { gaps_.push_back(gap); }
  // Frees a segment below end(); returns the gap that now contains it, whose marker must be written.
  format::FreeSegment release(format::FreeSegment segment);
  // Records a segment that the file lists as free but that must not be used; it is listed
  // again.
  void keep_listed(format::FreeSegment segment) { listed_.push_back(segment); }

  // Lets the next record start at `end` at the earliest; returns the resulting gaps, whose markers must be
  // written.
  std::vector<format::FreeSegment> skip_to(std::uint64_t end);

  // All free segments in order, the tail last, as if the file ended at `end`.
  std::vector<format::FreeSegment> segments(std::uint64_t end) const;

 private:
  std::vector<format::FreeSegment> gaps_;  // ascending, not adjacent, none too long for a marker
  std::vector<format::FreeSegment> listed_;
  std::uint64_t end_ = 0;
};

}  // namespace colonnade::container

#endif
