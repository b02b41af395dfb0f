"""`colonnade.RDataFrame`: analyses in ROOT's spelling, and what they are told where something is missing."""

from __future__ import annotations

import math
import os
import pickle
import re
import sqlite3
import sys
import types

import awkward as ak
import hist
import numpy as np
import pandas
import pytest
import uproot

import colonnade
from colonnade import RDataFrame
from colonnade import root as ROOT  # noqa: N812
from colonnade.frame.root import facade

ENTRIES = 1500
RANDOM = np.random.default_rng(3)
COUNTS = RANDOM.integers(0, 5, ENTRIES)
ARRAYS = {
    "nMuon": COUNTS.astype(np.uint32),
    "x": RANDOM.normal(size=ENTRIES),
    "w": RANDOM.uniform(0.5, 1.5, ENTRIES),
    "Muon_pt": ak.unflatten((RANDOM.integers(0, 400, COUNTS.sum()) / 4).astype(np.float32), COUNTS),
    "Muon_charge": ak.unflatten(RANDOM.choice([-1, 1], COUNTS.sum()).astype(np.int32), COUNTS),
}
N, X, W = ARRAYS["nMuon"], ARRAYS["x"], ARRAYS["w"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("root") / "f.root"
    with colonnade.create(path, "Events", cluster_size=20_000, page_size=2048) as writer:
        writer.extend(ARRAYS)
    return str(path)


@pytest.fixture
def frame(file):
    return RDataFrame("Events", file)


def test_an_analysis(file):
    df = RDataFrame("Events", [file])
    two = df.Filter("nMuon == 2", "two muons")
    opposite = two.Filter("Muon_charge[0] != Muon_charge[1]", "opposite charge")
    sums = opposite.Define("total", "Sum(Muon_pt)").Define("scaled", "total * w")
    h = sums.Histo1D(("total", "Sum of p_{T};p_{T};N", 50, 0, 199.9), "total", "w")
    report = df.Report()
    assert not h.IsReady()
    histogram = h.GetValue()
    assert df.GetNRuns() == 1
    assert report.IsReady()
    pt, charge = ARRAYS["Muon_pt"][N == 2], ARRAYS["Muon_charge"][N == 2]
    chosen = charge[:, 0] != charge[:, 1]
    values = ak.to_numpy(ak.sum(pt[chosen], axis=1))
    reference = hist.Hist(hist.axis.Regular(50, 0, 199.9), storage=hist.storage.Weight()).fill(
        values, weight=W[N == 2][ak.to_numpy(chosen)]
    )
    np.testing.assert_allclose(histogram.to_hist().values(flow=True), reference.values(flow=True))
    assert h.GetName() == "total"
    assert h.GetTitle() == "Sum of p_{T}"
    assert h.GetEntries() == np.count_nonzero(chosen)
    assert h.GetPtr().GetNbinsX() == 50
    cuts = list(report)
    assert [cut.GetName() for cut in cuts] == ["two muons", "opposite charge"]
    assert (cuts[0].GetAll(), cuts[0].GetPass()) == (ENTRIES, np.count_nonzero(N == 2))
    assert report.At("opposite charge").GetEff() == pytest.approx(100 * np.mean(chosen))


def test_sources(file, tmp_path):
    assert RDataFrame(100).Define("y", "rdfentry_").Sum("y").GetValue() == 4950
    assert RDataFrame("Events", os.path.dirname(file) + "/*.root").Count().GetValue() == ENTRIES
    assert RDataFrame("Events", file, ["x"]).Max().GetValue() == X.max()
    assert ROOT.RDF.FromNumpy({"a": np.arange(5)}).Sum("a").GetValue() == 10
    assert ROOT.RDF.FromRNTuple("Events", file).GetNFiles() == 1
    assert ROOT.RDF.RNode(RDataFrame(3)).Count().GetValue() == 3
    with pytest.raises(colonnade.UnsupportedError, match="cannot be made from a dict"):
        RDataFrame({"a": 1})
    with pytest.raises(colonnade.NotFoundError):
        RDataFrame("Other", file)


def test_data_sets_of_a_file(file):
    with ROOT.TFile.Open(file) as opened:
        assert (opened.GetName(), opened.IsOpen(), opened.IsZombie()) == (str(file), True, False)
        assert RDataFrame("Events", opened).Count().GetValue() == ENTRIES
        for chain in (opened.Get("Events"), opened["Events"]):
            assert (chain.GetName(), chain.GetEntries()) == ("Events", ENTRIES)
            assert RDataFrame(chain, ["x"]).Max().GetValue() == X.max()
        assert opened.Get("nothing") is None
        with pytest.raises(colonnade.NotFoundError, match="nothing"):
            opened["nothing"]
        with pytest.raises(colonnade.UnsupportedError, match="a TFile has no nothing"):
            opened.nothing  # noqa: B018
        opened.Close()
    with pytest.raises(colonnade.NotFoundError):
        ROOT.TFile("/nowhere/f.root")


def test_numbers(frame):
    assert frame.Count().GetValue() == ENTRIES
    assert frame.Sum("nMuon").GetValue() == N.sum()
    assert frame.Sum("nMuon", 10).GetValue() == N.sum() + 10
    assert frame.Mean("x").GetValue() == pytest.approx(X.mean())
    assert frame.StdDev("x").GetValue() == pytest.approx(X.std(ddof=1))
    assert frame.Min["double"]("x").GetValue() == X.min()
    assert frame.Max("x").GetValue() == X.max()
    stats = frame.Stats("x")
    assert (stats.GetN(), stats.GetMin(), stats.GetMax()) == (ENTRIES, X.min(), X.max())
    assert stats.GetRMS() == pytest.approx(X.std(ddof=1))
    assert stats.GetVar() == pytest.approx(X.var(ddof=1))
    assert frame.Stats("x", "w").GetW() == pytest.approx(W.sum())
    for weight in ("NAN", "1e200", "1e-200"):  # no sum of squares
        assert frame.Define("weight", weight).Stats("x", "weight").GetNeff() == 0
    assert list(frame.Take["double"]("x")) == X.tolist()
    assert len(frame.Take("x")) == ENTRIES
    assert frame.Take("x")[3] == X[3]
    assert repr(frame.Count()) == "<RResultPtr of <count(): not computed yet>>"


def test_transformations(frame):
    assert frame.Define("y", "x * 2").Sum("y").GetValue() == pytest.approx(2 * X.sum())
    assert frame.Redefine("x", "x + 1").Sum("x").GetValue() == pytest.approx(X.sum() + ENTRIES)
    assert frame.Alias("z", "x").Max("z").GetValue() == X.max()
    assert frame.Alias("z", "x").Redefine("x", "z + 1").Max("z").GetValue() == X.max() + 1
    assert frame.Range(10).Count().GetValue() == 10
    assert frame.Range(end=9, stride=3).Count().GetValue() == 3
    with pytest.raises(colonnade.UsageError, match="a range needs its end"):
        frame.Range()
    assert frame.Range(5, 50, 5).Count().GetValue() == 9
    assert frame.Range(5, 0).Count().GetValue() == ENTRIES - 5
    np.testing.assert_array_equal(frame.Range(3).Take("rdfentry_").GetValue(), [0, 1, 2])
    named = frame.DefinePerSample("s", lambda slot, info: 2.0 if info.Contains("f.root") else 1.0)
    assert named.Sum("s").GetValue() == 2 * ENTRIES
    assert frame.DefinePerSample("s", 'rdfsampleinfo_.Contains("f.root") ? 3 : 1').Max("s").GetValue() == 3
    assert frame.FilterAvailable("x").Count().GetValue() == ENTRIES
    assert frame.FilterMissing("x").Count().GetValue() == 0
    assert frame.DefaultValueFor("x", 0.0).Max("x").GetValue() == X.max()


def test_callables(frame):
    assert frame.Filter(lambda x: x > 0, ["x"]).Count().GetValue() == np.count_nonzero(X > 0)
    named = frame.Filter(lambda n: n == 2, ["nMuon"], "two")
    assert named.GetFilterNames() == ["two"]
    assert frame.Define("y", lambda x, w: x * w, ["x", "w"]).Max("y").GetValue() == (X * W).max()

    def leading(pt):
        return pt[0] if len(pt) > 0 else -1.0

    lead = frame.Define("lead", leading, ["Muon_pt"])
    first = [each[0] if each else -1.0 for each in ak.to_list(ARRAYS["Muon_pt"])]
    assert list(lead.Take("lead")) == first
    entries = frame.DefineSlotEntry("e", lambda slot, entry, x: entry, ["x"])
    assert entries.Max("e").GetValue() == ENTRIES - 1
    assert frame.DefineSlot("s", lambda slot: slot + 1).Min("s").GetValue() >= 1
    seen = []
    frame.Range(4).Foreach(lambda x, pt: seen.append((x, list(pt))), ["x", "Muon_pt"])
    assert seen == list(zip(X[:4].tolist(), ak.to_list(ARRAYS["Muon_pt"][:4]), strict=True))
    frame.Range(2).Foreach(lambda nMuon: seen.append(nMuon))  # noqa: N803, PLW0108
    assert seen[-2:] == N[:2].tolist()
    assert frame.Reduce(max, "x").GetValue() == X.max()
    total = frame.Aggregate(lambda state, n: state + n, lambda a, b: a + b, "nMuon", 0)
    assert total.GetValue() == N.sum()


def test_declared_functions_and_objects_are_callables(frame, file):
    ROOT.gInterpreter.Declare("""
        float given_twice(float x) { return 2 * x; }
        float given_twice(float x, float y) { return 2 * x + y; }
        bool given_any() { return true; }
        double given_scale(unsigned int slot, const ROOT::RDF::RSampleInfo& id) { return id.Contains(".root") ? 3 : 1; }
        ROOT::RVecD given_both(double x) { return {x - 1, x + 1}; }
        struct given_above {
            double least = 0;
            std::string name;
            bool operator()(double x) { return x > least; }
        };
    """)
    for columns in (["nMuon"], ["nMuon", "w"]):
        given = frame.Define("y", ROOT.given_twice, columns).Sum("y")
        assert given.GetValue() == frame.Define("y", f"given_twice({', '.join(columns)})").Sum("y").GetValue()
    assert frame.Filter(ROOT.given_above(0.5, 'a"b'), ["x"]).Count().GetValue() == np.count_nonzero(X > 0.5)
    assert frame.Filter(ROOT.given_any, "all").Count().GetValue() == ENTRIES
    assert RDataFrame("Events", file, ["x"]).Define("y", ROOT.given_twice).Mean("y").GetValue() != 0
    assert frame.DefinePerSample("s", ROOT.given_scale).Max("s").GetValue() == 3
    varied = frame.Vary("x", ROOT.given_both, ["x"], 2).Max("x")
    assert list(map(ROOT.RDF.VariationsFor(varied).__getitem__, ["x:0", "x:1"])) == [X.max() - 1, X.max() + 1]
    with pytest.raises(colonnade.UsageError, match="that given_twice takes are not named"):
        frame.Define("y", ROOT.given_twice)
    with pytest.raises(colonnade.UsageError, match="cannot be written in an expression"):
        ROOT.given_above(object())


@pytest.mark.parametrize("installed", [True, False])
def test_functions_declared_with_numba(frame, monkeypatch, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "numba", None)
    name = f"second_{installed}"

    @ROOT.Numba.Declare(["int", "const RVec<float> &"], "RVecD", name=name)
    def shifted(n, pt):
        return pt * 2.0 + n / 2

    @ROOT.Numba.Declare(["int"], "unsigned int", name=f"whole_{installed}")
    def whole(x):
        return x * 2

    assert whole(1.5) == 3.0
    node = frame.Filter("nMuon > 1").Define("y", f"Numba::{name}(2.75, Muon_pt)[1]")
    assert node.GetColumnType("y") == "double"
    second = [2 * each[1] + 1 for each in ak.to_list(ARRAYS["Muon_pt"]) if len(each) > 1]
    assert list(node.Take("y")) == second
    of_whole = frame.Define("y", f"Numba::whole_{installed}(w + 1)")
    assert of_whole.GetColumnType("y") == "unsigned int"
    assert list(of_whole.Take("y")) == [2 * int(each + 1) for each in W]
    assert hasattr(ROOT.Numba, name)
    assert not hasattr(ROOT.Numba, "nothing")
    with pytest.raises(colonnade.UsageError, match="is declared already"):
        ROOT.Numba.Declare(["int"], "int", name=name)(whole)
    with pytest.raises(colonnade.UsageError, match="'TH1' is not a type of numbers"):
        ROOT.Numba.Declare(["TH1"], "int")(whole)


def test_functions_declared_with_numba_are_not_looked_for_in_modules(monkeypatch):
    """Each RDataFrame pickles what is declared: looking at all modules took milliseconds, and called what they have."""
    asked = []
    odd = types.ModuleType("odd")
    odd.__getattr__ = asked.append
    monkeypatch.setitem(sys.modules, "odd", odd)
    ROOT.Numba.Declare(["int"], "int", name="of_no_module")(lambda n: n + 1)
    assert RDataFrame(3).Define("y", "Numba::of_no_module(rdfentry_)").Sum("y").GetValue() == 6
    assert "call" not in asked


def test_limits_of_numbers():
    limits = ROOT.std.numeric_limits
    assert [limits[int].min(), limits["int"].max(), limits[int].epsilon()] == [-(2**31), 2**31 - 1, 0]
    assert limits["unsigned long"].max() == limits["std::uint64_t"].max() == 2**64 - 1
    assert limits["double"].min() == sys.float_info.min
    assert limits["double"].lowest() == -sys.float_info.max
    assert limits[float].epsilon() == 2.0**-23  # C++'s float, as in ROOT
    assert math.isnan(limits["double"].quiet_NaN())
    assert limits["float"].infinity() == math.inf


def test_histograms(frame):
    h = frame.Histo1D(("h", "t", 10, -2, 2), "x").GetValue()
    reference = hist.Hist(hist.axis.Regular(10, -2, 2)).fill(X)
    flow = reference.values(flow=True)
    assert [h.GetBinContent(k) for k in range(12)] == flow.tolist()
    assert h.GetBinError(3) == math.sqrt(flow[3])
    assert h.Integral() == flow[1:-1].sum()
    assert h.Integral(0, 11) == ENTRIES
    assert h.Integral(2, 4) == h.Integral(2, 4, "") == flow[2:5].sum()
    assert h.Integral("width") == pytest.approx(0.4 * flow[1:-1].sum())
    assert h.Integral(2, 4, "width") == pytest.approx(0.4 * flow[2:5].sum())
    largest, smallest = flow[1:-1].max(), flow[1:-1].min()
    assert (h.GetMaximum(), h.GetMinimum()) == (largest, smallest)
    assert h.GetMaximum(largest) == flow[1:-1][flow[1:-1] < largest].max()
    assert h.GetMinimum(smallest) == flow[1:-1][flow[1:-1] > smallest].min()
    assert h.GetMaximumBin() == int(np.argmax(flow[1:-1])) + 1
    assert h.GetMinimumBin() == int(np.argmin(flow[1:-1])) + 1
    assert h.GetEffectiveEntries() == pytest.approx(flow[1:-1].sum())
    axis = h.GetXaxis()
    assert (axis.GetNbins(), axis.GetXmin(), axis.GetXmax()) == (10, -2, 2)
    assert (axis.GetBinCenter(1), axis.GetBinLowEdge(1), axis.GetBinUpEdge(10)) == (-1.8, -2, 2)
    assert (axis.GetBinLowEdge(0), axis.GetBinUpEdge(11)) == (-2.4, pytest.approx(2.4))
    assert axis.GetBinWidth(5) == pytest.approx(0.4)
    assert [axis.FindBin(v) for v in (-9, -2, 1.99, 2, math.nan)] == [0, 1, 10, 11, 11]
    assert h.FindBin(0.1) == 6
    assert not axis.IsVariableBinSize()
    assert frame.Histo1D("x").GetXaxis().GetNbins() == 128
    assert frame.Histo1D("x", "w").GetSumOfWeights() == pytest.approx(W.sum())
    edges = frame.Histo1D(("h", "t", 2, [0.0, 1.0, 3.0]), "x").GetValue()
    uneven = edges.GetXaxis()
    assert uneven.IsVariableBinSize()
    assert (uneven.GetFirst(), uneven.GetLast()) == (1, 2)
    assert [uneven.GetBinWidth(k) for k in range(4)] == [1.5, 1, 2, 1.5]
    assert [uneven.GetBinCenter(k) for k in range(4)] == [-0.75, 0.5, 2, 3.75]
    fine = frame.Histo1D(("h", "t", 57, 0.5, 2.7), "x").GetXaxis()  # to the last bit as in ROOT
    assert (fine.GetBinCenter(15), fine.GetBinWidth(52)) == (1.0596491228070177, 0.03859649122807018)
    model = ROOT.RDF.TH1DModel("h", "t", 10, -2, 2)
    np.testing.assert_array_equal(frame.Histo1D(model, "x").values(), reference.values())
    named = ROOT.RDF.TH1DModel("h", xup=2, xlow=-2, nbinsx=10, title="t")
    assert named == model == pickle.loads(pickle.dumps(named))
    assert (named.fName, named.fTitle) == ("h", "t")
    with pytest.raises(colonnade.UsageError, match="no 'bins'; try: name, title"):
        ROOT.RDF.TH1DModel("h", "t", bins=10)
    assert "<svg" in h._repr_html_()
    assert repr(h) == "<HistogramView 'h': 10 bins, 1500 entries>"
    assert h.kind == "COUNT"
    np.testing.assert_array_equal(h.values(), reference.values())
    np.testing.assert_array_equal(h.variances(), reference.values())
    np.testing.assert_array_equal(h.counts(), reference.values())


def test_changes_of_histograms(frame):
    model = ("h", "t", 10, -2, 2)
    h, weighted = frame.Histo1D(model, "x"), frame.Histo1D(model, "x", "w")
    before, weights, errors = h.values(flow=True), weighted.values(flow=True), weighted.variances(flow=True)
    copy = h.Clone("copy")
    assert (copy.GetName(), h.Clone().GetName(), copy.GetSumw2N()) == ("copy", "h", 0)
    h.Scale(0.5)  # changes what every later GetValue() returns
    assert h.GetValue().GetBinContent(3) == before[3] / 2
    assert h.GetPtr().GetBinError(3) == pytest.approx(math.sqrt(before[3]) / 2)
    assert (h.GetMean(), h.GetEntries()) == (pytest.approx(copy.GetMean()), ENTRIES)
    np.testing.assert_array_equal(copy.values(flow=True), before)
    assert copy.Add(weighted, -1)  # a result, or its value
    np.testing.assert_allclose(copy.values(flow=True), before - weights)
    np.testing.assert_allclose(copy.variances(flow=True), before + errors)
    assert weighted.Add(weighted.GetValue())
    np.testing.assert_allclose(weighted.values(flow=True), 2 * weights)
    assert weighted.GetEntries() == 2 * ENTRIES
    kept = frame.Filter("x > 0").Histo1D(model, "x").GetValue()
    passed = kept.values(flow=True)
    efficiency = kept.Clone("efficiency")
    assert efficiency.Divide(kept, frame.Histo1D(model, "x"), 1, 1, "B")
    np.testing.assert_allclose(efficiency.values(flow=True), passed / before)
    np.testing.assert_allclose(
        efficiency.variances(flow=True), passed / before * (1 - passed / before) / before, atol=1e-15
    )
    assert np.array_equal(h.to_hist().values(), before[1:-1] / 2)
    product = kept.Clone()
    assert product.Multiply(kept)
    assert np.array_equal(product.values(flow=True), passed**2)
    varied = frame.Vary("x", "ROOT::RVecD{x - 1, x + 1}", 2).Histo1D(model, "x")
    of_all = ROOT.RDF.Experimental.VariationsFor(varied)
    of_all["x:0"].Scale(3)
    assert of_all["x:0"].Integral() == 3 * ((X > -1) & (X < 3)).sum()
    with pytest.raises(colonnade.UsageError, match="different bins"):
        kept.Add(frame.Histo1D(("h", "t", 10, -2, 3), "x"))
    with pytest.raises(colonnade.UsageError, match="not Hist"):
        kept.Add(kept.to_hist())


def test_bins_that_are_set_and_joined(frame):
    h = frame.Histo1D(("h", "t;p", 10, -2, 2), "x")
    before = h.values(flow=True)
    joined = h.Rebin(5, "joined")
    assert (joined.GetName(), h.GetNbinsX(), joined.GetXaxis().GetTitle()) == ("joined", 10, "p")
    assert joined.values().tolist() == [before[1:6].sum(), before[6:11].sum()]
    assert h.Rebin(3) is h.GetValue()  # the tenth bin is beyond now
    assert h.values(flow=True).tolist() == [
        before[0],
        *before[1:10].reshape(3, 3).sum(axis=1),
        before[10:].sum(),
    ]
    assert h.GetXaxis().GetXmax() == pytest.approx(1.6)
    assert h.to_hist().axes[0].edges.tolist() == pytest.approx([-2, -0.8, 0.4, 1.6])
    h.SetBinContent(2, 7)
    h.SetBinError(2, 3)
    assert h.Fill(0.1) == 2
    assert (h.GetBinContent(2), h.GetBinError(2)) == (8, pytest.approx(math.sqrt(10)))
    assert h.Fill(9, 0.5) == -1
    h.SetDirectory(0)
    h.SetTitle("new")
    assert (h.GetTitle(), h.GetXaxis().GetTitle(), h.GetEntries()) == ("new", "p", ENTRIES + 3)
    h.Reset()
    assert (h.Integral(0, 4), h.GetEntries(), h.GetMean()) == (0, 0, 0)
    named = frame.Histo1D(("h", "t", 10, -2, 2), "x").Clone("copy")
    assert named.Rebin().GetName() == "copy"
    flat = frame.Histo2D(("g", "t;a;b", 4, -2, 2, 3, 0, 2), "x", "w").GetValue()
    along = flat.ProjectionY()
    assert (along.GetName(), along.GetXaxis().GetTitle(), along.GetNbinsX()) == ("g_py", "b", 3)
    assert along.values(flow=True).tolist() == flat.values(flow=True).sum(axis=0).tolist()
    assert flat.ProjectionX("p", 2, 2).values().tolist() == flat.values()[:, 1].tolist()
    for use, problem in (
        (lambda: flat.Rebin(2), "one axis"),
        (lambda: along.RebinY(2), "2 axes, not 1"),
        (lambda: along.Rebin(4), "4 bins cannot be joined on an axis with 3"),
        (lambda: along.Rebin(1, "n", [0.1, 1.9]), "0.1 is no edge"),
        (lambda: along.Rebin(2, "n", [0.0, 0.0, 2.0]), "must rise"),
        (lambda: flat.Fill(1), "takes 2 values and a weight, not 1"),
    ):
        with pytest.raises(colonnade.UsageError, match=problem):
            use()


@pytest.mark.parametrize(
    ("contents", "largest", "smallest"),
    [
        ([math.nan, 1, 1], 2, 2),
        ([math.nan] * 3, 0, 0),
        ([-math.inf, 1, 2], 3, 1),
        ([1e39, 1e40, 1e39], 2, 0),
        ([-1e39] * 3, 0, 1),
        ([1e308, -1e308, 1e308], 1, 2),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bins_with_extreme_contents_are_those_of_root(contents, largest, smallest):
    arrays = {"x": np.array([0.5, 1.5, 2.5]), "w": np.array(contents)}
    frame = RDataFrame(colonnade.DataFrame.from_arrays(arrays))
    h = frame.Histo1D(("h", "", 3, 0, 3), "x", "w")
    assert (h.GetMaximumBin(), h.GetMinimumBin()) == (largest, smallest)
    for each in (h, frame.Profile1D(("p", "", 3, 0, 3), "x", "w", "w")):
        assert {type(number) for number in (each.GetMean(), each.GetStdDev(), each.GetBinError(1))} == {float}
        assert len(each.variances()) == len(each.counts()) == len(each.to_hist().axes[0])


def test_histograms_with_more_axes(frame):
    h = frame.Histo2D(("h", "t", 4, -2, 2, 3, 0.5, 1.5), "x", "w").GetValue()
    reference = hist.Hist(hist.axis.Regular(4, -2, 2), hist.axis.Regular(3, 0.5, 1.5)).fill(X, W)
    flow = reference.values(flow=True)
    assert h.GetBinContent(2, 3) == flow[2, 3]
    assert h.GetBinContent(h.GetBin(2, 3)) == flow[2, 3]
    assert h.GetBin(2, 3) == 2 + 6 * 3
    assert h.FindBin(-1.5, 0.6) == h.GetBin(1, 1)
    assert h.Integral(1, 2, 1, 3) == flow[1:3, 1:4].sum()
    area = h.GetXaxis().GetBinWidth(1) * h.GetYaxis().GetBinWidth(1)
    assert h.Integral(1, 2, 1, 3, "width") == pytest.approx(area * flow[1:3, 1:4].sum())
    assert (h.GetNbinsX(), h.GetNbinsY(), h.GetNbinsZ(), h.GetNcells()) == (4, 3, 1, 30)
    weighted = frame.Histo2D(("h", "t", 4, -2, 2, 3, 0.5, 1.5), "x", "w", "w")
    assert weighted.Integral() == pytest.approx(W[abs(X) < 2].sum())
    three = frame.Histo3D(("h", "t", 2, -2, 2, 2, 0.5, 1.5, 5, 0, 5), "x", "w", "nMuon")
    assert three.GetDimension() == 3
    assert three.Integral() == np.count_nonzero(abs(X) < 2)
    model = ("h", "t", 2, [4, 3], [-2.0, 0.5], [2.0, 1.5])
    many = frame.HistoND(model, ["x", "w"]).GetValue()
    np.testing.assert_array_equal(many.values(flow=True), flow)
    assert many.GetAxis(1).GetNbins() == 3
    assert frame.HistoND(model, ["x", "w", "w"]).Integral() == pytest.approx(weighted.Integral())
    edges = frame.HistoND(("h", "t", 1, [2], [[0.0, 1.0, 2.0]]), ["x"])
    assert edges.Integral() == np.count_nonzero((X >= 0) & (X < 2))
    for y in ([3, [0.5, 1.0, 1.25, 1.5]], [3, 0.5, 1.5]):
        two = frame.Histo2D(("h", "t", 2, [0.0, 1.0, 2.0], *y), "x", "w")
        assert two.Integral() == np.count_nonzero((X >= 0) & (X < 2))


def assert_statistics(histogram, coordinates, weights, inside):
    """Those of what is in range, as ROOT computes them."""
    w = weights[inside]
    effective = w.sum() ** 2 / (w**2).sum()
    assert histogram.GetEffectiveEntries() == pytest.approx(effective, rel=1e-12)
    for number, values in enumerate(coordinates, 1):
        x = values[inside]
        mean = np.average(x, weights=w)
        spread = math.sqrt(np.average((x - mean) ** 2, weights=w))
        assert histogram.GetMean(number) == pytest.approx(mean, rel=1e-11, abs=1e-12)
        assert histogram.GetStdDev(number) == histogram.GetRMS(number)
        assert histogram.GetStdDev(number) == pytest.approx(spread, rel=1e-11)
        assert histogram.GetMeanError(number) == pytest.approx(spread / math.sqrt(effective), rel=1e-11)
        assert histogram.GetStdDevError(number) == pytest.approx(spread / math.sqrt(2 * effective), rel=1e-11)


def test_statistics_are_those_of_the_values(frame):
    ones = np.ones(ENTRIES)
    inside = (X >= -1) & (X < 1.5)
    model = ("h", "t", 3, -1, 1.5)
    h = frame.Histo1D(model, "x").GetValue()
    assert_statistics(h, [X], ones, inside)
    stats = np.zeros(4)
    found = h.GetStats(stats)
    expected = [inside.sum(), inside.sum(), X[inside].sum(), (X[inside] ** 2).sum()]
    np.testing.assert_allclose(stats, expected, rtol=1e-11)
    np.testing.assert_array_equal(found, stats)
    assert h.GetEffectiveEntries() == h.GetSumOfWeights() == inside.sum()
    weighted = frame.Histo1D(model, "x", "w").GetValue()
    assert_statistics(weighted, [X], W, inside)
    assert weighted.GetSumOfWeights() == pytest.approx(W[inside].sum())
    assert_statistics(frame.Histo1D("x").GetValue(), [X], ones, ones == 1)
    assert_statistics(frame.Histo1D("x", "w").GetValue(), [X], W, ones == 1)
    two_axes = (*model, 2, 0.6, 1.2)
    both = inside & (W >= 0.6) & (W < 1.2)
    assert_statistics(frame.Histo2D(two_axes, "x", "w").GetValue(), [X, W], ones, both)
    assert_statistics(frame.Histo2D(two_axes, "x", "w", "w").GetValue(), [X, W], W, both)
    three = frame.Histo3D((*two_axes, 2, 1, 4), "x", "w", "nMuon").GetValue()
    assert_statistics(three, [X, W, N.astype(float)], ones, both & (N >= 1) & (N < 4))


def test_statistics_of_nothing(frame):
    for h in (frame.Histo1D(("h", "t", 3, 100, 200), "x"), frame.Histo1D(("h", "t", 3, 100, 200), "x", "w")):
        assert h.GetEntries() == ENTRIES
        assert (h.GetMean(), h.GetStdDev(), h.GetMeanError(), h.GetStdDevError()) == (0, 0, 0, 0)
        assert h.GetEffectiveEntries() == 0
    cancelled = frame.Define("sign", "rdfentry_ % 2 == 0 ? 1.0 : -1.0").Histo1D(
        ("h", "t", 1, -9, 9), "x", "sign"
    )
    assert (cancelled.GetMean(), cancelled.GetStdDev(), cancelled.GetEffectiveEntries()) == (0, 0, 0)
    constant = frame.Define("c", "0.1").Histo1D(("h", "t", 3, 0, 1), "c")
    assert constant.GetMean() == pytest.approx(0.1)
    assert constant.GetStdDev() == pytest.approx(0, abs=1e-7)
    with pytest.raises(colonnade.UsageError, match="no axis 0"):
        constant.GetMean(0)
    with pytest.raises(colonnade.UnsupportedError, match="no GetStats"):
        frame.Histo2D(("h", "t", 1, 0, 1, 1, 0, 1), "x", "w").GetStats()


def test_statistics_do_not_depend_on_threads(file, monkeypatch, small_parts):
    found = []
    for threads in (1, 2, 3, 7):
        monkeypatch.setattr(facade, "_threads", threads)
        df = RDataFrame("Events", file)
        model = ("h", "t", 9, -1, 1.5)
        histograms = [
            df.Histo1D(model, "x"),
            df.Histo1D(model, "x", "w"),
            df.Histo1D("x"),
            df.Histo2D((*model, 3, 0.6, 1.2), "w", "x"),
        ]
        found.append([(h.GetMean(), h.GetStdDev(), h.GetEffectiveEntries()) for h in histograms])
        small_parts(df.AsDataFrame(), threads)
    assert found[1:] == found[:-1]


def test_profiles_and_graphs(frame):
    p = frame.Profile1D(("p", "t", 4, -2, 2), "x", "nMuon").GetValue()
    in_second = N[(X >= -1) & (X < 0)]
    assert p.GetBinContent(2) == pytest.approx(in_second.mean())
    assert p.GetBinEntries(2) == len(in_second)
    assert p.GetBinError(2) == pytest.approx(in_second.std() / math.sqrt(len(in_second)))
    spread = frame.Profile1D(("p", "t", 4, -2, 2, "s"), "x", "nMuon")
    assert spread.GetBinError(2) == pytest.approx(in_second.std())
    limited = frame.Profile1D(("p", "t", 4, -2, 2, 1.0, 3.0), "x", "nMuon")
    assert limited.GetBinContent(2) == pytest.approx(in_second[(in_second >= 1) & (in_second <= 3)].mean())
    infinite = frame.Define("inf", "INFINITY").Profile1D(("p", "t", 4, -2, 2), "x", "nMuon", "inf")
    assert math.isnan(infinite.GetBinEffectiveEntries(2))
    edges = frame.Profile1D(("p", "t", 2, [-2.0, -1.0, 0.0], 1.0, 3.0, "s"), "x", "nMuon")
    assert edges.GetBinContent(2) == limited.GetBinContent(2)
    two = frame.Profile2D(("p", "t", 2, -2, 2, 2, 0.5, 1.5), "x", "w", "nMuon", "w").GetValue()
    inside = (X >= -2) & (X < 0) & (W >= 0.5) & (W < 1.0)
    assert two.GetBinContent(1, 1) == pytest.approx(np.average(N[inside], weights=W[inside]))
    assert two.to_hist().storage_type is hist.storage.WeightedMean
    g = frame.Graph("x", "w").GetValue()
    assert g.GetN() == ENTRIES
    assert sorted(g.GetX().tolist()) == sorted(X.tolist())
    errors = frame.GraphAsymmErrors("x", "w", "w", "w", "w", "w")
    assert errors.GetErrorYhigh(0) == errors.GetPointY(0)
    np.testing.assert_array_equal(errors.GetEXlow(), errors.GetY())
    np.testing.assert_array_equal(errors.GetEYhigh(), errors.GetY())
    with pytest.raises(colonnade.UsageError, match="has no errors"):
        g.GetEXlow()


def test_variations(frame):
    varied = frame.Vary("x", "ROOT::RVecD{x - 1, x + 1}", ["down", "up"], "shift")
    nominal = varied.Sum("x")
    sums = ROOT.RDF.Experimental.VariationsFor(nominal)
    assert sums.GetKeys() == ["nominal", "shift:down", "shift:up"]
    assert sums["shift:up"] == pytest.approx(X.sum() + ENTRIES)
    h = varied.Histo1D(("h", "t", 10, -2, 2), "x")
    others = frame.Define("a", "x").Vary("a", "ROOT::RVecD{a, a}", ["up", "down"], "z")
    others = others.Vary("x", f"ROOT::RVecD{{{', '.join(['x'] * 12)}}}", 12, "b").Define("both", "a + x")
    keys = ROOT.RDF.Experimental.VariationsFor(others.Sum("both")).GetKeys()
    assert keys == ["nominal", *sorted(f"b:{k}" for k in range(12)), "z:down", "z:up"]
    histograms = ROOT.RDF.VariationsFor(h)
    assert histograms["shift:down"].GetEntries() == ENTRIES
    assert [histograms[key].GetName() for key in histograms] == ["h", "h_shift_down", "h_shift_up"]
    graphs = ROOT.RDF.VariationsFor(varied.Graph("x", "w"))
    assert graphs["shift:up"].GetName() == f"{graphs['nominal'].GetName()}_shift_up"
    numbered = frame.Vary("w", "{w * 0.5, w * 2}", 2)
    assert ROOT.RDF.VariationsFor(numbered.Sum("w"))["w:1"] == pytest.approx(2 * W.sum())
    called = frame.Vary("w", lambda w: (w / 2, w * 2), ["w"], ["down", "up"], "scale")
    assert ROOT.RDF.VariationsFor(called.Sum("w"))["scale:up"] == pytest.approx(2 * W.sum())
    named = frame.Vary(["x", "w"], "{{x, x}, {w, w * 2}}", variationTags=["a", "b"], variationName="v")
    assert ROOT.RDF.VariationsFor(named.Sum("w"))["v:b"] == pytest.approx(2 * W.sum())
    array = frame.Vary("w", lambda w: np.array([w / 2, w * 2]), ["w"], ["down", "up"], "scale")
    assert ROOT.RDF.VariationsFor(array.Sum("w"))["scale:up"] == pytest.approx(2 * W.sum())
    assert "shift:up" in varied.GetVariations().AsString()
    with pytest.raises(colonnade.UsageError, match="tags of variations are missing"):
        frame.Vary("x", "{x, x}")


def test_arrays_and_snapshots(frame, tmp_path, capsys):
    arrays = frame.AsNumpy(["x", "nMuon"])
    np.testing.assert_array_equal(arrays["x"], X)
    arrays["x"] *= 2
    np.testing.assert_array_equal(frame.AsNumpy(["x"])["x"], X)
    items = frame.AsNumpy(["Muon_pt"])["Muon_pt"][int(np.argmax(COUNTS))]
    items[0] = 1
    assert list(frame.AsNumpy(exclude=["Muon_pt", "Muon_charge"])) == ["nMuon", "w", "x"]
    lazy = frame.AsNumpy(["x"], lazy=True)
    assert not lazy.IsReady()
    assert list(frame.AsNumpy("Muon_.*")) == ["Muon_charge", "Muon_pt"]
    with pytest.raises(colonnade.NotFoundError, match="regular expression"):
        frame.AsNumpy("zz.*")
    # ROOT adds "^" and "$" to the text as it is.
    assert list(frame.AsNumpy("x|t")) == ["Muon_pt", "x"]
    made = frame.Filter("x > 0").Snapshot("Skim", tmp_path / "s.root", ["x", "Muon_pt"])
    assert made.Count().GetValue() == np.count_nonzero(X > 0)
    assert colonnade.open(tmp_path / "s.root", "Skim").field_names == ["x", "Muon_pt"]
    options = ROOT.RDF.RSnapshotOptions()
    options.fLazy, options.fCompressionAlgorithm, options.fCompressionLevel = True, 4, 1
    waiting = frame.Snapshot("Skim", str(tmp_path / "l.root"), "x|w", options)
    assert not (tmp_path / "l.root").exists()
    assert waiting.GetValue().GetColumnNames() == ["w", "x"]
    assert colonnade.open(tmp_path / "l.root").field_names == ["x", "w"]
    cached = frame.Cache(["x"])
    assert cached.Max("x").GetValue() == X.max()
    frame.Range(2).Display(["x", "nMuon"]).Print()
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert "nMuon" in frame.Display(["nMuon"], 2).AsString()
    frame.Filter("x > 0", "positive").Report().Print()
    assert capsys.readouterr().out.startswith(f"positive{' ' * 12}: pass=")


def test_arguments_have_roots_names(frame, tmp_path):
    plain = frame.Define("z", "2 * x")
    assert (
        plain.Sum("z").GetValue()
        == frame.Define("z", lambda a: 2 * a, cols=["x"]).Sum(columnName="z").GetValue()
    )
    assert frame.Filter(expression="x > 0", name="up").Count().GetValue() == np.count_nonzero(X > 0)
    shown = frame.Display(columnList=("x", "nMuon"), nRows=2, nMaxCollectionElements=3)
    assert shown.AsString() == frame.Display(["x", "nMuon"], 2, 3).AsString()
    made = frame.Snapshot(treename="Skim", filename=tmp_path / "n.root", columnList=["x"])
    assert made.GetColumnNames() == ["x"]
    varied = frame.Vary(colName="x", expression="{x - 1, x + 1}", variationTags=["a", "b"], variationName="v")
    assert varied.GetVariations().AsString() == "Variations {v:a, v:b} affect column x\n"
    assert frame.Alias(alias="y", columnName="x").HasColumn(columnName="y")
    with pytest.raises(colonnade.UsageError, match="both 'columns' and 'columnList'"):
        frame.Display(columns="x", columnList="x")
    with pytest.raises(TypeError, match="no argument 'tree'"):
        frame.Snapshot(tree="Skim")


def test_extra_arguments_of_callables(frame):
    expected = frame.Define("z", "3 * x").Sum("z").GetValue()
    for scaled in (lambda x, u: x * u, lambda u, x: x * u):
        assert frame.Define("z", scaled, extra_args={"u": 3.0}).Sum("z").GetValue() == expected
    above = frame.Filter(lambda value, least: value > least, ["x"], "above", extra_args={"least": 0.5})
    assert above.Count().GetValue() == np.count_nonzero(X > 0.5)
    unknown = "unknown.Array" if sys.version_info >= (3, 14) else "'unknown.Array'"  # for type checkers
    made = {}
    exec(
        compile(
            f"def scaled(x: {unknown}, u) -> {unknown}: return x * u", "made.py", "exec", dont_inherit=True
        ),
        made,
    )
    assert frame.Define("z", made["scaled"], extra_args={"u": 3.0}).Sum("z").GetValue() == expected
    with pytest.raises(colonnade.UsageError, match="no parameter 'v'"):
        frame.Define("z", lambda x: x, extra_args={"v": 1})
    with pytest.raises(colonnade.UsageError, match="not for expressions"):
        frame.Filter("x > u", extra_args={"u": 1})
    for function in (len, np.sin, lambda *x: 1):
        with pytest.raises(colonnade.UsageError, match="whose parameters have names"):
            frame.Define("z", function, ["x"], {"u": 1})
    for extra in (3, ["u"], np.arange(3)):
        with pytest.raises(colonnade.TypeMismatchError, match="has no names; try: extra_args="):
            frame.Filter(lambda x, u: x > u, ["x"], "above", extra)
    moved = frame.RedefineSlot("x", lambda slot, x: x + 1, ["x"])
    moved = moved.RedefineSlotEntry("x", lambda slot, entry, x: x + 0 * entry, ["x"])
    np.testing.assert_array_equal(moved.AsNumpy(["x"])["x"], X + 1)


def test_options_of_snapshots(frame, tmp_path):
    algorithm = ROOT.RCompressionSetting.EAlgorithm.kLZ4
    options = ROOT.RDF.RSnapshotOptions("RECREATE", algorithm, 4, 100, 1, False)
    options.fOutputFormat = ROOT.RDF.ESnapshotOutputFormat.kRNTuple
    options.fApproxZippedClusterSize, options.fEnablePageChecksums = 4000, False
    frame.Snapshot("Skim", tmp_path / "o.root", ["x"], options)
    made = colonnade.open(tmp_path / "o.root")
    clusters = made.descriptor.clusters
    assert len(clusters) > 1
    assert not clusters[0].columns[0].pages[0].has_checksum
    np.testing.assert_array_equal(made["x"], X)
    options = ROOT.RDF.RSnapshotOptions()
    options.fCompressionAlgorithm = ROOT.RCompressionSetting.EAlgorithm.kUndefined
    options.fIncludeVariations = True
    varied = frame.Vary("x", "{x - 1, x + 1}", ["down", "up"], "v")
    made = varied.Snapshot("Skim", tmp_path / "v.root", ["x"], options)
    np.testing.assert_array_equal(made.AsNumpy(["x__v_up"])["x__v_up"], X + 1)
    options.fOutputFormat = ROOT.RDF.ESnapshotOutputFormat.kTTree
    with pytest.raises(colonnade.UnsupportedError, match="not as TTree"):
        frame.Snapshot("Skim", tmp_path / "t.root", ["x"], options)
    with pytest.raises(colonnade.UsageError, match="no 17 options"):
        ROOT.RDF.RSnapshotOptions(*range(17))


def test_results_are_true_and_shared(frame):
    assert frame.Filter("x > 1e9").Count()
    assert frame.Histo1D(("h", "t", 4, -2, 2), "x").GetSharedPtr().GetEntries() == ENTRIES
    assert frame.HistoND(("h", "t", 2, [4, 5], [0, 0], [1, 1]), ["x", "w"]).GetNdimensions() == 2
    frame = frame.Filter("x > 0", "up").Filter("x < 0", "down")
    assert frame.Report().AsString().splitlines()[1].startswith(f"down{' ' * 16}: pass=0 ")


def test_bins_of_many_axes_are_numbered_as_in_root():
    frame = RDataFrame(20).Define("x", "double(rdfentry_)").Define("i", "int(rdfentry_ * 7 % 5)")
    counted = frame.HistoND(("h", "t", 2, [3, 4], [0, 0], [20, 5]), ["x", "i"])
    # As THnD of ROOT 6.40 has them: the last axis is the fastest.
    assert [counted.GetBinContent(k) for k in range(6, 12)] == [0, 3, 2, 1, 1, 0]
    assert counted.GetBinContent([1, 2]) == counted.GetBinContent(1, 2) == 2
    assert counted.GetBin(1, 2) == counted.GetBin([1, 2]) == 8
    plain = frame.Histo2D(("h", "t", 3, 0, 20, 4, 0, 5), "x", "i")
    assert plain.GetBin(1, 2) == 11


def test_display_of_all_columns_is_sorted(frame):
    assert frame.Display("", 1).AsString() == frame.Display(sorted(ARRAYS), 1).AsString()
    assert frame.Display("[xw]", 1).AsString() == frame.Display(["w", "x"], 1).AsString()


def test_types_of_arrays_are_those_of_root():
    kinds = {"int8": "signed char", "uint16": "unsigned short", "int32": "int", "int64": "Long64_t"}
    kinds |= {"uint64": "ULong64_t", "float32": "float", "bool": "bool"}
    frame = ROOT.RDF.FromNumpy({kind: np.zeros(2, dtype=kind) for kind in kinds})
    assert {kind: frame.GetColumnType(kind) for kind in kinds} == kinds


def test_display_of_lists_in_lists_has_the_digits_of_root():
    rows = [[[1.5, 1e300, 123456789.123, 0.0], []]]
    frame = ROOT.RDF.FromArrow(
        {"d": ak.Array(rows), "f": ak.values_astype(ak.Array([[[1.5, 1e30]]]), "float32")}
    )
    shown = frame.Display(["d", "f"]).AsString()
    assert "{ 1.5000000, 1.0000000e+300, 1.2345679e+08, 0.0000000 }" in shown
    assert "{ 1.50000f, 1.00000e+30f }" in shown


def test_the_size_of_a_defined_list_is_no_column(frame):
    node = frame.Define("v", "ROOT::RVecI{1, 2}").Define("R_rdf_sizeof_w", "3")
    assert [node.HasColumn(name) for name in ("v", "#v", "R_rdf_sizeof_v", "R_rdf_sizeof_w")] == [
        True,
        False,
        False,
        True,
    ]
    assert node.Define("n", "#v").Max("n").GetValue() == 2


def test_columns_are_as_wide_as_the_dots_of_a_long_list():
    display = colonnade.RDataFrame(1).Define("w", "ROOT::RVecI(12, 3)").Display(["w"])
    assert display.AsString().startswith("+-----+-----+\n| Row | w   | \n")


@pytest.mark.parametrize(
    ("columns", "problem"), [([], "no columns are named"), (["x", "x"], "a column is named twice")]
)
def test_snapshots_name_each_column_once(tmp_path, columns, problem):
    frame = colonnade.RDataFrame(1).Define("x", "1")
    with pytest.raises(colonnade.UsageError, match=problem):
        frame.Snapshot("Events", str(tmp_path / "out.root"), columns)
    assert not list(tmp_path.iterdir())


def test_means_of_graphs(frame):
    graph = frame.Graph("x", "w")
    assert graph.GetMean() == pytest.approx(X.mean())
    assert graph.GetRMS(2) == pytest.approx(W.std())
    assert frame.Filter("x > 1e9").Graph("x", "w").GetMean(2) == 0
    with pytest.raises(colonnade.UsageError, match="no axis 3"):
        graph.GetMean(3)


def test_the_sample_is_no_column(frame):
    assert [frame.HasColumn(name) for name in ("rdfentry_", "rdfslot_", "rdfsampleinfo_")] == [
        True,
        True,
        False,
    ]


def test_once_is_called_once(file, monkeypatch):
    called: list[int] = []
    result = RDataFrame("Events", file).Count()
    booked: list[object] = []
    monkeypatch.setattr(type(result._result), "on_partial", lambda _, callback: booked.append(callback))
    result.OnPartialResult(result.kOnce, called.append)
    for value in (1, 2, 3):
        booked[0](value)
    assert called == [1]


def test_partial_results_of_a_short_run(file):
    frame = RDataFrame("Events", file)
    seen: list[float] = []
    count, total = frame.Count(), frame.Sum("x")
    total.OnPartialResult(total.kOnce, seen.append)
    assert count.GetValue() == ENTRIES
    assert seen == [total.GetValue()]
    assert frame.Filter("x > 0").Count().GetValue() == int((X > 0).sum())  # another run shows it no more
    assert len(seen) == 1


def test_function_objects_are_functions(frame):
    ROOT.gInterpreter.Declare("""
        // std::function<int(int)> commented = [](int x) { return x; };
        std::function<ULong64_t(ULong64_t)> squared_object = [](ULong64_t l) { return l * l; };
        std::function<double(double, std::vector<float>)> half_object =
            [](int x, const std::vector<float>& v) { int n = x / 2; return n + int(v.size()); };
        double of_objects(double x) { return half_object(x, std::vector<float>{1, 2}) + squared_object(x); }
        std::function<int()> seven_object = [] { return 7; };
    """)
    made = RDataFrame(3).Define("a", ROOT.squared_object, ["rdfentry_"]).Define("b", "of_objects(3.9)")
    assert made.Filter(ROOT.squared_object, ["rdfentry_"]).Count().GetValue() == 2
    assert made.AsNumpy(["a"])["a"].tolist() == [0, 1, 4]
    # The lambda gets 3 of 3.9, and the other one, too.
    assert made.Max("b").GetValue() == 3 // 2 + 2 + 9
    assert made.Define("c", "seven_object()").Sum("c").GetValue() == 21
    with pytest.raises(colonnade.UsageError, match="std"):
        ROOT.gInterpreter.Declare("std::function<int(int)> no_lambda = seven_object;")


def test_arithmetic_of_histograms(frame):
    one = frame.Histo1D(("h", "t", 5, -2, 2), "x").GetValue()
    two = frame.Histo1D(("h", "t", 5, -2, 2), "x", "w").GetValue()
    a, b = one.values(flow=True), two.values(flow=True)
    for made, expected in (
        (one * 2, 2 * a),
        (2 * one, 2 * a),
        (one + two, a + b),
        (one - two, a - b),
        (one * two, a * b),
        (two / one, b / a),
    ):
        np.testing.assert_allclose(made.values(flow=True), expected)
        assert (made.GetName(), made.GetTitle()) == ("h", "t")
    assert (one * 2).GetBinError(3) == pytest.approx(2 * one.GetBinError(3))
    assert one.GetEntries() == ENTRIES


def test_namespaces_of_root(file, capsys):
    frame = ROOT.RDF.FromPandas(pandas.DataFrame({"x": [1, 2, 3], "y": [4.5, 5, 6]}))
    assert frame.Define("z", "x + y").Sum("z").GetValue() == 21.5
    assert ROOT.ROOT.RDataFrame is RDataFrame
    ROOT.RDF.Experimental.ThreadsPerTH3(2)
    described = RDataFrame("Events", [file, file]).Describe()
    assert described.GetNFiles() == 2
    described.Print(shortFormat=True)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_names_and_types_are_those_of_root(tmp_path):
    """Those that ROOT 6.40 gives."""
    schema = {
        "x": "double",
        "n": "std::int32_t",
        "r": {"p": "float", "q": "std::int64_t"},
        "jets": [{"pt": "float"}],
        "point": "std::vector<std::vector<double>>",
    }
    with colonnade.create(tmp_path / "f.root", "Events", schema) as writer:
        writer.fill(x=1.0, n=1, r={"p": 1, "q": 2}, jets=[], point=[[1]])
    frame = RDataFrame("Events", str(tmp_path / "f.root"))
    varied = frame.Vary("x", "ROOT::RVecD{x - 1, x + 1}", ["down", "up"], "shift").Define("y", "x * 2")
    node = varied.Alias("other", "n").Filter("x > 0").Filter("y > 0", "cut").Define("a", "n + 1")
    node = node.Vary("y", "ROOT::RVecD{y, y}", 2)
    assert node.GetColumnNames() == ["a", "jets.pt", "n", "other", "point", "r.p", "r.q", "x", "y"]
    assert node.GetDefinedColumnNames() == ["y", "a"]
    for each in (node, frame, varied):
        assert each.GetFilterNames() == ["Unnamed Filter", "cut"]
    assert frame.GetVariations().AsString() == ""
    assert node.GetVariations().AsString() == (
        "Variations {shift:down, shift:up} affect column x\nVariations {y:0, y:1} affect column y\n"
    )
    two = frame.Define("z", "x").Vary(["x", "z"], "ROOT::RVec<ROOT::RVecD>{{1}, {2}}", ["up"], "both")
    assert two.GetVariations().AsString() == "Variations {both:up} affect columns {x, z}\n"
    types = {
        "n": "std::int32_t",
        "other": "std::int32_t",
        "a": "int",
        "jets.pt": "ROOT::VecOps::RVec<float>",
        "point": "ROOT::VecOps::RVec<ROOT::VecOps::RVec<double>>",
        "rdfentry_": "ULong64_t",
        "rdfslot_": "unsigned int",
    }
    assert {name: node.GetColumnType(name) for name in types} == types
    defined = {
        "r.q + 1": "long",
        "(std::uint8_t)1": "unsigned char",
        "point": "ROOT::VecOps::RVec<ROOT::VecOps::RVec<double> >",
        'std::string("a")': "string",
        "ROOT::RVecU{1}": "ROOT::VecOps::RVec<unsigned int>",
        "x": "double",
        "n > 0": "bool",
    }
    assert {text: node.Define("b", text).GetColumnType("b") for text in defined} == defined
    assert frame.GetNFiles() == 1
    assert RDataFrame(3).GetNFiles() == 0


def test_questions(frame, tmp_path, capsys):
    assert frame.GetColumnNames() == sorted(ARRAYS)
    assert frame.GetColumnType("x") == "double"
    node = frame.Define("y", "x")
    assert node.GetDefinedColumnNames() == ["y"]
    assert node.HasColumn("y")
    node.Describe().Print()
    assert "define" in capsys.readouterr().out
    assert ROOT.RDF.SaveGraph(node).startswith("digraph")
    ROOT.RDF.SaveGraph(node, str(tmp_path / "g.dot"))
    assert (tmp_path / "g.dot").read_text().startswith("digraph")
    assert repr(node).startswith("<RDataFrame of 'Events'")
    assert "<table>" in node._repr_html_()
    assert ROOT.RDF.AsRNode(node) is node
    ROOT.RDF.Experimental.AddProgressBar(node)
    assert node.AsDataFrame()._session.progress is True


def test_graphs_that_run_together(file):
    results = [RDataFrame("Events", file).Filter(f"x > {k}").Count() for k in range(3)]
    assert ROOT.RDF.RunGraphs(results) == 3
    assert [result.GetValue() for result in results] == [np.count_nonzero(k < X) for k in range(3)]


def test_lines_around_an_analysis(frame, tmp_path):
    """What nearly every script says, besides RDataFrame."""
    ROOT.gROOT.SetBatch(True)
    assert ROOT.gROOT.IsBatch()
    columns = ROOT.std.vector("string")()
    columns.push_back("x")
    columns.push_back("w")
    assert columns.size() == 2
    assert frame.Snapshot("s", str(tmp_path / "s.root"), columns).GetColumnNames() == ["w", "x"]
    assert list(frame.AsNumpy(ROOT.vector["string"](["w"]))) == ["w"]
    assert ROOT.std.vector(ROOT.std.string)(("x",)) == ["x"]
    assert frame.GetColumnNames().size() == len(frame.GetColumnNames())
    assert frame.Filter("x > 0").GetFilterNames().size() == 1
    assert frame.GetDefinedColumnNames().size() == 0
    ROOT.TH1.AddDirectory(ROOT.kFALSE)
    ROOT.EnableThreadSafety()
    assert ROOT.gROOT.ProcessLine("gErrorIgnoreLevel = 2001;") == 0
    assert ROOT.gInterpreter.GenerateDictionary("std::vector<A>", "vector")
    for namespace in (ROOT, ROOT.Experimental):
        namespace.RLogScopedVerbosity(ROOT.Detail.RDF.RDFLogChannel(), namespace.ELogLevel.kInfo)
    (tmp_path / "of_folder.h").write_text("float of_folder(float x) { return x; }")
    ROOT.gInterpreter.AddIncludePath(f"-I{tmp_path}")
    ROOT.gInterpreter.Declare('#include "of_folder.h"')
    assert frame.Define("y", "of_folder(w)").Min("y").GetValue() > 0


def test_contents_of_histograms_in_brackets(frame):
    one = frame.Histo1D(("h", "", 4, -1, 1), "x")
    contents = [one.GetBinContent(k) for k in range(6)]
    assert list(one) == contents
    assert len(one) == 6
    assert [one[k] for k in (0, 3, -1)] == [contents[k] for k in (1, 4, 4)]
    two = frame.Histo2D(("h", "", 2, -1, 1, 3, 0, 2), "x", "w").GetValue()
    assert two[1, 2] == two.GetBinContent(2, 3)
    assert list(two) == [two.GetBinContent(i, j) for i in range(4) for j in range(5)]
    with pytest.raises(colonnade.UsageError, match="not the number of a bin along each axis"):
        two[1]
    with pytest.raises(IndexError):
        two[2, 0]


def test_threads(file, monkeypatch):
    monkeypatch.setattr(facade, "_threads", 0)
    assert ROOT.IsImplicitMTEnabled()
    ROOT.EnableImplicitMT(3)
    assert (ROOT.GetThreadPoolSize(), RDataFrame("Events", file).GetNSlots()) == (3, 3)
    ROOT.DisableImplicitMT()
    assert not ROOT.IsImplicitMTEnabled()
    assert ROOT.GetThreadPoolSize() == 0
    assert RDataFrame("Events", file).GetNSlots() == 1
    ROOT.EnableImplicitMT(1)
    assert ROOT.IsImplicitMTEnabled()
    assert ROOT.GetThreadPoolSize() == RDataFrame("Events", file).GetNSlots() == 1
    ROOT.EnableImplicitMT()
    assert ROOT.GetThreadPoolSize() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("use", "problem", "advice"),
    [
        (lambda f: f.Book(), "no Book", "Aggregate"),
        (lambda f: f.Nonsense, "no Nonsense", "AsDataFrame"),
        (lambda f: f.Histo1D("x").DrawPanel(), "no DrawPanel", "to_hist"),
        (
            lambda f: f.Profile1D(("p", "t", 4, -2, 2), "x", "w").GetXaxis().SetRange(1, 2),
            "no SetRange",
            "to_hist",
        ),
        (
            lambda f: f.Histo2D(("h", "t", 4, 0, 1, 4, 0, 1), "x", "w").GetCorrelationFactor(),
            "no GetCorr",
            "Mean of",
        ),
        (lambda f: f.Count().OnPartialResultSlot(1, None), "no OnPartialResultSlot", "OnPartialResult"),
        (lambda f: f.Graph("x", "w").Fit("pol1"), "no Fit", "points"),
        (lambda f: f.Describe().Nothing(), "no Nothing", "AsString"),
        (lambda f: f.Histo1D("x").SaveAs("f.png"), "no SaveAs", "WriteObject"),
        (lambda f: ROOT.TRatioPlot(), "no TRatioPlot", "to_hist"),
        (lambda f: ROOT.TH1I("h", "t", 4, 0, 1), "no TH1I", "TH1D"),
        (lambda f: ROOT.TH1("h", "t", 4, 0, 1), "cannot be made by itself", "ROOT.TH1D"),
        (lambda f: ROOT.TH1.StatOverflows(), "within the axes", "Mean and StdDev"),
        (lambda f: ROOT.gStyle.GetNothing(), "gStyle has no GetNothing", "TStyle"),
        (lambda f: f.HistoND(("h", "t", 1, [2], [0.0], [1.0]), ["x"]).Rebin(2), "no Rebin", "to_hist"),
        (lambda f: f.Histo1D(("h", "t", 4, 0, 1), "x").Reset("M"), "Reset has no option 'M'", "Reset()"),
        (lambda f: ROOT.gInterpreter.Calc("1 + 2"), "gInterpreter has no Calc", "gInterpreter.Declare"),
        (lambda f: ROOT.gROOT.GetClass("A"), "gROOT has no GetClass", ""),
        (lambda f: ROOT.RVecF([1.0]), "no RVecF", "numpy.array"),
        (lambda f: ROOT.std.map, "std has no map", ""),
        (lambda f: ROOT.TChain("a").BuildIndex("run"), "no BuildIndex", 'join("a", files, on=["key"]'),
        (lambda f: ROOT.RDF.MakeCsvDataFrame("f.csv"), "RDF has no MakeCsvDataFrame", "FromCSV"),
        (lambda f: ROOT.RDF.Experimental.FromJSON("f.json"), "Experimental has no FromJSON", ""),
        (lambda f: setattr(ROOT.RDF.RSnapshotOptions(), "fSplit", 1), "no option fSplit", "fLazy"),
    ],
)
def test_what_is_missing_says_so(frame, use, problem, advice):
    with pytest.raises(colonnade.UnsupportedError, match=problem) as caught:
        use(frame)
    assert advice in caught.value.advice


@pytest.mark.parametrize(
    ("use", "kind", "problem"),
    [
        (lambda f: f.Filter("x > 0", ["x"]), colonnade.UsageError, "named in its text"),
        (lambda f: f.Define("z", "x", ["x"]), colonnade.UsageError, "named in its text"),
        (lambda f: f.Histo2D(("h", "t", 1, 0, 1, 1, 0, 1), "x"), colonnade.UsageError, "takes 2 columns"),
        (lambda f: f.Profile1D("x", "w"), colonnade.UsageError, "takes a model"),
        (
            lambda f: f.Profile1D(("p", "t", 4, -2, 2, "z"), "x", "w"),
            colonnade.UsageError,
            "option of a profile",
        ),
        (
            lambda f: f.HistoND(("h", "t", 2, [4], [0.0], [1.0]), ["x", "w"]),
            colonnade.UsageError,
            "numbers of bins",
        ),
        (lambda f: f.Max(), colonnade.UsageError, "no column is named"),
        (lambda f: f.Histo1D(("h", "t", 10, 0, 1), "zz"), colonnade.NotFoundError, "zz"),
    ],
)
def test_what_is_refused_when_booked(frame, use, kind, problem):
    with pytest.raises(kind, match=problem):
        use(frame)
    assert frame.GetNRuns() == 0


def test_display_is_drawn_as_in_root(capsys):
    frame = colonnade.RDataFrame(4).Filter("rdfentry_ % 3 == 0")
    frame = frame.Define("x", "(int)rdfentry_").Define("f", "0.1f * rdfentry_")
    frame = frame.Define("s", 'std::string("ab")').Define("b", "x > 0").Define("v", "ROOT::RVecI(2 * b, 7)")
    # What ROOT 6.40 prints.
    assert frame.Display(["x", "f", "s", "b", "v"]).AsString() == (
        "+-----+---+----------+------+-------+---+\n"
        "| Row | x | f        | s    | b     | v | \n"
        "+-----+---+----------+------+-------+---+\n"
        '| 0   | 0 | 0.000000 | "ab" | false |   | \n'
        "+-----+---+----------+------+-------+---+\n"
        '| 3   | 3 | 0.300000 | "ab" | true  | 7 | \n'
        "|     |   |          |      |       | 7 | \n"
        "+-----+---+----------+------+-------+---+\n"
    )
    lists = frame.Define("l", "std::vector<std::vector<int>>{{}, {1}}")
    lists.Display(["rdfentry_", "v", "l"], 2, 1).Print()
    assert capsys.readouterr().out == (
        "+-----+-----------+-----+-------+\n"
        "| Row | rdfentry_ | v   | l     | \n"
        "+-----+-----------+-----+-------+\n"
        "| 0   | 0         |     | {}    | \n"
        "|     |           |     | ...   | \n"
        "+-----+-----------+-----+-------+\n"
        "| 3   | 3         | 7   | {}    | \n"
        "|     |           | ... | ...   | \n"
        "+-----+-----------+-----+-------+\n"
    )
    table = frame.Display(["x"])
    table.GetValue()
    head, first, last = re.findall("<tr>(.*?)</tr>", table._repr_html_())
    assert head == "<th>Row</th><th>x</th>"
    assert (first, last) == ("<td>0</td><td>0</td>", "<td>3</td><td>3</td>")


def test_display_of_wide_rows():
    frame = colonnade.RDataFrame(1)
    for size in (30, 20, 31, 35, 36, 98):
        frame = frame.Define("c" * size, "1")

    def shown(*sizes):
        lines = frame.Display(["c" * size for size in sizes]).AsString().splitlines()
        return [len(cell.strip()) for cell in lines[1].split("|")[1:-1]], lines[3][-8:]

    assert shown(30, 20, 31) == ([3, 30, 20, 31], "      | ")
    frame = frame.Define("x", "1")
    assert frame.Display(["c" * 30, "c" * 20, "c" * 31, "x"]).AsString().splitlines()[3].endswith(" | 1 | ")
    for last, kept in ((35, [35]), (36, [])):  # a line has 100 characters
        assert shown(30, 20, last, 98)[0] == [3, 30, 20, *kept, 3]
    assert shown(30, 20, 35, 98)[1] == "| ... | "
    assert shown(98, 30)[0] == [3, 98, 3]


def test_columns_that_are_not_displayed_add_no_lines():
    frame = (
        colonnade.RDataFrame(1).Define("v", "ROOT::RVecI(rdfentry_ + 2, 7)").Define("w", "ROOT::RVecI(4, 1)")
    )
    for name in "ab":
        frame = frame.Define(name * 60, "1")
    # What ROOT 6.40 prints: "w" has four items.
    lines = frame.Display(["v", "a" * 60, "b" * 60, "w"]).AsString().splitlines()
    assert [line.split("|")[-2].strip() for line in (lines[1], *lines[3:-1])] == ["...", "...", "..."]
    assert [line.split("|")[2].strip() for line in lines[3:-1]] == ["7", "7"]


def test_variations_are_printed_without_an_empty_line(frame, capsys):
    frame.GetVariations().Print()
    frame.Vary("x", "ROOT::RVecD{x, x}", 2, "v").GetVariations().Print()
    assert capsys.readouterr().out == "Variations {v:0, v:1} affect column x\n"


def test_records_in_arrays_have_members():
    ROOT.gInterpreter.Declare("struct point_in_array { int x; double y; };")
    made = RDataFrame(3).Define("p", "point_in_array(int(rdfentry_), 0.5)").AsNumpy(["p"])["p"]
    assert [(each.x, each.y) for each in made] == [(0, 0.5), (1, 0.5), (2, 0.5)]
    np.testing.assert_array_equal(made["x"], [0, 1, 2])


def test_projections_and_merged_bins():
    frame = (
        RDataFrame(12)
        .Define("x", "rdfentry_ % 4 + 0.5")
        .Define("y", "rdfentry_ / 4 + 0.25")
        .Define("w", "y * 2")
    )
    # What ROOT 6.40 gives for these.
    two = frame.Histo2D(("h", "t;a;b", 3, 0, 3, 2, 1, 3), "x", "y").GetValue()
    over_x = two.ProjectionX("p", 1, 2)
    assert [over_x.GetBinContent(k) for k in range(5)] == [0, 2, 2, 2, 2]
    assert (over_x.GetName(), over_x.GetTitle(), over_x.GetXaxis().GetTitle()) == ("p", "t", "a")
    assert (over_x.GetEntries(), over_x.GetMean()) == (8, 1.5)
    over_y = two.ProjectionY()
    assert [over_y.GetBinContent(k) for k in range(4)] == [4, 4, 4, 0]
    assert (over_y.GetName(), over_y.GetMean()) == ("h_py", 2)  # of bins, since not all fills are in range
    assert two.ProjectionY("e", 2, 2, "e").GetSumw2N() == 4

    model = ("h", "t;a;b", 2, [3, 2], [0.0, 1.0], [3.0, 3.0])
    many = frame.HistoND(model, ["x", "y"], "w").GetValue()
    first, both = many.Projection(0), many.Projection(0, 1)
    assert [first.GetBinContent(k) for k in range(5)] == [0, 7.5, 7.5, 7.5, 7.5]
    assert (first.GetName(), first.GetTitle(), first.GetEntries()) == ("h_proj_0", "t projection a", 12)
    assert (both.GetNbinsX(), both.GetNbinsY(), both.GetXaxis().GetTitle()) == (2, 3, "b")
    assert both.GetBinContent(2, 1) == 4.5
    with pytest.raises(colonnade.UsageError, match="one to three different axes"):
        many.Projection(0, 0)
    with pytest.raises(colonnade.UsageError, match="ProjectionX is for histograms with 2 axes, not 1"):
        frame.Histo1D(("h", "", 3, 0, 3), "x").ProjectionX()

    one = frame.Histo1D(("h", "t;a", 5, 0, 5), "x")
    named = one.Rebin(2, "merged")
    assert (named.GetName(), named.GetNbinsX(), one.GetNbinsX()) == ("merged", 2, 5)
    assert [named.GetBinContent(k) for k in range(4)] == [0, 6, 6, 0]
    edges = one.Rebin(2, "edges", [1, 2, 4])
    assert [edges.GetBinContent(k) for k in range(4)] == [3, 3, 6, 0]
    assert [*edges.to_hist().axes[0].edges] == [1, 2, 4]
    itself = one.Rebin(4)
    assert (one.GetNbinsX(), one.GetXaxis().GetXmax(), itself.GetBinContent(1)) == (1, 4, 12)
    with pytest.raises(colonnade.UsageError, match="cannot be joined"):
        one.Rebin(2)


def test_points_are_sorted(frame):
    graph = frame.GraphAsymmErrors("x", "w", "x", "w", "x", "w").GetValue()
    graph.Sort()
    order = np.argsort(X)
    np.testing.assert_array_equal(graph.GetX(), X[order])
    np.testing.assert_array_equal(graph.GetY(), W[order])
    np.testing.assert_array_equal(graph.GetEYhigh(), W[order])


def test_random_numbers_are_of_the_entry(frame):
    for use in (
        lambda: frame.Define("r", "gRandom->Gaus(0, 1)"),
        lambda: frame.Filter("gRandom->Rndm() < 0.5"),
        lambda: ROOT.gRandom,
        lambda: ROOT.TRandom3(1),
    ):
        with pytest.raises(colonnade.UnsupportedError, match=re.escape("default_rng((1, rdfentry_))")):
            use()
    advised = frame.Define("r", lambda rdfentry_: np.random.default_rng((1, rdfentry_)).normal())
    assert advised.Range(2).AsNumpy(["r"])["r"][1] == np.random.default_rng((1, 1)).normal()


def test_types_and_getters_have_roots_names(capsys):
    frame = colonnade.RDataFrame(4).Define("x", "1.5 * rdfentry_").Define("v", "ROOT::RVecF{1.f, 2.f}")
    assert frame.GetColumnType("v") == "ROOT::VecOps::RVec<float>"
    assert frame.GetColumnType("x") == "double"
    stats = frame.Stats("x").GetValue()
    assert stats.GetMeanErr() == pytest.approx(0.968246)
    stats.Print()
    assert capsys.readouterr().out == (
        " OBJ: TStatistic\t  \t Mean = 2.25 +- 0.9682 \t RMS = 1.9365 \t Count = 4 \t Min = 0 \t Max = 4.5\n"
    )
    profile = frame.Profile1D(("p", "", 2, 0, 6), "x", "x", "x")
    assert profile.GetErrorOption() == ""
    assert profile.GetBinEffectiveEntries(2) == pytest.approx((3 + 4.5) ** 2 / (9 + 20.25))
    assert profile.GetSumOfWeights() == pytest.approx(1.5 + (9 + 20.25) / 7.5)


def test_save_graph_draws_what_root_draws(frame, tmp_path):
    cut = frame.Define("a", "1").Filter("nMuon > 1", "one")
    other = frame.Filter("nMuon > 2", "two")
    count, more = cut.Count(), other.Count()
    for drawn in (ROOT.RDF.SaveGraph(cut), ROOT.RDF.SaveGraph(count)):
        assert "one" in drawn
        assert "two" not in drawn
    assert "count" in ROOT.RDF.SaveGraph(count)
    assert "count" not in ROOT.RDF.SaveGraph(cut)
    assert "range" in ROOT.RDF.SaveGraph(frame.Range(3))
    for whole in (frame, frame.Define("b", "2")):
        assert "two" in ROOT.RDF.SaveGraph(whole)
    assert ROOT.RDF.SaveGraph(more, tmp_path / "graph.txt") is None
    assert (tmp_path / "graph.txt").read_text() == ROOT.RDF.SaveGraph(more)


def test_filters_of_nodes_that_do_not_select_are_all_filters():
    frame = ROOT.RDataFrame(10)
    defined = frame.Define("x", "1")
    cut = defined.Filter("x > 0", "one")
    other = frame.Filter("rdfentry_ > 2")
    for top in (frame, defined, defined.Alias("y", "x"), defined.Vary("x", "{1, 2}", 2)):
        assert top.GetFilterNames() == ["one", "Unnamed Filter"]
    assert cut.Define("y", "2").GetFilterNames() == ["one"]
    assert other.GetFilterNames() == ["Unnamed Filter"]
    assert defined.Range(3).GetFilterNames() == []
    some = cut.FilterAvailable("x").FilterMissing("x")
    assert some.GetFilterNames() == ["one", "FilterAvailable", "FilterMissing"]
    assert len(some.Report()) == 1


def test_ranges_may_be_empty():
    frame = ROOT.RDataFrame(10).Define("x", "1")
    assert frame.Range(5, 5).Count().GetValue() == 0
    assert frame.Filter("x > 0").Range(3, 3).Sum("x").GetValue() == 0
    assert frame.Range(0, 0).Count().GetValue() == 10


def test_the_size_of_a_list_may_be_a_column(tmp_path):
    frame = ROOT.RDataFrame(2).Define("R_rdf_sizeof_x", "42")
    assert frame.Filter("2 + pow(#x, 2) > 0").Max("#x").GetValue() == 42
    assert frame.Define("y", lambda size: size + 1, ["#x"]).Sum("y").GetValue() == 86
    assert frame.Alias("size", "#x").GetColumnType("size") == "int"
    frame.Snapshot("t", str(tmp_path / "sizes.root"))
    assert ROOT.RDataFrame("t", str(tmp_path / "sizes.root")).Sum("#x").GetValue() == 84


def test_special_columns_do_not_vary():
    with pytest.raises(colonnade.UsageError, match="'rdfentry_' has no variations"):
        ROOT.RDataFrame(3).Vary("rdfentry_", "{rdfentry_, rdfentry_ + 1}", 2)


def test_all_columns_are_those_of_get_column_names(tmp_path):
    with colonnade.create(
        tmp_path / "f.root", "Events", {"r": {"p": "float"}, "jets": [{"e": "float"}]}
    ) as w:
        w.fill(r={"p": 1}, jets=[{"e": 2}, {"e": 3}])
    frame = RDataFrame("Events", str(tmp_path / "f.root")).Define("x", "2")
    names = ["jets.e", "r.p", "x"]
    assert frame.GetColumnNames() == list(frame.AsNumpy()) == names
    assert list(frame.AsNumpy(exclude=["r.p"])) == ["jets.e", "x"]
    assert frame.AsNumpy()["jets.e"][0].tolist() == [2, 3]
    for display in (frame.Display(), frame.Display("")):
        assert display.AsString().splitlines()[1].split() == [
            "|",
            "Row",
            "|",
            *" | ".join(names).split(),
            "|",
        ]
    assert "jets.e" not in frame.Display("r.*").AsString()
    frame.Snapshot("Events", str(tmp_path / "g.root"))
    assert list(colonnade.open(tmp_path / "g.root", "Events").schema) == ["r", "jets", "x"]


def test_variations_may_be_empty_lists():
    frame = ROOT.RDataFrame(10).Define("x", "ROOT::RVecI{1, 2, 3}").Define("n", "2")
    for values in (
        "ROOT::RVec<ROOT::RVecI>{{}, {4, 5}}",
        "{{}, {4, 5}}",
        "return ROOT::RVec<ROOT::RVecI>({{}, {4, 5}});",
    ):
        counts = ROOT.RDF.VariationsFor(frame.Vary("x", values, 2).Histo1D(("h", "", 5, 0.0, 10.0), "x"))
        assert [counts[name].GetEntries() for name in counts] == [30, 0, 20]
    both = frame.Vary(["x", "n"], "{{{}, {4, 5}}, {0, 2}}", ["a", "b"], "v")
    assert dict(ROOT.RDF.VariationsFor(both.Define("s", "Sum(x) + n").Sum("s"))._variations) == {
        "nominal": 80,
        "v:a": 0,
        "v:b": 110,
    }


def test_columns_with_a_default_value_are_defined(tmp_path):
    ROOT.RDataFrame(2).Define("x", "1").Define("y", "2.").Snapshot("t", str(tmp_path / "f.root"))
    frame = ROOT.RDataFrame("t", str(tmp_path / "f.root"))
    filled = frame.DefaultValueFor("x", 7)
    assert filled.GetDefinedColumnNames() == filled.Filter("x > 0").GetDefinedColumnNames() == ["x"]
    assert (frame.GetColumnType("x"), filled.GetColumnType("x")) == ("std::int32_t", "int")
    assert filled.Redefine("x", "x + 1").DefaultValueFor("y", 0.5).GetDefinedColumnNames() == ["x", "y"]
    between = frame.Define("a", "1").DefaultValueFor("x", 7).Define("b", "2")
    assert between.GetDefinedColumnNames() == ["a", "x", "b"]
    assert frame.GetDefinedColumnNames() == []


def test_columns_of_friends_are_listed_with_the_friend(tmp_path):
    for name, fields in {"main": ["x", "i"], "other": ["i", "w"]}.items():
        with colonnade.create(tmp_path / f"{name}.root", name, dict.fromkeys(fields, "double")) as w:
            w.fill(**dict.fromkeys(fields, 1.0))
    chain, other = ROOT.TChain("main"), ROOT.TChain("other")
    chain.Add(str(tmp_path / "main.root"))
    other.Add(str(tmp_path / "other.root"))
    chain.AddFriend(other, "f")
    frame = ROOT.RDataFrame(chain)
    names = ["f.i", "f.w", "i", "x"]
    assert frame.GetColumnNames() == list(frame.AsNumpy()) == names
    header = frame.Display("").AsString().splitlines()[1]
    assert [each.strip() for each in header.strip("| ").split("|")] == ["Row", *names]
    assert list(frame.AsNumpy("f.*")) == ["f.i", "f.w"]
    assert frame.Define("y", "w + 1").GetColumnNames() == [*names, "y"]
    assert frame.Redefine("w", "2.").GetColumnNames() == ["f.i", "f.w", "i", "w", "x"]
    assert frame.Sum("w").GetValue() == frame.Sum("f.w").GetValue() == 1
    snapshot = frame.Snapshot("Events", str(tmp_path / "snapshot.root"))
    assert snapshot.GetColumnNames() == ["f_i", "i", "w", "x"]


def test_no_columns_are_all_for_as_numpy_alone():
    frame = RDataFrame(2).Define("x", "1").Define("y", "2")
    assert list(frame.AsNumpy([])) == ["x", "y"]
    for method in (frame.Display, frame.Cache):
        assert method("")
        with pytest.raises(colonnade.UsageError, match="no columns are named"):
            method([])


def test_columns_of_the_constructor_are_those_of_calls_that_name_none(file):
    frame = RDataFrame("Events", file, ["x", "w", "nMuon"])
    assert frame.Graph().GetName() == "w_vs_x"
    model = ("h", "t", 5, -2, 2, 5, 0, 2)
    assert frame.Histo2D(model).GetMean(2) == frame.Histo2D(model, "x", "w").GetMean(2)
    mean = frame.Profile1D(("p", "t", 1, -9, 9))
    assert mean.GetBinContent(1) == pytest.approx(W.mean())
    assert frame.Histo3D((*model, 5, 0, 5)).GetMean(3) == pytest.approx(N[(abs(X) < 2)].mean(), rel=0.05)
    with pytest.raises(colonnade.UsageError, match="no columns are named, and 3 of 6 are given"):
        frame.GraphAsymmErrors()
    with pytest.raises(colonnade.UsageError, match="only some columns are named"):
        frame.Graph("x")


CSV = """Name,Age,Height,Married,Empty
Harry,60,185.2,true,
"Bob,Bob",50,1.5E+2,true,NaN

\"\"\"Joe\"\"\",-4,.5,,
"""


def types_of(frame):
    return {name: frame.GetColumnType(name) for name in frame.GetColumnNames()}


def test_tables_in_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    with pytest.warns(UserWarning, match="empty cells of column 'Married' are false"):
        frame = ROOT.RDF.FromCSV(path)
    assert types_of(frame) == {
        "Age": "Long64_t",
        "Empty": "double",
        "Height": "double",
        "Married": "bool",
        "Name": "std::string",
    }
    arrays = frame.AsNumpy()
    assert list(arrays["Name"]) == ["Harry", "Bob,Bob", '"Joe"']
    assert arrays["Age"].tolist() == [60, 50, -4]
    assert arrays["Height"].tolist() == [185.2, 150, 0.5]
    assert arrays["Married"].tolist() == [True, True, False]
    assert np.isnan(arrays["Empty"]).all()
    path.write_text("1;2\n3;\n")
    numbers = ROOT.RDF.FromCSV(str(path), False, ";", colTypes={"Col0": "T", "Col1": "D"})
    assert numbers.Take("Col0").GetValue().tolist() == ["1", "3"]
    assert numbers.AsNumpy()["Col1"].tolist() == pytest.approx([2, math.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("", {}, "has no entries"),
        ("a,b\n1,2\n3\n", {}, "line 3 of .* has 1 cells instead of 2"),
        ("a\n1\n2.5\n", {}, "'2.5' in line 3 of .* is not of the type 'L' of column 'a'"),
        ("a\ntrue\nyes\n", {}, "'yes' in line 3 of .* is not of the type 'O'"),
        ("a\n1\n99999999999999999999\n", {}, "in line 3 of .* is not of the type 'L'"),
        ("a\n1.5\n1_0\n", {}, "'1_0' in line 3 of .* is not of the type 'D'"),
        (f"a\n{'1' * 200_000}\n", {}, "line 2 of .* cannot be read"),
        ("a\n1\n", {"colTypes": {"b": "L"}}, "there is no column 'b'"),
        ("a\n1\n", {"colTypes": {"a": "X"}}, "'X' is not a type of columns"),
        ("a\n1\n", {"delimiter": ", "}, "is not one character"),
    ],
)
def test_what_is_wrong_in_csv_is_named(tmp_path, text, options, problem):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(colonnade.Error, match=problem):
        ROOT.RDF.FromCSV(tmp_path / "t.csv", **options)
    with pytest.raises(colonnade.FileMissingError, match="there is no file"):
        ROOT.RDF.FromCSV(tmp_path / "none.csv")


def test_tables_in_sqlite(tmp_path):
    path = tmp_path / "t.sqlite"
    base = sqlite3.connect(path)
    base.execute("create table t (i integer, r real, s text, b blob, n text, m integer)")
    base.executemany(
        "insert into t values (?, ?, ?, ?, ?, ?)",
        [(1, 1.5, "one", b"12", None, None), (2, 2.5, "two", b"", None, 7)],
    )
    base.commit()
    base.close()
    frame = ROOT.RDF.FromSqlite(path, "select * from t")
    assert types_of(frame) == {
        "b": "ROOT::VecOps::RVec<unsigned char>",
        "i": "Long64_t",
        "m": "optional<long>",
        "n": "double",
        "r": "double",
        "s": "std::string",
    }
    assert frame.Sum("i").GetValue() == 3
    assert frame.Take("s").GetValue().tolist() == ["one", "two"]
    assert frame.Take("b").GetValue().tolist() == [[49, 50], []]
    assert frame.Max("m").GetValue() == 7
    assert ROOT.RDF.FromSqlite(path, "select i + 1 as j from t where i > 1").Take(
        "j"
    ).GetValue().tolist() == [3]
    for query, problem in (
        ("", "returns no columns"),
        ("select i, i from t", "two columns of one name"),
        ("select i from missing", "no such table"),
        ("delete from t", "readonly"),
        ("select i as x from t union select s from t", "values of several types"),
    ):
        with pytest.raises(colonnade.Error, match=problem):
            ROOT.RDF.FromSqlite(path, query)
    with pytest.raises(colonnade.FileMissingError, match="there is no file"):
        ROOT.RDF.FromSqlite(tmp_path / "none.sqlite", "select 1")


def test_columns_that_no_file_has(file):
    frame = RDataFrame("Events", file)
    assert frame.DefaultValueFor("trigger", False).Sum("trigger").GetValue() == 0
    assert frame.DefaultValueFor("trigger", "x > 0").Sum("trigger").GetValue() == np.count_nonzero(X > 0)
    assert frame.FilterAvailable("trigger").Count().GetValue() == 0
    assert frame.FilterMissing("trigger").Count().GetValue() == ENTRIES
    for method in (RDataFrame(1).FilterAvailable, RDataFrame(1).FilterMissing):
        with pytest.raises(colonnade.NotFoundError, match="no column 'trigger'"):
            method("trigger")
    with pytest.raises(colonnade.NotFoundError, match="no column 'trigger'"):
        RDataFrame(1).DefaultValueFor("trigger", False)


def test_graphs_are_named_after_columns_not_aliases():
    frame = RDataFrame(2).Define("x", "1").Define("y", "2").Alias("a", "x").Alias("b", "a")
    for graph in (frame.Graph("b", "y"), frame.GraphAsymmErrors("b", "y", "x", "x", "x", "x")):
        assert (graph.GetName(), graph.GetTitle()) == ("y_vs_x", "y vs x")
    assert frame.Histo1D("a").GetName() == "a"


class Vector:
    """What a `std::vector` of ROOT's has."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, place):
        return self.items[place]


class Object:
    """A stand-in for an object of ROOT, with getters for these values and fields."""

    def __init__(self, fields=(), **values):
        self.__dict__ |= dict(fields) | {name: lambda value=value: value for name, value in values.items()}


def axis_of(*edges):
    even = len(edges) == 3
    return Object(
        {"GetBinLowEdge": lambda k: edges[k - 1]},
        GetNbins=edges[0] if even else len(edges) - 1,
        GetXmin=edges[even],
        GetXmax=edges[-1],
        IsVariableBinSize=not even,
    )


def test_objects_of_root_itself(file, frame):
    """`import ROOT` beside `colonnade.RDataFrame`."""
    assert RDataFrame("Events", Vector([file]), Vector(["x"])).Mean().GetValue() == pytest.approx(X.mean())
    assert list(frame.AsNumpy(Vector(["x"]))) == ["x"]
    fields = {"fName": "h", "fTitle": "t", "fNbinsX": 4}
    regular = {**fields, "fBinXEdges": Vector([]), "fXLow": -2.0, "fXUp": 2.0}
    edges = {**fields, "fBinXEdges": [-2.0, -1.0, 0.0, 1.0, 2.0], "fXLow": 0.0, "fXUp": 0.0}
    of_histogram = {"GetName": "h", "GetTitle": "t", "GetNbinsX": 4, "GetYaxis": None, "GetZaxis": None}
    axes = [axis_of(4, -2.0, 2.0), axis_of(-2.0, -1.0, 0.0, 1.0, 2.0)]
    histograms = [Object(**of_histogram, GetDimension=1, GetXaxis=axis) for axis in axes]
    expected = frame.Histo1D(("h", "t", 4, -2, 2), "x", "w").values()
    for model in (Object(regular), Object(edges), *histograms):
        h = frame.Histo1D(model, "x", "w").GetValue()
        assert (h.GetName(), h.GetTitle()) == ("h", "t")
        np.testing.assert_array_equal(h.values(), expected)
    of_any = {"fName": "h", "fTitle": "t", "fDim": 1, "fNbins": [4], "fXmin": [-2.0], "fXmax": [2.0]}
    for more in ([], [-2.0, -1.0, 0.0, 1.0, 2.0]):
        h = frame.HistoND(Object({**of_any, "fBinEdges": [Vector(more)]}), Vector(["x", "w"]))
        np.testing.assert_array_equal(h.values(), expected)
    profile = frame.Profile1D(("h", "t", 4, -2, 2, 0.6, 1.2, "s"), "x", "w")
    limits = {"fYLow": 0.6, "fYUp": 1.2, "fOption": "s"}
    getters = {**of_histogram, "GetYmin": 0.6, "GetYmax": 1.2, "GetErrorOption": "s"}
    of_object = Object(**getters, GetDimension=1, GetXaxis=axes[0])
    for model in (Object({**regular, **limits}), of_object):
        np.testing.assert_array_equal(frame.Profile1D(model, "x", "w").values(), profile.values())

    bare = {"GetEntryList": None, "GetTreeIndex": None, "GetListOfFriends": None, "GetName": "Events"}
    files = {**bare, "GetListOfFiles": [Object(GetName="Events", GetTitle=file)] * 2}
    friends = {"GetListOfFriends": [Object(GetName="f", GetTree=Object(**files))]}
    chain = RDataFrame(Object(**files | friends))
    assert chain.Define("d", "f.x - x").Sum("d").GetValue() == 0
    assert chain.Count().GetValue() == 2 * ENTRIES
    tree = {**bare, "GetCurrentFile": Object(GetName=file), "GetDirectory": Object(GetPath=f"{file}:/")}
    assert RDataFrame(Object(**tree)).Count().GetValue() == ENTRIES
    with pytest.raises(colonnade.NotFoundError, match='"inner/Events"'):
        RDataFrame(Object(**tree | {"GetDirectory": Object(GetPath=f"{file}:/inner")}))
    with pytest.raises(colonnade.UnsupportedError, match="the tree 'Events' is in no file"):
        RDataFrame(Object(**bare | {"GetCurrentFile": None}))
    with pytest.raises(colonnade.UnsupportedError, match="the list of entries of 'Events' is not followed"):
        RDataFrame(Object(**files | {"GetEntryList": Object()}))
    index = {"GetTreeIndex": Object(GetMajorName="run", GetMinorName="0")}
    friends = {"GetListOfFriends": [Object(GetName="f", GetTree=Object(**files | index))]}
    with pytest.raises(colonnade.UnsupportedError, match=r"the friend 'f' has an index.*on=\['run'\]"):
        RDataFrame(Object(**files | friends))


def test_titles_of_axes_change(frame):
    h = frame.Histo1D(("h", "title;old", 4, 0.0, 10.0), "x")
    h.GetXaxis().SetTitle("new; one")
    h.GetYaxis().SetTitle("events")
    assert (h.GetTitle(), h.GetXaxis().GetTitle(), h.GetYaxis().GetTitle()) == ("title", "new; one", "events")
    assert h.Clone().GetXaxis().GetTitle() == "new; one"
    assert h.to_hist().axes[0].label == "new; one"
    profile = frame.Profile1D(("p", "title", 4, 0.0, 10.0), "x", "w")
    profile.GetYaxis().SetTitle("mean")
    assert (profile.GetYaxis().GetTitle(), profile.GetXaxis().GetTitle()) == ("mean", "")
    assert profile.to_hist().values().shape == (4,)
    again = frame.Histo1D(("h", "title;old", 4, 0.0, 10.0), "x")
    assert again.GetXaxis().GetTitle() == "old"
    both = frame.Histo2D(("h", "main #; title;a#;b;c#;d", 2, 0.0, 9.0, 2, 0.0, 9.0), "x", "w").Clone()
    assert both.ProjectionX().GetXaxis().GetTitle() == "a;b"
    assert both.ProjectionY().GetXaxis().GetTitle() == "c;d"
    both.SetTitle("other")
    assert (both.GetTitle(), both.GetXaxis().GetTitle()) == ("other", "a;b")
    many = frame.HistoND(("h", "t;a#;b;c", 2, [2, 2], [0.0, 0.0], [9.0, 9.0]), ["x", "w"])
    assert many.Projection(0).GetXaxis().GetTitle() == "a;b"


def test_vectors_of_scripts(frame):
    taken = frame.Take["double"]("x")
    assert (taken.size(), taken.at(3), taken.front(), taken.back(), taken.empty()) == (
        ENTRIES,
        X[3],
        X[0],
        X[-1],
        False,
    )
    names = ROOT.std.vector("string")()
    names.emplace_back("a")
    assert (names.at(0), names.empty(), names.size()) == ("a", False, 1)
    assert ROOT.RDF.MakeTrivialDataFrame(10).Sum("col0").GetValue() == 45
    assert ROOT.RDF.MakeTrivialDataFrame(10, True).Sum("col0").GetValue() == 25
    assert int(ROOT.kZSTD) == 5


def test_files_for_graphs(tmp_path):
    columns = {name: RANDOM.uniform(size=7) for name in ("x", "y", "a", "b", "c", "d")}
    frame = RDataFrame(colonnade.DataFrame.from_arrays(columns))
    plain, with_errors = frame.Graph("x", "y"), frame.GraphAsymmErrors("x", "y", *"abcd")
    nothing = frame.Filter("x > 2").Graph("x", "y")
    path = str(tmp_path / "f.root")
    with ROOT.TFile(path, "RECREATE") as file:
        assert plain.Write("plain") == 1
        file.mkdir("folder").WriteObject(with_errors, "errors")
        file.WriteObject(nothing, "nothing")
        file.WriteObject(frame.Histo1D(("h", "", 4, 0.0, 1.0), "x"), "behind")
    with uproot.open(path) as read:
        assert read.classnames(cycle=False)["plain"] == "TGraph"
        assert read.classnames(cycle=False)["folder/errors"] == "TGraphAsymmErrors"
        for name in ("plain", "folder/errors"):
            assert read[name].member("fTitle") == plain.GetTitle()
            for which in "xy":
                assert read[name].values(which).tolist() == columns[which].tolist()
        assert read["plain"].member("fMinimum") == -1111  # as in a graph of ROOT: drawn as its points are
        errors = read["folder/errors"]
        for letter, member in zip("abcd", ("fEXlow", "fEXhigh", "fEYlow", "fEYhigh"), strict=True):
            assert errors.member(member).tolist() == columns[letter].tolist()
        assert read["nothing"].member("fNpoints") == 0
        assert read["behind"].values().sum() == 7


def test_files_for_histograms(frame, tmp_path):
    path = str(tmp_path / "f.root")
    h = frame.Histo1D(("h", "title;x", 4, 0.0, 10.0), "x", "w")
    with pytest.raises(colonnade.UsageError, match="no file is open for writing"):
        h.Write()
    file = ROOT.TFile(path, "RECREATE")
    assert file.IsOpen()
    assert h.Write() == 1
    folder = file.mkdir("folder")
    folder.cd()
    h.Write("inside")
    file.cd()
    file.WriteObject(h, "of_file")
    with pytest.raises(colonnade.UnsupportedError, match="cannot be written"):
        file.WriteObject(frame.Stats("x"), "statistics")
    file.Close()
    assert not file.IsOpen()
    with pytest.raises(colonnade.UsageError, match="closed"):
        file.WriteObject(h, "late")
    with pytest.raises(colonnade.UsageError, match="no file is open for writing"):
        h.Write()
    with ROOT.TFile.Open(path, "UPDATE") as file:
        file.WriteTObject(h.Clone("more"))
        for name in ("h", "more", "folder", "folder/inside"):  # ROOT would read the older of two
            with pytest.raises(colonnade.UsageError, match=f"there is '{name}' in"):
                file.WriteObject(h, name)
    with ROOT.TFile(str(tmp_path / "new.root"), "UPDATE"):
        assert h.Write() == 1
    with pytest.raises(FileExistsError):
        ROOT.TFile(path, "NEW")
    with pytest.raises(colonnade.UsageError, match="no option 'A'"):
        ROOT.TFile(path, "A")
    frame.Range(3).Snapshot("Few", str(tmp_path / "g.root"), ["x"])
    with ROOT.TFile(str(tmp_path / "g.root"), "UPDATE") as file:
        file.WriteObject(h, "h")
    assert RDataFrame("Few", str(tmp_path / "g.root")).Count().GetValue() == 3


def test_mathematics():
    assert ROOT.TMath.Pi() == math.pi
    assert (ROOT.TMath.Nint(2.6), ROOT.TMath.Abs(-3), ROOT.TMath.Even(4)) == (3, 3, True)
    assert ROOT.TMath.Gaus(1.5, 1, 2) == pytest.approx(math.exp(-0.5 * 0.25**2))
    assert math.isnan(ROOT.TMath.Sqrt(-1.0))
    assert not hasattr(ROOT.TMath, "Nothing")
    for arguments, problem in ((([1.0],), "takes numbers"), ((), "takes 1 argument")):
        with pytest.raises(colonnade.Error, match=problem):
            ROOT.TMath.Sqrt(*arguments)
