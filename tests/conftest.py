"""What tests across modules share: the C++ programs of the build, ROOT in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "interop" / "root_tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "interop"))


@pytest.fixture(scope="session")
def root() -> Iterator[Any]:
    """ROOT, started once for all tests: a RootWorker."""
    from root_worker import RootWorker

    with RootWorker() as worker:
        yield worker
