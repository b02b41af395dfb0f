"""What tests across modules share: the C++ programs of the build, and ROOT in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

INTEROP = Path(__file__).resolve().parent / "interop"
for folder in (INTEROP / "root_tools", INTEROP):
    sys.path.insert(0, str(folder))


@pytest.fixture(scope="session")
def root() -> Iterator["RootWorker"]:  # noqa: F821
    """ROOT, started once for all tests: root.dump(path), root.call("function of root_tasks", ...)."""
    from root_worker import RootWorker

    with RootWorker() as worker:
        yield worker
