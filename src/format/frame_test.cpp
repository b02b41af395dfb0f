// Envelopes, frames, strings and feature flags, with one test per possible error.
#include "format/frame.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace colonnade::format {
namespace {

Bytes sample_envelope(std::size_t payload) {
  EnvelopeWriter writer(EnvelopeType::footer);
  for (std::size_t i = 0; i < payload; ++i) writer.out().le(static_cast<std::uint8_t>(i));
  std::uint64_t checksum = 0;
  return writer.finish(checksum);
}

// "kind: problem @offset" of the Error that `work` throws.
std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    const std::string at = error.context().offset ? fmt::format(" @{}", *error.context().offset) : "";
    return fmt::format("{}: {}{}", name_of(error.kind()), error.problem(), at);
  }
  return "no error";
}

std::string open_error(const Bytes& bytes) {
  return error_of([&] { open_envelope(bytes, EnvelopeType::footer); });
}

// The code paths of XXH3 differ by length: up to 16, 128, 240 and more bytes. Eight of them are the preamble.
TEST(Envelope, ChecksumsOfEveryLength) {
  for (std::size_t payload = 0; payload < 600; ++payload) {
    Bytes bytes = sample_envelope(payload);
    EXPECT_EQ(open_envelope(bytes, EnvelopeType::footer).payload.remaining(), payload);
    bytes[bytes.size() / 2] ^= std::byte{1};
    EXPECT_NE(open_error(bytes), "no error");
  }
}

TEST(Envelope, KnownChecksums) {
  EXPECT_EQ(xxh3({}), 0x2d06800538d394c2u);
  EXPECT_EQ(xxh3(as_bytes("a")), 0xe6c632b61e964e1fu);
}

TEST(Envelope, TooShort) {
  EXPECT_EQ(open_error(Bytes(15)), "format: footer: 15 bytes are too few for an envelope (at least 16) @0");
  EXPECT_EQ(open_error({}), "format: footer: 0 bytes are too few for an envelope (at least 16) @0");
}

TEST(Envelope, WrongType) {
  Bytes bytes = sample_envelope(10);
  bytes[0] = std::byte{1};
  EXPECT_EQ(open_error(bytes), "format: footer: envelope type is 0x01, not 0x02 @0");
}

TEST(Envelope, WrongLength) {
  Bytes bytes = sample_envelope(10);
  bytes[7] = std::byte{1};
  EXPECT_EQ(open_error(bytes), "format: footer: envelope says it has 1099511627802 bytes, but it has 26 @2");
}

TEST(Envelope, WrongChecksum) {
  Bytes bytes = sample_envelope(0);
  store_le(bytes.data() + 8, std::uint64_t{0x1234});
  EXPECT_EQ(open_error(bytes),
            fmt::format("checksum: footer: checksum is {:016x}, stored is 0000000000001234 @8",
                        xxh3(ByteSpan(bytes).first(8))));
}

TEST(Envelope, DamagedPayload) {
  Bytes bytes = sample_envelope(4);
  const auto stored = load_le<std::uint64_t>(bytes.data() + 12);
  bytes[9] ^= std::byte{4};
  EXPECT_EQ(open_error(bytes), fmt::format("checksum: footer: checksum is {:016x}, stored is {:016x} @12",
                                           xxh3(ByteSpan(bytes).first(12)), stored));
}

// A reader of `parts`, concatenated.
struct Input {
  ByteWriter out;
  ByteReader reader() { return ByteReader(out.view(), 100); }
};

std::string record_error(Input& input) {
  return error_of([&] {
    ByteReader reader = input.reader();
    read_record(reader, "thing");
  });
}

std::string list_error(Input& input, std::uint64_t item_bytes = 4) {
  return error_of([&] {
    ByteReader reader = input.reader();
    read_list(reader, item_bytes, "things");
  });
}

TEST(Frame, RecordIsSkippedByItsSize) {
  Input input;
  input.out.le(std::int64_t{12});
  input.out.le(std::uint32_t{7});
  input.out.le(std::uint8_t{42});
  ByteReader reader = input.reader();
  ByteReader record = read_record(reader, "thing");
  EXPECT_EQ(record.offset(), 108u);
  EXPECT_EQ(record.le<std::uint32_t>("thing"), 7u);
  EXPECT_EQ(record.remaining(), 0u);
  EXPECT_EQ(reader.le<std::uint8_t>("next"), 42u);
}

