"""A proxy in front of an XRootD server that knows requests: it refuses some, and loses the answers to others."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

from listening import Listener
from processes import HOST

HANDSHAKE = 20
"""Bytes that a client begins with."""
NUMBERS = {3003: "close", 3009: "mv", 3010: "open", 3017: "stat", 3019: "write"}
LAST_PART = 0
ERROR = 4003
EXISTS = 3018


class XrootdProxy(Listener):
    """Passes everything on from `port`, until the answer to a request whose name `loses` takes."""

    def __init__(self, server_port: int) -> None:
        self.loses: Callable[[str], bool] = lambda _: False
        self.refuses: Callable[[str, bytes], bool] = lambda _name, _arguments: False
        """Whether a request does not reach the server: the answer is that the name is taken."""
        self.is_down = False
        """No connection is accepted."""
        self.lost: list[str] = []
        """The requests whose answers were lost; the connection was closed each time."""
        self._server_port = server_port
        self._connections: list[_Connection] = []
        super().__init__()

    def settle(self) -> None:
        for connection in self._connections:
            connection.end()

    def accepted(self, connection: socket.socket) -> None:
        if self.is_down:
            connection.close()
        else:
            self._connections.append(_Connection(self, connection, self._server_port))


class _Connection:
    """Both ways, a thread each, until one of them ends."""

    def __init__(self, proxy: XrootdProxy, client: socket.socket, server_port: int) -> None:
        self._proxy, self._client = proxy, client
        self._server = socket.create_connection((HOST, server_port))
        self._to_client = threading.Lock()
        self._asked: dict[bytes, str] = {}
        """The names of requests, by the number that their answers have."""
        ways = (self._pass_requests, self._pass_answers)
        self._threads = [threading.Thread(target=self._run, args=(way,), daemon=True) for way in ways]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._shut()
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._server.close()

    def _run(self, way: Callable[[], None]) -> None:
        with contextlib.suppress(OSError, EOFError):
            way()
        self._shut()

    def _shut(self) -> None:
        for each in (self._client, self._server):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _pass_requests(self) -> None:
        self._server.sendall(_exactly(self._client, HANDSHAKE))
        while True:
            head = _exactly(self._client, 24)
            stream, number, size = struct.unpack(">2sH16xI", head)
            name = self._asked[stream] = NUMBERS.get(number, str(number))
            body = _exactly(self._client, size)
            if self._proxy.refuses(name, body):
                problem = struct.pack(">I", EXISTS) + b"the name is taken\0"
                self._answer(struct.pack(">2sHI", stream, ERROR, len(problem)) + problem)
            else:
                self._server.sendall(head + body)

    def _pass_answers(self) -> None:
        while True:
            head = _exactly(self._server, 8)
            stream, status, size = struct.unpack(">2sHI", head)
            name = self._asked.get(stream, "")
            body = _exactly(self._server, size)
            if status == LAST_PART and self._proxy.loses(name):
                self._proxy.lost.append(name)
                return
            self._answer(head + body)

    def _answer(self, answer: bytes) -> None:
        with self._to_client:
            self._client.sendall(answer)


def _exactly(connection: socket.socket, size: int) -> bytes:
    taken = b""
    while len(taken) < size:
        got = connection.recv(size - len(taken))
        if not got:
            raise EOFError
        taken += got
    return taken
