"""Graphs as pictures: lines, markers, bars and bands of errors."""

from __future__ import annotations

from typing import Any

from . import looks
from .frames import Option

__all__ = ["paint_graph"]


def paint_graph(graph: Any, text: str, area: Any) -> None:
    """Paint the points of a graph with an option of TGraphPainter: A, P, L, C, F, B, X, Z, 2, 3, 4."""
    option = Option(text if text.strip() else "LP")
    axes, order = area.axes, area.next_order()
    x, y, errors = graph.GetX(), graph.GetY(), graph.points.errors
    line = looks.line(graph, area.points)
    if errors and option.words & {"3", "4"}:
        axes.fill_between(x, y - errors[2], y + errors[3], zorder=order, **looks.fill(graph))
    elif errors and option.words & {"2", "5"}:
        _boxes(graph, area, order)
    elif errors and "X" not in option:
        bars = axes.errorbar(
            x,
            y,
            xerr=[errors[0], errors[1]],
            yerr=[errors[2], errors[3]],
            fmt="none",
            ecolor=line["color"],
            elinewidth=line["linewidth"],
            capsize=0 if "Z" in option else 2 * area.points,
            zorder=order,
        )
        bars.set_label("errors")
    if "F" in option:
        axes.fill(x, y, zorder=order, **looks.fill(graph))
    if "B" in option:
        width = 0.5 * (float(x.max() - x.min()) / max(len(x) - 1, 1) or 1.0) if len(x) else 1.0
        axes.bar(x, y, width=width, zorder=order, **looks.fill(graph))
    if option.words & {"L", "C"}:
        axes.plot(x, y, zorder=order, **line)
    if option.words & {"P", "P0", "*"}:
        marker = looks.marker(graph, area.points)
        if "*" in option:
            marker["marker"] = "*"
        axes.plot(x, y, linestyle="none", zorder=order, **marker)


def _boxes(graph: Any, area: Any, order: float) -> None:
    from matplotlib.patches import Rectangle

    left, right, down, up = graph.points.errors
    for k, (x, y) in enumerate(zip(graph.GetX(), graph.GetY(), strict=True)):
        corner = (x - left[k], y - down[k])
        area.axes.add_patch(
            Rectangle(corner, left[k] + right[k], down[k] + up[k], zorder=order, **looks.fill(graph))
        )
