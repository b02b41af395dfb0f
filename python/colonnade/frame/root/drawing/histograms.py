"""Histograms and profiles as pictures, and the box with their statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from colonnade.errors import UnsupportedError

from . import looks
from .frames import Option, shows_errors, usable
from .palettes import palette
from .style import gStyle

__all__ = ["paint_histogram"]


def paint_histogram(view: Any, text: str, area: Any) -> None:
    """Paint a histogram or profile with an option of THistPainter.

    Raises:
        UnsupportedError: the option is none of those that are painted here, or there are more than two axes.
    """
    option = Option(text or view.GetOption())
    if option.words & {"LEGO", "SURF", "CANDLE", "VIOLIN", "ARR"} or len(view._axes) > 2:
        what = f"with the option '{text}'" if len(view._axes) <= 2 else f"of {len(view._axes)} axes"
        raise UnsupportedError(
            f"the histogram '{view.GetName()}' {what} cannot be painted",
            '"HIST", "E", "P", "L", "SAME", of two axes "COLZ", "BOX", "CONT", "TEXT"; to_hist().plot()',
        )
    if len(view._axes) == 2:
        _paint_map(view, option, area)
    elif "AXIS" not in option:
        _paint_bins(view, option, area)
    has_box = view._style.get("Stats", True) and gStyle.value("OptStat")
    if has_box and "SAME" not in option and "AXIS" not in option:
        _paint_statistics(view, area)


# ---- One axis


def _paint_bins(view: Any, option: Option, area: Any) -> None:
    axis = view._axes[0]
    chosen = view._chosen()[0]
    edges = np.array([axis.GetBinLowEdge(k) for k in range(chosen.start, chosen.stop + 1)])
    contents = view._contents()[chosen]
    has_errors = shows_errors(view, option)
    others = option.words & {"P", "P0", "L", "C", "LF2", "*H", "*", "BAR", "B", "TEXT"}
    axes, order = area.axes, area.next_order()
    if "HIST" in option or not (has_errors or others):
        _outline(view, contents, edges, axes, order, area)
    centers = (edges[1:] + edges[:-1]) / 2
    if option.words & {"L", "C", "LF2"}:
        if "LF2" in option and looks.is_filled(view):
            axes.fill_between(centers, contents, zorder=order, **looks.fill(view))
        axes.plot(centers, contents, zorder=order, **looks.line(view, area.points))
    if option.words & {"BAR", "B"}:
        axes.bar(centers, contents, width=np.diff(edges), zorder=order, **looks.fill(view))
    if has_errors:
        _errors(view, option, (edges, centers, contents), axes, order, area)
    has_bars = has_errors and not option.words & {"E2", "E3", "E4", "E5", "E6"}
    if has_bars or option.words & {"P", "P0", "*H", "*"}:
        shown = np.isfinite(contents)
        if "P0" not in option and "E0" not in option:
            shown &= contents != 0
        marker = looks.marker(view, area.points)
        if option.words & {"*H", "*"}:
            marker["marker"] = "*"
        axes.plot(centers[shown], contents[shown], linestyle="none", zorder=order, **marker)
    if "TEXT" in option:
        for x, y in zip(centers, contents, strict=True):
            _number(area, x, y, y, va="bottom")


def _outline(view: Any, contents: Any, edges: Any, axes: Any, order: float, area: Any) -> None:
    base = axes.get_ylim()[0] if area.pad._log["y"] else 0.0
    if looks.is_filled(view):
        axes.stairs(contents, edges, baseline=base, fill=True, zorder=order, **looks.fill(view))
    line = looks.line(view, area.points)
    if line["linewidth"] > 0:
        axes.stairs(
            contents,
            edges,
            baseline=base,
            edgecolor=line["color"],
            linestyle=line["linestyle"],
            linewidth=line["linewidth"],
            zorder=order,
        )


def _errors(view: Any, option: Option, bins: Any, axes: Any, order: float, area: Any) -> None:
    edges, centers, contents = bins
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(view._squared_errors()[view._chosen()[0]])
    line = looks.line(view, area.points)
    if option.words & {"E2", "E5"}:
        from matplotlib.collections import PolyCollection

        x = np.stack([edges[:-1], edges[1:], edges[1:], edges[:-1]], axis=1)
        y = np.stack([contents - errors, contents - errors, contents + errors, contents + errors], axis=1)
        axes.add_collection(PolyCollection(list(np.stack([x, y], axis=2)), zorder=order, **looks.fill(view)))
        return
    if option.words & {"E3", "E4", "E6"}:
        axes.fill_between(centers, contents - errors, contents + errors, zorder=order, **looks.fill(view))
        return
    shown = np.isfinite(errors) & (np.full(len(errors), True) if "E0" in option else errors > 0)
    half = np.diff(edges) * gStyle.value("ErrorX") * (0 if "X0" in option else 1)
    axes.errorbar(
        centers[shown],
        contents[shown],
        xerr=half[shown] if np.any(half) else None,
        yerr=errors[shown],
        fmt="none",
        ecolor=line["color"],
        elinewidth=line["linewidth"],
        capsize=gStyle.value("EndErrorSize") * area.points if "E1" in option else 0,
        zorder=order,
    )


def _number(area: Any, x: float, y: float, value: float, **more: Any) -> None:
    place = np.abs(area.axes.transData.transform((x, y)))
    if value and np.all(place < 1e5):  # of pixels; not so where there is no logarithm
        text = f"%{gStyle.value('PaintTextFormat')}" % value
        area.text(x, y, text, 42, 0.02, 1, ha="center", transform=area.axes.transData, is_plain=True, **more)


# ---- Two axes


def _paint_map(view: Any, option: Option, area: Any) -> None:
    chosen = view._chosen()
    contents = view._contents()[chosen]
    edges = [
        np.array([axis.GetBinLowEdge(k) for k in range(each.start, each.stop + 1)])
        for axis, each in zip(view._axes, chosen, strict=True)
    ]
    centers = [(each[1:] + each[:-1]) / 2 for each in edges]
    axes, order = area.axes, area.next_order()
    words = option.words & {"COL", "BOX", "SCAT", "CONT", "TEXT", "AXIS"}
    painted = None
    if "COL" in option or not words:
        painted = _colors(view, contents, edges, axes, order, area)
    if "CONT" in option:
        painted = _contours(contents, centers, option, axes, order, area)
    if "BOX" in option:
        _boxes(view, contents, edges, axes, order, area)
    if "SCAT" in option:
        _scattered(view, contents, edges, axes, order, area)
    if "TEXT" in option:
        for i, x in enumerate(centers[0]):
            for k, y in enumerate(centers[1]):
                _number(area, x, y, float(contents[i, k]), va="center")
    if "Z" in option and painted is not None:
        _scale(view, painted, area)


def _colors(view: Any, contents: Any, edges: Any, axes: Any, order: float, area: Any) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    low, high = _range_of_contents(view, contents)
    shown = np.ma.masked_invalid(contents)
    if low >= 0 or area.pad._log["z"]:
        shown = np.ma.masked_equal(shown, 0)  # ROOT leaves these bins out
    if area.pad._log["z"]:
        positive = contents[contents > 0]
        low = low if low > 0 else float(positive.min()) if len(positive) else 0.1
        norm: Any = LogNorm(*usable((low, max(high, low * 1.001)), is_log=True))
    else:
        norm = Normalize(low, high)
    return axes.pcolormesh(*edges, shown.T, cmap=palette(gStyle.value("Palette")), norm=norm, zorder=order)


def _range_of_contents(view: Any, contents: Any) -> tuple[float, float]:
    finite = contents[np.isfinite(contents)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    minimum, maximum = view._limits
    return usable((low if minimum is None else minimum, high if maximum is None else maximum))


def _contours(contents: Any, centers: Any, option: Option, axes: Any, order: float, area: Any) -> Any:
    if min(contents.shape) < 2:
        raise UnsupportedError("contours need two bins on each axis", '"COLZ"')
    is_line = option.words & {"1", "2", "3"}
    method = axes.contour if is_line else axes.contourf
    colors = palette(gStyle.value("Palette"))
    made = method(*centers, contents.T, gStyle.value("NumberContours"), cmap=colors, zorder=order)
    return None if is_line else made


def _boxes(view: Any, contents: Any, edges: Any, axes: Any, order: float, area: Any) -> None:
    """Boxes whose areas are as the absolute contents."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    largest = float(np.max(np.abs(contents), initial=0.0)) or 1.0
    patches = []
    for (i, k), value in np.ndenumerate(contents):
        share = np.sqrt(abs(value) / largest)
        if not share > 0:
            continue
        width, height = np.diff(edges[0])[i] * share, np.diff(edges[1])[k] * share
        x, y = (edges[0][i] + edges[0][i + 1]) / 2, (edges[1][k] + edges[1][k + 1]) / 2
        patches.append(Rectangle((x - width / 2, y - height / 2), width, height))
    line = looks.line(view, area.points)
    axes.add_collection(
        PatchCollection(
            patches, facecolor="none", edgecolor=line["color"], linewidth=line["linewidth"], zorder=order
        )
    )


