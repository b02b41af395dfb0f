"""Pads painted by matplotlib: frames with axes, and in them what was drawn, in that order."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from colonnade.errors import UnsupportedError

from . import looks
from .frames import Frame, frame_of, usable
from .graphs import paint_graph
from .histograms import paint_histogram
from .latex import readable
from .style import gStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["DOTS", "Area", "figure_of", "saved"]

DOTS = 100
"""Pixels per inch."""


class Area:
    """The part of a figure that a pad has, and its axes."""

    def __init__(self, figure: Figure, pad: Any, box: tuple[float, float, float, float]) -> None:
        """Cover a part of a figure, which is left, bottom, width and height in fractions of it."""
        from matplotlib.transforms import Bbox, BboxTransformTo

        self.figure, self.pad, self.box = figure, pad, box
        width, height = figure.get_figwidth() * figure.dpi, figure.get_figheight() * figure.dpi
        self.width, self.height = box[2] * width, box[3] * height
        corners = Bbox.from_bounds(box[0] * width, box[1] * height, self.width, self.height)
        # In inches: a PDF has other dots.
        inches = Bbox.from_extents(*(each / figure.dpi for each in corners.extents))
        self.fractions = BboxTransformTo(inches) + figure.dpi_scale_trans
        """From fractions of the pad."""
        self.frame: Frame | None = None
        self._axes: Axes | None = None
        self._order = 2.0
        self.points = 72 / DOTS
        """Of a pixel."""

    def next_order(self) -> float:
        """Return the place of the next object above those before it."""
        self._order += 0.01
        return self._order

    @property
    def axes(self) -> Axes:
        """The axes: without a frame those of the coordinates of the pad, which do not show."""
        if self._axes is None:
            x1, y1, x2, y2 = self.pad._range
            self._axes = self._new_axes(self.box)
            self._axes.set(xlim=(x1, x2), ylim=(y1, y2))
            self._axes.set_axis_off()
        return self._axes

    def _new_axes(self, box: tuple[float, float, float, float]) -> Axes:
        axes = self.figure.add_axes(box)
        axes.set_zorder(len(self.figure.axes))
        axes.patch.set_visible(False)
        axes.set_autoscale_on(False)
        return axes

    def points_of(self, size: float, number: int) -> float:
        """Return the size of a text in points: of a fraction of the pad, or of pixels if the precision is 3."""
        pixels = size if number % 10 == 3 else size * min(self.width, self.height)
        return max(pixels * self.points * 0.85, 0.1)  # ROOT's letters are narrower

    def text(self, x: float, y: float, text: str, font: int, size: float, color: int, **more: Any) -> Any:
        """Paint a text of ROOT's, at a place in fractions of the pad unless `transform` says otherwise."""
        more.setdefault("transform", self.fractions)
        more.setdefault("zorder", self.next_order())
        is_plain = more.pop("is_plain", False)
        return self.axes.text(
            x,
            y,
            text if is_plain else readable(text, looks.font(font)["weight"] == "bold"),
            parse_math=not is_plain,
            fontsize=self.points_of(size, font),
            color=looks.color(color),
            clip_on=False,
            **looks.font(font),
            **more,
        )

    def rectangle(self, box: tuple[float, float, float, float], **look: Any) -> None:
        """Paint a rectangle: left, bottom, right, top in fractions of the pad."""
        from matplotlib.patches import Rectangle

        look.setdefault("transform", self.fractions)
        patch = Rectangle(
            box[:2], box[2] - box[0], box[3] - box[1], clip_on=False, zorder=self.next_order(), **look
        )
        self.axes.add_patch(patch)

    def outline(self, box: tuple[float, float, float, float], thing: Any, **look: Any) -> None:
        """Paint the lines of an object around a box; see `rectangle`."""
        line = looks.line(thing, self.points)
        look |= {"linestyle": line["linestyle"], "linewidth": line["linewidth"]}
        self.rectangle(box, facecolor="none", edgecolor=line["color"], **look)

    # ---- The frame

    def set_frame(self, frame: Frame) -> None:
        """Begin a frame with axes."""
        self.frame = frame
        margins = self.pad._margins
        left, bottom, width, height = self.box
        inner = (
            left + margins["Left"] * width,
            bottom + margins["Bottom"] * height,
            max(1 - margins["Left"] - margins["Right"], 0.01) * width,
            max(1 - margins["Bottom"] - margins["Top"], 0.01) * height,
        )
        self._axes = self._new_axes(inner)
        axes = self._axes
        axes.patch.set_visible(True)
        axes.patch.set_facecolor(looks.color(gStyle.value("FrameFillColor")))
        for letter, limits in (("x", frame.x), ("y", frame.y)):
            if self.pad._log[letter]:
                getattr(axes, f"set_{letter}scale")("log", nonpositive="clip")
            getattr(axes, f"set_{letter}lim")(*usable(limits, is_log=self.pad._log[letter]))
        self._dress("x", frame.axes[0])
        self._dress("y", frame.axes[1])
        for spine in axes.spines.values():
            spine.set_linewidth(gStyle.value("FrameLineWidth") * self.points)
            spine.set_color(looks.color(gStyle.value("FrameLineColor")))
            spine.set_zorder(50)

    def _dress(self, letter: Literal["x", "y"], view: Any) -> None:
        """Give an axis its ticks, labels and title."""
        axes, pad = self.axes, self.pad
        axis = axes.xaxis if letter == "x" else axes.yaxis

        def look(name: str) -> Any:
            return view._style.get(name, gStyle.of_axis(name, letter.upper()))

        self._place_ticks(letter, view, int(look("Ndivisions")))
        size = self.points_of(look("LabelSize"), look("LabelFont"))
        window = axes.get_window_extent()
        length = look("TickLength") * (window.height if letter == "x" else window.width) * self.points
        shared: dict[str, Any] = {
            "axis": letter,
            "direction": "in" if length >= 0 else "out",
            "color": looks.color(look("AxisColor")),
            "width": self.points,
            "top" if letter == "x" else "right": pad._ticks[letter] > 0,
        }
        label: dict[str, Any] = {
            "labelcolor": looks.color(look("LabelColor")),
            "labelsize": size,
            "labelfontfamily": looks.font(look("LabelFont"))["family"],
        }
        axes.tick_params(which="major", length=abs(length), **label, **shared)
        axes.tick_params(which="minor", length=abs(length) / 2, **shared)
        axis.get_offset_text().set_fontsize(size)
        if look("LabelSize") == 0:
            axes.tick_params(axis=letter, labelbottom=False, labelleft=False)
            axis.get_offset_text().set_visible(False)
        axis.set_zorder(50)
        axes.set_axisbelow(False)
        if pad._grid.get(letter):
            color = looks.color(gStyle.value("GridColor") or 1)
            axes.grid(visible=True, axis=letter, linestyle=":", linewidth=self.points, color=color)
        self._title_of_axis(letter, view, look)

    def _place_ticks(self, letter: Literal["x", "y"], view: Any, divisions: int) -> None:
        """Choose the places of ticks: of names of bins, or by ROOT's number of divisions."""
        from matplotlib import ticker

        axis = self.axes.xaxis if letter == "x" else self.axes.yaxis
        if view._bin_labels and (shown := sorted(view._bin_labels.items())):
            axis.set_major_locator(ticker.FixedLocator([view.GetBinCenter(k) for k, _ in shown]))
            axis.set_major_formatter(ticker.FixedFormatter([readable(text) for _, text in shown]))
        elif not self.pad._log[letter]:
            major, minor = abs(divisions) % 100, abs(divisions) // 100 % 100
            axis.set_major_locator(ticker.MaxNLocator(max(major, 1), steps=[1, 2, 5, 10]))
            axis.set_minor_locator(ticker.AutoMinorLocator(max(minor, 1)))
            axis.set_major_formatter(ticker.ScalarFormatter(useMathText=True))
            self.axes.ticklabel_format(
                axis=letter, scilimits=(-4, gStyle.value("AxisMaxDigits")), useOffset=False
            )

    def _title_of_axis(self, letter: str, view: Any, look: Any) -> None:
        title = view.GetTitle()
        if not title:
            return
        font = look("TitleFont")
        size = self.points_of(look("TitleSize"), font)
        is_centered = bool(view._style.get("CenterTitle"))
        more = {"fontsize": size, "color": looks.color(look("TitleColor")), **looks.font(font)}
        if letter == "x":
            self.axes.set_xlabel(readable(title), loc="center" if is_centered else "right", **more)
        else:
            self.axes.set_ylabel(readable(title), loc="center" if is_centered else "top", **more)
        offset = view._style.get("TitleOffset", gStyle.of_axis("TitleOffset", letter.upper()))
        axis = self.axes.xaxis if letter == "x" else self.axes.yaxis
        axis.labelpad = 3 + (offset - 1) * size * 1.2

    def title(self) -> None:
        """Paint the title of the picture."""
        if self.frame is None or not gStyle.value("OptTitle"):
            return
        title = self.frame.owner.GetTitle()
        if title:
            self.text(
                gStyle.value("TitleX"),
                gStyle.value("TitleY") - 0.01,
                title,
                gStyle.of_axis("TitleFont", "T") or 42,
                gStyle.value("TitleFontSize") or 0.05,
                gStyle.value("TitleTextColor"),
                ha="center",
                va="top",
            )


