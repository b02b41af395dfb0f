// See s3_store.h. Items of an operation are requests of their own, in parallel; values above
// `multipart_above` go in parts, so that a lost connection does not cost all of them.
#include "io/s3/s3_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <utility>

#include "io/object_checks.h"
#include "io/s3/s3_client.h"
#include "io/s3/s3_file.h"

namespace colonnade::io {
namespace {

constexpr std::size_t multipart_above = std::size_t{64} << 20;
constexpr std::size_t part_size = std::size_t{16} << 20;
constexpr std::size_t largest_versioned = std::size_t{16} << 20;  // of a value that get() reads
constexpr unsigned concurrency = 16;
constexpr unsigned most_concurrency = 64;
constexpr unsigned parts_in_flight = 4;

std::optional<std::uint64_t> hex_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The stretch [offset, offset + size) of what the parts make end to end.
std::vector<ByteSpan> stretch_of(std::span<const ByteSpan> parts, std::uint64_t offset, std::uint64_t size) {
  std::vector<ByteSpan> result;
  std::uint64_t begin = 0;  // of the part
  for (ByteSpan part : parts) {
    const std::uint64_t from = std::max(offset, begin);
    const std::uint64_t to = std::min(offset + size, begin + part.size());
    if (from < to)
      result.push_back(
          part.subspan(static_cast<std::size_t>(from - begin), static_cast<std::size_t>(to - from)));
    begin += part.size();
  }
  return result;
}

// Where values are, and how their errors read.
class Values {
 public:
  Values(std::string uri, std::shared_ptr<const S3Client> client, std::string prefix)
      : uri_(std::move(uri)), client_(std::move(client)), prefix_(std::move(prefix)) {}

  const std::string& uri() const noexcept { return uri_; }
  const std::shared_ptr<const S3Client>& client() const noexcept { return client_; }

  std::string group_prefix(std::uint32_t group) const { return fmt::format("{}{:08x}/", prefix_, group); }
  std::string object_prefix(const ObjectId& object) const {
    return fmt::format("{}{:016x}/", group_prefix(object.group), object.number);
  }
  std::string dkey_prefix(const ObjectId& object, std::uint64_t dkey) const {
    return fmt::format("{}{:016x}/", object_prefix(object), dkey);
  }
  std::string key(const ValueAddress& address) const {
    return fmt::format("{}{:016x}", dkey_prefix(address.object, address.dkey), address.akey);
  }

  // The error of a request for `address`, as one of the store.
  Error told(const Error& error, const ValueAddress& address) const {
    return {
        error.kind(),
        fmt::format("{}: {}", to_text(address), error.problem()),
        error.advice().empty() ? "check that the data set was written or copied completely" : error.advice(),
        {.uri = uri_}};
  }
  template <class Work>
  decltype(auto) telling(const ValueAddress& address, Work&& work) const {
    try {
      return work();
    } catch (const Error& error) {
      throw told(error, address);
    }
  }
  std::exception_ptr told(const std::exception_ptr& failure, const ValueAddress& address) const noexcept {
    try {
      telling(address, [&] { std::rethrow_exception(failure); });
    } catch (...) {
      return std::current_exception();
    }
    return failure;
  }
  template <class Work>
  decltype(auto) telling_store(Work&& work) const {
    try {
      return work();
    } catch (const Error& error) {
      throw Error(error.kind(), error.problem(), error.advice(), {.uri = uri_});
    }
  }

  void put_in_parts(const std::string& key, std::span<const ByteSpan> parts, std::uint64_t size) const;

 private:
  std::string uri_;
  std::shared_ptr<const S3Client> client_;
  std::string prefix_;  // empty, or with a slash at the end
};

void Values::put_in_parts(const std::string& key, std::span<const ByteSpan> parts, std::uint64_t size) const {
  const std::string upload = client_->create_upload(key);
  try {
    std::vector<S3Part> uploaded((size + part_size - 1) / part_size);
    const std::unique_ptr<S3Queue> queue = S3Queue::open(client_, parts_in_flight);
    for (std::size_t i = 0; i < uploaded.size(); ++i) {
      if (queue->in_flight() == parts_in_flight) queue->wait_for_some();
      uploaded[i].number = static_cast<unsigned>(i + 1);
      uploaded[i].size = std::min<std::uint64_t>(part_size, size - i * part_size);
      queue->upload_part(i, key, upload, uploaded[i], stretch_of(parts, i * part_size, part_size));
    }
    queue->wait_for_all();
    client_->complete_upload(key, upload, uploaded);
  } catch (...) {
    try {
      client_->abort_upload(key, upload);
    } catch (const Error&) {  // the first error says more
    }
    throw;
  }
}

class Queue final : public ObjectQueue {
 public:
  Queue(const Values& values, const StoreTraits& traits, unsigned depth)
      : values_(&values), traits_(traits), requests_(S3Queue::open(values.client(), depth)) {}

