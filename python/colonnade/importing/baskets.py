"""How baskets of TTrees are read. It imports uproot, unlike its siblings.

A tree that was not written to its end, as after an AutoSave, has the last baskets within itself. A flag tells whether
such a basket has the offsets of its entries; uproot (up to 5.7) guesses it from sizes. It also takes baskets without
a byte for such ones: those of lists that are all empty and whose lengths are those of a counter.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
from uproot.deserialization import read_object_any
from uproot.models.TBasket import Model_TBasket
from uproot.models.TObjArray import Model_TObjArrayOfTBaskets
from uproot.models.TObject import Model_TObject

from .bounds import checked
from .branches import first_entry

__all__ = ["mend_baskets", "mended", "named_as_its_base"]

_GENERATED = 80
"""Added to the flag of a basket whose offsets follow from a counter."""
_WITHOUT_OFFSETS = 2
"""The last digit of the flag of a basket without offsets."""
_WITH_BYTES = 10
"""Above it, a basket has its bytes; also if the flag is 1."""
_MASKED = range(21, 40)
"""Flags of baskets of which the upper bits of offsets are no part of them."""
_WITH_DISPLACEMENTS = 40
"""Above it, further numbers follow the offsets."""
_OFFSET_BITS = 0x00FFFFFF
_SMALL = 1024
"""Bytes of a basket that may be nothing but a header."""
_FLAG = struct.Struct(">B")
_COUNT = struct.Struct(">i")
_BOUNDS = struct.Struct(">ii")


def mend_baskets(branches: Iterable[Any]) -> None:
    """Let branches of uproot, and those below them, read their baskets as ROOT does."""
    for branch in branches:
        if not getattr(branch, "is_mended", False):
            kind: Any = type(branch)
            branch.__class__ = mended(kind)
            mend_baskets(branch.branches)


@functools.cache
def mended(kind: Any) -> type:
    """The class of branches that are mended, by that of uproot."""

    class Branch(kind):  # type: ignore[misc]
        _embedded_baskets: Any
        is_mended = True
        late: Any = None
        """Of a plain branch: see `late_branches`."""
        number: int

        @property
        def is_regular(self) -> bool:
            """True if the baskets are known to be in order, each at a place in the file: see `tree_bytes.Baskets`."""
            return self.late is not None and self.late.baskets.are_regular[self.number]

        @property
        def first_baskets(self) -> Any:
            """Returns the baskets that have some first entries, see `Baskets.first`; None if they are not known."""
            return functools.partial(self.late.baskets.first, self.number) if self.is_regular else None

        @property
        def num_leaves(self) -> int:
            return len(self.member("fLeaves"))

        @functools.cached_property
        def streamer(self) -> Any:
            found = super().streamer
            return _element_of(self) if found is None else found

        @functools.cached_property
        def count_branch(self) -> Any:
            above = self.count_leaf
            while above is not None and not hasattr(above, "count_leaf"):
                above = above.parent
            return above

        def basket(self, number: int) -> Any:
            if self.late is not None:
                self.late.has_read_baskets = True
            if not 0 <= number < self._num_normal_baskets:
                return super().basket(number)
            chunk, cursor = self.basket_chunk_cursor(number)
            place = (checked(chunk, self, number), cursor)
            return _Alone.read(*place, {"basket_num": number}, self._file, self._file, self)

        @property
        def num_entries(self) -> int:
            return first_entry(self) + int(self.member("fEntries"))

        @property
        def entry_offsets(self) -> Any:
            if self._num_normal_baskets or not first_entry(self):
                return super().entry_offsets
            counts = [basket.num_entries for basket in self.embedded_baskets]
            return np.cumsum([first_entry(self), *counts]).tolist()

        @property
        def embedded_baskets(self) -> Any:
            if self._embedded_baskets is None:
                place = (self.tree.chunk, self._cursor_baskets.copy())
                found = [each for each in _Array.read(*place, {}, self._file, self._file, self) if each]
                for number, basket in enumerate(found, self._num_normal_baskets):
                    basket._basket_num = number
                self._embedded_baskets = found
            return self._embedded_baskets

        def entries_to_ranges_or_baskets(self, start: int, stop: int) -> Any:
            found = super().entries_to_ranges_or_baskets(start, stop)
            if not _has_features(self):
                return found
            return [(each, self.basket(each) if _is_small(place) else place) for each, place in found]

    return named_as_its_base(Branch)


def _element_of(branch: Any) -> Any | None:
    """The member of a class with blanks in its name, as `tuple<unsigned int,string>`, which uproot does not find."""
    name = str(branch.member("fParentName", none_if_missing=True) or "")
    versions = branch.file.streamers.get(name) if " " in name else None
    if not versions:
        return None
    if str(branch.parent.member("fClonesName", none_if_missing=True)) == name:
        branch._streamer_isTClonesArray = True
    member = branch.name.rpartition(".")[2].partition("[")[0]
    elements = versions[max(versions)].walk_members(branch.file.streamers)
    return next((each for each in elements if each.name == member), None)


def named_as_its_base(kind: type) -> type:
    """The same class; uproot derives the name of ROOT's from its name."""
    kind.__name__, kind.__module__ = kind.__bases__[-1].__name__, kind.__bases__[-1].__module__
    return kind


