"""A random analysis for the RDataFrame that it is given: a seed books the same definitions, filters and results."""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable
from typing import Any

NUMBERS = ("b", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f", "d")
LISTS = ("vi", "vf", "vd", "vb", "vu")
SHOWN = ("s", "vv", "vs")  # what is taken and displayed alone
EXPRESSIONS = (
    "i32 / 3",
    "u32 - 7",
    "i8 * i16",
    "f * d",
    "d - f",
    "i32 > u32 ? i32 : 2.5",
    "b + u8",
    "-u16",
    "int(abs(f) < 100 ? f : float(0)) % 5",
    "i64 / 4.",
    "f < 0 && i32 > 0",
    "(short) (i32 * 1000)",
    "u64 >> 3",
    "b ? i8 : u16",
    "i8 < u8 == b",
    "i16 & 0xf0 | u8 ^ 3",
    "1 + 2 * i8 - 7 / 3 % 2 << 1",
    "std::max(i32, 3) - std::min(d, 1.)",
    "i64 % 7 * f",
    "~u8 + !i8",
    "(unsigned char) (i32 + 256)",
    "TMath::Abs(i8) + TMath::Sign(2., d)",
    "floor(d) + std::round(f / 2)",
    "i32 != 0 ? u32 / i32 : -1",
    "d < 1 ? d < 0 ? -1 : 0 : 1u",
    "s.size() - 1",
    's == "b" || s.find("c") != std::string::npos',
    "Sum(vi) + vf.size()",
    "Any(vb) + All(vu)",
    "Mean(vd) - Var(vi)",
    "Dot(vf, vd)",
    "Product(vu) % 1000",
    "vi.size() > 1 ? vi[1] : ArgMax(vi)",
    "auto n = vd.size(); if (n == 0) return 0.; return n * d;",
    "vv.size()",
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
    "vi % 3 + vu",
    "vf[vf > 0 && vd < 2]",
    "Nonzero(vi)",
    "Concatenate(vd, vd)",
    "StableArgsort(vi)",
    "vu << 2 | 1",
    "vd / vf",
    "abs(vi) - i8",
    "Drop(vf, Nonzero(vd > 0))",
    "Enumerate(vb)",
    "Intersect(vi, vi + 1)",
    "ROOT::VecOps::Range(u8 % 5)",
)
CONDITIONS = (
    "i32 > -40",
    "vf.size() > 1",
    "f < 30",
    "b",
    "u8 < 250",
    "d == d",
    "Sum(vi) > 0",
    "i16 != 0",
    's != "a"',
)

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
    *("StdDev", "Count", "Take", "Report", "Type", "Display", "Graph", "Varied"),
    *("WeightedStats", "VariedNumber", "Names", "GraphAsymmErrors"),
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
    def __init__(self, seed: int, rdf: Any, variations_for: Callable[[Any], Any], path: str) -> None:
        self.random, self.variations_for = random.Random(seed), variations_for
        self.node = rdf("Events", path)
        self.numbers, self.lists = list(NUMBERS), list(LISTS)
        self.results: dict[str, Any] = {}
        self.varied = False

    def axes(self, count: int) -> tuple[Any, ...]:
        """Of a model: bins and a range or edges; ROOT's with three axes has edges for all of them or none."""
        model: tuple[Any, ...] = ()
        edges = self.random.random() < 0.3
        for _ in range(count):
            bins, low = self.random.randint(1, 12), self.random.choice([-10, -1, 0, 0.5])
            width = self.random.choice([0.25, 3, 40, 300])
            squares = array("d", [low + width * (k / bins) ** 2 for k in range(bins + 1)])
            model += (bins, squares) if edges else (bins, low, low + width)
            edges = edges if count == 3 else self.random.random() < 0.3
        return model

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
        kind = self.random.randrange(10)
        if kind == 0:
            self.node = self.node.Define(f"n{step}", self.random.choice(EXPRESSIONS))
            self.numbers.append(f"n{step}")
        elif kind == 1:
            self.node = self.node.Define(f"l{step}", self.random.choice(OF_LISTS))
            self.lists.append(f"l{step}")
        elif kind == 2:
            self.node = self.node.Filter(self.random.choice(CONDITIONS), f"cut {step}")
        elif kind == 3:
            if not self.varied:  # ROOT does not redefine what is varied
                self.node = self.node.Redefine("d", "d * 0.5 + 1")
        elif kind == 4:
            self.node = self.node.Alias(f"n{step}", self.random.choice(NUMBERS))
            self.numbers.append(f"n{step}")
        elif kind == 5:
            self.node = self.node.Range(self.random.choice([0, 3]), 350, self.random.choice([1, 2]))
        elif kind == 6:
            self.node = self.node.DefinePerSample(f"n{step}", 'rdfsampleinfo_.Contains("Events") ? 2 : 3.5f')
            self.numbers.append(f"n{step}")
        elif kind == 7:
            name = self.random.choice(["i8", "f", "u64", "vd"])
            self.node = self.node.Redefine(name, f"{name} + {name}")
        elif kind == 8:
            self.varied = True
            values = "ROOT::RVec<ROOT::RVec<double>>{{d - 1, d + 2}, {d * 2, d / 2}}"
            self.node = self.node.Define(f"n{step}", "d + 1.")
            self.node = self.node.Vary(["d", f"n{step}"], values, 2, f"both{step}")
            self.numbers.append(f"n{step}")
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
            model = ("h", self.title(), *self.axes(count))
            columns = self.columns(count, weighted)
            self.results[f"{name} {model} {columns}"] = getattr(node, kind)(model, *columns)
        elif kind.startswith("Profile"):
            count = int(kind[7])
            model = ("p", self.title(), *self.axes(count))
            model += draw.choice([(), ("",), ("s",), (-5, 20), (-5, 20, "i")]) if count == 1 else ()
            columns = self.columns(count + 1, weighted)
            self.results[f"{name} {model} {columns}"] = getattr(node, kind)(model, *columns)
        elif kind == "Count":
            self.results[name] = node.Count()
        elif kind == "Report":
            self.results[name] = node.Report()
        elif kind == "Display":
            columns = draw.sample([*self.numbers, *self.lists, *SHOWN], 3)
            self.results[f"{name} {columns}"] = node.Display(columns, draw.choice([1, 4]))
        elif kind == "Graph":
            columns = draw.choices(draw.choice([self.numbers, ["vf", "vd"]]), k=2)
            self.results[f"{name} {columns}"] = node.Graph(*columns)
        elif kind == "Varied":
            varied = node.Vary("d", "ROOT::RVecD{d - 1, d * 2}", ["down", "up"], f"v{step}").Filter("d > 0")
            model = ("h", "", *self.axes(1))
            made = varied.Histo1D(model, "d") if weighted else varied.Profile1D(model, "d", "i8")
            self.results[name] = self.variations_for(made)
        elif kind == "VariedNumber":
            varied = node.Vary("i32", "ROOT::RVecI{i32 - 5, 7}", 2, f"v{step}")
            varied = varied.Define("t", "i32 + d").Filter("t > 0")
            what = draw.choice(["Sum", "Mean", "Min", "Max", "StdDev", "Stats", "Count"])
            columns = [] if what == "Count" else [draw.choice(["t", "i32", "d"])]
            made = getattr(varied, what)(*columns)
            self.results[f"{name} {what}"] = self.variations_for(made)
        elif kind == "Names":
            # ROOT repeats those that depend on variations.
            self.results[name] = list(dict.fromkeys(str(each) for each in node.GetFilterNames()))
        elif kind == "WeightedStats":
            columns = self.columns(1, True)
            self.results[f"{name} {columns}"] = node.Stats(*columns)
        elif kind == "GraphAsymmErrors":
            columns = draw.choices(draw.choice([self.numbers, ["vf", "vd"]]), k=6)
            self.results[f"{name} {columns}"] = node.GraphAsymmErrors(*columns)
        elif kind == "Type":
            column = draw.choice([*self.numbers, *self.lists])
            self.results[f"{name} {column}"] = str(node.GetColumnType(column))
        elif kind == "Take":
            column = draw.choice([*self.numbers, *self.lists, *SHOWN])
            self.results[f"{name} {column}"] = node.AsNumpy([column])[column]
        else:
            column = draw.choice(self.numbers + self.lists)
            self.results[f"{name} {column}"] = getattr(node, kind)(column)


def statistics(value: Any) -> list[Any]:
    names = ("N", "Mean", "RMS", "Min", "Max", "W")
    return [number(getattr(value, f"Get{each}")()) for each in names]


def plain(value: Any) -> Any:
    """Numbers and texts, and lists of them at any depth."""
    is_list = hasattr(value, "__len__") and not isinstance(value, str) and not hasattr(value, "c_str")
    return [plain(item) for item in value] if is_list else number(value)


def plain_result(name: str, result: Any) -> Any:
    kind = name.split()[1]
    if kind in ("Type", "Names"):
        return result
    if kind == "Take":
        return [plain(row) for row in result]
    if kind == "Varied":
        return {str(key): histogram(result[key]) for key in result.GetKeys()}
    if kind == "VariedNumber":
        of = statistics if name.endswith(" Stats") else number
        return {str(key): of(result[key]) for key in result.GetKeys()}
    value = result.GetValue()
    if kind == "Display":
        return str(value.AsString())
    if kind == "Graph":
        points = range(value.GetN())
        return [[number(value.GetPointX(k)), number(value.GetPointY(k))] for k in points]
    if kind == "GraphAsymmErrors":
        errors = [f"GetError{axis}{end}" for axis in "XY" for end in ("low", "high")]
        getters = ["GetPointX", "GetPointY", *errors]
        return [[number(getattr(value, each)(k)) for each in getters] for k in range(value.GetN())]
    if kind.startswith(("Histo", "Profile")):
        return histogram(value)
    if kind == "Report":
        return [[str(cut.GetName()), cut.GetPass(), cut.GetAll()] for cut in value]
    if kind in ("Stats", "WeightedStats"):
        return statistics(value)
    return number(value)


def analysis(seed: int, rdf: Any, variations_for: Callable[[Any], Any], path: str) -> dict[str, Any]:
    """Book some eight results, and give all of them as plain data."""
    made = Analysis(seed, rdf, variations_for, path)
    for step in range(12):
        if made.random.random() < 0.35:
            made.transform(step)
        else:
            made.book(step)
    return {name: plain_result(name, result) for name, result in made.results.items()}
