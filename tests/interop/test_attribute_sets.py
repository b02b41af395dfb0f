"""Attribute sets between Colonnade and ROOT, both ways: rows, ranges, and what queries find."""

from __future__ import annotations

import random
from typing import Any

import pytest
import uproot

import colonnade

# ROOT 6.40 makes the fields of a set by their type names, so it cannot read a record without a class.
SCHEMA = {
    "number": "std::int32_t",
    "text": "std::string",
    "values": "std::vector<float>",
    "maybe": "std::optional<double>",
}


def random_ranges(seed: int, entries: int, count: int) -> list[tuple[int, int]]:
    dice = random.Random(seed)
    firsts = [dice.randint(0, entries) for _ in range(count)]
    return [(first, dice.randint(first, entries)) for first in firsts]


def random_values(dice: random.Random) -> dict[str, Any]:
    return {
        "number": dice.randint(-(2**31), 2**31 - 1),
        "text": "ü" * dice.randint(0, 4),
        "values": [dice.randint(0, 9) / 4 for _ in range(dice.randint(0, 3))],
        "maybe": dice.choice([None, 0.5]),
    }


def write(path, seed: int, entries: int = 50, **options: Any) -> dict[str, list[colonnade.Attribute]]:
    """Two attribute sets, one of them without rows."""
    dice = random.Random(seed)
    rows = [colonnade.Attribute(*each, random_values(dice)) for each in random_ranges(seed, entries, 30)]
    with colonnade.create(path, "Events", {"x": "double"}, **options) as writer:
        writer.attributes("rows", SCHEMA)
        writer.attributes("none", {"run": "std::uint32_t"})
        for step in range(entries // 10):
            writer.extend({"x": [float(step)] * 10})
            ready = [row for row in rows if 10 * step < max(row.last, 1) <= 10 * step + 10]
            for row in ready:
                writer.attributes("rows").add(row.values, row.first, row.last)
            writer.commit_cluster()
    return {"rows": sorted(rows, key=lambda row: (max(row.last, 1) - 1) // 10), "none": []}


def queries(entries: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(0, entries, 7) for b in range(a + 1, entries + 1, 9)]


def assert_root_reads(root, path, expected: dict[str, list[colonnade.Attribute]]) -> None:
    with colonnade.open(path, "Events") as data:
        asked = queries(data.num_entries)
        found = root.call("read_attributes", str(path), "Events", asked)
        assert root.printed == ""
        assert set(found) == set(expected) == set(data.attributes)
        for name, rows in expected.items():
            assert list(data.attributes[name]) == rows
            assert [(first, length) for first, length, _ in found[name]["rows"]] == [
                (row.first, row.last - row.first) for row in rows
            ]
            assert [values for _, _, values in found[name]["rows"]] == [row.values for row in rows]
            ours = data.attributes[name]
            assert [ours.of_entry(a).tolist() for a, _ in asked] == found[name]["of_entry"]
            assert [ours.covering(a, b).tolist() for a, b in asked] == found[name]["covering"]
            assert [ours.within(a, b).tolist() for a, b in asked] == found[name]["within"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"checkpoint_every": 1},
        {"compression": "none", "max_key_size": 300},
        {"container": "bare"},
        {"page_size": 64, "clusters_per_group": 1},
    ],
)
def test_root_reads_ours(root, tmp_path, seed, options):
    path = tmp_path / "ours.root"
    assert_root_reads(root, path, write(path, seed, **options))


@pytest.mark.parametrize("seed", range(4))
def test_we_read_those_of_root(root, tmp_path, seed):
    path = tmp_path / "root.root"
    ranges = random_ranges(seed, 40, 25)
    root.call("write_attributes", str(path), 40, ranges)
    order = sorted(range(25), key=lambda k: (ranges[k][1], k))
    expected = [
        colonnade.Attribute(*ranges[k], {"row": k, "text": "r" * (k % 5), "list": [0.5 * k] * (k % 3)})
        for k in order
    ]
    assert_root_reads(root, path, {"rows": expected})


@pytest.mark.parametrize("way", [{}, {"compression": "lz4:1"}, {"page_size": 4096}])
def test_root_reads_copies(root, tmp_path, way):
    root.call("write_attributes", str(tmp_path / "root.root"), 20, random_ranges(3, 20, 10))
    root.call("write_attributes", str(tmp_path / "more.root"), 30, random_ranges(4, 30, 10))
    with colonnade.open(tmp_path / "root.root") as data:
        rows = list(data.attributes["rows"])
    with colonnade.open(tmp_path / "more.root") as data:
        shifted = [row._replace(first=row.first + 20, last=row.last + 20) for row in data.attributes["rows"]]
    colonnade.copy(tmp_path / "root.root", tmp_path / "copy.root", verify="values", **way)
    assert_root_reads(root, tmp_path / "copy.root", {"rows": rows})
    both = [tmp_path / "root.root", tmp_path / "more.root"]
    report = colonnade.copy(both, tmp_path / "both.root", verify="values", **way)
    assert report.notes == ()
    assert_root_reads(root, tmp_path / "both.root", {"rows": rows + shifted})


def test_root_reads_sets_that_became_longer(root, tmp_path):
    paths = [tmp_path / f"root{number}.root" for number in range(3)]
    rows = []
    for number, path in enumerate(paths):
        root.call("write_attributes", str(path), 20, random_ranges(number, 20, 10))
        with colonnade.open(path) as data:
            before = 20 * number
            rows += [
                row._replace(first=row.first + before, last=row.last + before)
                for row in data.attributes["rows"]
            ]
    assert list(colonnade.open(paths).attributes["rows"]) == rows
    out = tmp_path / "out.root"
    for count in range(1, 4):
        colonnade.merge(out, paths[:count], append=True, verify="values")
    with colonnade.open(out) as data:
        inputs = list(data.attributes["merged_inputs"])
    assert_root_reads(root, out, {"rows": rows, "merged_inputs": inputs})


def test_uproot_reads_the_data_set(tmp_path):
    write(tmp_path / "ours.root", 1)
    with uproot.open(tmp_path / "ours.root") as file:
        assert file["Events"].arrays()["x"].to_list() == [float(k // 10) for k in range(50)]


def test_root_adds_to_a_file_with_attributes(root, tmp_path):
    """ROOT keeps what no directory lists."""
    path = tmp_path / "ours.root"
    expected = write(path, 2)
    root.call("add_with_root", str(path), "FromROOT", "histogram")
    assert_root_reads(root, path, expected)
