#!/usr/bin/env python3
"""Runs every examples/*.py, each in an empty folder of its own; a failure prints its output."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    scripts = sorted((ROOT / "examples").glob("*.py"))
    failed = 0
    for script in scripts:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-W", "error", str(script)]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        print(f"{script.name}: {'passed' if done.returncode == 0 else 'FAILED'}")
        if done.returncode != 0:
            failed += 1
            print(done.stdout + done.stderr)
    print(f"Python examples: {len(scripts) - failed} passed, {failed} failed")
    return 1 if failed or not scripts else 0


if __name__ == "__main__":
    sys.exit(main())
