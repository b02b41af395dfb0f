// See uses.h.
#include "cache/uses.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cache/layout.h"

namespace colonnade::cache {
namespace {

bool is_before(const UseRange& a, const UseRange& b) noexcept {
  return std::tie(a.column, a.first) < std::tie(b.column, b.first);
}

// Ranges from front to back, of which a part may be taken.
class Rest {
 public:
  explicit Rest(const Uses& uses) : at_(uses.ranges().begin()), end_(uses.ranges().end()) { next(); }
  bool is_empty() const noexcept { return is_empty_; }
  const UseRange& front() const noexcept { return front_; }
  // Takes the clusters of the front range up to this one.
  UseRange take(std::uint64_t last) {
    UseRange taken = front_;
    taken.last = last;
    if (last == front_.last)
      next();
    else
      front_.first = last + 1;
    return taken;
  }

 private:
  void next() {
    is_empty_ = at_ == end_;
    if (!is_empty_) front_ = *at_++;
  }

  std::vector<UseRange>::const_iterator at_;
  std::vector<UseRange>::const_iterator end_;
  UseRange front_;
  bool is_empty_ = false;
};

}  // namespace

bool Uses::append(const UseRange& range) {
  if (range.first > range.last || range.last >= RunKey::most_clusters) return false;
  if (!ranges_.empty()) {
    UseRange& before = ranges_.back();
    const bool is_behind = std::tie(before.column, before.last) < std::tie(range.column, range.first);
    if (!is_behind) return false;
    if (before.column == range.column && before.last + 1 == range.first && before.time == range.time) {
      before.last = range.last;
      return true;
    }
  }
  ranges_.push_back(range);
  return true;
}

std::optional<std::int64_t> Uses::time_of(std::uint32_t column, std::uint64_t cluster) const {
  const auto after =
      std::ranges::upper_bound(ranges_, UseRange{.column = column, .first = cluster}, is_before);
  if (after == ranges_.begin()) return std::nullopt;
  const UseRange& range = *(after - 1);
  if (range.column != column || range.last < cluster) return std::nullopt;
  return range.time;
}

Uses Uses::merged(const Uses& one, const Uses& other) {
  Uses all;
  Rest a(one);
  Rest b(other);
  while (!a.is_empty() && !b.is_empty()) {
    Rest& first = is_before(b.front(), a.front()) ? b : a;
    const Rest& second = &first == &a ? b : a;
    const UseRange& here = first.front();
    const UseRange& there = second.front();
    if (here.column != there.column || here.last < there.first) {
      all.append(first.take(here.last));
    } else if (here.first < there.first) {
      all.append(first.take(there.first - 1));
    } else {
      const std::uint64_t last = std::min(here.last, there.last);
      UseRange both = a.take(last);
      both.time = std::max(both.time, b.take(last).time);
      all.append(both);
    }
  }
  for (Rest* rest : {&a, &b})
    while (!rest->is_empty()) all.append(rest->take(rest->front().last));
  return all;
}

}  // namespace colonnade::cache
