"""Attribute sets: written and read, compared with a plain reference; real ROOT both ways; the command line."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from awkward.contents import NumpyArray, UnionArray
from awkward.index import Index8, Index64
from locations import FIXTURES

import colonnade
from colonnade.frame.carried import CarriedAttributes

FIXTURE = FIXTURES / "attribute_sets.root"
SCHEMA = {"number": "std::int32_t", "text": "std::string", "values": "std::vector<float>"}


def random_rows(seed: int, entries: int, count: int) -> list[colonnade.Attribute]:
    dice = random.Random(seed)
    rows = []
    for _ in range(count):
        first = dice.randint(0, entries)
        values = {
            "number": dice.randint(-(2**31), 2**31 - 1),
            "text": "é" * dice.randint(0, 4),
            "values": [dice.randint(0, 9) / 4 for _ in range(dice.randint(0, 3))],
        }
        rows.append(colonnade.Attribute(first, dice.randint(first, entries), values))
    return rows


def places(tmp_path: Path) -> list[str]:
    return [str(tmp_path / "a.root"), f"obj://{tmp_path}/store"]


@pytest.mark.parametrize("where", [0, 1])
@pytest.mark.parametrize("by_row", [True, False])
@pytest.mark.parametrize("checkpoint_every", [None, 1])
def test_rows_come_back(tmp_path, where, by_row, checkpoint_every):
    place = places(tmp_path)[where]
    expected = random_rows(where, 60, 40)
    with colonnade.create(place, "Events", {"x": "double"}, checkpoint_every=checkpoint_every) as writer:
        runs = writer.attributes("runs", SCHEMA)
        assert writer.attributes("runs") is runs
        for step in range(6):
            if by_row:
                for i in range(10):
                    writer.fill(x=10 * step + i)
            else:
                writer.extend({"x": np.arange(10 * step, 10 * step + 10)})
            for row in expected if step == 5 else []:
                runs.add(row.values, row.first, row.last)
            if step % 2:
                writer.commit_cluster()
        assert runs.num_rows == 40
    with colonnade.open(place, "Events") as data:
        assert list(data.attributes) == ["runs"]
        found = data.attributes["runs"]
        assert list(found) == expected
        assert len(found) == found.num_rows == 40
        assert found.row(-1) == expected[-1]
        for beyond in (len(expected), -len(expected) - 1, 1 << 70):
            with pytest.raises(colonnade.UsageError, match="is beyond the"):
                found.row(beyond)
        assert found["number"].to_list() == [row.values["number"] for row in expected]
        assert found.ranges.tolist() == [[row.first, row.last] for row in expected]
        for first in range(0, 60, 7):
            covering = [n for n, row in enumerate(expected) if row.first <= first and row.last > first]
            assert found.of_entry(first).tolist() == sorted(covering, key=lambda n: expected[n].first)
            within = [n for n, row in enumerate(expected) if first <= row.first < row.last <= first + 20]
            assert found.within(first, first + 20).tolist() == sorted(within, key=lambda n: expected[n].first)


def test_ranges_follow_the_entries(tmp_path):
    with colonnade.create(tmp_path / "a.root", "Events") as writer:
        with writer.attributes("files").range({"file": "one", "events": 0}) as file:
            writer.extend({"x": [1.0, 2.0, 3.0]})
            with writer.attributes("files").range(file="inner", events=-1):
                writer.fill(x=4.0)
            file.values["events"] = writer.num_entries
        later = writer.attributes("files").range()
        with pytest.raises(ZeroDivisionError), writer.attributes("files").range(file="lost", events=1):
            writer.fill(x=1 / 0)
        writer.fill(x=5.0)
        later.values.update(file="two", events=1)
        later.commit()
        with pytest.raises(colonnade.UsageError, match="already committed"):
            later.commit()
    with colonnade.open(tmp_path / "a.root") as data:
        assert list(data.attributes["files"]) == [
            (3, 4, {"file": "inner", "events": -1}),
            (0, 4, {"file": "one", "events": 4}),
            (4, 5, {"file": "two", "events": 1}),
        ]


def test_a_commit_has_the_rows_so_far(tmp_path):
    path = tmp_path / "a.root"
    with colonnade.create(path, "Events", {"x": "double"}) as writer:
        for step in range(20):
            with writer.attributes("steps").range(step=step):
                writer.fill(x=step)
            writer.commit()
            with colonnade.open(path) as data:
                assert [row.values["step"] for row in data.attributes["steps"]] == list(range(step + 1))


def test_what_is_wrong_is_said(tmp_path):
    with colonnade.create(tmp_path / "a.root", "Events", {"x": "double"}) as writer:
        runs = writer.attributes("runs", {"run": "std::uint32_t"})
        writer.fill(x=1)
        with pytest.raises(colonnade.UsageError, match="reaches beyond the 1 entries"):
            runs.add({"run": 1}, 0, 2)
        with pytest.raises(colonnade.ConversionError):
            runs.add({"run": -1}, 0, 1)
        with pytest.raises(colonnade.TypeMismatchError):
            runs.add({"number": 1}, 0, 1)
        with pytest.raises(colonnade.UsageError, match="already exists"):
            writer.attributes("runs", {"run": "double"})
        with pytest.raises(colonnade.UsageError, match="not a valid name"):
            writer.attributes("a b", {"run": "double"})
        with pytest.raises(colonnade.SchemaError):
            writer.attributes("other", {"run": "no type"})
        assert runs.num_rows == 0
    with pytest.raises(colonnade.UsageError, match="closed"):
        runs.add({"run": 1}, 0, 1)
    with colonnade.open(tmp_path / "a.root") as data:
        assert list(data.attributes) == ["runs"]
        assert list(data.attributes["runs"]) == []
        with pytest.raises(colonnade.NotFoundError, match="no attribute set 'run'"):
            data.attributes["run"]
        assert data.attributes.get("run") is None
        for read in (data.attributes["runs"].arrays, data.attributes["runs"].__getitem__):
            for name in ("runs", "z*"):
                with pytest.raises(colonnade.NotFoundError) as refused:
                    read(name)
                assert (refused.value.problem, refused.value.advice) == (
                    f"there is no field '{name}'",
                    "one of: run",
                )


@pytest.mark.parametrize("where", [0, 1])
def test_closing_a_data_set_closes_its_sets(tmp_path, where):
    def open_files():
        links = (Path("/proc/self/fd") / number for number in os.listdir("/proc/self/fd"))
        return [link for link in links if str(tmp_path) in os.path.realpath(link)]

    place = places(tmp_path)[where]
    with colonnade.create(place, "Events", {"x": "double"}) as writer:
        writer.attributes("runs", SCHEMA).add(random_rows(0, 0, 1)[0].values, 0, 0)
        writer.extend({"x": [1.0]})
    gc.collect()
    gc.disable()  # nothing waits for the collector
    try:
        for target in place, [place]:
            with colonnade.open(target, "Events") as ds:
                assert len(list(ds.attributes["runs"])) == 1
                assert open_files()
            assert not open_files()
            with pytest.raises(colonnade.UsageError, match="closed"):
                ds.attributes["runs"]
    finally:
        gc.enable()


def test_those_of_root_are_read():
    with colonnade.open(FIXTURE) as data:
        assert list(data.attributes) == ["notes", "runs"]
        notes = data.attributes["notes"]
        assert list(notes)[2:] == [
            (6, 9, {"text": "entries from 6", "number": 6}),
            (9, 9, {"text": "no entries", "number": -1}),
        ]
        assert notes.of_entry(4).tolist() == [1]
        assert data.attributes["runs"].row(0) == (0, 9, {"values": [1.5, 2.5]})


def test_data_sets_without_any_have_none(tmp_path):
    with colonnade.create(tmp_path / "a.root", "Events", {"x": "double"}):
        pass
    with colonnade.open(tmp_path / "a.root") as data:
        assert len(data.attributes) == 0
        assert "none" in repr(data.attributes)


@pytest.mark.parametrize("where", [0, 1])
def test_rows_are_added_to_what_is_there(tmp_path, where):
    place = places(tmp_path)[where]
    with colonnade.create(place, "Events", {"x": "double"}) as writer:
        writer.extend({"x": np.arange(10.0)})
    for round_number in range(3):
        with colonnade.add_attributes(place, "Events") as data:
            data.attributes("quality").add({"good": True, "round": round_number}, 0, data.num_entries)
            with pytest.raises(colonnade.UsageError, match="reaches beyond the 10 entries"):
                data.attributes("quality").add({"good": True, "round": 1}, 0, 11)
    with pytest.raises(ZeroDivisionError), colonnade.add_attributes(place, "Events") as data:
        data.attributes("quality").add({"good": False, "round": 1 // 0}, 0, 1)
    with colonnade.open(place, "Events") as data:
        rows = [(0, 10, {"good": True, "round": number}) for number in range(3)]
        assert list(data.attributes["quality"]) == rows
        assert data["x"].to_list() == list(range(10))
    with (
        pytest.raises(
            colonnade.SchemaError,
            match="the schema differs from that of the existing attribute set 'quality'",
        ),
        colonnade.add_attributes(place, "Events") as data,
    ):
        data.attributes("quality", {"other": "double"})
    with pytest.raises(colonnade.NotFoundError):
        colonnade.add_attributes(place, "Other")


@pytest.mark.parametrize("where", [0, 1])
def test_a_set_that_is_there_keeps_its_fields(tmp_path, where):
    place = places(tmp_path)[where]
    schema = {"run": "std::uint8_t", "parts": [{"weight": "float"}]}
    with colonnade.create(place, "Events", {"x": "double"}) as writer:
        writer.extend({"x": np.arange(10.0)})
        writer.attributes("runs", schema)
    rows = [{"run": 1, "parts": []}, {"run": 2, "parts": [{"weight": 0.5}]}]
    for row in rows:
        with colonnade.add_attributes(place, "Events") as data:
            runs = data.attributes("runs")
            assert runs.field_names == list(schema)
            with pytest.raises(colonnade.ConversionError):
                runs.add({**row, "run": 256}, 0, 10)
            runs.add(row, 0, 10)
    with colonnade.open(place, "Events") as data:
        assert list(data.attributes["runs"]) == [(0, 10, row) for row in rows]


def test_copies_shift_the_ranges(tmp_path):
    files = []
    for number in range(3):
        files.append(tmp_path / f"{number}.root")
        with (
            colonnade.create(files[-1], "Events", {"x": "double"}) as writer,
            writer.attributes("runs", {"run": "std::uint32_t"}).range(run=number),
        ):
            writer.extend({"x": np.arange(number + 2)})
    report = colonnade.copy(files, tmp_path / "all.root", verify="values")
    assert report.notes == ()
    assert report.verified
    with colonnade.open(tmp_path / "all.root") as data:
        assert list(data.attributes["runs"]) == [
            (0, 2, {"run": 0}),
            (2, 5, {"run": 1}),
            (5, 9, {"run": 2}),
        ]


def test_info_and_show(run):
    status, text, err = run("info", FIXTURE)
    assert (status, err) == (0, "")
    assert "attribute set notes: 4 rows" in text
    assert "text (std::string), number (std::int32_t)" in text
    (data,) = json.loads(run("info", FIXTURE, "--json")[1])["data_sets"]
    assert [(each["name"], each["rows"]) for each in data["attribute_sets"]] == [("notes", 4), ("runs", 1)]
    assert run("show", FIXTURE, "--attributes", "notes", "--entries", "3:7")[1].splitlines() == [
        '1: entries 3 to 6: {"text": "entries from 3", "number": 3}',
        '2: entries 6 to 9: {"text": "entries from 6", "number": 6}',
    ]
    rows = json.loads(run("show", FIXTURE, "--attributes", "runs", "--json")[1])
    assert rows == [{"first": 0, "last": 9, "values": {"values": [1.5, 2.5]}}]


@pytest.mark.parametrize("where", [0, 1])
@pytest.mark.parametrize("executor", [None, 2])
def test_snapshots_take_them_over_on_request(tmp_path, where, executor):
    expected: dict[str, list[colonnade.Attribute]] = {"rows": [], "one": []}
    kept: list[int] = []
    entries = 0
    for number in range(3):
        with colonnade.create(tmp_path / f"in{number}.root", "Events", {"x": "std::int64_t"}) as writer:
            writer.extend({"x": np.arange(40) * 7 % 11})
            kept += [entry + entries for entry in range(40) if entry * 7 % 11 < 5]
            writer.attributes("rows", SCHEMA)
            for row in random_rows(number, 40, 20):
                writer.attributes("rows").add(row.values, row.first, row.last)
                first, last = row.first + entries, row.last + entries
                expected["rows"].append(colonnade.Attribute(first, last, row.values))
            if number == 1:
                writer.attributes("one").add({"pair": {"a": 1, "b": [True]}}, 3, 9)
                expected["one"].append(colonnade.Attribute(43, 49, {"pair": {"a": 1, "b": [True]}}))
        entries += 40
    frame = colonnade.DataFrame("Events", [tmp_path / f"in{n}.root" for n in range(3)], executor=executor)
    selected = frame.filter("x < 5")
    place = [str(tmp_path / "out.root"), f"obj://{tmp_path}/out"][where]
    made = selected.snapshot(place, "Kept", ["x"], attributes=True)
    assert len(kept) == made.count().value
    with colonnade.open(place, "Kept") as data:
        assert set(data.attributes) == {"rows", "one"}
        for name, rows in expected.items():
            assert list(data.attributes[name]) == [
                (sum(k < row.first for k in kept), sum(k < row.last for k in kept), row.values)
                for row in rows
            ]
    selected.snapshot(tmp_path / "other.root", "Kept", ["x"], attributes=["one"])
    with colonnade.open(tmp_path / "other.root") as data:
        assert list(data.attributes) == ["one"]
    selected.snapshot(tmp_path / "none.root", "Kept", ["x"])
    with colonnade.open(tmp_path / "none.root") as data:
        assert list(data.attributes) == []
    with pytest.raises(colonnade.NotFoundError, match="attribute set 'two'"):
        selected.snapshot(tmp_path / "other.root", "Kept", ["x"], attributes=["two"])
    with pytest.raises(colonnade.UsageError, match="lazy"):
        selected.snapshot(tmp_path / "other.root", "Kept", ["x"], lazy=True, attributes=True)
    with pytest.raises(colonnade.UsageError, match="each task leaves one in the folder"):
        selected.snapshot(f"{tmp_path}/folder/", "Kept", ["x"], attributes=True)


@pytest.mark.parametrize("names", [True, ["none"]])
def test_snapshots_keep_attribute_sets_without_rows(tmp_path, names):
    with colonnade.create(tmp_path / "in.root", "Events", {"x": "int"}) as writer:
        writer.extend({"x": [1, 2]})
        writer.attributes("none", {"run": "int"})
    frame = colonnade.DataFrame("Events", tmp_path / "in.root")
    frame.snapshot(tmp_path / "out.root", attributes=names)
    with colonnade.open(tmp_path / "out.root") as data:
        assert [(name, rows.field_names, len(rows)) for name, rows in data.attributes.items()] == [
            ("none", ["run"], 0)
        ]


def test_snapshots_keep_the_alternatives_of_variants_in_attribute_sets(tmp_path):
    """Python's floats do not tell which alternative held them."""
    kinds = "std::variant<float,double>"
    contents = [NumpyArray(np.array([0.1], np.float32)), NumpyArray(np.array([0.5]))]
    values = UnionArray(Index8(np.array([1, 0], np.int8)), Index64(np.array([0, 0])), contents)
    with colonnade.create(tmp_path / "in.root", "Events", {"x": "int"}) as writer:
        writer.extend({"x": [1, 2]})
    with colonnade.add_attributes(tmp_path / "in.root", "Events") as data:
        data.attributes("rows", {"v": kinds})._extend([(0, 2), (1, 1)], {"v": values})
    colonnade.DataFrame("Events", tmp_path / "in.root").filter("x > 1").snapshot(
        tmp_path / "out.root", attributes=True
    )
    for name, ranges in {"in.root": [(0, 2), (1, 1)], "out.root": [(0, 1), (0, 0)]}.items():
        with colonnade.open(tmp_path / name) as data:
            rows = data.attributes["rows"]
            assert [(row.first, row.last) for row in rows] == ranges
            assert rows.arrays()["v"].to_list() == [0.5, float(np.float32(0.1))]
            assert rows.arrays()["v"].layout.tags.data.tolist() == [1, 0]


