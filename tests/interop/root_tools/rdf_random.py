"""A random analysis for the RDataFrame that it is given: a seed books the same definitions, filters and results."""

from __future__ import annotations

import math
import random
from typing import Any

NUMBERS = ("b", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f", "d")
LISTS = ("vi", "vf", "vd", "vb", "vu")
EXPRESSIONS = (
    "i32 / 3",
    "u32 - 7",
    "i8 * i16",
    "f * d",
    "d - f",
    "i32 > u32 ? i32 : 2.5",
    "b + u8",
    "-u16",
    "int(f) % 5",
    "i64 / 4.",
    "f < 0 && i32 > 0",
    "(short) (i32 * 1000)",
    "u64 >> 3",
)
OF_LISTS = (
    "vf * 2",
    "vi / 2",
    "vd[vd > 0]",
    "vf + vf * vf",
    "Reverse(vi)",
    "-vu",
    "Sort(vf)",
    "vi + 0.5f",
    "Take(vd, 2, 0.5)",
    "Where(vi > 0, vi, -vi)",
)
CONDITIONS = ("i32 > -40", "vf.size() > 1", "f < 30", "b", "u8 < 250", "d == d", "Sum(vi) > 0", "i16 != 0")

KINDS = (
    *(
        "Histo1D",
        "Histo1D",
        "Histo2D",
        "Histo3D",
        "Profile1D",
        "Profile2D",
        "Stats",
        "Sum",
        "Mean",
        "Min",
        "Max",
    ),
    *("StdDev", "Count", "Take", "Report", "Type"),
)


def number(value: Any) -> Any:
    """As plain data; NaN is a text, so that it equals itself."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    return value if isinstance(value, bool | int | str) else str(value)


def histogram(h: Any) -> dict[str, Any]:
    """Everything that is asked of a histogram or a profile."""
    cells = range(h.GetNcells())
    axes = range(1, h.GetDimension() + 1)
    found = {
        "contents": [h.GetBinContent(k) for k in cells],
        "errors": [h.GetBinError(k) for k in cells],
        "entries": h.GetEntries(),
        "effective": h.GetEffectiveEntries(),
        "title": str(h.GetTitle()),
        "name": str(h.GetName()),
        "mean": [h.GetMean(k) for k in axes],
        "spread": [h.GetStdDev(k) for k in axes],
        "integral": h.Integral(),
        "maximum": [h.GetMaximum(), h.GetMaximumBin()],
        "minimum": [h.GetMinimum(), h.GetMinimumBin()],
    }
    for name in ("X", "Y", "Z")[: h.GetDimension()]:
        axis = getattr(h, f"Get{name}axis")()
        bins = range(1, axis.GetNbins() + 1)
        found[name] = [
            str(axis.GetTitle()),
            [axis.GetBinLowEdge(k) for k in bins],
            axis.GetXmin(),
            axis.GetXmax(),
            axis.FindFixBin(0.3),
        ]
    return {
        key: [number(each) for each in value] if isinstance(value, list) else number(value)
        for key, value in found.items()
    }


class Analysis:
    def __init__(self, seed: int, rdf: Any, path: str) -> None:
        self.random = random.Random(seed)
        self.node = rdf("Events", path)
        self.numbers, self.lists = list(NUMBERS), list(LISTS)
        self.results: dict[str, Any] = {}

    def axis(self) -> tuple[Any, ...]:
        low = self.random.choice([-10, -1, 0, 0.5])
        return self.random.randint(1, 12), low, low + self.random.choice([0.25, 3, 40, 300])

    def title(self) -> str:
        return self.random.choice(["", "t", "t;x axis", "t;x;y", ";a;b;c"])

    def columns(self, count: int, weighted: bool) -> list[str]:
        """For axes, and a weight; lists go with lists of the same length, or with single values."""
        if self.random.random() < 0.3:
            inner = self.random.choice([("vf", "vd"), ("vi", "vb", "vu")])
            chosen = [self.random.choice(inner) for _ in range(count)]
            return [*chosen, self.random.choice([*inner, "d", "i8"])] if weighted else chosen
        return self.random.choices(self.numbers, k=count + weighted)

    def transform(self, step: int) -> None:
        kind = self.random.randrange(4)
        if kind == 0:
            self.node = self.node.Define(f"n{step}", self.random.choice(EXPRESSIONS))
            self.numbers.append(f"n{step}")
        elif kind == 1:
            self.node = self.node.Define(f"l{step}", self.random.choice(OF_LISTS))
            self.lists.append(f"l{step}")
        elif kind == 2:
            self.node = self.node.Filter(self.random.choice(CONDITIONS), f"cut {step}")
        else:
            self.node = self.node.Define(f"n{step}", f"(double) {self.random.choice(self.numbers)} * 0.5")
            self.numbers.append(f"n{step}")

    def book(self, step: int) -> None:
        node, draw = self.node, self.random
        if draw.random() < 0.1:
            node = node.Filter("d > 1e301", "nothing")
        kind = draw.choice(KINDS)
        name = f"{step} {kind}{' of nothing' if node is not self.node else ''}"
        weighted = draw.random() < 0.5
        if kind.startswith("Histo"):
            count = int(kind[5])
            model = ("h", self.title(), *(part for _ in range(count) for part in self.axis()))
            columns = self.columns(count, weighted)
            self.results[f"{name} {model} {columns}"] = getattr(node, kind)(model, *columns)
        elif kind.startswith("Profile"):
            count = int(kind[7])
            model = ("p", self.title(), *(part for _ in range(count) for part in self.axis()))
            model += draw.choice([(), ("",), ("s",), (-5, 20), (-5, 20, "i")]) if count == 1 else ()
            columns = self.columns(count + 1, weighted)
            self.results[f"{name} {model} {columns}"] = getattr(node, kind)(model, *columns)
        elif kind == "Count":
            self.results[name] = node.Count()
        elif kind == "Report":
            self.results[name] = node.Report()
        elif kind == "Type":
            column = draw.choice(self.numbers + self.lists)
            self.results[f"{name} {column}"] = str(node.GetColumnType(column))
        elif kind == "Take":
            column = draw.choice(self.numbers + self.lists)
            self.results[f"{name} {column}"] = node.AsNumpy([column])[column]
        else:
            column = draw.choice(self.numbers + self.lists)
            self.results[f"{name} {column}"] = getattr(node, kind)(column)


def plain_result(name: str, result: Any) -> Any:
    kind = name.split()[1]
    if kind in ("Type",):
        return result
    if kind == "Take":
        return [[number(item) for item in row] if hasattr(row, "__len__") else number(row) for row in result]
    value = result.GetValue()
    if kind.startswith(("Histo", "Profile")):
        return histogram(value)
    if kind == "Report":
        return [[str(cut.GetName()), cut.GetPass(), cut.GetAll()] for cut in value]
    if kind == "Stats":
        names = ("N", "Mean", "RMS", "Min", "Max", "W")
        return [number(getattr(value, f"Get{each}")()) for each in names]
    return number(value)


def analysis(seed: int, rdf: Any, path: str) -> dict[str, Any]:
    """Book some eight results, and give all of them as plain data."""
    made = Analysis(seed, rdf, path)
    for step in range(12):
        if made.random.random() < 0.35:
            made.transform(step)
        else:
            made.book(step)
    return {name: plain_result(name, result) for name, result in made.results.items()}
