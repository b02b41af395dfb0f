"""Finds in the bytes of a TTree the same plain branches as in another one, without looking at each by itself."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from .tree_bytes import CLASS, COUNTED, LEAVES, NEW_CLASS, TAG_OFFSET, Numbers, PlainBranch

__all__ = ["Pattern"]

_SIZE = struct.Struct(">I")
_TAG = struct.Struct(">II")
# After the title of a branch: what differs without being part of the structure, or is looked at by itself.
_OTHER = ((14, 34), (49, 53), (57, 65), (73, 89))
_WRITTEN, _CAPACITY, _ENTRIES, _TOTAL, _COMPRESSED = 22, 49, 57, 73, 81


class Pattern:
    """The branches of a tree, all of which are plain.

    Raises:
        ValueError: they refer to what is not among them.
    """

    def __init__(self, data: bytes, origin: int, branches: Sequence[PlainBranch]) -> None:
        if any(each.structure[-1] for each in branches):
            raise ValueError("baskets in other files")
        self.branches = branches
        self._starts = np.array([each.start for each in branches], np.int64)
        self._lengths = np.array([each.end_of_leaves for each in branches], np.int64) - self._starts
        self._offsets = np.cumsum(self._lengths) - self._lengths
        self._begins = np.array([each.begin for each in branches], np.int64) - self._starts
        self._middles = np.array([each.middle for each in branches], np.int64) - self._starts
        self._first_entries = np.array([each.first_entry for each in branches], np.int64)
        self._heads = np.frombuffer(
            b"".join(data[each.start : each.end_of_leaves] for each in branches), np.uint8
        )
        self.told: list[tuple[int, int, str]] = []
        """The classes that are told: the number of the branch, the place in it, and the name."""
        self._is_fixed = np.ones(len(self._heads), bool)
        self._tags: list[tuple[int, int]] = []
        self._leaves: list[tuple[int, int]] = []
        for number, each in enumerate(branches):
            self._look_at(data, origin, number, each)
        places = {self._tag_of(place, origin): place for place in self._leaves}
        classes = {CLASS | self._tag_of((number, at), origin): (number, at) for number, at, _ in self.told}
        targets = []
        for number, at in self._tags:
            (tag,) = _SIZE.unpack_from(data, int(self._starts[number]) + at)
            target = classes.get(tag) or places.get(tag)
            if target is None:
                raise ValueError("a tag of something else")
            targets.append((*target, CLASS if tag in classes else 0))
        self._tags_at = np.array(self._tags, np.int64).reshape(-1, 2)
        self._targets = np.array(targets, np.int64).reshape(-1, 3)
        self._leaves_at = np.array(self._leaves, np.int64).reshape(-1, 2)

    def _tag_of(self, place: tuple[int, int], origin: int) -> int:
        return int(self._starts[place[0]]) + place[1] - origin + TAG_OFFSET

    def _look_at(self, data: bytes, origin: int, number: int, branch: PlainBranch) -> None:
        start, offset = branch.start, int(self._offsets[number])

        def differs(begin: int, end: int) -> None:
            self._is_fixed[offset + begin - start : offset + end - start] = False

        differs(start, start + 4)
        differs(branch.begin, branch.begin + 4)
        for begin, end in _OTHER:
            differs(branch.middle + begin, branch.middle + end)
        objects = [
            (start, ""),
            *((tag - TAG_OFFSET + origin, leaf.kind) for tag, leaf in self._tagged(branch)),
        ]
        for at, kind in objects:
            size, tag = _TAG.unpack_from(data, at)
            if tag == NEW_CLASS:
                self.told.append((number, at + 4 - start, kind or "TBranch"))
            else:
                self._tags.append((number, at + 4 - start))
                differs(at + 4, at + 8)
            if kind:
                end = at + 4 + (size ^ COUNTED)
                counter = end - LEAVES[kind] - 4
                differs(end - LEAVES[kind], end)
                self._leaves.append((number, at - start))
                if _SIZE.unpack_from(data, counter)[0]:
                    self._tags.append((number, counter - start))
                    differs(counter, counter + 4)

    @staticmethod
    def _tagged(branch: PlainBranch) -> zip:  # type: ignore[type-arg]
        return zip(branch.tags, branch.leaves, strict=True)

    def match(self, data: bytes, start: int, origin: int, count: int) -> tuple[Numbers, np.ndarray] | None:
        """Find the branches from a place on.

        Returns:
            What differs, and the places at which they start; None if there are others.
        """
        if count != len(self.branches):
            return None
        found, at = [], start
        try:
            for _ in range(count):
                found.append(at)
                at += 4 + (_SIZE.unpack_from(data, at)[0] ^ COUNTED)
        except struct.error:
            return None
        starts, ends = np.array(found, np.int64), np.array([*found[1:], at], np.int64)
        stops = starts + self._lengths
        if at > len(data) or np.any(stops + 4 > ends):
            return None
        parts = [data[begin:end] for begin, end in zip(found, stops.tolist(), strict=True)]
        heads = np.frombuffer(b"".join(parts), np.uint8)
        if np.any((heads != self._heads) & self._is_fixed):
            return None
        tags, targets = self._tags_at, self._targets
        expected = starts[targets[:, 0]] + targets[:, 1] - origin + TAG_OFFSET | targets[:, 2]
        if np.any(_values(heads, self._offsets[tags[:, 0]] + tags[:, 1], ">u4") != expected):
            return None
        begins = starts + self._begins
        if np.any(_values(heads, self._offsets + self._begins, ">u4") != ends - begins - 4 | COUNTED):
            return None
        middles = self._offsets + self._middles
        whole = np.frombuffer(data, np.uint8)
        sizes = _values(whole, stops, ">u4")
        capacities = _values(heads, middles + _CAPACITY, ">u4")
        arrays = stops + 4 + (sizes ^ COUNTED)
        names = arrays + 3 + 20 * capacities
        if np.any(
            (sizes & COUNTED == 0) | (names + 1 != ends) | (whole[np.minimum(names, len(data) - 1)] != 0)
        ):
            return None
        flags = (
            whole[place] for place in (arrays, arrays + 1 + 4 * capacities, arrays + 2 + 12 * capacities)
        )
        if any(np.any(each != 1) for each in flags):
            return None
        return Numbers(
            begins,
            ends,
            _values(heads, middles + _ENTRIES, ">i8"),
            self._first_entries,
            _values(heads, middles + _TOTAL, ">i8"),
            _values(heads, middles + _COMPRESSED, ">i8"),
            _values(heads, middles + _WRITTEN, ">i4"),
            capacities,
            arrays,
        ), starts

    def leaf_tags(self, starts: np.ndarray, origin: int) -> np.ndarray:
        """The tags of all leaves of branches that start at some places."""
        return starts[self._leaves_at[:, 0]] + self._leaves_at[:, 1] - origin + TAG_OFFSET


def _values(data: np.ndarray, places: np.ndarray, kind: str) -> np.ndarray:
    size = np.dtype(kind).itemsize
    return data[places[:, np.newaxis] + np.arange(size)].view(kind).ravel().astype(np.int64)
