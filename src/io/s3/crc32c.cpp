// See crc32c.h. By tables it takes 8 bytes a step ("slicing by 8"): table k holds what a byte does to the sum
// when k more bytes follow.
#include "io/s3/crc32c.h"

#include <array>

namespace colonnade::io {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  constexpr std::uint32_t polynomial = 0x82f63b78;  // reversed
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

constexpr Tables tables = make_tables();

std::uint32_t add_by_tables(std::uint32_t sum, ByteSpan bytes) noexcept {
  while (bytes.size() >= 8) {
    const std::uint64_t word = load_le<std::uint64_t>(bytes.data()) ^ sum;
    sum = 0;
    for (unsigned k = 0; k < 8; ++k) sum ^= tables[7 - k][word >> (8 * k) & 0xff];
    bytes = bytes.subspan(8);
  }
  for (std::byte byte : bytes)
    sum = (sum >> 8) ^ tables[0][(sum ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return sum;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) std::uint32_t add_by_instruction(std::uint32_t sum,
                                                                   ByteSpan bytes) noexcept {
  std::uint64_t wide = sum;
  while (bytes.size() >= 8) {
    wide = __builtin_ia32_crc32di(wide, load_le<std::uint64_t>(bytes.data()));
    bytes = bytes.subspan(8);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (std::byte byte : bytes) narrow = __builtin_ia32_crc32qi(narrow, std::to_integer<unsigned char>(byte));
  return narrow;
}

bool has_instruction() noexcept {
  return __builtin_cpu_supports("sse4.2") != 0;
}

#else

std::uint32_t add_by_instruction(std::uint32_t sum, ByteSpan bytes) noexcept {
  return add_by_tables(sum, bytes);
}

bool has_instruction() noexcept {
  return false;
}

#endif

template <class Add>
std::uint32_t sum_of(std::span<const ByteSpan> parts, Add add) noexcept {
  std::uint32_t sum = ~std::uint32_t{0};
  for (ByteSpan part : parts) sum = add(sum, part);
  return ~sum;
}

}  // namespace

std::uint32_t crc32c(std::span<const ByteSpan> parts) noexcept {
  static const bool by_instruction = has_instruction();
  return by_instruction ? sum_of(parts, add_by_instruction) : sum_of(parts, add_by_tables);
}

std::uint32_t crc32c_by_tables(std::span<const ByteSpan> parts) noexcept {
  return sum_of(parts, add_by_tables);
}

}  // namespace colonnade::io
