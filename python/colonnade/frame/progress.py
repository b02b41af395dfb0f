"""Progress of passes: a bar with entries and bytes per second and the time that is left."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["HowFar", "PassBar", "Tasks"]

_SHOWN_AFTER = 2.0
"""Seconds that a pass takes before a bar appears of itself."""


class HowFar(Protocol):
    """How far a pass is."""

    @property
    def entries(self) -> int:
        """Done."""

    @property
    def total(self) -> int:
        """To be done."""

    @property
    def bytes(self) -> int:
        """Read."""

    @property
    def cache_bytes(self) -> int:
        """Of these, from a cache."""

    @property
    def seconds(self) -> float:
        """Since the beginning."""


class Tasks(NamedTuple):
    """How far tasks of a cluster are."""

    done: int
    total: int
    running: int
    workers: int


class PassBar:
    """Shows how far a pass is, as a context manager whose `update` the pass calls.

    Args:
        wanted: always (True), never (False), or for passes over two seconds where somebody sees it: on a terminal and
            in a notebook (None).
        what: the pass counts.
    """

    def __init__(self, wanted: bool | None, what: str = "entries") -> None:
        self._wanted, self._what = wanted, what
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def update(self, progress: HowFar, tasks: Tasks | None = None) -> bool:
        """Show the state; never stops the pass."""
        if self._bar is None and self._is_time(progress.seconds):
            self._start(progress.total)
        if self._bar is not None and self._task is not None:
            seconds = max(progress.seconds, 1e-9)
            speed = (
                f"{_count(progress.entries / seconds)} entries/s, {bytes_text(progress.bytes / seconds)}/s"
            )
            if progress.cache_bytes:
                speed += (
                    f", {100 * min(progress.cache_bytes / max(progress.bytes, 1), 1):.0f}% from the cache"
                )
            if tasks is not None:
                workers = f"{tasks.workers} worker{'s' * (tasks.workers != 1)}"
                speed = f"{tasks.done}/{tasks.total} tasks, {tasks.running} on {workers}, {speed}"
            self._bar.update(self._task, completed=progress.entries, total=progress.total, speed=speed)
        return True

    def __enter__(self) -> PassBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _is_time(self, seconds: float) -> bool:
        if self._wanted is not None:
            return self._wanted
        if seconds < _SHOWN_AFTER:
            return False
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_terminal or console.is_jupyter:
            return True
        self._wanted = False
        return False

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("[progress.description]{task.description}"),
            BarColumn(bar_width=10),
            TaskProgressColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task(self._what, total=total, speed="")
        self._bar.start()


def _count(number: float) -> str:
    for unit in ("", "k", "M"):
        if number < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}G"


def bytes_text(number: float) -> str:
    """Return a number of bytes as people write it."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
