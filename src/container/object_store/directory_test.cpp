// Directory records: round trips, and detection of every damage.
#include "container/object_store/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "codec/compression.h"
#include "container/object_store/test_tools.h"

namespace colonnade::container {
namespace {

using testing::HasSubstr;

AnchorRecord some_anchor() {
  return {.name = "dir/Events",
          .generation = 7,
          .mapping = ObjectMapping::object_per_page,
          .value_target = 1 << 20,
          .splice_size = 1 << 19,
          .commit = 3,
          .end_objects = 1000,
          .end_blobs = 9,
          .anchor = {.epoch = 1,
                     .major = 2,
                     .minor = 3,
                     .patch = 4,
                     .header_offset = 0,
                     .header_size = 11,
                     .header_length = 12,
                     .footer_offset = 8,
                     .footer_size = 14,
                     .footer_length = 15,
                     .max_key_size = 16},
          .earlier = {{.generation = 2, .end_objects = 5, .end_blobs = 3},
                      {.generation = 4, .end_objects = 5, .end_blobs = 6}}};
}

PlaceRecord some_place() {
  return {.anchor = some_anchor(),
          .claim = ClaimRecord{.writer = 0x123456789abcdef0,
                               .generation = 7,
                               .lease = 60000,
                               .renewals = 12,
                               .since = 1800000000,
                               .process = 4711,
                               .host = "host"},
          .stamp = 0xfedcba9876543210};
}

GenerationRecord some_generation() {
  return {.name = "Events",
          .generation = 7,
          .writer = 12,
          .end_objects = 65,
          .first_object = 3,
          .in_parts = true,
          .abandoned = {{3, 5}, {8, 65}}};
}

PartRecord some_part() {
  return {.name = "Events",
          .generation = 7,
          .end_blobs = 3,
          .anchor = {.header_offset = 0, .footer_offset = 2},
          .objects = {{5, 6}, {7, 9}}};
}

struct Kind {
  const char* name;
  Bytes bytes;
  std::function<void(ByteSpan)> read;
};

std::vector<Kind> all_kinds() {
  return {{"generation counter", counter_bytes(5), [](ByteSpan bytes) { read_counter(bytes); }},
          {"data set record", to_bytes(some_place()), [](ByteSpan bytes) { read_place_record(bytes); }},
          {"generation record", to_bytes(some_generation()),
           [](ByteSpan bytes) { read_generation_record(bytes); }},
          {"record of a part", to_bytes(some_part()), [](ByteSpan bytes) { read_part_record(bytes); }}};
}

// Records of earlier versions: without parts and identities.
std::size_t earlier_size(const Kind& kind) {
  if (kind.name == std::string("generation record")) return kind.bytes.size() - (1 + 4 + 2 * 16);
  return kind.name == std::string("data set record") ? kind.bytes.size() - 8 : 0;
}

// Corrects the checksum, so that the fields behind it are tested.
Bytes resealed(Bytes bytes) {
  const std::size_t summed = bytes.size() - sizeof(std::uint64_t);
  store_le(bytes.data() + summed, codec::xxh3(ByteSpan(bytes).first(summed)));
  return bytes;
}

template <class T>
Bytes patched(Bytes bytes, std::size_t at, T value) {
  store_le(bytes.data() + at, value);
  return resealed(std::move(bytes));
}

TEST(ObjectDirectory, RecordsRoundTrip) {
  PlaceRecord place = some_place();
  EXPECT_EQ(read_place_record(to_bytes(place)), place);
  place.claim.reset();
  place.anchor = {.name = "only the name"};
  EXPECT_EQ(read_place_record(to_bytes(place)), place);
  EXPECT_EQ(read_generation_record(to_bytes(some_generation())), some_generation());
  EXPECT_EQ(read_part_record(to_bytes(some_part())), some_part());
  EXPECT_EQ(read_counter(counter_bytes(5)), 5u);
}

TEST(ObjectDirectory, NamesWithAnyBytesAndTheLongest) {
  GenerationRecord record = some_generation();
  for (const std::string& name :
       {std::string("a\0b", 3), std::string("\xff\xfe"), std::string(longest_name, 'x')}) {
    record.name = name;
    EXPECT_EQ(read_generation_record(to_bytes(record)), record);
  }
}

TEST(ObjectDirectory, EveryBitThatTurnsIsFound) {
  for (const Kind& kind : all_kinds()) {
    for (std::size_t bit = 0; bit < kind.bytes.size() * 8; ++bit) {
      Bytes bytes = kind.bytes;
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      EXPECT_THROW(kind.read(bytes), Error) << kind.name << ", bit " << bit;
    }
    EXPECT_NO_THROW(kind.read(kind.bytes));
  }
}

TEST(ObjectDirectory, EveryLengthThatIsShorterIsRefused) {
  for (const Kind& kind : all_kinds()) {
    for (std::size_t length = 0; length < kind.bytes.size(); ++length) {
      Bytes bytes(kind.bytes.begin(), kind.bytes.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_THROW(kind.read(bytes), Error) << kind.name << ", " << length;
      // Length and checksum are correct, so that only fields can be missing.
      if (length < 24 || length == earlier_size(kind)) continue;
      store_le(bytes.data() + 12, static_cast<std::uint32_t>(length - 24));
      EXPECT_THROW(kind.read(resealed(bytes)), Error) << kind.name << ", body of " << length - 24;
    }
    EXPECT_THROW(kind.read(Bytes(longest_record + 1)), Error) << kind.name;
  }
}

TEST(ObjectDirectory, GenerationsOfEarlierVersionsHaveNoParts) {
  GenerationRecord record = some_generation();
  Bytes bytes = to_bytes(record);
  bytes.erase(bytes.end() - 8 - (1 + 4 + 2 * 16), bytes.end() - 8);
  store_le(bytes.data() + 12, static_cast<std::uint32_t>(bytes.size() - 24));
  record.in_parts = false;
  record.abandoned.clear();
  EXPECT_EQ(read_generation_record(resealed(bytes)), record);
}

TEST(ObjectDirectory, RangesOfObjectsThatMakeNoSenseAreRefused) {
  using Ranges = std::vector<ObjectRange>;
  for (const Ranges& ranges : {Ranges{{5, 5}}, Ranges{{6, 5}}, Ranges{{5, 9}, {8, 10}},
                               Ranges{{8, 9}, {5, 6}}, Ranges{{0, 3}}, Ranges(most_ranges + 1, {5, 6})}) {
    GenerationRecord generation = some_generation();
    generation.abandoned = ranges;
    EXPECT_THROW(read_generation_record(to_bytes(generation)), Error);
    PartRecord part = some_part();
    part.objects = ranges;
    EXPECT_THROW(read_part_record(to_bytes(part)), Error);
  }
  GenerationRecord generation = some_generation();
  generation.abandoned = {{generation.first_object, generation.end_objects + 1}};
  EXPECT_THROW(read_generation_record(to_bytes(generation)), Error);
  Ranges most;
  for (std::uint64_t i = 0; i < most_ranges; ++i) most.push_back({2 * i + 1, 2 * i + 2});
  generation.first_object = 1;
  generation.end_objects = 1 << 20;
  generation.abandoned = most;
  generation.name.assign(longest_name, 'x');
  EXPECT_EQ(read_generation_record(to_bytes(generation)), generation);
}

TEST(ObjectDirectory, LaterVersionsMayAppend) {
  for (const Kind& kind : all_kinds()) {
    Bytes bytes = kind.bytes;
    bytes.insert(bytes.end() - 8, 5, std::byte{42});
    store_le(bytes.data() + 12, static_cast<std::uint32_t>(bytes.size() - 24));
    EXPECT_NO_THROW(kind.read(resealed(bytes))) << kind.name;
  }
}

TEST(ObjectDirectory, OtherKindsAndVersionsAreNamed) {
  const std::vector<Kind> kinds = all_kinds();
  for (const Kind& kind : kinds) {
    for (const Kind& other : kinds) {
      if (&kind == &other) continue;
      const Error error = error_of([&] { kind.read(other.bytes); });
      EXPECT_EQ(error.kind(), ErrorKind::format);
      EXPECT_THAT(error.problem(), HasSubstr(kind.name));
    }
    const Error error = error_of([&] { kind.read(patched<std::uint16_t>(kind.bytes, 10, 3)); });
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.problem(), HasSubstr("version 3, but this version reads 2"));
    EXPECT_THAT(error_of([&] { kind.read(patched<std::uint16_t>(kind.bytes, 10, 1)); }).advice(),
                HasSubstr("before the first release"));
  }
}

TEST(ObjectDirectory, ValuesThatCannotBeAreRefused) {
  const auto expect_refused = [](const Bytes& bytes, const char* problem,
                                 ErrorKind kind = ErrorKind::format) {
    const Error error = error_of([&] { read_place_record(bytes); });
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.problem(), HasSubstr(problem));
  };
  const Bytes bytes = to_bytes(some_place());
  const std::size_t after_name = 16 + 4 + 10;
  expect_refused(patched<std::uint32_t>(bytes, 16, 0xffffffff), "a text of 4294967295 bytes");
  expect_refused(patched<std::uint32_t>(bytes, 16, 4000), "needs");
  expect_refused(patched<std::uint32_t>(bytes, 16, 0), "it has no name");
  expect_refused(patched<std::uint32_t>(bytes, after_name + 4, 2), "a mapping of kind 2",
                 ErrorKind::unsupported);
  expect_refused(patched<std::uint64_t>(bytes, after_name + 32, 0),
                 "generation 7 ends at object 0 and blob 9, the one before at 5 and 6");
  expect_refused(patched<std::uint32_t>(bytes, after_name, 4), "generation 4 comes after 4");
  const std::size_t earlier = after_name + 48 + 8 + 56 + 8;
  expect_refused(patched<std::uint32_t>(bytes, earlier, 2049), "it continues 2049 generations");
  expect_refused(patched<std::uint32_t>(bytes, earlier + 4, 0), "generation 0 comes after 0");
  expect_refused(patched<std::uint64_t>(bytes, earlier + 4 + 4 + 8, 7),
                 "generation 4 ends at object 5 and blob 6, the one before at 5 and 7");
  expect_refused(patched<std::uint64_t>(bytes, after_name + 40, 8),
                 "header and footer are blobs 0 and 8 of 8");
  EXPECT_THROW(read_counter(patched<std::uint32_t>(counter_bytes(1), 16, 0)), Error);
  EXPECT_THROW(read_generation_record(patched<std::uint32_t>(to_bytes(some_generation()), 16 + 4 + 6, 0)),
               Error);
  EXPECT_THROW(
      read_generation_record(patched<std::uint64_t>(to_bytes(some_generation()), 16 + 4 + 6 + 12, 2)), Error);
}

TEST(ObjectDirectory, EveryNumberLiesInOneGeneration) {
  // 2: objects 1 to 4, blobs 0 to 2; 4: blobs 3 to 5; 7: the others
  const AnchorRecord anchor = some_anchor();
  EXPECT_EQ(group_of_object(anchor, 1), 2u);
  EXPECT_EQ(group_of_object(anchor, 4), 2u);
  EXPECT_EQ(group_of_object(anchor, 5), 7u);
  EXPECT_EQ(group_of_blob(anchor, 0), 2u);
  EXPECT_EQ(group_of_blob(anchor, 2), 2u);
  EXPECT_EQ(group_of_blob(anchor, 3), 4u);
  EXPECT_EQ(group_of_blob(anchor, 5), 4u);
  EXPECT_EQ(group_of_blob(anchor, 6), 7u);
  EXPECT_EQ(part_of(anchor, 4), anchor.earlier[1]);
  EXPECT_EQ(part_of(anchor, 7), (EarlierGeneration{7, 1000, 9}));
  EXPECT_FALSE(part_of(anchor, 3));
  EXPECT_FALSE(part_of({.name = "removed"}, 0));
}

class DirectorySearch : public testing::Test {
 protected:
  void put(std::uint64_t place, std::uint64_t akey, const Bytes& bytes) {
    const io::UpdateItem item{.akey = akey, .parts = {bytes}};
    store_->update(directory_object, place, {&item, 1});
  }
  void put_anchor(std::uint64_t place, const std::string& name, std::uint32_t generation) {
    PlaceRecord record;
    if (generation != 0) record.anchor = some_anchor();
    record.anchor.name = name;
    record.anchor.generation = generation;
    record.anchor.earlier.clear();
    put(place, place_key, to_bytes(record));
  }

