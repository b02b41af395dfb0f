// Finding data sets: header -> directory of the file -> its list of keys -> (sub-directories ->) anchors.
//
// Opening reads the first 4 KiB; a directory costs one read for its record and one for its list. Directories
// are read on demand, so that opening one data set of a file with thousands of folders stays cheap. In
// hostile files, directories may contain each other or share one list: a walk visits each directory once, and
// the size of the file bounds the bytes it reads and the paths it makes.
#include "container/root_file/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>

#include "base/utf8.h"
#include "codec/compression.h"
#include "container/root_file/chunks.h"
#include "container/root_file/keys.h"
#include "format/tfile_anchor.h"

namespace colonnade::container {
namespace {

constexpr std::size_t first_read = 4096;
constexpr std::size_t deepest = 100;
constexpr std::string_view prerelease_class = "ROOT::Experimental::RNTuple";

Bytes read_block(const io::RandomAccessFile& file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset)
    throw Error(ErrorKind::format,
                fmt::format("{} bytes at {} lie outside of the file of {} bytes", size, offset, file.size()),
                "check that the file was transferred completely", {.offset = offset});
  Bytes bytes(static_cast<std::size_t>(size));
  file.read(offset, bytes);
  return bytes;
}

// The keys without those that a later cycle of the same name and class replaces, in the order of the list.
std::vector<format::TKey> latest_cycles(std::vector<format::TKey> keys) {
  std::map<std::pair<std::string_view, std::string_view>, std::uint16_t> latest;
  for (const format::TKey& key : keys) {
    std::uint16_t& cycle = latest[{key.name, key.class_name}];
    cycle = std::max(cycle, key.cycle);
  }
  std::vector<bool> keep;
  keep.reserve(keys.size());
  for (const format::TKey& key : keys) {
    const auto found = latest.find({key.name, key.class_name});
    keep.push_back(found != latest.end() && found->second == key.cycle);
    if (keep.back()) latest.erase(found);
  }
  latest.clear();
  std::vector<format::TKey> result;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keep[i]) result.push_back(std::move(keys[i]));
  return result;
}

// "Events;2" as its name and its cycle, which ROOT counts from 1.
std::optional<std::pair<std::string_view, std::uint16_t>> split_cycle(std::string_view path) {
  const std::size_t at = path.rfind(';');
  if (at == std::string_view::npos || at + 1 == path.size()) return std::nullopt;
  std::uint16_t cycle = 0;
  const char* const end = path.data() + path.size();
  const auto [stop, failure] = std::from_chars(path.data() + at + 1, end, cycle);
  if (stop != end || failure != std::errc{} || cycle == 0) return std::nullopt;
  return std::pair{path.substr(0, at), cycle};
}

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

}  // namespace

RootFileReader::RootFileReader(std::unique_ptr<io::RandomAccessFile> file)
    : file_(std::move(file)), size_(file_->size()) {
  with_context({.uri = uri()}, [&] {
    Bytes head = read_block(*file_, 0, std::min<std::uint64_t>(size_, first_read));
    header_ = format::read_tfile_header(head, size_);
    const std::uint64_t record = header_.begin + header_.nbytes_name;
    const std::uint64_t end = std::min<std::uint64_t>(size_, record + format::tdirectory_size);
    if (end > head.size() || record > end) head = read_block(*file_, 0, end);
    ByteReader in(ByteSpan(head).subspan(static_cast<std::size_t>(record)), record);
    root_ = format::read_tdirectory(in, size_);
  });
}

// Limits the cost of a walk through all directories.
struct RootFileReader::Walk {
  const Visitor& visitor;
  std::uint64_t key_bytes_left;
  std::uint64_t path_bytes_left;
  std::size_t depth = 0;
  std::set<std::uint64_t> seen{};  // positions of the directories' lists

  static void spend(std::uint64_t& budget, std::uint64_t amount) {
    if (amount > budget)
      throw Error(ErrorKind::format, "the directories of the file overlap or contain each other",
                  "check that the file was transferred completely");
    budget -= amount;
  }
};

struct RootFileReader::KnownKeys {
  std::vector<format::TKey> keys;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name;
};

std::vector<format::TKey> RootFileReader::read_all_keys(
    const format::TDirectoryRecord& directory,
    const std::function<bool(const format::TKey&)>& is_wanted) const {
  if (directory.seek_keys == 0) return {};
  const Bytes record = read_block(*file_, directory.seek_keys, directory.nbytes_keys);
  return format::read_tkey_list(record, directory.seek_keys, size_, is_wanted).keys;
}

