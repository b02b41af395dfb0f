// See rados_listing.h.
#include "io/rados/rados_listing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <string>
#include <vector>

namespace colonnade::io {
namespace {

constexpr std::size_t at_once = 1024;

std::uint32_t reversed_bits(std::uint32_t value) noexcept {
  std::uint32_t result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) result |= (value >> bit & 1u) << (31 - bit);
  return result;
}

void mix(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c) noexcept {
  a = (a - b - c) ^ (c >> 13);
  b = (b - c - a) ^ (a << 8);
  c = (c - a - b) ^ (b >> 13);
  a = (a - b - c) ^ (c >> 12);
  b = (b - c - a) ^ (a << 16);
  c = (c - a - b) ^ (b >> 5);
  a = (a - b - c) ^ (c >> 3);
  b = (b - c - a) ^ (a << 10);
  c = (c - a - b) ^ (b >> 15);
}

// Up to four bytes, the first one lowest.
std::uint32_t word_of(std::string_view text) noexcept {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(text.size(), 4); ++i)
    word |= std::uint32_t{static_cast<unsigned char>(text[i])} << (8 * i);
  return word;
}

class Cursor {
 public:
  Cursor(const RadosPool& pool, rados_object_list_cursor handle) : pool_(&pool), handle_(handle) {
    if (handle_ == nullptr) throw std::bad_alloc();
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() { pool_->api().object_list_cursor_free(pool_->handle(), handle_); }
  rados_object_list_cursor get() const noexcept { return handle_; }
  rados_object_list_cursor* out() noexcept { return &handle_; }

 private:
  const RadosPool* pool_;
  rados_object_list_cursor handle_;
};

}  // namespace

std::uint32_t rados_hash(std::string_view text) noexcept {
  std::uint32_t a = 0x9e3779b9;
  std::uint32_t b = a;
  std::uint32_t c = 0;
  const auto size = static_cast<std::uint32_t>(text.size());
  for (; text.size() >= 12; text.remove_prefix(12)) {
    a += word_of(text);
    b += word_of(text.substr(4));
    c += word_of(text.substr(8));
    mix(a, b, c);
  }
  text = text.substr(0, 11);
  a += word_of(text);
  if (text.size() > 4) b += word_of(text.substr(4));
  // The lowest byte is for the length.
  c += size + (text.size() > 8 ? word_of(text.substr(8)) << 8 : 0);
  mix(a, b, c);
  return c;
}

void list_rados_objects(const RadosPool& pool, const std::function<void(std::string_view name)>& visit) {
  const RadosApi& api = pool.api();
  rados_ioctx_t handle = pool.handle();
  Cursor at(pool, api.object_list_begin(handle));
  Cursor end(pool, api.object_list_end(handle));
  if (!pool.key().empty()) {
    // Positions are sorted by the reversed bits of their hash.
    const std::uint32_t hash = rados_hash(pool.name_space() + '\x1f' + pool.key());
    const Cursor first(pool, api.object_list_begin(handle));
    const Cursor last(pool, api.object_list_end(handle));
    api.object_list_slice(handle, first.get(), last.get(), reversed_bits(hash), std::size_t{1} << 32,
                          at.out(), end.out());
  }
  while (api.object_list_cursor_cmp(handle, at.get(), end.get()) < 0) {
    std::array<RadosListItem, at_once> items{};
    const int count =
        api.object_list(handle, at.get(), end.get(), items.size(), nullptr, 0, items.data(), at.out());
    if (count < 0) throw rados_error(count, "the objects of the namespace cannot be listed", pool.uri());
    const auto found = static_cast<std::size_t>(count);
    std::vector<std::string> names;
    names.reserve(found);
    for (std::size_t i = 0; i < found; ++i) names.emplace_back(items[i].name, items[i].name_length);
    api.object_list_free(found, items.data());
    for (const std::string& name : names) visit(name);
  }
}

}  // namespace colonnade::io
