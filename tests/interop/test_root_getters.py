"""The getters of histograms and profiles against those of ROOT's own, filled with the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import colonnade

GETTERS = {
    "GetEntries": [()],
    "GetEffectiveEntries": [()],
    "GetMean": [(), (1,), (2,)],
    "GetStdDev": [(), (1,), (2,)],
    "GetRMS": [(1,), (2,)],
    "GetMeanError": [(), (1,), (2,)],
    "GetStdDevError": [(), (1,), (2,)],
    "GetMaximumBin": [()],
    "GetMinimumBin": [()],
    "FindFirstBinAbove": [(), (1.0,), (50.0,), (-1.0, 1, 3), (0.5, 1, 2, 5)],
    "FindLastBinAbove": [(), (1.0,), (50.0,), (-1.0, 1, 3), (0.5, 1, 2, 5)],
    "GetBinError": [(k,) for k in range(10)],
    "GetBinErrorLow": [(k,) for k in range(10)],
    "GetBinErrorUp": [(k,) for k in range(10)],
    "GetBinEntries": [(k,) for k in range(10)],
    "GetBinEffectiveEntries": [(k,) for k in range(10)],
}
ABOVE = {
    name: [(threshold, axis) for threshold in (0, 3, 8, 12, 100) for axis in (1, 2)]
    for name in ("FindFirstBinAbove", "FindLastBinAbove")
}
# ROOT has a process of its own.
PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
import ROOT
ROOT.TH1.AddDirectory(False)
kind, model, rows, getters = json.loads(sys.stdin.read())
histogram = getattr(ROOT, kind)(*model)
for row in rows:
    histogram.Fill(*row)
found = {name: [getattr(histogram, name)(*call) for call in calls] for name, calls in getters.items()}
MORE
print(json.dumps(found))
"""


def of_root(kind, model, columns, getters, more=""):
    rows = np.stack(columns, axis=1).tolist()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("MORE", more)],
        input=json.dumps([kind, model, rows, getters]),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def assert_same(ours, theirs, getters):
    for name, calls in getters.items():
        for call, expected in zip(calls, theirs[name], strict=True):
            assert getattr(ours, name)(*call) == pytest.approx(expected, rel=1e-9, abs=1e-12), (name, call)


@pytest.fixture
def values():
    rng = np.random.default_rng(4)
    return {"x": rng.normal(2, 2, 400), "y": rng.normal(1, 3, 400), "w": rng.uniform(0.5, 2, 400)}


@pytest.fixture
def frame(values):
    return colonnade.RDataFrame(colonnade.DataFrame.from_arrays(values))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("option", ["", "s"])
@pytest.mark.parametrize("limits", [[], [-1.5, 4.0]])
def test_profiles(frame, values, weighted, option, limits):
    columns = ["x", "y", *(["w"] if weighted else [])]
    model = ["p", "t", 8, -1.0, 5.0, *limits, option]
    theirs = of_root("TProfile", model, [values[name] for name in columns], GETTERS)
    assert_same(frame.Profile1D(tuple(model), *columns).GetValue(), theirs, GETTERS)


MEANS = {
    name: [(), *((axis,) for axis in (1, 2, 3))]
    for name in ("GetMean", "GetStdDev", "GetMeanError", "GetStdDevError")
} | {"GetEffectiveEntries": [()]}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", [[], [0.6, 1.5]])
def test_profiles_over_two_axes(frame, values, weighted, limits):
    values |= {"z": values["w"] ** 2 - 1}
    columns = ["x", "y", "z", *(["w"] if weighted else [])]
    model = ["p", "t", 8, -1.0, 5.0, 5, -4.0, 6.0, *limits]
    theirs = of_root("TProfile2D", model, [values[name] for name in columns], MEANS)
    made = frame.Define("z", "w * w - 1").Profile2D(tuple(model), *columns).GetValue()
    assert_same(made, theirs, MEANS)


