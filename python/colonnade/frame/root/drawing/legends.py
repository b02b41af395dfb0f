"""Legends: what the objects of a picture are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colonnade.errors import UsageError
from colonnade.frame.root.styles import styled

from . import looks
from .style import gStyle
from .texts import _Paved

__all__ = ["TLegend"]


_ACROSS = {2: "center", 3: "right"}
"""Where texts lie in their part of a column."""


@dataclass
class _Entry:
    """A line of a legend: what it names, its text, and what is painted of the object: "lpfe"."""

    thing: Any
    label: str
    option: str

    def SetLabel(self, label: str) -> None:
        """Change the text."""
        self.label = str(label)

    def GetLabel(self) -> str:
        """Return the text."""
        return self.label

    def GetObject(self) -> Any:
        """Return the object."""
        return self.thing

    def SetOption(self, option: str) -> None:
        """Change what is painted of the object: "l", "p", "f", "e"."""
        self.option = str(option)


@styled("legend")
class TLegend(_Paved):
    """A box with a line for each object: what it looks like, and a text."""

    def __init__(self, *arguments: Any) -> None:
        """Make a legend between two corners, or of a width and a height, at the upper right; then a header, an option.

        Corners are fractions of the pad unless the option, "brNDC", has no "NDC".
        """
        numbers = [each for each in arguments if not isinstance(each, str)]
        texts = [each for each in arguments if isinstance(each, str)]
        if len(numbers) not in (0, 2, 4) or len(texts) > 2:
            raise UsageError("the arguments of TLegend are wrong", "TLegend(x1, y1, x2, y2, header)")
        if len(numbers) == 2:
            numbers = [0.88 - numbers[0], 0.88 - numbers[1], 0.88, 0.88]
        x1, y1, x2, y2 = numbers or (0.6, 0.67, 0.88, 0.88)
        super().__init__((x1, y1, x2, y2), texts[1] if len(texts) > 1 else "brNDC")
        self._border = gStyle.value("LegendBorderSize")
        self._entries: list[_Entry] = []
        self._header = texts[0] if texts else ""
        self._is_centered = False
        self._columns = 1
        self._share = 0.25
        self._style = {
            name: gStyle.value(f"Legend{rest}")
            for name, rest in (("FillColor", "FillColor"), ("TextFont", "Font"), ("TextSize", "TextSize"))
        }

    def AddEntry(self, thing: Any, label: str | None = None, option: str = "lpf") -> _Entry:
        """Add a line for an object, or for the one of a name on the current pad, and return it.

        Args:
            thing: a histogram, a graph, a line, ...; None or a name that is not there for a text alone.
            label: the text; by default the title of the object.
            option: what is painted: "l" a line, "p" a marker, "f" a filled box, "e" an error bar.
        """
        from .pads import current

        name = thing if isinstance(thing, str) else None
        if name is not None:
            pad = current()
            thing = pad.GetPrimitive(name) if pad is not None and name else None
        thing = getattr(thing, "GetPtr", lambda: thing)() if thing is not None else None
        if label is None or (label == "" and thing is not None and name is None):
            label = thing.GetTitle() if thing is not None else name or ""
        entry = _Entry(thing, str(label), str(option).lower())
        self._entries.append(entry)
        return entry

    def SetHeader(self, header: str = "", option: str = "") -> None:
        """Set the first line, without an object; centered with the option "C"."""
        self._header, self._is_centered = str(header), "C" in option.upper()

    def GetHeader(self) -> str:
        """Return what `SetHeader` set."""
        return self._header

    def SetNColumns(self, columns: int) -> None:
        """Let the entries stand in columns, row by row."""
        if columns < 1:
            raise UsageError(f"a legend cannot have {columns} columns")
        self._columns = int(columns)

    def GetNColumns(self) -> int:
        """Return the number of columns."""
        return self._columns

    def GetNRows(self) -> int:
        """Return the number of rows, that of the header included."""
        return -(-len(self._entries) // self._columns) + bool(self._header)

    def SetMargin(self, margin: float) -> None:
        """Set the share of a column that the objects have: 0.25."""
        self._share = float(margin)

    def SetEntrySeparation(self, separation: float) -> None:
        """Do nothing: rows share the height."""

    SetColumnSeparation = SetCornerRadius = SetEntrySeparation

    def GetListOfPrimitives(self) -> list[_Entry]:
        """Return the entries."""
        return list(self._entries)

    def Clear(self, option: str = "") -> None:
        """Take all entries from the legend."""
        self._entries = []

    def SetX1NDC(self, value: float) -> None:
        """Move the left edge."""
        self._corners = (float(value), *self._corners[1:])

    def SetY1NDC(self, value: float) -> None:
        """Move the lower edge."""
        self._corners = (self._corners[0], float(value), *self._corners[2:])

    def SetX2NDC(self, value: float) -> None:
        """Move the right edge."""
        self._corners = (*self._corners[:2], float(value), self._corners[3])

    def SetY2NDC(self, value: float) -> None:
        """Move the upper edge."""
        self._corners = (*self._corners[:3], float(value))

    SetX1, SetY1, SetX2, SetY2 = SetX1NDC, SetY1NDC, SetX2NDC, SetY2NDC

    # ---- Painting

    def _paint(self, option: str, area: Any) -> None:
        corners = self._pave(area)
        rows = self.GetNRows()
        if rows == 0:
            return
        left, bottom, right, top = corners
        step, width = (top - bottom) / rows, (right - left) / self._columns
        size = self.GetTextSize() or min(0.8 * step, 0.045)
        texts = []
        if self._header:
            x = (left + right) / 2 if self._is_centered else left + 0.3 * self._share * width
            texts.append(
                self._text(
                    area, x, top - step / 2, self._header, size, "center" if self._is_centered else "left"
                )
            )
        for number, entry in enumerate(self._entries):
            row, column = divmod(number, self._columns)
            y = top - (row + bool(self._header) + 0.5) * step
            begin = left + column * width
            self._symbol(area, entry, (begin, y, self._share * width, step))
            at = begin + self._share * width if entry.thing is not None or entry.option else begin
            if (across := _ACROSS.get(self.GetTextAlign() // 10, "left")) != "left":
                end = begin + 0.98 * width
                at = end if across == "right" else (at + end) / 2
            texts.append(self._text(area, at, y, entry.label, size, across))
        if not self.GetTextSize():
            _shrink(texts, area, (1 - self._share) * width)

    def _text(self, area: Any, x: float, y: float, text: str, size: float, across: str) -> Any:
        return area.text(x, y, text, self.GetTextFont(), size, self.GetTextColor(), ha=across, va="center")

    def _symbol(self, area: Any, entry: _Entry, place: tuple[float, float, float, float]) -> None:
        """Paint what an object looks like, in the middle of a place: left, middle, width and height."""
        from matplotlib.lines import Line2D

        thing, (left, y, width, height) = entry.thing, place
        if thing is None:
            return
        x1, x2 = left + 0.15 * width, left + 0.85 * width
        shared: dict[str, Any] = {"transform": area.fractions, "clip_on": False}
        has = {letter: letter in entry.option for letter in "lpfe"}
        if has["f"] and hasattr(thing, "GetFillColor"):
            box = (x1, y - 0.35 * height, x2, y + 0.35 * height)
            if looks.is_filled(thing):
                area.rectangle(box, **looks.fill(thing))
            area.outline(box, thing)
        if has["l"] and hasattr(thing, "GetLineColor") and not has["f"]:
            line = looks.line(thing, area.points)
            area.axes.add_line(Line2D([x1, x2], [y, y], zorder=area.next_order(), **line, **shared))
        if has["e"] and hasattr(thing, "GetLineColor"):
            line = looks.line(thing, area.points)
            middle, half = (x1 + x2) / 2, 0.35 * height
            area.axes.add_line(
                Line2D([middle] * 2, [y - half, y + half], zorder=area.next_order(), **line, **shared)
            )
        if has["p"] and hasattr(thing, "GetMarkerColor"):
            marker = looks.marker(thing, area.points)
            area.axes.add_line(
                Line2D([(x1 + x2) / 2], [y], linestyle="none", zorder=area.next_order(), **marker, **shared)
            )


def _shrink(texts: list[Any], area: Any, room: float) -> None:
    """Make texts as small as the widest of them needs."""
    renderer = area.figure.canvas.get_renderer()
    widest = max((text.get_window_extent(renderer).width for text in texts), default=0.0)
    allowed = 0.95 * room * area.width
    if widest > allowed > 0:
        for text in texts:
            text.set_fontsize(text.get_fontsize() * allowed / widest)
