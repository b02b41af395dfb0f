"""Files whose schemas, clusters and pages were changed behind right checksums, through the Python package: whatever is
wrong with them ends as `colonnade.Error`, in bounded memory.

COLONNADE_HOSTILE_FILES says how many files each source gives, COLONNADE_HOSTILE_SEED where they begin.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import colonnade

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "tests" / "fixtures"
FILES = int(os.environ.get("COLONNADE_HOSTILE_FILES", "150"))
FEW_THREADS = {"MALLOC_ARENA_MAX": "4", "OPENBLAS_NUM_THREADS": "1"}
"""A machine with many processors leaves as much of the address space as any other."""
SEED = int(os.environ.get("COLONNADE_HOSTILE_SEED", "0"))


def make(source: Path, name: str, folder: Path) -> list[str]:
    build = Path(os.environ.get("COLONNADE_BUILD_DIR", REPOSITORY / "build" / "default"))
    program = build / "tests" / "hostile" / "make_hostile_files"
    subprocess.run([program, source, name, str(SEED), str(FILES), folder], check=True)
    return [str(folder / f"{seed}.root") for seed in range(SEED, SEED + FILES)]


@pytest.mark.parametrize(
    "fixture", ["types_classes", "types_variants", "types_nullables", "late_fields", "attribute_sets"]
)
def test_only_errors_of_colonnade_come_out(fixture, tmp_path):
    source = FIXTURES / f"{fixture}.root"
    name = next(iter(colonnade.datasets(source)))
    files = make(source, name, tmp_path)
    script = Path(__file__).with_name("use_files.py")
    done = subprocess.run(
        [sys.executable, script, name, *files],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        env={**os.environ, **FEW_THREADS},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""
