"""Random schemas and data: what we write, we and ROOT read back; what ROOT writes, we read. The seeds are fixed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from comparing import all_differences
from programs import Script, dump
from root_write import Field, agrees
from values import CLASSES, ENUMS, generate, in_order, random_type

OURS = range(60)
ROOTS = range(100, 140)
DATA_SET = "Random"


def random_fields(rng: random.Random, count: int) -> list[Field]:
    fields = []
    for number in range(rng.randint(1, 8)):
        # Classes and enums are compiled in, see typed_values.cpp: alone, not inside of random types.
        single = rng.random() < 0.15
        type_name = rng.choice([*CLASSES, *ENUMS]) if single else random_type(rng, rng.randint(0, 4), False)
        values = [in_order(type_name, generate(type_name, rng)) for _ in range(count)]
        fields.append(Field(f"f{number}", type_name, values))
    return fields


def random_options(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {
        "compression": rng.choice(["none", "zlib:1", "lzma:3", "lz4:4", "lz4:9", "zstd:1", "zstd:5", 505]),
        "page_checksums": int(rng.random() < 0.8),
        "same_page_merging": int(rng.random() < 0.8),
        "clusters_per_group": rng.choice([1, 2, 1024]),
    }
    if rng.random() < 0.5:
        options["max_page_size"] = rng.choice([64, 100, 256, 4096])
        options["initial_page_size"] = rng.choice([8, 16, 64])
    if rng.random() < 0.3:
        options["approximate_cluster_size"] = rng.choice([100, 1000])
        options["max_uncompressed_cluster_size"] = rng.choice([1000, 5000])
    if rng.random() < 0.2:
        options["max_key_size"] = rng.choice([2000, 10000])
    return options


def write_random(seed: int, path) -> list[Field]:
    """Write the file of a seed; a part of the fields may be added late."""
    rng = random.Random(seed)
    count = rng.choice([0, 1, 2, 5, 20, 100])
    fields = random_fields(rng, count)
    script = Script()
    script.open(path, DATA_SET, fields, **random_options(rng))
    script.fill(fields, clusters=rng.sample(range(1, count + 1), min(count, rng.randint(0, 5))))
    script.step("close")
    script.run()
    return fields


def disagreements(fields: list[Field], read: dict[str, Any]) -> list[str]:
    found = []
    for field in fields:
        values = read["values"][field.name]
        for entry, (value, other) in enumerate(zip(field.values, values, strict=True)):
            if not agrees(value, other, "unordered_" in field.type):
                found.append(f"{field.name} ({field.type}), entry {entry}: wrote {value!r}, read {other!r}")
    return found


@pytest.mark.parametrize("seed", OURS)
def test_ours_to_ours_and_to_root(root, tmp_path, seed):
    path = tmp_path / "f.root"
    fields = write_random(seed, path)
    ours = dump(path)
    assert disagreements(fields, ours[DATA_SET]) == []
    assert dump(path, mode="views") == ours
    assert all_differences(root.dump(path), ours) == []
    assert root.printed == ""


@pytest.mark.parametrize("seed", ROOTS)
def test_root_to_ours(root, tmp_path, seed):
    path = tmp_path / "f.root"
    theirs = root.call("write_random", seed, str(path))
    assert all_differences(theirs, dump(path)) == []
    assert all_differences(theirs, dump(path, mode="views")) == []
