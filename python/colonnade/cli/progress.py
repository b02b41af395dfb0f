"""A progress bar with throughput for commands that move data."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from colonnade.importing.copying import CopyProgress
from colonnade.importing.trees import ImportProgress

from .common import bytes_text

__all__ = ["TransferBar", "told"]


@contextlib.contextmanager
def told(advice: str) -> Iterator[None]:
    """Say after an interrupt how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"interrupted; {advice}", err=True)
        raise


class TransferBar:
    """On terminals only."""

    def __init__(self, what: str) -> None:
        out = Console(stderr=True)
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=out, transient=True, disable=not out.is_terminal)
        self._task = self._progress.add_task(what, total=None, rate="")
        self._begin = time.monotonic()
        self._what = what
        self._verifying = False

    def __enter__(self) -> TransferBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def copying(self, state: CopyProgress) -> None:
        """Show how far a copy is."""
        self._show(state.verifying, state.entries, state.total_entries, state.bytes_read)

    def importing(self, state: ImportProgress) -> None:
        """Show how far an import is."""
        self._show(state.verifying, state.entries, state.total_entries, state.bytes_read)

    def reading(self, entries: int, total: int) -> None:
        """Show how far something is that tells entries alone."""
        self._progress.update(self._task, completed=entries, total=total)

    def _show(self, verifying: bool, entries: int, total: int, read: int) -> None:
        if verifying != self._verifying:
            self._verifying, self._begin = verifying, time.monotonic()
            self._progress.update(self._task, description="verifying" if verifying else self._what)
        rate = bytes_text(read / max(time.monotonic() - self._begin, 1e-3))
        self._progress.update(self._task, completed=entries, total=total, rate=f"{rate}/s")
