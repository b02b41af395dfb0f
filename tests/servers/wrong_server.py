"""A web server that answers requests for ranges wrongly, as often as it is told to, in every way that has been seen."""

from __future__ import annotations

import http.server
import random
import threading
import time
from types import TracebackType

from processes import HOST

WRONGS = (
    "status 500",
    "status 503",
    "status 416",
    "status 404",
    "whole file",
    "short body",
    "long body",
    "another range",
    "no content-range",
    "wrong size",
    "other tag",
    "flipped bit",
    "closed at once",
    "closed in the middle",
    "garbage",
    "late",
    "redirected in circles",
    "compressed",
)


class WrongServer:
    """Serves `content` at `url`; each answer is wrong with the probability `rate`."""

    def __init__(self, content: bytes, seed: int) -> None:
        self.content = content
        self.rate = 0.0
        self.wrongs: tuple[str, ...] = WRONGS
        self.told: list[str] = []
        self.tag = '"1"'
        """Of the file; without one, nothing tells whether it changed."""
        self._random = random.Random(seed)
        self._lock = threading.Lock()

        class Handler(_Handler):
            server_state = self

        self._server = http.server.ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._server.server_address[1]}/file.root"

    def __enter__(self) -> WrongServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_wrong(self) -> tuple[str, random.Random]:
        """Which way the next answer is wrong, if any, and numbers for it."""
        with self._lock:
            is_wrong = self._random.random() < self.rate
            wrong = self._random.choice(self.wrongs) if is_wrong else ""
            if wrong:
                self.told.append(wrong)
            return wrong, random.Random(self._random.random())


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: WrongServer

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing is logged."""

    def do_HEAD(self) -> None:
        self._send(200, {"Content-Length": str(len(self.server_state.content)), **self._tag()}, b"")

    def do_GET(self) -> None:
        content = self.server_state.content
        first, last = self._range(len(content))
        wrong, numbers = self.server_state.next_wrong()
        body = content[first : last + 1]
        headers = {"Content-Range": f"bytes {first}-{last}/{len(content)}", **self._tag()}
        if wrong.startswith("status"):
            self._send(int(wrong.split()[1]), {}, b"no")
        elif wrong == "closed at once":
            self.close_connection = True
        elif wrong == "garbage":
            self.wfile.write(numbers.randbytes(200))
            self.close_connection = True
        elif wrong == "redirected in circles":
            self._send(302, {"Location": self.path}, b"")
        else:
            self._send_wrong(wrong, numbers, first, body, headers)

    def _send_wrong(
        self, wrong: str, numbers: random.Random, first: int, body: bytes, headers: dict[str, str]
    ) -> None:
        content = self.server_state.content
        length: int | None = None
        status = 206
        if wrong == "whole file":
            status, body, headers = 200, content, self._tag()
        elif wrong == "short body":
            body = body[: numbers.randrange(len(body))]
        elif wrong == "long body":
            body += numbers.randbytes(numbers.randrange(1, 100))
        elif wrong == "another range":
            start = numbers.randrange(len(content) - len(body) + 1)
            body = content[start : start + len(body)]
            headers["Content-Range"] = f"bytes {start}-{start + len(body) - 1}/{len(content)}"
        elif wrong == "no content-range":
            del headers["Content-Range"]
        elif wrong == "wrong size":
            headers["Content-Range"] = headers["Content-Range"].split("/")[0] + f"/{len(content) + 7}"
        elif wrong == "other tag":
            headers["ETag"] = '"2"'
        elif wrong == "flipped bit":
            at = numbers.randrange(len(body))
            body = body[:at] + bytes([body[at] ^ (1 << numbers.randrange(8))]) + body[at + 1 :]
        elif wrong == "closed in the middle":
            length, body = len(body), body[: numbers.randrange(len(body))]
        elif wrong == "late":
            time.sleep(0.3)
        elif wrong == "compressed":
            headers["Content-Encoding"] = "gzip"
        self._send(status, headers, body, length)
        if length is not None:
            self.close_connection = True

    def _tag(self) -> dict[str, str]:
        return {"ETag": self.server_state.tag} if self.server_state.tag else {}

    def _range(self, size: int) -> tuple[int, int]:
        asked = self.headers.get("Range", f"bytes=0-{size - 1}").removeprefix("bytes=")
        first, _, last = asked.partition("-")
        if not first:
            return max(size - int(last), 0), size - 1
        return int(first), min(int(last or size - 1), size - 1)

    def _send(self, status: int, headers: dict[str, str], body: bytes, length: int | None = None) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True
