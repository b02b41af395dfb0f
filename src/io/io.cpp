// Opening by URI: the table of transports, and fallbacks for functions that a back end may leave out.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>

#include "base/lower_case.h"
#include "io/daos/daos_store.h"
#include "io/http/http_file.h"
#include "io/local/local_file.h"
#include "io/local/local_store.h"
#include "io/memory/memory_file.h"
#include "io/memory/memory_store.h"
#include "io/rados/rados_store.h"
#include "io/random_access_file.h"
#include "io/s3/s3_file.h"
#include "io/s3/s3_store.h"
#include "io/thread_queue.h"
#include "io/transport.h"
#include "io/xrootd/xrootd_file.h"
#include "io/xrootd/xrootd_place.h"

namespace colonnade::io {
namespace {

constexpr Transport xrootd(std::string_view scheme) {
  return {.scheme = scheme,
          .list_folder = list_xrootd_folder,
          .file_system = xrootd_file_system,
          .query_at = xrootd_query_at};
}

constexpr std::array table{
    Transport{.scheme = "file", .file_system = local_file_system},
    Transport{.scheme = "memory", .list_files = list_memory_files, .file_system = memory_file_system},
    Transport{.scheme = "s3",
              .open_for_reading = open_s3_for_reading,
              .open_for_writing = open_s3_for_writing,
              .open_store = open_s3_store,
              .names_file = names_s3_file,
              .list_files = list_s3_files,
              .query_at = s3_query_at},
    Transport{.scheme = "http",
              .open_for_reading = open_http_for_reading,
              .open_for_writing = open_http_for_writing,
              .list_folder = list_http_folder,
              .query_at = http_query_at},
    Transport{.scheme = "https",
              .open_for_reading = open_http_for_reading,
              .open_for_writing = open_http_for_writing,
              .list_folder = list_http_folder,
              .query_at = http_query_at},
    Transport{"obj", nullptr, nullptr, open_local_store},
    Transport{"memory+obj", nullptr, nullptr, open_memory_store},
    Transport{"daos", nullptr, nullptr, open_daos_store},
    Transport{"rados", nullptr, nullptr, open_rados_store},
    xrootd("root"),
    xrootd("roots"),
    xrootd("xroot"),
    xrootd("xroots"),
};

// The text before the first colon if it can be a scheme (RFC 3986), in lower case.
std::string scheme_of(std::string_view uri) {
  const std::size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon == 0 || !std::isalpha(static_cast<unsigned char>(uri[0])))
    return {};
  std::string scheme;
  for (char letter : uri.substr(0, colon)) {
    const auto code = static_cast<unsigned char>(letter);
    if (!std::isalnum(code) && letter != '+' && letter != '-' && letter != '.') return {};
    scheme.push_back(lower_case(letter));
  }
  return scheme;
}

std::string known_schemes() {
  std::string names;
  for (const Transport& transport : table)
    names += fmt::format("{}{}:", names.empty() ? "" : ", ", transport.scheme);
  return names;
}

}  // namespace

const Transport* find_transport(std::string_view uri) {
  const std::string scheme = scheme_of(uri);
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Transport& row) { return row.scheme == scheme; });
  if (found != table.end()) return &*found;
  const bool is_unknown = !scheme.empty() && uri.substr(scheme.size()).starts_with("://");
  return is_unknown ? nullptr : &table.front();
}

const Transport& transport_for(std::string_view uri) {
  if (const Transport* found = find_transport(uri)) return *found;
  throw Error(ErrorKind::unsupported, fmt::format("no transport serves the scheme \"{}\"", scheme_of(uri)),
              fmt::format("a local path or one of the schemes {}", known_schemes()),
              {.uri = std::string(uri)});
}

bool is_object_store(const std::string& uri) {
  const Transport& transport = transport_for(uri);
  if (transport.open_store == nullptr) return false;
  return transport.names_file != nullptr ? !transport.names_file(uri) : transport.file_system == nullptr;
}

std::shared_ptr<ObjectStore> open_object_store(const std::string& uri, const StoreOptions& options) {
  const Transport& transport = transport_for(uri);
  if (transport.open_store == nullptr)
    throw Error(ErrorKind::unsupported,
                fmt::format("\"{}:\" names a file, not an object store", transport.scheme),
                "a URI of an object store, such as obj:///path", {.uri = uri});
  return transport.open_store(uri, options);
}

