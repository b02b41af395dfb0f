// ColumnReader: the elements of one column of a field, across clusters, pages and representations.
//
// It maps one decoded page at a time and returns pointers into it; they are valid until the next call on the
// same reader. Elements are addressed as <cluster, index within the cluster's column>. The pages come from
// the ClusterPool of the source, which reads ahead. One thread at a time uses a reader.
#ifndef COLONNADE_PAGE_COLUMN_READER_H
#define COLONNADE_PAGE_COLUMN_READER_H

#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "colonnade/column_type.h"
#include "page/cluster_pool.h"
#include "page/column_segment.h"
#include "page/page_source.h"

namespace colonnade::page {

class ColumnReader {
 public:
  // `representations`: the physical column ids that hold these elements, one per representation. The source
  // must outlive the reader.
  ColumnReader(PageSource& source, std::vector<std::uint32_t> representations, ElementType element);
  ~ColumnReader();
  ColumnReader(const ColumnReader&) = delete;
  ColumnReader& operator=(const ColumnReader&) = delete;

  // The number of elements in a cluster.
  std::uint64_t elements(std::size_t cluster);
  // The number of elements that were never written: the column was added later, and they are zeros.
  std::uint64_t leading_zeros(std::size_t cluster);
  // The global index of the first element in a cluster.
  std::uint64_t first_global(std::size_t cluster);

  // Contiguous decoded elements that contain `index`: data[0] is element `first` of the cluster.
  struct MappedElements {
    const void* data = nullptr;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  MappedElements map(std::size_t cluster, std::uint64_t index) {
    if (cluster != cluster_ || index - mapped_.first >= mapped_.count) [[unlikely]]
      load(cluster, index);
    return mapped_;
  }

  template <class T>
  const T& at(std::size_t cluster, std::uint64_t index) {
    const MappedElements stretch = map(cluster, index);
    return static_cast<const T*>(stretch.data)[index - stretch.first];
  }

  // Copies `count` elements from `first` on into `out`; decodes whole pages straight into it.
  void read(std::size_t cluster, std::uint64_t first, std::uint64_t count, void* out);

  // The start and end offsets of collection `index`, for index columns.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  Range collection(std::size_t cluster, std::uint64_t index);

 private:
  void enter(std::size_t cluster);
  void load(std::size_t cluster, std::uint64_t index);
  void load_zeros(std::uint64_t index);
  void check_index(std::uint64_t index, std::uint64_t count) const;
  std::size_t whole_pages(std::size_t first, std::uint64_t count) const;
  ClusterPool::Stream& stream();

  PageSource* source_;
  std::vector<std::uint32_t> representations_;
  ElementType element_;

  std::size_t cluster_ = static_cast<std::size_t>(-1);
  MappedElements mapped_;
  ClusterPool::Page page_;                        // the page of mapped_,
  AlignedBuffer zeros_;                           // or its zeros
  std::shared_ptr<const ColumnSegment> segment_;  // of the current cluster
  ClusterPool::Stream* stream_ = nullptr;         // opened when the first page is needed
};

}  // namespace colonnade::page

#endif
