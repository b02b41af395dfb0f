// The pages of a column in a cluster, and their locations.
//
// A data set may have millions of pages. A PageList stores each in 16 bytes, a single one without allocation,
// if all of them are in a file or all in an object store; only lists with other locators take more. Pages are
// therefore returned by value, and changed with set().
#ifndef COLONNADE_PAGE_LIST_H
#define COLONNADE_PAGE_LIST_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

namespace colonnade {

// Where a block of bytes is stored. File locators have offset and size; object stores follow type 0x02.
struct Locator {
  enum class Kind : std::uint8_t { file, object64, unknown };
  Kind kind = Kind::file;
  std::uint64_t size = 0;    // bytes of the (compressed) block, without a page checksum
  std::uint64_t offset = 0;  // file: byte offset; object64: the 64-bit location
  std::uint8_t raw_type = 0;
  std::uint8_t reserved = 0;
  std::string payload;  // of an unknown locator, verbatim
  friend bool operator==(const Locator&, const Locator&) = default;
};

struct PageDescriptor {
  std::uint32_t elements = 0;
  bool has_checksum = false;
  Locator locator;
  friend bool operator==(const PageDescriptor&, const PageDescriptor&) = default;
};

class PageList {
 public:
  using value_type = PageDescriptor;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PageDescriptor;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = PageDescriptor;

    Iterator() = default;
    Iterator(const PageList* list, std::size_t at) noexcept : list_(list), at_(at) {}
    PageDescriptor operator*() const { return (*list_)[at_]; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    Iterator operator++(int) noexcept { return {list_, at_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const PageList* list_ = nullptr;
    std::size_t at_ = 0;
  };
  using const_iterator = Iterator;

  PageList() noexcept : one{} {}
  PageList(std::initializer_list<PageDescriptor> pages);
  PageList(const PageList& other);
  PageList(PageList&& other) noexcept : one{} { swap(other); }
  PageList& operator=(const PageList& other) {
    PageList(other).swap(*this);
    return *this;
  }
  PageList& operator=(PageList&& other) noexcept {
    PageList(static_cast<PageList&&>(other)).swap(*this);
    return *this;
  }
  ~PageList() {
    if (capacity_ != 0) release();
  }
  void swap(PageList& other) noexcept;

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // True if each page takes 16 bytes.
  bool is_packed() const noexcept { return room() != unpacked; }
  PageDescriptor operator[](std::size_t i) const;
  PageDescriptor at(std::size_t i) const;  // throws std::out_of_range
  PageDescriptor front() const { return (*this)[0]; }
  PageDescriptor back() const { return (*this)[size_ - 1]; }
  Iterator begin() const noexcept { return {this, 0}; }
  Iterator end() const noexcept { return {this, size_}; }

  // The number of elements of all pages together.
  std::uint64_t elements() const noexcept;

  void reserve(std::size_t pages);
  void clear() noexcept;
  void push_back(const PageDescriptor& page);
  void set(std::size_t i, const PageDescriptor& page);
  void assign(std::size_t pages, const PageDescriptor& page);
  // A page of a file that is smaller than 4 GiB and has less than 2^31 elements, as almost all pages are.
  void push_back_plain(std::uint64_t offset, std::uint32_t size, std::uint32_t elements, bool has_checksum) {
    if (size_ != 0 || capacity_ != 0) return push_back_file_page({offset, size, elements, has_checksum});
    one = {offset, size, elements, has_checksum};
    size_ = 1;
  }

  friend bool operator==(const PageList& a, const PageList& b);

 private:
  struct Packed {
    std::uint64_t offset;
    std::uint32_t size;
    std::uint32_t elements : 31;
    std::uint32_t has_checksum : 1;
  };
  static_assert(sizeof(Packed) == 16);
  using Whole = std::vector<PageDescriptor>;
  // The meaning of capacity_: `one`, `whole`, and anything else `many`. Its highest bit holds the kind of
  // locators of packed pages.
  static constexpr std::uint32_t object_bit = 0x80000000U;
  static constexpr std::uint32_t in_place = 0;
  static constexpr std::uint32_t unpacked = 0x7fffffffU;
  std::uint32_t room() const noexcept { return capacity_ & ~object_bit; }
  Locator::Kind kind() const noexcept {
    return (capacity_ & object_bit) != 0 ? Locator::Kind::object64 : Locator::Kind::file;
  }
  bool takes(Locator::Kind of) noexcept;

  static bool is_plain(const PageDescriptor& page) noexcept;
  static Packed pack(const PageDescriptor& page) noexcept;
  PageDescriptor unpack(const Packed& packed) const;
  const Packed* packed() const noexcept { return room() == in_place ? &one : many; }
  Packed* packed() noexcept { return room() == in_place ? &one : many; }
  void push_back_file_page(Packed page);
  void push_back_packed(Packed page);
  void make_room(std::size_t pages);
  Whole& unpack_all();
  void release() noexcept;

  union {
    Packed one;
    Packed* many;
    Whole* whole;
  };
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = in_place;
};

}  // namespace colonnade

#endif
