// Copying: data sets from any place to any other, such as from a file to an object store.
//
//   colonnade::copy({"f.root", "Events"}, {"obj:///store"});
//
// colonnade/merge.h does that for all data sets of several files.
//
// As a rule the pages travel as they are stored: read in bulk, compared with their checksums, and written
// again in the same order under a new header and footer, without being decompressed. Where pages or clusters
// are to have other sizes, or where sources that follow each other do not fit page by page, columns are
// decoded and encoded again.
#ifndef COLONNADE_COPY_H
#define COLONNADE_COPY_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "colonnade/options.h"

namespace colonnade {

// A data set somewhere: what Reader::open() and Writer::recreate() take.
struct DataSetPlace {
  std::string uri;
  std::string data_set = {};  // source: empty if there is only one; destination: empty for the source's name
};

enum class CopyVerify {
  off,
  pages,  // both sides are read again: the same pages, byte by byte; values where pages were not copied as
          // they are
  values  // likewise, and the decoded elements of all columns are compared
};

// How pages came to the destination.
enum class CopyMode {
  pages,       // as they are stored
  recompress,  // decompressed and compressed again, otherwise as they are
  decode       // decoded, and put into other pages and clusters
};

// Which fields several sources give to what they become together.
enum class MergeMode {
  strict,  // all have the same ones
  filter,  // those that all have
  union_   // those that any has; where a source lacks one its entries get zeros, or nothing in collections
};

struct CopyOptions {
  // Paths of the fields to copy, with all below them and what is needed of those above; empty: all.
  std::vector<std::string> columns = {};
  // Where these are empty, the source's are kept.
  std::optional<Compression> compression = {};
  std::optional<std::size_t> max_page_size = {};             // bytes, uncompressed
  std::optional<std::size_t> approximate_cluster_size = {};  // bytes, compressed
  // Replace what is at the destination: a file as a whole; of an object store, the data set. Without it a
  // data set is added to the file or store, or the file is created; a data set that is there already is an
  // error.
  bool overwrite = false;
  // Go on with a copy that was interrupted, after its last checkpoint. What is at the destination must be the
  // beginning of what the copy would make; nothing there is no obstacle.
  bool resume = false;
  // Of concatenate():
  MergeMode fields = MergeMode::strict;
  // Say in the destination which sources it was made from, in an attribute set "merged_inputs".
  bool provenance = false;
  // Sources that the destination was not made from come behind what is there, by what its provenance says. A
  // source that has changed since is an error. Nothing there is no obstacle.
  bool append = false;
  unsigned threads = 0;  // that verify and compress; 0: as many as there are processors
  CopyVerify verify = CopyVerify::off;
  double watch_every = 0.2;  // seconds between two calls of the watch, about
  // Everything else of the destination: container, checkpoints, durability, mapping, checksums for pages that
  // have none, ... Its compression and its sizes of pages and clusters are heeded only as far as those above
  // say so.
  WriteOptions writing = {};
  ReadOptions reading = {};  // of the sources; its memory budget bounds the copy as a whole
};

struct CopyProgress {
  std::uint64_t entries = 0;
  std::uint64_t total_entries = 0;
  std::uint64_t bytes_read = 0;  // of pages
  std::uint64_t bytes_written = 0;
  std::uint64_t total_bytes = 0;  // to be read
  bool verifying = false;         // the numbers are those of the comparison now
};
// Called a few times per second, from the thread that called copy(). False: stop.
using CopyWatch = std::function<bool(const CopyProgress&)>;

struct CopyReport {
  std::string data_set;  // at the destination
  CopyMode mode = CopyMode::pages;
  std::uint64_t entries = 0;        // of the destination: what can be read there
  std::uint64_t clusters = 0;       // likewise
  std::uint64_t pages = 0;          // written now; equal ones that share a place count once
  std::uint64_t bytes_read = 0;     // of pages
  std::uint64_t bytes_written = 0;  // of pages
  std::uint64_t bytes_shared =
      0;  // of them, in blocks that the file system lets sources and destination share
  std::uint64_t resumed_entries = 0;  // were there already
  std::size_t known_sources = 0;      // of which nothing was copied, since the destination was made from them
  double seconds = 0;
  bool verified = false;
  bool interrupted = false;        // by the watch: what the last checkpoint holds is there, and nothing else
  std::vector<std::string> notes;  // what could not be carried over, and why
};

// Throws what reading and writing throw; ErrorKind::checksum with the place of a page that is damaged. What
// was committed by then stays readable; without checkpoints nothing is.
CopyReport copy(const DataSetPlace& source, const DataSetPlace& destination, const CopyOptions& options = {},
                const CopyWatch& watch = {});
// Several data sets become one, one after the other; of the same schema, unless the options say otherwise.
// Each is opened twice, and only a few at a time. Throws ErrorKind::schema with the first difference,
// ErrorKind::usage for a source that is given twice.
CopyReport concatenate(const std::vector<DataSetPlace>& sources, const DataSetPlace& destination,
                       const CopyOptions& options = {}, const CopyWatch& watch = {});

}  // namespace colonnade

#endif
