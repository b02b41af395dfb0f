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
// A set that is written belongs to its writer and is used by the same thread; it becomes readable by the
// commits of the data set. A set that is read lives on its own, and is used by one thread at a time.
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

namespace page {
class DataSetSink;
class PageSource;
}  // namespace page

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

  // The entries that a row is about. Throws ErrorKind::format if the data set does not have them.
  IndexRange range(std::uint64_t row);
  // Rows by their ranges: those that an entry is in, those whose range has all of these entries, and those
  // whose range lies within these entries. Empty ranges are in none of them. In order of where ranges begin.
  std::vector<std::uint64_t> of_entry(std::uint64_t entry);
  std::vector<std::uint64_t> covering(const IndexRange& entries);
  std::vector<std::uint64_t> within(const IndexRange& entries);

  // The values of a field by row; as Reader::view() and its likes.
  template <class T>
  View<T> view(std::string_view path) {
    return reader_->view<T>(path_of(path));
  }
  View<void> view(std::string_view path) { return reader_->view(path_of(path)); }
  // {"run": 4711, ...}
  std::string row_text(std::uint64_t row);

  // The set as the data set that it is: `_rangeStart`, `_rangeLen`, and in `_userData` the fields.
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
  std::uint64_t num_rows() const noexcept;  // those of earlier writers included
  std::unique_ptr<Entry> make_entry() const;

  // The next entry of the data set, for commit_range().
  std::uint64_t begin_range() const noexcept;
  // A row with the values of the default entry, or of `values`, about the entries from `first` to the last
  // that was filled. Throws ErrorKind::usage for a `first` beyond that.
  void commit_range(std::uint64_t first);
  void commit_range(std::uint64_t first, Entry& values);
  // The same about any entries that were filled.
  void add(const IndexRange& range);
  void add(const IndexRange& range, Entry& values);
  // Many rows at once, values as arrays; see Writer::append().
  void append(std::span<const IndexRange> ranges, std::span<const NamedArray> arrays);

 private:
  friend class Writer;
  friend class ParallelAttributeSet;
  friend class AttributeAppender;
  struct Impl;
  // `before`: the data set that `data_set` goes on with, or null. `flush`: adds rows that are to be in the
  // commit that begins.
  AttributeSetWriter(std::unique_ptr<Model> model, std::string_view name, page::DataSetSink& data_set,
                     const page::PageSource* before, std::function<std::uint64_t()> entries,
                     std::function<void()> flush = {});
  void end() noexcept;
  std::unique_ptr<Impl> impl_;
};

// Adds attribute sets to a data set that is there, and rows to sets that it has; its entries stay as they
// are. Nothing changes before close(); without it nothing is added.
class AttributeAppender {
 public:
  // Throws ErrorKind::not_found. Of the options those hold that are about compression, durability and pages.
  static std::unique_ptr<AttributeAppender> open(std::string_view name, const std::string& uri,
                                                 const WriteOptions& options = {});
  ~AttributeAppender();
  AttributeAppender(const AttributeAppender&) = delete;
  AttributeAppender& operator=(const AttributeAppender&) = delete;

  std::uint64_t num_entries() const noexcept;  // of the data set
  // As Writer::add_attribute_set().
  AttributeSetWriter& add_attribute_set(std::unique_ptr<Model> model, std::string_view name);
  void close();

 private:
  struct Impl;
  explicit AttributeAppender(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade

#endif
