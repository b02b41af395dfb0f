"""Awkward arrays from flat arrays, without copying, in the same memory (host or GPU)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import UnsupportedError

from .forms import Flat

__all__ = ["AwkwardBuilder", "layout_of_list", "split_alternatives"]

_MOST_ALTERNATIVES = 128


class AwkwardBuilder:
    """The `Builder` of Awkward layouts.

    Structs become records, pairs and tuples become tuples, optional values and smart pointers option types, variants
    unions (of options where a variant has no value), strings strings, fixed-size arrays regular arrays.
    """

    def __init__(self, backend: str = "cpu") -> None:
        """Build arrays of this backend of Awkward: "cuda" if the flat arrays are in GPU memory."""
        self._backend = backend

    def numbers(self, values: Flat) -> Content:
        """See `Builder`."""
        if values.dtype.char in "qQ":  # "long long" in buffers, whose items are no instances of numpy.int64
            values = values.view(f"{values.dtype.kind}8")
        return ak.contents.NumpyArray(values)

    def text(self, offsets: Flat, characters: Flat) -> Content:
        """See `Builder`."""
        content = ak.contents.NumpyArray(characters, parameters={"__array__": "char"})
        return ak.contents.ListOffsetArray(
            ak.index.Index64(offsets), content, parameters={"__array__": "string"}
        )

    def list(self, offsets: Flat, content: Content) -> Content:
        """See `Builder`."""
        return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)

    def regular(self, content: Content, size: int, count: int) -> Content:
        """See `Builder`."""
        return ak.contents.RegularArray(content, size, zeros_length=count)

    def option(self, offsets: Flat, content: Content) -> Content:
        """See `Builder`; an option inside an option becomes one option, and types of a variant are never merged."""
        present = offsets[1:] > offsets[:-1]
        if present.all() and not content.is_union:
            return ak.contents.UnmaskedArray.simplified(content)
        index = np.where(present, offsets[:-1], -1)
        if content.is_union:
            tags, inner_index, parts, _ = split_alternatives(content)
            return _union(_at(index, tags, -1), _at(index, inner_index, 0), parts, optional=True)
        if content.is_option:  # not by Awkward, whose kernels for GPUs need a package more
            inner = content.to_IndexedOptionArray64()
            index, content = _at(index, inner.index.data, -1), inner.content
        return ak.contents.IndexedOptionArray(ak.index.Index64(index), content)

    def record(self, names: Sequence[str] | None, contents: Sequence[Content], count: int) -> Content:
        """See `Builder`."""
        fields = None if names is None else list(names)
        record = ak.contents.RecordArray(list(contents), fields, length=count)
        return record if contents else record.to_backend(self._backend)

    def variant(self, tags: Flat, contents: Sequence[Content]) -> Content:
        """See `Builder`; variants inside a variant become one union, and types are never merged.

        Raises:
            UnsupportedError: that union has more types than one of Awkward's can have.
        """
        out_tags = np.full_like(tags, -1, dtype=np.int8)
        out_index = np.zeros_like(tags, dtype=np.int64)
        parts: list[Content] = []
        optional = False
        for number, content in enumerate(contents):
            here = np.flatnonzero(tags == number + 1)
            inner_tags, inner_index, inner, is_option = split_alternatives(content[: len(here)])
            _check_number(len(parts) + len(inner))
            out_tags[here] = np.where(inner_tags >= 0, inner_tags + len(parts), -1)
            out_index[here] = inner_index
            parts += inner
            optional |= is_option
        return _union(out_tags, out_index, parts, optional or bool((out_tags < 0).any()))


def array_library(content: Content) -> Any:
    """Return the library of a layout's arrays: NumPy, or CuPy in the memory of a GPU."""
    return importlib.import_module("cupy") if content.backend.name == "cuda" else np


def split_alternatives(content: Content) -> tuple[Flat, Flat, list[Content], bool]:
    """Split an array into arrays without unions.

    Returns:
        For each value the index of its array (-1: missing) and its index there; the arrays; true if there is an option
        type.

    Raises:
        UnsupportedError: there are more arrays than a union can have.
    """
    count = content.length
    xp = array_library(content)
    if content.is_option:
        option = content.to_IndexedOptionArray64()
        tags, index, parts, _ = split_alternatives(option.content)
        positions = option.index.data
        return _at(positions, tags, -1), _at(positions, index, 0), parts, True
    if content.is_union:
        tags = content.tags.data[:count].copy()
        index = content.index.data[:count].astype(np.int64)
        parts = []
        optional = False
        out_tags, out_index = xp.full(count, -1, dtype=np.int8), xp.zeros(count, dtype=np.int64)
        for number, part in enumerate(content.contents):
            here = np.flatnonzero(tags == number)
            inner_tags, inner_index, inner, is_option = split_alternatives(part)
            position = index[here]
            chosen = inner_tags[position]
            _check_number(len(parts) + len(inner))
            out_tags[here] = np.where(chosen >= 0, chosen + len(parts), -1)
            out_index[here] = inner_index[position]
            parts += inner
            optional |= is_option
        return out_tags, out_index, parts, optional
    plain = content.project() if content.is_indexed else content
    return xp.zeros(count, dtype=np.int8), xp.arange(count, dtype=np.int64), [plain], False


def _check_number(alternatives: int) -> None:
    """Refuse more alternatives than a tag of 8 bits can name."""
    if alternatives > _MOST_ALTERNATIVES:
        raise UnsupportedError(
            f"variants in a variant are one union in Awkward Array, of at most {_MOST_ALTERNATIVES} types",
            "library='pa', or to_arrow()",
        )


def _at(positions: Flat, values: Flat, missing: int) -> Flat:
    """The values at these positions; -1 is the position of a missing one."""
    present = positions >= 0
    taken = np.full_like(positions, missing, dtype=values.dtype)
    taken[present] = values[positions[present]]
    return taken


def _union(tags: Flat, index: Flat, parts: list[Content], optional: bool) -> Content:
    if len(parts) == 1 and not optional:
        return parts[0]
    if len(parts) == 1:
        return ak.contents.IndexedOptionArray(ak.index.Index64(np.where(tags < 0, -1, index)), parts[0])
    if not optional:
        return ak.contents.UnionArray(ak.index.Index8(tags), ak.index.Index64(index), parts)
    # Awkward keeps missing values in the alternatives: they become one missing value at the end of the first.
    first = array_library(parts[0]).arange(parts[0].length + 1, dtype=np.int64)
    first[-1] = -1
    contents = [
        ak.contents.IndexedOptionArray(ak.index.Index64(first), parts[0]),
        *(ak.contents.UnmaskedArray(part) for part in parts[1:]),
    ]
    index = np.where(tags < 0, parts[0].length, index)
    return ak.contents.UnionArray(
        ak.index.Index8(np.where(tags < 0, 0, tags).astype(np.int8)), ak.index.Index64(index), contents
    )


def zip_fields(contents: dict[str, Content], count: int, backend: str = "cpu") -> ak.Array:
    """One record per entry; `backend` is that of arrays without fields."""
    return ak.Array(AwkwardBuilder(backend).record(list(contents), list(contents.values()), count))


def layout_of_list(values: list[Any]) -> Content:
    """Return the layout of a list of Python objects.

    Awkward (2.14) asks each item of the outermost list, but of no other, for its backend, which takes 3 microseconds.
    """
    return ak.to_layout(ak.Array([values])).content
