"""Finds in the bytes of a TTree the same plain branches as in another one, without looking at each by itself."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .tree_bytes import CLASS, COUNTED, TAG_OFFSET, Found, Numbers

__all__ = ["Match", "Pattern"]

_SIZE = struct.Struct(">I")
# After the title of a branch.
_WRITTEN, _CAPACITY, _ENTRIES, _TOTAL, _COMPRESSED = 22, 49, 57, 73, 81


class Match(NamedTuple):
    """Branches that match a pattern."""

    numbers: Numbers
    end: int
    """The place behind them."""
    tags: list[int]
    """Those of the branches."""
    told: list[tuple[int, str]]
    """The classes that are told, by tag."""
    leaf_tags: np.ndarray
    """Those of all leaves."""


class _Places:
    """Places in what all trees have, which is cut where the baskets of branches are."""

    def __init__(self, cuts: Sequence[tuple[int, int]], start: int, places: Sequence[int]) -> None:
        found = np.array(places, np.int64)
        begins, ends = np.array(cuts, np.int64).reshape(-1, 2).T
        self.parts = np.searchsorted(ends, found, side="right")
        """Of each, the number of cuts before it."""
        sums = np.concatenate([[0], np.cumsum(ends - begins)])
        self.flat = found - start - sums[self.parts]
        """Without the cuts."""

    def of(self, shifts: np.ndarray) -> np.ndarray:
        """The places in another tree."""
        found: np.ndarray = self.flat + shifts[self.parts]
        return found


class Pattern:
    """The branches of a tree, all of which are plain.

    Raises:
        ValueError: they have baskets in other files, or refer to what is not among them.
    """

    def __init__(self, found: Found) -> None:
        branches, data = found.branches, found.data
        if not branches or any(each.structure[-1] for each in branches):
            raise ValueError("baskets in other files")
        self.branches, self.leaves = branches, list(found.leaves.values())
        self._count = sum(each.above < 0 for each in branches)
        start, end = branches[0].start, max(each.end for each in branches)
        # Those of a branch come after those of the branches below it.
        order = sorted(range(len(branches)), key=lambda number: branches[number].end_of_leaves)
        cuts = [
            (branches[each].end_of_leaves, branches[each].arrays + 4 + 20 * branches[each].capacity)
            for each in order
        ]
        bounds = [start, *itertools.chain(*cuts), end]
        parts = [data[begin:stop] for begin, stop in zip(bounds[::2], bounds[1::2], strict=True)]
        self._lengths = list(map(len, parts))
        self._flat = np.frombuffer(b"".join(parts), np.uint8)

        def places(found: Sequence[int]) -> _Places:
            return _Places(cuts, start, found)

        self._sizes = places([at for at, _ in found.sizes])
        self._ends_of_sizes = places([stop for _, stop in found.sizes])
        self._tags = places(found.tags)
        classes = {CLASS | tag for tag in found.told}
        known = classes | found.leaves.keys() | found.numbers.keys()
        tags = [_SIZE.unpack_from(data, at)[0] for at in found.tags]
        if not known.issuperset(tags):
            raise ValueError("a tag of something else")
        to_place = found.origin - TAG_OFFSET
        self._targets = places([(tag & ~CLASS) + to_place for tag in tags])
        self._classes = np.array([tag & CLASS for tag in tags], np.int64)
        self._told = places([tag + to_place for tag in found.told])
        self._names = list(found.told.values())
        self._leaves = places([tag + to_place for tag in found.leaves])
        self._starts = places([each.start for each in branches])
        self._begins = places([each.begin for each in branches])
        self._ends = places([each.end for each in branches])
        self._middles = places([each.middle for each in branches])
        self._first_entries = np.array([each.first_entry for each in branches], np.int64)
        self._have_branches = np.array([each.has_branches for each in branches], np.int64)
        self._capacities = [
            (int(self._middles.flat[each]) + _CAPACITY, int(self._middles.parts[each])) for each in order
        ]
        self._ranks = np.argsort(np.array(order, np.int64))
        self._is_fixed = np.ones(len(self._flat), bool)
        self._differs(self._sizes.flat, 4)
        self._differs(self._tags.flat, 4)
        others = places([begin for begin, _ in found.others])
        lengths = np.array([stop - begin for begin, stop in found.others])
        for length in set(lengths.tolist()):
            self._differs(others.flat[lengths == length], length)

    def _differs(self, flat: np.ndarray, length: int) -> None:
        self._is_fixed[flat[:, np.newaxis] + np.arange(length)] = False

    def match(self, data: bytes, start: int, origin: int, count: int) -> Match | None:
        """Find the branches from a place on; None if there are others."""
        if count != self._count:
            return None
        parts, arrays, capacities, shifts = [], [], [], [start]
        at = start
        try:
            for length, (place, part) in zip(self._lengths, self._capacities, strict=False):
                parts.append(data[at : at + length])
                at += length
                (size,) = _SIZE.unpack_from(data, at)
                (capacity,) = _SIZE.unpack_from(data, place + shifts[part])
                begin = at + 4 + (size ^ COUNTED)
                end = begin + 4 + 20 * capacity
                if not size & COUNTED or end > len(data):
                    return None
                if data[begin] != 1 or data[begin + 1 + 4 * capacity] != 1:
                    return None
                if data[begin + 2 + 12 * capacity] != 1 or data[end - 1] != 0:
                    return None
                arrays.append(begin)
                capacities.append(capacity)
                shifts.append(shifts[-1] + end - at)
                at = end
        except struct.error:
            return None
        parts.append(data[at : at + self._lengths[-1]])
        at += self._lengths[-1]
        flat = np.frombuffer(b"".join(parts), np.uint8)
        if len(flat) != len(self._flat) or np.any((flat != self._flat) & self._is_fixed):
            return None
        moved = np.array(shifts, np.int64)
        sizes = self._ends_of_sizes.of(moved) - self._sizes.of(moved) - 4
        if np.any(_values(flat, self._sizes.flat, ">u4") != sizes | COUNTED):
            return None
        to_tag = TAG_OFFSET - origin
        if np.any(_values(flat, self._tags.flat, ">u4") != self._targets.of(moved) + to_tag | self._classes):
            return None
        middles = self._middles.flat
        written = _values(flat, middles + _WRITTEN, ">i4")
        maxima = np.array(capacities, np.int64)[self._ranks]
        if np.any((written < 0) | (written >= maxima)):
            return None
        numbers = Numbers(
            self._begins.of(moved),
            self._ends.of(moved),
            _values(flat, middles + _ENTRIES, ">i8"),
            self._first_entries,
            _values(flat, middles + _TOTAL, ">i8"),
            _values(flat, middles + _COMPRESSED, ">i8"),
            written,
            maxima,
            np.array(arrays, np.int64)[self._ranks],
            self._have_branches,
        )
        told = zip((self._told.of(moved) + to_tag).tolist(), self._names, strict=True)
        tags = (self._starts.of(moved) + to_tag).tolist()
        return Match(numbers, at, tags, list(told), self._leaves.of(moved) + to_tag)


def _values(data: np.ndarray, places: np.ndarray, kind: str) -> np.ndarray:
    size = np.dtype(kind).itemsize
    return data[places[:, np.newaxis] + np.arange(size)].view(kind).ravel().astype(np.int64)
