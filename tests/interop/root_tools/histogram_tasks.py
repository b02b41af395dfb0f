"""Histograms and profiles of ROOT on behalf of the tests: filled row by row, asked through their getters."""

from __future__ import annotations

import random
from array import array
from typing import Any

import root_bridge

Getters = dict[str, list[tuple[Any, ...]]]


def filled(kind: str, model: list[Any], rows: list[list[float]]) -> Any:
    """An object of the class `kind`, made from `model` and filled with rows."""
    ROOT = root_bridge.load()
    ROOT.TH1.AddDirectory(False)  # the next one may have the same name
    histogram = getattr(ROOT, kind)(*model)
    for row in rows:
        histogram.Fill(*row)
    return histogram


def answers(histogram: Any, getters: Getters) -> dict[str, list[Any]]:
    """What the getters return for each list of arguments."""
    return {name: [getattr(histogram, name)(*call) for call in calls] for name, calls in getters.items()}


def arrays(histogram: Any) -> dict[str, Any]:
    """Sums, quantiles and what else comes as an array, of a histogram of ROOT's or ours."""
    cells = histogram.GetNbinsX() * histogram.GetNbinsY() + 1
    found: dict[str, Any] = {"integral": [histogram.GetIntegral()[k] for k in range(cells)]}
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
    return found


def facts(histogram: Any) -> list[float]:
    """Contents, errors and statistics of a histogram of ROOT's or ours."""
    cells, axes = range(histogram.GetNcells()), range(1, histogram.GetDimension() + 1)
    return [
        *(histogram.GetBinContent(k) for k in cells),
        *(histogram.GetBinError(k) for k in cells),
        *(histogram.GetMean(k) for k in axes),
        *(histogram.GetStdDev(k) for k in axes),
        histogram.GetEntries(),
        histogram.GetEffectiveEntries(),
        histogram.GetSumw2N(),
    ]


def changes(first: Any, second: Any) -> dict[str, list[float]]:
    """What each change makes of a copy of the first histogram."""
    calls: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
        "scaled": [("Scale", (2.5,))],
        "scaled down": [("Scale", (-0.5,))],
        "by width": [("Scale", (3, "width"))],
        "without errors": [("Scale", (3, "nosw2"))],
        "added": [("Add", (second,))],
        "weighted": [("Add", (second, 2.5))],
        "subtracted": [("Add", (second, -0.5))],
        "multiplied": [("Multiply", (second,))],
        "divided": [("Divide", (second,))],
        "ratio": [("Divide", (second, first, 2, 3))],
        "efficiency": [("Divide", (first, second, 1, 1, "B"))],
        "errors": [("Sumw2", ())],
        "several": [("Scale", (2,)), ("Add", (second, 0.5)), ("Scale", (0.1,)), ("Add", (second, -0.2))],
    }
    found = {"untouched": facts(first), "named": [float(first.Clone("other").GetName() == "other")]}
    for name, steps in calls.items():
        copy = first.Clone()
        for method, arguments in steps:
            getattr(copy, method)(*arguments)
        found[name] = facts(copy)
    return found


def steps(histogram: Any, calls: list[tuple[str, list[Any]]]) -> list[list[Any]]:
    """What a histogram of ROOT's or ours is after each call. One that a call returns is the next to be called."""
    found: list[list[Any]] = []
    for method, arguments in calls:
        given = [array("d", each) if isinstance(each, list) else each for each in arguments]
        result = getattr(histogram, method)(*given)
        if method.startswith(("Rebin", "Projection")):
            histogram = result
        axes = [histogram.GetXaxis(), histogram.GetYaxis()][: histogram.GetDimension()]
        found.append(
            [
                *facts(histogram),
                *(axis.GetBinLowEdge(k + 1) for axis in axes for k in range(axis.GetNbins() + 1)),
                result if method == "Fill" else 0,
                histogram.GetName(),
                histogram.GetTitle(),
                *(axis.GetTitle() for axis in axes),
            ]
        )
    return found


def integrals(histogram: Any, calls: list[list[Any]]) -> list[list[float]]:
    """Sums and their errors, of ranges of bins."""
    found = []
    for call in calls:
        error = array("d", [0])
        bounds = [each for each in call if not isinstance(each, str)]
        total = histogram.IntegralAndError(*bounds, error, *call[len(bounds) :])
        found.append([total, error[0]])
    return found


