// Reading into another type than the stored one: the whole matrix of numbers, by name, with the exact errors;
// the matrix of collections; nullables, products, wrappers. docs/schema-evolution.md has the tables that are
// tested here.
#include <cstdint>

#include "dataset/test_round_trip.h"

namespace colonnade {
namespace {

using testing::error_of;
using testing::MemoryFile;
__extension__ using Wide = __int128;

struct Number {
  std::string_view type;
  std::string_view element;  // the name in error messages
  int bits;                  // 1: bool
  bool is_signed;
  bool is_real = false;

  Wide min() const { return is_signed ? -(Wide{1} << (bits - 1)) : 0; }
  Wide max() const { return (Wide{1} << (bits - (is_signed ? 1 : 0))) - 1; }
};
constexpr Number integers[] = {{"bool", "boolean", 1, false},       {"char", "char", 8, true},
                               {"std::int8_t", "int8", 8, true},    {"std::uint8_t", "uint8", 8, false},
                               {"std::int16_t", "int16", 16, true}, {"std::uint16_t", "uint16", 16, false},
                               {"std::int32_t", "int32", 32, true}, {"std::uint32_t", "uint32", 32, false},
                               {"std::int64_t", "int64", 64, true}, {"std::uint64_t", "uint64", 64, false}};

std::string text_of(Wide value) {
  return value < 0 ? std::to_string(static_cast<std::int64_t>(value))
                   : std::to_string(static_cast<std::uint64_t>(value));
}

// One data set with a field "x" of a type known by name; each value is the low bytes of a number.
void write_numbers(const std::string& uri, const Number& type, const std::vector<Wide>& values) {
  auto model = Model::create();
  auto x = model->make_field("x", type.type);
  auto writer = Writer::recreate(std::move(model), "Data", uri);
  for (const Wide value : values) {
    std::memcpy(x.get(), &value, static_cast<std::size_t>((type.bits + 7) / 8));
    writer->fill();
    writer->commit_cluster();
  }
  writer->close();
}

Wide number_at(const Number& type, const void* memory) {
  std::uint64_t raw = 0;
  const int bytes = (type.bits + 7) / 8;
  std::memcpy(&raw, memory, static_cast<std::size_t>(bytes));
  if (!type.is_signed) return raw;
  const int unused = 64 - 8 * bytes;
  return static_cast<std::int64_t>(raw << unused) >> unused;
}

TEST(Conversion, IntegersAreReadIntoEveryIntegerThatCanHoldThem) {
  for (const Number& from : integers) {
    std::vector<Wide> values;
    for (const Wide value :
         {from.min(), Wide{-1}, Wide{0}, Wide{1}, Wide{100}, Wide{200}, Wide{40000}, from.max()})
      if (value >= from.min() && value <= from.max()) values.push_back(value);
    const MemoryFile file;
    write_numbers(file, from, values);
    auto reader = Reader::open("Data", file);
    for (const Number& to : integers) {
      auto view = reader->view("x", to.type);
      for (std::size_t i = 0; i < values.size(); ++i) {
        SCOPED_TRACE(std::string(from.type) + " " + text_of(values[i]) + " as " + std::string(to.type));
        if (to.bits == 1) {
          EXPECT_EQ(*static_cast<const bool*>(view(i)), values[i] != 0);
        } else if (values[i] >= to.min() && values[i] <= to.max()) {
          EXPECT_TRUE(number_at(to, view(i)) == values[i]);
        } else {
          const Error error = error_of([&] { view(i); });
          EXPECT_EQ(error.kind(), ErrorKind::conversion);
          EXPECT_EQ(error.problem(), "element 0 of the page is " + text_of(values[i]) + ", which " +
                                         std::string(to.element) + " (" + text_of(to.min()) + " to " +
                                         text_of(to.max()) + ") cannot hold");
          EXPECT_EQ(error.advice(), "read into a wider type");
          EXPECT_EQ(error.context().field, "x");
          EXPECT_EQ(error.context().cluster, i);
          EXPECT_EQ(error.context().page, 0u);
        }
      }
    }
  }
}

TEST(Conversion, NumbersOfOtherKindsAreRefused) {
  for (const Number& from : integers) {
    const MemoryFile file;
    write_numbers(file, from, {1});
    auto reader = Reader::open("Data", file);
    for (const char* to :
         {"float", "double", "Double32_t", "std::byte", "std::string", "std::vector<std::int32_t>",
          "std::bitset<1>", "std::pair<std::int32_t,std::int32_t>", "std::variant<std::int32_t>"}) {
      const Error error = error_of([&] { reader->view("x", to); });
      EXPECT_EQ(error.kind(), ErrorKind::type) << from.type << " as " << to;
      const std::string named = std::string(to) == "Double32_t" ? "double" : to;
      EXPECT_EQ(error.problem(), named + " cannot be read from the stored type " + std::string(from.type));
    }
  }
}

// Writes one value of type From and reads it as type To.
template <class From, class To, class Check>
void convert(const From& value, Check&& check) {
  const MemoryFile file;
  auto model = Model::create();
  auto x = model->make_field<From>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file);
  auto entry = writer->make_entry();
  entry->bind("x", const_cast<From*>(&value));
  for (int i = 0; i < 3; ++i) writer->fill(*entry);
  writer->commit_cluster();
  writer->fill(*entry);
  writer->close();
  auto reader = Reader::open("Data", file);
  auto view = reader->template view<To>("x");
  for (const std::uint64_t i : {3u, 0u, 2u}) check(view(i));
  auto imposed_model = Model::create();
  auto imposed = imposed_model->template make_field<To>("x");
  auto imposing = Reader::open(std::move(imposed_model), "Data", file);
  imposing->load_entry(1);
  check(*imposed);
}
template <class From, class To>
void expect_reads(const From& value, const To& expected) {
  SCOPED_TRACE(make_field<From>("x")->type_name() + " as " + make_field<To>("x")->type_name());
  convert<From, To>(value, [&](const To& read) { EXPECT_TRUE(testing::same(read, expected)); });
}
template <class From, class To>
Error refusal(const From& value) {
  return error_of([&] { convert<From, To>(value, [](const To&) { ADD_FAILURE() << "it was read"; }); });
}

TEST(Conversion, FloatsAndDoublesConvert) {
  expect_reads<float, double>(0.1f, static_cast<double>(0.1f));
  expect_reads<double, float>(0.1, 0.1f);
  expect_reads<float, Double32>(0.1f, static_cast<double>(0.1f));
  expect_reads<Double32, float>(0.5, 0.5f);
  expect_reads<double, float>(std::numeric_limits<double>::infinity(),
                              std::numeric_limits<float>::infinity());
  convert<double, float>(std::nan(""), [](float read) { EXPECT_TRUE(std::isnan(read)); });
  expect_reads<double, float>(1e-300, 0.f);
  const Error error = refusal<double, float>(1e300);
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.problem(),
            "element 0 of the page is 1e+300, which float32 (-3.4028235e+38 to 3.4028235e+38) cannot hold");
  EXPECT_EQ((refusal<float, int>(1.f)).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<double, std::byte>(1.0)).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::byte, int>(std::byte{1})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::byte, std::uint8_t>(std::byte{1})).kind(), ErrorKind::type);
}

