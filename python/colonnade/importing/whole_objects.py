"""Objects in branches that are not split.

ROOT writes such an object without the header that objects have elsewhere: the number of its bytes and the version of
its class. uproot (up to 5.7) guesses whether there is one, and takes the first two bytes for it if they equal that
version: a run number from 65536 to 131071 in version 1 of a class. Items of vectors may be stored member by member, or
with a header each, for which it does not look where they have numbers only. All give wrong values without a word.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak

from .containers import interpretation_of

__all__ = [
    "ambiguous_class",
    "bare_items",
    "check_sizes",
    "dimensions_of_members",
    "has_objects",
    "has_references",
    "is_whole",
    "pointers",
    "with_member_dimensions",
    "with_shape",
    "without_header",
]

_OBJECTS = re.compile("As(?:Strided)?Objects")
_REFERENCE = re.compile(r"\bTRef(?:Array)?\b")
_VERSION_OFFSET = 4
"""Of the version in a header, which follows the number of bytes."""
_HAS_COUNT = 0x40000000
_HEADER = 6
"""Bytes: the number of bytes that follow, and the version."""
_CHECKSUM = 4
"""Of a class without version, after a header with the version 0."""


def has_objects(branch: Any) -> bool:
    """True if values are objects: whether uproot can read them depends on how they are stored."""
    return _OBJECTS.search(repr(interpretation_of(branch))) is not None


def without_header(branch: Any) -> Any | None:
    """Return how to read a branch of an object that is not split; None of other branches."""
    found = interpretation_of(branch)
    model: Any = getattr(found, "model", None)
    kind = type(found).__name__
    rows: Any = getattr(found, "content", None)
    if kind == "AsJagged" and found.header_bytes and _has_tobject(rows):
        return _as_objects()(_vector_of(rows.model), branch)
    if kind == "AsStridedObjects" and (_has_tobject(found) or _has_empty_base(branch)):
        return _as_objects()(_headerless(model, branch) if is_whole(branch) else model, branch)
    if kind == "AsObjects" and _has_any_in_lists(branch, model):
        shape = model.inner_shape or ((1,) if branch.streamer.array_length == 1 else ())
        return _as_objects()(type(model)(False, False, model.values, shape), branch)
    if kind != "AsObjects" or not is_whole(branch) or not hasattr(model, "class_of_version"):
        return None
    same = copy.copy(found)
    same._model = _headerless(model, branch)
    return same


def _has_any_in_lists(branch: Any, model: Any) -> bool:
    """True for a member of the items of a split vector that is an object, of which each has a header, but no list."""
    is_object = branch.streamer is not None and branch.streamer.classname in (
        "TStreamerObject",
        "TStreamerObjectAny",
    )
    is_list = type(model).__name__ == "AsArray" and model.header
    return (
        is_object and is_list and branch.count_leaf is not None and hasattr(model.values, "class_of_version")
    )


def _has_tobject(interpretation: Any) -> bool:
    """True for rows of numbers for which uproot takes objects with a TObject, which may have more of them."""
    names = getattr(getattr(interpretation, "from_dtype", None), "names", None) or ()
    return any(name.startswith("@") for name in names)


def _has_empty_base(branch: Any) -> bool:
    """True if a class of the objects has a base without members, of which uproot forgets the header."""
    streamers = branch.file.streamers
    names = _classes(branch.file, str(branch.typename), set())
    elements = (each for name in names for known in streamers[name].values() for each in known.elements)
    bases = (streamers.get(str(each.name), {}) for each in elements if each.typename == "BASE")
    return any(not known.elements for versions in bases for known in versions.values())


def _vector_of(model: Any) -> Any:
    from uproot.containers import AsVector

    return AsVector(True, model)


def _as_objects() -> Any:
    """The interpretation that makes objects one by one."""
    from uproot.interpretation.objects import AsObjects

    return AsObjects


def is_whole(branch: Any) -> bool:
    """True for a branch of a class, of which it is no member, whose members ROOT writes one after the other."""
    is_element = str(branch.classname) == "TBranchElement"
    return is_element and int(branch.member("fType")) == 0 and int(branch.member("fID")) == -1


def _headerless(model: Any, branch: Any) -> Any:
    version = branch.member("fClassVersion")
    if hasattr(model, "class_of_version"):
        model = model.class_of_version(version) or model.new_class(branch.file, version)

    def read_numbytes_version(self: Any, chunk: Any, cursor: Any, context: Any) -> None:
        cursor.skip(2)  # uproot looks there, and goes back if it finds no version

    def check_numbytes(self: Any, chunk: Any, cursor: Any, context: Any) -> None:
        size = chunk.stop - chunk.start
        if cursor.index != size:
            raise ValueError(f"an object has {size} bytes, of which uproot reads {cursor.index}")

    return type(
        model.__name__,
        (model,),
        {
            "__module__": model.__module__,
            "class_version": version,  # uproot finds none in names such as Hit_2
            "read_numbytes_version": read_numbytes_version,
            "check_numbytes": check_numbytes,
        },
    )


def check_sizes(byte_offsets: Any, size: int) -> None:
    """Refuse objects of other sizes than those that uproot reads."""
    sizes = np.diff(byte_offsets)
    if len(sizes) and (np.any(sizes != sizes[0]) or sizes[0] % size):
        raise ValueError(f"objects have {sizes.min()} to {sizes.max()} bytes, of which uproot reads {size}")


def bare_items(data: Any, byte_offsets: Any, list_header: int, size: int) -> tuple[Any, Any] | None:
    """Return the items of lists, of a size, without headers; None if items have no headers of their own.

    Items of vectors that are not split may have headers. So do objects that are members of split objects or of the
    items of a split vector, and objects that are the only member of such an object. uproot takes the headers for
    values.
    """
    offsets = np.asarray(byte_offsets, np.int64)
    within = np.arange(offsets[0], offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    items = data[offsets[0] : offsets[-1]][within >= list_header]
    header = _headers(items, size)
    whole = size + header
    if header == 0 or len(items) % whole:
        return None
    rows = np.ascontiguousarray(items).reshape(-1, whole)
    if np.any(rows[:, :header] != rows[0, :header]):
        return None
    counts = np.maximum(np.diff(offsets) - list_header, 0) // whole
    return rows[:, header:].ravel(), np.insert(np.cumsum(counts), 0, 0) * size


def _headers(items: Any, size: int) -> int:
    """The bytes of the headers, one within the other, before the first item."""
    begin, whole = 0, 0
    while len(items) >= begin + _HEADER:
        count = int.from_bytes(items[begin : begin + _VERSION_OFFSET].tobytes(), "big") ^ _HAS_COUNT
        whole = whole or count + _VERSION_OFFSET
        if count != whole - begin - _VERSION_OFFSET:
            break
        has_version = np.any(items[begin + _VERSION_OFFSET : begin + _HEADER])
        begin += _HEADER if has_version else _HEADER + _CHECKSUM
        if whole - begin <= size:
            return begin if whole - begin == size else 0
    return 0


def dimensions_of_members(branch: Any) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the shapes of members with several dimensions, such as `float m[2][3]`, by class and name.

    uproot (up to 5.7) makes one dimension of them. Classes whose versions differ in it are left out.
    """
    file = branch.file
    if not hasattr(file, "found_dimensions"):
        file.found_dimensions = _find_dimensions(file.streamers)
    found: dict[str, dict[str, tuple[int, ...]]] = file.found_dimensions
    return found


