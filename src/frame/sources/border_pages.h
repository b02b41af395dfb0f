// BorderPages: decoded pages that span the border of two parts, passed from the cursor of one part to that of
// the other, so that such a page is decoded once.
//
// The cursors of one file share an object. Unused pages are dropped when space is needed.
// Thread-safe.
#ifndef COLONNADE_FRAME_SOURCES_BORDER_PAGES_H
#define COLONNADE_FRAME_SOURCES_BORDER_PAGES_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "page/cluster_pool.h"

namespace colonnade::frame {

class BorderPages {
 public:
  using Page = page::ClusterPool::Page;

  // `column` is the physical one.
  Page take(std::uint32_t column, ElementType element, std::size_t cluster, std::size_t page);
  // If the page is here already, both cursors have decoded it, and it is dropped.
  void offer(std::uint32_t column, Page page);

 private:
  struct Offered {
    std::uint32_t column = 0;
    Page page;
  };
  std::deque<Offered>::iterator find(std::uint32_t column, ElementType element, std::size_t cluster,
                                     std::size_t page);
  void remove(const std::deque<Offered>::iterator& found);

  std::atomic<bool> is_empty_{true};
  std::mutex mutex_;
  std::deque<Offered> pages_;  // the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace colonnade::frame

#endif
