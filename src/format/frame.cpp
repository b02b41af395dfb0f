// Envelopes, frames, strings and feature flags; frame.h describes the byte layouts.
#include "format/frame.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <limits>

namespace colonnade::format {
namespace {

constexpr std::uint64_t preamble_bytes = 8;
constexpr std::uint64_t checksum_bytes = 8;
constexpr std::uint64_t max_envelope = (std::uint64_t{1} << 48) - 1;

// The size of a frame with its sign; the rest of `reader` starts at the size.
struct FrameSize {
  std::uint64_t bytes;
  bool is_list;
};

FrameSize read_frame_size(ByteReader& reader, const char* what) {
  const std::uint64_t at = reader.offset();
  const std::uint64_t available = reader.remaining();
  const auto raw = reader.le<std::int64_t>(what);
  const bool is_list = raw < 0;
  const auto bits = static_cast<std::uint64_t>(raw);
  const std::uint64_t bytes = is_list ? 0 - bits : bits;
  const std::uint64_t least = is_list ? 12 : 8;
  if (bytes < least)
    throw Error(ErrorKind::format,
                fmt::format("{}: frame of {} bytes is smaller than its own start", what, bytes), "",
                {.offset = at});
  if (bytes > available)
    throw Error(ErrorKind::format,
                fmt::format("{}: frame of {} bytes, but only {} are left", what, bytes, available), "",
                {.offset = at});
  return {bytes, is_list};
}

}  // namespace

const char* name_of(EnvelopeType type) noexcept {
  switch (type) {
    case EnvelopeType::header:
      return "header";
    case EnvelopeType::footer:
      return "footer";
    case EnvelopeType::page_list:
      return "page list";
  }
  return "envelope";
}

std::uint64_t xxh3(ByteSpan bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

OpenEnvelope open_envelope(ByteSpan envelope, EnvelopeType type) {
  const char* what = name_of(type);
  if (envelope.size() < preamble_bytes + checksum_bytes)
    throw Error(ErrorKind::format,
                fmt::format("{}: {} bytes are too few for an envelope (at least 16)", what, envelope.size()),
                "check that the file was transferred completely", {.offset = 0});
  const auto first = load_le<std::uint64_t>(envelope.data());
  if ((first & 0xffff) != static_cast<std::uint64_t>(type))
    throw Error(ErrorKind::format,
                fmt::format("{}: envelope type is {:#04x}, not {:#04x}", what, first & 0xffff,
                            static_cast<std::uint16_t>(type)),
                "", {.offset = 0});
  if (first >> 16 != envelope.size())
    throw Error(
        ErrorKind::format,
        fmt::format("{}: envelope says it has {} bytes, but it has {}", what, first >> 16, envelope.size()),
        "check that the file was transferred completely", {.offset = 2});
  const ByteSpan covered = envelope.first(envelope.size() - checksum_bytes);
  const auto stored = load_le<std::uint64_t>(envelope.data() + covered.size());
  if (const std::uint64_t computed = xxh3(covered); computed != stored)
    throw Error(ErrorKind::checksum,
                fmt::format("{}: checksum is {:016x}, stored is {:016x}", what, computed, stored),
                "the file is damaged; fetch it again", {.offset = covered.size()});
  return {ByteReader(covered.subspan(preamble_bytes), preamble_bytes), stored};
}

ByteReader read_record(ByteReader& reader, const char* what) {
  ByteReader probe = reader;
  const std::uint64_t at = reader.offset();
  const FrameSize size = read_frame_size(probe, what);
  if (size.is_list)
    throw Error(ErrorKind::format, fmt::format("{}: a list frame where a record frame belongs", what), "",
                {.offset = at});
  const ByteSpan frame = reader.take(size.bytes, what);
  return ByteReader(frame.subspan(8), at + 8);
}

ListFrame read_list(ByteReader& reader, std::uint64_t item_bytes, const char* what) {
  ByteReader probe = reader;
  const std::uint64_t at = reader.offset();
  const FrameSize size = read_frame_size(probe, what);
  if (!size.is_list)
    throw Error(ErrorKind::format, fmt::format("{}: a record frame where a list frame belongs", what), "",
                {.offset = at});
  const auto items = probe.le<std::uint32_t>(what);
  if (items > (size.bytes - 12) / item_bytes)
    throw Error(ErrorKind::format,
                fmt::format("{}: {} items cannot fit into {} bytes (each takes at least {})", what, items,
                            size.bytes - 12, item_bytes),
                "", {.offset = at + 8});
  const ByteSpan frame = reader.take(size.bytes, what);
  return {ByteReader(frame.subspan(12), at + 12), items};
}

std::uint64_t read_feature_flags(ByteReader& reader, std::uint64_t known, const char* what) {
  constexpr std::uint64_t more = std::uint64_t{1} << 63;
  std::uint64_t first = 0;
  for (std::uint64_t word_index = 0;; ++word_index) {
    const std::uint64_t at = reader.offset();
    const auto word = reader.le<std::uint64_t>(what);
    const std::uint64_t flags = word & ~more;
    const std::uint64_t unknown = word_index == 0 ? flags & ~known : flags;
    if (unknown != 0)
      throw Error(
          ErrorKind::unsupported,
          fmt::format("{}: feature flag {} is set, a change of the format that this version does not know",
                      what, word_index * 63 + static_cast<std::uint64_t>(std::countr_zero(unknown))),
          "a newer version of the library", {.offset = at});
    if (word_index == 0) first = flags;
    if ((word & more) == 0) return first;
  }
}

EnvelopeWriter::EnvelopeWriter(EnvelopeType type) : type_(type) {
  out_.le(std::uint64_t{0});
}

void EnvelopeWriter::string(std::string_view text, const char* what) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::schema,
                fmt::format("{}: a string of {} bytes is too long (at most 4294967295)", what, text.size()));
  out_.le(static_cast<std::uint32_t>(text.size()));
  out_.append(as_bytes(text));
}

EnvelopeWriter::List::List(EnvelopeWriter& writer, std::size_t items, const char* what)
    : out_(writer.out()), start_(out_.position()) {
  if (items > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::schema,
                fmt::format("{}: {} items are too many (at most 4294967295)", what, items));
  out_.le(std::int64_t{0});
  out_.le(static_cast<std::uint32_t>(items));
}

Bytes EnvelopeWriter::finish(std::uint64_t& checksum) {
  const std::uint64_t length = out_.position() + checksum_bytes;
  if (length > max_envelope)
    throw Error(ErrorKind::resource,
                fmt::format("{}: {} bytes are too many for an envelope", name_of(type_), length));
  out_.patch(0, length << 16 | static_cast<std::uint64_t>(type_));
  checksum = xxh3(out_.view());
  out_.le(checksum);
  return out_.take();
}

}  // namespace colonnade::format
