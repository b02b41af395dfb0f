"""Which entries of a TTree have values for a variation: the masks of snapshots with variations by ROOT."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from colonnade.errors import FormatError

__all__ = ["masks_of"]

_MASK = "R_rdf_mask_"
_BITS = "R_rdf_column_to_bitmask_mapping_"

_COUNT = 4
_CLASS = 10  # the number of bytes, a version of 0, and the checksum of the class
_STRING = 6  # the number of bytes and the version of a std::string


def masks_of(file: Any, tree: str, branches: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return the branch with the mask of each column that has one, and its bit there.

    Args:
        file: opened by uproot.
        tree: the name of the TTree.
        branches: the names of its branches.

    Raises:
        FormatError: the object that names the bits cannot be read.
    """
    if not any(name.startswith(_MASK) for name in branches):
        return {}
    folder, _, name = tree.rpartition("/")
    path = f"{folder}/{_BITS}{name}".lstrip("/")
    if path not in file:
        return {}
    chunk, cursor = file.key(path).get_uncompressed_chunk_cursor()
    data = bytes(chunk.raw_data[cursor.index :])
    try:
        return _read(data)
    except (IndexError, UnicodeDecodeError) as error:
        raise FormatError(f"the object '{path}' is not the map of a snapshot's masks") from error


def _read(data: bytes) -> dict[str, tuple[str, int]]:
    """A std::unordered_map<std::string, std::pair<std::string, unsigned int>>."""
    found = {}
    place = 0

    def number(size: int) -> int:
        nonlocal place
        place += size
        if place > len(data):
            raise IndexError(place)
        return int.from_bytes(data[place - size : place], "big")

    def text() -> str:
        nonlocal place
        size = number(1)
        if size == 255:
            size = number(4)
        place += size
        if place > len(data):
            raise IndexError(place)
        return data[place - size : place].decode()

    for _ in range(number(_COUNT)):
        column = text()
        place += _CLASS + _STRING
        mask = text()
        found[column] = mask, number(4)
        if not re.fullmatch(rf"{_MASK}\w+", mask) or found[column][1] > 63:
            raise IndexError(mask)
    return found
