// PageSource: one open data set for reading - its descriptor, and its sealed pages as verified bytes.
//
//   ReadContainer --anchor--> header, footer, page lists --> Descriptor
//   ColumnReader --(cluster, page)--> ClusterPool --(extents)--> sealed pages --> unseal --> elements
//
// One Reader owns a PageSource, and one thread at a time uses it; the container under it and the descriptor
// may be shared.
#ifndef COLONNADE_PAGE_PAGE_SOURCE_H
#define COLONNADE_PAGE_PAGE_SOURCE_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/memory_limit.h"
#include "colonnade/descriptor.h"
#include "colonnade/options.h"
#include "container/container.h"

namespace colonnade::cache {
class DataSet;
struct Identity;
struct Metadata;
struct Settings;
}  // namespace colonnade::cache

namespace colonnade::page {

// Counters of a source. Requests, bytes and pages depend on the order of reads alone if everything read ahead
// was used, or if a single thread does the work.
struct ReadCounters {
  std::uint64_t requests = 0;  // reads issued to the transport for pages
  std::uint64_t bytes = 0;     // bytes of these
  std::uint64_t read_over_bytes =
      0;                    // part of these that was not needed: gaps that were cheaper to read, alignment
  std::uint64_t pages = 0;  // pages decompressed and decoded
  std::uint64_t metadata_bytes = 0;
  std::uint64_t prefetched_used = 0;    // pages planned ahead that were used
  std::uint64_t prefetched_unused = 0;  // pages planned ahead that were not used
  std::uint64_t peak_ahead_bytes = 0;   // peak memory of pages planned ahead
  double seconds_waiting = 0;           // of the reading thread, on I/O or other threads
  double seconds_decoding = 0;          // verifying, decompressing and decoding, summed over threads
  std::uint64_t cache_pages = 0;        // part of `pages` that came from a cache
  std::uint64_t cache_bytes = 0;        // stored bytes of these
  std::uint64_t cache_added = 0;        // pages given to a cache
  std::uint64_t cache_dropped = 0;      // pages that the cache had no room for, or lost

  ReadCounters& operator+=(const ReadCounters& more) noexcept;
};

class ClusterPool;

class PageSource {
 public:
  ~PageSource();
  // Reads the complete descriptor: header, footer, all page lists.
  static std::unique_ptr<PageSource> open(std::string_view data_set, const std::string& uri,
                                          const ReadOptions& options = {});
  static std::unique_ptr<PageSource> open(std::string_view data_set,
                                          std::shared_ptr<const container::ReadContainer> container,
                                          const ReadOptions& options = {});

  // Opens with a known descriptor: only checks that the anchor is unchanged (ErrorKind::io).
  static std::unique_ptr<PageSource> open(std::string_view data_set,
                                          std::shared_ptr<const container::ReadContainer> container,
                                          std::shared_ptr<Descriptor> descriptor, const ReadOptions& options);
  // Opens the same data set for another thread: shares the descriptor and the container, reads nothing.
  // Thread-safe.
  std::unique_ptr<PageSource> open_again(const ReadOptions& options) const;
  // Opens an attribute set as a data set, under a name that says so. The result may outlive this source.
  // Throws ErrorKind::format or unsupported if this version cannot read it.
  std::unique_ptr<PageSource> open_attribute_set(const AttributeSetRecord& record) const;

  const Descriptor& descriptor() const noexcept { return *descriptor_; }
  const std::shared_ptr<Descriptor>& shared_descriptor() const noexcept { return descriptor_; }
  // Marks fields whose types a layer above cannot read; call it before the descriptor is used otherwise.
  void mark_unreadable(const std::vector<std::pair<std::uint32_t, std::string>>& reasons);
  const container::ReadContainer& container() const noexcept { return *container_; }
  const std::string& uri() const noexcept { return container_->uri(); }
  const std::string& data_set() const noexcept { return data_set_; }
  // Changes when the data set is rewritten: a hash of the positions of its metadata, and of the transport's
  // version of the file.
  std::uint64_t identity() const;
  const ReadOptions& options() const noexcept { return options_; }
  ReadCounters counters() const;

  // The file with the pages, for offsets of placed_pages().
  const io::RandomAccessFile& file() const noexcept { return *file_; }
  std::uint64_t file_size() const { return file().size(); }
  // The cache, if there is one: its file may hold pages, too.
  cache::DataSet* cache() const noexcept { return cache_.get(); }
  std::string cache_state() const;  // DataSet::state(), or "not used: why"; empty: no cache
  // Has the cache remember that the data set was found now, as the only one there if it `is_only`.
  void remember(bool is_only) const;
  // Fields that a cache which is used offline does not have as a whole, and why they cannot be read.
  std::vector<std::pair<std::uint32_t, std::string>> missing_offline() const;
  bool is_cached(const PageDescriptor& page) const noexcept;
  const io::RandomAccessFile& file_of(const PageDescriptor& page) const noexcept;
  // Like placed_pages(), but with positions in the cache for pages that it holds.
  PageList pages_to_read(std::uint32_t column, std::size_t cluster) const;
  // Offers a page that was read from the origin, verified if pages are, to the cache. Counts the
  // outcome.
  void keep(std::uint32_t column, std::size_t cluster, std::size_t page, const PageDescriptor& description,
            ByteSpan content, ByteSpan sum, ReadCounters& counters) const;
  // The pages of a column in a cluster with locators for file(), which for an object store differ from those
  // in the descriptor. The functions below expect such pages.
  PageList placed_pages(std::uint32_t column, std::size_t cluster) const;
  bool has_other_places() const noexcept { return object_pages_ != nullptr || cache_ != nullptr; }

