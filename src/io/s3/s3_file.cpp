// Opening objects in S3 as files; see s3_file.h.
#include "io/s3/s3_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "base/lower_case.h"
#include "colonnade/error.h"
#include "io/s3/s3_client.h"
#include "io/s3/s3_file_reader.h"
#include "io/s3/s3_file_writer.h"

namespace colonnade::io {
namespace {

constexpr std::string_view s3_file_mark = "?file";
constexpr std::string_view s3_store_mark = "?store";

S3Location location_of(const std::string& uri) {
  S3Location location = parse_s3_uri(without_s3_mark(uri));
  if (location.key.empty() || location.key.ends_with('/'))
    throw Error(ErrorKind::usage, "the URI names no file: there is no key after the bucket",
                "s3://bucket/folder/name.root", {.uri = uri});
  return location;
}

// Some users may not query the bucket.
void say_if_bucket_is_missing(const S3Client& client) {
  try {
    client.check_bucket();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::not_found) throw;
  }
}

}  // namespace

// The name alone tells: what is at the key may be both, or nothing yet.
bool names_s3_file(const std::string& uri) {
  if (uri.ends_with(s3_file_mark)) return true;
  if (uri.ends_with(s3_store_mark)) return false;
  const std::string name = uri.substr(uri.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::string ending = lower_case(dot == std::string::npos ? "" : name.substr(dot));
  if (ending == ".root" || ending == ".bare") return true;
  // A bucket's name has dots; "v1.2" is not an extension.
  const bool is_known = uri.find('/', uri.find("://") + 3) == std::string::npos || ending.size() < 2 ||
                        std::isalpha(static_cast<unsigned char>(ending[1])) == 0;
  if (is_known) return false;
  throw Error(ErrorKind::usage,
              fmt::format("whether \"{}\" is a file or an object store cannot be told from its name", name),
              fmt::format("{0}{1} or {0}{2}", uri, s3_file_mark, s3_store_mark), {.uri = uri});
}

std::size_t s3_query_at(std::string_view uri) {
  for (const std::string_view mark : {s3_file_mark, s3_store_mark})
    if (uri.ends_with(mark)) return uri.size() - mark.size();
  return uri.size();
}

std::string without_s3_mark(const std::string& uri) {
  return uri.substr(0, s3_query_at(uri));
}

std::vector<std::string> list_s3_files(const std::string& prefix) {
  return with_context({.uri = prefix}, [&] {
    const S3Location location = parse_s3_uri(prefix);
    std::vector<std::string> uris;
    S3Client::open(prefix)->list(location.key, {}, {}, [&](S3Listing&& page) {
      for (const S3Object& object : page.objects)
        uris.push_back(fmt::format("s3://{}/{}", location.bucket, object.key));
      return true;
    });
    return uris;
  });
}

std::unique_ptr<RandomAccessFile> open_s3_for_reading(const std::string& uri, const ReadFileOptions&) {
  return with_context({.uri = uri}, [&] {
    const S3Location location = location_of(uri);
    std::shared_ptr<const S3Client> client = S3Client::open(uri);
    std::optional<S3Opening> opening = client->open_object(location.key);
    if (!opening) {
      say_if_bucket_is_missing(*client);
      throw Error(
          ErrorKind::not_found,
          fmt::format("there is no object \"{}\" in the bucket \"{}\"", location.key, location.bucket),
          "check the key, upper and lower case included");
    }
    return make_s3_reader(uri, *std::move(opening),
                          [client](unsigned depth) { return S3Queue::open(client, depth); });
  });
}

std::unique_ptr<WritableFile> open_s3_for_writing(const std::string& uri, OpenMode mode,
                                                  const WriteFileOptions&) {
  return with_context({.uri = uri}, [&] {
    const S3Location location = location_of(uri);
    if (mode == OpenMode::update)
      throw Error(
          ErrorKind::unsupported, "an object in S3 cannot be changed in place",
          "write the data set to a file of its own, or copy the file to a local disk, add to it there "
          "and copy it back");
    std::shared_ptr<const S3Client> client = S3Client::open(uri);
    const bool is_new = mode == OpenMode::create_new;
    if (is_new && client->head(location.key))
      throw Error(ErrorKind::usage, "the object already exists, but a new one was to be created",
                  "another key, or replace it explicitly");
    const S3WriteLimits limits;
    std::unique_ptr<S3Queue> queue = S3Queue::open(client, limits.uploads);
    return make_s3_writer(uri, std::move(client), location.key, std::move(queue), limits,
                          {is_new ? S3Condition::Kind::absent : S3Condition::Kind::none, {}});
  });
}

}  // namespace colonnade::io
