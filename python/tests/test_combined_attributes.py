"""Attribute sets of several files: what chains, merging and appending make of them, against a plain reference."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
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


# ---- Comparing


def write_sets(path: Path, rows: list[Attribute], schema: dict[str, str], name: str = "runs") -> None:
    with colonnade.create(path, "Events", {"x": "double"}) as writer:
        writer.extend({"x": np.arange(20.0)})
        written = writer.attributes(name, schema)
        for row in rows:
            written.add(row.values, row.first, row.last)


SCHEMA = {"run": "std::uint32_t", "text": "std::string"}
ROWS = [Attribute(n, n + 3, {"run": n, "text": "r" * n}) for n in range(5)]


@pytest.mark.parametrize(
    ("rows", "schema", "name", "lines"),
    [
        (ROWS, SCHEMA, "runs", []),
        (ROWS, SCHEMA, "other", ["- attribute set runs", "+ attribute set other"]),
        (ROWS[:3], SCHEMA, "runs", ["! attribute set runs: 5 rows -> 3 rows"]),
        (
            [ROWS[0]._replace(last=9), *ROWS[1:4], ROWS[4]._replace(first=0)],
            SCHEMA,
            "runs",
            ["! attribute set runs: 2 ranges of 5 differ, first of row 0: 0 to 3 -> 0 to 9"],
        ),
        (
            [*ROWS[:4], ROWS[4]._replace(values={"run": 9, "text": "rrrr"})],
            SCHEMA,
            "runs",
            ["! attribute set runs: run: 1 value of 5 differ, first at row 4: 4 -> 9"],
        ),
        (
            ROWS,
            {"run": "std::int64_t", "text": "std::string"},
            "runs",
            ["! attribute set runs: run: std::uint32_t -> std::int64_t"],
        ),
        (
            [row._replace(values={"run": row.values["run"], "more": True}) for row in ROWS],
            {"run": "std::uint32_t", "more": "bool"},
            "runs",
            ["- attribute set runs: text: std::string", "+ attribute set runs: more: bool"],
        ),
    ],
)
def test_diff_sees_attribute_sets(tmp_path, run, rows, schema, name, lines):
    write_sets(tmp_path / "a.root", ROWS, SCHEMA)
    write_sets(tmp_path / "b.root", rows, schema, name)
    status, text, err = run("diff", tmp_path / "a.root", tmp_path / "b.root")
    assert (status, err) == (1 if lines else 0, "")
    assert text.splitlines() == (lines or ["the same: 1 field, 1 attribute set, 20 entries"])
    status, text, _ = run("diff", tmp_path / "a.root", tmp_path / "b.root", "--fields", "x")
    assert (status, text.strip()) == (0, "the same: 1 field, 20 entries")


@pytest.mark.parametrize("seed", range(20))
def test_diff_finds_what_was_changed(tmp_path, run, seed):
    """Copies are the same; a file with other rows is not."""
    dice = random.Random(seed)
    one = write_random(tmp_path / "one.root", dice)
    colonnade.copy(one.path, tmp_path / "copy.root", **dice.choice([{}, {"compression": "lz4:1"}]))
    assert run("diff", one.path, tmp_path / "copy.root")[0] == 0
    if not one.rows:
        return
    name = dice.choice(sorted(one.rows))
    zero = {key: ZEROS[key] for key in one.schemas[name]}
    with colonnade.add_attributes(tmp_path / "copy.root", "Events") as data:
        data.attributes(name, one.schemas[name]).add(zero, 0, one.entries)
    rows = len(one.rows[name])
    status, text, _ = run("diff", one.path, tmp_path / "copy.root")
    assert status == 1
    assert text.startswith(f"! attribute set {name}: {rows} row")


# ---- Many threads


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("order", ["as_written", "staged"])
def test_threads_write_rows_about_their_entries(tmp_path, seed, order):
    """Rows name their entries, by thread and number, so that it is known where they must be."""
    dice = random.Random(seed)
    out = dice.choice(destinations(tmp_path))
    seeds = [dice.randint(0, 10**9) for _ in range(3)]
    checkpoint = dice.choice([None, 1, 3])
    given: list[dict[int, tuple[int, int]]] = [{} for _ in seeds]
    with colonnade.create_parallel(
        out, "Events", {"thread": "int", "n": "int"}, cluster_order=order, checkpoint_every=checkpoint
    ) as writer:
        contexts = [writer.context() for _ in seeds]
        with ThreadPoolExecutor(len(seeds)) as pool:
            work = [
                pool.submit(fill_with_rows, contexts[i], i, seeds[i], given[i]) for i in range(len(seeds))
            ]
            for each in work:
                each.result()
        if dice.random() < 0.5:
            writer.commit()
    with colonnade.open(out) as data:
        data.verify()
        entries = list(zip(data["thread"].to_list(), data["n"].to_list(), strict=True))
        rows = list(data.attributes["rows"])
        firsts = [row.first for row in rows]
        if checkpoint is None:
            assert firsts == sorted(firsts)
        for thread, ranges in enumerate(given):
            for number, (first, last) in ranges.items():
                mine = [row for row in rows if row.values == {"thread": thread, "number": number, "t": "x"}]
                found = [entry for row in mine for entry in entries[row.first : row.last]]
                assert sorted(found) == [(thread, n) for n in range(first, last)]
                if order == "staged" or first == last:
                    assert len(mine) == 1
        assert len({(row.values["thread"], row.values["number"]) for row in rows}) == sum(map(len, given))


def fill_with_rows(
    context: colonnade.FillContext, thread: int, seed: int, given: dict[int, tuple[int, int]]
) -> None:
    dice = random.Random(seed)
    rows = context.attributes("rows", {"thread": "int", "number": "int", "t": "std::string"})
    with context:
        for number in range(dice.randint(0, 8)):
            first = context.num_entries
            with rows.range(thread=thread, number=number, t="x"):
                for _ in range(dice.randint(0, 6)):
                    context.fill(thread=thread, n=context.num_entries)
                    if dice.random() < 0.3:
                        context.commit_cluster()
            given[number] = (first, context.num_entries)
        if given and dice.random() < 0.5:
            last = dice.randint(0, context.num_entries)
            given[100] = (dice.randint(0, last), last)
            rows.add({"thread": thread, "number": 100, "t": "x"}, *given[100])


def test_rows_about_entries_that_are_given_up_are_given_up(tmp_path):
    with colonnade.create_parallel(tmp_path / "f.root", "Events", {"x": "double"}) as writer:
        context = writer.context()
        with context.attributes("runs").range(run=1):
            context.fill(x=1)
        context.commit_cluster()
        with context.attributes("runs").range(run=2):
            context.fill(x=2)
        context.abort()
        with writer.context() as other:
            with pytest.raises(colonnade.UsageError, match="reaches beyond the 0 entries"):
                other.attributes("runs").add({"run": 3}, 0, 1)
            with pytest.raises(colonnade.UsageError, match="with other fields"):
                other.attributes("runs", {"run": "std::string"})
            with pytest.raises(colonnade.TypeMismatchError):
                other.attributes("runs").add({"run": "text"}, 0, 0)
    with colonnade.open(tmp_path / "f.root") as data:
        assert list(data.attributes["runs"]) == [(0, 1, {"run": 1})]
