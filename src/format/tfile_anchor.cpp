// Reading and writing the anchor; the header describes the layout.
#include "format/tfile_anchor.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace colonnade::format {
namespace {

constexpr std::size_t fields_begin = 6;
constexpr std::size_t checksum_size = 8;
constexpr std::uint32_t byte_count_mask = 0x40000000;
constexpr std::uint16_t first_public_class_version = 2;

[[noreturn]] void fail(ErrorKind kind, std::string problem, std::uint64_t offset) {
  throw Error(kind, std::move(problem), "check that the file was transferred completely", {.offset = offset});
}

std::uint64_t checksum_of(ByteSpan object) {
  const ByteSpan fields = object.subspan(fields_begin, object.size() - fields_begin - checksum_size);
  return XXH3_64bits(fields.data(), fields.size());
}

// For a split payload, only the first chunk is at `seek`; the others may precede it.
void check_envelope(const char* name, std::uint64_t seek, std::uint64_t size, std::uint64_t length,
                    std::uint64_t max_key_size, std::uint64_t file_size, std::uint64_t offset) {
  const std::uint64_t in_one_piece = max_key_size == 0 ? size : std::min(size, max_key_size);
  if (seek > file_size || in_one_piece > file_size - seek || size > file_size)
    fail(ErrorKind::format,
         fmt::format("anchor: the {} of {} bytes at {} lies outside of the file of {} bytes", name, size,
                     seek, file_size),
         offset);
  if (size > length || (size == 0) != (length == 0))
    fail(ErrorKind::format,
         fmt::format("anchor: a {} of {} bytes cannot be stored in {}", name, length, size), offset);
}

}  // namespace

Anchor read_anchor(ByteSpan object, std::uint64_t offset, std::uint64_t file_size, ChecksumOrder order) {
  constexpr const char* what = "anchor";
  if (object.size() < anchor_size)
    fail(ErrorKind::format,
         fmt::format("anchor: {} bytes, but at least {} are needed", object.size(), anchor_size), offset);
  ByteReader in(object, offset);
  const auto byte_count = in.be<std::uint32_t>(what);
  const auto class_version = in.be<std::uint16_t>(what);
  if (byte_count != (byte_count_mask | static_cast<std::uint32_t>(object.size() - 4 - checksum_size)))
    fail(ErrorKind::format,
         fmt::format("anchor: byte count {:#x} in an object of {} bytes", byte_count, object.size()), offset);
  if (class_version < first_public_class_version)
    throw Error(ErrorKind::unsupported,
                fmt::format("anchor: class version {} is that of a pre-release of the format", class_version),
                "write the data again with ROOT 6.34 or later", {.offset = offset});

  ByteReader trailer(object.last(checksum_size), offset + object.size() - checksum_size);
  const std::uint64_t stored =
      order == ChecksumOrder::big_endian ? trailer.be<std::uint64_t>(what) : trailer.le<std::uint64_t>(what);
  const std::uint64_t computed = checksum_of(object);
  if (stored != computed)
    fail(ErrorKind::checksum,
         fmt::format("anchor: the checksum is {:#018x}, but {:#018x} is stored", computed, stored), offset);

  Anchor anchor;
  anchor.epoch = in.be<std::uint16_t>(what);
  anchor.major = in.be<std::uint16_t>(what);
  anchor.minor = in.be<std::uint16_t>(what);
  anchor.patch = in.be<std::uint16_t>(what);
  anchor.header_offset = in.be<std::uint64_t>(what);
  anchor.header_size = in.be<std::uint64_t>(what);
  anchor.header_length = in.be<std::uint64_t>(what);
  anchor.footer_offset = in.be<std::uint64_t>(what);
  anchor.footer_size = in.be<std::uint64_t>(what);
  anchor.footer_length = in.be<std::uint64_t>(what);
  anchor.max_key_size = in.be<std::uint64_t>(what);
  if (anchor.epoch != 1)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("anchor: format {}.{}.{}.{} but this version reads 1.x", anchor.epoch, anchor.major,
                    anchor.minor, anchor.patch),
        anchor.epoch == 0 ? "write the data again with ROOT 6.34 or later" : "a newer version of Colonnade",
        {.offset = offset});
  check_envelope("header", anchor.header_offset, anchor.header_size, anchor.header_length,
                 anchor.max_key_size, file_size, offset);
  check_envelope("footer", anchor.footer_offset, anchor.footer_size, anchor.footer_length,
                 anchor.max_key_size, file_size, offset);
  return anchor;
}

Bytes write_anchor(const Anchor& anchor, ChecksumOrder order) {
  ByteWriter out;
  out.be<std::uint32_t>(byte_count_mask | static_cast<std::uint32_t>(anchor_size - 4 - checksum_size));
  out.be<std::uint16_t>(first_public_class_version);
  for (std::uint16_t number : {anchor.epoch, anchor.major, anchor.minor, anchor.patch})
    out.be<std::uint16_t>(number);
  for (std::uint64_t number :
       {anchor.header_offset, anchor.header_size, anchor.header_length, anchor.footer_offset,
        anchor.footer_size, anchor.footer_length, anchor.max_key_size})
    out.be<std::uint64_t>(number);
  const std::uint64_t sum = XXH3_64bits(out.view().data() + fields_begin, out.view().size() - fields_begin);
  if (order == ChecksumOrder::big_endian)
    out.be<std::uint64_t>(sum);
  else
    out.le<std::uint64_t>(sum);
  return out.take();
}

}  // namespace colonnade::format
