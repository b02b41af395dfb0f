"""Functions that are written as texts of C++: `colonnade.functions`, and what ROOT's interpreter declares."""

from __future__ import annotations

import concurrent.futures
import pickle
from pathlib import Path

import awkward as ak
import numpy as np
import pytest

import colonnade
from colonnade import DataFrame
from colonnade import root as ROOT  # noqa: N812
from colonnade.errors import NotFoundError, TypeMismatchError, UsageError
from colonnade.frame import libraries

TEXT = """
using numbers = const ROOT::RVecF&;
const float limit = 20;
int count_above(numbers pt, float least = limit) {
  int n = 0;
  for (auto x : pt) if (x > least) ++n;
  return n;
}
template <typename T> ROOT::RVec<T> odd_ones(const ROOT::RVec<T>& v) {
  ROOT::RVec<T> found;
  for (size_t i = 1; i < v.size(); i += 2) found.push_back(v[i]);
  return found;
}
auto half = [](auto x) { return x / 2; };
"""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    sizes = rng.poisson(3, 5000)
    pt = ak.unflatten(rng.exponential(20, sizes.sum()).astype(np.float32), sizes)
    with colonnade.create(
        tmp_path / "f.root", "Events", {"pt": "std::vector<float>", "n": "std::int32_t"}
    ) as writer:
        writer.extend({"pt": pt, "n": sizes.astype(np.int32)})
    return tmp_path / "f.root"


