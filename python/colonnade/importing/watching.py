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
    """A bar over the entries of an import, as a context manager. `wanted`: see `PassBar`."""

    def __init__(self, wanted: bool | None) -> None:
        self._bar = PassBar(wanted)
        self._begin = time.monotonic()

    def update(self, progress: ImportProgress) -> bool:
        """Show the state; never stops the import."""
        seconds = time.monotonic() - self._begin
        self._bar.update(_HowFar(progress.entries, progress.total_entries, progress.bytes_read, seconds))
        return True

    def __enter__(self) -> ImportBar:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)
