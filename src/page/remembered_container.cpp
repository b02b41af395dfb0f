// See remembered_container.h.
#include "page/remembered_container.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "cache/home.h"
#include "cache/metadata.h"
#include "cache/register.h"
#include "io/places.h"

namespace colonnade::page {
namespace {

struct Remembered {
  cache::Identity identity;
  cache::Metadata metadata;
};

// The file that the pages are in, opened when the first of them is read.
class OriginLater final : public io::RandomAccessFile {
 public:
  OriginLater(std::string uri, std::shared_ptr<cache::Home> home, cache::Identity identity,
              io::ReadFileOptions options)
      : uri_(std::move(uri)), home_(std::move(home)), identity_(std::move(identity)), options_(options) {}

  const std::string& uri() const noexcept override { return uri_; }
  std::uint64_t size() const override { return identity_.size; }
  std::string version() const override { return identity_.version; }
  io::IoTraits traits() const noexcept override {
    return {.max_request = std::size_t{8} << 20, .worthwhile_gap = std::size_t{64} << 10, .concurrency = 16};
  }
  void read(std::uint64_t offset, MutableByteSpan into) const override { origin().read(offset, into); }
  void read_vector(std::span<const io::ReadRequest> requests) const override {
    origin().read_vector(requests);
  }
  std::unique_ptr<io::ReadQueue> open_queue(unsigned depth) const override {
    return origin().open_queue(depth);
  }

 private:
  const io::RandomAccessFile& origin() const {
    const std::lock_guard lock(mutex_);
    if (file_) return *file_;
    if (home_->settings().offline)
      throw Error(ErrorKind::io, "the cache does not have this, and is used offline",
                  "leave out offline, or fill it before (`colonnade cache warm`)", {.uri = uri_});
    std::unique_ptr<io::RandomAccessFile> file = io::open_for_reading(uri_, options_);
    if (file->size() != identity_.size || file->version() != identity_.version) {
      forget();
      throw Error(ErrorKind::io, "the file has changed within the time that the cache trusts it",
                  "open it again", {.uri = uri_});
    }
    file->opened();
    file_ = std::move(file);
    return *file_;
  }

  // So that whoever opens it again asks.
  void forget() const {
    const std::string uri = cache::origin_name(uri_);
    home_->ask([uri, name = identity_.name](io::ObjectStore& store) {
      store.remove(cache::found_value(uri, name));
      store.remove(cache::found_value(uri, ""));
      return true;
    });
  }

  const std::string uri_;
  const std::shared_ptr<cache::Home> home_;
  const cache::Identity identity_;
  const io::ReadFileOptions options_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<io::RandomAccessFile> file_;
};

class RememberedContainer final : public container::ReadContainer {
 public:
  RememberedContainer(const std::string& uri, std::shared_ptr<cache::Home> home, Remembered remembered,
                      io::ReadFileOptions options)
      : remembered_(std::move(remembered)), file_(uri, std::move(home), remembered_.identity, options) {}

  const std::string& uri() const noexcept override { return file_.uri(); }
  Locator::Kind locator_kind() const noexcept override { return remembered_.metadata.blobs[0].locator.kind; }
  std::vector<std::string> data_sets() const override { return {remembered_.identity.name}; }
  std::vector<ObjectEntry> objects() const override { return {}; }
  Anchor anchor(std::string_view path) const override {
    if (path == remembered_.identity.name) return remembered_.metadata.anchor;
    throw Error(ErrorKind::not_found, fmt::format("the cache knows nothing of a data set \"{}\"", path),
                "`colonnade cache ls` lists what it has", {.uri = uri()});
  }
  void read_blob(const Locator& locator, std::uint64_t max_key_size, MutableByteSpan into) const override {
    for (const cache::Metadata::Blob& blob : remembered_.metadata.blobs)
      if (blob.locator.kind == locator.kind && blob.locator.offset == locator.offset &&
          blob.bytes.size() == into.size()) {
        std::memcpy(into.data(), blob.bytes.data(), into.size());
        return;
      }
    // Of attribute sets, which a cache does not keep.
    if (max_key_size == 0 || into.size() <= max_key_size) return file_.read(locator.offset, into);
    throw Error(ErrorKind::unsupported, "a large part of the data set is not in the cache",
                "open it without offline and trust", {.uri = uri()});
  }
  void read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const override {
    for (const BlobRead& blob : blobs) read_blob(blob.locator, max_key_size, blob.into);
  }
  void check_blob(const Locator& locator, std::uint64_t max_key_size, const char* what) const override {
    if (locator_kind() == Locator::Kind::file) ReadContainer::check_blob(locator, max_key_size, what);
  }
  const io::RandomAccessFile& file() const override { return file_; }

