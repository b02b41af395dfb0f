// Writing into a ROOT file so that it is valid after every commit, and a crash at any moment leaves the last
// committed state intact.
//
// A state of the file is what its head and its directories point to. New blobs go to space that the committed
// state does not use. commit() first writes new records, which nobody points to yet, then switches the
// pointers:
//
//   1. anchor                    [key | ROOT::RNTuple object]
//   2. directories that are new  [key | list of keys], then [key | directory]; from the innermost one
//   outwards
//   3. list of keys              [key | count | entries as found ... | our entry]  of the innermost directory
//   there was
//   4. streamer infos            [key | list]        only if ROOT::RNTuple is not described yet
//   5. free list                 [key | segments]    at the very end; lists what 6 replaces, but not what 7
//   does
//   --- the switch ---
//   6. head                      one write of    0 "root" end, free list, streamer infos ... | 100 key, name,
//                                                directory of the file: list of keys        (some 200 bytes
//                                                in all)
//   7. directory, if 3. is about a sub-directory: 60 bytes in place
//   --- afterwards ---
//   8. the replaced records are marked as gaps; those that 7 replaced are listed as free by the next commit
//
// The writes 6 and 7 are small and inside one or two sectors; they must not be torn. A crash before 6 leaves
// the old state and unused bytes behind its end. Between 6 and 7 the file has the new end and the old data
// set, whose records are all still there. After 7 the new state holds, whether or not 8 happened.
#include "page/root_file_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "codec/compression.h"
#include "format/tfile_anchor.h"
#include "format/tfile_streamer_info.h"
#include "page/root_file_chunks.h"

