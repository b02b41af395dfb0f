// ClusterPool: the pages that the column readers of one data set need now and will need next.
//
// While columns are read in order, the pool plans ahead: the next pages of all columns in use, in the order
// in which they will be needed - by their place within the cluster, across the borders of clusters -, as much
// as the memory budget allows. Their bytes are read in few requests, and idle processors decompress and
// decode them. What begins in one read unit of the file is planned together, so that it is read at once.
// Which columns are in use is learned: a column joins when its pages are asked for in order, and
// leaves when it jumps or when the others have left it behind. Pages that are asked for out of order are read
// alone. Who knows which entries will be asked for says so: then nothing else is planned. Who knows which
// columns or pages will be says that, too: then their bytes come together, without a round trip for each.
//
// How much is planned follows from what was seen of the way to the server (io::LineEstimate), within the
// memory budget.
//
// What goes wrong ahead of time is forgotten; the page is then read once more when it is asked for, and fails
// as if it had never been read ahead. A call that fails for lack of memory can be repeated. One thread at a
// time uses a pool, that of the reader; the threads that help do not call it.
#ifndef COLONNADE_PAGE_CLUSTER_POOL_H
#define COLONNADE_PAGE_CLUSTER_POOL_H

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/process.h"
#include "io/read_scheduler.h"
#include "page/column_segment.h"
#include "page/page_work.h"

namespace colonnade::page {

class ClusterPool {
 public:
  using Page = std::shared_ptr<const PageJob>;
  class Stream;

  explicit ClusterPool(const PageSource& source);
  ~ClusterPool();
  ClusterPool(const ClusterPool&) = delete;
  ClusterPool& operator=(const ClusterPool&) = delete;

  // Pages as elements; or, where the encoding is divisible, as PageJob::packed, to be decoded part by part.
  enum class Form : std::uint8_t { elements, parts };
  // A column as elements of one type. Callers that open the same one share a stream, so that its pages are
  // read once; each open() needs a close().
  Stream& open(const std::vector<std::uint32_t>& representations, ElementType element,
               Form form = Form::elements);
  void close(Stream& stream) noexcept;
  // Begins a round of reading that opens streams and closes them. True: they stay, with their last page and
  // what was planned, as the next rounds go on there. False: those that have stayed are closed.
  void keep_closed(bool keeps) noexcept;

  // A page, PageJob::elements or, in a stream of that form, PageJob::packed; it stays as long as the
  // reference. Columns that share a page in storage, as those with the ends of equally long collections
  // do, share it here while one of them has it or needs it next.
  Page take(Stream& stream, const std::shared_ptr<const ColumnSegment>& segment, std::size_t page);
  // Decodes `count` whole pages from `first` on straight into `out`.
  void read(Stream& stream, const std::shared_ptr<const ColumnSegment>& segment, std::size_t first,
            std::size_t count, std::byte* out);

  // A part of the entries of a cluster, as fractions.
  struct ClusterSlice {
    std::size_t cluster = 0;
    double begin = 0;
    double end = 1;
  };
  // Reading keeps within these from now on, in growing order. Of columns below collections, whose elements
  // may be spread unevenly over the entries, a page too many or too few may be planned at each border. None:
  // everything may be asked for. If they begin before the last ones did, reading goes back: what was planned
  // is dropped, and all columns in use begin there together.
  void keep_within(std::vector<ClusterSlice> slices);
  // A column that will be read in order. It joins together with the next one that does; it need not be open.
  // Only its first page is planned before it is requested, unless it is certain.
  void expect(const std::vector<std::uint32_t>& representations, ElementType element, Form form,
              bool is_certain);
  // Plans the first pages of what is expected within the slices, before any page is asked for.
  void start_expected();

  // Pages that read() will be asked for.
  struct Coming {
    std::shared_ptr<const ColumnSegment> segment;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  // Whether announcing them is worth the trouble.
  bool is_far() const noexcept { return lanes_[0].is_far || lanes_[1].is_far; }
  // In the order of need; takes the place of what was announced before. Where a server is far away, their
  // bytes are brought here, as many as the line needs. Nothing is decoded before it is asked for.
  void announce(std::vector<Coming> coming);

  ReadCounters counters() const;
  const PageBuffers& buffers() const noexcept { return work_->buffers(); }

 private:
  using JobRef = PageWork::JobRef;
  struct StreamPosition {
    std::shared_ptr<const ColumnSegment> segment;  // null: none
    std::size_t page = 0;
  };
  struct Later;  // orders streams by the position of their next page
  // Files that pages may lie in, each with a scheduler of its own.
  struct Lane {
    const io::RandomAccessFile* file = nullptr;
    std::unique_ptr<io::ReadScheduler> scheduler;  // null: who decodes a page reads it
    io::ReadCounters noted;                        // what was told of it
    bool is_far = false;                           // so that it is worth to know early what will be read
  };

