// See border_pages.h.
#include "frame/sources/border_pages.h"

#include <algorithm>
#include <utility>

namespace colonnade::frame {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;

}  // namespace

std::deque<BorderPages::Offered>::iterator BorderPages::find(std::uint32_t column, ElementType element,
                                                             std::size_t cluster, std::size_t page) {
  return std::find_if(pages_.begin(), pages_.end(), [&](const Offered& offered) {
    return offered.column == column && offered.page->element == element && offered.page->cluster == cluster &&
           offered.page->page == page;
  });
}

void BorderPages::remove(const std::deque<Offered>::iterator& found) {
  bytes_ -= found->page->decoded;
  pages_.erase(found);
  is_empty_.store(pages_.empty(), std::memory_order_relaxed);
}

BorderPages::Page BorderPages::take(std::uint32_t column, ElementType element, std::size_t cluster,
                                    std::size_t page) {
  // A cursor that misses a page which is just being offered decodes the page itself.
  if (is_empty_.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = find(column, element, cluster, page);
  if (found == pages_.end()) return nullptr;
  Page taken = found->page;
  remove(found);
  return taken;
}

void BorderPages::offer(std::uint32_t column, Page page) {
  const std::lock_guard lock(mutex_);
  const auto found = find(column, page->element, page->cluster, page->page);
  if (found != pages_.end()) return remove(found);
  if (page->decoded > most_bytes) return;
  while (bytes_ + page->decoded > most_bytes) remove(pages_.begin());
  bytes_ += page->decoded;
  pages_.push_back({column, std::move(page)});
  is_empty_.store(false, std::memory_order_relaxed);
}

}  // namespace colonnade::frame
