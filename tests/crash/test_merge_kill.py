"""Merges that are killed at random moments, and go on with --resume and --append: nothing is lost, twice or other."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import colonnade

# Ends itself while the threads of the copy are at work.
MERGE = """
import json, os, signal, sys
import colonnade
output, inputs, options, calls = json.loads(sys.argv[1])

def look(state):
    global calls
    calls -= 1
    if calls < 0:
        os.kill(os.getpid(), signal.SIGKILL)

colonnade.merge(output, inputs, progress=look, progress_every=0, **options)
"""

WAYS: dict[str, dict[str, Any]] = {
    "pages": {},
    "unchecked": {"check_pages": False},
    "recompressed": {"compression": "lz4:1"},
    "larger clusters": {"cluster_size": "300 kB"},
    "union": {"mode": "union"},
    "bare": {"container": "bare"},
}


def write_inputs(folder: Path, dice: random.Random, mode: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Files of some clusters, some without entries, some encoded otherwise, and for unions some without a field."""
    inputs, columns = [], []
    for number in range(dice.randint(3, 6)):
        entries = dice.choice([0, 1, 3000, 20_000, 30_000])
        rng = np.random.default_rng(dice.getrandbits(32))
        values = {"n": rng.integers(-(1 << 62), 1 << 62, entries), "x": rng.normal(size=entries)}
        types = {"n": "std::int64_t", "x": "double"}
        if mode == "union" and dice.random() < 0.5:
            del values["x"], types["x"]
        path = folder / f"in{number}.root"
        # Uncompressed columns are encoded otherwise, which cannot be appended to others.
        codecs = ["none", "zstd:1"] if mode == "union" else ["lz4:1", "zstd:1"]
        with colonnade.create(path, "Events", types, compression=dice.choice(codecs)) as writer:
            for first in range(0, entries, 5000):
                writer.extend({name: each[first : first + 5000] for name, each in values.items()})
                writer.commit_cluster()
        inputs.append(str(path))
        columns.append(values | {"x": values.get("x", np.zeros(entries))})
    return inputs, columns


def merge(output: str, inputs: list[str], options: dict[str, Any], calls: int) -> bool:
    """Merge in another process, which dies after so many looks; whether it came to the end."""
    told = json.dumps([output, inputs, options, calls])
    done = subprocess.run([sys.executable, "-c", MERGE, told], capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_killed_merges_go_on(tmp_path: Path, way: str, seed: int) -> None:
    dice = random.Random(f"{way} {seed}")
    options = WAYS[way] | {"checkpoint_every": dice.choice([1, 1, 3])}
    inputs, columns = write_inputs(tmp_path, dice, options.get("mode", "strict"))
    output = str(tmp_path / "out.root")
    appended = dice.randint(0, len(inputs) - 1) if way not in ("larger clusters", "union") else 0
    whole = len(inputs) - appended
    kills = 0
    while not merge(output, inputs[:whole], options | {"resume": True}, dice.randint(0, 12)):
        kills += 1
        if kills > 25:
            assert merge(output, inputs[:whole], options | {"resume": True}, 1 << 30)
            break
    while appended and not merge(output, inputs, options | {"append": True}, dice.randint(0, 12)):
        kills += 1
        if kills > 50:
            assert merge(output, inputs, options | {"append": True}, 1 << 30)
            break
    data_set = colonnade.open(output)
    assert data_set.verify() > 0
    found = data_set.arrays(library="np")
    for name in ("n", "x"):
        if name in found:
            np.testing.assert_array_equal(found[name], np.concatenate([each[name] for each in columns]))
    sources = data_set.attributes["merged_inputs"]
    assert sources.num_rows == len(inputs)
    assert sources.ranges[:, 1].tolist() == np.cumsum([len(each["n"]) for each in columns]).tolist()