OF_STATISTICS = ("N", "Neff", "M2", "Mean", "MeanErr", "RMS", "Var", "W", "W2", "Min", "Max")


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics(frame, values, weighted):
    getters = {f"Get{name}": [()] for name in OF_STATISTICS}
    columns = ["x", *(["w"] if weighted else [])]
    theirs = of_root("TStatistic", [], [values[name] for name in columns], getters)
    assert_same(frame.Stats(*columns).GetValue(), theirs, getters)


def test_bins_above_a_threshold_of_two_axes(frame, values):
    model = ["h", "t", 8, -1.0, 5.0, 5, -4.0, 6.0]
    theirs = of_root("TH2D", model, [values["x"], values["y"]], ABOVE)
    assert_same(frame.Histo2D(tuple(model), "x", "y").GetValue(), theirs, ABOVE)


SHAPES = {name: [(), (1,), (11,)] for name in ("GetSkewness", "GetKurtosis")}
SHAPES |= {"GetSumw2N": [()], "Interpolate": [(x,) for x in (-3.0, -0.9, -0.625, 0.1, 2.0, 4.7, 9.0)]}
ARRAYS = """
from array import array
found = {"integral": [histogram.GetIntegral()[k] for k in range(histogram.GetNbinsX() * histogram.GetNbinsY() + 1)]}
for forward in (True, False):
    sums = histogram.GetCumulative(forward)
    found[f"sums {forward}"] = [sums.GetBinContent(k) for k in range(histogram.GetNcells())]
    found[f"errors {forward}"] = [sums.GetBinError(k) for k in range(histogram.GetNcells())]
    found[f"rest {forward}"] = [sums.GetMean(), sums.GetStdDev(), sums.GetEntries()]
if histogram.GetDimension() == 1:
    asked = array("d", [0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1])
    quantiles, edges, error = array("d", [0] * 9), array("d", [0] * 9), array("d", [0])
    found["count"] = histogram.GetQuantiles(9, quantiles, asked)
    found["edge count"] = histogram.GetQuantiles(9, edges)
    found["quantiles"], found["edges"] = list(quantiles), list(edges)
    found["sum"] = [histogram.IntegralAndError(2, 5, error), error[0]]
"""


def arrays_of(histogram):
    """What ARRAYS finds of a histogram, ROOT's or ours."""
    names = {"histogram": histogram}
    exec(ARRAYS, names)
    return names["found"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_shapes_and_sums(seed, weighted):
    """Random histograms, some of whose bins are empty."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 200))
    x = rng.choice([rng.normal(2, 2, count), rng.integers(-2, 6, count) + 0.3])
    y, w = rng.normal(1, 3, count), rng.uniform(0.5, 2, count)
    extra = [w] if weighted else []
    frame = colonnade.RDataFrame(colonnade.DataFrame.from_arrays({"x": x, "y": y, "w": w}))
    names = ["w"] if weighted else []
    line, plane = ["h", "t", 8, -1.0, 5.0], ["g", "t", 6, -1.0, 5.0, 4, -4.0, 6.0]
    ours = frame.Histo1D(tuple(line), "x", *names).GetValue()
    assert_same(ours, of_root("TH1D", line, [x, *extra], SHAPES), SHAPES)
    both = {name: [(1,), (2,), (12,)] for name in ("GetSkewness", "GetKurtosis")}
    flat = frame.Histo2D(tuple(plane), "x", "y", *names).GetValue()
    assert_same(flat, of_root("TH2D", plane, [x, y, *extra], both), both)
    for kind, model, columns, mine in (("TH1D", line, [x], ours), ("TH2D", plane, [x, y], flat)):
        theirs = of_root(kind, model, columns + extra, {}, ARRAYS)
        found = arrays_of(mine)
        assert found.keys() == theirs.keys()
        for name, value in found.items():
            assert value == pytest.approx(theirs[name], rel=1e-9, abs=1e-12), name
