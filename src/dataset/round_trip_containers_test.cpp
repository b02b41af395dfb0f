// Associative containers, products, variants, and deep nests of everything, through every way of writing and
// reading.
#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

template <class T>
struct Associative : ::testing::Test {};
using AssociativeTypes =
    ::testing::Types<std::set<int>, std::set<std::string>, std::unordered_set<std::uint64_t>,
                     std::multiset<std::int8_t>, std::unordered_multiset<std::string>, std::map<int, float>,
                     std::map<std::string, std::vector<bool>>, std::unordered_map<std::int16_t, std::string>,
                     std::multimap<bool, double>, std::unordered_multimap<std::string, std::optional<int>>>;
TYPED_TEST_SUITE(Associative, AssociativeTypes);
TYPED_TEST(Associative, ComesBackFromTinyPieces) {
  testing::expect_round_trip<TypeParam>();
}

template <class T>
struct Products : ::testing::Test {};
using ProductTypes = ::testing::Types<std::pair<bool, double>, std::pair<std::string, std::vector<int>>,
                                      std::tuple<int>, std::tuple<char, double, std::string, bool>,
                                      std::tuple<std::vector<float>, std::pair<int, Double32>>,
                                      std::variant<int>, std::variant<bool, std::string>,
                                      std::variant<std::vector<int>, double, std::pair<int, int>>,
                                      std::variant<std::variant<int, float>, std::optional<std::string>>>;
TYPED_TEST_SUITE(Products, ProductTypes);
TYPED_TEST(Products, ComeBackFromTinyPieces) {
  testing::expect_round_trip<TypeParam>();
}

template <class T>
struct Nests : ::testing::Test {};
using NestTypes =
    ::testing::Types<std::vector<std::vector<std::vector<std::vector<std::int16_t>>>>,
                     std::vector<std::array<std::vector<std::array<float, 2>>, 3>>,
                     std::map<std::string, std::map<int, std::vector<std::set<std::string>>>>,
                     std::vector<std::variant<std::vector<std::variant<int, std::string>>,
                                              std::map<int, std::optional<double>>>>,
                     std::optional<std::vector<std::optional<std::unique_ptr<std::string>>>>,
                     std::tuple<std::vector<std::tuple<int, std::vector<std::pair<bool, std::bitset<11>>>>>,
                                std::unique_ptr<std::array<RVec<bool>, 2>>>,
                     std::array<std::array<std::array<std::array<std::int8_t, 2>, 1>, 3>, 2>,
                     std::vector<std::unordered_map<std::string, std::multiset<int>>>>;
TYPED_TEST_SUITE(Nests, NestTypes);
TYPED_TEST(Nests, ComeBackFromTinyPieces) {
  testing::expect_round_trip<TypeParam>(testing::tiny_pieces(), 40);
}

}  // namespace
}  // namespace colonnade