TEST(Frame, ListIsSkippedByItsSize) {
  Input input;
  input.out.le(std::int64_t{-20});
  input.out.le(std::uint32_t{2});
  input.out.le(std::uint64_t{0x0000000500000004});
  input.out.le(std::uint8_t{42});
  ByteReader reader = input.reader();
  ListFrame list = read_list(reader, 4, "things");
  EXPECT_EQ(list.items, 2u);
  EXPECT_EQ(list.payload.offset(), 112u);
  EXPECT_EQ(list.payload.le<std::uint32_t>("thing"), 4u);
  EXPECT_EQ(reader.le<std::uint8_t>("next"), 42u);
}

TEST(Frame, ListWhereARecordBelongs) {
  Input input;
  input.out.le(std::int64_t{-12});
  input.out.le(std::uint32_t{0});
  EXPECT_EQ(record_error(input), "format: thing: a list frame where a record frame belongs @100");
}

TEST(Frame, RecordWhereAListBelongs) {
  Input input;
  input.out.le(std::int64_t{12});
  input.out.le(std::uint32_t{0});
  EXPECT_EQ(list_error(input), "format: things: a record frame where a list frame belongs @100");
}

TEST(Frame, RecordSmallerThanItsOwnSize) {
  Input input;
  input.out.le(std::int64_t{7});
  EXPECT_EQ(record_error(input), "format: thing: frame of 7 bytes is smaller than its own start @100");
}

TEST(Frame, ListSmallerThanItsOwnStart) {
  Input input;
  input.out.le(std::int64_t{-11});
  input.out.le(std::uint32_t{0});
  EXPECT_EQ(list_error(input), "format: things: frame of 11 bytes is smaller than its own start @100");
}

TEST(Frame, RecordLargerThanWhatIsLeft) {
  Input input;
  input.out.le(std::int64_t{9});
  EXPECT_EQ(record_error(input), "format: thing: frame of 9 bytes, but only 8 are left @100");
}

TEST(Frame, SizeOfTheLowestInteger) {
  Input input;
  input.out.le(std::numeric_limits<std::int64_t>::min());
  input.out.le(std::uint32_t{0});
  EXPECT_EQ(list_error(input),
            "format: things: frame of 9223372036854775808 bytes, but only 12 are left @100");
}

TEST(Frame, SizeCutOff) {
  Input input;
  input.out.le(std::uint32_t{0});
  EXPECT_EQ(record_error(input), "format: thing needs 8 bytes, but only 4 are left @100");
}

TEST(Frame, MoreItemsThanFit) {
  Input input;
  input.out.le(std::int64_t{-20});
  input.out.le(std::uint32_t{3});
  input.out.le(std::uint64_t{0});
  EXPECT_EQ(list_error(input),
            "format: things: 3 items cannot fit into 8 bytes (each takes at least 4) @108");
}

std::string flags_error(std::initializer_list<std::uint64_t> words) {
  Input input;
  for (const std::uint64_t word : words) input.out.le(word);
  return error_of([&] {
    ByteReader reader = input.reader();
    read_feature_flags(reader, 1, "header");
  });
}

TEST(FeatureFlags, KnownBits) {
  EXPECT_EQ(flags_error({0}), "no error");
  EXPECT_EQ(flags_error({1}), "no error");
  EXPECT_EQ(flags_error({1 | std::uint64_t{1} << 63, std::uint64_t{1} << 63, 0}), "no error");
}

TEST(FeatureFlags, UnknownBitOfTheFirstWord) {
  EXPECT_EQ(flags_error({2}),
            "unsupported: header: feature flag 1 is set, a change of the format that this version does not "
            "know @100");
  EXPECT_EQ(flags_error({std::uint64_t{1} << 62}),
            "unsupported: header: feature flag 62 is set, a change of the format that this version does not "
            "know @100");
}

// ROOT's tests set flag 137, which is bit 11 of the third word.
TEST(FeatureFlags, UnknownBitOfALaterWord) {
  constexpr std::uint64_t more = std::uint64_t{1} << 63;
  EXPECT_EQ(flags_error({more, 1}),
            "unsupported: header: feature flag 63 is set, a change of the format that this version does not "
            "know @108");
  EXPECT_EQ(flags_error({more, more, 1 << 11}),
            "unsupported: header: feature flag 137 is set, a change of the format that this version does not "
            "know @116");
}

TEST(FeatureFlags, ChainCutOff) {
  EXPECT_EQ(flags_error({std::uint64_t{1} << 63}), "format: header needs 8 bytes, but only 0 are left @108");
}

}  // namespace
}  // namespace colonnade::format
