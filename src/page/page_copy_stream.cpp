// See page_copy_stream.h.
#include "page/page_copy_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace colonnade::page {
namespace {

// Between files in the page cache copying takes all the time, and least of it within the processor's caches;
// from far away, waiting does.
constexpr std::size_t largest_piece_nearby = std::size_t{1} << 20;
constexpr std::size_t most_ahead_nearby = 4;
constexpr std::size_t largest_piece = std::size_t{16} << 20;
constexpr std::size_t smallest_piece = std::size_t{64} << 10;

// What one thread reads and checks at a time: little enough for its cache.
constexpr std::size_t most_copied_at_once = std::size_t{1} << 20;
constexpr std::size_t most_requested_at_once = std::size_t{8} << 20;
// A piece that is at least this full ends with its column.
constexpr double full_enough = 0.5;
// Of larger ones the storage is asked whether they are there.
constexpr std::uint64_t modest_page = std::uint64_t{16} << 20;

struct PlaceOfPage {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint32_t column;
  friend bool operator==(const PlaceOfPage&, const PlaceOfPage&) = default;
};
struct HashOfPlace {
  std::size_t operator()(const PlaceOfPage& place) const noexcept {
    return static_cast<std::size_t>((place.offset * 0x9e3779b97f4a7c15U) ^ (place.size << 1) ^ place.column);
  }
};

// Gives each page of a cluster its part, in the order of columns and pages, and each new part to `add`.
template <class Add>
void number_parts(const PageSource& source, const StreamOptions& options, ClusterParts& parts, Add&& add) {
  std::unordered_map<PlaceOfPage, std::uint32_t, HashOfPlace> known;
  for (const ColumnRange& range : source.descriptor().clusters[parts.cluster].columns) {
    if (range.column >= options.columns.size() || !options.columns[range.column]) continue;
    const PageList pages = source.placed_pages(range.column, parts.cluster);
    for (std::uint32_t number = 0; number < pages.size(); ++number) {
      const PageDescriptor page = pages[number];
      const PlaceOfPage place{page.locator.offset, stored_size(page),
                              options.shares_over_columns ? 0 : range.column};
      const bool has_place = options.merges && page.locator.kind == Locator::Kind::file;
      const auto next = static_cast<std::uint32_t>(parts.parts);
      const auto [found, is_new] = has_place ? known.emplace(place, next) : std::pair(known.end(), true);
      parts.part_of.push_back(is_new ? next : found->second);
      if (!is_new) continue;
      ++parts.parts;
      add(range.column, number, page);
    }
  }
}

}  // namespace

StreamOptions stream_within(std::size_t memory, const PageSource& source, bool into_file, bool compresses) {
  constexpr std::size_t least_pieces = 4;
  const bool is_nearby = source.file().traits().reads_are_copies && !compresses;
  StreamOptions options;
  // In an object store, pages that are written together lie together.
  options.piece_bytes = std::max(memory / least_pieces, smallest_piece);
  if (into_file)
    options.piece_bytes = std::min(options.piece_bytes, is_nearby ? largest_piece_nearby : largest_piece);
  const std::size_t pieces = std::max(memory / options.piece_bytes, least_pieces);
  options.pieces_ahead = pieces - most_queued_pieces - 2;
  if (is_nearby) options.pieces_ahead = std::min(options.pieces_ahead, most_ahead_nearby);
  return options;
}

std::vector<bool> wanted_columns(const std::vector<std::uint32_t>& target_of) {
  std::vector<bool> wanted;
  for (const std::uint32_t target : target_of) wanted.push_back(target != invalid_id);
  return wanted;
}

// A piece on its way. Tasks hold no reference to the stream's members that change.
struct SealedPageStream::Batch {
  struct PlannedExtent {
    io::ReadExtent plan;
    std::optional<io::ReadScheduler::Id> id;  // while the scheduler has it
    bool is_read = false;
    PageBuffers::Loan memory;
    std::vector<std::pair<std::size_t, std::size_t>> pages;  // index, position
  };
  std::shared_ptr<SealedPiece> piece;
  std::vector<PlannedExtent> extents;
  std::vector<std::size_t> alone;  // pages that are no part of an extent
  std::size_t next_extent = 0;     // to be given to the threads
  std::unique_ptr<TaskGroup> tasks;
};

