// PageWork: pages on their way from sealed bytes to elements, and the threads that take them there.
//
// A PageJob is one page that somebody will need. Jobs wait in a line in the order of need; the thread that
// reads data and, if it may, threads of the shared pool take them from there. Where reading waits for nothing
// but a copy, the thread that decodes a page reads it as well, so that its bytes are in that processor's
// cache.
#ifndef COLONNADE_PAGE_PAGE_WORK_H
#define COLONNADE_PAGE_PAGE_WORK_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "io/read_scheduler.h"
#include "page/page_buffers.h"
#include "page/page_source.h"

namespace colonnade::page {

// A stretch of the file with the sealed pages of one or several jobs.
struct SealedExtent {
  io::ReadExtent plan;
  const io::RandomAccessFile* file = nullptr;
  std::optional<io::ReadScheduler::Id> id;  // if a scheduler reads it
  std::size_t announced = 0;                // pages in it that nobody has asked for yet; of the owner alone
  std::mutex mutex;                         // for all below, unless a scheduler reads it
  bool is_read = false;
  std::exception_ptr failure;
  PageBuffers::Loan memory;
  ByteSpan bytes;  // in `memory` or in the mapped file
};

struct PageJob {
  enum class State : std::uint8_t { awaiting_bytes, in_line, in_work, done, failed };
  // What it is about; does not change.
  std::uint32_t column = 0;
  std::size_t cluster = 0;
  std::size_t page = 0;
  double fraction = 0;  // where in its cluster it begins, from 0 to 1
  double end_fraction = 1;
  PageDescriptor description;
  ColumnEncoding encoding;
  ElementType element = ElementType::byte;
  std::size_t decoded = 0;               // bytes
  bool is_image = false;                 // stored as it is in memory
  bool in_parts = false;                 // decoded by who looks at it, only what is looked at
  std::byte* destination = nullptr;      // of a bulk read; else there will be a buffer
  std::shared_ptr<SealedExtent> extent;  // until the page is decoded
  std::size_t position = 0;              // in the extent
  // Under PageWork's mutex.
  State state = State::awaiting_bytes;
  // The result; written by who works on it: the elements, or of a page in parts what codec::decode_part()
  // makes them of. They lie in `memory`, in `destination`, or where they were read to.
  PageBuffers::Loan memory;
  std::shared_ptr<SealedExtent> read_to;
  const std::byte* elements = nullptr;
  const std::byte* packed = nullptr;
};

// Makes elements of a page's sealed bytes: verifies, decompresses, decodes. Any thread may.
void unseal(const PageSource& source, const PageDescriptor& page, const ColumnEncoding& encoding,
            ElementType element, ByteSpan stored, void* out);
// The same up to decoding; `out` has codec::packed_size bytes.
void unseal_packed(const PageSource& source, const PageDescriptor& page, ByteSpan stored,
                   MutableByteSpan out);

class PageWork : public std::enable_shared_from_this<PageWork> {
 public:
  using JobRef = std::shared_ptr<PageJob>;

  // `helpers`: threads of the shared pool that may take jobs at the same time.
  PageWork(const PageSource& source, std::shared_ptr<PageBuffers> buffers, unsigned helpers);

  PageBuffers& buffers() noexcept { return *buffers_; }

  // Puts jobs whose bytes are there, or can be read at once, behind those in the line (or before them).
  void add(const std::vector<JobRef>& jobs, bool urgent = false);
  // Whether the page is there. If it is in work elsewhere, waits for that and does other jobs meanwhile.
  // `false`: it failed, or its bytes have not been read yet (State::awaiting_bytes).
  bool finish(PageJob& job);
  // Nobody wants it any more. One that is in work is finished by who has it.
  void drop(const JobRef& job);
  PageJob::State state(const PageJob& job) const;
  // Nobody works on a job any more, and nobody will.
  void stop() noexcept;

  ReadCounters& counters() noexcept { return counters_; }  // of the owner alone
  ReadCounters totals() const;

 private:
  struct Tally {
    double seconds_reading = 0;
    ReadCounters counted;
  };

  void help();
  void call_helpers();
  void work_on(std::unique_lock<std::mutex>& lock, const JobRef& job, bool is_owner);
  void carry_out(PageJob& job, Tally& tally);
  void keep(const PageJob& job, ByteSpan stored, Tally& tally) const;
  void read_straight(PageJob& job, std::byte* out, Tally& tally);
  ByteSpan bytes_of(SealedExtent& extent, Tally& tally);

  const PageSource* source_;
  std::shared_ptr<PageBuffers> buffers_;
  const unsigned most_helpers_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<JobRef> line_;
  std::size_t bytes_in_line_ = 0;  // decoded
  unsigned helpers_ = 0;           // asked for and not yet gone
  unsigned working_ = 0;           // helpers inside of a job
  bool stopping_ = false;
  Tally tally_;
  ReadCounters counters_;
};

}  // namespace colonnade::page

#endif
