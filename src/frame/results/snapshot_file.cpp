// See snapshot_file.h.
#include "frame/results/snapshot_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "colonnade/error.h"
#include "io/local/local_file.h"
#include "io/transport.h"

namespace colonnade::frame {

namespace fs = std::filesystem;

SnapshotFile::SnapshotFile(const std::string& uri, bool at_once) : uri_(uri) {
  if (at_once || io::transport_for(uri).scheme != "file") return;
  std::error_code failure;
  fs::path place = io::local_path(uri);
  if (fs::is_symlink(place, failure)) place = fs::canonical(place, failure);
  // Devices and pipes stay what they are; what cannot be found is for the writer to complain about.
  if (failure || (fs::exists(place, failure) && !fs::is_regular_file(place, failure))) return;
  static std::atomic<unsigned> number = 0;
  fs::path folder = place;
  folder.replace_filename(fmt::format(".{}.{}-{}", place.filename().string(), ::getpid(), number++));
  if (!fs::create_directory(folder, failure)) return;
  folder_ = folder.string();
  place_ = place.string();
  uri_ = "file:" + fs::absolute(folder / place.filename(), failure).string();
}

SnapshotFile::~SnapshotFile() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

void SnapshotFile::take_place() {
  if (place_.empty()) return;
  std::error_code failure;
  // Who could read the old file can read the new one.
  const fs::file_status old = fs::status(place_, failure);
  if (fs::is_regular_file(old)) fs::permissions(io::local_path(uri_), old.permissions(), failure);
  fs::rename(io::local_path(uri_), place_, failure);
  if (failure)
    throw Error(ErrorKind::io,
                fmt::format("the finished file cannot be moved to its place: {}", failure.message()),
                "check the permissions of the folder", {.uri = place_});
  place_.clear();
}

}  // namespace colonnade::frame
