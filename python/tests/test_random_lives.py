"""Random lives of data sets of random types: written, continued, copied, merged, filtered, cached, exported, replaced
and given up, in files and object stores, with any options. After each step all of them have the values of a plain
model, however they are read, and places to which the step does not write have the same bytes. No step changes the type
of a field.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import awkward as ak
import pytest
from root_values import same
from test_random_values import Type, Types

import colonnade
from colonnade import FieldInfo, UnsupportedError
from colonnade._core import FieldKind

STEPS = 12


@dataclass
class Model:
    """A data set: where it is, and the values of each field."""

    uri: str
    name: str
    columns: dict[str, list[Any]]

    @property
    def entries(self) -> int:
        return len(self.columns["id"])


def nothing(info: FieldInfo) -> Any:
    """What a field has in entries that lack it."""
    if info.kind == FieldKind.scalar:
        return {"bool": False, "double": 0.0}.get(info.type, 0)
    if info.kind == FieldKind.array:
        return [nothing(info.children[0])] * info.size
    if info.kind == FieldKind.record:
        return tuple(nothing(child) for child in info.children)
    return {FieldKind.string: "", FieldKind.collection: []}.get(info.kind)


class Life:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.dice = folder, random.Random(seed)
        types = Types(seed)
        self.types = {f"f{number}": types.of(2) for number in range(5)}
        self.types["id"] = Type("std::int64_t", lambda: self.dice.randrange(100))
        place = "memory+obj:lives"
        colonnade.create(place, "Events", {name: kind.name for name, kind in self.types.items()}).close()
        with colonnade.open(place, "Events") as data:
            self.nothing = {name: nothing(data.schema[name]) for name in self.types}
        self.models: list[Model] = []
        self.steps: list[str] = []
        self._number = 0

    def step(self) -> None:
        steps = [
            self.write,
            self.go_on,
            self.copy,
            self.copy_in_two_goes,
            self.merge,
            self.snapshot,
            self.cache,
        ]
        steps += [self.export]
        chosen = self.dice.choice([*steps, self.give_up]) if self.models else self.write
        self.steps.append(chosen.__name__)
        before = {path: self.bytes_of(path) for path in self.folder.iterdir()}
        made = chosen()
        if made is not None:
            self.models.append(made)
        for path, found in before.items():
            if made is None or not made.uri.endswith(path.name):
                assert self.bytes_of(path) == found, (path, self.steps)
        for model in self.models:
            if made is not None and model.uri == made.uri:
                self.check(model)

    def check(self, model: Model) -> None:
        with colonnade.open(model.uri, model.name, **self.ways_to_read()) as data:
            assert sorted(data.field_names) == sorted(model.columns), self.steps
            for name in model.columns:
                assert data.schema[name].type == self.types[name].name, self.steps
            begin = self.dice.randint(0, model.entries)
            for first in (0, begin):
                self.compare(data.arrays(entry_start=first), model, first)
            steps = self.dice.choice([1, 5, "100 B", "1 MB"])
            for array in data.iterate(step_size=steps, entry_start=begin):
                self.compare(array, model, begin)
                begin += len(array)
            assert begin == model.entries
        threads, block_entries = self.dice.randint(1, 3), self.dice.choice([1, 7, 100_000])
        frame = colonnade.DataFrame(model.name, model.uri, threads=threads, block_entries=block_entries)
        self.compare(frame.to_awkward(), model, 0)

    def compare(self, found: ak.Array, model: Model, first: int) -> None:
        for name, values in model.columns.items():
            expected = values[first : first + len(found)]
            assert same(found[name].to_list(), expected), (name, found[name].to_list(), model, self.steps)

    def ways_to_read(self) -> dict[str, Any]:
        every: dict[str, list[Any]] = {
            "checksums": [False],
            "read_ahead": [0, 100],
            "memory_budget": [1, 1000],
            "parallel_decompression": [False],
            "local_io": ["pread", "threads", "io_uring", "mmap"],
            "direct_io": [True],
            "cache": [str(self.folder.parent / "cache")],
        }
        return self.some_of(every)

    def some_of(self, every: dict[str, list[Any]]) -> dict[str, Any]:
        return {name: self.dice.choice(values) for name, values in every.items() if self.dice.random() < 0.3}

    def bytes_of(self, path: Path) -> str:
        files = sorted(file for file in [path, *path.rglob("*")] if file.is_file())
        return hashlib.blake2b(b"".join(str(file).encode() + file.read_bytes() for file in files)).hexdigest()

    # ---- Where to

    def target(self) -> tuple[Model, bool]:
        """A new data set, and whether it replaces what is at its place, which is no longer among the models."""
        self._number += 1
        name = f"d{self._number}"
        old = self.dice.choice(self.models) if self.models else None
        if old is not None and not old.uri.endswith(".bare") and self.dice.random() < 0.4:
            return Model(old.uri, name, {}), False
        if old is not None and self.dice.random() < 0.4:
            is_store = old.uri.startswith("obj:")
            rest = [model for model in self.models if (is_store and model is not old) or model.uri != old.uri]
            if rest:
                self.models = rest
                return Model(old.uri, old.name, {}), True
        ending = self.dice.choice([".root", ".root", ".bare", ""])
        return Model(f"{'' if ending else 'obj://'}{self.folder}/p{self._number}{ending}", name, {}), False

    def options(self, to: Model) -> dict[str, Any]:
        options: dict[str, Any] = {"container": "bare"} if to.uri.endswith(".bare") else {}
        if self.dice.random() < 0.5:
            options["compression"] = self.dice.choice(["none", "lz4", "zstd:1", "lzma:1"])
        if self.dice.random() < 0.5:
            options |= {"page_size": 64, "cluster_size": 300}
        every: dict[str, list[Any]] = {
            "checkpoint_every": [1, 2],
            "checksums": [False],
            "same_page_merging": [False],
            "clusters_per_group": [1, 2],
            "durability": ["machine"],
            "direct_io": [True],
            "initial_page_size": [1, 64],
            "page_buffer_budget": [1, 1000],
            "max_key_size": [1000],
        }
        if to.uri.startswith("obj:"):
            every |= {"object_mapping": ["object_per_page"], "splice_size": [1, 64]}
        return options | self.some_of(every)

    def mode(self, to: Model, replaces: bool) -> dict[str, Any]:
        exists = any(model.uri == to.uri for model in self.models)
        return {"mode": "recreate" if replaces or not exists else "update"}

    # ---- Steps

    def write(self) -> Model:
        return self._write(*self.target(), commits=True)

    def give_up(self) -> None:
        """What was to be replaced is still there."""
        old = self.dice.choice(self.models)
        to = Model(old.uri, old.name, {})
        if not to.uri.startswith("obj:"):
            with contextlib.suppress(LookupError):
                self._write(to, replaces=True, commits=False)

    def _write(self, to: Model, replaces: bool, commits: bool) -> Model:
        names = ["id", *(name for name in self.types if name != "id" and self.dice.random() < 0.7)]
        self.dice.shuffle(names)
        late = {name: self.dice.randint(1, 2) for name in names if name != "id" and self.dice.random() < 0.3}
        specs = {name: self.types[name].name for name in names}
        options = self.options(to) | self.mode(to, replaces)
        if not commits:
            options["checkpoint_every"] = None
        begin = {name: spec for name, spec in specs.items() if name not in late}
        with colonnade.create(to.uri, to.name, begin, **options) as writer:
            to.columns = {name: [] for name in begin}
            for part in range(3):
                added = [name for name, when in late.items() if when == part]
                if added:
                    writer.extend_schema({name: specs[name] for name in added})
                    to.columns |= {name: [self.nothing[name]] * to.entries for name in added}
                count = self.dice.choice([0, 1, 7, 30])
                given = {name: [self.types[name].make() for _ in range(count)] for name in to.columns}
                writer.extend(given)
                for name, values in given.items():
                    to.columns[name] += [self.types[name].read(value) for value in values]
                if commits:
                    self.dice.choice([writer.commit_cluster, writer.commit, lambda: None])()
            if not commits:
                raise LookupError
        return to

    def go_on(self) -> Model:
        """At its end."""
        to = self.dice.choice(self.models)
        try:
            resumed = colonnade.resume(to.uri, to.name, compression=self.dice.choice(["none", "zstd:1"]))
        except UnsupportedError:  # a merge has left several encodings
            return self.copy()
        with resumed as writer:
            for _ in range(2):
                count = self.dice.choice([0, 1, 7])
                given = {name: [self.types[name].make() for _ in range(count)] for name in to.columns}
                writer.extend(given)
                for name, values in given.items():
                    to.columns[name] += [self.types[name].read(value) for value in values]
                self.dice.choice([writer.commit_cluster, writer.commit, lambda: None])()
        self.models.remove(to)
        return to

    def copy(self) -> Model:
        to, replaces = self.target()
        of = self.dice.choice(self.models)
        names = [name for name in of.columns if name == "id" or self.dice.random() < 0.7]
        options = {"columns": names, "overwrite": replaces, "verify": True} | self.options(to)
        colonnade.copy((of.uri, of.name), to.uri, destination_name=to.name, **options)
        to.columns = {name: list(of.columns[name]) for name in names}
        return to

    def copy_in_two_goes(self) -> Model:
        to, replaces = self.target()
        of = self.dice.choice(self.models)
        goes_on = iter([True] * self.dice.randint(0, 3))
        options = {"destination_name": to.name, "overwrite": replaces} | self.options(to)
        colonnade.copy(
            (of.uri, of.name),
            to.uri,
            progress=lambda _: next(goes_on, False),
            progress_every=0,
            **options,
        )
        colonnade.copy((of.uri, of.name), to.uri, resume=True, **options)
        to.columns = {name: list(values) for name, values in of.columns.items()}
        return to

    def merge(self) -> Model:
        parts = [self.dice.choice(self.models) for _ in range(2)]
        inputs = [f"{self.folder.parent}/input{number}.root" for number in range(2)]
        for part, path in zip(parts, inputs, strict=True):
            colonnade.copy((part.uri, part.name), path, destination_name="merged", overwrite=True)
        self._number += 1
        to = Model(f"{self.folder}/p{self._number}.root", "merged", {})
        mode = self.dice.choice(["union", "filter"])
        colonnade.merge(to.uri, inputs, mode=mode, verify=True, **self.options(to))
        one, other = ({*part.columns} for part in parts)
        for name in one | other if mode == "union" else one & other:
            lacking = self.nothing[name]
            columns = [part.columns.get(name, [lacking] * part.entries) for part in parts]
            to.columns[name] = columns[0] + columns[1]
        return to

    def snapshot(self) -> Model:
        to, replaces = self.target()
        of = self.dice.choice(self.models)
        names = list(of.columns)
        frame = colonnade.DataFrame(of.name, of.uri, threads=self.dice.randint(1, 3))
        frame = frame.filter("id % 3 != 1").redefine("id", "id + 1")
        frame.snapshot(to.uri, to.name, names, **self.mode(to, replaces), **self.options(to))
        passed = [number % 3 != 1 for number in of.columns["id"]]
        to.columns = {name: list(compress(of.columns[name], passed)) for name in names}
        to.columns["id"] = [number + 1 for number in to.columns["id"]]
        return to

    def cache(self) -> Model:
        """Entries of several data sets with the same fields."""
        to, replaces = self.target()
        of = self.dice.choice(self.models)
        alike = [model for model in self.models if model.columns.keys() == of.columns.keys()]
        parts = [self.dice.choice(alike) for _ in range(2)]
        chain = colonnade.open([(part.uri, part.name) for part in parts])
        frame = colonnade.DataFrame(chain).cache(list(of.columns))
        frame.snapshot(to.uri, to.name, **self.mode(to, replaces), **self.options(to))
        to.columns = {name: parts[0].columns[name] + parts[1].columns[name] for name in of.columns}
        return to

    def export(self) -> Model:
        """And import."""
        to, replaces = self.target()
        of = self.dice.choice(self.models)
        names = [name for name in of.columns if self.is_plain(name)]
        table = self.folder.parent / f"table.{self.dice.choice(['parquet', 'arrow'])}"
        options = {"columns": names, "overwrite": True}
        colonnade.export((of.uri, of.name), table, step_size=self.dice.choice(["1 MiB", 7]), **options)
        colonnade.import_table(
            table, to.uri, destination_name=to.name, overwrite=replaces, **self.options(to)
        )
        to.columns = {name: list(of.columns[name]) for name in names}
        return to

    def is_plain(self, name: str) -> bool:
        """Tables keep its type."""
        return not any(word in self.types[name].name for word in ("variant", "optional<std::optional"))


@pytest.mark.random
@pytest.mark.parametrize("seed", range(6))
def test_lives(tmp_path: Path, seed: int) -> None:
    (tmp_path / "places").mkdir()
    life = Life(tmp_path / "places", seed)
    for _ in range(STEPS):
        life.step()
