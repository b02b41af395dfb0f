// FriendCursors: reads a source's columns for the parts of another source.
#ifndef COLONNADE_FRAME_SOURCES_FRIEND_CURSORS_H
#define COLONNADE_FRAME_SOURCES_FRIEND_CURSORS_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "frame/sources/source.h"

namespace colonnade::frame {

// The position in a friend within one part of the first source: a cursor for each of the friend's own parts
// with entries of that one, so that cursors never move backwards.
class FriendCursors {
 public:
  explicit FriendCursors(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  void start(const Part& part) {
    first_ = part.first;
    last_ = part.last;
    parts_.clear();
  }
  ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory);
  std::uint64_t row_bytes(std::uint32_t column);
  void add_to(ReadMetrics& sum) const {
    for (const auto& cursor : cursors_) add_metrics(sum, cursor->metrics());
  }

 private:
  void enter();

  std::shared_ptr<const Source> source_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::vector<Part> parts_;  // empty: not requested yet
  std::vector<std::unique_ptr<Cursor>> cursors_;
  std::size_t used_ = 0;
};

}  // namespace colonnade::frame

#endif
