"""Runs crash_writer, stops it, and examines the file that it leaves; see crash_writer.cpp."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import colonnade

REPOSITORY = Path(__file__).resolve().parents[2]
ENTRIES = 500
"""Of each cluster."""


def program() -> Path:
    build = Path(os.environ.get("COLONNADE_BUILD_DIR", REPOSITORY / "build" / "default"))
    path = build / "tests" / "crash" / "crash_writer"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `make build`, or set COLONNADE_BUILD_DIR")
    return path


@dataclass
class Said:
    """What a writer said before its end."""

    opened: bool = False
    closed: bool = False
    error: str = ""
    clusters: list[int] = field(default_factory=list)
    """The first id of each written cluster, in the order in which the lines came."""

    def take(self, output: str) -> Said:
        for line in output.splitlines():
            word, _, rest = line.partition(" ")
            if word == "cluster":
                first, count, _ = rest.split()
                assert int(count) == ENTRIES
                self.clusters.append(int(first))
            elif word == "error":
                self.error = rest
            else:
                self.opened |= word == "open"
                self.closed |= word == "closed"
        return self


def arguments(file: Path, **options: Any) -> list[str]:
    words = [
        word
        for key, value in options.items()
        for word in (f"--{key}", str(int(value) if isinstance(value, bool) else value))
    ]
    return [str(program()), str(file), "--entries", str(ENTRIES), *words]


def start(file: Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments(file, **options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(file: Path, **options: Any) -> Said:
    """Run to the end."""
    with start(file, **options) as writer:
        output, _ = writer.communicate()
    return Said().take(output)


def run_and_kill(file: Path, generator: random.Random, **options: Any) -> Said:
    """Run, and kill -9 at a random moment between the start and the end."""
    clusters = options["clusters"] * options.get("threads", 1)
    moment = {"die-at": generator.randint(0, clusters), "die": int(10 ** generator.uniform(0, 3.5))}
    return run(file, **options, **moment)


@contextmanager
def stopped_writer(file: Path, **options: Any) -> Iterator[tuple[subprocess.Popen[str], Said]]:
    """A writer that has written its clusters and waits, with the file open; killed at the end of the block."""
    with start(file, stop=True, **options) as writer:
        assert writer.stdout is not None
        said = Said()
        wanted = options["clusters"] * max(options.get("threads", 1), 1)
        while len(said.clusters) < wanted:
            line = writer.stdout.readline()
            assert line, "the writer ended"
            said.take(line)
        try:
            yield writer, said
        finally:
            writer.kill()


def ids_of(file: Path, name: str = "Events") -> np.ndarray:
    """Read everything, compare every value with what it must be, and return the ids in the order of the entries."""
    with colonnade.open(file, name) as data_set:
        arrays = data_set.arrays(["id", "value", "items"])
    ids = ak.to_numpy(arrays["id"])
    assert np.array_equal(ak.to_numpy(arrays["value"]), (ids * 7919 % 1000003).astype(float)), "wrong values"
    counts = ak.to_numpy(ak.num(arrays["items"]))
    assert np.array_equal(counts, ids % 5), "wrong sizes"
    starts = np.cumsum(counts) - counts
    flat = np.repeat(ids % 1000000, counts) + np.arange(counts.sum()) - np.repeat(starts, counts)
    assert np.array_equal(ak.to_numpy(ak.flatten(arrays["items"])), flat), "wrong items"
    return ids


def clusters_of(ids: np.ndarray) -> list[int]:
    """The first ids of the clusters that the ids make up; all must be whole and there once."""
    assert len(ids) % ENTRIES == 0
    blocks = ids.reshape(-1, ENTRIES)
    assert np.array_equal(blocks, blocks[:, :1] + np.arange(ENTRIES)), (
        "the entries of a cluster do not follow each other"
    )
    firsts = blocks[:, 0].tolist()
    assert len(set(firsts)) == len(firsts), "a cluster is there twice"
    return firsts


def assert_in_order(firsts: list[int]) -> None:
    """Each thread's clusters come in the order in which it wrote them."""
    for thread in {first >> 32 for first in firsts}:
        own = [first for first in firsts if first >> 32 == thread]
        assert own == sorted(own)