def test_texts_call_them(events: Path) -> None:
    functions = colonnade.functions(TEXT)
    assert list(functions) == ["count_above", "odd_ones", "half", "limit"]
    assert repr(functions.count_above) == "<int count_above(ROOT::RVecF, float)>"
    pt = colonnade.open(events).arrays("pt")["pt"]
    for threads in (1, 3):
        df = DataFrame("Events", events, threads=threads).with_functions(functions)
        assert df.take("count_above(pt)").value.tolist() == ak.sum(pt > 20, axis=1).to_list()
        assert df.take("count_above(pt, 5)").value.tolist() == ak.sum(pt > 5, axis=1).to_list()
        assert ak.to_list(df.take("odd_ones(pt)").value) == pt[:, 1::2].to_list()
        assert df.column_type("odd_ones(pt > 3)") == "std::vector<bool>"
        assert df.take("half(n)").value.tolist() == (ak.num(pt) // 2).to_list()
        assert df.take("half(n * 1.0)").value.tolist() == (ak.num(pt) / 2).to_list()
        assert df.sum("Sum(pt > limit)").value == ak.sum(pt > 20)
        defined = df.define("k", functions.count_above, ["pt", "float(n)"])
        assert defined.sum("k").value == ak.sum(pt > ak.num(pt))


def test_they_can_be_called_with_arrays() -> None:
    functions = colonnade.functions(TEXT)
    assert functions["half"](np.array([3, 4, -5])).to_list() == [1, 2, -2]
    assert functions.count_above(ak.Array([[1, 30], [], [21]]), np.array([2.0, 0, 25])).to_list() == [1, 0, 0]


def test_they_travel_with_plans(events: Path) -> None:
    functions = colonnade.functions(TEXT)
    assert pickle.loads(pickle.dumps(functions["half"])) == functions["half"]
    local = DataFrame("Events", events).with_functions(functions).define("k", "count_above(pt) * limit")
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        remote = DataFrame("Events", events, executor=executor, npartitions=3).with_functions(functions)
        there = remote.define("k", "count_above(pt) * limit").histo1d(("k", "", 10, 0, 200), "k").value
        here = local.histo1d(("k", "", 10, 0, 200), "k").value
        assert np.array_equal(there.values(), here.values())


def test_errors_mark_the_place(events: Path) -> None:
    with pytest.raises(NotFoundError, match=r"there is no column 'y'[\s\S]*\^"):
        colonnade.functions("float f(float x) { return y; }")
    with pytest.raises(UsageError, match="defines no function"):
        colonnade.functions("using namespace std;")
    with pytest.raises(AttributeError, match="no function 'third'"):
        colonnade.functions(TEXT).third  # noqa: B018
    df = DataFrame("Events", events).with_functions(colonnade.functions(TEXT))
    with pytest.raises(TypeMismatchError, match="argument 1 of 'count_above'"):
        df.take("count_above(n)")
    with pytest.raises(TypeMismatchError, match="needs a value for 'pt'"):
        df.take("count_above()")
    with pytest.raises(UsageError, match="already a function 'half'"):
        df.with_functions(colonnade.functions("int half(int x) { return 1; }"))
    df.with_functions(colonnade.functions("float at(const ROOT::RVecF& v, int i) { return v[i]; }"))
    beyond = df.take("at(pt, 99)")
    with pytest.raises(colonnade.Error, match="in entry 0, the index 99 is beyond"):
        list(beyond.value)


def test_scripts_declare_them(events: Path, tmp_path: Path) -> None:
    before = ROOT.RDataFrame("Events", str(events))
    header = tmp_path / "helpers.h"
    header.write_text("#pragma once\nfloat tripled_of_file(float x) { return 3 * x; }\n")
    text = f"""
        #include <cmath>
        #include "TMath.h"
        #include "{header}"
        const int declared_constant = 7;
        double six_times(double x) {{ double r = 0; for (int i = 0; i < 2; ++i) r += tripled_of_file(x); return r; }}
    """
    assert ROOT.gInterpreter.Declare(text)
    assert ROOT.gInterpreter.Declare(text)  # once more changes nothing
    assert ROOT.gInterpreter.ProcessLine("int nine_more(int x) { return x + declared_constant + 2; }") == 0
    for df in (before, ROOT.RDataFrame("Events", str(events))):
        total = df.Define("y", "six_times(n) + nine_more(n)").Sum("y").GetValue()
        assert total == 7 * df.Sum("n").GetValue() + 9 * 5000
    assert ROOT.nine_more(np.array([1, 2])).to_list() == [10, 11]
    with pytest.raises(UsageError, match="'union' is not supported"):
        ROOT.gInterpreter.Declare("union A { int x; };")
    with pytest.raises(NotFoundError, match="cannot be read"):
        ROOT.gROOT.LoadMacro(str(tmp_path / "none.C"))
    with pytest.raises(UsageError, match="already a function 'nine_more' with these parameters"):
        ROOT.gInterpreter.Declare("int nine_more(int x) { return x; }")
    with pytest.raises(UsageError, match="'nine_more' is declared already"):
        ROOT.gInterpreter.Declare("double nine_more(double x) { return x; }")


def test_names_of_types_are_declared_again_and_in_bodies() -> None:
    once = "using declared_list = const ROOT::RVecF&; typedef ROOT::RVecF declared_floats;"
    ROOT.gInterpreter.Declare(once + "float declared_sum(declared_list v) { return Sum(v); }")
    ROOT.gInterpreter.Declare(
        once
        + """declared_floats declared_half(declared_list v) {
            using namespace ROOT::VecOps;
            using T = int; { using T = double; T t = 0.5; if (t == 0) return v; }
            T two = 2.5; return v / two;
        }
        bool declared_of(unsigned int slot, const ROOT::RDF::RSampleInfo& id) { return id.Contains("a"); }"""
    )
    df = ROOT.RDataFrame(2).Define("v", "ROOT::RVecF{1, 5}")
    df = df.Define("s", "declared_sum(declared_half(v))").DefinePerSample(
        "of", "declared_of(rdfslot_, rdfsampleinfo_)"
    )
    assert df.AsNumpy(["s"])["s"].tolist() == [3, 3]
    assert df.GetColumnType("of") == "bool"


def test_special_variables_in_loops_and_lambdas() -> None:
    df = ROOT.RDataFrame(3).Define(
        "v", "ROOT::RVecD w; for (int i = 0; i < rdfentry_; ++i) w.push_back(i + rdfentry_); return w;"
    )
    df = df.Define(
        "u", "Map(v, [](double x) { return x + Sum(Map(v, [](double y) { return rdfentry_; })); })"
    )
    assert [list(each) for each in df.AsNumpy(["v"])["v"]] == [[], [1], [2, 3]]
    assert [list(each) for each in df.AsNumpy(["u"])["u"]] == [[], [2], [6, 7]]


def test_variations_in_braces() -> None:
    df = (
        ROOT.RDataFrame(2).Define("w", "2. * rdfentry_").Vary("w", "ROOT::RVecD{w * ROOT::RVecF{0.5f, 2}}", 2)
    )
    sums = ROOT.RDF.Experimental.VariationsFor(df.Sum("w"))
    assert {name: sums[name] for name in sums.GetKeys()} == {"nominal": 2, "w:0": 1, "w:1": 4}


CLASSES = """
namespace selections {
struct above {
  explicit above(float least) : m_least(least) {}
  ROOT::RVecF operator()(const ROOT::RVecF& in) const {
    ROOT::RVecF kept;
    for (auto& x : in) if (passes(x)) kept.emplace_back(x);
    return kept;
  }
  bool passes(float x) const { return x > m_least; }
private:
  float m_least = 20;
};
}
struct Pair {
  int i = -1, j{-1};
  double mass = 0;
  std::vector<int> tags;
  bool operator<(const Pair& other) const { return mass < other.mass; }
  void tag(int with) { tags.push_back(with); for (auto each : tags) mass += each == with; }
  int next() { tag(7); return ++i; }
};
class Scale {
public:
  Scale();
  Scale(float factor, float offset = 1) : factor(factor), offset{offset} { table.push_back(factor); }
  float of(float x) const;
  static float twice(float x) { return 2 * x; }
private:
  float factor = 1, offset; std::vector<float> table; std::array<int, 2> limits = {3, 4}; Pair best;
};
Scale::Scale() { offset = 5; }
float Scale::of(float x) const { return factor * x + offset + limits[1] + table.size() + best.i; }
const Scale common(3);
Pair operator+(const Pair& a, const Pair& b) { return {a.i + b.i, a.j + b.j, a.mass + b.mass, {}}; }
std::vector<Pair> pairs(const ROOT::RVecF& x) {
  std::vector<Pair> found;
  for (int i = 0; i < x.size(); ++i) for (int j = 0; j < i; ++j) found.push_back({i, j, std::abs(x[i] - x[j])});
  std::sort(found.begin(), found.end());
  if (!found.empty()) found.back().tag(2);
  for (auto& pair : found) pair.tag(1);
  return found;
}
float scaled(float x) {
  Scale own, given(x);
  return own.of(1) + given.of(1) * 10 + common.of(1) * 100 + Scale::twice(x);
}
int counted(int n) {
  Pair p, q = {n, 1};
  int k = q.next();
  auto sum = p + q;
  return k * 100 + sum.i * 10 + q.tags[0];
}
"""


def test_classes() -> None:
    df = DataFrame.from_arrays({"x": ak.Array([[1.0, 4.0, 2.0], [], [30.0]]), "n": [1, 2, 3]})
    df = df.with_functions(colonnade.functions(CLASSES))
    assert df.take("selections::above(1.5)(x)").value.to_list() == [[4, 2], [], [30]]
    assert df.take("selections::above(n).passes(2)").value.tolist() == [True, False, False]
    made = df.define("p", "pairs(x)")
    assert made.column_type("p") == "std::vector<Pair>"
    assert made.take("p.mass").value.to_list() == [[2, 3, 5], [], []]
    assert made.take("p.tags").value.to_list() == [[[1], [1], [2, 1]], [], []]
    assert made.filter("p.size() > 0").take("p[2].i * 10 + p[2].j").value.tolist() == [10]
    assert df.take("scaled(n)").value.tolist() == [9 + 60 + 800 + 2, 9 + 70 + 800 + 4, 9 + 80 + 800 + 6]
    assert df.take("counted(n)").value.tolist() == [217, 327, 437]
    assert df.take("(Pair(n, 1) + Pair()).i").value.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("struct A : B { int n; };", "no base classes"),
        ("template <typename T> struct A { T n; };", "cannot be templates"),
        ("struct A { virtual int n() = 0; };", "'virtual' is not supported within a class"),
        (
            "struct A { int n; int f() const { n = 2; return n; } };",
            "'n' cannot be changed: the method is const",
        ),
        ("struct A { int n; A(int k) : m(k) {} };", "'A' has no member 'm'"),
        ("struct A { int n; int n; };", "already a member 'n'"),
        ("struct A { int n; void up() { n++; } int f() const { up(); return n; } };", "the method is const"),
        ("struct A { int n; }; struct A { int n; };", "a new name for the class"),
        ("struct A { std::vector<A> n; };", "unknown type 'std::vector<A>' of the member 'n'"),
        ("struct A { int n; }; int f(int x) { return A(1, 2).n; }", "takes 1 argument, got 2"),
        ("struct A { int n; }; int f(int x) { A a; return a.get(); }", "unknown method 'get'"),
        (
            "struct A { int n; }; int f(int x) { A a; return a(x); }",
            "only functions and methods can be called",
        ),
        ("struct A { int n; void up() { ++n; } }; int f(const A& a) { a.up(); return 1; }", "it is const"),
        (
            "struct A0 { int n; };"
            + "".join(f"struct A{i} {{ A{i - 1} a, b, c, d; }};" for i in range(1, 9)),
            "too many",
        ),
        ("template <typename T> struct A { T n; };", "classes cannot be templates"),
        ("int f(int x) { auto g = [x](int y) mutable { return y; }; return g(x); }", "capture it by"),
        ("int f(int x) { std::optional<int> y; return 1; }", "unknown type 'std::optional<int>'"),
        ("int f(int x) { std::set<int> y = {x}; return y[x]; }", "a set has no subscripts"),
        ("long f() { return rdfentry_; }", "sees neither the entry nor the file"),
        ("const long n = rdfentry_; long f() { return n; }", "sees neither the entry nor the file"),
    ],
)
def test_classes_are_refused_when_they_are_defined(text: str, problem: str) -> None:
    with pytest.raises(colonnade.Error, match=problem.replace("(", r"\(")):
        colonnade.functions(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("std::map<int, float> m = {{1, 2.f}}; for (auto& [k, y] : m) y *= 2; return m[1];", [4, 4]),
        (
            "std::vector<std::vector<int>> w = {{n}}; for (auto& a : w) for (auto& b : a) b *= 2; return w[0][0];",
            [2, 4],
        ),
        (
            "std::vector<std::pair<int, int>> z = {{1, 2}}; for (auto& [a, b] : z) b += a; return z[0].second;",
            [3, 3],
        ),
        ('std::map<std::string, int> m = {{"ab", 1}}; m.erase(std::string("ab")); return m.size();', [0, 0]),
        ("std::map<int, int> m = {{n, 1}}; m.at(n) += 4; return m.at(n);", [5, 5]),
        (
            "std::vector<std::vector<int>> w(2); w.back().push_back(n); w.front() = {7}; return w[0][0] + w[1][0];",
            [8, 9],
        ),
        (
            (
                "std::vector<float> w; "
                "std::copy_if(v.begin(), v.end(), std::back_inserter(w), [&](float y) { return y > n; });"
                " return Sum(w);"
            ),
            [5, 3],
        ),
        (
            (
                "std::vector<float> w(v.size()); "
                "std::transform(v.begin(), v.end(), w.begin(), [](auto y) { return 2 * y; }); "
                "std::partial_sum(w.begin(), w.end(), w.begin()); return w.back();"
            ),
            [12, 12],
        ),
        (
            (
                "std::vector<float> w = v; "
                "std::transform(v.begin(), v.end(), w.begin(), w.begin(), [](float a, float b) { return a * b; });"
                " return Sum(w);"
            ),
            [14, 14],
        ),
        (
            "std::vector<int> w = {1, 1, 2, 1}; w.erase(std::unique(w.begin(), w.end()), w.end()); return w.size();",
            [3, 3],
        ),
        (
            "std::set<int> s; std::copy(v.begin(), v.end(), std::inserter(s, s.end())); return s.count(n);",
            [1, 1],
        ),
        (
            "std::vector<float> w = v; std::nth_element(w.begin(), w.begin() + 1, w.end()); return w[1];",
            [2, 2],
        ),
        (
            "std::vector<int> a, b = {1}; a.assign(3, n); a.swap(b); b.insert(b.begin(), {8, 9}); return b[1] + a[0];",
            [10, 10],
        ),
        ('std::string s = "a"; s.push_back(\'b\'); s.append("cd"); return s.size();', [4, 4]),
        (
            "std::set<int> a = {n}; std::set<int> b(a), c{b}; b.insert(7); return b.size() * 10 + c.size();",
            [21, 21],
        ),
        ("std::set<int> s(v.begin(), v.end()); s.emplace(n); return s.size();", [3, 3]),
        (
            "std::map<int, int> m = {{1, 5}}; m.emplace(n, 7); m.emplace(9, 8); return m[n] * 10 + m.size();",
            [52, 73],
        ),
        (
            "std::vector<std::pair<int, int>> z{{2, 3}, {n, 4}}; std::map<int,int> m(z.begin(), z.end()); return m[2];",
            [3, 3],
        ),
        (
            "std::vector<std::pair<int, int>> w; w.emplace_back(n, 3); w.emplace_back(); return w[0].first + w.size();",
            [3, 4],
        ),
        ("return *std::next(v.begin(), n) * 10 + *std::prev(v.end());", [12, 22]),
        (
            "return (std::make_pair(n, 2) < std::make_pair(1, 3)) + 2 * (std::make_pair(1, n) >= std::pair(1, 2));",
            [1, 2],
        ),
        (
            "return std::make_tuple(n, 1, 3) != std::make_tuple(2, 1, 3) && std::make_pair(n, 1) <= std::pair(1, 1);",
            [1, 0],
        ),
        (
            "return std::numeric_limits<unsigned short>::max() + std::numeric_limits<std::int8_t>::lowest();",
            [65407, 65407],
        ),
        (
            "return std::numeric_limits<float>::min() == 0x1p-126 && std::numeric_limits<double>::epsilon() > 0;",
            [1, 1],
        ),
        (
            "return std::inner_product(v.begin(), v.end(), v.begin(), 0.f) + std::is_sorted(v.begin(), v.end());",
            [14, 14],
        ),
    ],
)
def test_lists_are_written_in_place(text: str, expected: list[float]) -> None:
    df = DataFrame.from_arrays({"v": ak.Array([[3.0, 1.0, 2.0]] * 2), "n": np.array([1, 2], np.int32)})
    assert df.take(text).value.tolist() == expected


