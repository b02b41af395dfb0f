// Sealing pages and committing clusters; see page_sink.h.
#include "page/page_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/column_codec.h"
#include "format/envelope.h"

namespace colonnade::page {

ColumnWriter::ColumnWriter(PageSink& sink, std::uint32_t column, const ColumnEncoding& encoding,
                           ElementType element)
    : sink_(&sink), column_(column), encoding_(encoding), element_(element), width_(size_of(element)) {
  // The limit is on the uncompressed page, whose elements may be narrower than those in memory.
  const std::size_t bits = std::max<std::size_t>(encoding.bits, 1);
  // The format counts the elements of a page with 31 bits.
  max_elements_ = std::clamp<std::size_t>(sink.options().max_page_size * 8 / bits, 1, 0x7fffffff);
}

void ColumnWriter::make_room() {
  if (capacity_ < max_elements_) {
    const std::size_t first = std::max<std::size_t>(sink_->options().initial_page_size / width_, 1);
    const std::size_t wanted = std::min(std::max(first, capacity_ * 2), max_elements_);
    buffer_.resize(capacity_ * width_);
    buffer_.reserve(wanted * width_ + sizeof(std::uint64_t));  // and a checksum
    buffer_.resize(wanted * width_);
    sink_->capacity_bytes_ += (wanted - capacity_) * width_;
    capacity_ = wanted;
    sink_->made_room(*this);
    return;
  }
  flush();
}

void ColumnWriter::flush() {
  if (count_ == 0) return;
  sink_->seal(*this, count_);
  total_ += count_;
  in_cluster_ += count_;
  count_ = 0;
}

void ColumnWriter::append(const void* values, std::uint64_t count) {
  const auto* from = static_cast<const std::byte*>(values);
  while (count > 0) {
    if (count_ == capacity_) make_room();
    const std::uint64_t step = std::min<std::uint64_t>(count, capacity_ - count_);
    std::memcpy(buffer_.data() + count_ * width_, from, step * width_);
    count_ += step;
    from += step * width_;
    count -= step;
  }
}

void ColumnWriter::append_zeros(std::uint64_t count) {
  while (count > 0) {
    if (count_ == capacity_) make_room();
    const std::uint64_t step = std::min<std::uint64_t>(count, capacity_ - count_);
    std::memset(buffer_.data() + count_ * width_, 0, step * width_);
    count_ += step;
    count -= step;
  }
}

PageSink::PageSink(std::shared_ptr<DataSetSink> data_set) : data_set_(std::move(data_set)) {}

PageSink::PageSink(std::unique_ptr<WriteContainer> container, const WriteOptions& options)
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

void PageSink::made_room(const ColumnWriter& grown) {
  if (capacity_bytes_ <= options().page_buffer_budget) return;
  // Too much memory in open pages: the fullest ones are sealed and give theirs back until half of the budget
  // is free. The one that just grew is about to be filled and keeps its own.
  std::vector<ColumnWriter*> fullest;
  for (ColumnWriter& writer : writers_)
    if (&writer != &grown && writer.count_ > 0) fullest.push_back(&writer);
  std::sort(fullest.begin(), fullest.end(),
            [](const auto* a, const auto* b) { return a->buffered_bytes() > b->buffered_bytes(); });
  for (ColumnWriter* writer : fullest) {
    if (capacity_bytes_ <= options().page_buffer_budget / 2) break;
    writer->flush();
    capacity_bytes_ -= writer->capacity_ * writer->width_;
    writer->buffer_ = AlignedBuffer();
    writer->capacity_ = 0;
  }
}

// The page's packed elements: the buffer itself where it is their memory image, else encoded into `packed_`.
ByteSpan PageSink::pack(const ColumnWriter& writer, std::size_t elements, std::size_t packed_size) {
  if (codec::is_memory_image(writer.encoding_, writer.element_)) return {writer.buffer_.data(), packed_size};
  packed_.resize(packed_size);
  try {
    codec::encode(writer.encoding_, writer.element_, writer.buffer_.data(), elements, packed_.span());
  } catch (const Error& error) {
    throw error.with({.uri = uri(),
                      .data_set = descriptor().name,
                      .field = descriptor().path_of(descriptor().columns[writer.column_].field),
                      .column = writer.column_});
  }
  return packed_.span();
}

void PageSink::seal(ColumnWriter& writer, std::size_t elements) {
  const std::size_t packed_size = codec::packed_size(writer.encoding_, elements);
  ByteSpan block = pack(writer, elements, packed_size);
  if (compression().algorithm != codec::Algorithm::none) {
    // Compressors ask for room for the worst case; the page that stays in memory gets just what it needs.
    block_.resize(0);
    codec::compress(compression(), block, block_, codec::plane_size(writer.encoding_, elements));
    block = block_.span();
  }
  const bool with_sum = options().page_checksums == Checksums::on;
  const bool merging = options().same_page_merging == SamePageMerging::on;
  const std::uint64_t sum = with_sum || merging ? codec::xxh3(block) : 0;
  uncompressed_bytes_ += packed_size;
  const std::size_t known = merging ? find_sealed(block, sum) : sealed_.size();
  open_[writer.column_].push_back({known, static_cast<std::uint32_t>(elements)});
  if (known < sealed_.size()) return;

  SealedBytes sealed;
  sealed.block_size = block.size();
  const std::size_t needed = block.size() + (with_sum ? sizeof sum : 0);
  if (block.data() == writer.buffer_.data() && writer.buffer_.capacity() / 2 <= needed) {
    // The page as it is: its memory stays with the cluster, and the column gets other.
    AlignedBuffer fresh = take_spare(writer.buffer_.capacity());
    fresh.reserve(writer.buffer_.capacity());
    fresh.resize(writer.buffer_.size());
    sealed.bytes = std::exchange(writer.buffer_, std::move(fresh));
    sealed.bytes.resize(needed);
  } else {
    sealed.bytes = take_spare(needed);
    sealed.bytes.resize(needed);
    std::memcpy(sealed.bytes.data(), block.data(), block.size());
  }
  if (with_sum) store_le(sealed.bytes.data() + sealed.block_size, sum);
  sealed_bytes_ += sealed.bytes.size();
  if (merging) sealed_by_hash_.emplace(sum, sealed_.size());
  sealed_.push_back(std::move(sealed));
}

// Memory of the cluster before, which the system has given already; empty if the next piece does not fit
// well.
AlignedBuffer PageSink::take_spare(std::size_t size) {
  if (spare_.empty()) return {};
  AlignedBuffer buffer = std::move(spare_.back());
  spare_.pop_back();
  const bool fits = buffer.capacity() >= size && buffer.capacity() / 2 <= size;
  return fits ? std::move(buffer) : AlignedBuffer();
}

// The number of an equal page of this cluster, or one past the last.
std::size_t PageSink::find_sealed(ByteSpan block, std::uint64_t sum) const {
  const auto [first, last] = sealed_by_hash_.equal_range(sum);
  for (auto it = first; it != last; ++it) {
    const SealedBytes& other = sealed_[it->second];
    if (other.block_size == block.size() && std::memcmp(other.bytes.data(), block.data(), block.size()) == 0)
      return it->second;
  }
  return sealed_.size();
}

void PageSink::flush_columns() {
  for (ColumnWriter& writer : writers_) writer.flush();
}

ClusterDescriptor PageSink::write_cluster(std::uint64_t entries) {
  flush_columns();
  // Column after column, so that a reader of few columns finds theirs side by side.
  std::vector<ByteSpan> parts;
  std::vector<std::size_t> order;
  std::vector<bool> placed(sealed_.size(), false);
  for (const std::vector<SealedPage>& pages : open_)
    for (const SealedPage& page : pages)
      if (!placed[page.chunk]) {
        placed[page.chunk] = true;
        parts.emplace_back(sealed_[page.chunk].bytes.span());
        order.push_back(page.chunk);
      }
  const std::vector<std::uint64_t> offsets = data_set_->write_pages(parts);
  for (std::size_t i = 0; i < order.size(); ++i) sealed_[order[i]].offset = offsets[i];
  ClusterDescriptor cluster = describe_cluster(entries);
  begin_cluster();
  return cluster;
}

ClusterDescriptor PageSink::describe_cluster(std::uint64_t entries) const {
  ClusterDescriptor cluster;
  cluster.entries = entries;
  cluster.columns.resize(open_.size());
  for (std::size_t i = 0; i < open_.size(); ++i) {
    ColumnRange& range = cluster.columns[i];
    range.column = static_cast<std::uint32_t>(i);
    range.compression = compression().to_root();
    for (const SealedPage& page : open_[i]) {
      const SealedBytes& sealed = sealed_[page.chunk];
      range.pages.push_back({.elements = page.elements,
                             .has_checksum = options().page_checksums == Checksums::on,
                             .locator = {.size = sealed.block_size, .offset = sealed.offset}});
    }
  }
  return cluster;
}

void PageSink::begin_cluster() {
  for (std::vector<SealedPage>& pages : open_) pages.clear();
  for (ColumnWriter& writer : writers_) writer.in_cluster_ = 0;
  spare_.clear();
  for (SealedBytes& sealed : sealed_) spare_.push_back(std::move(sealed.bytes));
  sealed_.clear();
  sealed_by_hash_.clear();
  sealed_bytes_ = 0;
  uncompressed_bytes_ = 0;
}

}  // namespace colonnade::page
