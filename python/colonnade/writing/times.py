"""Dates and times as the integers that stand for them, in the unit that the description of a field names."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from colonnade.arrays.lazy import numpy as np
from colonnade.errors import ConversionError, TypeMismatchError

__all__ = ["Unit", "is_missing_time", "is_time", "ticks", "unit_of"]

_UNIT = re.compile(r"(timestamp|duration|date|time)\d*\[(\w+)")
"""At the beginning of a description. A zone may follow, which does not change the numbers."""

_SECOND = 10**18
"""In attoseconds, NumPy's smallest unit."""
_SIZES = {
    "W": 7 * 86400 * _SECOND,
    "D": 86400 * _SECOND,
    "h": 3600 * _SECOND,
    "m": 60 * _SECOND,
    "s": _SECOND,
}
_SIZES |= {name: _SECOND // 1000**k for k, name in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)}
_SIZES["day"] = _SIZES["D"]


class Unit(NamedTuple):
    """What integers count."""

    text: str
    """As a description begins with it: "timestamp[us"."""
    kind: str
    """Points in time ("timestamp"), days ("date"), times of day ("time") or "duration"."""
    name: str
    """"us", "day", ..."""


def unit_of(description: str) -> Unit | None:
    """Return the unit that a description begins with; None if there is none."""
    found = _UNIT.match(description)
    return Unit(found[0], found[1], found[2]) if found else None


def is_time(value: Any) -> bool:
    """Return True for dates, times and durations of Python, pandas and NumPy."""
    return isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64)


def is_missing_time(value: Any) -> bool:
    """Return True for NaT of NumPy and pandas."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ == "NaTType"


def ticks(value: Any, unit: Unit, path: str) -> int:
    """Return the integer that stands for a date, a time or a duration. Those with a zone are taken in UTC.

    Args:
        value: see `is_time`.
        unit: of the integer.
        path: of the field, for errors.

    Raises:
        TypeMismatchError: it is of another kind, such as a date where the unit is that of durations.
        ConversionError: it is not a whole number of units.
    """
    size = _SIZES.get(unit.name, 0)
    amount = None if is_missing_time(value) else _amount(value, unit)
    if amount is None or not size:
        raise TypeMismatchError(
            f"a value of type {type(value).__name__} is no {unit.text}]", "a time of that kind", field=path
        )
    count, rest = divmod(amount, size)
    if rest:
        raise ConversionError(f"{value!r} is not a whole number of {unit.text}]", "round it", field=path)
    return count


def _amount(value: Any, unit: Unit) -> int | None:
    """The value in attoseconds; None if it is of another kind than the unit."""
    kind = unit.kind
    if isinstance(value, np.datetime64):
        return _of_numpy(value) if kind in ("timestamp", "date") else None
    if isinstance(value, np.timedelta64):
        return _of_numpy(value) if kind == "duration" else None
    if isinstance(value, datetime):
        return _since_1970(value) if kind == "timestamp" else None
    if isinstance(value, date):
        return (value.toordinal() - date(1970, 1, 1).toordinal()) * _SIZES["D"] if kind == "date" else None
    if isinstance(value, timedelta):
        return _of_duration(value) + _nanoseconds(value) if kind == "duration" else None
    if kind != "time" or value.tzinfo is not None:
        return None
    return _of_duration(timedelta(0, value.second, value.microsecond, minutes=value.minute, hours=value.hour))


def _of_numpy(value: Any) -> int | None:
    name, count = np.datetime_data(value.dtype)
    if name in ("Y", "M"):
        if isinstance(value, np.timedelta64):
            return None  # of no fixed length
        days = value.astype("M8[D]")
        if days.astype(value.dtype) != value:
            return None  # beyond the days that NumPy has
        name, count, value = "D", 1, days
    return int(value.astype(np.int64)) * count * _SIZES[name] if name in _SIZES else None


def _since_1970(value: datetime) -> int:
    # Pandas' timestamps end in 2262 where they are subtracted.
    plain = datetime(
        value.year,
        value.month,
        value.day,
        value.hour,
        value.minute,
        value.second,
        value.microsecond,
        tzinfo=value.tzinfo,
        fold=value.fold,
    )
    zone = None if plain.utcoffset() is None else UTC
    plain = plain if zone else plain.replace(tzinfo=None)
    return _of_duration(plain - datetime(1970, 1, 1, tzinfo=zone)) + _nanoseconds(value)


def _of_duration(value: timedelta) -> int:
    return ((value.days * 86400 + value.seconds) * 10**6 + value.microseconds) * _SIZES["us"]


def _nanoseconds(value: Any) -> int:
    """What pandas' times have below microseconds."""
    return int(getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)) * _SIZES["ns"]
