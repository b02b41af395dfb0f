// See rados_store.h.
#include "io/rados/rados_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "io/object_checks.h"
#include "io/rados/rados_listing.h"
#include "io/rados/rados_operation.h"
#include "io/rados/rados_queue.h"

namespace colonnade::io {
namespace {

constexpr std::size_t removed_at_once = 64;
constexpr std::size_t usual_small_value = std::size_t{64} << 10;

std::vector<std::uint64_t> sorted_unique(std::vector<std::uint64_t> keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Error failure_at(const RadosPool& pool, const ValueAddress& address, int code) {
  return rados_error(code, fmt::format("{}: Ceph reports", to_text(address)), pool.uri());
}

}  // namespace

RadosStore::RadosStore(const RadosPlace& place)
    : uri_(place.uri),
      cluster_(RadosCluster::connect(place)),
      values_(cluster_, place, place.name_space),
      directory_(cluster_, place, place.name_space, "directory") {}

StoreTraits RadosStore::traits() const noexcept {
  StoreTraits traits;
  // A cluster accepts 90 MB in one write, and 128 MiB in one object.
  traits.max_value = std::size_t{64} << 20;
  traits.best_value = std::size_t{1} << 20;
  traits.ranges = true;
  traits.vectors = false;
  traits.finds_objects = true;
  traits.concurrency = 16;
  return traits;
}

void RadosStore::require_usable() const {
  if (!is_usable()) fail_after_fork(uri_);
}

void RadosStore::fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const {
  require_usable();
  RadosQueue queue(*this, 1);
  queue.submit_fetch(0, object, dkey, items);
  queue.wait_for_all();
}

void RadosStore::update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) {
  require_usable();
  RadosQueue queue(*this, 1);
  queue.submit_update(0, object, dkey, items);
  queue.wait_for_all();
}

std::unique_ptr<ObjectQueue> RadosStore::open_queue(unsigned depth) {
  require_usable();
  return std::make_unique<RadosQueue>(*this, depth);
}

std::optional<std::uint64_t> RadosStore::size(const ValueAddress& address) const {
  require_usable();
  const RadosPool& pool = pool_of(address.object);
  RadosWaiter waiter(pool);
  const RadosBatch::Operation& done = waiter.batch().read(rados_name(address), {});
  waiter.complete();
  if (done.code == -ENOENT) return std::nullopt;
  if (done.code != 0) throw failure_at(pool, address, done.code);
  return done.size;
}

std::optional<ObjectStore::Versioned> RadosStore::get(const ValueAddress& address) const {
  require_usable();
  const RadosPool& pool = pool_of(address.object);
  Bytes value(usual_small_value);
  while (true) {
    const RadosBatch::Range all{0, value};
    RadosWaiter waiter(pool);
    const RadosBatch::Operation& done = waiter.batch().read(rados_name(address), {&all, 1});
    waiter.complete();
    if (done.code == -ENOENT) return std::nullopt;
    if (done.code != 0) throw failure_at(pool, address, done.code);
    // Size, bytes and version belong to one moment; if the value is larger than expected, to a later one.
    const bool fits = done.size <= value.size();
    if (!fits) check_value_size(uri_, traits(), address, done.size);
    value.resize(static_cast<std::size_t>(done.size));
    if (fits) return Versioned{std::move(value), std::to_string(done.version)};
  }
}

bool RadosStore::put_if(const ValueAddress& address, ByteSpan value,
                        const std::optional<std::string>& expected) {
  require_usable();
  check_value_size(uri_, traits(), address, value.size());
  RadosBatch::Condition condition;
  if (expected) {
    std::uint64_t version = 0;
    const char* end = expected->data() + expected->size();
    // A version that get() cannot have returned matches nothing.
    if (std::from_chars(expected->data(), end, version).ptr != end || version == 0) return false;
    condition.version = version;
  }
  const RadosPool& pool = pool_of(address.object);
  RadosWaiter waiter(pool);
  const RadosBatch::Operation& done = waiter.batch().replace(rados_name(address), {&value, 1}, condition);
  waiter.complete();
  if (done.code == 0) return true;
  // Older, newer, or removed.
  if (expected && (done.code == -ERANGE || done.code == -EOVERFLOW || done.code == -ENOENT)) return false;
  if (!expected && done.code == -EEXIST) return false;
  throw failure_at(pool, address, done.code);
}

void RadosStore::list(const RadosPool& pool, const std::function<void(const ValueAddress&)>& visit) const {
  require_usable();
  list_rados_objects(pool, [&](std::string_view name) {
    if (const std::optional<ValueAddress> address = parse_rados_name(name)) visit(*address);
  });
}

std::vector<std::uint64_t> RadosStore::list_dkeys(const ObjectId& object) const {
  std::vector<std::uint64_t> keys;
  list(pool_of(object), [&](const ValueAddress& address) {
    if (address.object == object) keys.push_back(address.dkey);
  });
  return sorted_unique(std::move(keys));
}

std::vector<std::uint64_t> RadosStore::list_akeys(const ObjectId& object, std::uint64_t dkey) const {
  std::vector<std::uint64_t> keys;
  list(pool_of(object), [&](const ValueAddress& address) {
    if (address.object == object && address.dkey == dkey) keys.push_back(address.akey);
  });
  return sorted_unique(std::move(keys));
}

void RadosStore::remove(const ValueAddress& address) {
  require_usable();
  const RadosPool& pool = pool_of(address.object);
  RadosWaiter waiter(pool);
  const RadosBatch::Operation& done = waiter.batch().remove(rados_name(address));
  waiter.complete();
  if (done.code != 0 && done.code != -ENOENT) throw failure_at(pool, address, done.code);
}

void RadosStore::remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) {
  const RadosPool& pool = pool_of({group, first});
  std::vector<ValueAddress> found;
  list(pool, [&](const ValueAddress& address) {
    const ObjectId& object = address.object;
    if (object.group == group && object.number >= first && object.number <= last) found.push_back(address);
  });
  for (std::size_t at = 0; at < found.size(); at += removed_at_once) {
    const auto some = std::span(found).subspan(at, std::min(removed_at_once, found.size() - at));
    RadosWaiter waiter(pool);
    std::vector<const RadosBatch::Operation*> removals;
    for (const ValueAddress& address : some) removals.push_back(&waiter.batch().remove(rados_name(address)));
    waiter.complete();
    for (std::size_t i = 0; i < some.size(); ++i)
      if (const int code = removals[i]->code; code != 0 && code != -ENOENT)
        throw failure_at(pool, some[i], code);
  }
}

std::shared_ptr<ObjectStore> open_rados_store(const std::string& uri, const StoreOptions&) {
  // Namespaces exist as soon as they have content, and administrators make pools.
  return std::make_shared<RadosStore>(parse_rados_uri(uri));
}

}  // namespace colonnade::io
