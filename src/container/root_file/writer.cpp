// Opening a file for writing, and blobs. For commits see commit.cpp.
#include "container/root_file/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/after_commit.h"
#include "codec/compression.h"
#include "container/root_file/chunks.h"
#include "container/root_file/keys.h"
#include "format/tfile_anchor.h"

namespace colonnade::container {
namespace {

constexpr std::uint64_t smallest_key_limit = 64;
constexpr std::uint64_t largest_key_limit = std::uint64_t{1}
                                            << 30;  // ROOT's; the length of a key has 31 bits
constexpr std::string_view blob_class = "RBlob";
// The maximum length of the file's name, which it records twice before its directory: head and directory then
// fit one sector of 512 bytes.
constexpr std::size_t longest_base_name = 150;

// The last part of a path or URI: the name that ROOT records inside the file.
std::string base_name(const std::string& uri) {
  const std::size_t slash = uri.find_last_of("/:");
  std::string name = slash == std::string::npos ? uri : uri.substr(slash + 1);
  if (name.size() <= longest_base_name) return name;
  std::size_t size = longest_base_name;
  while (size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;  // within a character
  name.resize(size);
  return name;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> names;
  std::string_view rest = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  while (true) {
    const std::size_t slash = rest.find('/');
    names.emplace_back(rest.substr(0, slash));
    if (names.back().empty())
      throw Error(ErrorKind::usage,
                  fmt::format("\"{}\" is not a valid name for a data set: a part of it is empty", path),
                  "\"Events\" or \"folder/Events\"");
    if (slash == std::string_view::npos) return names;
    rest.remove_prefix(slash + 1);
  }
}

void check_key_limit(std::uint64_t size) {
  if (size < smallest_key_limit || size > largest_key_limit)
    throw Error(ErrorKind::usage, fmt::format("a maximum key size of {} bytes is not possible", size),
                fmt::format("a value from {} to {}", smallest_key_limit, largest_key_limit));
}

}  // namespace

void RootFileWriter::use_max_key_size(std::uint64_t size) {
  check_key_limit(size);
  options_.max_key_size = size;
}

void RootFileWriter::check(std::string_view path, const ContainerOptions& options) {
  format::tkey_size({.seek_key = format::small_tfile_limit + 1,
                     .class_name = std::string(format::anchor_class),
                     .name = split_path(path).back()});
  check_key_limit(options.max_key_size);
  static_cast<void>(codec::CompressionSettings::from_root(options.root_compression));
}

RootFileWriter::RootFileWriter(std::unique_ptr<io::WritableFile> file, std::string_view path,
                               ContainerOptions options)
    : file_(std::move(file)), options_(std::move(options)), missing_(split_path(path)) {
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
    writer->load(Tail::cut);
    writer->load_path();
    writer->cut_tail_ = writer->file_->size() > writer->header_.end;
    writer->size_before_ = writer->header_.end;
    return writer;
  });
}

