// Sealing pages and committing clusters; see page_sink.h.
#include "page/page_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/huge_pages.h"
#include "codec/column_codec.h"
#include "format/envelope.h"
#include "page/page_source.h"

namespace colonnade::page {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t small_page = 4096;
// From this size on, the buffers of columns start at different offsets: columns filled at the same pace would
// otherwise compete for the same few cache lines.
constexpr std::size_t shifted_from = std::size_t{64} << 10;

std::size_t shift_of(std::uint32_t column, std::size_t capacity) noexcept {
  constexpr std::size_t places = small_page / cache_line;
  return capacity >= shifted_from ? (column * std::size_t{5}) % places * cache_line : 0;
}

// A page fault per 4 KiB of new memory costs more than filling it: all but small pages get parts of whole
// huge pages.
constexpr std::size_t slab_size = 4 * huge_page_size;

// For elements, their offset and a checksum.
std::size_t memory_for(std::size_t capacity) noexcept {
  return capacity + (capacity >= shifted_from ? small_page : 0) + sizeof(std::uint64_t);
}

}  // namespace

ColumnWriter::ColumnWriter(PageSink& sink, std::uint32_t column, const ColumnEncoding& encoding,
                           ElementType element)
    : width_shift_(static_cast<unsigned>(std::countr_zero(size_of(element)))),
      column_(column),
      sink_(&sink),
      element_(element),
      encoding_(encoding) {
  // The limit applies to the uncompressed page, whose elements may be narrower than those in memory.
  const std::size_t bits = std::max<std::size_t>(encoding.bits, 1);
  // The format counts the elements of a page with 31 bits, and readers refuse larger pages.
  const std::size_t most =
      std::min<std::size_t>(largest_page / size_of(natural_element(encoding.type)), 0x7fffffff);
  max_elements_ = std::clamp<std::size_t>(sink.options().max_page_size * 8 / bits, 1, most);
}

void ColumnWriter::use_buffer(std::size_t capacity) {
  begin_ = next_ = buffer_.data() + shift_of(column_, capacity);
  end_ = begin_ + capacity;
}

void ColumnWriter::release() noexcept {
  sink_->open_memory_ -= capacity_bytes();
  buffer_ = AlignedBuffer();
  begin_ = next_ = end_ = nullptr;
}

void ColumnWriter::make_room() {
  if (grow()) return;
  flush();
  sink_->write_if_many_wait();
}

// Enlarges the page's memory, unless it has the maximum size.
bool ColumnWriter::grow() {
  const std::size_t old = capacity_bytes();
  const std::size_t most = max_elements_ << width_shift_;
  if (old >= most) return false;
  const std::size_t first = std::max(sink_->options().initial_page_size, std::size_t{1} << width_shift_);
  const std::size_t wanted = std::min(std::max(first >> width_shift_ << width_shift_, old * 2), most);
  if (!sink_->may_grow(*this, wanted)) return false;
  AlignedBuffer larger(memory_for(wanted));
  const std::size_t filled = buffered_bytes();
  std::byte* const from = begin_;
  std::swap(buffer_, larger);
  use_buffer(wanted);
  if (filled > 0) std::memcpy(begin_, from, filled);
  next_ += filled;
  sink_->open_memory_ += wanted - old;
  sink_->make_room(*this);
  return true;
}

void ColumnWriter::flush() {
  const std::size_t elements = count();
  if (elements == 0) return;
  sink_->seal(*this, begin_, elements);
  total_ += elements;
  in_cluster_ += elements;
  next_ = begin_;
}

// Seals a whole page from the caller's memory, without a copy.
void ColumnWriter::seal_straight(const std::byte* values, bool lent) {
  sink_->lent_ = lent ? values : nullptr;
  sink_->seal(*this, values, max_elements_);
  sink_->lent_ = nullptr;
  total_ += max_elements_;
  in_cluster_ += max_elements_;
  sink_->write_if_many_wait();
}

