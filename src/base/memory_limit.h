// MemoryLimit: limits the memory that bytes from outside may claim. A few bytes can describe a lot of memory;
// a parser therefore asks here before it allocates, and requests that no valid file comes near are refused.
//
// All files together get `at_first`, and `per_byte` for each byte that was actually read. Valid metadata take
// 5 to 60 times their stored size. Only columns without pages, or with the same pages again and again,
// compress to almost nothing: `at_first` has room for 8 million of them (columns times clusters);
// COLONNADE_METADATA_MIB raises it.
#ifndef COLONNADE_BASE_MEMORY_LIMIT_H
#define COLONNADE_BASE_MEMORY_LIMIT_H

#include <cstdint>

#include "base/bytes.h"

namespace colonnade {

class MemoryLimit {
 public:
  static constexpr std::uint64_t at_first = std::uint64_t{512} << 20;
  static constexpr std::uint64_t per_byte = 1024;

  // Throws ErrorKind::usage if the environment variable is invalid.
  MemoryLimit();

  // Adds the allowance for bytes that were read from storage.
  void add_stored(std::uint64_t bytes) noexcept {
    std::uint64_t more = 0;
    if (__builtin_mul_overflow(bytes, per_byte, &more) || __builtin_add_overflow(left_, more, &left_))
      left_ = ~std::uint64_t{0};
  }
  // Reserves `count` times `bytes`. Throws ErrorKind::format naming `what` if that exceeds the limit.
  void take(std::uint64_t count, std::uint64_t bytes, const char* what) {
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all) || all > left_) fail(count, bytes, what);
    left_ -= all;
  }
  // Returns memory reserved by take().
  void give_back(std::uint64_t bytes) noexcept { left_ += bytes; }

 private:
  [[noreturn]] void fail(std::uint64_t count, std::uint64_t bytes, const char* what) const;

  std::uint64_t left_;
};

// The physical memory of the machine: larger requests are refused without trying. (Systems promise more
// memory than they have, and kill the process that uses it.)
std::uint64_t machine_memory() noexcept;

}  // namespace colonnade

#endif
