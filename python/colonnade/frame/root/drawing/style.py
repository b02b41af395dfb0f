"""`gStyle`: what pictures look like where objects say nothing."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from colonnade.errors import UnsupportedError
from colonnade.frame.root.styles import AXIS, CURRENT, HISTOGRAM

__all__ = ["TGaxis", "TStyle", "gStyle"]

_PRESET: dict[str, Any] = {
    "OptStat": 1111,
    "OptTitle": 1,
    "OptFit": 0,
    "Palette": 57,
    "NumberContours": 20,
    "CanvasDefW": 700,
    "CanvasDefH": 500,
    "CanvasColor": 0,
    "PadColor": 0,
    "PadLeftMargin": 0.1,
    "PadRightMargin": 0.1,
    "PadTopMargin": 0.1,
    "PadBottomMargin": 0.1,
    "PadTickX": 0,
    "PadTickY": 0,
    "PadGridX": False,
    "PadGridY": False,
    "OptLogx": 0,
    "OptLogy": 0,
    "OptLogz": 0,
    "FrameFillColor": 0,
    "FrameLineColor": 1,
    "FrameLineWidth": 1,
    "HistLineColor": 602,
    "HistLineStyle": 1,
    "HistLineWidth": 1,
    "HistFillColor": 0,
    "HistFillStyle": 1001,
    "HistTopMargin": 0.05,
    "HistMinimumZero": False,
    "EndErrorSize": 2.0,
    "ErrorX": 0.5,
    "AxisMaxDigits": 5,
    "GridColor": 0,
    "GridStyle": 3,
    "GridWidth": 1,
    "LegendBorderSize": 1,
    "LegendFillColor": 0,
    "LegendFont": 42,
    "LegendTextSize": 0.0,
    "MarkerStyle": 1,
    "MarkerSize": 1.0,
    "MarkerColor": 1,
    "PaintTextFormat": "g",
    "StatX": 0.98,
    "StatY": 0.935,
    "StatW": 0.2,
    "StatH": 0.16,
    "StatColor": 0,
    "StatTextColor": 1,
    "StatFont": 42,
    "StatFontSize": 0.0,
    "StatFormat": "6.4g",
    "StatBorderSize": 1,
    "StatStyle": 1001,
    "TextFont": 62,
    "TextSize": 0.05,
    "TextColor": 1,
    "TextAlign": 11,
    "TitleX": 0.5,
    "TitleY": 0.995,
    "TitleAlign": 23,
    "TitleFontSize": 0.05,
    "TitleTextColor": 1,
    "TitleBorderSize": 0,
    "TitleFillColor": 0,
    "TitleStyle": 0,
}
_ATLAS = {
    "PadTopMargin": 0.05,
    "PadRightMargin": 0.05,
    "PadBottomMargin": 0.16,
    "PadLeftMargin": 0.16,
    "PadTickX": 1,
    "PadTickY": 1,
    "TextFont": 42,
    "TextSize": 0.05,
    "MarkerStyle": 20,
    "MarkerSize": 1.2,
    "HistLineWidth": 2,
    "EndErrorSize": 0.0,
    "OptTitle": 0,
    "OptStat": 0,
}


class _Style:
    """ROOT's style "Modern", as far as pictures follow it. Other setters are kept, without effect."""

    def __init__(self) -> None:
        self._set: dict[str, Any] = {}
        self._axes: dict[tuple[str, str], Any] = {}

    def value(self, name: str) -> Any:
        """Return what was set, or ROOT's value."""
        return self._set.get(name, _PRESET.get(name))

    def of_axis(self, name: str, letter: str) -> Any:
        """Return what axes have: `letter` is "X", "Y" or "Z"."""
        return self._axes.get((name, letter), AXIS.get(name))

    def of_texts(self) -> dict[str, Any]:
        """Return what was set for texts that are made later."""
        return {name: value for name, value in self._set.items() if name.startswith("Text")}

    def Reset(self, *_: Any) -> None:
        """Forget all that was set."""
        self._set.clear()
        self._axes.clear()
        CURRENT.clear()

    def SetPalette(self, number: int = 57, colors: Any = None, alpha: float = 1.0) -> None:
        """Choose a palette by its number; of a list of colours the default one remains."""
        if colors is None:
            self._set["Palette"] = 57 if number == 0 else int(number)

    def SetOptStat(self, option: int | str = 1) -> None:
        """Choose the lines of the box with statistics: 1111, "nemr"; 0 for no box."""
        if isinstance(option, str):
            option = sum(10**place for place, letter in enumerate("nemruoisk") if letter in option.lower())
        self._set["OptStat"] = 1111 if option == 1 else int(option)

    def SetPaperSize(self, *_: Any) -> None:
        """Do nothing: pictures have the size of their canvas."""

    def cd(self) -> None:
        """Do nothing: there is one style."""

    def __getattr__(self, name: str) -> Any:
        found = re.fullmatch(r"(Set|Get)([A-Z]\w*)", name)
        if found is None:
            raise _missing(name)
        what = found[2]
        if what in AXIS:
            return self._axis_setter(what) if found[1] == "Set" else self._axis_getter(what)
        if found[1] == "Get":
            if what not in _PRESET and what not in self._set:
                raise _missing(name)
            return lambda *_: self.value(what)
        return partial(self._keep, what)

    def _keep(self, what: str, value: Any = True, *_: Any) -> None:
        self._set[what] = value
        name = what.removeprefix("Hist")
        if name in HISTOGRAM and (what != name or name.startswith("Marker")):
            CURRENT[name] = value

    def choose(self, name: str) -> None:
        """Take the settings of a style of ROOT's: "ATLAS", or "Modern" and others that look like it."""
        self.Reset()
        if name != "ATLAS":
            return
        for what, value in _ATLAS.items():
            self._keep(what, value)
        for letter in "XYZ":
            self._axes |= {(what, letter): 0.05 for what in ("TitleSize", "LabelSize")}
            self._axes["TitleOffset", letter] = 1.4

    def _axis_setter(self, what: str) -> Any:
        def set_it(value: Any, axes: str = "X") -> None:
            letters = [letter for letter in axes.upper() if letter in "XYZ"]
            if what.startswith("Title") and not letters:  # "T": the title of the picture
                self._set[{"TitleSize": "TitleFontSize"}.get(what, what)] = value
            self._axes.update({(what, letter): value for letter in letters})

        return set_it

    def _axis_getter(self, what: str) -> Any:
        return lambda axis="X": self.of_axis(what, axis.upper()[:1])


def _missing(name: str) -> AttributeError:
    class MissingError(UnsupportedError, AttributeError):
        """A method of TStyle's without a counterpart."""

    return MissingError(f"gStyle has no {name}", "the setters and getters of ROOT's TStyle")


gStyle = _Style()  # noqa: N816


class TStyle:
    """A style that a script makes: what it sets has an effect at once, as there is one style."""

    def __new__(cls, name: str = "", title: str = "") -> Any:
        """Return `gStyle`."""
        return gStyle


class TGaxis:
    """What scripts set for all axes."""

    @staticmethod
    def SetMaxDigits(maxd: int = 5) -> None:
        """Let labels have no more digits than these before they get a power of ten."""
        gStyle.SetAxisMaxDigits(maxd)
