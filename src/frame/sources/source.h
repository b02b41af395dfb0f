// Sources: where a DataFrame's columns come from. A data set, a chain of them, arrays in memory, or n empty
// entries.
//
// A column is anything that a path names: "pt", "jets" (a list of records), "jets.pt" (a list), "jets.hits.x"
// (a list of lists); "#pt" and "R_rdf_sizeof_pt" are the number of items. Types: enum as its integer, atomic
// as its value, array as list, bitset as list of bool, set as list, map as list of records, pair and tuple as
// records of _0, _1, optional and unique_ptr as lists of at most one item, cardinality as std::uint64_t,
// Double32_t as double. Variants and streamer fields have no type here.
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
#include "colonnade/options.h"
#include "colonnade/reader.h"

namespace colonnade::frame {

// A file of the source.
struct Sample {
  std::string name;  // "uri/Events", as rdfsampleinfo_ shows it
  std::uint64_t first = 0;
  std::uint64_t entries = 0;
  std::string uri = {};  // empty: there is no file
  std::string data_set = {};
};

// A stretch of entries that one worker goes through: within one sample, as a rule within one cluster and
// from page to page. Where parts begin and end, and their numbers, follow from the source alone.
struct Part {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  unsigned sample = 0;
  std::uint64_t number = 0;  // among all parts of the source
  // Where it begins and ends before it is cut down to the entries that are looked at; 0 and 0: it is not cut.
  std::uint64_t whole_first = 0;
  std::uint64_t whole_last = 0;
};

// A worker's place in the source. One thread at a time.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // Says which part comes now; read-ahead keeps within it and `next` (null: none). Costs nothing if no column
  // is read.
  virtual void start(const Part& part, const Part* next) = 0;
  // Columns that will probably be read, of all parts from now on. Default: it is learned.
  virtual void expect(std::span<const std::uint32_t> columns) { static_cast<void>(columns); }
  // The column for rows of the current part: rows.size elements. Rows come in growing order within a part,
  // and a column may be read for several sets of rows of the same block. Pages without any wanted row are not
  // read. Shares the decoded page where it can; the Values keep it alive.
  virtual ValuesPtr read(std::uint32_t column, const Rows& rows, BlockMemory& memory) = 0;
  // About how many bytes a row of these columns has in the current part: of the one that has most. What is
  // stored says so; the same for whoever asks.
  virtual std::uint64_t row_bytes(std::span<const std::uint32_t> columns) {
    static_cast<void>(columns);
    return 0;
  }
  virtual ReadMetrics metrics() const { return {}; }
};

// What several cursors did together.
void add_metrics(ReadMetrics& sum, const ReadMetrics& more);

class Source {
 public:
  virtual ~Source() = default;
  virtual std::uint64_t entries() const = 0;
  virtual std::span<const Sample> samples() const = 0;

  // The number of a column, the same one for the same path; none if there is no such column. Throws
  // ErrorKind::unsupported where its type has no place in expressions.
  virtual std::optional<std::uint32_t> find(std::string_view path) = 0;
  virtual const ValueType& type(std::uint32_t column) const = 0;
  virtual const std::string& path(std::uint32_t column) const = 0;
  // Is the column there in this sample? Reading it where it is not throws ErrorKind::not_found.
  virtual bool has(std::uint32_t column, unsigned sample) const = 0;
  // Top-level columns in order, and the members of records and of lists of records behind each.
  virtual std::vector<std::string> names() const = 0;

  // The parts that have entries of [first, last), in order; the first and the last one without those beyond.
  virtual std::vector<Part> parts(std::uint64_t first, std::uint64_t last) const = 0;
  // About how many stored bytes of these columns each of the parts has; entries where that is not known.
  // Opens nothing.
  virtual std::vector<std::uint64_t> stored_bytes(std::span<const Part> parts,
                                                  std::span<const std::uint32_t> columns) const {
    static_cast<void>(columns);
    std::vector<std::uint64_t> entries;
    for (const Part& part : parts) entries.push_back(part.last - part.first);
    return entries;
  }
  // Called before a pass that reads these columns.
  virtual void prepare(std::span<const std::uint32_t> columns) { static_cast<void>(columns); }
  // A cursor for one more worker; may be called by several threads.
  virtual std::unique_ptr<Cursor> open() const = 0;

  // What remakes the source elsewhere, as JSON; throws ErrorKind::unsupported for arrays in memory. An index
  // says what is in each file: with it nothing is opened before it is read, and it is an error if a file was
  // replaced by then.
  virtual std::string specification(bool with_index = false) const = 0;
};

// `uris` may hold globs of local files and of object stores. `name` may be empty if each has one data set
// only. Throws ErrorKind::not_found, schema (types that do not fit together), io.
std::shared_ptr<Source> open_chain(const std::string& name, std::span<const std::string> uris,
                                   const ReadOptions& options = {});
std::shared_ptr<Source> empty_source(std::uint64_t entries);
// Columns as Values of equal size, which keep their memory.
struct NamedValues {
  std::string name;
  ValuesPtr values;
};
std::shared_ptr<Source> array_source(std::vector<NamedValues> columns);
// The columns of others beside those of the first, see friends.h.
struct NamedSource {
  std::string name;
  std::shared_ptr<Source> source;
};
std::shared_ptr<Source> friends_source(std::shared_ptr<Source> first, std::vector<NamedSource> others);
// What specification() described.
std::shared_ptr<Source> source_from(const std::string& specification);

}  // namespace colonnade::frame

#endif
