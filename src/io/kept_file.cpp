#include "io/kept_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/environment.h"
#include "colonnade/error.h"
#include "io/local/local_file.h"

namespace colonnade::io {

std::string temporary_path(std::string_view ending) {
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/colonnade-{:016x}{}", folder == nullptr || *folder == '\0' ? "/tmp" : folder,
                     environment().random_number(), ending);
}

std::string keep_file(const std::string& uri, ByteSpan content) {
  std::string path = temporary_path(".kept");
  try {
    const auto file = local_file_system()->create(path, uri, "", {}).file;
    ::chmod(path.c_str(), S_IRUSR | S_IWUSR);
    file->write(0, content);
    file->close();
  } catch (const Error&) {  // the disk may be full
    ::unlink(path.c_str());
    return {};
  }
  return path;
}

}  // namespace colonnade::io
