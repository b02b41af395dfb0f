"""Texts, lines, arrows and boxes on pads."""

from __future__ import annotations

from typing import Any

from colonnade.errors import UsageError
from colonnade.frame.root.styles import styled

from . import looks
from .style import gStyle

__all__ = ["TArrow", "TBox", "TEllipse", "TLatex", "TLine", "TMarker", "TPaveLabel", "TPaveText", "TText"]


class _Drawable:
    """What is put beside other objects on a pad."""

    _style: dict[str, Any] = {}  # noqa: RUF012 (replaced, never changed)
    _name = ""
    _is_fraction = False
    """Whether coordinates are fractions of the pad, instead of those of its axes."""

    def Draw(self, option: str = "") -> None:
        """Put it on the current pad."""
        from .pads import draw

        draw(self, option)

    def SetName(self, name: str) -> None:
        """Give it a name, for `GetPrimitive` of a pad."""
        self._name = str(name)

    def GetName(self) -> str:
        """Return the name; "" without one."""
        return self._name

    def SetBit(self, *_: Any) -> None:
        """Do nothing: there are no windows."""

    ResetBit = SetDrawOption = SetShadowColor = SetBit

    def SetNDC(self, isNDC: bool = True) -> None:
        """Let coordinates be fractions of the pad."""
        self._is_fraction = bool(isNDC)

    def _has_own_frame(self, words: str) -> bool:
        return False

    def _frame(self, option: str, pad: Any) -> None:
        return None

    def _transform(self, area: Any) -> Any:
        return area.fractions if self._is_fraction else area.axes.transData

    def _drawn(self, other: Any, *, is_fraction: bool) -> Any:
        """Put another object with the same looks on the pad, and return it."""
        other._style, other._is_fraction = self._style, is_fraction or self._is_fraction
        other.Draw()
        return other

    def __getattr__(self, name: str) -> Any:
        from colonnade.frame.root.histograms import refuse

        refuse(f"a {type(self).__name__} of colonnade.root", name, "the methods that docs/root.md names")


