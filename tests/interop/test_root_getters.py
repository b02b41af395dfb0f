"""The getters of histograms and profiles against those of ROOT's own, filled with the same numbers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from histogram_tasks import arrays, changes, integrals, made_by_hand, steps

import colonnade
import colonnade.root

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


def rows_of(columns):
    return np.stack(columns, axis=1).tolist()


def assert_same(root, ours, kind, model, columns, getters):
    theirs = root.call("histogram_answers", kind, model, rows_of(columns), getters)
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


@pytest.mark.parametrize("weights", [[], ["w"], ["2 - abs(x - 2)"]])
@pytest.mark.parametrize("option", ["", "s"])
@pytest.mark.parametrize("limits", [[], [-1.5, 4.0]])
def test_profiles(root, frame, values, weights, option, limits):
    values["2 - abs(x - 2)"] = 2 - abs(values["x"] - 2)  # their variance is negative
    columns = ["x", "y", *weights]
    model = ["p", "t", 8, -1.0, 5.0, *limits, option]
    ours = frame.Profile1D(tuple(model), *columns).GetValue()
    assert_same(root, ours, "TProfile", model, [values[name] for name in columns], GETTERS)


MEANS = {
    name: [(), *((axis,) for axis in (1, 2, 3))]
    for name in ("GetMean", "GetStdDev", "GetMeanError", "GetStdDevError")
} | {"GetEffectiveEntries": [()]}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", [[], [0.6, 1.5]])
def test_profiles_over_two_axes(root, frame, values, weighted, limits):
    values |= {"z": values["w"] ** 2 - 1}
    columns = ["x", "y", "z", *(["w"] if weighted else [])]
    model = ["p", "t", 8, -1.0, 5.0, 5, -4.0, 6.0, *limits]
    ours = frame.Define("z", "w * w - 1").Profile2D(tuple(model), *columns).GetValue()
    assert_same(root, ours, "TProfile2D", model, [values[name] for name in columns], MEANS)


OF_STATISTICS = ("N", "Neff", "M2", "Mean", "MeanErr", "RMS", "Var", "W", "W2", "Min", "Max")


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics(root, frame, values, weighted):
    getters = {f"Get{name}": [()] for name in OF_STATISTICS}
    columns = ["x", *(["w"] if weighted else [])]
    ours = frame.Stats(*columns).GetValue()
    assert_same(root, ours, "TStatistic", [], [values[name] for name in columns], getters)


def test_bins_above_a_threshold_of_two_axes(root, frame, values):
    model = ["h", "t", 8, -1.0, 5.0, 5, -4.0, 6.0]
    ours = frame.Histo2D(tuple(model), "x", "y").GetValue()
    assert_same(root, ours, "TH2D", model, [values["x"], values["y"]], ABOVE)


SHAPES = {name: [(), (1,), (11,)] for name in ("GetSkewness", "GetKurtosis")}
SHAPES |= {"GetSumw2N": [()], "Interpolate": [(x,) for x in (-3.0, -0.9, -0.625, 0.1, 2.0, 4.7, 9.0)]}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_shapes_and_sums(root, seed, weighted):
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
    assert_same(root, ours, "TH1D", line, [x, *extra], SHAPES)
    both = {name: [(1,), (2,), (12,)] for name in ("GetSkewness", "GetKurtosis")}
    flat = frame.Histo2D(tuple(plane), "x", "y", *names).GetValue()
    assert_same(root, flat, "TH2D", plane, [x, y, *extra], both)
    for kind, model, columns, mine in (("TH1D", line, [x], ours), ("TH2D", plane, [x, y], flat)):
        theirs = root.call("histogram_arrays", kind, model, rows_of(columns + extra))
        found = arrays(mine)
        assert found.keys() == theirs.keys()
        for name, value in found.items():
            assert value == pytest.approx(theirs[name], rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("kind", ["TH1D", "TH2D"])
@pytest.mark.parametrize("weighted", [(False, False), (False, True), (True, False), (True, True)])
def test_changes(root, frame, values, kind, weighted):
    columns, model = [["x"], ["y"]], ["h", "t", 8, -1.0, 5.0]
    if kind == "TH2D":
        columns, model = [["x", "y"], ["y", "w"]], [*model, 4, -4.0, 6.0]
    columns = [
        [*names, "w"] if has_weight else names for names, has_weight in zip(columns, weighted, strict=True)
    ]
    book = frame.Histo2D if kind == "TH2D" else frame.Histo1D
    ours = changes(*(book(tuple(model), *names).GetValue() for names in columns))
    rows = [rows_of([values[name] for name in names]) for names in columns]
    theirs = root.call("histogram_changes", kind, model, rows)
    assert ours.keys() == theirs.keys()
    for name, found in ours.items():
        assert found == pytest.approx(theirs[name], rel=1e-9, abs=1e-12), name


def random_calls(dice: random.Random, bins: list[int], kind: str) -> dict[str, list[tuple[float, ...]]]:
    """Calls with bins, ranges and points inside of the axes and beyond them."""
    some, axes = range(12), len(bins)

    def number(k: int = 0) -> int:
        return dice.randint(-1, bins[k] + 2)

    def point() -> tuple[float, ...]:
        return tuple(
            dice.choice([0.1, 0.3, round(dice.uniform(-5, 7), 1), dice.uniform(-5, 7)]) for _ in bins
        )

    cells = [*((number(k) for k in range(axes)) for _ in some)]
    places = [tuple(cell) for cell in cells] + [(dice.randint(-1, 70),) for _ in some]
    calls: dict[str, list[tuple[float, ...]]] = {
        "GetBin": [place for place in places if len(place) == axes],
        "GetBinContent": places,
        "GetBinError": places,
        "FindBin": [point() for _ in some],
        "FindFirstBinAbove": [(0, dice.randint(1, axes), number(), number()) for _ in some],
        "FindLastBinAbove": [(1, dice.randint(1, axes), number(), number()) for _ in some],
        "GetMaximum": [(), (10.0,), (1.5,)],
        "GetMinimum": [(), (0.0,), (2.0,)],
        "GetSumw2N": [()],
    }
    if kind != "TProfile2D":
        ranges = [tuple(number(k // 2) for k in range(2 * axes)) for _ in some]
        calls["Integral"] = [(), *ranges, *((*each, "width") for each in ranges)]
    if axes == 1:
        calls |= {
            key: [(number(),) for _ in some] for key in ("GetBinCenter", "GetBinLowEdge", "GetBinWidth")
        }
    if kind.startswith("TProfile"):
        calls |= {
            key: [place for place in places if len(place) == 1]
            for key in ("GetBinEntries", "GetBinEffectiveEntries")
        }
    return calls


def random_step(dice: random.Random, bins: list[int], names: Iterator[str]) -> tuple[str, list[object]]:
    """A call that changes bins, or makes others; bins and points are inside of the axes and beyond them."""
    cells = (bins[0] + 2) * (bins[1] + 2 if len(bins) > 1 else 1)
    groups = [dice.randint(1, count) for count in bins]
    cell = [dice.randint(-1, count + 2) for count in bins]
    point: list[object] = [dice.uniform(-3, 7) for _ in bins]
    kind = dice.choice(["content", "error", "more", "fill", "fill", "rebin", "rebin", "other", "other"])
    if kind == "content":
        return "SetBinContent", [*dice.choice([cell, [dice.randint(-1, cells)]]), dice.uniform(0.5, 9)]
    if kind == "error":
        return "SetBinError", [*dice.choice([cell, [dice.randint(1, cells)]]), dice.uniform(0, 4)]
    if kind == "more":
        return "AddBinContent", [dice.randint(0, cells - 1), *dice.choice([[], [2.5]])]
    if kind == "fill":
        return "Fill", [*point, *dice.choice([[], [dice.uniform(0.1, 3)]])]
    if len(bins) == 1:
        return "Rebin" if kind == "rebin" else "RebinX", [groups[0], *dice.choice([[], [next(names)]])]
    if kind == "rebin":
        return dice.choice(
            [("Rebin2D", [*groups, next(names)]), ("RebinX", groups[:1]), ("RebinY", groups[1:])]
        )
    method = dice.choice(["ProjectionX", "ProjectionY"])
    across = bins[1] if method == "ProjectionX" else bins[0]
    first = dice.choice([[], [next(names)], [next(names), 1, across]])
    return method, first or [next(names), dice.randint(-1, across), dice.randint(-1, across + 2), "e"]


@pytest.mark.parametrize("kind", ["TH1D", "TH2D"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_random_bins_and_rebinning(root, values, kind, weighted, seed):
    """ROOT's Rebin2D loses the error of the corner below both axes: nothing is there."""
    dice = random.Random(seed)
    axes = 2 if kind == "TH2D" else 1
    values["y"] = np.maximum(values["y"], -3.9)
    bins = [dice.choice([1, 2, 5, 6, 12]) for _ in range(axes)]
    name = f"h{kind}{seed}{weighted}"  # ROOT uses a projection that has the name of the next one
    model: list[object] = [name, "t;a;b"]
    for k, count in enumerate(bins):
        model += [count, (-1.0, -4.0)[k], (5.0, 6.0)[k]]
    columns = [*["x", "y"][:axes], *(["w"] if weighted else [])]
    frame = colonnade.RDataFrame(colonnade.DataFrame.from_arrays(values))
    book = frame.Histo2D if axes == 2 else frame.Histo1D
    names = (f"{name}n{k}" for k in itertools.count())
    calls: list[tuple[str, list[object]]] = []
    ours = book(tuple(model), *columns).GetValue().Clone()
    for _ in range(8):
        shape = [ours.GetNbinsX(), ours.GetNbinsY()][: ours.GetDimension()]
        method, arguments = random_step(dice, shape, names)
        calls.append((method, arguments))
        result = getattr(ours, method)(*arguments)
        ours = result if method.startswith(("Rebin", "Projection")) else ours
    rows = rows_of([values[column] for column in columns])
    theirs = root.call("histogram_steps", kind, model, rows, calls)
    found = steps(book(tuple(model), *columns).GetValue(), calls)
    for call, mine, expected in zip(calls, found, theirs, strict=True):
        texts = sum(isinstance(each, str) for each in expected)
        assert mine[-texts:] == expected[-texts:], call
        assert mine[:-texts] == pytest.approx(expected[:-texts], rel=1e-9, abs=1e-9), call


