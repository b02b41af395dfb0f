"""The branches of a TTree in its bytes, of which only what tells one from another is looked at.

Only plain branches are known: those of numbers and texts, of one or several leaves, written by ROOT since 6.14 or by
uproot. Each number of bytes is checked, so that uproot reads without errors what is found here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

__all__ = [
    "CLASS",
    "COUNTED",
    "LEAVES",
    "NEW_CLASS",
    "REFERENCED",
    "TAG_OFFSET",
    "Baskets",
    "Numbers",
    "PlainBranch",
    "PlainLeaf",
    "baskets_of",
    "numbers_of",
    "plain_branch",
]

LEAVES = {
    "TLeafB": 2,
    "TLeafC": 8,
    "TLeafD": 16,
    "TLeafF": 8,
    "TLeafI": 8,
    "TLeafL": 16,
    "TLeafO": 2,
    "TLeafS": 4,
}
"""The bytes after what all leaves have: their smallest and their largest value."""
COUNTED = 0x40000000
"""In numbers of bytes, which do not count themselves."""
NEW_CLASS = 0xFFFFFFFF
CLASS = 0x80000000
"""In the tags of objects whose class was told before."""
TAG_OFFSET = 2
"""Added to places in tags."""
REFERENCED = 0x10
"""The bit of objects with a further number."""
_LONG = 255
"""The first byte of a text whose length follows in four bytes."""
_TAG = struct.Struct(">II")
_COUNT = struct.Struct(">i")
_NAMED = struct.Struct(">IHIHHII")
_MIDDLE = struct.Struct(">IHhhiiiiqIHIBiIiqqqqIHHIIBiiIHHIIBii")
_LEAF = struct.Struct(">IHIHIHHII")
_END_OF_LEAF = struct.Struct(">iiiBBI")
_ARRAY = struct.Struct(">IH")


class PlainLeaf(NamedTuple):
    """A leaf without its smallest and largest value."""

    kind: str
    name: str
    title: str
    length: int
    size: int
    offset: int
    is_range: int
    is_unsigned: int
    counter: tuple[int, int] | None
    """The numbers of the branch, and of the leaf in it, that count the values."""


class PlainBranch(NamedTuple):
    """A branch; `structure` equals that of others with the same values in other baskets."""

    structure: tuple[object, ...]
    name: str
    title: str
    leaves: tuple[PlainLeaf, ...]
    tags: tuple[int, ...]
    """Those of the leaves."""
    start: int
    begin: int
    """After its tag."""
    middle: int
    """After its title."""
    end_of_leaves: int
    end: int
    entries: int
    first_entry: int
    total_bytes: int
    compressed_bytes: int
    written: int
    """The number of baskets."""
    capacity: int
    arrays: int
    """Where the arrays of baskets begin."""


class _OtherError(Exception):
    """It is no plain branch."""


def plain_branch(
    data: bytes, at: int, origin: int, classes: Callable[[int], str], counters: Mapping[int, tuple[int, int]]
) -> tuple[PlainBranch, dict[int, str]] | None:
    """Look at the branch that begins at a place.

    Args:
        data: the bytes of the tree.
        at: the place.
        origin: the place from which tags count.
        classes: returns the name of a class told before, by tag; empty for others.
        counters: the leaves before, by tag, see `PlainLeaf.counter`.

    Returns:
        The branch, and the classes that it tells; None if it is another one, or damaged.
    """
    told: dict[int, str] = {}
    try:
        return _plain_branch(data, at, origin, classes, told, counters), told
    except (_OtherError, struct.error, IndexError):
        return None


def _plain_branch(
    data: bytes,
    start: int,
    origin: int,
    classes: Callable[[int], str],
    told: dict[int, str],
    counters: Mapping[int, tuple[int, int]],
) -> PlainBranch:
    kind, begin, end = _object(data, start, origin, classes, told)
    if kind != "TBranch":
        raise _OtherError
    size, version, inner, named, is_object, _, bits = _NAMED.unpack_from(data, begin)
    if size != end - begin - 4 | COUNTED or version != 13 or named != 1 or is_object != 1:
        raise _OtherError
    name, at = _text(data, begin + _NAMED.size)
    title, at = _text(data, at)
    middle = at
    if inner != at - begin - 10 | COUNTED or bits & REFERENCED:
        raise _OtherError
    (
        *fill,
        color,
        style,
        compression,
        _,
        _,
        written,
        _,
        features_size,
        features_version,
        features_checksum,
        features,
        offset,
        capacity,
        split_level,
        entries,
        first_entry,
        total_bytes,
        compressed_bytes,
        branches_size,
        branches_version,
        branches_object,
        _,
        branches_bits,
        branches_name,
        branches,
        _,
        leaves_size,
        leaves_version,
        leaves_object,
        _,
        leaves_bits,
        leaves_name,
        count,
        _,
    ) = _MIDDLE.unpack_from(data, at)
    at += _MIDDLE.size
    end_of_leaves = at - 21 + (leaves_size ^ COUNTED)
    if (
        fill != [6 | COUNTED, 2]
        or features_size != 7 | COUNTED
        or features_version != 0
        or branches_size != 21 | COUNTED
        or branches_version != 3
        or branches_object != 1
        or branches_name != 0
        or branches != 0
        or (branches_bits | leaves_bits) & REFERENCED
        or not at < end_of_leaves < end
        or leaves_version != 3
        or leaves_object != 1
        or leaves_name != 0
        or count < 1
    ):
        raise _OtherError
    leaves, tags = [], []
    for _ in range(count):
        tags.append(at - origin + TAG_OFFSET)
        leaf, at = _leaf(data, at, end_of_leaves, origin, classes, told, counters)
        leaves.append(leaf)
    if at != end_of_leaves:
        raise _OtherError
    size, _ = _ARRAY.unpack_from(data, at)
    at += 4 + (size ^ COUNTED)
    name_of_file, last = _text(data, at + 3 + 20 * capacity)
    if not end_of_leaves < at < end or not size & COUNTED or last != end:
        raise _OtherError
    if data[at] != 1 or data[at + 1 + 4 * capacity] != 1 or data[at + 2 + 12 * capacity] != 1:
        raise _OtherError
    all_leaves = tuple(leaves)
    structure = (
        name,
        title,
        (color, style, compression, split_level, features_checksum, features, offset, first_entry),
        all_leaves,
        name_of_file,
    )
    return PlainBranch(
        structure,
        name,
        title,
        all_leaves,
        tuple(tags),
        start,
        begin,
        middle,
        end_of_leaves,
        end,
        entries,
        first_entry,
        total_bytes,
        compressed_bytes,
        written,
        capacity,
        at,
    )


def _leaf(
    data: bytes,
    start: int,
    stop: int,
    origin: int,
    classes: Callable[[int], str],
    told: dict[int, str],
    counters: Mapping[int, tuple[int, int]],
) -> tuple[PlainLeaf, int]:
    kind, begin, end = _object(data, start, origin, classes, told)
    after = LEAVES.get(kind)
    size, version, of_leaf, base, inner, named, is_object, _, bits = _LEAF.unpack_from(data, begin)
    if after is None or end > stop or bits & REFERENCED or is_object != 1:
        raise _OtherError
    name, at = _text(data, begin + _LEAF.size)
    title, at = _text(data, at)
    if (size, version) != (end - begin - 4 | COUNTED, 1) or (inner, named) != (
        at - begin - 16 | COUNTED,
        1,
    ):
        raise _OtherError
    length, size_of_type, offset, is_range, is_unsigned, tag = _END_OF_LEAF.unpack_from(data, at)
    at += _END_OF_LEAF.size
    if (of_leaf, base) != (at - begin - 10 | COUNTED, 2) or at + after != end:
        raise _OtherError
    counter = counters.get(tag)
    if tag and counter is None:
        raise _OtherError
    leaf = PlainLeaf(kind, name, title, length, size_of_type, offset, is_range, is_unsigned, counter)
    return leaf, end


def _object(
    data: bytes, start: int, origin: int, classes: Callable[[int], str], told: dict[int, str]
) -> tuple[str, int, int]:
    """The class of an object, where it begins and where it ends."""
    size, tag = _TAG.unpack_from(data, start)
    begin, end = start + _TAG.size, start + 4 + (size ^ COUNTED)
    if not size & COUNTED or not begin < end <= len(data):
        raise _OtherError
    if tag == NEW_CLASS:
        stop = data.find(b"\0", begin, end)
        kind = data[begin:stop].decode("latin-1")
        told[start + 4 - origin + TAG_OFFSET] = kind
        return kind, stop + 1, end
    reference = tag ^ CLASS
    return told.get(reference) or classes(reference), begin, end


def _text(data: bytes, at: int) -> tuple[str, int]:
    """A text, and the place behind it."""
    size = data[at]
    at += 1
    if size == _LONG:
        (size,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
    end = at + size
    if not at <= end <= len(data):
        raise _OtherError
    return data[at:end].decode(errors="surrogateescape"), end


# ---- Numbers


@dataclass(frozen=True)
class Numbers:
    """What of plain branches differs between trees of the same structure: for each its values in arrays."""

    begins: np.ndarray
    ends: np.ndarray
    entries: np.ndarray
    first_entries: np.ndarray
    total_bytes: np.ndarray
    compressed_bytes: np.ndarray
    written: np.ndarray
    capacities: np.ndarray
    arrays: np.ndarray
    """See `PlainBranch`."""


def numbers_of(branches: Collection[PlainBranch]) -> Numbers:
    """Return those of branches."""
    rows = [
        (
            each.begin,
            each.end,
            each.entries,
            each.first_entry,
            each.total_bytes,
            each.compressed_bytes,
            each.written,
            each.capacity,
            each.arrays,
        )
        for each in branches
    ]
    return Numbers(*np.array(rows, np.int64).reshape(-1, len(fields(Numbers))).T)


@dataclass(frozen=True)
class Baskets:
    """The baskets of plain branches."""

    are_regular: list[bool]
    """By branch, whether all its entries are in baskets in the order of entries, each with a place in the file."""
    places: np.ndarray
    """Those of the regular ones."""


def baskets_of(data: memoryview, branches: Numbers) -> Baskets:
    """Look at the baskets of plain branches, of all at once."""
    regular = (branches.written >= 0) & (branches.written < branches.capacities)
    numbers = np.flatnonzero(regular)
    counts, capacities, arrays = (
        each[numbers] for each in (branches.written, branches.capacities, branches.arrays)
    )

    def gathered(kind: str, begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        ends = (begins + lengths * np.dtype(kind).itemsize).tolist()
        parts = [data[begin:end] for begin, end in zip(begins.tolist(), ends, strict=True)]
        return np.frombuffer(b"".join(parts), kind).astype(np.int64)

    sizes = gathered(">i4", arrays + 1, counts)
    bounds = gathered(">i8", arrays + 2 + 4 * capacities, counts + 1)
    places = gathered(">i8", arrays + 3 + 12 * capacities, counts)
    owners = np.repeat(numbers, counts)
    regular[owners[(places == 0) | (sizes < 0)]] = False
    begins = np.cumsum(counts + 1) - (counts + 1)
    owners_of_bounds = np.repeat(numbers, counts + 1)
    falls = np.flatnonzero(np.diff(bounds) < 0)
    regular[owners_of_bounds[falls[owners_of_bounds[falls] == owners_of_bounds[falls + 1]]]] = False
    starts = (bounds[begins] != np.maximum(branches.first_entries[numbers], 0)) & (counts > 0)
    regular[numbers[starts | (bounds[begins + counts] != branches.entries[numbers])]] = False
    return Baskets(regular.tolist(), places[regular[owners]])
