// Methods and comparisons of strings.
#include "frame/functions/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "colonnade/error.h"
#include "frame/functions/test_kernels.h"

namespace colonnade::frame {
namespace {

using calls::call;
using calls::constant_of;
using calls::rows_of;
using calls::values_of;
using ::testing::HasSubstr;

using Texts = std::vector<std::string>;

ValuesPtr texts(const Texts& rows) {
  return values_of(rows);
}
ValuesPtr same(std::size_t rows, const std::string& text) {
  return constant_of(rows, text);
}

TEST(Strings, Compare) {
  const Texts a{"", "a", "b", "ab", std::string("a\0b", 3)};
  const Texts b{"", "b", "a", "a", std::string("a\0c", 3)};
  const auto expect = [&](const char* name, auto op) {
    std::vector<bool> expected;
    for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(op(a[i], b[i]));
    EXPECT_EQ(rows_of<bool>(*call(name, {texts(a), texts(b)})), expected) << name;
  };
  expect("operator==", std::equal_to<std::string>());
  expect("operator!=", std::not_equal_to<std::string>());
  expect("operator<", std::less<std::string>());
  expect("operator<=", std::less_equal<std::string>());
  expect("operator>", std::greater<std::string>());
  expect("operator>=", std::greater_equal<std::string>());
}

TEST(Strings, CompareWithConstants) {
  EXPECT_EQ(rows_of<bool>(*call("operator==", {texts({"muon", "tau"}), same(2, "muon")})),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(rows_of<bool>(*call("operator!=", {same(4, "tau"), texts({"muon", "tau", "tan", ""})})),
            (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(rows_of<bool>(*call("operator<", {texts({"muon", "tau"}), same(2, "n")})),
            (std::vector<bool>{true, false}));
  const auto known = call("operator==", {same(5, "a"), same(5, "a")});
  EXPECT_TRUE(known->constant);
  EXPECT_EQ(rows_of<bool>(*known), (std::vector<bool>(5, true)));
}

TEST(Strings, CompareWithConstantsOfAnySize) {
  std::mt19937 random(6);
  const auto text_of = [&](std::size_t longest) {
    std::string text(random() % (longest + 1), '\0');
    for (char& character : text) character = "a\0\xff"[random() % 3];
    return text;
  };
  for (int round = 0; round < 400; ++round) {
    const std::size_t longest = 1 + random() % 20;
    const std::string wanted = text_of(longest);
    Texts rows(random() % 30);
    std::vector<bool> equal;
    for (std::string& row : rows) {
      row = random() % 3 == 0 ? wanted : text_of(longest);
      if (random() % 5 == 0 && !row.empty()) row.back() ^= 1;
      equal.push_back(row == wanted);
    }
    if (rows.empty()) continue;
    EXPECT_EQ(rows_of<bool>(*call("operator==", {texts(rows), same(rows.size(), wanted)})), equal);
    equal.flip();
    EXPECT_EQ(rows_of<bool>(*call("operator!=", {same(rows.size(), wanted), texts(rows)})), equal);
  }
}

TEST(Strings, CompareWithinLists) {
  const auto names = values_of<Texts>({{"a", "b"}, {}, {"c"}});
  using Masks = std::vector<std::vector<bool>>;
  EXPECT_EQ(rows_of<std::vector<bool>>(*call("operator==", {names, same(3, "b")})),
            (Masks{{false, true}, {}, {false}}));
  EXPECT_EQ(rows_of<std::vector<bool>>(*call("operator!=", {same(3, "b"), names})),
            (Masks{{true, false}, {}, {true}}));
  EXPECT_EQ(rows_of<std::vector<bool>>(*call("operator==", {names, texts({"a", "b", "c"})})),
            (Masks{{true, false}, {}, {true}}));
  EXPECT_EQ(rows_of<std::vector<bool>>(*call("operator<", {texts({"b", "b", "b"}), names})),
            (Masks{{false, false}, {}, {true}}));
  EXPECT_EQ(
      rows_of<std::vector<bool>>(*call("operator!=", {names, values_of<Texts>({{"a", "x"}, {}, {"c"}})})),
      (Masks{{false, true}, {}, {false}}));
  try {
    call("operator==", {names, values_of<Texts>({{"a", "x"}, {"y"}, {"c"}})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.problem(), HasSubstr("entry 1001"));
  }
}

TEST(Strings, DoNotCompareWithNumbers) {
  EXPECT_THAT(calls::bind("operator==", {texts({"a"}), values_of<int>({1})}).why_not,
              HasSubstr("std::int32_t"));
  EXPECT_EQ(calls::bind("operator-", {texts({"a"}), texts({"a"})}).kernel, nullptr);
}

TEST(Strings, AreJoined) {
  EXPECT_EQ(rows_of<std::string>(*call("operator+", {texts({"a", ""}), same(2, "_x")})),
            (Texts{"a_x", "_x"}));
}

TEST(Strings, AreSearched) {
  const auto name = texts({"HLT_Mu24", "L1_Mu", "HLT"});
  EXPECT_EQ(rows_of<bool>(*call(".BeginsWith", {name, same(3, "HLT")})),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(rows_of<bool>(*call(".EndsWith", {name, same(3, "Mu")})),
            (std::vector<bool>{false, true, false}));
  EXPECT_EQ(rows_of<bool>(*call(".Contains", {name, same(3, "Mu")})), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(rows_of<bool>(*call(".Equals", {name, texts({"HLT_Mu24", "x", "y"})})),
            (std::vector<bool>{true, false, false}));
  EXPECT_EQ(rows_of<std::uint64_t>(*call(".find", {name, same(3, "Mu")})),
            (std::vector<std::uint64_t>{4, 3, ~0ull}));
  EXPECT_EQ(rows_of<std::uint64_t>(*call(".find", {name, same(3, "L"), values_of<int>({2, 0, 9})})),
            (std::vector<std::uint64_t>{~0ull, 0, ~0ull}));
  EXPECT_EQ(rows_of<std::uint64_t>(*call(".rfind", {name, same(3, "L")})),
            (std::vector<std::uint64_t>{1, 0, 1}));
  EXPECT_EQ(rows_of<std::int32_t>(*call(".compare", {name, same(3, "HLT")})),
            (std::vector<std::int32_t>{1, 1, 0}));
}

// All texts are searched at once: a part may not begin in one and end in the next.
TEST(Strings, ContainPartsOfTheirOwn) {
  std::mt19937 random(1);
  const auto some = [&](std::size_t longest) {
    std::string text(std::uniform_int_distribution<std::size_t>(0, longest)(random), 'a');
    for (char& c : text) c = "ab\0"[std::uniform_int_distribution<std::size_t>(0, 2)(random)];
    return text;
  };
  for (const std::size_t longest : {std::size_t{1}, std::size_t{7}, std::size_t{300}, std::size_t{9000}}) {
    Texts all(50 + 30000 / longest);
    for (std::string& text : all) text = some(longest);
    for (const std::string& part : {std::string(), some(1), some(2), some(4), all.front(), all.back()}) {
      std::vector<bool> expected;
      for (const std::string& text : all) expected.push_back(text.find(part) != std::string::npos);
      EXPECT_EQ(rows_of<bool>(*call(".contains", {texts(all), same(all.size(), part)})), expected);
    }
  }
}

TEST(Strings, TakeCharactersAsTexts) {
  const auto name = texts({"HLT_Mu24", "L1", "_"});
  const auto letters = values_of<char>({'M', '1', 'x'});
  EXPECT_EQ(rows_of<std::uint64_t>(*call(".find", {name, constant_of<char>(3, '_')})),
            (std::vector<std::uint64_t>{3, ~0ull, 0}));
  EXPECT_EQ(rows_of<std::uint64_t>(*call(".rfind", {name, letters})),
            (std::vector<std::uint64_t>{4, 1, ~0ull}));
  EXPECT_EQ(rows_of<std::string>(*call("operator+", {name, letters})), (Texts{"HLT_Mu24M", "L11", "_x"}));
  EXPECT_EQ(rows_of<std::string>(*call("operator+", {letters, name})), (Texts{"MHLT_Mu24", "1L1", "x_"}));
  EXPECT_EQ(calls::bind(".find", {letters, name}).kernel, nullptr);
}

TEST(Strings, AreCut) {
  const auto name = texts({"muon", "tau"});
  EXPECT_EQ(rows_of<std::string>(*call(".substr", {name, constant_of<int>(2, 1)})), (Texts{"uon", "au"}));
  EXPECT_EQ(rows_of<std::string>(
                *call(".substr", {name, values_of<std::uint64_t>({0, 3}), constant_of<int>(2, 2)})),
            (Texts{"mu", ""}));
  EXPECT_EQ(rows_of<std::string>(*call(".substr", {name, constant_of<int>(2, 0), constant_of<int>(2, -1)})),
            (Texts{"muon", "tau"}));
  const std::vector<ValuesPtr> beyond{name, constant_of<int>(2, 4)};
  EXPECT_TRUE(calls::bind(".substr", beyond).kernel->only_where_needed());
  try {
    call(".substr", beyond);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.problem(), HasSubstr("entry 1001"));
    EXPECT_THAT(error.problem(), HasSubstr("3 characters"));
  }
}

TEST(Strings, TellTheirLength) {
  EXPECT_EQ(rows_of<std::uint64_t>(*call(".length", {texts({"", "abc"})})),
            (std::vector<std::uint64_t>{0, 3}));
  EXPECT_EQ(rows_of<std::string>(*call(".AsString", {texts({"", "abc"})})), (Texts{"", "abc"}));
}

TEST(Strings, OfConstantsAreConstant) {
  const auto cut = call(".substr", {same(9, "muon"), constant_of<int>(9, 2)});
  EXPECT_TRUE(cut->constant);
  EXPECT_EQ(rows_of<std::string>(*cut), (Texts(9, "on")));
  const auto none = call("operator+", {same(0, "a"), same(0, "b")});
  EXPECT_EQ(none->size, 0u);
}

TEST(Strings, SayHowTheyAreCalled) {
  EXPECT_THAT(calls::bind(".find", {texts({"a"})}).why_not, HasSubstr(".find(text"));
  EXPECT_THAT(calls::bind(".substr", {texts({"a"}), values_of<double>({1})}).why_not, HasSubstr("double"));
}

TEST(Strings, NumbersBecomeTexts) {
  EXPECT_EQ(rows_of<std::string>(*call("to_string", {values_of(std::vector<int>{1, -20})})),
            (Texts{"1", "-20"}));
  EXPECT_EQ(rows_of<std::string>(*call("to_string", {values_of(std::vector<double>{0.5, -1e9, 1e-7})})),
            (Texts{std::to_string(0.5), std::to_string(-1e9), std::to_string(1e-7)}));
  EXPECT_EQ(
      rows_of<std::string>(*call("to_string", {values_of(std::vector<std::uint64_t>{~std::uint64_t{0}})})),
      (Texts{"18446744073709551615"}));
  const auto constant = call("to_string", {constant_of(3, 7)});
  EXPECT_EQ(rows_of<std::string>(*constant), (Texts{"7", "7", "7"}));
}

}  // namespace
}  // namespace colonnade::frame
