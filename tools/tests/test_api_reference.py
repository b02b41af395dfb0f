"""The reference of the C++ interface is made without warnings, and has what its first page names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_reference() -> None:
    subprocess.run(["make", "--no-print-directory", "api-docs"], cwd=ROOT, check=True)
    html = ROOT / "build" / "api-docs" / "html"
    names = set(re.findall(r"colonnade::(\w+)", (ROOT / "docs" / "api.md").read_text())) - {"detail"}
    assert {"Reader", "Writer", "DataFrame", "merge"} <= names
    known = (html / "namespacecolonnade.html").read_text()
    for name in names:
        assert f">{name}</a>" in known, f"docs/api.md names colonnade::{name}, which is in no header"
    # Comments came through the filter.
    assert "I/O and timing counters of a reader" in known
    assert "pages read ahead that were used" in (html / "structcolonnade_1_1ReadMetrics.html").read_text()
