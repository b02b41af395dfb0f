"""Entries given one by one as Python values, collected into the arrays of a columnar write.

Each value is checked at once: a wrong one is refused with its path, and its entry with it.
"""

from __future__ import annotations

import math
import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from colonnade import _core
from colonnade._core import ArrayRole, ElementType, FieldKind
from colonnade.arrays.columns import PathArray, dtype_of, members_problem
from colonnade.arrays.lazy import numpy as np
from colonnade.arrays.plain import as_mapping, kept
from colonnade.errors import ConversionError, Error, TypeMismatchError
from colonnade.floating_point import with_standard_floating_point

from .times import Unit, is_missing_time, is_time, ticks, unit_of

__all__ = ["Rows", "flatten_list", "has_map", "has_variant"]

_MAP = re.compile(r"std::(unordered_)?(multi)?map<")
_FLOAT32_MAX = (2 - 2**-23) * 2.0**127

# How well the type of a field suits a value.
_SAME, _ROUNDED, _CHANGED, _CHANGED_AND_ROUNDED = 3, 2, 1, 0


class Rows:
    """Collects entries.

    A signal's handler may raise between any two instructions, as that of Ctrl-C does: what it interrupts has added an
    entry or nothing, and can be repeated.

    Args:
        fields: of each entry.
        first: the number of the first entry.
    """

    def __init__(self, fields: Mapping[str, _core.Field], first: int = 0) -> None:
        self.first = first
        self._cells = {name: _make(field, name) for name, field in fields.items()}
        self._variants = {name for name, field in fields.items() if has_variant(field)}
        self._count = 0
        self._is_whole = True
        """Whether the cells have the values of `_count` entries, and nothing of another one."""

    def __len__(self) -> int:
        return self._count

    def add(self, row: Mapping[str, Any]) -> None:
        """Add an entry, or nothing of it if it does not fit."""
        if row.keys() != self._cells.keys():
            missing = [name for name in self._cells if name not in row]
            extra = [name for name in row if name not in self._cells]
            raise TypeMismatchError(members_problem("fields", missing, extra))
        self._mend()
        self._is_whole = False
        for name, cell in self._cells.items():
            cell.add(kept(row[name]) if name in self._variants else row[name])
        self._count += 1
        self._is_whole = True

    def arrays(self) -> list[PathArray]:
        """Return what was collected."""
        self._mend()
        arrays: list[PathArray] = []
        for cell in self._cells.values():
            cell.give(arrays)
        return arrays

    def _mend(self) -> None:
        if not self._is_whole:
            for cell in self._cells.values():
                cell.truncate(self._count)
            self._is_whole = True


def flatten_list(field: _core.Field, values: Iterable[Any]) -> list[PathArray]:
    """Split Python values, without iterators, into the arrays of a field, by their own types."""
    cell = _make(field, field.name)
    for value in values:
        cell.add(value)
    arrays: list[PathArray] = []
    cell.give(arrays)
    return arrays


def has_variant(field: _core.Field) -> bool:
    """Return True if the types of values choose where they are stored."""
    return field.kind == FieldKind.variant or any(map(has_variant, field.children))


def has_map(field: _core.Field) -> bool:
    """Return True if dictionaries are values of it, or of a part of it."""
    return bool(_MAP.match(field.type_name)) or any(map(has_map, field.children))


class _Cell(ABC):
    """The values of one field so far."""

    def __init__(self, field: _core.Field, path: str) -> None:
        self.path = path
        self.type_name = field.type_alias or field.type_name or field.kind.name

    def refuse(self, value: Any) -> TypeMismatchError:
        return TypeMismatchError(
            f"a value of type {type(value).__name__} cannot be stored as '{self.type_name}'", field=self.path
        )

    @abstractmethod
    def add(self, value: Any) -> None:
        """Takes one value; raises if it does not fit."""

    def add_all(self, values: Iterable[Any]) -> int:
        """Takes values, and returns their number."""
        count = 0
        for value in values:
            self.add(value)
            count += 1
        return count

    def likeness(self, value: Any) -> int:
        """How well the type of the field suits the value, if it fits: an `int` is no `float`, and a list no tuple."""
        return _SAME

    @abstractmethod
    def truncate(self, count: int) -> None:
        """Drops all but the first `count` values, and what an interrupted call left; can be repeated."""

    @abstractmethod
    def give(self, out: list[PathArray]) -> None:
        """Appends the values to `out` as arrays."""