void ColumnWriter::append(const void* values, std::uint64_t count, bool lent) {
  const auto* from = static_cast<const std::byte*>(values);
  while (count > 0) {
    if (next_ == begin_ && count >= max_elements_) {
      seal_straight(from, lent);
      from += max_elements_ << width_shift_;
      count -= max_elements_;
      continue;
    }
    if (next_ == end_) make_room();
    const std::uint64_t step =
        std::min<std::uint64_t>(count, static_cast<std::uint64_t>(end_ - next_) >> width_shift_);
    std::memcpy(next_, from, step << width_shift_);
    next_ += step << width_shift_;
    from += step << width_shift_;
    count -= step;
  }
}

PageSink::PageSink(std::shared_ptr<DataSetSink> data_set) : data_set_(std::move(data_set)) {
  // Without compression, sealing takes less time than handing the page over.
  if (options().parallel_sealing && compression().algorithm != codec::Algorithm::none)
    sealer_ = std::make_unique<PageSealer>(compression());
}

PageSink::PageSink(std::unique_ptr<container::WriteContainer> container, const WriteOptions& options)
    : PageSink(std::make_shared<DataSetSink>(std::move(container), options)) {}

ColumnWriter& PageSink::add_column(std::uint32_t column, ElementType element) {
  open_.resize(std::max<std::size_t>(open_.size(), column + 1));
  return writers_.emplace_back(*this, column, descriptor().columns[column].encoding, element);
}

std::uint64_t PageSink::open_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const ColumnWriter& writer : writers_) bytes += writer.buffered_bytes();
  return bytes;
}

// Half of the budget is for open pages. Every column may grow up to its share of that, even if others exceed
// theirs.
bool PageSink::may_grow(const ColumnWriter& writer, std::size_t capacity) const {
  const std::size_t budget = options().page_buffer_budget / 2;
  return writer.capacity_bytes() == 0 || capacity <= budget / writers_.size() ||
         open_memory_ - writer.capacity_bytes() + capacity <= budget;
}

void PageSink::make_room(const ColumnWriter& growing) {
  const std::size_t budget = options().page_buffer_budget / 2;
  if (open_memory_ <= budget) return;
  // Too much memory in open pages: seals the largest ones until half of the budget is free. The page that
  // just grew is about to be filled and keeps its memory.
  std::vector<ColumnWriter*> largest;
  for (ColumnWriter& writer : writers_)
    if (&writer != &growing && writer.capacity_bytes() > 0) largest.push_back(&writer);
  std::sort(largest.begin(), largest.end(),
            [](const auto* a, const auto* b) { return a->capacity_bytes() > b->capacity_bytes(); });
  for (ColumnWriter* writer : largest) {
    if (open_memory_ <= budget / 2) break;
    writer->flush();
    writer->release();
  }
  write_if_many_wait();
}

// A cluster of few columns is written as a whole. With many columns, open pages may leave too little memory
// for a cluster: it is then written in pieces, which still contain some of each column.
std::size_t PageSink::most_waiting() const {
  const std::size_t budget = options().page_buffer_budget;
  if (open_memory_ <= budget / 4) return std::max(budget, options().max_page_size);
  return std::max({budget - std::min(budget, open_memory_), budget / 4, options().max_page_size});
}

// Pages being sealed count as if they were sealed: the file is then the same whether sealing is parallel or
// not.
void PageSink::write_if_many_wait() {
  if (sealer_ && !sealer_->empty()) {
    std::size_t& most = sealer_->newest().most_waiting;
    most = std::min(most, most_waiting());
  } else if (waiting_bytes_ > most_waiting()) {
    write_within_entry();
  }
}

// Half an entry could not be completed later. So what cannot be written now stays in memory until the entry
// is complete, if it can be written later at all.
void PageSink::write_within_entry() {
  if (late_) return;
  try {
    write_sealed();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io || !data_set_->may_retry()) throw;
    late_ = std::current_exception();
  }
}

// The page's packed elements: the values themselves if they are packed already, else a copy in
// `packed_`.
ByteSpan PageSink::pack(const ColumnWriter& writer, const std::byte* values, std::size_t elements,
                        std::size_t packed_size) {
  if (codec::is_memory_image(writer.encoding_, writer.element_)) return {values, packed_size};
  packed_.resize(packed_size);
  try {
    codec::encode(writer.encoding_, writer.element_, values, elements, packed_.span());
  } catch (const Error& error) {
    fail(error, writer.column_);
  }
  return packed_.span();
}

