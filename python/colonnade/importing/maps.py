"""Maps, of which uproot (up to 5.7) does not read all. It imports uproot.

    header with a flag; version of the pairs' class; number of pairs; keys, with one header; values, with one header

If there is no pair, the last two headers are missing, too. uproot expects them. It reads no maps that have maps, none
that are empty in lists, sorts the keys, and makes numbers of one type of keys and values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import uproot.containers
from uproot._awkwardforth import get_forth_obj
from uproot.containers import AsArray, AsContainer, AsMap, AsVectorLike
from uproot.deserialization import numbytes_check, numbytes_version
from uproot.interpretation.objects import CannotBeForth

__all__ = ["Map", "is_of_numbers", "with_maps"]


class _Pairs:
    """The pairs of a map, in the order that is stored."""

    def __init__(self, keys: list[Any], values: list[Any]) -> None:
        self._keys, self._values = keys, values

    def items(self) -> Iterator[tuple[Any, Any]]:
        return zip(self._keys, self._values, strict=True)


class Map(AsMap):  # type: ignore[misc]
    """A map, as ROOT stores it."""

    def read(
        self,
        chunk: Any,
        cursor: Any,
        context: Any,
        file: Any,
        selffile: Any,
        parent: Any,
        header: bool = True,
    ) -> Any:
        """Return the pairs of a map."""
        if get_forth_obj(context) is not None:
            raise CannotBeForth
        place = (chunk, cursor, context, file, selffile, parent)
        if not (header and self._header):
            return self._pairs(place)
        begin = cursor.copy()
        size, _, by_member = numbytes_version(chunk, cursor, context)
        found = self._columns(place, has_version=True) if by_member else self._pairs(place)
        numbytes_check(chunk, begin, cursor, size, self.typename, context, file.file_path)
        return found

    def _columns(self, place: Any, *, has_version: bool) -> _Pairs:
        chunk, cursor, context = place[:3]
        if has_version:
            _skip_version(place)
        count = cursor.field(chunk, uproot.containers._stl_container_size, context)
        return _Pairs(_column(self._keys, count, place), _column(self._values, count, place))

    def _pairs(self, place: Any) -> _Pairs:
        chunk, cursor, context = place[:3]
        keys, values = [], []
        for _ in range(cursor.field(chunk, uproot.containers._stl_container_size, context)):
            keys.append(_one(self._keys, place))
            values.append(_one(self._values, place))
        return _Pairs(keys, values)


def _skip_version(place: Any) -> None:
    """Skip the version of a class, which is zero before a checksum."""
    chunk, cursor, context = place[:3]
    version = cursor.bytes(chunk, 2, context)
    cursor.skip(0 if np.any(version) else 4)


def _one(model: Any, place: Any, *, header: bool = True) -> Any:
    chunk, cursor, context = place[:3]
    if isinstance(model, np.dtype):
        return cursor.array(chunk, 1, model, context)[0].item()
    return model.read(*place, header=header) if isinstance(model, AsContainer) else model.read(*place)


def _column(model: Any, count: int, place: Any) -> list[Any]:
    """The keys of all pairs, or the values."""
    chunk, cursor, context = place[:3]
    if count == 0:
        return []
    if isinstance(model, np.dtype):
        return list(cursor.array(chunk, count, model, context).tolist())
    if not isinstance(model, AsContainer) or not model.header:
        return [_one(model, place) for _ in range(count)]
    if not numbytes_version(chunk, cursor, context)[2]:
        return [_one(model, place, header=False) for _ in range(count)]
    if not isinstance(model, Map):  # uproot's error, after which members are reordered (interpretations.py)
        raise NotImplementedError("memberwise serialization of lists in a map")
    _skip_version(place)
    return [model._columns(place, has_version=False) for _ in range(count)]


def with_maps(model: Any) -> Any:
    """Return a model of uproot that reads the maps in it as ROOT stores them."""
    if isinstance(model, AsMap):
        return Map(model.header, with_maps(model.keys), with_maps(model.values))
    inner = model._items if isinstance(model, AsVectorLike) else getattr(model, "values", None)
    if not isinstance(model, AsVectorLike | AsArray) or with_maps(inner) is inner:
        return model
    if isinstance(model, AsArray):
        return type(model)(model.header, model.speedbump, with_maps(inner), model.inner_shape)
    return type(model)(model.header, with_maps(inner))


def is_of_numbers(model: Any) -> bool:
    """True for a map from numbers to numbers, which uproot reads as it is stored, and fast."""
    return isinstance(model, AsMap) and all(isinstance(each, np.dtype) for each in (model.keys, model.values))