def test_new_edges(root, frame, values):
    rows = rows_of([values["x"]])
    calls: list[tuple[str, list[object]]] = [
        ("Rebin", [3, "new", [-0.25, 1.25, 2.0, 5.0]]),
        ("Rebin", [2, "newer", [-0.25, 2.0, 5.0]]),
    ]
    model = ["h", "t", 8, -1.0, 5.0]
    theirs = root.call("histogram_steps", "TH1D", model, rows, calls)
    found = steps(frame.Histo1D(tuple(model), "x").GetValue(), calls)
    for mine, expected in zip(found, theirs, strict=True):
        assert mine[:-3] == pytest.approx(expected[:-3], rel=1e-9, abs=1e-9)
        assert mine[-3:] == expected[-3:]


@pytest.mark.parametrize("weighted", [False, True])
def test_integrals_with_errors(root, frame, values, weighted):
    model = ["h", "t", 8, -1.0, 5.0, 5, -4.0, 6.0]
    columns = ["x", "y", *(["w"] if weighted else [])]
    calls = [[0, 9, 0, 6], [1, 8, 1, 5], [2, 4, 3, 3, "width"], [3, 2, -1, 9, "width"], [5, 5, 2, 4, ""]]
    theirs = root.call("histogram_integrals", "TH2D", model, rows_of([values[n] for n in columns]), calls)
    found = integrals(frame.Histo2D(tuple(model), *columns).GetValue(), calls)
    np.testing.assert_allclose(found, theirs, rtol=1e-9)


