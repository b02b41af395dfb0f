"""Detects results of callables that other code may write to, and serialises such callables."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np

from colonnade.arrays.lazy import Content
from colonnade.arrays.lazy import awkward as ak

__all__ = ["COUNTS_ALL", "Guarded", "Turns", "is_argument", "is_shared", "turns"]

T = TypeVar("T")


def _references(thing: object) -> int:
    return sys.getrefcount(thing)


def _alone() -> int:
    nothing_else = object()
    return _references(nothing_else)


_ALONE = _alone()
"""The result of `_references` for an object that only one variable of the caller holds."""


COUNTS_ALL = sys.version_info < (3, 14)
"""From Python 3.14 on, variables may borrow references, so that the count tells nothing: all is taken as shared."""


def _others(thing: object, known: int) -> int:
    """The number of references to an object besides a variable of the caller and `known` others.

    The call itself must not add a reference: it belongs into a statement of its own.
    """
    if not COUNTS_ALL:
        return 1
    return sys.getrefcount(thing) - _ALONE - known


_PLAIN = (bool, int, float, complex, str, bytes, range, np.generic, type(None))


def is_shared(answer: Any, known: int = 0) -> bool:
    """Whether other code may write to the result of a callable.

    Args:
        answer: the result, which a variable of the caller holds.
        known: the number of other references that do not count.
    """
    if isinstance(answer, _PLAIN):
        return False
    others = _others(answer, known + 1)  # the caller's variable
    if isinstance(answer, np.ndarray):
        return _is_shared_buffer(answer, others)
    if others > 0:
        return True
    if isinstance(answer, ak.Array):
        return any(_is_shared_buffer(*found) for found in _buffers(answer.layout))
    if isinstance(answer, list | tuple):
        return any(is_shared(each, 1) for each in answer)
    return True


def _buffers(layout: Content) -> Iterator[tuple[Any, int]]:
    """The arrays of a layout, each with the number of other references."""
    for name in ("_data", "_offsets", "_starts", "_stops", "_index", "_mask", "_tags"):
        part = getattr(layout, name, None)
        if part is None:
            continue
        data = getattr(part, "_data", part) if not isinstance(part, np.ndarray) else part
        del part
        others = _others(data, 1)
        yield data, others
        del data
    inner = getattr(layout, "_contents", None) or [getattr(layout, "_content", None)]
    for content in inner:
        if content is not None:
            yield from _buffers(content)


def _is_shared_buffer(array: Any, others: int) -> bool:
    """`others`: the number of references besides that of the result."""
    if not isinstance(array, np.ndarray):
        return True
    if not array.flags.writeable and is_argument(array):
        return False
    if others > 0:
        return True
    base = array.base
    if base is None:
        return not array.flags.owndata
    held = _others(base, 1)
    return _is_shared_buffer(base, held)


def is_argument(array: np.ndarray[Any, Any]) -> bool:
    """Return True if it is part of an argument of a callable; arguments are read-only."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, memoryview) and base.readonly and type(base.obj).__module__ == "nanobind"


class Turns:
    """Lets any number of callables run in parallel, or one exclusively.

    Each holds a lock of its own while it runs. Locks alone are released whenever Ctrl-C comes: a `Condition` is left
    by Python code, which a signal's handler can end before it has done anything.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget who runs: a forked child has none of the threads."""
        self._entry = threading.Lock()
        self._running: set[threading.Lock] = set()

    def together(self, call: Callable[..., T], *arguments: Any) -> T:
        """Run in parallel with others."""
        running, own = self._running, threading.Lock()
        with own:
            try:
                with self._entry:
                    running.add(own)
                return call(*arguments)
            finally:
                running.discard(own)

    def alone(self, call: Callable[..., T], *arguments: Any) -> T:
        """Run exclusively."""
        while True:
            with self._entry:
                others = list(self._running)
                if not others:
                    return call(*arguments)
            for each in others:
                with each:  # it has ended
                    pass


turns = Turns()
"""The turns of all callables: one may write to memory of another."""
os.register_at_fork(after_in_child=turns.reset)


class Guarded(Generic[T]):
    """Calls a callable, and exclusively from the first result on that other code may write to.

    That first call is repeated, since other code may have written meanwhile.
    """

    def __init__(self, call: Callable[..., tuple[T, bool]]) -> None:
        """`call` returns the values, which it has copied if they were shared, and whether they were."""
        self._call = call
        self._shared = False

    def __call__(self, *arguments: Any) -> T:
        """Return the values of a block."""
        if not self._shared:
            values, self._shared = turns.together(self._call, *arguments)
            if not self._shared:
                return values
        return turns.alone(self._call, *arguments)[0]
