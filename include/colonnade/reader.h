// Reader: one data set opened for reading.
//
//   auto reader = colonnade::Reader::open("Events", "f.root");
//   auto pt = reader->view<float>("pt");
//   for (auto i : reader->entries()) histogram.fill(pt(i));
//
// One thread at a time uses a reader and everything made by it (views, entries); several threads may each
// open their own reader on the same file. The descriptor never changes, and any thread may read it.
#ifndef COLONNADE_READER_H
#define COLONNADE_READER_H

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/descriptor.h"
#include "colonnade/entry.h"
#include "colonnade/model.h"
#include "colonnade/options.h"
#include "colonnade/sealed_columns.h"
#include "colonnade/view.h"

namespace colonnade {

class AttributeSet;
namespace container {
class ReadContainer;
}
namespace dataset {
class FieldFinder;
}

// I/O and timing counters of a reader.
struct ReadMetrics {
  std::uint64_t requests = 0;           // for pages
  std::uint64_t bytes = 0;              // of these requests
  std::uint64_t pages = 0;              // decompressed and decoded
  std::uint64_t metadata_bytes = 0;     // header, footer, page lists
  std::uint64_t read_over_bytes = 0;    // part of `bytes` that was not needed: small gaps, alignment
  std::uint64_t prefetched_used = 0;    // pages read ahead that were used
  std::uint64_t prefetched_unused = 0;  // pages read ahead that were not used
  std::uint64_t peak_ahead_bytes = 0;   // peak memory of pages read ahead
  double seconds_waiting = 0;           // of the reading thread, on I/O or other threads
  double seconds_decoding = 0;          // verifying, decompressing and decoding, summed over threads
  std::uint64_t cache_pages = 0;        // part of `pages` that came from a cache
  std::uint64_t cache_bytes = 0;        // stored bytes of these
  std::uint64_t cache_added = 0;        // pages given to a cache
  std::uint64_t cache_dropped = 0;      // pages that the cache had no room for, or lost
  // "used", "only read: why", "lost: why", "bypassed: why", "not used: why"; empty: no cache.
  std::string cache = {};
};

class Reader {
 public:
  // `name` is the path of the data set in the file ("Events", "dir/Events"); empty if there is only one.
  // Throws ErrorKind::not_found, io, format, unsupported.
  static std::unique_ptr<Reader> open(std::string_view name, const std::string& uri,
                                      const ReadOptions& options = {});
  // Reads into the types of `model` where they are compatible with the stored types, otherwise throws
  // ErrorKind::type.
  static std::unique_ptr<Reader> open(std::unique_ptr<Model> model, std::string_view name,
                                      const std::string& uri, const ReadOptions& options = {});
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const std::string& name() const noexcept;
  const std::string& uri() const noexcept;
  std::uint64_t num_entries() const noexcept;
  IndexRange entries() const { return {0, num_entries()}; }
  const Descriptor& descriptor() const noexcept;
  ReadMetrics metrics() const;

  template <class T>
  View<T> view(std::string_view path) {
    if constexpr (std::is_void_v<T>) {
      return view(path);
    } else {
      return View<T>(source_, path, stored_field(path));
    }
  }
  View<void> view(std::string_view path);                              // in its stored type
  View<void> view(std::string_view path, std::string_view type_name);  // in a type known by name
  CollectionView collection(std::string_view path);

  // The model given to open(), or one made from the stored schema, without unreadable fields.
  Model& model();
  std::unique_ptr<Entry> make_entry() { return model().make_entry(); }
  void load_entry(std::uint64_t index) { load_entry(index, model().default_entry()); }
  void load_entry(std::uint64_t index, Entry& entry);

  // The arrays of the fields at `paths` and of everything below them, and the offsets of the collections
  // above them, for the entries [first, last). Ordered by field id. Fields that cannot be read are left out
  // unless they are named. Entries up to `ahead` are requested next: those on other machines are being
  // fetched when this returns.
  std::vector<ColumnArray> arrays(std::span<const std::string> paths, std::uint64_t first, std::uint64_t last,
                                  std::uint64_t ahead = 0);

  // The stored pages of column number `k` of a field in a cluster, see colonnade/sealed_columns.h. Reads
  // nothing. Throws ErrorKind::usage if there is no such column, format if the page list is implausible,
  // resource if the pages do not fit the memory.
  SealedColumn sealed_column(std::uint32_t field, std::size_t k, std::size_t cluster) const;
  // Reads the pages of different columns to buffers of their `size`, and verifies their checksums unless the
  // options disable that.
  void read_sealed(std::span<const SealedColumn> columns,
                   std::span<const std::span<std::byte>> buffers) const;
  // Verifies pages that the caller has read by other means.
  void verify_sealed(const SealedColumn& column, std::span<const std::byte> buffer) const;
  // Fills the `content_size` bytes of `content`, page after page, on all threads.
  void decompress_sealed(const SealedColumn& column, std::span<const std::byte> buffer,
                         std::span<std::byte> content) const;

  // The names of the attribute sets, and one of them; see colonnade/attributes.h. Throws
  // ErrorKind::not_found, and ErrorKind::unsupported or format for an unreadable set, which does not affect
  // the others.
  std::vector<std::string> attribute_sets() const;
  std::unique_ptr<AttributeSet> attribute_set(std::string_view name);

  void print_schema(std::ostream& out) const;
  // {"pt": 1.5, ...}; `fields`: paths, all top-level fields if empty.
  std::string entry_text(std::uint64_t index, std::span<const std::string> fields = {});

  // Reads, checks and decodes every page, and checks that collections, strings and variants end within the
  // stored data. Calls `progress(pages done, pages)` now and then; throws at the first damage.
  void verify(const std::function<void(std::uint64_t, std::uint64_t)>& progress = {});

 private:
  friend class AttributeSet;
  friend class ChainReader;
  friend class DataSets;
  explicit Reader(std::shared_ptr<page::PageSource> source);
  void connect_model();
  const dataset::FieldFinder& finder();
  std::uint32_t stored_field(std::string_view path);
  void verify_pages(std::uint32_t column, const std::function<void()>& page_done);
  void verify_structure(const FieldDescriptor& field);

  std::shared_ptr<page::PageSource> source_;
  std::unique_ptr<Model> model_;
  bool connected_ = false;
  std::shared_ptr<const dataset::FieldFinder> finder_;
  std::map<std::string, View<void>> text_views_;  // kept, so that printing many entries reads each page once
};

// Opens many data sets of one file or store: what lists them is read once, not once for each. One thread at a
// time; the readers are independent of it.
class DataSets {
 public:
  // Throws ErrorKind::io, format, unsupported.
  explicit DataSets(std::string uri, const ReadOptions& options = {});
  ~DataSets();
  DataSets(const DataSets&) = delete;
  DataSets& operator=(const DataSets&) = delete;

  // Their paths, "Events" or "dir/Events", as data_sets() gives them.
  const std::vector<std::string>& names() const noexcept { return names_; }
  // As Reader::open().
  std::unique_ptr<Reader> open(std::string_view name);

 private:
  std::string uri_;
  ReadOptions options_;
  std::shared_ptr<container::ReadContainer> container_;  // null: to be opened again
  std::vector<std::string> names_;
};

// The data sets of a file, "Events" or "dir/Events", and the other objects in it.
std::vector<std::string> data_sets(const std::string& uri);
struct StoredObject {
  std::string path;
  std::string class_name;
  std::uint64_t size = 0;  // bytes on storage
};
std::vector<StoredObject> stored_objects(const std::string& uri);

}  // namespace colonnade

#endif