def test_templates_with_the_same_names_of_types() -> None:
    functions = colonnade.functions(
        "template <typename T> T one(T x) { return x; } template <typename T> T two(T x) { return x; }"
    )
    df = DataFrame.from_arrays({"n": np.array([1, 2], np.int64)}).with_functions(functions)
    assert df.take("one(n) + two(n)").value.tolist() == [2, 4]


@pytest.mark.parametrize(
    "text",
    [
        "auto m = v > 1; m[0] = 5; return Sum(m);",
        "auto m = v > 1; m[0] += 2; return Sum(m);",
        "auto m = v > 1; m.push_back(n); return m;",
        "auto m = v > 1; m.resize(5, n); return m;",
        "auto m = v > 1; for (auto& x : m) x += 3; return Sum(m);",
        "auto m = v > 1; auto& x = m[0]; x = n; return Sum(m);",
        "auto m = v > 1; m += m; return m;",
        "auto m = v > 1; m = {1, n}; return m;",
        "auto m = v > 1; auto k = m; k = n > 0 ? k + m : k; return k;",
        "auto m = v > 1; auto c = m[0]; c += m[1]; return c;",
        "auto m = v > 1; auto c = m.at(0); c = n; return c;",
        "auto m = v > 1; int c = 0; for (auto x : m) { x *= 4; c += x; } return c;",
        "std::vector<int> w; auto m = v > 1; auto c = m.front(); for (auto x : v) c += 1; return c;",
    ],
)
def test_masks_are_no_counters(text: str) -> None:
    """ROOT's have items of int, which keep what would be true here."""
    df = DataFrame.from_arrays({"v": ak.Array([[3.0, 1.0, 2.0]]), "n": np.array([2], np.int32)})
    with pytest.raises(TypeMismatchError, match="has the type of its first value"):
        df.take(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ROOT::RVec<int> m = v > 1; m[0] += n; m += m; return Sum(m);", 8),
        ("ROOT::RVec<bool> m(3); m[0] = n; return Sum(m);", 1),
        ("auto m = ROOT::RVec<bool>(v); m[0] = n; return Sum(m);", 3),
        ("auto m = v > 1; m[0] = 0; m[1] = true; m[2] = v[0] > 5; return Sum(m);", 1),
        ("auto m = v > 1; m *= v < 3; m = m && v > 0; m = n > 5 ? m : !m; return Sum(m);", 2),
        ("auto m = v > 1; m.push_back(n > 1); m.erase(m.begin()); m.resize(5); return Sum(m);", 2),
        ("auto m = v > 1; m.assign(2, true); m.insert(m.begin(), 0); return m.size();", 3),
        ("auto m = v > 1; auto c = m[0]; c = c && m[1]; c |= m[2]; return c + c;", 2),
        ("auto found = false; for (auto x : v) found += x > 2; return found + 1;", 2),
        ("auto m = v > 1; int c = m[0]; c += m[2]; return c;", 2),
        ("return Sum(Where(v > 1, -1, v > 0)) + Sum(Take(v > 1, 5, -3)) + (v > 1).at(9, -4);", -9),
        ("return Sum(Where(v > 1, v > 2, -1)) + Take(v > 1, -4, 7)[0] + (v > 1).at(0, -4);", 8),
    ],
)
def test_masks_keep_what_is_true_or_false(text: str, expected: int) -> None:
    df = DataFrame.from_arrays({"v": ak.Array([[3.0, 1.0, 2.0]]), "n": np.array([2], np.int32)})
    assert df.take(text).value.tolist() == [expected]


