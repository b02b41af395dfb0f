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
  std::size_t max_page_size = std::size_t{1} << 20;                     // bytes, uncompressed
  std::size_t page_buffer_budget = std::size_t{128} << 20;  // bytes that open pages may hold together
  Checksums page_checksums = Checksums::on;
  SamePageMerging same_page_merging = SamePageMerging::on;
  std::uint64_t max_key_size = std::uint64_t{1} << 30;  // bytes; larger payloads are split over several keys
  std::uint32_t clusters_per_group = 1024;              // clusters whose page lists share one envelope
  Container container = Container::root_file;
  std::string description = {};  // of the data set
};

struct ReadOptions {
  Checksums page_checksums = Checksums::on;       // verify them where they are present
  std::size_t read_ahead = std::size_t{1} << 20;  // bytes read at once per column while reading in order
};

}  // namespace colonnade

#endif
