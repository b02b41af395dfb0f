"""Items of collections that ROOT stores member by member: one member of all of them, then the next one.

    header of the collection, with a flag; version of the items' class; for each collection: number of items, members

uproot (up to 5.7) reads items that are stored one by one. Here the bytes are brought into that order. What has a header
of its own there has one for all items here, if it is a text or a collection, or none, if it is a base class.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .reduced_precision import is_reduced, size_of

__all__ = ["class_of_clones", "item_by_item", "rows_of_numbers", "within_objects"]

_FLAG = 0x4000
_HAS_COUNT = 0x40000000
_ARRAY = 20
"""Added to the number of a type for arrays of it; uproot may have taken it away."""
_SIZES = {
    **dict.fromkeys((1, 10, 11, 18), 1),
    **dict.fromkeys((2, 12), 2),
    **dict.fromkeys((3, 5, 6, 13), 4),
    **dict.fromkeys((4, 8, 14, 16, 17), 8),
}
"""Bytes of numbers, by the number of their type in ROOT."""
_NAMED_SIZES = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char"), 1),
    **dict.fromkeys(("short", "unsigned short"), 2),
    **dict.fromkeys(("int", "unsigned int", "float"), 4),
    **dict.fromkeys(("long", "unsigned long", "Long64_t", "ULong64_t", "long long", "unsigned long long"), 8),
    "double": 8,
}
"""The same by name."""
_COUNTER = 6
"""ROOT's number of an integer that tells the length of arrays."""
_OBJECTS = (61, 62)
_TSTRING = 65
_TOBJECT = 66
_TNAMED = 67
_STRING = 365
_COLLECTIONS = (1, 2, 3, 4, 5, 6, 7, 12, 13)
"""ROOT's numbers of std::vector, list, deque, map, multimap, set, multiset, unordered_map, unordered_multimap."""
_MAPS = ("AsMap", "Map")
_LISTS = ("AsVector", "AsList", "AsSet", "AsRVec")
_IS_REFERENCED = 0x10
_CLONES = b"\x0cTClonesArray\x00"
_TAG = b"\xff\xff\xff\xffTClonesArray\x00"
_BYPASS_STREAMER = 0x1000
"""The bit of a TClonesArray whose items are stored member by member."""
_LONG = 255


