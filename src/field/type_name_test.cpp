// Tests of the type-name parser and normaliser. The expected names are those that ROOT 6.40 gives for the
// same spelling; where this library accepts more than ROOT, the test says so.
#include "field/type_name.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/error.h"

namespace colonnade::field {
namespace {

struct Row {
  std::string_view text;
  std::string_view name;
  std::string_view alias = "";
};

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const NormalizedName result = normalize(row.text);
    EXPECT_EQ(result.name, row.name);
    EXPECT_EQ(result.alias, row.alias);
    EXPECT_EQ(normalize(result.name).name, row.name) << "normalised names must stay as they are";
    EXPECT_EQ(to_string(result.type), row.name);
  }
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string problem_of(std::string_view text) {
  try {
    return "accepted as " + normalize(text).name;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::schema);
    return error.problem();
  }
}

TEST(TypeName, IntegersBecomeStandardTypedefs) {
  expect_rows({
      {"int", "std::int32_t"},
      {"signed", "std::int32_t"},
      {"unsigned", "std::uint32_t"},
      {"unsigned int", "std::uint32_t"},
      {"int unsigned", "std::uint32_t"},
      {"long", "std::int64_t"},
      {"long int", "std::int64_t"},
      {"unsigned long", "std::uint64_t"},
      {"long long", "std::int64_t"},
      {"signed long long int", "std::int64_t"},
      {"long long unsigned int", "std::uint64_t"},
      {"long unsigned int long", "std::uint64_t"},
      {"short", "std::int16_t"},
      {"short int", "std::int16_t"},
      {"unsigned short", "std::uint16_t"},
      {"signed char", "std::int8_t"},
      {"unsigned char", "std::uint8_t"},
      {"char", "char"},
      {"int8_t", "std::int8_t"},
      {"std::int32_t", "std::int32_t"},
      {"uint64_t", "std::uint64_t"},
  });
}

TEST(TypeName, OtherFundamentalTypesStay) {
  expect_rows({
      {"bool", "bool"},
      {"float", "float"},
      {"double", "double"},
      {"long double", "long double"},
      {"byte", "std::byte"},
      {"std::byte", "std::byte"},
      {"wchar_t", "wchar_t"},
  });
}

TEST(TypeName, TypedefsOfRootAreResolvedAndForgotten) {
  expect_rows({
      {"Bool_t", "bool"},
      {"Char_t", "char"},
      {"UChar_t", "std::uint8_t"},
      {"Short_t", "std::int16_t"},
      {"UShort_t", "std::uint16_t"},
      {"Int_t", "std::int32_t"},
      {"UInt_t", "std::uint32_t"},
      {"Long_t", "std::int64_t"},
      {"ULong_t", "std::uint64_t"},
      {"Long64_t", "std::int64_t"},
      {"ULong64_t", "std::uint64_t"},
      {"Float_t", "float"},
      {"Double_t", "double"},
      {"std::vector<Long64_t>", "std::vector<std::int64_t>"},
  });
}

TEST(TypeName, OtherTypedefsAreResolvedAndRemembered) {
  expect_rows({
      {"Double32_t", "double", "Double32_t"},
      {"const Double32_t", "double", "Double32_t"},
      {"vector<Double32_t>", "std::vector<double>", "std::vector<Double32_t>"},
      {"std::array<std::array<Double32_t, 3>,2>", "std::array<std::array<double,3>,2>",
       "std::array<std::array<Double32_t,3>,2>"},
      {"Double32_t[3]", "std::array<double,3>", "std::array<Double32_t,3>"},
      {"ns::Vec<Double32_t,3>", "ns::Vec<double,3>", "ns::Vec<Double32_t,3>"},
      {"W<int>::In<Double32_t>", "W<std::int32_t>::In<double>", "W<std::int32_t>::In<Double32_t>"},
      {"size_t", "std::uint64_t", "size_t"},
      {"std::size_t", "std::uint64_t", "std::size_t"},
      {"ssize_t", "std::int64_t", "ssize_t"},
      {"ptrdiff_t", "std::int64_t", "ptrdiff_t"},
      {"ROOT::RVecF", "ROOT::VecOps::RVec<float>", "ROOT::RVecF"},
      {"ROOT::RVecD", "ROOT::VecOps::RVec<double>", "ROOT::RVecD"},
      {"ROOT::RVecI", "ROOT::VecOps::RVec<std::int32_t>", "ROOT::RVecI"},
      {"std::atomic_int", "std::atomic<std::int32_t>", "std::atomic_int"},
      // Only accepted here:
      {"RVecULL", "ROOT::VecOps::RVec<std::uint64_t>", "ROOT::RVecULL"},
      {"ROOT::VecOps::RVecB", "ROOT::VecOps::RVec<bool>", "ROOT::RVecB"},
  });
}

