// Options for reading and writing: plain structs with named defaults, for designated initialisers.
// Writer::recreate(std::move(model), "Events", "f.root", {.compression = "zstd:5"}).
#ifndef COLONNADE_OPTIONS_H
#define COLONNADE_OPTIONS_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace colonnade {

enum class Checksums { off, on };
enum class SamePageMerging { off, on };
enum class Container { root_file, bare_file };

// How local files are read. `automatic` is the fastest that the machine allows, see docs/local-storage.md.
enum class LocalIo {
  automatic,
  pread,     // one request at a time, in the calling thread
  threads,   // several at once, each in a thread of its own
  io_uring,  // several at once through the kernel's queue; falls back to threads where it is denied
  mmap       // the file as memory
};

// In which order a ParallelWriter's clusters stand in the data set.
enum class ClusterOrder {
  as_written,  // as they are finished
  staged       // of each context together, contexts in the order they were made: the same in every run
};

// What is promised of data once it is committed, by a checkpoint or by close(): that they survive a crash of
// the process, or also one of the machine (slower: the device is waited for twice per commit).
enum class Durability { process, machine };

// Where the pages of a data set go in an object store, see docs/format/object-container.md.
enum class ObjectMapping {
  locality,        // a cluster is an object, a column a distribution key
  object_per_page  // each page is an object
};

// When a writer makes what it has written readable; 0: not before close().
struct CheckpointEvery {
  std::uint32_t clusters = 0;
  double seconds = 0;  // looked at whenever a cluster is written
};

// A compression setting: "zstd:5", "lz4", "none" or ROOT's number (505). Checked when a writer is made.
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
  // Bytes of pages, open or sealed, in memory. In an object store a cluster is still being written while the
  // next one is filled: as much again for that.
  std::size_t page_buffer_budget = std::size_t{128} << 20;
  Checksums page_checksums = Checksums::on;
  SamePageMerging same_page_merging = SamePageMerging::on;
  std::uint64_t max_key_size = std::uint64_t{1} << 30;  // bytes; larger payloads are split over several keys
  std::uint32_t clusters_per_group = 1024;              // clusters whose page lists share one envelope
  Container container = Container::root_file;
  bool direct_io = false;                                 // past the page cache, where the file system can
  bool parallel_sealing = false;                          // encode and compress pages in the thread pool
  ClusterOrder cluster_order = ClusterOrder::as_written;  // of a ParallelWriter
  CheckpointEvery checkpoint_every = {};
  // What the data set replaces stays until close(); else until the first checkpoint with entries.
  bool replace_at_close = false;
  // Of add_to(): goes on where the file holds clusters of a writer that was killed, which repair can bring
  // back. They may be lost.
  bool discard_unrepaired = false;
  Durability durability = Durability::process;
  // In an object store only.
  ObjectMapping object_mapping = ObjectMapping::locality;
  // Bytes: pages of a column are moved together up to this size, whatever their own; 0: each by itself.
  std::size_t splice_size = std::size_t{1} << 20;
  std::string object_class = {};  // DAOS: "SX", "RP_2G1", ...; empty: as the container
  std::string part_of = {};       // writes no data set, but a part of what a SharedWriter commits: its name
  std::string description = {};   // of the data set
};

struct ReadOptions {
  Checksums page_checksums = Checksums::on;            // verify them where they are present
  std::size_t read_ahead = std::size_t{1} << 20;       // bytes read at once per column while reading in order
  std::size_t memory_budget = std::size_t{256} << 20;  // bytes of pages that a reader fetches and keeps ahead
  bool parallel_decompression = true;                  // decompress pages that come next on idle processors
  LocalIo local_io = LocalIo::automatic;
  bool direct_io = false;  // past the page cache, where the file system can
  // Where sealed pages are kept once they have been read: a folder or an object store, "/scratch/cache",
  // "s3://bucket/cache?budget=1TB"; "on": the folder of this user; "off": nowhere. Empty: as COLONNADE_CACHE
  // or the configuration says for data that are not on this machine. See docs/cache.md.
  std::string cache = {};
};

}  // namespace colonnade

#endif
