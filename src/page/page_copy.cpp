// See page_copy.h.
#include "page/page_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "codec/column_codec.h"

namespace colonnade::page {
namespace {

// Between files in the page cache copying takes all the time, and least of it within the processor's caches;
// from far away, waiting does.
constexpr std::size_t largest_piece_nearby = std::size_t{2} << 20;
constexpr std::size_t most_ahead_nearby = 4;
constexpr std::size_t largest_piece = std::size_t{16} << 20;
constexpr std::size_t smallest_piece = std::size_t{64} << 10;
// Pieces in the writing thread's hands and in its queue.
constexpr std::size_t most_queued = 1;
constexpr std::chrono::milliseconds poll_interval{5};
constexpr std::size_t sum_size = sizeof(std::uint64_t);
// Pages are rarely larger; those that are, or say so, get memory of their own.
constexpr std::size_t most_kept = std::size_t{16} << 20;

// How the memory of a copy is shared: pieces being read, one that is handed over, and those being written.
StreamOptions divide(std::size_t memory, const PageSource& source, bool into_file, bool compresses = false) {
  constexpr std::size_t least_pieces = 4;
  const bool is_nearby = source.file().traits().reads_are_copies && !compresses;
  StreamOptions options;
  // In an object store, pages that are written together lie together.
  options.piece_bytes = std::max(memory / least_pieces, smallest_piece);
  if (into_file)
    options.piece_bytes = std::min(options.piece_bytes, is_nearby ? largest_piece_nearby : largest_piece);
  const std::size_t pieces = std::max(memory / options.piece_bytes, least_pieces);
  options.pieces_ahead = pieces - most_queued - 2;
  if (is_nearby) options.pieces_ahead = std::min(options.pieces_ahead, most_ahead_nearby);
  return options;
}

std::vector<bool> wanted_columns(const std::vector<std::uint32_t>& target_of) {
  std::vector<bool> wanted;
  for (const std::uint32_t target : target_of) wanted.push_back(target != invalid_id);
  return wanted;
}

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
    if (recompresses(column)) return packed_size(column, page) + sum_size;
    return options_.add_checksums && !page.has_checksum ? page.locator.size + sum_size : 0;
  }

  // In any thread.
  void convert(SealedPage& page) const {
    if (recompresses(page.column)) return recompress(page);
    if (!options_.add_checksums || page.description.has_checksum) return;
    page.other.resize(page.stored.size() + sum_size);
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
      page.other.resize(page.other.size() + sum_size);
      add_sum(page);
    }
    page.stored = page.other.span();
  }

  const PageSource& source_;
  const PageCopyOptions& options_;
};

// ---- filling ----

// Pages of zeros, sealed. Each is made once as long as it is needed again.
class ZeroPages {
 public:
  explicit ZeroPages(bool with_checksums) : with_checksums_(with_checksums) {}

  struct ZeroPage {
    Bytes stored;
    std::uint64_t size = 0;  // of the block
  };
  static std::uint32_t most_elements(const ColumnEncoding& encoding) {
    constexpr std::uint64_t page_bits = std::uint64_t{8} << 18;
    return static_cast<std::uint32_t>(page_bits / std::max<unsigned>(encoding.bits, 1));
  }
  void begin_cluster() {
    constexpr std::size_t most_kept = 4096;
    if (pages_.size() > most_kept) pages_.clear();
  }
  // It lives until the next cluster begins.
  const ZeroPage& get(const ColumnDescriptor& column, std::uint32_t elements, std::uint32_t compression) {
    const ColumnEncoding& encoding = column.encoding;
    const Key key{encoding.type, encoding.bits, encoding.min, encoding.max, elements, compression};
    const auto [found, is_new] = pages_.try_emplace(key);
    if (is_new) found->second = make(encoding, elements, compression);
    return found->second;
  }

 private:
  using Key = std::tuple<ColumnType, unsigned, double, double, std::uint32_t, std::uint32_t>;

  ZeroPage make(const ColumnEncoding& encoding, std::uint32_t elements, std::uint32_t compression) const {
    const ElementType element = natural_element(encoding.type);
    AlignedBuffer values;
    values.resize(elements * size_of(element));
    std::memset(values.data(), 0, values.size());
    if (encoding.type == ColumnType::real32_quant && (encoding.min > 0 || encoding.max < 0)) {
      // The nearest that the column can hold.
      auto* const reals = static_cast<float*>(static_cast<void*>(values.data()));
      std::fill_n(reals, elements, static_cast<float>(encoding.min > 0 ? encoding.min : encoding.max));
    }
    AlignedBuffer packed;
    packed.resize(codec::packed_size(encoding, elements));
    codec::encode(encoding, element, values.data(), elements, packed.span());
    AlignedBuffer block;
    codec::compress(codec::CompressionSettings::parse(std::to_string(compression)), packed.span(), block);
    ZeroPage page{.stored = Bytes(block.span().begin(), block.span().end()), .size = block.size()};
    if (with_checksums_) {
      page.stored.resize(page.size + sum_size);
      store_le(page.stored.data() + page.size, codec::xxh3(ByteSpan(page.stored).first(page.size)));
    }
    return page;
  }

