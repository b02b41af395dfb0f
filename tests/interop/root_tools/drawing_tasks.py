"""Random pads, drawn by ROOT or by `colonnade.root`, and the limits of their axes."""

from __future__ import annotations

import random
from array import array
from typing import Any


def limits(root: Any, seed: int) -> list[float]:
    """The limits of the frame of a pad with a random object on it, drawn with random options."""
    chosen = random.Random(seed)
    canvas = root.TCanvas(f"canvas{seed}", "", chosen.choice([700, 800, 1200]), chosen.choice([500, 600]))
    canvas.SetLogy(chosen.random() < 0.4)
    kind = chosen.choice(["histogram", "histogram", "graph", "stack", "map", "frame", "graphs", "profile"])
    things = {
        "histogram": _histogram,
        "graph": _graph,
        "stack": _stack,
        "map": _map,
        "frame": _frame,
        "graphs": _graphs,
        "profile": _profile,
    }[kind](root, chosen, canvas)
    canvas.Update()
    found = [canvas.GetUxmin(), canvas.GetUymin(), canvas.GetUxmax(), canvas.GetUymax()]
    del things
    return [float(value) for value in found]


def _filled(root: Any, chosen: random.Random, name: str, bins: int, kind: str) -> Any:
    histogram = root.TH1D(name, "title;x;y", bins, -1.0, 4.0)
    if chosen.random() < 0.3:
        histogram.Sumw2()
    scale = 10 ** chosen.uniform(-2, 4)
    for number in range(bins):
        value = {
            "counts": float(chosen.randint(0, 50)),
            "positive": scale * (0.1 + chosen.random()),
            "flat": scale,
            "near": scale * (10 + chosen.random()),
            "signed": scale * chosen.uniform(-0.3, 1),
            "nothing": 0.0,
        }[kind]
        histogram.SetBinContent(number + 1, value)
    return histogram


def _histogram(root: Any, chosen: random.Random, canvas: Any) -> Any:
    kinds = ["counts", "positive", "flat", "near", "nothing"]
    kinds += [] if canvas.GetLogy() else ["signed"]
    kind = chosen.choice(kinds)
    histogram = _filled(root, chosen, "h", chosen.randint(1, 12), kind)
    largest = histogram.GetMaximum()
    if chosen.random() < 0.2 and largest > 0:
        histogram.SetMaximum(largest * chosen.uniform(1.5, 3))
    if chosen.random() < 0.2 and kind not in ("nothing", "signed"):
        histogram.SetMinimum(histogram.GetMinimum() * 0.5 + largest * 0.01)
    if chosen.random() < 0.3:
        histogram.GetXaxis().SetRangeUser(chosen.uniform(-1, 1), chosen.uniform(1.5, 4))
    if chosen.random() < 0.1 and kind == "positive":
        histogram.GetYaxis().SetRangeUser(largest * 0.01, largest * 3)
    histogram.Draw(chosen.choice(["", "HIST", "E", "E1", "P", "HIST E", "L"]))
    other = _filled(root, chosen, "other", 5, "counts")
    other.Draw("SAME")
    return histogram, other


def _graph(root: Any, chosen: random.Random, canvas: Any) -> Any:
    count = chosen.randint(1, 8)
    low = 0.5 if canvas.GetLogy() else chosen.choice([-20.0, 0.0, 3.0, -50.0])
    x, y, ex, ey = (array("d", sorted(chosen.uniform(low, low + 30) for _ in range(count))) for _ in range(4))
    if chosen.random() < 0.5:
        errors = [array("d", [abs(each) * 0.01 for each in values]) for values in (ex, ey)]
        graph = root.TGraphErrors(count, x, y, *errors)
    else:
        graph = root.TGraph(count, x, y)
    if chosen.random() < 0.2:
        graph.SetMinimum(0.2)
    if chosen.random() < 0.2:
        graph.SetMaximum(400.0)
    graph.Draw(chosen.choice(["AP", "AL", "ALP", "APL"]))
    return graph


def _graphs(root: Any, chosen: random.Random, canvas: Any) -> Any:
    several = root.TMultiGraph("several", "title;x;y")
    low = 0.5 if canvas.GetLogy() else chosen.choice([-20.0, 0.0, 3.0, -50.0])
    members = []
    for _ in range(chosen.randint(1, 3)):
        count = chosen.randint(2, 6)
        x, y = (array("d", sorted(chosen.uniform(low, low + 30) for _ in range(count))) for _ in range(2))
        if chosen.random() < 0.3:
            errors = [array("d", [0.3] * count), array("d", [0.4] * count)]
            members.append(root.TGraphErrors(count, x, y, *errors))
        else:
            members.append(root.TGraph(count, x, y))
        several.Add(members[-1], "P")
    if chosen.random() < 0.2:
        several.SetMinimum(0.2)
    if chosen.random() < 0.2:
        several.SetMaximum(400.0)
    several.Draw("A")
    for each in members:
        root.SetOwnership(each, False)
    return several, members


def _stack(root: Any, chosen: random.Random, canvas: Any) -> Any:
    stack = root.THStack("stack", "title;x;y")
    members = [_filled(root, chosen, f"s{k}", 6, "positive") for k in range(chosen.randint(1, 4))]
    for each in members:
        stack.Add(each)
    if chosen.random() < 0.2:
        stack.SetMaximum(1e6)
    if chosen.random() < 0.2:
        stack.SetMinimum(0.001)
    options = ["", "HIST", "HIST NOSTACK", "NOSTACK", "P"]
    options += [] if canvas.GetLogy() else ["E", "E NOSTACK"]
    stack.Draw(chosen.choice(options))
    return stack, members


def _map(root: Any, chosen: random.Random, canvas: Any) -> Any:
    histogram = root.TH2D("h2", "", chosen.randint(2, 9), -3.0, 2.0, chosen.randint(2, 9), 0.5, 4.0)
    for _ in range(50):
        histogram.Fill(chosen.uniform(-3, 2), chosen.uniform(0.5, 4))
    if chosen.random() < 0.5:
        histogram.GetYaxis().SetRangeUser(1.0, 3.0)
    histogram.Draw(chosen.choice(["COLZ", "COL", "BOX", "", "TEXT"]))
    return histogram


def _profile(root: Any, chosen: random.Random, canvas: Any) -> Any:
    low = 0.5 if canvas.GetLogy() else -2.0
    histogram = root.TH2D("h2", "", chosen.randint(2, 9), -3.0, 2.0, chosen.randint(2, 9), low, 4.0)
    for _ in range(chosen.randint(1, 60)):
        histogram.Fill(chosen.uniform(-3, 2), chosen.uniform(low, 4))
    profile = histogram.ProfileX("profile")
    profile.Draw(chosen.choice(["", "E", "HIST", "P"]))
    return profile, histogram


def _frame(root: Any, chosen: random.Random, canvas: Any) -> Any:
    low = chosen.uniform(0.1, 5)
    frame = canvas.DrawFrame(low, 2 * low, low + 10, 5 * low + 1, "title;x;y")
    other = _filled(root, chosen, "other", 5, "counts")
    other.Draw("HIST SAME")
    return frame, other
