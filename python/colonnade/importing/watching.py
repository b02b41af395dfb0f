"""The progress of imports before a pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from colonnade.frame.progress import PassBar

if TYPE_CHECKING:
    from .trees import ImportProgress

__all__ = ["ImportBar"]


@dataclass
class _HowFar:
    entries: int
    total: int
    bytes: int
    seconds: float
    cache_bytes: int = 0


class ImportBar:
    """A bar over the entries of all files of an import, as a context manager.

    Args:
        wanted: see `PassBar`.
        total: entries of all files.
    """

    def __init__(self, wanted: bool | None, total: int) -> None:
        self._bar = PassBar(wanted)
        self._total = total
        self._begin = time.monotonic()
        self._before = 0
        self._last: ImportProgress | None = None

    def update(self, progress: ImportProgress) -> bool:
        """Show the state; never stops the import."""
        if self._last is not None and progress.entries < self._last.entries:  # the next file
            self._before += self._last.total_entries
        self._last = progress
        seconds = time.monotonic() - self._begin
        self._bar.update(_HowFar(self._before + progress.entries, self._total, progress.bytes_read, seconds))
        return True

    def __enter__(self) -> ImportBar:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)
