"""A proxy that counts round trips instead of taking time.

What clients send goes to the server at once. What the server answers is held back until nobody has sent anything for a
while; then all of it goes to the clients, which is one round trip, whatever was asked for side by side.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from types import TracebackType

from processes import HOST

QUIET = 0.15
"""Seconds: longer than a server on this machine takes for an answer."""


class RoundTrips:
    """A proxy at `port` in front of a port of loopback."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._others: dict[socket.socket, socket.socket] = {}
        self._held: dict[socket.socket, bytearray] = {}  # by the client's socket
        self._ended: list[socket.socket] = []  # clients whose server has hung up
        self._count = 0
        self._bytes = 0
        self._changed = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> RoundTrips:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        for client in list(self._held):
            self._close(client)
        self._listener.close()
        self._selector.close()

    @property
    def count(self) -> int:
        """Round trips so far."""
        return self._count

    @property
    def bytes(self) -> int:
        """Bytes that clients were sent so far."""
        return self._bytes

    def _work(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(timeout=QUIET / 5):
                self._changed = time.monotonic()
                with contextlib.suppress(BlockingIOError):
                    self._accept() if key.fileobj is self._listener else self._move(key.fileobj)  # type: ignore[arg-type]
            if time.monotonic() - self._changed > QUIET:
                self._release()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection((HOST, self._server_port))
        for one, other in ((client, server), (server, client)):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._others[one] = other
            self._selector.register(one, selectors.EVENT_READ)
        self._held[client] = bytearray()

    def _move(self, source: socket.socket) -> None:
        if source not in self._others:
            return
        try:
            received = source.recv(1 << 20)
        except ConnectionError:
            received = b""
        if source in self._held:  # a client's
            if not received:
                self._close(source)
                return
            with contextlib.suppress(ConnectionError):
                self._others[source].sendall(received)
        elif received:
            self._held[self._others[source]] += received
        else:
            self._selector.unregister(source)
            self._ended.append(self._others[source])

    def _release(self) -> None:
        full = [client for client, held in self._held.items() if held]
        if full:
            self._count += 1
        for client in full:
            with contextlib.suppress(ConnectionError):
                client.sendall(self._held[client])
                self._bytes += len(self._held[client])
            self._held[client].clear()
        for client in self._ended:
            self._close(client)
        self._ended.clear()
        self._changed = time.monotonic()

    def _close(self, client: socket.socket) -> None:
        server = self._others.pop(client, None)
        if server is None:
            return
        self._held.pop(client, None)
        del self._others[server]
        for one in (client, server):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(one)
            one.close()
