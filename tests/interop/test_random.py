"""Random schemas and data: what we write, we and ROOT read back; what ROOT writes, we read, and ROOT reads it again
after copies, merges and snapshots. The seeds are fixed.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from comparing import all_differences, value_differences
from programs import Script, dump
from root_write import Field, agrees
from values import CLASSES, ENUMS, generate, in_order, random_type

import colonnade
from colonnade import DataFrame

OURS = range(60)
ROOTS = range(100, 140)
PASSED_ON = range(200, 212)
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


class PassedOn:
    """What ROOT wrote, on its way through files and stores."""

    def __init__(self, root: Any, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.steps = folder, random.Random(seed), []
        self.path = str(folder / "in.root")
        self.written = root.call("write_random", seed, self.path)[DATA_SET]
        self.entries = list(range(self.written["entries"]))
        self.names = [field["name"] for field in self.written["fields"]]

    def step(self) -> None:
        step = self.rng.choice([self.copy, self.merge, self.snapshot, self.snapshot])
        self.steps.append(step.__name__)
        step(f"{self.folder}/{len(self.steps)}", self.options())

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"compression": self.rng.choice(["none", "lz4", "zstd:1"])}
        if self.rng.random() < 0.4:
            options |= {
                "page_size": self.rng.choice([64, 1000]),
                "cluster_size": self.rng.choice([100, 1000]),
            }
        return options if self.rng.random() < 0.7 else {}

    def copy(self, to: str, options: dict[str, Any]) -> None:
        store = f"obj://{to}" if self.rng.random() < 0.5 else f"{to}.bare"
        container = "root" if store.startswith("obj:") else "bare"
        colonnade.copy(self.path, store, verify="values", container=container, **options)
        self.path = f"{to}.root"
        colonnade.copy(store, self.path, verify=True)

    def merge(self, to: str, options: dict[str, Any]) -> None:
        colonnade.copy(self.path, f"{to}.other.root", **options)
        inputs = [self.path, f"{to}.other.root"]
        colonnade.merge(f"{to}.root", inputs, data_sets=[DATA_SET], verify="values", **options)
        self.path, self.entries = f"{to}.root", self.entries * 2

    def snapshot(self, to: str, options: dict[str, Any]) -> None:
        frame = DataFrame(DATA_SET, self.path, threads=self.rng.randint(1, 3))
        columns = [name for name in self.names if frame.has_column(name)]
        if not columns:
            return
        if self.rng.random() < 0.5:
            frame = frame.filter("rdfentry_ % 3 != 1")
            self.entries = [entry for k, entry in enumerate(self.entries) if k % 3 != 1]
        self.path, self.names = f"{to}.root", columns
        frame.snapshot(self.path, DATA_SET, columns, **options)


def types_of(fields: list[dict[str, Any]]) -> list[Any]:
    """ROOT 6.40 itself names some "optional", without its namespace."""
    return [
        [
            field["name"],
            re.sub(r"(?<![:\w])optional<", "std::optional<", field["type"]),
            types_of(field.get("fields", [])),
        ]
        for field in fields
    ]


@pytest.mark.filterwarnings("ignore::colonnade.LeftOutWarning")
@pytest.mark.parametrize("seed", PASSED_ON)
def test_root_to_ours_and_back(root, tmp_path, seed):
    life = PassedOn(root, tmp_path, seed)
    for _ in range(life.rng.randint(1, 4)):
        life.step()
    read, written = root.dump(life.path)[DATA_SET], life.written
    assert root.printed == ""
    wanted = [field for field in written["fields"] if field["name"] in life.names]
    found = sorted(types_of(read["fields"]))
    assert found == sorted(types_of(wanted)), life.steps
    unordered = {field["name"] for field in wanted if "unordered_" in field["type"]}
    known = [name for name in life.names if name in written["values"]]
    values = {name: [written["values"][name][entry] for entry in life.entries] for name in known}
    assert list(value_differences(values, read["values"], unordered)) == [], life.steps
