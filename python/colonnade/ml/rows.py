"""Columns of a batch while they are chosen, cut and concatenated: numbers, padded lists, lists with offsets."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.errors import ConversionError, TypeMismatchError, UnsupportedError, UsageError
from colonnade.frame.values import dtype_of
from colonnade.misuse import shown, whole_number

__all__ = [
    "ArrayLibrary",
    "Column",
    "Form",
    "Jagged",
    "Rows",
    "Table",
    "converter",
    "count_of",
    "cut",
    "form_of",
    "frozen",
    "installed",
    "joined",
    "taken",
]

ArrayLibrary: TypeAlias = Literal["np", "torch", "jax"]
Column: TypeAlias = "NDArray[Any] | Jagged"
Rows: TypeAlias = dict[str, Column]
"""Columns with the same number of rows."""


class Jagged(NamedTuple):
    """Lists of numbers: those of row i are values[offsets[i]:offsets[i + 1]]."""

    values: Any
    offsets: Any

    def rows(self) -> int:
        """Return the number of lists."""
        return len(self.offsets) - 1

    def take(self, order: NDArray[np.int64]) -> Jagged:
        """Return the lists of these rows, in this order."""
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(self.offsets[order + 1] - self.offsets[order], out=offsets[1:])
        values = np.empty(offsets[-1], self.values.dtype)
        _core.copy_lists(values, self.values, self.offsets, order)
        return Jagged(values, offsets)

    def cut(self, first: int, last: int) -> Jagged:
        """Return the lists of consecutive rows; the values are not copied."""
        offsets = self.offsets[first : last + 1]
        return Jagged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])


@dataclass(frozen=True)
class Form:
    """The form of a column in batches."""

    name: str
    is_list: bool
    length: int | None
    """The length of padded lists."""
    dtype: np.dtype[Any]
    """The type of the numbers, or of the items of lists."""
    fill: float

    def column(self, values: _core.Values) -> Column:
        """Make the column from values that a data frame computed."""
        if not self.is_list:
            return self._typed(np.asarray(values.data()))
        return Jagged(
            self._typed(np.asarray(values.children[0].data())), np.asarray(values.offsets(), np.int64)
        )

    def _typed(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype == self.dtype:
            return array.view(
                self.dtype
            )  # `unsigned long long` of the core, too, which PyTorch does not know
        with np.errstate(invalid="ignore", over="ignore"):
            typed = array.astype(self.dtype)
        if np.can_cast(array.dtype, self.dtype):
            return typed
        if self.dtype.kind == "f":
            fits = not np.any(np.isinf(typed) & np.isfinite(array))
        else:
            fits = np.array_equal(typed, array)
        if not fits:
            raise ConversionError(
                f"values of '{self.name}' do not fit the type {self.dtype}", "dtype='float32', or no dtype"
            )
        return typed


@dataclass(frozen=True)
class Table:
    """Columns side by side in one array, numbers and padded lists, so that a row is in one place."""

    forms: tuple[Form, ...]
    dtype: np.dtype[Any]

    @staticmethod
    def of(forms: Sequence[Form]) -> Table:
        """Return the table of columns, with a type that all of them fit."""
        return Table(tuple(forms), np.result_type(*(form.dtype for form in forms)))

    def filled(self, pieces: Sequence[Rows]) -> NDArray[Any]:
        """Return the rows of pieces, one piece behind the other."""
        counts = [count_of(piece) for piece in pieces]
        table = np.empty((sum(counts), sum(form.length or 1 for form in self.forms)), self.dtype)
        fill = np.array(
            [form.dtype.type(form.fill if form.is_list else 0) for form in self.forms], self.dtype
        )
        first = 0
        for piece, count in zip(pieces, counts, strict=True):
            columns = [self._arrays(piece[form.name], form.length or 1) for form in self.forms]
            _core.fill_rows(table[first : first + count], columns, fill)
            first += count
        return table

    def _arrays(self, column: Column, width: int) -> tuple[NDArray[Any], NDArray[np.int64] | None, int]:
        values, offsets = column if isinstance(column, Jagged) else (column, None)
        return np.ascontiguousarray(values, self.dtype), offsets, width


def form_of(
    name: str, kind: _core.ValueType, pad: Mapping[str, int] | int | None, dtype: Any, fill: float
) -> Form:
    """Return the form of a column of a type.

    Raises:
        TypeMismatchError: neither numbers nor lists of numbers, or a length that is not a whole number.
        UsageError: an invalid length, a dtype that is not native real numbers of up to 64 bits, or a fill value that
            the items cannot have.
    """
    length = pad.get(name) if isinstance(pad, Mapping) else pad
    if length is not None and not 1 <= whole_number("pad", length) < 1 << 31:
        raise UsageError(f"lists of '{name}' cannot be padded to the length {shown(length)}", "1, 2, ...")
    item = kind.item if kind.kind == "list" and not kind.is_optional else kind
    if item.kind != "scalar":
        advice = "numbers and lists of numbers: members of records (jets.pt), missing values replaced (x.value_or(0))"
        raise TypeMismatchError(f"'{name}' is neither numbers nor lists of numbers", advice)
    wanted = dtype_of(item) if dtype is None else _wanted(dtype)
    is_list = item is not kind
    if is_list and length is not None:
        _check_fill(name, wanted, fill.item() if isinstance(fill, np.generic) else fill)
    return Form(name, is_list, length if is_list else None, wanted, fill)


def _wanted(dtype: Any) -> np.dtype[Any]:
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        wanted = np.dtype(object)
    if wanted.kind not in "biuf" or wanted.itemsize > 8 or not wanted.isnative:
        raise UsageError(f"features cannot have the dtype {dtype!r}", "'float32', 'int64' or 'bool'")
    return wanted


def _check_fill(name: str, dtype: np.dtype[Any], fill: float) -> None:
    """Refuse fill values that lists of integers, or of floats of few bits, cannot have."""
    if dtype.kind == "f":
        fits = not float(np.finfo(dtype).max) < abs(fill) < math.inf
    else:
        info = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        fits = info[0] <= fill <= info[1] and fill == int(fill)
    if not fits:
        raise UsageError(
            f"lists of '{name}', of {dtype}, cannot be padded with {shown(fill)}",
            "pad_value=0, or dtype='float32'",
        )


def joined(pieces: Sequence[Rows]) -> Rows:
    """Concatenate rows."""
    if len(pieces) == 1:
        return pieces[0]
    together: Rows = {}
    for name, first in pieces[0].items():
        if isinstance(first, Jagged):
            lists = [cast("Jagged", piece[name]) for piece in pieces]
            lengths = np.concatenate([np.diff(each.offsets) for each in lists])
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            together[name] = Jagged(np.concatenate([each.values for each in lists]), offsets)
        else:
            together[name] = np.concatenate([piece[name] for piece in pieces])
    return together


def taken(rows: Rows, order: NDArray[np.int64]) -> Rows:
    """Return some of the rows, in this order."""
    return {
        name: column.take(order) if isinstance(column, Jagged) else np.take(column, order, axis=0)
        for name, column in rows.items()
    }


def cut(rows: Rows, first: int, last: int) -> Rows:
    """Return consecutive rows; values are not copied."""
    return {
        name: column.cut(first, last) if isinstance(column, Jagged) else column[first:last]
        for name, column in rows.items()
    }


def frozen(rows: Rows) -> Rows:
    """Make the rows read-only and return them: batches may be views of them."""
    for column in rows.values():
        for array in column if isinstance(column, Jagged) else [column]:
            array.flags.writeable = False
    return rows


def count_of(rows: Rows) -> int:
    """Return the number of rows."""
    column = next(iter(rows.values()))
    return column.rows() if isinstance(column, Jagged) else len(column)


def converter(library: object) -> Any:
    """Return the function that converts a NumPy array to an array of a library; for NumPy it does not copy.

    Raises:
        UsageError: no such library.
        UnsupportedError: it is not installed.
    """
    if library == "np":
        return _itself
    if library == "torch":
        torch = installed("torch")
        return lambda array: torch.from_numpy(array if array.flags.writeable else array.copy())
    if library == "jax":
        return _jax_converter()
    name = getattr(library, "__name__", library)  # of a module, too
    raise UsageError(f"unknown library '{name}'", "one of 'np', 'torch', 'jax'")


def _jax_converter() -> Any:
    """Convert to arrays of JAX, which have at most 32 bits by default."""
    jax = installed("jax")

    def convert(array: NDArray[Any]) -> Any:
        kind = jax.dtypes.canonicalize_dtype(array.dtype)
        with np.errstate(over="ignore"):
            typed = array.astype(kind, copy=False)
        wide = "jax.config.update('jax_enable_x64', True)"
        if array.dtype.kind in "iu" and not np.array_equal(typed, array):
            raise ConversionError(
                f"integers of 64 bits do not fit JAX's {kind}", f"{wide}, or dtype='float32'"
            )
        if array.dtype.kind == "f" and np.any(np.isinf(typed) & np.isfinite(array)):
            raise ConversionError(f"floats of 64 bits do not fit JAX's {kind}", wide)
        return jax.numpy.asarray(typed)

    return convert


def installed(library: str) -> Any:
    """Return the package of a library.

    Raises:
        UnsupportedError: it is not installed.
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise UnsupportedError(
            f"batches of library='{library}' need the package {library}, which cannot be imported ({error})",
            f"pip install {library}, or library='np'",
        ) from error


def _itself(array: Any) -> Any:
    return array
