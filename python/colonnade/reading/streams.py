"""Streams that other libraries read in threads of their own, and the end of the program.

A thread that asks for the interpreter lock once the interpreter is being torn down never gets it. Arrow waits for its
threads at the end of the process, so a scan that was left unfinished kept the program from ending, or crashed it.
Before the interpreter ends, streams therefore end, too, so that their readers ask for nothing more.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from colonnade.errors import UsageError

__all__ = ["Stream"]

T = TypeVar("T")

_QUIET = 0.1
"""Seconds after which a reader that has asked for nothing has read as far ahead as it wants to."""


class _Gate:
    """What is called by readers at the moment, and whether they may call."""

    def __init__(self) -> None:
        self.is_closed = False
        self.reset()

    def reset(self) -> None:
        """Forget the readers: a forked child has none of the threads."""
        self.changed = threading.Condition()
        self.inside = 0
        self.streams: weakref.WeakSet[Stream[Any]] = weakref.WeakSet()

    def close(self) -> None:
        """Refuse all calls from now on; wait for those that have begun, and for readers that do not know it yet."""
        with self.changed:
            self.is_closed = True
            while True:
                if self.inside:
                    self.changed.wait()
                elif not self._may_be_asked() or not self.changed.wait(_QUIET):
                    return

    def _may_be_asked(self) -> bool:
        return any(stream.may_be_asked for stream in self.streams)


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
        with _gate.changed:
            if _gate.is_closed:
                raise _end()
            _gate.streams.add(self)

    def __next__(self) -> T:
        with _gate.changed:
            is_other = threading.get_ident() != threading.main_thread().ident
            self.may_be_asked = is_other and not _gate.is_closed
            if _gate.is_closed:
                _gate.changed.notify_all()
                if is_other:
                    raise StopIteration  # Arrow would ask for the text of an error, with the lock
                raise _end()
            _gate.inside += 1
        try:
            return next(self._items)
        except BaseException:
            self.may_be_asked = False
            raise
        finally:
            with _gate.changed:
                _gate.inside -= 1
                _gate.changed.notify_all()