def _find_dimensions(streamers: Any) -> dict[str, dict[str, tuple[int, ...]]]:
    found = {}
    for name, versions in streamers.items():
        shapes = [dict(_dimensions(streamers, streamer)) for streamer in versions.values()]
        if shapes and shapes[0] and all(each == shapes[0] for each in shapes):
            found[name] = shapes[0]
    return found


def _dimensions(streamers: Any, streamer: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    for element in streamer.elements:
        members = element.all_members
        if element.typename == "BASE":
            for base in streamers.get(str(element.name), {}).values():
                yield from _dimensions(streamers, base)
        elif members.get("fArrayDim", 0) > 1:
            yield str(element.name), tuple(int(size) for size in members["fMaxIndex"][: members["fArrayDim"]])


def with_member_dimensions(
    content: Content, dimensions: Mapping[str, Mapping[str, tuple[int, ...]]]
) -> Content:
    """Return objects in which members have the shapes of `dimensions_of_members`."""

    def shaped(node: Content, **_: Any) -> Content | None:
        own = dimensions.get(node.parameter("__record__") or "") if node.is_record else None
        if not own:
            return None
        parts = zip(node.fields, node.contents, strict=True)
        members = [with_shape(member, own.get(name, ())) for name, member in parts]
        return node.copy(contents=[with_member_dimensions(each, dimensions) for each in members])

    return ak.transform(shaped, content, highlevel=False) if dimensions else content


def with_shape(content: Content, shape: tuple[int, ...]) -> Content:
    """Return arrays of one dimension with the dimensions of `shape`, if they have as many items."""
    if not shape or not content.is_regular or content.size != math.prod(shape):
        return content
    items, entries = content.content, len(content)
    for number in range(len(shape) - 1, -1, -1):
        items = ak.contents.RegularArray(items, shape[number], entries * math.prod(shape[:number]))
    return items


def has_references(branch: Any) -> bool:
    """Return whether the objects, or their members, have a TRef, which uproot (up to 5.7) cannot read."""
    names = [str(branch.typename), *_classes(branch.file, str(branch.typename), set())]
    streamers = (each for name in names for each in branch.file.streamers.get(name, {}).values())
    kinds = (str(element.typename) for streamer in streamers for element in streamer.elements)
    return any(_REFERENCE.search(kind) for kind in (*names, *kinds))


def pointers(branch: Any) -> Iterator[tuple[str, str]]:
    """Iterate over the members that are pointers to objects, by name and type: uproot leaves them out of arrays."""
    file, types = branch.file, str(branch.typename)
    for name in file.streamers:
        if re.search(rf"(?<![\w:]){re.escape(name)}(?![\w:*])", types):
            yield from _pointers_of(file, name, "", frozenset())


def _pointers_of(file: Any, name: str, prefix: str, within: frozenset[str]) -> Iterator[tuple[str, str]]:
    versions = file.streamers.get(name)
    if not versions or name in within or _REFERENCE.search(name):
        return
    for element in versions[max(versions)].elements:
        kind, member = str(element.typename), str(element.name)
        if element.classname in ("TStreamerObjectPointer", "TStreamerObjectAnyPointer"):
            yield f"{prefix}{member}", kind
        elif element.classname == "TStreamerBase":
            yield from _pointers_of(file, member, prefix, within | {name})
        elif element.classname in ("TStreamerObject", "TStreamerObjectAny"):
            yield from _pointers_of(file, kind, f"{prefix}{member}.", within | {name})


def ambiguous_class(branch: Any) -> str:
    """Return a class of the objects, or of their members, of which the file has versions with other members, if any.

    uproot (up to 5.7) reads objects as those of the last version, unless their headers tell another one; those of
    structs do not.
    """
    for name in _classes(branch.file, str(branch.typename), set()):
        versions = branch.file.streamers[name].values()
        if len({tuple(map(_described, streamer.elements)) for streamer in versions}) > 1:
            return name
    return ""


def _described(element: Any) -> tuple[str, str, int]:
    return str(element.name), str(element.typename), int(element.array_length)


def _classes(file: Any, types: str, seen: set[str]) -> Iterator[str]:
    """The classes of the file that types name, of their members and bases."""
    for name in file.streamers:
        if name in seen or not re.search(rf"(?<![\w:]){re.escape(name)}(?![\w:])", types):
            continue
        seen.add(name)
        yield name
        for streamer in file.streamers[name].values():
            for element in streamer.elements:
                kind = str(element.typename)
                yield from _classes(file, f"{kind} {element.name}" if kind == "BASE" else kind, seen)
