// From <cluster, index> to decoded elements; see column_reader.h.
#include "page/column_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace colonnade::page {
namespace {

// A page of a deferred column that was never written: maps at most this many bytes of zeros at once.
constexpr std::size_t zero_page_bytes = 64 * 1024;

}  // namespace

ColumnReader::ColumnReader(PageSource& source, std::vector<std::uint32_t> representations,
                           ElementType element)
    : source_(&source), representations_(std::move(representations)), element_(element) {}

ColumnReader::~ColumnReader() {
  if (stream_ != nullptr) source_->pool().close(*stream_);
}

ClusterPool::Stream& ColumnReader::stream() {
  if (stream_ == nullptr) stream_ = &source_->pool().open(representations_, element_);
  return *stream_;
}

std::uint64_t ColumnReader::elements(std::size_t cluster) {
  enter(cluster);
  return segment_->extent.elements;
}

std::uint64_t ColumnReader::leading_zeros(std::size_t cluster) {
  enter(cluster);
  return segment_->extent.leading_zeros;
}

std::uint64_t ColumnReader::first_global(std::size_t cluster) {
  enter(cluster);
  return segment_->extent.first;
}

void ColumnReader::enter(std::size_t cluster) {
  if (cluster == cluster_) return;
  cluster_ = static_cast<std::size_t>(-1);  // until the segment is known to be valid
  mapped_ = {};
  page_.reset();
  segment_ = std::make_shared<const ColumnSegment>(open_segment(*source_, representations_, cluster));
  cluster_ = cluster;
}

void ColumnReader::check_index(std::uint64_t index, std::uint64_t count) const {
  const std::uint64_t elements = segment_->extent.elements;
  if (index <= elements && count <= elements - index) return;
  throw Error(ErrorKind::format,
              fmt::format("elements {} to {} were requested, but the cluster's column has {}", index,
                          index + count, elements),
              "", source_->context(segment_->column, cluster_, 0));
}

void ColumnReader::load_zeros(std::uint64_t index) {
  const std::uint64_t left = segment_->extent.leading_zeros - index;
  const std::uint64_t count = std::min<std::uint64_t>(left, zero_page_bytes / size_of(element_));
  if (zeros_.size() == 0) {
    zeros_.resize(zero_page_bytes);
    std::memset(zeros_.data(), 0, zero_page_bytes);
  }
  mapped_ = {zeros_.data(), index, count};
}

void ColumnReader::load(std::size_t cluster, std::uint64_t index) {
  enter(cluster);
  check_index(index, 1);
  mapped_ = {};
  page_.reset();  // its memory may be reused for the next one
  if (index < segment_->extent.leading_zeros) return load_zeros(index);
  const std::size_t page = segment_->page_of(index);
  page_ = source_->pool().take(stream(), segment_, page);
  mapped_ = {page_->elements, segment_->page_first[page], page_->description.elements};
}

// The number of pages from `first` on that lie within `count` elements from its start.
std::size_t ColumnReader::whole_pages(std::size_t first, std::uint64_t count) const {
  const std::uint64_t end = segment_->page_first[first] + count;
  std::size_t last = first;
  while (last < segment_->pages() && segment_->page_first[last + 1] <= end) ++last;
  return last - first;
}

void ColumnReader::read(std::size_t cluster, std::uint64_t first, std::uint64_t count, void* out) {
  if (count == 0) return;
  enter(cluster);
  check_index(first, count);
  const std::size_t width = size_of(element_);
  auto* to = static_cast<std::byte*>(out);
  while (count > 0) {
    std::uint64_t step = 0;
    const bool mapped = first - mapped_.first < mapped_.count;
    const bool stored = !mapped && first >= segment_->extent.leading_zeros;
    const std::size_t page = stored ? segment_->page_of(first) : 0;
    const bool at_start = stored && segment_->page_first[page] == first;
    if (const std::size_t pages = at_start ? whole_pages(page, count) : 0; pages > 0) {
      step = segment_->page_first[page + pages] - first;
      source_->pool().read(stream(), segment_, page, pages, to);
    } else {
      const MappedElements stretch = map(cluster, first);
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
    return cluster == cluster_ && i - mapped_.first < mapped_.count;
  };
  // A collection starts where the previous one ends; for the first element of a page that is on the page
  // before, which is usually still mapped.
  bool has_begin = index == 0;
  if (!has_begin && holds(index - 1) && !holds(index)) {
    range.begin = at<std::uint64_t>(cluster, index - 1);
    has_begin = true;
  }
  MappedElements stretch = map(cluster, index);
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
                "", source_->context(segment_->column, cluster, 0));
  return range;
}

}  // namespace colonnade::page
