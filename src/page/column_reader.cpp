// From <cluster, index> to decoded elements; see column_reader.h.
#include "page/column_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/column_codec.h"
#include "codec/compression.h"

namespace colonnade::page {
namespace {

// A page of a deferred column that was never written: as many zeros as fit here are mapped at once.
constexpr std::size_t zero_page_bytes = 64 * 1024;

}  // namespace

ColumnReader::ColumnReader(PageSource& source, std::vector<std::uint32_t> representations,
                           ElementType element)
    : source_(&source), representations_(std::move(representations)), element_(element) {}

std::uint64_t ColumnReader::elements(std::size_t cluster) {
  enter(cluster);
  return extent_.elements;
}

std::uint64_t ColumnReader::leading_zeros(std::size_t cluster) {
  enter(cluster);
  return extent_.leading_zeros;
}

std::uint64_t ColumnReader::first_global(std::size_t cluster) {
  enter(cluster);
  return extent_.first;
}

void ColumnReader::enter(std::size_t cluster) {
  if (cluster == cluster_) return;
  const Descriptor& descriptor = source_->descriptor();
  if (cluster >= descriptor.clusters.size())
    throw Error(ErrorKind::usage,
                fmt::format("cluster {} of a data set with {} clusters", cluster, descriptor.clusters.size()),
                "", source_->context());
  const auto& columns = descriptor.clusters[cluster].columns;
  cluster_ = static_cast<std::size_t>(-1);  // until all of it is known to be sound
  stretch_ = {};
  range_ = nullptr;
  column_ = representations_.front();
  for (std::uint32_t column : representations_) {
    if (column >= columns.size() || columns[column].suppressed) continue;
    range_ = &columns[column];
    column_ = column;
    break;
  }
  encoding_ = descriptor.columns[column_].encoding;
  extent_ = source_->extent(column_, cluster);
  page_first_.clear();
  std::uint64_t first = extent_.leading_zeros;
  if (range_ != nullptr)
    for (std::size_t page = 0; page < range_->pages.size(); ++page) {
      check_page(cluster, page);
      page_first_.push_back(first);
      first += range_->pages[page].elements;
    }
  page_first_.push_back(first);
  cluster_ = cluster;
  next_page_ = 0;
}

void ColumnReader::check_index(std::uint64_t index, std::uint64_t count) const {
  if (index <= extent_.elements && count <= extent_.elements - index) return;
  throw Error(ErrorKind::format,
              fmt::format("elements {} to {} are asked for where the cluster's column has {}", index,
                          index + count, extent_.elements),
              "", source_->context(column_, cluster_, 0));
}

std::size_t ColumnReader::page_of(std::uint64_t index) const {
  const auto after = std::upper_bound(page_first_.begin(), page_first_.end(), index);
  return static_cast<std::size_t>(after - page_first_.begin()) - 1;
}

ByteSpan ColumnReader::sealed(std::size_t page) {
  const PageDescriptor& wanted = range_->pages[page];
  const std::uint64_t size = stored_size(wanted);
  const std::uint64_t max_key = source_->descriptor().anchor.max_key_size;
  if (wanted.locator.kind != Locator::Kind::file || (max_key > 0 && size > max_key)) {
    read_ahead_.resize(size);
    read_ahead_cluster_ = static_cast<std::size_t>(-1);
    source_->read_sealed(wanted, read_ahead_);
    return read_ahead_;
  }
  const std::uint64_t offset = wanted.locator.offset;
  const bool buffered = read_ahead_cluster_ == cluster_ && offset >= read_ahead_offset_ &&
                        offset - read_ahead_offset_ + size <= read_ahead_.size();
  if (!buffered) {
    std::uint64_t end = offset + size;
    // In sequence: take the following pages along as long as they follow each other in the file.
    if (page == next_page_)
      for (std::size_t next = page + 1; next < range_->pages.size(); ++next) {
        const PageDescriptor& follower = range_->pages[next];
        const std::uint64_t follower_end = follower.locator.offset + stored_size(follower);
        if (follower.locator.kind != Locator::Kind::file || follower.locator.offset != end ||
            follower_end - offset > source_->options().read_ahead)
          break;
        end = follower_end;
      }
    read_ahead_cluster_ = static_cast<std::size_t>(-1);
    read_ahead_.resize(end - offset);
    source_->read_bytes(offset, read_ahead_);
    read_ahead_offset_ = offset;
    read_ahead_cluster_ = cluster_;
  }
  next_page_ = page + 1;
  return ByteSpan(read_ahead_).subspan(offset - read_ahead_offset_, size);
}

void ColumnReader::decode_page(std::size_t page, void* out) {
  const PageDescriptor& description = range_->pages[page];
  const std::size_t packed = codec::packed_size(encoding_, description.elements);
  const ByteSpan stored = sealed(page);
  source_->verify(description, stored);
  const ByteSpan block = stored.first(description.locator.size);
  ByteSpan content = block;
  if (block.size() != packed) {
    if (codec::is_memory_image(encoding_, element_)) {
      codec::decompress(block, {static_cast<std::byte*>(out), packed});
      content = {};
    } else {
      AlignedBuffer& scratch = source_->scratch();
      scratch.resize(packed);
      codec::decompress(block, scratch.span());
      content = scratch.span();
    }
  }
  if (!content.empty()) codec::decode(encoding_, content, description.elements, element_, out);
  ++source_->counters().pages;
}

void ColumnReader::decode(std::size_t page, void* out) {
  try {
    decode_page(page, out);
  } catch (const Error& error) {
    throw error.with(source_->context(column_, cluster_, page));
  }
}

void ColumnReader::check_page(std::size_t cluster, std::size_t page) const {
  const PageDescriptor& description = range_->pages[page];
  const std::size_t packed = codec::packed_size(encoding_, description.elements);
  if (!is_plausible_length(description.locator.size, packed))
    throw Error(ErrorKind::format,
                fmt::format("the page claims {} elements in {} stored bytes", description.elements,
                            description.locator.size),
                "", source_->context(column_, cluster, page));
  if (description.locator.kind != Locator::Kind::file) return;
  // Before anybody makes room for the bytes. Of a page that is split over keys only the first part is there.
  const std::uint64_t size = stored_size(description);
  const std::uint64_t max_key = source_->descriptor().anchor.max_key_size;
  const std::uint64_t in_one_piece = max_key > 0 ? std::min(size, max_key) : size;
  const std::uint64_t file_size = source_->file_size();
  if (size > file_size || description.locator.offset > file_size - in_one_piece)
    throw Error(
        ErrorKind::format,
        fmt::format("the page of {} bytes lies beyond the end of the file ({} bytes)", size, file_size),
        "check that the file was transferred completely", source_->context(column_, cluster, page));
}

void ColumnReader::load(std::size_t cluster, std::uint64_t index) {
  enter(cluster);
  check_index(index, 1);
  stretch_ = {};
  const std::size_t width = size_of(element_);
  if (index < extent_.leading_zeros) {
    const std::uint64_t count =
        std::min<std::uint64_t>(extent_.leading_zeros - index, zero_page_bytes / width);
    page_.resize(zero_page_bytes);
    std::memset(page_.data(), 0, zero_page_bytes);
    stretch_ = {page_.data(), index, count};
    return;
  }
  const std::size_t page = page_of(index);
  const std::uint32_t elements = range_->pages[page].elements;
  page_.resize(elements * width);
  decode(page, page_.data());
  stretch_ = {page_.data(), page_first_[page], elements};
}

void ColumnReader::read(std::size_t cluster, std::uint64_t first, std::uint64_t count, void* out) {
  if (count == 0) return;
  enter(cluster);
  check_index(first, count);
  const std::size_t width = size_of(element_);
  auto* to = static_cast<std::byte*>(out);
  while (count > 0) {
    std::uint64_t step = 0;
    const bool mapped = first - stretch_.first < stretch_.count;
    const bool whole_page = !mapped && first >= extent_.leading_zeros &&
                            page_first_[page_of(first)] == first &&
                            range_->pages[page_of(first)].elements <= count;
    if (whole_page) {
      const std::size_t page = page_of(first);
      step = range_->pages[page].elements;
      decode(page, to);
    } else {
      const Stretch stretch = map(cluster, first);
      const std::uint64_t skip = first - stretch.first;
      step = std::min(count, stretch.count - skip);
      std::memcpy(to, static_cast<const std::byte*>(stretch.data) + skip * width, step * width);
    }
    to += step * width;
    first += step;
    count -= step;
  }
}

ColumnReader::Range ColumnReader::collection(std::size_t cluster, std::uint64_t index) {
  Range range;
  const auto holds = [&](std::uint64_t i) {
    return cluster == cluster_ && i - stretch_.first < stretch_.count;
  };
  // The start is the element before; at the first element of a page it stands on the page before, which is
  // usually the one still mapped.
  bool has_begin = index == 0;
  if (!has_begin && holds(index - 1) && !holds(index)) {
    range.begin = at<std::uint64_t>(cluster, index - 1);
    has_begin = true;
  }
  Stretch stretch = map(cluster, index);
  if (!has_begin && index > stretch.first) {
    range.begin = static_cast<const std::uint64_t*>(stretch.data)[index - 1 - stretch.first];
  } else if (!has_begin) {
    range.begin = at<std::uint64_t>(cluster, index - 1);
    stretch = map(cluster, index);
  }
  range.end = static_cast<const std::uint64_t*>(stretch.data)[index - stretch.first];
  if (range.end < range.begin)
    throw Error(ErrorKind::format,
                fmt::format("collection {} of the cluster ends at {} before it starts at {}", index,
                            range.end, range.begin),
                "", source_->context(column_, cluster, 0));
  return range;
}

}  // namespace colonnade::page
