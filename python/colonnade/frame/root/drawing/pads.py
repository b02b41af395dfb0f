"""Canvases and pads: what is drawn is kept, with its options, and painted when a picture is saved."""

from __future__ import annotations

import math
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from colonnade.errors import UnsupportedError, UsageError
from colonnade.frame.root.styles import styled

from .style import gStyle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TCanvas", "TPad", "current", "draw", "is_beside"]

_FORMATS = ("png", "pdf", "svg", "eps", "ps", "jpg", "jpeg", "tiff", "webp", "gif")
_state: dict[str, Any] = {"pad": None}
_canvases: WeakValueDictionary[str, TCanvas] = WeakValueDictionary()


def current() -> TPad | None:
    """Return the current pad, `gPad`; None before there is a canvas."""
    pad: TPad | None = _state["pad"]
    return pad


def draw(thing: Any, option: str = "") -> None:
    """Put an object on the current pad, of a new canvas if there is none."""
    pad = current() or TCanvas()
    pad._add(thing, option)


def is_beside(thing: Any, option: str) -> bool:
    """Whether an object is drawn beside what is there, instead of replacing it."""
    words = option.upper()
    if hasattr(thing, "_has_own_frame"):
        return not thing._has_own_frame(words)
    if hasattr(thing, "to_hist"):
        return "SAME" in words
    return "A" not in words.replace("SAME", "") if hasattr(thing, "points") else True


