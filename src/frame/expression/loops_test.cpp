// Loops, changes of lists, and functions that are written as texts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <numeric>
#include <string>

#include "base/interruption.h"
#include "colonnade/error.h"
#include "frame/expression/loop_kernel.h"
#include "frame/expression/testing.h"
#include "frame/expression/text_functions.h"

namespace colonnade::frame {
namespace {

using expression_testing::lists;
using expression_testing::scalars;

class Loops : public ::testing::Test {
 public:
  Loops() {
    columns.add("n", scalars<int>({2, 0, 5}));
    columns.add("v", lists<float>({{1, 30}, {}, {25, 2, 7}}));
  }
  ExpressionId bind(const std::string& text) { return Formula(text).bind(pool, columns); }
  std::string results(const std::string& text) {
    const ExpressionId id = bind(text);
    expression_testing::Evaluator evaluator(pool, columns);
    std::string all = pool[id].type.name() + ":";
    for (std::uint32_t row = 0; row < 3; ++row) all += " " + text_of(*evaluator.value(id, row), 0);
    return all;
  }
  std::string error(const std::string& text) {
    try {
      return "no error: " + results(text);
    } catch (const Error& caught) {
      return caught.problem();
    }
  }
  // Whether the last loop is a flat program.
  bool is_flat(const std::string& text) {
    bind(text);
    for (ExpressionId id = static_cast<ExpressionId>(pool.size()); id-- > 0;)
      if (pool[id].name == "for") return flat_loop(*pool[id].kernel) != nullptr;
    return false;
  }
  // The kernel of the last loop, with its arguments for all rows.
  ValuesPtr run_all(const std::string& text, BlockMemory& memory) {
    bind(text);
    for (ExpressionId id = static_cast<ExpressionId>(pool.size()); id-- > 0;) {
      if (pool[id].name != "for") continue;
      std::vector<ValuesPtr> arguments;
      for (const ExpressionId argument : pool[id].arguments)
        arguments.push_back(pool[argument].op == Op::column ? columns.values(pool[argument].column)
                                                            : repeat(pool[argument].constant, 3));
      const Rows rows{0, 3, nullptr};
      return pool[id].kernel->run({memory, rows}, arguments);
    }
    return nullptr;
  }

