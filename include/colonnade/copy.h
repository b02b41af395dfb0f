// Copying data sets, for example from a file to an object store.
//
//   colonnade::copy({"f.root", "Events"}, {"obj:///store"});
//
// colonnade/merge.h copies all data sets of several files.
//
// Normally pages are copied as they are stored: read in bulk, checked against their checksums, and
// written in the same order under a new header and footer, without decompression. Columns are decoded
// and encoded again if pages or clusters get other sizes, or if consecutive sources do not fit page by
// page.
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

class AttributeAppender;

// The address of a data set: what Reader::open() and Writer::recreate() take. Sources may have wildcards, as
// for ChainReader::open().
struct DataSetPlace {
  std::string uri;
  std::string data_set = {};  // source: optional if there is only one; destination: by default the source's
};

enum class CopyVerify {
  off,
  pages,  // both sides are read again and compared: page by page, or value by value where the pages
          // were not copied as they are
  values  // the same, and the decoded elements of all columns are compared
};

// How the pages were copied.
enum class CopyMode {
  pages,       // byte for byte
  recompress,  // decompressed and compressed again, otherwise as they are
  decode       // decoded, and put into other pages and clusters
};

// Which fields the result of several sources has.
enum class MergeMode {
  strict,  // all sources must have the same fields
  filter,  // the fields that all sources have
  union_   // the fields of any source; entries of sources that lack one get zeros, or empty collections
};

struct CopyOptions {
  // Paths of the fields to copy, or wildcards ("Muon_*", "jets.p?"), with their sub-fields and the parents
  // that they need; empty: all.
  std::vector<std::string> columns = {};
  // Unset options keep the source's value.
  std::optional<Compression> compression = {};
  std::optional<std::size_t> max_page_size = {};             // bytes, uncompressed
  std::optional<std::size_t> approximate_cluster_size = {};  // bytes, compressed
  // Replaces the destination: a whole file, or the data set of an object store. Without it the data set is
  // added to the file or store, which is created if need be; an existing data set of that name is an
  // error.
  bool overwrite = false;
  // Continues an interrupted copy after its last checkpoint. The destination must hold the beginning of what
  // the copy would make, or nothing; with `overwrite`, anything else there is replaced.
  bool resume = false;
  // For concatenate():
  MergeMode fields = MergeMode::strict;
  // Records the sources in the destination, in an attribute set "merged_inputs".
  bool provenance = false;
  // Appends the sources that the provenance of the destination does not list. A source that has changed since
  // is an error. The destination need not exist.
  bool append = false;
  // Compares the pages of sources with their checksums. Without it, pages that the system copies from file to
  // file are not read, so that their damage is copied, and found when the copy is read. Pages that pass
  // through the process are checked in any case.
  bool check_pages = true;
  unsigned threads = 0;  // for verification and compression; 0: one per processor
  CopyVerify verify = CopyVerify::off;
  double watch_every = 0.2;  // approximate time between two calls of the watch
  // All other options of the destination: container, checkpoints, durability, mapping, checksums for pages
  // without one, ... Its compression and its page and cluster sizes apply only where the options above say
  // so.
  WriteOptions writing = {};
  ReadOptions reading = {};  // of the sources; its memory budget limits the whole copy
  // Called when all entries are written and before they are committed; not with resume or append.
  std::function<void(AttributeAppender&)> before_commit = {};
};

struct CopyProgress {
  std::uint64_t entries = 0;
  std::uint64_t total_entries = 0;
  std::uint64_t bytes_read = 0;  // of pages
  std::uint64_t bytes_written = 0;
  std::uint64_t total_bytes = 0;  // to read in total
  bool verifying = false;         // the comparison is running; the numbers count its reads
};
// Called a few times per second, from the thread that called copy(). Return false to stop.
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
  bool interrupted = false;        // stopped by the watch: the destination is what the last checkpoint left
  std::vector<std::string> notes;  // what could not be carried over, and why
};

// Throws what reading and writing throw; ErrorKind::checksum names the damaged page. What was committed by
// then stays readable; without checkpoints that is nothing.
CopyReport copy(const DataSetPlace& source, const DataSetPlace& destination, const CopyOptions& options = {},
                const CopyWatch& watch = {});
// Concatenates several data sets of the same schema, unless the options allow differences. Opens each source
// twice, and only a few at a time. Throws ErrorKind::schema with the first difference, ErrorKind::usage if a
// source is given twice.
CopyReport concatenate(const std::vector<DataSetPlace>& sources, const DataSetPlace& destination,
                       const CopyOptions& options = {}, const CopyWatch& watch = {});

}  // namespace colonnade

#endif
