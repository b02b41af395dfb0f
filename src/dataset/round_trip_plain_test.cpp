// Every plain type, and the containers of plain types, through every way of writing and reading.
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

enum class Small : std::uint8_t { a, b };
enum class Signed : std::int64_t { a = -1 };
enum Plain { first, second };

template <class T>
struct PlainTypes : ::testing::Test {};
using Plains =
    ::testing::Types<bool, char, std::byte, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                     std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double, Double32,
                     std::string, std::bitset<1>, std::bitset<9>, std::bitset<64>, std::bitset<70>>;
TYPED_TEST_SUITE(PlainTypes, Plains);
TYPED_TEST(PlainTypes, ComeBackFromTinyPieces) {
  testing::expect_round_trip<TypeParam>();
}
TYPED_TEST(PlainTypes, ComeBackUncompressed) {
  testing::expect_round_trip<TypeParam>({.compression = "none"}, 100);
}

template <class T>
struct WrappedTypes : ::testing::Test {};
using Wrapped = ::testing::Types<std::atomic<bool>, std::atomic<int>, std::atomic<double>>;
TYPED_TEST_SUITE(WrappedTypes, Wrapped);
TYPED_TEST(WrappedTypes, ComeBackFromTinyPieces) {
  testing::expect_round_trip<TypeParam>();
}

TEST(Enums, ComeBackFromTinyPieces) {
  testing::expect_round_trip<Small>(testing::tiny_pieces(), 30, false);
  testing::expect_round_trip<Signed>(testing::tiny_pieces(), 30, false);
  testing::expect_round_trip<std::vector<Plain>>(testing::tiny_pieces(), 30, false);
  testing::expect_round_trip<std::atomic<Small>>(testing::tiny_pieces(), 30, false);
}

template <class T>
struct Sequences : ::testing::Test {};
using SequenceTypes =
    ::testing::Types<std::vector<bool>, std::vector<char>, std::vector<std::byte>, std::vector<std::int16_t>,
                     std::vector<double>, std::vector<Double32>, std::vector<std::string>,
                     std::vector<std::bitset<5>>, RVec<bool>, RVec<float>, RVec<std::string>,
                     std::array<bool, 3>, std::array<float, 4>, std::array<std::string, 2>,
                     std::array<std::bitset<3>, 2>, std::optional<bool>, std::optional<std::int16_t>,
                     std::optional<std::string>, std::unique_ptr<double>, std::unique_ptr<std::string>,
                     std::vector<std::atomic<int>>>;
TYPED_TEST_SUITE(Sequences, SequenceTypes);
TYPED_TEST(Sequences, ComeBackFromTinyPieces) {
  testing::expect_round_trip<TypeParam>();
}

TEST(Scalars, NotANumberKeepsItsBits) {
  const testing::MemoryFile file;
  std::deque<double> values;
  for (std::uint64_t payload : {0x7ff8000000000001u, 0xfff8000000000002u, 0x7ff0000000000001u})
    values.push_back(std::bit_cast<double>(payload));
  testing::write_values(file.uri(), values, {});
  testing::expect_typed(file.uri(), values);
}

}  // namespace
}  // namespace colonnade