@pytest.mark.parametrize("where", ["file", "store"])
@pytest.mark.parametrize("executor", [None, 2])
def test_a_snapshot_whose_attribute_sets_fail_is_not_there(tmp_path, where, executor, monkeypatch):
    source = tmp_path / "in.root"
    with colonnade.create(source, "Events", {"x": "int"}) as writer:
        writer.extend({"x": np.arange(20)})
        writer.attributes("runs").add({"run": 1}, 0, 20)
    place = str(tmp_path / "out.root") if where == "file" else f"obj://{tmp_path}/out"
    frame = colonnade.DataFrame("Events", source, executor=executor)

    def fail(*_):
        raise ZeroDivisionError("on purpose")

    for before in ([], [7]):
        if before:
            frame.filter("x == 7").snapshot(place, "Kept", ["x"])
        with monkeypatch.context() as patch:
            patch.setattr(CarriedAttributes, "add_to", fail)
            with pytest.raises(ZeroDivisionError, match="on purpose"):
                frame.snapshot(place, "Kept", ["x"], attributes=True)
        if before:
            with colonnade.open(place, "Kept") as data:
                assert data["x"].to_list() == before
        else:
            with pytest.raises(colonnade.NotFoundError):
                colonnade.open(place, "Kept")
    frame.snapshot(place, "Kept", ["x"], attributes=True)
    with colonnade.open(place, "Kept") as data:
        assert data["x"].to_list() == list(range(20))
        assert list(data.attributes["runs"]) == [(0, 20, {"run": 1})]


