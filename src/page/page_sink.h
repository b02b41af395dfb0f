// PageSink: one data set being written - open column buffers become sealed pages, sealed pages become
// clusters.
//
//   Field --append--> ColumnWriter --full page--> PageSink::seal (encode, compress, sum) --commit_cluster-->
//   one vector write
//
// A PageSink and its ColumnWriters belong to one Writer and one thread at a time. Sealed pages of the open
// cluster stay in memory until commit_cluster() or, if the page buffer budget is too small for that, until a
// large enough piece of the cluster can be written. A failure before commit_cluster() leaves the data set in
// the state of the last commit.
#ifndef COLONNADE_PAGE_PAGE_SINK_H
#define COLONNADE_PAGE_PAGE_SINK_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
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
#include "page/page_memory.h"
#include "page/page_sealer.h"

namespace colonnade::page {

class PageSink;

// The open page of one column, as elements in memory.
class ColumnWriter {
 public:
  ColumnWriter(PageSink& sink, std::uint32_t column, const ColumnEncoding& encoding, ElementType element);

  ElementType element() const noexcept { return element_; }
  std::size_t buffered_bytes() const noexcept { return static_cast<std::size_t>(next_ - begin_); }
  // The number of elements appended to the data set, or to the cluster.
  std::uint64_t total() const noexcept { return total_ + count(); }
  std::uint64_t in_cluster() const noexcept { return in_cluster_ + count(); }

  template <class T>
  void append(const T& value) {
    if (next_ == end_) make_room();
    std::memcpy(next_, &value, sizeof value);
    next_ += sizeof value;
  }
  // Appends `count` elements that `element(i)` computes: a loop that vectorises.
  template <class Compute>
  void append_computed(std::size_t count, const Compute& element) {
    using T = decltype(element(count));
    for (std::size_t done = 0; done < count;) {
      if (next_ == end_) make_room();
      const std::size_t step = std::min(count - done, static_cast<std::size_t>(end_ - next_) / sizeof(T));
      std::byte* const to = next_;
      for (std::size_t i = 0; i < step; ++i) {
        const T value = element(done + i);
        std::memcpy(to + i * sizeof(T), &value, sizeof value);
      }
      next_ += step * sizeof(T);
      done += step;
    }
  }
  // Appends elements of the column's element type.
  void append(const void* values, std::uint64_t count) { append(values, count, false); }
  // The same for values that stay valid until PageSink::keep_lent(): whole pages of an uncompressed column
  // are written straight from there.
  void append_lent(const void* values, std::uint64_t count) { append(values, count, true); }

 private:
  friend class PageSink;
  std::size_t count() const noexcept { return buffered_bytes() >> width_shift_; }
  std::size_t capacity_bytes() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
  void append(const void* values, std::uint64_t count, bool lent);
  void make_room();
  bool grow();
  void flush();
  void seal_straight(const std::byte* values, bool lent);
  void use_buffer(std::size_t capacity);  // takes over `buffer_` while it is empty
  void release() noexcept;

  // The position of the next element, and the end of the page's memory: the only state that appending reads.
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  std::byte* begin_ = nullptr;
  std::uint64_t total_ = 0;
  std::uint64_t in_cluster_ = 0;
  unsigned width_shift_;
  std::uint32_t column_;
  PageSink* sink_;
  AlignedBuffer buffer_;
  std::size_t max_elements_ = 0;  // of a page
  ElementType element_;
  ColumnEncoding encoding_;
};

class PageSink {
 public:
  explicit PageSink(std::shared_ptr<DataSetSink> data_set);
  // Makes a data set of its own.
  PageSink(std::unique_ptr<container::WriteContainer> container, const WriteOptions& options);

  DataSetSink& data_set() noexcept { return *data_set_; }
  const WriteOptions& options() const noexcept { return data_set_->options(); }
  const codec::CompressionSettings& compression() const noexcept { return data_set_->compression(); }
  const std::string& uri() const noexcept { return data_set_->uri(); }
  Descriptor& descriptor() noexcept { return data_set_->descriptor(); }
  const Descriptor& descriptor() const noexcept { return std::as_const(*data_set_).descriptor(); }

  void start() { data_set_->start(); }
  ColumnWriter& add_column(std::uint32_t column, ElementType element);

  // Bytes of the open cluster: sealed, sealed but uncompressed, and in open pages.
  std::uint64_t sealed_bytes() const noexcept { return sealed_bytes_; }
  std::uint64_t uncompressed_bytes() const noexcept { return uncompressed_bytes_; }
  std::uint64_t open_bytes() const noexcept;

