// Object stores in folders: the conformance suite, several processes, crashes, and what the system refuses.
#include "io/local/local_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "io/object_store_conformance_test.h"

namespace colonnade::io {
namespace {

namespace fs = std::filesystem;

// A folder for this process, gone when it ends.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "colonnade_store_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder for tests");
  }
  ~Folder() {
    std::error_code ignored;
    if (::getpid() == process_) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  pid_t process_ = ::getpid();
  std::string path_;
};

std::string fresh_path(const std::string& name) {
  static const Folder folder;
  const std::string path = folder.path() + "/" + name;
  fs::remove_all(path);
  return path;
}

const RegisterStore local({.name = "Local",
                           .fresh_uri = [](const std::string& name) { return "obj://" + fresh_path(name); }});

}  // namespace
}  // namespace colonnade::io