def _has_features(branch: Any) -> bool:
    """True if baskets may lack the offsets of lists."""
    features = branch.member("fIOFeatures", none_if_missing=True)
    return features is not None and bool(features.member("fIOBits"))


def _is_small(place: Any) -> bool:
    return isinstance(place, tuple) and place[1] - place[0] < _SMALL


@named_as_its_base
class _Alone(Model_TBasket):  # type: ignore[misc]
    """A basket with a place of its own in the file."""

    is_embedded = False


@named_as_its_base
class _Within(Model_TBasket):  # type: ignore[misc]
    """A basket within its tree."""

    is_embedded = True

    def read_members(self, chunk: Any, cursor: Any, context: Any, file: Any) -> None:
        super().read_members(chunk, cursor, dict(context, read_basket=False), file)
        cursor.skip(-_FLAG.size)
        generated, flag = divmod(cursor.field(chunk, _FLAG, context), _GENERATED)
        key = self.member("fKeylen")
        if flag and not generated and flag % 10 != _WITHOUT_OFFSETS and self.num_entries:
            offsets = _numbers(chunk, cursor, context)
            if flag in _MASKED:
                offsets &= _OFFSET_BITS
            if flag > _WITH_DISPLACEMENTS:
                _numbers(chunk, cursor, context)
            self._byte_offsets = np.append(offsets - key, self.border).astype(np.int32)
        self._data = np.empty(0, np.uint8)
        if flag == 1 or flag > _WITH_BYTES:
            self._data = cursor.bytes(chunk.detach_memmap(), self.member("fLast"), context)[key:]


def _numbers(chunk: Any, cursor: Any, context: Any) -> Any:
    """An array of integers, which follow their number."""
    count = cursor.field(chunk, _COUNT, context)
    if count < 0:
        raise ValueError(f"a basket has {count} offsets")
    return cursor.bytes(chunk, count * _COUNT.size, context).view(">i4").astype(np.int32)


@named_as_its_base
class _Array(Model_TObjArrayOfTBaskets):  # type: ignore[misc]
    """The baskets within a tree, of one branch."""

    def read_members(self, chunk: Any, cursor: Any, context: Any, file: Any) -> None:
        place = (chunk, cursor, context, file, self._file, self._parent)
        self._bases.append(Model_TObject.read(*place, concrete=self.concrete))
        self._members["fName"] = cursor.string(chunk, context)
        self._members["fSize"], self._members["fLowerBound"] = cursor.fields(chunk, _BOUNDS, context)
        self._data = [read_object_any(*place, as_class=_Within) for _ in range(self._members["fSize"])]
