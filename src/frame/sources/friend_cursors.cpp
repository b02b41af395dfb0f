// See friend_cursors.h.
#include "frame/sources/friend_cursors.h"

#include <numeric>
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
  certain_.insert(column);
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

void FriendCursors::begin() {
  if (expected_.empty()) return;
  enter();
  cursors_[0]->begin();
}

const std::vector<Part>& FriendCursors::pieces_of(const Part& part) {
  const auto [at, is_new] = pieces_.try_emplace({part.first, part.last});
  if (is_new) at->second = source_->parts(part.first, part.last);
  return at->second;
}

// The cursor that ends in a part goes on in the next one, as the first; so it is known what each one will
// read.
void FriendCursors::enter() {
  if (!parts_.empty()) return;
  pieces_.erase(pieces_.begin(), pieces_.lower_bound({part_.first, 0}));
  parts_ = pieces_of(part_);
  if (used_ > 1) std::swap(cursors_[0], cursors_[used_ - 1]);
  used_ = parts_.size();
  std::vector<std::vector<Part>> next(used_);  // of each cursor
  std::vector<std::size_t> order(used_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t used = used_;
  for (const Part& part : next_) {
    if (used > 1) std::swap(order[0], order[used - 1]);
    used = std::min(pieces_of(part).size(), used_);
    for (std::size_t k = 0; k < used; ++k) next[order[k]].push_back(pieces_of(part)[k]);
  }
  while (cursors_.size() < used_) cursors_.push_back(source_->open());
  const std::vector<std::uint32_t> certain(certain_.begin(), certain_.end());
  for (std::size_t k = 0; k < used_; ++k) {
    cursors_[k]->expect(expected_, certain);
    cursors_[k]->start(parts_[k], next[k]);
  }
  for (std::size_t k = 1; k < used_; ++k) cursors_[k]->begin();
}

}  // namespace colonnade::frame
