// A vector that stores up to N items in place. A descriptor has several short lists per field, and a data set
// may have many thousands of fields. Items move without throwing; indices are 32 bits wide.
#ifndef COLONNADE_DETAIL_INLINE_VECTOR_H
#define COLONNADE_DETAIL_INLINE_VECTOR_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace colonnade::detail {

template <class T, std::uint32_t N>
class InlineVector {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  InlineVector() noexcept = default;
  InlineVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <class Iterator>
  InlineVector(Iterator first, Iterator last) {
    append(first, last);
  }
  InlineVector(const InlineVector& other) { append(other.begin(), other.end()); }
  InlineVector(InlineVector&& other) noexcept { steal(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this != &other) *this = InlineVector(other);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    release();
    steal(other);
    return *this;
  }
  ~InlineVector() { release(); }

  T* data() noexcept { return is_inline() ? storage_.items : storage_.heap; }
  const T* data() const noexcept { return is_inline() ? storage_.items : storage_.heap; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  const T& at(std::size_t i) const {
    if (i >= size_) throw std::out_of_range("InlineVector::at");
    return data()[i];
  }
  T& front() noexcept { return data()[0]; }
  const T& front() const noexcept { return data()[0]; }
  T& back() noexcept { return data()[size_ - 1]; }
  const T& back() const noexcept { return data()[size_ - 1]; }

  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  void push_back(T item) { emplace_back(std::move(item)); }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) grow(std::size_t{2} * capacity_);
    T* made = ::new (static_cast<void*>(data() + size_)) T(std::forward<Arguments>(arguments)...);
    ++size_;
    return *made;
  }
  void resize(std::size_t size) {
    reserve(size);
    while (size_ > size) pop_back();
    while (size_ < size) emplace_back();
  }
  void pop_back() noexcept {
    std::destroy_at(data() + size_ - 1);
    --size_;
  }
  void clear() noexcept {
    std::destroy_n(data(), size_);
    size_ = 0;
  }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static_assert(N > 0 && std::is_nothrow_move_constructible_v<T>);
  static_assert(alignof(T) <= alignof(std::max_align_t));

  union Storage {
    Storage() noexcept {}
    ~Storage() {}
    T items[N];
    T* heap;
  };

  bool is_inline() const noexcept { return capacity_ == N; }

  template <class Iterator>
  void append(Iterator first, Iterator last) {
    try {
      for (; first != last; ++first) emplace_back(*first);
    } catch (...) {
      release();
      throw;
    }
  }

  void grow(std::size_t capacity) {
    if (capacity > 0xffffffffU) throw std::length_error("InlineVector");
    T* const fresh = static_cast<T*>(::operator new(capacity * sizeof(T)));
    std::uninitialized_move_n(data(), size_, fresh);
    const std::uint32_t size = size_;
    release();
    storage_.heap = fresh;
    size_ = size;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }

  // Drops all items and frees the memory.
  void release() noexcept {
    clear();
    if (!is_inline()) ::operator delete(storage_.heap);
    capacity_ = N;
  }

  void steal(InlineVector& other) noexcept {
    if (other.is_inline()) {
      std::uninitialized_move_n(other.storage_.items, other.size_, storage_.items);
      size_ = other.size_;
      other.clear();
    } else {
      storage_.heap = other.storage_.heap;
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
    }
  }

  Storage storage_;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = N;  // N: the items are stored in place
};

}  // namespace colonnade::detail

#endif
