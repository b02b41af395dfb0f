"""The object stores that are measured: started, and what a program needs to know to find them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common import HERE, BenchmarkError

sys.path.insert(0, str(HERE.parent / "tests" / "servers"))

from ceph_server import POOL, CephCluster
from s3_server import BUCKET, S3Server

MIB = 1 << 20


@dataclass
class Store:
    """A store that is there."""

    uri: str
    environment: Mapping[str, str] = field(default_factory=dict)
    server: S3Server | None = None


@dataclass
class Kind:
    """A store that can be measured."""

    title: str
    start: Callable[
        [Path, Path], object
    ]  # gets the build folder and one to work in; a context with the Store
    bytes: int  # that each side moves per round
    slow_requests: bool  # a request costs 200 us or more: one at a time must be far slower


@contextmanager
def environment(extra: Mapping[str, str]) -> Iterator[None]:
    """Inside of the block programs that are started have these variables."""
    before = dict(os.environ)
    os.environ.update(extra)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def daos(latency_us: int, bandwidth: int = 10_000_000_000) -> Callable[[Path, Path], object]:
    """The stand-in for DAOS, with that much latency and bytes per second."""

    @contextmanager
    def start(build: Path, work: Path) -> Iterator[Store]:
        library = build / "tests" / "daos" / "libdaos.so.2"
        if not library.exists():
            raise BenchmarkError(f"{library} is missing (not built); `make bench-objects` builds it")
        yield Store(
            "daos://tank/sweep",
            {
                "COLONNADE_LIBDAOS": str(library),
                "COLONNADE_STANDIN": f"latency_us={latency_us},bandwidth={bandwidth},prefault_mb=768",
            },
        )

    return start


@contextmanager
def ceph(build: Path, work: Path) -> Iterator[Store]:
    """One monitor and one OSD, BlueStore on a sparse file."""
    with CephCluster(store="bluestore", size=8 << 30) as cluster:
        yield Store(f"rados://{POOL}/sweep", cluster.environment())


@contextmanager
def s3(build: Path, work: Path) -> Iterator[Store]:
    with S3Server(work / "s3") as server:
        yield Store(f"s3://{BUCKET}/sweep", server.environment(), server)


@contextmanager
def local(build: Path, work: Path) -> Iterator[Store]:
    yield Store(f"obj://{work / 'objects'}")


KINDS = {
    "daos-20us": Kind("DAOS stand-in, 20 us a request", daos(20), 256 * MIB, False),
    "daos-200us": Kind("DAOS stand-in, 200 us a request", daos(200), 256 * MIB, True),
    # What one client of a real system on loopback reads: 0.5 GB/s in values of 64 KiB one at a time, 1.5 GB/s
    # in values of 1 MiB.
    "daos-loopback": Kind(
        "DAOS stand-in, 90 us a request, 1.5 GB/s", daos(90, 1_500_000_000), 256 * MIB, False
    ),
    "ceph": Kind("Ceph, one node", ceph, 128 * MIB, True),
    "s3": Kind("S3 (versitygw)", s3, 128 * MIB, True),
    "obj": Kind("obj://, this disk", local, 256 * MIB, False),
}
