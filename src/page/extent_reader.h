// ExtentReader: has the bytes of sealed pages read, those of pages that lie close in one request.
//
// Pages lie in up to three files: the data set's own, what its cache has, and what other readers are
// downloading for that. Each has a scheduler of its own; where reading is merely a copy there is none, and
// who decodes a page reads it. Jobs whose bytes have arrived are passed on to the PageWork.
#ifndef COLONNADE_PAGE_EXTENT_READER_H
#define COLONNADE_PAGE_EXTENT_READER_H

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/read_scheduler.h"
#include "page/page_work.h"

namespace colonnade::page {

class ExtentReader {
 public:
  using JobRef = PageWork::JobRef;

  // Both must outlive it.
  ExtentReader(const PageSource& source, PageWork& work);

  // Whether a server is far away, so that it is worth to know early what will be read: of any page, or of
  // one.
  bool is_far() const noexcept { return lanes_[0].is_far || lanes_[1].is_far; }
  bool is_far(const PageDescriptor& page) const noexcept;
  bool has_schedulers() const noexcept;
  // Bytes that have to be planned or on their way for the line never to run dry: pages are planned when half
  // of them are used up, and that half then lasts for two round trips.
  std::size_t line_needs() const noexcept;
  // How often bytes were waited for.
  std::uint64_t waits() const noexcept;

  // Until release(), requests are collected, so that the files get all of them at once.
  void hold() noexcept;
  void release();
  // Finds the extents for jobs that have none.
  void plan(const std::vector<JobRef>& jobs);
  // Requests these extents, or has threads read them that decode the pages.
  void start(const std::vector<JobRef>& jobs, bool urgent);
  struct Requested {
    io::ReadPlan plan;
    std::vector<std::shared_ptr<SealedExtent>> extents;  // without an id: could not be requested
  };
  // Requests pages of one file for which there are no jobs yet.
  Requested request(std::span<const PageDescriptor> pages);
  // Passes on the jobs whose bytes have arrived.
  void collect();
  // Returns when those of a job have arrived or failed, which collect() sees.
  void wait_for(const PageJob& job);
  // Gives up the extents that no job and no announced page needs any more.
  void forget_unused();
  // Nothing writes to any memory when it returns.
  void forget_all() noexcept;

  void add_counters_to(ReadCounters& all) const;

 private:
  struct Lane {
    const io::RandomAccessFile* file = nullptr;
    std::unique_ptr<io::ReadScheduler> scheduler;  // null: who decodes a page reads it
    io::ReadCounters noted;                        // what was told of it
    bool is_far = false;
  };
  struct InFlight {
    std::shared_ptr<SealedExtent> extent;
    std::vector<JobRef> waiting;
  };

  Lane& lane_of(const PageJob& job) noexcept;
  Lane& lane_of(const SealedExtent& extent) noexcept;
  std::size_t largest_extent(const io::IoTraits& traits) const noexcept;
  void plan_in(const Lane& lane, const std::vector<JobRef>& jobs);
  bool start_extent(const std::shared_ptr<SealedExtent>& extent, bool urgent);
  void pass_on(InFlight arrived);
  void note_rates();

  const PageSource* source_;
  PageWork* work_;
  std::vector<InFlight> in_flight_;  // given to a scheduler
  std::array<Lane, 3> lanes_;        // before what they write to
};

}  // namespace colonnade::page

#endif
