"""What ROOT's numbers of colours, lines, fills, markers and fonts look like in matplotlib."""

from __future__ import annotations

import colorsys
from typing import Any

from colonnade.frame.root.styles import COLORS, TColor

__all__ = ["color", "fill", "font", "is_filled", "line", "marker"]

RGBA = tuple[float, float, float, float]

_FIRST = (
    "ffffff 000000 ff0000 00ff00 0000ff ffff00 ff00ff 00ffff 59d454 5954d9 ffffff c0b6ac 4d4d4d 666666 808080 999999"
    " b3b3b3 cccccc e6e6e6 f2f2f2 ccc7ab ccc7ab c2bfa8 bab5a3 b3a696 b8a39c ad998c 9c8f82 876657 b0cfc7 85c2a3 8aa8a1"
    " 829e8c adbdc7 7a8f99 758a91 698296 6e7a85 7d9ed1 80809c aba6bf d4cf87 deba87 bd9e82 c7997d bf8278 cf5e61 ab8f94"
    " a6787a 94696e d45954"
)
"""The colours 0 to 50."""
_PRIMARY = "ff-cc ff-99 cc-99 ff-66 cc-66 99-66 ff-33 cc-33 99-33 66-33 ff-00 cc-00 99-00 66-00 33-00"
"""From -10 to 4: of the channels that the colour has, and of those that it lacks."""
_CHANNELS = {400: "110", 416: "010", 432: "011", 600: "001", 616: "101", 632: "100"}
_WHEEL = {
    800: "ffcc99 cc9966 996633 996600 cc9933 ffcc66 ff9900 ffcc33 cc9900 ffcc00"
    " ff9933 cc6600 663300 993300 cc6633 ff9966 ff6600 ff6633 cc3300 ff3300",
    820: "99ff33 66cc00 336600 339900 66cc33 99ff66 66ff00 66ff33 33cc00 33ff00"
    " ccff99 99cc66 669933 669900 99cc33 ccff66 99ff00 ccff33 99cc00 ccff00",
    840: "99ffcc 66cc99 339966 009966 33cc99 66ffcc 00ff66 33ffcc 00cc99 00ffcc"
    " 33ff99 00cc66 006633 009933 33cc66 66ff99 00ff99 33ff66 00cc33 00ff33",
    860: "99ccff 6699cc 336699 003399 3366cc 6699ff 0066ff 3366ff 0033cc 0033ff"
    " 3399ff 0066cc 003366 006699 3399cc 66ccff 0099ff 33ccff 0099cc 00ccff",
    880: "cc99ff 9966cc 663399 660099 9933cc cc66ff 9900ff cc33ff 9900cc cc00ff"
    " 9933ff 6600cc 330066 330099 6633cc 9966ff 6600ff 6633ff 3300cc 3300ff",
    900: "ff3399 cc0066 660033 990033 cc3366 ff6699 ff0066 ff3366 cc0033 ff0033"
    " ff99cc cc6699 993366 990066 cc3399 ff66cc ff0099 cc0099 ff33cc ff0099",
}
"""From -9 to 10."""
_SETS = (
    "5790fc f89c20 e42536 964a8b 9c9ca1 7a21dd 1845fb ff5e02 c91f16 c849a9 adad7d 86c8dd 578dff 656364"
    " 3f90da ffa90e bd1f01 94a4a2 832db6 a96b59 e76300 b9ac70 717581 92dadd"
)
"""From kP6Blue on: sets of 6, 8 and 10 colours that those who are colour-blind can tell apart."""


def _channels(text: str) -> tuple[float, float, float]:
    return int(text[:2], 16) / 255, int(text[2:4], 16) / 255, int(text[4:6], 16) / 255


def _code(number: int) -> str:
    made = TColor._made.get(number)
    if made is not None:
        return made.removeprefix("#")
    if 51 <= number <= 99:  # a rainbow
        parts = colorsys.hsv_to_rgb((100 - number) / 50 * 280 / 360, 1, 1)
        return "".join(f"{round(255 * part):02x}" for part in parts)
    first, sets = _FIRST.split(), _SETS.split()
    if 0 <= number < len(first):
        return first[number]
    if 0 <= number - COLORS["kP6Blue"] < len(sets):
        return sets[number - COLORS["kP6Blue"]]
    if 920 <= number <= 923:
        return ("cccccc", "999999", "666666", "333333")[number - 920]
    for base, bits in _CHANNELS.items():
        if -10 <= number - base <= 4:
            on, off = _PRIMARY.split()[number - base + 10].split("-")
            return "".join(on if bit == "1" else off for bit in bits)
    for base, codes in _WHEEL.items():
        if -9 <= number - base <= 10:
            return codes.split()[number - base + 9]
    return "000000"


