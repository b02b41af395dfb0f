"""References to objects (TRef, TRefArray) in split objects, and the bits of objects that are referred to.

    bits of a TObject    bits, [process]
    TRef                 version, number, bits, [process], process
    TRefArray            header, version, number, bits, [process], name, count, lower bound, process, numbers

The first process is there if one of the bits says so. A reference is imported as its number, which its object has as
`fUniqueID`. uproot (up to 5.7) expects no process after bits, and reads no lists of TRefArray. It imports uproot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from uproot.containers import AsArray, AsVector
from uproot.interpretation.jagged import AsJagged
from uproot.interpretation.numerical import AsDtype
from uproot.interpretation.objects import AsObjects

from .branches import is_reference
from .containers import entry_offsets

__all__ = ["references_of"]

_NUMBER = np.dtype(">u4")
_BITS = 15
"""ROOT's number of the type of `TObject::fBits`."""
_IS_REFERENCED = 0x10
_HAS_UUID = 0x20
_PROCESS = 2
"""Bytes of the number of a process."""
_HEADER = 6
_LARGEST = 32
"""Bytes before the name in a TRefArray, at most."""
_LONG = 255

Reader: TypeAlias = Callable[[bytes, int], tuple[bytes, int]]
"""Returns the numbers of a value that begins at a place, and the place behind it."""


def references_of(branch: Any) -> Any | None:
    """Return how to read references, or the bits of objects; None for other branches."""
    in_list = branch.count_leaf is not None
    if branch.member("fStreamerType", none_if_missing=True) == _BITS:
        return _Lists(_bits) if in_list else _Values(_bits)
    if not is_reference(branch):
        return None
    if branch.streamer.typename == "TRef":
        return _Lists(_reference) if in_list else _Values(_reference)
    return _ListsOfLists(branch) if in_list else _Lists(_references)


def _bits(data: bytes, at: int) -> tuple[bytes, int]:
    end = at + 4
    return data[at:end], end + (_PROCESS if data[end - 1] & _IS_REFERENCED else 0)


def _object(data: bytes, at: int) -> tuple[bytes, int]:
    """The number of a TObject."""
    bits, end = _bits(data, at + 6)
    if bits[3] & _HAS_UUID:
        raise ValueError("it refers to objects by UUID")
    return data[at + 2 : at + 6], end


def _reference(data: bytes, at: int) -> tuple[bytes, int]:
    number, end = _object(data, at)
    return number, end + _PROCESS


def _references(data: bytes, at: int) -> tuple[bytes, int]:
    _, place = _object(data, at + _HEADER)
    length = data[place]
    place += 1 + length if length < _LONG else 5 + int.from_bytes(data[place + 1 : place + 5], "big")
    begin = place + 8 + _PROCESS
    end = begin + 4 * int.from_bytes(data[place : place + 4], "big")
    return data[begin:end], end


def _values(data: Any, byte_offsets: Any, read: Reader) -> Iterator[list[bytes]]:
    """The numbers of the values of each entry."""
    whole = data.tobytes() + bytes(_LARGEST)  # a damaged last value may seem to go on
    at = int(byte_offsets[0])
    for stop in byte_offsets[1:].tolist():
        found = []
        while at < stop:
            numbers, at = read(whole, at)
            found.append(numbers)
        if at != stop:
            raise ValueError("an entry ends within a reference")
        yield found


def _joined(entries: list[bytes]) -> tuple[Any, Any]:
    """Return bytes, and where each entry begins in them."""
    return np.frombuffer(b"".join(entries), np.uint8), np.cumsum([0, *map(len, entries)]).astype(np.int32)


def _bounds(byte_offsets: Any, data: Any, basket: Any) -> Any:
    """Where entries begin."""
    if byte_offsets is not None:
        return entry_offsets(byte_offsets, basket)
    if len(data):
        raise ValueError("it has lists, but does not say where entries begin")
    return np.zeros(basket.num_entries + 1, np.int32)


class _Values(AsDtype):  # type: ignore[misc]
    """One number for each entry."""

    def __init__(self, read: Reader) -> None:
        super().__init__(_NUMBER)
        self._read = read

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        entries = arguments[0].num_entries
        bounds = (
            np.arange(entries + 1) * (len(data) // max(entries, 1))  # all have the same size
            if byte_offsets is None
            else entry_offsets(byte_offsets, arguments[0])
        )
        found = [b"".join(each) for each in _values(data, bounds, self._read)]
        if any(len(each) != _NUMBER.itemsize for each in found):
            raise ValueError("an entry has not one reference")
        return super().basket_array(_joined(found)[0], None, *arguments, **named)


class _Lists(AsJagged):  # type: ignore[misc]
    """Lists of numbers."""

    def __init__(self, read: Reader) -> None:
        super().__init__(AsDtype(_NUMBER))
        self._read = read

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        bounds = _bounds(byte_offsets, data, arguments[0])
        if self._read is _bits and not np.any(data[3::4] & _IS_REFERENCED):  # as most are
            return super().basket_array(data, bounds, *arguments, **named)
        found = [b"".join(each) for each in _values(data, bounds, self._read)]
        return super().basket_array(*_joined(found), *arguments, **named)


class _ListsOfLists(AsObjects):  # type: ignore[misc]
    """Lists of lists of numbers."""

    def __init__(self, branch: Any) -> None:
        super().__init__(AsArray(False, False, AsVector(False, _NUMBER), ()), branch)

    def basket_array(self, data: Any, byte_offsets: Any, *arguments: Any, **named: Any) -> Any:
        found = [
            b"".join((len(each) // _NUMBER.itemsize).to_bytes(4, "big") + each for each in lists)
            for lists in _values(data, _bounds(byte_offsets, data, arguments[0]), _references)
        ]
        return super().basket_array(*_joined(found), *arguments, **named)