class _Numbers(_Cell):
    def __init__(self, field: _core.Field, path: str, unit: Unit | None = None) -> None:
        super().__init__(field, path)
        self.unit = unit
        self.element = field.elements[0]
        self.dtype = dtype_of(self.element)
        self.data: list[Any] = []
        # Values of the plain type within these limits are stored as they are.
        self.plain: Any = {"b": bool, "f": float}.get(self.dtype.kind, int)
        self.low: float = False
        self.high: float = True
        if self.dtype.kind == "f":
            self.high = _FLOAT32_MAX if self.dtype.itemsize == 4 else math.inf
            self.low = -self.high
        elif self.dtype.kind in "iu":
            self.low, self.high = int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max)

    def add_all(self, values: Iterable[Any]) -> int:
        if (
            type(values) is list
            and set(map(type, values)) == {self.plain}
            and self.low <= min(values)
            and max(values) <= self.high
        ):
            self.data += values
            return len(values)
        return super().add_all(values)

    def add(self, value: Any) -> None:
        if type(value) is self.plain and self.low <= value <= self.high:
            self.data.append(value)
            return
        value = _single(value)
        kind = self.dtype.kind
        if is_time(value):
            value = self._ticks(value)
        if kind == "b":
            if not isinstance(value, bool | np.bool_):
                raise self.refuse(value)
        elif kind == "f":
            if isinstance(value, bool | np.bool_) or not isinstance(
                value, int | float | np.integer | np.floating
            ):
                raise self.refuse(value)
            value = self._rounded(value)
        else:
            is_letter = isinstance(value, bytes) or (isinstance(value, str) and value.isascii())
            if self.element == ElementType.character and is_letter and len(value) == 1:
                value = ord(value)
            if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
                raise self.refuse(value)
            if not self.low <= value <= self.high:
                raise ConversionError(
                    f"the value {value} does not fit '{self.type_name}', which holds {self.low} to {self.high}",
                    field=self.path,
                )
        self.data.append(value)

    def _ticks(self, value: Any) -> int:
        if self.dtype.kind not in "iu" or self.element == ElementType.character:
            raise self.refuse(value)
        if self.unit is None:
            known = (
                f"field_descriptions={{{self.path!r}: 'timestamp[us]'}}, or the unit that the integers have"
            )
            raise TypeMismatchError(self.refuse(value).problem, known, field=self.path)
        return ticks(value, self.unit, self.path)

    def likeness(self, value: Any) -> int:
        value = _single(value)
        if self.dtype.kind != "f" or not isinstance(value, int | float | np.integer | np.floating):
            return _SAME
        if isinstance(value, int | np.integer):
            return _CHANGED if self._keeps(value) else _CHANGED_AND_ROUNDED
        return _SAME if not math.isfinite(value) or self._keeps(value) else _ROUNDED

    @with_standard_floating_point
    def _keeps(self, value: Any) -> bool:
        try:
            number = float(value)
            number = number if self.dtype.itemsize == 8 else struct.unpack("f", struct.pack("f", number))[0]
        except OverflowError:
            return False
        return bool(number == value)

    @with_standard_floating_point
    def _rounded(self, value: Any) -> float:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number) and (self.dtype.itemsize == 8 or abs(number) <= _FLOAT32_MAX):
            return number
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            return number
        raise ConversionError(f"the value {value} does not fit '{self.type_name}'", field=self.path)

    def truncate(self, count: int) -> None:
        del self.data[count:]

    def give(self, out: list[PathArray]) -> None:
        out.append((self.path, ArrayRole.values, self.element, np.array(self.data, dtype=self.dtype)))


