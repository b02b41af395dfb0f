// operator new and delete of a test program, all variants, by two functions that the test defines. For one
// file of a program: the operators are defined here.
//
// The non-throwing variants are replaced, too, since they would be the sanitizers' own otherwise.
#ifndef COLONNADE_BASE_TEST_ALLOCATION_H
#define COLONNADE_BASE_TEST_ALLOCATION_H

#include <cstddef>
#include <cstdlib>
#include <new>

namespace colonnade::testing {

// Memory of this size; `alignment` 0: that of malloc(). Throws std::bad_alloc. Neither is inline: GCC would
// take the free() in an operator delete for one that does not match its operator new.
[[gnu::noinline]] void* allocate(std::size_t size, std::size_t alignment);
[[gnu::noinline]] void release(void* memory) noexcept;

// What allocate() does when there is no reason to fail. Null if there is no memory.
inline void* system_memory(std::size_t size, std::size_t alignment) noexcept {
  if (alignment == 0) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

inline void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
  try {
    return allocate(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace colonnade::testing

void* operator new(std::size_t size) {
  return colonnade::testing::allocate(size, 0);
}
void* operator new[](std::size_t size) {
  return colonnade::testing::allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return colonnade::testing::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return colonnade::testing::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return colonnade::testing::allocate_or_null(size, 0);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return colonnade::testing::allocate_or_null(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return colonnade::testing::allocate_or_null(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return colonnade::testing::allocate_or_null(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  colonnade::testing::release(memory);
}
void operator delete[](void* memory) noexcept {
  colonnade::testing::release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  colonnade::testing::release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  colonnade::testing::release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  colonnade::testing::release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  colonnade::testing::release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  colonnade::testing::release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  colonnade::testing::release(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  colonnade::testing::release(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  colonnade::testing::release(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  colonnade::testing::release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  colonnade::testing::release(memory);
}

#endif
