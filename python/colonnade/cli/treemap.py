"""A picture of what fields take in a file: a treemap, in which the area of a box is its stored size."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade.errors import UnsupportedError, UsageError
from colonnade.reading.aside import written_whole

from .common import bytes_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "stored_boxes"]

_SIZE = 12.0, 8.0
"""Inches."""
_INCHES_PER_LETTER = 0.07
_INCHES_PER_LINE = 0.16
_NO_ENCODING = "no column"
_ALPHA = 0.45


class _Box(NamedTuple):
    """The box of a column, in inches."""

    x: float
    y: float
    dx: float
    dy: float
    text: str
    encoding: str


def _boxes(field: dict[str, Any], x: float, y: float, dx: float, dy: float) -> Iterator[_Box]:
    """The boxes of a field's own column and of those below it."""
    if not field["fields"]:
        # The items of lists and the alternatives of variants are numbered.
        parts = reversed(field["path"].split("."))
        name = next((part for part in parts if not re.fullmatch(r"_\d+", part)), field["path"])
        encoding = " ".join(field["encodings"]) or _NO_ENCODING
        yield _Box(x, y, dx, dy, f"{name}\n{bytes_text(field['stored_bytes'])}", encoding)
        return
    below = sum(int(child["stored_bytes"]) for child in field["fields"])
    own = {**field, "stored_bytes": field["stored_bytes"] - below, "fields": []}
    for part, at in _laid_out([own, *field["fields"]], x, y, dx, dy):
        yield from _boxes(part, *at)


def _laid_out(
    fields: list[dict[str, Any]], x: float, y: float, dx: float, dy: float
) -> Iterator[tuple[dict[str, Any], tuple[float, float, float, float]]]:
    """Fields with their part of a rectangle, in the order of their size."""
    import squarify

    stored = sorted((each for each in fields if each["stored_bytes"]), key=lambda each: -each["stored_bytes"])
    sizes = squarify.normalize_sizes([each["stored_bytes"] for each in stored], dx, dy)
    for each, at in zip(stored, squarify.squarify(sizes, x, y, dx, dy), strict=True):
        yield each, (at["x"], at["y"], at["dx"], at["dy"])


def _label(box: _Box) -> str:
    """As many lines of the text as fit into the box."""
    lines = box.text.splitlines()[: int(box.dy / _INCHES_PER_LINE)]
    while lines and max(map(len, lines)) * _INCHES_PER_LETTER > box.dx:
        lines.pop()
    return "\n".join(lines)


def stored_boxes(data: dict[str, Any]) -> list[_Box]:
    """The boxes of all columns that are stored, of what `describe` returns."""
    return [box for field, at in _laid_out(data["fields"], 0, 0, *_SIZE) for box in _boxes(field, *at)]


def draw(data: dict[str, Any], path: str | Path) -> None:
    """Draw what the fields of a data set take.

    Args:
        data: what `describe` returns.
        path: the file to write; its ending is the format, such as ".svg", ".png" or ".pdf".

    Raises:
        UnsupportedError: matplotlib or squarify are not installed.
        UsageError: there is no such format, or nothing is stored.
        StorageError: the file cannot be written.
    """
    try:
        figure = _figure(data)
    except ImportError as error:
        raise UnsupportedError(
            f"a treemap needs the package {error.name}", "pip install 'colonnade[demo]'"
        ) from None
    formats = figure.canvas.get_supported_filetypes()
    chosen = Path(path).suffix.removeprefix(".").lower()
    if chosen not in formats:
        known = ", ".join(f".{each}" for each in sorted(formats))
        raise UsageError(f"no picture can be written to '{path}'", f"a name that ends in one of {known}")
    drawn = io.BytesIO()  # what matplotlib raises when the disk is full depends on the format
    figure.savefig(drawn, format=chosen)
    with written_whole(Path(path), "the treemap cannot be written") as aside:
        aside.write_bytes(drawn.getvalue())


def _figure(data: dict[str, Any]) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    boxes = stored_boxes(data)
    if not boxes:
        raise UsageError(f"{data['name']} stores nothing that could be drawn")
    figure = Figure(figsize=(_SIZE[0], _SIZE[1] + 1), layout="constrained")  # without pyplot: no display
    axes = figure.add_subplot()
    colors = {name: f"C{number % 10}" for number, name in enumerate(sorted({box.encoding for box in boxes}))}
    for box in boxes:
        at, color = (box.x, box.y), colors[box.encoding]
        axes.add_patch(Rectangle(at, box.dx, box.dy, fc=color, alpha=_ALPHA, ec="white", lw=0.5))
        middle = box.x + box.dx / 2, box.y + box.dy / 2
        axes.text(*middle, _label(box), ha="center", va="center", fontsize=8, parse_math=False)
    for _, (x, y, dx, dy) in _laid_out(data["fields"], 0, 0, *_SIZE):
        axes.add_patch(Rectangle((x, y), dx, dy, fill=False, ec="black", lw=1))
    axes.set(xlim=(0, _SIZE[0]), ylim=(0, _SIZE[1]))
    axes.set_axis_off()
    ratio = f", ratio {data['ratio']:.2f}" if data["ratio"] else ""
    axes.set_title(f"{data['name']}: {bytes_text(data['stored_bytes'])} stored{ratio}", parse_math=False)
    _add_legend(figure, colors)
    return figure


def _add_legend(figure: Figure, colors: dict[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=color, alpha=_ALPHA, label=name) for name, color in colors.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
