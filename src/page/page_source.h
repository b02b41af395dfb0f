// PageSource: one open data set for reading - its descriptor, and its sealed pages as verified bytes.
//
//   ReadContainer --anchor--> header, footer, page lists --> Descriptor
//   ColumnReader --(cluster, page)--> ClusterPool --(extents)--> sealed pages --> unseal --> elements
//
// A PageSource is owned by one Reader and used by one thread at a time; the container under it and the
// descriptor may be shared.
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
struct Metadata;
struct Settings;
}  // namespace colonnade::cache

namespace colonnade::page {

// Counters of what a source did. The numbers of requests, bytes and pages follow from what was read in which
// order alone, where all that was read ahead has been used or a single thread does the work.
struct ReadCounters {
  std::uint64_t requests = 0;         // reads issued to the transport for pages
  std::uint64_t bytes = 0;            // bytes of these
  std::uint64_t read_over_bytes = 0;  // of these, not wanted: gaps that were cheaper to read, alignment
  std::uint64_t pages = 0;            // pages decompressed and decoded
  std::uint64_t metadata_bytes = 0;
  std::uint64_t prefetched_used = 0;    // pages planned ahead that were asked for
  std::uint64_t prefetched_unused = 0;  // and that were not
  std::uint64_t peak_ahead_bytes = 0;   // most memory that pages planned ahead were good for
  double seconds_waiting = 0;           // of the reading thread, for bytes or for other threads
  double seconds_decoding = 0;          // verifying, decompressing and decoding, sum over all threads
  std::uint64_t cache_pages = 0;        // of `pages`, those that a cache had
  std::uint64_t cache_bytes = 0;        // stored, of these
  std::uint64_t cache_added = 0;        // pages given to a cache
  std::uint64_t cache_dropped = 0;      // pages that it had no room for, or was lost for

  ReadCounters& operator+=(const ReadCounters& more) noexcept;
};

class ClusterPool;

class PageSource {
 public:
  ~PageSource();
  // Reads the descriptor completely: header, footer, all page lists.
  static std::unique_ptr<PageSource> open(std::string_view data_set, const std::string& uri,
                                          const ReadOptions& options = {});
  static std::unique_ptr<PageSource> open(std::string_view data_set,
                                          std::shared_ptr<const container::ReadContainer> container,
                                          const ReadOptions& options = {});

  // With a descriptor that was read before: only checks that the anchor is still the same (ErrorKind::io).
  static std::unique_ptr<PageSource> open(std::string_view data_set,
                                          std::shared_ptr<const container::ReadContainer> container,
                                          std::shared_ptr<Descriptor> descriptor, const ReadOptions& options);
  // The same data set for one more thread: shares the descriptor and the container, reads nothing. May be
  // called by several threads at once.
  std::unique_ptr<PageSource> open_again(const ReadOptions& options) const;
  // The data set that an attribute set is, with a name that says so. It outlives this one. Throws
  // ErrorKind::format or unsupported for one that this version cannot read.
  std::unique_ptr<PageSource> open_attribute_set(const AttributeSetRecord& record) const;

  const Descriptor& descriptor() const noexcept { return *descriptor_; }
  const std::shared_ptr<Descriptor>& shared_descriptor() const noexcept { return descriptor_; }
  // Fields whose types a layer above cannot read; before anybody else looks at the descriptor.
  void mark_unreadable(const std::vector<std::pair<std::uint32_t, std::string>>& reasons);
  const std::string& uri() const noexcept { return container_->uri(); }
  const std::string& data_set() const noexcept { return data_set_; }
  // Another number once the data set was written anew: of where its metadata are, and of what the transport
  // says about the last change.
  std::uint64_t identity() const;
  const ReadOptions& options() const noexcept { return options_; }
  ReadCounters counters() const;

  // Where the pages are: offsets in it are those of placed_pages().
  const io::RandomAccessFile& file() const noexcept { return *file_; }
  std::uint64_t file_size() const { return file().size(); }
  // The cache, if there is one: then pages may have places in its file, too.
  cache::DataSet* cache() const noexcept { return cache_.get(); }
  std::string cache_state() const;  // DataSet::state(); empty: there is none
  bool is_cached(const PageDescriptor& page) const noexcept;
  const io::RandomAccessFile& file_of(const PageDescriptor& page) const noexcept;
  // As placed_pages(), but with the places in the cache of pages that it has.
  PageList pages_to_read(std::uint32_t column, std::size_t cluster) const;
  // A page was read of the origin, and found right if pages are verified: the cache may keep it. Counts what
  // became of that.
  void keep(std::uint32_t column, std::size_t cluster, std::size_t page, const PageDescriptor& description,
            ByteSpan content, ByteSpan sum, ReadCounters& counters) const;
  // The pages of a column in a cluster with locators for file(), which in an object store are others than
  // those in the descriptor. What follows is about pages as they are here.
  PageList placed_pages(std::uint32_t column, std::size_t cluster) const;
  bool has_other_places() const noexcept { return object_pages_ != nullptr || cache_ != nullptr; }

