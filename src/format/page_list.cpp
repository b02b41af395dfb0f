// PageList: packed pages, in place or in an array, or, if one of them cannot be packed, full descriptors.
#include "colonnade/page_list.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace colonnade {

namespace {

constexpr std::uint8_t object64_type = 0x02;

}  // namespace

bool PageList::is_plain(const PageDescriptor& page) noexcept {
  const Locator& locator = page.locator;
  const bool is_usual = locator.kind == Locator::Kind::object64
                            ? locator.raw_type == object64_type
                            : locator.kind == Locator::Kind::file && locator.raw_type == 0;
  return is_usual && page.elements < std::uint32_t{1} << 31 &&
         locator.size <= std::numeric_limits<std::uint32_t>::max() && locator.reserved == 0 &&
         locator.payload.empty();
}

// True if a page with such a locator can be packed into this list. The first page determines the kind.
bool PageList::takes(Locator::Kind of) noexcept {
  if (size_ == 0 && room() != unpacked) capacity_ = room() | (of == Locator::Kind::object64 ? object_bit : 0);
  return room() != unpacked && of == kind();
}

PageList::Packed PageList::pack(const PageDescriptor& page) noexcept {
  Packed packed{};
  packed.offset = page.locator.offset;
  packed.size = static_cast<std::uint32_t>(page.locator.size);
  packed.elements = page.elements & 0x7fffffffU;
  packed.has_checksum = page.has_checksum;
  return packed;
}

PageDescriptor PageList::unpack(const Packed& packed) const {
  PageDescriptor page;
  page.locator.kind = kind();
  if (page.locator.kind == Locator::Kind::object64) page.locator.raw_type = object64_type;
  page.elements = packed.elements;
  page.has_checksum = packed.has_checksum;
  page.locator.size = packed.size;
  page.locator.offset = packed.offset;
  return page;
}

PageList::PageList(std::initializer_list<PageDescriptor> pages) : one{} {
  try {
    for (const PageDescriptor& page : pages) push_back(page);
  } catch (...) {
    release();
    throw;
  }
}

PageList::PageList(const PageList& other) : one{} {
  if (other.room() == unpacked) {
    whole = new Whole(*other.whole);
    capacity_ = unpacked;
  } else {
    make_room(other.size_);
    std::copy_n(other.packed(), other.size_, packed());
    capacity_ |= other.capacity_ & object_bit;
  }
  size_ = other.size_;
}

void PageList::swap(PageList& other) noexcept {
  static_assert(std::is_trivially_copyable_v<Packed> && sizeof(Packed) >= sizeof(Packed*));
  // Swaps the raw bytes, whichever member of the union is active.
  std::swap(one, other.one);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
}

void PageList::release() noexcept {
  if (room() == unpacked)
    delete whole;
  else if (room() != in_place)
    delete[] many;
  one = {};
  size_ = 0;
  capacity_ = in_place;
}

PageDescriptor PageList::operator[](std::size_t i) const {
  return room() == unpacked ? (*whole)[i] : unpack(packed()[i]);
}

PageDescriptor PageList::at(std::size_t i) const {
  if (i >= size_) throw std::out_of_range("PageList::at");
  return (*this)[i];
}

std::uint64_t PageList::elements() const noexcept {
  std::uint64_t sum = 0;
  if (room() == unpacked) {
    for (const PageDescriptor& page : *whole) sum += page.elements;
  } else {
    const Packed* const pages = packed();
    for (std::uint32_t i = 0; i < size_; ++i) sum += pages[i].elements;
  }
  return sum;
}

void PageList::make_room(std::size_t pages) {
  if (pages >= unpacked) throw std::length_error("PageList");
  if (pages <= std::max<std::size_t>(room(), 1)) return;
  auto* const fresh = new Packed[pages];
  std::copy_n(packed(), size_, fresh);
  if (room() != in_place) delete[] many;
  many = fresh;
  capacity_ = static_cast<std::uint32_t>(pages) | (capacity_ & object_bit);
}

void PageList::reserve(std::size_t pages) {
  if (room() == unpacked)
    whole->reserve(pages);
  else
    make_room(pages);
}

void PageList::clear() noexcept {
  release();
}

// takes() must be true.
void PageList::push_back_packed(Packed page) {
  const std::size_t capacity = std::max<std::size_t>(room(), 1);
  if (size_ == capacity) make_room(2 * capacity);
  packed()[size_] = page;
  ++size_;
}

void PageList::push_back_file_page(Packed page) {
  if (takes(Locator::Kind::file)) return push_back_packed(page);
  push_back({.elements = page.elements,
             .has_checksum = page.has_checksum != 0,
             .locator = {.size = page.size, .offset = page.offset}});
}

PageList::Whole& PageList::unpack_all() {
  if (room() == unpacked) return *whole;
  auto* const all = new Whole(begin(), end());
  if (room() != in_place) delete[] many;
  whole = all;
  capacity_ = unpacked;
  return *all;
}

void PageList::push_back(const PageDescriptor& page) {
  if (is_plain(page) && takes(page.locator.kind)) return push_back_packed(pack(page));
  if (size_ + 1 >= unpacked) throw std::length_error("PageList");
  unpack_all().push_back(page);
  ++size_;
}

void PageList::set(std::size_t i, const PageDescriptor& page) {
  if (room() != unpacked && page.locator.kind == kind() && is_plain(page))
    packed()[i] = pack(page);
  else
    unpack_all()[i] = page;
}

void PageList::assign(std::size_t pages, const PageDescriptor& page) {
  PageList fresh;
  fresh.reserve(pages);
  for (std::size_t i = 0; i < pages; ++i) fresh.push_back(page);
  swap(fresh);
}

bool operator==(const PageList& a, const PageList& b) {
  return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace colonnade