TEMPLATES = """
template <typename T> T total(const ROOT::RVec<T>& v) { T s = 0; for (auto x : v) s += x; return s; }
template <typename T> T first_two(const ROOT::RVec<T>& v) { return v[0] + v[1]; }
template <typename T> ROOT::RVec<T> doubled(const ROOT::RVec<T>& v) {
  ROOT::RVec<T> found;
  for (auto x : v) found.push_back(2 * x);
  return found;
}
template <typename T> auto begun(const ROOT::RVec<T>& v) { T s = v.size(); return s; }
template <typename T> T any(const ROOT::RVec<T>& v) {
  T found = 0;
  for (auto x : v) if (x) found = 1;
  if (v.size() == 0) return false;
  return found && v[0];
}
"""


@pytest.mark.parametrize("name", ["total", "first_two", "doubled", "begun"])
def test_templates_of_masks_are_no_counters(name: str) -> None:
    """Their type is int in ROOT."""
    df = DataFrame.from_arrays({"v": ak.Array([[3.0, 2.0, 1.0]])})
    df = df.with_functions(colonnade.functions(TEMPLATES))
    with pytest.raises(TypeMismatchError, match="the type of the template is bool"):
        df.take(f"{name}(v > 1)")
    expected = {"total": [2], "first_two": [2], "doubled": [[2, 2, 0]], "begun": [3]}
    assert ak.to_list(df.take(f"{name}(ROOT::RVec<int>(v > 1))").value) == expected[name]
    assert df.take("any(v > 1)").value.tolist() == [True]


