"""Runs a command with servers: run_with.py SERVER... -- COMMAND ARGUMENT...

SERVER is http, https, s3, s3-tls, toxiproxy, ceph, xrootd or xrootd-tls. They start on free ports of loopback in a
temporary folder, the command finds them through environment variables (README.md lists them), and they are stopped when
it ends. The exit code is that of the command; 97 if a server is missing or does not start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ceph_server import CephCluster
from http_server import HttpServer
from processes import Server, ending_with_parent
from s3_server import S3Server
from toxiproxy import Toxiproxy
from xrootd_server import XrootdServer

NOT_STARTED = 97
# In the order of starting. Where S3 is served plainly and with TLS, the plain one, which comes later, is the endpoint.
SERVERS = ("toxiproxy", "s3-tls", "s3", "https", "http", "ceph", "xrootd-tls", "xrootd")


def start(name: str, folder: Path) -> Server | CephCluster:
    """A server that is ready, to be stopped by leaving its `with`."""
    if name == "ceph":
        return CephCluster()
    if name == "toxiproxy":
        return Toxiproxy(folder)
    if name.startswith("xrootd"):
        return XrootdServer(folder, tls=name == "xrootd-tls")
    if name.startswith("http"):
        return HttpServer(folder, tls=name == "https")
    return S3Server(folder, tls=name == "s3-tls")


def start_all(names: list[str], folder: Path, stack: ExitStack) -> dict[str, str]:
    """The environment that they give."""
    environment: dict[str, str] = {}
    proxies: Toxiproxy | None = None
    for name in SERVERS:
        if name not in names:
            continue
        server = start(name, folder / name)
        stack.enter_context(server)
        environment.update(server.environment())
        if isinstance(server, Toxiproxy):
            proxies = server
        if isinstance(server, S3Server) and proxies is not None:
            proxy = proxies.proxy(name, server.port)
            environment["COLONNADE_TEST_S3_PROXY"] = name
            environment["COLONNADE_TEST_S3_PROXY_ENDPOINT"] = server.endpoint_at(proxy.port)
        if isinstance(server, HttpServer) and proxies is not None:
            environment["COLONNADE_TEST_HTTP_PROXY"] = name
            environment["COLONNADE_TEST_HTTP_PROXIED"] = server.url_at(proxies.proxy(name, server.port).port)
    return environment


def run(command: list[str], environment: dict[str, str]) -> int:
    """Run to the end; signals go on to the command. Of what AWS tools are told otherwise it hears nothing."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    child = subprocess.Popen(ending_with_parent(command), env={**own, **environment})
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: child.send_signal(received))
    code = child.wait()
    return 128 - code if code < 0 else code


def interrupted(number: int, _: Any) -> None:
    raise SystemExit(128 + number)


def main(arguments: list[str]) -> int:
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, command = arguments[:split], arguments[split + 1 :]
    unknown = [name for name in names if name not in SERVERS]
    if not command or unknown:
        print(__doc__, file=sys.stderr)
        if unknown:
            print(f"unknown servers: {', '.join(unknown)}", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    with tempfile.TemporaryDirectory(prefix="colonnade-servers-") as folder, ExitStack() as stack:
        try:
            environment = start_all(names, Path(folder), stack)
        except RuntimeError as error:  # a ServerError, or what Ceph says
            print(f"run_with.py: {error}", file=sys.stderr)
            return NOT_STARTED
        return run(command, environment)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