namespace colonnade::page {
namespace {

constexpr std::uint64_t smallest_key_limit = 64;
constexpr std::uint64_t largest_key_limit = std::uint64_t{1}
                                            << 30;  // ROOT's limit, and the key's length has 31 bits
constexpr std::uint64_t free_list_step = 80;        // bytes: eight segments in the small form
constexpr std::string_view directory_class = "TDirectory";
constexpr std::string_view file_class = "TFile";
constexpr std::string_view blob_class = "RBlob";

std::uint32_t now() {
  return format::to_tdatime(std::time(nullptr));
}

bool is_directory(const format::TKey& key) {
  return key.class_name == directory_class || key.class_name == "TDirectoryFile";
}

// The last part of a path or URI: what ROOT calls the file inside of it.
std::string base_name(const std::string& uri) {
  const std::size_t slash = uri.find_last_of("/:");
  return slash == std::string::npos ? uri : uri.substr(slash + 1);
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> names;
  std::string_view rest = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  while (true) {
    const std::size_t slash = rest.find('/');
    names.emplace_back(rest.substr(0, slash));
    if (names.back().empty())
      throw Error(ErrorKind::usage,
                  fmt::format("\"{}\" is no name for a data set: a part of it is empty", path),
                  "\"Events\" or \"folder/Events\"");
    if (slash == std::string_view::npos) return names;
    rest.remove_prefix(slash + 1);
  }
}

Bytes bytes_of(format::TKey key) {
  ByteWriter out;
  format::write_tkey(out, key);
  return out.take();
}

Bytes joined(ByteSpan a, ByteSpan b) {
  Bytes result(a.begin(), a.end());
  result.insert(result.end(), b.begin(), b.end());
  return result;
}

[[noreturn]] void fail_unsupported(std::string problem, std::uint64_t offset) {
  throw Error(ErrorKind::unsupported, std::move(problem), "copy its objects to a new file with ROOT first",
              {.offset = offset});
}

}  // namespace

// ---- opening ----

void RootFileWriter::check(std::string_view path, const ContainerOptions& options) {
  format::tkey_size({.seek_key = format::small_tfile_limit + 1,
                     .class_name = std::string(format::anchor_class),
                     .name = split_path(path).back()});
  if (options.max_key_size < smallest_key_limit || options.max_key_size > largest_key_limit)
    throw Error(ErrorKind::usage,
                fmt::format("a maximum key size of {} bytes is not possible", options.max_key_size),
                fmt::format("a value from {} to {}", smallest_key_limit, largest_key_limit));
  static_cast<void>(codec::CompressionSettings::from_root(options.root_compression));
}

RootFileWriter::RootFileWriter(std::unique_ptr<io::WritableFile> file, std::string_view path,
                               const ContainerOptions& options)
    : file_(std::move(file)), options_(options), missing_(split_path(path)) {
  name_ = std::move(missing_.back());
  missing_.pop_back();
}

std::unique_ptr<RootFileWriter> RootFileWriter::create(std::unique_ptr<io::WritableFile> file,
                                                       std::string_view path, const ContainerOptions& options,
                                                       std::uint64_t first_free) {
  const std::string uri = file->uri();
  return with_context({.uri = uri, .data_set = std::string(path)}, [&] {
    std::unique_ptr<RootFileWriter> writer(new RootFileWriter(std::move(file), path, options));
    writer->write_skeleton(first_free);
    return writer;
  });
}

std::unique_ptr<RootFileWriter> RootFileWriter::append(std::unique_ptr<io::WritableFile> file,
                                                       std::string_view path,
                                                       const ContainerOptions& options) {
  const std::string uri = file->uri();
  return with_context({.uri = uri, .data_set = std::string(path)}, [&] {
    std::unique_ptr<RootFileWriter> writer(new RootFileWriter(std::move(file), path, options));
    writer->load();
    writer->load_path();
    return writer;
  });
}

// An empty file: its own record, an empty list of keys, the streamer infos, the free list. The head is
// written last.
void RootFileWriter::write_skeleton(std::uint64_t first_free) {
  Directory root;
  root.name = base_name(uri());
  root.class_name = file_class;
  root.record.created = root.record.modified = now();
  root.record.seek_directory = format::tfile_begin;
  root.record.uuid = format::random_uuid();

  format::TKey key{
      .time = now(), .seek_key = format::tfile_begin, .class_name = root.class_name, .name = root.name};
  const std::size_t names = format::tstring_size(root.name) + format::tstring_size(root.title);
  key.object_length = static_cast<std::uint32_t>(names + format::tdirectory_size);
  key.nbytes = key.object_length + format::tkey_size(key);
  ByteWriter head;
  head.append(Bytes(format::tfile_begin));
  format::write_tkey(head, key);
  format::write_tstring(head, root.name);
  format::write_tstring(head, root.title);
  root.record_at = head.position();
  head.append(Bytes(format::tdirectory_size));
  head_ = head.take();
  space_ = RootFileSpace(head_.size());

  format::TFileHeader header;
  header.nbytes_name = static_cast<std::uint32_t>(key.key_length + names);
  header.compression = options_.root_compression;
  header.uuid = root.record.uuid;
  root.record.nbytes_name = header.nbytes_name;
  const Record infos = *place_streamer_infos(header);
  header.seek_info = infos.key.seek_key;
  header.nbytes_info = infos.key.nbytes;
  const Record list = place_key_list(root, 0, {});
  root.record.seek_keys = list.key.seek_key;
  root.record.nbytes_keys = list.key.nbytes;
  for (const format::FreeSegment& gap : space_.skip_to(first_free))
    file_->write(gap.first, format::gap_marker(gap.last - gap.first + 1));
  directories_.push_back(std::move(root));
  place_free_list(header, {});
  write_head(header, directories_.front());
  header_ = header;
  knows_streamer_infos_ = true;
}

Bytes RootFileWriter::read_block(std::uint64_t offset, std::uint64_t size) const {
  const std::uint64_t file_size = file_->size();
  if (offset > file_size || size > file_size - offset)
    throw Error(ErrorKind::format,
                fmt::format("{} bytes at {} lie outside of the file of {} bytes", size, offset, file_size),
                "check that the file was transferred completely", {.offset = offset});
  Bytes bytes(static_cast<std::size_t>(size));
  file_->read(offset, bytes);
  return bytes;
}

void RootFileWriter::load() {
  const std::uint64_t file_size = file_->size();
  header_ = format::read_tfile_header(
      read_block(0, std::min<std::uint64_t>(file_size, format::tfile_header_size)), file_size);
  if (header_.begin < format::tfile_header_size)
    fail_unsupported(
        fmt::format("the file was written by a very old ROOT: its header of {} bytes cannot grow",
                    header_.begin),
        0);
  const std::uint64_t record_at = header_.begin + header_.nbytes_name;
  const Bytes first = read_block(header_.begin, header_.nbytes_name);
  ByteReader in(first, header_.begin);
  directories_.push_back(load_directory(format::read_tkey(in, file_size), record_at));
  directories_.front().class_name = file_class;
  head_ = read_block(0, record_at + directories_.front().record_room);
  load_free_list();
}

// The record's room is what its object has behind the names: the small form may have been written without
// reserve.
RootFileWriter::Directory RootFileWriter::load_directory(const format::TKey& key,
                                                         std::uint64_t record_at) const {
  const std::uint64_t record_end = key.seek_key + key.nbytes;
  Directory directory{.name = key.name, .title = key.title, .class_name = std::string(directory_class)};
  directory.record_at = record_at;
  directory.record_room =
      std::min<std::uint64_t>(record_end - std::min(record_at, record_end), format::tdirectory_size);
  constexpr std::uint64_t small_size = format::tdirectory_size - 12;
  if (directory.record_room < small_size)
    fail_unsupported(
        fmt::format("the directory \"{}\" was written by a very old ROOT: its record of {} bytes cannot grow",
                    key.name, directory.record_room),
        record_at);
  const Bytes bytes = read_block(record_at, directory.record_room);
  ByteReader in(bytes, record_at);
  directory.record = format::read_tdirectory(in, file_->size());
  if (directory.record.seek_keys == 0) return directory;
  const Bytes record = read_block(directory.record.seek_keys, directory.record.nbytes_keys);
  const format::TKeyList list = format::read_tkey_list(record, directory.record.seek_keys, file_->size());
  directory.entry_count = static_cast<std::uint32_t>(list.keys.size());
  directory.entries.assign(list.entries.begin(), list.entries.end());
  return directory;
}

std::vector<format::TKey> RootFileWriter::keys_of(const Directory& directory) const {
  ByteReader in(directory.entries, directory.record.seek_keys);
  std::vector<format::TKey> keys;
  for (std::uint32_t i = 0; i < directory.entry_count; ++i)
    keys.push_back(format::read_tkey(in, file_->size(), format::KeyPlace::list));
  return keys;
}

// Gaps are used only where the file itself agrees that they are gaps; others stay listed as they are.
void RootFileWriter::load_free_list() {
  if (header_.seek_free == 0)
    throw Error(ErrorKind::format, "the file was not closed by its writer: it has no list of free space",
                "open it once with ROOT in update mode, which repairs it");
  const Bytes record = read_block(header_.seek_free, header_.nbytes_free);
  space_ = RootFileSpace(header_.end);
  for (const format::FreeSegment& segment : format::read_free_list(record, header_.seek_free, header_.end)) {
    if (segment.first == header_.end) break;
    const std::uint64_t size = segment.last - segment.first + 1;
    const bool holds_marker = size >= 4 && size <= format::small_tfile_limit;
    if (holds_marker && read_block(segment.first, 4) == format::gap_marker(size))
      space_.add(segment);
    else
      space_.keep_listed(segment);
  }
}

// Goes down the path as far as its directories exist.
void RootFileWriter::load_path() {
  while (true) {
    const std::string& wanted = missing_.empty() ? name_ : missing_.front();
    std::optional<format::TKey> found;
    for (format::TKey& key : keys_of(directories_.back()))
      if (key.name == wanted && (!found || key.cycle > found->cycle)) found = std::move(key);
    if (!found) return;
    if (missing_.empty())
      throw Error(ErrorKind::usage,
                  fmt::format("the file has an object \"{}\" of class {} already", wanted, found->class_name),
                  "another name, or another file");
    if (!is_directory(*found))
      throw Error(ErrorKind::usage,
                  fmt::format("\"{}\" is no directory but an object of class {}", wanted, found->class_name),
                  "another name");
    directories_.push_back(load_directory(*found, found->seek_key + found->key_length));
    missing_.erase(missing_.begin());
  }
}

// ---- blobs ----

std::uint64_t RootFileWriter::reserve(std::uint64_t size, RootFileSpace::Use use) {
  const std::lock_guard lock(mutex_);
  return reserve_locked(size, use);
}

std::uint64_t RootFileWriter::reserve_locked(std::uint64_t size, RootFileSpace::Use use) {
  const RootFileSpace::Allocation allocation = space_.allocate(size, use);
  if (allocation.rest)
    file_->write(allocation.rest->first,
                 format::gap_marker(allocation.rest->last - allocation.rest->first + 1));
  return allocation.offset;
}

// One key and its payload, given in parts; returns where the payload begins.
std::uint64_t RootFileWriter::write_chunk(std::span<const ByteSpan> parts,
                                          std::uint64_t uncompressed_length) {
  if (closed_)
    throw Error(ErrorKind::usage, "the file is closed already", "write before close()", {.uri = uri()});
  std::uint64_t size = 0;
  for (ByteSpan part : parts) size += part.size();
  format::TKey key{
      .time = now(), .seek_directory = header_.begin, .big = true, .class_name = std::string(blob_class)};
  const std::uint64_t length = uncompressed_length <= 0xffffffffu ? uncompressed_length : size;
  key.object_length = static_cast<std::uint32_t>(length);
  key.nbytes = static_cast<std::uint32_t>(size + format::tkey_size(key));
  key.seek_key = reserve(key.nbytes, RootFileSpace::Use::blob);
  const Bytes key_bytes = bytes_of(key);
  std::vector<ByteSpan> record{key_bytes};
  record.insert(record.end(), parts.begin(), parts.end());
  file_->write_vector(key.seek_key, record);
  return key.seek_key + key_bytes.size();
}

// A payload of any size. The first chunk goes last, because it lists where the others are.
std::uint64_t RootFileWriter::write_split(ByteSpan payload, std::uint64_t uncompressed_length) {
  const ChunkPlan plan = plan_chunks(payload.size(), options_.max_key_size, ErrorKind::usage);
  if (plan.chunks == 1) return write_chunk({&payload, 1}, uncompressed_length);
  ByteWriter offsets;
  for (ByteSpan rest = payload.subspan(plan.first_data); !rest.empty();) {
    const ByteSpan chunk = rest.first(std::min<std::size_t>(rest.size(), options_.max_key_size));
    offsets.le<std::uint64_t>(write_chunk({&chunk, 1}, chunk.size()));
    rest = rest.subspan(chunk.size());
  }
  const std::array<ByteSpan, 2> first{payload.first(plan.first_data), offsets.view()};
  return write_chunk(first, options_.max_key_size);
}

Locator RootFileWriter::write_blob(ByteSpan payload, std::uint64_t uncompressed_length) {
  return with_context({.uri = uri(), .data_set = name_}, [&] {
    return Locator{.size = payload.size(), .offset = write_split(payload, uncompressed_length)};
  });
}

std::vector<std::uint64_t> RootFileWriter::write_parts(std::span<const ByteSpan> parts) {
  std::vector<std::uint64_t> offsets;
  offsets.reserve(parts.size());
  with_context({.uri = uri(), .data_set = name_}, [&] {
    while (offsets.size() < parts.size()) {
      const std::span<const ByteSpan> rest = parts.subspan(offsets.size());
      std::size_t count = 0;
      std::uint64_t size = 0;
      while (count < rest.size() && size + rest[count].size() <= options_.max_key_size)
        size += rest[count++].size();
      if (count == 0) {
        offsets.push_back(write_split(rest[0], rest[0].size()));
        continue;
      }
      std::uint64_t offset = write_chunk(rest.first(count), size);
      for (ByteSpan part : rest.first(count)) {
        offsets.push_back(offset);
        offset += part.size();
      }
    }
  });
  return offsets;
}

// ---- records of a commit ----

// Decided before the place is known, since the key's length depends on it: a key may be big without need.
void RootFileWriter::make_big_if_far(format::TKey& key, std::uint64_t payload_size) const {
  constexpr std::uint64_t longest_key = 1 << 16;
  key.big = key.big || key.seek_directory > format::small_tfile_limit ||
            space_.end() + longest_key + payload_size > format::small_tfile_limit;
}

RootFileWriter::Record RootFileWriter::place(format::TKey key, ByteSpan payload) {
  make_big_if_far(key, payload.size());
  key.time = now();
  key.key_length = format::tkey_size(key);
  if (payload.size() > format::longest_record - key.key_length)
    throw Error(ErrorKind::resource,
                fmt::format("a record of {} bytes is too long for a ROOT file", payload.size()),
                "fewer objects per directory");
  key.nbytes = static_cast<std::uint32_t>(key.key_length + payload.size());
  if (key.object_length == 0) key.object_length = static_cast<std::uint32_t>(payload.size());
  key.seek_key = reserve(key.nbytes, RootFileSpace::Use::index);
  const Bytes key_bytes = bytes_of(key);
  const std::array<ByteSpan, 2> record{key_bytes, payload};
  file_->write_vector(key.seek_key, record);
  return {std::move(key)};
}

RootFileWriter::Record RootFileWriter::place_key_list(const Directory& directory, std::uint32_t count,
                                                      ByteSpan entries) {
  ByteWriter payload;
  payload.be<std::uint32_t>(count);
  payload.append(entries);
  return place({.seek_directory = directory.record.seek_directory,
                .class_name = directory.class_name,
                .name = directory.name,
                .title = directory.title},
               payload.view());
}

RootFileWriter::Record RootFileWriter::place_anchor(const Anchor& anchor, const Directory& directory) {
  return place({.seek_directory = directory.record.seek_directory,
                .class_name = std::string(format::anchor_class),
                .name = name_},
               format::write_anchor(anchor));
}

format::TKey RootFileWriter::directory_key(const Directory& directory) const {
  format::TKey key{.object_length = format::tdirectory_size,
                   .time = directory.record.created,
                   .seek_key = directory.record.seek_directory,
                   .seek_directory = directory.record.seek_parent,
                   .big = directory.record.big,
                   .class_name = directory.class_name,
                   .name = directory.name,
                   .title = directory.title};
  key.nbytes = format::tkey_size(key) + key.object_length;
  return key;
}

// Where the directories will lie must be known before anything in them is written.
std::vector<RootFileWriter::Directory> RootFileWriter::reserve_missing_directories() {
  std::vector<Directory> made;
  std::uint64_t parent = directories_.back().record.seek_directory;
  for (const std::string& name : missing_) {
    Directory directory{.name = name, .title = name, .class_name = std::string(directory_class)};
    directory.record.created = directory.record.modified = now();
    directory.record.uuid = format::random_uuid();
    directory.record.seek_parent = parent;
    directory.record.big = space_.end() > format::small_tfile_limit / 2;  // settles the form of its key, too
    const format::TKey key = directory_key(directory);
    directory.record.nbytes_name = key.nbytes - key.object_length;
    directory.record.seek_directory = reserve(key.nbytes, RootFileSpace::Use::index);
    directory.record_at = directory.record.seek_directory + directory.record.nbytes_name;
    parent = directory.record.seek_directory;
    made.push_back(std::move(directory));
  }
  return made;
}

// Writes the reserved directories with the anchor in the innermost one; returns the entry that leads to the
// outermost.
Bytes RootFileWriter::place_made_directories(std::vector<Directory>& made, const Record& anchor) {
  Bytes entry = bytes_of(anchor.key);
  for (auto directory = made.rbegin(); directory != made.rend(); ++directory) {
    const Record list = place_key_list(*directory, 1, entry);
    directory->record.seek_keys = list.key.seek_key;
    directory->record.nbytes_keys = list.key.nbytes;
    Bytes key_bytes = bytes_of(directory_key(*directory));
    const Bytes record = directory_bytes(*directory);
    const std::array<ByteSpan, 2> parts{key_bytes, record};
    file_->write_vector(directory->record.seek_directory, parts);
    if (directory !=
        made.rbegin()) {  // the innermost one gets its only entry, the data set, anew with every commit
      directory->entries = std::move(entry);
      directory->entry_count = 1;
    }
    entry = std::move(key_bytes);
  }
  return entry;
}

// The list that the file has with ROOT::RNTuple added; nothing if that is described already. Positions inside
// the list count from its key, so the key must keep its length: where it has to become big, the title gives
// the room.
std::optional<RootFileWriter::Record> RootFileWriter::place_streamer_infos(
    const format::TFileHeader& header) {
  format::TKey key{.seek_directory = header.begin,
                   .class_name = "TList",
                   .name = "StreamerInfo",
                   .title = "Doubly linked list"};
  Bytes list;
  if (header.seek_info == 0) {
    make_big_if_far(key, 4096);
    list = format::write_streamer_infos(format::tkey_size(key));
  } else {
    const Bytes record = read_block(header.seek_info, header.nbytes_info);
    ByteReader in(record, header.seek_info);
    const format::TKey old = format::read_tkey(in, file_->size());
    const ByteSpan stored = in.take(old.payload_size(), "streamer infos");
    constexpr std::uint64_t most = std::uint64_t{1} << 20;
    if (old.object_length > most + 1024 * stored.size())
      throw Error(ErrorKind::format,
                  fmt::format("streamer infos: {} bytes in a record of {}", old.object_length, stored.size()),
                  "repair the file with ROOT first", {.offset = header.seek_info});
    Bytes content(stored.begin(), stored.end());
    if (old.object_length != stored.size()) {
      content.resize(old.object_length);
      with_context({.offset = header.seek_info}, [&] { codec::decompress(stored, content); });
    }
    std::optional<Bytes> longer = with_context(
        {.offset = header.seek_info}, [&] { return format::add_rntuple_info(content, old.key_length); });
    if (!longer) return std::nullopt;
    list = std::move(*longer);
    key.big = old.big;
    make_big_if_far(key, list.size());
    const std::size_t length = format::tkey_size(key);
    key.title =
        old.key_length >= length
            ? key.title + std::string(old.key_length - length, ' ')
            : key.title.substr(0, key.title.size() - std::min(key.title.size(), length - old.key_length));
    if (format::tkey_size(key) != old.key_length)
      fail_unsupported("the streamer infos of the file have a key of unusual length", header.seek_info);
  }
  AlignedBuffer block;
  codec::compress(codec::CompressionSettings::from_root(options_.root_compression), list, block);
  key.object_length = static_cast<std::uint32_t>(list.size());
  return place(std::move(key), block.span());
}

// The list describes the file with the list itself in it and with `replaced` gone. It is sized before its
// place is known; where it fills a gap and thereby shortens itself, zeros follow it, which readers do not
// look at.
void RootFileWriter::place_free_list(format::TFileHeader& header,
                                     std::span<const format::FreeSegment> replaced) {
  const std::lock_guard lock(mutex_);
  const auto segments_then = [&](std::uint64_t end) {
    RootFileSpace then = space_;
    for (const format::FreeSegment& segment : replaced) then.release(segment);
    return then.segments(end);
  };
  const Directory& root = directories_.front();
  format::TKey key{.time = now(),
                   .seek_directory = header.begin,
                   .class_name = std::string(file_class),
                   .name = root.name,
                   .title = root.title};
  // The tail's form depends on where the file ends, which depends on the size: settled in two rounds.
  std::uint64_t list_size = 0;
  for (int round = 0; round < 2; ++round) {
    make_big_if_far(key, list_size);
    list_size = format::free_list_size(segments_then(space_.end() + format::tkey_size(key) + list_size));
    list_size = (list_size + free_list_step - 1) / free_list_step * free_list_step;
  }
  key.object_length = static_cast<std::uint32_t>(list_size);
  key.nbytes = static_cast<std::uint32_t>(format::tkey_size(key) + list_size);
  key.seek_key = reserve_locked(key.nbytes, RootFileSpace::Use::index);
  const std::vector<format::FreeSegment> segments = segments_then(space_.end());
  Bytes list = format::write_free_list(segments);
  list.resize(list_size);
  const Bytes key_bytes = bytes_of(key);
  const std::array<ByteSpan, 2> record{key_bytes, list};
  file_->write_vector(key.seek_key, record);
  header.seek_free = key.seek_key;
  header.nbytes_free = key.nbytes;
  header.free_segments = static_cast<std::uint32_t>(segments.size());
  header.end = space_.end();
}

// ---- the switch ----

Bytes RootFileWriter::directory_bytes(const Directory& directory) const {
  ByteWriter out;
  format::write_tdirectory(out, directory.record);
  Bytes bytes = out.take();
  const auto room = static_cast<std::size_t>(directory.record_room);
  if (bytes.size() > room && std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(room), bytes.end(),
                                         [](std::byte byte) { return byte != std::byte{0}; }))
    fail_unsupported(fmt::format("the directory \"{}\" has no room for positions above 2 GB", directory.name),
                     directory.record_at);
  bytes.resize(room);
  return bytes;
}

