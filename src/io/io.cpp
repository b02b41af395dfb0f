// Opening by URI: the table of transports, and the fallbacks that a back end may leave out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "io/daos/daos_store.h"
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

namespace colonnade::io {
namespace {

constexpr std::array table{
    Transport{.scheme = "file", .file_system = local_file_system},
    Transport{.scheme = "memory", .list_files = list_memory_files, .file_system = memory_file_system},
    Transport{"s3", open_s3_for_reading, open_s3_for_writing, open_s3_store, names_s3_file, list_s3_files},
    Transport{"obj", nullptr, nullptr, open_local_store},
    Transport{"memory+obj", nullptr, nullptr, open_memory_store},
    Transport{"daos", nullptr, nullptr, open_daos_store},
    Transport{"rados", nullptr, nullptr, open_rados_store},
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
    scheme.push_back(static_cast<char>(std::tolower(code)));
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

std::span<const Transport> transports() noexcept {
  return table;
}

const Transport& transport_for(std::string_view uri) {
  const std::string scheme = scheme_of(uri);
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Transport& row) { return row.scheme == scheme; });
  if (found != table.end()) return *found;
  if (!scheme.empty() && uri.substr(scheme.size()).starts_with("://"))
    throw Error(ErrorKind::unsupported, fmt::format("no transport serves the scheme \"{}\"", scheme),
                fmt::format("a local path or one of the schemes {}", known_schemes()),
                {.uri = std::string(uri)});
  return table.front();
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

std::vector<std::string> list_files(const std::string& prefix) {
  const Transport& transport = transport_for(prefix);
  if (transport.list_files == nullptr)
    throw Error(ErrorKind::unsupported,
                fmt::format("the transport \"{}\" cannot list its files", transport.scheme),
                "name them one by one", {.uri = prefix});
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

void RandomAccessFile::read_vector(std::span<const ReadRequest> requests) const {
  for (const ReadRequest& request : requests) read(request.offset, request.into);
}

void ReadQueue::submit_batch(std::span<const QueuedRead> reads) {
  for (const QueuedRead& read : reads) submit(read.id, read.offset, read.into);
}

std::unique_ptr<ReadQueue> RandomAccessFile::open_queue(unsigned depth) const {
  return make_thread_queue(*this, depth);
}

void WritableFile::write_vector(std::uint64_t offset, std::span<const ByteSpan> parts) {
  for (ByteSpan part : parts) {
    write(offset, part);
    offset += part.size();
  }
}

}  // namespace colonnade::io