namespace {

constexpr const char* wildcards = "*?[";
// A server could name more and more.
constexpr std::size_t most_folders = 100'000;

// The name of a server has no wildcards; an IPv6 address stands in brackets.
std::size_t first_wildcard(const Transport& transport, std::string_view uri) {
  const std::size_t server = transport.scheme == "file" ? std::string_view::npos : uri.find("://");
  const std::size_t path = server == std::string_view::npos ? 0 : uri.find('/', server + 3);
  return uri.find_first_of(wildcards, path);
}

// The names in a folder; folders end in a slash.
std::vector<std::string> listed_names(const Transport& transport, const std::string& folder,
                                      const std::string& query) {
  std::vector<std::string> names;
  for (const std::string& uri : transport.list_folder(folder + query)) {
    const std::size_t end = transport.query_at != nullptr ? transport.query_at(uri) : uri.size();
    names.push_back(uri.substr(0, end).substr(std::min(folder.size(), end)));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The first part of a path, and the slashes after it.
struct PathPart {
  std::string name;
  std::string slashes;
};

PathPart take_part(std::string_view& path) {
  PathPart part;
  const std::size_t slash = std::min(path.find('/'), path.size());
  part.name = path.substr(0, slash);
  path.remove_prefix(slash);
  const std::size_t next = std::min(path.find_first_not_of('/'), path.size());
  part.slashes = path.substr(0, next);
  path.remove_prefix(next);
  return part;
}

// In a pattern, "**/" stands for any number of folders.
bool is_any_folders(const PathPart& part) {
  return part.name == "**" && !part.slashes.empty();
}

// A folder that merely matches a pattern may be unreadable or gone; a folder that was named must exist.
// Failures of a server are always errors: files would be missing.
std::vector<std::string> fitting(const Transport& transport, const std::string& folder,
                                 const std::string& query, const PathPart& part, bool is_named) {
  std::vector<std::string> names;
  try {
    names = listed_names(transport, folder, query);
  } catch (const Error& error) {
    const bool is_passed_over =
        error.kind() == ErrorKind::not_found || error.kind() == ErrorKind::unsupported;
    if (is_named || !is_passed_over) throw;
  }
  std::vector<std::string> found;
  const bool wants_folder = !part.slashes.empty();
  for (std::string& name : names) {
    const bool is_folder = name.ends_with('/');
    if (is_folder) name.pop_back();
    const bool fits = name == part.name || ::fnmatch(part.name.c_str(), name.c_str(), FNM_PERIOD) == 0;
    if (is_folder == wants_folder && fits) found.push_back(folder + name + part.slashes);
  }
  return found;
}

// Part by part, as fnmatch() knows no "**". Hidden names match only a pattern that begins with a period.
bool path_matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || path.empty()) return pattern.empty() && path.empty();
  std::string_view rest = pattern;
  const PathPart wanted = take_part(rest);
  std::string_view below = path;
  const PathPart part = take_part(below);
  if (is_any_folders(wanted)) {
    const bool goes_on = !part.slashes.empty() && !part.name.starts_with('.');
    return path_matches(rest, path) || (goes_on && path_matches(pattern, below));
  }
  return part.slashes == wanted.slashes &&
         ::fnmatch(wanted.name.c_str(), part.name.c_str(), FNM_PERIOD) == 0 && path_matches(rest, below);
}

// Appends a folder and all below it, but for hidden ones.
void append_folders(const Transport& transport, const std::string& folder, const std::string& query,
                    bool is_named, std::vector<std::string>& found) {
  const std::size_t first = found.size();
  found.push_back(folder);
  for (std::size_t i = first; i < found.size(); ++i) {
    std::vector<std::string> more = fitting(transport, found[i], query, {"*", "/"}, is_named && i == first);
    std::move(more.begin(), more.end(), std::back_inserter(found));
    if (found.size() > most_folders)
      throw Error(ErrorKind::resource, fmt::format("there are more than {} folders", most_folders),
                  "name the folders in place of **", {.uri = folder});
  }
}

// Leaves the URIs that match a pattern from `begin` on. With brackets a name need not match itself,
// "[1].root": one that exists is meant as it is.
void leave_matching(std::vector<std::string>& uris, const std::string& pattern, std::size_t begin) {
  const auto fits = [&](const std::string& uri) {
    return path_matches(std::string_view(pattern).substr(begin), std::string_view(uri).substr(begin));
  };
  if (!fits(pattern) && std::ranges::find(uris, pattern) != uris.end())
    uris = {pattern};
  else
    std::erase_if(uris, [&](const std::string& uri) { return !fits(uri); });
}

// Part by part, so that only matching folders are listed.
std::vector<std::string> match_by_folder(const Transport& transport, const std::string& pattern) {
  const std::size_t end = transport.query_at != nullptr ? transport.query_at(pattern) : pattern.size();
  const std::string query = pattern.substr(end);
  const std::string path = pattern.substr(0, end);
  std::vector<std::string> found{path.substr(0, path.rfind('/', first_wildcard(transport, path)) + 1)};
  std::string_view rest = std::string_view(path).substr(found.front().size());
  bool is_deep = false;
  for (bool is_named = true; !rest.empty(); is_named = false) {
    const PathPart part = take_part(rest);
    std::vector<std::string> next;
    for (const std::string& folder : found) {
      if (is_any_folders(part)) {
        is_deep = true;
        append_folders(transport, folder, query, is_named, next);
        continue;
      }
      if (part.name.find_first_of(wildcards) == std::string::npos && !part.slashes.empty()) {
        next.push_back(folder + part.name + part.slashes);
        continue;
      }
      std::vector<std::string> more = fitting(transport, folder, query, part, is_named);
      std::move(more.begin(), more.end(), std::back_inserter(next));
    }
    found = std::move(next);
  }
  leave_matching(found, path, path.rfind('/', first_wildcard(transport, path)) + 1);
  if (is_deep) {  // several parts "**" may lead to a file in several ways
    const std::set<std::string> sorted(found.begin(), found.end());
    found.assign(sorted.begin(), sorted.end());
  }
  for (std::string& uri : found) uri += query;
  return found;
}

[[noreturn]] void fail_unlisted(const Transport& transport, const std::string& uri) {
  throw Error(ErrorKind::unsupported,
              fmt::format("the transport \"{}\" cannot list its files", transport.scheme),
              "name them one by one", {.uri = uri});
}

}  // namespace