void PageSink::fail(const Error& error, std::uint32_t column) const {
  throw error.with({.uri = uri(),
                    .data_set = descriptor().name,
                    .field = descriptor().path_of(descriptor().columns[column].field),
                    .column = column});
}

void PageSink::seal(ColumnWriter& writer, const std::byte* values, std::size_t elements) {
  const std::size_t packed_size = codec::packed_size(writer.encoding_, elements);
  uncompressed_bytes_ += packed_size;
  std::vector<SealedPage>& pages = open_[writer.column_].pages;
  pages.push_back({not_sealed, static_cast<std::uint32_t>(elements)});
  if (sealer_) return hand_over(writer, values, elements);
  ByteSpan block = pack(writer, values, elements, packed_size);
  if (compression().algorithm != codec::Algorithm::none) {
    // Compressors need room for the worst case; the kept page gets exactly what it needs.
    block_.resize(0);
    codec::compress(compression(), block, block_, codec::plane_size(writer.encoding_, elements));
    block = block_.span();
  }
  const bool needs_sum =
      options().page_checksums == Checksums::on || options().same_page_merging == SamePageMerging::on;
  add_sealed(writer.column_, pages.back(), block, needs_sum ? codec::xxh3(block) : 0, &writer);
}

// Hands the page to the pool, together with its memory if that is the column's.
void PageSink::hand_over(ColumnWriter& writer, const std::byte* values, std::size_t elements) {
  data_set_->check_process();  // the pool has no threads in a forked child
  PageBeingSealed page;
  page.column = writer.column_;
  page.number = open_[writer.column_].pages.size() - 1;
  page.elements = elements;
  page.element = writer.element_;
  page.encoding = writer.encoding_;
  const std::size_t capacity = writer.capacity_bytes();
  if (values == writer.begin_) {
    page.memory = std::exchange(writer.buffer_, take_spare(memory_for(capacity)));
    page.values = values;
    writer.use_buffer(capacity);
  } else {
    const std::size_t size = elements << writer.width_shift_;
    page.memory = take_spare(memory_for(size));
    page.values = page.memory.data();
    std::memcpy(page.memory.data(), values, size);
  }
  sealer_->submit(std::move(page));
  while (sealer_->full()) take_sealed();
}

void PageSink::take_sealed() {
  PageBeingSealed page = sealer_->take();
  spare_.push_back(std::move(page.memory));
  if (page.failure) {
    try {
      std::rethrow_exception(page.failure);
    } catch (const Error& error) {
      fail(error, page.column);
    }
  }
  add_sealed(page.column, open_[page.column].pages[page.number], page.block.span(), page.sum, nullptr);
  if (waiting_bytes_ > page.most_waiting) write_within_entry();
}

// `in_place`: the column whose memory may hold the block; the memory is then taken with it.
void PageSink::add_sealed(std::uint32_t column, SealedPage& page, ByteSpan block, std::uint64_t sum,
                          ColumnWriter* in_place) {
  const bool merging = options().same_page_merging == SamePageMerging::on;
  page.chunk = merging ? find_sealed(column, block, sum) : sealed_.size();
  if (page.chunk < sealed_.size()) return;
  SealedBytes sealed;
  sealed.column = column;
  sealed.block_size = block.size();
  if (lent_ != nullptr && block.data() == lent_ && can_write_lent()) {
    note_lent(sealed, block, sum);
  } else {
    sealed.bytes = keep(block, sum, in_place);
  }
  sealed_bytes_ += sealed.bytes.size() + sealed.lent_sum.size();
  if (merging) sealed_by_hash_.emplace(sum, sealed_.size());
  sealed_.push_back(sealed);
}