// The keys with one of the names, which differ, in the order of the list.
std::vector<format::TKey> RootFileReader::keys_named(const format::TDirectoryRecord& directory,
                                                     std::span<const std::string_view> names) const {
  if (!known_)
    return read_all_keys(directory, [&](const format::TKey& key) {
      return std::ranges::find(names, std::string_view(key.name)) != names.end();
    });
  std::shared_ptr<const KnownKeys> known;
  {
    const std::lock_guard lock(known_->mutex);
    std::shared_ptr<const KnownKeys>& place = known_->directories[directory.seek_keys];
    if (!place) {
      auto read = std::make_shared<KnownKeys>();
      read->keys = read_all_keys(directory);
      for (std::size_t i = 0; i < read->keys.size(); ++i) read->by_name[read->keys[i].name].push_back(i);
      place = std::move(read);
    }
    known = place;
  }
  std::vector<std::size_t> places;
  for (const std::string_view name : names)
    if (const auto found = known->by_name.find(name); found != known->by_name.end())
      places.insert(places.end(), found->second.begin(), found->second.end());
  std::ranges::sort(places);
  std::vector<format::TKey> keys;
  keys.reserve(places.size());
  for (const std::size_t place : places) keys.push_back(known->keys[place]);
  return keys;
}

std::vector<format::TKey> RootFileReader::read_keys(const format::TDirectoryRecord& directory) const {
  return latest_cycles(read_all_keys(directory));
}

format::TDirectoryRecord RootFileReader::read_subdirectory(const format::TKey& key) const {
  const std::uint64_t used = std::min<std::uint64_t>(key.nbytes, key.key_length + format::tdirectory_size);
  const Bytes record = read_block(*file_, key.seek_key, used);
  ByteReader in(record, key.seek_key);
  const format::TKey own = format::read_tkey(in, size_);
  if (own.seek_key != key.seek_key || !is_directory(own) || own.name != key.name)
    throw Error(ErrorKind::format,
                fmt::format("no directory \"{}\" lies where the list of keys says", key.name),
                "check that the file was transferred completely", {.offset = key.seek_key});
  return format::read_tdirectory(in, size_);
}

void RootFileReader::visit(const format::TDirectoryRecord& directory, const std::string& prefix,
                           Walk& walk) const {
  if (directory.seek_keys == 0) return;
  if (walk.depth > deepest || !walk.seen.insert(directory.seek_keys).second)
    Walk::spend(walk.key_bytes_left, walk.key_bytes_left + 1);
  Walk::spend(walk.key_bytes_left, directory.nbytes_keys);
  for (const format::TKey& key : read_keys(directory)) {
    Walk::spend(walk.path_bytes_left, prefix.size() + key.name.size());
    const std::string path = prefix + key.name;
    walk.visitor(path, key);
    if (!is_directory(key)) continue;
    ++walk.depth;
    visit(read_subdirectory(key), path + "/", walk);
    --walk.depth;
  }
}

void RootFileReader::visit_all(const Visitor& visitor) const {
  with_context({.uri = uri()}, [&] {
    Walk walk{visitor, size_, 64 * size_ + 65536};
    visit(root_, "", walk);
  });
}

std::vector<std::string> RootFileReader::data_sets() const {
  std::vector<std::string> paths;
  visit_all([&](const std::string& path, const format::TKey& key) {
    if (key.class_name == format::anchor_class) paths.push_back(path);
  });
  return paths;
}

std::vector<ReadContainer::ObjectEntry> RootFileReader::objects() const {
  std::vector<ObjectEntry> entries;
  visit_all([&](const std::string& path, const format::TKey& key) {
    if (key.class_name != format::anchor_class && !is_directory(key))
      entries.push_back({path, key.class_name, key.payload_size()});
  });
  return entries;
}

std::vector<format::ClassInfo> RootFileReader::class_infos(
    const std::function<bool(const std::string& name)>& is_wanted) const {
  if (header_.seek_info == 0) return {};
  try {
    const Bytes record = read_block(*file_, header_.seek_info, header_.nbytes_info);
    constexpr std::uint64_t longest = std::uint64_t{1} << 26;
    const StreamerInfoRecord infos = read_streamer_infos(record, header_.seek_info, size_, longest);
    return format::read_class_infos(infos.list, infos.key.key_length, is_wanted);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::format && error.kind() != ErrorKind::checksum) throw;
    return {};
  }
}