def color(number: int, alpha: float = 1.0) -> RGBA:
    """Return red, green, blue and how opaque a colour is, each up to 1; black for numbers that are none."""
    return (*_channels(_code(number)), alpha)


_DASHES = {
    2: (3, 3),
    3: (1, 2),
    4: (3, 4, 1, 4),
    5: (5, 3, 1, 3),
    6: (5, 3, 1, 3, 1, 3, 1, 3),
    7: (5, 5),
    8: (5, 3, 1, 3, 1, 3),
    9: (20, 5),
    10: (20, 10, 1, 10),
}


def _dashes(style: int) -> Any:
    """Return the style of a line."""
    return (0, _DASHES[style]) if style in _DASHES else "solid"


def line(thing: Any, points: float) -> dict[str, Any]:
    """Return how the lines of an object look; `points` is the width of a line of one pixel."""
    alpha = thing._style.get("LineColorAlpha", 1.0)
    return {
        "color": color(thing.GetLineColor(), alpha),
        "linestyle": _dashes(thing.GetLineStyle()),
        "linewidth": thing.GetLineWidth() * points,
    }


def is_filled(thing: Any) -> bool:
    """Whether the area of an object is painted."""
    style = thing.GetFillStyle()
    return bool(thing.GetFillColor()) and (style == 1001 or 3000 < style <= 4100)


_HATCHES = {
    3001: "....",
    3002: "...",
    3003: "..",
    3004: "///",
    3005: "\\\\\\",
    3006: "|||",
    3007: "---",
    3008: "oo",
    3009: "oo",
    3010: "++",
    3011: "**",
    3012: "oo",
    3013: "xxx",
}


def _hatch(style: int) -> str | None:
    """Return the pattern of a fill; None for a plain one."""
    if style in _HATCHES:
        return _HATCHES[style]
    return "//" if 3000 < style < 4000 else None


def fill(thing: Any) -> dict[str, Any]:
    """Return how the area of an object looks."""
    style = thing.GetFillStyle()
    alpha = thing._style.get("FillColorAlpha", (style - 4000) / 100 if 4000 < style <= 4100 else 1.0)
    painted = color(thing.GetFillColor(), alpha)
    pattern = _hatch(style)
    if pattern is None:
        return {"facecolor": painted, "edgecolor": "none", "linewidth": 0}
    return {"facecolor": "none", "edgecolor": painted, "hatch": pattern, "linewidth": 0}


_SHAPES = {
    1: (",", True, 1.0),
    2: ("+", True, 8.0),
    3: ("x", True, 8.0),
    4: ("o", False, 8.0),
    5: ("x", True, 8.0),
    6: (".", True, 2.0),
    7: (".", True, 3.0),
    8: ("o", True, 8.0),
    20: ("o", True, 8.0),
    21: ("s", True, 8.0),
    22: ("^", True, 8.0),
    23: ("v", True, 8.0),
    24: ("o", False, 8.0),
    25: ("s", False, 8.0),
    26: ("^", False, 8.0),
    27: ("D", False, 7.0),
    28: ("P", False, 8.0),
    29: ("*", True, 9.0),
    30: ("*", False, 9.0),
    31: ("x", True, 8.0),
    32: ("v", False, 8.0),
    33: ("D", True, 7.0),
    34: ("P", True, 8.0),
    47: ("X", True, 8.0),
    46: ("X", False, 8.0),
}


def marker(thing: Any, points: float) -> dict[str, Any]:
    """Return how the markers of an object look; `points` is one pixel."""
    shape, is_full, pixels = _SHAPES.get(thing.GetMarkerStyle(), ("o", True, 8.0))
    painted = color(thing.GetMarkerColor(), thing._style.get("MarkerColorAlpha", 1.0))
    scale = 1.0 if pixels < 4 else thing.GetMarkerSize()
    return {
        "marker": shape,
        "markersize": pixels * points * scale,
        "markerfacecolor": painted if is_full else "none",
        "markeredgecolor": painted,
        "markeredgewidth": points,
    }


_FAMILIES = {1: "DejaVu Serif", 2: "DejaVu Serif", 3: "DejaVu Serif", 13: "DejaVu Serif"}


def font(number: int) -> dict[str, Any]:
    """Return the family, the slant and the weight of a font, 42 for instance: those of matplotlib's own fonts."""
    kind = number // 10
    return {
        "family": "DejaVu Sans Mono" if 8 <= kind <= 11 else _FAMILIES.get(kind, "DejaVu Sans"),
        "style": "italic" if kind in (1, 3, 5, 7, 9, 11) else "normal",
        "weight": "bold" if kind in (2, 3, 6, 7, 10, 11) else "normal",
    }
