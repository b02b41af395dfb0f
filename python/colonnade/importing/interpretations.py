"""How the branches of a TTree are read: the interpretations of uproot (up to 5.7), with what they miss.

It imports uproot.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import uproot
from uproot import interpretation

from colonnade.arrays.lazy import awkward as ak

from .bounds import bounded
from .branches import collection_of, is_array_of_objects
from .containers import check_counts, entry_offsets, interpretation_of, size_of_enum
from .dimensions import with_dimensions
from .from_objects import content_of
from .maps import is_of_numbers, with_maps
from .member_by_member import item_by_item, rows_of_numbers, within_objects
from .reduced_precision import as_root_reads, comment_of
from .whole_objects import bare_items, check_sizes, is_whole, without_header

__all__ = ["mended_interpretation"]

_LONG_TEXT = 255
"""The first byte of a text whose length follows in four bytes."""


def mended_interpretation(branch: Any) -> Any:
    """How uproot reads a branch, with what it (up to 5.7) misses."""
    found = _as_stored(branch)
    mended = _MENDED.get(type(found))
    if mended is None:
        return found
    same = copy.copy(found)
    same.__class__ = mended
    if type(found).__name__ == "AsObjects":
        same._model = bounded(found.model if is_of_numbers(found.model) else with_maps(found.model))
    return same


def _as_stored(branch: Any) -> Any:
    """The interpretation of uproot for what a branch has: arrays, reduced numbers, objects without a header."""
    found = with_dimensions(interpretation_of(branch), branch)
    content: Any = getattr(found, "content", None)
    if is_array_of_objects(branch) and hasattr(content, "model"):  # it would take their headers for values
        array = uproot.containers.AsArray(False, False, content.model, content.inner_shape)
        return uproot.AsObjects(array, branch)
    comment = comment_of(branch)
    if comment is not None:
        return as_root_reads(found, comment)
    return without_header(branch) or found


class _Baskets(dict[int, Any]):
    """Baskets by number; unread ones are empty."""

    def __missing__(self, number: int) -> Any:
        return next(iter(self.values()))[:0]


class _Objects(interpretation.objects.AsObjects):  # type: ignore[misc]
    """Finds where entries begin."""

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        byte_offsets = entry_offsets(byte_offsets, arguments[0])
        branch = arguments[1]
        if getattr(self, "is_of_enum", False):
            check_counts(data, byte_offsets, size_of_enum(self))
        mended = item_by_item(data, byte_offsets, self, branch.file) or (data, byte_offsets)
        try:
            found = super().basket_array(*mended, *arguments, **named)
        except (NotImplementedError, uproot.deserialization.DeserializationError) as error:
            # Lists within the objects may be stored member by member, of which uproot knows some cases.
            version = int(branch.member("fClassVersion")) if is_whole(branch) else None
            try:
                mended = within_objects(data, byte_offsets, self, branch.file, version)
            except ValueError:
                raise error from None
            found = super().basket_array(*mended, *arguments, **named)
        if not isinstance(found, np.ndarray):
            return found
        return ak.Array(content_of(self.awkward_form(branch.file), list(found)))


class _Strided(interpretation.objects.AsStridedObjects):  # type: ignore[misc]
    """Looks how objects are stored.

    Does not look for objects in the next basket, which was not read, if entries end at the end of one.
    """

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        byte_offsets = entry_offsets(byte_offsets, arguments[0])
        if byte_offsets is not None:
            bare = bare_items(data, byte_offsets, 0, self.itemsize)
            if bare is not None:
                return super().basket_array(bare[0], None, *arguments, **named)
            check_sizes(byte_offsets, self.itemsize)
        return super().basket_array(data, byte_offsets, *arguments, **named)

    def final_array(self, basket_arrays: dict[int, Any], *arguments: Any, **named: Any) -> Any:
        return super().final_array(_Baskets(basket_arrays), *arguments, **named)


class _Texts(interpretation.strings.AsStrings):  # type: ignore[misc]
    """Takes entries without bytes for empty texts, for which ROOT writes no length in branches of char*."""

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        byte_offsets = entry_offsets(byte_offsets, arguments[0])
        if byte_offsets is not None:
            self._check_sizes(data, byte_offsets)
            empty = np.diff(byte_offsets) == 0
            data = np.insert(data, byte_offsets[:-1][empty], 0)
            byte_offsets = byte_offsets + np.insert(np.cumsum(empty), 0, 0).astype(byte_offsets.dtype)
        return super().basket_array(data, byte_offsets, *arguments, **named)

    def _check_sizes(self, data: Any, byte_offsets: Any) -> None:
        """Refuse entries that end within the length of their text."""
        some = np.diff(byte_offsets) > 0
        begins, ends = byte_offsets[:-1][some] + self._header_bytes, byte_offsets[1:][some]
        is_cut = begins >= ends
        if self._length_bytes == "4":
            is_cut |= begins + 4 > ends
        elif not is_cut.any():
            is_cut = (data[begins] == _LONG_TEXT) & (begins + 5 > ends)
        if is_cut.any():
            raise ValueError("an entry ends within the length of its text")


class _Lists(interpretation.jagged.AsJagged):  # type: ignore[misc]
    """Looks whether items are stored as they are read."""

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        if byte_offsets is None:
            basket, branch = arguments[:2]
            byte_offsets = _counted_offsets(basket, branch, self.content.itemsize, self.header_bytes)
        byte_offsets = entry_offsets(byte_offsets, arguments[0])
        if getattr(self, "is_of_enum", False):
            check_counts(data, byte_offsets, self.content.from_dtype.itemsize)
        if isinstance(self.content, interpretation.objects.AsStridedObjects):
            bare = None
            if self.header_bytes:
                bare = rows_of_numbers(data, byte_offsets, self.content, arguments[1].file)
            bare = bare or bare_items(data, byte_offsets, self.header_bytes, self.content.itemsize)
            if bare is not None:
                return type(self)(self.content).basket_array(*bare, *arguments, **named)
        return super().basket_array(data, byte_offsets, *arguments, **named)


def _counted_offsets(basket: Any, branch: Any, size: int, header: int) -> Any:
    """Where entries begin in a basket that leaves that to the counter (`kGenerateOffsetMap` of ROOT's TIOFeatures).

    uproot (up to 5.7) takes the counter's basket of the same number, which may have other entries, and for the counter
    of the items of a split collection the first of their members.
    """
    above = collection_of(branch)
    counter = branch.count_branch if above is None else above
    if counter is None or counter is branch:
        raise ValueError("it has lists, but neither says how long they are nor has a counter")
    start, stop = basket.entry_start_stop
    how = None if above is None else uproot.AsDtype(">i4")
    counts = counter.array(how, entry_start=start, entry_stop=stop, library="np")
    if counts.dtype.names:  # the counter is one of several leaves
        counts = counts[str(branch.count_leaf.member("fName"))]
    ends = np.cumsum(np.maximum(counts.astype(np.int64), 0) * size + header)
    return np.concatenate([[0], ends]).astype(np.int32)


_MENDED = {
    interpretation.jagged.AsJagged: _Lists,
    interpretation.objects.AsObjects: _Objects,
    interpretation.objects.AsStridedObjects: _Strided,
    interpretation.strings.AsStrings: _Texts,
}
"""Interpretations by those of uproot that they replace."""
