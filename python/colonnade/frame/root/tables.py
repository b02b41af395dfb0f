"""RDataFrames of tables in other files: CSV and SQLite, read into memory at once."""

from __future__ import annotations

import csv
import os
import re
import urllib.parse
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from colonnade.arrays.awkward import AwkwardBuilder
from colonnade.arrays.lazy import awkward as ak
from colonnade.errors import ConversionError, FileMissingError, FormatError, NotFoundError, UsageError
from colonnade.misuse import path_text

from .facade import FromArrays, RDataFrame

__all__ = ["FromCSV", "FromSqlite"]

_NOTHING = "nan"
"""What stands for an empty cell."""

_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def FromCSV(
    fileName: str | os.PathLike[str],
    readHeaders: bool = True,
    delimiter: str = ",",
    linesChunkSize: int = -1,
    colTypes: Mapping[str, str] | None = None,
) -> RDataFrame:
    """Make an RDataFrame of a file of comma-separated values, which is read at once.

    The type of a column follows from its first cell that has a value: `std::int64_t`, `double`, `bool` (true or
    false), or `std::string`. Empty cells and "nan" are NaN, or 0 and false with a warning, or the text "nan".

    Args:
        fileName: a local file; blank lines are skipped, and cells may be quoted.
        readHeaders: whether the first line has the names; otherwise they are Col0, Col1, ...
        delimiter: the character between cells.
        linesChunkSize: no effect.
        colTypes: types of columns, "L", "D", "O" and "T", in the order above.

    Raises:
        FileMissingError: there is no such file.
        FormatError: a line has another number of cells than the first, or the file has no entries.
        ConversionError: a cell is not of the type of its column.
    """
    path = path_text(fileName)
    if len(delimiter) != 1:
        raise UsageError(f"{delimiter!r} is not one character", "delimiter=','")
    if not os.path.isfile(path):
        raise FileMissingError(f"there is no file '{path}'", "check the path")
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        read = ((reader.line_num, cells) for cells in reader if cells)
        try:
            lines = [(n, [_NOTHING if cell in ("", "NaN") else cell for cell in cells]) for n, cells in read]
        except csv.Error as error:
            raise FormatError(f"line {reader.line_num} of '{path}' cannot be read: {error}") from error
    names = lines.pop(0)[1] if readHeaders and lines else []
    if not lines:
        raise FormatError(f"'{path}' has no entries, from which the types of its columns would follow")
    names = names or [f"Col{k}" for k in range(len(lines[0][1]))]
    for number, cells in lines:
        if len(cells) != len(names):
            raise FormatError(f"line {number} of '{path}' has {len(cells)} cells instead of {len(names)}")
    kinds = dict(colTypes or {})
    for name, kind in kinds.items():
        if name not in names:
            raise NotFoundError(f"there is no column '{name}' in '{path}'", ", ".join(map(repr, names)))
        if kind not in _COLUMNS:
            raise UsageError(f"'{kind}' is not a type of columns", "'L', 'D', 'O' or 'T'")
    columns = {}
    for name, values in zip(names, zip(*(cells for _, cells in lines), strict=True), strict=True):
        kind = kinds.get(name) or _kind(values)
        try:
            columns[name] = _COLUMNS[kind](values)
        except (ValueError, OverflowError):
            number, bad = next(
                (lines[k][0], value) for k, value in enumerate(values) if not _holds(kind, value)
            )
            raise ConversionError(
                f"'{bad}' in line {number} of '{path}' is not of the type '{kind}' of column '{name}'",
                f"colTypes={{'{name}': 'D'}}, or 'T' for texts",
            ) from None
        if kind in "LO" and _NOTHING in values:
            warnings.warn(
                f"empty cells of column '{name}' are {'0' if kind == 'L' else 'false'}; with "
                f"colTypes={{'{name}': 'D'}} they are NaN",
                stacklevel=2,
            )
    return FromArrays(columns)


def _kind(values: Sequence[str]) -> str:
    first = next((value for value in values if value != _NOTHING), None)
    if first is None:
        return "D"
    if _INTEGER.fullmatch(first):
        return "L"
    if _NUMBER.fullmatch(first):
        return "D"
    return "O" if first in _BOOLEANS else "T"


_BOOLEANS = {"true": True, "false": False}


def _integer(text: str) -> int:
    return 0 if text == _NOTHING else int(_as_in_files(text))


def _real(text: str) -> float:
    return float(_as_in_files(text))


def _as_in_files(text: str) -> str:
    if "_" in text:  # as in Python's numbers
        raise ValueError(text)
    return text


def _boolean(text: str) -> bool:
    if text != _NOTHING and text not in _BOOLEANS:
        raise ValueError(text)
    return _BOOLEANS.get(text, False)


def _texts(values: Sequence[str]) -> Any:
    encoded = [value.encode("utf-8", "surrogateescape") for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return ak.Array(AwkwardBuilder().text(offsets, np.frombuffer(b"".join(encoded), dtype=np.uint8)))


def _holds(kind: str, value: str) -> bool:
    try:
        _COLUMNS[kind]([value])
    except (ValueError, OverflowError):
        return False
    return True


_COLUMNS: dict[str, Callable[[Sequence[str]], Any]] = {
    "L": lambda values: np.array([*map(_integer, values)], dtype=np.int64),
    "D": lambda values: np.array([*map(_real, values)], dtype=np.float64),
    "O": lambda values: np.array([*map(_boolean, values)], dtype=np.bool_),
    "T": _texts,
}


def FromSqlite(fileName: str | os.PathLike[str], query: str) -> RDataFrame:
    """Make an RDataFrame of what a query of an SQLite database returns, all at once.

    Columns are `std::int64_t`, `double`, `std::string`, or lists of bytes; those with NULLs are optionals.

    Raises:
        FileMissingError: there is no such file.
        UsageError: the query is not valid, or returns no columns, or two of one name.
        ConversionError: the values of a column have types that do not go together.
    """
    import sqlite3

    path = path_text(fileName)
    if not os.path.isfile(path):
        raise FileMissingError(f"there is no file '{path}'", "check the path")
    try:
        with closing(sqlite3.connect(f"file:{urllib.parse.quote(path)}?mode=ro", uri=True)) as base:
            cursor = base.execute(query)
            names = [each[0] for each in cursor.description or []]
            rows = cursor.fetchall()
    except sqlite3.Error as error:
        raise UsageError(
            f"the query of '{path}' failed: {error}", 'FromSqlite("f.sqlite", "select * from t")'
        ) from error
    if not names or len(set(names)) < len(names):
        what = "two columns of one name" if names else "no columns"
        raise UsageError(f"the query of '{path}' returns {what}", "select x as y: a name for each column")
    return FromArrays({name: _column(name, [row[k] for row in rows]) for k, name in enumerate(names)})


def _column(name: str, values: list[Any]) -> Any:
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds or kinds == {int, float}:
        return np.array([np.nan if value is None else float(value) for value in values])
    if len(kinds) > 1:
        raise ConversionError(
            f"the column '{name}' has values of several types", f"cast({name} as text), as real or as integer"
        )
    if kinds == {bytes}:
        values = [None if value is None else list(value) for value in values]
        return ak.values_astype(ak.from_iter(values), np.uint8)
    return ak.from_iter(values)
