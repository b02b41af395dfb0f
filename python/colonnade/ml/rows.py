"""Columns of a batch while they are permuted, cut and concatenated: numbers, padded lists, lists with offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from colonnade import _core
from colonnade.errors import TypeMismatchError, UsageError
from colonnade.frame.values import dtype_of

__all__ = [
    "ArrayLibrary",
    "Column",
    "Form",
    "Jagged",
    "Rows",
    "converter",
    "count_of",
    "cut",
    "form_of",
    "frozen",
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
        lengths = np.diff(self.offsets)[order]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.offsets[:-1][order] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Jagged(self.values[places], offsets)

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
    dtype: np.dtype[Any] | None
    fill: float

    def column(self, values: _core.Values) -> Column:
        """Make the column from values that a data frame computed."""
        if not self.is_list:
            return self._typed(np.asarray(values.data()))
        lists = Jagged(
            self._typed(np.asarray(values.children[0].data())), np.asarray(values.offsets(), np.int64)
        )
        return lists if self.length is None else self._padded(lists)

    def _typed(self, array: NDArray[Any]) -> NDArray[Any]:
        return array if self.dtype is None else array.astype(self.dtype, copy=False)

    def _padded(self, lists: Jagged) -> NDArray[Any]:
        length = cast("int", self.length)
        starts, lengths = lists.offsets[:-1], np.diff(lists.offsets)
        places = starts[:, None] + np.arange(length)
        there = np.arange(length) < lengths[:, None]
        padded = np.full(there.shape, self.fill, lists.values.dtype)
        padded[there] = lists.values[places[there]]
        return padded


def form_of(
    name: str, kind: _core.ValueType, pad: Mapping[str, int] | int | None, dtype: Any, fill: float
) -> Form:
    """Return the form of a column of a type.

    Raises:
        TypeMismatchError: neither numbers nor lists of numbers.
        UsageError: an invalid length, or a fill value that the items cannot have.
    """
    length = pad.get(name) if isinstance(pad, Mapping) else pad
    if length is not None and (isinstance(length, bool) or length < 1):
        raise UsageError(f"lists of '{name}' cannot be padded to the length {length!r}", "1, 2, ...")
    item = kind.item if kind.kind == "list" and not kind.is_optional else kind
    if item.kind != "scalar":
        advice = "numbers and lists of numbers: members of records (jets.pt), missing values replaced (x.value_or(0))"
        raise TypeMismatchError(f"'{name}' is neither numbers nor lists of numbers", advice)
    wanted = None if dtype is None else np.dtype(dtype)
    is_list = item is not kind
    if is_list and length is not None:
        _check_fill(name, dtype_of(item) if wanted is None else wanted, fill)
    return Form(name, is_list, length if is_list else None, wanted, fill)


def _check_fill(name: str, dtype: np.dtype[Any], fill: float) -> None:
    """Refuse fill values that lists of integers cannot have."""
    if dtype.kind == "f":
        return
    info = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if not info[0] <= fill <= info[1] or fill != int(fill):
        raise UsageError(
            f"lists of '{name}', of {dtype}, cannot be padded with {fill!r}",
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
        name: column.take(order) if isinstance(column, Jagged) else column[order]
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


def converter(library: ArrayLibrary) -> Any:
    """Return the function that converts a NumPy array to an array of a library; for NumPy it does not copy.

    Raises:
        UsageError: no such library.
    """
    if library == "np":
        return _itself
    if library == "torch":
        import torch

        return lambda array: torch.from_numpy(array if array.flags.writeable else array.copy())
    if library == "jax":
        import jax

        return jax.numpy.asarray
    raise UsageError(f"unknown library '{library}'", "one of 'np', 'torch', 'jax'")


def _itself(array: Any) -> Any:
    return array
