"""The source through which uproot reads remote files: Colonnade's transports, with their credentials and retries."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeAlias

import uproot.source.chunk

from colonnade import _core
from colonnade.threads import ThreadPool

__all__ = ["TransportSource"]

Range: TypeAlias = tuple[int, int]


class _Batch:
    """Ranges that are read together."""

    def __init__(self, future: Future[list[bytes]], ranges: list[Range]) -> None:
        self.future = future
        self.places = {each: number for number, each in enumerate(ranges)}


class _Part:
    """The bytes of one of them, as a future."""

    def __init__(self, batch: _Batch, place: Range) -> None:
        self._future, self._number = batch.future, batch.places[place]

    def result(self, timeout: float | None = None) -> bytes:
        return self._future.result(timeout)[self._number]

    def add_done_callback(self, callback: Callable[..., object]) -> None:
        self._future.add_done_callback(callback)


class TransportSource(uproot.source.chunk.Source):  # type: ignore[misc]
    """A handler for uproot.open(): `uproot.open({uri: None}, handler=TransportSource)`."""

    _held: _core.RandomAccessFile | None = None

    @classmethod
    def of(cls, held: _core.RandomAccessFile) -> type[TransportSource]:
        """Return a handler that reads a file that is already open."""
        return type(cls.__name__, (cls,), {"_held": held})

    def __init__(self, file_path: str, **_: Any) -> None:
        self._file_path = file_path
        self._num_requests = 0
        self._num_requested_chunks = 0
        self._num_requested_bytes = 0
        self._open()

    def _open(self) -> None:
        self._file = self._held or _core.open_bytes(self._file_path)
        self._num_bytes = self._file.size
        self._executor = ThreadPool(2)  # what is needed, and what is read ahead
        self._ahead: list[_Batch] = []
        self._closed = False

    def __enter__(self) -> TransportSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Read nothing any more."""
        self._closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)

    @property
    def closed(self) -> bool:
        """True after the end of the context."""
        return self._closed

    @property
    def file(self) -> _core.RandomAccessFile:
        """The file that is read."""
        return self._file

    @property
    def num_bytes(self) -> int:
        """The size of the file."""
        return self._num_bytes

    def chunk(self, start: int, stop: int) -> Any:
        """Return a range."""
        return self.chunks([(start, stop)], queue.Queue())[0]

    def chunks(self, ranges: list[Range], notifications: queue.Queue[Any]) -> list[Any]:
        """Begin to read ranges; each is put into the queue when it is there."""
        self._num_requests += 1
        self._num_requested_chunks += len(ranges)
        self._num_requested_bytes += sum(stop - start for start, stop in ranges)
        ahead = {place: batch for batch in self._ahead for place in batch.places}
        missing = [place for place in ranges if place not in ahead]
        if missing:
            ahead |= dict.fromkeys(missing, self._begin(missing))
        chunks = []
        for place in ranges:
            part = _Part(ahead[place], place)
            chunks.append(uproot.source.chunk.Chunk(self, *place, part))
            part.add_done_callback(uproot.source.chunk.notifier(chunks[-1], notifications))
        return chunks

    def read_ahead(self, ranges: Iterable[Range]) -> None:
        """Begin to read ranges that uproot will ask for. Those of the last but one call are forgotten."""
        wanted = list(ranges)
        self._ahead = self._ahead[-1:]
        if wanted:
            self._ahead.append(self._begin(wanted))

    def _begin(self, ranges: list[Range]) -> _Batch:
        return _Batch(self._executor.submit(self._file.read_ranges, ranges), ranges)
