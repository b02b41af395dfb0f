// FriendCursors: reads a source's columns for the parts of another source.
#ifndef COLONNADE_FRAME_SOURCES_FRIEND_CURSORS_H
#define COLONNADE_FRAME_SOURCES_FRIEND_CURSORS_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "frame/sources/source.h"

namespace colonnade::frame {

// The position in a friend within one part of the first source: a cursor for each of the friend's own parts
// with entries of that one, so that cursors never move backwards.
class FriendCursors {
 public:
  explicit FriendCursors(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  void start(const Part& part, std::span<const Part> next) {
    if (part.first == part_.first) used_ = 0;  // it is begun once more, perhaps with another end
    part_ = part;
    next_.assign(next.begin(), next.end());
    parts_.clear();
  }
  void expect(std::vector<std::uint32_t> columns, const std::vector<std::uint32_t>& certain) {
    expected_ = std::move(columns);
    certain_.insert(certain.begin(), certain.end());
  }
  void begin();
  ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory);
  std::uint64_t row_bytes(std::uint32_t column);
  void add_to(ReadMetrics& sum) const {
    for (const auto& cursor : cursors_) add_metrics(sum, cursor->metrics());
  }

 private:
  void enter();
  const std::vector<Part>& pieces_of(const Part& part);

  std::shared_ptr<const Source> source_;
  Part part_;  // of the first source, as those that follow
  std::vector<Part> next_;
  // The friend's parts that cover a part, by its first and last entry.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Part>> pieces_;
  std::vector<Part> parts_;  // those of part_; empty: not requested yet
  std::vector<std::uint32_t> expected_;
  std::set<std::uint32_t> certain_;  // and those that were read
  std::vector<std::unique_ptr<Cursor>> cursors_;
  std::size_t used_ = 0;
};

}  // namespace colonnade::frame

#endif
