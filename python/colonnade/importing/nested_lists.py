"""Nested lists of numbers and texts, which uproot can read if their counts fit to their bytes.

This tells it sooner than an attempt. It imports uproot.
"""

from __future__ import annotations

import queue
import struct
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import uproot.compression
from uproot.containers import AsString, AsVector
from uproot.source.cursor import Cursor

from .bounds import check_basket
from .complaints import raise_of_source
from .tree_plan import Leaf

__all__ = ["are_sound", "nested_lists"]

Walk: TypeAlias = Callable[[bytes, int], int]
"""Returns the place behind a value that begins at a place."""
_KEY = struct.Struct(">ihiIhh")
_LAST = struct.Struct(">iB")
"""The end of the key of a basket."""
_HEADER = struct.Struct(">IH")
_HAS_COUNT = 0x40000000
_MEMBER_BY_MEMBER = 0x4000
_COUNT = struct.Struct(">I")
_LONG = 255


def nested_lists(interpretation: Any) -> Walk | None:
    """How to go through the values of a branch; None if they are no nested lists of numbers and texts."""
    model = getattr(interpretation, "model", None)
    if not isinstance(model, AsVector) or not model.header:
        return None
    items = _items(model)
    return None if items is None else _with_header(items)


def _items(model: Any) -> Walk | None:
    values = model.values
    if type(values) is AsString and not values.header and values.length_bytes == "1-5":
        return _list_of(_text)
    if isinstance(values, np.dtype):
        return None if values.names else _list_of_numbers(values.itemsize)
    if type(values) is not AsVector or values.header:
        return None
    inner = _items(values)
    return None if inner is None else _list_of(inner)


def _with_header(items: Walk) -> Walk:
    def walk(data: bytes, at: int) -> int:
        size, version = _HEADER.unpack_from(data, at)
        end = items(data, at + _HEADER.size)
        if size != end - at - 4 | _HAS_COUNT or version & _MEMBER_BY_MEMBER:
            raise ValueError("another header")
        return end

    return walk


def _list_of(item: Walk) -> Walk:
    def walk(data: bytes, at: int) -> int:
        (count,) = _COUNT.unpack_from(data, at)
        at += 4
        for _ in range(count):
            at = item(data, at)
        return at

    return walk


def _list_of_numbers(size: int) -> Walk:
    def walk(data: bytes, at: int) -> int:
        end: int = at + 4 + _COUNT.unpack_from(data, at)[0] * size
        if end > len(data):
            raise ValueError("it goes on")
        return end

    return walk


def _text(data: bytes, at: int) -> int:
    size = data[at]
    if size == _LONG:
        return at + 5 + int(_COUNT.unpack_from(data, at + 1)[0])
    return at + 1 + size


def are_sound(tree: Any, leaves: Iterable[Leaf], entries: int) -> set[str]:
    """The paths of the branches whose baskets have what their counts say, as far as some entries are in them."""
    ranges: dict[str, list[tuple[int, int, int]]] = {}
    walks: dict[str, Walk] = {}
    for leaf in leaves:
        found = getattr(leaf.branch, "first_baskets", None)
        if leaf.nested is not None and found is not None and not leaf.first:
            ranges[leaf.path], walks[leaf.path] = found(entries), leaf.nested
    places = [(begin, begin + size) for each in ranges.values() for begin, size, _ in each]
    if not places:
        return set()
    try:
        chunks = iter(tree.file.source.chunks(places, notifications=queue.Queue()))
    except Exception as error:  # an attempt to read them tells what is wrong
        raise_of_source(error)
        return set()
    sound = set(ranges)
    for path, baskets in ranges.items():
        for begin, size, count in baskets:
            chunk = next(chunks)
            try:
                _look_at(chunk, begin, size, count, walks[path])
            except Exception as error:
                raise_of_source(error)
                sound.discard(path)
    return sound


def _look_at(chunk: Any, begin: int, size: int, count: int, walk: Walk) -> None:
    cursor = Cursor(begin)
    packed = chunk.get(begin, begin + size, cursor, {})
    check_basket(packed, count)
    *_, unpacked, _, key, _ = _KEY.unpack_from(packed)
    last, _ = _LAST.unpack_from(packed, key - _LAST.size)
    place = Cursor(begin + key)
    if size - key == unpacked:
        data = packed[key:].tobytes()
    else:
        whole = uproot.compression.decompress(chunk, place, {}, size - key, unpacked)
        data = whole.get(0, unpacked, Cursor(0), {}).tobytes()
    border = last - key
    offsets = np.frombuffer(data, ">i4", offset=border)[1:].astype(np.int64) - key
    if len(offsets) != count + 1:
        raise ValueError("other offsets")
    values, at = data[:border], 0
    for offset in offsets[:-1].tolist():
        if offset != at:
            raise ValueError("an entry ends elsewhere")
        at = walk(values, at)
    if at != border:
        raise ValueError("the last entry ends elsewhere")
