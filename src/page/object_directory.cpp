// Records of the directory and the search for a name; see object_directory.h.
#include "page/object_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "codec/compression.h"

namespace colonnade::page {
namespace {

constexpr std::string_view magic = "CLNDREC1";
constexpr std::uint16_t version = 1;
constexpr std::size_t head_size = 16;
constexpr std::size_t sum_size = 8;
constexpr std::size_t longest_text = 4096;

enum class Kind : std::uint16_t { counter = 1, anchor = 2, claim = 3, generation = 4 };

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::counter:
      return "generation counter";
    case Kind::anchor:
      return "anchor record";
    case Kind::claim:
      return "claim record";
    case Kind::generation:
      return "generation record";
  }
  return "record";
}

[[noreturn]] void fail(const char* what, const std::string& problem) {
  throw Error(ErrorKind::format, fmt::format("{}: {}", what, problem));
}

// ---- writing ----

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

// ---- reading ----

std::string take_text(ByteReader& in, std::size_t longest, const char* what) {
  const auto length = in.le<std::uint32_t>(what);
  if (length > longest) fail(what, fmt::format("a text of {} bytes, where {} are the most", length, longest));
  const ByteSpan text = in.take(length, what);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

Kind kind_of(ByteSpan bytes) noexcept {
  return static_cast<Kind>(load_le<std::uint16_t>(bytes.data() + magic.size()));
}

// The body, after everything around it was checked.
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
                fmt::format("{}: it has XXH3 {:016x} where {:016x} was written", what, sum, stored),
                "`colonnade gc` cannot repair this; write the data set again");
  const auto found = load_le<std::uint16_t>(bytes.data() + magic.size() + 2);
  if (found != version)
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: version {} where this version reads {}", what, found, version),
                "a newer version of Colonnade");
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

void check_anchor(const AnchorRecord& record, const char* what) {
  if (record.anchor.header_offset >= record.end_blobs || record.anchor.footer_offset >= record.end_blobs)
    fail(what, fmt::format("header and footer are blobs {} and {} of {}", record.anchor.header_offset,
                           record.anchor.footer_offset, record.end_blobs));
  if (record.end_objects < first_page_object)
    fail(what, fmt::format("page objects end at {}", record.end_objects));
}

// ---- search ----

template <class Record, class Read>
std::optional<Stored<Record>> get_record(const io::ObjectStore& store, std::uint64_t place,
                                         std::uint64_t akey, Read read) {
  const io::ValueAddress address = directory_value(place, akey);
  const std::optional<io::ObjectStore::Versioned> value = store.get(address);
  if (!value) return std::nullopt;
  try {
    return Stored<Record>{read(value->value), value->version};
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", io::to_text(address), error.problem()), error.advice(),
                error.context())
        .with({.uri = store.uri()});
  }
}

}  // namespace

Bytes to_bytes(const AnchorRecord& record) {
  ByteWriter out;
  put_text(out, record.name);
  out.le(record.generation);
  out.le(static_cast<std::uint32_t>(record.mapping));
  out.le(record.value_target);
  out.le(record.splice_size);
  out.le(record.commit);
  out.le(record.end_objects);
  out.le(record.end_blobs);
  put_anchor(out, record.anchor);
  return framed(Kind::anchor, out.view());
}

Bytes to_bytes(const ClaimRecord& record) {
  ByteWriter out;
  put_text(out, record.name);
  out.le(record.writer);
  out.le(record.generation);
  out.le(record.since);
  out.le(record.process);
  out.le(record.process_start);
  for (const std::string* text : {&record.host, &record.machine, &record.boot, &record.process_space})
    put_text(out, std::string_view(*text).substr(0, longest_text));
  return framed(Kind::claim, out.view());
}

Bytes to_bytes(const GenerationRecord& record) {
  ByteWriter out;
  put_text(out, record.name);
  out.le(record.generation);
  out.le(record.writer);
  out.le(record.end_objects);
  return framed(Kind::generation, out.view());
}

Bytes counter_bytes(std::uint32_t next_generation) {
  ByteWriter out;
  out.le(next_generation);
  return framed(Kind::counter, out.view());
}