  // Reads and decodes pages for the column readers.
  ClusterPool& pool() noexcept { return *pool_; }

  // Elements that a column has in a cluster, how many of these lead as zeros because the column was added
  // later, and the number of the first one within the data set.
  struct Extent {
    std::uint64_t first = 0;
    std::uint64_t elements = 0;
    std::uint64_t leading_zeros = 0;
  };
  Extent extent(std::uint32_t column, std::size_t cluster) const;

  // Is the page one range of the file, so that it can be read together with others?
  bool is_plain(const PageDescriptor& page) const noexcept;
  // Throws ErrorKind::format unless all of the page is there: for pages that claim to be large.
  void check_there(const PageDescriptor& page) const;
  // Reads the sealed bytes of any page and, behind them, the checksum. Throws ErrorKind::unsupported for a
  // locator that points somewhere else.
  void read_sealed(const PageDescriptor& page, MutableByteSpan into) const;
  // Throws ErrorKind::checksum unless the eight bytes behind the page, or those in `sum`, are its XXH3.
  // False if there is nothing to compare with, or it is not wanted.
  bool verify(const PageDescriptor& page, ByteSpan page_and_checksum) const;
  bool verifies() const noexcept { return options_.page_checksums == Checksums::on; }
  bool verify(const PageDescriptor& page, ByteSpan content, ByteSpan sum) const;
  // What the checksum behind a page has to be compared with; nothing if it is not to be.
  std::optional<std::uint64_t> expected_sum(const PageDescriptor& page, ByteSpan sum) const;

  ErrorContext context() const { return {.uri = uri(), .data_set = data_set_}; }
  ErrorContext context(std::uint32_t column, std::size_t cluster, std::size_t page) const;
  // The error with that context and, in an object store, the name of the value in its problem.
  Error in_page(const Error& error, std::uint32_t column, std::size_t cluster, std::size_t page) const;

 private:
  PageSource(std::string_view data_set, std::shared_ptr<const container::ReadContainer> container,
             ReadOptions options);
  void read_descriptor();
  void find_pages();
  cache::Settings cache_settings() const;
  void open_cache();
  AlignedBuffer read_stored(const Locator& locator, const char* what);
  void read_together(std::span<const Locator> envelopes, const char* what);
  void read_ahead(std::size_t group);
  void read_envelope(const Locator& locator, std::uint64_t length, const char* what, MemoryLimit& limit,
                     const std::function<void(ByteSpan)>& parse);

  std::string data_set_;
  std::shared_ptr<const container::ReadContainer> container_;
  std::shared_ptr<const container::ObjectPageFile>
      object_pages_;  // null: pages lie where the descriptor says
  const io::RandomAccessFile* file_ = nullptr;
  ReadOptions options_;
  std::shared_ptr<Descriptor> descriptor_ = std::make_shared<Descriptor>();  // never changed once it is open
  std::shared_ptr<cache::DataSet> cache_;                                    // null: none
  std::unique_ptr<cache::Metadata> metadata_;  // for the cache, while it is opened; null: not wanted
  std::uint64_t metadata_bytes_ = 0;
  std::map<std::uint64_t, AlignedBuffer> ahead_;  // envelopes that were read together, while it is opened
  std::unique_ptr<ClusterPool> pool_;
};

// The most bytes that the elements of a page take in memory. Writers make pages of 256 KiB, and none beyond
// this.
inline constexpr std::uint64_t largest_page = std::uint64_t{1} << 30;

// Could `stored` compressed bytes honestly hold `length` bytes? Stops a hostile length from asking for more
// memory than a file of that size could need. The densest block of the codecs is a run in Zstandard, 128 KiB
// in 4 bytes.
inline bool is_plausible_length(std::uint64_t stored, std::uint64_t length) noexcept {
  constexpr std::uint64_t max_ratio = 32768;
  return length >= stored && length / max_ratio <= stored && (stored > 0 || length == 0);
}

// Bytes in storage of a page: the sealed bytes and the checksum behind them.
inline std::uint64_t stored_size(const PageDescriptor& page) noexcept {
  return page.locator.size + (page.has_checksum ? 8 : 0);
}

}  // namespace colonnade::page

#endif