HEADER = """
#define MASS 91.5   // of the Z
#define TWICE (2 * MASS)
namespace model {
struct Vector { float x = 0, y = 0; };
struct Particle { model::Vector momentum{}; float charge{}; virtual ~Particle() {} };
}
namespace reco {
using Particles = ROOT::VecOps::RVec<model::Particle>;
struct cut {
  cut(float least);
  float least = 2;
  double length(double x, double y) { return std::sqrt(x * x + y * y); }
  Particles operator()(Particles in);
};
cut::cut(float l) : least(l) {};
Particles cut::cut::operator()(ROOT::VecOps::RVec<::model::Particle> in) {
  std::vector<model::Particle> kept;
  for (auto& p : in) if (cut::length(p.momentum.x, p.momentum.y) > least) kept.emplace_back(p);
  return ROOT::VecOps::RVec(kept);
}
bool by_x(const model::Particle& a, const model::Particle& b) { return a.momentum.x > b.momentum.x; }
Particles sorted(Particles in) { std::sort(in.begin(), in.end(), by_x); return in; }
}
namespace truth {
struct cut {
  int kind = 3;
  bool operator()(int other) const { return other == kind; }
};
int kinds(const ROOT::RVecI& v) { cut c; return std::count_if(v.begin(), v.end(), [&](int k) { return c(k); }); }
}
namespace reco { float least_of(cut c) { return c.least; } }
struct falling { bool operator()(float a, float b) const { return a > b; } };
ROOT::RVecF fallen(ROOT::RVecF v) { falling order; std::sort(v.begin(), v.end(), order); return v; }
ROOT::RVecF fallen_too(ROOT::RVecF v) { std::stable_sort(v.begin(), v.end(), falling()); return v; }
bool is_large(float x) { return x > 2; }
int large(const ROOT::RVecF& v) { return std::count_if(v.begin(), v.end(), is_large) + Filter(v, is_large).size(); }
reco::Particles made(const ROOT::RVecF& x) {
  reco::Particles out;
  for (size_t i = 0; i < x.size(); ++i) {
    model::Particle p;
    p.momentum.x = x[i], p.momentum.y = 1, p.charge += i;
    out.push_back(p);
  }
  if (out.empty()) std::cout << "nothing, " << x.size() << std::endl;
  return out;
}
double mass() { return TWICE; }
int named(const char* name) { return strcmp(name, "a"); }
int ends(int x) { if (x > 5) { std::cerr << "too large\\n"; exit(1); } return x; }
"""


