// PageWork: turns sealed pages into elements, on several threads.
//
// A PageJob is one page that a reader needs, now or later. Jobs wait in a queue in the order of need;
// the reading thread and, if allowed, threads of the shared pool take them from there. If reading is
// merely a copy, the thread that decodes a page also reads it, so that its bytes are in that processor's
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

// A range of the file with the sealed pages of one or several jobs.
struct SealedExtent {
  io::ReadExtent plan;
  const io::RandomAccessFile* file = nullptr;
  std::optional<io::ReadScheduler::Id> id;  // if a scheduler reads it
  std::size_t announced = 0;                // pages in it not requested yet; used by the owner only
  std::mutex mutex;                         // for all below, unless a scheduler reads it
  bool is_read = false;
  std::exception_ptr failure;
  PageBuffers::Loan memory;
  ByteSpan bytes;  // in `memory` or in the mapped file
};

struct PageJob {
  enum class State : std::uint8_t { awaiting_bytes, in_line, in_work, done, failed };
  // The description of the page; constant.
  std::uint32_t column = 0;
  std::size_t cluster = 0;
  std::size_t page = 0;
  double fraction = 0;  // the position of its beginning in the cluster, from 0 to 1
  double end_fraction = 1;
  PageDescriptor description;
  ColumnEncoding encoding;
  ElementType element = ElementType::byte;
  std::size_t decoded = 0;               // bytes
  bool is_image = false;                 // stored in memory form
  bool in_parts = false;                 // decoded in parts by the reader, on demand
  std::byte* destination = nullptr;      // of a bulk read; otherwise a buffer is used
  std::shared_ptr<SealedExtent> extent;  // until the page is decoded
  std::size_t position = 0;              // in the extent
  // Guarded by PageWork's mutex.
  State state = State::awaiting_bytes;
  // The result, written by the thread that runs the job: the elements or, for a page in parts, the input of
  // codec::decode_part(). It lies in `memory`, in `destination`, or where it was read to.
  PageBuffers::Loan memory;
  std::shared_ptr<SealedExtent> read_to;
  const std::byte* elements = nullptr;
  const std::byte* packed = nullptr;
};

// Makes elements of a page's sealed bytes: verifies, decompresses, decodes. Thread-safe.
void unseal(const PageSource& source, const PageDescriptor& page, const ColumnEncoding& encoding,
            ElementType element, ByteSpan stored, void* out);
// The same without decoding; `out` has codec::packed_size bytes.
void unseal_packed(const PageSource& source, const PageDescriptor& page, ByteSpan stored,
                   MutableByteSpan out);

class PageWork : public std::enable_shared_from_this<PageWork> {
 public:
  using JobRef = std::shared_ptr<PageJob>;

  // `helpers`: the number of threads of the shared pool that may run jobs at the same time.
  PageWork(const PageSource& source, std::shared_ptr<PageBuffers> buffers, unsigned helpers);

  PageBuffers& buffers() noexcept { return *buffers_; }

  // Queues jobs whose bytes are here or can be read at once, behind the others (or, if urgent, before them).
  void add(const std::vector<JobRef>& jobs, bool urgent = false);
  // Returns true once the page is ready. If another thread is working on it, runs other jobs meanwhile.
  // False: it failed, or its bytes have not been read yet (State::awaiting_bytes).
  bool finish(PageJob& job);
  // Cancels a job. If a thread is working on it, that thread finishes it.
  void drop(const JobRef& job);
  PageJob::State state(const PageJob& job) const;
  // Drops all jobs: no thread works on one after this returns.
  void clear() noexcept;
  // For good.
  void stop() noexcept;

  ReadCounters& counters() noexcept { return counters_; }  // for the owner only
  ReadCounters totals() const;

 private:
  struct Tally {
    double seconds_reading = 0;
    ReadCounters counted;
  };

  void help();
  void call_helpers() noexcept;
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
  std::size_t bytes_in_line_ = 0;  // decoded size
  unsigned helpers_ = 0;           // requested and still alive
  unsigned working_ = 0;           // helpers running a job
  bool stopping_ = false;
  Tally tally_;
  ReadCounters counters_;
};

}  // namespace colonnade::page

#endif
