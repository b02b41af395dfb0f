"""The limits of axes, as ROOT chooses them: of histograms, graphs and stacks, on linear and logarithmic scales."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .style import gStyle

__all__ = [
    "Frame",
    "Option",
    "frame_of",
    "frame_of_graphs",
    "frame_of_pad",
    "shows_errors",
    "spreads",
    "usable",
]

Floats = NDArray[np.float64]
Limits = tuple[float, float]


@dataclass
class Frame:
    """The axes of a picture: their limits, and what says how they look."""

    x: Limits
    y: Limits
    owner: Any
    """Its title is that of the picture."""
    axes: tuple[Any, Any]
    """Those of ROOT's kind, for titles and styles."""
    z: Limits | None = None


class Option:
    """The words of an option: "HIST SAME E1", in any order and without spaces. Others have no effect, as in ROOT."""

    _WORDS = (
        *(
            "NOSTACKB",
            "NOSTACK",
            "PADS",
            "SAMES",
            "SAME",
            "HIST",
            "TEXT",
            "AXIS",
            "COLZ",
            "COL",
            "BOX",
            "SCAT",
        ),
        *(
            "CONT",
            "CANDLE",
            "VIOLIN",
            "SURF",
            "LEGO",
            "ARR",
            "BAR",
            "FUNC",
            "LF2",
            "PLC",
            "PMC",
            "PFC",
            "NOCLEAR",
        ),
        *(
            "E0",
            "E1",
            "E2",
            "E3",
            "E4",
            "E5",
            "E6",
            "P0",
            "X0",
            "RX",
            "RY",
            "][",
            "Z",
            "*H",
            "9",
            "E",
            "P",
            "L",
        ),
        *("C", "B", "A", "F", "X", "*", "H", "1", "2", "3", "4", "5", "0", "|", ">"),
    )

    def __init__(self, text: str, words: tuple[str, ...] = _WORDS) -> None:
        rest = text.upper().replace(" ", "").replace(",", "").replace(";", "")
        self.words: set[str] = set()
        while rest:
            found = next((word for word in words if rest.startswith(word)), None)
            if found is not None:
                self.words.add("SAME" if found == "SAMES" else found)
            rest = rest[len(found or rest[0]) :]
        if "COLZ" in self.words:
            self.words |= {"COL", "Z"}

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def has_errors(self) -> bool:
        """Whether errors are asked for."""
        return bool(self.words & {"E", "E0", "E1", "E2", "E3", "E4", "E5", "E6"})


def shows_errors(view: Any, option: Option) -> bool:
    """Whether errors are painted: they are asked for, or known and nothing else is asked for."""
    if option.has_errors():
        return True
    others = {"HIST", "L", "C", "BAR", "B", "LF2", "AXIS", "TEXT"}
    if view.kind == "MEAN":
        return not option.words & others
    return not option.words & (others | {"P", "P0", "*H", "*"}) and bool(view._value.weighted)


def _linear(low: float, high: float, has_low: bool, has_high: bool) -> Limits:
    """Return linear limits with room above and below, where these are not set."""
    share = gStyle.value("HistTopMargin")
    if not has_low:
        room = share * (high - low)
        if (low >= 0 and (low - room <= 0 or gStyle.value("HistMinimumZero"))) or low == 0:
            low = 0.0
        else:
            low -= room
    if not has_high:
        high += share * (high - low)
    return low, high


def _logarithmic(low: float, high: float, has_low: bool, has_high: bool) -> Limits:
    return (low if has_low else low * 0.5), (high if has_high else high * 2 * 0.9 / 0.95)


def _frame_of_histogram(view: Any, text: str, pad: Any) -> Frame:
    """Return the limits of a histogram or profile with its axes."""
    axes = view._axes
    edges = [(axis.GetBinLowEdge(axis.GetFirst()), axis.GetBinUpEdge(axis.GetLast())) for axis in axes]
    if len(axes) >= 2:
        contents = view._contents()[view._chosen()]
        low, high = float(np.min(contents)), float(np.max(contents))
        minimum, maximum = view._limits
        z = (low if minimum is None else minimum, high if maximum is None else maximum)
        return Frame(edges[0], edges[1], view, (axes[0], axes[1]), z=z if z[0] < z[1] else (z[0], z[0] + 1))
    y = _contents_limits(view, Option(text), is_log=pad._log["y"])
    return Frame(edges[0], y, view, (axes[0], view.GetYaxis()))


def _contents_limits(view: Any, option: Option, *, is_log: bool) -> Limits:
    chosen = view._chosen()
    contents = view._contents()[chosen]
    contents = np.where(np.isfinite(contents), contents, 0.0)
    minimum, maximum = view._limits
    kept = contents[contents > 0] if is_log else contents
    low, high = float(np.min(kept, initial=math.inf)), float(np.max(contents, initial=-math.inf))
    if shows_errors(view, option):
        with np.errstate(invalid="ignore"):
            errors = np.nan_to_num(np.sqrt(view._squared_errors()[chosen]))
        high = max(high, float(np.max(contents + errors, initial=-math.inf)))
        below = contents - errors
        below = below[below > 0] if is_log else below
        low = min(low, float(np.min(below, initial=math.inf)))
    if is_log and (high <= 0 or low == math.inf):
        return _logarithmic(minimum or 0.01, maximum or 10.0, bool(minimum), bool(maximum))
    low = low if minimum is None else minimum
    high = high if maximum is None else maximum
    if is_log and low <= 0:
        low = max(0.005, high * 1e-10) if high >= 1 else 0.001 * high
    if low >= high:
        low, high = _apart(low, high, is_log=is_log)
    finish = _logarithmic if is_log else _linear
    return finish(low, high, minimum is not None and not (is_log and minimum <= 0), maximum is not None)