def test_headers_of_analyses(recwarn: pytest.WarningsRecorder) -> None:
    """Classes of namespaces, macros that are values, functions as arguments, and what is printed."""
    x = ak.Array([[1.0, 4.0, 3.0], [], [2.5, 0.5]])
    df = DataFrame.from_arrays({"x": ak.values_astype(x, np.float32), "k": ak.Array([[3, 1], [3, 3], []])})
    df = df.with_functions(colonnade.functions(HEADER)).define("p", "made(x)")
    assert df.take("reco::cut(2)(p).momentum.x").value.to_list() == [[4, 3], [], [2.5]]
    assert df.take("reco::sorted(p).charge").value.to_list() == [[1, 2, 0], [], [0, 1]]
    assert df.take("truth::kinds(k)").value.tolist() == [1, 2, 0]
    assert (
        df.take("truth::cut()(3)").value.tolist() == df.take("truth::cut{3}(3)").value.tolist() == [1, 1, 1]
    )
    assert df.take("reco::least_of(reco::cut(7))").value.tolist() == [7, 7, 7]
    assert df.take("fallen(x)").value.to_list() == ak.sort(x, ascending=False).to_list()
    assert df.take("fallen_too(x)").value.to_list() == ak.sort(x, ascending=False).to_list()
    assert df.take("large(x)").value.tolist() == [4, 0, 2]
    assert df.take("mass()").value.tolist() == [183.0] * 3
    assert df.take('named("a")').value.tolist() == [0, 0, 0]
    assert df.take("ends(x.size())").value.tolist() == [3, 0, 2]
    with pytest.raises(colonnade.Error, match=r"exit\(1\)"):
        _ = df.take("ends(6)").value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#define SQ(x) ((x) * (x))\nint f(int x) { return SQ(x); }", "macros with parameters"),
        ("namespace a { struct V { int x; }; struct V { int y; }; }", "a new name for the class"),
        ("namespace a { struct V { int x; }; } int f(b::V v) { return v.x; }", "unknown type 'b::V'"),
        ("float f(const float* x) { return x[0]; }", "there are no pointers here"),
        ("TH2D* h = nullptr; float f(float x) { return x; }", "there are no pointers here"),
        ("int f(int n) { std::cout << n++; return n; }", "nothing is printed here"),
        ("int f(int n) { std::cout << (n += 2); return n; }", "nothing is printed here"),
        ("#define A 1\n#undef A\n#define A 2\nint f() { return A; }", "'A' has several values"),
    ],
)
def test_what_headers_may_not_have(text: str, problem: str) -> None:
    with pytest.raises((UsageError, NotFoundError), match=problem):
        colonnade.functions(text)


