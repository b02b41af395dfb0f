// Numbering and removing generations; see generations.h.
#include "container/object_store/generations.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/environment.h"

namespace colonnade::container {

std::uint32_t next_generation(io::ObjectStore& store) {
  constexpr int most_attempts = 1000;
  const io::ValueAddress address = directory_value(counter_place, counter_key);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const auto found = store.get(address);
    const std::uint32_t next = found ? read_counter(found->value) : 1;
    if (next == std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorKind::resource, "the object store has used up its generation numbers",
                  "another store: a new prefix, container or folder", {.uri = store.uri()});
    std::optional<std::string> expected;
    if (found) expected = found->version;
    if (!store.put_if(address, counter_bytes(next + 1), expected)) continue;
    // After a crash of the machine, the old count must not return: two data sets would share a number.
    store.sync();
    return next;
  }
  throw Error(
      ErrorKind::io,
      fmt::format("other writers changed the {} {} times in a row", io::to_text(address), most_attempts),
      "try again", {.uri = store.uri()});
}

std::vector<std::uint32_t> generations_at(const io::ObjectStore& store, std::uint64_t place) {
  constexpr std::uint64_t last = std::numeric_limits<std::uint32_t>::max() + first_generation_key;
  std::vector<std::uint32_t> generations;
  for (const std::uint64_t akey : store.list_akeys(directory_object, place))
    if (akey > first_generation_key && akey <= last)
      generations.push_back(static_cast<std::uint32_t>(akey - first_generation_key));
  return generations;
}

std::optional<GenerationRecord> find_generation(const io::ObjectStore& store, std::uint64_t place,
                                                std::uint32_t generation) {
  const io::ValueAddress address = directory_value(place, first_generation_key + generation);
  const auto found = store.get(address);
  if (!found) return std::nullopt;
  GenerationRecord record =
      with_context({.uri = store.uri()}, [&] { return read_generation_record(found->value); });
  if (record.generation != generation)
    throw Error(ErrorKind::format,
                fmt::format("{}: it is the record of generation {}", io::to_text(address), record.generation),
                "", {.uri = store.uri()});
  return record;
}

void add_generation(io::ObjectStore& store, std::uint64_t place, const GenerationRecord& record) {
  const io::ValueAddress address = directory_value(place, first_generation_key + record.generation);
  if (!store.put_if(address, to_bytes(record), std::nullopt))
    throw Error(ErrorKind::io,
                fmt::format("{}: the generation has a record before it begins", io::to_text(address)),
                "try again", {.uri = store.uri()});
}

void write_generation(io::ObjectStore& store, std::uint64_t place, const GenerationRecord& record) {
  const Bytes bytes = to_bytes(record);
  const io::UpdateItem item{.akey = first_generation_key + record.generation, .parts = {bytes}};
  store.update(directory_object, place, {&item, 1});
}

void change_generation(io::ObjectStore& store, std::uint64_t place, std::uint32_t generation,
                       const std::function<void(GenerationRecord&)>& edit) {
  constexpr int most_attempts = 1000;
  constexpr std::uint64_t longest_pause = 256;  // milliseconds
  const io::ValueAddress address = directory_value(place, first_generation_key + generation);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const auto found = store.get(address);
    if (!found)
      throw Error(ErrorKind::io,
                  fmt::format("{}: the record of the generation no longer exists", io::to_text(address)),
                  "another writer, or `colonnade gc`, has taken over the data set: write it again",
                  {.uri = store.uri()});
    GenerationRecord record = read_generation_record(found->value);
    edit(record);
    if (store.put_if(address, to_bytes(record), found->version)) return;
    // The more contenders, the longer the back-off.
    const std::uint64_t most =
        std::min<std::uint64_t>(std::uint64_t{1} << std::min(attempt, 16), longest_pause);
    environment().sleep_for(std::chrono::milliseconds(environment().random_number() % most + 1));
  }
  throw Error(
      ErrorKind::io,
      fmt::format("other writers changed the {} {} times in a row", io::to_text(address), most_attempts),
      "try again", {.uri = store.uri()});
}

