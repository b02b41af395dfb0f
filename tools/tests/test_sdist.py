"""The source distribution holds what builds the package, and nothing of the folder that it was made in."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_what_the_source_distribution_holds(tmp_path):
    program = f"from scikit_build_core.build import build_sdist; build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.glob("colonnade-*.tar.gz")
    assert made.stat().st_size < 5_000_000
    with tarfile.open(made) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in (
        "CMakeLists.txt",
        "README.md",
        "LICENSE",
        "pyproject.toml",
        "include/colonnade/colonnade.h",
        "src/base/error.cpp",
        "cmake/Layer.cmake",
        "python/bindings/module.cpp",
        "python/colonnade/__init__.py",
    ):
        assert wanted in names
    tops = {name.partition("/")[0] for name in names}
    assert not tops & {".venv", ".git", "build", "tests", "docs", "benchmarks", "fuzz"}