  TestStore test_;
  std::shared_ptr<io::ObjectStore> store_ = test_.open();
};

TEST_F(DirectorySearch, FindsWhatIsThere) {
  EXPECT_FALSE(find_anchor(*store_, "Events"));
  EXPECT_TRUE(list_anchors(*store_).empty());
  put_anchor(first_place_of("Events"), "Events", 1);
  put_anchor(first_place_of("A"), "A", 2);
  ASSERT_TRUE(find_anchor(*store_, "Events"));
  EXPECT_EQ(find_anchor(*store_, "Events")->generation, 1u);
  EXPECT_FALSE(find_anchor(*store_, "Event"));
  ASSERT_EQ(list_anchors(*store_).size(), 2u);
  EXPECT_EQ(list_anchors(*store_)[0].name, "A");
}

TEST_F(DirectorySearch, PassesPlacesOfOtherNames) {
  const std::uint64_t place = first_place_of("Events");
  put_anchor(place, "committed", 1);
  PlaceRecord claimed = some_place();
  claimed.anchor = {.name = "claimed"};
  put(next_place(place), place_key, to_bytes(claimed));
  put_anchor(next_place(next_place(place)), "removed", 0);
  const std::uint64_t last = next_place(next_place(next_place(place)));
  EXPECT_EQ(find_place(*store_, "Events").dkey, last);
  EXPECT_FALSE(find_anchor(*store_, "Events"));
  put_anchor(last, "Events", 2);
  EXPECT_EQ(find_anchor(*store_, "Events")->generation, 2u);
  EXPECT_EQ(list_anchors(*store_).size(), 2u);
}

TEST_F(DirectorySearch, ADamagedRecordIsNamedAndHidesNoOther) {
  put_anchor(first_place_of("Events"), "Events", 1);
  put(first_place_of("B"), place_key, Bytes(100));
  const Error error = error_of([&] { find_anchor(*store_, "B"); });
  EXPECT_THAT(error.problem(), HasSubstr("object 0:0"));
  EXPECT_THAT(error.problem(), HasSubstr("data set record"));
  EXPECT_EQ(error.context().uri, store_->uri());
  std::vector<std::string> problems;
  EXPECT_EQ(list_anchors(*store_, &problems).size(), 1u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(find_anchor(*store_, "Events"));
}

TEST(ObjectDirectory, PlacesNeverAreTheCounters) {
  EXPECT_NE(next_place(~std::uint64_t{0}), counter_place);
  EXPECT_NE(first_place_of("Events"), first_place_of("Events2"));
}

}  // namespace
}  // namespace colonnade::container
