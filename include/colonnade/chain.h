// ChainReader: the data sets of several files, one after the other, read as one.
//
//   auto events = colonnade::ChainReader::open("Events", {"run1.root", "run2*.root"});
//   auto pt = events->view<float>("pt");
//   for (auto i : events->entries()) histogram.fill(pt(i));
//
// Entries, and the items of collections, are numbered over all files. Fields are matched by name; types that
// differ are read as one that holds the values of both ("std::int64_t" for std::int32_t and std::int64_t).
// See docs/chains.md.
//
// Files are open while they are read; the most recently read stay open, up to ChainOptions::max_open_files.
// One thread at a time uses a chain and everything made by it (views, entries); several threads may each open
// their own, which is fast with an index.
#ifndef COLONNADE_CHAIN_H
#define COLONNADE_CHAIN_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colonnade/reader.h"
#include "colonnade/view.h"

namespace colonnade {

namespace dataset {
class ChainState;
class GatheredArrays;
}  // namespace dataset

// What to do about fields that only some files have.
enum class MissingFields {
  error,  // ErrorKind::schema when the chain is opened
  fill,   // optional: no value in the entries of the other files
  skip    // left out
};

struct ChainOptions {
  ReadOptions read = {};
  MissingFields missing = MissingFields::error;
  std::size_t max_open_files = 16;
};

struct ChainFile {
  std::string uri;
  std::string data_set;
  std::uint64_t first = 0;  // entry
  std::uint64_t entries = 0;
  std::string place;  // the uri in every working folder; of files of a chain
};

namespace detail {

// The type-independent part of a view: which values lie in which file.
class ChainCore {
 public:
  // `may_lack`: the type can represent a missing value.
  ChainCore(std::shared_ptr<dataset::ChainState> chain, std::string_view path, bool may_lack);

  std::uint64_t size();
  struct FileSection {
    std::size_t file = 0;
    std::uint64_t first = 0;  // first value in the file
    std::uint64_t count = 0;
  };
  FileSection locate(std::uint64_t index);  // throws ErrorKind::usage beyond size()
  std::uint64_t first_of(std::size_t file);
  void check_range(std::uint64_t first, std::uint64_t count);
  // The source of a view in one file; null if that file lacks the field.
  std::shared_ptr<page::PageSource> source(std::size_t file);
  // The path of the field in one file.
  std::string path_in(std::size_t file) const;
  // The length of each collection, if the file does not store where they end.
  std::optional<std::uint64_t> items_each(std::size_t file) const;

 private:
  std::uint64_t count_in(std::size_t file);

  std::shared_ptr<dataset::ChainState> chain_;
  std::uint32_t field_ = invalid_id;
  bool per_entry_ = false;
  std::vector<std::uint64_t> firsts_ = {0};  // of the files counted so far, and the end of the last one
};

}  // namespace detail

// The values of one field; View is the same for one file, see colonnade/view.h. Types that can be empty
// (std::optional, std::unique_ptr) are empty where a file lacks the field.
template <class T>
class ChainView {
 public:
  ChainView(std::shared_ptr<dataset::ChainState> chain, std::string_view path)
      : core_(std::move(chain), path, make_field<T>(path)->kind() == FieldKind::nullable), path_(path) {}

  std::uint64_t size() { return core_.size(); }

  // The value at an index; valid until the view is used again. Throws ErrorKind::usage beyond size().
  const T& operator()(std::uint64_t index) {
    if (index - section_.first >= section_.count) [[unlikely]]
      enter(index);
    return view_ ? (*view_)(index - section_.first) : *nothing_;
  }

  // for (const float pt : view). A value is valid until the iterator moves on; one loop at a time.
  using Iterator = detail::ViewIterator<ChainView, T>;
  Iterator begin() { return {*this, 0}; }
  Iterator end() { return {*this, size()}; }

  // Many values at once, see View::bulk(); values that cross a file border are copied.
  auto bulk(std::uint64_t first, std::uint64_t count) {
    static_assert(detail::is_mapped<T> || detail::Sequence<T>::value,
                  "bulk() reads numbers and vectors of numbers; use a view on the members of a record");
    if constexpr (detail::is_mapped<T>) {
      return bulk_scalars(first, count);
    } else {
      return bulk_collections<typename detail::Sequence<T>::Item>(first, count);
    }
  }

 private:
  [[gnu::noinline]] void enter(std::uint64_t index) {
    const detail::ChainCore::FileSection section = core_.locate(index);
    section_ = {};
    view_.reset();
    if (auto source = core_.source(section.file))
      view_.emplace(std::move(source), core_.path_in(section.file));
    else if (!nothing_)
      nothing_ = std::make_unique<T>();
    section_ = section;
  }

