// See object_checks.h.
#include "io/object_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace colonnade::io {
namespace {

void check_count(const std::string& uri, const StoreTraits& traits, const ObjectId& object,
                 std::uint64_t dkey, std::size_t count) {
  if (count > traits.max_items)
    throw Error(ErrorKind::usage,
                fmt::format("{}, distribution key {}: {} items in one operation, but the store takes {}",
                            to_text(object), dkey, count, traits.max_items),
                "split the operation", {.uri = uri});
}

}  // namespace

std::uint64_t size_of(const UpdateItem& item) noexcept {
  std::uint64_t size = 0;
  for (ByteSpan part : item.parts) size += part.size();
  return size;
}

void check_fetch(const std::string& uri, const StoreTraits& traits, const ObjectId& object,
                 std::uint64_t dkey, std::span<const FetchItem> items) {
  check_count(uri, traits, object, dkey, items.size());
}

void check_update(const std::string& uri, const StoreTraits& traits, const ObjectId& object,
                  std::uint64_t dkey, std::span<const UpdateItem> items) {
  check_count(uri, traits, object, dkey, items.size());
  for (const UpdateItem& item : items)
    check_value_size(uri, traits, {object, dkey, item.akey}, size_of(item));
  if (items.size() < 2) return;
  std::vector<std::uint64_t> keys;
  keys.reserve(items.size());
  for (const UpdateItem& item : items) keys.push_back(item.akey);
  std::sort(keys.begin(), keys.end());
  if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end())
    throw Error(ErrorKind::usage,
                fmt::format("{} is given twice in one update", to_text(ValueAddress{object, dkey, *twice})),
                "use each attribute key once", {.uri = uri});
}

void check_value_size(const std::string& uri, const StoreTraits& traits, const ValueAddress& address,
                      std::uint64_t size) {
  if (size > traits.max_value)
    throw Error(ErrorKind::usage,
                fmt::format("{}: a value of {} bytes, but the store takes at most {}", to_text(address), size,
                            traits.max_value),
                "split the value", {.uri = uri});
}

void fail_missing(const std::string& uri, const ValueAddress& address) {
  throw Error(ErrorKind::not_found, fmt::format("there is no value at {}", to_text(address)),
              "check that this is the right store and that nothing was removed from it", {.uri = uri});
}

void check_value_range(const std::string& uri, const ValueAddress& address, std::uint64_t size,
                       std::uint64_t offset, std::uint64_t count) {
  if (offset > size || count > size - offset)
    throw Error(ErrorKind::format,
                fmt::format("{}: {} bytes were requested from byte {} on, but the value has {} bytes",
                            to_text(address), count, offset, size),
                "check that the data set was written or copied completely", {.uri = uri});
}

void fail_after_fork(const std::string& uri) {
  throw Error(ErrorKind::usage, "the store was opened before this process was forked", "open it again here",
              {.uri = uri});
}

}  // namespace colonnade::io
