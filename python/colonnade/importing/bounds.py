"""Sizes and counts that a TTree claims, compared with the bytes that it has, before memory is taken for them.

It imports uproot, unlike most of its siblings. uproot (up to 5.7) believes what a basket says of its size and a list of
the number of its items. It takes the number of entries of a basket from the branch for places, and from the basket for
values; and it waits forever for the second of two baskets at one place.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import uproot.compression
import uproot.containers
from uproot.source.chunk import Chunk
from uproot.source.cursor import Cursor

__all__ = ["CheckedBaskets", "bounded", "check_basket", "check_key", "checked"]

_KEY = struct.Struct(">ihiIhh")
_BASKET = struct.Struct(">Hiiii")
_AFTER_BASKET = 1
"""The bytes of a flag, the last part of the key of a basket."""
_BLOCK = 9
"""The bytes before each compressed block, of which the last six are its sizes before and after."""


# ---- Baskets


class CheckedBaskets(Executor):
    """Runs the tasks of uproot that make baskets of bytes in an executor, or at once, with baskets that are checked."""

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor

    def submit(self, task: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Run a task."""
        if arguments and isinstance(arguments[0], Chunk):
            checked(*arguments)
        if self._executor is not None:
            return self._executor.submit(task, *arguments, **named)
        done: Future[Any] = Future()
        done.set_result(task(*arguments, **named))
        return done


def checked(chunk: Any, branch: Any, number: int) -> Any:
    """Return the bytes of a basket of a branch, which are checked when they are first looked at."""
    start, stop = branch.basket_entry_start_stop(number)
    chunk.__class__ = _Basket
    chunk.entries = int(stop) - int(start)
    return chunk


class _Basket(Chunk):  # type: ignore[misc]
    entries: int | None = None

    def get(self, start: int, stop: int, cursor: Any, context: Any) -> Any:
        if self.entries is not None:
            entries, self.entries = self.entries, None
            check_basket(self.raw_data, entries)
        return super().get(start, stop, cursor, context)


def check_basket(basket: Any, entries: int) -> None:
    """Refuse a basket whose sizes do not fit to its bytes, or to what its branch says."""
    if len(basket) < _KEY.size:
        raise ValueError(f"a basket has {len(basket)} bytes")
    size, _, unpacked, _, key, _ = _KEY.unpack_from(basket)
    if size != len(basket) or not _KEY.size + _BASKET.size + _AFTER_BASKET <= key <= size:
        raise ValueError(f"a basket of {len(basket)} bytes claims {size}, of which {key} are its key")
    *_, count, last = _BASKET.unpack_from(basket, key - _BASKET.size - _AFTER_BASKET)
    if count != entries:
        raise ValueError(f"a basket claims {count} entries, and its branch {entries}")
    _check_size(basket[key:], unpacked)
    if not key <= last <= key + unpacked:
        raise ValueError(f"a basket of {key + unpacked} bytes claims values up to {last}")


def _check_size(packed: Any, size: int) -> None:
    """Refuse bytes that do not become as many as they claim when they are decompressed."""
    found = len(packed) if size == len(packed) else sum(_sizes(packed))
    if size != found:
        raise ValueError(f"compressed blocks of {found} bytes claim {size}")


def _sizes(packed: Any) -> Iterator[int]:
    at = 0
    while at + _BLOCK <= len(packed):
        yield int.from_bytes(packed[at + 6 : at + _BLOCK].tobytes(), "little")
        at += _BLOCK + int.from_bytes(packed[at + 3 : at + 6].tobytes(), "little")


def check_key(key: Any) -> Any:
    """Return a key of uproot whose object is only decompressed if its size fits to its bytes."""
    kind: Any = type(key)

    class Key(kind):  # type: ignore[misc]
        def get_uncompressed_chunk_cursor(self) -> Any:
            if not self.is_compressed:
                return super().get_uncompressed_chunk_cursor()
            place, sizes = self.data_cursor, (self.data_compressed_bytes, self.data_uncompressed_bytes)
            chunk = self._file.chunk(place.index, place.index + sizes[0])
            _check_size(chunk.get(place.index, place.index + sizes[0], place, {}), sizes[1])
            unpacked = uproot.compression.decompress(chunk, place, {}, *sizes)
            return unpacked, Cursor(0, origin=-self.fKeylen)

    key.__class__ = Key
    return key


# ---- Items


class _Cursor(Cursor):  # type: ignore[misc]
    """A place in the bytes of an entry. Each item of a list has at least one of them."""

    def copy(self, link_refs: bool = True) -> Any:
        same = super().copy(link_refs)
        same.__class__ = _Cursor
        return same

    def field(self, chunk: Any, format: struct.Struct, context: Any, move: bool = True) -> Any:  # noqa: A002
        found = super().field(chunk, format, context, move)
        if format is uproot.containers._stl_container_size:
            self._check(found, chunk)
        return found

    def array(self, chunk: Any, length: int, dtype: Any, context: Any, move: bool = True) -> Any:
        self._check(length, chunk)
        return super().array(chunk, length, dtype, context, move)

    def _check(self, count: int, chunk: Any) -> None:
        if count and not 0 <= count <= chunk.stop - self.index:
            raise ValueError(f"an entry claims {count} items")


def bounded(model: Any) -> Any:
    """Return a model of uproot that refuses an entry with a list of more items than the entry has bytes."""
    kind: Any = model if isinstance(model, type) else type(model)

    def read(self: Any, chunk: Any, cursor: Any, *arguments: Any, **named: Any) -> Any:
        if type(cursor) is not _Cursor:
            cursor = cursor.copy()
            cursor.__class__ = _Cursor
        return super(made, self).read(chunk, cursor, *arguments, **named)

    # Objects are read by a method of their class, containers by one of an instance.
    method: Any = classmethod(read) if kind is model else read
    made: Any = type(kind.__name__, (kind,), {"__module__": kind.__module__, "read": method})
    if kind is model:
        return made
    same = copy.copy(model)
    same.__class__ = made
    return same
