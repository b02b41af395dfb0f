// C++'s conversions between numbers, and the names of types.
#include <gtest/gtest.h>

#include <type_traits>

#include "frame/functions/test_kernels.h"

namespace colonnade::frame {
namespace {

template <class A, class B>
void expect_common_of() {
  EXPECT_EQ(common_element(element_of<A>(), element_of<B>()), element_of<decltype(A{} + B{})>())
      << typeid(A).name() << " and " << typeid(B).name();
}

template <class A, class... B>
void expect_common() {
  (expect_common_of<A, B>(), ...);
  EXPECT_EQ(promoted(element_of<A>()), element_of<decltype(+A{})>()) << typeid(A).name();
}

template <class... T>
void expect_common_of_all() {
  (expect_common<T, T...>(), ...);
}

TEST(Promotion, IsThatOfCpp) {
  expect_common_of_all<bool, char, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                       std::uint32_t, std::int64_t, std::uint64_t, float, double>();
}

TEST(Conversion, IsImplicitBetweenNumbers) {
  EXPECT_NE(conversion(ElementType::float64, ElementType::boolean), nullptr);
  EXPECT_NE(conversion(ElementType::character, ElementType::uint64), nullptr);
  EXPECT_EQ(conversion(ElementType::int32, ValueType::string()), nullptr);
  EXPECT_EQ(conversion(ElementType::int32, ValueType::list(ElementType::int32)), nullptr);
  EXPECT_EQ(conversion(ElementType::int32, ElementType::index), nullptr);
  const ValueType point = ValueType::record("Point", {{"x", ElementType::float32}});
  EXPECT_NE(conversion(point, point), nullptr);
  EXPECT_EQ(conversion(point, ElementType::float32), nullptr);
}

TEST(Conversion, ReachesIntoLists) {
  const auto lists = calls::values_of<std::vector<std::vector<int>>>({{{1, 2}, {}}, {{-3}}});
  const ValueType type = ValueType::list(ValueType::list(ElementType::float32));
  const KernelPtr kernel = conversion(lists->type, type);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->result(), type);
  EXPECT_EQ(calls::rows_of<std::vector<std::vector<float>>>(*calls::run(*kernel, {lists}, 2)),
            (std::vector<std::vector<std::vector<float>>>{{{1, 2}, {}}, {{-3}}}));
  EXPECT_EQ(conversion(lists->type, ValueType::list(ElementType::float32)), nullptr);
}

TEST(Conversion, OfEqualTypesGivesTheValuesThemselves) {
  const auto texts = calls::values_of<std::string>({"a", "b"});
  EXPECT_EQ(calls::run(*conversion(texts->type, texts->type), {texts}, 2), texts);
}

TEST(Conversion, OfConstantsIsConstant) {
  const auto converted =
      calls::run(*conversion(ElementType::int32, ElementType::float64), {make_constant(7, 3)}, 7);
  EXPECT_TRUE(converted->constant);
  EXPECT_EQ(converted->size, 7u);
  EXPECT_EQ(*converted->as<double>(), 3.0);
}

void expect_type(std::initializer_list<const char*> names, const ValueType& type) {
  for (const char* name : names) {
    const auto found = type_of_name(name);
    ASSERT_TRUE(found.has_value()) << name;
    EXPECT_EQ(*found, type) << name << " is " << found->name();
  }
}

TEST(TypeNames, OfNumbers) {
  using enum ElementType;
  expect_type({"float", "Float_t", "const float&", "float const &", " float ", "Float16_t"}, float32);
  expect_type({"double", "Double_t", "Double32_t"}, float64);
  expect_type({"bool", "Bool_t", "const bool"}, boolean);
  expect_type({"char", "Char_t"}, character);
  expect_type({"signed char", "std::int8_t", "int8_t", "char signed"}, int8);
  expect_type({"unsigned char", "UChar_t", "uint8_t", "Byte_t"}, uint8);
  expect_type({"std::byte", "byte"}, byte);
  expect_type({"short", "short int", "Short_t", "int16_t", "signed short"}, int16);
  expect_type({"unsigned short", "UShort_t", "short unsigned int"}, uint16);
  expect_type({"int", "Int_t", "signed", "signed int", "std::int32_t"}, int32);
  expect_type({"unsigned", "unsigned int", "UInt_t", "uint32_t", "int unsigned"}, uint32);
  expect_type({"long", "long long", "Long64_t", "Long_t", "long int", "long long int", "std::ptrdiff_t"},
              int64);
  expect_type({"unsigned long", "ULong64_t", "unsigned long long", "std::size_t", "ULong_t", "long unsigned"},
              uint64);
}

TEST(TypeNames, OfListsAndStrings) {
  const ValueType floats = ValueType::list(ElementType::float32);
  expect_type(
      {"std::vector<float>", "vector<float>", "RVec<float>", "ROOT::RVec<float>", "ROOT::VecOps::RVec<float>",
       "ROOT::RVecF", "RVecF", "const ROOT::RVecF &", "std::vector<Float_t>", "std::span<const float>",
       "std::array<float, 3>", "std::vector<float, std::allocator<float>>", "VecOps::RVec<float>"},
      floats);
  expect_type({"RVecI", "ROOT::RVec<int>", "ROOT::VecOps::RVec< int >"}, ValueType::list(ElementType::int32));
  expect_type({"ROOT::RVecULL", "RVec<unsigned long long>"}, ValueType::list(ElementType::uint64));
  expect_type({"RVec<RVec<float>>", "std::vector<std::vector<float> >", "RVec<ROOT::RVecF>"},
              ValueType::list(floats));
  expect_type({"std::string", "string", "std::string_view", "const char*", "TString",
               "const ROOT::RDF::RSampleInfo&"},
              ValueType::string());
  expect_type({"std::vector<std::string>"}, ValueType::list(ValueType::string()));
}

TEST(TypeNames, ThatAreNone) {
  for (const char* name : {"",
                           "pt",
                           "long long long",
                           "unsigned signed",
                           "int int",
                           "short long",
                           "std::vector",
                           "vector<>",
                           "vector<foo>",
                           "vector<float",
                           "vector<float>>",
                           "float float",
                           "unsigned float",
                           "TH1D",
                           "map<int>",
                           "map<int, foo>",
                           "const",
                           "int*",
                           "<",
                           ">",
                           "constfloat",
                           "std::"})
    EXPECT_FALSE(type_of_name(name).has_value()) << name;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "vector<";
  EXPECT_FALSE(type_of_name(deep + "int" + std::string(100000, '>')).has_value());
}

TEST(TypeNames, AreUnderstoodAgain) {
  for (const ElementType element : {ElementType::boolean, ElementType::character, ElementType::byte,
                                    ElementType::int8, ElementType::uint64, ElementType::float32}) {
    const ValueType type = ValueType::list(ValueType::list(element));
    EXPECT_EQ(type_of_name(type.name()), type);
  }
}

}  // namespace
}  // namespace colonnade::frame
