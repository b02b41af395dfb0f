"""Snapshots into what is there already: random sequences of modes, names and engines against a model of the place."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame, _core
from colonnade import root as ROOT  # noqa: N812
from colonnade.errors import Error, FileMissingError, StorageError, UsageError

ENTRIES = 400
NAMES = ["A", "B", "dir/C"]


def contents(uri: str) -> dict[str, list[int]]:
    """The values of all data sets at a place."""
    found = {}
    for name in _core.data_sets(uri):
        with colonnade.open(uri, name) as data:
            found[name] = data.arrays(["n"], library="np")["n"].tolist()
    return found


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = str(tmp_path / "source.root")
    with colonnade.create(path, "Events", cluster_size="1 KiB") as writer:
        for first in range(0, ENTRIES, 50):
            writer.extend({"n": np.arange(first, first + 50)})
            writer.commit_cluster()
    return path


class Place:
    """A file or store, and what must be in it."""

    def __init__(self, uri: str, *, is_store: bool) -> None:
        self.uri, self.is_store = uri, is_store
        self.has: dict[str, list[int]] = {}

    def allows(self, mode: str, name: str) -> bool:
        if mode == "update":
            return bool(self.has) and name not in self.has
        return mode == "recreate" or name not in (self.has if self.is_store else NAMES if self.has else [])

    def put(self, mode: str, name: str, values: list[int]) -> None:
        if mode == "recreate" and not self.is_store:
            self.has.clear()
        self.has[name] = values


@pytest.mark.parametrize("seed", range(12))
def test_random_sequences(seed: int, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", "50")
    chosen = random.Random(seed)
    is_store = chosen.random() < 0.3
    place = Place(f"obj://{tmp_path}/store" if is_store else str(tmp_path / "out.root"), is_store=is_store)
    outcomes = set()
    for _ in range(14):
        mode = chosen.choices(["recreate", "create", "update"], [1, 3, 6])[0]
        name, modulus = chosen.choice(NAMES), chosen.randint(1, 5)
        engine = {"executor": Shuffled(seed), "npartitions": 3} if chosen.random() < 0.5 else {"threads": 2}
        reads = "A" if "A" in place.has and chosen.random() < 0.5 else "Events"
        df = DataFrame(reads, place.uri if reads == "A" else source, **engine)
        expected = [n for n in (place.has["A"] if reads == "A" else range(ENTRIES)) if n % modulus == 0]
        kept = df.filter(f"n % {modulus} == 0")
        how = {"append": True} if mode == "update" and chosen.random() < 0.5 else {"mode": mode}
        outcomes.add(allowed := place.allows(mode, name))
        if allowed:
            made = kept.snapshot(place.uri, name, ["n"], **how)
            place.put(mode, name, expected)
            assert made.take("n").value.tolist() == expected
            has_grown = reads == "A" and not is_store
            if mode != "recreate" and not (has_grown and "executor" in engine):
                assert kept.count().value == len(expected)
            elif mode != "recreate":
                with pytest.raises(StorageError, match="has been rewritten"):
                    _ = kept.count().value
        else:
            with pytest.raises(Error):
                kept.snapshot(place.uri, name, ["n"], **how)
        if place.has or Path(place.uri).exists():
            assert contents(place.uri) == place.has
        left = {each.name for each in tmp_path.iterdir()} - {"source.root", "out.root", "store"}
        assert not left
    assert outcomes == {True, False}
    if is_store:
        assert not colonnade.collect_garbage(place.uri).removed


@pytest.mark.parametrize("engine", [{}, {"executor": Shuffled(2)}], ids=["here", "engine"])
def test_what_is_refused_at_the_beginning(engine: dict[str, Any], source: str, tmp_path: Path) -> None:
    calls: list[int] = []

    def seen(n: Any) -> Any:
        calls.append(len(n))
        return n

    df = DataFrame("Events", source, **engine).define("m", seen, ["n"], returns=np.int64)
    path = str(tmp_path / "out.root")
    with pytest.raises(FileMissingError):
        df.snapshot(path, "A", ["m"], mode="update")
    assert not Path(path).exists()
    df.filter("n < 2").snapshot(path, "A", ["n"])
    for mode in ("create", "update"):
        with pytest.raises(UsageError, match=r"exists|already"):
            df.snapshot(path, "A", ["m"], mode=mode)
    bare = str(tmp_path / "out.rntuple")
    df.filter("n < 2").snapshot(bare, "A", ["n"], container="bare")
    with pytest.raises(UsageError, match="a bare file holds one data set"):
        df.snapshot(bare, "B", ["m"], mode="update")
    with pytest.raises(UsageError, match="mode"):
        df.snapshot(path, "B", ["m"], mode="append")
    assert len(calls) <= (0 if engine else 4)  # here at most a block of each run
    assert contents(path) == {"A": [0, 1]}


def test_a_run_that_fails_leaves_the_file_as_it_was(source: str, tmp_path: Path) -> None:
    def fail(n: Any) -> Any:
        if np.any(np.asarray(n) == ENTRIES - 1):
            raise ValueError("no")
        return n

    path = tmp_path / "out.root"
    DataFrame("Events", source).filter("n < 2").snapshot(path, "A", ["n"])
    df = DataFrame("Events", source, block_entries=50).define("m", fail, ["n"], returns=np.int64)
    with pytest.raises(ValueError, match="no"):
        df.snapshot(path, "B", ["m"], mode="update", cluster_size="1 KiB")
    assert contents(str(path)) == {"A": [0, 1]}
    DataFrame("Events", source).filter("n < 3").snapshot(path, "B", ["n"], mode="update")
    assert contents(str(path)) == {"A": [0, 1], "B": [0, 1, 2]}


def test_a_folder_takes_nothing_more(source: str, tmp_path: Path) -> None:
    df = DataFrame("Events", source, executor=Shuffled(1))
    with pytest.raises(UsageError, match="to which nothing is added"):
        df.snapshot(f"{tmp_path}/out/", "Events", mode="update")
    df.snapshot(f"{tmp_path}/out/", "Events", mode="create")
    assert DataFrame("Events", f"{tmp_path}/out/*.root").count().value == ENTRIES


def test_files_of_s3_are_created_only_once(s3_uri: Callable[[str], str], s3: Any, source: str) -> None:
    uri = f"{s3_uri('modes')}/out.root"
    for engine in ({}, {"executor": Shuffled(1)}):
        df = DataFrame("Events", source, **engine).filter("n < 4")
        if not engine:
            df.snapshot(uri, "A", ["n"], mode="create")
        for mode in ("create", "update"):
            with pytest.raises(Error):
                df.snapshot(uri, "B", ["n"], mode=mode)
        assert contents(uri) == {"A": [0, 1, 2, 3]}


def test_modes_of_root(source: str, tmp_path: Path) -> None:
    df = ROOT.RDataFrame("Events", source)
    path = str(tmp_path / "out.root")
    options = ROOT.RDF.RSnapshotOptions()
    # A missing file is made, as by TFile's UPDATE.
    for mode, name, low in [("UPDATE", "A", 1), ("update", "B", 2), ("UPDATE", "d/C", 3)]:
        options.fMode = mode
        df.Filter(f"n < {low}").Snapshot(name, path, ["n"], options)
    everything = {"A": [0], "B": [0, 1], "d/C": [0, 1, 2]}
    assert contents(path) == everything
    for mode in ("UPDATE", "CREATE", "NEW"):
        options.fMode = mode
        with pytest.raises(UsageError, match=r"exists|already"):
            df.Snapshot("A", path, ["n"], options)
    options.fMode = "APPEND"
    with pytest.raises(UsageError, match="'RECREATE', 'UPDATE'"):
        df.Snapshot("E", path, ["n"], options)
    assert contents(path) == everything
    for number, mode in enumerate(["NEW", "CREATE"]):
        options.fMode = mode
        df.Filter("n < 2").Snapshot("A", f"{tmp_path}/{number}.root", ["n"], options)
        assert contents(f"{tmp_path}/{number}.root") == {"A": [0, 1]}


def test_a_snapshot_that_cannot_be_opened_is_said_to_be_complete(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a server is lost after the commit."""

    def lost(_: Any) -> DataFrame:
        raise StorageError("no answer", "try again later", uri=path)

    path = str(tmp_path / "out.root")
    frame = DataFrame("Events", source, progress=False)
    with monkeypatch.context() as patched:
        patched.setattr("colonnade.frame.actions._Written.open", lost)
        with pytest.raises(StorageError) as caught:
            frame.snapshot(path, "A")
    assert caught.value.problem == (
        "no answer; what was committed is in its place and can be read, but the snapshot was not opened"
    )
    assert caught.value.uri == path
    assert len(contents(path)["A"]) == ENTRIES
