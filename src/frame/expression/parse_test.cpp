// Syntax: precedence, literals, casts, templates, statements; and invalid texts, with the exact message.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "frame/expression/syntax.h"
#include "frame/values/values.h"

namespace colonnade::frame {
namespace {

std::string shown(const Formula::Syntax& syntax, NodeIndex index);

std::string children(const Formula::Syntax& syntax, const SyntaxNode& node) {
  std::string text;
  for (const NodeIndex child : node.children) text += " " + shown(syntax, child);
  return text;
}

std::string with_types(const SyntaxNode& node) {
  std::string text = node.text;
  for (const std::string& type : node.template_types) text += "<" + type + ">";
  return text;
}

// The tree as (operator operand operand).
std::string shown(const Formula::Syntax& syntax, NodeIndex index) {
  const SyntaxNode& node = syntax[index];
  const std::string below = children(syntax, node);
  switch (node.kind) {
    case NodeKind::literal:
      return text_of(*node.value, 0);
    case NodeKind::name:
      return node.text;
    case NodeKind::member:
      return "(." + node.text + below + ")";
    case NodeKind::subscript:
      return "([]" + below + ")";
    case NodeKind::call:
      return "(call " + with_types(node) + (node.braces ? "{}" : "") + below + ")";
    case NodeKind::method:
      return "(." + node.text + "()" + below + ")";
    case NodeKind::unary:
    case NodeKind::binary:
      return "(" + node.text + below + ")";
    case NodeKind::conditional:
      return "(?" + below + ")";
    case NodeKind::cast:
      return "(cast<" + node.text + ">" + below + ")";
    case NodeKind::list:
      return "({}" + below + ")";
    case NodeKind::lambda: {
      std::string parameters;
      for (std::size_t i = 0; i < node.parameters.size(); ++i)
        parameters += " " + node.template_types[i] + ":" + node.parameters[i];
      return "(lambda" + parameters + (node.type.empty() ? "" : " -> " + node.type) + below + ")";
    }
    case NodeKind::application:
      return "(apply" + below + ")";
    case NodeKind::let:
      return "(let " + node.type + " " + node.text + below + ")";
    case NodeKind::body:
      return "(body" + below + ")";
    case NodeKind::declaration:
      return "(" + node.type + " " + node.text + below + ")";
    case NodeKind::assignment:
      return "(" + (node.text.empty() ? "=" : "." + node.text) + below + ")";
    case NodeKind::branch:
      return "(if" + below + ")";
    case NodeKind::loop:
      return "(loop" + (node.text.empty() ? "" : " " + node.text) + below + ")";
    case NodeKind::selection:
      return "(switch" + below + ")";
    case NodeKind::jump:
      return node.text;
    case NodeKind::invocation:
      return "(invoke " + node.text + below + ")";
    case NodeKind::exception:
      return "(throw" + below + ")";
    case NodeKind::result:
      break;
  }
  return "(return" + below + ")";
}

std::string tree(std::string text) {
  const Formula::Syntax syntax = parse(std::move(text));
  return shown(syntax, syntax.root);
}

std::string message(std::string text) {
  try {
    return "no error: " + tree(std::move(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
}

ValuesPtr literal(std::string text) {
  const Formula::Syntax syntax = parse(std::move(text));
  return syntax[syntax.root].value;
}

template <class T>
void expect_literal(const std::string& text, T value) {
  const ValuesPtr constant = literal(text);
  ASSERT_NE(constant, nullptr) << text;
  ASSERT_EQ(constant->type.name(), ValueType(element_of<T>()).name()) << text;
  EXPECT_EQ(*constant->as<T>(), value) << text;
}

TEST(Parse, GivesOperatorsThePrecedenceOfCpp) {
  EXPECT_EQ(tree("a + b * c - d"), "(- (+ a (* b c)) d)");
  EXPECT_EQ(tree("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(tree("a || b && c | d ^ e & f == g < h << i + j * k"),
            "(|| a (&& b (| c (^ d (& e (== f (< g (<< h (+ i (* j k))))))))))");
  EXPECT_EQ(tree("a != b <= c >> d"), "(!= a (<= b (>> c d)))");
  EXPECT_EQ(tree("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(tree("a % b / c"), "(/ (% a b) c)");
  EXPECT_EQ(tree("not a and b or c xor d"), "(|| (&& (! a) b) (^ c d))");
  EXPECT_EQ(tree("a == b && c not_eq d"), "(&& (== a b) (!= c d))");
}

TEST(Parse, BindsPrefixesTighterThanOperatorsAndLooserThanPostfixes) {
  EXPECT_EQ(tree("-a * b"), "(* (- a) b)");
  EXPECT_EQ(tree("!-~+a"), "(! (- (~ (+ a))))");
  EXPECT_EQ(tree("-x[0].pt"), "(- (.pt ([] x 0)))");
  EXPECT_EQ(tree("a - -b"), "(- a (- b))");
}

TEST(Parse, ReadsConditionalsFromTheRight) {
  EXPECT_EQ(tree("a ? b : c ? d : e"), "(? a b (? c d e))");
  EXPECT_EQ(tree("a ? b ? c : d : e"), "(? a (? b c d) e)");
  EXPECT_EQ(tree("a || b ? c + 1 : d"), "(? (|| a b) (+ c 1) d)");
}

TEST(Parse, ReadsMembersMethodsSubscriptsAndCalls) {
  EXPECT_EQ(tree("jets.pt[0]"), "([] (.pt jets) 0)");
  EXPECT_EQ(tree("jets.pt.size()"), "(.size() (.pt jets))");
  EXPECT_EQ(tree("x.at(0, -1.5)"), "(.at() x 0 (- 1.5))");
  EXPECT_EQ(tree("Muon_pt[abs(Muon_eta) < 2.4 && Muon_pt > 20]"),
            "([] Muon_pt (&& (< (call abs Muon_eta) 2.4) (> Muon_pt 20)))");
  EXPECT_EQ(tree("ROOT::VecOps::Sum(x, 0.)"), "(call ROOT::VecOps::Sum x 0)");
  EXPECT_EQ(tree("::std::sqrt(x)"), "(call std::sqrt x)");
  EXPECT_EQ(tree("TMath::Pi()"), "(call TMath::Pi)");
  EXPECT_EQ(tree("Take(x, {0, 2})"), "(call Take x ({} 0 2))");
  EXPECT_EQ(tree("{x * 1.1, x * 0.9}"), "({} (* x 1.1) (* x 0.9))");
  EXPECT_EQ(tree("#jets.pt + rdfentry_"), "(+ (.pt #jets) rdfentry_)");
}

TEST(Parse, TellsTemplatesFromComparisons) {
  EXPECT_EQ(tree("Construct<ROOT::Math::PtEtaPhiMVector>(pt, eta)"),
            "(call Construct<ROOT::Math::PtEtaPhiMVector> pt eta)");
  EXPECT_EQ(tree("std::vector<std::vector<float>>{a}"), "(call std::vector<std::vector<float>>{} a)");
  EXPECT_EQ(tree("std::max<unsigned int>(a, b)"), "(call std::max<unsigned int> a b)");
  EXPECT_EQ(tree("std::get<0>(a)"), "(call std::get<0> a)");
  EXPECT_EQ(tree("std::numeric_limits<float>::max()"), "(call std::numeric_limits::max<float>)");
  EXPECT_EQ(tree("f(a < b, c > (d))"), "(call f (< a b) (> c d))");
  EXPECT_EQ(tree("a < b > f(c, d)"), "(> (< a b) (call f c d))");
  EXPECT_EQ(tree("std::vector<int> f(c); return f;"), "(let auto f (call std::vector<int> c) f)");
  EXPECT_EQ(tree("a < b && c > (d)"), "(&& (< a b) (> c d))");
  // What may be references, too.
  EXPECT_EQ(tree("a && f(b) < 2 && c"), "(&& (&& a (< (call f b) 2)) c)");
  EXPECT_EQ(tree("a && b[0]"), "(&& a ([] b 0))");
  EXPECT_EQ(tree("a & f(b)"), "(& a (call f b))");
  EXPECT_EQ(tree("a and f(b)"), "(&& a (call f b))");
  EXPECT_EQ(tree("a & b[0]"), "(& a ([] b 0))");
  EXPECT_EQ(tree("a < b >> c"), "(< a (>> b c))");
}

TEST(Parse, ReadsCasts) {
  EXPECT_EQ(tree("static_cast<float>(x)"), "(cast<float> x)");
  EXPECT_EQ(tree("(float)x * 2"), "(* (cast<float> x) 2)");
  EXPECT_EQ(tree("(unsigned long)-x"), "(cast<unsigned long> (- x))");
  EXPECT_EQ(tree("(const double&)(x)"), "(cast<double> x)");
  EXPECT_EQ(tree("-(int)x"), "(- (cast<int> x))");
  EXPECT_EQ(tree("(x) - 1"), "(- x 1)");
  EXPECT_EQ(tree("(x)"), "x");
  EXPECT_EQ(tree("float(x) + double{y}"), "(+ (call float x) (call double{} y))");
  EXPECT_EQ(tree("ROOT::RVecF{a, b}"), "(call ROOT::RVecF{} a b)");
}

TEST(Parse, GivesLiteralsTheTypesOfCpp) {
  expect_literal<std::int32_t>("0", 0);
  expect_literal<std::int32_t>("2147483647", 2147483647);
  expect_literal<std::int64_t>("2147483648", 2147483648);
  expect_literal<std::uint32_t>("0xffffffff", 0xffffffffu);
  expect_literal<std::int64_t>("4294967296", 4294967296);
  expect_literal<std::uint64_t>("0xffffffffffffffff", ~std::uint64_t{0});
  expect_literal<std::uint64_t>("18446744073709551615u", ~std::uint64_t{0});
  expect_literal<std::uint32_t>("1u", 1);
  expect_literal<std::int64_t>("1l", 1);
  expect_literal<std::uint64_t>("1ull", 1);
  expect_literal<std::int32_t>("1'000'000", 1000000);
  expect_literal<std::int32_t>("017", 15);
  expect_literal<std::int32_t>("0b101", 5);
  expect_literal<double>("1e3", 1000);
  expect_literal<double>(".5", 0.5);
  expect_literal<double>("1.", 1);
  expect_literal<double>("1.5e-3L", 1.5e-3);
  expect_literal<float>("1.f", 1);
  expect_literal<float>("0.1f", 0.1f);
  expect_literal<float>("1e3F", 1000);
  expect_literal<double>("0x1.8p3", 12);
  expect_literal<bool>("true", true);
  expect_literal<char>("'a'", 'a');
  expect_literal<char>("'\\n'", '\n');
  expect_literal<char>("'\\x41'", 'A');
  expect_literal<char>("'\\x0041'", 'A');
  EXPECT_EQ(text_of(*literal(R"("\x0ab")"), 0), text_of(*make_constant_string(1, "\xab"), 0));
  EXPECT_EQ(text_of(*literal(R"("a\tb" "c")"), 0), text_of(*make_constant_string(1, "a\tbc"), 0));
  EXPECT_EQ(text_of(*literal("R\"x(a\\(b)\")x\""), 0), text_of(*make_constant_string(1, "a\\(b)\""), 0));
}

TEST(Parse, ReadsStatements) {
  EXPECT_EQ(tree("auto p2 = x*x; return sqrt(p2);"), "(let auto p2 (* x x) (call sqrt p2))");
  EXPECT_EQ(tree("const float a = 1, b{x}; return a + b"), "(let float a 1 (let float b x (+ a b)))");
  EXPECT_EQ(tree("const auto &p = x; return p;"), "(let auto p x p)");
  EXPECT_EQ(tree("if (x > 0) return 1; return 2;"), "(? (> x 0) 1 2)");
  EXPECT_EQ(tree("if (a) { auto b = 2; return b; } else if (c) return 3; else return 4;"),
            "(? a (let auto b 2 b) (? c 3 4))");
  EXPECT_EQ(tree("std::vector<float> v = x; return v;"), "(let std::vector<float> v x v)");
  EXPECT_EQ(tree("std::array<int, 2> a{x, 1}, b{{c, d}}; return a"),
            "(let auto a (call std::array<int, 2>{} x 1) (let std::array<int, 2> b ({} c d) a))");
  EXPECT_EQ(tree("Foo p(x, y); float z{}; return p;"),
            "(let auto p (call Foo x y) (let auto z (call float{}) p))");
  EXPECT_EQ(tree("return x > 1;"), "(> x 1)");
  EXPECT_EQ(tree("x > 1;"), "(> x 1)");
}

TEST(Parse, SkipsComments) {
  EXPECT_EQ(tree("x /* the x, not y */ + // and\n y"), "(+ x y)");
}

TEST(Parse, KnowsThePathOfMembers) {
  const Formula::Syntax syntax = parse("a.b.c");
  EXPECT_EQ(dotted_path(syntax, syntax.root), "a.b.c");
  const Formula::Syntax call = parse("f(x).b");
  EXPECT_EQ(dotted_path(call, call.root), "");
}

// ---- Invalid texts

TEST(ParseErrors, MarkThePlace) {
  EXPECT_EQ(message("pt > "), "the text ends where a value should be\n  pt > \n       ^");
  EXPECT_EQ(message("pt > * 2"),
            "there are no pointers in expressions; for powers, write pow(x, y)\n  pt > * 2\n       ^");
  EXPECT_EQ(message("pt = 20"),
            "expected an operator or the end, got '='; to compare, write '=='\n  pt = 20\n     ^");
  EXPECT_EQ(message("Sum(pt"), "'(' without its ')'\n  Sum(pt\n     ^");
  EXPECT_EQ(message("pt > 20)"),
            "expected an operator or the end, got ')'; it closes nothing\n  pt > 20)\n         ^");
  EXPECT_EQ(message("pt 20"), "expected an operator or the end, got '20'\n  pt 20\n     ^~");
  EXPECT_EQ(message("a ? b"), "'?' without its ':'\n  a ? b\n    ^");
  // The brace is known although the names for types behind it make the text longer.
  EXPECT_EQ(message("if (a > 0) { using V = std::vector<std::vector<double>>; V u; V v; V w; return a;")
                .substr(0, 19),
            "'{' without its '}'");
  EXPECT_EQ(message("x->y"),
            "expected an operator or the end, got '->'; there are no pointers, write '.'\n  x->y\n   ^~");
  EXPECT_EQ(message("f(a,)"), "expected a value, got ')'; it closes nothing\n  f(a,)\n      ^");
  EXPECT_EQ(message("x[1, 2]"), "a subscript takes one index; write x[i][j]\n  x[1, 2]\n     ^");
  EXPECT_EQ(message(""), "the expression is empty\n  \n  ^");
  EXPECT_EQ(message("x @ y"), "'@' has no meaning here\n  x @ y\n    ^");
  EXPECT_EQ(message("int"), "'int' is a type; a value should be here\n  int\n  ^~~");
}

TEST(ParseErrors, ExplainLiterals) {
  EXPECT_EQ(message("x + 08"), "'08' is not a number: a leading 0 makes it octal\n  x + 08\n      ^~");
  EXPECT_EQ(message("12abc"), "'12abc' is not a number: 'abc' is not a suffix\n  12abc\n  ^~~~~");
  EXPECT_EQ(message("1..2"), "'1..2' is not a number\n  1..2\n  ^~~~");
  EXPECT_EQ(message("1e999"), "1e999 does not fit in a double\n  1e999\n  ^~~~~");
  EXPECT_EQ(message("99999999999999999999"),
            "99999999999999999999 does not fit in a 64-bit integer\n  99999999999999999999\n  "
            "^~~~~~~~~~~~~~~~~~~~");
  EXPECT_EQ(message("9223372036854775808"),
            "9223372036854775808 does not fit in a 64-bit integer with a sign; append 'u'\n  "
            "9223372036854775808\n  "
            "^~~~~~~~~~~~~~~~~~~");
  EXPECT_EQ(message("0x"), "'0x' is not a number\n  0x\n  ^~");
  EXPECT_EQ(message("\"abc"), "a string without its end\n  \"abc\n  ^");
  EXPECT_EQ(message("'ab'"),
            "a character literal holds one character; strings stand in double quotes\n  'ab'\n  ^~~~");
  EXPECT_EQ(message("\"\\xabc\""), "an escape sequence that is not a character\n  \"\\xabc\"\n  ^~~~~~~");
  EXPECT_EQ(message("\"\\q\""), "'\\q' is not an escape sequence\n  \"\\q\"\n  ^~~~");
  EXPECT_EQ(message("x /* y"), "a comment without its end, '*/'\n  x /* y\n    ^~");
}

TEST(Parse, KeepsStatementsThatChangeVariables) {
  EXPECT_EQ(tree("int s = 1; if (x > 1) s = 2; return s;"),
            "(body (int s 1) (if (> x 1) (body (= s 2))) (return s))");
  EXPECT_EQ(tree("float s; if (a) { s = 1; } else if (b) s = 2; else { s = 3; return s; } return s * 2;"),
            "(body (float s) (if a (body (= s 1)) (body (if b (body (= s 2)) (body (= s 3) (return s))))) "
            "(return (* s 2)))");
  EXPECT_EQ(tree("auto n = 0; n += 2 * x; ++n; n--; n <<= 1; return n;"),
            "(body (auto n 0) (= n (+ n (* 2 x))) (= n (+ n 1)) (= n (- n 1)) (= n (<< n 1)) (return n))");
  EXPECT_EQ(tree("int n = 0; if (a) return 1; else { n = 2; } return n;"),
            "(body (int n 0) (if a (body (return 1))) (body (= n 2)) (return n))");
  EXPECT_EQ(tree("if (a) { auto b = 1; } return 2;"), "(body (if a (body (auto b 1))) (return 2))");
  EXPECT_EQ(tree("if (a) { int b = 1; b = 2; return b; } return 2;"),
            "(? a (body (int b 1) (= b 2) (return b)) 2)");
}

TEST(Parse, KeepsLoops) {
  EXPECT_EQ(tree("int s = 0; for (int i = 0; i < 3; ++i) s += i; return s;"),
            "(body (int s 0) (body (int i 0) (loop (< i 3) (body (= s (+ s i))) (body (= i (+ i 1))))) "
            "(return s))");
  EXPECT_EQ(tree("for (auto x : v) { if (x > 1) return x; } return 0;"),
            "(body (body (auto for list 0 v) (auto for place 1 0) (loop (< for place 1 (.size() for list 0)) "
            "(body (auto x ([] for list 0 for place 1)) (body (if (> x 1) (body (return x))))) "
            "(body (= for place 1 (+ for place 1 1))))) (return 0))");
  EXPECT_EQ(
      tree("int n = 0; do { n++; if (n == 2) continue; break; } while (n < 5); return n;"),
      "(body (int n 0) (body (loop do (< n 5) (body (= n (+ n 1)) (if (== n 2) (body continue)) break))) "
      "(return n))");
  EXPECT_EQ(
      tree("auto w = v; for (auto& x : w) x *= 2; return w;"),
      "(body (auto w v) (body (auto for list 0 w) (auto for place 1 0) (loop (< for place 1 (.size() for "
      "list 0)) (body (auto x ([] for list 0 for place 1)) (body (= ([] w for place 1) (* ([] w for "
      "place 1) 2)))) (body (= for place 1 (+ for place 1 1))))) (return w))");
  EXPECT_EQ(tree("RVecF w; w.push_back(1); w[0] += 2; std::sort(w.begin(), w.end()); return w;"),
            "(body (RVecF w) (.push_back w 1) (= ([] w 0) (+ ([] w 0) 2)) (= w (call Sort w)) (return w))");
}

TEST(ParseErrors, SayWhatCannotChange) {
  EXPECT_EQ(message("const int n = 1; n = 2; return n;"),
            "'n' cannot be changed: it is const\n  const int n = 1; n = 2; return n;\n                   ^");
  EXPECT_EQ(message("auto& n = x; n += 2; return n;").substr(0, 42),
            "'n' cannot be changed: it refers to what c");
  EXPECT_EQ(message("int n = 1; const int& m = n; n += 2; return m;").substr(0, 52),
            "'n' cannot be changed: a reference to it was declare");
  EXPECT_EQ(message("auto v = x; auto&& w = f(v[0]); v = x; return w;").substr(0, 35),
            "'v' cannot be changed: a reference ");
  EXPECT_EQ(message("int n = 1; const int m = n; n += 2; return m;").substr(0, 9), "no error:");
  EXPECT_EQ(message("int n = 1; x = 2; return n;").substr(0, 62),
            "'x' cannot be changed: only variables that are declared in the");
  EXPECT_EQ(message("int n = 1; if (a) { int m = 2; } m = 3; return n;").substr(0, 21),
            "'m' cannot be changed");
  EXPECT_EQ(message("int n = 0; return Map(x, [&](float v) { n += 1; return v; });").substr(0, 38),
            "a lambda cannot change 'n' around it, ");
  EXPECT_EQ(message("return Map(x, [](const float& v) { v += 1; return v; });").substr(0, 34),
            "'v' cannot be changed: it is const");
  EXPECT_EQ(message("return Map(x, [](float v) { v += 1; return v; });").substr(0, 9), "no error:");
  EXPECT_EQ(message("for (const auto& v : x) v = 1; return 2;").substr(0, 36),
            "'v' cannot be changed: it is const\n ");
  EXPECT_EQ(message("for (auto& v : x) v = 1; return 2;").substr(0, 48),
            "'v' cannot be changed: it is a reference to an i");
  EXPECT_EQ(message("auto w = x; for (auto v : w) w.clear(); return w;").substr(0, 45),
            "'w' cannot be changed: a loop goes through it");
  EXPECT_EQ(message("int n = 0; return n = 2;").substr(0, 28), "expected an operator or ';',");
  EXPECT_EQ(message("int n = 0; do {} while (n++ < 3); return n;").substr(0, 28),
            "expected an operator or ')',");
  for (const char* more : {"n += 1; ", "if (a) n = 1; ", "if (a) return 1; ", "n = 2 * n * n; "}) {
    std::string many = "int n = 0; n = 1; ";
    for (int i = 0; i < 1000; ++i) many += more;
    EXPECT_EQ(message(many + "return n;").substr(0, 32), "more than 1000 nested operations") << more;
  }
  std::string variables;
  for (int i = 0; i < 1001; ++i) variables += "if (a) { int n = 1; n = 2; } int n = 1; ";
  EXPECT_EQ(message(variables + "return n;").substr(0, 24), "more than 1000 variables");
  std::string deep = "int n = 0; ";
  for (int i = 0; i < 200; ++i) deep += "if (a) ";
  EXPECT_EQ(message(deep + "n = 1; return n;").substr(0, 29), "more than 100 nested blocks\n ");
}

TEST(ParseErrors, ExplainStatements) {
  EXPECT_EQ(message("auto a = 1;"),
            "not every path through these statements ends with a return\n  auto a = 1;\n  ^~~~");
  EXPECT_EQ(message("auto a; return a;"),
            "'a' needs a value where it is declared: auto a = ...;\n  auto a; return a;\n       ^");
  EXPECT_EQ(message("return 1; return 2;"), "no error: 1");
  EXPECT_EQ(message("int n = 0; goto n; return n;").substr(0, 60),
            "only declarations, assignments to variables, loops, 'if' and");
  EXPECT_EQ(message("int n = 1; std::cout << x; return n;").substr(0, 24), "nothing is printed here;");
  EXPECT_EQ(message("if (a) break; return 1;").substr(0, 25), "'break' stands in no loop");
  EXPECT_EQ(message("int n = 0; while (n < 3) n++;").substr(0, 26), "not every path through the");
  EXPECT_EQ(message("int i; for (i j 3; i < 3; ++i) {} return 1;").substr(0, 50),
            "expected a declaration, an assignment or ';', got ");
  EXPECT_EQ(message("for (int i = 0; i < 3; i + 1) {} return 1;").substr(0, 29),
            "expected an assignment or ')'");
  EXPECT_EQ(message("if (x > 1)"),
            "the text ends where 'return' or '{' should be\n  if (x > 1)\n            ^");
  EXPECT_EQ(message("Map(x, [](float) { return 1; })").substr(0, 32), "expected the name of a parameter");
  EXPECT_EQ(message("Map(x, [y](float v) return v;)").substr(0, 12), "expected '{'");
}

TEST(Parse, TakesLambdas) {
  EXPECT_EQ(tree("Map(x, [&](const auto& v, int w) -> float { auto u = v; return u * w; })"),
            "(call Map x (lambda auto:v int:w -> float (let auto u v (* u w))))");
  EXPECT_EQ(tree("Filter(x, [=, &y](float v) { if (v > 1) return 2; return 3; })"),
            "(call Filter x (lambda float:v (? (> v 1) 2 3)))");
  EXPECT_EQ(tree("f([] { return 1; })"), "(call f (lambda 1))");
}

TEST(ParseErrors, ShowTheLineAndCutLongOnes) {
  EXPECT_EQ(message("a +\nb = 2 +\nc"),
            "expected an operator or the end, got '='; to compare, write '=='\n  b = 2 +\n    ^");
  EXPECT_EQ(message("\"µ\" = 1"),
            "expected an operator or the end, got '='; to compare, write '=='\n  \"µ\" = 1\n      ^");
  const std::string shown = message(std::string(300, 'a') + " = " + std::string(300, 'b'));
  EXPECT_EQ(shown, "expected an operator or the end, got '='; to compare, write '=='\n  ..." +
                       std::string(49, 'a') + " = " + std::string(48, 'b') + "...\n  " +
                       std::string(53, ' ') + "^");
  EXPECT_EQ(message("a\t= 1"),
            "expected an operator or the end, got '='; to compare, write '=='\n  a = 1\n    ^");
}

TEST(ParseErrors, StayShort) {
  EXPECT_LT(message("x " + std::string(100000, 'y')).size(), 1300u);
}

TEST(ParseErrors, RefuseWhatIsNoText) {
  EXPECT_EQ(message("a\xff"), "the expression is not UTF-8 text: byte 0xff at offset 1");
  EXPECT_EQ(message(std::string("a\0b", 3)), "the expression is not UTF-8 text: byte 0x00 at offset 1");
  EXPECT_EQ(message(std::string((1 << 20) + 1, 'a')),
            "an expression of 1048577 characters is longer than the 1048576 allowed");
  EXPECT_EQ(message("\xed\xa0\x80"), "the expression is not UTF-8 text: byte 0xed at offset 0");
}

TEST(ParseErrors, DeepNestingIsAnErrorAndNoStackOverflow) {
  const auto repeated = [](const std::string& text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
  };
  constexpr std::size_t many = 20000;
  for (const char* const open : {"(", "f(", "{", "x[", "a ? (", "-(", "(float)("}) {
    const std::string text = message(repeated(open, many));
    EXPECT_TRUE(text.starts_with("more than 256 nested brackets")) << text.substr(0, 200);
  }
  for (const char* const step : {"!", "- ", "x + ", "x ? y : ", "std::vector<"}) {
    const std::string text = message(repeated(step, many) + "x");
    EXPECT_TRUE(text.starts_with("more than 1000 nested operations")) << text.substr(0, 200);
  }
  for (const char* const step : {".x", "[0]"}) {
    const std::string text = message("x" + repeated(step, many));
    EXPECT_TRUE(text.starts_with("more than 1000 nested operations")) << text.substr(0, 200);
  }
  EXPECT_TRUE(message(repeated("if (a) {", many)).starts_with("more than 100 nested blocks"));
}

TEST(Parse, TakesLongChainsOfConditions) {
  std::string text = "x == 0";
  for (int i = 1; i < 20000; ++i) text += " || x == " + std::to_string(i);
  const Formula::Syntax syntax = parse(text);
  EXPECT_LT(syntax[syntax.root].depth, 10u);
}

}  // namespace
}  // namespace colonnade::frame
