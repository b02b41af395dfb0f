"""Expressions that name classes and other types of texts with functions."""

from __future__ import annotations

import pytest

import colonnade
from colonnade import root as ROOT  # noqa: N812
from colonnade.frame.root import declared

TEXT = """
#define MASS 91.5
namespace n {
  struct Point {
    float x = 1;
    int k = 2;
    float twice() const { return 2 * x; }
    void move(float by) { x += by; }
  };
  using Points = ROOT::VecOps::RVec<Point>;
  Point at(float x, int k) { return Point{x, k}; }
  Points several(int count) { Points v; for (int i = 0; i < count; ++i) v.push_back(at(i, i)); return v; }
  void add(Points& v, float x) { v.push_back(n::at(x, 0)); }
  float sum(const Points& v) { float s = 0; for (auto& p : v) s += p.x; return s; }
}
using Floats = ROOT::RVec<float>;
typedef std::pair<int, float> Pair;
template <typename T> using Vec = ROOT::RVec<T>;
enum Kind { low, high = 5 };
"""


@pytest.fixture
def frame():
    df = colonnade.DataFrame(3).define("a", "1.5f * rdfentry_").define("v", "ROOT::RVecF{a, a + 1}")
    return df.with_functions(colonnade.functions(TEXT))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n::Point p; return p.x + p.k;", [3, 3, 3]),
        ("n::Point p = n::at(a, 2); p.move(1); return p.twice();", [2, 5, 8]),
        ("auto p = n::at(a, 2); p.move(1); return p.x;", [1, 2.5, 4]),
        ("auto w = n::several(1); n::add(w, a); return n::sum(w);", [0, 1.5, 3]),
        ("float a = 2; n::Point p{a, 1}; return p.x;", [2, 2, 2]),
        ("// a comment\n return n::Points{}.size();", [0, 0, 0]),
        ("const n::Point& p = n::several(3)[2]; return p.x;", [2, 2, 2]),
        ("std::vector<n::Point> w; for (auto x : v) w.push_back(n::at(x, 1)); return w[1].x;", [1, 2.5, 4]),
        ("float s = 0; for (const n::Point& p : n::several(3)) s += p.k; return s;", [3, 3, 3]),
        ("if (a < 2) { n::Point p; return p.x; } else { return a; }", [1, 1, 3]),
        ("n::sum(n::Points{n::at(a, 1), n::at(2, 1)})", [2, 3.5, 5]),
        ("n::sum(ROOT::VecOps::RVec<n::Point>{n::at(a, 1)});", [0, 1.5, 3]),
        ("Sum(Map(n::several(3), [](const n::Point& p) { return p.x; }))", [3, 3, 3]),
        ("Sum(Map(v, [a](float x) { n::Point p; p.x = x; return p.x - a; }))", [1, 1, 1]),
        ("std::map<int, n::Point> m; m[1] = n::at(a, 4); return m[1].k;", [4, 4, 4]),
        ("Floats w = v; w.push_back(1); return Sum(w);", [2, 5, 8]),
        ("Vec<n::Point> w(3); return w.size();", [3, 3, 3]),
        ("Pair p{2, a}; return p.first * p.second;", [0, 3, 6]),
        ("Kind k = high; return k == Kind::high;", [1, 1, 1]),
        ("static_cast<Kind>(int(a)) == low", [1, 0, 0]),
        ("MASS + a", [91.5, 93, 94.5]),
        ("n::Points{n::at(a, 1)}.size(); // a comment", [1, 1, 1]),
        ("n::Point p; return p.k  // without a semicolon", [2, 2, 2]),
        ("n::Point p; return p.k; /* the end */", [2, 2, 2]),
        ('n::Point p; return p.x == 1 ? std::string("n::Point") : std::string("a;");', ["n::Point"] * 3),
    ],
)
def test_types(frame, text, value):
    assert frame.define("z", text).take("z").value.tolist() == value


def test_objects_are_columns_with_members(frame):
    df = frame.define("p", "n::Point{a, 3}").filter("n::Point q = p; return q.x > 1;", name="above 1")
    df = df.define("q", "n::Point q = p; q.move(p.k); return q;").define(
        "d", "n::Point r = q; return r.x - p.x"
    )
    assert df.take("d").value.tolist() == [3, 3]
    assert df.column_type("q") == "n::Point"
    assert df.redefine("d", "n::Points w{p, q}; return w[1].x;").take("d").value.tolist() == [4.5, 6]
    assert [(cut.name, cut.passed) for cut in df.report().value] == [("above 1", 2)]


def test_columns_of_varied_values(frame):
    df = frame.vary("a", "{a - 1, a + 1}", ["down", "up"], "shift").define(
        "z", "n::Point p{a, 1}; return p.twice();"
    )
    found = df.variations_for(df.sum("z"))
    assert [found[tag] for tag in ("nominal", "shift:down", "shift:up")] == [9, 3, 15]


def test_members_of_columns():
    columns = {"jets": [{"pt": 20.0, "n": 1}, {"pt": 30.0, "n": 2}]}
    df = colonnade.DataFrame.from_arrays(columns).with_functions(colonnade.functions(TEXT))
    df = df.define("z", "n::Point p; p.x = jets.pt; p.k = jets . n; return p.x * p.k;")
    assert df.take("z").value.tolist() == [20, 60]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("n::Point p; return p.y;", "n::Point has no member 'y'"),
        ("n::Point p; return nothing;", "nothing"),
        ("n::Nothing p; return p.x;", "unknown type 'n::Nothing'"),
        ("n::Point p; std::cout << p.x; return p.x;", "nothing is printed here"),
        ("n::Point p = v; return p.x;", "convert"),
        ("auto p = n::at(a, 2); p.nothing(1); return p.x;", "are statements"),
        ("n::at(a)", "n::at"),
    ],
)
def test_errors_show_the_expression(frame, text, problem):
    with pytest.raises(colonnade.Error, match=problem) as caught:
        frame.define("z", text)
    assert text in str(caught.value)
    assert "z" not in frame.column_names


def test_declared_types(monkeypatch):
    for name in ("_functions", "_overloads"):
        monkeypatch.setattr(declared, name, {})
    monkeypatch.setattr(declared, "_texts", [])
    df = ROOT.RDataFrame(2)
    ROOT.gInterpreter.Declare(TEXT)
    ROOT.gInterpreter.Declare("using Late = std::vector<n::Point>;")  # nothing but a type
    text = "Late w{n::at(2, 1)}; return w[0].x + w.size();"
    assert df.Define("z", text).Sum("z").GetValue() == 6
    assert ROOT.RDataFrame(1).Filter("Late w(1); return w[0].k == 2;").Count().GetValue() == 1
