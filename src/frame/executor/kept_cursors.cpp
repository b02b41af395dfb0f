// See kept_cursors.h.
#include "frame/executor/kept_cursors.h"

#include <algorithm>
#include <span>
#include <utility>

namespace colonnade::frame {

std::vector<Part> KeptCursors::after(std::uint64_t entry, std::size_t most) const {
  const auto begin = std::ranges::upper_bound(parts_, entry, {}, &Part::last);
  const auto count = std::min(most, static_cast<std::size_t>(parts_.end() - begin));
  std::vector<Part> next(begin, begin + static_cast<std::ptrdiff_t>(count));
  if (!next.empty()) next.front().first = std::max(next.front().first, entry);
  return next;
}

std::unique_ptr<Cursor> KeptCursors::take(std::uint64_t first) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(kept_, [first](const Kept& each) { return each.is_told && each.at == first; });
  if (found == kept_.end()) return nullptr;
  std::unique_ptr<Cursor> cursor = std::move(found->cursor);
  kept_.erase(found);
  return cursor;
}

void KeptCursors::give_back(std::unique_ptr<Cursor> cursor, std::uint64_t last) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({std::move(cursor), last, false});
}

void KeptCursors::go_on_at(std::uint64_t entry, std::size_t workers) {
  const std::lock_guard lock(mutex_);
  const std::vector<Part> next = after(entry, workers == 1 ? 1 + source_->parts_ahead() : workers);
  const std::span<const Part> behind = std::span(next).subspan(std::min<std::size_t>(next.size(), 1));
  for (Kept& each : kept_) each.is_told = false;
  for (std::size_t k = 0; k < std::min(next.size(), workers); ++k) {
    const Part& part = next[k];
    // Best the one that comes from there: it has the page across the border, or has begun to read.
    auto best =
        std::ranges::find_if(kept_, [&](const Kept& each) { return !each.is_told && each.at == part.first; });
    if (best == kept_.end()) best = std::ranges::find(kept_, false, &Kept::is_told);
    if (best == kept_.end()) break;
    best->cursor->start(part, workers == 1 ? behind : std::span<const Part>());
    best->cursor->begin();
    best->at = part.first;
    best->is_told = true;
  }
  std::erase_if(kept_, [](const Kept& each) { return !each.is_told; });
}

}  // namespace colonnade::frame
