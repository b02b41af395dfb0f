"""A proxy that counts round trips instead of taking time.

What clients send goes to the server at once. What the server answers is held back until nobody has sent anything for a
while, and neither a thread of the server nor one of this process, where the clients are, has been at work or waited for
a processor; then all of it goes to the clients, which is one round trip, whatever was asked for side by side.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from pathlib import Path
from types import TracebackType

from processes import HOST, Server

STEP = 0.03
"""Seconds between two looks."""
QUIET = 5
"""This many looks in a row must find everybody idle."""
LONGEST = 20.0
"""Seconds after which answers go on even if somebody is still at work."""


def is_at_work(folder: Path) -> bool:
    """Whether the thread of a folder in `/proc` runs, or would if it had a processor, the disk or no signal to stop."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()[0] in "RDT"
    except OSError:  # it has ended
        return False


def threads_of(server: int) -> list[Path]:
    """The folders of the threads of a process and of its children."""
    found, processes = [], [server]
    while processes:
        with contextlib.suppress(OSError):
            for each in Path(f"/proc/{processes.pop()}/task").iterdir():
                found.append(each)
                processes += map(int, (each / "children").read_text().split())
    return found


class RoundTrips:
    """A proxy at `port` in front of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
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
        quiet = 0
        while not self._over.is_set():
            found = self._selector.select(timeout=STEP)
            quiet = 0 if found or self._is_somebody_at_work() else quiet + 1
            for key, _ in found:
                self._changed = time.monotonic()
                with contextlib.suppress(BlockingIOError):
                    self._accept() if key.fileobj is self._listener else self._move(key.fileobj)  # type: ignore[arg-type]
            if quiet >= QUIET or time.monotonic() - self._changed > LONGEST:
                self._release()
                quiet = 0

    def _is_somebody_at_work(self) -> bool:
        me = str(threading.get_native_id())
        own = [each for each in Path("/proc/self/task").iterdir() if each.name != me]
        return any(map(is_at_work, own + threads_of(self._server.running().pid)))

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection((HOST, self._server.port))
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