  ExpressionPool pool;
  expression_testing::Columns columns{pool};
};

TEST_F(Loops, ChangeVariables) {
  EXPECT_EQ(results("float s = 0; for (auto x : v) s += x; return s;"), "float: 31 0 34");
  EXPECT_EQ(results("int k = 0; while (k * k < n) k++; return k;"), "std::int32_t: 2 0 3");
  EXPECT_EQ(results("int k = 0; do { k += 2; } while (k < n); return k;"), "std::int32_t: 2 2 6");
  EXPECT_EQ(results("int s = 0; for (int i = 0, j = 9; i < n && j > 6; ++i, j -= 1) s += i * j; return s;"),
            "std::int32_t: 8 0 22");
  EXPECT_EQ(results("int c = 0; for (auto x : {1, 2, 3}) for (char d : \"ab\"s) c += x; return c;"),
            "std::int32_t: 12 12 12");
  EXPECT_EQ(
      results(
          "double s = 0; for (int i = 0; i < rdfentry_; ++i) for (int k : {1, 2}) s += rdfentry_; return s;"),
      "double: 0 2 8");
}

TEST_F(Loops, EndByBreakContinueAndReturn) {
  EXPECT_EQ(results("for (auto x : v) if (x > 2) return x; return -1.f;"), "float: 30 -1 25");
  EXPECT_EQ(
      results("float s = 0; for (auto x : v) { if (x < 3) continue; if (x > 26) break; s += x; } return s;"),
      "float: 0 0 32");
  EXPECT_EQ(results("for (int i = 0;; ++i) for (int j = 0; j < 3; ++j) if (i * j >= n) return 10 * i + j;"),
            "std::int32_t: 12 0 32");
  EXPECT_EQ(
      results("int last; int k = 0; while (k < n) { last = k; k += 2; if (last == 2) break; } return k;"),
      "std::int32_t: 2 0 4");
  EXPECT_EQ(results("while (true) { if (n > 1) return 1; return 2.5; }"), "double: 1 2.5 1");
}

TEST_F(Loops, NameTypesOfTheirBlock) {
  EXPECT_EQ(
      results("using namespace ROOT::VecOps; using std::sqrt; using F = float; F s = 0; "
              "for (auto x : v) { using F = double; F y = x; s += y; } typedef RVec<F> L; return L{s}; "),
      "std::vector<float>: {31} {0} {34}");
}

TEST_F(Loops, ChangeLists) {
  EXPECT_EQ(results("ROOT::RVecF w; for (auto x : v) if (x > 2) w.push_back(x / 2); return w;"),
            "std::vector<float>: {15} {} {12.5, 3.5}");
  EXPECT_EQ(results("auto w = v; for (auto& x : w) x += 1; return w;"),
            "std::vector<float>: {2, 31} {} {26, 3, 8}");
  EXPECT_EQ(
      results("std::vector<int> w(n, 1); for (int i = 2; i < n; i++) w[i] = w[i - 1] + w[i - 2]; return w;"),
      "std::vector<std::int32_t>: {1, 1} {} {1, 1, 2, 3, 5}");
  EXPECT_EQ(results("std::vector<std::vector<int>> w(2); w[1].push_back(n); w[1].resize(2, 7); w[1][0] *= 2; "
                    "w.pop_back(); w.push_back({n, 1}); return w;"),
            "std::vector<std::vector<std::int32_t>>: {{}, {2, 1}} {{}, {0, 1}} {{}, {5, 1}}");
  EXPECT_EQ(results("std::array<int, 3> a; a[n % 3] = 4; return a;"),
            "std::vector<std::int32_t>: {0, 0, 4} {4, 0, 0} {0, 0, 4}");
  EXPECT_EQ(results("auto w = v; std::sort(w.begin(), w.end()); w.emplace_back(0); return w;"),
            "std::vector<float>: {1, 30, 0} {0} {2, 7, 25, 0}");
}

TEST_F(Loops, AreFlatProgramsOfScalarsAndLists) {
  for (const char* text :
       {"float s = 0; for (auto x : v) s += sqrt(x) > 2 ? 0.5f : x; return s;",
        "int k = 0; do { k += 2; if (k == 4) continue; if (k > 7) break; } while (k < n); return k;",
        "for (int i = 0; i < n; ++i) for (size_t j = 0; j < v.size(); ++j) if (v[j] > i) return i; return 9;",
        "ROOT::RVecF w; for (auto x : v) if (x > 2) w.push_back(x); return w;",
        "auto w = v; for (auto& x : w) x += 1; return w;",
        "auto w = v; for (size_t i = 1; i < w.size(); ++i) { auto x = w[0]; w[0] = w[i]; w[i] = x; } return "
        "w;"})
    EXPECT_TRUE(is_flat(text)) << text;
  for (const char* text : {"auto w = v; for (auto& x : w) { x += 1; if (x > 2) break; } return w;",
                           "auto w = v; for (auto x : v) if (w.size() < 9) w.push_back(x); return w;",
                           "std::string s; for (auto x : v) s = \"a\"; return s;",
                           "auto w = v; for (auto x : v) { if (x > 2) w = v; w.push_back(x); } return w;"})
    EXPECT_FALSE(is_flat(text)) << text;
}

TEST_F(Loops, FailOnlyWhereAnEntryGetsThere) {
  EXPECT_EQ(results("for (int i = 0; i < 3; ++i) if (i < v.size() && v[i] > 26) return i; return -1;"),
            "std::int32_t: 1 -1 -1");
  EXPECT_EQ(results("float s = 0; for (int i = 0; i < n; ++i) s += v.size() > 1 ? v[1] : 0; return s;"),
            "float: 60 0 10");
  EXPECT_EQ(results("float s = 0; for (int i = 0; i < n; ++i) s += v[1]; return s;"), "float: 60 0 10");
  EXPECT_EQ(error("float s = 0; for (int i = 0; i < 2; ++i) s += v[1]; return s;"),
            "in entry 1, the index 1 is beyond a list of 0 items");
  EXPECT_EQ(error("float s = 0; for (int i = 0; i < 3; ++i) s += v[1 - i]; return s;"),
            "in entry 0, the index -1 is negative (the list has 2 items)");
  EXPECT_EQ(results("int s = 0; for (int i = -1; i < 2; ++i) s += i != 0 ? n / i : 7; return s;"),
            "std::int32_t: 7 7 7");
  EXPECT_EQ(results("int s = 0; for (int i = 0; i < n; ++i) s += (1 << i) % n; return s;"),
            "std::int32_t: 1 0 11");
  EXPECT_EQ(error("int s = 0; for (int i = 0; i < 2; ++i) s += (n + 7) / i; return s;"),
            "'/' in entry 0: integer division by zero");
  EXPECT_EQ(error("int s = 0; for (int i = 0; i < n; ++i) s += 1 << (i * 9); return s;").substr(0, 18),
            "'<<' in entry 2: s");
}

TEST_F(Loops, AppendInTheOrderOfTheProgram) {
  EXPECT_EQ(results("ROOT::RVecI w{9}; for (int i = 0; i < n; ++i) { w.push_back(10 * i); "
                    "for (int j = 0; j < i; ++j) { if (j == 2) break; w.push_back(10 * i + j + 1); } "
                    "if (i == 3) break; } return w;"),
            "std::vector<std::int32_t>: {9, 0, 10, 11} {9} {9, 0, 10, 11, 20, 21, 22, 30, 31, 32}");
  EXPECT_EQ(results("ROOT::RVecI a, b; int k = 0; for (auto x : v) { if (x > 6) { a.push_back(x); k++; } "
                    "else b.push_back(k); for (int i = 0; i < k; ++i) { b.push_back(-i); k += i == 4; } "
                    "if (k > 1) break; a.push_back(100); } a.push_back(b.size()); return a;"),
            "std::vector<std::int32_t>: {100, 30, 100, 2} {0} {25, 100, 100, 7, 5}");
  EXPECT_EQ(results("std::vector<double> w; do { w.push_back(w.size()); } while (w.size() < n); return w;"),
            "std::vector<double>: {0, 1} {0} {0, 1, 2, 3, 4}");
}

TEST_F(Loops, ReplaceItemsAfterWhatATurnReads) {
  EXPECT_EQ(
      results("auto w = v; for (size_t i = 1; i < w.size(); ++i) { auto x = w[0]; w[0] = w[i]; w[i] = x; } "
              "return w;"),
      "std::vector<float>: {30, 1} {} {7, 25, 2}");
  EXPECT_EQ(results("auto w = v; for (auto& x : w) { x += w[0]; if (x > 40) break; } return w;"),
            "std::vector<float>: {2, 32} {} {50, 2, 7}");
  EXPECT_EQ(results("std::vector<int> w(3); for (int i = 0; i < n; ++i) w[i % 3] += i; return w;"),
            "std::vector<std::int32_t>: {0, 1, 0} {0, 0, 0} {3, 5, 2}");
  EXPECT_EQ(
      results("auto w = v; for (size_t i = 0; i < w.size(); ++i) for (size_t j = 1; j < w.size() - i; ++j) "
              "if (w[j - 1] > w[j]) { auto x = w[j]; w[j] = w[j - 1]; w[j - 1] = x; } return w;"),
      "std::vector<float>: {1, 30} {} {2, 7, 25}");
  EXPECT_EQ(error("std::vector<int> w(1); for (int i = 0; i < n; ++i) w[i] = 1; return w;"),
            "in entry 0, the index 1 is not in a list of 1 items");
}

TEST_F(Loops, TellWrongPlacesAndUses) {
  EXPECT_EQ(error("std::vector<int> w; w[0] = 1; return w;"),
            "in entry 0, the index 0 is not in a list of 0 items");
  EXPECT_EQ(error("std::vector<int> w(2); w[n] = 1; return w;"),
            "in entry 0, the index 2 is not in a list of 2 items");
  EXPECT_EQ(error("auto w = v; w.pop_back(); return w;"), "in entry 1, pop_back of an empty list");
  EXPECT_EQ(error("for (auto x : n) return 1; return 2;").substr(0, 57),
            "the items of a list are needed here, got std::int32_t\n  f");
  EXPECT_EQ(error("int k; for (auto x : v) k = 1; return k;").substr(0, 29),
            "'k' may have no value here\n  ");
  EXPECT_EQ(error("int k = 1; k.push_back(2); return k;").substr(0, 45),
            "'push_back' changes lists; this is std::int32");
  EXPECT_EQ(error("auto w = v; w.push_back(1, 2); return w;").substr(0, 36),
            "'push_back' takes 1 argument, got 2\n");
}

TEST_F(Loops, CallLambdasThatHaveNames) {
  EXPECT_EQ(
      results("int s = 2; auto g = [&](int x) { return x * s; }; s = 5; int r = g(3); { int s = 100; r += "
              "g(1) + s; } return r;"),
      "std::int32_t: 120 120 120");
  EXPECT_EQ(results("auto g = [](auto x) -> double { if (x > 2) return 1; return 0; }; return g(n) / 2;"),
            "double: 0 0 0.5");
  EXPECT_EQ(results("const auto over = [](float x) { return x > 5; }; return Filter(v, over);"),
            "std::vector<float>: {30} {} {25, 7}");
  EXPECT_EQ(
      results("auto down = [](float a, float b) { return a > b; }; auto w = v; std::sort(w.begin(), w.end(), "
              "down); return w;"),
      "std::vector<float>: {30, 1} {} {25, 7, 2}");
  EXPECT_EQ(
      results("auto f = [](int x) { return x + n; }; auto g = [&](int x) { return 2 * f(x); }; return g(1);"),
      "std::int32_t: 6 2 12");
  EXPECT_EQ(results("const float m = [&]() { if (v.empty()) return -1.f; return v[0]; }(); return m;"),
            "float: 1 -1 25");
  // Equal texts of lambdas that call different ones are not the same.
  EXPECT_EQ(results("auto f = [](float x) { return x; }; return Map(v, [&](float x) { return f(x); });"),
            "std::vector<float>: {1, 30} {} {25, 2, 7}");
  EXPECT_EQ(results("auto f = [](float x) { return -x; }; return Map(v, [&](float x) { return f(x); });"),
            "std::vector<float>: {-1, -30} {} {-25, -2, -7}");
  // Names that hide others.
  EXPECT_EQ(results("auto w = v; for (auto& x : w) { int w = 3; x += w; } return w;"),
            "std::vector<float>: {4, 33} {} {28, 5, 10}");
  EXPECT_EQ(
      results(
          "auto w = v; float s = 0; for (auto& x : w) { x += 1; s += Map(w, [&](float z) { return z - z + "
          "x; })[0]; } return s;"),
      "float: 33 0 37");
}

TEST_F(Loops, TellWrongLambdas) {
  EXPECT_EQ(error("auto g = [](int x) { return x; }; return g(1, 2);").substr(0, 35),
            "this lambda takes 1 argument, got 2");
  EXPECT_EQ(error("int s = 2; auto g = [=](int x) { return x * s; }; s = 5; return g(3);").substr(0, 54),
            "'s' cannot be changed: a lambda holds a copy of it\n  i");
  EXPECT_EQ(error("auto g = [](int x) { return x * n; }; int n = 3; return g(n);").substr(0, 72),
            "'n' is a variable here, but not where the lambda 'g' was declared; give ");
  EXPECT_EQ(error("auto g = [](int x) { return x; }; g = 1; return 2;").substr(0, 39),
            "'g' cannot be changed: it is a lambda\n ");
  EXPECT_EQ(error("auto g = [](int x) { return x; }; return g;").substr(0, 28),
            "a lambda can only be called,");
  std::string doubles = "auto f0 = [](int x) { return x; };";
  for (int i = 1; i < 40; ++i)
    doubles += fmt::format("auto f{0} = [](int x) {{ return f{1}(x) + f{1}(x); }};", i, i - 1);
  EXPECT_EQ(error(doubles + "return f39(1);").substr(0, 54),
            "more than 65536 operations in the lambdas that are cal");
  std::string deep = "int s = n; auto f = [&](int x) { return s + x; };";
  for (int i = 0; i < 1000; ++i) deep += "s = f(1);";
  EXPECT_EQ(error(deep + "return s;").substr(0, 32), "more than 1000 nested operations");
}

TEST_F(Loops, FollowIterators) {
  EXPECT_EQ(
      results("auto it = std::find_if(v.begin(), v.end(), [](float x) { return x > 2; }); if (it != v.end()) "
              "return *it; return -1.f;"),
      "float: 30 -1 25");
  EXPECT_EQ(results("float s = 0; for (auto it = v.begin(); it != v.end(); ++it) s += *it; return s;"),
            "float: 31 0 34");
  EXPECT_EQ(results("return std::distance(v.begin(), std::max_element(v.begin(), v.end()));"),
            "std::int64_t: 1 0 0");
  EXPECT_EQ(results("return std::accumulate(v.begin(), v.end(), 0.5);"), "double: 31.5 0.5 34.5");
  EXPECT_EQ(
      results("return std::accumulate(v.begin(), v.end(), 1.f, [](float a, float x) { return a * x; });"),
      "float: 30 1 350");
  EXPECT_EQ(results("return std::count_if(v.begin(), v.end(), [](float x) { return x > n; });"),
            "std::int64_t: 1 0 2");
  EXPECT_EQ(results("return std::any_of(v.begin(), v.end(), [](float x) { return x > 26; });"),
            "bool: true false false");
  EXPECT_EQ(results("std::array<float, 3> edges{0, 10, 20}; return std::upper_bound(edges.begin(), "
                    "edges.end(), 5.f * n) "
                    "- edges.begin();"),
            "std::int64_t: 2 1 3");
  EXPECT_EQ(
      results("std::vector<int> w(v.size()); std::iota(std::begin(w), std::end(w), 0); std::sort(w.begin(), "
              "w.end(), [&](int i, int j) { return v[i] > v[j]; }); return w;"),
      "std::vector<std::int32_t>: {1, 0} {} {0, 2, 1}");
  EXPECT_EQ(
      results(
          "auto w = v; w.insert(w.begin(), 4); w.insert(w.end(), v.begin(), v.end()); w.erase(w.begin() + "
          "w.size() / 2); return w;"),
      "std::vector<float>: {4, 1, 1, 30} {} {4, 25, 2, 25, 2, 7}");
  EXPECT_EQ(
      results(
          "auto w = v; w.erase(std::remove_if(w.begin(), w.end(), [](float x) { return x > 20; }), w.end()); "
          "return w;"),
      "std::vector<float>: {1} {} {2, 7}");
  EXPECT_EQ(
      results("std::vector<double> w(v.begin(), v.begin() + v.size() / 2); std::fill(w.begin(), w.end(), n); "
              "return w;"),
      "std::vector<double>: {2} {} {5}");
  EXPECT_EQ(error("return *n;").substr(0, 36), "there are no pointers in expressions");
  EXPECT_EQ(error("auto w = v; w.erase(w.end()); return w;"),
            "in entry 0, the items 2 to 3 are not in a list of 2 items");
  EXPECT_EQ(error("auto w = v; w.erase(v.begin()); return w;").substr(0, 43),
            "'erase' takes an iterator of this list firs");
  EXPECT_EQ(error("auto w = v; return std::count(v.begin(), w.end(), 1);").substr(0, 47),
            "'std::count' takes the begin and the end of one");
}

TEST_F(Loops, ChooseBySwitch) {
  EXPECT_EQ(results("switch (n) { case 0: return 1; case 2: case 3: return 5; default: return 7; }"),
            "std::int32_t: 5 1 7");
  EXPECT_EQ(
      results(
          "int r = 0; for (int i = 0; i < 6; ++i) { switch (i) { case 1: continue; case 4: break; default: r "
          "+= i; if (i == 3) break; r += 100; } r += 1000; } return r;"),
      "std::int32_t: 5310 5310 5310");
  EXPECT_EQ(
      results(
          "int r = 0; switch (n) { default: r += 1; case 7: r += 10; [[fallthrough]]; case 2: { r += 100; "
          "break; } case 0: r = 5; } return r;"),
      "std::int32_t: 100 5 111");
  EXPECT_EQ(error("switch (1.5) { case 1: return 1; default: return 2; }").substr(0, 41),
            "'switch' chooses by an integer, got doubl");
  EXPECT_EQ(error("switch (n) { case 1: return 1; case 1: return 3; default: return 2; }").substr(0, 30),
            "there is already such a label\n");
  EXPECT_EQ(error("switch (n) { case n: return 1; default: return 2; }").substr(0, 42),
            "a label of 'switch' is a constant integer\n");
  EXPECT_EQ(error("switch (n) { case 1: return 1; case 2: return 3; }").substr(0, 29),
            "not every path through these ");
  EXPECT_EQ(error("switch (n) { default: return 1; default: return 3; }").substr(0, 26),
            "a switch has one 'default'");
}

TEST_F(Loops, FillArrays) {
  EXPECT_EQ(results("const double s[2] = {-1, 1}; int a[] = {1, 2, 3}; int b[2][2] = {{1, 2}, {3, 4}}; "
                    "b[1][0] = n; int "
                    "c[3]; return s[0] + a[2] + b[1][0] + c[1];"),
            "double: 4 2 7");
  EXPECT_EQ(results("std::array<int, 3> a = {n}; a[1] = 7; return a;"),
            "std::vector<std::int32_t>: {2, 7, 0} {0, 7, 0} {5, 7, 0}");
  EXPECT_EQ(error("int a[2] = {1, 2, 3}; return a[0];").substr(0, 44),
            "3 items do not fit in std::array<int, 2>\n  i");
  EXPECT_EQ(error("int a[n]; return a[0];").substr(0, 35), "the size of an array is a number he");
  EXPECT_EQ(results("int a[2000], b[65536] = {7}; std::array<float, 3000> c{}; a[1999] = b.size(); "
                    "return a.size() + a[1999] + b[0] + c.size();"),
            "std::uint64_t: 70543 70543 70543");
  for (const char* text : {"int a[65537]; return 1;", "std::array<int, 65537> a = {1}; return 1;",
                           "int a[2][65537]; return 1;", "return std::array<int, 65537>{1}.size();"})
    EXPECT_NE(error(text).find("has more than 65536 items\n"), std::string::npos) << text;
}

TEST_F(Loops, ChangeVariablesWithinStatements) {
  EXPECT_EQ(
      results(
          "int k = 0; std::vector<int> w(3); w[k++] = 4; w[k++] += 5; return w[0] + 10 * w[1] + 100 * k;"),
      "std::int32_t: 254 254 254");
  EXPECT_EQ(
      results("int i = 5, s = 0; while (i --> 0) { if (i == 2) continue; s += i; } return s * 100 + i;"),
      "std::int32_t: 799 799 799");
  EXPECT_EQ(results("int s = 0; for (int i = n; --i > 0;) s = s * 10 + i; return s;"),
            "std::int32_t: 1 0 4321");
  EXPECT_EQ(results("int a, b; float c; a = c = b = 3.7; return a + b + c;"), "float: 9 9 9");
  EXPECT_EQ(results("int k = n; if (k++ == 0) return k++; return -k;"), "std::int32_t: -3 1 -6");
  EXPECT_EQ(error("int k = 3; k = k++ + 1; return k;").substr(0, 47),
            "'k' changes within a statement that names it tw");
  EXPECT_EQ(error("int k = 3; bool b = k > 2 && k++ > 1; return k;").substr(0, 30),
            "'++' stands behind a condition");
  EXPECT_EQ(error("int k = 3; auto x = Map(v, [&](float x) { return x + k++; }); return k;").substr(0, 30),
            "a lambda cannot change 'k' aro");
  EXPECT_EQ(error("int k = 0; auto f = [=]() { k += 1; return k; }; return f();").substr(0, 25),
            "this lambda has a copy of");
  EXPECT_EQ(error("std::map<int, int> m; return n > 1 && m[n] > 1;").substr(0, 32),
            "this subscript may insert a key;");
}

TEST_F(Loops, CallLambdasThatChangeVariables) {
  EXPECT_EQ(
      results("int s = 0; auto add = [&](int k) { if (k > 2) return; s += k; s *= 2; }; add(n); add(1); "
              "return s;"),
      results("int s = n > 2 ? 0 : n * 2; return (s + 1) * 2;"));
  EXPECT_EQ(results("int best = -1; for (int i = 0; i < 5; ++i) { if (i > n) { best = i; return best; } } "
                    "return best;"),
            results("return n < 4 ? n + 1 : -1;"));
  EXPECT_EQ(
      results("std::vector<int> w(2); auto& x = w[1]; x = n; std::swap(w[0], x); int a, b; std::tie(a, b) "
              "= std::make_pair(w[0], w[1]); return a * 10 + b;"),
      results("return n * 10;"));
  EXPECT_EQ(results("std::map<int, float> m{{n, 2.5f}, {7, 1}}; m[8] += 3; if (auto it = m.find(n); it != "
                    "m.end()) it->second *= 2; return m.at(n) + m.count(9) + m.size() * 10;"),
            results("return 5.f + 30;"));
}

TEST_F(Loops, MakePairs) {
  EXPECT_EQ(results("std::pair<int, double> p(n, 2.5); if (n > 2) p = {7, 1}; return p.first + p.second;"),
            "double: 4.5 2.5 8");
  EXPECT_EQ(results("auto [a, b] = std::make_pair(n, 1.5f); b += a; return b;"), "float: 3.5 1.5 6.5");
  EXPECT_EQ(
      results("std::vector<std::pair<int, float>> w; for (size_t i = 0; i < v.size(); ++i) w.push_back({i, "
              "v[i]}); std::sort(w.begin(), w.end(), [](const auto& a, const auto& b) { return a.second > "
              "b.second; }); int s = 0; for (const auto& [i, x] : w) s = 10 * s + i; return s;"),
      "std::int32_t: 10 0 21");
  EXPECT_EQ(
      results(
          "auto t = std::make_tuple(n, 2.5, v); auto [a, b, c] = t; return std::get<0>(t) + b + c.size();"),
      "double: 6.5 2.5 10.5");
  EXPECT_EQ(error("auto [a, b, c] = std::make_pair(1, 2); return a;").substr(0, 20), "std::pair<std::int32");
  EXPECT_EQ(error("std::pair<int, int> p(1, 2, 3); return 1;").substr(0, 58),
            "std::pair<std::int32_t,std::int32_t> has 2 members, got 3\n");
  EXPECT_EQ(error("auto t = std::make_tuple(1); return std::get<1>(t);").substr(0, 43),
            "std::tuple<std::int32_t> has no member <1>\n");
}

TEST(TextFunctions, ReturnBraces) {
  const TextFunctions functions(
      "ROOT::RVecF first(const ROOT::RVecF& x) { if (x.empty()) return {}; return {x[0], 1}; }\n"
      "std::pair<double, double> both(float x) { if (x < 0) return {0, 1}; return std::make_pair(x, 2); }");
  const ValueType floats = ValueType::list(ElementType::float32);
  EXPECT_EQ(functions.kernel("first", std::vector{floats})->result(), floats);
  EXPECT_EQ(functions.kernel("both", std::vector{ValueType(ElementType::float32)})->result().name(),
            "std::pair<double,double>");
}

TEST_F(Loops, AreInterrupted) {
  int asked = 0;
  const Interruption interruption([&] { return ++asked > 0; });
  EXPECT_THROW(results("int k = 0; while (true) { k = k * 5 + 1; if (k == 2) return k; }"), Interrupted);
}

TEST_F(Loops, StayWithinTheMemoryOfABlock) {
  BlockMemory memory;
  memory.limit(std::size_t{1} << 16);
  // The turns may take more together.
  const ValuesPtr ended = run_all("int k = 0; while (k < 20000) k += 1; return k;", memory);
  EXPECT_EQ(text_of(*ended, 2), "{k: 20000}");
  EXPECT_FALSE(memory.is_exhausted());
  EXPECT_THROW(
      run_all("ROOT::RVecD w; while (true) { w.push_back(1); if (w.size() == 0) break; } return w;", memory),
      Error);
  EXPECT_TRUE(memory.is_exhausted());
}

TEST_F(Loops, CountCharactersAsMemoryOfABlock) {
  const std::string doubling =
      "std::string s = \"ab\"; for (int k = 0; k < 14; ++k) s += s; return s.size();";
  BlockMemory memory;
  memory.limit(std::size_t{1} << 20);
  static_cast<void>(run_all(doubling, memory));
  EXPECT_FALSE(memory.is_exhausted());
  memory.limit(std::size_t{1} << 14);
  EXPECT_THROW(run_all(doubling, memory), Error);
  EXPECT_TRUE(memory.is_exhausted());
}

std::string refusal(const std::string& text) {
  try {
    TextFunctions functions(text);
    return "no error";
  } catch (const Error& error) {
    return error.problem().substr(0, error.problem().find('\n'));
  }
}

TEST(TextFunctions, SayWhatTheyAre) {
  const TextFunctions functions(
      "#include <cmath>\n"
      "using numbers = const std::vector<float>&;\n"
      "const float limit = 2;\n"
      "namespace a { int count(numbers x, float least = limit) { int n = 0; for (auto y : x) n += y > least; "
      "return n; } }\n"
      "template <class T> T first(const std::vector<T>& x) { return x[0]; }\n"
      "auto half = [](auto x) { return x / 2; };\n"
      "int sum(int x) { return x; } double sum(double x, int y) { return sum(y) + x; }");
  std::string shown;
  for (const auto& each : functions.signatures()) {
    shown += each.result + " " + each.name;
    for (const std::string& type : each.parameters) shown += " " + type;
    shown += each.is_constant ? " (constant);" : ";";
  }
  EXPECT_EQ(shown,
            "int a::count std::vector<float> float;T first std::vector<T>;auto half auto;int sum int;double "
            "sum double int;float limit "
            "(constant);");
  const ValueType floats = ValueType::list(ElementType::float32);
  EXPECT_EQ(functions.kernel("first", std::vector{floats})->result().name(), "float");
  EXPECT_EQ(functions.kernel("half", std::vector{ValueType(ElementType::int32)})->result().name(),
            "std::int32_t");
  EXPECT_EQ(
      functions.kernel("sum", std::vector{ValueType(ElementType::float64), ValueType(ElementType::int32)})
          ->result()
          .name(),
      "double");
  EXPECT_EQ(functions.kernel("a::count", std::vector{floats})->result().name(), "std::int32_t");
  EXPECT_THROW(functions.kernel("first", std::vector{ValueType(ElementType::int32)}), Error);
  const TextFunctions again(
      "using A = const std::vector<float>&; float f(A x) { using A = double; typedef int B; A y = B(2.5); "
      "return y; }"
      "using A = const std::vector<float>&; typedef std::vector<float> C; typedef std::vector<float> C; C "
      "g(A x) { "
      "return x; }");
  EXPECT_EQ(again.kernel("f", std::vector{floats})->result().name(), "float");
  EXPECT_EQ(again.kernel("g", std::vector{floats})->result().name(), "std::vector<float>");
  EXPECT_THROW(functions.kernel("none", {}), Error);
}

TEST(TextFunctions, MayHaveEnumerations) {
  const TextFunctions functions(
      "enum Flavour { electron = 11, muon = 13, other };\n"
      "namespace a { enum class Kind : int { none, some, }; }\n"
      "int f(Flavour x) { switch (x) { case Flavour::muon: return static_cast<int>(Kind::some); default: "
      "return "
      "other; } }");
  EXPECT_EQ(functions.kernel("muon", {})->result().name(), "std::int32_t");
  EXPECT_EQ(functions.kernel("Kind::some", {})->result().name(), "std::int32_t");
  EXPECT_EQ(functions.kernel("a::Kind::some", {})->result().name(), "std::int32_t");
  EXPECT_EQ(functions.kernel("f", std::vector{ValueType(ElementType::int32)})->result().name(),
            "std::int32_t");
  EXPECT_EQ(refusal("enum A { a, b; int f() { return a; }"), "expected ',' or '}', got ';'");
  EXPECT_EQ(refusal("enum A { a }; int f() { a = 2; return a; }"), "'a' cannot be changed: it is const");
}

TEST(TextFunctions, HaveNamesForTypesWithParameters) {
  const TextFunctions functions(
      "template <typename T> using Vec = const ROOT::RVec<T>&;\n"
      "template <typename K, typename V> using Table = std::map<K, V>;\n"
      "float f(Vec<float> x, Vec<std::vector<int>> y, std::vector<Vec<float>> z) {\n"
      "  Table<int, float> m = {{1, x[0]}}; return m[1] + y[0][0] + z[0][0]; }");
  const ValueType floats = ValueType::list(ElementType::float32);
  const std::vector types = {floats, ValueType::list(ValueType::list(ElementType::int32)),
                             ValueType::list(floats)};
  EXPECT_EQ(functions.kernel("f", types)->result().name(), "float");
  EXPECT_EQ(refusal("template <typename T> using Vec = ; int f() { return 1; }"),
            "expected a type and ';', got ';'");
}

TEST(TextFunctions, HaveTypesOfTemplatesThatDoNotFollow) {
  const TextFunctions functions(
      "template <typename T = short> std::vector<T> zeros(size_t n) { return std::vector<T>(n); }\n"
      "template <typename T = int> T twice(T x) { return x + x; }");
  EXPECT_EQ(functions.kernel("zeros", std::vector{ValueType(ElementType::int32)})->result().name(),
            "std::vector<std::int16_t>");
  EXPECT_EQ(functions.kernel("twice", std::vector{ValueType(ElementType::float64)})->result().name(),
            "double");
}

TEST(TextFunctions, HaveConstantsInNamespaces) {
  const TextFunctions functions(
      "namespace a { static constexpr float mass = 0.5f; const int n = 3, m = n + 1;\n"
      "namespace b { int f() { return a::n + m; } } }\n"
      "double g() { return a::mass; }");
  EXPECT_EQ(functions.kernel("a::mass", {})->result().name(), "float");
  EXPECT_EQ(functions.kernel("a::m", {})->result().name(), "std::int32_t");
  EXPECT_EQ(functions.kernel("a::b::f", {})->result().name(), "std::int32_t");
  EXPECT_EQ(functions.kernel("g", {})->result().name(), "double");
}

TEST(TextFunctions, AreRefusedWhenTheyAreDefined) {
  EXPECT_EQ(refusal("float f(float x) { return y; }"), "there is no column 'y'");
  EXPECT_EQ(refusal("auto f(float x) { return f(x); }"), "unknown function 'f'");
  EXPECT_EQ(refusal("template <class T> int f(T& x) { x = 2; return x; }"), "no error");
  EXPECT_EQ(refusal("void g(float& x) { x = 1; } int f(float x) { return x > 1 && g(x); }"),
            "'g' changes variables; call it in a statement of its own");
  EXPECT_EQ(refusal("void g(float& x) { x = 1; } int f(float x) { return g(x); }"), "'g' returns nothing");
  EXPECT_EQ(refusal("void g(float& x) { x = 1; } int f(const float& x) { g(x); return x; }"),
            "'x' cannot be changed: it is const");
  EXPECT_EQ(refusal("void g(float& x) { x = 1; } int f(float x) { g(x + 1); return x; }"),
            "'g' changes this argument; a variable or an item of one should be here");
  EXPECT_EQ(refusal("void g(float& x, const float& y) { x = y; } int f(float x) { g(x, x); return x; }"),
            "'g' changes 'x', which it also has in another way");
  EXPECT_EQ(refusal("void g(double& x) { x = 1; } int f(float x) { g(x); return x; }"),
            "a reference to double cannot refer to float");
  EXPECT_EQ(refusal("int g(float& x) { x = 1; return 2; } float f(float x) { return x + g(x); }"),
            "this call changes 'x', which the rest of the statement names; write two statements");
  EXPECT_EQ(refusal("int g(float& x) { x = 1; return 2; } int g(int x) { return x; }"),
            "there is another function 'g'; what changes its arguments needs a name of its own");
  EXPECT_EQ(refusal("int f(int x) { static int n = 0; n += x; return n; }"),
            "'n' cannot be changed: it is static, and entries are computed in any order");
  EXPECT_EQ(refusal("union A {};"),
            "'union' is not supported: only functions, classes and constants can be defined");
  EXPECT_EQ(refusal("#define A 3\nint f() { return A; }"), "no error");
  EXPECT_EQ(refusal("#define A 3\n#define A  3  // again\nint f() { return A; }"), "no error");
  EXPECT_EQ(refusal("#define A 3\nint f() { return A; }\n#undef A\n#define A 4\nint g() { return A; }"),
            "the macro 'A' has several values; give each a name of its own");
  EXPECT_EQ(refusal("#define A(x) x\nint f() { return A(1); }"),
            "macros with parameters or several lines are not expanded; write a function");
  EXPECT_EQ(refusal("float Sum(float x) { return x; }"),
            "'Sum' is already a function of the language; use another name");
  EXPECT_EQ(refusal("int f(Foo x) { return 1; }"), "unknown type 'Foo' of a parameter");
  EXPECT_EQ(refusal("int f(int n) { while (true) n += 1; }"), "these statements never return");
  EXPECT_EQ(refusal("int f(int n) { return n"), "'{' without its '}'");
  EXPECT_EQ(refusal("namespace a { int f() { return 1; }"), "'{' without its '}'");
  EXPECT_EQ(refusal("template <int N> int f() { return N; }"), "expected 'typename', got 'int'");
  EXPECT_EQ(refusal("int f(int x) { return 1; } int f(const int& y) { return 2; }"),
            "there is already a function 'f' with these parameters");
  EXPECT_EQ(refusal("const int a = b; int f() { return a; }"), "there is no column 'b'");
}

TEST(TextFunctions, DoNotPrintWhatChangesVariables) {
  const auto refusal_of = [](const std::string& statement) {
    return refusal(
        "struct C { int n = 0; int next() { n += 1; return n; } };\n"
        "namespace a { int bump(int& n) { n += 1; return n; } }\n"
        "int f(int n, ROOT::RVecI v) { int m = 1; C c; " +
        statement + " return n; }");
  };
  for (const std::string printed :
       {"n++", "(n = 2)", "(n += 2)", "(n <<= 2)", "n, m *= 3", "v.emplace_back(3)", "c.next()",
        "1, std::sort(v.begin(), v.end())", "1, std::swap(n, m)", "a::bump(n)"})
    EXPECT_EQ(refusal_of("std::cout << " + printed + ";").substr(0, 26), "nothing is printed here; t")
        << printed;
  for (const std::string printed : {"\"n=\" << n", "(n == 2)", "(n <= 2) << std::endl", "v.size()", "c.n"})
    EXPECT_EQ(refusal_of("std::cout << " + printed + ";"), "no error") << printed;
}

// "c::P" within b was that of a.
TEST(TextFunctions, SayWhichNamesAreMeant) {
  const std::string both =
      "namespace a { namespace c { struct P { int x = 1; }; } int f() { c::P p; return p.x; } }\n"
      "namespace b { namespace c { struct P { int x = 2; }; int g() { P p; return p.x; } } }\n";
  EXPECT_EQ(refusal(both + "int h() { a::c::P p; b::c::P q; return p.x + q.x; }"), "no error");
  EXPECT_EQ(refusal(both + "namespace b { int f() { c::P p; return p.x; } }"),
            "'c::P' may be that of 'a::c::' or of 'b::c::'; write all namespaces");
}

TEST(TextFunctions, HaveLimits) {
  std::string nested;
  for (int i = 0; i < 200; ++i) nested += "namespace a {";
  EXPECT_EQ(refusal(nested), "more than 100 nested namespaces");
  std::string names;
  for (int i = 0; i < 1001; ++i) names += fmt::format("using a{} = int; ", i);
  EXPECT_EQ(refusal(names), "more than 1000 names for types");
  std::string grows = "using a0 = std::vector<int>; ";
  for (int i = 1; i < 90; ++i) grows += fmt::format("using a{0} = std::map<a{1}, a{1}>; ", i, i - 1);
  EXPECT_NE(refusal(grows + "a89 f() { return 1; }"), "no error");
  std::string jumps = "int f(int n) { while (n > 0) { n -= 1; ";
  for (int i = 0; i < 40; ++i) {
    jumps += "if (n == 1) {";
    for (int j = 0; j < 40; ++j) jumps += "if (n == 2) break;";
    jumps += "}";
  }
  EXPECT_EQ(refusal(jumps + "} return n; }"), "more than 1000 jumps");
}

// Functions that call each other many times are bound once for each combination of types.
TEST(TextFunctions, AreBoundOnce) {
  std::string text = "int f0(int x) { return x; }\n";
  for (int i = 1; i < 60; ++i)
    text += fmt::format("int f{0}(int x) {{ return f{1}(x) + f{1}(x + 1); }}\n", i, i - 1);
  EXPECT_EQ(refusal(text), "no error");
  for (int i = 60; i < 1000; ++i) text += fmt::format("int f{0}(int x) {{ return f{1}(x); }}\n", i, i - 1);
  EXPECT_EQ(refusal(text), "more than 1000 nested operations, with the functions that it calls");
}

}  // namespace
}  // namespace colonnade::frame
