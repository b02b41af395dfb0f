"""Awkward layouts of lists of Python objects."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import ConversionError

from .awkward import layout_of_list

__all__ = ["are_tuples", "has_tuples", "is_changed", "layout_of_objects"]


def layout_of_objects(values: Any) -> Content:
    """The layout of a list.

    Awkward (2.14) takes neither integers from 2^63 on nor tuples in shorter ones, makes texts and bytes what the first
    of them is, and rounds integers beside floating-point numbers: lists with some are taken apart.
    """
    try:
        if not isinstance(values, list | tuple):
            return ak.to_layout(ak.Array(values))
        values = _lists_for_tuples(values)
        layout = layout_of_list(values)
        if is_changed(values, layout):
            raise ValueError("values of several kinds")
        return layout
    except (RuntimeError, ValueError):
        if not isinstance(values, list | tuple):
            raise
        kinds = list(map(_kind, values))
        found = list(dict.fromkeys(kinds))
        if None in found:
            raise
        if "missing" in found:
            present = np.array([kind != "missing" for kind in kinds])
            index = np.where(present, np.cumsum(present) - 1, -1)
            content = layout_of_objects([value for value in values if value is not None])
            return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(index), content)
        if len(found) > 1:
            return _of_several_kinds(values, kinds, found)
        if found == ["record"]:
            names = list(dict.fromkeys(name for value in values for name in value))
            members = [layout_of_objects([value.get(name) for value in values]) for name in names]
            return ak.contents.RecordArray(members, names)
        if found == ["number"]:
            return _unsigned(values) if _are_integers(values) else _floating(values)
        if found == ["text"]:
            return _not_utf8(values)
        if found == ["list"]:
            offsets = np.cumsum([0, *(len(value) for value in values)])
            content = layout_of_objects([item for value in values for item in value])
            return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)
        if all(isinstance(value, tuple) for value in values):
            return ak.contents.RecordArray(
                [layout_of_objects(part) for part in zip(*values, strict=True)], None
            )
        raise


def are_tuples(values: Iterable[Any]) -> bool:
    """Whether values, missing ones aside, are tuples of one length: those of several lengths are lists."""
    lengths = {len(value) if isinstance(value, tuple) else 0 for value in values if value is not None}
    return len(lengths) == 1 and lengths != {0}


def _lists_for_tuples(values: Sequence[Any]) -> list[Any]:
    """The values, with lists for tuples of several lengths, which are none of C++."""
    if any(not isinstance(value, tuple | None) for value in values) or are_tuples(values):
        return list(values)
    return [None if value is None else list(value) for value in values]


def has_tuples(content: Content) -> bool:
    """Whether there are tuples in a layout."""
    if content.is_record and content.is_tuple:
        return True
    inner = content.contents if content.is_union or content.is_record else [getattr(content, "content", None)]
    return any(each is not None and has_tuples(each) for each in inner)


def is_changed(values: Collection[Any], content: Content) -> bool:
    """Whether the layout of a list has texts for bytes, bytes for texts, rounded integers, or numbers for flags."""
    if content.is_union:
        return any(is_changed(values, part) for part in content.contents)
    if content.is_option or content.is_indexed:
        return is_changed(values, content.content)
    if content.parameter("__array__") in ("string", "bytestring"):
        kinds = set(map(type, values))
        return any(issubclass(each, str) for each in kinds) and any(issubclass(each, bytes) for each in kinds)
    if content.is_numpy and content.dtype.kind == "f":
        kinds = set(map(type, values))
        if any(issubclass(each, bool | np.bool_) for each in kinds):
            return True
        if not any(issubclass(each, int | np.integer) for each in kinds):
            return False
        whole = (each for each in values if isinstance(each, int | np.integer))
        return any(int(each) != float(each) for each in whole)
    if content.is_record:
        rows = [
            {str(k): item for k, item in enumerate(row)} if isinstance(row, tuple) else row
            for row in values
            if isinstance(row, tuple | Mapping)
        ]
        return any(
            is_changed([row[key] for row in rows if key in row], part)
            for key, part in zip(content.fields, content.contents, strict=True)
        )
    if not content.is_list or not _may_change(content):
        return False
    lists = values
    if not set(map(type, values)) <= {list, tuple}:
        lists = [each for each in values if _has_items(each)]
    return is_changed(list(itertools.chain.from_iterable(lists)), content.content)


def _has_items(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "f"
    ):
        return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0


def _may_change(content: Content) -> bool:
    if content.parameter("__array__") in ("string", "bytestring") or content.is_numpy:
        return not content.is_numpy or content.dtype.kind == "f"
    inner = content.contents if content.is_union or content.is_record else [getattr(content, "content", None)]
    return any(each is not None and _may_change(each) for each in inner)


def _kind(value: Any) -> str | None:
    """Values of one kind have one type in Awkward's arrays; None if there is none."""
    if value is None:
        return "missing"
    if isinstance(value, Mapping):
        return "record"
    if isinstance(value, tuple):
        return f"tuple of {len(value)}"
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, int | float | np.number):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bytes):
        return "bytes"
    return "list" if hasattr(value, "__len__") else None


def _of_several_kinds(values: Sequence[Any], kinds: list[str | None], found: list[str | None]) -> Content:
    numbers = {kind: number for number, kind in enumerate(found)}
    tags = np.array([numbers[kind] for kind in kinds])
    index = np.zeros(len(values), np.int64)
    contents = []
    for number in range(len(found)):
        places = np.flatnonzero(tags == number)
        index[places] = np.arange(len(places))
        contents.append(layout_of_objects([values[place] for place in places.tolist()]))
    return ak.contents.UnionArray.simplified(
        ak.index.Index8(tags.astype(np.int8)), ak.index.Index64(index), contents
    )


def _are_integers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | np.integer) for value in values)


def _not_utf8(texts: Sequence[str]) -> Content:
    """Texts of which some have bytes that are not UTF-8, as Python escapes them and `to_list` gives them."""
    layout = layout_of_list([text.encode("utf-8", "surrogateescape") for text in texts])
    characters = layout.content.copy(parameters={"__array__": "char"})
    return layout.copy(content=characters, parameters={"__array__": "string"})


def _floating(values: Sequence[Any]) -> Content:
    numbers = np.array(values, np.float64)
    for value, number in zip(values, numbers.tolist(), strict=True):
        if isinstance(value, int | np.integer) and int(value) != number:
            raise ConversionError(
                f"the integer {value} is rounded beside floating-point numbers", "numbers of one kind"
            )
    return ak.to_layout(numbers)


def _unsigned(values: Sequence[int]) -> Content:
    try:
        return ak.to_layout(np.array(values, np.uint64))
    except OverflowError:
        raise ConversionError(
            f"the integers from {min(values)} to {max(values)} fit into no type of 64 bits"
        ) from None