TEST(TypeName, AliasStaysAtItsNode) {
  const TypeName type = normalize("std::map<size_t,std::vector<Double32_t>>").type;
  EXPECT_EQ(type.alias, "");
  EXPECT_EQ(type.args.at(0).type.name, "std::uint64_t");
  EXPECT_EQ(type.args.at(0).type.alias, "size_t");
  EXPECT_EQ(type.args.at(1).type.args.at(0).type.name, "double");
  EXPECT_EQ(type.args.at(1).type.args.at(0).type.alias, "Double32_t");
}

TEST(TypeName, StandardTemplatesGetTheirNamespace) {
  expect_rows({
      {"string", "std::string"},
      {"vector<int>", "std::vector<std::int32_t>"},
      {"array<int, 3>", "std::array<std::int32_t,3>"},
      {"tuple<int, float>", "std::tuple<std::int32_t,float>"},
      {"variant<int,float>", "std::variant<std::int32_t,float>"},
      {"unique_ptr<int>", "std::unique_ptr<std::int32_t>"},
      {"atomic<int>", "std::atomic<std::int32_t>"},
      {"bitset<17>", "std::bitset<17>"},
      {"set<int>", "std::set<std::int32_t>"},
      {"unordered_set<int>", "std::unordered_set<std::int32_t>"},
      {"multiset<int>", "std::multiset<std::int32_t>"},
      {"unordered_multiset<int>", "std::unordered_multiset<std::int32_t>"},
      {"map<string, int>", "std::map<std::string,std::int32_t>"},
      {"unordered_map<int,float>", "std::unordered_map<std::int32_t,float>"},
      {"multimap<int,float>", "std::multimap<std::int32_t,float>"},
      {"unordered_multimap<int,float>", "std::unordered_multimap<std::int32_t,float>"},
      {"ROOT::RVec<float>", "ROOT::VecOps::RVec<float>"},
      {"ROOT::VecOps::RVec<float>", "ROOT::VecOps::RVec<float>"},
      {"ROOT::RNTupleCardinality<uint64_t>", "ROOT::RNTupleCardinality<std::uint64_t>"},
      // Only accepted here:
      {"optional<unsigned>", "std::optional<std::uint32_t>"},
      {"RVec<float>", "ROOT::VecOps::RVec<float>"},
      {"RNTupleCardinality<unsigned>", "ROOT::RNTupleCardinality<std::uint32_t>"},
  });
}

TEST(TypeName, OptionalArgumentsOfStandardTemplatesAreDropped) {
  expect_rows({
      {"std::vector<int, std::allocator<int>>", "std::vector<std::int32_t>"},
      {"std::set<int, std::less<int>>", "std::set<std::int32_t>"},
      {"std::map<int,float,std::less<int>,std::allocator<std::pair<const int,float>>>",
       "std::map<std::int32_t,float>"},
      {"std::unordered_map<int, float, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int "
       "const, "
       "float> > >",
       "std::unordered_map<std::int32_t,float>"},
      {"std::unique_ptr<int, std::default_delete<int> >", "std::unique_ptr<std::int32_t>"},
      {"std::basic_string<char>", "std::string"},
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
      {"std::__1::vector<int, std::__1::allocator<int>>", "std::vector<std::int32_t>"},
  });
}

