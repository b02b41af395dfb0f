// Directory records and the lookup of names; see directory.h.
#include "container/object_store/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "codec/compression.h"

namespace colonnade::container {
namespace {

constexpr std::string_view magic = "CLNDREC1";
constexpr std::uint16_t version = 2;
constexpr std::size_t head_size = 16;
constexpr std::size_t sum_size = 8;
constexpr std::size_t longest_text = 4096;

enum class Kind : std::uint16_t { counter = 1, place = 2, generation = 4, part = 5 };

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::counter:
      return "generation counter";
    case Kind::place:
      return "data set record";
    case Kind::generation:
      return "generation record";
    case Kind::part:
      return "record of a part";
  }
  return "record";
}

[[noreturn]] void fail(const char* what, const std::string& problem) {
  throw Error(ErrorKind::format, fmt::format("{}: {}", what, problem));
}

// ---- Writing

void put_text(ByteWriter& out, std::string_view text) {
  out.le(static_cast<std::uint32_t>(text.size()));
  out.append(as_bytes(text));
}

Bytes framed(Kind kind, ByteSpan body) {
  ByteWriter out;
  out.append(as_bytes(magic));
  out.le(static_cast<std::uint16_t>(kind));
  out.le(version);
  out.le(static_cast<std::uint32_t>(body.size()));
  out.append(body);
  out.le(codec::xxh3(out.view()));
  return out.take();
}

// ---- Reading

