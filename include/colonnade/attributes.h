// Attribute sets: values that belong to ranges of a data set's entries, such as the run or the file that they
// came from. A data set has any number of sets, each with a name and fields of its own; a set has any number
// of rows, each with a range of entries and a value of every field. Ranges may overlap, be empty, and leave
// entries out.
//
//   auto runs = colonnade::Model::create();
//   auto run = runs->make_field<std::uint32_t>("run");
//   auto& set = writer->add_attribute_set(std::move(runs), "runs");
//   const std::uint64_t first = set.begin_range();
//   ...                                            // fill entries
//   *run = 4711;
//   set.commit_range(first);                       // of these entries
//
//   auto set = reader->attribute_set("runs");
//   auto run = set->view<std::uint32_t>("run");
//   for (const std::uint64_t row : set->of_entry(12)) std::cout << run(row);
//
// A set being written belongs to its writer and is used by the same thread; the commits of the data set make
// it readable. A set being read stands on its own, and one thread at a time uses it.
#ifndef COLONNADE_ATTRIBUTES_H
#define COLONNADE_ATTRIBUTES_H

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/columnar.h"
#include "colonnade/entry.h"
#include "colonnade/model.h"
#include "colonnade/options.h"
#include "colonnade/reader.h"
#include "colonnade/view.h"

namespace colonnade {

class AttributeAppender;

namespace page {
class DataSetSink;
class PageSource;
}  // namespace page

namespace dataset {
// Calls `add`, unless it is empty, with what adds attribute sets to a data set that is about to be committed.
// The result belongs to these sets; keep it until the commit.
std::unique_ptr<AttributeAppender> add_before_commit(std::shared_ptr<page::DataSetSink> data_set,
                                                     const std::function<void(AttributeAppender&)>& add);
}  // namespace dataset

class AttributeSet {
 public:
  ~AttributeSet();
  AttributeSet(const AttributeSet&) = delete;
  AttributeSet& operator=(const AttributeSet&) = delete;

  const std::string& name() const noexcept { return name_; }
  std::uint64_t num_rows() const noexcept { return reader_->num_entries(); }
  IndexRange rows() const { return reader_->entries(); }
  // The names of the fields, in order.
  std::vector<std::string> field_names() const;

  // The entries that a row describes. Throws ErrorKind::format if the data set does not have them.
  IndexRange range(std::uint64_t row);
  // Rows by their ranges: those that contain an entry, those that contain all of these entries, and those
  // that lie within these entries. Empty ranges never match. Sorted by the first entry of the range.
  std::vector<std::uint64_t> of_entry(std::uint64_t entry);
  std::vector<std::uint64_t> covering(const IndexRange& entries);
  std::vector<std::uint64_t> within(const IndexRange& entries);

  // The values of a field by row; see Reader::view() and the other views.
  template <class T>
  View<T> view(std::string_view path) {
    return reader_->view<T>(path_of(path));
  }
  View<void> view(std::string_view path) { return reader_->view(path_of(path)); }
  // {"run": 4711, ...}
  std::string row_text(std::uint64_t row);

  // The set as a data set of its own: `_rangeStart`, `_rangeLen`, and the fields in `_userData`.
  Reader& reader() noexcept { return *reader_; }
  static std::string path_of(std::string_view field);

 private:
  friend class Reader;
  AttributeSet(std::string name, std::unique_ptr<Reader> reader, std::uint64_t entries);

  std::string name_;
  std::unique_ptr<Reader> reader_;
  std::uint64_t entries_;  // of the data set
  View<std::uint64_t> starts_;
  View<std::uint64_t> lengths_;
};

class AttributeSetWriter {
 public:
  ~AttributeSetWriter();
  AttributeSetWriter(const AttributeSetWriter&) = delete;
  AttributeSetWriter& operator=(const AttributeSetWriter&) = delete;

  const std::string& name() const noexcept;
  Model& model() noexcept;
  std::uint64_t num_rows() const noexcept;  // including those of earlier writers
  std::unique_ptr<Entry> make_entry() const;

  // The number of the next entry of the data set, to be passed to commit_range().
  std::uint64_t begin_range() const noexcept;
  // Adds a row with the values of the default entry, or of `values`, for the entries from `first` to the last
  // one filled so far. Throws ErrorKind::usage if `first` lies beyond that.
  void commit_range(std::uint64_t first);
  void commit_range(std::uint64_t first, Entry& values);
  // The same for any range of entries that are already filled.
  void add(const IndexRange& range);
  void add(const IndexRange& range, Entry& values);
  // Adds many rows at once, with their values as arrays; see Writer::append().
  void append(std::span<const IndexRange> ranges, std::span<const NamedArray> arrays);

 private:
  friend class Writer;
  friend class ParallelAttributeSet;
  friend class AttributeAppender;
  struct Impl;
  // `before`: the data set that `data_set` continues, or null. `flush`: adds the rows that belong to the
  // commit in progress.
  AttributeSetWriter(std::unique_ptr<Model> model, std::string_view name, page::DataSetSink& data_set,
                     const page::PageSource* before, std::function<std::uint64_t()> entries,
                     std::function<void()> flush = {});
  bool may_try_again() const noexcept;
  void try_again();
  void end() noexcept;
  std::unique_ptr<Impl> impl_;
};

// Adds attribute sets to an existing data set, and rows to its existing sets; its entries do not change.
// Nothing is visible before close(); without it nothing is added.
//
// What `before_commit` of a copy or a SharedWriter gets adds them to a data set whose entries are written but
// not committed. One commit makes both visible.
class AttributeAppender {
 public:
  // Throws ErrorKind::not_found. Only the options for compression, durability and pages apply.
  static std::unique_ptr<AttributeAppender> open(std::string_view name, const std::string& uri,
                                                 const WriteOptions& options = {});
  ~AttributeAppender();
  AttributeAppender(const AttributeAppender&) = delete;
  AttributeAppender& operator=(const AttributeAppender&) = delete;

  std::uint64_t num_entries() const noexcept;  // of the data set
  // See Writer::add_attribute_set().
  AttributeSetWriter& add_attribute_set(std::unique_ptr<Model> model, std::string_view name);
  void close();
  bool may_close_again() const noexcept;  // see Writer
  void go_on();                           // then rows can be added again, too

 private:
  friend std::unique_ptr<AttributeAppender> dataset::add_before_commit(
      std::shared_ptr<page::DataSetSink> data_set, const std::function<void(AttributeAppender&)>& add);
  struct Impl;
  explicit AttributeAppender(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade

#endif
