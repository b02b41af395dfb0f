"""Texts of Awkward layouts as Python's, and which of them are different."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.arrays.lazy import Content

__all__ = ["different_places", "different_texts", "texts_of"]


def texts_of(layout: Content) -> list[str]:
    """Return all texts of an array of strings, without missing ones."""
    offsets, characters = _parts(layout)
    return _core.texts(offsets[:-1], offsets[1:], characters)


def different_texts(layout: Content) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts of an array of strings, and for each of its items the number of its text."""
    offsets, characters = _parts(layout)
    first, numbers = _core.different_texts(offsets, characters)
    return _core.texts(offsets[first], offsets[first + 1], characters), numbers


def different_places(layout: Content) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each different text of an array of strings is first, and the number of each item's text."""
    return _core.different_texts(*_parts(layout))


def _parts(layout: Content) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    packed = layout.to_ListOffsetArray64(False)
    return np.ascontiguousarray(packed.offsets.data), np.ascontiguousarray(packed.content.data)