std::vector<ObjectRange> ranges_between(std::vector<ObjectRange> ranges, std::uint64_t first,
                                        std::uint64_t end) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<ObjectRange> between;
  for (const ObjectRange& range : ranges) {
    if (range.first < first || range.end > end)
      throw Error(ErrorKind::usage,
                  fmt::format("two parts have objects before {}, or one has objects beyond {}", first, end),
                  "each part once, and only parts of the same writer");
    if (range.first > first) between.push_back({first, range.first});
    first = range.end;
  }
  if (first < end) between.push_back({first, end});
  // Keeps the record readable: the oldest attempts are the least likely to grow.
  if (between.size() > most_ranges)
    between.erase(between.begin(), between.end() - static_cast<std::ptrdiff_t>(most_ranges));
  return between;
}

namespace {

void remove_blobs(io::ObjectStore& store, const io::ObjectId& metadata, std::uint64_t begin) {
  for (const std::uint64_t blob : store.list_akeys(metadata, 0))
    if (blob >= begin) store.remove({metadata, 0, blob});
}

void remove_pages(io::ObjectStore& store, std::uint32_t generation, std::uint64_t begin, std::uint64_t end) {
  if (begin < end) store.remove_objects(generation, begin, end - 1);
}

// From `begin` on all objects of the generation are garbage. Where they need not be tried one by one, that is
// what goes: a put without an answer, which is done late, may have put back an older end.
void remove_rest(io::ObjectStore& store, std::uint32_t generation, std::uint64_t begin, std::uint64_t end) {
  const bool finds = store.traits().finds_objects;
  remove_pages(store, generation, begin, finds ? std::numeric_limits<std::uint64_t>::max() : end);
}

// Removes the records of parts: the commit names their pages, or they are abandoned.
void remove_parts(io::ObjectStore& store, const io::ObjectId& metadata) {
  for (const std::uint64_t part : store.list_dkeys(metadata)) {
    if (part == 0) continue;
    for (const std::uint64_t akey : store.list_akeys(metadata, part)) store.remove({metadata, part, akey});
  }
}

std::uint64_t count_of(const std::vector<ObjectRange>& ranges) noexcept {
  std::uint64_t count = 0;
  for (const ObjectRange& range : ranges) count += range.end - range.first;
  return count;
}

}  // namespace

std::optional<Garbage> remove_garbage(io::ObjectStore& store, std::uint64_t place, const AnchorRecord& anchor,
                                      std::uint32_t generation, bool only_look) {
  const std::optional<GenerationRecord> record = find_generation(store, place, generation);
  if (!record) return std::nullopt;
  return remove_garbage(store, place, anchor, *record, only_look);
}

std::optional<Garbage> remove_garbage(io::ObjectStore& store, std::uint64_t place, const AnchorRecord& anchor,
                                      const GenerationRecord& record, bool only_look) {
  const io::ObjectId metadata{record.generation, metadata_object};
  if (const auto kept = part_of(anchor, record.generation)) {
    const std::vector<std::uint64_t> blobs = store.list_akeys(metadata, 0);
    const bool more_blobs = !blobs.empty() && blobs.back() >= kept->end_blobs;
    // An end before the committed one is of a put that was done late: it does not tell what is behind.
    const bool more_objects = record.end_objects != kept->end_objects;
    if (!more_blobs && !more_objects && !record.in_parts) return std::nullopt;
    Garbage garbage{record.name, std::max(record.end_objects, kept->end_objects) - kept->end_objects, false};
    garbage.objects += count_of(record.abandoned);
    if (only_look) return garbage;
    if (more_objects) remove_rest(store, record.generation, kept->end_objects, record.end_objects);
    for (const ObjectRange& range : record.abandoned)
      remove_pages(store, record.generation, range.first, range.end);
    remove_blobs(store, metadata, kept->end_blobs);
    if (record.in_parts) remove_parts(store, metadata);
    GenerationRecord rest = record;
    rest.end_objects = kept->end_objects;
    rest.in_parts = false;
    rest.abandoned.clear();
    if (rest != record) write_generation(store, place, rest);
    return garbage;
  }
  if (!only_look) {
    remove_rest(store, record.generation, record.first_object, record.end_objects);
    store.remove_objects(record.generation, metadata_object, metadata_object);
    store.remove(directory_value(place, first_generation_key + record.generation));
  }
  return Garbage{record.name, record.end_objects - record.first_object, true};
}

}  // namespace colonnade::container
