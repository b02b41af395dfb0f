"""The entries that are read together, their order, and the rows that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from colonnade.frame.steps import ENTRY, Steps

from .rows import Form, Rows, Table, count_of, cut, frozen, joined, taken

__all__ = ["ENTRIES", "Part", "Piece", "Share", "Window", "Windows"]

ENTRIES = "numbers of entries"
"""Their name among the rows: the column itself may be a feature, of another type."""


@dataclass(frozen=True)
class Share:
    """The entries whose hash is in [first, last) of [0, 1): independent of reading, filters and shuffling."""

    first: float = 0.0
    last: float = 1.0
    seed: int = 0

    def holds(self, entries: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return whether each entry belongs to the share."""
        fractions = (_hash(entries, self.seed) >> np.uint64(11)) * 2.0**-53
        return np.asarray((fractions >= self.first) & (fractions < self.last))

    def cut(self, fraction: float, seed: int) -> tuple[Share, Share]:
        """Return a fraction of the share, and the rest of it."""
        if (self.first, self.last) == (0.0, 1.0):
            return Share(0.0, fraction, seed), Share(fraction, 1.0, seed)
        middle = self.first + fraction * (self.last - self.first)
        return Share(self.first, middle, self.seed), Share(middle, self.last, self.seed)


def _hash(numbers: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """SplitMix64's output function (Steele, Lea and Flood, OOPSLA 2014) of numbers shifted by a hash of the seed."""
    state = np.asarray(numbers, np.uint64) + np.uint64(seed * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    for _ in range(2):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


@dataclass(frozen=True)
class Window:
    """Rows, and the order in which they are given out; their own if None."""

    rows: Rows
    order: NDArray[np.int64] | None

    def __len__(self) -> int:
        return count_of(self.rows)


@dataclass(frozen=True)
class Part:
    """Some rows of a window, consecutive in its order."""

    window: Window
    first: int
    last: int

    def rows(self) -> Rows:
        """Return the rows; without an order values are not copied."""
        if self.window.order is None:
            return cut(self.window.rows, self.first, self.last)
        return taken(self.window.rows, self.window.order[self.first : self.last])


class Piece(NamedTuple):
    """Consecutive rows of a stretch; all if there is no last one."""

    stretch: int
    first: int = 0
    last: int | None = None


class Windows:
    """Rows in windows: stretches of entries in the order of a seed, then the rows of each window likewise.

    Stretches follow from the data, `window` and the number of ranks alone, so that a seed gives the same order
    everywhere. Windows have the tables, and the columns that are named as single ones.
    """

    def __init__(
        self,
        steps: Steps,
        forms: Mapping[str, Form],
        tables: Mapping[str, Table],
        single: Sequence[str],
        share: Share,
        window: int,
        *,
        keeps: bool,
        ranks: int = 1,
    ) -> None:
        self._steps, self._forms, self._share = steps, forms, share
        self._tables, self._single = tables, [*single, ENTRIES]
        self._stretches = _stretches(steps.parts(), window, ranks)
        self._window = window
        self._kept: dict[int, Rows] | None = {} if keeps else None
        self._counts: NDArray[np.int64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the rows that are kept: another process reads them again."""
        return vars(self) | {"_kept": None if self._kept is None else {}}

    def of(self, share: Share, ranks: int) -> Windows:
        """Return the windows of another share, for a number of ranks; its rows are kept separately."""
        return Windows(
            self._steps,
            self._forms,
            self._tables,
            self._single[:-1],
            share,
            self._window,
            keeps=self._kept is not None,
            ranks=ranks,
        )

    @property
    def identity(self) -> tuple[Any, ...]:
        """What the windows follow from, but for the values that they hold."""
        share = self._share
        return (self._window, self._stretches, share.first, share.last, share.seed)

    def plan(
        self, generator: np.random.Generator | None, rows: tuple[int, int] | None = None
    ) -> list[list[Piece]]:
        """Return the stretches of each window, in order; in the order of entries without a generator.

        Args:
            generator: of the order.
            rows: the first row and the end of those that are wanted, of all rows in this order.
        """
        order: Sequence[int] = range(len(self._stretches))
        if generator is not None:
            order = generator.permutation(len(self._stretches)).tolist()
        pieces = [Piece(number) for number in order] if rows is None else self._between(order, *rows)
        windows: list[list[Piece]] = []
        held = self._window
        for piece in pieces:
            size = self._stretches[piece.stretch][1] - self._stretches[piece.stretch][0]
            if held + size > self._window:
                windows.append([])
                held = 0
            windows[-1].append(piece)
            held += size
        return windows

    def rows_of(self, window: Sequence[Piece], generator: np.random.Generator | None) -> Window:
        """Compute the rows of a window; their order is random if there is a generator.

        They are permuted when they are used: each is then fetched from memory once.
        """
        pieces = [
            self._rows_of(number) if last is None else cut(self._rows_of(number), first, last)
            for number, first, last in window
        ]
        rows = joined([{name: piece[name] for name in self._single} for piece in pieces])
        rows |= {name: table.filled(pieces) for name, table in self._tables.items()}
        return Window(rows, None if generator is None else generator.permutation(count_of(rows)))

    def counts(self) -> NDArray[np.int64]:
        """Return the number of rows of each stretch; computes the filters once."""
        if self._counts is None:
            counting = self._steps.only([ENTRY])
            entries = (np.asarray(counting.compute(*each)[ENTRY].data()) for each in self._stretches)
            self._counts = np.array([self._share.holds(each).sum() for each in entries], np.int64)
        return self._counts

    def values(self, name: str) -> Iterator[NDArray[Any]]:
        """Yield the values of a column of numbers, of all rows in the order of entries."""
        for number in range(len(self._stretches)):
            yield cast("NDArray[Any]", self._rows_of(number)[name])

    def _between(self, order: Sequence[int], first: int, last: int) -> list[Piece]:
        """Return the pieces of stretches, in this order, that hold the rows [first, last)."""
        pieces = []
        end = 0
        for number in order:
            begin, end = end, end + int(self.counts()[number])
            if max(begin, first) < min(end, last):
                pieces.append(Piece(number, max(first - begin, 0), min(end, last) - begin))
        return pieces

    def _rows_of(self, number: int) -> Rows:
        if self._kept is not None and number in self._kept:
            return self._kept[number]
        computed = self._steps.compute(*self._stretches[number])
        rows: Rows = {name: form.column(computed[form.name]) for name, form in self._forms.items()}
        rows[ENTRIES] = entries = np.asarray(computed[ENTRY].data())
        if self._share != Share():
            rows = taken(rows, np.flatnonzero(self._share.holds(entries)))
        if self._kept is not None:
            self._kept[number] = frozen(rows)
        return rows


def _stretches(parts: Sequence[tuple[int, int]], window: int, ranks: int) -> list[tuple[int, int]]:
    """Combines parts up to a quarter of a window, and cuts parts that exceed it.

    For several ranks, up to a quarter of a rank's share: both ranks read a stretch that they share.
    """
    entries = sum(last - first for first, last in parts)
    size = max((window if ranks == 1 else min(window, entries // ranks)) // 4, 1)
    found: list[tuple[int, int]] = []
    for first, last in parts:
        pieces = [(begin, min(begin + size, last)) for begin in range(first, last, size)]
        if found and found[-1][1] == first and pieces[0][1] - found[-1][0] <= size:
            found[-1] = (found[-1][0], pieces.pop(0)[1])
        found += pieces
    return found
