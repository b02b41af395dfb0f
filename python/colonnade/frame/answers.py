"""What callables return, as layouts: arrays and lists of a block, or the values of single entries."""

from __future__ import annotations

import datetime
import decimal
import fractions
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from colonnade.arrays.awkward import layout_of_list
from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak
from colonnade.arrays.objects import layout_of_objects
from colonnade.arrays.plain import DEEPEST, check_nesting, without_records
from colonnade.errors import Error, TypeMismatchError
from colonnade.misuse import column_name, shown

from .sharing import is_argument
from .values import element_of

__all__ = ["PLAIN", "layout_of_block", "layout_of_rows", "own_value"]

_NUMBERS = (bool, int, float, np.number, np.bool_)
PLAIN = (bool, int, float, np.integer, np.floating, np.bool_, str, bytes, type(None))
_PLAIN_TYPES = {
    dict,
    bool,
    int,
    float,
    str,
    bytes,
    list,
    type(None),
    np.bool_,
    *(np.dtype(each).type for each in "bBhHiIlLqQefd"),
}
_FITTING = "numbers, Booleans or texts, or lists and dictionaries of them"
_ADVICE: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((set, frozenset), "sorted(values): a set has no order"),
    (Iterator, "list(values): an iterator gives its items only once"),
    ((decimal.Decimal, fractions.Fraction, np.longdouble), "float(value)"),
    ((complex, np.complexfloating), "its parts, value.real and value.imag"),
    ((datetime.timedelta, np.timedelta64), "a number of a unit of your choice"),
    (
        (datetime.date, datetime.time, np.datetime64),
        "a number of a unit of your choice, or a text as of isoformat()",
    ),
)


def own_value(value: Any, depth: int = 0) -> Any:
    """Return what a callable returned for an entry as later changes do not affect it: plain objects, or an array.

    Raises:
        TypeMismatchError: values that a DataFrame does not have.
    """
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, list | tuple):
        check_nesting(value, depth)
        return [own_value(each, depth + 1) for each in value]
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype != np.object_:
        return value if is_argument(value) else value.copy()
    return _usable(value, depth)


def layout_of_block(answer: Any) -> Content:
    """Return the layout of an array, or of a list with a value per entry; raises an `Error` for other values."""
    if isinstance(answer, np.ndarray) and answer.dtype == np.object_:
        answer = answer.tolist()
    if isinstance(answer, np.ndarray | ak.Array):
        return _layout_of_array(answer)
    if hasattr(answer, "__array__"):  # as of pandas and Polars
        try:
            return ak.to_layout(ak.Array(answer), regulararray=True)
        except Exception:  # Awkward raises errors of any type for what it does not know
            pass
    return _layout_of_list(list(answer) if isinstance(answer, list | tuple) else _usable(answer))


def layout_of_rows(answers: list[Any]) -> Content:
    """Return the layout of `own_value`s and NumPy arrays of single entries; raises an `Error` for other values."""
    kinds = set(map(type, answers))
    if all(issubclass(each, _NUMBERS) for each in kinds):
        numbers = np.asarray(answers)
        if numbers.dtype.kind not in "fO" or not all(issubclass(each, int | np.integer) for each in kinds):
            return _layout_of_array(numbers)
    elif all(isinstance(each, np.ndarray) and each.ndim == 1 for each in answers):
        items = _joined(answers)
        if items is not None:
            offsets = np.cumsum([0, *map(len, answers)], dtype=np.int64)
            return ak.contents.ListOffsetArray(ak.index.Index64(offsets), layout_of_block(items))
    return _layout_of_list(answers)


def _joined(arrays: list[Any]) -> Any:
    """The items of arrays; None for integers that NumPy would make floating-point numbers together."""
    # An empty array is one of doubles if nothing else is said.
    filled = [each for each in arrays if each.size] or arrays
    if any(isinstance(each, np.ma.MaskedArray) for each in filled):
        keeping_masks: Any = np.ma.concatenate
        return keeping_masks(filled)
    kinds = {each.dtype for each in filled}
    if all(kind.kind in "iu" for kind in kinds) and np.result_type(*kinds).kind == "f":
        return None
    if len({kind.kind in "SUTOV" for kind in kinds}) > 1:
        return None  # numbers beside texts, which NumPy would make texts
    return np.concatenate([np.asarray(each) for each in filled])