def test_declared_functions_say_that_they_print_nothing() -> None:
    with pytest.warns(UserWarning, match="what declared functions print is left out"):
        ROOT.gInterpreter.Declare("int printing_one(int x) { if (x < 0) std::cout << x; return x; }")
    assert ROOT.printing_one(3) == 3
    ROOT.gInterpreter.Declare('double no_parameter_at_all() { /* cout */ return 1.5; } // "cout"')
    assert ROOT.no_parameter_at_all() == 1.5
    assert ROOT.printing_one(np.array([1, 2])).to_list() == [1, 2]


def test_a_text_is_parsed_once_for_all_of_its_functions():
    text = "\n".join(f"double number{k}(double x) {{ return x + {k}; }}" for k in range(150))
    before = libraries._parsed.cache_info().misses
    frame = DataFrame(3).with_functions(colonnade.functions(text))
    assert frame.sum("number149(1)").value == 450
    assert libraries._parsed.cache_info().misses == before + 1


def test_functions_call_those_of_their_namespace_from_anywhere():
    """Also if they change variables, and where a function outside, or one of the language, has the same name."""
    text = """
int at(int x) { return 100 * x; }
namespace n {
  int at(int x) { return x; }
  int abs(int x) { return 7; }
  template <typename T> T twice(T x) { return 2 * x; }
  void add(std::vector<int>& v, int x) { v.push_back(at(x)); v.push_back(abs(-x)); v.push_back(twice(x)); }
  namespace m {
    void put(std::vector<int>& v) { add(v, at(4)); }
    int deep(int x) { return at(x) + abs(x); }
  }
  struct P { int k = 2; void raise(int x) { k += at(x); } };
}
namespace other { int deep(int x) { return at(x) + abs(-x) + n::at(x); } }
std::vector<int> f() { std::vector<int> v; n::add(v, 1); n::m::put(v); v.push_back(at(1)); return v; }
int raised() { n::P p; p.raise(3); return p.k; }
"""
    names = ["f()", "raised()", "n::m::deep(5)", "other::deep(5)", "at(2)"]
    frame = DataFrame(1).with_functions(colonnade.functions(text))
    for number, name in enumerate(names):
        frame = frame.define(f"c{number}", name)
    found = frame.to_awkward([f"c{number}" for number in range(len(names))])[0].to_list()
    assert list(found.values()) == [[1, 7, 2, 4, 7, 8, 100], 5, 12, 510, 200]


