#!/usr/bin/env python3
"""Writes a random schema with random data through ROOT, for the direction ROOT -> Colonnade of the random tests.

    root_write_random.py SEED FILE [EXPECTED.json]

The same seed gives the same schema, data, clusters and write options. From Python: write_random(seed, path) -> dump.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import root_dump
import root_write
from root_write import Field
from values import generate, random_type

DATASET = "Random"


def _settings(rng: random.Random) -> dict[str, Any]:
    settings: dict[str, Any] = {"Compression": rng.choice([0, 101, 207, 404, 505, 509])}
    if rng.random() < 0.5:
        page = rng.choice([16, 32, 64, 128, 256])
        settings |= {"InitialUnzippedPageSize": page, "MaxUnzippedPageSize": page * rng.choice([1, 2, 8])}
    if rng.random() < 0.2:
        settings["EnablePageChecksums"] = False
    elif rng.random() < 0.2:
        settings["EnableSamePageMerging"] = False
    return settings


def random_fields(rng: random.Random, count: int, classes: bool) -> list[Field]:
    fields = []
    for number in range(rng.randint(1, 8)):
        type_name = random_type(rng, rng.randint(0, 4), classes)
        fields.append(Field(f"f{number}", type_name, [generate(type_name, rng) for _ in range(count)]))
    return fields


def write_random(seed: int, path: str | Path, classes: bool = True) -> dict[str, Any]:
    """Write the file of a seed and return what ROOT reads from it: {dataset: {...}} as in tests/fixtures/expected."""
    rng = random.Random(seed)
    count = rng.choice([0, 1, 2, 5, 20, 100])
    fields = random_fields(rng, count, classes)
    cuts = sorted(rng.sample(range(1, count + 1), min(count, rng.randint(0, 5))))
    groups = [cut for cut in cuts if rng.random() < 0.3]
    root_write.write(path, DATASET, fields, clusters=cuts, groups=groups, **_settings(rng))
    return {DATASET: root_dump.dump(path, DATASET)}


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    text = root_dump.to_text(write_random(int(sys.argv[1]), sys.argv[2]))
    if len(sys.argv) == 4:
        Path(sys.argv[3]).write_text(text)
    else:
        print(text, end="")