std::unique_ptr<RootFileWriter> RootFileWriter::replace(std::unique_ptr<io::WritableFile> file,
                                                        std::string_view path,
                                                        const ContainerOptions& options) {
  const std::string uri = file->uri();
  return with_context({.uri = uri, .data_set = std::string(path)}, [&] {
    std::unique_ptr<RootFileWriter> writer(new RootFileWriter(std::move(file), path, options));
    writer->keep_up_to_ = writer->size_before_ = writer->file_->size();
    writer->load(Tail::keep);
    writer->load_existing();
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

// New records go to gaps, or behind what the file keeps.
void RootFileWriter::load(Tail tail) {
  const std::uint64_t file_size = file_->size();
  header_ = format::read_tfile_header(
      read_block(0, std::min<std::uint64_t>(file_size, format::tfile_header_size)), file_size);
  if (header_.begin < format::tfile_header_size)
    fail_too_old(fmt::format("the file was written by a very old ROOT: its header of {} bytes cannot grow",
                             header_.begin),
                 0);
  begin_ = header_.begin;
  const std::uint64_t record_at = header_.begin + header_.nbytes_name;
  const Bytes first = read_block(header_.begin, header_.nbytes_name);
  ByteReader in(first, header_.begin);
  directories_.push_back(load_directory(format::read_tkey(in, file_size), record_at));
  directories_.front().class_name = file_class;
  head_ = read_block(0, record_at + directories_.front().record_room);
  load_free_list(tail);
}

// Behind the end lie records that may be needed, up to what a crash cut off, or what ROOT left when it made
// the file shorter. A gap takes the place of that, so that each record begins where the one before it ends.
// Nothing lists it as free: with several threads, whole records may follow a torn one. Returns where new
// records may begin.
std::uint64_t RootFileWriter::keep_tail() {
  constexpr std::uint64_t marker_size = 4;
  const std::uint64_t size = file_->size();
  std::uint64_t at = header_.end;
  while (at < size && size - at >= marker_size) {
    const Bytes start = read_block(at, marker_size);
    const auto length = static_cast<std::int32_t>(byte_swap(load_le<std::uint32_t>(start.data())));
    const auto room = static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(length)));
    if (room < marker_size || room > size - at) break;
    at += room;
  }
  if (at >= size) return at;
  const std::uint64_t end = std::max(size, at + marker_size);
  torn_ = {at, end - 1};
  return end;
}

// The record's capacity is the object's size after the names: the small form may have no
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
    fail_too_old(
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
  keys.reserve(directory.entry_count);
  for (std::uint32_t i = 0; i < directory.entry_count; ++i)
    keys.push_back(format::read_tkey(in, file_->size(), format::KeyContext::list));
  return keys;
}

// Gaps are used only if their markers in the file agree; others stay listed unchanged.
void RootFileWriter::load_free_list(Tail tail) {
  if (header_.seek_free == 0)
    throw Error(ErrorKind::format, "the file was not closed by its writer: it has no list of free space",
                "open it once with ROOT in update mode, which repairs it");
  const Bytes record = read_block(header_.seek_free, header_.nbytes_free);
  auto segments = format::read_free_list(record, header_.seek_free, header_.end, file_->size());
  header_.end = segments.back().first;
  segments.pop_back();
  space_ = RootFileSpace(tail == Tail::keep ? keep_tail() : header_.end);
  for (const format::FreeSegment& segment : segments) {
    const std::uint64_t size = segment.last - segment.first + 1;
    const bool holds_marker = size >= 4 && size <= format::small_tfile_limit;
    if (holds_marker && read_block(segment.first, 4) == format::gap_marker(size))
      space_.add(segment);
    else
      space_.keep_listed(segment);
  }
}

// Follows the path as far as its directories exist.
void RootFileWriter::load_path() {
  while (true) {
    const std::string& wanted = missing_.empty() ? name_ : missing_.front();
    std::optional<format::TKey> found;
    for (format::TKey& key : keys_of(directories_.back()))
      if (key.name == wanted && (!found || key.cycle > found->cycle)) found = std::move(key);
    if (!found) return;
    if (missing_.empty())
      throw Error(
          ErrorKind::usage,
          fmt::format("the file already has an object \"{}\" of class {}", wanted, found->class_name),
          found->class_name == format::anchor_class
              ? "another name, or Writer::resume(), colonnade.resume() in Python, to add entries to it"
              : "another name, or another file");
    if (!is_directory(*found))
      throw Error(
          ErrorKind::usage,
          fmt::format("\"{}\" is not a directory but an object of class {}", wanted, found->class_name),
          "another name");
    directories_.push_back(load_directory(*found, found->seek_key + found->key_length));
    missing_.erase(missing_.begin());
  }
}

// Follows the path to an existing data set, and removes it from its directory's list: each commit adds it
// again.
void RootFileWriter::load_existing() {
  const auto last_of = [&](const std::string& wanted, auto&& fits) {
    std::optional<format::TKey> found;
    for (format::TKey& key : keys_of(directories_.back()))
      if (key.name == wanted && fits(key) && (!found || key.cycle > found->cycle)) found = std::move(key);
    if (!found)
      throw Error(ErrorKind::not_found, fmt::format("there is no \"{}\" in the file", wanted),
                  "check the name of the data set");
    return *found;
  };
  for (const std::string& directory : missing_) {
    const format::TKey key = last_of(directory, is_directory);
    directories_.push_back(load_directory(key, key.seek_key + key.key_length));
  }
  missing_.clear();
  const auto is_data_set = [](const format::TKey& key) { return key.class_name == format::anchor_class; };
  anchor_ = Record{last_of(name_, is_data_set)};

  Directory& directory = directories_.back();
  ByteReader in(directory.entries, directory.record.seek_keys);
  Bytes others;
  for (std::uint32_t left = directory.entry_count; left > 0; --left) {
    const std::size_t begin = in.position();
    const format::TKey key = format::read_tkey(in, file_->size(), format::KeyContext::list);
    const ByteSpan bytes = ByteSpan(directory.entries).subspan(begin, in.position() - begin);
    const bool is_ours = is_data_set(key) && key.name == name_ && key.cycle == anchor_->key.cycle &&
                         key.seek_key == anchor_->key.seek_key;
    if (is_ours) {
      // Of several objects with this name ROOT takes the first.
      directory.own_at = others.size();
      --directory.entry_count;
    } else {
      others.insert(others.end(), bytes.begin(), bytes.end());
    }
  }
  directory.entries = std::move(others);
}

// ---- Blobs

std::uint64_t RootFileWriter::reserve(std::uint64_t size, RootFileSpace::Use use) {
  const std::lock_guard lock(mutex_);
  return reserve_locked(size, use);
}

std::uint64_t RootFileWriter::end_of_space() {
  const std::lock_guard lock(mutex_);
  return space_.end();
}

std::uint64_t RootFileWriter::reserve_locked(std::uint64_t size, RootFileSpace::Use use) {
  if (std::exchange(cut_tail_, false)) file_->truncate(header_.end);
  has_written_ = true;
  if (const auto torn = std::exchange(torn_, std::nullopt))
    for (const format::FreeSegment& gap : gaps_of(*torn))
      file_->write(gap.first, format::gap_marker(gap.last - gap.first + 1));
  const RootFileSpace::Allocation allocation = space_.allocate(size, use);
  if (allocation.rest)
    file_->write(allocation.rest->first,
                 format::gap_marker(allocation.rest->last - allocation.rest->first + 1));
  return allocation.offset;
}

// Writes one key and its payload, given in parts; returns the offset of the payload.
std::uint64_t RootFileWriter::write_chunk(std::span<const ByteSpan> parts, std::uint64_t uncompressed_length,
                                          RootFileSpace::Use use) {
  if (closed_)
    throw Error(ErrorKind::usage, "the file is already closed", "write before close()", {.uri = uri()});
  std::uint64_t size = 0;
  for (ByteSpan part : parts) size += part.size();
  format::TKey key{
      .time = now(), .seek_directory = begin_, .big = true, .class_name = std::string(blob_class)};
  const std::uint64_t length = uncompressed_length <= 0xffffffffu ? uncompressed_length : size;
  key.object_length = static_cast<std::uint32_t>(length);
  key.nbytes = static_cast<std::uint32_t>(size + format::tkey_size(key));
  key.seek_key = reserve(key.nbytes, use);
  file_->preallocate(key.seek_key + key.nbytes);
  const Bytes key_bytes = bytes_of(key);
  std::vector<ByteSpan> record{key_bytes};
  record.reserve(1 + parts.size());
  record.insert(record.end(), parts.begin(), parts.end());
  file_->write_vector(key.seek_key, record);
  if (use == RootFileSpace::Use::index) {
    const std::lock_guard lock(mutex_);
    blobs_[key.seek_key + key_bytes.size()] = {key.seek_key, key.seek_key + key.nbytes - 1};
  }
  return key.seek_key + key_bytes.size();
}

// A payload of any size. The first chunk is written last, because it lists the others.
std::uint64_t RootFileWriter::write_split(ByteSpan payload, std::uint64_t uncompressed_length,
                                          RootFileSpace::Use use) {
  const ChunkPlan plan = plan_chunks(payload.size(), options_.max_key_size, ErrorKind::usage);
  if (plan.chunks == 1) return write_chunk({&payload, 1}, uncompressed_length, use);
  if (use == RootFileSpace::Use::index) use = RootFileSpace::Use::blob;  // its pieces are never released
  ByteWriter offsets;
  for (ByteSpan rest = payload.subspan(plan.first_data); !rest.empty();) {
    const ByteSpan chunk = rest.first(std::min<std::size_t>(rest.size(), options_.max_key_size));
    offsets.le<std::uint64_t>(write_chunk({&chunk, 1}, chunk.size(), use));
    rest = rest.subspan(chunk.size());
  }
  const std::array<ByteSpan, 2> first{payload.first(plan.first_data), offsets.view()};
  return write_chunk(first, options_.max_key_size, use);
}

Locator RootFileWriter::write_blob(ByteSpan payload, std::uint64_t uncompressed_length) {
  return with_context({.uri = uri(), .data_set = name_}, [&] {
    return Locator{.size = payload.size(),
                   .offset = write_split(payload, uncompressed_length, RootFileSpace::Use::index)};
  });
}

Locator RootFileWriter::write_at_end(ByteSpan payload, std::uint64_t uncompressed_length) {
  return with_context({.uri = uri(), .data_set = name_}, [&] {
    const std::uint64_t at = write_split(payload, uncompressed_length, RootFileSpace::Use::journal);
    const std::lock_guard lock(mutex_);
    journal_end_ = space_.end();
    return Locator{.size = payload.size(), .offset = at};
  });
}

void RootFileWriter::retire_blob(const Locator& blob) {
  const std::lock_guard lock(mutex_);
  if (auto known = blobs_.extract(blob.offset)) released_.push_back(known.mapped());
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
        offsets.push_back(write_split(rest[0], rest[0].size(), RootFileSpace::Use::blob));
        continue;
      }
      std::uint64_t offset = write_chunk(rest.first(count), size, RootFileSpace::Use::blob);
      for (ByteSpan part : rest.first(count)) {
        offsets.push_back(offset);
        offset += part.size();
      }
    }
  });
  return offsets;
}