// The data set at `path`, else any other object of that name; the latest, unless a cycle is told. A name may
// itself contain a slash.
std::optional<format::TKey> RootFileReader::find(const format::TDirectoryRecord& directory,
                                                 std::string_view path,
                                                 std::optional<std::uint16_t> cycle) const {
  const std::size_t slash = path.find('/');
  const std::array<std::string_view, 2> names{path, path.substr(0, slash)};
  const std::vector<format::TKey> keys =
      keys_named(directory, std::span(names).first(slash == std::string_view::npos ? 1 : 2));
  const std::vector<format::TKey> latest = latest_cycles(keys);
  std::optional<format::TKey> other;
  for (const format::TKey& key : cycle ? keys : latest) {
    if (key.name != path || (cycle && key.cycle != *cycle)) continue;
    if (key.class_name == format::anchor_class) return key;
    if (!other) other = key;
  }
  if (other) return other;
  if (slash == std::string_view::npos) return std::nullopt;
  for (const format::TKey& key : latest)
    if (is_directory(key) && key.name == path.substr(0, slash))
      return find(read_subdirectory(key), path.substr(slash + 1), cycle);
  return std::nullopt;
}

Anchor RootFileReader::anchor(std::string_view path) const {
  return with_context({.uri = uri(), .data_set = std::string(path)}, [&] {
    const std::string_view inside = path.substr(std::min(path.find_first_not_of('/'), path.size()));
    std::optional<format::TKey> key = find(root_, inside);
    if (!key) key = find(root_, stored_name(inside));
    if (!key)
      if (const auto named = split_cycle(inside)) key = find(root_, named->first, named->second);
    if (!key || key->class_name != format::anchor_class) fail_not_found(path, key);
    return read_anchor(*key);
  });
}

void RootFileReader::visit_anchors(const AnchorVisitor& visitor) const {
  visit_all([&](const std::string& path, const format::TKey& key) {
    if (key.class_name != format::anchor_class) return;
    visitor(path,
            [&] { return with_context({.uri = uri(), .data_set = path}, [&] { return read_anchor(key); }); });
  });
}

Anchor RootFileReader::read_anchor(const format::TKey& key) const {
  const Bytes record = read_block(*file_, key.seek_key, key.nbytes);
  ByteReader in(record, key.seek_key);
  const format::TKey own = format::read_tkey(in, size_);
  if (own.seek_key != key.seek_key || own.nbytes != key.nbytes || own.class_name != key.class_name ||
      own.name != key.name)
    throw Error(ErrorKind::format, fmt::format("no anchor \"{}\" lies where the list of keys says", key.name),
                "check that the file was transferred completely", {.offset = key.seek_key});
  const std::uint64_t offset = in.offset();
  const ByteSpan stored = in.take(own.payload_size(), "anchor");
  if (own.object_length == stored.size()) return format::read_anchor(stored, offset, size_);
  if (own.object_length > format::largest_anchor)
    throw Error(ErrorKind::format,
                fmt::format("anchor: {} bytes are more than any anchor has", own.object_length), "",
                {.offset = offset});
  Bytes object(own.object_length);
  with_context({.offset = offset}, [&] { codec::decompress(stored, object); });
  return format::read_anchor(object, offset, size_);
}

void RootFileReader::fail_not_found(std::string_view path, const std::optional<format::TKey>& other) const {
  if (other && other->class_name == prerelease_class)
    throw Error(ErrorKind::unsupported,
                fmt::format("\"{}\" was written by a pre-release of the format ({})", path, prerelease_class),
                "write the data again with ROOT 6.34 or later", {.offset = other->seek_key});
  const std::vector<std::string> names = data_sets();
  std::string advice = names.empty()       ? "another file: this one has no data set"
                       : names.size() == 1 ? list_names(names)
                                           : "one of " + list_names(names);
  if (!lists_objects())
    throw Error(ErrorKind::not_found,
                fmt::format("there is no data set \"{}\": the file was not closed by its writer", path),
                advice_without_list);
  if (!other) throw Error(ErrorKind::not_found, fmt::format("there is no data set \"{}\"", path), advice);
  if (other->class_name == "TTree") advice = "colonnade import, or colonnade.import_tree(), converts it";
  throw Error(ErrorKind::not_found,
              fmt::format("\"{}\" is a {}, not a data set (RNTuple)", path, other->class_name), advice);
}

void RootFileReader::read_blob(const Locator& locator, std::uint64_t max_key_size,
                               MutableByteSpan into) const {
  read_chunked_blob(*file_, locator, max_key_size, into);
}

void RootFileReader::read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const {
  read_chunked_blobs(*file_, blobs, max_key_size);
}

void expect_many(ReadContainer& container) {
  // Other containers find each data set by itself.
  if (auto* const file = dynamic_cast<RootFileReader*>(&container)) file->keep_keys();
}

}  // namespace colonnade::container