def _scattered(view: Any, contents: Any, edges: Any, axes: Any, order: float, area: Any) -> None:
    """Points at random places of the bins, of which there are as many as the contents are large."""
    random = np.random.default_rng(0)
    counts = np.maximum(np.nan_to_num(contents), 0)
    total = float(counts.sum())
    if total > 100_000:
        counts = counts * (100_000 / total)
    numbers = counts.astype(int).ravel()
    i, k = (np.repeat(each.ravel(), numbers) for each in np.indices(contents.shape))
    x = edges[0][i] + random.random(len(i)) * np.diff(edges[0])[i]
    y = edges[1][k] + random.random(len(k)) * np.diff(edges[1])[k]
    axes.plot(x, y, linestyle="none", zorder=order, **looks.marker(view, area.points))


def _scale(view: Any, painted: Any, area: Any) -> None:
    left, bottom, width, height = area.axes.get_position().bounds
    room = area.pad._margins["Right"] * area.box[2]
    if room <= 0:
        return
    beside = area.figure.add_axes((left + width + 0.05 * room, bottom, 0.4 * room, height))
    beside.set_zorder(len(area.figure.axes))
    bar = area.figure.colorbar(painted, cax=beside)
    axis = view.GetZaxis()
    size = axis._style.get("LabelSize", gStyle.of_axis("LabelSize", "Z"))
    bar.ax.tick_params(labelsize=area.points_of(size, 42), direction="in", width=area.points)
    bar.outline.set_linewidth(area.points)
    if axis.GetTitle():
        from .latex import readable

        size = axis._style.get("TitleSize", gStyle.of_axis("TitleSize", "Z"))
        bar.set_label(readable(axis.GetTitle()), loc="top", fontsize=area.points_of(size, 42))


