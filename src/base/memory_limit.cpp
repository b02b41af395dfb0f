#include "base/memory_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace colonnade {

namespace {

// The memory allowance of all files of this process.
std::uint64_t allowance() {
  const char* text = std::getenv("COLONNADE_METADATA_MIB");
  if (text == nullptr || *text == '\0') return MemoryLimit::at_first;
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  const std::string_view digits(text);
  std::uint64_t mib = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), mib);
  if (code != std::errc() || end != digits.data() + digits.size() || mib > most)
    throw Error(ErrorKind::usage, fmt::format("COLONNADE_METADATA_MIB is \"{}\"", digits),
                fmt::format("a number of MiB up to {}", most));
  return mib << 20;
}

}  // namespace

MemoryLimit::MemoryLimit() : left_(allowance()) {}

void MemoryLimit::fail(std::uint64_t count, std::uint64_t bytes, const char* what) const {
  throw Error(
      ErrorKind::format,
      fmt::format("{}: {} times {} bytes of memory are more than a file of this size can need ({} are left)",
                  what, count, bytes, left_),
      "check where the file comes from; if you trust it, COLONNADE_METADATA_MIB=4096 allows its metadata "
      "4096 MiB");
}

std::uint64_t machine_memory() noexcept {
  static const std::uint64_t all = [] {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long size = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
                                 : ~std::uint64_t{0};
  }();
  return all;
}

}  // namespace colonnade
