"""Random analyses while things go wrong: the bits of one thread, or an error that says why, and nothing left behind.

The graphs are those of test_random_graphs.py. Each is computed

- by an engine that loses, repeats, delays and reorders what tasks give, alone or together with an equal one, with a
  folder of checkpoints that is damaged between runs, and is interrupted in the middle;
- from partial results of stretches that end at any part, merged in any tree;
- while files are replaced, removed, cut or damaged between tasks;
- on processes, Dask and Spark whose workers are killed at any moment.

`make soak` tries other seeds.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import sys
import threading
import time
import unittest.mock
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from faulty_engine import Faulty
from test_engines import analysis
from test_random_graphs import PART_ENTRIES, Case, outcome

import colonnade
from colonnade import DataFrame, distributed
from colonnade.distributed import Partial
from colonnade.distributed.engines import Processes
from colonnade.distributed.plans import freeze
from colonnade.errors import Error


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLONNADE_TEST_PART_ENTRIES", str(PART_ENTRIES))
    # The trial of callables on two entries, and compilation, would take most of the time.
    monkeypatch.setitem(sys.modules, "numba", None)


def case_of_files(seed: int, folder: Path) -> Case:
    """The first case of this seed or the next ones whose data are in files."""
    while True:
        place = folder / f"case {seed}"
        place.mkdir()
        case = Case(seed, place)
        if not isinstance(case.source, dict):
            return case
        seed += 1


def names_left(case: Case) -> list[str]:
    """Files beside those that snapshots were to be."""
    found = [each.name for run in case.folder.glob("run *") for each in run.iterdir()]
    return [name for name in found if not name.removesuffix(".root").isdigit()]


# ---- An engine that loses and repeats


class Interrupting(Faulty):
    """Ctrl-C comes before one of the tasks."""

    def __init__(self, seed: int, at: int) -> None:
        super().__init__(seed, self._stop)
        self.at = at

    def _stop(self, done: int, _: Any) -> None:
        if done == self.at:
            raise KeyboardInterrupt


def damage_checkpoints(chosen: random.Random, folder: Path) -> None:
    """Bytes changed, cut, exchanged, removed, or of a run that died while it wrote."""
    pieces = sorted(folder.iterdir())
    for piece in chosen.sample(pieces, chosen.randint(0, len(pieces))):
        content = bytearray(piece.read_bytes()) or bytearray(1)
        how = chosen.choice(["byte", "cut", "exchanged", "removed", "empty", "other", "half"])
        if how == "byte":
            content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
            piece.write_bytes(content)
        elif how == "cut":
            piece.write_bytes(content[: chosen.randrange(len(content))])
        elif how == "exchanged":
            others = [each for each in pieces if each.exists()]
            piece.write_bytes(chosen.choice(others).read_bytes())
        elif how == "removed":
            piece.unlink()
        elif how == "empty":
            piece.write_bytes(b"")
        elif how == "other":
            (folder / f"{chosen.getrandbits(64):x}.piece").write_bytes(content)
        else:
            (folder / f".{chosen.getrandbits(32):x}.part").write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize("seed", range(20))
def test_what_is_lost_repeated_and_interrupted(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    case = case_of_files(seed, tmp_path)
    reference = outcome(case.grown(1))
    kept = tmp_path / "kept" if chosen.random() < 0.7 else None
    for _ in range(3):
        engine = Interrupting(chosen.getrandbits(32), chosen.choice([-1, chosen.randint(0, 30)]))
        slice_bytes = chosen.choice([1 << 28, 2000])
        with unittest.mock.patch.object(distributed.plans, "_SLICE_BYTES", slice_bytes):
            options: Any = {"executor": engine, "npartitions": chosen.randint(1, 40), "checkpoint": kept}
            equal = [case.grown(1, **options) for _ in range(chosen.randint(1, 2))]
            try:
                colonnade.run_graphs(each.frame for each in equal)
            except KeyboardInterrupt:
                assert not names_left(case)
                engine.at = -1
            found = [outcome(each) for each in equal]
        for each in found:
            Case.compare(each, reference, "faults")
        assert not names_left(case)
        if kept is not None:
            damage_checkpoints(chosen, kept)


# ---- Stretches and trees


def merged_anyhow(chosen: random.Random, plan: Any, partials: list[Partial]) -> Partial:
    while len(partials) > 1:
        size = chosen.randint(2, min(5, len(partials)))
        group = [partials.pop(chosen.randrange(len(partials))) for _ in range(size)]
        through = distributed.merge(plan, group).to_bytes()
        partials.append(Partial.from_bytes(through))
    return partials[0]


@pytest.mark.parametrize("seed", range(20))
def test_stretches_of_any_parts_in_any_tree(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    case = case_of_files(seed, tmp_path)
    reference = outcome(case.grown(1))
    analysis = case.grown(1, executor=Faulty(seed))
    session = analysis.frame._session
    with unittest.mock.patch.object(distributed.plans, "_SLICE_BYTES", chosen.choice([1 << 28, 2000])):
        plan = freeze(session, session.wanted())
    borders = [plan.parts[0][0], *(last for _, last in plan.parts)]
    inner = sorted(chosen.sample(borders[1:-1], chosen.randint(0, len(borders) - 2)))
    edges = [borders[0], *inner, borders[-1]]
    stretches = list(itertools.pairwise(edges))

    def compute(of: Any, tasks: Any) -> Partial:
        return distributed.partials.joined([distributed.run_task(of.to_bytes(), task) for task in tasks])

    reached = distributed.count_ranges(plan, stretches, compute, wave=chosen.randint(1, 9))
    tasks = plan.tasks(1, reached)
    partials = [distributed.run_task(plan.to_bytes(), task) for task in chosen.sample(tasks, len(tasks))]
    assert not any(partial.failures for partial in partials)
    plan.finish(merged_anyhow(chosen, plan, [*partials, reached.rest()]))
    Case.compare(outcome(analysis), reference, f"stretches {stretches}")


# ---- Files that change meanwhile


def change_file(chosen: random.Random, path: Path) -> str:
    """Replace, remove, cut or damage a file; says how."""
    how = chosen.choice(["copied", "removed", "cut", "damaged", "other"])
    content = bytearray(path.read_bytes())
    if how == "copied":  # the same bytes: who knows that
        path.unlink()
        path.write_bytes(content)
    elif how == "removed":
        path.unlink()
    elif how == "cut":
        os.truncate(path, chosen.randrange(len(content)))
    elif how == "damaged":
        times = path.stat()
        for _ in range(chosen.randint(1, 30)):
            content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        with path.open("r+b") as file:
            file.write(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        with colonnade.create(path, "Events", mode="recreate") as writer:
            writer.extend({"n": np.arange(chosen.randint(1, 50))})
    return how


@pytest.mark.parametrize("seed", range(20))
def test_files_that_change_meanwhile(seed: int, tmp_path: Path) -> None:
    chosen = random.Random(seed)
    case = case_of_files(seed, tmp_path)
    reference = outcome(case.grown(1))
    own, friend = case.source if isinstance(case.source, tuple) else (case.source, [])
    files = [Path(each) for each in [*own, *friend]]
    victim, when = chosen.choice(files), chosen.randint(0, 12)
    how: list[str] = []

    def change(done: int, _: Any) -> None:
        if done == when and not how:
            how.append(change_file(chosen, victim))

    analysis = case.grown(1, executor=Faulty(seed, change), npartitions=chosen.randint(1, 40))
    try:
        found = outcome(analysis)
    except Error as error:
        why = str(error)
    else:
        Case.compare(found, reference, f"a file that is {how}")
        return
    assert how, "an error without a reason"
    assert victim.name in why, how
    assert not names_left(case)


# ---- What cannot be read is left out


def damage_pages(
    chosen: random.Random, path: Path, columns: dict[str, Any], page: int
) -> set[tuple[str, int]]:
    """Damage pages of so many entries; returns which."""
    content = bytearray(path.read_bytes())
    damaged = set()
    pages = [(name, at) for name, values in columns.items() for at in range(0, len(values), page)]
    for name, at in chosen.sample(pages, chosen.randint(0, min(6, len(pages)))):
        place = bytes(content).find(columns[name][at : at + page].tobytes())
        assert place > 0
        content[place + chosen.randrange(8 * min(page, len(columns[name]) - at))] ^= 1 << chosen.randrange(8)
        damaged.add((name, at))
    path.write_bytes(content)
    return damaged


@pytest.mark.parametrize("seed", range(60))
def test_what_is_left_out_is_what_cannot_be_read(seed: int, tmp_path: Path) -> None:
    """Whatever is damaged where: all results have the same entries, all that could be read and no others."""
    chosen, rng = random.Random(seed), np.random.default_rng(seed)
    page = PART_ENTRIES
    whole: dict[str, list[Any]] = {"x": [], "y": []}
    files, bad, first = [], [], 0
    for k in range(chosen.randint(1, 4)):
        path, entries = tmp_path / f"{k}.root", chosen.choice([0, 1, page, page + 1, 300, 700])
        columns = {name: rng.normal(size=entries) for name in whole}
        sizes: Any = {"page_size": 8 * page, "initial_page_size": 8 * page, "cluster_size": "64 KiB"}
        schema = dict.fromkeys(columns, "double")
        with colonnade.create(path, "Events", schema, compression="none", **sizes) as writer:
            writer.extend(columns)
        for name, values in columns.items():
            whole[name].append(values)
        files.append(str(path))
        bad += [
            (name, first + at, first + min(at + page, entries))
            for name, at in damage_pages(chosen, path, columns, page)
        ]
        first += entries
    x, y = (np.concatenate(whole[name]) for name in "xy")
    used = chosen.choice(["x", "xy"])
    df = DataFrame(
        "Events",
        files,
        executor=Faulty(seed),
        npartitions=chosen.randint(1, 30),
        on_error="skip",
        checkpoint=tmp_path / "kept" if chosen.random() < 0.5 else None,
    )
    node = df.filter("x > 0")
    booked = [node.count(), node.take("x"), node.histo1d(("h", "", 9, -3, 3), "x")]
    booked += [node.sum("y"), node.take("y")] if "y" in used else []
    ranged = node.range(3, 40, 2).take("x")
    left = np.ones(len(x), dtype=bool)
    values = [each.value for each in booked]
    for skipped in df.skipped:
        left[skipped.first : skipped.last] = False
        assert skipped.last - skipped.first <= page
        assert any(a < skipped.last and skipped.first < b for name, a, b in bad if name in used), skipped
    for name, a, b in bad:
        is_read = name == "x" or ("y" in used and (x[a:b] > 0).any())
        assert not is_read or not left[a:b].any()
    kept = left & (x > 0)
    assert values[0] == kept.sum()
    assert values[1].tobytes() == x[kept].tobytes()
    assert np.array_equal(values[2].values(), np.histogram(x[kept], np.linspace(-3, 3, 10))[0])
    if "y" in used:
        assert values[4].tobytes() == y[kept].tobytes()
    assert ranged.value.tobytes() == x[kept][3:40:2].tobytes()
    assert [s.first for s in df.skipped] == sorted({s.first for s in df.skipped})


# ---- Workers that are killed


class Killer(threading.Thread):
    """Kills one of some processes at random moments."""

    def __init__(
        self, seed: int, processes: Callable[[], list[psutil.Process]], times: int, within: float
    ) -> None:
        super().__init__()
        self._random, self._processes = random.Random(seed), processes
        self._times, self._within = times, within
        self._ended = threading.Event()
        self.killed = 0

    def run(self) -> None:
        for _ in range(self._times):
            if self._ended.wait(self._random.random() * self._within):
                return
            found = self._processes()
            if found:
                try:
                    self._random.choice(found).send_signal(signal.SIGKILL)
                    self.killed += 1
                except psutil.NoSuchProcess:
                    continue

    def __enter__(self) -> Killer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def children(*words: str) -> list[psutil.Process]:
    """The processes below this one whose command has these words."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if all(word in " ".join(each.cmdline()) for word in words):
                found.append(each)
    return found


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster of two executors with a core each: starting one takes longer than all that is done with it."""
    from spark_cluster import spark_session

    folder = tmp_path_factory.mktemp("spark")
    environment = {
        "COLONNADE_TEST_PART_ENTRIES": str(PART_ENTRIES),
        "PYTHONPATH": str(Path(__file__).parent),
    }
    with spark_session(folder, workers=2, **environment) as session:
        yield session


def test_two_executors_of_spark(spark: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "f.root")
    with colonnade.create(file, "Events") as writer:
        writer.extend({"x": np.random.default_rng(1).normal(size=2000)})
    expected, _ = analysis(DataFrame("Events", file, threads=1))
    seen: set[int] = set()
    for parts in (None, 40, 2):
        found, pids = analysis(DataFrame("Events", file, executor=spark, npartitions=parts))
        assert found == expected
        seen |= pids
    assert len(seen) >= 2
    assert spark.sparkContext.defaultParallelism == 2


@pytest.fixture(params=["processes", "dask", "spark"])
def cluster(request: pytest.FixtureRequest, small_parts: None) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """An engine, and words in the commands of its workers."""
    if request.param == "processes":
        engine = Processes(2)
        yield engine, ("spawn_main",)
        engine.close()
    elif request.param == "dask":
        import dask
        from distributed import Client, LocalCluster

        options: dict[str, Any] = {"dashboard_address": ":0", "host": "127.0.0.1", "processes": True}
        # Nannies give up workers that are killed while they start: others take their place.
        heals = {
            "distributed.deploy.lost-worker-timeout": "1s",
            "distributed.adaptive.interval": "500ms",
            "distributed.scheduler.no-workers-timeout": "60s",
        }
        with (
            dask.config.set(heals),
            LocalCluster(n_workers=2, threads_per_worker=2, **options) as workers,
            Client(workers) as client,
        ):
            workers.adapt(minimum=2, maximum=2)
            yield client, ("spawn_main",)
    else:
        yield request.getfixturevalue("spark"), ("pyspark.daemon",)


@pytest.mark.parametrize("seed", [0])
def test_workers_that_are_killed_at_any_moment(
    cluster: tuple[Any, tuple[str, ...]], seed: int, tmp_path: Path
) -> None:
    engine, words = cluster
    killed = 0
    for each in itertools.count(seed):
        if killed and each >= seed + 4:  # a run may end before anything is killed
            break
        chosen = random.Random(each)
        folder = tmp_path / str(each)
        folder.mkdir()
        case = case_of_files(each, folder)
        reference = outcome(case.grown(1))
        parts = chosen.randint(4, 30)
        begin = time.monotonic()
        Case.compare(outcome(case.grown(1, executor=engine, npartitions=parts)), reference, "no faults")
        within = time.monotonic() - begin
        with Killer(each, lambda: children(*words), 2, within) as killer:
            found = outcome(case.grown(1, executor=engine, npartitions=parts))
        Case.compare(found, reference, f"{killer.killed} workers killed")
        assert not names_left(case)
        killed += killer.killed
