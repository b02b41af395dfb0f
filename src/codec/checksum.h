// XXH3 of bytes that arrive piece by piece, so that each piece is hashed while it is in the cache. See also
// xxh3() in compression.cpp.
#ifndef COLONNADE_CODEC_CHECKSUM_H
#define COLONNADE_CODEC_CHECKSUM_H

#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace colonnade::codec {

class Xxh3 {
 public:
  Xxh3();
  void add(ByteSpan bytes) noexcept;
  // Equals xxh3() of all pieces together.
  std::uint64_t value() const noexcept;

 private:
  struct Free {
    void operator()(void* state) const noexcept;
  };
  std::unique_ptr<void, Free> state_;
};

}  // namespace colonnade::codec

#endif
