"""Progress of passes: a bar with entries and bytes per second and the time that is left."""

from __future__ import annotations

import html
from types import TracebackType
from typing import Any, NamedTuple, Protocol

__all__ = ["HowFar", "PassBar", "Tasks"]

_SHOWN_AFTER = 2.0
"""Seconds before a bar appears by default."""
_SHOWN_EVERY = 0.2
"""Seconds between two updates of a bar in a page."""


class HowFar(Protocol):
    """The progress of a pass."""

    @property
    def entries(self) -> int:
        """Entries done."""

    @property
    def total(self) -> int:
        """Entries to do."""

    @property
    def bytes(self) -> int:
        """Bytes read."""

    @property
    def cache_bytes(self) -> int:
        """Bytes read from a cache."""

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""


class Tasks(NamedTuple):
    """The progress of tasks on a cluster."""

    done: int
    total: int
    running: int
    workers: int


class PassBar:
    """Shows the progress of a pass, as a context manager whose `update` the pass calls.

    Args:
        wanted: always (True), never (False), or for passes over two seconds where it is visible: on a terminal and
            in a notebook (None).
        what: the things that the pass counts.
    """

    def __init__(self, wanted: bool | None, what: str = "entries") -> None:
        self._wanted, self._what = wanted, what
        self._bar: _TerminalBar | _PageBar | None = None

    def update(self, progress: HowFar, tasks: Tasks | None = None) -> bool:
        """Show the state; errors do not stop the pass."""
        if self._bar is None and self._is_time(progress.seconds):
            self._bar = _page_bar(self._what) or _TerminalBar(self._what)
        if self._bar is not None:
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
            self._bar.update(progress.entries, progress.total, speed, seconds)
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


class _TerminalBar:
    def __init__(self, what: str) -> None:
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
        self._task = self._bar.add_task(what, total=None, speed="")
        self._bar.start()

    def update(self, done: int, total: int, speed: str, seconds: float) -> None:
        self._bar.update(self._task, completed=done, total=total, speed=speed)

    def stop(self) -> None:
        self._bar.stop()


class _PageBar:
    """A bar in the page of a notebook, without widgets. Its last state remains when the pass ends."""

    def __init__(self, what: str, display: Any) -> None:
        self._what, self._last, self._text = what, -1.0, ""
        self._handle = display({"text/html": "", "text/plain": ""}, raw=True, display_id=True)

    def update(self, done: int, total: int, speed: str, seconds: float) -> None:
        left = seconds * (total - done) / done if done else 0.0
        time = f"{left:.0f} s left" if done < total else f"{seconds:.1f} s"
        self._text = f"{self._what} {100 * done // max(total, 1)}%, {speed}, {time}"
        self._bar = f"<progress value='{done}' max='{max(total, 1)}'></progress> {html.escape(self._text)}"
        if seconds - self._last >= _SHOWN_EVERY:
            self._last = seconds
            self._show()

    def stop(self) -> None:
        if self._text:
            self._show()

    def _show(self) -> None:
        self._handle.update({"text/html": self._bar, "text/plain": self._text}, raw=True)


def _page_bar(what: str) -> _PageBar | None:
    """A bar for a notebook; None outside of one."""
    from rich.console import Console

    if not Console(stderr=True).is_jupyter:
        return None
    from IPython.display import display

    return _PageBar(what, display)


def _count(number: float) -> str:
    for unit in ("", "k", "M"):
        if number < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}G"


def bytes_text(number: float) -> str:
    """Return a number of bytes with a unit."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"
