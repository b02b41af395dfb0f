// MemoryLimit: how much memory may be made of bytes from outside. A few bytes can describe a lot of memory;
// whoever makes room for what they describe asks here first, and what no honest file comes near is refused.
//
// All files get `at_first`, and `per_byte` for each of their bytes that was really there. Honest metadata
// take 5 to 60 times the bytes that they have on storage. Only columns without pages, or with the same ones
// again and again, compress to almost nothing: `at_first` is room for 8 million of them, columns times
// clusters, and whoever has more says so in COLONNADE_METADATA_MIB.
#ifndef COLONNADE_BASE_MEMORY_LIMIT_H
#define COLONNADE_BASE_MEMORY_LIMIT_H

#include <cstdint>

#include "base/bytes.h"

namespace colonnade {

class MemoryLimit {
 public:
  static constexpr std::uint64_t at_first = std::uint64_t{512} << 20;
  static constexpr std::uint64_t per_byte = 1024;

  // Throws ErrorKind::usage if the environment makes no sense.
  MemoryLimit();

  // So many bytes of storage were read.
  void add_stored(std::uint64_t bytes) noexcept {
    std::uint64_t more = 0;
    if (__builtin_mul_overflow(bytes, per_byte, &more) || __builtin_add_overflow(left_, more, &left_))
      left_ = ~std::uint64_t{0};
  }
  // Room for `count` times `bytes`. Throws ErrorKind::format naming `what` where that is too much.
  void take(std::uint64_t count, std::uint64_t bytes, const char* what) {
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all) || all > left_) fail(count, bytes, what);
    left_ -= all;
  }
  // Of what take() gave.
  void give_back(std::uint64_t bytes) noexcept { left_ += bytes; }
  std::uint64_t left() const noexcept { return left_; }

 private:
  [[noreturn]] void fail(std::uint64_t count, std::uint64_t bytes, const char* what) const;

  std::uint64_t left_;
};

// The bytes of memory that the machine has: what cannot be in it need not be tried. (Systems promise more
// than they have, and end the process that takes it.)
std::uint64_t machine_memory() noexcept;

}  // namespace colonnade

#endif
