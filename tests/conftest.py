"""What tests across modules share: the C++ programs of the build, and ROOT in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

INTEROP = Path(__file__).resolve().parent / "interop"
for folder in (INTEROP / "root_tools", INTEROP):
    sys.path.insert(0, str(folder))


@pytest.fixture(scope="session")
def root() -> Iterator[Any]:
    """ROOT, started once for all tests: a RootWorker."""
    from root_worker import RootWorker

    with RootWorker() as worker:
        yield worker
