"""Summaries of columns: counts of values, tables of statistics."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import ResourceError

from .results import Stats
from .tallies import Tally, quantiles_of

__all__ = ["Summary", "add_counts", "counts_of", "flat_values", "in_order", "merge_counts"]

MOST_COUNTED = 10_000_000
"""Different values that are counted one by one, with some 100 bytes each."""

STATISTICS = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")


def flat_values(array: Any) -> Any:
    """All values of an array, with lists flattened and without missing values: a NumPy array or a list of texts."""
    if isinstance(array, np.ndarray):
        return array
    flat = ak.drop_none(ak.flatten(array, axis=None) if array.ndim > 1 else array)
    return flat.to_list() if flat.layout.parameter("__array__") == "string" else np.asarray(flat)


def in_order(counts: Mapping[Any, int]) -> dict[Any, int]:
    """The same counts by value, NaN last."""
    return dict(sorted(counts.items(), key=lambda item: (item[0] is _NAN, item[0])))


def counts_of(values: Any) -> dict[Any, int]:
    """The number of occurrences of each value; all NaN are one value."""
    found, counts = np.unique(
        np.asarray(values, dtype=object if isinstance(values, list) else None), return_counts=True
    )
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def add_counts(state: dict[Any, int] | None, values: Any) -> dict[Any, int]:
    """Add the counts of values to earlier ones."""
    return merge_counts(state or {}, counts_of(values))


def merge_counts(a: dict[Any, int], b: dict[Any, int]) -> dict[Any, int]:
    """Merge counts."""
    total = {_key(value): count for value, count in a.items()}
    for value, count in b.items():
        total[_key(value)] = total.get(_key(value), 0) + count
    if len(total) > MOST_COUNTED:
        raise ResourceError(
            f"there are more than {MOST_COUNTED} different values (each is kept in memory with its count)",
            "a histogram, quantile(), or rounded values",
        )
    return total


_NAN = float("nan")


def _key(value: Any) -> Any:
    return _NAN if isinstance(value, float) and math.isnan(value) else value


class Summary(Mapping[str, Mapping[str, float]]):
    """Statistics of columns by name: count, mean, std, min, quartiles, max."""

    def __init__(self, stats: Mapping[str, Stats], tallies: Sequence[Tally]) -> None:
        self._rows = {
            name: _statistics(of_column, tally)
            for (name, of_column), tally in zip(stats.items(), tallies, strict=True)
        }

    def __getitem__(self, name: str) -> Mapping[str, float]:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _cells(self) -> list[list[str]]:
        return [[name, *(f"{row[each]:.6g}" for each in STATISTICS)] for name, row in self._rows.items()]

    def __str__(self) -> str:
        rows = [["", *STATISTICS], *self._cells()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(text.rjust(w) for text, w in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in rows
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{each}</th>" for each in ("", *STATISTICS))
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _statistics(stats: Stats, tally: Tally) -> dict[str, float]:
    quartiles = quantiles_of(tally, [0.25, 0.5, 0.75])
    return {
        "count": stats.count,
        "mean": stats.mean,
        "std": stats.stddev,
        "min": stats.min,
        "25%": float(quartiles[0]),
        "50%": float(quartiles[1]),
        "75%": float(quartiles[2]),
        "max": stats.max,
    }
