// PageList: packed pages, in place, in an array, or - where one of them does not pack - as they are.
#include "colonnade/page_list.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace colonnade {

bool PageList::is_plain(const PageDescriptor& page) noexcept {
  const Locator& locator = page.locator;
  return page.elements < std::uint32_t{1} << 31 && locator.kind == Locator::Kind::file &&
         locator.size <= std::numeric_limits<std::uint32_t>::max() && locator.raw_type == 0 &&
         locator.reserved == 0 && locator.payload.empty();
}

PageList::Packed PageList::pack(const PageDescriptor& page) noexcept {
  Packed packed{};
  packed.offset = page.locator.offset;
  packed.size = static_cast<std::uint32_t>(page.locator.size);
  packed.elements = page.elements & 0x7fffffffU;
  packed.has_checksum = page.has_checksum;
  return packed;
}

PageDescriptor PageList::unpack(const Packed& packed) {
  PageDescriptor page;
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
  if (other.capacity_ == unpacked) {
    whole = new Whole(*other.whole);
    capacity_ = unpacked;
  } else {
    make_room(other.size_);
    std::copy_n(other.packed(), other.size_, packed());
  }
  size_ = other.size_;
}

void PageList::swap(PageList& other) noexcept {
  static_assert(std::is_trivially_copyable_v<Packed> && sizeof(Packed) >= sizeof(Packed*));
  // Whatever the place holds, these are its bytes.
  std::swap(one, other.one);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
}

void PageList::release() noexcept {
  if (capacity_ == unpacked)
    delete whole;
  else if (capacity_ != in_place)
    delete[] many;
  one = {};
  size_ = 0;
  capacity_ = in_place;
}

PageDescriptor PageList::operator[](std::size_t i) const {
  return capacity_ == unpacked ? (*whole)[i] : unpack(packed()[i]);
}

PageDescriptor PageList::at(std::size_t i) const {
  if (i >= size_) throw std::out_of_range("PageList::at");
  return (*this)[i];
}

std::uint64_t PageList::elements() const noexcept {
  std::uint64_t sum = 0;
  if (capacity_ == unpacked) {
    for (const PageDescriptor& page : *whole) sum += page.elements;
  } else {
    const Packed* const pages = packed();
    for (std::uint32_t i = 0; i < size_; ++i) sum += pages[i].elements;
  }
  return sum;
}

void PageList::make_room(std::size_t pages) {
  if (pages >= unpacked) throw std::length_error("PageList");
  if (pages <= std::max<std::size_t>(capacity_, 1)) return;
  auto* const fresh = new Packed[pages];
  std::copy_n(packed(), size_, fresh);
  if (capacity_ != in_place) delete[] many;
  many = fresh;
  capacity_ = static_cast<std::uint32_t>(pages);
}

void PageList::reserve(std::size_t pages) {
  if (capacity_ == unpacked)
    whole->reserve(pages);
  else
    make_room(pages);
}

void PageList::clear() noexcept {
  release();
}

void PageList::push_back_packed(Packed page) {
  if (capacity_ == unpacked) {
    whole->push_back(unpack(page));
  } else {
    const std::size_t capacity = std::max<std::size_t>(capacity_, 1);
    if (size_ == capacity) make_room(2 * capacity);
    packed()[size_] = page;
  }
  ++size_;
}

PageList::Whole& PageList::unpack_all() {
  if (capacity_ == unpacked) return *whole;
  auto* const all = new Whole(begin(), end());
  if (capacity_ != in_place) delete[] many;
  whole = all;
  capacity_ = unpacked;
  return *all;
}

void PageList::push_back(const PageDescriptor& page) {
  if (is_plain(page)) return push_back_packed(pack(page));
  if (size_ + 1 >= unpacked) throw std::length_error("PageList");
  unpack_all().push_back(page);
  ++size_;
}

void PageList::set(std::size_t i, const PageDescriptor& page) {
  if (capacity_ != unpacked && is_plain(page))
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