class _Source:
    """Bytes that are read one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        begin, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise ValueError("an entry ends within its items")
        return self._data[begin : self._at]

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def count(self, size: int) -> int:
        """The number of items, of which each has at least so many bytes."""
        count = self.number(4)
        if count * size > len(self._data) - self._at:
            raise ValueError(f"an entry claims {count} items")
        return count

    def text(self) -> bytes:
        """With its length."""
        length = self.take(1)
        if length[0] < _LONG:
            return length + self.take(length[0])
        long = self.take(4)
        return length + long + self.take(int.from_bytes(long, "big"))

    def header(self) -> tuple[int, _Source]:
        """The version and what follows, of which a header tells the size."""
        size = self.number(4) ^ _HAS_COUNT
        if size >= _HAS_COUNT or size < 2:
            raise _unknown()
        version = self.number(2)
        return version, _Source(self.take(size - 2))


def _unknown() -> ValueError:
    return ValueError("its items are stored member by member, which uproot cannot read")


def _item_of(type_name: str) -> str:
    """The type of the items of a list; empty for other types."""
    found = re.fullmatch(
        r"(?:std::)?(?:vector|list|deque|forward_list|(?:unordered_)?(?:multi)?set)<(.*)>", type_name
    )
    item = found[1].strip() if found else ""
    return "" if "," in re.sub(r"<.*>", "", item) else item


def _pair_of(type_name: str) -> str:
    """The type of the pairs of a map; empty for other types."""
    found = re.fullmatch(r"(?:std::)?(?:unordered_)?(?:multi)?map<(.*)>", type_name)
    return f"pair<{found[1]}>" if found else ""


def _with_header(version: bytes, content: bytes) -> bytes:
    return (_HAS_COUNT | (len(version) + len(content))).to_bytes(4, "big") + version + content


def _unflagged(version: int) -> bytes:
    return (version & ~_FLAG).to_bytes(2, "big")


def _list(items: list[bytes]) -> bytes:
    return len(items).to_bytes(4, "big") + b"".join(items)


class _Members:
    """Finds the bytes of each item in those of all members.

    Args:
        streamers: of the file: the members of its classes.
        bare: without headers, as for items that are rows of numbers.
    """

    def __init__(self, streamers: Any, *, bare: bool) -> None:
        self._streamers, self._bare = streamers, bare

    def collections(self, source: _Source, name: str, *, are_pairs: bool = False) -> Iterator[list[bytes]]:
        """The items of each of some collections of items of a class, up to the end of the source.

        `are_pairs`: those of maps, which have no headers.
        """
        version = self._version(source)
        streamer = self._streamer(name, version)
        while not source.is_at_end:
            rows = self._rows(streamer, source.count(1), source)
            yield rows if self._bare or are_pairs else [_with_header(version, row) for row in rows]

    def clones(self, name: str, version: bytes, source: _Source) -> list[bytes]:
        """The items of a TClonesArray, to the end of the source."""
        count = source.count(1)
        source.take(4)  # the index of the first one
        rows = self._rows(self._streamer(name, version), count, source)
        if count and not source.is_at_end:
            raise _unknown()
        return [_with_header(version, row) for row in rows]

    @staticmethod
    def _version(source: _Source) -> bytes:
        """That of a class; if it has none, zero and a checksum."""
        version = source.take(2)
        return version if any(version) else version + source.take(4)

    def _streamer(self, name: str, version: bytes) -> Any:
        known = self._streamers.get(name, {})
        number, checksum = int.from_bytes(version[:2], "big"), int.from_bytes(version[2:], "big")
        if number:
            found = known.get(number)
        else:
            found = next((each for each in known.values() if each.member("fCheckSum") == checksum), None)
        if found is None:
            raise _unknown()
        return found

    def _rows(self, streamer: Any, count: int, source: _Source) -> list[bytes]:
        if not count:
            return []
        counts: dict[str, list[int]] = {}
        members = [self._member(element, count, source, counts) for element in streamer.elements]
        return [b"".join(parts) for parts in zip(*members, strict=True)] if members else [b""] * count

    def _member(self, element: Any, count: int, source: _Source, counts: dict[str, list[int]]) -> list[bytes]:
        """Its bytes in each item; `counts`: of the members before it that tell the length of arrays, in each item."""
        kind, length = int(element.member("fType")), int(element.array_length)
        size = _SIZES.get(kind % _ARRAY, 0) if kind < 2 * _ARRAY else 0
        if is_reduced(str(element.typename)):
            size = size_of(str(element.typename), str(element.title))
        if size:
            size *= _length(element)
            found = [source.take(size) for _ in range(count)]
            if kind == _COUNTER:
                counts[str(element.name)] = [int.from_bytes(each, "big", signed=True) for each in found]
            return found
        if 2 * _ARRAY < kind < 3 * _ARRAY and not self._bare:
            lengths = counts.get(str(element.count_name), [])
            if len(lengths) != count:
                raise _unknown()
            return [_counted(source, length, _SIZES[kind - 2 * _ARRAY]) for length in lengths]
        return [*self._reader(element, kind, length)(element, count, source)]

    def _reader(self, element: Any, kind: int, length: int) -> Callable[[Any, int, _Source], Iterator[bytes]]:
        if element.typename == "BASE" and kind not in (_TOBJECT, _TNAMED):
            return self._base
        kind -= _ARRAY if length else 0
        if self._bare and kind not in _OBJECTS:
            raise _unknown()
        readers = {
            _TSTRING: _texts if length else lambda _, count, source: (source.text() for _ in range(count)),
            _TOBJECT: lambda _, count, source: (_tobject(source) for _ in range(count)),
            **dict.fromkeys((_TNAMED, *_OBJECTS), self._objects),
        }
        containers = {_STRING: _texts, **dict.fromkeys(_COLLECTIONS, self._lists)}
        found = readers.get(kind) or containers.get(element.member("fSTLtype", none_if_missing=True))
        if found is None:
            raise _unknown()
        return found

    def _base(self, element: Any, count: int, source: _Source) -> Iterator[bytes]:
        number, checksum = int(element.member("fBaseVersion")), int(element.member("fMaxIndex")[1])
        version = (
            number.to_bytes(2, "big") if number > 0 else bytes(2) + (checksum % 2**32).to_bytes(4, "big")
        )
        for row in self._rows(self._streamer(str(element.name), version), count, source):
            yield row if self._bare else _with_header(version, row)

    def _objects(self, element: Any, count: int, source: _Source) -> Iterator[bytes]:
        name = str(element.name if element.typename == "BASE" else element.typename)
        for _ in range(count):
            yield b"".join(self.object(name, source) for _ in range(_length(element)))

    def object(self, name: str, source: _Source) -> bytes:
        """An object with a header, and the items of its lists one by one."""
        number, content = source.header()
        version = number.to_bytes(2, "big") + (b"" if number else content.take(4))
        members = content.rest()
        return members if self._bare else _with_header(version, self.alone(name, version, members))

    def alone(self, name: str, version: bytes, members: bytes) -> bytes:
        """The members of an object that is stored by itself; as they are if one of them is of an unknown kind."""
        source = _Source(members)
        try:
            streamer = self._streamer(name, version)
            counts: dict[str, list[int]] = {}
            found = [
                part for element in streamer.elements for part in self._member_alone(element, source, counts)
            ]
        except ValueError:
            return members
        return b"".join(found) if source.is_at_end else members

    def _member_alone(self, element: Any, source: _Source, counts: dict[str, list[int]]) -> Iterable[bytes]:
        if element.typename == "BASE" and int(element.member("fType")) != _TOBJECT:
            return self._objects(element, 1, source)
        return self._member(element, 1, source, counts)

    def _lists(self, element: Any, count: int, source: _Source) -> Iterator[bytes]:
        version, content = source.header()
        pairs, inner = _pair_of(str(element.typename)), _item_of(str(element.typename))
        if version & _FLAG:
            lists = self.collections(content, pairs or inner, are_pairs=bool(pairs))
        elif count == 1:
            yield _with_header(version.to_bytes(2, "big"), content.rest())
            return
        else:
            lists = self._lists_of(inner, int(element.member("fCtype")), content)
        rows, length = [_list(items) for items in lists], _length(element)
        if len(rows) != count * length:
            raise ValueError(f"an entry has {len(rows)} lists for {count} items")
        for number in range(0, len(rows), length):
            yield _with_header(_unflagged(version), b"".join(rows[number : number + length]))

    def _lists_of(self, item: str, kind: int, source: _Source) -> Iterator[list[bytes]]:
        """Lists up to the end, of items that are stored one by one; `kind` is ROOT's number of their type."""
        size = _SIZES.get(kind) if _item_of(item) == "" else None
        while not source.is_at_end:
            yield [
                self.item(item, source) if size is None else source.take(size)
                for _ in range(source.count(size or 1))
            ]

    def item(self, kind: str, source: _Source) -> bytes:
        """A value of a type in a list."""
        if kind in ("string", "std::string", "TString"):
            return source.text()
        inner = _item_of(kind)
        if inner in _NAMED_SIZES:
            count = source.count(_NAMED_SIZES[inner])
            return count.to_bytes(4, "big") + source.take(count * _NAMED_SIZES[inner])
        if inner:
            return _list([self.item(inner, source) for _ in range(source.count(1))])
        if kind not in self._streamers:
            raise _unknown()
        return self.object(kind, source)


