// See file_names.h.
#include "dataset/chains/file_names.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
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

// In the order of glob(), as which it passes over folders that may not be read.
std::vector<std::string> matches(const std::string& pattern, const std::string& uri) {
  glob_t found = {};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, &::globfree);
  const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
  if (result == 0) return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
  if (result == GLOB_NOMATCH) return {};
  throw Error(result == GLOB_NOSPACE ? ErrorKind::resource : ErrorKind::io,
              "the files that match the name cannot be listed", "name them one by one", {.uri = uri});
}

// For glob(), so that it takes the path as it is.
std::string escaped(const std::string& path) {
  std::string pattern;
  for (const char letter : path) {
    if (std::string_view("*?[\\").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

// A folder and all below it, each with a slash at its end; empty: the current one.
std::vector<std::string> folders_below(const std::string& folder, const std::string& uri) {
  std::vector<std::string> folders{folder};
  for (std::size_t i = 0; i < folders.size(); ++i)
    for (std::string& below : matches(escaped(folders[i]) + "*/", uri)) {
      std::error_code ignored;
      if (!std::filesystem::is_symlink(below.substr(0, below.size() - 1), ignored))
        folders.push_back(std::move(below));
    }
  return folders;
}

// Each part "**" is resolved by itself, since glob() takes it for "*".
std::vector<std::string> matches_below(const std::string& pattern, const std::string& uri) {
  const std::size_t at = ("/" + pattern).find("/**/");
  if (at == std::string::npos) return matches(pattern, uri);
  const std::string rest = pattern.substr(at + std::string_view("**/").size());
  std::set<std::string> found;  // two such parts may lead to a file in several ways
  const auto folders = at == 0 ? std::vector<std::string>{""} : matches(pattern.substr(0, at), uri);
  for (const std::string& folder : folders)
    for (const std::string& below : folders_below(folder, uri)) {
      std::vector<std::string> more = matches_below(escaped(below) + rest, uri);
      found.insert(std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
  return {found.begin(), found.end()};
}

void expand_local(const std::string& uri, std::vector<std::string>& names) {
  const std::string pattern = pattern_of(uri);
  const std::vector<std::string> found = matches_below(pattern, uri);
  if (found.empty()) fail_no_match(uri);
  for (const std::string& path : found) names.push_back(uri == pattern ? path : file_uri(path));
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
