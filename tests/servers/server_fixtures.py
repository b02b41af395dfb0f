"""Servers as pytest fixtures: those of the session are started when the first test asks for them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ceph_server import POOL, CephCluster
from http_server import HttpServer
from s3_server import BUCKET, S3Server
from toxiproxy import Proxy, Toxiproxy
from xrootd_server import XrootdServer


@contextmanager
def environment_of(exported: dict[str, str]) -> Iterator[None]:
    """Inside of the block the process has these variables; if they are for AWS tools, no other ones for those."""
    before = dict(os.environ)
    try:
        if any(name.startswith("AWS_") for name in exported):
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                del os.environ[name]
        os.environ.update(exported)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def s3_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("servers") / "s3") as server:
        yield server


@pytest.fixture(scope="session")
def http_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("servers") / "http") as server:
        yield server


@pytest.fixture(scope="session")
def https_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(tmp_path_factory.mktemp("servers") / "https", tls=True) as server:
        yield server


@pytest.fixture
def http(http_of_session: HttpServer) -> Iterator[HttpServer]:
    """The web server of the session; its log begins with the test."""
    with environment_of(http_of_session.environment()):
        http_of_session.forget_requests()
        yield http_of_session


@pytest.fixture
def https(https_of_session: HttpServer) -> Iterator[HttpServer]:
    """The same with TLS."""
    with environment_of(https_of_session.environment()):
        https_of_session.forget_requests()
        yield https_of_session


@pytest.fixture
def http_proxy(http: HttpServer, toxiproxy: Toxiproxy, s3_prefix: str) -> Iterator[Proxy]:
    """A proxy in front of `http`, at `http.url_at(http_proxy.port)`."""
    proxy = toxiproxy.proxy(f"http-{s3_prefix}", http.port)
    yield proxy
    proxy.remove()


@pytest.fixture(scope="session")
def toxiproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toxiproxy]:
    with Toxiproxy(tmp_path_factory.mktemp("servers") / "toxiproxy") as server:
        yield server


@pytest.fixture
def s3(s3_of_session: S3Server) -> Iterator[S3Server]:
    """The S3 server of the session; the environment points to it while the test runs."""
    with environment_of(s3_of_session.environment()):
        yield s3_of_session


@pytest.fixture
def own_s3(tmp_path: Path) -> Iterator[S3Server]:
    """An S3 server of this test alone, which may be killed, paused and started again."""
    with S3Server(tmp_path / "own-s3") as server, environment_of(server.environment()):
        yield server


@pytest.fixture
def s3_prefix(request: pytest.FixtureRequest) -> str:
    """What the keys of a test begin with."""
    return re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")


@pytest.fixture
def s3_uri(s3_prefix: str) -> Callable[[str], str]:
    """Makes a URI in the bucket of the tests, of its own for each test."""

    def uri(name: str = "") -> str:
        return f"s3://{BUCKET}/{s3_prefix}/{name}".rstrip("/")

    return uri


@pytest.fixture
def s3_proxy(s3: S3Server, toxiproxy: Toxiproxy, s3_prefix: str) -> Iterator[Proxy]:
    """A proxy in front of the S3 server of the session; the environment points to the proxy."""
    proxy = toxiproxy.proxy(f"s3-{s3_prefix}", s3.port)
    with environment_of({**s3.environment(), "AWS_ENDPOINT_URL": s3.endpoint_at(proxy.port)}):
        yield proxy
    proxy.remove()


@pytest.fixture(scope="session")
def ceph_of_session() -> Iterator[CephCluster]:
    with CephCluster() as cluster:
        yield cluster


@pytest.fixture
def ceph(ceph_of_session: CephCluster) -> Iterator[CephCluster]:
    """The Ceph of the session; the environment points to it while the test runs."""
    with environment_of(ceph_of_session.environment()):
        yield ceph_of_session


@pytest.fixture
def rados_uri(s3_prefix: str) -> str:
    """A namespace of the test in the pool of `ceph`."""
    return f"rados://{POOL}/{s3_prefix}"


@pytest.fixture(scope="session")
def xrootd_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[XrootdServer]:
    with XrootdServer(tmp_path_factory.mktemp("servers") / "xrootd") as server:
        yield server


@pytest.fixture
def xrootd(xrootd_of_session: XrootdServer) -> XrootdServer:
    """The XRootD server of the session."""
    return xrootd_of_session


@pytest.fixture
def own_xrootd(tmp_path: Path) -> Iterator[XrootdServer]:
    """An XRootD server of this test alone, which may be killed, paused and started again."""
    with XrootdServer(tmp_path / "own-xrootd") as server:
        yield server


@pytest.fixture
def xrootd_uri(xrootd: XrootdServer, s3_prefix: str) -> Callable[[str], str]:
    """Makes a URI on the server of the session, in a folder of its own for each test."""
    return lambda name="": f"{xrootd.uri}{s3_prefix}/{name}"
