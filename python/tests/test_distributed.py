"""Data frames on other processes: the same bits on every engine, whatever happens to tasks and workers."""

from __future__ import annotations

import contextlib
import copy
import errno
import gc
import itertools
import json
import multiprocessing
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import awkward as ak
import hist
import numpy as np
import pytest
from s3_server import BUCKET
from shuffled_engine import Shuffled

import colonnade
from colonnade import DataFrame, RDataFrame, _core, distributed, root
from colonnade.distributed import Partial, Task
from colonnade.distributed.dask import Homes
from colonnade.distributed.engines import Futures, Processes
from colonnade.distributed.tasks import cut
from colonnade.errors import (
    ChecksumError,
    FileMissingError,
    FormatError,
    ResourceError,
    StorageError,
    TypeMismatchError,
    UnsupportedError,
    UsageError,
)
from colonnade.frame import callables
from colonnade.frame.callables import with_sum
from colonnade.frame.progress import PassBar

PART_ENTRIES = 40
FILES = (310, 5, 0, 420, 265)
ENTRIES = sum(FILES)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Uneven files, one of them empty; "late" is missing in some; pages end every few entries."""
    folder = tmp_path_factory.mktemp("distributed")
    rng = np.random.default_rng(1)
    paths = []
    first = 0
    for k, entries in enumerate(FILES):
        paths.append(str(folder / f"{k}.root"))
        columns = {
            "x": rng.normal(0, 50, entries),
            "n": np.arange(first, first + entries, dtype=np.int32) % 7,
            "w": rng.normal(1, 0.3, entries) * 10.0 ** rng.integers(-3, 3, entries),
            "v": ak.unflatten(
                rng.exponential(20, 3 * entries).astype(np.float32), np.full(entries, 3, dtype=np.int64)
            ),
            "s": ak.Array([f"t{j % 3}" for j in range(entries)]) if entries else ak.Array(["a"])[:0],
        } | ({"late": rng.normal(size=entries)} if k % 2 == 0 else {})
        kinds = {
            "x": "double",
            "n": "std::int32_t",
            "w": "double",
            "v": "std::vector<float>",
            "s": "std::string",
        }
        if k % 2 == 0:
            kinds["late"] = "double"
        with colonnade.create(paths[-1], "Events", kinds, initial_page_size=64, page_size=64) as writer:
            for at in range(0, entries, 90):
                writer.extend({name: values[at : at + 90] for name, values in columns.items()})
                writer.commit_cluster()
        first += entries
    return paths


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """For all processes that are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLONNADE_TEST_PART_ENTRIES", str(PART_ENTRIES))
        yield


