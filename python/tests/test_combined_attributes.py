"""Attribute sets of several files: what chains, merging and appending make of them, against a plain reference."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from test_attributes import random_rows

import colonnade
from colonnade import Attribute

FIELDS = {"number": "std::int32_t", "text": "std::string", "values": "std::vector<float>", "good": "bool"}
ZEROS = {"number": 0, "text": "", "values": [], "good": False, "run": 0}


class File(NamedTuple):
    path: Path
    entries: int
    schemas: dict[str, dict[str, str]]
    rows: dict[str, list[Attribute]]


def write_random(path: Path, dice: random.Random, *, most_entries: int = 12, **options: Any) -> File:
    """Up to three sets. One is the same in all files, one has other types, one other fields in any order."""
    entries = dice.randint(0, most_entries)
    names = dice.sample(sorted(FIELDS), dice.randint(1, len(FIELDS)))
    schemas = {
        "same": FIELDS,
        "types": {"run": dice.choice(["std::uint32_t", "std::uint32_t", "std::uint64_t"])},
        "fields": {name: FIELDS[name] for name in names},
    }
    rows = {}
    with colonnade.create(path, "Events", {"x": "double"}, **options) as writer:
        writer.extend({"x": np.arange(entries) / 2})
        for name in dice.sample(sorted(schemas), dice.randint(0, 3)):
            rows[name] = []
            written = writer.attributes(name, schemas[name])
            for row in random_rows(dice.randint(0, 10**9), entries, dice.randint(0, 4)):
                values = {**row.values, "run": dice.randint(0, 9), "good": dice.random() < 0.5}
                rows[name].append(row._replace(values={key: values[key] for key in schemas[name]}))
                written.add(rows[name][-1].values, row.first, row.last)
    return File(path, entries, schemas, rows)


def write_files(folder: Path, dice: random.Random, compressions: tuple[str, ...]) -> list[File]:
    return [
        write_random(folder / f"in{number}.root", dice, compression=dice.choice(compressions))
        for number in range(dice.randint(1, 4))
    ]


class Combined:
    """What follows each other, step by step: the schemas of one step do not change those of earlier ones."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.schemas: dict[str, dict[str, str]] = {}
        self.rows: dict[str, list[Attribute]] = {}
        self.entries = 0
        self.left_out = 0

    def add(self, files: list[File]) -> None:
        frozen = set(self.schemas)
        for file in files:
            for name, rows in file.rows.items():
                if not self.fits(name, file.schemas[name], name in frozen):
                    self.left_out += 1
                    continue
                self.schemas[name] = {**file.schemas[name], **self.schemas.get(name, {})}
                shifted = [
                    row._replace(first=row.first + self.entries, last=row.last + self.entries) for row in rows
                ]
                self.rows.setdefault(name, []).extend(shifted)
            self.entries += file.entries

    def fits(self, name: str, schema: dict[str, str], is_frozen: bool) -> bool:
        known = self.schemas.get(name, schema)
        if any(known.get(key, kind) != kind for key, kind in schema.items()):
            return False
        if self.mode != "union":
            return known.keys() == schema.keys()
        return not is_frozen or schema.keys() <= known.keys()

    def expected(self) -> dict[str, list[Attribute]]:
        return {
            name: [
                row._replace(values={key: row.values.get(key, ZEROS[key]) for key in self.schemas[name]})
                for row in rows
            ]
            for name, rows in self.rows.items()
        }


def rows_of(data: colonnade.DataSet, but: str = "merged_inputs") -> dict[str, list[Attribute]]:
    return {name: list(rows) for name, rows in data.attributes.items() if name != but}


def destinations(folder: Path) -> list[str]:
    return [str(folder / "out.root"), f"obj://{folder}/out"]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("missing", ["fill", "skip", "error"])
def test_chains_have_the_sets_of_all_files(tmp_path, seed, missing):
    dice = random.Random(seed)
    files = write_files(tmp_path, dice, ("none", "zstd:1"))
    names = {name: None for file in files for name in file.rows}
    if missing == "skip":
        names = {name: None for name in names if all(name in file.rows for file in files)}
    index = tmp_path / "index.json"
    for _ in range(2):  # the second one knows the files
        chain = colonnade.open(
            [file.path for file in files], "Events", missing=missing, max_open_files=2, index=index
        )
        if not isinstance(chain, colonnade.Chain):
            return
        assert list(chain.attributes) == list(names)
        for name in names:
            having = [file for file in files if name in file.rows]
            differ = any(file.schemas[name].keys() != having[0].schemas[name].keys() for file in having)
            if missing == "error" and (differ or len(having) < len(files)):
                with pytest.raises(
                    colonnade.SchemaError, match=name if len(having) < len(files) else "field"
                ):
                    chain.attributes[name]
                continue
            assert_is_all_of(chain.attributes[name], files, missing)
        pages = sum(colonnade.open(file.path).verify() for file in files)
        assert chain.verify() == pages


def assert_is_all_of(found: colonnade.AttributeSet, files: list[File], missing: str) -> None:
    having = [file for file in files if found.name in file.rows]
    every = {key for file in having for key in file.schemas[found.name]}
    common = {key for key in every if all(key in file.schemas[found.name] for file in having)}
    fields = every if missing == "fill" else common
    expected, entries = [], 0
    for file in files:
        for row in file.rows.get(found.name, []):
            values = {key: row.values.get(key) for key in fields}
            expected.append(Attribute(row.first + entries, row.last + entries, values))
        entries += file.entries
    assert list(found) == expected
    assert found.ranges.tolist() == [[row.first, row.last] for row in expected]
    assert set(found.field_names) == fields
    texts = [text for _, text in found.row_texts(0, len(found))]
    assert len(texts) == len(expected)
    for entry in range(entries):
        covering = [n for n, row in enumerate(expected) if row.first <= entry < row.last]
        assert found.of_entry(entry).tolist() == sorted(covering, key=lambda n: expected[n].first)


