// Reading is strict where a wrong value would mislead (positions, lengths) and lenient where it cannot
// (times, titles, flags). Writing chooses the small form of each record whenever its positions allow it.
#include "format/tfile_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/environment.h"

namespace colonnade::format {
namespace {

constexpr std::uint32_t big_file_version = 1000000;
constexpr std::uint16_t big_record_version = 1000;
constexpr std::uint16_t key_version = 4;
constexpr std::uint16_t directory_version = 5;
constexpr std::uint16_t free_segment_version = 1;
constexpr std::uint16_t uuid_version = 1;

[[noreturn]] void fail(std::string problem, std::uint64_t offset) {
  throw Error(ErrorKind::format, std::move(problem), "check that the file was transferred completely",
              {.offset = offset});
}

// ROOT itself leaves such lists in files to which it added after it had deleted from them.
[[noreturn]] void fail_free_list(std::string problem, std::uint64_t offset) {
  throw Error(ErrorKind::format, std::move(problem),
              "another file, or hadd to copy the objects into a new one: ROOT may have left this list so",
              {.offset = offset});
}

std::uint64_t read_position(ByteReader& in, bool big, const char* what) {
  return big ? in.be<std::uint64_t>(what) : in.be<std::uint32_t>(what);
}

void write_position(ByteWriter& out, bool big, std::uint64_t position) {
  if (big)
    out.be<std::uint64_t>(position);
  else
    out.be<std::uint32_t>(static_cast<std::uint32_t>(position));
}

Uuid read_uuid(ByteReader& in, const char* what) {
  in.be<std::uint16_t>(what);
  const ByteSpan bytes = in.take(16, what);
  Uuid uuid;
  std::copy(bytes.begin(), bytes.end(), uuid.begin());
  return uuid;
}

void write_uuid(ByteWriter& out, const Uuid& uuid) {
  out.be<std::uint16_t>(uuid_version);
  out.append(uuid);
}

// A block that a header or directory points to must lie inside the file, after the header.
void check_block(const char* what, std::uint64_t seek, std::uint64_t size, std::uint64_t file_size,
                 std::uint64_t offset) {
  if (seek < tfile_header_size - 12 || seek > file_size || size > file_size - seek)
    fail(
        fmt::format("{} of {} bytes at {} lies outside of the file of {} bytes", what, size, seek, file_size),
        offset);
}

}  // namespace

void write_tstring(ByteWriter& out, std::string_view text) {
  if (text.size() < 255) {
    out.le<std::uint8_t>(static_cast<std::uint8_t>(text.size()));
  } else {
    out.le<std::uint8_t>(255);
    out.be<std::uint32_t>(static_cast<std::uint32_t>(text.size()));
  }
  out.append(as_bytes(text));
}

std::string read_tstring(ByteReader& in, const char* what) {
  std::uint32_t size = in.le<std::uint8_t>(what);
  if (size == 255) size = in.be<std::uint32_t>(what);
  const ByteSpan bytes = in.take(size, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t tstring_size(std::string_view text) noexcept {
  return text.size() + (text.size() < 255 ? 1 : 5);
}

std::uint32_t to_tdatime(std::time_t time) noexcept {
  std::tm parts{};
  localtime_r(&time, &parts);
  const int year = std::clamp(parts.tm_year + 1900 - 1995, 0, 63);
  return static_cast<std::uint32_t>(year) << 26 | static_cast<std::uint32_t>(parts.tm_mon + 1) << 22 |
         static_cast<std::uint32_t>(parts.tm_mday) << 17 | static_cast<std::uint32_t>(parts.tm_hour) << 12 |
         static_cast<std::uint32_t>(parts.tm_min) << 6 |
         static_cast<std::uint32_t>(std::min(parts.tm_sec, 59));
}

Uuid random_uuid() {
  Uuid uuid;
  store_le(uuid.data(), environment().random_number());
  store_le(uuid.data() + sizeof(std::uint64_t), environment().random_number());
  uuid[6] = (uuid[6] & std::byte{0x0f}) | std::byte{0x40};  // version 4 (random), variant 1
  uuid[8] = (uuid[8] & std::byte{0x3f}) | std::byte{0x80};
  return uuid;
}

bool is_tfile(ByteSpan first_bytes) noexcept {
  constexpr std::string_view magic = "root";
  return first_bytes.size() >= magic.size() &&
         std::memcmp(first_bytes.data(), magic.data(), magic.size()) == 0;
}

TFileHeader read_tfile_header(ByteSpan bytes, std::uint64_t file_size) {
  constexpr const char* what = "file header";
  if (!is_tfile(bytes)) fail("file header: the file does not begin with \"root\"", 0);
  ByteReader in(bytes);
  in.take(4, what);
  TFileHeader header;
  header.version = in.be<std::uint32_t>(what);
  header.big = header.version >= big_file_version;
  if (header.big) header.version -= big_file_version;
  header.begin = in.be<std::uint32_t>(what);
  header.end = read_position(in, header.big, what);
  header.seek_free = read_position(in, header.big, what);
  header.nbytes_free = in.be<std::uint32_t>(what);
  header.free_segments = in.be<std::uint32_t>(what);
  header.nbytes_name = in.be<std::uint32_t>(what);
  const auto units = in.le<std::uint8_t>(what);
  header.compression = in.be<std::uint32_t>(what);
  header.seek_info = read_position(in, header.big, what);
  header.nbytes_info = in.be<std::uint32_t>(what);
  header.uuid = read_uuid(in, what);

  if (units != 4 && units != 8) fail(fmt::format("file header: positions of {} bytes", units), 0);
  if (header.end > file_size)
    fail(fmt::format("file header: the file has {} bytes but ends at {}: it is truncated", file_size,
                     header.end),
         0);
  if (header.begin < tfile_header_size - 12 || header.begin >= file_size)
    fail(fmt::format("file header: the first record at {} lies outside of the file of {} bytes", header.begin,
                     file_size),
         0);
  if (header.end <= header.begin)
    fail(fmt::format("file header: the end {} lies before the first record at {}", header.end, header.begin),
         0);
  if (header.nbytes_name < 10 || header.nbytes_name > file_size - header.begin)
    fail(fmt::format("file header: the file's name cannot take {} bytes", header.nbytes_name), 0);
  return header;
}

Bytes write_tfile_header(const TFileHeader& header) {
  const bool big =
      header.big || std::max({header.end, header.seek_free, header.seek_info}) > small_tfile_limit;
  ByteWriter out;
  out.append(as_bytes("root"));
  out.be<std::uint32_t>(header.version + (big ? big_file_version : 0));
  out.be<std::uint32_t>(static_cast<std::uint32_t>(header.begin));
  write_position(out, big, header.end);
  write_position(out, big, header.seek_free);
  out.be<std::uint32_t>(header.nbytes_free);
  out.be<std::uint32_t>(header.free_segments);
  out.be<std::uint32_t>(header.nbytes_name);
  out.le<std::uint8_t>(big ? 8 : 4);
  out.be<std::uint32_t>(header.compression);
  write_position(out, big, header.seek_info);
  out.be<std::uint32_t>(header.nbytes_info);
  write_uuid(out, header.uuid);
  return out.take();
}

TKey read_tkey(ByteReader& in, std::uint64_t file_size, KeyContext place) {
  constexpr const char* what = "key";
  const std::uint64_t start = in.offset();
  const std::size_t position = in.position();
  const auto nbytes = in.be<std::uint32_t>(what);
  if (nbytes == 0 || nbytes > longest_record) fail("key: a gap stands where a record is expected", start);
  TKey key;
  key.nbytes = nbytes;
  const auto version = in.be<std::uint16_t>(what);
  key.big = version > big_record_version;
  key.object_length = in.be<std::uint32_t>(what);
  key.time = in.be<std::uint32_t>(what);
  key.key_length = in.be<std::uint16_t>(what);
  key.cycle = in.be<std::uint16_t>(what);
  key.seek_key = read_position(in, key.big, what);
  key.seek_directory = read_position(in, key.big, what);
  key.class_name = read_tstring(in, "key: class name");
  key.name = read_tstring(in, "key: name");
  key.title = read_tstring(in, "key: title");

  const std::size_t used = in.position() - position;
  // A writer that does not know the position yet may reserve space for the big form: a longer key is
  // valid.
  if (key.key_length < used)
    fail(fmt::format("key: its fields take {} bytes but it claims {}", used, key.key_length), start);
  if (key.nbytes < key.key_length)
    fail(fmt::format("key: a record of {} bytes cannot hold a key of {}", key.nbytes, key.key_length), start);
  check_block("key: the record", key.seek_key, key.nbytes, file_size, start);
  if (place == KeyContext::record) in.take(key.key_length - used, what);
  return key;
}

std::uint16_t tkey_size(const TKey& key) {
  const bool big = key.big || std::max(key.seek_key, key.seek_directory) > small_tfile_limit;
  const std::size_t size =
      (big ? 34 : 26) + tstring_size(key.class_name) + tstring_size(key.name) + tstring_size(key.title);
  if (size > 0x7fff)
    throw Error(
        ErrorKind::usage,
        fmt::format("the name and title of an object need {} bytes, but a ROOT file has room for 32767",
                    size),
        "a shorter name");
  return static_cast<std::uint16_t>(size);
}

void write_tkey(ByteWriter& out, TKey& key) {
  key.big = key.big || std::max(key.seek_key, key.seek_directory) > small_tfile_limit;
  key.key_length = tkey_size(key);
  out.be<std::uint32_t>(key.nbytes);
  out.be<std::uint16_t>(static_cast<std::uint16_t>(key_version + (key.big ? big_record_version : 0)));
  out.be<std::uint32_t>(key.object_length);
  out.be<std::uint32_t>(key.time);
  out.be<std::uint16_t>(key.key_length);
  out.be<std::uint16_t>(key.cycle);
  write_position(out, key.big, key.seek_key);
  write_position(out, key.big, key.seek_directory);
  write_tstring(out, key.class_name);
  write_tstring(out, key.name);
  write_tstring(out, key.title);
}

TDirectoryRecord read_tdirectory(ByteReader& in, std::uint64_t file_size) {
  constexpr const char* what = "directory";
  const std::uint64_t start = in.offset();
  TDirectoryRecord directory;
  const auto version = in.be<std::uint16_t>(what);
  directory.big = version > big_record_version;
  directory.created = in.be<std::uint32_t>(what);
  directory.modified = in.be<std::uint32_t>(what);
  directory.nbytes_keys = in.be<std::uint32_t>(what);
  directory.nbytes_name = in.be<std::uint32_t>(what);
  directory.seek_directory = read_position(in, directory.big, what);
  directory.seek_parent = read_position(in, directory.big, what);
  directory.seek_keys = read_position(in, directory.big, what);
  if (version % big_record_version > 1 && in.remaining() >= 18) directory.uuid = read_uuid(in, what);
  if (directory.seek_keys != 0)  // 0: a directory without keys
    check_block("directory: the list of keys", directory.seek_keys, directory.nbytes_keys, file_size, start);
  return directory;
}

void write_tdirectory(ByteWriter& out, const TDirectoryRecord& directory) {
  const bool big = directory.big || std::max({directory.seek_directory, directory.seek_parent,
                                              directory.seek_keys}) > small_tfile_limit;
  out.be<std::uint16_t>(static_cast<std::uint16_t>(directory_version + (big ? big_record_version : 0)));
  out.be<std::uint32_t>(directory.created);
  out.be<std::uint32_t>(directory.modified);
  out.be<std::uint32_t>(directory.nbytes_keys);
  out.be<std::uint32_t>(directory.nbytes_name);
  write_position(out, big, directory.seek_directory);
  write_position(out, big, directory.seek_parent);
  write_position(out, big, directory.seek_keys);
  write_uuid(out, directory.uuid);
  for (int word = 0; word < 3 && !big; ++word) out.be<std::uint32_t>(0);
}

TKeyList read_tkey_list(ByteSpan record, std::uint64_t offset, std::uint64_t file_size,
                        const std::function<bool(const TKey&)>& is_wanted) {
  ByteReader in(record, offset);
  TKeyList list{.own = read_tkey(in, file_size)};
  if (list.own.seek_key != offset)
    fail(fmt::format("list of keys: its key claims to lie at {}", list.own.seek_key), offset);
  const auto count = in.be<std::uint32_t>("list of keys");
  constexpr std::size_t smallest_key = 29;
  if (count > in.remaining() / smallest_key)
    fail(fmt::format("list of keys: {} keys cannot fit its {} bytes", count, in.remaining()), offset);
  const std::size_t begin = in.position();
  if (!is_wanted) list.keys.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    TKey key = read_tkey(in, file_size, KeyContext::list);
    if (!is_wanted || is_wanted(key)) list.keys.push_back(std::move(key));
  }
  list.entries = record.subspan(begin, in.position() - begin);
  return list;
}

std::vector<FreeSegment> read_free_list(ByteSpan record, std::uint64_t offset, std::uint64_t end,
                                        std::uint64_t file_size) {
  constexpr const char* what = "free list";
  const std::uint64_t latest_end = std::max(end, file_size);
  ByteReader in(record, offset);
  const TKey own = read_tkey(in, latest_end);
  if (own.seek_key != offset)
    fail(fmt::format("free list: its key claims to lie at {}", own.seek_key), offset);
  std::vector<FreeSegment> segments;
  std::uint64_t previous = tfile_begin - 1;
  while (true) {
    const std::uint64_t start = in.offset();
    const bool big = in.be<std::uint16_t>(what) > big_record_version;
    FreeSegment segment;
    segment.first = read_position(in, big, what);
    segment.last = read_position(in, big, what);
    if (segment.first <= previous || segment.last < segment.first)
      fail_free_list(
          fmt::format("free list: the segment from {} to {} is out of order", segment.first, segment.last),
          start);
    segments.push_back(segment);
    previous = segment.last;
    // The last one reaches beyond the file, unless more than ROOT's limit was left behind the end.
    if (segment.last >= latest_end || (segment.last >= end && segment == free_tail(segment.first))) break;
  }
  if (segments.back().first < end || segments.back().first > latest_end)
    fail_free_list(fmt::format("free list: its last segment begins at {}, but the file ends at {}",
                               segments.back().first, end),
                   offset);
  return segments;
}

namespace {
bool is_big(const FreeSegment& segment) noexcept {
  return segment.last > small_tfile_limit;
}
}  // namespace

Bytes write_free_list(const std::vector<FreeSegment>& segments) {
  ByteWriter out;
  for (const FreeSegment& segment : segments) {
    const bool big = is_big(segment);
    out.be<std::uint16_t>(static_cast<std::uint16_t>(free_segment_version + (big ? big_record_version : 0)));
    write_position(out, big, segment.first);
    write_position(out, big, segment.last);
  }
  return out.take();
}

std::size_t free_list_size(const std::vector<FreeSegment>& segments) noexcept {
  std::size_t size = 0;
  for (const FreeSegment& segment : segments) size += is_big(segment) ? 18 : 10;
  return size;
}

FreeSegment free_tail(std::uint64_t end) noexcept {
  constexpr std::uint64_t step = 1000000000;
  return {end, std::max(small_tfile_limit, (end / step + 1) * step)};
}

Bytes gap_marker(std::uint64_t size) {
  const auto shown = static_cast<std::int32_t>(std::min(size, small_tfile_limit));
  ByteWriter out;
  out.be<std::uint32_t>(static_cast<std::uint32_t>(-shown));
  return out.take();
}

}  // namespace colonnade::format
