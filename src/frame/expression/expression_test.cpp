// Formulas, from text to values: names, functions, C++ types, and the exact messages of errors. The functions
// of the library have their own tests; few of them are used here, so that changes of their messages do not
// affect these tests.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <string>

#include "base/test_fixtures.h"
#include "colonnade/error.h"
#include "frame/expression/binder.h"
#include "frame/expression/parser.h"
#include "frame/expression/testing.h"

namespace colonnade::frame {
namespace {

using expression_testing::lists;
using expression_testing::scalars;

class Expressions : public ::testing::Test {
 public:
  Expressions() {
    columns.add("x", scalars<float>({1.5f, -2, 0}));
    columns.add("n", scalars<int>({2, 0, 1}));
    columns.add("d", scalars<double>({0.5, 4, 9}));
    columns.add("flag", scalars<bool>({true, false, true}));
    columns.add("pt", lists<float>({{10, 30}, {}, {25}}));
    columns.add("charge", lists<int>({{1, -1}, {}, {1}}));
    columns.add("jets.pt", lists<float>({{1, 2}, {3}, {}}));
    columns.add("a.b.c", scalars<int>({7, 8, 9}));
    const ValueType point =
        ValueType::record("Point", {{"x", ElementType::float64}, {"y", ElementType::int32}});
    columns.add("point", make_record(point, 3, {scalars<double>({1, 2, 3}), scalars<int>({4, 5, 6})}));
    columns.add("points",
                expression_testing::lists_of(
                    {2, 0, 1}, make_record(point, 3, {scalars<double>({1, 2, 3}), scalars<int>({4, 5, 6})})));
  }

  // The type of the result and its value for every row.
  std::string results(const std::string& text, std::uint32_t rows = 3) {
    const ExpressionId id = Formula(text).bind(pool, columns);
    Evaluator evaluator(pool, columns);
    std::string all = pool[id].type.name() + ":";
    for (std::uint32_t row = 0; row < rows; ++row) all += " " + text_of(*evaluator.value(id, row), 0);
    return all;
  }
  ExpressionId bind(const std::string& text) { return Formula(text).bind(pool, columns); }
  std::string error(const std::string& text, ErrorKind kind) {
    try {
      return "no error: " + text_of(pool, bind(text));
    } catch (const Error& caught) {
      EXPECT_EQ(caught.kind(), kind) << caught.what();
      return caught.what();
    }
  }
  using Evaluator = expression_testing::Evaluator;

