// See page_reader.h.
#include "frame/sources/page_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "codec/column_codec.h"

namespace colonnade::frame {
namespace {

// Represents elements that were never written because their column is deferred.
constexpr std::size_t zero_bytes = 64 * 1024;
alignas(64) const std::byte zeros[zero_bytes] = {};

// Spans of fewer elements are copied element by element.
constexpr std::uint64_t short_span = 8;

// If at least one element in this many is wanted, decoding all is faster than picking.
constexpr std::uint64_t worth_decoding = 6;
// The number of elements decoded at a time, so that they are picked from the cache.
constexpr std::size_t most_decoded = 2048;

// True if the page is at this position of the cluster. Below collections, whose elements may be unevenly
// distributed over the entries, positions are approximate.
bool is_near(const page::PageJob& page, double fraction) {
  const double width = page.end_fraction - page.fraction;
  return page.fraction - width <= fraction && fraction <= page.end_fraction + width;
}

// The elements at `begin` plus each of the indices; either may be negative, modulo 2^64.
template <std::size_t width>
void pick(const std::byte* from, std::uint64_t begin, const std::uint32_t* places, std::size_t count,
          std::byte* out) {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(out + i * width, from + (begin + places[i]) * width, width);
}

}  // namespace

void Wanted::finish() {
  if (spans.size() < 2 || size > short_span * spans.size()) return;
  if (spans.front().cluster != spans.back().cluster || (spans.back().end - spans.front().begin) >> 32 != 0)
    return;
  indices.reserve(size);
  for (const Span& span : spans)
    for (std::uint64_t i = span.begin; i < span.end; ++i)
      indices.push_back(static_cast<std::uint32_t>(i - spans.front().begin));
}

PageReader::PageReader(page::PageSource& source, BorderPages* borders,
                       std::vector<std::uint32_t> representations, ElementType element)
    : source_(&source),
      borders_(borders),
      representations_(std::move(representations)),
      element_(element),
      width_(size_of(element)),
      mapped_(1) {}

PageReader::~PageReader() {
  if (stream_ != nullptr) source_->pool().close(*stream_);
}

const std::shared_ptr<const page::ColumnSegment>& PageReader::segment(std::size_t cluster) {
  for (std::size_t i = segments_.size(); i > 0; --i)
    if (segments_[i - 1]->cluster == cluster) return segments_[i - 1];
  // Cursors move forwards, so the clusters before the last few are done.
  constexpr std::size_t few = 4;
  if (segments_.size() == few) segments_.erase(segments_.begin());
  segments_.push_back(
      std::make_shared<const page::ColumnSegment>(page::open_segment(*source_, representations_, cluster)));
  return segments_.back();
}

void PageReader::check(const Wanted& wanted) {
  const page::ColumnSegment* current = nullptr;
  for (const Span& span : wanted.spans) {
    if (current == nullptr || current->cluster != span.cluster) current = segment(span.cluster).get();
    if (span.end <= current->extent.elements) continue;
    throw Error(ErrorKind::format,
                fmt::format("elements up to {} are needed, but the cluster's column has {}", span.end,
                            current->extent.elements),
                "check that the file was transferred completely",
                source_->context(current->column, span.cluster, 0));
  }
}

const PageReader::MappedElements& PageReader::find(std::size_t cluster, std::uint64_t index) {
  for (std::size_t i = 0; i < mapped_.size(); ++i) {
    MappedElements& stretch = mapped_[i];
    if (cluster != stretch.cluster || index - stretch.first >= stretch.count) continue;
    recent_ = i;
    stretch.used = block_;
    return stretch;
  }
  // Before the next one is mapped, so that its memory can be reused: first use of memory costs as much as
  // decoding a page.
  std::erase_if(mapped_, [&](const MappedElements& stretch) { return stretch.used < block_; });
  recent_ = 0;
  if (mapped_.empty()) mapped_.emplace_back();
  MappedElements loaded = load(cluster, index);
  loaded.used = block_;
  if (mapped_.front().count == 0) {
    mapped_.front() = std::move(loaded);
  } else {
    mapped_.push_back(std::move(loaded));
  }
  recent_ = mapped_.size() - 1;
  return mapped_.back();
}

PageReader::MappedElements PageReader::load(std::size_t cluster, std::uint64_t index) {
  const std::shared_ptr<const page::ColumnSegment> in = segment(cluster);
  if (index < in->extent.leading_zeros) {
    const std::uint64_t fit = zero_bytes / width_;
    return {cluster, index, std::min(fit, in->extent.leading_zeros - index), zeros, nullptr, 0};
  }
  const std::size_t page = in->page_of(index);
  page::ClusterPool::Page job = page_of(in, page);
  const std::byte* data = job->elements;
  return {cluster, in->page_first[page], job->description.elements, data, std::move(job), 0};
}

page::ClusterPool::Page PageReader::page_of(const std::shared_ptr<const page::ColumnSegment>& in,
                                            std::size_t number) {
  const bool is_first = std::exchange(is_at_begin_, false);
  if (borders_ != nullptr)
    if (auto page = borders_->take(in->column, element_, in->cluster, number)) {
      passed_ = page.get();
      return page;
    }
  if (stream_ == nullptr) stream_ = &source_->pool().open(representations_, element_, form_of(element_));
  page::ClusterPool::Page page = source_->pool().take(*stream_, in, number);
  if (is_first && borders_ != nullptr && page->cluster == part_.first_cluster && part_.begin > 0 &&
      page->fraction != part_.begin && is_near(*page, part_.begin))
    borders_->offer(in->column, page);
  return page;
}

void PageReader::jump_to(const PartEnds& part) {
  offer_last();
  part_ = part;
  is_at_begin_ = true;
}

// The page at the end of the part. The cursor of the next part needs the last end of a collection even if no
// page of ends spans the border.
void PageReader::offer_last() {
  if (borders_ == nullptr || part_.end == 1) return;
  const page::PageJob* last = nullptr;
  page::ClusterPool::Page page;
  for (const MappedElements& stretch : mapped_) {
    const page::PageJob* job = stretch.owner.get();
    if (job == nullptr || job->cluster != part_.last_cluster) continue;
    if (last != nullptr && job->page < last->page) continue;
    last = job;
    page = stretch.owner;
  }
  if (last == nullptr || last == passed_ || !is_near(*last, part_.end)) return;
  if (last->end_fraction == part_.end && element_ != ElementType::index) return;
  borders_->offer(segment(last->cluster)->column, std::move(page));
}

void PageReader::copy_spans(const Wanted& wanted, std::byte* out) {
  for (const Span& span : wanted.spans) {
    for (std::uint64_t at = span.begin; at < span.end;) {
      const MappedElements& stretch = map(span.cluster, at);
      const std::uint64_t step = std::min(span.end, stretch.first + stretch.count) - at;
      if (stretch.data != nullptr) {
        std::memcpy(out, stretch.data + (at - stretch.first) * width_, step * width_);
      } else {
        const page::PageJob& page = *stretch.owner;
        codec::decode_part(page.encoding, page.packed, stretch.count, at - stretch.first, step, out);
      }
      out += step * width_;
      at += step;
    }
  }
}

// From a page that is decoded in parts, the elements at `begin` plus each of the ascending indices.
template <std::size_t width>
void PageReader::decode_elements(const page::PageJob& page, std::uint64_t begin, const std::uint32_t* places,
                                 std::size_t count, std::byte* out) {
  while (count > 0) {
    const std::uint32_t* const stop =
        std::lower_bound(places, places + count, places[0] + std::uint64_t{most_decoded});
    const auto step = static_cast<std::size_t>(stop - places);
    const std::size_t length = places[step - 1] - places[0] + 1;
    if (length > worth_decoding * step) {
      codec::decode_places(page.encoding, page.packed, page.description.elements, begin, places, step, out);
    } else {
      part_elements_.resize(most_decoded * width);
      codec::decode_part(page.encoding, page.packed, page.description.elements, begin + places[0], length,
                         part_elements_.data());
      pick<width>(part_elements_.data(), std::uint64_t{0} - places[0], places, step, out);
    }
    places = stop;
    count -= step;
    out += step * width;
  }
}

template <std::size_t width>
void PageReader::copy_elements(const Wanted& wanted, std::byte* out) {
  const std::size_t cluster = wanted.spans.front().cluster;
  const std::uint64_t first = wanted.spans.front().begin;
  const std::vector<std::uint32_t>& indices = wanted.indices;
  for (std::size_t i = 0; i < indices.size();) {
    const MappedElements& stretch = map(cluster, first + indices[i]);
    const std::uint64_t end = stretch.first + stretch.count - first;
    const auto behind =
        std::lower_bound(indices.begin() + static_cast<std::ptrdiff_t>(i), indices.end(), end);
    const auto stop = static_cast<std::size_t>(behind - indices.begin());
    // The page may begin after the first element, so that the difference wraps around.
    const std::uint64_t shift = first - stretch.first;
    if (stretch.data != nullptr) {
      pick<width>(stretch.data, shift, indices.data() + i, stop - i, out + i * width);
    } else {
      decode_elements<width>(*stretch.owner, shift, indices.data() + i, stop - i, out + i * width);
    }
    i = stop;
  }
}

void PageReader::copy(const Wanted& wanted, void* out) {
  auto* to = static_cast<std::byte*>(out);
  if (wanted.indices.empty()) return copy_spans(wanted, to);
  switch (width_) {
    case 1:
      return copy_elements<1>(wanted, to);
    case 2:
      return copy_elements<2>(wanted, to);
    case 4:
      return copy_elements<4>(wanted, to);
    default:
      return copy_elements<8>(wanted, to);
  }
}

}  // namespace colonnade::frame