  // Reads and decodes pages for the column readers.
  ClusterPool& pool() noexcept { return *pool_; }

  // The number of elements of a column in a cluster, how many leading ones are zeros because the column was
  // added later, and the index of the first one within the data set.
  struct ColumnExtent {
    std::uint64_t first = 0;
    std::uint64_t elements = 0;
    std::uint64_t leading_zeros = 0;
  };
  ColumnExtent extent(std::uint32_t column, std::size_t cluster) const;

  // True if the page is one range of the file, which can be read together with others.
  bool is_plain(const PageDescriptor& page) const noexcept;
  // Throws ErrorKind::format unless the whole page exists: for pages that claim to be large.
  void check_there(const PageDescriptor& page) const;
  // Reads the sealed bytes of any page, followed by its checksum. Throws ErrorKind::unsupported for a locator
  // of another kind.
  void read_sealed(const PageDescriptor& page, MutableByteSpan into) const;
  // Throws ErrorKind::checksum unless the eight bytes after the page, or those in `sum`, are its XXH3.
  // Returns false if there is no checksum, or verification is off.
  bool verify(const PageDescriptor& page, ByteSpan page_and_checksum) const;
  bool verify(const PageDescriptor& page, ByteSpan content, ByteSpan sum) const;
  // The expected checksum of a page; empty if it is not to be verified.
  std::optional<std::uint64_t> expected_sum(const PageDescriptor& page, ByteSpan sum) const;

  ErrorContext context() const { return {.uri = uri(), .data_set = data_set_}; }
  ErrorContext context(std::uint32_t column, std::size_t cluster, std::size_t page) const;
  // Adds the context to the error and, in an object store, the name of the value to its problem.
  Error in_page(const Error& error, std::uint32_t column, std::size_t cluster, std::size_t page) const;

 private:
  PageSource(std::string_view data_set, std::shared_ptr<const container::ReadContainer> container,
             ReadOptions options);
  void read_descriptor();
  void find_pages();
  cache::Settings cache_settings() const;
  void open_cache();
  cache::Identity cache_identity(std::uint64_t size) const;
  void take_kept_metadata();
  AlignedBuffer read_stored(const Locator& locator, const char* what);
  void read_together(std::span<const Locator> envelopes, const char* what);
  void read_ahead(std::size_t group);
  void read_envelope(const Locator& locator, std::uint64_t length, const char* what, MemoryLimit& limit,
                     const std::function<void(ByteSpan)>& parse);

  std::string data_set_;
  std::shared_ptr<const container::ReadContainer> container_;
  std::shared_ptr<const container::ObjectPageFile>
      object_pages_;  // null: use the positions in the descriptor
  const io::RandomAccessFile* file_ = nullptr;
  ReadOptions options_;
  std::shared_ptr<Descriptor> descriptor_ = std::make_shared<Descriptor>();  // immutable once opened
  std::shared_ptr<cache::DataSet> cache_;                                    // null: none
  std::unique_ptr<cache::Metadata> metadata_;  // for the cache, while opening; null: not needed
  std::uint64_t metadata_bytes_ = 0;
  std::map<std::uint64_t, AlignedBuffer> ahead_;  // envelopes read together, while opening
  std::unique_ptr<ClusterPool> pool_;
};

// The maximum size of a page's elements in memory. Writers make pages of 256 KiB, never larger ones than
// this.
inline constexpr std::uint64_t largest_page = std::uint64_t{1} << 30;

// True if `stored` compressed bytes can hold `length` bytes. Keeps a hostile length from claiming more memory
// than a file of that size could need. The densest block of all codecs is a run in Zstandard, 128 KiB in 4
// bytes.
inline bool is_plausible_length(std::uint64_t stored, std::uint64_t length) noexcept {
  constexpr std::uint64_t max_ratio = 32768;
  return length >= stored && length / max_ratio <= stored && (stored > 0 || length == 0);
}

inline constexpr std::size_t page_sum_size = sizeof(std::uint64_t);
// The stored size of a page: sealed bytes and the checksum after them.
inline std::uint64_t stored_size(const PageDescriptor& page) noexcept {
  return page.locator.size + (page.has_checksum ? page_sum_size : 0);
}

}  // namespace colonnade::page

#endif