def test_a_copy_is_committed_with_what_is_added_to_it(tmp_path):
    source, place = tmp_path / "in.root", tmp_path / "out.root"
    with colonnade.create(source, "Events", {"x": "int"}) as writer:
        writer.extend({"x": np.arange(20)})
        writer.attributes("runs").add({"run": 1}, 0, 20)

    def add(out):
        assert out.num_entries == 20
        out.attributes("quality").add({"good": True}, 5, 9)
        out.attributes("runs").add({"run": 2}, 5, 9)
        lent.append(out)

    lent: list[Any] = []
    with pytest.raises(ZeroDivisionError):
        colonnade.copy(source, place, before_commit=lambda out: 1 // 0)
    assert not place.exists()
    with pytest.raises(colonnade.UsageError, match="continues another one"):
        colonnade.copy(source, place, before_commit=add, resume=True)
    colonnade.copy(source, place, before_commit=add, verify="values")
    with colonnade.open(place) as data:
        assert list(data.attributes["runs"]) == [(0, 20, {"run": 1}), (5, 9, {"run": 2})]
        assert list(data.attributes["quality"]) == [(5, 9, {"good": True})]
    with pytest.raises(colonnade.UsageError, match="closed"):
        lent[0].attributes("late")
    with pytest.raises(colonnade.SchemaError, match="differs from that of the existing attribute set 'runs'"):
        colonnade.copy(
            source, place, overwrite=True, before_commit=lambda out: out.attributes("runs", {"run": "int"})
        )
    with colonnade.open(place) as data:
        assert set(data.attributes) == {"runs", "quality"}


def test_attribute_sets_are_sent_with_their_data_set(tmp_path):
    with colonnade.create(tmp_path / "f.root", "Events", {"x": "float"}) as writer:
        writer.extend({"x": [1.0]})
        writer.attributes("runs").add({"run": 7}, first=0, last=1)
    sets = colonnade.open(tmp_path / "f.root").attributes
    assert sets["runs"]["run"].to_list() == [7]
    assert pickle.loads(pickle.dumps(sets))["runs"]["run"].to_list() == [7]
    with pytest.raises(colonnade.UnsupportedError, match=r"the data set, which has it there: \.attributes"):
        pickle.dumps(sets["runs"])
