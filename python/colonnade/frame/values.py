"""Converts values of a DataFrame to Awkward, NumPy and Arrow arrays and back; memory is shared, not copied."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.arrays.awkward import AwkwardBuilder
from colonnade.arrays.columns import is_tuple
from colonnade.arrays.forms import Builder
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import ConversionError, TypeMismatchError

__all__ = [
    "assemble",
    "dtype_of",
    "element_of",
    "holds_variant",
    "innermost",
    "is_numeric",
    "is_text",
    "layout_of",
    "numbers_as",
    "python_array",
    "trial",
    "type_of",
    "values_of",
]

A = TypeVar("A")

_NAMES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
_DTYPES: dict[str, np.dtype[Any]] = {
    "boolean": np.dtype(np.bool_),
    "byte": np.dtype(np.uint8),
    "character": np.dtype(np.uint8),
    **{name: np.dtype(name) for name in _NAMES},
}
_ELEMENTS: dict[np.dtype[Any], _core.ElementType] = {
    np.dtype(np.bool_): _core.ElementType.boolean,
    **{np.dtype(name): getattr(_core.ElementType, name) for name in _NAMES},
}


# ---- Values to arrays


def assemble(values: _core.Values, builder: Builder[A]) -> A:
    """Build the array of values, which must be expanded."""
    kind = values.type
    if kind.kind == "scalar":
        return builder.numbers(values.data())
    if kind.kind == "string":
        return builder.text(values.offsets(), values.children[0].data())
    if kind.kind == "list":
        add = builder.option if kind.is_optional else builder.list
        return add(values.offsets(), assemble(values.children[0], builder))
    if kind.is_variant:
        contents = [assemble(child.children[0], builder) for child in values.children]
        tags = np.zeros(len(values), dtype=np.int32)
        for number, child in enumerate(values.children):
            tags[np.diff(child.offsets()) > 0] = number + 1
        return builder.variant(tags, contents)
    contents = [assemble(child, builder) for child in values.children]
    return builder.record(_names_of(kind), contents, len(values))


def _names_of(kind: _core.ValueType) -> list[str] | None:
    """The names of the members of a record; None for a tuple."""
    names = [name for name, _ in kind.members]
    if not names and not kind.class_name:
        return []
    return None if names == [f"_{k}" for k in range(len(names))] else names


def layout_of(values: _core.Values) -> Content:
    """Build the Awkward layout of values."""
    return assemble(values, AwkwardBuilder())


# ---- Types


def innermost(kind: _core.ValueType) -> _core.ValueType:
    """Return what lists and optionals hold in the end."""
    while kind.kind == "list":
        kind = kind.item
    return kind


def is_numeric(kind: _core.ValueType) -> bool:
    """Return True for numbers and for lists of numbers."""
    return innermost(kind).kind == "scalar"


def holds_variant(kind: _core.ValueType) -> bool:
    """Return True for variants, and for lists and records of them."""
    kind = innermost(kind)
    return kind.kind == "record" and (
        kind.is_variant or any(holds_variant(member) for _, member in kind.members)
    )


def is_text(kind: _core.ValueType) -> bool:
    """Return True for texts and for lists of texts."""
    return innermost(kind).kind == "string"


# ---- Arrays to values


def dtype_of(kind: _core.ValueType) -> np.dtype[Any]:
    """Return the NumPy type of a scalar type."""
    return _DTYPES[kind.element.name]


def element_of(dtype: np.dtype[Any]) -> _core.ElementType:
    """Return the element type of a NumPy type; raises `TypeMismatchError` if there is none."""
    found = _ELEMENTS.get(dtype.newbyteorder("="))
    if found is None:
        raise TypeMismatchError(
            f"values of the NumPy type '{dtype}' are not supported in a DataFrame",
            "numbers (8 to 64 bits, float32, float64), bool, strings, lists and records of these",
        )
    return found


def type_of(content: Content, *, optional: bool = False) -> _core.ValueType:
    """Return the type of the values of a layout; an array of unknown type counts as doubles.

    Values of which some are missing are optional, or an error.
    """
    if optional and _has_missing(content):
        return _core.ValueType.optional_of(type_of(_present(content)[1], optional=True))
    content = _plain(content)
    if content.is_union:
        return _core.ValueType.variant(
            [type_of(each, optional=optional) for each in _alternatives(content)[1]]
        )
    if content.is_unknown:
        return _core.ValueType.scalar(_core.ElementType.float64)
    if content.parameter("__array__") in ("string", "bytestring"):
        return _core.ValueType.string()
    if content.is_numpy:
        return _core.ValueType.scalar(element_of(content.dtype))
    if content.is_list:
        return _core.ValueType.list_of(type_of(content.content, optional=optional))
    members = [(name, type_of(part, optional=optional)) for name, part in _members(content).items()]
    kinds = [kind for _, kind in members]
    if is_tuple(content) and all(
        innermost(kind).kind != "record" or innermost(kind).class_name for kind in kinds
    ):
        return _core.ValueType.record(f"std::tuple<{','.join(kind.name for kind in kinds)}>", members)
    return _core.ValueType.record(content.parameter("__record__") or "", members)


def values_of(
    content: Content, kind: _core.ValueType | None = None, *, copies: bool = False, exact: bool = False
) -> _core.Values:
    """Turn a layout into values.

    Args:
        content: one element per value.
        kind: the requested type, to which numbers are converted as NumPy's "same_kind" allows, and integers if they
            fit; that of the layout if None.
        copies: copy the arrays, since other code may write to them.
        exact: refuse integers that a floating-point type would round.

    Raises:
        TypeMismatchError: other kinds of values.
        ConversionError: missing values.
    """
    wanted = type_of(content, optional=True) if kind is None else kind
    if wanted.kind == "list" and wanted.is_optional:
        offsets, items = _present(content)
        return _core.list_values(offsets, values_of(items, wanted.item, copies=copies, exact=exact), True)
    content = _plain(content)
    if wanted.is_variant and content.is_union and len(content.contents) == len(wanted.members):
        return _variants(content, wanted, copies, exact)
    if content.is_unknown:
        return _empty(wanted)
    if wanted.kind == "scalar" and content.is_numpy:
        return _scalars(content.data, wanted, copies, exact)
    is_text = content.parameter("__array__") in ("string", "bytestring")
    if wanted.kind == "string" and is_text:
        offsets, characters = _list_parts(content)
        return _core.string_values(offsets, _flat(characters.data, copies))
    if wanted.kind == "list" and content.is_list and not is_text:
        offsets, items = _list_parts(content)
        return _core.list_values(offsets, values_of(items, wanted.item, copies=copies, exact=exact))
    if wanted.kind == "record" and content.is_record:
        parts = _members(content)
        if set(parts) == {name for name, _ in wanted.members}:
            members = [
                values_of(parts[name], member, copies=copies, exact=exact) for name, member in wanted.members
            ]
            return _core.record_values(wanted, content.length, members)
    raise TypeMismatchError(
        f"values of type '{content.form.type}' are not of type '{wanted.name}'",
        "another type of result",
    )


def _plain(content: Content) -> Content:
    """The layout without index and option types, and with fixed sizes as lists."""
    if content.is_option:
        missing = np.asarray(content.mask_as_bool(valid_when=False))
        if missing.any():
            raise ConversionError(
                f"{np.count_nonzero(missing)} values are missing, the first at index {int(np.argmax(missing))}",
                "fill them (ak.fill_none), or drop them (ak.drop_none)",
            )
        content = content.to_IndexedOptionArray64().project()
    if content.is_indexed:
        content = content.project()
    if content.is_numpy and content.dtype == np.float16:
        content = ak.contents.NumpyArray(np.asarray(content.data).astype(np.float32))
    if content.is_numpy and len(content.shape) > 1:
        content = content.to_RegularArray()
    return content


def _alternatives(content: Content) -> tuple[NDArray[np.int64], list[Content]]:
    """Of a union: the number of the alternative of each value, -1 for none, and the values of each alternative."""
    tags = np.asarray(content.tags.data).astype(np.int64)
    index = np.asarray(content.index.data)[: len(tags)]
    alternatives = []
    for number, alternative in enumerate(content.contents):
        here = np.flatnonzero(tags == number)
        part = alternative[index[here]]
        if part.is_option:
            present = np.asarray(part.mask_as_bool(valid_when=True))
            tags[here[~present]] = -1
            part = part.to_IndexedOptionArray64().project()
        alternatives.append(part)
    return tags, alternatives


def _variants(content: Content, wanted: _core.ValueType, copies: bool, exact: bool) -> _core.Values:
    tags, alternatives = _alternatives(content)
    members = []
    for number, ((_, kind), part) in enumerate(zip(wanted.members, alternatives, strict=True)):
        offsets = np.concatenate([[0], np.cumsum(tags == number)]).astype(np.int64)
        members.append(
            _core.list_values(offsets, values_of(part, kind.item, copies=copies, exact=exact), True)
        )
    return _core.record_values(wanted, len(tags), members)


def _has_missing(content: Content) -> bool:
    return bool(content.is_option and np.asarray(content.mask_as_bool(valid_when=False)).any())


def _present(content: Content) -> tuple[NDArray[np.int64], Content]:
    """The present values, and offsets of lists of one or no value each."""
    if not content.is_option:
        return np.arange(content.length + 1, dtype=np.int64), content
    present = np.asarray(content.mask_as_bool(valid_when=True))
    offsets = np.concatenate([[0], np.cumsum(present)]).astype(np.int64)
    return offsets, content.to_IndexedOptionArray64().project()


def _list_parts(content: Content) -> tuple[NDArray[np.int64], Content]:
    packed = content.to_ListOffsetArray64(True)
    offsets = np.ascontiguousarray(packed.offsets.data, dtype=np.int64)
    return offsets, packed.content[: int(offsets[-1])]


def _members(content: Content) -> dict[str, Content]:
    names = [f"_{k}" for k in range(len(content.contents))] if content.is_tuple else content.fields
    return {name: part[: content.length] for name, part in zip(names, content.contents, strict=True)}


def _flat(data: Any, copies: bool) -> NDArray[Any]:
    array = np.asarray(data)
    return np.array(array) if copies else np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def _scalars(data: Any, kind: _core.ValueType, copies: bool, exact: bool) -> _core.Values:
    array = np.asarray(data)
    element_of(array.dtype)
    if not array.size:  # NumPy's empty arrays are of doubles
        return _empty(kind)
    if array.dtype != dtype_of(kind):
        array, copies = numbers_as(array, kind, exact=exact), False
    return _core.scalar_values(kind.element, _flat(array, copies))


def numbers_as(array: NDArray[Any], kind: _core.ValueType, *, exact: bool = False) -> NDArray[Any]:
    """Convert numbers as NumPy's "same_kind" allows, and integers that fit; raises `TypeMismatchError` for others.

    With `exact`, these are also integers that a floating-point type would round.
    """
    dtype = dtype_of(kind)
    if exact and array.dtype.kind in "iu" and dtype.kind == "f":
        most = 1 << (np.finfo(dtype).nmant + 1)
        for value in array[(array > most) | (array < -most)].tolist():
            if int(dtype.type(value)) != value:
                raise TypeMismatchError(
                    f"{value} is not a {kind.name}", "returns=..., the type of all results"
                )
    integers = array.dtype.kind in "iu" and dtype.kind in "iu"
    if not integers and not np.can_cast(array.dtype, dtype, "same_kind"):
        advice = "a comparison, such as x != 0" if dtype.kind == "b" else "another type of result"
        raise TypeMismatchError(f"values of type '{array.dtype}' are not of type '{kind.name}'", advice)
    if dtype.kind in "iu" and array.size and not np.can_cast(array.dtype, dtype):
        limits = np.iinfo(dtype)
        for value in (int(array.min()), int(array.max())):
            if not limits.min <= value <= limits.max:
                raise TypeMismatchError(f"{value} is not a {kind.name}", "a wider type of result")
    return array.astype(dtype, copy=False)


def _empty(kind: _core.ValueType) -> _core.Values:
    if kind.kind == "scalar":
        return _core.scalar_values(kind.element, np.empty(0, dtype=dtype_of(kind)))
    none = np.zeros(1, dtype=np.int64)
    if kind.kind == "string":
        return _core.string_values(none, np.empty(0, dtype=np.uint8))
    if kind.kind == "list":
        return _core.list_values(none, _empty(kind.item), kind.is_optional)
    return _core.record_values(kind, 0, [_empty(member) for _, member in kind.members])


def trial(kind: _core.ValueType, count: int, items: int = 1) -> Content:
    """Make `count` values of a type: ones, "a", lists of `items` items."""
    builder = AwkwardBuilder()
    if kind.kind == "scalar":
        return builder.numbers(np.ones(count, dtype=dtype_of(kind)))
    offsets = np.arange(count + 1, dtype=np.int64)
    if kind.kind == "string":
        return builder.text(offsets, np.full(count, ord("a"), dtype=np.uint8))
    if kind.kind == "list":
        if kind.is_optional:
            return builder.option(offsets, trial(kind.item, count, items))
        return builder.list(offsets * items, trial(kind.item, count * items, items))
    if kind.is_variant:
        contents = [
            trial(member.item, 0 if k else count, items) for k, (_, member) in enumerate(kind.members)
        ]
        return builder.variant(np.ones(count, dtype=np.int32), contents)
    contents = [trial(member, count, items) for _, member in kind.members]
    return builder.record(_names_of(kind), contents, count)


def python_array(layout: Content) -> Any:
    """Convert a layout for users' code: NumPy arrays for numbers, Awkward arrays for other values."""
    if layout.is_numpy:
        return np.asarray(layout.data)
    return ak.Array(layout)
