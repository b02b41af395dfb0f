// See saved.h.
#include "frame/results/saved.h"

#include <fmt/format.h>

#include <algorithm>

namespace colonnade::frame {
namespace {

constexpr std::uint32_t magic = 0x34525243;  // "CRR4": the last character is the version

}  // namespace

SavedWriter::SavedWriter(std::string_view what) {
  bytes_.le(magic);
  bytes_.le(static_cast<std::uint32_t>(what.size()));
  bytes_.append(as_bytes(what));
}

void SavedWriter::chunks_of_sum(std::span<const std::int64_t> chunks) {
  // Only a few of a sum's many chunks are used: saves those from the first to the last non-empty one (-1
  // fills up negative sums).
  std::size_t first = 0;
  while (first + 1 < chunks.size() && chunks[first] == 0) ++first;
  number(static_cast<std::uint16_t>(first));
  const std::int64_t last = chunks.back();
  const std::int64_t fill = last < 0 ? 0xffffffff : 0;
  std::size_t end = chunks.size() - 1;
  while (end > first && chunks[end - 1] == fill) --end;
  number(static_cast<std::uint16_t>(end - first));
  for (std::size_t i = first; i < end; ++i) number(static_cast<std::uint32_t>(chunks[i]));
  number(last);
}

SavedReader::SavedReader(std::span<const std::byte> bytes, std::string_view what) : bytes_(bytes) {
  if (number<std::uint32_t>() != magic)
    throw Error(ErrorKind::format, "these bytes are not a saved result, or one of another version",
                "save it with the same version of Colonnade");
  const auto size = number<std::uint32_t>();
  const ByteSpan name = bytes_.take(size, "a saved result");
  const std::string_view saved(reinterpret_cast<const char*>(name.data()), name.size());
  if (saved != what)
    throw Error(ErrorKind::format,
                fmt::format("a saved {} cannot be merged into a {}", saved.substr(0, 200), what),
                "merge results of the same graph");
}

bool SavedReader::flag() {
  const auto value = number<std::uint8_t>();
  if (value > 1) fail("a flag that is neither 0 nor 1");
  return value == 1;
}

void SavedReader::done() const {
  if (bytes_.remaining() != 0) fail(fmt::format("{} bytes too many", bytes_.remaining()));
}

void SavedReader::fail(std::string_view why) {
  throw Error(ErrorKind::format, fmt::format("a saved result has {}", why),
              "check that it was transferred completely");
}

void SavedReader::chunks_of_sum(std::span<std::int64_t> chunks) {
  const std::size_t first = number<std::uint16_t>();
  const std::size_t count = number<std::uint16_t>();
  if (first + count >= chunks.size()) fail("a sum that is too wide");
  for (std::size_t i = first; i < first + count; ++i) chunks[i] = number<std::uint32_t>();
  const auto last = number<std::int64_t>();
  if (last < -(std::int64_t{1} << 40) || last > (std::int64_t{1} << 40)) fail("a sum that is too large");
  for (std::size_t i = first + count; i + 1 < chunks.size(); ++i) chunks[i] = last < 0 ? 0xffffffff : 0;
  chunks.back() = last;
}

}  // namespace colonnade::frame
