// Byte views and bounds-checked cursors: the only way the library reads bytes that come from outside.
// ByteReader never reads past its span; it throws ErrorKind::format with the offset instead.
#ifndef COLONNADE_BASE_BYTES_H
#define COLONNADE_BASE_BYTES_H

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colonnade/error.h"

namespace colonnade {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;
using Bytes = std::vector<std::byte>;

static_assert(std::endian::native == std::endian::little, "Colonnade stores little-endian memory images");

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <Scalar T>
T load_le(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <Scalar T>
void store_le(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

template <std::unsigned_integral T>
constexpr T byte_swap(T value) noexcept {
  T result = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    result = static_cast<T>((result << 8) | (value & 0xff));
    value = static_cast<T>(value >> 8);
  }
  return result;
}

inline ByteSpan as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A cursor over bytes. `base` is the offset of the first byte in its file or envelope, for messages only.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes, std::uint64_t base = 0) noexcept : bytes_(bytes), base_(base) {}

  std::size_t position() const noexcept { return position_; }
  std::size_t remaining() const noexcept { return bytes_.size() - position_; }
  std::uint64_t offset() const noexcept { return base_ + position_; }

  // `what` names the structure in the error: "footer: cluster group".
  void require(std::uint64_t count, const char* what) const {
    if (count > remaining()) fail_short(count, what);
  }
  void seek(std::size_t position, const char* what);
  ByteSpan take(std::uint64_t count, const char* what) {
    require(count, what);
    ByteSpan part = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return part;
  }
  template <Scalar T>
  T le(const char* what) {
    return load_le<T>(take(sizeof(T), what).data());
  }
  template <std::unsigned_integral T>
  T be(const char* what) {
    return byte_swap(le<T>(what));
  }

 private:
  [[noreturn]] void fail_short(std::uint64_t count, const char* what) const;

  ByteSpan bytes_;
  std::uint64_t base_ = 0;
  std::size_t position_ = 0;
};

// Appends to a growing buffer; patch() overwrites what is there.
class ByteWriter {
 public:
  std::size_t position() const noexcept { return bytes_.size(); }
  ByteSpan view() const noexcept { return bytes_; }
  Bytes take() noexcept { return std::move(bytes_); }

  void append(ByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  template <Scalar T>
  void le(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    store_le(bytes_.data() + at, value);
  }
  template <std::unsigned_integral T>
  void be(T value) {
    le(byte_swap(value));
  }
  template <Scalar T>
  void patch(std::size_t at, T value) {
    store_le(bytes_.data() + at, value);
  }

 private:
  Bytes bytes_;
};

}  // namespace colonnade

#endif
