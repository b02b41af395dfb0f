// Checks and errors shared by back ends of object stores, so that a caller's mistake and a missing value give
// the same message in every store.
#ifndef COLONNADE_IO_OBJECT_CHECKS_H
#define COLONNADE_IO_OBJECT_CHECKS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "io/object_store.h"

namespace colonnade::io {

std::uint64_t size_of(const UpdateItem& item) noexcept;

// Throw ErrorKind::usage for more items than the store takes, a value larger than it takes, or an attribute
// key that an update has twice.
void check_fetch(const std::string& uri, const StoreTraits& traits, const ObjectId& object,
                 std::uint64_t dkey, std::span<const FetchItem> items);
void check_update(const std::string& uri, const StoreTraits& traits, const ObjectId& object,
                  std::uint64_t dkey, std::span<const UpdateItem> items);
void check_value_size(const std::string& uri, const StoreTraits& traits, const ValueAddress& address,
                      std::uint64_t size);

// The value does not exist: ErrorKind::not_found.
[[noreturn]] void fail_missing(const std::string& uri, const ValueAddress& address);

// Throws ErrorKind::format unless the range lies in a value of `size` bytes.
void check_value_range(const std::string& uri, const ValueAddress& address, std::uint64_t size,
                       std::uint64_t offset, std::uint64_t count);

// The store cannot be used in a child process: ErrorKind::usage.
[[noreturn]] void fail_after_fork(const std::string& uri);

}  // namespace colonnade::io

#endif
