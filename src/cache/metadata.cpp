// See metadata.h. Little-endian:
//
//   "CLNDCMD1" 8 | epoch, major, minor, patch 2 each | header: offset, size, length 8 each | footer: the same
//   | maximum key size 8 | blobs 4, of each: kind 1, offset 8, size 8, bytes | XXH3 of all before 8
#include "cache/metadata.h"

#include <string_view>
#include <utility>

#include "base/memory_limit.h"
#include "codec/compression.h"
#include "format/envelope.h"

namespace colonnade::cache {
namespace {

constexpr std::string_view magic = "CLNDCMD1";
constexpr std::size_t sum_of_metadata = 8;
constexpr const char* what = "metadata in a cache";

[[noreturn]] void fail(const char* problem) {
  throw Error(ErrorKind::format, problem);
}

// Calls `parse` with an uncompressed envelope.
template <class Parse>
void parse_unpacked(const Metadata::Blob& blob, std::uint64_t length, MemoryLimit& limit, Parse&& parse) {
  if (blob.bytes.size() == length) return parse(ByteSpan(blob.bytes));
  limit.take(1, length, what);
  limit.take(1, length / 2, what);  // growing moves the bytes, which then exist twice
  AlignedBuffer content;
  codec::decompress_growing(blob.bytes, length, content);
  limit.give_back(length / 2);
  parse(std::as_const(content).span());
  limit.give_back(length);
}

}  // namespace

Bytes to_bytes(const Metadata& metadata) {
  ByteWriter out;
  const Anchor& anchor = metadata.anchor;
  out.append(as_bytes(magic));
  for (const std::uint16_t part : {anchor.epoch, anchor.major, anchor.minor, anchor.patch}) out.le(part);
  for (const std::uint64_t part :
       {anchor.header_offset, anchor.header_size, anchor.header_length, anchor.footer_offset,
        anchor.footer_size, anchor.footer_length, anchor.max_key_size})
    out.le(part);
  out.le(static_cast<std::uint32_t>(metadata.blobs.size()));
  for (const Metadata::Blob& blob : metadata.blobs) {
    out.le(static_cast<std::uint8_t>(blob.locator.kind));
    out.le(blob.locator.offset);
    out.le(std::uint64_t{blob.bytes.size()});
    out.append(blob.bytes);
  }
  out.le(codec::xxh3(out.view()));
  return out.take();
}

Metadata read_metadata(ByteSpan bytes) {
  if (bytes.size() < magic.size() + sum_of_metadata) fail("the metadata in the cache are cut short");
  const ByteSpan body = bytes.first(bytes.size() - sum_of_metadata);
  if (codec::xxh3(body) != load_le<std::uint64_t>(bytes.data() + body.size()))
    throw Error(ErrorKind::checksum, "the metadata in the cache are damaged");
  ByteReader in(body);
  const ByteSpan begin = in.take(magic.size(), what);
  if (std::string_view(reinterpret_cast<const char*>(begin.data()), begin.size()) != magic)
    fail("the metadata in the cache have another version");
  Metadata metadata;
  Anchor& anchor = metadata.anchor;
  for (std::uint16_t* part : {&anchor.epoch, &anchor.major, &anchor.minor, &anchor.patch})
    *part = in.le<std::uint16_t>(what);
  for (std::uint64_t* part :
       {&anchor.header_offset, &anchor.header_size, &anchor.header_length, &anchor.footer_offset,
        &anchor.footer_size, &anchor.footer_length, &anchor.max_key_size})
    *part = in.le<std::uint64_t>(what);
  for (auto left = in.le<std::uint32_t>(what); left > 0; --left) {
    const auto kind = in.le<std::uint8_t>(what);
    if (kind > static_cast<std::uint8_t>(Locator::Kind::object64))
      fail("the metadata in the cache are damaged");
    const auto offset = in.le<std::uint64_t>(what);
    const auto size = in.le<std::uint64_t>(what);
    const ByteSpan content = in.take(size, what);
    metadata.blobs.push_back({{.kind = static_cast<Locator::Kind>(kind), .size = size, .offset = offset},
                              Bytes(content.begin(), content.end())});
  }
  return metadata;
}

Descriptor descriptor_of(const Metadata& metadata) {
  if (metadata.blobs.size() < 2) fail("the metadata in the cache are incomplete");
  MemoryLimit limit;
  for (const Metadata::Blob& blob : metadata.blobs) limit.add_stored(blob.bytes.size());
  Descriptor descriptor;
  parse_unpacked(metadata.blobs[0], metadata.anchor.header_length, limit,
                 [&](ByteSpan envelope) { descriptor = format::read_header(envelope, &limit); });
  descriptor.anchor = metadata.anchor;
  parse_unpacked(metadata.blobs[1], metadata.anchor.footer_length, limit,
                 [&](ByteSpan envelope) { format::read_footer(envelope, descriptor, &limit); });
  if (metadata.blobs.size() != 2 + descriptor.cluster_groups.size())
    fail("the metadata in the cache are incomplete");
  for (std::size_t group = 0; group < descriptor.cluster_groups.size(); ++group)
    parse_unpacked(metadata.blobs[2 + group], descriptor.cluster_groups[group].page_list.length, limit,
                   [&](ByteSpan envelope) { format::read_page_list(envelope, group, descriptor, &limit); });
  format::finish(descriptor, &limit);
  return descriptor;
}

}  // namespace colonnade::cache