std::uint64_t RootFileWriter::largest_copy(const io::RandomAccessFile& from) const noexcept {
  constexpr std::uint64_t around = 2 * io::WritableFile::sharing_unit;
  return file_->can_copy(from) && options_.max_key_size > around ? options_.max_key_size - around : 0;
}

// Each in a key, with zeros before it and behind it.
WriteContainer::CopiedRanges RootFileWriter::copy_ranges(const io::RandomAccessFile& from,
                                                         std::span<const FileRange> ranges) {
  CopiedRanges copied;
  with_context({.uri = uri(), .data_set = name_}, [&] {
    if (closed_)
      throw Error(ErrorKind::usage, "the file is already closed", "write before close()", {.uri = uri()});
    for (const FileRange& range : ranges) {
      format::TKey key{
          .time = now(), .seek_directory = begin_, .big = true, .class_name = std::string(blob_class)};
      const std::uint64_t payload = range.size + io::WritableFile::sharing_unit - 1;
      key.object_length = static_cast<std::uint32_t>(payload);
      key.nbytes = static_cast<std::uint32_t>(payload + format::tkey_size(key));
      key.seek_key = reserve(key.nbytes, RootFileSpace::Use::blob);
      Bytes before = bytes_of(key);
      const std::uint64_t pad = padding(key.seek_key + before.size(), range);
      before.resize(before.size() + static_cast<std::size_t>(pad));
      const std::uint64_t at = key.seek_key + before.size();
      const std::uint64_t end = key.seek_key + key.nbytes;
      file_->write(key.seek_key, before);
      copied.shared += file_->copy(at, from, range.offset, range.size);
      file_->write(at + range.size, Bytes(static_cast<std::size_t>(end - at - range.size)));
      copied.offsets.push_back(at);
    }
  });
  return copied;
}

