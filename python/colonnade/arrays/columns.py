"""From nested arrays to the flat arrays of a columnar write: the inverse of `forms`.

Everything is checked here, with the path of the field, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from colonnade import _core
from colonnade._core import ArrayRole, ElementType, FieldKind
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import ConversionError, TypeMismatchError

from .awkward import split_alternatives
from .forms import Flat

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PathArray", "as_texts", "flatten", "is_tuple", "to_element"]

PathArray: TypeAlias = tuple[str, ArrayRole, ElementType, Flat]

_DTYPES: dict[str, str] = {
    "boolean": "bool",
    "byte": "uint8",
    "character": "uint8",
    **{name: name for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")},
    "float32": "float32",
    "float64": "float64",
}


def dtype_of(element: ElementType) -> np.dtype[Any]:
    """Return the NumPy type of an element type."""
    return np.dtype(_DTYPES[element.name])


def flatten(field: _core.Field, content: Content) -> list[PathArray]:
    """Split an array into the arrays of a field and its sub-fields.

    Raises:
        TypeMismatchError: the array is of another kind than the field.
        ConversionError: a value does not fit, or is missing where the type is not optional.
    """
    flattener = _Flattener()
    flattener.add(field, content, field.name)
    return flattener.arrays


class _Flattener:
    def __init__(self) -> None:
        self.arrays: list[PathArray] = []

    def add(self, field: _core.Field, content: Content, path: str) -> None:
        kind = field.kind
        if kind == FieldKind.nullable:
            return self._nullable(field, content, path)
        if kind == FieldKind.variant:
            return self._variant(field, content, path)
        content = _required(field, content, path)
        if kind == FieldKind.scalar:
            self._values(path, field.elements[0], _numbers(field, content, path))
        elif kind == FieldKind.string:
            self._string(field, content, path)
        elif kind == FieldKind.collection:
            self._collection(field, content, path)
        elif kind == FieldKind.array:
            items = _fixed_items(field, content, path)
            self.add(field.children[0], items, f"{path}._0")
        elif kind == FieldKind.bitset:
            items = _required(field, _fixed_items(field, content, path), path)
            self._values(path, field.elements[0], _numbers(field, items, path))
        elif kind == FieldKind.record:
            self._record(field, content, path)
        elif kind == FieldKind.wrapper:
            self.add(field.children[0], content, f"{path}._0")
        else:
            raise TypeMismatchError("this field cannot be filled", "a projected field", field=path)
        return None

    def _values(self, path: str, element: ElementType, values: Flat) -> None:
        self.arrays.append((path, ArrayRole.values, element, values))

    def _offsets(self, path: str, offsets: Flat) -> None:
        whole = np.ascontiguousarray(offsets, dtype=np.int64)
        self.arrays.append((path, ArrayRole.offsets, ElementType.int64, whole))

    def _string(self, field: _core.Field, content: Content, path: str) -> None:
        if content.is_unknown:
            self._offsets(path, np.zeros(1))
            self._values(path, ElementType.character, np.empty(0, dtype=np.uint8))
            return
        content = as_texts(content)
        if not _is_text(content):
            raise _mismatch(field, content, path)
        offsets, characters = _list_parts(content)
        self._offsets(path, offsets)
        self._values(path, ElementType.character, np.ascontiguousarray(characters.data, dtype=np.uint8))

    def _collection(self, field: _core.Field, content: Content, path: str) -> None:
        item = field.children[0]
        if content.is_unknown:
            self._offsets(path, np.zeros(1))
            return self.add(item, content, f"{path}._0")
        content = _with_dimensions(content)
        bytes_wanted = item.kind == FieldKind.scalar and dtype_of(item.elements[0]).itemsize == 1
        is_bytes = content.parameter("__array__") == "bytestring"
        if not content.is_list or (_is_text(content) and not (is_bytes and bytes_wanted)):
            raise _mismatch(field, content, path)
        offsets, items = _list_parts(content)
        self._offsets(path, offsets)
        return self.add(item, items, f"{path}._0")

    def _nullable(self, field: _core.Field, content: Content, path: str) -> None:
        tags, index, parts, optional = split_alternatives(content)
        present = tags >= 0
        self._offsets(path, np.concatenate([[0], np.cumsum(present)]))
        if optional:
            content = _choose(tags[present], index[present], parts)
        return self.add(field.children[0], content, f"{path}._0")

    def _variant(self, field: _core.Field, content: Content, path: str) -> None:
        tags, index, parts, _ = split_alternatives(content)
        alternatives = field.children
        chosen = np.full(len(parts) + 1, -1)
        for number in range(len(parts)):
            part = _chosen(tags, index, parts, number)
            if part.length:
                chosen[number] = _best_alternative(field, part, path)
        mapped = chosen[tags]  # tag -1, a missing value, gets the -1 at the end
        self.arrays.append((path, ArrayRole.tags, ElementType.int32, (mapped + 1).astype(np.int32)))
        for number, alternative in enumerate(alternatives):
            here = mapped == number
            own = [k for k in range(len(parts)) if chosen[k] == number]
            below = f"{path}._{number}"
            if not own:
                self.add(alternative, ak.contents.EmptyArray(), below)
                continue
            renumbered = np.full(len(parts), -1, dtype=np.int8)
            renumbered[own] = np.arange(len(own))
            layout = _choose(renumbered[tags[here]], index[here], [parts[k] for k in own])
            if layout.is_union and alternative.kind != FieldKind.variant:
                layout = _merged(layout)
            self.add(alternative, layout, below)

    def _record(self, field: _core.Field, content: Content, path: str) -> None:
        children = field.children
        if content.is_unknown:
            for child in children:
                self.add(child, content, f"{path}.{child.name}")
            return
        if not content.is_record:
            raise _mismatch(field, content, path)
        names = [child.name for child in children]
        given = _members(content, names)
        places = {name: place for place, name in reversed([*enumerate(given)])}  # the first of a name
        known = set(names)
        missing = [name for name in names if name not in places]
        extra = [name for name in given if name not in known]
        if missing or extra:
            raise TypeMismatchError(members_problem("members", missing, extra), field=path)
        for child in children:
            part = content.contents[places[child.name]][: content.length]
            self.add(child, part, f"{path}.{child.name}")


def _members(content: Content, names: list[str]) -> list[str]:
    """The names of a record's members, or those that RNTuple gives to a tuple's, which Arrow's are numbered as."""
    given = [f"_{k}" for k in range(len(content.contents))] if content.is_tuple else list(content.fields)
    if set(given) != set(names) and set(given) == {str(k) for k in range(len(names))}:
        return [f"_{name}" for name in given]
    return given


