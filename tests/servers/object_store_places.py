"""Object stores on real servers for tests: how to find what lies in them, and how to harm them."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from ceph_server import CephCluster
from processes import GONE_SECONDS, back_after
from s3_server import BUCKET, S3Server

TIMEOUT = 2
"""Seconds that operations are tried for through `impatient`."""


class TestedStore(Protocol):
    """An object store of one test."""

    @property
    def uri(self) -> str:
        """With the default timeout."""

    @property
    def impatient(self) -> str:
        """The same store with a timeout of TIMEOUT."""

    def values(self) -> set[str]:
        """Names of all values that are stored."""

    def pages(self) -> list[str]:
        """Those that hold pages."""

    def corrupt(self, value: str) -> None:
        """Change a byte in the middle of a value directly on the server."""

    def remove(self, value: str) -> None:
        """Remove a value directly on the server."""

    def lost(self) -> AbstractContextManager[None]:
        """Inside of the block the server does not answer."""

    def lost_until_missed(self) -> AbstractContextManager[None]:
        """The server does not answer, and comes back while the block is at work: when it was asked for something."""

    def full(self) -> AbstractContextManager[None]:
        """Inside of the block the server has no space left."""


class S3Store:
    """A prefix on a server of the test's own.

    The timeout comes from the environment, which is put in order for what is opened next: only a test that loses its
    server is impatient, since a busy machine takes a server away for seconds, too.
    """

    def __init__(self, server: S3Server, prefix: str) -> None:
        self.server = server
        self.prefix = prefix

    @property
    def uri(self) -> str:
        os.environ.pop("COLONNADE_S3_TIMEOUT", None)
        return f"s3://{BUCKET}/{self.prefix}"

    @property
    def impatient(self) -> str:
        uri = self.uri
        os.environ["COLONNADE_S3_TIMEOUT"] = str(TIMEOUT)  # until `own_s3` restores the environment
        return uri

    def values(self) -> set[str]:
        return set(self.server.requests().keys(BUCKET, f"{self.prefix}/"))

    def pages(self) -> list[str]:
        # prefix/group/number/distribution key/attribute key; number 0 is metadata.
        return sorted(key for key in self.values() if int(key.split("/")[-3], 16) > 0)

    def file(self, value: str) -> Path:
        return self.server.data / BUCKET / value

    def corrupt(self, value: str) -> None:
        with self.file(value).open("r+b") as file:
            middle = self.file(value).stat().st_size // 2
            file.seek(middle)
            byte = file.read(1)[0]
            file.seek(middle)
            file.write(bytes([byte ^ 0xFF]))

    def remove(self, value: str) -> None:
        self.file(value).unlink()

    @contextmanager
    def lost(self) -> Iterator[None]:
        self.server.kill()
        try:
            yield
        finally:
            self.server.start()

    def lost_until_missed(self) -> AbstractContextManager[None]:
        return self.server.gone_until_missed()

    @contextmanager
    def full(self) -> Iterator[None]:
        """The server may not write a byte into any file, which needs no file system of its own and no rights."""
        pid = self.server.running().pid
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, most))
        try:
            yield
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))


class CephStore:
    """A namespace in the cluster of the session."""

    def __init__(self, cluster: CephCluster, uri: str) -> None:
        self.cluster = cluster
        self.uri = uri
        self.impatient = f"{uri}?timeout={TIMEOUT}"
        self.name_space = uri.rsplit("/", 1)[1]

    def values(self) -> set[str]:
        return set(self.cluster.values(self.name_space))

    def pages(self) -> list[str]:
        # group.number.distribution key.attribute key; number 0 is metadata.
        return sorted(value for value in self.values() if int(value.split(".")[1], 16) > 0)

    def size(self, value: str) -> int:
        return int(self.cluster.rados("-N", self.name_space, "stat", value).rsplit(" ", 1)[1])

    def corrupt(self, value: str) -> None:
        self.cluster.corrupt(self.name_space, value, self.size(value) // 2)

    def remove(self, value: str) -> None:
        self.cluster.rados("-N", self.name_space, "rm", value)

    @contextmanager
    def lost(self) -> Iterator[None]:
        osd = self.cluster.daemon("osd")
        osd.pause()
        try:
            yield
        finally:
            osd.resume()

    @contextmanager
    def lost_until_missed(self) -> Iterator[None]:
        osd = self.cluster.daemon("osd")

        def asked() -> bool:
            deadline = time.monotonic() + GONE_SECONDS
            while not osd.has_unread_requests():
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.01)
            return True

        osd.pause()
        with back_after(asked, osd.resume):
            yield

    def full(self) -> AbstractContextManager[None]:
        return self.cluster.full()
