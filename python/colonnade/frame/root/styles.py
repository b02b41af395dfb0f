"""What scripts set for pictures: colours, lines, markers, sizes of texts. It is kept, and written to files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from colonnade.errors import UsageError

__all__ = ["AXIS", "COLORS", "CURRENT", "HISTOGRAM", "MARKERS", "PALETTES", "TColor", "styled"]

_COLOR_BLIND = (
    "kP6Blue kP6Yellow kP6Red kP6Grape kP6Gray kP6Violet"
    " kP8Blue kP8Orange kP8Red kP8Pink kP8Green kP8Cyan kP8Azure kP8Gray"
    " kP10Blue kP10Yellow kP10Red kP10Gray kP10Violet kP10Brown kP10Orange kP10Green kP10Ash kP10Cyan"
)
"""Sets of colours that those who are colour-blind can tell apart."""
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
    **{name: 103 + number for number, name in enumerate(_COLOR_BLIND.split())},
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
_PALETTE_NAMES = (
    "kDeepSea kGreyScale kDarkBodyRadiator kBlueYellow kRainBow kInvertedDarkBodyRadiator kBird kCubehelix "
    "kGreenRedViolet kBlueRedYellow kOcean kColorPrintableOnGrey kAlpine kAquamarine kArmy kAtlantic kAurora "
    "kAvocado kBeach kBlackBody kBlueGreenYellow kBrownCyan kCMYK kCandy kCherry kCoffee kDarkRainBow "
    "kDarkTerrain kFall kFruitPunch kFuchsia kGreyYellow kGreenBrownTerrain kGreenPink kIsland kLake "
    "kLightTemperature kLightTerrain kMint kNeon kPastel kPearl kPigeon kPlum kRedBlue kRose kRust "
    "kSandyTerrain kSienna kSolar kSouthWest kStarryNight kSunset kTemperatureMap kThermometer kValentine "
    "kVisibleSpectrum kWaterMelon kCool kCopper kGistEarth kViridis kCividis"
)
PALETTES = {name: 51 + number for number, name in enumerate(_PALETTE_NAMES.split())}
"""ROOT's numbers of palettes."""

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
_TEXT = {"TextColor": 1, "TextSize": 0.05, "TextFont": 62, "TextAlign": 11, "TextAngle": 0.0}
_LINE = {"LineColor": 1, "LineStyle": 1, "LineWidth": 1}
_FILL = {"FillColor": 19, "FillStyle": 1001}
_IN_VAIN = {
    "histogram": (
        *("SetDrawOption", "SetContour", "SetBarWidth", "SetBarOffset", "SetHighlight"),
        *("SetLineAttributes", "SetFillAttributes", "SetMarkerAttributes", "UseCurrentStyle", "SetBit"),
    ),
    "graph": ("SetDrawOption", "SetEditable", "SetBit", "SetHighlight"),
    "axis": (
        *("CenterLabels", "RotateTitle", "SetMoreLogLabels", "SetNoExponent", "SetDecimals"),
        *(
            "ChangeLabel",
            "SetMaxDigits",
            "SetTickSize",
            "SetTimeDisplay",
            "SetTimeFormat",
            "SetTimeOffset",
            "LabelsOption",
        ),
        "SetTicks",
    ),
}
"""Methods without effect."""
CURRENT: dict[str, Any] = {}
"""What `gStyle` gives to histograms that are made later."""
_KINDS: dict[str, dict[str, Any]] = {
    "histogram": HISTOGRAM,
    "graph": _GRAPH,
    "axis": AXIS,
    "text": {**_TEXT, **_LINE},
    "line": _LINE,
    "box": {**_LINE, **_FILL},
    "paved text": {**_TEXT, "TextSize": 0.0, "TextAlign": 22, **_LINE, **_FILL},
    "legend": {**_TEXT, "TextSize": 0.0, "TextFont": 42, "TextAlign": 12, **_LINE, **_FILL, "FillColor": 0},
    "pad": {"FillColor": 0, "FillStyle": 1001},
}


def styled(kind: str) -> Callable[[type], type]:
    """Give a class the setters and getters of pictures: of a "histogram", an "axis", a "text" and so on.

    Its objects keep what is set in `_style`, by names such as "LineColor".
    """

    def decorate(cls: type) -> type:
        for name, preset in _KINDS[kind].items():
            _add(cls, f"Set{name}", _setter(name, preset))
            _add(cls, f"Get{name}", _getter(name, preset))
            if name.endswith("Color") and kind != "axis":
                _add(cls, f"Set{name}Alpha", _alpha_setter(name))
        for name in _IN_VAIN.get(kind, ()):
            _add(cls, name, _nothing)
        if kind == "axis":
            _add(cls, "CenterTitle", _switch("CenterTitle"))
        if kind in ("histogram", "graph"):
            for name, method in (("Draw", _draw), ("DrawCopy", _draw_copy), ("DrawClone", _draw_copy)):
                _add(cls, name, method)
        if kind == "histogram":
            _add(cls, "SetStats", _switch("Stats"))
            _add(cls, "DrawNormalized", _draw_normalized)
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
        if name.endswith("Color") and not isinstance(value, int):
            value = _color_number(value)
        self._style = {**self._style, name: _kept(value, preset)}

    return set_it


def _getter(name: str, preset: float) -> Callable[..., int | float]:
    def get_it(self: Any, *_: Any) -> int | float:
        """Return what was set, or ROOT's value."""
        found: int | float = self._style.get(name, _kept(preset, preset))
        return found

    return get_it


def _color_number(given: Any) -> int:
    """Return the number of a colour that is given as in PyROOT: "red", "kRed+2", "#ff0000", or its parts."""
    if isinstance(given, str):
        if parts := re.fullmatch(r"\s*(\w+)\s*([+-]\s*\d+)?\s*", given):
            known = COLORS.get(parts[1], COLORS.get(f"k{parts[1].capitalize()}"))
            if known is not None:
                return known + int((parts[2] or "0").replace(" ", ""))
        return TColor.GetColor(given)
    if isinstance(given, tuple | list) and len(given) == 3:
        return TColor.GetColor(*given)
    return int(given)


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


def _switch(name: str) -> Callable[..., None]:
    def set_it(self: Any, on: bool = True) -> None:
        """Keep it for pictures."""
        self._style = {**self._style, name: bool(on)}

    return set_it


def _draw(self: Any, option: str = "") -> None:
    """Put it on the current pad: a histogram in place of what is there, unless the option has "SAME"."""
    from .drawing.pads import draw

    draw(self, option)


def _draw_copy(self: Any, option: str = "", *_: Any) -> Any:
    """Put a copy on the current pad, and return it: what is changed later does not show."""
    from .drawing.pads import draw

    copied = self.Clone()
    draw(copied, option)
    return copied


def _draw_normalized(self: Any, option: str = "", norm: float = 1) -> Any:
    """Put a copy on the current pad whose contents have the sum `norm`, and return it.

    Raises:
        UsageError: the sum of the contents is 0.
    """
    total = self.Integral()
    if total == 0:
        raise UsageError(f"the contents of '{self.GetName()}' have the sum 0, which nothing makes {norm}")
    copied = _draw_copy(self, option)
    copied.Scale(norm / total)
    return copied


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