void RootFileWriter::write_head(const format::TFileHeader& header, const Directory& root) {
  Bytes head = head_;
  const Bytes header_bytes = format::write_tfile_header(header);
  const Bytes directory = directory_bytes(root);
  std::copy(header_bytes.begin(), header_bytes.end(), head.begin());
  std::copy(directory.begin(), directory.end(), head.begin() + static_cast<std::ptrdiff_t>(root.record_at));
  file_->write(0, head);
  head_ = std::move(head);
}

void RootFileWriter::write_directory(const Directory& directory) {
  file_->write(directory.record_at, directory_bytes(directory));
}

void RootFileWriter::release(const format::FreeSegment& segment) {
  const std::lock_guard lock(mutex_);
  const format::FreeSegment gap = space_.release(segment);
  file_->write(gap.first, format::gap_marker(gap.last - gap.first + 1));
}

// The committed list of keys of the innermost directory, and the anchor that it leads to.
std::vector<format::FreeSegment> RootFileWriter::replaced_lists() const {
  std::vector<format::FreeSegment> segments;
  const format::TDirectoryRecord& record = directories_.back().record;
  if (record.seek_keys != 0)
    segments.push_back({record.seek_keys, record.seek_keys + record.nbytes_keys - 1});
  if (anchor_) segments.push_back(anchor_->place());
  return segments;
}