  // Calls work(first within the file, count) for each file that holds some of the values.
  template <class Work>
  void file_by_file(std::uint64_t first, std::uint64_t count, Work work) {
    core_.check_range(first, count);
    while (count > 0) {
      if (first - section_.first >= section_.count) enter(first);
      const std::uint64_t here = std::min(count, section_.first + section_.count - first);
      work(first - section_.first, here);
      first += here;
      count -= here;
    }
  }

  std::span<const T> bulk_scalars(std::uint64_t first, std::uint64_t count) {
    if (count == 0) return {};
    if (first - section_.first >= section_.count) enter(first);
    if (count <= section_.count - (first - section_.first)) return view_->bulk(first - section_.first, count);
    core_.check_range(first, count);
    bytes_.clear();
    file_by_file(first, count, [&](std::uint64_t begin, std::uint64_t n) { add(view_->bulk(begin, n)); });
    return {static_cast<const T*>(static_cast<const void*>(bytes_.data())), count};
  }

  template <class Item>
  CollectionBlock<Item> bulk_collections(std::uint64_t first, std::uint64_t count) {
    bytes_.clear();
    offsets_.assign(1, 0);
    file_by_file(first, count, [&](std::uint64_t begin, std::uint64_t n) {
      const CollectionBlock<Item> block = view_->bulk(begin, n);
      const std::uint64_t base = offsets_.back();
      for (const std::uint64_t end : block.offsets.subspan(1)) offsets_.push_back(base + end);
      add(block.values);
    });
    return {offsets_, {static_cast<const Item*>(static_cast<const void*>(bytes_.data())), offsets_.back()}};
  }

  template <class Item>
  void add(std::span<const Item> items) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + items.size_bytes());
    if (!items.empty()) std::memcpy(bytes_.data() + before, items.data(), items.size_bytes());
  }

  detail::ChainCore core_;
  std::string path_;
  detail::ChainCore::FileSection section_;  // the current file, to which view_ belongs
  std::optional<View<T>> view_;
  std::unique_ptr<T> nothing_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::byte> bytes_;
};

// Which items of the chain belong to an entry (or to an outer item): for (auto j : jets(i)) use(jet_pt(j));
class ChainCollectionView {
 public:
  ChainCollectionView(const std::shared_ptr<dataset::ChainState>& chain, std::string_view path);
  std::uint64_t size() { return core_.size(); }
  IndexRange operator()(std::uint64_t index);

 private:
  detail::ChainCore core_;
  detail::ChainCore items_;
  detail::ChainCore::FileSection section_;
  std::optional<CollectionView> view_;
  std::uint64_t items_each_ = 0;  // used if there is no view
  std::uint64_t first_item_ = 0;  // of the current file
};

class ChainAttributeSet;

class ChainReader {
 public:
  // `uris` may hold wildcards, for local files and for servers that can list files. `name` may be empty if
  // each file has one data set. Throws ErrorKind::not_found, io, format, schema (incompatible types).
  static std::unique_ptr<ChainReader> open(std::string_view name, std::span<const std::string> uris,
                                           const ChainOptions& options = {});
  static std::unique_ptr<ChainReader> open(std::string_view name, std::initializer_list<std::string> uris,
                                           const ChainOptions& options = {}) {
    return open(name, std::span(uris.begin(), uris.size()), options);
  }
  // Data sets of different names: `uri`, without wildcards, and `data_set` of each count.
  static std::unique_ptr<ChainReader> open(std::span<const ChainFile> files,
                                           const ChainOptions& options = {});
  // Reads entries into the types of `model`, as Reader::open() does.
  static std::unique_ptr<ChainReader> open(std::unique_ptr<Model> model, std::string_view name,
                                           std::span<const std::string> uris,
                                           const ChainOptions& options = {});
  // Opens a chain from the text that index() returned: no file is opened before it is read. Throws
  // ErrorKind::format for other texts, and ErrorKind::io when a file is read that has changed since.
  static std::unique_ptr<ChainReader> open_known(std::string_view index, const ChainOptions& options = {});
  ~ChainReader();
  ChainReader(const ChainReader&) = delete;
  ChainReader& operator=(const ChainReader&) = delete;

