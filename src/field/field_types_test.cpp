// make_field<T>: the structure of the fields of C++ types, and the operations by which fields make and fill
// values.
#include "colonnade/field_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "colonnade/error.h"

namespace {

using colonnade::Cardinality;
using colonnade::Double32;
using colonnade::ElementType;
using colonnade::Error;
using colonnade::ErrorKind;
using colonnade::Field;
using colonnade::FieldKind;
using colonnade::make_field;
using colonnade::RVec;

// A field as text: "name type [alias] kind xN {children}", for whole trees in one comparison.
std::string shape(const Field& field) {
  static constexpr std::array<const char*, 10> kinds = {"scalar",  "string",     "collection", "nullable",
                                                        "array",   "bitset",     "record",     "variant",
                                                        "wrapper", "cardinality"};
  std::string text = field.name() + " " + field.type_name();
  if (!field.type_alias().empty()) text += " (" + field.type_alias() + ")";
  text += std::string(" ") + kinds[static_cast<std::size_t>(field.kind())];
  if (field.array_size() > 0) text += " x" + std::to_string(field.array_size());
  if (field.children().empty()) return text;
  text += " {";
  for (const auto& child : field.children()) text += (text.back() == '{' ? "" : "; ") + shape(*child);
  return text + "}";
}
template <class T>
std::string shape_of() {
  return shape(*make_field<T>("f"));
}
template <class T>
std::string type_of() {
  return make_field<T>("f")->type_name();
}

}  // namespace

namespace types_test {

enum class Color : std::uint8_t { red, green = 200 };
enum Unscoped { low = -5, high = 70000 };
enum class Flag : bool { off, on };
enum class Letter : char { a = 'a' };

struct Point {
  float x = 1;
  double y = 2;
  std::int32_t z = 3;
};

struct Arrays {
  std::int32_t values[3] = {1, 2, 3};
  float matrix[2][3] = {};
  std::array<Point, 2> corners;
};

template <class T, int N>
struct Grid {
  std::array<T, N> cells{};
};

struct Outer {
  struct Inner {
    Color color = Color::green;
  };
  std::vector<Inner> inners;
};

struct Empty {};

// Bases without values of their own, private members, members that are left out.
class Object {
 public:
  virtual ~Object() = default;
  virtual int rank() const = 0;
  std::int64_t id() const { return id_; }

 protected:
  Object() = default;

 private:
  std::int64_t id_ = 17;
  COLONNADE_DESCRIBE(Object, (), id_)
};
struct Weighted {
  float weight = 0.5f;
};
class Track : public Object, public Weighted {
 public:
  int rank() const override { return 1; }
  const std::vector<Point>& hits() const { return hits_; }

 private:
  std::vector<Point> hits_{Point{}};
  std::string scratch_;
  friend struct colonnade::Describe<Track>;
};

struct Polar {
  float radius = 0;
  float angle = 0;
  float x = 0;
};

struct Counters {
  std::atomic<std::int32_t> hits{7};
  std::vector<std::atomic<bool>> seen;
};

}  // namespace types_test

template <>
struct colonnade::Describe<types_test::Track> {
  static constexpr auto bases = colonnade::bases<types_test::Object, types_test::Weighted>;
  static constexpr auto members = [](auto&& member) { member("hits", &types_test::Track::hits_); };
  static constexpr std::uint32_t version = 4;
};

template <>
struct colonnade::ReadRule<types_test::Polar> {
  struct Source {
    float x = 0;
    float y = 0;
  };
  static void apply(const Source& stored, types_test::Polar& polar) {
    polar.radius = stored.x * stored.x + stored.y * stored.y;
  }
  static constexpr std::string_view source_class = "types_test::Cartesian";
  static constexpr std::uint32_t max_version = 2;
};