class _PadFrame:
    """The frame of a pad: what scripts set has no effect, see `gStyle`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("Set") or name == "Draw":
            return lambda *_: None
        raise AttributeError(f"the frame of a pad has no {name}")


@styled("pad")
class TPad:
    """A part of a canvas, with a frame of its own."""

    _style: dict[str, Any] = {}  # noqa: RUF012 (replaced, never changed)

    def __init__(
        self,
        name: str = "",
        title: str = "",
        xlow: float = 0,
        ylow: float = 0,
        xup: float = 1,
        yup: float = 1,
        color: int = -1,
        bordersize: int = -1,
        bordermode: int = -2,
    ) -> None:
        """Make a pad between corners that are fractions of the pad that it will be drawn on."""
        if not (xlow < xup and ylow < yup):
            raise UsageError(
                f"the pad '{name}' from ({xlow}, {ylow}) to ({xup}, {yup}) has no area",
                "TPad(name, title, xlow, ylow, xup, yup)",
            )
        self._name, self._title = str(name), str(title)
        self._box = (float(xlow), float(ylow), float(xup) - float(xlow), float(yup) - float(ylow))
        self._mother: TPad | None = None
        self._number = 0
        self._range = (0.0, 0.0, 1.0, 1.0)
        if color >= 0:
            self.SetFillColor(color)
        value = gStyle.value
        self._margins = {side: value(f"Pad{side}Margin") for side in ("Left", "Right", "Bottom", "Top")}
        self._log = {letter: bool(value(f"OptLog{letter}")) for letter in "xyz"}
        self._grid = {"x": bool(value("PadGridX")), "y": bool(value("PadGridY"))}
        self._ticks = {"x": int(value("PadTickX")), "y": int(value("PadTickY"))}
        self._primitives: list[tuple[Any, str]] = []

    SetFillColor: Any
    GetFillColor: Any

    # ---- What is on it

    def _add(self, thing: Any, option: str) -> None:
        option = str(option)
        if not self._primitives and not isinstance(thing, TPad):
            option = re.sub("(?i)sames?", "", option)  # the same as nothing
        if not is_beside(thing, option):
            self.Clear()
        if isinstance(thing, TPad):
            thing._mother = self
            self._primitives = [each for each in self._primitives if each[0] is not thing]
        self._primitives.append((thing, option))

    def Clear(self, option: str = "") -> None:
        """Take all objects from the pad."""
        self._primitives = []

    def Draw(self, option: str = "") -> None:
        """Put the pad on the current one; a canvas is where it is."""
        pad = current()
        if pad is None:
            pad = TCanvas()
        if pad is not self:
            pad._add(self, option)

    def GetListOfPrimitives(self) -> list[Any]:
        """Return the objects on the pad, in the order in which they were drawn."""
        return [thing for thing, _ in self._primitives]

    def GetPrimitive(self, name: str) -> Any:
        """Return the object of a name; None if there is none."""
        for thing, _ in self._primitives:
            if getattr(thing, "GetName", lambda: None)() == name:
                return thing
        return None

    def DrawFrame(self, xmin: float, ymin: float, xmax: float, ymax: float, title: str = "") -> Any:
        """Put an empty frame on the pad, and return it: a histogram whose axes have the limits."""
        from colonnade.frame.root.made import TH1F

        if not (xmin < xmax and ymin < ymax):
            raise UsageError(f"a frame from ({xmin}, {ymin}) to ({xmax}, {ymax}) has no area")
        frame = TH1F("hframe", title, 1000, xmin, xmax)
        frame.SetStats(False)
        frame.SetMinimum(ymin)
        frame.SetMaximum(ymax)
        self._add(frame, "AXIS")
        return frame

    def BuildLegend(
        self,
        x1: float = 0.3,
        y1: float = 0.21,
        x2: float = 0.3,
        y2: float = 0.21,
        title: str = "",
        option: str = "",
    ) -> Any:
        """Put a legend of all histograms and graphs on the pad, and return it."""
        from .legends import TLegend

        legend = TLegend(x1, y1, x2, y2, title) if x1 != x2 and y1 != y2 else TLegend(0.3, 0.21, title)
        for thing, _ in self._primitives:
            for each in thing.GetHists() if hasattr(thing, "GetHists") else [thing]:
                if hasattr(each, "GetLineColor") and hasattr(each, "GetTitle"):
                    legend.AddEntry(each, each.GetTitle() or each.GetName(), option or "lpf")
        self._add(legend, "")
        return legend

    # ---- Pads on it

    def Divide(
        self, nx: int = 1, ny: int = 1, xmargin: float = 0.01, ymargin: float = 0.01, color: int = 0
    ) -> None:
        """Put `nx` times `ny` pads on it, numbered from 1, row by row from the top."""
        if nx < 1 or ny < 1:
            raise UsageError(f"a pad cannot be divided into {nx} times {ny}", "Divide(2, 1)")
        width, height = 1 / nx, 1 / ny
        for number in range(nx * ny):
            row, column = divmod(number, nx)
            left, top = column * width, 1 - row * height
            pad = TPad(
                f"{self._name}_{number + 1}",
                "",
                left + xmargin,
                top - height + ymargin,
                left + width - xmargin,
                top - ymargin,
                color,
            )
            pad._number = number + 1
            self._add(pad, "")

    def DivideSquare(self, count: int, xmargin: float = 0.01, ymargin: float = 0.01, color: int = 0) -> None:
        """Put at least so many pads on it, in as many rows as columns or one more."""
        columns = max(int(count**0.5), 1)
        while columns * columns < count:
            columns += 1
        self.Divide(columns, -(-max(count, 1) // columns), xmargin, ymargin, color)

    def _pads(self) -> list[TPad]:
        return [thing for thing, _ in self._primitives if isinstance(thing, TPad)]

    def GetPad(self, number: int) -> TPad | None:
        """Return the pad of a number; None if there is none."""
        if number == 0:
            return self
        return next((pad for pad in self._pads() if pad._number == number), None)

    def cd(self, number: int = 0) -> TPad:
        """Make it the current pad, or the one of a number on it, and return that.

        Raises:
            UsageError: there is no pad of that number.
        """
        pad = self.GetPad(int(number))
        if pad is None:
            raise UsageError(f"the pad '{self._name}' has no pad {number}", "Divide(columns, rows) first")
        _state["pad"] = pad
        return pad

    def SetNumber(self, number: int) -> None:
        """Give the pad a number, for `cd` of the pad that it is on."""
        self._number = int(number)

    def GetNumber(self) -> int:
        """Return the number among the pads of a pad."""
        return self._number

    def GetMother(self) -> TPad | None:
        """Return the pad that it is on; None for a canvas."""
        return self._mother

    def GetCanvas(self) -> TPad:
        """Return the canvas that it is on."""
        return self._mother.GetCanvas() if self._mother else self

    def SetPad(self, *corners: Any) -> None:
        """Move the pad: xlow, ylow, xup, yup, behind a name and a title if these are given."""
        xlow, ylow, xup, yup = (float(each) for each in [c for c in corners if not isinstance(c, str)][:4])
        self._box = (xlow, ylow, xup - xlow, yup - ylow)

    # ---- How it looks

    def GetName(self) -> str:
        """Return the name."""
        return self._name

    def GetTitle(self) -> str:
        """Return the title."""
        return self._title

    def SetName(self, name: str) -> None:
        """Change the name."""
        self._name = str(name)

    def SetTitle(self, title: str = "") -> None:
        """Change the title, which is not painted."""
        self._title = str(title)

    def SetMargin(self, left: float, right: float, bottom: float, top: float) -> None:
        """Change all margins, as fractions of the pad."""
        self._margins = {"Left": left, "Right": right, "Bottom": bottom, "Top": top}

    def SetGrid(self, x: int = 1, y: int = 1) -> None:
        """Let lines run through the ticks of the axes."""
        self._grid = {"x": bool(x), "y": bool(y)}

    def SetTicks(self, x: int = 1, y: int = 1) -> None:
        """Let the opposite sides have ticks, too; 2 with labels."""
        self._ticks = {"x": int(x), "y": int(y)}

    def GetXlowNDC(self) -> float:
        """Return the left edge, as a fraction of the pad that it is on."""
        return self._box[0]

    def GetYlowNDC(self) -> float:
        """Return the lower edge, as a fraction of the pad that it is on."""
        return self._box[1]

    def GetWNDC(self) -> float:
        """Return the width, as a fraction of the pad that it is on."""
        return self._box[2]

    def GetHNDC(self) -> float:
        """Return the height, as a fraction of the pad that it is on."""
        return self._box[3]

    def GetAbsWNDC(self) -> float:
        """Return the width, as a fraction of the canvas."""
        return self._box[2] * (self._mother.GetAbsWNDC() if self._mother else 1.0)

    def GetAbsHNDC(self) -> float:
        """Return the height, as a fraction of the canvas."""
        return self._box[3] * (self._mother.GetAbsHNDC() if self._mother else 1.0)

    def GetWw(self) -> int:
        """Return the width of the canvas in pixels."""
        return self.GetCanvas()._pixels()[0]

    def GetWh(self) -> int:
        """Return the height of the canvas in pixels."""
        return self.GetCanvas()._pixels()[1]

    GetWindowWidth, GetWindowHeight = GetWw, GetWh

    def Range(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Set the coordinates of the corners, which hold where no frame has others."""
        self._range = (float(x1), float(y1), float(x2), float(y2))

    def _limit(self, axis: str, which: int) -> float:
        from .frames import frame_of_pad

        frame = frame_of_pad(self)
        if frame is None:
            return self._range[{"x": 0, "y": 1}[axis] + 2 * which]
        value = float(getattr(frame, axis)[which])
        return math.log10(value) if self._log[axis] and value > 0 else value

    def GetUxmin(self) -> float:
        """Return the left limit of the frame; its logarithm where the axis has a logarithmic scale."""
        return self._limit("x", 0)

    def GetUxmax(self) -> float:
        """Return the right limit of the frame; see `GetUxmin`."""
        return self._limit("x", 1)

    def GetUymin(self) -> float:
        """Return the lower limit of the frame; see `GetUxmin`."""
        return self._limit("y", 0)

    def GetUymax(self) -> float:
        """Return the upper limit of the frame; see `GetUxmin`."""
        return self._limit("y", 1)

    def GetFrame(self) -> _PadFrame:
        """Return the box of the axes, which has no looks of its own."""
        return _PadFrame()

    def Update(self) -> None:
        """Do nothing: what is drawn is painted when a picture is saved."""

    def Modified(self, flag: bool = True) -> None:
        """Do nothing: see `Update`."""

    def RedrawAxis(self, option: str = "") -> None:
        """Do nothing: axes are painted above all else."""

    def SetEditable(self, mode: bool = True) -> None:
        """Do nothing: there are no windows."""

    SetBorderMode = SetBorderSize = SetFrameBorderMode = SetFrameBorderSize = SetBit = SetCrosshair = Update
    SetFrameFillStyle = SetFrameFillColor = SetFrameLineColor = SetFrameLineWidth = SetHighLightColor = Update
    SetFixedAspectRatio = SetSelected = ResetBit = SetObjectStat = SetFeedbackMode = Connect = Update

    def __getattr__(self, name: str) -> Any:
        for kind, table in (("Log", "_log"), ("Grid", "_grid"), ("Tick", "_ticks")):
            letter = name[3 + len(kind) :]
            if name[:3] in ("Set", "Get") and name[3 : 3 + len(kind)] == kind and letter in ("x", "y", "z"):
                kept = self.__dict__[table]
                return _setter(kept, letter, 1) if name[0] == "S" else partial(_whole, kept, letter)
        if name.endswith("Margin") and name[3:-6] in ("Left", "Right", "Bottom", "Top"):
            kept = self.__dict__["_margins"]
            return _setter(kept, name[3:-6], 0.1) if name[0] == "S" else lambda: float(kept[name[3:-6]])
        from colonnade.frame.root.histograms import refuse

        return refuse(
            f"a {type(self).__name__} of colonnade.root", name, "the methods that docs/root.md names"
        )

    # ---- Pictures

    def figure(self) -> Figure:
        """Return the picture as a figure of matplotlib.

        Raises:
            UnsupportedError: matplotlib is not installed, or something on the pad cannot be painted as asked.
        """
        from .painting import figure_of

        return figure_of(self)

    def _pixels(self) -> tuple[int, int]:
        """The width and the height in pixels."""
        if self._mother is None:
            return max(int(700 * self._box[2]), 1), max(int(500 * self._box[3]), 1)
        width, height = self._mother._pixels()
        return max(round(width * self._box[2]), 1), max(round(height * self._box[3]), 1)

    def SaveAs(self, filename: str | os.PathLike[str] = "", option: str = "") -> None:
        """Save the picture: png, pdf, svg, eps, ps, jpg and others that matplotlib writes; see `Print`."""
        self.Print(filename, option)

    def Print(self, filename: str | os.PathLike[str] = "", option: str = "") -> None:
        """Save the picture in the format of the ending of the name; without a name as "NAME.ps".

        Pages of one PDF are written as in ROOT: "f.pdf(" begins the file, "f.pdf" adds a page while it is begun,
        "f.pdf)" adds the last one; "f.pdf[" and "f.pdf]" begin and end it without a page.

        Raises:
            UnsupportedError: the format is another one, or matplotlib is not installed.
            StorageError: the file cannot be written.
        """
        path = os.fspath(filename) or f"{self._name or 'pad'}.ps"
        from .pages import save

        ending = path.rstrip("()[]").rpartition(".")[2].lower()
        if "." not in Path(path).name or ending not in _FORMATS:
            raise UnsupportedError(
                f"pictures cannot be saved as '{path}'",
                f"a name with one of the endings {', '.join(_FORMATS)}",
            )
        save(self, path, ending)

    def _repr_png_(self) -> bytes:
        """Show the picture in a notebook."""
        from .painting import saved

        return saved(self, format="png").getvalue()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self._name}': {len(self._primitives)} objects>"


