"""What the tests of the package share: real servers (tests/servers), for the tests that ask for them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "servers"))

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
