"""A proxy in front of a web or S3 server that knows requests, and lets them fail before or after they are done."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time

from listening import Listener
from processes import HOST

FAULTS = (
    "not asked: 500",
    "not asked: 503",
    "not asked: 429",
    "not asked: closed",
    "not asked: reset",
    "cut request",
    "done: closed",
    "done: reset",
    "done: 500",
    "done: cut answer",
    "done twice",
    "done later",
    "short body",
    "wrong range",
    "flipped bit",
    "slow",
    "garbage",
)


class FaultProxy(Listener):
    """Passes requests on from `port`; each suffers one of `faults` with the probability `rate`."""

    def __init__(self, server_port: int, seed: int) -> None:
        self.rate = 0.0
        self.faults: tuple[str, ...] = FAULTS
        self.told: list[tuple[str, str, str]] = []
        """What happened: fault, method, path."""
        self._server_port = server_port
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._later: list[threading.Thread] = []
        super().__init__()

    def settle(self) -> None:
        """Wait for what is done later."""
        while self._later:
            self._later.pop().join()

    def accepted(self, connection: socket.socket) -> None:
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = _Stream(connection)
        with connection, contextlib.suppress(EOFError, OSError):
            while self._pass_on(connection, stream):
                pass

    def _next_fault(self, method: str, path: str) -> tuple[str, random.Random]:
        with self._lock:
            fault = self._random.choice(self.faults) if self._random.random() < self.rate else ""
            if fault:
                self.told.append((fault, method, path))
            return fault, random.Random(self._random.random())

    def _pass_on(self, connection: socket.socket, stream: _Stream) -> bool:
        """One request; returns whether the connection goes on."""
        request = _Message(stream.head())
        method, path, _ = request.first.split(" ")
        if request.take("expect"):
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        fault, numbers = self._next_fault(method, path)
        how, _, what = fault.partition(": ")
        size = int(request.get("content-length") or 0)
        if fault == "cut request":
            with socket.create_connection((HOST, self._server_port)) as server:
                server.sendall(request.text() + stream.exactly(numbers.randrange(size + 1)))
            return _reset(connection)
        request.take("connection")
        request.lines.append("Connection: close")
        whole = request.text() + stream.exactly(size)
        if how == "not asked":
            return _fail(connection, what)
        if fault == "done later":
            later = threading.Thread(target=self._do_later, args=(whole, method, numbers.random()))
            self._later.append(later)
            later.start()
            return _reset(connection)
        if fault == "done twice":
            self._ask(whole, method)
        answer, body = self._ask(whole, method)
        answer.take("connection")
        if how == "done" and what != "cut answer":
            return _fail(connection, what)
        return _send(connection, answer, body, method, fault, numbers)

    def _do_later(self, request: bytes, method: str, seconds: float) -> None:
        time.sleep(seconds)
        with contextlib.suppress(EOFError, OSError):
            self._ask(request, method)

    def _ask(self, request: bytes, method: str) -> tuple[_Message, bytes]:
        with socket.create_connection((HOST, self._server_port)) as server:
            server.sendall(request)
            stream = _Stream(server)
            answer = _Message(stream.head())
            if method == "HEAD" or answer.status in (204, 304):
                return answer, b""
            if "chunked" in answer.get("transfer-encoding"):
                return answer, stream.rest()
            return answer, stream.exactly(int(answer.get("content-length") or 0))


def _send(
    connection: socket.socket,
    answer: _Message,
    body: bytes,
    method: str,
    fault: str,
    numbers: random.Random,
) -> bool:
    has_range = bool(answer.get("content-range"))
    if fault == "short body" and method == "GET" and body:
        body = body[: numbers.randrange(len(body))]
        answer.take("content-length")
        answer.take("transfer-encoding")
        answer.lines.append(f"Content-Length: {len(body)}")
    elif fault == "wrong range" and has_range:
        answer.take("content-range")
        answer.lines.append(
            numbers.choice(["Content-Range: bytes 3-9/77", "Content-Range: bytes */77", "X-No: range"])
        )
    elif fault == "flipped bit" and has_range and body:
        at = numbers.randrange(len(body))
        body = body[:at] + bytes([body[at] ^ (1 << numbers.randrange(8))]) + body[at + 1 :]
    whole = answer.text() + body
    if fault == "garbage":
        whole = numbers.randbytes(100)
    if fault == "done: cut answer":
        whole = whole[: numbers.randrange(len(whole))]
    step = max(1, len(whole) // 4) if fault == "slow" else len(whole)
    for begin in range(0, len(whole), step):
        connection.sendall(whole[begin : begin + step])
        if fault == "slow":
            time.sleep(0.02)
    return fault not in ("garbage", "done: cut answer")


def _fail(connection: socket.socket, what: str) -> bool:
    if what == "closed":
        return False
    if what == "reset":
        return _reset(connection)
    connection.sendall(f"HTTP/1.1 {what} No\r\nContent-Length: 0\r\n\r\n".encode())
    return True


def _reset(connection: socket.socket) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


class _Message:
    """The head of a request or an answer."""

    def __init__(self, head: bytes) -> None:
        self.first, *self.lines = head.decode("latin-1").split("\r\n")

    @property
    def status(self) -> int:
        return int(self.first.split(" ")[1])

    def get(self, name: str) -> str:
        for line in self.lines:
            if line.lower().startswith(f"{name}:"):
                return line.partition(":")[2].strip()
        return ""

    def take(self, name: str) -> str:
        found = self.get(name)
        self.lines = [line for line in self.lines if not line.lower().startswith(f"{name}:")]
        return found

    def text(self) -> bytes:
        return "\r\n".join([self.first, *self.lines, "", ""]).encode("latin-1")


class _Stream:
    """What comes on a connection. Raises `EOFError` at its end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._bytes = connection, b""

    def head(self) -> bytes:
        while b"\r\n\r\n" not in self._bytes:
            self._more()
        head, _, self._bytes = self._bytes.partition(b"\r\n\r\n")
        return head

    def exactly(self, size: int) -> bytes:
        while len(self._bytes) < size:
            self._more()
        taken, self._bytes = self._bytes[:size], self._bytes[size:]
        return taken

    def rest(self) -> bytes:
        with contextlib.suppress(EOFError):
            while True:
                self._more()
        return self._bytes

    def _more(self) -> None:
        got = self._connection.recv(1 << 16)
        if not got:
            raise EOFError
        self._bytes += got