# ---- Statistics

_LINES: list[tuple[str, Any]] = [
    ("Entries", lambda view, axis: view.GetEntries()),
    ("Mean", lambda view, axis: view.GetMean(axis)),
    ("Std Dev", lambda view, axis: view.GetStdDev(axis)),
    ("Underflow", lambda view, axis: view.GetBinContent(0)),
    ("Overflow", lambda view, axis: view.GetBinContent(view.GetNbinsX() + 1)),
    ("Integral", lambda view, axis: view.Integral()),
    ("Skewness", lambda view, axis: view.GetSkewness(axis)),
    ("Kurtosis", lambda view, axis: view.GetKurtosis(axis)),
]
"""In the order of the digits of `SetOptStat`, behind that of the name."""
_PER_AXIS = ("Mean", "Std Dev", "Skewness", "Kurtosis")


def statistics(view: Any) -> list[tuple[str, str]]:
    """Return the lines of the box with statistics: the name, and what `gStyle.SetOptStat` chose."""
    digits = gStyle.value("OptStat")
    form = f"%{gStyle.value('StatFormat')}"
    several = len(view._axes) > 1
    lines = [(view.GetName(), "")] if digits % 10 else []
    for place, (name, value) in enumerate(_LINES, 1):
        if not digits // 10**place % 10 or (several and name in ("Underflow", "Overflow")):
            continue
        for number in range(len(view._axes) if name in _PER_AXIS else 1):
            label = f"{name} {'xyz'[number]}" if several and name in _PER_AXIS else name
            found = float(value(view, number + 1))
            lines.append(
                (label, f"{found:.0f}" if name == "Entries" and found == int(found) else form % found)
            )
    if view.kind == "MEAN" and not several and digits // 100 % 10:
        lines.insert(-1 if digits // 1000 % 10 else len(lines), ("Mean y", form % view.GetMean(2)))
        if digits // 1000 % 10:
            lines.append(("Std Dev y", form % view.GetStdDev(2)))
    return [(name, text.strip()) for name, text in lines]


def _paint_statistics(view: Any, area: Any) -> None:
    lines = statistics(view)
    if not lines:
        return
    value = gStyle.value
    right, top = value("StatX"), value("StatY")
    left, bottom = right - value("StatW"), top - value("StatH") * max(len(lines), 1) / 4
    if value("StatBorderSize"):
        area.rectangle(
            (left, bottom, right, top),
            facecolor=looks.color(value("StatColor")) if value("StatStyle") else "none",
            edgecolor="black",
            linewidth=area.points,
        )
    step = (top - bottom) / len(lines)
    font = value("StatFont")
    size = value("StatFontSize") or min(0.75 * step, 0.03)
    for k, (name, text) in enumerate(lines):
        y = top - (k + 0.5) * step
        at = dict.fromkeys(("va",), "center")
        if not text:
            area.text(
                (left + right) / 2,
                y,
                name,
                font,
                size,
                value("StatTextColor"),
                ha="center",
                **at,
                is_plain=True,
            )
            continue
        room = 0.05 * (right - left)
        area.text(left + room, y, name, font, size, value("StatTextColor"), ha="left", **at)
        area.text(right - room, y, text, font, size, value("StatTextColor"), ha="right", **at)