def members_problem(what: str, missing: list[str], extra: list[str]) -> str:
    """Describe missing and superfluous names."""
    parts = [f"the {what} {', '.join(missing)} are missing"] if missing else []
    parts += [f"the {what} {', '.join(extra)} are not in the schema"] if extra else []
    return " and ".join(parts)


# ---- Layouts


def is_tuple(content: Content) -> bool:
    """Return True for tuples: records without names of members, or with those that RNTuple gives them."""
    names = content.fields
    return bool(content.is_tuple) or (names != [] and names == [f"_{number}" for number in range(len(names))])


def _is_text(content: Content) -> bool:
    return content.parameter("__array__") in ("string", "bytestring")


def as_texts(content: Content) -> Content:
    """The layout with texts in place of bytes where both are alternatives of a union."""

    def alike(layout: Content, **_: Any) -> Content | None:
        if layout.parameter("__array__") != "bytestring":
            return None
        characters = layout.content.copy(parameters={"__array__": "char"})
        return layout.copy(content=characters, parameters={"__array__": "string"})

    kind = str(content.form.type)
    has_both = "union[" in kind and "bytes" in kind and "string" in kind
    return ak.to_layout(ak.transform(alike, content)) if has_both else content


def _mismatch(field: _core.Field, content: Content, path: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"values of type '{content.form.type}' cannot be stored as '{_type_of(field)}'", field=path
    )


def _type_of(field: _core.Field) -> str:
    return field.type_alias or field.type_name or field.kind.name


def _required(field: _core.Field, content: Content, path: str) -> Content:
    """The content without its option type; raises if a value is missing."""
    if content.is_option:
        missing = np.asarray(content.mask_as_bool(valid_when=False))
        if missing.any():
            name = _type_of(field)
            raise ConversionError(
                f"{np.count_nonzero(missing)} values are missing, the first at index {int(np.argmax(missing))}",
                f"the type std::optional<{name}>, or fill them (ak.fill_none)",
                field=path,
            )
        content = content.project()
        return _required(field, content, path)
    if content.is_union:
        tags, index, parts, optional = split_alternatives(content)
        used = [k for k in range(len(parts)) if np.any(tags == k)]
        if not used and content.length == 0:
            return ak.contents.EmptyArray()
        if optional and np.any(tags < 0):
            return _required(
                field,
                ak.contents.IndexedOptionArray(ak.index.Index64(np.where(tags < 0, -1, 0)), parts[0]),
                path,
            )
        if len(used) == 1:
            return _required(field, _choose(np.zeros_like(tags), index, [parts[used[0]]]), path)
        return _merged(content)
    return content.project() if content.is_indexed else content


