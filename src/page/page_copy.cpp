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
constexpr std::chrono::milliseconds patience{5};
constexpr std::size_t sum_size = sizeof(std::uint64_t);

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
    thread_local AlignedBuffer unpacked;
    const ByteSpan block = page.stored.first(page.description.locator.size);
    ByteSpan content = block;
    if (const std::size_t packed = packed_size(page.column, page.description); packed != block.size()) {
      unpacked.resize(packed);
      codec::decompress(block, unpacked.span(),
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

// ---- writing ----

// Puts pieces into the sink, in a thread of its own. Everything but the thread's own work is called by one.
class PieceWriter {
 public:
  PieceWriter(const PageSource& source, const std::vector<std::uint32_t>& target_of, DataSetSink& sink,
              const PageCopyOptions& options)
      : source_(source), target_of_(target_of), sink_(sink), options_(options) {
    thread_ = std::thread([this] { run(); });
  }
  ~PieceWriter() { stop(); }
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  // Waits a little for room; throws what made writing fail.
  bool has_room() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return queue_.size() < most_queued || failure_; });
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
    changed_.wait_for(lock, patience, [this] { return (queue_.empty() && !busy_) || failure_; });
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
      changed_.notify_all();
      if (failure_) return;
    }
  }

  void write(const SealedPiece& piece, PageCopyCounts& added) {
    if (piece.first_part == 0) {
      place_ = {};
      parts_.clear();
    }
    std::vector<container::PagePart> pages;
    pages.reserve(piece.pages.size());
    for (const SealedPage& page : piece.pages) {
      pages.push_back({page.stored, target_of_[page.column]});
      added.bytes_written += page.stored.size();
    }
    added.pages += pages.size();
    added.bytes_read += piece.stored_bytes;
    const std::vector<std::uint64_t> offsets =
        pages.empty() ? std::vector<std::uint64_t>() : sink_.write_pages(pages, place_);
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const PageDescriptor& from = piece.pages[i].description;
      parts_.push_back({from.locator.size, offsets[i], from.has_checksum});
    }
    if (!piece.ends_cluster) return;
    ClusterDescriptor cluster = describe(*piece.cluster);
    added.entries += cluster.entries;
    ++added.clusters;
    sink_.add_cluster(std::move(cluster));
  }

  ClusterDescriptor describe(const ClusterParts& parts) const {
    const ClusterDescriptor& from = source_.descriptor().clusters[parts.cluster];
    ClusterDescriptor cluster;
    cluster.entries = from.entries;
    cluster.flags = from.flags;
    std::size_t next_page = 0;
    for (const ColumnRange& range : from.columns) {
      if (target_of_[range.column] == invalid_id) continue;
      ColumnRange& to = cluster.columns.emplace_back();
      to.column = target_of_[range.column];
      to.suppressed = range.suppressed;
      to.compression = range.compression;
      if (options_.compression && can_recompress(source_.descriptor().columns[range.column]))
        to.compression = options_.compression->to_root();
      to.pages.reserve(range.pages.size());
      for (const PageDescriptor& page : range.pages) {
        const Part& part = parts_[parts.part_of[next_page++]];
        to.pages.push_back(
            {.elements = page.elements,
             .has_checksum = part.has_checksum,
             .locator = {.kind = sink_.container().page_kind(), .size = part.size, .offset = part.offset}});
      }
    }
    return cluster;
  }

  struct Part {
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    bool has_checksum = false;
  };

  const PageSource& source_;
  const std::vector<std::uint32_t>& target_of_;
  DataSetSink& sink_;
  const PageCopyOptions& options_;
  // Of the thread, for the open cluster.
  container::ClusterPlace place_;
  std::vector<Part> parts_;

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
  how.first_cluster = first_cluster;
  how.end_cluster = source.descriptor().clusters.size();
  how.columns = wanted_columns(target_of);
  how.shares_over_columns = sink.container().shares_pages();
  how.convert = [&](SealedPage& page) { converter.convert(page); };
  how.converted_bytes = [&](std::uint32_t column, const PageDescriptor& page) {
    return converter.bytes(column, page);
  };
  SealedPageStream stream(source, how);
  PieceWriter writer(source, target_of, sink, options);
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

}  // namespace

void compare_structure(const CopiedClusters& clusters, bool as_stored) {
  for (std::size_t i = 0; i < clusters.count; ++i) {
    const ClusterDescriptor& from = clusters.source.descriptor().clusters[clusters.first + i];
    const std::size_t at = clusters.target_first + i;
    const ClusterDescriptor& to = clusters.target.descriptor().clusters[at];
    const std::vector<const ColumnRange*> ranges = copied_ranges(clusters, clusters.first + i);
    if (from.entries != to.entries)
      differ(clusters.target, fmt::format("{} entries for {}", to.entries, from.entries), {.cluster = at});
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
