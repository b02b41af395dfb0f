#include "base/bytes.h"

#include <fmt/format.h>

namespace colonnade {

void ByteReader::fail_short(std::uint64_t count, const char* what) const {
  throw Error(ErrorKind::format,
              fmt::format("{} needs {} bytes, but only {} are left", what, count, remaining()),
              "check that the file was transferred completely", {.offset = offset()});
}

void ByteReader::seek(std::size_t position, const char* what) {
  if (position > bytes_.size())
    throw Error(ErrorKind::format,
                fmt::format("{} points {} bytes past its end", what, position - bytes_.size()), "",
                {.offset = offset()});
  position_ = position;
}

}  // namespace colonnade