TEST(TypeName, QualifiersAndKeywordsAreRemoved) {
  expect_rows({
      {"const int", "std::int32_t"},
      {"int const volatile", "std::int32_t"},
      {"volatile float", "float"},
      {"unsigned long const int", "std::uint64_t"},
      {"struct Event", "Event"},
      {"enum ns::E", "ns::E"},
      {"::Event", "Event"},
      {"const class ::ns::Event", "ns::Event"},
      {"std::vector<const int>", "std::vector<std::int32_t>"},
      {"std::vector<::Event>", "std::vector<Event>"},
      {"std::pair<const int,float>", "std::pair<std::int32_t,float>"},
      // Arguments of user-defined templates keep their qualifiers.
      {"W<const int>", "W<const std::int32_t>"},
      {"W<int const>", "W<const std::int32_t>"},
      {"W<volatile const int>", "W<const volatile std::int32_t>"},
      {"W<int>::In2<const float>", "W<std::int32_t>::In2<const float>"},
  });
}

TEST(TypeName, TheExampleOfTheSpecification) {
  expect_rows({{"const pair<size_t, array<class ::Event, 2>>", "std::pair<std::uint64_t,std::array<Event,2>>",
                "std::pair<size_t,std::array<Event,2>>"}});
}

TEST(TypeName, ArraysBecomeStandardArrays) {
  expect_rows({
      {"float[3]", "std::array<float,3>"},
      {"float [3] [4]", "std::array<std::array<float,4>,3>"},
      {"std::vector<float>[2]", "std::array<std::vector<float>,2>"},
      {"int const[2]", "std::array<std::int32_t,2>"},
      {"W<float[3]>", "W<std::array<float,3>>"},
  });
}

TEST(TypeName, UserClassesAndIntegers) {
  expect_rows({
      {"ns::Outer::Inner", "ns::Outer::Inner"},
      {"ns::Vec<long,5>", "ns::Vec<std::int64_t,5>"},
      {"ns::UL<18446744073709551615ull>", "ns::UL<18446744073709551615u>"},
      {"ns::UL<18446744073709551615>", "ns::UL<18446744073709551615u>"},
      {"ns::UL<9223372036854775807>", "ns::UL<9223372036854775807>"},
      {"ns::UL<9223372036854775808>", "ns::UL<9223372036854775808u>"},
      {"ns::UL<3ull>", "ns::UL<3>"},
      {"ns::SL<-4>", "ns::SL<-4>"},
      {"ns::SL<-9223372036854775808>", "ns::SL<-9223372036854775808>"},
      {"ns::SL<-0>", "ns::SL<0>"},
      {"std::array<int,3u>", "std::array<std::int32_t,3>"},
      {"TB<true>", "TB<true>"},
      {"TE<E::b>", "TE<E::b>"},
      {"W<int>::In", "W<std::int32_t>::In"},
      {"Foo<>", "Foo<>"},
      {"TObject", "TObject"},
      {"std::complex<float>", "std::complex<float>"},
      {"Gr\xc3\xb6\xc3\x9f"
       "e",
       "Gr\xc3\xb6\xc3\x9f"
       "e"},
  });
}

TEST(TypeName, NeedlessSpacesGo) {
  expect_rows({
      {"std :: vector < int >", "std::vector<std::int32_t>"},
      {"  std::vector<std::vector<int> >\t", "std::vector<std::vector<std::int32_t>>"},
  });
}

TEST(TypeName, ParsingAloneChangesNoName) {
  const TypeName type = parse_type_name("const ns::A<vector<int>, -3> :: B<Double32_t> :: C");
  EXPECT_EQ(to_string(type), "const ns::A<vector<int>,-3>::B<Double32_t>::C");
  EXPECT_TRUE(type.is_const);
  EXPECT_EQ(type.name, "ns::A");
  ASSERT_EQ(type.args.size(), 2u);
  EXPECT_FALSE(type.args[0].is_integer);
  EXPECT_EQ(type.args[0].type.name, "vector");
  EXPECT_TRUE(type.args[1].is_integer);
  EXPECT_TRUE(type.args[1].negative);
  EXPECT_EQ(type.args[1].magnitude, 3u);
  ASSERT_EQ(type.nested.size(), 2u);
  EXPECT_EQ(type.nested[0].name, "B");
  EXPECT_EQ(type.nested[1].name, "C");
}