  const std::string& name() const noexcept;
  std::uint64_t num_entries() const noexcept;
  IndexRange entries() const { return {0, num_entries()}; }
  std::vector<ChainFile> files() const;
  // The number of the file that holds an entry. Throws ErrorKind::usage beyond the last one.
  std::size_t file_of(std::uint64_t entry) const;
  // The fields of all files as one schema, without columns; the entries of each file are one cluster of it.
  const Descriptor& descriptor() const noexcept;
  ReadMetrics metrics() const;
  // Which entries and fields each file has, as JSON. Empty if a schema has parts unknown to this version.
  // With `places`, files with relative names are found from every working folder; without, the index may move
  // with its files.
  std::string index(bool places = false) const;

  template <class T>
  ChainView<T> view(std::string_view path) {
    return ChainView<T>(state_, path);
  }
  ChainCollectionView collection(std::string_view path) { return {state_, path}; }

  // The model given to open(), or one made from the common schema.
  Model& model();
  std::unique_ptr<Entry> make_entry() { return model().make_entry(); }
  void load_entry(std::uint64_t index) { load_entry(index, model().default_entry()); }
  void load_entry(std::uint64_t index, Entry& entry);

  // As Reader::arrays(), with the fields of descriptor().
  std::vector<ColumnArray> arrays(std::span<const std::string> paths, std::uint64_t first, std::uint64_t last,
                                  std::uint64_t ahead = 0);
  // The same of entries in any order, which may be named several times. They are read in blocks, which stay
  // in memory up to half of what the machine has, or COLONNADE_JOIN_MEMORY_MIB; files without such entries
  // are not opened.
  std::vector<ColumnArray> arrays_at(std::span<const std::string> paths,
                                     std::span<const std::uint64_t> entries);
  // The clusters of a file, and the decoded bytes that these fields take in each.
  struct ClusterSize {
    std::uint64_t first = 0;  // entry of the chain
    std::uint64_t last = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<ClusterSize> cluster_sizes(std::span<const std::string> paths, std::size_t file);

  // The attribute sets of all files, in the order of their first appearance; with MissingFields::skip, those
  // that all files have. Opens the files of a chain made by open_known().
  std::vector<std::string> attribute_sets() const;
  // Throws ErrorKind::not_found; with MissingFields::error, ErrorKind::schema if a file has no such set.
  std::unique_ptr<ChainAttributeSet> attribute_set(std::string_view name) const;

  // {"pt": 1.5, ...}; `fields`: paths, all top-level fields if empty; null where a file has no such field.
  std::string entry_text(std::uint64_t index, std::span<const std::string> fields = {});
  // See Reader::verify(); returns the number of pages. Also verifies attribute sets and their ranges, which
  // `progress` does not count.
  std::uint64_t verify(const std::function<void(std::uint64_t, std::uint64_t)>& progress = {});

 private:
  friend class ChainAttributeSet;
  struct Connected;
  struct Text;
  explicit ChainReader(std::shared_ptr<dataset::ChainState> state);
  void check_model() const;
  void connect_model(std::size_t file);

  std::shared_ptr<dataset::ChainState> state_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Connected> connected_;  // the fields of the model, in the file read last
  std::unique_ptr<Text> text_;
  std::unique_ptr<dataset::GatheredArrays> gathered_;  // that arrays_at() has read
};

// The attribute sets of one name in all files of a chain, one after the other; see AttributeSet in
// colonnade/attributes.h. Ranges count the chain's entries. The object stands on its own.
class ChainAttributeSet {
 public:
  ~ChainAttributeSet();
  ChainAttributeSet(const ChainAttributeSet&) = delete;
  ChainAttributeSet& operator=(const ChainAttributeSet&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::uint64_t num_rows() const noexcept { return reader_->num_entries(); }
  IndexRange rows() const { return reader_->entries(); }
  std::vector<std::string> field_names() const;

  // Throws ErrorKind::format if the row's file does not have these entries.
  IndexRange range(std::uint64_t row);
  std::vector<std::uint64_t> of_entry(std::uint64_t entry);
  std::vector<std::uint64_t> covering(const IndexRange& entries);
  std::vector<std::uint64_t> within(const IndexRange& entries);

  template <class T>
  ChainView<T> view(std::string_view path) {
    return reader_->view<T>(path_of(path));
  }
  std::string row_text(std::uint64_t row);

  // The set as a chain over the files that have it.
  ChainReader& reader() noexcept { return *reader_; }
  // The entries of one of these files within the chain.
  IndexRange entries_of(std::size_t file) const;

 private:
  friend class ChainReader;
  ChainAttributeSet(std::string_view name, std::unique_ptr<ChainReader> reader);
  static std::string path_of(std::string_view field);

  std::string name_;
  std::unique_ptr<ChainReader> reader_;
  ChainView<std::uint64_t> starts_;
  ChainView<std::uint64_t> lengths_;
};

}  // namespace colonnade

#endif
