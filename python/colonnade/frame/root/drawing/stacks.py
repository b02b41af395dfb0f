"""Histograms above each other, `THStack`, and graphs with shared axes, `TMultiGraph`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from colonnade.errors import UsageError
from colonnade.frame.histograms import split_title
from colonnade.frame.root.histograms import AxisView, GraphView, HistogramView, refuse

from .frames import Frame, Option, frame_of_graphs, spreads
from .graphs import paint_graph
from .histograms import paint_histogram

__all__ = ["THStack", "TMultiGraph"]


class _Several:
    """Objects that are drawn together."""

    def __init__(self, name: str = "", title: str = "") -> None:
        """Make it without members: a name, and a title with those of the axes behind semicolons."""
        self._name, self._title = str(name), str(title)
        self._members: list[tuple[Any, str]] = []
        self._limits: tuple[float | None, float | None] = (None, None)
        self._views: dict[int, AxisView] = {}

    def GetName(self) -> str:
        """Return the name."""
        return self._name

    def SetName(self, name: str) -> None:
        """Change the name."""
        self._name = str(name)

    def GetTitle(self) -> str:
        """Return the title."""
        return split_title(self._title)[0]

    def SetTitle(self, title: str) -> None:
        """Change the title, and those of the axes that follow it behind semicolons."""
        self._title = str(title)
        self._views.clear()

    def SetMinimum(self, minimum: float = -1111) -> None:
        """Set the beginning of the second axis; -1111 for none."""
        self._limits = (None if minimum == -1111 else float(minimum), self._limits[1])

    def SetMaximum(self, maximum: float = -1111) -> None:
        """Set the end of the second axis; -1111 for none."""
        self._limits = (self._limits[0], None if maximum == -1111 else float(maximum))

    def Draw(self, option: str = "") -> None:
        """Put it on the current pad, in place of what is there unless the option has "SAME"."""
        from .pads import draw

        draw(self, option)

    def _has_own_frame(self, words: str) -> bool:
        return "SAME" not in words

    def _view(self, number: int) -> AxisView:
        if number not in self._views:
            labels = split_title(self._title)[1]
            title = labels[number] if number < len(labels) else ""
            self._views[number] = AxisView(self._edges(number), title, regular=True)
        return self._views[number]

    def _edges(self, number: int) -> Any:
        return np.array([0.0, 1.0])

    def GetXaxis(self) -> AxisView:
        """Return the first axis, for titles, ranges and looks."""
        return self._view(0)

    def GetYaxis(self) -> AxisView:
        """Return the second axis, for titles, limits and looks."""
        axis = self._view(1)
        axis._on_limits = lambda low, high: setattr(self, "_limits", (float(low), float(high)))
        return axis

    def __getattr__(self, name: str) -> Any:
        refuse(f"a {type(self).__name__} of colonnade.root", name, "the methods that docs/root.md names")


class THStack(_Several):
    """Histograms of which each begins where the one below it ends."""

    def Add(self, histogram: HistogramView, option: str = "") -> None:
        """Put a histogram on top.

        Raises:
            UsageError: it has other bins than those below, or more than one axis.
        """
        view = getattr(histogram, "GetPtr", lambda: histogram)()
        if not isinstance(view, HistogramView) or len(view._axes) != 1:
            raise UsageError(f"{view!r} cannot be stacked", "histograms with one axis")
        first = self._members[0][0] if self._members else view
        ours, theirs = first._axes[0]._edges, view._axes[0]._edges
        if len(ours) != len(theirs) or not np.allclose(ours, theirs, rtol=1e-12, atol=0):
            raise UsageError(
                f"'{view.GetName()}' has {len(theirs) - 1} bins from {theirs[0]} to {theirs[-1]}, the stack has "
                f"{len(ours) - 1} from {ours[0]} to {ours[-1]}",
                "histograms with the same axis",
            )
        self._members.append((view, option))
        self._views.pop(0, None)

    def GetHists(self) -> list[HistogramView]:
        """Return the histograms, the lowest first."""
        return [view for view, _ in self._members]

    def GetNhists(self) -> int:
        """Return the number of histograms."""
        return len(self._members)

    def GetStack(self) -> _Sums:
        """Return the sums: the first histogram, that with the second, and so on; with `Last()`."""
        sums: list[HistogramView] = []
        for view in self.GetHists():
            made = view.Clone()
            if sums:
                made.Add(sums[-1])
            sums.append(made)
        return _Sums(sums)

    def GetHistogram(self) -> THStack:
        """Return what has the axes: itself."""
        return self

    def _edges(self, number: int) -> Any:
        if number or not self._members:
            return np.array([0.0, 1.0])
        axis = self._members[0][0].GetXaxis()
        return np.array([axis.GetBinLowEdge(k) for k in range(1, axis.GetNbins() + 2)])

    def _painted(self, option: Option) -> list[HistogramView]:
        return self.GetHists() if "NOSTACK" in option else list(self.GetStack())

    def GetMaximum(self, option: str = "") -> float:
        """Return the largest content of the sums, or of the histograms with the option "nostack"; "e" adds errors."""
        chosen = Option(option)
        tops = (_with_errors(view, chosen, 1) for view in self._painted(chosen))
        return max((float(np.max(top)) for top in tops), default=0.0)

    def GetMinimum(self, option: str = "") -> float:
        """Return the smallest content of the highest sum, or of the histograms with the option "nostack".

        The option "e" takes errors away.
        """
        chosen = Option(option)
        feet = (_with_errors(view, chosen, -1) for view in self._outermost(chosen))
        return min((float(np.min(foot)) for foot in feet), default=0.0)

    def _outermost(self, option: Option) -> list[HistogramView]:
        """The highest sum, or all histograms if they are not stacked."""
        painted = self._painted(option)
        return painted if "NOSTACK" in option else painted[-1:]

    def _frame(self, text: str, pad: Any) -> Frame:
        x_axis = self._view(0)
        x = (x_axis.GetBinLowEdge(x_axis.GetFirst()), x_axis.GetBinUpEdge(x_axis.GetLast()))
        y = self._logarithmic(text) if pad._log["y"] else self._linear(text)
        y = y if y[0] < y[1] else (y[0], y[0] + 1)
        return Frame(x, y, self, (x_axis, self.GetYaxis()))

    def _linear(self, text: str) -> tuple[float, float]:
        low, high = self.GetMinimum(text), self.GetMaximum(text)
        minimum, maximum = self._limits
        return min(low, 0.0) if minimum is None else minimum, 1.05 * high if maximum is None else maximum

    def _logarithmic(self, text: str) -> tuple[float, float]:
        option = Option(text)
        is_exact = "NOSTACK" in option
        contents = [_with_errors(view, option, -1) for view in self._outermost(option)]
        smallest = min((float(each[each > 0].min(initial=math.inf)) for each in contents), default=math.inf)
        minimum, maximum = self._limits
        low = minimum if minimum is not None else 0.9 * smallest if smallest < math.inf else 0.01
        high = maximum if maximum is not None else self.GetMaximum(text)
        high = high if high > 0 else 10.0
        low = low if low > 0 else high / 1000
        below, above = spreads(low, high)
        return (
            low if minimum is not None and is_exact else below,
            high if maximum is not None and is_exact else above,
        )

    def _paint(self, text: str, area: Any) -> None:
        option = Option(text)
        rest = " ".join(sorted(option.words - {"NOSTACK", "NOSTACKB", "SAME", "PADS"}))
        painted = self._painted(option)
        if "NOSTACK" not in option:
            painted.reverse()  # the lower ones above the sums
            members = list(reversed(self._members))
        else:
            members = self._members
        for view, (original, own) in zip(painted, members, strict=True):
            view._style = original._style
            paint_histogram(view, f"SAME {own or rest}", area)


def _with_errors(view: HistogramView, option: Option, sign: int) -> Any:
    """The contents of bins, with their errors added or taken away if the option shows them."""
    contents = view._inner(view._contents())
    return contents + sign * np.sqrt(view._inner(view._squared_errors())) if option.has_errors() else contents


class _Sums(list[HistogramView]):
    """The sums of a stack."""

    def Last(self) -> HistogramView:
        """Return the sum of all histograms."""
        return self[-1]

    def At(self, number: int) -> HistogramView:
        """Return the sum up to a histogram."""
        return self[number]


class TMultiGraph(_Several):
    """Graphs with shared axes."""

    def Add(self, graph: GraphView, option: str = "") -> None:
        """Add a graph, with an option of its own if it has one."""
        view = getattr(graph, "GetPtr", lambda: graph)()
        if not isinstance(view, GraphView):
            raise UsageError(f"{graph!r} is no graph")
        self._members.append((view, option))

    def GetListOfGraphs(self) -> list[GraphView]:
        """Return the graphs."""
        return [view for view, _ in self._members]

    GetHists = GetListOfGraphs

    def _has_own_frame(self, words: str) -> bool:
        return "A" in words.replace("SAME", "")

    def _frame(self, text: str, pad: Any) -> Frame | None:
        if not self._has_own_frame(text.upper()) and pad._primitives[0][0] is not self:
            return None
        return frame_of_graphs(self, self.GetListOfGraphs(), pad)

    def _paint(self, text: str, area: Any) -> None:
        for view, own in self._members:
            paint_graph(view, own or text, area)
