// See file_names.h.
#include "dataset/chains/file_names.h"

#include <fmt/format.h>
#include <glob.h>

#include <filesystem>
#include <iterator>
#include <utility>

#include "colonnade/error.h"
#include "io/transport.h"

namespace colonnade::dataset {
namespace {

constexpr std::string_view file_scheme = "file://";

[[noreturn]] void fail_no_match(const std::string& uri) {
  throw Error(ErrorKind::not_found, "no file matches the name", "check the folder and the wildcards",
              {.uri = uri});
}

void expand_local(const std::string& uri, const std::string& pattern, std::vector<std::string>& names) {
  glob_t found = {};
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  const std::string prefix(uri.starts_with(file_scheme) ? file_scheme : "");
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i) names.push_back(prefix + found.gl_pathv[i]);
  ::globfree(&found);
  if (result == 0) return;
  if (result == GLOB_NOMATCH) fail_no_match(uri);
  throw Error(result == GLOB_NOSPACE ? ErrorKind::resource : ErrorKind::io,
              "the files that match the name cannot be listed", "name them one by one", {.uri = uri});
}

void expand_listed(const std::string& uri, std::vector<std::string>& names) {
  std::vector<std::string> found = io::match_files(uri);
  // The name of a store may have brackets; stores are not listed.
  if (found.empty() && uri.find('*') == std::string::npos && io::is_object_store(uri)) found = {uri};
  if (found.empty()) fail_no_match(uri);
  std::move(found.begin(), found.end(), std::back_inserter(names));
}

void expand(const std::string& uri, std::vector<std::string>& names) {
  if (io::wildcard_in(uri) == std::string::npos) {
    names.push_back(uri);
    return;
  }
  if (io::transport_for(uri).scheme != "file") return expand_listed(uri, names);
  const std::string path = uri.starts_with(file_scheme) ? uri.substr(file_scheme.size()) : uri;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    names.push_back(uri);
  } else {
    expand_local(uri, path, names);
  }
}

}  // namespace

std::vector<std::string> expand_names(std::span<const std::string> uris) {
  std::vector<std::string> names;
  for (const std::string& uri : uris) expand(uri, names);
  return names;
}

std::vector<NamedFile> expand_names(const std::string& data_set, std::span<const std::string> uris) {
  std::vector<NamedFile> expanded;
  for (std::string& name : expand_names(uris)) expanded.push_back({std::move(name), data_set});
  return expanded;
}

}  // namespace colonnade::dataset
