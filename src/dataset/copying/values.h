// Entries as decoded columns, without values or types: what copying into other pages and clusters needs, and
// comparing two data sets that have others.
//
//   EntryWalk: for the next n entries, each column's elements - ends of collections and indices of variants
//   counted from where these entries begin, so that they are the same in every clustering
#ifndef COLONNADE_DATASET_COPYING_VALUES_H
#define COLONNADE_DATASET_COPYING_VALUES_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "dataset/copying/schema.h"
#include "page/column_reader.h"
#include "page/data_set_sink.h"
#include "page/page_sink.h"

namespace colonnade::dataset {

// Belongs to one thread at a time; the source must outlive it.
class EntryWalk {
 public:
  // `fields`: which are walked, see select_fields(); but for those that cannot be read. `order`: only these,
  // and in this order; null: as they are.
  EntryWalk(page::PageSource& source, const std::vector<bool>& fields, const WalkOrder* order = nullptr);
  ~EntryWalk();

  // A column that is walked.
  struct ColumnSlot {
    std::uint32_t field = invalid_id;
    std::uint32_t column = invalid_id;  // of the widest representation
    ElementType element = ElementType::byte;
  };
  const std::vector<ColumnSlot>& slots() const noexcept { return slots_; }

  // Goes to an entry, counted from the start of the cluster.
  void enter(std::size_t cluster, std::uint64_t entry = 0);
  // Decoded bytes of the whole cluster.
  std::uint64_t bytes_of_cluster();

  // The next entries, which must be there; then the elements of each slot, in order. They live until the next
  // call.
  struct Values {
    std::size_t slot = 0;
    std::byte* data = nullptr;
    std::uint64_t count = 0;
  };
  void begin(std::uint64_t entries);
  std::optional<Values> next();
  // When all have come: values of this step that a field has below it.
  std::uint64_t below(std::uint32_t field) const;

 private:
  struct Node;
  void add(std::uint32_t field, std::size_t parent, std::uint32_t alternative,
           const std::vector<bool>& fields, const WalkOrder* order);
  void open_columns(Node& node, const FieldDescriptor& field);
  std::uint64_t count_of(const Node& node) const;
  void skip(std::uint64_t entries);
  Values read(Node& node, std::size_t number, std::uint64_t first, std::uint64_t count);
  void take_ends(Node& node, const Values& values);
  void take_switches(Node& node, const Values& values);
  [[noreturn]] void fail(const Node& node, std::string problem) const;

  page::PageSource& source_;
  std::vector<ColumnSlot> slots_;
  std::vector<std::unique_ptr<Node>> nodes_;  // parents before children
  std::size_t cluster_ = 0;
  std::uint64_t entries_ = 0;    // of this step
  std::size_t node_ = 0;         // whose columns come next,
  std::size_t next_column_ = 0;  // beginning with this one
  AlignedBuffer values_;
};

struct ValueCopyOptions {
  std::size_t memory = std::size_t{256} << 20;
  bool keep_clusters = true;  // else they are made as the sink's options say
};

// Columns of one source after the other into one sink: decoded, encoded, and sealed in the thread pool.
class ValueCopy {
 public:
  // The sink's columns are those of `schema`, which any of the sources has.
  ValueCopy(std::shared_ptr<page::DataSetSink> sink, const Descriptor& schema,
            const ValueCopyOptions& options);
  ~ValueCopy();

  // What is added from now on to the values of a column of 64-bit numbers.
  void set_offset(std::uint32_t column, std::uint64_t offset);
  // Entries from `first_entry` on; false: `goes_on` said so. `progress` is told the entries so far.
  bool copy(page::PageSource& source, const CopySchema& schema, std::uint64_t first_entry,
            const std::function<bool()>& goes_on);
  // Writes the cluster that is open.
  void finish();

  std::uint64_t entries() const noexcept { return entries_; }
  std::uint64_t pages() const noexcept { return pages_; }
  std::uint64_t bytes_written() const noexcept { return bytes_written_; }

 private:
  struct Target;
  std::uint64_t room(std::uint64_t bytes_per_entry) const;
  void put(Target& target, const EntryWalk::Values& values);
  void put_zeros(Target& target, std::uint64_t count);
  void write_cluster();

  const ValueCopyOptions options_;
  std::unique_ptr<page::PageSink> sink_;
  std::vector<std::unique_ptr<Target>> targets_;  // by column of the sink
  std::uint64_t open_entries_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t pages_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t uncompressed_total_ = 0;
  std::uint64_t compressed_total_ = 0;
};

// Compares the decoded elements of `count` entries, from those given on. Both sides have the same schema but
// for representations. Throws ErrorKind::format for the first difference. False: `goes_on` said so.
struct ComparedEntries {
  page::PageSource& source;
  const CopySchema& schema;  // of the source
  page::PageSource& target;
  std::uint64_t first = 0;
  std::uint64_t target_first = 0;
  std::uint64_t count = 0;
};
bool compare_values(const ComparedEntries& entries, std::size_t memory,
                    const std::function<bool(std::uint64_t)>& goes_on);

}  // namespace colonnade::dataset

#endif