  const bool with_checksums_;
  std::map<Key, ZeroPage> pages_;
};

// ---- copying by the system ----

// Pages that wait to be copied as ranges of their file, those that lie together at once.
class CopiedRanges {
 public:
  struct CopiedPage {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::size_t part = 0;  // of the cluster
  };

  CopiedRanges(const PageSource& source, const DataSetSink& sink)
      : source_(source),
        largest_(source.has_other_places() ? 0 : sink.container().largest_copy(source.file())) {}

  // Whether any pages can be copied so.
  bool is_possible() const noexcept { return largest_ > 0; }
  bool fits(const PageDescriptor& page) const noexcept {
    return source_.is_plain(page) && stored_size(page) <= largest_ / 2;
  }
  // Whether all of these pages are copied so, and that pays: they are as they were read, and lie in few
  // places.
  bool takes(std::span<const SealedPage> pages, bool at_any_rate) const {
    constexpr std::uint64_t worthwhile = std::uint64_t{64} << 10;
    if (pages.empty() || !is_possible()) return false;
    std::vector<CopiedPage> wanted;
    std::uint64_t bytes = 0;
    for (const SealedPage& page : pages) {
      if (!fits(page.description) || page.other.size() > 0) return false;
      wanted.push_back({page.description.locator.offset, stored_size(page.description), 0});
      bytes += wanted.back().size;
    }
    return at_any_rate || merge(std::move(wanted)).size() * worthwhile <= std::max(bytes, worthwhile);
  }
  void add(const SealedPage& page, std::size_t part) {
    pages_.push_back({page.description.locator.offset, stored_size(page.description), part});
    bytes_ += pages_.back().size;
  }
  bool is_enough() const noexcept { return bytes_ >= std::uint64_t{16} << 20; }
  std::span<const CopiedPage> pages() const noexcept { return pages_; }
  // In order.
  std::vector<container::FileRange> merged() const { return merge(pages_); }
  void clear() {
    pages_.clear();
    bytes_ = 0;
  }

 private:
  // Over what lies between pages as well, if that is little: keys of ROOT files, for one.
  std::vector<container::FileRange> merge(std::vector<CopiedPage> pages) const {
    constexpr std::uint64_t small_gap = 256;
    std::ranges::sort(pages, {}, &CopiedPage::offset);
    std::vector<container::FileRange> ranges;
    for (const CopiedPage& page : pages) {
      const std::uint64_t end = page.offset + page.size;
      if (!ranges.empty()) {
        container::FileRange& last = ranges.back();
        const std::uint64_t longer = std::max(end, last.offset + last.size) - last.offset;
        if (page.offset <= last.offset + last.size + small_gap && longer <= largest_) {
          last.size = longer;
          continue;
        }
      }
      ranges.push_back({page.offset, page.size});
    }
    return ranges;
  }

  const PageSource& source_;
  const std::uint64_t largest_;
  std::vector<CopiedPage> pages_;
  std::uint64_t bytes_ = 0;
};

