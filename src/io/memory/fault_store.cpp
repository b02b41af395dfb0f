// Every operation of the wrapper asks StoreFaults first, then the store. Its queues are the default ones,
// whose operations come through here, too.
#include "io/memory/fault_store.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "io/object_checks.h"

namespace colonnade::io {
namespace {

constexpr std::array<const char*, 8> actions{"read",  "write", "look for", "read",
                                             "write", "list",  "remove",   "flush"};

[[noreturn]] void fail_injected(ErrorKind kind, const std::string& uri, StoreOperation operation,
                                const std::string& place, const char* why) {
  throw Error(kind,
              fmt::format("cannot {} {}: {} (injected fault)", actions[static_cast<std::size_t>(operation)],
                          place, why),
              "", {.uri = uri});
}

}  // namespace

void StoreFaults::fail(StoreOperation kind, std::uint64_t n, std::uint64_t count, ErrorKind error) {
  const std::lock_guard lock(mutex_);
  of(kind).failing = {of(kind).begun + n, count, error};
}

void StoreFaults::lose_answer(StoreOperation kind, std::uint64_t n, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  of(kind).losing = {of(kind).begun + n, count, ErrorKind::io};
}

void StoreFaults::lose_server(std::uint64_t operations) {
  const std::lock_guard lock(mutex_);
  left_ = operations;
}

void StoreFaults::restore() {
  const std::lock_guard lock(mutex_);
  left_.reset();
  late_put_ = all;
  for (Kind& kind : kinds_) {
    kind.failing = kind.losing = {};
    kind.interrupted = all;
  }
}

void StoreFaults::come_late(std::uint64_t n) {
  const std::lock_guard lock(mutex_);
  late_put_ = of(StoreOperation::put_if).begun + n;
}

bool StoreFaults::is_late() {
  const std::lock_guard lock(mutex_);
  return of(StoreOperation::put_if).begun == late_put_;
}

void StoreFaults::arrive() {
  std::vector<std::function<void()>> late;
  {
    const std::lock_guard lock(mutex_);
    late = std::exchange(late_, {});
  }
  for (const std::function<void()>& put : late) put();
}

void StoreFaults::before(StoreOperation kind, std::uint64_t n, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  of(kind).interrupted = of(kind).begun + n;
  of(kind).work = std::move(work);
}

void StoreFaults::corrupt(const ValueAddress& address, std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  corrupt_.emplace(address, offset);
}

void StoreFaults::limit_space(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  space_ = bytes;
}

void StoreFaults::delay(StoreOperation kind, std::chrono::microseconds time) {
  const std::lock_guard lock(mutex_);
  of(kind).delay = time;
}

void StoreFaults::hold(StoreOperation kind) {
  const std::lock_guard lock(mutex_);
  of(kind).held = true;
}

void StoreFaults::release(StoreOperation kind) {
  const std::lock_guard lock(mutex_);
  of(kind).held = false;
  changed_.notify_all();
}

void StoreFaults::wait_until_held(StoreOperation kind, std::uint64_t operations) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return of(kind).waiting >= operations; });
}

std::uint64_t StoreFaults::count(StoreOperation kind) const {
  const std::lock_guard lock(mutex_);
  return of(kind).begun;
}

bool StoreFaults::begin(StoreOperation operation, const std::string& uri, const std::string& place) {
  std::unique_lock lock(mutex_);
  Kind& kind = of(operation);
  if (kind.begun == kind.interrupted) {
    const std::function<void()> work = std::exchange(kind.work, {});
    kind.interrupted = all;
    lock.unlock();
    work();
    lock.lock();
  }
  const std::uint64_t n = kind.begun++;
  if (kind.held) {
    ++kind.waiting;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !kind.held; });
    --kind.waiting;
  }
  if (kind.delay.count() > 0) {
    const std::chrono::microseconds time = kind.delay;
    lock.unlock();
    std::this_thread::sleep_for(time);
    lock.lock();
  }
  if (left_.has_value()) {
    if (*left_ == 0) fail_injected(ErrorKind::io, uri, operation, place, "the server is gone");
    --*left_;
  }
  if (kind.failing.covers(n)) fail_injected(kind.failing.error, uri, operation, place, "the store refuses");
  return kind.losing.covers(n);
}

void StoreFaults::take_space(std::uint64_t bytes, const std::string& uri, const std::string& place) {
  const std::lock_guard lock(mutex_);
  if (space_ == all) return;
  if (bytes > space_)
    fail_injected(ErrorKind::io, uri, StoreOperation::update, place, "no space is left in the store");
  space_ -= bytes;
}