namespace {

using namespace types_test;

// ---- Structure

TEST(FieldTypes, ScalarsHaveTheNamesOfTheFormat) {
  EXPECT_EQ(type_of<bool>(), "bool");
  EXPECT_EQ(type_of<char>(), "char");
  EXPECT_EQ(type_of<std::byte>(), "std::byte");
  EXPECT_EQ(type_of<float>(), "float");
  EXPECT_EQ(type_of<double>(), "double");
  EXPECT_EQ(type_of<std::int8_t>(), "std::int8_t");
  EXPECT_EQ(type_of<std::uint8_t>(), "std::uint8_t");
  EXPECT_EQ(type_of<std::string>(), "std::string");
}

TEST(FieldTypes, IntegersGoBySizeAndSign) {
  EXPECT_EQ(type_of<signed char>(), "std::int8_t");
  EXPECT_EQ(type_of<unsigned char>(), "std::uint8_t");
  EXPECT_EQ(type_of<short>(), "std::int16_t");
  EXPECT_EQ(type_of<unsigned short>(), "std::uint16_t");
  EXPECT_EQ(type_of<int>(), "std::int32_t");
  EXPECT_EQ(type_of<unsigned>(), "std::uint32_t");
  EXPECT_EQ(type_of<long>(), "std::int64_t");
  EXPECT_EQ(type_of<unsigned long>(), "std::uint64_t");
  EXPECT_EQ(type_of<long long>(), "std::int64_t");
  EXPECT_EQ(type_of<unsigned long long>(), "std::uint64_t");
}

TEST(FieldTypes, ScalarsHaveOneColumnOfTheirElements) {
  const auto check = []<class T>(std::type_identity<T>, ElementType element) {
    const auto field = make_field<T>("f");
    ASSERT_EQ(field->column_count(), 1u) << field->type_name();
    EXPECT_EQ(field->element(0), element) << field->type_name();
    EXPECT_EQ(field->value_size(), sizeof(T)) << field->type_name();
    EXPECT_EQ(field->alignment(), alignof(T)) << field->type_name();
  };
  check(std::type_identity<bool>(), ElementType::boolean);
  check(std::type_identity<char>(), ElementType::character);
  check(std::type_identity<std::byte>(), ElementType::byte);
  check(std::type_identity<std::int8_t>(), ElementType::int8);
  check(std::type_identity<std::uint16_t>(), ElementType::uint16);
  check(std::type_identity<long long>(), ElementType::int64);
  check(std::type_identity<float>(), ElementType::float32);
  check(std::type_identity<Double32>(), ElementType::float64);
}

TEST(FieldTypes, EnumerationsWrapTheirUnderlyingType) {
  EXPECT_EQ(shape_of<Color>(), "f types_test::Color wrapper {_0 std::uint8_t scalar}");
  EXPECT_EQ(shape_of<Unscoped>(), "f types_test::Unscoped wrapper {_0 std::int32_t scalar}");
  EXPECT_EQ(shape_of<Flag>(), "f types_test::Flag wrapper {_0 bool scalar}");
  EXPECT_EQ(shape_of<Letter>(), "f types_test::Letter wrapper {_0 char scalar}");
}

TEST(FieldTypes, Containers) {
  EXPECT_EQ(shape_of<std::vector<float>>(), "f std::vector<float> collection {_0 float scalar}");
  EXPECT_EQ(shape_of<std::vector<bool>>(), "f std::vector<bool> collection {_0 bool scalar}");
  EXPECT_EQ(shape_of<RVec<float>>(), "f ROOT::VecOps::RVec<float> collection {_0 float scalar}");
  EXPECT_EQ(shape_of<RVec<bool>>(), "f ROOT::VecOps::RVec<bool> collection {_0 bool scalar}");
  EXPECT_EQ(shape_of<std::set<std::string>>(), "f std::set<std::string> collection {_0 std::string string}");
  EXPECT_EQ(type_of<std::multiset<int>>(), "std::multiset<std::int32_t>");
  EXPECT_EQ(type_of<std::unordered_set<long>>(), "std::unordered_set<std::int64_t>");
  EXPECT_EQ(type_of<std::unordered_multiset<char>>(), "std::unordered_multiset<char>");
  EXPECT_EQ((shape_of<std::map<int, float>>()),
            "f std::map<std::int32_t,float> collection {_0 std::pair<std::int32_t,float> record "
            "{_0 std::int32_t scalar; _1 float scalar}}");
  EXPECT_EQ((type_of<std::multimap<int, float>>()), "std::multimap<std::int32_t,float>");
  EXPECT_EQ((type_of<std::unordered_map<std::string, bool>>()), "std::unordered_map<std::string,bool>");
  EXPECT_EQ((type_of<std::unordered_multimap<int, int>>()),
            "std::unordered_multimap<std::int32_t,std::int32_t>");
}

TEST(FieldTypes, OrderHashAndAllocatorAreNoPartOfTheType) {
  struct Longer {
    bool operator()(const std::string& a, const std::string& b) const { return a.size() > b.size(); }
  };
  struct Length {
    std::size_t operator()(const std::string& text) const { return text.size(); }
  };
  EXPECT_EQ((type_of<std::set<int, std::greater<>>>()), "std::set<std::int32_t>");
  EXPECT_EQ((type_of<std::map<std::string, int, Longer>>()), "std::map<std::string,std::int32_t>");
  EXPECT_EQ((type_of<std::unordered_set<std::string, Length>>()), "std::unordered_set<std::string>");
}

TEST(FieldTypes, OneOrNone) {
  EXPECT_EQ(shape_of<std::optional<float>>(), "f std::optional<float> nullable {_0 float scalar}");
  EXPECT_EQ(shape_of<std::unique_ptr<std::string>>(),
            "f std::unique_ptr<std::string> nullable {_0 std::string string}");
}

TEST(FieldTypes, FixedSizes) {
  EXPECT_EQ(shape_of<std::bitset<9>>(), "f std::bitset<9> bitset x9");
  EXPECT_EQ((shape_of<std::array<float, 3>>()), "f std::array<float,3> array x3 {_0 float scalar}");
  EXPECT_EQ(shape_of<bool[2][3]>(),
            "f std::array<std::array<bool,3>,2> array x2 {_0 std::array<bool,3> array x3 {_0 bool scalar}}");
  EXPECT_EQ(shape_of<std::atomic<unsigned>>(),
            "f std::atomic<std::uint32_t> wrapper {_0 std::uint32_t scalar}");
}

TEST(FieldTypes, PairsTuplesVariants) {
  EXPECT_EQ((shape_of<std::pair<char, std::string>>()),
            "f std::pair<char,std::string> record {_0 char scalar; _1 std::string string}");
  EXPECT_EQ((shape_of<std::tuple<char, double, bool>>()),
            "f std::tuple<char,double,bool> record {_0 char scalar; _1 double scalar; _2 bool scalar}");
  EXPECT_EQ((shape_of<std::variant<int, std::vector<int>>>()),
            "f std::variant<std::int32_t,std::vector<std::int32_t>> variant {_0 std::int32_t scalar; "
            "_1 std::vector<std::int32_t> collection {_0 std::int32_t scalar}}");
}

TEST(FieldTypes, Double32IsADoubleWithAnAliasAtAnyDepth) {
  EXPECT_EQ(shape_of<Double32>(), "f double (Double32_t) scalar");
  EXPECT_EQ((shape_of<std::vector<std::array<Double32, 2>>>()),
            "f std::vector<std::array<double,2>> (std::vector<std::array<Double32_t,2>>) collection "
            "{_0 std::array<double,2> (std::array<Double32_t,2>) array x2 {_0 double (Double32_t) scalar}}");
}

TEST(FieldTypes, CardinalityNamesItsWidth) {
  EXPECT_EQ(shape_of<Cardinality<std::uint32_t>>(), "f ROOT::RNTupleCardinality<std::uint32_t> cardinality");
  EXPECT_EQ(shape_of<Cardinality<std::uint64_t>>(), "f ROOT::RNTupleCardinality<std::uint64_t> cardinality");
  EXPECT_EQ(make_field<Cardinality<std::uint32_t>>("f")->value_size(), 4u);
}

TEST(FieldTypes, AggregatesNeedNoDescription) {
  EXPECT_EQ(shape_of<Point>(),
            "f types_test::Point record {x float scalar; y double scalar; z std::int32_t scalar}");
  EXPECT_EQ((shape_of<Grid<Point, 2>>()),
            "f types_test::Grid<types_test::Point,2> record {cells std::array<types_test::Point,2> array x2 "
            "{_0 types_test::Point record {x float scalar; y double scalar; z std::int32_t scalar}}}");
  EXPECT_EQ(
      shape_of<Outer>(),
      "f types_test::Outer record {inners std::vector<types_test::Outer::Inner> collection "
      "{_0 types_test::Outer::Inner record {color types_test::Color wrapper {_0 std::uint8_t scalar}}}}");
  EXPECT_EQ(shape_of<Empty>(), "f types_test::Empty record");
  const auto arrays = make_field<Arrays>("f");
  EXPECT_EQ(arrays->child("values")->type_name(), "std::array<std::int32_t,3>");
  EXPECT_EQ(arrays->child("matrix")->type_name(), "std::array<std::array<float,3>,2>");
  EXPECT_EQ(arrays->value_size(), sizeof(Arrays));
  EXPECT_EQ(arrays->alignment(), alignof(Arrays));
}

TEST(FieldTypes, DescribedClassesHaveBasesMembersAndVersion) {
  const auto field = make_field<Track>("f");
  EXPECT_EQ(shape(*field),
            "f types_test::Track record {:_0 types_test::Object record {id_ std::int64_t scalar}; "
            ":_1 types_test::Weighted record {weight float scalar}; "
            "hits std::vector<types_test::Point> collection {_0 types_test::Point record "
            "{x float scalar; y double scalar; z std::int32_t scalar}}}");
  EXPECT_EQ(field->type_version(), 4u);
  EXPECT_EQ(field->value_size(), sizeof(Track));
}

// A type known by name has the same structure, and so the same form in a file.
TEST(FieldTypes, TypesByNameHaveTheSameStructure) {
  const auto check = []<class T>(std::type_identity<T>, std::string_view name) {
    const auto mine = make_field<T>("f");
    const auto named = colonnade::make_field("f", name);
    EXPECT_EQ(shape(*mine), shape(*named));
    EXPECT_EQ(mine->encodings(true), named->encodings(true)) << name;
    EXPECT_EQ(mine->encodings(false), named->encodings(false)) << name;
  };
  check(std::type_identity<unsigned long>(), "unsigned long");
  check(std::type_identity<std::string>(), "std::string");
  check(std::type_identity<std::vector<Double32>>(), "std::vector<Double32_t>");
  check(std::type_identity<RVec<std::vector<bool>>>(), "ROOT::RVec<std::vector<bool>>");
  check(std::type_identity<std::map<int, std::set<std::string>>>(), "std::map<int,std::set<std::string>>");
  check(std::type_identity<std::variant<int, std::pair<float, char>, std::tuple<bool>>>(),
        "std::variant<int,std::pair<float,char>,std::tuple<bool>>");
  check(std::type_identity<std::optional<std::bitset<70>>>(), "std::optional<std::bitset<70>>");
  check(std::type_identity<std::unique_ptr<std::atomic<char>>>(), "std::unique_ptr<std::atomic<char>>");
  check(std::type_identity<float[2][3]>(), "float[2][3]");
  check(std::type_identity<Cardinality<std::uint64_t>>(), "ROOT::RNTupleCardinality<std::uint64_t>");
}

// ---- Values

TEST(FieldTypes, ValuesAreDefaultConstructed) {
  const auto field = make_field<std::pair<Point, std::vector<int>>>("f");
  const auto value = std::static_pointer_cast<std::pair<Point, std::vector<int>>>(field->make_value());
  EXPECT_EQ(value->first.x, 1);
  EXPECT_EQ(value->first.z, 3);
  EXPECT_TRUE(value->second.empty());
  const auto track = std::static_pointer_cast<Track>(make_field<Track>("f")->make_value());
  EXPECT_EQ(track->id(), 17);
  EXPECT_EQ(track->rank(), 1);
  EXPECT_EQ(track->hits().size(), 1u);
}

TEST(FieldTypes, ValuesAreDestroyed) {
  struct Counted {
    std::shared_ptr<int> kept;
  };
  auto witness = std::make_shared<int>(1);
  const auto ops = colonnade::detail::value_ops<Counted>();
  alignas(Counted) std::byte memory[sizeof(Counted)];
  ops.construct(memory);
  reinterpret_cast<Counted*>(memory)->kept = witness;
  EXPECT_EQ(witness.use_count(), 2);
  ops.destroy(memory);
  EXPECT_EQ(witness.use_count(), 1);
}

// Fields print values through the same offsets and operations with which they store them: errors show here.
template <class T>
std::string text_of(const T& value) {
  return colonnade::to_text(*make_field<T>("f"), &value);
}

TEST(FieldTypes, MembersAreFoundWhereTheyAre) {
  EXPECT_EQ(text_of(Point{4.5f, -2.25, 9}), R"({"x": 4.5, "y": -2.25, "z": 9})");
  EXPECT_EQ((text_of(std::pair<char, double>('c', 1.5))), R"(["c", 1.5])");
  EXPECT_EQ((text_of(std::tuple<char, double, bool, std::string>('c', 1.5, true, "s"))),
            R"(["c", 1.5, true, "s"])");
  EXPECT_EQ((text_of(std::tuple<Empty, int, Empty, std::vector<int>>({}, 5, {}, {6}))), "[{}, 5, {}, [6]]");
  EXPECT_EQ(text_of(Track()),
            R"({":_0": {"id_": 17}, ":_1": {"weight": 0.5}, "hits": [{"x": 1, "y": 2, "z": 3}]})");
  int matrix[2][2] = {{1, 2}, {3, 4}};
  EXPECT_EQ(colonnade::to_text(*make_field<int[2][2]>("f"), &matrix), "[[1, 2], [3, 4]]");
}

TEST(FieldTypes, WrappersAndBitsGiveTheirValues) {
  EXPECT_EQ(text_of(Color::green), "200");
  EXPECT_EQ(text_of(Unscoped::high), "70000");
  EXPECT_EQ(text_of(Flag::on), "true");
  const std::atomic<std::int16_t> number(-3);
  EXPECT_EQ(text_of(number), "-3");
  EXPECT_EQ(text_of(std::bitset<4>(0b0101)), R"("0101")");
  EXPECT_EQ((text_of(std::variant<int, std::string>("text"))), R"("text")");
  EXPECT_EQ(text_of(Double32(1.5)), "1.5");
}

TEST(FieldTypes, ClonesShareTheLayout) {
  const auto field = make_field<std::map<int, std::variant<Point, std::optional<Color>>>>("f");
  const auto clone = field->clone("g");
  EXPECT_EQ(shape(*clone), "g" + shape(*field).substr(1));
  const std::map<int, std::variant<Point, std::optional<Color>>> value{{3, Point{}},
                                                                       {5, std::optional(Color::green)}};
  EXPECT_EQ(colonnade::to_text(*clone, &value), R"([[3, {"x": 1, "y": 2, "z": 3}], [5, 200]])");
}

// ---- Containers through their proxies

template <class C>
auto proxy_of() {
  if constexpr (std::is_base_of_v<std::vector<bool>, C>) {
    return colonnade::detail::shared_proxy<colonnade::detail::BitVectorProxy<C>>();
  } else {
    return colonnade::detail::shared_proxy<colonnade::detail::VectorProxy<C>>();
  }
}

TEST(FieldTypes, ProxiesAreSharedByAllFieldsOfAType) {
  EXPECT_EQ(proxy_of<std::vector<int>>(), proxy_of<std::vector<int>>());
}

TEST(FieldTypes, VectorsHandOutTheirMemory) {
  const auto proxy = proxy_of<RVec<int>>();
  RVec<int> items{1, 2, 3};
  EXPECT_TRUE(proxy->is_contiguous());
  EXPECT_EQ(proxy->size(&items), 3u);
  EXPECT_EQ(proxy->data(&items), items.data());
  void* const moved = proxy->resize(&items, 5);
  EXPECT_EQ(moved, items.data());
  EXPECT_EQ(items, (RVec<int>{1, 2, 3, 0, 0}));
  proxy->resize(&items, 1);
  EXPECT_EQ(items, RVec<int>{1});
}

TEST(FieldTypes, VectorsOfItemsThatCannotMoveAreRenewed) {
  const auto proxy = proxy_of<std::vector<std::atomic<int>>>();
  std::vector<std::atomic<int>> items(2);
  void* const renewed = proxy->resize(&items, 4);
  EXPECT_EQ(renewed, items.data());
  EXPECT_EQ(items.size(), 4u);
  EXPECT_EQ(type_of<Counters>(), "types_test::Counters");
}

TEST(FieldTypes, VectorsOfBoolGoBitByBit) {
  const auto proxy = proxy_of<std::vector<bool>>();
  std::vector<bool> bits{true, false, true};
  EXPECT_FALSE(proxy->is_contiguous());
  std::string seen;
  proxy->for_each(&bits, [&](const void* item) { seen += *static_cast<const bool*>(item) ? '1' : '0'; });
  EXPECT_EQ(seen, "101");
  proxy->clear(&bits);
  bool bit = true;
  proxy->insert(&bits, &bit);
  EXPECT_EQ(bits, std::vector<bool>{true});
}

TEST(FieldTypes, MapsTakeAndGivePairs) {
  using Map = std::unordered_multimap<std::string, std::unique_ptr<int>>;
  using Item = std::pair<std::string, std::unique_ptr<int>>;
  const auto proxy = colonnade::detail::shared_proxy<colonnade::detail::AssociativeProxy<Map, Item>>();
  Map map;
  for (int i = 0; i < 2; ++i) {
    Item item("key", std::make_unique<int>(i));
    proxy->insert(&map, &item);
    EXPECT_EQ(item.second, nullptr);
  }
  EXPECT_EQ(proxy->size(&map), 2u);
  std::vector<int> seen;
  proxy->for_each(&map, [&](const void* item) {
    EXPECT_EQ(static_cast<const Item*>(item)->first, "key");
    seen.push_back(*static_cast<const Item*>(item)->second);
  });
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<int>{0, 1}));
  proxy->clear(&map);
  EXPECT_TRUE(map.empty());
}