std::string take_text(ByteReader& in, std::size_t longest, const char* what) {
  const auto length = in.le<std::uint32_t>(what);
  if (length > longest)
    fail(what, fmt::format("a text of {} bytes, more than the limit of {}", length, longest));
  const ByteSpan text = in.take(length, what);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

Kind kind_of(ByteSpan bytes) noexcept {
  return static_cast<Kind>(load_le<std::uint16_t>(bytes.data() + magic.size()));
}

// The body, after the frame was checked.
ByteReader open_record(ByteSpan bytes, const char* what) {
  if (bytes.size() < head_size + sum_size || bytes.size() > longest_record)
    fail(what, fmt::format("{} bytes, where {} to {} are possible", bytes.size(), head_size + sum_size,
                           longest_record));
  if (std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    fail(what, "it does not begin with \"CLNDREC1\"");
  const ByteSpan summed = bytes.first(bytes.size() - sum_size);
  const std::uint64_t sum = codec::xxh3(summed);
  const auto stored = load_le<std::uint64_t>(bytes.data() + summed.size());
  if (sum != stored)
    throw Error(ErrorKind::checksum,
                fmt::format("{}: its XXH3 is {:016x} instead of {:016x}", what, sum, stored),
                "`colonnade gc` cannot repair this; write the data set again");
  const auto found = load_le<std::uint16_t>(bytes.data() + magic.size() + 2);
  if (found != version)
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: version {}, but this version reads {}", what, found, version),
                found < version ? "it is from before the first release: write the data set again"
                                : "a newer version of Colonnade");
  const auto length = load_le<std::uint32_t>(bytes.data() + magic.size() + 4);
  const std::size_t there = summed.size() - head_size;
  if (length != there) fail(what, fmt::format("a body of {} bytes in {}", length, there));
  return ByteReader(summed.subspan(head_size), head_size);
}

ByteReader open_record(ByteSpan bytes, Kind kind) {
  ByteReader body = open_record(bytes, name_of(kind));
  if (kind_of(bytes) != kind)
    fail(name_of(kind), fmt::format("it is a record of kind {}", static_cast<std::uint16_t>(kind_of(bytes))));
  return body;
}

std::string take_name(ByteReader& in, const char* what) {
  std::string name = take_text(in, longest_name, what);
  if (name.empty()) fail(what, "it has no name");
  return name;
}

void check_generation(std::uint64_t generation, const char* what) {
  if (generation == 0) fail(what, "it has no generation");
}

void put_anchor(ByteWriter& out, const Anchor& anchor) {
  out.le(anchor.epoch);
  out.le(anchor.major);
  out.le(anchor.minor);
  out.le(anchor.patch);
  for (const std::uint64_t number :
       {anchor.header_offset, anchor.header_size, anchor.header_length, anchor.footer_offset,
        anchor.footer_size, anchor.footer_length, anchor.max_key_size})
    out.le(number);
}

Anchor take_anchor(ByteReader& in, const char* what) {
  Anchor anchor;
  for (std::uint16_t* part : {&anchor.epoch, &anchor.major, &anchor.minor, &anchor.patch})
    *part = in.le<std::uint16_t>(what);
  for (std::uint64_t* part :
       {&anchor.header_offset, &anchor.header_size, &anchor.header_length, &anchor.footer_offset,
        &anchor.footer_size, &anchor.footer_length, &anchor.max_key_size})
    *part = in.le<std::uint64_t>(what);
  return anchor;
}

void check_blobs(const Anchor& anchor, std::uint64_t end, const char* what) {
  if (anchor.header_offset >= end || anchor.footer_offset >= end)
    fail(what, fmt::format("header and footer are blobs {} and {} of {}", anchor.header_offset,
                           anchor.footer_offset, end));
}

void check_anchor(const AnchorRecord& record, const char* what) {
  check_blobs(record.anchor, record.end_blobs, what);
  EarlierGeneration before;
  const auto check = [&](const EarlierGeneration& part) {
    if (part.generation <= before.generation)
      fail(what, fmt::format("generation {} comes after {}", part.generation, before.generation));
    if (part.end_objects < before.end_objects || part.end_blobs < before.end_blobs)
      fail(what, fmt::format("generation {} ends at object {} and blob {}, the one before at {} and {}",
                             part.generation, part.end_objects, part.end_blobs, before.end_objects,
                             before.end_blobs));
    before = part;
  };
  for (const EarlierGeneration& part : record.earlier) check(part);
  check({record.generation, record.end_objects, record.end_blobs});
}

void put_earlier(ByteWriter& out, const std::vector<EarlierGeneration>& earlier) {
  out.le(static_cast<std::uint32_t>(earlier.size()));
  for (const EarlierGeneration& part : earlier) {
    out.le(part.generation);
    out.le(part.end_objects);
    out.le(part.end_blobs);
  }
}

std::vector<EarlierGeneration> take_earlier(ByteReader& in, const char* what) {
  const auto count = in.le<std::uint32_t>(what);
  if (count > most_earlier_generations) fail(what, fmt::format("it continues {} generations", count));
  std::vector<EarlierGeneration> earlier(count);
  for (EarlierGeneration& part : earlier) {
    part.generation = in.le<std::uint32_t>(what);
    part.end_objects = in.le<std::uint64_t>(what);
    part.end_blobs = in.le<std::uint64_t>(what);
  }
  return earlier;
}

void put_ranges(ByteWriter& out, const std::vector<ObjectRange>& ranges) {
  out.le(static_cast<std::uint32_t>(ranges.size()));
  for (const ObjectRange& range : ranges) {
    out.le(range.first);
    out.le(range.end);
  }
}

// In ascending order, within [first, end).
std::vector<ObjectRange> take_ranges(ByteReader& in, std::uint64_t first, std::uint64_t end,
                                     const char* what) {
  const auto count = in.le<std::uint32_t>(what);
  if (count > most_ranges) fail(what, fmt::format("it has {} ranges of objects", count));
  std::vector<ObjectRange> ranges(count);
  for (ObjectRange& range : ranges) {
    range.first = in.le<std::uint64_t>(what);
    range.end = in.le<std::uint64_t>(what);
    if (range.first < first || range.end <= range.first || range.end > end)
      fail(what,
           fmt::format("objects {} to {}, where {} to {} are possible", range.first, range.end, first, end));
    first = range.end;
  }
  return ranges;
}

void put_claim(ByteWriter& out, const std::optional<ClaimRecord>& claim) {
  out.le(static_cast<std::uint8_t>(claim ? 1 : 0));
  if (!claim) return;
  out.le(claim->writer);
  out.le(claim->generation);
  out.le(claim->lease);
  out.le(claim->renewals);
  out.le(claim->since);
  out.le(claim->process);
  put_text(out, std::string_view(claim->host).substr(0, longest_text));
}

std::optional<ClaimRecord> take_claim(ByteReader& in, const char* what) {
  if (in.le<std::uint8_t>(what) == 0) return std::nullopt;
  ClaimRecord claim;
  claim.writer = in.le<std::uint64_t>(what);
  claim.generation = in.le<std::uint32_t>(what);
  claim.lease = in.le<std::uint64_t>(what);
  claim.renewals = in.le<std::uint64_t>(what);
  claim.since = in.le<std::int64_t>(what);
  claim.process = in.le<std::uint64_t>(what);
  claim.host = take_text(in, longest_text, what);
  return claim;
}

}  // namespace