def _apart(low: float, high: float, *, is_log: bool) -> Limits:
    """Return limits that differ."""
    if is_log:
        return (0.001 * high, high) if high > 0 else (0.01, 10.0)
    if low > 0 and high > 0:
        return 0.0, 2 * high
    lowest = min(low, high)
    return (2 * lowest, 0.0) if lowest < 0 else (0.0, 1.0)


def spreads(low: float, high: float) -> Limits:
    """Return limits of a logarithmic scale with room, as ROOT gives stacks and several graphs."""
    room = math.log10(high / low) if high > low else 0.0
    return low / (1 + 0.5 * room), high * (1 + 0.2 * room)


def _ranges_of(graphs: list[Any]) -> tuple[Limits, Limits]:
    """Return the ranges of the coordinates of graphs, errors included."""
    found = []
    for number in (0, 1):
        low, high = math.inf, -math.inf
        for graph in graphs:
            values = (graph.GetX(), graph.GetY())[number]
            errors = graph.points.errors
            down, up = (errors[2 * number], errors[2 * number + 1]) if errors else (0.0, 0.0)
            low = min(low, float(np.min(values - down, initial=math.inf)))
            high = max(high, float(np.max(values + up, initial=-math.inf)))
        if not (math.isfinite(low) and math.isfinite(high)):
            low, high = 0.0, 1.0
        found.append((low, high + 1 if low == high else high))
    return found[0], found[1]


def _frame_of_graph(graph: Any, pad: Any) -> Frame:
    """Return the limits of a graph with axes: a tenth of the range of all points and errors on each side."""
    (x_low, x_high), (y_low, y_high) = _ranges_of([graph])
    x = _widened(x_low, x_high, 0.1, is_log=pad._log["x"], least=0.9 * x_low if pad._log["x"] else 0.0)
    if not pad._log["x"] and x[1] > 0 >= x_high:
        x = (x[0], 0.0)
    y = _widened(y_low, y_high, 0.1, is_log=pad._log["y"], least=0.9 * y_low)
    return _chosen(graph, x, y, graph._limits, is_log=pad._log["y"])


def frame_of_graphs(owner: Any, graphs: list[Any], pad: Any) -> Frame:
    """Return the limits of a TMultiGraph: a twentieth of the range on each side."""
    (x_low, x_high), (y_low, y_high) = _ranges_of(graphs)
    least = 0.9 * x_low if pad._log["x"] else None
    x = _widened(x_low, x_high, 0.05, is_log=pad._log["x"], least=least)
    if pad._log["y"]:
        y_high = y_high if y_high > 0 else 1.0
        y = spreads(y_low if y_low > 0 else 0.001 * y_high, y_high)
    else:
        y = _widened(y_low, y_high, 0.05, is_log=False, least=0.0)
    return _chosen(owner, x, y, owner._limits, is_log=pad._log["y"])


def _widened(low: float, high: float, share: float, *, is_log: bool, least: float | None) -> Limits:
    """Return limits with room on both sides; `least` in place of negative ones if no value is negative."""
    room = share * (high - low)
    below, above = low - room, high + room
    if below < 0 <= low and least is not None:
        below = least
    return (0.001 * above if is_log and below <= 0 else below), above


def _chosen(
    owner: Any, x: Limits, y: Limits, limits: tuple[float | None, float | None], *, is_log: bool
) -> Frame:
    """Return a frame with the limits that were set in place of those that follow from the points."""
    y = (y[0] if limits[0] is None else limits[0], y[1] if limits[1] is None else limits[1])
    y = y if y[0] < y[1] else _apart(*y, is_log=is_log)
    axes = (owner.GetXaxis(), owner.GetYaxis())
    chosen = [getattr(axis, "_user", None) for axis in axes]
    return Frame(chosen[0] or x, chosen[1] or y, owner, axes)


def frame_of_pad(pad: Any) -> Frame | None:
    """Return the limits of the first object with axes on a pad; None if there is none."""
    with np.errstate(all="ignore"):
        frames = (frame_of(thing, option, pad) for thing, option in pad._primitives)
        return next((frame for frame in frames if frame is not None), None)


def frame_of(thing: Any, option: str, pad: Any) -> Frame | None:
    """Return the limits of an object; None if it has no axes of its own."""
    if hasattr(thing, "_frame"):
        found: Frame | None = thing._frame(option, pad)
        return found
    if hasattr(thing, "to_hist"):
        return _frame_of_histogram(thing, option, pad)
    if hasattr(thing, "points"):
        return _frame_of_graph(thing, pad)
    return None


_LARGEST = 1e100
"""Of limits: matplotlib squares them."""


def usable(limits: Limits, *, is_log: bool = False) -> Limits:
    """Return finite limits that differ: contents may be anything."""
    low, high = (min(max(0.0 if np.isnan(each) else each, -_LARGEST), _LARGEST) for each in limits)
    if is_log:
        low, high = _positive((low, high))
    return (low, high) if low < high else (low, low + (abs(low) or 1.0))


def _positive(limits: Limits) -> Limits:
    """Return limits for a logarithmic scale."""
    low, high = limits
    high = high if high > 0 else 1.0
    return max(low if low > 0 else high / 1000, 1 / _LARGEST), high
