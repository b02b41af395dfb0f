"""Iterators within values give their items once, but several conversions may be tried: lists take their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

__all__ = ["kept", "kept_items"]


def kept(value: Any) -> Any:
    """Return a value with lists in place of iterators."""
    if isinstance(value, Mapping):
        return {name: kept(item) for name, item in value.items()}
    if type(value) is tuple:
        return tuple(map(kept, value))
    return [kept(item) for item in value] if _is_list(type(value)) else value


def kept_items(values: Sequence[Any]) -> Sequence[Any]:
    """Return `kept` values; the given ones, which may be many, where there is no iterator in them."""
    level: Sequence[Any] = values
    while level:
        types = set(map(type, level))
        if any(issubclass(each, Iterator) for each in types):
            return [kept(value) for value in values]
        nested = tuple(each for each in types if issubclass(each, tuple | Mapping) or _is_list(each))
        parts: list[Any] = [value for value in level if isinstance(value, nested)]
        level = [*chain.from_iterable(part.values() if isinstance(part, Mapping) else part for part in parts)]
    return values


def _is_list(kind: type) -> bool:
    """Whether its items are Python objects, one after the other: no text, tuple, mapping or array is."""
    return issubclass(kind, Iterable) and not (
        issubclass(kind, str | bytes | bytearray | memoryview | tuple | Mapping)
        or hasattr(kind, "__array__")
        or hasattr(kind, "to_list")
        or hasattr(kind, "__arrow_c_array__")
    )
