// See page_copy.h.
#include "page/page_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/start_thread.h"
#include "codec/column_codec.h"
#include "page/copied_ranges.h"
#include "page/zero_pages.h"

namespace colonnade::page {
namespace {

constexpr std::chrono::milliseconds poll_interval{5};
// Pages are rarely larger; those that are, or say so, get memory of their own.
constexpr std::size_t most_kept = std::size_t{16} << 20;

// Bytes that are copied as ranges at once: each range has a key and a place in blocks. Where pages are read,
// too, so few that threads check the next ones meanwhile.
constexpr std::uint64_t enough = std::uint64_t{16} << 20;
constexpr std::uint64_t enough_while_reading = std::uint64_t{2} << 20;

// ---- converting ----

void add_sum(SealedPage& page) {
  store_le(page.other.data() + page.description.locator.size,
           codec::xxh3(page.other.span().first(page.description.locator.size)));
  page.description.has_checksum = true;
  page.stored = page.other.span();
}

class Converter {
 public:
  Converter(const PageSource& source, const PageCopyOptions& options) : source_(source), options_(options) {}

  std::uint64_t bytes(std::uint32_t column, const PageDescriptor& page) const {
    if (recompresses(column)) return packed_size(column, page) + page_sum_size;
    return options_.add_checksums && !page.has_checksum ? page.locator.size + page_sum_size : 0;
  }

  // In any thread.
  void convert(SealedPage& page) const {
    if (recompresses(page.column)) return recompress(page);
    if (!options_.add_checksums || page.description.has_checksum) return;
    page.other.resize(page.stored.size() + page_sum_size);
    if (!page.stored.empty()) std::memcpy(page.other.data(), page.stored.data(), page.stored.size());
    add_sum(page);
  }

 private:
  const ColumnDescriptor& column(std::uint32_t id) const { return source_.descriptor().columns[id]; }
  bool recompresses(std::uint32_t id) const {
    return options_.compression.has_value() && can_recompress(column(id));
  }

  std::size_t packed_size(std::uint32_t id, const PageDescriptor& page) const {
    const std::size_t packed = codec::packed_size(column(id).encoding, page.elements);
    if (!is_plausible_length(page.locator.size, packed))
      throw Error(ErrorKind::format, fmt::format("the page claims {} elements in {} stored bytes",
                                                 page.elements, page.locator.size));
    return packed;
  }

  void recompress(SealedPage& page) const {
    thread_local AlignedBuffer usual;
    AlignedBuffer large;
    const ByteSpan block = page.stored.first(page.description.locator.size);
    ByteSpan content = block;
    if (const std::size_t packed = packed_size(page.column, page.description); packed != block.size()) {
      AlignedBuffer& unpacked = packed > most_kept ? large : usual;
      codec::decompress_growing(
          block, packed, unpacked,
          page.description.has_checksum ? codec::ChunkSums::trust : codec::ChunkSums::check);
      content = unpacked.span();
    }
    page.other.resize(0);
    codec::compress(*options_.compression, content, page.other,
                    codec::plane_size(column(page.column).encoding, page.description.elements));
    page.description.locator.size = page.other.size();
    if (options_.add_checksums || page.description.has_checksum) {
      page.other.resize(page.other.size() + page_sum_size);
      add_sum(page);
    }
    page.stored = page.other.span();
  }