TEST(FieldTypes, OptionalValuesHoldNoneOrOne) {
  const auto proxy =
      colonnade::detail::shared_proxy<colonnade::detail::OptionalProxy<std::optional<std::string>>>();
  std::optional<std::string> value;
  EXPECT_EQ(proxy->size(&value), 0u);
  EXPECT_EQ(proxy->data(&value), nullptr);
  ASSERT_NE(proxy->resize(&value, 1), nullptr);
  *value = "kept";
  void* const same = proxy->resize(&value, 1);
  EXPECT_EQ(same, &*value);
  EXPECT_EQ(*value, "kept");
  proxy->resize(&value, 0);
  EXPECT_FALSE(value.has_value());
}

TEST(FieldTypes, PointersHoldNoneOrOne) {
  using Pointer = std::unique_ptr<Point>;
  const auto proxy = colonnade::detail::shared_proxy<colonnade::detail::PointerProxy<Pointer>>();
  Pointer value;
  EXPECT_EQ(proxy->size(&value), 0u);
  EXPECT_EQ(proxy->data(&value), nullptr);
  void* first = proxy->resize(&value, 1);
  EXPECT_EQ(first, value.get());
  EXPECT_EQ(value->z, 3);
  EXPECT_EQ(proxy->resize(&value, 1), first);
  proxy->resize(&value, 0);
  EXPECT_EQ(value, nullptr);
  try {
    proxy->resize(&value, 2);
    FAIL() << "two items in a unique_ptr";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::conversion);
    EXPECT_EQ(error.problem(), "an optional value cannot hold 2 items");
  }
}

