// Joins by key: the columns of another source, for entries with the same keys.
//
// A join is not a source but a set of definitions: one finds the entry of the other source for the keys of a
// row, the others look up a column's value of that entry. So definitions and filters may precede it, keys may
// be expressions, and variations, threads and plans need no special cases. See docs/joins.md.
#ifndef COLONNADE_FRAME_JOINS_JOIN_H
#define COLONNADE_FRAME_JOINS_JOIN_H

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/joins/key_table.h"
#include "frame/graph/graph.h"
#include "frame/sources/column_shape.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

using dataset::JoinMemory;
using dataset::KeyColumn;
using dataset::KeyTable;
using dataset::PackedKeys;

// The definitions that a join adds.
struct JoinedColumns {
  std::vector<std::string> keys;                             // expressions, one for each key of the join
  std::string entry;                                         // the name of the column with the entry's number
  std::vector<std::pair<std::string, std::string>> columns;  // new name, name on the other side
  bool inner = true;  // rows without a match are filtered out; else their columns have no value
};

// Where a part of both sides begins. Of sides that are joined part by part, an entry is found only among
// those of the same part.
struct JoinSection {
  std::uint64_t here = 0;
  std::uint64_t there = 0;
};

// The other side. Keys and columns are read when they are first needed, and then stay in memory: keys as a
// whole, columns file by file, so that files without a match are not opened for them. Thread-safe.
class Join : public std::enable_shared_from_this<Join> {
 public:
  using Duplicates = KeyTable::Duplicates;

  // Throws ErrorKind::not_found and type for keys that are not integers, and ErrorKind::usage without any.
  // Keys may be optional; one that is missing is the same as no other, on both sides.
  // The table of keys is loaded from the file `table` if it was made from this source and these keys; else it
  // is made and saved there. Empty: no file.
  // With `sections`, in order and from 0 on, the last key here is the position of a row in the numbering of
  // JoinSection::here; it has no match if that is negative.
  // `fills`: a column that only some files have is optional, and missing in the entries of the others; else
  // it is an error.
  static std::shared_ptr<Join> make(std::shared_ptr<Source> right, std::vector<std::string> keys,
                                    Duplicates duplicates, std::string table = {},
                                    std::vector<JoinSection> sections = {}, bool fills = false);
  // From the result of specification().
  static std::shared_ptr<Join> remake(const std::string& specification);
  std::string specification() const;

  // The available columns, in order: columns of the source, without parts of other columns and without keys.
  std::vector<std::string> columns() const;
  // Those that are not available, as no type holds the values of all files.
  std::vector<LeftOut> left_out() const;
  const std::vector<std::string>& keys() const noexcept { return keys_; }

  // Makes and saves the table of keys unless it exists, and does not keep it in memory.
  void prepare();

  // Adds definitions, and a filter of an inner join, below a node; the caller holds the last one. Throws what
  // Graph::define() throws, and adds nothing then.
  NodeId add_to(Graph& graph, NodeId parent, const JoinedColumns& wanted);

  // The number of the entry with these keys, which are expressions; -1 if there is none.
  Definition entry(std::vector<std::string> keys);
  // A column's value for the entry number in `entry_column`. `may_lack`: it is optional, and missing for -1;
  // else -1 is an error, and so is a column that no type can hold.
  Definition column(const std::string& name, const std::string& entry_column, bool may_lack);
  // The type on the other side of a column's definition.
  const ValueType& type(const Definition& column) const;
  // The description of the join in a plan ("join").
  Definition definition(const std::string& description, std::vector<std::string> arguments);

  // For kernels: the first call does the slow part.
  const KeyTable& table();
  const std::vector<JoinSection>& sections() const noexcept { return sections_; }
  // Whether a key on the other side is optional: the table has one more, which is 0 where none is missing.
  bool may_lack_keys() const noexcept { return may_lack_keys_; }
  // Whether an entry has a value of the column, by file; empty if all have it, or must.
  std::vector<bool> holders(std::uint32_t column) const;
  // The same entries, those of files without a value as -1.
  std::vector<std::int64_t> only_held(const std::vector<bool>& holders,
                                      std::span<const std::int64_t> entries) const;
  // A column's values of these entries, none of which is negative.
  ValuesPtr take(std::uint32_t column, std::span<const std::int64_t> entries, BlockMemory& memory);

 private:
  Join(std::shared_ptr<Source> right, std::vector<std::string> keys, Duplicates duplicates, std::string table,
       std::vector<JoinSection> sections, bool fills);
  // work(column, error): what find() throws, null if nothing.
  void for_each_column(const std::function<void(const std::string&, const Error*)>& work) const;
  // Makes a value once for all threads; threads that waited for a failed attempt do not try again.
  template <class Make>
  decltype(auto) once(Make&& make);
  std::string identity() const;
  KeyTable make_table();
  KeyTable load_or_make_table();
  // Sets lacks[i] to 1 for entries whose key is missing.
  PackedKeys read_key(std::uint32_t column, std::uint8_t* lacks);
  // A key of all entries: work(first, its values from there on) for one block after the other.
  PackedKeys pack(const std::function<void(std::size_t, std::span<std::uint64_t>)>& work);
  // The values of a column read so far, guarded by mutex_.
  struct Column {
    std::vector<bool> is_read;  // by file; those without the column have nothing to read
    std::size_t missing = 0;    // files
    bool in_all = true;
    // Numbers are stored at their final position. Other values are pieces, by file, until no file is missing;
    // then they are concatenated.
    std::shared_ptr<std::byte[]> numbers;
    ValuesPtr whole;
    std::vector<ValuesPtr> pieces;
  };
  Column begin_column(std::uint32_t column);
  void read_files(std::uint32_t number, Column& column, std::span<const std::uint32_t> wanted);
  std::vector<ValuesPtr> read_parts(std::uint32_t number, Column& column, std::span<const Part> parts);
  static void put_together(Column& column, std::span<const Part> parts, std::span<const ValuesPtr> pieces);
  void count_held(std::uint32_t column, std::uint64_t bytes);

  std::shared_ptr<Source> source_;
  std::vector<std::string> keys_;
  std::vector<std::uint32_t> key_columns_;
  bool may_lack_keys_ = false;
  Duplicates duplicates_;
  std::string table_uri_;
  std::vector<JoinSection> sections_;
  bool fills_;
  std::uint64_t number_;  // of the join, for the keys of kernels
  JoinMemory memory_;

  std::mutex mutex_;
  std::optional<KeyTable> table_;
  std::map<std::uint32_t, Column> columns_;
  std::exception_ptr failure_;  // the last one
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> held_{0};  // bytes of the columns that are not numbers
};

// Chooses the names of joined columns, those of `chosen`. Every name begins with `prefix`; if that is empty,
// names for which `is_taken` is true get the prefix `name` and "_". Throws ErrorKind::not_found for an
// unknown column.
void name_columns(const Join& join, JoinedColumns& wanted, std::string_view name, std::string_view prefix,
                  std::span<const std::string> chosen,
                  const std::function<bool(const std::string&)>& is_taken);

}  // namespace colonnade::frame

#endif
