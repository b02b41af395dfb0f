"""Files with names that no writer gives."""

from __future__ import annotations

import re

import xxhash


def renamed(content: bytes, old: bytes, new: bytes) -> bytes:
    """A file, whose header is not compressed, with a name replaced by one of the same length."""

    def total(envelope: bytes) -> bytes:
        return xxhash.xxh3_64_intdigest(envelope).to_bytes(8, "little")

    places = []  # of header, footer and page lists, which end with their checksums
    for found in re.finditer(rb"(?=[\1\2\3]\0(.{6}))", content, re.DOTALL):
        end = found.start() + int.from_bytes(found[1], "little") - 8
        if found.start() < end and total(content[found.start() : end]) == content[end : end + 8]:
            places.append((found.start(), end))
    changed = content.replace(old, new)
    for begin, end in places:  # the checksum of the header is in the others, too
        changed = changed.replace(content[end : end + 8], total(changed[begin:end]))
    return changed
