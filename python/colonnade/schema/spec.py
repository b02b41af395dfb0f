"""Schemas given by users, and schemas inferred from data.

A field's type is given in RNTuple's spelling ("std::vector<float>"), as a NumPy type (np.float32) or as a Python type
(int, float, bool, str). Records without a C++ class are dictionaries {"pt": "float", "eta": "float"}, collections of
them lists with one item [{"pt": "float"}]. A list with a type that has a name is a vector of it. A field of another
data set stands for its type, and a schema for all its fields.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from colonnade import _core
from colonnade._core import FieldKind
from colonnade.arrays.columns import is_tuple
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import Error, SchemaError, UsageError
from colonnade.misuse import column_name, is_unicode, shown

from .fields import FieldInfo

__all__ = ["Encoding", "Spec", "apply_encodings", "build_field", "infer", "spec_of"]

Spec: TypeAlias = Any
"""A type: str, NumPy or Python type, dict of Specs, list of one Spec, FieldInfo."""
Encoding: TypeAlias = str | tuple[str, int] | tuple[str, int, float, float]
"""A column type, "Real16"; with bits, ("Real32Trunc", 16); with bits and range, ("Real32Quant", 20, -3.2, 3.2)."""

_NAMES = {
    "bool": "bool",
    "float16": "float",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"std::{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_WRITTEN = ("float", "double", "int", "bool", "char", "std::string", "std::vector<float>", *_NAMES.values())
"""Names of types, for a misspelled one."""


def build_field(name: str, spec: Spec, path: str = "") -> _core.Field:
    """Make the field of a type; raises `SchemaError` or `TypeMismatchError` for an invalid type."""
    column_name(name, "field")
    path = path or name
    if path.count(".") >= _core.max_field_depth:
        raise SchemaError(
            f"fields are nested more than {_core.max_field_depth} deep",
            "fewer levels: no reader would open the data set",
            field=path.partition(".")[0],
        )
    if isinstance(spec, FieldInfo):
        return _like(spec, name, path)
    if isinstance(spec, Mapping):
        return _core.make_record(
            name, [build_field(key, value, f"{path}.{key}") for key, value in spec.items()]
        )
    if isinstance(spec, list):
        if len(spec) != 1:
            raise SchemaError(f"a collection has one item type, not {len(spec)}", field=path)
        item = build_field("_0", spec[0], f"{path}._0")
        # RDataFrame refuses files with collections without a type name of sets, maps, optionals or pointers.
        if item.type_name:
            return _core.make_field(name, f"std::vector<{item.type_alias or item.type_name}>")
        return _core.make_collection(name, item)
    if not isinstance(spec, str) or not is_unicode(spec):
        spec = _named(spec, path)
    try:
        return _core.make_field(name, spec)
    except Error as error:
        # Advice about make_field<T> is for C++.
        close = difflib.get_close_matches(spec, _WRITTEN, n=1)
        advice = f"'{close[0]}'" if close else "a type name, or a dictionary of types for a record"
        raise SchemaError(
            error.problem, advice if "make_field" in error.advice else error.advice, field=path
        ) from None


def _like(stored: FieldInfo, name: str, path: str) -> _core.Field:
    for part in stored.unreadable_parts():
        raise SchemaError(f"'{part.path}' cannot be read: {part.unreadable}", "leave it out", field=path)
    field = build_field(name, spec_of(stored), path)
    for part in stored.walk():
        found = field.find(part.path[len(stored.path) + 1 :])
        if found is not None:
            found.description = part.description
    return field


def _named(spec: Any, path: str) -> str:
    if spec is str:
        return "std::string"
    try:
        name = "" if spec is None else np.dtype(spec).name  # NumPy takes None for float64
    except (TypeError, ValueError):
        name = ""
    if name not in _NAMES:
        is_data = hasattr(spec, "__len__")
        advice = "a type name such as 'float' or 'std::vector<float>'"
        raise SchemaError(
            f"{shown(spec)} is not a type",
            "no schema: extend() takes values and finds their types" if is_data else advice,
            field=path,
        )
    return _NAMES[name]


# ---- From data


def infer(content: Content, path: str, *, loose: bool = False) -> Spec:
    """Find the type of an array.

    Args:
        content: the layout of the array.
        path: its path, for errors.
        loose: treat option types without missing values as their content, as for Arrow, where any column may have
            missing values.

    Raises:
        SchemaError: RNTuple has no such type, or there are no values to infer it from.
    """
    if content.is_option:
        if loose and not np.any(np.asarray(content.mask_as_bool(valid_when=False))):
            return infer(content.content, path, loose=loose)
        return f"std::optional<{_named_item(content.content, path, 'a missing value', loose)}>"
    if content.is_indexed:
        return infer(content.project(), path, loose=loose)
    if content.is_union:
        parts = [_without_option(part) for part in content.contents]
        names = [_named_item(part, path, "an alternative", loose) for part in parts]
        return f"std::variant<{','.join(names)}>"
    if content.is_unknown:
        raise SchemaError("the type is unknown, because there are no values", "give the schema", field=path)
    if content.is_numpy:
        return _numbers(content, path)
    if content.is_record:
        return _record(content, path, loose)
    if content.parameter("__array__") == "string":
        return "std::string"
    if content.parameter("__array__") == "bytestring":
        return "std::vector<std::byte>"
    item = infer(content.content, f"{path}._0", loose=loose)
    if not isinstance(item, str):
        return [item]
    if content.is_regular and content.size > 0:
        return f"std::array<{item},{content.size}>"
    return f"std::vector<{item}>"


def _numbers(content: Content, path: str) -> str:
    name = _NAMES.get(content.dtype.name)
    if name is None:
        raise SchemaError(
            f"values of type {content.dtype} cannot be stored", "convert them to numbers", field=path
        )
    for size in reversed(content.inner_shape):
        name = f"std::array<{name},{size}>" if size else f"std::vector<{name}>"
    return name


def _record(content: Content, path: str, loose: bool) -> Spec:
    names = [f"_{number}" for number in range(len(content.contents))] if content.is_tuple else content.fields
    members = {
        name: infer(part[: content.length], f"{path}.{name}", loose=loose)
        for name, part in zip(names, content.contents, strict=True)
    }
    if is_tuple(content) and members and all(isinstance(member, str) for member in members.values()):
        return f"std::tuple<{','.join(members.values())}>"
    return members


def _without_option(content: Content) -> Content:
    return content.content if content.is_option else content


def _named_item(content: Content, path: str, what: str, loose: bool) -> str:
    item = infer(content, path, loose=loose)
    if not isinstance(item, str):
        raise SchemaError(
            f"{what} cannot be a record, because records without a C++ class have no type name",
            "lists with zero or one record (ak.singletons), or tuples",
            field=path,
        )
    return item


# ---- Encodings


def apply_encodings(fields: Mapping[str, _core.Field], encodings: Mapping[str, Encoding]) -> None:
    """Choose the column types of fields by path; a collection of numbers stands for its numbers."""
    for path, encoding in encodings.items():
        name, _, rest = path.partition(".")
        field = fields[name].find(rest) if name in fields else None
        if field is None:
            raise UsageError(f"an encoding is given for '{path}', but there is no such field", field=path)
        given: Sequence[Any] = (encoding,) if isinstance(encoding, str) else encoding
        while field.kind != FieldKind.scalar and len(field.children) == 1 and not _is_index(given[0]):
            field = field.children[0]
        _set(field, given, path)


def _is_index(name: str) -> bool:
    return "Index" in name


def _set(field: _core.Field, given: Sequence[Any], path: str) -> None:
    try:
        chosen = _core.ColumnEncoding(*given)
    except (TypeError, ValueError):
        raise SchemaError(
            f"{given!r} is not an encoding",
            "'Real16', ('Real32Trunc', bits) or ('Real32Quant', bits, minimum, maximum)",
            field=path,
        ) from None
    others = field.encodings(True)[1:]
    try:
        field.set_encodings([chosen, *others])
    except Error as error:
        raise SchemaError(error.problem, error.advice, field=path) from None


def spec_of(field: FieldInfo) -> Spec:
    """Spell a stored type so that it can be written: classes by their members, enums by their integers.

    Arrays of classes become lists. Optional values, pointers and variants of classes keep their type, which only C++
    programs can write.
    """
    if _is_class(field):
        return {name: spec_of(member) for name, member in field.members()}
    if field.type == "collection":
        return [spec_of(field.children[0])]
    if field.kind == FieldKind.cardinality:
        return field.type.partition("<")[2].removesuffix(">")
    if not any(map(_is_spelled_otherwise, field.walk())):
        return field.type
    parts = [spec_of(child) for child in field.children]
    if _has_proxy(field):
        return parts
    if _is_enum(field):
        return "std::int8_t" if parts[0] == "char" else parts[0]
    outer = field.type.partition("<")[0]
    if not all(isinstance(part, str) for part in parts):
        if field.is_tuple:
            return {child.name: part for child, part in zip(field.children, parts, strict=True)}
        return parts if field.kind in (FieldKind.collection, FieldKind.array) else field.type
    if outer.endswith("map"):
        parts = [spec_of(child) for child in field.children[0].children]
    return f"{outer}<{','.join([*parts, *([str(field.size)] if field.size else [])])}>"


def _is_class(field: FieldInfo) -> bool:
    return field.kind == FieldKind.record and not field.is_tuple


def _is_spelled_otherwise(field: FieldInfo) -> bool:
    return _is_class(field) or _is_enum(field) or _has_proxy(field) or field.kind == FieldKind.cardinality


def _has_proxy(field: FieldInfo) -> bool:
    """Whether this is a collection with a type of the writer's own."""
    return field.kind == FieldKind.collection and not field.type.startswith(("std::", "ROOT::VecOps::RVec<"))


def _is_enum(field: FieldInfo) -> bool:
    return field.kind == FieldKind.wrapper and not field.type.startswith("std::atomic<")