  void submit_fetch(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                    std::span<const FetchItem> items) override {
    submit(id, object, dkey, items, [&](std::uint64_t tag, const FetchItem& item) {
      requests_->get_range(tag, values_->key({object, dkey, item.akey}), item.offset, item.into);
    });
  }

  void submit_update(std::uint64_t id, const ObjectId& object, std::uint64_t dkey,
                     std::span<const UpdateItem> items) override {
    submit(id, object, dkey, items, [&](std::uint64_t tag, const UpdateItem& item) {
      const std::string key = values_->key({object, dkey, item.akey});
      const std::uint64_t size = size_of(item);
      if (size > multipart_above) {
        values_->put_in_parts(key, item.parts, size);
        settle(tag, nullptr);
      } else {
        requests_->put(tag, key, item.parts);
      }
    });
  }

 private:
  struct Operation {
    std::uint64_t id = 0;
    ObjectId object;
    std::uint64_t dkey = 0;
    std::vector<std::uint64_t> akeys;
    std::size_t unfinished = 0;
    std::exception_ptr failure;
  };
  static constexpr unsigned item_bits = 16;  // of a request's tag: operation, item

  void check(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const {
    check_fetch(values_->uri(), traits_, object, dkey, items);
  }
  void check(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) const {
    check_update(values_->uri(), traits_, object, dkey, items);
  }

  template <class Item, class Start>
  void submit(std::uint64_t id, const ObjectId& object, std::uint64_t dkey, std::span<const Item> items,
              Start start) {
    try {
      check(object, dkey, items);
    } catch (const Error&) {
      add_done(id, std::current_exception());
      return;
    }
    if (items.empty()) {
      add_done(id);
      return;
    }
    Operation operation{id, object, dkey, {}, items.size(), nullptr};
    for (const Item& item : items) operation.akeys.push_back(item.akey);
    make_slot();
    begin();
    const std::size_t slot = free_.back();
    free_.pop_back();
    operations_[slot] = std::move(operation);
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::uint64_t tag = std::uint64_t{slot} << item_bits | i;
      try {
        start(tag, items[i]);
      } catch (...) {
        settle(tag, std::current_exception());
      }
    }
  }

  // Where none is free. There is room in `free_` for all.
  void make_slot() {
    if (!free_.empty()) return;
    if (free_.capacity() <= operations_.size()) free_.reserve(2 * operations_.size() + 1);
    operations_.emplace_back();
    free_.push_back(operations_.size() - 1);
  }

  void settle(std::uint64_t tag, const std::exception_ptr& failure, Time when = {}) {
    const auto slot = static_cast<std::size_t>(tag >> item_bits);
    Operation& operation = operations_[slot];
    if (failure && !operation.failure) {
      const std::uint64_t akey = operation.akeys[tag & ((1u << item_bits) - 1)];
      operation.failure = values_->told(failure, {operation.object, operation.dkey, akey});
    }
    if (--operation.unfinished > 0) return;
    finish(operation.id, std::exchange(operation.failure, nullptr), when);
    free_.push_back(slot);
  }

  void fail_in_child() const override { fail_after_fork(values_->uri()); }

  void progress(bool block) override {
    drain(*requests_, block,
          [this](const Completion& answer) { settle(answer.id, answer.failure, answer.when); });
  }

  const Values* values_;
  const StoreTraits traits_;
  std::vector<Operation> operations_;
  std::vector<std::size_t> free_;
  std::unique_ptr<S3Queue> requests_;  // first to go: what arrives is left here
};

class Store final : public ObjectStore {
 public:
  explicit Store(Values values) : values_(std::move(values)) {}

  const std::string& uri() const noexcept override { return values_.uri(); }

  StoreTraits traits() const noexcept override {
    StoreTraits traits;
    traits.max_value = std::size_t{4} << 30;
    traits.best_value = std::size_t{16} << 20;
    traits.best_request = std::size_t{8} << 20;
    traits.finds_objects = true;
    traits.concurrency = concurrency;
    traits.most_concurrency = most_concurrency;
    traits.worthwhile_gap = std::size_t{256} << 10;  // a request takes as long as some hundred KiB do
    return traits;
  }

  void fetch(const ObjectId& object, std::uint64_t dkey, std::span<const FetchItem> items) const override {
    check_fetch(uri(), traits(), object, dkey, items);
    if (items.size() != 1) {
      Queue queue(values_, traits(), concurrency);
      queue.submit_fetch(0, object, dkey, items);
      queue.wait_for_all();
      return;
    }
    const ValueAddress address{object, dkey, items[0].akey};
    values_.telling(
        address, [&] { values_.client()->get_range(values_.key(address), items[0].offset, items[0].into); });
  }

