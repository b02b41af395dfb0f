// For tests: a temporary folder.
#ifndef COLONNADE_BASE_TEST_FOLDER_H
#define COLONNADE_BASE_TEST_FOLDER_H

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/process.h"

namespace colonnade {

// A new folder, removed with this object, except in a forked child, which has a copy of the object.
class TestFolder {
 public:
  TestFolder() {
    // mkdtemp() replaces the last six characters so that the name is unique.
    std::string name = (std::filesystem::temp_directory_path() / "colonnade_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for tests");
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    if (process_.is_current()) std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  const Process process_;
};

}  // namespace colonnade

#endif