def test_for_each_changes_the_items_of_members() -> None:
    functions = colonnade.functions("""
        struct Track {
          std::vector<float> hits;
          void twice() { std::for_each(hits.begin(), hits.end(), [](float& hit) { hit *= 2; }); }
          void more() { std::for_each(this->hits.begin(), this->hits.end(), [](float& hit) { hit += 1; }); }
          void thrice() { auto change = [](float& hit) { hit *= 3; };
                          std::for_each(std::begin(hits), std::end(hits), change); }
        };
        double of_this(float x) { Track t; t.hits = {x, x + 1}; t.twice(); t.more(); t.thrice();
                                  return t.hits[0] * 100 + t.hits[1]; }
        double of_variable(float x) { Track t; t.hits = {x, x + 1};
          std::for_each(t.hits.begin(), t.hits.end(), [](float& hit) { hit = -hit; });
          return t.hits[0] * 100 + t.hits[1]; }
        double of_reference(float x) { Track t; t.hits = {x, x + 1}; Track& other = t;
          std::for_each(other.hits.begin(), other.hits.end(), [](float& hit) { hit = -hit; });
          return t.hits[0] * 100 + t.hits[1]; }
        double of_pair(float x) { std::pair<std::vector<float>, int> p; p.first = {x, 2};
          std::for_each(p.first.begin(), p.first.end(), [](float& hit) { hit = -hit; });
          return p.first[0] * 100 + p.first[1]; }
        """)
    df = DataFrame(3).with_functions(functions).define("x", "float(rdfentry_)")
    expected = {
        "of_this": [309, 915, 1521],
        "of_variable": [-1, -102, -203],
        "of_reference": [-1, -102, -203],
        "of_pair": [-2, -102, -202],
    }
    for name, values in expected.items():
        assert df.take(f"{name}(x)").value.tolist() == values, name


@pytest.mark.parametrize(
    "body",
    [
        "const auto c = v; std::for_each(c.begin(), c.end(), [](float& x) { x = 1; });",
        "std::vector<Floats> w; for (const auto& c : w) std::for_each(c.begin(), c.end(), [](float& x) { x = 1; });",
        "std::for_each(v.begin(), v.end(), [](float& x) { x = 1; });",
    ],
)
def test_for_each_changes_nothing_else(body: str) -> None:
    with pytest.raises(UsageError, match="cannot change"):
        colonnade.functions(
            f"using Floats = std::vector<float>; int f(const Floats& v) {{ {body} return 0; }}"
        )
