"""Toxiproxy: connections that are slow, narrow or cut, between a program and a server."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import HOST, Server, ServerError, find_program, free_port


class Toxiproxy(Server):
    """The server with its HTTP interface at `url`; proxies are added to it."""

    def __init__(self, folder: Path) -> None:
        self._program = find_program("toxiproxy-server")
        super().__init__(folder, "toxiproxy")

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def command(self) -> list[str]:
        return [self._program, "-host", HOST, "-port", str(self.port)]

    def environment(self) -> dict[str, str]:
        return {"COLONNADE_TEST_TOXIPROXY": self.url, "NO_PROXY": HOST, "no_proxy": HOST}

    def proxy(self, name: str, port: int) -> Proxy:
        """A proxy in front of a port of loopback."""
        for attempt in range(3):
            listen = free_port()
            status, answer = self.call(
                "POST",
                "/proxies",
                {"name": name, "listen": f"{HOST}:{listen}", "upstream": f"{HOST}:{port}", "enabled": True},
            )
            if status == 201:
                return Proxy(self, name, listen)
            if attempt == 2:
                raise ServerError(f"toxiproxy makes no proxy: {answer}")
        raise AssertionError

    def call(self, method: str, path: str, content: dict[str, Any] | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=120)
        try:
            connection.request(method, path, json.dumps(content) if content is not None else None)
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, json.loads(text) if text.strip() else None
        finally:
            connection.close()


class Proxy:
    """One proxy at `port`. Toxics act on what the server sends ("downstream") or receives ("upstream")."""

    def __init__(self, server: Toxiproxy, name: str, port: int) -> None:
        self._server = server
        self.name = name
        self.port = port

    @contextmanager
    def toxic(
        self, kind: str, *, stream: str = "downstream", toxicity: float = 1.0, **attributes: int
    ) -> Iterator[None]:
        """Inside of the block connections suffer.

        E.g. ("latency", latency=50), ("bandwidth", rate=100), ("limit_data", bytes=100000), ("reset_peer", timeout=0),
        ("timeout", timeout=0): nothing comes any more.
        """
        name = f"{kind}-{stream}"
        toxic = {"name": name, "type": kind, "stream": stream, "toxicity": toxicity, "attributes": attributes}
        status, answer = self._server.call("POST", f"/proxies/{self.name}/toxics", toxic)
        if status != 200:
            raise ServerError(f"toxiproxy takes no toxic {kind}: {answer}")
        try:
            yield
        finally:
            self._server.call("DELETE", f"/proxies/{self.name}/toxics/{name}")

    @contextmanager
    def gone_for(self, connections: int) -> Iterator[None]:
        """The server is gone when the block begins, and back after so many connections were accepted and dropped.

        Connections decide, not time: a block that asks for fewer fails.
        """
        self._server.call("POST", f"/proxies/{self.name}", {"enabled": False})
        with ThreadPoolExecutor(1) as pool:
            # The listener is there before the block begins.
            listener = socket.create_server((HOST, self.port))
            dropped = pool.submit(self._drop, listener, connections)
            yield
            dropped.result()

    def _drop(self, listener: socket.socket, connections: int) -> None:
        try:
            with listener:
                listener.settimeout(60)
                for _ in range(connections):
                    listener.accept()[0].close()
        finally:
            self._server.call("POST", f"/proxies/{self.name}", {"enabled": True})

    def remove(self) -> None:
        self._server.call("DELETE", f"/proxies/{self.name}")
