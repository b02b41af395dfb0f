"""Plain Python values in place of those that conversions misread.

Iterators give their items once, but several conversions may be tried. The rows of a matrix are matrices, which end no
recursion; NumPy's records become lists without names, and tables lists of the names of their columns.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from colonnade import _core
from colonnade.arrays.lazy import numpy as np
from colonnade.errors import TypeMismatchError

__all__ = ["DEEPEST", "as_mapping", "check_nesting", "kept", "kept_items", "without_records"]

DEEPEST = _core.max_field_depth
"""The limit of nested fields."""


@functools.cache
def _wide_types() -> tuple[type, ...]:
    """Return the type of floating-point numbers that are rounded to 64 bits, if the platform has one."""
    return (np.longdouble,) if np.finfo(np.longdouble).nmant > 52 else ()


def as_mapping(value: Any) -> Mapping[str, Any] | None:
    """Return a mapping, and that of the members of an object of a data class or of pydantic; None for others."""
    if isinstance(value, Mapping):
        return value
    kind: Any = type(value)
    members = _members(kind)
    return None if members is None else {name: getattr(value, name) for name in members}


@functools.lru_cache(1000)
def _members(kind: type) -> tuple[str, ...] | None:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    fields = getattr(kind, "model_fields", None)
    return tuple(fields) if isinstance(fields, Mapping) else None


def kept(value: Any, depth: int = 0) -> Any:
    """Return a value with lists in place of iterators and matrices, and dictionaries in place of records and objects.

    Raises:
        TypeMismatchError: tables, numbers of more than 64 bits, and values that are nested too deep.
    """
    check_nesting(value, depth)
    kind = getattr(value, "dtype", None)
    if isinstance(kind, np.dtype) and issubclass(kind.type, _wide_types()):
        raise TypeMismatchError(f"values of type {kind} cannot be stored", "float64, which rounds them")
    if _is_missing(type(value)):
        return None
    if (members := as_mapping(value)) is not None:
        return {name: kept(item, depth + 1) for name, item in members.items()}
    if isinstance(value, np.ndarray | np.void):
        plain = without_records(value)
        return value if plain is value else kept(plain, depth)
    if type(value) is tuple:
        return tuple(kept(item, depth + 1) for item in value)
    return [kept(item, depth + 1) for item in value] if _is_list(type(value)) else value


def kept_items(values: Sequence[Any]) -> Sequence[Any]:
    """Return `kept` values; the given ones, which may be many, where there is nothing in them to replace."""
    level: Sequence[Any] = values
    for _ in range(DEEPEST):
        types = set(map(type, level))
        if any(map(_is_replaced, types)) or _has_arrays(level, types):
            break
        nested = tuple(each for each in types if issubclass(each, tuple | Mapping) or _is_list(each))
        if not nested:
            return values
        parts: list[Any] = [value for value in level if isinstance(value, nested)]
        level = [*chain.from_iterable(part.values() if isinstance(part, Mapping) else part for part in parts)]
    return [kept(value) for value in values]


def check_nesting(value: Any, depth: int) -> None:
    """Refuse tables, and what is nested too deep, at this depth; raises `TypeMismatchError`."""
    if _is_table(type(value)):
        raise TypeMismatchError(
            f"a {type(value).__name__} is a table, not a value",
            "one of its columns, or a dictionary of lists",
        )
    if depth > DEEPEST:
        raise TypeMismatchError(
            f"values are nested more than {DEEPEST} deep", "lists that do not contain themselves"
        )


def without_records(array: Any) -> Any:
    """Return an array, or a value of one, as lists of objects, and of dictionaries for records."""
    names = array.dtype.names
    if names is not None and array.ndim == 0:
        record = array[()] if isinstance(array, np.ndarray) else array
        return {name: record[name] for name in names}
    if names is not None or array.dtype == np.object_:
        return list(array) if array.ndim else array[()]
    return np.asarray(array).tolist() if isinstance(array, np.matrix) else array


def _is_list(kind: type) -> bool:
    """Whether its items are Python objects, one after the other: no text, tuple, mapping or array is."""
    return issubclass(kind, Iterable) and not (
        issubclass(kind, str | bytes | bytearray | memoryview | tuple | Mapping)
        or hasattr(kind, "__array__")
        or hasattr(kind, "to_list")
        or hasattr(kind, "__arrow_c_array__")
    )


def _is_table(kind: type) -> bool:
    return hasattr(kind, "__arrow_c_stream__") and hasattr(kind, "columns")


def _is_missing(kind: type) -> bool:
    """Whether it is that of pandas.NA or pandas.NaT."""
    return kind.__name__ in ("NAType", "NaTType") and kind.__module__.startswith("pandas.")


def _is_replaced(kind: Any) -> bool:
    return (
        issubclass(kind, Iterator | np.void | np.matrix)
        or issubclass(kind, _wide_types())
        or _is_table(kind)
        or _members(kind) is not None
        or _is_missing(kind)
    )


def _has_arrays(level: Sequence[Any], types: set[type]) -> bool:
    """Whether there are arrays of records, objects or wide numbers."""
    arrays = tuple(each for each in types if issubclass(each, np.ndarray))
    kinds = (np.object_, *_wide_types())
    return bool(arrays) and any(
        isinstance(value, arrays) and (value.dtype.names is not None or issubclass(value.dtype.type, kinds))
        for value in level
    )
