"""What the tests of the package share: real servers (tests/servers), for the tests that ask for them."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "servers"))

import pytest
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
    "s3",
    "s3_of_session",
    "s3_prefix",
    "s3_proxy",
    "s3_uri",
    "toxiproxy",
]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes in the background of a shell are started with SIGINT ignored, and stay so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