AnchorRecord read_anchor_record(ByteSpan bytes) {
  const char* what = name_of(Kind::anchor);
  ByteReader in = open_record(bytes, Kind::anchor);
  AnchorRecord record;
  record.name = take_name(in, what);
  record.generation = in.le<std::uint32_t>(what);
  const auto mapping = in.le<std::uint32_t>(what);
  if (mapping > static_cast<std::uint32_t>(ObjectMapping::object_per_page))
    throw Error(ErrorKind::unsupported, fmt::format("{}: a mapping of kind {}", what, mapping),
                "a newer version of Colonnade");
  record.mapping = static_cast<ObjectMapping>(mapping);
  record.value_target = in.le<std::uint64_t>(what);
  record.splice_size = in.le<std::uint64_t>(what);
  record.commit = in.le<std::uint64_t>(what);
  record.end_objects = in.le<std::uint64_t>(what);
  record.end_blobs = in.le<std::uint64_t>(what);
  record.anchor = take_anchor(in, what);
  if (record.generation != 0) check_anchor(record, what);
  return record;
}

ClaimRecord read_claim_record(ByteSpan bytes) {
  const char* what = name_of(Kind::claim);
  ByteReader in = open_record(bytes, Kind::claim);
  ClaimRecord record;
  record.name = take_name(in, what);
  record.writer = in.le<std::uint64_t>(what);
  record.generation = in.le<std::uint32_t>(what);
  record.since = in.le<std::int64_t>(what);
  record.process = in.le<std::uint64_t>(what);
  record.process_start = in.le<std::uint64_t>(what);
  for (std::string* text : {&record.host, &record.machine, &record.boot, &record.process_space})
    *text = take_text(in, longest_text, what);
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
  if (record.end_objects < first_page_object)
    fail(what, fmt::format("page objects end at {}", record.end_objects));
  return record;
}

std::uint32_t read_counter(ByteSpan bytes) {
  const char* what = name_of(Kind::counter);
  ByteReader in = open_record(bytes, Kind::counter);
  const auto next = in.le<std::uint32_t>(what);
  check_generation(next, what);
  return next;
}

std::string read_record_name(ByteSpan bytes) {
  ByteReader in = open_record(bytes, "directory record");
  if (kind_of(bytes) == Kind::counter) fail("directory record", "it has no name");
  return take_name(in, "directory record");
}

std::uint64_t first_place_of(std::string_view name) noexcept {
  const std::uint64_t sum = codec::xxh3(as_bytes(name));
  return sum == counter_place ? next_place(sum) : sum;
}

std::uint64_t next_place(std::uint64_t place) noexcept {
  return place == std::numeric_limits<std::uint64_t>::max() ? counter_place + 1 : place + 1;
}

DirectoryPlace find_place(const io::ObjectStore& store, std::string_view name, bool with_claim) {
  DirectoryPlace place;
  for (place.dkey = first_place_of(name);; place.dkey = next_place(place.dkey)) {
    place.anchor = get_record<AnchorRecord>(store, place.dkey, anchor_key, read_anchor_record);
    if (place.anchor && place.anchor->record.name != name) continue;
    if (place.anchor && !with_claim) return place;
    place.claim = get_record<ClaimRecord>(store, place.dkey, claim_key, read_claim_record);
    if (!place.claim || place.claim->record.name == name) return place;
  }
}

std::optional<AnchorRecord> find_anchor(const io::ObjectStore& store, std::string_view name) {
  DirectoryPlace place = find_place(store, name, false);
  if (!place.committed()) return std::nullopt;
  return std::move(place.anchor->record);
}

std::vector<AnchorRecord> list_anchors(const io::ObjectStore& store, std::vector<std::string>* problems) {
  std::vector<AnchorRecord> anchors;
  for (const std::uint64_t place : store.list_dkeys(directory_object)) {
    if (place == counter_place) continue;
    try {
      auto anchor = get_record<AnchorRecord>(store, place, anchor_key, read_anchor_record);
      if (anchor && anchor->record.generation != 0) anchors.push_back(std::move(anchor->record));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::io) throw;
      if (problems != nullptr) problems->push_back(error.problem());
    }
  }
  std::sort(anchors.begin(), anchors.end(),
            [](const AnchorRecord& a, const AnchorRecord& b) { return a.name < b.name; });
  return anchors;
}

}  // namespace colonnade::page
