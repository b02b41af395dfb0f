"""Texts of Awkward layouts as Python's, and which of them are different."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade import _core
from colonnade.arrays.awkward import AwkwardBuilder
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["counted_texts", "different_texts", "texts_of"]


def texts_of(layout: Content) -> list[str]:
    """Return all texts of an array of strings, without missing ones."""
    offsets, characters = _parts(layout)
    return _core.texts(offsets[:-1], offsets[1:], characters)


def different_texts(layout: Content) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different texts of an array of strings, and for each of its items the number of its text."""
    offsets, characters = _parts(layout)
    first, numbers = _core.different_texts(offsets, characters)
    return _core.texts(offsets[first], offsets[first + 1], characters), numbers


def counted_texts(layout: Content, counts: NDArray[np.int64] | None) -> tuple[Content, NDArray[np.int64]]:
    """Return the different texts of an array of strings, and how often each is there.

    Args:
        layout: of the array.
        counts: of each of its items; None: one.
    """
    none = np.empty(0, np.int64)
    offsets, characters, found = _core.count_texts(*_parts(layout), none if counts is None else counts)
    return AwkwardBuilder().text(offsets, characters), found


def _parts(layout: Content) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    packed = layout.to_ListOffsetArray64(False)
    return np.ascontiguousarray(packed.offsets.data), np.ascontiguousarray(packed.content.data)
