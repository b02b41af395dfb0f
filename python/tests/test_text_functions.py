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
    with pytest.raises(UsageError, match="'struct' is not supported"):
        ROOT.gInterpreter.Declare("struct A { int x; };")
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
