// FriendPlace: a source whose columns are read beside those of another one, whatever its own parts are.
#ifndef COLONNADE_FRAME_SOURCES_FRIEND_PLACE_H
#define COLONNADE_FRAME_SOURCES_FRIEND_PLACE_H

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "frame/sources/source.h"

namespace colonnade::frame {

// A friend while one part of the first source is gone through: a cursor for each of its own parts that have
// entries of that one, so that no column makes another one go back.
class FriendPlace {
 public:
  explicit FriendPlace(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

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
  std::vector<Part> parts_;  // empty: not asked for yet
  std::vector<std::unique_ptr<Cursor>> cursors_;
  std::size_t used_ = 0;
};

}  // namespace colonnade::frame

#endif
