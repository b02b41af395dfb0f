"""Partial results that somebody changed on their way, for each kind of result: merging them ends in a value that
entries can give, or in an error of the library, in bounded memory. Results of another kind are refused.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import awkward as ak
import numpy as np

import colonnade


def test_changed_results_are_errors_or_values(tmp_path):
    path = tmp_path / "data.root"
    rng = np.random.default_rng(1)
    entries = 60
    with colonnade.create(path, "E") as writer:
        writer.extend(
            {
                "x": rng.normal(0, 1, entries),
                "w": rng.uniform(0.5, 1.5, entries),
                "n": np.arange(entries, dtype=np.int32) % 7,
                "s": [f"t{k % 3}" for k in range(entries)],
                "v": ak.unflatten(np.arange(2 * entries, dtype=np.float32), np.full(entries, 2)),
            }
        )
    script = Path(__file__).with_name("use_saved_results.py")
    done = subprocess.run(
        [sys.executable, script, path],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        env={**os.environ, "MALLOC_ARENA_MAX": "4", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""
    counts = json.loads(done.stderr.splitlines()[-1])
    # Many a number may be another one without anybody noticing; but most of what was changed is noticed.
    assert counts["tried"] > 5000
    assert 0 < counts["merged"] < counts["tried"] / 2