// ---- Variants

template <class... T>
using Access = colonnade::detail::VariantAccess<T...>;

TEST(FieldTypes, VariantsChangeTheirAlternative) {
  using A = Access<int, std::string, int>;
  std::variant<int, std::string, int> value = "text";
  EXPECT_EQ(A::active(&value), 1);
  EXPECT_EQ(A::get(&value, 1), &std::get<1>(value));
  void* const inner = A::emplace(&value, 2);
  EXPECT_EQ(inner, &std::get<2>(value));
  EXPECT_EQ(A::active(&value), 2);
  EXPECT_EQ(std::get<2>(value), 0);
}

TEST(FieldTypes, VariantsOfMovableAlternativesBecomeValueless) {
  using A = Access<int, std::map<int, int>>;
  for (const bool map_first : {false, true}) {
    std::variant<int, std::map<int, int>> value = 5;
    if (map_first) value = std::map<int, int>{{1, 2}};
    A::reset(&value);
    EXPECT_TRUE(value.valueless_by_exception());
    EXPECT_EQ(A::active(&value), -1);
    A::reset(&value);  // a second call has no effect
    A::emplace(&value, 1);
    EXPECT_EQ(value.index(), 1u);
  }
}

TEST(FieldTypes, TrivialVariantsLoseTheirValueToo) {
  const auto check = []<class... T>(std::type_identity<std::variant<T...>>) {
    using A = Access<T...>;
    std::variant<T...> value(std::in_place_index<sizeof...(T) - 1>);
    A::reset(&value);
    EXPECT_EQ(A::active(&value), -1);
    EXPECT_EQ(std::get_if<0>(&value), nullptr);
    std::variant<T...> copy = value;
    EXPECT_EQ(A::active(&copy), -1);
    A::emplace(&value, 0);
    EXPECT_EQ(value.index(), 0u);
    EXPECT_EQ(*std::get_if<0>(&value), (std::variant_alternative_t<0, std::variant<T...>>()));
  };
  check(std::type_identity<std::variant<int, float>>());
  check(std::type_identity<std::variant<char>>());
  check(std::type_identity<std::variant<char, std::array<char, 7>, double>>());
  check(std::type_identity<std::variant<std::array<short, 9>, std::int64_t, char>>());
  check(std::type_identity<std::variant<std::array<char, 300>, int>>());
}

