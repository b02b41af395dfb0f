// Options for reading and writing: plain structs with named defaults, for designated initialisers.
// Writer::recreate(std::move(model), "Events", "f.root", {.compression = "zstd:5"}).
#ifndef COLONNADE_OPTIONS_H
#define COLONNADE_OPTIONS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace colonnade {

enum class Checksums { off, on };
enum class SamePageMerging { off, on };
enum class Container { root_file, bare_file };

// What a new data set may find in its place.
enum class WriteMode {
  create,    // nothing: no file or, in an object store, no data set of its name
  recreate,  // anything: the file or, in an object store, the data set is replaced
  update     // a ROOT file, to which it is added, or an object store without a data set of its name
};

// How local files are read. `automatic` picks the fastest that the machine allows, see docs/local-storage.md.
enum class LocalIo {
  automatic,
  pread,     // one request at a time, in the calling thread
  threads,   // several at once, each in its own thread
  io_uring,  // several at once through the kernel's queue; falls back to threads where it is denied
  mmap       // maps the file into memory
};

// The order of a ParallelWriter's clusters in the data set.
enum class ClusterOrder {
  as_written,  // as they are finished
  staged       // context by context, in the order of their creation: the same in every run
};

// What committed data survive, after a checkpoint or close(): a crash of the process, or also one of the
// machine (slower: each commit waits for the device twice).
enum class Durability { process, machine };

// Where an object store keeps the pages of a data set, see docs/format/object-container.md.
enum class ObjectMapping {
  locality,        // a cluster is an object, a column a distribution key
  object_per_page  // each page is an object
};

// When a writer commits what it has written; 0: not before close().
struct CheckpointEvery {
  std::uint32_t clusters = 0;
  double seconds = 0;  // checked whenever a cluster is written
};

// A compression setting: "zstd:5", "lz4", "none" or ROOT's number (505). Checked when the writer opens.
struct Compression {
  std::string text = "zstd:5";
  Compression() = default;
  Compression(const char* setting) : text(setting) {}
  Compression(std::string setting) : text(std::move(setting)) {}
  Compression(int root_setting) : text(std::to_string(root_setting)) {}
};

struct WriteOptions {
  Compression compression = {};
  std::size_t approximate_cluster_size = std::size_t{128} << 20;        // bytes, compressed
  std::size_t max_uncompressed_cluster_size = std::size_t{1280} << 20;  // bytes
  std::size_t initial_page_size = 256;                                  // bytes, uncompressed
  std::size_t max_page_size = std::size_t{256} << 10;                   // bytes, uncompressed
  // Bytes of open and sealed pages in memory. In an object store one cluster is written while the next one is
  // filled, which takes the same amount again.
  std::size_t page_buffer_budget = std::size_t{128} << 20;
  Checksums page_checksums = Checksums::on;
  SamePageMerging same_page_merging = SamePageMerging::on;
  std::uint64_t max_key_size = std::uint64_t{1} << 30;  // bytes; larger payloads are split over several keys
  std::uint32_t clusters_per_group = 1024;              // clusters whose page lists share one envelope
  Container container = Container::root_file;
  bool direct_io = false;         // bypass the page cache, if the file system supports it
  bool parallel_sealing = false;  // encode and compress pages in the thread pool
  ClusterOrder cluster_order = ClusterOrder::as_written;  // of a ParallelWriter
  CheckpointEvery checkpoint_every = {};
  // Keep the replaced data set until close(), instead of the first checkpoint with entries.
  bool replace_at_close = false;
  // For add_to(): write to the file even if it holds clusters of a killed writer that repair could recover.
  // They may be lost.
  bool discard_unrepaired = false;
  Durability durability = Durability::process;
  // For object stores only:
  ObjectMapping object_mapping = ObjectMapping::locality;
  // Bytes: pages of a column are written together up to this size; 0: each page by itself.
  std::size_t splice_size = std::size_t{1} << 20;
  std::string object_class = {};  // DAOS: "SX", "RP_2G1", ...; empty: the container's default
  std::string part_of = {};      // writes a part of the data set that a SharedWriter commits: the part's name
  std::string description = {};  // of the data set
};

struct ReadOptions {
  Checksums page_checksums = Checksums::on;            // verify the checksums that are present
  std::size_t read_ahead = std::size_t{1} << 20;       // bytes read at once per column while reading in order
  std::size_t memory_budget = std::size_t{256} << 20;  // bytes of pages that a reader fetches and keeps ahead
  bool parallel_decompression = true;                  // decompress the next pages on idle processors
  LocalIo local_io = LocalIo::automatic;
  bool direct_io = false;  // bypass the page cache, if the file system supports it
  // Where to keep sealed pages once they have been read: a folder or an object store, "/scratch/cache",
  // "s3://bucket/cache?budget=1TB"; "on": this user's folder; "off": nowhere. Empty: COLONNADE_CACHE or the
  // configuration decides, for data on other machines. See docs/cache.md.
  std::string cache = {};
};

}  // namespace colonnade

#endif
