"""Threads, and the error where the system allows no more of them."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock, Thread
from typing import Any, TypeVar

from colonnade.errors import ResourceError

__all__ = ["ThreadPool", "check_threads", "start_thread"]

T = TypeVar("T")


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
        ResourceError: the system allows no more threads.
    """
    lock = Lock()

    def wait() -> None:
        with lock:
            pass

    threads: list[Thread] = []
    try:
        with lock, _starting():
            for _ in range(count):
                thread = Thread(target=wait)
                thread.start()
                threads.append(thread)
    finally:
        for thread in threads:
            thread.join()
