// See friend_cursors.h.
#include "frame/sources/friend_cursors.h"

#include <span>

#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

// The number of rows before an entry.
std::size_t rows_before(const Rows& rows, std::uint64_t entry) {
  if (rows.indices == nullptr)
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(entry, rows.first, rows.first + rows.size) -
                                    rows.first);
  const auto* end = rows.indices + rows.size;
  return static_cast<std::size_t>(
      std::partition_point(rows.indices, end,
                           [&](std::uint32_t index) { return rows.first + index < entry; }) -
      rows.indices);
}

Rows part_of(const Rows& rows, std::size_t from, std::size_t to) {
  if (rows.indices == nullptr) return {rows.first + from, to - from, nullptr};
  return {rows.first, to - from, rows.indices + from};
}

}  // namespace

ValuesPtr FriendCursors::read(std::uint32_t column, const Rows& rows, BlockMemory& memory) {
  enter();
  std::vector<ValuesPtr> pieces;
  std::size_t done = 0;
  for (std::size_t k = 0; k < parts_.size() && done < rows.size; ++k) {
    const std::size_t end = rows_before(rows, parts_[k].last);
    if (end <= done) continue;
    pieces.push_back(cursors_[k]->read(column, part_of(rows, done, end), memory));
    done = end;
  }
  if (pieces.empty()) return cursors_.front()->read(column, part_of(rows, 0, 0), memory);
  return pieces.size() == 1 ? pieces.front() : concatenate(pieces, memory);
}

std::uint64_t FriendCursors::row_bytes(std::uint32_t column) {
  enter();
  std::uint64_t most = 0;
  for (std::size_t k = 0; k < parts_.size(); ++k)
    most = std::max(most, cursors_[k]->row_bytes(std::span(&column, 1)));
  return most;
}

void FriendCursors::enter() {
  if (!parts_.empty()) return;
  parts_ = source_->parts(first_, last_);
  while (cursors_.size() < parts_.size()) cursors_.push_back(source_->open());
  // The previous last cursor continues as the first one.
  if (used_ > 1) std::swap(cursors_[0], cursors_[used_ - 1]);
  used_ = parts_.size();
  for (std::size_t k = 0; k < used_; ++k) cursors_[k]->start(parts_[k], nullptr);
}

}  // namespace colonnade::frame
