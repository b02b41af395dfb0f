// Fuzzes the records of object stores. The first byte selects the kind, and whether the others are its bytes
// or changes to a valid one, three bytes each: position and value. The checksum is corrected afterwards. A
// readable record survives writing and reading; anything else is an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "codec/compression.h"
#include "colonnade/error.h"
#include "container/object_store/directory.h"

namespace {

using namespace colonnade;
using namespace colonnade::container;

void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<Bytes> valid_records() {
  const Anchor anchor{.header_size = 90, .header_length = 200, .footer_offset = 3};
  PlaceRecord place;
  place.anchor = {.name = "Events", .generation = 9, .end_objects = 70, .end_blobs = 12, .anchor = anchor};
  place.anchor.earlier = {{2, 5, 3}, {4, 20, 7}};
  place.claim = ClaimRecord{.writer = 77, .generation = 10, .lease = 30000, .host = "worker-3"};
  GenerationRecord generation{.name = "Events", .generation = 9, .writer = 77, .end_objects = 90};
  generation.in_parts = true;
  generation.abandoned = {{3, 5}, {8, 64}};
  const PartRecord part{"Events", 9, 4, anchor, {{1, 17}, {40, 41}}};
  return {to_bytes(place), to_bytes(generation), to_bytes(part), counter_bytes(11)};
}

void set_sum(Bytes& record) {
  constexpr std::size_t sum_size = sizeof(std::uint64_t);
  if (record.size() < sum_size) return;
  const std::uint64_t sum = codec::xxh3(ByteSpan(record).first(record.size() - sum_size));
  std::memcpy(record.data() + record.size() - sum_size, &sum, sum_size);
}

template <class Record>
void check_again(const Record& record, Record (*read)(ByteSpan)) {
  require(read(to_bytes(record)) == record);
}

void read(std::size_t kind, const Bytes& record) {
  switch (kind) {
    case 0:
      return check_again(read_place_record(record), read_place_record);
    case 1:
      return check_again(read_generation_record(record), read_generation_record);
    case 2:
      return check_again(read_part_record(record), read_part_record);
    default:
      return require(read_counter(counter_bytes(read_counter(record))) == read_counter(record));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<Bytes> valid = valid_records();
  if (size == 0) return 0;
  const std::size_t kind = data[0] % 4;
  Bytes record;
  if (data[0] / 4 % 2 == 0) {
    record.assign(reinterpret_cast<const std::byte*>(data + 1),
                  reinterpret_cast<const std::byte*>(data + size));
  } else {
    record = valid[kind];
    for (std::size_t at = 1; at + 3 <= size; at += 3)
      record[(data[at] + 256U * data[at + 1]) % record.size()] = static_cast<std::byte>(data[at + 2]);
    if (data[0] >= 224) record.resize(record.size() * data[0] / 256);
  }
  set_sum(record);
  try {
    read(kind, record);
  } catch (const Error& error) {
    require(!error.problem().empty());
  }
  return 0;
}
