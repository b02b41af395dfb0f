// Sources: the origin of a DataFrame's columns. A data set, a chain of them, arrays in memory, or n empty
// entries.
//
// Every path names a column: "pt", "jets" (a list of records), "jets.pt" (a list), "jets.hits.x" (a list of
// lists); "#pt" and "R_rdf_sizeof_pt" are the number of items. Types: enum as its integer, atomic as its
// value, array as list, bitset as list of bool, set as list, map as list of records, pair and tuple as
// records of _0, _1, optional and unique_ptr as lists of at most one item, variant as record of optionals,
// cardinality as an integer, Double32_t as double. Streamer fields are not supported.
#ifndef COLONNADE_FRAME_SOURCES_SOURCE_H
#define COLONNADE_FRAME_SOURCES_SOURCE_H

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/block.h"
#include "colonnade/field.h"
#include "colonnade/options.h"
#include "colonnade/reader.h"
#include "dataset/chains/file_names.h"

namespace colonnade::frame {

// A file of the source.
struct Sample {
  std::string name;  // "uri/Events", as rdfsampleinfo_ shows it
  std::uint64_t first = 0;
  std::uint64_t entries = 0;
  std::string uri = {};  // empty: not a file
  std::string data_set = {};
};

// A range of entries that one worker processes: within one sample, normally within one cluster and from page
// to page. The borders and numbers of parts depend on the source alone.
struct Part {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  unsigned sample = 0;
  std::uint64_t number = 0;  // among all parts of the source
  // Its borders before it was clipped to the requested entries; 0 and 0: it was not clipped.
  std::uint64_t whole_first = 0;
  std::uint64_t whole_last = 0;
};

// A worker's position in the source. One thread at a time.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // Begins a part; read-ahead stays within it and those that probably follow. Costs nothing if no column is
  // read.
  virtual void start(const Part& part, std::span<const Part> next) = 0;
  // Columns that will probably be read, of all parts from now on, and those of them that certainly will.
  // Default: it is learned.
  virtual void expect(std::span<const std::uint32_t> columns, std::span<const std::uint32_t> certain) {
    static_cast<void>(columns);
    static_cast<void>(certain);
  }
  // Requests the first pages of the expected columns if they come from a server. Does not wait for them.
  virtual void begin() {}
  // The column for rows of the current part: rows.size elements. Rows come in growing order within a part,
  // and a column may be read for several sets of rows of the same block. Pages without any wanted row are not
  // read. Shares the decoded page where it can; the Values keep it alive.
  virtual ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) = 0;
  // The approximate bytes per row of these columns in the current part, for the largest row. Derived from the
  // stored sizes, and so the same for all callers.
  virtual std::uint64_t row_bytes(std::span<const std::uint32_t> columns) {
    static_cast<void>(columns);
    return 0;
  }
  virtual ReadMetrics metrics() const { return {}; }
};

// Adds the metrics of another cursor.
void add_metrics(ReadMetrics& sum, const ReadMetrics& more);

class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t entries() const = 0;
  virtual std::span<const Sample> samples() const = 0;

  // The number of a column, always the same for the same path; empty if there is no such column. Throws
  // ErrorKind::unsupported if expressions do not support its type.
  virtual std::optional<std::uint32_t> find(std::string_view path) = 0;
  virtual const ValueType& type(std::uint32_t column) const = 0;
  virtual const std::string& path(std::uint32_t column) const = 0;
  // The field that stores the column in all files, by which snapshots keep the names of its types; null if
  // there is none, or files differ.
  virtual std::shared_ptr<const Field> stored_field(std::uint32_t column) const {
    static_cast<void>(column);
    return nullptr;
  }
  // True if this sample has the column. Reading a missing column throws ErrorKind::not_found.
  virtual bool has(std::uint32_t column, unsigned sample) const = 0;
  // Top-level columns in order, each followed by the members of records and of lists of records.
  virtual std::vector<std::string> names() const = 0;

  // The parts with entries of [first, last), in order; the first and the last one are clipped.
  virtual std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const = 0;
  // The approximate stored bytes of these columns in each part, or entries if that is unknown. Opens no
  // file.
  virtual std::vector<std::uint64_t> stored_bytes(std::span<const Part> parts,
                                                  std::span<const std::uint32_t> columns) const {
    static_cast<void>(columns);
    std::vector<std::uint64_t> entries;
    for (const Part& part : parts) entries.push_back(part.last - part.first);
    return entries;
  }
  // Called before a pass that reads these columns.
  virtual void prepare(std::span<const std::uint32_t> columns) { static_cast<void>(columns); }
  // How many parts a cursor is best told of ahead: those of a server take a round trip.
  virtual std::size_t parts_ahead() const { return 1; }
  // A cursor for another worker; thread-safe.
  virtual std::unique_ptr<Cursor> open() const = 0;

  // A description as JSON from which the source can be remade elsewhere; throws ErrorKind::unsupported for
  // arrays in memory. With an index of each file, no file is opened before it is read, and a file replaced
  // meanwhile is an error.
  virtual std::string specification(bool with_index = false) const = 0;
};

// `uris` may hold globs of local files and of object stores. `name` may be empty if each has exactly one data
// set. Throws ErrorKind::not_found, schema (incompatible types), io.
std::shared_ptr<Source> open_chain(const std::string& name, std::span<const std::string> uris,
                                   const ReadOptions& options = {});
// Data sets of different names, without globs.
std::shared_ptr<Source> open_chain(std::span<const dataset::NamedFile> files,
                                   const ReadOptions& options = {});
std::shared_ptr<Source> empty_source(std::uint64_t entries);
// Columns as Values of equal size, which own their memory.
struct NamedValues {
  std::string name;
  ValuesPtr values;
  std::shared_ptr<const Field> stored = nullptr;  // where they come from, see Source::stored_field
};
std::shared_ptr<Source> array_source(std::vector<NamedValues> columns);
// The columns of the others in addition to those of the first, see friends.h.
struct NamedSource {
  std::string name;
  std::shared_ptr<Source> source;
};
std::shared_ptr<Source> friends_source(std::shared_ptr<Source> first, std::vector<NamedSource> others);
// The inverse of specification().
std::shared_ptr<Source> source_from(const std::string& specification);

}  // namespace colonnade::frame

#endif
