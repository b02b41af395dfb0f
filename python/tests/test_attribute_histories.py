"""Attribute sets through random histories: written, copied, merged, cut, repaired; against plain lists at each step."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_attributes import random_rows

import colonnade
from colonnade import Attribute

SETS = {
    "runs": {"number": "std::int32_t", "text": "std::string"},
    "quality": {"number": "std::int32_t", "values": "std::vector<float>"},
}


@dataclass
class Model:
    """A data set: where it is, the values of x, which no other entry has, and the rows of each set."""

    place: str
    x: list[int]
    rows: dict[str, list[Attribute]]


def of_set(name: str, rows: list[Attribute]) -> list[Attribute]:
    return [row._replace(values={key: row.values[key] for key in SETS[name]}) for row in rows]


class History:
    """Data sets that came from each other."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.dice = folder, random.Random(seed)
        self.models: list[Model] = []
        self._number = self._entries = 0

    def step(self) -> None:
        steps = [
            self.write,
            self.write_from_threads,
            self.copy,
            self.merge,
            self.append,
            self.snapshot,
            self.add,
        ]
        if not self.models:
            steps = [self.write]
        model = self.dice.choice(steps)()
        if model is not None:
            self.models.append(model)
            check(model)

    # ---- Steps

    def write(self) -> Model:
        model = Model(self.place(), [], {})
        options = {"checkpoint_every": self.dice.choice([None, 1, 2])}
        with colonnade.create(model.place, "Events", {"x": "std::int64_t"}, **options) as writer:
            for part in range(self.dice.randint(0, 4)):
                self.fill(writer, model, part)
                if self.dice.random() < 0.5:
                    writer.commit_cluster()
                if self.dice.random() < 0.2:
                    writer.commit()
                    check(model)
        return model

    def fill(self, writer: colonnade.DataSetWriter, model: Model, part: int) -> None:
        """Entries, a late field now and then, rows about what is there, and a range that follows the entries."""
        if part == 2 and self.dice.random() < 0.5:
            writer.extend_schema({"late": "double"})
        columns: dict[str, Any] = {"x": self.fresh(self.dice.randint(0, 8))}
        if writer.field_names[-1:] == ["late"]:
            columns["late"] = np.zeros(len(columns["x"]))
        name = self.dice.choice(sorted(SETS))
        written = writer.attributes(name, None if name in model.rows else SETS[name])
        first = len(model.x)
        with written.range() as open_range:
            writer.extend(columns)
            model.x += columns["x"].tolist()
            values = of_set(name, random_rows(self.seed(), 0, 1))[0].values
            open_range.values.update(values)
        model.rows.setdefault(name, []).append(Attribute(first, len(model.x), values))
        for row in of_set(name, random_rows(self.seed(), len(model.x), self.dice.randint(0, 3))):
            written.add(row.values, row.first, row.last)
            model.rows[name].append(row)

    def write_from_threads(self) -> Model:
        """One context after the other, so that it is known where entries lie."""
        model = Model(self.place(), [], {})
        with colonnade.create_parallel(
            model.place, "Events", {"x": "std::int64_t"}, cluster_order="staged"
        ) as writer:
            for number in range(self.dice.randint(1, 3)):
                with writer.context() as context:
                    first, x = len(model.x), self.fresh(self.dice.randint(1, 6))
                    for row in of_set("runs", random_rows(self.seed(), 0, 1)):
                        with context.attributes("runs", SETS["runs"]).range(row.values):
                            context.extend({"x": x})
                            model.x += x.tolist()
                        rows = model.rows.setdefault("runs", [])
                        rows.append(row._replace(first=first, last=len(model.x)))
                if number == 1:
                    writer.commit()
        return model

    def copy(self) -> Model:
        source = self.dice.choice(self.models)
        way = self.dice.choice([{}, {"compression": "lz4:1"}, {"page_size": 4096}, {"cluster_size": "1 kB"}])
        model = Model(self.place(), list(source.x), dict(source.rows))
        report = colonnade.copy(source.place, model.place, verify="values", **way)
        assert report.verified
        return model

    def merge(self) -> Model:
        sources = self.dice.sample(self.models, self.dice.randint(1, min(len(self.models), 3)))
        model = Model(self.place(), [], {})
        colonnade.merge(model.place, [source.place for source in sources], mode="union", verify="values")
        for source in sources:
            extend(model, source)
        return model

    def append(self) -> Model | None:
        """Twice, to what a merge made."""
        sources = self.dice.sample(self.models, min(len(self.models), 3))
        model = Model(self.place(), [], {})
        for count in range(1, len(sources) + 1):
            inputs = [source.place for source in sources[:count]]
            colonnade.merge(model.place, inputs, mode="union", append=True, verify="values")
        for source in sources:
            extend(model, source)
        return model

    def snapshot(self) -> Model:
        """Entries that pass, and rows about those of their entries that are left."""
        source = self.dice.choice(self.models)
        cut = self.dice.choice(["true", "x % 2 == 0", "x % 5 != 1", "x < 0"])
        keep = {"true": lambda x: True, "x % 2 == 0": lambda x: x % 2 == 0, "x % 5 != 1": lambda x: x % 5 != 1,
                "x < 0": lambda x: False}[cut]  # fmt: skip
        model = Model(self.place(), [x for x in source.x if keep(x)], {})
        threads = self.dice.choice([1, 2])
        frame = colonnade.DataFrame("Events", source.place, threads=threads).filter(cut)
        frame.snapshot(model.place, "Events", ["x"], attributes=True)
        before = np.concatenate([[0], np.cumsum([keep(x) for x in source.x])]).astype(int).tolist()
        for name, rows in source.rows.items():
            model.rows[name] = [row._replace(first=before[row.first], last=before[row.last]) for row in rows]
        return model

    def add(self) -> None:
        model = self.dice.choice(self.models)
        name = self.dice.choice(sorted(SETS))
        with colonnade.add_attributes(model.place, "Events") as data:
            written = data.attributes(name, SETS[name])
            rows = of_set(name, random_rows(self.seed(), len(model.x), self.dice.randint(1, 3)))
            for row in rows:
                written.add(row.values, row.first, row.last)
        model.rows[name] = [*model.rows.get(name, []), *rows]
        check(model)

    # ---- Tools

    def place(self) -> str:
        self._number += 1
        return self.dice.choice([f"{self.folder}/{self._number}.root", f"obj://{self.folder}/{self._number}"])

    def fresh(self, count: int) -> Any:
        self._entries += count
        return np.arange(self._entries - count, self._entries)

    def seed(self) -> int:
        return self.dice.randint(0, 10**9)