def _layout_of_array(array: Any) -> Content:
    if isinstance(array, np.matrix):
        array = np.asarray(array)
    if isinstance(array, np.ndarray) and array.dtype.kind == "V" and not array.dtype.names:
        element_of(array.dtype)  # raises
    if isinstance(array, np.ndarray) and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if isinstance(array, np.ndarray) and array.dtype.kind == "T":
        return _layout_of_list(array.tolist())
    return _converted(lambda: ak.to_layout(array, regulararray=True))


def _layout_of_list(values: list[Any]) -> Content:
    usable = values if _are_plain(values) else _usable(values)

    def convert() -> Content:
        try:
            return layout_of_list(usable)
        except (RuntimeError, ValueError):  # large integers, texts that are not UTF-8
            return layout_of_objects(usable)

    return _converted(convert)


def _converted(convert: Any) -> Content:
    """What a conversion returns; Awkward and NumPy raise errors of any type for what they do not know."""
    try:
        return convert()
    except (Error, MemoryError):
        raise
    except UnicodeEncodeError as error:
        raise TypeMismatchError(
            f"{shown(error.object)} is not valid Unicode", "text.encode('utf-8', 'replace')"
        ) from None
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TypeMismatchError(
            f"a DataFrame cannot hold the values: {reason}",
            _FITTING,
        ) from error


def _are_plain(values: list[Any]) -> bool:
    """Whether there are only numbers and texts in lists and dictionaries; types are looked at level by level."""
    level = values
    for _ in range(DEEPEST):
        types = set(map(type, level))
        if not types <= _PLAIN_TYPES:
            return False
        lists = [each for each in level if type(each) is list] if list in types else []
        dicts = [each for each in level if type(each) is dict] if dict in types else []
        if not lists and not dicts:
            return True
        for name in set(itertools.chain.from_iterable(dicts)):
            column_name(name, "member")
        level = [
            *itertools.chain.from_iterable(lists),
            *itertools.chain.from_iterable(map(dict.values, dicts)),
        ]
    return False


def _usable(value: Any, depth: int = 0) -> Any:
    """The value in plain Python objects; raises `TypeMismatchError` if there is none."""
    if isinstance(value, PLAIN) and not isinstance(value, np.longdouble):
        return value
    check_nesting(value, depth)
    if isinstance(value, Mapping):
        return {column_name(name, "member"): _usable(each, depth + 1) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_usable(each, depth + 1) for each in value)
    if _is_missing(value):
        return None
    if isinstance(value, np.ndarray | np.void):
        plain = without_records(value)
        if isinstance(plain, np.void) or (
            isinstance(plain, np.ndarray) and plain.dtype.kind not in "biufUST"
        ):
            raise _refused(plain.flat[0] if plain.size else plain)
        return _usable(plain.tolist() if isinstance(plain, np.ndarray) else plain, depth)
    if isinstance(value, np.generic | set | frozenset | Iterator):
        raise _refused(value)
    for method in ("to_pylist", "to_list", "tolist", "as_py"):
        if hasattr(type(value), method):
            return _usable(getattr(value, method)(), depth)
    if not isinstance(value, Iterable):
        raise _refused(value)
    return [_usable(each, depth + 1) for each in value]


def _is_missing(value: Any) -> bool:
    """Whether it is the missing value of NumPy or pandas."""
    return isinstance(value, np.ma.core.MaskedConstant) or type(value).__name__ in ("NAType", "NaTType")


def _refused(value: Any) -> TypeMismatchError:
    advice = next((text for kind, text in _ADVICE if isinstance(value, kind)), "")
    return TypeMismatchError(
        f"a DataFrame cannot hold {shown(value)} of type {type(value).__name__}",
        advice or _FITTING,
    )
