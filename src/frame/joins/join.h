// Joins by key: the columns of another source, for entries with the same keys.
//
// A join is not a source but a set of definitions: one finds the entry of the other source for the keys of a
// row, the others take a column's value of that entry. So it may stand behind definitions and filters, keys
// may be expressions, and variations, threads and plans know nothing of it. See docs/joins.md.
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

#include "dataset/key_table.h"
#include "frame/graph/graph.h"
#include "frame/sources/source.h"

namespace colonnade::frame {

using dataset::JoinMemory;
using dataset::KeyColumn;
using dataset::KeyTable;

// What is wanted of a join.
struct JoinedColumns {
  std::vector<std::string> keys;                             // expressions, one for each key of the join
  std::string entry;                                         // the name of the column with the entry's number
  std::vector<std::pair<std::string, std::string>> columns;  // new name, name on the other side
  bool inner = true;  // rows without a match are filtered out; else their columns have no value
};

// The other side, of which keys and columns are read when they are first needed, and then stay in memory:
// keys as a whole, columns file by file, so that files without a match are not opened for them. Any number of
// threads.
class Join : public std::enable_shared_from_this<Join> {
 public:
  using Duplicates = KeyTable::Duplicates;

  // Throws ErrorKind::not_found and type for keys that are not integers, and ErrorKind::usage without any.
  // The table of keys is that of the file `table` if it is one of this source and these keys; else it is
  // made, and saved there. Empty: no file.
  static std::shared_ptr<Join> make(std::shared_ptr<Source> right, std::vector<std::string> keys,
                                    Duplicates duplicates, std::string table = {});
  // What specification() gave.
  static std::shared_ptr<Join> remake(const std::string& specification);
  std::string specification() const;

  // The columns that can be taken, in order: columns of the source, without parts of other columns and keys.
  std::vector<std::string> columns() const;
  const std::vector<std::string>& keys() const noexcept { return keys_; }

  // Makes the table of keys that is to be saved, if it is not there, and keeps nothing of it.
  void prepare();

  // Adds definitions, and a filter of an inner join, below a node; the caller holds the last one. Throws what
  // Graph::define() throws, and adds nothing then.
  NodeId add_to(Graph& graph, NodeId parent, const JoinedColumns& wanted);

  // The number of the entry with these keys, which are expressions; -1 where there is none.
  Definition entry(std::vector<std::string> keys);
  // A column's value of the entry that `entry_column` gives. `may_lack`: optional, without value for -1; else
  // -1 is an error.
  Definition column(const std::string& name, const std::string& entry_column, bool may_lack);
  // What a definition in a plan says ("join").
  Definition definition(const std::string& description, std::vector<std::string> arguments);

  // For kernels: all that is slow is done by the first that asks.
  const KeyTable& table();
  // A column's values of these entries, none of which is negative.
  ValuesPtr take(std::uint32_t column, std::span<const std::int64_t> entries, BlockMemory& memory);

 private:
  Join(std::shared_ptr<Source> right, std::vector<std::string> keys, Duplicates duplicates,
       std::string table);
  // Makes something for all; what fails is not tried again by those who have waited for it.
  template <class Make>
  decltype(auto) once(Make&& make);
  std::string identity() const;
  KeyTable make_table();
  KeyTable load_or_make_table();
  std::shared_ptr<std::byte[]> read_key(std::uint32_t column);
  // What is there of a column, guarded by mutex_.
  struct Column {
    std::vector<bool> is_read;  // by file
    std::size_t missing = 0;    // files
    // Numbers have their place from the start on. Others are put together when no file is missing, and are
    // in pieces, by file, until then.
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
  Duplicates duplicates_;
  std::string table_uri_;
  std::uint64_t number_;  // of the join, for the keys of kernels
  JoinMemory memory_;

  std::mutex mutex_;
  std::optional<KeyTable> table_;
  std::map<std::uint32_t, Column> columns_;
  std::exception_ptr failure_;  // the last one
  std::atomic<std::uint64_t> failures_{0};
  std::atomic<std::uint64_t> held_{0};  // bytes of the columns that are not numbers
};

// Chooses the names of joined columns: all of the join, or those of `chosen`. Every name begins with
// `prefix`; if that is empty, those that `is_taken` begin with `name` and "_". Throws ErrorKind::not_found
// for an unknown column.
void name_columns(const Join& join, JoinedColumns& wanted, std::string_view name, std::string_view prefix,
                  std::span<const std::string> chosen,
                  const std::function<bool(const std::string&)>& is_taken);

}  // namespace colonnade::frame

#endif