SealedPageStream::SealedPageStream(const PageSource& source, StreamOptions options)
    : source_(source),
      options_(std::move(options)),
      buffers_(std::make_shared<PageBuffers>((options_.pieces_ahead + 1) * options_.piece_bytes)),
      next_cluster_(options_.first_cluster) {
  const io::IoTraits traits = source.file().traits();
  if (traits.concurrency > 1 && !traits.reads_are_copies)
    scheduler_ = std::make_unique<io::ReadScheduler>(source.file(), traits);
}

SealedPageStream::~SealedPageStream() {
  for (const auto& batch : ahead_) batch->tasks.reset();
  scheduler_.reset();  // the batches have its buffers
}

// An Error that leaves `work` says which page it was about.
template <class Work>
void SealedPageStream::in_page(std::size_t cluster, std::uint32_t column, std::uint32_t number,
                               Work&& work) const {
  try {
    work();
  } catch (const Error& error) {
    throw source_.in_page(error, column, cluster, number);
  }
}

void SealedPageStream::plan_cluster() {
  parts_ = std::make_shared<ClusterParts>();
  parts_->cluster = next_cluster_++;
  planned_.clear();
  next_part_ = 0;
  number_parts(source_, options_, *parts_,
               [&](std::uint32_t column, std::uint32_t number, const PageDescriptor& page) {
                 in_page(parts_->cluster, column, number, [&] { check_size(page); });
                 planned_.push_back({.column = column, .number = number, .description = page});
               });
}

// Before anybody makes room for it.
void SealedPageStream::check_size(const PageDescriptor& page) const {
  if (page.locator.kind != Locator::Kind::file) return;
  const std::uint64_t size = stored_size(page);
  const std::uint64_t file_size = source_.file_size();
  if (size > file_size)
    throw Error(
        ErrorKind::format,
        fmt::format("the page of {} bytes lies beyond the end of the file ({} bytes)", size, file_size),
        "check that the file was transferred completely");
  if (size > modest_page) source_.check_there(page);
}

// Starts to read the next piece. False: there is none.
bool SealedPageStream::start_piece() {
  if (!parts_) {
    if (next_cluster_ >= options_.end_cluster) return false;
    plan_cluster();
  }
  auto batch = std::make_unique<Batch>();
  batch->tasks =
      std::make_unique<TaskGroup>(options_.pool != nullptr ? *options_.pool : ThreadPool::shared());
  batch->piece = next_piece();
  if (!options_.reads) {
    ahead_.push_back(std::move(batch));
    return true;
  }
  const io::ReadPlan plan = plan_reads(*batch);
  start_reads(*ahead_.emplace_back(std::move(batch)), plan);
  return true;
}

// Pages of one cluster until there are enough, preferably up to the end of a column.
std::shared_ptr<SealedPiece> SealedPageStream::next_piece() {
  auto piece = std::make_shared<SealedPiece>();
  piece->cluster = parts_;
  piece->first_part = next_part_;
  const auto enough = static_cast<std::uint64_t>(full_enough * static_cast<double>(options_.piece_bytes));
  std::uint64_t bytes = 0;
  for (; next_part_ < planned_.size(); ++next_part_) {
    SealedPage& page = planned_[next_part_];
    const std::uint64_t converted =
        options_.converted_bytes ? options_.converted_bytes(page.column, page.description) : 0;
    const std::uint64_t size = stored_size(page.description);
    if (!piece->pages.empty()) {
      const bool begins_column = page.column != piece->pages.back().column;
      if (bytes + size + converted > options_.piece_bytes || (begins_column && bytes >= enough)) break;
    }
    bytes += size + converted;
    piece->stored_bytes += size;
    piece->pages.push_back(std::move(page));
  }
  piece->ends_cluster = next_part_ == planned_.size();
  if (piece->ends_cluster) parts_.reset();
  return piece;
}

// Notes which extent has which page.
io::ReadPlan SealedPageStream::plan_reads(Batch& batch) const {
  std::vector<io::WantedRange> wanted;
  for (const SealedPage& page : batch.piece->pages)
    wanted.push_back(source_.is_plain(page.description)
                         ? io::WantedRange{page.description.locator.offset,
                                           static_cast<std::size_t>(stored_size(page.description))}
                         : io::WantedRange{});
  io::ReadPlan plan =
      io::plan_reads(wanted, source_.file().traits(),
                     scheduler_ ? most_requested_at_once : most_copied_at_once, source_.file_size());
  batch.extents.resize(plan.extents.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const io::ReadPlan::PlannedRange& range = plan.ranges[i];
    if (range.extent == io::ReadPlan::none)
      batch.alone.push_back(i);
    else
      batch.extents[range.extent].pages.emplace_back(i, range.position);
  }
  return plan;
}

