"""The module without the data frame, which `make demo` compiles first, is all that the demo needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_needs_no_data_frame(tmp_path: Path) -> None:
    (module,) = (ROOT / "build" / "python" / "python" / "arrays").glob("_core.*.so")
    package = tmp_path / "colonnade"
    shutil.copytree(ROOT / "python" / "colonnade", package, ignore=shutil.ignore_patterns("_core*"))
    shutil.copy(module, package)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        return subprocess.run(
            [sys.executable, *arguments],
            check=False,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    demo = run("-m", "colonnade", "demo", "--events", "1000", "--output", "demo")
    assert demo.returncode == 0, demo.stderr
    assert (tmp_path / "demo" / "b_mass.png").stat().st_size > 0
    frame = run("-c", "import colonnade; colonnade.DataFrame")
    assert "this build has no data frame" in frame.stderr
    assert "make python-package" in frame.stderr
