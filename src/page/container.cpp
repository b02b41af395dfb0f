// Opening: which container a file is, told by its first bytes.
#include "page/container.h"

#include <algorithm>
#include <array>

#include "format/tfile_records.h"
#include "page/bare_file_reader.h"
#include "page/root_file_reader.h"

namespace colonnade::page {

std::unique_ptr<ReadContainer> open_container(const std::string& uri) {
  return open_container(io::open_for_reading(uri));
}

std::unique_ptr<ReadContainer> open_container(std::unique_ptr<io::RandomAccessFile> file) {
  std::array<std::byte, 8> magic{};
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), magic.size()));
  file->read(0, MutableByteSpan(magic).first(count));
  const ByteSpan first = ByteSpan(magic).first(count);
  if (format::is_tfile(first)) return std::make_unique<RootFileReader>(std::move(file));
  if (is_bare_file(first)) return std::make_unique<BareFileReader>(std::move(file));
  throw Error(ErrorKind::format,
              count == 0
                  ? "the file is empty"
                  : "the file is neither a ROOT file nor a bare RNTuple file (its first bytes are others)",
              "check that it is the right file and that it was transferred completely",
              {.uri = file->uri(), .offset = 0});
}

}  // namespace colonnade::page