METHODS = {"TH1D": "Histo1D", "TH2D": "Histo2D", "TProfile": "Profile1D", "TProfile2D": "Profile2D"}


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_random_calls(root, frame, values, kind, seed):
    dice = random.Random(seed)
    axes = 2 if "2D" in kind else 1
    model: list[object] = ["h", "t"]
    bins = [dice.choice([1, 2, 5, 7]) for _ in range(axes)]
    for count in bins:
        low = dice.choice([-2, -0.3, 0.1, 1])
        model += [count, low, low + dice.choice([0.3, 0.7, 3, 5])]
    names = ["x", "y", "w"][: axes + kind.startswith("TProfile")]
    ours = getattr(frame, METHODS[kind])(tuple(model), *names).GetValue()
    assert_same(root, ours, kind, model, [values[name] for name in names], random_calls(dice, bins, kind))


@pytest.mark.parametrize("seed", range(12))
def test_random_calls_of_histograms_made_by_hand(root, seed):
    theirs = root.call("histogram_random_steps", seed)
    for mine, expected in zip(made_by_hand(colonnade.root, seed), theirs, strict=True):
        texts = [each for each in expected if isinstance(each, str)]
        assert [each for each in mine if isinstance(each, str)] == texts
        numbers = [each for each in expected if not isinstance(each, str)]
        assert [each for each in mine if not isinstance(each, str)] == pytest.approx(
            numbers, rel=1e-9, abs=1e-7, nan_ok=True
        ), texts[0]