def extend(model: Model, source: Model) -> None:
    """Put the entries and rows of a source behind those of a data set."""
    before = len(model.x)
    model.x += source.x
    for name, rows in source.rows.items():
        moved = [row._replace(first=row.first + before, last=row.last + before) for row in rows]
        model.rows[name] = [*model.rows.get(name, []), *moved]


def check(model: Model) -> None:
    with colonnade.open(model.place, "Events") as data:
        assert data["x"].to_list() == model.x
        found = {name: list(rows) for name, rows in data.attributes.items() if name != "merged_inputs"}
        assert found == model.rows
        for name, rows in model.rows.items():
            for entry in range(0, len(model.x), 5):
                covering = [n for n, row in enumerate(rows) if row.first <= entry < row.last]
                by_start = sorted(covering, key=lambda n: rows[n].first)
                assert data.attributes[name].of_entry(entry).tolist() == by_start
        data.verify()


@pytest.mark.parametrize("seed", range(25))
def test_histories(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    for _ in range(9):
        history.step()
    for model in history.models:  # what came later changed nothing before
        check(model)
    chained = [model for model in history.models if model.rows.get("runs")]
    if len(chained) > 1:
        together = Model("", [], {})
        for model in chained:
            extend(together, model)
        chain = colonnade.open([model.place for model in chained], "Events", missing="fill")
        assert list(chain.attributes["runs"]) == together.rows["runs"]


KILLED = """
import os, sys
import numpy as np
import colonnade

writer = colonnade.create(sys.argv[1], "Events", {"x": "std::int64_t"}, checkpoint_every=None)
runs = writer.attributes("runs", {"run": "int"})
for part in range(int(sys.argv[2])):
    with runs.range(run=part):
        writer.extend({"x": np.arange(10 * part, 10 * part + 10)})
    writer.commit_cluster()
    if part < int(sys.argv[3]):
        writer.commit()
os._exit(0)
"""


@pytest.mark.parametrize(("parts", "committed"), [(3, 1), (4, 3), (2, 2)])
@pytest.mark.parametrize("where", ["file", "store"])
def test_repair_brings_back_the_rows_of_the_last_commit(
    tmp_path: Path, where: str, parts: int, committed: int
) -> None:
    """Entries may come back that no commit has; rows about them do not, and those that were committed are whole."""
    place = str(tmp_path / "f.root") if where == "file" else f"obj://{tmp_path}/store"
    subprocess.run([sys.executable, "-c", KILLED, place, str(parts), str(committed)], check=True)
    expected = [Attribute(10 * part, 10 * part + 10, {"run": part}) for part in range(committed)]
    with colonnade.open(place, "Events") as data:
        assert list(data.attributes["runs"]) == expected
    if where == "file":  # a store is complete as of its last commit
        colonnade.repair(place, "Events")
    with colonnade.open(place, "Events") as data:
        assert 10 * committed <= data.num_entries <= 10 * parts
        assert data["x"].to_list() == list(range(data.num_entries))
        assert list(data.attributes["runs"]) == expected
        data.verify()
    with colonnade.add_attributes(place, "Events") as adding:
        adding.attributes("runs", {"run": "int"}).add({"run": 99}, 0, 10 * committed)
    with colonnade.open(place, "Events") as data:
        assert list(data.attributes["runs"]) == [*expected, Attribute(0, 10 * committed, {"run": 99})]
