// XXH3 of bytes that arrive piece by piece, so that each is summed while it is in the cache. It stands beside
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
  // What xxh3() gives for all of them together.
  std::uint64_t value() const noexcept;

 private:
  struct Free {
    void operator()(void* state) const noexcept;
  };
  std::unique_ptr<void, Free> state_;
};

}  // namespace colonnade::codec

#endif
