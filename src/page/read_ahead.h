// ReadAhead: how much is read ahead of the columns in use, and how much more may be.
//
// It follows from the options, from whether bytes were waited for, and from what was seen of the way to the
// server (io::LineEstimate), within the memory budget.
#ifndef COLONNADE_PAGE_READ_AHEAD_H
#define COLONNADE_PAGE_READ_AHEAD_H

#include <cstddef>
#include <cstdint>

#include "page/page_work.h"

namespace colonnade::page {

class ReadAhead {
 public:
  // Bytes of a page: as it is stored, and as elements.
  struct Size {
    std::uint64_t sealed = 0;
    std::uint64_t decoded = 0;
  };
  static Size size_of(const PageJob& job) { return {stored_size(job.description), job.decoded}; }

  // `best_request`: IoTraits::best_request. `helpers`: the threads that decode pages ahead of time.
  ReadAhead(const ReadOptions& options, std::size_t best_request, unsigned helpers);

  // What is planned and not taken yet.
  void add(Size page) noexcept;
  void remove(Size page) noexcept;
  void clear() noexcept;
  bool has_room_for(Size page) const noexcept;
  // Whether a page has room in a request of one of `streams` columns with `planned` bytes, though that for
  // what is read ahead is used up. Only the memory budget limits that, of which each column has a part: where
  // it is too small for the requests of all, none of them reads page by page.
  bool has_room_in_request(Size page, std::size_t planned, std::size_t streams) const noexcept;
  // Whether half of what was planned is used.
  bool is_low() const noexcept;
  std::uint64_t decoded_bytes() const noexcept { return decode_ahead_ ? planned_.decoded : 0; }
  std::uint64_t sealed_bytes() const noexcept { return planned_.sealed; }

  // More is read ahead while reading goes on, for as long as bytes are waited for or to keep many threads
  // busy, and what the line needs. `waits`: how often bytes were waited for so far. `line_needs`: bytes, 0 if
  // it is not known how far the reading will go.
  void adapt(bool goes_on, std::size_t streams, std::uint64_t waits, std::size_t line_needs) noexcept;
  // Reading begins anew.
  void restart() noexcept { depth_ = 1; }
  // Whether pages of one column share requests, and of how many bytes where `best` are best.
  bool has_large_requests() const noexcept { return depth_ > 1; }
  std::size_t request_size(std::size_t best) const noexcept;

 private:
  std::size_t depth_of_requests() const noexcept;

  std::size_t read_ahead_, memory_budget_, best_request_;
  bool decode_ahead_;
  std::size_t decoded_for_all_threads_;  // bytes that keep all of them busy
  Size planned_, most_;
  std::size_t depth_ = 1;  // factor on what is read ahead
  std::uint64_t waits_seen_ = 0;
};

}  // namespace colonnade::page

#endif
