"""Streams that other libraries read in threads of their own, and the end of the program.

A thread that asks for the interpreter lock once the interpreter is being torn down never gets it. Arrow waits for its
threads at the end of the process, so a scan that was left unfinished kept the program from ending, or crashed it.
Before the interpreter ends, streams therefore end, too, so that their readers ask for nothing more.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from colonnade import _core
from colonnade.errors import UsageError

__all__ = ["Stream"]

T = TypeVar("T")

_QUIET = 0.1
"""Seconds after which a reader that has asked for nothing has read as far ahead as it wants to."""
_PAUSE = 0.001
"""Seconds between two looks at the readers, at the end of the program."""


class _Gate:
    """What is called by readers at the moment, and whether they may call.

    There are only operations that are atomic for Python, and no lock: a signal's handler, as that of Ctrl-C, may raise
    before a `finally` has called anything that is written in Python, such as the end of a `Condition`.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self.reset()

    def reset(self) -> None:
        """Forget the readers: a forked child has none of the threads."""
        self.inside: set[object] = set()
        self.streams: dict[int, weakref.ref[Stream[Any]]] = {}
        self.calls = 0

    def close(self) -> None:
        """Refuse all calls from now on; wait for those that have begun, and for readers that do not know it yet."""
        self.is_closed = True
        calls, quiet = self.calls, time.monotonic() + _QUIET
        while self.inside or (self._may_be_asked() and time.monotonic() < quiet):
            time.sleep(_PAUSE)
            if calls != self.calls:
                calls, quiet = self.calls, time.monotonic() + _QUIET

    def _may_be_asked(self) -> bool:
        streams = [stream for each in list(self.streams.values()) if (stream := each()) is not None]
        return any(stream.may_be_asked for stream in streams)


_gate = _Gate()
atexit.register(_gate.close)
os.register_at_fork(after_in_child=_gate.reset)


def _end() -> UsageError:
    return UsageError("the program ends, and nothing more can be read")


class Stream(Iterator[T], Generic[T]):
    """An iterator for readers in other threads: it ends at the latest when the program does.

    Args:
        items: what it yields.
    """

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self.may_be_asked = True
        """Whether a thread that may outlive the interpreter could ask for more."""
        if _gate.is_closed:
            raise _end()
        _gate.streams[id(self)] = weakref.ref(self)

    @_core.finalizer
    def __del__(self) -> None:
        _gate.streams.pop(id(self), None)

    def __next__(self) -> T:
        is_other = threading.get_ident() != threading.main_thread().ident
        inside, call = _gate.inside, object()
        _gate.calls += 1
        try:
            inside.add(call)
            self.may_be_asked = is_other and not _gate.is_closed
            if _gate.is_closed:
                if is_other:
                    raise StopIteration  # Arrow would ask for the text of an error, with the lock
                raise _end()
            return next(self._items)
        except BaseException:
            self.may_be_asked = False
            raise
        finally:
            inside.discard(call)