def _counted(source: _Source, length: int, size: int) -> bytes:
    """An array of a length that another member tells, which a flag precedes: it may be missing."""
    flag = source.take(1)
    if length < 0 or (length and not flag[0]):
        raise ValueError(f"an array with a counter claims {length} items, and has none")
    return flag + source.take(length * size)


def _length(element: Any) -> int:
    """The number of values in each item, which is more than one for arrays."""
    return max(int(element.array_length), 1)


def _texts(element: Any, count: int, source: _Source) -> Iterator[bytes]:
    version, content = source.header()
    for _ in range(count):
        texts = b"".join(content.text() for _ in range(_length(element)))
        yield _with_header(version.to_bytes(2, "big"), texts)
    if not content.is_at_end:
        raise _unknown()


def _tobject(source: _Source) -> bytes:
    members = source.take(10)
    return members + source.take(2) if members[-1] & _IS_REFERENCED else members


# ---- Baskets


def _flagged(data: Any, byte_offsets: Any) -> bool:
    """True if some entry begins with the header of a collection whose items are stored member by member."""
    first = np.asarray(byte_offsets[:-1], np.int64)[np.diff(byte_offsets) > 6]
    has_count = data[first] & (_HAS_COUNT >> 24)
    return bool(np.any(has_count & data[first + 4] & (_FLAG >> 8)))


def _entries(data: Any, byte_offsets: Any) -> Iterator[bytes]:
    whole = data.tobytes()
    for begin, end in itertools.pairwise(byte_offsets):
        yield whole[begin:end]


def rows_of_numbers(data: Any, byte_offsets: Any, interpretation: Any, file: Any) -> tuple[Any, Any] | None:
    """Return the items of lists without headers, and where each list begins; None unless stored member by member."""
    if not _flagged(data, byte_offsets):
        return None
    members = _Members(file.streamers, bare=True)
    name, size = _class_name(interpretation.model), interpretation.itemsize
    found: list[bytes] = []
    for entry in _entries(data, byte_offsets):
        version, content = _content(entry)
        if not version & _FLAG:
            raise _unknown()
        lists = [*members.collections(content, name)]
        if len(lists) != 1 or any(len(row) != size for row in lists[0]):
            raise _unknown()
        found.append(b"".join(lists[0]))
    return np.frombuffer(b"".join(found), np.uint8), _offsets(found)