class _Text(_Cell):
    def __init__(self, field: _core.Field, path: str) -> None:
        super().__init__(field, path)
        self.data = bytearray()
        self.offsets = [0]

    def add(self, value: Any) -> None:
        value = _single(value)
        if not isinstance(value, str | bytes):
            raise self.refuse(value)
        try:
            self.data += value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        except UnicodeEncodeError as error:
            raise ConversionError(
                f"the text has the surrogate {value[error.start]!a}, which stands for no character",
                "remove it",
                field=self.path,
            ) from None
        self.offsets.append(len(self.data))

    def likeness(self, value: Any) -> int:
        return _CHANGED if isinstance(value, bytes) else _SAME

    def truncate(self, count: int) -> None:
        del self.offsets[count + 1 :]
        del self.data[self.offsets[-1] :]

    def give(self, out: list[PathArray]) -> None:
        out.append((self.path, ArrayRole.offsets, ElementType.int64, np.array(self.offsets, dtype=np.int64)))
        # A copy: a byte array with a view cannot shrink.
        characters = np.frombuffer(bytes(self.data), dtype=np.uint8)
        out.append((self.path, ArrayRole.values, ElementType.character, characters))


class _Many(_Cell):
    """Collections, and optional values as collections of at most one item."""

    def __init__(self, field: _core.Field, path: str, unit: Unit | None) -> None:
        super().__init__(field, path)
        self.item = _make(field.children[0], f"{path}._0", unit)
        self.offsets = [0]
        self.optional = field.kind == FieldKind.nullable

    def likeness(self, value: Any) -> int:
        if self.optional:
            return _SAME if value is None or is_missing_time(value) else self.item.likeness(value)
        return _likeness_of_list(self.item, value)

    def add(self, value: Any) -> None:
        count = 0
        if not self.optional:
            count = self.item.add_all(_items(self, value))
        elif value is not None and not is_missing_time(value):
            self.item.add(value)
            count = 1
        self.offsets.append(self.offsets[-1] + count)

    def truncate(self, count: int) -> None:
        del self.offsets[count + 1 :]
        self.item.truncate(self.offsets[-1])

    def give(self, out: list[PathArray]) -> None:
        out.append((self.path, ArrayRole.offsets, ElementType.int64, np.array(self.offsets, dtype=np.int64)))
        self.item.give(out)


class _Fixed(_Cell):
    """Arrays and bitsets."""

    def __init__(self, field: _core.Field, path: str, unit: Unit | None) -> None:
        super().__init__(field, path)
        self.size = field.array_size
        self.item = (
            _Numbers(field, path)
            if field.kind == FieldKind.bitset
            else _make(field.children[0], f"{path}._0", unit)
        )

    def likeness(self, value: Any) -> int:
        return _likeness_of_list(self.item, value)

    def add(self, value: Any) -> None:
        items = list(_items(self, value))
        if len(items) != self.size:
            raise ConversionError(f"{len(items)} items are given instead of {self.size}", field=self.path)
        self.item.add_all(items)

    def truncate(self, count: int) -> None:
        self.item.truncate(count * self.size)

    def give(self, out: list[PathArray]) -> None:
        self.item.give(out)


class _Record(_Cell):
    def __init__(self, field: _core.Field, path: str) -> None:
        super().__init__(field, path)
        self.members = {child.name: _make(child, f"{path}.{child.name}") for child in field.children}
        self.counted = list(self.members) == [f"_{k}" for k in range(len(self.members))]

    def likeness(self, value: Any) -> int:
        value = _plain(value)
        if isinstance(value, Mapping):
            pairs = [(cell, value[name]) for name, cell in self.members.items() if name in value]
        elif self.counted and isinstance(value, tuple):
            pairs = list(zip(self.members.values(), value, strict=False))
        else:
            return _CHANGED
        return min((cell.likeness(item) for cell, item in pairs), default=_SAME)

    def add(self, value: Any) -> None:
        value = _plain(value)
        if self.counted and isinstance(value, tuple | list):
            value = {f"_{k}": item for k, item in enumerate(value)}
        if not isinstance(value, Mapping):
            raise self.refuse(value)
        missing = [name for name in self.members if name not in value]
        extra = [str(name) for name in value if name not in self.members]
        if missing or extra:
            raise TypeMismatchError(members_problem("members", missing, extra), field=self.path)
        for name, cell in self.members.items():
            cell.add(value[name])

    def truncate(self, count: int) -> None:
        for cell in self.members.values():
            cell.truncate(count)

    def give(self, out: list[PathArray]) -> None:
        for cell in self.members.values():
            cell.give(out)


