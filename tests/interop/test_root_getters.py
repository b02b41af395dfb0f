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
    "GetMean": [(2,)],
    "GetStdDev": [(2,)],
    "GetRMS": [(2,)],
    "GetMeanError": [(2,)],
    "GetStdDevError": [(2,)],
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
print(json.dumps(found))
"""


def of_root(kind, model, columns, getters):
    rows = np.stack(columns, axis=1).tolist()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
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
def test_profiles(frame, values, weighted, option):
    columns = ["x", "y", *(["w"] if weighted else [])]
    model = ["p", "t", 8, -1.0, 5.0, option]
    theirs = of_root("TProfile", model, [values[name] for name in columns], GETTERS)
    assert_same(frame.Profile1D(tuple(model), *columns).GetValue(), theirs, GETTERS)


def test_bins_above_a_threshold_of_two_axes(frame, values):
    model = ["h", "t", 8, -1.0, 5.0, 5, -4.0, 6.0]
    theirs = of_root("TH2D", model, [values["x"], values["y"]], ABOVE)
    assert_same(frame.Histo2D(tuple(model), "x", "y").GetValue(), theirs, ABOVE)


def test_what_profiles_do_not_know_is_said(frame):
    ours = frame.Profile1D(("p", "t", 8, -1.0, 5.0), "x", "y").GetValue()
    with pytest.raises(colonnade.UsageError, match="knows the values of axis 2 alone, not of 1"):
        ours.GetMean(1)
