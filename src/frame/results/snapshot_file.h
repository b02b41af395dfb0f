// SnapshotFile: where a snapshot is written. A new local file takes its place only when it is complete: until
// then it lies in a folder of its own beside it, under the name that it will have (files hold their names).
//
// One thread at a time.
#ifndef COLONNADE_FRAME_RESULTS_SNAPSHOT_FILE_H
#define COLONNADE_FRAME_RESULTS_SNAPSHOT_FILE_H

#include <string>

namespace colonnade::frame {

class SnapshotFile {
 public:
  // `at_once`: it shall be seen in its place while it is written.
  SnapshotFile(const std::string& uri, bool at_once);
  ~SnapshotFile();  // removes what did not take its place
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;

  const std::string& uri() const noexcept { return uri_; }  // to write to
  // Throws ErrorKind::io.
  void take_place();

 private:
  std::string uri_;
  std::string place_;   // of a local file; empty: it is there already
  std::string folder_;  // the file's own
};

}  // namespace colonnade::frame

#endif
