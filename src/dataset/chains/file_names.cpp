// See file_names.h.
#include "dataset/chains/file_names.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "colonnade/error.h"
#include "io/local/local_file.h"
#include "io/transport.h"

namespace colonnade::dataset {
namespace {

[[noreturn]] void fail_no_match(const std::string& uri) {
  throw Error(ErrorKind::not_found, "no file matches the name", "check the folder and the wildcards",
              {.uri = uri});
}

// In a URI with slashes, "%" begins a sequence.
std::string file_uri(const std::string& path) {
  if (!path.starts_with('/')) return "file:" + path;
  std::string uri = "file://";
  for (const char letter : path) uri += letter == '%' ? std::string("%25") : std::string(1, letter);
  return uri;
}

// For glob(). What a URI with slashes has as a sequence is no wildcard.
std::string pattern_of(const std::string& uri) {
  constexpr std::array<std::string_view, 8> literal{"%2A", "%2a", "%3F", "%3f", "%5B", "%5b", "%5C", "%5c"};
  if (uri.find("://") == std::string::npos) return io::local_path(uri);
  std::string escaped;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    if (std::ranges::find(literal, std::string_view(uri).substr(i, 3)) != literal.end()) escaped += "%5C";
    escaped += uri[i];
  }
  return io::local_path(escaped);
}

void expand_local(const std::string& uri, std::vector<std::string>& names) {
  const std::string pattern = pattern_of(uri);
  glob_t found = {};
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  for (std::size_t i = 0; result == 0 && i < found.gl_pathc; ++i)
    names.push_back(uri == pattern ? found.gl_pathv[i] : file_uri(found.gl_pathv[i]));
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

// Its folder may have any name.
bool is_folder_store(const std::string& uri) {
  std::error_code ignored;
  return io::transport_for(uri).scheme == "obj" &&
         std::filesystem::is_directory(io::local_path(uri, "obj:"), ignored);
}

void expand(const std::string& uri, std::vector<std::string>& names) {
  if (io::wildcard_in(uri) == std::string::npos) {
    names.push_back(uri);
    return;
  }
  if (is_folder_store(uri)) {
    names.push_back(uri);
    return;
  }
  if (io::transport_for(uri).scheme != "file") return expand_listed(uri, names);
  std::error_code ignored;
  if (std::filesystem::exists(io::local_path(uri), ignored)) {
    names.push_back(uri);
  } else {
    expand_local(uri, names);
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