def _whole(kept: dict[str, Any], key: str) -> int:
    return int(kept.get(key, 0))


def _setter(kept: dict[str, Any], key: str, preset: Any) -> Any:
    def set_it(value: Any = preset) -> None:
        kept[key] = float(value) if isinstance(preset, float) else int(value)

    return set_it


class TCanvas(TPad):
    """A picture: `TCanvas("c", "title", 800, 600)`. The pad that is current then."""

    def __init__(self, name: Any = "", title: Any = "", *sizes: int) -> None:
        """Make a canvas of a width and a height, behind the place of its window if four numbers are given.

        A picture is 4 pixels narrower and 28 lower, as ROOT's is.
        """
        width, height = gStyle.value("CanvasDefW"), gStyle.value("CanvasDefH")
        if len(sizes) == 2:
            width, height = sizes
        elif len(sizes) == 4:
            width, height = sizes[2:]
        elif len(sizes) > 1:
            raise UsageError(
                "the arguments of TCanvas are wrong", 'ROOT.TCanvas("name", "title", width, height)'
            )
        if int(width) < 0:  # without a menu
            width = -int(width)
        if int(width) < 10 or int(height) < 40:
            raise UsageError(f"a canvas of {width} times {height} pixels has no area")
        if not isinstance(name, str) or not name:
            name = _free_name()
        super().__init__(name, str(title) if title else name if len(sizes) == 0 and not title else "")
        self._size = (int(width) - 4, int(height) - 28)
        self.SetFillColor(gStyle.value("CanvasColor"))
        _canvases[name] = self
        _state["pad"] = self

    def _pixels(self) -> tuple[int, int]:
        return self._size

    def SetCanvasSize(self, width: int, height: int) -> None:
        """Change the size of the picture, in pixels."""
        self._size = (int(width), int(height))

    def SetWindowSize(self, width: int, height: int) -> None:
        """Change the size of the window, which is 4 pixels wider and 28 higher than the picture."""
        self._size = (int(width) - 4, int(height) - 28)

    def Draw(self, option: str = "") -> None:
        """Make it the current pad."""
        _state["pad"] = self

    def Close(self, option: str = "") -> None:
        """Forget the canvas."""
        _canvases.pop(self._name, None)
        pad = current()
        if pad is not None and pad.GetCanvas() is self:
            _state["pad"] = None


def _free_name() -> str:
    number = 1
    while (name := "c1" if number == 1 else f"c1_n{number}") in _canvases:
        number += 1
    return name
