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
    buffer_.reserve(wanted * width_);
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

PageSink::PageSink(std::unique_ptr<WriteContainer> container, const WriteOptions& options)
    : container_(std::move(container)),
      options_(options),
      compression_(codec::CompressionSettings::parse(options.compression.text)) {}

ColumnWriter& PageSink::add_column(std::uint32_t column, ElementType element) {
  const ColumnDescriptor& description = descriptor_.columns[column];
  open_.resize(std::max<std::size_t>(open_.size(), column + 1));
  open_[column].first_element = description.deferred ? description.first_element : 0;
  return writers_.emplace_back(*this, column, description.encoding, element);
}

Locator PageSink::write_envelope(ByteSpan envelope) {
  AlignedBuffer block;
  codec::compress(compression_, envelope, block);
  return container_->write_blob(block.span(), envelope.size());
}

void PageSink::start() {
  descriptor_.header_fields = static_cast<std::uint32_t>(descriptor_.fields.size());
  descriptor_.header_columns = static_cast<std::uint32_t>(descriptor_.columns.size());
  descriptor_.header_aliases = static_cast<std::uint32_t>(descriptor_.aliases.size());
  descriptor_.header_type_infos = static_cast<std::uint32_t>(descriptor_.type_infos.size());
  const format::EnvelopeBytes header = format::write_header(descriptor_);
  descriptor_.header_checksum = header.checksum;
  const Locator locator = write_envelope(header.bytes);
  descriptor_.anchor.header_offset = locator.offset;
  descriptor_.anchor.header_size = locator.size;
  descriptor_.anchor.header_length = header.bytes.size();
  descriptor_.anchor.max_key_size = container_->max_key_size();
}

std::uint64_t PageSink::open_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const ColumnWriter& writer : writers_) bytes += writer.buffered_bytes();
  return bytes;
}

void PageSink::made_room(const ColumnWriter& grown) {
  if (capacity_bytes_ <= options_.page_buffer_budget) return;
  // Too much memory in open pages: the fullest ones are sealed and give theirs back until half of the budget
  // is free. The one that just grew is about to be filled and keeps its own.
  std::vector<ColumnWriter*> fullest;
  for (ColumnWriter& writer : writers_)
    if (&writer != &grown && writer.count_ > 0) fullest.push_back(&writer);
  std::sort(fullest.begin(), fullest.end(),
            [](const auto* a, const auto* b) { return a->buffered_bytes() > b->buffered_bytes(); });
  for (ColumnWriter* writer : fullest) {
    if (capacity_bytes_ <= options_.page_buffer_budget / 2) break;
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
                      .data_set = descriptor_.name,
                      .field = descriptor_.path_of(descriptor_.columns[writer.column_].field),
                      .column = writer.column_});
  }
  return packed_.span();
}