def _with_dimensions(content: Content) -> Content:
    return content.to_RegularArray() if content.is_numpy and content.inner_shape else content


def _list_parts(content: Content) -> tuple[Flat, Content]:
    """Offsets from 0, and the items in their range."""
    whole = content.to_ListOffsetArray64(True)
    offsets = np.asarray(whole.offsets.data)
    return offsets, whole.content[: int(offsets[-1])]


def _fixed_items(field: _core.Field, content: Content, path: str) -> Content:
    content = _with_dimensions(content)
    if content.is_unknown:
        return content
    if not content.is_list or _is_text(content):
        raise _mismatch(field, content, path)
    size = field.array_size
    if content.is_regular and content.size == size:
        return content.content[: content.length * size]
    offsets, items = _list_parts(content)
    lengths = np.diff(offsets)
    if np.any(lengths != size):
        first = int(np.argmax(lengths != size))
        raise ConversionError(
            f"value number {first} has {int(lengths[first])} items instead of {size}", field=path
        )
    return items


def _numbers(field: _core.Field, content: Content, path: str) -> NDArray[Any]:
    element = field.elements[0]
    if content.is_unknown:
        return np.empty(0, dtype=dtype_of(element))
    if not content.is_numpy or content.inner_shape:
        raise _mismatch(field, content, path)
    return to_element(np.asarray(content.data), element, _type_of(field), path)


def _choose(tags: Flat, index: Flat, parts: list[Content]) -> Content:
    """The values selected by tags and index, in order."""
    if len(parts) == 1:
        if len(index) == parts[0].length and np.array_equal(index, np.arange(len(index))):
            return parts[0]
        return ak.contents.IndexedArray(ak.index.Index64(index), parts[0]).project()
    return ak.contents.UnionArray(ak.index.Index8(tags.astype(np.int8)), ak.index.Index64(index), parts)


def _chosen(tags: Flat, index: Flat, parts: list[Content], number: int) -> Content:
    """The values of one part that are selected."""
    return _choose(tags, index[tags == number], parts[number : number + 1])


def _merged(content: Content) -> Content:
    """Numbers of several types converted to one type."""
    merged = ak.contents.UnionArray.simplified(content.tags, content.index, content.contents)
    return merged.project() if merged.is_indexed else merged


# ---- Numbers


def to_element(values: NDArray[Any], element: ElementType, type_name: str, path: str) -> NDArray[Any]:
    """Convert numbers to the element type of a field, losslessly except for rounding of floating-point numbers."""
    target = dtype_of(element)
    if values.dtype == target:
        return np.ascontiguousarray(values)
    if element == ElementType.character and values.dtype == np.int8:
        return np.ascontiguousarray(values).view(np.uint8)
    kinds = {"b": "b", "i": "biu", "u": "biu", "f": "biuf"}[target.kind]
    if values.dtype.kind not in kinds:
        raise TypeMismatchError(
            f"values of type {values.dtype} cannot be stored as '{type_name}'",
            "convert them (astype)",
            field=path,
        )
    if target.kind in "iu" and values.dtype.kind in "iu" and values.size:
        limits = np.iinfo(target)
        low, high = int(values.min()), int(values.max())
        if low < limits.min or high > limits.max:
            worst = low if low < limits.min else high
            raise ConversionError(
                f"the value {worst} does not fit '{type_name}', which holds {limits.min} to {limits.max}",
                field=path,
            )
    try:
        with np.errstate(over="raise"):
            return np.ascontiguousarray(values.astype(target))
    except FloatingPointError:
        finite = values[np.isfinite(values)]
        worst_float = float(finite[np.argmax(np.abs(finite))])
        raise ConversionError(
            f"the value {worst_float:g} does not fit '{type_name}', which holds up to {np.finfo(np.float32).max:g}",
            field=path,
        ) from None


# ---- Variants


# How well a field suits values: as they are, in a larger or smaller type, as floating-point numbers for integers,
# rounded, and not at all although they are of its kind.
_EXACT, _WIDENED, _CHANGED, _ROUNDED, _CHANGED_AND_ROUNDED, _BEYOND, _NOT = 6, 5, 3, 2, 1.5, 1, 0
_RESHAPED = 4
"""At most this well suit lists of any length those of one length, and fields without missing values optional ones."""


