// What lies between a reader of pages and a transport: a planner, which turns byte ranges that are wanted
// into requests that suit the transport's IoTraits, and a scheduler, which keeps as many of them in flight as
// the transport asks for, or as the way to the server turns out to need. All transports are read through
// these; none plans by itself.
#ifndef COLONNADE_IO_READ_SCHEDULER_H
#define COLONNADE_IO_READ_SCHEDULER_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/process.h"
#include "io/line_estimate.h"
#include "io/random_access_file.h"

namespace colonnade::io {

struct WantedRange {
  std::uint64_t offset = 0;
  std::size_t size = 0;
};

// A contiguous stretch of the file that is read into one buffer of `size` bytes, itself aligned to
// IoTraits::alignment. The stretch is aligned too, except where the file ends.
struct ReadExtent {
  std::uint64_t offset = 0;
  std::size_t size = 0;
  std::size_t wanted = 0;        // bytes of it that were asked for; the others are read over
  std::size_t request_size = 0;  // it is read in requests of so many bytes, the last one may be shorter
  std::size_t requests() const noexcept { return (size + request_size - 1) / request_size; }
};

struct ReadPlan {
  static constexpr std::size_t none = ~std::size_t{0};
  struct PlannedRange {
    std::size_t extent = none;  // index into `extents`
    std::size_t position = 0;   // of the wanted range in it
  };
  std::vector<ReadExtent> extents;   // in the order in which they are first needed
  std::vector<PlannedRange> ranges;  // one per wanted range
};

// Plans to read `wanted`, given in the order of need; they may overlap. An extent has at most `max_extent`
// bytes unless a single range is larger, or, in a file with read units, the ranges that begin in one unit and
// lie close; each range lies in one extent as a whole. A range that is empty or
// does not lie within the `file_size` bytes of the file gets no extent (`none`): reading it by itself gives
// the error.
ReadPlan plan_reads(std::span<const WantedRange> wanted, const IoTraits& traits, std::size_t max_extent,
                    std::uint64_t file_size);

struct ReadCounters {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;            // asked of the transport
  std::uint64_t read_over_bytes = 0;  // of these, not wanted
  std::uint64_t waits = 0;            // times that wait_for() found bytes missing
  double seconds_waiting = 0;
};

// Reads extents of one file. Belongs to one thread at a time, has none of its own and moves only inside its
// calls; the file must outlive it. The destructor waits for what is in flight. In a forked child it goes on
// with a queue of its own: what was in flight for the parent is read again.
class ReadScheduler {
 public:
  using Id = std::uint64_t;

  // `traits` in place of those that the file declares.
  explicit ReadScheduler(const RandomAccessFile& file) : ReadScheduler(file, file.traits()) {}
  ReadScheduler(const RandomAccessFile& file, const IoTraits& traits);
  ReadScheduler(const ReadScheduler&) = delete;
  ReadScheduler& operator=(const ReadScheduler&) = delete;
  ~ReadScheduler();

  const RandomAccessFile& file() const noexcept { return *file_; }

  // Queues the extent behind those that were started before, or in front of them. `into` has extent.size
  // bytes and stays where it is until forget(). If this throws, nothing was started.
  Id start(const ReadExtent& extent, MutableByteSpan into, bool urgent = false);
  // Until release(), what is started is not submitted, so that the queue gets all of it at once; urgent
  // extents keep their order.
  void hold() noexcept;
  void release();
  // Moves what has not been submitted of an extent to the front.
  void hurry(Id id);
  // Takes what has arrived and submits what may follow, without waiting. Call it now and then while working
  // on other things.
  void poll();
  // Whether nothing more will be written to the buffer: it was read, it failed, or it was cancelled.
  bool settled(Id id) const;
  // Returns when the extent has been read, which is urgent from now on; throws what made it fail, as often as
  // it is asked. One bad byte fails the whole extent: a range of it may still be read by itself. Interrupted
  // waits fail all extents.
  void wait_for(Id id);
  // What has not been submitted of an extent is not read. It settles when what is in flight has arrived.
  void cancel(Id id);
  // Cancels the extent, waits until it is settled and gives the buffer back. The id is not valid any more.
  void forget(Id id);
  // The same for all extents, without the need for any memory.
  void forget_all() noexcept;

  std::size_t unsettled() const noexcept { return unsettled_; }
  const ReadCounters& counters() const noexcept { return counters_; }
  const LineEstimate& line_estimate() const noexcept { return line_estimate_; }
  // Requests in flight that keep the line busy, as far as it is known.
  std::size_t concurrency() const noexcept;

 private:
  struct ScheduledExtent {
    ReadExtent plan;
    MutableByteSpan into;
    std::size_t submitted = 0;                        // bytes
    std::vector<LineEstimate::Departure> departures;  // of the requests in flight; has room for all
    bool cancelled = false;
    std::exception_ptr failure;
    bool complete() const noexcept { return submitted == plan.size || cancelled || failure != nullptr; }
    bool settled() const noexcept { return departures.empty() && complete(); }
  };

  void abandon_queue() noexcept;
  void go_on_in_child();
  void fail_all(const std::exception_ptr& failure) noexcept;
  QueuedRead next_request();
  void submit(std::span<const QueuedRead> requests);
  void submit_what_fits();
  void arrived(Id id, const std::exception_ptr& failure, LineEstimate::Time when);
  void take(bool block);
  void wait_until_settled(const ScheduledExtent& wanted);
  void drop_from_line(Id id);
  const ScheduledExtent& extent(Id id) const;
  ScheduledExtent& extent(Id id);

  const RandomAccessFile* file_;
  IoTraits traits_;
  LineEstimate line_estimate_;
  std::unique_ptr<ReadQueue> queue_;  // opened when first needed
  Process process_;                   // that opened it
  std::unordered_map<Id, ScheduledExtent> extents_;
  bool holds_ = false;
  std::size_t urgent_held_ = 0;    // extents at the front of the line
  std::vector<QueuedRead> batch_;  // being submitted
  std::deque<Id> line_;            // extents that are not submitted completely, next one first
  Id next_id_ = 1;
  std::size_t unsettled_ = 0;
  ReadCounters counters_;
};

// Reads ranges in the order of need, those that lie near each other in one request of at most `max_extent`
// bytes, as many requests at once as the transport asks for. Where a request for several fails, they are read
// one by one, so that the error has the place of the one that cannot be read.
void read_ranges(const RandomAccessFile& file, std::span<const ReadRequest> ranges, std::size_t max_extent);

}  // namespace colonnade::io

#endif