def item_by_item(data: Any, byte_offsets: Any, interpretation: Any, file: Any) -> tuple[Any, Any] | None:
    """Return a basket of lists of objects as if they were stored one by one; None unless stored member by member."""
    model = interpretation.model
    if getattr(interpretation, "is_of_clones", False):
        members = _Members(file.streamers, bare=False)
        found = [_clones(entry, members, _class_name(model.values)) for entry in _entries(data, byte_offsets)]
        return np.frombuffer(b"".join(found), np.uint8), _offsets(found)
    if type(model).__name__ == "AsArray":  # of the lists in an entry of a split collection
        model = model.values
    is_map = type(model).__name__ in _MAPS and model is not interpretation.model
    is_list = is_map or type(model).__name__ in _LISTS
    if not is_list or byte_offsets is None or not _flagged(data, byte_offsets):
        return None
    if is_map:
        name = _pair_of(str(interpretation.branch.streamer.typename))
    else:
        name = _class_name(getattr(model, "values", None) or model.keys)
    members = _Members(file.streamers, bare=False)
    found = [_item_by_item(entry, members, name, is_map) for entry in _entries(data, byte_offsets)]
    return np.frombuffer(b"".join(found), np.uint8), _offsets(found)


def class_of_clones(entry: bytes) -> tuple[str, str, bool, _Source]:
    """The class of the items of a TClonesArray, its version, whether they are stored member by member, and the items.

    ROOT may write the name of TClonesArray before it.
    """
    source = _Source(entry)
    if entry.startswith(_CLONES):
        source.take(len(_CLONES))
    elif entry[4:].startswith(_TAG):  # behind a pointer
        source.take(4 + len(_TAG))
    source = source.header()[1]
    begin = _tobject(source)
    by_member = bool(int.from_bytes(begin[6:10], "big") & _BYPASS_STREAMER)
    source.text()
    name, _, version = source.text()[1:].decode().partition(";")
    return name, version, by_member, source


def _clones(entry: bytes, members: _Members, name: str) -> bytes:
    if not entry.startswith(_CLONES) and entry[4:6] == bytes(2):
        return entry  # uproot comes back with what was made before, if it finds no faster way
    found, version, by_member, source = class_of_clones(entry)
    if found != name:
        raise ValueError(f"an entry has items of the class '{found}', others of '{name}'")
    if by_member:
        return _with_header(bytes(2), _list(members.clones(name, int(version).to_bytes(2, "big"), source)))
    count = source.count(1)
    source.take(4)  # the index of the first one
    items = []
    for _ in range(count):
        if not source.number(1):
            raise ValueError("an entry has a place without an item")
        items.append(members.object(name, source))
    return _with_header(bytes(2), _list(items))


def within_objects(
    data: Any, byte_offsets: Any, interpretation: Any, file: Any, version: int | None
) -> tuple[Any, Any]:
    """Return a basket of objects, or of lists of them, in which the items of lists are stored one by one.

    Args:
        data: of the basket.
        byte_offsets: where entries begin.
        interpretation: of uproot.
        file: of uproot.
        version: of the class of objects without headers, one for each entry.
    """
    members = _Members(file.streamers, bare=False)
    found = [_within(entry, members, interpretation.model, version) for entry in _entries(data, byte_offsets)]
    return np.frombuffer(b"".join(found), np.uint8), _offsets(found)


def _within(entry: bytes, members: _Members, model: Any, version: int | None) -> bytes:
    if type(model).__name__ in _LISTS:
        number, content = _content(entry)
        return _with_header(number.to_bytes(2, "big"), members.item(str(model.typename), content))
    name = _class_name(model.values if type(model).__name__ == "AsArray" else model)
    if version is not None:
        return members.alone(name, version.to_bytes(2, "big"), entry)
    source, objects = _Source(entry), []
    while not source.is_at_end:
        objects.append(members.object(name, source))
    return b"".join(objects)


def _item_by_item(entry: bytes, members: _Members, name: str, are_pairs: bool) -> bytes:
    if not entry:
        return entry
    version, content = _content(entry)
    if not version & _FLAG:
        return entry
    lists = [_list(items) for items in members.collections(content, name, are_pairs=are_pairs)]
    return _with_header(_unflagged(version), b"".join(lists))


def _content(entry: bytes) -> tuple[int, _Source]:
    source = _Source(entry)
    found = source.header()
    if not source.is_at_end:
        raise _unknown()
    return found


def _offsets(parts: list[bytes]) -> Any:
    return np.cumsum([0, *map(len, parts)]).astype(np.int32)


def _class_name(model: Any) -> str:
    from uproot.model import classname_decode

    try:
        return str(classname_decode(model.__name__)[0])
    except (AttributeError, ValueError):  # no class of the file
        return ""
