"""Where the tests find files that other programs wrote."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "tests" / "fixtures"
EXPECTED = FIXTURES / "expected"
SHARED_DATA = Path(os.environ.get("COLONNADE_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))


def shared(pattern: str) -> list[Path]:
    """Files of the collection of public samples; empty on machines without it."""
    return sorted(SHARED_DATA.glob(pattern)) if SHARED_DATA.is_dir() else []
