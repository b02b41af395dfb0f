// PageSink: one data set being written - open column buffers become sealed pages, sealed pages become
// clusters.
//
//   Field --append--> ColumnWriter --full page--> PageSink::seal (encode, compress, sum) --commit_cluster-->
//   one vector write
//
// A PageSink and its ColumnWriters belong to one Writer and one thread at a time. Sealed pages of the open
// cluster stay in memory until commit_cluster(); a failure before that leaves the file as the last commit
// made it.
#ifndef COLONNADE_PAGE_PAGE_SINK_H
#define COLONNADE_PAGE_PAGE_SINK_H

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "codec/compression.h"
#include "colonnade/column_type.h"
#include "colonnade/descriptor.h"
#include "colonnade/options.h"
#include "page/data_set_sink.h"

namespace colonnade::page {

class PageSink;

// The open page of one column, as elements in memory.
class ColumnWriter {
 public:
  ColumnWriter(PageSink& sink, std::uint32_t column, const ColumnEncoding& encoding, ElementType element);

  ElementType element() const noexcept { return element_; }
  const ColumnEncoding& encoding() const noexcept { return encoding_; }
  std::uint32_t column() const noexcept { return column_; }
  std::size_t buffered_bytes() const noexcept { return count_ * width_; }
  // Elements appended since the data set, or since the cluster, began.
  std::uint64_t total() const noexcept { return total_ + count_; }
  std::uint64_t in_cluster() const noexcept { return in_cluster_ + count_; }

  template <class T>
  void append(const T& value) {
    if (count_ == capacity_) make_room();
    static_cast<T*>(static_cast<void*>(buffer_.data()))[count_++] = value;
  }
  // Elements of the column's element type.
  void append(const void* values, std::uint64_t count);
  void append_zeros(std::uint64_t count);

 private:
  friend class PageSink;
  void make_room();
  void flush();

  PageSink* sink_;
  std::uint32_t column_;
  ColumnEncoding encoding_;
  ElementType element_;
  std::size_t width_;
  AlignedBuffer buffer_;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::size_t max_elements_ = 0;  // of a page
  std::uint64_t total_ = 0;
  std::uint64_t in_cluster_ = 0;
};

class PageSink {
 public:
  explicit PageSink(std::shared_ptr<DataSetSink> data_set);
  // With a data set of its own.
  PageSink(std::unique_ptr<WriteContainer> container, const WriteOptions& options);

  DataSetSink& data_set() noexcept { return *data_set_; }
  const WriteOptions& options() const noexcept { return data_set_->options(); }
  const codec::CompressionSettings& compression() const noexcept { return data_set_->compression(); }
  const std::string& uri() const noexcept { return data_set_->uri(); }
  Descriptor& descriptor() noexcept { return data_set_->descriptor(); }
  const Descriptor& descriptor() const noexcept { return std::as_const(*data_set_).descriptor(); }

  void start() { data_set_->start(); }
  ColumnWriter& add_column(std::uint32_t column, ElementType element);

  // Bytes of the open cluster: sealed so far, the same uncompressed, and still in open pages.
  std::uint64_t sealed_bytes() const noexcept { return sealed_bytes_; }
  std::uint64_t uncompressed_bytes() const noexcept { return uncompressed_bytes_; }
  std::uint64_t open_bytes() const noexcept;

  void flush_columns();  // seals every open page
  // Writes the pages of the open cluster of `entries` entries and begins a new one. What comes back has no
  // place in the data set yet.
  ClusterDescriptor write_cluster(std::uint64_t entries);
  void commit_cluster(std::uint64_t entries) { data_set_->add_cluster(write_cluster(entries)); }
  void commit_data_set() { data_set_->commit_data_set(); }
  void close() { data_set_->close(); }

 private:
  friend class ColumnWriter;
  struct SealedPage {
    std::size_t chunk = 0;  // index into sealed_, or of the page that this one repeats
    std::uint32_t elements = 0;
  };
  struct SealedBytes {
    AlignedBuffer bytes;  // the block and, if asked for, its checksum
    std::size_t block_size = 0;
    std::uint64_t offset = 0;
  };

  void seal(ColumnWriter& writer, std::size_t elements);
  ByteSpan pack(const ColumnWriter& writer, std::size_t elements, std::size_t packed_size);
  std::size_t find_sealed(ByteSpan block, std::uint64_t sum) const;
  AlignedBuffer take_spare(std::size_t size);
  ClusterDescriptor describe_cluster(std::uint64_t entries) const;
  void begin_cluster();
  void made_room(const ColumnWriter& grown);  // keeps the page buffer budget

  std::shared_ptr<DataSetSink> data_set_;
  std::deque<ColumnWriter> writers_;
  std::vector<std::vector<SealedPage>> open_;  // of the cluster, by physical column
  std::vector<SealedBytes> sealed_;
  std::unordered_multimap<std::uint64_t, std::size_t> sealed_by_hash_;
  std::vector<AlignedBuffer> spare_;  // the pages' memory of the last cluster
  std::size_t capacity_bytes_ = 0;    // of all open pages
  std::uint64_t sealed_bytes_ = 0;
  std::uint64_t uncompressed_bytes_ = 0;
  AlignedBuffer packed_;
  AlignedBuffer block_;
};

}  // namespace colonnade::page

#endif