 private:
  Remembered remembered_;
  OriginLater file_;
};

std::optional<Remembered> remembered_as(const io::ObjectStore& store, std::uint64_t number) {
  std::optional<cache::Identity> identity = cache::read_identity(store, number);
  const auto record = store.get({cache::register_object, cache::metadata_key, number});
  if (!identity || identity->number() != number || !record) return std::nullopt;
  try {
    Remembered found{std::move(*identity), cache::read_metadata(record->value)};
    if (found.metadata.blobs.empty()) return std::nullopt;
    return found;
  } catch (const Error&) {  // damaged
    return std::nullopt;
  }
}

// As somebody found it at most so long ago.
std::optional<Remembered> found_lately(const io::ObjectStore& store, const std::string& uri,
                                       const std::string& name, std::chrono::seconds trust) {
  // Clocks of machines differ; one that is ahead must not make trust last longer.
  constexpr std::int64_t clocks_apart = 60;
  const auto record = store.get(cache::found_value(uri, name));
  if (!record) return std::nullopt;
  try {
    const cache::FoundRecord found = cache::read_found_record(record->value);
    const std::int64_t now = environment().unix_time();
    if (found.time > now + clocks_apart || found.time < now - trust.count()) return std::nullopt;
    return remembered_as(store, found.number);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::format) throw;
    return std::nullopt;
  }
}

struct LookupResult {
  std::optional<Remembered> found;
  std::vector<std::string> names;  // where there are several
};

// Of several states the one that was found last.
LookupResult found_ever(const io::ObjectStore& store, const std::string& uri, const std::string& name) {
  constexpr std::chrono::seconds ever = std::chrono::hours(24 * 365 * 1000);
  std::map<std::string, std::uint64_t> known;
  for (const std::uint64_t number : cache::list_numbers(store)) {
    const std::optional<cache::Identity> identity = cache::read_identity(store, number);
    if (identity && identity->uri == uri && (name.empty() || identity->name == name))
      known.try_emplace(identity->name, number);
  }
  LookupResult answer;
  if (known.size() > 1)
    for (const auto& [each, number] : known) answer.names.push_back(each);
  if (known.size() != 1) return answer;
  const auto& [only, any] = *known.begin();
  answer.found = found_lately(store, uri, only, ever);
  if (!answer.found) answer.found = remembered_as(store, any);
  return answer;
}

[[noreturn]] void fail_offline(const std::string& uri, const std::vector<std::string>& names) {
  if (names.empty())
    throw Error(ErrorKind::not_found, "the cache does not have this data set, and is used offline",
                "`colonnade cache ls` lists what it has", {.uri = uri});
  throw Error(ErrorKind::usage, fmt::format("the cache has {} data sets of this file", names.size()),
              fmt::format("name one of: {}", fmt::join(names, ", ")), {.uri = uri});
}

}  // namespace

std::shared_ptr<container::ReadContainer> open_remembered(std::string_view name, const std::string& uri,
                                                          const ReadOptions& options) {
  const bool is_local = io::is_local(uri);
  const cache::Settings settings = cache::settings_for(options.cache, !is_local);
  if (settings.store.empty() || (!settings.offline && (is_local || settings.trust.count() == 0)))
    return nullptr;
  const std::shared_ptr<cache::Home> home = cache::Home::of(settings);
  std::optional<LookupResult> answer =
      home->ask([uri = cache::origin_name(uri), name = std::string(name), settings](io::ObjectStore& store) {
        return settings.offline ? found_ever(store, uri, name)
                                : LookupResult{found_lately(store, uri, name, settings.trust), {}};
      });
  if (settings.offline && !answer)
    throw Error(ErrorKind::io, fmt::format("the cache is lost: {}", home->problem()), "", {.uri = uri});
  if (settings.offline && !answer->found) fail_offline(uri, answer->names);
  if (!answer || !answer->found) return nullptr;
  // In a store the record of the data set has more than is kept here.
  const bool is_file = answer->found->metadata.blobs.front().locator.kind == Locator::Kind::file;
  if (!is_file && !settings.offline) return nullptr;
  return std::make_shared<RememberedContainer>(
      uri, home, std::move(*answer->found),
      io::ReadFileOptions{.local_io = options.local_io, .direct_io = options.direct_io});
}

}  // namespace colonnade::page
