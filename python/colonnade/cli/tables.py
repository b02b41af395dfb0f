"""Tables for the terminal. Those of rich measure and render every cell, which takes seconds for thousands of fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

__all__ = ["Column", "Table"]


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    right: bool = False
    """Whether cells are aligned to the right."""
    folds: bool = False
    """Whether cells are broken where the terminal is too narrow."""
    style: str = ""
    """The style of the cells, as rich calls it."""


@dataclass
class Table:
    """Rows of texts below titles, with two blanks between columns."""

    columns: Sequence[Column]
    edge: str = " "
    """What is in front of and behind each row."""
    rows: list[Sequence[str]] = field(default_factory=list)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Give rich the text of each line."""
        rows = [[_printable(cell) for cell in row] for row in self.rows]
        titles = [column.title for column in self.columns]
        widths = [max(map(_width, cells)) for cells in zip(titles, *rows, strict=True)]
        around = 2 * len(widths) - 2 + 2 * len(self.edge)
        self._narrow(widths, options.max_width - around)
        yield from self._line(titles, widths, [console.get_style("table.header")] * len(widths))
        styles = [console.get_style(column.style) for column in self.columns]
        for row in rows:
            lines = [
                _folded(console, cell, width) if column.folds else [cell]
                for cell, width, column in zip(row, widths, self.columns, strict=True)
            ]
            for number in range(max(map(len, lines))):
                cells = [each[number] if number < len(each) else "" for each in lines]
                yield from self._line(cells, widths, styles)

    def _narrow(self, widths: list[int], most: int) -> None:
        """Make the widest of the columns that fold narrower, until all fit or none is wider than its title."""
        for _ in range(sum(widths) - most):
            excess = {
                k: widths[k]
                for k, column in enumerate(self.columns)
                if column.folds and widths[k] > _width(column.title)
            }
            if not excess:
                return
            widths[max(excess, key=lambda k: excess[k])] -= 1

    def _line(
        self, cells: Sequence[str], widths: Sequence[int], styles: Sequence[Style]
    ) -> Iterator[Segment]:
        """A line; neighbours without style are one text, which rich writes faster."""
        plain = self.edge
        for cell, width, style, column in zip(cells, widths, styles, self.columns, strict=True):
            blanks = " " * (width - _width(cell))
            text = blanks + cell if column.right else cell + blanks
            if style:
                yield Segment(plain)
                yield Segment(text, style)
                plain = "  "
            else:
                plain += text + "  "
        yield Segment(plain[:-2] + self.edge + "\n")


def _printable(text: str) -> str:
    """The text with escapes for what would move the cursor."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _folded(console: Console, text: str, width: int) -> list[str]:
    """The lines of a cell."""
    if _width(text) <= width:
        return [text]
    return [line.plain for line in Text(text).wrap(console, width, overflow="fold")]