TEST(TypeName, MalformedNamesSayWhere) {
  const std::vector<std::pair<std::string_view, std::string_view>> rows = {
      {"", "the type name \"\" is invalid at position 0: it ends where a type is expected"},
      {"const", "the type name \"const\" is invalid at position 5: it ends where a type is expected"},
      {"std::", "the type name \"std::\" is invalid at position 5: it ends where a type is expected"},
      {"a::<b>", "the type name \"a::<b>\" is invalid at position 3: '<' where a type is expected"},
      {"std::vector<int",
       "the type name \"std::vector<int\" is invalid at position 15: it ends where ',' or '>' is "
       "expected"},
      {"std::vector<int>>",
       "the type name \"std::vector<int>>\" is invalid at position 16: '>' where the end of the name is "
       "expected"},
      {"a<b>c",
       "the type name \"a<b>c\" is invalid at position 4: 'c' where the end of the name is expected"},
      {"::class ::A",
       "the type name \"::class ::A\" is invalid at position 2: \"class\" is a keyword of C++"},
      {"a<,b>", "the type name \"a<,b>\" is invalid at position 2: ',' where a type is expected"},
      {"a<b,>", "the type name \"a<b,>\" is invalid at position 4: '>' where a type is expected"},
      {"int*", "the type name \"int*\" is invalid at position 3: pointers and references cannot be stored"},
      {"A<int&>",
       "the type name \"A<int&>\" is invalid at position 5: pointers and references cannot be stored"},
      {"void(int)",
       "the type name \"void(int)\" is invalid at position 4: '(' where the end of the name is expected"},
      {"unsigned unsigned",
       "the type name \"unsigned unsigned\" is invalid at position 9: \"unsigned\" does not go with the "
       "words before it"},
      {"long long long",
       "the type name \"long long long\" is invalid at position 10: \"long\" does not go with the words "
       "before it"},
      {"unsigned float",
       "the type name \"unsigned float\" is invalid at position 0: these words do not form a fundamental "
       "type"},
      {"float[0]", "the type name \"float[0]\" is invalid at position 6: an array has size 0"},
      {"float[]",
       "the type name \"float[]\" is invalid at position 6: ']' where a decimal integer is expected"},
      {"float[-1]",
       "the type name \"float[-1]\" is invalid at position 6: '-' where a decimal integer is expected"},
      {"float[3", "the type name \"float[3\" is invalid at position 7: it ends where ']' is expected"},
      {"A<0x10>",
       "the type name \"A<0x10>\" is invalid at position 3: 'x' where ',' or '>' after a decimal integer is "
       "expected"},
      {"A<010>",
       "the type name \"A<010>\" is invalid at position 2: an integer starts with 0; only decimals are "
       "known"},
      {"A<->", "the type name \"A<->\" is invalid at position 3: '>' where a decimal integer is expected"},
      {"A<3uu>", "the type name \"A<3uu>\" is invalid at position 3: the integer has a wrong suffix"},
      {"A<18446744073709551616>",
       "the type name \"A<18446744073709551616>\" is invalid at position 2: the integer does not fit in 64 "
       "bits"},
      {"A<-9223372036854775809>",
       "the type name \"A<-9223372036854775809>\" is invalid at position 2: the integer does not fit in 64 "
       "bits"},
      {"(anonymous namespace)::A",
       "the type name \"(anonymous namespace)::A\" is invalid at position 0: '(' where a type is expected"},
      {std::string_view("a\0b", 3),
       "the type name \"a?b\" is invalid at position 1: byte 0x00 where the end of the name "
       "is expected"},
      {"a\x1b[2J",
       "the type name \"a?[2J\" is invalid at position 1: byte 0x1b where the end of the name is expected"},
  };
  for (const auto& [text, problem] : rows) EXPECT_EQ(problem_of(text), problem);
}

