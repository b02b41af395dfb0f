// A growing block of uninitialised, cache-line (or page) aligned memory. Move-only; contents up to size()
// survive resize(). Not value-initialised on purpose: it is always written before it is read. It may be a
// part of memory that others share.
#ifndef COLONNADE_BASE_ALIGNED_BUFFER_H
#define COLONNADE_BASE_ALIGNED_BUFFER_H

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace colonnade {

class AlignedBuffer {
 public:
  static constexpr std::size_t default_alignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size, std::size_t alignment = default_alignment)
      : alignment_(alignment) {
    resize(size);
  }
  // The `size` bytes at `data`, which `slab` keeps alive.
  AlignedBuffer(std::shared_ptr<AlignedBuffer> slab, std::byte* data, std::size_t size) noexcept
      : data_(data), size_(size), capacity_(size), slab_(std::move(slab)) {}
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    AlignedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~AlignedBuffer() { release(); }

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::span<std::byte> span() noexcept { return {data_, size_}; }
  std::span<const std::byte> span() const noexcept { return {data_, size_}; }

  void resize(std::size_t size) {
    if (size > capacity_) reserve(size);
    size_ = size;
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    auto* fresh = static_cast<std::byte*>(::operator new(capacity, std::align_val_t(alignment_)));
    if (size_ > 0) std::memcpy(fresh, data_, size_);
    release();
    data_ = fresh;
    capacity_ = capacity;
  }
  void swap(AlignedBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(alignment_, other.alignment_);
    slab_.swap(other.slab_);
  }

 private:
  void release() noexcept {
    if (slab_ != nullptr)
      slab_.reset();
    else if (data_ != nullptr)
      ::operator delete(data_, std::align_val_t(alignment_));
    data_ = nullptr;
    capacity_ = 0;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t alignment_ = default_alignment;
  std::shared_ptr<AlignedBuffer> slab_;  // null: the memory is its own
};

}  // namespace colonnade

#endif