  void flush_columns();  // seals every open page
  // Copies values that were lent and not written yet.
  void keep_lent();
  // Between two entries: throws what failed within one, and may be retried.
  void throw_late() {
    if (late_) [[unlikely]]
      std::rethrow_exception(std::exchange(late_, nullptr));
  }
  // Writes the pages of the open cluster of `entries` entries and begins a new one. The result is not yet
  // part of the data set. After a failure that may be retried, see WriteContainer, the call can be repeated.
  ClusterDescriptor write_cluster(std::uint64_t entries);
  void commit_cluster(std::uint64_t entries) { data_set_->add_cluster(write_cluster(entries)); }
  void commit_data_set() { data_set_->commit_data_set(); }
  void close() { data_set_->close(); }

  // Memory of open pages, and of sealed pages that are not written yet.
  std::size_t open_memory() const noexcept { return open_memory_; }
  std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }

 private:
  friend class ColumnWriter;
  struct SealedPage {
    std::size_t chunk = 0;  // index into sealed_, or of the page that this one equals
    std::uint32_t elements = 0;
  };
  struct OpenColumn {  // of the cluster
    std::vector<SealedPage> pages;
    std::size_t written = 0;  // of the pages
  };
  struct SealedBytes {
    ByteSpan bytes;     // the block and its optional checksum; empty once written
    ByteSpan lent_sum;  // the checksum of lent bytes, which cannot follow them in memory
    std::size_t block_size = 0;
    std::uint64_t offset = 0;
    std::uint32_t column = 0;
    bool is_lent = false;
  };

  // The index of a column's page that is being sealed.
  static constexpr std::size_t not_sealed = static_cast<std::size_t>(-1);
  // The page index of a part that is a checksum.
  static constexpr std::size_t behind_page = static_cast<std::size_t>(-1);

  void seal(ColumnWriter& writer, const std::byte* values, std::size_t elements);
  void hand_over(ColumnWriter& writer, const std::byte* values, std::size_t elements);
  void take_sealed();
  void add_sealed(std::uint32_t column, SealedPage& page, ByteSpan block, std::uint64_t sum,
                  ColumnWriter* in_place);
  [[noreturn]] void fail(const Error& error, std::uint32_t column) const;
  ByteSpan pack(const ColumnWriter& writer, const std::byte* values, std::size_t elements,
                std::size_t packed_size);
  ByteSpan keep(ByteSpan block, std::uint64_t sum, ColumnWriter* in_place);
  ByteSpan keep_in_arena(ByteSpan block, std::uint64_t sum);
  void note_lent(SealedBytes& sealed, ByteSpan block, std::uint64_t sum);
  bool can_write_lent() const noexcept;
  std::size_t sum_size() const noexcept {
    return options().page_checksums == Checksums::on ? sizeof(std::uint64_t) : 0;
  }
  std::vector<container::PagePart> parts_to_write(std::vector<std::size_t>& order);
  std::size_t find_sealed(std::uint32_t column, ByteSpan block, std::uint64_t sum) const;
  ClusterDescriptor describe_cluster(std::uint64_t entries) const;
  void begin_cluster();
  bool may_grow(const ColumnWriter& writer, std::size_t capacity) const;
  void make_room(const ColumnWriter& growing);  // enforces the page buffer budget
  AlignedBuffer take_spare(std::size_t capacity);
  std::size_t most_waiting() const;
  void write_if_many_wait();
  void write_within_entry();
  void write_sealed();
  void take_back(std::span<const container::PagePart> parts, std::span<const std::size_t> order);
  std::vector<std::uint64_t> hand_to_container(std::span<const container::PagePart> parts);
  void renew_memory();

  std::shared_ptr<DataSetSink> data_set_;
  container::ClusterWriteState place_;  // of the open cluster
  std::deque<ColumnWriter> writers_;
  std::vector<OpenColumn> open_;  // by physical column
  std::vector<SealedBytes> sealed_;
  std::unordered_multimap<std::uint64_t, std::size_t> sealed_by_hash_;  // pages that are not written
  std::shared_ptr<PageMemoryPool> memories_ = std::make_shared<PageMemoryPool>();
  std::unique_ptr<PageMemory> memory_ = memories_->take();  // of sealed pages
  std::vector<AlignedBuffer> spare_;                        // the memory it had kept, after writing
  std::shared_ptr<AlignedBuffer> slab_;                     // of which new memory of pages is a part
  std::size_t slab_used_ = 0;                               // bytes
  const std::byte* lent_ = nullptr;                         // the page being sealed, if its values are lent
  std::vector<std::size_t> lent_pages_;                     // indices into sealed_, not written
  std::exception_ptr late_;                                 // what is to be thrown between two entries
  std::size_t open_memory_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t sealed_bytes_ = 0;
  std::uint64_t uncompressed_bytes_ = 0;
  AlignedBuffer packed_;
  AlignedBuffer block_;
  std::unique_ptr<PageSealer> sealer_;  // if pages are sealed in the thread pool
};

}  // namespace colonnade::page

#endif