enum class Colour : std::uint8_t { red, green = 7 };
enum class Shade : std::int64_t { dark = 7 };
enum Old { some = 300 };

TEST(Conversion, EnumsReadFromEnumsAndIntegers) {
  expect_reads<Colour, std::uint8_t>(Colour::green, 7);
  expect_reads<Colour, std::int64_t>(Colour::green, 7);
  expect_reads<std::int32_t, Shade>(7, Shade::dark);
  expect_reads<std::int32_t, Colour>(7, Colour::green);
  expect_reads<Colour, Shade>(Colour::green, Shade::dark);
  EXPECT_EQ((refusal<Old, Colour>(some)).kind(), ErrorKind::conversion);
  EXPECT_EQ((refusal<float, Colour>(1.f)).kind(), ErrorKind::type);
  expect_reads<std::vector<Colour>, std::vector<int>>({Colour::green}, {7});
}

TEST(Conversion, AtomicsReadLikeTheirValue) {
  std::atomic<int> stored{5};
  convert<std::atomic<int>, int>(stored, [](int read) { EXPECT_EQ(read, 5); });
  convert<std::atomic<int>, std::int64_t>(stored, [](std::int64_t read) { EXPECT_EQ(read, 5); });
  convert<int, std::atomic<int>>(6, [](const std::atomic<int>& read) { EXPECT_EQ(read.load(), 6); });
  convert<float, std::atomic<double>>(0.5f,
                                      [](const std::atomic<double>& read) { EXPECT_EQ(read.load(), 0.5); });
  convert<std::atomic<int>, std::atomic<short>>(
      stored, [](const std::atomic<short>& read) { EXPECT_EQ(read.load(), 5); });
  convert<std::atomic<int>, std::optional<int>>(stored, [](std::optional<int> read) { EXPECT_EQ(read, 5); });
}