// Whether no page needs to be read: none is to be changed, and the system copies all.
bool needs_no_bytes(const PageSource& source, const StreamOptions& how, const CopiedRanges& ranges) {
  if (!ranges.is_possible()) return false;
  for (std::size_t cluster = how.first_cluster; cluster < how.end_cluster; ++cluster)
    for (const ColumnRange& range : source.descriptor().clusters[cluster].columns) {
      if (range.column >= how.columns.size() || !how.columns[range.column]) continue;
      for (const PageDescriptor& page : range.pages)
        if (!ranges.fits(page) || how.converted_bytes(range.column, page) > 0) return false;
    }
  return true;
}

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
    thread_ = std::thread([this] { run(); });
  }
  ~PieceWriter() { stop(); }
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  // Waits a little for room; throws what made writing fail.
  bool has_room() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, poll_interval, [this] { return queue_.size() < most_queued || failure_; });
    rethrow();
    return queue_.size() < most_queued;
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
    if (piece.ends_cluster || ranges_.is_enough()) copy_ranges(added);
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
  StreamOptions how = divide(options.memory, source, sink.container().page_kind() == Locator::Kind::file,
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
  how.reads = options.check_pages || !needs_no_bytes(source, how, CopiedRanges(source, sink));
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

// ---- comparing ----

namespace {

// Pages of one side, one after the other.
class PageCursor {
 public:
  PageCursor(const PageSource& source, StreamOptions how) : stream_(source, std::move(how)) {}

  // Null at the end. A page stays until the next one is asked for.
  const SealedPage* next() {
    while (!piece_ || at_ == piece_->pages.size()) {
      at_ = 0;
      piece_ = stream_.next();
      if (!piece_) return nullptr;
    }
    return &piece_->pages[at_++];
  }
  std::size_t cluster() const { return piece_->cluster->cluster; }

 private:
  SealedPageStream stream_;
  std::shared_ptr<SealedPiece> piece_;
  std::size_t at_ = 0;
};

[[noreturn]] void differ(const PageSource& target, std::string problem, ErrorContext where) {
  throw Error(ErrorKind::format, "the copy differs from its source: " + std::move(problem),
              "copy it again; see colonnade verify for what is damaged", std::move(where))
      .with(target.context());
}

// The ranges of the columns that were copied.
std::vector<const ColumnRange*> copied_ranges(const CopiedClusters& clusters, std::size_t cluster) {
  std::vector<const ColumnRange*> ranges;
  for (const ColumnRange& range : clusters.source.descriptor().clusters[cluster].columns)
    if (clusters.target_of[range.column] != invalid_id) ranges.push_back(&range);
  return ranges;
}

void compare_ranges(const CopiedClusters& clusters, std::size_t at, const ColumnRange& from,
                    const ColumnRange& to, bool as_stored) {
  const auto where = [&](std::size_t page) { return clusters.target.context(to.column, at, page); };
  if (to.column != clusters.target_of[from.column] || to.suppressed != from.suppressed ||
      to.pages.size() != from.pages.size())
    differ(clusters.target, fmt::format("{} pages for {}", to.pages.size(), from.pages.size()), where(0));
  for (std::size_t page = 0; page < from.pages.size(); ++page) {
    const PageDescriptor a = from.pages[page];
    const PageDescriptor b = to.pages[page];
    if (a.elements != b.elements)
      differ(clusters.target, fmt::format("{} elements for {}", b.elements, a.elements), where(page));
    if (as_stored && a.locator.size != b.locator.size)
      differ(clusters.target, fmt::format("{} bytes for {}", b.locator.size, a.locator.size), where(page));
  }
}

StreamOptions all_pages(const PageSource& source, std::size_t first, std::size_t count,
                        std::vector<bool> columns, std::size_t memory) {
  StreamOptions how = divide(memory, source, true);
  how.first_cluster = first;
  how.end_cluster = first + count;
  how.columns = std::move(columns);
  how.merges = false;
  return how;
}

// The same where columns are mapped. What was filled comes before what was copied.
void compare_mapped_ranges(const CopiedClusters& clusters, std::size_t at, const ColumnRange& from,
                           const ColumnRange& to, bool as_stored) {
  const auto where = [&](std::size_t page) { return clusters.target.context(to.column, at, page); };
  if (to.suppressed || to.pages.size() < from.pages.size())
    differ(clusters.target, fmt::format("{} pages for {}", to.pages.size(), from.pages.size()), where(0));
  const std::size_t filled = to.pages.size() - from.pages.size();
  for (std::size_t page = 0; page < from.pages.size(); ++page) {
    const PageDescriptor a = from.pages[page];
    const PageDescriptor b = to.pages[filled + page];
    if (a.elements != b.elements)
      differ(clusters.target, fmt::format("{} elements for {}", b.elements, a.elements),
             where(filled + page));
    if (as_stored && a.locator.size != b.locator.size)
      differ(clusters.target, fmt::format("{} bytes for {}", b.locator.size, a.locator.size),
             where(filled + page));
  }
}

// Columns of one cluster that were copied: each with where it went.
std::vector<std::pair<const ColumnRange*, const ColumnRange*>> mapped_ranges(const CopiedClusters& clusters,
                                                                             std::size_t i) {
  const ClusterDescriptor& to = clusters.target.descriptor().clusters[clusters.target_first + i];
  std::vector<std::pair<const ColumnRange*, const ColumnRange*>> pairs;
  for (const ColumnRange* range : copied_ranges(clusters, clusters.first + i)) {
    if (range->suppressed) continue;
    const std::uint32_t column = clusters.target_of[range->column];
    if (column >= to.columns.size())
      differ(clusters.target, fmt::format("column {} is missing", column),
             {.cluster = clusters.target_first + i});
    pairs.emplace_back(range, &to.columns[column]);
  }
  return pairs;
}

void read_sealed(const PageSource& source, std::uint32_t column, std::size_t cluster, std::size_t number,
                 const PageDescriptor& page, AlignedBuffer& into) {
  try {
    into.resize(static_cast<std::size_t>(stored_size(page)));
    source.read_sealed(page, into.span());
    source.verify(page, into.span());
  } catch (const Error& error) {
    throw source.in_page(error, column, cluster, number);
  }
}

// Page by page: the two sides have them in different orders.
bool compare_mapped_pages(const CopiedClusters& clusters, PageCopyCounts& counts,
                          const std::function<bool()>& goes_on) {
  AlignedBuffer a;
  AlignedBuffer b;
  for (std::size_t i = 0; i < clusters.count; ++i) {
    const std::size_t at = clusters.target_first + i;
    for (const auto& [from, to] : mapped_ranges(clusters, i)) {
      const PageList from_pages = clusters.source.placed_pages(from->column, clusters.first + i);
      const PageList to_pages = clusters.target.placed_pages(to->column, at);
      const std::size_t filled = to_pages.size() - from_pages.size();
      for (std::size_t page = 0; page < from_pages.size(); ++page) {
        const PageDescriptor expected = from_pages[page];
        const PageDescriptor found = to_pages[filled + page];
        read_sealed(clusters.source, from->column, clusters.first + i, page, expected, a);
        read_sealed(clusters.target, to->column, at, filled + page, found, b);
        if (std::memcmp(a.data(), b.data(), expected.locator.size) != 0)
          differ(clusters.target, "other bytes in a page",
                 clusters.target.context(to->column, at, filled + page));
        ++counts.pages;
        counts.bytes_read += stored_size(expected);
      }
      if (!goes_on()) return false;
    }
    ++counts.clusters;
  }
  return true;
}

}  // namespace

void compare_structure(const CopiedClusters& clusters, bool as_stored) {
  for (std::size_t i = 0; i < clusters.count; ++i) {
    const ClusterDescriptor& from = clusters.source.descriptor().clusters[clusters.first + i];
    const std::size_t at = clusters.target_first + i;
    const ClusterDescriptor& to = clusters.target.descriptor().clusters[at];
    const std::vector<const ColumnRange*> ranges = copied_ranges(clusters, clusters.first + i);
    if (from.entries != to.entries)
      differ(clusters.target, fmt::format("{} entries for {}", to.entries, from.entries), {.cluster = at});
    if (clusters.is_mapped) {
      for (const auto& [a, b] : mapped_ranges(clusters, i))
        compare_mapped_ranges(clusters, at, *a, *b, as_stored);
      continue;
    }
    if (ranges.size() != to.columns.size())
      differ(clusters.target, fmt::format("{} columns for {}", to.columns.size(), ranges.size()),
             {.cluster = at});
    for (std::size_t k = 0; k < ranges.size(); ++k)
      compare_ranges(clusters, at, *ranges[k], to.columns[k], as_stored);
  }
}

bool compare_pages(const CopiedClusters& clusters, std::size_t memory, PageCopyCounts& counts,
                   const std::function<bool()>& goes_on) {
  compare_structure(clusters, true);
  if (clusters.is_mapped) return compare_mapped_pages(clusters, counts, goes_on);
  constexpr std::uint64_t bytes_between_looks = std::uint64_t{1} << 20;
  PageCursor from(clusters.source, all_pages(clusters.source, clusters.first, clusters.count,
                                             wanted_columns(clusters.target_of), memory / 2));
  PageCursor to(clusters.target,
                all_pages(clusters.target, clusters.target_first, clusters.count,
                          std::vector<bool>(clusters.target.descriptor().columns.size(), true), memory / 2));
  std::uint64_t next_look = counts.bytes_read;
  while (const SealedPage* expected = from.next()) {
    const SealedPage* found = to.next();
    if (found == nullptr) differ(clusters.target, "it has fewer pages", {});
    const ByteSpan a = expected->stored.first(expected->description.locator.size);
    const ByteSpan b = found->stored.first(found->description.locator.size);
    if (a.size() != b.size() || (!a.empty() && std::memcmp(a.data(), b.data(), a.size()) != 0))
      differ(clusters.target, "other bytes in a page",
             clusters.target.context(found->column, to.cluster(), found->number));
    ++counts.pages;
    counts.bytes_read += expected->stored.size();
    if (counts.bytes_read < next_look) continue;
    next_look = counts.bytes_read + bytes_between_looks;
    counts.clusters = to.cluster() - clusters.target_first;
    if (!goes_on()) return false;
  }
  return true;
}

}  // namespace colonnade::page
