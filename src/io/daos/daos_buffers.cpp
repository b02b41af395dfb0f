// See daos_buffers.h.
#include "io/daos/daos_buffers.h"

#include <algorithm>
#include <bit>

namespace colonnade::io::daos {
namespace {

constexpr std::align_val_t alignment{4096};

// Four sizes per power of two, so that values of similar sizes share buffers.
std::size_t rounded(std::size_t size) {
  constexpr std::size_t smallest = 4096;
  if (size <= smallest) return smallest;
  const std::size_t step = std::bit_floor(size - 1) / 4;
  return (size + step - 1) / step * step;
}

}  // namespace

Buffer::~Buffer() {
  if (data_ != nullptr) owner_->give_back(data_, size_);
}

Buffers::~Buffers() {
  for (const auto& [size, data] : free_) ::operator delete(data, alignment);
}

Buffer Buffers::take(std::size_t size) {
  const std::size_t wanted = rounded(size);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = free_.find(wanted); found != free_.end()) {
      std::byte* data = found->second;
      free_.erase(found);
      kept_ -= wanted;
      return Buffer(*this, data, wanted);
    }
  }
  return Buffer(*this, static_cast<std::byte*>(::operator new(wanted, alignment)), wanted);
}

void Buffers::give_back(std::byte* data, std::size_t size) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (kept_ + size <= most_kept) {
      free_.emplace(size, data);
      kept_ += size;
      return;
    }
  } catch (const std::bad_alloc&) {
    // freed instead
  }
  ::operator delete(data, alignment);
}

std::size_t Buffers::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

}  // namespace colonnade::io::daos