std::size_t wildcard_in(const std::string& uri) {
  if (uri.find_first_of(wildcards) == std::string::npos) return std::string::npos;
  const Transport& transport = transport_for(uri);
  const std::size_t at = first_wildcard(transport, uri);
  if (at == std::string::npos) return at;
  const bool lists =
      transport.scheme == "file" || transport.list_files != nullptr || transport.list_folder != nullptr;
  // Without lists, a query begins at "?", and brackets are brackets.
  if (!lists && uri[at] != '*') return std::string::npos;
  return transport.query_at != nullptr && at >= transport.query_at(uri) ? std::string::npos : at;
}

std::vector<std::string> match_files(const std::string& pattern) {
  const Transport& transport = transport_for(pattern);
  if (transport.list_folder != nullptr) return match_by_folder(transport, pattern);
  if (transport.list_files == nullptr) fail_unlisted(transport, pattern);
  const std::size_t end = transport.query_at != nullptr ? transport.query_at(pattern) : pattern.size();
  const std::string path = pattern.substr(0, end);
  const std::string query = pattern.substr(end);
  std::vector<std::string> found = list_files(path.substr(0, first_wildcard(transport, path)));
  leave_matching(found, path, 0);
  for (std::string& uri : found) uri += query;
  return found;
}

std::vector<std::string> list_files(const std::string& prefix) {
  const Transport& transport = transport_for(prefix);
  if (transport.list_folder != nullptr) {
    const std::string folder = prefix.substr(0, prefix.rfind('/') + 1);
    std::vector<std::string> uris;
    for (const std::string& name : listed_names(transport, folder, {}))
      if (!name.ends_with('/') && (folder + name).starts_with(prefix)) uris.push_back(folder + name);
    return uris;
  }
  if (transport.list_files == nullptr) fail_unlisted(transport, prefix);
  std::vector<std::string> uris = transport.list_files(prefix);
  std::sort(uris.begin(), uris.end());
  return uris;
}

std::unique_ptr<RandomAccessFile> open_for_reading(const std::string& uri, const ReadFileOptions& options) {
  const Transport& transport = transport_for(uri);
  if (is_object_store(uri))
    throw Error(ErrorKind::unsupported, "an object store cannot be opened as a file",
                "open the data sets in it by name", {.uri = uri});
  if (transport.file_system != nullptr) return transport.file_system()->open_for_reading(uri, options);
  return transport.open_for_reading(uri, options);
}

std::unique_ptr<WritableFile> open_for_writing(const std::string& uri, OpenMode mode,
                                               const WriteFileOptions& options) {
  const Transport& transport = transport_for(uri);
  if (is_object_store(uri))
    throw Error(ErrorKind::unsupported, "an object store cannot be written as a file",
                "write data sets to it by name", {.uri = uri});
  if (transport.file_system != nullptr) return open_for_writing(transport.file_system(), uri, mode, options);
  if (transport.open_for_writing == nullptr)
    throw Error(ErrorKind::unsupported, fmt::format("the transport \"{}\" can only read", transport.scheme),
                "write to a local file and copy it", {.uri = uri});
  return transport.open_for_writing(uri, mode, options);
}

void refuse_if_locked(const std::string& uri) {
  const Transport& transport = transport_for(uri);
  if (transport.file_system == nullptr) return;
  const std::shared_ptr<FileSystem> files = transport.file_system();
  if (files->is_locked(files->path_of(uri), uri)) fail_locked(uri);
}

void RandomAccessFile::read_vector(std::span<const ReadRequest> requests) const {
  for (const ReadRequest& request : requests) read(request.offset, request.into);
}

void ReadQueue::submit_batch(std::span<const QueuedRead> reads) {
  for (const QueuedRead& read : reads) submit(read.id, read.offset, read.into);
}

std::unique_ptr<ReadQueue> RandomAccessFile::open_queue(unsigned depth) const {
  return make_thread_queue(*this, depth);
}

std::uint64_t WritableFile::copy(std::uint64_t offset, const RandomAccessFile& from, std::uint64_t begin,
                                 std::uint64_t size) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 20;
  Bytes bytes;
  for (std::uint64_t done = 0; done < size; done += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(piece, size - done)));
    from.read(begin + done, bytes);
    write(offset + done, bytes);
  }
  return 0;
}

void WritableFile::write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) {
  for (ByteSpan part : parts) {
    write(offset, part);
    offset += part.size();
  }
}

}  // namespace colonnade::io
