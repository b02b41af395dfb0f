// Locators; locator.h describes the byte layouts.
#include "format/locator.h"

#include <fmt/format.h>

#include <limits>

namespace colonnade::format {
namespace {

constexpr std::uint8_t type_large = 0x01;
constexpr std::uint8_t type_object64 = 0x02;
constexpr std::uint64_t max_standard_size = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void fail_payload(const char* what, const char* kind, std::size_t bytes, const char* allowed,
                               std::uint64_t at) {
  throw Error(ErrorKind::format,
              fmt::format("{}: {} locator has a payload of {} bytes, not {}", what, kind, bytes, allowed), "",
              {.offset = at});
}

void read_large(ByteSpan payload, const char* what, std::uint64_t at, Locator& locator) {
  if (payload.size() != 16) fail_payload(what, "large", payload.size(), "16", at);
  locator.kind = Locator::Kind::file;
  locator.size = load_le<std::uint64_t>(payload.data());
  locator.offset = load_le<std::uint64_t>(payload.data() + 8);
}

void read_object64(ByteSpan payload, const char* what, std::uint64_t at, Locator& locator) {
  if (payload.size() != 12 && payload.size() != 16)
    fail_payload(what, "object", payload.size(), "12 or 16", at);
  locator.kind = Locator::Kind::object64;
  locator.size =
      payload.size() == 12 ? load_le<std::uint32_t>(payload.data()) : load_le<std::uint64_t>(payload.data());
  locator.offset = load_le<std::uint64_t>(payload.data() + payload.size() - 8);
}

void write_head(ByteWriter& out, std::uint8_t type, std::uint8_t reserved, std::size_t payload_bytes) {
  const std::uint32_t head = static_cast<std::uint32_t>(type) << 24 |
                             static_cast<std::uint32_t>(reserved) << 16 |
                             static_cast<std::uint32_t>(payload_bytes + 4);
  out.le(0 - head);
}

void write_file(ByteWriter& out, const Locator& locator) {
  if (locator.size <= max_standard_size && locator.raw_type == 0) {
    out.le(static_cast<std::int32_t>(locator.size));
    out.le(locator.offset);
    return;
  }
  write_head(out, type_large, locator.reserved, 16);
  out.le(locator.size);
  out.le(locator.offset);
}

void write_object64(ByteWriter& out, const Locator& locator) {
  const bool is_small = locator.size <= std::numeric_limits<std::uint32_t>::max();
  write_head(out, type_object64, locator.reserved, is_small ? 12 : 16);
  if (is_small)
    out.le(static_cast<std::uint32_t>(locator.size));
  else
    out.le(locator.size);
  out.le(locator.offset);
}

void write_unknown(ByteWriter& out, const Locator& locator) {
  if (locator.raw_type == 0 || locator.raw_type > 0x7f || locator.payload.size() > 0xffff - 4)
    throw Error(ErrorKind::usage,
                fmt::format("a locator of type {:#04x} with a payload of {} bytes cannot be written",
                            locator.raw_type, locator.payload.size()));
  write_head(out, locator.raw_type, locator.reserved, locator.payload.size());
  out.append(as_bytes(locator.payload));
}

}  // namespace

Locator read_locator(ByteReader& reader, const char* what) {
  const std::uint64_t at = reader.offset();
  const auto word = reader.le<std::uint32_t>(what);
  Locator locator;
  if (static_cast<std::int32_t>(word) >= 0) {
    locator.size = word;
    locator.offset = reader.le<std::uint64_t>(what);
    return locator;
  }
  const std::uint32_t head = 0 - word;
  const std::uint32_t bytes = head & 0xffff;
  locator.raw_type = static_cast<std::uint8_t>(head >> 24);
  locator.reserved = static_cast<std::uint8_t>(head >> 16);
  if (bytes < min_locator_bytes || locator.raw_type > 0x7f || locator.raw_type == 0)
    throw Error(
        ErrorKind::format,
        fmt::format("{}: locator of type {:#04x} and {} bytes is impossible", what, locator.raw_type, bytes),
        "", {.offset = at});
  const ByteSpan payload = reader.take(bytes - min_locator_bytes, what);
  if (locator.raw_type == type_large) {
    read_large(payload, what, at, locator);
  } else if (locator.raw_type == type_object64) {
    read_object64(payload, what, at, locator);
  } else {
    locator.kind = Locator::Kind::unknown;
    locator.payload.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  }
  return locator;
}

void write_locator(ByteWriter& out, const Locator& locator) {
  switch (locator.kind) {
    case Locator::Kind::file:
      return write_file(out, locator);
    case Locator::Kind::object64:
      return write_object64(out, locator);
    case Locator::Kind::unknown:
      return write_unknown(out, locator);
  }
}

EnvelopeLink read_link(ByteReader& reader, const char* what) {
  EnvelopeLink link;
  link.length = reader.le<std::uint64_t>(what);
  link.locator = read_locator(reader, what);
  return link;
}

void write_link(ByteWriter& out, const EnvelopeLink& link) {
  out.le(link.length);
  write_locator(out, link.locator);
}

}  // namespace colonnade::format