def _aligned(align: int) -> dict[str, str]:
    """Return where a text lies: ROOT's ten times 1 to 3 from the left, and 1 to 3 from the bottom."""
    across = {1: "left", 2: "center", 3: "right"}.get(align // 10, "left")
    return {"ha": across, "va": {1: "baseline", 2: "center", 3: "top"}.get(align % 10, "baseline")}


@styled("text")
class TText(_Drawable):
    """A text at a place, as it is written."""

    GetTextFont: Any
    GetTextSize: Any
    GetTextColor: Any
    GetTextAlign: Any
    GetTextAngle: Any
    _is_plain = True

    def __init__(self, x: float = 0, y: float = 0, text: str = "") -> None:
        """Make a text at a place."""
        self._style = gStyle.of_texts()
        self._x, self._y, self._text = float(x), float(y), str(text)

    def DrawText(self, x: float, y: float, text: str) -> Any:
        """Put a text with the looks of this one on the pad, and return it."""
        return self._drawn(type(self)(x, y, text), is_fraction=False)

    def DrawTextNDC(self, x: float, y: float, text: str) -> Any:
        """Put a text on the pad at fractions of it, and return it."""
        return self._drawn(type(self)(x, y, text), is_fraction=True)

    def SetText(self, x: float, y: float, text: str) -> None:
        """Change the place and the text."""
        self._x, self._y, self._text = float(x), float(y), str(text)

    def SetTitle(self, text: str = "") -> None:
        """Change the text."""
        self._text = str(text)

    def GetTitle(self) -> str:
        """Return the text."""
        return self._text

    def _paint(self, option: str, area: Any) -> None:
        area.text(
            self._x,
            self._y,
            self._text,
            self.GetTextFont(),
            self.GetTextSize() or 0.05,
            self.GetTextColor(),
            transform=self._transform(area),
            rotation=self.GetTextAngle(),
            is_plain=self._is_plain,
            **_aligned(int(self.GetTextAlign())),
        )


class TLatex(TText):
    """A text with formulas: "#mu_{1}^{2}"."""

    _is_plain = False

    def DrawLatex(self, x: float, y: float, text: str) -> Any:
        """Put a text with the looks of this one on the pad, and return it."""
        return self.DrawText(x, y, text)

    def DrawLatexNDC(self, x: float, y: float, text: str) -> Any:
        """Put a text on the pad at fractions of it, and return it."""
        return self.DrawTextNDC(x, y, text)


@styled("line")
class TLine(_Drawable):
    """A line between two points."""

    def __init__(self, x1: float = 0, y1: float = 0, x2: float = 0, y2: float = 0) -> None:
        """Make a line between two points."""
        self._points = [float(each) for each in (x1, y1, x2, y2)]

    def DrawLine(self, x1: float, y1: float, x2: float, y2: float) -> Any:
        """Put a line with the looks of this one on the pad, and return it."""
        return self._drawn(type(self)(x1, y1, x2, y2), is_fraction=False)

    def DrawLineNDC(self, x1: float, y1: float, x2: float, y2: float) -> Any:
        """Put a line on the pad between fractions of it, and return it."""
        return self._drawn(type(self)(x1, y1, x2, y2), is_fraction=True)

    def _paint(self, option: str, area: Any) -> None:
        from matplotlib.lines import Line2D

        x1, y1, x2, y2 = self._points
        painted = Line2D(
            [x1, x2],
            [y1, y2],
            transform=self._transform(area),
            zorder=area.next_order(),
            clip_on=False,
            **looks.line(self, area.points),
        )
        area.axes.add_line(painted)


@styled("box")
class TArrow(TLine):
    """An arrow between two points, with the option ">", "<", "|>", "<|", "<>" or "<|>"."""

    GetLineColor: Any
    GetLineWidth: Any

    def __init__(
        self,
        x1: float = 0,
        y1: float = 0,
        x2: float = 0,
        y2: float = 0,
        arrowsize: float = 0.05,
        option: str = ">",
    ) -> None:
        """Make an arrow between two points; `arrowsize` is a fraction of the height of the pad."""
        super().__init__(x1, y1, x2, y2)
        self._size, self._option = float(arrowsize), str(option)

    def DrawArrow(
        self, x1: float, y1: float, x2: float, y2: float, arrowsize: float = 0, option: str = ""
    ) -> Any:
        """Put an arrow with the looks of this one on the pad, and return it."""
        other = TArrow(x1, y1, x2, y2, arrowsize or self._size, option or self._option)
        return self._drawn(other, is_fraction=False)

    def _paint(self, option: str, area: Any) -> None:
        from matplotlib.patches import FancyArrowPatch

        ends = option.strip() or self._option
        begin = "<|" if "<|" in ends else "<" if "<" in ends else ""
        end = "|>" if "|>" in ends else ">" if ">" in ends else ""
        x1, y1, x2, y2 = self._points
        arrow = FancyArrowPatch(
            (x1, y1),
            (x2, y2),
            arrowstyle=f"{begin}-{end}",
            mutation_scale=max(self._size * area.height * area.points, 1),
            shrinkA=0,
            shrinkB=0,
            transform=self._transform(area),
            zorder=area.next_order(),
            clip_on=False,
            color=looks.color(self.GetLineColor()),
            linewidth=self.GetLineWidth() * area.points,
        )
        area.axes.add_patch(arrow)


@styled("box")
class TBox(_Drawable):
    """A rectangle between two corners."""

    def __init__(self, x1: float = 0, y1: float = 0, x2: float = 0, y2: float = 0) -> None:
        """Make a rectangle between two corners."""
        self._corners = [float(each) for each in (x1, y1, x2, y2)]

    def DrawBox(self, x1: float, y1: float, x2: float, y2: float) -> Any:
        """Put a rectangle with the looks of this one on the pad, and return it."""
        return self._drawn(type(self)(x1, y1, x2, y2), is_fraction=False)

    def _paint(self, option: str, area: Any) -> None:
        transform = self._transform(area)
        box = tuple(self._corners)
        if looks.is_filled(self):
            area.rectangle(box, transform=transform, **looks.fill(self))
        if "L" in option.upper() or not looks.is_filled(self):
            area.outline(box, self, transform=transform)


@styled("box")
class TEllipse(_Drawable):
    """An ellipse, or a circle if there is one radius."""

    def __init__(self, x1: float = 0, y1: float = 0, r1: float = 0, r2: float = 0, *_: float) -> None:
        """Make an ellipse around a point."""
        self._center, self._radii = (float(x1), float(y1)), (float(r1), float(r2 or r1))
        self._style = {"FillColor": 0}

    def _paint(self, option: str, area: Any) -> None:
        from matplotlib.patches import Ellipse

        line = looks.line(self, area.points)
        look = looks.fill(self) if looks.is_filled(self) else {"facecolor": "none"}
        look |= {"edgecolor": line["color"], "linestyle": line["linestyle"], "linewidth": line["linewidth"]}
        area.axes.add_patch(
            Ellipse(
                self._center,
                2 * self._radii[0],
                2 * self._radii[1],
                transform=self._transform(area),
                zorder=area.next_order(),
                clip_on=False,
                **look,
            )
        )


@styled("graph")
class TMarker(_Drawable):
    """A marker at a place."""

    def __init__(self, x: float = 0, y: float = 0, marker: int = 1) -> None:
        """Make a marker at a place."""
        self._place = (float(x), float(y))
        self._style = {"MarkerStyle": int(marker)}

    def DrawMarker(self, x: float, y: float) -> Any:
        """Put a marker with the looks of this one on the pad, and return it."""
        return self._drawn(type(self)(x, y), is_fraction=False)

    def _paint(self, option: str, area: Any) -> None:
        from matplotlib.lines import Line2D

        painted = Line2D(
            [self._place[0]],
            [self._place[1]],
            linestyle="none",
            transform=self._transform(area),
            zorder=area.next_order(),
            clip_on=False,
            **looks.marker(self, area.points),
        )
        area.axes.add_line(painted)


class _Paved(_Drawable):
    """A box between two corners, which are fractions of the pad if the option has "NDC"."""

    GetFillColor: Any
    GetFillStyle: Any
    GetTextFont: Any
    GetTextSize: Any
    GetTextColor: Any
    GetTextAlign: Any

    def __init__(self, corners: tuple[float, float, float, float], option: str) -> None:
        x1, y1, x2, y2 = (float(each) for each in corners)
        self._corners = (x1, y1, x2, y2)
        if x1 >= x2 or y1 >= y2:
            raise UsageError(f"a box from {corners[:2]} to {corners[2:]} has no area", "(x1, y1, x2, y2)")
        self._border = 4
        self._is_fraction = "NDC" in option.upper()

    def SetBorderSize(self, bordersize: int = 4) -> None:
        """Set the width of the border in pixels; 0 for none. Borders of more than one pixel had a shadow in ROOT."""
        self._border = int(bordersize)

    def GetBorderSize(self) -> int:
        """Return what `SetBorderSize` set."""
        return self._border

    def _pave(self, area: Any) -> tuple[float, float, float, float]:
        """Paint the box, and return its corners as fractions of the pad."""
        corners = self._corners
        if not self._is_fraction:
            points = area.axes.transData.transform([corners[:2], corners[2:]])
            (x1, y1), (x2, y2) = area.fractions.inverted().transform(points)
            corners = (x1, y1, x2, y2)
        if looks.is_filled(self) or (self.GetFillColor() == 0 and self.GetFillStyle() == 1001):
            area.rectangle(corners, **looks.fill(self))
        if self._border:
            area.outline(corners, self)
        return corners


@styled("paved text")
class TPaveText(_Paved):
    """Lines of text in a box."""

    def __init__(self, x1: float, y1: float, x2: float, y2: float, option: str = "br") -> None:
        """Make a box between two corners, fractions of the pad if the option has "NDC"."""
        super().__init__((x1, y1, x2, y2), option)
        self._lines: list[TLatex] = []

    def AddText(self, *text: Any) -> TLatex:
        """Add a line, and return it: its looks are those of the box unless they are set."""
        made = TLatex(0, 0, text[-1])
        self._lines.append(made)
        return made

    AddLine = AddText

    def GetListOfLines(self) -> list[TLatex]:
        """Return the lines."""
        return list(self._lines)

    def Clear(self, option: str = "") -> None:
        """Take all lines from the box."""
        self._lines = []

    def _paint(self, option: str, area: Any) -> None:
        left, bottom, right, top = self._pave(area)
        if not self._lines:
            return
        step = (top - bottom) / len(self._lines)
        for number, line in enumerate(self._lines):
            style = line._style
            align = int(style.get("TextAlign", self.GetTextAlign()))
            across = {1: left + 0.05 * (right - left), 3: right - 0.05 * (right - left)}.get(align // 10)
            area.text(
                (left + right) / 2 if across is None else across,
                top - (number + 0.5) * step,
                line.GetTitle(),
                int(style.get("TextFont", self.GetTextFont())),
                style.get("TextSize", self.GetTextSize()) or min(0.85 * step, 0.05),
                int(style.get("TextColor", self.GetTextColor())),
                ha=_aligned(align)["ha"],
                va="center",
            )


class TPaveLabel(TPaveText):
    """One text in a box."""

    def __init__(
        self, x1: float, y1: float, x2: float, y2: float, label: str = "", option: str = "br"
    ) -> None:
        """Make a box with a text."""
        super().__init__(x1, y1, x2, y2, option)
        self.AddText(label)

    def SetLabel(self, label: str) -> None:
        """Change the text."""
        self.Clear()
        self.AddText(label)
