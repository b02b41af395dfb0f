"""A whole run of the benchmark of data frames, as small as can be: that it works and checks, not how fast."""

import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ROWS = {"lhcb": 3, "threads": 1, "nodes": 1, "lambdas": 2}


def test_a_small_run_measures_and_compares(tmp_path):
    build = os.environ.get("COLONNADE_BUILD_DIR", REPOSITORY / "build" / "default")
    command = [sys.executable, REPOSITORY / "benchmarks" / "frame.py", "--build", build, "--output", tmp_path]
    options = ["--events", "2000", "--repeats", "1", "--only", *ROWS]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "frame.json").read_text())
    assert results["problems"] == []
    groups = [row["group"] for row in results["rows"]]
    assert {group: groups.count(group) for group in groups} == ROWS
    assert all(row["median"] > 0 for row in results["rows"])
    assert {path.name for path in tmp_path.iterdir()} == {"frame.md", "frame.json", "frame-rows.png"}
