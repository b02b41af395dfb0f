"""Threads, and the error where the system allows no more of them."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, TypeVar

from colonnade.errors import ResourceError

__all__ = ["ThreadPool", "check_threads", "start_thread"]

T = TypeVar("T")

_LONGEST_START = 60.0
"""Seconds; nothing but an error depends on it."""


@contextmanager
def _starting() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        raise ResourceError(
            "cannot start a thread",
            "fewer threads, or more threads and memory for this process (ulimit -u, ulimit -v, pids.max)",
        ) from error


class ThreadPool(ThreadPoolExecutor):
    """Raises a `ResourceError` where it cannot start a thread."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have a function called; see `Executor.submit`."""
        with _starting():
            return super().submit(fn, *args, **kwargs)


def start_thread(function: Callable[[], object]) -> None:
    """Start a thread without a condition, as `Thread.start` waits for.

    Raises:
        ResourceError: the system allows no more threads.
    """
    with _starting():
        start_new_thread(function, ())


def check_threads(count: int) -> None:
    """Start so many threads at once, and end them: for libraries that crash or hang where theirs cannot start.

    Raises:
        ResourceError: the system allows no more threads, or they lack memory.
    """
    gate = Lock()
    ended: SimpleQueue[None] = SimpleQueue()
    started = 0

    def wait() -> None:
        with gate:
            pass
        ended.put(None)

    try:
        with gate:
            for _ in range(count):
                start_thread(wait)
                started += 1
    finally:
        # Without memory a thread ends before it does anything; `Thread.start` would wait for it without end.
        try:
            for _ in range(started):
                ended.get(timeout=_LONGEST_START)
        except Empty:
            raise ResourceError(
                "a thread that was started did nothing", "more memory for this process (ulimit -v)"
            ) from None
