// Helpers shared by readers and writers of ROOT files.
#ifndef COLONNADE_CONTAINER_ROOT_FILE_KEYS_H
#define COLONNADE_CONTAINER_ROOT_FILE_KEYS_H

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>

#include "format/tfile_records.h"

namespace colonnade::container {

inline constexpr std::string_view directory_class = "TDirectory";
inline constexpr std::string_view file_class = "TFile";

inline bool is_directory(const format::TKey& key) {
  return key.class_name == directory_class || key.class_name == "TDirectoryFile";
}

inline std::uint32_t now() {
  return format::to_tdatime(std::time(nullptr));
}

inline Bytes bytes_of(format::TKey key) {
  ByteWriter out;
  format::write_tkey(out, key);
  return out.take();
}

// The record of streamer infos, decompressed.
struct StreamerInfoRecord {
  format::TKey key;
  Bytes list;
};
// `record` includes its key, and lies at `offset`. Throws ErrorKind::format for one that claims more than
// `longest` bytes.
StreamerInfoRecord read_streamer_infos(ByteSpan record, std::uint64_t offset, std::uint64_t file_size,
                                       std::uint64_t longest = format::longest_record);

// For a valid file whose version is too old to be written to.
[[noreturn]] inline void fail_too_old(std::string problem, std::uint64_t offset) {
  throw Error(ErrorKind::unsupported, std::move(problem), "copy its objects to a new file with ROOT first",
              {.offset = offset});
}

}  // namespace colonnade::container

#endif