@pytest.fixture(scope="module")
def processes(small_parts: None) -> Iterator[Any]:
    engine = Processes(2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def loky(small_parts: None) -> Iterator[Any]:
    from loky import ProcessPoolExecutor

    with ProcessPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def dask(small_parts: None) -> Iterator[Any]:
    """A cluster of two processes with two threads each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0", host="127.0.0.1"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def spark(small_parts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster with an executor of two cores."""
    from spark_cluster import spark_session

    folder = tmp_path_factory.mktemp("spark")
    environment = {"COLONNADE_TEST_PART_ENTRIES": str(PART_ENTRIES)}
    with spark_session(folder, **environment) as session:
        yield session


ENGINES = ["processes", "loky", "dask", "spark"]


@pytest.fixture(params=ENGINES)
def executor(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


# ---- Everything that a DataFrame computes


def book_everything(df: DataFrame, folder: Path) -> dict[str, Any]:
    """A result of every kind, over a graph with nodes of every kind."""
    node = df.default_value_for("late", -1.0).define("y", "sqrt(abs(x)) + late").alias("items", "v")
    node = node.redefine("x", "x * 1.5").define("half", lambda x: x / 2, ["x"])
    node = node.define("row", lambda x, v: float(x) + float(v[0]), ["x", "v"], per_row=True, returns="double")
    node = node.define_per_sample("sample", lambda name: float(len(name)), returns="double")
    node = node.vary("x", "{x * 0.9, x * 1.1}", ["down", "up"], "scale")
    cut_ = node.filter("x > -40", name="low").filter(lambda n: n != 3, ["n"], name="no threes")
    growing = hist.Hist(hist.axis.StrCategory([], growth=True), hist.storage.Weight())
    booked = {
        "count": cut_.count(),
        "sum": cut_.sum("w"),
        "sum of integers": cut_.sum("n"),
        "min": cut_.min("v"),
        "max": cut_.max("x"),
        "mean": cut_.mean("row"),
        "stddev": cut_.stddev("half"),
        "stats": cut_.stats("y", "w"),
        "quantile": cut_.quantile("x", [0.1, 0.5]),
        "value_counts": cut_.value_counts("n"),
        "unique": cut_.unique("s"),
        "summary": cut_.summary(["x", "n"]),
        "histo1d": cut_.histo1d(("h", "h", 20, -100, 100), "x"),
        "weighted": cut_.histo1d(("h", "h", 20, -100, 100), "x", "w"),
        "histo2d": cut_.histo2d(("h", "h", 5, -100, 100, 5, 0, 50), "x", "items", "w"),
        "automatic": cut_.histo1d("x"),
        "automatic, weighted": cut_.histo1d(None, "x", "w"),
        "profile": cut_.profile1d(("p", "p", 10, -100, 100), "x", "y", "w"),
        "fill": cut_.fill(growing, "s", weight="w"),
        "graph": cut_.graph("x", "y"),
        "take": cut_.take("v"),
        "report": cut_.report(),
        "report of all": df.report(),
        "display": cut_.display(["x", "s"], 7),
        "reduce": cut_.reduce(np.add, "w"),
        "reduce by Python": cut_.reduce(lambda a, b: a + b, "w", 0.5),
        "aggregate": cut_.aggregate(lambda s, x: s + float(np.sum(x)), lambda a, b: a + b, "x", 0.0),
        "awkward": cut_.lazy_awkward(["x", "v", "s"]),
        "numpy": cut_.lazy_numpy(["x", "n"]),
        "arrow": cut_.lazy_arrow(["x", "v", "s"]),
        "range": cut_.range(20, 200, 3).sum("x"),
        "range behind a range": node.range(400).filter("n > 2").range(5).take("x"),
        "available": df.filter_available("late").count(),
        "missing": df.filter_missing("late").sum("x"),
        "slots": df.define("e", "rdfentry_").sum("e"),
        "snapshot": cut_.snapshot(folder / "out.root", columns=["x", "v", "s"], lazy=True),
        "snapshot of a range": df.range(100).snapshot(folder / "range.root", columns=["x"], lazy=True),
    }
    varied = {
        name: df.variations_for(booked[name])
        for name in ("sum", "weighted", "profile", "report", "take", "reduce", "range")
    }
    return booked | {f"{name}, varied": value for name, value in varied.items()}


def bits(value: Any) -> Any:
    """Something that is equal where all bits are."""
    if hasattr(value, "items") and hasattr(value, "is_ready"):
        return {name: bits(value[name]) for name in value}
    if isinstance(value, DataFrame):
        columns = sorted(value.column_names)
        return columns, bits(value.to_awkward(columns))
    if isinstance(value, hist.Hist):
        return (
            [str(axis) for axis in value.axes],
            value.view(flow=True).tobytes(),
            value.values(flow=True).shape,
        )
    if isinstance(value, ak.Array):
        form, length, buffers = ak.to_buffers(ak.to_packed(value))
        return form.type.__str__(), length, sorted((k, np.asarray(v).tobytes()) for k, v in buffers.items())
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tobytes()) if value.dtype != object else repr(value.tolist())
    if isinstance(value, dict):
        return [(name, bits(each)) for name, each in value.items()]
    if isinstance(value, list | tuple):
        return [bits(each) for each in value]
    if isinstance(value, float | np.floating):
        return np.float64(value).tobytes()
    if hasattr(value, "to_pydict"):
        return repr(value.schema), repr(value.to_pydict())
    if hasattr(value, "arrays"):
        return bits(value.arrays)
    if type(value).__name__ == "GraphPoints":
        return bits([value.x, value.y])
    return repr(value)


def outcome(booked: dict[str, Any]) -> dict[str, Any]:
    return {name: bits(value if "varied" in name else value.value) for name, value in booked.items()}


@pytest.fixture(scope="module")
def expected(files: list[str], small_parts: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one thread of this process gives."""
    df = DataFrame("Events", files, threads=1)
    found = outcome(book_everything(df, tmp_path_factory.mktemp("expected")))
    assert df._session.last_run.parts > 20
    return found


def slice_results(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Make slices of results, as of those of gigabytes."""
    monkeypatch.setattr(distributed.plans, "_SLICE_BYTES", size)


@pytest.mark.parametrize(("npartitions", "slice_bytes"), [(None, 1 << 28), (1, 1000), (17, 200), (40, 1000)])
def test_every_result_is_the_same_bit_for_bit(
    executor: Any,
    npartitions: int | None,
    slice_bytes: int,
    files: list[str],
    expected: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slice_results(monkeypatch, slice_bytes)
    df = DataFrame("Events", files, executor=executor, npartitions=npartitions)
    found = outcome(book_everything(df, tmp_path))
    for name, value in expected.items():
        assert found[name] == value, name
    assert df.num_runs == 0  # nothing was computed here
    assert sorted(each.name for each in tmp_path.iterdir()) == ["out.root", "range.root"]


@pytest.mark.parametrize("seed", range(10))
def test_order_and_grouping_do_not_matter(
    seed: int,
    files: list[str],
    expected: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slice_results(monkeypatch, random.Random(seed).choice([1 << 28, 100, 1000]))
    npartitions = random.Random(seed).randint(1, 60)
    df = DataFrame("Events", files, executor=Shuffled(seed), npartitions=npartitions)
    found = outcome(book_everything(df, tmp_path))
    for name, value in expected.items():
        assert found[name] == value, name


@pytest.mark.parametrize("slice_bytes", [1000, 4096, 1 << 28])
def test_large_results_travel_in_slices(
    files: list[str], slice_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slice_results(monkeypatch, slice_bytes)
    df = DataFrame("Events", files, executor=Shuffled(3))
    results = [
        df.histo1d(("h", "h", 1000, -100, 100), "x"),
        df.histo1d(("h", "h", 1000, -100, 100), "x", "w"),
        df.profile1d(("p", "p", 1000, -100, 100), "x", "w"),
    ]
    plan = df.freeze(*results)
    sizes = [1002 * 12, 1002 * 80, 1002 * 120]
    assert [plan.slices(k) for k in range(3)] == [max(size // slice_bytes, 1) for size in sizes]
    made = [distributed.run_task(plan.to_bytes(), task) for task in plan.tasks(7)]
    for partial in made:
        for pieces in partial.pieces.values():
            assert all(len(piece.data or b"") < 2 * slice_bytes + 1000 for piece in pieces)
    whole = distributed.merge(plan, made)
    for lost in range(plan.slices(1)):  # no answer may be lost
        part = replace(whole, pieces=dict(whole.pieces))
        key = plan.fingerprint, 1
        part.pieces[key] = [piece for piece in whole.pieces[key] if piece.slice != lost]
        with pytest.raises(UsageError, match=r"partial results are missing: of the entries"):
            plan.finish(part)
    plan.finish(whole)
    local = DataFrame("Events", files)
    assert bits(results[1].value) == bits(local.histo1d(("h", "h", 1000, -100, 100), "x", "w").value)


def test_entries_of_the_user_are_not_those_of_workers(files: list[str]) -> None:
    for entries in ((0, 0), (100, 101), (37, 555), (0, ENTRIES), (999, 1000)):
        local = DataFrame("Events", files, entries=entries)
        remote = DataFrame("Events", files, entries=entries, executor=Shuffled(3), npartitions=6)
        for df in (local, remote):
            df.booked = (df.take("x"), df.histo1d(("h", "h", 9, -9, 9), "x", "w"), df.count())  # type: ignore[attr-defined]
        assert [bits(a.value) for a in local.booked] == [bits(b.value) for b in remote.booked]  # type: ignore[attr-defined]


def test_several_data_frames_run_together(processes: Any, files: list[str]) -> None:
    frames = [DataFrame("Events", files[k:], executor=processes) for k in range(3)]
    here = DataFrame("Events", files)
    sums = [frame.sum("x") for frame in [*frames, here]]
    assert colonnade.run_graphs(sums) == 4
    assert all(each.is_ready for each in sums)
    assert [each.value for each in sums[:3]] == [
        DataFrame("Events", files[k:]).sum("x").value for k in range(3)
    ]


def test_equal_data_frames_run_together(files: list[str]) -> None:
    total = DataFrame("Events", files).sum("x").value
    shown: list[float] = []
    for executor in (engine := Noting(), None):
        sums = [DataFrame("Events", files, executor=executor).sum("x") for _ in range(3)]
        for each in sums[executor is not None :]:
            each.on_partial(shown.append)
        assert colonnade.run_graphs(sums) == 3
        assert [each.value for each in sums] == [total] * 3
    assert len(engine.stretches) == 1


def test_data_frames_without_files(processes: Any) -> None:
    df = DataFrame(1000, executor=processes).define("x", "rdfentry_ * 2.0")
    assert df.sum("x").value == 999000
    assert (
        RDataFrame(10, executor=processes, npartitions=3).Define("y", "rdfentry_").Sum("y").GetValue() == 45
    )


def test_foreach_runs_where_the_data_are(processes: Any, files: list[str], tmp_path: Path) -> None:
    def note(n: Any) -> None:
        (tmp_path / f"{os.getpid()}-{time.monotonic_ns()}").write_text(str(len(n)))

    for times in (1, 2):  # whatever was kept
        df = DataFrame("Events", files, executor=processes, checkpoint=f"{tmp_path}-kept")
        df.foreach(note, "n")
        seen = list(tmp_path.iterdir())
        assert sum(int(each.read_text()) for each in seen) == times * ENTRIES
    assert str(os.getpid()) not in {each.name.split("-")[0] for each in seen}


def test_cached_columns_and_steps(processes: Any, files: list[str]) -> None:
    df = DataFrame("Events", files, executor=processes).define("y", "x * 2")
    assert df.cache(["y"]).sum("y").value == DataFrame("Events", files).sum("x * 2").value
    assert sum(len(step) for step in df.iterate(["y"], step_size=100)) == ENTRIES


@pytest.mark.parametrize("place", ["folder", "obj"])
def test_cached_columns_stay_where_workers_reach_them(
    executor: Any, files: list[str], tmp_path: Path, place: str
) -> None:
    where = str(tmp_path / "kept[1]") if place == "folder" else f"obj://{tmp_path}/kept"
    names = ["y", "v", "s", "n"]
    local = DataFrame("Events", files).define("y", "x * 2").filter("n > 1")
    df = DataFrame("Events", files, executor=executor).define("y", "x * 2").filter("n > 1")
    kept = df.cache(names, place=where)
    assert kept.column_names == names
    assert bits(kept.to_awkward(names)) == bits(local.to_awkward(names))
    assert kept.filter("n > 2").sum("y").value == local.filter("n > 2").sum("y").value
    later = kept.filter("n > 3").count()  # what stands on it keeps it
    del kept
    gc.collect()
    assert later.value == local.filter("n > 3").count().value
    del later
    gc.collect()
    if place == "folder":
        assert list(Path(where).iterdir()) == []
    else:
        assert [each for each in _core.data_sets(where) if each.startswith("cache-")] == []


def test_cached_columns_survive_workers(files: list[str], tmp_path: Path) -> None:
    engine = Processes(2)
    kept = DataFrame("Events", files, executor=engine).define("y", "x * 2").cache(["y"], place=tmp_path)
    engine.close()  # all of them are gone, and new ones start
    assert kept.sum("y").value == DataFrame("Events", files).sum("x * 2").value
    engine.close()


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_cached_columns_of_one_process(scheme: str, files: list[str], tmp_path: Path) -> None:
    place = tmp_path / "fresh"
    kept = DataFrame("Events", files).cache(["x"], place=f"{scheme}{place}")
    assert bits(kept.take("x").value) == bits(DataFrame("Events", files).take("x").value)
    assert len(list(place.glob("cache-*"))) == len(list(place.glob(".cache-*"))) == 1
    del kept
    gc.collect()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("place", ["folder", "obj"])
@pytest.mark.parametrize("engine", [None, Shuffled(1)])
def test_columns_that_cannot_be_cached_leave_nothing(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, engine: Any
) -> None:
    where = str(tmp_path / "kept") if place == "folder" else f"obj://{tmp_path}/kept"

    def refuse(*_: object) -> Any:
        raise KeyboardInterrupt

    def left() -> list[Any]:
        return list(Path(where).iterdir()) if place == "folder" else list(_core.data_sets(where))

    df = DataFrame("Events", files, executor=engine)
    with pytest.raises(ValueError, match="no y"):
        df.define("y", no_y, ["x"], returns="double").cache(["y"], place=where)
    assert left() == []
    monkeypatch.setattr(colonnade.frame.actions._Written, "open", refuse)  # when all columns are there
    with pytest.raises(KeyboardInterrupt):
        df.cache(["x"], place=where)
    assert left() == []


def test_a_place_without_permission(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Any, *_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    df = DataFrame("Events", files)
    monkeypatch.setattr(colonnade.distributed.presence.os, "open", refuse)
    with pytest.raises(StorageError, match="no files can be created in the folder: Permission denied"):
        df.cache(["x"], place=tmp_path)


def no_y(x: Any) -> Any:
    raise ValueError("no y")


@pytest.mark.parametrize("why", ["a callable", "no folder", "arrays in memory", "the commit", "a table"])
def test_other_results_are_computed_when_one_cannot_be(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    df = DataFrame("Events", files, executor=Shuffled(1))
    target = tmp_path / ("none/s.root" if why == "no folder" else "s.root")
    booked: Any
    match why:
        case "a callable":
            booked = df.define("y", no_y, ["x"], returns="double").snapshot(target, "S", ["y"], lazy=True)
        case "a table":
            with colonnade.create(tmp_path / "twice.root", "Twice") as writer:
                writer.extend({"n": [1, 1], "z": [2, 3]})
            other = df.join("Twice", tmp_path / "twice.root", on="n", table=tmp_path / "keys")
            assert df.count().value == ENTRIES  # which does not need it
            booked = other.sum("z")
        case "arrays in memory":
            booked = df.join({"n": np.arange(3), "z": np.arange(3)}, on="n").sum("z")
        case _:
            booked = df.snapshot(target, "S", ["x"], lazy=True)
    if why == "the commit":
        monkeypatch.setattr("colonnade.distributed.driver.commit", lambda *_: no_y(None))
    with pytest.raises((ValueError, colonnade.Error)):
        booked.value  # noqa: B018
    assert df.sum("x").value == DataFrame("Events", files).sum("x").value
    with pytest.raises((ValueError, colonnade.Error)):  # again, as it is wanted
        booked.value  # noqa: B018


# ---- Plans, tasks, partial results


def booked_plan(files: list[str], **more: Any) -> tuple[Any, Any, Any]:
    df = DataFrame("Events", files, executor=Shuffled(0), **more)
    result = df.filter("n > 1").sum("x")
    return df, result, df.freeze(result)


def test_the_layer_below_gives_the_users_results(files: list[str]) -> None:
    df, result, plan = booked_plan(files)
    partials = [distributed.run_task(plan.to_bytes(), task) for task in plan.tasks(9)]
    half = distributed.merge(plan, partials[1::2])
    plan.finish(distributed.merge(plan, [half, *partials[::2]]))
    assert result.is_ready
    assert result.value == DataFrame("Events", files).filter("n > 1").sum("x").value
    assert df.num_runs == 0


def test_gaps_overlaps_repeats_and_other_plans_are_refused(files: list[str]) -> None:
    _, _, plan = booked_plan(files)
    partials = [distributed.run_task(plan, task) for task in plan.tasks(5)]
    for missing in range(len(partials)):
        with pytest.raises(UsageError, match="partial results are missing"):
            plan.finish(distributed.merge(plan, partials[:missing] + partials[missing + 1 :]))
    with pytest.raises(UsageError, match="twice"):
        distributed.merge(plan, [*partials, partials[2]])
    with pytest.raises(UsageError, match="twice"):
        distributed.merge(plan, [distributed.merge(plan, partials[:3]), partials[1]])
    wider = distributed.run_task(plan, Task(plan.fingerprint, 10, 300, (0,)))
    with pytest.raises(UsageError, match="twice"):
        distributed.merge(plan, [partials[0], wider])
    df = DataFrame("Events", files, executor=Shuffled(0))
    result = df.mean("x")
    other = df.freeze(result)
    assert result is not None
    with pytest.raises(UsageError, match="another plan"):
        distributed.merge(other, partials)
    with pytest.raises(UsageError, match="another plan"):
        distributed.run_task(other, plan.tasks(1)[0])
    task = plan.tasks(1)[0]
    for change in ({"results": (7,)}, {"first": -1}, {"last": ENTRIES + 1}, {"first": 20, "last": 10}):
        with pytest.raises(UsageError, match="no such task"):
            distributed.run_task(plan, replace(task, **change))


def test_damaged_partial_results_are_errors(files: list[str]) -> None:
    _, result, plan = booked_plan(files)
    partials = [distributed.run_task(plan, task) for task in plan.tasks(3)]
    key = (plan.fingerprint, 0)
    (piece,) = partials[1].pieces[key]
    for change in (
        {"first": "a"},
        {"last": None},
        {"slice": "a"},
        {"data": "text"},
        {"first": piece.last + 1},
    ):
        damaged = [partials[0], Partial({key: [replace(piece, **change)]}), partials[2]]
        with pytest.raises(FormatError, match="damaged"):
            distributed.merge(plan, damaged)
        with pytest.raises(FormatError, match="damaged"):
            plan.finish(damaged[1])
    with pytest.raises(UsageError, match="another plan"):
        distributed.merge(plan, [Partial({(plan.fingerprint, 7): [piece]})])
    for wrong in (None, 3, partials[0], [*partials, b"x"]):
        with pytest.raises(TypeMismatchError, match="partial result"):
            distributed.merge(plan, wrong)  # type: ignore[arg-type]
    whole = distributed.merge(plan, partials)
    data = whole.to_bytes()
    flipped = [bytes([*data[:at], data[at] ^ 1, *data[at + 1 :]]) for at in range(len(data))]
    for bad in (b"", b"x", pickle.dumps(3), with_sum(pickle.dumps(3)), data[:-9], *flipped):
        with pytest.raises(FormatError, match="not a partial result"):
            Partial.from_bytes(bad)
    plan.finish(whole)
    assert result.value == DataFrame("Events", files).filter("n > 1").sum("x").value


class Noting(Shuffled):
    """Knows which stretches of entries it was asked for."""

    def __init__(self) -> None:
        super().__init__(0)
        self.stretches: list[list[tuple[int, int]]] = []

    def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:
        self.stretches.append(sorted((task.first, task.last) for task in tasks))
        yield from super().run(plans, tasks, piecemeal)


def test_results_behind_ranges_are_many_tasks(files: list[str]) -> None:
    local = DataFrame("Events", files)
    engine = Noting()
    df = DataFrame("Events", files, executor=engine, npartitions=12)
    assert df.range(10, 900, 3).sum("x").value == local.range(10, 900, 3).sum("x").value
    (plain,) = engine.stretches  # nothing has to be counted
    assert len(plain) >= 9
    engine.stretches.clear()
    found = df.filter("n > 1").range(10, 0, 2).take("x").value
    assert bits(found) == bits(local.filter("n > 1").range(10, 0, 2).take("x").value)
    *counted, computed = engine.stretches
    assert len(computed) >= 9
    assert sorted(each for wave in counted for each in wave) == computed


def test_the_first_rows_cost_the_first_tasks(files: list[str]) -> None:
    engine = Noting()
    df = DataFrame("Events", files, executor=engine, npartitions=25)
    rows = df.filter("n > 1").range(3)
    assert rows.filter("x > -1e9").range(2).count().value == 2
    assert all(last <= ENTRIES // 2 for wave in engine.stretches for _, last in wave)
    assert len(engine.stretches[-1]) == 1  # of the results themselves
    assert df.filter("n > 100").range(3).count().value == 0
    assert DataFrame("Events", files[2], executor=engine).filter("n > 1").range(3).count().value == 0


@pytest.mark.parametrize("seed", range(25))
def test_random_ranges(files: list[str], tmp_path: Path, seed: int) -> None:
    """Filters and ranges below each other, with a variation, against slices of a list."""
    chosen = random.Random(seed)
    x = DataFrame("Events", files).to_numpy(["x"])["x"]
    begin = chosen.choice([0, 0, 7, 333])
    frames = [
        DataFrame("Events", files, entries=(begin, ENTRIES), **more)
        for more in ({}, {"executor": Shuffled(seed), "npartitions": chosen.randint(1, 60)})
    ]
    nodes = [df.vary("x", "{x + 20, x - 20}", ["up", "down"], "shift") for df in frames]
    rows = {
        name: [(value, float(value) + more) for value in x[begin:]]
        for name, more in {"nominal": 0, "shift:up": 20, "shift:down": -20}.items()
    }
    booked: list[list[Any]] = [[], []]
    expected: list[dict[str, list[float]]] = []
    for _ in range(chosen.randint(1, 6)):
        if chosen.random() < 0.5:
            edge = chosen.randint(-60, 60)
            nodes = [node.filter(f"x > {edge}") for node in nodes]
            rows = {name: [row for row in kept if row[1] > edge] for name, kept in rows.items()}
        else:
            first, stride = chosen.choice([0, 0, 3, 50]), chosen.choice([1, 1, 2, 7])
            last = chosen.choice([0, first + 1, first + 20, first + 300])
            nodes = [node.range(first, last, stride) for node in nodes]
            rows = {name: kept[first : last or None : stride] for name, kept in rows.items()}
        if chosen.random() < 0.7:
            for found, df, node in zip(booked, frames, nodes, strict=True):
                found.append(df.variations_for(node.take("x")))
            expected.append({name: [row[1] for row in kept] for name, kept in rows.items()})
    written = [
        node.snapshot(tmp_path / f"{k}.root", columns=["x"], lazy=True) for k, node in enumerate(nodes)
    ]
    for local, remote, values in zip(*booked, expected, strict=True):
        for name in remote:
            assert bits(remote[name]) == bits(local[name])
            assert np.allclose(remote[name], values[name], rtol=0, atol=1e-9)
    assert bits(written[1].value.take("x").value) == bits(written[0].value.take("x").value)


def test_ranges_with_the_layer_below(files: list[str]) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0))
    result = df.filter("n > 1").range(10, 300).sum("x")
    plan = df.freeze(result)
    assert [(task.first, task.last) for task in plan.tasks(20)] == [(0, ENTRIES)]
    with pytest.raises(UsageError, match="how many entries reached it before"):
        distributed.run_task(plan, Task(plan.fingerprint, 80, 120, (0,)))

    def compute(plan: Any, tasks: Any) -> list[Partial]:
        return [distributed.run_task(plan.to_bytes(), task) for task in tasks]

    reached = distributed.count_ranges(plan, plan.stretches(20), compute)
    tasks = plan.tasks(20, reached)
    assert len(tasks) > 3
    partials = [distributed.run_task(plan.to_bytes(), task) for task in tasks]
    plan.finish(distributed.merge(plan, [reached.rest(), *partials]))
    assert result.value == DataFrame("Events", files).filter("n > 1").range(10, 300).sum("x").value


def test_counts_of_ranges_are_of_each_stretch(files: list[str]) -> None:
    df = DataFrame("Events", files)
    plan = df.freeze(df.filter("n > 1").range(10, 300).count())

    def merged(plan: Any, tasks: Any) -> Partial:
        return distributed.merge(plan, [distributed.run_task(plan, task) for task in tasks])

    def without_the_last(plan: Any, tasks: Any) -> list[Partial]:
        return [distributed.run_task(plan, task) for task in tasks[:-1]]

    for compute in (merged, without_the_last):
        with pytest.raises(UsageError, match="were not counted by themselves"):
            distributed.count_ranges(plan, plan.stretches(20), compute)


def test_misuse_of_counting(files: list[str]) -> None:
    df = DataFrame("Events", files)
    plan = df.freeze(df.filter("n > 1").range(10, 300).count())

    def compute(plan: Any, tasks: Any) -> list[Partial]:
        return [distributed.run_task(plan, task) for task in tasks]

    nothing: Any = lambda plan, tasks: None  # noqa: E731
    with pytest.raises(
        TypeMismatchError, match=r"compute\(plan, tasks\) returned None, not a list of partial"
    ):
        distributed.count_ranges(plan, plan.stretches(20), nothing)
    for stretches in ([(40, 80), (0, 40)], [(0, 40), (60, 80)]):
        with pytest.raises(UsageError, match="does not follow that from"):
            distributed.count_ranges(plan, stretches, compute)


def test_the_error_of_a_failed_task_is_raised(files: list[str]) -> None:
    df = DataFrame("Events", files)

    def refuse(x: Any) -> Any:
        raise ZeroDivisionError("of the user")

    filtered = df.filter(refuse, ["x"])
    plan = df.freeze(filtered.count(), filtered.range(10).count())

    def compute(plan: Any, tasks: Any) -> list[Partial]:
        return [distributed.run_task(plan, task) for task in tasks]

    with pytest.raises(ZeroDivisionError, match="of the user"):
        distributed.count_ranges(plan, plan.stretches(20), compute)
    with pytest.raises(ZeroDivisionError, match="of the user"):
        plan.finish(distributed.merge(plan, compute(plan, plan.tasks(20))))


def test_ranges_go_on_behind_what_is_left_out(tmp_path: Path) -> None:
    path, x, spoilt = damaged_file(tmp_path)
    df = DataFrame("Events", path, executor=Shuffled(0), npartitions=2, on_error="skip")
    taken = df.filter("x > -1").range(5, 0, 2).take("x")
    left = np.delete(x, slice(spoilt, spoilt + PART_ENTRIES))
    assert bits(taken.value) == bits(left[left > -1][5::2])
    (skipped,) = df.skipped
    assert (skipped.first, skipped.last) == (spoilt, spoilt + PART_ENTRIES)


def test_counts_of_ranges_are_kept(files: list[str], tmp_path: Path) -> None:
    def compute(engine: Noting, end: int) -> Any:
        df = DataFrame("Events", files, executor=engine, checkpoint=tmp_path)
        return df.filter("n > 1").range(5, end).sum("x").value

    local = DataFrame("Events", files).filter("n > 1")
    assert compute(Noting(), 600) == local.range(5, 600).sum("x").value
    again, other = Noting(), Noting()
    assert compute(again, 600) == local.range(5, 600).sum("x").value
    assert not any(again.stretches)
    assert compute(other, 601) == local.range(5, 601).sum("x").value
    assert any(other.stretches)


def test_plans_open_nothing_and_hold_what_is_needed_only(files: list[str], tmp_path: Path) -> None:
    copies = [shutil.copy(file, tmp_path) for file in files]
    df = DataFrame("Events", copies, executor=Shuffled(0))
    unused = (
        df.define("never", "x + 1").define("secret", lambda x: x, ["x"]).filter("never > 2", name="unused")
    )
    used = df.define("used", "x * 2")
    result, other = used.sum("used"), unused.count()
    plan = df.freeze(result)
    assert "used" in plan.text
    assert "never" not in plan.text
    assert "callables" not in plan.text
    assert len(df.freeze(other).text) > len(plan.text)
    for each in copies:
        os.rename(each, each + ".gone")
    again = distributed.Plan.from_bytes(plan.to_bytes())
    assert again.fingerprint == plan.fingerprint
    graph = again.graph()  # types, names and entries are known without a file
    assert "used" in graph.column_names(plan.booking(0).node)
    failed = distributed.run_task(again, plan.tasks(1)[0])
    assert isinstance(failed.failures[0].error, Exception)


def test_plans_stay_small(tmp_path: Path) -> None:
    paths = []
    for k in range(40):
        paths.append(str(tmp_path / f"f{k}.root"))
        with colonnade.create(paths[-1], "Events", {f"c{j}": "float" for j in range(30)}) as writer:
            writer.extend({f"c{j}": np.arange(5, dtype=np.float32) for j in range(30)})
    sizes = []
    for number in (20, 40):
        df = DataFrame("Events", paths[:number], executor=Shuffled(0))
        result = df.sum("c1")
        sizes.append(len(df.freeze(result).text))
    assert sizes[0] < 100_000
    assert (sizes[1] - sizes[0]) / 20 < 200 + len(paths[-1])


def test_many_files_are_planned_from_what_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    number = 3000
    with colonnade.create(folder / "0.root", "Events", {f"c{j}": "float" for j in range(30)}) as writer:
        writer.extend({f"c{j}": np.arange(5, dtype=np.float32) for j in range(30)})
    for k in range(1, number):
        os.link(folder / "0.root", folder / f"{k}.root")
    paths = [str(folder / f"{k}.root") for k in range(number)]
    df = DataFrame("Events", paths, executor=Shuffled(0))
    os.rename(folder, tmp_path / "gone")  # nothing is opened again
    plan = df.freeze(df.sum("c1"))
    assert len(plan.to_bytes()) < 100_000 + number * (200 + len(paths[-1]))
    for target in (1, 50, number):
        tasks = plan.tasks(target)
        assert [task.first for task in tasks[1:]] == [task.last for task in tasks[:-1]]
        assert (tasks[0].first, tasks[-1].last) == plan.entries == (0, 5 * number)
        assert target / 2 <= len(tasks) <= 2 * target
        assert max(len(pickle.dumps(task)) for task in tasks) < 10_000
        assert all(set(task.uris) <= set(paths) for task in tasks)


@pytest.fixture(scope="module")
def many_files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """600 files of four kinds and two data sets: other types, missing columns, no entries, several clusters."""
    folder = tmp_path_factory.mktemp("many")
    random = np.random.default_rng(3)
    kinds = [
        ({"x": "float", "n": "std::int32_t"}, 700),
        ({"x": "double", "n": "std::int32_t", "late": "float"}, 12),
        ({"x": "float", "n": "std::int32_t"}, 0),
        ({"n": "std::int16_t", "x": "float", "late": "float"}, 300),
    ]
    for k, (schema, entries) in enumerate(kinds):
        for name, mode in (("Events", "recreate"), ("More", "update")):
            path = folder / f"kind{k}.root"
            with colonnade.create(path, name, schema, cluster_size="1 KiB", mode=mode) as writer:
                for _ in range(3):
                    writer.extend({field: random.integers(0, 99, entries).astype("i2") for field in schema})
    paths = []
    for k, kind in enumerate(random.integers(0, len(kinds), 600)):
        os.link(folder / f"kind{kind}.root", folder / f"{k:04}.root")
        paths.append(str(folder / f"{k:04}.root"))
    return paths


def with_names(files: list[str]) -> list[tuple[str, str]]:
    return [(file, "More" if k % 3 else "Events") for k, file in enumerate(files)]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_workers_look_into_many_files(many_files: list[str], seed: int, named: bool) -> None:
    given: Any = ("", with_names(many_files)) if named else ("Events", many_files)
    here = DataFrame(*given)
    there = DataFrame(*given, executor=Shuffled(seed))
    assert (
        there.freeze(there.mean("x"), there.sum("n")).text == here.freeze(here.mean("x"), here.sum("n")).text
    )
    assert there.count().value == here.count().value
    assert there.mean("x").value.hex() == here.mean("x").value.hex()
    assert there.filter_available("late").sum("late").value == here.filter_available("late").sum("late").value


def test_the_client_opens_none_of_many_files(many_files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    named = with_names(many_files)
    wanted = DataFrame("Events", many_files, friends={"f": named}).sum("x + f.x").value

    def refuse(*_: object) -> None:
        raise AssertionError("the client opens files")

    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        monkeypatch.setattr(_core, "open_named_chain", refuse)
        df = DataFrame("Events", many_files, friends={"f": named}, executor=executor)
        assert df.join("", named, on="n", duplicates="first").has_column("Events_x")
        result = df.sum("x + f.x")
        tasks = df.freeze(result).tasks(8)
        assert result.value == wanted
    # What is known of the columns, without the files, makes tasks of about the same size.
    sizes = [task.bytes for task in tasks]
    assert min(sizes) > 0
    assert max(sizes) < 2 * sum(sizes) / len(sizes)


@pytest.mark.parametrize("how", ["missing", "damaged", "no data set", "another type"])
def test_one_of_many_files_is_bad(many_files: list[str], how: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.root"
    if how == "damaged":
        bad.write_bytes(Path(many_files[0]).read_bytes()[:300])
    elif how != "missing":
        name, kind = ("Others", "float") if how == "no data set" else ("Events", "std::string")
        with colonnade.create(bad, name, {"x": kind}):
            pass
    files = [*many_files[:500], str(bad), *many_files[500:]]
    with pytest.raises(colonnade.Error) as there:
        DataFrame("Events", files, executor=Shuffled(1))
    with pytest.raises(colonnade.Error) as here:
        DataFrame("Events", files)
    assert type(there.value) is type(here.value)
    assert str(bad) in str(there.value)


def test_a_worker_opens_what_it_reads_only(files: list[str], tmp_path: Path) -> None:
    copies = [shutil.copy(file, tmp_path) for file in files]
    df = DataFrame("Events", copies, executor=Shuffled(0))
    result = df.sum("x")
    plan = df.freeze(result)
    os.remove(copies[0])
    last = plan.tasks(40)[-1]
    assert not distributed.run_task(plan.to_bytes(), last).failures


def test_damaged_plans_are_errors(files: list[str]) -> None:
    _, _, plan = booked_plan(files)
    for text in (b"", b"[]", b"{}", b"\xff", b"3", b"[" * 100_000):
        with pytest.raises(FormatError):
            distributed.Plan.from_bytes(text)
    for text in (b'{"survey":3}', b'{"survey":{}}', b'{"survey":\xff', b'{"survey":' + b"[" * 100_000):
        with pytest.raises(FormatError):
            distributed.run_task(text, plan.tasks(1)[0])
    content = json.loads(plan.text)
    for entries in ([], [0], "ab", [None, 100], [2, 1], [0, 1 << 63]):
        with pytest.raises(FormatError):
            distributed.Plan(json.dumps({**content, "entries": entries}))
    for wrong in ({"node": 99}, {"calls": "a"}, {"calls": "abcd"}):
        results = [{**content["results"][0], **wrong}]
        with pytest.raises(FormatError):
            distributed.Plan(json.dumps({**content, "results": results})).booking(0)
    for other in (content, {}):
        with pytest.raises(UnsupportedError, match="the same version"):
            distributed.Plan(json.dumps({**other, "colonnade": "0.0.1"}))
    chosen = random.Random(5)
    for _ in range(300):
        damaged = bytearray(plan.to_bytes())
        damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
        with contextlib.suppress(colonnade.Error):
            distributed.Plan.from_bytes(bytes(damaged)).graph()


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """The items of JSON at any depth, each as what holds it and its key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(value, key) for key in keys] + [each for key in keys for each in places_in(value[key])]


def test_mutated_plans_run_or_are_errors(files: list[str]) -> None:
    """Each item is another one of the plan, or of the wrong type."""
    df = DataFrame("Events", files[:2], executor=Shuffled(0), friends={"f": files[:2]})
    result = df.define("y", "x + f.x").filter("n > 1").range(5, 90, 2).sum("y")
    text = df.freeze(result, more := df.histo1d(("h", "h", 5, 0, 100), "x")).text
    chosen = random.Random(7)
    for _ in range(200):
        content = json.loads(text)
        places = places_in(content)
        for holder, key in chosen.sample(places, chosen.randint(1, 2)):
            other, of = chosen.choice(places)
            holder[key] = chosen.choice([None, -1, 1 << 70, 1.5, "x", [], {}, [[]], copy.deepcopy(other[of])])
        partials = []
        with contextlib.suppress(colonnade.Error):
            plan = distributed.Plan(json.dumps(content))
            partials = [distributed.run_task(plan, task) for task in plan.tasks(2)]
            distributed.merge(plan, partials)
        errors = [failure.error for partial in partials for failure in partial.failures]
        assert all(isinstance(error, colonnade.Error) for error in errors), errors
    assert not more.is_ready


def test_plans_with_damaged_callables_are_errors(files: list[str]) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0))
    result = df.define("y", lambda x: x + 1, ["x"]).sum("y")
    total = df.aggregate(lambda state, x: state + float(x.sum()), lambda a, b: a + b, "x", 0.0)
    text = df.freeze(result, total).text
    content = json.loads(text)
    chosen = random.Random(8)
    for code in (content["graph"]["nodes"][0]["definition"]["payload"], content["results"][1]["calls"]):
        for place in chosen.sample(range(len(code)), 20):
            damaged = code[:place] + ("A" if code[place] != "A" else "B") + code[place + 1 :]
            plan = distributed.Plan(text.replace(code, damaged))
            partial = distributed.run_task(plan, plan.task(*plan.entries, (0, 1)))
            assert isinstance(partial.failures[0].error, FormatError)
    payload = content["graph"]["nodes"][0]["definition"]["payload"]
    for damaged in ('"A"', '"gICA"', "3"):
        with pytest.raises(FormatError, match="callables of a plan are damaged"):
            distributed.Plan(text.replace(f'"{payload}"', damaged)).key(0)


def test_code_of_another_python_is_an_error(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytecode means something else here. Functions of modules are names, which mean the same."""
    df = DataFrame("Events", files[0], executor=Shuffled(0))
    with monkeypatch.context() as patch:
        patch.setattr(callables, "_PYTHON", "3.99")
        plans = [
            df.freeze(defined := df.define("y", lambda x: x + 1, ["x"], returns="double").sum("y")),
            df.freeze(reduced := df.reduce(lambda a, b: a + b, "x")),
            df.freeze(named := df.define("y", np.sqrt, ["w"], returns="double").sum("y")),
        ]
    made = [distributed.run_task(plan.to_bytes(), plan.task(*plan.entries, (0,))) for plan in plans]
    for partial in made[:2]:
        (failure,) = partial.failures
        assert isinstance(failure.error, UnsupportedError)
        assert "code of Python 3.99, which this worker" in str(failure.error)
    assert not made[2].failures
    plans[2].finish(made[2])
    assert named.value == DataFrame("Events", files[0]).sum("sqrt(w)").value
    assert not defined.is_ready
    assert not reduced.is_ready


def test_plans_from_elsewhere_do_what_they_may(files: list[str], tmp_path: Path) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0))
    coded = df.freeze(kept := df.define("y", lambda x: x, ["x"]).sum("y"))
    with pytest.raises(UsageError, match="carries code"):
        coded.graph(allow_code=False)
    reduced = df.freeze(more := df.reduce(lambda a, b: a, "x"))
    with pytest.raises(UsageError, match="carries code"):
        reduced.graph(allow_code=False)
    written = df.freeze(last := df.snapshot(tmp_path / "o.root", columns=["x"], lazy=True))
    with pytest.raises(UsageError, match="writes"):
        written.graph(may_use=lambda uri, writes: not writes)
    plain = df.freeze(first := df.sum("x"))
    with pytest.raises(UsageError, match="reads"):
        plain.graph(allow_code=False, may_use=lambda uri, writes: False)
    plain.graph(allow_code=False, may_use=lambda uri, writes: uri in files)
    assert None not in (kept, more, last, first)


def test_what_cannot_be_sent_is_refused_when_it_is_booked(files: list[str]) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0))
    lock = threading.Lock()
    with pytest.raises(UnsupportedError, match="cannot be sent"):
        df.define("y", lambda x: x * lock.locked(), ["x"])
    with pytest.raises(UnsupportedError, match="cannot be sent"):
        df.reduce(lambda a, b: a + b + lock.locked(), "x")
    with pytest.raises(UnsupportedError, match="cannot be sent"):
        df.define_per_sample("y", lambda name: lock.locked())


class _Collects:
    """A callable that drops results when it is pickled, as the garbage collector may at any time."""

    def __init__(self, dropped: list[Any]) -> None:
        self._dropped = dropped

    def __call__(self, state: float, values: Any) -> float:
        return state + float(values.sum())

    def __getstate__(self) -> dict[str, Any]:
        self._dropped.clear()
        return {}


def test_results_are_dropped_while_a_plan_is_made(files: list[str]) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0))
    dropped: list[Any] = []
    total = df.aggregate(_Collects(dropped), lambda a, b: a + b, "x", 0.0)
    dropped.append(df.sum("w"))
    assert total.value == pytest.approx(DataFrame("Events", files).sum("x").value)
    assert dropped == []
    plan = df.freeze()
    assert len(plan) == 0


def test_stretches_cover_everything_once() -> None:
    chosen = random.Random(1)
    for _ in range(300):
        files, parts, at = [], [], 0
        for _ in range(chosen.randint(1, 8)):
            begin = at
            for _ in range(chosen.randint(0, 9)):
                size = chosen.randint(1, 50)
                parts.append((at, at + size))
                at += size
            files.append((begin, at))
        target = chosen.randint(1, 30)
        stretches = cut(parts, files, target)
        if not parts:
            assert stretches == [(0, 0)]
            continue
        assert stretches[0][0] == 0
        assert stretches[-1][1] == at
        assert all(a[1] == b[0] for a, b in itertools.pairwise(stretches))
        borders = {last for _, last in parts}
        assert all(last in borders for _, last in stretches)
        # A stretch that has half of what it should have does not go on in the next file.
        for first, last in stretches:
            for _, end in files:
                assert not (first < end < last and 2 * (end - first) >= at / target)


# ---- Where tasks go


class _Workers:
    """Of a client of Dask, what `Homes` asks for."""

    def __init__(self, threads: dict[str, int]) -> None:
        self._threads = threads

    def scheduler_info(self, n_workers: int) -> Any:
        assert n_workers == -1
        return {"workers": {name: {"nthreads": number} for name, number in self._threads.items()}}


@pytest.mark.parametrize("seed", range(20))
def test_every_thread_of_dask_has_as_much_to_do_and_keeps_it(seed: int) -> None:
    chosen = random.Random(seed)
    threads = {f"tcp://w{k}": chosen.randint(1, 4) for k in range(chosen.randint(1, 9))}
    sizes = [chosen.randint(1, 100) for _ in range(chosen.randint(1, 300))]
    tasks = [Task("plan", 10 * k, 10 * k + 10, (0,), bytes=size) for k, size in enumerate(sizes)]
    first = Homes(_Workers(threads))
    homes = first.of(tasks)
    assert homes == Homes(_Workers(threads)).of(tasks)  # the second run finds its caches
    share = sum(sizes) / sum(threads.values())
    for name, number in threads.items():
        load = sum(size for size, home in zip(sizes, homes, strict=True) if home == name)
        assert abs(load - share * number) <= 2 * max(sizes) * number
    again = first.of(
        [replace(each, attempt=1, tried=(home,)) for each, home in zip(tasks, homes, strict=True)]
    )
    assert len(threads) == 1 or not any(now == then for now, then in zip(again, homes, strict=True))
    if len(threads) > 4 and len(tasks) > 50:
        gone = next(iter(threads))
        rest = {name: number for name, number in threads.items() if name != gone}
        moved = Homes(_Workers(rest)).of(tasks)
        stays = [now == then for now, then in zip(moved, homes, strict=True) if then != gone]
        assert sum(stays) > len(stays) / 2
    assert Homes(_Workers({})).of(tasks) == [None] * len(tasks)


def test_tasks_on_dask_use_freed_memory_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    with colonnade.create(tmp_path / "f.root", "Events", dict.fromkeys("xyz", "double")) as writer:
        for _ in range(5):
            writer.extend({name: rng.normal(size=200_000) for name in "xyz"})
            writer.commit_cluster()
    script = f"""
        import resource
        from colonnade import DataFrame
        from colonnade.distributed import dask, run_task
        df = DataFrame("Events", [{str(tmp_path / "f.root")!r}] * 8, executor=1)
        plan = df.freeze(df.filter("x > 0 && y > 0").histo1d(("h", "", 500, -5, 5), "z"))
        plans = {{plan.fingerprint: plan.to_bytes()}}
        def faults(run):
            begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for task in plan.tasks(8):
                assert not run(plans, task).failures
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin
        plainly = lambda plans, task: run_task(plans[task.plan], task)
        faults(plainly)
        before = faults(plainly)
        faults(dask._run)
        print(before, faults(dask._run))
    """
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    environment.pop("COLONNADE_TEST_PART_ENTRIES", None)
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    before, after = map(int, ran.stdout.split())
    assert after < before / 3, ran.stdout


# ---- What goes wrong


@pytest.mark.parametrize("name", ["processes", "dask", "spark"])
def test_a_killed_worker_costs_time_only(
    name: str, request: pytest.FixtureRequest, files: list[str], tmp_path: Path
) -> None:
    engine = request.getfixturevalue(name)
    marker = str(tmp_path / "killed")

    def die_once(x: Any) -> Any:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return x
        return os.kill(os.getpid(), signal.SIGKILL)

    df = DataFrame("Events", files, executor=engine).define("y", die_once, ["x"], returns="double")
    booked = df.sum("y"), df.take("y")
    found = [each.value for each in booked]
    local = DataFrame("Events", files)
    assert os.path.exists(marker)
    assert found[0] == local.sum("x").value
    assert bits(found[1]) == bits(local.take("x").value)


@pytest.mark.parametrize("how", ["cancelled", "interrupted"])
def test_jobs_of_spark_that_are_given_up(
    how: str, spark: Any, files: list[str], tmp_path: Path, interruptible: None
) -> None:
    """They are not begun again, leave nothing, and the session serves later runs."""
    begun, given_up, folder = tmp_path / "begun", tmp_path / "given up", tmp_path / "out"
    folder.mkdir()

    def wait(x: Any) -> Any:
        begun.touch()
        while not given_up.exists():
            time.sleep(0.01)
        return x

    def give_up() -> None:
        while not begun.exists():
            time.sleep(0.01)
        if how == "cancelled":
            spark.sparkContext.cancelAllJobs()
            given_up.touch()
        else:
            os.kill(os.getpid(), signal.SIGINT)

    df = DataFrame("Events", files, executor=spark)
    node = df.define("y", wait, ["x"], returns="double")
    written = node.snapshot(folder / "out.root", columns=["y"], lazy=True)
    thread = threading.Thread(target=give_up)
    thread.start()
    expected = (
        pytest.raises(distributed.engines.WorkerLostError, match=r"cancelled the job of the run \(Job \d+")
        if how == "cancelled"
        else pytest.raises(KeyboardInterrupt)
    )
    with expected:
        written.value  # noqa: B018
    given_up.touch()
    thread.join()
    end = time.monotonic() + 60  # Spark ends late tasks when it likes
    while os.listdir(folder) and time.monotonic() < end:
        time.sleep(0.05)
    assert not os.listdir(folder)
    del written
    assert df.sum("x").value == DataFrame("Events", files).sum("x").value


def test_processes_are_shared_and_have_the_environment_of_now(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(name: str) -> Any:
        df = DataFrame("Events", files[0], executor=1)
        return df.define("u", lambda x: float(os.environ[name]) + 0 * x, ["x"]).max("u").value

    def process() -> set[float]:
        df = DataFrame("Events", files[0], executor=1)
        return set(df.define("u", lambda x: float(os.getpid()) + 0 * x, ["x"]).take("u").value)

    (first,) = process()
    assert first != os.getpid()
    assert process() == {first}
    monkeypatch.setenv("COLONNADE_TEST_LOOK", "17")
    assert look("COLONNADE_TEST_LOOK") == 17
    assert process() != {first}
    os.kill(int(next(iter(process()))), signal.SIGKILL)
    assert look("COLONNADE_TEST_LOOK") == 17
    Processes.shared(1).close()


def test_a_worker_that_always_dies_is_an_error(files: list[str]) -> None:
    def die(x: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    engine = Processes(1)
    df = DataFrame("Events", files, executor=engine).define("y", die, ["x"], returns="double")
    with pytest.raises(distributed.engines.WorkerLostError):
        df.sum("y").value  # noqa: B018
    engine.close()


def test_errors_of_users_come_out_at_once(executor: Any, files: list[str]) -> None:
    def fail(x: Any) -> Any:
        raise KeyError("mine")

    df = DataFrame("Events", files, executor=executor)
    bad, good = df.define("y", fail, ["x"], returns="double").sum("y"), df.sum("x")
    with pytest.raises(KeyError, match="mine"):
        bad.value  # noqa: B018
    assert good.value == DataFrame("Events", files).sum("x").value  # bad is left out
    with pytest.raises(KeyError, match="mine"):
        bad.value  # noqa: B018


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, pytest.fail.Exception])
def test_callables_do_not_end_workers(kind: type[BaseException], processes: Any, files: list[str]) -> None:
    def end(x: Any) -> Any:
        raise kind("3")

    df = DataFrame("Events", files, executor=processes)
    with pytest.raises(RuntimeError, match=f"^{kind.__name__}: 3"):
        df.define("y", end, ["x"], returns="double").sum("y").value  # noqa: B018


def test_graphs_of_a_plan_compile_a_callable_once(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    df = DataFrame("Events", files).define("y", lambda x: x + 1, ["x"], per_row=True)
    plan = df.freeze(df.sum("y"), df.max("y"))
    compiled = []

    def compile_rows(*each: Any) -> Any:
        compiled.append(each)
        return compile_(*each)

    compile_ = callables.compile_rows
    monkeypatch.setattr(callables, "compile_rows", compile_rows)
    known = distributed.worker.loaded(plan)
    for results in ((0,), (1,), (0, 1)):
        with known.graph(results):
            pass
    assert len(compiled) == 1


def test_classes_of_the_script_come_back(executor: Any, files: list[str]) -> None:
    class MineError(Exception):
        pass

    class Found(NamedTuple):
        entries: int

    def fail(x: Any) -> Any:
        raise MineError("mine")

    df = DataFrame("Events", files, executor=executor, npartitions=4)
    found = df.aggregate(
        lambda state, x: Found(state.entries + len(x)),
        lambda a, b: Found(a.entries + b.entries),
        "x",
        Found(0),
    )
    assert isinstance(found.value, Found)
    assert found.value.entries == ENTRIES
    failing = df.define("y", fail, ["x"], returns="double").sum("y")
    with pytest.raises(MineError, match="mine"):
        failing.value  # noqa: B018


def test_exceptions_come_back_with_their_cause(files: list[str]) -> None:
    class CodedError(Exception):
        def __init__(self, code: int, what: str) -> None:
            super().__init__(f"{what} {code}")
            self.code = code

    class WrappedError(Exception):
        def __init__(self, what: str) -> None:
            super().__init__(f"<{what}>")

    def fail(x: Any) -> Any:
        raise CodedError(3, "mine") from KeyError("deep")

    def fail_wrapped(x: Any) -> Any:
        raise WrappedError("mine") from KeyError("deep")

    def fail_for_good(x: Any) -> Any:
        error = CodedError(4, "mine")
        error.lock = threading.Lock()  # type: ignore[attr-defined]
        raise error from KeyError("deep")

    df = DataFrame("Events", files, executor=Shuffled(0))
    errors = []
    for function in (fail, fail_wrapped, fail_for_good):
        plan = df.freeze(result := df.define("y", function, ["x"], returns="double").sum("y"))
        partial = Partial.from_bytes(distributed.run_task(plan.to_bytes(), plan.tasks(1)[0]).to_bytes())
        errors.append(partial.failures[0].error)
        assert not result.is_ready
        assert repr(errors[-1].__cause__) == "KeyError('deep')"
    coded, wrapped, described = errors
    assert (type(wrapped), str(wrapped)) == (WrappedError, "<mine>")
    assert (type(coded), str(coded), vars(coded)["code"]) == (CodedError, "mine 3", 3)
    assert (type(described), str(described)) == (RuntimeError, "CodedError: mine 4")
    assert "in fail_for_good" in described.__notes__[-1]


def test_a_state_that_cannot_be_sent_is_an_error_of_its_result(files: list[str]) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0))
    bad = df.aggregate(lambda state, x: threading.Lock(), lambda a, b: a, "x", None)
    good = df.count()
    with pytest.raises(TypeError, match="pickle"):
        good.value  # noqa: B018
    assert good.value == ENTRIES
    with pytest.raises(TypeError, match="pickle"):
        bad.value  # noqa: B018


def test_errors_do_not_wait_for_other_tasks(executor: Any, files: list[str], tmp_path: Path) -> None:
    def fail_soon(x: Any, entry: Any) -> Any:
        if entry[0] == 0:
            (tmp_path / "failed").touch()
            raise KeyError("mine")
        end = time.monotonic() + 5  # the other worker may be late
        while not (tmp_path / "failed").exists() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(1)  # all of them would take many seconds
        (tmp_path / str(entry[0])).touch()
        return x

    df = DataFrame("Events", files, executor=executor, npartitions=25)
    with pytest.raises(KeyError, match="mine"):
        df.define("y", fail_soon, ["x", "rdfentry_"], returns="double").sum("y").value  # noqa: B018
    blocks = len(DataFrame("Events", files)._session.graph.parts())
    assert len(list(tmp_path.iterdir())) < blocks


def test_a_file_that_was_replaced_is_an_error(executor: Any, files: list[str], tmp_path: Path) -> None:
    copies = [shutil.copy(file, tmp_path) for file in files]
    df = DataFrame("Events", copies, executor=executor)
    total = df.sum("x")
    content = Path(copies[3]).read_bytes()
    os.remove(copies[3])
    Path(copies[3]).write_bytes(content)  # the same bytes, but who knows that
    with pytest.raises(StorageError, match="has been rewritten") as caught:
        total.value  # noqa: B018
    assert copies[3] in str(caught.value)


def damaged_file(folder: Path) -> tuple[str, Any, int]:
    """A file, its values, and the first entry of a page of it that is damaged."""
    path = str(folder / "f.root")
    x = np.random.default_rng(2).normal(size=600)
    sizes: Any = {"page_size": 8 * PART_ENTRIES, "initial_page_size": 8 * PART_ENTRIES}
    kinds = {"x": "double", "number": "std::int64_t"}
    with colonnade.create(path, "Events", kinds, compression="none", **sizes) as writer:
        writer.extend({"x": x, "number": np.arange(600)})
    content = bytearray(Path(path).read_bytes())
    spoilt = 200 // PART_ENTRIES * PART_ENTRIES
    page = x[spoilt : spoilt + PART_ENTRIES].tobytes()
    at = bytes(content).find(page)
    assert at > 0
    content[at] ^= 0xFF
    Path(path).write_bytes(content)
    return path, x, spoilt


def test_damage_is_an_error_or_left_out(
    executor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slice_results(monkeypatch, 200)
    path, x, spoilt = damaged_file(tmp_path)
    with pytest.raises(ChecksumError) as caught:
        DataFrame("Events", path, executor=executor).sum("x").value  # noqa: B018
    assert caught.value.uri == path
    assert caught.value.cluster is not None
    df = DataFrame("Events", path, executor=executor, on_error="skip")
    taken, total = df.take("x"), df.count()
    filled = df.histo1d(("h", "h", 60, -1e9, 1e9), "x")
    assert filled.value.sum(flow=True) == 600 - PART_ENTRIES
    assert bits(taken.value) == bits(np.delete(x, slice(spoilt, spoilt + PART_ENTRIES)))
    assert total.value == 600 - PART_ENTRIES  # the same entries are in all results
    (skipped,) = df.skipped
    assert (skipped.first, skipped.last) == (spoilt, spoilt + PART_ENTRIES)
    assert "checksum" in skipped.problem or "damaged" in skipped.problem


def test_no_entries_are_left_out_for_a_damaged_join(tmp_path: Path) -> None:
    path, _, _ = damaged_file(tmp_path)
    df = DataFrame(600, executor=Shuffled(0), on_error="skip").define("number", "1 * rdfentry_")
    total, found = df.count(), df.join("Events", path, on="number").sum("x")
    with pytest.raises(ChecksumError) as caught:
        found.value  # noqa: B018
    assert caught.value.uri == path
    assert (total.value, df.skipped) == (600, [])


@pytest.mark.parametrize("is_open", [False, True])
def test_files_that_cannot_be_opened_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for k in range(5):
        with colonnade.create(f"{k}.root", "Events") as writer:
            writer.extend({"x": 10 * k + np.arange(10)})
    samples = {
        name: {"trees": ["Events"], "files": files, "metadata": {"name": name}}
        for name, files in {"a": ["0.root", "1.root"], "b": ["[2-4].root"]}.items()
    }

    def frame() -> DataFrame:
        df = DataFrame.from_spec({"samples": samples}, executor=Shuffled(0), npartitions=3, on_error="skip")
        return df.define_per_sample("sample", lambda info: info.metadata["name"])

    df = frame()
    Path("1.root").unlink()
    Path("2.root").write_bytes(b"damaged")
    df = df if is_open else frame()
    x, sample = df.take("x"), df.take("sample")
    assert x.value.tolist() == [*range(10), *range(30, 50)]
    assert sample.value.tolist() == ["a"] * 10 + ["b"] * 20
    skipped = [(each.first, each.last) for each in df.skipped]
    assert skipped == ([(10, 20), (20, 30)] if is_open else [(10, 10), (10, 10)])
    assert "No such file" in df.skipped[0].problem
    Path("0.root").unlink()
    with pytest.raises(FileMissingError):
        DataFrame("Events", ["0.root", "1.root"], executor=Shuffled(0), on_error="skip")


def test_files_that_are_lost_one_after_the_other_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"{k}.root" for k in range(4)]
    for k, path in enumerate(paths):
        with colonnade.create(path, "Events") as writer:
            writer.extend({"x": 10 * k + np.arange(10)})
    look = distributed.surveys.unreadable

    def look_and_lose(files: Any, options: Any) -> Any:
        found = look(files, options)
        paths[2].unlink(missing_ok=True)
        return found

    monkeypatch.setattr(distributed.surveys, "unreadable", look_and_lose)
    paths[0].unlink()
    df = DataFrame("Events", [str(path) for path in paths], executor=Shuffled(0), on_error="skip")
    assert df.take("x").value.tolist() == [*range(10, 20), *range(30, 40)]
    assert [(each.first, each.last) for each in df.skipped] == [(0, 0), (10, 10)]


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """Files can have only a few bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_no_entries_are_left_out_for_a_full_disk(files: list[str], tmp_path: Path) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0), on_error="skip")
    written = df.snapshot(f"{tmp_path}/to/", columns=["x"], lazy=True)
    with full_disk(), pytest.raises(StorageError, match="cannot write"):
        written.value  # noqa: B018
    assert df.skipped == []


def test_a_full_disk_ends_checkpoints_only(files: list[str], tmp_path: Path) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0), checkpoint=tmp_path)
    taken = df.take("x")
    with full_disk(), pytest.warns(UserWarning, match="no longer kept") as warned:
        assert len(taken.value) == ENTRIES
    assert len(warned) == 1
    assert list(tmp_path.iterdir()) == []


def test_duplicated_tasks_of_snapshots_do_no_harm(files: list[str], tmp_path: Path) -> None:
    class Twice(Shuffled):
        def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:
            (plan,) = plans
            while tasks:
                task = tasks.popleft()
                distributed.run_task(plan, task)  # of an attempt that nobody hears of
                yield distributed.run_task(plan, task)

    made = DataFrame("Events", files, executor=Twice(0), npartitions=4).snapshot(
        tmp_path / "o.root", columns=["x", "v"]
    )
    assert bits(made.take("x").value) == bits(DataFrame("Events", files).take("x").value)


def test_a_run_writes_a_file_once(files: list[str], tmp_path: Path) -> None:
    df = DataFrame("Events", files, executor=Shuffled(0), npartitions=3)
    one, other = (df.snapshot(tmp_path / "out.root", name, ["x"], lazy=True) for name in ("A", "B"))
    with pytest.raises(UsageError, match="same destination"):
        other.value  # noqa: B018
    assert one.value.count().value == ENTRIES
    assert os.listdir(tmp_path) == ["out.root"]
    for uri in (tmp_path / "again.root", f"obj://{tmp_path}/store"):
        booked = [
            DataFrame("Events", files, executor=each).snapshot(uri, "A", ["x"], lazy=True)
            for each in (None, Shuffled(0), Shuffled(0), None)
        ]
        for wrong in (booked[1:3], booked[:2], [booked[0], booked[3]]):
            with pytest.raises(UsageError, match="same destination"):
                colonnade.run_graphs(wrong)
        assert booked[1].value.count().value == ENTRIES


def test_a_snapshot_that_fails_leaves_what_was_there(
    processes: Any, files: list[str], tmp_path: Path
) -> None:
    target = tmp_path / "o.root"
    DataFrame("Events", files[0]).snapshot(target, columns=["n"])
    before = target.read_bytes()

    def fail(x: Any) -> Any:
        if np.any(np.asarray(x) > 100):
            raise ValueError("no")
        return x

    df = DataFrame("Events", files, executor=processes, npartitions=6).define(
        "y", fail, ["x"], returns="double"
    )
    with pytest.raises(ValueError, match="no"):
        df.snapshot(target, columns=["y"])
    assert target.read_bytes() == before


def test_what_was_written_is_computed_by_workers_too(
    processes: Any, files: list[str], tmp_path: Path
) -> None:
    df = DataFrame("Events", files, executor=processes)
    for target in (tmp_path / "o.root", f"{tmp_path}/folder/", f"obj://{tmp_path}/store"):
        for made in (
            df.snapshot(target, "Events", ["x"]),
            df.snapshot(f"{target}2".replace("/2", "2/"), "Events", ["x"], lazy=True).value,
        ):
            pids = made.define("p", lambda x: 0 * x + os.getpid(), ["x"], returns="double").take("p").value
            assert os.getpid() not in pids
            assert made.num_runs == 0
            assert made.sum("x").value == DataFrame("Events", files).sum("x").value


@pytest.mark.parametrize("place", ["obj", "s3 file", "s3 store"])
def test_snapshots_to_other_places(place: str, s3: Any, files: list[str], tmp_path: Path) -> None:
    uri = {
        "obj": f"obj://{tmp_path}/store",
        "s3 file": f"s3://{BUCKET}/snap.root",
        "s3 store": f"s3://{BUCKET}/snapstore",
    }[place]
    df = DataFrame("Events", files, executor=Futures(_Threads(), 2), npartitions=5)
    made = df.snapshot(uri, "Events", ["x", "s"])
    assert bits(made.take("x").value) == bits(DataFrame("Events", files).take("x").value)
    assert _core.data_sets(uri) == ["Events"]
    assert s3 is not None


# ---- Checkpoints, partial results


class _Threads:
    """A pool of threads: tasks share a process, as those of Dask do."""

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._pool = ThreadPoolExecutor(3)

    def submit(self, *work: Any) -> Any:
        return self._pool.submit(*work)


class Counting(Shuffled):
    """Counts tasks, and stops after some."""

    def __init__(self, most: int = 10**9) -> None:
        super().__init__(0)
        self.tasks: list[Task] = []
        self._most = most

    def run(self, plans: Any, tasks: Any, piecemeal: bool) -> Iterator[Partial]:
        known = {plan.fingerprint: plan for plan in plans}
        while tasks:
            task = tasks.popleft()
            if len(self.tasks) == self._most:
                raise KeyboardInterrupt
            self.tasks.append(task)
            yield distributed.run_task(known[task.plan], task)


@pytest.mark.parametrize("slice_bytes", [1 << 28, 200])
def test_a_run_that_was_killed_goes_on(
    slice_bytes: int, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slice_results(monkeypatch, slice_bytes)

    def made(engine: Any) -> tuple[Any, Any]:
        df = DataFrame("Events", files, executor=engine, npartitions=10, checkpoint=tmp_path / "kept")
        node = df.define("y", "x * w").filter("n > 1")
        return node, node.histo1d(("h", "h", 10, -50, 50), "y", "w")

    with pytest.raises(KeyboardInterrupt):
        made(Counting(4))[1].value  # noqa: B018
    engine = Counting()
    reference = bits(made(Counting())[1].value)
    local = DataFrame("Events", files).define("y", "x * w").filter("n > 1")
    assert reference == bits(local.histo1d(("h", "h", 10, -50, 50), "y", "w").value)
    # All of it is there by now; one more histogram is computed alone.
    node, first = made(engine)
    assert bits(first.value) == reference
    assert engine.tasks == []
    node, first = made(engine)
    second = node.sum("x")
    assert second.value == local.sum("x").value
    assert bits(first.value) == reference
    assert engine.tasks
    assert {task.results for task in engine.tasks} == {(1,)}
    # What is damaged is computed again.
    kept = sorted((tmp_path / "kept").iterdir())
    kept[0].write_bytes(kept[0].read_bytes()[:-1])
    again = Counting()
    node, first = made(again)
    second = node.sum("x")
    assert (bits(first.value), second.value) == (reference, local.sum("x").value)
    assert len(again.tasks) == 1


@pytest.mark.parametrize("seed", range(6))
def test_checkpoints_of_other_workers_are_used(seed: int, files: list[str], tmp_path: Path) -> None:
    """Any number of tasks at any time: no entry is read twice for a result."""
    chosen = random.Random(seed)
    read = {"a": 0, "b": 0}
    local = DataFrame("Events", files)
    for step in range(5):
        engine = Counting(chosen.choice([2, 5, 10**9]) if step < 4 else 10**9)
        df = DataFrame(
            "Events", files, executor=engine, npartitions=chosen.randint(1, 30), checkpoint=tmp_path
        )
        first = df.sum("x")
        second = df.histo1d(("h", "", 9, -9, 9), "x", "w") if step > 1 else None
        try:
            assert first.value == local.sum("x").value
            assert second is None or bits(second.value) == bits(
                local.histo1d(("h", "", 9, -9, 9), "x", "w").value
            )
        except KeyboardInterrupt:
            assert step < 4
        for task in engine.tasks:
            read["a"] += (task.last - task.first) * (0 in task.results)
            read["b"] += (task.last - task.first) * (1 in task.results)
    assert read == {"a": ENTRIES, "b": ENTRIES}


def test_checkpoints_know_the_data_and_the_question(files: list[str], tmp_path: Path) -> None:
    copies = [shutil.copy(file, tmp_path) for file in files]

    def run(condition: str) -> tuple[float, int]:
        engine = Counting()
        df = DataFrame("Events", copies, executor=engine, npartitions=6, checkpoint=tmp_path / "kept")
        return df.filter(condition).sum("x").value, len(engine.tasks)

    first, computed = run("n > 1")
    assert computed > 0
    assert run("n > 1") == (first, 0)
    assert run("n > 2")[1] == computed
    os.utime(copies[0])  # it may be another one
    assert run("n > 1") == (first, computed)


def test_checkpoints_know_code_wherever_it_stands() -> None:
    def key(source: str, file: str) -> str:
        script: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(source, file, "exec"), script)
        df = DataFrame(10, executor=Shuffled(0)).define("y", script["f"], ["rdfentry_"], returns="double")
        total = df.aggregate(script["f"], script["f"], "y", 0.0)
        return df.freeze(total).key(0)

    scripts = [
        "f = lambda x: x * 2",
        "f = lambda x: x * 3",
        "def f(x):\n    return x * cuts.pt\n@dataclass\nclass Cuts:\n    pt: float = 3\ncuts = Cuts()",
        "def f(x):\n    return x * cuts.pt\n@dataclass\nclass Cuts:\n    pt: float = 4\ncuts = Cuts()",
        "class Kind(Enum):\n    A = 1\nf = lambda x: x * Kind.A.value",
        "class Kind(Enum):\n    A = 2\nf = lambda x: x * Kind.A.value",
    ]
    keys = []
    for each in scripts:
        script = f"from dataclasses import dataclass\nfrom enum import Enum\n{each}\n"
        keys.append(key(script, "a.py"))
        assert key(f"# A comment.\n\n{script}", "b.py") == keys[-1]
    assert len(set(keys)) == len(scripts)


def test_kept_results_lack_what_others_cannot_read(tmp_path: Path) -> None:
    path, x, spoilt = damaged_file(tmp_path)

    def booked() -> tuple[Any, Any]:
        df = DataFrame("Events", path, executor=Shuffled(0), on_error="skip", checkpoint=tmp_path / "kept")
        return df.sum("number"), df.sum("x")

    assert booked()[0].value == 600 * 599 // 2
    numbers, total = booked()
    left = np.delete(np.arange(600), slice(spoilt, spoilt + PART_ENTRIES))
    assert total.value == pytest.approx(x[left].sum())
    assert numbers.value == left.sum()


@pytest.mark.parametrize("name", [*ENGINES, "here"])
def test_partial_results_are_shown(
    name: str, request: pytest.FixtureRequest, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slice_results(monkeypatch, 200)
    monkeypatch.setattr(distributed.driver, "_SHOWN_EVERY", 0.0)
    executor = None if name == "here" else request.getfixturevalue(name)
    df = DataFrame("Events", files, executor=executor)
    seen: list[float] = []
    filled = df.histo1d(("h", "h", 10, -1000, 1000), "x").on_partial(lambda h: seen.append(h.sum()))
    assert filled.value.sum() == ENTRIES
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert 0 < seen[0] < ENTRIES


def test_what_cannot_be_planned_is_shown_at_the_end() -> None:
    lock = threading.Lock()
    arrays = DataFrame.from_arrays({"x": np.arange(10.0)})
    counted = DataFrame(10).define("x", lambda n: n + lock.locked(), ["rdfentry_"], returns="double")
    for df in (arrays, counted, counted.cache(["x"])):
        seen: list[float] = []
        assert df.sum("x").on_partial(seen.append).value == 45
        assert seen == [45]


def test_what_is_shown_is_planned_once(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    make = distributed.plans._made
    monkeypatch.setattr(distributed.plans, "_made", lambda *args: made.append(make(*args)) or made[-1])
    seen: list[int] = []
    assert DataFrame("Events", files).count().on_partial(seen.append).value == ENTRIES
    assert len(made) == 1


def test_partial_results_with_roots_spelling(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed.driver, "_SHOWN_EVERY", 0.0)
    seen: list[int] = []
    count = RDataFrame("Events", files).Count()
    count.OnPartialResult(100, seen.append)
    assert count.GetValue() == ENTRIES
    assert seen[0] < ENTRIES


def test_live_visualize(dask: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed.driver, "_SHOWN_EVERY", 0.0)
    df = root.RDF.Experimental.Distributed.Dask.RDataFrame("Events", files, daskclient=dask, npartitions=6)
    histogram = df.Histo1D(("h", "h", 10, -1000.0, 1000.0), "x")
    own: list[float] = []
    everyone: list[float] = []
    root.RDF.Distributed.LiveVisualize(
        {histogram: lambda h: own.append(h.Integral())}, lambda h: everyone.append(h.Integral())
    )
    assert histogram.GetValue().Integral() == ENTRIES
    assert own == everyone
    assert len(own) > 1


def test_interrupting_ends_the_work(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed.driver, "_SHOWN_EVERY", 0.0)
    engine = Processes(2)

    def stop(value: object) -> None:
        raise KeyboardInterrupt

    df = DataFrame("Events", files, executor=engine)
    slow = df.define("y", lambda x: (time.sleep(0.05), x)[1], ["x"], returns="double").sum("y")
    slow.on_partial(stop)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        slow.value  # noqa: B018
    assert time.monotonic() - begin < 30
    del slow
    assert df.sum("x").value == DataFrame("Events", files).sum("x").value
    engine.close()


def test_progress_counts_everything(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    df = DataFrame("Events", files, executor=Shuffled(1), progress=True)
    df.sum("x").value  # noqa: B018
    shown = capsys.readouterr().err
    assert "100%" in shown
    assert " tasks, 0 on 5 workers" in shown


def test_progress_of_a_cluster(executor: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def note(self: Any, progress: Any, tasks: Any) -> bool:
        seen.append((progress.entries, progress.bytes, tasks))
        return True

    monkeypatch.setattr(PassBar, "update", note)
    assert DataFrame("Events", files, executor=executor).filter("n > 1").range(5, 0).count().value > 0
    begun_anew = [late for early, late in itertools.pairwise(seen) if late[0] < early[0]]
    entries, read, tasks = seen[-1]
    assert entries == ENTRIES
    assert begun_anew  # the phase before shows itself, too
    assert 0 < read <= 2 * sum(os.path.getsize(each) for each in files)
    assert tasks.done == tasks.total > 1
    assert tasks.workers >= 2
    assert all(0 <= each.running <= each.workers for _, _, each in seen)
    assert tasks.running == 0


def test_a_worker_that_cannot_open_files_is_passed_over(
    dask: Any, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a node where a file system is not mounted: what fails there is done elsewhere."""
    monkeypatch.chdir(tmp_path)
    seen = [f"/proc/self/cwd/{Path(shutil.copy(file, tmp_path)).name}" for file in files]
    workers = sorted(dask.scheduler_info(n_workers=-1)["workers"])
    for broken in workers:
        before = {one: dask.run(os.getcwd, workers=[one])[one] for one in workers}
        try:
            for one in workers:
                dask.run(os.chdir, "/" if one == broken else tmp_path, workers=[one])
            df = DataFrame("Events", seen, executor=dask, npartitions=12)
            assert df.sum("x").value == DataFrame("Events", files).sum("x").value
        finally:
            for one, place in before.items():
                dask.run(os.chdir, place, workers=[one])


@pytest.mark.parametrize("remote", [False, True])
def test_relative_names_are_of_the_folder_in_which_they_were_given(
    processes: Any, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: bool
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    names = [Path(shutil.copy(file, here)).name for file in files]
    monkeypatch.chdir(here)
    options: Any = {"executor": processes, "checkpoint": "kept"} if remote else {}
    df = DataFrame("Events", names, **options)
    total, written = df.sum("x"), df.snapshot("out.root", columns=["x"], lazy=True)
    monkeypatch.chdir(elsewhere)
    assert total.value == DataFrame("Events", files).sum("x").value
    assert written.value.sum("x").value == total.value
    assert not list(elsewhere.iterdir())
    assert sorted(os.listdir(here)) == sorted([*names, "out.root", *(["kept"] if remote else [])])


def test_results_that_do_not_fit_are_refused(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed.driver, "_free_memory", lambda: 3 * 4000)
    df = DataFrame("Events", files, executor=Shuffled(0))
    with pytest.raises(ResourceError, match="iterate"):
        df.take("x").value  # noqa: B018
    assert sum(len(step) for step in df.iterate(["x"], step_size=10)) == ENTRIES


def test_steps_are_computed_by_workers(executor: Any, files: list[str]) -> None:
    def where(x: Any) -> Any:
        return np.full(len(x), os.getpid())

    df = DataFrame("Events", files, executor=executor).define("pid", where, ["x"], returns="std::int64_t")
    local = DataFrame("Events", files)
    for size in (70, "3 kB"):
        steps = list(df.iterate(["x", "pid"], step_size=size))
        assert len(steps) > 3
        assert bits(ak.concatenate([step.x for step in steps]).to_numpy()) == bits(local.take("x").value)
        assert os.getpid() not in ak.concatenate([step.pid for step in steps]).to_list()
    behind = df.range(30).filter("n > 2")
    assert sum(len(step) for step in behind.iterate(["x"])) == local.range(30).filter("n > 2").count().value
    assert df.to_arrow_reader(["x"]).read_all().num_rows == ENTRIES


def test_a_folder_of_parts(processes: Any, files: list[str], tmp_path: Path) -> None:
    df = DataFrame("Events", files, executor=processes, npartitions=5)
    target = f"{tmp_path}/out[1]/"
    made = df.filter("n > 1").snapshot(target, columns=["x", "v"])
    local = DataFrame("Events", files).filter("n > 1")
    assert bits(made.take("x").value) == bits(local.take("x").value)
    assert len(made.files) == len(os.listdir(target)) > 3
    assert os.listdir(tmp_path) == ["out[1]"]
    for taken in (target, "/"):
        with pytest.raises(UsageError, match="already exists"):
            df.snapshot(taken, columns=["x"])
    with pytest.raises(UsageError, match="writes one file"):
        local.snapshot(target, columns=["x"])
    with pytest.raises(UsageError, match="not a path of the local"):
        df.snapshot("s3://bucket/out/", columns=["x"])


def test_tasks_have_as_many_bytes_each(tmp_path: Path) -> None:
    """Of the columns in use, not as many entries."""
    path = str(tmp_path / "f.root")
    rng = np.random.default_rng(0)
    heavy = ak.unflatten(rng.normal(size=100 * 400), np.r_[np.full(400, 100), np.zeros(1200, dtype=int)])
    with colonnade.create(path, "Events", page_size=800, initial_page_size=800) as writer:
        for at in range(0, 1600, 100):
            writer.extend({"v": heavy[at : at + 100], "x": np.arange(at, at + 100) * 1.1})
            writer.commit_cluster()
    df = DataFrame("Events", path, executor=Shuffled(0))
    of_lists = df.sum("v")
    assert [task.last <= 440 for task in df.freeze(of_lists).tasks(4)] == [True, True, True, False]
    del of_lists
    of_numbers = df.sum("x")
    assert all(250 < task.last - task.first < 500 for task in df.freeze(of_numbers).tasks(4))


def test_arguments_that_make_no_sense(files: list[str]) -> None:
    for wrong, why in (
        ({"executor": object()}, "cannot run tasks"),
        ({"executor": 0}, "not a number of processes"),
        ({"executor": 1, "npartitions": 0}, "not a number of tasks"),
        ({"executor": 1, "on_error": "ignore"}, "on_error must be 'raise' or 'skip'"),
        ({"npartitions": 3}, "with an executor"),
        ({"checkpoint": "x"}, "with an executor"),
        ({"executor": 1, "checkpoint": "s3://bucket/x"}, "in a local folder"),
        ({"executor": 1, "checkpoint": ""}, "in a local folder"),
    ):
        with pytest.raises(UsageError, match=why):
            DataFrame("Events", files, **wrong)
    with pytest.raises(StorageError, match="checkpoints cannot be written"):
        DataFrame("Events", files, executor=1, checkpoint=files[0])