def random_steps(seed: int) -> list[list[Any]]:
    """What histograms made by hand are after random calls, by the module `ROOT` of root_bridge; see `made_by_hand`."""
    return made_by_hand(root_bridge.load(), seed)


def made_by_hand(ROOT: Any, seed: int) -> list[list[Any]]:
    """Facts of histograms of ROOT's or ours after each of some random calls, of which each has its name in front."""
    dice = random.Random(seed)
    ROOT.TH1.AddDirectory(False)
    kind = dice.choice(["TH1D", "TH1F", "TH2D", "TH2F"])
    axes = int(kind[2])
    model: list[Any] = []
    for _ in range(axes):
        low = dice.choice([-2.0, 0.0, 0.5])
        edges = array("d", [low, low + 0.25, low + 1, low + 2.5])
        model += dice.choice([[4, low, low + 3.0], [3, edges], [5, low, low + 1.0]])
    first, second = (getattr(ROOT, kind)(name, f"{name};x;y", *model) for name in "ab")
    weighted = dice.random() < 0.5
    if dice.random() < 0.3:
        first.Sumw2()
    for histogram in (first, second):
        for _ in range(dice.randint(1, 12)):
            values = [dice.uniform(-3, 4) for _ in range(axes)]
            histogram.Fill(*values, *([dice.uniform(0.2, 2)] if weighted else []))
    found = [["made", *_all_facts(first, axes)]]
    for _ in range(6):
        name = dice.choice(["GetXaxis", "GetYaxis"][:axes])
        weight, low = round(dice.uniform(-1, 3), 3), dice.uniform(-3, 3)
        target, method, arguments = dice.choice(
            [
                ("", "Fill", [dice.uniform(-3, 4) for _ in range(axes)] + [weight] * dice.randint(0, 1)),
                ("", "SetBinContent", [dice.randint(0, first.GetNcells() - 1), weight]),
                ("", "AddBinContent", [dice.randint(0, first.GetNcells() - 1), weight]),
                ("", "Scale", [dice.choice([2.0, 0.5, 3.7])]),
                ("", "Add", [second, abs(weight)]),
                ("", "Multiply", [second]),
                ("", "SetMaximum", [weight]),
                ("", "SetTitle", [dice.choice(["c", "c;d", "c;d;e"])]),
                ("", "SetLineColor", [dice.randint(0, 50)]),
                (name, "SetRangeUser", [low, low + dice.choice([1, 2, 9])]),
                (name, "SetRange", [dice.randint(-1, 3), dice.randint(-1, 6)]),
                (name, "SetRange", [0, 0]),
                (name, "SetTitleSize", [abs(weight)]),
            ]
        )
        getattr(getattr(first, target)() if target else first, method)(*arguments)
        found.append([method, *_all_facts(first, axes)])
    for k in range(axes):
        getattr(first, ["GetXaxis", "GetYaxis"][k])().SetRange(0, 0)
    if axes == 2:
        for number, call in enumerate([("ProfileX", []), ("ProfileY", [0, 2, "s"]), ("ProfileX", [2, 9])]):
            profile = getattr(first, call[0])(f"p{seed} {number}", *call[1])
            bins = range(profile.GetNcells())
            found.append(
                [
                    f"{call}",
                    *(profile.GetBinContent(k) for k in bins),
                    *(profile.GetBinEntries(k) for k in bins),
                    *(profile.GetBinEffectiveEntries(k) for k in bins),
                    *(profile.GetMean(), profile.GetMean(2), profile.GetEntries()),
                    *(profile.GetTitle(), profile.GetXaxis().GetTitle()),
                ]
            )
    return found


def _all_facts(histogram: Any, axes: int) -> list[Any]:
    along = [histogram.GetXaxis(), histogram.GetYaxis()][:axes]
    return [
        *facts(histogram),
        *(histogram.Integral(), histogram.Integral("width"), histogram.GetMaximum(), histogram.GetMinimum()),
        *(histogram.GetMaximumBin(), histogram.GetMaximumStored(), histogram.GetLineColor()),
        *(number for axis in along for number in (axis.GetFirst(), axis.GetLast(), axis.GetTitleSize())),
        *(histogram.GetTitle(), *(axis.GetTitle() for axis in along)),
    ]
