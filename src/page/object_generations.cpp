// Numbers and removal of generations; see object_generations.h.
#include "page/object_generations.h"

#include <fmt/format.h>

#include <limits>

#include "page/object_claim.h"

namespace colonnade::page {

std::uint32_t next_generation(io::ObjectStore& store) {
  constexpr int most_attempts = 1000;
  const io::ValueAddress address = directory_value(counter_place, anchor_key);
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const auto found = store.get(address);
    const std::uint32_t next = found ? read_counter(found->value) : 1;
    if (next == std::numeric_limits<std::uint32_t>::max())
      throw Error(ErrorKind::resource, "the object store has counted all generations of data sets",
                  "another store: a new prefix, container or folder", {.uri = store.uri()});
    std::optional<std::string> expected;
    if (found) expected = found->version;
    if (store.put_if(address, counter_bytes(next + 1), expected)) return next;
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

void write_generation(io::ObjectStore& store, std::uint64_t place, const GenerationRecord& record) {
  const Bytes bytes = to_bytes(record);
  const io::UpdateItem item{.akey = first_generation_key + record.generation, .parts = {bytes}};
  store.update(directory_object, place, {&item, 1});
}

void remove_generation(io::ObjectStore& store, std::uint64_t place, std::uint32_t generation) {
  const std::optional<GenerationRecord> record = find_generation(store, place, generation);
  if (!record) return;
  store.remove_objects(generation, metadata_object, record->end_objects - 1);
  store.remove(directory_value(place, first_generation_key + generation));
}

void remove_blobs(io::ObjectStore& store, std::uint32_t generation, std::uint64_t end) {
  const io::ObjectId metadata{generation, metadata_object};
  for (const std::uint64_t blob : store.list_akeys(metadata, 0))
    if (blob >= end) store.remove({metadata, 0, blob});
}

void release_place(io::ObjectStore& store, std::uint64_t place, const ClaimRecord& claim) {
  const io::ValueAddress anchor = directory_value(place, anchor_key);
  const auto found = store.get(anchor);
  if (found && read_anchor_record(found->value).generation != 0)
    return release_claim(store, place, claim.writer);
  const auto in_use = [&](std::uint64_t akey) {
    return store.size(directory_value(next_place(place), akey)).has_value();
  };
  if (in_use(anchor_key) || in_use(claim_key)) {
    AnchorRecord removed;
    removed.name = claim.name;
    const Bytes bytes = to_bytes(removed);
    const io::UpdateItem item{.akey = anchor_key, .parts = {bytes}};
    store.update(directory_object, place, {&item, 1});
  } else {
    store.remove(anchor);
  }
  release_claim(store, place, claim.writer);
}

}  // namespace colonnade::page
