// The record of streamer infos, which readers and writers of ROOT files share; see keys.h.
#include "container/root_file/keys.h"

#include <fmt/format.h>

#include "codec/compression.h"

namespace colonnade::container {

StreamerInfoRecord read_streamer_infos(ByteSpan record, std::uint64_t offset, std::uint64_t file_size,
                                       std::uint64_t longest) {
  ByteReader in(record, offset);
  StreamerInfoRecord found{format::read_tkey(in, file_size), {}};
  const std::uint32_t length = found.key.object_length;
  const ByteSpan stored = in.take(found.key.payload_size(), "streamer infos");
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  if (length > longest || length > most + 1024 * stored.size())
    throw Error(ErrorKind::format,
                fmt::format("streamer infos: {} bytes in a record of {}", length, stored.size()),
                "repair the file with ROOT first", {.offset = offset});
  found.list.assign(stored.begin(), stored.end());
  if (length != stored.size()) {
    found.list.resize(length);
    with_context({.offset = offset}, [&] { codec::decompress(stored, found.list); });
  }
  return found;
}

}  // namespace colonnade::container