def test_sets_of_a_chain_that_lacks_them_are_named(tmp_path):
    with colonnade.create(tmp_path / "0.root", "Events", {"x": "double"}) as writer:
        writer.fill(x=1)
        writer.attributes("runs", {"run": "int"}).add({"run": 1}, 0, 1)
    with colonnade.create(tmp_path / "1.root", "Events", {"x": "double"}) as writer:
        writer.fill(x=1)
    chain = colonnade.open(tmp_path / "*.root")
    with pytest.raises(
        colonnade.SchemaError, match=r"attribute set 'runs' is in \S*0.root but not in"
    ) as caught:
        chain.attributes["runs"]
    assert 'missing="fill"' in caught.value.advice
    with pytest.raises(colonnade.NotFoundError, match="there is no attribute set 'rums'"):
        chain.attributes["rums"]
    assert list(colonnade.open(tmp_path / "*.root", missing="skip").attributes) == []
    filled = colonnade.open(tmp_path / "*.root", missing="fill").attributes["runs"]
    assert list(filled) == [(0, 1, {"run": 1})]


@pytest.mark.parametrize("seed", range(30))
def test_merges_have_the_sets_of_all_inputs(tmp_path, seed):
    dice = random.Random(seed)
    files = write_files(tmp_path, dice, ("none", "zstd:1"))
    mode = dice.choice(["strict", "union", "filter"])
    way = dice.choice([{}, {"compression": "lz4:1"}, {"cluster_size": "1 kB"}])
    combined = Combined(mode)
    combined.add(files)
    out = dice.choice(destinations(tmp_path))
    (report,) = colonnade.merge(
        out, [file.path for file in files], mode=mode, verify="values", **way
    ).data_sets
    assert report.verified
    assert len([note for note in report.notes if "attribute set" in note]) == combined.left_out
    with colonnade.open(out) as data:
        assert rows_of(data) == combined.expected()
        data.verify()


@pytest.mark.parametrize("seed", range(40))
def test_appending_makes_the_sets_longer(tmp_path, seed):
    dice = random.Random(seed)
    # What is there keeps its encodings, where pages are copied as they are.
    way: dict[str, Any] = dice.choice([{}, {"cluster_size": "1 kB"}])
    files = write_files(tmp_path, dice, ("none", "zstd:1") if way else ("zstd:1",))
    mode = dice.choice(["strict", "union"])
    out = dice.choice(destinations(tmp_path))
    combined = Combined(mode)
    done: list[File] = []
    for number in sorted({dice.randint(1, len(files)), len(files)}):
        combined.add(files[len(done) : number])
        done = files[:number]
        (report,) = colonnade.merge(
            out, [file.path for file in done], mode=mode, append=True, verify="values", **way
        ).data_sets
        assert report.verified
    assert len([note for note in report.notes if "attribute set" in note]) <= combined.left_out
    with colonnade.open(out) as data:
        assert data.num_entries == combined.entries
        assert rows_of(data) == combined.expected()
        assert len(data.attributes["merged_inputs"]) == len(files)
        data.verify()
    again = colonnade.merge(out, [file.path for file in files], mode=mode, append=True, **way)
    assert again.data_sets[0].known_sources == len(files)
    with colonnade.open(out) as data:
        assert rows_of(data) == combined.expected()


def open_file(number: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except FileNotFoundError:  # closed meanwhile
        return ""


def test_many_sources_with_sets_are_not_open_at_once(tmp_path):
    paths = [write_random(tmp_path / f"{n}.root", random.Random(n), most_entries=4).path for n in range(40)]
    most = 0

    def watch(_progress: object) -> bool:
        nonlocal most
        most = max(
            most, sum(open_file(number).startswith(str(tmp_path)) for number in os.listdir("/proc/self/fd"))
        )
        return True

    colonnade.merge(tmp_path / "out.root", paths, progress=watch, progress_every=0, verify="pages")
    assert 0 < most <= 12


def test_an_append_that_was_interrupted_adds_the_rows_once(tmp_path):
    paths = []
    for number in range(2):
        paths.append(tmp_path / f"{number}.root")
        with (
            colonnade.create(paths[-1], "Events", {"x": "double"}) as writer,
            writer.attributes("runs", {"run": "std::uint32_t"}).range(run=number),
        ):
            for _ in range(50):
                writer.extend({"x": np.arange(100)})
                writer.commit_cluster()
    out = tmp_path / "out.root"
    colonnade.merge(out, paths[:1])
    calls = iter(range(1000))
    stopped = colonnade.merge(
        out, paths, append=True, checkpoint_every=1, progress=lambda _: next(calls) < 6, progress_every=0
    )
    with colonnade.open(out) as data:
        assert list(data.attributes["runs"]) == [(0, 5000, {"run": 0})]
        interrupted = data.num_entries < 10000
    assert stopped.interrupted == interrupted
    colonnade.merge(out, paths, append=True, verify="values")
    with colonnade.open(out) as data:
        assert list(data.attributes["runs"]) == [(0, 5000, {"run": 0}), (5000, 10000, {"run": 1})]