// The block, followed by its checksum, in memory that is valid until they are written.
ByteSpan PageSink::keep(ByteSpan block, std::uint64_t sum, ColumnWriter* in_place) {
  const std::size_t needed = block.size() + sum_size();
  const std::size_t capacity = in_place != nullptr ? in_place->capacity_bytes() : 0;
  if (in_place == nullptr || block.data() != in_place->begin_ || capacity / 2 > needed)
    return keep_in_arena(block, sum);
  // Takes over the page's memory: the column gets another.
  const MutableByteSpan kept{in_place->begin_, needed};
  memory_->kept.push_back(std::exchange(in_place->buffer_, take_spare(memory_for(capacity))));
  in_place->use_buffer(capacity);
  waiting_bytes_ += std::max(capacity, needed);
  if (sum_size() > 0) store_le(kept.data() + block.size(), sum);
  return kept;
}

ByteSpan PageSink::keep_in_arena(ByteSpan block, std::uint64_t sum) {
  const MutableByteSpan kept = memory_->arena.take(block.size() + sum_size());
  std::memcpy(kept.data(), block.data(), block.size());
  if (sum_size() > 0) store_le(kept.data() + block.size(), sum);
  waiting_bytes_ += kept.size();
  return kept;
}

// A file writes a page and its checksum side by side from two buffers; in other containers a part is a page.
bool PageSink::can_write_lent() const noexcept {
  return data_set_->container().page_kind() == Locator::Kind::file;
}

void PageSink::note_lent(SealedBytes& sealed, ByteSpan block, std::uint64_t sum) {
  sealed.is_lent = true;
  sealed.bytes = block;
  if (sum_size() > 0) {
    const MutableByteSpan kept = memory_->arena.take(sizeof sum);
    store_le(kept.data(), sum);
    sealed.lent_sum = kept;
  }
  waiting_bytes_ += block.size() + sum_size();
  lent_pages_.push_back(sealed_.size());
}

void PageSink::keep_lent() {
  for (const std::size_t index : std::exchange(lent_pages_, {})) {
    SealedBytes& sealed = sealed_[index];
    const std::uint64_t sum = sum_size() > 0 ? load_le<std::uint64_t>(sealed.lent_sum.data()) : 0;
    waiting_bytes_ -= sealed.bytes.size() + sealed.lent_sum.size();
    sealed.bytes = keep_in_arena(sealed.bytes, sum);
    sealed.lent_sum = {};
    sealed.is_lent = false;
  }
}

// Memory that is already backed by physical pages, if some fits well.
AlignedBuffer PageSink::take_spare(std::size_t capacity) {
  while (!spare_.empty()) {
    AlignedBuffer buffer = std::move(spare_.back());
    spare_.pop_back();
    if (buffer.capacity() >= capacity && buffer.capacity() / 2 <= capacity) return buffer;
  }
  if (capacity < shifted_from || capacity > slab_size / 2) {
    AlignedBuffer buffer(capacity);
    prefer_huge_pages(buffer.data(), capacity);
    return buffer;
  }
  if (slab_ == nullptr || capacity > slab_->size() - slab_used_) {
    slab_ = std::make_shared<AlignedBuffer>(slab_size, huge_page_size);
    prefer_huge_pages(slab_->data(), slab_size);
    slab_used_ = 0;
  }
  std::byte* const part = slab_->data() + slab_used_;
  slab_used_ += std::min((capacity + cache_line - 1) / cache_line * cache_line, slab_->size() - slab_used_);
  return {slab_, part, capacity};
}

// The number of an equal page of this cluster, or one past the last.
std::size_t PageSink::find_sealed(std::uint32_t column, ByteSpan block, std::uint64_t sum) const {
  const bool any_column = data_set_->container().shares_pages();
  const auto [first, last] = sealed_by_hash_.equal_range(sum);
  for (auto it = first; it != last; ++it) {
    const SealedBytes& other = sealed_[it->second];
    if (other.column != column && !any_column) continue;
    if (other.block_size == block.size() && std::memcmp(other.bytes.data(), block.data(), block.size()) == 0)
      return it->second;
  }
  return sealed_.size();
}

void PageSink::flush_columns() {
  for (ColumnWriter& writer : writers_) writer.flush();
  while (sealer_ && !sealer_->empty()) take_sealed();
}

ClusterDescriptor PageSink::write_cluster(std::uint64_t entries) {
  flush_columns();
  write_sealed();
  ClusterDescriptor cluster = describe_cluster(entries);
  begin_cluster();
  return cluster;
}