class _Variant(_Cell):
    def __init__(self, field: _core.Field, path: str) -> None:
        super().__init__(field, path)
        self.alternatives = [_make(child, f"{path}._{k}") for k, child in enumerate(field.children)]
        self.counts = [0] * len(self.alternatives)
        self.tags: list[int] = []

    def likeness(self, value: Any) -> int:
        value = _plain(value)
        return _SAME if value is None else max(cell.likeness(value) for cell in self.alternatives)

    def add(self, value: Any) -> None:
        if value is None:
            self.tags.append(0)
            return
        value = _plain(value)
        # An int goes to an integer alternative if there is one, otherwise to a floating-point one; so do lists and
        # tuples. A float goes to one that does not round it.
        likenesses = [cell.likeness(value) for cell in self.alternatives]
        for number in sorted(range(len(likenesses)), key=likenesses.__getitem__, reverse=True):
            cell = self.alternatives[number]
            try:
                cell.add(value)
            except Error:
                cell.truncate(self.counts[number])
                continue
            self.counts[number] += 1
            self.tags.append(number + 1)
            return
        raise self.refuse(value)

    def truncate(self, count: int) -> None:
        del self.tags[count:]
        self.counts = [self.tags.count(number + 1) for number in range(len(self.alternatives))]
        for cell, left in zip(self.alternatives, self.counts, strict=True):
            cell.truncate(left)

    def give(self, out: list[PathArray]) -> None:
        out.append((self.path, ArrayRole.tags, ElementType.int32, np.array(self.tags, dtype=np.int32)))
        for cell in self.alternatives:
            cell.give(out)


def _likeness_of_list(item: _Cell, value: Any) -> int:
    if isinstance(value, bytes):
        return _SAME if isinstance(item, _Numbers) and item.element == ElementType.byte else _CHANGED
    value = _plain(value)
    if isinstance(value, Mapping):
        value = list(value.items())
    if not isinstance(value, list | tuple):
        return _SAME
    least = min(map(item.likeness, value), default=_SAME)
    if isinstance(value, list):
        return least
    return _CHANGED if least in (_SAME, _CHANGED) else _CHANGED_AND_ROUNDED


def _single(value: Any) -> Any:
    """The value of an array without dimensions."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _plain(value: Any) -> Any:
    """Python's value for an array or a record of an array library."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "mM":  # tolist() makes integers of nanoseconds: what is their unit?
            return list(value) if value.ndim else value
        return value.tolist() if value.ndim else value
    members = as_mapping(value)
    return members if members is not None else value.to_list() if hasattr(value, "to_list") else value


def _items(cell: _Cell, value: Any) -> Iterable[Any]:
    if type(value) is list:
        return value
    value = _plain(value)
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, bytes) and isinstance(getattr(cell, "item", None), _Numbers):
        return value
    if isinstance(value, str | bytes | np.ndarray) or not isinstance(value, Iterable):
        raise cell.refuse(value)
    return value


def _make(field: _core.Field, path: str, unit: Unit | None = None) -> _Cell:
    """The cell of a field; `unit` is that of the times in the list, or what else it is the only part of."""
    unit = unit_of(field.description) or unit
    match field.kind:
        case FieldKind.scalar:
            return _Numbers(field, path, unit)
        case FieldKind.string:
            return _Text(field, path)
        case FieldKind.collection | FieldKind.nullable:
            return _Many(field, path, unit)
        case FieldKind.array | FieldKind.bitset:
            return _Fixed(field, path, unit)
        case FieldKind.record:
            return _Record(field, path)
        case FieldKind.variant:
            return _Variant(field, path)
        case FieldKind.wrapper:
            return _make(field.children[0], f"{path}._0", unit)
    raise TypeMismatchError("this field cannot be filled", "a projected field", field=path)
