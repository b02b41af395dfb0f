// A store is an ordered map from address to value. Values are replaced, never modified, so that readers copy
// from them without holding the lock.
#include "io/memory/memory_store.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/fork_pause.h"
#include "io/object_checks.h"

namespace colonnade::io {
namespace {

using Wrap = std::function<std::shared_ptr<ObjectStore>(std::shared_ptr<ObjectStore>)>;

struct Value {
  std::shared_ptr<const Bytes> bytes;
  std::uint64_t version = 0;
};

struct Content {
  mutable std::shared_mutex mutex;
  std::map<ValueAddress, Value> values;
  std::uint64_t last_version = 0;
  StoreTraits traits;
  Wrap wrap;
  StoreCounts counts;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Content>, std::less<>> stores;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

std::string name_in(const std::string& uri) {
  constexpr std::string_view prefix = "memory+obj:";
  return uri.starts_with(prefix) ? uri.substr(prefix.size()) : uri;
}

std::shared_ptr<Content> find_store(const std::string& uri, bool make) {
  Registry& all = registry();
  const ForkPause pause;
  const std::lock_guard lock(all.mutex);
  const std::string name = name_in(uri);
  if (const auto found = all.stores.find(name); found != all.stores.end()) return found->second;
  if (!make)
    throw Error(ErrorKind::not_found,
                fmt::format("there is no object store \"{}\" in the memory of this process", name),
                "write to it first", {.uri = uri});
  return all.stores.emplace(name, std::make_shared<Content>()).first->second;
}

class MemoryStore final : public ObjectStore {
 public:
  MemoryStore(std::string uri, std::shared_ptr<Content> content)
      : uri_(std::move(uri)), content_(std::move(content)) {}

  const std::string& uri() const noexcept override { return uri_; }
  StoreTraits traits() const noexcept override {
    const ForkPause pause;
    const std::shared_lock lock(content_->mutex);
    return content_->traits;
  }

  void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const override {
    count([&](StoreCounts& counts) { ++counts.fetches, counts.fetched_items += items.size(); });
    check_fetch(uri_, traits(), object, dkey, items);
    std::uint64_t bytes = 0;
    for (const FetchItem& item : items) {
      const ValueAddress address{object, dkey, item.akey};
      const std::shared_ptr<const Bytes> value = find(address).bytes;
      if (value == nullptr) fail_missing(uri_, address);
      check_value_range(uri_, address, value->size(), item.offset, item.into.size());
      if (!item.into.empty()) std::memcpy(item.into.data(), value->data() + item.offset, item.into.size());
      bytes += item.into.size();
    }
    count([&](StoreCounts& counts) { counts.fetched_bytes += bytes; });
  }

  void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) override {
    count([&](StoreCounts& counts) { ++counts.updates, counts.updated_items += items.size(); });
    check_update(uri_, traits(), object, dkey, items);
    std::vector<std::pair<ValueAddress, std::shared_ptr<const Bytes>>> values;
    for (const UpdateItem& item : items) {
      Bytes value;
      value.reserve(static_cast<std::size_t>(size_of(item)));
      for (ByteSpan part : item.parts) value.insert(value.end(), part.begin(), part.end());
      values.emplace_back(ValueAddress{object, dkey, item.akey},
                          std::make_shared<const Bytes>(std::move(value)));
    }
    const ForkPause pause;
    const std::unique_lock lock(content_->mutex);
    for (auto& [address, bytes] : values) {
      content_->counts.updated_bytes += bytes->size();
      content_->values[address] = {std::move(bytes), ++content_->last_version};
    }
  }

  std::optional<std::uint64_t> size(const ValueAddress& address) const override {
    count([](StoreCounts& counts) { ++counts.sizes; });
    const Value value = find(address);
    if (value.bytes == nullptr) return std::nullopt;
    return value.bytes->size();
  }

  std::optional<Versioned> get(const ValueAddress& address) const override {
    count([](StoreCounts& counts) { ++counts.gets; });
    const Value value = find(address);
    if (value.bytes == nullptr) return std::nullopt;
    return Versioned{*value.bytes, std::to_string(value.version)};
  }

  bool put_if(const ValueAddress& address, ByteSpan value,
              const std::optional<std::string>& expected) override {
    count([](StoreCounts& counts) { ++counts.puts; });
    check_value_size(uri_, traits(), address, value.size());
    auto bytes = std::make_shared<const Bytes>(value.begin(), value.end());
    const ForkPause pause;
    const std::unique_lock lock(content_->mutex);
    const auto found = content_->values.find(address);
    const bool there = found != content_->values.end();
    if (there != expected.has_value() || (there && std::to_string(found->second.version) != *expected))
      return false;
    content_->values[address] = {std::move(bytes), ++content_->last_version};
    return true;
  }