Bytes to_bytes(const PlaceRecord& record) {
  const AnchorRecord& anchor = record.anchor;
  ByteWriter out;
  put_text(out, anchor.name);
  out.le(anchor.generation);
  out.le(static_cast<std::uint32_t>(anchor.mapping));
  out.le(anchor.value_target);
  out.le(anchor.splice_size);
  out.le(anchor.commit);
  out.le(anchor.end_objects);
  out.le(anchor.end_blobs);
  put_anchor(out, anchor.anchor);
  out.le(record.stamp);
  put_earlier(out, anchor.earlier);
  put_claim(out, record.claim);
  out.le(anchor.identity);
  return framed(Kind::place, out.view());
}

Bytes to_bytes(const GenerationRecord& record) {
  ByteWriter out;
  put_text(out, record.name);
  out.le(record.generation);
  out.le(record.writer);
  out.le(record.end_objects);
  out.le(record.first_object);
  out.le(static_cast<std::uint8_t>(record.in_parts ? 1 : 0));
  put_ranges(out, record.abandoned);
  return framed(Kind::generation, out.view());
}

Bytes to_bytes(const PartRecord& record) {
  ByteWriter out;
  put_text(out, record.name);
  out.le(record.generation);
  out.le(record.end_blobs);
  put_anchor(out, record.anchor);
  put_ranges(out, record.objects);
  return framed(Kind::part, out.view());
}

Bytes counter_bytes(std::uint32_t next_generation) {
  ByteWriter out;
  out.le(next_generation);
  return framed(Kind::counter, out.view());
}

PlaceRecord read_place_record(ByteSpan bytes) {
  const char* what = name_of(Kind::place);
  ByteReader in = open_record(bytes, Kind::place);
  PlaceRecord record;
  AnchorRecord& anchor = record.anchor;
  anchor.name = take_name(in, what);
  anchor.generation = in.le<std::uint32_t>(what);
  const auto mapping = in.le<std::uint32_t>(what);
  if (mapping > static_cast<std::uint32_t>(ObjectMapping::object_per_page))
    throw Error(ErrorKind::unsupported, fmt::format("{}: a mapping of kind {}", what, mapping),
                "a newer version of Colonnade");
  anchor.mapping = static_cast<ObjectMapping>(mapping);
  anchor.value_target = in.le<std::uint64_t>(what);
  anchor.splice_size = in.le<std::uint64_t>(what);
  anchor.commit = in.le<std::uint64_t>(what);
  anchor.end_objects = in.le<std::uint64_t>(what);
  anchor.end_blobs = in.le<std::uint64_t>(what);
  anchor.anchor = take_anchor(in, what);
  record.stamp = in.le<std::uint64_t>(what);
  anchor.earlier = take_earlier(in, what);
  record.claim = take_claim(in, what);
  if (in.remaining() > 0) anchor.identity = in.le<std::uint64_t>(what);
  if (anchor.generation != 0) check_anchor(anchor, what);
  return record;
}

GenerationRecord read_generation_record(ByteSpan bytes) {
  const char* what = name_of(Kind::generation);
  ByteReader in = open_record(bytes, Kind::generation);
  GenerationRecord record;
  record.name = take_name(in, what);
  record.generation = in.le<std::uint32_t>(what);
  check_generation(record.generation, what);
  record.writer = in.le<std::uint64_t>(what);
  record.end_objects = in.le<std::uint64_t>(what);
  record.first_object = in.le<std::uint64_t>(what);
  if (record.first_object < first_page_object || record.end_objects < record.first_object)
    fail(what, fmt::format("page objects {} to {}", record.first_object, record.end_objects));
  if (in.remaining() == 0) return record;  // written by a version without parts
  record.in_parts = in.le<std::uint8_t>(what) != 0;
  record.abandoned = take_ranges(in, record.first_object, record.end_objects, what);
  return record;
}

PartRecord read_part_record(ByteSpan bytes) {
  const char* what = name_of(Kind::part);
  ByteReader in = open_record(bytes, Kind::part);
  PartRecord record;
  record.name = take_name(in, what);
  record.generation = in.le<std::uint32_t>(what);
  check_generation(record.generation, what);
  record.end_blobs = in.le<std::uint64_t>(what);
  record.anchor = take_anchor(in, what);
  check_blobs(record.anchor, record.end_blobs, what);
  record.objects = take_ranges(in, first_page_object, std::numeric_limits<std::uint64_t>::max(), what);
  return record;
}

std::uint32_t read_counter(ByteSpan bytes) {
  const char* what = name_of(Kind::counter);
  ByteReader in = open_record(bytes, Kind::counter);
  const auto next = in.le<std::uint32_t>(what);
  check_generation(next, what);
  return next;
}