void SealedPageStream::start_reads(Batch& batch, const io::ReadPlan& plan) {
  const io::IoTraits traits = source_.file().traits();
  if (scheduler_) scheduler_->hold();
  for (std::size_t i = 0; i < plan.extents.size(); ++i) {
    Batch::PlannedExtent& extent = batch.extents[i];
    extent.plan = plan.extents[i];
    extent.memory = buffers_->lend(extent.plan.size, traits.alignment);
    const MutableByteSpan into{extent.memory.data(), extent.plan.size};
    if (scheduler_)
      extent.id = scheduler_->start(extent.plan, into);
    else if (traits.reads_are_copies)
      source_.file().will_need(extent.plan.offset, extent.plan.size);
  }
  if (scheduler_) {
    scheduler_->release();
    return;
  }
  for (std::size_t i = 0; i < batch.extents.size(); ++i)
    batch.tasks->run([this, &batch, i] { read_and_check(batch, i); });
  batch.next_extent = batch.extents.size();
}

void SealedPageStream::fill() {
  while (ahead_.size() < options_.pieces_ahead && start_piece()) {
  }
}

void SealedPageStream::poll() {
  if (scheduler_) scheduler_->poll();
}

void SealedPageStream::check(SealedPage& page) const {
  source_.verify(page.description, page.stored);
  if (options_.convert) options_.convert(page);
}

// In any thread. What makes an extent fail may concern other bytes than those of its pages, or only one of
// them: each page is then read by itself.
void SealedPageStream::read_and_check(Batch& batch, std::size_t number) {
  Batch::PlannedExtent& extent = batch.extents[number];
  if (!scheduler_) {
    try {
      source_.file().read(extent.plan.offset, {extent.memory.data(), extent.plan.size});
      extent.is_read = true;
    } catch (const Error&) {
      extent.is_read = false;
    }
  }
  for (const auto& [index, position] : extent.pages) {
    SealedPage& page = batch.piece->pages[index];
    const MutableByteSpan stored{extent.memory.data() + position,
                                 static_cast<std::size_t>(stored_size(page.description))};
    in_page(batch.piece->cluster->cluster, page.column, page.number, [&] {
      if (!extent.is_read) source_.read_sealed(page.description, stored);
      page.stored = stored;
      check(page);
    });
  }
}

void SealedPageStream::read_one(Batch& batch, SealedPage& page) {
  in_page(batch.piece->cluster->cluster, page.column, page.number, [&] {
    const std::uint64_t size =
        page.description.locator.kind == Locator::Kind::file ? stored_size(page.description) : 0;
    batch.piece->memory.push_back(buffers_->lend(static_cast<std::size_t>(size)));
    const MutableByteSpan into{batch.piece->memory.back().data(), static_cast<std::size_t>(size)};
    source_.read_sealed(page.description, into);
    page.stored = into;
    check(page);
  });
}

std::shared_ptr<SealedPiece> SealedPageStream::next() {
  fill();
  if (ahead_.empty()) return nullptr;
  Batch& batch = *ahead_.front();
  for (; batch.next_extent < batch.extents.size(); ++batch.next_extent) {
    const std::size_t number = batch.next_extent;
    Batch::PlannedExtent& extent = batch.extents[number];
    try {
      scheduler_->wait_for(*extent.id);
      extent.is_read = true;
    } catch (const Error&) {
      extent.is_read = false;
    }
    scheduler_->forget(*std::exchange(extent.id, std::nullopt));
    batch.tasks->run([this, &batch, number] { read_and_check(batch, number); });
  }
  batch.tasks->wait();
  for (const std::size_t index : batch.alone) read_one(batch, batch.piece->pages[index]);
  const std::unique_ptr<Batch> done = std::move(ahead_.front());
  ahead_.pop_front();
  for (Batch::PlannedExtent& extent : done->extents) done->piece->memory.push_back(std::move(extent.memory));
  fill();
  return done->piece;
}

}  // namespace colonnade::page
