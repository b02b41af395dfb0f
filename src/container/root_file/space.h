// Which bytes of a ROOT file are free. Records go into a gap that they fit, else to the end. A gap is
// marked in the file by the negative of its length, so that whoever walks from record to record gets over it.
#ifndef COLONNADE_CONTAINER_ROOT_FILE_SPACE_H
#define COLONNADE_CONTAINER_ROOT_FILE_SPACE_H

#include <cstdint>
#include <optional>
#include <vector>

#include "format/tfile_records.h"

namespace colonnade::container {

class RootFileSpace {
 public:
  RootFileSpace() = default;
  explicit RootFileSpace(std::uint64_t end) : end_(end) {}

  std::uint64_t end() const noexcept { return end_; }

  struct Allocation {
    std::uint64_t offset = 0;
    // What is left of the gap behind the record: its marker must be written before the record is.
    std::optional<format::FreeSegment> rest;
  };
  enum class Use { index, blob, journal };  // the journal goes to the end
  Allocation allocate(std::uint64_t size, Use use);
  // The same in a gap, if there is one.
  std::optional<Allocation> allocate_in_gap(std::uint64_t size, Use use);
  std::uint64_t allocate_at_end(std::uint64_t size);

  // A gap that the file has, with its marker. Gaps come in ascending order.
  void add(format::FreeSegment gap) { gaps_.push_back(gap); }
  // Makes a segment below end() free again; returns the gap it now belongs to, whose marker must be written.
  format::FreeSegment release(format::FreeSegment segment);
  // A segment that the file lists as free but that is not to be used: it is listed again, nothing more.
  void keep_listed(format::FreeSegment segment) { listed_.push_back(segment); }

  // Lets the next record start at `end` at the earliest; returns the gaps this leaves, whose markers must be
  // written.
  std::vector<format::FreeSegment> skip_to(std::uint64_t end);

  // Everything that is free, in order, the tail last, as if the file ended at `end`.
  std::vector<format::FreeSegment> segments(std::uint64_t end) const;

 private:
  std::vector<format::FreeSegment> gaps_;  // ascending, apart, none longer than a marker can tell
  std::vector<format::FreeSegment> listed_;
  std::uint64_t end_ = 0;
};

}  // namespace colonnade::container

#endif
