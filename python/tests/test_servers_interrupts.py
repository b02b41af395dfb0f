"""Ctrl-C while a real server stands still: it comes at once, leaves nothing behind, and all can be done again."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial

import pytest
from locations import FIXTURES
from remote_events import events, write

import colonnade
from colonnade import _core

TREE = FIXTURES / "trees" / "many_branches.root"
READS = {
    "open": lambda uri: lambda: colonnade.open(uri, "Events"),
    "arrays": lambda uri: colonnade.open(uri, "Events").arrays,
    "iterate": lambda uri: lambda: list(colonnade.open(uri, "Events").iterate(step_size=1000)),
    "chain": lambda uri: lambda: colonnade.open([uri, uri], "Events"),
    "data frame": lambda uri: colonnade.DataFrame("Events", uri).sum("weight").__float__,
    "warm": lambda uri: lambda: colonnade.cache.warm(uri, "Events"),
    "tree": lambda uri: lambda: colonnade.open(uri.replace("still", "tree"), "Events").arrays("i32"),
    "verify": lambda uri: colonnade.open(uri, "Events").verify,
}
WRITES = {
    "copy": lambda uri, to: lambda: colonnade.copy((uri, "Events"), to),
    "merge": lambda uri, to: lambda: colonnade.merge(to, [uri, uri.replace("still", "other")]),
    "import": lambda uri, to: lambda: colonnade.import_tree(uri.replace("still", "tree"), to),
    "snapshot": lambda uri, to: partial(colonnade.DataFrame("Events", uri).snapshot, to),
}

pytestmark = pytest.mark.usefixtures("interruptible")


def interrupted(server, read, left=None):
    """Read from a server that answers once Ctrl-C has come; the folder `left` must be empty by then."""
    server.running().pause()
    begin = time.monotonic()

    def read_until_then():
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        read()

    try:
        with pytest.raises(KeyboardInterrupt):
            read_until_then()
        assert time.monotonic() - begin < 50  # the default timeout is 60
        assert left is None or not list(left.iterdir())
    finally:
        server.running().resume()
    read()


@pytest.mark.parametrize("how", READS)
def test_http(http, monkeypatch, tmp_path, how):
    monkeypatch.setenv("COLONNADE_CACHE", str(tmp_path / "home"))
    write(http.data / "still.root", events(), cluster_size="500 kB")
    (http.data / "tree.root").write_bytes(TREE.read_bytes())
    interrupted(http, READS[how](f"{http.url}/files/still.root"))


@pytest.mark.parametrize("how", WRITES)
def test_local_results_of_http(http, tmp_path, how):
    for name in ("still.root", "other.root"):
        write(http.data / name, events(), cluster_size="500 kB")
    (http.data / "tree.root").write_bytes(TREE.read_bytes())
    do = WRITES[how](f"{http.url}/files/still.root", tmp_path / "result.root")
    interrupted(http, do, left=tmp_path)


@pytest.mark.parametrize("name", ["still.root", "store"])
@pytest.mark.parametrize("how", ["open", "arrays", "data frame"])
def test_s3(own_s3, s3_uri, name, how):
    write(s3_uri(name), events(), cluster_size="500 kB")
    interrupted(own_s3, READS[how](s3_uri(name)))


@pytest.mark.parametrize("how", ["open", "chain"])
def test_opening_over_xrootd(own_xrootd, how):
    uri = f"{own_xrootd.uri}still.root"
    write(uri, events(1000))
    interrupted(own_xrootd, READS[how](uri))


def test_exceptions_of_other_handlers_stay_what_they_are(http):
    """Also where what was waited for has come once the handler ends."""

    def go_on(*_):
        http.running().resume()
        time.sleep(1)
        raise TimeoutError

    (http.data / "bytes").write_bytes(bytes(1_000_000))
    file = _core.open_bytes(f"{http.url}/files/bytes")

    def read_until_then():
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        file.read(300_000, 400_000)

    before = signal.signal(signal.SIGALRM, go_on)
    try:
        http.running().pause()
        with pytest.raises(TimeoutError):
            read_until_then()
    finally:
        signal.signal(signal.SIGALRM, before)
        http.running().resume()
