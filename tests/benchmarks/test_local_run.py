"""A whole run of the benchmark of local storage, as small as can be: that it works and checks, not how fast."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ROWS = {"read": 6, "floor": 2, "write": 4, "memory": 3}


def run(tmp_path, *options):
    build = os.environ.get("COLONNADE_BUILD_DIR", REPOSITORY / "build" / "default")
    command = [sys.executable, REPOSITORY / "benchmarks" / "local.py", "--build", build, "--output", tmp_path]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def test_a_small_run_measures_everything_that_needs_no_fio(tmp_path):
    done = run(tmp_path, "--events", "2000", "--repeats", "1", "--only", *ROWS)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "local.json").read_text())
    assert results["problems"] == []
    groups = [row["group"] for row in results["rows"]]
    assert {group: groups.count(group) for group in groups} == ROWS
    for row in results["rows"]:
        assert len(row["values"]) == 1
        assert row["median"] > 0
        assert math.isfinite(row["median"])
    # The report is there, and the large files are not any more.
    assert {path.name for path in tmp_path.iterdir()} == {"local.md", "local.json", "local-rows.png"}


def test_programs_that_are_not_built_fail_the_run(tmp_path):
    done = run(tmp_path, "--build", tmp_path, "--only", "open", "--events", "2")
    assert done.returncode == 1
    assert "open_wide_root is missing" in done.stderr


def test_wrong_options_are_refused(tmp_path):
    done = run(tmp_path, "--events", "3")
    assert done.returncode == 2
    assert "--events must be positive and even" in done.stderr