// What nobody needs any more as soon as the new head is there.
std::vector<format::FreeSegment> RootFileWriter::replaced_by_head(const format::TFileHeader& header,
                                                                  bool in_root) const {
  std::vector<format::FreeSegment> segments;
  if (in_root) segments = replaced_lists();
  segments.push_back({header_.seek_free, header_.seek_free + header_.nbytes_free - 1});
  if (header_.seek_info != 0 && header_.seek_info != header.seek_info)
    segments.push_back({header_.seek_info, header_.seek_info + header_.nbytes_info - 1});
  return segments;
}

void RootFileWriter::sync_if_asked() {
  if (options_.durability == Durability::machine) file_->sync();
}

void RootFileWriter::commit(const Anchor& anchor) {
  if (closed_)
    throw Error(ErrorKind::usage, "the file is closed already", "commit before close()", {.uri = uri()});
  with_context({.uri = uri(), .data_set = name_}, [&] {
    for (const format::FreeSegment& segment : std::exchange(unlisted_, {})) release(segment);
    format::TFileHeader header = header_;
    std::vector<Directory> made = reserve_missing_directories();
    const Record placed = place_anchor(anchor, made.empty() ? directories_.back() : made.back());
    const Bytes entry = place_made_directories(made, placed);

    Directory changed = directories_.back();
    const Bytes entries = joined(changed.entries, entry);
    const Record list = place_key_list(changed, changed.entry_count + 1, entries);
    changed.record.seek_keys = list.key.seek_key;
    changed.record.nbytes_keys = list.key.nbytes;
    changed.record.modified = now();
    if (!knows_streamer_infos_) {
      if (const std::optional<Record> infos = place_streamer_infos(header)) {
        header.seek_info = infos->key.seek_key;
        header.nbytes_info = infos->key.nbytes;
      }
    }
    const bool in_root = directories_.size() == 1;
    const std::vector<format::FreeSegment> by_head = replaced_by_head(header, in_root);
    place_free_list(header, by_head);
    sync_if_asked();

    uncertain_ = true;
    write_head(header, in_root ? changed : directories_.front());
    if (!in_root) {
      sync_if_asked();
      write_directory(changed);
    }
    sync_if_asked();

    const std::vector<format::FreeSegment> by_directory =
        in_root ? std::vector<format::FreeSegment>{} : replaced_lists();
    header_ = header;
    anchor_ = placed;
    directories_.back() = std::move(changed);
    if (!made.empty()) {
      directories_.back().entries = entries;
      ++directories_.back().entry_count;
      std::move(made.begin(), made.end(), std::back_inserter(directories_));
      missing_.clear();
    }
    knows_streamer_infos_ = true;
    uncertain_ = false;

    for (const format::FreeSegment& segment : by_head) release(segment);
    for (const format::FreeSegment& segment : by_directory) {
      file_->write(segment.first, format::gap_marker(segment.last - segment.first + 1));
      unlisted_.push_back(segment);
    }
  });
}

void RootFileWriter::close() {
  if (closed_) return;
  closed_ = true;
  with_context({.uri = uri(), .data_set = name_}, [&] {
    // Blobs behind the end belong to no data set: they were written after the last commit.
    if (!uncertain_ && file_->size() > header_.end) file_->truncate(header_.end);
    file_->close();
  });
}

}  // namespace colonnade::page
