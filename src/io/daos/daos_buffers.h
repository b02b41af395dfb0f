// Memory for values in flight. It is reused, so that it stays mapped (and registered with the network),
// and it belongs to the operation that uses it: libdaos may still access it after a caller has stopped
// waiting.
#ifndef COLONNADE_IO_DAOS_DAOS_BUFFERS_H
#define COLONNADE_IO_DAOS_DAOS_BUFFERS_H

#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace colonnade::io::daos {

class Buffers;

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffers& owner, std::byte* data, std::size_t size) : owner_(&owner), data_(data), size_(size) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Buffers* owner_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Thread-safe. Must outlive its buffers.
class Buffers {
 public:
  static constexpr std::size_t most_kept = std::size_t{64} << 20;  // bytes kept unused

  Buffers() = default;
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  ~Buffers();

  Buffer take(std::size_t size);  // of at least `size` bytes
  std::size_t kept() const;

 private:
  friend class Buffer;
  void give_back(std::byte* data, std::size_t size) noexcept;

  mutable std::mutex mutex_;
  std::multimap<std::size_t, std::byte*> free_;
  std::size_t kept_ = 0;
};

}  // namespace colonnade::io::daos

#endif
