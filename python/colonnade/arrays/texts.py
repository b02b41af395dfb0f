"""Texts of Awkward layouts as Python's, and which of them are different."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.arrays.lazy import Content

__all__ = ["different_texts", "texts_of"]


def texts_of(layout: Content) -> list[str]:
    """Return all texts of an array of strings, without missing ones."""
    return _texts(*_parts(layout))


def different_texts(layout: Content) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts of an array of strings, and for each of its items the number of its text."""
    offsets, characters = _parts(layout)
    first, numbers = _core.different_texts(offsets, characters)
    starts, ends = offsets[first], offsets[first + 1]
    data = characters.data
    return [
        _decoded(data[begin:end]) for begin, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ], numbers


def _parts(layout: Content) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    packed = layout.to_ListOffsetArray64(False)
    return np.ascontiguousarray(packed.offsets.data), np.ascontiguousarray(packed.content.data)


def _texts(offsets: NDArray[np.int64], characters: NDArray[np.uint8]) -> list[str]:
    data, places = characters.data, offsets.tolist()
    return [_decoded(data[begin:end]) for begin, end in itertools.pairwise(places)]


def _decoded(characters: memoryview) -> str:
    return str(characters, "utf-8", "surrogateescape")
