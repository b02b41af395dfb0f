"""Summaries of columns: counts of values, tables of statistics."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.texts import counted_texts, texts_of
from colonnade.errors import ResourceError

from .results import Stats
from .tallies import Tally, quantiles_of

__all__ = ["Counts", "Summary", "flat_values"]

MOST_COUNTED = 10_000_000
"""Different values that are counted one by one, with some 100 bytes each."""

STATISTICS = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")


def flat_values(array: Any) -> Any:
    """All values of an array, with lists flattened and without missing values: a NumPy array, or texts of Awkward."""
    if isinstance(array, np.ndarray) or array.layout.parameter("__array__") == "string":
        return array
    # Most are plain lists of numbers, for which Awkward takes a quarter of a millisecond.
    layout = array.layout
    while isinstance(layout, ak.contents.ListOffsetArray) and layout.parameter("__array__") is None:
        offsets = layout.offsets.data
        layout = layout.content[int(offsets[0]) : int(offsets[-1])]
    if layout.is_numpy and not layout.inner_shape:
        return np.asarray(layout.data)
    flat = ak.drop_none(ak.flatten(array, axis=None) if array.ndim > 1 else array)
    return flat if flat.layout.parameter("__array__") == "string" else np.asarray(flat)


class Counts:
    """How often each value is there: an array of different values and one of counts, which are united now and then."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        """The different values of some blocks each, those of most blocks first: sorted numbers, or texts of Awkward."""
        self._counts: list[NDArray[np.int64]] = []
        self._nan = 0

    def add(self, values: Any) -> Counts:
        """Add what `flat_values` gives."""
        if isinstance(values, np.ndarray):
            if values.size:
                self._append(*self._counted(values))
        else:
            self._append(*_different_texts(values, None))
        return self

    def merged(self, other: Counts) -> Counts:
        """Both together, as counts of their own."""
        total = Counts()
        total._nan = self._nan + other._nan
        for each in (self, other):
            for values, counts in zip(each._values, each._counts, strict=True):
                total._append(values, counts)
        return total

    def different(self) -> list[Any]:
        """All different values in order, NaN last."""
        values = self._united()
        if not isinstance(values, np.ndarray):
            return sorted(texts_of(values.layout))
        return [*values.tolist(), *[_NAN][: self._nan]]

    def by_count(self) -> dict[Any, int]:
        """The counts, the highest first, then by value, NaN last."""
        numbers = self._united()
        counts = self._counts[0] if self._counts else np.empty(0, np.int64)
        if not isinstance(numbers, np.ndarray):
            counted = sorted(zip(texts_of(numbers.layout), counts.tolist(), strict=True), key=itemgetter(0))
            return dict(sorted(counted, key=itemgetter(1), reverse=True))  # stable
        order = np.argsort(-counts, kind="stable")
        values, found = numbers[order].tolist(), counts[order].tolist()
        if self._nan:
            place = int(np.searchsorted(-counts[order], -self._nan, side="right"))
            values.insert(place, _NAN)
            found.insert(place, self._nan)
        return dict(zip(values, found, strict=True))

    def _counted(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Count numbers; those that are NaN only here."""
        if values.dtype.kind == "f":
            values = values + values.dtype.type(0)  # no negative zeros
            missing = np.isnan(values)
            if missing.any():
                self._nan += int(np.count_nonzero(missing))
                values = values[~missing]
        else:
            low, high = int(values.min()), int(values.max())
            if high - low < 4 * values.size:
                # Differences of small integers may need more bits than these have, but wrap around to the right ones.
                unsigned = np.dtype(f"u{values.dtype.itemsize}")
                places = values.view(unsigned) - np.asarray(low).astype(values.dtype).view(unsigned)
                counts = np.bincount(places.astype(np.intp, copy=False), minlength=1)
                used = np.flatnonzero(counts)
                return (used.astype(unsigned) + values.min().view(unsigned)).view(values.dtype), counts[used]
        found, counts = np.unique(values, return_counts=True)
        return found, counts.astype(np.int64, copy=False)

    def _append(self, values: Any, counts: NDArray[np.int64]) -> None:
        if not len(values):
            return
        _check_number(len(values))
        self._values.append(values)
        self._counts.append(counts)
        if sum(map(len, self._values[1:])) > max(len(self._values[0]), _FEW):
            self._united()

    def _united(self) -> Any:
        """The different values, together with their counts in one array."""
        if len(self._values) > 1:
            counts = np.concatenate(self._counts)
            if isinstance(self._values[0], np.ndarray):
                values, counts = _different_numbers(np.concatenate(self._values), counts)
            else:
                values, counts = _different_texts(ak.concatenate(self._values), counts)
            _check_number(len(values))
            self._values, self._counts = [values], [counts]
        return self._values[0] if self._values else np.empty(0)


def _different_numbers(
    numbers: NDArray[Any], counts: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    order = np.argsort(numbers, kind="stable")
    numbers, counts = numbers[order], counts[order]
    first = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    ends = np.concatenate([[0], np.cumsum(counts)])
    return numbers[first], np.diff(ends[np.append(first, len(numbers))])


def _different_texts(texts: Any, counts: NDArray[np.int64] | None) -> tuple[Any, NDArray[np.int64]]:
    """Count texts; without `counts` each of them once."""
    different, found = counted_texts(texts.layout, counts)
    return ak.Array(different), found


def _check_number(different: int) -> None:
    if different > MOST_COUNTED:
        raise ResourceError(
            f"there are more than {MOST_COUNTED} different values (each is kept in memory with its count)",
            "a histogram, quantile(), or rounded values",
        )


_NAN = float("nan")
_FEW = 1 << 17
"""As many values may wait to be united."""


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
