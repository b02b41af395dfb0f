// Common parts of all fields: paths, clones, values, encodings, text, types made from names, and their
// descriptors.
#include "colonnade/field.h"

#include <gtest/gtest.h>

#include "base/test_errors.h"
#include "colonnade/field_types.h"

namespace field_test {

struct Hit {
  float energy = 1.5f;
  std::vector<std::int16_t> cells = {1, 2};
};
struct Event {
  std::vector<Hit> hits = {Hit{}};
  std::string text = "a \"b\"\\\n";
  std::atomic<int> count{3};
};

}  // namespace field_test

namespace colonnade {
namespace {

using field_test::Event;

TEST(Field, PathsLeadThroughCollectionsWithAndWithoutTheirItem) {
  const auto event = make_field<Event>("event");
  ASSERT_NE(event->find("hits._0.energy"), nullptr);
  EXPECT_EQ(event->find("hits.energy"), event->find("hits._0.energy"));
  EXPECT_EQ(event->find("hits.cells._0"), event->find("hits._0.cells._0"));
  EXPECT_EQ(event->find(""), event.get());
  EXPECT_EQ(event->find("hits._0")->type_name(), "field_test::Hit");
  EXPECT_EQ(event->find("count._0")->type_name(), "std::int32_t");
  for (const char* wrong : {"hit", "hits.none", "hits..energy", ".hits", "text.a", "hits._1"})
    EXPECT_EQ(event->find(wrong), nullptr) << wrong;
}

TEST(Field, ClonesAreEqualAndIndependent) {
  const auto event = make_field<Event>("event");
  event->set_description("one");
  event->find("hits.energy")->set_half_precision();
  const auto copy = event->clone("copy");
  event->find("hits.energy")->set_truncated(12);
  EXPECT_EQ(copy->name(), "copy");
  EXPECT_EQ(copy->description(), "one");
  EXPECT_EQ(copy->type_name(), event->type_name());
  EXPECT_EQ(copy->find("hits.energy")->encodings(true)[0].type, ColumnType::real16);
  EXPECT_EQ(event->find("hits.energy")->encodings(true)[0].bits, 12);
}

TEST(Field, ValuesOutliveTheirField) {
  for (const char* type :
       {"std::vector<std::map<std::string,std::optional<std::string>>>",
        "std::variant<std::string,std::vector<bool>>",
        "std::tuple<std::string,std::unique_ptr<std::string>,std::array<std::string,3>>"}) {
    auto field = make_field("x", type);
    const auto value = field->make_value();
    field.reset();
  }
  const auto value = make_field<Event>("x")->make_value();
  EXPECT_EQ(static_cast<Event*>(value.get())->count, 3);
}

TEST(Field, TextIsLikeJson) {
  const auto text = []<class T>(const T& value) { return to_text(*make_field<T>("x"), &value); };
  EXPECT_EQ(text(Event().text), R"("a \"b\"\\\u000a")");
  const auto field = make_field<Event>("x");
  EXPECT_EQ(to_text(*field, field->make_value().get()),
            R"({"hits": [{"energy": 1.5, "cells": [1, 2]}], "text": "a \"b\"\\\u000a", "count": 3})");
  EXPECT_EQ(text(std::pair<int, bool>(1, true)), "[1, true]");
  EXPECT_EQ(text(std::map<std::string, float>{{"a", 0.5f}}), R"([["a", 0.5]])");
  EXPECT_EQ(text(std::bitset<4>("0101")), "\"0101\"");
  EXPECT_EQ(text(std::optional<int>()), "null");
  EXPECT_EQ(text(std::optional<std::vector<int>>(std::vector<int>())), "[]");
  EXPECT_EQ(text(std::variant<int, std::string>("x")), "\"x\"");
  EXPECT_EQ(text(char('q')), "\"q\"");
  EXPECT_EQ(text(std::byte{200}), "200");
  EXPECT_EQ(text(std::int8_t{-7}), "-7");
  EXPECT_EQ(text(std::uint64_t{18446744073709551615u}), "18446744073709551615");
  EXPECT_EQ(text(std::array<std::array<int, 1>, 2>{{{1}, {2}}}), "[[1], [2]]");
}

TEST(Field, DefaultEncodingsDependOnCompression) {
  const std::tuple<const char*, ColumnType, ColumnType> cases[] = {
      {"bool", ColumnType::bit, ColumnType::bit},
      {"std::byte", ColumnType::byte, ColumnType::byte},
      {"char", ColumnType::character, ColumnType::character},
      {"std::int8_t", ColumnType::int8, ColumnType::int8},
      {"std::uint8_t", ColumnType::uint8, ColumnType::uint8},
      {"std::int16_t", ColumnType::int16, ColumnType::split_int16},
      {"std::uint16_t", ColumnType::uint16, ColumnType::split_uint16},
      {"std::int32_t", ColumnType::int32, ColumnType::split_int32},
      {"std::uint32_t", ColumnType::uint32, ColumnType::split_uint32},
      {"std::int64_t", ColumnType::int64, ColumnType::split_int64},
      {"std::uint64_t", ColumnType::uint64, ColumnType::split_uint64},
      {"float", ColumnType::real32, ColumnType::split_real32},
      {"double", ColumnType::real64, ColumnType::split_real64},
      {"Double32_t", ColumnType::split_real32, ColumnType::split_real32},
      {"std::vector<float>", ColumnType::index64, ColumnType::split_index64},
      {"std::string", ColumnType::index64, ColumnType::split_index64},
      {"std::optional<float>", ColumnType::index64, ColumnType::split_index64},
      {"std::variant<int,float>", ColumnType::switch_, ColumnType::switch_},
      {"std::bitset<3>", ColumnType::bit, ColumnType::bit}};
  for (const auto& [type, plain, compressed] : cases) {
    const auto field = make_field("x", type);
    EXPECT_EQ(field->encodings(false)[0].type, plain) << type;
    EXPECT_EQ(field->encodings(true)[0].type, compressed) << type;
    EXPECT_EQ(field->encodings(true).size(), field->column_count());
  }
  EXPECT_EQ(make_field("x", "std::string")->encodings(true)[1].type, ColumnType::character);
  EXPECT_EQ(make_field("x", "std::pair<int,float>")->column_count(), 0u);
  EXPECT_EQ(make_field("x", "std::array<int,3>")->column_count(), 0u);
}

TEST(Field, NamesThatAreNoStorableTypesAreRefused) {
  const auto problem = [](const char* type) {
    const Error error = error_of([&] { make_field("x", type); });
    EXPECT_EQ(error.kind(), ErrorKind::type) << type;
    EXPECT_EQ(error.context().field, "x") << type;
    return error.problem();
  };
  EXPECT_EQ(problem("Track"), "'Track' is not a type that can be made from its name");
  EXPECT_EQ(problem("std::vector<ns::Track>"), "'ns::Track' is not a type that can be made from its name");
  for (const char* type : {"",
                           " ",
                           "std::vector",
                           "std::vector<>",
                           "std::vector<int",
                           "std::vector<int>>",
                           "int>",
                           "std::array<int>",
                           "std::array<int,0>",
                           "std::array<int,-1>",
                           "std::bitset<0>",
                           "std::pair<int>",
                           "std::map<int>",
                           "std::list<int>",
                           "std::tuple<>",
                           "std::variant<>",
                           "void",
                           "int*",
                           "float&",
                           "long double",
                           "std::vector<int,int,int>"})
    problem(type);
  const Error large =
      error_of([] { make_field("x", "std::array<std::array<std::int64_t,1000000>,1000000>"); });
  EXPECT_EQ(large.kind(), ErrorKind::resource);
  EXPECT_EQ(
      large.problem(),
      "an array of 1000000 items of 8000000 bytes is larger than 64 MiB, the most that a value may have");
  EXPECT_EQ(error_of([] { make_field("x", "std::array<double,18446744073709551615>"); }).kind(),
            ErrorKind::resource);
  EXPECT_EQ(error_of([] { make_field("x", "std::bitset<18446744073709551615>"); }).kind(),
            ErrorKind::resource);
}

TEST(Field, SpellingsOfTypesAreNormalised) {
  const std::pair<const char*, const char*> cases[] = {
      {"int", "std::int32_t"},
      {"unsigned long long", "std::uint64_t"},
      {"vector<vector< short > >", "std::vector<std::vector<std::int16_t>>"},
      {"std::map< std::string , float >", "std::map<std::string,float>"},
      {"Double32_t", "double"},
      {"RVec<bool>", "ROOT::VecOps::RVec<bool>"}};
  for (const auto& [given, expected] : cases) EXPECT_EQ(make_field("x", given)->type_name(), expected);
  EXPECT_EQ(make_field("x", "std::vector<Double32_t>")->type_alias(), "std::vector<Double32_t>");
}

TEST(Field, ByNameValuesHaveTheLayoutOfTheStandardTypes) {
  const auto check = []<class T>(std::type_identity<T>) {
    const auto typed = make_field<T>("x");
    const auto named = make_field("x", typed->type_name());
    EXPECT_EQ(named->value_size(), sizeof(T)) << typed->type_name();
    EXPECT_EQ(named->alignment(), alignof(T)) << typed->type_name();
    EXPECT_TRUE(named->is_native());
    T value{};
    EXPECT_EQ(to_text(*named, &value), to_text(*typed, &value));
  };
  using std::type_identity;
  check(type_identity<std::pair<char, std::pair<double, bool>>>());
  check(type_identity<std::tuple<char, double, std::string, bool>>());
  check(type_identity<std::tuple<bool, std::tuple<char, int>, std::int64_t>>());
  check(type_identity<std::optional<std::pair<double, char>>>());
  check(type_identity<std::optional<std::string>>());
  check(type_identity<std::variant<char, std::pair<double, char>, std::string>>());
  check(type_identity<std::variant<bool, char>>());
  check(type_identity<std::array<std::optional<std::int16_t>, 3>>());
  check(type_identity<std::bitset<1>>());
  check(type_identity<std::bitset<65>>());
  check(type_identity<std::unique_ptr<std::vector<bool>>>());
  check(type_identity<std::vector<std::tuple<int, char>>>());
  EXPECT_FALSE(make_field("x", "std::set<int>")->is_native());
  EXPECT_FALSE(make_field("x", "std::vector<std::map<int,int>>")->is_native());
  EXPECT_TRUE(make_field<std::set<int>>("x")->is_native());
}

TEST(Field, DescribesItselfDepthFirst) {
  const auto event = make_field<Event>("event");
  const auto id = make_field<int>("id");
  Descriptor d;
  Field::describe({event.get(), id.get()}, d, true, 0);
  std::vector<std::string> paths;
  for (const FieldDescriptor& field : d.fields) paths.push_back(d.path_of(field.id));
  EXPECT_EQ(paths, (std::vector<std::string>{"event", "event.hits", "event.hits._0", "event.hits._0.energy",
                                             "event.hits._0.cells", "event.hits._0.cells._0", "event.text",
                                             "event.count", "event.count._0", "id"}));
  std::vector<std::string> columns;
  for (const ColumnDescriptor& column : d.columns) {
    columns.push_back(d.path_of(column.field) + " " + std::string(name_of(column.encoding.type)));
    EXPECT_FALSE(column.deferred);
  }
  EXPECT_EQ(columns,
            (std::vector<std::string>{"event.hits SplitIndex64", "event.hits._0.energy SplitReal32",
                                      "event.hits._0.cells SplitIndex64", "event.hits._0.cells._0 SplitInt16",
                                      "event.text SplitIndex64", "event.text Char",
                                      "event.count._0 SplitInt32", "id SplitInt32"}));
}

TEST(Field, DescribesLateColumnsAsDeferred) {
  const auto field = make_field(
      "x", "std::tuple<std::string,std::array<std::pair<int,std::vector<float>>,3>,std::variant<int,float>>");
  Descriptor d;
  Field::describe({field.get()}, d, true, 100);
  std::vector<std::uint64_t> first;
  for (const ColumnDescriptor& column : d.columns) {
    EXPECT_EQ(column.deferred, column.first_element > 0);
    first.push_back(column.first_element);
  }
  // Text and its characters; the array's numbers, its lists and their items; the variant and its
  // alternatives.
  EXPECT_EQ(first, (std::vector<std::uint64_t>{100, 0, 300, 300, 0, 100, 0, 0}));
}

}  // namespace
}  // namespace colonnade