void StoreFaults::spoil(const ValueAddress& address, std::uint64_t offset, MutableByteSpan bytes) const {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = corrupt_.equal_range(address);
  for (auto at = first; at != last; ++at)
    if (at->second >= offset && at->second - offset < bytes.size())
      bytes[static_cast<std::size_t>(at->second - offset)] ^= std::byte{0x10};
}

class FaultyStore final : public ObjectStore {
 public:
  FaultyStore(std::shared_ptr<ObjectStore> store, std::shared_ptr<StoreFaults> faults)
      : store_(std::move(store)), faults_(std::move(faults)) {}

  const std::string& uri() const noexcept override { return store_->uri(); }
  StoreTraits traits() const noexcept override { return store_->traits(); }

  void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const override {
    run(StoreOperation::fetch, place_of(object, dkey, items), [&] {
      store_->fetch(object, dkey, items);
      for (const FetchItem& item : items) faults_->spoil({object, dkey, item.akey}, item.offset, item.into);
    });
  }

  void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) override {
    run(StoreOperation::update, place_of(object, dkey, items), [&] {
      for (const UpdateItem& item : items)
        faults_->take_space(size_of(item), uri(), to_text(ValueAddress{object, dkey, item.akey}));
      store_->update(object, dkey, items);
    });
  }

  void will_need(const ValueAddress& address, std::uint64_t offset,
                 std::uint64_t size) const noexcept override {
    store_->will_need(address, offset, size);
  }

  std::optional<std::uint64_t> size(const ValueAddress& address) const override {
    return run(StoreOperation::size, to_text(address), [&] { return store_->size(address); });
  }

  std::optional<Versioned> get(const ValueAddress& address) const override {
    return run(StoreOperation::get, to_text(address), [&] {
      std::optional<Versioned> result = store_->get(address);
      if (result) faults_->spoil(address, 0, result->value);
      return result;
    });
  }

  bool put_if(const ValueAddress& address, ByteSpan value,
              const std::optional<std::string>& expected) override {
    if (faults_->is_late()) {
      const std::lock_guard lock(faults_->mutex_);
      ++faults_->of(StoreOperation::put_if).begun;
      faults_->late_.emplace_back([store = store_, address, bytes = Bytes(value.begin(), value.end()),
                                   expected] { store->put_if(address, bytes, expected); });
      fail_injected(ErrorKind::io, uri(), StoreOperation::put_if, to_text(address), "nothing is heard of it");
    }
    return run(StoreOperation::put_if, to_text(address), [&] {
      faults_->take_space(value.size(), uri(), to_text(address));
      return store_->put_if(address, value, expected);
    });
  }

  std::vector<std::uint64_t> list_dkeys(const ObjectId& object) const override {
    return run(StoreOperation::list, to_text(object), [&] { return store_->list_dkeys(object); });
  }

  std::vector<std::uint64_t> list_akeys(const ObjectId& object, std::uint64_t dkey) const override {
    return run(StoreOperation::list, to_text(object), [&] { return store_->list_akeys(object, dkey); });
  }

  void remove(const ValueAddress& address) override {
    run(StoreOperation::remove, to_text(address), [&] { store_->remove(address); });
  }

  void remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) override {
    run(StoreOperation::remove, fmt::format("objects {}:{} to {}", group, first, last),
        [&] { store_->remove_objects(group, first, last); });
  }

  std::vector<std::uint32_t> list_groups() const override { return store_->list_groups(); }
  std::uint64_t remove_leftovers(bool only_look) override { return store_->remove_leftovers(only_look); }

  void sync_with(const ValueAddress& address) override { store_->sync_with(address); }

  void sync() override {
    run(StoreOperation::sync, "the store", [&] { store_->sync(); });
  }

 private:
  template <class Item>
  static std::string place_of(const ObjectId& object, std::uint64_t dkey, std::span<const Item> items) {
    if (items.empty()) return to_text(object);
    return to_text(ValueAddress{object, dkey, items.front().akey});
  }

  template <class Work>
  auto run(StoreOperation operation, const std::string& place, Work&& work) const -> decltype(work()) {
    const bool lost = faults_->begin(operation, uri(), place);
    if (!lost) return work();
    static_cast<void>(work());
    fail_injected(ErrorKind::io, uri(), operation, place, "the answer was lost");
  }

  std::shared_ptr<ObjectStore> store_;
  std::shared_ptr<StoreFaults> faults_;
};

std::shared_ptr<ObjectStore> with_faults(std::shared_ptr<ObjectStore> store,
                                         std::shared_ptr<StoreFaults> faults) {
  return std::make_shared<FaultyStore>(std::move(store), std::move(faults));
}

}  // namespace colonnade::io
