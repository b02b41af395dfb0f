"""What tests across modules share: the C++ programs of the build, ROOT in a process of its own, real servers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "interop" / "root_tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "interop"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "servers"))

from server_fixtures import (
    ceph,
    ceph_of_session,
    own_s3,
    rados_uri,
    s3,
    s3_of_session,
    s3_prefix,
    s3_proxy,
    s3_uri,
    toxiproxy,
)

__all__ = [
    "ceph",
    "ceph_of_session",
    "own_s3",
    "rados_uri",
    "root",
    "s3",
    "s3_of_session",
    "s3_prefix",
    "s3_proxy",
    "s3_uri",
    "toxiproxy",
]


@pytest.fixture(scope="session")
def root() -> Iterator[Any]:
    """ROOT, started once for all tests: a RootWorker."""
    from root_worker import RootWorker

    with RootWorker() as worker:
        yield worker