RootFileWriter::~RootFileWriter() {
  const bool may_cut = has_written_ && !closed_ && !uncertain_ && header_.end != 0 && !latest_;
  if (!may_cut || !process_.is_current() || !file_->is_published()) return;
  try {
    cut_tail(std::max({header_.end, keep_up_to_, journal_end_}));
  } catch (...) {
    return;  // the file is as after a crash
  }
}

void RootFileWriter::close() {
  if (may_retry()) return with_context({.uri = uri(), .data_set = name_}, [&] { file_->close(); });
  if (closed_) return;
  closed_ = true;
  if (latest_) commit_now(*std::exchange(latest_, {}));
  with_context({.uri = uri(), .data_set = name_}, [&] {
    if (uncertain_ && !file_->is_published()) return file_->discard();
    if (!file_->is_visible()) {
      if (!uncertain_) give_back_space();
      return file_->close();
    }
    // A call that fails may also report the loss of earlier writes: the device knows of those.
    const auto tidy = [&] {
      return tidy_after_commit({.uri = uri(), .data_set = name_},
                               "not all unused space of the file could be given back",
                               [&] { give_back_space(); });
    };
    if (!uncertain_ && anchor_ && !tidy()) after_commit([&] { file_->sync(); });
    if (!uncertain_ && !anchor_) {
      try {
        cut_tail(std::max(header_.end, keep_up_to_));
      } catch (const Error&) {  // nothing was committed: the file is as after a crash
      }
    }
    after_commit([&] { file_->close(); });
  });
}

// Also after a write that failed, perhaps because the disk is full.
void RootFileWriter::cut_tail(std::uint64_t end) {
  try {
    file_->flush();
  } catch (const Error&) {
    if (file_->size() <= end) throw;
  }
  if (file_->size() > end) file_->truncate(end);
}

// Gaps get their markers, and the file ends where its data sets do: blobs behind that were written after the
// last commit.
void RootFileWriter::give_back_space() {
  const std::uint64_t end = std::max(header_.end, keep_up_to_);
  cut_tail(end);
  for (const auto& segments : std::exchange(retired_, {}))
    for (const format::FreeSegment& segment : segments) release(segment);
  for (const format::FreeSegment& segment : std::exchange(unlisted_, {}))
    file_->write(segment.first, format::gap_marker(segment.last - segment.first + 1));
  file_->flush();
  if (file_->size() > end) file_->truncate(end);
}

void RootFileWriter::abandon() {
  if (may_retry()) return file_->discard();
  if (closed_ || (file_->is_published() && !file_->appears_at_close())) return close();
  closed_ = true;
  file_->discard();
}

}  // namespace colonnade::container