TEST(FieldTypes, VariantsThatAlwaysHaveAValueSaySo) {
  using A = Access<int, std::string>;
  std::variant<int, std::string> value = "kept";
  try {
    A::reset(&value);
    EXPECT_TRUE(value.valueless_by_exception()) << "a library whose variants can lose any value";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::conversion);
    EXPECT_EQ(std::get<std::string>(value), "kept");
  }
}

// ---- Read rules

TEST(FieldTypes, ReadRulesReadTheirSourceByMemberNames) {
  const auto rule = colonnade::detail::read_rule<Polar>();
  ASSERT_NE(rule, nullptr);
  const auto hook = (*rule)();
  EXPECT_EQ(shape(*hook.source), "  record {x float scalar; y float scalar}");
  EXPECT_EQ(hook.source_class, "types_test::Cartesian");
  EXPECT_EQ(hook.min_version, 0u);
  EXPECT_EQ(hook.max_version, 2u);
  const auto source = hook.source->make_value();
  *static_cast<float*>(source.get()) = 3;
  Polar polar;
  hook.apply(source.get(), &polar);
  EXPECT_EQ(polar.radius, 9);
  EXPECT_EQ(colonnade::detail::read_rule<Point>(), nullptr);
}

// ---- The types of types.h

TEST(Types, Double32IsUsedLikeADouble) {
  Double32 number = 1.5;
  number += 1;
  EXPECT_EQ(number, 2.5);
  EXPECT_EQ(2 * number, 5.0);
  const Double32 other = number;
  EXPECT_TRUE(number == other);
  EXPECT_FALSE(number < other);
  EXPECT_EQ((std::set<Double32>{2.0, 1.0, 2.0}.size()), 2u);
  EXPECT_EQ((std::unordered_set<Double32>{2.0, 1.0, 2.0}.size()), 2u);
}

TEST(Types, RVecIsAVector) {
  RVec<int> items(3, 7);
  std::vector<int>& plain = items;
  plain.push_back(8);
  EXPECT_EQ(items, (RVec<int>{7, 7, 7, 8}));
}

TEST(Types, CardinalityIsANumber) {
  const Cardinality<std::uint32_t> count = 5;
  EXPECT_EQ(count + 1, 6u);
}

}  // namespace