  void start();
  void restart_in_child();
  void forget_positions() noexcept;
  void drop_plans() noexcept;
  template <class Change>
  auto planning(Change&& change);
  bool can_plan(const ColumnSegment& segment, std::size_t page) const;
  bool follows(Stream& stream, const ColumnSegment& segment, std::size_t page);
  void advance(const Stream& stream, StreamPosition& position) const;
  StreamPosition first_from(const Stream& stream, const ClusterSlice& begin) const;
  bool is_within(const PageJob& job) const;
  void rewind(Stream& stream);
  void keep_within_window(Stream& stream);
  void enter(const Stream& stream, StreamPosition& position, std::size_t cluster) const;
  static bool is_in_parts(const Stream& stream, const ColumnSegment& segment);
  JobRef make_job(const Stream& stream, const StreamPosition& position,
                  std::byte* destination = nullptr) const;
  JobRef find_shared(const Stream& stream) const;
  bool plan_next(Stream& stream);
  void join_expected();
  void plan_request(Stream& stream, std::vector<JobRef>& batch);
  bool has_room_for_next(const Stream& stream) const;
  bool belongs_to_request(const Stream& stream, std::uint64_t begin) const;
  bool has_room_in_request(const Stream& stream, std::size_t planned) const;
  std::size_t largest_extent(const io::IoTraits& traits) const noexcept;
  void plan_ahead(Stream* needed);
  void plan_pages(const std::vector<JobRef>& jobs, bool urgent);
  void start_reading(const std::vector<JobRef>& jobs, bool urgent);
  bool start_extent(const std::shared_ptr<SealedExtent>& extent, bool urgent);
  void adapt_depth(bool goes_on);
  std::size_t depth_of_requests() const noexcept;
  std::size_t line_needs() const noexcept;
  std::size_t brought_at_once() const noexcept;
  void replace_announced(std::vector<Coming> coming);
  void bring();
  void bring_some(std::size_t most);
  void bring_in(Lane& lane, const std::vector<PageDescriptor>& pages);
  bool take_brought(PageJob& job);
  void let_go(std::uint64_t offset);
  void collect();
  bool complete(PageJob& job);
  void share(PageJob& job) const;
  bool comes_from_others(const ColumnSegment& segment, std::size_t page) const;
  Lane& lane_of(const PageJob& job) noexcept;
  Lane& lane_of(const SealedExtent& extent) noexcept;
  void plan_in(Lane& lane, const std::vector<JobRef>& jobs);
  void note_rates();
  std::uint64_t waits() const noexcept;
  void discard_before(Stream& stream, std::size_t cluster, std::size_t page);
  void discard(const JobRef& job);
  void discard_for_good(const JobRef& job);
  void leave_behind(std::size_t cluster, double fraction);
  void deactivate(Stream& stream);
  void remove(Stream& stream) noexcept;
  void forget_unused_extents();
  JobRef take_planned(Stream& stream, const StreamPosition& position);
  JobRef read_alone(const Stream& stream, const StreamPosition& position, std::byte* destination);
  std::vector<JobRef> start_bulk(const Stream& stream, StreamPosition& position, std::size_t& left,
                                 std::byte*& out);

  const PageSource* source_;
  std::map<std::tuple<std::vector<std::uint32_t>, ElementType, Form>, std::unique_ptr<Stream>> streams_;
  bool keeps_closed_ = false;
  std::uint64_t round_ = 0;
  std::vector<Stream*> active_;
  std::unordered_map<std::uint64_t, std::weak_ptr<PageJob>> by_offset_;  // what was planned, by its locator
  std::size_t sweep_at_ = 64;                                            // entries of that
  std::vector<ClusterSlice> window_;                                     // empty: no limit
  std::vector<Stream*> expected_;
  // Sealed pages that were announced and have been asked of the file.
  struct Brought {
    std::shared_ptr<SealedExtent> extent;
    std::size_t position = 0;
    std::uint64_t size = 0;
    bool is_used = false;  // and will be once more
  };
  std::deque<Coming> coming_;                            // those that have not
  std::unordered_map<std::uint64_t, Brought> brought_;   // by their locator
  std::size_t brought_bytes_ = 0;                        // of their extents
  std::uint64_t unused_bytes_ = 0;                       // of those that were not used yet
  std::unordered_map<std::uint64_t, std::size_t> uses_;  // by locator: how often announced pages are still to
                                                         // be asked for

  // Everything that a forked child must not touch: threads that it does not have may have been in there.
  Process process_;
  std::shared_ptr<PageWork> work_;
  std::array<Lane, 3> lanes_;  // the data set's own, what the cache has, what others are putting there
  std::vector<std::shared_ptr<SealedExtent>> in_flight_;  // given to a scheduler
  std::vector<std::vector<JobRef>> waiting_;              // for these extents

  std::uint64_t unit_ = 1;  // IoTraits::read_unit
  bool parallel_ = false;
  std::size_t decoded_for_all_threads_ = 0;  // bytes that keep all of them busy
  std::size_t most_sealed_ahead_ = 0;        // bytes
  std::size_t most_decoded_ahead_ = 0;       // bytes; heeded if pages are decoded ahead
  std::size_t sealed_ahead_ = 0;
  std::size_t decoded_ahead_ = 0;
  std::size_t depth_ = 1;  // factor on what is read ahead
  std::uint64_t waits_seen_ = 0;
  ReadCounters counters_;
};

}  // namespace colonnade::page

#endif
