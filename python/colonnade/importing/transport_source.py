"""The source through which uproot reads remote files: Colonnade's transports, with their credentials and retries."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import uproot.source.chunk
import uproot.source.futures

from colonnade import _core

__all__ = ["TransportSource"]

REQUESTS = 16
"""Concurrent requests."""


class _Resource(uproot.source.chunk.Resource):  # type: ignore[misc]
    """The file, shared by all threads of a source."""

    def __init__(self, file: _core.RandomAccessFile) -> None:
        self._file = file

    def __enter__(self) -> _Resource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held except the file."""

    def get(self, start: int, stop: int) -> bytes:
        return self._file.read(start, stop)

    @staticmethod
    def future(source: TransportSource, start: int, stop: int) -> Any:
        return uproot.source.futures.ResourceFuture(lambda resource: resource.get(start, stop))


class TransportSource(uproot.source.chunk.MultithreadedSource):  # type: ignore[misc]
    """A handler for uproot.open(): `uproot.open({uri: None}, handler=TransportSource)`."""

    ResourceClass = _Resource

    def __init__(self, file_path: str, **options: Any) -> None:
        self._file_path = file_path
        self._options = options
        self._num_requests = 0
        self._num_requested_chunks = 0
        self._num_requested_bytes = 0
        self._open()

    def _open(self) -> None:
        self._file = _core.open_bytes(self._file_path)
        self._num_bytes = self._file.size
        self._executor = uproot.source.futures.ResourceThreadPoolExecutor(
            [_Resource(self._file) for _ in range(REQUESTS)]
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"_file_path": self._file_path, "_options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_file_path"], **state["_options"])  # type: ignore[misc]

    @property
    def num_bytes(self) -> int:
        """The size of the file."""
        return self._num_bytes
