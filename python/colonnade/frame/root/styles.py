"""What scripts set for pictures: colours, lines, markers, sizes of texts. It is kept, and written to files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from colonnade.errors import UsageError

__all__ = ["AXIS", "COLORS", "HISTOGRAM", "MARKERS", "PALETTES", "TColor", "styled"]

COLORS = {
    "kWhite": 0,
    "kBlack": 1,
    "kGray": 920,
    "kRed": 632,
    "kGreen": 416,
    "kBlue": 600,
    "kYellow": 400,
    "kMagenta": 616,
    "kCyan": 432,
    "kOrange": 800,
    "kSpring": 820,
    "kTeal": 840,
    "kAzure": 860,
    "kViolet": 880,
    "kPink": 900,
}
"""ROOT's numbers of colours."""
MARKERS = {
    "kDot": 1,
    "kPlus": 2,
    "kStar": 3,
    "kCircle": 4,
    "kMultiply": 5,
    "kFullDotSmall": 6,
    "kFullDotMedium": 7,
    "kFullDotLarge": 8,
    "kFullCircle": 20,
    "kFullSquare": 21,
    "kFullTriangleUp": 22,
    "kFullTriangleDown": 23,
    "kOpenCircle": 24,
    "kOpenSquare": 25,
    "kOpenTriangleUp": 26,
    "kOpenDiamond": 27,
    "kOpenCross": 28,
    "kFullStar": 29,
    "kOpenStar": 30,
    "kOpenTriangleDown": 32,
    "kFullDiamond": 33,
    "kFullCross": 34,
    "kSolid": 1,
    "kDashed": 2,
    "kDotted": 3,
    "kDashDotted": 4,
}
"""ROOT's numbers of markers, and of lines."""
PALETTES = {"kBird": 57, "kViridis": 112, "kRainBow": 55}

HISTOGRAM = {
    "LineColor": 602,
    "LineStyle": 1,
    "LineWidth": 1,
    "FillColor": 0,
    "FillStyle": 1001,
    "MarkerColor": 1,
    "MarkerStyle": 1,
    "MarkerSize": 1.0,
}
_GRAPH = {**HISTOGRAM, "LineColor": 1, "FillStyle": 1000}
AXIS = {
    "TitleSize": 0.035,
    "TitleOffset": 1.0,
    "TitleFont": 42,
    "TitleColor": 1,
    "LabelSize": 0.035,
    "LabelOffset": 0.005,
    "LabelFont": 42,
    "LabelColor": 1,
    "AxisColor": 1,
    "TickLength": 0.03,
    "Ndivisions": 510,
}
"""What ROOT has before anything is set, in single precision where it is no integer."""
_IN_VAIN = {
    "histogram": (
        *("SetStats", "SetDrawOption", "SetContour", "SetBarWidth", "SetBarOffset", "SetHighlight"),
        *("SetLineAttributes", "SetFillAttributes", "SetMarkerAttributes", "UseCurrentStyle", "SetBit"),
    ),
    "graph": ("SetDrawOption", "SetEditable", "SetBit", "SetHighlight"),
    "axis": (
        *("CenterTitle", "CenterLabels", "RotateTitle", "SetMoreLogLabels", "SetNoExponent", "SetDecimals"),
        *("SetMaxDigits", "SetTickSize", "SetTimeDisplay", "SetTimeFormat", "SetTimeOffset", "LabelsOption"),
        "SetTicks",
    ),
}
"""Methods without effect."""
_KINDS = {"histogram": HISTOGRAM, "graph": _GRAPH, "axis": AXIS}


def styled(kind: str) -> Callable[[type], type]:
    """Give a class the setters and getters of pictures: of a "histogram", a "graph" or an "axis".

    Its objects keep what is set in `_style`, by names such as "LineColor".
    """

    def decorate(cls: type) -> type:
        for name, preset in _KINDS[kind].items():
            _add(cls, f"Set{name}", _setter(name, preset))
            _add(cls, f"Get{name}", _getter(name, preset))
            if name.endswith("Color") and kind != "axis":
                _add(cls, f"Set{name}Alpha", _alpha_setter(name))
        for name in _IN_VAIN[kind]:
            _add(cls, name, _nothing)
        if kind == "histogram":
            for name in AXIS:
                _add(cls, f"Set{name}", _setter_of_axis(name))
        return cls

    return decorate


def _add(cls: type, name: str, method: Callable[..., Any]) -> None:
    method.__name__ = name
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)


def _kept(value: Any, preset: float) -> int | float:
    return float(np.float32(value)) if isinstance(preset, float) else int(value)


def _setter(name: str, preset: float) -> Callable[..., None]:
    def set_it(self: Any, value: Any = preset, *_: Any) -> None:
        """Keep it for pictures."""
        if isinstance(value, str):
            value = TColor.GetColor(value)
        self._style = {**self._style, name: _kept(value, preset)}

    return set_it


def _getter(name: str, preset: float) -> Callable[..., int | float]:
    def get_it(self: Any, *_: Any) -> int | float:
        """Return what was set, or ROOT's value."""
        found: int | float = self._style.get(name, _kept(preset, preset))
        return found

    return get_it


def _alpha_setter(name: str) -> Callable[..., None]:
    def set_it(self: Any, color: Any, alpha: float = 1) -> None:
        """Keep it for pictures, with how opaque it is."""
        getattr(self, f"Set{name}")(color)
        self._style = {**self._style, f"{name}Alpha": float(alpha)}

    return set_it


def _setter_of_axis(name: str) -> Callable[..., None]:
    def set_it(self: Any, value: Any, axis: str = "X") -> None:
        """Set it for the axes that a text names, "X", "XY", ..."""
        for letter in axis.upper():
            if letter in "XYZ":
                getattr(getattr(self, f"Get{letter}axis")(), f"Set{name}")(value)

    return set_it


def _nothing(self: Any, *_: Any, **__: Any) -> None:
    """Do nothing: it has no effect on pictures here."""


class TColor:
    """Colours by their numbers."""

    _made: dict[int, str] = {}  # noqa: RUF012
    """The texts of colours that scripts made."""

    @classmethod
    def GetColor(cls, red: Any, green: Any = None, blue: Any = None) -> int:
        """Return the number of a colour: "#rrggbb", integers up to 255, or numbers up to 1.

        Raises:
            UsageError: it is none of these.
        """
        if isinstance(red, str):
            text = red.lower()
        else:
            parts = [red, green, blue]
            if any(not isinstance(each, int | float) for each in parts):
                raise UsageError(f"{parts} is no colour", '"#ff0000", or 255, 0, 0')
            scale = 1 if all(isinstance(each, int) for each in parts) else 255
            text = "#" + "".join(f"{round(each * scale):02x}" for each in parts)
        if not re.fullmatch("#[0-9a-f]{6}", text):
            raise UsageError(f"{red!r} is no colour", '"#ff0000", or 255, 0, 0')
        for number, known in cls._made.items():
            if known == text:
                return number
        number = 1000 + len(cls._made)
        cls._made[number] = text
        return number
