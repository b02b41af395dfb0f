// ClusterPool: the pages that the column readers of one data set need now and will need next.
//
// While columns are read in order, the pool plans ahead: the next pages of all columns in use, in the order
// in which they will be needed - by their place within the cluster, across the borders of clusters -, as much
// as the memory budget allows. Their bytes are read in few requests, and idle processors decompress and
// decode them. What begins in one read unit of the file is planned together, so that it is read at once.
// Which columns are in use is learned: a column joins when its pages are asked for in order, and
// leaves when it jumps or when the others have left it behind. Pages that are asked for out of order are read
// alone. A caller that knows which entries will be asked for says so: then nothing else is planned. One that
// knows which columns or pages will be says that, too: then their bytes come together, without a round trip
// for each.
//
// What is asked for next is the ReadWindow's to say, how much is planned the ReadAhead's; the ExtentReader
// has the bytes read, and AnnouncedPages those of pages that the caller has announced.
//
// What goes wrong ahead of time is forgotten; the page is then read once more when it is asked for, and fails
// as if it had never been read ahead. A call that fails for lack of memory can be repeated. One thread at a
// time uses a pool, that of the reader; the threads that help do not call it.
#ifndef COLONNADE_PAGE_CLUSTER_POOL_H
#define COLONNADE_PAGE_CLUSTER_POOL_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/process.h"
#include "page/announced_pages.h"
#include "page/extent_reader.h"
#include "page/page_work.h"
#include "page/read_ahead.h"
#include "page/read_window.h"

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
  // read once; each open() needs a close(). The last pages of closed streams are kept for those who open them
  // again soon, up to a small part of the memory budget: many small reads then decode a page once.
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

  using ClusterSlice = page::ClusterSlice;
  // Reading keeps within these from now on, in growing order. Of columns below collections, whose elements
  // may be spread unevenly over the entries, a page too many or too few may be planned at each border. None:
  // everything may be asked for. If they begin before the last ones did, reading goes back: what was planned
  // is dropped, and all columns in use begin there together.
  void keep_within(std::vector<ClusterSlice> slices);
  // Whether no column is being read in order: a limit then affects no other reader.
  bool is_idle() const noexcept { return active_.empty(); }
  // A column that will be read in order. It joins together with the next one that does; it need not be open.
  // Only its first page is planned before it is requested, unless it is certain.
  void expect(const std::vector<std::uint32_t>& representations, ElementType element, Form form,
              bool is_certain);
  // Plans the first pages within the slices, of what is expected and of columns in use, before any is asked
  // for.
  void start_expected();

  // Pages that read() will be asked for.
  using Coming = AnnouncedPages::Range;
  // Whether announcing them is worth the trouble.
  bool is_far() const noexcept { return extents_->is_far(); }
  // In the order of need; takes the place of what was announced before. Where a server is far away, their
  // bytes are brought here, as many as the line needs, except of pages that a column has. Nothing is decoded
  // before it is asked for.
  void announce(std::vector<Coming> coming);

  ReadCounters counters() const;
  const PageBuffers& buffers() const noexcept { return work_->buffers(); }

 private:
  using JobRef = PageWork::JobRef;
  using Streams =
      std::map<std::tuple<std::vector<std::uint32_t>, ElementType, Form>, std::unique_ptr<Stream>>;
  struct Later;  // orders streams by the position of their next page

  void start();
  void leave_to_parent();
  void forget_positions() noexcept;
  void drop_plans() noexcept;
  template <class Change>
  auto planning(Change&& change);
  void activate(Stream& stream, PagePosition next);
  void deactivate(Stream& stream);
  void remove(Stream& stream) noexcept;
  void rest(Stream& stream) noexcept;
  bool stop_reading(Stream& stream) noexcept;
  void rewind(Stream& stream);
  void keep_within_window(Stream& stream);
  bool follows(Stream& stream, const ColumnSegment& segment, std::size_t page) const;

  static bool is_in_parts(const Stream& stream, const ColumnSegment& segment);
  JobRef make_job(const Stream& stream, const PagePosition& position, std::byte* destination = nullptr) const;
  void share(PageJob& job) const;
  JobRef find_shared(const Stream& stream) const;
  bool plan_next(Stream& stream);
  bool belongs_to_request(const Stream& stream, std::uint64_t begin) const;
  void plan_request(Stream& stream, std::vector<JobRef>& batch);
  void join_expected();
  void plan_ahead(Stream* needed);
  void plan_pages(const std::vector<JobRef>& jobs, bool urgent);

  void discard(const JobRef& job);
  void discard_for_good(const JobRef& job);
  void discard_before(Stream& stream, std::size_t cluster, std::size_t page);
  void leave_behind(std::size_t cluster, double fraction);
  AnnouncedPages::Held held_pages() const;

  void collect();
  bool complete(PageJob& job);
  JobRef read_alone(const Stream& stream, const PagePosition& position, std::byte* destination);
  JobRef take_planned(Stream& stream, const PagePosition& position);
  std::vector<JobRef> start_bulk(const Stream& stream, PagePosition& position, std::size_t& left,
                                 std::byte*& out);

  const PageSource* source_;
  Streams streams_;
  bool keeps_closed_ = false;
  std::uint64_t round_ = 0;
  std::size_t resting_bytes_ = 0;  // of the last pages of closed streams
  std::uint64_t activations_ = 0;
  std::map<std::uint64_t, Stream*> active_;  // in the order of their activation
  // Those with more pages to plan, and some that have come to their end since: of many columns, few go on.
  std::map<std::uint64_t, Stream*> going_on_;
  std::unordered_map<std::uint64_t, std::weak_ptr<PageJob>> by_offset_;  // what was planned, by its locator
  std::size_t sweep_at_ = 64;                                            // entries of that
  ReadWindow window_;
  std::vector<Stream*> expected_;
  std::uint64_t unit_ = 1;  // IoTraits::read_unit
  ReadCounters counters_;

  Process process_;
  // What a forked child must not touch: threads that it does not have may have been in there.
  std::shared_ptr<PageWork> work_;
  std::unique_ptr<ExtentReader> extents_;
  std::unique_ptr<AnnouncedPages> announced_;
  std::optional<ReadAhead> ahead_;
};

}  // namespace colonnade::page

#endif
