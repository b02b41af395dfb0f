// See places.h.
#include "io/places.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "io/local/local_file.h"
#include "io/transport.h"

namespace colonnade::io {
namespace {

// Empty if no transport serves it. Opening it reports the error.
std::string_view transport_of(std::string_view uri) {
  const Transport* transport = find_transport(uri);
  return transport == nullptr ? std::string_view() : transport->scheme;
}

// Of a file or a local object store.
std::filesystem::path path_of(const std::string& uri) {
  return transport_of(uri) == "obj" ? local_path(uri, "obj:") : local_path(uri);
}

bool has_path(std::string_view uri) {
  return transport_of(uri) == "file" || transport_of(uri) == "obj";
}

}  // namespace

bool is_local_file(std::string_view uri) {
  return transport_of(uri) == "file";
}

bool is_local(std::string_view uri) {
  return has_path(uri) || transport_of(uri).starts_with("memory");
}

std::string absolute_name(const std::string& uri) {
  if (!has_path(uri) || path_of(uri).is_absolute()) return uri;
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::absolute(path_of(uri), failure);
  if (failure) return uri;  // the working folder is gone
  return (is_local_file(uri) ? "" : "obj:") + path.string();
}

std::string canonical_name(const std::string& uri) {
  if (!is_local_file(uri)) return absolute_name(uri);
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::weakly_canonical(path_of(absolute_name(uri)), failure);
  return failure ? absolute_name(uri) : path.string();
}

std::string identity_of(const std::string& uri) {
  struct stat status{};
  if (!has_path(uri) || ::stat(path_of(uri).c_str(), &status) != 0) return canonical_name(uri);
  return fmt::format("{}-{}", status.st_dev, status.st_ino);
}

bool is_same_place(const std::string& a, const std::string& b) {
  return a == b || identity_of(a) == identity_of(b);
}

}  // namespace colonnade::io