TEST(Conversion, ValuesReadAsNullables) {
  expect_reads<int, std::optional<int>>(3, 3);
  expect_reads<int, std::optional<std::int64_t>>(3, 3);
  expect_reads<std::string, std::optional<std::string>>("text", "text");
  expect_reads<std::vector<int>, std::optional<std::vector<int>>>({1, 2}, std::vector<int>{1, 2});
  expect_reads<std::array<int, 2>, std::optional<std::array<int, 2>>>({1, 2}, std::array<int, 2>{1, 2});
  expect_reads<std::pair<int, float>, std::optional<std::pair<std::int64_t, double>>>(
      {1, 0.5f}, std::pair<std::int64_t, double>{1, 0.5});
  expect_reads<std::set<int>, std::optional<std::vector<bool>>>({0, 2}, std::vector<bool>{false, true});
  expect_reads<std::optional<int>, std::multiset<int>>(9, {9});
  expect_reads<std::vector<int>, std::vector<std::optional<int>>>({1, 2}, {1, 2});
  convert<int, std::unique_ptr<int>>(4, [](const std::unique_ptr<int>& read) {
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, 4);
  });
  std::unique_ptr<int> none;
  convert<std::unique_ptr<int>, std::optional<std::int64_t>>(
      none, [](const std::optional<std::int64_t>& read) { EXPECT_FALSE(read); });
  convert<std::optional<int>, std::unique_ptr<short>>(9, [](const std::unique_ptr<short>& read) {
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, 9);
  });
  expect_reads<std::optional<int>, std::vector<int>>(9, {9});
  expect_reads<std::optional<int>, std::vector<int>>(std::nullopt, {});
  EXPECT_EQ((refusal<std::optional<int>, int>(3)).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::vector<int>, std::optional<int>>({3})).kind(), ErrorKind::type);
}

TEST(Conversion, PairsAndTuplesOfEqualLengthConvert) {
  using std::pair;
  using std::tuple;
  expect_reads<pair<int, float>, tuple<std::int64_t, double>>({1, 0.5f}, {1, 0.5});
  expect_reads<tuple<int, float>, pair<std::int64_t, double>>({1, 0.5f}, {1, 0.5});
  expect_reads<tuple<int, std::string, bool>, tuple<short, std::string, int>>({1, "a", true}, {1, "a", 1});
  EXPECT_EQ((refusal<tuple<int, int, int>, pair<int, int>>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<pair<int, int>, tuple<int>>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<pair<int, int>, pair<int, std::string>>({})).kind(), ErrorKind::type);
}

TEST(Conversion, VariantsKeepTheirAlternativesButConvertInside) {
  using Stored = std::variant<int, std::string>;
  expect_reads<Stored, std::variant<std::int64_t, std::string>>("text", "text");
  expect_reads<Stored, std::variant<std::int64_t, std::string>>(5, std::int64_t{5});
  EXPECT_EQ((refusal<Stored, std::variant<int>>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<Stored, std::variant<int, std::string, float>>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<Stored, std::variant<std::string, int>>({})).kind(), ErrorKind::type);
}

TEST(Conversion, ArraysAndBitsetsNeedTheirSize) {
  expect_reads<std::array<int, 2>, std::array<std::int64_t, 2>>({1, 2}, {1, 2});
  const Error error = refusal<std::array<int, 2>, std::array<int, 3>>({1, 2});
  EXPECT_EQ(error.problem(),
            "std::array<std::int32_t,3> cannot be read from the stored type std::array<std::int32_t,2> (the "
            "sizes differ)");
  EXPECT_EQ((refusal<std::bitset<3>, std::bitset<4>>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::vector<int>, std::array<int, 1>>({})).kind(), ErrorKind::type);
  expect_reads<std::array<int, 2>, std::vector<std::int64_t>>({1, 2}, {1, 2});
  expect_reads<std::array<int, 2>, RVec<int>>({1, 2}, {1, 2});
  expect_reads<std::array<int, 3>, std::multiset<int>>({2, 1, 2}, {1, 2, 2});
  expect_reads<std::vector<std::array<bool, 2>>, std::vector<std::vector<bool>>>({{true, false}},
                                                                                 {{true, false}});
  EXPECT_EQ((refusal<std::array<int, 3>, std::set<int>>({})).kind(), ErrorKind::type);
}

