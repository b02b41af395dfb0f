"""A port of this machine whose connections a thread accepts: what proxies of tests have in common."""

from __future__ import annotations

import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

from processes import HOST

AnyListener = TypeVar("AnyListener", bound="Listener")


class Listener(ABC):
    """Hands on each connection to `port` to `accepted`, between `__enter__` and `__exit__`."""

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self: AnyListener) -> AnyListener:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self.settle()

    @abstractmethod
    def accepted(self, connection: socket.socket) -> None:
        """Serve a connection; this returns at once."""

    @abstractmethod
    def settle(self) -> None:
        """Wait for what still runs when no connection is accepted any more."""

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted(connection)
