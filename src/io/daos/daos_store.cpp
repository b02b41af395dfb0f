// See daos_store.h.
#include "io/daos/daos_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "io/daos/daos_errors.h"
#include "io/daos/daos_list.h"
#include "io/daos/daos_queue.h"
#include "io/daos/daos_transaction.h"
#include "io/daos/daos_transfer.h"
#include "io/object_checks.h"

namespace colonnade::io {

std::shared_ptr<ObjectStore> open_daos_store(const std::string& uri, const StoreOptions& options) {
  return std::make_shared<daos::DaosStore>(uri, options);
}

}  // namespace colonnade::io

namespace colonnade::io::daos {
namespace {

constexpr std::size_t usual_small_value = 1024;  // larger ones take a second call

// A token that every put_if() changes, and the value, which other updates change.
std::string version_of(const std::optional<Bytes>& token, const Bytes& value) {
  std::string version;
  for (const Bytes& part : {token.value_or(Bytes{}), Bytes{std::byte{'/'}}, value})
    version.append(reinterpret_cast<const char*>(part.data()), part.size());
  return version;
}

Bytes new_token() {
  std::random_device random;
  Bytes token(20);
  for (std::size_t i = 0; i < token.size(); i += 4)
    store_le(token.data() + i, static_cast<std::uint32_t>(random()));
  return token;
}

std::string action_on(std::string_view verb, const ObjectId& object, std::uint64_t dkey) {
  return fmt::format("{} {}, distribution key {}", verb, to_text(object), dkey);
}

}  // namespace

DaosStore::DaosStore(const std::string& uri, const StoreOptions& options)
    : uri_(uri),
      session_(Session::open(uri, options.create)),
      objects_(std::make_unique<Objects>(session_, options.object_class)) {}

DaosStore::~DaosStore() = default;

StoreTraits DaosStore::traits() const noexcept {
  return {.max_value = largest_value,
          .best_value = std::size_t{1} << 20,
          .ranges = false,
          .vectors = true,
          .max_items = 1024,
          .concurrency = 16};
}

void DaosStore::fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const {
  session_->check_process();
  check_fetch(uri(), traits(), object, dkey, items);
  if (items.empty()) return;
  auto handle = objects_->to_read(object);
  if (!handle) fail_missing(uri(), {object, dkey, items[0].akey});
  const auto done = session_->run(std::make_unique<Fetch>(std::move(handle), object, dkey, items),
                                  action_on("read", object, dkey));
  static_cast<const Fetch&>(*done).copy_out();
}

void DaosStore::update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) {
  session_->check_process();
  check_update(uri(), traits(), object, dkey, items);
  if (items.empty()) return;
  const auto done = session_->run(std::make_unique<Update>(objects_->to_write(object), object, dkey, items),
                                  action_on("write", object, dkey));
  static_cast<const Update&>(*done).check();
}

std::unique_ptr<ObjectQueue> DaosStore::open_queue(unsigned depth) {
  session_->check_process();
  return std::make_unique<DaosQueue>(*this, depth);
}

std::optional<std::uint64_t> DaosStore::size(const ValueAddress& address) const {
  session_->check_process();
  const auto object = objects_->to_read(address.object);
  if (!object) return std::nullopt;
  const std::array keys{address.akey};
  const auto done = session_->run(std::make_unique<SizeQuery>(object, address.object, address.dkey, keys),
                                  fmt::format("ask for the size of {}", to_text(address)));
  const std::uint64_t size = static_cast<const SizeQuery&>(*done).sizes()[0];
  if (size == 0) return std::nullopt;
  if (size != empty_mark_size) return size;
  const std::optional<Bytes> value = whole(object, address);
  return value ? std::optional<std::uint64_t>(value->size()) : std::nullopt;
}

std::optional<Bytes> DaosStore::whole(const std::shared_ptr<const Object>& object,
                                      const ValueAddress& address) const {
  std::array<std::byte, usual_small_value> room{};  // only its size matters
  const std::array items{FetchItem{address.akey, 0, room}};
  const auto done = session_->run(std::make_unique<Fetch>(object, address.object, address.dkey, items),
                                  fmt::format("read {}", to_text(address)));
  return static_cast<const Fetch&>(*done).whole();
}

