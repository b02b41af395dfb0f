"""A proxy in front of a web server with TLS and HTTP/2 that knows frames, and spoils what the server answers."""

from __future__ import annotations

import contextlib
import random
import select
import socket
import ssl
import struct
import threading
import time

from certificates import Certificates
from listening import Listener
from processes import HOST

FAULTS = (
    "reset",
    "going away",
    "going away, closed",
    "cut frame",
    "cut stream",
    "long stream",
    "status 503",
    "status 200",
    "flipped bit",
    "nothing more",
    "one stream",
    "too large",
    "slow",
)

DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 7, 8
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 0, 2, 7, 8, 11
MAX_CONCURRENT_STREAMS = 3


class Http2Proxy(Listener):
    """Passes frames on from `port`; each of an answer suffers one of `faults` with the probability `rate`."""

    def __init__(self, server_port: int, certificates: Certificates, seed: int) -> None:
        self.rate = 0.0
        self.faults: tuple[str, ...] = FAULTS
        self.told: list[str] = []
        """What happened."""
        self._server_port = server_port
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._to_clients = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._to_clients.load_cert_chain(certificates.certificate, certificates.key)
        self._to_clients.set_alpn_protocols(["h2"])
        self._to_server = ssl.create_default_context(cafile=str(certificates.authority))
        self._to_server.set_alpn_protocols(["h2"])
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        super().__init__()

    def settle(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def accepted(self, connection: socket.socket) -> None:
        thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def next_fault(self) -> tuple[str, random.Random]:
        """What happens to a frame, if anything, and numbers for it."""
        with self._lock:
            fault = self._random.choice(self.faults) if self._random.random() < self.rate else ""
            if fault:
                self.told.append(fault)
            return fault, random.Random(self._random.random())

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, EOFError), contextlib.ExitStack() as both:
            both.enter_context(connection)
            plain = both.enter_context(socket.create_connection((HOST, self._server_port)))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = both.enter_context(self._to_clients.wrap_socket(connection, server_side=True))
            server = both.enter_context(self._to_server.wrap_socket(plain, server_hostname=HOST))
            way = _Connection(self, client, server)
            while not self._ended.is_set():
                way.pass_on()


class _Connection:
    """Both ways by turns: connections of OpenSSL are of one thread at a time."""

    def __init__(self, proxy: Http2Proxy, client: ssl.SSLSocket, server: ssl.SSLSocket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._from_server = b""
        self._silent: set[int] = set()
        """Streams of which the client hears nothing more."""
        self._last_stream = 1 << 31
        """That the client still has answered."""

    def pass_on(self) -> None:
        """What has come. Raises `EOFError` at the end of either connection."""
        ready = [each for each in (self._client, self._server) if each.pending()]
        if not ready:
            ready = select.select([self._client, self._server], [], [], 0.05)[0]
        for each in ready:
            got = each.recv(1 << 16)
            if not got:
                raise EOFError
            if each is self._client:
                self._server.sendall(got)
            else:
                self._answers(got)

    def _answers(self, got: bytes) -> None:
        self._from_server += got
        out = []
        while len(self._from_server) >= 9:
            size = int.from_bytes(self._from_server[:3], "big")
            if len(self._from_server) < 9 + size:
                break
            kind, flags, stream = struct.unpack(">BBI", self._from_server[3:9])
            body = self._from_server[9 : 9 + size]
            self._from_server = self._from_server[9 + size :]
            out.append(self._answer(kind, flags, stream, body))
        self._client.sendall(b"".join(out))

    def _answer(self, kind: int, flags: int, stream: int, body: bytes) -> bytes:
        if stream in self._silent or stream > self._last_stream:
            self._forget(kind, body)
            return b""
        whole = _frame(kind, flags, stream, body)
        if kind not in (DATA, HEADERS) or flags & PADDED:
            return whole
        fault, numbers = self._proxy.next_fault()
        if fault in ("going away, closed", "cut frame", "too large"):
            self._client.sendall(self._last_words(fault, numbers, stream, whole))
            raise EOFError
        if fault == "going away":
            return self._going_away(numbers, stream) + (whole if stream <= self._last_stream else b"")
        if fault in ("reset", "nothing more") or (fault.startswith("status") and kind == HEADERS):
            self._silent.add(stream)
            self._forget(kind, body)
            return _end_of_stream(fault, numbers, stream)
        if fault == "one stream":
            return _frame(SETTINGS, 0, 0, struct.pack(">HI", MAX_CONCURRENT_STREAMS, 1)) + whole
        if fault == "slow":
            time.sleep(0.1)
        if kind == DATA and body:
            return self._spoiled(fault, numbers, flags, stream, body)
        return whole

    def _last_words(self, fault: str, numbers: random.Random, stream: int, whole: bytes) -> bytes:
        if fault == "cut frame":
            return whole[: numbers.randrange(len(whole))]
        if fault == "too large":
            return (1 << 23).to_bytes(3, "big") + whole[3:]
        return self._going_away(numbers, stream)

    def _going_away(self, numbers: random.Random, stream: int) -> bytes:
        self._last_stream = max(0, stream - 2 * numbers.randrange(3))
        code = numbers.choice([NO_ERROR, ENHANCE_YOUR_CALM, INTERNAL_ERROR])
        return _frame(GOAWAY, 0, 0, struct.pack(">II", self._last_stream, code))

    def _spoiled(self, fault: str, numbers: random.Random, flags: int, stream: int, body: bytes) -> bytes:
        if fault == "cut stream":
            self._silent.add(stream)
            self._forget(DATA, body)
            return _frame(DATA, END_STREAM, stream, body[: numbers.randrange(len(body))])
        if fault == "long stream":
            return _frame(DATA, 0, stream, numbers.randbytes(10)) + _frame(DATA, flags, stream, body)
        if fault == "flipped bit":
            at = numbers.randrange(len(body))
            body = body[:at] + bytes([body[at] ^ (1 << numbers.randrange(8))]) + body[at + 1 :]
        return _frame(DATA, flags, stream, body)

    def _forget(self, kind: int, body: bytes) -> None:
        """The server may send as much again."""
        if kind == DATA and body:
            self._server.sendall(_frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(body))))


def _end_of_stream(fault: str, numbers: random.Random, stream: int) -> bytes:
    if fault == "reset":
        code = numbers.choice([NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM])
        return _frame(RST_STREAM, 0, stream, struct.pack(">I", code))
    if fault == "nothing more":
        return b""
    line = b"\x08\x03" + fault[-3:].encode()  # ":status", literally
    return _frame(HEADERS, END_HEADERS | END_STREAM, stream, line)


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + body