std::optional<EarlierGeneration> part_of(const AnchorRecord& anchor, std::uint32_t generation) noexcept {
  if (generation == 0) return std::nullopt;
  if (generation == anchor.generation)
    return EarlierGeneration{anchor.generation, anchor.end_objects, anchor.end_blobs};
  for (const EarlierGeneration& part : anchor.earlier)
    if (part.generation == generation) return part;
  return std::nullopt;
}

std::uint32_t group_of_object(const AnchorRecord& anchor, std::uint64_t object) noexcept {
  const auto part = std::upper_bound(
      anchor.earlier.begin(), anchor.earlier.end(), object,
      [](std::uint64_t number, const EarlierGeneration& of) { return number < of.end_objects; });
  return part != anchor.earlier.end() ? part->generation : anchor.generation;
}

std::uint32_t group_of_blob(const AnchorRecord& anchor, std::uint64_t blob) noexcept {
  const auto part = std::upper_bound(
      anchor.earlier.begin(), anchor.earlier.end(), blob,
      [](std::uint64_t number, const EarlierGeneration& of) { return number < of.end_blobs; });
  return part != anchor.earlier.end() ? part->generation : anchor.generation;
}

std::uint64_t first_place_of(std::string_view name) noexcept {
  const std::uint64_t sum = codec::xxh3(as_bytes(name));
  return sum == counter_place ? next_place(sum) : sum;
}

std::uint64_t next_place(std::uint64_t place) noexcept {
  return place == std::numeric_limits<std::uint64_t>::max() ? counter_place + 1 : place + 1;
}

std::optional<VersionedRecord<PlaceRecord>> read_place(const io::ObjectStore& store, std::uint64_t place) {
  const io::ValueAddress address = directory_value(place, place_key);
  std::optional<io::ObjectStore::Versioned> value = store.get(address);
  if (!value) return std::nullopt;
  try {
    return VersionedRecord<PlaceRecord>{read_place_record(value->value), std::move(value->version)};
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", io::to_text(address), error.problem()), error.advice(),
                error.context())
        .with({.uri = store.uri()});
  }
}

DirectoryPlace find_place(const io::ObjectStore& store, std::string_view name) {
  DirectoryPlace place;
  for (place.dkey = first_place_of(name);; place.dkey = next_place(place.dkey)) {
    place.found = read_place(store, place.dkey);
    if (!place.found || place.found->record.anchor.name == name) return place;
  }
}

std::optional<AnchorRecord> find_anchor(const io::ObjectStore& store, std::string_view name) {
  DirectoryPlace place = find_place(store, name);
  if (!place.committed()) return std::nullopt;
  return std::move(place.found->record.anchor);
}

namespace {

// `may_retire`: later commits may have replaced the value.
Error missing(const io::ObjectStore& store, const AnchorRecord& opened, bool may_retire, const Error& error) {
  std::optional<AnchorRecord> now;
  try {
    now = find_anchor(store, opened.name);
  } catch (const Error&) {
    return error;
  }
  if (!now)
    return {ErrorKind::not_found,
            fmt::format("the data set was removed while it was open: {}", error.problem()), "",
            error.context()};
  if (!part_of(*now, opened.generation))
    return {ErrorKind::not_found,
            fmt::format("the data set was replaced by another one while it was open: {}", error.problem()),
            "open it again", error.context()};
  if (may_retire && now->commit != opened.commit)
    return {ErrorKind::not_found,
            fmt::format("the data set was written to while it was open: {}", error.problem()),
            "open it again", error.context()};
  return {ErrorKind::format, error.problem(), "restore the data set from another copy", error.context()};
}

}  // namespace

Error missing_page(const io::ObjectStore& store, const AnchorRecord& opened, const Error& error) {
  return missing(store, opened, false, error);
}

Error missing_blob(const io::ObjectStore& store, const AnchorRecord& opened, const Error& error) {
  return missing(store, opened, true, error);
}

std::vector<AnchorRecord> list_anchors(const io::ObjectStore& store, std::vector<std::string>* problems) {
  std::vector<AnchorRecord> anchors;
  for (const std::uint64_t place : store.list_dkeys(directory_object)) {
    if (place == counter_place) continue;
    try {
      auto found = read_place(store, place);
      if (found && found->record.anchor.generation != 0) anchors.push_back(std::move(found->record.anchor));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io) throw;
      if (problems != nullptr) problems->push_back(error.problem());
    }
  }
  std::sort(anchors.begin(), anchors.end(),
            [](const AnchorRecord& a, const AnchorRecord& b) { return a.name < b.name; });
  return anchors;
}

}  // namespace colonnade::container