// Reads the token before and after the value: equal tokens prove that both belong together.
std::optional<ObjectStore::Versioned> DaosStore::get(const ValueAddress& address) const {
  session_->check_process();
  const auto object = objects_->to_read(address.object);
  if (!object) return std::nullopt;
  const auto versions = objects_->versions(address.object);
  std::optional<Bytes> token = whole(versions, address);
  while (true) {
    std::optional<Bytes> value = whole(object, address);
    if (!value) return std::nullopt;
    std::optional<Bytes> token_after = whole(versions, address);
    if (token_after == token) {
      std::string version = version_of(token, *value);
      return Versioned{std::move(*value), std::move(version)};
    }
    token = std::move(token_after);
  }
}

bool DaosStore::put_if(const ValueAddress& address, ByteSpan value,
                       const std::optional<std::string>& expected) {
  session_->check_process();
  check_value_size(uri(), traits(), address, value.size());
  const auto object = objects_->to_write(address.object);
  const auto versions = objects_->versions(address.object);
  const Bytes token = new_token();
  return transact(session_, fmt::format("replace {}", to_text(address)), [&](Transaction& transaction) {
    const std::optional<Bytes> token_there = transaction.read(versions, address);
    // The commit succeeded although its answer said to restart: libdaos cannot always tell when it repeats a
    // commit.
    if (token_there == token) return true;
    const std::optional<Bytes> there = transaction.read(object, address);
    if (there ? version_of(token_there, *there) != expected : expected.has_value()) return false;
    transaction.write(versions, address, token);
    transaction.write(object, address, value);
    transaction.commit();
    return true;
  });
}

std::vector<std::uint64_t> DaosStore::live_akeys(const std::shared_ptr<const Object>& object,
                                                 const ObjectId& id, std::uint64_t dkey) const {
  const std::vector<std::uint64_t> keys = list_keys(*session_, object, id, dkey);
  if (keys.empty()) return {};
  const auto done = session_->run(std::make_unique<SizeQuery>(object, id, dkey, keys),
                                  action_on("ask for the sizes in", id, dkey));
  const std::vector<std::uint64_t> sizes = static_cast<const SizeQuery&>(*done).sizes();
  std::vector<std::uint64_t> live;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (sizes[i] != 0) live.push_back(keys[i]);
  return live;
}

// DAOS may list keys whose values were removed.
std::vector<std::uint64_t> DaosStore::list_dkeys(const ObjectId& id) const {
  session_->check_process();
  const auto object = objects_->to_read(id);
  if (!object) return {};
  std::vector<std::uint64_t> live;
  for (std::uint64_t dkey : list_keys(*session_, object, id, std::nullopt))
    if (!live_akeys(object, id, dkey).empty()) live.push_back(dkey);
  return live;
}

std::vector<std::uint64_t> DaosStore::list_akeys(const ObjectId& id, std::uint64_t dkey) const {
  session_->check_process();
  const auto object = objects_->to_read(id);
  return object ? live_akeys(object, id, dkey) : std::vector<std::uint64_t>{};
}

void DaosStore::remove(const ValueAddress& address) {
  session_->check_process();
  const auto object = objects_->to_remove(address.object);
  if (!object) return;
  const auto done =
      session_->run(std::make_unique<Removal>(object, address.object, address.dkey, address.akey),
                    fmt::format("remove {}", to_text(address)));
  static_cast<const Removal&>(*done).check();
}

void DaosStore::remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) {
  session_->check_process();
  objects_->check_writable();
  for (std::uint64_t number = first; number <= last; ++number) {
    const ObjectId id{group, number};
    const auto object = objects_->to_remove(id);
    if (!object) return;  // nothing was ever written to the group
    const std::string action = fmt::format("remove {}", to_text(id));
    const int code = session_->call(action, [object](const Api& api, Event* event) {
      return api.obj_punch(object->handle(), no_transaction, 0, event);
    });
    if (code != 0 && code != -der_nonexist) throw call_error(uri(), action, code);
    if (number == last) return;  // it may be the largest number
  }
}

// Everything that DAOS has acknowledged survives.
void DaosStore::sync() {
  session_->check_process();
}

}  // namespace colonnade::io::daos
