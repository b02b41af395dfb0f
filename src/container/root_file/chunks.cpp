// The number of chunks is the smallest one that holds payload and offsets; readers compute it from the size
// alone, so writers must use the same formula.
#include "container/root_file/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "io/read_scheduler.h"

namespace colonnade::container {

ChunkPlan plan_chunks(std::uint64_t size, std::uint64_t max_key_size, ErrorKind kind) {
  if (max_key_size == 0 || size <= max_key_size) return {.chunks = 1, .first_data = size};
  const std::uint64_t tail = size % max_key_size;
  std::uint64_t chunks = size / max_key_size + (tail > 0 ? 1 : 0);
  const std::uint64_t room = tail > 0 ? max_key_size - tail : 0;
  constexpr std::uint64_t entry = sizeof(std::uint64_t);
  // One more chunk always suffices as long as the offsets fit the first one.
  if (chunks - 1 > room / entry) ++chunks;
  if (chunks - 1 > max_key_size / entry)
    throw Error(
        kind,
        fmt::format("a payload of {} bytes in chunks of {} has more chunks than the first one can list", size,
                    max_key_size),
        kind == ErrorKind::usage ? "a larger maximum key size"
                                 : "check that the file was transferred completely");
  const std::uint64_t offset_bytes = (chunks - 1) * entry;
  return {.chunks = chunks, .first_data = max_key_size - offset_bytes, .offset_bytes = offset_bytes};
}

void read_chunked_blob(const io::RandomAccessFile& file, const Locator& locator, std::uint64_t max_key_size,
                       MutableByteSpan into) {
  if (locator.kind != Locator::Kind::file)
    throw Error(ErrorKind::unsupported,
                fmt::format("a locator of type {:#04x} cannot be followed in a file", locator.raw_type),
                "a newer version of Colonnade", {.uri = file.uri()});
  if (into.size() != locator.size)
    throw Error(ErrorKind::usage,
                fmt::format("a blob of {} bytes is read into {} bytes", locator.size, into.size()), "",
                {.uri = file.uri(), .offset = locator.offset});
  with_context({.uri = file.uri(), .offset = locator.offset}, [&] {
    const ChunkPlan plan = plan_chunks(into.size(), max_key_size, ErrorKind::format);
    if (plan.chunks == 1) return file.read(locator.offset, into);

    Bytes offsets(static_cast<std::size_t>(plan.offset_bytes));
    std::vector<io::ReadRequest> requests{
        {locator.offset, into.first(static_cast<std::size_t>(plan.first_data))},
        {locator.offset + plan.first_data, offsets}};
    file.read_vector(requests);
    requests.clear();
    std::size_t done = static_cast<std::size_t>(plan.first_data);
    for (std::size_t i = 0; i < plan.chunks - 1; ++i) {
      const std::size_t count =
          std::min<std::size_t>(static_cast<std::size_t>(max_key_size), into.size() - done);
      requests.push_back(
          {load_le<std::uint64_t>(offsets.data() + i * sizeof(std::uint64_t)), into.subspan(done, count)});
      done += count;
    }
    file.read_vector(requests);
  });
}

void read_chunked_blobs(const io::RandomAccessFile& file, std::span<const ReadContainer::BlobRead> blobs,
                        std::uint64_t max_key_size) {
  const io::IoTraits traits = file.traits();
  const auto one_by_one = [&](auto&& wanted) {
    for (const ReadContainer::BlobRead& blob : blobs)
      if (wanted(blob)) read_chunked_blob(file, blob.locator, max_key_size, blob.into);
  };
  if (blobs.size() < 2 || traits.concurrency < 2 || traits.reads_are_copies)
    return one_by_one([](const auto&) { return true; });
  const auto is_whole = [&](const ReadContainer::BlobRead& blob) {
    return blob.locator.kind == Locator::Kind::file && blob.locator.size == blob.into.size() &&
           (max_key_size == 0 || blob.into.size() <= max_key_size);
  };
  one_by_one([&](const auto& blob) { return !is_whole(blob); });
  std::vector<io::ReadRequest> whole;
  for (const ReadContainer::BlobRead& blob : blobs)
    if (is_whole(blob)) whole.push_back({blob.locator.offset, blob.into});
  io::read_ranges(file, whole, std::size_t{8} << 20);
}

}  // namespace colonnade::container
