"""The branches of a TTree in its bytes, of which only what tells one from another is looked at.

Only plain branches are known: those of numbers and texts, of one or several leaves, written by ROOT since 6.14 or by
uproot. Each number of bytes is checked, so that uproot reads without errors what is found here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "CLASS",
    "COUNTED",
    "LEAVES",
    "REFERENCED",
    "TAG_OFFSET",
    "Baskets",
    "BranchClass",
    "Found",
    "Numbers",
    "PlainBranch",
    "PlainLeaf",
    "baskets_of",
    "friends_of",
    "has_index",
    "numbers_of",
]

LEAVES = {
    "TLeafB": 2,
    "TLeafC": 8,
    "TLeafD": 16,
    "TLeafF": 8,
    "TLeafElement": 8,
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
_MIDDLE = struct.Struct(">IHhhiiiiqIHIBiIiqqqqIHHIIBii")
_BASE = struct.Struct(">IHI")
_LEAVES = struct.Struct(">IHHIIBii")
_CLASS = struct.Struct(">IHiiiiII")
_MEMBER = struct.Struct(">ii")
_SIZE = struct.Struct(">I")
_BOUNDS = struct.Struct(">qq")
_PLACE = struct.Struct(">q")
_OTHER = ((14, 34), (49, 53), (57, 65), (73, 89))
"""After the title of a branch: what differs without being part of the structure, or is looked at by itself."""
_LEAF = struct.Struct(">IHIHIHHII")
_END_OF_LEAF = struct.Struct(">iiiBBI")
_ARRAY = struct.Struct(">IH")


class PlainLeaf(NamedTuple):
    """A leaf without its smallest and largest value."""

    kind: str
    """Empty for one that another branch has, see `counter`."""
    name: str = ""
    title: str = ""
    length: int = 0
    size: int = 0
    offset: int = 0
    is_range: int = 0
    is_unsigned: int = 0
    counter: tuple[int, int] | None = None
    """The numbers of the branch, and of the leaf in it, that count the values."""
    member: tuple[int, int] = (0, 0)
    """The number of the member that a TLeafElement has, and its type."""


class BranchClass(NamedTuple):
    """What a branch with values of a class, or of a member of one, has besides that of all."""

    name: str
    name_of_parent: str
    name_of_clones: str
    checksum: int
    version: int
    number: int
    """Of the member; -1 for whole objects."""
    kind: int
    kind_of_member: int
    counters: tuple[int | None, ...]
    """The numbers of branches."""


class PlainBranch(NamedTuple):
    """A branch; `structure` equals that of others with the same values in other baskets."""

    structure: tuple[object, ...]
    name: str
    title: str
    leaves: tuple[PlainLeaf, ...]
    above: int
    """The number of the branch to which it belongs; -1 for none."""
    has_branches: bool
    class_: BranchClass | None
    start: int
    begin: int
    """After its tag."""
    middle: int
    """After its title."""
    branches: tuple[int, int]
    """Where the branches below it begin, and where they end."""
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


class _Values(NamedTuple):
    """What a branch has between its title and the branches below it, see `_MIDDLE`."""

    fill_size: int
    fill_version: int
    color: int
    style: int
    compression: int
    basket_size: int
    offset_length: int
    written: int
    next_entry: int
    features_size: int
    features_version: int
    features_checksum: int
    features: int
    offset: int
    capacity: int
    split_level: int
    entries: int
    first_entry: int
    total_bytes: int
    compressed_bytes: int
    branches_size: int
    branches_version: int
    branches_object: int
    branches_number: int
    branches_bits: int
    branches_name: int
    branches: int
    lower_bound: int


class _OtherError(Exception):
    """It is no plain branch."""


class Found:
    """What is found in the bytes of a tree.

    Args:
        data: the bytes.
        origin: the place from which tags count.
        classes: returns the name of a class told before, by tag; empty for others.
    """

    def __init__(self, data: bytes, origin: int, classes: Callable[[int], str]) -> None:
        self.data, self.origin, self.classes = data, origin, classes
        self.branches: list[PlainBranch] = []
        """A branch is followed by those below it."""
        self.told: dict[int, str] = {}
        """The classes that are told, by tag."""
        self.leaves: dict[int, tuple[int, int]] = {}
        """By tag, see `PlainLeaf.counter`."""
        self.sizes: list[tuple[int, int]] = []
        """Where a number of bytes is, and where these end."""
        self.tags: list[int] = []
        """Where tags of objects and classes are, if they are not told here."""
        self.others: list[tuple[int, int]] = []
        """What differs in branches with the same structure: where it begins and ends."""
        self.numbers: dict[int, int] = {}
        """Those of branches, by tag."""

    def add(self, at: int) -> int | None:
        """Add the branch that begins at a place, and those below it.

        Returns:
            The place behind it; None if it is another one, or damaged, and nothing was added.
        """
        lists: tuple[list[Any], ...] = (self.branches, self.sizes, self.tags, self.others)
        known: tuple[dict[int, Any], ...] = (self.told, self.leaves, self.numbers)
        lengths, counts = list(map(len, lists)), list(map(len, known))
        try:
            return self._branch(at, -1)
        except (_OtherError, struct.error, IndexError):
            for each, length in zip(lists, lengths, strict=True):
                del each[length:]
            for tags, count in zip(known, counts, strict=True):
                for tag in list(tags)[count:]:
                    del tags[tag]
            return None

    def _branch(self, start: int, above: int) -> int:
        """Add the branch that begins at a place, and those below it, and return the place behind it."""
        kind, begin, end = self._object(start)
        number = len(self.branches)
        self.numbers[start - self.origin + TAG_OFFSET] = number
        has_class = kind == "TBranchElement"
        base, end_of_base = self._base(begin, end) if has_class else (begin, end)
        if not has_class:
            self.sizes.append((begin, end))
            if kind != "TBranch":
                raise _OtherError
        name, title, middle = self._names(base, end_of_base)
        values = self._values(middle, end_of_base, has_class)
        self.branches.append(_UNKNOWN)  # those below have the next numbers
        begin_of_branches = at = middle + _MIDDLE.size
        for _ in range(values.branches):
            at = self._branch(at, number)
        end_of_branches = at
        if at != _end_of_branches(middle, values):
            raise _OtherError
        leaves, end_of_leaves = self._leaves_of(at, end_of_base, number, has_class)
        arrays, name_of_file = self._arrays(end_of_leaves, end_of_base, values.capacity)
        if has_class and not 0 <= values.written < values.capacity:
            raise _OtherError
        class_ = self._class_of(end_of_base, end) if has_class else None
        settings = (
            values.color,
            values.style,
            values.compression,
            values.split_level,
            values.features_checksum,
            values.features,
            values.offset,
            values.first_entry,
        )
        self.branches[number] = PlainBranch(
            (name, title, settings, leaves, class_, above, name_of_file),
            name,
            title,
            leaves,
            above,
            values.branches > 0,
            class_,
            start,
            begin,
            middle,
            (begin_of_branches, end_of_branches),
            end_of_leaves,
            end,
            values.entries,
            values.first_entry,
            values.total_bytes,
            values.compressed_bytes,
            values.written,
            values.capacity,
            arrays,
        )
        return end

    def _base(self, begin: int, end: int) -> tuple[int, int]:
        """Where the part of a TBranchElement that is a TBranch begins and ends."""
        size, version, size_of_base = _BASE.unpack_from(self.data, begin)
        base, end_of_base = begin + 6, begin + 10 + (size_of_base ^ COUNTED)
        self.sizes += [(begin, end), (base, end_of_base)]
        if size != end - begin - 4 | COUNTED or version != 10 or not base < end_of_base <= end:
            raise _OtherError
        return base, end_of_base

    def _names(self, base: int, end_of_base: int) -> tuple[str, str, int]:
        """The name and the title of a branch, and the place behind them."""
        size, version, inner, named, is_object, _, bits = _NAMED.unpack_from(self.data, base)
        if size != end_of_base - base - 4 | COUNTED or version != 13 or named != 1 or is_object != 1:
            raise _OtherError
        name, at = _text(self.data, base + _NAMED.size)
        title, at = _text(self.data, at)
        if inner != at - base - 10 | COUNTED or bits & REFERENCED:
            raise _OtherError
        return name, title, at

    def _values(self, middle: int, end_of_base: int, has_class: bool) -> _Values:
        """What a branch has after its title, up to the branches below it."""
        values = _Values._make(_MIDDLE.unpack_from(self.data, middle))
        end_of_branches = _end_of_branches(middle, values)
        if (
            (values.fill_size, values.fill_version) != (6 | COUNTED, 2)
            or (values.features_size, values.features_version) != (7 | COUNTED, 0)
            or (values.branches_version, values.branches_object, values.branches_name) != (3, 1, 0)
            or values.branches_bits & REFERENCED
            or not middle + _MIDDLE.size <= end_of_branches < end_of_base
            or (values.branches > 0 and not has_class)
            or values.branches < 0
        ):
            raise _OtherError
        self.sizes.append((middle + _MIDDLE.size - 25, end_of_branches))
        self.others += [(middle + first, middle + last) for first, last in _OTHER]
        return values

    def _leaves_of(
        self, at: int, end_of_base: int, number: int, has_class: bool
    ) -> tuple[tuple[PlainLeaf, ...], int]:
        """The leaves of a branch, and the place behind them."""
        size, version, is_object, _, bits, name, count, _ = _LEAVES.unpack_from(self.data, at)
        end = at + 4 + (size ^ COUNTED)
        self.sizes.append((at, end))
        at += _LEAVES.size
        if (
            bits & REFERENCED
            or not at <= end < end_of_base
            or (version, is_object, name) != (3, 1, 0)
            or count < (0 if has_class else 1)
        ):
            raise _OtherError
        leaves: list[PlainLeaf] = []
        known = len(self.leaves)
        for _ in range(count):
            at = self._leaf(at, end, number, known, leaves)
        if at != end:
            raise _OtherError
        return tuple(leaves), end

    def _arrays(self, at: int, end_of_base: int, capacity: int) -> tuple[int, str]:
        """Where the arrays of baskets of a branch begin, and the file that has its baskets if it is another one."""
        data, end_of_leaves = self.data, at
        size, _ = _ARRAY.unpack_from(data, at)
        at += 4 + (size ^ COUNTED)
        name_of_file, last = _text(data, at + 3 + 20 * capacity)
        if not end_of_leaves < at < end_of_base or not size & COUNTED or last != end_of_base:
            raise _OtherError
        if data[at] != 1 or data[at + 1 + 4 * capacity] != 1 or data[at + 2 + 12 * capacity] != 1:
            raise _OtherError
        return at, name_of_file

    def _class_of(self, at: int, end: int) -> BranchClass:
        name, at = _text(self.data, at)
        name_of_parent, at = _text(self.data, at)
        name_of_clones, at = _text(self.data, at)
        checksum, version, number, kind, type_of_member, _, *counters = _CLASS.unpack_from(self.data, at)
        if at + _CLASS.size != end:
            raise _OtherError
        self.others.append((end - 12, end - 8))
        known = []
        for place, tag in zip((end - 8, end - 4), counters, strict=True):
            if tag:
                known.append(self.numbers.get(tag))
                self.tags.append(place)
        if None in known:
            raise _OtherError
        numbers = (checksum, version, number, kind, type_of_member)
        return BranchClass(name, name_of_parent, name_of_clones, *numbers, tuple(known))

    def _leaf(self, start: int, stop: int, branch: int, known: int, leaves: list[PlainLeaf]) -> int:
        """Add a leaf to those of a branch, and return the place behind it.

        Leaves that were known when those of the branch begin may be told by their tags.
        """
        (tag,) = _SIZE.unpack_from(self.data, start)
        if tag & COUNTED:
            leaf, end = self._new_leaf(start, stop, branch, known)
            leaves.append(leaf)
            return end
        counter = self.leaves.get(tag)
        if counter is None:
            raise _OtherError
        self.tags.append(start)
        leaves.append(PlainLeaf("", counter=counter))
        return start + 4

    def _new_leaf(self, start: int, stop: int, branch: int, known: int) -> tuple[PlainLeaf, int]:
        data = self.data
        kind, begin, end = self._object(start)
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
        counter = None
        if tag & COUNTED:
            _, at = self._new_leaf(at - 4, end, branch, known)
            counter = branch, len(self.leaves) - known - 1
        elif tag:
            counter = self.leaves.get(tag)
            self.tags.append(at - 4)
            if counter is None:
                raise _OtherError
        if (of_leaf, base) != (at - begin - 10 | COUNTED, 2) or at + after != end:
            raise _OtherError
        self.sizes += [(begin, end), (begin + 6, at)]
        self.leaves[start - self.origin + TAG_OFFSET] = branch, len(self.leaves) - known
        member = (0, 0)
        if kind == "TLeafElement":
            member = _MEMBER.unpack_from(data, at)
        else:
            self.others.append((at, end))
        leaf = PlainLeaf(
            kind, name, title, length, size_of_type, offset, is_range, is_unsigned, counter, member
        )
        return leaf, end

    def _object(self, start: int) -> tuple[str, int, int]:
        """The class of an object, where it begins and where it ends."""
        data = self.data
        size, tag = _TAG.unpack_from(data, start)
        begin, end = start + _TAG.size, start + 4 + (size ^ COUNTED)
        if not size & COUNTED or not begin < end <= len(data):
            raise _OtherError
        self.sizes.append((start, end))
        if tag == NEW_CLASS:
            stop = data.find(b"\0", begin, end)
            kind = data[begin:stop].decode("latin-1")
            self.told[start + 4 - self.origin + TAG_OFFSET] = kind
            return kind, stop + 1, end
        self.tags.append(start + 4)
        reference = tag ^ CLASS
        return self.told.get(reference) or self.classes(reference), begin, end


_UNKNOWN: Any = None


def _end_of_branches(middle: int, values: _Values) -> int:
    return middle + _MIDDLE.size - 21 + (values.branches_size ^ COUNTED)


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
    have_branches: np.ndarray
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
            each.has_branches,
        )
        for each in branches
    ]
    return Numbers(*np.array(rows, np.int64).reshape(-1, len(fields(Numbers))).T)


@dataclass(frozen=True)
class Baskets:
    """The baskets of plain branches."""

    are_regular: list[bool]
    """By branch, whether all its entries are in baskets in the order of entries, each with a place in the file.

    Also if it has none, but branches below it.
    """
    places: np.ndarray
    """Those of the regular ones."""
    _data: memoryview
    _numbers: Numbers

    def first(self, number: int, entries: int) -> list[tuple[int, int, int]]:
        """The place, the number of bytes and that of entries of each of the first baskets of a regular branch."""
        count, capacity, at = (
            int(each[number])
            for each in (self._numbers.written, self._numbers.capacities, self._numbers.arrays)
        )
        found = []
        for basket in range(count):
            (size,) = _COUNT.unpack_from(self._data, at + 1 + 4 * basket)
            start, stop = _BOUNDS.unpack_from(self._data, at + 2 + 4 * capacity + 8 * basket)
            (place,) = _PLACE.unpack_from(self._data, at + 3 + 12 * capacity + 8 * basket)
            if start >= entries:
                break
            found.append((place, size, stop - start))
        return found


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
    uneven = starts | (bounds[begins + counts] != branches.entries[numbers])
    nothing = branches.have_branches[numbers].astype(bool) & (counts == 0)
    regular[numbers[uneven & ~nothing]] = False
    return Baskets(regular.tolist(), places[regular[owners]], data, branches)


# ---- Friends

_FRIEND = b"\xff\xff\xff\xffTFriendElement\0"
_BEFORE_NAME = 22
"""In a friend: the headers of it and of its name, and its bits."""


def friends_of(data: bytes) -> list[tuple[str, str, str]]:
    """The name, the tree and the file, empty if it is the same, of each friend that is stored with a tree."""
    begin = data.find(_FRIEND)
    found: list[tuple[str, str, str]] = []
    if begin < 0:
        return found
    start, begin = begin - 4, begin + len(_FRIEND)
    try:
        (count,) = _COUNT.unpack_from(data, start - 4)
        for _ in range(count):
            (size,) = _SIZE.unpack_from(data, start)
            name, at = _text(data, begin + _BEFORE_NAME)
            file, at = _text(data, at)
            tree, _ = _text(data, at)
            found.append((name, tree, file))
            _, start = _text(data, start + 4 + (size ^ COUNTED))  # an option
            begin = start + _TAG.size
    except (_OtherError, struct.error, IndexError):
        return []
    return found


def has_index(data: bytes) -> bool:
    """True if entries of a tree are found by the values of branches, if it is a friend (`TTree::BuildIndex`)."""
    return any(b"\xff\xff\xff\xff%b\0" % name in data for name in (b"TTreeIndex", b"TChainIndex"))
