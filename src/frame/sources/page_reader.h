// PageReader: the elements of one stored column for a cursor, which processes blocks of rows in order and may
// read the rows of a block repeatedly.
//
// It keeps the page used last, and those used by the current block; callers share ownership of pages that
// they get pointers into. Pages that can be decoded in parts are decoded only as far as needed. One thread at
// a time.
#ifndef COLONNADE_FRAME_SOURCES_PAGE_READER_H
#define COLONNADE_FRAME_SOURCES_PAGE_READER_H

#include <cstdint>
#include <memory>
#include <vector>

#include "frame/sources/border_pages.h"
#include "page/cluster_pool.h"
#include "page/column_segment.h"
#include "page/page_source.h"

namespace colonnade::frame {

// Elements [begin, end) of a column in a cluster.
struct Span {
  std::size_t cluster = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// The wanted elements: spans in ascending order, not empty, not adjacent.
struct Wanted {
  std::vector<Span> spans;
  std::uint64_t size = 0;  // elements
  // For short spans in a single cluster: the elements one by one, counted from the first one.
  std::vector<std::uint32_t> indices;

  void add(std::size_t cluster, std::uint64_t begin, std::uint64_t end) {
    size += end - begin;
    if (begin == end) return;
    if (!spans.empty() && spans.back().cluster == cluster && spans.back().end == begin) {
      spans.back().end = end;
    } else {
      spans.push_back({cluster, begin, end});
    }
  }
  // To be called after the last add().
  void finish();
};

// The beginning and end of a part, as fractions of the entries of its first and last cluster.
struct PartEnds {
  std::size_t first_cluster = 0;
  double begin = 0;
  std::size_t last_cluster = 0;
  double end = 1;
};

class PageReader {
 public:
  // The source and `borders`, which may be null, must outlive the reader.
  PageReader(page::PageSource& source, BorderPages* borders, std::vector<std::uint32_t> representations,
             ElementType element);
  ~PageReader();
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  ElementType element() const noexcept { return element_; }
  // In which form pages of a column are asked for.
  static page::ClusterPool::Form form_of(ElementType element) noexcept {
    using Form = page::ClusterPool::Form;
    const bool is_whole = element == ElementType::index || element == ElementType::switch_;
    return is_whole ? Form::elements : Form::parts;
  }

  // Moves to another part that does not follow the current one.
  void jump_to(const PartEnds& part);
  // Moves to the following part; only the end changes.
  void go_on_to(const PartEnds& part) noexcept { part_ = part; }
  // Releases pages that the block has not used, once it needs another one.
  void next_block() noexcept { ++block_; }

  // The number of elements in a cluster.
  std::uint64_t elements(std::size_t cluster) { return segment(cluster)->extent.elements; }
  // Throws ErrorKind::format if any of them does not exist.
  void check(const Wanted& wanted);

  // Elements [first, first + count) of a cluster around `index`, which exists.
  struct MappedElements {
    std::size_t cluster = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    const std::byte* data = nullptr;  // null: a page that is decoded in parts; ends and tags never are
    page::ClusterPool::Page owner;    // null: permanent memory
    std::uint64_t used = 0;           // number of the last block

    template <class T>
    const T& at(std::uint64_t i) const noexcept {
      return reinterpret_cast<const T*>(data)[i - first];
    }
  };
  // Valid until the next call.
  const MappedElements& map(std::size_t cluster, std::uint64_t index) {
    MappedElements& recent = mapped_[recent_];
    if (cluster == recent.cluster && index - recent.first < recent.count) {
      recent.used = block_;
      return recent;
    }
    return find(cluster, index);
  }

  // Copies the wanted elements, which must exist, contiguously.
  void copy(const Wanted& wanted, void* out);

 private:
  const std::shared_ptr<const page::ColumnSegment>& segment(std::size_t cluster);
  const MappedElements& find(std::size_t cluster, std::uint64_t index);
  MappedElements load(std::size_t cluster, std::uint64_t index);
  page::ClusterPool::Page page_of(const std::shared_ptr<const page::ColumnSegment>& in, std::size_t number);
  void offer_last();
  void copy_spans(const Wanted& wanted, std::byte* out);
  template <std::size_t width>
  void copy_elements(const Wanted& wanted, std::byte* out);
  template <std::size_t width>
  void decode_elements(const page::PageJob& page, std::uint64_t begin, const std::uint32_t* places,
                       std::size_t count, std::byte* out);

  page::PageSource* source_;
  BorderPages* borders_;
  std::vector<std::uint32_t> representations_;
  ElementType element_;
  std::size_t width_;
  page::ClusterPool::Stream* stream_ = nullptr;                       // opened when the first page is needed
  std::vector<std::shared_ptr<const page::ColumnSegment>> segments_;  // few: of a part's clusters
  std::vector<MappedElements> mapped_;                                // never empty
  std::size_t recent_ = 0;
  std::uint64_t block_ = 2;
  PartEnds part_;
  const page::PageJob* passed_ = nullptr;  // the page that another cursor passed on last
  bool is_at_begin_ = false;  // no page of the part was loaded, and another cursor has the previous part
  std::vector<std::byte> part_elements_;  // decoded, some of which are wanted
};

}  // namespace colonnade::frame

#endif