def _best_alternative(field: _core.Field, content: Content, path: str) -> int:
    scores = [_score(child, content) for child in field.children]
    best = int(np.argmax(scores))
    if scores[best] == _NOT:
        raise _mismatch(field, content, path)
    return best


def _score(field: _core.Field, content: Content) -> float:
    """Rate how well an array fits a field."""
    kind = field.kind
    content = content.project() if content.is_indexed and not content.is_option else content
    if content.is_unknown:
        return _EXACT
    if kind == FieldKind.nullable:
        return _score(field.children[0], content.project() if content.is_option else content)
    if kind == FieldKind.variant:
        return _worst(content, lambda part: max(_score(child, part) for child in field.children))
    if content.is_option:
        return _score_option(content, lambda present: _score(field, present))
    if content.is_union:
        return min(_RESHAPED, _worst(content, lambda part: _score(field, part)))
    if kind == FieldKind.scalar:
        return _score_numbers(field, content)
    if _is_text(content):
        return _score_text(field, content.parameter("__array__") == "bytestring")
    if kind == FieldKind.string:
        return _NOT
    if kind == FieldKind.wrapper:
        return _score(field.children[0], content)
    if kind == FieldKind.record:
        return _score_record(field, content)
    content = _with_dimensions(content)
    if not content.is_list:
        return _NOT
    if kind in (FieldKind.array, FieldKind.bitset) and not (
        content.is_regular and content.size == field.array_size
    ):
        return _NOT
    _, items = _list_parts(content)
    if kind == FieldKind.bitset:
        # Items of lists of Arrow may be missing, even if none is.
        if items.is_option:
            return _score_option(items, lambda present: _score_numbers(field, present))
        return _score_numbers(field, items)
    fits = _score(field.children[0], items)
    return min(fits, _RESHAPED) if kind == FieldKind.collection and content.is_regular else fits


def _score_option(content: Content, score: Callable[[Content], float]) -> float:
    is_missing = np.any(np.asarray(content.mask_as_bool(valid_when=False)))
    return min(_BEYOND if is_missing else _RESHAPED, score(content.project()))


def _worst(content: Content, score: Callable[[Content], float]) -> float:
    """The least score of the arrays that a union chooses from: each must fit."""
    tags, index, parts, _ = split_alternatives(content)
    used = [_chosen(tags, index, parts, number) for number in range(len(parts))]
    return min((score(part) for part in [part for part in used if part.length] or parts), default=_EXACT)


def _score_text(field: _core.Field, is_bytes: bool) -> float:
    """Bytes belong to vectors of bytes, and to strings only if there are none."""
    kind = field.kind
    if kind == FieldKind.wrapper:
        return _score_text(field.children[0], is_bytes)
    if kind == FieldKind.string:
        return _CHANGED if is_bytes else _EXACT
    if not is_bytes or kind != FieldKind.collection or field.children[0].kind != FieldKind.scalar:
        return _NOT
    element = field.children[0].elements[0]
    if element == ElementType.byte:
        return _EXACT
    return _CHANGED if dtype_of(element) == np.uint8 else _NOT


def _score_numbers(field: _core.Field, content: Content) -> float:
    if not content.is_numpy or content.inner_shape:
        return _NOT
    element, values = field.elements[0], np.asarray(content.data)
    target = dtype_of(element)
    if values.dtype == target:
        return _EXACT
    if values.dtype.kind not in {"b": "", "i": "iu", "u": "iu", "f": "iuf"}[target.kind]:
        return _NOT
    try:
        found = to_element(values, element, "", "")
    except ConversionError:
        return _BEYOND
    is_whole = values.dtype.kind in "iu"
    if target.kind in "iu":
        return _WIDENED
    if _are_same(found, values):
        return _CHANGED if is_whole else _WIDENED
    return _CHANGED_AND_ROUNDED if is_whole else _ROUNDED


def _are_same(found: NDArray[Any], values: NDArray[Any]) -> bool:
    """Whether floating-point numbers are those given. To compare them with integers would round the latter."""
    if values.dtype.kind == "f":
        return np.array_equal(found, values, equal_nan=True)
    bits = 8 * values.dtype.itemsize - (values.dtype.kind == "i")
    return bool(np.all(found < 2.0**bits)) and np.array_equal(found.astype(values.dtype), values)


def _score_record(field: _core.Field, content: Content) -> float:
    if not content.is_record:
        return _NOT
    names = [child.name for child in field.children]
    given = _members(content, names)
    if set(names) != set(given):
        return _NOT
    parts = [content.contents[given.index(child.name)][: content.length] for child in field.children]
    return min(map(_score, field.children, parts), default=_EXACT)