// Column by column, so that a reader of few columns finds their pages side by side. `order`: the sealed page
// with which each part begins.
std::vector<container::PagePart> PageSink::parts_to_write(std::vector<std::size_t>& order) {
  std::vector<container::PagePart> parts;
  for (OpenColumn& column : open_)
    for (; column.written < column.pages.size(); ++column.written) {
      const std::size_t chunk = column.pages[column.written].chunk;
      if (chunk == not_sealed) break;
      SealedBytes& sealed = sealed_[chunk];
      if (sealed.bytes.empty()) continue;  // written, or among the parts
      parts.push_back({std::exchange(sealed.bytes, {}), sealed.column});
      order.push_back(chunk);
      if (!sealed.is_lent || sealed.lent_sum.empty()) continue;
      parts.push_back({std::exchange(sealed.lent_sum, {}), sealed.column});
      order.push_back(behind_page);
    }
  return parts;
}

void PageSink::write_sealed() {
  // Above this size a container may separate the parts, but a page and its checksum must stay together.
  if (!lent_pages_.empty() && waiting_bytes_ > options().max_key_size) keep_lent();
  std::vector<std::size_t> order;
  const std::vector<container::PagePart> parts = parts_to_write(order);
  std::vector<std::uint64_t> offsets;
  try {
    offsets = hand_to_container(parts);
  } catch (...) {
    take_back(parts, order);
    throw;
  }
  late_ = nullptr;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] != behind_page) sealed_[order[i]].offset = offsets[i];
  sealed_by_hash_.clear();
  lent_pages_.clear();
  waiting_bytes_ = 0;
}

// Undoes parts_to_write().
void PageSink::take_back(std::span<const container::PagePart> parts, std::span<const std::size_t> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    SealedBytes& sealed = sealed_[order[i] == behind_page ? order[i - 1] : order[i]];
    (order[i] == behind_page ? sealed.lent_sum : sealed.bytes) = parts[i].bytes;
  }
  for (OpenColumn& column : open_) column.written = 0;  // what was written has no bytes
}

// The container may still be writing when this returns: the next pages use other memory.
std::vector<std::uint64_t> PageSink::hand_to_container(std::span<const container::PagePart> parts) {
  const container::ClusterWriteState place = place_;
  std::shared_ptr<LentMemory> memory = memories_->lend(std::move(memory_));
  std::vector<std::uint64_t> offsets;
  try {
    offsets = data_set_->begin_pages(parts, place_, memory);
  } catch (...) {
    memory_ = memory->take_back();
    place_ = place;
    throw;
  }
  memory.reset();
  renew_memory();
  return offsets;
}

void PageSink::renew_memory() {
  memory_ = memories_->take();
  memory_->arena.clear();
  for (AlignedBuffer& buffer : memory_->kept) spare_.push_back(std::move(buffer));
  memory_->kept.clear();
}

ClusterDescriptor PageSink::describe_cluster(std::uint64_t entries) const {
  ClusterDescriptor cluster;
  cluster.entries = entries;
  cluster.columns.resize(open_.size());
  for (std::size_t i = 0; i < open_.size(); ++i) {
    ColumnRange& range = cluster.columns[i];
    range.column = static_cast<std::uint32_t>(i);
    range.compression = compression().to_root();
    for (const SealedPage& page : open_[i].pages) {
      const SealedBytes& sealed = sealed_[page.chunk];
      range.pages.push_back({.elements = page.elements,
                             .has_checksum = options().page_checksums == Checksums::on,
                             .locator = {.kind = data_set_->container().page_kind(),
                                         .size = sealed.block_size,
                                         .offset = sealed.offset}});
    }
  }
  return cluster;
}

void PageSink::begin_cluster() {
  for (OpenColumn& column : open_) {
    column.pages.clear();
    column.written = 0;
  }
  for (ColumnWriter& writer : writers_) writer.in_cluster_ = 0;
  place_ = {};
  sealed_.clear();
  sealed_bytes_ = 0;
  uncompressed_bytes_ = 0;
}

}  // namespace colonnade::page
