"""Files that the tests of the C interface read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


@pytest.fixture(scope="session")
def fixture_files() -> list[Path]:
    """All data sets of the repository that other programs wrote."""
    files = sorted(FIXTURES.rglob("*.root"))
    assert files
    return files
