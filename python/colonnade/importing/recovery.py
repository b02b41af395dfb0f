"""Trees in files that were not closed by their writer, which have no list of what is in them.

Like ROOT, this goes from record to record from the beginning of the file. A tree is there if it was saved (AutoSave),
with the entries that it had then. It imports uproot.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import Any

from uproot.reading import ReadOnlyKey
from uproot.source.cursor import Cursor

__all__ = ["recover"]

_KEY = struct.Struct(">ihiIhh")
_PLACES = {False: struct.Struct(">ii"), True: struct.Struct(">qq")}
_LARGE = 1000
"""Added to the version of a key with places of 64 bits."""
_HEADER = 512
"""Bytes of a record that are looked at: the sizes, the places and the name of the class."""
_WINDOW = 1 << 20
"""Bytes that are read at a time."""


class _Bytes:
    """The bytes of a file, read piece by piece."""

    def __init__(self, file: Any) -> None:
        self._file, self._begin, self._data = file, 0, b""
        self.end = int(file.source.num_bytes)

    def at(self, place: int) -> bytes:
        """Some bytes from a place on, fewer at the end of the file."""
        stop = min(place + _HEADER, self.end)
        if place < self._begin or stop > self._begin + len(self._data):
            window = (place, min(place + _WINDOW, self.end))
            self._data = self._file.source.chunk(*window).get(*window, Cursor(place), {}).tobytes()
            self._begin = place
        return self._data[place - self._begin : stop - self._begin]


def recover(folder: Any, kinds: Collection[str]) -> bool:
    """Add the objects of some classes in the file to its top folder, of uproot; returns True if there are any."""
    file, data = folder.file, _Bytes(folder.file)
    place, found = int(file.fBEGIN), False
    while place + _KEY.size < data.end:
        header = data.at(place)
        size, version, _, _, _, _ = _KEY.unpack_from(header)
        if size < 0:  # free space
            place -= size
            continue
        places = _PLACES[version > _LARGE]
        name = _KEY.size + places.size
        if size <= name or place + size > data.end or len(header) <= name:
            break
        own, above = places.unpack_from(header, _KEY.size)
        kind = header[name + 1 : name + 1 + header[name]].decode("latin-1")
        if own != place:
            break
        if kind in kinds and above == folder._fSeekDir:
            chunk = file.source.chunk(place, place + size)
            key = ReadOnlyKey(chunk, Cursor(place), {}, file, folder, read_strings=True)
            folder._keys_lookup.setdefault(key.fName, []).append(len(folder._keys))
            folder._keys.append(key)
            found = True
        place += size
    return found