def figure_of(pad: Any) -> Figure:
    """Return the picture of a pad, or of a canvas, as a figure of matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedError(
            "pictures need the package matplotlib", "pip install 'colonnade[demo]', or to_hist() and values()"
        ) from None
    width, height = pad._pixels()
    figure = Figure(figsize=(width / DOTS, height / DOTS), dpi=DOTS)  # without pyplot: no display
    FigureCanvasAgg(figure)
    with np.errstate(all="ignore"):
        _paint_pad(figure, pad, (0.0, 0.0, 1.0, 1.0))
    return figure


def saved(pad: Any, **options: Any) -> io.BytesIO:
    """Return the picture of a pad as the bytes of a file; `options` are those of matplotlib's `savefig`."""
    made = io.BytesIO()
    with np.errstate(all="ignore"):
        figure_of(pad).savefig(made, dpi=DOTS, **options)
    return made


def _paint_pad(figure: Figure, pad: Any, box: tuple[float, float, float, float]) -> None:
    from matplotlib.patches import Rectangle

    if pad.GetFillStyle() not in (0, 4000):
        background = Rectangle(
            box[:2], box[2], box[3], transform=figure.transFigure, facecolor=looks.color(pad.GetFillColor())
        )
        background.set_linewidth(0)
        background.set_zorder(len(figure.axes) + 0.5)
        figure.add_artist(background)
    area = Area(figure, pad, box)
    for thing, option in list(pad._primitives):
        if hasattr(thing, "_primitives"):
            left, bottom, across, up = thing._box
            inner = (box[0] + left * box[2], box[1] + bottom * box[3], across * box[2], up * box[3])
            _paint_pad(figure, thing, inner)
            continue
        frame = frame_of(thing, option, pad) if area.frame is None or _begins(thing, option) else None
        if frame is not None:
            area.set_frame(frame)
        paint(thing, option, area)
        if frame is not None:
            area.title()


def _begins(thing: Any, option: str) -> bool:
    from .pads import is_beside

    return not is_beside(thing, option)


def paint(thing: Any, option: str, area: Area) -> None:
    """Paint one object."""
    if hasattr(thing, "_paint"):
        thing._paint(option, area)
    elif hasattr(thing, "to_hist"):
        paint_histogram(thing, option, area)
    elif hasattr(thing, "points"):
        paint_graph(thing, option, area)
    else:
        raise UnsupportedError(
            f"a {type(thing).__name__} cannot be drawn", "histograms, graphs, legends and texts"
        )
