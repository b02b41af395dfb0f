// See chain_cursor.h.
#include "frame/sources/chain_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "colonnade/error.h"

namespace colonnade::frame {
namespace {

void add(ReadMetrics& sum, const page::ReadCounters& c) {
  sum.requests += c.requests;
  sum.bytes += c.bytes;
  sum.pages += c.pages;
  sum.metadata_bytes += c.metadata_bytes;
  sum.read_over_bytes += c.read_over_bytes;
  sum.prefetched_used += c.prefetched_used;
  sum.prefetched_unused += c.prefetched_unused;
  sum.peak_ahead_bytes = std::max(sum.peak_ahead_bytes, c.peak_ahead_bytes);
  sum.seconds_waiting += c.seconds_waiting;
  sum.seconds_decoding += c.seconds_decoding;
  sum.cache_pages += c.cache_pages;
  sum.cache_bytes += c.cache_bytes;
  sum.cache_added += c.cache_added;
  sum.cache_dropped += c.cache_dropped;
}

// The decoded size of a column in a cluster.
std::uint64_t bytes_in(const ClusterDescriptor& cluster, const ColumnShape& shape) {
  std::uint64_t bytes = 0;
  const auto add_stored = [&](const ColumnShape::StoredColumn& stored) {
    for (const std::uint32_t column : stored.columns) {
      if (column >= cluster.columns.size() || cluster.columns[column].suppressed) continue;
      bytes += cluster.columns[column].pages.elements() * size_of(stored.element);
      break;
    }
  };
  add_stored(shape.stored);
  add_stored(shape.characters);
  for (const ColumnShape& child : shape.children) bytes += bytes_in(cluster, child);
  return bytes;
}

}  // namespace

ChainCursor::ChainCursor(std::shared_ptr<const Chain> chain) : chain_(std::move(chain)) {}

ChainCursor::~ChainCursor() = default;

void ChainCursor::start(const Part& part, std::span<const Part> next) {
  if (is_started_ && part.sample != part_.sample) leave_file();
  // A part that is begun once more may end elsewhere.
  const bool goes_on = is_started_ && (part.first == part_.last || part.first == part_.first);
  part_ = part;
  next_.assign(next.begin(), next.end());
  is_started_ = true;
  if (in_.cursor) look_ahead(goes_on);
  open_next_file();
}

void ChainCursor::expect(std::span<const std::uint32_t> columns, std::span<const std::uint32_t> certain) {
  expected_.assign(columns.begin(), columns.end());
  certain_ = {certain.begin(), certain.end()};
}

std::span<const Part> ChainCursor::next_in_file() const {
  const auto other =
      std::ranges::find_if(next_, [&](const Part& part) { return part.sample != part_.sample; });
  return {next_.begin(), other};
}

std::span<const Part> ChainCursor::next_in_other_file() const {
  const std::span<const Part> others = std::span(next_).subspan(next_in_file().size());
  const auto end =
      std::ranges::find_if(others, [&](const Part& part) { return part.sample != others.front().sample; });
  return {others.begin(), end};
}

void ChainCursor::open_ahead(unsigned sample) {
  if (next_file_.valid() || !chain_->is_closed(sample)) return;
  try {
    next_file_ = NextFile::of([chain = chain_, sample] { return chain->acquire(sample); });
  } catch (const std::exception&) {  // no thread: it is opened when it is entered
    next_file_ = {};
  }
}

void ChainCursor::open_next_file() {
  if (const std::span<const Part> next = next_in_other_file(); !next.empty()) open_ahead(next.front().sample);
}

void ChainCursor::begin() {
  if (chain_->parts_ahead() == 1) return;  // it is near
  if (chain_->is_closed(part_.sample)) return open_ahead(part_.sample);
  try {
    if (!in_.cursor) enter_file();
    page::ClusterPool& pool = in_.cursor->source().pool();
    if (pool.is_far()) pool.start_expected();
  } catch (const Error&) {  // reading throws it again
  }
}

// Once the next file is open, the pages that are needed of it first are asked for, if it is far away.
void ChainCursor::read_next_file_ahead() {
  const std::span<const Part> next = next_in_other_file();
  if (next.empty() || ahead_of_ == next.front().sample) return;
  const unsigned sample = next.front().sample;
  if (!in_.cursor->source().pool().is_far()) return;
  const bool is_open = next_file_.valid() ? next_file_.is_ready() : !chain_->is_closed(sample);
  if (!is_open) return;
  ahead_of_ = sample;
  try {
    ahead_ = open_file(sample);
    std::vector<page::ClusterPool::ClusterSlice> slices;
    for (const Part& part : next)
      add_slices(ahead_.file->descriptor(), chain_->samples()[sample].first, part, slices);
    page::ClusterPool& pool = ahead_.cursor->source().pool();
    pool.keep_within(std::move(slices));
    pool.start_expected();
  } catch (const Error&) {  // entering the file throws it again
    ahead_ = {};
  }
}

void ChainCursor::leave_file() {
  if (!in_.cursor) return;
  add(of_files_left_, in_.cursor->source().counters());
  in_ = {};
}

// In the first file the selectivity of filters is not known yet.
ChainCursor::Open ChainCursor::open_file(unsigned sample) const {
  Open opened{.file = chain_->acquire(sample), .cursor = nullptr};
  opened.cursor =
      std::make_unique<DataSetCursor>(opened.file->open_again(chain_->options()), chain_->borders(sample));
  for (const std::uint32_t column : expected_) {
    const ColumnShape* shape = chain_->shape(column, sample);
    const bool is_used = used_.contains(column) || certain_.contains(column);
    if (shape != nullptr && (used_.empty() || is_used)) opened.cursor->expect(*shape, is_used);
  }
  return opened;
}

void ChainCursor::enter_file() {
  if (ahead_of_ == part_.sample && ahead_.cursor) {
    in_ = std::move(ahead_);
  } else {
    // What was opened ahead stays open until here.
    const NextFile ahead = std::move(next_file_);
    if (ahead.valid()) ahead.wait();
    in_ = open_file(part_.sample);
  }
  next_file_ = {};
  ahead_of_.reset();
  ahead_ = {};
  look_ahead(false);
}

void ChainCursor::look_ahead(bool goes_on) {
  const std::uint64_t base = chain_->samples()[part_.sample].first;
  const Descriptor& descriptor = in_.file->descriptor();
  std::vector<page::ClusterPool::ClusterSlice> slices;
  add_slices(descriptor, base, part_, slices);
  if (!slices.empty())
    in_.cursor->start(
        {slices.front().cluster, slices.front().begin, slices.back().cluster, slices.back().end}, goes_on);
  for (const Part& part : next_in_file()) add_slices(descriptor, base, part, slices);
  in_.cursor->source().pool().keep_within(std::move(slices));
}

// Where a part lies in the clusters of a file whose first entry is `base`.
void ChainCursor::add_slices(const Descriptor& descriptor, std::uint64_t base, const Part& part,
                             std::vector<page::ClusterPool::ClusterSlice>& slices) {
  const std::uint64_t first = part.first - base;
  const std::uint64_t last = part.last - base;
  for (std::size_t i = descriptor.cluster_of_entry(first); i < descriptor.clusters.size(); ++i) {
    const ClusterDescriptor& cluster = descriptor.clusters[i];
    if (cluster.first_entry >= last) break;
    if (cluster.entries == 0) continue;
    const auto fraction = [&](std::uint64_t entry) {
      const std::uint64_t inside =
          std::clamp(entry, cluster.first_entry, cluster.first_entry + cluster.entries);
      return static_cast<double>(inside - cluster.first_entry) / static_cast<double>(cluster.entries);
    };
    const page::ClusterPool::ClusterSlice slice{i, fraction(first), fraction(last)};
    if (!slices.empty() && slices.back().cluster == i && slices.back().end == slice.begin) {
      slices.back().end = slice.end;
    } else {
      slices.push_back(slice);
    }
  }
}

ValuesPtr ChainCursor::read(std::uint32_t column, const Rows& rows, BlockMemory& memory) {
  if (!is_started_) throw Error(ErrorKind::usage, "the cursor has no part to read from", "call start()");
  const ColumnShape* shape = chain_->shape(column, part_.sample);
  const Sample& sample = chain_->samples()[part_.sample];
  if (shape == nullptr)
    throw Error(ErrorKind::not_found,
                fmt::format("the column '{}' is not in {}", chain_->path(column), sample.name),
                "see filter_available and default_value_for", {.field = chain_->path(column)});
  if (!in_.cursor) enter_file();
  read_next_file_ahead();
  used_.insert(column);
  try {
    return in_.cursor->read(column, *shape, rows, sample.first, memory);
  } catch (const Error& error) {
    ErrorContext where = in_.file->context();
    where.field = chain_->path(column);
    throw error.with(where);
  }
}

// Derived from the contents of the part's clusters.
std::uint64_t ChainCursor::row_bytes(std::span<const std::uint32_t> columns) {
  std::uint64_t most = 0;
  const Sample& sample = chain_->samples()[part_.sample];
  for (const std::uint32_t column : columns) {
    const ColumnShape* shape = chain_->shape(column, part_.sample);
    if (shape == nullptr || shape->type.is_scalar()) continue;
    if (!in_.cursor) enter_file();
    const auto& clusters = in_.file->descriptor().clusters;
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
    for (std::size_t i = in_.file->descriptor().cluster_of_entry(part_.first - sample.first);
         i < clusters.size() && clusters[i].first_entry < part_.last - sample.first; ++i) {
      bytes += bytes_in(clusters[i], *shape);
      entries += clusters[i].entries;
    }
    most = std::max(most, bytes / std::max<std::uint64_t>(entries, 1));
  }
  return most;
}

ReadMetrics ChainCursor::metrics() const {
  ReadMetrics sum = of_files_left_;
  if (in_.cursor) {
    add(sum, in_.cursor->source().counters());
    sum.cache = in_.cursor->source().cache_state();
  }
  return sum;
}

}  // namespace colonnade::frame