void PageSink::seal(ColumnWriter& writer, std::size_t elements) {
  const std::size_t packed_size = codec::packed_size(writer.encoding_, elements);
  ByteSpan block = pack(writer, elements, packed_size);
  if (compression_.algorithm != codec::Algorithm::none) {
    // Compressors ask for room for the worst case; the page that stays in memory gets just what it needs.
    block_.resize(0);
    codec::compress(compression_, block, block_, codec::plane_size(writer.encoding_, elements));
    block = block_.span();
  }
  const bool with_sum = options_.page_checksums == Checksums::on;
  const bool merging = options_.same_page_merging == SamePageMerging::on;
  const std::uint64_t sum = with_sum || merging ? codec::xxh3(block) : 0;
  uncompressed_bytes_ += packed_size;
  const std::size_t known = merging ? find_sealed(block, sum) : sealed_.size();
  open_[writer.column_].pages.push_back({known, static_cast<std::uint32_t>(elements)});
  if (known < sealed_.size()) return;

  SealedBytes sealed;
  sealed.block_size = block.size();
  const std::size_t needed = block.size() + (with_sum ? sizeof sum : 0);
  sealed.bytes = take_spare(needed);
  sealed.bytes.resize(needed);
  std::memcpy(sealed.bytes.data(), block.data(), block.size());
  if (with_sum) store_le(sealed.bytes.data() + block.size(), sum);
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

std::uint64_t PageSink::commit_cluster(std::uint64_t entries) {
  flush_columns();
  // Column after column, so that a reader of few columns finds theirs side by side.
  std::vector<ByteSpan> parts;
  std::vector<std::size_t> order;
  std::vector<bool> placed(sealed_.size(), false);
  for (const OpenColumn& column : open_)
    for (const SealedPage& page : column.pages)
      if (!placed[page.chunk]) {
        placed[page.chunk] = true;
        parts.emplace_back(sealed_[page.chunk].bytes.span());
        order.push_back(page.chunk);
      }
  const std::vector<std::uint64_t> offsets = container_->write_parts(parts);
  for (std::size_t i = 0; i < order.size(); ++i) sealed_[order[i]].offset = offsets[i];

  ClusterDescriptor cluster;
  cluster.id = descriptor_.clusters.size();
  cluster.first_entry = descriptor_.entries();
  cluster.entries = entries;
  cluster.columns.resize(open_.size());
  for (std::size_t i = 0; i < open_.size(); ++i) {
    ColumnRange& range = cluster.columns[i];
    range.column = static_cast<std::uint32_t>(i);
    range.first_element = static_cast<std::int64_t>(open_[i].first_element);
    range.compression = compression_.to_root();
    for (const SealedPage& page : open_[i].pages) {
      const SealedBytes& sealed = sealed_[page.chunk];
      range.pages.push_back({.elements = page.elements,
                             .has_checksum = options_.page_checksums == Checksums::on,
                             .locator = {.size = sealed.block_size, .offset = sealed.offset}});
      open_[i].first_element += page.elements;
    }
    open_[i].pages.clear();
  }
  descriptor_.clusters.push_back(std::move(cluster));
  for (ColumnWriter& writer : writers_) writer.in_cluster_ = 0;
  const std::uint64_t written = sealed_bytes_;
  spare_.clear();
  for (SealedBytes& sealed : sealed_) spare_.push_back(std::move(sealed.bytes));
  sealed_.clear();
  sealed_by_hash_.clear();
  sealed_bytes_ = 0;
  uncompressed_bytes_ = 0;
  if (descriptor_.clusters.size() - grouped_clusters_ >= options_.clusters_per_group) commit_cluster_group();
  return written;
}

void PageSink::commit_cluster_group() {
  const std::size_t count = descriptor_.clusters.size() - grouped_clusters_;
  if (count == 0) return;
  const format::EnvelopeBytes list = format::write_page_list(descriptor_, grouped_clusters_, count);
  ClusterGroup group;
  group.min_entry = descriptor_.clusters[grouped_clusters_].first_entry;
  for (std::size_t i = grouped_clusters_; i < descriptor_.clusters.size(); ++i)
    group.entry_span += descriptor_.clusters[i].entries;
  group.clusters = static_cast<std::uint32_t>(count);
  group.page_list = {.length = list.bytes.size(), .locator = write_envelope(list.bytes)};
  descriptor_.cluster_groups.push_back(group);
  grouped_clusters_ = descriptor_.clusters.size();
}

void PageSink::commit_data_set() {
  commit_cluster_group();
  const format::EnvelopeBytes footer = format::write_footer(descriptor_);
  const Locator locator = write_envelope(footer.bytes);
  descriptor_.anchor.footer_offset = locator.offset;
  descriptor_.anchor.footer_size = locator.size;
  descriptor_.anchor.footer_length = footer.bytes.size();
  container_->commit(descriptor_.anchor);
}

void PageSink::close() {
  container_->close();
}

}  // namespace colonnade::page