TEST(Conversion, OptionalListsTakeOptionalValuesAsLists) {
  using Lists = std::optional<std::vector<std::int64_t>>;
  expect_reads<std::optional<int>, Lists>(5, std::vector<std::int64_t>{5});
  expect_reads<std::optional<int>, Lists>(std::nullopt, std::vector<std::int64_t>{});
  expect_reads<std::optional<std::vector<int>>, Lists>(std::nullopt, std::nullopt);
  EXPECT_EQ((refusal<std::optional<std::string>, std::optional<std::vector<char>>>("a")).kind(),
            ErrorKind::type);
}

TEST(Conversion, TextOnlyReadsAsText) {
  EXPECT_EQ((refusal<std::string, std::vector<char>>("a")).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::vector<char>, std::string>({'a'})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::string, int>("a")).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::string, Cardinality<std::uint32_t>>("a")).kind(), ErrorKind::type);
}

// The matrix of collections: a row per stored type, a column per type in memory.
struct Family {
  const char* pattern;
  enum Takes { everything, unique, nullables } takes;
  enum Is { sequence, array, unique_items, many_items, nullable } is;
};
constexpr Family families[] = {{"std::vector<#>", Family::everything, Family::sequence},
                               {"ROOT::VecOps::RVec<#>", Family::everything, Family::sequence},
                               {"std::set<#>", Family::unique, Family::unique_items},
                               {"std::unordered_set<#>", Family::unique, Family::unique_items},
                               {"std::multiset<#>", Family::everything, Family::many_items},
                               {"std::unordered_multiset<#>", Family::everything, Family::many_items},
                               {"std::optional<#>", Family::nullables, Family::nullable},
                               {"std::unique_ptr<#>", Family::nullables, Family::nullable},
                               {"std::array<#,1>", Family::nullables, Family::array}};

std::string with_item(std::string_view pattern, std::string_view item) {
  std::string text(pattern);
  return text.replace(text.find('#'), 1, item);
}

bool is_taken(const Family& memory, const Family& stored) {
  if (memory.is == Family::array) return stored.is == Family::array;
  switch (memory.takes) {
    case Family::everything:
      return true;
    case Family::unique:
      return stored.is == Family::unique_items;
    case Family::nullables:
      return stored.is == Family::nullable;
  }
  return false;
}

void expect_collection_matrix(const std::string& item, const std::string& other_item,
                              const std::string& text) {
  for (const Family& stored : families) {
    const MemoryFile file;
    auto model = Model::create();
    const std::string stored_type = with_item(stored.pattern, item);
    model->make_field("x", stored_type);
    Writer::recreate(std::move(model), "Data", file)->close();
    // One item, as arrays: every family can hold that.
    auto reader = Reader::open("Data", file);
    auto again = Model::create();
    again->make_field("x", stored_type);
    auto writer = Writer::recreate(std::move(again), "Data", file);
    const std::vector<std::int64_t> ends = {0, 1};
    const std::vector<std::int32_t> ints = {7};
    const std::vector<float> floats = {0.5f};
    std::vector<NamedArray> arrays;
    if (stored.is != Family::array) arrays.push_back({"x", ArrayView::offsets(ends)});
    if (item.starts_with("std::pair")) {
      arrays.push_back({"x._0._0", ints});
      arrays.push_back({"x._0._1", floats});
    } else {
      arrays.push_back({"x._0", ints});
    }
    writer->append(arrays);
    writer->close();
    reader = Reader::open("Data", file);
    for (const Family& memory : families) {
      const std::string type = with_item(memory.pattern, other_item);
      SCOPED_TRACE(stored_type + " as " + type);
      if (is_taken(memory, stored)) {
        auto view = reader->view("x", type);
        EXPECT_EQ(view.text(0), memory.is == Family::nullable ? text : "[" + text + "]");
      } else if (memory.is == Family::nullable) {
        EXPECT_EQ(error_of([&] { reader->view("x", type); }).kind(), ErrorKind::type);
      } else {
        const Error error = error_of([&] { reader->view("x", type); });
        EXPECT_EQ(error.kind(), ErrorKind::type);
        EXPECT_EQ(error.problem().find(type + " cannot be read from the stored type " + stored_type), 0u)
            << error.problem();
      }
    }
  }
}

