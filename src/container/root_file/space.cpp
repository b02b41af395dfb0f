// Allocates from a short sorted list: first fit for blobs; best fit for index records, whose
// sizes repeat. A remainder of less than four bytes could not hold a marker, so such a gap is
// skipped.
#include "container/root_file/space.h"

#include <algorithm>
#include <utility>

namespace colonnade::container {
namespace {

// The remainder of a gap must hold its marker, and should be large enough for another record.
constexpr std::uint64_t smallest_rest = 32;
constexpr std::uint64_t smallest_gap_for_blobs = 4096;

std::uint64_t size_of(const format::FreeSegment& segment) noexcept {
  return segment.last - segment.first + 1;
}

bool before(const format::FreeSegment& a, const format::FreeSegment& b) noexcept {
  return a.first < b.first;
}

}  // namespace

std::vector<format::FreeSegment> gaps_of(const format::FreeSegment& segment) {
  std::vector<format::FreeSegment> gaps;
  for (std::uint64_t first = segment.first; first <= segment.last;) {
    const std::uint64_t last = std::min(segment.last, first + format::small_tfile_limit - 1);
    gaps.push_back({first, last});
    first = last + 1;
  }
  return gaps;
}

RootFileSpace::Allocation RootFileSpace::allocate(std::uint64_t size, Use use) {
  if (const auto gap = allocate_in_gap(size, use)) return *gap;
  return {allocate_at_end(size), std::nullopt};
}

std::optional<RootFileSpace::Allocation> RootFileSpace::allocate_in_gap(std::uint64_t size, Use use) {
  if (use == Use::journal) return std::nullopt;
  auto best = gaps_.end();
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const std::uint64_t room = size_of(*gap);
    if (use == Use::blob && room < smallest_gap_for_blobs) continue;
    if (room != size && room < size + smallest_rest) continue;
    if (best == gaps_.end() || room < size_of(*best)) best = gap;
    if (use == Use::blob || room == size) break;
  }
  if (best == gaps_.end()) return std::nullopt;
  const std::uint64_t offset = best->first;
  if (size_of(*best) == size) {
    gaps_.erase(best);
    return Allocation{offset, std::nullopt};
  }
  best->first += size;
  return Allocation{offset, *best};
}

std::uint64_t RootFileSpace::allocate_at_end(std::uint64_t size) {
  return std::exchange(end_, end_ + size);
}

format::FreeSegment RootFileSpace::release(format::FreeSegment segment) {
  auto next = std::lower_bound(gaps_.begin(), gaps_.end(), segment, before);
  if (next != gaps_.end() && next->first == segment.last + 1 &&
      size_of(segment) + size_of(*next) <= format::small_tfile_limit) {
    segment.last = next->last;
    next = gaps_.erase(next);
  }
  if (next != gaps_.begin()) {
    format::FreeSegment& previous = *(next - 1);
    if (previous.last + 1 == segment.first &&
        size_of(previous) + size_of(segment) <= format::small_tfile_limit) {
      previous.last = segment.last;
      return previous;
    }
  }
  gaps_.insert(next, segment);
  return segment;
}

std::vector<format::FreeSegment> RootFileSpace::skip_to(std::uint64_t end) {
  if (end <= end_) return {};
  std::vector<format::FreeSegment> gaps = gaps_of({end_, end - 1});
  listed_.insert(listed_.end(), gaps.begin(), gaps.end());
  end_ = end;
  return gaps;
}

std::vector<format::FreeSegment> RootFileSpace::segments(std::uint64_t end) const {
  std::vector<format::FreeSegment> all = gaps_;
  all.insert(all.end(), listed_.begin(), listed_.end());
  std::sort(all.begin(), all.end(), before);
  all.push_back(format::free_tail(end));
  return all;
}

}  // namespace colonnade::container
