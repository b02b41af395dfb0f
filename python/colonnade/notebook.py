"""Tables in notebooks: short, with the rest folded away, in the colours of the page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

__all__ = ["folded_table", "html_of", "html_table", "most_rows"]

_SHOWN = 20
_FOLDED = 200
_LONGEST = 80


def html_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table."""
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def folded_table(
    head: Sequence[str], rows: Sequence[Sequence[object]], what: str, total: int | None = None
) -> str:
    """Return a table of the first rows; more can be unfolded, up to a number that keeps notebooks small.

    Args:
        head: titles.
        rows: cells.
        what: the name of the rows, for example "columns".
        total: the number of rows, if `rows` is incomplete.
    """
    total = len(rows) if total is None else total
    made = html_table(head, rows[:_SHOWN])
    rest = rows[_SHOWN:_FOLDED]
    if rest:
        left = total - _SHOWN - len(rest)
        after = f"<p>and {left} more</p>" if left else ""
        made += f"<details><summary>{total - _SHOWN} more {what}</summary>{html_table(head, rest)}{after}</details>"
    return made


def html_of(value: Any) -> str | None:
    """Return how a notebook shows a value, or None if the value does not say.

    `hist` does not escape the labels of axes: "x<y" would hide the rest of the plot.
    """
    if not hasattr(value, "_repr_html_"):
        return None
    labels = [getattr(axis, "label", "") for axis in getattr(value, "axes", ())]
    escaped = [html.escape(label, quote=False) for label in labels]
    if escaped != labels:
        value = value.copy()
        for axis, label in zip(value.axes, escaped, strict=True):
            axis.label = label
    made = value._repr_html_()
    return None if made is None else str(made)


def most_rows() -> int:
    """The maximum number of rows worth rendering."""
    return _FOLDED


def _cell(value: object) -> str:
    text = str(value)
    if len(text) > _LONGEST:
        return (
            f"<td title='{html.escape(text[:1000], quote=True)}'>{html.escape(text[: _LONGEST - 3])}...</td>"
        )
    return f"<td>{html.escape(text)}</td>"