  const PageSource& source_;
  const PageCopyOptions& options_;
};

// ---- writing ----

// Puts pieces into the sink, in a thread of its own. Everything but the thread's own work is called by one.
class PieceWriter {
 public:
  // `reads`: pieces have their bytes.
  PieceWriter(const PageSource& source, const std::vector<std::uint32_t>& target_of, DataSetSink& sink,
              const PageCopyOptions& options, bool reads)
      : source_(source),
        target_of_(target_of),
        sink_(sink),
        options_(options),
        reads_(reads),
        ranges_(source, sink),
        zeros_(options.add_checksums) {
    thread_ = start_thread([this] { run(); });
  }
  ~PieceWriter() { stop(); }
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  // Waits a little for room; throws what made writing fail.
  bool has_room() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, poll_interval, [this] { return queue_.size() < most_queued_pieces || failure_; });
    rethrow();
    return queue_.size() < most_queued_pieces;
  }
  void give(std::shared_ptr<SealedPiece> piece) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(piece));
    changed_.notify_all();
  }
  // Waits a little; true if all is written.
  bool is_done() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, poll_interval, [this] { return (queue_.empty() && !busy_) || failure_; });
    rethrow();
    return queue_.empty() && !busy_;
  }
  // What was given and not begun is dropped.
  void stop() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }
  PageCopyCounts counts() {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  void run() noexcept {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      std::shared_ptr<SealedPiece> piece = std::move(queue_.front());
      queue_.pop_front();
      busy_ = true;
      changed_.notify_all();
      lock.unlock();
      std::exception_ptr failure;
      PageCopyCounts added;
      try {
        write(*piece, added);
      } catch (...) {
        failure = std::current_exception();
      }
      piece.reset();
      lock.lock();
      busy_ = false;
      failure_ = failure;
      counts_.entries += added.entries;
      counts_.clusters += added.clusters;
      counts_.pages += added.pages;
      counts_.bytes_read += added.bytes_read;
      counts_.bytes_written += added.bytes_written;
      counts_.bytes_shared += added.bytes_shared;
      changed_.notify_all();
      if (failure_) return;
    }
  }

  void write(const SealedPiece& piece, PageCopyCounts& added) {
    if (piece.first_part == 0) {
      place_ = {};
      parts_.clear();
    }
    added.pages += piece.pages.size();
    added.bytes_read += reads_ ? piece.stored_bytes : 0;
    if (ranges_.takes(piece.pages, !reads_)) {
      for (const SealedPage& page : piece.pages) {
        ranges_.add(page, parts_.size());
        parts_.push_back({page.description.locator.size, 0, page.description.has_checksum});
      }
    } else {
      write_pages(piece, added);
    }
    if (piece.ends_cluster || ranges_.bytes() >= (reads_ ? enough_while_reading : enough)) copy_ranges(added);
    if (!piece.ends_cluster) return;
    ClusterDescriptor cluster = describe(*piece.cluster, added);
    added.entries += cluster.entries;
    ++added.clusters;
    sink_.add_cluster(std::move(cluster));
  }

  void write_pages(const SealedPiece& piece, PageCopyCounts& added) {
    std::vector<container::PagePart> pages;
    pages.reserve(piece.pages.size());
    for (const SealedPage& page : piece.pages) {
      pages.push_back({page.stored, target_of_[page.column]});
      added.bytes_written += page.stored.size();
    }
    const std::vector<std::uint64_t> offsets =
        pages.empty() ? std::vector<std::uint64_t>() : sink_.write_pages(pages, place_);
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const PageDescriptor& from = piece.pages[i].description;
      parts_.push_back({from.locator.size, offsets[i], from.has_checksum});
    }
  }

  void copy_ranges(PageCopyCounts& added) {
    const std::vector<container::FileRange> ranges = ranges_.merged();
    if (ranges.empty()) return;
    const auto copied = sink_.copy_ranges(source_.file(), ranges);
    added.bytes_shared += copied.shared;
    for (const CopiedRanges::CopiedPage& page : ranges_.pages()) {
      const auto range = std::ranges::upper_bound(ranges, page.offset, {}, &container::FileRange::offset) - 1;
      parts_[page.part].offset =
          copied.offsets[static_cast<std::size_t>(range - ranges.begin())] + (page.offset - range->offset);
      added.bytes_written += page.size;
    }
    ranges_.clear();
  }

  // Where columns are mapped, those that nothing is put into are suppressed.
  void begin_mapped(ClusterDescriptor& cluster) const {
    cluster.columns.resize(sink_.descriptor().columns.size());
    for (std::size_t i = 0; i < cluster.columns.size(); ++i) {
      cluster.columns[i].column = static_cast<std::uint32_t>(i);
      cluster.columns[i].suppressed = true;
    }
  }

  // Writes what is filled, each page once, and puts it into the ranges.
  void fill(const ClusterParts& parts, ClusterDescriptor& cluster, PageCopyCounts& added) {
    if (!options_.fill) return;
    const std::uint32_t compression = sink_.compression().to_root();
    std::vector<container::PagePart> pages;
    std::map<std::pair<const ZeroPages::ZeroPage*, std::uint32_t>, std::size_t> part_of;
    const bool shares = sink_.container().shares_pages();
    zeros_.begin_cluster();
    std::vector<std::pair<ColumnRange*, std::vector<std::pair<std::uint32_t, const ZeroPages::ZeroPage*>>>>
        ranges;
    for (const FilledColumn& filled : options_.fill(parts.cluster)) {
      const ColumnDescriptor& column = sink_.descriptor().columns[filled.column];
      ColumnRange& range = cluster.columns[filled.column];
      range.suppressed = false;
      range.compression = compression;
      auto& zeros = ranges.emplace_back(&range, 0).second;
      const std::uint32_t most = ZeroPages::most_elements(column.encoding);
      for (std::uint64_t left = filled.elements; left > 0;) {
        const auto elements = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, most));
        const ZeroPages::ZeroPage& page = zeros_.get(column, elements, compression);
        const std::pair key(&page, shares ? 0 : filled.column);
        if (part_of.try_emplace(key, pages.size()).second) pages.push_back({page.stored, filled.column});
        zeros.emplace_back(elements, &page);
        left -= elements;
      }
    }
    const std::vector<std::uint64_t> offsets =
        pages.empty() ? std::vector<std::uint64_t>() : sink_.write_pages(pages, place_);
    for (const auto& [range, zeros] : ranges)
      for (const auto& [elements, page] : zeros)
        range->pages.push_back(
            {.elements = elements,
             .has_checksum = page->stored.size() > page->size,
             .locator = {.kind = sink_.container().page_kind(),
                         .size = page->size,
                         .offset = offsets[part_of.at({page, shares ? 0 : range->column})]}});
    for (const container::PagePart& page : pages) added.bytes_written += page.bytes.size();
    added.pages += pages.size();
  }

  ClusterDescriptor describe(const ClusterParts& parts, PageCopyCounts& added) {
    const ClusterDescriptor& from = source_.descriptor().clusters[parts.cluster];
    ClusterDescriptor cluster;
    cluster.entries = from.entries;
    cluster.flags = from.flags;
    if (options_.is_mapped) {
      begin_mapped(cluster);
      fill(parts, cluster, added);
    }
    std::size_t next_page = 0;
    for (const ColumnRange& range : from.columns) {
      if (target_of_[range.column] == invalid_id) continue;
      if (options_.is_mapped && range.suppressed) continue;
      ColumnRange& to =
          options_.is_mapped ? cluster.columns[target_of_[range.column]] : cluster.columns.emplace_back();
      to.column = target_of_[range.column];
      to.suppressed = range.suppressed;
      to.compression = range.compression;
      if (options_.compression && can_recompress(source_.descriptor().columns[range.column]))
        to.compression = options_.compression->to_root();
      to.pages.reserve(to.pages.size() + range.pages.size());
      for (const PageDescriptor& page : range.pages) {
        const WrittenPart& part = parts_[parts.part_of[next_page++]];
        to.pages.push_back(
            {.elements = page.elements,
             .has_checksum = part.has_checksum,
             .locator = {.kind = sink_.container().page_kind(), .size = part.size, .offset = part.offset}});
      }
    }
    return cluster;
  }

  struct WrittenPart {
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    bool has_checksum = false;
  };

  const PageSource& source_;
  const std::vector<std::uint32_t>& target_of_;
  DataSetSink& sink_;
  const PageCopyOptions& options_;
  const bool reads_;
  // Of the thread, for the open cluster.
  container::ClusterWriteState place_;
  std::vector<WrittenPart> parts_;
  CopiedRanges ranges_;  // with pages of which parts_ does not know where they go
  ZeroPages zeros_;

  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::deque<std::shared_ptr<SealedPiece>> queue_;
  bool busy_ = false;
  bool stopping_ = false;
  std::exception_ptr failure_;
  PageCopyCounts counts_;
  std::thread thread_;
};

