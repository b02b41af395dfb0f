// See reader.h.
#include "container/object_store/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/interruption.h"
#include "base/warning.h"
#include "container/object_store/page_file.h"

namespace colonnade::container {
namespace {

// Blobs up to this size are allocated without checking their existence.
constexpr std::uint64_t small_blob = std::uint64_t{1} << 20;

[[noreturn]] void fail_absent(const DirectoryPlace& place, std::string_view path,
                              const std::vector<std::string>& names) {
  const std::string what = fmt::format("there is no data set \"{}\" in the object store", path);
  const std::string others =
      names.empty() ? "it has none at all" : fmt::format("one of: {}", fmt::join(names, ", "));
  const ClaimRecord* claim = place.claim();
  if (claim == nullptr || environment().life_of(claim->writer) == Life::ended)
    throw Error(ErrorKind::not_found, what, others);
  throw Error(ErrorKind::not_found,
              fmt::format("{}: it is being written (by process {} on {}) and nothing of it is committed yet",
                          what, claim->process, claim->host),
              fmt::format("wait until it is closed, or {}", others));
}

}  // namespace

PlaceRecord ObjectContainerReader::find(std::string_view path) const {
  return with_context({.uri = uri(), .data_set = std::string(path)}, [&] {
    if (record_ && record_->name == path) return PlaceRecord{.anchor = *record_, .stamp = stamp_};
    DirectoryPlace place = find_place(*store_, path);
    if (!place.committed()) fail_absent(place, path, data_sets());
    return std::move(place.found->record);
  });
}

std::shared_ptr<const ReadContainer> ObjectContainerReader::of_data_set(std::string_view path) const {
  if (record_ && record_->name == path) return nullptr;
  PlaceRecord record = find(path);
  return std::make_shared<ObjectContainerReader>(store_, std::move(record.anchor), record.stamp);
}

std::vector<std::string> ObjectContainerReader::data_sets() const {
  std::vector<std::string> names;
  std::vector<std::string> problems;
  for (AnchorRecord& record : list_anchors(*store_, &problems)) names.push_back(std::move(record.name));
  for (const std::string& problem : problems)
    warn(fmt::format("a data set of {} is left out: {}", uri(), problem));
  return names;
}

// Every data set ever begun took a number from the counter.
void ObjectContainerReader::check_is_there() const {
  if (store_->get(directory_value(counter_place, counter_key))) return;
  throw Error(ErrorKind::not_found, "there is no object store: nothing was ever written under this name",
              "check the name, upper and lower case included", {.uri = uri()});
}

Anchor ObjectContainerReader::anchor(std::string_view path) const {
  return find(path).anchor.anchor;
}

io::ValueAddress ObjectContainerReader::blob(std::uint64_t number) const {
  if (!record_)
    throw Error(ErrorKind::usage, "blobs belong to a data set, and none was chosen", "of_data_set()",
                {.uri = uri()});
  return {{group_of_blob(*record_, number), metadata_object}, blobs_, number};
}

// Generation numbers repeat in a store that was emptied; random identities do not. Stamps change with claims,
// too: they are the fallback for records without an identity.
std::string ObjectContainerReader::version() const {
  if (!record_) return {};
  return fmt::format("{}-{}-{:016x}", record_->generation, record_->commit,
                     record_->identity != 0 ? record_->identity : stamp_);
}

void ObjectContainerReader::check_blob(const Locator& locator, std::uint64_t max_key_size,
                                       const char* what) const {
  std::uint64_t left = locator.size;
  for (std::uint64_t number = locator.offset; left > small_blob; ++number) {
    const std::uint64_t wanted = max_key_size == 0 ? left : std::min(left, max_key_size);
    const io::ValueAddress address = blob(number);
    const std::optional<std::uint64_t> size = store_->size(address);
    if (!size || *size < wanted) {
      const Error error(
          ErrorKind::format,
          fmt::format("the {} of {} bytes is not complete: {} {}", what, locator.size, io::to_text(address),
                      size ? fmt::format("has {} bytes, not {}", *size, wanted) : "is missing"),
          "restore the data set from another copy", {.uri = uri()});
      throw size ? error : missing_blob(*store_, *record_, error);
    }
    left -= wanted;
  }
}

void ObjectContainerReader::read_blob(const Locator& locator, std::uint64_t max_key_size,
                                      MutableByteSpan into) const {
  for (std::uint64_t number = locator.offset; !into.empty(); ++number) {
    const std::size_t count =
        max_key_size == 0 ? into.size() : std::min<std::uint64_t>(into.size(), max_key_size);
    const io::ValueAddress address = blob(number);
    const io::FetchItem item{.akey = address.akey, .offset = 0, .into = into.first(count)};
    try {
      store_->fetch(address.object, address.dkey, {&item, 1});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
      throw missing_blob(*store_, *record_, error);
    }
    into = into.subspan(count);
  }
}

// If operations take several values, the blobs of one metadata object share one.
void ObjectContainerReader::read_blobs(std::span<const BlobRead> blobs, std::uint64_t max_key_size) const {
  const io::StoreTraits traits = store_->traits();
  const std::size_t most = traits.vectors ? std::max<std::size_t>(traits.max_items, 1) : 1;
  std::vector<std::pair<io::ObjectId, io::FetchItem>> items;
  for (const auto& [locator, into] : blobs)
    for (std::size_t from = 0; from < into.size();) {
      const std::size_t part = max_key_size == 0 ? into.size() : std::size_t{max_key_size};
      const io::ValueAddress address = blob(locator.offset + from / part);
      const MutableByteSpan bytes = into.subspan(from, std::min(part, into.size() - from));
      items.push_back({address.object, {address.akey, 0, bytes}});
      from += bytes.size();
    }
  const unsigned depth = std::max(traits.concurrency, 1U) * 4;  // they are small: latency dominates
  const std::unique_ptr<io::ObjectQueue> queue = store_->open_queue(depth);
  std::vector<io::FetchItem> operation;
  for (std::size_t next = 0; next < items.size() || queue->in_flight() > 0;) {
    if (next == items.size() || queue->in_flight() >= depth) {
      take_blobs(*queue);
      continue;
    }
    const io::ObjectId object = items[next].first;
    operation.clear();
    for (; next < items.size() && items[next].first == object && operation.size() < most; ++next)
      operation.push_back(items[next].second);
    queue->submit_fetch(next, object, blobs_, operation);
  }
}

void ObjectContainerReader::take_blobs(io::ObjectQueue& queue) const {
  const InterruptibleWaits here;
  std::array<io::ObjectQueue::Completion, 16> completions;
  const std::size_t count = queue.wait(completions);
  for (std::size_t i = 0; i < count; ++i) {
    if (!completions[i].failure) continue;
    try {
      std::rethrow_exception(completions[i].failure);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
      throw missing_blob(*store_, *record_, error);
    }
  }
}

Error ObjectContainerReader::locate(const Error& error, const Locator& locator) const {
  return {error.kind(), fmt::format("{}: {}", io::to_text(blob(locator.offset)), error.problem()),
          error.advice().empty() ? "restore the data set from another copy" : error.advice(),
          error.context()};
}

const io::RandomAccessFile& ObjectContainerReader::file() const {
  throw Error(ErrorKind::usage, "an object store is not a file", "read its data sets by name",
              {.uri = uri()});
}

std::shared_ptr<const ObjectPageFile> ObjectContainerReader::object_pages(
    const Descriptor& descriptor) const {
  static_cast<void>(blob(0));  // checks that there is a data set
  return std::make_shared<ObjectPageFile>(store_, *record_, descriptor);
}

}  // namespace colonnade::container