TEST(TypeName, ImpossibleStandardTypesSayWhy) {
  const std::vector<std::pair<std::string_view, std::string_view>> rows = {
      {"std::vector<>",
       "the type \"std::vector<>\" cannot be stored: std::vector takes 1 to 2 template arguments, not 0"},
      {"std::pair<int>",
       "the type \"std::pair<int>\" cannot be stored: std::pair takes 2 template arguments, not 1"},
      {"std::optional<int,int>",
       "the type \"std::optional<int,int>\" cannot be stored: std::optional takes 1 template argument, not "
       "2"},
      {"std::tuple<>",
       "the type \"std::tuple<>\" cannot be stored: std::tuple takes at least 1 template argument, not 0"},
      {"std::vector<3>",
       "the type \"std::vector<3>\" cannot be stored: argument 1 of std::vector must be a type"},
      {"std::array<int,int>",
       "the type \"std::array<int,int>\" cannot be stored: argument 2 of std::array must be an integer"},
      {"std::array<int,-1>",
       "the type \"std::array<int,-1>\" cannot be stored: the size of a std::array must be positive"},
      {"std::bitset<0>",
       "the type \"std::bitset<0>\" cannot be stored: the size of a std::bitset must be positive"},
      {"std::basic_string<wchar_t>",
       "the type \"std::basic_string<wchar_t>\" cannot be stored: of the std::basic_string family only "
       "std::string has "
       "a stored form"},
      {"ROOT::RNTupleCardinality<int>",
       "the type \"ROOT::RNTupleCardinality<int>\" cannot be stored: ROOT::RNTupleCardinality counts in "
       "std::uint32_t "
       "or std::uint64_t, not in std::int32_t"},
  };
  for (const auto& [text, problem] : rows) EXPECT_EQ(problem_of(text), problem);
}

TEST(TypeName, VariantsHaveAtMost125Alternatives) {
  EXPECT_EQ(normalize("std::variant<" + repeat("int,", 124) + "int>").type.args.size(), 125u);
  EXPECT_NE(problem_of("std::variant<" + repeat("int,", 125) + "int>")
                .find("std::variant takes 1 to 125 template arguments, not 126"),
            std::string::npos);
}

TEST(TypeName, NestingIsLimited) {
  EXPECT_EQ(normalize(repeat("a<", 63) + "b" + repeat(">", 63)).type.name, "a");
  EXPECT_NE(problem_of(repeat("a<", 64) + "b" + repeat(">", 64)).find("types are nested more than 64 deep"),
            std::string::npos);
  EXPECT_EQ(normalize("b" + repeat("[2]", 63)).type.name, "std::array");
  EXPECT_NE(problem_of("b" + repeat("[2]", 64)).find("types are nested more than 64 deep"),
            std::string::npos);
  // Dimensions at every level add up although no single bracket is deep.
  std::string sums = "b";
  for (int i = 0; i < 10; ++i) sums = "a<" + sums + repeat("[2]", 10) + ">";
  EXPECT_NE(problem_of(sums).find("types are nested more than 64 deep"), std::string::npos);
  // An alias counts with the depth of its resolution.
  EXPECT_NE(problem_of(repeat("a<", 63) + "ROOT::RVecF" + repeat(">", 63))
                .find("is nested more than 64 deep when written out"),
            std::string::npos);
}

TEST(TypeName, LengthIsLimited) {
  EXPECT_EQ(problem_of(std::string(65537, 'a')),
            "a type name has 65537 characters, more than the limit of 65536");
  EXPECT_EQ(normalize(std::string(65536, 'a')).name.size(), 65536u);
  EXPECT_NE(problem_of("A<" + repeat("int,", 16000) + "int>")
                .find("characters when written out, more than the limit"),
            std::string::npos);
}

TEST(TypeName, LongNamesAreShortenedInMessages) {
  EXPECT_LT(problem_of(std::string(60000, '<')).size(), 250u);
}

}  // namespace
}  // namespace colonnade::field