TEST(Conversion, CollectionsReadAsThoseThatCanHoldThem) {
  expect_collection_matrix("std::int32_t", "std::int32_t", "7");
  expect_collection_matrix("std::int32_t", "std::int64_t", "7");
  expect_collection_matrix("std::pair<std::int32_t,float>", "std::tuple<std::int64_t,double>", "[7, 0.5]");
}

TEST(Conversion, ItemsThatBecomeEqualAreNotDropped) {
  const Error error = refusal<std::set<int>, std::set<bool>>({1, 2, 3});
  EXPECT_EQ(error.kind(), ErrorKind::conversion);
  EXPECT_EQ(error.problem(), "3 different items became 1 as std::set<bool>");
  EXPECT_EQ((refusal<std::unordered_set<double>, std::set<float>>({1, 1 + 1e-12})).kind(),
            ErrorKind::conversion);
  EXPECT_EQ((refusal<std::map<double, int>, std::unordered_map<float, int>>({{1, 1}, {1 + 1e-12, 2}})).kind(),
            ErrorKind::conversion);
}

TEST(Conversion, MapsAreCollectionsOfPairs) {
  using Map = std::map<int, float>;
  const Map stored = {{1, 0.5f}, {2, 1.5f}};
  expect_reads<Map, std::map<std::int64_t, double>>(stored, {{1, 0.5}, {2, 1.5}});
  expect_reads<Map, std::unordered_map<int, float>>(stored, {{1, 0.5f}, {2, 1.5f}});
  expect_reads<Map, std::multimap<int, float>>(stored, {{1, 0.5f}, {2, 1.5f}});
  expect_reads<Map, std::vector<std::pair<int, float>>>(stored, {{1, 0.5f}, {2, 1.5f}});
  expect_reads<Map, std::set<std::pair<int, double>>>(stored, {{1, 0.5}, {2, 1.5}});
  expect_reads<Map, std::vector<std::tuple<short, float>>>(stored, {{1, 0.5f}, {2, 1.5f}});
  expect_reads<std::vector<std::pair<int, float>>, std::multimap<int, float>>({{2, 1.f}, {1, 1.f}, {2, 2.f}},
                                                                              {{1, 1.f}, {2, 1.f}, {2, 2.f}});
  expect_reads<std::vector<std::tuple<int, float>>, std::unordered_multimap<int, float>>(
      {{2, 1.f}, {2, 1.f}}, {{2, 1.f}, {2, 1.f}});
  EXPECT_EQ((refusal<std::vector<std::pair<int, float>>, Map>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::multimap<int, float>, Map>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::set<std::pair<int, float>>, Map>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<Map, std::set<int>>({})).kind(), ErrorKind::type);
  EXPECT_EQ((refusal<std::vector<int>, std::multimap<int, float>>({})).kind(), ErrorKind::type);
}

TEST(Conversion, WorksAtEveryDepth) {
  expect_reads<std::map<int, std::vector<std::pair<bool, std::array<float, 2>>>>,
               std::vector<std::tuple<std::int64_t, RVec<std::tuple<int, std::vector<double>>>>>>(
      {{4, {{true, {0.5f, 1.5f}}}}, {5, {}}}, {{4, {{1, {0.5, 1.5}}}}, {5, {}}});
}

TEST(Conversion, ANarrowingErrorInOnePageLeavesTheOthersReadable) {
  const MemoryFile file;
  auto model = Model::create();
  auto x = model->make_field<std::int32_t>("x");
  auto writer = Writer::recreate(std::move(model), "Data", file, testing::tiny_pieces());
  for (int i = 0; i < 64; ++i) {
    *x = i == 20 ? 1000 : i;
    writer->fill();
  }
  writer->close();
  auto reader = Reader::open("Data", file);
  auto view = reader->view<std::int8_t>("x");
  EXPECT_EQ(view(15), 15);
  const Error error = error_of([&] { view(16); });
  EXPECT_EQ(error.problem(), "element 4 of the page is 1000, which int8 (-128 to 127) cannot hold");
  EXPECT_EQ(error.context().page, 1u);
  EXPECT_EQ(view(32), 32);
  EXPECT_EQ(view(15), 15);
  EXPECT_THROW(view(31), Error);
  EXPECT_THROW(view.bulk(10, 30), Error);
  EXPECT_EQ(view.bulk(40, 20)[19], 59);
}

}  // namespace
}  // namespace colonnade
