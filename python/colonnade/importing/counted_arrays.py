"""Members `float* x; //[n]` of the items of split lists: for each item a flag, and as many values as its `n` says.

uproot (up to 5.7) does not look at the counter. It imports uproot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from uproot.containers import AsArray, AsVector
from uproot.interpretation.objects import AsObjects

from colonnade.arrays.lazy import awkward as ak

from .branches import collection_of
from .containers import entry_offsets
from .interpretations import mended_interpretation

__all__ = ["counted_arrays_of"]

_POINTER = 40
"""Added to ROOT's number of a type for arrays with a counter."""
_TYPES = {
    1: ">i1",
    2: ">i2",
    3: ">i4",
    4: ">i8",
    5: ">f4",
    8: ">f8",
    11: ">u1",
    12: ">u2",
    13: ">u4",
    14: ">u8",
    16: ">i8",
    17: ">u8",
    18: "?",
}
_COUNT = 4
"""Bytes of the number of items of a list, as uproot reads it."""


def counted_arrays_of(branch: Any) -> Any | None:
    """Return how to read such a member; None for other branches."""
    element = branch.streamer
    if collection_of(branch) is None or getattr(element, "classname", "") != "TStreamerBasicPointer":
        return None
    kind = _TYPES.get(int(element.member("fType")) - _POINTER)
    member, counter = str(element.name), str(element.member("fCountName"))
    if kind is None or not branch.name.endswith(member):
        return None
    name = branch.name.removesuffix(member) + counter
    counters = [each for each in branch.parent.branches if each.name == name]
    return _Arrays(branch, counters[0], np.dtype(kind)) if counters else None


class _Arrays(AsObjects):  # type: ignore[misc]
    """Lists of arrays."""

    def __init__(self, branch: Any, counter: Any, kind: np.dtype) -> None:
        super().__init__(AsArray(False, False, AsVector(False, kind), ()), branch)
        self._counter, self._size = counter, kind.itemsize

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        basket = arguments[0]
        start, stop = basket.entry_start_stop
        how = mended_interpretation(self._counter)
        lists = self._counter.array(how, entry_start=start, entry_stop=stop, library="ak")
        lengths = np.asarray(ak.flatten(lists)).astype(np.int64)
        items = np.insert(np.cumsum(ak.to_numpy(ak.num(lists))), 0, 0)
        begins = np.insert(np.cumsum(1 + np.maximum(lengths, 0) * self._size), 0, 0)
        # Without offsets, the counter alone says where entries begin.
        told = begins[items] if byte_offsets is None else entry_offsets(byte_offsets, basket)
        values = data[told[0] : told[-1]]
        if len(values) != begins[-1] or np.any(told - told[0] != begins[items]):
            raise ValueError("arrays with a counter have other lengths than it says")
        if np.any((lengths > 0) & (values[begins[:-1]] == 0)):
            raise ValueError("arrays with a counter have other lengths than it says")
        # Each flag becomes the length.
        rest = np.delete(values, begins[:-1])
        places = begins[:-1] + (_COUNT - 1) * np.arange(len(lengths))
        counts = (places[:, np.newaxis] + np.arange(_COUNT)).ravel()
        whole = np.empty(len(rest) + len(counts), np.uint8)
        whole[counts] = np.maximum(lengths, 0).astype(">u4").view(np.uint8)
        whole[np.delete(np.arange(len(whole)), counts)] = rest
        offsets = (begins[items] + (_COUNT - 1) * items).astype(np.int32)
        return super().basket_array(whole, offsets, *arguments, **named)
