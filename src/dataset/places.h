// Names of files: tests whether two names mean the same file.
#ifndef COLONNADE_DATASET_PLACES_H
#define COLONNADE_DATASET_PLACES_H

#include <filesystem>
#include <string>
#include <system_error>

namespace colonnade::dataset {

inline std::filesystem::path local_path(const std::string& uri) {
  constexpr std::string_view scheme = "file://";
  return uri.starts_with(scheme) ? uri.substr(scheme.size()) : uri;
}

inline bool is_local(const std::string& uri) {
  const std::size_t colon = uri.find(':');
  return uri.starts_with("file:") || colon == std::string::npos || uri.find('/') < colon;
}

inline bool same_place(const std::string& a, const std::string& b) {
  if (a == b) return true;
  std::error_code ignored;
  return std::filesystem::equivalent(local_path(a), local_path(b), ignored);
}

// A name that is the same in every folder.
inline std::string whole_name(const std::string& uri) {
  if (!is_local(uri)) return uri;
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::weakly_canonical(local_path(uri), failed);
  return failed ? uri : path.string();
}

}  // namespace colonnade::dataset

#endif
