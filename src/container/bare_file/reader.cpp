// Everything except the blobs lies in the first few hundred bytes.
#include "container/bare_file/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "container/root_file/chunks.h"
#include "format/tfile_anchor.h"
#include "format/tfile_records.h"

namespace colonnade::container {

bool is_bare_file(ByteSpan first_bytes) noexcept {
  return first_bytes.size() >= bare_file_magic.size() &&
         std::memcmp(first_bytes.data(), bare_file_magic.data(), bare_file_magic.size()) == 0;
}

BareFileHead read_bare_file_head(ByteSpan first_bytes) {
  constexpr const char* what = "bare file header";
  if (!is_bare_file(first_bytes))
    throw Error(ErrorKind::format, "bare file header: the file does not begin with \"rntuple\"");
  ByteReader in(first_bytes);
  in.take(bare_file_magic.size() + sizeof(std::uint32_t), what);
  const auto version = in.be<std::uint32_t>(what);
  if (version != bare_file_version)
    throw Error(ErrorKind::unsupported,
                fmt::format("bare file header: container version {}, but this version reads {}", version,
                            bare_file_version),
                "a newer version of Colonnade", {.offset = in.offset() - sizeof(std::uint32_t)});
  in.require(bare_file_name_at - in.position(), what);
  in.seek(bare_file_name_at, what);
  BareFileHead head;
  head.name = format::read_tstring(in, "bare file header: name");
  head.anchor_at = in.offset();
  return head;
}

BareFileReader::BareFileReader(std::unique_ptr<io::RandomAccessFile> file) : file_(std::move(file)) {
  with_context({.uri = uri()}, [&] {
    Bytes head(static_cast<std::size_t>(std::min<std::uint64_t>(file_->size(), longest_bare_file_head)));
    file_->read(0, head);
    head_ = read_bare_file_head(head);
  });
}

Anchor BareFileReader::anchor(std::string_view path) const {
  return with_context({.uri = uri(), .data_set = std::string(path)}, [&] {
    if (path != head_.name && stored_name(path) != head_.name)
      throw Error(ErrorKind::not_found, fmt::format("there is no data set \"{}\"", path),
                  fmt::format("\"{}\"", head_.name));
    Bytes object(format::anchor_size);
    file_->read(head_.anchor_at, object);
    return format::read_anchor(object, head_.anchor_at, file_->size(), format::ChecksumOrder::little_endian);
  });
}

void BareFileReader::read_blob(const Locator& locator, std::uint64_t max_key_size,
                               MutableByteSpan into) const {
  read_chunked_blob(*file_, locator, max_key_size, into);
}

void BareFileReader::read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const {
  read_chunked_blobs(*file_, blobs, max_key_size);
}

}  // namespace colonnade::container