  std::vector<std::uint64_t> list_dkeys(const ObjectId& object) const override {
    count([](StoreCounts& counts) { ++counts.lists; });
    std::vector<std::uint64_t> keys;
    const ForkPause pause;
    const std::shared_lock lock(content_->mutex);
    for (auto at = content_->values.lower_bound({object, 0, 0});
         at != content_->values.end() && at->first.object == object; ++at)
      if (keys.empty() || keys.back() != at->first.dkey) keys.push_back(at->first.dkey);
    return keys;
  }

  std::vector<std::uint64_t> list_akeys(const ObjectId& object, std::uint64_t dkey) const override {
    count([](StoreCounts& counts) { ++counts.lists; });
    std::vector<std::uint64_t> keys;
    const ForkPause pause;
    const std::shared_lock lock(content_->mutex);
    for (auto at = content_->values.lower_bound({object, dkey, 0});
         at != content_->values.end() && at->first.object == object && at->first.dkey == dkey; ++at)
      keys.push_back(at->first.akey);
    return keys;
  }

  void remove(const ValueAddress& address) override {
    const ForkPause pause;
    const std::unique_lock lock(content_->mutex);
    ++content_->counts.removals;
    content_->values.erase(address);
  }

  void remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) override {
    constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    const ForkPause pause;
    const std::unique_lock lock(content_->mutex);
    ++content_->counts.removals;
    if (first > last) return;
    content_->values.erase(content_->values.lower_bound({{group, first}, 0, 0}),
                           content_->values.upper_bound({{group, last}, largest, largest}));
  }

  void sync() override {
    count([](StoreCounts& counts) { ++counts.syncs; });
  }

 private:
  Value find(const ValueAddress& address) const {
    const ForkPause pause;
    const std::shared_lock lock(content_->mutex);
    const auto found = content_->values.find(address);
    return found != content_->values.end() ? found->second : Value{};
  }

  template <class Change>
  void count(Change&& change) const {
    const ForkPause pause;
    const std::unique_lock lock(content_->mutex);
    change(content_->counts);
  }

  std::string uri_;
  std::shared_ptr<Content> content_;
};

}  // namespace

std::shared_ptr<ObjectStore> open_memory_store(const std::string& uri, const StoreOptions& options) {
  const std::shared_ptr<Content> content = find_store(uri, options.create);
  auto store = std::make_shared<MemoryStore>(uri, content);
  Wrap wrap;
  {
    const ForkPause pause;
    const std::shared_lock lock(content->mutex);
    wrap = content->wrap;
  }
  return wrap ? wrap(std::move(store)) : std::move(store);
}

void set_memory_store_traits(const std::string& uri, const StoreTraits& traits) {
  const std::shared_ptr<Content> content = find_store(uri, true);
  const ForkPause pause;
  const std::unique_lock lock(content->mutex);
  content->traits = traits;
}

StoreCounts memory_store_counts(const std::string& uri) {
  const std::shared_ptr<Content> content = find_store(uri, true);
  const ForkPause pause;
  const std::shared_lock lock(content->mutex);
  return content->counts;
}

void reset_memory_store_counts(const std::string& uri) {
  const std::shared_ptr<Content> content = find_store(uri, true);
  const ForkPause pause;
  const std::unique_lock lock(content->mutex);
  content->counts = {};
}

std::vector<ValueAddress> memory_store_addresses(const std::string& uri) {
  const std::shared_ptr<Content> content = find_store(uri, true);
  const ForkPause pause;
  const std::shared_lock lock(content->mutex);
  std::vector<ValueAddress> addresses;
  for (const auto& [address, value] : content->values) addresses.push_back(address);
  return addresses;
}

void wrap_memory_store(const std::string& uri, Wrap wrap) {
  const std::shared_ptr<Content> content = find_store(uri, true);
  const ForkPause pause;
  const std::unique_lock lock(content->mutex);
  content->wrap = std::move(wrap);
}

void remove_memory_store(const std::string& uri) noexcept {
  Registry& all = registry();
  const ForkPause pause;
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.stores.find(name_in(uri)); found != all.stores.end()) all.stores.erase(found);
}

}  // namespace colonnade::io