  ExpressionPool pool;
  expression_testing::Columns columns{pool};
};

TEST_F(Expressions, ComputeWithColumns) {
  EXPECT_EQ(results("x + n"), "float: 3.5 -2 1");
  EXPECT_EQ(results("x * d"), "double: 0.75 -8 0");
  EXPECT_EQ(results("n / 2"), "std::int32_t: 1 0 0");
  EXPECT_EQ(results("n / 2."), "double: 1 0 0.5");
  EXPECT_EQ(results("-x > 0 && n == 0"), "bool: false true false");
  EXPECT_EQ(results("flag + flag"), "std::int32_t: 2 0 2");
  EXPECT_EQ(results("sqrt(d) + std::sqrt(d) - TMath::Sqrt(d)"), "double: 0.7071067811865476 2 3");
  EXPECT_EQ(results("Sum(pt[pt > 20])"), "float: 30 0 25");
  EXPECT_EQ(results("rdfentry_ % 2 == 0"), "bool: true false true");
}

TEST_F(Expressions, FindTheLongestNameFirst) {
  EXPECT_EQ(results("jets.pt"), "std::vector<float>: {1, 2} {3} {}");
  EXPECT_EQ(results("jets.pt.size() + a.b.c"), "std::uint64_t: 9 9 9");
  columns.asked.clear();
  bind("point.y");
  EXPECT_EQ(columns.asked, (std::vector<std::string>{"point.y", "point"}));
  EXPECT_EQ(results("point.y + point.x"), "double: 5 7 9");
  EXPECT_EQ(results("points.x"), "std::vector<double>: {1, 2} {} {3}");
  EXPECT_EQ(results("points.size() > 0 ? points[0].y : -1"), "std::int32_t: 4 -1 6");
  EXPECT_EQ(results("#pt"), "std::uint64_t: 2 0 1");
}

TEST_F(Expressions, KnowNamedConstants) {
  EXPECT_EQ(results("M_PI", 1), "double: 3.141592653589793");
  EXPECT_EQ(results("std::numeric_limits<int>::max()", 1), "std::int32_t: 2147483647");
  EXPECT_EQ(results("kTRUE", 1), "bool: true");
  EXPECT_EQ(results("std::string(\"ab\").find(\"c\") == std::string::npos", 1), "bool: true");
}

TEST_F(Expressions, ComputeTheRightSideOnlyWhereItCounts) {
  EXPECT_EQ(results("n > 0 && pt[0] > 20"), "bool: false false true");
  EXPECT_EQ(results("n == 0 || pt[0] > 20"), "bool: false true true");
  EXPECT_EQ(results("n > 0 ? pt[0] : -1"), "float: 10 -1 25");
  EXPECT_EQ(results("n && x"), "bool: true false false");
  EXPECT_TRUE(pool[bind("pt[0]")].only_where_needed);
  EXPECT_TRUE(pool[bind("pt[0] > 20")].only_where_needed);
  EXPECT_FALSE(pool[bind("x > 20")].only_where_needed);
}

TEST_F(Expressions, ConnectListsItemByItem) {
  EXPECT_EQ(results("pt > 20 && charge > 0"), "std::vector<bool>: {false, false} {} {true}");
  EXPECT_EQ(results("pt > 20 || flag"), "std::vector<bool>: {true, true} {} {true}");
  EXPECT_EQ(results("!(pt > 20)"), "std::vector<bool>: {true, false} {} {false}");
}

TEST_F(Expressions, ChooseInTheCommonType) {
  EXPECT_EQ(results("flag ? n : x"), "float: 2 -2 1");
  EXPECT_EQ(results("flag ? 'a' : 'b'"), results("flag ? 'a' : 'b'"));
  EXPECT_EQ(pool[bind("flag ? flag : !flag")].type, ValueType(ElementType::boolean));
  EXPECT_EQ(pool[bind("flag ? pt : charge")].type, ValueType::list(ElementType::float32));
  EXPECT_EQ(results("flag ? pt : ROOT::RVecF{}"), "std::vector<float>: {10, 30} {} {25}");
  EXPECT_EQ(results("n == 0 ? 10 : n == 1 ? 20 : 30.5"), "double: 30.5 10 20");
}

TEST_F(Expressions, Cast) {
  EXPECT_EQ(results("(int)d"), "std::int32_t: 0 4 9");
  EXPECT_EQ(results("static_cast<float>(n) / 4"), "float: 0.5 0 0.25");
  EXPECT_EQ(results("float(n) / 4"), results("(float)n / 4"));
  EXPECT_EQ(bind("float(n)"), bind("static_cast<float>(n)"));
  EXPECT_EQ(results("int()", 1), "std::int32_t: 0");
}

TEST_F(Expressions, MakeLists) {
  EXPECT_EQ(results("ROOT::RVecD{x, n}"), "std::vector<double>: {1.5, 2} {-2, 0} {0, 1}");
  EXPECT_EQ(results("std::vector<float>{1, 2}", 1), "std::vector<float>: {1, 2}");
  EXPECT_EQ(results("Take(pt, {0})", 1), "std::vector<float>: {10}");
  EXPECT_EQ(results("std::vector<std::vector<float>>{{1, 2}, {}}", 1),
            "std::vector<std::vector<float>>: {{1, 2}, {}}");
}

TEST_F(Expressions, FillLists) {
  EXPECT_EQ(results("ROOT::RVecF(n, 0.5)"), "std::vector<float>: {0.5, 0.5} {} {0.5}");
  EXPECT_EQ(results("ROOT::RVec<int>(pt.size())"), "std::vector<std::int32_t>: {0, 0} {} {0}");
  EXPECT_EQ(results("ROOT::RVecD(pt)", 1), "std::vector<double>: {10, 30}");
  EXPECT_EQ(
      error("ROOT::RVecF(x, 1)", ErrorKind::type),
      "'ROOT::RVecF' needs an integer as number of items, got float\n  ROOT::RVecF(x, 1)\n              ^");
  try {
    results("ROOT::RVecF(n - 1, 1)");
    FAIL() << "a list of less than no items";
  } catch (const Error& caught) {
    EXPECT_STREQ(caught.what(), "in entry 1, a list of -1 items cannot be made; try: ask for 0 to 100000000");
  }
}

TEST_F(Expressions, TakeStatements) {
  EXPECT_EQ(results("auto s = x + n; const float t = s * 2; return t > 1 ? t : s;"), "float: 7 -2 2");
  EXPECT_EQ(results("if (n == 0) return -1; auto first = pt[0]; return first;"), "float: 10 -1 25");
  EXPECT_EQ(results("int i = d; return i;"), "std::int32_t: 0 4 9");
  EXPECT_EQ(results("auto x = n; return x;"), "std::int32_t: 2 0 1");
  // What stands in brackets behind a name makes its value, as T{...} and T(...) do.
  EXPECT_EQ(results("std::array<double, 2> v{x, n}; return v;", 1), "std::vector<double>: {1.5, 2}");
  EXPECT_EQ(results("ROOT::RVecD v(n, 0.5), w(n), u{2.5}, e{}; return v + w;"),
            "std::vector<double>: {0.5, 0.5} {} {0.5}");
  EXPECT_EQ(results("ROOT::RVecD v{pt}, w(v), u{{1, 2}}; return w * u;", 1), "std::vector<double>: {10, 60}");
  EXPECT_EQ(results("std::vector<std::vector<float>> v = {{1}, {}}, w{{}, {x}}; return v;", 1),
            "std::vector<std::vector<float>>: {{1}, {}}");
  EXPECT_EQ(error("float a{x, n}; return a;", ErrorKind::type),
            "float is made from one value, got 2\n  float a{x, n}; return a;\n        ^~~~~~~");
}

TEST_F(Expressions, AreComputedOnce) {
  const ExpressionId first = bind("sqrt(d) > 2 && n > 0");
  const std::size_t size = pool.size();
  EXPECT_EQ(bind("auto r = std::sqrt( d ); return r > 2 and n > 0;"), first);
  EXPECT_EQ(pool.size(), size);
}

TEST_F(Expressions, FoldConstants) {
  EXPECT_EQ(pool[bind("2 * M_PI + sqrt(4) > 1 ? 3 : 4")].op, Op::constant);
  EXPECT_EQ(results("2 * 3 + 4", 1), "std::int32_t: 10");
  EXPECT_EQ(bind("true && n > 0"), bind("n > 0"));
  EXPECT_EQ(pool[bind("-1")].op, Op::constant);
}

TEST_F(Expressions, QuotedNamesAreColumnsAndNothingElse) {
  columns.add("a+b", expression_testing::scalars<double>({5, 6}));
  columns.add("M_PI", expression_testing::scalars<double>({1, 2}));
  EXPECT_EQ(pool[bind("`a+b`")].op, Op::column);
  EXPECT_EQ(pool[bind("`M_PI`")].op, Op::column);
  EXPECT_EQ(pool[bind("M_PI")].op, Op::constant);
  EXPECT_EQ(bind("auto x = 1; return `x`;"), bind("x"));
  for (const std::string text : {"`sqrt`(x)", "`a+b", "``", "`x` `x`"})
    EXPECT_THROW(bind(text), Error) << text;

  for (const std::string name : {"x", "jets.pt", "#pt", "rdfentry_"}) EXPECT_EQ(column_text(name), name);
  for (const std::string name : {"a+b", "M_PI", "and", "true", "int", "return", " x", "1", "x[0]", "x()"})
    EXPECT_EQ(column_text(name), "`" + name + "`");
  EXPECT_THROW(column_text("a`b"), Error);
  EXPECT_THROW(column_text(""), Error);
}

TEST_F(Expressions, GiveTheItemsOfVariations) {
  const auto items = [&](const std::string& text) {
    std::string all;
    for (const ExpressionId id : Formula(text).bind_items(pool, columns)) all += pool[id].type.name() + ";";
    return all;
  };
  EXPECT_EQ(items("{x * 1.1, n}"), "double;std::int32_t;");
  EXPECT_EQ(items("ROOT::RVecD{x, n}"), "double;double;");
  EXPECT_EQ(items("ROOT::RVecF({d, n})"), "float;float;");
  EXPECT_EQ(items("auto y = x; return ROOT::RVecF{y, y};"), "float;float;");
  EXPECT_EQ(items("pt * 2"), "std::vector<float>;");
  EXPECT_EQ(items("ROOT::RVecD{pt * 2}"), "std::vector<double>;");
  EXPECT_EQ(items("{pt * 2, pt}"), "std::vector<float>;std::vector<float>;");
  EXPECT_EQ(items("ROOT::RVec<ROOT::RVecI>{{}, {n}}"),
            "std::vector<std::int32_t>;std::vector<std::int32_t>;");
  EXPECT_EQ(error("{{}, pt}", ErrorKind::type).substr(0, 33), "a list without items has no type;");
  const auto of_empty = Formula("{{}, pt}").bind_items(pool, columns, ValueType::list(ElementType::float32));
  EXPECT_EQ(pool[of_empty.at(0)].type, pool[of_empty.at(1)].type);
}

TEST_F(Expressions, FollowVariablesThatChange) {
  EXPECT_EQ(results("int s = 1; if (n > 1) s = 2; return s;"), results("n > 1 ? 2 : 1"));
  EXPECT_EQ(results("int s = n; s *= 2.6; ++s; return s;"), results("(int) (n * 2.6) + 1"));
  EXPECT_EQ(results("unsigned char s = 250; s += n * 3; return s;"),
            results("(unsigned char) (250 + n * 3)"));
  EXPECT_EQ(results("float s; if (n > 1) { s = x; } else if (n == 1) s = 7; else { return -5.f; } return s;"),
            results("n > 1 ? x : n == 1 ? 7.f : -5.f"));
  EXPECT_EQ(
      results("float s = 0; if (n > 0) { if (x > 0) return 9.f; float t = 2; t *= x; s = t; } return s + 1;"),
      results("n > 0 && x > 0 ? 9.f : n > 0 ? 2 * x + 1 : 1.f"));
  // Branches compute only where they are taken.
  EXPECT_EQ(results("float s = -1; if (pt.size() > 1) s = pt[1]; return s;"),
            results("pt.size() > 1 ? pt[1] : -1.f"));
  EXPECT_EQ(results("auto s = pt; if (n > 1) { s = s * 2; s = s + 1; } return s;"),
            results("n > 1 ? pt * 2 + 1 : pt * 1.f"));
  // A name means the innermost variable, or what it hides once that is gone.
  EXPECT_EQ(results("int n = 5; if (true) { int n = 1; n = 2; } n += 1; return n;"), results("6 + 0 * n"));
  EXPECT_EQ(results("if (n > 100) return 0; else { int n = 3; n = 4; } return n;"), results("n"));
  EXPECT_EQ(
      results("int k = 1; auto v = Map(pt, [&](float p) { int k = p; k += 1; return k; }); k = 3; return "
              "Sum(v) + k;"),
      results("Sum(Map(pt, [](float p) { return (int) p + 1; })) + 3"));
  EXPECT_EQ(results("auto s = pt; s = Map(s, [](float a) { int u = a; u += 1; return u; }); return s;"),
            results("Map(pt, [](float a) { return (float) ((int) a + 1); })"));
  EXPECT_EQ(error("int s; if (n > 1) s = 2; return s;", ErrorKind::usage).substr(0, 26),
            "'s' may have no value here");
  EXPECT_EQ(error("int s; return Sum(Map(pt, [&](float p) { return s; }));", ErrorKind::usage).substr(0, 25),
            "'s' may have no value her");
  EXPECT_EQ(error("int s = 1; s = pt; return s;", ErrorKind::type).substr(0, 20), "std::vector<float> d");
}

TEST_F(Expressions, ConvertArgumentsToTypesInAngleBrackets) {
  EXPECT_EQ(results("std::max<double>(n, 1) / 2"), "double: 1 0.5 0.5");
  EXPECT_EQ(results("std::min<int>(x, 1.9)"), "std::int32_t: 1 -2 0");
  EXPECT_EQ(results("std::clamp<double>(n, 1, 5) / 2"), "double: 1 0.5 0.5");
  EXPECT_EQ(results("std::max<unsigned char>(n, 257)"), "std::uint8_t: 2 1 1");
  EXPECT_EQ(results("Sum<double>(charge) / 2"), "double: 0 0 0.5");
  EXPECT_EQ(results("ROOT::VecOps::Where<double>(charge > 0, charge, 0) / 2"),
            "std::vector<double>: {0.5, 0} {} {0.5}");
  EXPECT_EQ(results("Take<double>(charge, 1, 0) / 2"), "std::vector<double>: {0.5} {0} {0.5}");
  EXPECT_EQ(results("std::pow<double>(x, n)").substr(0, 7), "double:");
  EXPECT_EQ(error("std::sqrt<float>(x)", ErrorKind::usage),
            "'std::sqrt' takes no types in < >\n  std::sqrt<float>(x)\n  ^~~~~~~~~~~~~~~~");
  EXPECT_EQ(error("std::max<Foo::Bar>(x, n)", ErrorKind::not_found),
            "unknown type 'Foo::Bar'\n  std::max<Foo::Bar>(x, n)\n  ^~~~~~~~~~~~~~~~~~");
}

TEST_F(Expressions, FindTheExtremeOfSeveralValues) {
  EXPECT_EQ(results("std::max({n, 1, (int) d})"), "std::int32_t: 2 4 9");
  EXPECT_EQ(results("std::min({x, 1.f})"), "float: 1 -2 0");
  EXPECT_EQ(results("std::max<double>({n, 1}) / 2"), "double: 1 0.5 0.5");
  EXPECT_EQ(results("std::min({n})"), "std::int32_t: 2 0 1");
  EXPECT_EQ(error("std::max({})", ErrorKind::type).substr(0, 30), "a list without items has no ty");
}

TEST_F(Expressions, KnowTheClassesOfVectors) {
  const std::string vectors =
      "auto v = Construct<ROOT::Math::PtEtaPhiMVector>(pt, 0 * pt, 0 * pt, 0 * pt); return ";
  EXPECT_EQ(results(vectors + "Map(v, [](const ROOT::Math::PtEtaPhiMVector& p) { return p.Pt(); });"),
            "std::vector<double>: {10, 30} {} {25}");
  EXPECT_EQ(
      results(vectors +
              "Map(v, [](ROOT::Math::XYZTVector p) -> ROOT::Math::PtEtaPhiMVector { return p; }).Px();"),
      "std::vector<double>: {10, 30} {} {25}");
  EXPECT_EQ(results("ROOT::Math::PtEtaPhiMVector a(n, 0, 0, 0), b{a}; ROOT::Math::XYZTVector c = a + b; "
                    "return c.Px();"),
            "double: 4 0 2");
  EXPECT_EQ(
      results("ROOT::Math::PxPyPzEVector a(n, 0, 0, n); return "
              "ROOT::Math::VectorUtil::DeltaR<ROOT::Math::PxPyPzEVector, ROOT::Math::PxPyPzEVector>(a, a);")
          .substr(0, 7),
      "double:");
  EXPECT_EQ(
      results("ROOT::Math::LorentzVector<ROOT::Math::PtEtaPhiM4D<double>> a(n, 0, 0, 0); return a.E();"),
      "double: 2 0 1");
  EXPECT_EQ(
      error("ROOT::Math::XYZVector v = ROOT::Math::PxPyPzEVector(n, n, n, n); return v.X();", ErrorKind::type)
          .substr(0, 72),
      "ROOT::Math::PxPyPzEVector does not convert to ROOT::Math::XYZVector\n  RO");
}

// ---- Messages

TEST_F(Expressions, SayWhichColumnIsUnknown) {
  EXPECT_EQ(error("flags == 2", ErrorKind::not_found),
            "there is no column 'flags'; did you mean 'flag'?\n  flags == 2\n  ^~~~~");
  EXPECT_EQ(error("x + jets.pz", ErrorKind::not_found),
            "there is no column 'jets.pz'; did you mean 'jets.pt'?\n  x + jets.pz\n      ^~~~~~~");
  EXPECT_EQ(error("point.z", ErrorKind::not_found),
            "Point has no member 'z'; did you mean 'x' or 'y'?\n  point.z\n        ^");
  EXPECT_EQ(error("x.y", ErrorKind::type), "float has no member 'y'\n  x.y\n    ^");
  EXPECT_EQ(error("sqrt > 2", ErrorKind::not_found),
            "there is no column 'sqrt'; the function is called as sqrt(...)\n  sqrt > 2\n  ^~~~");
}

TEST_F(Expressions, SayWhichFunctionIsUnknown) {
  EXPECT_EQ(error("Sumx(pt) > 5", ErrorKind::not_found),
            "unknown function 'Sumx'; did you mean 'Sum'?\n  Sumx(pt) > 5\n  ^~~~");
  EXPECT_EQ(error("1 + pt.siz()", ErrorKind::not_found),
            "unknown method 'siz'; did you mean 'size'?\n  1 + pt.siz()\n         ^~~");
  EXPECT_EQ(error("point.x()", ErrorKind::not_found),
            "'x' is a member of Point, not a method; write it without ()\n  point.x()\n        ^");
  EXPECT_EQ(error("std::reduce(pt.begin(), pt.end(), 0.)", ErrorKind::not_found).substr(0, 47),
            "unknown function 'std::reduce'; write Sum(list)");
  EXPECT_EQ(error("Frobnicate<float>(x)", ErrorKind::not_found),
            "unknown function 'Frobnicate'\n  Frobnicate<float>(x)\n  ^~~~~~~~~~~~~~~~~");
  EXPECT_EQ(error("std::vector<Foo>{}", ErrorKind::not_found),
            "unknown type 'std::vector<Foo>'\n  std::vector<Foo>{}\n  ^~~~~~~~~~~~~~~~");
}

TEST_F(Expressions, SayWhyTypesDoNotFit) {
  EXPECT_EQ(error("pt ? 1 : 2", ErrorKind::type),
            "the condition of '?:' must be one value, got std::vector<float>; item by item, write "
            "Where(condition, a, b)\n  "
            "pt ? 1 : 2\n  ^~");
  EXPECT_EQ(
      error("flag ? pt : 2", ErrorKind::type),
      "std::vector<float> and std::int32_t have no common type to choose between\n  flag ? pt : 2\n       ^");
  EXPECT_EQ(error("{}", ErrorKind::type),
            "a list without items has no type; write ROOT::RVecF{}, say\n  {}\n  ^~");
  EXPECT_EQ(error("float(x, n)", ErrorKind::type),
            "float is made from one value, got 2\n  float(x, n)\n  ^~~~~~~~~~~");
  EXPECT_EQ(error("Foo y = x; return y;", ErrorKind::not_found),
            "unknown type 'Foo' of 'y'\n  Foo y = x; return y;\n      ^");
  EXPECT_EQ(error("float y = pt; return y;", ErrorKind::type),
            "std::vector<float> does not convert to float\n  float y = pt; return y;\n        ^");
}

TEST_F(Expressions, BindLongTextsWithoutDeepRecursion) {
  std::string conditions = "n == 0";
  std::string sum = "n";
  for (int i = 1; i < 5000; ++i) conditions += " || n == " + std::to_string(i);
  for (int i = 1; i < 900; ++i) sum += " + " + std::to_string(i);
  EXPECT_EQ(results(conditions), "bool: true true true");
  EXPECT_EQ(results(sum, 1), "std::int32_t: 404552");
}

// ---- With a custom function table

Bound only_lists(const Call& call) {
  EXPECT_EQ(call.name, "ROOT::VecOps::Total");
  EXPECT_EQ(call.arguments[0].constant != nullptr, call.arguments[0].type.is_integer());
  return {nullptr, "needs a list, got " + call.arguments[0].type.name()};
}

TEST(OwnFunctions, AreFoundWithoutTheirNamespace) {
  ExpressionPool pool;
  expression_testing::Columns columns(pool);
  columns.add("x", scalars<float>({1}));
  const FunctionTable table({{"Total", "Total(list) or Total(list, start)", only_lists}});
  const auto error = [&](const std::string& text) -> std::string {
    const Formula::Syntax syntax = parse(text);
    try {
      Binder(syntax, pool, columns, table).bind();
    } catch (const Error& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_EQ(error("1 + ROOT::VecOps::Total(x)"),
            "ROOT::VecOps::Total(float) cannot be called: needs a list, got float\n  1 + "
            "ROOT::VecOps::Total(x)\n      "
            "^~~~~~~~~~~~~~~~~~~~~~\n  it is Total(list) or Total(list, start)");
  EXPECT_EQ(error("ROOT::VecOps::Total(3)"),
            "ROOT::VecOps::Total(std::int32_t) cannot be called: needs a list, got std::int32_t\n  "
            "ROOT::VecOps::Total(3)\n  ^~~~~~~~~~~~~~~~~~~~~~\n  it is Total(list) or Total(list, start)");
  EXPECT_EQ(error("x + x"), "'+' does not take float and float\n  x + x\n    ^");
  EXPECT_EQ(error("x ^ x"), "'^' does not take float and float; for powers, write pow(x, y)\n  x ^ x\n    ^");
  EXPECT_EQ(error("!x"), "'!' does not take float\n  !x\n  ^");
}

TEST(OwnFunctions, HaveOneEntryEach) {
  EXPECT_THROW(FunctionTable({{"f", "", nullptr}, {"f", "", nullptr}}), std::logic_error);
}

TEST(Functions, HaveSignaturesAndAreFound) {
  EXPECT_GT(all_functions().size(), 100u);
  for (const Function& function : all_functions()) {
    EXPECT_EQ(find_function(function.name), &function) << function.name;
    EXPECT_FALSE(function.signature.empty()) << function.name;
  }
  EXPECT_NE(find_function("std::sqrt"), nullptr);
  EXPECT_EQ(find_function("std::sqrt"), find_function("sqrt"));
  EXPECT_NE(find_function("ROOT::VecOps::Sum"), nullptr);
}

// The words in `code` of a document; methods with their dot.
std::set<std::string> documented_words(const std::string& document) {
  std::set<std::string> words;
  std::string word;
  bool code = false;
  for (const char c : document) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':') {
      word += c;
      continue;
    }
    if (code && !word.empty()) words.insert(word);
    word = c == '.' ? "." : "";
    if (c == '`') code = !code;
  }
  return words;
}

TEST(Functions, StandInTheDocument) {
  std::ifstream file(test_fixtures() / "../../docs/expressions.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(document.empty());
  const std::set<std::string> words = documented_words(document);
  for (const Function& function : all_functions()) {
    const bool is_operator = function.name.starts_with("operator") || function.name.starts_with("unary");
    const bool found = is_operator ? function.name == "operator[]" ||
                                         document.find("`" + function.signature + "`") != std::string::npos
                                   : words.contains(function.name) || function.name == "cast" ||
                                         function.name == "make_list";
    EXPECT_TRUE(found) << function.name << ", " << function.signature;
  }
}

}  // namespace
}  // namespace colonnade::frame