  void update(const ObjectId& object, std::uint64_t dkey, std::span<const UpdateItem> items) override {
    check_update(uri(), traits(), object, dkey, items);
    Queue queue(values_, traits(), concurrency);
    queue.submit_update(0, object, dkey, items);
    queue.wait_for_all();
  }

  std::unique_ptr<ObjectQueue> open_queue(unsigned depth) override {
    return std::make_unique<Queue>(values_, traits(), depth);
  }

  // That it is there, once: where something is missed, so that opening a data set costs no request for it.
  void check_bucket() const {
    if (is_checked_) return;
    values_.telling_store([&] { values_.client()->check_bucket(); });
    is_checked_ = true;
  }

  std::optional<std::uint64_t> size(const ValueAddress& address) const override {
    const auto object =
        values_.telling(address, [&] { return values_.client()->head(values_.key(address)); });
    if (!object) return std::nullopt;
    return object->size;
  }

  std::optional<Versioned> get(const ValueAddress& address) const override {
    auto small = values_.telling(
        address, [&] { return values_.client()->get_small(values_.key(address), largest_versioned); });
    if (!small) check_bucket();
    if (!small) return std::nullopt;
    return Versioned{std::move(small->value), std::move(small->etag)};
  }

  bool put_if(const ValueAddress& address, ByteSpan value,
              const std::optional<std::string>& expected) override {
    check_value_size(uri(), traits(), address, value.size());
    const S3Condition condition =
        expected ? S3Condition{S3Condition::Kind::etag, *expected} : S3Condition{S3Condition::Kind::absent};
    return values_.telling(address, [&] {
      return values_.client()->put(values_.key(address), std::array{value}, condition).has_value();
    });
  }

  std::vector<std::uint64_t> list_dkeys(const ObjectId& object) const override {
    const std::string prefix = values_.object_prefix(object);
    std::vector<std::uint64_t> keys;
    list(prefix, [&](const S3Listing& listing) {
      for (std::string_view folder : listing.prefixes) {
        folder.remove_prefix(std::min(prefix.size(), folder.size()));
        if (!folder.ends_with('/')) continue;
        if (const auto key = hex_number(folder.substr(0, folder.size() - 1))) keys.push_back(*key);
      }
    });
    return keys;
  }

  std::vector<std::uint64_t> list_akeys(const ObjectId& object, std::uint64_t dkey) const override {
    const std::string prefix = values_.dkey_prefix(object, dkey);
    std::vector<std::uint64_t> keys;
    list(prefix, [&](const S3Listing& listing) {
      for (const S3Object& value : listing.objects)
        if (const auto key =
                hex_number(std::string_view(value.key).substr(std::min(prefix.size(), value.key.size()))))
          keys.push_back(*key);
    });
    return keys;
  }

  void remove(const ValueAddress& address) override {
    values_.telling(address, [&] { values_.client()->remove(values_.key(address)); });
  }

  void remove_objects(std::uint32_t group, std::uint64_t first, std::uint64_t last) override {
    if (first > last) return;
    const std::string prefix = values_.group_prefix(group);
    values_.telling_store([&] {
      // Keys of the first object follow its name without the slash.
      values_.client()->list(prefix, "", fmt::format("{}{:016x}", prefix, first), [&](S3Listing&& listing) {
        std::vector<std::string> keys;
        bool more = true;
        for (S3Object& value : listing.objects) {
          if (!value.key.starts_with(prefix)) continue;  // of a server that did not heed it
          const std::string_view name = std::string_view(value.key).substr(prefix.size());
          const auto number = hex_number(name.substr(0, std::min<std::size_t>(16, name.size())));
          if (!number) continue;
          more = *number <= last;
          if (!more) break;
          keys.push_back(std::move(value.key));
        }
        values_.client()->remove_all(keys);
        return more;
      });
    });
  }

  // What S3 has said yes to, it keeps.
  void sync() override {}

 private:
  template <class Take>
  void list(const std::string& prefix, Take take) const {
    values_.telling_store([&] {
      values_.client()->list(prefix, "/", "", [&](S3Listing&& listing) {
        take(listing);
        return true;
      });
    });
  }

  const Values values_;
  mutable std::atomic<bool> is_checked_ = false;
};

}  // namespace

std::shared_ptr<ObjectStore> open_s3_store(const std::string& uri, const StoreOptions& options) {
  std::shared_ptr<const S3Client> client = S3Client::open(uri);
  std::string prefix = parse_s3_uri(without_s3_mark(uri)).key;
  while (prefix.ends_with('/')) prefix.pop_back();
  if (!prefix.empty()) prefix += '/';
  Values values(uri, std::move(client), std::move(prefix));
  auto store = std::make_shared<Store>(std::move(values));
  if (options.create) store->check_bucket();
  return store;
}

}  // namespace colonnade::io
