"""A progress bar with throughput for commands that move data."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from colonnade import _core
from colonnade.errors import StorageError

from .common import bytes_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from colonnade.importing.copying import CopyProgress
    from colonnade.importing.trees import ImportProgress

__all__ = ["TransferBar", "told"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def told(advice: str) -> Iterator[None]:
    """Say after an interrupt, and where there is no room, how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"interrupted; {advice}", err=True)
        raise
    except StorageError as error:
        if error.advice not in map(_core.system_advice, _FULL):
            raise
        place = {"uri": error.uri, "data_set": error.data_set, "offset": error.offset}
        raise StorageError(error.problem, f"{error.advice}; {advice}", **place) from error


def _bar(what: str) -> tuple[Progress, TaskID] | None:
    # These variables of the environment can make rich take a file for a terminal.
    if not sys.stderr.isatty() and not {"FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"} & set(os.environ):
        return None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    out = Console(stderr=True)
    if not out.is_terminal:
        return None
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=out, transient=True)
    return progress, progress.add_task(what, total=None, rate="")


class TransferBar:
    """On terminals only."""

    def __init__(self, what: str) -> None:
        self._bar = _bar(what)
        self._begin = time.monotonic()
        self._what = what
        self._verifying = False

    def __enter__(self) -> TransferBar:
        if self._bar:
            self._bar[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar[0].stop()

    def copying(self, state: CopyProgress) -> None:
        """Show how far a copy is."""
        self._show(state.verifying, state.fraction, 1.0, state.bytes_read)

    def importing(self, state: ImportProgress) -> None:
        """Show how far an import is."""
        self._show(state.verifying, state.entries, state.total_entries, state.bytes_read)

    def reading(self, entries: int, total: int) -> None:
        """Show how far something is that tells entries alone."""
        if self._bar:
            progress, task = self._bar
            progress.update(task, completed=entries, total=total)

    def _show(self, verifying: bool, done: float, total: float, read: int) -> None:
        if not self._bar:
            return
        progress, task = self._bar
        if verifying != self._verifying:
            self._verifying, self._begin = verifying, time.monotonic()
            progress.update(task, description="verifying" if verifying else self._what)
        # A comparison of values does not count bytes.
        rate = f"{bytes_text(read / max(time.monotonic() - self._begin, 1e-3))}/s" if read else ""
        progress.update(task, completed=done, total=total, rate=rate)