void add_counts(PageCopyCounts& to, const PageCopyCounts& before, const PageCopyCounts& now) {
  to.entries = before.entries + now.entries;
  to.clusters = before.clusters + now.clusters;
  to.pages = before.pages + now.pages;
  to.bytes_read = before.bytes_read + now.bytes_read;
  to.bytes_written = before.bytes_written + now.bytes_written;
  to.bytes_shared = before.bytes_shared + now.bytes_shared;
}

}  // namespace

bool can_recompress(const ColumnDescriptor& column) noexcept {
  return column.raw_type < column_type_count && is_valid(column.encoding);
}

bool copy_pages(const PageSource& source, std::size_t first_cluster,
                const std::vector<std::uint32_t>& target_of, DataSetSink& sink,
                const PageCopyOptions& options, PageCopyCounts& counts,
                const std::function<bool()>& goes_on) {
  const PageCopyCounts before = counts;
  const Converter converter(source, options);
  StreamOptions how =
      stream_within(options.memory, source, sink.container().page_kind() == Locator::Kind::file,
                    options.compression.has_value());
  how.pool = options.pool;
  how.first_cluster = first_cluster;
  how.end_cluster = source.descriptor().clusters.size();
  how.columns = wanted_columns(target_of);
  how.shares_over_columns = sink.container().shares_pages();
  how.convert = [&](SealedPage& page) { converter.convert(page); };
  how.converted_bytes = [&](std::uint32_t column, const PageDescriptor& page) {
    return converter.bytes(column, page);
  };
  how.reads = options.check_pages || !CopiedRanges(source, sink).takes_all(how);
  SealedPageStream stream(source, how);
  PieceWriter writer(source, target_of, sink, options, how.reads);
  const auto wants_more = [&] {
    add_counts(counts, before, writer.counts());
    return goes_on();
  };
  while (std::shared_ptr<SealedPiece> piece = stream.next()) {
    while (!writer.has_room()) {
      stream.poll();
      if (!wants_more()) return false;
    }
    writer.give(std::move(piece));
    if (!wants_more()) {
      writer.stop();
      add_counts(counts, before, writer.counts());
      return false;
    }
  }
  while (!writer.is_done())
    if (!wants_more()) break;
  writer.stop();
  add_counts(counts, before, writer.counts());
  return counts.clusters - before.clusters == how.end_cluster - first_cluster;
}

}  // namespace colonnade::page
